//! What stands around the object: fences, tags, prose, placeholders, a string, a second object.

use super::super::recover::WrapperOffsets;
use super::super::{is_space, trim};
use super::prose::{Lead, Marks, ends_line, has_html_escape, is_name, is_prose, lead};
use super::tags::{
    begun_tag_length, closes_thought, fence_length, header_length, is_parameter, tag_length,
    thought_length,
};
use super::values::spelled;
use super::{
    Mended, Reach, Refused, Repair, RepairKind, Rewriter, comment_length, is_odd_space, list,
    unescape,
};

/// What was found before the object, which decides what may follow it.
#[derive(Debug, Default)]
struct Before {
    /// Words: prose may follow.
    words: bool,
    /// Words on the object's own line.
    beside: bool,
    /// A fence: prose may follow.
    fence: bool,
    /// `name:`, which might be a key.
    label: bool,
    array: bool,
    call: bool,
    quote: Option<u8>,
}

impl Rewriter<'_> {
    /// Rewrites the whole text. With it, whether the text ended inside a key.
    pub(super) fn mend(&mut self) -> Result<(Mended, bool), Refused> {
        let mut before = Before::default();
        self.before(&mut before)?;
        if self.peek() == Some(b'"') {
            return self.string_around(&before);
        }
        if self.peek() == Some(b'{') && self.escaped_quote_after(self.at + 1) {
            return self.escaped_text();
        }
        let reach = self.objects(&before)?;
        Ok(self.mended(reach))
    }

    /// What was written, once the text was read to its end.
    fn mended(&mut self, reach: Reach) -> (Mended, bool) {
        let mended = Mended {
            text: std::mem::take(&mut self.out),
            repairs: std::mem::take(&mut self.repairs),
            cut: false,
            deep_at: self.deep_at,
        };
        (mended, reach == Reach::Cut && self.body.in_key)
    }

    /// Skips what stands before the object, up to its brace (or a quote that may hold it).
    fn before(&mut self, before: &mut Before) -> Result<(), Refused> {
        loop {
            self.padding();
            let (at, rest) = (self.at, self.rest());
            let byte = self.peek().ok_or(Refused)?;
            if byte == b'{' || byte == b'"' {
                return Ok(());
            }
            if let Some(length) = fence_length(rest) {
                self.note(RepairKind::Fence, at);
                before.fence = true;
                self.at += length;
            } else if let Some(length) = thought_length(rest) {
                self.note(RepairKind::ControlToken, at);
                self.at += length?;
            } else if let Some(length) = tag_length(rest) {
                // One of several arguments is not the object of them all.
                if is_parameter(rest) {
                    return Err(Refused);
                }
                // `<city>Oban</city>`: words between tags are an argument, unless they are a thought.
                if before.words && rest.starts_with("</") && !closes_thought(rest) {
                    return Err(Refused);
                }
                self.note(RepairKind::ControlToken, at);
                self.at += length;
                self.at += header_length(rest, self.rest());
            } else if byte == b'[' {
                self.guess(RepairKind::ArrayWrapper, at)?;
                self.at += 1;
                self.padding();
                before.array = true;
                return if self.peek() == Some(b'{') {
                    Ok(())
                } else {
                    Err(Refused)
                };
            } else if opens_around(rest) {
                self.note(RepairKind::Unwrapped, at);
                before.quote = Some(byte);
                self.at += 1;
            } else {
                self.words(before)?;
            }
        }
    }

    /// Skips white space, comments and padding.
    fn padding(&mut self) {
        loop {
            let (at, rest) = (self.at, self.rest());
            let Some(c) = rest.chars().next() else { return };
            if c.is_ascii() && is_space(c as u8) {
                self.at += 1;
            } else if let Some(length) = comment_length(rest) {
                self.note(RepairKind::Comment, at);
                self.at += length;
            } else if rest.starts_with("\\n") || rest.starts_with("\\r") || rest.starts_with("\\t")
            {
                self.note(RepairKind::EscapedSpace, at);
                self.at += 2;
            } else if is_odd_space(c) || c.is_control() {
                let kind = if c == '\u{FEFF}' {
                    RepairKind::Bom
                } else {
                    RepairKind::Padding
                };
                let run = rest.find(|other| other != c).unwrap_or(rest.len());
                self.note(kind, at);
                self.at += run;
            } else {
                return;
            }
        }
    }

    /// Skips words before the object: `null`, a function's name, the word `json`, a sentence. They end at whatever else may
    /// stand there.
    fn words(&mut self, before: &mut Before) -> Result<(), Refused> {
        let (at, rest) = (self.at, self.rest());
        let stops = |(at, byte): (usize, u8)| match byte {
            b'{' | b'[' | b'<' => true,
            b'`' | b'~' | b'\'' | b'"' => rest
                .get(at..)
                .is_some_and(|rest| fence_length(rest).is_some() || opens_around(rest)),
            _ => false,
        };
        let end = rest.bytes().enumerate().position(stops).ok_or(Refused)?;
        let words = rest.get(..end).ok_or(Refused)?;
        let said = trim(words);
        self.at += words.len();
        if said == "null" {
            self.note(RepairKind::Placeholder, at);
            return Ok(());
        }
        if let Some(name) = said.strip_suffix('(').map(str::trim_end)
            && (name.is_empty() || is_name(name.strip_prefix("await ").unwrap_or(name)))
        {
            self.note(RepairKind::Jsonp, at);
            before.call = true;
            return Ok(());
        }
        let before_fence = fence_length(self.rest()).is_some();
        match lead(words, before_fence) {
            Lead::Prose => {}
            Lead::Label => before.label = true,
            Lead::Other => return Err(Refused),
        }
        self.note(RepairKind::Prose, at);
        before.words = true;
        before.beside |= !ends_line(words);
        Ok(())
    }

    /// Rewrites the object and what follows it.
    fn objects(&mut self, before: &Before) -> Result<Reach, Refused> {
        // What the object was in may be hidden by words beside it, a comment (`//` of an address), an array, a quote, or be lost
        // with its first brace. A closer too many is then that of the object's container.
        let inside = before.beside
            || before.array
            || self.body.braceless
            || before.quote.is_some()
            || self.commented;
        let first_at = self.at;
        if self.object()? == Reach::Cut {
            return Ok(Reach::Cut);
        }
        self.surroundings(before, first_at, inside)
    }

    /// Reads what follows the object that began at `first_at` and is written: further objects where all are one, and what is
    /// no part of it. `inside`: the object may be one of a container, whose closer may follow.
    fn surroundings(
        &mut self,
        before: &Before,
        mut first_at: usize,
        inside: bool,
    ) -> Result<Reach, Refused> {
        let mut brace_due = self.body.doubled;
        let mut held = None;
        let mut wrapper_open = before.array;
        let (mut call_open, mut listed) = (before.call, false);
        let mut quote_due = before.quote.is_some();
        loop {
            self.padding();
            let (at, rest) = (self.at, self.rest());
            let Some(byte) = self.peek() else { break };
            if byte == b'{' {
                // Behind a comma it may be the next of what the first was one of: of a call's arguments, of a list that ends.
                listed |= self.newest == Some(RepairKind::TrailingPunctuation);
                if before.array || (listed && before.call) {
                    return Err(Refused);
                }
                let first = match held.take() {
                    Some(first) => first,
                    None => spelled(&self.out).ok_or(Refused)?,
                };
                let kept = std::mem::take(&mut self.out);
                self.second_object = Some(at);
                let reach = self.object()?;
                let second = if reach == Reach::Closed {
                    spelled(&self.out)
                } else {
                    None
                };
                let stated = second
                    .as_ref()
                    .map_or(trim(&self.out).len() > 2, |second| !second.is_empty());
                if first.is_empty() && stated {
                    self.note(RepairKind::Placeholder, first_at);
                    first_at = at;
                    if reach == Reach::Cut {
                        return Ok(Reach::Cut);
                    }
                } else if Some(&first) == second.as_ref() {
                    self.note(RepairKind::Restated, at);
                    self.out = kept;
                    held = Some(first);
                } else {
                    return Err(Refused);
                }
                self.second_object = None;
                continue;
            }
            if byte == b']' && wrapper_open {
                wrapper_open = false;
                self.at += 1;
            } else if Some(byte) == before.quote || (byte == b')' && before.call) {
                quote_due &= Some(byte) != before.quote;
                call_open &= byte != b')';
                self.at += 1;
            } else if let Some(length) = fence_length(rest) {
                self.note(RepairKind::Fence, at);
                self.at += length;
            } else if let Some(length) = tag_length(rest)
                .filter(|_| !is_parameter(rest))
                .or_else(|| begun_tag_length(rest))
            {
                self.note(RepairKind::ControlToken, at);
                self.at += length;
            } else if matches!(byte, b',' | b';') {
                self.note(RepairKind::TrailingPunctuation, at);
                self.at += 1;
            } else if matches!(byte, b'}' | b']' | b')')
                || matches!(trim(rest), "\"" | "'" | "`" | "``")
            {
                if self.body.wrong_closer || inside || listed {
                    return Err(Refused);
                }
                brace_due &= byte != b'}';
                self.note(RepairKind::ExtraCloser, at);
                self.at += 1;
            } else {
                self.tail(before)?;
            }
        }
        if wrapper_open || brace_due || quote_due || call_open {
            Err(Refused)
        } else {
            Ok(Reach::Closed)
        }
    }

    /// Other text after the object. After words or a fence it may be prose; else it is dropped only by guess.
    fn tail(&mut self, before: &Before) -> Result<(), Refused> {
        let (at, rest) = (self.at, self.rest());
        let punctuated = self.newest == Some(RepairKind::TrailingPunctuation);
        // After a comma it is the next of what the object was one of.
        if before.call || (punctuated && before.words) {
            return Err(Refused);
        }
        let prose_before = (before.words || before.fence) && !before.label;
        let marks = Marks {
            colons: before.fence,
            any: ends_line(self.text.get(..at).unwrap_or_default()),
        };
        if prose_before && is_prose(rest.trim(), marks) {
            self.note(RepairKind::Prose, at);
        } else {
            // A bracket, a tag or a second fence may be of another call or of what the object was in; a quote may be one
            // that was taken for the end of a string.
            let doubtful = rest.contains(['{', '}', '[', ']', '"'])
                || rest.contains("```")
                || rest.contains("</")
                || has_html_escape(rest);
            if doubtful {
                return Err(Refused);
            }
            self.guess(RepairKind::TrailingText, at)?;
        }
        self.at = self.bytes.len();
        Ok(())
    }

    /// A JSON string around the object, malformed itself or holding malformed text; or braces missing around members.
    fn string_around(&mut self, before: &Before) -> Result<(Mended, bool), Refused> {
        let at = self.at;
        let (inner, close) = unescape(self.text.get(at + 1..).ok_or(Refused)?);
        let after = close.map_or(self.bytes.len(), |close| at + 2 + close);
        if !inner.trim_start().starts_with('{') {
            if self.next_solid(after).is_some_and(|(_, byte)| byte == b':') {
                self.guess(RepairKind::MissingBraces, at)?;
                self.body.braceless = true;
                let reach = self.objects(&Before::default())?;
                return Ok(self.mended(reach));
            }
            return Err(Refused);
        }
        self.note(RepairKind::Unwrapped, at);
        self.at = after;
        let (mut held, in_key) = self.inner(inner, at + 1, close.is_none())?;
        let content = self.bytes.get(at + 1..after).unwrap_or_default();
        list_raw_controls(&mut held.repairs, content, at + 1);
        if held.cut {
            return Ok((held, in_key));
        }
        // What stands around an object may stand around the string that holds it. A closer would be that of a container
        // whose beginning is lost.
        (self.out, self.repairs, self.deep_at) = (held.text, held.repairs, held.deep_at);
        self.surroundings(before, at, true)?;
        let (mended, _) = self.mended(Reach::Closed);
        Ok((mended, in_key))
    }

    /// Text escaped as for a string, without the quotes around it.
    fn escaped_text(&mut self) -> Result<(Mended, bool), Refused> {
        self.guess(RepairKind::EscapedText, self.at)?;
        let (inner, quote) = unescape(self.rest());
        if quote.is_some() {
            return Err(Refused);
        }
        let at = self.at;
        self.inner(inner, at, false)
    }

    /// Whether the first that stands at or after this place is an escaped quote, white space aside, escaped or not.
    fn escaped_quote_after(&self, mut at: usize) -> bool {
        loop {
            let Some((next, b'\\')) = self.next_solid(at) else {
                return false;
            };
            match self.bytes.get(next + 1) {
                Some(b'"') => return true,
                Some(b'n' | b't' | b'r') => at = next + 2,
                _ => return false,
            }
        }
    }

    /// What a layer of escaping held: as it is where it is JSON or a prefix of it, else mended by the same pass.
    fn inner(&mut self, inner: String, from: usize, cut: bool) -> Result<(Mended, bool), Refused> {
        use super::super::recover::{End, recover};
        if trim(&inner).starts_with("{\\\"") {
            return Err(Refused);
        }
        if !matches!(recover(&inner, self.max_depth).end, End::Fault(..)) {
            self.out = inner;
            let (mended, _) = self.mended(Reach::Closed);
            return Ok((Mended { cut, ..mended }, false));
        }
        let ended = self.ended_by_itself && !cut;
        let mut again = Rewriter::new(&inner, self.guess, ended, self.max_depth);
        again.wrapped = true;
        let mut before = Before::default();
        again.before(&mut before)?;
        if again.peek() != Some(b'{') {
            return Err(Refused);
        }
        let mut offsets = WrapperOffsets::new(self.text, from);
        let Ok(reach) = again.objects(&before) else {
            self.second_object = again.second_object.map(|at| offsets.outer(at));
            return Err(Refused);
        };
        again.repairs.sort_by_key(|repair| repair.at);
        for &Repair { kind, at } in &again.repairs {
            let at = offsets.outer(at);
            list(&mut self.repairs, Repair { kind, at });
        }
        again.repairs = std::mem::take(&mut self.repairs);
        let outer = |at| WrapperOffsets::new(self.text, from).outer(at);
        again.deep_at = again.deep_at.map(outer);
        let (mended, in_key) = again.mended(reach);
        Ok((Mended { cut, ..mended }, in_key))
    }
}

/// Lists the raw control characters of the string content that stands at `from`, where they are not listed already as those
/// of a string inside it.
fn list_raw_controls(repairs: &mut Vec<Repair>, content: &[u8], from: usize) {
    let inside = |repair: &Repair| repair.kind == RepairKind::RawControl && repair.at >= from;
    let known: Vec<_> = repairs
        .iter()
        .filter(|repair| inside(repair))
        .copied()
        .collect();
    let mut known = known.iter().map(|repair| repair.at).peekable();
    for (at, byte) in (from..).zip(content) {
        if *byte < b' ' && known.next_if_eq(&at).is_none() {
            let kind = RepairKind::RawControl;
            list(repairs, Repair { kind, at });
        }
    }
}

/// Whether the text begins with a quote or backtick around an object.
fn opens_around(text: &str) -> bool {
    text.strip_prefix(['\'', '`', '"']).is_some_and(|inside| {
        inside
            .trim_start_matches([' ', '\t', '\n', '\r'])
            .starts_with('{')
    })
}
