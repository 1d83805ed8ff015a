//! The calls that are open, and what was told of them.

use super::Accumulator;
use super::queue::Queued;
use crate::anomaly::AnomalyKind;
use crate::call::{CallIndex, PartialCall};
use crate::delta::{ClosedBy, Fragment};
use crate::event::Anomaly;
use crate::slots::{Calls, SlotId};

/// The calls by slot; an emitted call leaves its place empty.
#[derive(Default)]
pub(super) struct Open(pub(super) Vec<Option<Box<Slot>>>);

pub(super) struct Slot {
    pub(super) call: PartialCall,
    /// Its `CallStarted` was said.
    pub(super) started: bool,
    /// The id that was said with it.
    pub(super) public_id: Option<String>,
    /// Argument text up to here was said.
    pub(super) said: usize,
    /// The wire closed the call, but its text does not stand yet, or it closed the text alone.
    pub(super) held: Option<ClosedBy>,
    /// Routed by the table: the name may still come in pieces.
    pub(super) by_table: bool,
    /// Opened under the id of this other slot: perhaps its mirror (Q12).
    pub(super) mirrors: Option<SlotId>,
    /// How long its text was when the newest call behind it was opened.
    pub(super) passed: Option<usize>,
    pub(super) told: Told,
}

impl Slot {
    /// The wire's own close of the call that is held can be believed: the text stands.
    pub(super) fn is_closed(&self) -> bool {
        self.held.is_some() && self.call.is_settled()
    }

    /// A newer call was opened, and nothing came of this one since: where a wire leaves out the closes, that was its close
    /// (WIRE_FORMATS 3.5).
    pub(super) fn is_passed(&self) -> bool {
        self.passed == Some(self.call.raw().len())
    }

    /// Appends a piece that needs no second thought, of a call that was announced and may have so many bytes; gives the call.
    /// `None`, and nothing done, for any other.
    #[inline(always)]
    pub(super) fn append_plain(&mut self, text: Fragment<'_>, most: usize) -> Option<CallIndex> {
        let length = text.text.len();
        if !self.started || self.call.raw().len() + length > most {
            return None;
        }
        self.call.append_plain(text)?;
        self.said += length;
        Some(self.call.index())
    }
}

/// The kinds of anomaly that were told already, of one call or of the stream: one bit each.
#[derive(Clone, Copy, Default)]
pub(super) struct Told(u64);

impl Told {
    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether this is the first time.
    pub(super) fn first(&mut self, kind: AnomalyKind) -> bool {
        let bit = 1 << kind as u64;
        let first = self.0 & bit == 0;
        self.0 |= bit;
        first
    }
}

impl Calls for Open {
    fn call(&self, slot: SlotId) -> Option<&PartialCall> {
        self.slot(slot).map(|slot| &slot.call)
    }

    fn count(&self) -> usize {
        self.0.len()
    }
}

impl Open {
    pub(super) fn get(&mut self, slot: SlotId) -> Option<&mut Slot> {
        self.0.get_mut(slot)?.as_deref_mut()
    }

    pub(super) fn slot(&self, slot: SlotId) -> Option<&Slot> {
        self.0.get(slot)?.as_deref()
    }

    /// A call, and the one under whose id it was opened.
    pub(super) fn mirrored(&self, slot: SlotId) -> Option<(&Slot, &Slot)> {
        let slot = self.slot(slot)?;
        Some((slot, self.slot(slot.mirrors?)?))
    }
}

impl Accumulator {
    pub(super) fn anomaly(&mut self, kind: AnomalyKind, at: Option<SlotId>) {
        let notes = self.notes.get_or_insert_default();
        notes.count(kind);
        let (told, call) = match at {
            Some(at) => {
                let open = self.calls.get(at).map(|slot| &mut slot.told);
                let told = open.or_else(|| notes.told_of_ended(at));
                (told, u32::try_from(at).ok().map(CallIndex))
            }
            None => (Some(&mut notes.told), None),
        };
        if told.is_some_and(|told| told.first(kind)) {
            self.queue.push(Queued::Anomaly(Anomaly {
                kind,
                call,
                offset: self.offset,
            }));
        }
    }
}
