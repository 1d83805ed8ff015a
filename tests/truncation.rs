//! How a stream can end, and what the calls are worth then: WIRE_FORMATS 11.6 row by row, and the policies of `EmitWhen`.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod support;

use callstitch::{
    AnomalyKind, CallState, ClosedBy, Config, EmitWhen, End, Error, ErrorKind, Frame, ProblemKind,
    RepairLevel, ToolCallParser, WireFormat,
};
use serde_json::{Value, json};
use support::run::{Gathering, Run, both, both_with, config};
use support::wire::{
    DONE, block_stop, choices, data, event, input, message, message_delta, message_start, opening,
    piece, reason, tool_start,
};

const BREST: &str = "{\"port\":\"Brest\"}";

fn chat(chunks: &[String]) -> Run {
    both(WireFormat::OpenAiChat, chunks.concat())
}

fn call(text: &str) -> String {
    opening(0, "call_1", "tide_height", text)
}

fn done() -> String {
    DONE.to_owned()
}

/// State, what closed it, and the finish reason that its evidence holds.
fn evidence(run: &Run, at: usize) -> (CallState, ClosedBy, Option<&str>) {
    let call = &run.calls[at];
    let evidence = call.evidence();
    (
        call.state(),
        evidence.closed_by,
        evidence.finish_reason.as_deref(),
    )
}

#[test]
fn at_the_clean_terminal_the_text_decides() {
    for (text, state) in [
        (BREST, CallState::Whole),
        ("{}", CallState::Whole),
        ("", CallState::Whole),
        (" ", CallState::Whole),
        ("null", CallState::Whole),
        ("{\"port\":\"Brest\",}", CallState::Repaired),
        ("{\"port\":\"Br", CallState::Truncated),
        ("{\"port\"", CallState::Truncated),
        (
            "{\"port\":\"Brest\"}{\"port\":\"Oban\"}",
            CallState::Malformed,
        ),
        ("17", CallState::Malformed),
        ("[1]", CallState::Malformed),
        ("true", CallState::Malformed),
    ] {
        let run = chat(&[call(text), reason("tool_calls"), done()]);
        assert_eq!(
            evidence(&run, 0),
            (state, ClosedBy::Terminal, Some("tool_calls")),
            "{text:?}"
        );
        assert_eq!((run.end, run.error.is_none()), (End::Clean, true));
        assert_eq!(run.calls[0].arguments().raw(), text, "the text as sent");
    }
}

#[test]
fn the_evidence_names_the_event_that_closed_the_call() {
    let before = [call(BREST), reason("tool_calls")].concat();
    let run = chat(&[before.clone(), done()]);
    assert_eq!(run.calls[0].evidence().offset, before.len() as u64);
    // A body that ends without a terminal closes at its last byte.
    let run = chat(std::slice::from_ref(&before));
    assert_eq!(run.calls[0].evidence().offset, before.len() as u64);
    let stop = [
        message_start(),
        tool_start(0, "toolu_1", "now"),
        input(0, "{}"),
    ]
    .concat();
    let run = both(
        WireFormat::Anthropic,
        [stop.clone(), block_stop(0)].concat(),
    );
    assert_eq!(run.calls[0].evidence().offset, stop.len() as u64);
}

/// Reasons that say that the answer was cut or thrown away.
const CUTTING: &[(&str, End)] = &[
    ("length", End::Truncated),
    ("max_tokens", End::Truncated),
    ("model_length", End::Truncated),
    ("content_filter", End::Clean),
    ("error", End::Error),
];

#[test]
fn a_cutting_reason_makes_blank_cut_and_scalar_text_incomplete_and_spares_whole_objects() {
    for &(cutting, end) in CUTTING {
        for (text, usable) in [
            (BREST, true),
            ("", false),
            (" ", false),
            ("null", false),
            ("{\"port\":\"Br", false),
            ("{\"port\":", false),
            ("1", false),
            ("\"Br", false),
        ] {
            let run = chat(&[call(text), reason(cutting), done()]);
            assert_eq!(run.calls[0].is_usable(), usable, "{cutting} {text:?}");
            assert_eq!(
                run.calls[0].evidence().finish_reason.as_deref(),
                Some(cutting)
            );
            assert_eq!(run.end, end, "{cutting}");
        }
    }
}

#[test]
fn a_cutting_reason_means_the_last_call_alone() {
    let run = chat(&[
        call(""),
        opening(1, "call_2", "moon_phase", "{\"day\":"),
        reason("length"),
        done(),
    ]);
    let states: Vec<_> = run.calls.iter().map(|call| call.state()).collect();
    assert_eq!(states, [CallState::Whole, CallState::Truncated]);
}

