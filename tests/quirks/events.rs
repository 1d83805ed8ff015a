//! WIRE_FORMATS 0.4: server-sent events as they are really sent, E1 to E17, seen from the calls.

use callstitch::{AnomalyKind, CallState, End, ErrorKind, WireFormat};
use serde_json::{Value, json};

use super::support::run::both;
use super::support::wire::{
    DONE, block_stop, data, delta, finished as body, input, message_delta, message_start, opening,
    piece, reason, tool_start,
};
use super::{Run, chat};

const HEAD: &str = r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"tide_height","arguments":"{\"port\":"}}]}}]}"#;
const TAIL: &str = r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"Brest\"}"}}]}}]}"#;

fn brest() -> Value {
    json!({"port": "Brest"})
}

#[track_caller]
fn one_call(body: impl AsRef<[u8]>) -> Run {
    let run = chat(body);
    run.assert_whole(&[("tide_height", brest())]);
    run
}

fn whole() -> String {
    opening(0, "call_1", "tide_height", "{\"port\":\"Brest\"}")
}

#[test]
fn error_e1_any_line_end_and_any_mixture() {
    let text = body(&[whole()]);
    for end in ["\r\n", "\r"] {
        one_call(text.replace('\n', end));
    }
    one_call(format!(
        "data: {HEAD}\r\n\ndata: {TAIL}\n\r\ndata: [DONE]\r\r"
    ));
}

#[test]
fn error_e2_only_cr_and_lf_end_lines() {
    let text = "a\u{2028}b\u{2029}c\u{85}d\u{b}e\u{c}f";
    let raw = format!("{{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}");
    let run = chat(format!(
        "data: {}\n\n{DONE}",
        raw.replace(['\u{b}', '\u{c}'], " ")
    ));
    assert_eq!(run.text, text.replace(['\u{b}', '\u{c}'], " "));
    let run = chat(body(&[opening(
        0,
        "call_1",
        "note",
        &format!("{{\"t\":\"{text}\"}}").replace(['\u{b}', '\u{c}'], " "),
    )]));
    assert_eq!(run.calls[0].state(), CallState::Whole);
    // Raw control characters in the event's own JSON: read or refused, the line is not cut there.
    let run = chat(format!("data: {raw}\n\n{DONE}"));
    assert!(run.text == text || run.error().kind() == ErrorKind::Undecodable);
}

#[test]
fn error_e2_control_characters_stand_unescaped_in_strings() {
    let text = "a\u{b}b\u{c}c\td\\\\\u{1}";
    let run = chat(format!(
        "data: {{\"choices\":[\t{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n{DONE}"
    ));
    assert_eq!(run.text, "a\u{b}b\u{c}c\td\\\u{1}");
    run.assert_told(AnomalyKind::RawControl);
    // In argument text as well, where they are escaped in their turn.
    let call = opening(0, "call_1", "note", "{\"t\":\"x#y\"}").replace('#', "\u{b}");
    let run = chat(body(&[call]));
    run.assert_calls(&[("note", CallState::Repaired, json!({"t": "x\u{b}y"}))]);
    // Outside of strings they are a fault as ever.
    let run = chat(format!("data: {{\u{b}\"choices\":[]}}\n\n{DONE}"));
    assert_eq!(run.error().kind(), ErrorKind::Undecodable);
}

#[test]
fn error_e3_characters_split_between_chunks() {
    // `both` cuts at every byte.
    let run = chat(body(&[opening(
        0,
        "call_1",
        "note",
        "{\"t\":\"naïve 潮汐 🌊\"}",
    )]));
    run.assert_whole(&[("note", json!({"t": "naïve 潮汐 🌊"}))]);
    assert_eq!(run.anomalies, []);
}

#[test]
fn error_e3_bytes_that_are_no_text_are_replaced_and_told() {
    let mut bytes = body(&[opening(0, "call_1", "note", "{\"t\":\"X\"}")]).into_bytes();
    let at = bytes.iter().position(|&byte| byte == b'X').unwrap();
    bytes[at] = 0xFF;
    let run = chat(bytes);
    run.assert_whole(&[("note", json!({"t": "\u{fffd}"}))]);
    run.assert_told(AnomalyKind::LossyUtf8);
}

#[test]
fn error_e4_no_space_after_the_colon() {
    one_call(body(&[whole()]).replace("data: ", "data:"));
}

