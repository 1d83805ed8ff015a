//! Numbers, literals and words without quotes.

use super::super::block::next_special;
use super::super::object;
use super::{Reach, Refused, RepairKind, Rewriter};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Words that stand for a JSON literal, and at which level.
const WORDS: &[(&str, &str, Option<RepairKind>)] = &[
    ("true", "true", None),
    ("false", "false", None),
    ("null", "null", None),
    ("True", "true", Some(RepairKind::LiteralCase)),
    ("False", "false", Some(RepairKind::LiteralCase)),
    ("None", "null", Some(RepairKind::LiteralCase)),
    ("NaN", "null", Some(RepairKind::NonFinite)),
    ("nan", "null", Some(RepairKind::NonFinite)),
    ("Infinity", "null", Some(RepairKind::NonFinite)),
    ("-Infinity", "null", Some(RepairKind::NonFinite)),
    ("+Infinity", "null", Some(RepairKind::NonFinite)),
    ("inf", "null", Some(RepairKind::NonFinite)),
    ("-inf", "null", Some(RepairKind::NonFinite)),
    ("undefined", "null", Some(RepairKind::Undefined)),
    ("nil", "null", Some(RepairKind::Undefined)),
];

impl<'t> Rewriter<'t> {
    /// Rewrites the number, literal or bare word that begins here.
    pub(super) fn scalar(&mut self) -> Result<Reach, Refused> {
        let at = self.at;
        let token = self.token_at(self.at);
        let at_edge = at + token.len() == self.bytes.len();
        if let Some((json, kind)) = literal(token) {
            self.noted(kind, at)?;
            self.out.push_str(json);
            self.at += token.len();
            return Ok(Reach::Closed);
        }
        if let Some((number, kinds)) = number(token)
            && (!at_edge || !token.ends_with('.'))
        {
            // `1,000`: an element of its own, or the thousands of the number before it.
            if kinds.contains(&Some(RepairKind::LeadingZero)) && self.groups_digits(token) {
                return Err(Refused);
            }
            for kind in kinds.into_iter().flatten() {
                self.noted(Some(kind), at)?;
            }
            self.out.push_str(&number);
            self.at += token.len();
            return Ok(Reach::Closed);
        }
        if at_edge && is_cut_scalar(token) {
            // Nothing is written for it: the reader will say that it is cut.
            self.at += token.len();
            return Ok(Reach::Cut);
        }
        self.bare_word(token)
    }

    /// Whether the digits here and those before a comma may be groups of one number.
    fn groups_digits(&self, token: &str) -> bool {
        let digits = token.bytes().take_while(u8::is_ascii_digit).count();
        let before = self.bytes.get(..self.at).unwrap_or_default();
        digits == 3 && matches!(before, [.., b'0'..=b'9', b','])
    }

    fn noted(&mut self, kind: Option<RepairKind>, at: usize) -> Result<(), Refused> {
        match kind {
            None => Ok(()),
            Some(kind) if kind.level() == super::RepairLevel::Guess => self.guess(kind, at),
            Some(kind) => {
                self.note(kind, at);
                Ok(())
            }
        }
    }

    /// Whether a literal begins here.
    pub(super) fn literal_follows(&self) -> bool {
        literal(self.token_at(self.at)).is_some()
    }

    /// Whether an array's next element follows that is no string, after white space: a comma is missing before it.
    pub(super) fn element_follows(&self, at: usize) -> bool {
        let next = |at| self.next_solid(at).map(|(_, byte)| byte);
        at > self.at + 1
            && match self.bytes.get(at) {
                Some(b'{') => matches!(next(at + 1), Some(b'"' | b'\'' | b'}')),
                Some(b'[') => matches!(next(at + 1), Some(b'"' | b'\'' | b'{' | b'[' | b']')),
                _ => {
                    let token = self.token_at(at);
                    let is_scalar = literal(token).is_some() || number(token).is_some();
                    is_scalar && matches!(next(at + token.len()), Some(b',' | b']'))
                }
            }
    }

