//! `Debug`, errors and anomalies never show argument text unless asked: a log is not where a user's data should turn up. One key
//! and one value are sent through everything that may hold them.
#![cfg(all(feature = "channel", feature = "bedrock"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod support;

use std::convert::Infallible;
use std::error::Error as StdError;
use std::fmt::{Debug, Display};

use callstitch::history::{Answer, Entry, HistoryFormat, check_messages, entries};
use callstitch::tools::RunCalls;
use callstitch::{
    Accumulator, Arguments, ArgumentsBuffer, ByteStreamExt, CallDelta, Config, Delta, ErrorKind,
    Event, FieldFilter, Fragment, Frame, Framed, LeakedCalls, Markup, PartialCall, Tool, ToolCall,
    ToolCallParser, ToolName, ToolSet, WireFormat, channel,
};
use futures::stream::{self, Stream, StreamExt};
use serde_json::{Value, json};
use support::aws_frames;
use support::wire::{calls, data, event, finished, opening, piece};

const KEY: &str = "KEYZZ9";
const VALUE: &str = "SECRET77";
/// The arguments in pieces: several say the same but for their text, as those do which a decoder learns by heart.
const PIECES: [&str; 8] = [
    "{\"KEYZZ9\":",
    "[\"SECRET77 a",
    " SECRET77 b",
    " SECRET77 c",
    " SECRET77 d",
    "\"],\"n\":{\"KEYZZ9\":",
    "\"SECRET77\"}",
    "}",
];

fn arguments() -> String {
    PIECES.concat()
}

/// That neither the key nor the value is in this text, nor their bytes as numbers.
#[track_caller]
fn hides_in(shown: &str, what: &dyn Display) {
    let flat: String = shown.split_whitespace().collect();
    for marker in [KEY, VALUE] {
        let numbers: Vec<String> = marker.bytes().map(|byte| byte.to_string()).collect();
        let is_shown = flat.contains(marker) || flat.contains(&numbers.join(","));
        assert!(!is_shown, "{what}: {shown}");
    }
}

#[track_caller]
fn hides(what: &(impl Debug + ?Sized)) {
    hides_in(&format!("{what:?}"), &"Debug");
    hides_in(&format!("{what:#?}"), &"Debug, with lines");
}

