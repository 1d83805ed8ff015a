//! ReqLLM's `ReqLLM.ToolCall`, row by row (SEEDS Q1 to Q39).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use callstitch::history::{HistoryFormat, IdMap, calls_messages};
use callstitch::tools::{find, find_args};
use callstitch::{
    Accumulator, AnomalyKind, Arguments, CallDelta, CallState, Config, Delta, Event, Executor,
    IdSource, ProblemKind, RefusalKind, RepairLevel, ResolutionState, Settling, Tool, ToolCall,
    ToolName, ToolSet,
};
use serde_json::{Map, Value, json};

fn name(name: &str) -> ToolName {
    ToolName::new(name).unwrap()
}

fn new(id: Option<&str>, tool: &str, arguments: &str) -> ToolCall {
    let call = ToolCall::new(name(tool), arguments);
    match id {
        Some(id) => call.with_id(id),
        None => call,
    }
}

fn from_value(value: Value) -> ToolCall {
    ToolCall::from_value(value).unwrap()
}

/// What a turn of deltas led to: its calls and the liberties that were taken.
fn turn(deltas: &[CallDelta<'_>]) -> (Vec<ToolCall>, Vec<AnomalyKind>) {
    struct Numbered(AtomicUsize);
    impl IdSource for Numbered {
        fn next_id(&self) -> String {
            format!("call_made{}", self.0.fetch_add(1, Ordering::Relaxed))
        }
    }
    let mut accumulator = Accumulator::new(Config::default().ids(Numbered(AtomicUsize::new(0))));
    for delta in deltas {
        accumulator.push(&Delta::Call(*delta));
    }
    accumulator.push(&Delta::End);
    let mut anomalies = Vec::new();
    let mut calls = Vec::new();
    for event in accumulator.events() {
        match event.unwrap() {
            Event::CallCompleted(call) => calls.push(call),
            Event::Anomaly(anomaly) => anomalies.push(anomaly.kind),
            _ => {}
        }
    }
    (calls, anomalies)
}

#[test]
fn reqllm_q1_the_chat_shape() {
    let call = new(
        Some("call_abc123"),
        "get_weather",
        "{\"location\":\"Paris\"}",
    );
    let shape = json!({
        "id": "call_abc123",
        "type": "function",
        "function": {"name": "get_weather", "arguments": "{\"location\":\"Paris\"}"}
    });
    assert_eq!(call.to_wire(HistoryFormat::OpenAiChat).unwrap(), shape);
    assert_eq!(call.to_openai_value(), shape);
    assert_eq!(from_value(shape).arguments(), call.arguments());
}

#[test]
fn reqllm_q2_the_type_is_function() {
    let call = new(None, "get_time", "{}");
    assert_eq!(call.to_openai_value()["type"], "function");
    assert_eq!(call.kind().as_str(), "function");
}

#[test]
fn reqllm_q3_fields_are_read_by_getters_or_from_a_flat_map() {
    let call = new(Some("call_1"), "get_time", "{\"zone\":\"UTC\"}");
    assert_eq!(
        (call.id(), call.name(), call.arguments().raw()),
        ("call_1", "get_time", "{\"zone\":\"UTC\"}")
    );
    assert_eq!(call.to_map()["arguments"]["zone"], "UTC");
}

#[test]
fn reqllm_q4_a_missing_id_is_made_unique_and_said_to_be_made() {
    let (a, b) = (new(None, "get_time", "{}"), new(None, "get_time", "{}"));
    assert!(a.id().starts_with("call_") && a.is_synthetic_id());
    assert_ne!(a.id(), b.id());
    struct Fixed;
    impl IdSource for Fixed {
        fn next_id(&self) -> String {
            "call_fixed".to_owned()
        }
    }
    let call = ToolCall::builder()
        .name("get_time")
        .build_with(&Fixed)
        .unwrap();
    assert_eq!((call.id(), call.is_synthetic_id()), ("call_fixed", true));
}

#[test]
fn reqllm_q5_the_documented_examples_of_new() {
    let call = new(Some("call_abc"), "get_weather", "{\"location\":\"Paris\"}");
    assert_eq!(
        (call.id(), call.name(), call.arguments().raw()),
        ("call_abc", "get_weather", "{\"location\":\"Paris\"}")
    );
    let call = new(None, "get_time", "{}");
    assert!(call.id().starts_with("call_"));
    assert_eq!((call.name(), call.arguments().raw()), ("get_time", "{}"));
    let call = new(Some("call_123"), "get_weather", "{\"location\":\"SF\"}");
    assert_eq!(call.to_string(), "get_weather(call_123)");
}

#[test]
fn reqllm_q6_the_argument_text() {
    assert_eq!(
        new(None, "t", "{\"a\": 1.0}").arguments().raw(),
        "{\"a\": 1.0}"
    );
}

#[test]
fn reqllm_q7_the_decoded_map_or_none_with_repair_unless_switched_off() {
    let text = "{\"a\":1,}";
    assert_eq!(
        new(None, "t", text).arguments().object().ok().unwrap()["a"],
        1
    );
    let strict = Settling {
        repair: RepairLevel::None,
        ..Settling::default()
    };
    let call = ToolCall::new(name("t"), Arguments::settle(text.to_owned(), &strict));
    assert!(call.arguments().object().is_err());
    assert!(new(None, "t", "nonsense").arguments().object().is_err());
}

#[test]
fn reqllm_q8_the_repairs_are_a_superset_aware_of_strings_and_reported() {
    for text in [
        "\u{feff}{\"a\":1}",
        "```json\n{\"a\":1}\n```",
        "Here you are. {\"a\":1} Enjoy.",
        "{\"a\":1,}",
    ] {
        let call = new(None, "t", text);
        assert_eq!(call.state(), CallState::Repaired, "{text}");
        assert_eq!(
            Value::from(call.arguments().object().unwrap().clone()),
            json!({"a": 1})
        );
        assert!(!call.arguments().repairs().is_empty());
    }
    // Typographic quotes inside a string are content.
    let call = new(None, "t", "{\"a\":\"\u{201c}hi\u{201d}\",}");
    assert_eq!(
        call.arguments().object().unwrap()["a"],
        "\u{201c}hi\u{201d}"
    );
    // What was cut is not repaired into something that looks finished.
    assert_eq!(new(None, "t", "{\"a\":[1,2").state(), CallState::Truncated);
}

#[test]
fn reqllm_q9_the_first_call_of_a_name_gives_its_arguments() {
    let calls = [
        new(None, "a", "{\"n\":1}"),
        new(None, "b", "{\"n\":2}"),
        new(None, "b", "{\"n\":3}"),
        new(None, "bad", "nonsense"),
    ];
    assert_eq!(find_args(&calls, "b").unwrap()["n"], 2);
    assert!(find_args(&calls, "c").is_none());
    assert!(find_args(&calls, "bad").is_none());
    assert!(find(&calls, "bad").is_some());
}

#[test]
fn reqllm_q10_names_match_by_equality() {
    let call = new(None, "get_time", "{}");
    assert!(call.matches_name("get_time"));
    assert!(!call.matches_name("Get_time") && !call.matches_name(""));
}

#[test]
fn reqllm_q11_the_name() {
    assert_eq!(new(None, "get_time", "{}").name(), "get_time");
}

#[test]
fn reqllm_q12_maps_are_read_flat_or_nested_with_text_or_without() {
    for value in [
        json!({"id": "c", "name": "t", "arguments": {"a": 1}}),
        json!({"id": "c", "name": "t", "arguments": "{\"a\":1}"}),
        json!({"id": "c", "type": "function", "function": {"name": "t", "arguments": "{\"a\":1}"}}),
        json!({"id": "c", "function": {"name": "t", "arguments": {"a": 1}}}),
    ] {
        let call = from_value(value);
        assert_eq!(
            Value::Object(call.to_map()),
            json!({"id": "c", "name": "t", "arguments": {"a": 1}})
        );
    }
    let call = from_value(json!({"name": "t", "arguments": "nonsense"}));
    assert!(call.id().starts_with("call_") && call.is_synthetic_id());
    assert_eq!(call.to_map()["arguments"], json!({}));
    assert!(ToolCall::from_value(json!("text")).is_err());
}

#[test]
fn reqllm_q13_the_documented_examples_of_from_map() {
    let call = from_value(
        json!({"id": "call_123", "name": "get_weather", "arguments": "{\"location\":\"Paris\"}"}),
    );
    assert_eq!(
        Value::Object(call.to_map()),
        json!({"id": "call_123", "name": "get_weather", "arguments": {"location": "Paris"}})
    );
    let call = new(Some("call_456"), "get_time", "{}");
    assert_eq!(
        Value::Object(call.to_map()),
        json!({"id": "call_456", "name": "get_time", "arguments": {}})
    );
}

#[test]
fn reqllm_q14_the_flat_map_keeps_the_notes_and_has_an_object_always() {
    let call = new(Some("c"), "t", "nonsense").with_metadata([("async", json!(true))]);
    assert_eq!(
        Value::Object(call.to_map()),
        json!({"id": "c", "name": "t", "arguments": {}, "metadata": {"async": true}})
    );
}

#[test]
fn reqllm_q15_the_documented_examples_of_to_map() {
    let call = new(Some("call_123"), "get_weather", "{\"location\":\"Paris\"}");
    assert_eq!(
        Value::Object(call.to_map()),
        json!({"id": "call_123", "name": "get_weather", "arguments": {"location": "Paris"}})
    );
    let call = new(Some("call_456"), "get_time", "{}");
    assert_eq!(
        Value::Object(call.to_map()),
        json!({"id": "call_456", "name": "get_time", "arguments": {}})
    );
}

#[test]
fn reqllm_q16_notes_of_a_call_or_of_a_map_like_one() {
    let call = new(None, "t", "{}").with_metadata([("k", json!(1))]);
    assert_eq!(call.metadata()["k"], 1);
    assert_eq!(
        ToolCall::metadata_of(&json!({"metadata": {"k": 1}}))["k"],
        1
    );
    for other in [json!({}), json!(null), json!({"metadata": 7}), json!("x")] {
        assert!(ToolCall::metadata_of(&other).is_empty());
    }
}

#[test]
fn reqllm_q17_notes_never_reach_a_wire() {
    let call = new(Some("call_1"), "t", "{\"a\":1}").with_metadata([("private", json!("note"))]);
    for format in HistoryFormat::all() {
        let item = call.to_wire(format).unwrap().to_string();
        assert!(
            !item.contains("private") && !item.contains("note"),
            "{format}: {item}"
        );
    }
}

#[test]
fn reqllm_q18_an_async_call_is_still_run_here_and_keeps_id_and_notes() {
    let call = new(Some("call_1"), "t", "{}").with_metadata([("async", json!(true))]);
    assert!(call.is_async() && !new(None, "t", "{}").is_async());
    let tools = ToolSet::new().with(Tool::declared(name("t")));
    assert_eq!(tools.resolve(&call).state(), ResolutionState::Valid);
    let back: ToolCall = serde_json::from_str(&serde_json::to_string(&call).unwrap()).unwrap();
    assert_eq!((back.id(), back.is_async()), ("call_1", true));
}

#[test]
fn reqllm_q19_a_builtin_is_visible_and_not_replayable() {
    let call = ToolCall::builtin(name("web_search_call"), "{\"query\":\"tides\"}").with_id("ws_1");
    assert_eq!(
        (call.executor(), call.is_builtin()),
        (Executor::Provider, true)
    );
    assert_eq!(
        (
            call.id(),
            call.arguments().object().unwrap()["query"].as_str()
        ),
        ("ws_1", Some("tides"))
    );
    assert!(call.to_wire(HistoryFormat::OpenAiResponses).is_none());
}

#[test]
fn reqllm_q20_encoders_and_id_maps_skip_builtins() {
    let call = ToolCall::builtin(name("web_search_call"), "{}").with_id("ws_1");
    let ours = new(Some("functions.t:0"), "t", "{}");
    for format in HistoryFormat::all() {
        assert!(call.to_wire(format).is_none(), "{format}");
        assert!(call.to_wire_json(format).is_none(), "{format}");
        assert!(calls_messages(format, [&call]).is_empty());
        let messages = calls_messages(format, [&call, &ours]);
        assert!(!Value::from(messages).to_string().contains("ws_1"));
    }
    let mut ids = IdMap::new(HistoryFormat::Mistral);
    assert!(
        call.to_wire_with(HistoryFormat::Mistral, &mut ids)
            .is_none()
    );
    let sent = ours.to_wire_with(HistoryFormat::Mistral, &mut ids).unwrap();
    assert_eq!(ids.original(sent["id"].as_str().unwrap()), "functions.t:0");
    assert_eq!(ids.original("ws_1"), "ws_1");
}

#[test]
fn reqllm_q21_a_builtins_arguments_are_its_payload() {
    let payload = "{\"action\":{\"type\":\"search\",\"query\":\"tides\"},\"urls\":[\"a\",\"b\"]}";
    let call = ToolCall::builtin(name("web_search_call"), payload);
    assert_eq!(call.arguments().raw(), payload);
}

#[test]
fn reqllm_q22_a_builtin_is_known_by_its_flag_also_on_a_nested_function() {
    assert!(ToolCall::is_builtin_value(&json!({"builtin?": true})));
    assert!(ToolCall::is_builtin_value(
        &json!({"function": {"builtin?": true}})
    ));
    assert!(!ToolCall::is_builtin_value(
        &json!({"function": {"name": "t"}})
    ));
    assert!(
        from_value(json!({"id": "c", "function": {"name": "t", "builtin?": true}})).is_builtin()
    );
}

#[test]
fn reqllm_q23_the_flag_alone_is_looked_for_on_the_map_itself() {
    assert!(ToolCall::has_builtin_flag(&json!({"builtin?": true})));
    for without in [
        json!({"builtin?": false}),
        json!({"builtin?": null}),
        json!({"function": {"builtin?": true}}),
        json!(3),
    ] {
        assert!(!ToolCall::has_builtin_flag(&without));
    }
}

/// The deprecated alias `builtin_flag?` is left out: a new library has the one name.
#[test]
fn reqllm_q24_the_renamed_function_is_the_only_one() {
    let flag: fn(&Value) -> bool = ToolCall::has_builtin_flag;
    assert!(flag(&json!({"builtin?": true})));
}

#[test]
fn reqllm_q25_the_flag_is_set_when_true_and_left_alone_otherwise() {
    let mut map = Map::new();
    ToolCall::set_builtin_flag(&mut map, false);
    assert!(map.is_empty());
    ToolCall::set_builtin_flag(&mut map, true);
    assert!(ToolCall::has_builtin_flag(&Value::Object(map.clone())));
    ToolCall::set_builtin_flag(&mut map, false);
    assert!(ToolCall::has_builtin_flag(&Value::Object(map)));
}

#[test]
fn reqllm_q26_the_native_marker_is_text_a_map_or_true() {
    let marked = |marker: Value| new(None, "t", "{}").with_metadata([("provider_native", marker)]);
    for marker in [json!("anthropic"), json!({"name": "x"}), json!(true)] {
        assert!(marked(marker).is_provider_native());
    }
    for marker in [json!(false), json!(null)] {
        assert!(!marked(marker).is_provider_native());
    }
    assert!(!marked(json!(true)).is_builtin());
    assert!(!ToolCall::builtin(name("t"), "{}").is_provider_native());
}

fn tools() -> ToolSet {
    ToolSet::new().with(Tool::function(
        name("get_time"),
        |_: Map<String, Value>| "10:04",
    ))
}

#[test]
fn reqllm_q27_five_states() {
    let native = new(None, "get_time", "{}").with_metadata([("provider_native", json!("x"))]);
    for (call, state, word) in [
        (new(None, "get_time", "{}"), ResolutionState::Valid, "valid"),
        (
            new(None, "get_time", "[1]"),
            ResolutionState::Invalid,
            "invalid",
        ),
        (
            new(None, "get_tide", "{}"),
            ResolutionState::Unknown,
            "unknown",
        ),
        (
            ToolCall::builtin(name("get_time"), "{}"),
            ResolutionState::ProviderExecuted,
            "provider_executed",
        ),
        (native, ResolutionState::ProviderNative, "provider_native"),
    ] {
        assert_eq!(tools().resolve(&call).state(), state);
        assert_eq!(state.as_str(), word);
    }
}

#[test]
fn reqllm_q28_a_resolution_has_all_its_parts() {
    let tools = tools();
    let call =
        new(Some("call_1"), "get_time", "{ \"zone\": \"UTC\" }").with_metadata([("k", json!(1))]);
    let resolution = tools.resolve(&call);
    assert_eq!((resolution.id(), resolution.name()), ("call_1", "get_time"));
    assert_eq!(resolution.call(), &call);
    assert_eq!(resolution.tool().unwrap().name(), call.tool_name().unwrap());
    assert_eq!(resolution.raw_arguments(), "{ \"zone\": \"UTC\" }");
    assert_eq!(resolution.arguments().unwrap()["zone"], "UTC");
    assert_eq!(resolution.validated_arguments(), resolution.arguments());
    assert_eq!(resolution.metadata()["k"], 1);
    assert!(resolution.refusal().is_none() && resolution.feedback().is_none());
}

#[test]
fn reqllm_q29_resolving_runs_nothing_and_keeps_call_text_and_notes() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let tools = ToolSet::new().with(Tool::function(name("t"), move |_: Map<String, Value>| {
        counted.fetch_add(1, Ordering::Relaxed);
    }));
    for text in ["{}", "nonsense", "{\"a\":"] {
        let call = new(None, "t", text).with_metadata([("k", json!(1))]);
        let resolution = tools.resolve(&call);
        assert_eq!(
            (resolution.raw_arguments(), &resolution.metadata()["k"]),
            (text, &json!(1))
        );
    }
    assert_eq!(runs.load(Ordering::Relaxed), 0);
}

