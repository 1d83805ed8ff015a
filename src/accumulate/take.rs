//! A delta on its way into a call.

use super::open::{Slot, Told};
use super::{Accumulator, fields};
use crate::anomaly::AnomalyKind;
use crate::arguments::{Blank, ProblemKind};
use crate::call::{CallIndex, PartialCall};
use crate::config::EmitWhen;
use crate::delta::{ArgumentsPart, CallDelta, CallKey, ClosedBy, Fragment, Route, ToolKind};
use crate::slots::{Calls, Place, SlotId};

impl Accumulator {
    /// A piece of text for a call that is known by its label: what nearly every delta is. `None`, and nothing done, for any other;
    /// else whether an event more waits now.
    #[inline(always)]
    pub(super) fn plain_piece(
        &mut self,
        choice: u32,
        index: Option<i64>,
        route: Route,
        text: Fragment<'_>,
    ) -> Option<bool> {
        if !self.state.goes_on() {
            return None;
        }
        let choice = self.choice(choice);
        let at = self.slots.as_mut()?.continued(choice, index, route)?;
        let slot = self.calls.get(at)?;
        let length = text.text.len();
        if self.arguments_bytes + length > self.config.max_total_arguments_bytes {
            return None;
        }
        let of = slot.append_plain(text, self.config.max_arguments_bytes)?;
        self.arguments_bytes += length;
        let mut more = !self.config.calls_only && self.queue.arguments(of, text);
        if self.config.field_events {
            fields::read_on(&mut slot.call, &self.config, &mut self.queue);
            more = true;
        }
        Some(more)
    }

    /// Any piece of text, on the long way.
    pub(super) fn piece(
        &mut self,
        choice: u32,
        index: Option<i64>,
        route: Route,
        text: Fragment<'_>,
    ) {
        let choice = self.choice(choice);
        let mut call = CallDelta::new().choice(choice).index(index).route(route);
        call.arguments = ArgumentsPart::Fragment(text);
        self.call(&call);
    }

    pub(super) fn call(&mut self, delta: &CallDelta<'_>) {
        let mut delta = *delta;
        delta.key = self.key(delta.key);
        delta.name = delta.name.filter(|name| !name.is_empty());
        let routed = self
            .slots
            .get_or_insert_default()
            .route(&delta, &self.calls);
        let max = self.config.max_index;
        if routed.place != Place::Nowhere
            && delta.key.index.is_some_and(|index| index > i64::from(max))
        {
            return self.limit("max_index", usize::try_from(max).unwrap_or(usize::MAX));
        }
        let longest = self.config.max_name_bytes;
        if routed.place != Place::Nowhere && has_longer(&delta, longest) {
            return self.limit("max_name_bytes", longest);
        }
        let (slot, opened) = match routed.place {
            Place::Slot(slot) => (slot, false),
            Place::New => match self.open(&delta) {
                Some(slot) => (slot, true),
                None => return,
            },
            Place::Nowhere => {
                if let Some(kind) = routed.anomaly {
                    self.anomaly(kind, None);
                }
                return;
            }
        };
        self.goes_on();
        self.slots
            .get_or_insert_default()
            .touched(slot, &delta, opened);
        if let Some(kind) = routed.anomaly {
            self.anomaly(kind, Some(slot));
            if kind == AnomalyKind::AmbiguousFragment {
                self.damage_half_open(delta.key.choice);
            }
        }
        if delta.route == Route::Table && delta.key.index.is_none_or(|index| index < 0) {
            let missing = delta.key.index.is_none();
            self.anomaly(
                if missing {
                    AnomalyKind::MissingIndex
                } else {
                    AnomalyKind::NegativeIndex
                },
                Some(slot),
            );
        }
        if opened {
            self.another_opened(delta.key.choice, slot);
        }
        self.take(&delta, slot);
    }