    /// The run of characters of which numbers and words are made.
    fn token_at(&self, at: usize) -> &'t str {
        let rest = self.text.get(at..).unwrap_or_default();
        let end = rest
            .char_indices()
            .find(|(_, c)| !is_word(*c))
            .map_or(rest.len(), |(end, _)| end);
        rest.get(..end).unwrap_or_default()
    }

    /// A value without quotes, up to a comma, a closer or the end of the line. A guess, and none where it might be
    /// something else: a fraction, a sign twice, a quote or a colon inside.
    fn bare_word(&mut self, token: &str) -> Result<Reach, Refused> {
        let at = self.at;
        let rest = self.rest();
        let in_tuple = self.body.in_tuple();
        let ends = |c| matches!(c, ',' | '}' | ']' | '\n' | '\r' | ';') || (in_tuple && c == ')');
        let end = rest.find(ends).ok_or(Refused)?;
        let word = rest.get(..end).map(str::trim_end).unwrap_or_default();
        let first = word.chars().next().ok_or(Refused)?;
        let (word, unquoted) = word.strip_suffix('"').map_or((word, 0), |word| (word, 1));
        let digits = first.is_ascii_digit();
        let plain = if digits {
            // A version, a date, an address: one token, and no number that lacks its end.
            let count = |wanted| word.chars().filter(|c| *c == wanted).count();
            word == token && (!is_cut_scalar(word) || count('.') > 1 || count('-') > 1)
        } else {
            (first.is_alphabetic() || matches!(first, '_' | '$'))
                && !word.contains(['"', '\'', '`', '{', '[', '(', '\\', '='])
        };
        let colon = word.contains(':') && !word.contains("://");
        if !plain || colon || word.chars().any(char::is_control) {
            return Err(Refused);
        }
        self.guess(
            if unquoted == 1 {
                RepairKind::MissingQuote
            } else {
                RepairKind::BareWord
            },
            at,
        )?;
        self.out.push('"');
        self.out.push_str(word);
        self.out.push('"');
        self.at += word.len() + unquoted;
        Ok(Reach::Closed)
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '+' | '.' | '$')
}

/// The JSON literal a word stands for.
fn literal(word: &str) -> Option<(&'static str, Option<RepairKind>)> {
    if let Some((_, json, kind)) = WORDS.iter().find(|(spelled, ..)| *spelled == word) {
        return Some((json, *kind));
    }
    // All capitals: TRUE, NULL, NONE.
    let capitals = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_uppercase());
    let known = WORDS
        .iter()
        .take(6)
        .find(|(spelled, ..)| spelled.eq_ignore_ascii_case(word))?;
    let titled = word == "Null";
    (capitals || titled).then_some((known.1, Some(RepairKind::LiteralCase)))
}

/// Whether this word, at the end of the text, may be the start of a literal or of a number.
fn is_cut_scalar(word: &str) -> bool {
    let starts = |(spelled, ..): &(&str, &str, Option<RepairKind>)| {
        spelled
            .get(..word.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(word))
    };
    let number = word.strip_prefix(['-', '+']).unwrap_or(word);
    let digits = number.bytes().all(|byte| {
        byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'-' | b'+' | b'_')
    });
    WORDS.iter().any(starts) || (digits && !number.starts_with(['-', '+']))
}