#[test]
fn reqllm_q30_the_provider_first_then_the_name_then_the_arguments() {
    let tools = tools();
    let native = |call: ToolCall| call.with_metadata([("provider_native", json!(true))]);
    let builtin = native(ToolCall::builtin(name("nobody"), "nonsense"));
    assert_eq!(
        tools.resolve(&builtin).state(),
        ResolutionState::ProviderExecuted
    );
    let native = native(new(None, "nobody", "nonsense"));
    assert_eq!(
        tools.resolve(&native).state(),
        ResolutionState::ProviderNative
    );
    let unknown = new(None, "nobody", "nonsense");
    assert_eq!(tools.resolve(&unknown).state(), ResolutionState::Unknown);
    let invalid = new(None, "get_time", "nonsense");
    assert_eq!(tools.resolve(&invalid).state(), ResolutionState::Invalid);
}

#[test]
fn reqllm_q31_repair_can_be_switched_off() {
    let call = new(None, "get_time", "{\"zone\":\"UTC\",}");
    assert_eq!(tools().resolve(&call).state(), ResolutionState::Valid);
    let strict = tools().repair(RepairLevel::None);
    let resolution = strict.resolve(&call);
    assert_eq!(resolution.state(), ResolutionState::Invalid);
    assert_eq!(
        resolution.refusal().unwrap().kind(),
        RefusalKind::Unreadable
    );
    let call = new(None, "get_time", "{}");
    assert!(strict.resolve(&call).is_valid());
}

