//! rig's `ToolFunction`, row by row (SEEDS R1 to R21).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use callstitch::history::HistoryFormat;
use callstitch::{
    Arguments, ArgumentsState, Blank, FaultKind, ProblemKind, Settling, ToolCall, ToolName,
};
use serde_json::{Map, Value, json};

fn search(arguments: impl Into<Arguments>) -> ToolCall {
    ToolCall::new(ToolName::new("search").unwrap(), arguments)
}

/// The arguments, and the text as sent where it was no object.
fn read(arguments: impl Into<Arguments>) -> (Value, Option<String>) {
    let call = search(arguments);
    let object = Value::Object(call.arguments().map().into_owned());
    let invalid = (!call.is_usable()).then(|| call.arguments().raw().to_owned());
    (object, invalid)
}

#[test]
fn rig_r1_a_name_is_never_empty() {
    let name = ToolName::new("search").unwrap();
    assert_eq!(name, "search");
    assert_eq!(*"search", *name.as_str());
    assert_eq!(
        (name.to_string(), name.as_ref()),
        ("search".to_owned(), "search")
    );
    assert_eq!(
        ToolName::new("").unwrap_err().to_string(),
        "a tool's name is not empty"
    );
    assert!(serde_json::from_value::<ToolName>(json!("")).is_err());
    assert_eq!(
        serde_json::from_value::<ToolName>(json!("search")).unwrap(),
        name
    );
    assert_eq!(serde_json::to_value(&name).unwrap(), "search");
}

#[test]
fn rig_r2_arguments_are_an_object_always() {
    for text in ["{\"a\":1}", "", "[1]", "7", "{\"a\":", "nonsense", "null"] {
        let json: Value = serde_json::from_str(&search(text).arguments().to_json()).unwrap();
        assert!(json.is_object(), "{text}");
    }
}

#[test]
fn rig_r3_the_text_as_sent_is_kept_where_it_was_no_object() {
    let call = search("[1, 2]");
    assert_eq!(call.arguments().raw(), "[1, 2]");
    let stored = serde_json::to_value(&call).unwrap();
    assert_eq!(
        (&stored["arguments"], &stored["state"]),
        (&json!("[1, 2]"), &json!("malformed"))
    );
    // Nothing more is written for a whole one.
    let stored = serde_json::to_value(search(json!({"q": 1}))).unwrap();
    assert!(stored.get("raw").is_none() && stored.get("problem").is_none());
    // rig's own member for it is read.
    let from_rig =
        json!({"name": "search", "arguments": {"q": "ab"}, "invalid_arguments": "{\"q\": \"ab"});
    let call = ToolCall::from_value(from_rig).unwrap();
    assert_eq!(
        (call.arguments().raw(), call.is_usable()),
        ("{\"q\": \"ab", false)
    );
    assert_eq!(call.arguments().map()["q"], "ab");
}

#[test]
fn rig_r4_a_malformed_call_never_fails_a_reply_and_every_wire_gets_an_object() {
    for text in [
        "",
        "{",
        "{\"q\": \"ab",
        "}{",
        "\u{0}",
        "[[[[",
        "{\"q\":\"\\ud800\"}",
    ] {
        let call = search(text).with_id("call_1");
        for format in HistoryFormat::all() {
            let item = call.to_wire(format).unwrap();
            let again = ToolCall::from_wire(format, &item).unwrap();
            assert!(
                again.arguments().object().is_ok(),
                "{format} {text:?}: {item}"
            );
        }
    }
}

