//! The grammar: passing over values, checked to the last byte.

use super::{Cursor, Fault, Step, short_integer};
use crate::json::block::{next_special, string_end};
use crate::json::text::simple_escape;

/// A number of so many characters without an exponent is in range.
const SURE_DIGITS: usize = 300;

impl Cursor<'_> {
    #[inline]
    pub(super) fn pass(&mut self) -> Step<()> {
        match self.peek_token()? {
            b'"' => self.pass_string().map(drop),
            b'n' => self.literal(b"null"),
            b'-' | b'0'..=b'9' if self.short_integer().is_some() => Ok(()),
            b'-' | b'0'..=b'9' => self.number(),
            _ => self.pass_value(),
        }
    }

    /// The cursor is on the opening quote. Tells whether the string holds an escape.
    #[inline]
    pub(super) fn pass_string(&mut self) -> Step<bool> {
        self.at = next_special(self.text.as_bytes(), self.at + 1);
        if self.byte() == Some(b'"') {
            self.at += 1;
            return Ok(false);
        }
        self.pass_escaped_string().map(|()| true)
    }

    /// The cursor is inside a string, on its first byte that is not plain.
    pub(super) fn pass_escaped_string(&mut self) -> Step<()> {
        let bytes = self.text.as_bytes();
        loop {
            if self.sound.contains(&self.at) {
                self.at = self.sound.end;
            }
            let unknown = bytes.get(..self.sound.start);
            let unknown = unknown.filter(|unknown| self.at < unknown.len());
            match string_end(unknown.unwrap_or(bytes), self.at) {
                Ok(end) => {
                    self.at = end + 1;
                    return Ok(());
                }
                Err(at) => self.at = next_special(bytes, at),
            }
            match self.byte() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                // A raw control character, or the end.
                _ => return Err(Fault),
            }
        }
    }

    /// The cursor is on the backslash.
    pub(super) fn escape(&mut self) -> Step<()> {
        self.at += 1;
        match self.byte() {
            Some(byte) if simple_escape(byte).is_some() => {
                self.at += 1;
                Ok(())
            }
            Some(b'u') => {
                self.doubtful = true;
                self.at += 1;
                for _ in 0..4 {
                    if !self.byte().is_some_and(|b| b.is_ascii_hexdigit()) {
                        return Err(Fault);
                    }
                    self.at += 1;
                }
                Ok(())
            }
            _ => Err(Fault),
        }
    }

    /// A number of a few digits and nothing else, as most are; `None`, and nothing read, for any other.
    #[inline]
    pub(super) fn short_integer(&mut self) -> Option<i64> {
        let bytes = self.text.as_bytes();
        let (value, length) = short_integer(bytes, self.at)?;
        let end = self.at + length;
        matches!(bytes.get(end), Some(b',' | b'}')).then(|| {
            self.at = end;
            value
        })
    }

    pub(super) fn digits(&mut self) -> Step<()> {
        let from = self.at;
        let rest = self.text.as_bytes().get(from..).unwrap_or_default();
        self.at += rest
            .iter()
            .position(|byte| !byte.is_ascii_digit())
            .unwrap_or(rest.len());
        if self.at == from { Err(Fault) } else { Ok(()) }
    }

    #[inline]
    pub(super) fn number(&mut self) -> Step<()> {
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
            self.doubtful = true;
            if let Some(b'+' | b'-') = self.byte() {
                self.at += 1;
            }
            self.digits()?;
        }
        self.doubtful |= self.at - from > SURE_DIGITS;
        Ok(())
    }

    /// Where the number ends that stands at `at` in these bytes, of which nothing else is looked at.
    #[inline(always)]
    pub(crate) fn number_end(bytes: &[u8], at: usize) -> Option<usize> {
        match short_integer(bytes, at).map(|(_, length)| at + length) {
            Some(end) if !matches!(bytes.get(end), Some(b'.' | b'e' | b'E')) => Some(end),
            _ => Self::long_number_end(bytes, at),
        }
    }

    #[inline(never)]
    fn long_number_end(bytes: &[u8], at: usize) -> Option<usize> {
        let rest = bytes.get(at..)?;
        let may_be_of_it = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
        let length = rest.iter().take_while(|byte| may_be_of_it(byte)).count();
        let mut cursor = Cursor::new(str::from_utf8(rest.get(..length)?).ok()?);
        cursor.number().and_then(|()| cursor.end()).ok()?;
        Some(at + length)
    }

    #[inline]
    pub(super) fn literal(&mut self, word: &[u8]) -> Step<()> {
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
        Err(Fault)
    }

    /// Passes over one value without recursion: `objects` holds one bit an open container, set for an object.
    pub(super) fn pass_value(&mut self) -> Step<()> {
        let base = self.depth;
        let mut objects: u128 = 0;
        loop {
            // A value is due.
            match self.peek_token()? {
                b'"' => self.pass_string().map(drop)?,
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
                b'-' | b'0'..=b'9' => self.number()?,
                b't' => self.literal(b"true")?,
                b'f' => self.literal(b"false")?,
                b'n' => self.literal(b"null")?,
                _ => return Err(Fault),
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
                    _ => return Err(Fault),
                }
                self.close();
                objects >>= 1;
            }
        }
    }
}
