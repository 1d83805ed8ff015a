//! Conversations by a seed, written in every format with the freedoms that servers take, and read back.
//!
//! `CALLSTITCH_PROPERTIES=20000 cargo test --release --all-features --test properties -- --nocapture` writes so many of each format.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/aws_frames.rs"]
mod aws_frames;
#[path = "support/reading.rs"]
mod reading;

use callstitch::{AnomalyKind, ToolCall, ToolCallParser, WireFormat};
use reading::{Ending, Random, Reading, config, cut, number, read_with};
use serde_json::{Value, json};

/// A call as it was meant.
#[derive(Debug, Clone, PartialEq)]
struct Meant {
    id: String,
    name: String,
    arguments: String,
}

struct Conversation {
    calls: Vec<Meant>,
    text: String,
}

/// A body, event by event.
type Events = Vec<Vec<u8>>;

fn text(random: &mut Random) -> String {
    let words = [
        "tide", "°", "à", "\n", "\"", "\\", "{", "}", "[DONE]", "data: ", "\r\n", "😀", "\u{2028}",
        "null", "\t", "</x>", "\u{7f}", "0", "é", ":",
    ];
    (0..random.below(6)).map(|_| *random.pick(&words)).collect()
}

fn value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth > 2 { 6 } else { 8 }) {
        0 => Value::Null,
        1 => json!(random.one_in(2)),
        2 => json!(random.below(100_000) as i64 - 50_000),
        3 => json!(random.below(1000) as f64 / 8.0),
        4 | 5 => json!(text(random)),
        6 => (0..random.below(4))
            .map(|_| value(random, depth + 1))
            .collect(),
        _ => object(random, depth + 1),
    }
}

fn object(random: &mut Random, depth: usize) -> Value {
    let members = (0..1 + random.below(4)).map(|at| {
        let key = format!("k{at}{}", text(random));
        (key, value(random, depth))
    });
    Value::Object(members.collect())
}

fn conversation(random: &mut Random) -> Conversation {
    let names = ["get_tide", "search", "a", "mcp__x.y-z", "données"];
    let calls = (0..1 + random.below(4))
        .map(|at| {
            let object = object(random, 0);
            let arguments = match random.below(4) {
                0 => serde_json::to_string_pretty(&object).unwrap(),
                1 => format!(" {object}\n"),
                _ => object.to_string(),
            };
            Meant {
                id: format!("id_{at}_{}", random.below(1000)),
                name: (*random.pick(&names)).to_owned(),
                arguments,
            }
        })
        .collect();
    Conversation {
        calls,
        text: text(random),
    }
}

/// Pieces of a text, as a model sends them; sometimes all of it at once.
fn pieces<'a>(text: &'a str, random: &mut Random) -> Vec<&'a str> {
    let usual = *random.pick(&[1, 3, 8, 10_000]);
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let count = 1 + random.below(usual);
        let at = rest
            .char_indices()
            .nth(count)
            .map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(at);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// The pieces of all calls, in turn by chance or one call after another.
fn interleaved<'a>(
    calls: &'a [Meant],
    random: &mut Random,
    together: bool,
) -> Vec<(usize, &'a str)> {
    let mut queues: Vec<(usize, std::collections::VecDeque<&str>)> = calls
        .iter()
        .enumerate()
        .map(|(at, call)| (at, pieces(&call.arguments, random).into()))
        .collect();
    let mut order = Vec::new();
    while !queues.is_empty() {
        let at = if together {
            random.below(queues.len())
        } else {
            0
        };
        match queues[at].1.pop_front() {
            Some(piece) => order.push((queues[at].0, piece)),
            None => drop(queues.remove(at)),
        }
    }
    order
}

/// JSON text with the freedoms that encoders take: non-ASCII escaped or not.
fn encode(value: &Value, ascii: bool) -> String {
    let text = value.to_string();
    if !ascii {
        return text;
    }
    let mut out = String::new();
    for c in text.chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out
}

/// How server-sent events are written in one body.
struct Sse {
    end: &'static str,
    space: bool,
    named: bool,
    event_last: bool,
    ascii: bool,
    padded: bool,
}

impl Sse {
    fn new(random: &mut Random) -> Self {
        Sse {
            end: random.pick::<&str>(&["\n", "\n", "\r\n", "\r"]),
            space: !random.one_in(4),
            named: !random.one_in(4),
            event_last: random.one_in(5),
            ascii: random.one_in(3),
            padded: random.one_in(4),
        }
    }

