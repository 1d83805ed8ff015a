//! WIRE_FORMATS 9.3: the name and the type.

use callstitch::{AnomalyKind, CallState, ToolKind};
use serde_json::{Value, json};

use super::finished;
use super::support::run::Seen;
use super::support::wire::{calls, opening, piece};

fn named(name: Value, text: &str) -> String {
    calls(json!([{"index": 0, "id": "call_1", "function": {"name": name, "arguments": text}}]))
}

fn next(name: Value, text: &str) -> String {
    calls(json!([{"index": 0, "function": {"name": name, "arguments": text}}]))
}

fn one_call(run: &super::Run) {
    run.assert_whole(&[("tide_height", json!({"port": "Brest"}))]);
}

#[test]
fn quirk_q28_the_full_name_on_every_delta_is_one_name() {
    let run = finished(&[
        named(json!("tide_height"), ""),
        next(json!("tide_height"), "{\"port\":"),
        next(json!("tide_height"), "\"Brest\"}"),
    ]);
    one_call(&run);
    run.assert_told(AnomalyKind::RepeatedName);
    // Neither index nor id beside it (Q1).
    let bare = |text: &str| {
        calls(json!([{"type": "function", "function": {"name": "tide_height", "arguments": text}}]))
    };
    one_call(&finished(&[
        bare(""),
        bare("{\"port\":"),
        bare("\"Brest\"}"),
    ]));
    one_call(&finished(&[bare(""), bare("{\"port\":\"Brest\"}")]));
    // Several documents in one event are events of their own (E13).
    let joined = [bare(""), bare("{\"port\":"), bare("\"Brest\"}")];
    let joined = joined.map(|chunk| chunk.trim_end().to_owned() + "\n");
    one_call(&finished(&[joined.concat() + "\n"]));
    // A whole text ends a call.
    let whole = "{\"port\":\"Brest\"}";
    assert_eq!(
        finished(&[bare(""), bare(whole), bare(whole)]).calls.len(),
        2
    );
}

#[test]
fn quirk_q29_a_name_in_pieces_is_joined_before_the_text_begins() {
    let run = finished(&[
        named(json!("tide_"), ""),
        next(json!("height"), ""),
        piece(0, "{\"port\":\"Brest\"}"),
    ]);
    one_call(&run);
    run.assert_told(AnomalyKind::NameInPieces);
    // Nobody was told half of it.
    let starts: Vec<_> = run
        .events
        .iter()
        .filter_map(|seen| match seen {
            Seen::Started { name, .. } => Some(name.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(starts, ["tide_height"]);
    // With the id on every piece as well.
    one_call(&finished(&[
        named(json!("tide_"), ""),
        named(json!("height"), ""),
        piece(0, "{\"port\":\"Brest\"}"),
    ]));
}

#[test]
fn quirk_q30_an_empty_name_is_absent() {
    let run = finished(&[
        named(json!("tide_height"), "{\"port\":"),
        next(json!(""), "\"Brest\"}"),
    ]);
    one_call(&run);
    assert_eq!(run.anomalies, []);
}

#[test]
fn quirk_q31_a_null_name_is_absent() {
    let run = finished(&[
        named(json!("tide_height"), "{\"port\":"),
        next(Value::Null, "\"Brest\"}"),
    ]);
    one_call(&run);
    assert_eq!(run.anomalies, []);
}

#[test]
fn quirk_q32_the_text_null_is_no_name_and_the_type_has_no_case() {
    let run = finished(&[
        calls(
            json!([{"index": 0, "id": "call_1", "type": "FUNCTION", "function": {"name": "tide_height", "arguments": ""}}]),
        ),
        calls(
            json!([{"index": 0, "type": "FUNCTION", "function": {"name": "null", "arguments": "{\"port\":\"Brest\"}"}}]),
        ),
    ]);
    one_call(&run);
    assert_eq!(run.calls[0].kind(), &ToolKind::Function);
    assert_eq!(run.anomalies, []);
}

#[test]
fn quirk_q33_an_empty_name_first_and_the_real_one_later() {
    let run = finished(&[
        named(json!(""), ""),
        next(json!("tide_height"), ""),
        piece(0, "{\"port\":\"Brest\"}"),
    ]);
    one_call(&run);
    assert_eq!(run.ids(), [Some("call_1")]);
}

#[test]
fn quirk_q34_the_name_after_the_first_fragments() {
    let run = finished(&[
        calls(json!([{"index": 0, "id": "call_1", "function": {"arguments": "{\"port\":"}}])),
        next(json!("tide_height"), "\"Brest\"}"),
    ]);
    one_call(&run);
    run.assert_told(AnomalyKind::LateName);
}

#[test]
fn quirk_q35_arguments_before_any_id_or_name() {
    let run = finished(&[
        piece(0, "{\"port\":"),
        piece(0, "\"Brest\"}"),
        opening(0, "call_1", "tide_height", ""),
    ]);
    one_call(&run);
    assert_eq!(run.ids(), [Some("call_1")]);
    run.assert_told(AnomalyKind::LateName);
    // Without any index as well.
    let run = finished(&[piece(None, "{\"port\":"), next_anywhere("\"Brest\"}")]);
    one_call(&run);
}

fn next_anywhere(text: &str) -> String {
    calls(json!([{"function": {"name": "tide_height", "arguments": text}}]))
}

#[test]
fn quirk_q35b_a_call_that_never_gets_a_name_is_flagged() {
    let run = finished(&[calls(
        json!([{"index": 0, "id": "call_1", "function": {"arguments": "{\"port\":\"Brest\"}"}}]),
    )]);
    run.assert_calls(&[("", CallState::Unnamed, json!({"port": "Brest"}))]);
    assert!(!run.calls[0].is_usable());
    run.assert_told(AnomalyKind::MissingName);
}

#[test]
fn another_name_after_the_text_began_changes_nothing() {
    let run = finished(&[
        named(json!("tide_height"), "{\"port\":"),
        calls(
            json!([{"index": 0, "id": "call_1", "function": {"name": "moon_phase", "arguments": "\"Brest\"}"}}]),
        ),
    ]);
    one_call(&run);
    run.assert_told(AnomalyKind::DifferentName);
}
