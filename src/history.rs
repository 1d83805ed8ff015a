//! A finished call and its result, to and from each wire's history item.
//!
//! Letter to the next reader. One file a wire, one row a wire in `ROWS`. An export always has what its wire wants: an object
//! where it wants an object, text where it wants text, also for a call whose arguments were cut. What goes back verbatim
//! ([`ToolCall::extras`]) is sent to the wires that know it, and to the one from whose item it was read; the caller's notes
//! ([`ToolCall::metadata`]) are sent nowhere. This room knows finished calls. It does not know streams or tools.

mod adaline;
mod anthropic;
mod bedrock;
mod check;
mod cohere;
mod gemini;
mod gemini_interactions;
mod ids;
mod item;
mod mistral;
mod ollama;
mod openai_chat;
mod openai_native;
mod openai_responses;
mod read;
mod result;

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use crate::call::ToolCall;
use crate::wire::WireFormat;

pub use check::{HistoryProblem, check, check_messages};
use ids::IdForm;
pub use ids::IdMap;
use item::Node;
pub use read::HistoryError;
use read::Read;
pub use result::{Answer, ToolResult};

/// A shape in which calls are sent back, or kept.
///
/// # Examples
///
/// ```
/// use callstitch::WireFormat;
/// use callstitch::history::HistoryFormat;
///
/// assert_eq!(HistoryFormat::try_from(WireFormat::Mistral)?, HistoryFormat::Mistral);
/// assert_eq!("adaline".parse::<HistoryFormat>()?.name(), "adaline");
/// assert!(HistoryFormat::all().count() > WireFormat::all().count());
/// # Ok::<(), callstitch::history::UnknownHistoryFormat>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HistoryFormat {
    /// OpenAI Chat Completions and everything compatible with it.
    OpenAiChat,
    /// OpenAI Responses.
    OpenAiResponses,
    /// Anthropic Messages.
    Anthropic,
    /// Gemini `generateContent`.
    Gemini,
    /// Gemini Interactions.
    GeminiInteractions,
    /// AWS Bedrock Converse.
    Bedrock,
    /// Cohere v2 chat.
    Cohere,
    /// Mistral chat.
    Mistral,
    /// Ollama `/api/chat`.
    Ollama,
    /// Adaline's flat content part.
    Adaline,
}

/// A call or a result, in the order of a history.
///
/// # Examples
///
/// ```
/// use callstitch::history::{Entry, HistoryFormat, entries};
/// use serde_json::json;
///
/// let message = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "get_now", "input": {}}]});
/// assert!(matches!(&entries(HistoryFormat::Anthropic, &[message])[..], [Entry::Call(call)] if call.name() == "get_now"));
/// ```
#[allow(
    clippy::large_enum_variant,
    reason = "histories are short, and a box would be in the way of every match"
)]
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Entry {
    /// A call.
    Call(ToolCall),
    /// A result.
    Result(ToolResult),
}

/// One row a format: the one place that lists them.
struct Row {
    format: HistoryFormat,
    name: &'static str,
    ids: IdForm,
    call: fn(&ToolCall, &str) -> Node,
    read_call: fn(&Value) -> Read<ToolCall>,
    result: fn(&ToolResult, &str) -> Value,
    read_result: fn(&Value) -> Read<ToolResult>,
    calls_message: fn(Vec<Value>) -> Vec<Value>,
    results_message: fn(Vec<Value>) -> Vec<Value>,
    entries: fn(&Value, &mut Vec<Entry>),
}

const OPENAI_CHAT: Row = Row {
    format: HistoryFormat::OpenAiChat,
    name: "openai-chat",
    // Compatible servers keep state in ids of any form, and want them back (Kimi; WIRE_FORMATS Q24).
    ids: IdForm::Any,
    call: openai_chat::call,
    read_call: openai_chat::read_call,
    result: openai_chat::result,
    read_result: openai_chat::read_result,
    calls_message: openai_chat::calls_message,
    results_message: openai_chat::results_message,
    entries: openai_chat::own_entries,
};

