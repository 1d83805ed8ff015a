//! What a text can turn out to be, and what decides it.

use crate::json::{self, RepairLevel};
use std::fmt;

/// What an argument text turned out to be.
///
/// ```text
///                       ┌─ an object ───────────────────▶ Whole      usable
///                       ├─ malformed ─ repair ladder ───▶ Repaired   usable, says what was done
/// raw text ── close ────┤                    └ refused ─▶ Malformed  flagged
///                       ├─ a prefix of an object ───────▶ Truncated  flagged
///                       └─ too many containers ─────────▶ TooDeep    flagged
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
