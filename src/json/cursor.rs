//! A strict pull reader over one whole JSON document: the provider events are read with it.
//!
//! Letter to the next reader. The grammar is checked to the last byte (RFC 8259, nesting at most 127 as serde_json has it),
//! but the *shape* is never demanded: [`members`](Cursor::members) of something that is no object visits nothing,
//! [`text`](Cursor::text) of a number is `None`. Providers send numbers for ids, objects for texts and null for anything; a
//! wrong shape must cost one field, not the event. Two liberties against serde_json, both needed on the wire: a lone
//! surrogate half in an escape is legal here (gateways cut texts by UTF-16 units; see [`Text::fragment`]), and the cursor never
//! copies: a string is a [`Text`], decoded only when somebody wants it.
//!
//! A visitor must consume exactly one value each time it is called.
//!
//! A cursor can keep a [`Log`] of what it was asked to [`skip`](Cursor::skip): such a value has no part in what the reader
//! says, whatever it is, as long as it is of the same kind. The memory of the last event rests on that (`wire/echo.rs`), so
//! `skip` hands nothing out; [`raw`](Cursor::raw) does.

mod grammar;
mod string;

use std::cell::RefCell;
use std::ops::Range;

pub(crate) use super::block::spaces;
use super::block::{next_special, short_plain};
use super::text::{hex2, simple_escape};
pub(crate) use string::{
    Stop, Text, append_string, ascii_string, decode, join_halves, short_integer,
};

/// The document is not JSON where its cursor stands ([`Cursor::place`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fault;

/// Where a document stops being JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
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
    /// It passed over what serde_json looks at more closely: a `\u` escape, a number that may be out of range.
    doubtful: bool,
    log: Option<&'a RefCell<Log>>,
    /// A stretch inside a string that was checked before ([`Scan::sound`](super::Scan::sound)).
    sound: Range<usize>,
}

/// The strings and numbers of a document that were skipped, and the texts and integers that were read.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// Where each skipped string stands, without its quotes, and each skipped number.
    pub(crate) skipped: Vec<Range<usize>>,
    /// Where each text that was read and holds an escape stands, without its quotes.
    pub(crate) escaped: Vec<Range<usize>>,
    /// Where each integer that was read stands, without quotes.
    pub(crate) integers: Vec<Range<usize>>,
}

/// No name that a decoder knows is longer.
const NAME: usize = 32;

/// serde_json's own limit on nesting.
const MAX_DEPTH: u32 = 127;

