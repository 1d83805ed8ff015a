//! What a view of arguments costs while they arrive: a look after every 4-byte delta, against one parse at the end.
//!
//! Plain timing and no harness crate: what counts are ratios between two things measured in one run, and that the cost of a
//! delta does not grow with the text. `cargo bench --bench partial`; fails where a bound is passed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use callstitch::{ArgumentsBuffer, FieldEvent};
use serde_json::{Map, Value};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// A write-file call: one big string of code text with few escapes.
fn one_string(bytes: usize) -> String {
    let mut text = String::from(r#"{"path":"/src/main.rs","content":""#);
    while text.len() < bytes {
        text.push_str(r#"    let total = items.iter().map(|item| item.price).sum::<u64>();\n    println!(\"{total}\");\n"#);
    }
    text.push_str("\"}");
    text
}

/// An array of small records.
fn records(bytes: usize) -> String {
    let mut text = String::from(r#"{"rows":["#);
    let mut id = 0;
    while text.len() < bytes {
        if id > 0 {
            text.push(',');
        }
        text.push_str(&format!(
            r#"{{"id":{id},"name":"row {id}","price":{}.5,"tags":["a","b"],"ok":true}}"#,
            id * 3
        ));
        id += 1;
    }
    text.push_str("]}");
    text
}

/// A kind of text, how to make one of so many bytes, and how many final parses a look after every delta may cost.
type Shape = (&'static str, fn(usize) -> String, f64);

/// Cut into pieces of four bytes, or more where a character is longer.
fn deltas(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let at = (4..=rest.len())
            .find(|at| rest.is_char_boundary(*at))
            .unwrap_or(rest.len());
        let (piece, tail) = rest.split_at(at);
        pieces.push(piece);
        rest = tail;
    }
    pieces
}

fn best_of(runs: usize, mut work: impl FnMut()) -> Duration {
    (0..runs)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .min()
        .unwrap_or_default()
}

fn parse(text: &str) -> Duration {
    best_of(7, || {
        black_box(serde_json::from_str::<Map<String, Value>>(black_box(text)).unwrap());
    })
}

fn looks(pieces: &[&str]) -> Duration {
    best_of(5, || {
        let mut buffer = ArgumentsBuffer::new();
        for piece in pieces {
            buffer.push(piece);
            black_box(buffer.view().object().len());
        }
    })
}

fn events(pieces: &[&str]) -> Duration {
    best_of(5, || {
        let mut buffer = ArgumentsBuffer::new();
        let mut shown = 0;
        for piece in pieces {
            buffer.push(piece);
            buffer.drain_events(|event| {
                if let FieldEvent::Text { fragment, .. } = event {
                    shown += fragment.len();
                }
            });
        }
        black_box(shown);
    })
}

fn main() {
    let mut passed = true;
    let shapes: [Shape; 2] = [("one string", one_string, 40.0), ("records", records, 2.0)];
    for (name, make, bound) in shapes {
        let (mut per_delta, mut per_byte) = (Vec::new(), Vec::new());
        for bytes in [10_000, 100_000, 1_000_000, 10_000_000] {
            let text = make(bytes);
            let pieces = deltas(&text);
            let (parse, looks) = (parse(&text), looks(&pieces));
            let each = looks.as_nanos() as f64 / pieces.len() as f64;
            let ratio = looks.as_secs_f64() / parse.as_secs_f64();
            per_delta.push(each);
            per_byte.push(parse.as_secs_f64() / text.len() as f64);
            println!(
                "{name:>10} {bytes:>9} B: one parse {parse:>9.1?}, a look each delta {looks:>9.1?} = {ratio:>5.1} times, {each:>5.1} ns a delta"
            );
            if bytes == 1_000_000 {
                println!(
                    "{:>10} {:>9}    with events {:.1?}",
                    "",
                    "",
                    events(&pieces)
                );
                passed &= ratio <= bound;
            }
        }
        let (growth, floor) = (per_delta[3] / per_delta[0], per_byte[3] / per_byte[0]);
        println!(
            "{name:>10}: bound at 1 MB {bound} times; from 10 KB to 10 MB a delta grows {growth:.2} times, the parse of a byte {floor:.2}\n"
        );
        // Allocation and cache misses grow with the tree, for the one parse too; a cost in proportion to the text would
        // be a factor of a thousand.
        passed &= growth < 4.0 * floor.max(1.0);
    }
    assert!(passed, "a bound was passed");
}
