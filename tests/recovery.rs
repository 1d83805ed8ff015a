//! What an argument text means at its close: the truth table at every repair level, and agreement with other systems.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "common/shared.rs"]
mod shared;

use callstitch::{
    Arguments, ArgumentsState, Blank, FaultKind, ProblemKind, Repair, RepairKind, RepairLevel,
    Settling,
};
use serde_json::{Map, Value, json};
use shared::shared;

const LEVELS: [(RepairLevel, u64); 3] = [
    (RepairLevel::None, 0),
    (RepairLevel::Lossless, 1),
    (RepairLevel::Guess, 2),
];

fn settle(text: &str, level: RepairLevel) -> Arguments {
    Arguments::settle(
        text.to_owned(),
        &Settling {
            repair: level,
            ..Settling::default()
        },
    )
}

/// `'a' + 'b'*3`, as the table writes its deep texts.
fn evaluate(expression: &str) -> String {
    let literal = |text: &str| {
        text.trim()
            .strip_prefix('\'')
            .unwrap()
            .strip_suffix('\'')
            .unwrap()
            .to_owned()
    };
    expression
        .split(" + ")
        .map(|term| match term.rsplit_once("'*") {
            Some((text, times)) => {
                literal(&format!("{text}'")).repeat(times.trim().parse().unwrap())
            }
            None => literal(term),
        })
        .collect()
}

/// One row judged at one level, by the rules of the table's own checker.
fn judge(row: &Value, text: &str, level: RepairLevel, number: u64) -> Result<(), String> {
    let settled = settle(text, level);
    let ok = settled.is_usable();
    let status = row["status"].as_str().unwrap();
    let row_level = row["repair_level"].as_u64().unwrap_or(0);
    let fixed = row["repaired"].is_object() && row_level != 0 && row_level <= number;
    let cut = row["reason"]
        .as_str()
        .unwrap()
        .to_lowercase()
        .contains("cut");
    let state = settled.state();
    if matches!(status, "complete" | "blank") && !ok {
        return Err(format!("{state} for complete text"));
    }
    if status == "truncated" && ok && !(fixed && number >= 2) {
        return Err(format!("{state} for cut text"));
    }
    if fixed && status == "malformed" && row["class"] != "quotes" && !ok && !cut {
        return Err(format!("{state}, a level {row_level} repair exists"));
    }
    if ok && !matches!(status, "complete" | "blank") && !fixed && row["repaired"] == "refuse" {
        return Err(format!("{state} where refusal is right"));
    }
    let want = if fixed {
        &row["repaired"]
    } else {
        &row["recovered"]
    };
    if let Value::Object(want) = want {
        let got = settled.recovered().cloned().unwrap_or_default();
        if got != *want {
            return Err(format!(
                "{} expected {}",
                Value::Object(got),
                row["repaired"]
            ));
        }
    }
    Ok(())
}

#[test]
fn the_truth_table_holds_at_every_repair_level() {
    let Some(table) = shared("cases/arguments.jsonl") else {
        return;
    };
    let mut wrong = Vec::new();
    let mut rows = 0;
    for line in table.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let text = match row["text"].as_str() {
            Some(text) => text.to_owned(),
            None => evaluate(row["text_python"].as_str().unwrap()),
        };
        rows += 1;
        for (level, number) in LEVELS {
            if let Err(why) = judge(&row, &text, level, number) {
                wrong.push(format!(
                    "{} at {level:?}: {:.60} {why}",
                    row["id"],
                    text.escape_debug().to_string()
                ));
            }
        }
    }
    println!("truth table: {rows} rows, {} faults", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_fault_cases_of_argument_text_hold() {
    let Some(cases) = shared("cases/cases.jsonl") else {
        return;
    };
    let mut ran = 0;
    for line in cases.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        if case["format"] != "json" {
            continue;
        }
        ran += 1;
        let text: String = case["input"]
            .as_array()
            .unwrap()
            .iter()
            .map(|part| part.as_str().unwrap())
            .collect();
        let settled = Arguments::parse(text);
        let want = &case["expected"]["calls"][0];
        assert_eq!(
            settled.is_usable(),
            want["invalid"] == false,
            "{}: {}",
            case["id"],
            settled.state()
        );
        // A flagged call with nothing stated: null and {} say the same.
        let got = settled.map().into_owned();
        let expected = want["arguments"].as_object().cloned().unwrap_or_default();
        assert_eq!(got, expected, "{}", case["id"]);
    }
    println!("argument text cases: {ran}");
}

/// A text, and what it becomes: `Some(object)` usable, `None` flagged.
fn expect(level: RepairLevel, rows: &[(&str, Option<Value>)]) {
    let mut wrong = Vec::new();
    for (text, want) in rows {
        let settled = settle(text, level);
        let got = settled.object().ok().cloned().map(Value::Object);
        if got != *want {
            let kinds: Vec<_> = settled
                .repairs()
                .iter()
                .map(|repair| repair.kind.as_str())
                .collect();
            wrong.push(format!(
                "{text:?}: {got:?}, wanted {want:?} ({}, {kinds:?})",
                settled.state()
            ));
        }
    }
    assert!(wrong.is_empty(), "at {level:?}:\n{}", wrong.join("\n"));
}

