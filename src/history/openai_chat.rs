//! OpenAI Chat Completions: a call is an element of the assistant message's `tool_calls`, a result a message of the role
//! `tool` (OpenAI API reference, "Create chat completion", `messages`).

use serde_json::{Value, json};

use super::item::{Members, Node, text};
use super::read::{self, Read};
use super::result::{Answer, ToolResult};
use super::{Entry, HistoryFormat, to_value};
use crate::arguments::Arguments;
use crate::call::{NESTS, ToolCall};
use crate::delta::ToolKind;

pub(super) fn call(call: &ToolCall, id: &str) -> Node {
    own_item(call, id)
        .with_extras(call, HistoryFormat::OpenAiChat)
        .into()
}

/// As OpenAI has it: free text has a shape of its own.
fn own_item(call: &ToolCall, id: &str) -> Members {
    if *call.kind() != ToolKind::Custom {
        return function_item(call, id);
    }
    let custom = Members::new()
        .with("name", call.name())
        .with("input", call.arguments().raw());
    let item = Members::new().with("id", id).with("type", "custom");
    item.with("custom", custom)
}

/// `{id, type, function{name, arguments}}`, which Cohere and Mistral have too.
pub(super) fn function_item(call: &ToolCall, id: &str) -> Members {
    let function = Members::new()
        .with("name", call.name())
        .with("arguments", text(call));
    let item = Members::new().with("id", id).with("type", "function");
    item.with("function", function)
}

pub(super) fn read_call(item: &Value) -> Read<ToolCall> {
    let id = Some(read::required(item, "id")?);
    let extras = read::extras(item, &["id", "type", "function", "custom", "index"]);
    // An item that has both is what its type says.
    let custom = item.get("custom").filter(|custom| {
        custom.is_object() && (read::is(item, "type", "custom") || item.get("function").is_none())
    });
    if let Some(custom) = custom {
        let input = read::text(custom, "input").unwrap_or_default();
        let arguments = Arguments::free_form(input, false);
        return read::call(id, read::required(custom, "name")?, arguments, extras);
    }
    let function = item.get("function").ok_or(read::HistoryError::NotAnItem)?;
    let arguments = read::text_arguments(function.get("arguments"));
    read::call(id, read::required(function, "name")?, arguments, extras)
}

pub(super) fn result(result: &ToolResult, id: &str) -> Value {
    json!({ "role": "tool", "tool_call_id": id, "content": result.answer.to_text() })
}

pub(super) fn read_result(message: &Value) -> Read<ToolResult> {
    let mut result = tool_message(message)?;
    result.call_id = Some(read::required(message, "tool_call_id")?);
    result.synthetic_id = false;
    Ok(result)
}

/// A message of the role `tool`, with an id or without.
pub(super) fn tool_message(message: &Value) -> Read<ToolResult> {
    if !read::is(message, "role", "tool") {
        return Err(read::HistoryError::NotAnItem);
    }
    let answer = Answer::Text(read::answer_text(message.get("content")));
    let name = read::label(message, "tool_name").or_else(|| read::label(message, "name"));
    Ok(ToolResult::stated(
        read::label(message, "tool_call_id"),
        name,
        answer,
    ))
}

impl ToolCall {
    /// The call in OpenAI's chat shape, for keeping: a call that its provider ran is there too, flagged as `builtin?`; a custom
    /// one has its text as it is. For sending it back use [`to_wire`](ToolCall::to_wire), which leaves the provider's calls out.
    /// Never errors. Cost: a copy, O(n).
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ToolCall, ToolName};
    ///
    /// let kept = ToolCall::builtin(ToolName::new("web_search")?, "{}").to_openai_value();
    /// assert_eq!((&kept["function"]["name"], &kept["function"]["builtin?"]), (&"web_search".into(), &true.into()));
    /// # Ok::<(), callstitch::EmptyToolName>(())
    /// ```
    #[must_use]
    pub fn to_openai_value(&self) -> Value {
        let mut item = to_value(&own_item(self, self.id()).into()).unwrap_or_default();
        for nest in NESTS {
            if let Some(Value::Object(inner)) = item.get_mut(nest) {
                ToolCall::set_builtin_flag(inner, self.is_builtin());
            }
        }
        item
    }
}

/// One assistant message with all calls.
pub(super) fn calls_message(items: Vec<Value>) -> Vec<Value> {
    vec![json!({ "role": "assistant", "content": null, "tool_calls": items })]
}

/// A message a result.
pub(super) fn results_message(items: Vec<Value>) -> Vec<Value> {
    items
}

pub(super) fn entries(
    message: &Value,
    read_call: fn(&Value) -> Read<ToolCall>,
    read_result: fn(&Value) -> Read<ToolResult>,
    out: &mut Vec<Entry>,
) {
    let calls = read::list(message, "tool_calls").iter();
    out.extend(
        calls
            .filter_map(|item| read_call(item).ok())
            .map(Entry::Call),
    );
    out.extend(read_result(message).ok().map(Entry::Result));
}

pub(super) fn own_entries(message: &Value, out: &mut Vec<Entry>) {
    entries(message, read_call, read_result, out);
}
