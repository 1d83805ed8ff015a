//! Our history items against the providers' own SDK types, in Python.
//!
//! Needs a Python with the packages `openai` and `anthropic` (and checks more with `google-genai`, `mistralai`, `cohere`, `ollama`
//! and `botocore`): named by `CALLSTITCH_PYTHON`, or in the virtual environment `target/callstitch-python`. Without one the test
//! says so and passes, except under CI.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "common/corpus.rs"]
mod corpus;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use callstitch::history::{HistoryFormat, ToolResult, calls_messages, results_messages};
use callstitch::{Arguments, ToolCall, ToolKind, ToolName};
use serde_json::{Value, json};

/// The Python to ask; `None`, and a line that says so, where there is none.
fn python() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let venv = root.join("target/callstitch-python/bin/python");
    let python = std::env::var_os("CALLSTITCH_PYTHON").map_or(venv, PathBuf::from);
    if python.is_file() {
        return Some(python);
    }
    assert!(
        std::env::var_os("CI").is_none(),
        "no Python with the SDKs under CI: {}",
        python.display()
    );
    println!("skipped: no {}", python.display());
    None
}

/// Calls of every kind: whole, cut, malformed, blank, free text, with ids that some wires refuse, with extras.
fn calls() -> Vec<ToolCall> {
    let call = |id: &str, arguments: Arguments| {
        ToolCall::new(ToolName::new("get_tide").unwrap(), arguments).with_id(id)
    };
    let mut calls = vec![
        call(
            "call_1",
            Arguments::parse(r#"{"port":"Oban","days":[1,2],"deep":{"er":null}}"#),
        ),
        call("Qz81mPw0t", Arguments::parse(r#"{"port":"Ob"#)),
        call("functions.get_tide:0", Arguments::parse("nonsense")),
        call(&"x".repeat(100), Arguments::parse("")),
        call(
            "toolu_1",
            Arguments::free_form("*** Begin Patch".into(), false),
        ),
        ToolCall::new(ToolName::new("get_tide").unwrap(), "{}"),
    ];
    for (key, value) in [
        ("thoughtSignature", json!("c2ln")),
        ("signature", json!("c2ln")),
        (
            "extra_content",
            json!({"google": {"thought_signature": "c2ln"}}),
        ),
        ("caller", json!({"type": "direct"})),
        ("namespace", json!("tides")),
    ] {
        let call = ToolCall::builder()
            .id("call_9")
            .name("get_tide")
            .extra(key, value);
        calls.push(call.metadata("private", "note").build().unwrap());
    }
    for (kind, arguments) in [
        (
            "computer_call",
            json!({"type": "click", "button": "left", "x": 1, "y": 2}),
        ),
        (
            "local_shell_call",
            json!({"type": "exec", "command": ["ls"], "env": {}}),
        ),
        ("shell_call", json!({"commands": ["ls"], "timeout_ms": 5})),
        (
            "apply_patch_call",
            json!({"type": "delete_file", "path": "a"}),
        ),
        ("tool_search_call", json!({"goal": "tides"})),
        ("mcp_approval_request", json!({"quay": 2})),
    ] {
        let call = ToolCall::builder()
            .id("call_n")
            .name("native")
            .arguments(arguments);
        let call = call
            .kind(ToolKind::BuiltIn(kind.into()))
            .server_name(Some("harbour".to_owned()));
        calls.push(call.build().unwrap());
    }
    for (path, format) in corpus::streams().into_iter().flatten() {
        calls.extend(corpus::calls(&path, format));
    }
    calls
}

#[test]
fn the_providers_own_types_take_our_items() {
    let Some(python) = python() else { return };
    let calls = calls();
    let mut lines = Vec::new();
    for format in HistoryFormat::all() {
        let mut line = |what: &str, item: Value| {
            lines.push(json!({"format": format.name(), "what": what, "item": item}));
        };
        for call in &calls {
            let Some(item) = call.to_wire(format) else {
                continue;
            };
            line("call", item);
            for result in [
                ToolResult::text(call, "3.1 m"),
                ToolResult::json(call, json!({"height": 3.1})),
                ToolResult::json(call, json!([1, 2])),
                ToolResult::error(call, "no such port"),
            ] {
                line("result", result.to_wire(format));
            }
        }
        let usable: Vec<_> = calls.iter().take(4).collect();
        let results: Vec<_> = usable
            .iter()
            .map(|call| ToolResult::text(call, "3.1 m"))
            .collect();
        for message in calls_messages(format, usable)
            .into_iter()
            .chain(results_messages(format, &results))
        {
            line("message", message);
        }
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/validate_history.py");
    let mut child = Command::new(python)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    let _ = writer.join().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    assert!(output.status.success(), "{said}");
}
