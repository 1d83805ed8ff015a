//! The stored form of arguments: everything they hold, in words that read back as the same.

use std::borrow::Cow;
use std::sync::OnceLock;

use super::{Arguments, ArgumentsState, Blank, Problem, ProblemKind, Settling, to_text};
use crate::json::{self, FaultKind, PathSegment, Repair, RepairLevel};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Everything that arguments hold, in the words of the stored form.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct StoredArguments<'a> {
    pub(crate) state: Option<ArgumentsState>,
    /// The text as sent, where `arguments` is not that text or its object.
    pub(crate) raw: Option<Cow<'a, str>>,
    /// The repaired text, where `arguments` does not spell it.
    pub(crate) repaired: Option<Cow<'a, str>>,
    pub(crate) repairs: Cow<'a, [Repair]>,
    /// What a flagged text still states.
    pub(crate) recovered: Option<ArgumentsForm<'a>>,
    pub(crate) problem: Option<StoredProblem<'a>>,
}

/// An object, or a text: that of an object where the object nests deeply.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum ArgumentsForm<'a> {
    Object(Cow<'a, Map<String, Value>>),
    Text(Cow<'a, str>),
}

/// Objects deeper than this are stored as text: a reader allows 128 levels (serde_json), and the call and whatever it is kept
/// in take some.
const DEEP: usize = 64;

/// Whether a value has containers below `levels` levels. The recursion is as deep as `levels`.
fn is_deep(value: &Value, levels: usize) -> bool {
    let below = |value| levels == 0 || is_deep(value, levels - 1);
    match value {
        Value::Array(elements) => elements.iter().any(below),
        Value::Object(members) => members.values().any(below),
        _ => false,
    }
}

impl<'a> ArgumentsForm<'a> {
    fn of(object: &'a Map<String, Value>) -> Self {
        if object.values().any(|value| is_deep(value, DEEP)) {
            ArgumentsForm::Text(Cow::Owned(to_text(object)))
        } else {
            ArgumentsForm::Object(Cow::Borrowed(object))
        }
    }

    fn into_object(self) -> Option<Map<String, Value>> {
        match self {
            ArgumentsForm::Object(object) => Some(object.into_owned()),
            ArgumentsForm::Text(text) => json::object(&text),
        }
    }
}

/// What is wrong, in words.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StoredProblem<'a> {
    kind: Cow<'a, str>,
    at: usize,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    open_path: Vec<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dropped_at: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    second_object: Option<usize>,
}

const KINDS: &[(ProblemKind, &str)] = &[
    (ProblemKind::Truncated, "truncated"),
    (ProblemKind::Blank, "blank"),
    (ProblemKind::Lost, "lost"),
    (ProblemKind::Ambiguous, "ambiguous"),
    (ProblemKind::Rejected, "rejected"),
    (ProblemKind::Fault(FaultKind::Unexpected), "unexpected"),
    (
        ProblemKind::Fault(FaultKind::ControlCharacter),
        "control-character",
    ),
    (ProblemKind::Fault(FaultKind::BadEscape), "bad-escape"),
    (
        ProblemKind::Fault(FaultKind::LoneSurrogate),
        "lone-surrogate",
    ),
    (ProblemKind::Fault(FaultKind::BadNumber), "bad-number"),
    (
        ProblemKind::Fault(FaultKind::NumberOutOfRange),
        "number-out-of-range",
    ),
    (ProblemKind::Fault(FaultKind::TooDeep), "too-deep"),
    (ProblemKind::Fault(FaultKind::Trailing), "trailing"),
    (ProblemKind::Fault(FaultKind::NotAnObject), "not-an-object"),
];

impl<'a> StoredProblem<'a> {
    fn new(problem: &Problem) -> Self {
        let kind = KINDS.iter().find(|(kind, _)| *kind == problem.kind());
        StoredProblem {
            kind: kind.map_or("unexpected", |(_, word)| word).into(),
            at: problem.at(),
            open_path: problem
                .open_path()
                .iter()
                .map(|segment| match segment {
                    PathSegment::Key(key) => Value::from(key.as_ref()),
                    PathSegment::Index(index) => Value::from(*index),
                })
                .collect(),
            dropped_at: problem.dropped_at(),
            second_object: problem.second_object(),
        }
    }

    fn restore(self) -> Problem {
        let kind = KINDS.iter().find(|(_, word)| *word == self.kind);
        let kind = kind.map_or(ProblemKind::Fault(FaultKind::Unexpected), |(kind, _)| *kind);
        let open_path = self.open_path.into_iter().filter_map(|segment| {
            let index = segment.as_u64().and_then(|index| index.try_into().ok());
            match segment {
                Value::String(key) => Some(PathSegment::from(key)),
                _ => index.map(PathSegment::Index),
            }
        });
        Problem::new(kind, self.at)
            .within(open_path.collect(), self.dropped_at)
            .with_second_object(self.second_object)
    }
}

