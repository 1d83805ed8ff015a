//! The fuzz bodies over a seeded corpus, and attacks on memory and time with their figures.
//!
//! `CALLSTITCH_HOSTILE=20000 cargo test --release --all-features --test hostile -- --nocapture` gives each body so many inputs.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/fuzz_bodies.rs"]
mod fuzz_bodies;
#[path = "support/mutate.rs"]
mod mutate;
#[path = "support/reading.rs"]
mod reading;

use std::panic::{AssertUnwindSafe, catch_unwind};

use fuzz_bodies::BODIES;
use mutate::mutate;
use reading::{Random, number, own_streams};

/// What a body begins with: whole streams with the bytes before them that a body takes for options, and small texts.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let streams = own_streams();
    let texts: &[&str] = &[
        r#"{"port":"Oban","days":[1,2.5e3,-0],"deep":{"a":[{"b":null}]},"t":true}"#,
        r#"{'port': 'Oban', days: [1,2,], // why
        "s": "a\"b\\c\u00e9\ud83d\ude00", "n": NaN, "u": undefined}"#,
        "```json\n{\"a\": \"b \"quoted\" c\", \"d\": .5}\n```",
        r#""{\"a\":\"b\"}""#,
        r#"{"a":"b""c":[1 2],"d" "e"}}"#,
        "",
        "null",
        "{\"a\":1}{\"a\":1}",
        "\u{feff} {\u{a0}\"a\":\u{201c}b\u{201d}}",
    ];
    match name {
        "arguments" | "repair" => texts
            .iter()
            .map(|text| format!("\u{2}\u{7}{text}").into_bytes())
            .collect(),
        "history" => [
            r#"{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}"#,
            r#"{"type":"function_call","id":"fc","call_id":"c","name":"f","arguments":"{}","status":"completed"}"#,
            r#"{"type":"tool_use","id":"t","name":"f","input":{"a":[1]},"caller":{"type":"direct"}}"#,
            r#"{"functionCall":{"id":"i","name":"f","args":{"a":null}},"thoughtSignature":"s"}"#,
            r#"{"toolUse":{"toolUseId":"t","name":"f","input":{}}}"#,
            r#"{"index":0,"id":"c","name":"f","arguments":"{\"a\":","serverName":"s"}"#,
            r#"{"role":"tool","tool_call_id":"c","content":"x"}"#,
            r#"[{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":{}}}]},{"role":"tool","tool_call_id":"d","content":[]}]"#,
            r#"{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"x"}],"is_error":true}"#,
        ]
        .iter()
        .map(|text| text.as_bytes().to_vec())
        .collect(),
        "accumulator" => {
            let mut random = Random::new(5);
            (0..40)
                .map(|_| (0..300).map(|_| random.next() as u8).collect())
                .collect()
        }
        "framing_binary" => vec![
            b"\x02\x07messageStart|{\"role\":\"assistant\"}\ncontentBlockStart|{\"contentBlockIndex\":0,\"start\":{\"toolUse\":{\"toolUseId\":\"t\",\"name\":\"f\"}}}\ncontentBlockDelta|{\"contentBlockIndex\":0,\"delta\":{\"toolUse\":{\"input\":\"{\\\"a\\\":1}\"}}}\ncontentBlockStop|{\"contentBlockIndex\":0}\nmessageStop|{\"stopReason\":\"tool_use\"}".to_vec(),
            b"\x02\x07chunk|{\"bytes\":\"eyJ0eXBlIjoibWVzc2FnZV9zdGFydCJ9\"}\n!throttlingException|{\"message\":\"m\"}\n~x|y".to_vec(),
            b"\x02\x07contentBlockDelta|{\"contentBlockIndex\":0,\"delta\":{\"text\":\"t\"}}\ncontentBlockDelta|{\"contentBlockIndex\":1,\"delta\":{\"reasoningContent\":{\"text\":\"r\",\"signature\":\"s\"}}}\nmetadata|{\"usage\":{\"inputTokens\":1},\"metrics\":{}}\nmodelStreamErrorException|{\"message\":\"m\"}".to_vec(),
        ],
        "any_decoder" => streams
            .iter()
            .map(|stream| {
                let text = String::from_utf8_lossy(&stream.body);
                let lines: Vec<&str> = text
                    .lines()
                    .filter_map(|line| line.strip_prefix("data: ").or(line.starts_with('{').then_some(line)))
                    .collect();
                let at = callstitch::WireFormat::all().position(|format| format == stream.format).unwrap();
                let mut bytes = vec![at as u8, 2];
                bytes.extend_from_slice(lines.join("\n").as_bytes());
                bytes
            })
            // A binary body has no lines; what its frames hold has.
            .chain(
                callstitch::WireFormat::all()
                    .position(|format| format.to_string() == "bedrock")
                    .into_iter()
                    .flat_map(|at| {
                        let frames = corpus("framing_binary").into_iter();
                        frames.map(move |seed| [&[at as u8, 2][..], &seed[2..]].concat())
                    }),
            )
            .collect(),
        "any_stream" => streams
            .iter()
            .enumerate()
            .map(|(number, stream)| {
                let at = callstitch::WireFormat::all().position(|format| format == stream.format).unwrap();
                // Every third with its format to be detected.
                let format = if number % 3 == 0 { 0 } else { at as u8 + 1 };
                [&[format, 4, 9][..], &stream.body].concat()
            })
            .collect(),
        _ => streams
            .iter()
            .map(|stream| [&[4, 9][..], &stream.body].concat())
            .collect(),
    }
}

