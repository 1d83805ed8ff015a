//! The command: what it prints, what it answers, and that it prints each call the moment it is known.
#![cfg(feature = "cli")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "common/bodies.rs"]
mod bodies;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(30);

/// A running command that is killed if a test leaves it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    fn start(arguments: &[&str]) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_callstitch"))
            .args(arguments)
            .env("RUST_BACKTRACE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        Running(child.unwrap())
    }

    /// The exit code, which must come soon.
    fn code(&mut self) -> i32 {
        let start = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status.code().expect("no signal");
            }
            assert!(start.elapsed() < LIMIT, "it hangs");
            thread::sleep(Duration::from_millis(2));
        }
    }
}

/// What a finished command left.
struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Ran {
    fn lines(&self) -> Vec<Value> {
        self.out
            .lines()
            .map(|line| serde_json::from_str(line).expect("a line is JSON"))
            .collect()
    }
}

fn all_of(mut from: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut text = String::new();
        from.read_to_string(&mut text).unwrap();
        text
    })
}

fn run(arguments: &[&str], stdin: &[u8]) -> Ran {
    let mut running = Running::start(arguments);
    let out = all_of(running.0.stdout.take().unwrap());
    let err = all_of(running.0.stderr.take().unwrap());
    let mut input = running.0.stdin.take().unwrap();
    // A command that does not read is no failure of the test.
    let _ = input.write_all(stdin);
    drop(input);
    Ran {
        code: running.code(),
        out: out.join().unwrap(),
        err: err.join().unwrap(),
    }
}

/// A file that is gone with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let name = format!("callstitch-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, bytes).unwrap();
        Scratch(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn one_call(arguments: &str) -> String {
    bodies::chat_open(0, "call_1", "get_tide")
        + &bodies::chat_piece(0, arguments)
        + &bodies::chat_end()
}

const CHAT: [&str; 2] = ["--format", "openai-chat"];

/// The arguments with the format of our bodies before them.
fn chat<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&CHAT, arguments].concat()
}

// --- lines ---------------------------------------------------------------------------------------------------------------

/// One whole call and the end, to the letter.
const CALL_AND_END: &str = concat!(
    r#"{"index":0,"wire_index":0,"choice":0,"id":"call_1","wire_id":"call_1","synthetic_id":false,"name":"get_tide","kind":"function","executor":"client","server_name":null,"arguments":{"port":"Oban"},"state":"whole","raw":"{\"port\":\"Oban\"}","repairs":[]}"#,
    "\n",
    r#"{"end":"clean","format":"openai-chat","finish_reasons":["tool_calls"],"calls":1,"error":null,"anomalies":[]}"#,
    "\n",
);

#[test]
fn a_call_and_the_end_are_printed_to_the_letter() {
    let body = one_call("{\"port\":\"Oban\"}");
    let file = Scratch::new("letter", body.as_bytes());
    for arguments in [
        vec![],
        vec!["-"],
        vec!["--json"],
        vec!["--json", "-"],
        vec!["--chunk-size", "1"],
        vec!["--chunk-size", "7", "--pace", "0"],
        vec![file.path()],
    ] {
        let ran = run(&chat(&arguments), body.as_bytes());
        assert_eq!(ran.out, CALL_AND_END, "{arguments:?}");
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        let ran = run(
            &[&["calls"][..], &chat(&arguments)].concat(),
            body.as_bytes(),
        );
        assert_eq!((ran.code, ran.out.as_str()), (0, CALL_AND_END));
    }
}

#[test]
fn calls_come_in_the_order_of_emission_with_their_own_labels() {
    let ran = run(&chat(&[]), bodies::chat_body().as_bytes());
    let lines = ran.lines();
    assert_eq!(lines.len(), 3);
    assert_eq!(
        (&lines[0]["index"], &lines[0]["wire_index"]),
        (&json!(0), &json!(0))
    );
    assert_eq!(
        (&lines[1]["index"], &lines[1]["wire_index"]),
        (&json!(1), &json!(3))
    );
    let raw = lines[1]["raw"].as_str().unwrap();
    assert!(
        raw.ends_with("\"at\":12.50}"),
        "the text is printed as it was sent"
    );
    assert_eq!(lines[1]["arguments"]["at"], 12.5);
    assert_eq!(lines[2]["calls"], 2);
    assert_eq!(ran.code, 0);
}

