//! Framing, decoder and accumulator, wired. This room knows that three machines exist and their order, no wire string and no JSON.

mod decoding;

use std::fmt;
use std::sync::Arc;

use crate::accumulate::{Accumulator, Events};
use crate::anomaly::AnomalyKind;
use crate::call::PartialCall;
use crate::config::{self, Config};
use crate::error::{Error, ErrorKind};
use crate::event::End;
use crate::framing::{
    Frame, FrameLimits, FrameSink, Framing, FramingKind, MAX_PADDING, sniff_padded, sniff_solid,
};
use crate::wire::{Decoder, WireFormat};

use decoding::{Decoding, TELLING_BYTES, take};

/// Bytes of a provider's stream in, events out. No runtime, no clock, no lifetimes; `Send`, `Sync` and `Unpin`.
///
/// # Examples
///
/// ```
/// use callstitch::{Event, ToolCallParser, WireFormat};
///
/// let mut parser = ToolCallParser::new(WireFormat::Anthropic);
/// let body = br#"data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"get_now","input":{}}}
///
/// data: {"type":"content_block_stop","index":0}
///
/// data: {"type":"message_stop"}
///
/// "#;
/// let mut names = Vec::new();
/// for chunk in body.chunks(7) {
///     for event in parser.push(chunk) {
///         if let Event::CallCompleted(call) = event? {
///             names.push(call.name().to_owned());
///         }
///     }
/// }
/// assert!(parser.finish().next().is_none());
/// assert_eq!(names, ["get_now"]);
/// # Ok::<(), callstitch::Error>(())
/// ```
pub struct ToolCallParser {
    framing: Stage,
    decoding: Decoding,
    accumulator: Accumulator,
    /// What was asked for, to begin again with.
    asked: Asked,
}

/// ```text
///   Sniffing ── enough bytes, or the end ──▶ Framing
/// ```
enum Stage {
    /// The first bytes, until they show the framing.
    Sniffing(Vec<u8>),
    Framing(Framing),
}

#[derive(Clone, Copy)]
struct Asked {
    format: Option<WireFormat>,
    framing: Option<FramingKind>,
}

/// How a body of your own [`Decoder`] is framed.
///
/// # Examples
///
/// ```
/// use callstitch::{Decoder, DeltaSink, Frame, Framed, ToolCallParser};
///
/// #[derive(Debug)]
/// struct Mine;
/// impl Decoder for Mine {
///     fn decode(&mut self, frame: Frame<'_>, _: &mut dyn DeltaSink) {
///         println!("{}", frame.data); // one line
///     }
/// }
/// let parser = ToolCallParser::with_decoder(Mine, Framed::Lines);
/// assert_eq!(parser.format(), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Framed {
    /// Server-sent events.
    ServerSentEvents,
    /// One JSON document a line.
    Lines,
    /// One JSON array, its elements one by one.
    JsonArray,
}

impl ToolCallParser {
    /// A parser of this format with the default [`Config`]. Cost: no allocation in proportion to anything.
    #[must_use]
    pub fn new(format: WireFormat) -> Self {
        ToolCallParser::of_format(format, config::shared())
    }

    /// A parser of this format with these limits and policies.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Config, ToolCallParser, WireFormat};
    ///
    /// let parser = ToolCallParser::with_config(WireFormat::Gemini, Config::default().max_calls(16));
    /// assert_eq!(parser.format(), Some(WireFormat::Gemini));
    /// ```
    #[must_use]
    pub fn with_config(format: WireFormat, config: Config) -> Self {
        ToolCallParser::of_format(format, Arc::new(config))
    }

    fn of_format(format: WireFormat, config: Arc<Config>) -> Self {
        let asked = Asked {
            format: Some(format),
            framing: format.only_framing(),
        };
        ToolCallParser::wire(
            asked,
            format
                .decoder()
                .map(|decoder| Decoding::named(Some(format), decoder)),
            config,
        )
    }

