//! What a text can turn out to be, what decides it, and the verdicts of rooms that saw more than the text.

use super::problem::second_object;
use super::{Arguments, Problem, ProblemKind, is_blank};
use crate::json::{self, End, FaultKind, Repair, RepairKind, RepairLevel};
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

/// What an argument text turned out to be.
///
/// ```text
///                       ┌─ an object ───────────────────▶ Whole      usable
///                       ├─ malformed ─ repair ladder ───▶ Repaired   usable, says what was done
/// raw text ── close ────┤                    └ refused ─▶ Malformed  flagged
///                       ├─ a prefix of an object ───────▶ Truncated  flagged
///                       └─ too many containers ─────────▶ TooDeep    flagged
/// ```
///
/// # Examples
///
/// ```
/// use callstitch::{Arguments, ArgumentsState};
///
/// let mended = Arguments::parse(r#"{"port":"Oban",}"#).state();
/// assert_eq!((mended, mended.is_usable(), mended.as_str()), (ArgumentsState::Repaired, true, "repaired"));
/// let cut = Arguments::parse(r#"{"port":"Ob"#).state();
/// assert_eq!((cut, cut.is_usable()), (ArgumentsState::Truncated, false));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ArgumentsState {
    /// The text is an object's, or blank after a turn that ended properly, which is `{}`.
    Whole,
    /// The text is not an object's but has one reading as one; [`repairs`](super::Arguments::repairs) lists what was done.
    Repaired,
    /// The text was cut. Never to be run; [`recovered`](super::Arguments::recovered) holds what it still states.
    Truncated,
    /// The text is not an object's, cut or not, or a part of it is known to be missing.
    Malformed,
    /// More containers one inside the other than are read.
    TooDeep,
    /// A custom tool's plain text; there is no object and none is due.
    FreeForm,
}

impl ArgumentsState {
    /// The state as one word: `whole`, `repaired`, `truncated`, `malformed`, `too-deep`, `free-form`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Repaired => "repaired",
            Self::Truncated => "truncated",
            Self::Malformed => "malformed",
            Self::TooDeep => "too-deep",
            Self::FreeForm => "free-form",
        }
    }

    /// Whether the arguments may be handed to a tool: whole, repaired, or free-form.
    #[must_use]
    pub fn is_usable(self) -> bool {
        matches!(self, Self::Whole | Self::Repaired | Self::FreeForm)
    }
}

impl fmt::Display for ArgumentsState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What blank text (nothing, white space, or the text `null`) means at a close. Only the caller can know: parameterless
/// calls arrive blank, and so does a call of which nothing came before the token limit.
///
/// # Examples
///
/// ```
/// use callstitch::{Arguments, Blank, Settling};
///
/// let ended = Settling::default();
/// assert!(Arguments::settle(String::new(), &ended).is_usable());
/// let cut = Settling { blank: Blank::Cut, ..ended };
/// assert!(!Arguments::settle(String::new(), &cut).is_usable());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Blank {
    /// The turn ended properly: blank is `{}`, and whole.
    #[default]
    Object,
    /// It did not: blank is a call that was cut.
    Cut,
}

/// How a text is settled at its close.
///
/// # Examples
///
/// ```
/// use callstitch::{Arguments, ArgumentsState, RepairLevel, Settling};
///
/// let strict = Settling { repair: RepairLevel::None, ..Settling::default() };
/// assert_eq!(Arguments::settle("{\"a\":1,}".into(), &strict).state(), ArgumentsState::Malformed);
/// assert_eq!(Arguments::settle("{\"a\":1,}".into(), &Settling::default()).state(), ArgumentsState::Repaired);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settling {
    /// How far malformed text is mended. Default: [`RepairLevel::Lossless`]. Valid text is never touched.
    pub repair: RepairLevel,
    /// The most containers one inside the other. Default and maximum: 127, which is what serde_json reads.
    pub max_depth: usize,
    /// What blank text means here. Default: [`Blank::Object`].
    pub blank: Blank,
}

impl Default for Settling {
    fn default() -> Self {
        Settling {
            repair: RepairLevel::default(),
            max_depth: json::MAX_DEPTH,
            blank: Blank::default(),
        }
    }
}

