//! Bytes in, frames out: where one provider event ends and the next begins.
//!
//! A framing knows bytes, line ends, UTF-8, lengths and checksums. It does not know JSON meaning, providers, tools or
//! `[DONE]`. Every framing is a push machine: chunks of any size go in, each byte is looked at once, whole frames come out
//! borrowed from the chunk where they lie in it, and only an unfinished tail is copied.

mod bare;
mod brackets;
mod json_array;
mod lines;
mod sniff;
mod sse;

#[cfg(feature = "bedrock")]
mod aws;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

use crate::error::{Error, ErrorKind};

#[cfg(feature = "bedrock")]
use self::aws::Aws;
use self::json_array::JsonArray;
use self::lines::Lines;
use self::sse::Sse;

#[cfg(test)]
pub(crate) use self::sniff::sniff;
pub(crate) use self::sniff::{MAX_PADDING, sniff_padded, sniff_solid};

/// One server-sent event, one NDJSON line, one element of a JSON array or one binary frame.
///
/// # Examples
///
/// For callers who split server-sent events already:
///
/// ```
/// use callstitch::{Frame, ToolCallParser, WireFormat};
///
/// let mut parser = ToolCallParser::new(WireFormat::OpenAiChat);
/// let data = r#"{"choices":[{"delta":{"content":"hi"}}]}"#;
/// assert_eq!(parser.push_frame(Frame::new(data)).count(), 1);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Frame<'a> {
    /// The payload text. Several `data` lines of one server-sent event are joined with LF.
    pub data: &'a str,
    /// The event field: the `event:` line, or a binary frame's `:event-type` or `:exception-type`.
    pub event: Option<&'a str>,
    /// What carried the payload.
    pub origin: Origin,
    /// Byte offset in the body of the frame's first byte.
    pub offset: u64,
    /// True where bytes that are not UTF-8 were replaced by U+FFFD in `data`.
    pub lossy: bool,
    /// The frame's own bytes in the body, where they lie together and `data` is a part of them.
    pub(crate) raw: Option<&'a [u8]>,
}

/// Takes the frames of a body.
pub(crate) trait FrameSink {
    /// Takes one frame.
    fn frame(&mut self, frame: Frame<'_>);

    /// Is shown the rest of a chunk at the beginning of a frame, at this offset, and may take frames from it whose bytes it
    /// knows already: then it gives their length, else 0. The bytes need not be UTF-8; those that it takes are.
    #[inline]
    fn repeated(&mut self, rest: &[u8], offset: u64) -> usize {
        let _ = (rest, offset);
        0
    }

    /// Takes a frame if its data is one whole document, and tells whether.
    #[inline]
    fn whole(&mut self, frame: Frame<'_>) -> bool {
        let _ = frame;
        false
    }

    /// Whether a document says nothing that is long and begins so: then the rest of it need not be kept.
    #[inline]
    fn skips(&mut self, beginning: &str) -> bool {
        let _ = beginning;
        false
    }
}

impl<F: FnMut(Frame<'_>)> FrameSink for F {
    #[inline]
    fn frame(&mut self, frame: Frame<'_>) {
        self(frame);
    }
}

/// What carried a frame's payload.
///
/// # Examples
///
/// ```
/// use callstitch::{Frame, Origin};
///
/// let mut frame = Frame::new(r#"{"error":"overloaded"}"#);
/// assert_eq!(frame.origin, Origin::Event);
/// frame.origin = Origin::Exception; // a splitter of your own knows it
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Origin {
    /// An ordinary event.
    Event,
    /// An event that says of itself that it is an error: an SSE field named `error`, a binary exception or error frame.
    Exception,
    /// Text between events that belongs to no field: a bare JSON error, a proxy's message.
    Bare,
    /// The last event of a body that ended before the event did. Dispatched if it is whole, else a truncation.
    Unterminated,
}

impl<'a> Frame<'a> {
    /// An ordinary frame with this payload, at offset 0.
    #[must_use]
    pub fn new(data: &'a str) -> Self {
        Frame {
            data,
            event: None,
            origin: Origin::Event,
            offset: 0,
            lossy: false,
            raw: None,
        }
    }

    /// The same frame with an event field.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::Frame;
    ///
    /// assert_eq!(Frame::new("{}").with_event("message_stop").event, Some("message_stop"));
    /// ```
    #[must_use]
    pub fn with_event(mut self, event: &'a str) -> Self {
        self.event = Some(event);
        self
    }

    /// The same frame at this byte offset of the body.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::Frame;
    ///
    /// assert_eq!(Frame::new("{}").at(120).offset, 120);
    /// ```
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }
}

/// Shows how long the data is, not what it says: argument text is in it.
impl fmt::Debug for Frame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frame")
            .field("data", &format_args!("<{} bytes>", self.data.len()))
            .field("event", &self.event)
            .field("origin", &self.origin)
            .field("offset", &self.offset)
            .field("lossy", &self.lossy)
            .finish_non_exhaustive()
    }
}

/// Bounds on what a framing holds, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameLimits {
    /// One line of text, its line end not counted.
    pub(crate) line: usize,
    /// One frame's payload.
    pub(crate) frame: usize,
}

/// The framings there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FramingKind {
    /// Server-sent events.
    Sse,
    /// One JSON value a line.
    Lines,
    /// One JSON array streamed over time.
    JsonArray,
    /// The AWS binary event stream.
    #[cfg(feature = "bedrock")]
    Aws,
}

