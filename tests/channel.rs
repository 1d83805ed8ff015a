//! Chunks pushed in one task, calls taken out in another.
#![cfg(feature = "channel")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "common/bodies.rs"]
mod bodies;

use std::error::Error as _;
use std::future::Future;
use std::time::Duration;

use callstitch::{
    Aborted, ChunkSender, Chunks, Closed, Config, ErrorKind, ToolCallParser, ToolCallStream,
    WireFormat, channel, channel_with,
};
use futures::stream::FusedStream;
use futures::{FutureExt, StreamExt};

/// Nothing here waits for long unless it hangs.
async fn soon<F: Future>(future: F) -> F::Output {
    let limit = Duration::from_secs(20);
    tokio::time::timeout(limit, future).await.expect("it hangs")
}

fn half_a_call() -> String {
    bodies::chat_open(0, "call_1", "get_tide") + &bodies::chat_piece(0, "{\"port\":\"Ob")
}

#[tokio::test]
async fn calls_come_out_as_the_chunks_go_in() {
    let (sender, mut calls) = channel(WireFormat::Anthropic, 4);
    soon(sender.push(bodies::anthropic_start())).await.unwrap();
    soon(sender.push(bodies::anthropic_call(
        1,
        "toolu_1",
        "get_tide",
        &["{\"a\":", "1}"],
    )))
    .await
    .unwrap();
    let first = soon(calls.next()).await.unwrap().unwrap();
    assert_eq!(first.id(), "toolu_1");
    assert!(
        calls.next().now_or_never().is_none(),
        "the next call was not sent yet"
    );

    soon(sender.push(bodies::anthropic_call(2, "toolu_2", "get_wind", &["{}"])))
        .await
        .unwrap();
    soon(sender.push(bodies::anthropic_end())).await.unwrap();
    soon(sender.finish()).await.unwrap();
    assert_eq!(soon(calls.next()).await.unwrap().unwrap().id(), "toolu_2");
    assert!(soon(calls.next()).await.is_none());
    assert!(calls.is_terminated());
}

#[tokio::test]
async fn no_more_than_the_capacity_waits_in_the_channel() {
    for capacity in [1, 3, 16] {
        let (sender, mut calls) = channel(WireFormat::OpenAiChat, capacity);
        for _ in 0..capacity {
            sender
                .push(": keep-alive\n\n")
                .now_or_never()
                .expect("there is room")
                .unwrap();
        }
        assert!(
            sender.push("never sent").now_or_never().is_none(),
            "the channel is full"
        );
        // A push that was given up while it waited sent nothing.
        assert!(
            calls.next().now_or_never().is_none(),
            "all that waits is read"
        );
        sender
            .push(bodies::chat_body())
            .now_or_never()
            .expect("there is room again")
            .unwrap();
        soon(async {
            tokio::join!(sender.finish().map(Result::unwrap), async {
                assert_eq!(calls.next().await.unwrap().unwrap().name(), "get_tide");
                assert_eq!(calls.next().await.unwrap().unwrap().name(), "get_wind");
                assert!(calls.next().await.is_none());
            })
        })
        .await;
    }
}

#[tokio::test]
async fn a_sender_ahead_of_the_reader_waits_for_it() {
    let (sender, mut calls) = channel(WireFormat::OpenAiChat, 2);
    let body = bodies::chat_body();
    let pushing = tokio::spawn(async move {
        let mut pushed = 0;
        for chunk in body.into_bytes().chunks(3) {
            sender.push(chunk.to_vec()).await?;
            pushed += 1;
        }
        sender.finish().await?;
        Ok::<_, Closed>(pushed)
    });
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(!pushing.is_finished());
    assert_eq!(soon(calls.by_ref().count()).await, 2);
    assert!(soon(pushing).await.unwrap().unwrap() > 100);
}

#[tokio::test]
async fn a_capacity_of_nothing_is_read_as_one_and_one_of_everything_is_no_allocation() {
    for capacity in [0, usize::MAX] {
        let (sender, mut calls) = channel(WireFormat::OpenAiChat, capacity);
        soon(sender.push(bodies::chat_body())).await.unwrap();
        assert_eq!(soon(calls.next()).await.unwrap().unwrap().id(), "call_1");
    }
}

