//! The shared fault cases and the recorded streams, judged as `check/check.py` judges them, under their format and detected,
//! whole and in pieces. What was judged, and what was skipped and why, is printed.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use callstitch::{AnomalyKind, Arguments, CallState, End, Executor, ToolCall, WireFormat};
use serde_json::{Map, Value};
use support::random::Random;
use support::run::{Run, run};
use support::{aws_frames, base64, shared};

/// Formats that cannot be judged yet, and why.
const SKIPPED: &[(&str, &str)] = &[];

/// How many passed, were skipped and failed, for each format.
#[derive(Default)]
struct Report {
    rows: BTreeMap<String, [usize; 3]>,
    skipped: BTreeMap<String, usize>,
    failures: Vec<String>,
}

impl Report {
    fn judge(&mut self, format: &str, name: &str, verdict: impl FnOnce() -> Result<(), String>) {
        let row = self.rows.entry(format.to_owned()).or_default();
        if let Some((_, why)) = SKIPPED.iter().find(|(of, _)| *of == format) {
            row[1] += 1;
            *self.skipped.entry(format!("{format}: {why}")).or_default() += 1;
            return;
        }
        // A broken promise of the library panics in `run`; the other streams are still judged.
        let verdict = std::panic::catch_unwind(std::panic::AssertUnwindSafe(verdict));
        match verdict.unwrap_or_else(|_| Err("the run panicked, see above".to_owned())) {
            Ok(()) => row[0] += 1,
            Err(why) => {
                row[2] += 1;
                self.failures.push(format!("{format} {name}: {why}"));
            }
        }
    }

    #[track_caller]
    fn end(&self, what: &str) {
        for (format, [passed, skipped, failed]) in &self.rows {
            println!("{what} {format}: {passed} passed, {skipped} skipped, {failed} failed");
        }
        for (why, count) in &self.skipped {
            println!("{what} skipped {count}: {why}");
        }
        assert!(!self.rows.is_empty(), "nothing was judged");
        assert!(
            self.failures.is_empty(),
            "{} failed:\n{}",
            self.failures.len(),
            self.failures.join("\n")
        );
    }
}

/// The frames of ConverseStream events written one JSON object a line.
fn event_stream(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let events: Map<String, Value> = serde_json::from_str(line).unwrap();
        for (kind, payload) in events {
            let payload = payload.to_string();
            bytes.extend(if kind.ends_with("Exception") {
                aws_frames::exception(&kind, &payload)
            } else {
                aws_frames::event(&kind, &payload)
            });
        }
    }
    bytes
}

/// The same body in pieces: one way for each call of it.
fn pieces_of(body: &[u8]) -> Vec<(String, Vec<&[u8]>)> {
    let mut ways = vec![("byte by byte".to_owned(), body.chunks(1).collect())];
    for seed in 0..3 {
        let mut random = Random::new(seed);
        let (mut rest, mut pieces) = (body, Vec::new());
        while !rest.is_empty() {
            let (piece, after) = rest.split_at((1 + random.below(200)).min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        ways.push((format!("random cuts with seed {seed}"), pieces));
    }
    ways
}

/// Runs a body under its format and detected, judges both, and asserts that no cut changes anything.
fn everywhere(
    format: WireFormat,
    body: &[u8],
    judge: impl Fn(&Run) -> Result<(), String>,
) -> Result<(), String> {
    for format in [format, WireFormat::Auto] {
        let whole = run(format, [body]);
        judge(&whole).map_err(|why| format!("{format}: {why}"))?;
        for (how, pieces) in pieces_of(body) {
            whole.assert_same(&run(format, pieces), &how);
        }
    }
    Ok(())
}

fn format_of(name: &str) -> Result<WireFormat, String> {
    name.parse()
        .map_err(|_| "this build leaves the format out".to_owned())
}

/// The calls that a client would run, by choice and number.
fn client_calls(run: &Run) -> Vec<&ToolCall> {
    let mut calls: Vec<&ToolCall> = run
        .calls
        .iter()
        .filter(|call| call.executor() != Executor::Provider)
        .collect();
    calls.sort_by_key(|call| (call.choice(), call.index()));
    calls
}

fn object_of(call: &ToolCall) -> Value {
    let object = call.arguments().recovered();
    object.map_or(Value::Null, |object| Value::Object(object.clone()))
}

/// Nothing, or an object without members.
fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(Map::is_empty)
}

fn equal<T: PartialEq + std::fmt::Debug>(what: &str, got: T, expected: T) -> Result<(), String> {
    if got == expected {
        Ok(())
    } else {
        Err(format!("{what} {got:?}, expected {expected:?}"))
    }
}

fn list<'a>(value: &'a Value, member: &str) -> &'a [Value] {
    value[member].as_array().map_or(&[], Vec::as_slice)
}

