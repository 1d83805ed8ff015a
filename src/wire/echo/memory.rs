//! A document that is recognised by its bytes.

use super::lesson::Lesson;
use crate::delta::{Delta, DeltaSink, Fragment, Piece, Pieces, Whose};
use crate::framing::{Frame, valid_prefix};
use crate::json::cursor::{Cursor, append_string, ascii_string, short_integer, spaces};

/// A document with holes.
pub(super) struct Memory {
    pub(super) event: Option<String>,
    pub(super) said: Whose,
    /// What stands before each hole, and the hole.
    pub(super) parts: Vec<(Literal, Hole)>,
    pub(super) tail: Literal,
    /// The first literal and the tail of the document with what a framing put before and after it.
    pub(super) framed: Option<Framed>,
}

pub(super) struct Framed {
    pub(super) first: Literal,
    pub(super) tail: Literal,
    /// No event that repeats this one is shorter.
    shortest: usize,
}

/// Bytes that stand in every repetition.
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

    /// Where the literal ends, if it stands in `bytes` at this place.
    #[inline(always)]
    fn end(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let (rest, end) = (bytes.get(at..)?, at + self.bytes.len());
        let stands = match rest.first_chunk() {
            Some(head) if self.bytes.len() <= head.len() => {
                (u128::from_le_bytes(*head) ^ self.head) & self.mask == 0
            }
            _ => rest.starts_with(&self.bytes),
        };
        stands.then_some(end)
    }
}

/// What a repeated document says that is its own, beside its text, and where it ends.
struct Heard {
    index: Option<u32>,
    end: usize,
    /// Bytes of the text; what was appended after them does not count.
    length: usize,
}

/// So many pieces are said in one word, of about so many bytes: by then a word costs a piece little. Of many bytes more are
/// gathered: the processor reads ahead where one follows the other, and loses its place where calls that arrive side by side are
/// touched in between.
const PIECES: usize = 16;
const MORE_PIECES: usize = 64;
const MANY_BYTES: usize = 8 << 10;
const PIECES_BYTES: usize = 4 << 10;
/// No more is looked at in one go, so that places in it are small numbers.
const SHOWN_BYTES: usize = 1 << 30;

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
    /// Spaces between two tokens, or none: some services pad their events so.
    Spaces,
}

/// What two documents have in common, so far.
#[derive(Default)]
struct Common {
    parts: Vec<(Literal, Hole)>,
    /// What came since the last hole.
    literal: Vec<u8>,
    in_string: bool,
    after_backslash: bool,
}

impl Common {
    fn hole(&mut self, hole: Hole) {
        let before = std::mem::take(&mut self.literal);
        self.parts.push((Literal::new(before), hole));
    }

    /// Takes what stands next in both, with a hole wherever they differ in spaces between two tokens; `None` where they differ in
    /// anything else.
    fn take(&mut self, one: &str, other: &str) -> Option<()> {
        let (mut one, mut other) = (one.as_bytes(), other.as_bytes());
        loop {
            match (one, other) {
                ([], []) => return Some(()),
                ([byte, rest @ ..], [same, other_rest @ ..]) if byte == same => {
                    self.in_string ^= *byte == b'"' && !self.after_backslash;
                    self.after_backslash = *byte == b'\\' && !self.after_backslash;
                    self.literal.push(*byte);
                    (one, other) = (rest, other_rest);
                }
                ([b' ', ..], _) | (_, [b' ', ..]) if !self.in_string => {
                    // Those that both have belong to the hole.
                    let solid = self.literal.iter().rposition(|byte| *byte != b' ');
                    self.literal.truncate(solid.map_or(0, |at| at + 1));
                    self.hole(Hole::Spaces);
                    (one, other) = (without_spaces(one), without_spaces(other));
                }
                _ => return None,
            }
        }
    }
}

fn without_spaces(bytes: &[u8]) -> &[u8] {
    bytes.get(spaces(bytes, 0)..).unwrap_or_default()
}