#[test]
fn lossless_repairs_reach_every_position() {
    let a = || Some(json!({"a": 1}));
    expect(
        RepairLevel::Lossless,
        &[
            // Around the object.
            ("\u{FEFF}```json\r\n{\"a\":1}\r\n```\r\n", a()),
            ("```JSON5\n{\"a\":1}\n```", a()),
            ("````json\n{\"a\":1}\n````", a()),
            ("~~~\n{\"a\":1}\n~~~", a()),
            ("```{\"a\":1}```", a()),
            ("\0\0{\"a\":1}\0", a()),
            ("\u{a0}{\"a\":1}\u{200b}", a()),
            ("<tool_call>\n{\"a\":1}\n</tool_call><|im_end|>", a()),
            (
                "<function=x><parameter>{\"a\":1}</parameter></function>",
                a(),
            ),
            ("[TOOL_CALLS]{\"a\":1}[/TOOL_CALLS]", a()),
            ("<｜tool▁call▁begin｜>{\"a\":1}<｜tool▁call▁end｜>", a()),
            ("cb({\"a\":1});", a()),
            ("/**/ cb.x ( {\"a\":1} ) ;", a()),
            ("json\r\n{\"a\":1}", a()),
            (
                "Sure! I will call it.\n\n```json\n{\"a\":1}\n```\nAnything else?",
                a(),
            ),
            ("// call {x}\n{\"a\":1}", a()),
            ("# call {x}\r\n/* {y} */ {\"a\":1} # done", a()),
            ("'{\"a\":1}'", a()),
            ("{\"a\":1}}}]", a()),
            ("{\"a\":1};\n,", a()),
            ("{\"a\":1}\"", a()),
            ("Output: {\"a\":1}", a()),
            ("const args = {\"a\":1};", a()),
            ("null {\"a\":1}", a()),
            ("Let me look, it's `get_tide` (for Oban):\n{\"a\":1}", a()),
            ("I will call \"get_tide\" with:\n{\"a\":1}", a()),
            ("好的，我来调用：\n{\"a\":1}", a()),
            (
                "**Reason**: it is due (now):\n\n```json\n{\"a\":1}\n```\nNote: it is high.",
                a(),
            ),
            ("Sure <tool_call>{\"a\":1}</tool_call>", a()),
            ("<think>I should call.</think>\n{\"a\":1}", a()),
            ("[TOOL_CALLS]get_tide[CALL_ID]9abC0[ARGS]{\"a\":1}", a()),
            (
                "<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_tide\n```json\n{\"a\":1}\n```<｜tool▁call▁end｜>",
                a(),
            ),
            ("{}{}{\"a\":1}", a()),
            ("{}\n{\"a\":1}{\"a\":1}", a()),
            ("{\"a\":1}\n{\"a\":1}\n{\"a\":1}", a()),
            (
                "{\"a\":1,\"b\":2},{\"b\":2,\"a\":1}",
                Some(json!({"a": 1, "b": 2})),
            ),
            ("\"{'a':1,}\"", a()),
            ("\"{\n\\\"a\\\":1}\"", a()),
            ("\"```json\\n{\\\"a\\\":1}\\n```\"", None), // a string, and not an object's text
            // Inside.
            (
                "{'a':{'b':[True,None,FALSE]}}",
                Some(json!({"a": {"b": [true, null, false]}})),
            ),
            (
                "{“a”:“b’s”, ‘c’ : ‘d’}",
                Some(json!({"a": "b’s", "c": "d"})),
            ),
            ("{„a“:1}", a()),
            ("{/*1*/\"a\"/*2*/:/*3*/1/*4*/,/*5*/}/*6*/", a()),
            (
                "{\"a\" // x\n: // y\n[1, // z\n2 # w\n], }",
                Some(json!({"a": [1, 2]})),
            ),
            ("{\"a\nb\":1}", Some(json!({"a\nb": 1}))),
            ("{\"a\\qb\":1}", Some(json!({"a\\qb": 1}))),
            ("{'a\\'b':'c\"d'}", Some(json!({"a'b": "c\"d"}))),
            (
                "{\"a\":\"\\ud83d\\ude00\\ud83d\", b:1}",
                Some(json!({"a": "😀\u{FFFD}", "b": 1})),
            ),
            ("{\"a\":\"x\\\ny\"}", Some(json!({"a": "x\\\ny"}))),
            (
                "{\"a\":\"\u{1}\u{1f}\\u00e9\r\"}",
                Some(json!({"a": "\u{1}\u{1f}é\r"})),
            ),
            ("{$a_b.c-d: 1, é: 2}", Some(json!({"$a_b.c-d": 1, "é": 2}))),
            (
                "{null: null, true: True}",
                Some(json!({"null": null, "true": true})),
            ),
            (
                "{a:+.5,b:-.5,c:[5.,1.e2],d:-1}",
                Some(json!({"a": 0.5, "b": -0.5, "c": [5.0, 100.0], "d": -1})),
            ),
            ("{\\n\\t\"a\":\\n1,\\n}\\n", a()),
            ("{\"a\":\u{a0}1}", a()),
            ("{a\u{a0}:1}", a()),
            (
                "{\"id\":100000000000000000001}{\"id\": 100000000000000000001}",
                serde_json::from_str("{\"id\":100000000000000000001}").ok(),
            ),
            (
                "{\"a\":[{},],\"b\":{\"c\":[],},}",
                Some(json!({"a": [{}], "b": {"c": []}})),
            ),
            ("{\"a\":1e400,}", None),
        ],
    );
}

