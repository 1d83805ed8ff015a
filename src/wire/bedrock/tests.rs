//! What the decoder says of Converse events, framed and bridged, and of Invoke streams.

#![allow(clippy::indexing_slicing)]

use super::*;
use crate::framing::Origin;
use crate::wire::spoken::{Spoken, spoken};

/// What is said of Converse events as Bedrock frames them, and as a JSON bridge wraps them: the same.
fn says(events: &[(&str, &str)]) -> Vec<String> {
    let mut decoder = decoder();
    let mut sink = Spoken::default();
    for (kind, payload) in events {
        decoder.decode(Frame::new(payload).with_event(kind), &mut sink);
    }
    let wrapped: Vec<String> = events
        .iter()
        .map(|(kind, payload)| format!(r#"{{"{kind}":{payload}}}"#))
        .collect();
    assert_eq!(bridged(&wrapped), sink.0);
    sink.0
}

fn bridged(payloads: &[String]) -> Vec<String> {
    spoken(
        decoder(),
        &payloads.iter().map(String::as_str).collect::<Vec<_>>(),
    )
}

/// What is said of an Invoke stream of these events.
fn invoked(events: &[&str]) -> Vec<String> {
    let chunks: Vec<_> = events
        .iter()
        .map(|event| format!(r#"{{"bytes":"{}","p":"abc"}}"#, STANDARD.encode(event)))
        .collect();
    says(
        &chunks
            .iter()
            .map(|chunk| ("chunk", chunk.as_str()))
            .collect::<Vec<_>>(),
    )
}

const START: (&str, &str) = (
    "contentBlockStart",
    r#"{"contentBlockIndex":0,"start":{"toolUse":{"name":"tide_height","toolUseId":"tooluse_A"}}}"#,
);
const OPENS: &str = "opens #0 tooluse_A name tide_height executor client";
const STOP: (&str, &str) = ("contentBlockStop", r#"{"contentBlockIndex":0}"#);

#[test]
fn one_call_after_a_text_that_has_no_start() {
    let said = says(&[
        ("messageStart", r#"{"p":"abcdefgh","role":"assistant"}"#),
        (
            "contentBlockDelta",
            r#"{"contentBlockIndex":0,"delta":{"text":"Checking."},"p":"ab"}"#,
        ),
        ("contentBlockStop", r#"{"contentBlockIndex":0,"p":"abcd"}"#),
        (
            "contentBlockStart",
            r#"{"contentBlockIndex":1,"p":"a","start":{"toolUse":{"name":"tide_height","toolUseId":"tooluse_Q"}}}"#,
        ),
        (
            "contentBlockDelta",
            r#"{"contentBlockIndex":1,"delta":{"toolUse":{"input":""}},"p":"abc"}"#,
        ),
        (
            "contentBlockDelta",
            r#"{"contentBlockIndex":1,"delta":{"toolUse":{"input":"{\"port\": \"Br"}},"p":"abcdef"}"#,
        ),
        (
            "contentBlockDelta",
            r#"{"contentBlockIndex":1,"delta":{"toolUse":{"input":"est\"}"}},"p":"ab"}"#,
        ),
        (
            "contentBlockStop",
            r#"{"contentBlockIndex":1,"p":"abcdefg"}"#,
        ),
        ("messageStop", r#"{"p":"abc","stopReason":"tool_use"}"#),
        (
            "metadata",
            r#"{"metrics":{"latencyMs":812},"p":"ab","usage":{"inputTokens":410,"outputTokens":60}}"#,
        ),
    ]);
    let expected = [
        "Answer Checking.",
        "close #0 BlockStop",
        "opens #1 tooluse_Q name tide_height executor client",
        "labelled #1 + ",
        r#"labelled #1 + {"port": "Br"#,
        r#"labelled #1 + est"}"#,
        "close #1 BlockStop",
        "finish tool_use ToolCalls",
        "end",
        r#"usage {"inputTokens":410,"outputTokens":60}"#,
    ];
    assert_eq!(said, expected);
}

#[test]
fn two_calls_the_second_without_input() {
    let said = says(&[
        START,
        (
            "contentBlockDelta",
            r#"{"contentBlockIndex":0,"delta":{"toolUse":{"input":"{\"port\":\"Brest\"}"}}}"#,
        ),
        STOP,
        (
            "contentBlockStart",
            r#"{"contentBlockIndex":1,"start":{"toolUse":{"name":"now","toolUseId":"tooluse_B"}}}"#,
        ),
        ("contentBlockStop", r#"{"contentBlockIndex":1}"#),
    ]);
    let expected = [
        OPENS,
        r#"labelled #0 + {"port":"Brest"}"#,
        "close #0 BlockStop",
        "opens #1 tooluse_B name now executor client",
        "close #1 BlockStop",
    ];
    assert_eq!(said, expected);
}

#[test]
fn a_block_without_its_stop_is_left_to_the_end_of_the_message() {
    assert_eq!(
        says(&[START, ("messageStop", r#"{"stopReason":"end_turn"}"#)]),
        [OPENS, "finish end_turn Stop", "end"]
    );
}

#[test]
fn a_server_tool_is_run_by_the_provider_and_other_starts_are_no_calls() {
    let start = |start: &str| {
        let payload = format!(r#"{{"contentBlockIndex":0,"start":{{{start}}}}}"#);
        says(&[("contentBlockStart", &payload)])
    };
    let tool = |kind: &str| {
        start(&format!(
            r#""toolUse":{{"name":"nova_grounding","toolUseId":"t","type":"{kind}"}}"#
        ))
    };
    assert_eq!(
        tool("server_tool_use"),
        ["opens #0 t name nova_grounding executor provider"]
    );
    assert_eq!(
        tool("tool_use"),
        ["opens #0 t name nova_grounding executor client"]
    );
    for other in [
        "",
        r#""toolResult":{"toolUseId":"t"}"#,
        r#""image":{}"#,
        r#""toolUse":null"#,
    ] {
        assert_eq!(start(other), [""; 0], "{other}");
    }
}

#[test]
fn reasoning_its_signature_and_redacted_reasoning_pass_through_and_citations_do_not() {
    let delta = |delta: &str| {
        let payload = format!(r#"{{"contentBlockIndex":0,"delta":{delta}}}"#);
        says(&[("contentBlockDelta", &payload)])
    };
    assert_eq!(
        delta(r#"{"reasoningContent":{"text":"so"}}"#),
        ["Reasoning so"]
    );
    assert_eq!(
        delta(r#"{"reasoningContent":{"signature":"c2ln"}}"#),
        ["Signature c2ln"]
    );
    assert_eq!(
        delta(r#"{"reasoningContent":{"redactedContent":"cmVk"}}"#),
        ["Signature cmVk"]
    );
    // Bridges send every member of the union, all but one of them empty.
    for empty in ["null", "\"\""] {
        let with = |texts: &str| delta(&texts.replace('?', empty));
        let signed =
            r#"{"text":?,"reasoningContent":{"signature":"c2ln","text":?,"redactedContent":?}}"#;
        assert_eq!(with(signed), ["Signature c2ln"]);
        let thought = r#"{"reasoningContent":{"text":"so","signature":?},"text":?}"#;
        assert_eq!(with(thought), ["Reasoning so"]);
    }
    assert_eq!(delta(r#"{"citation":{"title":"t"}}"#), [""; 0]);
    assert_eq!(delta(r#"{"toolResult":[{"text":"t"}]}"#), [""; 0]);
}

#[test]
fn an_input_that_is_an_object_is_taken_whole() {
    let payload = r#"{"contentBlockIndex":0,"delta":{"toolUse":{"input":{"port":"Brest"}}}}"#;
    assert_eq!(
        says(&[("contentBlockDelta", payload)]),
        [r#"labelled #0 whole {"port":"Brest"}"#]
    );
    let payload = r#"{"contentBlockIndex":0,"start":{"toolUse":{"name":"a","toolUseId":"t","input":{"b":1}}}}"#;
    assert_eq!(
        says(&[("contentBlockStart", payload)]),
        [r#"opens #0 t name a executor client initial {"b":1}"#]
    );
}

#[test]
fn every_stop_reason_has_its_meaning() {
    for (reason, meaning) in [
        ("end_turn", "Stop"),
        ("stop_sequence", "Stop"),
        ("tool_use", "ToolCalls"),
        ("max_tokens", "Length"),
        ("model_context_window_exceeded", "Length"),
        ("guardrail_intervened", "Filtered"),
        ("content_filtered", "Filtered"),
        ("malformed_tool_use", "MalformedCall"),
        ("malformed_model_output", "Error"),
        ("a_later_one", "Other"),
    ] {
        let said = says(&[("messageStop", &format!(r#"{{"stopReason":"{reason}"}}"#))]);
        assert_eq!(
            said,
            [format!("finish {reason} {meaning}"), "end".to_owned()]
        );
    }
    assert_eq!(says(&[("messageStop", "{}")]), ["end"]);
}

#[test]
fn a_message_that_starts_again_is_a_restart() {
    let start = ("messageStart", r#"{"role":"assistant"}"#);
    assert_eq!(says(&[start, START, start]), [OPENS, "restart"]);
}

#[test]
fn an_exception_is_an_error_under_its_type() {
    let mut sink = Spoken::default();
    let frame = Frame {
        origin: Origin::Exception,
        ..Frame::new(r#"{"message":"slow down"}"#).with_event("throttlingException")
    };
    decoder().decode(frame, &mut sink);
    assert_eq!(sink.0, ["error slow down (throttlingException)"]);
    let wrapped = r#"{"modelStreamErrorException":{"message":"gone","originalStatusCode":500}}"#;
    assert_eq!(
        bridged(&[wrapped.to_owned()]),
        ["error gone (modelStreamErrorException)"]
    );
}

#[test]
fn an_exception_is_an_error_whatever_its_payload() {
    for (payload, message) in [
        ("", "an error without a message"),
        ("null", "an error without a message"),
        (" {}\n", "an error without a message"),
        (": slow down", "11 bytes of text"),
        ("slow down", "slow down"),
    ] {
        let mut sink = Spoken::default();
        let frame = Frame {
            origin: Origin::Exception,
            ..Frame::new(payload).with_event("throttlingException")
        };
        decoder().decode(frame, &mut sink);
        let expected = format!("error {message} (throttlingException)");
        assert_eq!(sink.0, [expected], "{payload:?}");
    }
    assert_eq!(
        bridged(&[r#"{"throttlingException":{}}"#.to_owned()]),
        ["error an error without a message (throttlingException)"]
    );
}

#[test]
fn an_invoke_stream_of_an_anthropic_model_is_read_as_anthropic_s() {
    let said = says(&[(
        "chunk",
        r#"{"bytes":"eyJ0eXBlIjoiY29udGVudF9ibG9ja19zdG9wIiwiaW5kZXgiOjB9","p":"abc"}"#,
    )]);
    assert_eq!(said, ["close #0 BlockStop"]);
    let said = invoked(&[
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"now","input":{}}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":\"é\"}"}}"#,
        r#"{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":1}}"#,
    ]);
    let expected = [
        "opens #0 toolu_1 name now executor client initial {}",
        r#"labelled #0 + {"a":"é"}"#,
        "end",
    ];
    assert_eq!(said, expected);
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#;
    assert_eq!(invoked(&[error]), ["error busy (overloaded_error)"]);
}

#[test]
fn an_invoke_stream_of_converse_events_is_read_as_such() {
    let said = invoked(&[
        r#" { "messageStop" : {"stopReason":"tool_use"}}"#,
        r#"{"chunk":{"bytes":"e30="}}"#,
    ]);
    assert_eq!(said, ["finish tool_use ToolCalls", "end"]);
    // Members come in any order (E16).
    let stop = r#"{"p":"ab","metrics":{"type":1},"messageStop":{"stopReason":"tool_use"}}"#;
    assert_eq!(invoked(&[stop]), ["finish tool_use ToolCalls", "end"]);
    let anthropics = r#"{"p":"ab","index":0,"type":"content_block_stop"}"#;
    assert_eq!(invoked(&[anthropics]), ["close #0 BlockStop"]);
}

#[test]
fn a_chunk_that_cannot_be_read_is_told_without_its_text() {
    assert_eq!(
        says(&[("chunk", r#"{"bytes":"&"}"#)]),
        ["undecodable: a chunk's bytes are not base64"]
    );
    assert_eq!(
        invoked(&[r#"{"messageStop":"#]),
        ["undecodable: a chunk's bytes are not JSON"]
    );
    let said = invoked(&[r#"{"type":"#]);
    assert_eq!(
        said,
        ["undecodable: an event's data of 8 bytes ends too early at its byte 8"]
    );
    let lossy = STANDARD.encode(b"{\"type\":\"\xff\"}");
    assert_eq!(
        says(&[("chunk", &format!(r#"{{"bytes":"{lossy}"}}"#))]),
        ["anomaly lossy-utf8"]
    );
}

#[test]
fn unknown_events_and_members_are_nothing() {
    assert_eq!(
        says(&[
            (
                "contentBlockAudit",
                r#"{"contentBlockIndex":0,"delta":{"text":"a"}}"#
            ),
            ("chunk", "{}")
        ]),
        [""; 0]
    );
    assert_eq!(
        says(&[("contentBlockStop", r#"{"contentBlockIndex":"1","b":[]}"#)]),
        ["close #1 BlockStop"]
    );
}

/// The memory of the last event rests on that: every event comes with padding of another length.
#[test]
fn the_padding_of_an_event_is_skipped() {
    let log = std::cell::RefCell::default();
    let payload = r#"{"contentBlockIndex":0,"delta":{"text":"High water"},"p":"abcdef"}"#;
    let mut cursor = Cursor::logged(payload, &log);
    let mut sink = Spoken::default();
    let kind = Some("contentBlockDelta");
    assert!(
        Converse::default()
            .event(&mut cursor, kind, &mut sink)
            .is_ok()
    );
    let skipped = log.into_inner().skipped;
    assert_eq!(skipped.len(), 1);
    assert_eq!(&payload[skipped[0].clone()], "abcdef");
}