/// What is known of a text before it is settled, from those who read it as it came.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// It was read as an object.
    pub(crate) is_object: bool,
    /// Where string content was checked already.
    pub(crate) sound: Range<usize>,
    /// It is what a string held: no second string is read in it.
    pub(crate) unwrapped: bool,
}

impl Arguments {
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
        Self::settle_known(text, &Known::default(), settling)
    }

    /// As [`settle`](Arguments::settle), of a text of which something is known. O(1) with the default depth if it is an object's.
    pub(crate) fn settle_known(text: String, known: &Known, settling: &Settling) -> Self {
        let depth = settling.max_depth.min(json::MAX_DEPTH);
        let is_object = || known.is_object || json::is_object_beside(&text, known.sound.clone());
        if depth == json::MAX_DEPTH && is_object() {
            return Self::usable(text, None, ArgumentsState::Whole, Vec::new());
        }
        if is_blank(&text) {
            return Self::blank(text, settling.blank);
        }
        if known.unwrapped && json::trim(&text).starts_with('"') {
            return Self::malformed(text, ProblemKind::Fault(FaultKind::NotAnObject), 0);
        }
        let ended = json::recover(&text, depth);
        if ended.wrapped
            && serde_json::from_str(&text).is_ok_and(|inner: Cow<'_, str>| is_blank(&inner))
        {
            return Self::blank(text, settling.blank);
        }
        // A turn that did not end by itself cuts keys; of one that did, the quote may be what is missing.
        let guess_key = settling.repair == RepairLevel::Guess
            && settling.blank == Blank::Object
            && ended.in_key;
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
            _ => match Self::repaired(&text, settling, depth, ended.end == End::Cut) {
                Ok(repaired) if !(known.unwrapped && repaired.is_unwrapped()) => repaired,
                refused => {
                    let second = refused.err().flatten();
                    let flagged = Self::flagged(text, None, ended, Vec::new(), depth);
                    flagged.with_second_object(second)
                }
            },
        }
    }

    /// The repair ladder's reading of a malformed text, or where the second object begins for which it has none.
    fn repaired(
        text: &str,
        settling: &Settling,
        depth: usize,
        cut_key: bool,
    ) -> Result<Self, Option<usize>> {
        let ended_by_itself = settling.blank == Blank::Object;
        let mended = json::repair(text, settling.repair, ended_by_itself, cut_key, depth)?;
        let ended = json::recover(&mended.text, depth);
        let raw = text.to_owned();
        match ended.end {
            End::Whole if !mended.cut => {
                let state = ArgumentsState::Repaired;
                Ok(Self::usable(raw, Some(mended.text), state, mended.repairs))
            }
            // What was mended is still cut, and says so. Its offsets are those of the mended text, and are not kept.
            End::Whole | End::Cut => {
                let ended = json::Ended {
                    end: End::Cut,
                    dropped_at: None,
                    ..ended
                };
                Ok(Self::flagged(
                    raw,
                    Some(mended.text),
                    ended,
                    mended.repairs,
                    depth,
                ))
            }
            End::Fault(FaultKind::TooDeep, at) => {
                let at = mended.deep_at.unwrap_or(at).min(raw.len());
                let end = End::Fault(FaultKind::TooDeep, at);
                Ok(Self::flagged(
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
            End::Fault(..) => Err(None),
        }
    }

    /// Whether the object was taken out of a string.
    fn is_unwrapped(&self) -> bool {
        let mut repairs = self.repairs.iter();
        repairs.any(|repair| repair.kind == RepairKind::Unwrapped)
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
                Self::without_object(raw, ArgumentsState::Truncated, problem)
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
        let second = second_object(&raw, kind, at);
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

    /// Says where a second object begins, if the strict reader did not come so far: the first may need mending.
    fn with_second_object(mut self, at: Option<usize>) -> Self {
        if let Some(problem) = self.problem.take() {
            let at = problem.second_object().or(at);
            self.problem = Some(Box::new(problem.with_second_object(at)));
        }
        self
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
}
