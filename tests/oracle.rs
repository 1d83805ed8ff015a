//! The library against a slow, obvious reading of the same bodies: our own streams, the recorded ones, and many thousand
//! seeded random ones.
//!
//! With the other tests some thousand random streams are read. The long run reads as many of each kind as a variable says:
//! `CALLSTITCH_ORACLE_STREAMS=2_000_000 cargo test --release --all-features --test oracle alike -- --nocapture`. A failure names
//! its seed, and `CALLSTITCH_ORACLE_FIRST=<seed> CALLSTITCH_ORACLE_STREAMS=1` reads that one alone.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod support;

use callstitch::WireFormat;
use serde_json::{Value, json};
use support::oracle::{self, Expected};
use support::random::Random;
use support::run::{Call, Run, run};
use support::{shared, streams, wire};

/// Both readings of one body, side by side: how many calls they agree about. `Ok(None)` where the oracle does not read it.
fn compare(format: WireFormat, body: &[u8]) -> Result<Option<usize>, String> {
    let expected = match format {
        WireFormat::Anthropic => oracle::anthropic(body),
        _ => oracle::chat(body),
    };
    let Some(expected) = expected else {
        return Ok(None);
    };
    let got = all_calls(&run(format, [body]));
    for (at, ((call, discarded), expected)) in got.iter().zip(&expected).enumerate() {
        let got = seen_alike(call, *discarded, expected);
        if got != *expected {
            return Err(format!(
                "call {at}\n     got {got:?}\nexpected {expected:?}"
            ));
        }
    }
    if got.len() != expected.len() {
        return Err(format!("{} calls, expected {}", got.len(), expected.len()));
    }
    ids(&got).map(|()| Some(got.len()))
}

/// A call in the oracle's words.
fn seen_alike(call: &Call, discarded: bool, expected: &Expected) -> Expected {
    // Of text that nobody can believe nothing is asked but that it is flagged and kept.
    let flagged = !call.state.is_usable() && !expected.state.is_usable();
    // The oracle has lost the spelling of an argument object.
    let value = |raw: &str| serde_json::from_str::<Value>(raw).ok();
    let respelled = value(&call.raw).is_some() && value(&call.raw) == value(&expected.raw);
    Expected {
        choice: call.choice,
        wire_index: call.wire_index.filter(|&index| index >= 0),
        wire_id: call.wire_id.clone(),
        name: call.name.clone(),
        raw: if respelled {
            expected.raw.clone()
        } else {
            call.raw.clone()
        },
        state: call.state,
        object: if flagged {
            expected.object.clone()
        } else {
            call.object.clone()
        },
        discarded,
    }
}

#[track_caller]
fn agree(format: WireFormat, body: &[u8], what: &str) -> bool {
    let read = compare(format, body).unwrap_or_else(|why| panic!("{what}: {why}"));
    read.is_some()
}

/// Calls that ended, discarded ones included, by first appearance.
fn all_calls(run: &Run) -> Vec<(Call, bool)> {
    let mut calls: Vec<(Call, bool)> = run.seen().into_iter().map(|call| (call, false)).collect();
    calls.extend(run.discarded.iter().map(|call| (Call::new(call), true)));
    calls.sort_by_key(|(call, _)| call.index);
    calls
}

/// An id is made exactly where none was sent, or where another call has the same one.
fn ids(calls: &[(Call, bool)]) -> Result<(), String> {
    for (call, _) in calls {
        let shared = calls
            .iter()
            .any(|(other, _)| other.index != call.index && other.wire_id == call.wire_id);
        let right = match &call.wire_id {
            Some(id) if call.synthetic_id => shared && *id != call.id,
            Some(id) => *id == call.id,
            None => call.synthetic_id,
        };
        if !right {
            return Err(format!("the id {} for {:?}", call.id, call.wire_id));
        }
    }
    Ok(())
}