    fn write(&self, name: Option<&str>, value: &Value, random: &mut Random) -> Vec<u8> {
        let data = encode(value, self.ascii);
        let space = if self.space { " " } else { "" };
        let end = self.end;
        let data = format!("data:{space}{data}{end}");
        let name = name
            .filter(|_| self.named)
            .map(|name| format!("event:{space}{name}{end}"))
            .unwrap_or_default();
        let mut event = if self.event_last {
            data + &name
        } else {
            name + &data
        };
        if self.padded && random.one_in(3) {
            event = format!(": keep-alive{end}{end}id: 7{end}{event}");
        }
        (event + end).into_bytes()
    }

    fn done(&self) -> Vec<u8> {
        format!("data: [DONE]{0}{0}", self.end).into_bytes()
    }
}

fn chat(conversation: &Conversation, random: &mut Random) -> Events {
    let sse = Sse::new(random);
    let (indexed, ids_again, names_again, nulls) = (
        !random.one_in(5),
        random.one_in(5),
        random.one_in(5),
        random.one_in(3),
    );
    let chunk = |delta: Value, reason: Option<&str>| json!({"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":delta,"finish_reason":reason}]});
    let mut events = Vec::new();
    for piece in pieces(&conversation.text, random) {
        events.push(sse.write(None, &chunk(json!({"content": piece}), None), random));
    }
    let mut opened = vec![false; conversation.calls.len()];
    let together = indexed || ids_again;
    for (at, piece) in interleaved(&conversation.calls, random, together) {
        let call = &conversation.calls[at];
        let first = !std::mem::replace(&mut opened[at], true);
        let mut entry = json!({"function": {"arguments": piece}});
        if indexed {
            entry["index"] = json!(at);
        }
        if first || ids_again {
            entry["id"] = json!(call.id);
            entry["type"] = json!("function");
        } else if nulls {
            entry["id"] = Value::Null;
        }
        if first || (names_again && ids_again) {
            entry["function"]["name"] = json!(call.name);
        }
        events.push(sse.write(None, &chunk(json!({"tool_calls": [entry]}), None), random));
    }
    events.push(sse.write(None, &chunk(json!({}), Some("tool_calls")), random));
    events.push(sse.done());
    events
}

fn anthropic_values(
    conversation: &Conversation,
    random: &mut Random,
) -> Vec<(&'static str, Value)> {
    let mut events = vec![(
        "message_start",
        json!({"message":{"id":"m","role":"assistant","content":[]}}),
    )];
    let mut index = 0;
    if !conversation.text.is_empty() {
        events.push((
            "content_block_start",
            json!({"index":0,"content_block":{"type":"text","text":""}}),
        ));
        for piece in pieces(&conversation.text, random) {
            events.push((
                "content_block_delta",
                json!({"index":0,"delta":{"type":"text_delta","text":piece}}),
            ));
        }
        events.push(("content_block_stop", json!({"index":0})));
        index = 1;
    }
    for call in &conversation.calls {
        events.push(("content_block_start", json!({"index":index,"content_block":{"type":"tool_use","id":call.id,"name":call.name,"input":{}}})));
        for piece in pieces(&call.arguments, random) {
            events.push((
                "content_block_delta",
                json!({"index":index,"delta":{"type":"input_json_delta","partial_json":piece}}),
            ));
            if random.one_in(6) {
                events.push(("ping", json!({})));
            }
        }
        events.push(("content_block_stop", json!({"index":index})));
        index += 1;
    }
    events.push((
        "message_delta",
        json!({"delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":1}}),
    ));
    events.push(("message_stop", json!({})));
    events
}

fn named(events: Vec<(&str, Value)>, sse: &Sse, random: &mut Random) -> Events {
    events
        .into_iter()
        .map(|(name, mut value)| {
            value["type"] = json!(name);
            sse.write(Some(name), &value, random)
        })
        .collect()
}

fn anthropic(conversation: &Conversation, random: &mut Random) -> Events {
    let sse = Sse::new(random);
    let events = anthropic_values(conversation, random);
    named(events, &sse, random)
}

