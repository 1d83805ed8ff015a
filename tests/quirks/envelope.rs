//! WIRE_FORMATS 9.6: what is around the calls.

use callstitch::{CallState, End, ErrorKind, ToolCallParser, ToolKind, WireFormat};
use serde_json::{Value, json};

#[cfg(feature = "bedrock")]
use super::support::aws_frames;
use super::support::run::{Gathering, Seen, both};
use super::support::wire::{
    DONE, calls, choices, data, delta, finished as body, message, opening, reason,
};
use super::{chat, finished};

fn whole() -> String {
    opening(0, "call_1", "tide_height", "{\"port\":\"Brest\"}")
}

fn tide() -> (&'static str, Value) {
    ("tide_height", json!({"port": "Brest"}))
}

#[test]
fn quirk_q65_the_role_says_nothing() {
    for role in [json!("assistant"), json!(""), Value::Null] {
        let run = finished(&[
            delta(
                json!({"role": role, "tool_calls": [{"index": 0, "id": "call_1", "function": {"name": "tide_height", "arguments": "{\"port\":"}}]}),
            ),
            delta(
                json!({"role": role, "tool_calls": [{"index": 0, "function": {"arguments": "\"Brest\"}"}}]}),
            ),
        ]);
        run.assert_whole(&[tide()]);
        assert_eq!(run.anomalies, []);
    }
}

