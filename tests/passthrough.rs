//! A relayed body is the body, whatever the parser makes of it, and the sink hears what a parser of the same bytes says.
#![cfg(feature = "stream")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "common/bodies.rs"]
mod bodies;

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use callstitch::{
    ByteStreamExt, CallState, Config, End, Error, Event, Passthrough, ToolCallParser, WireFormat,
};
use futures::{FutureExt, Stream, StreamExt, TryStreamExt, stream};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

type Piece = Result<Bytes, io::Error>;
type Said = Rc<RefCell<Vec<Result<Event<'static>, String>>>>;

/// A sink that keeps all it is told.
fn keeping(said: &Said) -> impl FnMut(Result<Event<'_>, Error>) + use<> {
    let said = Rc::clone(said);
    move |event| {
        let event = event.map(Event::into_owned);
        said.borrow_mut()
            .push(event.map_err(|error| error.to_string()));
    }
}

fn pieces(body: &str, size: usize) -> Vec<Bytes> {
    body.as_bytes()
        .chunks(size)
        .map(Bytes::copy_from_slice)
        .collect()
}

fn ok(pieces: Vec<Bytes>) -> impl Stream<Item = Piece> + Unpin {
    stream::iter(pieces.into_iter().map(Ok))
}

fn relayed(relay: impl Stream<Item = Piece>) -> Vec<Bytes> {
    let all = relay.map(Result::unwrap).collect().now_or_never();
    all.expect("nothing here waits")
}

/// What a parser of the same chunks says.
fn parsed(pieces: &[Bytes], format: WireFormat) -> Vec<Result<Event<'static>, String>> {
    let mut parser = ToolCallParser::new(format);
    let mut said = Vec::new();
    let own = |event: Result<Event<'_>, Error>| {
        event
            .map(Event::into_owned)
            .map_err(|error| error.to_string())
    };
    for piece in pieces {
        said.extend(parser.push(piece).map(own));
    }
    said.extend(parser.finish().map(own));
    said
}

#[test]
fn chunks_go_on_as_they_came_and_the_sink_hears_what_a_parser_says() {
    for (body, format) in [
        (bodies::chat_body(), WireFormat::OpenAiChat),
        (bodies::anthropic_body(), WireFormat::Auto),
    ] {
        for size in [1, 7, 64, 100_000] {
            let mut sent = pieces(&body, size);
            sent.insert(1, Bytes::new());
            let said = Said::default();
            let got =
                relayed(ok(sent.clone()).passthrough(ToolCallParser::new(format), keeping(&said)));
            assert_eq!(got, sent);
            let same_memory = |(got, sent): (&Bytes, &Bytes)| got.as_ptr() == sent.as_ptr();
            assert!(got.iter().zip(&sent).all(same_memory), "no chunk is copied");
            assert_eq!(*said.borrow(), parsed(&sent, format));
            assert!(said.borrow().len() > 4);
        }
    }
}

#[test]
fn what_the_parser_cannot_read_goes_on_all_the_same() {
    let sent: Vec<Bytes> = [&b"\x1f\x8b\x08\x00"[..], &[0; 300], b"\xff\xfe", b"{"]
        .map(Bytes::copy_from_slice)
        .into();
    let said = Said::default();
    let config = Config::default().max_event_bytes(64);
    let parser = ToolCallParser::with_config(WireFormat::OpenAiChat, config);
    let got = relayed(Passthrough::new(ok(sent.clone()), parser, keeping(&said)));
    assert_eq!(got, sent);
    let said = said.borrow();
    assert!(matches!(said.as_slice(), [.., Err(error)] if error.starts_with("limit ")));
}

