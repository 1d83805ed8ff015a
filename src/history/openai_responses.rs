//! OpenAI Responses: calls and results are items of `input` (OpenAI API reference, "Create a model response",
//! `FunctionToolCall`, `CustomToolCall` and their outputs).

use serde_json::{Value, json};

use super::item::{Members, Node, takes, text};
use super::openai_native;
use super::read::{self, Read};
use super::result::{Answer, ToolResult};
use super::{Entry, HistoryFormat};
use crate::arguments::Arguments;
use crate::call::ToolCall;
use crate::delta::ToolKind;

/// The longest item id that OpenAI takes back.
const ITEM_ID: usize = 64;

pub(super) fn call(call: &ToolCall, id: &str) -> Node {
    let custom = *call.kind() == ToolKind::Custom;
    let item_id = call.item_id().filter(|id| id.len() <= ITEM_ID);
    if let Some(native) = openai_native::call(call, id, item_id) {
        return native;
    }
    let item = Members::new()
        .with(
            "type",
            if custom {
                "custom_tool_call"
            } else {
                "function_call"
            },
        )
        .with_some("id", item_id)
        .with("call_id", id)
        .with("name", call.name());
    let item = match custom {
        true => item.with("input", call.arguments().raw()),
        false => item.with("arguments", text(call)),
    };
    item.with_extras(call, HistoryFormat::OpenAiResponses)
        .into()
}

pub(super) fn read_call(item: &Value) -> Read<ToolCall> {
    if let Some(native) = openai_native::read_call(item) {
        return native;
    }
    let custom = read::is(item, "type", "custom_tool_call");
    if !custom && !read::is(item, "type", "function_call") {
        return Err(read::HistoryError::NotAnItem);
    }
    let arguments = match custom {
        true => {
            let input = read::text(item, "input").unwrap_or_default();
            Arguments::free_form(input, openai_native::is_cut(item))
        }
        false => openai_native::arguments(item, item.get("arguments")),
    };
    let own = [
        "type",
        "id",
        "call_id",
        "name",
        "arguments",
        "input",
        "status",
    ];
    let id = Some(read::required(item, "call_id")?);
    let name = read::required(item, "name")?;
    let mut call = read::call(id, name, arguments, read::extras(item, &own))?;
    call.0.item_id = read::text(item, "id");
    if custom {
        call.0.executor = openai_native::executor("custom_tool_call", item);
    }
    Ok(call)
}

pub(super) fn result(result: &ToolResult, id: &str) -> Value {
    if let Some(native) = openai_native::result(result, id) {
        return native;
    }
    let kind = match result.kind {
        ToolKind::Custom => "custom_tool_call_output",
        _ => "function_call_output",
    };
    let mut item = json!({ "type": kind, "call_id": id, "output": result.answer.to_text() });
    let caller = result.caller.as_ref();
    let caller = caller
        .filter(|caller| takes(HistoryFormat::OpenAiResponses, "caller", caller) == Some(true));
    if let (Some(caller), Value::Object(members)) = (caller, &mut item) {
        members.insert("caller".to_owned(), caller.clone());
    }
    item
}

pub(super) fn read_result(item: &Value) -> Read<ToolResult> {
    if let Some(native) = openai_native::read_result(item) {
        return native;
    }
    let custom = read::is(item, "type", "custom_tool_call_output");
    if !custom && !read::is(item, "type", "function_call_output") {
        return Err(read::HistoryError::NotAnItem);
    }
    let id = read::required(item, "call_id")?;
    let answer = Answer::Text(read::answer_text(item.get("output")));
    let mut result = ToolResult::stated(Some(id), None, answer);
    if custom {
        result.kind = ToolKind::Custom;
    }
    result.caller = item
        .get("caller")
        .filter(|caller| caller.is_object())
        .cloned();
    Ok(result)
}

/// The items themselves.
pub(super) fn items(items: Vec<Value>) -> Vec<Value> {
    items
}

pub(super) fn entries(item: &Value, out: &mut Vec<Entry>) {
    out.extend(read_call(item).ok().map(Entry::Call));
    out.extend(read_result(item).ok().map(Entry::Result));
}
