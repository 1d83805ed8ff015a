//! WIRE_FORMATS 3.4 and 3.5: the surprises of Anthropic Messages.

use callstitch::{AnomalyKind, CallState, ClosedBy, End, ErrorKind, Executor, WireFormat};
use serde_json::{Value, json};

use super::Run;
use super::support::run::{Seen, both};
use super::support::wire::{
    block_start, block_stop, event, input, message, message_delta, message_start, message_stop,
    tool_start,
};

fn anthropic(body: impl AsRef<[u8]>) -> Run {
    both(WireFormat::Anthropic, body)
}

fn tide() -> (&'static str, Value) {
    ("tide_height", json!({"port": "Brest"}))
}

/// A `tool_use` block with a whole text, closed.
fn closed(index: i64, id: &str) -> String {
    [
        tool_start(index, id, "tide_height"),
        input(index, "{\"port\":\"Brest\"}"),
        block_stop(index),
    ]
    .concat()
}

#[test]
fn anthropic_a1_the_whole_input_in_the_start_block() {
    let start = block_start(
        0,
        json!({"type": "tool_use", "id": "toolu_1", "name": "tide_height",
        "input": {"port": "Brest"}, "caller": {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}}),
    );
    let run = anthropic(message("tool_use", &[start.clone(), block_stop(0)]));
    run.assert_whole(&[tide()]);
    assert_eq!(run.calls[0].arguments().raw(), "{\"port\":\"Brest\"}");
    assert_eq!(run.calls[0].extras()["caller"]["tool_id"], "srvtoolu_1");
    // Somebody who only listens to the deltas hears it too.
    assert!(
        run.events
            .contains(&Seen::Arguments(0, "{\"port\":\"Brest\"}".to_owned()))
    );
    // An empty fragment says nothing against it.
    anthropic(message("tool_use", &[start, input(0, ""), block_stop(0)])).assert_whole(&[tide()]);
}

#[test]
fn a_call_block_without_its_type_is_told_by_its_name() {
    for kind in [json!({}), json!({"type": null}), json!({"type": ""})] {
        let mut block = json!({"id": "toolu_1", "name": "tide_height", "input": {}});
        block
            .as_object_mut()
            .unwrap()
            .extend(kind.as_object().unwrap().clone());
        let piece = input(0, "{\"port\":\"Brest\"}");
        let run = anthropic(message(
            "tool_use",
            &[block_start(0, block), piece, block_stop(0)],
        ));
        run.assert_whole(&[tide()]);
        assert_eq!(run.calls[0].wire_id(), Some("toolu_1"), "{kind}");
        // Nothing tells a call of a block that has no name.
        let text = block_start(0, json!({"text": "High"}));
        let run = anthropic(message("end_turn", &[text, block_stop(0)]));
        run.assert_whole(&[]);
    }
}

#[test]
fn anthropic_a2_calls_inside_the_opening_message() {
    let start = event(
        &json!({"type": "message_start", "message": {"id": "msg_1", "role": "assistant", "stop_reason": "tool_use",
        "content": [{"type": "text", "text": "sent back"},
                    {"type": "tool_use", "id": "toolu_1", "name": "tide_height", "input": {"port": "Brest"}},
                    {"type": "tool_use", "id": "toolu_2", "name": "now", "input": {}}]}}),
    );
    let run = anthropic([start, message_delta("tool_use"), message_stop()].concat());
    run.assert_whole(&[tide(), ("now", json!({}))]);
    assert_eq!(run.calls[0].evidence().closed_by, ClosedBy::Arrival);
    assert_eq!(run.text, "", "text there is what the caller had sent");
}

#[test]
fn anthropic_a3_fragments_replace_the_start_input() {
    let start = block_start(
        0,
        json!({"type": "tool_use", "id": "toolu_1", "name": "tide_height", "input": {"port": "Oban"}}),
    );
    let run = anthropic(message(
        "tool_use",
        &[
            start,
            input(0, "{\"port\":"),
            input(0, "\"Brest\"}"),
            block_stop(0),
        ],
    ));
    run.assert_whole(&[tide()]);
}

#[test]
fn anthropic_a4_a_second_start_discards_what_is_open_and_keeps_what_ended() {
    let body = [
        message_start(),
        closed(0, "toolu_1"),
        tool_start(1, "toolu_2", "moon_phase"),
        input(1, "{\"day\":"),
        message("tool_use", &[closed(0, "toolu_3")]),
    ]
    .concat();
    let run = anthropic(body);
    run.assert_whole(&[tide(), tide()]);
    assert_eq!(run.ids(), [Some("toolu_1"), Some("toolu_3")]);
    assert_eq!(run.discarded.len(), 1);
    assert_eq!(run.discarded[0].evidence().closed_by, ClosedBy::Restart);
    assert!(!run.discarded[0].is_usable());
    run.assert_told(AnomalyKind::RestartedMessage);
    // A plain duplicate discards nothing.
    let run = anthropic(
        [
            message_start(),
            message("tool_use", &[closed(0, "toolu_1")]),
        ]
        .concat(),
    );
    run.assert_whole(&[tide()]);
}

