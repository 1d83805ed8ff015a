//! Strings of a document: where they end, and what they say.

use std::borrow::Cow;

use crate::delta::Fragment;
use crate::json::block::{
    block_of_string, next_not_plain_ascii, next_special, short_digits, specials_of_four,
};
use crate::json::text::{UNICODE_ESCAPE, hex4, simple_escape};

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
                let mut out = Vec::with_capacity(self.raw.len());
                let (low, high) = self.unescape_into(&mut out);
                let lost = |half: Option<u16>| if half.is_some() { "\u{fffd}" } else { "" };
                Cow::Owned([lost(low), text(&out), lost(high)].concat())
            }
        }
    }

    /// The text as a piece of a longer one; `scratch` holds it where it must be decoded.
    #[inline]
    pub(crate) fn fragment<'s>(self, scratch: &'s mut Vec<u8>) -> Fragment<'s>
    where
        'a: 's,
    {
        match self.plain() {
            Some(text) => Fragment::new(text),
            None => {
                scratch.clear();
                let (low, high) = self.unescape_into(scratch);
                Fragment::new(text(scratch)).with_halves(low, high)
            }
        }
    }

    /// Appends the decoded text, except a low half that begins it and a high half that ends it, which are returned: their
    /// other halves may stand in the neighbouring pieces.
    fn unescape_into(self, out: &mut Vec<u8>) -> (Option<u16>, Option<u16>) {
        let bytes = self.raw.as_bytes();
        // What a long text says is shorter than it: growing by and by could take twice the room.
        out.reserve(bytes.len());
        let (mut low, mut high) = (None, None);
        let mut at = 0;
        while let (to, Stop::Half(half)) = decode(bytes, at, out) {
            match half {
                0xD800..0xDC00 if to == bytes.len() => high = Some(half),
                0xDC00..0xE000 if to == UNICODE_ESCAPE => low = Some(half),
                _ => push(char::REPLACEMENT_CHARACTER, out),
            }
            at = to;
        }
        (low, high)
    }
}

/// Decoded text. It is UTF-8, as it was decoded from such.
fn text(decoded: &[u8]) -> &str {
    simdutf8::basic::from_utf8(decoded).unwrap_or_default()
}

/// Why [`decode`] stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The closing quote.
    Quote,
    /// The end of the bytes.
    End,
    /// After this surrogate half, which has lost its other one.
    Half(u16),
    /// What no string may hold.
    Fault,
}

/// Appends what the content of a string says from `at` on, and tells where and why it stopped. UTF-8 is not looked at.
#[inline]
pub(crate) fn decode(bytes: &[u8], mut at: usize, out: &mut Vec<u8>) -> (usize, Stop) {
    loop {
        at = decode_blocks(bytes, at, out);
        let end = next_special(bytes, at);
        out.extend_from_slice(bytes.get(at..end).unwrap_or_default());
        at = end;
        match bytes.get(at..) {
            Some([b'"', ..]) => return (at, Stop::Quote),
            None | Some([]) => return (at, Stop::End),
            Some([b'\\', b'u', rest @ ..]) => {
                let Some(unit) = hex4(rest) else {
                    return (at, Stop::Fault);
                };
                at += UNICODE_ESCAPE;
                let other = match rest.get(4..) {
                    Some([b'\\', b'u', rest @ ..]) => hex4(rest),
                    _ => None,
                };
                match (char::from_u32(u32::from(unit)), other) {
                    (Some(c), _) => push(c, out),
                    (None, Some(low @ 0xDC00..0xE000)) if unit < 0xDC00 => {
                        at += UNICODE_ESCAPE;
                        push(join_halves(unit, low), out);
                    }
                    _ => return (at, Stop::Half(unit)),
                }
            }
            Some([b'\\', letter, ..]) => {
                let Some(byte) = simple_escape(*letter) else {
                    return (at, Stop::Fault);
                };
                out.push(byte);
                at += 2;
            }
            _ => return (at, Stop::Fault),
        }
    }
}

/// Bytes that are looked at together, and as many after them: a run that begins among the first ends among all.
const BLOCKS: usize = 64;
/// So many bytes get room in one go: it is filled before it is written.
const PART: usize = 2048;