#[test]
fn reqllm_q32_three_rules_of_namespaces() {
    let call = |namespace: Option<&str>| {
        let builder = ToolCall::builder().name("lookup");
        match namespace {
            Some(namespace) => builder.extra("namespace", namespace).build().unwrap(),
            None => builder.build().unwrap(),
        }
    };
    let crm = ToolSet::new().with(Tool::declared(name("lookup")).namespace("crm"));
    assert!(crm.resolve(&call(Some("crm"))).is_valid());
    assert_eq!(
        crm.resolve(&call(Some("erp"))).state(),
        ResolutionState::Unknown
    );
    assert!(crm.resolve(&call(None)).is_valid());
    let deferred = ToolSet::new().with(Tool::declared(name("lookup")).deferred());
    assert!(deferred.resolve(&call(Some("lookup"))).is_valid());
    assert!(!deferred.resolve(&call(Some("crm"))).is_valid());
    assert!(deferred.resolve(&call(None)).is_valid());
    let plain = ToolSet::new().with(Tool::declared(name("lookup")));
    assert!(!plain.resolve(&call(Some("crm"))).is_valid());
    let both = crm.with(Tool::declared(name("lookup")).namespace("erp"));
    let erp_call = call(Some("erp"));
    let found = both
        .resolve(&erp_call)
        .tool()
        .unwrap()
        .effective_namespace()
        .map(str::to_owned);
    assert_eq!(found.as_deref(), Some("erp"));
    // Empty text names none: not on the wire, where the caller's notes may, and not of a tool.
    let noted = ToolCall::builder().name("lookup").extra("namespace", "");
    let noted = noted.metadata("namespace", "erp").build().unwrap();
    assert_eq!(noted.namespace(), Some("erp"));
    let found = both.resolve(&noted).tool().unwrap().effective_namespace();
    assert_eq!(found, Some("erp"));
    assert_eq!(call(Some("")).namespace(), None);
    let unnamed = Tool::declared(name("lookup")).namespace("");
    assert_eq!(unnamed.effective_namespace(), None);
    let hidden = unnamed.clone().deferred();
    assert_eq!(hidden.effective_namespace(), Some("lookup"));
    let elsewhere = ToolSet::new().with(unnamed);
    let feedback = elsewhere.resolve(&erp_call).feedback().unwrap();
    assert!(
        feedback.ends_with("It is there without a namespace."),
        "{feedback}"
    );
}

