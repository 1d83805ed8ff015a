//! A document that is recognised by its bytes.

use super::Said;
use super::lesson::Lesson;
use crate::delta::Fragment;
use crate::framing::Frame;
use crate::json::cursor::{Stop, ascii_string, decode, next_special, short_integer};

/// A document with holes.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) event: Option<String>,
    pub(super) said: Said,
    /// What stands before each hole, and the hole.
    pub(super) parts: Vec<(Literal, Hole)>,
    pub(super) tail: Literal,
    /// The first literal and the tail of the document with what a framing put before and after it.
    pub(super) framed: Option<Framed>,
}

#[derive(Debug)]
pub(super) struct Framed {
    pub(super) first: Literal,
    pub(super) tail: Literal,
}

/// Bytes that stand in every repetition.
#[derive(Debug)]
pub(super) struct Literal {
    bytes: Box<[u8]>,
    /// The first bytes as a number, and which of its bits are theirs: a short literal is compared so, for a call of a function
    /// that compares bytes costs more than that.
    head: u128,
    mask: u128,
}

impl Literal {
    fn new(bytes: impl Into<Box<[u8]>>) -> Self {
        let bytes = bytes.into();
        let mut head = [0; size_of::<u128>()];
        let mut mask = head;
        for ((head, mask), byte) in head.iter_mut().zip(&mut mask).zip(&bytes) {
            (*head, *mask) = (*byte, 0xff);
        }
        Literal {
            bytes,
            head: u128::from_le_bytes(head),
            mask: u128::from_le_bytes(mask),
        }
    }

    /// Where the literal ends, if it stands at `at`.
    #[inline(always)]
    fn after(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let rest = bytes.get(at..)?;
        let stands = match rest.first_chunk() {
            Some(head) if self.bytes.len() <= head.len() => {
                (u128::from_le_bytes(*head) ^ self.head) & self.mask == 0
            }
            _ => rest.starts_with(&self.bytes),
        };
        stands.then_some(at + self.bytes.len())
    }
}

/// What a repeated document says that is its own, and where it ends.
pub(super) struct Heard<'a> {
    pub(super) text: Fragment<'a>,
    pub(super) index: Option<i64>,
    pub(super) end: usize,
}

/// A place that differs from document to document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hole {
    /// The text that is said.
    Text,
    /// The call's index.
    Index,
    /// A string, and a number, that nobody reads.
    SkippedString,
    SkippedNumber,
}

impl Memory {
    /// What two documents have in common, if they differ in nothing but what may differ.
    pub(super) fn of(one: &Lesson, other: &Lesson) -> Option<Memory> {
        if one.event != other.event
            || !one.said.is_like(other.said)
            || one.holes.len() != other.holes.len()
        {
            return None;
        }
        let mut parts = Vec::new();
        let mut literal = Vec::new();
        let (mut from, mut other_from) = (0, 0);
        for ((place, hole), (other_place, other_hole)) in one.holes.iter().zip(&other.holes) {
            let before = one.document.get(from..place.start)?;
            if before != other.document.get(other_from..other_place.start)? || hole != other_hole {
                return None;
            }
            literal.extend_from_slice(before.as_bytes());
            let (content, other_content) = (
                one.document.get(place.clone())?,
                other.document.get(other_place.clone())?,
            );
            if content == other_content && *hole != Hole::Text {
                literal.extend_from_slice(content.as_bytes());
            } else {
                parts.push((Literal::new(std::mem::take(&mut literal)), *hole));
            }
            (from, other_from) = (place.end, other_place.end);
        }
        let tail = one.document.get(from..)?;
        if tail != other.document.get(other_from..)? {
            return None;
        }
        literal.extend_from_slice(tail.as_bytes());
        // Another index must stand in exactly one place, or it is not known which of two places says it.
        let indexes = parts
            .iter()
            .filter(|(_, hole)| *hole == Hole::Index)
            .count();
        if indexes != usize::from(one.said != other.said) {
            return None;
        }
        Some(Memory {
            event: other.event.clone(),
            said: other.said,
            parts,
            tail: Literal::new(literal),
            framed: None,
        })
    }

    /// Remembers what stands around a document that repeats this one. A CR at the end could be half of a line end.
    #[inline]
    pub(super) fn note_framing(&mut self, frame: &Frame<'_>) {
        let Some(raw) = frame.raw.filter(|raw| raw.last() == Some(&b'\n')) else {
            return;
        };
        let around = (frame.data.as_ptr() as usize)
            .checked_sub(raw.as_ptr() as usize)
            .and_then(|at| {
                let after = at.checked_add(frame.data.len())?;
                Some((raw.get(..at)?, raw.get(after..)?))
            });
        if let (Some((before, after)), Some((first, _))) = (around, self.parts.first()) {
            self.framed = Some(Framed {
                first: Literal::new([before, &first.bytes].concat()),
                tail: Literal::new([&self.tail.bytes, after].concat()),
            });
        }
    }

    /// What the document that begins `text`, with or without its framing, says if it repeats this one.
    #[inline(always)]
    pub(super) fn recognise<'a>(
        &self,
        text: &'a str,
        framed: Option<&Framed>,
        fits: impl Fn(i64) -> bool,
        scratch: &'a mut Vec<u8>,
    ) -> Option<Heard<'a>> {
        let (mut first, tail) = match framed {
            Some(framed) => (Some(&framed.first), &framed.tail),
            None => (None, &self.tail),
        };
        let (mut said, mut index) = (None, None);
        let mut scratch = Some(scratch);
        let bytes = text.as_bytes();
        let mut at = 0;
        for (literal, hole) in &self.parts {
            at = first.take().unwrap_or(literal).after(bytes, at)?;
            at = match hole {
                Hole::Text => {
                    let (found, end) = string(text, at, scratch.take()?)?;
                    // A decoder may leave out an empty text.
                    said = Some(found).filter(|_| end > at);
                    end
                }
                Hole::SkippedString => ascii_string(bytes, at)?,
                Hole::SkippedNumber => at + short_integer(bytes.get(at..)?)?.1,
                Hole::Index => {
                    let (value, length) = short_integer(bytes.get(at..)?)?;
                    index = Some(value).filter(|&value| fits(value));
                    index?;
                    at + length
                }
            };
        }
        let end = tail.after(bytes, at)?;
        Some(Heard {
            text: said?,
            index,
            end,
        })
    }
}

/// The string whose content begins at `at`, and where its closing quote is; checked and decoded as the cursor does it.
#[inline(always)]
fn string<'a>(text: &'a str, at: usize, scratch: &'a mut Vec<u8>) -> Option<(Fragment<'a>, usize)> {
    let bytes = text.as_bytes();
    let end = next_special(bytes, at);
    if bytes.get(end) == Some(&b'"') {
        return Some((Fragment::unescaped(text.get(at..end)?), end));
    }
    scratch.clear();
    match decode(bytes, at, scratch) {
        (end, Stop::Quote) => {
            let text = simdutf8::basic::from_utf8(scratch).ok()?;
            Some((Fragment::new(text), end))
        }
        // Half a character is none; the cursor knows what to do with it.
        _ => None,
    }
}
