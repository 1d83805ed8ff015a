//! Is this text whole? Strings, escapes and brackets only, as the text grows, no allocation.
//!
//! This reads all the text of every call, so it knows no grammar beyond what tells a bracket from a brace inside a
//! string. Whether a whole text is also valid is asked once, at the close.

use super::block::{next_special, string_end};
use super::is_space;
use super::text::simple_escape;
use std::ops::Range;

/// Structure of one text so far.
///
/// ```text
///          { [            "            \
/// Blank ────────▶ Open ◀─────▶ String ◀────▶ Escape
///   │              │ last closer
///   │ other        ▼           not white space
///   └─────────▶ Broken ◀──────────── Whole
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Scan {
    /// Bytes of the text that were read.
    read: usize,
    /// One bit for each open container, innermost lowest: 1 is an array.
    kinds: u128,
    depth: u32,
    state: State,
    /// Something other than one pair of braces and white space was seen.
    filled: bool,
    /// More levels than `kinds` has bits: only counted from there on. Text that deep is refused for its depth.
    deep: bool,
    sound: Sound,
}

/// Where string content was passed over in blocks, which checks it as a reader of the grammar would: the longest such stretch of
/// the text, and the latest, which may still grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Sound {
    longest: Stretch,
    latest: Stretch,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Stretch {
    from: usize,
    to: usize,
}

impl Stretch {
    fn len(self) -> usize {
        self.to - self.from
    }
}

impl Sound {
    fn note(&mut self, from: usize, length: usize) {
        if self.latest.to != from {
            self.longest = self.most();
            self.latest.from = from;
        }
        self.latest.to = from + length;
    }

    /// The second byte of a simple escape, behind a backslash that a stretch may have ended at.
    fn note_escape(&mut self, at: usize) {
        if self.latest.to + 1 == at {
            self.latest.to += 2;
        }
    }

