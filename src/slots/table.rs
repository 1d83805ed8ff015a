//! The routing table D0 to D18 of WIRE_FORMATS 11.3: first match wins.

use super::{Calls, Place, Routed, SlotId, Slots, index, piece};
use crate::anomaly::AnomalyKind;
use crate::delta::CallDelta;
use crate::json::Scan;

impl Slots {
    /// The table, for a delta with an id or a name.
    pub(super) fn table(&self, delta: &CallDelta<'_>, calls: &impl Calls) -> Routed {
        let key = &delta.key;
        let to = |slot| Routed {
            place: Place::Slot(slot),
            anomaly: None,
        };
        let new = Routed {
            place: Place::New,
            anomaly: None,
        };
        let piece = piece(delta);
        let has_piece = piece.is_some_and(|piece| !piece.is_empty());
        // Asked only where it decides: it reads the piece.
        let opens = || piece.is_some_and(Scan::opens);
        let label = index(key);
        let by_label = label.and_then(|index| self.labelled(key.choice, index));
        let labelled = by_label.and_then(|slot| Some((slot, calls.call(slot)?)));
        let latest = self
            .latest(key.choice)
            .and_then(|slot| Some((slot, calls.call(slot)?)));
        let unfinished = latest.filter(|(_, call)| !call.is_whole());

        let Some(id) = key.id else {
            let Some(name) = delta.name else {
                return self.anonymous(delta, calls);
            };
            return match labelled {
                // D10
                Some((slot, call)) if call.name.is_empty() => to(slot),
                // D11
                Some((slot, call)) if call.name == name => {
                    let again = call.is_whole()
                        && !call.is_empty_object()
                        && opens()
                        && piece != Some(call.raw());
                    if again {
                        Routed {
                            place: Place::New,
                            anomaly: Some(AnomalyKind::ReusedIndex),
                        }
                    } else {
                        to(slot)
                    }
                }
                // D12
                Some((slot, call)) if call.raw().is_empty() && !has_piece => to(slot),
                // D14
                Some(_) => Routed {
                    place: Place::New,
                    anomaly: Some(AnomalyKind::ReusedIndex),
                },
                None => {
                    match unfinished.filter(|_| label.is_none() && !self.is_beside(key.choice)) {
                        // D13
                        Some((slot, call))
                            if call.name.is_empty() || (call.name == name && !opens()) =>
                        {
                            to(slot)
                        }
                        // D14
                        _ => new,
                    }
                }
            };
        };
        if let Some((slot, call)) = self
            .identified(key.choice, id)
            .and_then(|slot| Some((slot, calls.call(slot)?)))
        {
            let whole = delta.name.is_some() && call.is_whole();
            // D1
            let elsewhere = whole && label.is_some() && by_label != Some(slot);
            // D2
            let again = whole && !call.is_empty_object() && opens() && piece != Some(call.raw());
            if elsewhere || again {
                return Routed {
                    place: Place::New,
                    anomaly: Some(AnomalyKind::SharedId),
                };
            }
            // D3
            return to(slot);
        }
        // The id is new from here on.
        if let Some(name) = delta.name {
            return match labelled {
                // D4
                Some((slot, call))
                    if call.id.is_none()
                        && (call.name.is_empty() || (call.name == name && !call.is_whole())) =>
                {
                    Routed {
                        place: Place::Slot(slot),
                        anomaly: Some(AnomalyKind::LateId),
                    }
                }
                // D5
                Some((slot, call))
                    if call.name == name && !call.is_blank() && !call.is_whole() && !opens() =>
                {
                    Routed {
                        place: Place::Slot(slot),
                        anomaly: Some(AnomalyKind::DriftingId),
                    }
                }
                // D6
                Some(_) => Routed {
                    place: Place::New,
                    anomaly: Some(AnomalyKind::ReusedIndex),
                },
                None => new,
            };
        }
        // D0: metadata alone never opens a call (Q74).
        if piece.is_none() && !delta.extras.is_empty() {
            return match labelled.or(latest) {
                Some((slot, _)) => to(slot),
                None => Routed {
                    place: Place::Nowhere,
                    anomaly: Some(AnomalyKind::UnknownLabel),
                },
            };
        }
        match (labelled, unfinished) {
            // D7
            (Some((slot, call)), _) => {
                let anomaly = if call.id.is_none() {
                    AnomalyKind::LateId
                } else {
                    AnomalyKind::DriftingId
                };
                Routed {
                    place: Place::Slot(slot),
                    anomaly: Some(anomaly),
                }
            }
            // D8
            (None, Some((slot, call))) if has_piece && (call.is_blank() || !opens()) => Routed {
                place: Place::Slot(slot),
                anomaly: Some(AnomalyKind::DriftingId),
            },
            // D9
            _ => new,
        }
    }

