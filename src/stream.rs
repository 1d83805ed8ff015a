//! The parser over a stream of chunks: `Poll` outside, no decision inside.

mod fields;

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::Stream;
use futures::stream::FusedStream;
use pin_project_lite::pin_project;

use crate::call::ToolCall;
use crate::config::Config;
use crate::error::{Error, ErrorKind};
use crate::event::Event;
use crate::parser::ToolCallParser;
use crate::passthrough::Passthrough;
use crate::wire::WireFormat;

pub use fields::{FieldItems, FieldText};

type BoxError = Box<dyn std::error::Error + Send + Sync + 'static>;

pin_project! {
    /// Every event of a stream of chunks, owned.
    ///
    /// Fused: after `None`, or after an error, nothing more comes. Cancel-safe: the parser holds what was read, so a `next()`
    /// that is dropped while it waits loses nothing. A transport's error comes after everything that had arrived whole, open
    /// calls flagged before it; its source is the transport's error. Where the provider had reported an error before, that one
    /// comes in its place. The chunks are dropped the moment the stream is known to
    /// have ended, so that whoever sends them is not kept waiting.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ByteStreamExt, Event, WireFormat};
    /// use futures::StreamExt;
    ///
    /// # futures::executor::block_on(async {
    /// let chunks = futures::stream::iter([Ok::<_, std::io::Error>(b"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: [DONE]\n\n")]);
    /// let mut events = chunks.tool_events(WireFormat::OpenAiChat);
    /// let first = events.next().await.unwrap()?;
    /// assert!(matches!(first, Event::Text { text, .. } if text == "Hi"));
    /// # Ok::<(), callstitch::Error>(())
    /// # }).unwrap();
    /// ```
    #[must_use = "streams do nothing unless polled"]
    pub struct EventStream<S> {
        // `None` once the stream has ended.
        #[pin]
        chunks: Option<S>,
        parser: ToolCallParser,
    }
}

pin_project! {
    /// The calls of a stream of chunks, whole and flagged. As [`EventStream`] otherwise.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ByteStreamExt, WireFormat};
    /// use futures::StreamExt;
    ///
    /// # futures::executor::block_on(async {
    /// # let body = futures::stream::iter([Ok::<_, std::io::Error>(&br#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"get_now","arguments":"{}"}}]}}]}
    /// #
    /// # data: [DONE]
    /// #
    /// # "#[..])]);
    /// let mut calls = body.tool_calls(WireFormat::Auto);
    /// while let Some(call) = calls.next().await {
    ///     assert_eq!(call?.name(), "get_now");
    /// }
    /// # Ok::<(), callstitch::Error>(())
    /// # }).unwrap();
    /// ```
    #[derive(Debug)]
    #[must_use = "streams do nothing unless polled"]
    pub struct ToolCallStream<S> {
        #[pin]
        events: EventStream<S>,
    }
}

/// Wraps any stream of byte chunks, such as a response body.
///
/// # Examples
///
/// ```
/// use callstitch::{ByteStreamExt, WireFormat};
/// use futures::StreamExt;
///
/// # futures::executor::block_on(async {
/// let body = futures::stream::iter([Ok::<_, std::io::Error>("data: [DONE]\n\n")]);
/// assert!(body.tool_calls(WireFormat::OpenAiChat).next().await.is_none());
/// # });
/// ```
pub trait ByteStreamExt<B, E>: Stream<Item = Result<B, E>> + Sized
where
    B: AsRef<[u8]>,
    E: Into<BoxError>,
{
    /// The tool calls of this body. Text, reasoning and the rest pass unseen.
    fn tool_calls(self, format: WireFormat) -> ToolCallStream<Self> {
        ToolCallStream::new(
            self,
            ToolCallParser::with_config(format, Config::default().calls_only(true)),
        )
    }

    /// This body unchanged, chunk for chunk, while its events go to `sink`; see [`Passthrough`].
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ByteStreamExt, Event, ToolCallParser, WireFormat};
    /// use futures::StreamExt;
    ///
    /// # futures::executor::block_on(async {
    /// # let body = futures::stream::iter([Ok::<_, std::io::Error>("data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n")]);
    /// let mut text = String::new();
    /// let mut relay = body.passthrough(ToolCallParser::new(WireFormat::OpenAiChat), |event| {
    ///     if let Ok(Event::Text { text: piece, .. }) = event {
    ///         text.push_str(&piece);
    ///     }
    /// });
    /// while let Some(chunk) = relay.next().await {
    ///     drop(chunk); // to the client
    /// }
    /// drop(relay);
    /// assert_eq!(text, "Hi");
    /// # });
    /// ```
    fn passthrough<F>(self, parser: ToolCallParser, sink: F) -> Passthrough<Self, F>
    where
        F: FnMut(Result<Event<'_>, Error>),
    {
        Passthrough::new(self, parser, sink)
    }

    /// Every event of this body. Cost: their texts are copied; a parser by hand lends them.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ByteStreamExt, Event, WireFormat};
    /// use futures::StreamExt;
    ///
    /// # futures::executor::block_on(async {
    /// let body = futures::stream::iter([Ok::<_, std::io::Error>("data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n")]);
    /// let mut events = body.tool_events(WireFormat::OpenAiChat);
    /// assert!(matches!(events.next().await, Some(Ok(Event::Text { .. }))));
    /// # });
    /// ```
    fn tool_events(self, format: WireFormat) -> EventStream<Self> {
        EventStream::new(self, ToolCallParser::new(format))
    }
}

