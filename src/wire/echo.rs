//! The memory of the last event: an event that repeats an earlier one but for its text is not parsed again.
//!
//! Letter to the next reader. A stream of deltas is one document over and over, in which one string (the piece of text), perhaps
//! the call's index, and values that nobody reads (sequence numbers, padding) differ. Two documents that were parsed in full
//! show which places those are. A later document that equals them byte for byte everywhere else puts the reader into the same
//! states, so that comparing is parsing:
//!
//! - A place that may differ was *skipped* by the decoder in both documents (the cursor's log says so), so what stands there
//!   has no part in what is said; or it is the text that was said, as it stands there or the only one that decodes to it; or an
//!   integer that was said as the call's index; or spaces between two tokens. What differs in any other way is never remembered.
//! - What stands in such a place is checked as the cursor would check it: a string ends at its quote and holds no control
//!   character, an escape only where it is the text, and no half of a character; a number is one, an index a plain integer. Anything
//!   rarer, and any other difference, is a miss: the document is parsed in full, and nothing was said before the last byte was
//!   compared.
//!
//! The bytes that a framing put around a recognised document are remembered too: a later frame that repeats them is taken
//! straight from the chunk, without a search for its end. Frames that follow each other so are told together
//! ([`Memory::say_all`]): the sink takes their texts as one where that is the same, and one by one where it is not.
//!
//! This room knows no provider. It rests on one promise of the decoder ([`JsonDecoder::ECHOES`]), and forgets all when the
//! decoder's epoch changes.
//!
//! What is never heard must cost next to nothing: lessons and vain comparisons are paid for by what is heard. A stream that does
//! not pay is forgotten, and learned from ever more rarely ([`Past::may_learn`]).
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
/// What a lesson takes and what a vain comparison takes, beside what a heard document saves, in some hundred nanoseconds: measured
/// with the streams of `benches/transcripts.rs` whose events take turns, among more shapes than are remembered.
const LESSON: u32 = 15;
const MISS: u32 = 1;
const SAVED: u32 = 3;
/// What may be owed: eight lessons that came to nothing.
const CREDIT: u32 = 8 * LESSON;
/// So many documents that say something else than one text are usual in a row, as where calls begin.
const USUAL: u32 = 8;

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
    /// The documents that were parsed last in lessons, the newest first: what repeats may take turns.
    lessons: [Option<Box<Lesson>>; MEMORIES],
    /// Kept for its buffers while nothing was learned.
    log: Log,
    /// The decoder's epoch that all of this is of.
    epoch: u32,
    /// What lessons and comparisons took that is not yet saved.
    owed: u32,
    /// How often more was owed than may be, since all was paid.
    defaults: u32,
    /// Lessons since one that was of a text.
    others: u32,
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

    /// Whether the next document, which was not heard, is to be parsed as a lesson.
    #[inline]
    pub(super) fn learns(&mut self, frame: &Frame<'_>) -> bool {
        let long = |text: &str| text.len() > LONGEST;
        if self.off || long(frame.data) || frame.event.is_some_and(long) {
            return false;
        }
        self.past.as_mut().is_none_or(|past| past.may_learn())
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
            past.others = past.others.saturating_add(1);
            past.pause = past.others.saturating_sub(USUAL);
            return Ok(());
        };
        past.others = 0;
        past.owed += LESSON;
        let Some(text) = piece.place(frame.data, &past.log) else {
            return Ok(());
        };
        let lesson = Lesson::new(frame, said, text, &past.log);
        // The oldest gives way, unless another has taught what it could.
        let mut place = MEMORIES - 1;
        for (at, one) in past.lessons.iter().enumerate() {
            if let Some(memory) = one.as_deref().and_then(|one| Memory::of(one, &lesson)) {
                past.log = Log::default();
                past.memories.insert(0, memory);
                past.memories.truncate(MEMORIES);
                place = at;
                break;
            }
        }
        if let Some(older) = past.lessons.get_mut(..=place) {
            older.rotate_right(1);
        }
        if let Some(newest) = past.lessons.first_mut() {
            *newest = Some(Box::new(lesson));
        }
        Ok(())
    }
}

impl Past {
    /// What was heard is asked first the next time, and pays.
    #[inline]
    fn heard(&mut self, at: usize) {
        if at > 0 {
            self.memories.swap(0, at);
        }
        if self.owed > 0 {
            self.pay();
        }
    }

    #[inline(never)]
    fn pay(&mut self) {
        self.owed = self.owed.saturating_sub(SAVED);
        if self.owed == 0 {
            self.defaults = 0;
            // What takes turns is known now.
            let [_, older @ ..] = &mut self.lessons;
            older.fill_with(|| None);
        }
    }

