//! Every limit of `Config` just below, at and just above it; what no limit may cost; and the stress forms of the shared cases.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod support;

use callstitch::{
    CallState, Config, End, Error, ErrorKind, Event, ToolCall, ToolCallParser, WireFormat,
};
use serde_json::{Value, json};
use support::run::{Run, both_with, config};
use support::shared::shared;
use support::wire::{
    DONE, calls, choices, data, event, input, message_start, opening, piece, tool_start,
};

/// A call that is whole before anything is too much, and its length.
fn whole() -> String {
    opening(0, "call_0", "tide_height", "{\"port\":\"Brest\"}")
}

fn limited(limit: impl Fn(Config) -> Config, body: &str) -> Run {
    both_with(WireFormat::OpenAiChat, || limit(config()), body)
}

/// The body passes, and ends clean.
#[track_caller]
fn passes(limit: impl Fn(Config) -> Config, body: &str) -> Run {
    let run = limited(limit, body);
    assert_eq!(run.end, End::Clean, "{:?}", run.error);
    run
}

/// The body ends in a limit error that names the limit and the offset; the call that was whole before it stands.
#[track_caller]
fn stops(limit: impl Fn(Config) -> Config, body: &str, name: &str, offset: usize) -> Run {
    let run = limited(limit, body);
    assert_limit(run.error(), name);
    assert_eq!(run.error().offset(), offset as u64, "{}", run.error());
    assert_eq!(run.end, End::Error);
    let first = run.calls.first().expect("what was whole is delivered");
    assert_eq!((first.id(), first.state()), ("call_0", CallState::Whole));
    assert!(run.calls[1..].iter().all(|call| !call.is_usable()));
    run
}

#[track_caller]
fn assert_limit(error: &Error, name: &str) {
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    assert!(error.message().contains(name), "{error}");
}

#[test]
fn max_event_bytes_counts_one_line() {
    let event = opening(
        1,
        "call_1",
        "note",
        &json!({"text": "x".repeat(300)}).to_string(),
    );
    let length = event.trim_end().len();
    let body = [whole(), event, DONE.to_owned()].concat();
    for limit in [length, length + 1] {
        passes(|config| config.max_event_bytes(limit), &body);
    }
    let limit = length - 1;
    let offset = whole().len() + limit;
    let run = stops(
        |config| config.max_event_bytes(limit),
        &body,
        "max_event_bytes",
        offset,
    );
    assert_eq!(run.calls.len(), 1, "nothing of the event counts");
}

#[test]
fn max_event_bytes_counts_the_lines_of_one_event_together() {
    let lines =
        "data: {\"choices\":[\ndata: {\"delta\":{\"content\":\"0123456789\"}}\ndata: ]}\n\n";
    let joined = lines
        .trim_end()
        .lines()
        .map(|line| line.len() - "data: ".len() + 1)
        .sum::<usize>()
        - 1;
    // The call's event is longer than the joined lines: here they stand alone. Each line is shorter than any of the limits.
    let lone = [lines, DONE].concat();
    for limit in [joined, joined + 1] {
        passes(|config| config.max_event_bytes(limit), &lone);
    }
    let run = limited(|config| config.max_event_bytes(joined - 1), &lone);
    assert_limit(run.error(), "max_event_bytes");
    // The limit is one event's, not the body's.
    let many = [whole(), lines.repeat(100), DONE.to_owned()].concat();
    passes(|config| config.max_event_bytes(whole().len()), &many);
}

#[test]
fn max_event_bytes_counts_text_between_events() {
    let bare = format!("{{\n{}", "  \"x\": 1,\n".repeat(50));
    let body = [whole(), bare].concat();
    let limit = whole().len();
    let run = limited(|config| config.max_event_bytes(limit), &body);
    assert_limit(run.error(), "max_event_bytes");
    assert_eq!(run.calls[0].state(), CallState::Whole);
}