#[test]
fn reqllm_q33_validated_arguments_are_those_after_the_check() {
    let tool = Tool::function(name("t"), |args: Map<String, Value>| Value::Object(args)).check(
        |arguments| {
            let mut arguments = arguments.clone();
            let days = arguments
                .get("days")
                .and_then(Value::as_str)
                .and_then(|days| days.parse::<u8>().ok());
            let days = days.ok_or_else(|| vec!["days: not a number".to_owned()])?;
            arguments.insert("days".to_owned(), days.into());
            Ok(arguments)
        },
    );
    let tools = ToolSet::new().with(tool);
    let call = new(None, "t", "{\"days\":\"2\"}");
    let resolution = tools.resolve(&call);
    assert_eq!(resolution.arguments().unwrap()["days"], "2");
    assert_eq!(resolution.validated_arguments().unwrap()["days"], 2);
    let ran = tools.execute_now(&call).unwrap();
    assert_eq!(ran.result().unwrap().answer.to_text(), "{\"days\":2}");
    let call = new(None, "t", "{\"days\":\"two\"}");
    let resolution = tools.resolve(&call);
    assert!(resolution.validated_arguments().is_none());
    assert_eq!(
        resolution.refusal().unwrap().problems(),
        ["days: not a number"]
    );
}

#[test]
fn reqllm_q34_only_a_valid_call_is_run_and_what_the_callback_returns_is_passed_on() {
    let tools = ToolSet::new().with(Tool::function(
        name("t"),
        |args: Map<String, Value>| match args.get("ok") {
            Some(_) => Ok("fine"),
            None => Err("no ok"),
        },
    ));
    let ok = tools.execute_now(&new(None, "t", "{\"ok\":1}")).unwrap();
    assert_eq!(
        (ok.did_run(), ok.result().unwrap().answer.to_text().as_str()),
        (true, "fine")
    );
    let failed = tools.execute_now(&new(None, "t", "{}")).unwrap();
    assert!(failed.did_run() && failed.result().unwrap().answer.is_error());
    let refused = tools.execute_now(&new(None, "t", "{\"ok\":")).unwrap();
    assert!(!refused.did_run() && refused.refusal().is_some());
    // A function of the caller's own, sync or async.
    let call = new(None, "t", "{}");
    assert_eq!(
        tools
            .resolve(&call)
            .run_with(|valid| valid.name().to_owned())
            .unwrap(),
        "t"
    );
    let future = tools.resolve(&call).run_with(|_| async { 7 }).unwrap();
    assert_eq!(futures::executor::block_on(future), 7);
    let call = new(None, "nobody", "{}");
    let refused = tools.resolve(&call).run_with(|_| unreachable!("not valid"));
    let resolution: Result<(), _> = refused;
    assert_eq!(resolution.unwrap_err().state(), ResolutionState::Unknown);
}

