//! Many streams at once over loopback, in one process, fast and slow, with cuts, resets and stalls among them: every call is
//! accounted for, and memory stays flat.
//!
//! The short form runs with the other tests. The long one, by itself:
//! `cargo test --release --all-features --test soak -- --ignored --nocapture` keeps 9,500 streams open for a minute, which is
//! what 20,000 file descriptors allow;
//! `CALLSTITCH_SOAK_STREAMS` and `CALLSTITCH_SOAK_SECONDS` say otherwise. It stops by itself.
#![cfg(feature = "stream")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/reading.rs"]
mod reading;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use callstitch::{End, ErrorKind, Event, EventStream, ToolCallParser, WireFormat};
use futures::{Stream, StreamExt};
use reading::{Random, number};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

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
    let mut number = [0; 8];
    if socket.read_exact(&mut number).await.is_err() {
        return;
    }
    let number = u64::from_be_bytes(number);
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
    whole: AtomicU64,
    flagged: AtomicU64,
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

/// Reads one stream and holds it to account.
async fn consume(address: std::net::SocketAddr, number: u64, figures: &Figures) {
    let Ok(mut socket) = TcpStream::connect(address).await else {
        return figures.add(&figures.refused, 1);
    };
    let open = figures.open.fetch_add(1, Relaxed) + 1;
    figures.most_open.fetch_max(open, Relaxed);
    let (fate, format, body) = stream(number);
    if socket.write_all(&number.to_be_bytes()).await.is_err() {
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
            match tokio::time::timeout(Duration::from_millis(1500), events.next()).await {
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
            assert_eq!((started, ended, whole, error), (CALLS, CALLS, CALLS, None));
            assert_eq!(end, Some(End::Clean));
            assert_eq!(events.parser().offset(), body.len() as u64);
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
    figures.add(&figures.whole, whole as u64);
    figures.add(&figures.flagged, (ended - whole) as u64);
    figures.add(&figures.streams, 1);
    figures.open.fetch_sub(1, Relaxed);
}

/// Resident memory of this process in KiB.
fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

async fn soak(streams: u64, time: Duration) {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener: TcpListener = socket.listen(16_384).unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        loop {
            if let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket));
            }
        }
    });
    let figures = Arc::new(Figures::default());
    let next = Arc::new(AtomicU64::new(0));
    let begin = Instant::now();
    let workers: Vec<_> = (0..streams)
        .map(|worker| {
            let (figures, next) = (figures.clone(), next.clone());
            tokio::spawn(async move {
                // Not all at once: a listener's queue is short.
                tokio::time::sleep(Duration::from_micros(worker * 400)).await;
                while begin.elapsed() < time {
                    consume(address, next.fetch_add(1, Relaxed), &figures).await;
                }
            })
        })
        .collect();
    // Memory at the end of each sixth of the time.
    let mut memory = Vec::new();
    for _ in 0..6 {
        tokio::time::sleep(time / 6).await;
        memory.push((figures.open.load(Relaxed), resident()));
    }
    for worker in workers {
        worker.await.expect("no stream fails");
    }
    server.abort();
    let count = |figure: &AtomicU64| figure.load(Relaxed);
    println!(
        "{} streams, {} open at once at most, {:.1} MB in {:.1} s\n\
         {} clean, {} cut, {} reset, {} dropped while they stalled, {} not connected\n\
         {} calls whole, {} flagged\n\
         open streams and resident KiB over time: {memory:?}",
        count(&figures.streams),
        count(&figures.most_open),
        count(&figures.bytes) as f64 / 1e6,
        begin.elapsed().as_secs_f64(),
        count(&figures.clean),
        count(&figures.truncated),
        count(&figures.reset),
        count(&figures.dropped),
        count(&figures.refused),
        count(&figures.whole),
        count(&figures.flagged),
    );
    assert_eq!(count(&figures.open), 0);
    assert!(count(&figures.streams) >= streams / 2);
    assert!(count(&figures.refused) <= count(&figures.streams) / 100);
    assert!(count(&figures.whole) >= count(&figures.clean) * CALLS as u64);
    // From the middle on nothing grows: the streams are other ones, as many as before.
    if let (Some((_, Some(middle))), Some((_, Some(last)))) = (memory.get(2), memory.last()) {
        assert!(
            *last < middle + middle / 4 + (8 << 10),
            "resident memory grew from {middle} to {last} KiB"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn some_hundred_streams_at_once_account_for_every_call() {
    soak(300, Duration::from_secs(4)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a minute with 9,500 streams; needs 20,000 file descriptors"]
async fn as_many_streams_as_there_are_file_descriptors_account_for_every_call() {
    let streams = number("CALLSTITCH_SOAK_STREAMS", 9_500);
    let seconds = number("CALLSTITCH_SOAK_SECONDS", 60);
    soak(streams, Duration::from_secs(seconds)).await;
}
