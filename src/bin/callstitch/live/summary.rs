//! The end of a stream for people: a table of its calls, and what the stream itself was like.

use std::io::{self, Write};
use std::time::Duration;

use callstitch::{End, ToolCall, ToolCallParser, WireFormat};
use comfy_table::{
    Attribute, Cell, Color, ContentArrangement, LineStyle, Table, TableStyle, presets,
};

use super::View;
use super::line::{Line, Tone, bytes};
use super::screen::Screen;
use crate::words;

/// Narrower terminals get the columns that matter most, wider ones all.
const NARROW: usize = 60;
const WIDE: usize = 110;
/// Seconds below which a rate says nothing.
const MEASURABLE: f64 = 0.01;

/// No lines but one under the header.
const RULED_HEADER: TableStyle =
    presets::NOTHING.header_separator(LineStyle::none().fill('─').junction('─'));

pub(super) fn print<W: Write>(
    view: &View,
    parser: &ToolCallParser,
    screen: &mut Screen<W>,
) -> io::Result<()> {
    if !view.calls.is_empty() {
        screen.print(&table(view, screen.size().0, screen.colour()))?;
    }
    screen.draw(words_of(view, parser), Vec::new())
}

fn table(view: &View, columns: usize, colour: bool) -> String {
    let mut table = Table::new();
    table
        .load_style(RULED_HEADER)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(columns).unwrap_or(u16::MAX));
    if colour {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    let rates: Vec<String> = view.calls.iter().map(rate).collect();
    let notes: Vec<String> = view
        .calls
        .iter()
        .map(|(call, _)| notes(view, call))
        .collect();
    let with_rates = columns >= WIDE && rates.iter().any(|rate| !rate.is_empty());
    let with_notes = columns >= NARROW && notes.iter().any(|note| !note.is_empty());
    let mut header = vec!["#", "tool", "state", "size"];
    header.extend((columns >= WIDE).then_some("id"));
    header.extend(with_rates.then_some("rate"));
    header.extend((columns >= NARROW).then_some("closed by"));
    header.extend(with_notes.then_some("notes"));
    table.set_header(header);
    for (((call, _), rate), notes) in view.calls.iter().zip(rates).zip(notes) {
        let mut row = vec![
            Cell::new(call.index()),
            Cell::new(shown(words::name(call))),
            state(call),
            Cell::new(bytes(call.arguments().raw().len() as u64)),
        ];
        row.extend((columns >= WIDE).then(|| Cell::new(shown(call.id()))));
        row.extend(with_rates.then(|| Cell::new(rate)));
        let evidence = || Cell::new(shown(&words::evidence(call.evidence())));
        row.extend((columns >= NARROW).then(evidence));
        row.extend(with_notes.then(|| Cell::new(notes)));
        table.add_row(row);
    }
    table.to_string()
}

/// How fast the arguments came; nothing for a call that came at once.
fn rate((call, took): &(ToolCall, Duration)) -> String {
    let seconds = took.as_secs_f64();
    if seconds < MEASURABLE {
        return String::new();
    }
    let size = call.arguments().raw().len() as f64;
    format!("{}/s", bytes((size / seconds) as u64))
}

fn state(call: &ToolCall) -> Cell {
    let cell = Cell::new(call.state());
    match (call.is_usable(), call.arguments().repairs()) {
        (true, []) => cell.fg(Color::Green),
        (true, _) => cell.fg(Color::Yellow),
        (false, _) => cell.fg(Color::Red).add_attribute(Attribute::Bold),
    }
}

/// Repairs, and the anomalies that concern the call.
fn notes(view: &View, call: &ToolCall) -> String {
    let mut notes: Vec<String> = view
        .anomalies
        .iter()
        .filter(|anomaly| anomaly.call == Some(call.index()))
        .map(|anomaly| words::times(anomaly.kind.as_str(), 1))
        .collect();
    let repairs = call.arguments().repairs();
    if !repairs.is_empty() {
        notes.push(format!("repaired: {}", words::repairs(repairs)));
    }
    notes.join(", ")
}

/// Text of the stream's, made harmless for a terminal.
fn shown(text: &str) -> String {
    Line::default().with(Tone::Plain, text).into_text()
}

fn words_of(view: &View, parser: &ToolCallParser) -> Vec<Line> {
    let end = parser.end().unwrap_or(End::Truncated);
    let tone = match end {
        End::Clean => Tone::Good,
        End::Truncated => Tone::Warn,
        End::Error => Tone::Bad,
    };
    let mut first = Line::hanging(2).with(tone, words::end(end));
    let format = parser.format().map_or("unknown format", WireFormat::name);
    let mut facts = vec![format.to_owned(), words::count(view.calls.len(), "call")];
    match view.flagged() {
        0 => {}
        flagged => facts.push(format!("{flagged} flagged")),
    }
    if !view.finish_reasons.is_empty() {
        facts.push(format!("finish reason {}", view.finish_reasons.join(", ")));
    }
    let (read, seconds) = (parser.offset(), view.began.elapsed().as_secs_f64());
    facts.push(bytes(read));
    if seconds >= MEASURABLE {
        let rate = bytes((read as f64 / seconds) as u64);
        facts.push(format!("{seconds:.2} s ({rate}/s)"));
    }
    first.push(Tone::Dim, &format!(" · {}", facts.join(" · ")));
    let mut lines = vec![first];
    if let Some(error) = &view.error {
        lines.push(Line::default().with(Tone::Alarm, &format!("error: {error}")));
    }
    if !parser.anomalies().is_empty() {
        let said: Vec<String> = parser
            .anomalies()
            .iter()
            .map(|(kind, count)| words::times(kind.as_str(), *count))
            .collect();
        lines.push(
            Line::hanging(2).with(Tone::Warn, &format!("liberties taken: {}", said.join(", "))),
        );
    }
    lines
}
