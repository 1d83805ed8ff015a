//! The memory of the last event: an event that repeats an earlier one but for its text is not parsed again.
//!
//! Letter to the next reader. A stream of deltas is one document over and over, in which one string (the piece of text), perhaps
//! the call's index, and values that nobody reads (sequence numbers, padding) differ. Two documents that were parsed in full
//! show which places those are. A later document that equals them byte for byte everywhere else puts the reader into the same
//! states, so that comparing is parsing:
//!
//! - A place that may differ was *skipped* by the decoder in both documents (the cursor's log says so), so what stands there
//!   has no part in what is said; or it is the text that was said; or an integer that was said as the call's index. What
//!   differs in any other way is never remembered.
//! - What stands in such a place is checked as the cursor would check it: a string ends at its quote and holds no control
//!   character, an escape only where it is the text, and no half of a character; a number is a plain integer. Anything rarer, and any
//!   other difference, is a miss: the document is parsed in full, and nothing was said before the last byte was compared.
//!
//! The bytes that a framing put around a recognised document are remembered too: a later frame that repeats them is taken
//! straight from the chunk, without a search for its end.
//!
//! This room knows no provider. It rests on one promise of the decoder ([`JsonDecoder::ECHOES`]), and forgets all when the
//! decoder's epoch changes.
//!
//! Misses cost: documents that never repeat are learned from ever more rarely ([`Echo::learns`]).
//!
//! [`JsonDecoder::ECHOES`]: super::payload::JsonDecoder::ECHOES

use std::cell::RefCell;
use std::ops::Range;

use crate::delta::{ArgumentsPart, CallDelta, Delta, DeltaSink, Fragment, Route, TextKind};
use crate::framing::Frame;
use crate::json::cursor::{Cursor, Log, ascii_string, escaped, plain_run};

/// How many documents are remembered: texts and arguments take turns.
const MEMORIES: usize = 4;
/// A longer document is parsed faster than it is kept.
const LONGEST: usize = 4096;
/// Lessons that may fail in a row before learning pauses.
const PATIENCE: u32 = 8;

#[derive(Debug, Default)]
pub(super) struct Echo {
    /// The most recently heard first.
    memories: Vec<Memory>,
    /// The document that was parsed last in a lesson.
    last: Option<Box<Lesson>>,
    /// Kept for its buffers.
    log: Log,
    /// The decoder's epoch that all of this is of.
    epoch: u32,
    /// Lessons that taught nothing since one that did.
    failures: u32,
    /// Documents to let pass before the next lesson.
    pause: u32,
    off: bool,
}

/// A document with holes.
#[derive(Debug)]
struct Memory {
    event: Option<String>,
    said: Said,
    /// What stands before each hole, and the hole.
    parts: Vec<(Box<[u8]>, Hole)>,
    tail: Box<[u8]>,
    /// The first literal and the tail of the document with what a framing put before and after it.
    framed: Option<Framed>,
}

#[derive(Debug)]
struct Framed {
    first: Box<[u8]>,
    tail: Box<[u8]>,
}

/// What a repeated document says that is its own, and where it ends.
struct Heard<'a> {
    text: Fragment<'a>,
    index: Option<i64>,
    end: usize,
}

/// A place that differs from document to document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hole {
    /// The text that is said.
    Text,
    /// The call's index.
    Index,
    /// A string, and a number, that nobody reads.
    SkippedString,
    SkippedNumber,
}

/// The one thing that a document said, but for its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Arguments {
        choice: u32,
        index: Option<i64>,
        route: Route,
    },
    Text {
        choice: u32,
        kind: TextKind,
    },
}

/// A document that was parsed in full and said one thing.
#[derive(Debug)]
struct Lesson {
    document: String,
    event: Option<String>,
    said: Said,
    /// The places that may differ, in their order.
    holes: Vec<(Range<usize>, Hole)>,
}

impl Echo {
    pub(super) fn set(&mut self, on: bool) {
        *self = Echo {
            off: !on,
            ..Echo::default()
        };
    }

