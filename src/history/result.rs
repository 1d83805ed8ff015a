//! What a tool answered.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::{CallIndex, ToolCall};
use crate::delta::ToolKind;

/// What a tool answered: text, a JSON value, or that it failed. `Debug` shows none of it.
///
/// # Examples
///
/// ```
/// use callstitch::history::Answer;
/// use serde_json::json;
///
/// assert_eq!(Answer::Json(json!({"height": 3.1})).to_text(), r#"{"height":3.1}"#);
/// let failed = Answer::Error("no such port".to_owned());
/// assert!(failed.is_error());
/// assert_eq!(failed.to_text(), "Error: no such port");
/// ```
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Answer {
    /// Text.
    Text(String),
    /// A JSON value.
    Json(Value),
    /// It failed, or was not run: what the model should know.
    Error(String),
}

impl Answer {
    /// The answer as text: JSON in one line, an error after the word `Error:`. A copy, O(n).
    #[must_use]
    pub fn to_text(&self) -> String {
        match self {
            Answer::Text(text) => text.clone(),
            Answer::Json(value) => value.to_string(),
            Answer::Error(text) if text.starts_with("Error") => text.clone(),
            Answer::Error(text) => format!("Error: {text}"),
        }
    }

    /// Whether it says that the call failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        matches!(self, Answer::Error(_))
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Text(text) => write!(f, "Text(<{} bytes>)", text.len()),
            Answer::Json(_) => f.write_str("Json(…)"),
            Answer::Error(text) => write!(f, "Error(<{} bytes>)", text.len()),
        }
    }
}

/// The result of one call, to be sent back. It names its call by id, and by name and index for the wires that have no ids.
///
/// # Examples
///
/// ```
/// use callstitch::history::{HistoryFormat, ToolResult};
/// use callstitch::{ToolCall, ToolName};
/// use serde_json::json;
///
/// let call = ToolCall::new(ToolName::new("get_tide")?, r#"{"port":"Oban"}"#).with_id("call_1");
/// let result = ToolResult::json(&call, json!({"height": 3.1}));
/// assert_eq!(
///     result.to_wire(HistoryFormat::OpenAiChat),
///     json!({"role": "tool", "tool_call_id": "call_1", "content": "{\"height\":3.1}"}),
/// );
/// let text = ToolResult::text(&call, "3.1 m");
/// let failed = ToolResult::error(&call, "no such port");
/// assert!(!text.answer.is_error() && failed.answer.is_error());
/// # Ok::<(), callstitch::EmptyToolName>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolResult {
    /// The call's id; `None` where a wire has none.
    pub call_id: Option<String>,
    /// The tool's name; empty where a wire does not repeat it.
    #[serde(default)]
    pub name: String,
    /// The call's number.
    #[serde(default)]
    pub index: CallIndex,
    /// What kind of call it answers: some wires answer custom tools with an item of their own.
    #[serde(default)]
    pub kind: ToolKind,
    /// The id was made here, so that a wire without ids never saw it.
    #[serde(default)]
    pub synthetic_id: bool,
    /// The program that made the call, where one did: Responses wants it named with the result too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Value>,
    /// What the tool answered.
    pub answer: Answer,
}

impl ToolResult {
    /// The answer to this call.
    #[must_use]
    pub fn new(call: &ToolCall, answer: Answer) -> Self {
        ToolResult {
            call_id: Some(call.id().to_owned()),
            name: call.name().to_owned(),
            index: call.index(),
            kind: call.kind().clone(),
            synthetic_id: call.is_synthetic_id(),
            caller: call.extras().get("caller").cloned(),
            answer,
        }
    }

    /// A text in answer to this call.
    #[must_use]
    pub fn text(call: &ToolCall, text: impl Into<String>) -> Self {
        Self::new(call, Answer::Text(text.into()))
    }

    /// A JSON value in answer to this call.
    #[must_use]
    pub fn json(call: &ToolCall, value: impl Into<Value>) -> Self {
        Self::new(call, Answer::Json(value.into()))
    }

    /// That this call failed or was not run, and why: for the model to read.
    #[must_use]
    pub fn error(call: &ToolCall, why: impl Into<String>) -> Self {
        Self::new(call, Answer::Error(why.into()))
    }

    /// A result that a wire stated.
    pub(super) fn stated(call_id: Option<String>, name: Option<String>, answer: Answer) -> Self {
        ToolResult {
            synthetic_id: call_id.is_none(),
            call_id,
            name: name.unwrap_or_default(),
            index: CallIndex::default(),
            kind: ToolKind::Function,
            caller: None,
            answer,
        }
    }
}
