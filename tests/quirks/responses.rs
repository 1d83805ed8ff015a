//! WIRE_FORMATS 2.6: what servers make of OpenAI Responses.

use callstitch::{AnomalyKind, CallState, End, ToolKind, WireFormat};
use serde_json::{Value, json};

use super::Run;
use super::support::run::{Seen, both};
use super::support::wire::event;

const BREST: &str = "{\"port\":\"Brest\"}";

/// A response with these events and this snapshot at its end, whole and in pieces, and again without the format named.
fn responses(events: &[String], snapshot: Value) -> Run {
    let body = [
        event(&json!({"type": "response.created", "response": {"id": "resp_t", "status": "in_progress", "output": []}})),
        events.concat(),
        event(&json!({"type": "response.completed", "response": {"id": "resp_t", "status": "completed",
            "output": snapshot, "usage": {"input_tokens": 9, "output_tokens": 9}}})),
    ]
    .concat();
    let run = both(WireFormat::OpenAiResponses, &body);
    let found = both(WireFormat::Auto, &body);
    run.assert_same(&found, "under Auto");
    assert_eq!(found.format, Some(WireFormat::OpenAiResponses));
    run
}

/// The one call, settled out of texts that came more than once.
#[track_caller]
fn settled(run: &Run) {
    run.assert_calls(&[("tide_height", CallState::Repaired, json!({"port": "Brest"}))]);
    assert_eq!(run.end, End::Clean);
    run.assert_told(AnomalyKind::DuplicateText);
}

fn tide() -> (&'static str, Value) {
    ("tide_height", json!({"port": "Brest"}))
}

/// A `function_call` item; an empty id is left out.
fn item(id: &str, call_id: &str, name: &str, arguments: &str) -> Value {
    let mut item = json!({"type": "function_call", "status": "completed", "name": name, "arguments": arguments});
    for (member, id) in [("id", id), ("call_id", call_id)] {
        if !id.is_empty() {
            item[member] = json!(id);
        }
    }
    item
}

/// The call that most tests are about, with these ids.
fn tide_item(id: &str, call_id: &str, arguments: &str) -> Value {
    item(id, call_id, "tide_height", arguments)
}

fn added(index: i64, item: Value) -> String {
    event(&json!({"type": "response.output_item.added", "output_index": index, "item": item}))
}

fn done(index: i64, item: Value) -> String {
    event(&json!({"type": "response.output_item.done", "output_index": index, "item": item}))
}

fn piece(index: i64, item_id: &str, delta: impl Into<Value>) -> String {
    event(
        &json!({"type": "response.function_call_arguments.delta", "output_index": index,
        "item_id": item_id, "delta": delta.into()}),
    )
}

fn restated(index: i64, item_id: &str, arguments: &str) -> String {
    event(
        &json!({"type": "response.function_call_arguments.done", "output_index": index,
        "item_id": item_id, "arguments": arguments}),
    )
}

/// Both halves of the text, as deltas.
fn halves(index: i64, item_id: &str) -> String {
    [
        piece(index, item_id, "{\"port\":"),
        piece(index, item_id, "\"Brest\"}"),
    ]
    .concat()
}

/// What the deltas of a call say together.
fn heard(run: &Run, call: u32) -> String {
    let heard = run.events.iter().filter_map(|seen| match seen {
        Seen::Arguments(of, text) if *of == call => Some(text.as_str()),
        _ => None,
    });
    heard.collect()
}

#[test]
fn a_call_item_without_its_type_is_told_by_its_name() {
    for kind in [None, Some(Value::Null), Some(json!(""))] {
        let untyped = |mut item: Value| {
            match &kind {
                Some(kind) => item["type"] = kind.clone(),
                None => drop(item.as_object_mut().unwrap().remove("type")),
            }
            item
        };
        let [opened, finished] = ["", BREST].map(|text| untyped(tide_item("fc_1", "call_1", text)));
        let pieces = [
            piece(0, "fc_1", "{\"port\":"),
            piece(0, "fc_1", "\"Brest\"}"),
        ]
        .concat();
        let events = [added(0, opened), pieces, done(0, finished.clone())];
        let run = responses(&events, json!([finished]));
        run.assert_whole(&[tide()]);
        assert_eq!(run.calls[0].wire_id(), Some("call_1"));

        let patch =
            json!({"id": "ctc_1", "call_id": "call_2", "name": "patch", "input": "*** Begin"});
        let patch = untyped(patch);
        let run = responses(&[done(0, patch.clone())], json!([patch]));
        assert_eq!(run.calls[0].kind(), &ToolKind::Custom);
        assert_eq!(run.calls[0].arguments().raw(), "*** Begin");
    }
}