#[test]
fn blank_and_begun_text_differ_in_what_they_state() {
    let run = chat(&[call(""), reason("length"), done()]);
    let arguments = run.calls[0].arguments();
    assert_eq!(arguments.problem().unwrap().kind(), ProblemKind::Blank);
    assert_eq!((arguments.recovered(), arguments.raw()), (None, ""));
    let run = chat(&[call("{\"port\":\"Br"), reason("length"), done()]);
    let arguments = run.calls[0].arguments();
    assert_eq!(arguments.problem().unwrap().kind(), ProblemKind::Truncated);
    assert_eq!(arguments.recovered().unwrap()["port"], "Br");
    assert!(arguments.object().is_err());
}

#[test]
fn done_without_a_reason_is_as_clean() {
    let run = chat(&[call(BREST), done()]);
    assert_eq!(
        evidence(&run, 0),
        (CallState::Whole, ClosedBy::Terminal, None)
    );
    assert_eq!((run.end, run.finish_reasons.len()), (End::Clean, 0));
    let run = chat(&[call("{\"port\":\"Br"), done()]);
    assert_eq!(run.calls[0].state(), CallState::Truncated);
    assert_eq!(run.end, End::Clean);
}

#[test]
fn a_bare_end_after_a_reason_is_as_clean() {
    for text in [BREST, "{}", ""] {
        let run = chat(&[call(text), reason("tool_calls")]);
        assert_eq!(
            evidence(&run, 0),
            (CallState::Whole, ClosedBy::FinishReason, Some("tool_calls"))
        );
        assert_eq!((run.end, run.error.is_none()), (End::Clean, true));
    }
    // A call or a text that comes after the reason needs an end of its own only where it is cut.
    let run = chat(&[call("{\"port\":"), reason("tool_calls"), piece(0, "\"Br")]);
    assert_eq!(run.calls[0].state(), CallState::Truncated);
}

#[test]
fn a_bare_end_leaves_only_whole_objects_that_say_something() {
    for (text, state) in [
        (BREST, CallState::Whole),
        ("{}", CallState::Truncated),
        (" { } ", CallState::Truncated),
        ("", CallState::Truncated),
        ("null", CallState::Truncated),
        ("{\"port\":\"Br", CallState::Truncated),
        ("{", CallState::Truncated),
    ] {
        let run = chat(&[call(text)]);
        assert_eq!(
            evidence(&run, 0),
            (state, ClosedBy::Unconfirmed, None),
            "{text:?}"
        );
        assert_eq!(run.end, End::Truncated);
        assert_eq!(run.error().kind(), ErrorKind::Truncated);
    }
    // Nothing is repaired that nobody vouches for.
    for text in [
        "{\"port\":\"Brest\",}",
        "```json\n{\"port\":\"Brest\"}\n```",
    ] {
        let run = chat(&[call(text)]);
        assert!(!run.calls[0].is_usable(), "{text:?}");
    }
}

#[test]
fn an_error_delivers_ended_calls_then_open_ones_then_itself() {
    let error =
        event(&json!({"type": "error", "error": {"type": "overloaded_error", "message": "no"}}));
    let body = [
        message_start(),
        tool_start(0, "toolu_1", "tide_height"),
        input(0, BREST),
        block_stop(0),
        tool_start(1, "toolu_2", "moon_phase"),
        input(1, "{\"day\":3"),
        error,
    ];
    let run = both(WireFormat::Anthropic, body.concat());
    assert_eq!(
        evidence(&run, 0),
        (CallState::Whole, ClosedBy::BlockStop, None)
    );
    assert_eq!(
        evidence(&run, 1),
        (CallState::Truncated, ClosedBy::Error, None)
    );
    assert_eq!(run.error().kind(), ErrorKind::Provider);
    // The calls of a wire without closes: each on its own.
    let run = chat(&[
        call(BREST),
        opening(1, "call_2", "moon_phase", "{\"day\":3"),
        opening(2, "call_3", "now", "{}"),
        opening(3, "call_4", "now", ""),
        data(&json!({"error": {"message": "no"}})),
    ]);
    let states: Vec<_> = run.calls.iter().map(|call| call.state()).collect();
    assert_eq!(states[0], CallState::Whole);
    assert_eq!(states[1..], [CallState::Truncated; 3]);
    assert!(
        run.calls
            .iter()
            .all(|call| call.evidence().closed_by == ClosedBy::Error)
    );
}

