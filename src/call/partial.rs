//! A call that is still arriving.

mod merge;
mod text;

use std::fmt;

use serde::de::IgnoredAny;

use super::settle::{
    Sources, is_blank, prefers_fragments, says_nothing, scanned, settle, settle_free,
};
use super::{CallIndex, Evidence, Parts, ToolCall, ToolName};
use crate::anomaly::AnomalyKind;
use crate::arguments::{Arguments, Known, PartialArguments, ProblemKind, Settling};
use crate::delta::{CallDelta, Executor, ToolKind};
use crate::json::{self, FieldEvent, MAX_DEPTH, PartialReader, Scan};

use text::Restated;
pub(crate) use text::{cannot_restate, may_open};

pub use merge::MergeError;

/// A call that is still arriving: what is known of it, and a live view of its arguments.
///
/// # Examples
///
/// ```
/// use callstitch::{Executor, ToolCallParser, ToolKind, WireFormat};
///
/// let mut parser = ToolCallParser::new(WireFormat::OpenAiChat);
/// let chunk = br#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"write_note","arguments":"{\"text\":\"Low ti"}}]}}]}
///
/// "#;
/// parser.push(chunk).for_each(drop);
/// let call = parser.in_progress().next().unwrap();
/// assert_eq!(call.name(), Some("write_note"));
/// assert_eq!(call.arguments().object()["text"], "Low ti");
/// assert_eq!((call.index().get(), call.choice(), call.wire_index()), (0, 0, Some(0)));
/// assert_eq!((call.id(), call.kind(), call.executor()), (Some("call_1"), &ToolKind::Function, Executor::Client));
/// assert_eq!((call.raw(), call.server_name()), (r#"{"text":"Low ti"#, None));
/// ```
#[derive(Clone)]
pub struct PartialCall {
    pub(super) index: CallIndex,
    pub(crate) choice: u32,
    pub(crate) wire_index: Option<i64>,
    pub(crate) id: Option<String>,
    pub(crate) item_id: Option<String>,
    /// Empty while none came.
    pub(crate) name: String,
    kind: ToolKind,
    /// `None` while nothing was said of it.
    executor: Option<Executor>,
    server_name: Option<String>,
    status: Option<String>,
    /// The provider says that the call was cut.
    cut: bool,
    /// Name and JSON text: a tree would take many times the bytes.
    extras: Vec<(String, String)>,
    /// Bytes held beside the text: restated and initial text, extras, names.
    beside: usize,
    /// Bytes that the decoder holds for this call; part of `beside`.
    held_elsewhere: usize,
    /// Where the text begins that is no white space, from `last_value` on.
    said_from: usize,
    text: String,
    /// Reads after the text; [`scan`](PartialCall::scan) has read all of it.
    scan: Scan,
    /// So many bytes are an object's text, which was read as one before it came here; 0 for none.
    object: usize,
    /// A high surrogate half at the end of the last fragment, waiting for its other half.
    high: Option<u16>,
    /// Where the last fragment begins that opens a value; the text between two such is a prefix of the later one.
    last_value: usize,
    /// The fragment at `last_value` is a whole value of the wire, which a later one replaces.
    last_is_whole: bool,
    restated: Restated,
    initial: Option<String>,
    reader: Option<Box<PartialReader>>,
    /// The reader reports to [`read_fields`](PartialCall::read_fields) what it reads.
    reports: bool,
    /// Why the text cannot be believed whatever it says, and from which byte on.
    damaged: Option<(ProblemKind, usize)>,
    /// What the caller gave to it; a stream gives nothing.
    given: Option<Box<merge::Given>>,
}

/// How a call ends.
#[derive(Debug)]
pub(crate) struct Closing {
    pub(crate) settling: Settling,
    /// Nothing vouches for what is missing: an empty object is a cut call (WIRE_FORMATS 11.6).
    pub(crate) unconfirmed: bool,
    /// An error came before the close that its wire gives each call: no text of it is believed to be all.
    pub(crate) open: bool,
    /// The finish reason says that this call was cut: free text has no other way to show it.
    pub(crate) cut: bool,
    pub(crate) evidence: Evidence,
    /// The public id, and whether it was made here.
    pub(crate) id: (String, bool),
}

/// An ended call, and the liberties that were seen at its end.
pub(crate) struct Ended {
    pub(crate) call: ToolCall,
    pub(crate) anomalies: [Option<AnomalyKind>; 2],
}

impl PartialCall {
    pub(crate) fn new(index: CallIndex, choice: u32) -> Self {
        PartialCall {
            index,
            choice,
            wire_index: None,
            id: None,
            item_id: None,
            name: String::new(),
            kind: ToolKind::Function,
            executor: None,
            server_name: None,
            status: None,
            cut: false,
            extras: Vec::new(),
            beside: 0,
            held_elsewhere: 0,
            said_from: 0,
            text: String::new(),
            scan: Scan::default(),
            object: 0,
            high: None,
            last_value: 0,
            last_is_whole: false,
            restated: Restated::No,
            initial: None,
            reader: None,
            reports: false,
            damaged: None,
            given: None,
        }
    }

