//! What an unfinished text states so far: the one reader, as a live view that is read as far as somebody looks.
//!
//! The tree is always attached, so a look copies nothing; a text that is itself a JSON string is decoded as it arrives and
//! the reader reads what the string holds.

use super::events::{FieldEvent, FieldPath, Observer, PathSegment, Reporter, Silent};
use super::reader::{Core, State, find};
use super::recover::{FaultKind, WrapperOffsets};
use super::text::{Pending, TextStop, read_text};
use super::{empty, is_space};
use serde_json::{Map, Value};

/// How far a reader has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// More may come.
    Reading,
    /// The object is closed.
    Closed,
    /// No continuation could make the text an object's.
    Stopped { kind: FaultKind, at: usize },
}

/// The incremental reader of one text.
#[derive(Debug, Clone)]
pub(crate) struct PartialReader {
    root: Value,
    core: Core,
    /// Set where the text is a JSON string; `core` then reads what the string holds.
    wrapper: Option<Box<Wrapper>>,
    /// Where the last report ended: the path, and the byte. Kept, because copying its keys for each delta is not linear.
    told: (FieldPath, usize),
}

/// A string around the object: its content decoded so far.
#[derive(Debug, Clone)]
pub(super) struct Wrapper {
    pub(super) at: usize,
    pub(super) pending: Pending,
    pub(super) inner: String,
    pub(super) closed: bool,
    pub(super) fault: Option<(FaultKind, usize)>,
    /// Where in the whole text the object is malformed that the string holds.
    stopped_at: Option<usize>,
}

impl PartialReader {
    /// A reader that stops at more than `max_depth` containers one inside the other.
    pub(crate) fn new(max_depth: usize) -> Self {
        let core = Core::new(max_depth.min(super::MAX_DEPTH));
        PartialReader {
            root: Value::Object(Map::new()),
            core,
            wrapper: None,
            told: (FieldPath::default(), 0),
        }
    }

    /// Reads on to the end of `raw`, the whole text so far. Never errors; the cost is that of the bytes not read before.
    #[inline]
    pub(crate) fn advance(&mut self, raw: &str) {
        self.run(raw, &mut Silent);
    }

    /// As [`advance`](Self::advance), reporting what happens to each field.
    pub(crate) fn advance_with(&mut self, raw: &str, sink: &mut dyn FnMut(FieldEvent<'_>)) {
        let (path, at) = std::mem::take(&mut self.told);
        let path = if at == self.core.at {
            path
        } else {
            self.open_path().into_iter().collect()
        };
        let mut reporter = Reporter { path, sink };
        self.run(raw, &mut reporter);
        self.told = (reporter.path, self.core.at);
    }

    fn run<O: Observer>(&mut self, raw: &str, observer: &mut O) {
        if self.core.state == State::Start && self.wrapper.is_none() {
            self.core.skip_space(raw.as_bytes());
            if raw.as_bytes().get(self.core.at) == Some(&b'"') {
                self.wrapper = Some(Box::new(Wrapper::new(self.core.at + 1)));
                self.core.at = 0;
            }
        }
        let stopped = matches!(self.progress(), Progress::Stopped { .. });
        match &mut self.wrapper {
            None => self.core.run(&mut self.root, raw, observer),
            Some(wrapper) => {
                wrapper.read(raw);
                self.core.run(&mut self.root, &wrapper.inner, observer);
                if let (State::Stopped(_, at), None) = (self.core.state, wrapper.stopped_at) {
                    wrapper.stopped_at = Some(WrapperOffsets::of(raw).outer(at));
                }
            }
        }
        if let (Progress::Stopped { at, .. }, false) = (self.progress(), stopped) {
            observer.stopped(at);
        }
    }

    /// What the text states so far; `{}` when nothing. Free.
    pub(crate) fn object(&self) -> &Map<String, Value> {
        self.root.as_object().unwrap_or_else(|| empty())
    }

    /// The same object as a value. Free.
    pub(crate) fn value(&self) -> &Value {
        &self.root
    }

    /// How far it has come.
    pub(crate) fn progress(&self) -> Progress {
        let outer = self.wrapper.as_deref();
        let fault = outer.and_then(|outer| outer.fault);
        match self.core.state {
            State::Stopped(kind, at) => {
                let at = outer.and_then(|outer| outer.stopped_at).unwrap_or(at);
                Progress::Stopped { kind, at }
            }
            _ if fault.is_some() => {
                let (kind, at) = fault.unwrap_or((FaultKind::Trailing, 0));
                Progress::Stopped { kind, at }
            }
            State::Closed if outer.is_none_or(|outer| outer.closed) => Progress::Closed,
            _ => Progress::Reading,
        }
    }

    /// Whether it came to the end of the object, whatever came then.
    pub(crate) fn has_closed(&self) -> bool {
        self.core.before_stop() == State::Closed
    }

    /// Whether it has not come to an object.
    pub(crate) fn is_at_start(&self) -> bool {
        self.core.before_stop() == State::Start
    }

    /// The path being written, outermost first: open containers, then the open string. Empty at the root.
    pub(crate) fn open_path(&self) -> Vec<PathSegment<'static>> {
        self.core.open_path(&self.root)
    }

    /// The end of `raw`, as far as it was read, that is not in the tree yet.
    pub(crate) fn held_back<'t>(&'t self, raw: &'t str) -> &'t str {
        let wrapper = self.wrapper.as_deref();
        let text = wrapper.map_or(raw, |outer| &outer.inner);
        let held = match self.core.held_with_key(text) {
            Some(from) => text.get(from..),
            None => wrapper
                .and_then(|outer| outer.held_from(raw))
                .and_then(|from| raw.get(from..)),
        };
        held.unwrap_or("")
    }

    /// Whether there is a field at this path and nothing more can be added to it. O(path).
    pub(crate) fn is_complete(&self, path: &[PathSegment<'_>]) -> bool {
        find(&self.root, path).is_some() && !self.core.is_open(&self.root, path)
    }

    /// Bytes examined so far. For the test that reading is linear.
    pub(crate) fn steps(&self) -> u64 {
        (self.core.at + self.core.pending.reread) as u64
    }

    pub(super) fn into_parts(self) -> (Value, Core, Option<Box<Wrapper>>) {
        (self.root, self.core, self.wrapper)
    }
}

impl Wrapper {
    fn new(at: usize) -> Self {
        Wrapper {
            at,
            pending: Pending::default(),
            inner: String::new(),
            closed: false,
            fault: None,
            stopped_at: None,
        }
    }

    /// Where the text begins that was not read as a part of the string: an escape that the edge cuts, or all from a fault on.
    pub(super) fn held_from(&self, raw: &str) -> Option<usize> {
        match self.fault {
            Some((_, at)) => Some(at),
            None if self.closed => None,
            None => self.pending.held_from(raw, self.at),
        }
    }

    fn read(&mut self, raw: &str) {
        if !self.closed && self.fault.is_none() {
            match read_text(raw, &mut self.at, &mut self.pending, &mut self.inner) {
                TextStop::Edge => return,
                TextStop::Quote => self.closed = true,
                TextStop::Fault(kind, at) => self.fault = Some((kind, at)),
            }
        }
        while self.closed && self.fault.is_none() {
            match raw.as_bytes().get(self.at) {
                None => return,
                Some(byte) if is_space(*byte) => self.at += 1,
                Some(_) => self.fault = Some((FaultKind::Trailing, self.at)),
            }
        }
    }
}
