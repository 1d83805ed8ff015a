//! Deltas in, events out, limits enforced, the call grammar kept.
//!
//! Letter to the next reader. This room knows no byte, no frame and no format's name. It owns the calls that are open, asks
//! [`Slots`] whose each delta is, and queues events whose texts lie in one arena. When a call may end is decided here and
//! nowhere else (WIRE_FORMATS 11.5 and 11.6); what its text then means is decided in `call/settle.rs`.

mod fields;
mod queue;
mod trace;

use std::collections::HashSet;

use smallvec::SmallVec;

use crate::anomaly::AnomalyKind;
use crate::arguments::{Blank, ProblemKind, RepairLevel, Settling};
use crate::call::{CallIndex, Closing, Ended, Evidence, PartialCall};
use crate::config::{Config, EmitWhen};
use crate::delta::{
    ArgumentsPart, CallDelta, CallKey, ClosedBy, Delta, DeltaSink, FinishMeaning, Fragment, Route,
    TextKind, ToolKind,
};
use crate::error::{Error, ErrorKind};
use crate::event::{Anomaly, End, FinishReason};
use crate::json::join_halves;
use crate::slots::{Calls, Place, SlotId, Slots};

pub use queue::Events;
use queue::{Queue, Queued};

/// Gathers deltas into calls. [`ToolCallParser`](crate::ToolCallParser) has one inside; use it alone where an SDK has already
/// decoded the provider's events.
///
/// # Examples
///
/// ```
/// use callstitch::{Accumulator, CallDelta, Delta, Event};
///
/// let mut accumulator = Accumulator::default();
/// accumulator.push(&Delta::Call(CallDelta::new().index(0).id("call_1").name("get_now").arguments("{}")));
/// accumulator.push(&Delta::End);
/// let last = accumulator.events().last().unwrap()?;
/// assert!(matches!(last, Event::CallCompleted(call) if call.is_usable()));
/// # Ok::<(), callstitch::Error>(())
/// ```
#[derive(Debug)]
pub struct Accumulator {
    config: Config,
    slots: Slots,
    calls: Open,
    queue: Queue,
    /// Byte offset of the provider event being read.
    offset: u64,
    state: State,
    /// What each choice's model said of its end.
    reasons: Vec<(u32, FinishReason)>,
    /// A high surrogate half at the end of the last text of this choice and kind.
    half: Option<(u32, TextKind, u16)>,
    /// The public ids given so far.
    ids: HashSet<String>,
    /// The newest call of each choice.
    newest: SmallVec<[(u32, SlotId); 1]>,
    arguments_bytes: usize,
    ledger: Ledger,
    /// An event was lost: the stream cannot end clean.
    undecodable: Option<Box<(u64, String)>>,
    /// The provider reported an error and may go on.
    fault: Option<Error>,
    stray: Option<Box<str>>,
    end: Option<End>,
}

/// ```text
///            MayEnd              End
///   Running ───────▶ MayEnd ───────────▶ Ended
///      ▲               │ call, text        │ call, text, Restart
///      └───────────────┴───────────────────┘
///   any ── Error, abort, finish, a limit ──▶ Over      (nothing is said any more)
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    /// A bare end of the body would be a truncation.
    #[default]
    Running,
    /// A finish reason came.
    MayEnd,
    /// The terminal came.
    Ended,
    Over,
}

/// The calls by slot; an emitted call leaves its place empty.
#[derive(Debug, Default)]
struct Open(Vec<Option<Box<Slot>>>);

#[derive(Debug)]
struct Slot {
    call: PartialCall,
    /// Its `CallStarted` was said.
    started: bool,
    /// The id that was said with it.
    public_id: Option<String>,
    /// Argument text up to here was said.
    said: usize,
    /// The wire closed the call, but its text does not stand yet.
    held: Option<ClosedBy>,
    /// Routed by the table: the name may still come in pieces.
    by_table: bool,
    /// Opened under the id of this other slot: perhaps its mirror (Q12).
    mirrors: Option<SlotId>,
    told: Told,
}