#[test]
fn guesses_are_made_only_when_asked_for() {
    let a = || Some(json!({"a": 1}));
    let rows = [
        ("{\"a\":1}\nI hope this helps", a()),
        ("{'a':'it's ok'}", Some(json!({"a": "it's ok"}))),
        ("{'a':'x' 'b':1}", Some(json!({"a": "x", "b": 1}))),
        ("{'a':'x'\n\"b\":1}", Some(json!({"a": "x", "b": 1}))),
        ("{\"a\":\"x\" 'b':1}", Some(json!({"a": "x", "b": 1}))),
        ("{'a':['x' 'y']}", Some(json!({"a": ["x", "y"]}))),
        (
            "{\"a\":[\"x\" 1, \"y\" true, \"z\" .5]}",
            Some(json!({"a": ["x", 1, "y", true, "z", 0.5]})),
        ),
        (
            "{\"a\":[\"x\"\n{\"b\":\"c\"}]}",
            Some(json!({"a": ["x", {"b": "c"}]})),
        ),
        (
            "{\"a\":[\"x\" [\"y\"] \"z\" {}]}",
            Some(json!({"a": ["x", ["y"], "z", {}]})),
        ),
        ("{\"a\" True,'b' None}", Some(json!({"a": true, "b": null}))),
        (
            "{'a':(x,y z),'b':('q',w)}",
            Some(json!({"a": ["x", "y z"], "b": ["q", "w"]})),
        ),
        ("{\"a\":[1,2},\"b\":3}", Some(json!({"a": [1, 2], "b": 3}))),
        ("{\"a\":[[1},\"b\":3}", Some(json!({"a": [[1]], "b": 3}))),
        ("{\"a\":[1]]}", Some(json!({"a": [1]}))),
        ("{\"a\":1 ] }\n", Some(json!({"a": 1}))),
        ("{\"a\":\"x\")", Some(json!({"a": "x"}))),
        (
            "{\"a\":\"x\" , \"b\":\"a \"q\" b\",\"c\":1}",
            Some(json!({"a": "x", "b": "a \"q\" b", "c": 1})),
        ),
        (
            "{\"a\":\"x\"\"b\":\"y\"}",
            Some(json!({"a": "x", "b": "y"})),
        ),
        (
            "{\"a\":{\"b\":1}\"c\":2}",
            Some(json!({"a": {"b": 1}, "c": 2})),
        ),
        ("{\"a\":[\"x\" \"y\"]}", Some(json!({"a": ["x", "y"]}))),
        (
            "{\"a\":[{\"b\":1}{\"b\":2}]}",
            Some(json!({"a": [{"b": 1}, {"b": 2}]})),
        ),
        ("{\"a\":[1,2,\"b\":3}", Some(json!({"a": [1, 2], "b": 3}))),
        (
            "{\"a\":[{\"b\":1],\"c\":2}",
            Some(json!({"a": [{"b": 1}], "c": 2})),
        ),
        (
            "{\"a\":\"x\n\"b\":\"y\"}",
            Some(json!({"a": "x", "b": "y"})),
        ),
        (
            "{\"a\":\"x\"\n  b:\"y\"}",
            Some(json!({"a": "x", "b": "y"})),
        ),
        (
            "{\"a\" true,\"b\" null}",
            Some(json!({"a": true, "b": null})),
        ),
        ("{\"a:1,\"b\":2}", Some(json!({"a": 1, "b": 2}))),
        ("{a\":1,b\":2}", Some(json!({"a": 1, "b": 2}))),
        ("{a = 1; b => 2;}", Some(json!({"a": 1, "b": 2}))),
        (
            "{first name: Ann Lee}",
            Some(json!({"first name": "Ann Lee"})),
        ),
        ("{\"u\": https://x.y/z?q=1}", None),
        (
            "{\"d\": 2024-01-02, \"v\":1.2.3}",
            Some(json!({"d": "2024-01-02", "v": "1.2.3"})),
        ),
        ("{\"a\":[(1,2),()]}", Some(json!({"a": [[1, 2], []]}))),
        ("{\"a\":\"x\"+'y' + \"z\"}", Some(json!({"a": "xyz"}))),
        ("{\"a\":'''x \"y\"\nz'''}", Some(json!({"a": "x \"y\"\nz"}))),
        ("{\"a\":`x\ny`}", Some(json!({"a": "x\ny"}))),
        (
            "{\"a\":[NaN,-Infinity,undefined]}",
            Some(json!({"a": [null, null, null]})),
        ),
        (
            "{\"a\":007,\"b\":0b11,\"c\":1_0.5}",
            Some(json!({"a": 7, "b": 3, "c": 10.5})),
        ),
        (
            "{\"a\":[1, 007, 02, 003]}",
            Some(json!({"a": [1, 7, 2, 3]})),
        ),
        ("{\"b\":1,\"a\":,}", Some(json!({"b": 1}))),
        (
            "{\"a\": hello\", \"b\":12km}",
            Some(json!({"a": "hello", "b": "12km"})),
        ),
        ("{\"a\":\"x,\"b\":1}", Some(json!({"a": "x", "b": 1}))),
        ("{{\"a\":1}}", a()),
        ("{\"a\":1)", a()),
        (
            "{\"a\":nil,\"b\":[1,2)}",
            Some(json!({"a": null, "b": [1, 2]})),
        ),
        ("[{'a':1}]", a()),
        ("Result:\n[{\"a\":1}]", a()),
        ("call([{\"a\":1}])", a()),
        ("\"a\":1}", a()),
        ("\"a\":\"x\",\"b\":[1]", Some(json!({"a": "x", "b": [1]}))),
        ("{\\\"a\\\":\\\"x\\\\ny\\\"}", Some(json!({"a": "x\ny"}))),
        ("{\\n  \\\"a\\\": 1\\r\\n}", a()),
        ("```json\n{\\n\\t\\\"a\\\": 1\\n}", a()),
    ];
    expect(RepairLevel::Guess, &rows);
    for (text, _) in rows {
        assert!(
            !settle(text, RepairLevel::Lossless).is_usable(),
            "{text} was repaired without a guess"
        );
    }
}

