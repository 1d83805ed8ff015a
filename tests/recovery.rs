//! What an argument text means at its close: the truth table at every repair level, and agreement with other systems.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "common/shared.rs"]
mod shared;

use callstitch::{Arguments, ArgumentsState, RepairLevel, Settling};
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