/// Decodes from `at` on up to where a closer look is needed: at the quote, at a `\u`, at what no string may hold, or close to the
/// end. Gives where that is.
///
/// The special bytes of a block are found at once, and each run between two of them is copied in one length, whatever its own:
/// what is too much is written over. So neither the search nor the copy waits for the one before, and nothing but the kind of a
/// special byte is asked for.
#[inline]
fn decode_blocks(bytes: &[u8], mut at: usize, out: &mut Vec<u8>) -> usize {
    loop {
        let part = bytes.get(at..).unwrap_or_default();
        let part = part.get(..PART).unwrap_or(part);
        if part.len() < 2 * BLOCKS {
            return at;
        }
        let base = out.len();
        out.resize(base + part.len(), 0);
        let room = out.get_mut(base..).unwrap_or_default();
        let (from, to, goes_on) = decode_part(part, room);
        out.truncate(base + to);
        at += from;
        if !goes_on {
            return at;
        }
    }
}

/// As [`decode_blocks`], into as much room: how much was read, and written, and whether only the end of the part stopped it.
fn decode_part(part: &[u8], room: &mut [u8]) -> (usize, usize, bool) {
    let (mut at, mut end) = (0, 0);
    while let (Some(blocks), Some(room)) = (
        part.get(at..)
            .and_then(<[u8]>::first_chunk::<{ 2 * BLOCKS }>),
        room.get_mut(end..)
            .and_then(<[u8]>::first_chunk_mut::<{ 2 * BLOCKS }>),
    ) {
        let mut specials = blocks.first_chunk().map_or(0, specials_of_four);
        let (mut from, mut to) = (0, 0);
        loop {
            let next = specials.trailing_zeros() as usize;
            if let (Some(run), Some(room)) = (
                blocks.get(from..from + BLOCKS),
                room.get_mut(to..to + BLOCKS),
            ) {
                room.copy_from_slice(run);
            }
            (from, to) = (next, to + next - from);
            if from == BLOCKS {
                break;
            }
            let escape = match blocks.get(from..) {
                Some([b'\\', letter, ..]) => simple_escape(*letter),
                _ => None,
            };
            let (Some(escape), Some(place)) = (escape, room.get_mut(to)) else {
                return (at + from, end + to, false);
            };
            *place = escape;
            (from, to) = (from + 2, to + 1);
            if from >= BLOCKS {
                break;
            }
            specials &= u64::MAX << from;
        }
        (at, end) = (at + from, end + to);
    }
    (at, end, true)
}

fn push(c: char, out: &mut Vec<u8>) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