#[test]
fn two_readings_are_refused_at_every_level() {
    for text in [
        "{\"a\":1}{\"a\":2}",
        "{\"a\":1}\n\n{\"b\":{}}",
        "{\"a\":1}{}",
        "{\"a\":1}{\"a\":",
        "{\"a\":1},{\"a\":2},{\"a\":1}",
        "[{\"a\":1},{\"a\":1}]",
        "[1,{\"a\":1}]",
        "{\"a\":[1,,2]}",
        "{\"a\":[,1]}",
        "{\"a\":[1,,]}",
        "{\"a\":1,000,000}",
        "{\"a\":[1,000]}",
        "{\"a\":[\"x\", 12,007.5, 3]}",
        "{\"a\":}",
        "{\"a\"}",
        "{\"a\":1,\"b\"}",
        "{\"a\",\"b\":1}",
        "{&quot;a&quot;:&quot;b&quot;}",
        "a: 1\nb: 2",
        "a: {\"b\": 1}, c: 2",
        "a: 1, b: {\"x\":1}",
        "opts: {\"force\": true}",
        "opts:\n  {\"force\": true}",
        "path: /tmp/x\nopts: {\"force\": true}",
        "city: Oban\nunits: metric\nextra: {}",
        "- 1\n- {\"a\":1}",
        "name=foo opts={\"a\":1}",
        "get_tide(port=\"Oban\", options={\"units\":\"m\"})",
        "get(\"Oban\", {\"a\":1})",
        "get({\"a\":1}, 2)",
        "(1, {\"a\":1})",
        "'{\"a\":1} // b'}",
        "\"a\":{\"b\":1},\"c\":2}}",
        "5 {\"a\":1}",
        "true\n{\"a\":1}",
        "<x>Oban</x>{\"a\":1}",
        "<x>{\"a\":1}</x><y>Oban</y>",
        "&lt;args&gt;{\"x\":1}&lt;/args&gt;",
        "{\"x\":1}&lt;/args&gt;",
        "&quot;a&quot;: {\"x\":1}",
        "Result: [{\"a\":1}, 5]",
        "Args: [\"rm\", {\"a\":1}]",
        "call([{\"a\":1}, 2])",
        "{\"id\":100000000000000000001}{\"id\":100000000000000000002}",
        "{\"n\":1e-400}{\"n\":2e-400}",
        "{\"a\":\"1\"}{\"a\":1}",
        "{\"a\":\"x\" y\\",
        "{\"a\":\"x\" y\\u0",
        "A: {\"b\": 1}, C: 2",
        "{\"a\":\"say \"hi\", then go\"}",
        "{\"a\":\"x\" b:\"y\"}",
        "{a:'x' b:'y'}",
        "{\"a\":[\"x, \"y\"]}",
        "{\"a\":[\"x\"{\"b\":\"c\"}]}",
        "{\"a\":[\"x\" y, {\"b\":\"c\"}]}",
        "{\"a\":{\"b\":[1},\"c\":2}}",
        "{\"a\":{\"b\":[1}],\"c\":2}}",
        "{\"a\":[\"x\",\"b\":1]}",
        "{\"a\":[1]],\"b\":2]}",
        "{\"a\":\"f(\"x\")",
        "{\"a\":[\"he \"x\", y\"]}",
        "{\"a\":1/2}",
        "{\"a\":- 1}",
        "{\"a\":--1}",
        "{\"a\":1e999}",
        "{\"a\":1e}",
        "{\"a\":[\"x\",\"y\" z],\"b\":[\"c\"]}",
        "{\"a\":[[\"x\" y],[\"z\"]]}",
        "{\"a\":\"x\" y, \"b\":[1]}",
        "{\"a\": \"first, b: \"second\"}",
        "{\"cmd\":\"echo \"hi\", \"bye\"\"}",
        "{{{\"a\":1}}",
        "{{\"a\":1}",
        "{\"a\":1}[1,2]",
        "```json\n{\"a\":1}\n```\nor\n```json\n[1]\n```",
        "{\"a\":\"x\" y",
        "{\"a\":1-2}",
        "{\"a\":\"f(\"}\")\"}",
        "{1,2}",
        "{x}",
        "Use {x} so: {\"a\":1}",
        "\"hello {x}\"",
        "\"\\\"{\\\\\\\"a\\\\\\\":1}\\\"\"",
        "hello",
        "5",
        "[]",
        "true",
        "}",
        ":",
    ] {
        for (level, _) in LEVELS {
            let settled = settle(text, level);
            assert!(
                !settled.is_usable(),
                "{text} at {level:?}: {:?} {:?}",
                settled.recovered(),
                settled.repairs()
            );
        }
    }
}

/// Wherever a text lost its first bytes, what is left of it holds an object that was a part of it.
#[test]
fn no_object_inside_a_text_that_lost_its_head_is_taken_for_the_whole() {
    let mut heads = 0;
    for text in [
        r#"{"path": "/tmp/x", "options": {"force": true}}"#,
        "{\n \"edits\": [\n {\"old\":\"a\",\"new\":\"b\"}\n ]\n}",
        "{'tpl':'{}','n':1}",
        "{'a': 1, 'b': {\"x\":1}}",
        "{“a”: “x y” , “b” : {“c”: 1}}",
        "{first: it, second: {x: 1}, third: [{}]}",
        r#"{"say": "Here you go {}", "n": 1}"#,
        r#"{"say": "see `{}`, \"or\" f({}) <b>{}</b>", "n": [true, null, {}]}"#,
        "{\"md\": \"```json\\n{}\\n```\", \"raw\": \"Use:\n```\n{}\n```\"}",
        "{\"urls\": [\"https://x.y/z\",\n{\"c\": 1}\n]}",
        "{\"tags\": [\"# x\", [\"[END]\", {}], null, {\"a\": -1.5e3}]}",
    ] {
        for (at, _) in text.char_indices().skip(1) {
            let rest = &text[at..];
            heads += 1;
            if rest.trim_start().starts_with('{') {
                continue; // an object's own brace: nothing says that it was inside another
            }
            let settled = settle(rest, RepairLevel::Lossless);
            assert!(
                !settled.is_usable(),
                "{rest}: {} {:?}",
                settled.to_json(),
                settled.repairs()
            );
        }
    }
    assert!(heads > 400, "{heads}");
}

