//! Deltas in, events out, limits enforced, the call grammar kept.
//!
//! Letter to the next reader. This room knows no byte, no frame and no format's name. It owns the calls that are open, asks
//! [`Slots`] whose each delta is, and queues events whose texts lie in one arena. When a call may end is decided here and
//! nowhere else (WIRE_FORMATS 11.5 and 11.6); what its text then means is decided in `call/settle.rs`.

mod close;
mod fields;
mod notes;
mod open;
mod pieces;
mod queue;
mod take;
mod text;
mod trace;

use std::fmt;
use std::sync::Arc;

use crate::anomaly::AnomalyKind;
use crate::arguments::ProblemKind;
use crate::call::PartialCall;
use crate::config::{self, Config, EmitWhen};
use crate::delta::{ClosedBy, Delta, DeltaSink, FinishMeaning, Pieces, TextKind};
use crate::error::{Error, ErrorKind};
use crate::event::{End, FinishReason};
use crate::slots::Slots;

use notes::Notes;
use open::Open;
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
pub struct Accumulator {
    config: Arc<Config>,
    /// None until a call is named: a parser of text needs no table.
    slots: Option<Box<Slots>>,
    calls: Open,
    queue: Queue,
    /// Byte offset of the provider event being read.
    offset: u64,
    state: State,
    /// A high surrogate half at the end of the last text of this choice and kind.
    half: Option<(u32, TextKind, u16)>,
    arguments_bytes: usize,
    /// None while there is nothing to note.
    notes: Option<Box<Notes>>,
    end: Option<End>,
}

/// ```text
///            MayEnd              End
///   Running ───────▶ MayEnd ───────────▶ Ended
///      ▲               │ Restart           │ call, text, Restart
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

impl State {
    /// A call can go on without anything else changing.
    #[inline]
    fn goes_on(self) -> bool {
        matches!(self, State::Running | State::MayEnd)
    }
}

impl Default for Accumulator {
    fn default() -> Self {
        Accumulator::with_shared(config::shared())
    }
}

impl DeltaSink for Accumulator {
    #[inline]
    fn delta(&mut self, delta: &Delta<'_>) {
        self.push(delta);
    }

    #[inline]
    fn at(&mut self, offset: u64) {
        Accumulator::at(self, offset);
    }

    fn pieces(&mut self, pieces: Pieces<'_>) {
        self.take_pieces(&pieces);
    }
}

