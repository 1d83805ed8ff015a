//! What is wrong with a flagged argument text, and why an accessor refused.

use super::ArgumentsState;
use crate::json::{self, FaultKind, PathSegment};
use std::fmt;

/// What kind of thing is wrong with an argument text.
///
/// # Examples
///
/// ```
/// use callstitch::{Arguments, ProblemKind};
///
/// assert_eq!(Arguments::parse(r#"{"a":"#).problem().unwrap().kind(), ProblemKind::Truncated);
/// assert!(matches!(Arguments::parse("[1]").problem().unwrap().kind(), ProblemKind::Fault(_)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProblemKind {
    /// It was cut: more was grammatical.
    Truncated,
    /// Nothing of it came, and the turn did not end properly.
    Blank,
    /// No continuation could make it an object's text.
    Fault(FaultKind),
    /// A part of it is known to be missing.
    Lost,
    /// It is not known which text belongs to which call.
    Ambiguous,
    /// The provider says that it could not read the call.
    Rejected,
}

/// What is wrong with an argument text, and where. Shows no argument text.
///
/// # Examples
///
/// ```
/// use callstitch::{Arguments, FaultKind, ProblemKind};
///
/// let merged = Arguments::parse(r#"{"a":1}{"b":2}"#);
/// let problem = merged.problem().unwrap();
/// assert_eq!(problem.kind(), ProblemKind::Fault(FaultKind::Trailing));
/// assert_eq!(problem.second_object(), Some(7));
/// assert_eq!(problem.to_string(), "text after the object at byte 7");
/// let cut = Arguments::parse(r#"{"port":"Oban","depth":12"#);
/// let problem = cut.problem().unwrap();
/// assert_eq!((problem.at(), problem.dropped_at()), (25, Some(23)));
/// assert!(problem.open_path().is_empty()); // nothing but the number is unfinished
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Problem {
    kind: ProblemKind,
    at: usize,
    open_path: Vec<PathSegment<'static>>,
    dropped_at: Option<usize>,
    second_object: Option<usize>,
}

impl Problem {
    pub(super) fn new(kind: ProblemKind, at: usize) -> Self {
        Problem {
            kind,
            at,
            open_path: Vec::new(),
            dropped_at: None,
            second_object: None,
        }
    }

    pub(super) fn within(
        mut self,
        open_path: Vec<PathSegment<'static>>,
        dropped_at: Option<usize>,
    ) -> Self {
        self.open_path = open_path;
        self.dropped_at = dropped_at;
        self
    }

    pub(super) fn with_second_object(mut self, at: Option<usize>) -> Self {
        self.second_object = at;
        self
    }

    /// What kind of thing.
    #[must_use]
    pub fn kind(&self) -> ProblemKind {
        self.kind
    }

    /// Byte offset in the text as sent: of the fault, or of the end where the text was cut.
    #[must_use]
    pub fn at(&self) -> usize {
        self.at
    }

    /// The path that was being written there: the fields on it are incomplete, all others are as they were meant.
    #[must_use]
    pub fn open_path(&self) -> &[PathSegment<'static>] {
        &self.open_path
    }

    /// Where in the text as sent what was left out begins.
    #[must_use]
    pub fn dropped_at(&self) -> Option<usize> {
        self.dropped_at
    }

    /// Where a second object begins after the first: two calls merged into one text.
    #[must_use]
    pub fn second_object(&self) -> Option<usize> {
        self.second_object
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            ProblemKind::Truncated => "cut off",
            ProblemKind::Blank => "blank in a turn that did not end",
            ProblemKind::Lost => "a part of the text is missing",
            ProblemKind::Ambiguous => "the text may belong to another call",
            ProblemKind::Rejected => "the provider could not read the call",
            ProblemKind::Fault(fault) => match fault {
                FaultKind::ControlCharacter => "raw control character in a string",
                FaultKind::BadEscape => "not an escape",
                FaultKind::LoneSurrogate => "half of a surrogate pair",
                FaultKind::BadNumber => "not a number",
                FaultKind::NumberOutOfRange => "number out of range",
                FaultKind::TooDeep => "nested too deeply",
                FaultKind::Trailing => "text after the object",
                FaultKind::NotAnObject => "not an object",
                FaultKind::Unexpected => "unexpected character",
            },
        };
        write!(f, "{what} at byte {}", self.at)
    }
}

