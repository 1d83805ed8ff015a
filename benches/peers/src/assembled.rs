//! What is compared. Each gathers every argument fragment and gives name and text of each call.

use std::collections::HashMap;

use callstitch::{Config, Event, ToolCallParser, WireFormat};
use eventsource_stream::Eventsource;
use futures::StreamExt;
use serde::Deserialize;

use super::transcripts::Provider;

#[derive(Clone, Copy)]
pub enum Pipeline {
    Callstitch,
    /// The same without the memory of the last event.
    CallstitchForgetful,
    /// The usual hand-written pipeline.
    Base,
    /// The best parts one can assemble.
    BestParts,
}

impl Pipeline {
    pub const ALL: [Pipeline; 4] = [
        Pipeline::Callstitch,
        Pipeline::CallstitchForgetful,
        Pipeline::Base,
        Pipeline::BestParts,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Pipeline::Callstitch => "callstitch",
            Pipeline::CallstitchForgetful => "callstitch, every event parsed",
            Pipeline::Base => "BASE eventsource-stream + serde_json owned",
            Pipeline::BestParts => "BEST PARTS sse-stream + sonic-rs borrowed",
        }
    }

    pub fn run(self, provider: Provider, chunks: &[&[u8]]) -> Vec<(String, String)> {
        match self {
            Pipeline::Callstitch => callstitch(provider, chunks, true),
            Pipeline::CallstitchForgetful => callstitch(provider, chunks, false),
            Pipeline::Base => base(provider, chunks),
            Pipeline::BestParts => best(provider, chunks),
        }
    }
}

fn callstitch(provider: Provider, chunks: &[&[u8]], remember: bool) -> Vec<(String, String)> {
    let format = match provider {
        Provider::Chat => WireFormat::OpenAiChat,
        Provider::Anthropic => WireFormat::Anthropic,
        Provider::Responses => WireFormat::OpenAiResponses,
    };
    let mut parser =
        ToolCallParser::with_config(format, Config::default().remember_events(remember));
    let mut calls = Vec::new();
    let mut take = |event: Result<Event<'_>, callstitch::Error>| {
        if let Event::CallCompleted(call) = event.expect("a clean stream") {
            calls.push((call.name().to_owned(), call.arguments().raw().to_owned()));
        }
    };
    for chunk in chunks {
        parser.push(chunk).for_each(&mut take);
    }
    parser.finish().for_each(&mut take);
    calls
}

