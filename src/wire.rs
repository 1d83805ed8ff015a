//! Provider payloads in, deltas out: one file a format, and the detection of which one it is.
//!
//! A decoder knows its own wire's strings. It does not know chunk borders, other formats, whether arguments are valid JSON,
//! how many calls are open, or limits. Unknown event types, fields and enum values are ignored, never fatal.

mod anthropic;
#[cfg(feature = "bedrock")]
mod bedrock;
mod cohere;
mod detect;
mod doubt;
mod echo;
mod gemini;
mod gemini_interactions;
mod ollama;
mod openai_chat;
mod openai_responses;
mod payload;
#[cfg(test)]
mod spoken;

use std::fmt;

use crate::delta::{Delta, DeltaSink};
use crate::framing::{Frame, FramingKind};

pub(crate) use detect::{Detector, Verdict};
pub(crate) use doubt::Doubt;
pub(crate) use openai_responses::executor_of as responses_executor;
pub(crate) use payload::is_document;

/// The type of a block whose call the provider runs, on two wires and in their histories.
pub(crate) const SERVER_TOOL_USE: &str = "server_tool_use";

/// Reads one provider's events. Object-safe, and open to a decoder of your own
/// ([`ToolCallParser::with_decoder`](crate::ToolCallParser::with_decoder)).
///
/// # Examples
///
/// A wire that sends `name=arguments` lines, whole calls each:
///
/// ```
/// use callstitch::{ArgumentsPart, CallDelta, Decoder, Delta, DeltaSink, Frame, Framed, Route, ToolCallParser};
///
/// #[derive(Debug)]
/// struct Lines;
///
/// impl Decoder for Lines {
///     fn decode(&mut self, frame: Frame<'_>, sink: &mut dyn DeltaSink) {
///         let Some((name, arguments)) = frame.data.split_once('=') else { return };
///         let mut call = CallDelta::new().name(name).route(Route::Opens);
///         call.arguments = ArgumentsPart::Whole(arguments);
///         sink.delta(&Delta::Call(call));
///         sink.delta(&Delta::MayEnd);
///     }
/// }
///
/// let mut parser = ToolCallParser::with_decoder(Lines, Framed::ServerSentEvents);
/// parser.push(b"data: ping={\"host\":\"a\"}\n\n").for_each(drop);
/// let calls: Vec<_> = parser.finish().filter_map(|event| event.ok()?.into_call()).collect();
/// assert_eq!(calls[0].name(), "ping");
/// ```
///
/// A wire whose every event is a piece of text, and a decoder that knows the event before again:
///
/// ```
/// use callstitch::{Decoder, Delta, DeltaSink, Event, Fragment, Frame, Framed, TextKind, ToolCallParser};
///
/// #[derive(Debug, Default)]
/// struct Words { forgets: bool, event: String }
///
/// impl Decoder for Words {
///     fn decode(&mut self, frame: Frame<'_>, sink: &mut dyn DeltaSink) {
///         let text = Fragment::new(frame.data);
///         sink.delta(&Delta::Text { choice: 0, kind: TextKind::Answer, text });
///         if !self.forgets {
///             self.event = format!("data: {}\n\n", frame.data);
///         }
///     }
///
///     fn remember(&mut self, on: bool) {
///         self.forgets = !on;
///         self.event.clear();
///     }
///
///     fn repeated(&mut self, rest: &[u8], offset: u64, sink: &mut dyn DeltaSink) -> usize {
///         if self.event.is_empty() || !rest.starts_with(self.event.as_bytes()) { return 0 }
///         sink.at(offset);
///         let text = Fragment::new(self.event["data: ".len()..].trim_end_matches('\n'));
///         sink.delta(&Delta::Text { choice: 0, kind: TextKind::Answer, text });
///         self.event.len()
///     }
/// #
/// #     fn reset(&mut self) { self.event.clear() }
/// }
///
/// let mut parser = ToolCallParser::with_decoder(Words::default(), Framed::ServerSentEvents);
/// let said = parser.push(b"data: tick\n\ndata: tick\n\n").next();
/// assert!(matches!(said, Some(Ok(Event::Text { text, .. })) if text == "ticktick"));
/// ```
pub trait Decoder: fmt::Debug + Send + Sync {
    /// Reads one frame and says what it means. Called in order, once for each frame; a frame that is not understood is
    /// either nothing or a [`Delta::Undecodable`](crate::Delta::Undecodable). Cost: linear in the frame.
    fn decode(&mut self, frame: Frame<'_>, sink: &mut dyn DeltaSink);

    /// The body ended. Called once, after the last frame.
    fn finish(&mut self, sink: &mut dyn DeltaSink) {
        let _ = sink;
    }

    /// Forgets what was decoded: another body begins.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Decoder, DeltaSink, Frame};
    ///
    /// #[derive(Debug, Default)]
    /// struct Counting(u32);
    ///
    /// impl Decoder for Counting {
    ///     fn decode(&mut self, _: Frame<'_>, _: &mut dyn DeltaSink) {
    ///         self.0 += 1;
    ///     }
    ///
    ///     fn reset(&mut self) {
    ///         *self = Counting::default();
    ///     }
    /// }
    /// # let mut counting = Counting(3);
    /// # counting.reset();
    /// # assert_eq!(counting.0, 0);
    /// ```
    fn reset(&mut self) {}

    /// Whether a decoder may keep a memory of earlier events to recognise later ones by
    /// ([`Config::remember_events`](crate::Config::remember_events)). Nothing for a decoder without one. [`Decoder`]
    /// shows one with a memory.
    fn remember(&mut self, on: bool) {
        let _ = on;
    }

    /// Is shown the bytes of a body from the beginning of an event on, which stands at this offset. A decoder with a memory may
    /// recognise whole events there, framing and all, tell the sink [`at`](DeltaSink::at) which offset each stands, say what it
    /// means, and give the length of all; 0 is always right. Nobody has looked at these bytes yet: what is taken must be UTF-8.
    /// Called for every event: its cost must be that of what it recognises, not of `rest`. [`Decoder`] shows one.
    fn repeated(&mut self, rest: &[u8], offset: u64, sink: &mut dyn DeltaSink) -> usize {
        let _ = (rest, offset, sink);
        0
    }

    /// As [`decode`](Decoder::decode), of a frame of JSON Lines, if its data is one whole document: else nothing is said, and
    /// `false` given, as the document may go on with the next line. `false` is always right. Cost: linear in the frame.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Decoder, DeltaSink, Frame, Framed, ToolCallParser};
    ///
    /// #[derive(Debug)]
    /// struct Documents;
    ///
    /// impl Decoder for Documents {
    ///     fn decode(&mut self, frame: Frame<'_>, _: &mut dyn DeltaSink) {
    ///         assert_eq!(frame.data, "{\"a\":\n1}");
    ///     }
    ///
    ///     fn whole(&mut self, frame: Frame<'_>, _: &mut dyn DeltaSink) -> bool {
    ///         serde_json::from_str::<serde_json::Value>(frame.data).is_ok()
    ///     }
    /// }
    ///
    /// let mut parser = ToolCallParser::with_decoder(Documents, Framed::Lines);
    /// assert_eq!(parser.push(b"{\"b\":2}\n{\"a\":\n1}\n").count(), 0);
    /// ```
    fn whole(&mut self, frame: Frame<'_>, sink: &mut dyn DeltaSink) -> bool {
        let _ = (frame, sink);
        false
    }

    /// Whether a server-sent event says nothing to this decoder, told from the beginning of its data, which goes on: the rest is
    /// then not kept in memory, and the event not decoded, unless it turns out to be an error. Of data that begins with a bracket
    /// this is asked and holds of that JSON document alone; what follows it in the event is decoded. Asked of data of more than
    /// about 1 KiB, and shown that much, from which a decoder may take what it needs. `false` is always right. Cost: linear in what
    /// is shown.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Decoder, DeltaSink, Frame, Framed, ToolCallParser};
    ///
    /// #[derive(Debug)]
    /// struct NoImages;
    ///
    /// impl Decoder for NoImages {
    ///     fn decode(&mut self, frame: Frame<'_>, _: &mut dyn DeltaSink) {
    ///         assert!(!frame.data.starts_with("image "));
    ///     }
    ///
    ///     fn skips(&mut self, beginning: &str) -> bool {
    ///         beginning.starts_with("image ")
    ///     }
    /// }
    ///
    /// let mut parser = ToolCallParser::with_decoder(NoImages, Framed::ServerSentEvents);
    /// let event = format!("data: image {}\n\n", "A".repeat(100_000));
    /// assert_eq!(parser.push(event.as_bytes()).count(), 0);
    /// ```
    fn skips(&mut self, beginning: &str) -> bool {
        let _ = beginning;
        false
    }
}

/// A provider's wire format.
///
/// # Examples
///
/// ```
/// use callstitch::WireFormat;
///
/// let format: WireFormat = "anthropic".parse()?;
/// assert_eq!((format, format.name()), (WireFormat::Anthropic, "anthropic"));
/// assert!(WireFormat::all().all(|format| format != WireFormat::Auto));
/// # Ok::<(), callstitch::UnknownWireFormat>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum WireFormat {
    /// Decided from the first payload.
    #[default]
    Auto,
    /// OpenAI Chat Completions and everything compatible with it.
    OpenAiChat,
    /// OpenAI Responses and everything compatible with it.
    OpenAiResponses,
    /// Anthropic Messages, also on Vertex AI.
    Anthropic,
    /// Gemini `streamGenerateContent`, as server-sent events or as a JSON array.
    Gemini,
    /// Gemini Interactions.
    GeminiInteractions,
    /// AWS Bedrock: `ConverseStream`, and `InvokeModelWithResponseStream` of Anthropic models.
    #[cfg(feature = "bedrock")]
    #[cfg_attr(docsrs, doc(cfg(feature = "bedrock")))]
    Bedrock,
    /// Cohere v2 chat.
    Cohere,
    /// Mistral chat: the OpenAI chat decoder.
    Mistral,
    /// Ollama `/api/chat`.
    Ollama,
}

