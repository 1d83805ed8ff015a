//! A real server and a real client on loopback: the wrapped body gives each call as it arrives, and says how the body ended.
#![cfg(feature = "stream")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "common/bodies.rs"]
mod bodies;

use std::convert::Infallible;
use std::error::Error as _;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use callstitch::{ByteStreamExt, End, ErrorKind, Event, ToolCall, ToolCallStream, WireFormat};
use futures::{Stream, StreamExt, stream};
use http_body_util::StreamBody;
use hyper::body::Frame;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

type Piece = Result<Bytes, io::Error>;

/// Nothing here waits for long unless it hangs.
async fn soon<F: Future>(future: F) -> F::Output {
    let limit = Duration::from_secs(30);
    tokio::time::timeout(limit, future).await.expect("it hangs")
}

/// Serves one request with this body: each piece is one chunk of a chunked transfer, an error breaks the connection off.
async fn serve(status: u16, body: impl Stream<Item = Piece> + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (connection, _) = listener.accept().await.unwrap();
        let body = Mutex::new(Some(body));
        let service = service_fn(|_| {
            let body = body.lock().unwrap().take().expect("one request");
            let response = hyper::Response::builder()
                .status(status)
                .header("content-type", "text/event-stream")
                .body(StreamBody::new(body.map(|piece| piece.map(Frame::data))));
            async move { Ok::<_, Infallible>(response.unwrap()) }
        });
        // A connection that is broken off is an error here too, which is what some tests are about.
        let _ = hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(connection), service)
            .await;
    });
    address
}

/// Serves a body that the test sends piece by piece.
async fn serve_by_hand() -> (SocketAddr, mpsc::Sender<Piece>) {
    let (sender, receiver) = mpsc::channel(1);
    let body = stream::unfold(receiver, |mut receiver| async {
        let piece = receiver.recv().await?;
        Some((piece, receiver))
    });
    (serve(200, body).await, sender)
}

async fn get(address: SocketAddr) -> reqwest::Response {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    soon(client.get(format!("http://{address}/")).send())
        .await
        .unwrap()
}

/// All calls, then the error if there was one.
async fn all<S, E>(mut calls: ToolCallStream<S>) -> (Vec<ToolCall>, Option<callstitch::Error>, End)
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (mut whole, mut failed) = (Vec::new(), None);
    while let Some(item) = soon(calls.next()).await {
        assert!(failed.is_none(), "nothing follows an error");
        match item {
            Ok(call) => whole.push(call),
            Err(error) => failed = Some(error),
        }
    }
    (whole, failed, calls.parser().end().unwrap())
}

fn text(text: impl Into<String>) -> Piece {
    Ok(Bytes::from(text.into()))
}

#[tokio::test]
async fn each_call_is_there_before_the_next_one_is_sent() {
    let (address, server) = serve_by_hand().await;
    let (heard, mut hears) = mpsc::channel::<String>(1);
    let serving = tokio::spawn(async move {
        server.send(text(bodies::anthropic_start())).await.unwrap();
        for number in 0..5 {
            let id = format!("toolu_{number}");
            let call =
                bodies::anthropic_call(number, &id, "get_tide", &["{\"port\":", "\"Oban\"}"]);
            server.send(text(call)).await.unwrap();
            // The client says that it has this call; only then is there another.
            assert_eq!(hears.recv().await.as_deref(), Some(&*id));
        }
        server.send(text(bodies::anthropic_end())).await.unwrap();
    });

    let mut calls = get(address)
        .await
        .bytes_stream()
        .tool_calls(WireFormat::Anthropic);
    let mut count = 0;
    while let Some(call) = soon(calls.next()).await {
        heard.send(call.unwrap().id().to_owned()).await.unwrap();
        count += 1;
    }
    assert_eq!(count, 5);
    assert_eq!(calls.parser().end(), Some(End::Clean));
    soon(serving).await.unwrap();
}

