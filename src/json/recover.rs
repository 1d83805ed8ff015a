//! What a text stated when it ended: the partial reader run to the end, and a report of what was left out.

use super::events::PathSegment;
use super::partial::{PartialReader, Progress};
use super::reader::State;
use super::text::{UNICODE_ESCAPE, simple_escape};
use serde_json::{Map, Value};

/// What is wrong at a byte that no continuation of the text could mend.
///
/// # Examples
///
/// ```
/// use callstitch::{Arguments, FaultKind, ProblemKind};
///
/// let text = Arguments::parse("[1,2]");
/// assert_eq!(text.problem().unwrap().kind(), ProblemKind::Fault(FaultKind::NotAnObject));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// A byte that the grammar does not allow here.
    Unexpected,
    /// A raw control character inside a string.
    ControlCharacter,
    /// A backslash followed by what is no escape.
    BadEscape,
    /// Half of a surrogate pair.
    LoneSurrogate,
    /// A number that JSON does not spell so.
    BadNumber,
    /// A number too large for a double.
    NumberOutOfRange,
    /// More containers one inside the other than are read.
    TooDeep,
    /// Text after the object.
    Trailing,
    /// JSON, but not an object.
    NotAnObject,
}

/// What an object does not show of the text it was read from.
///
/// # Examples
///
/// ```
/// use callstitch::Arguments;
///
/// let fidelity = Arguments::parse(r#"{"n":123456789012345678901234567890}"#).fidelity();
/// assert!(fidelity.inexact_integer && !fidelity.repeated_key);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Fidelity {
    /// A key came twice in one object; the last value won.
    pub repeated_key: bool,
    /// An integer fits no 64 bits and became the nearest double. The text still has its digits.
    pub inexact_integer: bool,
}

/// How a text ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// One object.
    Whole,
    /// At a point where more was grammatical.
    Cut,
    /// Malformed from this byte on.
    Fault(FaultKind, usize),
}

/// A text's object and how it ended.
#[derive(Debug, Clone)]
pub(crate) struct Ended {
    pub(crate) object: Map<String, Value>,
    pub(crate) end: End,
    /// The path that was being written at the end.
    pub(crate) open_path: Vec<PathSegment<'static>>,
    /// Where the text begins that is not in the object: a cut number, literal, key or escape.
    pub(crate) dropped_at: Option<usize>,
    /// The object was held by a JSON string.
    pub(crate) wrapped: bool,
    /// It ended inside a key.
    pub(crate) in_key: bool,
    pub(crate) fidelity: Fidelity,
}

/// Reads a whole text to its end by the rules of strict recovery. Never errors; O(n), no recursion.
pub(crate) fn recover(text: &str, max_depth: usize) -> Ended {
    let mut reader = PartialReader::new(max_depth);
    reader.advance(text);
    reader.finish(text)
}

impl PartialReader {
    /// Says that no more will come after `raw`, which was read to its end.
    ///
    /// A value that an error touches (the newest one, if no comma or closer followed it) is taken out: a quote too many
    /// inside a string would otherwise leave half a string that looks whole.
    pub(crate) fn finish(self, raw: &str) -> Ended {
        let progress = self.progress();
        let open_path = self.open_path();
        let (mut root, mut core, wrapper) = self.into_parts();
        let text = wrapper
            .as_deref()
            .map_or(raw, |wrapper| wrapper.inner.as_str());

        let held = core.held_from(text);
        let mut fault = match progress {
            Progress::Stopped { kind, at } => Some((kind, at)),
            _ => None,
        };
        let was = core.before_stop();
        if fault.is_some() && matches!(was, State::Text | State::AfterValue) {
            core.drop_newest(&mut root);
        }
        let mut dropped_at = held;
        if let Some(wrapper) = wrapper.as_deref() {
            // A string whose content is anything but an object's text is a string, and that is what is wrong with it.
            let nothing = matches!(core.state, State::Start)
                || matches!(
                    core.state,
                    State::Stopped(FaultKind::NotAnObject | FaultKind::Unexpected, _)
                ) && was == State::Start;
            if nothing && !super::trim(&wrapper.inner).is_empty() {
                fault = Some((FaultKind::NotAnObject, 0));
                dropped_at = Some(0);
            } else {
                let outer = |at| WrapperOffsets::of(raw).outer(at);
                dropped_at = dropped_at.map(outer).or(wrapper.held_from(raw));
            }
        } else if let Some((FaultKind::NotAnObject, at)) = fault
            && !is_json(text)
        {
            // The first byte alone told the reader so.
            fault = Some((FaultKind::Unexpected, at));
        }
        let end = match fault {
            Some((kind, at)) => End::Fault(kind, at),
            None if progress == Progress::Closed => End::Whole,
            None => End::Cut,
        };
        let object = match root {
            Value::Object(members) => members,
            _ => Map::new(),
        };
        Ended {
            object,
            end,
            open_path,
            dropped_at,
            wrapped: wrapper.is_some(),
            in_key: core.state == State::Key,
            fidelity: core.fidelity,
        }
    }
}

/// Whether the text is JSON, or an array's that was cut. O(n).
fn is_json(text: &str) -> bool {
    match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Ok(_) => true,
        Err(error) => error.is_eof() && super::trim(text).starts_with('['),
    }
}

/// Where decoded bytes of a string come from, asked in rising order: O(n) in all.
pub(super) struct WrapperOffsets<'t> {
    bytes: &'t [u8],
    at: usize,
    decoded: usize,
}

impl<'t> WrapperOffsets<'t> {
    /// Of a text that is itself a string.
    pub(super) fn of(raw: &'t str) -> Self {
        Self::new(raw, raw.find('"').map_or(0, |quote| quote + 1))
    }

    /// Of the string content that begins at `from`.
    pub(super) fn new(raw: &'t str, from: usize) -> Self {
        WrapperOffsets {
            bytes: raw.as_bytes(),
            at: from,
            decoded: 0,
        }
    }

    /// The offset in the raw text of this decoded byte.
    pub(super) fn outer(&mut self, inner_at: usize) -> usize {
        while self.decoded < inner_at {
            let (read, made) = match (self.bytes.get(self.at), self.bytes.get(self.at + 1)) {
                (Some(b'\\'), Some(b'u')) => unicode_length(self.bytes, self.at),
                (Some(b'\\'), Some(&letter)) if simple_escape(letter).is_some() => (2, 1),
                (Some(_), _) => (1, 1),
                (None, _) => break,
            };
            self.at += read;
            self.decoded += made;
        }
        self.at
    }
}

/// How long a `\u` escape is, its other half included, and how many bytes of UTF-8 it makes.
fn unicode_length(bytes: &[u8], at: usize) -> (usize, usize) {
    use super::text::{Escape, escape};
    match escape(bytes, at, 0) {
        Escape::Char(c, length) => (length, c.len_utf8()),
        Escape::High(high) => match escape(bytes, at + UNICODE_ESCAPE, high) {
            Escape::Char(_, length) if bytes.get(at + UNICODE_ESCAPE) == Some(&b'\\') => {
                (UNICODE_ESCAPE + length, 4)
            }
            // A half without its other half stays as it is.
            _ => (1, 1),
        },
        _ => (1, 1),
    }
}