    /// A parser with a decoder of your own and the default [`Config`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use callstitch::{Decoder, Delta, DeltaSink, Fragment, Frame, TextKind};
    /// use callstitch::{Framed, ToolCallParser};
    /// # #[derive(Debug)]
    /// # struct Mine;
    /// # impl Decoder for Mine {
    /// #     fn decode(&mut self, frame: Frame<'_>, sink: &mut dyn DeltaSink) {
    /// #         let text = Fragment::new(frame.data);
    /// #         sink.delta(&Delta::Text { choice: 0, kind: TextKind::Answer, text });
    /// #     }
    /// # }
    ///
    /// let mut parser = ToolCallParser::with_decoder(Mine, Framed::Lines); // `Mine` says each line as text
    /// assert_eq!(parser.push(b"high\nlow\n").count(), 1); // joined
    /// ```
    #[must_use]
    pub fn with_decoder(decoder: impl Decoder + 'static, framed: Framed) -> Self {
        ToolCallParser::with_decoder_and_config(decoder, framed, Config::default())
    }

    /// A parser with a decoder of your own.
    ///
    /// # Examples
    ///
    /// ```
    /// # use callstitch::{Decoder, Delta, DeltaSink, Fragment, Frame, TextKind};
    /// use callstitch::{Config, Framed, ToolCallParser};
    /// # #[derive(Debug)]
    /// # struct Mine;
    /// # impl Decoder for Mine {
    /// #     fn decode(&mut self, frame: Frame<'_>, sink: &mut dyn DeltaSink) {
    /// #         let text = Fragment::new(frame.data);
    /// #         sink.delta(&Delta::Text { choice: 0, kind: TextKind::Answer, text });
    /// #     }
    /// # }
    ///
    /// let config = Config::default().calls_only(true);
    /// let mut parser = ToolCallParser::with_decoder_and_config(Mine, Framed::Lines, config);
    /// assert_eq!(parser.push(b"high\nlow\n").count(), 0); // `Mine` says each line as text
    /// ```
    #[must_use]
    pub fn with_decoder_and_config(
        decoder: impl Decoder + 'static,
        framed: Framed,
        config: Config,
    ) -> Self {
        let framing = match framed {
            Framed::ServerSentEvents => FramingKind::Sse,
            Framed::Lines => FramingKind::Lines,
            Framed::JsonArray => FramingKind::JsonArray,
        };
        let asked = Asked {
            format: None,
            framing: Some(framing),
        };
        ToolCallParser::wire(
            asked,
            Some(Decoding::named(None, Box::new(decoder))),
            Arc::new(config),
        )
    }

    fn wire(asked: Asked, decoding: Option<Decoding>, config: Arc<Config>) -> Self {
        let mut decoding = decoding.unwrap_or_else(|| Decoding::detecting(asked.framing));
        if let (Decoding::Decoding { decoder, .. }, false) = (&mut decoding, config.remember_events)
        {
            decoder.remember(false);
        }
        let limits = frame_limits(config.max_event_bytes);
        ToolCallParser {
            framing: Stage::new(asked, limits),
            decoding,
            accumulator: Accumulator::with_shared(config),
            asked,
        }
    }

    /// Tells a parser of [`WireFormat::Auto`] the response's `content-type`, before the first chunk. Only the framing is taken
    /// from it, and only from the types that cannot be mistaken; servers send `application/json` over anything.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ToolCallParser, WireFormat};
    ///
    /// let mut parser = ToolCallParser::new(WireFormat::Auto).content_type("application/x-ndjson");
    /// drop(parser.push(b"{\"message\":{\"content\":\"Hi\"},\"done\":false}\n"));
    /// assert_eq!(parser.format(), Some(WireFormat::Ollama));
    /// ```
    #[must_use]
    pub fn content_type(mut self, content_type: &str) -> Self {
        if let (Some(WireFormat::Auto), Some(framing)) = (
            self.asked.format,
            FramingKind::from_content_type(content_type),
        ) {
            self.asked.framing = Some(framing);
            self.framing = Stage::new(self.asked, self.limits());
            self.decoding = Decoding::detecting(self.asked.framing);
        }
        self
    }

    /// Says from here on what happens to fields.
    #[cfg(feature = "stream")]
    pub(crate) fn field_events(&mut self) {
        self.accumulator.field_events();
    }