/// An error with all that caused it.
#[track_caller]
fn error_hides(error: &(dyn StdError + 'static)) {
    let mut of = Some(error);
    while let Some(error) = of {
        hides(error);
        hides_in(&error.to_string(), &"Display");
        of = error.source();
    }
}

#[track_caller]
fn event_hides(event: &Result<Event<'_>, callstitch::Error>) {
    hides(event);
    match event {
        Err(error) => error_hides(error),
        Ok(Event::CallCompleted(call) | Event::CallDiscarded(call)) => {
            hides_in(&call.to_string(), &"Display");
            if let Some(problem) = call.arguments().problem() {
                hides_in(&problem.to_string(), &"Display");
            }
        }
        Ok(_) => {}
    }
}

// --- bodies --------------------------------------------------------------------------------------------------------------

fn gemini(part: &Value) -> String {
    data(&json!({"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}]}))
}

fn converse(kind: &str, payload: &Value) -> Vec<u8> {
    aws_frames::event(kind, &payload.to_string())
}

/// One call in every format that there is.
fn bodies() -> Vec<(WireFormat, Vec<u8>)> {
    let mut bodies: Vec<(WireFormat, Vec<u8>)> = Vec::new();
    let mut add = |format, parts: Vec<String>| bodies.push((format, parts.concat().into_bytes()));
    let each = |piece: &dyn Fn(&str) -> String| PIECES.map(piece).concat();

    let chat = vec![
        opening(0, "call_1", "get_tide", ""),
        each(&|text| piece(0, text)),
    ];
    add(WireFormat::OpenAiChat, vec![finished(&chat)]);
    add(WireFormat::Mistral, vec![finished(&chat)]);
    let object: Value = serde_json::from_str(&arguments()).unwrap();
    let whole = json!([{"index": 0, "id": "call_1", "function": {"name": "get_tide", "arguments": object}}]);
    add(WireFormat::OpenAiChat, vec![calls(whole)]);
    add(
        WireFormat::OpenAiResponses,
        vec![
            event(&json!({"type": "response.created", "response": {"id": "resp_1", "output": []}})),
            event(
                &json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "function_call",
                "name": "get_tide", "arguments": "", "id": "fc_1", "call_id": "call_1"}}),
            ),
            each(&|text| {
                event(
                    &json!({"type": "response.function_call_arguments.delta", "item_id": "fc_1", "output_index": 0,
                    "delta": text}),
                )
            }),
            event(
                &json!({"type": "response.function_call_arguments.done", "item_id": "fc_1", "output_index": 0,
                "arguments": arguments()}),
            ),
            event(
                &json!({"type": "response.completed", "response": {"id": "resp_1", "output": [{"type": "function_call",
                "name": "get_tide", "arguments": arguments(), "id": "fc_1", "call_id": "call_1"}]}}),
            ),
        ],
    );
    let anthropic = [
        support::wire::tool_start(0, "toolu_1", "get_tide"),
        each(&|text| support::wire::input(0, text)),
        support::wire::block_stop(0),
    ];
    add(
        WireFormat::Anthropic,
        vec![support::wire::message("tool_use", &anthropic)],
    );
    add(
        WireFormat::Gemini,
        vec![gemini(
            &json!({"functionCall": {"name": "get_tide", "args": object}}),
        )],
    );
    let partial = |path: &str, text: &str| {
        gemini(
            &json!({"functionCall": {"partialArgs": [{"jsonPath": path, "stringValue": text, "willContinue": true}],
            "willContinue": true}}),
        )
    };
    add(
        WireFormat::Gemini,
        vec![
            gemini(&json!({"functionCall": {"name": "get_tide", "willContinue": true}})),
            partial("$.KEYZZ9", "SECRET77 a"),
            partial("$.KEYZZ9", " SECRET77 b"),
            partial("$.n.KEYZZ9[0]", "SECRET77"),
            partial("$.n.KEYZZ9[0]", "SECRET77"),
            gemini(&json!({"functionCall": {}})),
        ],
    );
    let step = |kind: &str, rest: &str| {
        format!("data: {{\"event_type\":\"{kind}\",\"index\":0{rest}}}\n\n")
    };
    add(
        WireFormat::GeminiInteractions,
        vec![
            step(
                "step.start",
                r#","step":{"type":"function_call","id":"fc_1","name":"get_tide","arguments":{}}"#,
            ),
            each(&|text| {
                let delta = json!({"type": "arguments_delta", "arguments": text});
                step("step.delta", &format!(",\"delta\":{delta}"))
            }),
            step("step.stop", ""),
        ],
    );
    let cohere = |kind: &str, calls: &Value| {
        event(&json!({"type": kind, "index": 0, "delta": {"message": {"tool_calls": calls}}}))
    };
    add(
        WireFormat::Cohere,
        vec![
            cohere(
                "tool-call-start",
                &json!({"id": "call_1", "type": "function", "function": {"name": "get_tide", "arguments": ""}}),
            ),
            each(&|text| cohere("tool-call-delta", &json!({"function": {"arguments": text}}))),
            event(&json!({"type": "tool-call-end", "index": 0})),
        ],
    );
    let said = json!({"message": {"role": "assistant", "content": "",
        "tool_calls": [{"function": {"name": "get_tide", "arguments": object}}]}, "done": false});
    add(
        WireFormat::Ollama,
        vec![
            format!("{said}\n{said}\n"),
            "{\"message\":{},\"done\":true}\n".into(),
        ],
    );

    let mut bedrock = converse(
        "contentBlockStart",
        &json!({"contentBlockIndex": 0, "start": {"toolUse": {"name": "get_tide", "toolUseId": "tooluse_1"}}}),
    );
    for text in PIECES {
        let delta = json!({"contentBlockIndex": 0, "delta": {"toolUse": {"input": text}}});
        bedrock.extend(converse("contentBlockDelta", &delta));
    }
    bedrock.extend(converse(
        "contentBlockStop",
        &json!({"contentBlockIndex": 0}),
    ));
    bedrock.extend(converse("messageStop", &json!({"stopReason": "tool_use"})));
    bodies.push((WireFormat::Bedrock, bedrock));
    bodies
}

/// So many places in a body, the end among them.
fn ends(body: &[u8], places: usize) -> impl Iterator<Item = usize> + use<> {
    let length = body.len();
    (1..=places).map(move |part| length * part / places)
}

// --- the sweep -----------------------------------------------------------------------------------------------------------

#[test]
fn a_parser_and_its_events_show_no_argument_text_wherever_the_body_ends() {
    for (format, body) in bodies() {
        for end in ends(&body, 30) {
            for size in [7, 300, body.len()] {
                for takes in [false, true] {
                    let mut parser = ToolCallParser::new(format);
                    let take = |events: callstitch::Events<'_>| {
                        hides(&events);
                        if takes {
                            events.for_each(|event| event_hides(&event));
                        }
                    };
                    for chunk in body[..end].chunks(size) {
                        take(parser.push(chunk));
                        hides(&parser);
                    }
                    parser.in_progress().for_each(|call| hides(call));
                    take(parser.finish());
                    hides(&parser);
                    parser.events().for_each(|event| event_hides(&event));
                    hides(&parser);
                    parser.reset();
                    hides(&parser);
                }
            }
        }
    }
}