#[test]
fn where_a_second_object_starts_is_said_though_the_first_needs_mending() {
    for (text, at) in [
        ("{\"a\":1}{\"b\":2}", 7),
        ("{\"a\":1,}{\"b\":2}", 8),
        ("{'a':1}\n{'b':2}", 8),
        ("{'a':1}{\"b\":", 7),
        ("{'a':1}{'a':1}{'b':2}", 14),
        ("{\"a\":1,}</t><t>{\"b\":2}", 15),
        ("\"{'a':1}{'b':2}\"", 8),
    ] {
        let problem = settle(text, RepairLevel::Lossless);
        let problem = problem.problem().unwrap();
        assert_eq!(problem.second_object(), Some(at), "{text}");
    }
    for text in ["{'a':1} 'b'", "{'a':1}{'a':1} 'b'", "[{'a':1},{'b':2}]"] {
        let settled = settle(text, RepairLevel::Lossless);
        assert_eq!(settled.problem().unwrap().second_object(), None, "{text}");
    }
}

#[test]
fn what_is_no_json_is_told_from_json_that_is_no_object() {
    let kind = |text: &str| settle(text, RepairLevel::None).problem().unwrap().kind();
    for text in ["5", "-1.5e3", "true", " [1] ", "[1", "[{\"a\":1}]", "\"x\""] {
        assert_eq!(
            kind(text),
            ProblemKind::Fault(FaultKind::NotAnObject),
            "{text}"
        );
    }
    for text in [
        "foo",
        "nope",
        "tomorrow",
        "f({\"a\":1})",
        "-x",
        "-",
        "5 apples",
        "[foo]",
        "nul",
        "hello",
    ] {
        assert_eq!(
            kind(text),
            ProblemKind::Fault(FaultKind::Unexpected),
            "{text}"
        );
    }
}

#[test]
fn what_a_fault_in_the_string_around_the_object_leaves_out_is_said() {
    for (text, at) in [("\"{\\\"a\\\":1}\" x", 12), ("\"{\\\"a\\\":[\\q", 9)] {
        let settled = settle(text, RepairLevel::None);
        let problem = settled.problem().unwrap();
        assert_eq!(
            (problem.at(), problem.dropped_at()),
            (at, Some(at)),
            "{text}"
        );
    }
}

#[test]
fn repairs_are_listed_in_the_order_of_the_text() {
    for text in [
        "{\"a\":\"x\",\u{a0}}",
        "{}{\"a\":\"x\",}",
        "\"{'a':1, /* b */}\"",
    ] {
        let settled = settle(text, RepairLevel::Lossless);
        assert!(settled.repairs().len() > 1, "{text}");
        assert!(
            settled.repairs().is_sorted_by_key(|repair| repair.at),
            "{text}: {:?}",
            settled.repairs()
        );
    }
}

#[test]
fn what_is_mended_in_the_string_around_the_object_is_listed() {
    use RepairKind::{LoneSurrogate, RawControl, SingleQuotes, Unwrapped};
    for (text, want, kinds) in [
        (
            r#""{\"a\":\"\ud83d\"}""#,
            json!({"a": "\u{FFFD}"}),
            &[(Unwrapped, 0), (LoneSurrogate, 10)][..],
        ),
        (
            r#""{\"a\":\"x\ud83dy\",\"b\":\"\ude00\"}""#,
            json!({"a": "x\u{FFFD}y", "b": "\u{FFFD}"}),
            &[(Unwrapped, 0), (LoneSurrogate, 11), (LoneSurrogate, 29)],
        ),
        (
            "\"{\n\\\"a\\\":\\\"x\ny\\\"}\"",
            json!({"a": "x\ny"}),
            &[(Unwrapped, 0), (RawControl, 2), (RawControl, 12)],
        ),
        (
            "\"{'a':\t1}\"",
            json!({"a": 1}),
            &[(Unwrapped, 0), (SingleQuotes, 2), (RawControl, 6)],
        ),
        (
            "\"{\n\\\"a\\\":1}\"",
            json!({"a": 1}),
            &[(Unwrapped, 0), (RawControl, 2)],
        ),
    ] {
        let settled = settle(text, RepairLevel::Lossless);
        assert_eq!(
            settled.object().ok(),
            want.as_object(),
            "{text}: {}",
            settled.state()
        );
        let listed = settled.repairs().iter();
        let listed: Vec<_> = listed.map(|repair| (repair.kind, repair.at)).collect();
        assert_eq!(listed, kinds, "{text}");
    }
}

#[test]
fn more_repairs_than_are_listed_hide_no_guess_and_change_no_verdict() {
    for lines in [0, 3, 3 * Repair::LISTED] {
        let lines = "\n".repeat(lines);
        let mended = settle(
            &format!("{{\"s\":\"{lines}\",\"n\":007}}"),
            RepairLevel::Guess,
        );
        assert_eq!(mended.repair_level(), RepairLevel::Guess);
        let wrapped = format!("\"{{\\\"s\\\":\\\"{lines}\\\",\\\"n\\\":007}}\"");
        let mended = settle(&wrapped, RepairLevel::Guess);
        assert_eq!(mended.repair_level(), RepairLevel::Guess);
        assert!(mended.repairs().len() <= Repair::LISTED);
        let object = format!("{{\"s\":\"{lines}\",}}");
        for text in [
            format!("{object},{object}]}}"),
            format!("f({object},{object})"),
            format!("Sure: {object}, and more"),
        ] {
            expect(RepairLevel::Lossless, &[(&text, None)]);
        }
    }
}