#[test]
fn responses_r1_no_argument_deltas_at_all() {
    let (empty, whole) = (
        tide_item("fc_1", "call_1", ""),
        tide_item("fc_1", "call_1", BREST),
    );
    for events in [
        vec![
            added(0, empty.clone()),
            restated(0, "fc_1", BREST),
            done(0, whole.clone()),
        ],
        vec![added(0, empty.clone()), restated(0, "fc_1", BREST)],
        vec![added(0, empty), done(0, whole.clone())],
        vec![done(0, whole.clone())],
    ] {
        let run = responses(&events, json!([whole.clone()]));
        run.assert_whole(&[tide()]);
        assert_eq!(run.ids(), [Some("call_1")]);
        assert_eq!(
            heard(&run, 0),
            BREST,
            "who listens to the deltas hears it too"
        );
        assert_eq!(run.anomalies, []);
    }
    // A custom tool's free text.
    let custom = |input: &str| {
        json!({"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1",
            "name": "run_sql", "input": input, "status": "completed"})
    };
    let run = responses(
        &[added(0, custom("")), done(0, custom("select 1"))],
        json!([]),
    );
    assert_eq!(run.calls[0].state(), CallState::FreeForm);
    assert_eq!(run.calls[0].arguments().raw(), "select 1");
}

#[test]
fn responses_r2_an_empty_object_in_the_finished_item_does_not_win() {
    for said in [halves(0, "fc_1"), String::new()] {
        for empty in ["{}", ""] {
            let run = responses(
                &[
                    added(0, tide_item("fc_1", "call_1", "")),
                    said.clone(),
                    restated(0, "fc_1", BREST),
                    done(0, tide_item("fc_1", "call_1", empty)),
                ],
                json!([tide_item("fc_1", "call_1", empty)]),
            );
            run.assert_whole(&[tide()]);
            assert_eq!(run.calls[0].arguments().raw(), BREST);
        }
    }
}

#[test]
fn a_restatement_that_says_nothing_never_replaces_text_that_was_there() {
    let announced = |arguments: &str| added(0, tide_item("fc_1", "call_1", arguments));
    for nothing in ["{}", "", "null", " { } "] {
        for last in [
            done(0, tide_item("fc_1", "call_1", nothing)),
            restated(0, "fc_1", nothing),
            [
                restated(0, "fc_1", nothing),
                done(0, tide_item("fc_1", "call_1", nothing)),
            ]
            .concat(),
        ] {
            // A cut text stays, and is flagged.
            let cut = [
                announced(""),
                piece(0, "fc_1", "{\"port\":\"Br"),
                last.clone(),
            ];
            let run = responses(&cut, json!([]));
            run.assert_calls(&[("tide_height", CallState::Truncated, json!({"port": "Br"}))]);
            assert_eq!(run.calls[0].arguments().raw(), "{\"port\":\"Br");
            run.assert_told(AnomalyKind::RestatedDiffers);
            // A text that says its value more than once is settled as without the restatement.
            let twice = [
                [
                    announced(""),
                    piece(0, "fc_1", "{\"port\":"),
                    piece(0, "fc_1", BREST),
                ],
                [announced(BREST), halves(0, "fc_1"), String::new()],
                [announced("{}"), piece(0, "fc_1", BREST), String::new()],
                [announced("{}"), halves(0, "fc_1"), String::new()],
            ];
            for mut events in twice.map(Vec::from) {
                events.push(last.clone());
                let run = responses(&events, json!([]));
                run.assert_calls(&[("tide_height", CallState::Repaired, tide().1)]);
            }
        }
        // Fragments that say nothing either leave an empty object.
        let run = responses(
            &[
                announced(""),
                piece(0, "fc_1", "{}"),
                done(0, tide_item("fc_1", "call_1", nothing)),
            ],
            json!([]),
        );
        run.assert_whole(&[("tide_height", json!({}))]);
    }
}

#[test]
fn responses_r3_no_finished_item_and_none_in_the_snapshot() {
    let run = responses(
        &[
            added(0, tide_item("fc_1", "call_1", "")),
            halves(0, "fc_1"),
            restated(0, "fc_1", BREST),
        ],
        json!([{"type": "message", "id": "msg_1", "role": "assistant", "content": []}]),
    );
    run.assert_whole(&[tide()]);
    assert_eq!(run.ids(), [Some("call_1")]);
    assert_eq!(run.anomalies, []);
}

/// A call whose finished item never comes: its announcement, and the events behind it.
fn never_finished(mut item: Value, events: &[Value]) -> Run {
    item["id"] = json!("item_1");
    let mut all = vec![added(0, item)];
    all.extend(events.iter().map(|said| {
        let mut said = said.clone();
        said["type"] = json!(format!("response.{}", said["type"].as_str().unwrap()));
        said["output_index"] = json!(0);
        event(&said)
    }));
    let run = responses(&all, json!([]));
    assert_eq!(run.calls.len(), 1);
    run
}