impl FramingKind {
    /// The framing that a media type names, where it is one that servers do not put over other bodies.
    pub(crate) fn from_content_type(content_type: &str) -> Option<Self> {
        let media_type = content_type.split(';').next().unwrap_or_default().trim();
        match media_type.to_ascii_lowercase().as_str() {
            "text/event-stream" => Some(FramingKind::Sse),
            "application/x-ndjson" => Some(FramingKind::Lines),
            #[cfg(feature = "bedrock")]
            "application/vnd.amazon.eventstream" => Some(FramingKind::Aws),
            _ => None,
        }
    }
}

/// The machine that finds frames in one body.
///
/// 1. [`push`](Self::push) gives every frame that is now whole to the sink, in body order.
/// 2. An `Err` is fatal: all frames whole before it were given first, what was held is dropped, and only
///    [`reset`](Self::reset) makes the machine usable again.
/// 3. [`finish`](Self::finish) gives what the end of the body left unfinished.
/// 4. An empty chunk is nothing.
pub(crate) enum Framing {
    /// Server-sent events.
    Sse(Sse),
    /// One JSON value a line.
    Lines(Lines),
    /// One JSON array streamed over time.
    JsonArray(JsonArray),
    /// The AWS binary event stream.
    #[cfg(feature = "bedrock")]
    Aws(Aws),
}

/// Sends one call to whichever machine it is.
macro_rules! each {
    ($framing:expr, $machine:ident => $call:expr) => {
        match $framing {
            Framing::Sse($machine) => $call,
            Framing::Lines($machine) => $call,
            Framing::JsonArray($machine) => $call,
            #[cfg(feature = "bedrock")]
            Framing::Aws($machine) => $call,
        }
    };
}

impl Framing {
    /// A machine at the start of a body.
    pub(crate) fn new(kind: FramingKind, limits: FrameLimits) -> Self {
        match kind {
            FramingKind::Sse => Framing::Sse(Sse::new(limits)),
            FramingKind::Lines => Framing::Lines(Lines::new(limits)),
            FramingKind::JsonArray => Framing::JsonArray(JsonArray::new(limits)),
            #[cfg(feature = "bedrock")]
            FramingKind::Aws => Framing::Aws(Aws::new(limits)),
        }
    }

    /// Takes the next bytes of the body.
    pub(crate) fn push(&mut self, chunk: &[u8], sink: &mut impl FrameSink) -> Result<(), Error> {
        each!(self, machine => machine.push(chunk, sink))
    }

    /// Takes the end of the body.
    pub(crate) fn finish(&mut self, sink: &mut impl FrameSink) -> Result<(), Error> {
        each!(self, machine => machine.finish(sink))
    }

    /// Back to the start of a body; buffers are kept.
    pub(crate) fn reset(&mut self) {
        each!(self, machine => machine.reset());
    }

    /// Bytes pushed so far.
    pub(crate) fn offset(&self) -> u64 {
        each!(self, machine => machine.offset())
    }
}

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// These bytes and their offset, without the BOM that may begin the body.
#[inline]
fn without_bom(bytes: &[u8], at: u64) -> (&[u8], u64) {
    match bytes.strip_prefix(BOM).filter(|_| at == 0) {
        Some(text) => (text, BOM.len() as u64),
        None => (bytes, at),
    }
}

/// A buffer that one large frame has blown up beyond this is cut back to it.
const KEEP_BYTES: usize = 64 << 10;

/// Empties a buffer and keeps it for the next frame, unless it grew large.
fn clear(buffer: &mut Vec<u8>) {
    buffer.clear();
    buffer.shrink_to(KEEP_BYTES);
}

/// The text of these bytes, and whether some were no UTF-8. Only whole lines and payloads come here, so a character that a
/// chunk border cuts is never taken for a bad one.
fn decode(bytes: &[u8]) -> (Cow<'_, str>, bool) {
    match simdutf8::basic::from_utf8(bytes) {
        Ok(text) => (Cow::Borrowed(text), false),
        Err(_) => (String::from_utf8_lossy(bytes), true),
    }
}

/// The text up to the first byte that is no UTF-8.
pub(crate) fn valid_prefix(bytes: &[u8]) -> &str {
    simdutf8::basic::from_utf8(bytes).unwrap_or_else(|_| {
        let chunk = bytes.utf8_chunks().next();
        chunk.map_or("", |chunk| chunk.valid())
    })
}

/// Gives these bytes to the sink as a frame.
fn give(sink: &mut impl FrameSink, data: &[u8], event: Option<&[u8]>, origin: Origin, offset: u64) {
    let event = event.map(String::from_utf8_lossy);
    let (data, lossy) = decode(data);
    sink.frame(Frame {
        data: &data,
        event: event.as_deref(),
        origin,
        offset,
        lossy,
        raw: None,
    });
}

/// A limit was passed; `offset` is that of the first byte too many, or of the line or frame that was too much.
#[cold]
fn over_limit(what: &str, limit: usize, offset: u64) -> Error {
    Error::new(
        ErrorKind::Limit,
        offset,
        format!(
            "{what} passes the limit max_event_bytes of {limit}; what was whole has been delivered"
        ),
    )
}

/// A body offset this many bytes on.
fn advance(offset: u64, by: usize) -> u64 {
    offset.saturating_add(by as u64)
}
