//! WIRE_FORMATS 9.4: the arguments.

use callstitch::{AnomalyKind, CallState, End, RepairKind, RepairLevel, WireFormat};
use serde_json::{Value, json};

use super::finished;
use super::support::run::{both, both_with, config};
use super::support::wire::{self, calls, delta, opening, piece};

/// The opening entry of a call whose arguments are this value.
fn valued(arguments: Value) -> String {
    calls(json!([{"index": 0, "id": "call_1", "type": "function",
        "function": {"name": "tide_height", "arguments": arguments}}]))
}

/// One call whose argument text comes in these pieces.
fn pieces(texts: &[&str]) -> super::Run {
    let mut chunks = vec![opening(0, "call_1", "tide_height", texts[0])];
    chunks.extend(texts[1..].iter().map(|text| piece(0, text)));
    finished(&chunks)
}

#[track_caller]
fn repaired(run: &super::Run, object: Value) {
    run.assert_calls(&[("tide_height", CallState::Repaired, object)]);
    assert!(!run.calls[0].arguments().repairs().is_empty());
    assert_eq!(run.end, End::Clean);
}

#[track_caller]
fn malformed(run: &super::Run, raw: &str) {
    assert_eq!(run.calls.len(), 1);
    assert_eq!(run.calls[0].state(), CallState::Malformed);
    assert_eq!(run.calls[0].arguments().raw(), raw);
    assert!(run.calls[0].arguments().object().is_err());
}

fn brest() -> Value {
    json!({"port": "Brest"})
}

#[test]
fn quirk_q36_an_empty_object_before_the_real_one() {
    repaired(&pieces(&["{}", "{\"port\":\"Brest\"}"]), brest());
    repaired(&pieces(&["{}", "{\"po", "rt\":\"Brest\"}"]), brest());
    let run = finished(&[valued(json!({})), piece(0, "{\"port\":\"Brest\"}")]);
    repaired(&run, brest());
    // Alone it is the answer.
    pieces(&["{}"]).assert_whole(&[("tide_height", json!({}))]);
}

#[test]
fn quirk_q37_growing_snapshots_are_settled_at_the_close() {
    let run = pieces(&["{", "{\"port\"", "{\"port\":\"Br", "{\"port\":\"Brest\"}"]);
    repaired(&run, brest());
    run.assert_told(AnomalyKind::DuplicateText);
    assert_eq!(
        run.calls[0].arguments().raw(),
        "{{\"port\"{\"port\":\"Br{\"port\":\"Brest\"}",
        "the text as sent stays"
    );
    // Brackets inside the cut strings balance by chance.
    repaired(
        &pieces(&["{\"a\":\"}{", "{\"a\":\"}{}{", "{\"a\":\"}{}{}\"}"]),
        json!({"a": "}{}{}"}),
    );
    // Resent as it is.
    repaired(
        &pieces(&["{\"port\":\"Brest\"}", "{\"port\":\"Brest\"}"]),
        brest(),
    );
}

#[test]
fn quirk_q36_the_real_one_may_come_in_snapshots_or_encoded_once_more() {
    for texts in [
        &["{}", "{\"port\":", "{\"port\":\"Brest\"}"][..],
        &["{}", "{", "{\"port\":\"Br", "{\"port\":\"Brest\"}"],
        &["{}", "\"{\\\"port\\\":\\\"Brest\\\"}\""],
    ] {
        repaired(&pieces(texts), brest());
    }
    // Two objects that are not the same stay two.
    let run = pieces(&["{}", "{\"port\":1}", "{\"day\":3}"]);
    assert_eq!(run.calls[0].state(), CallState::Malformed);
}

#[test]
fn quirk_q36_what_follows_the_placeholder_may_be_a_nested_object_that_begins_alike() {
    for (texts, object) in [
        (
            &["{}", "{\"filter\":", "{\"filter\":1}}"][..],
            json!({"filter": {"filter": 1}}),
        ),
        (
            &["{}", "{\"a\":[", "{\"a\":[1]}]}"],
            json!({"a": [{"a": [1]}]}),
        ),
        (
            &["{}", "{\"a\":", "{\"a\":1}}", "{\"a\":{\"a\":1}}"],
            json!({"a": {"a": 1}}),
        ),
    ] {
        repaired(&pieces(texts), object);
    }
}