/// The kinds of anomaly that were told already, of one call or of the stream: one bit each.
#[derive(Debug, Clone, Copy, Default)]
struct Told(u64);

/// How often each kind of anomaly was seen.
#[derive(Debug, Default)]
struct Ledger {
    counts: Vec<(AnomalyKind, u64)>,
    told: Told,
}

impl Told {
    /// Whether this is the first time.
    fn first(&mut self, kind: AnomalyKind) -> bool {
        let bit = 1 << kind as u64;
        let first = self.0 & bit == 0;
        self.0 |= bit;
        first
    }
}

impl Ledger {
    fn count(&mut self, kind: AnomalyKind) {
        match self.counts.iter_mut().find(|(of, _)| *of == kind) {
            Some((_, count)) => *count += 1,
            None => self.counts.push((kind, 1)),
        }
    }
}

impl Calls for Open {
    fn call(&self, slot: SlotId) -> Option<&PartialCall> {
        self.0.get(slot)?.as_deref().map(|slot| &slot.call)
    }

    fn count(&self) -> usize {
        self.0.len()
    }
}

impl Open {
    fn get(&mut self, slot: SlotId) -> Option<&mut Slot> {
        self.0.get_mut(slot)?.as_deref_mut()
    }
}

impl Default for Accumulator {
    fn default() -> Self {
        Accumulator::new(Config::default())
    }
}

impl DeltaSink for Accumulator {
    #[inline]
    fn delta(&mut self, delta: &Delta<'_>) {
        self.push(delta);
    }
}