#[test]
fn fuzz_bodies_hold_over_a_seeded_corpus() {
    let each = number("CALLSTITCH_HOSTILE", 250);
    for (name, body) in BODIES {
        let seeds = corpus(name);
        let mut random = Random::new(71);
        let mut bytes = 0;
        for round in 0..each {
            let seed = &seeds[random.below(seeds.len())];
            let mut input = if round < seeds.len() as u64 {
                seeds[round as usize].clone()
            } else {
                mutate(seed, random.next())
            };
            // Options are as good a thing to change as any.
            if round >= seeds.len() as u64 && random.one_in(2) {
                for byte in input
                    .iter_mut()
                    .take(3)
                    .skip(usize::from(*name == "any_stream"))
                {
                    *byte = random.next() as u8;
                }
            }
            bytes += input.len();
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| body(&input))) {
                if let Some(dir) = std::env::var_os("CALLSTITCH_SAVE") {
                    std::fs::write(
                        std::path::Path::new(&dir).join(format!("{name}.input")),
                        &input,
                    )
                    .unwrap();
                }
                println!(
                    "{name}: input {round} of {} bytes: {:?}",
                    input.len(),
                    String::from_utf8_lossy(&input[..input.len().min(6000)])
                );
                std::panic::resume_unwind(panic);
            }
        }
        println!("{name}: {each} inputs, {bytes} bytes");
    }
}

/// What the fuzzer found, each with the body that it was found by.
#[test]
fn what_the_fuzzer_found_stays_found() {
    // A repair inside an encoded text was told at an offset behind its end: half of a character counted as both.
    fuzz_bodies::arguments(b"9\0\0\x17\0 \x02\x07\0\0\x02\0\0~\x07\"{\\\"\0\0\0\0\0\\ud83d\0");
    fuzz_bodies::arguments(b"\x09\x07\"{\\x\\\"a\0\\\":1,}\"");
    // A member that no other wire knows was an extra, and on the one that knows it the kind of the call.
    fuzz_bodies::history(
        br#"{"type":"tool_use","id":"t","name":"f","ioput":{"a":[1]},"custom":{"4ype":"direct"}}"#,
    );
}

/// Found by the fuzzer, too: where the first document of an event is no JSON, nothing tells the format, and the second was
/// read all the same.
#[test]
fn a_body_of_no_format_has_no_calls() {
    let body = b"\x04\x09data: {broken}-\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"function_call\":{\"name\":\"f\",\"arguments\":\"{}\"}}}]}\n\n";
    fuzz_bodies::stream(callstitch::WireFormat::Auto, body);
}

/// Found by the fuzzer, too: what was remembered of one response was recognised in the next, at whose beginning the decoder is
/// in another state. So the pieces of the next began nothing, and a third response restarted nothing.
#[test]
fn what_is_remembered_of_one_response_is_not_of_the_next() {
    let piece = |text: &str| {
        format!(
            "data: {{\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"{text}\"}}\n\n"
        )
    };
    let pieces = ["a", "b", "c", "d"].map(piece).concat();
    let created = "data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}\n\n";
    for body in [
        format!("{pieces}{created}{pieces}{created}{pieces}"),
        format!("{pieces}{pieces}{created}"),
    ] {
        let input = [&[4, 9][..], body.as_bytes()].concat();
        fuzz_bodies::stream(callstitch::WireFormat::OpenAiResponses, &input);
    }
}

/// With an environment variable naming a folder, the corpus is written there for the coverage-guided fuzzer.
#[test]
fn the_corpus_of_a_target_is_never_empty() {
    for (name, _) in BODIES {
        let seeds = corpus(name);
        assert!(!seeds.is_empty(), "{name}");
        if let Some(dir) = std::env::var_os("CALLSTITCH_CORPUS") {
            let dir = std::path::Path::new(&dir).join(name);
            std::fs::create_dir_all(&dir).unwrap();
            for (number, seed) in seeds.iter().enumerate() {
                std::fs::write(dir.join(format!("seed-{number:03}")), seed).unwrap();
            }
        }
    }
}