mod chat {
    use super::*;
    #[derive(Deserialize)]
    #[allow(dead_code)]
    pub struct Chunk {
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
    #[allow(dead_code)]
    pub struct Choice {
        pub index: u32,
        pub delta: Delta,
        pub finish_reason: Option<String>,
    }
    #[derive(Deserialize)]
    #[allow(dead_code)]
    pub struct Delta {
        pub role: Option<String>,
        pub content: Option<String>,
        pub refusal: Option<String>,
        pub tool_calls: Option<Vec<Call>>,
    }
    #[derive(Deserialize)]
    #[allow(dead_code)]
    pub struct Call {
        pub index: i64,
        pub id: Option<String>,
        #[serde(rename = "type")]
        pub kind: Option<String>,
        pub function: Option<Function>,
    }
    #[derive(Deserialize)]
    pub struct Function {
        pub name: Option<String>,
        pub arguments: Option<String>,
    }
    use std::borrow::Cow;
    #[derive(Deserialize)]
    pub struct BChunk<'a> {
        #[serde(borrow)]
        pub choices: Vec<BChoice<'a>>,
    }
    #[derive(Deserialize)]
    pub struct BChoice<'a> {
        #[serde(borrow)]
        pub delta: BDelta<'a>,
    }
    #[derive(Deserialize)]
    #[allow(dead_code)]
    pub struct BDelta<'a> {
        #[serde(borrow, default)]
        pub content: Option<Cow<'a, str>>,
        #[serde(borrow, default)]
        pub tool_calls: Option<Vec<BCall<'a>>>,
    }
    #[derive(Deserialize)]
    pub struct BCall<'a> {
        pub index: i64,
        #[serde(borrow, default)]
        pub function: Option<BFunction<'a>>,
    }
    #[derive(Deserialize)]
    pub struct BFunction<'a> {
        #[serde(borrow, default)]
        pub name: Option<Cow<'a, str>>,
        #[serde(borrow, default)]
        pub arguments: Option<Cow<'a, str>>,
    }
}
mod anthropic {
    use super::*;
    #[derive(Deserialize)]
    #[allow(dead_code)]
    #[serde(tag = "type", rename_all = "snake_case")]
    pub enum Event {
        MessageStart { message: serde_json::Value },
        Ping,
        ContentBlockStart { index: i64, content_block: Block },
        ContentBlockDelta { index: i64, delta: Delta },
        ContentBlockStop { index: i64 },
        MessageDelta { delta: serde_json::Value },
        MessageStop,
    }
    #[derive(Deserialize)]
    #[allow(dead_code)]
    #[serde(tag = "type", rename_all = "snake_case")]
    pub enum Block {
        ToolUse { id: String, name: String },
        Text { text: String },
    }
    #[derive(Deserialize)]
    #[allow(dead_code)]
    #[serde(tag = "type", rename_all = "snake_case")]
    pub enum Delta {
        InputJsonDelta { partial_json: String },
        TextDelta { text: String },
    }
    use std::borrow::Cow;
    #[derive(Deserialize)]
    pub struct BEvent<'a> {
        #[serde(borrow, rename = "type")]
        pub kind: &'a str,
        #[serde(default)]
        pub index: i64,
        #[serde(borrow, default)]
        pub delta: Option<BDelta<'a>>,
        #[serde(borrow, default)]
        pub content_block: Option<BBlock<'a>>,
    }
    #[derive(Deserialize)]
    pub struct BDelta<'a> {
        #[serde(borrow, default)]
        pub partial_json: Option<Cow<'a, str>>,
    }
    #[derive(Deserialize)]
    pub struct BBlock<'a> {
        #[serde(borrow, default)]
        pub name: Option<Cow<'a, str>>,
    }
}
mod responses {
    use super::*;
    #[derive(Deserialize)]
    #[allow(dead_code)]
    #[serde(tag = "type")]
    pub enum Event {
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
    #[allow(dead_code)]
    pub struct Item {
        pub id: String,
        pub call_id: String,
        pub name: String,
        pub arguments: String,
        pub status: String,
    }
    use std::borrow::Cow;
    #[derive(Deserialize)]
    pub struct BEvent<'a> {
        #[serde(borrow, rename = "type")]
        pub kind: &'a str,
        #[serde(default)]
        pub output_index: i64,
        #[serde(borrow, default)]
        pub delta: Option<Cow<'a, str>>,
        #[serde(borrow, default)]
        pub item: Option<BItem<'a>>,
    }
    #[derive(Deserialize)]
    pub struct BItem<'a> {
        #[serde(borrow, default)]
        pub name: Option<Cow<'a, str>>,
    }
}

type Calls = HashMap<i64, (String, String)>;
fn done(calls: Calls) -> Vec<(String, String)> {
    let mut calls: Vec<_> = calls.into_iter().collect();
    calls.sort_by_key(|c| c.0);
    calls.into_iter().map(|c| c.1).collect()
}

