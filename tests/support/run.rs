//! One body through one parser, cut in some way: what was said, with the grammar of the stream checked on the way.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use callstitch::{
    AnomalyKind, CallIndex, CallState, ClosedBy, Config, End, Error, ErrorKind, Event, IdSource,
    ToolCall, ToolCallParser, WireFormat,
};
use serde_json::{Map, Value};

/// Made ids that are the same in every run, so that runs can be compared.
#[derive(Debug, Default)]
struct Numbered(AtomicU64);

impl IdSource for Numbered {
    fn next_id(&self) -> String {
        format!("call_made_{}", self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// The default limits and policies, with ids that do not differ between runs.
pub fn config() -> Config {
    Config::default().ids(Numbered::default())
}

/// One event, in a shape that can be compared: pieces joined, calls with all their members.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen {
    Started {
        index: u32,
        choice: u32,
        id: Option<String>,
        name: String,
    },
    Arguments(u32, String),
    Completed(Box<Call>),
    Discarded(Box<Call>),
    /// Text that is no call's: its kind, its choice.
    Text(&'static str, u32, String),
    Usage(String),
    Finished(u32, String, Option<String>),
    Anomaly(AnomalyKind, Option<u32>, u64),
    Error(ErrorKind, u64, String, Option<String>),
}

/// All that a call says of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub index: u32,
    pub choice: u32,
    pub wire_index: Option<i64>,
    pub id: String,
    pub wire_id: Option<String>,
    pub synthetic_id: bool,
    pub item_id: Option<String>,
    pub name: String,
    pub kind: String,
    pub executor: &'static str,
    pub server_name: Option<String>,
    pub state: CallState,
    pub raw: String,
    pub object: Option<Map<String, Value>>,
    pub repairs: usize,
    pub extras: Map<String, Value>,
    pub closed_by: ClosedBy,
    pub offset: u64,
    pub finish_reason: Option<String>,
    pub status: Option<String>,
}

impl Call {
    pub fn new(call: &ToolCall) -> Self {
        let (arguments, evidence) = (call.arguments(), call.evidence());
        Call {
            index: call.index().get(),
            choice: call.choice(),
            wire_index: call.wire_index(),
            id: call.id().to_owned(),
            wire_id: call.wire_id().map(str::to_owned),
            synthetic_id: call.is_synthetic_id(),
            item_id: call.item_id().map(str::to_owned),
            name: call.name().to_owned(),
            kind: call.kind().as_str().to_owned(),
            executor: call.executor().as_str(),
            server_name: call.server_name().map(str::to_owned),
            state: call.state(),
            raw: arguments.raw().to_owned(),
            object: arguments.recovered().cloned(),
            repairs: arguments.repairs().len(),
            extras: call.extras().clone(),
            closed_by: evidence.closed_by,
            offset: evidence.offset,
            finish_reason: evidence.finish_reason.clone(),
            status: evidence.status.clone(),
        }
    }
}

/// What one run of a stream said.
#[derive(Debug)]
pub struct Run {
    pub events: Vec<Seen>,
    pub calls: Vec<ToolCall>,
    pub discarded: Vec<ToolCall>,
    pub end: End,
    pub error: Option<Error>,
    pub finish_reasons: Vec<String>,
    /// The answer, all choices in the order of arrival.
    pub text: String,
    pub anomalies: Vec<(AnomalyKind, u64)>,
    pub format: Option<WireFormat>,
}

impl Run {
    /// Asserts that another run said the same, byte offsets included.
    #[track_caller]
    pub fn assert_same(&self, other: &Run, how: &str) {
        // Nearly all runs are equal: only those that are not need to be looked at one by one.
        if self.events != other.events {
            self.assert_equal(other, how, Seen::clone);
        }
        assert_eq!(self.end, other.end, "{how}: the end");
        assert_eq!(self.anomalies, other.anomalies, "{how}: the anomalies");
    }

    /// Asserts that another run said the same at other byte offsets: line ends differ in length.
    #[track_caller]
    pub fn assert_same_elsewhere(&self, other: &Run, how: &str) {
        self.assert_equal(other, how, |seen| {
            let mut seen = seen.clone();
            match &mut seen {
                Seen::Completed(call) | Seen::Discarded(call) => call.offset = 0,
                Seen::Anomaly(_, _, offset) | Seen::Error(_, offset, _, _) => *offset = 0,
                _ => {}
            }
            seen
        });
        assert_eq!(self.end, other.end, "{how}: the end");
        assert_eq!(self.anomalies, other.anomalies, "{how}: the anomalies");
    }

    #[track_caller]
    fn assert_equal(&self, other: &Run, how: &str, view: impl Fn(&Seen) -> Seen) {
        for (at, (a, b)) in self.events.iter().zip(&other.events).enumerate() {
            assert_eq!(view(a), view(b), "{how}: event {at}");
        }
        assert_eq!(
            self.events.len(),
            other.events.len(),
            "{how}: the number of events; {:?} against {:?}",
            self.events.last(),
            other.events.last()
        );
    }

    /// The calls with all their members.
    pub fn seen(&self) -> Vec<Call> {
        self.calls.iter().map(Call::new).collect()
    }

    /// Asserts the calls by name, state and arguments (for a flagged call what it still states), in the order of emission.
    #[track_caller]
    pub fn assert_calls(&self, expected: &[(&str, CallState, Value)]) {
        let got: Vec<(&str, CallState, Value)> = self
            .calls
            .iter()
            .map(|call| {
                let stated = call.arguments().recovered();
                let value = stated.map_or(Value::Null, |object| Value::Object(object.clone()));
                (call.name(), call.state(), value)
            })
            .collect();
        assert_eq!(got, expected);
    }

    /// Asserts whole calls by name and arguments, and a clean end.
    #[track_caller]
    pub fn assert_whole(&self, expected: &[(&str, Value)]) {
        let expected: Vec<_> = expected
            .iter()
            .map(|(name, value)| (*name, CallState::Whole, value.clone()))
            .collect();
        self.assert_calls(&expected);
        assert_eq!(self.end, End::Clean, "{:?}", self.error);
        assert!(self.error.is_none());
    }

    /// The ids, in the order of emission; `None` where one was made.
    pub fn ids(&self) -> Vec<Option<&str>> {
        self.calls
            .iter()
            .map(|call| Some(call.id()).filter(|_| !call.is_synthetic_id()))
            .collect()
    }

    /// Whether this liberty was told, as an event and in the counts.
    #[track_caller]
    pub fn assert_told(&self, kind: AnomalyKind) {
        let told = |seen: &Seen| matches!(seen, Seen::Anomaly(of, _, _) if *of == kind);
        assert!(
            self.events.iter().any(told) && self.anomalies.iter().any(|(of, _)| *of == kind),
            "{kind} was not told; told were {:?}",
            self.anomalies
        );
    }

    /// How often this liberty was counted.
    pub fn count(&self, kind: AnomalyKind) -> u64 {
        let found = self.anomalies.iter().find(|(of, _)| *of == kind);
        found.map_or(0, |(_, count)| *count)
    }

    /// The one error at the end.
    #[track_caller]
    pub fn error(&self) -> &Error {
        self.error.as_ref().expect("the stream ends in an error")
    }
}

/// Runs a body in these pieces under the default policies.
pub fn run<'a>(format: WireFormat, pieces: impl IntoIterator<Item = &'a [u8]>) -> Run {
    run_with(format, config(), pieces)
}

/// Runs a body in these pieces.
pub fn run_with<'a>(
    format: WireFormat,
    config: Config,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Run {
    let mut gathering = Gathering::default();
    let mut parser = ToolCallParser::with_config(format, config);
    for piece in pieces {
        gathering.take(parser.push(piece));
    }
    gathering.take(parser.finish());
    // The end is the end: neither a second finish nor late bytes nor an abort say anything.
    assert_eq!(parser.finish().count(), 0, "finish said something twice");
    assert_eq!(
        parser.push(b"data: {}\n\n").count(),
        0,
        "an event after the end"
    );
    assert_eq!(parser.abort().count(), 0, "abort said something at the end");
    assert_eq!(
        parser.in_progress().count(),
        0,
        "a call is open after the end"
    );
    gathering.run(
        parser.end().expect("a finished stream has an end"),
        parser.anomalies().to_vec(),
        parser.format(),
    )
}

/// Runs a body whole and byte by byte, asserts that both say the same, and gives what they say.
pub fn both(format: WireFormat, body: impl AsRef<[u8]>) -> Run {
    both_with(format, config, body)
}

/// As [`both`], each run with a configuration of its own.
pub fn both_with(format: WireFormat, config: impl Fn() -> Config, body: impl AsRef<[u8]>) -> Run {
    let body = body.as_ref();
    let whole = run_with(format, config(), [body]);
    for size in [1, 7] {
        let cut = run_with(format, config(), body.chunks(size));
        whole.assert_same(&cut, &format!("pieces of {size}"));
    }
    whole
}

/// Gathers events and checks the grammar: `stream := event* [error]`, and for each call `started arguments* (completed |
/// discarded)` exactly once.
#[derive(Debug, Default)]
pub struct Gathering {
    events: Vec<Seen>,
    calls: Vec<ToolCall>,
    discarded: Vec<ToolCall>,
    open: HashMap<CallIndex, Growing>,
    ended: HashMap<CallIndex, ()>,
    error: Option<Error>,
    finish_reasons: Vec<String>,
    text: String,
}

#[derive(Debug, Default)]
struct Growing {
    id: Option<String>,
    name: String,
    choice: u32,
    text: String,
}

impl Gathering {
    pub fn take<'a>(&mut self, events: impl Iterator<Item = Result<Event<'a>, Error>>) {
        for event in events {
            assert!(self.error.is_none(), "an event after the error");
            match event {
                Ok(event) => self.event(event),
                Err(error) => {
                    self.events.push(Seen::Error(
                        error.kind(),
                        error.offset(),
                        error.message().to_owned(),
                        error.code().map(str::to_owned),
                    ));
                    self.error = Some(error);
                }
            }
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match &event {
            Event::CallStarted {
                index,
                choice,
                id,
                name,
            } => {
                assert!(
                    !self.ended.contains_key(index),
                    "call {index} started after its end"
                );
                let growing = Growing {
                    id: id.as_deref().map(str::to_owned),
                    name: name.to_string(),
                    choice: *choice,
                    text: String::new(),
                };
                assert!(
                    self.open.insert(*index, growing).is_none(),
                    "call {index} started twice"
                );
            }
            Event::ArgumentsDelta { index, text } => {
                let growing = self
                    .open
                    .get_mut(index)
                    .unwrap_or_else(|| panic!("arguments of call {index}, which is not open"));
                assert!(!text.is_empty(), "an empty arguments delta");
                growing.text.push_str(text);
            }
            Event::CallCompleted(call) => {
                self.end(call);
                self.calls.push(call.clone());
            }
            Event::CallDiscarded(call) => {
                self.end(call);
                self.discarded.push(call.clone());
            }
            Event::Text { text, .. } => self.text.push_str(text),
            Event::Finished { reason, .. } => self.finish_reasons.push(reason.text.clone()),
            _ => {}
        }
        self.join(event);
    }

    fn end(&mut self, call: &ToolCall) {
        let index = call.index();
        let growing = self
            .open
            .remove(&index)
            .unwrap_or_else(|| panic!("call {index} ended without a start"));
        self.ended.insert(index, ());
        assert_eq!(
            growing.choice,
            call.choice(),
            "call {index} changed its choice"
        );
        assert_eq!(growing.name, call.name(), "call {index} changed its name");
        // An id that was told is the call's for good, unless a finished item states another and the stream says so (R5).
        if let Some(id) = growing.id
            && !self.was_told(AnomalyKind::DriftingId, index)
        {
            assert_eq!(id, call.id(), "call {index} changed its id");
        }
        assert!(!call.id().is_empty(), "call {index} has an empty id");
        // What the deltas said is the text as sent, unless the wire said another text with more authority.
        let raw = call.arguments().raw();
        assert!(
            growing.text == raw || self.was_told(AnomalyKind::RestatedDiffers, index),
            "the deltas of call {index} do not join to its text: {:?} and {raw:?}",
            growing.text
        );
    }

    fn was_told(&self, kind: AnomalyKind, index: CallIndex) -> bool {
        self.events.iter().any(|seen| {
            matches!(seen, Seen::Anomaly(of, Some(call), _) if *of == kind && *call == index.get())
        })
    }

    /// Where a chunk ends decides how a text is cut into events and nothing else: the pieces are joined.
    fn join(&mut self, event: Event<'_>) {
        let seen = match event {
            Event::CallStarted {
                index,
                choice,
                id,
                name,
            } => Seen::Started {
                index: index.get(),
                choice,
                id: id.map(Cow::into_owned),
                name: name.into_owned(),
            },
            Event::ArgumentsDelta { index, text } => {
                Seen::Arguments(index.get(), text.as_str().to_owned())
            }
            Event::CallCompleted(call) => Seen::Completed(Box::new(Call::new(&call))),
            Event::CallDiscarded(call) => Seen::Discarded(Box::new(Call::new(&call))),
            Event::Text { choice, text } => Seen::Text("answer", choice, text.into_owned()),
            Event::Reasoning { choice, text } => Seen::Text("reasoning", choice, text.into_owned()),
            Event::ReasoningSignature { choice, text } => {
                Seen::Text("signature", choice, text.into_owned())
            }
            Event::Refusal { choice, text } => Seen::Text("refusal", choice, text.into_owned()),
            Event::Usage(usage) => Seen::Usage(usage.into_owned()),
            Event::Finished { choice, reason } => {
                Seen::Finished(choice, reason.text, reason.native)
            }
            Event::Anomaly(anomaly) => Seen::Anomaly(
                anomaly.kind,
                anomaly.call.map(CallIndex::get),
                anomaly.offset,
            ),
            other => panic!("an event that the tests do not know: {other:?}"),
        };
        match (self.events.last_mut(), &seen) {
            (Some(Seen::Arguments(call, text)), Seen::Arguments(of, more)) if call == of => {
                text.push_str(more);
            }
            (Some(Seen::Text(kind, choice, text)), Seen::Text(as_kind, of, more))
                if (*kind, *choice) == (*as_kind, *of) =>
            {
                text.push_str(more);
            }
            _ => self.events.push(seen),
        }
    }

    pub fn run(
        self,
        end: End,
        anomalies: Vec<(AnomalyKind, u64)>,
        format: Option<WireFormat>,
    ) -> Run {
        assert!(
            self.open.is_empty(),
            "a call that started never ended: {:?}",
            self.open.keys()
        );
        if let Some(error) = &self.error {
            let kind = error.kind();
            let expected = match kind {
                ErrorKind::Truncated | ErrorKind::Transport => End::Truncated,
                _ => End::Error,
            };
            assert_eq!(end, expected, "the end of a stream with {kind:?}");
        } else {
            assert_ne!(end, End::Error, "an error end without an error");
        }
        let mut ids: Vec<&str> = self.calls.iter().map(ToolCall::id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), self.calls.len(), "two calls have one id");
        Run {
            events: self.events,
            calls: self.calls,
            discarded: self.discarded,
            end,
            error: self.error,
            finish_reasons: self.finish_reasons,
            text: self.text,
            anomalies,
            format,
        }
    }
}
