//! Strings: which quotes delimit them, where they end, what their escapes stand for.

use super::super::block::next_special;
use super::super::is_space;
use super::super::text::{UNICODE_ESCAPE, simple_escape};
use super::{Reach, Refused, RepairKind, Rewriter};

/// What a string is delimited by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quote {
    Double,
    Single,
    Backtick,
    TypographicDouble,
    TypographicSingle,
    TripleDouble,
    TripleSingle,
}

/// A quote inside a string taken for content: where it stands in the text and in what was written.
#[derive(Debug, Clone, Copy)]
struct Inner {
    at: usize,
    out: usize,
}

/// What a closing quote turned out to be.
enum Verdict {
    Closes,
    Content,
    /// The string ended before, at this byte; the length to which what was written is cut.
    EndedAt(usize, usize),
}

impl Quote {
    /// The quote this text begins with, and its length.
    pub(super) fn at_start(text: &str, guess: bool) -> Option<(Quote, usize)> {
        let first = text.chars().next()?;
        Some(match first {
            '"' if guess && text.starts_with("\"\"\"") => (Quote::TripleDouble, 3),
            '\'' if guess && text.starts_with("'''") => (Quote::TripleSingle, 3),
            '"' => (Quote::Double, 1),
            '\'' => (Quote::Single, 1),
            '`' if guess => (Quote::Backtick, 1),
            '\u{201C}'..='\u{201F}' | '\u{FF02}' => (Quote::TypographicDouble, first.len_utf8()),
            '\u{2018}'..='\u{201B}' => (Quote::TypographicSingle, first.len_utf8()),
            _ => return None,
        })
    }

    /// The length of the closing quote this text begins with, if it does.
    fn closer(self, text: &str) -> Option<usize> {
        let first = text.chars().next()?;
        let closes = match self {
            Quote::Double => first == '"',
            Quote::Single => first == '\'',
            Quote::Backtick => first == '`',
            // A low opening quote opens only.
            Quote::TypographicDouble => {
                matches!(first, '\u{201C}' | '\u{201D}' | '\u{201F}' | '\u{FF02}')
            }
            Quote::TypographicSingle => matches!(first, '\u{2018}' | '\u{2019}' | '\u{201B}'),
            Quote::TripleDouble => return text.starts_with("\"\"\"").then_some(3),
            Quote::TripleSingle => return text.starts_with("'''").then_some(3),
        };
        closes.then_some(first.len_utf8())
    }

    /// How many bytes from the start are content for certain: nothing to escape, and no closer begins among them.
    fn plain_run(self, bytes: &[u8]) -> usize {
        let stop = |byte: &u8| match byte {
            b'"' | b'\\' | 0..=0x1F => true,
            b'\'' => matches!(self, Quote::Single | Quote::TripleSingle),
            b'`' => self == Quote::Backtick,
            // The first bytes of the typographic quotes.
            0xE2 | 0xEF => matches!(self, Quote::TypographicDouble | Quote::TypographicSingle),
            _ => false,
        };
        match self {
            Quote::Double | Quote::TripleDouble => next_special(bytes, 0),
            _ => bytes.iter().position(stop).unwrap_or(bytes.len()),
        }
    }

    fn kind(self) -> Option<RepairKind> {
        Some(match self {
            Quote::Double => return None,
            Quote::Single => RepairKind::SingleQuotes,
            Quote::Backtick => RepairKind::Backticks,
            Quote::TypographicDouble | Quote::TypographicSingle => RepairKind::TypographicQuotes,
            Quote::TripleDouble | Quote::TripleSingle => RepairKind::TripleQuotes,
        })
    }

    /// Whether its closing quote may as well be content: an apostrophe, or a quote the model forgot to escape.
    fn is_doubtful(self, guess: bool) -> bool {
        match self {
            Quote::Double => guess,
            Quote::Single
            | Quote::TypographicSingle
            | Quote::TypographicDouble
            | Quote::Backtick => true,
            Quote::TripleDouble | Quote::TripleSingle => false,
        }
    }
}

/// What a string is that the end of the text cuts: a quote taken for content has no end that would confirm it.
fn cut_after(inner: Option<Inner>) -> Result<Reach, Refused> {
    match inner {
        Some(_) => Err(Refused),
        None => Ok(Reach::Cut),
    }
}