static ROWS: [Row; 10] = [
    OPENAI_CHAT,
    Row {
        format: HistoryFormat::OpenAiResponses,
        name: "openai-responses",
        ids: IdForm::AtMost(64),
        call: openai_responses::call,
        read_call: openai_responses::read_call,
        result: openai_responses::result,
        read_result: openai_responses::read_result,
        calls_message: openai_responses::items,
        results_message: openai_responses::items,
        entries: openai_responses::entries,
    },
    Row {
        format: HistoryFormat::Anthropic,
        name: "anthropic",
        ids: IdForm::Word(usize::MAX),
        call: anthropic::call,
        read_call: anthropic::read_call,
        result: anthropic::result,
        read_result: anthropic::read_result,
        calls_message: anthropic::calls_message,
        results_message: anthropic::results_message,
        entries: anthropic::entries,
    },
    Row {
        format: HistoryFormat::Gemini,
        name: "gemini",
        ids: IdForm::Any,
        call: gemini::call,
        read_call: gemini::read_call,
        result: gemini::result,
        read_result: gemini::read_result,
        calls_message: gemini::calls_message,
        results_message: gemini::results_message,
        entries: gemini::entries,
    },
    Row {
        format: HistoryFormat::GeminiInteractions,
        name: "gemini-interactions",
        ids: IdForm::Any,
        call: gemini_interactions::call,
        read_call: gemini_interactions::read_call,
        result: gemini_interactions::result,
        read_result: gemini_interactions::read_result,
        calls_message: gemini_interactions::items,
        results_message: gemini_interactions::items,
        entries: gemini_interactions::entries,
    },
    Row {
        format: HistoryFormat::Bedrock,
        name: "bedrock",
        ids: IdForm::Word(64),
        call: bedrock::call,
        read_call: bedrock::read_call,
        result: bedrock::result,
        read_result: bedrock::read_result,
        calls_message: bedrock::calls_message,
        results_message: bedrock::results_message,
        entries: bedrock::entries,
    },
    Row {
        format: HistoryFormat::Cohere,
        name: "cohere",
        call: cohere::call,
        read_call: cohere::read_call,
        calls_message: cohere::calls_message,
        entries: cohere::entries,
        ..OPENAI_CHAT
    },
    Row {
        format: HistoryFormat::Mistral,
        name: "mistral",
        ids: IdForm::Exactly(9),
        call: mistral::call,
        read_call: mistral::read_call,
        result: mistral::result,
        read_result: mistral::read_result,
        calls_message: mistral::calls_message,
        entries: mistral::entries,
        ..OPENAI_CHAT
    },
    Row {
        format: HistoryFormat::Ollama,
        name: "ollama",
        call: ollama::call,
        read_call: ollama::read_call,
        result: ollama::result,
        read_result: ollama::read_result,
        calls_message: ollama::calls_message,
        entries: ollama::entries,
        ..OPENAI_CHAT
    },
    Row {
        format: HistoryFormat::Adaline,
        name: "adaline",
        call: adaline::call,
        read_call: adaline::read_call,
        result: adaline::result,
        read_result: adaline::read_result,
        calls_message: adaline::calls_message,
        results_message: adaline::results_message,
        entries: adaline::entries,
        ..OPENAI_CHAT
    },
];

impl HistoryFormat {
    /// Every format.
    pub fn all() -> impl Iterator<Item = HistoryFormat> {
        ROWS.iter().map(|row| row.format)
    }

    /// The format's name, as on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    fn row(self) -> &'static Row {
        let row = ROWS.iter().find(|row| row.format == self);
        row.unwrap_or(&ROWS[0])
    }
}

