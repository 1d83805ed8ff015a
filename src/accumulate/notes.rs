//! What is noted of a stream and asked for at its end, or seldom.

use std::collections::HashSet;

use super::open::Told;
use crate::anomaly::AnomalyKind;
use crate::delta::FinishMeaning;
use crate::error::Error;
use crate::event::FinishReason;
use crate::slots::SlotId;

#[derive(Default)]
pub(super) struct Notes {
    /// What each choice's model said of its end.
    pub(super) reasons: Vec<(u32, FinishReason)>,
    /// The public ids given so far.
    pub(super) ids: HashSet<String>,
    /// How often each kind of anomaly was seen.
    pub(super) counts: Vec<(AnomalyKind, u64)>,
    /// The kinds that were told of the stream, not of a call.
    pub(super) told: Told,
    /// Those that were told of each call that was emitted, by slot.
    told_of_ended: Vec<Told>,
    /// An event was lost: the stream cannot end clean.
    pub(super) undecodable: Option<(u64, String)>,
    /// The provider reported an error and may go on.
    pub(super) fault: Option<Error>,
    /// Text between events that is no event.
    pub(super) stray: Option<String>,
}

impl Notes {
    /// What the model of this choice said of its end.
    pub(super) fn reason(&self, choice: u32) -> Option<&FinishReason> {
        let mut reasons = self.reasons.iter();
        reasons
            .find(|(of, _)| *of == choice)
            .map(|(_, reason)| reason)
    }

    /// Notes what the model of this choice said of its end; tells whether that is news.
    pub(super) fn take_reason(&mut self, choice: u32, reason: &FinishReason) -> bool {
        match self.reasons.iter_mut().find(|(of, _)| *of == choice) {
            // Of several reasons the more telling one wins (Q56); an unchanged one is not said again.
            Some((_, held)) if held == reason => return false,
            Some((_, held)) => {
                if weight(reason.meaning) >= weight(held.meaning) {
                    *held = reason.clone();
                }
            }
            None => self.reasons.push((choice, reason.clone())),
        }
        true
    }

    /// The kinds that were told of a call that was emitted.
    pub(super) fn told_of_ended(&mut self, slot: SlotId) -> Option<&mut Told> {
        if self.told_of_ended.len() <= slot {
            self.told_of_ended.resize(slot + 1, Told::default());
        }
        self.told_of_ended.get_mut(slot)
    }

    pub(super) fn count(&mut self, kind: AnomalyKind) {
        match self.counts.iter_mut().find(|(of, _)| *of == kind) {
            Some((_, count)) => *count += 1,
            None => self.counts.push((kind, 1)),
        }
    }
}

/// Which of two finish reasons tells more (WIRE_FORMATS Q56).
fn weight(meaning: FinishMeaning) -> u8 {
    match meaning {
        FinishMeaning::Other => 0,
        FinishMeaning::Stop | FinishMeaning::Paused => 1,
        FinishMeaning::ToolCalls => 2,
        FinishMeaning::Filtered | FinishMeaning::Length => 3,
        FinishMeaning::MalformedCall | FinishMeaning::Error => 4,
    }
}