#[test]
fn a_cut_text_that_may_be_a_nested_object_is_no_snapshot_where_nothing_vouches_for_it() {
    let texts: [&[&str]; 3] = [
        &["{\"and\":[", "{\"and\":[]}"],
        &["{\"filter\":", "{\"filter\":1}"],
        &["{\"a\":", "{\"a\":", "{\"a\":{}}"],
    ];
    for texts in texts {
        let open: Vec<String> = std::iter::once(opening(0, "call_1", "tide_height", texts[0]))
            .chain(texts[1..].iter().map(|text| piece(0, text)))
            .collect();
        let error = wire::data(&json!({"error": {"message": "no"}}));
        let ends = ["", &error, &[&wire::reason("length"), wire::DONE].concat()];
        for end in ends {
            let run = super::chat(open.concat() + end);
            assert_eq!(
                run.calls[0].state(),
                CallState::Truncated,
                "{texts:?} {end}"
            );
            assert_eq!(run.calls[0].arguments().raw(), texts.concat());
        }
        // A clean end vouches for the snapshots.
        assert_eq!(
            pieces(texts).calls[0].state(),
            CallState::Repaired,
            "{texts:?}"
        );
    }
    // What can be nothing but snapshots stands.
    let snapshots = [
        opening(0, "call_1", "tide_height", "{\"port\":\"B"),
        piece(0, "{\"port\":\"Brest\"}"),
    ];
    assert_eq!(
        super::chat(snapshots.concat()).calls[0].state(),
        CallState::Repaired
    );
}

#[test]
fn quirk_q37_a_nested_object_that_begins_alike_is_no_snapshot() {
    pieces(&["{\"a\":", "{\"a\":1}}"]).assert_whole(&[("tide_height", json!({"a": {"a": 1}}))]);
}

#[test]
fn quirk_q38_the_whole_text_once_more_after_its_deltas() {
    let run = pieces(&["{\"port\":", "\"Brest\"}", "{\"port\":\"Brest\"}"]);
    repaired(&run, brest());
    run.assert_told(AnomalyKind::DuplicateText);
    // Once more in pieces.
    repaired(
        &pieces(&["{\"port\":", "\"Brest\"}", "{\"port\":", "\"Brest\"}"]),
        brest(),
    );
}

#[test]
fn quirk_q39_a_doubly_encoded_copy_with_the_id() {
    let encoded = json!("{\"port\":\"Brest\"}").to_string();
    let run = finished(&[
        opening(0, "call_1", "tide_height", "{\"port\":"),
        piece(0, "\"Brest\"}"),
        opening(0, "call_1", "tide_height", &encoded),
    ]);
    repaired(&run, brest());
    // Without the name it is the same call, decoded once.
    let run = finished(&[
        opening(0, "call_1", "tide_height", "{\"port\":"),
        piece(0, "\"Brest\"}"),
        calls(json!([{"index": 0, "id": "call_1", "function": {"arguments": encoded}}])),
    ]);
    repaired(&run, brest());
    // And where the copy brings the id.
    let named =
        json!([{"index": 0, "function": {"name": "tide_height", "arguments": "{\"port\":"}}]);
    let run = finished(&[
        calls(named),
        piece(0, "\"Brest\"}"),
        opening(0, "call_1", "tide_height", &encoded),
    ]);
    repaired(&run, brest());
    assert_eq!(run.ids(), [Some("call_1")]);
}

#[test]
fn quirk_q37_the_last_snapshot_may_be_said_again_encoded_or_broken_off() {
    let whole = "{\"port\":\"Brest\"}";
    let encoded = json!(whole).to_string();
    for again in [&encoded, "{\"port\":\"Br", "{"] {
        repaired(&pieces(&["{\"port\":", whole, again]), brest());
        repaired(
            &pieces(&["{\"port\":", "\"Brest\"}", whole, again]),
            brest(),
        );
    }
    // Another object behind it stays malformed: neither is chosen.
    let other = json!("{\"port\":\"Oban\"}").to_string();
    for other in ["{\"port\":\"Oban\"}", &other] {
        let run = pieces(&["{\"port\":", whole, other]);
        assert_eq!(run.calls[0].state(), CallState::Malformed, "{other}");
    }
}