impl<S, B, E> ByteStreamExt<B, E> for S
where
    S: Stream<Item = Result<B, E>>,
    B: AsRef<[u8]>,
    E: Into<BoxError>,
{
}

impl<S> EventStream<S> {
    /// The events of these chunks, read by this parser.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Config, EventStream, ToolCallParser, WireFormat};
    ///
    /// let body = futures::stream::empty::<Result<&[u8], std::io::Error>>();
    /// let parser = ToolCallParser::with_config(WireFormat::Auto, Config::default().max_calls(8));
    /// let stream = EventStream::new(body, parser);
    /// assert_eq!(stream.parser().offset(), 0);
    /// ```
    pub fn new(chunks: S, parser: ToolCallParser) -> Self {
        EventStream {
            chunks: Some(chunks),
            parser,
        }
    }

    /// The parser: its format, its end, its calls in progress.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{End, EventStream, ToolCallParser, WireFormat};
    /// use futures::StreamExt;
    ///
    /// # futures::executor::block_on(async {
    /// let body = futures::stream::iter([Ok::<_, std::io::Error>("data: [DONE]\n\n")]);
    /// let mut stream = EventStream::new(body, ToolCallParser::new(WireFormat::OpenAiChat));
    /// while stream.next().await.is_some() {}
    /// assert_eq!(stream.parser().end(), Some(End::Clean));
    /// # });
    /// ```
    pub fn parser(&self) -> &ToolCallParser {
        &self.parser
    }

    /// The parser, to look at the calls in progress.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{EventStream, ToolCallParser, WireFormat};
    ///
    /// let body = futures::stream::empty::<Result<&[u8], std::io::Error>>();
    /// let mut stream = EventStream::new(body, ToolCallParser::new(WireFormat::OpenAiChat));
    /// for call in stream.parser_mut().in_progress() {
    ///     println!("{:?}", call.arguments().object());
    /// }
    /// ```
    pub fn parser_mut(&mut self) -> &mut ToolCallParser {
        &mut self.parser
    }

    /// The chunks that were not read yet, `None` once the stream has ended, and the parser.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{EventStream, ToolCallParser, WireFormat};
    ///
    /// let body = futures::stream::empty::<Result<&[u8], std::io::Error>>();
    /// let (unread, parser) = EventStream::new(body, ToolCallParser::new(WireFormat::OpenAiChat)).into_parts();
    /// assert!(unread.is_some() && parser.end().is_none());
    /// ```
    pub fn into_parts(self) -> (Option<S>, ToolCallParser) {
        (self.chunks, self.parser)
    }
}

impl<S> ToolCallStream<S> {
    /// The calls of these chunks, read by this parser.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Config, ToolCallStream, ToolCallParser, WireFormat};
    ///
    /// let body = futures::stream::empty::<Result<&[u8], std::io::Error>>();
    /// let parser = ToolCallParser::with_config(WireFormat::Auto, Config::default().max_calls(8));
    /// let stream = ToolCallStream::new(body, parser);
    /// assert_eq!(stream.parser().offset(), 0);
    /// ```
    pub fn new(chunks: S, parser: ToolCallParser) -> Self {
        ToolCallStream {
            events: EventStream::new(chunks, parser),
        }
    }