#[cfg(feature = "schema")]
#[test]
fn reqllm_q35_the_form_has_a_machine_readable_schema() {
    let schema: Value = serde_json::from_str(ToolCall::JSON_SCHEMA).unwrap();
    let schema = jsonschema_of(&schema);
    let whole = ToolSet::new().with(schema);
    for call in [
        new(Some("c"), "t", "{\"a\":1}"),
        new(None, "t", "{\"a\":1,}"),
        new(None, "t", "{\"a\":"),
        new(None, "t", "nonsense").with_metadata([("k", json!(1))]),
        ToolCall::builtin(name("web_search_call"), "{}"),
    ] {
        let stored = serde_json::to_value(&call).unwrap();
        let call = ToolCall::new(name("store"), stored);
        let resolution = whole.resolve(&call);
        assert!(resolution.is_valid(), "{:?}", resolution.feedback());
    }
    let wrong = ToolCall::new(name("store"), json!({"id": 7}));
    assert!(!whole.resolve(&wrong).is_valid());
}

#[cfg(feature = "schema")]
fn jsonschema_of(schema: &Value) -> Tool {
    Tool::declared(name("store")).schema(schema).unwrap()
}

#[cfg(not(feature = "schema"))]
#[test]
fn reqllm_q35_the_form_has_a_machine_readable_schema() {
    let schema: Value = serde_json::from_str(ToolCall::JSON_SCHEMA).unwrap();
    let stored = serde_json::to_value(new(Some("c"), "t", "{\"a\":1}")).unwrap();
    for (key, _) in stored.as_object().unwrap() {
        assert!(schema["properties"].get(key).is_some(), "{key}");
    }
    for key in schema["required"].as_array().unwrap() {
        assert!(stored.get(key.as_str().unwrap()).is_some(), "{key}");
    }
}