/// On each wire that closes its calls: one that is closed, one whose text is balanced and whose close did not come, and the
/// wire's own error.
fn closed_and_open() -> Vec<(WireFormat, Vec<u8>, Vec<u8>)> {
    let sse = |events: &[Value]| -> Vec<u8> { events.iter().map(event).collect::<String>().into() };
    let data = |events: &[Value]| -> Vec<u8> { events.iter().map(data).collect::<String>().into() };
    let error = || json!({"type": "error", "error": {"type": "server_error", "message": "no"}});
    let item = |at: i64, arguments: &str| {
        json!({"type": "function_call", "id": format!("fc_{at}"), "call_id": format!("call_{at}"),
            "name": "tide_height", "arguments": arguments})
    };
    let added = |at: i64| json!({"type": "response.output_item.added", "output_index": at, "item": item(at, "")});
    let piece = |at: i64| json!({"type": "response.function_call_arguments.delta", "output_index": at, "delta": BREST});
    let begin = |at: i64| {
        json!({"type": "tool-call-start", "index": at, "delta": {"message": {"tool_calls":
            {"id": format!("tide_{at}"), "type": "function", "function": {"name": "tide_height", "arguments": ""}}}}})
    };
    let go_on = |at: i64| {
        json!({"type": "tool-call-delta", "index": at,
            "delta": {"message": {"tool_calls": {"function": {"arguments": BREST}}}}})
    };
    let step = |at: i64| {
        [
            json!({"event_type": "step.start", "index": at,
                "step": {"type": "function_call", "id": format!("fc_{at}"), "name": "tide_height"}}),
            json!({"event_type": "step.delta", "index": at,
                "delta": {"type": "arguments_delta", "arguments": BREST}}),
        ]
    };
    let [first, second] = [step(0), step(1)].map(|step| data(&step));
    let step_stop = data(&[json!({"event_type": "step.stop", "index": 0})]);
    let claude = [
        message_start(),
        tool_start(0, "toolu_1", "tide_height"),
        input(0, BREST),
        block_stop(0),
        tool_start(1, "toolu_2", "tide_height"),
        input(1, BREST),
    ];
    let responses = [
        added(0),
        piece(0),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item(0, BREST)}),
        added(1),
        piece(1),
    ];
    let cohere = [
        begin(0),
        go_on(0),
        json!({"type": "tool-call-end", "index": 0}),
        begin(1),
        go_on(1),
    ];
    vec![
        (
            WireFormat::Anthropic,
            claude.concat().into(),
            sse(&[error()]),
        ),
        (
            WireFormat::OpenAiResponses,
            sse(&responses),
            sse(&[error()]),
        ),
        (WireFormat::Cohere, sse(&cohere), sse(&[error()])),
        (
            WireFormat::GeminiInteractions,
            [first, step_stop, second].concat(),
            data(&[
                json!({"event_type": "error", "error": {"message": "no", "code": "server_error"}}),
            ]),
        ),
        #[cfg(feature = "bedrock")]
        closed_and_open_in_frames(),
    ]
}

#[cfg(feature = "bedrock")]
fn closed_and_open_in_frames() -> (WireFormat, Vec<u8>, Vec<u8>) {
    let frame = |kind: &str, body: Value| support::aws_frames::event(kind, &body.to_string());
    let block = |at: i64| {
        let tool = json!({"toolUseId": format!("tooluse_{at}"), "name": "tide_height"});
        let start = json!({"contentBlockIndex": at, "start": {"toolUse": tool}});
        let delta = json!({"contentBlockIndex": at, "delta": {"toolUse": {"input": BREST}}});
        [
            frame("contentBlockStart", start),
            frame("contentBlockDelta", delta),
        ]
        .concat()
    };
    let stop = frame("contentBlockStop", json!({"contentBlockIndex": 0}));
    let error = support::aws_frames::exception("modelStreamErrorException", "{\"message\":\"no\"}");
    let blocks = [block(0), stop, block(1)].concat();
    (WireFormat::Bedrock, blocks, error)
}