/// A `message_start` whose message holds this.
fn opened_with(content: Value) -> String {
    event(
        &json!({"type": "message_start", "message": {"id": "msg_1", "role": "assistant", "stop_reason": "tool_use",
        "content": content}}),
    )
}

#[test]
fn a_call_inside_the_opening_message_may_lack_its_input() {
    let content = json!([{"type": "tool_use", "id": "toolu_1", "name": "now"}]);
    let run = anthropic(
        [
            opened_with(content),
            message_delta("tool_use"),
            message_stop(),
        ]
        .concat(),
    );
    run.assert_whole(&[("now", json!({}))]);
    assert_eq!(run.ids(), [Some("toolu_1")]);
}

#[test]
fn calls_inside_a_message_that_begins_again_are_told_once() {
    let held = |id: &str| json!({"type": "tool_use", "id": id, "name": "tide_height", "input": {"port": "Brest"}});
    let end = || [message_delta("tool_use"), message_stop()].concat();
    let open = [
        tool_start(0, "toolu_1", "moon_phase"),
        input(0, "{\"day\":"),
    ]
    .concat();
    let blank = [tool_start(0, "toolu_1", "now"), block_stop(0)].concat();
    let (one, two) = (held("toolu_1"), held("toolu_2"));
    for (before, content, ids, names) in [
        // The first start held none, or another, or the same.
        (
            message_start(),
            json!([one]),
            vec!["toolu_1"],
            vec!["tide_height"],
        ),
        (
            message_start(),
            json!([one, two]),
            vec!["toolu_1", "toolu_2"],
            vec!["tide_height"; 2],
        ),
        (
            opened_with(json!([one])),
            json!([two]),
            vec!["toolu_1", "toolu_2"],
            vec!["tide_height"; 2],
        ),
        (
            opened_with(json!([one])),
            json!([one]),
            vec!["toolu_1"],
            vec!["tide_height"],
        ),
        (
            opened_with(json!([one])),
            json!([one, two]),
            vec!["toolu_1", "toolu_2"],
            vec!["tide_height"; 2],
        ),
        // A block's call: ended, ended blank, and another one that was open.
        (
            [message_start(), closed(0, "toolu_1")].concat(),
            json!([one, two]),
            vec!["toolu_1", "toolu_2"],
            vec!["tide_height"; 2],
        ),
        (
            [message_start(), blank].concat(),
            json!([one, two]),
            vec!["toolu_1", "toolu_2"],
            vec!["now", "tide_height"],
        ),
        (
            [message_start(), open].concat(),
            json!([two]),
            vec!["toolu_2"],
            vec!["tide_height"],
        ),
    ] {
        let again = opened_with(content.clone());
        for body in [
            [before.clone(), again.clone(), end()].concat(),
            [before, again.clone(), again, end()].concat(),
        ] {
            let run = anthropic(body);
            let told: Vec<_> = run
                .calls
                .iter()
                .map(|call| (call.id(), call.name()))
                .collect();
            let expected: Vec<_> = ids.iter().copied().zip(names.iter().copied()).collect();
            assert_eq!(told, expected, "{content}");
            assert!(run.calls.iter().all(|call| call.is_usable()));
            assert_eq!(run.end, End::Clean);
            run.assert_told(AnomalyKind::RestartedMessage);
        }
    }
    // One without an id: what begins again says it again.
    let nameless = json!({"type": "tool_use", "name": "now", "input": {}});
    let again = opened_with(json!([nameless]));
    let run = anthropic([message_start(), again.clone(), again, end()].concat());
    run.assert_whole(&[("now", json!({}))]);
}

#[test]
fn anthropic_a5_no_block_stop_at_the_token_limit() {
    let open = [
        tool_start(0, "toolu_1", "tide_height"),
        input(0, "{\"port\": \"Br"),
    ];
    let run = anthropic(message("max_tokens", &open));
    run.assert_calls(&[("tide_height", CallState::Truncated, json!({"port": "Br"}))]);
    assert_eq!(run.end, End::Truncated);
    let evidence = run.calls[0].evidence();
    assert_eq!(
        (evidence.closed_by, evidence.finish_reason.as_deref()),
        (ClosedBy::MessageEnd, Some("max_tokens"))
    );
    // Nothing of it came: the start block's empty input is no answer.
    let run = anthropic(message(
        "max_tokens",
        &[tool_start(0, "toolu_1", "tide_height"), input(0, "")],
    ));
    assert_eq!(run.calls[0].state(), CallState::Truncated);
    let stopped = [
        tool_start(0, "toolu_1", "tide_height"),
        input(0, ""),
        block_stop(0),
    ];
    let run = anthropic(message("max_tokens", &stopped));
    assert_eq!(run.calls[0].state(), CallState::Truncated);
    // Without the limit it is.
    let run = anthropic(message("tool_use", &stopped));
    run.assert_whole(&[("tide_height", json!({}))]);
}

