//! Server-sent events, as the WHATWG standard has them and as they are really sent (WIRE_FORMATS 0.4).
//!
//! A complete line is read in place in the chunk; only the line that a chunk leaves unfinished is carried over, and only the
//! fields of an event that a chunk leaves open are copied. An event with one `data` line wholly inside a chunk is given out
//! borrowed from it.
//!
//! Beyond the standard:
//!
//! 1. A field `error:` is data, and its event an [`Origin::Exception`].
//! 2. The end of the body dispatches an open event as [`Origin::Unterminated`]; an unfinished last line counts as a line,
//!    unless it is no more than the beginning of a field's name.
//! 3. Lines that are no field are collected as [`Origin::Bare`] text: a proxy's message, a bare JSON error. Which lines?
//!    - A line of the shape `name: value`, the name only of ASCII letters, digits, `-` and `_`, is an unknown field. As the
//!      standard says it is ignored, if it stands in an event, that is, in a block of lines with a known field. A block of
//!      unknown fields alone is bare text: `Error: connection reset`.
//!    - Any other line is bare text wherever it stands: `upstream error: read`, `{"error":{`, `"code": 503,`, `}`.
//!    - Bare text ends at a known field, at a blank line (unless it began with a bracket that is not closed yet: a
//!      pretty-printed document may hold blank lines), or with the body. Once it has begun, unknown fields belong to it.
//!    - A blank line dispatches the event it ends first, then the bare text that came in between.
//! 4. Of a line that says nothing (a comment, an `id`, a document that the sink [skips](FrameSink::skips)) only the beginning is
//!    kept, however long it is.

mod event;
mod piece;
mod skipped;
mod unfinished;

use memchr::{memchr2, memrchr2};

use super::bare::Bare;
use super::{BOM, FrameLimits, advance, clear, over_limit, valid_prefix, without_bom};
use crate::error::Error;
use crate::framing::{FrameSink, Origin};

use event::{Held, Here};
use piece::{Piece, after_line_end, usual_event};
use skipped::{Cut, SHORT, Skipped};
use unfinished::{LONGEST, Unfinished};

/// The machine. Between two chunks:
///
/// ```text
///   carry                 the unfinished line
///   held, start           the event whose blank line has not come; while its chunk is there, its fields are in `Here`
///   bare                  the text whose end has not come
///   unfinished            or else, between events, bytes that nobody has looked at
/// ```
pub(crate) struct Sse {
    limits: FrameLimits,
    /// Bytes looked at so far.
    offset: u64,
    /// The last byte was a CR, which ended its line. If the next is an LF it belongs to the same line end.
    after_cr: bool,
    /// The unfinished line. Holds no CR and no LF, so none of it is searched again.
    carry: Vec<u8>,
    /// What of the unfinished line is not in `carry`: it says nothing.
    cut: Cut,
    /// What chunks before this one left of the open event. None until a chunk leaves anything.
    held: Option<Box<Held>>,
    /// Some `error` field is part of the event.
    exception: bool,
    /// The open event has a known field, in this chunk or an earlier one.
    in_event: bool,
    /// Some line inside the open event was bare text: the event's bytes are not its own alone.
    mixed: bool,
    /// What of the open event's data says nothing to the sink.
    skipped: Skipped,
    /// Offset of the open event's first known field.
    start: u64,
    bare: Bare,
    unfinished: Unfinished,
}

impl Sse {
    pub(super) fn new(limits: FrameLimits) -> Self {
        Sse {
            limits,
            offset: 0,
            after_cr: false,
            carry: Vec::new(),
            cut: Cut::default(),
            held: None,
            exception: false,
            in_event: false,
            mixed: false,
            skipped: Skipped::Nothing,
            start: 0,
            bare: Bare::default(),
            unfinished: Unfinished::default(),
        }
    }

    pub(super) fn offset(&self) -> u64 {
        advance(self.offset, self.unfinished.len())
    }

    pub(super) fn reset(&mut self) {
        self.offset = 0;
        self.after_cr = false;
        self.drop_held();
    }

    #[inline]
    pub(super) fn push(&mut self, chunk: &[u8], sink: &mut impl FrameSink) -> Result<(), Error> {
        let end = advance(self.offset(), chunk.len());
        let result = self.push_chunk(chunk, sink);
        if result.is_err() {
            self.drop_held();
            self.offset = end;
        }
        result
    }