impl Arguments {
    /// The stored form: what goes under `arguments`, and what stands beside it.
    pub(crate) fn to_stored(&self) -> (ArgumentsForm<'_>, StoredArguments<'_>) {
        let mut stored = StoredArguments {
            state: Some(self.state),
            repairs: Cow::Borrowed(&self.repairs),
            problem: self.problem.as_deref().map(StoredProblem::new),
            ..StoredArguments::default()
        };
        let Ok(object) = self.object() else {
            stored.recovered = self.recovered().map(ArgumentsForm::of);
            return (ArgumentsForm::Text(Cow::Borrowed(&self.raw)), stored);
        };
        let mut form = ArgumentsForm::of(object);
        // What `arguments` spells need not be said again; a deep object leaves the text as sent to stand for itself.
        let spelled = match &form {
            ArgumentsForm::Object(object) => Cow::Owned(to_text(object)),
            ArgumentsForm::Text(_) => Cow::Borrowed(self.raw.as_str()),
        };
        stored.raw = Some(Cow::Borrowed(self.raw.as_str())).filter(|raw| *raw != spelled);
        if self.state == ArgumentsState::Repaired {
            let repaired = self.text.as_deref().filter(|repaired| *repaired != spelled);
            stored.repaired = repaired.map(Cow::Borrowed);
        }
        if matches!(form, ArgumentsForm::Text(_)) {
            form = ArgumentsForm::Text(spelled);
        }
        (form, stored)
    }

    /// The arguments that were stored so. What is said to be usable is read again and flagged if it is not: a stored word is
    /// no proof.
    pub(crate) fn from_stored(arguments: Option<Value>, stored: StoredArguments<'_>) -> Self {
        let Some(state) = stored.state else {
            return match (arguments, stored.raw) {
                // rig's shape: an object beside the text that was none.
                (arguments, Some(raw)) => {
                    let recovered = arguments.and_then(into_object);
                    let recovered = recovered.filter(|object| !object.is_empty());
                    Self::settle(raw.into_owned(), &strict()).or_flagged(recovered)
                }
                (Some(Value::String(text)), None) => Self::parse(text),
                (Some(value), None) => Self::from_value(value),
                (None, None) => Self::default(),
            };
        };
        let (text, object) = match arguments {
            Some(Value::String(text)) => (Some(text), None),
            value => (None, value.and_then(into_object)),
        };
        let raw = stored.raw.map(Cow::into_owned).or(text);
        match state {
            ArgumentsState::FreeForm => Self::free_form(raw.unwrap_or_default(), false),
            ArgumentsState::Whole => {
                let raw = raw.unwrap_or_else(|| object.as_ref().map_or_else(String::new, to_text));
                Self::settle(
                    raw,
                    &Settling {
                        blank: Blank::Object,
                        ..strict()
                    },
                )
            }
            ArgumentsState::Repaired => {
                let text = stored.repaired.map(Cow::into_owned);
                let text = text.or_else(|| object.as_ref().map(to_text));
                let raw = raw.or_else(|| text.clone()).unwrap_or_default();
                if text.as_deref().is_some_and(json::is_object) {
                    // What was stored is the text that is spelled, where it is not the text as sent.
                    Self::usable(raw, text, state, stored.repairs.into_owned())
                } else {
                    Self::settle(raw, &Settling::default())
                }
            }
            _ => {
                let raw = raw.unwrap_or_default();
                let settled = Self::settle(raw, &strict());
                let recovered = stored
                    .recovered
                    .and_then(ArgumentsForm::into_object)
                    .or(object);
                let problem = match stored.problem {
                    Some(problem) => Some(Box::new(problem.restore())),
                    None => settled.problem.or_else(|| {
                        let kind = match state {
                            ArgumentsState::Truncated => ProblemKind::Truncated,
                            _ => ProblemKind::Lost,
                        };
                        Some(Box::new(Problem::new(kind, settled.raw.len())))
                    }),
                };
                Arguments {
                    raw: settled.raw,
                    text: None,
                    object: recovered.map(OnceLock::from),
                    depth: json::MAX_DEPTH,
                    state,
                    repairs: stored.repairs.into_owned(),
                    problem,
                }
            }
        }
    }

    /// Arguments that were stored before they were complete: a whole object stands, an empty one or a blank text is cut.
    pub(crate) fn from_incomplete(arguments: Option<Value>) -> Self {
        let mut cut = match arguments {
            Some(Value::Object(object)) => return Self::from(object),
            Some(Value::String(text)) => Self::settle(text, &strict()),
            None | Some(Value::Null) => Self::settle(String::new(), &strict()),
            Some(other) => Self::settle(other.to_string(), &strict()),
        };
        if cut.object().is_ok_and(Map::is_empty) {
            cut.flag_truncated();
        }
        cut
    }

    /// Flags what is usable although it was stored as text that was no object.
    fn or_flagged(mut self, recovered: Option<Map<String, Value>>) -> Self {
        if self.is_usable() {
            self = Self::malformed(self.raw, ProblemKind::Lost, 0);
        }
        if recovered.is_some() {
            self.object = recovered.map(OnceLock::from);
        }
        self
    }
}

/// No repair, and blank is cut: what was stored is not mended by being read.
fn strict() -> Settling {
    Settling {
        repair: RepairLevel::None,
        blank: Blank::Cut,
        ..Settling::default()
    }
}

fn into_object(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(object) => Some(object),
        _ => None,
    }
}