impl Accumulator {
    /// An accumulator with these limits and policies.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Accumulator {
            config,
            slots: Slots::default(),
            calls: Open::default(),
            queue: Queue::default(),
            offset: 0,
            state: State::Running,
            reasons: Vec::new(),
            half: None,
            ids: HashSet::new(),
            newest: SmallVec::new(),
            arguments_bytes: 0,
            ledger: Ledger::default(),
            undecodable: None,
            fault: None,
            stray: None,
            end: None,
        }
    }

    /// Takes one delta; what it leads to waits in [`events`](Accumulator::events). Never fails: a passed limit is the last
    /// event. Cost: O(delta).
    #[inline]
    pub fn push(&mut self, delta: &Delta<'_>) {
        if self.state == State::Over {
            return;
        }
        self.take_in(delta);
        if self.queue.len() > self.config.max_queued_events && self.state != State::Over {
            self.limit("max_queued_events", self.config.max_queued_events);
        }
    }

    #[inline]
    fn take_in(&mut self, delta: &Delta<'_>) {
        match delta {
            Delta::Call(call) => self.call(call),
            Delta::Arguments {
                choice,
                index,
                route,
                text,
            } => self.piece(*choice, *index, *route, *text),
            Delta::Text { .. } if self.config.calls_only => {}
            Delta::Text { choice, kind, text } => self.text(self.choice(*choice), *kind, *text),
            _ => self.rare(delta),
        }
    }

    /// Takes the events out. Dropping the iterator early loses nothing: what is left comes with the next.
    pub fn events(&mut self) -> Events<'_> {
        self.queue.drain()
    }

    /// The body ended: every open call ends, flagged where nothing vouches for it; a bare end is an error, the last event.
    pub fn finish(&mut self) {
        if self.state == State::Over {
            return;
        }
        if let Some(fault) = self.fault.take() {
            return self.abort(fault);
        }
        self.end_text();
        let by = match self.state {
            State::Ended => ClosedBy::Terminal,
            State::MayEnd => ClosedBy::FinishReason,
            State::Running | State::Over => ClosedBy::Unconfirmed,
        };
        self.close_all(None, by);
        let failed = self.reasons.iter().find(|(_, reason)| {
            matches!(
                reason.meaning,
                FinishMeaning::Error | FinishMeaning::MalformedCall
            )
        });
        let error = if let Some((offset, problem)) = self.undecodable.as_deref() {
            Some(Error::new(ErrorKind::Undecodable, *offset, problem.clone()))
        } else if let Some((_, reason)) = failed {
            Some(Error::new(
                ErrorKind::Provider,
                self.offset,
                format!("the model stopped with {}", reason.text),
            ))
        } else if by == ClosedBy::Unconfirmed {
            let mut message = "the body ended without a terminal signal".to_owned();
            if let Some(stray) = &self.stray {
                message = format!("{message}; it held the text: {stray}");
            }
            Some(Error::new(ErrorKind::Truncated, self.offset, message))
        } else {
            None
        };
        let cut = self
            .reasons
            .iter()
            .any(|(_, reason)| reason.meaning == FinishMeaning::Length);
        self.end = Some(match &error {
            Some(error) if error.kind() != ErrorKind::Truncated => End::Error,
            None if !cut => End::Clean,
            _ => End::Truncated,
        });
        if let Some(error) = error {
            self.queue.push(Queued::Error(error));
        }
        self.state = State::Over;
    }

    /// The stream ends in this error: what had ended stands, what is open is flagged, then the error is the last event.
    pub fn abort(&mut self, error: Error) {
        if self.state == State::Over {
            return;
        }
        self.end_text();
        self.close_all(None, ClosedBy::Error);
        self.end = Some(
            if matches!(error.kind(), ErrorKind::Truncated | ErrorKind::Transport) {
                End::Truncated
            } else {
                End::Error
            },
        );
        self.queue.push(Queued::Error(error));
        self.state = State::Over;
    }

    /// The calls that are still arriving, by first appearance.
    pub fn in_progress(&mut self) -> impl Iterator<Item = &mut PartialCall> {
        self.calls.0.iter_mut().flatten().map(|slot| &mut slot.call)
    }

    /// Forgets everything but its configuration and its buffers.
    pub fn reset(&mut self) {
        let queue = std::mem::take(&mut self.queue).emptied();
        *self = Accumulator {
            queue,
            ..Accumulator::new(self.config.clone())
        };
    }

    /// How the stream ended; `None` while it runs.
    #[must_use]
    pub fn end(&self) -> Option<End> {
        self.end
    }

    /// Whether the wire's own terminal came and nothing after it.
    #[cfg(feature = "stream")]
    pub(crate) fn is_told_over(&self) -> bool {
        self.state == State::Ended
    }

    /// How often each liberty was taken, in the order of first sight.
    #[must_use]
    pub fn anomalies(&self) -> &[(AnomalyKind, u64)] {
        &self.ledger.counts
    }

    /// Where the deltas that follow stand in the body, for errors and evidence. One provider event has one offset.
    #[inline]
    pub fn at(&mut self, offset: u64) {
        self.offset = offset;
        self.slots.next_event();
    }

    /// Says from here on what happens to fields; of calls that are open, from their beginning.
    #[cfg(feature = "stream")]
    pub(crate) fn field_events(&mut self) {
        self.config.field_events = true;
    }

    /// What the configuration says of the decoder's memory.
    pub(crate) fn remembers_events(&self) -> bool {
        self.config.remember_events
    }

    /// Whether no event waits.
    #[cfg(feature = "stream")]
    pub(crate) fn is_drained(&self) -> bool {
        self.queue.is_empty()
    }

    /// The offset of the provider event being read.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Whether nothing more will be said.
    pub(crate) fn is_over(&self) -> bool {
        self.state == State::Over
    }

    fn choice(&self, choice: u32) -> u32 {
        if self.config.single_choice { 0 } else { choice }
    }

    /// A piece of text for a call that is known by its label: what nearly every delta is. Anything else goes the long way,
    /// on which the same happens.
    #[inline]
    fn piece(&mut self, choice: u32, index: Option<i64>, route: Route, text: Fragment<'_>) {
        let choice = self.choice(choice);
        if let Some(at) = self.slots.continued(choice, index, route)
            && let Some(slot) = self.calls.get(at)
            && slot.started
            && slot.call.raw().len() + text.text.len() <= self.config.max_arguments_bytes
            && self.arguments_bytes + text.text.len() <= self.config.max_total_arguments_bytes
            && let Some(text) = slot.call.append_plain(text)
        {
            slot.said += text.len();
            let of = slot.call.index();
            self.arguments_bytes += text.len();
            if self.state == State::Ended {
                self.state = State::Running;
            }
            if !self.config.calls_only {
                self.queue.arguments(of, text);
            }
            if self.config.field_events {
                fields::read_on(&mut slot.call, &self.config, &mut self.queue);
            }
            return;
        }
        let mut call = CallDelta::new().choice(choice).index(index).route(route);
        call.arguments = ArgumentsPart::Fragment(text);
        self.call(&call);
    }

    fn call(&mut self, delta: &CallDelta<'_>) {
        let mut delta = *delta;
        delta.key.choice = self.choice(delta.key.choice);
        // The fields are public: what says nothing is absent, whoever filled it in.
        let says = |text: &&str| !text.is_empty();
        delta.key.id = delta.key.id.filter(says);
        delta.key.item_id = delta.key.item_id.filter(says);
        delta.name = delta.name.filter(says);
        let routed = self.slots.route(&delta, &self.calls);
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
        if self.state == State::Ended {
            self.state = State::Running;
        }
        if delta
            .key
            .index
            .is_some_and(|index| index > self.config.max_index)
        {
            return self.limit(
                "max_index",
                usize::try_from(self.config.max_index).unwrap_or(0),
            );
        }
        self.slots.touched(slot, &delta.key, opened);
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

    fn open(&mut self, delta: &CallDelta<'_>) -> Option<SlotId> {
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
        let mirrors = delta.key.id.filter(|_| delta.route == Route::Table);
        let mirrors = mirrors.and_then(|id| {
            self.slots.find(&CallKey {
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
            by_table: delta.route == Route::Table,
            mirrors,
            told: Told::default(),
        })));
        match self.newest.iter_mut().find(|(of, _)| *of == choice) {
            Some(newest) => newest.1 = slot,
            None => self.newest.push((choice, slot)),
        }
        Some(slot)
    }

    /// A new call in a choice: what that tells of the others.
    fn another_opened(&mut self, choice: u32, opened: SlotId) {
        let by_next = self.config.emit == EmitWhen::NextCall;
        for at in 0..opened {
            let Some(slot) = self.calls.get(at).filter(|slot| slot.call.choice == choice) else {
                continue;
            };
            match slot.held {
                // The wire had closed it blank, and the model went on: it was meant to be blank.
                Some(by) if slot.call.is_blank() => self.end_call(at, by, Blank::Object),
                None if by_next && slot.by_table && slot.call.is_whole() => {
                    self.end_call(at, ClosedBy::NextCall, Blank::Object)
                }
                _ => {}
            }
        }
    }

    /// Gives a delta to its call and says what became known.
    fn take(&mut self, delta: &CallDelta<'_>, at: SlotId) {
        let limit = self.config.max_name_bytes;
        let long = |text: Option<&str>| text.is_some_and(|text| text.len() > limit);
        if long(delta.name)
            || long(delta.key.id)
            || long(delta.key.item_id)
            || long(delta.server_name)
            || long(delta.status)
            || long(delta.kind.map(ToolKind::as_str))
        {
            return self.limit("max_name_bytes", limit);
        }
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
        anomalies[1] = call.take_arguments(delta.arguments);
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
        if name_length > limit {
            return self.limit("max_name_bytes", limit);
        }
        self.say(at);
    }

    /// Says what is known of a call and was not said yet.
    #[inline]
    fn say(&mut self, at: SlotId) {
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
                self.queue.arguments(slot.call.index(), text);
            }
            slot.said = slot.call.raw().len();
            if self.config.field_events {
                fields::read_on(&mut slot.call, &self.config, &mut self.queue);
            }
        }
    }

    /// Announces a call. An id that another call has already is not this call's public id.
    fn start(&mut self, at: SlotId) {
        let Some(slot) = self.calls.0.get_mut(at).and_then(Option::as_deref_mut) else {
            return;
        };
        slot.started = true;
        let id = slot.call.id.as_deref().filter(|&id| !self.ids.contains(id));
        if let Some(id) = id {
            self.ids.insert(id.to_owned());
            slot.public_id = Some(id.to_owned());
        }
        self.queue.started(
            slot.call.index(),
            slot.call.choice,
            slot.public_id.as_deref(),
            &slot.call.name,
        );
    }

    /// Text that is no call's. The half of a character at the end of one piece waits for the next of its kind.
    fn text(&mut self, choice: u32, kind: TextKind, text: Fragment<'_>) {
        let half = self.half.take();
        let lead = match (half, text.low) {
            (Some((of, as_kind, high)), Some(low)) if (of, as_kind) == (choice, kind) => {
                Some(join_halves(high, low))
            }
            (None, None) => None,
            (lost, low) => {
                if let Some((of, as_kind, _)) = lost {
                    self.queue.text(of, as_kind, "\u{fffd}");
                }
                self.anomaly(AnomalyKind::LoneSurrogate, None);
                low.map(|_| char::REPLACEMENT_CHARACTER)
            }
        };
        if let Some(lead) = lead {
            self.queue.text(choice, kind, lead.encode_utf8(&mut [0; 4]));
        }
        if !text.text.is_empty() {
            self.queue.text(choice, kind, text.text);
        }
        self.half = text.high.map(|high| (choice, kind, high));
    }

    /// No text comes any more: a half that waits for its other half is a lone one.
    fn end_text(&mut self) {
        if let Some((choice, kind, _)) = self.half.take() {
            self.queue.text(choice, kind, "\u{fffd}");
            self.anomaly(AnomalyKind::LoneSurrogate, None);
        }
    }

    fn rare(&mut self, delta: &Delta<'_>) {
        match *delta {
            Delta::Close { key, by } => {
                let key = CallKey {
                    choice: self.choice(key.choice),
                    ..key
                };
                if let Some(slot) = self.slots.find(&key) {
                    self.close(slot, by);
                }
            }
            Delta::CloseAll { choice, by } => {
                self.close_all(choice.map(|choice| self.choice(choice)), by)
            }
            Delta::Usage(usage) => self.queue.push(Queued::Usage(usage.to_owned())),
            Delta::Finish {
                choice,
                reason,
                native,
                meaning,
            } => self.finished(self.choice(choice), reason, native, meaning),
            Delta::MayEnd => {
                if self.state == State::Running {
                    self.state = State::MayEnd;
                }
            }
            Delta::End => {
                self.close_all(None, ClosedBy::Terminal);
                self.state = State::Ended;
            }
            Delta::Restart => self.restart(),
            Delta::Error {
                last,
                message,
                code,
            } => {
                let error = Error::new(ErrorKind::Provider, self.offset, message)
                    .with_code(code.map(str::to_owned));
                // The first report is the one that tells; a second of the same failure is no second error.
                let error = self.fault.take().unwrap_or(error);
                if last {
                    self.abort(error);
                } else {
                    self.fault = Some(error);
                }
            }
            Delta::Undecodable { problem } => {
                self.anomaly(AnomalyKind::UndecodableEvent, None);
                self.undecodable
                    .get_or_insert_with(|| Box::new((self.offset, problem.to_owned())));
                for slot in self.calls.0.iter_mut().flatten() {
                    // Text may be missing from every call that can still grow.
                    if !slot.call.is_whole() || slot.call.is_empty_object() {
                        slot.call.damage(ProblemKind::Lost);
                    }
                }
            }
            Delta::Stray { text } => {
                self.anomaly(AnomalyKind::StrayText, None);
                self.stray.get_or_insert_with(|| text.into());
            }
            Delta::Anomaly(kind) => self.anomaly(kind, None),
            Delta::Call(_) | Delta::Arguments { .. } | Delta::Text { .. } => {}
        }
    }

    fn finished(
        &mut self,
        choice: u32,
        reason: &str,
        native: Option<&str>,
        meaning: FinishMeaning,
    ) {
        if choice >= self.config.max_choices {
            return self.limit("max_choices", self.config.max_choices as usize);
        }
        let bounded = |text: &str| shortened(text, self.config.max_name_bytes).to_owned();
        let reason = FinishReason {
            meaning,
            text: bounded(reason),
            native: native.map(bounded),
        };
        match self.reasons.iter_mut().find(|(of, _)| *of == choice) {
            // Of several reasons the more telling one wins (Q56); an unchanged one is not said again.
            Some((_, held)) if *held == reason => {}
            Some((_, held)) => {
                if weight(reason.meaning) >= weight(held.meaning) {
                    *held = reason.clone();
                }
                self.queue.push(Queued::Finished(choice, reason));
            }
            None => {
                self.reasons.push((choice, reason.clone()));
                self.queue.push(Queued::Finished(choice, reason));
            }
        }
        if self.config.emit == EmitWhen::FinishReason {
            self.close_all(Some(choice), ClosedBy::FinishReason);
        }
    }

    /// The message begins again: open calls are discarded, ended ones stay.
    fn restart(&mut self) {
        if self.state != State::Ended {
            self.anomaly(AnomalyKind::RestartedMessage, None);
        }
        for slot in 0..self.calls.0.len() {
            self.end_call(slot, ClosedBy::Restart, Blank::Cut);
        }
        self.slots.forget();
        self.reasons.clear();
        self.state = State::Running;
    }

    /// The wire closed one call. One whose text does not stand yet waits for the message to go on (blank text) or to end.
    fn close(&mut self, at: SlotId, by: ClosedBy) {
        let Some(slot) = self.calls.get(at) else {
            return;
        };
        if by == ClosedBy::BlockStop && !slot.call.is_settled() {
            slot.held = Some(by);
            return;
        }
        self.end_call(at, by, Blank::Object);
    }

    fn close_all(&mut self, choice: Option<u32>, by: ClosedBy) {
        // After an error only a call's own close vouches for it.
        let by = if self.fault.is_some() {
            ClosedBy::Error
        } else {
            by
        };
        let vouched = !matches!(by, ClosedBy::Unconfirmed | ClosedBy::Error);
        // The mirrors are found before anything ends: both texts are still here.
        let mirrors: SmallVec<[SlotId; 4]> = (0..self.calls.0.len())
            .filter(|&at| {
                let call = self.calls.call(at);
                let ends = |of: u32| choice.is_none_or(|choice| of == choice);
                call.is_some_and(|call| ends(call.choice)) && self.is_mirror(at)
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
                self.anomaly(AnomalyKind::MirroredCall, Some(at));
                self.end_call(at, ClosedBy::Mirrored, Blank::Cut);
                continue;
            }
            // A call's own close vouches for it, where it had one.
            let by = if vouched { slot.held.unwrap_or(by) } else { by };
            self.end_call(at, by, if vouched { Blank::Object } else { Blank::Cut });
        }
    }

    /// One call under a second index, sent with the same id, name and text (WIRE_FORMATS Q12).
    fn is_mirror(&self, at: SlotId) -> bool {
        let slot = self.calls.0.get(at).and_then(Option::as_deref);
        let pair = slot.and_then(|slot| Some((&slot.call, self.calls.call(slot.mirrors?)?)));
        pair.is_some_and(|(one, other)| {
            one.wire_index != other.wire_index
                && one.name == other.name
                && one.id == other.id
                && one.raw() == other.raw()
        })
    }

    /// Ends one call and says so.
    fn end_call(&mut self, at: SlotId, by: ClosedBy, blank: Blank) {
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
        let Some(mut slot) = self.calls.0.get_mut(at).and_then(Option::take) else {
            return;
        };
        let (choice, index, mut told) = (slot.call.choice, slot.call.index(), slot.told);
        let said = slot.said;
        let reason = self
            .reasons
            .iter()
            .find(|(of, _)| *of == choice)
            .map(|(_, reason)| reason);
        let meaning = reason.map(|reason| reason.meaning);
        // A reason that says the answer was cut means the newest call (11.6). A whole object stays whole all the same.
        let cut = slot.call.is_cut()
            || self.newest.contains(&(choice, at))
                && matches!(
                    meaning,
                    Some(FinishMeaning::Length | FinishMeaning::Filtered | FinishMeaning::Error)
                );
        let discarded = matches!(by, ClosedBy::Restart | ClosedBy::Mirrored);
        let unconfirmed = discarded || matches!(by, ClosedBy::Unconfirmed | ClosedBy::Error);
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
            cut,
            evidence: Evidence {
                closed_by: by,
                offset: self.offset,
                finish_reason: reason
                    .map(|reason| reason.native.clone().unwrap_or_else(|| reason.text.clone())),
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
        for kind in anomalies.into_iter().flatten() {
            self.ledger.count(kind);
            if told.first(kind) {
                self.queue.push(Queued::Anomaly(Anomaly {
                    kind,
                    call: Some(index),
                    offset: self.offset,
                }));
            }
        }
        // The start block's own input was nothing while fragments could come; now it is the text.
        let text = call.arguments().raw();
        if said == 0 && !text.is_empty() && !self.config.calls_only {
            self.queue.arguments(index, text);
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
    fn public_id(&mut self, at: SlotId) -> (String, bool) {
        let Some(slot) = self.calls.0.get(at).and_then(Option::as_deref) else {
            return (String::new(), true);
        };
        let by_table = slot.by_table;
        if let Some(id) = slot.call.id.clone() {
            if slot.public_id.as_ref() == Some(&id) || self.ids.insert(id.clone()) {
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
            if self.ids.insert(id.clone()) {
                return (id, true);
            }
        }
        (String::new(), true)
    }

    /// Two half-open calls could claim a fragment: neither can be believed.
    fn damage_half_open(&mut self, choice: u32) {
        for slot in self.calls.0.iter_mut().flatten() {
            let call = &mut slot.call;
            if call.choice == choice
                && call.wire_index.is_none_or(|index| index < 0)
                && !call.is_blank()
                && !call.is_whole()
            {
                call.damage(ProblemKind::Ambiguous);
            }
        }
    }

    fn anomaly(&mut self, kind: AnomalyKind, at: Option<SlotId>) {
        self.ledger.count(kind);
        let (told, call) = match at.and_then(|at| self.calls.0.get_mut(at)) {
            Some(Some(slot)) => (&mut slot.told, Some(slot.call.index())),
            _ => (
                &mut self.ledger.told,
                at.and_then(|at| u32::try_from(at).ok()).map(CallIndex),
            ),
        };
        if told.first(kind) {
            self.queue.push(Queued::Anomaly(Anomaly {
                kind,
                call,
                offset: self.offset,
            }));
        }
    }

    /// A call of this length passed one of the two limits on argument text.
    #[cold]
    fn arguments_limit(&mut self, length: usize) {
        if length > self.config.max_arguments_bytes {
            self.limit("max_arguments_bytes", self.config.max_arguments_bytes);
        } else {
            self.limit(
                "max_total_arguments_bytes",
                self.config.max_total_arguments_bytes,
            );
        }
    }

    #[cold]
    fn limit(&mut self, name: &str, value: usize) {
        let message =
            format!("the limit {name} of {value} was passed; what was whole has been delivered");
        self.abort(Error::new(ErrorKind::Limit, self.offset, message));
    }
}

/// At most this many bytes of a text.
fn shortened(text: &str, limit: usize) -> &str {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
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