#[test]
fn quirk_q66_a_first_chunk_without_choices_is_skipped() {
    let filter = data(&json!({"id": "", "object": "", "model": "", "choices": [],
        "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {}}]}));
    finished(&[filter, whole()]).assert_whole(&[tide()]);
}

#[test]
fn quirk_q67_a_choice_without_delta_is_skipped() {
    let filter = choices(
        json!([{"index": 0, "finish_reason": null, "content_filter_offsets": {"start_offset": 1}}]),
    );
    finished(&[filter.clone(), whole(), filter]).assert_whole(&[tide()]);
}

#[test]
fn quirk_q68_null_or_empty_lists_are_skipped() {
    let run = finished(&[
        choices(Value::Null),
        delta(json!({"tool_calls": null, "content": null})),
        delta(json!({"tool_calls": []})),
        whole(),
        delta(json!({"tool_calls": null, "function_call": null, "content": ""})),
        choices(json!([{"index": 0, "delta": null, "finish_reason": null}])),
    ]);
    run.assert_whole(&[tide()]);
    assert_eq!((run.text.as_str(), run.anomalies.len()), ("", 0));
}

#[test]
fn quirk_q69_calls_in_the_message_count_only_where_the_delta_has_none() {
    let call = json!({"id": "call_1", "type": "function", "function": {"name": "tide_height", "arguments": "{\"port\":\"Brest\"}"}});
    let alone = choices(json!([{"index": 0, "message": {"tool_calls": [call]}}]));
    finished(&[alone]).assert_whole(&[tide()]);
    let beside = choices(
        json!([{"index": 0, "delta": {"tool_calls": [call]}, "message": {"tool_calls": [call]}}]),
    );
    finished(&[beside]).assert_whole(&[tide()]);
}

#[test]
fn quirk_q69_a_legacy_call_in_the_message_counts_only_where_the_delta_has_none() {
    let function = json!({"name": "tide_height", "arguments": "{\"port\":\"Brest\"}"});
    let message = json!({"role": "assistant", "content": null, "function_call": function});
    for choice in [
        json!({"index": 0, "message": message}),
        json!({"index": 0, "message": message, "delta": {}}),
        json!({"index": 0, "message": message, "delta": {"function_call": {"name": "", "arguments": ""}}}),
        json!({"index": 0, "message": message, "delta": {"function_call": function}}),
        json!({"index": 0, "message": message, "delta": {"tool_calls": [
            {"index": 0, "id": "call_1", "function": function}]}}),
    ] {
        finished(&[choices(json!([choice]))]).assert_whole(&[tide()]);
    }
    // An empty stub is no call there, either (Q73).
    let stub = json!({"function_call": {"name": "", "arguments": ""}});
    finished(&[choices(json!([{"index": 0, "message": stub}]))]).assert_whole(&[]);
}

#[test]
fn quirk_q70_text_and_calls_in_one_delta() {
    let run = finished(&[delta(
        json!({"content": "Looking.", "tool_calls": [{"index": 0, "id": "call_1",
        "function": {"name": "tide_height", "arguments": "{\"port\":\"Brest\"}"}}]}),
    )]);
    run.assert_whole(&[tide()]);
    assert_eq!(run.text, "Looking.");
}

#[test]
fn quirk_q71_a_whole_call_in_one_chunk() {
    let run = finished(&[whole(), opening(1, "call_2", "now", "{}")]);
    run.assert_whole(&[tide(), ("now", json!({}))]);
    assert_eq!(run.anomalies, []);
}

#[test]
fn quirk_q72_the_type_is_a_function_unless_there_is_a_custom_member() {
    for kind in [
        Value::Null,
        json!("FUNCTION"),
        json!("Function"),
        json!("whatever"),
    ] {
        let run = finished(&[calls(json!([{"index": 0, "id": "call_1", "type": kind,
            "function": {"name": "tide_height", "arguments": "{\"port\":\"Brest\"}"}}]))]);
        run.assert_whole(&[tide()]);
        assert_eq!(run.calls[0].kind(), &ToolKind::Function);
    }
    let run = finished(&[
        calls(
            json!([{"index": 0, "id": "call_1", "custom": {"name": "run_sql", "input": "{\"select\""}}]),
        ),
        calls(json!([{"index": 0, "function": null, "custom": {"input": " 1}"}}])),
    ]);
    run.assert_calls(&[("run_sql", CallState::FreeForm, Value::Null)]);
    let call = &run.calls[0];
    assert_eq!(
        (call.kind(), call.arguments().raw()),
        (&ToolKind::Custom, "{\"select\" 1}")
    );
    assert!(call.is_usable() && call.arguments().object().is_err());
}

/// Relays fill the member that is not meant with nulls or empty texts, before or behind the one that is.
#[test]
fn quirk_q72_what_says_nothing_beside_a_custom_member_or_a_function_takes_nothing_away() {
    let custom = |text: &str| json!({"name": "run_sql", "input": text});
    let function = json!({"name": "tide_height", "arguments": "{\"port\":\"Brest\"}"});
    let beside = |of: &str, member: &Value, other: &str, stub: &Value| {
        let (member, stub) = (
            format!("{}:{member}", json!(of)),
            format!("{}:{stub}", json!(other)),
        );
        [format!("{member},{stub}"), format!("{stub},{member}")].map(|members| {
            let entry = format!("{{\"index\":0,\"id\":\"call_1\",{members}}}");
            format!(
                "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{entry}]}}}}]}}\n\n"
            )
        })
    };
    let stubs = [
        Value::Null,
        json!({}),
        json!({"name": "", "arguments": ""}),
        json!({"name": null, "arguments": null}),
        json!({"name": "", "input": ""}),
        json!({"name": null, "input": null}),
    ];
    for stub in stubs {
        for chunk in beside("custom", &custom("select 1"), "function", &stub) {
            let more = json!({"input": " from t"});
            for more in beside("custom", &more, "function", &stub) {
                let run = finished(&[chunk.clone(), more]);
                run.assert_calls(&[("run_sql", CallState::FreeForm, Value::Null)]);
                assert_eq!(run.calls[0].arguments().raw(), "select 1 from t", "{stub}");
            }
        }
        for chunk in beside("function", &function, "custom", &stub) {
            let run = finished(&[chunk]);
            run.assert_whole(&[tide()]);
            assert_eq!(run.calls[0].kind(), &ToolKind::Function, "{stub}");
        }
    }
}

#[test]
fn quirk_q73_an_empty_function_call_stub_is_no_call() {
    let stub = choices(
        json!([{"index": 0, "delta": {"function_call": {"name": "", "arguments": ""}}, "finish_reason": "tool_calls"}]),
    );
    let run = chat([whole(), stub.clone(), DONE.to_owned()].concat());
    run.assert_whole(&[tide()]);
    let run = chat([delta(json!({"content": "Hello."})), stub, DONE.to_owned()].concat());
    run.assert_whole(&[]);
}

#[test]
fn quirk_q74_a_thought_signature_belongs_to_its_call_and_makes_none() {
    let extra = json!({"google": {"thought_signature": "c2lnbmVk"}});
    let with = calls(json!([{"index": 0, "id": "call_1", "extra_content": extra,
        "function": {"name": "tide_height", "arguments": "{\"port\":\"Brest\"}"}}]));
    let run = finished(&[with]);
    run.assert_whole(&[tide()]);
    assert_eq!(run.calls[0].extras()["extra_content"], extra);
    // As an entry of its own: by index, by id, by nothing.
    for mut entry in [json!({"index": 0}), json!({"id": "call_1"}), json!({})] {
        entry["extra_content"] = extra.clone();
        let run = finished(&[whole(), calls(json!([entry]))]);
        run.assert_whole(&[tide()]);
        assert_eq!(run.calls[0].extras()["extra_content"], extra, "{entry}");
    }
    // Without any call it is nobody's.
    finished(&[calls(json!([{"id": "call_9", "extra_content": extra}]))]).assert_whole(&[]);
    finished(&[calls(json!([{"extra_content": extra}]))]).assert_whole(&[]);
}

#[test]
fn quirk_q75_calls_leaked_into_text_stay_text() {
    for leak in [
        "<tool_call>{\"name\":\"tide_height\",\"arguments\":{\"port\":\"Brest\"}}</tool_call>",
        "<｜DSML｜function_calls>",
        "<|tool_calls_section_begin|>functions.tide_height:0",
        "[TOOL_CALLS][{\"name\":\"tide_height\"}]",
    ] {
        let (first, second) = leak.split_at(leak.char_indices().nth(5).unwrap().0);
        let run = finished(&[
            delta(json!({"content": first})),
            delta(json!({"content": second})),
        ]);
        run.assert_whole(&[]);
        assert_eq!(run.text, leak, "untouched");
        let run = finished(&[delta(json!({"reasoning_content": leak}))]);
        run.assert_whole(&[]);
        assert!(
            run.events
                .contains(&Seen::Text("reasoning", 0, leak.to_owned()))
        );
        // Inside arguments it is a string like any other.
        let arguments = json!({"note": leak}).to_string();
        let run = finished(&[opening(0, "call_1", "tide_height", &arguments)]);
        run.assert_whole(&[("tide_height", json!({"note": leak}))]);
        assert_eq!(run.calls[0].arguments().raw(), arguments);
    }
}

#[test]
fn quirk_q76_a_wrong_content_type_does_not_decide() {
    let body = body(&[whole()]);
    for content_type in [
        "application/json",
        "text/plain; charset=utf-8",
        "text/event-stream",
    ] {
        let mut parser = ToolCallParser::new(WireFormat::Auto).content_type(content_type);
        let mut gathering = Gathering::default();
        for chunk in body.as_bytes().chunks(3) {
            gathering.take(parser.push(chunk));
        }
        gathering.take(parser.finish());
        let run = gathering.run(parser.end().unwrap(), Vec::new(), parser.format());
        run.assert_whole(&[tide()]);
        assert_eq!(run.format, Some(WireFormat::OpenAiChat));
    }
}

/// As the bytes tell it, so does the media type: one format alone has this framing.
#[cfg(feature = "bedrock")]
#[test]
fn the_binary_media_type_tells_the_format_as_the_binary_framing_does() {
    let body = aws_frames::event("initial-response", "{}");
    for content_type in ["", "application/vnd.amazon.eventstream"] {
        let mut parser = ToolCallParser::new(WireFormat::Auto).content_type(content_type);
        for _ in 0..2 {
            assert_eq!(parser.push(&body).count(), 0);
            assert_eq!(parser.format(), Some(WireFormat::Bedrock));
            let error = parser.finish().last().unwrap().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Truncated, "{content_type}");
            parser.reset();
        }
    }
}

/// Each piece of text goes to the form it came in, however the two are mixed.
#[test]
fn a_legacy_function_call_and_calls_with_labels_do_not_touch_each_other() {
    let legacy = |function: Value| delta(json!({ "function_call": function }));
    let entry = |entry: Value| calls(json!([entry]));
    let now = || ("now", json!({"zone": 1}));
    let open = json!({"index": 0, "id": "call_1", "function": {"name": "tide_height", "arguments": "{\"port\":"}});
    let rest = json!({"index": 0, "function": {"arguments": "\"Brest\"}"}});
    let nameless = json!({"function": {"arguments": "\"Brest\"}"}});
    for rest in [rest.clone(), nameless] {
        finished(&[
            legacy(json!({"name": "now", "arguments": "{\"zone\":"})),
            entry(open.clone()),
            legacy(json!({"arguments": "1}"})),
            entry(rest),
        ])
        .assert_whole(&[now(), tide()]);
    }
    // Where one form alone is open, text of the other that names nothing is its own.
    let nameless = json!({"function": {"arguments": "1}"}});
    finished(&[
        legacy(json!({"name": "now", "arguments": "{\"zone\":"})),
        entry(nameless),
    ])
    .assert_whole(&[now()]);
    finished(&[
        entry(open.clone()),
        legacy(json!({"arguments": "\"Brest\"}"})),
    ])
    .assert_whole(&[tide()]);
    // A gateway that says everything twice.
    let both = |entry: &Value| {
        let function = &entry["function"];
        delta(json!({"tool_calls": [entry], "function_call": function}))
    };
    let run = finished(&[both(&open), both(&rest)]);
    run.assert_whole(&[tide(), tide()]);
    assert_eq!(run.ids(), [Some("call_1"), None]);
}

#[test]
fn a_legacy_function_call_is_one_call_of_its_choice() {
    let legacy = |name: Option<&str>, text: &str| match name {
        Some(name) => delta(json!({"function_call": {"name": name, "arguments": text}})),
        None => delta(json!({"function_call": {"arguments": text}})),
    };
    for chunks in [
        vec![
            legacy(Some("tide_height"), ""),
            legacy(None, "{\"port\":"),
            legacy(None, "\"Brest\"}"),
        ],
        vec![
            legacy(Some("tide_height"), "{\"port\":"),
            legacy(Some("tide_height"), "\"Brest\"}"),
        ],
    ] {
        let run = chat([chunks.concat(), reason("function_call"), DONE.to_owned()].concat());
        run.assert_whole(&[tide()]);
        assert_eq!(run.ids(), [None]);
    }
}

#[test]
fn members_and_events_that_nobody_knows_are_ignored() {
    let run = finished(&[
        data(&json!({"weather": "fair"})),
        data(&json!([])),
        data(&json!(17)),
        choices(
            json!([{"index": 0, "delta": {"audio": {"id": "a"}, "channel": "x", "tool_calls": [{"index": 0, "id": "call_1", "p": "pad", "function": {"name": "tide_height", "arguments": "{\"port\":\"Brest\"}", "strict": true}}]}, "logprobs": {"content": []}}]),
        ),
    ]);
    run.assert_whole(&[tide()]);
}

#[test]
fn an_empty_body_is_a_truncation_in_every_format() {
    for format in WireFormat::all().chain([WireFormat::Auto]) {
        let run = both(format, "");
        assert_eq!(run.error().kind(), ErrorKind::Truncated, "{format}");
        assert!(run.calls.is_empty());
    }
}

/// WIRE_FORMATS 5.2: each event a document under its name, in lines, as data, or in an array.
#[cfg(feature = "bedrock")]
#[test]
fn bedrocks_events_are_read_from_bridges_and_logs() {
    let events = [
        json!({"messageStart": {"role": "assistant"}}),
        json!({"contentBlockStart": {"contentBlockIndex": 0,
            "start": {"toolUse": {"toolUseId": "tooluse_1", "name": "tide_height"}}}}),
        json!({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": "{\"port\":"}}}}),
        json!({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": "\"Brest\"}"}}}}),
        json!({"contentBlockStop": {"contentBlockIndex": 0}}),
        json!({"messageStop": {"stopReason": "tool_use"}}),
    ];
    let lines: String = events.iter().map(|event| format!("{event}\n")).collect();
    let sent: String = events.iter().map(data).collect();
    for body in [lines, sent, json!(events).to_string()] {
        for format in [WireFormat::Bedrock, WireFormat::Auto] {
            let run = both(format, &body);
            run.assert_whole(&[tide()]);
            assert_eq!(run.ids(), [Some("tooluse_1")]);
            assert_eq!(run.format, Some(WireFormat::Bedrock));
        }
    }
    // Binary frames whose first is damaged are no text.
    let run = both(
        WireFormat::Bedrock,
        b"\0\0\0\x50\0\0\0\x20\0\0\0\0 and so on",
    );
    assert_eq!(run.error().kind(), ErrorKind::Framing);
}

