//! What the parser asks of the heap, counted. `cargo test --all-features --test alloc -- --nocapture` prints the figures.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "common/bodies.rs"]
mod bodies;

use allocation_counter::measure;
use callstitch::{Config, ErrorKind, Event, ToolCallParser, WireFormat};
use serde_json::json;

const KIB: u64 = 1 << 10;

/// Takes out what waits; returns the calls and the error's kind.
fn take(parser: &mut ToolCallParser, chunk: &[u8]) -> (usize, Option<ErrorKind>) {
    let (mut calls, mut error) = (0, None);
    for event in parser.push(chunk) {
        match event {
            Ok(Event::CallCompleted(_)) => calls += 1,
            Ok(_) => {}
            Err(found) => error = Some(found.kind()),
        }
    }
    (calls, error)
}

/// Two wires: how each opens a call and how it sends a piece.
#[derive(Clone, Copy, Debug)]
enum Wire {
    Chat,
    Anthropic,
}

impl Wire {
    const ALL: [Wire; 2] = [Wire::Chat, Wire::Anthropic];

    fn format(self) -> WireFormat {
        match self {
            Wire::Chat => WireFormat::OpenAiChat,
            Wire::Anthropic => WireFormat::Anthropic,
        }
    }

    fn open(self, index: u32) -> String {
        let id = format!("call_{index}");
        match self {
            Wire::Chat => bodies::chat_open(index, &id, "write_file"),
            Wire::Anthropic => bodies::anthropic_open(index, &id, "write_file"),
        }
    }

    fn piece(self, index: u32, text: &str) -> String {
        match self {
            Wire::Chat => bodies::chat_piece(index, text),
            Wire::Anthropic => bodies::anthropic_piece(index, text),
        }
    }

    fn end(self, index: u32) -> String {
        match self {
            Wire::Chat => bodies::chat_end(),
            Wire::Anthropic => bodies::anthropic_stop(index) + &bodies::anthropic_end(),
        }
    }

    /// A parser in which this many calls are open.
    fn parser(self, calls: u32) -> ToolCallParser {
        let mut parser = ToolCallParser::new(self.format());
        for index in 0..calls {
            take(&mut parser, self.open(index).as_bytes());
            take(&mut parser, self.piece(index, "{\"text\":\"").as_bytes());
        }
        parser
    }
}

/// Pieces of argument text as models send them: a few characters, escapes and non-ASCII among them.
const PIECES: [&str; 6] = ["fn ma", "in() {", "\\n  ", "\\\"é", "x 潮", "  a;"];

#[test]
fn an_argument_delta_allocates_nothing_but_the_growth_of_the_text() {
    for wire in Wire::ALL {
        for calls in [1, 8] {
            let mut parser = wire.parser(calls);
            let deltas: Vec<String> = (0..calls)
                .flat_map(|index| PIECES.map(|piece| wire.piece(index, piece)))
                .collect();
            // One chunk a delta, and chunks that cut deltas anywhere.
            let joined = deltas.concat();
            for size in [0, 37, 1400] {
                let chunks: Vec<&[u8]> = match size {
                    0 => deltas.iter().map(String::as_bytes).collect(),
                    size => joined.as_bytes().chunks(size).collect(),
                };
                // The first round sizes the buffers.
                let round = |parser: &mut ToolCallParser| {
                    for chunk in &chunks {
                        assert_eq!(take(parser, chunk), (0, None));
                    }
                };
                round(&mut parser);
                let rounds = 10_000 / deltas.len();
                let counts: Vec<u64> = (0..rounds)
                    .map(|_| measure(|| round(&mut parser)).count_total)
                    .collect();
                let total: u64 = counts.iter().sum();
                let quiet = counts.iter().filter(|&&count| count == 0).count();
                println!(
                    "{wire:?}, {calls} calls, chunks of {size}: {total} allocations in {} deltas",
                    rounds * deltas.len()
                );
                // A text of 100 KB has grown by half some twenty times.
                assert!(total <= u64::from(calls) * 24, "{total} allocations");
                assert!(rounds - quiet <= 24, "most rounds allocate nothing");
            }
        }
    }
}

