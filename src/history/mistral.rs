//! Mistral chat: as OpenAI's, without custom tools, with ids of nine letters and digits, and the tool's name in the result
//! (Mistral API, `ToolCall` and `ToolMessage`).

use serde_json::{Value, json};

use super::item::Node;
use super::openai_chat;
use super::read::{self, Read};
use super::result::ToolResult;
use super::{Entry, HistoryFormat};
use crate::call::ToolCall;

pub(super) fn call(call: &ToolCall, id: &str) -> Node {
    let item = openai_chat::function_item(call, id);
    item.with_extras(call, HistoryFormat::Mistral).into()
}

/// The id `"null"` is the SDK's default for none (WIRE_FORMATS 7.1).
pub(super) fn read_call(item: &Value) -> Read<ToolCall> {
    let function = item.get("function").ok_or(read::HistoryError::NotAnItem)?;
    let id = read::label(item, "id");
    let arguments = read::text_arguments(function.get("arguments"));
    let extras = read::extras(item, &["id", "type", "function", "index"]);
    read::call(id, read::required(function, "name")?, arguments, extras)
}

pub(super) fn result(result: &ToolResult, id: &str) -> Value {
    let content = result.answer.to_text();
    let mut message =
        json!({ "role": "tool", "tool_call_id": id, "name": result.name, "content": content });
    if let Value::Object(members) = &mut message {
        members.retain(|key, _| match key.as_str() {
            // None is made up: no call has it.
            "tool_call_id" => result.call_id.is_some(),
            "name" => !result.name.is_empty(),
            _ => true,
        });
    }
    message
}

/// As a call, it may be without an id.
pub(super) fn read_result(message: &Value) -> Read<ToolResult> {
    openai_chat::tool_message(message)
}

/// One assistant message with all calls.
pub(super) fn calls_message(items: Vec<Value>) -> Vec<Value> {
    vec![json!({ "role": "assistant", "content": "", "tool_calls": items })]
}

pub(super) fn entries(message: &Value, out: &mut Vec<Entry>) {
    openai_chat::entries(message, read_call, read_result, out);
}