#[test]
fn our_own_streams_are_read_alike() {
    let (mut read, mut left) = (0, Vec::new());
    for stream in streams::all() {
        let Some(format) = stream.format else {
            continue;
        };
        if !matches!(
            format,
            WireFormat::OpenAiChat | WireFormat::Mistral | WireFormat::Anthropic
        ) {
            continue;
        }
        if agree(format, &stream.body, &stream.name) {
            read += 1;
        } else {
            left.push(stream.name);
        }
    }
    println!("read {read} streams, left out {left:?}");
    assert!(read > 90, "the oracle read only {read} streams");
    assert!(
        left.len() < 8,
        "too many streams that the oracle does not read: {left:?}"
    );
}

#[test]
fn our_own_streams_cut_at_every_event_are_read_alike() {
    for stream in streams::all() {
        let Some(format @ (WireFormat::OpenAiChat | WireFormat::Anthropic)) = stream.format else {
            continue;
        };
        let mut at = 0;
        while let Some(end) = stream.body[at..].windows(2).position(|two| two == b"\n\n") {
            at += end + 2;
            agree(
                format,
                &stream.body[..at],
                &format!("{} cut at {at}", stream.name),
            );
        }
    }
}

#[test]
fn recorded_streams_are_read_alike() {
    let Some(root) = shared::shared_folder("corpus") else {
        return;
    };
    let mut read = 0;
    let mut folders = vec![root];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let format = match folder.file_name().unwrap().to_str().unwrap() {
                "openai-chat" => WireFormat::OpenAiChat,
                "anthropic-messages" => WireFormat::Anthropic,
                _ => continue,
            };
            let name = path.to_string_lossy();
            if name.ends_with(".sse") {
                let read_it = agree(format, &std::fs::read(&path).unwrap(), &name);
                read += usize::from(read_it);
            }
        }
    }
    println!("read {read} recorded streams");
    assert!(read > 60, "only {read} recorded streams were read");
}

/// Anything at all in any place: most of it is nonsense, none of it may be read in two ways.
fn nonsense(random: &mut Random) -> String {
    const PIECES: &[&str] = &[
        "",
        "{",
        "{}",
        " ",
        "{\"a\":",
        "1}",
        "{\"a\":1}",
        "{\"a\":1",
        "{\"b\":2}",
        "\"s\"",
        "1",
        "}",
        "null",
        "[1]",
        "{\"a\":{",
        "}}",
        "\"{\\\"a\\\":1}\"",
        "{\"a\":1,\"b\":",
        "2}",
    ];
    let mut body = String::new();
    let choices = if random.one_in(5) { 2 } else { 1 };
    for _ in 0..1 + random.below(8) {
        let mut said = Vec::new();
        for choice in 0..choices {
            if choices > 1 && random.one_in(3) {
                continue;
            }
            let most = if random.one_in(3) { 3 } else { 1 };
            let entries: Vec<Value> = (0..1 + random.below(most))
                .map(|_| {
                    let mut entry = json!({});
                    match random.below(9) {
                        0..=2 => {}
                        3 => entry["index"] = json!(null),
                        4 => entry["index"] = json!(-1),
                        5 => entry["index"] = json!("1"),
                        other => entry["index"] = json!(other - 6),
                    }
                    match random.below(9) {
                        0..=3 => {}
                        4 => entry["id"] = json!(""),
                        5 => entry["id"] = json!("null"),
                        6 => entry["id"] = json!(null),
                        other => entry["id"] = json!(["call_a", "call_b"][other - 7]),
                    }
                    let mut function = json!({});
                    match random.below(8) {
                        0..=2 => {}
                        3 => function["name"] = json!(""),
                        4 => function["name"] = json!(null),
                        5 => function["name"] = json!("tide_"),
                        other => function["name"] = json!(["tide_height", "now"][other - 6]),
                    }
                    match random.below(12) {
                        0 => {}
                        1 => function["arguments"] = json!(null),
                        2 => function["arguments"] = json!({"a": 1}),
                        3 => function["arguments"] = json!({}),
                        _ => function["arguments"] = json!(*random.pick(PIECES)),
                    }
                    entry["function"] = function;
                    entry
                })
                .collect();
            let mut delta = json!({"tool_calls": entries});
            if random.one_in(12) {
                delta["function_call"] = json!({"arguments": *random.pick(PIECES)});
                match random.below(5) {
                    0 => {}
                    1 => delta["function_call"]["name"] = json!(""),
                    other => {
                        delta["function_call"]["name"] =
                            json!(["tide_", "tide_height", "now"][other - 2])
                    }
                }
            }
            said.push(json!({"index": choice, "delta": delta}));
        }
        body += &wire::choices(Value::Array(said));
    }
    body + &ending(random)
}

