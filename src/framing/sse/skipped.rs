//! Lines that say nothing: of a long one only the beginning is kept.
//!
//! Of data that the sink [skips](FrameSink::skips) one document is skipped, not its line and not its event: two can stand in one
//! event where a blank line went missing (WIRE_FORMATS E13). Brackets tell where it ends, and what follows it is the event's data:
//!
//! 1. A document that ends on its line may be followed there by another one, which may be skipped in its turn.
//! 2. A document that is open where its line ends goes on in the next lines, if it ends in them. If it never does, it was broken,
//!    and each of them stands on its own. Which of the two it is shows when the event ends; until then they are kept.
//! 3. Data that begins with no bracket ends nowhere: all data of its event is skipped.
//! 4. The beginning is kept to the end of the event, which may turn out to be an error (E6), and an error is always told.

use super::Sse;
use super::event::Here;
use super::piece::Piece;
use crate::framing::brackets::Brackets;
use crate::framing::{FrameSink, valid_prefix, without_bom};

/// A line that is longer is asked whether it says anything, by so many of its bytes. The same is asked of a line that lies whole
/// in its chunk: what an event says does not depend on where the chunks end.
pub(super) const SHORT: usize = 1024;

/// A `data` line and what may stand before its value.
pub(super) const DATA: &str = "data: ";

/// What of the open event's data is skipped.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) enum Skipped {
    #[default]
    Nothing,
    /// Documents that ended.
    Documents,
    /// A document that did not end yet; `Held` has its brackets.
    Document,
    /// All of it.
    All,
}

/// What was taken out of the unfinished line.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cut {
    pub(super) bytes: usize,
    next: Next,
}

/// What is taken out next.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum Next {
    #[default]
    Nothing,
    Line,
    /// The rest of the skipped document.
    Document,
    /// White space behind it.
    Space,
}

impl Sse {
    /// Keeps a part of the unfinished line, which begins at this offset, without what says nothing of it.
    pub(super) fn keep_part(&mut self, part: &[u8], at: u64, sink: &mut impl FrameSink) {
        let mut part = self.left_of(part);
        while let Some(room) = (SHORT + 1).checked_sub(self.carry.len())
            && room > 0
        {
            let (beginning, rest) = part.split_at_checked(room).unwrap_or((part, &[]));
            self.carry.extend_from_slice(beginning);
            if beginning.len() < room {
                return;
            }
            let carry = std::mem::take(&mut self.carry);
            let value = value_at(&carry, at);
            let says_nothing = match value.and_then(|value| carry.split_at_checked(value)) {
                Some((name, value)) => self.skips(name.len(), value, &Here::default(), sink),
                None => is_silent(&carry, at),
            };
            self.carry = carry;
            part = rest;
            if !says_nothing {
                continue;
            }
            self.cut.next = Next::Line;
            if let Some(value) = value {
                if self.skipped == Skipped::Document {
                    self.cut.next = Next::Document;
                }
                self.cut.bytes += SHORT - value;
                // The last byte is the one that the sink was not shown.
                let last = self.carry.get(SHORT).copied();
                self.carry.truncate(value);
                let last = self.left_of(last.as_slice());
                self.carry.extend_from_slice(last);
            }
            part = self.left_of(part);
        }
        self.carry.extend_from_slice(part);
    }

