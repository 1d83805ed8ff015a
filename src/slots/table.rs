//! The routing table D0 to D18 of WIRE_FORMATS 11.3: first match wins.

use super::{Calls, EndedCall, Place, Routed, SOLE, SlotId, Slots, index, piece};
use crate::anomaly::AnomalyKind;
use crate::call::PartialCall;
use crate::delta::{CallDelta, ToolKind};
use crate::json::{self, Scan};

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
        let opens = || piece.is_some_and(opens_behind);
        let label = index(key);
        let by_label = label.and_then(|index| self.labelled(key.choice, index));
        let labelled = by_label.and_then(|slot| Some((slot, calls.call(slot)?)));
        let latest = self
            .latest(key.choice)
            .and_then(|slot| Some((slot, calls.call(slot)?)));
        let unfinished = latest.filter(|(_, call)| !call.is_whole());
        if let Some(late) = self.late(delta, label, calls) {
            return to(late);
        }

        let Some(id) = key.id else {
            let Some(name) = delta.name else {
                return self.anonymous(delta, calls);
            };
            return match labelled {
                Some(held) => self.named(held, name, delta),
                None => {
                    match unfinished.filter(|_| label.is_none() && !self.is_beside(key.choice)) {
                        // D13. What opens behind no text is the first text: the name came once more with it (Q28).
                        Some((slot, call))
                            if call.name.is_empty()
                                || (call.name == name && (call.is_blank() || !opens())) =>
                        {
                            to(slot)
                        }
                        // D14
                        _ => new,
                    }
                }
            };
        };
        // Of several calls that share an id the label tells which (Q23).
        let own = labelled.filter(|(_, call)| call.id.as_deref() == Some(id));
        let known = || {
            let slot = self.identified(key.choice, id)?;
            Some((slot, calls.call(slot)?))
        };
        if let Some((slot, call)) = own.or_else(known) {
            // D1. Another name under another label is another call, even before this one is whole: it may have no arguments (Q43).
            let is_another =
                |name: &str| call.is_whole() || !(call.name.is_empty() || call.name == name);
            let elsewhere = label.is_some() && by_label != Some(slot);
            let elsewhere = elsewhere && delta.name.is_some_and(is_another);
            // D2
            let again = delta.name.is_some() && begins_another(call, piece);
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
            let is_copy = |call: &PartialCall| {
                piece.is_some_and(|piece| is_encoded(piece) && restates(piece, call))
            };
            return match labelled {
                // D4
                Some((slot, call))
                    if call.id.is_none()
                        && (call.name.is_empty()
                            || (call.name == name && (!call.is_whole() || is_copy(call)))) =>
                {
                    Routed {
                        place: Place::Slot(slot),
                        anomaly: Some(AnomalyKind::LateId),
                    }
                }
                // D5. Of free text nobody knows that it is unfinished.
                Some((slot, call))
                    if call.name == name
                        && *call.kind() != ToolKind::Custom
                        && !call.is_blank()
                        && !call.is_whole()
                        && !opens() =>
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
        // Without a label an id that comes alone is the latest call's, if that and no other lacks one (Q1, Q25).
        let lacks = |slot: SlotId, call: &PartialCall| {
            let named = call.id.is_none() && !call.name.is_empty();
            named && call.choice == key.choice && self.labelled(key.choice, SOLE) != Some(slot)
        };
        if let Some((slot, _)) = latest.filter(|&(slot, call)| lacks(slot, call))
            && label.is_none()
            && !has_piece
            && !(0..calls.count())
                .any(|at| at != slot && calls.call(at).is_some_and(|call| lacks(at, call)))
        {
            return Routed {
                place: Place::Slot(slot),
                anomaly: Some(AnomalyKind::LateId),
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

    /// D10 to D14, for a name without an id on an occupied label.
    fn named(&self, held: (SlotId, &PartialCall), name: &str, delta: &CallDelta<'_>) -> Routed {
        let (slot, call) = held;
        let piece = piece(delta);
        let goes_on = if call.name.is_empty() {
            // D10
            true
        } else if call.name == name {
            // D11
            !begins_another(call, piece)
        } else {
            // D12
            call.raw().is_empty() && piece.is_none_or(str::is_empty)
        };
        if goes_on {
            return Routed {
                place: Place::Slot(slot),
                anomaly: None,
            };
        }
        // D11, D14
        Routed {
            place: Place::New,
            anomaly: Some(AnomalyKind::ReusedIndex),
        }
    }

    /// [`Route::Sole`](crate::delta::Route::Sole): one more label, so to speak, that no other delta has.
    pub(super) fn sole(&self, delta: &CallDelta<'_>, calls: &impl Calls) -> Routed {
        let slot = self.labelled(delta.key.choice, SOLE);
        let held = slot.and_then(|slot| Some((slot, calls.call(slot)?)));
        let place = match (delta.name, slot) {
            (Some(name), _) => match held {
                Some(held) => return self.named(held, name, delta),
                None => self
                    .late(delta, Some(SOLE), calls)
                    .map_or(Place::New, Place::Slot),
            },
            (None, Some(slot)) => Place::Slot(slot),
            (None, None) if piece(delta).is_none_or(str::is_empty) => Place::Nowhere,
            // D16: nothing else is open.
            (None, None) => {
                let latest = self.latest(delta.key.choice);
                let is_open =
                    |&slot: &SlotId| calls.call(slot).is_some_and(|call| !call.is_whole());
                latest.filter(is_open).map_or(Place::New, Place::Slot)
            }
        };
        Routed {
            place,
            anomaly: None,
        }
    }

    /// The emitted call that this goes on with, as it would if that were open still: a late piece opens no second call
    /// (WIRE_FORMATS 11.5.5).
    fn late(
        &self,
        delta: &CallDelta<'_>,
        label: Option<i64>,
        calls: &impl Calls,
    ) -> Option<SlotId> {
        let key = &delta.key;
        let by_label = label.and_then(|index| self.labelled(key.choice, index));
        let by_id = key.id.and_then(|id| self.identified(key.choice, id));
        let slot = by_id.or(by_label)?;
        let call = self.emitted(slot)?;
        let piece = piece(delta).filter(|piece| !piece.is_empty());
        let open = by_label.and_then(|slot| calls.call(slot));
        let goes_on = match delta.name {
            // Of several calls that share an id the label tells which (Q23).
            _ if open.is_some_and(|open| by_id.is_some() && open.id.as_deref() == key.id) => false,
            // D3, D7
            None => true,
            Some(name) if !call.name.is_empty() && call.name != name => false,
            // D5, D6
            Some(_) if key.id.is_some() && by_id.is_none() => {
                piece.is_some_and(|piece| !Scan::opens(piece))
            }
            // D1 to D3, D10, D11
            Some(_) => {
                let elsewhere = by_id.is_some() && label.is_some() && by_label != by_id;
                !elsewhere && !piece.is_some_and(|piece| call.is_followed_by(piece))
            }
        };
        goes_on.then_some(slot)
    }

    /// The call behind the latest, which is whole, that text without a label goes on with.
    fn older(
        &self,
        piece: &str,
        latest: Option<(SlotId, &PartialCall)>,
        choice: u32,
        calls: &impl Calls,
    ) -> Option<SlotId> {
        let said = piece.trim();
        let opens = said.starts_with('{');
        // A text by itself may say again, encoded, what the latest said.
        if !opens && opens_behind(piece) {
            return None;
        }
        let settled = self.last_touched(choice).is_some_and(|of| of.settled);
        if let Some((_, latest)) = latest.filter(|_| opens) {
            let before = latest.raw().trim();
            // The real text behind a placeholder (Q36), or the same text again (Q38, Q46).
            if before == "{}" || said.starts_with(before) || before.starts_with(said) {
                return None;
            }
        }
        let unfinished = |&slot: &SlotId| {
            let call = calls
                .call(slot)
                .filter(|call| *call.kind() != ToolKind::Custom);
            call.is_some_and(|call| self.is_unfinished(slot, choice, call))
        };
        let is_blank = |&slot: &SlotId| calls.call(slot).is_some_and(PartialCall::is_blank);
        let all = || (0..calls.count()).rev().filter(unfinished);
        let newest = all().find(|slot| opens || !is_blank(slot))?;
        // Which of two calls a text begins, or one that follows others without a label, nobody knows.
        let doubtful = is_blank(&newest) && (settled || all().nth(1).is_some());
        (!doubtful).then_some(newest)
    }

    /// Whether text without a label may belong to this call.
    fn is_unfinished(&self, slot: SlotId, choice: u32, call: &PartialCall) -> bool {
        call.choice == choice && !call.is_whole() && self.labelled(choice, SOLE) != Some(slot)
    }

    /// Whether text without a label may belong to this call, of which some was sent, as well as to another that is.
    pub(crate) fn is_half_open(&self, slot: SlotId, choice: u32, call: &PartialCall) -> bool {
        self.is_unfinished(slot, choice, call)
            && !call.is_blank()
            && call.wire_index.is_none_or(|index| index < 0)
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
        let Some(piece) = piece(delta).filter(|piece| !piece.is_empty()) else {
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
        };
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
            let call = calls.call(slot);
            call.is_some_and(|call| self.is_half_open(slot, choice, call))
        };
        // Two half-open calls without label: neither can be believed (cases/README.md, rule 3).
        let or_ambiguous = |slot, asks: bool| {
            let rival = asks
                && half_open(slot)
                && (0..calls.count()).any(|other| other != slot && half_open(other));
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
        // Else the newest call that is not whole (cases/README.md, rule 3).
        if let Some(slot) = self.older(piece, latest, choice, calls) {
            return or_ambiguous(slot, label.is_none());
        }
        let sole = self.labelled(choice, SOLE);
        let sole = sole.filter(|&slot| calls.call(slot).is_some_and(|call| !call.is_whole()));
        match (latest, sole) {
            // D16: nothing else is open.
            (None, Some(slot)) => to(slot, why),
            // D17
            (Some((slot, _)), _) if label.is_none() => to(slot, why),
            // D18, or D17 where the latest was emitted.
            _ => {
                let latest = self.latest(choice).filter(|_| label.is_none());
                let ended = latest.filter(|&slot| self.emitted(slot).is_some());
                Routed {
                    place: ended.map_or(Place::New, Place::Slot),
                    anomaly: Some(why),
                }
            }
        }
    }
}

impl EndedCall {
    /// As [`begins_another`], of a call that was emitted.
    fn is_followed_by(&self, piece: &str) -> bool {
        let says_another = |object| {
            let inner = is_encoded(piece).then(|| serde_json::from_str::<String>(piece));
            let inner = inner.and_then(Result::ok);
            json::fingerprint(inner.as_deref().unwrap_or(piece)) != Some(object)
        };
        Scan::opens(piece) && self.object.is_some_and(says_another)
    }
}

/// Whether a piece sent with a call's own id or name begins another call: this one is whole, and the piece opens another value,
/// not the same one again.
fn begins_another(call: &PartialCall, piece: Option<&str>) -> bool {
    call.is_whole()
        && !call.is_empty_object()
        && piece.is_some_and(|piece| Scan::opens(piece) && !restates(piece, call))
}

/// Whether a piece says the object of this call again: with other white space, or encoded once more (Q39).
fn restates(piece: &str, call: &PartialCall) -> bool {
    if is_encoded(piece) {
        let inner = serde_json::from_str::<String>(piece);
        return inner.is_ok_and(|inner| json::is_same_object(&inner, call.raw()));
    }
    piece == call.raw() || json::is_same_object(piece, call.raw())
}

/// Whether a piece looks like the first of another text, where text that is not whole stands before it. A number, a literal, a
/// string or an array goes on with that: servers cut their texts between tokens (Q10, Q20, Q28).
fn opens_behind(piece: &str) -> bool {
    let holds_object = |text: &str| {
        let inner = serde_json::from_str::<String>(text);
        inner.is_ok_and(|inner| json::trim(&inner).starts_with('{'))
    };
    let text = json::trim(piece);
    text.starts_with('{') || is_encoded(text) && holds_object(text)
}

/// Whether a piece is a JSON string, as no arguments begin that were not encoded once more.
fn is_encoded(piece: &str) -> bool {
    json::trim(piece).starts_with('"')
}