/// One row a format: its name, its usual framing, its decoder. The one place that lists the formats.
struct Row {
    format: WireFormat,
    name: &'static str,
    /// The framings that the format comes in, the usual one first.
    framings: &'static [FramingKind],
    decoder: fn() -> Box<dyn Decoder>,
}

const ROWS: &[Row] = &[
    Row {
        format: WireFormat::OpenAiChat,
        name: "openai-chat",
        framings: &[FramingKind::Sse],
        decoder: openai_chat::decoder,
    },
    Row {
        format: WireFormat::OpenAiResponses,
        name: "openai-responses",
        framings: &[FramingKind::Sse],
        decoder: openai_responses::decoder,
    },
    Row {
        format: WireFormat::Anthropic,
        name: "anthropic",
        framings: &[FramingKind::Sse],
        decoder: anthropic::decoder,
    },
    Row {
        format: WireFormat::Gemini,
        name: "gemini",
        framings: &[FramingKind::Sse, FramingKind::JsonArray],
        decoder: gemini::decoder,
    },
    Row {
        format: WireFormat::GeminiInteractions,
        name: "gemini-interactions",
        framings: &[FramingKind::Sse],
        decoder: gemini_interactions::decoder,
    },
    #[cfg(feature = "bedrock")]
    Row {
        format: WireFormat::Bedrock,
        name: "bedrock",
        // Bridges and logs write each event as a document under its name (5.2).
        framings: &[
            FramingKind::Aws,
            FramingKind::Lines,
            FramingKind::Sse,
            FramingKind::JsonArray,
        ],
        decoder: bedrock::decoder,
    },
    Row {
        format: WireFormat::Cohere,
        name: "cohere",
        framings: &[FramingKind::Sse],
        decoder: cohere::decoder,
    },
    Row {
        format: WireFormat::Mistral,
        name: "mistral",
        framings: &[FramingKind::Sse],
        decoder: openai_chat::decoder,
    },
    Row {
        format: WireFormat::Ollama,
        name: "ollama",
        framings: &[FramingKind::Lines],
        decoder: ollama::decoder,
    },
];

