//! A body relayed unchanged while its calls come out at the side: the gateway's case.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::Stream;
use futures::stream::FusedStream;
use pin_project_lite::pin_project;

use crate::error::{Error, ErrorKind};
use crate::event::Event;
use crate::parser::ToolCallParser;

pin_project! {
    /// A stream of chunks, item by item as it is, whose events go to a sink at the side.
    ///
    /// 1. *The relay is the body.* Every item of the source goes on as it came: the same chunks in the same order with the
    ///    same borders, empty ones too, never copied, and the transport's error as its own type, which is the last item. No event, no limit and no
    ///    error of the parser changes or ends it.
    /// 2. *The consumer paces the source.* The source is polled when the relay is polled and never otherwise; nothing is
    ///    buffered.
    /// 3. *Events come first.* The sink has had every event that a chunk completes before that chunk goes on, and the last
    ///    ones before the end or the error does: a gateway may still drop the relay on what it sees.
    /// 4. *Every call that starts ends.* A transport's error, and a relay that is dropped in the middle because the client
    ///    went away, reach the sink as flagged calls and an error of kind [`Transport`](ErrorKind::Transport), unless the
    ///    wire's own terminal such as `[DONE]` had come: then the stream ended clean.
    ///
    /// The sink is called by the task that polls the relay and holds it up for as long as it runs: it should hand events on
    /// and return. With a bounded channel that is `try_send`, which refuses where there is no room; what is refused is the
    /// sink's to count, the relay never waits for it. A sink that panics takes the relay's task with it, as any code there.
    ///
    /// A compressed body must be decompressed first, or the relay is right and the sink is told of an unknown format.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ByteStreamExt, Event, ToolCallParser, WireFormat};
    /// use futures::StreamExt;
    ///
    /// # futures::executor::block_on(async {
    /// # let body = futures::stream::iter([Ok::<_, std::io::Error>(&br#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"get_now","arguments":"{}"}}]}}]}
    /// #
    /// # data: [DONE]
    /// #
    /// # "#[..])]);
    /// let (sender, seen) = std::sync::mpsc::sync_channel(64);
    /// let relay = body.passthrough(ToolCallParser::new(WireFormat::OpenAiChat), move |event| {
    ///     if let Ok(Event::CallCompleted(call)) = event {
    ///         sender.try_send(call).ok(); // a full channel loses the call, not the relay
    ///     }
    /// });
    /// let relayed: Vec<_> = relay.collect().await;
    /// assert!(relayed[0].as_ref().unwrap().ends_with(b"[DONE]\n\n"));
    /// assert_eq!(seen.recv().unwrap().name(), "get_now");
    /// # });
    /// ```
    #[must_use = "streams do nothing unless polled"]
    pub struct Passthrough<S, F>
    where
        F: FnMut(Result<Event<'_>, Error>),
    {
        #[pin]
        chunks: S,
        watch: Watch<F>,
        ended: bool,
    }
}

/// A parser and who is told of its events.
struct Watch<F: FnMut(Result<Event<'_>, Error>)> {
    parser: ToolCallParser,
    sink: F,
}

impl<S, F> Passthrough<S, F>
where
    F: FnMut(Result<Event<'_>, Error>),
{
    /// Relays these chunks and shows them to this parser. A sink that wants nothing but calls is cheapest with
    /// [`Config::calls_only`](crate::Config::calls_only).
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Config, Passthrough, ToolCallParser, WireFormat};
    ///
    /// let body = futures::stream::empty::<Result<&[u8], std::io::Error>>();
    /// let parser = ToolCallParser::with_config(WireFormat::Auto, Config::default().calls_only(true));
    /// let relay = Passthrough::new(body, parser, |event| drop(event));
    /// assert_eq!(relay.parser().offset(), 0);
    /// ```
    pub fn new(chunks: S, parser: ToolCallParser, sink: F) -> Self {
        Passthrough {
            chunks,
            watch: Watch { parser, sink },
            ended: false,
        }
    }

    /// The parser: its format, its end, its calls in progress.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ByteStreamExt, ToolCallParser, WireFormat};
    /// use futures::StreamExt;
    ///
    /// # futures::executor::block_on(async {
    /// let body = futures::stream::iter([Ok::<_, std::io::Error>("data: [DONE]\n\n")]);
    /// let mut relay = body.passthrough(ToolCallParser::new(WireFormat::OpenAiChat), |_| {});
    /// while relay.next().await.is_some() {}
    /// assert_eq!(relay.parser().offset(), 14);
    /// # });
    /// ```
    pub fn parser(&self) -> &ToolCallParser {
        &self.watch.parser
    }
}

impl<F: FnMut(Result<Event<'_>, Error>)> Watch<F> {
    fn chunk(&mut self, chunk: &[u8]) {
        self.parser.push(chunk).for_each(&mut self.sink);
    }

    fn finish(&mut self) {
        self.parser.finish().for_each(&mut self.sink);
    }

    /// The relay will bring no more, for this reason.
    fn abort(&mut self, why: &str) {
        if self.parser.is_told_over() {
            // Clients hang up at `[DONE]`, before the end of the body.
            self.finish();
        } else {
            // Of a stream that has ended this takes only what still waits.
            let error = Error::new(ErrorKind::Transport, self.parser.offset(), why);
            self.parser.abort_with(error).for_each(&mut self.sink);
        }
    }
}

impl<F: FnMut(Result<Event<'_>, Error>)> Drop for Watch<F> {
    fn drop(&mut self) {
        // A sink that panicked is not asked again: a second panic would end the process.
        if !std::thread::panicking() {
            self.abort("the relay was dropped before the body ended");
        }
    }
}

impl<S, B, E, F> Stream for Passthrough<S, F>
where
    S: Stream<Item = Result<B, E>>,
    B: AsRef<[u8]>,
    F: FnMut(Result<Event<'_>, Error>),
{
    type Item = Result<B, E>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.project();
        if *this.ended {
            return Poll::Ready(None);
        }
        let item = ready!(this.chunks.poll_next(cx));
        match &item {
            Some(Ok(chunk)) => this.watch.chunk(chunk.as_ref()),
            Some(Err(_)) => this.watch.abort("the transport failed"),
            None => this.watch.finish(),
        }
        *this.ended = !matches!(item, Some(Ok(_)));
        Poll::Ready(item)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        if self.ended {
            return (0, Some(0));
        }
        self.chunks.size_hint()
    }
}

impl<S, B, E, F> FusedStream for Passthrough<S, F>
where
    S: Stream<Item = Result<B, E>>,
    B: AsRef<[u8]>,
    F: FnMut(Result<Event<'_>, Error>),
{
    fn is_terminated(&self) -> bool {
        self.ended
    }
}

impl<S, F> fmt::Debug for Passthrough<S, F>
where
    F: FnMut(Result<Event<'_>, Error>),
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Passthrough")
            .field("parser", &self.watch.parser)
            .finish_non_exhaustive()
    }
}
