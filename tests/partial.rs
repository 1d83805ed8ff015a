//! The live view and recovery, as properties over the truth table, JSONTestSuite and generated values.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "common/shared.rs"]
mod shared;

use callstitch::{
    Arguments, ArgumentsBuffer, ArgumentsState, FieldEvent, FieldKind, FieldPath, PartialState,
    PathSegment, RepairLevel, Settling,
};
use serde_json::{Map, Value};
use shared::shared;

/// A small seeded generator: the same texts on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }

    fn space(&mut self, into: &mut String) {
        if self.next(4) == 0 {
            into.push_str([" ", "\n", "\t", " \r\n "][self.next(4)]);
        }
    }

    fn string(&mut self, into: &mut String) {
        const PARTS: [&str; 14] = [
            "a",
            "plain text, longer than one word",
            "é",
            "日本",
            "😀",
            "\\n",
            "\\\"",
            "\\\\",
            "\\/",
            "\\u00e9",
            "\\ud83d\\ude00",
            "\\u0000",
            "}]{[",
            "'",
        ];
        into.push('"');
        for _ in 0..self.next(6) {
            into.push_str(PARTS[self.next(PARTS.len())]);
        }
        into.push('"');
    }

    fn value(&mut self, depth: usize, into: &mut String) {
        match self.next(if depth == 0 { 4 } else { 7 }) {
            0 => into.push_str(["true", "false", "null"][self.next(3)]),
            1 => into.push_str(
                [
                    "0",
                    "-0",
                    "12",
                    "-1.5e+3",
                    "18446744073709551615",
                    "123456789012345678901",
                    "1E-7",
                ][self.next(7)],
            ),
            2 | 3 => self.string(into),
            4 => {
                into.push('[');
                for index in 0..self.next(4) {
                    if index > 0 {
                        into.push(',');
                    }
                    self.space(into);
                    self.value(depth - 1, into);
                    self.space(into);
                }
                into.push(']');
            }
            _ => self.object(depth - 1, into),
        }
    }

    fn object(&mut self, depth: usize, into: &mut String) {
        into.push('{');
        self.space(into);
        for index in 0..self.next(5) {
            if index > 0 {
                into.push(',');
                self.space(into);
            }
            match self.next(3) {
                0 => into.push_str("\"twice\""),
                _ => self.string(into),
            }
            self.space(into);
            into.push(':');
            self.space(into);
            self.value(depth, into);
        }
        into.push('}');
    }
}

fn generated() -> Vec<String> {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    (0..120)
        .map(|_| {
            let mut text = String::new();
            random.object(3, &mut text);
            text
        })
        .collect()
}

/// Each JSONTestSuite text as a member's value, with what serde_json says to it.
fn test_suite() -> Vec<String> {
    let Some(file) = shared("corpus-json/jsontestsuite.json") else {
        return Vec::new();
    };
    let file: Value = serde_json::from_str(&file).unwrap();
    let cases = file["cases"].as_array().unwrap().iter();
    cases
        .filter_map(|case| Some(format!("{{\"v\":{}}}", case["text"].as_str()?)))
        .collect()
}

fn truth_table() -> Vec<String> {
    let Some(table) = shared("cases/arguments.jsonl") else {
        return Vec::new();
    };
    let rows = table
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    rows.filter_map(|row| row["text"].as_str().map(str::to_owned))
        .collect()
}

fn valid() -> Vec<String> {
    let all = [test_suite(), truth_table(), generated()].concat();
    all.into_iter()
        .filter(|text| serde_json::from_str::<Map<String, Value>>(text).is_ok())
        .collect()
}

fn everything() -> Vec<String> {
    [test_suite(), truth_table(), generated()].concat()
}

fn strict() -> Settling {
    Settling {
        repair: RepairLevel::None,
        ..Settling::default()
    }
}

/// Prefixes at every character.
fn prefixes(text: &str) -> impl Iterator<Item = &str> {
    text.char_indices().map(|(at, _)| &text[..at])
}

/// An event in a form that can be kept, adjacent text joined.
#[derive(Debug, PartialEq)]
enum Kept {
    Opened(String, FieldKind),
    Text(String, String),
    Completed(String, Value),
    Replaced(String),
    Stopped(usize),
}

