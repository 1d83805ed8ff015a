//! The command on a terminal: a pseudo-terminal of `script`, where there is one.
#![cfg(all(feature = "cli", target_os = "linux"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "common/bodies.rs"]
mod bodies;

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

/// What the command writes on a terminal, and its exit status. `keys` are typed once so much was written.
fn on_a_terminal(
    environment: &[(&str, &str)],
    arguments: &str,
    keys: &[u8],
) -> Option<(String, i32)> {
    let command = format!("{} {arguments}", env!("CARGO_BIN_EXE_callstitch"));
    let spawned = Command::new("script")
        .args(["--quiet", "--return", "--command", &command, "/dev/null"])
        .env_remove("NO_COLOR")
        .env("TERM", "xterm-256color")
        .envs(environment.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut script) = spawned else {
        println!("skipped: there is no `script` to give the command a terminal");
        return None;
    };
    let mut typed = script.stdin.take().unwrap();
    let mut shown = script.stdout.take().unwrap();
    let mut text = Vec::new();
    if !keys.is_empty() {
        // The call is on the screen before anything is typed.
        let mut piece = [0; 4096];
        while !String::from_utf8_lossy(&text).contains("growing") {
            let read = shown.read(&mut piece).unwrap();
            assert!(read > 0, "it ended: {}", String::from_utf8_lossy(&text));
            text.extend_from_slice(&piece[..read]);
        }
        std::thread::sleep(Duration::from_millis(100));
        typed.write_all(keys).unwrap();
        typed.flush().unwrap();
    }
    shown.read_to_end(&mut text).unwrap();
    let status = script.wait().unwrap().code().unwrap();
    Some((String::from_utf8(text).unwrap(), status))
}

fn file(name: &str, body: &str) -> String {
    let path = std::env::temp_dir().join(format!("callstitch-{}-{name}", std::process::id()));
    std::fs::write(&path, body).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The text without its escape sequences.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => {
                let _ = chars.by_ref().skip(1).find(char::is_ascii_alphabetic);
            }
            '\r' => {}
            c => plain.push(c),
        }
    }
    plain
}

#[test]
fn a_call_grows_and_a_summary_follows() {
    let path = file("grows", &bodies::chat_body());
    let Some((text, status)) = on_a_terminal(&[], &format!("--text --pace 40 {path}"), b"") else {
        return;
    };
    assert_eq!(status, 0, "{text}");
    let said = plain(&text);
    for part in [
        "Let me look. 潮",
        "growing",
        "\"Oban\"",
        "Пýтник 😀",
        "The stream ended clean",
        "2 calls",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
    assert!(text.contains("\u{1b}[38;5;"), "in colours");
    for state in ["[?1049h", "[?25l", "[?7l"] {
        assert!(!text.contains(state), "the terminal's state is left alone");
    }
}

#[test]
fn no_color_leaves_no_colour() {
    let path = file("no-color", &bodies::chat_body());
    let Some((text, _)) = on_a_terminal(&[("NO_COLOR", "1")], &path, b"") else {
        return;
    };
    assert!(!text.contains("[38;") && !text.contains("[31m"), "{text:?}");
    assert!(plain(&text).contains("✓ 0 get_tide"));
}

#[test]
fn a_dumb_terminal_gets_lines_without_movements() {
    let path = file("dumb", &bodies::chat_body());
    let environment = [("TERM", "dumb"), ("NO_COLOR", "1")];
    let Some((text, _)) = on_a_terminal(&environment, &path, b"") else {
        return;
    };
    assert!(
        !text.contains("\u{1b}[1G") && !text.contains("[?2026"),
        "{text:?}"
    );
    assert!(plain(&text).contains("The stream ended clean"));
}

#[test]
fn ctrl_c_says_what_is_there_and_flags_it() {
    let open = bodies::chat_open(0, "call_1", "get_tide");
    let rest = bodies::chat_piece(0, "x").repeat(2_000);
    let body = [open, bodies::chat_piece(0, "{\"port\":\"Oban"), rest].concat();
    let path = file("interrupted", &body);
    let Some((text, status)) = on_a_terminal(&[], &format!("--pace 20 {path}"), b"\x03") else {
        return;
    };
    let said = plain(&text);
    assert_eq!(status, 130, "{said}");
    assert!(
        said.contains("truncated") && said.contains("do not run it"),
        "{said}"
    );
    assert!(said.contains("error: transport at byte"), "{said}");
    assert!(said.ends_with("interrupted\n"), "{said}");
}

#[test]
fn a_flagged_call_says_why_in_words() {
    let body =
        bodies::chat_open(0, "call_1", "get_tide") + &bodies::chat_piece(0, "{\"port\":\"Ob");
    let path = file("flagged", &body);
    let Some((text, status)) = on_a_terminal(&[], &path, b"") else {
        return;
    };
    assert_eq!(status, 3);
    let said = plain(&text);
    assert!(
        said.contains("Its arguments were cut after 11 bytes, inside port."),
        "{said}"
    );
    assert!(
        said.contains("The body ended without a terminal signal."),
        "{said}"
    );
}

#[test]
fn a_call_without_a_name_is_called_so_in_the_table_too() {
    let path = "tests/streams/openai-chat/nameless.sse";
    let Some((text, status)) = on_a_terminal(&[], path, b"") else {
        return;
    };
    assert_eq!(status, 3);
    assert_eq!(plain(&text).matches("(no name)").count(), 2, "{text}");
}

#[test]
fn text_of_the_stream_cannot_steer_the_terminal() {
    let body = bodies::chat_text("\u{1b}]0;title\u{7}\u{1b}[2J") + "data: [DONE]\n\n";
    let path = file("steering", &body);
    let Some((text, _)) = on_a_terminal(&[], &format!("--text {path}"), b"") else {
        return;
    };
    assert!(
        !text.contains("\u{1b}]0;") && !text.contains("\u{1b}[2J"),
        "{text:?}"
    );
    assert!(text.contains("\\u001b[2J"));
}

#[test]
fn json_is_json_on_a_terminal_too() {
    let path = file("json", &bodies::chat_body());
    let Some((text, _)) = on_a_terminal(&[], &format!("--json {path}"), b"") else {
        return;
    };
    assert!(text.lines().all(|line| line.starts_with('{')), "{text}");
}

#[test]
fn a_repair_is_shown_as_what_was_sent_and_what_was_read() {
    let path = file("repair", "{\"a\":1,}");
    let Some((text, _)) = on_a_terminal(&[], &format!("arguments {path}"), b"") else {
        return;
    };
    let said = plain(&text);
    assert!(said.contains("- {\"a\":1,}\n+ {\"a\":1}"), "{said}");
}

#[test]
fn completions_and_pages_come_from_the_commands_own_definition() {
    for (arguments, part) in [
        (&["completions", "bash"][..], "--chunk-size"),
        (&["completions", "fish"], "openai-responses"),
        (&["man"], "Examples"),
        (&["man"], "interrupted"),
        (&["man", "arguments"], "callstitch\\-arguments"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_callstitch"))
            .args(arguments)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.success() && text.contains(part),
            "{arguments:?}"
        );
    }
}