#[test]
fn the_sink_hears_of_a_chunk_before_it_goes_on() {
    let said = Said::default();
    let sent = vec![
        Bytes::from(bodies::anthropic_start()),
        Bytes::from(bodies::anthropic_call(0, "toolu_1", "get_now", &["{}"])),
    ];
    let mut relay =
        ok(sent).passthrough(ToolCallParser::new(WireFormat::Anthropic), keeping(&said));
    let calls = |said: &Said| {
        let said = said.borrow();
        let completed = |event: &&Result<_, _>| matches!(event, Ok(Event::CallCompleted(_)));
        said.iter().filter(completed).count()
    };
    assert!(relay.next().now_or_never().unwrap().is_some());
    assert_eq!(calls(&said), 0);
    assert!(relay.next().now_or_never().unwrap().is_some());
    assert_eq!(calls(&said), 1);
}

#[test]
fn the_source_is_asked_when_the_relay_is_and_never_otherwise() {
    let asked = Rc::new(Cell::new(0));
    let count = Rc::clone(&asked);
    let source = ok(pieces(&bodies::chat_body(), 50)).inspect(move |_| count.set(count.get() + 1));
    let mut relay = source.passthrough(ToolCallParser::new(WireFormat::OpenAiChat), |_| {});
    for taken in 1..=4 {
        assert!(relay.next().now_or_never().unwrap().is_some());
        assert_eq!(asked.get(), taken);
    }
}

#[test]
fn a_transports_error_goes_on_as_it_is_after_the_calls_were_flagged() {
    let said = Said::default();
    let open = Bytes::from(bodies::chat_open(0, "call_1", "get_tide"));
    let text = Bytes::from(bodies::chat_piece(0, "{\"port\":\"Ob"));
    let reset = io::Error::from(io::ErrorKind::ConnectionReset);
    let source = stream::iter([Ok(open), Ok(text), Err(reset)]);
    let relay = source.passthrough(ToolCallParser::new(WireFormat::OpenAiChat), keeping(&said));
    let got: Vec<Piece> = relay.collect().now_or_never().unwrap();
    assert_eq!(
        got[2].as_ref().unwrap_err().kind(),
        io::ErrorKind::ConnectionReset
    );
    let said = said.borrow();
    let [.., Ok(Event::CallCompleted(call)), Err(error)] = said.as_slice() else {
        panic!("a flagged call, then the error: {said:?}");
    };
    assert_eq!(call.state(), CallState::Truncated);
    assert!(error.starts_with("transport "), "{error}");
}

#[test]
fn a_relay_dropped_in_the_middle_ends_its_calls() {
    let said = Said::default();
    let sent = pieces(&bodies::chat_body(), 400);
    let mut relay =
        ok(sent).passthrough(ToolCallParser::new(WireFormat::OpenAiChat), keeping(&said));
    assert!(relay.next().now_or_never().unwrap().is_some());
    drop(relay);
    let said = said.borrow();
    let started = said
        .iter()
        .filter(|event| matches!(event, Ok(Event::CallStarted { .. })))
        .count();
    let ended = said
        .iter()
        .filter(|event| matches!(event, Ok(Event::CallCompleted(_))))
        .count();
    assert!(started > 0 && started == ended, "{said:?}");
    assert!(matches!(said.last(), Some(Err(error)) if error.contains("dropped")));
}

#[test]
fn a_client_that_hangs_up_at_the_terminal_leaves_a_clean_end() {
    let said = Said::default();
    let body = Bytes::from(bodies::chat_body());
    let source = ok(vec![body]).chain(stream::pending());
    let mut relay = source.passthrough(ToolCallParser::new(WireFormat::OpenAiChat), keeping(&said));
    assert!(relay.next().now_or_never().unwrap().is_some());
    assert!(relay.next().now_or_never().is_none(), "it waits");
    drop(relay);
    assert!(said.borrow().iter().all(Result::is_ok), "{said:?}");
}

#[test]
fn what_waits_in_a_parser_reaches_the_sink_though_the_relay_is_never_asked() {
    let body = bodies::chat_body();
    let ends: [fn(&mut ToolCallParser); 2] = [
        |parser| drop(parser.finish()),
        |parser| drop(parser.abort()),
    ];
    for (at, end) in ends.iter().enumerate() {
        let mut parser = ToolCallParser::new(WireFormat::OpenAiChat);
        drop(parser.push(body.as_bytes()));
        end(&mut parser);
        let waiting = parser.events().len();
        let said = Said::default();
        drop(ok(vec![]).passthrough(parser, keeping(&said)));
        assert!(waiting > 0);
        assert_eq!(said.borrow().len(), waiting, "{at}");
    }
}

