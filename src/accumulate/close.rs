//! When a call ends, and how it is said (WIRE_FORMATS 11.5 and 11.6).

use smallvec::SmallVec;

use super::queue::Queued;
use super::{Accumulator, State, fields};
use crate::anomaly::AnomalyKind;
use crate::arguments::{Blank, ProblemKind, RepairLevel, Settling};
use crate::call::{CallState, Closing, Ended, Evidence};
use crate::delta::{ClosedBy, FinishMeaning, Fragment, ToolKind};
use crate::slots::{Calls, SlotId};

impl Accumulator {
    /// The message begins again: open calls are discarded, ended ones stay, and so does one that waits for nothing but the end
    /// or whose close a newer call stood for (WIRE_FORMATS 11.5.4, 11.5.7).
    pub(super) fn restart(&mut self) {
        if self.state != State::Ended {
            self.anomaly(AnomalyKind::RestartedMessage, None);
        }
        for slot in 0..self.calls.0.len() {
            let closed = self.calls.get(slot).and_then(|slot| {
                let stopped = |by: &ClosedBy| *by == ClosedBy::BlockStop || slot.is_closed();
                let text = *slot.call.kind() == ToolKind::Custom;
                let passed = slot.is_passed() && !text && slot.call.is_settled();
                let passed = passed.then_some(ClosedBy::NextCall);
                slot.held.filter(stopped).or(passed)
            });
            match closed {
                Some(by) => self.end_call(slot, by, Blank::Object),
                None => self.end_call(slot, ClosedBy::Restart, Blank::Cut),
            }
        }
        // Its labels start over.
        self.slots = None;
        if let Some(notes) = &mut self.notes {
            notes.reasons.clear();
        }
        self.state = State::Running;
    }

    /// The wire closed one call. One whose text does not stand yet waits for the message to go on (blank text) or to end.
    pub(super) fn close(&mut self, at: SlotId, by: ClosedBy) {
        if self.is_mirror(at) {
            return self.end_mirror(at);
        }
        let Some(slot) = self.calls.get(at) else {
            return;
        };
        if by == ClosedBy::BlockStop && !slot.call.is_settled() {
            slot.held = Some(by);
            return;
        }
        self.end_call(at, by, Blank::Object);
    }

    pub(super) fn close_all(&mut self, choice: Option<u32>, by: ClosedBy) {
        // After an error only a call's own close vouches for it.
        let failed = self
            .notes
            .as_ref()
            .is_some_and(|notes| notes.fault.is_some());
        let by = if failed { ClosedBy::Error } else { by };
        // The mirrors are found before anything ends: both texts are still here.
        let mirrors: SmallVec<[SlotId; 4]> = (0..self.calls.0.len())
            .filter(|&at| {
                let call = self.calls.call(at);
                let ends = |of: u32| choice.is_none_or(|choice| of == choice);
                call.is_some_and(|call| ends(call.choice))
                    && (self.is_mirror(at) || by.vouches() && self.is_said_again(at))
            })
            .collect();
        for at in 0..self.calls.0.len() {
            let Some(slot) = self
                .calls
                .get(at)
                .filter(|slot| choice.is_none_or(|choice| slot.call.choice == choice))
            else {
                continue;
            };
            if mirrors.contains(&at) {
                self.end_mirror(at);
                continue;
            }
            let (held, stands, of) = (slot.held, slot.is_closed(), slot.call.choice);
            let by = self.ended_by(by, of);
            // A call's own close vouches for it, where it had one; for a text that does not stand, only as far as the end does.
            let by = held.filter(|_| by.vouches() || stands).unwrap_or(by);
            let blank = if by.vouches() {
                Blank::Object
            } else {
                Blank::Cut
            };
            self.end_call(at, by, blank);
        }
    }

    /// How the calls of a choice end at this end: a finish reason vouches for its own choice alone (WIRE_FORMATS 1.3), and one
    /// that no choice gave for all.
    pub(super) fn ended_by(&self, by: ClosedBy, choice: u32) -> ClosedBy {
        let notes = self.notes.as_ref();
        let of_another =
            notes.is_some_and(|notes| !notes.reasons.is_empty() && notes.reason(choice).is_none());
        if by == ClosedBy::FinishReason && of_another {
            ClosedBy::Unconfirmed
        } else {
            by
        }
    }

    /// One call under a second index, or begun a second time, sent with the same id, name and text (WIRE_FORMATS Q12).
    pub(super) fn is_mirror(&self, at: SlotId) -> bool {
        self.calls.mirrored(at).is_some_and(|(slot, other)| {
            let (one, other) = (&slot.call, &other.call);
            let again = !slot.by_table && one.wire_index == other.wire_index;
            (again || one.wire_index != other.wire_index)
                && one.name == other.name
                && one.id == other.id
                && (one.raw() == other.raw() || again && one.is_blank())
        })
    }

    /// The text of the whole call before it once more, or its beginning, under an index that nothing else names (Q46).
    fn is_said_again(&self, at: SlotId) -> bool {
        let slot = self.calls.slot(at).filter(|slot| slot.by_table);
        let Some(one) = slot.map(|slot| &slot.call) else {
            return false;
        };
        let mut before = (0..at).rev().filter_map(|at| self.calls.call(at));
        let latest = before.find(|other| other.choice == one.choice);
        one.id.is_none()
            && one.name.is_empty()
            && !one.is_blank()
            && latest.is_some_and(|other| other.is_whole() && other.raw().starts_with(one.raw()))
    }

    /// Whether no newer call of the choice is open.
    fn is_last_open(&self, at: SlotId, choice: u32) -> bool {
        let mut newer = self.calls.0.iter().skip(at + 1).flatten();
        newer.all(|slot| slot.call.choice != choice || slot.is_closed())
    }

