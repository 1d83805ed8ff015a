//! Every stream under `tests/streams`: its calls are the expected ones, and nothing depends on where the transport cut it.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod support;

use callstitch::{CallState, ClosedBy, WireFormat};
use serde_json::{Map, Value, json};
use support::random::Random;
use support::run::{Call, Run, run};
use support::streams::{Stream, all};

/// Runs `check` on each stream and says at the end which streams failed.
fn each(check: impl Fn(&Stream, WireFormat)) {
    let mut failed = Vec::new();
    let mut skipped = 0;
    for stream in all() {
        let Some(format) = stream.format else {
            skipped += 1;
            continue;
        };
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            check(&stream, format);
        }));
        if checked.is_err() {
            eprintln!("  ^ in {}", stream.name);
            failed.push(stream.name);
        }
    }
    if skipped > 0 {
        println!("skipped: {skipped} streams of formats that this build leaves out");
    }
    assert!(failed.is_empty(), "failed: {failed:#?}");
}

/// The members that a stream's expected file lists of each call.
fn shown(call: &Call) -> Value {
    json!({
        "index": call.index,
        "wire_index": call.wire_index,
        "choice": call.choice,
        "id": Some(&call.id).filter(|_| !call.synthetic_id),
        "name": Some(&call.name).filter(|name| !name.is_empty()),
        "kind": call.kind,
        "executor": call.executor,
        "server_name": call.server_name,
        "state": call.state.as_str(),
        "arguments": call.object,
        "raw": call.raw,
    })
}

fn assert_expected(stream: &Stream, run: &Run) {
    let expected = &stream.expected;
    let calls: Vec<Value> = run.seen().iter().map(shown).collect();
    let wanted = expected["calls"].as_array().expect("expected calls");
    for (at, (call, wanted)) in calls.iter().zip(wanted).enumerate() {
        // A flagged call that states nothing may say so as `{}` or as nothing at all.
        let states_nothing = |call: &Value| call["arguments"].as_object().is_none_or(Map::is_empty);
        let mut wanted = wanted.clone();
        if call["state"] == "truncated" && states_nothing(call) && states_nothing(&wanted) {
            wanted["arguments"] = call["arguments"].clone();
        }
        assert_eq!(*call, wanted, "call {at}");
    }
    assert_eq!(calls.len(), wanted.len(), "the number of calls");
    assert_eq!(run.end.as_str(), expected["end"], "{:?}", run.error);
    assert_eq!(json!(run.finish_reasons), expected["finish_reasons"]);
    if let Some(text) = expected["text"].as_str() {
        assert_eq!(run.text, text);
    }
    if let Some(discarded) = expected["discarded"].as_u64() {
        assert_eq!(run.discarded.len() as u64, discarded, "discarded calls");
    }
    if let Some(kind) = expected["error"].as_str() {
        assert_eq!(run.error().kind().as_str(), kind);
    }
}

#[test]
fn every_stream_gives_the_expected_calls_under_its_format_and_when_detected() {
    each(|stream, format| {
        let whole = run(format, [&stream.body[..]]);
        assert_expected(stream, &whole);
        let detected = run(WireFormat::Auto, [&stream.body[..]]);
        assert_expected(stream, &detected);
        whole.assert_same(&detected, "detected");
    });
}

#[test]
fn one_byte_at_a_time_and_in_random_pieces_nothing_changes() {
    each(|stream, format| {
        let body = &stream.body[..];
        for format in [format, WireFormat::Auto] {
            let whole = run(format, [body]);
            for size in [1, 2, 3, 5] {
                let how = format!("{format}, pieces of {size}");
                whole.assert_same(&run(format, body.chunks(size)), &how);
            }
            for seed in 0..4 {
                let pieces = random_pieces(body, seed);
                let how = format!("{format}, random cuts with seed {seed}");
                whole.assert_same(&run(format, pieces), &how);
            }
        }
    });
}

