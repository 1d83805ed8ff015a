//! Builders of wire text, small enough to read a test's stream at a glance.

use serde_json::{Value, json};

/// The terminal of the chat wires.
pub const DONE: &str = "data: [DONE]\n\n";

/// One server-sent event without a name.
pub fn data(payload: &Value) -> String {
    format!("data: {payload}\n\n")
}

/// One server-sent event named after its own `type`, as Anthropic sends it.
pub fn event(payload: &Value) -> String {
    let kind = payload["type"].as_str().unwrap_or_default();
    format!("event: {kind}\ndata: {payload}\n\n")
}

/// A chat chunk with these choices.
pub fn choices(choices: Value) -> String {
    data(&json!({"id": "chatcmpl-t", "object": "chat.completion.chunk", "choices": choices}))
}

/// A chat chunk whose one choice has this delta.
pub fn delta(delta: Value) -> String {
    choices(json!([{"index": 0, "delta": delta, "finish_reason": null}]))
}

/// A chat chunk with these entries of `tool_calls`.
pub fn calls(entries: Value) -> String {
    delta(json!({ "tool_calls": entries }))
}

/// The opening entry of a call: its index, its id, its name, its first text.
pub fn opening(index: impl Into<Option<i64>>, id: &str, name: &str, text: &str) -> String {
    let function = json!({"name": name, "arguments": text});
    match index.into() {
        Some(index) => {
            calls(json!([{"index": index, "id": id, "type": "function", "function": function}]))
        }
        None => calls(json!([{"id": id, "type": "function", "function": function}])),
    }
}

/// The continuing entry of a call: its index, its next text.
pub fn piece(index: impl Into<Option<i64>>, text: &str) -> String {
    match index.into() {
        Some(index) => calls(json!([{"index": index, "function": {"arguments": text}}])),
        None => calls(json!([{"function": {"arguments": text}}])),
    }
}

/// A chat chunk with a finish reason.
pub fn reason(reason: &str) -> String {
    choices(json!([{"index": 0, "delta": {}, "finish_reason": reason}]))
}

/// These chat chunks, a finish reason and the terminal.
pub fn finished(chunks: &[String]) -> String {
    [chunks.concat(), reason("tool_calls"), DONE.to_owned()].concat()
}

/// Anthropic's opening event.
pub fn message_start() -> String {
    event(
        &json!({"type": "message_start", "message": {"id": "msg_t", "type": "message", "role": "assistant",
        "content": [], "stop_reason": null, "usage": {"input_tokens": 9, "output_tokens": 1}}}),
    )
}

/// The start of an Anthropic block.
pub fn block_start(index: i64, block: Value) -> String {
    event(&json!({"type": "content_block_start", "index": index, "content_block": block}))
}

/// The start of an Anthropic `tool_use` block with an empty input.
pub fn tool_start(index: i64, id: &str, name: &str) -> String {
    block_start(
        index,
        json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
    )
}

/// A piece of an Anthropic block's input.
pub fn input(index: i64, text: &str) -> String {
    event(&json!({"type": "content_block_delta", "index": index,
        "delta": {"type": "input_json_delta", "partial_json": text}}))
}

/// The stop of an Anthropic block.
pub fn block_stop(index: i64) -> String {
    event(&json!({"type": "content_block_stop", "index": index}))
}

/// Anthropic's `message_delta` with a stop reason.
pub fn message_delta(reason: &str) -> String {
    event(
        &json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
        "usage": {"output_tokens": 9}}),
    )
}

/// Anthropic's terminal.
pub fn message_stop() -> String {
    event(&json!({"type": "message_stop"}))
}

/// An Anthropic message around these events.
pub fn message(reason: &str, events: &[String]) -> String {
    [
        message_start(),
        events.concat(),
        message_delta(reason),
        message_stop(),
    ]
    .concat()
}
