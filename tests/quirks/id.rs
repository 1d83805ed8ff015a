//! WIRE_FORMATS 9.2: the id.

use std::collections::HashSet;

use callstitch::{AnomalyKind, CallState};
use serde_json::{Value, json};

use super::finished;
use super::support::wire::{calls, opening, piece};

/// A continuing entry with these members besides its index and its text.
fn next(mut entry: Value, text: &str) -> String {
    entry["index"] = json!(0);
    if entry.get("function").is_none() {
        entry["function"] = json!({});
    }
    entry["function"]["arguments"] = json!(text);
    calls(json!([entry]))
}

fn one_call(run: &super::Run, id: Option<&str>) {
    run.assert_whole(&[("tide_height", json!({"port": "Brest"}))]);
    assert_eq!(run.ids(), [id]);
}

#[test]
fn quirk_q17_id_type_and_name_on_every_delta() {
    let again = json!({"id": "call_1", "type": "function", "function": {"name": "tide_height"}});
    let run = finished(&[
        next(again.clone(), ""),
        next(again.clone(), "{\"port\":"),
        next(again, "\"Brest\"}"),
    ]);
    one_call(&run, Some("call_1"));
    run.assert_told(AnomalyKind::RepeatedName);
}

#[test]
fn quirk_q18_an_empty_id_is_absent() {
    let run = finished(&[
        opening(0, "call_1", "tide_height", "{\"port\":"),
        next(json!({"id": ""}), "\"Brest\"}"),
    ]);
    one_call(&run, Some("call_1"));
    assert_eq!(run.anomalies, []);
    let run = finished(&[opening(0, "", "tide_height", "{\"port\":\"Brest\"}")]);
    one_call(&run, None);
    assert_eq!(run.calls[0].wire_id(), None);
}

#[test]
fn quirk_q19_null_id_type_and_name_are_absent() {
    let run = finished(&[
        opening(0, "call_1", "tide_height", "{\"port\":"),
        next(
            json!({"id": null, "type": null, "function": {"name": null}}),
            "\"Brest\"}",
        ),
    ]);
    one_call(&run, Some("call_1"));
    assert_eq!(run.anomalies, []);
}

#[test]
fn quirk_q20_an_id_that_changes_on_the_way_keeps_the_first() {
    let run = finished(&[
        opening(0, "call_1", "tide_height", "{\"port\":"),
        next(json!({"id": "call_x"}), "\"Bre"),
        next(json!({"id": "call_y"}), "st\"}"),
    ]);
    one_call(&run, Some("call_1"));
    run.assert_told(AnomalyKind::DriftingId);
    // The name again, but the text is unfinished and goes on: no new call (D5).
    let run = finished(&[
        opening(0, "call_1", "tide_height", "{\"port\":"),
        next(
            json!({"id": "call_x", "function": {"name": "tide_height"}}),
            "\"Brest\"}",
        ),
    ]);
    one_call(&run, Some("call_1"));
}

#[test]
fn quirk_q20_ids_that_drift_for_long_do_not_cost_the_call_its_second_index() {
    // Twenty ids of one call, then its whole text twice more under another index: the first time the id says whose it is, the
    // second time only the index does.
    let text = format!("{{\"port\":\"{}\"}}", "B".repeat(20));
    let again = |id: &str| calls(json!([{"index": 3, "id": id, "function": {"arguments": text}}]));
    let mut chunks = vec![opening(0, "call_1", "tide_height", "{\"port\":\"")];
    chunks.extend((0..20).map(|at| next(json!({"id": format!("call_x{at}")}), "B")));
    chunks.extend([piece(0, "\"}"), again("call_1"), again("call_y")]);
    let run = finished(&chunks);
    run.assert_calls(&[(
        "tide_height",
        CallState::Repaired,
        json!({ "port": "B".repeat(20) }),
    )]);
    assert_eq!(run.ids(), [Some("call_1")]);
}

#[test]
fn quirk_q21_a_number_as_id_is_read_in_decimal() {
    let run = finished(&[
        next(
            json!({"id": 17, "function": {"name": "tide_height"}}),
            "{\"port\":",
        ),
        next(json!({"id": 17}), "\"Brest\"}"),
    ]);
    one_call(&run, Some("17"));
}

#[test]
fn quirk_q22_the_text_null_is_no_id() {
    let run = finished(&[
        opening(0, "call_1", "tide_height", "{\"port\":"),
        next(json!({"id": "null"}), "\"Brest\"}"),
    ]);
    one_call(&run, Some("call_1"));
    assert_eq!(run.anomalies, []);
}