    /// A key as it is meant. The fields are public: what says nothing is absent, whoever filled it in.
    pub(super) fn key<'k>(&self, key: CallKey<'k>) -> CallKey<'k> {
        let says = |text: &&str| !text.is_empty();
        CallKey {
            choice: self.choice(key.choice),
            id: key.id.filter(says),
            item_id: key.item_id.filter(says),
            ..key
        }
    }

    pub(super) fn open(&mut self, delta: &CallDelta<'_>) -> Option<SlotId> {
        let slot = self.calls.0.len();
        if slot >= self.config.max_calls {
            self.limit("max_calls", self.config.max_calls);
            return None;
        }
        let choice = delta.key.choice;
        if choice >= self.config.max_choices {
            self.limit("max_choices", self.config.max_choices as usize);
            return None;
        }
        let mirrors = delta.key.id.filter(|_| delta.route != Route::Labelled);
        let mirrors = mirrors.and_then(|id| {
            self.slots.as_ref()?.find(&CallKey {
                id: Some(id),
                choice,
                ..CallKey::default()
            })
        });
        let index = CallIndex(u32::try_from(slot).unwrap_or(u32::MAX));
        self.calls.0.push(Some(Box::new(Slot {
            call: PartialCall::new(index, choice),
            started: false,
            public_id: None,
            said: 0,
            held: None,
            by_table: matches!(delta.route, Route::Table | Route::Sole),
            mirrors,
            passed: None,
            told: Told::default(),
        })));
        Some(slot)
    }

    /// A new call in a choice: what that tells of the others.
    pub(super) fn another_opened(&mut self, choice: u32, opened: SlotId) {
        let by_next = self.config.emit == EmitWhen::NextCall;
        let mirrors = self.calls.slot(opened).and_then(|slot| slot.mirrors);
        // A mirror is found as long as the call that it mirrors is here.
        for at in (0..opened).filter(|_| by_next) {
            let ends = self
                .calls
                .call(at)
                .is_some_and(|call| call.choice == choice);
            if ends && self.is_mirror(at) {
                self.end_mirror(at);
            }
        }
        for at in 0..opened {
            let Some(slot) = self.calls.get(at).filter(|slot| slot.call.choice == choice) else {
                continue;
            };
            slot.passed = Some(slot.call.raw().len());
            match slot.held {
                // The wire had closed it blank, and the model went on: it was meant to be blank.
                Some(by @ ClosedBy::BlockStop) if slot.call.is_blank_or_null() => {
                    self.end_call(at, by, Blank::Object)
                }
                // What may be the same call under a second index is no next one.
                None if by_next && slot.by_table && slot.call.is_whole() && mirrors != Some(at) => {
                    self.end_call(at, ClosedBy::NextCall, Blank::Object)
                }
                _ => {}
            }
        }
    }

    /// Gives a delta to its call and says what became known.
    pub(super) fn take(&mut self, delta: &CallDelta<'_>, at: SlotId) {
        let Some(slot) = self.calls.get(at) else {
            let late = matches!(delta.arguments, ArgumentsPart::Fragment(fragment) if !fragment.text.is_empty());
            if late
                || (delta.route == Route::Table && !matches!(delta.arguments, ArgumentsPart::None))
            {
                self.anomaly(AnomalyKind::LateFragment, Some(at));
            }
            return;
        };
        let call = &mut slot.call;
        let before = call.raw().len() + call.beside();
        let mut anomalies = [None, None];
        let drifts = delta.authoritative
            && call.id.is_some()
            && delta.key.id.is_some()
            && call.id.as_deref() != delta.key.id;
        // A negative label is none; a real one that comes later is the call's.
        if call.wire_index.is_none_or(|index| index < 0) && delta.key.index.is_some() {
            call.wire_index = delta.key.index;
        }
        if call.id.is_none() || drifts {
            anomalies[0] = drifts.then_some(AnomalyKind::DriftingId);
            call.id = delta.key.id.map(str::to_owned);
        }
        if call.item_id.is_none() {
            call.item_id = delta.key.item_id.map(str::to_owned);
        }
        if delta.route == Route::Opens {
            // A start that is repeated opens the call again.
            slot.held = None;
        }
        if delta.closes_text {
            slot.held = Some(ClosedBy::Restated);
        }
        call.describe(delta);
        match delta.name {
            Some(name) if delta.authoritative => name.clone_into(&mut call.name),
            // A name that was said is the call's for good.
            Some(name) if slot.started && call.name != name => {
                anomalies[0] = Some(AnomalyKind::DifferentName);
            }
            Some(name) => anomalies[0] = call.take_name(name).or(anomalies[0]),
            None => {}
        }
        // What would be too much is not taken: the call ends with the text that was said.
        let length = call.length_with(delta.arguments);
        let more = length.saturating_sub(call.raw().len());
        if length > self.config.max_arguments_bytes
            || self.arguments_bytes + more > self.config.max_total_arguments_bytes
        {
            return self.arguments_limit(length);
        }
        anomalies[1] = call.take_arguments(delta.arguments, delta.gives_object());
        let (length, beside) = (call.raw().len(), call.beside());
        let name_length = call.name.len();
        for kind in anomalies.into_iter().flatten() {
            self.anomaly(kind, Some(at));
        }
        self.arguments_bytes = self.arguments_bytes.saturating_sub(before) + length + beside;
        let largest = length.max(beside);
        if largest > self.config.max_arguments_bytes
            || self.arguments_bytes > self.config.max_total_arguments_bytes
        {
            return self.arguments_limit(largest);
        }
        let longest = self.config.max_name_bytes;
        if name_length > longest {
            return self.limit("max_name_bytes", longest);
        }
        self.say(at);
    }

    /// Says what is known of a call and was not said yet.
    #[inline]
    pub(super) fn say(&mut self, at: SlotId) {
        let Some(slot) = self.calls.get(at) else {
            return;
        };
        if !slot.started {
            // A name that may still come in pieces is not announced before the first argument text.
            if slot.call.name.is_empty() || (slot.by_table && slot.call.raw().is_empty()) {
                return;
            }
            self.start(at);
        }
        let Some(slot) = self.calls.0.get_mut(at).and_then(Option::as_deref_mut) else {
            return;
        };
        if let Some(text) = slot
            .call
            .raw()
            .get(slot.said..)
            .filter(|text| !text.is_empty())
        {
            if !self.config.calls_only {
                self.queue.arguments(slot.call.index(), Fragment::new(text));
            }
            slot.said = slot.call.raw().len();
            if self.config.field_events {
                fields::read_on(&mut slot.call, &self.config, &mut self.queue);
            }
        }
    }

    /// Announces a call. An id that another call has already is not this call's public id.
    pub(super) fn start(&mut self, at: SlotId) {
        let keeps_id = !self.shares_id_of_a_waiting(at);
        let Some(slot) = self.calls.0.get_mut(at).and_then(Option::as_deref_mut) else {
            return;
        };
        slot.started = true;
        let ids = &mut self.notes.get_or_insert_default().ids;
        let id = slot
            .call
            .id
            .as_deref()
            .filter(|&id| keeps_id && !ids.contains(id));
        if let Some(id) = id {
            ids.insert(id.to_owned());
            slot.public_id = Some(id.to_owned());
        }
        self.queue.started(
            slot.call.index(),
            slot.call.choice,
            slot.public_id.as_deref(),
            &slot.call.name,
        );
    }

    /// Whether the call shares the id of one before it that has not started: the first keeps it.
    fn shares_id_of_a_waiting(&self, at: SlotId) -> bool {
        let pair = self.calls.mirrored(at);
        pair.is_some_and(|(slot, first)| !first.started && first.call.id == slot.call.id)
    }

    /// Two half-open calls could claim a fragment: neither can be believed.
    pub(super) fn damage_half_open(&mut self, choice: u32) {
        let slots = self.slots.get_or_insert_default();
        for (at, slot) in self.calls.0.iter_mut().enumerate() {
            let call = slot.as_deref_mut().map(|slot| &mut slot.call);
            if let Some(call) = call.filter(|call| slots.is_half_open(at, choice, call)) {
                call.damage(ProblemKind::Ambiguous);
            }
        }
    }
}