fn keep(log: &mut Vec<Kept>, event: FieldEvent<'_>) {
    let name = |path: FieldPath| format!("{:?}", path.iter().collect::<Vec<_>>());
    match event {
        FieldEvent::Opened { path, kind } => log.push(Kept::Opened(name(path), kind)),
        FieldEvent::Completed { path, value } => {
            log.push(Kept::Completed(name(path), value.get().unwrap().clone()))
        }
        FieldEvent::Replaced { path } => log.push(Kept::Replaced(name(path))),
        FieldEvent::Stopped { at } => log.push(Kept::Stopped(at)),
        FieldEvent::Text { path, fragment } => match log.last_mut() {
            Some(Kept::Text(last, text)) if *last == name(path.clone()) => text.push_str(&fragment),
            _ => log.push(Kept::Text(name(path), fragment.into_owned())),
        },
        _ => panic!("an event this test does not know: {event:?}"),
    }
}

fn read(text: &str, piece: usize) -> (Vec<Kept>, Map<String, Value>, PartialState) {
    let mut buffer = ArgumentsBuffer::new();
    let mut log = Vec::new();
    let chars: Vec<char> = text.chars().collect();
    for chunk in chars.chunks(piece) {
        buffer.push(&chunk.iter().collect::<String>());
        buffer.drain_events(|event| keep(&mut log, event));
    }
    let view = buffer.view();
    (log, view.snapshot(), view.state())
}

/// Whether `later` states all that `earlier` states: strings by prefix, arrays by length, objects by key.
fn extends(earlier: &Value, later: &Value) -> bool {
    match (earlier, later) {
        (Value::String(a), Value::String(b)) => b.starts_with(a.as_str()),
        (Value::Array(a), Value::Array(b)) => {
            a.len() <= b.len() && a.iter().zip(b).all(|(a, b)| extends(a, b))
        }
        (Value::Object(a), Value::Object(b)) => a
            .iter()
            .all(|(key, a)| b.get(key).is_some_and(|b| extends(a, b))),
        (a, b) => a == b,
    }
}

fn repeats_a_key(text: &str) -> bool {
    let mut log = Vec::new();
    let mut buffer = ArgumentsBuffer::new();
    buffer.push(text);
    buffer.drain_events(|event| keep(&mut log, event));
    log.iter().any(|event| matches!(event, Kept::Replaced(_)))
}

#[test]
fn the_end_view_is_what_serde_json_reads() {
    let (mut accepted, mut refused) = (0, 0);
    for text in everything() {
        let mut buffer = ArgumentsBuffer::new();
        buffer.push(&text);
        let closed = buffer.view().state() == PartialState::Closed;
        match serde_json::from_str::<Map<String, Value>>(&text) {
            Ok(object) => {
                accepted += 1;
                assert!(closed, "{text}");
                assert_eq!(*buffer.view().object(), object, "{text}");
                // Order and spelling too.
                let spelled = serde_json::to_string(buffer.view().object()).unwrap();
                assert_eq!(spelled, serde_json::to_string(&object).unwrap(), "{text}");
            }
            Err(_) => {
                refused += 1;
                assert!(!closed || text.trim_start().starts_with('"'), "{text}");
            }
        }
    }
    println!("end view: {accepted} accepted, {refused} refused, as serde_json does");
}

#[test]
fn chunking_changes_neither_events_nor_view() {
    for text in everything() {
        let whole = read(&text, usize::MAX);
        for piece in [1, 2, 3, 7] {
            assert_eq!(read(&text, piece), whole, "{text:?} in pieces of {piece}");
        }
    }
}

#[test]
fn a_view_depends_on_the_text_and_not_on_earlier_looks() {
    for text in everything() {
        let mut steady = ArgumentsBuffer::new();
        for (at, c) in text.char_indices() {
            steady.push(c.encode_utf8(&mut [0; 4]));
            let mut fresh = ArgumentsBuffer::new();
            fresh.push(&text[..at + c.len_utf8()]);
            let (steady, fresh) = (steady.view(), fresh.view());
            assert_eq!(steady.object(), fresh.object(), "{text:?} at {at}");
            assert_eq!(
                (steady.open_path(), steady.state()),
                (fresh.open_path(), fresh.state()),
                "{text:?} at {at}"
            );
        }
    }
}