impl Memory {
    /// What two documents have in common, if they differ in nothing but what may differ.
    pub(super) fn of(one: &Lesson, other: &Lesson) -> Option<Memory> {
        if one.event != other.event
            || one.said.labelled(Some(0)) != other.said.labelled(Some(0))
            || one.holes().len() != other.holes().len()
        {
            return None;
        }
        let mut common = Common::default();
        let (mut from, mut other_from) = (0, 0);
        for ((place, hole), (other_place, other_hole)) in one.holes().zip(other.holes()) {
            let before = one.document.get(from..place.start)?;
            common.take(before, other.document.get(other_from..other_place.start)?)?;
            if hole != other_hole {
                return None;
            }
            let (content, other_content) = (
                one.document.get(place.clone())?,
                other.document.get(other_place.clone())?,
            );
            if content == other_content && hole != Hole::Text {
                common.literal.extend_from_slice(content.as_bytes());
            } else if hole != Hole::Index || one.is_index(content) && other.is_index(other_content)
            {
                common.hole(hole);
            } else {
                return None;
            }
            (from, other_from) = (place.end, other_place.end);
        }
        let tail = one.document.get(from..)?;
        common.take(tail, other.document.get(other_from..)?)?;
        let Common { parts, literal, .. } = common;
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
            let first = Literal::new([before, &first.bytes].concat());
            let tail = Literal::new([&self.tail.bytes, after].concat());
            let between = self.parts.iter().skip(1);
            let between = between
                .map(|(literal, _)| literal.bytes.len())
                .sum::<usize>();
            self.framed = Some(Framed {
                shortest: first.bytes.len() + between + tail.bytes.len(),
                first,
                tail,
            });
        }
    }

    /// Says what this document says, if it repeats the memory's.
    #[inline]
    pub(super) fn say(
        &self,
        document: &str,
        fits: impl Fn(i64) -> bool,
        scratch: &mut Vec<u8>,
        sink: &mut dyn DeltaSink,
    ) -> bool {
        match self.first(document.as_bytes(), None, fits, scratch) {
            Some((delta, end)) if end == document.len() => {
                sink.delta(&delta);
                true
            }
            _ => false,
        }
    }

    /// What the document that begins `bytes` says, if it repeats this one and that is UTF-8; and where it ends.
    #[inline(always)]
    fn first<'a>(
        &self,
        bytes: &[u8],
        framed: Option<&Framed>,
        fits: impl Fn(i64) -> bool,
        scratch: &'a mut Vec<u8>,
    ) -> Option<(Delta<'a>, usize)> {
        scratch.clear();
        let heard = self.recognise(bytes, framed, fits, scratch)?;
        let text = match str::from_utf8(scratch) {
            Ok(padded) => Fragment::padded(padded, heard.length)?,
            Err(_) => Fragment::new(str::from_utf8(scratch.get(..heard.length)?).ok()?),
        };
        let whose = self.said.labelled(heard.index.map(i64::from));
        Some((whose.says(text), heard.end))
    }

    /// Says what the documents say that begin `bytes` one after another, each with its framing; gives the length of all.
    ///
    /// Nobody has looked at these bytes before. Literals are UTF-8, as they were that of a text; so are digits and plain ASCII;
    /// what the documents say is checked here. Their texts are gathered and said in one word: each must be UTF-8 by itself, that
    /// is, end between two characters.
    #[inline]
    pub(super) fn say_all(
        &self,
        bytes: &[u8],
        offset: u64,
        fits: impl Fn(i64) -> bool,
        scratch: &mut Vec<u8>,
        sink: &mut dyn DeltaSink,
    ) -> usize {
        let Some(framed) = &self.framed else {
            return 0;
        };
        if bytes.len() < framed.shortest {
            return 0;
        }
        // An event alone in its chunk needs no gathering.
        if bytes.len() < 2 * framed.shortest {
            let Some((delta, end)) = self.first(bytes, Some(framed), fits, scratch) else {
                return 0;
            };
            sink.at(offset);
            sink.delta(&delta);
            return end;
        }
        if bytes.len() < MANY_BYTES {
            self.gather::<PIECES>(framed, bytes, offset, fits, scratch, sink)
        } else {
            self.gather::<MORE_PIECES>(framed, bytes, offset, fits, scratch, sink)
        }
    }

    #[inline]
    fn gather<const COUNT: usize>(
        &self,
        framed: &Framed,
        bytes: &[u8],
        offset: u64,
        fits: impl Fn(i64) -> bool,
        scratch: &mut Vec<u8>,
        sink: &mut dyn DeltaSink,
    ) -> usize {
        let mut rest = bytes.get(..SHOWN_BYTES).unwrap_or(bytes);
        let shown = rest.len();
        loop {
            let behind = shown - rest.len();
            scratch.clear();
            let mut pieces = [Piece::default(); COUNT];
            let (mut count, mut end) = (0, 0);
            while end < PIECES_BYTES
                && rest.len() >= framed.shortest
                && let Some(piece) = pieces.get_mut(count)
                && let Some(heard) = self.recognise(rest, Some(framed), &fits, scratch)
            {
                end += heard.length;
                scratch.truncate(end);
                *piece = Piece {
                    end: end as u32,
                    behind: (shown - rest.len() - behind) as u32,
                    index: heard.index,
                };
                count += 1;
                rest = rest.get(heard.end..).unwrap_or_default();
            }
            let text = valid_prefix(scratch.get(..end).unwrap_or_default());
            let heard = pieces.get(..count).unwrap_or_default();
            let pieces = Pieces {
                whose: self.said,
                offset: offset + behind as u64,
                text,
                pieces: whole(heard, text, end),
            };
            if !pieces.pieces.is_empty() {
                sink.pieces(pieces);
            }
            if let Some(bad) = heard.get(pieces.pieces.len()) {
                return behind + bad.behind as usize;
            }
            if rest.len() < framed.shortest || (count < COUNT && end < PIECES_BYTES) {
                return shown - rest.len();
            }
        }
    }

    /// What the document that begins `bytes`, with or without its framing, says if it repeats this one. Its text is appended to
    /// `out`, as some of it may be where there is no such document.
    #[inline(always)]
    fn recognise(
        &self,
        bytes: &[u8],
        framed: Option<&Framed>,
        fits: impl Fn(i64) -> bool,
        out: &mut Vec<u8>,
    ) -> Option<Heard> {
        let (mut first, tail) = match framed {
            Some(framed) => (Some(&framed.first), &framed.tail),
            None => (None, &self.tail),
        };
        let (mut text, mut index) = (None, None);
        let mut at = 0;
        for (literal, hole) in &self.parts {
            at = first.take().unwrap_or(literal).end(bytes, at)?;
            at = match hole {
                Hole::Text => {
                    let (end, length) = append_string(bytes, at, out)?;
                    // A decoder may leave out an empty text.
                    text = Some(length).filter(|_| end > at);
                    end
                }
                Hole::SkippedString => ascii_string(bytes, at)?,
                Hole::SkippedNumber => Cursor::number_end(bytes, at)?,
                Hole::Spaces => at + spaces(bytes, at),
                Hole::Index => {
                    let (value, length) = short_integer(bytes, at)?;
                    index = u32::try_from(value).ok().filter(|_| fits(value));
                    index?;
                    at + length
                }
            };
        }
        Some(Heard {
            index,
            end: tail.end(bytes, at)?,
            length: text?,
        })
    }
}

/// The pieces before the first that is no UTF-8 by itself. `text` is what is UTF-8 of all their `length` bytes.
#[inline]
fn whole<'p>(pieces: &'p [Piece], text: &str, length: usize) -> &'p [Piece] {
    if text.len() == length && text.is_ascii() {
        return pieces;
    }
    let is_bad = |piece: &Piece| !text.is_char_boundary(piece.end as usize);
    let count = pieces.iter().position(is_bad).unwrap_or(pieces.len());
    pieces.get(..count).unwrap_or_default()
}
