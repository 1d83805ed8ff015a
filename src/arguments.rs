//! The arguments of a call: the text as sent, and what it means.
//!
//! This room knows what a whole, a partial and a flagged argument text is. It does not know how the text was obtained,
//! and leaves the JSON grammar to the `json` room.

mod form;
mod partial;
mod problem;
mod settling;
mod stored;
#[cfg(test)]
mod tests;

pub use crate::json::{
    FaultKind, Fidelity, FieldEvent, FieldKind, FieldPath, FieldValue, PathSegment, Repair,
    RepairKind, RepairLevel,
};
pub(crate) use form::{ArgumentsForm, StoredArguments, StoredProblem};
pub use partial::{ArgumentsBuffer, PartialArguments, PartialState};
pub use problem::{ArgumentsError, ArgumentsErrorKind, Problem, ProblemKind};
pub(crate) use settling::Known;
pub use settling::{ArgumentsState, Blank, Settling};

use crate::json::{self, Given};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

/// The arguments of a finished call: the text as sent, and what it means.
///
/// [`object`](Self::object) and [`deserialize`](Self::deserialize) refuse unless the text is whole or repaired; only
/// [`recovered`](Self::recovered), named for it, hands out what a flagged text still states. `Debug` shows no argument
/// text; [`reveal`](Self::reveal) does.
///
/// # Examples
///
/// ```
/// use callstitch::{Arguments, ArgumentsState};
///
/// let whole = Arguments::parse(r#"{"port":"Oban"}"#);
/// assert_eq!(whole.object()?["port"], "Oban");
///
/// let cut = Arguments::parse(r#"{"port":"Ob"#);
/// assert_eq!(cut.state(), ArgumentsState::Truncated);
/// assert!(cut.object().is_err());
/// assert_eq!(cut.recovered().unwrap()["port"], "Ob");
/// assert_eq!(cut.raw(), r#"{"port":"Ob"#);
/// # Ok::<(), callstitch::ArgumentsError>(())
/// ```
#[derive(Clone)]
pub struct Arguments {
    raw: String,
    /// The text that the object is read from, where it is not `raw`.
    text: Option<String>,
    /// `None` where none is due, or none is known. Read when somebody asks: values take up to some fifty times their text, and a
    /// call that is handed on, read into a type of one's own, or refused needs none.
    object: Option<OnceLock<Map<String, Value>>>,
    /// The most containers one inside the other that the object was settled with.
    depth: usize,
    state: ArgumentsState,
    repairs: Vec<Repair>,
    problem: Option<Box<Problem>>,
}

impl Arguments {
    /// Settles a text with the default [`Settling`]. Never errors; O(n).
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::Arguments;
    ///
    /// assert_eq!(Arguments::parse("").to_json(), "{}");
    /// assert_eq!(Arguments::parse("\"{\\\"q\\\":1}\"").object()?["q"], 1); // one layer of string encoding
    /// # Ok::<(), callstitch::ArgumentsError>(())
    /// ```
    #[must_use]
    pub fn parse(text: impl Into<String>) -> Self {
        Self::settle(text.into(), &Settling::default())
    }

    /// A custom tool's plain text: no JSON, no repair. `cut` where the turn ended before the text did. Never errors; O(1), for
    /// the text is kept as it is.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Arguments, ArgumentsState};
    ///
    /// let patch = Arguments::free_form("*** Begin Patch".into(), false);
    /// assert_eq!((patch.state(), patch.raw()), (ArgumentsState::FreeForm, "*** Begin Patch"));
    /// ```
    #[must_use]
    pub fn free_form(text: String, cut: bool) -> Self {
        let state = if cut {
            ArgumentsState::Truncated
        } else {
            ArgumentsState::FreeForm
        };
        let problem = cut.then(|| Box::new(Problem::new(ProblemKind::Truncated, text.len())));
        Self::without_object(text, state, problem)
    }

    /// Arguments of which no object is due, or none is known.
    fn without_object(raw: String, state: ArgumentsState, problem: Option<Box<Problem>>) -> Self {
        Arguments {
            raw,
            text: None,
            object: None,
            depth: json::MAX_DEPTH,
            state,
            repairs: Vec::new(),
            problem,
        }
    }

