//! AWS Bedrock Converse: calls and results are content blocks (Amazon Bedrock API reference, `ToolUseBlock` and
//! `ToolResultBlock`).

use serde_json::{Value, json};

use super::item::{Members, Node, object};
use super::read::{self, Read};
use super::result::{Answer, ToolResult};
use super::{Entry, HistoryFormat};
use crate::call::ToolCall;
use crate::delta::Executor;
use crate::wire::SERVER_TOOL_USE;

pub(super) fn call(call: &ToolCall, id: &str) -> Node {
    let tool_use = Members::new()
        .with("toolUseId", id)
        .with("name", call.name())
        .with("input", object(call))
        .with_extras(call, HistoryFormat::Bedrock);
    Members::new().with("toolUse", tool_use).into()
}

pub(super) fn read_call(block: &Value) -> Read<ToolCall> {
    let tool_use = block.get("toolUse").ok_or(read::HistoryError::NotAnItem)?;
    let mut call = read::call(
        Some(read::required(tool_use, "toolUseId")?),
        read::required(tool_use, "name")?,
        read::object_arguments(tool_use.get("input")),
        read::extras(tool_use, &["toolUseId", "name", "input", "type"]),
    )?;
    if read::is(tool_use, "type", SERVER_TOOL_USE) {
        call.0.executor = Executor::Provider;
    }
    Ok(call)
}

/// `json` takes an object only; other values go as their text.
pub(super) fn result(result: &ToolResult, id: &str) -> Value {
    let (content, status) = match &result.answer {
        Answer::Json(value @ Value::Object(_)) => (json!({ "json": value }), "success"),
        Answer::Error(why) => (json!({ "text": why }), "error"),
        answer => (json!({ "text": answer.to_text() }), "success"),
    };
    json!({ "toolResult": { "toolUseId": id, "content": [content], "status": status } })
}

pub(super) fn read_result(block: &Value) -> Read<ToolResult> {
    let result = block
        .get("toolResult")
        .ok_or(read::HistoryError::NotAnItem)?;
    let id = read::required(result, "toolUseId")?;
    let text = || read::answer_text(result.get("content"));
    let answer = match read::list(result, "content") {
        _ if read::is(result, "status", "error") => Answer::Error(text()),
        [one] if one.get("json").is_some() => {
            Answer::Json(one.get("json").cloned().unwrap_or_default())
        }
        _ => Answer::Text(text()),
    };
    Ok(ToolResult::stated(Some(id), None, answer))
}

/// One assistant message with all calls.
pub(super) fn calls_message(items: Vec<Value>) -> Vec<Value> {
    vec![json!({ "role": "assistant", "content": items })]
}

/// One user message with all results.
pub(super) fn results_message(items: Vec<Value>) -> Vec<Value> {
    vec![json!({ "role": "user", "content": items })]
}

pub(super) fn entries(message: &Value, out: &mut Vec<Entry>) {
    for block in read::list(message, "content") {
        out.extend(read_call(block).ok().map(Entry::Call));
        out.extend(read_result(block).ok().map(Entry::Result));
    }
}