#[test]
fn a_call_that_its_wire_had_not_closed_is_no_whole_call_at_an_error() {
    let states = |run: &Run| {
        let states = run.calls.iter().map(|call| call.state());
        states.collect::<Vec<_>>()
    };
    for (format, body, error) in closed_and_open() {
        let run = both(format, [&body[..], &error].concat());
        assert_eq!(
            states(&run),
            [CallState::Whole, CallState::Truncated],
            "{format:?}"
        );
        assert_eq!(run.error().kind(), ErrorKind::Provider, "{format:?}");
        let open = run.calls[1].arguments();
        assert_eq!(open.raw(), BREST);
        assert_eq!(open.recovered().unwrap()["port"], "Brest");
        assert_eq!(run.calls[1].evidence().closed_by, ClosedBy::Error);
        // The transport's own error is one of them.
        let mut parser = ToolCallParser::with_config(format, config());
        let mut gathering = Gathering::default();
        gathering.take(parser.push(&body));
        gathering.take(parser.abort());
        let run = gathering.run(parser.end().unwrap(), Vec::new(), parser.format());
        assert_eq!(
            states(&run),
            [CallState::Whole, CallState::Truncated],
            "{format:?}"
        );
        // A bare end says nothing against a whole object.
        let run = both(format, &body);
        assert_eq!(states(&run), [CallState::Whole; 2], "{format:?}");
        assert_eq!(run.calls[1].evidence().closed_by, ClosedBy::Unconfirmed);
    }
}

#[test]
fn a_call_whose_text_got_its_done_stands_before_whatever_ends_the_response() {
    let announced = |kind: &str, arguments: &str| {
        event(
            &json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": kind,
            "id": "fc_1", "call_id": "call_1", "name": "tide_height", arguments: ""}}),
        )
    };
    let piece = |of: &str, delta: &str| {
        event(
            &json!({"type": format!("response.{of}.delta"), "output_index": 0, "item_id": "fc_1", "delta": delta}),
        )
    };
    // A text, or `null` for none.
    let done = |of: &str, member: &str, text: Value| {
        let mut done =
            json!({"type": format!("response.{of}.done"), "output_index": 0, "item_id": "fc_1"});
        done[member] = text;
        event(&done)
    };
    let ends = [
        String::new(),
        event(&json!({"type": "error", "code": "busy", "message": "no"})),
        event(
            &json!({"type": "response.failed", "response": {"status": "failed", "error": {"message": "no"}}}),
        ),
        event(
            &json!({"type": "response.incomplete", "response": {"status": "incomplete", "output": [],
            "incomplete_details": {"reason": "max_output_tokens"}}}),
        ),
    ];
    for end in &ends {
        let function = |pieces: &[&str], text: Value| {
            let (begin, of) = (
                announced("function_call", "arguments"),
                "function_call_arguments",
            );
            let pieces: String = pieces.iter().map(|delta| piece(of, delta)).collect();
            let body = [begin, pieces, done(of, "arguments", text), end.clone()];
            both(WireFormat::OpenAiResponses, body.concat())
        };
        let custom = |pieces: &[&str], text: Value| {
            let (begin, of) = (
                announced("custom_tool_call", "input"),
                "custom_tool_call_input",
            );
            let pieces: String = pieces.iter().map(|delta| piece(of, delta)).collect();
            let body = [begin, pieces, done(of, "input", text), end.clone()];
            both(WireFormat::OpenAiResponses, body.concat())
        };
        let halves = ["{\"port\":", "\"Brest\"}"];
        let snapshots = ["{\"port\":", BREST];
        for run in [
            function(&halves, json!(BREST)),
            function(&halves, Value::Null),
            function(&snapshots, json!(BREST)),
            function(&[], json!(BREST)),
            function(&[], json!("{}")),
            function(&["{}"], json!("{}")),
        ] {
            assert_eq!(evidence(&run, 0).0, CallState::Whole, "{end}");
            assert_eq!(evidence(&run, 0).1, ClosedBy::Restated, "{end}");
            assert_ne!(run.end, End::Clean);
        }
        for run in [
            custom(&["select", " 1"], json!("select 1")),
            custom(&["select", " 1"], Value::Null),
            custom(&["sel", "select 1"], json!("select 1")),
            custom(&[], json!("select 1")),
        ] {
            assert_eq!(evidence(&run, 0).0, CallState::FreeForm, "{end}");
            assert_eq!(run.calls[0].arguments().raw(), "select 1");
        }
        // What it closes cut or blank is flagged.
        for run in [
            function(&["{\"port\":\"Br"], json!("{\"port\":\"Br")),
            function(&["{\"port\":\"Br"], json!("{}")),
            function(&["{\"port\":\"Br"], json!("")),
            function(&[], json!("")),
            function(&[], json!("null")),
        ] {
            assert_eq!(evidence(&run, 0).0, CallState::Truncated, "{end}");
        }
    }
    // A blank one is no word that the call is to be blank: its item may come after the next call's (R2).
    let of = "function_call_arguments";
    let item = |at: i64, kind: &str| {
        event(
            &json!({"type": format!("response.output_item.{kind}"), "output_index": at, "item": {"type": "function_call",
            "id": format!("fc_{at}"), "call_id": format!("call_{at}"), "name": "tide_height", "arguments": BREST}}),
        )
    };
    let body = [
        announced("function_call", "arguments"),
        done(of, "arguments", json!("")),
        item(1, "added"),
        item(1, "done"),
        item(0, "done"),
        event(
            &json!({"type": "response.completed", "response": {"status": "completed", "output": []}}),
        ),
    ];
    let run = both(WireFormat::OpenAiResponses, body.concat());
    run.assert_whole(&[
        ("tide_height", json!({"port": "Brest"})),
        ("tide_height", json!({"port": "Brest"})),
    ]);
    assert_eq!(run.ids(), [Some("call_1"), Some("call_0")]);
}