#[test]
fn quirk_q38_the_whole_text_once_more_under_its_id_and_name_with_other_white_space() {
    let spaced = "{\"port\": \"Brest\"}";
    let object = json!([{"index": 0, "id": "call_1", "function": {"name": "tide_height", "arguments": {"port": "Brest"}}}]);
    let encoded = json!("{\"port\":\"Brest\"}").to_string();
    for again in [
        opening(0, "call_1", "tide_height", "{\"port\":\"Brest\"}"),
        opening(0, "call_1", "tide_height", &encoded),
        calls(object),
    ] {
        let run = finished(&[opening(0, "call_1", "tide_height", spaced), again]);
        repaired(&run, brest());
    }
}

#[test]
fn quirk_q40_arguments_as_an_object() {
    let run = finished(&[valued(json!({"port": "Brest", "at": [1, null]}))]);
    run.assert_whole(&[("tide_height", json!({"port": "Brest", "at": [1, null]}))]);
    // `tool_calls` as one object in place of a list.
    let run = finished(&[delta(json!({"tool_calls": {"index": 0, "id": "call_1",
        "function": {"name": "tide_height", "arguments": {"port": "Brest"}}}}))]);
    run.assert_whole(&[("tide_height", brest())]);
    // A later object replaces an earlier one.
    let run = finished(&[
        valued(json!({"port": "Br"})),
        valued(json!({"port": "Brest"})),
    ]);
    let last = run.calls.last().unwrap();
    assert_eq!(
        Value::Object(last.arguments().object().unwrap().clone()),
        brest()
    );
}

#[test]
fn quirk_q40_an_empty_object_takes_the_place_of_no_other() {
    let (tide, empty) = (json!({"port": "Brest"}), json!({}));
    let more = |value: &Value| calls(json!([{"index": 0, "function": {"arguments": value}}]));
    let objects = |values: &[&Value]| {
        let rest = values[1..].iter().map(|value| more(value));
        finished(&[vec![valued(values[0].clone())], rest.collect()].concat())
    };
    malformed(&objects(&[&tide, &empty]), &format!("{tide}{{}}"));
    malformed(&objects(&[&tide, &json!("{}")]), &format!("{tide}{{}}"));
    malformed(
        &objects(&[&tide, &empty, &tide]),
        &format!("{tide}{{}}{tide}"),
    );
    repaired(&objects(&[&empty, &tide]), brest());
    repaired(&objects(&[&empty, &empty]), json!({}));
}

#[test]
fn quirk_q40_the_spelling_of_an_object_survives() {
    let body = valued(json!({"n": "N"})).replace("\"N\"", "1.50e3");
    let run = finished(&[body]);
    assert_eq!(run.calls[0].arguments().to_json(), "{\"n\":1.50e3}");
}

#[test]
fn quirk_q40_a_whole_value_after_other_text_replaces_nothing() {
    let run = finished(&[
        opening(0, "call_1", "tide_height", "2}"),
        calls(json!([{"index": 0, "function": {"arguments": {"a": 1}}}])),
        calls(json!([{"index": 0, "function": {"arguments": {}}}])),
    ]);
    malformed(&run, "2}{\"a\":1}{}");
}

#[test]
fn quirk_q41_null_arguments_are_absent() {
    let run = finished(&[valued(Value::Null), piece(0, "{\"port\":\"Brest\"}")]);
    run.assert_whole(&[("tide_height", brest())]);
    run.assert_told(AnomalyKind::NullArguments);
    let run = finished(&[valued(Value::Null)]);
    run.assert_whole(&[("tide_height", json!({}))]);
}

