//! Many streams at once over loopback, fast and slow, with cuts, resets and stalls among them: every call is accounted for, and
//! memory stays flat.
//!
//! The server is a process of its own, this program run once more, so that all file descriptors of this one are streams. The
//! short form runs with the other tests. The long one, by itself:
//! `cargo test --release --all-features --test soak -- --ignored --nocapture` keeps 10,000 streams open for a minute and prints
//! the figures; `CALLSTITCH_SOAK_STREAMS` and `CALLSTITCH_SOAK_SECONDS` say otherwise. Both processes stop by themselves.
//!
//! Two figures of memory are printed: live bytes, which the allocator counts, and resident ones, which the system gives. Live
//! bytes are held to be flat; resident ones also grow by what an allocator keeps between what is live.
#![cfg(feature = "stream")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/reading.rs"]
mod reading;

use std::alloc::System;
use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use callstitch::{End, ErrorKind, Event, EventStream, ToolCallParser, WireFormat};
use cap::Cap;
use futures::{Stream, StreamExt};
use reading::{Random, number};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpSocket, TcpStream};

#[global_allocator]
static LIVE: Cap<System> = Cap::new(System, usize::MAX);

/// What a connection is to suffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Fast, to its end.
    Fast,
    /// A few bytes at a time, with pauses.
    Slow,
    /// The server closes in the middle.
    Cut,
    /// The server resets the connection in the middle.
    Reset,
    /// The server says nothing more; the client gives up and drops the stream.
    Stall,
}

const CALLS: usize = 3;

/// The fate and the body of one stream, known to both sides by its number.
fn stream(number: u64) -> (Fate, WireFormat, Vec<u8>) {
    let mut random = Random::new(number + 1);
    let fate = match random.below(10) {
        0..=4 => Fate::Fast,
        5 | 6 => Fate::Slow,
        7 => Fate::Cut,
        8 => Fate::Reset,
        _ => Fate::Stall,
    };
    let text = "x".repeat(50 + random.below(400));
    let piece = 4 + random.below(60);
    let arguments = format!(r#"{{"path":"a","text":"{text}"}}"#);
    let mut body = String::new();
    let anthropic = random.one_in(2);
    for call in 0..CALLS {
        let escaped = |piece: &[u8]| String::from_utf8_lossy(piece).replace('"', "\\\"");
        if anthropic {
            body += &format!(
                "event: content_block_start\ndata: {{\"type\":\"content_block_start\",\"index\":{call},\"content_block\":{{\"type\":\"tool_use\",\"id\":\"c{number}_{call}\",\"name\":\"write\",\"input\":{{}}}}}}\n\n"
            );
            for piece in arguments.as_bytes().chunks(piece) {
                body += &format!(
                    "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":{call},\"delta\":{{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}}}}\n\n",
                    escaped(piece)
                );
            }
            body += &format!(
                "event: content_block_stop\ndata: {{\"type\":\"content_block_stop\",\"index\":{call}}}\n\n"
            );
        } else {
            body += &format!(
                "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{{\"index\":{call},\"id\":\"c{number}_{call}\",\"function\":{{\"name\":\"write\",\"arguments\":\"\"}}}}]}}}}]}}\n\n"
            );
            for piece in arguments.as_bytes().chunks(piece) {
                body += &format!(
                    "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{{\"index\":{call},\"function\":{{\"arguments\":\"{}\"}}}}]}}}}]}}\n\n",
                    escaped(piece)
                );
            }
        }
    }
    body += if anthropic {
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
    } else {
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n"
    };
    let format = if anthropic {
        WireFormat::Anthropic
    } else {
        WireFormat::OpenAiChat
    };
    (fate, format, body.into_bytes())
}

async fn serve(mut socket: TcpStream) {
    let (Ok(number), Ok(pause)) = (socket.read_u64().await, socket.read_u64().await) else {
        return;
    };
    // As a model thinks before it answers.
    tokio::time::sleep(Duration::from_millis(pause)).await;
    let (fate, _, body) = stream(number);
    let mut random = Random::new(number ^ 0x5EED);
    let end = match fate {
        Fate::Fast | Fate::Slow => body.len(),
        Fate::Cut | Fate::Reset | Fate::Stall => random.below(body.len()),
    };
    let mut rest = &body[..end];
    while !rest.is_empty() {
        let size = match fate {
            Fate::Slow => 1 + random.below(1500),
            _ => 1 + random.below(8000),
        };
        let (chunk, after) = rest.split_at(size.min(rest.len()));
        if socket.write_all(chunk).await.is_err() {
            return;
        }
        rest = after;
        if fate == Fate::Slow {
            tokio::time::sleep(Duration::from_millis(random.next() % 120)).await;
        }
    }
    match fate {
        Fate::Stall => {
            // Until the client gives up.
            let _ = socket.read(&mut [0]).await;
        }
        Fate::Reset => {
            let _ = socket.set_zero_linger();
        }
        _ => {}
    }
}

/// The bytes of a socket as a stream of chunks.
struct Chunks {
    socket: TcpStream,
    buffer: Vec<u8>,
}

impl Stream for Chunks {
    type Item = std::io::Result<Vec<u8>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Chunks { socket, buffer } = &mut *self;
        buffer.resize(2048, 0);
        let mut read = ReadBuf::new(buffer);
        match Pin::new(socket).poll_read(cx, &mut read) {
            Poll::Pending => {
                // Ten thousand streams that wait hold no buffer.
                *buffer = Vec::new();
                Poll::Pending
            }
            Poll::Ready(Err(error)) => Poll::Ready(Some(Err(error))),
            Poll::Ready(Ok(())) if read.filled().is_empty() => Poll::Ready(None),
            Poll::Ready(Ok(())) => Poll::Ready(Some(Ok(read.filled().to_vec()))),
        }
    }
}