#[test]
fn a_transport_that_dies_is_a_truncation_with_its_cause() {
    let mut parser = ToolCallParser::with_config(WireFormat::OpenAiChat, config());
    let mut gathering = Gathering::default();
    gathering.take(
        parser.push(
            [call(BREST), opening(1, "call_2", "now", "{")]
                .concat()
                .as_bytes(),
        ),
    );
    let cause = std::io::Error::other("reset by peer");
    let error = Error::new(ErrorKind::Transport, parser.offset(), "it died").with_source(cause);
    gathering.take(parser.abort_with(error));
    assert_eq!(parser.push(DONE.as_bytes()).count(), 0);
    assert_eq!(parser.finish().count(), 0);
    let run = gathering.run(
        parser.end().unwrap(),
        parser.anomalies().to_vec(),
        parser.format(),
    );
    let states: Vec<_> = run.calls.iter().map(|call| call.state()).collect();
    assert_eq!(states, [CallState::Whole, CallState::Truncated]);
    assert_eq!(
        (run.end, run.error().kind()),
        (End::Truncated, ErrorKind::Transport)
    );
    let source = std::error::Error::source(run.error()).unwrap();
    assert_eq!(source.to_string(), "reset by peer");
}

#[test]
fn a_provider_that_reported_an_error_has_told_why_however_the_body_ends() {
    let error = json!({"type": "overloaded_error", "message": "Overloaded"});
    let body = [
        message_start(),
        tool_start(0, "toolu_1", "tide_height"),
        input(0, "{\"port\":"),
        event(&json!({"type": "error", "error": error})),
    ]
    .concat();
    type End = fn(&mut ToolCallParser);
    let ends: [End; 4] = [
        |parser| drop(parser.finish()),
        |parser| drop(parser.abort()),
        |parser| drop(parser.abort_with(Error::new(ErrorKind::Transport, 0, "reset"))),
        // A limit is passed.
        |parser| drop(parser.push(&[b'x'; 1000])),
    ];
    for (at, end) in ends.iter().enumerate() {
        let limited = Config::default().max_event_bytes(500);
        let mut parser = ToolCallParser::with_config(WireFormat::Anthropic, limited);
        drop(parser.push(body.as_bytes()));
        end(&mut parser);
        let (mut states, mut error) = (Vec::new(), None);
        for event in parser.events() {
            match event {
                Ok(event) => states.extend(event.into_call().map(|call| call.state())),
                Err(last) => error = Some(last),
            }
        }
        let error = error.unwrap();
        assert_eq!(
            (error.kind(), error.code()),
            (ErrorKind::Provider, Some("overloaded_error")),
            "{at}"
        );
        assert_eq!(states, [CallState::Truncated], "{at}");
        assert_eq!(parser.end(), Some(callstitch::End::Error), "{at}");
    }
}

#[test]
fn frames_that_were_split_elsewhere_tell_where_the_body_ended() {
    let entry =
        json!({"index": 0, "id": "call_1", "function": {"name": "now", "arguments": BREST}});
    let chunk = json!({"choices": [{"delta": {"tool_calls": [entry]}}]}).to_string();
    type End = fn(&mut ToolCallParser);
    let ends: [End; 2] = [
        |parser| drop(parser.finish()),
        |parser| drop(parser.abort()),
    ];
    for format in [WireFormat::OpenAiChat, WireFormat::Auto] {
        for end in ends {
            let mut parser = ToolCallParser::new(format);
            drop(parser.push_frame(Frame::new(&chunk).at(500)));
            end(&mut parser);
            let mut events: Vec<_> = parser.events().collect();
            assert_eq!(events.pop().unwrap().unwrap_err().offset(), 500);
            let call = events.pop().unwrap().unwrap().into_call().unwrap();
            assert_eq!(call.evidence().offset, 500);
        }
    }
}