    pub(super) fn end_mirror(&mut self, at: SlotId) {
        self.anomaly(AnomalyKind::MirroredCall, Some(at));
        self.end_call(at, ClosedBy::Mirrored, Blank::Cut);
    }

    /// Ends one call and says so.
    pub(super) fn end_call(&mut self, at: SlotId, by: ClosedBy, blank: Blank) {
        if let Some(kind) = self.calls.get(at).and_then(|slot| slot.call.end_text()) {
            self.anomaly(kind, Some(at));
            self.say(at);
        }
        if self.calls.get(at).is_some_and(|slot| !slot.started) {
            if self.calls.call(at).is_some_and(|call| call.name.is_empty()) {
                self.anomaly(AnomalyKind::MissingName, Some(at));
            }
            self.start(at);
            self.say(at);
        }
        let id = self.public_id(at);
        if let (ClosedBy::Restart, Some(notes)) = (by, &mut self.notes) {
            // The call that is made again has it.
            notes.ids.remove(&id.0);
        }
        let Some(mut slot) = self.calls.0.get_mut(at).and_then(Option::take) else {
            return;
        };
        let (choice, index) = (slot.call.choice, slot.call.index());
        // Its message goes on: what comes for it yet is late.
        let goes_on = slot.by_table && by.vouches() && by != ClosedBy::Terminal;
        if !slot.told.is_empty() {
            let notes = self.notes.get_or_insert_default();
            if let Some(told) = notes.told_of_ended(at) {
                *told = slot.told;
            }
        }
        let said = slot.said;
        let notes = self.notes.as_ref();
        let reason = notes.and_then(|notes| notes.reason(choice));
        let meaning = reason.map(|reason| reason.meaning);
        // A reason that says the answer was cut means the last call that is open (11.6). A whole object stays whole all the same.
        let cuts = matches!(
            meaning,
            Some(FinishMeaning::Length | FinishMeaning::Filtered | FinishMeaning::Error)
        );
        let cut = slot.call.is_cut() || cuts && !slot.is_closed() && self.is_last_open(at, choice);
        let discarded = matches!(by, ClosedBy::Restart | ClosedBy::Mirrored);
        let unconfirmed = !by.vouches();
        // Balanced or not: a wire that closes its calls had not closed this one (3.5).
        let closes = !slot.by_table && slot.held.is_none();
        let open = by == ClosedBy::Error && closes && !slot.is_passed();
        let closing = Closing {
            settling: Settling {
                // What is missing from a text that nothing vouches for is not repaired.
                repair: if unconfirmed {
                    RepairLevel::None
                } else {
                    self.config.repair
                },
                max_depth: self.config.max_depth,
                blank: if cut || unconfirmed {
                    Blank::Cut
                } else {
                    blank
                },
            },
            unconfirmed,
            open,
            cut,
            evidence: Evidence {
                closed_by: by,
                offset: self.offset,
                finish_reason: reason
                    .map(|reason| reason.native.clone().unwrap_or_else(|| reason.text.clone())),
                finish_meaning: meaning,
                status: None,
            },
            id,
        };
        let held = slot.call.raw().len() + slot.call.beside();
        self.arguments_bytes = self.arguments_bytes.saturating_sub(held);
        if meaning == Some(FinishMeaning::MalformedCall) {
            slot.call.damage(ProblemKind::Rejected);
        }
        let reader = slot.call.take_reader();
        let Ended { call, anomalies } = slot.call.end(closing);
        // Servers report `tool_calls` for what their token limit cut (Q59).
        let lies = meaning == Some(FinishMeaning::ToolCalls)
            && !unconfirmed
            && call.state() == CallState::Truncated;
        let lie = lies.then_some(AnomalyKind::LyingFinish);
        for kind in anomalies.into_iter().chain([lie]).flatten() {
            self.anomaly(kind, Some(at));
        }
        // The start block's own input was nothing while fragments could come; now it is the text.
        let text = call.arguments().raw();
        if said == 0 && !text.is_empty() && !self.config.calls_only {
            self.queue.arguments(index, Fragment::new(text));
        }
        if goes_on && self.state != State::Over {
            let slots = self.slots.get_or_insert_default();
            slots.ended(at, call.name(), text);
        }
        if self.config.field_events && !discarded {
            fields::settle(reader, &call, &mut self.queue);
        }
        self.queue.push(if discarded {
            Queued::Discarded(call)
        } else {
            Queued::Completed(call)
        });
    }

    /// The id that the caller echoes, and whether it was made here.
    pub(super) fn public_id(&mut self, at: SlotId) -> (String, bool) {
        let Some(slot) = self.calls.slot(at) else {
            return (String::new(), true);
        };
        let by_table = slot.by_table;
        if let Some(id) = slot.call.id.clone() {
            if slot.public_id.as_ref() == Some(&id)
                || self.notes.get_or_insert_default().ids.insert(id.clone())
            {
                return (id, false);
            }
            self.anomaly(AnomalyKind::SharedId, Some(at));
        } else if by_table {
            self.anomaly(AnomalyKind::MissingId, Some(at));
        }
        // A source that keeps giving ids in use must not hang the stream: the call's number makes the id unique then.
        for attempt in 0.. {
            let mut id = self.config.ids.next_id();
            if attempt >= 8 {
                id = format!("{id}_{at}_{attempt}");
            }
            // The wire's own id of a call that has not started yet is in use, too.
            let known = self.slots.as_ref().is_some_and(|slots| slots.knows(&id));
            let free = !id.is_empty() && !known;
            if free && self.notes.get_or_insert_default().ids.insert(id.clone()) {
                return (id, true);
            }
        }
        (String::new(), true)
    }
}