#[test]
fn a_built_in_call_that_is_never_finished_has_the_arguments_that_came() {
    let patch = |operation: Value| json!({"type": "apply_patch_call", "call_id": "call_1", "operation": operation});
    let shell = |commands: Value| json!({"type": "shell_call", "call_id": "call_1", "action": {"commands": commands, "timeout_ms": null}});
    let command = |at: u32, text: &str| json!({"type": "shell_call_command.done", "command_index": at, "command": text});
    let begun =
        |at: u32| json!({"type": "shell_call_command.added", "command_index": at, "command": ""});
    for (item, events, expected) in [
        (
            patch(json!({"type": "update_file", "path": "a", "diff": ""})),
            vec![
                json!({"type": "apply_patch_call_operation_diff.delta", "delta": "-a"}),
                json!({"type": "apply_patch_call_operation_diff.done", "diff": "-a\n+\"b\""}),
            ],
            json!({"type": "update_file", "path": "a", "diff": "-a\n+\"b\""}),
        ),
        (
            patch(json!({"type": "delete_file", "path": "a"})),
            vec![],
            json!({"type": "delete_file", "path": "a"}),
        ),
        (
            json!({"type": "computer_call", "call_id": "call_1", "action": {"type": "click", "x": 1}}),
            vec![],
            json!({"type": "click", "x": 1}),
        ),
        (
            shell(json!([])),
            vec![begun(0), command(0, "ls -l"), begun(1), command(1, "pwd")],
            json!({"commands": ["ls -l", "pwd"], "timeout_ms": null}),
        ),
        (
            shell(json!(["ls"])),
            vec![],
            json!({"commands": ["ls"], "timeout_ms": null}),
        ),
        (
            json!({"type": "local_shell_call", "call_id": "call_1", "action": {"type": "exec", "command": ["ls"]}}),
            vec![],
            json!({"type": "exec", "command": ["ls"]}),
        ),
        (
            json!({"type": "tool_search_call", "call_id": "call_1", "execution": "client", "arguments": {"goal": "x"}}),
            vec![],
            json!({"goal": "x"}),
        ),
        (
            json!({"type": "function_call", "call_id": "call_1", "name": "tide", "arguments": {"port": "Brest"}}),
            vec![],
            json!({"port": "Brest"}),
        ),
    ] {
        let run = never_finished(item, &events);
        let call = &run.calls[0];
        assert_eq!(call.state(), CallState::Whole, "{expected}");
        assert_eq!(
            Value::Object(call.arguments().object().unwrap().clone()),
            expected
        );
        assert_eq!(heard(&run, 0), call.arguments().raw());
        assert_eq!(run.ids(), [Some("call_1")]);
        assert_eq!(run.anomalies, []);
    }
    let code = never_finished(
        json!({"type": "code_interpreter_call", "container_id": "c", "code": ""}),
        &[json!({"type": "code_interpreter_call_code.done", "code": "1+1"})],
    );
    code.assert_whole(&[("code_interpreter", json!({"code": "1+1"}))]);
    // Its arguments are a text, and the deltas spell it out: what was announced is less.
    let function = never_finished(
        json!({"type": "function_call", "call_id": "call_1", "name": "tide", "arguments": {"port": "Oban"}}),
        &[json!({"type": "function_call_arguments.delta", "delta": BREST})],
    );
    function.assert_whole(&[("tide", json!({"port": "Brest"}))]);
    // What is missing is not taken for nothing.
    for (item, events) in [
        (
            patch(json!({"type": "update_file", "path": "a", "diff": ""})),
            vec![],
        ),
        (patch(json!({"type": "update_file", "path": "a"})), vec![]),
        (patch(Value::Null), vec![]),
        (shell(json!([])), vec![begun(0)]),
        (shell(json!([])), vec![begun(0), command(0, "ls"), begun(1)]),
        (shell(json!([])), vec![command(1, "ls")]),
        (
            json!({"type": "local_shell_call", "call_id": "call_1", "action": {"type": "exec", "command": []}}),
            vec![],
        ),
        (
            json!({"type": "computer_call", "call_id": "call_1"}),
            vec![],
        ),
        (
            json!({"type": "tool_search_call", "call_id": "call_1", "arguments": {}}),
            vec![],
        ),
    ] {
        let run = never_finished(item.clone(), &events);
        assert_eq!(
            run.calls[0].state(),
            CallState::Truncated,
            "{item} {events:?}"
        );
        assert_eq!(run.ids(), [Some("call_1")]);
    }
}

#[test]
fn the_finished_item_of_a_built_in_call_says_all_that_its_events_said() {
    let item = |diff: &str| {
        json!({"type": "apply_patch_call", "id": "item_1", "call_id": "call_1",
            "operation": {"type": "create_file", "path": "a", "diff": diff}})
    };
    let diff = event(
        &json!({"type": "response.apply_patch_call_operation_diff.done", "output_index": 0, "item_id": "item_1",
        "diff": "+a"}),
    );
    for (events, snapshot) in [
        (
            vec![added(0, item("")), diff.clone(), done(0, item("+b"))],
            json!([]),
        ),
        (vec![added(0, item("")), diff.clone()], json!([item("+b")])),
        (
            vec![added(0, item("")), done(0, item("+b")), diff.clone()],
            json!([]),
        ),
    ] {
        let run = responses(&events, snapshot);
        run.assert_whole(&[(
            "apply_patch",
            json!({"type": "create_file", "path": "a", "diff": "+b"}),
        )]);
        assert_eq!(run.anomalies, []);
    }
}

