//! Ollama `/api/chat`: a call is an element of `tool_calls` with an object, a result a message of the role `tool` that names
//! the tool (Ollama API, "Generate a chat completion"). Ids are recent; older servers ignore them.

use serde_json::{Map, Value, json};

use super::item::{Members, Node, object};
use super::openai_chat;
use super::read::{self, Read};
use super::result::ToolResult;
use super::{Entry, HistoryFormat};
use crate::call::ToolCall;

/// An id that was made here is left out: older servers know none, and pair by order.
pub(super) fn call(call: &ToolCall, id: &str) -> Node {
    let id = Some(id).filter(|_| !call.is_synthetic_id());
    let function = Members::new()
        .with("name", call.name())
        .with("arguments", object(call));
    Members::new()
        .with_some("id", id)
        .with("function", function)
        .with_extras(call, HistoryFormat::Ollama)
        .into()
}

pub(super) fn read_call(item: &Value) -> Read<ToolCall> {
    let function = item.get("function").ok_or(read::HistoryError::NotAnItem)?;
    read::call(
        read::label(item, "id"),
        read::required(function, "name")?,
        read::text_arguments(function.get("arguments")),
        read::extras(item, &["id", "type", "function"]),
    )
}

pub(super) fn result(result: &ToolResult, id: &str) -> Value {
    let mut message = Map::new();
    message.insert("role".to_owned(), "tool".into());
    message.insert("tool_name".to_owned(), result.name.as_str().into());
    if !result.synthetic_id && !id.is_empty() {
        message.insert("tool_call_id".to_owned(), id.into());
    }
    message.insert("content".to_owned(), result.answer.to_text().into());
    Value::Object(message)
}

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
