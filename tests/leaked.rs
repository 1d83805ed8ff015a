//! Calls that were left in the text of an answer: found where a markup is whole, and given back as text where it is not.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod support;

use callstitch::{
    ClosedBy, Event, Executor, LeakedCalls, LeakedEvent, Markup, ToolCall, ToolCallParser,
    ToolKind, WireFormat,
};
use serde_json::{Value, json};
use support::run::Gathering;
use support::wire::{delta, finished, opening};

/// A text, or a call's name and arguments with the byte behind it.
#[derive(Debug, Clone, PartialEq)]
enum Found {
    Text(String),
    Call(String, Value, u64),
}

fn text(text: &str) -> Found {
    Found::Text(text.to_owned())
}

fn tide(port: &str, end: usize) -> Found {
    Found::Call("get_tide".to_owned(), json!({ "port": port }), end as u64)
}

/// What is found in these pieces, adjacent texts joined.
fn find<'t>(leaked: &LeakedCalls, pieces: impl IntoIterator<Item = &'t str>) -> Vec<Found> {
    let mut leaked = leaked.clone();
    let mut events = Vec::new();
    for piece in pieces {
        events.extend(leaked.push_text(piece));
    }
    events.extend(leaked.finish());
    assert_eq!(leaked.finish().count(), 0, "finish said something twice");
    let mut found = Vec::new();
    let mut calls = 0;
    for event in events {
        match (event, found.last_mut()) {
            (LeakedEvent::Text { text, .. }, Some(Found::Text(last))) => last.push_str(&text),
            (LeakedEvent::Text { text, .. }, _) => found.push(Found::Text(text)),
            (LeakedEvent::Call(call), _) => {
                assert_eq!(call.index().get(), calls);
                calls += 1;
                found.push(known(&call));
            }
            (other, _) => panic!("an event that the tests do not know: {other:?}"),
        }
    }
    found
}

fn known(call: &ToolCall) -> Found {
    assert!(call.is_synthetic_id() && call.is_usable());
    assert_eq!(call.kind(), &ToolKind::Function);
    assert_eq!(call.executor(), Executor::Client);
    assert_eq!(call.evidence().closed_by, ClosedBy::Markup);
    let object = call.arguments().object().unwrap().clone();
    Found::Call(
        call.name().to_owned(),
        Value::Object(object),
        call.evidence().offset,
    )
}

/// What is found in a text, whole, at every cut and character by character.
#[track_caller]
fn assert_finds(leaked: &LeakedCalls, body: &str, expected: &[Found]) {
    assert_eq!(find(leaked, [body]), expected, "whole: {body}");
    for (at, _) in body.char_indices() {
        let (before, after) = body.split_at(at);
        assert_eq!(
            find(leaked, [before, after]),
            expected,
            "cut at {at}: {body}"
        );
    }
    let characters = body.split("").filter(|character| !character.is_empty());
    assert_eq!(find(leaked, characters), expected, "by characters: {body}");
}

const MARKUPS: [Markup; 3] = [Markup::HermesQwen, Markup::Mistral, Markup::DeepSeek];

/// One call in every form of a markup.
fn forms(markup: Markup, port: &str) -> Vec<String> {
    let arguments = json!({ "port": port });
    let named = json!({"name": "get_tide", "arguments": arguments});
    match markup {
        Markup::HermesQwen => vec![
            format!("<tool_call>{named}</tool_call>"),
            format!("<tool_call>\n{named}\n</tool_call>"),
        ],
        Markup::Mistral => vec![
            format!("[TOOL_CALLS][{named}]"),
            format!("[TOOL_CALLS] [ {named} ]"),
            format!("[TOOL_CALLS]get_tide[ARGS]{arguments}"),
        ],
        _ => vec![
            format!(
                "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_tide\n```json\n{arguments}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
            ),
            format!(
                "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_tide<｜tool▁sep｜>{arguments}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
            ),
        ],
    }
}

/// The byte behind the call in a body: an end of the block is no part of it.
fn end(body: &str) -> usize {
    body.find("<｜tool▁calls▁end｜>").unwrap_or(body.len())
}

