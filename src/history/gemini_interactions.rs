//! Gemini Interactions: calls and results are steps of `input` (Gemini API, "Interactions", `FunctionCallStep` and
//! `FunctionResultStep`).

use serde_json::{Map, Value};

use super::item::{Members, Node, object};
use super::read::{self, Read};
use super::result::{Answer, ToolResult};
use super::{Entry, HistoryFormat};
use crate::call::ToolCall;

pub(super) fn call(call: &ToolCall, id: &str) -> Node {
    Members::new()
        .with("type", "function_call")
        .with("id", id)
        .with("name", call.name())
        .with("arguments", object(call))
        .with_extras(call, HistoryFormat::GeminiInteractions)
        .into()
}

pub(super) fn read_call(step: &Value) -> Read<ToolCall> {
    if !read::is(step, "type", "function_call") {
        return Err(read::HistoryError::NotAnItem);
    }
    read::call(
        Some(read::required(step, "id")?),
        read::required(step, "name")?,
        read::object_arguments(step.get("arguments")),
        read::extras(step, &["type", "id", "name", "arguments"]),
    )
}

pub(super) fn result(result: &ToolResult, id: &str) -> Value {
    let mut step = Map::new();
    step.insert("type".to_owned(), "function_result".into());
    step.insert("call_id".to_owned(), id.into());
    if !result.name.is_empty() {
        step.insert("name".to_owned(), result.name.as_str().into());
    }
    let value = match &result.answer {
        // An object is a structured result; lists are lists of content parts on this wire.
        Answer::Json(value @ Value::Object(_)) => value.clone(),
        Answer::Error(why) => why.as_str().into(),
        answer => answer.to_text().into(),
    };
    step.insert("result".to_owned(), value);
    if result.answer.is_error() {
        step.insert("is_error".to_owned(), true.into());
    }
    Value::Object(step)
}

pub(super) fn read_result(step: &Value) -> Read<ToolResult> {
    if !read::is(step, "type", "function_result") {
        return Err(read::HistoryError::NotAnItem);
    }
    let id = read::required(step, "call_id")?;
    let value = step.get("result").cloned().unwrap_or_default();
    let answer = match (value, step.get("is_error")) {
        (value, Some(Value::Bool(true))) => Answer::Error(read::answer_text(Some(&value))),
        (Value::String(text), _) => Answer::Text(text),
        (value, _) => Answer::Json(value),
    };
    Ok(ToolResult::stated(
        Some(id),
        read::text(step, "name"),
        answer,
    ))
}

/// The steps themselves.
pub(super) fn items(items: Vec<Value>) -> Vec<Value> {
    items
}

pub(super) fn entries(step: &Value, out: &mut Vec<Entry>) {
    out.extend(read_call(step).ok().map(Entry::Call));
    out.extend(read_result(step).ok().map(Entry::Result));
}
