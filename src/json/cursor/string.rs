//! Strings of a document: where they end, and what they say.

use std::borrow::Cow;

use crate::delta::Fragment;

/// A JSON string as it stands in the document, without its quotes. Its escapes were checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Text<'a> {
    pub(crate) raw: &'a str,
    pub(crate) escaped: bool,
}

impl<'a> Text<'a> {
    /// The text, where it holds no escape.
    #[inline]
    pub(crate) fn plain(self) -> Option<&'a str> {
        if self.escaped { None } else { Some(self.raw) }
    }

    /// The text decoded; copies only where there is an escape. A lone surrogate half becomes U+FFFD.
    pub(crate) fn to_cow(self) -> Cow<'a, str> {
        match self.plain() {
            Some(text) => Cow::Borrowed(text),
            None => {
                let mut out = String::with_capacity(self.raw.len());
                let halves = self.unescape_into(&mut out);
                let mut whole = String::with_capacity(out.len() + 6);
                if halves.0.is_some() {
                    whole.push(char::REPLACEMENT_CHARACTER);
                }
                whole.push_str(&out);
                if halves.1.is_some() {
                    whole.push(char::REPLACEMENT_CHARACTER);
                }
                Cow::Owned(whole)
            }
        }
    }

    /// The text as a piece of a longer one; `scratch` holds it where it must be decoded.
    #[inline]
    pub(crate) fn fragment<'s>(self, scratch: &'s mut String) -> Fragment<'s>
    where
        'a: 's,
    {
        match self.plain() {
            Some(text) => Fragment::unescaped(text),
            None => {
                scratch.clear();
                let (low, high) = self.unescape_into(scratch);
                Fragment::new(scratch).with_halves(low, high)
            }
        }
    }

    /// Appends the decoded text, except a low half that begins it and a high half that ends it, which are returned: their
    /// other halves may stand in the neighbouring pieces.
    fn unescape_into(self, out: &mut String) -> (Option<u16>, Option<u16>) {
        let begin = out.len();
        let (mut low, mut high) = (None, None);
        let mut rest = self.raw;
        let mut first = true;
        while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
            let (before, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
            // A high half followed by ordinary text has lost its other half.
            if !before.is_empty() && high.take().is_some() {
                out.push(char::REPLACEMENT_CHARACTER);
            }
            out.push_str(before);
            first &= before.is_empty() && out.len() == begin;
            let mut unit = None;
            let mut length = 2;
            let simple = after.as_bytes().get(1).and_then(|&byte| escaped(byte));
            let simple = simple.map_or_else(
                || {
                    length = 6;
                    let hex = after.get(2..6);
                    unit = hex.and_then(|hex| u16::from_str_radix(hex, 16).ok());
                    char::REPLACEMENT_CHARACTER
                },
                char::from,
            );
            rest = after.get(length..).unwrap_or_default();
            match (unit, high.take()) {
                (Some(unit @ 0xDC00..=0xDFFF), Some(half)) => out.push(join_halves(half, unit)),
                (unit, lost) => {
                    if lost.is_some() {
                        out.push(char::REPLACEMENT_CHARACTER);
                    }
                    match unit {
                        None => out.push(simple),
                        Some(unit @ 0xD800..=0xDBFF) => high = Some(unit),
                        Some(unit @ 0xDC00..=0xDFFF) if first && lost.is_none() => low = Some(unit),
                        Some(unit) => out.push(
                            char::from_u32(u32::from(unit)).unwrap_or(char::REPLACEMENT_CHARACTER),
                        ),
                    }
                }
            }
            first = false;
        }
        if !rest.is_empty() && high.take().is_some() {
            out.push(char::REPLACEMENT_CHARACTER);
        }
        out.push_str(rest);
        (low, high)
    }
}

/// What a backslash before this byte stands for; `None` for `u` and for what is no escape.
#[inline]
pub(crate) fn escaped(byte: u8) -> Option<u8> {
    Some(match byte {
        b'"' | b'\\' | b'/' => byte,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        _ => return None,
    })
}