#[test]
fn a_whole_markup_is_a_call_wherever_it_is_cut() {
    for markup in MARKUPS {
        for form in forms(markup, "Oban") {
            let leaked = LeakedCalls::new(markup);
            assert_finds(&leaked, &form, &[tide("Oban", end(&form))]);
            // Braces, quotes, markers and characters of several bytes within a string are the string's.
            let hard = "a}]\"\\ </tool_call> <tool_call>{ [TOOL_CALLS] <｜tool▁call▁end｜> é 🌊";
            let quoted = json!(hard).to_string();
            let body = form.replace("\"Oban\"", &quoted);
            let hard_end = if markup == Markup::DeepSeek {
                body.len() - "<｜tool▁calls▁end｜>".len()
            } else {
                body.len()
            };
            assert_finds(&leaked, &body, &[tide(hard, hard_end)]);
        }
    }
}

#[test]
fn text_around_a_call_stays_as_it_is() {
    for markup in MARKUPS {
        for form in forms(markup, "Oban") {
            let (before, after) = ("Let me look: <b> [1] <to [TOOL <｜tool▁\n", " \n<done> [x]");
            let body = [before, &form, after].concat();
            let end = before.len() + end(&form);
            let leaked = LeakedCalls::new(markup);
            let expected = [text(before), tide("Oban", end), text(after)];
            assert_finds(&leaked, &body, &expected);
        }
    }
}

#[test]
fn two_calls_are_two_calls() {
    for markup in MARKUPS {
        for form in forms(markup, "Oban") {
            let second = form.replace("Oban", "Brest");
            let body = [form.as_str(), "\n", &second].concat();
            let last = form.len() + 1 + end(&second);
            let expected = [tide("Oban", end(&form)), text("\n"), tide("Brest", last)];
            assert_finds(&LeakedCalls::new(markup), &body, &expected);
        }
    }
    // In one markup.
    let array = r#"[TOOL_CALLS][{"name":"get_tide","arguments":{"port":"Oban"}}, {"arguments":{"port":"Brest"},"name":"get_tide","id":"abc"}]"#;
    let both = [tide("Oban", array.len()), tide("Brest", array.len())];
    assert_finds(&LeakedCalls::new(Markup::Mistral), array, &both);
    for form in forms(Markup::DeepSeek, "Oban") {
        let one = form
            .strip_prefix("<｜tool▁calls▁begin｜>")
            .and_then(|form| form.strip_suffix("<｜tool▁calls▁end｜>"))
            .unwrap();
        let second = one.replace("Oban", "Brest");
        let body = format!("<｜tool▁calls▁begin｜>{one}\n{second}<｜tool▁calls▁end｜>bye");
        let expected = [
            tide("Oban", end(&form)),
            tide("Brest", end(&body)),
            text("bye"),
        ];
        assert_finds(&LeakedCalls::new(Markup::DeepSeek), &body, &expected);
    }
}

#[test]
fn several_markups_can_be_looked_for_at_once_and_others_stay_text() {
    let all = LeakedCalls::new(Markup::HermesQwen)
        .and(Markup::Mistral)
        .and(Markup::DeepSeek);
    for markup in MARKUPS {
        for form in forms(markup, "Oban") {
            assert_finds(&all, &form, &[tide("Oban", end(&form))]);
            for other in MARKUPS.into_iter().filter(|other| *other != markup) {
                assert_finds(&LeakedCalls::new(other), &form, &[text(&form)]);
            }
        }
    }
}

