//! Field events: what is said of each field while the arguments arrive, and what that is worth at the end.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "common/shared.rs"]
mod shared;

use callstitch::{
    Accumulator, CallDelta, CallIndex, Config, Delta, Event, FieldEvent, FieldFilter, FieldPart,
    FieldPath, PathSegment, RepairLevel, ToolCall, ToolCallParser, ToolKind, WireFormat,
};
use serde_json::{Value, json};
use shared::shared;

fn config() -> Config {
    Config::default().field_events(true)
}

/// The texts that the events of one call are tried with: whole, repaired, cut, malformed.
const TEXTS: [&str; 20] = [
    r#"{"path":"/tmp/x","content":"a\n\u00e9 \ud83d\ude00 \"q\" 日本 😀"}"#,
    r#" { "n" : 12 , "deep" : {"list":[1,-2.5e3,[true,[]],{"k":null}],"s":""} } "#,
    r#"{"a":"x","b":1,"a":"y"}"#,
    r#"{"a":{"b":[1,2]},"a":{"b":[3]},"c":"z","a":"w"}"#,
    r#"{"a":"x","n":12"#,
    r#"{"a":"cut in an escape \ud83d\u"#,
    r#"{"a":[{"b":"c"},{"b":"d"#,
    r#"{"a":"x","b":@}"#,
    r#"{"a":"raw
newline","b":[1,2,],}"#,
    r#"{'a':'x'}"#,
    r#"{"a":"x"}{"a":"x"}"#,
    r#"{"a":"x"}{"a":"x","b":"y"}"#,
    r#""{\"a\":\"x\\n\",\"b\":[1]}""#,
    r#"{"big":123456789012345678901234567890,"a":"x",}"#,
    "```json\n{\"a\":\"x\"}\n```",
    "{}",
    "",
    "null",
    "not json",
    r#"[1,2]"#,
];

/// A chat completions body with one call in pieces of so many characters.
fn body(name: &str, text: &str, piece: usize, done: bool) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut pieces: Vec<String> = chars.chunks(piece).map(String::from_iter).collect();
    pieces.insert(0, String::new());
    let mut body = String::new();
    for (at, piece) in pieces.iter().enumerate() {
        let mut call = json!({"index": 0, "function": {"arguments": piece}});
        if at == 0 {
            call["id"] = json!("call_1");
            call["function"]["name"] = json!(name);
        }
        let event = json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]});
        body.push_str(&format!("data: {event}\n\n"));
    }
    if done {
        body.push_str("data: [DONE]\n\n");
    }
    body
}

fn run(format: WireFormat, config: Config, body: &[u8], size: usize) -> Vec<Event<'static>> {
    let mut parser = ToolCallParser::with_config(format, config);
    let mut events = Vec::new();
    for chunk in body.chunks(size.max(1)) {
        events.extend(
            parser
                .push(chunk)
                .filter_map(|event| Some(event.ok()?.into_owned())),
        );
    }
    events.extend(
        parser
            .finish()
            .filter_map(|event| Some(event.ok()?.into_owned())),
    );
    events
}