#[test]
fn where_a_mended_text_nests_too_deeply_is_told_in_the_text_as_it_was_sent() {
    let deep = "{a:{b:[1,[2,[3]]]}}";
    let strict = "{\"a\":{\"b\":[1,[2,[3]]]}}";
    let fourth = |text: &str| text.find("[2").unwrap();
    for text in [
        strict.to_owned(),
        deep.to_owned(),
        format!("{strict};"),
        format!("```json\n{deep}\n```"),
        format!("{{}}\n{strict}"),
        format!("Here is the call:\n\"{deep}\""),
        format!("{:?}", strict),
        format!("{:?};", strict),
        format!("{strict:?}").replace('1', "\\u0031\\n"),
    ] {
        let settling = Settling {
            max_depth: 3,
            repair: RepairLevel::Lossless,
            ..Settling::default()
        };
        let settled = Arguments::settle(text.clone(), &settling);
        assert_eq!(settled.state(), ArgumentsState::TooDeep, "{text}");
        assert_eq!(settled.problem().unwrap().at(), fourth(&text), "{text}");
    }
}

#[test]
fn a_string_is_unwrapped_once_whatever_stands_around_the_second() {
    let object = || Some(json!({"a": 1}));
    for (text, wants) in [
        ("{\"a\":1}", object()),
        ("{'a':1}", object()),
        ("```json\n{\"a\":1}\n```", object()),
        ("\"{\\\"a\\\":1}\"", None),
        ("'{\"a\":1}'", None),
        ("\u{feff}\"{\\\"a\\\":1}\"", None),
        ("```json\n\"{\\\"a\\\":1}\"\n```", None),
        ("<t>'{\"a\":1}'</t>", None),
    ] {
        let held = Arguments::from_value(json!(text));
        let got = held.object().ok().cloned().map(Value::Object);
        assert_eq!(got, wants, "{text}: {}", held.state());
    }
}

#[test]
fn what_is_cut_stays_cut_whatever_else_is_mended() {
    for (text, want) in [
        ("{'a':'x", json!({"a": "x"})),
        ("{'a':'x\\", json!({"a": "x"})),
        ("{'a':'x\\u00", json!({"a": "x"})),
        ("{'a':'x\\ud83d", json!({"a": "x"})),
        ("{'a':'x\\ud83d\\ude", json!({"a": "x"})),
        ("{a:1,b:2", json!({"a": 1})),
        ("{a:1,b:Tru", json!({"a": 1})),
        ("{a:1,b:-", json!({"a": 1})),
        ("{a:1,b:5.", json!({"a": 1})),
        ("{a:1,b", json!({"a": 1})),
        ("{a:\"x\",b:\"y\"", json!({"a": "x", "b": "y"})),
        ("{a:\"x\" // y", json!({"a": "x"})),
        ("\u{feff}{a:\"x\"", json!({"a": "x"})),
        ("<t>{a:\"x\"", json!({"a": "x"})),
        ("{}{a:\"x\"", json!({"a": "x"})),
        ("\"{a:\\\"x\\\"\"", json!({"a": "x"})),
        ("{a:1,b:", json!({"a": 1})),
        ("{a:[\"x\"", json!({"a": ["x"]})),
        ("{a:{b:\"x\"}", json!({"a": {"b": "x"}})),
        ("\u{feff}{\"a\":\"x\"", json!({"a": "x"})),
        ("{}{\"a\":\"x", json!({"a": "x"})),
        ("null{\"a\":[1,", json!({"a": [1]})),
        ("\"{'a':'x", json!({"a": "x"})),
        ("\"{'a':'x\\ud83d", json!({"a": "x"})),
        ("\"{'a':'x\\ud83d\\u", json!({"a": "x"})),
        ("<t>\"{\\\"a\\\":\\\"x\\ud83d", json!({"a": "x"})),
        ("\"{\n\\\"a\\\":1}", json!({"a": 1})), // the string around it never closed
        ("```\n{\"a\":\"x\"}", json!({"a": "x"})),
        ("{\"a\":\"x\ny\"", json!({"a": "x\ny"})),
        ("{\"a\":1 // and then", json!({"a": 1})),
    ] {
        for level in [RepairLevel::Lossless, RepairLevel::Guess] {
            let settled = settle(text, level);
            assert_eq!(
                Value::Object(settled.map().into_owned()),
                want,
                "{text} at {level:?}"
            );
            let fence_only = text.starts_with("```");
            assert_eq!(
                settled.state() == ArgumentsState::Truncated,
                !fence_only,
                "{text} at {level:?}: {}",
                settled.state()
            );
        }
    }
}

#[test]
fn a_missing_last_brace_is_added_only_where_the_turn_ended_and_the_text_is_no_json() {
    let cut = Settling {
        blank: Blank::Cut,
        ..Settling::default()
    };
    assert_eq!(
        Arguments::parse("{a:\"b\"").state(),
        ArgumentsState::Repaired
    );
    assert_eq!(
        Arguments::settle("{a:\"b\"".into(), &cut).state(),
        ArgumentsState::Truncated
    );
    assert_eq!(
        Arguments::parse("{\"a\":\"b\"").state(),
        ArgumentsState::Truncated
    );
    assert_eq!(
        settle("\"a\":\"b\"", RepairLevel::Guess).state(),
        ArgumentsState::Repaired
    );
}

#[test]
fn a_missing_quote_of_a_key_is_guessed_only_where_the_turn_ended() {
    // Of a turn that did not end, the same text is the beginning of `{"a:1}b":2}`.
    let settle = |blank| {
        let repair = RepairLevel::Guess;
        let settling = Settling {
            repair,
            blank,
            ..Settling::default()
        };
        Arguments::settle("{\"a:1}".into(), &settling).state()
    };
    assert_eq!(settle(Blank::Object), ArgumentsState::Repaired);
    assert_eq!(settle(Blank::Cut), ArgumentsState::Truncated);
}