#[test]
fn a_marker_that_no_readable_call_follows_is_text() {
    for (markup, bodies) in [
        (
            Markup::HermesQwen,
            &[
                "The <tool_call> tag opens a call, </tool_call> ends it.",
                "<tool_call>{oops}</tool_call>",
                "<tool_call>{}</tool_call>",
                "<tool_call>[1]</tool_call>",
                "<tool_call>{\"name\":\"get_tide\"}</tool_call>",
                "<tool_call>{\"name\":\"\",\"arguments\":{}}</tool_call>",
                "<tool_call>{\"name\":7,\"arguments\":{}}</tool_call>",
                "<tool_call>{\"name\":\"get_tide\",\"arguments\":[1]}</tool_call>",
                "<tool_call>{\"name\":\"get_tide\",\"arguments\":{]}</tool_call>",
                "<tool_call>{\"name\":\"get_tide\",\"arguments\":{}} and more</tool_call>",
                "<tool_call>{\"name\":\"get_tide\",\"arguments\":{}}</tool_calls>",
                "<tool_call><tool_call>",
            ][..],
        ),
        (
            Markup::Mistral,
            &[
                "[TOOL_CALLS] is a token.",
                "[TOOL_CALLS][]",
                "[TOOL_CALLS][1, 2]",
                "[TOOL_CALLS][{\"name\":\"get_tide\",\"arguments\":{}},{\"name\":\"get_tide\"}]",
                "[TOOL_CALLS]get_tide[ARGS][1]",
                "[TOOL_CALLS]get_tide[ARG]{}",
                "[TOOL_CALLS][ARGS]{}",
            ],
        ),
        (
            Markup::DeepSeek,
            &[
                "<｜tool▁calls▁begin｜><｜tool▁calls▁end｜>",
                "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_tide\n```json\n[1]\n```<｜tool▁call▁end｜>",
                "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_tide\n```python\n{}\n```<｜tool▁call▁end｜>",
                "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜><｜tool▁sep｜>{}<｜tool▁call▁end｜>",
                "<｜tool▁calls▁end｜>",
            ],
        ),
    ] {
        let leaked = LeakedCalls::new(markup);
        for body in bodies {
            assert_finds(&leaked, body, &[text(body)]);
            // What failed does not hide the call behind it.
            for form in forms(markup, "Oban") {
                let end = body.len() + end(&form);
                assert_finds(
                    &leaked,
                    &[body, form.as_str()].concat(),
                    &[text(body), tide("Oban", end)],
                );
            }
        }
    }
}

#[test]
fn a_closing_tag_that_was_forgotten_does_not_hide_the_next_call() {
    let open = "<tool_call>{\"name\":\"get_tide\",\"arguments\":{\"port\":\"Brest\"}}\n";
    let form = &forms(Markup::HermesQwen, "Oban")[0];
    let body = [open, form].concat();
    let expected = [text(open), tide("Oban", body.len())];
    assert_finds(&LeakedCalls::new(Markup::HermesQwen), &body, &expected);
}

#[test]
fn a_marker_that_came_twice_does_not_hide_the_call_behind_it() {
    let marker = "[TOOL_CALLS]";
    let form = &forms(Markup::Mistral, "Oban")[0];
    assert!(form.starts_with(marker));
    let list = r#"[{"name":"get_tide","arguments":{"port":"Brest"}},"#;
    // Its bracket may be that of a list as well.
    for open in ["", " ", "[", "[[", list, "get_tide[ARGS]"] {
        let open = [marker, open].concat();
        let body = [&open, form.as_str()].concat();
        let expected = [text(&open), tide("Oban", body.len())];
        assert_finds(&LeakedCalls::new(Markup::Mistral), &body, &expected);
    }
}

#[test]
fn a_call_that_was_cut_is_text() {
    for markup in MARKUPS {
        let leaked = LeakedCalls::new(markup);
        for form in forms(markup, "Oban") {
            let end = end(&form);
            for (at, _) in form.char_indices() {
                let (begun, _) = form.split_at(at);
                let found = find(&leaked, [begun]);
                if at == 0 {
                    assert_eq!(found, []);
                } else if at < end {
                    assert_eq!(found, [text(begun)]);
                } else {
                    // The call was whole; of the block's end the beginning is there.
                    assert_eq!(found[0], tide("Oban", end));
                    assert_eq!(found.len(), if at == end { 1 } else { 2 });
                }
            }
        }
    }
}

#[test]
fn arguments_in_a_string_are_unwrapped() {
    let body = r#"<tool_call>{"name":"get_tide","arguments":"{\"port\":\"Oban\"}"}</tool_call>"#;
    let leaked = LeakedCalls::new(Markup::HermesQwen);
    assert_finds(&leaked, body, &[tide("Oban", body.len())]);
}

#[test]
fn what_cannot_be_a_marker_is_not_held() {
    let mut leaked = LeakedCalls::new(Markup::HermesQwen);
    for (piece, said) in [
        ("a <", "a "),
        ("b", "<b"),
        ("<tool_call>", ""),
        ("x", "<tool_call>x"),
        ("<t<", "<t"),
    ] {
        let found: Vec<_> = leaked.push_text(piece).collect();
        let texts = found.iter().map(|event| match event {
            LeakedEvent::Text { text, .. } => text.as_str(),
            other => panic!("{other:?}"),
        });
        assert_eq!(texts.collect::<String>(), said, "after {piece:?}");
    }
}