#[test]
fn quirk_q23_two_calls_with_one_id_are_two_calls_with_two_ids() {
    for second in [0, 1] {
        let run = finished(&[
            opening(0, "call_1", "tide_height", "{\"port\":\"Brest\"}"),
            opening(second, "call_1", "tide_height", "{\"port\":\"Oban\"}"),
        ]);
        run.assert_whole(&[
            ("tide_height", json!({"port": "Brest"})),
            ("tide_height", json!({"port": "Oban"})),
        ]);
        assert_eq!(run.ids(), [Some("call_1"), None], "the first keeps it");
        assert_eq!(run.calls[1].wire_id(), Some("call_1"));
        run.assert_told(AnomalyKind::SharedId);
    }
}

#[test]
fn quirk_q23_another_name_under_another_index_is_another_call_before_the_first_has_text() {
    let tide = || opening(0, "call_1", "tide_height", "");
    let moon = || opening(1, "call_1", "moon_phase", "");
    // Neither has arguments (Q43).
    let run = finished(&[tide(), moon()]);
    run.assert_whole(&[("tide_height", json!({})), ("moon_phase", json!({}))]);
    assert_eq!(run.ids(), [Some("call_1"), None]);
    run.assert_told(AnomalyKind::SharedId);
    // The first keeps the id, though the second has text before it.
    let run = finished(&[tide(), moon(), piece(1, "{\"day\":3}")]);
    assert_eq!(run.ids(), [Some("call_1"), None]);
    // The label tells whose text it is, with the shared id (Q17) and without.
    let say = |index: i64, id: &str, text: &str| {
        calls(json!([{"index": index, "id": id, "function": {"arguments": text}}]))
    };
    for id in ["call_1", ""] {
        let run = finished(&[
            tide(),
            moon(),
            say(0, id, "{\"port\":"),
            say(1, id, "{\"day\":"),
            say(0, id, "\"Brest\"}"),
            say(1, id, "3}"),
        ]);
        run.assert_whole(&[
            ("tide_height", json!({"port": "Brest"})),
            ("moon_phase", json!({"day": 3})),
        ]);
    }
}

#[test]
fn quirk_q24_ids_are_passed_through_as_they_are() {
    for id in ["call_0", "functions.tide_height:0", "Qz81mPw0t", "äöü 1"] {
        let run = finished(&[opening(0, id, "tide_height", "{\"port\":\"Brest\"}")]);
        one_call(&run, Some(id));
    }
}

#[test]
fn quirk_q25_an_id_after_the_name_is_filled_in() {
    let named =
        |id: Value, text: &str| next(json!({"id": id, "function": {"name": "tide_height"}}), text);
    for late in [
        [
            named(Value::Null, ""),
            next(json!({"id": "call_1"}), "{\"port\":\"Brest\"}"),
        ],
        [
            named(Value::Null, "{\"port\":"),
            named(json!("call_1"), "\"Brest\"}"),
        ],
    ] {
        let run = finished(&late);
        one_call(&run, Some("call_1"));
        run.assert_told(AnomalyKind::LateId);
    }
}

#[test]
fn quirk_q26_calls_without_any_id_get_made_ones() {
    let named = |index: i64| {
        calls(
            json!([{"index": index, "function": {"name": "tide_height", "arguments": "{\"port\":\"Brest\"}"}}]),
        )
    };
    let run = finished(&[named(0), named(1)]);
    let tide = || ("tide_height", json!({"port": "Brest"}));
    run.assert_whole(&[tide(), tide()]);
    assert_eq!(run.ids(), [None, None]);
    let ids: HashSet<&str> = run.calls.iter().map(|call| call.id()).collect();
    assert_eq!(ids.len(), 2, "made ids differ");
    run.assert_told(AnomalyKind::MissingId);
}

#[test]
fn quirk_q27_an_id_inside_the_function_is_the_last_resort() {
    let inner = json!({"function": {"name": "tide_height", "id": "call_in"}});
    let run = finished(&[next(inner.clone(), "{\"port\":\"Brest\"}")]);
    one_call(&run, Some("call_in"));
    let mut both = inner;
    both["id"] = json!("call_out");
    let run = finished(&[next(both, "{\"port\":"), piece(0, "\"Brest\"}")]);
    one_call(&run, Some("call_out"));
}

