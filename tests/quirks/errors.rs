//! WIRE_FORMATS 9.7: errors in a running stream, shape by shape. The open call is flagged, then the error is the last word.

use callstitch::{CallState, End, ErrorKind, ToolCallParser, WireFormat};
use serde_json::{Value, json};

use super::support::run::{both, run};
use super::support::wire::{DONE, choices, data, delta, message, opening};
use super::{Run, chat};

/// A call that is half open when this comes, and what is said after it is not heard.
#[track_caller]
fn after_half_a_call(error: &str) -> Run {
    let rest = [delta(json!({"content": "unheard"})), DONE.to_owned()].concat();
    let run = chat(
        [
            &opening(0, "call_1", "tide_height", "{\"port\":\"Br"),
            error,
            &rest,
        ]
        .concat(),
    );
    run.assert_calls(&[("tide_height", CallState::Truncated, json!({"port": "Br"}))]);
    assert_eq!(run.text, "");
    assert_eq!(
        (run.end, run.error().kind()),
        (End::Error, ErrorKind::Provider)
    );
    run
}

#[track_caller]
fn says(run: &Run, message: &str, code: Option<&str>) {
    assert_eq!((run.error().message(), run.error().code()), (message, code));
}

#[test]
fn an_error_member_ends_the_stream() {
    let error = json!({"error": {"message": "overloaded", "type": "server_error", "param": null, "code": "busy"}});
    says(
        &after_half_a_call(&data(&error)),
        "overloaded",
        Some("busy"),
    );
    let error = json!({"error": {"message": "overloaded", "type": "server_error", "code": null}});
    says(
        &after_half_a_call(&data(&error)),
        "overloaded",
        Some("server_error"),
    );
    let error = json!({"error": {"message": "overloaded", "code": 503}});
    says(&after_half_a_call(&data(&error)), "overloaded", Some("503"));
}

#[test]
fn an_error_object_of_an_older_vllm_ends_the_stream() {
    let error = json!({"object": "error", "message": "bad grammar", "type": "BadRequestError", "code": 400});
    says(
        &after_half_a_call(&data(&error)),
        "bad grammar",
        Some("400"),
    );
}

#[test]
fn an_error_beside_choices_ends_the_stream_after_the_choices() {
    let error = json!({"id": "gen-1", "error": {"code": 502, "message": "connection lost", "metadata": {}},
        "choices": [{"index": 0, "delta": {"content": "heard"}, "finish_reason": "error"}]});
    let run = chat([data(&error), DONE.to_owned()].concat());
    assert_eq!(
        (run.text.as_str(), run.error().code()),
        ("heard", Some("502"))
    );
    let empty = json!({"error": {"code": 502, "message": "connection lost"}, "choices": []});
    says(
        &after_half_a_call(&data(&empty)),
        "connection lost",
        Some("502"),
    );
}

#[test]
fn an_error_event_that_holds_the_failed_call_keeps_it_out_of_the_message() {
    let error = json!({"error": {"message": "Failed to call a function.", "type": "invalid_request_error",
        "code": "tool_use_failed", "failed_generation": "{\"secret\":1}", "status_code": 400}});
    let run = after_half_a_call(&format!("event: error\n{}", data(&error)));
    says(&run, "Failed to call a function.", Some("tool_use_failed"));
    assert!(!format!("{:?} {}", run.error(), run.error()).contains("secret"));
}

#[test]
fn an_error_event_with_a_plain_text_or_a_message_alone_ends_the_stream() {
    says(
        &after_half_a_call("event: error\ndata: model is loading\n\n"),
        "model is loading",
        None,
    );
    let run = after_half_a_call("event: error\ndata: {\"message\":\"quota\"}\n\n");
    says(&run, "quota", None);
    // The `data` line may come first.
    says(
        &after_half_a_call("data: {\"message\":\"quota\"}\nevent: error\n\n"),
        "quota",
        None,
    );
}

#[test]
fn an_error_field_ends_the_stream() {
    let run = after_half_a_call(
        "error: {\"code\":500,\"message\":\"slot vanished\",\"type\":\"server_error\"}\n\n",
    );
    says(&run, "slot vanished", Some("500"));
}