#[test]
fn anthropic_a6_whole_members_with_pauses_between_them() {
    let slow = [
        tool_start(0, "toolu_1", "tide_height"),
        input(0, ""),
        event(&json!({"type": "ping"})),
        input(0, "{\"port\": \"Brest\""),
        event(&json!({"type": "ping"})),
        input(0, ", \"day\": 3}"),
        block_stop(0),
    ];
    let run = anthropic(message("tool_use", &slow));
    run.assert_whole(&[("tide_height", json!({"port": "Brest", "day": 3}))]);
    assert_eq!(run.calls[0].evidence().closed_by, ClosedBy::BlockStop);
    assert_eq!(run.anomalies, []);
}

#[test]
fn anthropic_a7_invalid_json_is_flagged_and_kept() {
    let eager = |text: &str, reason: &str| {
        anthropic(message(
            reason,
            &[
                tool_start(0, "toolu_1", "tide_height"),
                input(0, text),
                block_stop(0),
            ],
        ))
    };
    let run = eager("{\"port\": Brest}", "tool_use");
    assert_eq!(run.calls[0].arguments().raw(), "{\"port\": Brest}");
    let run = eager("{\"a\":1}{\"b\":2}", "tool_use");
    assert_eq!(run.calls[0].state(), CallState::Malformed);
    assert_eq!(run.calls[0].arguments().raw(), "{\"a\":1}{\"b\":2}");
    let run = eager("{\"port\": \"Br", "max_tokens");
    run.assert_calls(&[("tide_height", CallState::Truncated, json!({"port": "Br"}))]);
}

#[test]
fn anthropic_a8_the_sent_index_counts_and_not_the_order() {
    let run = anthropic(message(
        "tool_use",
        &[
            tool_start(4, "toolu_1", "tide_height"),
            tool_start(2, "toolu_2", "moon_phase"),
            input(2, "{\"day\":"),
            input(4, "{\"port\":\"Brest\"}"),
            input(2, "3}"),
            block_stop(2),
            block_stop(4),
        ],
    ));
    run.assert_whole(&[("moon_phase", json!({"day": 3})), tide()]);
    let labels: Vec<_> = run
        .calls
        .iter()
        .map(|call| (call.index().get(), call.wire_index()))
        .collect();
    assert_eq!(labels, [(1, Some(2)), (0, Some(4))]);
}

#[test]
fn anthropic_a9_other_blocks_between_calls_take_numbers_and_nothing_else() {
    let other = |index: i64, kind: &str| {
        [block_start(index, json!({"type": kind})), block_stop(index)].concat()
    };
    let run = anthropic(message(
        "tool_use",
        &[
            other(0, "container_upload"),
            closed(1, "toolu_1"),
            other(2, "compaction"),
            other(3, "fallback"),
            other(4, "brand_new_block"),
            closed(5, "toolu_2"),
        ],
    ));
    run.assert_whole(&[tide(), tide()]);
    assert_eq!(run.anomalies, []);
}