impl ToolCall {
    /// The call as this wire's history item: an element of `tool_calls`, an input item, a content block, a part. Arguments are an
    /// object where the wire wants one and text where it wants text, `{}` where nothing can be had. `None` for what the wire
    /// would refuse: a call that its provider ran, and one without a name.
    ///
    /// An id is fitted to the wire's form, where it has one; [`IdMap`] leads back. Never errors. Cost: a copy, O(n).
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::history::HistoryFormat;
    /// use callstitch::{ToolCall, ToolName};
    /// use serde_json::json;
    ///
    /// let call = ToolCall::new(ToolName::new("get_tide")?, r#"{"port":"Oban"}"#).with_id("toolu_1");
    /// assert_eq!(
    ///     call.to_wire(HistoryFormat::Anthropic).unwrap(),
    ///     json!({"type": "tool_use", "id": "toolu_1", "name": "get_tide", "input": {"port": "Oban"}}),
    /// );
    /// let cut = ToolCall::new(ToolName::new("get_tide")?, r#"{"port":"Ob"#);
    /// assert_eq!(cut.to_wire(HistoryFormat::Gemini).unwrap()["functionCall"]["args"], json!({"port": "Ob"}));
    /// # Ok::<(), callstitch::EmptyToolName>(())
    /// ```
    #[must_use]
    pub fn to_wire(&self, format: HistoryFormat) -> Option<Value> {
        self.item(format, None).and_then(|item| to_value(&item))
    }

    /// As [`to_wire`](ToolCall::to_wire), as JSON text in which arguments are spelled as the model spelled them: numbers that a
    /// [`Value`] cannot hold keep every digit. Cost: O(n).
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::history::HistoryFormat;
    /// use callstitch::{ToolCall, ToolName};
    ///
    /// let call = ToolCall::new(ToolName::new("pay")?, r#"{"cents":123456789012345678901234567890}"#);
    /// let json = call.to_wire_json(HistoryFormat::Anthropic).unwrap();
    /// assert!(json.contains("123456789012345678901234567890"));
    /// # Ok::<(), callstitch::EmptyToolName>(())
    /// ```
    #[must_use]
    pub fn to_wire_json(&self, format: HistoryFormat) -> Option<String> {
        let item = self.item(format, None)?;
        serde_json::to_string(&item).ok()
    }

    /// As [`to_wire`](ToolCall::to_wire), with the ids of a conversation.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::history::{HistoryFormat, IdMap};
    /// use callstitch::{ToolCall, ToolName};
    ///
    /// let format = HistoryFormat::Mistral; // takes ids of nine letters and digits only
    /// let mut ids = IdMap::new(format);
    /// let call = ToolCall::new(ToolName::new("get_now")?, "{}").with_id("toolu_01A");
    /// let item = call.to_wire_with(format, &mut ids).unwrap();
    /// assert_ne!(item["id"], "toolu_01A");
    /// assert_eq!(ToolCall::from_wire_with(format, &item, &ids)?.id(), "toolu_01A");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn to_wire_with(&self, format: HistoryFormat, ids: &mut IdMap) -> Option<Value> {
        self.item(format, Some(ids))
            .and_then(|item| to_value(&item))
    }

    /// The call that this wire's history item states. Arguments of any shape are read; what is no object is flagged. Cost: a
    /// copy whose arguments are settled, O(n).
    ///
    /// # Errors
    ///
    /// Where the value is no such item, or a member is missing that the wire requires.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::ToolCall;
    /// use callstitch::history::HistoryFormat;
    /// use serde_json::json;
    ///
    /// let part = json!({
    ///     "modality": "tool-call",
    ///     "index": 0,
    ///     "id": "call_abc123",
    ///     "name": "get_weather",
    ///     "arguments": "{\"city\":\"San Francisco\",\"units\":\"fahrenheit\"}"
    /// });
    /// let call = ToolCall::from_wire(HistoryFormat::Adaline, &part)?;
    /// assert_eq!(call.arguments().object().unwrap()["city"], "San Francisco");
    /// assert_eq!(call.to_wire(HistoryFormat::Adaline), Some(part));
    /// # Ok::<(), callstitch::history::HistoryError>(())
    /// ```
    pub fn from_wire(format: HistoryFormat, item: &Value) -> Result<ToolCall, HistoryError> {
        let mut call = (format.row().read_call)(item)?;
        call.read_from(format);
        Ok(call)
    }

    /// As [`from_wire`](ToolCall::from_wire), with the ids of a conversation: an id that was fitted is the call's own again.
    ///
    /// # Errors
    ///
    /// As [`from_wire`](ToolCall::from_wire).
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::history::{HistoryFormat, IdMap};
    /// use callstitch::{ToolCall, ToolName};
    ///
    /// let format = HistoryFormat::Mistral; // takes ids of nine letters and digits only
    /// let mut ids = IdMap::new(format);
    /// let call = ToolCall::new(ToolName::new("get_now")?, "{}").with_id("toolu_01A");
    /// let item = call.to_wire_with(format, &mut ids).unwrap();
    /// assert_ne!(item["id"], "toolu_01A");
    /// assert_eq!(ToolCall::from_wire_with(format, &item, &ids)?.id(), "toolu_01A");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_wire_with(
        format: HistoryFormat,
        item: &Value,
        ids: &IdMap,
    ) -> Result<ToolCall, HistoryError> {
        let call = Self::from_wire(format, item)?;
        if call.is_synthetic_id() {
            return Ok(call);
        }
        let original = ids.original(call.id()).to_owned();
        Ok(call.with_id(original))
    }

    /// Notes whose members the extras are.
    fn read_from(&mut self, format: HistoryFormat) {
        if !self.extras().is_empty() {
            self.0.extras_of = Some(format.name().into());
        }
    }

    fn item(&self, format: HistoryFormat, ids: Option<&mut IdMap>) -> Option<Node> {
        let row = format.row();
        if self.tool_name().is_none() || self.is_builtin() {
            return None;
        }
        Some(match ids {
            Some(ids) => (row.call)(self, ids.to_wire(self.id())),
            None => (row.call)(self, &ids::fit(format, self.id())),
        })
    }
}

