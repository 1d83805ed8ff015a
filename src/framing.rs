//! Bytes in, frames out: where one provider event ends and the next begins.
//!
//! A framing knows bytes, line ends, UTF-8, lengths and checksums. It does not know JSON meaning, providers, tools or
//! `[DONE]`. Every framing is a push machine: chunks of any size go in, each byte is looked at once, whole frames come out
//! borrowed from the chunk where they lie in it, and only an unfinished tail is copied.

mod json_array;
mod lines;
mod sse;

#[cfg(feature = "bedrock")]
mod aws;

use crate::error::Error;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
}

/// What carried a frame's payload.
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
        Frame { data, event: None, origin: Origin::Event, offset: 0, lossy: false }
    }

    /// The same frame with an event field.
    #[must_use]
    pub fn with_event(mut self, event: &'a str) -> Self {
        self.event = Some(event);
        self
    }

    /// The same frame at this byte offset of the body.
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }
}
