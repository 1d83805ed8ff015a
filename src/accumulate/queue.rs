//! Events that wait to be taken out. Their texts lie in one arena, so that a delta costs no allocation.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;

use super::trace;
use crate::call::{CallIndex, ToolCall};
use crate::delta::TextKind;
use crate::error::Error;
use crate::event::{Anomaly, ArgumentsText, Event, FinishReason};
use crate::json::{FieldEvent, FieldPath, FieldValue};

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
    /// The text event that still grows, and where in the arena it begins; it ends with the arena.
    growing: Option<(Growing, usize)>,
}

/// Whose text grows: pieces of one kind that follow each other are one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Growing {
    Arguments(CallIndex),
    Text(u32, TextKind),
}

/// A burst of text must not be kept for the life of a stream.
const KEPT_ARENA: usize = 64 << 10;

impl Queue {
    pub(super) fn push(&mut self, event: Queued) {
        self.settle();
        trace::queued(&event);
        self.events.push_back(event);
    }

    /// Argument text.
    #[inline(always)]
    pub(super) fn arguments(&mut self, index: CallIndex, text: &str) {
        self.grow(Growing::Arguments(index), text);
    }

    /// What happened to a field; pieces of one text that follow each other are one event. A container's value is left out:
    /// its members were told.
    pub(super) fn field(&mut self, index: CallIndex, event: FieldEvent<'_>) {
        self.settle();
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
        self.make_room();
        let text = self.keep(fragment);
        self.events
            .push_back(Queued::FieldText { index, path, text });
    }

    /// Text that is no call's.
    #[inline]
    pub(super) fn text(&mut self, choice: u32, kind: TextKind, text: &str) {
        self.grow(Growing::Text(choice, kind), text);
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
    fn grow(&mut self, what: Growing, text: &str) {
        if self.growing.is_none_or(|(growing, _)| growing != what) {
            self.settle();
            self.make_room();
            self.growing = Some((what, self.arena.len()));
        }
        self.arena.push_str(text);
    }

    /// The growing event, if any, is done.
    #[inline]
    fn settle(&mut self) {
        if let Some((what, from)) = self.growing.take() {
            let text = from..self.arena.len();
            self.events.push_back(match what {
                Growing::Arguments(index) => Queued::Arguments { index, text },
                Growing::Text(choice, kind) => Queued::Text { choice, kind, text },
            });
        }
    }

    /// Nothing refers to the arena any more once every event was taken.
    fn make_room(&mut self) {
        if self.events.is_empty() && !self.arena.is_empty() {
            self.arena.clear();
            self.arena.shrink_to(KEPT_ARENA);
        }
    }

    fn keep(&mut self, text: &str) -> Range<usize> {
        let from = self.arena.len();
        self.arena.push_str(text);
        from..self.arena.len()
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.events.len() + usize::from(self.growing.is_some())
    }

    #[cfg(feature = "stream")]
    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty() && self.growing.is_none()
    }

    /// The same queue without its events.
    pub(super) fn emptied(mut self) -> Self {
        self.events.clear();
        self.growing = None;
        self.make_room();
        self
    }

    #[inline]
    pub(super) fn drain(&mut self) -> Events<'_> {
        self.settle();
        Events {
            events: &mut self.events,
            arena: &self.arena,
        }
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