#[test]
fn max_arguments_bytes_counts_one_call() {
    let text = json!({"text": "x".repeat(100)}).to_string();
    let (head, tail) = text.split_at(50);
    let first = [whole(), opening(1, "call_1", "note", head)].concat();
    let body = [first.clone(), piece(1, tail), DONE.to_owned()].concat();
    for limit in [text.len(), text.len() + 1] {
        passes(|config| config.max_arguments_bytes(limit), &body);
    }
    let limit = text.len() - 1;
    stops(
        |config| config.max_arguments_bytes(limit),
        &body,
        "max_arguments_bytes",
        first.len(),
    );
    // Two calls of that length are each within it.
    let two = [
        opening(0, "call_1", "note", &text),
        opening(1, "call_2", "note", &text),
        DONE.to_owned(),
    ];
    passes(
        |config| config.max_arguments_bytes(text.len()),
        &two.concat(),
    );
}

#[test]
fn max_total_arguments_bytes_counts_all_open_calls_together() {
    let text = "{\"a\":1}";
    let total = "{\"port\":\"Brest\"}".len() + text.len();
    let body = [whole(), opening(1, "call_1", "note", text), DONE.to_owned()].concat();
    for limit in [total, total + 1] {
        passes(|config| config.max_total_arguments_bytes(limit), &body);
    }
    let run = limited(|config| config.max_total_arguments_bytes(total - 1), &body);
    assert_limit(run.error(), "max_total_arguments_bytes");
    assert_eq!(run.error().offset(), whole().len() as u64);
    assert_eq!(
        (run.calls[0].id(), run.calls[0].state()),
        ("call_0", CallState::Whole)
    );
    // Calls that ended are not held any more.
    let block = |index: i64| {
        [
            tool_start(index, &format!("toolu_{index}"), "note"),
            input(index, text),
            support::wire::block_stop(index),
        ]
        .concat()
    };
    let blocks: Vec<String> = (0..50).map(block).collect();
    let body = support::wire::message("tool_use", &blocks);
    let run = both_with(
        WireFormat::Anthropic,
        || config().max_total_arguments_bytes(2 * text.len()),
        body,
    );
    assert_eq!((run.calls.len(), run.end), (50, End::Clean));
}

#[test]
fn max_calls_counts_the_calls_of_the_stream() {
    let more = |count: i64| -> String {
        (1..count)
            .map(|index| opening(index, &format!("call_{index}"), "now", "{\"a\":"))
            .collect()
    };
    let body = |count| [whole(), more(count), DONE.to_owned()].concat();
    for count in [4, 5] {
        let run = passes(|config| config.max_calls(5), &body(count));
        assert_eq!(run.calls.len(), usize::try_from(count).unwrap());
    }
    let offset = whole().len() + more(5).len();
    let run = stops(|config| config.max_calls(5), &body(6), "max_calls", offset);
    assert_eq!(run.calls.len(), 5);
}

#[test]
fn max_choices_bounds_the_choice_index() {
    let of = |choice: u32| {
        let entry = json!({"index": 0, "id": format!("call_{choice}_{choice}"), "function": {"name": "now", "arguments": "{\"a\":"}});
        choices(json!([{"index": choice, "delta": {"tool_calls": [entry]}}]))
    };
    let body = |choice| [whole(), of(choice), DONE.to_owned()].concat();
    for choice in [1, 2] {
        passes(|config| config.max_choices(3), &body(choice));
    }
    for choice in [3, 4, u32::MAX] {
        stops(
            |config| config.max_choices(3),
            &body(choice),
            "max_choices",
            whole().len(),
        );
    }
}

#[test]
fn max_index_bounds_the_label_of_a_call() {
    let body = |index: i64| {
        [
            whole(),
            opening(index, "call_1", "now", "{\"a\":"),
            DONE.to_owned(),
        ]
        .concat()
    };
    for index in [6, 7] {
        passes(|config| config.max_index(7), &body(index));
    }
    for index in [8, i64::MAX] {
        stops(
            |config| config.max_index(7),
            &body(index),
            "max_index",
            whole().len(),
        );
    }
}

