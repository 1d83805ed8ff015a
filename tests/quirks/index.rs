//! WIRE_FORMATS 9.1: the index.

use callstitch::{AnomalyKind, CallState, Config, ErrorKind, WireFormat};
use serde_json::{Value, json};

use super::support::run::{both_with, config};
use super::support::wire::{calls, choices, opening, piece};
use super::{chat, finished};

const TIDE: &str = r#"{"port":"Brest"}"#;
const MOON: &str = r#"{"day":3}"#;

fn tide() -> (&'static str, serde_json::Value) {
    ("tide_height", json!({"port": "Brest"}))
}

fn moon() -> (&'static str, serde_json::Value) {
    ("moon_phase", json!({"day": 3}))
}

#[test]
fn quirk_q01_a_missing_index_is_not_zero() {
    let run = finished(&[
        opening(None, "call_1", "tide_height", "{\"port\":"),
        piece(None, "\"Brest\"}"),
        opening(None, "call_2", "moon_phase", ""),
        piece(None, MOON),
    ]);
    run.assert_whole(&[tide(), moon()]);
    assert_eq!(run.ids(), [Some("call_1"), Some("call_2")]);
    assert!(run.calls.iter().all(|call| call.wire_index().is_none()));
    run.assert_told(AnomalyKind::MissingIndex);
}

#[test]
fn quirk_q02_a_null_index_is_a_missing_one() {
    let run = finished(&[calls(
        json!([{"index": null, "id": "call_1", "function": {"name": "tide_height", "arguments": TIDE}},
                     {"index": null, "id": "call_2", "function": {"name": "moon_phase", "arguments": MOON}}]),
    )]);
    run.assert_whole(&[tide(), moon()]);
    run.assert_told(AnomalyKind::MissingIndex);
}

#[test]
fn quirk_q03_a_new_id_with_a_name_on_an_occupied_index_is_a_new_call() {
    let run = finished(&[
        opening(0, "call_1", "tide_height", "{\"port\":"),
        piece(0, "\"Brest\"}"),
        opening(0, "call_2", "moon_phase", "{\"day\""),
        piece(0, ":3}"),
    ]);
    run.assert_whole(&[tide(), moon()]);
    assert_eq!(run.ids(), [Some("call_1"), Some("call_2")]);
    run.assert_told(AnomalyKind::ReusedIndex);
}

