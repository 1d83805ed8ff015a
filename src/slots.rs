//! The only place that decides whose delta this is (WIRE_FORMATS 11.2 and 11.3).
//!
//! Letter to the next reader. An index is a label, never a position; a missing index is never 0; a known id wins. A slot is a
//! place for one call, numbered by arrival. This room knows keys, ids, names and whether a slot's text is whole, and asks the
//! calls no other question. The rules carry their names D0 to D18 from the document; read them beside it.

mod table;

use std::collections::HashMap;

use smallvec::SmallVec;

use crate::anomaly::AnomalyKind;
use crate::call::PartialCall;
use crate::delta::{ArgumentsPart, CallDelta, CallKey, Route};
use crate::json;

/// A call's place, by arrival.
pub(crate) type SlotId = usize;

/// Where a delta goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// To this call.
    Slot(SlotId),
    /// To a new call, which takes the next slot.
    New,
    /// Nowhere: it says nothing, or belongs to nobody.
    Nowhere,
}

/// A place, and the liberty that the delta took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Routed {
    pub(crate) place: Place,
    pub(crate) anomaly: Option<AnomalyKind>,
}

#[derive(Debug, Default)]
pub(crate) struct Slots {
    /// `(choice, label) -> slot`, sorted by key: the most recent slot opened or continued under that label.
    labels: Vec<((u32, i64), SlotId)>,
    /// `id -> (choice, slot)`, the most recent slot in each choice. Empty on a wire without ids.
    ids: HashMap<String, SmallVec<[(u32, SlotId); 1]>>,
    /// Entries in `labels`, and in `ids`, that no call was opened with. Each has a bound of its own: ids that drift with every
    /// fragment must not cost a call its label.
    more_labels: usize,
    more_ids: usize,
    /// Calls that were opened.
    calls: usize,
    /// The slot last touched in each choice.
    latest: SmallVec<[Latest; 1]>,
    /// Choice, provider event and slot of the calls that the last event opened which opened any in that choice.
    opened: SmallVec<[(u32, u64, SlotId); 2]>,
    /// The number of the provider event being read.
    event: u64,
    /// The calls that were emitted before their message ended.
    ended: Option<Box<Ended>>,
    /// What [`continued`](Slots::continued) found last, and its place in `latest`, as long as nothing else was touched since.
    hot: Option<((u32, i64), SlotId, usize)>,
}

/// The slot last touched in one choice.
#[derive(Debug)]
struct Latest {
    choice: u32,
    slot: SlotId,
    /// In which provider event.
    event: u64,
    /// Anonymous fragments go there without asking again whether another call could claim them.
    settled: bool,
}

/// What is remembered of a call that was emitted before its message ended: what goes on with it is late.
#[derive(Debug)]
struct EndedCall {
    name: String,
    /// The object that its text was, if that said something.
    object: Option<u64>,
}

/// Hardly any stream has some.
#[derive(Debug, Default)]
struct Ended(HashMap<SlotId, EndedCall>);

/// What the table asks of the calls: `None` for a call that was emitted.
pub(crate) trait Calls {
    fn call(&self, slot: SlotId) -> Option<&PartialCall>;
    /// How many slots there are.
    fn count(&self) -> usize;
}

impl Slots {
    /// A new provider event begins.
    #[inline]
    pub(crate) fn next_event(&mut self) {
        self.event += 1;
    }

    /// Finds the place of a delta. The caller then opens a call where it must, and says [`touched`](Slots::touched).
    #[inline]
    pub(crate) fn route(&self, delta: &CallDelta<'_>, calls: &impl Calls) -> Routed {
        let key = &delta.key;
        match delta.route {
            // The ordinary continuation: D15 with a label that is known.
            Route::Table if key.id.is_none() && delta.name.is_none() => {
                match index(key).and_then(|index| self.labelled(key.choice, index)) {
                    Some(slot) => Routed {
                        place: Place::Slot(slot),
                        anomaly: None,
                    },
                    None => self.anonymous(delta, calls),
                }
            }
            Route::Table => self.table(delta, calls),
            Route::Sole => self.sole(delta, calls),
            Route::Opens => self.opens(delta, calls),
            Route::Labelled => self.by_label(delta, calls),
        }
    }

    /// [`route`](Slots::route) and [`touched`](Slots::touched) in one, for a piece that names nothing but a known label.
    #[inline]
    pub(crate) fn continued(
        &mut self,
        choice: u32,
        index: Option<i64>,
        route: Route,
    ) -> Option<SlotId> {
        let index = index.filter(|&index| index >= 0 && route.goes_by_label())?;
        if let Some((label, slot, place)) = self.hot
            && label == (choice, index)
            && let Some(latest) = self.latest.get_mut(place)
        {
            latest.event = self.event;
            return Some(slot);
        }
        let slot = self.labelled(choice, index)?;
        let place = match self.hot {
            Some(((of, _), _, place)) if of == choice => place,
            _ => self.latest.iter().position(|of| of.choice == choice)?,
        };
        if let Some(latest) = self.latest.get_mut(place) {
            *latest = Latest {
                choice,
                slot,
                event: self.event,
                settled: false,
            };
        }
        self.hot = Some(((choice, index), slot, place));
        Some(slot)
    }

