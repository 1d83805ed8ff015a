//! What the decoder says of each transcript and of each deviation R1 to R20 of WIRE_FORMATS 2.

#![allow(clippy::indexing_slicing)]

use super::*;
use crate::wire::spoken::{Spoken, spoken};

fn says(payloads: &[&str]) -> Vec<String> {
    spoken(decoder(), payloads)
}

/// `output_item.added` or `.done` with these members of the item, before them those of the event.
fn item(event: &str, place: &str, item: &str) -> String {
    format!(r#"{{"type":"response.output_item.{event}",{place}"item":{{{item}}}}}"#)
}

fn added(place: &str, members: &str) -> String {
    item(
        "added",
        place,
        &format!(
            r#""type":"function_call","name":"tide_height","arguments":"","status":"in_progress",{members}"#
        ),
    )
}

fn done(place: &str, members: &str) -> String {
    let arguments = r#"{\"port\":\"Brest\"}"#;
    item(
        "done",
        place,
        &format!(
            r#""type":"function_call","name":"tide_height","arguments":"{arguments}","status":"completed",{members}"#
        ),
    )
}

fn piece(place: &str, text: &str) -> String {
    format!(r#"{{"type":"response.function_call_arguments.delta",{place}"delta":"{text}"}}"#)
}

fn completed(output: &str) -> String {
    format!(
        r#"{{"type":"response.completed","response":{{"status":"completed","output":[{output}]}}}}"#
    )
}

const AT_0: &str = r#""output_index":0,"#;
const ANNOUNCED: &str =
    "labelled #0 call_1 fc_1 name tide_height kind function executor client status in_progress";
const FINISHED: &str = r#"labelled #0 call_1 fc_1 name tide_height kind function executor client status completed restated {"port":"Brest"}"#;
const CLOSED: &str = "close #0 call_1 fc_1 Restated";
const IDS: &str = r#""id":"fc_1","call_id":"call_1""#;

fn lines(payloads: &[String]) -> Vec<String> {
    says(&payloads.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn one_call_is_announced_grows_is_restated_and_closes_with_its_item() {
    let payloads = [
        r#"{"type":"response.created","sequence_number":0,"response":{"id":"resp_a1","object":"response","status":"in_progress","output":[]}}"#,
        r#"{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"fc_9x","type":"function_call","status":"in_progress","call_id":"call_k7","name":"tide_height","arguments":""}}"#,
        r#"{"type":"response.function_call_arguments.delta","sequence_number":2,"item_id":"fc_9x","output_index":0,"delta":"{\"port\":","obfuscation":"Ab3"}"#,
        r#"{"type":"response.function_call_arguments.delta","sequence_number":3,"item_id":"fc_9x","output_index":0,"delta":"\"Brest\"}","obfuscation":"x"}"#,
        r#"{"type":"response.function_call_arguments.done","sequence_number":4,"item_id":"fc_9x","output_index":0,"arguments":"{\"port\":\"Brest\"}"}"#,
        r#"{"type":"response.output_item.done","sequence_number":5,"output_index":0,"item":{"id":"fc_9x","type":"function_call","status":"completed","call_id":"call_k7","name":"tide_height","arguments":"{\"port\":\"Brest\"}"}}"#,
        r#"{"type":"response.completed","sequence_number":6,"response":{"id":"resp_a1","object":"response","status":"completed","output":[{"id":"fc_9x","type":"function_call","status":"completed","call_id":"call_k7","name":"tide_height","arguments":"{\"port\":\"Brest\"}"}],"usage":{"input_tokens":70,"output_tokens":18,"total_tokens":88}}}"#,
    ];
    let expected = [
        "labelled #0 call_k7 fc_9x name tide_height kind function executor client status in_progress",
        r#"labelled #0 + {"port":"#,
        r#"labelled #0 + "Brest"}"#,
        r#"labelled #0 restated {"port":"Brest"}"#,
        r#"labelled #0 call_k7 fc_9x name tide_height kind function executor client status completed restated {"port":"Brest"}"#,
        "close #0 call_k7 fc_9x Restated",
        "finish completed ToolCalls",
        r#"usage {"input_tokens":70,"output_tokens":18,"total_tokens":88}"#,
        "end",
    ];
    assert_eq!(says(&payloads), expected);
}

#[test]
fn function_custom_and_mcp_calls_keep_their_kinds_executors_and_ids() {
    let payloads = [
        r#"{"type":"response.output_item.added","output_index":1,"item":{"id":"ctc_b2","type":"custom_tool_call","status":"in_progress","call_id":"call_m2","name":"run_sql","input":""}}"#,
        r#"{"type":"response.custom_tool_call_input.delta","item_id":"ctc_b2","output_index":1,"delta":"select 1"}"#,
        r#"{"type":"response.custom_tool_call_input.done","item_id":"ctc_b2","output_index":1,"input":"select 1"}"#,
        r#"{"type":"response.output_item.done","output_index":1,"item":{"id":"ctc_b2","type":"custom_tool_call","status":"completed","call_id":"call_m2","name":"run_sql","input":"select 1"}}"#,
        r#"{"type":"response.output_item.added","output_index":3,"item":{"id":"mcp_b3","type":"mcp_call","status":"in_progress","server_label":"harbour","name":"list_berths","arguments":"","output":null,"error":null}}"#,
        r#"{"type":"response.mcp_call_arguments.delta","item_id":"mcp_b3","output_index":3,"delta":"{}"}"#,
        r#"{"type":"response.mcp_call_arguments.done","item_id":"mcp_b3","output_index":3,"arguments":"{}"}"#,
        r#"{"type":"response.mcp_call.completed","item_id":"mcp_b3","output_index":3}"#,
        r#"{"type":"response.output_item.done","output_index":3,"item":{"id":"mcp_b3","type":"mcp_call","status":"completed","server_label":"harbour","name":"list_berths","arguments":"{}","output":"[]","error":null}}"#,
    ];
    let expected = [
        "labelled #1 call_m2 ctc_b2 name run_sql kind custom executor client status in_progress",
        "labelled #1 + select 1",
        "labelled #1 restated select 1",
        "labelled #1 call_m2 ctc_b2 name run_sql kind custom executor client status completed restated select 1",
        "close #1 call_m2 ctc_b2 Restated",
        "labelled #3 mcp_b3 mcp_b3 name list_berths kind mcp_call executor provider server harbour status in_progress",
        "labelled #3 + {}",
        "labelled #3 restated {}",
        "labelled #3 mcp_b3 mcp_b3 name list_berths kind mcp_call executor provider server harbour status completed restated {}",
        "close #3 mcp_b3 mcp_b3 Restated",
    ];
    assert_eq!(says(&payloads), expected);
}

/// What is said of a finished item, without its key and name's label.
fn said_of(members: &str) -> String {
    let said = lines(&[item("done", AT_0, members)]);
    said.first()
        .map(|line| line.trim_start_matches("labelled #0 ").to_owned())
        .unwrap_or_default()
}

#[test]
fn every_built_in_call_has_its_kind_its_executor_and_an_object_for_arguments() {
    let cases = [
        (
            r#""id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"tides"}"#,
            r#"ws_1 ws_1 name web_search kind web_search_call executor provider status completed restated {"type":"search","query":"tides"}"#,
        ),
        (
            r#""id":"ws_1","type":"web_search_call","call_id":"","name":"browse_page","arguments":"{\"url\":\"a\"}""#,
            r#"ws_1 ws_1 name browse_page kind web_search_call executor provider restated {"url":"a"}"#,
        ),
        (
            r#""id":"fs_1","type":"file_search_call","queries":["a","b"],"results":null"#,
            r#"fs_1 fs_1 name file_search kind file_search_call executor provider restated {"queries":["a","b"]}"#,
        ),
        (
            r#""id":"ci_1","type":"code_interpreter_call","container_id":"cntr_1","code":"print(\"a\")","outputs":[]"#,
            r#"ci_1 ci_1 name code_interpreter kind code_interpreter_call executor provider container_id="cntr_1" restated {"code":"print(\"a\")"}"#,
        ),
        (
            r#""id":"ig_1","type":"image_generation_call","result":"AAAA""#,
            "ig_1 ig_1 name image_generation kind image_generation_call executor provider",
        ),
        (
            r#""id":"cu_1","type":"computer_call","call_id":"call_1","action":{"type":"wait"},"pending_safety_checks":[{"id":"s"}]"#,
            r#"call_1 cu_1 name computer kind computer_call executor client pending_safety_checks=[{"id":"s"}] restated {"type":"wait"}"#,
        ),
        (
            r#""id":"cu_1","type":"computer_call","call_id":"call_1","actions":[{"type":"wait"}]"#,
            r#"call_1 cu_1 name computer kind computer_call executor client restated {"actions":[{"type":"wait"}]}"#,
        ),
        (
            r#""id":"lsh_1","type":"local_shell_call","call_id":"call_1","action":{"type":"exec","command":["ls"]}"#,
            r#"call_1 lsh_1 name local_shell kind local_shell_call executor client restated {"type":"exec","command":["ls"]}"#,
        ),
        (
            r#""id":"sh_1","type":"shell_call","call_id":"call_1","action":{"commands":["ls"]},"environment":{"type":"container_reference","container_id":"c"}"#,
            r#"call_1 sh_1 name shell kind shell_call executor provider environment={"type":"container_reference","container_id":"c"} restated {"commands":["ls"]}"#,
        ),
        (
            r#""id":"sh_1","type":"shell_call","call_id":"call_1","action":{"commands":["ls"]},"environment":{"type":"local"}"#,
            r#"call_1 sh_1 name shell kind shell_call executor client environment={"type":"local"} restated {"commands":["ls"]}"#,
        ),
        (
            r#""id":"sh_1","type":"shell_call","call_id":"call_1","action":{"commands":["ls"]},"environment":null"#,
            r#"call_1 sh_1 name shell kind shell_call executor client restated {"commands":["ls"]}"#,
        ),
        (
            r#""id":"apc_1","type":"apply_patch_call","call_id":"call_1","operation":{"type":"delete_file","path":"a"}"#,
            r#"call_1 apc_1 name apply_patch kind apply_patch_call executor client restated {"type":"delete_file","path":"a"}"#,
        ),
        (
            r#""id":"tsc_1","type":"tool_search_call","call_id":null,"execution":"server","arguments":{"paths":["a"]}"#,
            r#"tsc_1 tsc_1 name tool_search kind tool_search_call executor provider restated {"paths":["a"]}"#,
        ),
        (
            r#""id":"tsc_1","type":"tool_search_call","call_id":"call_1","arguments":{"goal":"a"}"#,
            r#"call_1 tsc_1 name tool_search kind tool_search_call executor client restated {"goal":"a"}"#,
        ),
        (
            r#""id":"mcpr_1","type":"mcp_approval_request","server_label":"zip","name":"create","arguments":"{\"a\":1}""#,
            r#"mcpr_1 mcpr_1 name create kind mcp_approval_request executor client server zip restated {"a":1}"#,
        ),
        (
            r#""id":"prg_1","type":"program","fingerprint":"f","code":"run()""#,
            r#"prg_1 prg_1 name program kind program executor provider fingerprint="f" restated {"code":"run()"}"#,
        ),
        (
            r#""id":"ctc_1","type":"custom_tool_call","call_id":"xs_call_1","name":"x_keyword_search","input":"{}""#,
            "xs_call_1 ctc_1 name x_keyword_search kind custom executor unknown restated {}",
        ),
    ];
    for (members, expected) in cases {
        assert_eq!(said_of(members), expected, "{members}");
    }
}

#[test]
fn results_lists_of_tools_and_unknown_items_are_no_calls() {
    for kind in [
        "function_call_output",
        "custom_tool_call_output",
        "computer_call_output",
        "shell_call_output",
        "apply_patch_call_output",
        "local_shell_call_output",
        "tool_search_output",
        "program_output",
        "mcp_list_tools",
        "mcp_approval_response",
        "additional_tools",
        "compaction",
        "message",
        "reasoning",
        "a_later_call",
    ] {
        let members = format!(
            r#""id":"x_1","type":"{kind}","call_id":"call_1","name":"a","arguments":"{{}}","output":"b""#
        );
        assert_eq!(
            lines(&[item("added", AT_0, &members), item("done", AT_0, &members)]),
            [""; 0],
            "{kind}"
        );
    }
}

#[test]
fn an_announced_action_may_be_a_husk_and_is_said_at_the_end_as_far_as_it_came() {
    let payloads = [
        r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"apc_1","type":"apply_patch_call","call_id":"call_1","operation":{"type":"create_file","path":"a","diff":""}}}"#,
        r#"{"type":"response.apply_patch_call_operation_diff.delta","output_index":0,"item_id":"apc_1","delta":"+a"}"#,
        r#"{"type":"response.shell_call_command.delta","output_index":1,"command_index":0,"delta":"ls"}"#,
        r#"{"type":"response.code_interpreter_call_code.delta","output_index":2,"item_id":"ci_1","delta":"print"}"#,
    ];
    assert_eq!(
        says(&payloads),
        [
            "labelled #0 call_1 apc_1 name apply_patch kind apply_patch_call executor client",
            r#"labelled #0 call_1 apc_1 initial {"type":"create_file","path":"a","diff":"""#,
        ]
    );
}

#[test]
fn the_call_id_of_a_tool_search_is_taken_from_the_finished_item() {
    let announced = r#""id":"tsc_1","type":"tool_search_call","call_id":"call_early","execution":"client","arguments":{}"#;
    let finished = r#""id":"tsc_1","type":"tool_search_call","call_id":"call_late","execution":"client","arguments":{"goal":"a"}"#;
    assert_eq!(
        lines(&[item("added", AT_0, announced), item("done", AT_0, finished)]),
        [
            "labelled #0 tsc_1 name tool_search kind tool_search_call executor client",
            r#"labelled #0 call_late tsc_1 name tool_search kind tool_search_call executor client restated {"goal":"a"}"#,
            "close #0 call_late tsc_1 Restated",
        ]
    );
}

#[test]
fn namespace_and_caller_go_along_verbatim_and_a_program_s_call_is_finished_though_in_progress() {
    let members = r#""namespace":"crm","caller":{"type":"program","caller_id":"call_p"},"type":"function_call","call_id":"call_1","name":"demand","arguments":"{}","status":"in_progress""#;
    let extras = r#"namespace="crm" caller={"type":"program","caller_id":"call_p"}"#;
    assert_eq!(
        lines(&[item("done", AT_0, members)]),
        [
            format!(
                "labelled #0 call_1 name demand kind function executor client status in_progress {extras} restated {{}}"
            ),
            "close #0 call_1 Restated".to_owned(),
        ]
    );
}

#[test]
fn a_call_without_deltas_is_its_finished_item() {
    // R1
    assert_eq!(
        lines(&[added(AT_0, IDS), done(AT_0, IDS)]),
        [ANNOUNCED, FINISHED, CLOSED]
    );
    assert_eq!(lines(&[done(AT_0, IDS)]), [FINISHED, CLOSED]);
}

#[test]
fn a_call_whose_item_is_never_finished_is_closed_by_the_terminal() {
    // R3
    let restated = r#"{"type":"response.function_call_arguments.done","output_index":0,"item_id":"fc_1","arguments":"{}"}"#;
    assert_eq!(
        lines(&[
            added(AT_0, IDS),
            piece(AT_0, "{}"),
            restated.to_owned(),
            completed("")
        ]),
        [
            ANNOUNCED,
            "labelled #0 + {}",
            "labelled #0 restated {}",
            "finish completed ToolCalls",
            "end",
        ]
    );
}

const SNAPSHOT: &str = r#"{"type":"message","id":"m","content":[]},{"type":"function_call","id":"fc_s","call_id":"call_s","name":"tide_height","arguments":"{}"}"#;

#[test]
fn a_call_only_in_the_closing_response_is_told_from_there() {
    // R4
    assert_eq!(
        lines(&[completed(SNAPSHOT)]),
        [
            "labelled #1 call_s fc_s name tide_height kind function executor client restated {}",
            "finish completed ToolCalls",
            "close #1 call_s fc_s Restated",
            "end",
        ]
    );
}

#[test]
fn the_closing_response_finishes_a_call_that_is_still_open() {
    let said = lines(&[
        added(AT_0, IDS),
        completed(
            r#"{"type":"function_call","id":"fc_1","call_id":"call_1","name":"tide_height","arguments":"{}","status":"completed"}"#,
        ),
    ]);
    assert_eq!(
        said,
        [
            ANNOUNCED,
            "labelled #0 call_1 fc_1 name tide_height kind function executor client status completed restated {}",
            "finish completed ToolCalls",
            CLOSED,
            "end",
        ]
    );
}

#[test]
fn ids_that_drift_between_the_events_are_one_call() {
    let end = ["finish completed ToolCalls", "end"];
    // R5: every event has another call id; the finished item's counts.
    let snapshot = r#"{"type":"function_call","id":"fc_1","call_id":"call_c","name":"tide_height","arguments":"{}"}"#;
    let said = lines(&[
        added(AT_0, r#""id":"fc_1","call_id":"call_a""#),
        done(AT_0, r#""id":"fc_1","call_id":"call_b""#),
        completed(snapshot),
    ]);
    assert_eq!(said[1], FINISHED.replace("call_1", "call_b"));
    assert_eq!(said[2], CLOSED.replace("call_1", "call_b"));
    assert_eq!(said[3..], end);
    // R7, and a snapshot with a third item id (R8): the call id stays, here also without any index.
    for place in [AT_0, ""] {
        let snapshot = r#"{"type":"function_call","id":"fc_z","call_id":"call_1","name":"tide_height","arguments":"{}"}"#;
        let said = lines(&[
            added(place, r#""id":"fc_x","call_id":"call_1""#),
            done(place, r#""id":"fc_y","call_id":"call_1""#),
            completed(snapshot),
        ]);
        assert_eq!(said.len(), 5, "{said:?}");
        assert!(said[2].starts_with("close") && said[3..] == end, "{said:?}");
    }
    // R8 for MCP calls, which have no call id: the place decides, or the name where items are left out.
    let mcp = |id: &str| {
        format!(
            r#""id":"{id}","type":"mcp_call","server_label":"s","name":"list","arguments":"{{}}""#
        )
    };
    for index in [0, 2] {
        let place = format!(r#""output_index":{index},"#);
        let said = lines(&[
            item("done", &place, &mcp("mcp_1")),
            completed(&format!("{{{}}}", mcp("mcp_2"))),
        ]);
        assert_eq!(said[2..], ["finish completed Stop", "end"]);
    }
}

#[test]
fn a_finished_item_that_comes_twice_is_told_once() {
    let again = done(AT_0, r#""id":"fc_2","call_id":"call_1""#);
    assert_eq!(
        lines(&[done(AT_0, IDS), again, added(AT_0, IDS), done("", IDS)]),
        [FINISHED, CLOSED]
    );
}

#[test]
fn items_without_ids_are_told_apart_by_their_index() {
    // R6, R18
    let said = lines(&[
        added(AT_0, r#""id":null,"call_id":"call_1""#),
        added(r#""output_index":1,"#, r#""call_id":"""#),
        piece(r#""output_index":1,"#, "{}"),
        piece(AT_0, "{}"),
        done(AT_0, r#""call_id":"call_1""#),
        done(r#""output_index":1,"#, r#""id":null"#),
    ]);
    assert_eq!(
        said,
        [
            ANNOUNCED.replace(" fc_1", ""),
            "labelled #1 name tide_height kind function executor client status in_progress"
                .to_owned(),
            "labelled #1 + {}".to_owned(),
            "labelled #0 + {}".to_owned(),
            FINISHED.replace(" fc_1", ""),
            CLOSED.replace(" fc_1", ""),
            FINISHED.replace("#0 call_1 fc_1", "#1"),
            CLOSED.replace("#0 call_1 fc_1", "#1"),
        ]
    );
}

#[test]
fn pieces_without_an_index_are_keyed_by_their_item_id() {
    let said = lines(&[
        added("", IDS),
        piece(r#""item_id":"fc_1","#, "{}"),
        done("", IDS),
    ]);
    assert_eq!(
        said,
        [ANNOUNCED, "labelled #0 fc_1 + {}", FINISHED, CLOSED].map(|line| line.replace(" #0", ""))
    );
}

#[test]
fn a_temporary_item_id_in_a_piece_says_nothing_beside_a_known_index() {
    // R9
    assert_eq!(
        lines(&[
            added(AT_0, IDS),
            piece(r#""output_index":0,"item_id":"fc_tmp_1","#, "{}")
        ])[1],
        "labelled #0 + {}"
    );
}

#[test]
fn text_in_the_announcement_is_the_first_piece() {
    // R10
    let announced = added(AT_0, IDS).replace(r#""arguments":"""#, r#""arguments":"{\"port\":""#);
    let said = lines(&[announced.clone(), announced, piece(AT_0, "1}")]);
    assert_eq!(
        said,
        [
            &format!(r#"{ANNOUNCED} + {{"port":"#),
            ANNOUNCED,
            "labelled #0 + 1}"
        ]
    );
}

#[test]
fn null_pieces_and_done_events_without_text_say_nothing_of_the_arguments() {
    // R11, R12
    let null = r#"{"type":"response.function_call_arguments.delta","output_index":0,"delta":null}"#;
    let bare = r#"{"type":"response.function_call_arguments.done","output_index":0}"#;
    assert_eq!(says(&[null, bare]), ["anomaly null-arguments"]);
}

#[test]
fn pieces_before_the_announcement_wait_under_its_label() {
    // R14
    let said = lines(&[
        piece(r#""output_index":0,"item_id":"fc_1","#, "{}"),
        added(AT_0, IDS),
    ]);
    assert_eq!(said, ["labelled #0 fc_1 + {}", ANNOUNCED]);
}

#[test]
fn a_text_and_a_call_can_have_one_index_and_so_can_two_calls() {
    // R19
    let text = r#"{"type":"response.output_text.delta","output_index":0,"delta":"hi"}"#;
    let second = r#""id":"fc_2","call_id":"call_2""#;
    let said = lines(&[
        text.to_owned(),
        added(AT_0, IDS),
        done(AT_0, IDS),
        added(AT_0, second),
        piece(AT_0, "{}"),
        done(AT_0, second),
    ]);
    let renamed = |line: &str| line.replace("call_1 fc_1", "call_2 fc_2");
    assert_eq!(
        said,
        [
            "Answer hi".to_owned(),
            ANNOUNCED.to_owned(),
            FINISHED.to_owned(),
            CLOSED.to_owned(),
            renamed(ANNOUNCED).replace("labelled", "opens"),
            "labelled #0 + {}".to_owned(),
            renamed(FINISHED),
            renamed(CLOSED),
        ]
    );
}

#[test]
fn of_two_open_calls_under_one_index_the_item_id_tells_which() {
    let second = r#""id":"fc_2","call_id":"call_2""#;
    let said = lines(&[
        added(AT_0, IDS),
        added(AT_0, second),
        piece(r#""output_index":0,"item_id":"fc_1","#, "{}"),
        piece(r#""output_index":0,"item_id":"fc_2","#, "{}"),
        done(AT_0, IDS),
        done(AT_0, second),
    ]);
    assert_eq!(said[2], "labelled fc_1 + {}");
    assert_eq!(said[3], "labelled #0 fc_2 + {}");
    assert_eq!(said[5], CLOSED.replace(" #0", ""));
    assert_eq!(said[7], CLOSED.replace("call_1 fc_1", "call_2 fc_2"));
}

#[test]
fn two_calls_with_one_call_id_are_two_calls() {
    let at_1 = r#""output_index":1,"#;
    let other = r#""id":"fc_2","call_id":"call_1""#;
    for payloads in [
        vec![
            added(AT_0, IDS),
            added(at_1, other),
            done(AT_0, IDS),
            done(at_1, other),
        ],
        vec![done(AT_0, IDS), done(at_1, other)],
    ] {
        let said = lines(&payloads);
        assert_eq!(
            said.iter().filter(|line| line.starts_with("close")).count(),
            2,
            "{said:?}"
        );
        assert_eq!(
            said.iter().filter(|line| line.starts_with("opens")).count(),
            1,
            "{said:?}"
        );
    }
}

#[test]
fn a_snapshot_that_leaves_items_out_repeats_the_rest_by_their_ids() {
    let at = |index: i64| format!(r#""output_index":{index},"#);
    let call = |n: i64| format!(r#""id":"fc_{n}","call_id":"call_{n}""#);
    let snapshot: Vec<String> = (1..4)
        .map(|n| {
            format!(
                r#"{{"type":"function_call","name":"tide_height","arguments":"{{}}",{}}}"#,
                call(n)
            )
        })
        .collect();
    // Item 0 was reasoning; the third call was never told of.
    let said = lines(&[
        done(&at(1), &call(1)),
        done(&at(2), &call(2)),
        completed(&snapshot.join(",")),
    ]);
    let opened: Vec<_> = said[4..]
        .iter()
        .filter(|line| line.contains("restated"))
        .collect();
    assert_eq!(opened.len(), 1, "{said:?}");
    assert!(opened[0].starts_with("opens #2 call_3 fc_3"), "{said:?}");
}

#[test]
fn texts_are_told_once_by_the_first_that_has_them() {
    let piece =
        |kind: &str| format!(r#"{{"type":"response.{kind}.delta","output_index":0,"delta":"a"}}"#);
    let part = |kind: &str, member: &str| {
        format!(r#"{{"type":"response.{kind}.done","output_index":0,"{member}":"ab"}}"#)
    };
    let message = item(
        "done",
        AT_0,
        r#""type":"message","content":[{"type":"output_text","text":"ab"},{"type":"refusal","refusal":"no"}]"#,
    );
    let output = r#"{"type":"message","content":[{"type":"output_text","text":"ab"}]}"#;
    let end = ["finish completed Stop", "end"];
    let said = lines(&[
        piece("output_text"),
        piece("output_text"),
        part("output_text", "text"),
        message.clone(),
        completed(output),
    ]);
    assert_eq!(said, ["Answer a", "Answer a", "Refusal no", end[0], end[1]]);
    let said = lines(&[
        part("output_text", "text"),
        part("output_text", "text"),
        message.clone(),
        completed(output),
    ]);
    assert_eq!(
        said,
        ["Answer ab", "Answer ab", "Refusal no", end[0], end[1]]
    );
    let said = lines(&[message, completed(output)]);
    assert_eq!(said, ["Answer ab", "Refusal no", end[0], end[1]]);
    assert_eq!(lines(&[completed(output)]), ["Answer ab", end[0], end[1]]);
    assert_eq!(
        lines(&[piece("refusal"), part("refusal", "refusal")]),
        ["Refusal a"]
    );
}

#[test]
fn reasoning_is_told_with_the_last_encrypted_content() {
    let reasoning = |content: &str| {
        format!(
            r#""type":"reasoning","encrypted_content":"{content}","summary":[{{"type":"summary_text","text":"so"}}],"content":[]"#
        )
    };
    let piece = r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"so"}"#;
    let item = [
        item("added", AT_0, &reasoning("e1")),
        piece.to_owned(),
        item("done", AT_0, &reasoning("e2")),
    ];
    assert_eq!(lines(&item), ["Reasoning so", "Signature e2"]);
    assert_eq!(lines(&item[2..]), ["Reasoning so", "Signature e2"]);
    assert_eq!(
        says(&[r#"{"type":"response.reasoning_text.delta","output_index":0,"delta":"hm"}"#]),
        ["Reasoning hm"]
    );
}

#[test]
fn a_response_after_another_starts_its_labels_over() {
    let created =
        r#"{"type":"response.created","response":{"id":"resp_1","status":"in_progress"}}"#
            .to_owned();
    let call = [
        created.clone(),
        added(AT_0, IDS),
        done(AT_0, IDS),
        completed(""),
    ];
    let once = lines(&call);
    assert_eq!(
        once,
        [
            ANNOUNCED,
            FINISHED,
            CLOSED,
            "finish completed ToolCalls",
            "end"
        ]
    );
    let twice: Vec<String> = call.iter().chain(&call).cloned().collect();
    assert_eq!(
        lines(&twice),
        [once.clone(), vec!["restart".to_owned()], once].concat()
    );
    assert_eq!(lines(&[created.clone(), created]), [""; 0]);
}

#[test]
fn a_long_event_that_begins_a_response_tells_its_id_by_its_beginning() {
    let long = |id: &str| {
        format!(r#"{{"type":"response.created","response":{{"id":"{id}","instructions":"You are"#)
    };
    let whole = |id: &str| long(id) + " brief.\"}}";
    for (id, restarts) in [("resp_1", false), ("resp_2", true)] {
        let mut decoder = decoder();
        let mut said = Spoken::default();
        assert!(decoder.skips(&long("resp_1")));
        decoder.decode(Frame::new(&added(AT_0, IDS)), &mut said);
        // Another one is under way: all of it counts.
        assert!(!decoder.skips(&long(id)));
        decoder.decode(Frame::new(&whole(id)), &mut said);
        let restarted = said.0.last().is_some_and(|last| last == "restart");
        assert_eq!(restarted, restarts, "{:?}", said.0);
    }
}

#[test]
fn a_second_terminal_says_nothing() {
    assert_eq!(lines(&[completed(SNAPSHOT), completed(SNAPSHOT)]).len(), 4);
}

#[test]
fn a_cut_call_stays_open_until_the_terminal_says_what_cut_it() {
    let cut = done(AT_0, IDS)
        .replace("completed", "incomplete")
        .replace(r#"\"}"#, "");
    let cut_line = FINISHED
        .replace("completed", "incomplete")
        .replace("\"}", "");
    let terminal = |reason: &str| {
        format!(
            r#"{{"type":"response.incomplete","response":{{"status":"incomplete","incomplete_details":{reason},"output":[]}}}}"#
        )
    };
    for (reason, finish) in [
        (
            r#"{"reason":"max_output_tokens"}"#,
            "finish max_output_tokens Length",
        ),
        (
            r#"{"reason":"content_filter"}"#,
            "finish content_filter Filtered",
        ),
        ("null", "finish incomplete Length"),
    ] {
        assert_eq!(
            lines(&[cut.clone(), terminal(reason)]),
            [&cut_line, finish, "end"]
        );
    }
    let lying = r#"{"type":"response.completed","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}"#;
    assert_eq!(says(&[lying]), ["finish max_output_tokens Length", "end"]);
}

#[test]
fn a_failure_is_an_error_in_each_of_its_shapes() {
    for error in [
        r#"{"type":"error","error":{"type":"t","code":"quota","message":"gone","param":null}}"#,
        r#"{"type":"error","code":"quota","message":"gone","param":null}"#,
        r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"quota","message":"gone"},"output":[]}}"#,
        r#"{"type":"response.completed","response":{"status":"failed","error":{"code":"quota","message":"gone"}}}"#,
    ] {
        assert_eq!(says(&[error]), ["error gone (quota)"]);
    }
    let silent = r#"{"type":"response.failed","response":{"status":"failed","error":null,"output":[{"type":"message","content":[]}]}}"#;
    assert_eq!(
        says(&[silent]),
        ["error the response was failed without a reason (failed)"]
    );
}

#[test]
fn a_failed_response_vouches_only_for_calls_that_it_completed() {
    let call = |n: i64, status: &str| {
        format!(
            r#"{{"type":"function_call","id":"fc_{n}","call_id":"call_{n}","name":"a","arguments":"{{}}","status":"{status}"}}"#
        )
    };
    let output = [call(1, "completed"), call(2, "in_progress")].join(",");
    let failed = completed(&output)
        .replace("response.completed", "response.failed")
        .replace(
            r#""status":"completed","output""#,
            r#""status":"failed","output""#,
        );
    let said = lines(&[failed]);
    assert_eq!(
        said[2..],
        [
            "close #0 call_1 fc_1 Restated",
            "error the response was failed without a reason (failed)"
        ]
    );
}

#[test]
fn the_type_member_decides_and_the_event_line_stands_in_for_it() {
    let mut sink = crate::wire::spoken::Spoken::default();
    let mut decoder = decoder();
    let text = r#"{"type":"response.output_text.delta","delta":"a"}"#;
    decoder.decode(Frame::new(text).with_event("renamed"), &mut sink);
    decoder.decode(
        Frame::new(r#"{"delta":"b"}"#).with_event("response.output_text.delta"),
        &mut sink,
    );
    decoder.decode(Frame::new(r#"{"delta":"c"}"#), &mut sink);
    assert_eq!(sink.0, ["Answer a", "Answer b"]);
}

#[test]
fn members_in_any_order_and_of_any_shape_cost_one_field() {
    let said = says(&[
        r#"{ "delta" : "{}" , "output_index" : "0" , "item_id" : 7 , "type" : "response.function_call_arguments.delta" }  "#,
        r#"{"output_index":-1,"delta":{"a":1},"type":"response.function_call_arguments.delta"}"#,
        r#"{"item":"none","output_index":[],"type":"response.output_item.added"}"#,
        r#"{"item":{"name":["a"],"arguments":7,"id":1,"type":"function_call"},"type":"response.output_item.done"}"#,
        r#"{"response":[],"type":"response.incomplete"}"#,
    ]);
    assert_eq!(
        said,
        [
            "labelled #0 7 + {}",
            "labelled whole {\"a\":1}",
            "labelled 1 1 kind function executor client restated 7",
            "close 1 1 Restated",
            "finish incomplete Length",
            "end",
        ]
    );
}

#[test]
fn a_long_event_is_skipped_if_its_first_member_names_a_type_that_is_not_read() {
    let mut decoder = decoder();
    let mut skips = |beginning: &str| decoder.skips(beginning);
    assert!(skips(
        r#"{"type":"response.in_progress","response":{"instructions":"You are"#
    ));
    assert!(skips(r#" { "type" : "response.of_a_later_year" , "x": 1"#));
    for read in [
        r#"{"type":"response.completed","response":{"output":[{"type":"x"#,
        r#"{"sequence_number":1,"type":"response.in_progress","response":"#,
        r#"{"response":{"type":"response.in_progress"}"#,
        r#"{"type":1,"response":"#,
        r#"{"type":"response.in_pro"#,
        "x".repeat(1000).as_str(),
    ] {
        assert!(!skips(read), "{read}");
    }
}
