//! The object itself: containers, separators, closers.

use super::strings::Quote;
use super::{Reach, Refused, Repair, RepairKind, Rewriter};
use crate::json::MAX_DEPTH;

/// What is due next.
///
/// ```text
///  { ─▶ KeyOrClose ─key▶ Colon ─:▶ Value ─value▶ CommaOrClose ─ } ▶ (outer) CommaOrClose
///           Key ◀──────────────────── , ─────────────┘
///  [ ─▶ ValueOrClose ─value▶ CommaOrClose ─ , ▶ Value
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Due {
    #[default]
    KeyOrClose,
    Key,
    Colon,
    Value,
    ValueOrClose,
    CommaOrClose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Container {
    Object,
    Array,
    Tuple,
}

/// The last thing written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Last {
    #[default]
    Nothing,
    /// A string, and where it begins in what was written.
    String(usize),
    Number,
    Other,
}

/// Where the rewriter is in an object.
#[derive(Debug, Default)]
pub(super) struct Body {
    open: Vec<Container>,
    due: Due,
    last: Last,
    /// Where the newest comma stands in what was written, and in the text.
    comma: Option<(usize, usize)>,
    /// Where the key being read begins in what was written.
    key_out: usize,
    /// An outermost key has no quotes: this is no JSON cut short.
    pub(super) dialect: bool,
    /// The braces around the whole are missing.
    pub(super) braceless: bool,
    /// A closer was taken for one of the other kind; a closer too many later would speak against that.
    pub(super) wrong_closer: bool,
    /// A closer stood for inner ones as well that are missing.
    missing_closer: bool,
    /// It began with two braces, and must end with two.
    pub(super) doubled: bool,
    /// It ended inside a key.
    pub(super) in_key: bool,
}

impl Body {
    pub(super) fn in_array(&self) -> bool {
        matches!(self.open.last(), Some(Container::Array | Container::Tuple))
    }

    pub(super) fn in_tuple(&self) -> bool {
        self.open.last() == Some(&Container::Tuple)
    }
}