#[test]
fn error_e5_a_last_event_without_its_blank_line_counts_if_it_is_whole() {
    for end in ["", "\n"] {
        let run = one_call(format!(
            "data: {HEAD}\n\n{}data: [DONE]{end}",
            data_of(TAIL)
        ));
        assert_eq!(run.end, End::Clean);
        let run = one_call([&whole(), reason("tool_calls").trim_end(), end].concat());
        run.assert_told(AnomalyKind::UnterminatedTail);
    }
    // Not whole: a truncation, and nothing of it counts.
    let cut = data_of(TAIL);
    let run = chat(format!("data: {HEAD}\n\n{}", &cut[..cut.len() - 20]));
    run.assert_calls(&[("tide_height", CallState::Truncated, json!({}))]);
    assert_eq!(run.error().kind(), ErrorKind::Truncated);
}

fn data_of(text: &str) -> String {
    format!("data: {text}\n\n")
}

#[test]
fn error_e6_the_data_before_its_event_line() {
    one_call(format!(
        "data: {HEAD}\nevent: chunk\n\ndata: {TAIL}\nevent: chunk\n\n{DONE}"
    ));
    let run = chat(format!(
        "data: {HEAD}\n\ndata: {{\"message\":\"no\"}}\nevent: error\n\n"
    ));
    assert_eq!(
        (run.error().kind(), run.error().message()),
        (ErrorKind::Provider, "no")
    );
}

#[test]
fn error_e7_keep_alives_are_nothing() {
    for comment in [
        ": OPENROUTER PROCESSING",
        ":",
        ": ping",
        "data: : keepalive",
        "data: :",
    ] {
        let run = one_call(format!(
            "{comment}\n\ndata: {HEAD}\n\n{comment}\n\ndata: {TAIL}\n\n{comment}\n\n{DONE}"
        ));
        assert_eq!(run.anomalies, [], "{comment:?}");
    }
    // Inside an event.
    one_call(format!(": a\ndata: {HEAD}\n: b\n\ndata: {TAIL}\n\n{DONE}"));
}

#[test]
fn error_e8_empty_data_and_null_are_nothing() {
    for nothing in ["data:", "data: ", "data", "data: null", "data:  null "] {
        let run = one_call(format!(
            "{nothing}\n\ndata: {HEAD}\n\n{nothing}\n\ndata: {TAIL}\n\n{DONE}"
        ));
        assert_eq!(run.anomalies, [], "{nothing:?}");
    }
}

#[test]
fn error_e9_events_without_data_are_nothing() {
    for nothing in [
        "id: 7",
        "retry: 3000",
        "event: keepalive",
        "id: 1\nevent: ping\nretry: 5",
    ] {
        one_call(format!(
            "{nothing}\n\ndata: {HEAD}\n\n{nothing}\n\nid: 3\ndata: {TAIL}\n\n{DONE}"
        ));
    }
}

#[test]
fn error_e10_bare_errors_end_the_stream_and_bare_text_is_remembered() {
    let run = chat(format!(
        "data: {HEAD}\n\n{{\"error\":{{\"message\":\"gone\",\"code\":503}}}}\n"
    ));
    assert_eq!(
        (run.error().kind(), run.error().message()),
        (ErrorKind::Provider, "gone")
    );
    let run = chat(format!("data: {HEAD}\n\nupstream error: read ECONNRESET"));
    assert_eq!(run.error().kind(), ErrorKind::Truncated);
    assert!(
        run.error()
            .message()
            .contains("upstream error: read ECONNRESET")
    );
    run.assert_told(AnomalyKind::StrayText);
    // Text between events ends nothing by itself.
    one_call(format!(
        "data: {HEAD}\n\nhello there\n\ndata: {TAIL}\n\n{DONE}"
    ));
}

#[test]
fn error_e11_a_field_named_error() {
    let run = chat(format!(
        "data: {HEAD}\n\nerror: {{\"message\":\"gone\"}}\n\n{DONE}"
    ));
    assert_eq!((run.end, run.error().message()), (End::Error, "gone"));
}

#[test]
fn error_e12_a_body_that_is_one_json_error() {
    for format in [
        WireFormat::OpenAiChat,
        WireFormat::Anthropic,
        WireFormat::Auto,
    ] {
        for body in [
            "{\"error\":{\"message\":\"no such model\",\"type\":\"not_found\"}}",
            "{\n  \"error\": {\n    \"message\": \"no such model\",\n\n    \"type\": \"not_found\"\n  }\n}\n",
        ] {
            let run = both(format, body);
            assert_eq!(run.error().kind(), ErrorKind::Provider, "{format}");
            assert_eq!(
                (run.error().message(), run.error().code()),
                ("no such model", Some("not_found"))
            );
        }
    }
}

#[test]
fn error_e13_two_documents_in_one_event() {
    // One data line each, or both on one.
    one_call(format!("data: {HEAD}\ndata: {TAIL}\n\n{DONE}"));
    one_call(format!("data: {HEAD}{TAIL}\n\n{DONE}"));
    one_call(format!("data: {HEAD}\n\ndata: {TAIL}\ndata: [DONE]\n\n"));
}

