//! `callstitch arguments`: one argument text, what it is, and what was done to it.

use std::io::{self, IsTerminal, Read, Write};

use callstitch::{Arguments, ArgumentsState, Settling};
use serde::Serialize;
use serde_json::{Map, Value};
use similar::{ChangeTag, TextDiff};

use crate::lines::{object, repairs, text};
use crate::live::line::{Line, Tone, colour};
use crate::live::pretty::{Edge, object as pretty};
use crate::live::screen::Screen;
use crate::{ArgumentsArgs, complain, exit, open, unreadable, words};

#[derive(Serialize)]
struct Stated<'a> {
    state: ArgumentsState,
    arguments: Option<&'a Map<String, Value>>,
    repairs: Value,
}

pub(crate) fn run(args: &ArgumentsArgs) -> io::Result<u8> {
    let mut bytes = Vec::new();
    let file = args.file.as_ref();
    open(file)?
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(file, &error))?;
    let settling = Settling {
        repair: args.repair.into(),
        ..Settling::default()
    };
    let arguments = settle(&bytes, &settling);
    let mut out = io::stdout().lock();
    if out.is_terminal() && !args.json {
        Screen::new(out, colour(), false).draw(lines(&arguments), Vec::new())?;
    } else {
        let line = Stated {
            state: arguments.state(),
            arguments: object(&arguments),
            repairs: repairs(&arguments),
        };
        writeln!(out, "{}", text(&line)?)?;
        if let Some(problem) = arguments.problem() {
            complain(&format_args!(
                "arguments are {}: {problem}",
                arguments.state()
            ));
        }
    }
    Ok(if arguments.is_usable() {
        exit::CLEAN
    } else {
        exit::FLAGGED
    })
}

/// Bytes that are no UTF-8 are replaced, which is told. A character that the end of a cut text cuts is left out as half an escape
/// is: it states nothing yet.
fn settle(bytes: &[u8], settling: &Settling) -> Arguments {
    let settle = |bytes| Arguments::settle(String::from_utf8_lossy(bytes).into_owned(), settling);
    let last = bytes.utf8_chunks().last();
    let odd = last.map_or(&[][..], |chunk| chunk.invalid());
    let is_begun = str::from_utf8(odd).is_err_and(|error| error.error_len().is_none());
    let before = bytes.strip_suffix(odd).filter(|_| is_begun);
    let cut = before.map(|before| (before, settle(before)));
    let (read, arguments) = cut
        .filter(|(_, arguments)| arguments.state() == ArgumentsState::Truncated)
        .unwrap_or_else(|| (bytes, settle(bytes)));
    if str::from_utf8(read).is_err() {
        complain(&"bytes that are not UTF-8 were replaced by U+FFFD");
    }
    arguments
}

/// For people: what the text is, what was done to it, and what it states.
fn lines(arguments: &Arguments) -> Vec<Line> {
    let tone = match (arguments.is_usable(), arguments.repairs()) {
        (true, []) => Tone::Good,
        (true, _) => Tone::Warn,
        (false, _) => Tone::Alarm,
    };
    let mut lines = vec![Line::default().with(tone, arguments.state().as_str())];
    if let Some(problem) = arguments.problem() {
        lines.push(Line::default().with(Tone::Bad, &words::problem_in_words(problem)));
    }
    for repair in arguments.repairs() {
        let said = format!("byte {}: {}", repair.at, words::repairs(&[*repair]));
        lines.push(Line::indented(2).with(Tone::Warn, &said));
    }
    if !arguments.repairs().is_empty() {
        lines.extend(diff(arguments.raw().trim_end(), &arguments.to_json()));
    }
    match (arguments.recovered(), arguments.problem()) {
        (Some(stated), None) => lines.extend(pretty(stated, Edge::Closed, 0)),
        (Some(stated), Some(problem)) => {
            let edge = Edge::Cut {
                path: problem.open_path(),
                held: arguments.dropped().unwrap_or_default(),
            };
            lines.extend(pretty(stated, edge, 0));
        }
        (None, _) => {}
    }
    lines
}

/// The most bytes of either text that are compared by characters; comparing is more than linear.
const BY_CHARACTERS: usize = 4096;

/// The text as sent and as read, what differs marked in each.
fn diff(sent: &str, read: &str) -> Vec<Line> {
    let diff = if sent.len().max(read.len()) <= BY_CHARACTERS {
        TextDiff::from_graphemes(sent, read)
    } else {
        TextDiff::from_unicode_words(sent, read)
    };
    let mut sent = Line::hanging(2).with(Tone::Bad, "- ");
    let mut read = Line::hanging(2).with(Tone::Good, "+ ");
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Equal => {
                sent.push(Tone::Dim, change.value());
                read.push(Tone::Dim, change.value());
            }
            ChangeTag::Delete => sent.push(Tone::Alarm, change.value()),
            ChangeTag::Insert => read.push(Tone::Added, change.value()),
        }
    }
    vec![sent, read]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        lines(&Arguments::parse(text))
            .iter()
            .map(Line::text)
            .collect()
    }

    #[test]
    fn a_repair_is_shown_as_sent_and_as_read() {
        assert_eq!(
            shown("{\"a\":1,}"),
            [
                "repaired",
                "  byte 6: trailing comma",
                "- {\"a\":1,}",
                "+ {\"a\":1}",
                "{",
                "  \"a\": 1",
                "}"
            ]
        );
    }

    #[test]
    fn a_cut_text_says_where_and_shows_what_it_left_out() {
        assert_eq!(
            shown("{\"a\":\"x\",\"n\":12"),
            [
                "truncated",
                "Its arguments were cut after 15 bytes.",
                "{",
                "  \"a\": \"x\",",
                "  12…"
            ]
        );
    }

    #[test]
    fn whole_text_is_only_laid_out() {
        assert_eq!(shown("{}"), ["whole", "{}"]);
    }
}
