//! Streamed arguments: in order, out of order, and broken.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

fn entry(text: &str) -> Entry<'_> {
    Entry::read(&mut Cursor::new(text)).unwrap()
}

/// The pieces of these entries and of the close; a restated text stands alone.
fn written(entries: &[&str]) -> Result<Vec<String>, Broken> {
    let mut writer = Writer::default();
    let mut pieces = Vec::new();
    for text in entries {
        writer.next();
        writer.push(&entry(text))?;
        pieces.push(writer.piece().to_owned());
    }
    writer.next();
    match writer.close()? {
        Closing::Piece => pieces.push(writer.piece().to_owned()),
        Closing::Cut => {}
        Closing::Restated(text) => pieces = vec![text],
    }
    Ok(pieces)
}

fn number(path: &str, value: u32) -> String {
    format!(r#"{{"jsonPath":"{path}","numberValue":{value}}}"#)
}

fn written_numbers(paths: &[&str]) -> Result<String, Broken> {
    let entries: Vec<String> = paths
        .iter()
        .zip(0..)
        .map(|(path, at)| number(path, at))
        .collect();
    let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
    Ok(written(&entries)?.concat())
}

#[test]
fn values_keep_the_wires_own_text() {
    let pieces = written(&[
        r#"{"jsonPath":"$.n","numberValue":1.50}"#,
        r#"{"jsonPath":"$.big","numberValue":123456789012345678901234567890}"#,
        r#"{"jsonPath":"$.yes","boolValue":false}"#,
        r#"{"jsonPath":"$.none","nullValue":"NULL_VALUE"}"#,
        r#"{"jsonPath":"$.s","stringValue":"a\"\u00e9\ud83d","numberValue":null,"willContinue":true}"#,
        r#"{"jsonPath":"$.s","stringValue":"\ude00"}"#,
    ]);
    assert_eq!(
        pieces.unwrap(),
        [
            r#"{"n":1.50"#,
            r#","big":123456789012345678901234567890"#,
            r#","yes":false"#,
            r#","none":null"#,
            r#","s":"a\"\u00e9\ud83d"#,
            r#"\ude00""#,
            "}",
        ]
    );
}

#[test]
fn containers_open_and_close_on_the_way_to_the_next_value() {
    let text = written_numbers(&[
        "$.r.i[0].a",
        "$.r.i[0].n",
        "$.r.i[1].a",
        "$.r.n",
        "$.s[0]",
        "$.s[1][0]",
    ]);
    assert_eq!(
        text.unwrap(),
        r#"{"r":{"i":[{"a":0,"n":1},{"a":2}],"n":3},"s":[4,[5]]}"#
    );
}

#[test]
fn a_string_ends_where_its_entry_ends_or_where_the_model_goes_on() {
    let open = r#"{"jsonPath":"$.s","stringValue":"x","willContinue":true}"#;
    let next = number("$.n", 1);
    assert_eq!(
        written(&[open, &next]).unwrap().concat(),
        r#"{"s":"x","n":1}"#
    );
    assert_eq!(written(&[open]).unwrap().concat(), r#"{"s":"x"}"#);
    let empty = r#"{"jsonPath":"$.s"}"#;
    assert_eq!(written(&[open, empty]).unwrap(), [r#"{"s":"x"#, "\"", "}"]);
    // Without the word that it will continue, pieces of one path join all the same.
    let whole = r#"{"jsonPath":"$.s","stringValue":"x"}"#;
    assert_eq!(written(&[whole, whole]).unwrap(), [r#"{"s":"xx"}"#]);
}

#[test]
fn what_comes_out_of_order_is_stated_in_order() {
    for (paths, expected) in [
        (
            &["$.a.x", "$.b", "$.a.y"][..],
            r#"{"a":{"x":0,"y":2},"b":1}"#,
        ),
        (&["$.l[1]", "$.l[0]"], r#"{"l":[1,0]}"#),
        (&["$.a", "$.a"], r#"{"a":1}"#),
        (&["$.a", "$.b", "$.a"], r#"{"a":2,"b":1}"#),
        (
            &["$.l[0].x", "$.l[1].x", "$.l[0].y", "$.m"],
            r#"{"l":[{"x":0,"y":2},{"x":1}],"m":3}"#,
        ),
    ] {
        assert_eq!(written_numbers(paths).unwrap(), expected, "{paths:?}");
    }
    let null = r#"{"jsonPath":"$.a","nullValue":"NULL_VALUE"}"#;
    assert_eq!(
        written(&[null, &number("$.a.b", 1)]).unwrap(),
        [r#"{"a":{"b":1}}"#]
    );
}

#[test]
fn contradictions_and_gaps_break_the_call() {
    for paths in [
        &["$.a", "$.a.b"][..],
        &["$.a.b", "$.a"],
        &["$.a.b", "$.a[0]"],
        &["$[0]"],
    ] {
        assert_eq!(
            written_numbers(paths),
            Err(Broken::Contradiction),
            "{paths:?}"
        );
    }
    for paths in [&["$.l[1]"][..], &["$.l[0]", "$.l[2]"], &["$.l[4294967295]"]] {
        assert_eq!(written_numbers(paths), Err(Broken::Gap), "{paths:?}");
    }
    let deep = format!("${}", ".a".repeat(127));
    assert!(written_numbers(&[&deep]).is_ok());
    assert_eq!(written_numbers(&[&format!("{deep}.a")]), Err(Broken::Path));
}

#[test]
fn odd_keys_are_written_as_json() {
    let text = written(&[r#"{"jsonPath":"$['a\"\\\\\\n']","numberValue":1}"#])
        .unwrap()
        .concat();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["a\"\\\n"], 1);
}

/// The same entries, set one by one in a plain tree.
fn set(tree: &mut serde_json::Value, path: &[Segment<'_>], value: &serde_json::Value) {
    use serde_json::Value;
    let Some((first, rest)) = path.split_first() else {
        match (tree.as_str(), value.as_str()) {
            (Some(text), Some(piece)) => *tree = Value::String(text.to_owned() + piece),
            _ => *tree = value.clone(),
        }
        return;
    };
    let child = match first {
        Segment::Key(key) => &mut tree[key.as_ref()],
        Segment::Index(index) => {
            if tree.is_null() {
                *tree = Value::Array(Vec::new());
            }
            let items = tree.as_array_mut().unwrap();
            items.resize(items.len().max(*index as usize + 1), Value::Null);
            &mut items[*index as usize]
        }
    };
    set(child, rest, value);
}

#[test]
fn any_order_of_any_entries_gives_the_value_of_a_plain_tree() {
    let paths = [
        "$.a", "$.b", "$.c.x", "$.c.y", "$.c.z[0]", "$.c.z[1]", "$.d[0].e", "$.d[0].f", "$.d[1].e",
    ];
    let mut seed = 7u64;
    let mut random = |below: u64| {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (seed >> 33) % below
    };
    let (mut whole, mut stated, mut gaps) = (0, 0, 0);
    for _ in 0..20_000 {
        let mut writer = Writer::default();
        let mut text = String::new();
        let mut tree = serde_json::Value::Object(serde_json::Map::new());
        let mut from = 0;
        for _ in 0..random(8) {
            // Mostly onwards, sometimes back.
            from = if random(6) == 0 { 0 } else { from };
            from += random(3);
            let Some(path) = paths.get(from as usize) else {
                break;
            };
            let string = random(2) == 0;
            let value = if string {
                r#""stringValue":"s""#
            } else {
                r#""numberValue":1"#
            };
            let more = random(2) == 0;
            let data = format!(r#"{{"jsonPath":"{path}",{value},"willContinue":{more}}}"#);
            writer.next();
            writer.push(&entry(&data)).unwrap();
            text.push_str(writer.piece());
            let value = if string { "s".into() } else { 1.into() };
            set(&mut tree, &segments(path).unwrap(), &value);
        }
        writer.next();
        match writer.close() {
            Ok(Closing::Cut) => panic!("no path was unreadable"),
            Ok(Closing::Piece) if writer.is_blank() => assert!(text.is_empty()),
            Ok(Closing::Piece) => {
                text.push_str(writer.piece());
                assert_eq!(text, tree.to_string());
                whole += 1;
            }
            Ok(Closing::Restated(text)) => {
                let text: serde_json::Value = serde_json::from_str(&text).unwrap();
                assert_eq!(text, tree);
                stated += 1;
            }
            Err(broken) => {
                assert_eq!(broken, Broken::Gap);
                assert!(tree.to_string().contains("[null"), "{tree}");
                gaps += 1;
            }
        }
    }
    assert!(
        whole > 1000 && stated > 1000 && gaps > 100,
        "{whole} {stated} {gaps}"
    );
}

#[test]
fn a_wide_call_in_any_order_is_stated_whole() {
    let mut writer = Writer::default();
    for at in 0..50_000 {
        let path = if at % 2 == 0 {
            format!("$.a.k{at}")
        } else {
            format!("$.b[{}]", at / 2)
        };
        writer.push(&entry(&number(&path, at))).unwrap();
        writer.next();
    }
    let Closing::Restated(text) = writer.close().unwrap() else {
        panic!("in order")
    };
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&text).unwrap()["b"][24_999],
        49_999
    );
}