    /// The slot of a key by index, then id, then item id; without any of them the latest (WIRE_FORMATS 11.5.6).
    pub(crate) fn find(&self, key: &CallKey<'_>) -> Option<SlotId> {
        let by_id = |id: Option<&str>| id.and_then(|id| self.identified(key.choice, id));
        match (index(key), key.id, key.item_id) {
            (None, None, None) => self.latest(key.choice),
            (index, id, item_id) => index
                .and_then(|index| self.labelled(key.choice, index))
                .or_else(|| by_id(id))
                .or_else(|| by_id(item_id)),
        }
    }

    /// Notes that a slot was opened or continued by this delta.
    #[inline]
    pub(crate) fn touched(&mut self, slot: SlotId, delta: &CallDelta<'_>, opened: bool) {
        let (key, sole) = (&delta.key, delta.route == Route::Sole);
        self.hot = None;
        self.calls += usize::from(opened);
        if let Some(index) = if sole { Some(SOLE) } else { index(key) } {
            match self
                .labels
                .binary_search_by_key(&(key.choice, index), |&(label, _)| label)
            {
                Ok(at) => {
                    if let Some(entry) = self.labels.get_mut(at) {
                        entry.1 = slot;
                    }
                }
                Err(at) => {
                    if opened || has_room(&mut self.more_labels, self.calls) {
                        self.labels.insert(at, ((key.choice, index), slot));
                    }
                }
            }
        }
        for id in [key.id, key.item_id].into_iter().flatten() {
            let known = self.identified(key.choice, id);
            if known != Some(slot)
                && (opened
                    || known.is_some()
                    || (id.len() <= ALIAS_BYTES && has_room(&mut self.more_ids, self.calls)))
            {
                let slots = self.ids.entry(id.to_owned()).or_default();
                match slots.iter_mut().find(|(choice, _)| *choice == key.choice) {
                    Some(known) => known.1 = slot,
                    None => slots.push((key.choice, slot)),
                }
            }
        }
        // What has no label never goes on with the call that is found without one.
        if sole {
            return;
        }
        let latest = Latest {
            choice: key.choice,
            slot,
            event: self.event,
            // Fragments paired by position may each be anybody's once they come alone.
            settled: !opened && index(key).is_none() && key.id.is_none() && key.position.1 <= 1,
        };
        match self.latest.iter_mut().find(|of| of.choice == key.choice) {
            Some(held) => *held = latest,
            None => self.latest.push(latest),
        }
        if opened {
            let event = self.event;
            self.opened
                .retain(|&mut (choice, of, _)| choice != key.choice || of == event);
            self.opened.push((key.choice, event, slot));
        }
    }

    /// Notes that a call was emitted, with this name and text, although its message goes on. Cost: O(text).
    pub(crate) fn ended(&mut self, slot: SlotId, name: &str, text: &str) {
        let call = EndedCall {
            name: name.to_owned(),
            object: json::fingerprint(text),
        };
        let ended = self.ended.get_or_insert_default();
        ended.0.insert(slot, call);
    }

    /// Notes that a message ended: what goes on as its calls did is of another.
    pub(crate) fn message_ended(&mut self) {
        self.ended = None;
    }

    #[inline]
    pub(crate) fn labelled(&self, choice: u32, index: i64) -> Option<SlotId> {
        let label = (choice, index);
        // Most servers count from 0, so that a label stands where it says.
        let guess = usize::try_from(index)
            .ok()
            .and_then(|at| self.labels.get(at));
        if let Some(&(of, slot)) = guess
            && of == label
        {
            return Some(slot);
        }
        let at = self
            .labels
            .binary_search_by_key(&label, |&(of, _)| of)
            .ok()?;
        self.labels.get(at).map(|&(_, slot)| slot)
    }

    /// Whether some call came under this id.
    pub(crate) fn knows(&self, id: &str) -> bool {
        self.ids.contains_key(id)
    }

    /// The call of this slot, if it was emitted and its message goes on.
    fn emitted(&self, slot: SlotId) -> Option<&EndedCall> {
        self.ended.as_ref()?.0.get(&slot)
    }

    fn identified(&self, choice: u32, id: &str) -> Option<SlotId> {
        let slots = self.ids.get(id)?.iter();
        slots
            .rev()
            .find(|(of, _)| *of == choice)
            .map(|&(_, slot)| slot)
    }

    fn latest(&self, choice: u32) -> Option<SlotId> {
        self.last_touched(choice).map(|latest| latest.slot)
    }