#[test]
fn what_stands_around_an_object_may_stand_around_the_string_that_holds_it() {
    let string = r#""{\"a\":1}""#;
    let malformed = r#""{'a':1,}""#;
    for string in [string, malformed] {
        let texts = [
            format!("```json\n{string}\n```"),
            format!("<tool_call>\n{string}\n</tool_call>"),
            format!("{string}</tool_call>"),
            format!("{string}<|im_end|>"),
            format!("{string};"),
            format!("Sure:\n```json\n{string}\n```\nAnything else?"),
            format!("Here is the call:\n{string}"),
            format!("JSON.parse({string})"),
            format!("null{string}"),
        ];
        for text in texts {
            let want = Some(json!({"a": 1}));
            expect(RepairLevel::Lossless, &[(&text, want)]);
        }
        // In a container that lost its beginning it is one of several.
        for tail in ["}", "]", "]}", ", 2]", ", \"b\": 2}", " x", "{\"b\":2}"] {
            let text = format!("{string}{tail}");
            expect(RepairLevel::Lossless, &[(&text, None)]);
        }
        for head in ["opts: ", "path\": ", "x, ", "f(", "f(1, ", "[", "{\"x\":"] {
            let text = format!("{head}{string}");
            expect(RepairLevel::Lossless, &[(&text, None)]);
        }
    }
    for cut in ["<t>\"{\\\"a\\\":1", "f(\"{\\\"a\\\":1}", "f(\"{'a':1"] {
        let state = settle(cut, RepairLevel::Lossless).state();
        assert_eq!(state, ArgumentsState::Truncated, "{cut}");
    }
}

#[test]
fn a_mark_after_the_object_may_be_begun_only() {
    for mark in ["</tool_call>", "<|im_end|>", "<｜tool▁call▁end｜>", "\n```"] {
        for (at, _) in mark.char_indices() {
            let text = format!("{{\"a\":1}}{}", &mark[..at]);
            let settled = settle(&text, RepairLevel::Lossless);
            assert_eq!(
                settled.map().into_owned(),
                json!({"a": 1}).as_object().unwrap().clone()
            );
            assert!(settled.is_usable(), "{text}");
        }
    }
    for tail in ["< 2", "<b c", "<{", "<[1", "<\"", "<=>\"b\":2}"] {
        let text = format!("{{\"a\":1}}{tail}");
        expect(RepairLevel::Lossless, &[(&text, None)]);
    }
}

#[test]
fn no_prefix_of_a_repairable_text_is_usable_without_a_terminal_signal() {
    let mut prefixes = 0;
    for text in [
        "```json\n{'a':\"x\ny\", b: [True, +1, .5, {c: 'd'},], /* e */ \"f\": \"\\d\\ud83d\"} // g\n```",
        "\"{'a':[1,{'b':\\\"c\\\"}],}\"",
        "Call: {“a”:“b”,c:None}",
        "<tool_call>{“a”:“b”,c:None}}",
        "null{a:{b:'c'},d:'e'}",
    ] {
        for repair in [RepairLevel::Lossless, RepairLevel::Guess] {
            let settling = Settling {
                repair,
                blank: Blank::Cut,
                ..Settling::default()
            };
            assert!(
                Arguments::settle(text.to_owned(), &settling).is_usable(),
                "{text} at {repair:?}"
            );
            // The root's closer: everything before it is a cut text, everything after only stands around.
            let closer = text.rfind('}').unwrap() - usize::from(text.ends_with("}}"));
            for (at, _) in text.char_indices().take_while(|(at, _)| *at <= closer) {
                let cut = Arguments::settle(text[..at].to_owned(), &settling);
                assert!(
                    !cut.is_usable(),
                    "{:?} at {repair:?}: {}",
                    &text[..at],
                    cut.to_json()
                );
                prefixes += 1;
            }
        }
    }
    assert!(prefixes > 200);
}

#[test]
fn repair_is_the_identity_on_valid_text_and_idempotent() {
    let mut texts: Vec<String> = Vec::new();
    for name in [
        "corpus-json/repair_consensus.json",
        "corpus-json/jsonrepair_js.json",
        "corpus-json/json_repair_py.json",
    ] {
        let Some(file) = shared(name) else { continue };
        let file: Value = serde_json::from_str(&file).unwrap();
        texts.extend(
            file["cases"]
                .as_array()
                .unwrap()
                .iter()
                .map(|case| case["input"].as_str().unwrap().to_owned()),
        );
    }
    let mut repaired = 0;
    for text in &texts {
        for (level, _) in LEVELS {
            let once = settle(text, level);
            if serde_json::from_str::<Map<String, Value>>(text).is_ok() {
                assert_eq!(once.state(), ArgumentsState::Whole, "{text}");
                assert_eq!(once.to_json(), *text);
            }
            let twice = settle(&once.to_json(), level);
            assert_eq!(
                twice.state(),
                ArgumentsState::Whole,
                "{text} became {}",
                once.to_json()
            );
            assert_eq!(twice.recovered(), Some(&once.map().into_owned()), "{text}");
            assert!(once.repairs().iter().all(|repair| repair.at <= text.len()
                && repair.level() <= level.max(RepairLevel::Lossless)));
            repaired += usize::from(once.state() == ArgumentsState::Repaired);
        }
    }
    println!(
        "repaired {repaired} of {} texts at three levels",
        texts.len() * 3
    );
}

/// The inputs on which all six repairers of the file agree and this library answers otherwise at level guess, and why.
const AGAINST_CONSENSUS: &[(&str, &str)] = &[
    (
        "{\"key1\": {\"key2\": [1, 2, 3",
        "a number that the text's end cuts is not a number yet",
    ),
    (
        "{\"a\":2",
        "a number that the text's end cuts is not a number yet",
    ),
    (
        "{\n  \"firstName\": \"John\" /* comment */ \n  lastName: Smith",
        "a word that the text's end cuts may go on",
    ),
    (
        "{\n  \"firstName\": \"John\"\n  ,  lastName: Smith",
        "a word that the text's end cuts may go on",
    ),
];