    /// A document was not heard: whether it may be parsed as a lesson. After every default a few may, and then, for ever longer,
    /// none.
    #[inline]
    fn may_learn(&mut self) -> bool {
        if !self.memories.is_empty() {
            self.owed += MISS;
        }
        if self.owed > CREDIT {
            self.memories.clear();
            self.owed = CREDIT - 2 * LESSON;
            self.pause = 32 << self.defaults.min(6);
            self.defaults += 1;
        }
        let is_due = self.pause == 0;
        self.pause = self.pause.saturating_sub(1);
        is_due
    }

    /// How many memories there are of this epoch.
    #[inline]
    fn remembered(&mut self, epoch: u32) -> usize {
        if self.epoch != epoch {
            self.begin(epoch);
        }
        self.memories.len()
    }

    #[cold]
    fn begin(&mut self, epoch: u32) {
        self.memories.clear();
        self.lessons = Default::default();
        self.epoch = epoch;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delta::{Delta, Fragment, Route, TextKind};
    use crate::json::cursor::Fault;
    use crate::json::random;
    use crate::wire::spoken::Spoken;

    /// What became of some documents.
    #[derive(Debug, Default)]
    struct Became {
        heard: usize,
        lessons: usize,
        spoken: Spoken,
    }

    /// Reads the member `t` as text and skips the others.
    fn read(mut cursor: Cursor<'_>, sink: &mut dyn DeltaSink) -> Result<bool, Fault> {
        let mut said = None;
        cursor.members(|cursor, key| match key {
            b"t" => cursor.text().map(|text| said = text),
            _ => cursor.skip(),
        })?;
        if let Some(said) = said {
            let (choice, kind, mut scratch) = (0, TextKind::Answer, Vec::new());
            let text = said.fragment(&mut scratch);
            sink.delta(&Delta::Text { choice, kind, text });
        }
        Ok(true)
    }

    /// Reads the member `t` as text for the call whose index `i` is, and the member `n` as a number of no account.
    fn read_call(mut cursor: Cursor<'_>, sink: &mut dyn DeltaSink) -> Result<bool, Fault> {
        let (mut said, mut index) = (None, None);
        cursor.members(|cursor, key| match key {
            b"t" => cursor.text().map(|text| said = text),
            b"i" => cursor.integer().map(|integer| index = integer),
            b"n" => cursor.integer().map(drop),
            _ => cursor.skip(),
        })?;
        if let Some(said) = said {
            let mut scratch = Vec::new();
            sink.delta(&Delta::Arguments {
                choice: 0,
                index,
                route: Route::Table,
                text: said.fragment(&mut scratch),
            });
        }
        Ok(true)
    }

    fn become_of(documents: impl IntoIterator<Item = String>) -> Became {
        become_by(documents, read)
    }

    fn become_by(
        documents: impl IntoIterator<Item = String>,
        read: fn(Cursor<'_>, &mut dyn DeltaSink) -> Result<bool, Fault>,
    ) -> Became {
        let (mut echo, mut scratch) = (Echo::default(), Vec::new());
        let mut became = Became::default();
        for document in documents {
            let frame = Frame::new(&document);
            let sink = &mut became.spoken;
            if echo.hear(&frame, 0, |_| true, &mut scratch, sink) {
                became.heard += 1;
            } else if echo.learns(&frame) {
                became.lessons += 1;
                assert_eq!(echo.learn(&frame, 0, sink, read), Ok(()));
            } else {
                assert_eq!(read(Cursor::new(&document), sink), Ok(true));
            }
        }
        became
    }

    #[test]
    fn documents_that_take_turns_are_all_known_again() {
        let mut next = random(0x1234_5678);
        let documents = (0..1000).map(|at| {
            let shape = if at < 500 { at % 4 } else { next(4) };
            format!("{{\"t\":\"piece {at}\",\"{shape}\":{}}}", next(100_000))
        });
        let became = become_of(documents);
        assert_eq!((became.lessons, became.heard), (8, 992), "{became:?}");
        assert!((0..1000).all(|at| became.spoken.0.get(at) == Some(&format!("Answer piece {at}"))));
    }

    #[test]
    fn calls_that_take_turns_are_known_by_one_document_whatever_other_numbers_it_holds() {
        // Another number is the index of the one call, and not that of the other.
        for (first, second) in [(0, 1), (1, 0), (2, 3)] {
            let documents = (0..100).map(|at| {
                let index = if at % 2 == 0 { first } else { second };
                format!("{{\"n\":0,\"i\":{index},\"t\":\"piece {at}\"}}")
            });
            let became = become_by(documents, read_call);
            assert_eq!((became.lessons, became.heard), (2, 98), "{became:?}");
        }
    }

    #[test]
    fn numbers_that_nobody_reads_are_passed_over_however_they_are_written() {
        let document = |at: usize, number: &str| format!("{{\"t\":\"piece {at}\",\"s\":{number}}}");
        let numbers = [
            "0", "-0", "17", "-3", "0.25", "-12.50", "1e9", "2E-7", "6.02e+23",
        ];
        let became = become_of(
            (0..90)
                .zip(numbers.iter().cycle())
                .map(|(at, number)| document(at, number)),
        );
        assert_eq!((became.lessons, became.heard), (2, 88), "{became:?}");
        // What is no number is not: the reader finds the fault.
        let (mut echo, mut scratch, mut sink) = (Echo::default(), Vec::new(), Spoken::default());
        for (at, number) in numbers.iter().take(2).enumerate() {
            let document = document(at, number);
            assert_eq!(
                echo.learn(&Frame::new(&document), 0, &mut sink, read),
                Ok(())
            );
        }
        for (number, is_known) in [
            ("1.5", true),
            ("1.", false),
            (".5", false),
            ("01", false),
            ("-", false),
            ("1e", false),
            ("1e+", false),
            ("--1", false),
            ("1.2.3", false),
            ("+1", false),
            ("", false),
        ] {
            let document = document(2, number);
            let heard = echo.hear(&Frame::new(&document), 0, |_| true, &mut scratch, &mut sink);
            assert_eq!(heard, is_known, "{number}");
        }
    }

    #[test]
    fn documents_that_are_padded_with_spaces_are_known_again() {
        for (before, after) in [(" ", ""), ("", " "), (" ", "  ")] {
            let documents = (0..100).map(|at| {
                let [before, after] = [before, after].map(|space| space.repeat(at % 40));
                format!("{{\"n\":{before}[true],\"t\":\"piece {at}\"{after}}}")
            });
            let became = become_of(documents);
            assert_eq!((became.lessons, became.heard), (2, 98), "{became:?}");
        }
    }

    #[test]
    fn documents_that_differ_in_the_spaces_of_a_string_are_never_known_again() {
        // The string is read, whatever it says; `_` stands for the spaces.
        let known = |member: &str| {
            let documents = (0..100).map(|at| {
                let member = member.replace('_', &" ".repeat(at));
                format!("{{\"i\":{member},\"t\":\"piece {at}\"}}")
            });
            become_by(documents, read_call).heard
        };
        for in_string in [r#""0_""#, r#""_0""#, r#""\"_0""#, r#""}_0""#, r#""\\\"_}""#] {
            assert_eq!(known(in_string), 0, "{in_string}");
        }
        for behind_it in [r#""0"_"#, r#""\""_"#, r#""\\"_"#, r#""{"_"#] {
            assert_eq!(known(behind_it), 98, "{behind_it}");
        }
    }

    #[test]
    fn a_number_that_differs_and_is_no_index_is_never_known_again() {
        // It is the index at first; then it says what nobody has heard.
        let documents = (0..100).map(|at| {
            let (other, index) = if at < 2 { (at, at) } else { (at, at % 2) };
            format!("{{\"n\":{other},\"i\":{index},\"t\":\"piece {at}\"}}")
        });
        let became = become_by(documents, read_call);
        assert_eq!(became.heard, 0, "{became:?}");
    }

    #[test]
    fn documents_that_are_not_known_again_are_seldom_learned_from() {
        // No two are alike; or more take turns than are remembered. A lesson takes what five save that are heard.
        for shapes in [usize::MAX, 1000, 100, 30, 8, 5] {
            let mut next = random(0x1234_5678);
            let documents = (0..20_000).map(|_| format!("{{\"t\":\"a\",\"{}\":0}}", next(shapes)));
            let became = become_of(documents);
            assert!(
                became.lessons < 100 + became.heard / 5,
                "{shapes} {} {}",
                became.lessons,
                became.heard
            );
        }
    }

    #[test]
    fn what_comes_to_be_alike_is_known_again_in_the_end() {
        let documents = (0..20_000).map(|at| {
            let other = if at < 10_000 { at } else { 0 };
            format!("{{\"t\":\"{at}\",\"{other}\":0}}")
        });
        let became = become_of(documents);
        assert!(became.heard > 7_000, "{} {}", became.lessons, became.heard);
    }

    #[test]
    fn a_document_that_says_two_things_is_seldom_learned_from() {
        let twice = |mut cursor: Cursor<'_>, sink: &mut dyn DeltaSink| {
            let (choice, kind, text) = (0, TextKind::Answer, Fragment::new("a"));
            sink.delta(&Delta::Text { choice, kind, text });
            sink.delta(&Delta::Usage("{}"));
            cursor.skip().map(|()| true)
        };
        let (mut echo, mut spoken, frame) = (Echo::default(), Spoken::default(), Frame::new("{}"));
        let mut lessons = 0;
        for _ in 0..20_000 {
            if echo.learns(&frame) {
                lessons += 1;
                assert_eq!(echo.learn(&frame, 0, &mut spoken, twice), Ok(()));
            }
        }
        assert!((2..250).contains(&lessons), "{lessons}");
    }
}