#[derive(Default)]
struct Figures {
    streams: AtomicU64,
    started: AtomicU64,
    whole: AtomicU64,
    flagged: AtomicU64,
    left: AtomicU64,
    dropped: AtomicU64,
    clean: AtomicU64,
    truncated: AtomicU64,
    reset: AtomicU64,
    refused: AtomicU64,
    bytes: AtomicU64,
    open: AtomicU64,
    most_open: AtomicU64,
}

impl Figures {
    fn add(&self, what: &AtomicU64, count: u64) {
        what.fetch_add(count, Relaxed);
    }
}

/// Reads one stream, whose first byte comes after a pause, and holds it to account.
async fn consume(address: SocketAddr, number: u64, pause: Duration, figures: &Figures) {
    let Ok(mut socket) = TcpStream::connect(address).await else {
        return figures.add(&figures.refused, 1);
    };
    let open = figures.open.fetch_add(1, Relaxed) + 1;
    figures.most_open.fetch_max(open, Relaxed);
    let (fate, format, body) = stream(number);
    // The length alone: ten thousand bodies would hide what the library holds.
    let length = body.len() as u64;
    drop(body);
    let asked = [number, pause.as_millis() as u64].map(u64::to_be_bytes);
    if socket.write_all(asked.as_flattened()).await.is_err() {
        figures.open.fetch_sub(1, Relaxed);
        return figures.add(&figures.refused, 1);
    }
    let chunks = Chunks {
        socket,
        buffer: Vec::new(),
    };
    let asked = if number.is_multiple_of(2) {
        format
    } else {
        WireFormat::Auto
    };
    let mut events = EventStream::new(chunks, ToolCallParser::new(asked));
    let (mut started, mut ended, mut whole, mut error) = (0, 0, 0, None);
    loop {
        let next = if fate == Fate::Stall {
            match tokio::time::timeout(pause + Duration::from_millis(1500), events.next()).await {
                Ok(next) => next,
                // The stream is dropped where it stands; what it had said is whole all the same.
                Err(_) => break,
            }
        } else {
            let patience = Duration::from_secs(100);
            match tokio::time::timeout(patience, events.next()).await {
                Ok(next) => next,
                Err(_) => {
                    let read = events.parser().offset();
                    assert_eq!(read, 0, "stream {number} stands still in the middle");
                    figures.open.fetch_sub(1, Relaxed);
                    return figures.add(&figures.refused, 1);
                }
            }
        };
        match next {
            Some(Ok(Event::CallStarted { .. })) => started += 1,
            Some(Ok(Event::CallCompleted(call))) => {
                ended += 1;
                assert!(call.id().starts_with(&format!("c{number}_")), "{call:?}");
                if call.is_usable() {
                    whole += 1;
                    assert_eq!(call.arguments().object().unwrap()["path"], "a");
                }
            }
            Some(Ok(_)) => assert!(error.is_none(), "nothing after an error"),
            Some(Err(found)) => error = Some(found.kind()),
            None => break,
        }
    }
    assert!(started <= CALLS && ended <= started, "stream {number}");
    let end = events.parser().end();
    figures.add(&figures.bytes, events.parser().offset());
    // A connection that the machine could not hold (its listener's queue was full) never reached the server.
    if error == Some(ErrorKind::Transport) && events.parser().offset() == 0 && fate != Fate::Reset {
        figures.open.fetch_sub(1, Relaxed);
        return figures.add(&figures.refused, 1);
    }
    match fate {
        Fate::Fast | Fate::Slow => {
            let found = (started, ended, whole, error);
            let read = events.parser().offset();
            assert_eq!(
                found,
                (CALLS, CALLS, CALLS, None),
                "stream {number} ({fate:?}) after {read} of {length} bytes"
            );
            assert_eq!(end, Some(End::Clean));
            assert_eq!(events.parser().offset(), length);
            figures.add(&figures.clean, 1);
        }
        Fate::Cut | Fate::Reset => {
            assert_eq!(started, ended, "each call of a cut stream ends once");
            let known = matches!(
                error,
                None | Some(ErrorKind::Truncated | ErrorKind::Transport | ErrorKind::UnknownFormat)
            );
            assert!(
                known && (error.is_some() || end == Some(End::Clean)),
                "{error:?} {end:?}"
            );
            let kind = if error == Some(ErrorKind::Transport) {
                &figures.reset
            } else {
                &figures.truncated
            };
            figures.add(kind, 1);
        }
        Fate::Stall => figures.add(&figures.dropped, 1),
    }
    figures.add(&figures.started, started as u64);
    figures.add(&figures.whole, whole as u64);
    figures.add(&figures.flagged, (ended - whole) as u64);
    figures.add(&figures.left, (started - ended) as u64);
    figures.add(&figures.streams, 1);
    figures.open.fetch_sub(1, Relaxed);
}

