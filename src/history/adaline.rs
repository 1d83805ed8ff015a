//! Adaline: the flat part `{modality, index, id, name, arguments, serverName?}` (Adaline API types, `ToolCallContent`), and the
//! part that answers it (`ToolResponseContent`: the same keys, with `data` as text).

use serde_json::{Map, Value, json};

use super::item::{Members, Node, text};
use super::read::{self, HistoryError, Read};
use super::result::{Answer, ToolResult};
use super::{Entry, HistoryFormat};
use crate::call::{CallIndex, ToolCall};

pub(super) fn call(call: &ToolCall, id: &str) -> Node {
    Members::new()
        .with("modality", "tool-call")
        .with("index", call.index().get())
        .with("id", id)
        .with("name", call.name())
        .with("arguments", text(call))
        .with_some("serverName", call.server_name())
        .with_extras(call, HistoryFormat::Adaline)
        .into()
}

pub(super) fn read_call(part: &Value) -> Read<ToolCall> {
    if !read::is(part, "modality", "tool-call") {
        return Err(HistoryError::Member("modality"));
    }
    let arguments = part.get("arguments").filter(|text| text.is_string());
    if arguments.is_none() {
        return Err(HistoryError::Member("arguments"));
    }
    let own = ["modality", "index", "id", "name", "arguments", "serverName"];
    let mut call = read::call(
        Some(read::required(part, "id")?),
        read::required(part, "name")?,
        read::text_arguments(arguments),
        read::extras(part, &own),
    )?;
    call.0.index = index(part)?;
    call.0.server_name = read::text(part, "serverName");
    Ok(call)
}

/// A whole number from 0.
fn index(part: &Value) -> Read<CallIndex> {
    let index = part.get("index").and_then(Value::as_u64);
    let index = index.and_then(|index| u32::try_from(index).ok());
    index.map(CallIndex).ok_or(HistoryError::Member("index"))
}

pub(super) fn result(result: &ToolResult, id: &str) -> Value {
    let mut part = Map::new();
    part.insert("modality".to_owned(), "tool-response".into());
    part.insert("index".to_owned(), result.index.get().into());
    part.insert("id".to_owned(), id.into());
    part.insert("name".to_owned(), result.name.as_str().into());
    part.insert("data".to_owned(), result.answer.to_text().into());
    Value::Object(part)
}

pub(super) fn read_result(part: &Value) -> Read<ToolResult> {
    if !read::is(part, "modality", "tool-response") {
        return Err(HistoryError::Member("modality"));
    }
    let id = read::required(part, "id")?;
    let answer = Answer::Text(read::answer_text(part.get("data")));
    let mut result = ToolResult::stated(Some(id), read::text(part, "name"), answer);
    result.index = index(part)?;
    Ok(result)
}

/// One assistant message with all calls.
pub(super) fn calls_message(items: Vec<Value>) -> Vec<Value> {
    vec![json!({ "role": "assistant", "content": items })]
}

/// One message with all results.
pub(super) fn results_message(items: Vec<Value>) -> Vec<Value> {
    vec![json!({ "role": "tool", "content": items })]
}

pub(super) fn entries(message: &Value, out: &mut Vec<Entry>) {
    for part in read::list(message, "content") {
        out.extend(read_call(part).ok().map(Entry::Call));
        out.extend(read_result(part).ok().map(Entry::Result));
    }
}