#[test]
fn max_queued_events_counts_what_one_push_leaves() {
    let texts = |count: usize| {
        let kinds = ["content", "reasoning_content"];
        let chunk = |at: usize| support::wire::delta(json!({ kinds[at % 2]: "." }));
        (0..count).map(chunk).collect::<String>()
    };
    let events = |count: usize| -> (usize, Option<Error>) {
        let config = Config::default().max_queued_events(5);
        let mut parser = ToolCallParser::with_config(WireFormat::OpenAiChat, config);
        let (mut told, mut error) = (0, None);
        for event in parser.push(texts(count).as_bytes()) {
            match event {
                Ok(_) => told += 1,
                Err(found) => error = Some(found),
            }
        }
        (told, error)
    };
    for count in [4, 5] {
        let (told, error) = events(count);
        assert_eq!((told, error.is_none()), (count, true));
    }
    let (told, error) = events(8);
    assert_limit(&error.unwrap(), "max_queued_events");
    assert!((5..8).contains(&told), "{told}");
}

#[test]
fn max_name_bytes_bounds_names_and_ids() {
    let named =
        |name: &str, id: &str| [whole(), opening(1, id, name, "{\"a\":"), DONE.to_owned()].concat();
    let long = |length: usize| "n".repeat(length);
    for length in [19, 20] {
        passes(
            |config| config.max_name_bytes(20),
            &named(&long(length), "call_1"),
        );
        passes(
            |config| config.max_name_bytes(20),
            &named("now", &long(length)),
        );
    }
    for body in [named(&long(21), "call_1"), named("now", &long(21))] {
        let run = stops(
            |config| config.max_name_bytes(20),
            &body,
            "max_name_bytes",
            whole().len(),
        );
        // A call that cannot be told is none: it did not start.
        assert_eq!(run.calls.len(), 1);
    }
    // A name in pieces is one name.
    let name = |name: &str| {
        calls(json!([{"index": 1, "id": "call_1", "function": {"name": name, "arguments": ""}}]))
    };
    let pieces = [whole(), name(&long(15)), name("abcdef"), DONE.to_owned()];
    let offset = pieces[0].len() + pieces[1].len();
    let run = limited(|config| config.max_name_bytes(20), &pieces.concat());
    assert_limit(run.error(), "max_name_bytes");
    assert_eq!(run.error().offset(), offset as u64);
}

#[test]
fn max_depth_flags_the_call_and_not_the_stream() {
    let nested = |depth: usize| format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    let body = |text: &str| [whole(), opening(1, "call_1", "note", text), DONE.to_owned()].concat();
    for depth in [6, 7] {
        let run = passes(|config| config.max_depth(7), &body(&nested(depth)));
        assert_eq!(run.calls[1].state(), CallState::Whole, "{depth}");
    }
    let run = passes(|config| config.max_depth(7), &body(&nested(8)));
    assert_eq!(run.calls[0].state(), CallState::Whole);
    assert_eq!(run.calls[1].state(), CallState::TooDeep);
    assert_eq!(
        run.calls[1].arguments().raw(),
        nested(8),
        "the text is kept"
    );
    // The default is serde_json's own, and more than that cannot be asked for.
    for (depth, state) in [
        (127, CallState::Whole),
        (128, CallState::TooDeep),
        (100_000, CallState::TooDeep),
    ] {
        for asked in [127, usize::MAX] {
            let text = nested(depth);
            let run = support::run::run_with(
                WireFormat::OpenAiChat,
                config().max_depth(asked),
                [body(&text).as_bytes()],
            );
            assert_eq!(run.calls[1].state(), state, "{depth}");
        }
    }
}

