//! The pipeline one writes first for the formats that have no crate of types: frames, `serde_json::Value`, a map.

use bytes::Bytes;
use callstitch::WireFormat;
use eventsource_stream::Eventsource;
use futures::StreamExt;
use memchr::memchr;
use serde_json::Value;

use crate::peer::{Arguments, Call, Chunks, Peer, Reading, job, source};

pub const VALUES: Peer = Peer {
    name: "frames, serde_json::Value, a map",
    most_events: usize::MAX,
    prepare: |format, chunks| {
        let read = match format {
            WireFormat::Gemini => |chunks: &Chunks| sse(chunks, gemini),
            WireFormat::Cohere => |chunks: &Chunks| sse(chunks, cohere),
            WireFormat::Bedrock => bedrock,
            WireFormat::Ollama => ollama,
            _ => return None,
        };
        Some(job(chunks, read))
    },
};

fn sse(chunks: &Chunks, event: fn(Value, &mut Vec<Call>)) -> Reading {
    let mut events = source(chunks).eventsource();
    let mut reading = Reading::default();
    futures::executor::block_on(async {
        while let Some(sent) = events.next().await {
            let data = sent.expect("server-sent events").data;
            event(json(data.as_bytes()), &mut reading.calls);
        }
    });
    reading
}

fn json(payload: &[u8]) -> Value {
    serde_json::from_slice(payload).expect("JSON")
}

/// A string at a pointer, moved out.
fn take(value: &mut Value, pointer: &str) -> Option<String> {
    match value.pointer_mut(pointer)?.take() {
        Value::String(text) => Some(text),
        _ => None,
    }
}

fn append(call: Option<&mut Call>, piece: &str) {
    if let Some(Arguments::Text(text)) = call.map(|call| &mut call.arguments) {
        text.push_str(piece);
    }
}

fn gemini(mut event: Value, calls: &mut Vec<Call>) {
    let Some(parts) = event.pointer_mut("/candidates/0/content/parts") else {
        return;
    };
    for part in parts.as_array_mut().into_iter().flatten() {
        if let Some(name) = take(part, "/functionCall/name") {
            let arguments = part["functionCall"]["args"].take();
            calls.push(Call::new("", name, Arguments::Parsed(arguments)));
        }
    }
}

fn cohere(mut event: Value, calls: &mut Vec<Call>) {
    const CALL: &str = "/delta/message/tool_calls";
    match event["type"].as_str() {
        Some("tool-call-start") => {
            let id = take(&mut event, &format!("{CALL}/id")).unwrap_or_default();
            let name = take(&mut event, &format!("{CALL}/function/name")).unwrap_or_default();
            calls.push(Call::new(id, name, Arguments::Text(String::new())));
        }
        Some("tool-call-delta") => {
            let piece = &event["delta"]["message"]["tool_calls"]["function"]["arguments"];
            append(calls.last_mut(), piece.as_str().unwrap_or_default());
        }
        _ => {}
    }
}

/// Frames by their length; checksums are not looked at.
fn bedrock(chunks: &Chunks) -> Reading {
    let mut reading = Reading::default();
    let mut buffer = Vec::new();
    for chunk in chunks.iter() {
        buffer.extend_from_slice(chunk);
        let mut start = 0;
        while let Some(prelude) = buffer.get(start..start + 8) {
            let total = u32::from_be_bytes(prelude[..4].try_into().expect("four bytes")) as usize;
            let headers = u32::from_be_bytes(prelude[4..].try_into().expect("four bytes")) as usize;
            let Some(frame) = buffer.get(start..start + total) else {
                break;
            };
            let payload = &frame[12 + headers..total - 4];
            bedrock_event(json(payload), &mut reading.calls);
            start += total;
        }
        buffer.drain(..start);
    }
    reading
}

fn bedrock_event(mut event: Value, calls: &mut Vec<Call>) {
    if let Some(id) = take(&mut event, "/start/toolUse/toolUseId") {
        let name = take(&mut event, "/start/toolUse/name").unwrap_or_default();
        calls.push(Call::new(id, name, Arguments::Text(String::new())));
    } else if let Some(piece) = event["delta"]["toolUse"]["input"].as_str() {
        append(calls.last_mut(), piece);
    }
}

fn ollama(chunks: &Chunks) -> Reading {
    let mut reading = Reading::default();
    let mut carried = Vec::new();
    for chunk in chunks.iter() {
        let mut rest: &Bytes = chunk;
        let mut tail;
        while let Some(at) = memchr(b'\n', rest) {
            carried.extend_from_slice(&rest[..at]);
            ollama_line(json(&carried), &mut reading.calls);
            carried.clear();
            tail = rest.slice(at + 1..);
            rest = &tail;
        }
        carried.extend_from_slice(rest);
    }
    reading
}

fn ollama_line(mut line: Value, calls: &mut Vec<Call>) {
    let Some(sent) = line.pointer_mut("/message/tool_calls") else {
        return;
    };
    for call in sent.as_array_mut().into_iter().flatten() {
        let id = take(call, "/id").unwrap_or_default();
        let name = take(call, "/function/name").unwrap_or_default();
        let arguments = call["function"]["arguments"].take();
        calls.push(Call::new(id, name, Arguments::Parsed(arguments)));
    }
}