#[test]
fn reqllm_q36_a_custom_calls_text_is_kept_as_it_is() {
    let patch = |text: &str| {
        let text = Arguments::free_form(text.to_owned(), false);
        ToolCall::new(name("apply_patch"), text).with_id("c_1")
    };
    for text in ["free \"text\"", "", "{\"a\":1}", " \n"] {
        let call = patch(text);
        let kept = call.to_openai_value();
        assert_eq!(
            kept,
            json!({"id": "c_1", "type": "custom", "custom": {"name": "apply_patch", "input": text}})
        );
        let back = from_value(kept);
        assert_eq!(
            (back.kind(), back.arguments()),
            (call.kind(), call.arguments())
        );
        assert!(back.is_usable() && !back.is_builtin());
        // What has no place for text holds it in an object, as every wire does.
        assert_eq!(call.to_map()["arguments"], json!({"input": text}));
        let item = call.to_wire(HistoryFormat::Anthropic).unwrap();
        assert_eq!(item["input"], call.to_map()["arguments"]);
    }
    // The flag of one that its provider ran is where a function has it.
    let theirs = ToolCall::builder()
        .name("run_sql")
        .executor(Executor::Provider);
    let theirs = theirs.arguments(Arguments::free_form("select".into(), false));
    let theirs = theirs.build().unwrap();
    let kept = theirs.to_openai_value();
    assert_eq!(kept["custom"]["builtin?"], true);
    assert!(ToolCall::is_builtin_value(&kept));
    let back = from_value(kept);
    assert!(back.is_builtin());
    assert_eq!(back.arguments().raw(), "select");
}