#[test]
fn responses_r4_only_the_snapshot_has_the_calls() {
    let moon = item("fc_2", "call_2", "moon_phase", "{\"day\":3}");
    let run = responses(
        &[],
        json!([tide_item("fc_1", "call_1", BREST), moon.clone()]),
    );
    run.assert_whole(&[tide(), ("moon_phase", json!({"day": 3}))]);
    assert_eq!(run.ids(), [Some("call_1"), Some("call_2")]);
    assert_eq!(heard(&run, 1), "{\"day\":3}");
    // One of two was told before: it is not told again.
    let run = responses(
        &[done(0, tide_item("fc_1", "call_1", BREST))],
        json!([tide_item("fc_1", "call_1", BREST), moon]),
    );
    run.assert_whole(&[tide(), ("moon_phase", json!({"day": 3}))]);
    // Announced, and whole only there.
    let run = responses(
        &[added(0, tide_item("fc_1", "call_1", ""))],
        json!([tide_item("fc_1", "call_1", BREST)]),
    );
    run.assert_whole(&[tide()]);
}

#[test]
fn responses_r5_the_call_id_drifts_and_the_finished_items_is_the_one() {
    let run = responses(
        &[
            added(0, tide_item("fc_1", "call_early", "")),
            halves(0, "fc_1"),
            done(0, tide_item("fc_1", "call_late", BREST)),
        ],
        json!([tide_item("fc_1", "call_last", BREST)]),
    );
    run.assert_whole(&[tide()]);
    assert_eq!(run.ids(), [Some("call_late")]);
    run.assert_told(AnomalyKind::DriftingId);
    // Item ids that drift along: the index is left.
    let run = responses(
        &[
            added(0, tide_item("fc_1", "call_early", "")),
            halves(0, "fc_1"),
            done(0, tide_item("fc_2", "call_late", BREST)),
        ],
        json!([tide_item("fc_3", "call_last", BREST)]),
    );
    run.assert_whole(&[tide()]);
    assert_eq!(run.ids(), [Some("call_late")]);
}

#[test]
fn responses_r6_the_item_has_no_id() {
    for id in [Value::Null, json!("")] {
        let with = |arguments: &str| {
            let mut item = tide_item("", "call_1", arguments);
            item["id"] = id.clone();
            item
        };
        let bare = |text: &str| {
            event(
                &json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": text}),
            )
        };
        let run = responses(
            &[
                added(0, with("")),
                bare("{\"port\":"),
                bare("\"Brest\"}"),
                done(0, with(BREST)),
            ],
            json!([with(BREST)]),
        );
        run.assert_whole(&[tide()]);
        assert_eq!(run.ids(), [Some("call_1")]);
        assert_eq!(run.calls[0].item_id(), None);
        assert_eq!(run.anomalies, []);
    }
}

#[test]
fn responses_r7_one_call_under_two_item_ids_is_one_call() {
    for empty_first in [true, false] {
        let (first, second) = if empty_first {
            ("", BREST)
        } else {
            (BREST, "{}")
        };
        let run = responses(
            &[
                added(0, tide_item("fc_1", "call_1", "")),
                piece(0, "fc_2", "{\"port\":"),
                piece(0, "fc_3", "\"Brest\"}"),
                restated(0, "fc_4", BREST),
                done(0, tide_item("fc_5", "call_1", first)),
                done(0, tide_item("fc_6", "call_1", second)),
            ],
            json!([tide_item("fc_7", "call_1", BREST)]),
        );
        run.assert_whole(&[tide()]);
        assert_eq!(run.ids(), [Some("call_1")]);
        assert_eq!(run.calls[0].item_id(), Some("fc_1"));
    }
}

#[test]
fn responses_r8_item_ids_of_the_snapshot_differ() {
    let mcp = |id: &str, name: &str, arguments: &str| {
        json!({"type": "mcp_call", "id": id, "server_label": "harbour", "name": name,
            "arguments": arguments, "status": "completed"})
    };
    let run = responses(
        &[
            added(0, mcp("mcp_1", "list_berths", "")),
            done(0, mcp("mcp_1", "list_berths", "{}")),
            added(1, mcp("mcp_2", "book_berth", "")),
            done(1, mcp("mcp_2", "book_berth", "{\"berth\":4}")),
        ],
        json!([
            mcp("mcp_a", "list_berths", "{}"),
            mcp("mcp_b", "book_berth", "{\"berth\":4}")
        ]),
    );
    run.assert_whole(&[
        ("list_berths", json!({})),
        ("book_berth", json!({"berth": 4})),
    ]);
    assert_eq!(run.calls[1].item_id(), Some("mcp_2"));
    assert_eq!(run.calls[1].server_name(), Some("harbour"));
    // A snapshot with an item more before them: their places differ as well.
    let run = responses(
        &[done(0, mcp("mcp_1", "list_berths", "{}"))],
        json!([
            {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "harbour", "tools": []},
            mcp("mcp_a", "list_berths", "{}")
        ]),
    );
    run.assert_whole(&[("list_berths", json!({}))]);
}