    /// The parser: its format, its end, its calls in progress.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{End, ToolCallStream, ToolCallParser, WireFormat};
    /// use futures::StreamExt;
    ///
    /// # futures::executor::block_on(async {
    /// let body = futures::stream::iter([Ok::<_, std::io::Error>("data: [DONE]\n\n")]);
    /// let mut stream = ToolCallStream::new(body, ToolCallParser::new(WireFormat::OpenAiChat));
    /// while stream.next().await.is_some() {}
    /// assert_eq!(stream.parser().end(), Some(End::Clean));
    /// # });
    /// ```
    pub fn parser(&self) -> &ToolCallParser {
        &self.events.parser
    }

    /// The parser, to look at the calls in progress.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ToolCallStream, ToolCallParser, WireFormat};
    ///
    /// let body = futures::stream::empty::<Result<&[u8], std::io::Error>>();
    /// let mut stream = ToolCallStream::new(body, ToolCallParser::new(WireFormat::OpenAiChat));
    /// for call in stream.parser_mut().in_progress() {
    ///     println!("{:?}", call.arguments().object());
    /// }
    /// ```
    pub fn parser_mut(&mut self) -> &mut ToolCallParser {
        &mut self.events.parser
    }

    /// The chunks that were not read yet, `None` once the stream has ended, and the parser.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ToolCallStream, ToolCallParser, WireFormat};
    ///
    /// let body = futures::stream::empty::<Result<&[u8], std::io::Error>>();
    /// let (unread, parser) = ToolCallStream::new(body, ToolCallParser::new(WireFormat::OpenAiChat)).into_parts();
    /// assert!(unread.is_some() && parser.end().is_none());
    /// ```
    pub fn into_parts(self) -> (Option<S>, ToolCallParser) {
        self.events.into_parts()
    }
}

impl<S, B, E> EventStream<S>
where
    S: Stream<Item = Result<B, E>>,
    B: AsRef<[u8]>,
    E: Into<BoxError>,
{
    /// Polls for the next thing that `pick` finds among the events.
    fn poll_pick<T>(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut pick: impl FnMut(Result<Event<'_>, Error>) -> Option<T>,
    ) -> Poll<Option<T>> {
        let mut this = self.project();
        loop {
            if this.parser.end().is_some() {
                this.chunks.set(None);
            }
            if let Some(found) = this.parser.events().find_map(&mut pick) {
                return Poll::Ready(Some(found));
            }
            let Some(chunks) = this.chunks.as_mut().as_pin_mut() else {
                return Poll::Ready(None);
            };
            // The events stay in the parser until the next turn of the loop takes them.
            match ready!(chunks.poll_next(cx)) {
                Some(Ok(chunk)) => drop(this.parser.push(chunk.as_ref())),
                Some(Err(error)) => {
                    let at = this.parser.offset();
                    let error = Error::new(ErrorKind::Transport, at, "the transport failed")
                        .with_source(error);
                    drop(this.parser.abort_with(error));
                }
                None => drop(this.parser.finish()),
            }
        }
    }
}

impl<S, B, E> Stream for EventStream<S>
where
    S: Stream<Item = Result<B, E>>,
    B: AsRef<[u8]>,
    E: Into<BoxError>,
{
    type Item = Result<Event<'static>, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_pick(cx, |event| Some(event.map(Event::into_owned)))
    }
}

impl<S, B, E> Stream for ToolCallStream<S>
where
    S: Stream<Item = Result<B, E>>,
    B: AsRef<[u8]>,
    E: Into<BoxError>,
{
    type Item = Result<ToolCall, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.project().events.poll_pick(cx, |event| match event {
            Ok(event) => event.into_call().map(Ok),
            Err(error) => Some(Err(error)),
        })
    }
}

/// Shows the parser. A stream of chunks may hold the body's text, and is not shown.
impl<S> fmt::Debug for EventStream<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream")
            .field("parser", &self.parser)
            .field("ended", &self.chunks.is_none())
            .finish_non_exhaustive()
    }
}

impl<S, B, E> FusedStream for EventStream<S>
where
    S: Stream<Item = Result<B, E>>,
    B: AsRef<[u8]>,
    E: Into<BoxError>,
{
    fn is_terminated(&self) -> bool {
        let ended = self.chunks.is_none() || self.parser.end().is_some();
        ended && self.parser.is_drained()
    }
}

impl<S, B, E> FusedStream for ToolCallStream<S>
where
    S: Stream<Item = Result<B, E>>,
    B: AsRef<[u8]>,
    E: Into<BoxError>,
{
    fn is_terminated(&self) -> bool {
        self.events.is_terminated()
    }
}