    /// The arguments that a value holds: an object as it is, a string holding an object unwrapped once, `null` or blank
    /// as `{}`, anything else flagged. Never errors; O(n).
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::Arguments;
    /// use serde_json::json;
    ///
    /// assert_eq!(Arguments::from_value(json!({"q": 1})).to_json(), r#"{"q":1}"#);
    /// assert_eq!(Arguments::from_value(json!("{\"q\":1}")).to_json(), r#"{"q":1}"#);
    /// assert!(!Arguments::from_value(json!([1])).is_usable());
    /// ```
    #[must_use]
    pub fn from_value(value: Value) -> Self {
        match value {
            Value::Object(object) => {
                let raw = to_text(&object);
                let mut whole = Self::usable(raw, None, ArgumentsState::Whole, Vec::new());
                whole.object = Some(OnceLock::from(object));
                whole
            }
            Value::Null => Self::default(),
            Value::String(text) => {
                let known = Known {
                    unwrapped: true,
                    ..Known::default()
                };
                Self::settle_known(text, &known, &Settling::default())
            }
            other => Self::parse(other.to_string()),
        }
    }

    /// Arguments whose text states nothing, although it says something.
    fn malformed(raw: String, why: ProblemKind, at: usize) -> Self {
        let problem = Some(Box::new(Problem::new(why, at)));
        let mut flagged = Self::without_object(raw, ArgumentsState::Malformed, problem);
        flagged.object = Some(OnceLock::from(Map::new()));
        flagged
    }

    /// Tries the caller's own repair on flagged arguments: `f` gets the text as sent and gives a text to read instead.
    /// Usable arguments are returned as they are, and so are flagged ones where `f` gives nothing or no whole object. Never
    /// errors; O(n) in what `f` gives.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Arguments, ArgumentsState};
    ///
    /// let mended = Arguments::parse("port=Oban").repair_with(|_| Some(r#"{"port":"Oban"}"#.to_owned()));
    /// assert_eq!(mended.state(), ArgumentsState::Repaired);
    /// ```
    #[must_use]
    pub fn repair_with(self, f: impl FnOnce(&str) -> Option<String>) -> Self {
        if self.is_usable() {
            return self;
        }
        let Some(text) = f(&self.raw) else {
            return self;
        };
        if !json::is_object(&text) {
            return self;
        }
        let repairs = vec![Repair::new(RepairKind::Hook, 0)];
        Self::usable(self.raw, Some(text), ArgumentsState::Repaired, repairs)
    }

    /// Arguments whose text, or the one beside it, is an object's.
    fn usable(
        raw: String,
        text: Option<String>,
        state: ArgumentsState,
        repairs: Vec<Repair>,
    ) -> Self {
        Arguments {
            raw,
            text,
            object: Some(OnceLock::new()),
            depth: json::MAX_DEPTH,
            state,
            repairs,
            problem: None,
        }
    }

    /// What the text turned out to be.
    #[must_use]
    pub fn state(&self) -> ArgumentsState {
        self.state
    }