#[test]
fn responses_r9_a_temporary_item_id_in_the_deltas() {
    let run = responses(
        &[
            added(0, tide_item("fc_1", "call_1", "")),
            added(1, item("fc_2", "call_2", "moon_phase", "")),
            piece(0, "fc_tmp_a", "{\"port\":"),
            piece(1, "fc_tmp_b", "{\"day\":"),
            piece(0, "fc_tmp_a", "\"Brest\"}"),
            piece(1, "fc_tmp_b", "3}"),
            done(0, tide_item("fc_1", "call_1", BREST)),
            done(1, item("fc_2", "call_2", "moon_phase", "{\"day\":3}")),
        ],
        json!([]),
    );
    run.assert_whole(&[tide(), ("moon_phase", json!({"day": 3}))]);
    assert_eq!(run.ids(), [Some("call_1"), Some("call_2")]);
    assert_eq!(run.anomalies, []);
}

#[test]
fn responses_r10_the_announcement_holds_the_arguments_or_their_beginning() {
    // All of them, and the deltas repeat them.
    let run = responses(
        &[
            added(0, tide_item("fc_1", "call_1", BREST)),
            halves(0, "fc_1"),
            done(0, tide_item("fc_1", "call_1", BREST)),
        ],
        json!([]),
    );
    run.assert_whole(&[tide()]);
    assert_eq!(run.calls[0].arguments().raw(), BREST);
    // The same where nothing restates them.
    let run = responses(
        &[
            added(0, tide_item("fc_1", "call_1", BREST)),
            halves(0, "fc_1"),
        ],
        json!([]),
    );
    settled(&run);
    // A prefix that the deltas go on with.
    for last in [vec![done(0, tide_item("fc_1", "call_1", BREST))], vec![]] {
        let begun = [
            added(0, tide_item("fc_1", "call_1", "{\"port\":")),
            piece(0, "fc_1", "\"Brest\"}"),
        ];
        let run = responses(&[&begun[..], &last].concat(), json!([]));
        run.assert_whole(&[tide()]);
        assert_eq!(heard(&run, 0), BREST);
        assert_eq!(run.anomalies, []);
    }
}

#[test]
fn responses_r11_growing_snapshots_for_deltas_and_a_done_without_text() {
    let growing = [
        added(0, tide_item("fc_1", "call_1", "")),
        piece(0, "fc_1", "{\"port\":"),
        piece(0, "fc_1", "{\"port\":\"Br"),
        piece(0, "fc_1", BREST),
        event(
            &json!({"type": "response.function_call_arguments.done", "output_index": 0, "item_id": "fc_1"}),
        ),
    ];
    let run = responses(&growing, json!([]));
    settled(&run);
    // The finished item settles it.
    let finished = [done(0, tide_item("fc_1", "call_1", BREST))];
    let run = responses(&[&growing[..], &finished].concat(), json!([]));
    run.assert_whole(&[tide()]);
    assert_eq!(run.calls[0].arguments().raw(), BREST);
}

#[test]
fn responses_r12_null_for_a_delta() {
    let run = responses(
        &[
            added(0, tide_item("fc_1", "call_1", "")),
            piece(0, "fc_1", Value::Null),
            halves(0, "fc_1"),
            piece(0, "fc_1", Value::Null),
            done(0, tide_item("fc_1", "call_1", BREST)),
        ],
        json!([]),
    );
    run.assert_whole(&[tide()]);
    assert_eq!(heard(&run, 0), BREST);
    run.assert_told(AnomalyKind::NullArguments);
    assert_eq!(run.count(AnomalyKind::NullArguments), 2);
}

#[test]
fn responses_r13_the_arguments_three_times_are_one_text() {
    let run = responses(
        &[
            added(0, tide_item("fc_1", "call_1", "")),
            piece(0, "fc_1", BREST),
            restated(0, "fc_1", BREST),
            done(0, tide_item("fc_1", "call_1", BREST)),
        ],
        json!([tide_item("fc_1", "call_1", BREST)]),
    );
    run.assert_whole(&[tide()]);
    assert_eq!(run.calls[0].arguments().raw(), BREST);
    assert_eq!(heard(&run, 0), BREST);
    assert_eq!(run.anomalies, []);
}