/// Resident memory of this process in KiB.
fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// The server's process. It ends when its standard input does, so also when this process dies.
struct Server {
    child: Child,
    /// Held open: its test harness says something after a minute, and ends where nobody listens.
    _stdout: BufReader<ChildStdout>,
    addresses: Vec<SocketAddr>,
}

/// A pair of addresses has 28,000 ports to connect from, and each is kept for a while after its end.
const PORTS: usize = 8;
const SERVE: &str = "CALLSTITCH_SOAK_SERVE";

impl Server {
    fn start(deadline: Duration) -> Server {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["the_other_process", "--exact", "--ignored", "--nocapture"])
            .env(SERVE, deadline.as_secs().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program runs once more");
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let addresses = stdout.by_ref().lines().find_map(|line| {
            let line = line.ok()?;
            let ports = line.strip_prefix("ports")?.split_whitespace();
            let addresses = ports.map(|port| (Ipv4Addr::LOCALHOST, port.parse().unwrap()).into());
            Some(addresses.collect())
        });
        let addresses = addresses.expect("the server says its ports");
        Server {
            child,
            _stdout: stdout,
            addresses,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Serves until standard input ends, and no longer than told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the server's side, which the other tests start"]
async fn the_other_process() {
    let Ok(deadline) = std::env::var(SERVE) else {
        return;
    };
    let mut ports = String::new();
    for _ in 0..PORTS {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let listener = socket.listen(16_384).unwrap();
        ports += &format!(" {}", listener.local_addr().unwrap().port());
        tokio::spawn(async move {
            loop {
                match listener.accept().await {
                    Ok((socket, _)) => _ = tokio::spawn(serve(socket)),
                    Err(error) => eprintln!("not accepted: {error}"),
                }
            }
        });
    }
    // The test harness has begun a line.
    println!("\nports{ports}");
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    tokio::time::sleep(Duration::from_secs(deadline.parse().unwrap())).await;
}

/// Memory at one moment of a soak.
struct Sample {
    open: u64,
    live: usize,
    resident: Option<u64>,
}

/// The mean of the live bytes of some samples.
fn mean(samples: &[Sample]) -> usize {
    samples.iter().map(|sample| sample.live).sum::<usize>() / samples.len().max(1)
}

async fn soak(streams: u64, time: Duration) {
    // Live bytes are those of the process.
    static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
    let _alone = ALONE.lock().await;
    let server = Server::start(2 * time + Duration::from_secs(120));
    let figures = Arc::new(Figures::default());
    let next = Arc::new(AtomicU64::new(0));
    let before = LIVE.allocated();
    let begin = Instant::now();
    // Not all at once: a listener's queue is short.
    let apart = Duration::from_micros(400).min(time / 8 / streams as u32);
    let workers: Vec<_> = (0..streams)
        .map(|worker| {
            let (figures, next) = (figures.clone(), next.clone());
            let address = server.addresses[worker as usize % server.addresses.len()];
            tokio::spawn(async move {
                tokio::time::sleep(apart * worker as u32).await;
                // The first stream waits until all are open, later ones for as long as it comes.
                let mut pause = time / 8;
                while begin.elapsed() < time {
                    let number = next.fetch_add(1, Relaxed);
                    consume(address, number, pause, &figures).await;
                    pause = time.mul_f64(Random::new(number).below(1000) as f64 / 6000.0);
                }
            })
        })
        .collect();
    let count = |figure: &AtomicU64| figure.load(Relaxed);
    const SAMPLES: u32 = 120;
    let mut samples = Vec::new();
    for number in 1..=SAMPLES {
        tokio::time::sleep((time / SAMPLES * number).saturating_sub(begin.elapsed())).await;
        samples.push(Sample {
            open: count(&figures.open),
            live: LIVE.allocated(),
            resident: resident(),
        });
    }
    for worker in workers {
        worker.await.expect("no stream fails");
    }
    drop(server);
    let after = LIVE.allocated().saturating_sub(before);
    println!(
        "{} streams, {} open at once at most, {:.1} MB in {:.1} s\n\
         {} clean, {} cut, {} reset, {} dropped while they stalled, {} not connected\n\
         {} calls started: {} whole, {} flagged, {} left open in a dropped stream",
        count(&figures.streams),
        count(&figures.most_open),
        count(&figures.bytes) as f64 / 1e6,
        begin.elapsed().as_secs_f64(),
        count(&figures.clean),
        count(&figures.truncated),
        count(&figures.reset),
        count(&figures.dropped),
        count(&figures.refused),
        count(&figures.started),
        count(&figures.whole),
        count(&figures.flagged),
        count(&figures.left),
    );
    println!("   time    open    live KiB    resident KiB");
    for (number, sample) in samples.iter().enumerate().skip(9).step_by(10) {
        println!(
            "{:5.1} s {:7} {:11} {:15}",
            (time / SAMPLES * (number as u32 + 1)).as_secs_f64(),
            sample.open,
            sample.live >> 10,
            sample.resident.unwrap_or(0),
        );
    }
    println!(
        "live after the last stream, beyond what was before: {} KiB",
        after >> 10
    );
    assert_eq!(count(&figures.open), 0);
    assert!(count(&figures.streams) >= streams / 2);
    assert!(count(&figures.refused) <= count(&figures.streams) / 100);
    assert!(count(&figures.whole) >= count(&figures.clean) * CALLS as u64);
    let ended = count(&figures.whole) + count(&figures.flagged);
    assert_eq!(count(&figures.started), ended + count(&figures.left));
    // The streams are other ones, as many as before: no more is live in the last third than in the second.
    let (second, last) = (mean(&samples[40..80]), mean(&samples[80..]));
    println!(
        "live in the second third {} KiB, in the last {} KiB",
        second >> 10,
        last >> 10
    );
    assert!(
        last <= second + second / 20 + (128 << 10),
        "live bytes grow"
    );
    assert!(after <= 1 << 20, "{after} bytes stay");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn some_hundred_streams_at_once_account_for_every_call() {
    soak(300, Duration::from_secs(4)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a minute with 10,000 streams; needs as many file descriptors"]
async fn ten_thousand_streams_at_once_account_for_every_call() {
    let streams = number("CALLSTITCH_SOAK_STREAMS", 10_000);
    let seconds = number("CALLSTITCH_SOAK_SECONDS", 60);
    soak(streams, Duration::from_secs(seconds)).await;
}