type Step<T> = Result<T, Fault>;

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Cursor {
            text,
            at: 0,
            depth: 0,
            doubtful: false,
            log: None,
            sound: 0..0,
        }
    }

    /// Whether a text is an object's for certain, as serde_json has it; `false` says nothing. Strings are passed over in blocks,
    /// and not at all where they are known to be [`sound`](super::Scan::sound).
    pub(crate) fn is_surely_object(text: &str, sound: Range<usize>) -> bool {
        let mut cursor = Cursor {
            sound,
            ..Cursor::new(text)
        };
        matches!(cursor.raw_object(), Ok((_, true))) && cursor.end().is_ok()
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
            _ => return Err(Fault),
        })
    }

    /// Visits each member of an object; any other value is skipped. Tells whether it was an object.
    #[inline]
    pub(crate) fn members(
        &mut self,
        mut visit: impl FnMut(&mut Self, &[u8]) -> Step<()>,
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
            match self.plain_key() {
                Some(key) => visit(self, key)?,
                None => {
                    let mut room = [0; NAME];
                    match self.short_key(&mut room) {
                        Some(key) => visit(self, key)?,
                        None => {
                            let key = self.key()?.to_cow();
                            visit(self, key.as_bytes())?;
                        }
                    }
                }
            }
            match self.peek_token()? {
                b',' => self.at += 1,
                b'}' => {
                    self.close();
                    return Ok(true);
                }
                _ => return Err(Fault),
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
                _ => return Err(Fault),
            }
        }
    }

    /// A string; `None` for any other value, which is skipped.
    #[inline]
    pub(crate) fn text(&mut self) -> Step<Option<Text<'a>>> {
        if self.peek_token()? != b'"' {
            self.skip()?;
            return Ok(None);
        }
        let from = self.at + 1;
        let text = self.string()?;
        if let (true, Some(log)) = (text.escaped, self.log) {
            log.borrow_mut().escaped.push(from..self.at - 1);
        }
        Ok(Some(text))
    }

    /// A string or the text of a number; `None` for anything else and for an absent value: `""`, `null`, `"null"`
    /// (WIRE_FORMATS 11.2.3).
    #[inline]
    pub(crate) fn label(&mut self) -> Step<Option<Text<'a>>> {
        let label = match self.kind()? {
            Kind::String => self.string()?,
            Kind::Number => {
                let from = self.at;
                self.number()?;
                Text {
                    raw: self.since(from),
                    escaped: false,
                }
            }
            _ => {
                self.skip()?;
                return Ok(None);
            }
        };
        Ok(Some(label).filter(|label| !matches!(label.raw, "" | "null")))
    }

    /// An integer, also in a string (WIRE_FORMATS Q7) or spelled `1.0`; `None` for anything else.
    #[inline]
    pub(crate) fn integer(&mut self) -> Step<Option<i64>> {
        Ok(match self.kind()? {
            Kind::Number => {
                let from = self.at;
                let number = match self.short_integer() {
                    Some(number) => Some(number),
                    None => {
                        self.number()?;
                        whole(self.since(from))
                    }
                };
                if let (Some(log), Some(_)) = (self.log, number) {
                    log.borrow_mut().integers.push(from..self.at);
                }
                number
            }
            Kind::String => self.string()?.plain().and_then(|text| whole(text.trim())),
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
        Ok(self.since(from))
    }

    /// The raw text of the next value, and whether it is an object's for certain, as serde_json has it; `false` says nothing.
    pub(crate) fn raw_object(&mut self) -> Step<(&'a str, bool)> {
        let is_object = self.kind()? == Kind::Object;
        let before = std::mem::take(&mut self.doubtful);
        let raw = self.raw()?;
        let sound = is_object && !self.doubtful;
        self.doubtful |= before;
        Ok((raw, sound))
    }

    #[inline]
    fn since(&self, from: usize) -> &'a str {
        self.text.get(from..self.at).unwrap_or_default()
    }

    /// Notes the strings and numbers of the value that begins at `from` and was passed over.
    #[cold]
    fn note_skipped(&self, from: usize) {
        let Some(log) = self.log else { return };
        let mut log = log.borrow_mut();
        let value = self.text.get(..self.at).unwrap_or_default();
        let mut cursor = Cursor {
            at: from,
            ..Cursor::new(value)
        };
        // The value was checked: punctuation and literals can be stepped over one by one.
        while let Ok(token) = cursor.peek_token() {
            let before = cursor.at;
            let noted = match token {
                b'"' => cursor
                    .pass_string()
                    .is_ok()
                    .then(|| before + 1..cursor.at - 1),
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
            Err(Fault)
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

    /// Where the cursor stands: after a [`Fault`], where the document stops being JSON.
    pub(crate) fn place(&self) -> Place {
        Place {
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

    /// The first byte of the next token, on which the cursor is then.
    #[inline(always)]
    fn peek_token(&mut self) -> Step<u8> {
        loop {
            match self.byte().ok_or(Fault)? {
                b' ' | b'\n' | b'\r' | b'\t' => self.at += 1,
                byte => return Ok(byte),
            }
        }
    }

    fn open(&mut self) -> Step<()> {
        if self.depth == MAX_DEPTH {
            return Err(Fault);
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.at += 1;
    }

    /// A member's key and its colon, where the key is short, plain and not followed by white space, as nearly every one is.
    #[inline(always)]
    fn plain_key(&mut self) -> Option<&'a [u8]> {
        if self.peek_token() != Ok(b'"') {
            return None;
        }
        let rest = self.text.as_bytes().get(self.at + 1..)?;
        let next = || Some(16 + short_plain(rest.get(16..)?)?);
        let length = short_plain(rest).or_else(next)?;
        let (key, after) = rest.split_at_checked(length)?;
        if !after.starts_with(b"\":") {
            return None;
        }
        self.at += length + 3;
        Some(key)
    }

    /// As [`plain_key`](Cursor::plain_key), with escapes that stand for ASCII, and decoded into `room`, if that is enough.
    #[inline(never)]
    fn short_key<'r>(&mut self, room: &'r mut [u8; NAME]) -> Option<&'r [u8]> {
        let mut rest = self.text.as_bytes().get(self.at..)?.strip_prefix(b"\"")?;
        let mut length = 0;
        loop {
            let (plain, special) = rest.split_at_checked(next_special(rest, 0))?;
            let end = length + plain.len();
            room.get_mut(length..end)?.copy_from_slice(plain);
            let (said, after) = match special {
                [b'"', b':', after @ ..] => {
                    self.at = self.text.len() - after.len();
                    return room.get(..end);
                }
                [b'\\', b'u', b'0', b'0', after @ ..] => {
                    let byte = hex2(after).filter(u8::is_ascii)?;
                    (byte, after.get(2..)?)
                }
                [b'\\', letter, after @ ..] => (simple_escape(*letter)?, after),
                _ => return None,
            };
            *room.get_mut(end)? = said;
            (length, rest) = (end + 1, after);
        }
    }

    /// A member's key and its colon.
    #[inline(never)]
    fn key(&mut self) -> Step<Text<'a>> {
        if self.peek_token()? != b'"' {
            return Err(Fault);
        }
        let key = self.string()?;
        if self.peek_token()? != b':' {
            return Err(Fault);
        }
        self.at += 1;
        Ok(key)
    }

    /// The cursor is on the opening quote.
    #[inline]
    fn string(&mut self) -> Step<Text<'a>> {
        let from = self.at + 1;
        let escaped = self.pass_string()?;
        let raw = self.text.get(from..self.at - 1).unwrap_or_default();
        Ok(Text { raw, escaped })
    }
}

/// The integer that a text spells, perhaps as a fraction of nothing: some languages have no other numbers.
fn whole(text: &str) -> Option<i64> {
    let (integer, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_whole = !fraction.is_empty() && fraction.bytes().all(|digit| digit == b'0');
    integer.parse().ok().filter(|_| is_whole)
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

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::json::random;

    fn check(text: &str) -> Result<(), Place> {
        let mut cursor = Cursor::new(text);
        let checked = cursor.skip().and_then(|()| cursor.end());
        checked.map_err(|Fault| cursor.place())
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
    fn keys_are_read_as_serde_json_reads_them_however_they_are_spelled() {
        let mut next = random(0x9E37_79B9);
        let parts = [
            "a",
            "index",
            "é",
            " ",
            "\\n",
            "\\/",
            "\\\"",
            "\\u0061",
            "\\u005C",
            "\\u00e9",
            "\\u0100",
            "\\ud83d\\ude00",
            "a_name_of_many_letters",
            "\\x",
            "\\u006",
            "\u{1}",
        ];
        let rounds = if cfg!(miri) { 100 } else { 50_000 };
        for _ in 0..rounds {
            let key: String = (0..next(6)).map(|_| parts[next(parts.len())]).collect();
            let colon = [":", " :", "\n: "][next(3)];
            let document = format!("{{ \"{key}\"{colon}1}}{}", " ".repeat(next(20)));
            let theirs = serde_json::from_str::<std::collections::BTreeMap<String, u8>>(&document);
            let mut ours = Vec::new();
            let mut cursor = Cursor::new(&document);
            let read = cursor.members(|cursor, key| {
                ours.push(key.to_owned());
                cursor.skip()
            });
            assert_eq!(read.is_ok(), theirs.is_ok(), "{document}");
            if let Ok(theirs) = theirs {
                assert!(
                    ours.iter().eq(theirs.keys().map(String::as_bytes)),
                    "{document}"
                );
                assert_eq!(cursor.end(), Ok(()), "{document}");
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
}
