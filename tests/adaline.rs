//! Adaline's `ToolCallContent`, row by row (SEEDS A1 to A13).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use callstitch::history::{
    Entry, HistoryError, HistoryFormat, ToolResult, calls_messages, check_messages, entries,
    results_messages,
};
use callstitch::{Executor, ResolutionState, Tool, ToolCall, ToolName, ToolSet};
use serde_json::{Value, json};

const DOCUMENTED: &str = r#"{
  "modality": "tool-call",
  "index": 0,
  "id": "call_abc123",
  "name": "get_weather",
  "arguments": "{\"city\":\"San Francisco\",\"units\":\"fahrenheit\"}"
}"#;

fn documented() -> Value {
    serde_json::from_str(DOCUMENTED).unwrap()
}

fn with(key: &str, value: Value) -> Value {
    let mut part = documented();
    part[key] = value;
    part
}

fn read(part: &Value) -> Result<ToolCall, HistoryError> {
    ToolCall::from_wire(HistoryFormat::Adaline, part)
}

fn write(call: &ToolCall) -> Value {
    call.to_wire(HistoryFormat::Adaline).unwrap()
}

#[test]
fn adaline_a1_another_modality_is_refused() {
    assert_eq!(
        write(&read(&documented()).unwrap())["modality"],
        "tool-call"
    );
    for wrong in [json!("text"), json!(null), json!(1)] {
        assert_eq!(
            read(&with("modality", wrong)),
            Err(HistoryError::Member("modality"))
        );
    }
}

#[test]
fn adaline_a2_the_index_is_a_whole_number_from_zero() {
    assert_eq!(read(&with("index", json!(7))).unwrap().index().get(), 7);
    for wrong in [json!(-1), json!(0.5), json!("0"), json!(null)] {
        assert_eq!(
            read(&with("index", wrong)),
            Err(HistoryError::Member("index"))
        );
    }
    let mut missing = documented();
    missing.as_object_mut().unwrap().remove("index");
    assert_eq!(read(&missing), Err(HistoryError::Member("index")));
}

#[test]
fn adaline_a3_the_id_is_never_empty() {
    assert_eq!(read(&documented()).unwrap().id(), "call_abc123");
    assert_eq!(
        read(&with("id", json!(""))),
        Err(HistoryError::Member("id"))
    );
    let made = ToolCall::new(ToolName::new("now").unwrap(), "{}");
    assert!(write(&made)["id"].as_str().unwrap().starts_with("call_"));
}

#[test]
fn adaline_a4_the_name_is_required() {
    assert_eq!(
        read(&documented()).unwrap().tool_name().unwrap(),
        "get_weather"
    );
    assert_eq!(
        read(&with("name", json!(""))),
        Err(HistoryError::Member("name"))
    );
}

#[test]
fn adaline_a5_arguments_are_text_always_and_safe() {
    assert_eq!(
        read(&with("arguments", json!({}))),
        Err(HistoryError::Member("arguments"))
    );
    let name = ToolName::new("get_weather").unwrap();
    for (sent, written) in [
        (r#"{"b": 1.50, "a": 1}"#, r#"{"b": 1.50, "a": 1}"#),
        (r#"{"city": "San Fr"#, r#"{"city":"San Fr"}"#),
        ("nonsense", "{}"),
        ("", "{}"),
    ] {
        let call = ToolCall::new(name.clone(), sent);
        assert_eq!(write(&call)["arguments"], written);
    }
}

#[test]
fn adaline_a6_a_server_name_is_absent_null_or_text() {
    assert_eq!(read(&documented()).unwrap().server_name(), None);
    assert_eq!(
        read(&with("serverName", json!(null)))
            .unwrap()
            .server_name(),
        None
    );
    let call = read(&with("serverName", json!("weather-api"))).unwrap();
    assert_eq!(call.server_name(), Some("weather-api"));
    assert_eq!(write(&call)["serverName"], "weather-api");
    assert!(
        write(&read(&documented()).unwrap())
            .get("serverName")
            .is_none()
    );
}

#[test]
fn adaline_a7_members_are_written_in_the_order_of_the_example() {
    let call = read(&with("serverName", json!("weather-api"))).unwrap();
    let part = write(&call);
    let keys: Vec<_> = part.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        ["modality", "index", "id", "name", "arguments", "serverName"]
    );
}

#[test]
fn adaline_a8_the_documented_json_is_read_and_written_back() {
    let call = read(&documented()).unwrap();
    let arguments = call.arguments().object().unwrap();
    assert_eq!(arguments["city"], "San Francisco");
    assert_eq!(arguments["units"], "fahrenheit");
    let compact = serde_json::to_string(&documented()).unwrap();
    assert_eq!(call.to_wire_json(HistoryFormat::Adaline).unwrap(), compact);
}

#[test]
fn adaline_a9_the_documented_typescript_value_round_trips() {
    let call = ToolCall::builder()
        .id("call_abc123")
        .name("get_weather")
        .arguments(json!({"city": "San Francisco", "units": "fahrenheit"}))
        .server_name(Some("weather-api".to_owned()))
        .build()
        .unwrap();
    let part = write(&call);
    assert_eq!(part, with("serverName", json!("weather-api")));
    assert_eq!(write(&read(&part).unwrap()), part);
}

#[test]
fn adaline_a10_calls_sit_in_the_content_of_an_assistant_message() {
    let call = read(&documented()).unwrap();
    let messages = calls_messages(HistoryFormat::Adaline, [&call]);
    assert_eq!(
        messages,
        [json!({"role": "assistant", "content": [documented()]})]
    );
}

#[test]
fn adaline_a11_a_response_refers_to_its_call() {
    let call = read(&documented()).unwrap();
    let response = ToolResult::text(&call, "18 °C").to_wire(HistoryFormat::Adaline);
    for key in ["index", "id", "name"] {
        assert_eq!(response[key], documented()[key]);
    }
    let back = ToolResult::from_wire(HistoryFormat::Adaline, &response).unwrap();
    assert_eq!(back, ToolResult::text(&call, "18 °C"));
    let results = results_messages(HistoryFormat::Adaline, [&back]);
    let turn = [calls_messages(HistoryFormat::Adaline, [&call]), results].concat();
    assert!(check_messages(HistoryFormat::Adaline, &turn).is_empty());
}

#[test]
fn adaline_a12_other_members_of_the_content_union_are_left_alone() {
    let message = json!({"role": "assistant", "content": [
        {"modality": "text", "value": "Let me look."}, documented(), {"modality": "image"},
    ]});
    let read = entries(HistoryFormat::Adaline, &[message]);
    assert!(matches!(&read[..], [Entry::Call(call)] if call.name() == "get_weather"));
}

#[test]
fn adaline_a13_a_call_that_its_provider_ran_does_not_come_back_as_one_to_run() {
    let theirs = ToolCall::builtin(ToolName::new("web_search").unwrap(), "{}");
    let server = ToolCall::builder()
        .name("list_berths")
        .executor(Executor::Provider);
    let server = server.server_name("harbour".to_owned()).build().unwrap();
    for call in [theirs, server] {
        assert_eq!(call.to_wire(HistoryFormat::Adaline), None);
        assert!(calls_messages(HistoryFormat::Adaline, [&call]).is_empty());
    }
}

#[test]
fn adaline_a13_a_function_of_the_name_takes_the_call() {
    let call = read(&documented()).unwrap();
    let tools = ToolSet::new().with(Tool::declared(ToolName::new("get_weather").unwrap()));
    assert_eq!(tools.resolve(&call).state(), ResolutionState::Valid);
}