/// All events in a form to compare: what was said, and text; adjacent texts of one thing joined.
fn said(events: &[Event<'static>]) -> Vec<(String, String)> {
    let mut said: Vec<(String, String)> = Vec::new();
    for event in events {
        let (what, text) = match event {
            Event::ArgumentsDelta { index, text } => (format!("{index} +"), text.to_string()),
            Event::Text { choice, text } => (format!("text {choice}"), text.to_string()),
            Event::Reasoning { choice, text } => (format!("reason {choice}"), text.to_string()),
            Event::ReasoningSignature { choice, text } => {
                (format!("signature {choice}"), text.to_string())
            }
            Event::Refusal { choice, text } => (format!("refusal {choice}"), text.to_string()),
            Event::Field {
                index,
                event: FieldEvent::Text { path, fragment },
            } => (format!("{index} {path}"), fragment.to_string()),
            Event::Field { index, event } => (format!("{index} {}", line(event)), String::new()),
            // The ids that were made differ from run to run.
            Event::CallCompleted(call) => (
                format!("{} ended {}", call.index(), call.state()),
                call.arguments().to_json(),
            ),
            Event::CallStarted { index, name, .. } => (format!("{index} {name}"), String::new()),
            event => (format!("{event:?}"), String::new()),
        };
        match said.last_mut() {
            Some((last, so_far)) if *last == what && !text.is_empty() => so_far.push_str(&text),
            _ => said.push((what, text)),
        }
    }
    said
}

/// The field events as lines, adjacent text of one path joined.
fn field_lines(events: &[Event<'static>]) -> Vec<String> {
    joined(events).iter().map(line).collect()
}

/// The field events of all calls, adjacent text of one path joined.
fn joined(events: &[Event<'static>]) -> Vec<FieldEvent<'static>> {
    let mut fields: Vec<FieldEvent<'static>> = Vec::new();
    for event in events {
        let Event::Field { event, .. } = event else {
            continue;
        };
        if let (
            Some(FieldEvent::Text { path, fragment }),
            FieldEvent::Text {
                path: of,
                fragment: more,
            },
        ) = (fields.last_mut(), event)
            && path == of
        {
            fragment.to_mut().push_str(more);
        } else {
            fields.push(event.clone());
        }
    }
    fields
}

fn taken(accumulator: &mut Accumulator) -> Vec<Event<'static>> {
    let events = accumulator.events();
    events.map(|event| event.unwrap().into_owned()).collect()
}

fn of_text(text: &str, piece: usize) -> (Vec<FieldEvent<'static>>, ToolCall) {
    let body = body("tool", text, piece, true);
    let events = run(
        WireFormat::OpenAiChat,
        config(),
        body.as_bytes(),
        body.len(),
    );
    let call = events.iter().cloned().find_map(Event::into_call).unwrap();
    (joined(&events), call)
}

/// An event as one line.
fn line(event: &FieldEvent<'_>) -> String {
    match event {
        FieldEvent::Opened { path, kind } => format!("{path} opened {kind:?}"),
        FieldEvent::Text { path, fragment } => format!("{path} + {fragment}"),
        FieldEvent::Completed { path, value } => match value.get() {
            Some(value) => format!("{path} = {value}"),
            None => format!("{path} closed"),
        },
        FieldEvent::Replaced { path } => format!("{path} replaced"),
        FieldEvent::Stopped { at } => format!("stopped at {at}"),
        _ => panic!("an event this test does not know"),
    }
}

fn lines(text: &str) -> Vec<String> {
    of_text(text, 1).0.iter().map(line).collect()
}

/// Follows the whole argument object through all events: what stands at the end of each call, and the call.
fn followed(events: &[Event<'static>]) -> Vec<(Option<Value>, ToolCall)> {
    let mut filter = FieldFilter::new(callstitch::CallSelector::Any, [] as [&str; 0]);
    let mut object = std::collections::HashMap::<CallIndex, Value>::new();
    let mut ended = Vec::new();
    for event in events {
        match filter.take(event) {
            Some((index, FieldPart::Completed(value))) => {
                object.insert(index, value.get().unwrap().clone());
            }
            Some((index, FieldPart::Replaced)) => drop(object.remove(&index)),
            Some((index, FieldPart::Ended(call))) => {
                ended.push((object.remove(&index), call.clone()));
            }
            _ => {}
        }
    }
    ended
}

/// Field events lie inside their call, and text and completion inside their field.
fn assert_grammar(events: &[Event<'static>]) {
    let mut open = std::collections::HashMap::<CallIndex, Vec<FieldPath>>::new();
    for event in events {
        match event {
            Event::CallStarted { index, .. } => {
                assert!(open.insert(*index, Vec::new()).is_none());
            }
            Event::CallCompleted(call) | Event::CallDiscarded(call) => {
                assert!(open.remove(&call.index()).is_some());
            }
            Event::Field { index, event } => {
                let open = open.get_mut(index).expect("a field event outside its call");
                match event {
                    FieldEvent::Opened { path, .. } => open.push(path.clone()),
                    FieldEvent::Text { path, .. } => assert_eq!(open.last(), Some(path)),
                    FieldEvent::Completed { path, value } if value.kind().is_some() => {
                        assert_eq!(open.pop().as_ref(), Some(path));
                    }
                    FieldEvent::Replaced { path } if path.is_root() => open.clear(),
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

#[test]
fn chunk_borders_show_in_no_event() {
    for text in TEXTS {
        for done in [true, false] {
            for calls_only in [true, false] {
                let body = body("tool", text, 3, done);
                let config = config().calls_only(calls_only);
                let run = |size| {
                    run(
                        WireFormat::OpenAiChat,
                        config.clone(),
                        body.as_bytes(),
                        size,
                    )
                };
                let whole = run(body.len());
                assert_grammar(&whole);
                for size in [1, 2, 3, 7, 64, 200] {
                    let cut = run(size);
                    assert_eq!(said(&cut), said(&whole), "{text} in chunks of {size}");
                }
            }
        }
    }
}

#[test]
fn the_pieces_of_the_text_show_in_no_joined_event() {
    for text in TEXTS {
        let (whole, _) = of_text(text, usize::MAX >> 1);
        for piece in [1, 2, 3, 5, 11] {
            assert_eq!(of_text(text, piece).0, whole, "{text} in pieces of {piece}");
        }
    }
}

#[test]
fn text_is_decoded_and_never_holds_half_a_character() {
    let text = TEXTS[0];
    let path = ["content"];
    for piece in 1..8 {
        let body = body("tool", text, piece, true);
        let events = run(WireFormat::OpenAiChat, config(), body.as_bytes(), 5);
        let mut shown = String::new();
        for event in &events {
            if let Event::Field {
                event: FieldEvent::Text { path: at, fragment },
                ..
            } = event
                && at.is(path)
            {
                assert!(!fragment.is_empty() && !fragment.contains(['\\', '\u{fffd}']));
                shown.push_str(fragment);
            }
        }
        assert_eq!(shown, "a\né 😀 \"q\" 日本 😀");
    }
}

#[test]
fn fields_are_told_in_the_order_of_the_text() {
    assert_eq!(
        lines(r#"{"path":"/t","n":[12,{"ok":true}],"content":"ab"}"#),
        [
            "$ opened Object",
            "$.path opened String",
            "$.path + /t",
            "$.path = \"/t\"",
            "$.n opened Array",
            "$.n[0] = 12",
            "$.n[1] opened Object",
            "$.n[1].ok = true",
            "$.n[1] closed",
            "$.n closed",
            "$.content opened String",
            "$.content + ab",
            "$.content = \"ab\"",
            "$ closed",
        ]
    );
}

#[test]
fn a_key_that_comes_twice_replaces_what_was_told() {
    assert_eq!(
        lines(r#"{"a":"x","a":[1]}"#),
        [
            "$ opened Object",
            "$.a opened String",
            "$.a + x",
            "$.a = \"x\"",
            "$.a replaced",
            "$.a opened Array",
            "$.a[0] = 1",
            "$.a closed",
            "$ closed",
        ]
    );
}

#[test]
fn what_the_cut_touches_is_not_told() {
    assert_eq!(
        lines(r#"{"a":"x","n":12"#),
        [
            "$ opened Object",
            "$.a opened String",
            "$.a + x",
            "$.a = \"x\""
        ]
    );
    let (fields, call) = of_text(r#"{"a":"x\ud83d\ude"#, 1);
    assert_eq!(line(fields.last().unwrap()), "$.a + x");
    assert!(!call.is_usable());
}

#[test]
fn malformed_text_stops_and_its_repair_tells_only_the_rest() {
    assert_eq!(
        lines(r#"{"a":"x","b":@}"#),
        [
            "$ opened Object",
            "$.a opened String",
            "$.a + x",
            "$.a = \"x\"",
            "stopped at 13"
        ]
    );
    let mut buffer = callstitch::ArgumentsBuffer::new();
    buffer.push("{\"a\":1,\"b\":\"x\ny");
    let view = buffer.view();
    assert!(view.is_complete(["a"]) && !view.is_complete(["b"]));
    // A raw newline is repaired at the close; the string goes on where it stopped.
    assert_eq!(
        lines("{\"a\":\"x\ny\",\"b\":[1,],\"c\":{\"d\":2}}"),
        [
            "$ opened Object",
            "$.a opened String",
            "$.a + x",
            "stopped at 7",
            "$.a + \ny",
            "$.a = \"x\\ny\"",
            "$.b opened Array",
            "$.b[0] = 1",
            "$.b closed",
            "$.c opened Object",
            "$.c.d = 2",
            "$.c closed",
            "$ closed",
        ]
    );
    // What was told of other fields is not told again.
    assert_eq!(
        lines(r#"{"a":{"b":"x"},"l":[[1],[2,],3]}"#)[5..],
        [
            "$.a closed",
            "$.l opened Array",
            "$.l[0] opened Array",
            "$.l[0][0] = 1",
            "$.l[0] closed",
            "$.l[1] opened Array",
            "$.l[1][0] = 2",
            "stopped at 27",
            "$.l[1] closed",
            "$.l[2] = 3",
            "$.l closed",
            "$ closed",
        ]
    );
}

#[test]
fn what_does_not_stand_at_the_close_is_replaced() {
    // Each piece says the whole text so far: the last counts.
    let mut accumulator = Accumulator::new(config());
    let mut delta = CallDelta::new().index(0).id("call_1").name("tool");
    for text in [r#"{"a":"x"#, r#"{"a":"xy","b":1}"#] {
        accumulator.push(&Delta::Call(delta.arguments(text)));
        delta.name = None;
    }
    accumulator.push(&Delta::End);
    assert_eq!(
        field_lines(&taken(&mut accumulator))[2..],
        [
            "$.a + x{",
            "$.a = \"x{\"",
            "stopped at 9",
            "$ replaced",
            "$ opened Object",
            "$.a opened String",
            "$.a + xy",
            "$.a = \"xy\"",
            "$.b = 1",
            "$ closed",
        ]
    );
    // An authoritative text that differs.
    let mut accumulator = Accumulator::new(config());
    let mut delta = CallDelta::new()
        .index(0)
        .id("call_1")
        .name("tool")
        .arguments("{\"a\":\"x");
    accumulator.push(&Delta::Call(delta));
    delta.arguments = callstitch::ArgumentsPart::Restated("{\"a\":\"z\"}");
    accumulator.push(&Delta::Call(delta));
    accumulator.push(&Delta::End);
    let fields = field_lines(&taken(&mut accumulator));
    assert_eq!(
        fields[2..],
        [
            "$.a + x",
            "$ replaced",
            "$ opened Object",
            "$.a opened String",
            "$.a + z",
            "$.a = \"z\"",
            "$ closed"
        ]
    );
}

#[test]
fn arguments_that_came_without_text_are_told_at_the_close() {
    let mut accumulator = Accumulator::new(config());
    let mut delta = CallDelta::new().index(0).id("call_1").name("tool");
    delta.arguments = callstitch::ArgumentsPart::Initial("{\"a\":1}");
    accumulator.push(&Delta::Call(delta));
    accumulator.push(&Delta::End);
    let fields = field_lines(&taken(&mut accumulator));
    assert_eq!(fields, ["$ opened Object", "$.a = 1", "$ closed"]);
    assert_eq!(lines(""), ["$ opened Object", "$ closed"]);
}

#[test]
fn what_was_told_last_of_a_usable_call_is_the_call() {
    let table = shared("cases/arguments.jsonl").unwrap_or_default();
    let rows = table
        .lines()
        .map(|row| serde_json::from_str::<Value>(row).unwrap())
        .filter_map(|row| row["text"].as_str().map(str::to_owned));
    let mut usable = 0;
    for text in rows.chain(TEXTS.map(str::to_owned)) {
        for repair in [RepairLevel::Lossless, RepairLevel::Guess] {
            for piece in [1, 6] {
                let body = body("tool", &text, piece, true);
                let config = config().repair(repair);
                let events = run(WireFormat::OpenAiChat, config, body.as_bytes(), 1000);
                assert_grammar(&events);
                let [(object, call)] = &followed(&events)[..] else {
                    panic!("one call");
                };
                if let Ok(arguments) = call.arguments().object() {
                    usable += 1;
                    assert_eq!(
                        object.as_ref().and_then(Value::as_object),
                        Some(arguments),
                        "{text}"
                    );
                }
            }
        }
    }
    println!("{usable} usable calls were told as they are");
}

#[test]
fn every_wire_format_tells_its_fields() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/streams");
    let (mut streams, mut usable) = (0, 0);
    for format in std::fs::read_dir(root).unwrap() {
        let format = format.unwrap();
        let name = format.file_name().into_string().unwrap();
        if name == "bedrock" && !cfg!(feature = "bedrock") {
            continue;
        }
        for file in std::fs::read_dir(format.path()).unwrap() {
            let file = file.unwrap().path();
            if file.extension().is_none_or(|extension| extension == "json") {
                continue;
            }
            let bytes = std::fs::read(&file).unwrap();
            streams += 1;
            let whole = run(WireFormat::Auto, config(), &bytes, bytes.len());
            assert_grammar(&whole);
            for size in [1, 5] {
                let cut = run(WireFormat::Auto, config(), &bytes, size);
                assert_eq!(said(&cut), said(&whole), "{file:?}");
            }
            for (object, call) in followed(&whole) {
                if let Ok(arguments) = call.arguments().object() {
                    usable += 1;
                    let object = object.as_ref().and_then(Value::as_object);
                    assert_eq!(object, Some(arguments), "{file:?}");
                }
            }
        }
    }
    println!("{streams} streams, {usable} usable calls were told as they are");
    assert!(streams > 60 && usable > 40);
}

#[test]
fn arguments_that_gemini_streams_by_path_are_told_as_they_come() {
    let body = br#"data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"write_file","willContinue":true}}]}}]}

data: {"candidates":[{"content":{"parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.path","stringValue":"tide.txt"}],"willContinue":true}}]}}]}

data: {"candidates":[{"content":{"parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.content","stringValue":"06:12\n","willContinue":true}],"willContinue":true}}]}}]}

data: {"candidates":[{"content":{"parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.content","stringValue":"low \"tide\""}],"willContinue":true}}]}}]}

data: {"candidates":[{"content":{"parts":[{"functionCall":{}}]},"finishReason":"STOP"}]}

"#;
    let mut parser = ToolCallParser::with_config(WireFormat::Gemini, config());
    let mut content = FieldFilter::new("write_file", ["content"]);
    let mut pieces = Vec::new();
    for chunk in body.chunks(40) {
        for event in parser.push(chunk) {
            let event = event.unwrap();
            if let Some((_, FieldPart::Text(text))) = content.take(&event) {
                pieces.push(text.to_owned());
            }
        }
    }
    assert_eq!(pieces, ["06:12\n", "low \"tide\""]);
}

