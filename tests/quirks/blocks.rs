//! WIRE_FORMATS 3, 5.2 and 6, on every wire that sends its calls in blocks: blocks that begin, end and are cut in another order
//! than the documents say.

use callstitch::{AnomalyKind, CallState, ClosedBy, End, WireFormat};
use serde_json::{Value, json};

use super::Run;
use super::support::run::both;
use super::support::wire::{
    block_start, block_stop, event, input, message, message_delta, message_start, message_stop,
    tool_start,
};
use CallState::{Truncated, Whole};

/// What a server sends.
#[derive(Clone, Copy)]
enum Step {
    /// A block begins: its index, its id, its tool.
    Start(Option<i64>, &'static str, &'static str),
    Text(i64, &'static str),
    Stop(i64),
    /// The message is opened once more.
    Again,
    /// The message ends, as it should or at the token limit.
    End,
    Cut,
    Error,
}
use Step::{Again, Cut, End as Ends, Error, Start, Stop, Text};

const TIDE: &str = "tide_height";
const A: &str = "{\"a\":1}";
const B: &str = "{\"b\":2}";

fn indexed(mut event: Value, member: &str, index: Option<i64>) -> Value {
    if let Some(index) = index {
        event[member] = json!(index);
    }
    event
}

fn claude(step: Step) -> String {
    let start = |index, id, name| {
        let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
        let start = json!({"type": "content_block_start", "content_block": block});
        event(&indexed(start, "index", index))
    };
    match step {
        Start(index, id, name) => start(index, id, name),
        Text(index, text) => input(index, text),
        Stop(index) => block_stop(index),
        Again => {
            event(&json!({"type": "message_start", "message": {"id": "msg_2", "content": []}}))
        }
        Ends => message_delta("tool_use") + &message_stop(),
        Cut => message_delta("max_tokens") + &message_stop(),
        Error => event(&json!({"type": "error", "error": {"type": "api_error", "message": "no"}})),
    }
}

fn cohere(step: Step) -> String {
    let call = |kind: &str, calls: Value| json!({"type": kind, "delta": {"message": {"tool_calls": calls}}});
    let end = |delta: Value| event(&json!({"type": "message-end", "delta": delta}));
    match step {
        Start(index, id, name) => {
            let function = json!({"name": name, "arguments": ""});
            let start = call("tool-call-start", json!({"id": id, "function": function}));
            event(&indexed(start, "index", index))
        }
        Text(index, text) => {
            let delta = call("tool-call-delta", json!({"function": {"arguments": text}}));
            event(&indexed(delta, "index", Some(index)))
        }
        Stop(index) => event(&json!({"type": "tool-call-end", "index": index})),
        Again => event(&json!({"type": "message-start", "id": "c2", "delta": {"message": {}}})),
        Ends => end(json!({"finish_reason": "TOOL_CALL"})),
        Cut => end(json!({"finish_reason": "MAX_TOKENS"})),
        Error => end(json!({"finish_reason": "ERROR", "error": "no"})),
    }
}

#[cfg(feature = "bedrock")]
fn bedrock(step: Step) -> String {
    let at = |index| json!({"contentBlockIndex": index});
    let event = match step {
        Start(index, id, name) => {
            let start = json!({"start": {"toolUse": {"toolUseId": id, "name": name}}});
            json!({"contentBlockStart": indexed(start, "contentBlockIndex", index)})
        }
        Text(index, text) => {
            let mut delta = at(index);
            delta["delta"] = json!({"toolUse": {"input": text}});
            json!({ "contentBlockDelta": delta })
        }
        Stop(index) => json!({"contentBlockStop": at(index)}),
        Again => json!({"messageStart": {"role": "assistant"}}),
        Ends => json!({"messageStop": {"stopReason": "tool_use"}}),
        Cut => json!({"messageStop": {"stopReason": "max_tokens"}}),
        Error => json!({"modelStreamErrorException": {"message": "no"}}),
    };
    format!("{event}\n")
}

/// These steps on each wire.
fn each(steps: &[Step]) -> Vec<(WireFormat, Run)> {
    let of =
        |render: fn(Step) -> String| steps.iter().map(|&step| render(step)).collect::<String>();
    let begin = event(&json!({"type": "message-start", "id": "c1", "delta": {"message": {}}}));
    let bodies = [
        (WireFormat::Anthropic, message_start() + &of(claude)),
        (WireFormat::Cohere, begin + &of(cohere)),
        #[cfg(feature = "bedrock")]
        (
            WireFormat::Bedrock,
            format!("{}\n{}", json!({"messageStart": {}}), of(bedrock)),
        ),
    ];
    bodies
        .map(|(format, body)| (format, both(format, body)))
        .into()
}

/// On each wire these calls by first appearance: the id that is answered, the state, and the text as sent.
#[track_caller]
fn makes(steps: &[Step], expected: &[(Option<&str>, CallState, &str)]) -> Vec<Run> {
    let runs = each(steps).into_iter().map(|(format, run)| {
        let mut calls: Vec<_> = run.calls.iter().collect();
        calls.sort_by_key(|call| call.index());
        let made: Vec<_> = calls
            .iter()
            .map(|call| {
                let id = Some(call.id()).filter(|_| !call.is_synthetic_id());
                (id, call.state(), call.arguments().raw())
            })
            // Anthropic's start says an empty object.
            .map(|(id, state, raw)| (id, state, if raw == "{}" { "" } else { raw }))
            .collect();
        assert_eq!(made, expected, "{format}");
        run
    });
    runs.collect()
}

#[test]
fn a_call_left_open_at_an_error_is_flagged_also_where_a_newer_one_was_closed() {
    let (one, other) = (Start(Some(0), "a", TIDE), Start(Some(1), "b", TIDE));
    let (left, flagged) = ((Some("a"), Whole, A), (Some("a"), Truncated, A));
    let closed = (Some("b"), Whole, B);
    for steps in [
        [one, other, Text(1, B), Stop(1), Text(0, A), Error],
        [one, other, Text(0, A), Text(1, B), Stop(1), Error],
    ] {
        makes(&steps, &[flagged, closed]);
    }
    // Where a newer call began and nothing came of the one before, its close may have been left out (3.5).
    let steps = [one, Text(0, A), other, Text(1, B), Stop(1), Error];
    makes(&steps, &[left, closed]);
}

#[test]
fn the_token_limit_cuts_the_last_call_that_is_open() {
    let (one, other) = (Start(Some(0), "a", "now"), Start(Some(1), "b", TIDE));
    let cut = [one, other, Text(1, B), Stop(1), Cut];
    makes(&cut, &[(Some("a"), Truncated, ""), (Some("b"), Whole, B)]);
    // On a wire without stops that is the newest.
    let cut = [one, other, Text(1, B), Cut];
    makes(&cut, &[(Some("a"), Whole, ""), (Some("b"), Whole, B)]);
}

#[test]
fn a_stopped_null_is_an_empty_object_once_the_model_goes_on() {
    let (one, other) = (Start(Some(0), "a", "now"), Start(Some(1), "b", TIDE));
    let on = [one, Text(0, "null"), Stop(0), other, Text(1, "{"), Error];
    makes(
        &on,
        &[(Some("a"), Whole, "null"), (Some("b"), Truncated, "{")],
    );
    let gone = [one, Text(0, "null"), Stop(0), Error];
    makes(&gone, &[(Some("a"), Truncated, "null")]);
}

#[test]
fn a_start_that_is_repeated_goes_on_with_its_call() {
    let start = Start(Some(0), "a", TIDE);
    let repaired = CallState::Repaired;
    // In the middle of the text, which goes on or is sent again; behind a stop, too.
    let goes_on = [
        start,
        Text(0, "{\"a\""),
        start,
        Text(0, ":1}"),
        Stop(0),
        Ends,
    ];
    makes(&goes_on, &[(Some("a"), Whole, A)]);
    for stop in [Text(0, ""), Stop(0)] {
        let again = [
            start,
            Text(0, "{\"a\""),
            stop,
            start,
            Text(0, A),
            Stop(0),
            Ends,
        ];
        makes(&again, &[(Some("a"), repaired, "{\"a\"{\"a\":1}")]);
    }
    // Behind the whole text: nothing, or the same.
    for text in ["", A] {
        for stop in [Text(0, ""), Stop(0)] {
            let again = [start, Text(0, A), start, Text(0, text), stop, Ends];
            for run in makes(&again, &[(Some("a"), Whole, A)]) {
                assert_eq!(run.discarded[0].evidence().closed_by, ClosedBy::Mirrored);
            }
        }
    }
    // Its name may have come late.
    let (nameless, half) = (Start(Some(0), "a", ""), Text(0, "{\"a\""));
    let late = [nameless, half, start, Text(0, ":1}"), Stop(0), Ends];
    makes(&late, &[(Some("a"), Whole, A)]);
    // Another text there is another call's, whose id was used twice (Q23); so is the text of another tool.
    let other = [start, Text(0, A), start, Text(0, B), Stop(0), Ends];
    makes(&other, &[(Some("a"), Whole, A), (None, Whole, B)]);
    let named = [
        start,
        Text(0, "{"),
        Start(Some(0), "a", "now"),
        Text(0, B),
        Stop(0),
        Ends,
    ];
    makes(&named, &[(Some("a"), Truncated, "{"), (None, Whole, B)]);
}

#[test]
fn text_finds_the_call_whose_start_had_no_index() {
    for sent in [None, Some(-1)] {
        let steps = [
            Start(sent, "a", TIDE),
            Text(0, "{\"a\":"),
            Text(0, "1}"),
            Stop(0),
            Ends,
        ];
        for run in makes(&steps, &[(Some("a"), Whole, A)]) {
            assert_eq!(run.calls[0].wire_index(), Some(0));
            run.assert_told(AnomalyKind::UnknownLabel);
        }
    }
    // A call that has its whole text takes no more, and neither does one that has an index.
    let whole = [Start(None, "a", TIDE), Text(0, A), Text(1, B), Ends];
    makes(
        &whole,
        &[(Some("a"), Whole, A), (None, CallState::Unnamed, B)],
    );
    let labelled = [Start(Some(2), "a", TIDE), Text(1, B), Text(2, A), Ends];
    makes(
        &labelled,
        &[(Some("a"), Whole, A), (None, CallState::Unnamed, B)],
    );
}

#[test]
fn empty_text_of_a_block_that_never_began_is_no_call() {
    let steps = [
        Text(0, ""),
        Stop(0),
        Start(Some(1), "b", TIDE),
        Text(1, B),
        Stop(1),
        Ends,
    ];
    for run in makes(&steps, &[(Some("b"), Whole, B)]) {
        run.assert_told(AnomalyKind::UnknownLabel);
    }
}

#[test]
fn a_message_that_begins_again_discards_what_is_open_and_keeps_its_ids_for_what_comes() {
    let (one, other) = (Start(Some(0), "a", TIDE), Start(Some(1), "b", TIDE));
    let half = Text(0, "{\"a\":");
    for steps in [
        vec![one, half, Again, one, Text(0, A), Stop(0), Ends],
        vec![one, Again, one, Text(0, A), Stop(0), Ends],
    ] {
        for run in makes(&steps, &[(Some("a"), Whole, A)]) {
            assert_eq!(run.discarded.len(), 1);
            run.assert_told(AnomalyKind::RestartedMessage);
        }
    }
    // The start of a newer block stood for the close of the one before (11.5.4).
    let steps = [
        one,
        Text(0, A),
        other,
        Text(1, "{"),
        Again,
        other,
        Text(1, B),
        Stop(1),
        Ends,
    ];
    for run in makes(&steps, &[(Some("a"), Whole, A), (Some("b"), Whole, B)]) {
        assert_eq!(run.calls[0].evidence().closed_by, ClosedBy::NextCall);
        assert_eq!(run.end, End::Clean);
    }
    // More came of it since, so that it was open.
    let steps = [
        one,
        other,
        Text(0, A),
        Again,
        other,
        Text(1, B),
        Stop(1),
        Ends,
    ];
    makes(&steps, &[(Some("b"), Whole, B)]);
}

fn anthropic(events: &[String]) -> Run {
    both(WireFormat::Anthropic, message("tool_use", events))
}

#[test]
fn an_input_that_comes_as_a_value_is_the_calls() {
    let delta = |index: i64, value: Value| {
        event(&json!({"type": "content_block_delta", "index": index,
            "delta": {"type": "input_json_delta", "partial_json": value}}))
    };
    let start = || tool_start(0, "a", TIDE);
    for events in [
        vec![start(), delta(0, json!({"a": 1}))],
        vec![start(), delta(0, json!({"a": 1})), block_stop(0)],
        vec![
            start(),
            delta(0, json!({})),
            delta(0, json!(A)),
            block_stop(0),
        ],
        vec![
            start(),
            delta(0, json!("{}")),
            delta(0, json!({"a": 1})),
            block_stop(0),
        ],
        vec![
            start(),
            delta(0, json!(null)),
            delta(0, json!(A)),
            block_stop(0),
        ],
    ] {
        let run = anthropic(&events);
        assert_eq!(run.calls.len(), 1);
        assert_eq!(
            run.calls[0].arguments().object().unwrap()["a"],
            1,
            "{events:?}"
        );
    }
    for value in [json!([1]), json!(7), json!(true)] {
        let run = anthropic(&[start(), delta(0, value.clone()), block_stop(0)]);
        assert_eq!(run.calls[0].arguments().raw(), value.to_string());
        assert!(!run.calls[0].is_usable());
    }
}

#[cfg(feature = "bedrock")]
#[test]
fn a_converse_input_that_is_no_object_is_flagged() {
    for value in [json!([1]), json!(7), json!(true)] {
        let delta = json!({"contentBlockIndex": 0, "delta": {"toolUse": {"input": value}}});
        let body = [
            bedrock(Start(Some(0), "a", TIDE)),
            format!("{}\n", json!({ "contentBlockDelta": delta })),
            bedrock(Stop(0)),
            bedrock(Ends),
        ];
        let run = both(WireFormat::Bedrock, body.concat());
        assert_eq!(run.calls[0].arguments().raw(), value.to_string());
        assert!(!run.calls[0].is_usable());
    }
}

#[cfg(feature = "bedrock")]
#[test]
fn an_input_in_a_converse_start_counts_where_no_delta_comes_whatever_it_is() {
    let with = |value: &Value, text: Option<&'static str>| {
        let tool = json!({"toolUseId": "a", "name": TIDE, "input": value});
        let start = json!({"contentBlockIndex": 0, "start": {"toolUse": tool}});
        let body = [
            format!("{}\n", json!({ "contentBlockStart": start })),
            text.map_or(String::new(), |text| bedrock(Text(0, text))),
            bedrock(Stop(0)),
            bedrock(Ends),
        ];
        both(WireFormat::Bedrock, body.concat())
    };
    for value in [
        json!(null),
        json!(""),
        json!({}),
        json!([1]),
        json!(7),
        json!(A),
    ] {
        with(&value, Some(A)).assert_whole(&[(TIDE, json!({"a": 1}))]);
    }
    for value in [json!([1]), json!(7)] {
        let run = with(&value, None);
        assert_eq!(run.calls[0].arguments().raw(), value.to_string());
        assert!(!run.calls[0].is_usable());
    }
    let run = with(&json!(A), None);
    assert_eq!(run.calls[0].arguments().object().unwrap()["a"], 1);
    for value in [json!(null), json!(""), json!({})] {
        with(&value, None).assert_whole(&[(TIDE, json!({}))]);
    }
}