#[tokio::test]
async fn each_piece_of_text_and_arguments_is_there_before_the_next_one_is_sent() {
    let (address, server) = serve_by_hand().await;
    let (heard, mut hears) = mpsc::channel::<()>(1);
    let serving = tokio::spawn(async move {
        let pieces = [
            bodies::chat_text("Look"),
            bodies::chat_text("ing."),
            bodies::chat_open(0, "call_1", "get_tide") + &bodies::chat_piece(0, "{"),
            bodies::chat_piece(0, "}"),
        ];
        for piece in pieces {
            server.send(text(piece)).await.unwrap();
            hears.recv().await.unwrap();
        }
        server.send(text(bodies::chat_end())).await.unwrap();
    });

    let mut events = get(address)
        .await
        .bytes_stream()
        .tool_events(WireFormat::OpenAiChat);
    let (mut pieces, mut calls) = (Vec::new(), 0);
    while let Some(event) = soon(events.next()).await {
        match event.unwrap() {
            Event::Text { text, .. } => pieces.push(text.into_owned()),
            Event::ArgumentsDelta { text, .. } => pieces.push(text.to_string()),
            Event::CallCompleted(call) => {
                assert!(call.is_usable());
                calls += 1;
                continue;
            }
            _ => continue,
        }
        let _ = heard.send(()).await;
    }
    assert_eq!(
        (pieces.concat().as_str(), pieces.len(), calls),
        ("Looking.{}", 4, 1)
    );
    soon(serving).await.unwrap();
}

#[tokio::test]
async fn a_chunked_transfer_of_any_cut_gives_the_same_calls() {
    for (format, body) in [
        (WireFormat::OpenAiChat, bodies::chat_body()),
        (WireFormat::Anthropic, bodies::anthropic_body()),
    ] {
        let mut expected: Option<Vec<ToolCall>> = None;
        for size in [1 << 20, 1, 2, 3, 5, 100] {
            let pieces: Vec<Piece> = body
                .as_bytes()
                .chunks(size)
                .map(|piece| Ok(Bytes::copy_from_slice(piece)))
                .collect();
            let address = serve(200, stream::iter(pieces)).await;
            let (calls, error, end) =
                all(get(address).await.bytes_stream().tool_calls(format)).await;
            assert!(error.is_none());
            assert_eq!(end, End::Clean);
            assert_eq!(calls.len(), 2);
            assert_eq!(
                *expected.get_or_insert_with(|| calls.clone()),
                calls,
                "{format}, {size}"
            );
        }
    }
}

#[tokio::test]
async fn a_dropped_connection_gives_what_was_whole_then_the_cut_call_flagged_then_the_error() {
    let (address, server) = serve_by_hand().await;
    let mut calls = get(address)
        .await
        .bytes_stream()
        .tool_calls(WireFormat::Anthropic);
    let first = bodies::anthropic_start()
        + &bodies::anthropic_call(0, "toolu_0", "get_tide", &["{\"port\":\"Oban\"}"]);
    let second = bodies::anthropic_open(1, "toolu_1", "get_wind")
        + &bodies::anthropic_piece(1, "{\"mast\":\"Du");
    server.send(text(first + &second)).await.unwrap();
    let whole = soon(calls.next()).await.unwrap().unwrap();
    assert_eq!(whole.arguments().object().unwrap()["port"], "Oban");

    server
        .send(Err(io::ErrorKind::BrokenPipe.into()))
        .await
        .unwrap();
    let (rest, error, end) = all(calls).await;
    assert_eq!(rest.len(), 1);
    assert!(rest[0].arguments().object().is_err());
    assert_eq!(rest[0].arguments().recovered().unwrap()["mast"], "Du");
    let error = error.unwrap();
    assert_eq!(error.kind(), ErrorKind::Transport);
    assert!(error.source().unwrap().is::<reqwest::Error>());
    assert_eq!(end, End::Truncated);
}

