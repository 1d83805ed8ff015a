//! What a tool call is: growing, whole, or flagged. Not how it was obtained.

mod builder;
mod carry;
mod name;
mod partial;
mod settle;
mod stored;

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::arguments::{Arguments, ArgumentsState};
use crate::delta::{ClosedBy, Executor, FinishMeaning, ToolKind};

pub use builder::{BuildError, Field, FieldError, FieldProblem, ToolCallBuilder};
pub use carry::ExecutionStatus;
pub use name::{EmptyToolName, ToolName};
pub(crate) use partial::{Closing, Ended, cannot_restate, may_open};
pub use partial::{MergeError, PartialCall};
pub(crate) use stored::NESTS;
pub use stored::{CallStatus, StoredCallError};

/// A call's number by first appearance in its stream: dense, from 0, and always right.
///
/// # Examples
///
/// ```
/// use callstitch::{ToolCall, ToolName};
///
/// let call = ToolCall::new(ToolName::new("get_now")?, "{}");
/// assert_eq!((call.index().get(), call.index().to_string()), (0, "0".to_owned()));
/// # Ok::<(), callstitch::EmptyToolName>(())
/// ```
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct CallIndex(pub(crate) u32);

impl CallIndex {
    /// The number.
    #[must_use]
    pub fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for CallIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What became of a call.
///
/// # Examples
///
/// ```
/// use callstitch::{CallState, ToolCall, ToolName};
///
/// let name = ToolName::new("get_tide")?;
/// assert_eq!(ToolCall::new(name.clone(), "{}").state(), CallState::Whole);
/// let cut = ToolCall::new(name, r#"{"port":"Ob"#).state();
/// assert_eq!((cut, cut.as_str(), cut.is_usable()), (CallState::Truncated, "truncated", false));
/// # Ok::<(), callstitch::EmptyToolName>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum CallState {
    /// The arguments are the object that the model wrote.
    Whole,
    /// The arguments needed repair; [`Arguments::repairs`] lists it.
    Repaired,
    /// The call was cut. [`Arguments::recovered`] is what it still states.
    Truncated,
    /// The text is no JSON object, or a piece of it was lost.
    Malformed,
    /// The arguments nest deeper than the limit.
    TooDeep,
    /// No name ever came.
    Unnamed,
    /// A custom tool's free text, as sent.
    FreeForm,
}

impl CallState {
    /// The state as one word, as in the command line's output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            CallState::Whole => "whole",
            CallState::Repaired => "repaired",
            CallState::Truncated => "truncated",
            CallState::Malformed => "malformed",
            CallState::TooDeep => "too-deep",
            CallState::Unnamed => "unnamed",
            CallState::FreeForm => "free-form",
        }
    }

    /// Whether a call in this state may be run.
    #[must_use]
    pub fn is_usable(self) -> bool {
        matches!(
            self,
            CallState::Whole | CallState::Repaired | CallState::FreeForm
        )
    }
}

impl fmt::Display for CallState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a call is believed complete, or not.
///
/// # Examples
///
/// ```
/// use callstitch::{ClosedBy, FinishMeaning, ToolCallParser, WireFormat};
///
/// let mut parser = ToolCallParser::new(WireFormat::OpenAiChat);
/// # let body = br#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"get_now","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}
/// #
/// # data: [DONE]
/// #
/// # "#;
/// let call = parser.push(body).find_map(|event| event.ok()?.into_call()).unwrap();
/// let evidence = call.evidence();
/// assert_eq!(evidence.closed_by, ClosedBy::Terminal);
/// assert_eq!(evidence.finish_reason.as_deref(), Some("tool_calls"));
/// assert_eq!(evidence.finish_meaning, Some(FinishMeaning::ToolCalls));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Evidence {
    /// What closed the call.
    pub closed_by: ClosedBy,
    /// Byte offset in the body of the event that closed it.
    pub offset: u64,
    /// The provider's finish reason where one had come by then; an upstream's own reason outranks a gateway's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// What that reason means, whatever its spelling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_meaning: Option<FinishMeaning>,
    /// The provider's own word on the item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

/// A tool call that ended, whole or flagged.
///
/// `Display` is `name(id)`; `Debug` never shows argument text.
///
/// # Examples
///
/// ```
/// use callstitch::{CallState, ClosedBy, Executor, ToolCallParser, ToolKind, WireFormat};
///
/// let mut parser = ToolCallParser::new(WireFormat::OpenAiChat);
/// let body = br#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"get_tide","arguments":"{\"port\":\"Oban\"}"}}]}}]}
///
/// data: [DONE]
///
/// "#;
/// let call = parser.push(body).find_map(|event| event.ok()?.into_call()).unwrap();
/// assert_eq!(call.to_string(), "get_tide(call_1)");
/// assert_eq!(call.state(), CallState::Whole);
/// assert_eq!(call.arguments().object().unwrap()["port"], "Oban");
/// assert!(call.is_usable() && call.matches_name("get_tide") && call.tool_name().is_some());
///
/// // Where it came from, and what the provider called it.
/// assert_eq!((call.index().get(), call.choice(), call.wire_index()), (0, 0, Some(0)));
/// assert_eq!((call.id(), call.wire_id(), call.item_id()), ("call_1", Some("call_1"), None));
/// assert!(!call.is_synthetic_id());
///
/// // Whose it is to run, what goes back with it, and why it is believed.
/// assert_eq!((call.kind(), call.executor()), (&ToolKind::Function, Executor::Client));
/// assert_eq!((call.server_name(), call.extras().len()), (None, 0));
/// assert_eq!(call.evidence().closed_by, ClosedBy::Terminal);
/// ```
#[derive(Clone, PartialEq)]
pub struct ToolCall(pub(crate) Box<Parts>);