/// Reads to the end: the one flagged call and then the error of kind transport.
async fn assert_aborted(mut calls: ToolCallStream<Chunks>) {
    let call = soon(calls.next()).await.unwrap().unwrap();
    assert!(!call.is_usable());
    assert_eq!(call.arguments().recovered().unwrap()["port"], "Ob");
    let error = soon(calls.next()).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport);
    assert!(error.source().unwrap().is::<Aborted>());
    assert!(soon(calls.next()).await.is_none());
    assert!(calls.is_terminated());
}

#[tokio::test]
async fn a_sender_dropped_without_finish_is_an_abort() {
    let (sender, calls) = channel(WireFormat::OpenAiChat, 4);
    soon(sender.push(half_a_call())).await.unwrap();
    drop(sender);
    assert_aborted(calls).await;
}

#[tokio::test]
async fn a_task_that_panics_is_an_abort() {
    let (sender, calls) = channel(WireFormat::OpenAiChat, 4);
    let task = tokio::spawn(async move {
        sender.push(half_a_call()).await.unwrap();
        std::panic::resume_unwind(Box::new("the task fails"));
    });
    assert_aborted(calls).await;
    assert!(soon(task).await.is_err());
}

#[tokio::test]
async fn a_clone_keeps_the_body_open_and_the_last_one_dropped_aborts_it() {
    let (sender, mut calls) = channel(WireFormat::OpenAiChat, 4);
    let clone = sender.clone();
    soon(sender.push(half_a_call())).await.unwrap();
    drop(sender);
    assert!(calls.next().now_or_never().is_none(), "the clone may go on");
    soon(clone.push(": still here\n\n")).await.unwrap();
    drop(clone);
    assert_aborted(calls).await;
}

#[tokio::test]
async fn the_first_finish_ends_the_body_for_every_clone() {
    let (sender, mut calls) = channel(WireFormat::OpenAiChat, 1);
    let clone = sender.clone();
    soon(sender.push(bodies::chat_body())).await.unwrap();
    let finished = tokio::spawn(sender.finish());
    assert_eq!(soon(calls.by_ref().count()).await, 2);
    soon(finished).await.unwrap().unwrap();
    assert_eq!(calls.parser().end(), Some(callstitch::End::Clean));
    // More pushes than there is room for: none of them waits.
    for _ in 0..3 {
        assert!(soon(clone.push("too late")).await.is_err());
    }
    assert!(soon(clone.finish()).await.is_err());
}

#[tokio::test]
async fn a_dropped_stream_is_told_to_the_sender_even_to_one_that_waits() {
    let (sender, calls) = channel(WireFormat::OpenAiChat, 1);
    soon(sender.push("data: {}\n\n")).await.unwrap();
    let waits = tokio::spawn({
        let sender = sender.clone();
        async move { sender.push("data: {}\n\n").await }
    });
    tokio::task::yield_now().await;
    drop(calls);
    let closed = soon(waits).await.unwrap().unwrap_err();
    assert_eq!(
        closed.to_string(),
        "the stream of calls was dropped or has ended"
    );
    assert_eq!(soon(sender.push("data: {}\n\n")).await, Err(closed));
    assert_eq!(soon(sender.finish()).await, Err(closed));
}

#[tokio::test]
async fn a_stream_that_ended_in_an_error_does_not_keep_its_sender_waiting() {
    let parser =
        ToolCallParser::with_config(WireFormat::OpenAiChat, Config::default().max_calls(1));
    let (sender, mut calls) = channel_with(parser, 1);
    let pushing = tokio::spawn(async move {
        loop {
            sender.push(bodies::chat_body()).await?;
        }
        #[allow(unreachable_code)]
        Ok::<(), Closed>(())
    });
    let call = soon(calls.next()).await.unwrap().unwrap();
    assert!(!call.is_usable(), "cut by the limit");
    let error = soon(calls.next()).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    // The stream lives on, and is read no more.
    assert!(soon(pushing).await.unwrap().is_err());
    drop(calls);
}

#[test]
fn both_ends_cross_threads() {
    fn is_send_sync_unpin<T: Send + Sync + Unpin>() {}
    is_send_sync_unpin::<ChunkSender>();
    is_send_sync_unpin::<Chunks>();
    is_send_sync_unpin::<ToolCallStream<Chunks>>();
}