#[test]
fn reqllm_q36_the_kept_shape_has_the_builtin_flag_where_it_is_set() {
    let call = ToolCall::builtin(name("web_search_call"), "{\"q\":1}").with_id("ws_1");
    let kept = call.to_openai_value();
    assert_eq!(
        kept,
        json!({"id": "ws_1", "type": "function", "function": {
            "name": "web_search_call", "arguments": "{\"q\":1}", "builtin?": true}})
    );
    let back = from_value(kept);
    assert!(back.is_builtin() && back.id() == "ws_1");
    assert!(
        new(None, "t", "{}").to_openai_value()["function"]
            .get("builtin?")
            .is_none()
    );
}

#[test]
fn reqllm_q37_shown_as_name_and_id() {
    let call = new(Some("call_1"), "get_time", "{\"zone\":\"x1y2\"}");
    assert_eq!(call.to_string(), "get_time(call_1)");
    assert!(!format!("{call:?}").contains("x1y2"));
}

#[test]
fn reqllm_q38_starts_without_index_id_or_name() {
    // Text that arrives with the name is the first piece.
    let (calls, _) = turn(&[
        CallDelta::new()
            .index(0)
            .id("c")
            .name("t")
            .arguments("{\"a\":"),
        CallDelta::new().index(0).arguments("1}"),
    ]);
    assert_eq!(calls[0].arguments().raw(), "{\"a\":1}");
    // A missing index is no index, a missing id is made, and both are said.
    let (calls, anomalies) = turn(&[CallDelta::new().name("t").arguments("{}")]);
    assert_eq!(
        (calls[0].id(), calls[0].is_synthetic_id()),
        ("call_made0", true)
    );
    assert!(
        anomalies.contains(&AnomalyKind::MissingIndex)
            && anomalies.contains(&AnomalyKind::MissingId)
    );
    // One id of two calls is made distinct, and said.
    let (calls, anomalies) = turn(&[
        CallDelta::new()
            .index(0)
            .id("c")
            .name("t")
            .arguments("{\"a\":1}"),
        CallDelta::new()
            .index(1)
            .id("c")
            .name("t")
            .arguments("{\"a\":2}"),
    ]);
    assert_eq!(
        (calls[0].id(), calls[1].id(), calls[1].wire_id()),
        ("c", "call_made0", Some("c"))
    );
    assert!(anomalies.contains(&AnomalyKind::SharedId));
    // A call that never got a name is no silent loss, and no tool's.
    let (calls, anomalies) = turn(&[CallDelta::new().index(0).id("c").arguments("{}")]);
    assert_eq!(calls[0].state(), CallState::Unnamed);
    assert!(anomalies.contains(&AnomalyKind::MissingName));
    let tools = tools();
    let resolution = tools.resolve(&calls[0]);
    assert_eq!(resolution.state(), ResolutionState::Unknown);
    assert_eq!(resolution.refusal().unwrap().kind(), RefusalKind::Unnamed);
}