/// `check.py`'s `judge`, for a case of which one answer is right.
fn judge_case(case: &Value, run: &Run) -> Result<(), String> {
    let expected = &case["expected"];
    let got = client_calls(run);
    let mut wanted: Vec<&Value> = list(expected, "calls").iter().collect();
    wanted.sort_by_key(|call| (call["choice"].as_u64(), call["index"].as_u64()));
    equal("the number of calls is", got.len(), wanted.len())?;
    for (got, wanted) in got.iter().zip(wanted) {
        let choice = wanted["choice"].as_u64().unwrap_or(0);
        equal("choice", u64::from(got.choice()), choice)?;
        if let Some(id) = wanted["id"].as_str() {
            equal("id", got.id(), id)?;
        }
        if let Some(name) = wanted["name"].as_str() {
            equal("name", got.name(), name)?;
        }
        let invalid = wanted["invalid"].as_bool().unwrap_or(false);
        equal("flagged is", !got.is_usable(), invalid)?;
        match wanted["raw"].as_str() {
            Some(raw) => equal("raw", got.arguments().raw(), raw)?,
            None => {
                let object = object_of(got);
                if !(invalid && is_nothing(&object) && is_nothing(&wanted["arguments"])) {
                    equal("arguments", &object, &wanted["arguments"])?;
                }
            }
        }
    }
    equal("end", Some(run.end.as_str()), expected["ends"].as_str())
}

/// The cases of which more than one answer is right, and the answer taken here.
fn judge_lenient(id: &str, run: &Run) -> Option<Result<(), String>> {
    let states: Vec<CallState> = run.calls.iter().map(ToolCall::state).collect();
    let told = |kind| run.count(kind) > 0;
    Some(match id {
        // Both calls could own the text, and both would be well formed with it: neither is believed, both keep their text.
        "oai-index-missing-two-open-then-anonymous" => {
            equal("states", states, vec![CallState::Malformed; 2])
                .and_then(|()| equal("told", told(AnomalyKind::AmbiguousFragment), true))
        }
        // The orphan text is surfaced as a call without a name rather than dropped: somebody's arguments are in it.
        "anth-delta-for-unknown-block" => {
            let unnamed = states.iter().filter(|&&of| of == CallState::Unnamed);
            equal("unnamed calls", unnamed.count(), 1)
                .and_then(|()| equal("calls", states.len(), 2))
                .and_then(|()| equal("told", told(AnomalyKind::UnknownLabel), true))
        }
        _ => return None,
    })
}

#[test]
fn every_fault_case_is_judged_right() {
    let Some(cases) = shared::shared("cases/cases.jsonl") else {
        return;
    };
    let mut report = Report::default();
    for line in cases.lines().filter(|line| !line.trim().is_empty()) {
        let case: Value = serde_json::from_str(line).unwrap();
        let (format, id) = (
            case["format"].as_str().unwrap(),
            case["id"].as_str().unwrap(),
        );
        let text: String = list(&case, "input")
            .iter()
            .map(|text| text.as_str().unwrap())
            .collect();
        if format == "json" {
            report.judge(format, id, || judge_text(&case, &text));
            continue;
        }
        let body = match case["input_b64"].as_array() {
            Some(chunks) => chunks
                .iter()
                .flat_map(|chunk| base64::decode(chunk.as_str().unwrap()))
                .collect(),
            None if format == "bedrock" => event_stream(&text),
            None => text.into_bytes(),
        };
        report.judge(format, id, || {
            everywhere(format_of(format)?, &body, |run| {
                judge_lenient(id, run).unwrap_or_else(|| judge_case(&case, run))
            })
        });
    }
    report.end("cases");
}

/// A case of argument text alone.
fn judge_text(case: &Value, text: &str) -> Result<(), String> {
    let arguments = Arguments::parse(text);
    if case["id"] == "json-number-overflow" {
        // 1e999 has no value that a reader of numbers would get back: it is flagged, and the text is kept.
        return equal("usable is", arguments.is_usable(), false)
            .and_then(|()| equal("raw", arguments.raw(), text));
    }
    let wanted = &list(&case["expected"], "calls")[0];
    let invalid = wanted["invalid"].as_bool().unwrap_or(false);
    equal("flagged is", !arguments.is_usable(), invalid)?;
    let object = arguments.recovered();
    let object = object.map_or(Value::Null, |object| Value::Object(object.clone()));
    if invalid && is_nothing(&object) && is_nothing(&wanted["arguments"]) {
        return Ok(());
    }
    equal("arguments", &object, &wanted["arguments"])
}