fn responses(conversation: &Conversation, random: &mut Random) -> Events {
    let sse = Sse::new(random);
    let mut events = vec![("response.created", json!({"response":{"id":"r"}}))];
    let item = |at: usize, arguments: &str, status: &str| {
        let call = &conversation.calls[at];
        json!({"type":"function_call","id":format!("fc_{at}"),"call_id":call.id,"name":call.name,"arguments":arguments,"status":status})
    };
    let together = random.one_in(2);
    if together {
        for at in 0..conversation.calls.len() {
            events.push((
                "response.output_item.added",
                json!({"output_index":at,"item":item(at, "", "in_progress")}),
            ));
        }
    }
    let order = interleaved(&conversation.calls, random, together);
    let (mut open, snapshot, deltas) = (None, random.one_in(2), !random.one_in(8));
    let end = |events: &mut Vec<(&str, Value)>, at: usize| {
        let text = &conversation.calls[at].arguments;
        events.push((
            "response.function_call_arguments.done",
            json!({"output_index":at,"item_id":format!("fc_{at}"),"arguments":text}),
        ));
        events.push((
            "response.output_item.done",
            json!({"output_index":at,"item":item(at, text, "completed")}),
        ));
    };
    for (at, piece) in order {
        if !together && open != Some(at) {
            if let Some(open) = open {
                end(&mut events, open);
            }
            events.push((
                "response.output_item.added",
                json!({"output_index":at,"item":item(at, "", "in_progress")}),
            ));
            open = Some(at);
        }
        if deltas {
            events.push((
                "response.function_call_arguments.delta",
                json!({"output_index":at,"item_id":format!("fc_{at}"),"delta":piece}),
            ));
        }
    }
    match open {
        Some(open) => end(&mut events, open),
        None => (0..conversation.calls.len()).for_each(|at| end(&mut events, at)),
    }
    let output: Vec<Value> = (0..conversation.calls.len())
        .map(|at| item(at, &conversation.calls[at].arguments, "completed"))
        .collect();
    let output = if snapshot { output } else { Vec::new() };
    events.push((
        "response.completed",
        json!({"response":{"id":"r","status":"completed","output":output}}),
    ));
    named(events, &sse, random)
}

fn gemini(conversation: &Conversation, random: &mut Random) -> Events {
    let sse = Sse::new(random);
    let array = random.one_in(3);
    let mut values = Vec::new();
    let chunk = |parts: Value, reason: Option<&str>| json!({"candidates":[{"content":{"parts":parts,"role":"model"},"finishReason":reason}]});
    for piece in pieces(&conversation.text, random) {
        values.push(chunk(json!([{"text":piece}]), None));
    }
    for call in &conversation.calls {
        let args: Value = serde_json::from_str(&call.arguments).unwrap();
        values.push(chunk(
            json!([{"functionCall":{"id":call.id,"name":call.name,"args":args}}]),
            None,
        ));
    }
    values.push(chunk(json!([{"text":""}]), Some("STOP")));
    if !array {
        return values
            .iter()
            .map(|value| sse.write(None, value, random))
            .collect();
    }
    let pretty = random.one_in(2);
    let last = values.len() - 1;
    let written = values.iter().enumerate().map(|(at, value)| {
        let text = if pretty {
            serde_json::to_string_pretty(value).unwrap()
        } else {
            encode(value, sse.ascii)
        };
        let before = if at == 0 { "[" } else { ",\r\n" };
        let after = if at == last { "]\n" } else { "" };
        format!("{before}{text}{after}").into_bytes()
    });
    written.collect()
}

fn interactions(conversation: &Conversation, random: &mut Random) -> Events {
    let sse = Sse::new(random);
    let mut events = vec![("interaction.created", json!({"interaction":{"id":"i"}}))];
    for (at, call) in conversation.calls.iter().enumerate() {
        events.push(("step.start", json!({"index":at,"step":{"type":"function_call","id":call.id,"name":call.name,"arguments":{}}})));
        for piece in pieces(&call.arguments, random) {
            events.push((
                "step.delta",
                json!({"index":at,"delta":{"type":"arguments_delta","arguments":piece}}),
            ));
        }
        events.push(("step.stop", json!({"index":at})));
    }
    events.push((
        "interaction.completed",
        json!({"interaction":{"status":"completed"}}),
    ));
    events
        .into_iter()
        .map(|(name, mut value)| {
            value["event_type"] = json!(name);
            sse.write(Some(name), &value, random)
        })
        .collect()
}