#[test]
fn reqllm_q39_lost_arguments_are_told_and_an_empty_piece_is_no_loss() {
    let mut accumulator = Accumulator::default();
    accumulator.push(&Delta::Call(
        CallDelta::new()
            .index(0)
            .id("c")
            .name("t")
            .arguments("{\"a\":"),
    ));
    accumulator.push(&Delta::Undecodable {
        problem: "not JSON",
    });
    accumulator.push(&Delta::End);
    let call = accumulator
        .events()
        .find_map(|event| event.ok()?.into_call())
        .unwrap();
    assert_eq!(call.state(), CallState::Malformed);
    assert_eq!(
        call.arguments().problem().unwrap().kind(),
        ProblemKind::Lost
    );
    let (calls, _) = turn(&[
        CallDelta::new().index(0).id("c").name("t").arguments(""),
        CallDelta::new().index(0).arguments("{\"a\":1}"),
        CallDelta::new().index(0).arguments(""),
    ]);
    assert_eq!(calls[0].state(), CallState::Whole);
    let (calls, _) = turn(&[CallDelta::new()
        .index(0)
        .id("c")
        .name("t")
        .arguments("nonsense")]);
    assert!(matches!(
        calls[0].arguments().problem().unwrap().kind(),
        ProblemKind::Fault(_)
    ));
}
