//! Text between server-sent events that is no field: a proxy's message, a bare JSON error. Which lines those are, and when
//! the text ends, is told in `sse.rs`.

use super::brackets::Brackets;
use super::{give, over_limit};
use crate::error::Error;
use crate::framing::{FrameSink, Origin};

/// Text that is no field; hardly any body has some.
#[derive(Default)]
pub(super) struct Bare(Option<Box<Text>>);

#[derive(Default)]
struct Text {
    /// Never empty.
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
        self.0.is_none()
    }

    /// Takes a line; `is_text` if it is no unknown field.
    pub(super) fn line(
        &mut self,
        line: &[u8],
        at: u64,
        is_text: bool,
        limit: usize,
    ) -> Result<(), Error> {
        let text = match &mut self.0 {
            Some(text) => {
                text.bytes.push(b'\n');
                text
            }
            none => {
                let Some(first) = line.trim_ascii_start().first() else {
                    return Ok(());
                };
                none.insert(Box::new(Text {
                    start: at,
                    is_document: matches!(first, b'{' | b'['),
                    ..Text::default()
                }))
            }
        };
        if text.bytes.len() + line.len() > limit {
            return Err(over_limit("text between events", limit, at));
        }
        text.bytes.extend_from_slice(line);
        text.is_text |= is_text;
        text.brackets.scan_all(line);
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
        match &self.0 {
            None => Ok(()),
            Some(text) if text.is_document && !text.brackets.is_balanced() => {
                self.line(b"", at, false, limit)
            }
            Some(_) => {
                self.give(sink);
                Ok(())
            }
        }
    }

    /// A known field ends the text. Unknown fields that touch it were part of its event, and mean nothing.
    #[inline]
    pub(super) fn known_field(&mut self, sink: &mut impl FrameSink) {
        if let Some(text) = &self.0 {
            if text.is_text {
                self.give(sink);
            }
            self.clear();
        }
    }

    /// Gives what there is.
    pub(super) fn give(&mut self, sink: &mut impl FrameSink) {
        if let Some(text) = self.0.take() {
            let bytes = text.bytes.trim_ascii_end();
            if !bytes.is_empty() {
                give(sink, bytes, None, Origin::Bare, text.start);
            }
        }
    }

    pub(super) fn clear(&mut self) {
        self.0 = None;
    }
}

#[cfg(test)]
impl Bare {
    /// Bytes that its buffer takes up.
    pub(super) fn capacity(&self) -> usize {
        self.0.as_ref().map_or(0, |text| text.bytes.capacity())
    }
}
