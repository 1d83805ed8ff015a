//! WIRE_FORMATS 9.5: the finish reason and the end of the stream.

use callstitch::{AnomalyKind, CallState, ClosedBy, End, ErrorKind};
use serde_json::{Value, json};

use super::chat;
use super::support::run::Seen;
use super::support::wire::{DONE, choices, opening, piece, reason};

fn header() -> String {
    opening(0, "call_1", "tide_height", "")
}

fn whole() -> String {
    opening(0, "call_1", "tide_height", "{\"port\":\"Brest\"}")
}

fn brest() -> Value {
    json!({"port": "Brest"})
}

#[track_caller]
fn one_whole_call(chunks: &[String]) -> super::Run {
    let run = chat(chunks.concat());
    run.assert_whole(&[("tide_height", brest())]);
    run
}

fn done() -> String {
    DONE.to_owned()
}

#[test]
fn quirk_q52_stop_although_calls_were_made() {
    let run = one_whole_call(&[whole(), reason("stop"), done()]);
    assert_eq!(run.finish_reasons, ["stop"]);
}

#[test]
fn quirk_q53_no_finish_reason_ever() {
    let run = one_whole_call(&[whole(), done()]);
    assert_eq!(run.finish_reasons, Vec::<String>::new());
    assert_eq!(run.calls[0].evidence().closed_by, ClosedBy::Terminal);
}

#[test]
fn quirk_q54_an_empty_finish_reason_is_null() {
    let empty = choices(json!([{"index": 0, "delta": {"content": ""}, "finish_reason": ""}]));
    let run = one_whole_call(&[empty.clone(), whole(), empty, reason("tool_calls"), done()]);
    assert_eq!(run.finish_reasons, ["tool_calls"]);
    // It ends nothing either.
    let run = chat(
        [
            whole(),
            choices(json!([{"index": 0, "delta": {}, "finish_reason": ""}])),
        ]
        .concat(),
    );
    assert_eq!(run.error().kind(), ErrorKind::Truncated);
}

#[test]
fn quirk_q55_the_reason_in_the_chunk_of_the_last_text() {
    let last = choices(json!([{"index": 0, "finish_reason": "tool_calls",
        "delta": {"tool_calls": [{"index": 0, "function": {"arguments": "{\"port\":\"Brest\"}"}}]}}]));
    one_whole_call(&[header(), last.clone(), done()]);
    // Also where the body ends there.
    one_whole_call(&[header(), last]);
}

#[test]
fn quirk_q56_several_reasons_and_the_more_telling_one_wins() {
    let run = one_whole_call(&[whole(), reason("tool_calls"), reason("stop"), done()]);
    assert_eq!(run.finish_reasons, ["tool_calls", "stop"]);
    assert_eq!(
        run.calls[0].evidence().finish_reason.as_deref(),
        Some("tool_calls")
    );
    let run = one_whole_call(&[whole(), reason("tool_calls"), reason("tool_calls"), done()]);
    assert_eq!(
        run.finish_reasons,
        ["tool_calls"],
        "a repeated reason is one"
    );
    let run = chat([header(), reason("length"), reason("stop"), done()].concat());
    assert_eq!(run.calls[0].state(), CallState::Truncated);
    assert_eq!(run.end, End::Truncated);
}

#[test]
fn quirk_q57_a_stop_after_every_chunk_closes_nothing() {
    one_whole_call(&[
        header(),
        reason("stop"),
        piece(0, "{\"port\":"),
        reason("stop"),
        piece(0, "\"Brest\"}"),
        reason("stop"),
        done(),
    ]);
}

#[test]
fn quirk_q58_deltas_after_the_reason_still_count() {
    one_whole_call(&[
        opening(0, "call_1", "tide_height", "{\"port\":"),
        reason("tool_calls"),
        piece(0, "\"Brest\"}"),
        done(),
    ]);
    // A whole call after it, too.
    one_whole_call(&[reason("tool_calls"), whole(), done()]);
}

#[test]
fn quirk_q59_tool_calls_reported_over_a_cut_call() {
    let run = chat(
        [
            opening(0, "call_1", "tide_height", "{\"port\":\"Br"),
            reason("tool_calls"),
            done(),
        ]
        .concat(),
    );
    run.assert_calls(&[("tide_height", CallState::Truncated, json!({"port": "Br"}))]);
    assert_eq!(run.end, End::Clean, "the terminal was seen");
    assert_eq!(run.anomalies, [(AnomalyKind::LyingFinish, 1)]);
}

