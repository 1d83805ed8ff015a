//! Push chunks in one task, take calls out in another, with back-pressure.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::Stream;
use tokio::sync::{Semaphore, mpsc};

use crate::config::Config;
use crate::parser::ToolCallParser;
use crate::stream::ToolCallStream;
use crate::wire::WireFormat;

/// A sender of chunks and the stream of the calls that are in them. At most `capacity` chunks wait (0 is read as 1); the sender
/// waits then.
///
/// # Examples
///
/// ```
/// use callstitch::{WireFormat, channel};
/// use futures::StreamExt;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let (sender, mut calls) = channel(WireFormat::OpenAiChat, 8);
/// tokio::spawn(async move {
///     sender.push(r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"get_now","arguments":"{}"}}]}}]}"#).await?;
///     sender.push("\n\ndata: [DONE]\n\n").await?;
///     sender.finish().await
/// });
/// assert_eq!(calls.next().await.unwrap()?.name(), "get_now");
/// assert!(calls.next().await.is_none());
/// # Ok::<(), callstitch::Error>(())
/// # }).unwrap();
/// ```
pub fn channel(format: WireFormat, capacity: usize) -> (ChunkSender, ToolCallStream<Chunks>) {
    let config = Config::default().calls_only(true);
    channel_with(ToolCallParser::with_config(format, config), capacity)
}

/// As [`channel`], with a parser of your own: other limits, another policy, a decoder.
///
/// # Examples
///
/// ```
/// use callstitch::{Config, ToolCallParser, WireFormat, channel_with};
/// use futures::StreamExt;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let parser = ToolCallParser::with_config(WireFormat::Ollama, Config::default().max_calls(8));
/// let (sender, mut calls) = channel_with(parser, 4);
/// let line = "{\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"get_now\",\"arguments\":{}}}]},\"done\":true}\n";
/// sender.push(line).await.unwrap();
/// sender.finish().await.unwrap();
/// assert_eq!(calls.next().await.unwrap()?.name(), "get_now");
/// # Ok::<(), callstitch::Error>(())
/// # }).unwrap();
/// ```
pub fn channel_with(
    parser: ToolCallParser,
    capacity: usize,
) -> (ChunkSender, ToolCallStream<Chunks>) {
    let (sender, receiver) = mpsc::channel(capacity.clamp(1, Semaphore::MAX_PERMITS));
    let chunks = Chunks {
        receiver,
        ended: false,
    };
    (ChunkSender { sender }, ToolCallStream::new(chunks, parser))
}

/// The end of a [`channel`] that takes chunks. Dropping every clone of it without [`finish`](ChunkSender::finish) is an abort.
///
/// A clone sends into the same body, so clones must agree whose chunk is next, and the first `finish` ends the body for all.
///
/// # Examples
///
/// ```
/// use callstitch::{WireFormat, channel};
/// use futures::StreamExt;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let (sender, mut calls) = channel(WireFormat::OpenAiChat, 4);
/// sender.push("data: [DONE]\n\n").await.unwrap();
/// sender.finish().await.unwrap();
/// assert!(calls.next().await.is_none());
/// # });
/// ```
#[derive(Debug, Clone)]
pub struct ChunkSender {
    sender: mpsc::Sender<Message>,
}

#[derive(Debug)]
enum Message {
    Chunk(Bytes),
    Finish,
}

/// Nobody reads the chunks any more: the stream of calls was dropped, or it has ended, in an error or because a clone said
/// [`finish`](ChunkSender::finish).
///
/// # Examples
///
/// ```
/// use callstitch::{WireFormat, channel};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let (sender, calls) = channel(WireFormat::OpenAiChat, 4);
/// drop(calls); // nobody reads
/// assert!(sender.push("data: [DONE]\n\n").await.is_err());
/// # });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed(());

impl ChunkSender {
    /// Sends a chunk; waits while the channel is full. Cancel-safe: a chunk is sent whole or not at all. Cost: O(1), the bytes
    /// are not copied.
    ///
    /// # Errors
    ///
    /// [`Closed`] where the stream was dropped or has ended.
    pub async fn push(&self, chunk: impl Into<Bytes>) -> Result<(), Closed> {
        self.sender
            .send(Message::Chunk(chunk.into()))
            .await
            .map_err(|_| Closed(()))
    }

    /// Says that the body ended, for every clone of this sender. Waits while the channel is full.
    ///
    /// # Errors
    ///
    /// [`Closed`] where the stream was dropped or has ended.
    pub async fn finish(self) -> Result<(), Closed> {
        self.sender
            .send(Message::Finish)
            .await
            .map_err(|_| Closed(()))
    }
}

/// The chunks of a [`channel`], as a stream.
///
/// # Examples
///
/// ```
/// use callstitch::{Chunks, ToolCallStream, WireFormat, channel};
///
/// let (_sender, calls): (_, ToolCallStream<Chunks>) = channel(WireFormat::OpenAiChat, 4);
/// assert!(calls.into_parts().0.is_some()); // the chunks that were not read yet
/// ```
#[derive(Debug)]
pub struct Chunks {
    receiver: mpsc::Receiver<Message>,
    ended: bool,
}

/// Every sender was dropped and none had said that the body ended.
///
/// # Examples
///
/// ```
/// use callstitch::{Aborted, ErrorKind, WireFormat, channel};
/// use futures::StreamExt;
/// use std::error::Error;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let (sender, mut calls) = channel(WireFormat::OpenAiChat, 4);
/// drop(sender); // and never said that the body ended
/// let error = calls.next().await.unwrap().unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Transport);
/// assert!(error.source().unwrap().is::<Aborted>());
/// # });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aborted(());

impl Stream for Chunks {
    type Item = Result<Bytes, Aborted>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.ended {
            return Poll::Ready(None);
        }
        self.receiver.poll_recv(cx).map(|message| match message {
            Some(Message::Chunk(chunk)) => Some(Ok(chunk)),
            Some(Message::Finish) => {
                self.ended = true;
                // A clone that still pushes is told so, and does not wait for a reader that will not come.
                self.receiver.close();
                None
            }
            None => {
                self.ended = true;
                Some(Err(Aborted(())))
            }
        })
    }
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the stream of calls was dropped or has ended")
    }
}

impl fmt::Display for Aborted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the sender of chunks was dropped before the body ended")
    }
}

impl std::error::Error for Closed {}
impl std::error::Error for Aborted {}
