//! The one grammar reader: bytes in, one tree grown in place.
//!
//! It accepts exactly what serde_json accepts as an object, and prefixes of that. No `&mut` into the tree outlives a call;
//! each call walks the open spine from the root instead, which costs O(depth) and is the price of safe code. A token that
//! the edge of the text cuts (number, literal, escape, key) is not in the tree until it is settled.

mod spine;

use super::events::{FieldKind, Observer, PathSegment};
use super::is_space;
use super::number::NumberState;
use super::recover::{FaultKind, Fidelity};
use super::text::{Pending, TextStop, read_text};
use serde_json::{Map, Number, Value};
use spine::{Step, innermost, leaf};

pub(crate) use spine::find;

/// Where the cursor is.
///
/// ```text
/// Start ─{▶ ObjectStart ─"▶ Key ─"▶ AfterKey ─:▶ Value ─▶ Text │ Number │ Literal │ (ObjectStart, ArrayStart)
///                ▲                                 ▲                  │
///                │ }                               │ , in an array    ▼
///                └── ObjectNext ◀── , in an object ┴─────────── AfterValue ─ } or ] ▶ AfterValue or Closed
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Start,
    ObjectStart,
    ObjectNext,
    Key,
    AfterKey,
    ArrayStart,
    Value,
    Text,
    Number(NumberState),
    Literal(Literal, usize),
    AfterValue,
    Closed,
    Stopped(FaultKind, usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Literal {
    True,
    False,
    Null,
}

/// The reader without the tree it grows, so that both can be borrowed at once.
#[derive(Debug, Clone)]
pub(super) struct Core {
    spine: Vec<Step>,
    pub(super) state: State,
    pub(super) at: usize,
    /// Where the number, literal or key being read began.
    pub(super) token_at: usize,
    /// Where the newest key began.
    key_at: usize,
    pub(super) pending: Pending,
    key: String,
    /// As [`Step::replaced`], for the newest child of the innermost container.
    leaf_replaced: Option<Box<str>>,
    pub(super) fidelity: Fidelity,
    /// Where the cursor was when it stopped.
    stopped_in: State,
    max_depth: usize,
}

impl Core {
    pub(super) fn new(max_depth: usize) -> Self {
        Core {
            spine: Vec::new(),
            state: State::Start,
            at: 0,
            token_at: 0,
            key_at: 0,
            pending: Pending::default(),
            key: String::new(),
            leaf_replaced: None,
            fidelity: Fidelity::default(),
            stopped_in: State::Start,
            max_depth,
        }
    }

    pub(super) fn skip_space(&mut self, bytes: &[u8]) {
        while bytes.get(self.at).is_some_and(|byte| is_space(*byte)) {
            self.at += 1;
        }
    }

    /// Where the text begins that is not in the tree: a number, literal, key or escape that the edge cuts, or all from a
    /// fault on.
    pub(super) fn held_from(&self, text: &str) -> Option<usize> {
        match self.state {
            State::Number(_) | State::Literal(..) | State::Key | State::AfterKey => {
                Some(self.token_at)
            }
            State::Value
                if text
                    .get(..self.at)
                    .is_some_and(|read| super::trim(read).ends_with(':')) =>
            {
                Some(self.token_at)
            }
            State::Text => self.pending.held_from(text, self.at),
            State::Stopped(_, at) => Some(at),
            _ => None,
        }
    }

    /// As [`held_from`](Self::held_from), with the key of a held-back value.
    pub(super) fn held_with_key(&self, text: &str) -> Option<usize> {
        let from = self.held_from(text)?;
        let before = text.get(self.key_at..from).unwrap_or_default();
        let keyed = matches!(self.state, State::Number(_) | State::Literal(..))
            && super::trim(before).ends_with(':');
        Some(if keyed { self.key_at } else { from })
    }

    fn stop(&mut self, kind: FaultKind, at: usize) {
        self.stopped_in = self.state;
        self.state = State::Stopped(kind, at);
    }

    /// The reader proper. Each turn of the outer loop walks to the innermost container once; each turn of the inner one
    /// takes one token, or as much of it as has arrived.
    #[inline]
    pub(super) fn run<O: Observer>(&mut self, root: &mut Value, text: &str, observer: &mut O) {
        let bytes = text.as_bytes();
        loop {
            let Some(mut here) = innermost(root, &self.spine) else {
                return;
            };
            loop {
                if self.state == State::Text {
                    let Some(leaf) = leaf(here, self.leaf_replaced.as_deref()) else {
                        return;
                    };
                    let Value::String(into) = leaf else { return };
                    let shown = into.len();
                    let stop = read_text(text, &mut self.at, &mut self.pending, into);
                    if O::ACTIVE && into.len() > shown {
                        observer.text(into.get(shown..).unwrap_or_default());
                    }
                    match stop {
                        TextStop::Edge => return,
                        TextStop::Quote => {
                            if O::ACTIVE {
                                observer.completed(leaf);
                                observer.leave();
                            }
                            self.state = State::AfterValue;
                        }
                        TextStop::Fault(kind, at) => return self.stop(kind, at),
                    }
                }
                let Some(&byte) = bytes.get(self.at) else {
                    return;
                };
                match self.state {
                    State::Number(number) => {
                        let Some(number) = self.number(number, bytes) else {
                            return;
                        };
                        let Some(next) = bytes.get(self.at).copied() else {
                            return;
                        };
                        if !number.may_end()
                            || !(is_space(next) || matches!(next, b',' | b'}' | b']'))
                        {
                            return self.stop(FaultKind::BadNumber, self.at);
                        }
                        let digits = text.get(self.token_at..self.at).unwrap_or_default();
                        let Ok(value) = serde_json::from_str::<Number>(digits) else {
                            return self.stop(FaultKind::NumberOutOfRange, self.token_at);
                        };
                        self.fidelity.inexact_integer |=
                            number == NumberState::Integer && value.is_f64();
                        self.settle(here, Value::Number(value), observer);
                        continue;
                    }
                    State::Literal(literal, read) => {
                        let (word, value) = literal.spelled();
                        if word.as_bytes().get(read) != Some(&byte) {
                            return self.stop(FaultKind::Unexpected, self.at);
                        }
                        self.at += 1;
                        if read + 1 == word.len() {
                            self.settle(here, value, observer);
                        } else {
                            self.state = State::Literal(literal, read + 1);
                        }
                        continue;
                    }
                    State::Key => {
                        match read_text(text, &mut self.at, &mut self.pending, &mut self.key) {
                            TextStop::Edge => return,
                            TextStop::Quote => {
                                self.state = State::AfterKey;
                                continue;
                            }
                            TextStop::Fault(kind, at) => return self.stop(kind, at),
                        }
                    }
                    _ if is_space(byte) => {
                        self.at += 1;
                        continue;
                    }
                    State::Start if byte == b'{' => {
                        if self.max_depth == 0 {
                            return self.stop(FaultKind::TooDeep, self.at);
                        }
                        self.at += 1;
                        self.spine.push(Step { replaced: None });
                        self.state = State::ObjectStart;
                        observer.opened(FieldKind::Object);
                    }
                    State::Start => return self.stop(not_an_object(byte), self.at),
                    State::ObjectStart | State::ObjectNext if byte == b'"' => {
                        self.token_at = self.at;
                        self.key_at = self.at;
                        self.at += 1;
                        self.key.clear();
                        self.state = State::Key;
                    }
                    State::AfterKey if byte == b':' => {
                        self.at += 1;
                        self.state = State::Value;
                    }
                    State::AfterValue if byte == b',' => {
                        self.at += 1;
                        self.state = if here.is_array() {
                            State::Value
                        } else {
                            State::ObjectNext
                        };
                    }
                    State::ObjectStart | State::AfterValue if byte == b'}' && here.is_object() => {
                        self.close(here, observer);
                        break;
                    }
                    State::ArrayStart | State::AfterValue if byte == b']' && here.is_array() => {
                        self.close(here, observer);
                        break;
                    }
                    State::Value | State::ArrayStart => match byte {
                        b'"' => {
                            self.at += 1;
                            self.place(here, Value::String(String::new()), observer);
                            self.state = State::Text;
                            observer.opened(FieldKind::String);
                        }
                        b'{' | b'[' => {
                            if self.spine.len() >= self.max_depth {
                                return self.stop(FaultKind::TooDeep, self.at);
                            }
                            self.at += 1;
                            let array = byte == b'[';
                            let container = if array {
                                Value::Array(Vec::new())
                            } else {
                                Value::Object(Map::new())
                            };
                            self.place(here, container, observer);
                            self.spine.push(Step {
                                replaced: self.leaf_replaced.take(),
                            });
                            self.state = if array {
                                State::ArrayStart
                            } else {
                                State::ObjectStart
                            };
                            observer.opened(if array {
                                FieldKind::Array
                            } else {
                                FieldKind::Object
                            });
                            let step = self.spine.last().and_then(|step| step.replaced.as_deref());
                            let Some(inside) = leaf(here, step) else {
                                return;
                            };
                            here = inside;
                        }
                        b't' => self.literal(Literal::True),
                        b'f' => self.literal(Literal::False),
                        b'n' => self.literal(Literal::Null),
                        _ => {
                            let Some(number) = NumberState::start(byte) else {
                                return self.stop(FaultKind::Unexpected, self.at);
                            };
                            self.token_at = self.at;
                            self.at += 1;
                            self.state = State::Number(number);
                        }
                    },
                    State::Closed => return self.stop(FaultKind::Trailing, self.at),
                    State::Stopped(..) => return,
                    _ => return self.stop(FaultKind::Unexpected, self.at),
                }
            }
        }
    }

    /// Reads a number's bytes up to the edge or to what follows it.
    fn number(&mut self, mut number: NumberState, bytes: &[u8]) -> Option<NumberState> {
        while let Some(next) = number.step(*bytes.get(self.at)?) {
            number = next;
            self.at += 1;
            // Kept at every byte: the next call may find the edge moved and must go on from here.
            self.state = State::Number(number);
        }
        Some(number)
    }

    fn literal(&mut self, literal: Literal) {
        self.token_at = self.at;
        self.at += 1;
        self.state = State::Literal(literal, 1);
    }

    /// A number or literal: it is complete at once.
    fn settle<O: Observer>(&mut self, here: &mut Value, value: Value, observer: &mut O) {
        self.place(here, value, observer);
        if O::ACTIVE {
            if let Some(value) = leaf(here, self.leaf_replaced.as_deref()) {
                observer.completed(value);
            }
            observer.leave();
        }
        self.state = State::AfterValue;
    }

    /// Puts a new child into the innermost container, in place of an earlier member of the same key.
    fn place<O: Observer>(&mut self, here: &mut Value, value: Value, observer: &mut O) {
        self.leaf_replaced = None;
        match here {
            Value::Array(elements) => {
                if O::ACTIVE {
                    observer.enter(PathSegment::Index(elements.len()));
                }
                elements.push(value);
            }
            Value::Object(members) => {
                if O::ACTIVE {
                    observer.enter(PathSegment::from(self.key.clone()));
                }
                match members.entry(std::mem::take(&mut self.key)) {
                    serde_json::map::Entry::Vacant(entry) => {
                        entry.insert(value);
                    }
                    serde_json::map::Entry::Occupied(mut entry) => {
                        self.leaf_replaced = Some(entry.key().as_str().into());
                        self.fidelity.repeated_key = true;
                        entry.insert(value);
                        observer.replaced();
                    }
                }
            }
            _ => {}
        }
    }

    fn close<O: Observer>(&mut self, here: &Value, observer: &mut O) {
        self.at += 1;
        if O::ACTIVE {
            observer.completed(here);
            observer.leave();
        }
        self.leaf_replaced = self.spine.pop().and_then(|step| step.replaced);
        self.state = if self.spine.is_empty() {
            State::Closed
        } else {
            State::AfterValue
        };
    }

    /// The state it is in, or was in when it stopped.
    pub(super) fn before_stop(&self) -> State {
        if matches!(self.state, State::Stopped(..)) {
            self.stopped_in
        } else {
            self.state
        }
    }
}

impl Literal {
    fn spelled(self) -> (&'static str, Value) {
        match self {
            Literal::True => ("true", Value::Bool(true)),
            Literal::False => ("false", Value::Bool(false)),
            Literal::Null => ("null", Value::Null),
        }
    }
}

/// What a text that begins with this byte is instead of an object.
fn not_an_object(byte: u8) -> FaultKind {
    match byte {
        b'[' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => FaultKind::NotAnObject,
        _ => FaultKind::Unexpected,
    }
}
