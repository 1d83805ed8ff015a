//! What the terminal shows of a stream, in the order it came: text, and calls growing or ended.

use std::time::Instant;

use callstitch::{
    CallIndex, CallState, Executor, FaultKind, PartialCall, PartialState, ProblemKind, ToolCall,
    ToolKind,
};

use super::line::{Line, Tone, bytes};
use super::pretty::{Edge, object};
use crate::words;

/// Columns by which what belongs to a call is indented.
const INDENT: usize = 2;

/// One thing in the stream.
#[derive(Debug)]
pub(crate) enum Block {
    Text {
        what: &'static str,
        choice: u32,
        text: String,
        ended: bool,
    },
    Growing {
        index: CallIndex,
        since: Instant,
    },
    Ended(Box<Ended>),
}

/// A call that ended, or was discarded.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) call: ToolCall,
    pub(crate) discarded: bool,
}

impl Block {
    /// Whether nothing about it will change.
    pub(crate) fn is_over(&self) -> bool {
        match self {
            Block::Text { ended, .. } => *ended,
            Block::Growing { .. } => false,
            Block::Ended(_) => true,
        }
    }

    /// The lines; of a growing call those of the live view.
    pub(crate) fn lines(&self, live: Option<&mut PartialCall>) -> Vec<Line> {
        match self {
            Block::Text {
                what, choice, text, ..
            } => prose(what, *choice, text),
            Block::Growing { .. } => live.map(growing).unwrap_or_default(),
            Block::Ended(ended) => finished(ended),
        }
    }
}

fn prose(what: &str, choice: u32, text: &str) -> Vec<Line> {
    let mut head = Line::default().with(Tone::Dim, what);
    if choice > 0 {
        head.push(Tone::Dim, &format!(" of choice {choice}"));
    }
    let tone = if what == "text" {
        Tone::Plain
    } else {
        Tone::Dim
    };
    let mut lines = vec![head];
    lines.extend(
        text.lines()
            .map(|line| Line::indented(INDENT).with(tone, line)),
    );
    lines
}

fn head(mark: Tone, sign: &str, index: CallIndex, name: Option<&str>, id: Option<&str>) -> Line {
    let mut line = Line::default().with(mark, sign);
    line.push(Tone::Dim, &format!(" {index} "));
    match name {
        Some(name) => line.push(Tone::Strong, name),
        None => line.push(Tone::Dim, "(no name yet)"),
    }
    if let Some(id) = id {
        line.push(Tone::Dim, &format!(" {id}"));
    }
    line
}

fn growing(call: &mut PartialCall) -> Vec<Line> {
    let raw_bytes = call.raw().len() as u64;
    let mut head = head(Tone::Warn, "●", call.index(), call.name(), call.id());
    about(&mut head, call.choice(), call.kind(), call.executor(), None);
    head.push(Tone::Warn, " growing");
    head.push(Tone::Dim, &format!(" {}", bytes(raw_bytes)));
    if *call.kind() == ToolKind::Custom {
        let mut lines = vec![head];
        lines.extend(free_text(call.raw()));
        if let Some(last) = lines.last_mut() {
            last.push(Tone::Cursor, " ");
        }
        return lines;
    }
    let view = call.arguments();
    let path = view.open_path();
    let edge = match view.state() {
        PartialState::Closed => Edge::Closed,
        _ => Edge::Growing {
            path: &path,
            held: view.held_back(),
        },
    };
    if let PartialState::Stopped { at } = view.state() {
        head.push(Tone::Bad, &format!(" no JSON from byte {at} on"));
    }
    let mut lines = vec![head];
    if raw_bytes > 0 {
        lines.extend(object(view.object(), edge, INDENT));
    }
    lines
}

fn finished(ended: &Ended) -> Vec<Line> {
    let call = &ended.call;
    let state = call.state();
    let (tone, sign) = match state {
        _ if ended.discarded => (Tone::Dim, "–"),
        CallState::Whole | CallState::FreeForm => (Tone::Good, "✓"),
        CallState::Repaired => (Tone::Warn, "~"),
        _ => (Tone::Bad, "✗"),
    };
    let mut head = head(
        tone,
        sign,
        call.index(),
        Some(words::name(call)),
        Some(call.id()),
    );
    if call.is_synthetic_id() {
        head.push(Tone::Dim, " (id made here)");
    }
    about(
        &mut head,
        call.choice(),
        call.kind(),
        call.executor(),
        call.server_name(),
    );
    head.push(Tone::Plain, " ");
    if ended.discarded {
        head.push(Tone::Dim, "discarded");
    } else if call.is_usable() {
        head.push(tone, state.as_str());
    } else {
        head.push(Tone::Alarm, &format!(" {state} "));
    }
    head.push(
        Tone::Dim,
        &format!(" {}", bytes(call.arguments().raw().len() as u64)),
    );
    let mut lines = vec![head];
    for sentence in words::flags(call) {
        lines.push(Line::indented(INDENT).with(Tone::Bad, &sentence));
    }
    if !call.arguments().repairs().is_empty() {
        let repairs = words::repairs(call.arguments().repairs());
        lines.push(Line::indented(INDENT).with(Tone::Warn, &format!("repaired: {repairs}")));
    }
    lines.extend(arguments(call));
    lines
}

/// What a call is besides an ordinary function call of the client's.
fn about(line: &mut Line, choice: u32, kind: &ToolKind, executor: Executor, server: Option<&str>) {
    if choice > 0 {
        line.push(Tone::Dim, &format!(" choice {choice}"));
    }
    if *kind != ToolKind::Function {
        line.push(Tone::Dim, &format!(" {}", kind.as_str()));
    }
    match executor {
        Executor::Client => {}
        Executor::Provider => line.push(Tone::Dim, " run by the provider"),
        _ => line.push(Tone::Dim, " runner unknown"),
    }
    if let Some(server) = server {
        line.push(Tone::Dim, &format!(" on {server}"));
    }
}

fn arguments(call: &ToolCall) -> Vec<Line> {
    let arguments = call.arguments();
    if call.state() == CallState::FreeForm {
        return free_text(arguments.raw());
    }
    let Some(stated) = arguments.recovered() else {
        return free_text(arguments.raw());
    };
    // A whole object may be flagged for other reasons: text after it, or no sign that it was all.
    let trailing = ProblemKind::Fault(FaultKind::Trailing);
    let edge = match arguments.problem() {
        Some(problem) if problem.kind() != trailing && !words::is_json(arguments.raw()) => {
            Edge::Cut {
                path: problem.open_path(),
                held: arguments.dropped().unwrap_or_default(),
            }
        }
        _ => Edge::Closed,
    };
    let mut lines = object(stated, edge, INDENT);
    if arguments.is_usable() && arguments.fidelity().inexact_integer {
        let note = "A number has more digits than are shown; the text as sent has them.";
        lines.push(Line::indented(INDENT).with(Tone::Dim, note));
    }
    lines
}

fn free_text(text: &str) -> Vec<Line> {
    text.lines()
        .map(|line| Line::indented(INDENT).with(Tone::Text, line))
        .collect()
}
