//! The memory of the last event changes nothing: with it and without it every stream says exactly the same, damaged ones too.
//!
//! `CALLSTITCH_MUTATIONS=20000 cargo test --release --all-features --test echo` mutates each stream so often.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/mutate.rs"]
mod mutate;
#[path = "support/reading.rs"]
mod reading;
#[path = "../benches/transcripts.rs"]
mod transcripts;

use callstitch::{ToolCallParser, WireFormat};
use mutate::mutate;
use reading::{
    Ending, Random, Stream, config, cut, number, own_streams, read_with, recorded_streams,
};
use serde_json::json;
use transcripts::{Provider, Shape, transcript};

fn generated() -> Vec<Stream> {
    let shapes = [
        Shape::Calls {
            calls: 1,
            bytes: 700,
        },
        Shape::Calls {
            calls: 3,
            bytes: 1500,
        },
        Shape::Wide { bytes: 9000 },
        Shape::One { bytes: 900 },
        Shape::Shuffled { bytes: 900 },
        Shape::Escaped { bytes: 700 },
        Shape::Padded { bytes: 900 },
        Shape::Text { bytes: 4000 },
    ];
    let formats = [
        (Provider::Chat, WireFormat::OpenAiChat),
        (Provider::Anthropic, WireFormat::Anthropic),
        (Provider::Responses, WireFormat::OpenAiResponses),
    ];
    let mut streams = Vec::new();
    for (provider, format) in formats {
        for shape in shapes {
            let mut body = transcript(provider, shape).body;
            streams.push(Stream {
                name: format!("{} {shape:?}", provider.name()),
                format,
                body: body.clone(),
            });
            let text = String::from_utf8(std::mem::take(&mut body)).unwrap();
            streams.push(Stream {
                name: format!("{} {shape:?} crlf", provider.name()),
                format,
                body: text.replace('\n', "\r\n").into_bytes(),
            });
        }
    }
    streams
}

/// Streams of the other wires that send text by the piece: calls that take turns, then text, thinking and an end.
fn other_wires() -> Vec<Stream> {
    const PIECES: [&str; 8] = [
        "{\"a\":", "\"", "plain ", "a\nline ", "é潮", " {", "\\\"", "word",
    ];
    let pieces = |calls: usize| (0..120).map(move |at| (at % calls, PIECES[at * 5 % PIECES.len()]));
    let event = |value: serde_json::Value| format!("data: {value}\n\n");
    let in_turn = |parts: [&mut dyn Iterator<Item = String>; 4], end: String| -> String {
        parts.into_iter().flatten().chain([end]).collect()
    };
    let cohere = |calls: usize| -> String {
        let delta = |kind: &str, index: usize, message: serde_json::Value| {
            event(json!({"type": kind, "index": index, "delta": {"message": message}}))
        };
        let mut starts = (0..calls).map(|index| {
            let function = json!({"name": "note", "arguments": ""});
            delta(
                "tool-call-start",
                index,
                json!({"tool_calls": {"id": format!("call_{index}"), "function": function}}),
            )
        });
        let mut deltas = pieces(calls).map(|(index, text)| {
            delta(
                "tool-call-delta",
                index,
                json!({"tool_calls": {"function": {"arguments": text}}}),
            )
        });
        let mut ends =
            (0..calls).map(|index| event(json!({"type": "tool-call-end", "index": index})));
        let mut texts = pieces(1)
            .map(|(_, text)| delta("content-delta", 0, json!({"content": {"text": text}})));
        let end = event(json!({"type": "message-end", "delta": {"finish_reason": "TOOL_CALL"}}));
        in_turn([&mut starts, &mut deltas, &mut ends, &mut texts], end)
    };
    let ollama = || -> String {
        let line = |message: serde_json::Value| {
            format!(
                "{}\n",
                json!({"model": "m", "created_at": "2026-08-01T10:00:00.1Z", "message": message, "done": false})
            )
        };
        let texts = pieces(1).map(|(_, text)| line(json!({"role": "assistant", "content": text})));
        let thoughts = pieces(1)
            .map(|(_, text)| line(json!({"role": "assistant", "content": "", "thinking": text})));
        let call =
            line(json!({"tool_calls": [{"function": {"name": "note", "arguments": {"a": "b"}}}]}));
        let end = "{\"message\":{\"content\":\"\"},\n\"done\":true,\"done_reason\":\"stop\"}\n"
            .to_owned();
        thoughts.chain(texts).chain([call, end]).collect()
    };
    let interactions = |calls: usize| -> String {
        let mut starts = (0..calls).map(|index| {
            let step =
                json!({"type": "function_call", "id": format!("call_{index}"), "name": "note"});
            event(json!({"event_type": "step.start", "index": index, "step": step}))
        });
        let mut deltas = pieces(calls).map(|(index, text)| {
            event(json!({"event_type": "step.delta", "index": index, "delta": {"type": "arguments_delta", "arguments": text}}))
        });
        let mut ends =
            (0..calls).map(|index| event(json!({"event_type": "step.stop", "index": index})));
        let mut texts = pieces(1).map(|(_, text)| {
            event(json!({"event_type": "step.delta", "index": 9, "delta": {"type": "text", "text": text}}))
        });
        let end = event(
            json!({"event_type": "interaction.completed", "interaction": {"status": "requires_action"}}),
        );
        in_turn([&mut starts, &mut deltas, &mut ends, &mut texts], end)
    };
    let bodies = [
        (WireFormat::Cohere, cohere(1)),
        (WireFormat::Cohere, cohere(3)),
        (WireFormat::Ollama, ollama()),
        (WireFormat::GeminiInteractions, interactions(1)),
        (WireFormat::GeminiInteractions, interactions(3)),
    ];
    let stream = |(at, (format, body)): (usize, (WireFormat, String))| Stream {
        name: format!("{format}, body {at}"),
        format,
        body: body.into_bytes(),
    };
    bodies.into_iter().enumerate().map(stream).collect()
}

