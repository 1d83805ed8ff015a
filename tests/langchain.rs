//! The tool call of LangChain for Elixir (`LangChain.Message.ToolCall` v0.15.3), row by row (SEEDS L1 to L37).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use callstitch::{
    AnomalyKind, Arguments, ArgumentsPart, CallDelta, CallStatus, ExecutionStatus, Executor, Field,
    FieldProblem, MergeError, PartialCall, Tool, ToolCall, ToolKind, ToolName, ToolSet,
};
use serde_json::{Map, Value, json};

fn named(name: &str) -> ToolName {
    ToolName::new(name).unwrap()
}

fn piece(text: &str) -> CallDelta<'_> {
    CallDelta::new().index(0).arguments(text)
}

fn whole(text: &str) -> CallDelta<'_> {
    let mut part = CallDelta::new().index(0);
    part.arguments = ArgumentsPart::Whole(text);
    part
}

fn begun() -> PartialCall {
    PartialCall::from_delta(&CallDelta::new().index(0).id("call_1").name("get_code"))
}

fn stored(value: Value) -> ToolCall {
    ToolCall::from_value(value).unwrap()
}

#[test]
fn langchain_l1_a_call_is_a_value_that_is_cloned_compared_and_stored() {
    let call = ToolCall::new(named("give_greeting"), json!({"name": "Howard"})).with_id("call_123");
    assert_eq!(call, call.clone());
    let back: ToolCall = serde_json::from_str(&serde_json::to_string(&call).unwrap()).unwrap();
    assert_eq!(back, call);
    assert!(!format!("{call:?}").contains("Howard"));
    let bare = ToolCall::new(named("now"), "");
    assert!(bare.arguments().object().unwrap().is_empty());
}

#[test]
fn langchain_l2_arguments_are_absent_text_or_a_map() {
    for (arguments, raw) in [
        (json!({"name": "now"}), "{}"),
        (json!({"name": "now", "arguments": null}), "{}"),
        (
            json!({"name": "now", "arguments": "{\"a\": 1}"}),
            "{\"a\": 1}",
        ),
        (json!({"name": "now", "arguments": {"a": 1}}), "{\"a\":1}"),
    ] {
        let call = stored(arguments);
        assert_eq!(call.arguments().raw(), raw);
        assert!(call.is_usable());
    }
}

#[test]
fn langchain_l3_the_call_id_is_the_id() {
    let call = stored(json!({"call_id": "call_123", "name": "now"}));
    assert_eq!((call.id(), call.is_synthetic_id()), ("call_123", false));
}

#[test]
fn langchain_l4_display_text_of_a_part_wins_and_none_keeps() {
    let mut call = begun();
    call.set_display_text("Looking up");
    call.merge_call(&PartialCall::from_delta(&piece("{}")))
        .unwrap();
    assert_eq!(call.display_text(), Some("Looking up"));
    let mut part = PartialCall::from_delta(&CallDelta::new().index(0));
    part.set_display_text("Looking up the code");
    call.merge_call(&part).unwrap();
    assert_eq!(
        call.complete().unwrap().display_text(),
        Some("Looking up the code")
    );
    let mut done = call.complete().unwrap();
    done.set_display_text(None);
    assert_eq!(done.display_text(), Some("Looking up the code"));
}

#[test]
fn langchain_l5_the_index_is_the_key_under_which_parts_gather() {
    let call = PartialCall::from_delta(&CallDelta::new().index(3).id("a").name("b"));
    assert_eq!((call.wire_index(), call.index().get()), (Some(3), 3));
    assert_eq!(stored(json!({"index": 2, "name": "now"})).index().get(), 2);
}

#[test]
fn langchain_l6_metadata_is_merged_key_by_key() {
    let mut call = begun();
    call.metadata_mut().insert("a".into(), json!({"deep": 1}));
    call.metadata_mut().insert("b".into(), json!(1));
    let mut part = PartialCall::from_delta(&CallDelta::new().index(0));
    part.metadata_mut().insert("a".into(), json!({"other": 2}));
    call.merge_call(&part).unwrap();
    let metadata = call.complete().unwrap().metadata().clone();
    assert_eq!(Value::Object(metadata), json!({"a": {"other": 2}, "b": 1}));
}

