//! A strict pull reader over one whole JSON document: the provider events are read with it.
//!
//! Letter to the next reader. The grammar is checked to the last byte (RFC 8259, nesting at most 127 as serde_json has it),
//! but the *shape* is never demanded: [`members`](Cursor::members) of something that is no object visits nothing,
//! [`text`](Cursor::text) of a number is `None`. Providers send numbers for ids, objects for texts and null for anything; a
//! wrong shape must cost one field, not the event. Two liberties against serde_json, both needed on the wire: a lone
//! surrogate half in an escape is legal here (gateways cut texts by UTF-16 units; see [`Fragment`]), and the cursor never
//! copies: a string is a [`Text`], decoded only when somebody wants it.
//!
//! A visitor must consume exactly one value each time it is called.
//!
//! A cursor can keep a [`Log`] of what it was asked to [`skip`](Cursor::skip): such a value has no part in what the reader
//! says, whatever it is, as long as it is of the same kind. The memory of the last event rests on that (`wire/echo.rs`), so
//! `skip` hands nothing out; [`raw`](Cursor::raw) does.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;

use crate::delta::Fragment;

/// Where the document stops being JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Byte offset in the document.
    pub(crate) at: usize,
    /// The document ended too early; nothing in it was wrong.
    pub(crate) eof: bool,
}

/// The kind of the next value, told by its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    Array,
    String,
    Number,
    True,
    False,
    Null,
}

#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
    log: Option<&'a RefCell<Log>>,
}

/// The strings and numbers of a document that were skipped, and the integers that were read.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// Where each skipped string stands, without its quotes, and each skipped number.
    pub(crate) skipped: Vec<Range<usize>>,
    /// Where each integer that was read stands, without quotes, and its value.
    pub(crate) integers: Vec<(Range<usize>, i64)>,
}

/// serde_json's own limit on nesting.
const MAX_DEPTH: u32 = 127;