    /// Whether they may be handed to a tool: whole, repaired, or free-form.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::Arguments;
    ///
    /// assert!(Arguments::parse(r#"{"port":"Oban"}"#).is_usable());
    /// assert!(!Arguments::parse(r#"{"port":"Ob"#).is_usable());
    /// ```
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.state.is_usable()
    }

    /// The text as sent, byte for byte.
    #[must_use]
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// The text as sent, to keep. Cost: O(1), nothing is copied.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::Arguments;
    ///
    /// let text: String = Arguments::parse(r#"{"port":"Oban"}"#).into_raw();
    /// assert_eq!(text, r#"{"port":"Oban"}"#);
    /// ```
    #[must_use]
    pub fn into_raw(self) -> String {
        self.raw
    }

    /// The arguments as an object. The first look reads the text, O(n), and keeps what it found; later ones are free.
    ///
    /// # Errors
    ///
    /// Unless the text is whole or repaired.
    pub fn object(&self) -> Result<&Map<String, Value>, ArgumentsError> {
        self.text()
            .and_then(|_| self.recovered())
            .ok_or_else(|| self.refused())
    }

    fn refused(&self) -> ArgumentsError {
        ArgumentsError::refused(self.state, self.problem.as_deref())
    }

    /// The arguments as your own type, which may borrow from them. Reads the text each time, O(n).
    ///
    /// # Errors
    ///
    /// Unless the text is whole or repaired, and where it does not fit the type.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::Arguments;
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Tide { port: String }
    ///
    /// let tide: Tide = Arguments::parse(r#"{"port":"Oban"}"#).deserialize()?;
    /// assert_eq!(tide.port, "Oban");
    /// # Ok::<(), callstitch::ArgumentsError>(())
    /// ```
    pub fn deserialize<'a, T: Deserialize<'a>>(&'a self) -> Result<T, ArgumentsError> {
        let text = self.text().ok_or_else(|| self.refused())?;
        // The text first: it still has every digit. The object where the text repeats a key, which serde refuses.
        serde_json::from_str(text)
            .or_else(|error| {
                let object = self.recovered().map(Given);
                object.map_or(Err(error), T::deserialize)
            })
            .map_err(ArgumentsError::mismatch)
    }

    /// What the text states, whole or not: for a flagged text what it still states, `{}` where that is nothing. `None` for free
    /// text, for a cut call of which no text came, and for a call whose text holds two objects, neither of which is chosen.
    /// For display and for a person to look at; never to be run unless [`is_usable`](Self::is_usable). Costs what
    /// [`object`](Self::object) does.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::Arguments;
    ///
    /// assert_eq!(Arguments::parse(r#"{"port":"Oban","da"#).recovered().unwrap().len(), 1);
    /// assert!(Arguments::parse("hello").recovered().unwrap().is_empty());
    /// assert!(Arguments::free_form("hello".to_owned(), false).recovered().is_none());
    /// ```
    #[must_use]
    pub fn recovered(&self) -> Option<&Map<String, Value>> {
        let object = self.object.as_ref()?;
        Some(object.get_or_init(|| self.read()))
    }

    fn read(&self) -> Map<String, Value> {
        let text = self.text.as_deref().unwrap_or(&self.raw);
        let whole = self.is_usable().then(|| json::object(text)).flatten();
        whole.unwrap_or_else(|| json::recover(text, self.depth).object)
    }

    /// The object, or `{}` where there is none to be had: a total function, for what must show something. Costs what
    /// [`object`](Self::object) does; nothing is copied.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::Arguments;
    ///
    /// assert_eq!(Arguments::parse(r#"{"port":"Ob"#).map()["port"], "Ob");
    /// assert!(Arguments::parse("hello").map().is_empty());
    /// ```
    #[must_use]
    pub fn map(&self) -> Cow<'_, Map<String, Value>> {
        Cow::Borrowed(self.recovered().unwrap_or_else(|| json::empty()))
    }

    /// Always an object's text, for the wires that demand one: the text as sent where it is one, else the repaired or
    /// the recovered object's, `{}` when nothing. A copy, O(n).
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::Arguments;
    ///
    /// assert_eq!(Arguments::parse(r#"{"n":1.50}"#).to_json(), r#"{"n":1.50}"#); // as spelled
    /// assert_eq!(Arguments::parse(r#"{"a":"x","n":1"#).to_json(), r#"{"a":"x"}"#);
    /// assert_eq!(Arguments::parse("hello").to_json(), "{}");
    /// ```
    #[must_use]
    pub fn to_json(&self) -> String {
        match self.text() {
            Some(text) => text.to_owned(),
            None => self.recovered().map_or_else(|| "{}".to_owned(), to_text),
        }
    }

    /// The text of the object, as it is spelled; `None` unless the arguments are whole or repaired.
    pub(crate) fn text(&self) -> Option<&str> {
        let object = matches!(self.state, ArgumentsState::Whole | ArgumentsState::Repaired);
        object.then(|| self.text.as_deref().unwrap_or(&self.raw))
    }

    /// What was done to the text, in the order of the text. At most [`Repair::LISTED`] are listed.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Arguments, RepairKind};
    ///
    /// let arguments = Arguments::parse(r#"{"port":"Oban",}"#);
    /// assert_eq!(arguments.repairs()[0].kind, RepairKind::TrailingComma);
    /// ```
    #[must_use]
    pub fn repairs(&self) -> &[Repair] {
        &self.repairs
    }

    /// The highest level among the repairs; [`RepairLevel::None`] where there were none.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Arguments, RepairLevel};
    ///
    /// assert_eq!(Arguments::parse("{}").repair_level(), RepairLevel::None);
    /// assert_eq!(Arguments::parse(r#"{"port":"Oban",}"#).repair_level(), RepairLevel::Lossless);
    /// ```
    #[must_use]
    pub fn repair_level(&self) -> RepairLevel {
        let levels = self.repairs.iter().map(Repair::level);
        levels.max().unwrap_or(RepairLevel::None)
    }

    /// What is wrong, where the arguments are flagged.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Arguments, ProblemKind};
    ///
    /// let cut = Arguments::parse(r#"{"port":"Ob"#);
    /// let problem = cut.problem().unwrap();
    /// assert_eq!((problem.kind(), problem.at()), (ProblemKind::Truncated, 11));
    /// ```
    #[must_use]
    pub fn problem(&self) -> Option<&Problem> {
        self.problem.as_deref()
    }

    /// The text from where the recovered object leaves it: a cut number, key or escape, or all from the fault on. `None` where
    /// nothing is left out, and where the text was mended first and is cut all the same: then its place is not known.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::Arguments;
    ///
    /// assert_eq!(Arguments::parse(r#"{"a":12"#).dropped(), Some("12"));
    /// assert_eq!(Arguments::parse("{'a':12").dropped(), None);
    /// ```
    #[must_use]
    pub fn dropped(&self) -> Option<&str> {
        self.raw.get(self.problem.as_ref()?.dropped_at()?..)
    }

    /// What the object does not show of the text: a key given twice, an integer too long for 64 bits. Reads the text
    /// again, O(n).
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::Arguments;
    ///
    /// let twice = Arguments::parse(r#"{"a":1,"a":2}"#);
    /// assert_eq!(twice.object()?["a"], 2);
    /// assert!(twice.fidelity().repeated_key);
    /// # Ok::<(), callstitch::ArgumentsError>(())
    /// ```
    #[must_use]
    pub fn fidelity(&self) -> Fidelity {
        json::recover(self.text.as_deref().unwrap_or(&self.raw), json::MAX_DEPTH).fidelity
    }

    /// A view whose `Debug` shows the argument text. Logs are not where a user's data should turn up: ask for it. Free until it
    /// is printed.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::Arguments;
    ///
    /// let arguments = Arguments::parse(r#"{"port":"Oban"}"#);
    /// assert!(!format!("{arguments:?}").contains("Oban"));
    /// assert!(format!("{:?}", arguments.reveal()).contains("Oban"));
    /// ```
    #[must_use]
    pub fn reveal(&self) -> impl fmt::Debug + '_ {
        stored::Revealed(self)
    }
}

/// The same text, read in the same way: what was looked at makes no difference.
impl PartialEq for Arguments {
    fn eq(&self, other: &Self) -> bool {
        let alike = self.state == other.state
            && self.raw == other.raw
            && self.repairs == other.repairs
            && self.problem == other.problem;
        // Of usable arguments the text says all; what a flagged text states may have been stored apart from it.
        alike
            && match (self.text(), other.text()) {
                (Some(one), Some(two)) => one == two,
                _ => self.recovered() == other.recovered(),
            }
    }
}

impl Default for Arguments {
    /// `{}`, whole.
    fn default() -> Self {
        Self::usable("{}".to_owned(), None, ArgumentsState::Whole, Vec::new())
    }
}

/// Nothing, white space, or `null`.
fn is_blank(text: &str) -> bool {
    matches!(json::trim(text), "" | "null")
}

fn to_text(object: &Map<String, Value>) -> String {
    // A map of values always has a text; serialising into memory cannot fail.
    serde_json::to_string(object).unwrap_or_else(|_| "{}".to_owned())
}