    #[inline]
    fn push_chunk(&mut self, chunk: &[u8], sink: &mut impl FrameSink) -> Result<(), Error> {
        // A long line that goes on is searched for its end alone.
        if !self.is_at_rest() {
            let left = self.push_lines(chunk, true, sink)?;
            self.unfinished.keep(left);
            return Ok(());
        }
        let (mut lines, tail) = split_tail(chunk);
        let mut at_rest = true;
        if !self.unfinished.is_empty() {
            let limit = self.limit();
            match self.unfinished.repeated(lines, self.offset, limit, sink) {
                Some((taken, after)) => {
                    self.offset = advance(self.offset, taken);
                    lines = after;
                }
                None if lines.is_empty() && self.unfinished.len() + chunk.len() <= self.few() => {
                    self.unfinished.keep(chunk);
                    return Ok(());
                }
                None => {
                    self.look_back(sink)?;
                    at_rest = self.is_at_rest();
                }
            }
        }
        if at_rest {
            let before = lines.len();
            lines = self.repeated(lines, advance(self.offset, before), sink);
            self.offset = advance(self.offset, before - lines.len());
        }
        if lines.is_empty() && tail.is_empty() {
            return Ok(());
        }
        let rest = chunk.len().saturating_sub(lines.len() + tail.len());
        let rest = chunk.get(rest..).unwrap_or_default();
        let left = if at_rest && self.leaves(lines, tail) {
            rest
        } else {
            self.push_lines(rest, true, sink)?
        };
        self.unfinished.keep(left);
        Ok(())
    }

    /// Whether these lines and this tail, the last of a chunk, are left for the next one: they are few, and say nothing yet.
    fn leaves(&self, lines: &[u8], tail: &[u8]) -> bool {
        self.is_between() && lines.len() + tail.len() <= self.few() && only_name_event(lines)
    }

    fn few(&self) -> usize {
        LONGEST.min(self.limit())
    }

    /// Looks at what was kept unfinished: it did not begin an event that the sink knows by its bytes.
    fn look_back(&mut self, sink: &mut impl FrameSink) -> Result<(), Error> {
        let mut unfinished = std::mem::take(&mut self.unfinished);
        let result = self.push_lines(unfinished.bytes(), false, sink).map(drop);
        unfinished.clear();
        self.unfinished = unfinished;
        result
    }

    pub(super) fn finish(&mut self, sink: &mut impl FrameSink) -> Result<(), Error> {
        let result = self.look_back(sink).and_then(|()| self.last_line(sink));
        if result.is_ok() {
            self.bare.give(sink);
        }
        self.drop_held();
        result
    }

    fn drop_held(&mut self) {
        clear(&mut self.carry);
        self.cut = Cut::default();
        self.close_event();
        self.bare.clear();
        self.unfinished.clear();
    }