/// Whether something that names the call or a part of it is longer than this.
fn has_longer(delta: &CallDelta<'_>, limit: usize) -> bool {
    let names = [
        delta.name,
        delta.key.id,
        delta.key.item_id,
        delta.server_name,
        delta.status,
        delta.kind.map(ToolKind::as_str),
    ];
    names.into_iter().flatten().any(|name| name.len() > limit)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::delta::Delta;

    fn completed(delta: CallDelta<'_>) -> crate::call::ToolCall {
        let mut accumulator = Accumulator::default();
        accumulator.push(&Delta::Call(delta));
        accumulator.push(&Delta::End);
        let mut events = accumulator.events();
        events.find_map(|event| event.ok()?.into_call()).unwrap()
    }

    #[test]
    fn an_anomaly_is_told_once_for_each_call_also_after_it_ended() {
        use AnomalyKind::{LateFragment, MissingIndex};
        let piece = |index: Option<i64>, id| {
            let call = CallDelta::new().index(index).id(id).arguments("{}");
            Delta::Call(call.route(Route::Table))
        };
        let mut accumulator = Accumulator::default();
        for id in ["call_1", "call_2"] {
            let call = CallDelta::new().id(id).name("now").arguments("{}");
            accumulator.push(&Delta::Call(call));
        }
        let by = ClosedBy::MessageEnd;
        accumulator.push(&Delta::CloseAll { choice: None, by });
        for id in ["call_1", "call_2", "call_1", "call_2"] {
            accumulator.push(&piece(None, id));
        }
        let told = accumulator.events().filter_map(|event| match event {
            Ok(crate::Event::Anomaly(anomaly)) => Some((anomaly.kind, anomaly.call?.get())),
            _ => None,
        });
        let once = [MissingIndex, LateFragment].map(|kind| [(kind, 0), (kind, 1)]);
        assert_eq!(told.collect::<Vec<_>>(), once.concat());
        let counted = [(MissingIndex, 6), (LateFragment, 4)];
        assert_eq!(accumulator.anomalies(), counted);
    }

    #[test]
    fn an_id_made_here_says_something_and_is_no_id_of_the_wire() {
        struct Always(&'static str);
        impl crate::IdSource for Always {
            fn next_id(&self) -> String {
                self.0.to_owned()
            }
        }
        for made in ["", "call_1"] {
            let config = crate::Config::default().ids(Always(made));
            let mut accumulator = Accumulator::new(config);
            // The second has its id, and has not started when the first ends.
            for (index, id) in [None, Some("call_1"), None].into_iter().enumerate() {
                let call = CallDelta::new().index(index as i64).id(id).name("now");
                accumulator.push(&Delta::Call(call));
            }
            accumulator.push(&Delta::End);
            let calls = accumulator
                .events()
                .filter_map(|event| event.ok()?.into_call());
            let calls: Vec<_> = calls.collect();
            assert_eq!((calls.len(), calls[1].id()), (3, "call_1"));
            assert!(!calls[1].is_synthetic_id() && !calls[0].id().is_empty());
            assert_ne!(calls[0].id(), calls[2].id());
        }
    }

    #[test]
    fn an_id_that_says_nothing_is_absent_in_a_close_too() {
        let nothing = CallKey {
            id: Some(""),
            item_id: Some(""),
            ..CallKey::default()
        };
        for key in [CallKey::default(), nothing] {
            let mut accumulator = Accumulator::default();
            let call = CallDelta::new().index(0).name("now").arguments("{}");
            accumulator.push(&Delta::Call(call));
            let by = ClosedBy::BlockStop;
            accumulator.push(&Delta::Close { key, by });
            assert_eq!(accumulator.in_progress().count(), 0);
        }
    }

    #[test]
    fn a_value_that_was_read_as_an_object_is_not_read_again_and_any_other_is() {
        let mut delta = CallDelta::new().index(0).name("get_tide");
        // It is believed: a decoder gives only what it has read.
        let claimed = "{no object";
        delta.arguments = ArgumentsPart::Whole(claimed);
        delta.object = Some(claimed);
        assert!(completed(delta).is_usable());
        // Another text in its place is not.
        delta.arguments = ArgumentsPart::Whole("{another");
        assert!(!completed(delta).is_usable());
        delta.arguments = ArgumentsPart::Fragment(Fragment::new(claimed));
        assert!(!completed(delta).is_usable());
    }
}