#[test]
fn the_parser_tells_how_the_body_ended() {
    let body = pieces(&bodies::anthropic_body(), 30);
    let mut relay = ok(body).passthrough(ToolCallParser::new(WireFormat::Auto), |_| {});
    while relay.next().now_or_never().unwrap().is_some() {}
    assert_eq!(relay.parser().end(), Some(End::Clean));
    assert_eq!(relay.parser().format(), Some(WireFormat::Anthropic));
}

/// Serves one request with what `body` makes.
async fn serve<S>(body: impl AsyncFnOnce() -> S + 'static) -> SocketAddr
where
    S: Stream<Item = Piece> + Send + 'static,
{
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let body = Mutex::new(Some(body));
    tokio::task::spawn_local(async move {
        let (connection, _) = listener.accept().await.unwrap();
        let service = service_fn(|_| {
            let body = body.lock().unwrap().take().expect("one request");
            async move {
                let frames = body().await.map_ok(Frame::data);
                Ok::<_, Infallible>(hyper::Response::new(StreamBody::new(frames)))
            }
        });
        // A connection that is broken off is an error here too.
        let _ = hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(connection), service)
            .await;
    });
    address
}

async fn get(address: SocketAddr) -> reqwest::Response {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let response = client.get(format!("http://{address}/")).send();
    response.await.unwrap()
}

/// A gateway on loopback: client, proxy and provider, each over real HTTP.
#[tokio::test]
async fn a_proxy_relays_while_the_provider_still_sends() {
    let local = tokio::task::LocalSet::new();
    let all = local.run_until(async {
        let (provider, mut sends) = mpsc::channel::<Piece>(1);
        let body = stream::poll_fn(move |cx| sends.poll_recv(cx));
        let upstream = serve(async move || body).await;
        let (seen, mut sees) = mpsc::channel(16);
        let proxy = serve(async move || {
            let body = get(upstream).await.bytes_stream();
            body.map_err(io::Error::other).passthrough(
                ToolCallParser::new(WireFormat::Auto),
                move |event| {
                    if let Ok(Event::CallCompleted(call)) = event {
                        seen.try_send(call).unwrap();
                    }
                },
            )
        })
        .await;

        let sent = [
            bodies::anthropic_start(),
            bodies::anthropic_call(1, "toolu_1", "get_tide", &["{\"port\":", "\"Oban\"}"]),
            bodies::anthropic_end(),
        ];
        provider.send(Ok(sent[0].clone().into())).await.unwrap();
        let mut client = get(proxy).await.bytes_stream();
        assert_eq!(client.next().await.unwrap().unwrap(), sent[0]);
        // Each piece is at the client, and its call at the side, before the provider sends the next.
        provider.send(Ok(sent[1].clone().into())).await.unwrap();
        assert_eq!(client.next().await.unwrap().unwrap(), sent[1]);
        assert_eq!(sees.recv().await.unwrap().name(), "get_tide");
        provider.send(Ok(sent[2].clone().into())).await.unwrap();
        drop(provider);
        let rest: Vec<Bytes> = client.try_collect().await.unwrap();
        assert_eq!(rest.concat(), sent[2].as_bytes());
        assert!(sees.recv().await.is_none());
    });
    let limit = Duration::from_secs(30);
    tokio::time::timeout(limit, all).await.expect("it hangs");
}

/// hyper's own bodies are no streams of chunks, but have one each.
#[tokio::test]
async fn a_hyper_body_is_wrapped_by_its_data_stream() {
    let frames = ok(pieces(&bodies::chat_body(), 33)).map_ok(Frame::data);
    let body = BodyExt::boxed(StreamBody::new(frames));
    let calls: Vec<_> = body
        .into_data_stream()
        .tool_calls(WireFormat::OpenAiChat)
        .try_collect()
        .await
        .unwrap();
    assert_eq!(calls.len(), 2);
}