#[test]
fn deep_events_do_not_recurse() {
    for deep in ["[", "{\"a\":"] {
        let text = deep.repeat(200_000);
        for text in [
            format!("data: {text}\n\n"),
            format!("data: {{\"choices\":[{{\"delta\":{{\"x\":{text}\n\n"),
            format!(
                "data: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{{\"type\":\"tool_use\",\"input\":{text}\n\n"
            ),
        ] {
            for format in [
                WireFormat::OpenAiChat,
                WireFormat::Anthropic,
                WireFormat::Auto,
            ] {
                let run = support::run::run_with(format, config(), [text.as_bytes()]);
                assert_ne!(run.end, End::Clean);
            }
        }
    }
}

#[test]
fn numbers_from_the_wire_cost_nothing() {
    let body = [
        whole(),
        opening(i64::from(u32::MAX), "call_1", "now", "{}"),
        opening(i64::MIN, "call_2", "now", "{}"),
        data(
            &json!({"choices": [{"index": 18_446_744_073_709_551_615_u64, "delta": {"content": "a"}}]}),
        ),
        DONE.to_owned(),
    ];
    let run = limited(|config| config, &body.concat());
    assert_eq!(run.calls.len(), 3);
}

/// Feeds one element again and again until the parser has had enough, and gives the error and the bytes that it took.
fn flood(
    format: WireFormat,
    config: Config,
    start: &str,
    again: &[u8],
    most: usize,
) -> (Error, Vec<ToolCall>, usize) {
    let mut parser = ToolCallParser::with_config(format, config);
    let mut given = start.len();
    let mut calls = Vec::new();
    parser.push(start.as_bytes()).for_each(drop);
    while given < most {
        given += again.len();
        let mut error = None;
        for event in parser.push(again) {
            match event {
                Ok(event) => calls.extend(event.into_call()),
                Err(found) => error = Some(found),
            }
        }
        if let Some(error) = error {
            assert_eq!(
                parser.push(again).count(),
                0,
                "nothing is read after the error"
            );
            assert_eq!(parser.finish().count(), 0);
            return (error, calls, given);
        }
    }
    panic!("{format}, {start:?}, {again:?}: {given} bytes and no end");
}

#[test]
fn a_line_without_end_stops_at_the_limit() {
    for format in [
        WireFormat::OpenAiChat,
        WireFormat::OpenAiResponses,
        WireFormat::Anthropic,
        WireFormat::Gemini,
        WireFormat::GeminiInteractions,
        WireFormat::Cohere,
        WireFormat::Mistral,
        WireFormat::Ollama,
        WireFormat::Auto,
    ] {
        for start in ["data: ", "data: {\"a\":\"", "{\"a\":\"", "[{\"a\":\"", ""] {
            for again in [&b"aaaaaaaa"[..], b" ", b"{", b"\"", b"\xFF"] {
                // White space before a body of JSON documents is passed over, not held.
                if (start, again) == ("", b" ") {
                    continue;
                }
                let config = Config::default().max_event_bytes(4096);
                let (error, calls, given) = flood(format, config, start, again, 1 << 16);
                assert_limit(&error, "max_event_bytes");
                assert!(calls.is_empty());
                assert!(
                    given <= 4096 + start.len() + 16,
                    "{format} {start:?}: {given} bytes were taken"
                );
            }
        }
    }
}

#[test]
fn an_event_without_end_stops_at_the_limit() {
    for line in [
        "data: aaaaaaaa\n",
        "data:\n",
        "event: x\ndata: y\n",
        "error: y\n",
    ] {
        let config = Config::default().max_event_bytes(4096);
        let (error, _, given) = flood(WireFormat::OpenAiChat, config, "", line.as_bytes(), 1 << 17);
        assert_limit(&error, "max_event_bytes");
        assert!(given < 1 << 16, "{line:?}: {given} bytes were taken");
    }
}