#[test]
fn every_body_of_the_sweep_tells_its_call() {
    for (format, body) in bodies() {
        let mut parser = ToolCallParser::new(format);
        drop(parser.push(&body));
        let call = parser
            .finish()
            .find_map(|event| event.ok()?.into_call())
            .unwrap();
        let raw = call.arguments().raw().to_owned();
        assert!(raw.contains(KEY) && raw.contains(VALUE), "{format}: {raw}");
    }
}

#[test]
fn a_body_that_is_misread_or_damaged_shows_no_argument_text() {
    let read = |format, body: &[u8]| {
        let mut parser = ToolCallParser::new(format);
        drop(parser.push(body));
        parser.finish().for_each(|event| event_hides(&event));
        hides(&parser);
    };
    for (format, body) in bodies() {
        for (other, _) in bodies() {
            read(other, &body);
        }
        let mut object = arguments().into_bytes();
        object.push(b'\n');
        read(format, &object);
        for at in ends(&body, 150) {
            let (before, after) = body.split_at(at);
            for format in [format, WireFormat::Auto] {
                read(
                    format,
                    &[before, after.get(1..).unwrap_or_default()].concat(),
                );
                read(format, &[before, b"\n", after].concat());
                read(format, &[before, b"\n\n", after].concat());
                read(format, &[b"event: error\n", before].concat());
                read(format, after);
            }
        }
    }
}

#[test]
fn an_error_quotes_the_words_of_a_server_and_no_json() {
    for (text, told) in [
        ("upstream error: read ECONNRESET", None),
        (
            "<html><body class=\"bad\">502 Bad Gateway</body></html>",
            None,
        ),
        ("a \"bad\" gateway", None),
        ("{\"KEYZZ9\":\"SECRET77\"}", Some("21 bytes of JSON")),
        ("SECRET77\"}}]}", Some("13 bytes of text")),
        ("SECRET77\" : 1", Some("13 bytes of text")),
        ("SECRET77 d\"", Some("11 bytes of text")),
        ("KEYZZ9\\\":\\\"SECRET77", Some("19 bytes of text")),
    ] {
        for before in ["", "event: error\ndata: "] {
            let mut parser = ToolCallParser::new(WireFormat::OpenAiChat);
            drop(parser.push(format!("{before}{text}\n\n").as_bytes()));
            let error = parser.finish().find_map(Result::err).unwrap();
            error_hides(&error);
            let told = told.unwrap_or(text);
            assert!(error.message().ends_with(told), "{before}{text}: {error}");
        }
    }
    let mut parser = ToolCallParser::new(WireFormat::OpenAiChat);
    drop(parser.push(b"data: SECRET77\", \"KEYZZ9\":1\n\n"));
    let error = parser.finish().find_map(Result::err).unwrap();
    assert_eq!(error.kind(), ErrorKind::Undecodable);
    error_hides(&error);
}