#[test]
fn a_delta_that_repeats_the_calls_ids_allocates_nothing_either() {
    let chat = |text: &str| {
        let function = json!({"name": "write_file", "arguments": text});
        bodies::event(&chat_call(
            &json!({"index": 0, "id": "call_0", "function": function}),
        ))
    };
    let responses = |text: &str| {
        bodies::event(
            &json!({"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "fc_0", "delta": text}),
        )
    };
    let item = json!({"type": "function_call", "id": "fc_0", "call_id": "call_0", "name": "write_file", "arguments": ""});
    let added = json!({"type": "response.output_item.added", "output_index": 0, "item": item});
    for (format, open, piece) in [
        (
            WireFormat::OpenAiChat,
            chat("{\"text\":\""),
            chat("\\nabcd"),
        ),
        (
            WireFormat::OpenAiResponses,
            bodies::event(&added) + &responses("{\"text\":\""),
            responses("\\nabcd"),
        ),
    ] {
        let mut parser = ToolCallParser::new(format);
        take(&mut parser, open.as_bytes());
        for _ in 0..100 {
            take(&mut parser, piece.as_bytes());
        }
        let counts = (0..1000).map(|_| {
            measure(|| assert_eq!(take(&mut parser, piece.as_bytes()), (0, None))).count_total
        });
        let busy = counts.filter(|&count| count > 0).count();
        println!("{format}: {busy} of 1000 deltas allocate");
        assert!(busy <= 8, "{format}: {busy}");
    }
}

#[test]
fn a_text_delta_allocates_nothing() {
    let text = bodies::chat_text("The tide is \"low\".");
    for calls_only in [false, true] {
        let config = Config::default().calls_only(calls_only);
        let mut parser = ToolCallParser::with_config(WireFormat::OpenAiChat, config);
        // Two are parsed to learn from, and the third says how such an event is framed.
        for _ in 0..3 {
            take(&mut parser, text.as_bytes());
        }
        let info = measure(|| {
            for _ in 0..1000 {
                take(&mut parser, text.as_bytes());
            }
        });
        assert_eq!(info.count_total, 0, "calls only: {calls_only}");
    }
}

#[test]
fn an_idle_parser_holds_half_a_kilobyte() {
    for format in WireFormat::all().chain([WireFormat::Auto]) {
        // The first parser of a process makes the configuration that all of them share.
        drop(ToolCallParser::new(format));
        let mut parser = None;
        let info = measure(|| parser = Some(ToolCallParser::new(format)));
        let bytes = size_of::<ToolCallParser>() as u64 + info.bytes_current.unsigned_abs();
        println!(
            "{format}: {bytes} bytes, {} of them in {} allocations",
            info.bytes_current, info.count_current
        );
        assert!(bytes <= 512, "{format}: {bytes}");
    }
}

#[test]
fn a_long_line_that_carries_no_arguments_is_held_to_its_beginning() {
    let long = "x".repeat(1 << 20);
    let typed = |kind: &str| {
        format!(
            "event: {kind}\ndata: {{\"type\": \"{kind}\", \"response\": {{\"instructions\": \"{long}\"}}}}\n\n"
        )
    };
    for (format, lines) in [
        (WireFormat::OpenAiChat, format!(": {long}\n\n")),
        (WireFormat::OpenAiChat, format!("id: {long}\n")),
        (WireFormat::OpenAiResponses, typed("response.created")),
        (WireFormat::OpenAiResponses, typed("response.in_progress")),
        (
            WireFormat::OpenAiResponses,
            typed("response.of_a_later_year"),
        ),
        (WireFormat::Anthropic, typed("ping")),
        (WireFormat::Anthropic, typed("of_a_later_year")),
    ] {
        let mut parser = ToolCallParser::new(format);
        let info = measure(|| {
            for chunk in lines.as_bytes().chunks(1400) {
                assert_eq!(take(&mut parser, chunk), (0, None));
            }
        });
        println!("{format}, {:.30}…: {} bytes at most", lines, info.bytes_max);
        assert!(info.bytes_max <= 4 * KIB, "{format}: {}", info.bytes_max);
        assert_eq!(parser.offset(), lines.len() as u64);
    }
}

/// What one more call, open with this many bytes of arguments, adds to a parser that has one open already.
fn one_more_call(wire: Wire, bytes: usize) -> i64 {
    let (open, first) = (wire.open(1), wire.piece(1, "{\"text\":\""));
    let piece = wire.piece(1, "abcd");
    let mut parser = wire.parser(1);
    for _ in 0..10 {
        take(&mut parser, wire.piece(0, "abcd").as_bytes());
    }
    let info = measure(|| {
        take(&mut parser, open.as_bytes());
        take(&mut parser, first.as_bytes());
        for _ in 0..bytes / 4 {
            take(&mut parser, piece.as_bytes());
        }
    });
    assert_eq!(parser.in_progress().count(), 2);
    info.bytes_current
}

/// What a parser holds that has read its first call's beginning.
fn opened(wire: Wire) -> u64 {
    let mut parser = None;
    let open = [wire.open(0), wire.piece(0, "{"), wire.piece(0, "}")];
    let info = measure(|| {
        let parser = parser.insert(ToolCallParser::new(wire.format()));
        for chunk in &open {
            take(parser, chunk.as_bytes());
        }
    });
    size_of::<ToolCallParser>() as u64 + info.bytes_current.unsigned_abs()
}

#[test]
fn an_open_call_holds_its_text_and_a_half_and_a_kilobyte() {
    for wire in Wire::ALL {
        println!(
            "{wire:?}: a parser with its first call open holds {}",
            opened(wire)
        );
        assert!(opened(wire) <= 4 * KIB);
        for bytes in [
            0, 100, 1000, 5000, 33_000, 70_000, 100_000, 140_000, 1_000_000,
        ] {
            let held = one_more_call(wire, bytes);
            let text = bytes as i64 + 9;
            println!("{wire:?}: one more call of {text} bytes holds {held}");
            assert!(held <= text * 3 / 2 + 1024, "{wire:?}, {text}: {held}");
        }
    }
}

#[test]
fn a_whole_call_of_a_megabyte_costs_about_a_hundred_allocations() {
    for wire in Wire::ALL {
        let mut body = wire.open(0) + &wire.piece(0, "{\"text\":\"");
        for at in 0..62_500 {
            body += &wire.piece(
                0,
                [
                    "abcd efgh ijkl m",
                    "e\\nf and 13 more ",
                    "ghi ghi ghi ghi ",
                    "ijklijklijklijkl",
                ][at % 4],
            );
        }
        body += &wire.piece(0, "\"}");
        body += &wire.end(0);
        let info = measure(|| {
            let mut parser = ToolCallParser::new(wire.format());
            let mut calls = 0;
            for chunk in body.as_bytes().chunks(16 << 10) {
                calls += take(&mut parser, chunk).0;
            }
            assert!(parser.finish().next().is_none());
            assert_eq!(calls, 1);
        });
        println!(
            "{wire:?}: {} allocations, {} bytes in all, {} at most",
            info.count_total, info.bytes_total, info.bytes_max
        );
        assert!(info.count_total <= 128, "{}", info.count_total);
        assert_eq!(info.bytes_current, 0, "nothing stays");
        // The growing text moves while it is copied: two of it at most, then the value beside it.
        assert!(info.bytes_max <= 4 << 20, "{}", info.bytes_max);
    }
}

// --- attacks -------------------------------------------------------------------------------------------------------------

/// The most that a parser held at once while it read this body event by event, and the error that ended it.
fn peak(format: WireFormat, config: &Config, body: &[String]) -> (u64, Option<ErrorKind>) {
    let mut ended = None;
    let info = measure(|| {
        let mut parser = ToolCallParser::with_config(format, config.clone());
        for chunk in body {
            ended = ended.or(take(&mut parser, chunk.as_bytes()).1);
        }
        for event in parser.finish() {
            ended = ended.or(event.err().map(|error| error.kind()));
        }
    });
    assert_eq!(info.bytes_current, 0);
    println!(
        "  {} KiB at most for {} KiB of body, {ended:?}",
        info.bytes_max / KIB,
        body.iter().map(String::len).sum::<usize>() >> 10
    );
    (info.bytes_max, ended)
}

/// Chat, with limits small enough to be seen.
fn small() -> Config {
    Config::default()
        .max_event_bytes(64 << 10)
        .max_calls(64)
        .max_choices(8)
        .max_name_bytes(256)
        .max_arguments_bytes(128 << 10)
        .max_total_arguments_bytes(256 << 10)
}

/// What [`small`] allows in all: an event in progress while its buffer moves; the texts, twice while they grow, and again as
/// events and as values when they all end at once; the calls with their names and ids.
const SMALL: u64 = 2 * (64 * KIB) + 5 * (256 * KIB) + 64 * (KIB + 4 * 256);

/// The event of this number.
type EventOf<'a> = Box<dyn Fn(usize) -> serde_json::Value + 'a>;

/// A body of this many events.
fn events(count: usize, event: impl Fn(usize) -> serde_json::Value) -> Vec<String> {
    (0..count)
        .map(|number| bodies::event(&event(number)))
        .collect()
}

fn chat_call(entry: &serde_json::Value) -> serde_json::Value {
    json!({"choices": [{"delta": {"tool_calls": [entry]}}]})
}

#[test]
fn an_endless_event_is_held_no_further_than_the_limit() {
    let chunk = "x".repeat(4096);
    let endless = |start: &str, chunk: &str| -> Vec<String> {
        [start.to_owned()]
            .into_iter()
            .chain((0..(1 << 20) / chunk.len()).map(|_| chunk.to_owned()))
            .collect()
    };
    for (start, chunk) in [
        ("data: ", chunk.as_str()),
        ("", chunk.as_str()),
        (": ", chunk.as_str()),
        ("event: ", chunk.as_str()),
        ("", "data: more of the same event, again and again\n"),
        ("", "event: another name for it\n"),
        ("", "a line of a proxy's page\n"),
        ("data: {\"choices\":\n", "data: [],\n"),
    ] {
        println!("{start:?}, {:?} …", &chunk[..10]);
        let (bytes, ended) = peak(WireFormat::OpenAiChat, &small(), &endless(start, chunk));
        assert!(bytes <= 4 * 64 * KIB, "{bytes}");
        assert!(ended.is_some());
    }
}

#[test]
fn calls_without_number_and_arguments_without_end_pass_a_limit() {
    let open = |index: usize| json!({"index": index, "id": format!("call_{index}"), "function": {"name": "f", "arguments": "{"}});
    let many = events(10_000, |index| chat_call(&open(index)));
    let (bytes, ended) = peak(WireFormat::OpenAiChat, &small(), &many);
    assert_eq!(ended, Some(ErrorKind::Limit));
    assert!(bytes <= 64 * 2 * KIB, "{bytes}");

    let piece = "y".repeat(1000);
    for calls in [1, 3, 60] {
        let long = events(2_000, |at| {
            chat_call(
                &json!({"index": at % calls, "id": format!("call_{}", at % calls), "function": {"name": "f", "arguments": piece}}),
            )
        });
        let (bytes, ended) = peak(WireFormat::OpenAiChat, &small(), &long);
        assert_eq!(ended, Some(ErrorKind::Limit));
        assert!(bytes <= SMALL, "{bytes}");
    }
}

#[test]
fn what_a_stream_may_say_without_end_is_not_kept() {
    let name = "n".repeat(200);
    let first = chat_call(
        &json!({"index": 0, "id": "call_0", "function": {"name": "f", "arguments": "{"}}),
    );
    let attacks: Vec<(&str, EventOf<'_>)> = vec![
        (
            "repeated names",
            Box::new(|_| chat_call(&json!({"index": 0, "function": {"name": "f"}}))),
        ),
        (
            "different names",
            Box::new(|at| {
                chat_call(
                    &json!({"index": 0, "id": "call_0", "function": {"name": format!("{name}{at}")}}),
                )
            }),
        ),
        (
            "drifting ids",
            Box::new(|at| {
                chat_call(
                    &json!({"index": 0, "id": format!("{name}{at}"), "function": {"arguments": ""}}),
                )
            }),
        ),
        (
            "drifting indexes",
            Box::new(|at| {
                chat_call(&json!({"index": at, "id": "call_0", "function": {"arguments": ""}}))
            }),
        ),
        (
            "null arguments",
            Box::new(|_| chat_call(&json!({"index": 0, "function": {"arguments": null}}))),
        ),
        (
            "unknown labels",
            Box::new(|at| chat_call(&json!({"index": at + 1, "function": {"arguments": ""}}))),
        ),
        (
            "finish reasons",
            Box::new(
                |at| json!({"choices": [{"delta": {}, "finish_reason": format!("{name}{at}")}]}),
            ),
        ),
        (
            "choices that finish",
            Box::new(
                |at| json!({"choices": [{"index": at, "delta": {}, "finish_reason": "stop"}]}),
            ),
        ),
        (
            "choices with text",
            Box::new(|at| json!({"choices": [{"index": at, "delta": {"content": "\u{fffd}hi"}}]})),
        ),
        (
            "usage",
            Box::new(|at| json!({"choices": [], "usage": {"total_tokens": at}})),
        ),
        (
            "members of no meaning",
            Box::new(|at| json!({"choices": [], (format!("{name}{at}")): at})),
        ),
        (
            "extras",
            Box::new(|at| {
                chat_call(
                    &json!({"index": 0, "id": "call_0", "extra_content": {"google": {(format!("{name}{at}")): at}}}),
                )
            }),
        ),
    ];
    for (what, event) in attacks {
        println!("{what}");
        let mut body = vec![bodies::event(&first)];
        body.extend(events(5_000, event));
        let (bytes, _) = peak(WireFormat::OpenAiChat, &small(), &body);
        assert!(bytes <= 64 * KIB, "{what}: {bytes}");
    }
    for (what, line) in [
        ("comments", ": keep-alive\n\n"),
        ("no JSON", "data: {{{\n\n"),
        ("fields", "id: 7\nretry: 9\nevent: ping\n\n"),
        ("stray text", "words\n\n"),
        ("empty events", "data\n\n"),
        ("late text", "data: [DONE]\n\n"),
    ] {
        println!("{what}");
        let (bytes, _) = peak(
            WireFormat::OpenAiChat,
            &small(),
            &vec![line.to_owned(); 5_000],
        );
        assert!(bytes <= 64 * KIB, "{what}: {bytes}");
    }
}

#[test]
fn what_the_other_wires_may_say_without_end_is_not_kept() {
    let attacks: Vec<(WireFormat, EventOf<'_>)> = vec![
        (
            WireFormat::Anthropic,
            Box::new(
                |at| json!({"type": "content_block_start", "index": at, "content_block": {"type": "text", "text": "a"}}),
            ),
        ),
        (
            WireFormat::OpenAiResponses,
            Box::new(
                |at| json!({"type": "response.output_item.added", "output_index": at, "item": {"type": "message", "id": format!("msg_{at}"), "content": []}}),
            ),
        ),
        (
            WireFormat::OpenAiResponses,
            Box::new(
                |at| json!({"type": "response.output_text.delta", "output_index": at, "item_id": format!("msg_{at}"), "content_index": at, "delta": "a"}),
            ),
        ),
        (
            WireFormat::OpenAiResponses,
            Box::new(
                |at| json!({"type": "response.output_text.done", "output_index": at, "item_id": format!("msg_{at}"), "content_index": at, "text": "a"}),
            ),
        ),
        (
            WireFormat::OpenAiResponses,
            Box::new(|at| {
                let item = json!({"type": "function_call", "id": format!("fc_{at}"), "call_id": "call_1", "name": "f"});
                json!({"type": "response.output_item.added", "output_index": 0, "item": item})
            }),
        ),
        (
            WireFormat::OpenAiResponses,
            Box::new(|at| {
                let kind = if at == 0 {
                    "response.output_item.added"
                } else {
                    "response.function_call_arguments.delta"
                };
                let item = json!({"type": "function_call", "id": "fc_0", "call_id": "call_1", "name": "f"});
                json!({"type": kind, "output_index": 0, "item_id": format!("fc_{at}"), "item": item, "delta": ""})
            }),
        ),
        (
            WireFormat::Gemini,
            Box::new(
                |at| json!({"responseId": format!("r{at}"), "candidates": [{"content": {"parts": [{"text": "a"}]}}]}),
            ),
        ),
        (
            WireFormat::GeminiInteractions,
            Box::new(
                |at| json!({"event_type": "step.start", "index": at, "step": {"type": "model_output"}}),
            ),
        ),
        (
            WireFormat::Cohere,
            Box::new(
                |at| json!({"type": "content-start", "index": at, "delta": {"message": {"content": {"type": "text", "text": "a"}}}}),
            ),
        ),
        (
            WireFormat::Cohere,
            Box::new(
                |_| json!({"type": "tool-plan-delta", "delta": {"message": {"tool_plan": "a"}}}),
            ),
        ),
    ];
    for (format, event) in attacks {
        println!("{format}: {}", event(0));
        let (bytes, _) = peak(format, &small(), &events(5_000, event));
        assert!(bytes <= 128 * KIB, "{format}: {bytes}");
    }
}

#[test]
fn what_each_call_may_carry_besides_its_arguments_is_bounded_too() {
    let large = "z".repeat(60 << 10);
    println!("a start's own input");
    let mut body = vec![bodies::anthropic_start()];
    body.extend(events(64, |index| json!({"type": "content_block_start", "index": index, "content_block": {"type": "tool_use", "id": format!("toolu_{index}"), "name": "f", "input": {"text": large}}})));
    let (bytes, _) = peak(WireFormat::Anthropic, &small(), &body);
    assert!(bytes <= SMALL, "{bytes}");
    println!("extras");
    let body = events(64, |index| {
        chat_call(
            &json!({"index": index, "id": format!("call_{index}"), "function": {"name": "f", "arguments": "{"}, "extra_content": {"text": large}}),
        )
    });
    let (bytes, _) = peak(WireFormat::OpenAiChat, &small(), &body);
    assert!(bytes <= SMALL, "{bytes}");
    println!("a server's name");
    let mut body = vec![bodies::anthropic_start()];
    body.extend(events(64, |index| json!({"type": "content_block_start", "index": index, "content_block": {"type": "mcp_tool_use", "id": format!("toolu_{index}"), "name": "f", "server_name": large, "input": {}}})));
    let (bytes, _) = peak(WireFormat::Anthropic, &small(), &body);
    assert!(bytes <= SMALL, "{bytes}");
}

#[test]
fn a_body_that_never_shows_its_format_is_not_kept_without_end() {
    let body = vec!["data: {}\n\n".to_owned(); 40_000];
    let (bytes, ended) = peak(WireFormat::Auto, &Config::default(), &body);
    assert!(ended.is_some());
    assert!(bytes <= 4 << 20, "{bytes}");
}

#[test]
fn the_events_of_one_chunk_stay_in_proportion_to_it() {
    let piece = bodies::chat_piece(0, "a") + &bodies::chat_text("b");
    for chunk in [
        bodies::chat_open(0, "call_0", "f") + &piece.repeat(5_000),
        "data:{\"choices\":[{\"finish_reason\":\"a\"},{\"finish_reason\":\"b\"}]}\n\n"
            .repeat(5_000),
        "data:{\"usage\":{}}\n\n".repeat(10_000),
    ] {
        let mut parser = ToolCallParser::new(WireFormat::OpenAiChat);
        let info = measure(|| drop(parser.push(chunk.as_bytes())));
        let times = info.bytes_max as f64 / chunk.len() as f64;
        println!(
            "a chunk of {} bytes: {} waiting events, {times:.1} times its size",
            chunk.len(),
            parser.events().len()
        );
        assert!(times <= 16.0, "{times}");
    }
}

/// Values of many small numbers take some fifty times their text. Calls that ended hold none until somebody looks.
#[test]
fn a_burst_of_events_is_not_kept_once_it_was_taken_out() {
    let chunk = |delta: &str, more: &str| {
        format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{delta}{more}}}\n\n")
    };
    let usage = |at: usize| chunk("{}}]", &format!(",\"usage\":{{\"total_tokens\":{at}}}"));
    let said = |at: usize| {
        chunk(
            "{\"content\":\"tide\"}}]",
            &format!(",\"usage\":{{\"n\":{at}}}"),
        )
    };
    let reason = |at: usize| chunk("{}", &format!(",\"finish_reason\":\"{at}\"}}]"));
    let kinds: [&dyn Fn(usize) -> String; 3] = [&usage, &said, &reason];
    for (at, one) in kinds.iter().enumerate() {
        let burst: String = (0..20_000).map(one).collect();
        let mut parser = ToolCallParser::new(WireFormat::OpenAiChat);
        let info = measure(|| {
            take(&mut parser, burst.as_bytes());
            take(&mut parser, one(0).as_bytes());
            take(&mut parser, one(1).as_bytes());
        });
        println!("{at}: {} held of {}", info.bytes_current, info.bytes_max);
        assert!(info.bytes_max > 1 << 20, "{at}");
        assert!(
            info.bytes_current <= 128 << 10,
            "{at}: {}",
            info.bytes_current
        );
    }
}