#[test]
fn a_body_of_another_format_than_the_named_one_is_no_answer_without_calls() {
    let recorded = |name: &str| {
        let path = format!("{}/tests/streams/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).unwrap()
    };
    for (format, name) in [
        (WireFormat::OpenAiChat, "openai-chat/one-call.sse"),
        (WireFormat::OpenAiResponses, "openai-responses/one_call.sse"),
        (WireFormat::Anthropic, "anthropic/one-call-after-text.sse"),
        (WireFormat::Gemini, "gemini/one-call.sse"),
        (
            WireFormat::GeminiInteractions,
            "gemini-interactions/one-call.sse",
        ),
        (WireFormat::Cohere, "cohere/one-call.sse"),
    ] {
        let body = format!(
            ": ping\n\ndata: {{\"type\":\"ping\"}}\n\n{}",
            recorded(name)
        );
        for named in WireFormat::all() {
            for end in ["", DONE] {
                let run = both(named, format!("{body}{end}"));
                let reads = named == format
                    || (named, format) == (WireFormat::Mistral, WireFormat::OpenAiChat);
                assert_eq!(
                    (run.calls.len(), run.end == End::Clean),
                    (usize::from(reads), reads),
                    "{format} as {named}"
                );
                if !reads && named != WireFormat::Ollama {
                    let error = run.error();
                    assert_eq!(
                        (error.kind(), error.offset()),
                        (ErrorKind::Undecodable, 31),
                        "{error}"
                    );
                    let said = format!("the body is of the format {format}, not of {named}");
                    assert_eq!(error.message(), said);
                }
            }
        }
    }
}

#[test]
fn a_foreign_event_before_an_answer_is_nothing() {
    let foreign = data(&json!({"type": "message_start", "message": {}}));
    finished(&[foreign, whole()]).assert_whole(&[tide()]);
    // Nor does a body tell of the next one.
    let mut parser = ToolCallParser::new(WireFormat::OpenAiChat);
    parser
        .push(message("end_turn", &[]).as_bytes())
        .for_each(drop);
    assert!(parser.finish().any(|event| event.is_err()));
    parser.reset();
    parser.push(DONE.as_bytes()).for_each(drop);
    assert!(parser.finish().next().is_none());
}

#[test]
fn one_whole_document_of_no_format_is_no_truncation() {
    for body in [
        "{\"detail\":\"Not Found\"}",
        "data: {\"detail\":\"Not Found\"}",
    ] {
        for end in ["", "\n", "\n\n"] {
            let run = both(WireFormat::Auto, format!("{body}{end}"));
            assert_eq!(
                run.error().kind(),
                ErrorKind::UnknownFormat,
                "{body:?}{end:?}"
            );
        }
        let cut = &body[..body.len() - 3];
        let run = both(WireFormat::Auto, cut);
        assert_eq!(
            (run.end, run.error().kind()),
            (End::Truncated, ErrorKind::Truncated)
        );
        assert_eq!(run.error().offset(), cut.len() as u64);
    }
}