#[test]
fn views_never_go_back_and_never_contradict_the_end() {
    let (mut texts, mut looks) = (0, 0);
    for text in valid() {
        if repeats_a_key(&text) {
            continue;
        }
        texts += 1;
        let end = Value::Object(serde_json::from_str(&text).unwrap());
        let mut buffer = ArgumentsBuffer::new();
        let mut before = Value::Object(Map::new());
        for c in text.chars() {
            buffer.push(c.encode_utf8(&mut [0; 4]));
            let now = Value::Object(buffer.view().snapshot());
            assert!(extends(&before, &now), "{text}: {before} then {now}");
            assert!(extends(&now, &end), "{text}: {now} but {end}");
            before = now;
            looks += 1;
        }
    }
    println!("views: {texts} texts, {looks} looks, none false, none back");
}

#[test]
fn completeness_is_never_claimed_before_the_end() {
    let mut count = 0;
    for text in valid() {
        let end = serde_json::from_str::<Map<String, Value>>(&text).unwrap();
        let closed_at = text.trim_end_matches([' ', '\n', '\r', '\t']).len();
        for prefix in prefixes(&text[..closed_at]) {
            count += 1;
            let settled = Arguments::settle(prefix.to_owned(), &strict());
            let blank = prefix.trim().is_empty();
            let expected = if blank {
                ArgumentsState::Whole
            } else {
                ArgumentsState::Truncated
            };
            assert_eq!(settled.state(), expected, "{prefix:?}");
            // Nor does any repair make it whole.
            for repair in [RepairLevel::Lossless, RepairLevel::Guess] {
                let repaired = Arguments::settle(
                    prefix.to_owned(),
                    &Settling {
                        repair,
                        ..Settling::default()
                    },
                );
                assert!(
                    blank || !repaired.is_usable() || key_with_a_colon(&settled),
                    "{prefix:?} at {repair:?}"
                );
            }
            if !repeats_a_key(&text) {
                assert!(
                    extends(
                        &Value::Object(settled.map().into_owned()),
                        &Value::Object(end.clone())
                    ),
                    "{prefix:?}"
                );
            }
        }
    }
    println!("prefixes: {count}, none complete");
}

/// Cut inside a key that holds a colon: the one cut text in which a guess may find a missing quote instead.
fn key_with_a_colon(settled: &Arguments) -> bool {
    settled
        .dropped()
        .is_some_and(|dropped| dropped.starts_with('"') && dropped.contains(':'))
}

