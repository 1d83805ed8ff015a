//! The arguments of a call: the text as sent, and what it means.
//!
//! This room knows what a whole, a partial and a flagged argument text is. It does not know how the text was obtained,
//! and leaves the JSON grammar to the `json` room.

mod form;
mod partial;
mod problem;
mod settling;
mod stored;

pub use crate::json::{
    FaultKind, Fidelity, FieldEvent, FieldKind, FieldPath, FieldValue, PathSegment, Repair,
    RepairKind, RepairLevel,
};
pub(crate) use form::{ArgumentsForm, StoredArguments, StoredProblem};
pub use partial::{ArgumentsBuffer, PartialArguments, PartialState};
pub use problem::{ArgumentsError, ArgumentsErrorKind, Problem, ProblemKind};
pub use settling::{ArgumentsState, Blank, Settling};

use crate::json::{self, End};
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
    /// `None` where nothing is stated. Read when somebody asks: values take up to some forty times their text, and a call that
    /// is handed on, read into a type of one's own, or refused needs none.
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

    /// Settles a text: whole at once if serde_json reads an object; else strict recovery, and the repair ladder on
    /// malformed text only. Never errors; O(n), no recursion.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Arguments, Blank, Settling};
    ///
    /// let cut = Settling { blank: Blank::Cut, ..Settling::default() };
    /// assert!(!Arguments::settle(" ".into(), &cut).is_usable());
    /// ```
    #[must_use]
    pub fn settle(text: String, settling: &Settling) -> Self {
        let depth = settling.max_depth.min(json::MAX_DEPTH);
        if depth == json::MAX_DEPTH && json::is_object(&text) {
            return Self::usable(text, None, ArgumentsState::Whole, Vec::new());
        }
        if is_blank(&text) {
            return Self::blank(text, settling.blank);
        }
        let ended = json::recover(&text, depth);
        if ended.wrapped
            && serde_json::from_str(&text).is_ok_and(|inner: Cow<'_, str>| is_blank(&inner))
        {
            return Self::blank(text, settling.blank);
        }
        let guess_key = settling.repair == RepairLevel::Guess && ended.in_key;
        match ended.end {
            End::Whole if ended.wrapped => {
                let at = text.find('"').unwrap_or(0);
                let repairs = vec![Repair::new(RepairKind::Unwrapped, at)];
                let inner = serde_json::from_str::<String>(&text).ok();
                Self::usable(text, inner, ArgumentsState::Repaired, repairs)
            }
            End::Whole => Self::usable(text, None, ArgumentsState::Whole, Vec::new()),
            End::Fault(FaultKind::TooDeep, _) => {
                Self::flagged(text, None, ended, Vec::new(), depth)
            }
            End::Cut if !guess_key => Self::flagged(text, None, ended, Vec::new(), depth),
            _ => Self::repaired(&text, settling, depth, ended.end == End::Cut)
                .unwrap_or_else(|| Self::flagged(text, None, ended, Vec::new(), depth)),
        }
    }

    /// The repair ladder's reading of a malformed text, if it has one.
    fn repaired(text: &str, settling: &Settling, depth: usize, cut_key: bool) -> Option<Self> {
        let ended_by_itself = settling.blank == Blank::Object;
        let mended = json::repair(text, settling.repair, ended_by_itself, cut_key)?;
        let ended = json::recover(&mended.text, depth);
        let raw = text.to_owned();
        match ended.end {
            End::Whole if !mended.cut => {
                let state = ArgumentsState::Repaired;
                Some(Self::usable(raw, Some(mended.text), state, mended.repairs))
            }
            // What was mended is still cut, and says so. Its offsets are those of the mended text, and are not kept.
            End::Whole | End::Cut => {
                let ended = json::Ended {
                    end: End::Cut,
                    dropped_at: None,
                    ..ended
                };
                Some(Self::flagged(
                    raw,
                    Some(mended.text),
                    ended,
                    mended.repairs,
                    depth,
                ))
            }
            End::Fault(FaultKind::TooDeep, at) => {
                let end = End::Fault(FaultKind::TooDeep, at.min(raw.len()));
                Some(Self::flagged(
                    raw,
                    Some(mended.text),
                    json::Ended {
                        end,
                        dropped_at: None,
                        ..ended
                    },
                    mended.repairs,
                    depth,
                ))
            }
            End::Fault(..) => None,
        }
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
            depth: json::MAX_DEPTH,
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
                let mut whole = Self::usable(raw, None, ArgumentsState::Whole, Vec::new());
                whole.object = Some(OnceLock::from(object));
                whole
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

    /// The reading chosen by a room that saw the fragments and not only their sum: `raw` as sent, `chosen` one object's
    /// text, `repairs` what was done to choose it. Repaired if `chosen` is usable, else flagged for what is wrong with it.
    #[must_use]
    pub(crate) fn restated(
        raw: String,
        chosen: &str,
        repairs: Vec<Repair>,
        settling: &Settling,
    ) -> Self {
        let mut settled = Self::settle(chosen.to_owned(), settling);
        if settled.is_usable() {
            settled.state = ArgumentsState::Repaired;
        }
        let chosen = std::mem::replace(&mut settled.raw, raw);
        settled.text.get_or_insert(chosen);
        settled.repairs.splice(0..0, repairs);
        settled
    }

    /// Arguments of which a higher room knows that they cannot be believed from the byte `at` on. What the text states
    /// before that is recovered, whatever the rest says.
    pub(crate) fn damaged(raw: String, at: usize, why: ProblemKind) -> Self {
        let before = raw.get(..at).unwrap_or(&raw).to_owned();
        let mut damaged = Self::settle(
            before,
            &Settling {
                repair: RepairLevel::None,
                blank: Blank::Cut,
                ..Settling::default()
            },
        );
        let before = std::mem::replace(&mut damaged.raw, raw);
        damaged.text.get_or_insert(before);
        damaged.state = ArgumentsState::Malformed;
        damaged.problem = Some(Box::new(Problem::new(why, at)));
        damaged
    }

    /// Gives up what a text states that holds two objects: in one call, to choose either is to lose the other silently.
    pub(crate) fn refuse_to_choose(&mut self) {
        if self
            .problem()
            .is_some_and(|problem| problem.second_object().is_some())
        {
            self.object = None;
        }
    }

    /// Flags arguments as cut although their text is whole: nothing vouches for an empty object at a bare end of the body.
    pub(crate) fn flag_truncated(&mut self) {
        self.state = ArgumentsState::Truncated;
        self.problem = Some(Box::new(Problem::new(
            ProblemKind::Truncated,
            self.raw.len(),
        )));
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

    fn blank(raw: String, blank: Blank) -> Self {
        match blank {
            Blank::Object => Self::usable(
                raw,
                Some("{}".to_owned()),
                ArgumentsState::Whole,
                Vec::new(),
            ),
            Blank::Cut => {
                let problem = Some(Box::new(Problem::new(ProblemKind::Blank, raw.len())));
                let state = ArgumentsState::Truncated;
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
        }
    }

    fn flagged(
        raw: String,
        text: Option<String>,
        ended: json::Ended,
        repairs: Vec<Repair>,
        depth: usize,
    ) -> Self {
        let (state, kind, at) = match ended.end {
            End::Fault(FaultKind::TooDeep, at) => (
                ArgumentsState::TooDeep,
                ProblemKind::Fault(FaultKind::TooDeep),
                at,
            ),
            End::Fault(kind, at) => (ArgumentsState::Malformed, ProblemKind::Fault(kind), at),
            End::Cut | End::Whole => (ArgumentsState::Truncated, ProblemKind::Truncated, raw.len()),
        };
        let second = problem::second_object(&raw, kind, at);
        let problem = Problem::new(kind, at)
            .within(ended.open_path, ended.dropped_at)
            .with_second_object(second);
        Arguments {
            raw,
            text,
            object: Some(OnceLock::new()),
            depth,
            state,
            repairs,
            problem: Some(Box::new(problem)),
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
        let text = self.text().ok_or_else(|| self.refused())?;
        // The text first: it still has every digit. The object where the text repeats a key, which serde refuses.
        serde_json::from_str(text)
            .or_else(|error| self.recovered().map_or(Err(error), T::deserialize))
            .map_err(ArgumentsError::mismatch)
    }

    /// What the text states, whole or not: for a flagged text what is left of it, `None` when that is nothing known.
    /// For display and for a person to look at; never to be run unless [`is_usable`](Self::is_usable). Costs what
    /// [`object`](Self::object) does.
    #[must_use]
    pub fn recovered(&self) -> Option<&Map<String, Value>> {
        let object = self.object.as_ref()?;
        Some(object.get_or_init(|| {
            let text = self.text.as_deref().unwrap_or(&self.raw);
            let whole = self.is_usable().then(|| json::object(text)).flatten();
            whole.unwrap_or_else(|| json::recover(text, self.depth).object)
        }))
    }

    /// The object, or `{}` where there is none to be had: a total function, for what must show something.
    #[must_use]
    pub fn map(&self) -> Cow<'_, Map<String, Value>> {
        Cow::Borrowed(self.recovered().unwrap_or_else(|| json::empty()))
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

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing
    )]
    use super::*;

    #[test]
    fn a_chosen_reading_is_repaired_and_keeps_the_text_as_sent() {
        let (raw, chosen) = ("{\"a\"{\"a\":1.0}", "{\"a\":1.0}");
        let repairs = vec![Repair::new(RepairKind::Restated, 4)];
        let settled = Arguments::restated(
            raw.to_owned(),
            chosen,
            repairs.clone(),
            &Settling::default(),
        );
        assert_eq!(
            (settled.state(), settled.raw()),
            (ArgumentsState::Repaired, raw)
        );
        assert_eq!(
            (settled.to_json().as_str(), settled.repairs()),
            (chosen, &repairs[..])
        );
        let cut = Arguments::restated(raw.to_owned(), "{\"a\":", repairs, &Settling::default());
        assert_eq!((cut.state(), cut.raw()), (ArgumentsState::Truncated, raw));
    }

    #[test]
    fn arguments_with_a_part_missing_state_what_came_before_it() {
        let damaged = Arguments::damaged("{\"a\":\"1\"}".to_owned(), 7, ProblemKind::Lost);
        assert_eq!(
            (damaged.state(), damaged.raw()),
            (ArgumentsState::Malformed, "{\"a\":\"1\"}")
        );
        assert_eq!(damaged.to_json(), "{\"a\":\"1\"}");
        let error = damaged.object().unwrap_err();
        assert_eq!(
            error.to_string(),
            "arguments are malformed: a part of the text is missing at byte 7"
        );
    }

    #[test]
    fn what_the_object_does_not_show_is_told() {
        let big = Arguments::parse(
            r#"{"a":18446744073709551616,"b":1e30,"c":-0,"d":18446744073709551615}"#,
        );
        assert_eq!(
            big.fidelity(),
            Fidelity {
                repeated_key: false,
                inexact_integer: true
            }
        );
        assert_eq!(
            Arguments::parse(r#"{"b":1e30,"c":-0}"#).fidelity(),
            Fidelity::default()
        );
    }

    #[test]
    fn views_of_plain_text_state_nothing() {
        let view = PartialArguments::of_text("*** Begin Patch");
        assert!(view.object().is_empty() && view.get(["a"]).is_none() && !view.is_complete(["a"]));
        let mut reader = crate::json::PartialReader::new(json::MAX_DEPTH);
        reader.advance("{\"a\":\"x");
        assert_eq!(
            PartialArguments::new("{\"a\":\"x", &reader)
                .get(["a"])
                .unwrap(),
            "x"
        );
    }
}