#[test]
fn an_object_in_the_start_beats_an_empty_one_in_the_deltas() {
    let start = |input: Value| {
        block_start(
            0,
            json!({"type": "tool_use", "id": "a", "name": TIDE, "input": input}),
        )
    };
    let run = anthropic(&[start(json!({"a": 1})), input(0, "{}"), block_stop(0)]);
    run.assert_whole(&[(TIDE, json!({"a": 1}))]);
    run.assert_told(AnomalyKind::RestatedDiffers);
    // What is no object beats nothing (some encode no arguments as a list).
    anthropic(&[start(json!([])), input(0, "{}"), block_stop(0)])
        .assert_whole(&[(TIDE, json!({}))]);
}

#[test]
fn a_start_of_the_message_that_comes_twice_breaks_no_call() {
    let (one, two) = (|| tool_start(0, "a", TIDE), || tool_start(1, "b", TIDE));
    let half = || input(0, "{\"a\":");
    // Text, a stop, the end, or a block with a new index: the message goes on.
    for events in [
        vec![
            one(),
            half(),
            message_start(),
            input(0, "1}"),
            block_stop(0),
        ],
        vec![one(), input(0, A), message_start(), block_stop(0)],
        vec![one(), input(0, A), message_start(), message_start()],
        vec![one(), half(), message_start(), two(), input(0, "1}")],
    ] {
        let run = anthropic(&events);
        let call = run.calls.iter().find(|call| call.id() == "a").unwrap();
        assert_eq!((call.state(), call.arguments().raw()), (Whole, A));
        assert!(run.discarded.is_empty());
        run.assert_told(AnomalyKind::RestartedMessage);
    }
    // An index that is used again: it begins again (A4).
    let again = [
        one(),
        half(),
        message_start(),
        tool_start(0, "b", TIDE),
        input(0, B),
    ];
    let run = anthropic(&again);
    run.assert_whole(&[(TIDE, json!({"b": 2}))]);
    assert_eq!(run.discarded.len(), 1);
}

#[test]
fn a_call_that_the_opening_message_held_and_its_block_says_again_is_one() {
    let held = json!([{"type": "tool_use", "id": "a", "name": TIDE, "input": {"a": 1}}]);
    let start =
        event(&json!({"type": "message_start", "message": {"id": "msg_1", "content": held}}));
    let block = [tool_start(0, "a", TIDE), input(0, A), block_stop(0)].concat();
    let other = [tool_start(1, "b", TIDE), input(1, B), block_stop(1)].concat();
    let end = message_delta("tool_use") + &message_stop();
    let run = both(WireFormat::Anthropic, [start, block, other, end].concat());
    run.assert_whole(&[(TIDE, json!({"a": 1})), (TIDE, json!({"b": 2}))]);
    assert_eq!(run.ids(), [Some("a"), Some("b")]);
}