fn bedrock(conversation: &Conversation, random: &mut Random) -> Events {
    let mut events = vec![("messageStart", json!({"role":"assistant"}))];
    for (at, call) in conversation.calls.iter().enumerate() {
        events.push(("contentBlockStart", json!({"contentBlockIndex":at,"start":{"toolUse":{"toolUseId":call.id,"name":call.name}}})));
        for piece in pieces(&call.arguments, random) {
            events.push((
                "contentBlockDelta",
                json!({"contentBlockIndex":at,"delta":{"toolUse":{"input":piece}},"p":"abc"}),
            ));
        }
        events.push(("contentBlockStop", json!({"contentBlockIndex":at})));
    }
    events.push(("messageStop", json!({"stopReason":"tool_use"})));
    events
        .into_iter()
        .map(|(kind, value)| aws_frames::event(kind, &value.to_string()))
        .collect()
}

fn cohere(conversation: &Conversation, random: &mut Random) -> Events {
    let sse = Sse::new(random);
    let mut events = vec![("message-start", json!({"id":"m"}))];
    for (at, call) in conversation.calls.iter().enumerate() {
        events.push(("tool-call-start", json!({"index":at,"delta":{"message":{"tool_calls":{"id":call.id,"type":"function","function":{"name":call.name,"arguments":""}}}}})));
        for piece in pieces(&call.arguments, random) {
            events.push(("tool-call-delta", json!({"index":at,"delta":{"message":{"tool_calls":{"function":{"arguments":piece}}}}})));
        }
        events.push(("tool-call-end", json!({"index":at})));
    }
    events.push((
        "message-end",
        json!({"delta":{"finish_reason":"TOOL_CALL"}}),
    ));
    named(events, &sse, random)
}

