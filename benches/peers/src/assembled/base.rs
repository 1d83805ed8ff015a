//! The usual pipeline: eventsource-stream, serde_json into owned types, a map.

use eventsource_stream::Eventsource;
use futures::StreamExt;
use serde::Deserialize;

use super::{Calls, Event, events, reading};
use crate::peer::{Chunks, Peer, Reading, source};

pub const BASE: Peer = Peer {
    name: "BASE eventsource-stream, serde_json owned",
    most_events: usize::MAX,
    prepare: |format, chunks| events(format, chunks, read, [chat, anthropic, responses]),
};

fn read(chunks: &Chunks, event: Event) -> Reading {
    let mut events = source(chunks).eventsource();
    let mut calls = Calls::new();
    futures::executor::block_on(async {
        while let Some(sent) = events.next().await {
            let data = sent.expect("server-sent events").data;
            if data == "[DONE]" {
                break;
            }
            event(&data, &mut calls);
        }
    });
    reading(calls)
}

fn chat(data: &str, calls: &mut Calls) {
    let chunk: chat::Chunk = serde_json::from_str(data).expect("a chunk");
    for choice in chunk.choices {
        for call in choice.delta.tool_calls.unwrap_or_default() {
            let slot = calls.entry(call.index).or_default();
            if let Some(id) = call.id {
                slot.0 = id;
            }
            if let Some(function) = call.function {
                if let Some(name) = function.name {
                    slot.1 = name;
                }
                if let Some(arguments) = function.arguments {
                    slot.2.push_str(&arguments);
                }
            }
        }
    }
}

fn anthropic(data: &str, calls: &mut Calls) {
    match serde_json::from_str(data).expect("an event") {
        anthropic::Event::ContentBlockStart {
            index,
            content_block: anthropic::Block::ToolUse { id, name },
        } => {
            calls.insert(index, (id, name, String::new()));
        }
        anthropic::Event::ContentBlockDelta {
            index,
            delta: anthropic::Delta::InputJsonDelta { partial_json },
        } => calls.entry(index).or_default().2.push_str(&partial_json),
        _ => {}
    }
}

fn responses(data: &str, calls: &mut Calls) {
    match serde_json::from_str(data).expect("an event") {
        responses::Event::Added {
            output_index, item, ..
        } => {
            calls.insert(output_index, (item.call_id, item.name, String::new()));
        }
        responses::Event::Delta {
            output_index,
            delta,
            ..
        } => calls.entry(output_index).or_default().2.push_str(&delta),
        _ => {}
    }
}

mod chat {
    use super::*;

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "owned types carry what the wire does")]
    pub(super) struct Chunk {
        pub id: String,
        pub object: String,
        pub created: u64,
        pub model: String,
        pub service_tier: Option<String>,
        pub system_fingerprint: Option<String>,
        pub choices: Vec<Choice>,
        pub usage: Option<serde_json::Value>,
        pub obfuscation: Option<String>,
    }
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "owned types carry what the wire does")]
    pub(super) struct Choice {
        pub index: u32,
        pub delta: Delta,
        pub finish_reason: Option<String>,
    }
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "owned types carry what the wire does")]
    pub(super) struct Delta {
        pub role: Option<String>,
        pub content: Option<String>,
        pub refusal: Option<String>,
        pub tool_calls: Option<Vec<Call>>,
    }
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "owned types carry what the wire does")]
    pub(super) struct Call {
        pub index: i64,
        pub id: Option<String>,
        #[serde(rename = "type")]
        pub kind: Option<String>,
        pub function: Option<Function>,
    }
    #[derive(Deserialize)]
    pub(super) struct Function {
        pub name: Option<String>,
        pub arguments: Option<String>,
    }
}

mod anthropic {
    use super::*;

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "owned types carry what the wire does")]
    #[serde(tag = "type", rename_all = "snake_case")]
    pub(super) enum Event {
        MessageStart { message: serde_json::Value },
        Ping,
        ContentBlockStart { index: i64, content_block: Block },
        ContentBlockDelta { index: i64, delta: Delta },
        ContentBlockStop { index: i64 },
        MessageDelta { delta: serde_json::Value },
        MessageStop,
    }
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "owned types carry what the wire does")]
    #[serde(tag = "type", rename_all = "snake_case")]
    pub(super) enum Block {
        ToolUse { id: String, name: String },
        Text { text: String },
    }
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "owned types carry what the wire does")]
    #[serde(tag = "type", rename_all = "snake_case")]
    pub(super) enum Delta {
        InputJsonDelta { partial_json: String },
        TextDelta { text: String },
    }
}

mod responses {
    use super::*;

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "owned types carry what the wire does")]
    #[serde(tag = "type")]
    pub(super) enum Event {
        #[serde(rename = "response.created")]
        Created {
            sequence_number: u64,
            response: serde_json::Value,
        },
        #[serde(rename = "response.output_item.added")]
        Added {
            sequence_number: u64,
            output_index: i64,
            item: Item,
        },
        #[serde(rename = "response.function_call_arguments.delta")]
        Delta {
            sequence_number: u64,
            item_id: String,
            output_index: i64,
            delta: String,
            obfuscation: Option<String>,
        },
        #[serde(rename = "response.output_text.delta")]
        Text {
            sequence_number: u64,
            item_id: String,
            output_index: i64,
            delta: String,
        },
        #[serde(rename = "response.function_call_arguments.done")]
        Done {
            sequence_number: u64,
            output_index: i64,
            arguments: String,
        },
        #[serde(rename = "response.output_item.done")]
        ItemDone {
            sequence_number: u64,
            output_index: i64,
            item: Item,
        },
        #[serde(rename = "response.completed")]
        Completed {
            sequence_number: u64,
            response: serde_json::Value,
        },
    }
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "owned types carry what the wire does")]
    pub(super) struct Item {
        pub id: String,
        pub call_id: String,
        pub name: String,
        pub arguments: String,
        pub status: String,
    }
}
