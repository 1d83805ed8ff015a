//! The argument text of a call that is still arriving: how a piece joins it, what a piece may say again, and the whole text
//! restated beside it.

use super::{PartialCall, replace};
use crate::anomaly::AnomalyKind;
use crate::call::settle::says_nothing;
use crate::delta::{ArgumentsPart, Fragment};
use crate::json::{Scan, join_halves};

/// What a part of the text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Piece,
    /// A whole value, as the wire says.
    Whole,
    /// A whole value that was read as an object.
    Object,
}

/// The whole text again, from an event with authority over the fragments.
#[derive(Debug, Clone)]
pub(super) enum Restated {
    No,
    /// It is the first so many bytes of the fragments: no second copy of a text that may be large.
    Beginning(usize),
    Other(String),
}

impl Restated {
    pub(super) fn is_some(&self) -> bool {
        !matches!(self, Restated::No)
    }

    pub(super) fn text<'t>(&'t self, fragments: &'t str) -> Option<&'t str> {
        match self {
            Restated::No => None,
            Restated::Beginning(length) => fragments.get(..*length),
            Restated::Other(text) => Some(text),
        }
    }

    /// The text, where it is another than that of the fragments.
    pub(super) fn different<'t>(&'t self, fragments: &'t str) -> Option<&'t str> {
        let is_same = matches!(self, Restated::Beginning(length) if *length == fragments.len());
        self.text(fragments).filter(|_| !is_same)
    }

    /// As [`different`](Restated::different).
    pub(super) fn other(self, fragments: &str) -> Option<String> {
        match self {
            Restated::Other(text) => Some(text),
            restated => restated.different(fragments).map(str::to_owned),
        }
    }
}

impl PartialCall {
    /// How long the text is with this part of it, or the other text that the part holds.
    pub(crate) fn length_with(&self, part: ArgumentsPart<'_>) -> usize {
        match part {
            ArgumentsPart::None => self.text.len(),
            ArgumentsPart::Fragment(fragment) => self.text.len() + fragment.text.len(),
            ArgumentsPart::Whole(text) => self.text.len() + text.len(),
            ArgumentsPart::Initial(text) | ArgumentsPart::Restated(text) => text.len(),
        }
    }

    /// Takes what a delta says of the arguments, a whole value perhaps that is an object's for certain; tells the liberty it took.
    #[inline]
    pub(crate) fn take_arguments(
        &mut self,
        part: ArgumentsPart<'_>,
        is_object: bool,
    ) -> Option<AnomalyKind> {
        match part {
            ArgumentsPart::Fragment(fragment) => self.append(fragment, Part::Piece),
            ArgumentsPart::Whole(text) => {
                let part = if is_object { Part::Object } else { Part::Whole };
                self.append(Fragment::new(text), part)
            }
            ArgumentsPart::None => None,
            ArgumentsPart::Initial(text) => {
                replace(&mut self.initial, text, &mut self.beside);
                None
            }
            ArgumentsPart::Restated(text) => {
                self.restate(text);
                None
            }
        }
    }

    /// A restated text that goes on where the fragments stopped gives the rest as a delta; any other waits for the close.
    fn restate(&mut self, text: &str) {
        let first = self.restated.text(&self.text).is_none_or(says_nothing);
        if first
            && self.high.is_none()
            && self.last_value == 0
            && let Some(rest) = text
                .strip_prefix(self.text.as_str())
                .filter(|rest| !rest.is_empty())
        {
            let goes_on = !self.is_whole();
            if goes_on {
                self.append(Fragment::new(rest), Part::Piece);
            }
        }
        // Of several restated texts the last that says something counts (R2).
        if self.restated.is_some() && says_nothing(text) {
            return;
        }
        if let Restated::Other(before) = &self.restated {
            self.beside = self.beside.saturating_sub(before.len());
        }
        self.restated = if !text.is_empty() && text == self.text {
            Restated::Beginning(text.len())
        } else {
            self.beside += text.len();
            Restated::Other(text.to_owned())
        };
    }

    /// Appends a piece that needs no second thought: no half of a character on either side, no value that may say again what
    /// was said. `None`, and nothing done, for any other.
    #[inline(always)]
    pub(crate) fn append_plain(&mut self, fragment: Fragment<'_>) -> Option<()> {
        let halves = fragment.low.is_some() || fragment.high.is_some() || self.high.is_some();
        if halves || self.last_is_whole || fragment.text.is_empty() {
            return None;
        }
        if may_open(fragment.text, 0) {
            let before = self.text.get(self.said_from..).unwrap_or_default();
            if !cannot_restate(fragment.text.len(), before) {
                return None;
            }
        }
        self.grow(fragment);
        self.scan.follow(&self.text);
        Some(())
    }