impl ToolResult {
    /// The result as this wire's item: a message of the role `tool`, an input item, a content block, a part. Never errors.
    /// Cost: a copy, O(n).
    #[must_use]
    pub fn to_wire(&self, format: HistoryFormat) -> Value {
        let id = self.call_id.as_deref().unwrap_or_default();
        (format.row().result)(self, &ids::fit(format, id))
    }

    /// As [`to_wire`](ToolResult::to_wire), with the ids of a conversation.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::history::{HistoryFormat, IdMap, ToolResult};
    /// use callstitch::{ToolCall, ToolName};
    ///
    /// let format = HistoryFormat::Mistral;
    /// let mut ids = IdMap::new(format);
    /// let call = ToolCall::new(ToolName::new("get_now")?, "{}").with_id("toolu_01A");
    /// let item = call.to_wire_with(format, &mut ids).unwrap();
    /// let answer = ToolResult::text(&call, "noon").to_wire_with(format, &mut ids);
    /// assert_eq!(answer["tool_call_id"], item["id"]);
    /// # Ok::<(), callstitch::EmptyToolName>(())
    /// ```
    #[must_use]
    pub fn to_wire_with(&self, format: HistoryFormat, ids: &mut IdMap) -> Value {
        let id = self.call_id.as_deref().unwrap_or_default();
        (format.row().result)(self, ids.to_wire(id))
    }

    /// The result that this wire's item states. Wires that cannot tell an error from a text give text. Cost: a copy, O(n).
    ///
    /// # Errors
    ///
    /// Where the value is no such item, or a member is missing that the wire requires.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::history::{HistoryFormat, ToolResult};
    /// use serde_json::json;
    ///
    /// let message = json!({"role": "tool", "tool_call_id": "call_1", "content": "3.1 m"});
    /// let result = ToolResult::from_wire(HistoryFormat::OpenAiChat, &message)?;
    /// assert_eq!(result.answer.to_text(), "3.1 m");
    /// # Ok::<(), callstitch::history::HistoryError>(())
    /// ```
    pub fn from_wire(format: HistoryFormat, item: &Value) -> Result<ToolResult, HistoryError> {
        (format.row().read_result)(item)
    }
}