/// A terminal, a reason, an error, or nothing.
fn ending(random: &mut Random) -> String {
    let reasons = ["tool_calls", "stop", "length", "content_filter", "error"];
    let mut body = String::new();
    if !random.one_in(4) {
        let choice = usize::from(random.one_in(8));
        let reason = reasons[random.below(5)];
        body += &wire::choices(json!([{"index": choice, "delta": {}, "finish_reason": reason}]));
    }
    match random.below(6) {
        0 => {}
        1 => body += &wire::data(&json!({"error": {"message": "no"}})),
        _ => body += wire::DONE,
    }
    body
}

/// A few calls with sensible texts, sent by a server with a few habits of section 9.
fn habits(random: &mut Random) -> String {
    let texts = [
        r#"{"port":"Brest","day":3}"#,
        r#"{"a":{"a":[1,{"b":"x}"}]}}"#,
        "{}",
        "",
        r#"{"text":"a \"quoted\" {brace}\n"}"#,
    ];
    let count = 1 + random.below(3);
    let (no_index, same_index) = (random.one_in(3), random.one_in(3));
    let (no_id, same_id, drifting) = (random.one_in(4), random.one_in(6), random.one_in(5));
    let (repeat_id, repeat_name, late_name) =
        (random.one_in(4), random.one_in(4), random.one_in(8));
    let (snapshots, replay, interleave) = (random.one_in(8), random.one_in(8), random.one_in(3));
    let mut queues: Vec<Vec<Value>> = Vec::new();
    for call in 0..count {
        let text = *random.pick(&texts);
        let mut entries = Vec::new();
        let mut sent = 0;
        let mut first = true;
        while first || sent < text.len() {
            let to = (sent + random.below(8)).min(text.len());
            let to = (to..=text.len())
                .find(|&at| text.is_char_boundary(at))
                .unwrap();
            let piece = if snapshots {
                &text[..to]
            } else {
                &text[sent..to]
            };
            let mut entry = json!({"function": {"arguments": piece}});
            if !no_index {
                entry["index"] = json!(if same_index { 0 } else { call * 2 });
            }
            let id = if same_id { 0 } else { call };
            if !no_id && (first || repeat_id) {
                entry["id"] = json!(format!("call_{id}"));
            } else if drifting && !no_id {
                entry["id"] = json!(format!("call_{id}_{sent}"));
            }
            if (first && !late_name) || (!first && (repeat_name || late_name)) {
                entry["function"]["name"] = json!(["tide_height", "now"][call % 2]);
            }
            entries.push(entry);
            sent = to;
            first = false;
        }
        if replay {
            let mut entry = json!({"function": {"arguments": text}});
            if !no_index {
                entry["index"] = json!(if same_index { 0 } else { call * 2 });
            }
            entries.push(entry);
        }
        entries.reverse();
        queues.push(entries);
    }
    let mut body = String::new();
    while queues.iter().any(|queue| !queue.is_empty()) {
        let at = if interleave {
            random.below(queues.len())
        } else {
            queues.iter().position(|queue| !queue.is_empty()).unwrap()
        };
        let mut entries = Vec::new();
        for _ in 0..if random.one_in(4) { 2 } else { 1 } {
            entries.extend(queues[at].pop());
        }
        if !entries.is_empty() {
            body += &wire::calls(Value::Array(entries));
        }
    }
    body + &ending(random)
}