#[test]
fn langchain_l7_a_name_is_optional_while_open_and_there_when_complete() {
    let mut call = PartialCall::from_delta(&CallDelta::new().index(0).id("call_1"));
    assert_eq!(call.name(), None);
    call.merge(&CallDelta::new().index(0).name("get_code"))
        .unwrap();
    assert_eq!(call.complete().unwrap().tool_name().unwrap(), "get_code");
}

#[test]
fn langchain_l8_a_call_is_incomplete_until_it_is_complete_and_never_again() {
    assert_eq!(CallStatus::default(), CallStatus::Incomplete);
    let mut call = begun();
    call.merge(&piece("{\"a\":")).unwrap();
    assert!(!call.is_complete());
    assert_eq!(call.clone().abandon().status(), CallStatus::Incomplete);
    call.merge(&piece("1}")).unwrap();
    let done = call.complete().unwrap();
    assert_eq!(done.status(), CallStatus::Complete);
    // A finished call has no part that could be merged into it: it only ever is stored and read as what it is.
    let back: ToolCall = serde_json::from_value(serde_json::to_value(&done).unwrap()).unwrap();
    assert_eq!(back.status(), CallStatus::Complete);
    assert_eq!(
        serde_json::to_value(CallStatus::Complete).unwrap(),
        "complete"
    );
}

#[test]
fn langchain_l9_the_type_is_function_unless_told() {
    assert_eq!(
        *ToolCall::new(named("now"), "{}").kind(),
        ToolKind::Function
    );
    assert_eq!(
        *stored(json!({"name": "now", "type": "function"})).kind(),
        ToolKind::Function
    );
    let patch = stored(json!({"name": "patch", "type": "custom", "input": "*** Begin"}));
    assert_eq!(
        (patch.kind(), patch.arguments().raw()),
        (&ToolKind::Custom, "*** Begin")
    );
}

#[test]
fn langchain_l10_the_documented_example() {
    let call = ToolCall::builder()
        .id("call_123")
        .name("give_greeting")
        .arguments(json!({"name": "Howard"}))
        .build()
        .unwrap();
    assert_eq!(call.id(), "call_123");
    assert_eq!(call.name(), "give_greeting");
    assert_eq!(call.arguments().object().unwrap()["name"], "Howard");
}

#[test]
fn langchain_l11_every_bad_field_is_listed_at_once() {
    let error = ToolCall::builder()
        .id("")
        .name("")
        .arguments("nonsense")
        .build()
        .unwrap_err();
    assert_eq!(error.of(Field::Id), Some(FieldProblem::Empty));
    assert_eq!(error.of(Field::Name), Some(FieldProblem::Empty));
    assert!(error.of(Field::Arguments).is_some());
    assert_eq!(error.fields().len(), 3);
    assert_eq!(
        ToolCall::builder().build().unwrap_err().to_string(),
        "name is missing"
    );
}

#[test]
#[should_panic(expected = "Missing")]
fn langchain_l12_unwrap_is_the_raising_form() {
    ToolCall::builder().id("call_123").build().unwrap();
}

#[test]
fn langchain_l13_an_incomplete_call_needs_nothing_but_itself() {
    let call = PartialCall::from_delta(&CallDelta::new());
    assert_eq!((call.id(), call.name(), call.raw()), (None, None, ""));
    assert_eq!(*call.kind(), ToolKind::Function);
}