#[test]
fn calls_that_the_provider_runs_say_so() {
    let block = |index: i64, block: Value| {
        [
            block_start(index, block),
            input(index, "{\"q\":1}"),
            block_stop(index),
        ]
        .concat()
    };
    let run = anthropic(message(
        "tool_use",
        &[
            block(
                0,
                json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}),
            ),
            block(
                1,
                json!({"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "list", "server_name": "harbour", "input": {}}),
            ),
            block_start(
                2,
                json!({"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "content": []}),
            ),
            block_stop(2),
            closed(3, "toolu_1"),
        ],
    ));
    let who: Vec<_> = run
        .calls
        .iter()
        .map(|call| (call.executor(), call.server_name()))
        .collect();
    assert_eq!(
        who,
        [
            (Executor::Provider, None),
            (Executor::Provider, Some("harbour")),
            (Executor::Client, None)
        ]
    );
}

#[test]
fn blocks_without_stops_close_at_the_end_of_the_message() {
    let run = anthropic(message(
        "tool_use",
        &[
            tool_start(0, "toolu_1", "tide_height"),
            input(0, "{\"port\":\"Brest\"}"),
            tool_start(1, "toolu_2", "now"),
        ],
    ));
    run.assert_whole(&[tide(), ("now", json!({}))]);
    assert!(
        run.calls
            .iter()
            .all(|call| call.evidence().closed_by == ClosedBy::MessageEnd)
    );
}

#[test]
fn a_stop_for_a_block_that_never_began_is_nothing() {
    let run = anthropic(message(
        "tool_use",
        &[
            block_stop(7),
            closed(0, "toolu_1"),
            block_stop(0),
            block_stop(9),
        ],
    ));
    run.assert_whole(&[tide()]);
}

#[test]
fn text_for_a_block_that_has_ended_is_told_and_dropped() {
    let run = anthropic(message(
        "tool_use",
        &[closed(0, "toolu_1"), input(0, "{\"port\":\"Oban\"}")],
    ));
    run.assert_whole(&[tide()]);
    run.assert_told(AnomalyKind::LateFragment);
}

#[test]
fn text_for_a_block_that_never_began_is_a_call_without_a_name() {
    let run = anthropic(message(
        "tool_use",
        &[input(3, "{\"port\":\"Oban\"}"), closed(0, "toolu_1")],
    ));
    let states: Vec<_> = run.calls.iter().map(|call| call.state()).collect();
    assert_eq!(states, [CallState::Whole, CallState::Unnamed]);
    run.assert_told(AnomalyKind::UnknownLabel);
    run.assert_told(AnomalyKind::MissingName);
    // Its start may still come.
    let run = anthropic(message(
        "tool_use",
        &[
            input(0, "{\"port\":"),
            tool_start(0, "toolu_1", "tide_height"),
            input(0, "\"Brest\"}"),
            block_stop(0),
        ],
    ));
    run.assert_whole(&[tide()]);
}

#[test]
fn a_closing_snapshot_is_not_a_second_message() {
    let snapshot = super::support::wire::data(
        &json!({"type": "message", "id": "msg_1", "role": "assistant",
        "content": [{"type": "tool_use", "id": "toolu_1", "name": "tide_height", "input": {"port": "Brest"}}], "stop_reason": "tool_use"}),
    );
    anthropic(message("tool_use", &[closed(0, "toolu_1"), snapshot])).assert_whole(&[tide()]);
}

#[test]
fn an_error_event_flags_what_is_open_and_spares_what_ended() {
    let error = event(&json!({"type": "error", "request_id": "req_1",
        "error": {"type": "overloaded_error", "message": "Overloaded", "details": null}}));
    let body = [
        message_start(),
        closed(0, "toolu_1"),
        tool_start(1, "toolu_2", "now"),
        input(1, "{"),
        error,
    ]
    .concat();
    let run = anthropic(body);
    let states: Vec<_> = run.calls.iter().map(|call| call.state()).collect();
    assert_eq!(states, [CallState::Whole, CallState::Truncated]);
    assert_eq!(
        (run.end, run.error().kind()),
        (End::Error, ErrorKind::Provider)
    );
    assert_eq!(
        (run.error().message(), run.error().code()),
        ("Overloaded", Some("overloaded_error"))
    );
}

#[test]
fn a_bare_end_after_the_stop_reason_is_still_a_truncation() {
    let run = anthropic(
        [
            message_start(),
            closed(0, "toolu_1"),
            message_delta("tool_use"),
        ]
        .concat(),
    );
    assert_eq!(run.calls[0].state(), CallState::Whole);
    assert_eq!(
        (run.end, run.error().kind()),
        (End::Truncated, ErrorKind::Truncated)
    );
}

#[test]
fn a_message_delta_without_a_reason_closes_nothing() {
    let counted = |delta: Value| {
        event(&json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 3}}))
    };
    for delta in [json!({"stop_reason": null}), json!({}), json!(null)] {
        let run = anthropic(message(
            "tool_use",
            &[
                tool_start(0, "toolu_1", "tide_height"),
                input(0, "{\"port\":"),
                counted(delta),
                input(0, "\"Brest\"}"),
                block_stop(0),
            ],
        ));
        run.assert_whole(&[tide()]);
        assert_eq!(run.anomalies, []);
    }
    // The end of the message closes what nothing else closed.
    let open = [
        tool_start(0, "toolu_1", "now"),
        counted(json!({})),
        message_stop(),
    ];
    anthropic(message_start() + &open.concat()).assert_whole(&[("now", json!({}))]);
}

#[test]
fn a_name_that_was_said_is_never_changed() {
    let again = block_start(
        0,
        json!({"type": "tool_use", "id": "toolu_1", "name": "now", "input": {}}),
    );
    let run = anthropic(message(
        "tool_use",
        &[
            tool_start(0, "toolu_1", "tide_height"),
            again,
            input(0, "{\"port\":\"Brest\"}"),
            block_stop(0),
        ],
    ));
    run.assert_whole(&[tide()]);
    run.assert_told(AnomalyKind::DifferentName);
}