#[test]
fn free_text_has_no_fields() {
    let mut accumulator = Accumulator::new(config());
    let delta = CallDelta::new()
        .index(0)
        .id("call_1")
        .name("run")
        .kind(&ToolKind::Custom);
    for text in ["{\"a\":", "1}"] {
        accumulator.push(&Delta::Call(delta.arguments(text)));
    }
    accumulator.push(&Delta::End);
    let events: Vec<_> = accumulator.events().map(Result::unwrap).collect();
    assert!(events.len() >= 3);
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, Event::Field { .. }))
    );
}

#[test]
fn nothing_is_read_or_said_unless_asked_for() {
    let text = format!("{{\"a\":\"{}", "low tide\\n".repeat(500));
    let body = body("tool", &text, 4, false);
    let mut parser = ToolCallParser::new(WireFormat::OpenAiChat);
    let fields = parser
        .push(body.as_bytes())
        .filter(|event| matches!(event, Ok(Event::Field { .. })))
        .count();
    assert_eq!(fields, 0);
    assert_eq!(
        parser.in_progress().next().unwrap().steps(),
        None,
        "there is no reader"
    );
}

#[test]
fn reading_is_linear_in_the_text() {
    let texts = [
        format!("{{\"a\":\"{}", "low tide\\n\\ud83d\\ude00".repeat(500)),
        format!("{{\"a\":[{}", "{\"b\":1.25},".repeat(500)),
        // A path is not copied for each event: a megabyte of key above many elements.
        format!("{{\"{}\":[{}", "k".repeat(1 << 20), "1,".repeat(20_000)),
    ];
    for text in texts {
        let mut accumulator = Accumulator::new(config());
        let (head, tail) = text.split_at(text.len().saturating_sub(40_000));
        accumulator.push(&Delta::Call(
            CallDelta::new().index(0).name("tool").arguments(head),
        ));
        for piece in tail.as_bytes().chunks(4) {
            let piece = std::str::from_utf8(piece).unwrap();
            accumulator.push(&Delta::Call(CallDelta::new().index(0).arguments(piece)));
            accumulator.events().for_each(drop);
        }
        let call = accumulator.in_progress().next().unwrap();
        // A look reads nothing that was read before.
        call.arguments();
        assert!(call.steps().unwrap() <= 2 * text.len() as u64);
        assert!(call.steps().unwrap() >= text.len() as u64 - 8);
    }
}

