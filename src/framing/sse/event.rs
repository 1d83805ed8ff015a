//! The event that is open: its fields, in the chunk and beyond it, and its end.

use super::Sse;
use super::piece::Piece;
use super::skipped::Skipped;
use crate::error::Error;
use crate::framing::brackets::Brackets;
use crate::framing::{Frame, FrameSink, Origin, clear, give, over_limit};

/// Fields of the open event that were copied.
#[derive(Default)]
pub(super) struct Held {
    event: Value,
    data: Value,
    /// The beginning of the first document that was skipped.
    pub(super) skipped: Value,
    /// Those of the last such document.
    pub(super) brackets: Brackets,
}

/// A field's value, copied because its chunk is gone or because it has several lines.
#[derive(Default)]
pub(super) struct Value {
    is_set: bool,
    bytes: Vec<u8>,
}

/// The fields of the open event that still lie in the chunk.
#[derive(Default)]
pub(super) struct Here<'c> {
    pub(super) event: Option<Piece<'c>>,
    pub(super) data: Option<Piece<'c>>,
    /// The chunk's complete lines up to the end of this one, and the offset of the first.
    pub(super) lines: &'c [u8],
    pub(super) base: u64,
}

impl Sse {
    /// A known field begins an event, unless one is open, and ends bare text.
    #[inline]
    pub(super) fn known_field(&mut self, at: u64, sink: &mut impl FrameSink) {
        if !self.in_event {
            self.in_event = true;
            self.start = at;
        }
        self.bare.known_field(sink);
    }

    #[inline(always)]
    pub(super) fn data_line<'c>(
        &mut self,
        value: Piece<'c>,
        at: u64,
        here: &mut Here<'c>,
    ) -> Result<(), Error> {
        if self.skipped == Skipped::All {
            return Ok(());
        }
        let limit = self.limits.frame;
        if here.data.is_none() && !self.has_held_data() {
            if value.bytes.len() > limit {
                return Err(over_limit("an event's data", limit, at));
            }
            here.data = Some(value);
            return Ok(());
        }
        let data = &mut self.held.get_or_insert_default().data;
        if let Some(first) = here.data.take() {
            data.set(first.bytes);
        }
        if data.bytes.len() + 1 + value.bytes.len() > limit {
            return Err(over_limit("an event's data", limit, at));
        }
        data.bytes.push(b'\n');
        data.bytes.extend_from_slice(value.bytes);
        Ok(())
    }

    /// Ends the open event. Without data there is nothing to give.
    #[inline(always)]
    pub(super) fn dispatch(
        &mut self,
        here: &mut Here<'_>,
        origin: Origin,
        sink: &mut impl FrameSink,
    ) {
        let (event, data) = (here.event.take(), here.data.take());
        let held = self.held.as_deref();
        let held_data = held.and_then(|held| held.data.get());
        let mut data = data.or(held_data);
        if self.skipped != Skipped::Nothing {
            data = self.left_of_data(data, event);
        }
        if let Some(data) = data {
            let from = self
                .start
                .checked_sub(here.base)
                .filter(|_| held_data.is_none() && !self.mixed);
            let raw = from.and_then(|from| here.lines.get(usize::try_from(from).ok()?..));
            let event = event
                .or(held.and_then(|held| held.event.get()))
                .filter(|event| !event.bytes.is_empty());
            let origin = if self.exception {
                Origin::Exception
            } else {
                origin
            };
            let offset = self.start;
            match (data.text, event.map(|event| event.text)) {
                (Some(data), event @ (None | Some(Some(_)))) => sink.frame(Frame {
                    data,
                    event: event.flatten(),
                    origin,
                    offset,
                    lossy: false,
                    raw,
                }),
                _ => give(
                    sink,
                    data.bytes,
                    event.map(|event| event.bytes),
                    origin,
                    offset,
                ),
            }
        }
        self.close_event();
    }

    #[inline]
    pub(super) fn close_event(&mut self) {
        self.in_event = false;
        self.exception = false;
        self.mixed = false;
        self.skipped = Skipped::Nothing;
        if let Some(held) = &mut self.held {
            held.event.clear();
            held.data.clear();
            held.skipped.clear();
        }
    }

    /// Chunks before this one left data of the open event.
    #[inline]
    pub(super) fn has_held_data(&self) -> bool {
        self.held.as_ref().is_some_and(|held| held.data.is_set)
    }

    /// The open event says of itself that it is an error, with an `error` field or this last `event` line of the chunk.
    pub(super) fn is_error(&self, event: Option<Piece<'_>>) -> bool {
        let held = self.held.as_deref();
        let event = event.or(held.and_then(|held| held.event.get()));
        self.exception || event.is_some_and(|event| event.bytes == b"error")
    }

    pub(super) fn held_skipped(&self) -> Option<Piece<'_>> {
        self.held.as_ref().and_then(|held| held.skipped.get())
    }

    /// Copies what the open event has in the chunk, before the chunk goes.
    pub(super) fn keep(&mut self, here: Here<'_>) {
        if let Some(event) = here.event {
            let held = self.held.get_or_insert_default();
            held.event.set(event.bytes);
        }
        if let Some(data) = here.data {
            let held = self.held.get_or_insert_default();
            held.data.set(data.bytes);
        }
    }
}

#[cfg(test)]
impl Held {
    /// Bytes that its buffers take up.
    pub(super) fn capacity(&self) -> usize {
        let values = [&self.event, &self.data, &self.skipped];
        values.map(|value| value.bytes.capacity()).iter().sum()
    }
}

impl Value {
    fn get(&self) -> Option<Piece<'_>> {
        self.is_set.then_some(Piece::unchecked(&self.bytes))
    }

    pub(super) fn set(&mut self, value: &[u8]) {
        self.is_set = true;
        self.bytes.clear();
        self.bytes.extend_from_slice(value);
    }

    #[inline]
    fn clear(&mut self) {
        if self.is_set {
            self.is_set = false;
            clear(&mut self.bytes);
        }
    }
}