/// The wires of the recorded streams, by our names.
fn wire_format(wire: &str) -> Option<&'static str> {
    Some(match wire {
        "openai-chat" => "openai-chat",
        "openai-responses" => "openai-responses",
        "anthropic-messages" => "anthropic",
        "gemini-generate" => "gemini",
        "gemini-interactions" => "gemini-interactions",
        "bedrock-converse" => "bedrock",
        "cohere-v2-chat" => "cohere",
        "ollama-chat" => "ollama",
        _ => return None,
    })
}

/// The bytes of a recorded stream; payloads without framing are framed as `corpus/MANIFEST.md` says.
fn recorded(path: &Path, wire: &str) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    if !path.to_string_lossy().ends_with(".chunks.jsonl") {
        return bytes;
    }
    let text = String::from_utf8(bytes).unwrap();
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let framed: String = match wire {
        "bedrock-converse" => return event_stream(&text),
        "ollama-chat" => lines.map(|line| format!("{line}\n")).collect(),
        _ => lines.map(|line| format!("data: {line}\n\n")).collect(),
    };
    let done = if wire == "openai-chat" {
        support::wire::DONE
    } else {
        ""
    };
    format!("{framed}{done}").into_bytes()
}

/// `check.py`'s judgement of a recorded stream.
fn judge_recorded(expected: &Value, run: &Run) -> Result<(), String> {
    let mut got = client_calls(run);
    got.retain(|call| matches!(call.kind().as_str(), "function" | "custom"));
    let mut wanted: Vec<&Value> = list(expected, "calls")
        .iter()
        .filter(|call| call["state"] != "abandoned")
        .collect();
    wanted.sort_by_key(|call| (call["choice"].as_u64(), call["ordinal"].as_u64()));
    equal("the number of calls is", got.len(), wanted.len())?;
    for (got, wanted) in got.iter().zip(wanted) {
        if let Some(id) = wanted["id"].as_str().filter(|id| !id.is_empty()) {
            equal("id", got.id(), id)?;
        }
        equal("name", Some(got.name()), wanted["name"].as_str())?;
        if wanted["arguments_kind"] == "freeform" {
            equal(
                "raw",
                Some(got.arguments().raw()),
                wanted["arguments"].as_str(),
            )?;
        } else if wanted["state"] == "complete" {
            equal("usable is", got.is_usable(), true)?;
            equal("arguments", &object_of(got), &wanted["arguments_json"])?;
        } else {
            equal("usable is", got.is_usable(), false)?;
            let (stated, recovered) = (object_of(got), &wanted["recovered_without_open_number"]);
            if !(is_nothing(&stated) && is_nothing(recovered)) {
                equal("what the cut call states", &stated, recovered)?;
            }
        }
    }
    // Not asked by check.py, but the recordings know it: abandoned calls, an error, and the assistant's text.
    let abandoned = list(expected, "calls")
        .iter()
        .filter(|call| call["state"] == "abandoned");
    equal("discarded calls", run.discarded.len(), abandoned.count())?;
    if !expected["error"].is_null() {
        equal("end", run.end, End::Error)?;
    }
    if let Some(chars) = expected["text_chars"].as_u64() {
        equal("characters of text", run.text.chars().count() as u64, chars)?;
        let crc = u64::from(aws_frames::crc32(run.text.as_bytes()));
        equal(
            "text's checksum",
            Some(crc),
            checksum(&expected["text_crc32"]),
        )?;
    }
    Ok(())
}

fn checksum(value: &Value) -> Option<u64> {
    value
        .as_u64()
        .or_else(|| u64::from_str_radix(value.as_str()?, 16).ok())
}

#[test]
fn every_recorded_stream_gives_the_recorded_calls() {
    let Some(root) = shared::shared_folder("corpus") else {
        return;
    };
    let mut report = Report::default();
    for file in expected_files(&root) {
        let expected: Value =
            serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let wire = expected["wire"].as_str().unwrap();
        // One recording is no model's stream: the framing's own tests read it.
        let Some(name) = wire_format(wire) else {
            continue;
        };
        let body = file.to_string_lossy();
        let body = Path::new(body.strip_suffix(".expected.json").unwrap());
        let short = body.strip_prefix(&root).unwrap().to_string_lossy();
        report.judge(name, &short, || {
            everywhere(format_of(name)?, &recorded(body, wire), |run| {
                judge_recorded(&expected, run)
            })
        });
    }
    report.end("corpus");
}

fn expected_files(root: &Path) -> Vec<PathBuf> {
    let (mut folders, mut files) = (vec![root.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(".expected.json") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}