impl Rewriter<'_> {
    /// Rewrites the string that begins here, quotes included. Whether it is a key decides what may follow it.
    pub(super) fn string(
        &mut self,
        quote: Quote,
        length: usize,
        key: bool,
    ) -> Result<Reach, Refused> {
        if let Some(kind) = quote.kind() {
            self.note(kind, self.at);
        }
        self.out.push('"');
        self.at += length;
        self.content(quote, key)
    }

    /// Rewrites content up to and with the closing quote.
    pub(super) fn content(&mut self, quote: Quote, key: bool) -> Result<Reach, Refused> {
        let opened = Inner {
            at: self.at,
            out: self.out.len(),
        };
        let mut inner: Option<Inner> = None;
        let mut inner_count = 0usize;
        loop {
            let run = quote.plain_run(self.bytes.get(self.at..).unwrap_or_default());
            self.out
                .push_str(self.text.get(self.at..self.at + run).unwrap_or_default());
            self.at += run;
            let Some(byte) = self.peek() else {
                match self.key_before_colon(opened) {
                    Some((at, out)) if key && self.guess && quote == Quote::Double => {
                        self.end_at(at, out)?;
                        return Ok(Reach::Closed);
                    }
                    _ => return cut_after(inner),
                }
            };
            if let Some(length) = quote.closer(self.rest()) {
                let verdict = if !quote.is_doubtful(self.guess) {
                    Verdict::Closes
                } else if key {
                    self.closes_key(quote, opened, length)?
                } else {
                    self.closes_value(quote, opened, inner, inner_count, length)?
                };
                match verdict {
                    Verdict::Closes => {
                        if let Some(inner) = inner {
                            self.inner_quotes(opened, inner, inner_count)?;
                        }
                        self.at += length;
                        self.out.push('"');
                        return Ok(Reach::Closed);
                    }
                    Verdict::Content => {
                        inner = Some(Inner {
                            at: self.at,
                            out: self.out.len(),
                        });
                        inner_count += 1;
                        if byte == b'"' {
                            self.out.push('\\');
                        }
                        self.out
                            .push_str(self.text.get(self.at..self.at + length).unwrap_or_default());
                        self.at += length;
                    }
                    Verdict::EndedAt(at, out) => {
                        self.end_at(at, out)?;
                        return Ok(Reach::Closed);
                    }
                }
                continue;
            }
            match byte {
                b'"' => {
                    self.out.push_str("\\\"");
                    self.at += 1;
                }
                b'\\' => {
                    if self.escape(quote) == Reach::Cut {
                        return cut_after(inner);
                    }
                }
                0..=0x1F => self.control(byte),
                _ => {
                    // Where a closer might have begun and did not.
                    let c = self.rest().chars().next().unwrap_or('\u{FFFD}');
                    self.out.push(c);
                    self.at += c.len_utf8();
                }
            }
        }
    }

    /// Takes quotes inside a string for content, unless the string then swallows what looks like structure.
    fn inner_quotes(&mut self, opened: Inner, last: Inner, count: usize) -> Result<(), Refused> {
        let content = self.bytes.get(opened.at..self.at).unwrap_or_default();
        let structure = content.iter().enumerate().any(|(index, byte)| {
            let next = || {
                content
                    .get(index + 1..)
                    .and_then(|rest| rest.iter().find(|byte| !is_space(**byte)))
            };
            matches!(byte, b'}' | b']') && next() == Some(&b',')
        });
        // `"first, b: "second"`, `"x" b: "y"`, in an array `"x, "y"`: a value may begin at the last quote.
        let before = self.text.get(opened.at..last.at).unwrap_or_default();
        let before = before.trim_end();
        let element = self.body.in_array() && count % 2 == 1 && before.ends_with(',');
        if structure || element || before.ends_with([':', '=']) {
            return Err(Refused);
        }
        self.guess(RepairKind::InnerQuotes, last.at)
    }

    /// Ends a string before where it has been read to: its closing quote is missing there.
    fn end_at(&mut self, at: usize, out: usize) -> Result<(), Refused> {
        self.guess(RepairKind::MissingQuote, at)?;
        self.out.truncate(out);
        self.out.push('"');
        self.at = at;
        Ok(())
    }

    /// Whether the quote here closes a key.
    fn closes_key(&self, quote: Quote, opened: Inner, length: usize) -> Result<Verdict, Refused> {
        let next = self.next_solid(self.at + length).map(|(_, byte)| byte);
        if matches!(next, None | Some(b':')) || self.starts_gap(self.at + length) {
            return Ok(Verdict::Closes);
        }
        if !self.guess {
            return Err(Refused);
        }
        if next == Some(b'=') {
            return Ok(Verdict::Closes);
        }
        Ok(match self.key_before_colon(opened) {
            Some((at, out)) if quote == Quote::Double => Verdict::EndedAt(at, out),
            _ => Verdict::Closes,
        })
    }

    /// In a key's text so far, the place of a colon with a plain name before it: there its closing quote is missing.
    fn key_before_colon(&self, opened: Inner) -> Option<(usize, usize)> {
        let text = self.text.get(opened.at..self.at)?;
        let (name, _) = text.split_once(':')?;
        let plain = !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '.' | ' '));
        plain.then_some((opened.at + name.len(), opened.out + name.len()))
    }

    /// Whether the quote here closes a value: only before a comma, a closer, a colon or the end.
    fn closes_value(
        &self,
        quote: Quote,
        opened: Inner,
        inner: Option<Inner>,
        inner_count: usize,
        length: usize,
    ) -> Result<Verdict, Refused> {
        let after = self.at + length;
        let Some((next_at, next)) = self.next_solid(after) else {
            return Ok(Verdict::Closes);
        };
        let in_array = self.body.in_array();
        let closes = match next {
            // In an array a comma after an odd number of inner quotes may as well be content.
            b',' if in_array && inner_count % 2 == 1 => return Err(Refused),
            b',' | b'}' | b']' => true,
            // It may stand for the text's last closer.
            b')' => {
                let last = self.next_solid(next_at + 1).is_none();
                self.body.in_tuple() || (self.guess && inner.is_none() && last)
            }
            b';' => self.guess,
            b':' if !in_array => {
                return match inner {
                    // Only the key's own opening quote may have been taken for content.
                    Some(inner) if self.guess && inner_count == 1 => self
                        .member_begins_at(opened, inner)
                        .map(|(at, out)| Verdict::EndedAt(at, out))
                        .ok_or(Refused),
                    _ => Err(Refused),
                };
            }
            // In an array the string is a key, and the array's closer is missing before it; not if it is doubtful itself.
            b':' if inner.is_some() => return Err(Refused),
            b':' => true,
            b'+' => self
                .next_solid(next_at + 1)
                .is_some_and(|(_, byte)| matches!(byte, b'"' | b'\'')),
            _ => {
                self.starts_gap(after)
                    || (inner.is_none()
                        && (self.member_follows(next_at, in_array)
                            || (in_array && self.element_follows(next_at))))
            }
        };
        if closes || quote == Quote::Double || self.guess {
            return Ok(if closes {
                Verdict::Closes
            } else {
                Verdict::Content
            });
        }
        // An apostrophe or the end of the string: two readings.
        Err(Refused)
    }

    /// Whether, after white space, a comment or a space of another kind stands at `at`.
    pub(super) fn starts_gap(&self, at: usize) -> bool {
        let Some((at, byte)) = self.next_solid(at) else {
            return false;
        };
        match byte {
            b'/' | b'#' => matches!(self.bytes.get(at + 1), Some(b'/' | b'*')) || byte == b'#',
            b'\\' => matches!(self.bytes.get(at + 1), Some(b'n' | b't' | b'r')),
            _ => self
                .text
                .get(at..)
                .and_then(|rest| rest.chars().next())
                .is_some_and(super::is_odd_space),
        }
    }

    /// Whether a quoted key and a colon follow (or in an array a quoted element): a comma is missing before them.
    fn member_follows(&self, at: usize, in_array: bool) -> bool {
        let Some(&quote @ (b'"' | b'\'')) = self.bytes.get(at) else {
            return !in_array && self.bare_member_on_new_line(at);
        };
        let rest = self.text.get(at + 1..).unwrap_or_default();
        let Some(close) = memchr::memchr3(quote, b'\n', b'\\', rest.as_bytes()) else {
            return false;
        };
        if rest.as_bytes().get(close) != Some(&quote) {
            return false;
        }
        match self.next_solid(at + 2 + close) {
            Some((_, b':')) => !in_array,
            Some((_, b',' | b']' | b'"' | b'\'')) => in_array && at > self.at + 1 && close > 0,
            _ => false,
        }
    }

    /// Whether a key without quotes and its colon stand at `at`, and a line end before it.
    fn bare_member_on_new_line(&self, at: usize) -> bool {
        let between = self.bytes.get(self.at + 1..at).unwrap_or_default();
        let rest = self.bytes.get(at..).unwrap_or_default();
        let key = rest
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
            .count();
        between.contains(&b'\n') && key > 0 && rest.get(key) == Some(&b':')
    }

    /// A value string in which a quote is followed by a colon: the quote before it opened a key, and the string's own
    /// closing quote is missing before the comma or the line end that precedes that key.
    fn member_begins_at(&self, opened: Inner, key: Inner) -> Option<(usize, usize)> {
        let text = self.text.get(opened.at..key.at)?;
        let value = text.trim_end_matches([' ', '\t', '\n', '\r']);
        let space = text.get(value.len()..)?;
        // What was written for white space: itself for a blank, two characters for an escaped control.
        let written: usize = space
            .bytes()
            .map(|byte| if byte == b' ' { 1 } else { 2 })
            .sum();
        let (value_end, out_end) = (opened.at + value.len(), key.out.checked_sub(written)?);
        if value.ends_with(',') {
            return Some((value_end - 1, out_end.checked_sub(1)?));
        }
        space.contains('\n').then_some((value_end, out_end))
    }

    /// Rewrites the escape here.
    fn escape(&mut self, quote: Quote) -> Reach {
        let at = self.at;
        let Some(&letter) = self.bytes.get(at + 1) else {
            self.out.push('\\');
            self.at += 1;
            return Reach::Cut;
        };
        if letter == b'u' {
            return self.unicode_escape();
        }
        if simple_escape(letter).is_some() {
            self.out.push('\\');
            self.out.push(char::from(letter));
            self.at += 2;
        } else if letter == b'\'' || (letter == b'`' && quote == Quote::Backtick) {
            if quote != Quote::Single {
                self.note(RepairKind::UnknownEscape, at);
            }
            self.out.push(char::from(letter));
            self.at += 2;
        } else {
            self.keep_backslash();
        }
        Reach::Closed
    }

    /// An escape that JSON does not know: its backslash is content. What follows is read as content in its turn.
    fn keep_backslash(&mut self) {
        self.note(RepairKind::UnknownEscape, self.at);
        self.out.push_str("\\\\");
        self.at += 1;
    }

    fn unicode_escape(&mut self) -> Reach {
        let unit = |at: usize| -> Result<u16, bool> {
            // An error says whether the text merely ends here.
            let rest = self.bytes.get(at..).unwrap_or_default();
            let Some(digits) = rest.get(2..UNICODE_ESCAPE) else {
                let head: &[u8] = rest.get(..2).unwrap_or(rest);
                return Err(
                    b"\\u".starts_with(head) && rest.iter().skip(2).all(u8::is_ascii_hexdigit)
                );
            };
            let hex = rest.starts_with(b"\\u") && digits.iter().all(u8::is_ascii_hexdigit);
            let text = std::str::from_utf8(digits).unwrap_or_default();
            if hex {
                u16::from_str_radix(text, 16).map_err(|_| false)
            } else {
                Err(false)
            }
        };
        let (length, lone) = match unit(self.at) {
            Err(true) => (self.bytes.len() - self.at, None),
            Err(false) => {
                self.keep_backslash();
                return Reach::Closed;
            }
            Ok(0xD800..=0xDBFF) => match unit(self.at + UNICODE_ESCAPE) {
                Ok(0xDC00..=0xDFFF) => (2 * UNICODE_ESCAPE, Some(false)),
                Err(true) => (self.bytes.len() - self.at, None),
                _ => (UNICODE_ESCAPE, Some(true)),
            },
            Ok(0xDC00..=0xDFFF) => (UNICODE_ESCAPE, Some(true)),
            Ok(_) => (UNICODE_ESCAPE, Some(false)),
        };
        if lone == Some(true) {
            self.note(RepairKind::LoneSurrogate, self.at);
            self.out.push_str("\\ufffd");
        } else {
            self.out
                .push_str(self.text.get(self.at..self.at + length).unwrap_or_default());
        }
        self.at += length;
        if lone.is_none() {
            Reach::Cut
        } else {
            Reach::Closed
        }
    }

    fn control(&mut self, byte: u8) {
        self.note(RepairKind::RawControl, self.at);
        match byte {
            b'\n' => self.out.push_str("\\n"),
            b'\r' => self.out.push_str("\\r"),
            b'\t' => self.out.push_str("\\t"),
            _ => {
                let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
                self.out.push_str("\\u00");
                self.out.push(digit(byte >> 4));
                self.out.push(digit(byte & 15));
            }
        }
        self.at += 1;
    }
}
