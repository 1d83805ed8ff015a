//! The memory of the last event: an event that repeats an earlier one but for its text is not parsed again.
//!
//! Letter to the next reader. A stream of deltas is one document over and over, in which one string (the piece of text), perhaps
//! the call's index, and values that nobody reads (sequence numbers, padding) differ. Two documents that were parsed in full
//! show which places those are. A later document that equals them byte for byte everywhere else puts the reader into the same
//! states, so that comparing is parsing:
//!
//! - A place that may differ was *skipped* by the decoder in both documents (the cursor's log says so), so what stands there
//!   has no part in what is said; or it is the text that was said, as it stands there or the only one that decodes to it; or an
//!   integer that was said as the call's index. What differs in any other way is never remembered.
//! - What stands in such a place is checked as the cursor would check it: a string ends at its quote and holds no control
//!   character, an escape only where it is the text, and no half of a character; a number is a plain integer. Anything rarer, and any
//!   other difference, is a miss: the document is parsed in full, and nothing was said before the last byte was compared.
//!
//! The bytes that a framing put around a recognised document are remembered too: a later frame that repeats them is taken
//! straight from the chunk, without a search for its end. Frames that follow each other so are told together
//! ([`Memory::say_all`]): the sink takes their texts as one where that is the same, and one by one where it is not.
//!
//! This room knows no provider. It rests on one promise of the decoder ([`JsonDecoder::ECHOES`]), and forgets all when the
//! decoder's epoch changes.
//!
//! Misses cost: documents that never repeat are learned from ever more rarely ([`Echo::learns`]).
//!
//! [`JsonDecoder::ECHOES`]: super::payload::JsonDecoder::ECHOES

mod lesson;
mod memory;

use std::cell::RefCell;

use crate::delta::DeltaSink;
use crate::framing::Frame;
use crate::json::cursor::{Cursor, Log};
use lesson::{Lesson, Listened, Listener};
use memory::Memory;

/// How many documents are remembered: texts and arguments take turns.
const MEMORIES: usize = 4;
/// Bytes of a document, so that what is remembered stays small: one that holds a single piece is far shorter.
const LONGEST: usize = 4096;
/// Lessons that may fail in a row before learning pauses.
const PATIENCE: u32 = 8;

#[derive(Default)]
pub(super) struct Echo {
    /// None until there is a document to learn from.
    past: Option<Box<Past>>,
    off: bool,
}

#[derive(Default)]
struct Past {
    /// The most recently heard first.
    memories: Vec<Memory>,
    /// The document that was parsed last in a lesson.
    last: Option<Box<Lesson>>,
    /// Kept for its buffers while nothing was learned.
    log: Log,
    /// The decoder's epoch that all of this is of.
    epoch: u32,
    /// Lessons that taught nothing since one that did.
    failures: u32,
    /// Documents to let pass before the next lesson.
    pause: u32,
}

impl Echo {
    pub(super) fn set(&mut self, on: bool) {
        *self = Echo {
            past: None,
            off: !on,
        };
    }

    /// Forgets all: a decoder that begins anew is in none of the states that what is remembered was said in.
    pub(super) fn forget(&mut self) {
        self.set(!self.off);
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
        let Some(past) = &mut self.past else {
            return false;
        };
        let data = frame.data;
        for at in 0..past.remembered(epoch) {
            let Some(memory) = past.memories.get_mut(at) else {
                return false;
            };
            if frame.event != memory.event.as_deref() || !memory.say(data, &fits, scratch, sink) {
                continue;
            }
            memory.note_framing(frame);
            past.heard(at);
            return true;
        }
        false
    }

    /// As [`hear`](Echo::hear), for the frames that begin the bytes of a chunk, at this offset; gives the length of all.
    #[inline]
    pub(super) fn hear_bytes(
        &mut self,
        rest: &[u8],
        offset: u64,
        epoch: u32,
        fits: impl Fn(i64) -> bool,
        scratch: &mut Vec<u8>,
        sink: &mut dyn DeltaSink,
    ) -> usize {
        let Some(past) = &mut self.past else {
            return 0;
        };
        let (mut taken, mut at) = (0, 0);
        let count = past.remembered(epoch);
        while at < count
            && let Some(memory) = past.memories.get(at)
            && let Some(rest) = rest.get(taken..).filter(|rest| !rest.is_empty())
        {
            match memory.say_all(rest, offset + taken as u64, &fits, scratch, sink) {
                0 => at += 1,
                length => {
                    taken += length;
                    past.heard(at);
                    // It is the first now, and what follows does not repeat it.
                    at = 1;
                }
            }
        }
        taken
    }

    /// Whether the next document is to be parsed as a lesson. Failures make lessons rare: at most one in a thousand documents.
    #[inline]
    pub(super) fn learns(&mut self, frame: &Frame<'_>) -> bool {
        let long = |text: &str| text.len() > LONGEST;
        if self.off || long(frame.data) || frame.event.is_some_and(long) {
            return false;
        }
        match &mut self.past {
            Some(past) if past.pause > 0 => {
                past.pause -= 1;
                false
            }
            _ => true,
        }
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
        let past = self.past.get_or_insert_default();
        past.remembered(epoch);
        let mut listener = Listener {
            sink,
            data: frame.data,
            heard: Listened::Nothing,
        };
        past.log.skipped.clear();
        past.log.integers.clear();
        past.log.escaped.clear();
        let log = RefCell::new(std::mem::take(&mut past.log));
        let parsed = parse(Cursor::logged(frame.data, &log), &mut listener);
        past.log = log.into_inner();
        let same_epoch = parsed?;
        let (Listened::One(said, piece), true) = (listener.heard, same_epoch) else {
            return Ok(());
        };
        let Some(text) = piece.place(frame.data, &past.log) else {
            return Ok(());
        };
        let lesson = Lesson::new(frame, said, text, &past.log);
        let last = past.last.as_deref();
        let memory = last.and_then(|last| Memory::of(last, &lesson));
        past.last = Some(Box::new(lesson));
        match memory {
            Some(memory) => {
                past.log = Log::default();
                past.failures = 0;
                past.memories.insert(0, memory);
                past.memories.truncate(MEMORIES);
            }
            None => {
                past.failures += 1;
                // Then two lessons, as one alone teaches nothing, and a longer pause.
                if past.failures >= PATIENCE && past.failures.is_multiple_of(2) {
                    past.pause = 32 << ((past.failures - PATIENCE).min(12) / 2);
                }
            }
        }
        Ok(())
    }
}

impl Past {
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
}