/// The parts of a call, behind one word: events are moved about.
#[derive(Clone, PartialEq)]
pub(crate) struct Parts {
    pub(crate) index: CallIndex,
    pub(crate) choice: u32,
    pub(crate) wire_index: Option<i64>,
    pub(crate) id: String,
    pub(crate) wire_id: Option<String>,
    pub(crate) synthetic_id: bool,
    pub(crate) item_id: Option<String>,
    /// `None` only for a call that never got a name.
    pub(crate) name: Option<ToolName>,
    pub(crate) arguments: Arguments,
    pub(crate) kind: ToolKind,
    pub(crate) executor: Executor,
    pub(crate) server_name: Option<String>,
    pub(crate) extras: Map<String, Value>,
    /// The name of the history format whose item held the extras; `None` where a stream or the caller gave them.
    pub(crate) extras_of: Option<Box<str>>,
    pub(crate) display_text: Option<String>,
    pub(crate) metadata: Map<String, Value>,
    pub(crate) evidence: Evidence,
}

impl ToolCall {
    /// The call's number by first appearance in its stream.
    #[must_use]
    pub fn index(&self) -> CallIndex {
        self.0.index
    }

    /// Which of the `n` completions made the call.
    #[must_use]
    pub fn choice(&self) -> u32 {
        self.0.choice
    }

    /// The provider's own number, where it sent one: a sparse label, never a position.
    #[must_use]
    pub fn wire_index(&self) -> Option<i64> {
        self.0.wire_index
    }

    /// The id to echo with the result. Unique in its stream; see [`is_synthetic_id`](ToolCall::is_synthetic_id).
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// The id as the provider sent it, where it sent one.
    #[must_use]
    pub fn wire_id(&self) -> Option<&str> {
        self.0.wire_id.as_deref()
    }

    /// True where the id was made here: none came, or the same came twice.
    #[must_use]
    pub fn is_synthetic_id(&self) -> bool {
        self.0.synthetic_id
    }

    /// The Responses item id, which is not echoed.
    #[must_use]
    pub fn item_id(&self) -> Option<&str> {
        self.0.item_id.as_deref()
    }

    /// The tool's name. Empty only in the state [`CallState::Unnamed`].
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.name.as_ref().map_or("", ToolName::as_str)
    }

    /// The tool's name as its type; `None` only in the state [`CallState::Unnamed`].
    #[must_use]
    pub fn tool_name(&self) -> Option<&ToolName> {
        self.0.name.as_ref()
    }

    /// Whether the call is of this tool.
    #[must_use]
    pub fn matches_name(&self, name: &str) -> bool {
        !name.is_empty() && self.name() == name
    }

    /// The arguments: the text as sent and what it means.
    #[must_use]
    pub fn arguments(&self) -> &Arguments {
        &self.0.arguments
    }

    /// The arguments, to keep. Cost: O(1), their text is not copied.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ToolCall, ToolName};
    ///
    /// let call = ToolCall::new(ToolName::new("get_tide")?, r#"{"port":"Oban"}"#);
    /// assert_eq!(call.into_arguments().into_raw(), r#"{"port":"Oban"}"#);
    /// # Ok::<(), callstitch::EmptyToolName>(())
    /// ```
    #[must_use]
    pub fn into_arguments(self) -> Arguments {
        self.0.arguments
    }

    /// Function, custom, or a built-in.
    #[must_use]
    pub fn kind(&self) -> &ToolKind {
        &self.0.kind
    }

    /// Who runs the call.
    #[must_use]
    pub fn executor(&self) -> Executor {
        self.0.executor
    }

    /// The MCP server's name.
    #[must_use]
    pub fn server_name(&self) -> Option<&str> {
        self.0.server_name.as_deref()
    }

    /// Members that must go back verbatim with the call: thought signatures, `extra_content`, `caller`, `namespace`.
    #[must_use]
    pub fn extras(&self) -> &Map<String, Value> {
        &self.0.extras
    }

    /// Why the call is believed complete, or not.
    #[must_use]
    pub fn evidence(&self) -> &Evidence {
        &self.0.evidence
    }

    /// What became of the call.
    #[must_use]
    pub fn state(&self) -> CallState {
        if self.0.name.is_none() {
            return CallState::Unnamed;
        }
        match self.0.arguments.state() {
            ArgumentsState::Whole => CallState::Whole,
            ArgumentsState::Repaired => CallState::Repaired,
            ArgumentsState::Truncated => CallState::Truncated,
            ArgumentsState::Malformed => CallState::Malformed,
            ArgumentsState::TooDeep => CallState::TooDeep,
            ArgumentsState::FreeForm => CallState::FreeForm,
        }
    }

    /// Whether the call may be run: it is whole, repaired or free-form. Who should run it is another question:
    /// [`executor`](ToolCall::executor).
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.state().is_usable()
    }
}

impl fmt::Display for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name(), self.0.id)
    }
}

impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCall")
            .field("index", &self.0.index.0)
            .field("choice", &self.0.choice)
            .field("id", &self.0.id)
            .field("name", &self.name())
            .field("state", &self.state())
            .field("arguments", &self.0.arguments)
            .field("kind", &self.0.kind)
            .field("executor", &self.0.executor)
            .field("evidence", &self.0.evidence)
            .finish_non_exhaustive()
    }
}