/// A custom tool's call: the input of its announcement, its deltas, the text of its `.done` and of its finished item.
fn custom(begun: &str, deltas: &[&str], restated: Option<&str>, finished: Option<&str>) -> Run {
    let item = |input: &str| {
        json!({"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1",
            "name": "run_sql", "input": input, "status": "completed"})
    };
    let mut events = vec![added(0, item(begun))];
    events.extend(deltas.iter().map(|delta| {
        event(
            &json!({"type": "response.custom_tool_call_input.delta", "output_index": 0,
            "item_id": "ctc_1", "delta": delta}),
        )
    }));
    events.extend(restated.map(|input| {
        event(
            &json!({"type": "response.custom_tool_call_input.done", "output_index": 0,
            "item_id": "ctc_1", "input": input}),
        )
    }));
    events.extend(finished.map(|input| done(0, item(input))));
    let run = responses(&events, json!([]));
    assert_eq!(run.calls.len(), 1);
    assert_eq!(run.calls[0].state(), CallState::FreeForm);
    run
}

#[test]
fn free_text_is_what_the_restatement_says_and_not_the_longer_text() {
    let sql = "select 1";
    for (restated, finished) in [
        (Some(sql), Some(sql)),
        (Some(sql), None),
        (None, Some(sql)),
        (Some(sql), Some("")),
        (Some(""), Some(sql)),
    ] {
        for (begun, deltas) in [
            // As it should be, and pieces that do not come.
            ("", &["select", " 1"][..]),
            ("", &[]),
            ("", &["sel"]),
            // Growing snapshots (R11), the announced text again (R10), both, and a text sent twice.
            ("", &["sel", "select", sql]),
            (sql, &["select", " 1"]),
            (sql, &["sel", "select", sql]),
            ("", &[sql, sql]),
            // Another text, longer and shorter.
            ("", &["drop table tides"]),
            ("", &["x"]),
        ] {
            let run = custom(begun, deltas, restated, finished);
            assert_eq!(run.calls[0].arguments().raw(), sql, "{begun:?} {deltas:?}");
            let pieces = begun.to_owned() + &deltas.concat();
            let differs = !sql.starts_with(&pieces);
            assert_eq!(run.count(AnomalyKind::RestatedDiffers) > 0, differs);
        }
    }
    // A `.done` without text before it: who listens to the deltas hears the rest all the same.
    let run = custom("", &["sel"], Some(""), Some(sql));
    assert_eq!(heard(&run, 0), sql);
    let run = custom("", &["select 11"], None, Some("select 2"));
    assert_eq!(run.calls[0].arguments().raw(), "select 2");
}

#[test]
fn free_text_stays_where_the_restatement_is_cut_or_blank() {
    for cut in ["", " ", "select", "sel"] {
        for (restated, finished) in [(Some(cut), Some(cut)), (Some(cut), None), (None, Some(cut))] {
            let run = custom("", &["select", " 1"], restated, finished);
            assert_eq!(run.calls[0].arguments().raw(), "select 1", "{cut:?}");
        }
    }
}

#[test]
fn responses_r14_deltas_before_the_announcement() {
    for last in [vec![done(0, tide_item("fc_1", "call_1", BREST))], vec![]] {
        let early = [
            piece(0, "fc_1", "{\"port\":"),
            added(0, tide_item("fc_1", "call_1", "")),
            piece(0, "fc_1", "\"Brest\"}"),
        ];
        let run = responses(&[&early[..], &last].concat(), json!([]));
        run.assert_whole(&[tide()]);
        assert_eq!(run.ids(), [Some("call_1")]);
        assert_eq!(heard(&run, 0), BREST);
        run.assert_told(AnomalyKind::LateName);
    }
}

#[test]
fn responses_r15_the_done_lacks_a_suffix_that_the_deltas_had() {
    let run = responses(
        &[
            added(0, tide_item("fc_1", "call_1", "")),
            halves(0, "fc_1"),
            restated(0, "fc_1", "{\"port\":\"Bre"),
        ],
        json!([]),
    );
    run.assert_whole(&[tide()]);
    run.assert_told(AnomalyKind::RestatedDiffers);
    // The finished item lacks it too.
    let run = responses(
        &[
            added(0, tide_item("fc_1", "call_1", "")),
            halves(0, "fc_1"),
            restated(0, "fc_1", "{\"port\":\"Bre"),
            done(0, tide_item("fc_1", "call_1", "{\"port\":\"Bre")),
        ],
        json!([]),
    );
    run.assert_whole(&[tide()]);
    run.assert_told(AnomalyKind::RestatedDiffers);
}

#[test]
fn responses_r16_item_ids_of_190_characters() {
    let long = |last: char| format!("fc_{}{last}", "0123456789".repeat(19));
    let (one, two) = (long('a'), long('b'));
    let run = responses(
        &[
            added(0, tide_item(&one, "call_1", "")),
            added(1, item(&two, "call_2", "moon_phase", "")),
            piece(1, &two, "{\"day\":3}"),
            halves(0, &one),
            done(0, tide_item(&one, "call_1", BREST)),
            done(1, item(&two, "call_2", "moon_phase", "{\"day\":3}")),
        ],
        json!([]),
    );
    run.assert_whole(&[tide(), ("moon_phase", json!({"day": 3}))]);
    let ids: Vec<_> = run.calls.iter().map(|call| call.item_id()).collect();
    assert_eq!(ids, [Some(one.as_str()), Some(&two)]);
    assert_eq!(run.anomalies, []);
}