/// Blocks in any order, with and without starts, stops and texts.
fn blocks(random: &mut Random) -> String {
    let pieces = [
        "",
        "{",
        "}",
        "{\"a\":",
        "1}",
        "{\"a\":1}",
        "{\"b\":2}",
        "{}",
        " ",
        "null",
    ];
    let mut body = String::new();
    for _ in 0..2 + random.below(12) {
        let index = random.below(3) as i64;
        body += &match random.below(16) {
            0 => wire::message_start(),
            1..=3 => {
                let input = [json!({}), json!({"a": 1}), json!(null)][random.below(3)].clone();
                let kind = ["tool_use", "mcp_tool_use", "text"][random.below(3)];
                let mut block = json!({"type": kind, "id": format!("toolu_{}", random.below(3)),
                    "name": "now", "input": input});
                if random.one_in(4) {
                    block.as_object_mut().unwrap().remove("input");
                }
                wire::block_start(index, block)
            }
            4..=6 => wire::tool_start(index, &format!("toolu_{}", random.below(30)), "tide_height"),
            7..=11 => wire::input(index, pieces[random.below(pieces.len())]),
            12 | 13 => wire::block_stop(index),
            14 => wire::event(&json!({"type": "ping"})),
            _ => match random.below(6) {
                0 => wire::event(
                    &json!({"type": "error", "error": {"type": "overloaded_error", "message": "no"}}),
                ),
                1 | 2 => wire::message_delta("tool_use"),
                3 => wire::message_delta("max_tokens"),
                4 => wire::event(&json!({"type": "message_delta", "usage": {"output_tokens": 1}})),
                _ => String::new(),
            },
        };
    }
    match random.below(4) {
        0 => body,
        1 => body + &wire::message_delta("max_tokens") + &wire::message_stop(),
        _ => body + &wire::message_delta("tool_use") + &wire::message_stop(),
    }
}

/// A number from the environment, for the long run.
fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.replace('_', "").parse().ok()
}

/// Compares the readings of many bodies, and shows the shortest that is read in two ways.
fn many(what: &str, format: WireFormat, streams: u64, make: impl Fn(&mut Random) -> String) {
    let first = number("CALLSTITCH_ORACLE_FIRST").unwrap_or(0);
    let streams = number("CALLSTITCH_ORACLE_STREAMS").unwrap_or(streams);
    let mut shortest: Option<(u64, String, String)> = None;
    let (mut failed, mut bytes, mut calls) = (0, 0, 0);
    for seed in first..first + streams {
        let body = make(&mut Random::new(seed));
        bytes += body.len();
        match compare(format, body.as_bytes()) {
            Ok(read) => {
                calls += read.unwrap_or_else(|| panic!("seed {seed}: not read by the oracle"));
            }
            Err(why) => {
                failed += 1;
                if shortest
                    .as_ref()
                    .is_none_or(|(_, other, _)| body.len() < other.len())
                {
                    shortest = Some((seed, body, why));
                }
            }
        }
    }
    println!("{what}: {streams} streams, {bytes} bytes, {calls} calls, {failed} read in two ways");
    if let Some((seed, body, why)) = shortest {
        panic!("{what}: the shortest that is read in two ways, seed {seed}: {why}\n{body}");
    }
}

#[test]
fn nonsense_chat_streams_are_read_alike() {
    many("nonsense", WireFormat::OpenAiChat, 10_000, nonsense);
}

#[test]
fn habitual_chat_streams_are_read_alike() {
    many("habits", WireFormat::OpenAiChat, 8_000, habits);
}

#[test]
fn random_anthropic_streams_are_read_alike() {
    many("blocks", WireFormat::Anthropic, 6_000, blocks);
}
