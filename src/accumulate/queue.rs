//! Events that wait to be taken out. Their texts lie in one arena, so that a delta costs no allocation.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;

use super::trace;
use crate::call::{CallIndex, ToolCall};
use crate::delta::{Fragment, TextKind};
use crate::error::Error;
use crate::event::{Anomaly, ArgumentsText, Event, FinishReason};
use crate::json::{FieldEvent, FieldPath, FieldValue};

pub(super) enum Queued {
    Started {
        index: CallIndex,
        choice: u32,
        id: Option<Range<usize>>,
        name: Range<usize>,
    },
    Run {
        of: RunOf,
        text: Range<usize>,
    },
    Field {
        index: CallIndex,
        event: FieldEvent<'static>,
    },
    FieldText {
        index: CallIndex,
        path: FieldPath,
        text: Range<usize>,
    },
    Completed(ToolCall),
    Discarded(ToolCall),
    Usage(String),
    Finished(u32, FinishReason),
    Anomaly(Anomaly),
    Error(Error),
}

#[derive(Default)]
pub(super) struct Queue {
    events: VecDeque<Queued>,
    arena: String,
    /// The texts that come after all of `events`: calls that arrive side by side make a run of every piece.
    runs: Runs,
}

/// Texts that follow each other in the arena, whose end is that of the last. The last one grows.
#[derive(Default)]
struct Runs {
    runs: Vec<Run>,
    /// So many of them were taken out.
    taken: usize,
}

#[derive(Clone, Copy)]
struct Run {
    of: RunOf,
    /// Where in the arena it begins.
    from: usize,
}

/// Whose text: pieces of one kind that follow each other are one event.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RunOf {
    Arguments(CallIndex),
    Text(u32, TextKind),
}

/// A burst of text or of events must not be kept for the life of a stream.
const KEPT_ARENA: usize = 64 << 10;
const KEPT_RUNS: usize = 64;
const KEPT_EVENTS: usize = 256;

impl Runs {
    fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    fn len(&self) -> usize {
        self.runs.len() - self.taken
    }

    /// Whether text of this begins a run: the last one is of something else.
    #[inline(always)]
    fn begins(&self, of: RunOf) -> bool {
        self.runs.last().is_none_or(|run| run.of != of)
    }

    /// Takes out the first; `end` is where the last one ends.
    #[inline]
    fn take(&mut self, end: usize) -> Option<(RunOf, Range<usize>)> {
        let run = *self.runs.get(self.taken)?;
        self.taken += 1;
        let next = self.runs.get(self.taken);
        let range = run.from..next.map_or(end, |next| next.from);
        if next.is_none() {
            self.clear();
        }
        Some((run.of, range))
    }

    fn clear(&mut self) {
        self.runs.clear();
        self.taken = 0;
    }
}

impl Queue {
    pub(super) fn push(&mut self, event: Queued) {
        self.settle();
        self.make_room();
        trace::queued(&event);
        self.events.push_back(event);
    }

    /// Argument text; tells whether an event more waits now.
    #[inline(always)]
    pub(super) fn arguments(&mut self, index: CallIndex, text: Fragment<'_>) -> bool {
        self.grow(RunOf::Arguments(index), text)
    }

    /// What happened to a field; pieces of one text that follow each other are one event. A container's value is left out:
    /// its members were told.
    pub(super) fn field(&mut self, index: CallIndex, event: FieldEvent<'_>) {
        self.settle();
        self.make_room();
        let event = match event {
            FieldEvent::Text { path, fragment } => return self.field_text(index, path, &fragment),
            FieldEvent::Completed { path, value } => FieldEvent::Completed {
                value: value
                    .get()
                    .map_or_else(|| value.clone().into_owned(), FieldValue::told),
                path,
            },
            event => event.into_owned(),
        };
        self.events.push_back(Queued::Field { index, event });
    }

