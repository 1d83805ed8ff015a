//! NDJSON: one JSON value a line, ended by LF or CRLF (WIRE_FORMATS 8.1). Blank lines are skipped.
//!
//! What is really sent under this framing is not always NDJSON, so:
//!
//! 1. A line that begins with neither `{` nor `[` is [`Origin::Bare`] text.
//! 2. A document whose brackets are still open at its line's end goes on with the next line: a pretty-printed error body. It
//!    ends with the line that closes it.
//! 3. A document that cannot go on is given as it is, so that one cut line does not swallow the rest of the body: its line
//!    ended inside a string, or the next line begins with `{` in its first column where no value can stand.
//! 4. What the end of the body leaves, an unfinished last line or an open document, is [`Origin::Unterminated`].

use memchr::memchr;

use super::brackets::Brackets;
use super::{FrameLimits, advance, clear, give, over_limit, without_bom};
use crate::error::Error;
use crate::framing::{Frame, FrameSink, Origin};

/// The machine.
pub(crate) struct Lines {
    limits: FrameLimits,
    /// Bytes pushed so far.
    offset: u64,
    /// The unfinished line. Holds no LF, so none of it is searched again.
    carry: Vec<u8>,
    /// The lines of an open document, joined with LF. Empty when there is none.
    document: Vec<u8>,
    /// Offset of the document's first byte.
    start: u64,
    /// The bracket that begins the document.
    opener: u8,
    /// Counted over all of `document`.
    brackets: Brackets,
}

impl Lines {
    pub(super) fn new(limits: FrameLimits) -> Self {
        Lines {
            limits,
            offset: 0,
            carry: Vec::new(),
            document: Vec::new(),
            start: 0,
            opener: b'{',
            brackets: Brackets::default(),
        }
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) fn reset(&mut self) {
        self.offset = 0;
        clear(&mut self.carry);
        self.close_document();
    }

    pub(super) fn push(&mut self, chunk: &[u8], sink: &mut impl FrameSink) -> Result<(), Error> {
        let result = self.push_lines(chunk, sink);
        if result.is_err() {
            clear(&mut self.carry);
            self.close_document();
        }
        result
    }

    fn push_lines(&mut self, chunk: &[u8], sink: &mut impl FrameSink) -> Result<(), Error> {
        self.offset = advance(self.offset, chunk.len());
        let end = self.offset;
        let mut rest = chunk;
        while let Some(at) = memchr(b'\n', rest) {
            let Some((line, after)) = rest.split_at_checked(at) else {
                break;
            };
            let after = after.get(1..).unwrap_or_default();
            if self.carry.is_empty() {
                self.line(line, end - rest.len() as u64, sink)?;
            } else {
                self.carry_on(line, end - after.len() as u64 - 1)?;
                let carry = std::mem::take(&mut self.carry);
                let start = end - after.len() as u64 - 1 - carry.len() as u64;
                self.line(&carry, start, sink)?;
                self.carry = carry;
                clear(&mut self.carry);
            }
            rest = after;
        }
        self.carry_on(rest, end)
    }

    pub(super) fn finish(&mut self, sink: &mut impl FrameSink) -> Result<(), Error> {
        let carry = std::mem::take(&mut self.carry);
        let at = self.offset - carry.len() as u64;
        let result = self.last_line(&carry, at, sink);
        self.close_document();
        self.carry = carry;
        clear(&mut self.carry);
        result
    }

    /// Takes the line that has no LF, empty where the body ended with one.
    fn last_line(&mut self, line: &[u8], at: u64, sink: &mut impl FrameSink) -> Result<(), Error> {
        let (line, at) = without_line_marks(line, at);
        if !self.document.is_empty() && self.cannot_go_on_with(line) {
            self.give_document(Origin::Event, sink);
        }
        if !self.document.is_empty() {
            self.append(line, at)?;
            self.give_document(Origin::Unterminated, sink);
        } else if begins_document(line) {
            self.check_frame(line, at)?;
            give(sink, line, None, Origin::Unterminated, at);
        } else if !line.trim_ascii().is_empty() {
            give(sink, line, None, Origin::Bare, at);
        }
        Ok(())
    }

