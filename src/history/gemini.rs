//! Gemini `generateContent`: calls and results are parts; the thought signature stands beside its `functionCall` and must come
//! back with it (Gemini API, `FunctionCall`, `FunctionResponse`, "Thought signatures").

use serde_json::{Map, Value, json};

use super::item::{Members, Node, object};
use super::read::{self, Read};
use super::result::{Answer, ToolResult};
use super::{Entry, HistoryFormat};
use crate::call::ToolCall;

/// An id that was made here is left out: this wire pairs by order where it gave none.
pub(super) fn call(call: &ToolCall, id: &str) -> Node {
    let id = Some(id).filter(|_| !call.is_synthetic_id());
    let function = Members::new()
        .with_some("id", id)
        .with("name", call.name())
        .with("args", object(call));
    Members::new()
        .with("functionCall", function)
        .with_extras(call, HistoryFormat::Gemini)
        .into()
}

pub(super) fn read_call(part: &Value) -> Read<ToolCall> {
    let function = part
        .get("functionCall")
        .ok_or(read::HistoryError::NotAnItem)?;
    read::call(
        read::label(function, "id"),
        read::required(function, "name")?,
        read::object_arguments(function.get("args")),
        read::extras(part, &["functionCall"]),
    )
}

pub(super) fn result(result: &ToolResult, id: &str) -> Value {
    let mut function = Map::new();
    if !result.synthetic_id && !id.is_empty() {
        function.insert("id".to_owned(), id.into());
    }
    function.insert("name".to_owned(), result.name.as_str().into());
    function.insert("response".to_owned(), response(&result.answer));
    json!({ "functionResponse": function })
}

/// Always an object: `output` and `error` are the keys that the API reads, and an object without either is the output itself.
fn response(answer: &Answer) -> Value {
    match answer {
        Answer::Text(text) => json!({ "output": text }),
        Answer::Error(why) => json!({ "error": why }),
        Answer::Json(Value::Object(object))
            if !object.contains_key("output") && !object.contains_key("error") =>
        {
            Value::Object(object.clone())
        }
        Answer::Json(value) => json!({ "output": value }),
    }
}

pub(super) fn read_result(part: &Value) -> Read<ToolResult> {
    let function = part
        .get("functionResponse")
        .ok_or(read::HistoryError::NotAnItem)?;
    let response = function.get("response").cloned().unwrap_or_default();
    let only = |key: &str| match &response {
        Value::Object(object) if object.len() == 1 => object.get(key).cloned(),
        _ => None,
    };
    let answer = match (only("output"), only("error")) {
        (Some(Value::String(text)), _) => Answer::Text(text),
        (Some(value), _) => Answer::Json(value),
        (_, Some(Value::String(why))) => Answer::Error(why),
        (_, Some(why)) => Answer::Error(why.to_string()),
        _ => Answer::Json(response),
    };
    // Pictures and files stand beside the response.
    let parts = read::answer_text(function.get("parts"));
    let answer = match answer {
        answer if parts.is_empty() => answer,
        Answer::Error(why) => Answer::Error(format!("{why}\n{parts}")),
        answer => Answer::Text(format!("{}\n{parts}", answer.to_text())),
    };
    let name = read::required(function, "name")?;
    Ok(ToolResult::stated(
        read::label(function, "id"),
        Some(name),
        answer,
    ))
}

/// One message of the model with all calls.
pub(super) fn calls_message(items: Vec<Value>) -> Vec<Value> {
    vec![json!({ "role": "model", "parts": items })]
}

/// One message with all results, in the order of the calls.
pub(super) fn results_message(items: Vec<Value>) -> Vec<Value> {
    vec![json!({ "role": "user", "parts": items })]
}

pub(super) fn entries(content: &Value, out: &mut Vec<Entry>) {
    for part in read::list(content, "parts") {
        out.extend(read_call(part).ok().map(Entry::Call));
        out.extend(read_result(part).ok().map(Entry::Result));
    }
}