/// The usual pipeline: eventsource-stream, serde_json into owned types, a HashMap.
fn base(provider: Provider, chunks: &[&[u8]]) -> Vec<(String, String)> {
    let source = futures::stream::iter(
        chunks
            .iter()
            .map(|c| Ok::<_, std::convert::Infallible>(bytes::Bytes::copy_from_slice(c))),
    );
    let mut events = source.eventsource();
    let mut calls = Calls::new();
    futures::executor::block_on(async {
        while let Some(event) = events.next().await {
            let event = event.unwrap();
            if event.data == "[DONE]" {
                break;
            }
            match provider {
                Provider::Chat => {
                    let chunk: chat::Chunk = serde_json::from_str(&event.data).unwrap();
                    for choice in chunk.choices {
                        for call in choice.delta.tool_calls.unwrap_or_default() {
                            let slot = calls.entry(call.index).or_default();
                            if let Some(f) = call.function {
                                if let Some(n) = f.name {
                                    slot.0 = n
                                }
                                if let Some(a) = f.arguments {
                                    slot.1.push_str(&a)
                                }
                            }
                        }
                    }
                }
                Provider::Anthropic => match serde_json::from_str(&event.data).unwrap() {
                    anthropic::Event::ContentBlockStart {
                        index,
                        content_block: anthropic::Block::ToolUse { name, .. },
                    } => {
                        calls.insert(index, (name, String::new()));
                    }
                    anthropic::Event::ContentBlockDelta {
                        index,
                        delta: anthropic::Delta::InputJsonDelta { partial_json },
                    } => calls.entry(index).or_default().1.push_str(&partial_json),
                    _ => {}
                },
                Provider::Responses => match serde_json::from_str(&event.data).unwrap() {
                    responses::Event::Added {
                        output_index, item, ..
                    } => {
                        calls.insert(output_index, (item.name, String::new()));
                    }
                    responses::Event::Delta {
                        output_index,
                        delta,
                        ..
                    } => calls.entry(output_index).or_default().1.push_str(&delta),
                    _ => {}
                },
            }
        }
    });
    done(calls)
}

/// The best parts one can assemble: sse-stream, sonic-rs borrowed, a HashMap.
fn best(provider: Provider, chunks: &[&[u8]]) -> Vec<(String, String)> {
    let source = futures::stream::iter(
        chunks
            .iter()
            .map(|c| Ok::<_, std::convert::Infallible>(bytes::Bytes::copy_from_slice(c))),
    );
    let mut events = sse_stream::SseStream::from_bytes_stream(source);
    let mut calls = Calls::new();
    futures::executor::block_on(async {
        while let Some(event) = events.next().await {
            let Some(data) = event.unwrap().data else {
                continue;
            };
            if data == "[DONE]" {
                break;
            }
            match provider {
                Provider::Chat => {
                    let chunk: chat::BChunk = sonic_rs::from_str(&data).unwrap();
                    for choice in chunk.choices {
                        for call in choice.delta.tool_calls.unwrap_or_default() {
                            let slot = calls.entry(call.index).or_default();
                            if let Some(f) = call.function {
                                if let Some(n) = f.name {
                                    slot.0 = n.into_owned()
                                }
                                if let Some(a) = f.arguments {
                                    slot.1.push_str(&a)
                                }
                            }
                        }
                    }
                }
                Provider::Anthropic => {
                    let e: anthropic::BEvent = sonic_rs::from_str(&data).unwrap();
                    match e.kind {
                        "content_block_start" => {
                            if let Some(n) = e.content_block.and_then(|b| b.name) {
                                calls.insert(e.index, (n.into_owned(), String::new()));
                            }
                        }
                        "content_block_delta" => {
                            if let Some(p) = e.delta.and_then(|d| d.partial_json) {
                                calls.entry(e.index).or_default().1.push_str(&p)
                            }
                        }
                        _ => {}
                    }
                }
                Provider::Responses => {
                    let e: responses::BEvent = sonic_rs::from_str(&data).unwrap();
                    match e.kind {
                        "response.output_item.added" => {
                            if let Some(n) = e.item.and_then(|b| b.name) {
                                calls.insert(e.output_index, (n.into_owned(), String::new()));
                            }
                        }
                        "response.function_call_arguments.delta" => {
                            if let Some(p) = e.delta {
                                calls.entry(e.output_index).or_default().1.push_str(&p)
                            }
                        }
                        _ => {}
                    }
                }
            }
        }
    });
    done(calls)
}
