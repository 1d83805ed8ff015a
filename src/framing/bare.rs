//! Text between server-sent events that is no field: a proxy's message, a bare JSON error. Which lines those are, and when
//! the text ends, is told in `sse.rs`.

use super::brackets::Brackets;
use super::{clear, give, over_limit};
use crate::error::Error;
use crate::framing::{FrameSink, Origin};

/// Text that is no field.
#[derive(Debug, Default)]
pub(super) struct Bare {
    bytes: Vec<u8>,
    start: u64,
    /// Some line was no unknown field.
    is_text: bool,
    /// It began with a bracket.
    is_document: bool,
    brackets: Brackets,
}

impl Bare {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Takes a line; `is_text` if it is no unknown field.
    pub(super) fn line(
        &mut self,
        line: &[u8],
        at: u64,
        is_text: bool,
        limit: usize,
    ) -> Result<(), Error> {
        if self.bytes.is_empty() {
            let Some(first) = line.trim_ascii_start().first() else {
                return Ok(());
            };
            self.is_document = matches!(first, b'{' | b'[');
            self.start = at;
        } else {
            self.bytes.push(b'\n');
        }
        if self.bytes.len() + line.len() > limit {
            return Err(over_limit("text between events", limit, at));
        }
        self.bytes.extend_from_slice(line);
        self.is_text |= is_text;
        self.brackets.scan_all(line);
        Ok(())
    }

    /// A blank line ends the text, unless it is a document that goes on.
    #[inline]
    pub(super) fn blank_line(
        &mut self,
        at: u64,
        limit: usize,
        sink: &mut impl FrameSink,
    ) -> Result<(), Error> {
        if self.is_empty() {
            return Ok(());
        }
        if self.is_document && !self.brackets.is_balanced() {
            return self.line(b"", at, false, limit);
        }
        self.give(sink);
        Ok(())
    }

    /// A known field ends the text. Unknown fields that touch it were part of its event, and mean nothing.
    #[inline]
    pub(super) fn known_field(&mut self, sink: &mut impl FrameSink) {
        if !self.is_empty() {
            if self.is_text {
                self.give(sink);
            }
            self.clear();
        }
    }

    /// Gives what there is.
    pub(super) fn give(&mut self, sink: &mut impl FrameSink) {
        let text = self.bytes.trim_ascii_end();
        if !text.is_empty() {
            give(sink, text, None, Origin::Bare, self.start);
        }
        self.clear();
    }

    pub(super) fn clear(&mut self) {
        if !self.bytes.is_empty() {
            clear(&mut self.bytes);
            self.is_text = false;
            self.is_document = false;
            self.brackets = Brackets::default();
        }
    }
}

#[cfg(test)]
impl Bare {
    pub(super) fn buffer(&self) -> &Vec<u8> {
        &self.bytes
    }
}