    /// Half again instead of twice: an open call holds at most 1.5 times its text.
    #[inline(always)]
    fn grow(&mut self, fragment: Fragment<'_>) {
        let length = fragment.padded.len();
        if self.text.capacity() - self.text.len() < length {
            self.text
                .reserve_exact((self.text.len() / 2).max(length).max(64));
        }
        fragment.push_to(&mut self.text);
    }

    fn append(&mut self, fragment: Fragment<'_>, part: Part) -> Option<AnomalyKind> {
        let (from, whole) = (self.text.len(), part != Part::Piece);
        let mut anomaly = None;
        if let Some(high) = self.high {
            if let Some(low) = fragment.low {
                self.text.push(join_halves(high, low));
                self.high = None;
            } else if !fragment.text.is_empty() || fragment.high.is_some() {
                self.text.push(char::REPLACEMENT_CHARACTER);
                self.high = None;
                anomaly = Some(AnomalyKind::LoneSurrogate);
            }
        } else if fragment.low.is_some() {
            self.text.push(char::REPLACEMENT_CHARACTER);
            anomaly = Some(AnomalyKind::LoneSurrogate);
        }
        self.grow(fragment);
        self.high = fragment.high.or(self.high);
        if from > 0 && (whole || opens_object(fragment.text)) {
            self.note_value(from, whole);
        }
        // A whole value after other text replaces nothing, and nothing replaces the two.
        let alone = whole && (from == 0 || self.last_value == from);
        self.last_is_whole = alone || (self.last_is_whole && fragment.text.trim().is_empty());
        if part == Part::Object && from == 0 && anomaly.is_none() {
            self.scan = Scan::of_object(&self.text);
            self.object = self.text.len();
        } else {
            self.scan.read_on(&self.text);
        }
        anomaly
    }

    /// Notes a fragment that opens a value and may say again all that came before it.
    fn note_value(&mut self, from: usize, whole: bool) {
        // White space at the beginning is skipped once, not for each fragment that asks; at the end it lies between two
        // fragments that ask, and is trimmed for one of them.
        let blank = self
            .text
            .get(self.said_from..from)
            .map_or(0, |text| text.len() - text.trim_start().len());
        self.said_from += blank;
        let (Some(before), Some(value)) =
            (self.text.get(self.said_from..from), self.text.get(from..))
        else {
            return;
        };
        let before = before.trim_end();
        // An empty object takes the place of nothing that was there (11.4.7).
        let empties = says_nothing(value) && !says_nothing(before);
        let replaces = whole && self.last_is_whole && !empties;
        let placeholder = before == "{}";
        let repeats = replaces || placeholder && whole || value.trim_start().starts_with(before);
        if repeats || placeholder {
            // The fragments behind a placeholder may be snapshots (Q36 with Q37).
            self.said_from = from;
        }
        if repeats || placeholder && self.last_value > 0 {
            self.last_value = from;
        }
    }

    /// No text comes any more: a half of a character that still waits for its other half is a lone one.
    pub(crate) fn end_text(&mut self) -> Option<AnomalyKind> {
        self.high.take()?;
        self.text.push(char::REPLACEMENT_CHARACTER);
        Some(AnomalyKind::LoneSurrogate)
    }
}

/// Whether a piece that begins here in a text may say again what was said: it opens an object.
#[inline(always)]
pub(crate) fn may_open(text: &str, at: usize) -> bool {
    let byte = |at: usize| text.as_bytes().get(at).copied().unwrap_or_default();
    let (first, second) = (byte(at), byte(at + 1));
    // No branch on the first byte alone: that a piece begins with a space cannot be foreseen.
    let may = (first == b'{') | ((first <= b' ') & ((second <= b' ') | (second == b'{')));
    may && text.get(at..).is_none_or(opens_object)
}

/// Whether a piece of this length cannot say again what came before it, which is longer without the white space around it.
#[inline]
pub(crate) fn cannot_restate(length: usize, before: &str) -> bool {
    let solid = |byte: Option<&u8>| matches!(byte, Some(b'!'..=b'~'));
    // White space at the end lies between two pieces that ask; at the beginning each would pass over it again.
    let before = before.as_bytes().trim_ascii_end();
    before != b"{}" && length < before.len() && solid(before.first()) && solid(before.last())
}

/// Whether a piece's first byte that is no white space opens an object.
fn opens_object(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.find(|byte| !byte.is_ascii_whitespace()) == Some(b'{')
}