#[test]
fn a_path_is_complete_exactly_when_nothing_more_can_be_added_to_it() {
    for text in valid().into_iter().filter(|text| !repeats_a_key(text)) {
        let mut buffer = ArgumentsBuffer::new();
        let mut done: Vec<(Vec<PathSegment<'static>>, Value)> = Vec::new();
        for c in text.chars() {
            buffer.push(c.encode_utf8(&mut [0; 4]));
            buffer.drain_events(|event| {
                if let FieldEvent::Completed { path, value } = event {
                    let path = path.iter().cloned().collect();
                    done.push((path, value.get().unwrap().clone()));
                }
            });
            let view = buffer.view();
            let open = view.open_path();
            for length in 1..=open.len() {
                assert!(!view.is_complete(&open[..length]), "{text}: {open:?}");
                assert!(view.get(&open[..length]).is_some(), "{text}: {open:?}");
            }
        }
        let view = buffer.view();
        for (path, value) in &done {
            assert!(view.is_complete(path.iter()), "{text}: {path:?}");
            assert_eq!(
                view.get(path.iter()),
                (!path.is_empty())
                    .then_some(value)
                    .or(view.get(path.iter())),
                "{text}: {path:?}"
            );
        }
        assert!(!view.is_complete(["no such key, certainly"]));
    }
}

#[test]
fn bytes_examined_are_at_most_twice_the_text() {
    let escapes = format!("{{\"a\":\"{}\"}}", "\\ud83d\\ude00\\n\\u00e9".repeat(200));
    for text in everything().into_iter().chain([escapes]) {
        let mut buffer = ArgumentsBuffer::new();
        for c in text.chars() {
            buffer.push(c.encode_utf8(&mut [0; 4]));
            buffer.view();
        }
        assert!(
            buffer.steps() <= 2 * text.len() as u64,
            "{} steps for {} bytes of {text:.60}",
            buffer.steps(),
            text.len()
        );
    }
}

#[test]
fn hostile_text_neither_panics_nor_recurses() {
    let (deep, many) = (100_000, 20_000);
    let mut texts = vec![
        "[".repeat(deep),
        "{\"a\":".repeat(deep),
        format!("{{\"a\":{}{}}}", "[".repeat(deep), "]".repeat(deep)),
        format!("{{a:{}", "[".repeat(deep)),
        format!("{{a:{}{}}}", "[".repeat(deep), "]".repeat(deep)),
        format!("{{a:{}", "(".repeat(deep)),
        format!("{{'a':{}}}", "{b:".repeat(deep)),
        format!("\"{{\\\"a\\\":{}", "[".repeat(deep)),
        "{}".repeat(many),
        "{\"a\":1}".repeat(many),
        "```a ".repeat(many),
        format!("{}{{\"a\":1}}", "```a ".repeat(many)),
        "<a>".repeat(many),
        format!("{{\"a\":\"{}\"}}", "\" ".repeat(many)),
        format!("{{\"a\":\"{}\"}}", "\",".repeat(many)),
        format!("{{\"a\":\"{}\"}}", ",\"b\":".repeat(many)),
        format!("{{'a':'{}'}}", "'x".repeat(many)),
        format!("{{“a”:“{}”}}", "“x".repeat(many)),
        format!("{{\"a\":\"{}\"}}", "\\".repeat(many)),
        format!("{{\"a\":\"{}\"}}", "\u{1}".repeat(many)),
        format!("{{\"a\":\"{}\"}}", "\\ud83d".repeat(many)),
        format!("{{\"a\":{}}}", "1".repeat(many)),
        format!("{{\"a\":1{}}}", "/**/".repeat(many)),
        format!("{{\"a\":1{}}}", "}".repeat(many)),
        format!("{{\"a\":[{}]}}", "1 ".repeat(many)),
        format!("{{{}", ",".repeat(many)),
        format!("{{{}}}", "\"a:1,".repeat(many)),
        format!("{{{}}}", "\"a\":,".repeat(many)),
        format!("{{\"a\":{}}}", "\"x\"+".repeat(many)),
        format!("{}{{\"a\":1}}", "\u{feff}\0".repeat(many)),
        format!("{}{{\"a\":1}}", "#\n".repeat(many)),
    ];
    let mut random = Random(0xDEAD_BEEF);
    let alphabet: Vec<char> = "{}[]()\"'`“”\\:,;+-=/*#<>. \n\r\t\u{0}\u{feff}abntrufleTNd0123xé😀"
        .chars()
        .collect();
    for _ in 0..3000 {
        let length = random.next(40);
        texts.push(
            (0..length)
                .map(|_| alphabet[random.next(alphabet.len())])
                .collect(),
        );
    }
    // Valid texts with one character changed.
    for text in generated() {
        for _ in 0..10 {
            let mut chars: Vec<char> = text.chars().collect();
            let at = random.next(chars.len());
            chars[at] = alphabet[random.next(alphabet.len())];
            texts.push(chars.into_iter().collect());
        }
    }
    for text in &texts {
        let mut buffer = ArgumentsBuffer::new();
        buffer.push(text);
        buffer.drain_events(|_| {});
        for repair in [RepairLevel::None, RepairLevel::Lossless, RepairLevel::Guess] {
            let settled = Arguments::settle(
                text.clone(),
                &Settling {
                    repair,
                    ..Settling::default()
                },
            );
            assert_eq!(settled.raw(), text);
            assert!(
                serde_json::from_str::<Map<String, Value>>(&settled.to_json()).is_ok(),
                "{text:.80}"
            );
            assert!(
                settled
                    .problem()
                    .is_none_or(|problem| problem.at() <= text.len()),
                "{text:.80}"
            );
            let _ = (
                settled.dropped(),
                settled.deserialize::<Value>(),
                format!("{settled:?} {:?}", settled.object().err()),
            );
        }
    }
}

#[test]
fn numbers_and_escapes_at_the_edge_wait_until_they_are_settled() {
    let mut buffer = ArgumentsBuffer::new();
    let mut seen = Vec::new();
    for delta in [
        "{\"n\":1",
        "2",
        ".5",
        ",\"s\":\"a\\u00",
        "e9\\ud83d",
        "\\ude00",
        "\",\"t\":tr",
        "ue",
    ] {
        buffer.push(delta);
        seen.push(serde_json::to_string(buffer.view().object()).unwrap());
    }
    assert_eq!(
        seen,
        [
            "{}",
            "{}",
            "{}",
            r#"{"n":12.5,"s":"a"}"#,
            r#"{"n":12.5,"s":"aé"}"#,
            r#"{"n":12.5,"s":"aé😀"}"#,
            r#"{"n":12.5,"s":"aé😀"}"#,
            r#"{"n":12.5,"s":"aé😀","t":true}"#,
        ]
    );
}

#[test]
fn what_the_object_does_not_show_yet_is_held_back() {
    for (text, held) in [
        (r#"{"a":1,"b":tr"#, r#""b":tr"#),
        (r#"{"a":"x\u00"#, r"\u00"),
        (r#"{"a":"x"#, ""),
        // In a string around the object, what the string says; an escape of the string itself as it is written.
        (r#""{\"a\":1,\"b\":tr"#, r#""b":tr"#),
        (r#""{\"a\":\"x\\u00"#, r"\u00"),
        (r#""{\"a\":\"x\u00"#, r"\u00"),
        (r#""{\"a\":\"x"#, ""),
    ] {
        let mut buffer = ArgumentsBuffer::new();
        for (at, c) in text.char_indices() {
            buffer.push(&text[at..at + c.len_utf8()]);
            let _ = buffer.view();
        }
        assert_eq!(buffer.view().held_back(), held, "{text}");
    }
}

#[test]
fn where_a_view_stopped_is_told_in_the_text_as_it_was_sent() {
    for (text, held) in [
        (r#"{"a":@"#, "@"),
        (r#"{"a":1} x"#, "x"),
        (r#""{\"a\":@"#, "@"),
        (r#""{\"a\":\"\u00e9\ud83d\ude00\",]}""#, "]}"),
        ("\n \"{\\\"a\\\":\\\"x\\\\q", "\\q"),
        (r#""{\"a\":1}" x"#, "x"),
        (r#""{\"a\":[\q"#, r"\q"),
        ("[1", "[1"),
    ] {
        let settled = Arguments::settle(text.to_owned(), &strict());
        let at = settled.problem().unwrap().at();
        for piece in [1, 3, text.len()] {
            let (log, _, state) = read(text, piece);
            assert_eq!(state, PartialState::Stopped { at }, "{text}");
            let told = log.iter().filter(|kept| matches!(kept, Kept::Stopped(_)));
            assert_eq!(told.collect::<Vec<_>>(), [&Kept::Stopped(at)], "{text}");
        }
        let mut buffer = ArgumentsBuffer::new();
        buffer.push(text);
        assert_eq!(buffer.view().held_back(), held, "{text}");
    }
}

#[test]
fn an_object_that_is_complete_stays_so_whatever_comes_behind_it() {
    const ROOT: [&str; 0] = [];
    for text in [r#"{"a":1}"#, r#""{\"a\":1}""#] {
        let mut buffer = ArgumentsBuffer::new();
        buffer.push(&text[..text.len() - 2]);
        assert!(!buffer.view().is_complete(ROOT), "{text}");
        for piece in [&text[text.len() - 2..], " ", "x", "}"] {
            buffer.push(piece);
            assert!(buffer.view().is_complete(ROOT), "{text} and {piece}");
        }
    }
    let mut buffer = ArgumentsBuffer::new();
    buffer.push("[1]");
    assert!(!buffer.view().is_complete(ROOT));
}

#[test]
fn a_later_value_of_the_same_key_replaces_the_former_at_once() {
    let mut buffer = ArgumentsBuffer::new();
    let mut log = Vec::new();
    for delta in ["{\"a\":{\"b\":1},\"c\":2,\"a\":", "\"", "y"] {
        buffer.push(delta);
        buffer.drain_events(|event| keep(&mut log, event));
    }
    assert_eq!(
        serde_json::to_string(buffer.view().object()).unwrap(),
        r#"{"a":"y","c":2}"#
    );
    assert!(!buffer.view().is_complete(["a"]) && buffer.view().is_complete(["c"]));
    assert_eq!(
        log.iter()
            .filter(|event| matches!(event, Kept::Replaced(_)))
            .count(),
        1
    );
    assert_eq!(
        log.last().unwrap(),
        &Kept::Text("[Key(\"a\")]".into(), "y".into())
    );
}

#[test]
fn a_string_holding_the_object_is_read_through_as_it_arrives() {
    let mut buffer = ArgumentsBuffer::new();
    for (delta, want) in [
        ("\"{\\\"a\\", r#"{}"#),
        ("\":\\\"x\\\\", r#"{"a":"x"}"#),
        ("n\\u00", r#"{"a":"x\n"}"#),
        ("e9\\\"}", r#"{"a":"x\né"}"#),
    ] {
        buffer.push(delta);
        assert_eq!(serde_json::to_string(buffer.view().object()).unwrap(), want);
        assert_eq!(buffer.view().state(), PartialState::Reading);
    }
    buffer.push("\"");
    assert_eq!(buffer.view().state(), PartialState::Closed);
    let settled = buffer.finish(&strict());
    assert_eq!(
        (settled.state(), settled.to_json()),
        (
            ArgumentsState::Repaired,
            r#"{"a":"x\né"}"#.replace('\n', "\\n")
        )
    );
}

#[test]
fn what_was_left_out_and_where_is_reported() {
    for (text, at, dropped, path) in [
        (r#"{"a":12"#, 7, Some("12"), ""),
        (r#"{"a":[10,2"#, 10, Some("2"), "a"),
        (r#"{"a":"x\ud83d"#, 13, Some(r"\ud83d"), "a"),
        (r#"{"a":1,"b"#, 9, Some("\"b"), ""),
        (r#"{"a":1,"b":"#, 11, Some("\"b\":"), ""),
        (r#"{"a":tr"#, 7, Some("tr"), ""),
        (r#"{"a":{"b":"x"#, 12, None, "a/b"),
        (r#"{"a":"x" 1}"#, 9, Some("1}"), ""),
        (r#"{"a":"\u1G"#, 6, None, "a"),
        // An escape of the string around the object is cut like one inside.
        (r#""\"#, 2, Some(r"\"), ""),
        (r#""{\"a\":\"x\u00"#, 15, Some(r"\u00"), "a"),
        (r#""{\"a\":\"x\ud83d"#, 17, Some(r"\ud83d"), "a"),
        (r#""{\"a\":\"x\\u00"#, 16, Some(r"\\u00"), "a"),
        (r#""{\"a\":12\"#, 11, Some(r"12\"), ""),
    ] {
        let settled = Arguments::settle(text.to_owned(), &strict());
        let problem = settled.problem().unwrap();
        assert_eq!(problem.at(), at, "{text}");
        if dropped.is_some() {
            assert_eq!(settled.dropped(), dropped, "{text}");
        }
        let open: Vec<_> = problem
            .open_path()
            .iter()
            .map(|segment| match segment {
                PathSegment::Key(key) => key.to_string(),
                PathSegment::Index(index) => index.to_string(),
            })
            .collect();
        assert_eq!(open.join("/"), path, "{text}");
    }
}

#[test]
fn nothing_prints_argument_text_unless_asked() {
    let settled = Arguments::parse(r#"{"secretkey":"secretvalue","n":sec"#);
    let mut buffer = ArgumentsBuffer::new();
    buffer.push(r#"{"secretkey":"secret"#);
    let error = settled.object().unwrap_err();
    let mismatch = Arguments::parse(r#"{"a":"secret"}"#)
        .deserialize::<std::collections::BTreeMap<String, u8>>()
        .unwrap_err();
    let shown = format!(
        "{settled:?} {error} {error:?} {mismatch} {mismatch:?} {:?} {buffer:?}",
        buffer.clone().view()
    );
    assert!(!shown.contains("secret"), "{shown}");
    assert!(format!("{:?}", settled.reveal()).contains("secretvalue"));
    assert!(mismatch.detail().unwrap().contains("secret"));
}

#[test]
fn any_stored_shape_is_read_and_reads_back_as_it_was() {
    for (stored, state, json) in [
        (r#"{"a":1}"#, ArgumentsState::Whole, r#"{"a":1}"#),
        (r#""{\"a\":1.50}""#, ArgumentsState::Whole, r#"{"a":1.50}"#),
        ("null", ArgumentsState::Whole, "{}"),
        (r#""""#, ArgumentsState::Whole, "{}"),
        (r#""null""#, ArgumentsState::Whole, "{}"),
        (r#""{\"a\":\"x""#, ArgumentsState::Truncated, r#"{"a":"x"}"#),
        ("[1]", ArgumentsState::Malformed, "{}"),
        ("5", ArgumentsState::Malformed, "{}"),
        (r#""\"{}\"""#, ArgumentsState::Malformed, "{}"),
    ] {
        let read: Arguments = serde_json::from_str(stored).unwrap();
        assert_eq!(
            (read.state(), read.to_json().as_str()),
            (state, json),
            "{stored}"
        );
        let again: Arguments =
            serde_json::from_str(&serde_json::to_string(&read).unwrap()).unwrap();
        assert_eq!(
            (again.state(), again.recovered()),
            (read.state(), read.recovered()),
            "{stored}"
        );
    }
    #[derive(serde::Deserialize)]
    struct Call {
        #[serde(default)]
        arguments: Arguments,
    }
    assert_eq!(
        serde_json::from_str::<Call>("{}")
            .unwrap()
            .arguments
            .to_json(),
        "{}"
    );
}

#[test]
fn depth_and_digits_survive() {
    let settled =
        Arguments::parse(r#"{"z":9007199254740993,"a":1.10,"big":123456789012345678901234567890}"#);
    assert_eq!(settled.to_json(), settled.raw());
    let wide = Arguments::parse(r#"{"n":170141183460469231731687303715884105727}"#);
    assert_eq!(
        wide.deserialize::<std::collections::HashMap<String, i128>>()
            .unwrap()["n"],
        i128::MAX
    );
    let shallow = Settling {
        max_depth: 2,
        ..Settling::default()
    };
    assert_eq!(
        Arguments::settle(r#"{"a":[1]}"#.into(), &shallow).state(),
        ArgumentsState::Whole
    );
    assert_eq!(
        Arguments::settle(r#"{"a":[[1]]}"#.into(), &shallow).state(),
        ArgumentsState::TooDeep
    );
    assert_eq!(
        Arguments::settle(r#"{a:[[1]]}"#.into(), &shallow).state(),
        ArgumentsState::TooDeep
    );
}

#[test]
fn an_escape_that_nothing_can_complete_stops_the_view_at_its_first_wrong_byte() {
    for (text, at) in [
        (r#"{"a":"x\u""#, 7),
        (r#"{"a":"x\u1""#, 7),
        (r#"{"a":"x\u12g"#, 7),
        (r#"{"a":"x\u123 "#, 7),
        (r#"{"a":"\ud83d\ud8z"#, 12),
        (r#"{"a\u1}"#, 3),
        (r#""{\"a\":1\uz"#, 9),
    ] {
        for pieces in [1, text.len() - 1, text.len()] {
            let mut buffer = ArgumentsBuffer::new();
            let mut seen = 0;
            for piece in text.as_bytes().chunks(pieces) {
                assert_eq!(buffer.view().state(), PartialState::Reading, "{text}");
                seen += piece.len();
                buffer.push(std::str::from_utf8(piece).unwrap());
            }
            assert_eq!(seen, text.len());
            assert_eq!(
                buffer.view().state(),
                PartialState::Stopped { at },
                "{text} in pieces of {pieces}"
            );
        }
    }
}