    /// Says what a remembered document says, if this one repeats it. Cost: one comparison of its bytes.
    #[inline]
    pub(super) fn hear(
        &mut self,
        frame: &Frame<'_>,
        epoch: u32,
        fits: impl Fn(i64) -> bool,
        scratch: &mut Vec<u8>,
        sink: &mut dyn DeltaSink,
    ) -> bool {
        let bytes = frame.data.as_bytes();
        for at in 0..self.remembered(epoch) {
            let Some(memory) = self.memories.get_mut(at) else {
                return false;
            };
            let heard = memory.recognise(bytes, None, &fits, scratch);
            let Some(heard) = heard.filter(|heard| heard.end == bytes.len()) else {
                continue;
            };
            if frame.event != memory.event.as_deref() {
                continue;
            }
            memory.said.say(&heard, sink);
            memory.note_framing(frame);
            self.heard(at);
            return true;
        }
        false
    }

    /// As [`hear`](Echo::hear), for a frame that begins the bytes of a chunk; gives its length.
    #[inline]
    pub(super) fn hear_bytes(
        &mut self,
        rest: &[u8],
        epoch: u32,
        fits: impl Fn(i64) -> bool,
        scratch: &mut Vec<u8>,
        sink: &mut dyn DeltaSink,
    ) -> usize {
        for at in 0..self.remembered(epoch) {
            let Some(memory) = self.memories.get(at) else {
                return 0;
            };
            let Some(framed) = &memory.framed else {
                continue;
            };
            let Some(heard) = memory.recognise(rest, Some(framed), &fits, scratch) else {
                continue;
            };
            memory.said.say(&heard, sink);
            let length = heard.end;
            self.heard(at);
            return length;
        }
        0
    }

    /// What was heard is asked first the next time.
    #[inline]
    fn heard(&mut self, at: usize) {
        if at > 0 {
            self.memories.swap(0, at);
        }
    }

    /// How many memories there are of this epoch.
    #[inline]
    fn remembered(&mut self, epoch: u32) -> usize {
        if self.epoch != epoch {
            self.memories.clear();
            self.last = None;
            self.epoch = epoch;
        }
        self.memories.len()
    }

    /// Whether the next document is to be parsed as a lesson. Failures make lessons rare: at most one in a thousand documents.
    #[inline]
    pub(super) fn learns(&mut self, frame: &Frame<'_>) -> bool {
        let long = |text: &str| text.len() > LONGEST;
        if self.off || long(frame.data) || frame.event.is_some_and(long) {
            return false;
        }
        if self.pause > 0 {
            self.pause -= 1;
            return false;
        }
        true
    }

    /// Parses a document as a lesson: `parse` gets a cursor that keeps a log, and a sink that listens, and tells whether the
    /// epoch is still the same.
    #[cold]
    pub(super) fn learn<E>(
        &mut self,
        frame: &Frame<'_>,
        epoch: u32,
        sink: &mut dyn DeltaSink,
        parse: impl FnOnce(Cursor<'_>, &mut dyn DeltaSink) -> Result<bool, E>,
    ) -> Result<(), E> {
        self.remembered(epoch);
        let mut listener = Listener {
            sink,
            data: frame.data,
            heard: Listened::Nothing,
        };
        self.log.skipped.clear();
        self.log.integers.clear();
        let log = RefCell::new(std::mem::take(&mut self.log));
        let parsed = parse(Cursor::logged(frame.data, &log), &mut listener);
        self.log = log.into_inner();
        let same_epoch = parsed?;
        let (Listened::One(said, text), true) = (listener.heard, same_epoch) else {
            return Ok(());
        };
        let lesson = Lesson::new(frame, said, text, &self.log);
        let memory = self
            .last
            .as_deref()
            .and_then(|last| Memory::of(last, &lesson));
        self.last = Some(Box::new(lesson));
        match memory {
            Some(memory) => {
                self.failures = 0;
                self.memories.insert(0, memory);
                self.memories.truncate(MEMORIES);
            }
            None => {
                self.failures += 1;
                // Then two lessons, as one alone teaches nothing, and a longer pause.
                if self.failures >= PATIENCE && self.failures.is_multiple_of(2) {
                    self.pause = 32 << ((self.failures - PATIENCE).min(12) / 2);
                }
            }
        }
        Ok(())
    }
}

impl Said {
    #[inline(always)]
    fn say(self, heard: &Heard<'_>, sink: &mut dyn DeltaSink) {
        let text = heard.text;
        sink.delta(&match self {
            Said::Arguments {
                choice,
                index,
                route,
            } => Delta::Arguments {
                choice,
                index: heard.index.or(index),
                route,
                text,
            },
            Said::Text { choice, kind } => Delta::Text { choice, kind, text },
        });
    }

