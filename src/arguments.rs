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
pub use settling::{ArgumentsState, Blank, Settling};

use crate::json;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt;

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
#[derive(Clone, PartialEq)]
pub struct Arguments {
    raw: String,
    /// The object's text where it is not `raw`.
    text: Option<String>,
    /// `None` where nothing is stated.
    object: Option<Map<String, Value>>,
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

    /// A custom tool's plain text: no JSON, no repair. `cut` where the turn ended before the text did.
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
        Arguments {
            raw: text,
            text: None,
            object: None,
            state,
            repairs: Vec::new(),
            problem,
        }
    }

    /// The arguments that a value holds: an object as it is, a string holding an object unwrapped once, `null` or blank
    /// as `{}`, anything else flagged.
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
                Self::usable(raw, None, object, ArgumentsState::Whole, Vec::new())
            }
            Value::Null => Self::default(),
            Value::String(text) if json::trim(&text).starts_with('"') && !is_blank(&text) => {
                let mut twice = Self::parse(text);
                twice.flag(ProblemKind::Fault(FaultKind::NotAnObject), 0);
                twice
            }
            Value::String(text) => Self::parse(text),
            other => Self::parse(other.to_string()),
        }
    }

    fn flag(&mut self, why: ProblemKind, at: usize) {
        self.state = ArgumentsState::Malformed;
        self.object = None;
        self.text = None;
        self.repairs.clear();
        self.problem = Some(Box::new(Problem::new(why, at)));
    }

    /// Tries the caller's own repair on flagged arguments: `f` gets the text as sent and gives a text to read instead.
    /// Usable arguments are returned as they are, and so are flagged ones where `f` gives nothing or no whole object.
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
        match serde_json::from_str::<Map<String, Value>>(&text) {
            Ok(object) => {
                let repairs = vec![Repair::new(RepairKind::Hook, 0)];
                Self::usable(
                    self.raw,
                    Some(text),
                    object,
                    ArgumentsState::Repaired,
                    repairs,
                )
            }
            Err(_) => self,
        }
    }

    fn usable(
        raw: String,
        text: Option<String>,
        object: Map<String, Value>,
        state: ArgumentsState,
        repairs: Vec<Repair>,
    ) -> Self {
        Arguments {
            raw,
            text,
            object: Some(object),
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
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.state.is_usable()
    }

    /// The text as sent, byte for byte.
    #[must_use]
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// The arguments as an object. Free.
    ///
    /// # Errors
    ///
    /// Unless the text is whole or repaired.
    pub fn object(&self) -> Result<&Map<String, Value>, ArgumentsError> {
        match (self.state, &self.object) {
            (ArgumentsState::Whole | ArgumentsState::Repaired, Some(object)) => Ok(object),
            _ => Err(ArgumentsError::refused(self.state, self.problem.as_deref())),
        }
    }

    /// The arguments as your own type, which may borrow from them.
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
        let object = self.object()?;
        // The text first: it still has every digit. The object where the text repeats a key, which serde refuses.
        let text = self.text().unwrap_or_default();
        serde_json::from_str(text)
            .or_else(|_| T::deserialize(object))
            .map_err(ArgumentsError::mismatch)
    }

    /// What the text states, whole or not: for a flagged text what is left of it, `None` when that is nothing known.
    /// For display and for a person to look at; never to be run unless [`is_usable`](Self::is_usable).
    #[must_use]
    pub fn recovered(&self) -> Option<&Map<String, Value>> {
        self.object.as_ref()
    }

    /// The object, or `{}` where there is none to be had: a total function, for what must show something.
    #[must_use]
    pub fn map(&self) -> Cow<'_, Map<String, Value>> {
        Cow::Borrowed(self.object.as_ref().unwrap_or_else(|| json::empty()))
    }

    /// Always an object's text, for the wires that demand one: the text as sent where it is one, else the repaired or
    /// the recovered object's, `{}` when nothing.
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
        match (self.state, &self.text, &self.object) {
            (ArgumentsState::Whole | ArgumentsState::Repaired, Some(text), _) => text.clone(),
            (ArgumentsState::Whole, None, _) => self.raw.clone(),
            (_, _, Some(object)) => to_text(object),
            _ => "{}".to_owned(),
        }
    }

    /// The text of the object, as it is spelled; `None` unless the arguments are whole or repaired.
    pub(crate) fn text(&self) -> Option<&str> {
        self.object().ok()?;
        Some(self.text.as_deref().unwrap_or(&self.raw))
    }

    /// What was done to the text, in the order of the text. At most [`Repair::LISTED`] are listed.
    #[must_use]
    pub fn repairs(&self) -> &[Repair] {
        &self.repairs
    }

    /// The highest level among the repairs; [`RepairLevel::None`] where there were none.
    #[must_use]
    pub fn repair_level(&self) -> RepairLevel {
        let levels = self.repairs.iter().map(Repair::level);
        levels.max().unwrap_or(RepairLevel::None)
    }

    /// What is wrong, where the arguments are flagged.
    #[must_use]
    pub fn problem(&self) -> Option<&Problem> {
        self.problem.as_deref()
    }

    /// The text from where the recovered object leaves it: a cut number, key or escape, or all from the fault on.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::Arguments;
    ///
    /// assert_eq!(Arguments::parse(r#"{"a":12"#).dropped(), Some("12"));
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

    /// A view whose `Debug` shows the argument text. Logs are not where a user's data should turn up: ask for it.
    #[must_use]
    pub fn reveal(&self) -> impl fmt::Debug + '_ {
        stored::Revealed(self)
    }
}

impl Default for Arguments {
    /// `{}`, whole.
    fn default() -> Self {
        Self::usable(
            "{}".to_owned(),
            None,
            Map::new(),
            ArgumentsState::Whole,
            Vec::new(),
        )
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