impl Rewriter<'_> {
    /// Rewrites the object that begins here, up to and with its last closer or the end of the text.
    pub(super) fn object(&mut self) -> Result<Reach, Refused> {
        let braceless = self.body.braceless;
        self.body = Body {
            braceless,
            ..Body::default()
        };
        self.out.push('{');
        self.open(Container::Object);
        if !braceless {
            self.at += 1;
        }
        loop {
            self.gap()?;
            let Some(byte) = self.peek() else {
                return self.cut();
            };
            let reach = match self.body.due {
                Due::KeyOrClose | Due::Key => self.key(byte)?,
                Due::Colon => self.colon(byte)?,
                Due::Value | Due::ValueOrClose => self.value(byte)?,
                Due::CommaOrClose => self.comma_or_close(byte)?,
            };
            if reach == Reach::Cut {
                return self.cut();
            }
            if self.body.open.is_empty() {
                return Ok(Reach::Closed);
            }
        }
    }

    /// The text ended with containers open. What it lacks is added only where it cannot be a cut, or a cut is excluded.
    fn cut(&mut self) -> Result<Reach, Refused> {
        let outermost =
            self.body.open.len() == 1 && self.body.due == Due::CommaOrClose && self.ended_by_itself;
        if outermost && self.body.braceless {
            self.out.push_str(" }");
            return Ok(Reach::Closed);
        }
        // `{a:"b"` is that one member and no more is known of it; with another, or anything around, it may be cut as any text.
        let lone = self.body.dialect
            && matches!(self.body.last, Last::String(_))
            && self.body.comma.is_none()
            && !self.wrapped
            && self.second_object.is_none();
        let only_that = |repair: &Repair| repair.kind == RepairKind::BareKey;
        if outermost && lone && self.repairs.iter().all(only_that) {
            self.note(RepairKind::MissingBrace, self.at);
            self.out.push('}');
            return Ok(Reach::Closed);
        }
        if self.unsure {
            return Err(Refused);
        }
        self.body.in_key = self.body.in_key && matches!(self.body.due, Due::Key | Due::KeyOrClose);
        Ok(Reach::Cut)
    }

    fn key(&mut self, byte: u8) -> Result<Reach, Refused> {
        match byte {
            b'}' | b']' | b')' => return self.closer(byte),
            b'{' if self.body.open.len() == 1
                && self.body.due == Due::KeyOrClose
                && !self.body.doubled =>
            {
                // `{{`: no object is a key. The brace that answers it must follow the object's own.
                self.guess(RepairKind::DoubledBrace, self.at)?;
                self.body.doubled = true;
                self.at += 1;
                return Ok(Reach::Closed);
            }
            b',' => {
                self.guess(RepairKind::ExtraComma, self.at)?;
                self.at += 1;
                return Ok(Reach::Closed);
            }
            _ => {}
        }
        let outermost = self.body.open.len() == 1;
        self.body.key_out = self.out.len();
        let reach = match Quote::at_start(self.rest(), self.guess) {
            Some((Quote::Backtick | Quote::TripleDouble | Quote::TripleSingle, _)) => {
                return Err(Refused);
            }
            Some((quote, length)) => self.string(quote, length, true)?,
            None => {
                self.body.dialect |= outermost;
                self.bare_key()?
            }
        };
        self.body.in_key = reach == Reach::Cut;
        if reach == Reach::Closed {
            self.body.due = Due::Colon;
        }
        Ok(reach)
    }

    /// A key without quotes, up to the colon.
    fn bare_key(&mut self) -> Result<Reach, Refused> {
        let at = self.at;
        let rest = self.rest();
        let is_key = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '.' | '@');
        let wide = |c: char| is_key(c) || (self.guess && c == ' ');
        let end = rest.find(|c| !wide(c)).unwrap_or(rest.len());
        let name = rest.get(..end).map(str::trim_end).unwrap_or_default();
        if name.is_empty() {
            return Err(Refused);
        }
        self.out.push('"');
        self.out.push_str(name);
        self.at += name.len();
        if self.peek() == Some(b'"')
            && self
                .next_solid(self.at + 1)
                .is_some_and(|(_, byte)| byte == b':')
        {
            self.guess(RepairKind::MissingQuote, at)?;
            self.at += 1;
        } else {
            match self.next_solid(self.at) {
                // Cut: the key stays open in what is written too.
                None => {
                    self.at = self.bytes.len();
                    return Ok(Reach::Cut);
                }
                Some((_, b':')) => self.note(RepairKind::BareKey, at),
                Some(_) if self.starts_gap(self.at) => self.note(RepairKind::BareKey, at),
                Some((_, b'=')) if self.guess => self.note(RepairKind::BareKey, at),
                Some(_) => return Err(Refused),
            }
        }
        self.out.push('"');
        Ok(Reach::Closed)
    }

    fn colon(&mut self, byte: u8) -> Result<Reach, Refused> {
        let at = self.at;
        match byte {
            b':' => self.at += 1,
            b'=' => {
                self.guess(RepairKind::WrongSeparator, at)?;
                self.at += if self.bytes.get(at + 1) == Some(&b'>') {
                    2
                } else {
                    1
                };
            }
            b'"' | b'\'' | b'-' | b'{' | b'[' | b'0'..=b'9' => {
                self.guess(RepairKind::MissingColon, at)?
            }
            _ if self.literal_follows() => self.guess(RepairKind::MissingColon, at)?,
            _ => return Err(Refused),
        }
        self.out.push(':');
        self.body.due = Due::Value;
        Ok(Reach::Closed)
    }

    fn value(&mut self, byte: u8) -> Result<Reach, Refused> {
        let in_array = self.body.in_array();
        match byte {
            b'{' | b'[' => {
                self.out.push(char::from(byte));
                let array = byte == b'[';
                self.open(if array {
                    Container::Array
                } else {
                    Container::Object
                });
                self.at += 1;
                self.body.due = if array {
                    Due::ValueOrClose
                } else {
                    Due::KeyOrClose
                };
                self.body.comma = None;
                Ok(Reach::Closed)
            }
            b'(' => {
                self.guess(RepairKind::Tuple, self.at)?;
                self.out.push('[');
                self.open(Container::Tuple);
                self.at += 1;
                self.body.due = Due::ValueOrClose;
                self.body.comma = None;
                Ok(Reach::Closed)
            }
            b'}' | b']' | b')' if in_array => self.closer(byte),
            b',' if !in_array => self.drop_member(),
            b',' | b'}' | b']' | b')' => Err(Refused),
            _ => {
                let out = self.out.len();
                let reach = match Quote::at_start(self.rest(), self.guess) {
                    Some((quote, length)) => {
                        self.body.last = Last::String(out);
                        self.string(quote, length, false)?
                    }
                    None => {
                        let reach = self.scalar()?;
                        let written = self.out.as_bytes().get(out).copied();
                        self.body.last = match written {
                            Some(b'-' | b'0'..=b'9') => Last::Number,
                            Some(b'"') => Last::String(out),
                            _ => Last::Other,
                        };
                        reach
                    }
                };
                if reach == Reach::Closed {
                    self.body.due = Due::CommaOrClose;
                }
                Ok(reach)
            }
        }
    }

    /// `"a":,` states nothing about a: the member goes, the rest stays.
    fn drop_member(&mut self) -> Result<Reach, Refused> {
        self.guess(RepairKind::MissingValue, self.at)?;
        self.out.truncate(self.body.key_out);
        self.at += 1;
        self.body.due = if self.body.comma.is_some() {
            Due::Key
        } else {
            Due::KeyOrClose
        };
        Ok(Reach::Closed)
    }

    fn comma_or_close(&mut self, byte: u8) -> Result<Reach, Refused> {
        let at = self.at;
        let in_array = self.body.in_array();
        match byte {
            b',' => self.comma(),
            b';' => {
                self.guess(RepairKind::WrongSeparator, at)?;
                self.comma();
            }
            b'}' | b']' | b')' => return self.closer(byte),
            b'+' => return self.concatenation(),
            b':' if in_array => return self.key_in_array(),
            b':' => return Err(Refused),
            _ => {
                // A value or a member follows at once. What it is, is found out when it is read.
                if !in_array
                    && Quote::at_start(self.rest(), self.guess).is_none()
                    && !byte.is_ascii_alphabetic()
                    && byte != b'_'
                {
                    return Err(Refused);
                }
                self.guess(RepairKind::MissingComma, at)?;
                self.comma();
                self.at = at;
            }
        }
        Ok(Reach::Closed)
    }

    fn comma(&mut self) {
        // What follows would belong to another container if the closer before it was of the wrong kind.
        self.body.wrong_closer |= self.body.missing_closer;
        self.body.comma = Some((self.out.len(), self.at));
        self.out.push(',');
        self.at += 1;
        self.body.due = if self.body.in_array() {
            Due::Value
        } else {
            Due::Key
        };
    }

    /// A closer, of whichever container it may be.
    fn closer(&mut self, byte: u8) -> Result<Reach, Refused> {
        let at = self.at;
        if matches!(self.body.due, Due::Key | Due::Value)
            && let Some((out, comma_at)) = self.body.comma.take()
        {
            self.note(RepairKind::TrailingComma, comma_at);
            self.out.truncate(out);
        }
        let fits = |container: &Container| {
            matches!(
                (container, byte),
                (Container::Object, b'}') | (Container::Array, b']') | (Container::Tuple, b')')
            )
        };
        // No text is read that nests deeper, and none is searched deeper for each closer.
        let mut near = self.body.open.iter().enumerate().rev().take(MAX_DEPTH);
        match near
            .find(|(_, container)| fits(container))
            .map(|(at, _)| at)
        {
            // More members follow: it is not the root's, but of the other kind.
            Some(0) if self.body.open.len() > 1 && self.member_after_comma(at + 1) => {
                self.guess(RepairKind::WrongCloser, at)?;
                self.body.wrong_closer = true;
                self.close();
            }
            Some(found) => {
                while self.body.open.len() > found + 1 {
                    self.guess(RepairKind::MissingCloser, at)?;
                    self.body.missing_closer = true;
                    self.close();
                }
                self.close();
            }
            None => {
                let last = self.next_solid(at + 1).is_none();
                self.guess(RepairKind::WrongCloser, at)?;
                if last && self.ended_by_itself {
                    // The text's last closer, of the wrong kind: it stands for all that is open.
                    while !self.body.open.is_empty() {
                        self.close();
                    }
                } else if self.body.open.len() > 1 {
                    self.body.wrong_closer = true;
                    self.close();
                } else {
                    // One too many before the root goes on, or before its own closer with which the text ends. What was guessed
                    // before may explain it otherwise.
                    let next = self.next_solid(at + 1).ok_or(Refused)?;
                    let ends = next.1 == b'}' && self.next_solid(next.0 + 1).is_none();
                    if self.body.wrong_closer || !(next.1 == b',' || ends && !self.unsure) {
                        return Err(Refused);
                    }
                    self.body.wrong_closer = true;
                }
            }
        }
        self.at += 1;
        Ok(Reach::Closed)
    }

    /// Whether a comma follows, and a key.
    fn member_after_comma(&self, at: usize) -> bool {
        let Some((comma, b',')) = self.next_solid(at) else {
            return false;
        };
        let key = |byte: u8| matches!(byte, b'"' | b'\'' | b'_') || byte.is_ascii_alphabetic();
        self.next_solid(comma + 1)
            .is_some_and(|(_, byte)| key(byte))
    }

    /// Opens a container here.
    fn open(&mut self, container: Container) {
        if self.body.open.len() >= self.max_depth {
            self.deep_at.get_or_insert(self.at);
        }
        self.body.open.push(container);
    }

    /// Closes the innermost container.
    fn close(&mut self) {
        self.out
            .push(if self.body.open.pop() == Some(Container::Object) {
                '}'
            } else {
                ']'
            });
        self.body.due = Due::CommaOrClose;
        self.body.last = Last::Other;
        self.body.comma = None;
    }

    /// `"x" + "y"`: one string.
    fn concatenation(&mut self) -> Result<Reach, Refused> {
        let Last::String(_) = self.body.last else {
            return Err(Refused);
        };
        self.guess(RepairKind::Concatenation, self.at)?;
        self.at += 1;
        let closed = self.out.trim_end().len().checked_sub(1).ok_or(Refused)?;
        self.gap()?;
        let (quote, length) = Quote::at_start(self.rest(), self.guess).ok_or(Refused)?;
        self.out.truncate(closed);
        self.at += length;
        self.content(quote, false)
    }

    /// A colon after a string in an array: the array's closer is missing before that string, which is a key.
    fn key_in_array(&mut self) -> Result<Reach, Refused> {
        let (Last::String(from), Some((comma, _))) = (self.body.last, self.body.comma) else {
            return Err(Refused);
        };
        let outer = self
            .body
            .open
            .len()
            .checked_sub(2)
            .and_then(|outer| self.body.open.get(outer));
        if outer != Some(&Container::Object) || from < comma {
            return Err(Refused);
        }
        self.guess(RepairKind::MissingCloser, self.at)?;
        self.body.wrong_closer = true;
        let key = self
            .out
            .get(from..)
            .map(|key| key.trim_end().to_owned())
            .ok_or(Refused)?;
        self.out.truncate(comma);
        self.close();
        self.body.comma = Some((self.out.len(), self.at));
        self.out.push(',');
        self.body.key_out = self.out.len();
        self.out.push_str(&key);
        self.body.due = Due::Colon;
        Ok(Reach::Closed)
    }
}