#[test]
fn where_six_repairers_agree_so_do_we_or_say_why_not() {
    let Some(file) = shared("corpus-json/repair_consensus.json") else {
        return;
    };
    let file: Value = serde_json::from_str(&file).unwrap();
    let (mut same, mut all, mut wrong) = (0, 0, Vec::new());
    let mut by_agreement = [(0, 0); 7];
    for case in file["cases"].as_array().unwrap() {
        let text = case["input"].as_str().unwrap();
        let settled = settle(text, RepairLevel::Guess);
        let agrees = Value::Object(settled.map().into_owned()) == case["value"];
        let agree = case["agree"].as_u64().unwrap() as usize;
        by_agreement[agree].0 += usize::from(agrees);
        by_agreement[agree].1 += 1;
        if agree < 6 || !case["value"].is_object() {
            continue;
        }
        all += 1;
        same += usize::from(agrees);
        let listed = AGAINST_CONSENSUS.iter().any(|(input, _)| *input == text);
        if agrees == listed {
            wrong.push(format!(
                "{text:?}: {} ({}), they say {}",
                settled.to_json(),
                settled.state(),
                case["value"]
            ));
        }
    }
    println!("all six agree: same as they {same} of {all}; by how many agree: {by_agreement:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn agreement_with_other_suites_is_measured() {
    for (name, level) in [
        ("json_repair_py", RepairLevel::Guess),
        ("jsonrepair_js", RepairLevel::Guess),
        ("vercel_fixjson", RepairLevel::None),
        ("openai_node_partial", RepairLevel::None),
    ] {
        let Some(file) = shared(&format!("corpus-json/{name}.json")) else {
            continue;
        };
        let file: Value = serde_json::from_str(&file).unwrap();
        let (mut same, mut objects, mut refused) = (0, 0, 0);
        for case in file["cases"].as_array().unwrap() {
            let expected = match &case["expected"] {
                Value::String(text) => serde_json::from_str(text).unwrap_or(Value::Null),
                other => other.clone(),
            };
            // Texts of anything but an object are no arguments.
            if !expected.is_object() {
                continue;
            }
            objects += 1;
            let settled = settle(case["input"].as_str().unwrap(), level);
            refused += usize::from(settled.state() == ArgumentsState::Malformed);
            same += usize::from(Value::Object(settled.map().into_owned()) == expected);
        }
        println!("{name}: same value {same} of {objects}, {refused} refused");
        assert!(objects > 0);
    }
}

/// The text around an object, or its comma, says that it is one of several arguments, or not yet all of them.
#[test]
fn an_object_that_is_one_of_several_is_not_taken_for_all() {
    let refused = [
        "{\"cmd\": \"git commit -m \"#12 fix\"\"\n}",
        "{\n  \"html\": \"<a href=\"#top\">Top</a>\"\n}",
        "{\n \"sed\": \"s/\"//g\"\n}",
        "{\n  'text': 'see '#12' now'\n}",
        "path: config.json\ncontent:\n```json\n{\"debug\": true}\n```",
        "file: config.json\n\n```json\n{\"debug\": true}\n```",
        "```json\n{\"debug\": true}\n```\n\npath: config.json\nmode: write",
        "<function=f>\n<parameter=opts>\n{\"a\":1}\n</parameter>\n</function>",
        "<invoke name=\"f\"><parameter name=\"opts\">{\"a\":1}</parameter></invoke>",
        "<parameter=filter>{\"a\":1}</parameter><parameter=sort>{\"a\":1}</parameter>",
        "fetch({}, {'a': 1})",
        "f({\"a\":1}, {\"a\":1})",
        "{\"a\":1},{\"a\":1}]}",
        "{},{\"a\":1}]}",
        "f({\"a\":1},",
        "f({}, ",
        "f({\"a\":1}",
        "({\"a\":1}",
        "({\"a\":1}, 2)",
        "Action: f\nAction Input: {\"a\":1}\nAction: g\nAction Input: {\"a\":2}",
        "Action: f\nAction Input: {\"a\":1}, {\"b\":2}",
        "<think>\nLet me call with\n{\"a\":1}",
    ];
    let rows = refused.map(|text| (text, None));
    expect(RepairLevel::Lossless, &rows);
}

#[test]
fn what_stands_around_the_object_may_be_anything_that_is_no_part_of_it() {
    let texts = [
        "<think>The user wants port=Oban, days=3: {}.</think>\n{\"a\":1}",
        "<think>\nOkay: it is I/O; fine.\n</think>\n\n<tool_call>\n{\"a\":1}\n</tool_call>",
        "<reasoning>I need the tide.</reasoning>\n{\"a\":1}}",
        "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{\"a\":1}<|tool_call_end|>",
        "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a\":1}<|call|>",
        "Let me look at src/main.rs:\n```json\n{\"a\":1}\n```",
        "I will fetch https://a.b/c:\n{\"a\":1}",
        "Up 50% since May, so:\n{\"a\":1}",
        "First the port; then the days:\n{\"a\":1}",
        "It is 10:30, so I call:\n{\"a\":1}",
        "Voici l'appel :\n{\"a\":1}",
        "Вызываю «get_tide»:\n{\"a\":1}",
        "await get_tide({\"a\":1})",
        "Here is the call:\n{\"a\":1}\n\nThis reads /etc/hosts.",
        "Here is the call:\n{\"a\":1}}",
        "Sure:\n```json\n{\"a\":1}}\n```",
        "Here is the call:\n'{\"a\":1}'",
        "json.loads('{\"a\":1}')",
        "({\"a\":1})",
        "({\"a\":1});",
        "Action: get_tide\nAction Input: {\"a\":1}",
        "Thought: I need the tide.\nAction: get_tide\nAction Input: {\"a\":1}\nObservation:",
        "**Action:** get_tide\n**Action Input:**\n{\"a\":1}",
    ];
    let rows = texts.map(|text| (text, Some(json!({"a": 1}))));
    expect(RepairLevel::Lossless, &rows);
}