    /// Gives the parser a chunk of any size; an empty one is nothing. Returns the events that are ready. Dropping them early
    /// loses nothing. Cost: linear in the chunk.
    pub fn push(&mut self, chunk: &[u8]) -> Events<'_> {
        if !chunk.is_empty() && !self.accumulator.is_over() {
            match self.framing {
                Stage::Framing(_) => self.frames(chunk),
                Stage::Sniffing(_) => self.sniff(chunk),
            }
        }
        self.accumulator.events()
    }

    /// Gives the parser a frame that was split elsewhere. Never fails: what is wrong becomes an event. Cost: linear in the
    /// frame.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Event, Frame, ToolCallParser, WireFormat};
    ///
    /// let mut parser = ToolCallParser::new(WireFormat::Ollama);
    /// let frame = Frame::new(r#"{"message":{"content":"Hi"},"done":false}"#);
    /// assert!(matches!(parser.push_frame(frame).next(), Some(Ok(Event::Text { .. }))));
    /// ```
    pub fn push_frame(&mut self, frame: Frame<'_>) -> Events<'_> {
        take(frame, &mut self.decoding, &mut self.accumulator);
        self.accumulator.events()
    }

    /// The body ended: what is unfinished is judged, and the last events come out. Saying it twice is nothing. Cost: each open
    /// call's text is settled, O(n).
    pub fn finish(&mut self) -> Events<'_> {
        if !self.accumulator.is_over() {
            self.end_of_body();
        }
        self.accumulator.events()
    }

    /// The transport died: what had ended stands, open calls come out flagged, and the last event is an error of kind
    /// [`ErrorKind::Transport`], or the provider's own where it had reported one. Cost: as [`finish`](ToolCallParser::finish).
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ErrorKind, Event, ToolCallParser, WireFormat};
    ///
    /// let mut parser = ToolCallParser::new(WireFormat::OpenAiChat);
    /// # let body = br#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"get_tide","arguments":"{\"port\":\"Ob"}}]}}]}
    /// #
    /// # "#;
    /// parser.push(body).for_each(drop);
    /// let said: Vec<_> = parser.abort().collect();
    /// assert!(matches!(&said[0], Ok(Event::CallCompleted(call)) if !call.is_usable()));
    /// assert!(matches!(&said[1], Err(error) if error.kind() == ErrorKind::Transport));
    /// ```
    pub fn abort(&mut self) -> Events<'_> {
        // Frames that were split elsewhere are not among the bytes given.
        let offset = self.offset().max(self.accumulator.offset());
        self.abort_with(Error::new(
            ErrorKind::Transport,
            offset,
            "the transport ended early",
        ))
    }

    /// As [`abort`](ToolCallParser::abort), with an error of your own.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Error, ErrorKind, ToolCallParser, WireFormat};
    ///
    /// let mut parser = ToolCallParser::new(WireFormat::Anthropic);
    /// let reset = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
    /// let error = Error::new(ErrorKind::Transport, parser.offset(), "the peer reset it").with_source(reset);
    /// assert!(parser.abort_with(error).last().unwrap().is_err());
    /// ```
    pub fn abort_with(&mut self, error: Error) -> Events<'_> {
        self.accumulator.abort(error);
        self.accumulator.events()
    }

    /// The events that wait. Cost: O(1) an event, its text is lent.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ToolCallParser, WireFormat};
    ///
    /// let mut parser = ToolCallParser::new(WireFormat::OpenAiChat);
    /// drop(parser.push(b"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n"));
    /// assert_eq!(parser.events().count(), 1); // nothing was lost
    /// ```
    pub fn events(&mut self) -> Events<'_> {
        self.accumulator.events()
    }

    /// The calls that are still arriving, by first appearance. Cost: O(calls of the stream), ended ones too.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ToolCallParser, WireFormat};
    ///
    /// let mut parser = ToolCallParser::new(WireFormat::OpenAiChat);
    /// # let body = br#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"get_tide","arguments":"{\"port\":\"Ob"}}]}}]}
    /// #
    /// # "#;
    /// parser.push(body).for_each(drop);
    /// for call in parser.in_progress() {
    ///     assert_eq!(call.arguments().object()["port"], "Ob");
    /// }
    /// ```
    pub fn in_progress(&mut self) -> impl Iterator<Item = &mut PartialCall> {
        self.accumulator.in_progress()
    }

    /// Forgets the body read so far, keeps the buffers and the configuration. A format that was detected is detected anew.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ToolCallParser, WireFormat};
    ///
    /// let mut parser = ToolCallParser::new(WireFormat::Auto);
    /// for body in [&b"data: {\"choices\":[]}\n\ndata: [DONE]\n\n"[..], b"{\"message\":{},\"done\":true}\n"] {
    ///     parser.push(body).for_each(drop);
    ///     assert!(parser.finish().all(|event| event.is_ok()));
    ///     parser.reset();
    /// }
    /// assert_eq!((parser.offset(), parser.end()), (0, None));
    /// ```
    pub fn reset(&mut self) {
        self.accumulator.reset();
        if self.asked.format == Some(WireFormat::Auto) {
            self.decoding = Decoding::detecting(self.asked.framing);
        } else {
            self.decoding.reset();
        }
        let limits = self.limits();
        match (&mut self.framing, self.asked.framing) {
            (Stage::Framing(framing), Some(_)) => framing.reset(),
            _ => self.framing = Stage::new(self.asked, limits),
        }
    }

    /// The format, once it is known; `None` for a decoder of your own.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ToolCallParser, WireFormat};
    ///
    /// let mut parser = ToolCallParser::new(WireFormat::Auto);
    /// assert_eq!(parser.format(), None);
    /// drop(parser.push(b"data: {\"type\":\"message_start\",\"message\":{\"role\":\"assistant\"}}\n\n"));
    /// assert_eq!(parser.format(), Some(WireFormat::Anthropic));
    /// ```
    #[must_use]
    pub fn format(&self) -> Option<WireFormat> {
        match &self.decoding {
            Decoding::Detecting { .. } => None,
            Decoding::Decoding { format, .. } => *format,
        }
    }

    /// How the stream ended; `None` while it runs.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{End, ToolCallParser, WireFormat};
    ///
    /// let mut parser = ToolCallParser::new(WireFormat::OpenAiChat);
    /// drop(parser.push(b"data: [DONE]\n\n"));
    /// assert_eq!(parser.end(), None); // until `finish`
    /// drop(parser.finish());
    /// assert_eq!(parser.end(), Some(End::Clean));
    /// ```
    #[must_use]
    pub fn end(&self) -> Option<End> {
        self.accumulator.end()
    }

    /// How often each liberty was taken.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{AnomalyKind, ToolCallParser, WireFormat};
    ///
    /// let mut parser = ToolCallParser::new(WireFormat::OpenAiChat);
    /// drop(parser.push(b"data: {\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}\n\n"));
    /// assert_eq!(parser.anomalies(), [(AnomalyKind::LossyUtf8, 1)]);
    /// ```
    #[must_use]
    pub fn anomalies(&self) -> &[(AnomalyKind, u64)] {
        self.accumulator.anomalies()
    }

    /// Bytes given so far, up to the chunk in which the stream ended.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ToolCallParser, WireFormat};
    ///
    /// let mut parser = ToolCallParser::new(WireFormat::OpenAiChat);
    /// drop(parser.push(b"data: [DO"));
    /// assert_eq!(parser.offset(), 9);
    /// ```
    #[must_use]
    pub fn offset(&self) -> u64 {
        match &self.framing {
            Stage::Sniffing(bytes) => bytes.len() as u64,
            Stage::Framing(framing) => framing.offset(),
        }
    }

    /// Whether the wire's own terminal came and nothing after it.
    #[cfg(feature = "stream")]
    pub(crate) fn is_told_over(&self) -> bool {
        self.accumulator.is_told_over()
    }

    /// Whether no event waits.
    #[cfg(feature = "stream")]
    pub(crate) fn is_drained(&self) -> bool {
        self.accumulator.is_drained()
    }

    fn limits(&self) -> FrameLimits {
        frame_limits(self.accumulator.max_event_bytes())
    }

    /// Takes a chunk while the framing is not known; nearly every body shows it in its first.
    #[cold]
    fn sniff(&mut self, chunk: &[u8]) {
        let Stage::Sniffing(first) = &mut self.framing else {
            return;
        };
        let mut joined = std::mem::take(first);
        // Bytes that are longer than a prelude and did not tell are white space: only what is new can tell.
        let padded = joined.len() > TELLING_BYTES;
        joined.extend_from_slice(chunk);
        let most = MAX_PADDING.min(self.limits().line);
        let seen = if padded && joined.len() <= most {
            sniff_solid(chunk)
        } else {
            sniff_padded(&joined, most)
        };
        match seen {
            Some(seen) => self.begin(seen, &joined),
            None => self.framing = Stage::Sniffing(joined),
        }
    }

    fn begin(&mut self, seen: FramingKind, first: &[u8]) {
        let kind = self
            .asked
            .format
            .map_or(seen, |format| format.framing(seen, first));
        self.framing = Stage::Framing(Framing::new(kind, self.limits()));
        if let Decoding::Detecting { detector, .. } = &mut self.decoding {
            detector.framed(kind);
        }
        self.frames(first);
    }

    fn frames(&mut self, chunk: &[u8]) {
        let Stage::Framing(framing) = &mut self.framing else {
            return;
        };
        let mut reader = Reader {
            decoding: &mut self.decoding,
            accumulator: &mut self.accumulator,
        };
        if let Err(error) = framing.push(chunk, &mut reader) {
            self.accumulator.abort(error);
        }
    }

    fn end_of_body(&mut self) {
        if let Stage::Sniffing(first) = &mut self.framing {
            let first = std::mem::take(first);
            self.begin(FramingKind::Sse, &first);
        }
        let Stage::Framing(framing) = &mut self.framing else {
            return;
        };
        let mut reader = Reader {
            decoding: &mut self.decoding,
            accumulator: &mut self.accumulator,
        };
        if let Err(error) = framing.finish(&mut reader) {
            return self.accumulator.abort(error);
        }
        // Frames that were split elsewhere are not among the bytes given.
        let end = framing.offset().max(self.accumulator.offset());
        self.accumulator.at(end);
        self.decoding.finish(&mut self.accumulator);
        self.accumulator.finish();
    }
}