fn ollama(conversation: &Conversation, random: &mut Random) -> Events {
    let (ascii, end) = (random.one_in(3), *random.pick(&["\n", "\r\n"]));
    let mut values = Vec::new();
    for piece in pieces(&conversation.text, random) {
        values
            .push(json!({"model":"m","message":{"role":"assistant","content":piece},"done":false}));
    }
    for call in &conversation.calls {
        let args: Value = serde_json::from_str(&call.arguments).unwrap();
        values.push(json!({"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"id":call.id,"function":{"name":call.name,"arguments":args}}]},"done":false}));
    }
    values.push(json!({"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}));
    values
        .iter()
        .map(|value| (encode(value, ascii) + end).into_bytes())
        .collect()
}

type Writer = fn(&Conversation, &mut Random) -> Events;

fn writers() -> Vec<(WireFormat, Writer)> {
    let mut writers: Vec<(WireFormat, Writer)> = vec![
        (WireFormat::OpenAiChat, chat),
        (WireFormat::Mistral, chat),
        (WireFormat::OpenAiResponses, responses),
        (WireFormat::Anthropic, anthropic),
        (WireFormat::Gemini, gemini),
        (WireFormat::GeminiInteractions, interactions),
        (WireFormat::Cohere, cohere),
        (WireFormat::Ollama, ollama),
    ];
    if let Ok(format) = "bedrock".parse() {
        writers.push((format, bedrock));
    }
    writers
}

fn read<'b>(format: WireFormat, chunks: impl IntoIterator<Item = &'b [u8]>) -> Reading {
    let reading = read_with(
        ToolCallParser::with_config(format, config()),
        chunks,
        Ending::Finish,
    );
    reading.check_grammar();
    reading
}

/// Whether a call is the one that was meant. Some wires carry arguments as values, whose spelling is the writer's.
fn is(call: &ToolCall, meant: &Meant) -> bool {
    let value = |text: &str| serde_json::from_str::<Value>(text).ok();
    call.id() == meant.id
        && call.name() == meant.name
        && (call.arguments().raw() == meant.arguments
            || value(call.arguments().raw()) == value(&meant.arguments))
}

/// Runs a property over seeds and formats; a failure names both.
fn each(name: &str, times: u64, property: impl Fn(WireFormat, &Conversation, &Events, u64)) {
    let mut bytes = 0;
    for (format, writer) in writers() {
        for seed in 0..times {
            let mut random = Random::new(seed * 31 + 7);
            let conversation = conversation(&mut random);
            let events = writer(&conversation, &mut random);
            bytes += events.iter().map(Vec::len).sum::<usize>();
            let run = || property(format, &conversation, &events, seed);
            if let Err(panic) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) {
                println!(
                    "{name}: {format}, seed {seed}: {:?}\n{}",
                    conversation.calls,
                    String::from_utf8_lossy(&events.concat())
                );
                std::panic::resume_unwind(panic);
            }
        }
    }
    println!("{name}: {times} conversations a format, {bytes} bytes");
}

#[test]
fn what_is_read_is_what_was_written_however_it_was_framed_and_cut() {
    let times = number("CALLSTITCH_PROPERTIES", 120);
    each("round trip", times, |format, conversation, events, seed| {
        let body = events.concat();
        for asked in [format, WireFormat::Auto] {
            let reading = read(asked, cut(&body, seed));
            let calls: Vec<&ToolCall> = reading.calls().collect();
            assert_eq!(reading.error(), None, "asked for {asked}");
            assert_eq!(calls.len(), conversation.calls.len(), "asked for {asked}");
            for call in calls {
                assert!(call.is_usable(), "{call:?}");
                let meant = conversation.calls.iter().any(|meant| is(call, meant));
                assert!(meant, "{call:?} {:?}", call.arguments().raw());
            }
            let said: String = reading
                .said
                .iter()
                .filter_map(|said| match said {
                    reading::Said::Text("text", _, text) => Some(text.as_str()),
                    _ => None,
                })
                .collect();
            let has_text = !matches!(
                format.name(),
                "openai-responses" | "gemini-interactions" | "cohere" | "bedrock"
            );
            assert!(!has_text || said == conversation.text, "{said:?}");
        }
    });
}

#[test]
fn a_body_cut_anywhere_ends_every_call_once_and_none_looks_finished_that_was_not() {
    let times = number("CALLSTITCH_PROPERTIES", 120) / 12 + 1;
    each("cuts", times, |format, conversation, events, seed| {
        let body = events.concat();
        // Every position of a short body, and a thousand of a long one.
        let step = body.len() / 1000 + 1;
        for at in (seed as usize % step..body.len()).step_by(step) {
            let reading = read(format, [&body[..at]]);
            for call in reading.calls() {
                let meant = conversation
                    .calls
                    .iter()
                    .find(|meant| meant.id == call.id());
                assert!(
                    !call.is_usable() || meant.is_some_and(|meant| is(call, meant)),
                    "cut at {at}: {call:?} {:?}",
                    call.arguments().raw()
                );
                // A flagged call says no more than was sent.
                if let (false, Some(meant)) = (call.is_usable(), meant) {
                    let raw = call.arguments().raw();
                    let sent = meant.arguments.starts_with(raw)
                        || serde_json::from_str::<Value>(&meant.arguments).is_ok_and(|value| {
                            encode(&value, true).starts_with(raw)
                                || value.to_string().starts_with(raw)
                        });
                    assert!(sent || raw.contains('\u{fffd}'), "cut at {at}: {raw:?}");
                }
            }
        }
    });
}

#[test]
fn a_byte_that_becomes_another_loses_nothing_that_had_arrived_whole() {
    let times = number("CALLSTITCH_PROPERTIES", 120) / 8 + 1;
    each("corruption", times, |format, conversation, events, seed| {
        let mut random = Random::new(seed ^ 0xABCD);
        let body = events.concat();
        for _ in 0..40 {
            let at = random.below(body.len());
            // Where the corrupted event begins.
            let mut start = 0;
            for event in events {
                if start + event.len() > at {
                    break;
                }
                start += event.len();
            }
            let mut corrupted = body.clone();
            corrupted[at] = match random.below(3) {
                0 => random.next() as u8,
                1 => corrupted[at] ^ (1 << random.below(8)),
                _ => *random.pick(b"\"\\{}[]:,\n\r 0\xff"),
            };
            let before = read(format, [&body[..start]]);
            let after = read(format, cut(&corrupted, seed));
            for whole in before.calls().filter(|call| call.is_usable()) {
                let meant = conversation
                    .calls
                    .iter()
                    .find(|meant| meant.id == whole.id());
                let meant = meant.expect("a call that was meant");
                // By its number: the corrupted byte may be one of an event with authority over the id.
                let found = after.calls().find(|call| call.index() == whole.index());
                let found = found.unwrap_or_else(|| {
                    panic!("byte {at} of event at {start}: {whole:?} is lost: {after:?}")
                });
                let raw = found.arguments().raw();
                // An event with authority that restates the text may be the corrupted one: that it differs is told.
                let restated = after
                    .anomalies
                    .iter()
                    .any(|(kind, _)| *kind == AnomalyKind::RestatedDiffers);
                assert!(
                    restated
                        || is(found, meant)
                        || raw == whole.arguments().raw()
                        || raw.starts_with(whole.arguments().raw())
                        || raw.starts_with(meant.arguments.trim_start()),
                    "byte {at}: {whole:?} became {found:?} {raw:?}"
                );
            }
        }
    });
}