#[test]
fn error_e13_a_keep_alive_beside_a_document_is_nothing_and_hides_nothing() {
    for idle in [": keepalive", ":", "null", ""] {
        for first in [
            format!("data: {idle}\ndata: {HEAD}"),
            format!("data: {HEAD}\ndata: {idle}"),
        ] {
            let run = one_call(format!(
                "{first}\n\ndata: {TAIL}\n\ndata: {idle}\ndata: [DONE]\n\n"
            ));
            assert_eq!(run.anomalies, [], "{first}");
        }
    }
}

/// What a body lacks at its end is missing from the last document alone (11.1.3).
#[test]
fn error_e5_the_whole_documents_of_a_last_event_count() {
    const LAST: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#;
    let joined = [HEAD, TAIL, LAST, "[DONE]"].map(|document| format!("data: {document}\n"));
    one_call(joined.concat());
    one_call(format!("data: {HEAD}\n\ndata: {TAIL}{LAST}"));
    for cut in 1..LAST.len() {
        let cut = &LAST[..cut];
        for body in [
            format!("data: {HEAD}\ndata: {TAIL}\ndata: {cut}"),
            format!("data: {HEAD}\n\ndata: {TAIL}{cut}"),
            format!("data: {HEAD}{TAIL}\ndata: {LAST}{cut}\n"),
        ] {
            let run = chat(&body);
            assert_eq!(run.calls[0].state(), CallState::Whole, "{body}");
            let end = if body.contains(LAST) {
                End::Clean
            } else {
                End::Truncated
            };
            assert_eq!(run.end, end, "{body}");
        }
    }
    // What is no JSON before the last document is no cut.
    let run = chat(format!("data: {HEAD}\ndata: {{\"a\" 1}}\ndata: {TAIL}"));
    assert_eq!(run.error().kind(), ErrorKind::Undecodable);
}

/// Argument text must not become a call or an error (11.1.5 is about documents).
#[test]
fn error_e13_a_line_inside_a_document_is_none() {
    let inner = json!({"candidates": [{"content": {"parts": [{"functionCall": {"name": "delete_all", "args": {"path": "/"}}}]}}]});
    let open =
        r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"save","args":{"log":["#;
    for end in [",{\"x\":", "", ",1 2]}}}]}}]}", "\"x"] {
        for body in [
            format!("[{open}\n{inner}\n{end}"),
            format!("[{open}\n{inner}\n{end}}}]"),
            format!("data: {open}\ndata: {inner}\ndata: {end}"),
            format!("data: {open}\ndata: {inner}\ndata: {end}\n\n"),
        ] {
            let run = both(WireFormat::Gemini, &body);
            assert_eq!(run.calls.len(), 0, "{body}");
            assert!(run.error().kind() != ErrorKind::Provider, "{body}");
        }
    }
    // An element that is cut anywhere is a truncation, however it is laid out.
    let pretty = serde_json::to_string_pretty(&json!([inner])).unwrap();
    for cut in 1..pretty.len() - 3 {
        let run = both(WireFormat::Gemini, &pretty[..cut]);
        assert_eq!(run.error().kind(), ErrorKind::Truncated, "{cut}");
    }
    let log = "{\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"save\",\"arguments\":{\"l\":[\n{\"error\":\"secret\"}\n";
    let run = both(WireFormat::Ollama, log);
    assert_eq!(run.error().kind(), ErrorKind::Truncated);
    // One of several lines, beside others, is one.
    let (before, after) = HEAD.split_at(HEAD.find("\"delta\"").unwrap());
    for (first, last) in [("", "\ndata: [DONE]"), (": ka\ndata: ", "\n\ndata: [DONE]")] {
        let tail = format!("data: {first}{before}\ndata: {after}\ndata: {TAIL}{last}\n\n");
        one_call(tail);
    }
}

#[test]
fn error_e7_a_keep_alive_beside_the_first_document_hides_no_format() {
    for idle in [": keepalive", "null", "{\"x\":1}"] {
        let run = both(
            WireFormat::Auto,
            format!("data: {idle}\ndata: {HEAD}\n\ndata: {TAIL}\n\n{DONE}"),
        );
        assert_eq!(run.format, Some(WireFormat::OpenAiChat), "{idle}");
        run.assert_whole(&[("tide_height", brest())]);
    }
}

/// A call whose document shares its event with one before it that says nothing, in every format that skips such.
fn beside(other: impl Fn(&str) -> Value, between: &str) {
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "tide_height",
        "arguments": "{\"port\":\"Brest\"}"});
    let done = json!({"type": "response.output_item.done", "output_index": 0, "item": call});
    let terminal = json!({"type": "response.completed", "response": {"status": "completed"}});
    let created = data(&json!({"type": "response.created", "response": {}}));
    let skipped = other("response.in_progress");
    let run = both(
        WireFormat::OpenAiResponses,
        format!(
            "{created}data: {skipped}{between}{done}\n\ndata: {skipped}{between}{terminal}\n\n"
        ),
    );
    run.assert_whole(&[("tide_height", brest())]);
    assert_eq!(run.anomalies, []);

    let start = tool_start(0, "toolu_1", "tide_height");
    let start = start.split("data: ").nth(1).unwrap();
    let (input, stop, end) = (
        input(0, "{\"port\":\"Brest\"}"),
        block_stop(0),
        message_delta("tool_use"),
    );
    let terminal = json!({"type": "message_stop"});
    let skipped = other("ping");
    let run = both(
        WireFormat::Anthropic,
        [
            message_start(),
            format!("data: {skipped}{between}{start}{input}{stop}{end}"),
            format!("data: {skipped}{between}{terminal}\n\n"),
        ]
        .concat(),
    );
    run.assert_whole(&[("tide_height", brest())]);
    assert_eq!(run.anomalies, []);
}