impl WireFormat {
    /// Every format but `Auto`.
    pub fn all() -> impl Iterator<Item = WireFormat> {
        ROWS.iter().map(|row| row.format)
    }

    /// The format's name, as on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().map_or("auto", |row| row.name)
    }

    /// A new decoder; `None` for `Auto`.
    pub(crate) fn decoder(self) -> Option<Box<dyn Decoder>> {
        self.row().map(|row| (row.decoder)())
    }

    /// The framing of a body of this format that begins with these bytes, which look like `seen`. The format decides between those
    /// it comes in, and has one of them where the bytes show another: a bare error is no reason to read a body as something else.
    pub(crate) fn framing(self, seen: FramingKind, first: &[u8]) -> FramingKind {
        let Some(row) = self.row() else { return seen };
        // One bare JSON document reads as a line, and as an array of one.
        let seen = if seen == FramingKind::Lines && !row.framings.contains(&seen) {
            FramingKind::JsonArray
        } else {
            seen
        };
        let usual = row.framings.first().copied().unwrap_or(FramingKind::Sse);
        // Binary frames whose first one is damaged are no text for that; no text begins with such a byte.
        let is_text = !matches!(first.first(), Some(0..=8 | 14..=31 | 127..=193 | 245..));
        if row.framings.contains(&seen) && (is_text || seen == usual) {
            seen
        } else {
            usual
        }
    }

    /// Whether the decoder of this format reads what is told to be of `other`.
    pub(crate) fn reads(self, other: WireFormat) -> bool {
        self == other || (self, other) == (WireFormat::Mistral, WireFormat::OpenAiChat)
    }

    /// Whether the framing is known without looking at the body.
    pub(crate) fn only_framing(self) -> Option<FramingKind> {
        match self.row()?.framings {
            [only] => Some(*only),
            _ => None,
        }
    }

    fn row(self) -> Option<&'static Row> {
        ROWS.iter().find(|row| row.format == self)
    }
}