#[test]
fn the_readmes_command_shows_two_calls() {
    let readme = include_str!("../README.md");
    let line = readme
        .lines()
        .find(|line| line.starts_with("cargo run"))
        .unwrap();
    let (_, arguments) = line.split_once(" -- ").unwrap();
    let file = format!("{}/{arguments}", env!("CARGO_MANIFEST_DIR"));
    let ran = run(&[&file], b"");
    let lines = ran.lines();
    assert_eq!(ran.code, 0);
    assert_eq!(
        lines.iter().filter(|line| line["state"] == "whole").count(),
        2
    );
    assert_eq!(lines.last().unwrap()["format"], "openai-chat");
}

#[test]
fn mistral_is_read_and_named() {
    let ran = run(&["--format", "mistral"], one_call("{}").as_bytes());
    assert_eq!(ran.lines()[1]["format"], "mistral");
    assert_eq!(ran.code, 0);
}

#[test]
fn a_truncated_call_says_what_it_still_states_and_the_answer_is_3() {
    let body =
        bodies::chat_open(0, "call_1", "get_tide") + &bodies::chat_piece(0, "{\"port\":\"Ob");
    let ran = run(&chat(&[]), body.as_bytes());
    let lines = ran.lines();
    assert_eq!(lines[0]["state"], "truncated");
    assert_eq!(lines[0]["arguments"], json!({"port": "Ob"}));
    assert_eq!(lines[0]["raw"], "{\"port\":\"Ob");
    assert_eq!(lines[1]["end"], "truncated");
    assert!(
        lines[1]["error"]
            .as_str()
            .unwrap()
            .starts_with("truncated at byte ")
    );
    assert_eq!(ran.code, 3);
    assert_eq!(ran.err.lines().count(), 1);
    assert!(
        ran.err.starts_with("callstitch: truncated at byte "),
        "{}",
        ran.err
    );
}

#[test]
fn a_flagged_call_in_a_clean_stream_answers_3() {
    let ran = run(&chat(&[]), one_call("{\"port\"; \"Oban\"}").as_bytes());
    let lines = ran.lines();
    assert_eq!(
        (&lines[0]["state"], &lines[1]["end"]),
        (&json!("malformed"), &json!("clean"))
    );
    assert_eq!((ran.code, ran.err.as_str()), (3, ""));
}

#[test]
fn an_error_in_the_stream_answers_4_after_what_was_whole() {
    let error = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Over\\nloaded\"}}\n\n";
    let body = bodies::anthropic_start()
        + &bodies::anthropic_call(0, "toolu_1", "get_tide", &["{\"port\":\"Oban\"}"])
        + &bodies::anthropic_open(1, "toolu_2", "get_wind")
        + &bodies::anthropic_piece(1, "{\"mast\":\"Du")
        + error;
    let ran = run(&["--format", "anthropic"], body.as_bytes());
    let lines = ran.lines();
    assert_eq!(
        (&lines[0]["id"], &lines[0]["state"]),
        (&json!("toolu_1"), &json!("whole"))
    );
    assert_eq!(
        (&lines[1]["id"], &lines[1]["state"]),
        (&json!("toolu_2"), &json!("truncated"))
    );
    assert_eq!(
        (&lines[1]["arguments"], &lines[2]["end"]),
        (&json!({"mast": "Du"}), &json!("error"))
    );
    assert!(lines[2]["error"].as_str().unwrap().ends_with("Over loaded"));
    assert_eq!(ran.code, 4);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
}

#[test]
fn an_empty_body_is_truncated() {
    let ran = run(&chat(&[]), b"");
    assert_eq!(ran.lines()[0]["end"], "truncated");
    assert_eq!(ran.code, 3);
}

#[test]
fn events_are_printed_in_order_with_the_end_line_last() {
    let body = bodies::chat_text("Hi.") + &one_call("{}");
    let ran = run(&chat(&["--events"]), body.as_bytes());
    let lines = ran.lines();
    let names: Vec<_> = lines
        .iter()
        .map(|line| line["event"].as_str().unwrap_or("-"))
        .collect();
    assert_eq!(
        names,
        [
            "text",
            "call_started",
            "arguments_delta",
            "finished",
            "call_completed",
            "-"
        ]
    );
    assert_eq!(
        lines[0],
        json!({"event": "text", "choice": 0, "text": "Hi."})
    );
    assert_eq!(
        lines[2],
        json!({"event": "arguments_delta", "index": 0, "text": "{}"})
    );
    assert_eq!(lines[4]["call"]["state"], "whole");
    assert_eq!(lines[5]["end"], "clean");
    assert_eq!(ran.code, 0);
}