#[test]
fn arguments_without_end_stop_at_the_limit() {
    let config = || Config::default().max_arguments_bytes(10_000);
    let start = [
        message_start(),
        tool_start(0, "toolu_1", "note"),
        input(0, "{\"b\":\""),
    ]
    .concat();
    let (error, calls, _) = flood(
        WireFormat::Anthropic,
        config(),
        &start,
        input(0, "zzzzzzzz").as_bytes(),
        1 << 22,
    );
    assert_limit(&error, "max_arguments_bytes");
    assert_eq!(calls[0].state(), CallState::Truncated);
    assert!(calls[0].arguments().raw().len() <= 10_000 + 8);
    let start = opening(0, "call_1", "note", "{\"b\":\"");
    let (error, calls, _) = flood(
        WireFormat::OpenAiChat,
        config(),
        &start,
        piece(0, "zzzzzzzz").as_bytes(),
        1 << 22,
    );
    assert_limit(&error, "max_arguments_bytes");
    assert_eq!(calls[0].state(), CallState::Truncated);
    // Arguments as objects, each replacing the last, are held as they were sent.
    let object = calls_with_object();
    let (error, _, _) = flood(
        WireFormat::OpenAiChat,
        config(),
        &object,
        object.as_bytes(),
        1 << 22,
    );
    assert_limit(&error, "max_arguments_bytes");
}

#[test]
fn parts_of_arguments_that_wait_for_their_item_count_as_arguments() {
    let item = json!({"type": "shell_call", "id": "sh_1", "call_id": "call_1", "action": {"commands": []}});
    let added = json!({"type": "response.output_item.added", "output_index": 0, "item": item});
    let command = |at: usize| {
        let text = "z".repeat(900);
        event(
            &json!({"type": "response.shell_call_command.done", "output_index": 0, "command_index": at, "command": text}),
        )
    };
    let done =
        json!({"type": "response.completed", "response": {"status": "completed", "output": []}});
    let body = |commands: usize| {
        let commands: String = (0..commands).map(command).collect();
        [event(&added), commands, event(&done)].concat()
    };
    let small = || config().max_arguments_bytes(10_000);
    let run = both_with(WireFormat::OpenAiResponses, small, body(10));
    assert_eq!(
        run.calls[0].arguments().object().unwrap()["commands"]
            .as_array()
            .unwrap()
            .len(),
        10
    );
    let run = both_with(WireFormat::OpenAiResponses, small, body(11));
    assert_limit(run.error(), "max_arguments_bytes");
    // The same part again replaces what came before.
    let again = [event(&added), command(0).repeat(20), event(&done)].concat();
    let run = both_with(WireFormat::OpenAiResponses, small, again);
    assert!(run.calls[0].is_usable());
}

fn calls_with_object() -> String {
    calls(json!([{"index": 0, "id": "call_1", "function": {"name": "note", "arguments": {"b": "zzzzzzzz"}}}]))
        .replace("\"name\":\"note\",", "")
}

#[test]
fn calls_without_end_stop_at_the_limit() {
    let entry = calls(json!([{"id": "", "function": {"name": "now", "arguments": "{}"}}]));
    let (error, calls, _) = flood(
        WireFormat::OpenAiChat,
        Config::default().max_calls(100),
        "",
        entry.as_bytes(),
        1 << 20,
    );
    assert_limit(&error, "max_calls");
    assert_eq!(calls.len(), 100);
}

#[test]
fn two_hundred_thousand_one_character_deltas_are_linear() {
    const DELTAS: usize = 200_000;
    let mut parser = ToolCallParser::new(WireFormat::OpenAiChat);
    parser
        .push(opening(0, "call_1", "note", "{\"text\":\"").as_bytes())
        .for_each(drop);
    let one = piece(0, "y");
    // What is told of each delta is that delta and nothing before it; the live view is looked at all the time. Were either
    // done over the whole text each time, this would be twenty thousand million steps and never end.
    let mut told = 0;
    for at in 0..DELTAS {
        for event in parser.push(one.as_bytes()) {
            match event.unwrap() {
                Event::ArgumentsDelta { text, .. } => {
                    assert_eq!(text.len(), 1);
                    told += 1;
                }
                other => panic!("{other:?}"),
            }
        }
        let call = parser.in_progress().next().unwrap();
        let view = call.arguments();
        let text = view.object()["text"].as_str().unwrap();
        assert_eq!(text.len(), at + 1);
    }
    assert_eq!(told, DELTAS);
    let end = [piece(0, "\"}"), DONE.to_owned()].concat();
    let call = parser
        .push(end.as_bytes())
        .find_map(|event| event.unwrap().into_call());
    let call = call.unwrap();
    assert_eq!(
        call.arguments().object().unwrap()["text"]
            .as_str()
            .unwrap()
            .len(),
        DELTAS
    );
}