/// The character that a high and a low surrogate half make.
pub(crate) fn join_halves(high: u16, low: u16) -> char {
    let mut both = char::decode_utf16([high, low]);
    both.next()
        .and_then(Result::ok)
        .unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// The plain integer of at most fifteen digits that stands at `at`, and its length; `None` for any other number, and for one of
/// several digits in a text of fewer than sixteen bytes. What follows it is the caller's to look at.
#[inline]
pub(crate) fn short_integer(bytes: &[u8], at: usize) -> Option<(i64, usize)> {
    let rest = bytes.get(at..)?;
    if let [digit @ b'0'..=b'9', after, ..] = rest
        && !after.is_ascii_digit()
    {
        return Some((i64::from(digit - b'0'), 1));
    }
    let length = short_digits(bytes, at)?;
    let digits = rest.get(..length)?;
    let padded = length > 1 && digits.first() == Some(&b'0');
    let value = digits
        .iter()
        .fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
    (length > 0 && !padded).then_some((value, length))
}

/// Where the closing quote of a string is whose content begins at `at` and is ASCII without escapes; `None` for any other.
#[inline(always)]
pub(crate) fn ascii_string(bytes: &[u8], at: usize) -> Option<usize> {
    let end = next_not_plain_ascii(bytes, at);
    (bytes.get(end) == Some(&b'"')).then_some(end)
}

/// Appends what the string says whose content begins at `at`; gives where its closing quote is, and how many bytes it says: more
/// may have been appended. `None` where it is cut, holds half of a character or is none at all. UTF-8 is not looked at.
///
/// A whole block is copied before it is known how much of it counts.
#[inline(always)]
pub(crate) fn append_string(bytes: &[u8], at: usize, out: &mut Vec<u8>) -> Option<(usize, usize)> {
    if let Some((block, specials)) = block_of_string(bytes, at)
        && let Some((said, length, end)) = decode_block(block, specials)
    {
        out.extend_from_slice(&said);
        return Some((at + end, length));
    }
    let before = out.len();
    let (end, stop) = decode(bytes, at, out);
    (stop == Stop::Quote).then_some((end, out.len() - before))
}

/// What the string says that begins a block and ends in it, how many bytes that is, and where its closing quote is. `None` where it
/// goes on after the block or holds more than simple escapes.
#[inline(always)]
fn decode_block(block: [u8; 16], mut specials: u32) -> Option<([u8; 16], usize, usize)> {
    let first = specials.trailing_zeros() as usize;
    if block.get(first)? == &b'"' {
        return Some((block, first, first));
    }
    // The runs between the escapes are moved together as parts of one number.
    let bytes = u128::from_le_bytes(block);
    let (mut said, mut from, mut to) = (0, 0, 0);
    loop {
        let at = specials.trailing_zeros() as usize;
        let special = *block.get(at)?;
        let run = at - from;
        let content = (bytes >> (8 * from)) & ((1 << (8 * run)) - 1);
        said |= content << (8 * to);
        to += run;
        match special {
            b'"' => return Some((said.to_le_bytes(), to, at)),
            b'\\' => said |= u128::from(simple_escape(*block.get(at + 1)?)?) << (8 * to),
            _ => return None,
        }
        (from, to) = (at + 2, to + 1);
        specials &= u32::MAX << from;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::json::random;

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
    fn short_strings_are_appended_as_they_are_decoded() {
        let mut next = random(0x9E37_79B9);
        let parts = [
            "\\\\",
            "\\\"",
            "\\n",
            "\\t",
            "x",
            "yz",
            "é",
            "\\u00e9",
            "\"",
            "\\x",
            "\u{1}",
            "plain, and longer",
            "\\ud83d",
        ];
        let rounds = if cfg!(miri) { 200 } else { 50_000 };
        for _ in 0..rounds {
            let mut document: String = (0..next(9)).map(|_| parts[next(parts.len())]).collect();
            document
                .push_str(["", "\"", "\"}]}}\n\n", "\", and more than a block after it"][next(4)]);
            let at = next(3).min(document.len());
            let mut decoded = Vec::new();
            let (end, stop) = decode(document.as_bytes(), at, &mut decoded);
            let mut out = b"before".to_vec();
            match append_string(document.as_bytes(), at, &mut out) {
                Some((to, length)) => {
                    assert_eq!((to, stop), (end, Stop::Quote), "{document}");
                    assert_eq!(out[6..6 + length], decoded, "{document}");
                }
                None => assert_ne!(stop, Stop::Quote, "{document}"),
            }
            assert!(out.starts_with(b"before"));
        }
    }

    #[test]
    fn long_strings_decode_as_serde_json_decodes_them() {
        let mut next = random(0x1234_5678);
        let parts = [
            "\\\\",
            "\\\"",
            "\\n",
            "\\/",
            "\\u00e9",
            "\\ud83d\\ude00",
            "plain and more of it",
            "x",
            "é",
            "\\\\\\\\\\\"",
        ];
        let rounds = if cfg!(miri) { 20 } else { 5_000 };
        for _ in 0..rounds {
            let raw: String = (0..next(60)).map(|_| parts[next(parts.len())]).collect();
            let expected: String = serde_json::from_str(&format!("\"{raw}\"")).unwrap();
            // What follows the string makes room for whole blocks.
            for after in [
                "\"",
                "\", and so on, for as long as the blocks are that are looked at together, and a little more, so that they are full, and full again\"",
            ] {
                let mut out = b"before".to_vec();
                let document = format!("{raw}{after}");
                assert_eq!(
                    decode(document.as_bytes(), 0, &mut out),
                    (raw.len(), Stop::Quote),
                    "{raw}"
                );
                assert_eq!(String::from_utf8(out).unwrap(), format!("before{expected}"));
            }
            for odd in ["\\x", "\u{1}", "\\ud83d", "\\"] {
                let mut out = Vec::new();
                let document = format!("{raw}{odd}{:200}", "");
                let (at, stop) = decode(document.as_bytes(), 0, &mut out);
                assert!(
                    stop != Stop::Quote && stop != Stop::End && at >= raw.len(),
                    "{raw} {odd}"
                );
            }
        }
    }

    #[test]
    fn outer_surrogate_halves_are_handed_out_and_inner_ones_replaced() {
        let mut scratch = Vec::new();
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