#[test]
fn quirk_q42_missing_arguments_or_function_are_absent() {
    let run = finished(&[
        calls(json!([{"index": 0, "id": "call_1", "function": {"name": "tide_height"}}])),
        calls(json!([{"index": 0}])),
        calls(json!([{"index": 0, "function": null}])),
        piece(0, "{\"port\":\"Brest\"}"),
    ]);
    run.assert_whole(&[("tide_height", brest())]);
    assert_eq!(run.anomalies, []);
}

#[test]
fn quirk_q43_a_header_alone_is_a_call_without_arguments() {
    let run = pieces(&[""]);
    run.assert_whole(&[("tide_height", json!({}))]);
    assert_eq!(run.calls[0].arguments().raw(), "");
    pieces(&["", "  \n"]).assert_whole(&[("tide_height", json!({}))]);
    pieces(&["null"]).assert_whole(&[("tide_height", json!({}))]);
}

#[test]
fn quirk_q44_an_empty_entry_beside_the_finish_reason_is_nothing() {
    let last = wire::choices(json!([{"index": 0, "finish_reason": "tool_calls",
        "delta": {"tool_calls": [{"index": 0, "function": {"arguments": ""}}]}}]));
    let run = finished(&[
        opening(0, "call_1", "tide_height", "{\"port\":\"Brest\"}"),
        last,
    ]);
    run.assert_whole(&[("tide_height", brest())]);
    // Under an index that no call has, too.
    let stray = wire::choices(json!([{"index": 0, "finish_reason": "tool_calls",
        "delta": {"tool_calls": [{"index": 5, "id": null, "function": {"name": null, "arguments": ""}}]}}]));
    let run = finished(&[
        opening(0, "call_1", "tide_height", "{\"port\":\"Brest\"}"),
        stray,
    ]);
    run.assert_whole(&[("tide_height", brest())]);
}

#[test]
fn quirk_q45_lost_bytes_are_flagged_and_never_an_empty_object() {
    // The last brace.
    let run = pieces(&["{\"port\":", "\"Brest\""]);
    run.assert_calls(&[("tide_height", CallState::Truncated, brest())]);
    // The first brace and quote.
    let run = pieces(&["port\":\"Brest\"}"]);
    assert!(!run.calls[0].is_usable());
    // Two calls merged into one text.
    malformed(
        &pieces(&["{\"port\":\"Brest\"}", "{\"port\":\"Oban\"}"]),
        "{\"port\":\"Brest\"}{\"port\":\"Oban\"}",
    );
    // A piece out of the middle, in a string: nobody can see it in the text alone; in the structure one can.
    let run = pieces(&["{\"port\":", "rest\",\"day\":3}"]);
    assert!(!run.calls[0].is_usable());
    assert!(!run.calls[0].arguments().raw().is_empty());
}

#[test]
fn quirk_q46_the_text_again_unterminated() {
    let run = finished(&[
        opening(0, "call_1", "tide_height", "{\"port\":\"Brest\"}"),
        calls(json!([{"index": 0, "function": {"name": null, "arguments": "{\"port\":\"Bre"}}])),
    ]);
    repaired(&run, brest());
}

#[test]
fn quirk_q46_the_text_again_under_an_index_that_nothing_else_names() {
    let again = |text: &str| {
        let (begin, rest) = text.split_at(3);
        [
            opening(0, "call_1", "tide_height", "{\"port\":\"Brest\"}"),
            piece(1, begin),
            piece(1, rest),
        ]
    };
    for text in ["{\"port\":\"Bre", "{\"port\":\"Brest\"}"] {
        let run = finished(&again(text));
        run.assert_whole(&[("tide_height", brest())]);
        assert_eq!(run.discarded.len(), 1);
        run.assert_told(AnomalyKind::MirroredCall);
        // What would have named it may have been cut.
        let run = both(WireFormat::OpenAiChat, again(text).concat());
        assert_eq!((run.calls.len(), run.discarded.len()), (2, 0));
        assert!(!run.calls[1].is_usable());
    }
    // Another text is another call, which nothing named.
    let run = finished(&again("{\"port\":\"Oban\"}"));
    assert_eq!((run.calls.len(), run.discarded.len()), (2, 0));
    assert!(!run.calls[1].is_usable());
}