type Step<T> = Result<T, Fault>;

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Cursor {
            text,
            at: 0,
            depth: 0,
            log: None,
        }
    }

    /// A cursor that notes in `log` what it skips.
    pub(crate) fn logged(text: &'a str, log: &'a RefCell<Log>) -> Self {
        Cursor {
            log: Some(log),
            ..Cursor::new(text)
        }
    }

    /// The kind of the next value. Consumes white space only.
    #[inline]
    pub(crate) fn kind(&mut self) -> Step<Kind> {
        Ok(match self.peek_token()? {
            b'{' => Kind::Object,
            b'[' => Kind::Array,
            b'"' => Kind::String,
            b'-' | b'0'..=b'9' => Kind::Number,
            b't' => Kind::True,
            b'f' => Kind::False,
            b'n' => Kind::Null,
            _ => return Err(self.fault()),
        })
    }

    /// Visits each member of an object; any other value is skipped. Tells whether it was an object.
    #[inline]
    pub(crate) fn members(
        &mut self,
        mut visit: impl FnMut(&mut Self, &str) -> Step<()>,
    ) -> Step<bool> {
        if self.peek_token()? != b'{' {
            self.skip()?;
            return Ok(false);
        }
        self.open()?;
        if self.peek_token()? == b'}' {
            self.close();
            return Ok(true);
        }
        loop {
            let key = self.key()?;
            match key.plain() {
                Some(key) => visit(self, key)?,
                None => visit(self, &key.to_cow())?,
            }
            match self.peek_token()? {
                b',' => self.at += 1,
                b'}' => {
                    self.close();
                    return Ok(true);
                }
                _ => return Err(self.fault()),
            }
        }
    }

    /// Visits each element of an array. A lone object counts as an array of one (WIRE_FORMATS Q40); any other value is skipped.
    #[inline]
    pub(crate) fn elements(&mut self, mut visit: impl FnMut(&mut Self) -> Step<()>) -> Step<()> {
        match self.peek_token()? {
            b'[' => {}
            b'{' => return visit(self),
            _ => return self.skip(),
        }
        self.open()?;
        if self.peek_token()? == b']' {
            self.close();
            return Ok(());
        }
        loop {
            visit(self)?;
            match self.peek_token()? {
                b',' => self.at += 1,
                b']' => {
                    self.close();
                    return Ok(());
                }
                _ => return Err(self.fault()),
            }
        }
    }

    /// A string; `None` for any other value, which is skipped.
    #[inline]
    pub(crate) fn text(&mut self) -> Step<Option<Text<'a>>> {
        if self.peek_token()? == b'"' {
            return self.string().map(Some);
        }
        self.skip()?;
        Ok(None)
    }

    /// A string or the text of a number; `None` for anything else and for an absent value: `""`, `null`, `"null"`
    /// (WIRE_FORMATS 11.2.3).
    #[inline]
    pub(crate) fn label(&mut self) -> Step<Option<Text<'a>>> {
        let label = match self.kind()? {
            Kind::String => self.string()?,
            Kind::Number => Text {
                raw: self.number()?,
                escaped: false,
            },
            _ => {
                self.skip()?;
                return Ok(None);
            }
        };
        Ok(Some(label).filter(|label| !matches!(label.raw, "" | "null")))
    }

    /// An integer, also in a string (WIRE_FORMATS Q7); `None` for anything else.
    #[inline]
    pub(crate) fn integer(&mut self) -> Step<Option<i64>> {
        Ok(match self.kind()? {
            Kind::Number => {
                let from = self.at;
                let number = self.number()?.parse().ok();
                if let (Some(log), Some(number)) = (self.log, number) {
                    log.borrow_mut().integers.push((from..self.at, number));
                }
                number
            }
            Kind::String => self
                .string()?
                .plain()
                .and_then(|text| text.trim().parse().ok()),
            _ => {
                self.skip()?;
                None
            }
        })
    }

    /// True for `true`, false for anything else.
    pub(crate) fn boolean(&mut self) -> Step<bool> {
        Ok(self.raw()? == "true")
    }

    /// Passes over any value, checked.
    #[inline]
    pub(crate) fn skip(&mut self) -> Step<()> {
        let from = self.at;
        self.pass()?;
        if self.log.is_some() {
            self.note_skipped(from);
        }
        Ok(())
    }

    /// Passes over any value, to be read later or not at all.
    #[inline]
    pub(crate) fn defer(&mut self) -> Step<Deferred<'a>> {
        self.peek_token()?;
        let deferred = Deferred(self.clone());
        self.skip()?;
        Ok(deferred)
    }

    /// The text of any value, checked.
    #[inline]
    pub(crate) fn raw(&mut self) -> Step<&'a str> {
        self.peek_token()?;
        let from = self.at;
        self.pass()?;
        Ok(self.text.get(from..self.at).unwrap_or_default())
    }

    #[inline]
    fn pass(&mut self) -> Step<()> {
        match self.peek_token()? {
            b'"' => self.string().map(drop),
            b'n' => self.literal(b"null"),
            _ => self.pass_value(),
        }
    }

    /// Notes the strings and numbers of the value that begins at `from` and was passed over.
    #[cold]
    fn note_skipped(&self, from: usize) {
        let Some(log) = self.log else { return };
        let mut log = log.borrow_mut();
        let value = self.text.get(..self.at).unwrap_or_default();
        let mut cursor = Cursor {
            text: value,
            at: from,
            depth: 0,
            log: None,
        };
        // The value was checked: punctuation and literals can be stepped over one by one.
        while let Ok(token) = cursor.peek_token() {
            let before = cursor.at;
            let noted = match token {
                b'"' => cursor.string().is_ok().then(|| before + 1..cursor.at - 1),
                b'-' | b'0'..=b'9' => {
                    let number = cursor.number().is_ok();
                    number.then_some(before..cursor.at)
                }
                _ => None,
            };
            match noted {
                Some(place) => log.skipped.push(place),
                None => cursor.at = before + 1,
            }
        }
    }

    /// Nothing but white space may be left.
    #[inline]
    pub(crate) fn end(&mut self) -> Step<()> {
        self.white_space();
        if self.at == self.text.len() {
            Ok(())
        } else {
            Err(self.fault())
        }
    }

    /// The document.
    pub(crate) fn document(&self) -> &'a str {
        self.text
    }

    #[inline]
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn fault(&self) -> Fault {
        Fault {
            at: self.at,
            eof: self.at >= self.text.len(),
        }
    }

    #[inline]
    fn white_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.byte() {
            self.at += 1;
        }
    }

    #[inline]
    fn peek_token(&mut self) -> Step<u8> {
        self.white_space();
        self.byte().ok_or_else(|| self.fault())
    }

    fn open(&mut self) -> Step<()> {
        if self.depth == MAX_DEPTH {
            return Err(self.fault());
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.at += 1;
    }

    /// A member's key and its colon.
    #[inline]
    fn key(&mut self) -> Step<Text<'a>> {
        if self.peek_token()? != b'"' {
            return Err(self.fault());
        }
        let key = self.string()?;
        if self.peek_token()? != b':' {
            return Err(self.fault());
        }
        self.at += 1;
        Ok(key)
    }

    /// The cursor is on the opening quote.
    #[inline]
    fn string(&mut self) -> Step<Text<'a>> {
        let from = self.at + 1;
        let bytes = self.text.as_bytes();
        self.at = next_special(bytes, from);
        if self.byte() == Some(b'"') {
            let raw = self.text.get(from..self.at).unwrap_or_default();
            self.at += 1;
            return Ok(Text {
                raw,
                escaped: false,
            });
        }
        self.escaped_string(from)
    }

    /// The cursor is inside a string that began at `from`, on its first byte that is not plain.
    fn escaped_string(&mut self, from: usize) -> Step<Text<'a>> {
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        loop {
            match bytes.get(at) {
                Some(b'"') => break,
                Some(b'\\') => match bytes.get(at + 1).and_then(|&byte| escaped(byte)) {
                    Some(_) => at += 2,
                    None => {
                        self.at = at;
                        self.escape()?;
                        at = self.at;
                    }
                },
                // A raw control character, or the end.
                _ => {
                    self.at = at;
                    return Err(self.fault());
                }
            }
            at = next_special(bytes, at);
        }
        self.at = at + 1;
        Ok(Text {
            raw: self.text.get(from..at).unwrap_or_default(),
            escaped: true,
        })
    }

    /// The cursor is on the backslash.
    fn escape(&mut self) -> Step<()> {
        self.at += 1;
        match self.byte() {
            Some(byte) if escaped(byte).is_some() => {
                self.at += 1;
                Ok(())
            }
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.byte().is_some_and(|b| b.is_ascii_hexdigit()) {
                        return Err(self.fault());
                    }
                    self.at += 1;
                }
                Ok(())
            }
            _ => Err(self.fault()),
        }
    }

    fn digits(&mut self) -> Step<()> {
        let from = self.at;
        while let Some(b'0'..=b'9') = self.byte() {
            self.at += 1;
        }
        if self.at == from {
            Err(self.fault())
        } else {
            Ok(())
        }
    }

    #[inline]
    fn number(&mut self) -> Step<&'a str> {
        let from = self.at;
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        match self.byte() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.byte() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.byte() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(self.text.get(from..self.at).unwrap_or_default())
    }

    #[inline]
    fn literal(&mut self, word: &[u8]) -> Step<()> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if rest.starts_with(word) {
            self.at += word.len();
            return Ok(());
        }
        self.at += rest
            .iter()
            .zip(word)
            .take_while(|(seen, due)| seen == due)
            .count();
        Err(self.fault())
    }

    /// Passes over one value without recursion: `objects` holds one bit an open container, set for an object.
    fn pass_value(&mut self) -> Step<()> {
        let base = self.depth;
        let mut objects: u128 = 0;
        loop {
            // A value is due.
            match self.peek_token()? {
                b'"' => self.string().map(drop)?,
                opening @ (b'{' | b'[') => {
                    self.open()?;
                    objects = objects << 1 | u128::from(opening == b'{');
                    let closing = if opening == b'{' { b'}' } else { b']' };
                    if self.peek_token()? == closing {
                        self.close();
                        objects >>= 1;
                    } else {
                        if opening == b'{' {
                            self.key()?;
                        }
                        continue;
                    }
                }
                b'-' | b'0'..=b'9' => self.number().map(drop)?,
                b't' => self.literal(b"true")?,
                b'f' => self.literal(b"false")?,
                b'n' => self.literal(b"null")?,
                _ => return Err(self.fault()),
            }
            // A value is done: close what ends here, or go on to the next member or element.
            loop {
                if self.depth == base {
                    return Ok(());
                }
                let in_object = objects & 1 == 1;
                match self.peek_token()? {
                    b',' => {
                        self.at += 1;
                        if in_object {
                            self.key()?;
                        }
                        break;
                    }
                    b'}' if in_object => {}
                    b']' if !in_object => {}
                    _ => return Err(self.fault()),
                }
                self.close();
                objects >>= 1;
            }
        }
    }
}