#[test]
fn an_error_that_is_a_text_ends_the_stream() {
    says(
        &after_half_a_call(&data(&json!({"error": "something broke"}))),
        "something broke",
        None,
    );
}

#[test]
fn a_bare_error_document_ends_the_stream() {
    let run = after_half_a_call("{\"error\":{\"message\":\"upstream gone\",\"code\":503}}\n\n");
    says(&run, "upstream gone", Some("503"));
    let run = after_half_a_call("[{\"error\":{\"message\":\"upstream gone\",\"code\":503}}]\n\n");
    says(&run, "upstream gone", Some("503"));
}

#[test]
fn a_body_that_is_nothing_but_an_error_is_that_error_in_every_format() {
    let error = json!({"error": {"message": "upstream gone", "code": 503}});
    for format in WireFormat::all().chain([WireFormat::Auto]) {
        for body in [
            error.to_string(),
            format!("{error}\n"),
            format!("\n {error:#}\r\n"),
            json!([error]).to_string(),
            json!([null, error]).to_string(),
        ] {
            let run = both(format, &body);
            assert_eq!(run.end, End::Error, "{format}: {body}");
            says(&run, "upstream gone", Some("503"));
        }
    }
    for format in SSE {
        let run = both(format, format!("{}{DONE}", data(&json!([error]))));
        says(&run, "upstream gone", Some("503"));
    }
}

/// AWS answers with what an exception's payload is.
#[cfg(feature = "bedrock")]
#[test]
fn the_body_of_an_error_response_of_bedrock_is_an_error() {
    for (body, message) in [
        (
            "{\"message\":\"The security token is expired\"}",
            "The security token is expired",
        ),
        ("\n{ \"Message\": \"not authorized\" }\n", "not authorized"),
        ("data: {\"message\":\"slow down\"}\n\n", "slow down"),
        (
            "event: message\ndata: {\"error\":\"slow down\"}\n\n",
            "slow down",
        ),
    ] {
        let run = both(WireFormat::Bedrock, body);
        assert_eq!(
            (run.end, run.error().kind()),
            (End::Error, ErrorKind::Provider),
            "{body}"
        );
        says(&run, message, None);
    }
    // The content type promises frames (E12).
    for body in [
        "{\"message\":\"slow down\"}",
        "\n{\"message\":\"slow down\"}",
        "[{\"error\":\"slow down\"}]",
    ] {
        let frames = "application/vnd.amazon.eventstream";
        let mut parser = ToolCallParser::new(WireFormat::Auto).content_type(frames);
        drop(parser.push(body.as_bytes()));
        let error = parser.finish().find_map(Result::err).unwrap();
        assert_eq!(
            (error.kind(), error.message()),
            (ErrorKind::Provider, "slow down")
        );
    }
    // What an event of a name that is not known says of itself is nothing.
    let later = "event: contentBlockAudit\ndata: {\"message\":\"no error\"}\n\n";
    let stop = "data: {\"messageStop\":{\"stopReason\":\"end_turn\"}}\n\n";
    assert_eq!(
        both(WireFormat::Bedrock, format!("{later}{stop}")).end,
        End::Clean
    );
}