/// The calls of one turn as this wire's messages: one message that holds them all, or on wires of items the items themselves.
/// Empty where no call may be sent. Cost: a copy of each, O(n).
///
/// # Examples
///
/// ```
/// use callstitch::history::{HistoryFormat, ToolResult, calls_messages, results_messages};
/// use callstitch::{ToolCall, ToolName};
///
/// let calls = [ToolCall::new(ToolName::new("get_tide")?, "{}").with_id("toolu_1")];
/// let results = [ToolResult::text(&calls[0], "3.1 m")];
/// let format = HistoryFormat::Anthropic;
/// let turn = [calls_messages(format, &calls), results_messages(format, &results)].concat();
/// assert_eq!(turn[0]["content"][0]["type"], "tool_use");
/// assert_eq!(turn[1]["content"][0]["tool_use_id"], "toolu_1");
/// # Ok::<(), callstitch::EmptyToolName>(())
/// ```
#[must_use]
pub fn calls_messages<'a>(
    format: HistoryFormat,
    calls: impl IntoIterator<Item = &'a ToolCall>,
) -> Vec<Value> {
    let calls = calls.into_iter();
    let items: Vec<_> = calls.filter_map(|call| call.to_wire(format)).collect();
    if items.is_empty() {
        return items;
    }
    (format.row().calls_message)(items)
}

/// The results of one turn as this wire's messages, in their order: one message a result, or one that holds them all. Cost: a
/// copy of each, O(n).
///
/// # Examples
///
/// ```
/// use callstitch::history::{HistoryFormat, ToolResult, results_messages};
/// use callstitch::{ToolCall, ToolName};
///
/// let call = ToolCall::new(ToolName::new("get_tide")?, "{}").with_id("toolu_1");
/// let messages = results_messages(HistoryFormat::Anthropic, &[ToolResult::text(&call, "3.1 m")]);
/// assert_eq!(messages[0]["content"][0]["tool_use_id"], "toolu_1");
/// # Ok::<(), callstitch::EmptyToolName>(())
/// ```
#[must_use]
pub fn results_messages<'a>(
    format: HistoryFormat,
    results: impl IntoIterator<Item = &'a ToolResult>,
) -> Vec<Value> {
    let results = results.into_iter();
    let items: Vec<_> = results.map(|result| result.to_wire(format)).collect();
    if items.is_empty() {
        return items;
    }
    (format.row().results_message)(items)
}

/// The calls and results that messages in a wire's own shape hold, in their order. What is neither is left out. Never errors.
/// Cost: a copy of each, O(n).
///
/// # Examples
///
/// ```
/// use callstitch::history::{HistoryFormat, check, entries};
/// use serde_json::json;
///
/// let messages = [json!({"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "get_now", "arguments": "{}"}}]})];
/// let entries = entries(HistoryFormat::OpenAiChat, &messages);
/// assert_eq!(check(entries).len(), 1); // its result is missing
/// ```
#[must_use]
pub fn entries(format: HistoryFormat, messages: &[Value]) -> Vec<Entry> {
    let mut entries = Vec::new();
    for message in messages {
        (format.row().entries)(message, &mut entries);
    }
    for entry in &mut entries {
        if let Entry::Call(call) = entry {
            call.read_from(format);
        }
    }
    entries
}

fn to_value(item: &Node) -> Option<Value> {
    serde_json::to_value(item).ok()
}

impl TryFrom<WireFormat> for HistoryFormat {
    type Error = UnknownHistoryFormat;

    /// The shape in which a wire's calls go back; none for [`WireFormat::Auto`].
    fn try_from(format: WireFormat) -> Result<Self, UnknownHistoryFormat> {
        format.name().parse()
    }
}

impl FromStr for HistoryFormat {
    type Err = UnknownHistoryFormat;

    fn from_str(name: &str) -> Result<Self, UnknownHistoryFormat> {
        let row = ROWS.iter().find(|row| row.name == name);
        row.map(|row| row.format).ok_or(UnknownHistoryFormat(()))
    }
}

impl fmt::Display for HistoryFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no history format's.
///
/// # Examples
///
/// ```
/// use callstitch::history::HistoryFormat;
///
/// assert!("telnet".parse::<HistoryFormat>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownHistoryFormat(());

impl fmt::Display for UnknownHistoryFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = ROWS.iter().map(|row| row.name).collect();
        write!(f, "no such history format; known are {}", names.join(", "))
    }
}

impl std::error::Error for UnknownHistoryFormat {}