    /// The same thing said of another call?
    fn is_like(self, other: Said) -> bool {
        self.of_any_call() == other.of_any_call()
    }

    fn of_any_call(self) -> Said {
        match self {
            Said::Arguments {
                choice,
                index,
                route,
            } => Said::Arguments {
                choice,
                index: index.map(|_| 0),
                route,
            },
            Said::Text { .. } => self,
        }
    }
}

impl Lesson {
    fn new(frame: &Frame<'_>, said: Said, text: Range<usize>, log: &Log) -> Self {
        let bytes = frame.data.as_bytes();
        let quoted = |place: &Range<usize>| {
            place.start.checked_sub(1).and_then(|at| bytes.get(at)) == Some(&b'"')
        };
        let skipped = log.skipped.iter().map(|place| {
            (
                place.clone(),
                if quoted(place) {
                    Hole::SkippedString
                } else {
                    Hole::SkippedNumber
                },
            )
        });
        let index = match said {
            Said::Arguments { index, .. } => index,
            Said::Text { .. } => None,
        };
        let integers = log
            .integers
            .iter()
            .filter(|(_, value)| Some(*value) == index);
        let mut holes: Vec<_> = skipped
            .chain(integers.map(|(place, _)| (place.clone(), Hole::Index)))
            .collect();
        holes.push((text.clone(), Hole::Text));
        holes.sort_by_key(|(place, _)| place.start);
        Lesson {
            document: frame.data.to_owned(),
            event: frame.event.map(str::to_owned),
            said,
            holes,
        }
    }
}

impl Memory {
    /// What two documents have in common, if they differ in nothing but what may differ.
    fn of(one: &Lesson, other: &Lesson) -> Option<Memory> {
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
                parts.push((std::mem::take(&mut literal).into_boxed_slice(), *hole));
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
            tail: literal.into_boxed_slice(),
            framed: None,
        })
    }

    /// Remembers what stands around a document that repeats this one. A CR at the end could be half of a line end.
    #[inline]
    fn note_framing(&mut self, frame: &Frame<'_>) {
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
                first: [before, first].concat().into(),
                tail: [&self.tail, after].concat().into(),
            });
        }
    }

    /// What the document that begins `bytes`, with or without its framing, says if it repeats this one.
    #[inline(always)]
    fn recognise<'a>(
        &self,
        bytes: &'a [u8],
        framed: Option<&Framed>,
        fits: impl Fn(i64) -> bool,
        scratch: &'a mut Vec<u8>,
    ) -> Option<Heard<'a>> {
        let (mut first, tail) = match framed {
            Some(framed) => (Some(&*framed.first), &*framed.tail),
            None => (None, &*self.tail),
        };
        let (mut text, mut index) = (None, None);
        let mut scratch = Some(scratch);
        let mut rest = bytes;
        for (literal, hole) in &self.parts {
            rest = rest.strip_prefix(first.take().unwrap_or(literal))?;
            let length = match hole {
                Hole::Text => {
                    let (found, length) = string(rest, scratch.take()?)?;
                    // A decoder may leave out an empty text.
                    text = Some(found).filter(|_| length > 0);
                    length
                }
                Hole::SkippedString => ascii_string(rest)?,
                Hole::SkippedNumber => integer(rest)?.1,
                Hole::Index => {
                    let (value, length) = integer(rest)?;
                    index = Some(value).filter(|&value| fits(value));
                    index?;
                    length
                }
            };
            rest = rest.get(length..)?;
        }
        rest = rest.strip_prefix(tail)?;
        let end = bytes.len() - rest.len();
        Some(Heard {
            text: text?,
            index,
            end,
        })
    }
}