#[test]
fn calls_that_ended_hold_their_texts_and_no_values_until_somebody_looks() {
    const CALLS: u32 = 8;
    for whole in [true, false] {
        let end = if whole { "0]}" } else { "" };
        let text = format!("{{\"a\":[{}{end}", "0,".repeat(50_000));
        let mut body = String::new();
        for index in 0..CALLS {
            body += &bodies::chat_open(index, &format!("call_{index}"), "f");
            body += &bodies::chat_piece(index, &text);
        }
        body += &bodies::chat_end();
        let texts = text.len() * CALLS as usize;
        let times = |bytes: u64| bytes as f64 / texts as f64;

        let mut calls = Vec::new();
        let ended = measure(|| {
            let mut parser = ToolCallParser::new(WireFormat::OpenAiChat);
            calls.extend(
                parser
                    .push(body.as_bytes())
                    .filter_map(|event| event.unwrap().into_call()),
            );
        });
        assert_eq!(calls.len(), CALLS as usize);
        let held = times(ended.bytes_current.unsigned_abs());
        let logged = measure(|| {
            assert!(
                calls
                    .iter()
                    .all(|call| format!("{call:?}").contains("members"))
            )
        });
        assert_eq!(logged.bytes_current, 0, "a log line keeps nothing");
        let looked = measure(|| {
            for call in &calls {
                assert!(call.arguments().recovered().unwrap()["a"].is_array());
            }
        });
        let values = times(looked.bytes_current.unsigned_abs());
        println!(
            "whole: {whole}. {CALLS} calls of {} bytes of [0,0,0,…]: {:.1} times the texts at most, {held:.1} held, {values:.1} once looked at",
            text.len(),
            times(ended.bytes_max),
        );
        // A flagged text becomes values while it is read to its end, one call at a time.
        let at_most = if whole {
            4.0
        } else {
            4.0 + 100.0 / f64::from(CALLS)
        };
        assert!(times(ended.bytes_max) <= at_most);
        assert!(held <= 1.5, "{held}");
        assert!((10.0..100.0).contains(&values), "{values}");
    }
}