impl fmt::Display for WireFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for WireFormat {
    type Err = UnknownWireFormat;

    fn from_str(name: &str) -> Result<Self, UnknownWireFormat> {
        let found = ROWS
            .iter()
            .find(|row| row.name == name)
            .map(|row| row.format);
        found
            .or((name == "auto").then_some(WireFormat::Auto))
            .ok_or(UnknownWireFormat(()))
    }
}

/// A name that is no wire format's.
///
/// # Examples
///
/// ```
/// use callstitch::WireFormat;
///
/// let error = "telnet".parse::<WireFormat>().unwrap_err();
/// assert!(error.to_string().contains("openai-chat"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownWireFormat(());

impl fmt::Display for UnknownWireFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no such wire format; known are auto, {}", known_names())
    }
}

impl std::error::Error for UnknownWireFormat {}

/// Reads a body of no known format: what is an error on every wire is one there.
pub(crate) fn error_decoder() -> Box<dyn Decoder> {
    Box::new(ErrorsOf(openai_chat::decoder()))
}

/// A decoder that says no calls and no texts: read by the rules of a wire that nothing told, they are none.
#[derive(Debug)]
struct ErrorsOf(Box<dyn Decoder>);

impl Decoder for ErrorsOf {
    fn decode(&mut self, frame: Frame<'_>, sink: &mut dyn DeltaSink) {
        self.0.decode(frame, &mut NoCalls(sink));
    }
}

struct NoCalls<'a>(&'a mut dyn DeltaSink);

impl DeltaSink for NoCalls<'_> {
    fn delta(&mut self, delta: &Delta<'_>) {
        if !matches!(
            delta,
            Delta::Call(_) | Delta::Arguments { .. } | Delta::Text { .. }
        ) {
            self.0.delta(delta);
        }
    }
}

/// The names of all formats, for messages.
pub(crate) fn known_names() -> String {
    let names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
    names.join(", ")
}
