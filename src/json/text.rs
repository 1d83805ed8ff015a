//! The content of one JSON string, decoded as it arrives.

use super::block::next_special;
use super::cursor::join_halves;
use super::recover::FaultKind;

/// An escape that the edge of the text cuts: what is held back and how far the text must reach before it is looked at
/// again. Without the second, single bytes of an escape would be read over and over.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pending {
    /// A high surrogate already read, waiting for its other half; 0 is none.
    high: u16,
    need: usize,
    /// How much of it was searched for what is no digit.
    searched: usize,
    /// Bytes looked at more than once, for the test that reading is linear.
    pub(super) reread: usize,
}

/// Why [`read_text`] stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextStop {
    /// At the edge of what has arrived.
    Edge,
    /// Just after the closing quote.
    Quote,
    /// At this byte, which no string may hold.
    Fault(FaultKind, usize),
}

/// How long a `\uXXXX` is.
pub(super) const UNICODE_ESCAPE: usize = 6;

/// Appends decoded content from `at` on to `into`, and says why it stopped; `at` is then the first byte not read.
#[inline]
pub(super) fn read_text(
    text: &str,
    at: &mut usize,
    pending: &mut Pending,
    into: &mut String,
) -> TextStop {
    let bytes = text.as_bytes();
    if bytes.len() < pending.need {
        return pending.search(bytes, *at);
    }
    loop {
        if pending.high == 0 {
            let end = next_special(bytes, *at);
            into.push_str(text.get(*at..end).unwrap_or_default());
            *at = end;
        }
        match bytes.get(*at) {
            None => return TextStop::Edge,
            Some(b'\\') => {}
            Some(_) if pending.high != 0 => {
                return TextStop::Fault(
                    FaultKind::LoneSurrogate,
                    at.saturating_sub(UNICODE_ESCAPE),
                );
            }
            Some(b'"') => {
                *at += 1;
                return TextStop::Quote;
            }
            Some(_) => return TextStop::Fault(FaultKind::ControlCharacter, *at),
        }
        match escape(bytes, *at, pending.high) {
            Escape::Char(c, length) => {
                into.push(c);
                *at += length;
                pending.high = 0;
            }
            Escape::High(unit) => {
                pending.high = unit;
                *at += UNICODE_ESCAPE;
            }
            Escape::Short(need) => {
                pending.need = need;
                pending.searched = *at;
                return pending.search(bytes, *at);
            }
            Escape::Bad(kind, at) => return TextStop::Fault(kind, at),
        }
    }
}

impl Pending {
    /// Where the bytes held back begin, if any are, the reader standing at `at`.
    pub(super) fn held_from(self, text: &str, at: usize) -> Option<usize> {
        match self.high {
            0 => (at < text.len()).then_some(at),
            _ => Some(at.saturating_sub(UNICODE_ESCAPE)),
        }
    }

    /// Searches what came of the escape at `at`, which the edge cuts: `\u1G` can be continued by nothing. Each byte once.
    #[cold]
    fn search(&mut self, bytes: &[u8], at: usize) -> TextStop {
        self.reread += bytes.len().saturating_sub(self.searched);
        let digits = bytes.get(self.searched.max(at + 2)..).unwrap_or_default();
        self.searched = bytes.len();
        if digits.iter().all(u8::is_ascii_hexdigit) {
            TextStop::Edge
        } else {
            TextStop::Fault(FaultKind::BadEscape, at)
        }
    }
}

pub(super) enum Escape {
    Char(char, usize),
    High(u16),
    /// Cut: look again when the text is this long.
    Short(usize),
    Bad(FaultKind, usize),
}

/// Reads the escape at `at` (a backslash), `high` being a high surrogate that stands directly before it, or 0.
pub(super) fn escape(bytes: &[u8], at: usize, high: u16) -> Escape {
    let before = at.saturating_sub(UNICODE_ESCAPE);
    let Some(&letter) = bytes.get(at + 1) else {
        return Escape::Short(at + 2);
    };
    if letter != b'u' {
        if high != 0 {
            return Escape::Bad(FaultKind::LoneSurrogate, before);
        }
        return match simple_escape(letter) {
            Some(byte) => Escape::Char(char::from(byte), 2),
            None => Escape::Bad(FaultKind::BadEscape, at),
        };
    }
    let Some(digits) = bytes.get(at + 2..at + UNICODE_ESCAPE) else {
        return Escape::Short(at + UNICODE_ESCAPE);
    };
    let Some(unit) = hex4(digits) else {
        return Escape::Bad(FaultKind::BadEscape, at);
    };
    match (high, unit) {
        (0, 0xD800..=0xDBFF) => Escape::High(unit),
        (0, _) => match char::from_u32(u32::from(unit)) {
            Some(c) => Escape::Char(c, UNICODE_ESCAPE),
            None => Escape::Bad(FaultKind::LoneSurrogate, at),
        },
        (_, 0xDC00..=0xDFFF) => Escape::Char(join_halves(high, unit), UNICODE_ESCAPE),
        _ => Escape::Bad(FaultKind::LoneSurrogate, before),
    }
}

/// What a backslash and this letter stand for; `None` for `u` and for what is no escape.
#[inline]
pub(super) fn simple_escape(letter: u8) -> Option<u8> {
    // A look at a table, as the letters of a text come in no order that a branch could foresee.
    let byte = SIMPLE_ESCAPES.get(usize::from(letter)).copied()?;
    (byte != 0).then_some(byte)
}

/// What each letter stands for after a backslash; 0 where it is no simple escape.
#[allow(clippy::indexing_slicing, reason = "it is done by the compiler")]
const SIMPLE_ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    let (letters, bytes) = (b"\"\\/bfnrt", b"\"\\/\x08\x0c\n\r\t");
    let mut at = 0;
    while at < letters.len() {
        table[letters[at] as usize] = bytes[at];
        at += 1;
    }
    table
};

/// The unit that four digits spell.
pub(super) fn hex4(digits: &[u8]) -> Option<u16> {
    let high = hex2(digits)?;
    let low = hex2(digits.get(2..)?)?;
    Some(u16::from_be_bytes([high, low]))
}

/// The byte that two digits spell.
pub(super) fn hex2(digits: &[u8]) -> Option<u8> {
    let [high, low, ..] = digits else { return None };
    let digit = |digit: &u8| u8::try_from(char::from(*digit).to_digit(16)?).ok();
    Some(digit(high)? << 4 | digit(low)?)
}