#[test]
fn what_an_event_holds_does_not_grow_with_the_number_of_deltas() {
    // Every chunk of many choices, ids and labels is read in the time of that chunk: the events told are as many as the deltas.
    let chunk: String = (0..64).map(|index| piece(index, "y")).collect();
    let mut parser = ToolCallParser::new(WireFormat::OpenAiChat);
    for index in 0..64 {
        let id = format!("call_{index}");
        parser
            .push(opening(index, &id, "note", "{\"t\":\"").as_bytes())
            .for_each(drop);
    }
    for _ in 0..200 {
        let told: usize = parser
            .push(chunk.as_bytes())
            .map(|event| match event.unwrap() {
                Event::ArgumentsDelta { text, .. } => text.len(),
                other => panic!("{other:?}"),
            })
            .sum();
        assert_eq!(told, 64);
    }
}

/// The stress forms of the shared cases, with smaller numbers: debug builds run them too.
#[test]
fn stress_forms_of_the_shared_cases() {
    let Some(cases) = shared("cases/cases.jsonl") else {
        return;
    };
    let mut run = 0;
    for line in cases.lines().filter(|line| line.contains("\"scale\"")) {
        let case: Value = serde_json::from_str(line).unwrap();
        let Some(scale) = case.get("scale") else {
            continue;
        };
        let format: WireFormat = case["format"].as_str().unwrap().parse().unwrap();
        let input: Vec<&str> = case["input"]
            .as_array()
            .unwrap()
            .iter()
            .map(|text| text.as_str().unwrap())
            .collect();
        let times = scale["times"].as_u64().unwrap() as usize;
        let id = case["id"].as_str().unwrap();
        run += 1;
        if let Some(replace) = scale["replace"].as_str() {
            // Passes at its full size.
            let body = input
                .concat()
                .replace(replace, &scale["with_unit"].as_str().unwrap().repeat(times));
            let run = support::run::run(format, body.as_bytes().chunks(1 << 16));
            assert_eq!((run.calls.len(), run.end), (1, End::Clean), "{id}");
            assert!(
                run.calls[0].is_usable() && run.calls[0].arguments().raw().len() >= times,
                "{id}"
            );
            continue;
        }
        let at = scale["element"].as_u64().unwrap() as usize;
        let again = input[at].repeat(if input[at].len() < 64 { 1024 } else { 1 });
        let (before, after) = (input[..at].concat(), input[at + 1..].concat());
        if scale["expect"].as_str().unwrap().contains("limit error") {
            let config = Config::default()
                .max_event_bytes(1 << 20)
                .max_arguments_bytes(1 << 17);
            let (error, _, given) = flood(format, config, &before, again.as_bytes(), 1 << 26);
            assert_eq!(error.kind(), ErrorKind::Limit, "{id}");
            assert!(given < 1 << 26, "{id}");
            continue;
        }
        let mut parser = ToolCallParser::new(format);
        let mut calls = Vec::new();
        let mut feed = |parser: &mut ToolCallParser, text: &str| {
            calls.extend(
                parser
                    .push(text.as_bytes())
                    .filter_map(|event| event.unwrap().into_call()),
            );
        };
        feed(&mut parser, &before);
        for _ in 0..times {
            feed(&mut parser, input[at]);
        }
        feed(&mut parser, &after);
        assert_eq!(calls.len(), 1, "{id}");
        assert!(
            calls[0].is_usable() && calls[0].arguments().raw().len() > times,
            "{id}"
        );
    }
    println!("stress forms: {run} run");
    assert!(run >= 4, "only {run} stress forms were found");
}