/// Pieces of random sizes, empty ones among them.
fn random_pieces(mut body: &[u8], seed: u64) -> Vec<&[u8]> {
    let mut random = Random::new(seed);
    let mut pieces = Vec::new();
    while !body.is_empty() {
        let most = *random.pick(&[1, 4, 40, 400]);
        let (piece, rest) = body.split_at(random.below(most + 1).min(body.len()));
        pieces.push(piece);
        body = rest;
    }
    pieces
}

/// Every byte of a body of ordinary length; longer ones would cost the square of it, and are cut here and there.
fn step(body: &[u8]) -> usize {
    1 + body.len() / 2560
}

#[test]
fn at_every_single_cut_nothing_changes() {
    each(|stream, format| {
        let body = &stream.body[..];
        for format in [format, WireFormat::Auto] {
            let whole = run(format, [body]);
            // Once the format is known, a detected stream is read by the same machines.
            let most = if format == WireFormat::Auto {
                256
            } else {
                body.len()
            };
            for at in (0..=most.min(body.len())).step_by(step(body)) {
                let (a, b) = body.split_at(at);
                whole.assert_same(&run(format, [a, b]), &format!("{format}, cut at {at}"));
            }
        }
    });
}

#[test]
fn line_ends_of_any_kind_say_the_same() {
    each(|stream, format| {
        if !stream.is_text || stream.body.contains(&b'\r') {
            return;
        }
        let whole = run(format, [&stream.body[..]]);
        let mut ends = vec!["\r\n"];
        // Only server-sent events know a lone CR as a line end.
        if stream.name.ends_with(".sse") {
            ends.push("\r");
        }
        for end in ends {
            let twin: Vec<u8> = stream
                .body
                .iter()
                .flat_map(|byte| match byte {
                    b'\n' => end.as_bytes().to_vec(),
                    other => vec![*other],
                })
                .collect();
            for format in [format, WireFormat::Auto] {
                let twin_whole = run(format, [&twin[..]]);
                whole.assert_same_elsewhere(&twin_whole, &format!("{format}, lines end {end:?}"));
                let bytes = run(format, twin.chunks(1));
                twin_whole.assert_same(&bytes, &format!("{format}, {end:?} byte by byte"));
            }
        }
    });
}

/// `run` has checked that every call that started ended once; here, that nothing unfinished looks finished.
#[test]
fn a_body_cut_anywhere_flags_what_was_not_finished() {
    each(|stream, format| {
        let whole = run(format, [&stream.body[..]]).seen();
        for at in (0..stream.body.len()).step_by(step(&stream.body)) {
            let body = &stream.body[..at];
            let cut = run(format, [body]);
            for call in cut.seen() {
                let finished = whole.iter().find(|whole| whole.index == call.index);
                assert!(
                    !call.state.is_usable() || is_vouched(&call, finished),
                    "cut at {at}, the {} call {}({}) looks finished: {:?}",
                    call.state,
                    call.name,
                    call.id,
                    call.raw
                );
            }
            if at % 16 == 0 {
                let bytes = run(format, body.chunks(1));
                cut.assert_same(&bytes, &format!("cut at {at}, byte by byte"));
            }
        }
    });
}

/// It says what the whole stream's call says, or its own text is a whole object that says something.
fn is_vouched(call: &Call, finished: Option<&Call>) -> bool {
    if call.state == CallState::FreeForm {
        return finished.is_some_and(|finished| finished.raw == call.raw);
    }
    let says_something = serde_json::from_str::<Map<String, Value>>(&call.raw)
        .is_ok_and(|object| !object.is_empty());
    // A finish reason is a clean end for a body that sends no terminal (Q61), and blank text is `{}` there (Q43).
    let ended = call.closed_by == ClosedBy::FinishReason && call.raw.trim().is_empty();
    says_something || ended || finished.is_some_and(|finished| finished.object == call.object)
}