/// Where the first quote, backslash or control character from `at` on is, or the end. Eight bytes at a time.
#[inline]
fn next_special(bytes: &[u8], mut at: usize) -> usize {
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

/// A value that was passed over and can still be read.
#[derive(Debug, Clone)]
pub(crate) struct Deferred<'a>(Cursor<'a>);

impl<'a> Deferred<'a> {
    /// As [`Cursor::label`]. The log then says no longer that the value was skipped.
    pub(crate) fn label(&self) -> Option<Text<'a>> {
        let mut cursor = self.0.clone();
        let from = cursor.at;
        let label = cursor.label().ok()?;
        if let Some(log) = cursor.log {
            let read = from..cursor.at;
            log.borrow_mut()
                .skipped
                .retain(|place| !read.contains(&place.start));
        }
        label
    }
}

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

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn check(text: &str) -> Step<()> {
        let mut cursor = Cursor::new(text);
        cursor.skip()?;
        cursor.end()
    }

    #[test]
    fn it_accepts_what_serde_json_accepts() {
        let texts = [
            "{}",
            "[]",
            " { \"a\" : [ 1 , -0.5e+3 , true , false , null ] } ",
            "\"\\u00e9\\n\"",
            "1",
            "[[[]],{}]",
            "{\"a\":{\"b\":[{}]},\"c\":\"\"}",
            "",
            "{",
            "[1,]",
            "{\"a\":1,}",
            "{\"a\"}",
            "{a:1}",
            "[1 2]",
            "01",
            "1.",
            "-",
            "tru",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"\t\"",
            "{\"a\":1}}",
            "[}",
            "{]",
            "nul",
            "[1,,2]",
            "\"",
            "1e",
            "{\"a\":}",
            "+1",
        ];
        for text in texts {
            let serde = serde_json::from_str::<serde_json::Value>(text);
            assert_eq!(check(text).is_ok(), serde.is_ok(), "{text}");
            if let (Err(ours), Err(theirs)) = (check(text), serde) {
                assert_eq!(ours.eof, theirs.is_eof(), "{text}");
            }
        }
    }

    #[test]
    fn nesting_is_capped_as_in_serde_json() {
        for depth in [126, 127, 128, 100_000] {
            let text = "[".repeat(depth) + &"]".repeat(depth);
            assert_eq!(
                check(&text).is_ok(),
                serde_json::from_str::<serde_json::Value>(&text).is_ok(),
                "{depth}"
            );
        }
    }

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