/// The character that a high and a low surrogate half make.
pub(crate) fn join_halves(high: u16, low: u16) -> char {
    let mut both = char::decode_utf16([high, low]);
    both.next()
        .and_then(Result::ok)
        .unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// Where the first quote, backslash or control character from `at` on is, or the end. Eight bytes at a time.
#[inline]
pub(super) fn next_special(bytes: &[u8], mut at: usize) -> usize {
    while let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let found = specials(u64::from_le_bytes(*word));
        if found != 0 {
            return at + (found.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(special).unwrap_or(rest.len())
}

/// How many bytes come before the first quote, backslash or control character.
#[inline]
pub(crate) fn plain_run(bytes: &[u8]) -> usize {
    next_special(bytes, 0)
}

/// The length of a string's content that begins `bytes` and is ASCII without escapes; `None` for any other.
#[inline]
pub(crate) fn ascii_string(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*word);
        let found = specials(word) | (word & HIGHS);
        if found != 0 {
            at += (found.trailing_zeros() / 8) as usize;
            return (bytes.get(at) == Some(&b'"')).then_some(at);
        }
        at += 8;
    }
    let rest = bytes.get(at..)?;
    let end = rest
        .iter()
        .position(|b| !matches!(b, 0x20..0x80) || matches!(b, b'"' | b'\\'))?;
    (rest.get(end) == Some(&b'"')).then_some(at + end)
}

const ONES: u64 = u64::MAX / 0xff;
const HIGHS: u64 = ONES << 7;

/// The high bit of each byte that is a quote, a backslash or a control character. A borrow can set a false one, but only
/// above a true one, and only the lowest counts.
#[inline]
fn specials(word: u64) -> u64 {
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word;
    let quotes = zeros(word ^ (ONES * b'"' as u64));
    let backslashes = zeros(word ^ (ONES * b'\\' as u64));
    let controls = word.wrapping_sub(ONES * 0x20) & !word;
    (quotes | backslashes | controls) & HIGHS
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_run_stops_at_the_first_special_byte_wherever_it_lies() {
        for special in [b'"', b'\\', 0u8, 0x1f] {
            for at in 0..40 {
                let mut bytes = vec![0xC3u8; 40];
                bytes[at] = special;
                assert_eq!(plain_run(&bytes), at);
            }
        }
        assert_eq!(plain_run("\u{7f}é€ 😀".as_bytes()), "\u{7f}é€ 😀".len());
    }

    #[test]
    fn escapes_decode_as_serde_json_decodes_them() {
        let raw = r#"a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00 z\u0000"#;
        let text = Text { raw, escaped: true };
        assert_eq!(
            text.to_cow(),
            serde_json::from_str::<String>(&format!("\"{raw}\"")).unwrap()
        );
    }

    #[test]
    fn outer_surrogate_halves_are_handed_out_and_inner_ones_replaced() {
        let mut scratch = String::new();
        let text = |raw| Text { raw, escaped: true };
        assert_eq!(
            text(r"a\ud83d").fragment(&mut scratch),
            Fragment::new("a").with_halves(None, Some(0xd83d))
        );
        assert_eq!(
            text(r"\ude00b").fragment(&mut scratch),
            Fragment::new("b").with_halves(Some(0xde00), None)
        );
        assert_eq!(text(r"x\ude00").fragment(&mut scratch).text, "x\u{fffd}");
        assert_eq!(text(r"\ud83dx").fragment(&mut scratch).text, "\u{fffd}x");
        assert_eq!(text(r"\ud83d\n").fragment(&mut scratch).text, "\u{fffd}\n");
        assert_eq!(
            text(r"\ud83d\ud83d\ude00").fragment(&mut scratch).text,
            "\u{fffd}😀"
        );
        assert_eq!(
            text(r"\ude00\ude00").fragment(&mut scratch),
            Fragment::new("\u{fffd}").with_halves(Some(0xde00), None)
        );
        assert_eq!(join_halves(0xd83d, 0xde00), '😀');
    }
}