#[test]
fn quirk_q03_the_same_function_twice_on_index_zero_is_two_calls() {
    let run = finished(&[
        opening(0, "call_1", "tide_height", TIDE),
        opening(0, "call_2", "tide_height", r#"{"port":"Oban"}"#),
    ]);
    run.assert_whole(&[tide(), ("tide_height", json!({"port": "Oban"}))]);
}

#[test]
fn quirk_q04_gaps_between_indexes_are_labels() {
    let run = finished(&[
        opening(3, "call_1", "tide_height", ""),
        opening(1, "call_2", "moon_phase", ""),
        piece(1, MOON),
        piece(3, TIDE),
    ]);
    run.assert_whole(&[tide(), moon()]);
    let labels: Vec<_> = run.calls.iter().map(|call| call.wire_index()).collect();
    assert_eq!(labels, [Some(3), Some(1)]);
    assert_eq!(run.anomalies, [], "a sparse label is nothing unusual");
}

#[test]
fn quirk_q05_the_index_of_the_tool_in_the_request_is_no_place() {
    // Both calls use the second tool of the request: both say 1.
    let run = finished(&[
        opening(1, "call_1", "moon_phase", MOON),
        opening(1, "call_2", "moon_phase", "{\"day\":4}"),
    ]);
    run.assert_whole(&[moon(), ("moon_phase", json!({"day": 4}))]);
    run.assert_told(AnomalyKind::ReusedIndex);
}

#[test]
fn quirk_q06_a_negative_index_is_a_missing_one() {
    let run = finished(&[
        opening(-1, "call_1", "tide_height", "{\"port\":"),
        piece(-1, "\"Brest\"}"),
        opening(-1, "call_2", "moon_phase", MOON),
    ]);
    run.assert_whole(&[tide(), moon()]);
    run.assert_told(AnomalyKind::NegativeIndex);
}

#[test]
fn quirk_q07_an_index_in_digits_or_as_a_fraction_of_nothing_is_read() {
    let entry = |index: &Value, id: &str, name: &str, text: &str| {
        calls(json!([{"index": index, "id": id, "function": {"name": name, "arguments": text}}]))
    };
    for (first, second) in [
        (json!("0"), json!("1")),
        (json!(0.0), json!(1.0)),
        (json!("0.0"), json!("1.0")),
    ] {
        for later in [(json!(0), json!(1)), (first.clone(), second.clone())] {
            let run = finished(&[
                entry(&first, "call_1", "tide_height", ""),
                entry(&second, "call_2", "moon_phase", ""),
                calls(json!([{"index": later.1, "function": {"arguments": MOON}}])),
                calls(json!([{"index": later.0, "function": {"arguments": TIDE}}])),
            ]);
            run.assert_whole(&[tide(), moon()]);
            assert_eq!(run.calls[1].wire_index(), Some(1));
        }
    }
}

#[test]
fn quirk_q08_arguments_under_another_index_than_the_name() {
    let run = finished(&[
        opening(0, "call_1", "tide_height", ""),
        piece(1, "{\"port\":"),
        piece(1, "\"Brest\"}"),
        opening(2, "call_2", "moon_phase", ""),
        piece(3, MOON),
    ]);
    run.assert_whole(&[tide(), moon()]);
    run.assert_told(AnomalyKind::UnknownLabel);
}

#[test]
fn quirk_q09_the_last_fragment_under_the_next_index() {
    let run = finished(&[
        opening(0, "call_1", "tide_height", "{\"port\":"),
        piece(0, "\"Brest\""),
        piece(1, "}"),
    ]);
    run.assert_whole(&[tide()]);
    run.assert_told(AnomalyKind::UnknownLabel);
}

#[test]
fn quirk_q10_an_index_and_an_id_of_its_own_for_every_fragment() {
    let next = |index: i64, id: &str, text: &str| {
        calls(
            json!([{"index": index, "id": id, "type": "FUNCTION", "function": {"name": "", "arguments": text}}]),
        )
    };
    let run = finished(&[
        opening(0, "call_0", "tide_height", ""),
        next(1, "call_1", "{\"port\":"),
        next(2, "call_2", "\"Bre"),
        next(3, "call_3", "st\"}"),
    ]);
    run.assert_whole(&[tide()]);
    assert_eq!(run.ids(), [Some("call_0")], "the first id stays");
    run.assert_told(AnomalyKind::DriftingId);
}

#[test]
fn quirk_q11_the_head_at_index_zero_and_the_tail_at_index_one() {
    let run = finished(&[
        opening(0, "call_1", "tide_height", TIDE),
        opening(0, "call_2", "moon_phase", "{\"day\""),
        piece(1, ":3}"),
    ]);
    run.assert_whole(&[tide(), moon()]);
}

#[test]
fn quirk_q12_one_call_mirrored_under_a_second_index_is_one_call() {
    let run = finished(&[
        opening(0, "call_1", "tide_height", TIDE),
        opening(1, "call_1", "tide_height", TIDE),
    ]);
    run.assert_whole(&[tide()]);
    assert_eq!(run.discarded.len(), 1);
    run.assert_told(AnomalyKind::MirroredCall);
}

#[test]
fn quirk_q13_two_entries_of_one_index_in_one_chunk() {
    let run = finished(&[calls(json!([
        {"index": 0, "id": "call_1", "type": "function", "function": {"name": "tide_height", "arguments": ""}},
        {"index": 0, "function": {"arguments": "{\"port\":\"Brest\"}"}},
    ]))]);
    run.assert_whole(&[tide()]);
    assert_eq!(run.anomalies, []);
}

#[test]
fn quirk_q14_a_huge_index_is_a_label() {
    for index in [1_000_000, 4_294_967_295_i64] {
        let run = finished(&[
            opening(index, "call_1", "tide_height", "{\"port\":"),
            piece(index, "\"Brest\"}"),
        ]);
        run.assert_whole(&[tide()]);
        assert_eq!(run.calls[0].wire_index(), Some(index));
    }
    // Beyond 32 bits no server is known to need one: an error that says so, and no memory.
    for index in [4_294_967_296_i64, i64::MAX] {
        let run = finished(&[opening(index, "call_1", "tide_height", TIDE)]);
        assert_eq!(run.error().kind(), ErrorKind::Limit);
    }
    // Beyond any integer it is read as none.
    let body = opening(0, "call_1", "tide_height", TIDE)
        .replace("\"index\":0,\"id", "\"index\":1e300,\"id");
    finished(&[body]).assert_whole(&[tide()]);
}

/// One choice asked for; the server counts tokens in `choices[].index`.
fn counting(single: bool) -> super::Run {
    let body = [
        choices(json!([{"index": 7, "delta": {"tool_calls": [{"index": 0, "id": "call_1", "function": {"name": "tide_height", "arguments": "{\"port\":"}}]}}])),
        choices(json!([{"index": 8, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": "\"Brest\"}"}}]}}])),
        choices(json!([{"index": 9, "delta": {}, "finish_reason": "tool_calls"}])),
        super::support::wire::DONE.to_owned(),
    ]
    .concat();
    let single_choice = || -> Config { config().single_choice(single) };
    both_with(WireFormat::OpenAiChat, single_choice, body)
}