/// Servers cut their texts between tokens, and a number, a literal or a key is one.
#[test]
fn quirk_q10_a_token_that_is_a_value_by_itself_goes_on_with_the_unfinished_call() {
    for tokens in [
        vec!["{\"day\":", "3", "}"],
        vec!["{", "\"port\"", ":", "\"Brest\"", "}"],
        vec!["{\"a\":[", "1", ",", "true", ",", "null", ",", "[2]", "]}"],
    ] {
        let object: Value = serde_json::from_str(&tokens.concat()).unwrap();
        let stream = |entry: &dyn Fn(usize) -> Value| {
            let entries = tokens.iter().enumerate().map(|(at, token)| {
                let mut entry = entry(at);
                entry["function"]["arguments"] = json!(token);
                entry
            });
            let chunks: Vec<_> = entries.clone().map(|entry| calls(json!([entry]))).collect();
            for run in [finished(&chunks), finished(&[calls(entries.collect())])] {
                run.assert_whole(&[("tide_height", object.clone())]);
            }
        };
        let name = |at: usize| match at {
            0 => json!({"name": "tide_height"}),
            _ => json!({}),
        };
        let id = |at: usize| format!("call_{at}");
        // A fresh id with every token (D8), and an index that grows or is not there.
        stream(&|at| json!({"index": at, "id": id(at), "function": name(at)}));
        stream(&|at| json!({"id": id(at), "function": name(at)}));
        // The name as well (D5).
        let named = json!({"name": "tide_height"});
        stream(&|at| json!({"index": 0, "id": id(at), "function": named}));
    }
}

#[test]
fn quirk_q28_a_token_that_is_a_value_by_itself_goes_on_though_the_name_comes_again() {
    for tokens in [
        ["{\"day\":", "3", "}"],
        ["{\"port\":", "\"Brest\"", "}"],
        ["{\"days\":", "[3]", "}"],
    ] {
        let object: Value = serde_json::from_str(&tokens.concat()).unwrap();
        let chunks = tokens
            .map(|token| calls(json!([{"function": {"name": "tide_height", "arguments": token}}])));
        finished(&chunks).assert_whole(&[("tide_height", object)]);
    }
    // A whole object is another call's, encoded once more or not.
    let encoded = json!("{\"day\":3}").to_string();
    for text in ["{\"day\":3}", &encoded] {
        let chunks = ["{\"port\":", text]
            .map(|text| calls(json!([{"function": {"name": "tide_height", "arguments": text}}])));
        assert_eq!(finished(&chunks).calls.len(), 2);
    }
}

#[test]
fn a_token_without_a_label_goes_on_with_the_newest_call_that_is_not_whole() {
    let entry = |id: &str, name: &str, text: &str| json!({"id": id, "function": {"name": name, "arguments": text}});
    for tokens in [["3", "}"], ["\"x\"", "}"], ["[3]", "}"]] {
        let object: Value =
            serde_json::from_str(&format!("{{\"day\":{}", tokens.concat())).unwrap();
        let run = finished(&[
            calls(json!([
                entry("call_1", "moon_phase", "{\"day\":"),
                entry("call_2", "now", "{\"zone\":1}"),
            ])),
            piece(None, tokens[0]),
            piece(None, tokens[1]),
        ]);
        run.assert_whole(&[("moon_phase", object), ("now", json!({"zone": 1}))]);
    }
}

#[test]
fn quirk_q25_an_id_that_comes_alone_without_an_index_is_the_latest_calls() {
    let named = |name: &str, text: &str| json!({"function": {"name": name, "arguments": text}});
    let whole = "{\"port\":\"Brest\"}";
    let id = calls(json!([{"id": "call_1"}]));
    for chunks in [
        vec![
            calls(json!([named("tide_height", "")])),
            id.clone(),
            piece(None, whole),
        ],
        vec![
            calls(json!([named("tide_height", "{\"port\":")])),
            id.clone(),
            piece(None, "\"Brest\"}"),
        ],
        vec![calls(json!([named("tide_height", whole)])), id.clone()],
        vec![calls(
            json!([named("tide_height", whole), {"id": "call_1", "function": {"arguments": ""}}]),
        )],
    ] {
        let run = finished(&chunks);
        one_call(&run, Some("call_1"));
        run.assert_told(AnomalyKind::LateId);
    }
    // Of two that lack one nobody knows whose it is.
    let run = finished(&[
        calls(json!([
            named("tide_height", whole),
            named("now", "{\"zone\":1}")
        ])),
        id,
    ]);
    assert_eq!(run.ids(), [None, None, Some("call_1")]);
}