    /// The call's number by first appearance in its stream.
    #[must_use]
    pub fn index(&self) -> CallIndex {
        self.index
    }

    /// Which of the `n` completions makes the call.
    #[must_use]
    pub fn choice(&self) -> u32 {
        self.choice
    }

    /// The provider's own number, where it sent one.
    #[must_use]
    pub fn wire_index(&self) -> Option<i64> {
        self.wire_index
    }

    /// The id as far as it is known.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The tool's name as far as it is known.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        Some(self.name.as_str()).filter(|name| !name.is_empty())
    }

    /// Function, custom, or a built-in.
    #[must_use]
    pub fn kind(&self) -> &ToolKind {
        &self.kind
    }

    /// Who runs the call.
    #[must_use]
    pub fn executor(&self) -> Executor {
        self.executor.unwrap_or_default()
    }

    /// The MCP server's name, as far as it is known.
    #[must_use]
    pub fn server_name(&self) -> Option<&str> {
        self.server_name.as_deref()
    }

    /// The argument text so far, as sent.
    #[must_use]
    pub fn raw(&self) -> &str {
        &self.text
    }

    /// The live view of the arguments. Cost: linear in what came since the last look, plus the nesting; nobody looking costs
    /// nothing. Free text has a view that states nothing; look at [`raw`](PartialCall::raw).
    pub fn arguments(&mut self) -> PartialArguments<'_> {
        if self.kind == ToolKind::Custom {
            return PartialArguments::of_text(&self.text);
        }
        let reader = self
            .reader
            .get_or_insert_with(|| Box::new(PartialReader::new(MAX_DEPTH)));
        reader.advance(&self.text);
        PartialArguments::new(&self.text, reader)
    }

    /// Reads on and reports what happens to the fields: all of it from the first time on, whoever looked before.
    pub(crate) fn read_fields(&mut self, max_depth: usize, sink: &mut dyn FnMut(FieldEvent<'_>)) {
        if self.kind == ToolKind::Custom {
            return;
        }
        if !std::mem::replace(&mut self.reports, true) {
            self.reader = None;
        }
        self.reader
            .get_or_insert_with(|| Box::new(PartialReader::new(max_depth)))
            .advance_with(&self.text, sink);
    }

    /// Bytes that the view and the field events read so far; `None` where nothing ever read. For tests of what they cost.
    #[doc(hidden)]
    #[must_use]
    pub fn steps(&self) -> Option<u64> {
        self.reader.as_deref().map(PartialReader::steps)
    }

    /// The reader that reported, when the call ends.
    pub(crate) fn take_reader(&mut self) -> Option<Box<PartialReader>> {
        self.reader.take().filter(|_| self.reports)
    }

    /// The structure of the text.
    fn scan(&self) -> Scan {
        let mut scan = self.scan;
        scan.read_on(&self.text);
        scan
    }

    /// The text so far is one balanced object or array.
    pub(crate) fn is_whole(&self) -> bool {
        self.scan().is_whole()
    }

    /// Bytes held beside [`raw`](PartialCall::raw), names and ids not counted.
    pub(crate) fn beside(&self) -> usize {
        self.beside
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.scan().is_blank()
    }

    /// Blank, or the text `null`.
    pub(crate) fn is_blank_or_null(&self) -> bool {
        is_blank(&self.text, &self.scan())
    }

    pub(crate) fn is_empty_object(&self) -> bool {
        self.scan().is_empty_object()
    }

    /// Whether a wire's own close of this call can be believed at once: its text, or the one restated that beats it, or its
    /// default is whole.
    pub(crate) fn is_settled(&self) -> bool {
        if self.kind == ToolKind::Custom {
            return true;
        }
        let mut scan = self.scan();
        if let Some(restated) = self.restated.different(&self.text)
            && !prefers_fragments(restated, &self.text, &scan)
        {
            scan = scanned(restated);
        }
        scan.is_whole()
            || (scan.is_blank()
                && self
                    .initial
                    .as_deref()
                    .is_some_and(|initial| !says_nothing(initial) && initial.trim() != "\"\""))
    }

    /// Whether the provider says that the call was cut.
    pub(crate) fn is_cut(&self) -> bool {
        self.cut
    }

    /// Whatever the text will say, it cannot be believed.
    pub(crate) fn damage(&mut self, why: ProblemKind) {
        self.damaged.get_or_insert((why, self.text.len()));
    }

    /// Takes what a delta says besides identity and arguments.
    pub(crate) fn describe(&mut self, delta: &CallDelta<'_>) {
        if let Some(kind) = delta.kind {
            self.kind = kind.clone();
        }
        self.executor = delta.executor.or(self.executor);
        if let Some(server_name) = delta.server_name {
            replace(&mut self.server_name, server_name, &mut self.beside);
        }
        if let Some(status) = delta.status {
            replace(&mut self.status, status, &mut self.beside);
        }
        self.cut |= delta.cut;
        if delta.held_bytes > 0 {
            self.beside = self.beside.saturating_sub(self.held_elsewhere) + delta.held_bytes;
            self.held_elsewhere = delta.held_bytes;
        }
        for &(name, raw) in delta.extras {
            if serde_json::from_str::<IgnoredAny>(raw).is_err() {
                continue;
            }
            self.beside += raw.len();
            match self.extras.iter_mut().find(|(of, _)| of == name) {
                Some((_, held)) => {
                    self.beside = self.beside.saturating_sub(held.len());
                    raw.clone_into(held);
                }
                None => {
                    self.beside += name.len();
                    self.extras.push((name.to_owned(), raw.to_owned()));
                }
            }
        }
    }

    /// Takes a name by its content (WIRE_FORMATS 11.2.6): equal is a repeat, longer with the same beginning is a restatement,
    /// anything else is a piece, as long as no argument text came.
    pub(crate) fn take_name(&mut self, name: &str) -> Option<AnomalyKind> {
        if self.name.is_empty() {
            self.name = name.to_owned();
            return (!self.is_blank()).then_some(AnomalyKind::LateName);
        }
        if self.name == name {
            return Some(AnomalyKind::RepeatedName);
        }
        if !self.text.is_empty() {
            return Some(AnomalyKind::DifferentName);
        }
        if name.starts_with(&self.name) {
            self.name.clear();
        }
        self.name.push_str(name);
        Some(AnomalyKind::NameInPieces)
    }

    /// Ends the call, after [`end_text`](PartialCall::end_text).
    pub(crate) fn end(self, closing: Closing) -> Ended {
        let scan = self.scan();
        let restated = self.restated.other(&self.text);
        let text = self.text;
        let is_object = self.object > 0 && self.object == text.len();
        let mut anomalies = [None; 2];
        let free_form = self.kind == ToolKind::Custom;
        let arguments = if let Some((why, at)) = self.damaged {
            Arguments::damaged(text, at, why)
        } else if free_form {
            let (text, differs) = settle_free(text, restated);
            anomalies[0] = differs.then_some(AnomalyKind::RestatedDiffers);
            Arguments::free_form(text, closing.cut || closing.unconfirmed)
        } else {
            let sources = Sources {
                text,
                scan,
                last_value: self.last_value,
                restated,
                initial: self.initial,
                known: Known {
                    is_object,
                    sound: scan.sound(),
                    unwrapped: false,
                },
            };
            let settled = settle(sources, &closing.settling);
            anomalies[0] = settled
                .restated_differs
                .then_some(AnomalyKind::RestatedDiffers);
            anomalies[1] = settled.duplicate.then_some(AnomalyKind::DuplicateText);
            let mut arguments = settled.arguments;
            let empty = closing.unconfirmed && arguments.text().is_some_and(says_nothing);
            if empty || (closing.open && arguments.is_usable()) {
                arguments.flag_truncated();
            }
            arguments.refuse_to_choose();
            arguments
        };
        let (id, synthetic_id) = closing.id;
        let extras = self.extras.into_iter();
        let extras = extras
            .filter_map(|(name, raw)| Some((name, json::value(&raw)?)))
            .collect();
        let given = self.given.map(|given| *given).unwrap_or_default();
        let mut evidence = closing.evidence;
        evidence.status = self.status;
        let call = ToolCall(Box::new(Parts {
            index: self.index,
            choice: self.choice,
            wire_index: self.wire_index,
            id,
            wire_id: self.id,
            synthetic_id,
            item_id: self.item_id,
            name: ToolName::new(self.name).ok(),
            arguments,
            kind: self.kind,
            executor: self.executor.unwrap_or_default(),
            server_name: self.server_name,
            extras,
            extras_of: None,
            display_text: given.display_text,
            metadata: given.metadata,
            evidence,
        }));
        Ended { call, anomalies }
    }
}

/// Puts a text in place of the one held, and keeps the count of what is held.
fn replace(held: &mut Option<String>, text: &str, bytes: &mut usize) {
    let before = held.as_ref().map_or(0, String::len);
    *bytes = bytes.saturating_sub(before) + text.len();
    *held = Some(text.to_owned());
}

impl fmt::Debug for PartialCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartialCall")
            .field("index", &self.index.0)
            .field("choice", &self.choice)
            .field("id", &self.id)
            .field("name", &self.name)
            .field("bytes", &self.text.len())
            .finish_non_exhaustive()
    }
}