    /// What is left of the next bytes of the unfinished line.
    fn left_of<'p>(&mut self, part: &'p [u8]) -> &'p [u8] {
        let mut rest = match self.cut.next {
            Next::Nothing => return part,
            Next::Line => &[],
            Next::Space => part,
            Next::Document => match self.after_skipped(part) {
                Some(rest) => {
                    self.cut.next = Next::Space;
                    rest
                }
                None => &[],
            },
        };
        if self.cut.next == Next::Space {
            rest = rest.trim_ascii_start();
            if !rest.is_empty() {
                self.cut.next = Next::Nothing;
            }
        }
        self.cut.bytes += part.len() - rest.len();
        rest
    }

    /// What is left of the data of a line that is long or was cut; `None` if it says nothing.
    #[inline(never)]
    pub(super) fn left_of_line<'c>(
        &mut self,
        line: Piece<'c>,
        at: u64,
        here: &Here<'c>,
        sink: &mut impl FrameSink,
    ) -> Option<Piece<'c>> {
        let name = value_at(line.bytes, at)?;
        let mut value = line.from(name);
        let mut is_cut = self.cut.bytes > 0;
        while self.skips(name, value.bytes, here, sink) {
            is_cut = true;
            let shown = value.bytes.get(SHORT - name..).unwrap_or_default();
            let rest = self.after_skipped(shown).unwrap_or_default();
            value = value.from(value.bytes.len() - rest.trim_ascii_start().len());
        }
        if !is_cut {
            return Some(value);
        }
        // The event's bytes are not its data's alone.
        self.mixed = true;
        if self.skipped == Skipped::Document && self.open_brackets().is_in_string() {
            // No string holds a line end: the document is broken.
            self.skipped = Skipped::Documents;
        }
        Some(value).filter(|value| !value.bytes.is_empty())
    }

    /// Whether the document is skipped that begins this value of a long line, and from now on so. Before the value stand so many
    /// bytes of its line.
    fn skips(
        &mut self,
        name: usize,
        value: &[u8],
        here: &Here<'_>,
        sink: &mut impl FrameSink,
    ) -> bool {
        let Some((beginning, [_, ..])) = value.split_at_checked(SHORT - name) else {
            return false;
        };
        match self.skipped {
            Skipped::All => return true,
            Skipped::Document => return false,
            Skipped::Nothing | Skipped::Documents => {}
        }
        // What is said to be an error is read, whatever it is; and lines of data mean nothing without those before them.
        let is_first = here.data.is_none() && !self.has_held_data();
        if !is_first || self.is_error(here.event) || !sink.skips(valid_prefix(beginning)) {
            return false;
        }
        let mut brackets = Brackets::default();
        let is_document = matches!(beginning.trim_ascii_start(), [b'{' | b'[', ..]);
        if is_document && brackets.scan(beginning).is_some() {
            // A document that is short itself is not worth it.
            return false;
        }
        let held = self.held.get_or_insert_default();
        if self.skipped == Skipped::Nothing {
            held.skipped.set(valid_prefix(beginning).as_bytes());
        }
        held.brackets = brackets;
        self.skipped = if is_document {
            Skipped::Document
        } else {
            Skipped::All
        };
        true
    }

    /// What follows the skipped document that goes on with these bytes, if it ends in them.
    fn after_skipped<'p>(&mut self, bytes: &'p [u8]) -> Option<&'p [u8]> {
        if self.skipped != Skipped::Document {
            return None;
        }
        let end = self.held.as_mut()?.brackets.scan(bytes)?;
        self.skipped = Skipped::Documents;
        bytes.get(end..)
    }

    /// The brackets of the skipped document that did not end yet.
    fn open_brackets(&self) -> Brackets {
        self.held
            .as_ref()
            .map_or_else(Brackets::default, |held| held.brackets)
    }

    /// The data of an event of which something was skipped: this, without what the skipped document goes on with.
    #[cold]
    pub(super) fn left_of_data<'a>(
        &'a self,
        data: Option<Piece<'a>>,
        event: Option<Piece<'_>>,
    ) -> Option<Piece<'a>> {
        let mut data = data;
        if let (Skipped::Document, Some(lines)) = (self.skipped, data)
            && let Some(end) = self.open_brackets().scan(lines.bytes)
        {
            let rest = lines.bytes.get(end..).unwrap_or_default();
            let rest = lines.from(lines.bytes.len() - rest.trim_ascii_start().len());
            data = Some(rest).filter(|rest| !rest.bytes.is_empty());
        }
        data.or_else(|| self.held_skipped().filter(|_| self.is_error(event)))
    }
}

/// Where the value of a `data` line begins, which stands at this offset.
fn value_at(line: &[u8], at: u64) -> Option<usize> {
    let (text, _) = without_bom(line, at);
    let value = Piece::unchecked(text).after(b"data:")?.without_space();
    Some(line.len() - value.bytes.len())
}

/// Whether a line is of no field that says anything.
fn is_silent(line: &[u8], at: u64) -> bool {
    let (text, _) = without_bom(line, at);
    let mut silent = [b":".as_slice(), b"id:", b"retry:"].into_iter();
    silent.any(|name| text.starts_with(name))
}