/// Reads a body without the memory, then with it, cut in several ways.
fn compare(format: WireFormat, body: &[u8], seed: u64, name: &str) {
    let ending = if seed % 5 == 4 {
        Ending::Abort
    } else {
        Ending::Finish
    };
    let read = |remember, chunks: Vec<&[u8]>| {
        let config = config().remember_events(remember);
        read_with(ToolCallParser::with_config(format, config), chunks, ending)
    };
    let without = read(false, vec![body]);
    without.check_grammar();
    let save = || {
        if let Some(dir) = std::env::var_os("CALLSTITCH_SAVE") {
            std::fs::write(std::path::Path::new(&dir).join("echo.body"), body).unwrap();
        }
        String::new()
    };
    let cuts = [vec![body], cut(body, seed), cut(body, seed ^ 0x55)];
    for (which, chunks) in cuts.into_iter().enumerate() {
        let with = read(true, chunks);
        if with != without {
            save();
        }
        with.same_as(
            &without,
            &format_args!("{name}, seed {seed}, cut {which}: with memory, then without"),
        );
    }
    let small = number("CALLSTITCH_SMALL_LIMITS", 1) > 0 && seed.is_multiple_of(3);
    if small {
        let mut random = Random::new(seed);
        let (event, text) = (40 + random.below(600), 10 + random.below(900));
        let read = |remember, chunks: Vec<&[u8]>| {
            let config = config()
                .remember_events(remember)
                .max_event_bytes(event)
                .max_arguments_bytes(text)
                .max_calls(2);
            read_with(ToolCallParser::with_config(format, config), chunks, ending)
        };
        let without = read(false, vec![body]);
        without.check_grammar();
        for chunks in [vec![body], cut(body, seed)] {
            let with = read(true, chunks);
            if with != without {
                save();
            }
            with.same_as(
                &without,
                &format_args!("{name}, seed {seed}, limits {event} and {text}"),
            );
        }
        // How many events wait depends on the chunks, so these must be the same.
        let (waiting, total) = (1 + random.below(40), 10 + random.below(900));
        let chunks = cut(body, seed ^ 0xaa);
        let [with, without] = [true, false].map(|remember| {
            let config = config()
                .remember_events(remember)
                .max_queued_events(waiting)
                .max_total_arguments_bytes(total);
            let parser = ToolCallParser::with_config(format, config);
            read_with(parser, chunks.clone(), ending)
        });
        with.same_as(
            &without,
            &format_args!("{name}, seed {seed}, at most {waiting} events and {total} bytes"),
        );
    }
}

/// One event after another that repeats the one before it, in which one byte or another is no UTF-8, or a character is cut in
/// two by the end of a piece.
#[test]
fn bad_bytes_among_repeated_events_say_the_same_with_and_without_the_memory() {
    let start = br#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"note","arguments":"{\"a\":\""}}]}}]}

"#;
    let event = |text: &[u8]| {
        let before = br#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":""#;
        [before, text, b"\"}}]}}]}\n\n"].concat()
    };
    let mut count = 0;
    for bad in [
        &b"\xff"[..],
        b"\xc3",
        b"\xa9",
        b"a\xe2\x82",
        b"\xf0\x9f\x98\x80",
        b"\\n\xff",
    ] {
        for at in 0..40 {
            let mut body = start.to_vec();
            for piece in 0..40 {
                let text: &[u8] = match piece {
                    _ if piece == at => bad,
                    _ if piece == at + 1 => b"\xa9, the second half",
                    _ if piece % 7 == 3 => b"{",
                    _ if piece % 5 == 2 => b"\\\"",
                    _ => b"word",
                };
                body.extend(event(text));
            }
            compare(WireFormat::OpenAiChat, &body, at, "bad bytes");
            count += 1;
        }
    }
    assert_eq!(count, 240);
}

#[test]
fn every_stream_says_the_same_with_and_without_the_memory() {
    let mut count = 0;
    for streams in [
        own_streams(),
        recorded_streams(),
        generated(),
        other_wires(),
    ] {
        for stream in streams {
            for seed in 0..15 {
                compare(stream.format, &stream.body, seed, &stream.name);
                count += 1;
            }
        }
    }
    println!("{count} comparisons of whole streams");
}

#[test]
fn a_damaged_stream_says_the_same_with_and_without_the_memory() {
    let mutations = number("CALLSTITCH_MUTATIONS", 12);
    let mut count = 0;
    for streams in [
        own_streams(),
        recorded_streams(),
        generated(),
        other_wires(),
    ] {
        for stream in streams {
            // The cost of a long one is spent better on short ones.
            let times = (mutations * 4000 / stream.body.len().max(400) as u64).clamp(1, mutations);
            for seed in 0..times {
                let body = mutate(&stream.body, seed.wrapping_mul(7919) + 1);
                compare(stream.format, &body, seed, &stream.name);
                count += 1;
            }
        }
    }
    println!("{count} comparisons of damaged streams");
}