#[test]
fn a_reason_that_lies_makes_no_cut_call_whole() {
    for lie in ["tool_calls", "stop", "function_call", "end_turn"] {
        let run = chat(&[call("{\"port\":\"Br"), reason(lie), done()]);
        assert_eq!(run.calls[0].state(), CallState::Truncated, "{lie}");
        assert_eq!(run.calls[0].arguments().recovered().unwrap()["port"], "Br");
    }
}

#[test]
fn the_upstreams_own_reason_outranks_one_that_says_all_is_well() {
    let ending = |said: &str, native: &str| {
        choices(
            json!([{"index": 0, "delta": {}, "finish_reason": said, "native_finish_reason": native}]),
        )
    };
    for native in ["max_tokens", "max_output_tokens", "length", "MAX_TOKENS"] {
        let run = chat(&[call(""), ending("tool_calls", native), done()]);
        assert_eq!(run.calls[0].state(), CallState::Truncated, "{native}");
        assert_eq!(run.end, End::Truncated);
        assert_eq!(
            run.calls[0].evidence().finish_reason.as_deref(),
            Some(native)
        );
    }
    // It does not soften one that says that the answer was cut.
    let run = chat(&[call(""), ending("length", "completed"), done()]);
    assert_eq!(
        (run.calls[0].state(), run.end),
        (CallState::Truncated, End::Truncated)
    );
    // A whole object stays whole under it.
    let run = chat(&[call(BREST), ending("tool_calls", "max_tokens"), done()]);
    assert_eq!(run.calls[0].state(), CallState::Whole);
}

#[test]
fn a_call_that_the_provider_could_not_read_is_not_believed() {
    let run = chat(&[call(BREST), reason("malformed_function_call"), done()]);
    assert_eq!(run.calls[0].state(), CallState::Malformed);
    assert_eq!(
        run.calls[0].arguments().problem().unwrap().kind(),
        ProblemKind::Rejected
    );
    assert_eq!(run.end, End::Error);
}

#[test]
fn free_text_is_complete_only_where_somebody_says_so() {
    let custom = || {
        support::wire::calls(json!([{"index": 0, "id": "call_1", "type": "custom",
            "custom": {"name": "patch", "input": "*** Begin"}}]))
    };
    for (ending, state) in [
        (vec![reason("tool_calls"), done()], CallState::FreeForm),
        (vec![reason("tool_calls")], CallState::FreeForm),
        (vec![done()], CallState::FreeForm),
        (vec![reason("length"), done()], CallState::Truncated),
        (vec![], CallState::Truncated),
        (vec![data(&json!({"error": "no"}))], CallState::Truncated),
    ] {
        let run = chat(&[custom(), ending.concat()]);
        assert_eq!(run.calls[0].state(), state, "{ending:?}");
        assert_eq!(run.calls[0].arguments().raw(), "*** Begin");
    }
}

#[test]
fn each_choice_has_a_reason_of_its_own() {
    let of = |choice: u32, delta: Value, reason: Value| {
        choices(json!([{"index": choice, "delta": delta, "finish_reason": reason}]))
    };
    let header = json!({"tool_calls": [{"index": 0, "id": "call_a", "function": {"name": "now", "arguments": ""}}]});
    let other = json!({"tool_calls": [{"index": 0, "id": "call_b", "function": {"name": "now", "arguments": ""}}]});
    let run = chat(&[
        of(0, header, Value::Null),
        of(1, other, Value::Null),
        of(1, json!({}), json!("length")),
        of(0, json!({}), json!("tool_calls")),
        done(),
    ]);
    let states: Vec<_> = run
        .calls
        .iter()
        .map(|call| (call.choice(), call.state()))
        .collect();
    assert_eq!(states, [(0, CallState::Whole), (1, CallState::Truncated)]);
}

#[test]
fn an_anthropic_block_without_its_stop_is_judged_by_the_stop_reason() {
    for (reason, state, end) in [
        ("tool_use", CallState::Whole, End::Clean),
        ("end_turn", CallState::Whole, End::Clean),
        ("max_tokens", CallState::Truncated, End::Truncated),
        (
            "model_context_window_exceeded",
            CallState::Truncated,
            End::Truncated,
        ),
        ("refusal", CallState::Truncated, End::Clean),
    ] {
        let run = both(
            WireFormat::Anthropic,
            message(reason, &[tool_start(0, "toolu_1", "now"), input(0, "")]),
        );
        assert_eq!((run.calls[0].state(), run.end), (state, end), "{reason}");
    }
}