#[test]
fn quirk_q60_unknown_reasons_are_kept_as_text() {
    let run = one_whole_call(&[whole(), reason("because"), done()]);
    assert_eq!(run.finish_reasons, ["because"]);
    let run = chat(
        [
            opening(0, "call_1", "tide_height", "{\"po"),
            reason("error"),
            done(),
        ]
        .concat(),
    );
    assert_eq!(run.calls[0].state(), CallState::Truncated);
    assert_eq!(
        (run.end, run.error().kind()),
        (End::Error, ErrorKind::Provider)
    );
    // The upstream's own word outranks a gateway's that all is well.
    let native = choices(
        json!([{"index": 0, "delta": {}, "finish_reason": "tool_calls",
        "native_finish_reason": "max_output_tokens"}]),
    );
    let run = chat([header(), native, done()].concat());
    assert_eq!(run.calls[0].state(), CallState::Truncated);
    assert_eq!(run.end, End::Truncated);
    let evidence = run.calls[0].evidence();
    assert_eq!(evidence.finish_reason.as_deref(), Some("max_output_tokens"));
    let told = Seen::Finished(
        0,
        "tool_calls".to_owned(),
        Some("max_output_tokens".to_owned()),
    );
    assert!(run.events.contains(&told), "both words are passed on");
}

#[test]
fn quirk_q61_a_bare_end_after_a_reason_is_clean() {
    let run = one_whole_call(&[whole(), reason("tool_calls")]);
    assert_eq!(run.calls[0].evidence().closed_by, ClosedBy::FinishReason);
}

#[test]
fn quirk_q62_a_bare_end_in_the_middle_is_a_truncation() {
    let run = chat([header(), piece(0, "{\"port\":\"Br")].concat());
    run.assert_calls(&[("tide_height", CallState::Truncated, json!({"port": "Br"}))]);
    assert_eq!(
        (run.end, run.error().kind()),
        (End::Truncated, ErrorKind::Truncated)
    );
    // Blank and `{}` there are no calls without arguments.
    for text in ["", "{}", " {} ", "null"] {
        let run = chat([header(), piece(0, text)].concat());
        assert_eq!(run.calls[0].state(), CallState::Truncated, "{text:?}");
    }
}

#[test]
fn quirk_q63_done_over_a_cut_call_does_not_make_it_whole() {
    let run = chat(
        [
            opening(0, "call_1", "tide_height", "{\"port\":\"Br"),
            done(),
        ]
        .concat(),
    );
    run.assert_calls(&[("tide_height", CallState::Truncated, json!({"port": "Br"}))]);
    assert_eq!(run.end, End::Clean);
}

#[test]
fn quirk_q64_usage_anywhere_ends_nothing() {
    let usage = json!({"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3});
    let in_choice = choices(json!([{"index": 0, "delta": {}, "usage": usage}]));
    let beside = super::support::wire::data(
        &json!({"choices": [{"index": 0, "delta": {"content": "."}}], "usage": usage}),
    );
    let groq = super::support::wire::data(
        &json!({"choices": [], "x_groq": {"id": "req_1", "usage": usage}}),
    );
    let run = one_whole_call(&[
        beside,
        opening(0, "call_1", "tide_height", "{\"port\":"),
        in_choice,
        piece(0, "\"Brest\"}"),
        groq,
        reason("tool_calls"),
        done(),
    ]);
    let told = run
        .events
        .iter()
        .filter(|seen| matches!(seen, Seen::Usage(_)));
    assert_eq!(told.count(), 3);
    // Alone it is no end of the body.
    let run = chat(
        [
            whole(),
            super::support::wire::data(&json!({"choices": [], "usage": usage})),
        ]
        .concat(),
    );
    assert_eq!(run.end, End::Truncated);
}

/// WIRE_FORMATS 1.3.
#[test]
fn a_reason_vouches_for_its_own_choice_alone() {
    let other = |entry: Value| choices(json!([{"index": 1, "delta": {"tool_calls": [entry]}}]));
    let function = |text: &str| json!({"index": 0, "id": "call_2", "function": {"name": "now", "arguments": text}});
    let custom = json!({"index": 0, "id": "call_2", "type": "custom", "custom": {"name": "sql", "input": "drop table"}});
    for entry in [function(""), function("{}"), custom] {
        let chunks = [whole(), other(entry.clone()), reason("tool_calls")];
        let run = chat(chunks.concat());
        assert_eq!(run.calls[0].state(), CallState::Whole);
        assert_eq!(run.calls[0].evidence().closed_by, ClosedBy::FinishReason);
        assert!(!run.calls[1].is_usable(), "{entry}");
        assert_eq!(run.calls[1].evidence().closed_by, ClosedBy::Unconfirmed);
        assert_eq!(run.error().kind(), ErrorKind::Truncated);
        // The terminal vouches for all.
        let run = chat([chunks.concat(), done()].concat());
        assert_eq!(run.calls[1].evidence().closed_by, ClosedBy::Terminal);
    }
}