#[test]
fn quirk_q47_raw_control_characters_inside_strings() {
    repaired(
        &pieces(&["{\"port\":\"Bre\nst\"}"]),
        json!({"port": "Bre\nst"}),
    );
    let strict = || config().repair(RepairLevel::None);
    let body = wire::finished(&[opening(
        0,
        "call_1",
        "tide_height",
        "{\"port\":\"Bre\nst\"}",
    )]);
    malformed(
        &both_with(WireFormat::OpenAiChat, strict, body),
        "{\"port\":\"Bre\nst\"}",
    );
}

#[test]
fn quirk_q48_escaped_line_ends_outside_strings() {
    repaired(&pieces(&["{\\n  \"port\": \"Brest\"\\n}"]), brest());
}

#[test]
fn quirk_q49_escapes_that_are_none() {
    repaired(
        &pieces(&["{\"path\":\"C:\\pier\"}"]),
        json!({"path": "C:\\pier"}),
    );
}

#[test]
fn quirk_q50_numbers_that_json_does_not_have() {
    for text in ["NaN", "Infinity", "-Infinity", "1e999"] {
        let text = format!("{{\"height\":{text}}}");
        malformed(&pieces(&[&text]), &text);
    }
}

#[test]
fn quirk_q51_garbage_around_the_object() {
    for text in [
        "```json\n{\"port\":\"Brest\"}\n```",
        "{\"port\":\"Brest\"}}",
        "{\"port\":\"Brest\"}]",
    ] {
        repaired(&pieces(&[text]), brest());
    }
    pieces(&["{\"port\":\"Brest\"}\n"]).assert_whole(&[("tide_height", brest())]);
}

#[test]
fn equal_fragments_are_all_kept() {
    pieces(&["{\"n\":", "1", "0", "0", "0", "}"])
        .assert_whole(&[("tide_height", json!({"n": 1000}))]);
}

#[test]
fn two_equal_calls_are_two_calls() {
    let run = finished(&[
        opening(0, "call_1", "tide_height", "{\"port\":\"Brest\"}"),
        opening(1, "call_2", "tide_height", "{\"port\":\"Brest\"}"),
    ]);
    run.assert_whole(&[("tide_height", brest()), ("tide_height", brest())]);
}

#[test]
fn one_layer_of_encoding_around_the_object_is_taken_off() {
    let run = pieces(&["\"{\\\"port\\\":", "\\\"Brest\\\"}\""]);
    repaired(&run, brest());
    assert_eq!(
        run.calls[0].arguments().repairs()[0].kind,
        RepairKind::Unwrapped
    );
}

#[test]
fn halves_of_a_character_in_two_deltas_are_one_character() {
    let half = |escape: &str| piece(0, "HALF").replace("HALF", escape);
    let run = finished(&[
        opening(0, "call_1", "tide_height", "{\"port\":\""),
        half("\\ud83c"),
        half("\\udf0a"),
        piece(0, "\"}"),
    ]);
    run.assert_whole(&[("tide_height", json!({"port": "🌊"}))]);
    assert_eq!(run.anomalies, []);
    // A half whose other half never came is replaced, and said.
    let run = finished(&[
        opening(0, "call_1", "tide_height", "{\"port\":\""),
        half("\\ud83c"),
        piece(0, "x\"}"),
    ]);
    run.assert_whole(&[("tide_height", json!({"port": "\u{fffd}x"}))]);
    run.assert_told(AnomalyKind::LoneSurrogate);
    // So is one at the end of everything, in a call and in text.
    let run = super::chat(
        [
            delta(json!({"content": "HALF"})).replace("HALF", "ahoy \\ud83c"),
            opening(0, "call_1", "tide_height", "{\"port\":\""),
            half("\\ud83c"),
        ]
        .concat(),
    );
    assert_eq!(run.calls[0].arguments().raw(), "{\"port\":\"\u{fffd}");
    assert_eq!(run.text, "ahoy \u{fffd}");
}