/// A number as JSON spells it, and what had to be done to it.
fn number(token: &str) -> Option<(Cow<'_, str>, [Option<RepairKind>; 4])> {
    let mut kinds = [None; 4];
    let [plus, zero, separator, leading] = &mut kinds;
    let (sign, unsigned) = match (token.strip_prefix('-'), token.strip_prefix('+')) {
        (Some(rest), _) => ("-", rest),
        (_, Some(rest)) => {
            *plus = Some(RepairKind::PlusSign);
            ("", rest)
        }
        _ => ("", token),
    };
    if let Some(value) = radix(unsigned) {
        *leading = Some(RepairKind::Radix);
        return Some((format!("{sign}{value}").into(), kinds));
    }
    let mut digits = Cow::Borrowed(unsigned);
    if unsigned.contains('_') {
        // Only between digits, as the languages that have them want it.
        let between = unsigned
            .as_bytes()
            .windows(3)
            .filter(|w| matches!(w, [b'0'..=b'9', b'_', b'0'..=b'9']))
            .count();
        if between != unsigned.bytes().filter(|byte| *byte == b'_').count() {
            return None;
        }
        *separator = Some(RepairKind::DigitSeparator);
        digits = unsigned.replace('_', "").into();
    }
    let (mantissa, exponent) = match digits.find(['e', 'E']) {
        Some(at) => digits.split_at_checked(at)?,
        None => (&*digits, ""),
    };
    let power = exponent.get(1..).unwrap_or_default();
    let power = power.strip_prefix(['-', '+']).unwrap_or(power);
    if !exponent.is_empty()
        && (power.is_empty() || !power.bytes().all(|byte| byte.is_ascii_digit()))
    {
        return None;
    }
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(whole)
        || !fraction.is_none_or(all_digits)
        || (whole.is_empty() && fraction.is_none_or(str::is_empty))
    {
        return None;
    }
    if whole.is_empty() || fraction == Some("") {
        *zero = Some(RepairKind::MissingZero);
    }
    let mut stripped = whole.trim_start_matches('0');
    if stripped.is_empty() {
        stripped = "0";
    }
    if whole.len() > 1 && whole.starts_with('0') {
        *leading = Some(RepairKind::LeadingZero);
    }
    if kinds == [None; 4] {
        return Some((token.into(), kinds));
    }
    let fraction = match fraction {
        None => String::new(),
        Some("") => ".0".to_owned(),
        Some(digits) => format!(".{digits}"),
    };
    Some((
        format!("{sign}{stripped}{fraction}{exponent}").into(),
        kinds,
    ))
}

/// `0x1F`, `0o17`, `0b101`.
fn radix(digits: &str) -> Option<u64> {
    let (prefix, digits) = digits.split_at_checked(2)?;
    let radix = match prefix {
        "0x" | "0X" => 16,
        "0o" | "0O" => 8,
        "0b" | "0B" => 2,
        _ => return None,
    };
    let digits = digits.replace('_', "");
    if digits.starts_with(['+', '-']) {
        None
    } else {
        u64::from_str_radix(&digits, radix).ok()
    }
}

/// The object that a JSON text states, each number as it is spelled: two numbers may be one double. Strings are marked too,
/// so that none is taken for a number. O(n).
pub(super) fn spelled(text: &str) -> Option<Map<String, Value>> {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len() + text.len() / 2);
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let from = at;
        match byte {
            b'"' => {
                at = string_end(bytes, at + 1);
                out.push_str("\"s");
                out.push_str(text.get(from + 1..at).unwrap_or_default());
            }
            b'-' | b'0'..=b'9' => {
                let number =
                    |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
                at += bytes
                    .iter()
                    .skip(at)
                    .take_while(|byte| number(byte))
                    .count();
                out.push_str("\"n");
                out.push_str(text.get(from..at).unwrap_or_default());
                out.push('"');
            }
            _ => {
                at += bytes
                    .iter()
                    .skip(at)
                    .take_while(|byte| !matches!(byte, b'"' | b'-' | b'0'..=b'9'))
                    .count();
                out.push_str(text.get(from..at).unwrap_or_default());
            }
        }
    }
    object(&out)
}

/// Just after the quote that closes the string content at `at`.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    loop {
        at = next_special(bytes, at);
        match bytes.get(at) {
            None => return bytes.len(),
            Some(b'"') => return at + 1,
            Some(_) => at += 2,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing
    )]
    use super::*;

    #[test]
    fn numbers_are_respelled_only_where_json_spells_them_otherwise() {
        for (token, want) in [
            ("12", "12"),
            ("-1.5e+3", "-1.5e+3"),
            ("+1", "1"),
            (".5", "0.5"),
            ("-.5", "-0.5"),
            ("5.", "5.0"),
            ("5.e3", "5.0e3"),
            ("007", "7"),
            ("00", "0"),
            ("-01.50", "-1.50"),
            ("1_000", "1000"),
            ("0x1F", "31"),
            ("-0b101", "-5"),
        ] {
            assert_eq!(number(token).unwrap().0, want, "{token}");
        }
        for token in [
            "", "-", ".", "+.", "--1", "1.2.3", "1e", "1_", "_1", "1__0", "0xZZ", "1e5.5", "e5",
            "0x+1",
        ] {
            assert!(number(token).is_none(), "{token}");
        }
    }
}