#[test]
fn langchain_l14_a_complete_call_needs_an_id_and_a_name_but_no_arguments() {
    let error = PartialCall::from_delta(&CallDelta::new())
        .complete()
        .unwrap_err();
    assert_eq!(error.of(Field::Id), Some(FieldProblem::Missing));
    assert_eq!(error.of(Field::Name), Some(FieldProblem::Missing));
    assert_eq!(error.of(Field::Arguments), None);
    assert!(
        begun()
            .complete()
            .unwrap()
            .arguments()
            .object()
            .unwrap()
            .is_empty()
    );

    struct One;
    impl callstitch::IdSource for One {
        fn next_id(&self) -> String {
            "call_made".to_owned()
        }
    }
    let mut nameless = PartialCall::from_delta(&CallDelta::new().name("now"));
    assert_eq!(nameless.ensure_id(&One), "call_made");
    let call = nameless.complete().unwrap();
    assert_eq!(
        (call.id(), call.is_synthetic_id(), call.wire_id()),
        ("call_made", true, None)
    );
}

#[test]
fn langchain_l15_invalid_json_and_no_object_are_two_errors() {
    let problem = |text: &str| {
        let mut call = begun();
        call.merge(&piece(text)).unwrap();
        call.complete().unwrap_err().of(Field::Arguments).unwrap()
    };
    assert_eq!(problem("{\"a\": ?}"), FieldProblem::Syntax { at: 6 });
    assert_eq!(problem("[1, 2]"), FieldProblem::NotAnObject);
    assert_eq!(problem("{\"a\": 1"), FieldProblem::Truncated);
}

#[test]
fn langchain_l16_pieces_of_spaces_are_kept() {
    let mut call = begun();
    for text in ["{\"code\":\"def", " ", " ", "main", "\"}"] {
        call.merge(&piece(text)).unwrap();
    }
    let call = call.complete().unwrap();
    assert_eq!(call.arguments().object().unwrap()["code"], "def  main");
    let spaces = PartialCall::from_delta(&piece("   "));
    assert_eq!(spaces.raw(), "   ");
}

#[test]
fn langchain_l17_an_empty_piece_adds_nothing() {
    let mut call = begun();
    call.merge(&piece("")).unwrap();
    assert_eq!(call.raw(), "");
    assert_eq!(call.complete().unwrap().arguments().to_json(), "{}");
}

#[test]
fn langchain_l18_completing_twice_gives_the_same_and_an_error_leaves_the_call_usable() {
    let mut call = begun();
    call.merge(&piece("{\"a\":")).unwrap();
    assert!(call.complete().is_err());
    call.merge(&piece("1}")).unwrap();
    let first = call.complete().unwrap();
    assert_eq!(call.complete().unwrap(), first);
    assert_eq!(first.arguments().object().unwrap()["a"], 1);
}