#[test]
fn quirk_q15_a_choice_index_that_counts_tokens_is_ignored_where_one_choice_was_asked_for() {
    counting(true).assert_whole(&[tide()]);
    // Nobody said so: these are three choices, and the pieces of two are no call that could be run.
    assert!(counting(false).calls.iter().all(|call| !call.is_usable()));
}

#[test]
fn quirk_q16_text_and_calls_in_different_choices() {
    let body = [
        choices(json!([{"index": 0, "delta": {"content": "Looking."}}, {"index": 1, "delta": {"tool_calls": [{"index": 0, "id": "call_1", "function": {"name": "tide_height", "arguments": TIDE}}]}, "finish_reason": "tool_calls"}])),
        super::support::wire::DONE.to_owned(),
    ]
    .concat();
    let run = both_with(
        WireFormat::OpenAiChat,
        || config().single_choice(true),
        &body,
    );
    run.assert_whole(&[tide()]);
    assert_eq!((run.text.as_str(), run.calls[0].choice()), ("Looking.", 0));
    // Read as they are, both still come.
    let run = chat(&body);
    run.assert_whole(&[tide()]);
    assert_eq!(run.calls[0].choice(), 1);
}

#[test]
fn calls_of_one_choice_are_no_witnesses_for_another_choice() {
    // Two calls opened in choice 0, and the two nameless entries of choice 1 continue its own call.
    let entry =
        |id: &str, name: &str| json!({"id": id, "function": {"name": name, "arguments": "{"}});
    let anonymous = |text: &str| json!({"function": {"arguments": text}});
    let run = finished(&[
        choices(json!([{"index": 1, "delta": {"tool_calls": [entry("call_9", "now")]}}])),
        choices(
            json!([{"index": 0, "delta": {"tool_calls": [entry("call_1", "tide_height"), entry("call_2", "moon_phase")]}}]),
        ),
        choices(
            json!([{"index": 1, "delta": {"tool_calls": [anonymous("\"zone\""), anonymous(":1}")]}}]),
        ),
        choices(
            json!([{"index": 0, "delta": {"tool_calls": [anonymous("\"port\":\"Brest\"}"), anonymous("\"day\":3}")]}}]),
        ),
    ]);
    let mut found: Vec<_> = run
        .calls
        .iter()
        .map(|call| (call.name(), call.arguments().to_json()))
        .collect();
    found.sort_unstable();
    assert_eq!(
        found,
        [
            ("moon_phase", MOON.to_owned()),
            ("now", "{\"zone\":1}".to_owned()),
            ("tide_height", TIDE.to_owned()),
        ]
    );
}

#[test]
fn fragments_without_index_pair_by_position_with_the_calls_of_the_chunk_before() {
    let run = finished(&[
        calls(
            json!([{"id": "call_1", "function": {"name": "tide_height", "arguments": ""}},
                     {"id": "call_2", "function": {"name": "moon_phase", "arguments": ""}}]),
        ),
        calls(
            json!([{"function": {"arguments": "{\"port\":"}}, {"function": {"arguments": "{\"day\":"}}]),
        ),
        calls(
            json!([{"function": {"arguments": "\"Brest\"}"}}, {"function": {"arguments": "3}"}}]),
        ),
    ]);
    run.assert_whole(&[tide(), moon()]);
}

#[test]
fn a_fragment_that_two_half_open_calls_could_own_flags_both() {
    for opened in [["{\"port\":", "{\"day\":"], ["", ""]] {
        let mut chunks = vec![calls(json!([
            {"id": "call_1", "function": {"name": "tide_height", "arguments": opened[0]}},
            {"id": "call_2", "function": {"name": "moon_phase", "arguments": opened[1]}},
        ]))];
        if opened[0].is_empty() {
            chunks.push(calls(json!([{"function": {"arguments": "{\"port\":"}}, {"function": {"arguments": "{\"day\":"}}])));
        }
        chunks.push(piece(None, "3}"));
        let run = finished(&chunks);
        assert_eq!(run.calls.len(), 2);
        assert!(run.calls.iter().all(|call| !call.is_usable()), "{opened:?}");
        run.assert_told(AnomalyKind::AmbiguousFragment);
    }
}

#[test]
fn only_fragments_that_name_no_call_pair_by_position() {
    let opened = calls(json!([
        {"id": "call_1", "function": {"name": "tide_height", "arguments": TIDE}},
        {"id": "call_2", "function": {"name": "moon_phase", "arguments": "{\"day\":"}},
    ]));
    let rest = json!({"function": {"arguments": "3}"}});
    for beside in [
        json!({"id": "call_3", "function": {"name": "now", "arguments": "{}"}}),
        json!({"id": "call_1", "function": {"arguments": ""}}),
        json!({"extra_content": {"google": {"thought_signature": "c2ln"}}}),
    ] {
        for entries in [json!([rest, beside]), json!([beside, rest])] {
            // What stands first of two decides only where the fragment is nobody's.
            if entries[0] == beside && beside.get("id").is_some() {
                continue;
            }
            let run = finished(&[opened.clone(), calls(entries)]);
            assert_eq!(run.calls[0].arguments().raw(), TIDE, "{beside}");
            assert_eq!(run.calls[1].arguments().raw(), MOON, "{beside}");
        }
    }
}