#[test]
fn every_line_is_one_line_for_every_reader_of_lines() {
    let name = "get\u{2028}tide";
    let arguments = "{\"a\":\"\u{85}\u{2028}\u{2029}\",\r\n\"b\": 1e400,\t\"\u{2028}\":2}";
    let body = bodies::chat_text("\u{2029}")
        + &bodies::chat_open(0, "call\u{85}1", name)
        + &bodies::chat_piece(0, arguments)
        + &bodies::chat_end();
    for switch in ["--json", "--events"] {
        let ran = run(&chat(&[switch]), body.as_bytes());
        let splits = ['\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
        assert!(!ran.out.contains(splits), "{}", ran.out);
        let lines = ran.lines();
        let call = &lines[lines.len() - 2];
        let call = call.get("call").unwrap_or(call);
        assert_eq!(call["name"], name);
        assert_eq!(call["raw"], arguments);
    }
}

#[test]
fn the_repair_level_is_passed_on() {
    for (arguments, states) in [
        (
            "{\"port\":\"Oban\",}",
            ["malformed", "repaired", "repaired"],
        ),
        (
            "{\"port\" \"Oban\"}",
            ["malformed", "malformed", "repaired"],
        ),
    ] {
        for (level, state) in ["none", "lossless", "guess"].into_iter().zip(states) {
            let code = if state == "repaired" { 0 } else { 3 };
            let ran = run(&chat(&["--repair", level]), one_call(arguments).as_bytes());
            assert_eq!(
                (&ran.lines()[0]["state"], ran.code),
                (&json!(state), code),
                "{level}"
            );
            let ran = run(&["arguments", "--repair", level], arguments.as_bytes());
            assert_eq!(
                (&ran.lines()[0]["state"], ran.code),
                (&json!(state), code),
                "{level}"
            );
        }
    }
}

#[test]
fn one_argument_text_is_read_from_a_file_or_from_standard_input() {
    let whole = "{\"state\":\"whole\",\"arguments\":{\"a\":1.5},\"repairs\":[]}\n";
    let file = Scratch::new("arguments", b"{\"a\":1.50}");
    for arguments in [
        vec!["arguments"],
        vec!["arguments", "-"],
        vec!["arguments", file.path()],
    ] {
        let ran = run(&arguments, b"{\"a\":1.50}");
        assert_eq!(
            (ran.code, ran.out.as_str(), ran.err.as_str()),
            (0, whole, "")
        );
    }
    let ran = run(&["arguments"], b"{\"a\":\"x\",\"b\":12");
    assert_eq!(
        ran.lines()[0],
        json!({"state": "truncated", "arguments": {"a": "x"}, "repairs": []})
    );
    assert_eq!(ran.code, 3);
    assert_eq!(ran.err.lines().count(), 1);
    assert!(
        !ran.err.contains('x'),
        "a message does not show argument text: {}",
        ran.err
    );
}

#[test]
fn bytes_that_are_no_text_are_not_replaced_in_silence() {
    let ran = run(&["arguments"], b"{\"a\":\"\xff\"}");
    assert_eq!(
        (ran.code, &ran.lines()[0]["arguments"]),
        (0, &json!({"a": "\u{fffd}"}))
    );
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    assert!(ran.err.contains("UTF-8"), "{}", ran.err);
}

#[test]
fn call_lines_may_begin_with_a_bom_and_end_with_crlf() {
    let lines = "\u{feff}{\"id\":\"c\",\"name\":\"t\"}\r\n{\"id\":\"d\",\"name\":\"t\"}\r\n";
    let ran = run(&["history", "--to", "anthropic"], lines.as_bytes());
    assert_eq!((ran.code, ran.lines().len(), ran.err.as_str()), (0, 2, ""));
}

#[test]
fn of_event_lines_the_calls_that_ended_are_sent_and_no_others() {
    let deep = "[".repeat(125) + &"]".repeat(125);
    for arguments in [
        "{\"port\":\"Oban\"}",
        &format!("{{\"a\":{deep}}}"),
        "{\"port\":\"Ob",
    ] {
        let body = bodies::chat_text("Hi.") + &one_call(arguments);
        let [calls, events] = ["--json", "--events"].map(|switch| {
            let lines = run(&chat(&[switch]), body.as_bytes());
            run(&["history", "--to", "openai-chat"], lines.out.as_bytes())
        });
        assert_eq!(events.out, calls.out);
        assert_eq!((events.code, &*events.err), (calls.code, ""));
        assert_eq!(events.lines().len(), 1);
    }
    // What was discarded was made again; what only started may never end.
    let line = |event: &str| {
        let call = json!({"id": "call_1", "name": "get_tide", "arguments": {"port": "Oban"}});
        json!({"event": event, "id": "call_1", "name": "get_tide", "call": call}).to_string()
    };
    for event in ["call_started", "call_discarded", "call_resumed"] {
        let ran = run(&["history", "--to", "openai-chat"], line(event).as_bytes());
        assert_eq!((ran.code, &*ran.out, &*ran.err), (0, "", ""), "{event}");
    }
}

#[test]
fn a_character_that_the_end_of_a_cut_text_cuts_is_left_out() {
    for (bytes, stated) in [
        (&b"{\"a\":\"x\xe6\x97"[..], json!({"a": "x"})),
        (b"{\"a\":[\"\xf0\x9f\x98", json!({"a": [""]})),
        (b"{\"a\":1,\"b\xc3", json!({"a": 1})),
        (b"\"{\\\"a\\\":\\\"x\xe6", json!({"a": "x"})),
    ] {
        let ran = run(&["arguments"], bytes);
        let line = &ran.lines()[0];
        assert_eq!((ran.code, &line["state"]), (3, &json!("truncated")));
        assert_eq!(line["arguments"], stated);
    }
    // No cut: what is no character is said to be none.
    for bytes in [&b"{\"a\":1}\xe6"[..], b"\xe6"] {
        let ran = run(&["arguments"], bytes);
        assert!(ran.out.contains("malformed"), "{}", ran.out);
    }
}

// --- what cannot be done -------------------------------------------------------------------------------------------------

#[test]
fn a_file_that_cannot_be_read_answers_1_in_one_line_that_names_it() {
    let folder = std::env::temp_dir();
    let missing = folder.join("callstitch-no-such-file\n.sse");
    for file in [missing.to_str().unwrap(), folder.to_str().unwrap()] {
        for arguments in [
            vec![file],
            vec!["calls", file],
            vec!["arguments", file],
            vec!["history", "--to", "anthropic", file],
        ] {
            let ran = run(&arguments, b"");
            assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{arguments:?}");
            assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
            assert!(ran.err.starts_with("callstitch: "));
            assert!(ran.err.contains(&file.replace('\n', " ")));
        }
    }
}

#[test]
fn a_line_that_cannot_be_read_is_named_with_its_file() {
    let good = &b"{\"id\":\"c\",\"name\":\"t\"}\n\n"[..];
    for bad in [&b"\xff\xfe\n"[..], b"nonsense\n", b"[1]\n", b"{\"id\":"] {
        let lines = Scratch::new("lines.jsonl", &[good, bad].concat());
        let ran = run(&["history", "--to", "anthropic", lines.path()], b"");
        assert_eq!((ran.code, ran.out.lines().count()), (1, 1), "{bad:?}");
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
        let place = format!("callstitch: {}: line 3: ", lines.path());
        assert!(ran.err.starts_with(&place), "{}", ran.err);
    }
    let ran = run(&["history", "--to", "anthropic"], b"nonsense");
    assert!(ran.err.contains("standard input: line 1: "), "{}", ran.err);
}

#[test]
fn what_a_model_named_cannot_write_to_the_terminal() {
    let line =
        json!({"id": "ws\u{1b}[2J", "name": "web\u{1b}]0;x\u{7}\nsearch", "executor": "provider"});
    let ran = run(
        &["history", "--to", "anthropic"],
        line.to_string().as_bytes(),
    );
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    assert!(
        !ran.err.trim_end().contains(char::is_control),
        "{:?}",
        ran.err
    );
    assert!(ran.err.contains("search(ws") && ran.err.contains("anthropic"));
    // Nor can what a server said: some characters are no control characters, and end a line or turn its direction.
    for c in [
        '\u{1b}', '\u{85}', '\u{2028}', '\u{2029}', '\u{202e}', '\u{2066}', '\u{feff}',
    ] {
        let error = json!({"error": {"message": format!("no{c}key")}}).to_string();
        let ran = run(&[], error.as_bytes());
        assert_eq!(ran.code, 4);
        assert_eq!(ran.err, "callstitch: provider at byte 0: no key\n", "{c:?}");
    }
}

#[test]
fn bad_usage_answers_2_in_one_line() {
    for arguments in [
        vec!["--format", "smoke-signals"],
        vec!["--format"],
        vec!["--chunk-size", "0"],
        vec!["--chunk-size", "many"],
        vec!["--repair", "wildly"],
        vec!["--json", "--events"],
        vec!["--no-such-switch"],
        vec!["arguments", "--format", "openai-chat"],
        vec!["one", "two"],
    ] {
        let ran = run(&arguments, b"");
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?}");
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
        assert!(ran.err.starts_with("callstitch: "), "{}", ran.err);
    }
    let ran = run(&["--format", "smoke-signals"], b"");
    assert!(ran.err.contains("smoke-signals") && ran.err.contains("gemini-interactions"));
    // Of one file too many it is said that it is one, and of a subcommand where it stands.
    for arguments in [&["one", "two"][..], &["--json", "calls", "two"]] {
        let ran = run(arguments, b"");
        assert_eq!((ran.code, ran.out.as_str()), (2, ""));
        assert!(
            ran.err.contains("'two'") && ran.err.contains("one file"),
            "{}",
            ran.err
        );
    }
}

