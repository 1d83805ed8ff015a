//! Response bodies of our own, built event by event. Each test takes what it needs of them.
#![allow(dead_code)]

use serde_json::{Value, json};

/// One server-sent event.
pub(crate) fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// A chat chunk with this delta.
fn chat(delta: &Value) -> String {
    event(&json!({"choices": [{"index": 0, "delta": delta}]}))
}

/// The chunk that opens a call.
pub(crate) fn chat_open(index: u32, id: &str, name: &str) -> String {
    let function = json!({"name": name, "arguments": ""});
    chat(
        &json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]}),
    )
}

/// A chunk with the next piece of a call's arguments.
pub(crate) fn chat_piece(index: u32, text: &str) -> String {
    chat(&json!({"tool_calls": [{"index": index, "function": {"arguments": text}}]}))
}

pub(crate) fn chat_text(text: &str) -> String {
    chat(&json!({"content": text}))
}

/// The finish reason and the terminal.
pub(crate) fn chat_end() -> String {
    let reason = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]});
    event(&reason) + "data: [DONE]\n\n"
}

/// A named server-sent event.
fn named(data: &Value) -> String {
    let name = data["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n")
}

pub(crate) fn anthropic_start() -> String {
    named(
        &json!({"type": "message_start", "message": {"id": "msg_1", "content": [], "usage": {"input_tokens": 9}}}),
    )
}

pub(crate) fn anthropic_open(index: u32, id: &str, name: &str) -> String {
    let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
    named(&json!({"type": "content_block_start", "index": index, "content_block": block}))
}

pub(crate) fn anthropic_piece(index: u32, text: &str) -> String {
    let delta = json!({"type": "input_json_delta", "partial_json": text});
    named(&json!({"type": "content_block_delta", "index": index, "delta": delta}))
}

pub(crate) fn anthropic_text(index: u32, text: &str) -> String {
    let start = json!({"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}});
    let delta = json!({"type": "text_delta", "text": text});
    let delta = json!({"type": "content_block_delta", "index": index, "delta": delta});
    named(&start) + &named(&delta) + &anthropic_stop(index)
}

pub(crate) fn anthropic_stop(index: u32) -> String {
    named(&json!({"type": "content_block_stop", "index": index}))
}

/// A whole block: open, pieces, stop.
pub(crate) fn anthropic_call(index: u32, id: &str, name: &str, pieces: &[&str]) -> String {
    let pieces: String = pieces
        .iter()
        .map(|piece| anthropic_piece(index, piece))
        .collect();
    anthropic_open(index, id, name) + &pieces + &anthropic_stop(index)
}

pub(crate) fn anthropic_end() -> String {
    let delta = json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 7}});
    named(&delta) + &named(&json!({"type": "message_stop"}))
}

/// Two interleaved calls, text beside them, characters of two to four bytes, CRLF line ends in part.
pub(crate) fn chat_body() -> String {
    [
        chat_text("Let me look. 潮"),
        chat_open(0, "call_1", "get_tide"),
        chat_piece(0, "{\"port\":"),
        ": a comment\n\n".to_owned(),
        chat_open(3, "call_2", "get_wind"),
        chat_piece(3, "{\"mast\":\"Пýтник 😀"),
        chat_piece(0, "\"Oban\"}").replace('\n', "\r\n"),
        chat_piece(3, "\",\"at\":12.50}"),
        chat_end(),
    ]
    .concat()
}

/// Text, then two calls, the second after the first has stopped.
pub(crate) fn anthropic_body() -> String {
    [
        anthropic_start(),
        anthropic_text(0, "Two look-ups."),
        anthropic_call(1, "toolu_1", "get_tide", &["{\"port\"", ":\"Ob", "an\"}"]),
        "event: ping\ndata: {\"type\":\"ping\"}\n\n".to_owned(),
        anthropic_call(2, "toolu_2", "get_wind", &["{\"mast\":\"😀 п", "ý\"}"]),
        anthropic_end(),
    ]
    .concat()
}