/// A server that writes these bytes as they stand and hangs up.
async fn serve_raw(response: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            request.push(connection.read_u8().await.unwrap());
        }
        connection.write_all(&response).await.unwrap();
        connection.shutdown().await.unwrap();
    });
    address
}

#[tokio::test]
async fn a_body_shorter_than_it_promised_is_a_transport_error_and_one_that_promised_nothing_is_truncated()
 {
    let body = bodies::anthropic_body();
    let body = &body[..body.find("п").unwrap()];
    for (head, kind) in [
        (
            format!("content-length: {}", body.len() + 1),
            ErrorKind::Transport,
        ),
        ("connection: close".to_owned(), ErrorKind::Truncated),
    ] {
        let response = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}");
        let address = serve_raw(response.into_bytes()).await;
        let (calls, error, end) = all(get(address)
            .await
            .bytes_stream()
            .tool_calls(WireFormat::Anthropic))
        .await;
        assert_eq!(
            calls.iter().map(ToolCall::is_usable).collect::<Vec<_>>(),
            [true, false]
        );
        assert_eq!(error.unwrap().kind(), kind);
        assert_eq!(end, End::Truncated);
    }
}

#[tokio::test]
async fn the_body_of_an_error_status_is_an_error_with_the_providers_words() {
    for (format, body, code) in [
        (
            WireFormat::OpenAiChat,
            r#"{"error":{"message":"Slow down.","type":"requests","code":"rate_limit_exceeded"}}"#,
            Some("rate_limit_exceeded"),
        ),
        (
            WireFormat::Anthropic,
            "{\"type\":\"error\",\n \"error\":{\"type\":\"rate_limit_error\",\"message\":\"Slow down.\"}}\n",
            Some("rate_limit_error"),
        ),
    ] {
        let address = serve(429, stream::iter([text(body)])).await;
        let response = get(address).await;
        assert_eq!(response.status(), 429);
        let (calls, error, end) = all(response.bytes_stream().tool_calls(format)).await;
        assert!(calls.is_empty());
        let error = error.unwrap();
        assert_eq!(
            (error.kind(), error.message(), error.code()),
            (ErrorKind::Provider, "Slow down.", code)
        );
        assert_eq!(end, End::Error);
    }
}

#[tokio::test]
async fn a_proxys_page_is_no_clean_end() {
    let page = "<html>\n<head><title>502 Bad Gateway</title></head>\n</html>\n";
    let address = serve(502, stream::iter([text(page)])).await;
    let (calls, error, _) = all(get(address)
        .await
        .bytes_stream()
        .tool_calls(WireFormat::OpenAiChat))
    .await;
    assert!(calls.is_empty());
    let error = error.unwrap();
    assert_eq!(error.kind(), ErrorKind::Truncated);
    assert!(error.message().contains("html"), "{error}");
}

/// Sends keep-alives until the connection is closed by the other side.
async fn until_closed(server: mpsc::Sender<Piece>) {
    soon(async {
        while server.send(text(": keep-alive\n\n")).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_dropped_stream_closes_the_connection() {
    let (address, server) = serve_by_hand().await;
    let calls = get(address)
        .await
        .bytes_stream()
        .tool_calls(WireFormat::OpenAiChat);
    server.send(text(bodies::chat_text("Hi"))).await.unwrap();
    drop(calls);
    until_closed(server).await;
}

#[tokio::test]
async fn an_error_in_the_body_closes_the_connection_though_the_stream_is_still_held() {
    let (address, server) = serve_by_hand().await;
    let mut calls = get(address)
        .await
        .bytes_stream()
        .tool_calls(WireFormat::OpenAiChat);
    server
        .send(text("data: {\"error\":{\"message\":\"overloaded\"}}\n\n"))
        .await
        .unwrap();
    let error = soon(calls.next()).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Provider);
    until_closed(server).await;
    assert!(soon(calls.next()).await.is_none());
}