/// The frame's word for what failed is the event's where a bridge sends server-sent events, and a member's in its JSON.
#[cfg(feature = "bedrock")]
#[test]
fn an_exception_that_a_bridge_names_ends_the_stream_whatever_it_holds() {
    let (name, half) = ("throttlingException", "{\"port\":\"Br");
    let start = json!({"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "t", "name": "tide_height"}}});
    let text = json!({"contentBlockIndex": 0, "delta": {"toolUse": {"input": half}}});
    let sent = [("contentBlockStart", start), ("contentBlockDelta", text)];
    let events = sent
        .each_ref()
        .map(|(kind, body)| format!("event: {kind}\ndata: {body}\n\n"))
        .concat();
    let lines = sent
        .each_ref()
        .map(|(kind, body)| format!("{{\"{kind}\":{body}}}\n"))
        .concat();
    let failed = |body: String, message: &str| {
        for format in [WireFormat::Bedrock, WireFormat::Auto] {
            let run = both(format, &body);
            assert_eq!(run.end, End::Error, "{body}");
            says(&run, message, Some(name));
            for call in &run.calls {
                assert_eq!(
                    (call.state(), call.arguments().raw()),
                    (CallState::Truncated, half)
                );
            }
        }
    };
    for (payload, message) in [
        ("{\"message\":\"slow down\"}", "slow down"),
        ("slow down", "slow down"),
        ("{}", "an error without a message"),
        ("", "an error without a message"),
    ] {
        let error = format!("event: {name}\ndata: {payload}\n\n");
        failed(error.clone(), message);
        failed(format!("{events}{error}"), message);
    }
    let object = format!("{{\"{name}\":{{\"message\":\"slow down\"}}}}\n");
    failed(object, "slow down");
    failed(
        format!("{lines}{{\"{name}\":\"slow down\"}}\n"),
        "slow down",
    );
    // Whoever sends every member of the union sends this one empty.
    for nothing in ["null", "false", "\"\""] {
        let stop =
            format!("{{\"messageStop\":{{\"stopReason\":\"end_turn\"}},\"{name}\":{nothing}}}\n");
        assert_eq!(both(WireFormat::Bedrock, stop).end, End::Clean);
    }
}

#[cfg(feature = "bedrock")]
#[test]
fn what_begins_as_no_text_does_is_a_damaged_frame_of_bedrock() {
    for first in [0, 8, 14, 31, 127, 193, 245, 255] {
        let run = both(WireFormat::Bedrock, [first; 16]);
        assert_eq!(run.error().kind(), ErrorKind::Framing, "{first}");
    }
}

#[test]
fn bytes_that_are_no_text_are_not_counted_as_text() {
    let run = chat([255; 40]);
    assert!(
        run.error()
            .message()
            .ends_with("it held the text: unreadable data"),
        "{}",
        run.error()
    );
}

#[test]
fn bare_text_is_remembered_for_the_message_of_a_truncation() {
    let run = chat(
        [
            opening(0, "call_1", "now", "{"),
            "upstream error: read ECONNRESET\n".to_owned(),
        ]
        .concat(),
    );
    assert_eq!(
        (run.end, run.error().kind()),
        (End::Truncated, ErrorKind::Truncated)
    );
    assert!(
        run.error().message().contains("ECONNRESET"),
        "{}",
        run.error()
    );
}

#[test]
fn an_empty_chunk_and_a_bare_end_are_a_truncation() {
    let run = chat(choices(
        json!([{"index": 0, "delta": {"content": ""}, "finish_reason": null}]),
    ));
    assert_eq!(run.error().kind(), ErrorKind::Truncated);
}

#[test]
fn an_error_member_that_says_nothing_is_none() {
    for nothing in [json!(null), json!(false), json!(""), json!({})] {
        let chunk = data(
            &json!({"error": nothing, "choices": [{"index": 0, "delta": {"content": "fine"}}]}),
        );
        let run = chat([chunk, DONE.to_owned()].concat());
        assert_eq!((run.text.as_str(), run.end), ("fine", End::Clean));
    }
}

#[test]
fn whole_calls_stand_beside_an_error() {
    let run = chat(
        [
            opening(0, "call_1", "tide_height", "{\"port\":\"Brest\"}"),
            opening(1, "call_2", "moon_phase", "{\"day\""),
            data(&json!({"error": {"message": "no"}})),
        ]
        .concat(),
    );
    let states: Vec<_> = run.calls.iter().map(|call| call.state()).collect();
    assert_eq!(states, [CallState::Whole, CallState::Truncated]);
}

/// The formats of server-sent events.
const SSE: [WireFormat; 7] = [
    WireFormat::OpenAiChat,
    WireFormat::OpenAiResponses,
    WireFormat::Anthropic,
    WireFormat::Gemini,
    WireFormat::GeminiInteractions,
    WireFormat::Cohere,
    WireFormat::Mistral,
];

#[test]
fn an_error_of_no_type_is_one_in_every_format() {
    for (error, code) in [
        (
            json!({"error": {"message": "over", "code": "busy"}}),
            Some("busy"),
        ),
        (json!({"error": "over"}), None),
        (
            json!({"object": "error", "message": "over", "type": "BadRequestError", "code": 400}),
            Some("400"),
        ),
        (
            json!({"type": "BadRequestError", "object": "error", "message": "over", "code": 400}),
            Some("400"),
        ),
    ] {
        for format in SSE {
            for event in ["", "event: message\n"] {
                let run = both(format, format!("{event}{}{DONE}", data(&error)));
                assert_eq!(run.end, End::Error, "{format}: {error}");
                says(&run, "over", code);
            }
        }
        let run = both(WireFormat::Ollama, format!("{error}\n"));
        says(&run, "over", code);
    }
}

#[test]
fn an_error_member_of_an_event_that_names_its_type_is_about_something_else() {
    let failed =
        json!({"type": "response.mcp_call.failed", "error": "no such tool", "output_index": 0});
    let created = json!({"type": "response.created", "response": {"error": null}, "error": null});
    let completed =
        json!({"type": "response.completed", "response": {"status": "completed", "error": null}});
    let nothing = json!({"error": null});
    let body = [created, failed, nothing, completed]
        .map(|event| data(&event))
        .concat();
    assert_eq!(both(WireFormat::OpenAiResponses, body).end, End::Clean);
    let ping = data(&json!({"type": "ping", "error": {"message": "over"}}));
    let run = both(WireFormat::Anthropic, message("end_turn", &[ping]));
    assert_eq!(run.end, End::Clean);
}

#[test]
fn an_error_event_that_says_nothing_more_is_an_error() {
    let half = opening(0, "call_1", "tide_height", "{\"port\":\"Br");
    for error in [
        "event: error\ndata:\n\n",
        "event: error\ndata: null\n\n",
        "data:  \nevent: error\n\n",
        "error:\n\n",
        "error: null\n\n",
        "error: {}\n\n",
    ] {
        says(
            &after_half_a_call(error),
            "an error without a message",
            None,
        );
    }
    after_half_a_call("event: error\ndata: : over\n\n");
    for nothing in [
        "data:\n\n",
        "data: null\n\n",
        "data: : over\n\n",
        "event: ping\ndata: null\n\n",
        "event: error\n\n",
    ] {
        let run = chat(format!("{half}{nothing}{DONE}"));
        assert_eq!(run.end, End::Clean, "{nothing}");
    }
}

#[test]
fn a_bare_error_that_comes_several_times_ends_the_stream() {
    let whole =
        choices(json!([{"index": 0, "delta": {"content": "heard"}, "finish_reason": "stop"}]));
    let chunk = data(
        &json!({"candidates": [{"content": {"parts": [{"text": "heard"}]}, "finishReason": "STOP"}]}),
    );
    for error in [
        json!({"error": {"message": "over", "code": 503}}).to_string(),
        "{\n  \"error\": {\n    \"message\": \"over\",\n    \"code\": 503\n  }\n}".to_owned(),
        "[{\"error\":{\"message\":\"over\",\"code\":503}}]".to_owned(),
    ] {
        let cut = &error[..error.len() / 2];
        for body in [
            error.clone(),
            format!("{error}\n{error}\n"),
            format!("{error}{error}"),
            format!("{error}\r\n\r\n{error}\r\n"),
            format!("{error}\n{cut}"),
            format!("{error}{error} {error}\n\n{error}"),
            format!("{{\"a\":1}}\n{error}\n"),
        ] {
            for (format, before) in [
                (WireFormat::Gemini, &chunk),
                (WireFormat::OpenAiChat, &whole),
            ] {
                let run = both(format, format!("{before}{body}"));
                assert_eq!(
                    (run.text.as_str(), run.end),
                    ("heard", End::Error),
                    "{body}"
                );
                says(&run, "over", Some("503"));
            }
        }
    }
    let run = both(
        WireFormat::Gemini,
        format!("{chunk}{{\"error\":null}}\n{{\"a\":1}}\n"),
    );
    assert_eq!(run.end, End::Clean);
}

/// What an error says in all its ways.
fn shown(run: &Run) -> String {
    let error = run.error.as_ref();
    let display = error.map(|error| format!("{error} {}", error.message()));
    format!("{display:?} {error:?} {:?}", run.anomalies)
}

#[test]
fn an_error_shows_no_text_that_may_be_a_part_of_a_document() {
    let call = json!({"function": {"name": "pay", "arguments": "{\"pin\":\"SECRET77\",\"n\":[\"SECRET77\"]}"}});
    let answer = json!({"choices": [{"message": {"tool_calls": [call]}}]});
    let pretty = serde_json::to_string_pretty(&answer).unwrap();
    let answer = answer.to_string();
    let piece = data(&answer.parse::<Value>().unwrap());
    for format in SSE {
        for body in [
            answer.clone(),
            pretty.clone(),
            format!("{answer}\n"),
            format!("{piece}{answer}\n"),
        ] {
            assert!(!shown(&both(format, body)).contains("SECRET77"), "{format}");
        }
    }
    for cut in 0..answer.len() {
        let (a, b) = answer.split_at(cut);
        let half = opening(0, "call_1", "pay", "{");
        for body in [
            format!("{half}data: {a}\n{b}\n\n"),
            format!("{half}{b}\n"),
            format!("{half}data: {b}\n\n{DONE}"),
            format!("{half}data: {a}\n\n{DONE}"),
            format!("{half}event: error\ndata: {b}\n\n{DONE}"),
            format!(
                "{half}event: error\ndata: {}\n\n{DONE}",
                b.replace(':', " : ")
            ),
        ] {
            let said = run(WireFormat::OpenAiChat, [body.as_bytes()]);
            assert!(!shown(&said).contains("SECRET77"), "{body}");
        }
    }
}

#[test]
fn an_error_shows_a_servers_words() {
    let half = opening(0, "call_1", "pay", "{");
    for words in [
        "upstream error: read ECONNRESET",
        "502 Bad Gateway",
        "<html><body class=\"page\">Bad Gateway</body></html>",
        "model \"tide\" was not found",
    ] {
        for body in [
            format!("{half}{words}\n"),
            format!("{half}data: {words}\n\n{DONE}"),
            format!("{half}event: error\ndata: {words}\n\n{DONE}"),
        ] {
            let run = chat(body);
            assert!(run.error().message().ends_with(words), "{}", run.error());
        }
    }
}

#[test]
fn an_error_joined_with_documents_is_told_after_them_in_the_servers_words() {
    let call = opening(0, "call_1", "tide_height", "{\"port\":\"Brest\"}");
    let call = call.trim_end();
    let error = r#"{"code":500,"message":"slot vanished"}"#;
    let wrapped = format!("{{\"error\":{error}}}");
    for event in [
        format!("{call}\nerror: {wrapped}\n\n"),
        format!("{call}\nerror: {error}\n\n"),
        format!("{call}\n\nerror: {error}\ndata: [DONE]\n\n"),
        format!("event: error\n{call}\ndata: {wrapped}\n\n"),
        format!("{call}\n\nevent: error\ndata: {wrapped}\ndata: {wrapped}\n\n"),
        format!("{call}\n\nerror: {wrapped}\ndata: [DONE]\n\n"),
    ] {
        let run = chat(&event);
        assert_eq!(run.calls[0].state(), CallState::Whole, "{event}");
        assert_eq!(run.error().message(), "slot vanished", "{event}");
    }
    let run = chat("event: error\ndata: Too many\ndata: requests\n\n");
    assert_eq!(run.error().message(), "Too many\nrequests");
    for (error, words) in [
        (json!({"type": "overloaded_error"}), "overloaded_error"),
        (json!({"code": "rate_limit"}), "rate_limit"),
    ] {
        let run = chat(data(&json!({ "error": error })));
        assert_eq!(run.error().message(), words);
    }
}