#[test]
fn looks_take_nothing_from_the_events() {
    let mut accumulator = Accumulator::new(config());
    // Arguments before the name: the call is looked at before anything is said of it.
    accumulator.push(&Delta::Call(
        CallDelta::new()
            .index(0)
            .id("call_1")
            .arguments("{\"a\":\"x"),
    ));
    assert_eq!(
        accumulator
            .in_progress()
            .next()
            .unwrap()
            .arguments()
            .object()["a"],
        "x"
    );
    accumulator.push(&Delta::Call(CallDelta::new().index(0).name("tool")));
    accumulator.in_progress().next().unwrap().arguments();
    accumulator.push(&Delta::Call(CallDelta::new().index(0).arguments("y\"}")));
    accumulator.in_progress().next().unwrap().arguments();
    accumulator.push(&Delta::End);
    let fields = field_lines(&taken(&mut accumulator));
    assert_eq!(
        fields,
        [
            "$ opened Object",
            "$.a opened String",
            "$.a + xy",
            "$.a = \"xy\"",
            "$ closed"
        ]
    );
}

#[test]
fn elements_are_handed_out_when_they_are_complete() {
    let text = r#"{"rows":[{"id":1,"tags":["a",{"b":[]}]},"two",3,[4]],"rest":[5]}"#;
    let body = body("tool", text, 2, true);
    let events = run(WireFormat::OpenAiChat, config(), body.as_bytes(), 9);
    let mut rows = FieldFilter::new("tool", ["rows"]);
    let parts: Vec<_> = events.iter().filter_map(|event| rows.take(event)).collect();
    let elements: Vec<_> = parts
        .iter()
        .filter_map(|(_, part)| match part {
            FieldPart::Element(index, value) => Some((*index, value.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(
        elements,
        [
            (0, json!({"id": 1, "tags": ["a", {"b": []}]})),
            (1, json!("two")),
            (2, json!(3)),
            (3, json!([4])),
        ]
    );
    assert!(matches!(parts[0].1, FieldPart::Started));
    assert!(matches!(&parts[parts.len() - 2].1, FieldPart::Completed(_)));
    assert!(matches!(&parts[parts.len() - 1].1, FieldPart::Ended(call) if call.is_usable()));

    let mut tags = FieldFilter::new(
        CallIndex::default(),
        [
            PathSegment::from("rows"),
            PathSegment::from(0),
            PathSegment::from("tags"),
        ],
    );
    let tags: Vec<_> = events.iter().filter_map(|event| tags.take(event)).collect();
    assert!(matches!(&tags[2].1, FieldPart::Element(1, value) if *value == json!({"b": []})));
    let mut other = FieldFilter::new("another_tool", ["rows"]);
    assert!(!events.iter().any(|event| other.take(event).is_some()));
}

#[test]
fn nothing_prints_argument_text() {
    let (fields, _) = of_text(r#"{"secret_key":"secret text","n":"secret"}"#, 3);
    assert!(!format!("{fields:?}").contains("secret"));
    let body = body("tool", r#"{"secret_key":["secret text"]}"#, 3, true);
    let mut filter = FieldFilter::new("tool", ["secret_key"]);
    for event in run(WireFormat::OpenAiChat, config(), body.as_bytes(), 50) {
        let printed = format!("{:?}", filter.take(&event));
        assert!(!printed.contains("secret"), "{printed}");
    }
}

#[test]
fn a_typed_view_is_read_from_a_call_in_progress() {
    #[derive(serde::Deserialize, Default, PartialEq, Debug)]
    #[serde(default)]
    struct Write<'a> {
        path: Option<String>,
        #[serde(borrow)]
        content: std::borrow::Cow<'a, str>,
        lines: Vec<u32>,
    }
    let text = r#"{"path":"tide.txt","lines":[10,25],"content":"low"}"#;
    let mut accumulator = Accumulator::default();
    let mut seen = Vec::new();
    for (at, c) in text.chars().enumerate() {
        let mut delta = CallDelta::new().index(0);
        if at == 0 {
            delta = delta.id("call_1").name("write_file");
        }
        accumulator.push(&Delta::Call(delta.arguments(c.encode_utf8(&mut [0; 4]))));
        let call = accumulator.in_progress().next().unwrap();
        let view = call.arguments();
        let typed: Write<'_> = view.deserialize_partial().unwrap();
        seen.push((typed.path, typed.lines, typed.content.into_owned()));
    }
    seen.dedup();
    let row = |path: &str, lines: &[u32], content: &str| {
        (Some(path.to_owned()), lines.to_vec(), content.to_owned())
    };
    let mut want = vec![(None, vec![], String::new())];
    want.extend((0..=8).map(|length| row(&"tide.txt"[..length], &[], "")));
    want.extend([row("tide.txt", &[10], ""), row("tide.txt", &[10, 25], "")]);
    want.extend((1..=3).map(|length| row("tide.txt", &[10, 25], &"low"[..length])));
    assert_eq!(seen, want);

    let call = accumulator.in_progress().next().unwrap();
    let wrong = call
        .arguments()
        .deserialize_partial::<std::collections::BTreeMap<String, u8>>();
    assert!(wrong.is_err());

    // Whatever type is around one that fits, fits.
    #[derive(serde::Deserialize)]
    struct Around<T>(T);
    let around: Option<Around<Write<'_>>> = call.arguments().deserialize_partial().unwrap();
    assert_eq!(around.unwrap().0.lines, [10, 25]);
}

#[cfg(feature = "stream")]
mod streams {
    use super::*;
    use callstitch::{ByteStreamExt, ErrorKind, EventStream, FieldText};
    use futures::executor::block_on;
    use futures::{Stream, StreamExt, TryStreamExt};

    type Chunk = Result<Vec<u8>, std::io::Error>;

    fn events(body: &str) -> EventStream<impl Stream<Item = Chunk> + use<>> {
        let chunks: Vec<Chunk> = body
            .as_bytes()
            .chunks(31)
            .map(|chunk| Ok(chunk.to_vec()))
            .collect();
        futures::stream::iter(chunks).tool_events(WireFormat::OpenAiChat)
    }

    fn text_of<S: Stream<Item = Chunk> + Unpin>(
        field: &mut FieldText<S>,
    ) -> (String, Option<ErrorKind>) {
        block_on(async {
            let mut text = String::new();
            while let Some(piece) = field.next().await {
                match piece {
                    Ok(piece) => text.push_str(&piece),
                    Err(error) => {
                        assert!(field.next().await.is_none());
                        return (text, Some(error.kind()));
                    }
                }
            }
            assert!(field.next().await.is_none());
            (text, None)
        })
    }

    fn content(text: &str, done: bool) -> (String, Option<ErrorKind>) {
        let body = body("write_file", text, 3, done);
        text_of(&mut events(&body).field_text("write_file", ["content"]))
    }

    #[test]
    fn a_text_ends_well_only_with_a_call_that_may_be_run() {
        let field = Some(ErrorKind::Field);
        for (text, done, want) in [
            (
                r#"{"path":"/x","content":"a\n😀 b"}"#,
                true,
                ("a\n😀 b", None),
            ),
            ("{\"content\":\"a\nb\",}", true, ("a\nb", None)),
            (r#"{"content":""}"#, true, ("", None)),
            (r#"{"other":"x"}"#, true, ("", None)),
            (r#"{"content":"a","n":1"#, true, ("a", field)),
            (r#"{"content":"a"#, false, ("a", field)),
            (r#"{"content":"a","content":"b"}"#, true, ("a", field)),
            (r#"{"content":12}"#, true, ("", field)),
            (r#"{"content":["a"]}"#, true, ("", field)),
        ] {
            let (text, error) = (content(text, done), text);
            assert_eq!((text.0.as_str(), text.1), want, "{error}");
        }
    }

    #[test]
    fn the_next_call_is_read_from_the_events_that_are_left() {
        let mut bytes = String::new();
        for (index, text) in [r#"{"content":"one"}"#, r#"{"content":"two"}"#]
            .iter()
            .enumerate()
        {
            let call = json!({"index": index, "id": format!("call_{index}"), "function": {"name": "write_file", "arguments": text}});
            bytes.push_str(&format!(
                "data: {}\n\n",
                json!({"choices": [{"delta": {"tool_calls": [call]}}]})
            ));
        }
        bytes.push_str("data: [DONE]\n\n");
        let mut first = events(&bytes).field_text(CallIndex::default(), ["content"]);
        assert_eq!(text_of(&mut first), ("one".to_owned(), None));
        assert_eq!(first.call().unwrap().id(), "call_0");
        let rest: Vec<_> = block_on(first.into_events().try_collect()).unwrap();
        let calls: Vec<_> = rest.into_iter().filter_map(Event::into_call).collect();
        assert_eq!(
            calls.iter().map(ToolCall::id).collect::<Vec<_>>(),
            ["call_1"]
        );

        let mut none = events(&bytes).field_text("another_tool", ["content"]);
        assert_eq!(text_of(&mut none), (String::new(), None));
        assert!(none.call().is_none());
    }

    #[test]
    fn a_text_arrives_while_the_call_is_written() {
        let body = body("write_file", r#"{"content":"low tide"}"#, 4, true);
        let (first, second) = body.split_at(body.find("low").unwrap() + 40);
        block_on(async {
            let (sender, receiver) = futures::channel::mpsc::unbounded();
            let mut text = receiver
                .map(Ok::<_, std::io::Error>)
                .tool_events(WireFormat::OpenAiChat)
                .field_text("write_file", ["content"]);
            sender.unbounded_send(first.to_owned()).unwrap();
            assert!(text.next().await.unwrap().unwrap().starts_with('l'));
            sender.unbounded_send(second.to_owned()).unwrap();
            drop(sender);
            text.map_ok(drop)
                .try_for_each(async |()| Ok(()))
                .await
                .unwrap();
        });
    }

    #[test]
    fn items_are_typed_and_complete() {
        let items = |text: &str| {
            let body = body("chart", text, 3, true);
            let items = events(&body).field_items::<u32, _>("chart", ["heights"]);
            block_on(
                items
                    .map(|item| item.map_err(|error| error.kind()))
                    .collect::<Vec<_>>(),
            )
        };
        let field = Err(ErrorKind::Field);
        assert_eq!(items(r#"{"heights":[1,2,30]}"#), [Ok(1), Ok(2), Ok(30)]);
        assert_eq!(items(r#"{"heights":[]}"#), []);
        assert_eq!(items(r#"{"heights":[1,2"#), [Ok(1), field]);
        assert_eq!(items(r#"{"heights":[1,"x",2]}"#), [Ok(1), field]);
        assert_eq!(items(r#"{"heights":"none"}"#), [field]);
        assert_eq!(items(r#"{"heights":[1,],"heights":[2]}"#), [Ok(1), field]);
    }
}