#[test]
fn frames_and_deltas_show_no_argument_text() {
    /// What a decoder is given and what it says.
    #[derive(Debug)]
    struct Mine;
    impl callstitch::Decoder for Mine {
        fn decode(&mut self, frame: Frame<'_>, sink: &mut dyn callstitch::DeltaSink) {
            hides(&frame);
            let extras = [("caller", frame.data)];
            let mut call = CallDelta::new().index(0).name("get_tide");
            call.extras = &extras;
            for delta in [
                Delta::Call(call.arguments(frame.data)),
                Delta::Stray { text: frame.data },
            ] {
                hides(&delta);
                sink.delta(&delta);
            }
        }
    }
    for framed in [Framed::Lines, Framed::JsonArray, Framed::ServerSentEvents] {
        let mut parser = ToolCallParser::with_decoder(Mine, framed);
        let text = match framed {
            Framed::JsonArray => format!("[{}]", arguments()),
            Framed::Lines => arguments() + "\n",
            _ => format!("data: {}\n\n", arguments()),
        };
        for chunk in text.as_bytes().chunks(9) {
            hides(&parser.push(chunk));
            hides(&parser);
        }
        assert_eq!(parser.in_progress().count(), 1);
    }
    hides(&Fragment::new(&arguments()));
    let mut accumulator = Accumulator::new(Config::default());
    for text in PIECES {
        let delta = Delta::Arguments {
            choice: 0,
            index: Some(0),
            route: callstitch::Route::Table,
            text: Fragment::new(text),
        };
        hides(&delta);
        accumulator.push(&delta);
        hides(&accumulator);
    }
    accumulator.finish();
    hides(&accumulator);
    accumulator.events().for_each(|event| event_hides(&event));
}

fn chunks(body: &[u8]) -> impl Stream<Item = Result<Vec<u8>, Infallible>> + Debug + Unpin + use<> {
    let chunks: Vec<_> = body.chunks(50).map(|chunk| Ok(chunk.to_vec())).collect();
    stream::iter(chunks)
}

#[tokio::test]
async fn streams_show_no_argument_text() {
    let (format, body) = bodies().swap_remove(0);
    let mut events = chunks(&body).tool_events(format).field_events();
    hides(&events);
    while let Some(event) = events.next().await {
        event_hides(&event);
        hides(&events);
    }
    let mut calls = chunks(&body).tool_calls(format);
    hides(&calls);
    assert!(calls.next().await.unwrap().is_ok());
    hides(&calls);
    let mut text = chunks(&body)
        .tool_events(format)
        .field_text("get_tide", ["n", KEY]);
    hides(&text);
    while let Some(piece) = text.next().await {
        piece.unwrap();
        hides(&text);
    }
    let mut relay = chunks(&body).passthrough(ToolCallParser::new(format), |event| {
        event_hides(&event);
    });
    hides(&relay);
    while relay.next().await.is_some() {
        hides(&relay);
    }
    let mut running = chunks(&body).tool_calls(format).run(tools(), 1);
    hides(&running);
    while let Some(outcome) = running.next().await {
        hides(&outcome);
        hides(&running);
    }
    let (sender, mut calls) = channel(format, 4);
    sender.push(body[..body.len() / 2].to_vec()).await.unwrap();
    hides(&sender);
    hides(&calls);
    drop(sender);
    while let Some(call) = calls.next().await {
        call.iter().for_each(|call| hides(call));
        if let Err(error) = &call {
            error_hides(error);
        }
    }
}