    fn most(&self) -> Stretch {
        if self.latest.len() > self.longest.len() {
            self.latest
        } else {
            self.longest
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Blank,
    Open,
    String,
    Escape,
    Whole,
    Broken,
}

impl Scan {
    /// Reads a text to its end that was read to somewhere, once there is enough of it that is new: small pieces read one by one
    /// cost several times as much, most of it for branches that are foreseen wrongly.
    #[inline(always)]
    pub(crate) fn follow(&mut self, text: &str) {
        if text.len() - self.read >= LAG {
            self.read_on(text);
        }
    }

    /// Reads a text to its end that was read to somewhere. Never errors; O(1) a byte that is new.
    pub(crate) fn read_on(&mut self, text: &str) {
        let mut bytes = text.as_bytes().get(self.read..).unwrap_or_default();
        let end = text.len();
        self.read = end;
        loop {
            if self.state == State::String {
                if bytes.len() >= LONG {
                    let passed = sound_content(bytes);
                    self.sound.note(end - bytes.len(), passed);
                    bytes = bytes.get(passed..).unwrap_or_default();
                }
                let Some((&stop, rest)) = after_string_run(bytes) else {
                    return;
                };
                bytes = rest;
                self.state = if stop == b'"' {
                    State::Open
                } else {
                    State::Escape
                };
                continue;
            }
            let Some((&byte, rest)) = bytes.split_first() else {
                return;
            };
            if self.state == State::Escape && simple_escape(byte).is_some() {
                self.sound.note_escape(end - bytes.len());
            }
            bytes = rest;
            self.step(byte);
        }
    }

    /// The structure of a text that is an object's, as reading it piece by piece gives it.
    pub(crate) fn of_object(text: &str) -> Self {
        let inner = text.trim_matches(|c: char| c.is_ascii_whitespace() || matches!(c, '{' | '}'));
        Scan {
            read: text.len(),
            state: State::Whole,
            filled: !inner.is_empty(),
            ..Scan::default()
        }
    }

    #[inline]
    fn step(&mut self, byte: u8) {
        match self.state {
            State::Open => match byte {
                b'"' => {
                    self.filled = true;
                    self.state = State::String;
                }
                b'{' | b'[' => {
                    self.filled = true;
                    self.open(byte);
                }
                b'}' | b']' => self.close(byte),
                _ => self.filled |= !is_space(byte),
            },
            State::Escape => self.state = State::String,
            State::Blank if is_space(byte) => {}
            State::Blank if byte == b'{' || byte == b'[' => {
                self.filled = byte == b'[';
                self.state = State::Open;
                self.open(byte);
            }
            State::Whole if is_space(byte) => {}
            State::Blank | State::Whole => self.state = State::Broken,
            State::String | State::Broken => {}
        }
    }

    fn open(&mut self, byte: u8) {
        self.deep |= self.depth >= u128::BITS;
        self.kinds = (self.kinds << 1) | u128::from(byte == b'[');
        self.depth = self.depth.saturating_add(1);
    }

    fn close(&mut self, byte: u8) {
        if !self.deep && (self.kinds & 1 == 1) != (byte == b']') {
            self.state = State::Broken;
            return;
        }
        self.kinds >>= 1;
        self.depth = self.depth.saturating_sub(1);
        if self.depth == 0 {
            self.state = State::Whole;
        }
    }

    /// Only JSON white space so far, or nothing.
    pub(crate) fn is_blank(&self) -> bool {
        self.state == State::Blank
    }

    /// A stretch of the text, the longest known, that stands inside a string and is sound there: no control character, and of
    /// escapes only whole ones that are two bytes long.
    pub(crate) fn sound(&self) -> Range<usize> {
        let most = self.sound.most();
        most.from..most.to
    }

    /// Exactly one object or array with its brackets balanced, and only white space after it.
    pub(crate) fn is_whole(&self) -> bool {
        self.state == State::Whole
    }

    /// A container was opened and is not closed yet.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, State::Open | State::String | State::Escape)
    }

    /// Exactly `{}`, with white space anywhere.
    pub(crate) fn is_empty_object(&self) -> bool {
        self.is_whole() && !self.filled
    }

    /// Whether a fragment looks like the first of a text: it opens an object, or is one whole JSON value by itself.
    pub(crate) fn opens(fragment: &str) -> bool {
        match fragment.bytes().find(|byte| !is_space(*byte)) {
            Some(b'{') => true,
            Some(_) => serde_json::from_str::<serde::de::IgnoredAny>(fragment).is_ok(),
            None => false,
        }
    }
}

/// So many bytes may be unread.
const LAG: usize = 128;

/// From so many bytes on, a string is passed over in blocks.
const LONG: usize = 32;

/// How many bytes of string content can be passed over that need no closer look: up to the quote, a control character, an escape
/// that is not simple or is cut, or the end.
fn sound_content(bytes: &[u8]) -> usize {
    let (Ok(mut at) | Err(mut at)) = string_end(bytes, 0);
    loop {
        at = next_special(bytes, at);
        match bytes.get(at..) {
            Some([b'\\', letter, ..]) if simple_escape(*letter).is_some() => at += 2,
            _ => return at,
        }
    }
}

/// Splits string content at its first quote or backslash: that byte and what follows it.
#[inline]
fn after_string_run(bytes: &[u8]) -> Option<(&u8, &[u8])> {
    /// Below this a plain loop beats the call.
    const SHORT: usize = 16;
    let stop = if bytes.len() < SHORT {
        bytes.iter().position(|byte| matches!(byte, b'"' | b'\\'))
    } else {
        memchr::memchr2(b'"', b'\\', bytes)
    };
    bytes.get(stop?..)?.split_first()
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
    use crate::json::{is_object, is_object_beside, random};

    fn scan(text: &str) -> Scan {
        let mut whole = Scan::default();
        whole.read_on(text);
        whole.sound = Sound::default();
        let mut pieces = Scan::default();
        for (at, c) in text.char_indices() {
            pieces.read_on(&text[..at + c.len_utf8()]);
        }
        assert_eq!(whole, pieces, "chunking changed {text:?}");
        whole
    }

    #[test]
    fn a_text_is_an_object_with_or_without_what_is_known_to_be_sound() {
        let mut next = random(0xC0FF_EE11);
        let parts = [
            "plain content that is longer than a block or two of it",
            "x",
            "é",
            "\\\\",
            "\\\"",
            "\\n",
            "\\u00e9",
            "\\ud83d\\ude00",
            "\",\"k\":\"",
            "\",\"b\":[1,{}],\"k\":\"",
        ];
        let faults = ["\u{1}", "\\x", "\"", "\\ud83d", "\\u12g4", "\n"];
        let rounds = if cfg!(miri) { 30 } else { 20_000 };
        let (mut objects, mut skipped) = (0, 0);
        for _ in 0..rounds {
            let mut content: String = (0..next(80)).map(|_| parts[next(parts.len())]).collect();
            if next(3) == 0 {
                content.push_str(faults[next(faults.len())]);
                content.extend((0..next(40)).map(|_| parts[next(parts.len())]));
            }
            let text = format!("{{\"a\":\"{content}\"}}");
            let mut scan = Scan::default();
            let mut end = 0;
            while end < text.len() {
                let most = end + 4 + next(300);
                end = text.floor_char_boundary(most);
                scan.read_on(&text[..end]);
            }
            let is_object = is_object(&text);
            assert_eq!(is_object_beside(&text, scan.sound()), is_object, "{text}");
            objects += usize::from(is_object);
            skipped += scan.sound().len();
        }
        assert!(objects > rounds / 4 && skipped > rounds * 50);
    }

    #[test]
    fn of_a_long_string_all_is_known_but_what_is_close_to_a_cut() {
        let content = "plain \\\"content\\\", an end of line\\n".repeat(2_000);
        let text = format!(
            "{{\"path\":\"a/b\",\"content\":\"{content}\",\"mode\":\"a string, but a short one, after the long one\"}}"
        );
        let mut scan = Scan::default();
        for end in (0..text.len()).step_by(1_000).chain([text.len()]) {
            scan.read_on(&text[..end]);
        }
        assert!(
            scan.sound().len() * 100 > content.len() * 99,
            "{:?}",
            scan.sound()
        );
    }

    #[test]
    fn whole_means_one_balanced_container() {
        for text in [
            "{}",
            " [1] ",
            r#"{"a":"}]\"\\"}"#,
            "{\"a\":[{}]}\n",
            r#"{"key":"a long value, longer than the loop"}"#,
        ] {
            assert!(scan(text).is_whole(), "{text}");
        }
        for text in [
            "",
            " ",
            "5",
            "\"{}\"",
            "{",
            "{}{}",
            "{]",
            "[}",
            "{}x",
            "]",
            r#"{"a":"}"#,
            "{\"a\":\"\\",
        ] {
            assert!(!scan(text).is_whole(), "{text}");
        }
    }

    #[test]
    fn an_objects_structure_is_the_one_that_reading_it_gives() {
        for text in [
            "{}",
            " { \n} ",
            r#"{"a":1}"#,
            "{\"\":{}}\n",
            r#"{"a":"}{","b":[{},[]]}"#,
            &format!("{}1{}", r#"{"a":["#.repeat(60), "]}".repeat(60)),
        ] {
            assert_eq!(Scan::of_object(text), scan(text), "{text}");
        }
    }

    #[test]
    fn empty_object_and_blank_are_told_apart() {
        assert!(scan(" { \n} ").is_empty_object());
        for text in ["[]", "{{}}", "{\"\":1}", "{x}", "{", "{}{}", ""] {
            assert!(!scan(text).is_empty_object(), "{text}");
        }
        assert!(scan("").is_blank() && scan(" \t\r\n").is_blank() && !scan(" {").is_blank());
    }

    #[test]
    fn a_fragment_opens_a_text_by_its_brace_or_by_being_a_value() {
        for text in ["{", " {\"a", "null", "\"{}\"", "[1]", "5"] {
            assert!(Scan::opens(text), "{text}");
        }
        for text in ["", " ", "\"a", "}", "[1", "abc", "\":\"x"] {
            assert!(!Scan::opens(text), "{text}");
        }
    }

    #[test]
    fn very_deep_text_neither_panics_nor_is_misread() {
        let deep = "[".repeat(100_000);
        assert!(!scan(&deep).is_whole());
        assert!(scan(&(deep + &"]".repeat(100_000))).is_whole());
    }
}
