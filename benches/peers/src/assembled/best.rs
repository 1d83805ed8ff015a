//! The best parts there are: sse-stream, sonic-rs into borrowed types, a map.

use std::borrow::Cow;

use futures::StreamExt;
use serde::Deserialize;
use sse_stream::SseStream;

use super::{Calls, Event, events, reading};
use crate::peer::{Chunks, Peer, Reading, source};

pub const BEST_PARTS: Peer = Peer {
    name: "BEST PARTS sse-stream, sonic-rs borrowed",
    most_events: usize::MAX,
    prepare: |format, chunks| events(format, chunks, read, [chat, anthropic, responses]),
};

fn read(chunks: &Chunks, event: Event) -> Reading {
    let mut events = SseStream::from_bytes_stream(source(chunks));
    let mut calls = Calls::new();
    futures::executor::block_on(async {
        while let Some(sent) = events.next().await {
            let Some(data) = sent.expect("server-sent events").data else {
                continue;
            };
            if data == "[DONE]" {
                break;
            }
            event(&data, &mut calls);
        }
    });
    reading(calls)
}

fn chat(data: &str, calls: &mut Calls) {
    let chunk: chat::Chunk = sonic_rs::from_str(data).expect("a chunk");
    for choice in chunk.choices {
        for call in choice.delta.tool_calls.unwrap_or_default() {
            let slot = calls.entry(call.index).or_default();
            if let Some(id) = call.id {
                slot.0 = id.0.into_owned();
            }
            if let Some(function) = call.function {
                if let Some(name) = function.name {
                    slot.1 = name.0.into_owned();
                }
                if let Some(arguments) = function.arguments {
                    slot.2.push_str(&arguments.0);
                }
            }
        }
    }
}

fn anthropic(data: &str, calls: &mut Calls) {
    let event: anthropic::Event = sonic_rs::from_str(data).expect("an event");
    match event.kind {
        "content_block_start" => {
            if let Some(anthropic::Block {
                id: Some(id),
                name: Some(name),
            }) = event.content_block
            {
                calls.insert(
                    event.index,
                    (id.0.into_owned(), name.0.into_owned(), String::new()),
                );
            }
        }
        "content_block_delta" => {
            if let Some(piece) = event.delta.and_then(|delta| delta.partial_json) {
                calls.entry(event.index).or_default().2.push_str(&piece.0);
            }
        }
        _ => {}
    }
}

fn responses(data: &str, calls: &mut Calls) {
    let event: responses::Event = sonic_rs::from_str(data).expect("an event");
    match event.kind {
        "response.output_item.added" => {
            if let Some(responses::Item {
                call_id: Some(id),
                name: Some(name),
            }) = event.item
            {
                calls.insert(
                    event.output_index,
                    (id.0.into_owned(), name.0.into_owned(), String::new()),
                );
            }
        }
        "response.function_call_arguments.delta" => {
            if let Some(piece) = event.delta {
                calls
                    .entry(event.output_index)
                    .or_default()
                    .2
                    .push_str(&piece.0);
            }
        }
        _ => {}
    }
}

/// Borrowed unless it holds an escape. serde borrows a `Cow` that is a field, but not one in an `Option`.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

mod chat {
    use super::*;

    #[derive(Deserialize)]
    pub(super) struct Chunk<'a> {
        #[serde(borrow)]
        pub choices: Vec<Choice<'a>>,
    }
    #[derive(Deserialize)]
    pub(super) struct Choice<'a> {
        #[serde(borrow)]
        pub delta: Delta<'a>,
    }
    #[derive(Deserialize)]
    pub(super) struct Delta<'a> {
        #[serde(borrow, default)]
        pub tool_calls: Option<Vec<Call<'a>>>,
    }
    #[derive(Deserialize)]
    pub(super) struct Call<'a> {
        pub index: i64,
        #[serde(borrow, default)]
        pub id: Option<Text<'a>>,
        #[serde(borrow, default)]
        pub function: Option<Function<'a>>,
    }
    #[derive(Deserialize)]
    pub(super) struct Function<'a> {
        #[serde(borrow, default)]
        pub name: Option<Text<'a>>,
        #[serde(borrow, default)]
        pub arguments: Option<Text<'a>>,
    }
}

mod anthropic {
    use super::*;

    #[derive(Deserialize)]
    pub(super) struct Event<'a> {
        #[serde(borrow, rename = "type")]
        pub kind: &'a str,
        #[serde(default)]
        pub index: i64,
        #[serde(borrow, default)]
        pub delta: Option<Delta<'a>>,
        #[serde(borrow, default)]
        pub content_block: Option<Block<'a>>,
    }
    #[derive(Deserialize)]
    pub(super) struct Delta<'a> {
        #[serde(borrow, default)]
        pub partial_json: Option<Text<'a>>,
    }
    #[derive(Deserialize)]
    pub(super) struct Block<'a> {
        #[serde(borrow, default)]
        pub id: Option<Text<'a>>,
        #[serde(borrow, default)]
        pub name: Option<Text<'a>>,
    }
}

mod responses {
    use super::*;

    #[derive(Deserialize)]
    pub(super) struct Event<'a> {
        #[serde(borrow, rename = "type")]
        pub kind: &'a str,
        #[serde(default)]
        pub output_index: i64,
        #[serde(borrow, default)]
        pub delta: Option<Text<'a>>,
        #[serde(borrow, default)]
        pub item: Option<Item<'a>>,
    }
    #[derive(Deserialize)]
    pub(super) struct Item<'a> {
        #[serde(borrow, default)]
        pub call_id: Option<Text<'a>>,
        #[serde(borrow, default)]
        pub name: Option<Text<'a>>,
    }
}