#[test]
fn responses_r17_call_ids_that_restart_with_each_response() {
    let response = |port: &str| {
        let arguments = json!({ "port": port }).to_string();
        [
            event(&json!({"type": "response.created", "response": {"id": "resp_t", "status": "in_progress", "output": []}})),
            added(0, tide_item("fc_1", "call_0", "")),
            piece(0, "fc_1", arguments.as_str()),
            done(0, tide_item("fc_1", "call_0", &arguments)),
            done(1, item("fc_2", "call_1", "moon_phase", "{}")),
            event(&json!({"type": "response.completed", "response": {"status": "completed", "output": []}})),
        ]
        .concat()
    };
    // Each response on its own: the ids are the server's.
    for port in ["Brest", "Oban"] {
        let run = both(WireFormat::OpenAiResponses, response(port));
        run.assert_same(&both(WireFormat::Auto, response(port)), "under Auto");
        run.assert_whole(&[
            ("tide_height", json!({"port": port})),
            ("moon_phase", json!({})),
        ]);
        assert_eq!(run.ids(), [Some("call_0"), Some("call_1")]);
        assert_eq!(run.anomalies, []);
    }
}

#[test]
fn responses_r18_two_calls_whose_items_have_no_ids() {
    let moon = |arguments: &str| item("", "call_2", "moon_phase", arguments);
    let run = responses(
        &[
            added(0, tide_item("", "call_1", "")),
            added(1, moon("")),
            piece(0, "", "{\"port\":\"Brest\"}"),
            piece(1, "", "{\"day\":3}"),
            done(0, tide_item("", "call_1", BREST)),
            done(1, moon("{\"day\":3}")),
        ],
        json!([tide_item("", "call_1", BREST), moon("{\"day\":3}")]),
    );
    run.assert_whole(&[tide(), ("moon_phase", json!({"day": 3}))]);
    assert_eq!(run.ids(), [Some("call_1"), Some("call_2")]);
    // Neither kind of id, and one tool twice: two calls, each with an id made for it.
    let oban = "{\"port\":\"Oban\"}";
    let run = responses(
        &[
            added(0, tide_item("", "", "")),
            halves(0, ""),
            done(0, tide_item("", "", BREST)),
            added(1, tide_item("", "", "")),
            piece(1, "", oban),
            done(1, tide_item("", "", oban)),
        ],
        json!([tide_item("", "", BREST), tide_item("", "", oban)]),
    );
    run.assert_whole(&[tide(), ("tide_height", json!({"port": "Oban"}))]);
    assert_eq!(run.ids(), [None, None]);
    assert_ne!(run.calls[0].id(), run.calls[1].id());
}

#[test]
fn responses_r19_a_text_and_a_call_under_one_index() {
    let message = json!({"type": "message", "id": "msg_1", "role": "assistant",
        "content": [{"type": "output_text", "text": "Let me look."}]});
    let text = event(
        &json!({"type": "response.output_text.delta", "output_index": 0, "item_id": "msg_1",
        "content_index": 0, "delta": "Let me look."}),
    );
    let run = responses(
        &[
            added(
                0,
                json!({"type": "message", "id": "msg_1", "role": "assistant", "content": []}),
            ),
            text.clone(),
            added(0, tide_item("fc_1", "call_1", "")),
            halves(0, "fc_1"),
            done(0, message.clone()),
            done(0, tide_item("fc_1", "call_1", BREST)),
        ],
        json!([message, tide_item("fc_1", "call_1", BREST)]),
    );
    run.assert_whole(&[tide()]);
    assert_eq!(run.ids(), [Some("call_1")]);
    assert_eq!(run.text, "Let me look.");
    // The text goes on between the pieces of the call.
    let run = responses(
        &[
            added(0, tide_item("fc_1", "call_1", "")),
            piece(0, "fc_1", "{\"port\":"),
            text,
            piece(0, "fc_1", "\"Brest\"}"),
            done(0, tide_item("fc_1", "call_1", BREST)),
        ],
        json!([]),
    );
    run.assert_whole(&[tide()]);
    assert_eq!(run.text, "Let me look.");
}

#[test]
fn responses_r20_uuids_for_ids() {
    let (id, call_id) = (
        "0b1f6f6e-4a58-4f0c-9a7e-3c1d5a9e2b10",
        "7d3c2a90-1b5e-4c8f-8f26-9e0a4b7c6d52",
    );
    let run = responses(
        &[
            added(0, tide_item(id, call_id, "")),
            halves(0, id),
            restated(0, id, BREST),
            done(0, tide_item(id, call_id, BREST)),
        ],
        json!([tide_item(id, call_id, BREST)]),
    );
    run.assert_whole(&[tide()]);
    assert_eq!(run.ids(), [Some(call_id)]);
    assert_eq!(run.calls[0].item_id(), Some(id));
    assert_eq!(run.anomalies, []);
}

