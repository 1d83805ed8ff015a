//! Calls at rest: the stable form reads back as the same call, and whatever else was stored is read without belief.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use callstitch::history::{HistoryFormat, ToolResult, check_messages, entries};
use callstitch::{
    Accumulator, Arguments, ArgumentsPart, Blank, CallDelta, CallState, Delta, Executor,
    PartialCall, RepairLevel, Settling, ToolCall, ToolKind, ToolName,
};
use serde_json::{Map, Value, json};

fn call(arguments: impl Into<Arguments>) -> ToolCall {
    ToolCall::new(ToolName::new("get_tide").unwrap(), arguments).with_id("call_1")
}

fn settled(text: &str, repair: RepairLevel, blank: Blank) -> Arguments {
    let settling = Settling {
        repair,
        blank,
        ..Settling::default()
    };
    Arguments::settle(text.to_owned(), &settling)
}

/// Calls in every state that arguments have, and in the corners of each.
fn every_state() -> Vec<ToolCall> {
    let mut calls = vec![
        call(json!({"port": "Oban"})),
        call(r#"{ "port" : "Oban" }"#),
        call(r#"{"n":1.50,"big":123456789012345678901234567890,"a":1,"a":2}"#),
        call(""),
        call(" null "),
        call(r#"{"a":1,}"#),
        call(r#"{"n":1.50,}"#),
        call("```json\n{\"a\":1}\n```"),
        call("\"{\\\"a\\\": 1.0}\""),
        call(r#"{"port":"Ob"#),
        call(r#"{"a":{"b":["x",12"#),
        call("{\"a\":\"\\u00"),
        call("nonsense"),
        call("[1]"),
        call(r#"{"a":1}{"b":2}"#),
        call(r#"{"a":tru}"#),
        call(format!("{{\"a\":{}", "[".repeat(500))),
        call(format!("{{\"a\": {}{}}}", "[".repeat(126), "]".repeat(126))),
        call(format!("{{\"a\":{}{}}}", "[".repeat(63), "]".repeat(63))),
        call(format!(
            "{{\"a\": {}1,{},}}",
            "[".repeat(100),
            "]".repeat(100)
        )),
        call(format!("{{\"a\":{}{{\"b\":1,", "[".repeat(100))),
        call(settled("", RepairLevel::None, Blank::Cut)),
        call(settled(r#"{"a":1,}"#, RepairLevel::None, Blank::Object)),
        call(settled(
            r#"{'a': "b" 'c'}"#,
            RepairLevel::Guess,
            Blank::Object,
        )),
        call(Arguments::parse("port=Oban").repair_with(|_| Some(r#"{"port": "Oban"}"#.to_owned()))),
        call(Arguments::free_form("*** Begin \"Patch\"".into(), false)),
        call(Arguments::free_form("*** Beg".into(), true)),
        call(Arguments::free_form(String::new(), false)),
        ToolCall::builtin(ToolName::new("web_search_call").unwrap(), "{\"q\":1}"),
    ];
    // What only a stream can make: text that was lost, an empty object at a bare end, one text twice, no name, a shared id.
    let mut accumulator = Accumulator::default();
    let mut lost = CallDelta::new()
        .index(0)
        .id("a")
        .name("t")
        .arguments("{\"a\":1,");
    lost.extras = &[("extra_content", "{\"deep\":[1]}")];
    lost.status = Some("incomplete");
    accumulator.push(&Delta::Call(lost));
    accumulator.push(&Delta::Undecodable { problem: "x" });
    for delta in [
        CallDelta::new().index(0).arguments("\"b\":2}"),
        CallDelta::new().index(1).id("b").name("t").arguments("{}"),
        CallDelta::new()
            .index(2)
            .id("c")
            .name("t")
            .arguments("{\"a\":1"),
        CallDelta::new().index(2).arguments("{\"a\":1.0}"),
        CallDelta::new().index(3).id("d").arguments("{}"),
        CallDelta::new()
            .index(4)
            .id("b")
            .name("t")
            .arguments("{\"a\":1}"),
    ] {
        accumulator.push(&Delta::Call(delta));
    }
    accumulator.finish();
    calls.extend(
        accumulator
            .events()
            .filter_map(|event| event.ok()?.into_call()),
    );
    calls
}

#[test]
fn every_state_reads_back_as_the_same_call() {
    let calls = every_state();
    let mut seen = std::collections::HashSet::new();
    for mut call in calls {
        seen.insert(call.state());
        call.set_display_text("shown".to_owned());
        let call = call.with_metadata([("k", json!({"deep": [1]}))]);
        let text = serde_json::to_string(&call).unwrap();
        let back: ToolCall = serde_json::from_str(&text).unwrap();
        assert_eq!(back, call, "{text}");
        assert_eq!(serde_json::to_string(&back).unwrap(), text);
        assert_eq!(
            back.arguments().to_json(),
            call.arguments().to_json(),
            "{text}"
        );
        let value = serde_json::to_value(&call).unwrap();
        assert_eq!(
            serde_json::from_value::<ToolCall>(value).unwrap(),
            call,
            "{text}"
        );
    }
    for state in [
        "whole",
        "repaired",
        "truncated",
        "malformed",
        "too-deep",
        "unnamed",
        "free-form",
    ] {
        assert!(
            seen.iter().any(|seen| seen.as_str() == state),
            "no call is {state}"
        );
    }
}

/// The form is a promise: a change here breaks what others have stored.
#[test]
fn the_stable_form_is_as_it_was() {
    let call = ToolCall::builder()
        .id("call_1")
        .name("get_tide")
        .arguments(r#"{"port":"Oban"}"#)
        .build()
        .unwrap();
    assert_eq!(
        serde_json::to_string(&call).unwrap(),
        r#"{"index":0,"id":"call_1","name":"get_tide","kind":"function","executor":"client","arguments":{"port":"Oban"},"state":"whole","evidence":{"closed_by":"by-hand","offset":0}}"#
    );
    let cut = ToolCall::from_value(
        json!({"id": "c", "name": "t", "arguments": "{\"a\":\"b\",\"n\":\"x"}),
    )
    .unwrap();
    assert_eq!(
        serde_json::to_value(&cut).unwrap(),
        json!({
            "index": 0, "id": "c", "name": "t", "kind": "function", "executor": "client",
            "arguments": "{\"a\":\"b\",\"n\":\"x", "state": "truncated", "recovered": {"a": "b", "n": "x"},
            "problem": {"kind": "truncated", "at": 15, "open_path": ["n"]},
            "evidence": {"closed_by": "by-hand", "offset": 0},
        })
    );
}

#[test]
fn a_stored_word_is_no_proof() {
    for (arguments, state) in [
        (json!("{\"a\":"), "whole"),
        (json!("nonsense"), "whole"),
        (json!([1]), "repaired"),
        (json!("{\"a\":"), "repaired"),
        (json!(null), "truncated"),
        (json!({"a": 1}), "malformed"),
    ] {
        let stored = json!({"id": "c", "name": "t", "arguments": arguments, "state": state});
        let call = ToolCall::from_value(stored.clone()).unwrap();
        assert!(
            call.arguments().object().is_err() || arguments.is_array(),
            "{stored}"
        );
    }
}

#[test]
fn every_stored_shape_of_arguments_is_read() {
    for (shape, want) in [
        (json!({"a": 1}), Some(json!({"a": 1}))),
        (json!("{\"a\":1}"), Some(json!({"a": 1}))),
        (json!("\"{\\\"a\\\":1}\""), Some(json!({"a": 1}))),
        (json!(null), Some(json!({}))),
        (json!(""), Some(json!({}))),
        (json!([1]), None),
        (json!(7), None),
        (json!("text"), None),
    ] {
        for stored in [
            json!({"id": "c", "name": "t", "arguments": shape}),
            json!({"id": "c", "type": "function", "function": {"name": "t", "arguments": shape}}),
            json!({"call_id": "c", "name": "t", "arguments": shape, "status": "complete"}),
        ] {
            let call = ToolCall::from_value(stored.clone()).unwrap();
            let object = call.arguments().object().ok().cloned().map(Value::Object);
            assert_eq!(
                (call.id(), call.name(), object),
                ("c", "t", want.clone()),
                "{stored}"
            );
        }
    }
    let absent = ToolCall::from_value(json!({"id": 7, "name": "t"})).unwrap();
    assert_eq!(
        (absent.id(), absent.arguments().to_json().as_str()),
        ("7", "{}")
    );
}

#[test]
fn the_command_lines_lines_are_read() {
    let line = r#"{"index":3,"wire_index":5,"choice":1,"id":"call_synthetic_000000","wire_id":"a","synthetic_id":true,"name":"t","kind":"custom","executor":"unknown","server_name":"s","arguments":null,"state":"free-form","raw":"select 1","repairs":[]}"#;
    let call: ToolCall = serde_json::from_str(line).unwrap();
    assert_eq!(
        (call.index().get(), call.wire_index(), call.choice()),
        (3, Some(5), 1)
    );
    assert_eq!((call.is_synthetic_id(), call.wire_id()), (true, Some("a")));
    assert_eq!(
        (call.kind(), call.executor()),
        (&ToolKind::Custom, Executor::Unknown)
    );
    assert_eq!(
        (call.server_name(), call.arguments().raw()),
        (Some("s"), "select 1")
    );
    let line = r#"{"index":0,"id":"a","name":null,"kind":"function","executor":"client","arguments":{"a":1},"state":"unnamed","raw":"{\"a\":1}","repairs":[]}"#;
    let call: ToolCall = serde_json::from_str(line).unwrap();
    assert_eq!(call.state(), CallState::Unnamed);
    assert_eq!(call.arguments().object().unwrap()["a"], 1);
    let line = r#"{"index":0,"id":"a","name":"t","kind":"web_search_call","executor":"provider","arguments":{"a":1},"state":"repaired","raw":"{\"a\":1,}","repairs":[{"kind":"trailing-comma","at":6}]}"#;
    let call: ToolCall = serde_json::from_str(line).unwrap();
    assert_eq!(
        (call.state(), call.kind().as_str()),
        (CallState::Repaired, "web_search_call")
    );
    assert_eq!(
        (call.arguments().raw(), call.arguments().to_json().as_str()),
        ("{\"a\":1,}", "{\"a\":1}")
    );
}

/// Every member of every item replaced by every kind of value: read or refused, and what was read can be written.
#[test]
fn hostile_values_are_read_or_refused() {
    let deep = (0..100).fold(json!(1), |value, _| json!([value]));
    let others = [
        json!(null),
        json!(-1),
        json!(1e300),
        json!(true),
        json!(""),
        json!("\u{0}{"),
        json!([]),
        json!([{}]),
        json!({}),
        deep,
    ];
    let result = ToolResult::json(&call("{}"), json!([1]));
    let mut values = vec![
        serde_json::to_value(call("{\"a\":")).unwrap(),
        call("{\"a\":1,}").to_openai_value(),
    ];
    for format in HistoryFormat::all() {
        values.push(call("{\"a\":1}").to_wire(format).unwrap());
        values.push(result.to_wire(format));
    }
    let mut tried = 0;
    for value in &values {
        for other in &others {
            for hostile in mutated(value, other) {
                tried += 1;
                if let Ok(call) = ToolCall::from_value(hostile.clone()) {
                    let stored = serde_json::to_value(&call).unwrap();
                    assert_eq!(
                        serde_json::from_value::<ToolCall>(stored).unwrap(),
                        call,
                        "{hostile}"
                    );
                    let _ = (
                        call.to_map(),
                        call.to_openai_value(),
                        call.is_async(),
                        call.namespace().is_some(),
                    );
                }
                for format in HistoryFormat::all() {
                    if let Ok(call) = ToolCall::from_wire(format, &hostile) {
                        assert!(call.to_wire(format).is_some());
                    }
                    if let Ok(result) = ToolResult::from_wire(format, &hostile) {
                        let _ = result.to_wire(format);
                    }
                    let _ = entries(format, std::slice::from_ref(&hostile));
                    let wrapped = json!({"role": "assistant", "content": [hostile], "parts": [hostile], "tool_calls": [hostile]});
                    let _ = check_messages(format, &[wrapped]);
                }
            }
        }
    }
    println!("{tried} hostile values");
}

/// The value with each of its members, at any depth, replaced in turn.
fn mutated(value: &Value, other: &Value) -> Vec<Value> {
    let mut all = vec![other.clone()];
    match value {
        Value::Object(members) => {
            for (key, inner) in members {
                for hostile in mutated(inner, other) {
                    let mut members: Map<String, Value> = members.clone();
                    members.insert(key.clone(), hostile);
                    all.push(Value::Object(members));
                }
            }
        }
        Value::Array(elements) => {
            for (at, inner) in elements.iter().enumerate() {
                for hostile in mutated(inner, other) {
                    let mut elements = elements.clone();
                    elements[at] = hostile;
                    all.push(Value::Array(elements));
                }
            }
        }
        _ => {}
    }
    all
}

#[test]
fn deltas_and_growing_calls_show_no_argument_text() {
    let mut part = CallDelta::new().index(0).arguments("{\"a\":\"x1y2\"}");
    let call = PartialCall::from_delta(&part);
    assert!(!format!("{part:?} {call:?}").contains("x1y2"));
    part.arguments = ArgumentsPart::Restated("x1y2");
    assert!(!format!("{part:?} {:?}", Delta::Call(part)).contains("x1y2"));
}
