//! Anthropic Messages: calls and results are content blocks, a result in the user message that follows (Anthropic API,
//! "Messages", `ToolUseBlockParam` and `ToolResultBlockParam`).

use serde_json::{Value, json};

use super::item::{Members, Node, object};
use super::read::{self, Read};
use super::result::{Answer, ToolResult};
use super::{Entry, HistoryFormat};
use crate::call::ToolCall;

pub(super) fn call(call: &ToolCall, id: &str) -> Node {
    Members::new()
        .with("type", "tool_use")
        .with("id", id)
        .with("name", call.name())
        .with("input", object(call))
        .with_extras(call, HistoryFormat::Anthropic)
        .into()
}

pub(super) fn read_call(block: &Value) -> Read<ToolCall> {
    if !read::is(block, "type", "tool_use") {
        return Err(read::HistoryError::NotAnItem);
    }
    let own = ["type", "id", "name", "input"];
    read::call(
        Some(read::required(block, "id")?),
        read::required(block, "name")?,
        read::object_arguments(block.get("input")),
        read::extras(block, &own),
    )
}

pub(super) fn result(result: &ToolResult, id: &str) -> Value {
    match &result.answer {
        Answer::Error(why) => {
            json!({ "type": "tool_result", "tool_use_id": id, "content": why, "is_error": true })
        }
        answer => json!({ "type": "tool_result", "tool_use_id": id, "content": answer.to_text() }),
    }
}

pub(super) fn read_result(block: &Value) -> Read<ToolResult> {
    if !read::is(block, "type", "tool_result") {
        return Err(read::HistoryError::NotAnItem);
    }
    let id = read::required(block, "tool_use_id")?;
    let text = read::answer_text(block.get("content"));
    let answer = match block.get("is_error") {
        Some(Value::Bool(true)) => Answer::Error(text),
        _ => Answer::Text(text),
    };
    Ok(ToolResult::stated(Some(id), None, answer))
}

/// One assistant message with all calls.
pub(super) fn calls_message(items: Vec<Value>) -> Vec<Value> {
    vec![json!({ "role": "assistant", "content": items })]
}

/// One user message with all results: this wire refuses to have them spread.
pub(super) fn results_message(items: Vec<Value>) -> Vec<Value> {
    vec![json!({ "role": "user", "content": items })]
}

pub(super) fn entries(message: &Value, out: &mut Vec<Entry>) {
    for block in read::list(message, "content") {
        out.extend(read_call(block).ok().map(Entry::Call));
        out.extend(read_result(block).ok().map(Entry::Result));
    }
}
