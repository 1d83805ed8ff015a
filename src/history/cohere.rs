//! Cohere v2 chat: as OpenAI's, without custom tools (Cohere API v2, `ToolCallV2` and `ToolChatMessageV2`).

use serde_json::{Value, json};

use super::item::Node;
use super::openai_chat;
use super::read::Read;
use super::{Entry, HistoryFormat};
use crate::call::ToolCall;

pub(super) fn call(call: &ToolCall, id: &str) -> Node {
    let item = openai_chat::function_item(call, id);
    item.with_extras(call, HistoryFormat::Cohere).into()
}

pub(super) fn read_call(item: &Value) -> Read<ToolCall> {
    openai_chat::read_call(item)
}

/// One assistant message with all calls; `content` is left out, which this wire wants to be text or absent.
pub(super) fn calls_message(items: Vec<Value>) -> Vec<Value> {
    vec![json!({ "role": "assistant", "tool_calls": items })]
}

pub(super) fn entries(message: &Value, out: &mut Vec<Entry>) {
    openai_chat::entries(message, read_call, openai_chat::read_result, out);
}