#[test]
fn arguments_that_come_as_a_value_are_the_calls() {
    let begin = || added(0, tide_item("fc_1", "call_1", ""));
    let object = json!({"port": "Brest"});
    let told = event(
        &json!({"type": "response.function_call_arguments.done", "output_index": 0,
        "item_id": "fc_1", "arguments": object}),
    );
    for events in [
        vec![begin(), piece(0, "fc_1", object.clone())],
        vec![begin(), told.clone()],
        vec![begin(), piece(0, "fc_1", object.clone()), told],
    ] {
        responses(&events, json!([])).assert_whole(&[tide()]);
    }
    let run = responses(&[begin(), piece(0, "fc_1", json!([1]))], json!([]));
    assert_eq!(run.calls[0].arguments().raw(), "[1]");
    assert!(!run.calls[0].is_usable());
}

/// A response that is created, or created again, with this id.
fn created(id: &str) -> String {
    event(
        &json!({"type": "response.created", "response": {"id": id, "status": "in_progress", "output": []}}),
    )
}

#[test]
fn a_response_that_is_created_twice_goes_on() {
    let tide_added = || added(0, tide_item("fc_1", "call_1", ""));
    let tide_done = || done(0, tide_item("fc_1", "call_1", BREST));
    let rest = || piece(0, "fc_1", "\"Brest\"}");
    let half = || [tide_added(), piece(0, "fc_1", "{\"port\":")].concat();
    let moon = || added(1, item("fc_2", "call_2", "moon_phase", "{}"));
    for (events, snapshot) in [
        (vec![half(), created("resp_t"), rest()], json!([])),
        (
            vec![half(), created("resp_t"), rest(), tide_done()],
            json!([]),
        ),
        (
            vec![half(), created("resp_t"), tide_added(), rest()],
            json!([]),
        ),
        (vec![half(), created("resp_t"), tide_done()], json!([])),
        // All of it again, or its snapshot: nothing is told twice (R7).
        (
            vec![
                tide_added(),
                tide_done(),
                created("resp_t"),
                tide_added(),
                rest(),
                tide_done(),
            ],
            json!([]),
        ),
        (
            vec![tide_added(), tide_done(), created("resp_t")],
            json!([tide_item("fc_1", "call_1", BREST)]),
        ),
    ] {
        let run = responses(&events, snapshot);
        run.assert_whole(&[tide()]);
        assert_eq!(run.ids(), [Some("call_1")]);
        assert!(run.discarded.is_empty());
        run.assert_told(AnomalyKind::RestartedMessage);
    }
    let next = [half(), rest(), created("resp_t"), moon()];
    responses(&next, json!([])).assert_whole(&[tide(), ("moon_phase", json!({}))]);
}

#[test]
fn a_response_that_begins_again_discards_what_is_open_and_keeps_its_ids_for_what_comes() {
    let half = |id: &str| [added(0, tide_item("fc_1", id, "")), piece(0, "fc_1", "{")].concat();
    let whole = || done(0, tide_item("fc_2", "call_2", BREST));
    let again = added(0, tide_item("fc_2", "call_2", ""));
    let text = added(0, json!({"type": "message", "id": "msg_1", "content": []}));
    for events in [
        // Another response, with the same id for its call or another.
        vec![half("call_2"), created("resp_2"), again.clone(), whole()],
        vec![half("call_1"), created("resp_2"), whole()],
        // The same one, whose indexes are used again.
        vec![half("call_1"), created("resp_t"), again.clone(), whole()],
        vec![half("call_1"), created("resp_t"), text, again, whole()],
    ] {
        let run = responses(&events, json!([]));
        run.assert_whole(&[tide()]);
        assert_eq!(run.ids(), [Some("call_2")]);
        assert_eq!(run.discarded.len(), 1);
        run.assert_told(AnomalyKind::RestartedMessage);
    }
}

#[test]
fn free_text_that_is_open_behind_a_finished_call_is_cut_by_the_token_limit() {
    let open = json!({"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "sql", "input": ""});
    let body = [
        created("resp_t"),
        added(0, open),
        event(
            &json!({"type": "response.custom_tool_call_input.delta", "output_index": 0, "delta": "select"}),
        ),
        done(1, tide_item("fc_2", "call_2", BREST)),
        event(
            &json!({"type": "response.incomplete", "response": {"status": "incomplete",
            "incomplete_details": {"reason": "max_output_tokens"}, "output": []}}),
        ),
    ];
    let run = both(WireFormat::OpenAiResponses, body.concat());
    let states: Vec<_> = run
        .calls
        .iter()
        .map(|call| (call.name(), call.state()))
        .collect();
    let expected = [
        ("tide_height", CallState::Whole),
        ("sql", CallState::Truncated),
    ];
    assert_eq!(states, expected);
}