#[test]
fn rig_r5_the_documented_cut_text() {
    let call = search(r#"{"q": "ab"#);
    assert_eq!(call.arguments().map()["q"], "ab");
    assert_eq!(call.arguments().raw(), r#"{"q": "ab"#);
    assert!(!call.is_usable());
}

#[test]
fn rig_r6_the_documented_string() {
    let call = search(json!("{\"q\":1}"));
    assert_eq!(call.arguments().object().unwrap()["q"], 1);
    assert!(call.is_usable());
}

#[test]
fn rig_r7_an_object_is_kept() {
    assert_eq!(
        read(json!({"b": 1, "a": [2]})),
        (json!({"b": 1, "a": [2]}), None)
    );
}

#[test]
fn rig_r8_a_string_is_unwrapped_once_only() {
    assert_eq!(read(json!("{\"q\":1}")), (json!({"q": 1}), None));
    let twice = json!("\"{\\\"q\\\":1}\"");
    assert_eq!(
        read(twice.clone()),
        (json!({}), Some("\"{\\\"q\\\":1}\"".to_owned()))
    );
    let problem = search(twice).arguments().problem().unwrap().kind();
    assert_eq!(problem, ProblemKind::Fault(FaultKind::NotAnObject));
}

#[test]
fn rig_r9_null_is_an_empty_object() {
    assert_eq!(read(Value::Null), (json!({}), None));
}

#[test]
fn rig_r10_anything_else_is_kept_as_json_text() {
    for value in [json!(7), json!(true), json!([1, 2]), json!("hello")] {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        assert_eq!(read(value), (json!({}), Some(text)));
    }
}

#[test]
fn rig_r11_blank_text_is_an_empty_object() {
    for blank in ["", " ", "\n\t "] {
        assert_eq!(read(blank), (json!({}), None));
    }
}

#[test]
fn rig_r12_object_text_is_the_object() {
    assert_eq!(
        read("{\"q\": [1, {\"a\": null}]}"),
        (json!({"q": [1, {"a": null}]}), None)
    );
}

#[test]
fn rig_r13_other_text_keeps_what_a_cut_object_still_states() {
    assert_eq!(
        read("{\"a\":1,\"b\":"),
        (json!({"a": 1}), Some("{\"a\":1,\"b\":".to_owned()))
    );
    assert_eq!(read("hello"), (json!({}), Some("hello".to_owned())));
    assert_eq!(read("[1]"), (json!({}), Some("[1]".to_owned())));
}

#[test]
fn rig_r13_what_states_nothing_is_an_empty_object_however_it_was_given() {
    for text in ["hello", "7", "[1]", "true", "\"hi\"", "\"\\\"hi\\\"\""] {
        let arguments = Arguments::parse(text);
        assert_eq!(arguments.recovered(), Some(&Map::new()), "{text}");
        for value in [
            json!(text),
            serde_json::from_str(text).unwrap_or(json!(text)),
        ] {
            let arguments = Arguments::from_value(value);
            assert!(!arguments.is_usable(), "{text}");
            assert_eq!(arguments.recovered(), Some(&Map::new()), "{text}");
        }
    }
    // None is due, or none is known.
    let text = Arguments::free_form("hello".to_owned(), false);
    assert_eq!(text.recovered(), None);
    let cut = Settling {
        blank: Blank::Cut,
        ..Settling::default()
    };
    assert_eq!(Arguments::settle(String::new(), &cut).recovered(), None);
}

#[test]
fn rig_r14_text_of_a_string_is_unwrapped_once() {
    let call = search("\"{\\\"q\\\":1}\"");
    assert_eq!(call.arguments().object().unwrap()["q"], 1);
    assert_eq!(call.arguments().state(), ArgumentsState::Repaired);
}

#[test]
fn rig_r15_the_text_null_is_an_empty_object() {
    assert_eq!(read("null"), (json!({}), None));
}

#[test]
fn rig_r16_the_arguments_as_a_value() {
    let value = Value::from(search("{\"q\":1}").arguments().map().into_owned());
    assert_eq!(value, json!({"q": 1}));
}

#[test]
fn rig_r17_the_arguments_as_json_and_as_sent() {
    assert_eq!(search("{\"q\": 1.0}").arguments().to_json(), "{\"q\": 1.0}");
    assert_eq!(search("{\"q\": \"ab").arguments().raw(), "{\"q\": \"ab");
    assert_eq!(
        search("{\"q\": \"ab").arguments().to_json(),
        "{\"q\":\"ab\"}"
    );
}

#[test]
fn rig_r18_any_stored_shape_loads() {
    let loaded = |arguments: Value| {
        let call: ToolCall =
            serde_json::from_value(json!({"name": "search", "arguments": arguments})).unwrap();
        Value::Object(call.arguments().map().into_owned())
    };
    assert_eq!(loaded(json!({"q": 1})), json!({"q": 1}));
    assert_eq!(loaded(json!("{\"q\":1}")), json!({"q": 1}));
    assert_eq!(loaded(json!("\"{\\\"q\\\":1}\"")), json!({"q": 1}));
    for nothing in [json!(null), json!(""), json!(3), json!([1]), json!("text")] {
        assert_eq!(loaded(nothing), json!({}));
    }
    let absent: ToolCall = serde_json::from_value(json!({"name": "search"})).unwrap();
    assert!(absent.is_usable() && absent.arguments().map().is_empty());
    // Arguments alone go through the same door.
    let alone: Arguments = serde_json::from_value(json!("{\"q\":1}")).unwrap();
    assert_eq!(alone.object().unwrap()["q"], 1);
}

#[test]
fn rig_r19_what_is_written_is_an_object_with_its_keys_in_order() {
    let stored = serde_json::to_string(&search("{\"b\":1,\"a\":2}").with_id("c")).unwrap();
    assert!(
        stored.contains("\"arguments\":{\"b\":1,\"a\":2}"),
        "{stored}"
    );
}

#[test]
fn rig_r20_calls_are_cloned_compared_and_shown_without_their_arguments() {
    let call = search("{\"secret\":\"x1y2\"}");
    let mut other = search("{}");
    other.clone_from(&call);
    assert_eq!(other, call);
    assert_ne!(search("{}").with_id("a"), search("{}").with_id("b"));
    for shown in [format!("{call:?}"), format!("{call:#?}"), call.to_string()] {
        assert!(
            !shown.contains("x1y2") && shown.contains("search"),
            "{shown}"
        );
    }
    assert!(format!("{:?}", call.arguments().reveal()).contains("x1y2"));
}

#[test]
fn rig_r21_the_longest_cut_object_is_closed_and_dangling_parts_are_dropped() {
    for (cut, kept) in [
        ("{\"q\": \"ab", json!({"q": "ab"})),
        ("{\"a\":[1,[2,", json!({"a": [1, [2]]})),
        ("{\"a\":{\"b\":{\"c\":\"d", json!({"a": {"b": {"c": "d"}}})),
        ("{\"a\":1,\"b", json!({"a": 1})),
        ("{\"a\":1,\"b\"", json!({"a": 1})),
        ("{\"a\":1,\"b\":", json!({"a": 1})),
        ("{\"a\":1,", json!({"a": 1})),
        ("{", json!({})),
    ] {
        assert_eq!(read(cut), (kept, Some(cut.to_owned())));
    }
    // Nesting beyond the limit is refused, not recursed into.
    let deep = format!("{{\"a\":{}", "[".repeat(100_000));
    assert_eq!(search(deep).arguments().state(), ArgumentsState::TooDeep);
}