#[test]
fn more_than_the_limit_is_not_held() {
    let form = &forms(Markup::HermesQwen, "Oban")[0];
    for limit in 0..form.len() {
        let leaked = LeakedCalls::new(Markup::HermesQwen).max_held_bytes(limit);
        assert_finds(&leaked, form, &[text(form)]);
    }
    let leaked = LeakedCalls::new(Markup::HermesQwen).max_held_bytes(form.len());
    assert_finds(&leaked, form, &[tide("Oban", form.len())]);
    let form = &forms(Markup::DeepSeek, "Oban")[0];
    for limit in 0..40 {
        let leaked = LeakedCalls::new(Markup::DeepSeek).max_held_bytes(limit);
        assert_finds(&leaked, form, &[text(form)]);
    }
    assert!(!format!("{:?}", LeakedCalls::new(Markup::Mistral)).contains("held:"));
}

#[test]
fn many_beginnings_of_a_markup_are_given_back_whole() {
    for begin in [
        "<tool_call>",
        "<tool_call>{",
        "<tool_call>{\"",
        "[TOOL_CALLS]",
        "[TOOL_CALLS][",
        "[TOOL_CALLS]a",
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>",
        "<",
        "[",
    ] {
        let body = begin.repeat((1 << 18) / begin.len());
        let all = LeakedCalls::new(Markup::HermesQwen)
            .and(Markup::Mistral)
            .and(Markup::DeepSeek);
        assert_eq!(find(&all, [body.as_str()]), [text(&body)]);
        let characters = body.split("").filter(|character| !character.is_empty());
        assert_eq!(find(&all, characters), [text(&body)]);
    }
    let form = &forms(Markup::HermesQwen, "Oban")[0];
    let body = form.repeat(10_000);
    assert_eq!(
        find(&LeakedCalls::new(Markup::HermesQwen), [body.as_str()]).len(),
        10_000
    );
}

#[test]
fn behind_a_parser_its_own_calls_and_the_found_ones_are_numbered_together() {
    let [first, second] = ["Oban", "Brest"].map(|port| forms(Markup::HermesQwen, port).remove(0));
    let body = finished(&[
        delta(json!({"content": first[..20]})),
        delta(json!({"content": first[20..]})),
        opening(0, "call_1", "moon_phase", "{}"),
        delta(json!({"content": second})),
        delta(json!({"content": "<tool"})),
    ]);
    for size in [1, 7, body.len()] {
        let mut parser = ToolCallParser::new(WireFormat::OpenAiChat);
        let mut leaked = LeakedCalls::new(Markup::HermesQwen);
        let mut events: Vec<Event<'static>> = Vec::new();
        for chunk in body.as_bytes().chunks(size) {
            for event in parser.push(chunk) {
                events.extend(leaked.push(event.unwrap()));
            }
        }
        for event in parser.finish() {
            events.extend(leaked.push(event.unwrap()));
        }
        events.extend(leaked.finish().flat_map(LeakedEvent::into_events));
        // The grammar of a stream holds for what comes out.
        let mut gathering = Gathering::default();
        gathering.take(events.into_iter().map(Ok));
        let run = gathering.run(parser.end().unwrap(), parser.anomalies().to_vec(), None);
        let calls: Vec<_> = run
            .calls
            .iter()
            .map(|call| (call.index().get(), call.name()))
            .collect();
        assert_eq!(calls, [(0, "get_tide"), (2, "get_tide"), (1, "moon_phase")]);
        assert_eq!(run.text, "<tool");
    }
}

#[test]
fn each_choice_has_a_text_of_its_own() {
    let form = &forms(Markup::HermesQwen, "Oban")[0];
    let mut leaked = LeakedCalls::new(Markup::HermesQwen);
    let mut calls = Vec::new();
    for character in form.split("").filter(|character| !character.is_empty()) {
        for choice in [0, 1] {
            let text = character.into();
            calls.extend(
                leaked
                    .push(Event::Text { choice, text })
                    .filter_map(Event::into_call),
            );
        }
    }
    let calls: Vec<_> = calls
        .iter()
        .map(|call| (call.index().get(), call.choice()))
        .collect();
    assert_eq!(calls, [(0, 0), (1, 1)]);
}
