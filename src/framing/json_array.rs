//! One JSON array streamed over time, its elements the provider events (WIRE_FORMATS 4.1).
//!
//! Each top-level object is a frame as soon as its closing brace arrives. Between objects `[`, `]`, `,` and white space mean
//! nothing, so one bare object and several run together are read as well. Anything else there is [`Origin::Bare`] text, up to
//! the end of its line or the next `{`. An object that the end of the body cuts is [`Origin::Unterminated`].

use memchr::memchr3;

use super::brackets::Brackets;
use super::{FrameLimits, advance, clear, give, over_limit, without_bom};
use crate::error::Error;
use crate::framing::{FrameSink, Origin};

/// The machine.
///
/// ```text
///              {                     other
///   InObject <---- BetweenObjects ---------> InText
///            ---->                 <---------
///    closing }                      line end
///        ^                                     |
///        +------------------- { ---------------+
/// ```
pub(crate) struct JsonArray {
    limits: FrameLimits,
    /// Bytes pushed so far.
    offset: u64,
    cursor: Cursor,
    /// The beginning of the open object or text, where it lay in earlier chunks.
    carry: Vec<u8>,
    /// Offset of the open object's or text's first byte.
    start: u64,
    /// Counted over all of the open object.
    brackets: Brackets,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cursor {
    BetweenObjects,
    InObject,
    InText,
}

impl JsonArray {
    pub(super) fn new(limits: FrameLimits) -> Self {
        JsonArray {
            limits,
            offset: 0,
            cursor: Cursor::BetweenObjects,
            carry: Vec::new(),
            start: 0,
            brackets: Brackets::default(),
        }
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) fn reset(&mut self) {
        self.offset = 0;
        self.close();
    }

    pub(super) fn push(&mut self, chunk: &[u8], sink: &mut impl FrameSink) -> Result<(), Error> {
        let result = self.push_elements(chunk, sink);
        if result.is_err() {
            self.close();
        }
        result
    }

    fn push_elements(&mut self, chunk: &[u8], sink: &mut impl FrameSink) -> Result<(), Error> {
        self.offset = advance(self.offset, chunk.len());
        let mut rest = chunk;
        while !rest.is_empty() {
            let used = match self.cursor {
                Cursor::BetweenObjects => {
                    let Some(at) = rest.iter().position(|&byte| !is_separator(byte)) else {
                        return Ok(());
                    };
                    rest = rest.get(at..).unwrap_or_default();
                    self.start = self.offset - rest.len() as u64;
                    let is_object = rest.first() == Some(&b'{');
                    self.cursor = if is_object {
                        Cursor::InObject
                    } else {
                        Cursor::InText
                    };
                    continue;
                }
                Cursor::InObject => self.brackets.scan(rest),
                Cursor::InText => memchr3(b'\n', b'\r', b'{', rest),
            };
            let Some((part, after)) = used.and_then(|used| rest.split_at_checked(used)) else {
                self.check(rest.len())?;
                self.carry.extend_from_slice(rest);
                return Ok(());
            };
            self.check(part.len())?;
            if self.carry.is_empty() {
                self.give(part, sink);
            } else {
                self.carry.extend_from_slice(part);
                self.give(&self.carry, sink);
            }
            self.close();
            rest = after;
        }
        Ok(())
    }

    pub(super) fn finish(&mut self, sink: &mut impl FrameSink) -> Result<(), Error> {
        match self.cursor {
            Cursor::BetweenObjects => {}
            Cursor::InObject => give(sink, &self.carry, None, Origin::Unterminated, self.start),
            Cursor::InText => self.give(&self.carry, sink),
        }
        self.close();
        Ok(())
    }

    /// An object may be as long as a frame, text as long as a line.
    fn check(&self, more: usize) -> Result<(), Error> {
        let (what, limit) = match self.cursor {
            Cursor::InText => ("a line", self.limits.line),
            _ => ("a frame", self.limits.frame),
        };
        if self.carry.len() + more > limit {
            return Err(over_limit(what, limit, advance(self.start, limit)));
        }
        Ok(())
    }

    /// Gives the open object or text, which is all of `bytes`.
    fn give(&self, bytes: &[u8], sink: &mut impl FrameSink) {
        if self.cursor == Cursor::InObject {
            return give(sink, bytes, None, Origin::Event, self.start);
        }
        let (text, at) = without_bom(bytes, self.start);
        let is_text = |byte: &u8| !is_separator(*byte);
        if let (Some(first), Some(last)) = (
            text.iter().position(is_text),
            text.iter().rposition(is_text),
        ) {
            let text = text.get(first..=last).unwrap_or_default();
            give(sink, text, None, Origin::Bare, advance(at, first));
        }
    }

    fn close(&mut self) {
        self.cursor = Cursor::BetweenObjects;
        self.brackets = Brackets::default();
        clear(&mut self.carry);
    }
}

fn is_separator(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'[' | b']' | b',')
}
