//! What is noted of a stream and asked for at its end, or seldom.

use std::collections::HashSet;

use smallvec::SmallVec;

use super::open::Told;
use crate::anomaly::AnomalyKind;
use crate::error::Error;
use crate::event::FinishReason;
use crate::slots::SlotId;

#[derive(Default)]
pub(super) struct Notes {
    /// What each choice's model said of its end.
    pub(super) reasons: Vec<(u32, FinishReason)>,
    /// The newest call of each choice.
    pub(super) newest: SmallVec<[(u32, SlotId); 1]>,
    /// The public ids given so far.
    pub(super) ids: HashSet<String>,
    /// How often each kind of anomaly was seen.
    pub(super) counts: Vec<(AnomalyKind, u64)>,
    /// The kinds that were told of the stream, not of a call.
    pub(super) told: Told,
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

    pub(super) fn count(&mut self, kind: AnomalyKind) {
        match self.counts.iter_mut().find(|(of, _)| *of == kind) {
            Some((_, count)) => *count += 1,
            None => self.counts.push((kind, 1)),
        }
    }
}