    fn field_text(&mut self, index: CallIndex, path: FieldPath, fragment: &str) {
        if let Some(Queued::FieldText {
            index: of,
            path: at,
            text,
        }) = self.events.back_mut()
            && *of == index
            && text.end == self.arena.len()
            && *at == path
        {
            self.arena.push_str(fragment);
            text.end = self.arena.len();
            return;
        }
        let text = self.keep(fragment);
        self.events
            .push_back(Queued::FieldText { index, path, text });
    }

    /// Text that is no call's.
    #[inline]
    pub(super) fn text(&mut self, choice: u32, kind: TextKind, text: &str) {
        self.grow(RunOf::Text(choice, kind), Fragment::new(text));
        // Two signatures that follow each other are of two blocks.
        if kind == TextKind::Signature {
            self.settle();
        }
    }

    pub(super) fn started(&mut self, index: CallIndex, choice: u32, id: Option<&str>, name: &str) {
        self.settle();
        trace::started(index, name);
        self.make_room();
        let id = id.map(|id| self.keep(id));
        let name = self.keep(name);
        self.events.push_back(Queued::Started {
            index,
            choice,
            id,
            name,
        });
    }

    #[inline(always)]
    fn grow(&mut self, of: RunOf, text: Fragment<'_>) -> bool {
        let begins = self.runs.begins(of);
        if begins {
            self.make_room();
            let from = self.arena.len();
            self.runs.runs.push(Run { of, from });
        }
        text.push_to(&mut self.arena);
        begins
    }

    /// The texts of several calls, one after another, that begin `at` so many bytes into them all: what each is of is told as it
    /// begins, and all that they say at the end.
    pub(super) fn side_by_side(&mut self, at: usize) -> SideBySide<'_> {
        self.make_room();
        SideBySide { queue: self, at }
    }

    /// The runs are done: something else comes after them.
    #[inline]
    fn settle(&mut self) {
        while let Some((of, text)) = self.runs.take(self.arena.len()) {
            self.events.push_back(Queued::Run { of, text });
        }
    }

    /// Nothing refers to the arena any more once every event was taken.
    #[inline]
    fn make_room(&mut self) {
        if self.events.is_empty() && self.runs.is_empty() {
            self.arena.clear();
            if self.arena.capacity() > KEPT_ARENA
                || self.runs.runs.capacity() > KEPT_RUNS
                || self.events.capacity() > KEPT_EVENTS
            {
                self.shrink();
            }
        }
    }

    #[cold]
    fn shrink(&mut self) {
        self.arena.shrink_to(KEPT_ARENA);
        self.runs.runs.shrink_to(KEPT_RUNS);
        self.events.shrink_to(KEPT_EVENTS);
    }

    fn keep(&mut self, text: &str) -> Range<usize> {
        let from = self.arena.len();
        self.arena.push_str(text);
        from..self.arena.len()
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.events.len() + self.runs.len()
    }

    #[cfg(feature = "stream")]
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The same queue without its events.
    pub(super) fn emptied(mut self) -> Self {
        self.events.clear();
        self.runs.clear();
        self.make_room();
        self
    }

    #[inline]
    pub(super) fn drain(&mut self) -> Events<'_> {
        Events {
            events: &mut self.events,
            runs: &mut self.runs,
            arena: &self.arena,
        }
    }
}

/// Runs whose texts were queued in one go.
pub(super) struct SideBySide<'q> {
    queue: &'q mut Queue,
    at: usize,
}

impl SideBySide<'_> {
    /// From here on the text is argument text of this call.
    #[inline(always)]
    pub(super) fn begin(&mut self, index: CallIndex, from: usize) {
        let of = RunOf::Arguments(index);
        let from = self.queue.arena.len() + from - self.at;
        let runs = &mut self.queue.runs;
        if runs.begins(of) {
            runs.runs.push(Run { of, from });
        }
    }

    /// What all of them say.
    pub(super) fn end(self, texts: &str) {
        self.queue.arena.push_str(texts);
    }
}

