//! Lines of a chunk and parts of them, and the event that needs no reading line by line.

use memchr::memchr2;

use super::skipped::{DATA, SHORT};
use crate::framing::Frame;

/// A line or a part of one. The complete lines of a chunk are checked for UTF-8 in one go, which costs half of what one
/// check a line does; `text` is there if the piece lies before the first byte that is none.
#[derive(Clone, Copy, Default)]
pub(super) struct Piece<'c> {
    pub(super) bytes: &'c [u8],
    pub(super) text: Option<&'c str>,
}

impl<'c> Piece<'c> {
    pub(super) fn unchecked(bytes: &'c [u8]) -> Self {
        Piece { bytes, text: None }
    }

    /// What comes after this prefix.
    #[inline]
    pub(super) fn after(self, prefix: &[u8]) -> Option<Self> {
        let is_before = self.bytes.starts_with(prefix);
        is_before.then(|| self.from(prefix.len()))
    }

    /// What comes from this place on.
    #[inline]
    pub(super) fn from(self, at: usize) -> Self {
        Piece {
            bytes: self.bytes.get(at..).unwrap_or_default(),
            text: self.text.and_then(|text| text.get(at..)),
        }
    }

    /// A field's value: at most one space after the colon is not part of it.
    #[inline]
    pub(super) fn without_space(self) -> Self {
        self.after(b" ").unwrap_or(self)
    }
}

/// The event that begins `text`, if it is what nearly every one is: a `data` line that is not long, perhaps an `event` line before
/// it, LF or CRLF and a blank line; and its length, if that is at most `limit`. Reading the same lines one by one gives the same
/// event, for more work.
#[inline]
pub(super) fn usual_event(text: &str, limit: usize) -> Option<(Frame<'_>, usize)> {
    let line = |text| {
        let at = memchr2(b'\n', b'\r', str::as_bytes(text))?;
        let (line, end) = text.split_at_checked(at)?;
        Some((line.strip_prefix(' ').unwrap_or(line), ended(end)?))
    };
    let (event, rest) = match text.strip_prefix("event:") {
        Some(text) => line(text).map(|(event, rest)| (Some(event), rest))?,
        None => (None, text),
    };
    let (data, rest) = line(rest.strip_prefix("data:")?)?;
    if data.len() + DATA.len() > SHORT {
        return None;
    }
    let after = ended(rest)?;
    let length = text.len() - after.len();
    let frame = Frame {
        event: event.filter(|event| !event.is_empty()),
        raw: text.as_bytes().get(..length),
        ..Frame::new(data)
    };
    (length <= limit).then_some((frame, length))
}

/// What comes after the LF or CRLF that `rest` begins with.
#[inline]
fn ended(rest: &str) -> Option<&str> {
    rest.strip_prefix('\r').unwrap_or(rest).strip_prefix('\n')
}

/// What comes after the line end that `rest` begins with. Where a CR ends the chunk, `after_cr` knows.
#[inline]
pub(super) fn after_line_end(rest: &[u8]) -> &[u8] {
    match rest {
        [b'\r', b'\n', after @ ..] | [b'\n' | b'\r', after @ ..] => after,
        _ => rest,
    }
}