#[test]
fn langchain_l19_to_l21_arguments_as_a_map_is_total() {
    let map = |arguments: Arguments| Value::Object(arguments.map().into_owned());
    assert_eq!(map(Arguments::from_value(json!({"a": 1}))), json!({"a": 1}));
    assert_eq!(map(Arguments::parse(r#"{"a":1}"#)), json!({"a": 1}));
    assert_eq!(map(Arguments::parse("")), json!({}));
    assert_eq!(map(Arguments::from_value(Value::Null)), json!({}));
    assert_eq!(map(Arguments::parse("no json")), json!({}));
    assert_eq!(map(Arguments::parse("[1]")), json!({}));
}

#[test]
fn langchain_l19_a_map_is_returned_unchanged() {
    let object: Map<String, Value> = json!({"a": 1}).as_object().unwrap().clone();
    assert_eq!(*Arguments::from(object.clone()).map(), object);
}

#[test]
fn langchain_l20_object_text_is_decoded() {
    assert_eq!(Arguments::parse(r#"{"a":1}"#).map()["a"], 1);
}

#[test]
fn langchain_l21_anything_else_is_an_empty_map() {
    for text in ["", "null", "7", "\"text\"", "[]", "{{"] {
        assert!(Arguments::parse(text).map().is_empty(), "{text}");
    }
}

#[test]
fn langchain_l22_a_replayed_incomplete_call_is_still_an_object_for_every_provider() {
    use callstitch::history::HistoryFormat;
    let call = stored(json!({
        "call_id": "call_123", "name": "give_greeting", "status": "incomplete", "arguments": "{\"name\": \"How",
    }));
    assert_eq!(call.status(), CallStatus::Incomplete);
    let item = call.to_wire(HistoryFormat::Anthropic).unwrap();
    assert_eq!(item["input"], json!({"name": "How"}));
    for format in HistoryFormat::all() {
        let item = call.to_wire(format).unwrap().to_string();
        assert!(item.contains("How"), "{format}: {item}");
    }
    // Stored before anything came, or with a whole text: only the whole text stands.
    let blank =
        stored(json!({"call_id": "c", "name": "n", "status": "incomplete", "arguments": null}));
    assert!(!blank.is_usable());
    let whole = stored(
        json!({"call_id": "c", "name": "n", "status": "incomplete", "arguments": "{\"a\":1}"}),
    );
    assert!(whole.is_usable());
}

#[test]
fn langchain_l23_merging_into_nothing_is_the_part() {
    let part = CallDelta::new()
        .index(0)
        .id("call_1")
        .name("get_code")
        .arguments("{}");
    let call = PartialCall::merge_into(None, &part).unwrap();
    assert_eq!(
        (call.id(), call.name(), call.raw()),
        (Some("call_1"), Some("get_code"), "{}")
    );
}

#[test]
fn langchain_l24_a_delta_is_folded_in() {
    let call = PartialCall::merge_into(Some(begun()), &piece("{\"a\":1}")).unwrap();
    assert_eq!(
        call.complete().unwrap().arguments().object().unwrap()["a"],
        1
    );
}

#[test]
fn langchain_l25_another_index_is_refused() {
    let mut call = begun();
    let error = call
        .merge(&CallDelta::new().index(1).arguments("{}"))
        .unwrap_err();
    assert_eq!(error, MergeError::IndexMismatch { held: 0, got: 1 });
    assert_eq!(call.raw(), "");
    let other = PartialCall::from_delta(&CallDelta::new().index(1));
    assert_eq!(call.merge_call(&other), Err(error));
}

#[test]
fn langchain_l26_two_equal_pieces_in_a_row_are_both_kept() {
    let mut call = begun();
    for text in ["{\"n\":\"", "1", "1", "\"}"] {
        call.merge(&piece(text)).unwrap();
    }
    assert_eq!(
        call.complete().unwrap().arguments().object().unwrap()["n"],
        "11"
    );
}

#[test]
fn langchain_l27_an_equal_name_is_a_repeat_and_another_is_a_piece() {
    let mut call = PartialCall::from_delta(&CallDelta::new().index(0).name("get_"));
    call.merge(&CallDelta::new().index(0).name("code")).unwrap();
    assert_eq!(call.name(), Some("get_code"));
    let anomaly = call
        .merge(&CallDelta::new().index(0).name("get_code"))
        .unwrap();
    assert_eq!(anomaly, Some(AnomalyKind::RepeatedName));
    assert_eq!(call.name(), Some("get_code"));
}

#[test]
fn langchain_l28_text_is_concatenated() {
    let mut call = begun();
    call.merge(&piece("{\"a\"")).unwrap();
    call.merge(&piece(":1}")).unwrap();
    assert_eq!(call.raw(), "{\"a\":1}");
}

#[test]
fn langchain_l29_a_whole_map_replaces_the_text() {
    let mut call = begun();
    call.merge(&piece("{\"a\":")).unwrap();
    let mut part = CallDelta::new().index(0);
    part.arguments = ArgumentsPart::Restated("{\"a\":2}");
    call.merge(&part).unwrap();
    assert_eq!(
        call.complete().unwrap().arguments().object().unwrap()["a"],
        2
    );
}

#[test]
fn langchain_l29_a_restated_text_is_told_where_it_says_something_else() {
    let restated = |text| {
        let mut part = CallDelta::new().index(0);
        part.arguments = ArgumentsPart::Restated(text);
        part
    };
    for (before, text, told) in [
        ("{\"a\":1}", "{\"a\":2}", true),
        ("{\"a\":1}", "{}", true),
        ("{\"a\":", "{\"a\":2}", false),
        ("{\"a\":2}", "{\"a\":2}", false),
        (" ", "{\"a\":2}", false),
        ("null", "{\"a\":2}", false),
    ] {
        let told = told.then_some(AnomalyKind::RestatedDiffers);
        let mut call = begun();
        call.merge(&piece(before)).unwrap();
        assert_eq!(call.merge(&restated(text)), Ok(told), "{before} {text}");
        let mut call = begun();
        call.merge(&piece(before)).unwrap();
        let part = PartialCall::from_delta(&restated(text));
        assert_eq!(call.merge_call(&part), Ok(told), "{before} {text}");
    }
}

#[test]
fn langchain_l30_text_after_a_map_is_ignored_and_counted() {
    let mut call = begun();
    call.merge(&whole("{\"a\":1}")).unwrap();
    let anomaly = call.merge(&piece("{\"b\":")).unwrap();
    assert_eq!(anomaly, Some(AnomalyKind::LateFragment));
    let arguments = call
        .complete()
        .unwrap()
        .arguments()
        .object()
        .unwrap()
        .clone();
    assert_eq!(Value::Object(arguments), json!({"a": 1}));
}

#[test]
fn langchain_l31_what_a_part_has_fills_and_what_it_lacks_keeps() {
    let mut call = PartialCall::from_delta(&CallDelta::new());
    call.merge(
        &CallDelta::new()
            .index(0)
            .id("call_1")
            .kind(&ToolKind::Custom),
    )
    .unwrap();
    call.merge(&CallDelta::new()).unwrap();
    assert_eq!(
        (call.wire_index(), call.id(), call.kind()),
        (Some(0), Some("call_1"), &ToolKind::Custom)
    );
}

#[test]
fn langchain_l31_a_part_that_does_not_say_who_runs_the_call_leaves_it_with_its_provider() {
    let said = |executor| {
        CallDelta::new()
            .index(0)
            .id("c")
            .name("t")
            .executor(executor)
    };
    let rest = piece("{\"q\":1}");
    for by_call in [false, true] {
        let mut call = PartialCall::from_delta(&said(Executor::Provider));
        let merge = |call: &mut PartialCall, part: &CallDelta<'_>| {
            if by_call {
                call.merge_call(&PartialCall::from_delta(part)).unwrap();
            } else {
                call.merge(part).unwrap();
            }
        };
        merge(&mut call, &rest);
        assert_eq!(call.executor(), Executor::Provider, "{by_call}");
        let tools = ToolSet::new().with(Tool::function(named("t"), |_: Value| "ran"));
        let call = call.complete().unwrap();
        assert!(!tools.execute_now(&call).unwrap().did_run());
        // Who is said to run it, runs it.
        let mut call = PartialCall::from_delta(&rest);
        merge(&mut call, &said(Executor::Unknown));
        assert_eq!(call.executor(), Executor::Unknown, "{by_call}");
        merge(&mut call, &said(Executor::Client));
        assert_eq!(call.executor(), Executor::Client, "{by_call}");
    }
}

#[test]
fn langchain_l32_status_only_goes_forward() {
    let call = begun().complete().unwrap();
    assert_eq!(call.status(), CallStatus::Complete);
    let again = stored(serde_json::to_value(&call).unwrap());
    assert_eq!(again, call);
}

#[test]
fn langchain_l33_execution_status_reads_the_metadata_or_a_default() {
    let call = ToolCall::new(named("now"), "{}");
    assert_eq!(call.execution_status(), ExecutionStatus::Identified);
    assert_eq!(call.execution_status_or("queued".into()).as_str(), "queued");
    let call = call.with_metadata([("execution_status", json!("executing"))]);
    assert_eq!(call.execution_status(), ExecutionStatus::Executing);
}

#[test]
fn langchain_l34_the_four_words_and_any_other() {
    for word in ["identified", "executing", "completed", "failed", "on hold"] {
        let status: ExecutionStatus = word.parse().unwrap();
        assert_eq!(status.to_string(), word);
        assert_eq!(serde_json::to_value(&status).unwrap(), word);
        assert_eq!(
            serde_json::from_value::<ExecutionStatus>(json!(word)).unwrap(),
            status
        );
    }
    assert_eq!(
        ExecutionStatus::from("on hold"),
        ExecutionStatus::Other("on hold".into())
    );
}

#[test]
fn langchain_l35_setting_the_status_writes_the_same_member() {
    let mut call = ToolCall::new(named("now"), "{}");
    call.set_execution_status(ExecutionStatus::Completed);
    assert_eq!(call.metadata()["execution_status"], "completed");
    assert_eq!(call.execution_status(), ExecutionStatus::Completed);
}

#[test]
fn langchain_l36_every_field_has_a_getter() {
    let call = ToolCall::builder()
        .id("call_123")
        .name("give_greeting")
        .index(1)
        .display_text("Greeting")
        .metadata("turn", 2)
        .arguments(json!({"name": "Howard"}))
        .build()
        .unwrap();
    assert_eq!(call.index().get(), 1);
    assert_eq!(call.display_text(), Some("Greeting"));
    assert_eq!(call.metadata()["turn"], 2);
    assert_eq!(call.kind().as_str(), "function");
    assert_eq!(call.status(), CallStatus::Complete);
    let mut delta = CallDelta::new()
        .index(1)
        .id("call_123")
        .name("give_greeting");
    delta.server_name = Some("greetings");
    let mut call = PartialCall::from_delta(&delta);
    call.set_display_text("Greeting");
    assert!(call.metadata().is_empty());
    call.metadata_mut().insert("turn".to_owned(), json!(2));
    let call = &call;
    assert_eq!((call.wire_index(), call.id()), (Some(1), Some("call_123")));
    assert_eq!(call.name(), Some("give_greeting"));
    assert_eq!(call.display_text(), Some("Greeting"));
    assert_eq!(call.server_name(), Some("greetings"));
    assert_eq!(call.metadata()["turn"], 2);
}

/// The project's own tests, as cases with values of our own: minimal attributes, spaces kept, parts merged, display text and
/// metadata kept, a map and then text.
#[test]
fn langchain_l37_the_projects_own_tests_as_cases() {
    let cases: &[(&[&str], Value)] = &[
        (&[], json!({})),
        (&["{}"], json!({})),
        (&["{\"port\"", ": \"Oban\"}"], json!({"port": "Oban"})),
        (&["{\"text\":\"a", "  ", "b\"}"], json!({"text": "a  b"})),
        (&["{\"n\":1", "1", "1}"], json!({"n": 111})),
        (&[" {\"a\": true} "], json!({"a": true})),
        (
            &["{\"deep\":{\"er\":", "[1,{\"x\":null}]}}"],
            json!({"deep": {"er": [1, {"x": null}]}}),
        ),
    ];
    for (pieces, want) in cases {
        let mut call = begun();
        call.set_display_text("shown");
        call.metadata_mut().insert("kept".into(), json!(true));
        for text in *pieces {
            call.merge(&piece(text)).unwrap();
        }
        let done = call.complete().unwrap();
        assert_eq!(
            Value::Object(done.arguments().object().unwrap().clone()),
            *want
        );
        assert_eq!(
            (done.display_text(), &done.metadata()["kept"]),
            (Some("shown"), &json!(true))
        );
    }
    let mut call = begun();
    call.merge(&whole("{\"a\":1}")).unwrap();
    call.merge(&piece(" trailing")).unwrap();
    assert_eq!(call.complete().unwrap().arguments().to_json(), "{\"a\":1}");
}