#[tokio::test]
async fn an_element_that_does_not_fit_is_not_quoted_by_the_error() {
    let (format, body) = bodies().swap_remove(0);
    let mut items = chunks(&body)
        .tool_events(format)
        .field_items::<u32, _>("get_tide", [KEY]);
    let error = items.next().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Field);
    error_hides(&error);
    hides(&items);
    // Who asks is told.
    let source = error.source().unwrap();
    let refused: &callstitch::ArgumentsError = source.downcast_ref().unwrap();
    assert!(refused.detail().unwrap().contains(VALUE));
}

fn tools() -> ToolSet {
    let name = |name: &str| ToolName::new(name).unwrap();
    let schema = json!({"properties": {KEY: {"type": "integer"}, "n": {"enum": [1]}}});
    ToolSet::new()
        .with(Tool::function(name("get_wind"), |_: Vec<u32>| "calm"))
        .with(Tool::function(name("get_tide"), |read: Value| {
            Answer::Json(read)
        }))
        .with(
            Tool::declared(name("get_depth"))
                .schema(&schema)
                .unwrap_or_else(|error| panic!("{error}")),
        )
}

#[test]
fn calls_and_what_is_made_of_them_show_no_argument_text() {
    let texts = [
        arguments(),
        PIECES[..5].concat(),
        arguments() + ",",
        arguments() + &arguments(),
        format!("SECRET77 {}", arguments()),
        json!([arguments()]).to_string(),
    ];
    for text in &texts {
        let tools = tools();
        hides(&tools);
        let mut buffer = ArgumentsBuffer::new();
        buffer.push(text);
        hides(&buffer.view());
        buffer.drain_events(|event| {
            hides(&event);
        });
        hides(&buffer);
        let parsed = Arguments::parse(text);
        hides(&parsed);
        for error in [
            parsed.object().err(),
            parsed.deserialize::<Vec<u32>>().err(),
        ] {
            error.iter().for_each(|error| error_hides(error));
        }
        let builder = ToolCall::builder()
            .name("get_tide")
            .arguments(text.as_str());
        hides(&builder);
        if let Err(error) = builder.build() {
            error_hides(&error);
        }
        let partial = PartialCall::from_delta(&CallDelta::new().name("get_tide").arguments(text));
        hides(&partial);
        for name in ["get_tide", "get_wind", "get_depth", "get_moon"] {
            let call = ToolCall::new(ToolName::new(name).unwrap(), text.as_str());
            hides(&call);
            hides(&call.evidence());
            let resolution = tools.resolve(&call);
            hides(&resolution);
            if let Err(refusal) = call.resolve::<Vec<u32>>() {
                error_hides(&refusal);
            }
            let outcome = tools.execute_now(&call).unwrap();
            hides(&outcome);
            outcome
                .refusal()
                .iter()
                .for_each(|refusal| error_hides(*refusal));
            for format in HistoryFormat::all() {
                let Some(item) = call.to_wire(format) else {
                    continue;
                };
                hides(&ToolCall::from_wire(format, &item));
                let messages = [
                    callstitch::history::calls_messages(format, [&call]),
                    Vec::new(),
                ];
                let messages = messages.concat();
                for entry in entries(format, &messages) {
                    hides(&entry);
                    assert!(matches!(entry, Entry::Call(_)));
                }
                for problem in check_messages(format, &messages) {
                    hides(&problem);
                    hides_in(&problem.to_string(), &"Display");
                }
            }
        }
    }
    hides(&FieldFilter::new("get_tide", [KEY]));
}

#[test]
fn calls_that_leaked_into_the_answer_show_no_argument_text() {
    let call = format!("{{\"name\":\"get_tide\",\"arguments\":{}}}", arguments());
    for (markup, text) in [
        (Markup::HermesQwen, format!("<tool_call>{call}</tool_call>")),
        (Markup::Mistral, format!("[TOOL_CALLS][{call}]")),
    ] {
        for end in ends(text.as_bytes(), 30) {
            let mut leaked = LeakedCalls::new(markup);
            for found in leaked.push_text(&text[..end]) {
                hides(&found);
            }
            hides(&leaked);
            for found in leaked.finish() {
                hides(&found);
            }
            hides(&leaked);
        }
    }
}