#[test]
fn help_and_version_are_no_errors() {
    for switch in ["--help", "--version"] {
        let ran = run(&[switch], b"");
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        assert!(ran.out.contains("callstitch"));
    }
}

// --- pipes ---------------------------------------------------------------------------------------------------------------

#[test]
fn help_breaks_between_words_at_the_width_of_the_terminal() {
    for subcommand in [&["--help"][..], &["-h"], &["history", "--help"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_callstitch"))
            .args(subcommand)
            .env("COLUMNS", "60")
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let (_, options) = text.split_once("Options:").unwrap();
        let (options, _) = options.split_once("Exit status:").unwrap_or((options, ""));
        for line in options.lines() {
            assert!(line.chars().count() <= 60, "{line}");
        }
    }
}

#[test]
fn a_call_is_on_standard_output_while_standard_input_is_still_open() {
    let mut running = Running::start(&["--format", "anthropic"]);
    let mut input = running.0.stdin.take().unwrap();
    let out = running.0.stdout.take().unwrap();
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(out).lines() {
            let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    input
        .write_all(bodies::anthropic_start().as_bytes())
        .unwrap();
    for (number, id) in ["toolu_1", "toolu_2"].into_iter().enumerate() {
        let number = u32::try_from(number).unwrap();
        let call = bodies::anthropic_call(number, id, "get_tide", &["{\"port\":", "\"Oban\"}"]);
        input.write_all(call.as_bytes()).unwrap();
        let line = lines
            .recv_timeout(LIMIT)
            .expect("the call's line comes before the end");
        assert_eq!((&line["id"], &line["state"]), (&json!(id), &json!("whole")));
    }
    assert!(lines.try_recv().is_err(), "the end is not known yet");
    input.write_all(bodies::anthropic_end().as_bytes()).unwrap();
    drop(input);
    assert_eq!(lines.recv_timeout(LIMIT).unwrap()["end"], "clean");
    assert_eq!(running.code(), 0);
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let call =
        |number| bodies::anthropic_call(number, &format!("toolu_{number}"), "get_tide", &["{}"]);
    let body: String = [bodies::anthropic_start()]
        .into_iter()
        .chain((0..900).map(call))
        .collect();
    let mut running = Running::start(&["--format", "anthropic"]);
    drop(running.0.stdout.take());
    let err = all_of(running.0.stderr.take().unwrap());
    let mut input = running.0.stdin.take().unwrap();
    let _ = input.write_all(body.as_bytes());
    drop(input);
    assert_eq!(running.code(), 0);
    assert_eq!(err.join().unwrap(), "");
}

#[test]
fn a_closed_standard_error_is_no_failure_either() {
    let mut running = Running::start(&["--format", "smoke-signals"]);
    drop(running.0.stderr.take());
    assert_eq!(running.code(), 2);
    let mut running = Running::start(&CHAT);
    drop(running.0.stderr.take());
    drop(running.0.stdin.take());
    assert_eq!(running.code(), 3);
    // A note on a call that is left out, too.
    let mut running = Running::start(&["history", "--to", "anthropic"]);
    drop(running.0.stderr.take());
    let mut input = running.0.stdin.take().unwrap();
    let theirs = json!({"id": "ws_1", "name": "web_search", "executor": "provider"});
    input.write_all(theirs.to_string().as_bytes()).unwrap();
    drop(input);
    assert_eq!(running.code(), 0);
}