/// The events that are ready, in order. Dropping it early loses nothing: what is left comes with the next.
///
/// # Examples
///
/// ```
/// use callstitch::{ToolCallParser, WireFormat};
///
/// let mut parser = ToolCallParser::new(WireFormat::Ollama);
/// let body = b"{\"message\":{\"content\":\"Low tide\"},\"done\":true,\"done_reason\":\"stop\"}\n";
/// assert!(parser.push(body).next().is_some()); // the text
/// assert!(parser.events().count() > 0); // the reason is still there
/// ```
#[must_use = "events stay queued until they are taken"]
pub struct Events<'a> {
    events: &'a mut VecDeque<Queued>,
    /// The last of them.
    runs: &'a mut Runs,
    arena: &'a str,
}

impl<'a> Iterator for Events<'a> {
    type Item = Result<Event<'a>, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if !self.events.is_empty() {
            return self.queued();
        }
        let (of, text) = self.runs.take(self.arena.len())?;
        let text = Cow::Borrowed(self.arena.get(text).unwrap_or_default());
        Some(Ok(of.event(text)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = self.events.len() + self.runs.len();
        (count, Some(count))
    }

    /// As one by one, at a fraction of what that costs where each event is a run.
    #[inline]
    fn fold<B, F>(mut self, init: B, mut take: F) -> B
    where
        F: FnMut(B, Self::Item) -> B,
    {
        let mut so_far = init;
        while !self.events.is_empty()
            && let Some(event) = self.queued()
        {
            so_far = take(so_far, event);
        }
        while let Some((of, text)) = self.runs.take(self.arena.len()) {
            let text = Cow::Borrowed(self.arena.get(text).unwrap_or_default());
            so_far = match of {
                RunOf::Arguments(index) => take(
                    so_far,
                    Ok(Event::ArgumentsDelta {
                        index,
                        text: ArgumentsText(text),
                    }),
                ),
                _ => take(so_far, Ok(of.event(text))),
            };
        }
        so_far
    }
}

impl<'a> Events<'a> {
    /// The first of the events that do not grow any more.
    fn queued(&mut self) -> Option<Result<Event<'a>, Error>> {
        let arena = self.arena;
        let text = |range: Range<usize>| Cow::Borrowed(arena.get(range).unwrap_or_default());
        Some(Ok(match self.events.pop_front()? {
            Queued::Started {
                index,
                choice,
                id,
                name,
            } => Event::CallStarted {
                index,
                choice,
                id: id.map(text),
                name: text(name),
            },
            Queued::Run { of, text: range } => of.event(text(range)),
            Queued::Field { index, event } => Event::Field { index, event },
            Queued::FieldText {
                index,
                path,
                text: range,
            } => Event::Field {
                index,
                event: FieldEvent::Text {
                    path,
                    fragment: text(range),
                },
            },
            Queued::Completed(call) => Event::CallCompleted(call),
            Queued::Discarded(call) => Event::CallDiscarded(call),
            Queued::Usage(usage) => Event::Usage(Cow::Owned(usage)),
            Queued::Finished(choice, reason) => Event::Finished { choice, reason },
            Queued::Anomaly(anomaly) => Event::Anomaly(anomaly),
            Queued::Error(error) => return Some(Err(error)),
        }))
    }
}

impl RunOf {
    #[inline]
    fn event(self, text: Cow<'_, str>) -> Event<'_> {
        match self {
            RunOf::Arguments(index) => Event::ArgumentsDelta {
                index,
                text: ArgumentsText(text),
            },
            RunOf::Text(choice, TextKind::Answer) => Event::Text { choice, text },
            RunOf::Text(choice, TextKind::Reasoning) => Event::Reasoning { choice, text },
            RunOf::Text(choice, TextKind::Signature) => Event::ReasoningSignature { choice, text },
            RunOf::Text(choice, TextKind::Refusal) => Event::Refusal { choice, text },
        }
    }
}

/// Shows how many wait, not what they say.
impl fmt::Debug for Events<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events")
            .field("waiting", &self.len())
            .finish_non_exhaustive()
    }
}

impl ExactSizeIterator for Events<'_> {}
impl std::iter::FusedIterator for Events<'_> {}