    fn last_touched(&self, choice: u32) -> Option<&Latest> {
        self.latest.iter().find(|latest| latest.choice == choice)
    }

    /// [`Route::Opens`].
    fn opens(&self, delta: &CallDelta<'_>, calls: &impl Calls) -> Routed {
        let known = index(&delta.key).and_then(|index| self.labelled(delta.key.choice, index));
        if let Some((slot, call)) = known.and_then(|slot| Some((slot, calls.call(slot)?))) {
            // Fragments that came before their start wait in a slot without name and id.
            if call.id.is_none() && call.name.is_empty() {
                return Routed {
                    place: Place::Slot(slot),
                    anomaly: None,
                };
            }
            // A known id wins (cases/README.md, rule 2). Behind a whole text it may be another call's, too (Q23).
            let same = |name| call.name.is_empty() || call.name == name;
            let same_name = delta.name.is_none_or(same);
            let goes_on = call.is_blank() || (same_name && !call.is_whole());
            if call.id.is_some() && call.id.as_deref() == delta.key.id && goes_on {
                return Routed {
                    place: Place::Slot(slot),
                    anomaly: Some(AnomalyKind::RepeatedStart),
                };
            }
        }
        Routed {
            place: Place::New,
            anomaly: None,
        }
    }

    /// [`Route::Labelled`].
    fn by_label(&self, delta: &CallDelta<'_>, calls: &impl Calls) -> Routed {
        let key = &delta.key;
        let named = delta.name.is_some() || key.id.is_some();
        match self.find(key) {
            None if named => Routed {
                place: Place::New,
                anomaly: None,
            },
            None => Routed {
                place: self.unlabelled(delta, calls),
                anomaly: Some(AnomalyKind::UnknownLabel),
            },
            Some(slot) => match calls.call(slot) {
                // A label whose call has ended starts over with another id (R19; several responses in one body).
                None if key
                    .id
                    .is_some_and(|id| self.identified(key.choice, id) != Some(slot))
                    && named =>
                {
                    Routed {
                        place: Place::New,
                        anomaly: None,
                    }
                }
                _ => Routed {
                    place: Place::Slot(slot),
                    anomaly: None,
                },
            },
        }
    }

    /// Where text goes whose label no start had: to the latest call if that still lacks a label, else to a call of its own,
    /// as its start may still come. Empty text is nobody's.
    fn unlabelled(&self, delta: &CallDelta<'_>, calls: &impl Calls) -> Place {
        let blank = match delta.arguments {
            ArgumentsPart::Fragment(fragment) => {
                let halves = fragment.low.is_some() || fragment.high.is_some();
                fragment.text.is_empty() && !halves
            }
            _ => piece(delta).is_none_or(str::is_empty),
        };
        if blank {
            return Place::Nowhere;
        }
        let labels = index(&delta.key).is_some() && delta.key.item_id.is_none();
        let lacks = |call: &PartialCall| {
            call.wire_index.is_none_or(|index| index < 0)
                && !call.name.is_empty()
                && !call.is_whole()
        };
        let latest = self.latest(delta.key.choice).filter(|_| labels);
        let latest = latest.filter(|&slot| calls.call(slot).is_some_and(lacks));
        latest.map_or(Place::New, Place::Slot)
    }

    /// Whether an entry of the same provider event and choice came before this one.
    fn is_beside(&self, choice: u32) -> bool {
        self.last_touched(choice)
            .is_some_and(|latest| latest.event == self.event)
    }
}

/// Ids and labels kept for a call beside those it was opened with. Servers that drift send a fresh one with every piece
/// (WIRE_FORMATS Q10, Q20): what is not kept is routed as any unknown id is.
const ALIASES: usize = 64;
/// A longer id is not kept as an alias.
const ALIAS_BYTES: usize = 256;

/// Whether one more label or id is remembered for a call that is known already. One that drifts with every fragment must not
/// be remembered for ever; its call is found without it.
fn has_room(more: &mut usize, calls: usize) -> bool {
    let room = *more < ALIASES.saturating_mul(calls);
    *more += usize::from(room);
    room
}

/// The label of a choice's [`Route::Sole`] call: no wire's, for a negative one means absent.
const SOLE: i64 = -1;

/// A label; negative means absent (WIRE_FORMATS Q6).
#[inline]
fn index(key: &CallKey<'_>) -> Option<i64> {
    key.index.filter(|&index| index >= 0)
}

fn piece<'a>(delta: &CallDelta<'a>) -> Option<&'a str> {
    match delta.arguments {
        ArgumentsPart::None | ArgumentsPart::Initial(_) => None,
        ArgumentsPart::Fragment(fragment) => Some(fragment.text),
        ArgumentsPart::Whole(text) | ArgumentsPart::Restated(text) => Some(text),
    }
}