    /// Takes the lines of a chunk; gives its last bytes if they are [left](Sse::leaves) and may be.
    #[inline(never)]
    fn push_lines<'c>(
        &mut self,
        chunk: &'c [u8],
        may_leave: bool,
        sink: &mut impl FrameSink,
    ) -> Result<&'c [u8], Error> {
        let Some(last) = chunk.last() else {
            return Ok(&[]);
        };
        let (mut rest, was_at_rest) = (chunk, self.is_at_rest());
        if self.after_cr {
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        // The offset of a slice that reaches to the end of the chunk is `end` less its length.
        self.offset = advance(self.offset, chunk.len());
        let end = self.offset;
        self.after_cr = *last == b'\r';

        if !self.carry.is_empty() {
            let Some(at) = memchr2(b'\n', b'\r', rest) else {
                self.carry_on(rest, end - rest.len() as u64, sink)?;
                return Ok(&[]);
            };
            let (part, after) = rest.split_at_checked(at).unwrap_or((rest, &[]));
            self.carry_on(part, end - rest.len() as u64, sink)?;
            let line_start = end - after.len() as u64 - self.carried();
            let carry = std::mem::take(&mut self.carry);
            let mut here = Here::default();
            self.line(Piece::unchecked(&carry), line_start, &mut here, sink)?;
            self.cut = Cut::default();
            rest = after_line_end(after);
            if let [b'\n' | b'\r', ..] = rest {
                // The event ends while its last line can still be lent from the carry: a long line is not copied twice.
                self.line(Piece::default(), end - rest.len() as u64, &mut here, sink)?;
                rest = after_line_end(rest);
            }
            self.keep(here);
            self.carry = carry;
            clear(&mut self.carry);
        }

        // At rest the sink was asked before.
        if !was_at_rest {
            rest = self.repeated(rest, end, sink);
        }
        let (lines, tail) = split_tail(rest);
        let lines_end = end - tail.len() as u64;
        let text = valid_prefix(lines);
        let mut here = Here {
            base: lines_end - lines.len() as u64,
            ..Here::default()
        };
        let mut rest = lines;
        loop {
            if may_leave && self.leaves(rest, tail) {
                let left = chunk.len() - rest.len() - tail.len();
                let left = chunk.get(left..).unwrap_or_default();
                self.offset -= left.len() as u64;
                self.after_cr &= left.is_empty();
                return Ok(left);
            }
            if rest.is_empty() {
                break;
            }
            let (start, line_start) = (lines.len() - rest.len(), lines_end - rest.len() as u64);
            let usual = text.get(start..).filter(|_| self.is_between());
            if let Some((frame, length)) = usual.and_then(|text| usual_event(text, self.limit())) {
                sink.frame(frame.at(line_start));
                rest = rest.get(length..).unwrap_or_default();
            } else {
                // Every second or third line is blank; seeing that needs no search.
                let at = match rest {
                    [b'\n' | b'\r', ..] => 0,
                    _ => match memchr2(b'\n', b'\r', rest) {
                        Some(at) => at,
                        None => break,
                    },
                };
                let Some((line, after)) = rest.split_at_checked(at) else {
                    break;
                };
                let line = Piece {
                    bytes: line,
                    text: text.get(start..start + at),
                };
                rest = after_line_end(after);
                here.lines = lines.get(..lines.len() - rest.len()).unwrap_or_default();
                self.line(line, line_start, &mut here, sink)?;
            }
            rest = self.repeated(rest, lines_end, sink);
        }
        self.keep(here);
        self.carry_on(tail, lines_end, sink)?;
        Ok(&[])
    }

    /// What is left of these bytes, which end at this offset, without the events that are repeated at their beginning.
    #[inline]
    fn repeated<'c>(&self, rest: &'c [u8], end: u64, sink: &mut impl FrameSink) -> &'c [u8] {
        if !self.is_between() || rest.is_empty() {
            return rest;
        }
        let shown = rest.get(..self.limit()).unwrap_or(rest);
        let taken = sink.repeated(shown, end - rest.len() as u64);
        rest.get(taken..).unwrap_or_default()
    }

    /// The next byte begins an event: nothing is held, and no half of a line end.
    #[inline]
    fn is_at_rest(&self) -> bool {
        self.is_between() && self.carry.is_empty() && !self.after_cr
    }

    /// No event is open, and no bare text.
    #[inline]
    fn is_between(&self) -> bool {
        !self.in_event && self.bare.is_empty()
    }

    /// Bytes of an event that can pass neither limit.
    #[inline]
    fn limit(&self) -> usize {
        self.limits.line.min(self.limits.frame)
    }

    /// Takes the line that has no line end, and ends the event it stands in.
    fn last_line(&mut self, sink: &mut impl FrameSink) -> Result<(), Error> {
        let at = self.offset - self.carried();
        let carry = std::mem::take(&mut self.carry);
        let mut here = Here::default();
        let (text, _) = without_bom(&carry, at);
        let fields: [&[u8]; 5] = [b"data", b"event", b"error", b"id", b"retry"];
        if !fields.iter().any(|name| name.starts_with(text)) {
            self.line(Piece::unchecked(&carry), at, &mut here, sink)?;
        }
        self.dispatch(&mut here, Origin::Unterminated, sink);
        self.carry = carry;
        Ok(())
    }

    /// Keeps the beginning of a line whose end is not in the chunk; `at` is the offset of this part of it.
    fn carry_on(&mut self, part: &[u8], at: u64, sink: &mut impl FrameSink) -> Result<(), Error> {
        let (limit, start) = (self.limits.line, at - self.carried());
        if self.carried() + part.len() as u64 > limit as u64 {
            return Err(over_limit("a line", limit, advance(start, limit)));
        }
        self.keep_part(part, start, sink);
        Ok(())
    }

    /// How long the unfinished line is so far.
    fn carried(&self) -> u64 {
        (self.carry.len() + self.cut.bytes) as u64
    }

    /// Takes one line without its line end, at this offset.
    #[inline(always)]
    fn line<'c>(
        &mut self,
        line: Piece<'c>,
        at: u64,
        here: &mut Here<'c>,
        sink: &mut impl FrameSink,
    ) -> Result<(), Error> {
        if line.bytes.len() > self.limits.line {
            return Err(over_limit(
                "a line",
                self.limits.line,
                advance(at, self.limits.line),
            ));
        }
        let may_say_nothing = line.bytes.len() > SHORT || self.cut.bytes > 0;
        let left = may_say_nothing.then(|| self.left_of_line(line, at, here, sink));
        let (line, at) = match line.after(BOM) {
            Some(line) if at == 0 => (line, BOM.len() as u64),
            _ => (line, at),
        };
        if let Some(value) = line.after(b"data:") {
            self.known_field(at, sink);
            return match left.unwrap_or(Some(value.without_space())) {
                Some(value) => self.data_line(value, at, here),
                None => Ok(()),
            };
        }
        if let Some(value) = line.after(b"event:") {
            self.known_field(at, sink);
            here.event = Some(value.without_space());
            return Ok(());
        }
        if line.bytes.is_empty() {
            self.dispatch(here, Origin::Event, sink);
            return self.bare.blank_line(at, self.limits.frame, sink);
        }
        self.rare_line(line, at, here, sink)
    }

    #[inline(never)]
    fn rare_line<'c>(
        &mut self,
        line: Piece<'c>,
        at: u64,
        here: &mut Here<'c>,
        sink: &mut impl FrameSink,
    ) -> Result<(), Error> {
        let line = line.bytes;
        let colon = memchr::memchr(b':', line);
        let (name, value) = match colon.and_then(|colon| line.split_at_checked(colon)) {
            Some((name, value)) => (name, value.get(1..)),
            None => (line, None),
        };
        match (name, value) {
            (b"", Some(_)) => Ok(()),
            (b"data", None) => {
                self.known_field(at, sink);
                self.data_line(Piece::default(), at, here)
            }
            (b"event", None) => {
                self.known_field(at, sink);
                here.event = Some(Piece::default());
                Ok(())
            }
            (b"error", Some(value)) => {
                self.known_field(at, sink);
                self.exception = true;
                self.data_line(Piece::unchecked(value).without_space(), at, here)
            }
            (b"id" | b"retry", _) => {
                self.known_field(at, sink);
                Ok(())
            }
            _ => {
                let is_field = value.is_some()
                    && name
                        .iter()
                        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
                if is_field && self.in_event && self.bare.is_empty() {
                    return Ok(());
                }
                self.mixed |= self.in_event;
                self.bare.line(line, at, !is_field, self.limits.frame)
            }
        }
    }
}

/// The complete lines, and what comes after them.
#[inline]
fn split_tail(chunk: &[u8]) -> (&[u8], &[u8]) {
    let lines = match chunk {
        // A chunk mostly ends where an event does.
        [.., b'\n'] => chunk.len(),
        _ => memrchr2(b'\n', b'\r', chunk).map_or(0, |at| at + 1),
    };
    chunk.split_at_checked(lines).unwrap_or((&[], chunk))
}

/// Whether these are no lines, or an `event` line alone, with which most events begin.
fn only_name_event(lines: &[u8]) -> bool {
    let end = || memchr2(b'\n', b'\r', lines).and_then(|at| lines.get(at..));
    lines.is_empty()
        || lines.starts_with(b"event:") && end().is_some_and(|end| after_line_end(end).is_empty())
}

#[cfg(test)]
impl Sse {
    /// Bytes that the buffers take up.
    pub(super) fn held_capacity(&self) -> usize {
        let held = self.held.as_ref().map_or(0, |held| held.capacity());
        let buffers = self.carry.capacity() + self.unfinished.capacity();
        buffers + held + self.bare.capacity()
    }
}