/// cases/README.md, rule 3.
#[test]
fn a_fragment_continues_the_newest_call_that_is_not_whole() {
    let tide = || ("tide_height", json!({"port": "Brest"}));
    for (first, rest) in [
        ("{\"port\":", "\"Brest\"}"),
        ("", TIDE),
        (" ", TIDE),
        ("{\"at\":", "{\"port\":\"Brest\"}}"),
    ] {
        let run = finished(&[
            opening(None, "call_1", "tide_height", first),
            opening(None, "call_2", "moon_phase", MOON),
            piece(None, rest),
        ]);
        let states: Vec<_> = run.calls.iter().map(|call| call.state()).collect();
        assert_eq!(states, [CallState::Whole; 2], "{first:?}");
        assert_eq!(run.calls[0].arguments().raw(), format!("{first}{rest}"));
        assert_eq!(run.calls[1].arguments().raw(), MOON);
    }
    // Under a label that nobody has.
    finished(&[
        opening(3, "call_1", "tide_height", ""),
        opening(4, "call_2", "moon_phase", MOON),
        piece(0, TIDE),
    ])
    .assert_whole(&[tide(), moon()]);
    // Text that the latest call may have sent, or that two calls may begin, or that is none for it.
    let settled = |texts: &[&str], blank: &[&str]| {
        let mut chunks: Vec<_> = blank
            .iter()
            .map(|id| opening(None, id, "now", ""))
            .collect();
        chunks.push(opening(None, "call_2", "moon_phase", texts[0]));
        chunks.extend(texts[1..].iter().map(|text| piece(None, text)));
        finished(&chunks)
    };
    let encoded = json!(MOON).to_string();
    for texts in [
        &[MOON, MOON][..],
        &[MOON, "{\"day\"", ":3}"],
        &[MOON, &encoded],
        &[MOON, "{\"day\""],
        &[MOON, "}"],
        &["{}", MOON],
    ] {
        let run = settled(texts, &["call_1"]);
        assert_eq!(run.calls[0].arguments().raw(), "", "{texts:?}");
        assert_eq!(run.calls[1].arguments().to_json(), MOON, "{texts:?}");
    }
    let run = settled(&["", TIDE, MOON], &["call_1"]);
    assert!(!run.calls[1].is_usable(), "whose is the second?");
    let run = settled(&[MOON, TIDE], &["call_0", "call_1"]);
    assert!(!run.calls[2].is_usable(), "which of the two?");
    let custom = calls(
        json!([{"id": "call_1", "type": "custom", "custom": {"name": "sql", "input": "select"}}]),
    );
    let run = finished(&[
        custom,
        opening(None, "call_2", "moon_phase", "{}"),
        piece(None, MOON),
    ]);
    assert_eq!(run.calls[0].arguments().raw(), "select");
}

#[test]
fn an_index_beyond_the_limit_opens_no_call() {
    let run = both_with(
        WireFormat::OpenAiChat,
        || config().max_index(7),
        [
            opening(0, "call_1", "tide_height", TIDE),
            opening(8, "call_2", "now", "{}"),
        ]
        .concat(),
    );
    let states: Vec<_> = run
        .calls
        .iter()
        .map(|call| (call.name(), call.state()))
        .collect();
    assert_eq!(states, [("tide_height", CallState::Whole)]);
    assert_eq!(run.error().kind(), ErrorKind::Limit);
}

#[test]
fn quirk_q03_a_new_id_with_the_same_name_opens_another_custom_call() {
    // Free text is never known to be unfinished: the second call is no drift of the first one's id (Q20).
    let open = |id: &str, text: &str| {
        calls(
            json!([{"index": 0, "id": id, "type": "custom", "custom": {"name": "sql", "input": text}}]),
        )
    };
    let more = |text: &str| calls(json!([{"index": 0, "custom": {"input": text}}]));
    for (head, tail) in [("", "select 2"), ("select", " 2")] {
        let run = finished(&[
            open("call_1", "select"),
            more(" 1"),
            open("call_2", head),
            more(tail),
        ]);
        let texts: Vec<_> = run
            .calls
            .iter()
            .map(|call| call.arguments().raw())
            .collect();
        assert_eq!(texts, ["select 1", "select 2"]);
        assert_eq!(run.ids(), [Some("call_1"), Some("call_2")]);
    }
}