/// The string that begins `rest`, after its quote, and the length of its content; checked and decoded as the cursor does it.
#[inline(always)]
fn string<'a>(rest: &'a [u8], scratch: &'a mut Vec<u8>) -> Option<(Fragment<'a>, usize)> {
    let mut at = plain_run(rest);
    let (plain, after) = rest.split_at_checked(at)?;
    if after.first() == Some(&b'"') {
        return Some((Fragment::unescaped(std::str::from_utf8(plain).ok()?), at));
    }
    scratch.clear();
    scratch.extend_from_slice(plain);
    let mut after = after;
    loop {
        let length = match *after {
            [b'"', ..] => break,
            [b'\\', b'u', ..] => {
                let hex = std::str::from_utf8(after.get(2..6)?).ok()?;
                let hex = Some(hex).filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()))?;
                // Half a character is none; the cursor knows what to do with it.
                let c = char::from_u32(u32::from_str_radix(hex, 16).ok()?)?;
                scratch.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                6
            }
            [b'\\', byte, ..] => {
                scratch.push(escaped(byte)?);
                2
            }
            _ => return None,
        };
        after = after.get(length..)?;
        let run = plain_run(after);
        let (plain, rest) = after.split_at_checked(run)?;
        scratch.extend_from_slice(plain);
        at += length + run;
        after = rest;
    }
    Some((Fragment::new(std::str::from_utf8(scratch).ok()?), at))
}

/// A plain integer of at most fifteen digits, and its length. What follows it is compared by the caller.
#[inline]
fn integer(bytes: &[u8]) -> Option<(i64, usize)> {
    let mut value = 0;
    let mut length = 0;
    for digit in bytes.iter().map(|byte| byte.wrapping_sub(b'0')) {
        if digit > 9 {
            break;
        }
        value = value * 10 + i64::from(digit);
        length += 1;
        if length > 15 {
            return None;
        }
    }
    let padded = length > 1 && bytes.first() == Some(&b'0');
    (length > 0 && !padded).then_some((value, length))
}

/// Passes deltas on and notes whether there was exactly one that a memory can say again.
struct Listener<'s> {
    sink: &'s mut dyn DeltaSink,
    data: &'s str,
    heard: Listened,
}

enum Listened {
    Nothing,
    One(Said, Range<usize>),
    More,
}

impl DeltaSink for Listener<'_> {
    fn delta(&mut self, delta: &Delta<'_>) {
        self.heard = match self.heard {
            Listened::Nothing => self.one(delta).unwrap_or(Listened::More),
            _ => Listened::More,
        };
        self.sink.delta(delta);
    }
}

impl Listener<'_> {
    fn one(&self, delta: &Delta<'_>) -> Option<Listened> {
        let (said, text) = match delta {
            Delta::Arguments {
                choice,
                index,
                route,
                text,
            } => (
                Said::Arguments {
                    choice: *choice,
                    index: *index,
                    route: *route,
                },
                *text,
            ),
            Delta::Call(call) => {
                let ArgumentsPart::Fragment(text) = call.arguments else {
                    return None;
                };
                let (choice, index, route) = (call.key.choice, call.key.index, call.route);
                let mut bare = CallDelta::new().choice(choice).index(index).route(route);
                bare.arguments = call.arguments;
                if *call != bare || route == Route::Opens {
                    return None;
                }
                (
                    Said::Arguments {
                        choice,
                        index,
                        route,
                    },
                    text,
                )
            }
            Delta::Text { choice, kind, text } => (
                Said::Text {
                    choice: *choice,
                    kind: *kind,
                },
                *text,
            ),
            _ => return None,
        };
        self.place(text).map(|place| Listened::One(said, place))
    }

    /// Where in the document a text stands, if it stands there as it is, between quotes.
    fn place(&self, text: Fragment<'_>) -> Option<Range<usize>> {
        if text.text.is_empty() || text.low.is_some() || text.high.is_some() {
            return None;
        }
        let start = (text.text.as_ptr() as usize).checked_sub(self.data.as_ptr() as usize)?;
        let end = start.checked_add(text.text.len())?;
        let quote = |at: usize| self.data.as_bytes().get(at) == Some(&b'"');
        (quote(start.checked_sub(1)?) && quote(end)).then_some(start..end)
    }
}