#[test]
fn a_closed_block_with_text_that_does_not_stand_waits_for_the_reason() {
    let run = both(
        WireFormat::Anthropic,
        message(
            "max_tokens",
            &[
                tool_start(0, "toolu_1", "now"),
                input(0, "{\"a\":1,"),
                block_stop(0),
            ],
        ),
    );
    assert_eq!(
        evidence(&run, 0),
        (
            CallState::Truncated,
            ClosedBy::BlockStop,
            Some("max_tokens")
        )
    );
    // One that stands does not wait: it is there before the message ends.
    let mut parser = ToolCallParser::new(WireFormat::Anthropic);
    let body = [
        tool_start(0, "toolu_1", "now"),
        input(0, "{}"),
        block_stop(0),
    ]
    .concat();
    let call = parser
        .push(body.as_bytes())
        .find_map(|event| event.ok()?.into_call());
    assert_eq!(call.unwrap().evidence().closed_by, ClosedBy::BlockStop);
    let rest = message_delta("tool_use");
    assert!(
        parser
            .push(rest.as_bytes())
            .all(|event| event.unwrap().into_call().is_none())
    );
}

fn emitting(when: EmitWhen, chunks: &[String]) -> Run {
    let policy = || -> Config { config().emit(when) };
    both_with(WireFormat::OpenAiChat, policy, chunks.concat())
}

#[test]
fn at_the_terminal_is_the_default_and_waits_for_it() {
    let mut parser = ToolCallParser::new(WireFormat::OpenAiChat);
    let early = [
        call(BREST),
        opening(1, "call_2", "now", "{}"),
        reason("tool_calls"),
    ]
    .concat();
    let calls = |parser: &mut ToolCallParser, text: &str| {
        parser
            .push(text.as_bytes())
            .filter_map(|event| event.unwrap().into_call())
            .count()
    };
    assert_eq!(calls(&mut parser, &early), 0);
    assert_eq!(parser.in_progress().count(), 2);
    assert_eq!(calls(&mut parser, DONE), 2);
}

#[test]
fn at_the_finish_reason_is_early_and_loses_what_comes_later() {
    let run = emitting(
        EmitWhen::FinishReason,
        &[call(BREST), reason("tool_calls"), done()],
    );
    assert_eq!(
        evidence(&run, 0),
        (CallState::Whole, ClosedBy::FinishReason, Some("tool_calls"))
    );
    assert_eq!(run.end, End::Clean);
    // The hazard (Q57): a stop after every chunk seals the call before its text; the loss is told.
    let run = emitting(
        EmitWhen::FinishReason,
        &[
            call(""),
            reason("stop"),
            piece(0, BREST),
            reason("stop"),
            done(),
        ],
    );
    assert_eq!(run.calls[0].arguments().raw(), "");
    assert_eq!(run.calls.len(), 1, "the late text is no second call");
    run.assert_told(AnomalyKind::LateFragment);
    // One choice's reason closes that choice alone.
    let other = choices(
        json!([{"index": 1, "delta": {"tool_calls": [{"index": 0, "id": "call_b", "function": {"name": "now", "arguments": "{\"a\":"}}]}}]),
    );
    let rest = choices(
        json!([{"index": 1, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]}, "finish_reason": "stop"}]),
    );
    let run = emitting(
        EmitWhen::FinishReason,
        &[call(BREST), other, reason("stop"), rest, done()],
    );
    let states: Vec<_> = run.calls.iter().map(|call| call.state()).collect();
    assert_eq!(states, [CallState::Whole, CallState::Whole]);
}

#[test]
fn when_the_next_call_opens_is_early_and_spares_what_is_not_whole() {
    let run = emitting(
        EmitWhen::NextCall,
        &[
            call(BREST),
            opening(1, "call_2", "now", "{}"),
            reason("tool_calls"),
            done(),
        ],
    );
    assert_eq!(
        evidence(&run, 0),
        (CallState::Whole, ClosedBy::NextCall, None)
    );
    assert_eq!(evidence(&run, 1).1, ClosedBy::Terminal);
    // Interleaved calls: the first is not whole when the second opens, and goes on.
    let run = emitting(
        EmitWhen::NextCall,
        &[
            call("{\"port\":"),
            opening(1, "call_2", "now", "{"),
            piece(0, "\"Brest\"}"),
            piece(1, "}"),
            done(),
        ],
    );
    assert!(
        run.calls
            .iter()
            .all(|call| call.state() == CallState::Whole)
    );
    // The hazard (Q36): `{}` first and the object after the next call opened; the loss is told.
    let run = emitting(
        EmitWhen::NextCall,
        &[
            call("{}"),
            opening(1, "call_2", "now", ""),
            piece(0, BREST),
            done(),
        ],
    );
    assert_eq!(run.calls[0].arguments().raw(), "{}");
    run.assert_told(AnomalyKind::LateFragment);
}