    /// Keeps the beginning of a line; `end` is the offset behind it.
    fn carry_on(&mut self, part: &[u8], end: u64) -> Result<(), Error> {
        let len = self.carry.len() + part.len();
        let last = part.last().or(self.carry.last());
        // What may be the CR of a CRLF is no part of the line until something else follows it.
        if len - usize::from(last == Some(&b'\r')) > self.limits.line {
            let limit = self.limits.line;
            return Err(over_limit(
                "a line",
                limit,
                advance(end - len as u64, limit),
            ));
        }
        self.carry.extend_from_slice(part);
        Ok(())
    }

    /// Takes one line without its LF, at this offset.
    fn line(&mut self, line: &[u8], at: u64, sink: &mut impl FrameSink) -> Result<(), Error> {
        if line.strip_suffix(b"\r").unwrap_or(line).len() > self.limits.line {
            return Err(over_limit(
                "a line",
                self.limits.line,
                advance(at, self.limits.line),
            ));
        }
        let (line, at) = without_line_marks(line, at);
        if !self.document.is_empty() {
            if self.cannot_go_on_with(line) {
                self.give_document(Origin::Event, sink);
            } else {
                self.append(line, at)?;
                if self.brackets.is_balanced() || self.brackets.is_in_string() {
                    self.give_document(Origin::Event, sink);
                }
                return Ok(());
            }
        }
        if !begins_document(line) {
            if !line.trim_ascii().is_empty() {
                give(sink, line, None, Origin::Bare, at);
            }
            return Ok(());
        }
        self.check_frame(line, at)?;
        // Nearly every line is a document, and who reads it finds that out: only of others the brackets are counted.
        if let Ok(data) = simdutf8::basic::from_utf8(line)
            && sink.whole(Frame::new(data).at(at))
        {
            return Ok(());
        }
        let mut brackets = Brackets::default();
        brackets.scan_all(line);
        if brackets.is_balanced() || brackets.is_in_string() {
            give(sink, line, None, Origin::Event, at);
        } else {
            self.document.extend_from_slice(line);
            self.start = at;
            self.opener = line.trim_ascii_start().first().copied().unwrap_or(b'{');
            self.brackets = brackets;
        }
        Ok(())
    }

    fn check_frame(&self, line: &[u8], at: u64) -> Result<(), Error> {
        if line.len() > self.limits.frame {
            return Err(over_limit("a frame", self.limits.frame, at));
        }
        Ok(())
    }

    /// The next line begins a document of its own, so the open one was cut. A `{` can stand after a bracket or a colon, and
    /// after a comma in an array; which of the two encloses the comma is judged by the document's first byte.
    fn cannot_go_on_with(&self, line: &[u8]) -> bool {
        // A document's white space is trimmed once for each line that asks, and a line that asks ends it: the whole stays
        // linear. Its first byte is kept, as white space before it would be trimmed again and again.
        line.first() == Some(&b'{')
            && match self.document.trim_ascii_end().last() {
                Some(b'[' | b':') => false,
                Some(b',') => self.opener != b'[',
                _ => true,
            }
    }

    fn append(&mut self, line: &[u8], at: u64) -> Result<(), Error> {
        if self.document.len() + 1 + line.len() > self.limits.frame {
            return Err(over_limit("a frame", self.limits.frame, at));
        }
        self.document.push(b'\n');
        self.document.extend_from_slice(line);
        self.brackets.scan_all(line);
        Ok(())
    }

    fn give_document(&mut self, origin: Origin, sink: &mut impl FrameSink) {
        give(sink, &self.document, None, origin, self.start);
        self.close_document();
    }

    fn close_document(&mut self) {
        if !self.document.is_empty() {
            clear(&mut self.document);
            self.brackets = Brackets::default();
        }
    }
}

/// A line without the BOM of the body's first line and without the CR of a CRLF.
fn without_line_marks(line: &[u8], at: u64) -> (&[u8], u64) {
    without_bom(line.strip_suffix(b"\r").unwrap_or(line), at)
}

fn begins_document(line: &[u8]) -> bool {
    matches!(line.trim_ascii_start().first(), Some(b'{' | b'['))
}