impl Accumulator {
    /// An accumulator with these limits and policies.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Accumulator::with_shared(Arc::new(config))
    }

    pub(crate) fn with_shared(config: Arc<Config>) -> Self {
        Accumulator {
            config,
            slots: None,
            calls: Open::default(),
            queue: Queue::default(),
            offset: 0,
            state: State::Running,
            half: None,
            arguments_bytes: 0,
            notes: None,
            end: None,
        }
    }

    /// Takes one delta; what it leads to waits in [`events`](Accumulator::events). Never fails: a passed limit is the last
    /// event. Cost: O(delta).
    #[inline]
    pub fn push(&mut self, delta: &Delta<'_>) {
        let taken = match delta {
            Delta::Arguments {
                choice,
                index,
                route,
                text,
            } => self.plain_piece(*choice, *index, *route, *text),
            _ => None,
        };
        match taken {
            // It made the last event longer.
            Some(false) => return,
            Some(true) => {}
            None if self.state == State::Over => return,
            None => self.take_in(delta),
        }
        if self.queue.len() > self.config.max_queued_events && self.state != State::Over {
            self.limit("max_queued_events", self.config.max_queued_events);
        }
    }

    fn take_in(&mut self, delta: &Delta<'_>) {
        match delta {
            Delta::Call(call) => self.call(call),
            Delta::Arguments {
                choice,
                index,
                route,
                text,
            } => self.piece(*choice, *index, *route, *text),
            Delta::Text { choice, kind, text } => self.text(self.choice(*choice), *kind, *text),
            _ => self.rare(delta),
        }
    }

    /// Takes the events out. Dropping the iterator early loses nothing: what is left comes with the next. Cost: O(1) an event,
    /// its text is lent.
    pub fn events(&mut self) -> Events<'_> {
        self.queue.drain()
    }

    /// The body ended: every open call ends, flagged where nothing vouches for it; a bare end is an error, the last event.
    /// Never fails. Cost: each open call's text is settled, O(n).
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Accumulator, ErrorKind};
    ///
    /// let mut accumulator = Accumulator::default();
    /// accumulator.finish(); // and no terminal came
    /// assert!(matches!(accumulator.events().last(), Some(Err(error)) if error.kind() == ErrorKind::Truncated));
    /// ```
    pub fn finish(&mut self) {
        if self.state == State::Over {
            return;
        }
        let notes = self.notes.as_mut();
        if let Some(fault) = notes.and_then(|notes| notes.fault.take()) {
            return self.abort(fault);
        }
        self.end_text();
        let by = match self.state {
            State::Ended => ClosedBy::Terminal,
            State::MayEnd => ClosedBy::FinishReason,
            State::Running | State::Over => ClosedBy::Unconfirmed,
        };
        self.state = State::Over;
        let mut open = self.calls.0.iter().flatten();
        let unconfirmed = by == ClosedBy::Unconfirmed
            || open.any(|slot| self.ended_by(by, slot.call.choice) == ClosedBy::Unconfirmed);
        self.close_all(None, by);
        let unnoted = Notes::default();
        let notes = self.notes.as_deref().unwrap_or(&unnoted);
        let failed = notes.reasons.iter().find(|(_, reason)| {
            matches!(
                reason.meaning,
                FinishMeaning::Error | FinishMeaning::MalformedCall
            )
        });
        let error = if let Some((offset, problem)) = &notes.undecodable {
            Some(Error::new(ErrorKind::Undecodable, *offset, problem.clone()))
        } else if let Some((_, reason)) = failed {
            Some(Error::new(
                ErrorKind::Provider,
                self.offset,
                format!("the model stopped with {}", reason.text),
            ))
        } else if unconfirmed {
            let mut message = "the body ended without a terminal signal".to_owned();
            if let Some(stray) = &notes.stray {
                message = format!("{message}; it held the text: {stray}");
            }
            Some(Error::new(ErrorKind::Truncated, self.offset, message))
        } else {
            None
        };
        let cut = notes
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
    }

    /// The stream ends in this error: what had ended stands, what is open is flagged, then the error is the last event. Where
    /// the provider had [reported](Delta::Error) an error and could have gone on, its error is the last event: it tells why. Cost:
    /// as [`finish`](Accumulator::finish).
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Accumulator, CallDelta, Delta, Error, ErrorKind};
    ///
    /// let mut accumulator = Accumulator::default();
    /// accumulator.push(&Delta::Call(CallDelta::new().index(0).id("call_1").name("get_now").arguments("{")));
    /// accumulator.abort(Error::new(ErrorKind::Transport, 0, "gone"));
    /// assert!(accumulator.events().last().unwrap().is_err());
    /// ```
    pub fn abort(&mut self, error: Error) {
        if self.state == State::Over {
            return;
        }
        self.end_text();
        // The first report is the one that tells; what follows from it is no second error.
        let fault = self.notes.as_mut().and_then(|notes| notes.fault.take());
        let error = fault.unwrap_or(error);
        // A body that ends inside a frame ends bare.
        let by = match error.kind() {
            ErrorKind::Truncated => ClosedBy::Unconfirmed,
            _ => ClosedBy::Error,
        };
        self.close_all(None, by);
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

    /// The calls that are still arriving, by first appearance. Cost: O(calls of the stream), ended ones too.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Accumulator, CallDelta, Delta};
    ///
    /// let mut accumulator = Accumulator::default();
    /// accumulator.push(&Delta::Call(CallDelta::new().index(0).name("get_tide").arguments(r#"{"port":"Ob"#)));
    /// let call = accumulator.in_progress().next().unwrap();
    /// assert_eq!(call.arguments().object()["port"], "Ob");
    /// ```
    pub fn in_progress(&mut self) -> impl Iterator<Item = &mut PartialCall> {
        self.calls.0.iter_mut().flatten().map(|slot| &mut slot.call)
    }

    /// Forgets everything but its configuration and its buffers.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Accumulator, CallDelta, Delta};
    ///
    /// let mut accumulator = Accumulator::default();
    /// accumulator.push(&Delta::Call(CallDelta::new().index(0).name("get_now")));
    /// accumulator.reset();
    /// assert_eq!((accumulator.in_progress().count(), accumulator.events().count()), (0, 0));
    /// ```
    pub fn reset(&mut self) {
        let queue = std::mem::take(&mut self.queue).emptied();
        *self = Accumulator {
            queue,
            ..Accumulator::with_shared(Arc::clone(&self.config))
        };
    }

    /// How the stream ended; `None` while it runs.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Accumulator, Delta, End};
    ///
    /// let mut accumulator = Accumulator::default();
    /// accumulator.push(&Delta::End);
    /// assert_eq!(accumulator.end(), None); // a usage may follow
    /// accumulator.finish();
    /// assert_eq!(accumulator.end(), Some(End::Clean));
    /// ```
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
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Accumulator, AnomalyKind, Delta};
    ///
    /// let mut accumulator = Accumulator::default();
    /// accumulator.push(&Delta::Anomaly(AnomalyKind::LossyUtf8));
    /// assert_eq!(accumulator.anomalies(), [(AnomalyKind::LossyUtf8, 1)]);
    /// ```
    #[must_use]
    pub fn anomalies(&self) -> &[(AnomalyKind, u64)] {
        self.notes.as_ref().map_or(&[], |notes| &notes.counts)
    }

    /// Where the deltas that follow stand in the body, for errors and evidence. One provider event has one offset.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Accumulator, Delta};
    ///
    /// let mut accumulator = Accumulator::default();
    /// accumulator.at(120);
    /// accumulator.push(&Delta::Error { last: true, message: "overloaded", code: None });
    /// assert!(matches!(accumulator.events().last(), Some(Err(error)) if error.offset() == 120));
    /// ```
    #[inline]
    pub fn at(&mut self, offset: u64) {
        self.offset = offset;
        if let Some(slots) = &mut self.slots {
            slots.next_event();
        }
    }

    /// Says from here on what happens to fields; of calls that are open, from their beginning.
    #[cfg(feature = "stream")]
    pub(crate) fn field_events(&mut self) {
        Arc::make_mut(&mut self.config).field_events = true;
    }

    /// The limit on a line and an event, for the framing.
    pub(crate) fn max_event_bytes(&self) -> usize {
        self.config.max_event_bytes
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

    /// Something came that a terminal would have ended.
    fn goes_on(&mut self) {
        if self.state == State::Ended {
            self.state = State::Running;
        }
    }

    fn choice(&self, choice: u32) -> u32 {
        if self.config.single_choice { 0 } else { choice }
    }

    fn rare(&mut self, delta: &Delta<'_>) {
        match *delta {
            Delta::Close { key, by } => {
                let key = self.key(key);
                if let Some(slot) = self.slots.as_ref().and_then(|slots| slots.find(&key)) {
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
                if let Some(slots) = &mut self.slots {
                    slots.message_ended();
                }
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
                if last {
                    self.abort(error);
                } else {
                    let fault = &mut self.notes.get_or_insert_default().fault;
                    fault.get_or_insert(error);
                }
            }
            Delta::Undecodable { problem } => {
                self.anomaly(AnomalyKind::UndecodableEvent, None);
                let notes = self.notes.get_or_insert_default();
                notes
                    .undecodable
                    .get_or_insert_with(|| (self.offset, problem.to_owned()));
                for slot in self.calls.0.iter_mut().flatten() {
                    // Text may be missing from every call that can still grow.
                    if !slot.call.is_whole() || slot.call.is_empty_object() {
                        slot.call.damage(ProblemKind::Lost);
                    }
                }
            }
            Delta::Stray { text } => {
                self.anomaly(AnomalyKind::StrayText, None);
                let notes = self.notes.get_or_insert_default();
                notes.stray.get_or_insert_with(|| text.to_owned());
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
        if self
            .notes
            .get_or_insert_default()
            .take_reason(choice, &reason)
        {
            self.queue.push(Queued::Finished(choice, reason));
        }
        if self.config.emit == EmitWhen::FinishReason {
            self.close_all(Some(choice), ClosedBy::FinishReason);
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

/// Shows how much is held, not what it says.
impl fmt::Debug for Accumulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accumulator")
            .field("open_calls", &self.calls.0.iter().flatten().count())
            .field("arguments_bytes", &self.arguments_bytes)
            .field("waiting_events", &self.queue.len())
            .field("anomalies", &self.anomalies())
            .field("end", &self.end)
            .finish_non_exhaustive()
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