    /// The table, for a delta with neither id nor name whose label is unknown or missing.
    pub(super) fn anonymous(&self, delta: &CallDelta<'_>, calls: &impl Calls) -> Routed {
        let key = &delta.key;
        let choice = key.choice;
        let to = |slot, anomaly| Routed {
            place: Place::Slot(slot),
            anomaly: Some(anomaly),
        };
        let label = index(key);
        let why = if label.is_some() {
            AnomalyKind::UnknownLabel
        } else {
            AnomalyKind::MissingIndex
        };
        let latest = self
            .latest(choice)
            .and_then(|slot| Some((slot, calls.call(slot)?)));
        // D0, and an entry that says nothing at all (Q44).
        if piece(delta).is_none_or(str::is_empty) {
            return match latest {
                Some((slot, _)) if !delta.extras.is_empty() => Routed {
                    place: Place::Slot(slot),
                    anomaly: None,
                },
                _ => Routed {
                    place: Place::Nowhere,
                    anomaly: None,
                },
            };
        }
        // As many entries without index as the last event opened calls: they pair by position.
        let (position, of) = key.position;
        let mut opened = self.opened.iter().filter(|(of, _, _)| *of == choice);
        if label.is_none()
            && of > 1
            && of == opened.clone().count()
            && let Some(slot) = opened
                .nth(position)
                .map(|&(_, _, slot)| slot)
                .filter(|&slot| calls.call(slot).is_some())
        {
            return to(slot, why);
        }
        let half_open = |slot: SlotId| {
            calls
                .call(slot)
                .filter(|call| call.choice == choice && !call.is_blank() && !call.is_whole())
        };
        let unlabelled =
            |slot| half_open(slot).is_some_and(|call| call.wire_index.is_none_or(|at| at < 0));
        // Two half-open calls without label: neither can be believed (cases/README.md, rule 3).
        let or_ambiguous = |slot, asks: bool| {
            let rival = asks
                && unlabelled(slot)
                && (0..calls.count()).any(|other| other != slot && unlabelled(other));
            to(
                slot,
                if rival {
                    AnomalyKind::AmbiguousFragment
                } else {
                    why
                },
            )
        };
        if let Some((slot, _)) = latest.filter(|(_, call)| !call.is_whole()) {
            // D16
            let settled = self.last_touched(choice).is_some_and(|of| of.settled);
            return or_ambiguous(slot, label.is_none() && !settled);
        }
        // The same for the newest call that is half open, where the latest is whole and the piece is the beginning of nothing.
        let goes_on = !piece(delta).is_some_and(Scan::opens);
        let mut newest = (0..calls.count()).rev().filter(|_| goes_on);
        if let Some(slot) = newest.find(|&slot| half_open(slot).is_some()) {
            return or_ambiguous(slot, label.is_none());
        }
        match latest {
            // D17
            Some((slot, _)) if label.is_none() => to(slot, why),
            // D18
            _ => Routed {
                place: Place::New,
                anomaly: Some(why),
            },
        }
    }
}