/// Shows where the parser is, not what it holds: that is argument text in every room.
impl fmt::Debug for ToolCallParser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCallParser")
            .field("format", &self.format())
            .field("offset", &self.offset())
            .field("accumulator", &self.accumulator)
            .finish_non_exhaustive()
    }
}

/// The decoder and the accumulator, as the framing sees them.
struct Reader<'p> {
    decoding: &'p mut Decoding,
    accumulator: &'p mut Accumulator,
}

impl FrameSink for Reader<'_> {
    #[inline]
    fn frame(&mut self, frame: Frame<'_>) {
        take(frame, self.decoding, self.accumulator);
    }

    #[inline]
    fn repeated(&mut self, rest: &[u8], offset: u64) -> usize {
        match self.decoding {
            Decoding::Decoding { decoder, .. } if !self.accumulator.is_over() => {
                decoder.repeated(rest, offset, self.accumulator)
            }
            _ => 0,
        }
    }

    #[inline]
    fn whole(&mut self, frame: Frame<'_>) -> bool {
        match self.decoding {
            Decoding::Decoding { decoder, doubt, .. }
                if doubt.is_settled() && !self.accumulator.is_over() =>
            {
                self.accumulator.at(frame.offset);
                decoder.whole(frame, self.accumulator)
            }
            _ => false,
        }
    }

    fn skips(&mut self, beginning: &str) -> bool {
        match self.decoding {
            Decoding::Decoding { decoder, .. } => decoder.skips(beginning),
            Decoding::Detecting { .. } => false,
        }
    }
}

/// One number bounds a line and an event.
fn frame_limits(bytes: usize) -> FrameLimits {
    FrameLimits {
        line: bytes,
        frame: bytes,
    }
}

impl Stage {
    fn new(asked: Asked, limits: FrameLimits) -> Self {
        match asked.framing {
            Some(kind) => Stage::Framing(Framing::new(kind, limits)),
            None => Stage::Sniffing(Vec::new()),
        }
    }
}