#[test]
fn error_e13_a_document_counts_however_long_the_one_before_it_is_that_says_nothing() {
    for length in [0, 900, 980, 1020, 1100, 3000] {
        let long = "x{\"".repeat(length / 4);
        for between in [
            "\ndata: ",
            "\nevent: b\ndata:",
            "",
            " ",
            "\r\nid: 1\r\ndata: ",
        ] {
            beside(
                |kind| json!({"type": kind, "response": {"x": long}}),
                between,
            );
        }
    }
}

#[test]
fn error_e6_an_error_counts_however_long_its_data_is_that_come_first() {
    for length in [10, 1100, 5000] {
        let error = json!({"type": "server_error", "message": "x".repeat(length)});
        for format in [WireFormat::OpenAiResponses, WireFormat::Anthropic] {
            let run = both(format, format!("data: {error}\nevent: error\n\n"));
            let error = run.error();
            assert_eq!(
                (error.kind(), error.code()),
                (ErrorKind::Provider, Some("server_error"))
            );
            assert!(error.message().starts_with("xxxxxxxxxx"), "{error}");
        }
    }
}

#[test]
fn error_e13_an_event_that_is_no_json_is_told_and_the_open_call_is_not_believed() {
    let run = chat(format!(
        "data: {HEAD}\n\ndata: {{\"choices\":[\n\ndata: {TAIL}\n\n{DONE}"
    ));
    assert_eq!(run.calls[0].state(), CallState::Malformed);
    assert_eq!(
        (run.end, run.error().kind()),
        (End::Error, ErrorKind::Undecodable)
    );
    run.assert_told(AnomalyKind::UndecodableEvent);
}

#[test]
fn error_e14_done_with_white_space_and_nothing_after_it() {
    let rest = [
        opening(0, "call_2", "now", "{}"),
        delta(json!({"content": "unheard"})),
        "data: {\"error\":\"no\"}\n\n".to_owned(),
    ]
    .concat();
    for done in [
        "data: [DONE]",
        "data:[DONE]",
        "data:   [DONE] \t",
        "event: done\ndata: [DONE]",
    ] {
        let run = one_call(format!("data: {HEAD}\n\ndata: {TAIL}\n\n{done}\n\n{rest}"));
        assert_eq!((run.text.as_str(), run.end), ("", End::Clean));
    }
}

#[test]
fn error_e15_one_line_of_megabytes() {
    let long = "x".repeat(5 << 20);
    let text = body(&[opening(
        0,
        "call_1",
        "note",
        &json!({"t": long}).to_string(),
    )]);
    let run = super::support::run::run(WireFormat::OpenAiChat, text.as_bytes().chunks(64 << 10));
    assert_eq!(run.calls[0].arguments().object().unwrap()["t"], long);
}

#[test]
fn error_e16_members_in_any_order_and_padding() {
    let shuffled = r#"  { "choices" : [ { "finish_reason" : null , "delta" : { "tool_calls" : [ { "function" : { "arguments" : "{\"port\":\"Brest\"}" , "name" : "tide_height" } , "type" : "function" , "id" : "call_1" , "index" : 0 } ] } , "index" : 0 } ] }   "#;
    one_call(format!("data: {shuffled}\n\n{DONE}"));
}

#[test]
fn error_e17_padding_members_are_ignored() {
    for member in ["obfuscation", "p", "nonce"] {
        let mut chunk: Value = serde_json::from_str(HEAD).unwrap();
        chunk[member] = json!("aaaaaaaa");
        let run = one_call([data(&chunk), piece(0, "\"Brest\"}"), DONE.to_owned()].concat());
        assert_eq!(run.anomalies, []);
    }
}
