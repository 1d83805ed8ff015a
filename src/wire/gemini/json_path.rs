//! The paths of streamed arguments. Hostile until read: depth and indexes are bounded, and nothing is allocated for a number.

use std::borrow::Cow;
use std::fmt::Write;

use smallvec::SmallVec;

use crate::json::cursor::join_halves;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Segment<'a> {
    Key(Cow<'a, str>),
    Index(u32),
}

impl Segment<'_> {
    pub(super) fn to_static(&self) -> Segment<'static> {
        match self {
            Segment::Key(key) => Segment::Key(Cow::Owned(key.clone().into_owned())),
            Segment::Index(index) => Segment::Index(*index),
        }
    }

    /// A member's key and its colon; nothing for an element.
    pub(super) fn write(&self, out: &mut String) {
        let Segment::Key(key) = self else { return };
        out.push('"');
        for c in key.chars() {
            match c {
                '"' | '\\' => out.extend(['\\', c]),
                '\0'..='\x1f' => drop(write!(out, "\\u{:04x}", u32::from(c))),
                _ => out.push(c),
            }
        }
        out.push_str("\":");
    }
}

/// serde_json's own limit on nesting.
const MAX_DEPTH: usize = 127;

/// The steps of a path: `$.a.b[0].c`, `$['x y']`, `$["x y"]` (RFC 9535, singular queries with indexes from 0). `None` for
/// anything else, for the root itself and for a path that is too deep.
pub(super) fn segments(path: &str) -> Option<SmallVec<[Segment<'_>; 8]>> {
    let mut steps = SmallVec::new();
    let mut rest = path.trim().strip_prefix('$')?;
    while !rest.is_empty() {
        if steps.len() == MAX_DEPTH {
            return None;
        }
        let step;
        (step, rest) = if let Some(name) = rest.strip_prefix('.') {
            let end = name.find(['.', '[']).unwrap_or(name.len());
            let (name, rest) = name.split_at_checked(end).filter(|_| end > 0)?;
            (Segment::Key(Cow::Borrowed(name)), rest)
        } else {
            let inside = rest.strip_prefix('[')?;
            let (step, rest) = match inside.chars().next()? {
                quote @ ('\'' | '"') => {
                    let (key, rest) = quoted(inside.get(1..)?, quote)?;
                    (Segment::Key(key), rest)
                }
                _ => {
                    let (digits, rest) = inside.split_at_checked(inside.find(']')?)?;
                    let plain = digits.bytes().all(|b| b.is_ascii_digit());
                    (Segment::Index(digits.parse().ok().filter(|_| plain)?), rest)
                }
            };
            (step, rest.strip_prefix(']')?)
        };
        steps.push(step);
    }
    Some(steps).filter(|steps| !steps.is_empty())
}

/// A quoted name up to its closing quote, and what follows it.
fn quoted(text: &str, quote: char) -> Option<(Cow<'_, str>, &str)> {
    let end = text.find([quote, '\\'])?;
    let (plain, rest) = text.split_at_checked(end)?;
    if let Some(rest) = rest.strip_prefix(quote) {
        return Some((Cow::Borrowed(plain), rest));
    }
    let mut key = plain.to_owned();
    let mut high = None;
    let mut chars = rest.chars();
    loop {
        let mut unit = None;
        let c = match chars.next()? {
            c if c == quote => {
                key.extend(high.map(|_| char::REPLACEMENT_CHARACTER));
                return Some((Cow::Owned(key), chars.as_str()));
            }
            '\\' => match chars.next()? {
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'u' => {
                    let hex = chars.as_str().get(..4)?;
                    unit = Some(u16::from_str_radix(hex, 16).ok()?);
                    chars = chars.as_str().get(4..)?.chars();
                    char::REPLACEMENT_CHARACTER
                }
                c => c,
            },
            c => c,
        };
        match (high.take(), unit) {
            (Some(high), Some(low)) => key.push(join_halves(high, low)),
            (None, Some(unit @ 0xD800..=0xDBFF)) => high = Some(unit),
            (lost, unit) => {
                key.extend(lost.map(|_| char::REPLACEMENT_CHARACTER));
                let unit = unit.and_then(|unit| char::from_u32(u32::from(unit)));
                key.push(unit.unwrap_or(c));
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn paths_read_in_both_notations() {
        let key = |key: &'static str| Segment::Key(Cow::Borrowed(key));
        let read = |path: &'static str| segments(path).map(|path| path.to_vec());
        assert_eq!(
            read("$.a.b[0].c").unwrap(),
            [key("a"), key("b"), Segment::Index(0), key("c")]
        );
        assert_eq!(read("$['x y'][\"z\"]").unwrap(), [key("x y"), key("z")]);
        assert_eq!(read(r"$['it\'s'].a").unwrap(), [key("it's"), key("a")]);
        assert_eq!(
            read(r"$['\u263a\ud83d\ude00\n\\']").unwrap(),
            [key("☺😀\n\\")]
        );
        assert_eq!(read(r"$['\ud83dx']").unwrap(), [key("\u{fffd}x")]);
        assert_eq!(read(r"$['']").unwrap(), [key("")]);
        assert_eq!(read("$.a-b é").unwrap(), [key("a-b é")]);
        for path in [
            "",
            "$",
            "$.",
            "$.a.",
            "$..a",
            "$[",
            "$[]",
            "$[+1]",
            "$[1",
            "$['a'",
            "$['\\u12']",
            "$a",
            "$[0]a",
        ] {
            assert_eq!(read(path), None, "{path}");
        }
    }
}