#[test]
fn what_comes_for_a_call_that_was_emitted_is_late_however_it_names_its_call() {
    let entry = |index: Option<i64>, id: Option<&str>, name: Option<&str>, text: &str| {
        let mut entry = json!({"function": {"arguments": text}});
        if let Some(index) = index {
            entry["index"] = json!(index);
        }
        if let Some(id) = id {
            entry["id"] = json!(id);
        }
        if let Some(name) = name {
            entry["function"]["name"] = json!(name);
        }
        choices(json!([{"index": 0, "delta": {"tool_calls": [entry]}}]))
    };
    let (at, id, name) = (Some(0), Some("call_1"), Some("tide_height"));
    let rest = " , and more";
    let late = [
        entry(at, None, None, rest),
        entry(at, id, None, rest),
        entry(at, Some("drifts"), None, rest),
        entry(at, Some("drifts"), name, rest),
        entry(at, None, name, rest),
        entry(at, id, name, rest),
        entry(None, id, None, rest),
        entry(None, id, name, rest),
        // Nothing, under its names once more.
        entry(at, id, None, ""),
        entry(at, id, name, ""),
        // The whole text once more.
        entry(at, id, name, BREST),
        entry(at, id, name, &format!(" {BREST} ")),
        entry(at, None, name, BREST),
    ];
    for (at, late) in late.iter().enumerate() {
        let run = emitting(
            EmitWhen::FinishReason,
            &[
                call(BREST),
                reason("tool_calls"),
                late.clone(),
                reason("tool_calls"),
                done(),
            ],
        );
        assert_eq!(run.calls.len(), 1, "{at}: no second call");
        run.assert_told(AnomalyKind::LateFragment);
        // The call that is open meanwhile gets none of it.
        let run = emitting(
            EmitWhen::NextCall,
            &[
                call(BREST),
                opening(1, "call_2", "now", "{"),
                late.clone(),
                piece(1, "}"),
                done(),
            ],
        );
        assert_eq!(run.calls.len(), 2, "{at}: no third call");
        assert_eq!(run.calls[1].arguments().raw(), "{}", "{at}");
        run.assert_told(AnomalyKind::LateFragment);
    }
    // What begins another call does so all the same (Q3, Q23).
    for (at, next) in [
        entry(at, id, name, "{\"port\":\"Oban\"}"),
        entry(at, None, name, "{\"port\":\"Oban\"}"),
        entry(at, id, Some("now"), ""),
        entry(at, Some("call_2"), name, ""),
        entry(Some(1), id, name, ""),
        entry(Some(1), id, name, BREST),
    ]
    .iter()
    .enumerate()
    {
        let run = emitting(
            EmitWhen::FinishReason,
            &[call(BREST), reason("tool_calls"), next.clone(), done()],
        );
        assert_eq!(run.calls.len(), 2, "{at}");
    }
}

#[test]
fn a_call_is_not_emitted_for_its_own_mirror() {
    let run = emitting(
        EmitWhen::NextCall,
        &[
            call(BREST),
            opening(1, "call_1", "tide_height", BREST),
            opening(2, "call_2", "now", "{}"),
            done(),
        ],
    );
    let names: Vec<_> = run.calls.iter().map(|call| call.name()).collect();
    assert_eq!(names, ["tide_height", "now"]);
    run.assert_told(AnomalyKind::MirroredCall);
}

#[test]
fn without_repair_whole_calls_stand_and_the_rest_is_flagged() {
    let strict = || config().repair(RepairLevel::None);
    for (text, state) in [
        (BREST, CallState::Whole),
        ("{\"port\":\"Brest\",}", CallState::Malformed),
        ("{\"port\":\"Br", CallState::Truncated),
    ] {
        let body = [call(text), done()].concat();
        let run = both_with(WireFormat::OpenAiChat, strict, body);
        assert_eq!(run.calls[0].state(), state, "{text:?}");
    }
}

#[test]
fn text_after_the_terminal_of_one_message_needs_a_terminal_of_its_own() {
    // Several messages in one body: a second one that is cut is a truncation.
    let first = message(
        "tool_use",
        &[
            tool_start(0, "toolu_1", "tide_height"),
            input(0, BREST),
            block_stop(0),
        ],
    );
    let second = [
        message_start(),
        tool_start(0, "toolu_2", "now"),
        input(0, "{"),
    ]
    .concat();
    let run = both(WireFormat::Anthropic, [first, second].concat());
    let states: Vec<_> = run.calls.iter().map(|call| call.state()).collect();
    assert_eq!(states, [CallState::Whole, CallState::Truncated]);
    assert_eq!(run.end, End::Truncated);
}