impl fmt::Debug for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Keys are argument text too.
        f.debug_struct("Problem")
            .field("kind", &self.kind)
            .field("at", &self.at)
            .field("open_depth", &self.open_path.len())
            .field("dropped_at", &self.dropped_at)
            .field("second_object", &self.second_object)
            .finish()
    }
}

/// Where a second object begins in the text after the first.
pub(super) fn second_object(raw: &str, kind: ProblemKind, at: usize) -> Option<usize> {
    if kind != ProblemKind::Fault(FaultKind::Trailing) {
        return None;
    }
    let rest = raw.get(at..)?;
    let skipped = rest
        .bytes()
        .take_while(|byte| json::is_space(*byte) || matches!(byte, b',' | b';'))
        .count();
    rest.get(skipped..)?
        .starts_with('{')
        .then_some(at + skipped)
}

/// Why the arguments were refused.
///
/// # Examples
///
/// ```
/// use callstitch::{Arguments, ArgumentsErrorKind};
///
/// let whole = Arguments::parse(r#"{"port":7}"#);
/// let error = whole.deserialize::<std::collections::HashMap<String, String>>().unwrap_err();
/// assert_eq!(error.kind(), ArgumentsErrorKind::Mismatch);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ArgumentsErrorKind {
    /// They are flagged.
    Flagged,
    /// They are free-form text, not an object.
    FreeForm,
    /// They are an object, which does not fit the type asked for.
    Mismatch,
}

/// Why [`Arguments`](super::Arguments) gave no object, or not as the type asked for. One line, which shows no argument text.
///
/// # Examples
///
/// ```
/// use callstitch::{Arguments, ArgumentsErrorKind};
///
/// let error = Arguments::parse(r#"{"secret":"x"#).object().unwrap_err();
/// assert_eq!(error.to_string(), "arguments are truncated: cut off at byte 12");
/// assert_eq!(error.kind(), ArgumentsErrorKind::Flagged);
/// assert_eq!(error.problem().unwrap().at(), 12);
/// assert_eq!(error.detail(), None); // the type was not to blame
/// ```
#[derive(Clone, PartialEq)]
pub struct ArgumentsError(Box<Refusal>);

#[derive(Clone, PartialEq)]
struct Refusal {
    kind: ArgumentsErrorKind,
    state: ArgumentsState,
    problem: Option<Problem>,
    detail: Option<String>,
}

impl ArgumentsError {
    pub(super) fn refused(state: ArgumentsState, problem: Option<&Problem>) -> Self {
        let kind = match state {
            ArgumentsState::FreeForm => ArgumentsErrorKind::FreeForm,
            _ => ArgumentsErrorKind::Flagged,
        };
        ArgumentsError(Box::new(Refusal {
            kind,
            state,
            problem: problem.cloned(),
            detail: None,
        }))
    }

    pub(crate) fn mismatch(error: serde_json::Error) -> Self {
        let (kind, state) = (ArgumentsErrorKind::Mismatch, ArgumentsState::Whole);
        ArgumentsError(Box::new(Refusal {
            kind,
            state,
            problem: None,
            detail: Some(error.to_string()),
        }))
    }

    /// Why.
    #[must_use]
    pub fn kind(&self) -> ArgumentsErrorKind {
        self.0.kind
    }

    /// What is wrong with the text, where it is flagged.
    #[must_use]
    pub fn problem(&self) -> Option<&Problem> {
        self.0.problem.as_ref()
    }

    /// The deserialiser's own words where the type did not fit. They may quote argument values: for the model, not for logs.
    #[must_use]
    pub fn detail(&self) -> Option<&str> {
        self.0.detail.as_deref()
    }
}

impl fmt::Display for ArgumentsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.kind, &self.0.problem) {
            (ArgumentsErrorKind::Mismatch, _) => {
                f.write_str("arguments do not fit the type asked for")
            }
            (ArgumentsErrorKind::FreeForm, _) => {
                f.write_str("arguments are free-form text, not an object")
            }
            (ArgumentsErrorKind::Flagged, Some(problem)) => {
                write!(f, "arguments are {}: {problem}", self.0.state)
            }
            (ArgumentsErrorKind::Flagged, None) => write!(f, "arguments are {}", self.0.state),
        }
    }
}

impl fmt::Debug for ArgumentsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArgumentsError")
            .field("kind", &self.0.kind)
            .field("problem", &self.0.problem)
            .finish()
    }
}

impl std::error::Error for ArgumentsError {}
