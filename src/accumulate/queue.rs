//! Events that wait to be taken out. Their texts lie in one arena, so that a delta costs no allocation.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;

use crate::call::{CallIndex, ToolCall};
use crate::delta::TextKind;
use crate::error::Error;
use crate::event::{Anomaly, ArgumentsText, Event, FinishReason};

#[derive(Debug)]
pub(super) enum Queued {
    Started {
        index: CallIndex,
        choice: u32,
        id: Option<Range<usize>>,
        name: Range<usize>,
    },
    Arguments {
        index: CallIndex,
        text: Range<usize>,
    },
    Completed(ToolCall),
    Discarded(ToolCall),
    Text {
        choice: u32,
        kind: TextKind,
        text: Range<usize>,
    },
    Usage(String),
    Finished(u32, FinishReason),
    Anomaly(Anomaly),
    Error(Error),
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    events: VecDeque<Queued>,
    arena: String,
}

/// A burst of text must not be kept for the life of a stream.
const KEPT_ARENA: usize = 64 << 10;

impl Queue {
    pub(super) fn push(&mut self, event: Queued) {
        self.events.push_back(event);
    }

    /// Argument text; joined to the event before it where that is the same call's.
    #[inline]
    pub(super) fn arguments(&mut self, index: CallIndex, text: &str) {
        let range = self.keep(text);
        if let Some(Queued::Arguments { index: of, text }) = self.events.back_mut()
            && *of == index
            && text.end == range.start
        {
            text.end = range.end;
            return;
        }
        self.events
            .push_back(Queued::Arguments { index, text: range });
    }

    /// Text that is no call's; joined likewise.
    #[inline]
    pub(super) fn text(&mut self, choice: u32, kind: TextKind, text: &str) {
        let range = self.keep(text);
        if let Some(Queued::Text {
            choice: of,
            kind: as_kind,
            text,
        }) = self.events.back_mut()
            && (*of, *as_kind) == (choice, kind)
            && text.end == range.start
        {
            text.end = range.end;
            return;
        }
        self.events.push_back(Queued::Text {
            choice,
            kind,
            text: range,
        });
    }

    pub(super) fn started(&mut self, index: CallIndex, choice: u32, id: Option<&str>, name: &str) {
        self.tidy();
        let id = id.map(|id| self.append(id));
        let name = self.append(name);
        self.events.push_back(Queued::Started {
            index,
            choice,
            id,
            name,
        });
    }

    #[inline]
    fn keep(&mut self, text: &str) -> Range<usize> {
        self.tidy();
        self.append(text)
    }

    /// Empties the arena once every event was taken: nothing refers to it any more.
    #[inline]
    fn tidy(&mut self) {
        if self.events.is_empty() && !self.arena.is_empty() {
            self.arena.clear();
            self.arena.shrink_to(KEPT_ARENA);
        }
    }

    #[inline]
    fn append(&mut self, text: &str) -> Range<usize> {
        let from = self.arena.len();
        self.arena.push_str(text);
        from..self.arena.len()
    }

    #[cfg(feature = "stream")]
    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The same queue without its events.
    pub(super) fn emptied(mut self) -> Self {
        self.events.clear();
        self.arena.clear();
        self.arena.shrink_to(KEPT_ARENA);
        self
    }

    #[inline]
    pub(super) fn drain(&mut self) -> Events<'_> {
        Events {
            events: &mut self.events,
            arena: &self.arena,
        }
    }
}

/// The events that are ready, in order. Dropping it early loses nothing: what is left comes with the next.
#[derive(Debug)]
#[must_use = "events stay queued until they are taken"]
pub struct Events<'a> {
    events: &'a mut VecDeque<Queued>,
    arena: &'a str,
}

impl<'a> Iterator for Events<'a> {
    type Item = Result<Event<'a>, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
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
            Queued::Arguments { index, text: range } => Event::ArgumentsDelta {
                index,
                text: ArgumentsText(text(range)),
            },
            Queued::Completed(call) => Event::CallCompleted(call),
            Queued::Discarded(call) => Event::CallDiscarded(call),
            Queued::Text {
                choice,
                kind,
                text: range,
            } => {
                let text = text(range);
                match kind {
                    TextKind::Answer => Event::Text { choice, text },
                    TextKind::Reasoning => Event::Reasoning { choice, text },
                    TextKind::Signature => Event::ReasoningSignature { choice, text },
                    TextKind::Refusal => Event::Refusal { choice, text },
                }
            }
            Queued::Usage(usage) => Event::Usage(Cow::Owned(usage)),
            Queued::Finished(choice, reason) => Event::Finished { choice, reason },
            Queued::Anomaly(anomaly) => Event::Anomaly(anomaly),
            Queued::Error(error) => return Some(Err(error)),
        }))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.events.len(), Some(self.events.len()))
    }
}

impl ExactSizeIterator for Events<'_> {}
impl std::iter::FusedIterator for Events<'_> {}
