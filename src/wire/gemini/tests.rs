//! What the decoder says of each part, each end and each deviation of WIRE_FORMATS 4.

#![allow(clippy::indexing_slicing)]

use super::*;
use crate::wire::spoken::spoken;

fn says(payloads: &[&str]) -> Vec<String> {
    spoken(decoder(), payloads)
}

/// The parts of one candidate, each in a chunk of its own, and what is said of the calls.
fn says_of_parts(parts: &[&str]) -> Vec<String> {
    let chunk = |part: &&str| {
        format!(r#"{{"candidates":[{{"content":{{"role":"model","parts":[{part}]}}}}]}}"#)
    };
    let chunks: Vec<String> = parts.iter().map(chunk).collect();
    says(&chunks.iter().map(String::as_str).collect::<Vec<_>>())
}

/// All that was appended to one call.
fn text_of(lines: &[String]) -> String {
    lines
        .iter()
        .filter_map(|line| line.strip_prefix("labelled + "))
        .collect()
}

#[test]
fn a_call_is_whole_on_arrival_and_keeps_its_id_and_signature() {
    let first = r#"{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"id":"call_8110","name":"tide_height","args":{"port":"Brest"}},"thoughtSignature":"c2lnbmF0dXJl"}]},"index":0}],"usageMetadata":{"promptTokenCount":50},"modelVersion":"gemini-demo","responseId":"r-1"}"#;
    let last = r#"{"candidates":[{"content":{"role":"model","parts":[{"text":""}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":50,"candidatesTokenCount":9},"modelVersion":"gemini-demo","responseId":"r-1"}"#;
    assert_eq!(
        says(&[first, last]),
        [
            r#"opens call_8110 name tide_height thoughtSignature="c2lnbmF0dXJl" whole {"port":"Brest"}"#,
            "close Arrival",
            r#"usage {"promptTokenCount":50}"#,
            "finish STOP Stop",
            "may end",
            r#"usage {"promptTokenCount":50,"candidatesTokenCount":9}"#,
        ]
    );
}

#[test]
fn the_members_of_a_part_come_in_any_order() {
    let call = r#""functionCall":{"name":"now","args":{}}"#;
    let code = r#""executableCode":{"language":"PYTHON","code":"1"}"#;
    let (opens, close) = ("opens name now whole {}", "close Arrival");
    for (beside, text) in [
        (r#""text":"""#, None),
        (r#""text":null"#, None),
        (r#""text":"Low.""#, Some("Answer Low.")),
        (r#""thought":false"#, None),
        (code, None),
    ] {
        let expected: Vec<_> = text.into_iter().chain([opens, close]).collect();
        for part in [
            format!("{{{call},{beside}}}"),
            format!("{{{beside},{call}}}"),
        ] {
            assert_eq!(says_of_parts(&[&part]), expected, "{part}");
        }
    }
    let run = says_of_parts(&[&format!(r#"{{{code},"text":""}}"#)]);
    assert_eq!(run, says_of_parts(&[&format!(r#"{{"text":"",{code}}}"#)]));
    assert!(run[0].contains("provider"), "{run:?}");
}

#[test]
fn parallel_calls_of_one_tool_are_told_apart_in_one_chunk_and_in_two() {
    let call = |port: &str| {
        format!(r#"{{"functionCall":{{"name":"tide_height","args":{{"port":"{port}"}}}}}}"#)
    };
    let (one, two) = (call("Brest"), call("Vigo"));
    let expected = [
        r#"opens name tide_height whole {"port":"Brest"}"#,
        "close Arrival",
        r#"opens name tide_height whole {"port":"Vigo"}"#,
        "close Arrival",
    ];
    assert_eq!(says_of_parts(&[&one, &two]), expected);
    assert_eq!(says_of_parts(&[&format!("{one},{two}")]), expected);
    assert_eq!(says_of_parts(&[&one, &one]).len(), 4);
}

#[test]
fn a_call_without_arguments_has_none() {
    let expected = ["opens name now whole {}", "close Arrival"];
    for call in [
        r#"{"name":"now"}"#,
        r#"{"name":"now","args":{}}"#,
        r#"{"name":"now","args":null}"#,
        r#"{"name":"now","willContinue":false}"#,
    ] {
        assert_eq!(
            says_of_parts(&[&format!(r#"{{"functionCall":{call}}}"#)]),
            expected
        );
    }
}

#[test]
fn a_reason_that_spoils_the_calls_is_spoken_before_them() {
    for reason in [
        "MALFORMED_FUNCTION_CALL",
        "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS",
    ] {
        let chunk = format!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"functionCall":{{"name":"f"}}}}]}},"finishReason":"{reason}"}}]}}"#
        );
        let said = says(&[&chunk]);
        assert_eq!(said[0], format!("finish {reason} MalformedCall"));
        assert_eq!(said[2..], ["opens name f whole {}", "close Arrival"]);
    }
}

#[test]
fn reasons_mean_what_they_say() {
    use FinishMeaning::*;
    for (reason, expected) in [
        ("STOP", Stop),
        ("MAX_TOKENS", Length),
        ("SAFETY", Filtered),
        ("PROHIBITED_CONTENT", Filtered),
        ("OTHER", Other),
        ("NO_SUCH_REASON", Other),
    ] {
        assert_eq!(meaning(reason), expected, "{reason}");
    }
}

#[test]
fn a_blocked_prompt_is_a_filtered_end() {
    let said = says(&[r#"{"promptFeedback":{"blockReason":"SAFETY","safetyRatings":[]}}"#]);
    assert_eq!(said, ["finish SAFETY Filtered", "may end"]);
    assert!(says(&[r#"{"promptFeedback":{"safetyRatings":[]}}"#]).is_empty());
}

#[test]
fn text_thoughts_and_their_signatures_pass() {
    let said = says_of_parts(&[
        r#"{"text":"Let me see.","thought":true}"#,
        r#"{"text":"Low \u00e0 9."}"#,
        r#"{"text":"","thoughtSignature":"c2ln"}"#,
        r#"{"inlineData":{"mimeType":"image/png","data":"AA"}}"#,
    ]);
    assert_eq!(
        said,
        ["Reasoning Let me see.", "Answer Low à 9.", "Signature c2ln"]
    );
}

#[test]
fn what_the_provider_runs_is_a_call_of_the_provider() {
    let said = says_of_parts(&[
        r#"{"executableCode":{"language":"PYTHON","code":"print(\"a\")\n","id":"x1"}}"#,
        r#"{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"a\n"}}"#,
        r#"{"toolCall":{"id":"t1","toolType":"GOOGLE_SEARCH_WEB","args":{"queries":["a"]}},"thoughtSignature":"c2ln"}"#,
        r#"{"toolResponse":{"id":"t1"}}"#,
    ]);
    assert_eq!(
        said,
        [
            r#"opens x1 name code_execution kind executableCode executor provider whole {"language":"PYTHON","code":"print(\"a\")\n"}"#,
            "close Arrival",
            r#"opens t1 name GOOGLE_SEARCH_WEB kind toolCall executor provider thoughtSignature="c2ln" whole {"queries":["a"]}"#,
            "close Arrival",
        ]
    );
}

#[test]
fn each_candidate_is_a_choice() {
    let said = says(&[r#"{"candidates":[
        {"content":{"parts":[{"functionCall":{"name":"a"}}]},"index":1,"finishReason":"STOP"},
        {"content":{"parts":[{"functionCall":{"name":"b"}}]},"index":0}]}"#]);
    assert_eq!(
        said,
        [
            "opens choice 1 name a whole {}",
            "close choice 1 Arrival",
            "finish choice 1 STOP Stop",
            "may end",
            "opens name b whole {}",
            "close Arrival",
        ]
    );
}

#[test]
fn an_error_comes_after_what_its_event_holds_and_in_any_shape() {
    let error = r#"{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}"#;
    assert_eq!(says(&[error]), ["error overloaded (503)"]);
    assert_eq!(says(&[&format!("[{error}]")]), ["error overloaded (503)"]);
    let both = r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"}}]}}],"error":{"message":"m"}}"#;
    assert_eq!(
        says(&[both]),
        ["opens name f whole {}", "close Arrival", "error m"]
    );
    assert!(says(&[r#"{"error":null}"#]).is_empty());
}

#[test]
fn wrong_shapes_cost_one_field() {
    assert!(says(&[r#"{"candidates":null,"usageMetadata":3}"#]).is_empty());
    assert!(says_of_parts(&["null", r#"{"functionCall":"f"}"#, r#"{"text":7}"#]).is_empty());
    assert_eq!(
        says_of_parts(&[r#"{"functionCall":{"name":7,"args":"{\"a\":1}"}}"#]),
        [r#"opens name 7 whole "{\"a\":1}""#, "close Arrival"]
    );
    assert_eq!(
        says_of_parts(&[r#"{"functionCall":{"args":{"a":1}}}"#]),
        [r#"opens whole {"a":1}"#, "close Arrival"]
    );
}

#[test]
fn streamed_arguments_become_argument_text_as_they_come() {
    let said = says(&[
        r#"{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"book_slot","willContinue":true},"thoughtSignature":"c2ln"}]}}],"responseId":"r-3"}"#,
        r#"{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.dock","stringValue":"Nor","willContinue":true}],"willContinue":true}}]}}],"responseId":"r-3"}"#,
        r#"{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.dock","stringValue":"th"}],"willContinue":true}}]}}],"responseId":"r-3"}"#,
        r#"{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.hours[0]","numberValue":6},{"jsonPath":"$.hours[1]","numberValue":7}],"willContinue":true}}]}}],"responseId":"r-3"}"#,
        r#"{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{}}]},"finishReason":"STOP"}],"responseId":"r-3"}"#,
    ]);
    assert_eq!(
        said,
        [
            r#"opens name book_slot thoughtSignature="c2ln""#,
            r#"labelled + {"dock":"Nor"#,
            r#"labelled + th""#,
            r#"labelled + ,"hours":[6,7"#,
            "labelled + ]}",
            "close BlockStop",
            "finish STOP Stop",
            "may end",
        ]
    );
}

const HEADER: &str = r#"{"functionCall":{"name":"f","willContinue":true}}"#;
const END: &str = r#"{"functionCall":{}}"#;

fn values(entries: &str) -> String {
    format!(r#"{{"functionCall":{{"partialArgs":[{entries}],"willContinue":true}}}}"#)
}

#[test]
fn a_streamed_call_ends_in_every_way_the_wire_knows() {
    let last =
        r#"{"functionCall":{"partialArgs":[{"jsonPath":"$.a","numberValue":1}]}}"#.to_owned();
    let more = values(r#"{"jsonPath":"$.a","numberValue":1}"#);
    let next = r#"{"functionCall":{"name":"f","args":{}}}"#;
    for parts in [
        &[HEADER, &last][..],
        &[HEADER, &more, END],
        &[
            HEADER,
            &more,
            r#"{"functionCall":{"willContinue":true}}"#,
            END,
        ],
        &[HEADER, &more, next],
        &[
            HEADER,
            &more,
            r#"{"executableCode":{"language":"PYTHON","code":"1"}}"#,
        ],
        &[r#"{"functionCall":{"name":"f","partialArgs":[{"jsonPath":"$.a","numberValue":1}]}}"#],
    ] {
        let said = says_of_parts(parts);
        assert_eq!(text_of(&said), r#"{"a":1}"#, "{parts:?}");
        assert!(said.contains(&"close BlockStop".to_owned()), "{parts:?}");
    }
    assert_eq!(
        says_of_parts(&[HEADER, END, END]),
        ["opens name f", "labelled + {}", "close BlockStop"]
    );
}

#[test]
fn a_streamed_call_that_nothing_ended_stays_cut_unless_the_model_stopped() {
    let more = values(r#"{"jsonPath":"$.a","numberValue":1}"#);
    let open = values(r#"{"jsonPath":"$.s","stringValue":"x","willContinue":true}"#);
    let ends = |values: &str, reason: &str| {
        let chunk = |part: &str, reason: &str| {
            format!(
                r#"{{"candidates":[{{"content":{{"parts":[{part}]}},"finishReason":"{reason}"}}]}}"#
            )
        };
        let said = says(&[&chunk(HEADER, ""), &chunk(values, ""), &chunk("", reason)]);
        (
            text_of(&said),
            said.iter().any(|line| line.starts_with("close")),
        )
    };
    assert_eq!(ends(&more, "STOP"), (r#"{"a":1}"#.to_owned(), true));
    assert_eq!(ends(&more, "MAX_TOKENS"), (r#"{"a":1 "#.to_owned(), false));
    assert_eq!(ends(&more, ""), (r#"{"a":1 "#.to_owned(), false));
    assert_eq!(ends(&open, "STOP"), (r#"{"s":"x"#.to_owned(), false));
    // What follows the last part and says no more of it takes nothing back.
    let chunk = |members: &str| format!(r#"{{"candidates":[{{{members}}}],"usageMetadata":{{}}}}"#);
    let part = |part: &str| chunk(&format!(r#""content":{{"parts":[{part}]}}"#));
    let stop = chunk(r#""finishReason":"STOP""#);
    let begun = [part(HEADER), part(&more), stop];
    for (last, is_whole) in [
        (chunk(r#""index":0"#), true),
        (
            part(&values(r#"{"jsonPath":"$.b","numberValue":2}"#)),
            false,
        ),
    ] {
        let payloads: Vec<&str> = begun.iter().chain([&last]).map(String::as_str).collect();
        let closed = says(&payloads).iter().any(|line| line.starts_with("close"));
        assert_eq!(closed, is_whole, "{last}");
    }
}

#[test]
fn a_value_part_without_a_call_is_a_call_without_a_name() {
    let said = says_of_parts(&[&values(r#"{"jsonPath":"$.a","numberValue":1}"#), END]);
    assert_eq!(
        said,
        [
            "opens",
            r#"labelled + {"a":1"#,
            "labelled + }",
            "close BlockStop"
        ]
    );
    assert!(says_of_parts(&[END, r#"{"functionCall":{"willContinue":true}}"#]).is_empty());
}

#[test]
fn an_id_that_comes_again_continues_its_call() {
    let part = |entries: &str| {
        format!(
            r#"{{"functionCall":{{"id":"c1","name":"f","partialArgs":[{entries}],"willContinue":true}}}}"#
        )
    };
    let said = says_of_parts(&[
        &part(r#"{"jsonPath":"$.a","numberValue":1}"#),
        &part(r#"{"jsonPath":"$.b","numberValue":2}"#),
        END,
    ]);
    assert_eq!(
        said.iter().filter(|line| line.starts_with("opens")).count(),
        1
    );
    assert_eq!(text_of(&said), r#"{"a":1,"b":2}"#);
}

#[test]
fn two_candidates_stream_a_call_each() {
    let chunk = |choice: u32, part: &str| {
        format!(r#"{{"candidates":[{{"content":{{"parts":[{part}]}},"index":{choice}}}]}}"#)
    };
    let value = values(r#"{"jsonPath":"$.a","numberValue":1}"#);
    let chunks: Vec<String> = [HEADER, &value, END]
        .iter()
        .flat_map(|part| [chunk(0, part), chunk(1, part)])
        .collect();
    let said = says(&chunks.iter().map(String::as_str).collect::<Vec<_>>());
    let of =
        |choice: &str| -> Vec<_> { said.iter().filter(|line| line.contains(choice)).collect() };
    assert_eq!(of("choice 1").len(), 4);
    assert_eq!(said.len(), 8);
}

#[test]
fn paths_that_go_back_are_stated_whole_at_the_close() {
    let said = says_of_parts(&[
        HEADER,
        &values(r#"{"jsonPath":"$.a.x","numberValue":1},{"jsonPath":"$.b","numberValue":2}"#),
        &values(r#"{"jsonPath":"$.a.y","numberValue":3}"#),
        END,
    ]);
    assert_eq!(
        said,
        [
            "opens name f",
            r#"labelled + {"a":{"x":1},"b":2"#,
            r#"labelled restated {"a":{"x":1,"y":3},"b":2}"#,
            "close BlockStop",
        ]
    );
}

#[test]
fn a_call_with_an_unreadable_path_never_looks_finished() {
    for path in [
        "",
        "$",
        "a",
        "$..a",
        "$[*]",
        "$[-1]",
        "$['a",
        "$.a[99999999999]",
        "$.a.",
    ] {
        let said = says_of_parts(&[
            HEADER,
            &values(&format!(r#"{{"jsonPath":"{path}","numberValue":1}}"#)),
            &values(r#"{"jsonPath":"$.b","numberValue":1}"#),
            END,
        ]);
        assert_eq!(
            said,
            [
                "opens name f",
                "labelled + {",
                "undecodable: a jsonPath of streamed arguments cannot be read",
                "close BlockStop",
            ],
            "{path}"
        );
    }
}
