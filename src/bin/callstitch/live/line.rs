//! Lines of toned text: what is dangerous in a terminal is escaped, what is wide is counted, what is long is wrapped.

use std::io::{self, Write};

use crossterm::style::{ContentStyle, Stylize};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// What a piece of text is, from which its colour follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Strong,
    /// Beside the matter, or not believed yet.
    Dim,
    Key,
    Text,
    Number,
    Literal,
    /// The place where text is being written.
    Cursor,
    Good,
    /// Text that was put in.
    Added,
    Warn,
    Bad,
    /// Bad, and not to be overlooked.
    Alarm,
}

impl Tone {
    fn style(self, colour: bool) -> ContentStyle {
        let plain = ContentStyle::new();
        let style = match self {
            Tone::Plain => plain,
            Tone::Strong => plain.bold(),
            Tone::Dim => plain.dim(),
            Tone::Key => plain.dark_cyan(),
            Tone::Text | Tone::Good => plain.dark_green(),
            Tone::Number => plain.dark_blue(),
            Tone::Literal => plain.dark_magenta(),
            Tone::Cursor => plain.reverse(),
            Tone::Added => plain.dark_green().bold().reverse(),
            Tone::Warn => plain.dark_yellow(),
            Tone::Bad => plain.red(),
            Tone::Alarm => plain.red().bold().reverse(),
        };
        if colour {
            return style;
        }
        ContentStyle {
            attributes: style.attributes,
            ..plain
        }
    }
}

/// One line of text, of any length.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Line {
    pieces: Vec<(Tone, String)>,
    /// How far its continuations are indented.
    hang: usize,
}

impl Line {
    /// An empty line, indented, whose continuations are indented as far.
    pub(crate) fn indented(columns: usize) -> Self {
        Line::hanging(columns).with(Tone::Plain, &" ".repeat(columns))
    }

    /// An empty line whose continuations are indented.
    pub(crate) fn hanging(columns: usize) -> Self {
        Line {
            pieces: Vec::new(),
            hang: columns,
        }
    }

    /// The same line with more text.
    pub(crate) fn with(mut self, tone: Tone, text: &str) -> Self {
        self.push(tone, text);
        self
    }

    /// Appends text. It may hold anything: characters that act on a terminal are shown as escapes.
    pub(crate) fn push(&mut self, tone: Tone, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.pieces.last_mut() {
            Some((last, held)) if *last == tone => push_visible(held, text),
            _ => {
                let mut held = String::with_capacity(text.len());
                push_visible(&mut held, text);
                self.pieces.push((tone, held));
            }
        }
    }

    /// The columns it takes.
    pub(crate) fn width(&self) -> usize {
        self.pieces.iter().map(|(_, text)| text.width()).sum()
    }

    /// The line in rows of at most this many columns: cut after a space where one is near, else between characters as a
    /// reader sees them.
    pub(crate) fn wrap(self, columns: usize, rows: &mut Vec<Line>) {
        if self.width() <= columns {
            return rows.push(self);
        }
        let hang = self.hang.min(columns / 2);
        let clusters = self.pieces.iter().flat_map(|(tone, text)| {
            let clusters = text.graphemes(true);
            clusters.map(|cluster| (*tone, cluster, cluster.width()))
        });
        let clusters: Vec<_> = clusters.collect();
        let mut rest = clusters.as_slice();
        let mut indent = 0;
        while !rest.is_empty() {
            let (row, after) = rest.split_at(row_length(rest, columns - indent));
            let mut line = Line::indented(indent);
            for (tone, cluster, _) in row {
                line.push(*tone, cluster);
            }
            rows.push(line);
            (rest, indent) = (after, hang);
        }
    }

    /// Writes the line without an end.
    pub(crate) fn write(&self, colour: bool, out: &mut impl Write) -> io::Result<()> {
        for (tone, text) in &self.pieces {
            let style = tone.style(colour);
            if style == ContentStyle::new() {
                write!(out, "{text}")?;
            } else {
                write!(out, "{}", style.apply(text))?;
            }
        }
        Ok(())
    }

    /// The text alone.
    pub(crate) fn into_text(self) -> String {
        self.pieces.into_iter().map(|(_, text)| text).collect()
    }

    /// A copy of the text alone.
    #[cfg(test)]
    pub(crate) fn text(&self) -> String {
        self.pieces.iter().map(|(_, text)| text.as_str()).collect()
    }
}

/// How many of the clusters go into a row of this width; at least one.
fn row_length(clusters: &[(Tone, &str, usize)], columns: usize) -> usize {
    let mut used = 0;
    let fitting = clusters
        .iter()
        .take_while(|(_, _, width)| {
            used += width;
            used <= columns
        })
        .count();
    if fitting == clusters.len() {
        return fitting;
    }
    let row = clusters.iter().take(fitting);
    let space = row.rev().position(|(_, cluster, _)| *cluster == " ");
    match space {
        Some(back) if back * 2 < fitting => fitting - back,
        _ => fitting.max(1),
    }
}

/// Appends text with its control and direction characters escaped: a stream may hold anything, and must not steer the
/// terminal.
fn push_visible(to: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '\t' => to.push_str("\\t"),
            '\n' => to.push_str("\\n"),
            '\r' => to.push_str("\\r"),
            c if acts(c) => to.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => to.push(c),
        }
    }
}

/// Whether a character acts on a terminal, or ends a line there: control characters, line ends, and what turns the direction.
pub(crate) fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// `132 B`, `4.1 kB`.
pub(crate) fn bytes(count: u64) -> String {
    match count {
        0..=999 => format!("{count} B"),
        1_000..=999_999 => format!("{:.1} kB", count as f64 / 1e3),
        _ => format!("{:.1} MB", count as f64 / 1e6),
    }
}

/// No colour where the environment says so, with any value but an empty one (no-color.org).
pub(crate) fn colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used)]
    use super::*;

    fn rows(line: Line, columns: usize) -> Vec<String> {
        let mut rows = Vec::new();
        line.wrap(columns, &mut rows);
        rows.iter().map(Line::text).collect()
    }

    #[test]
    fn wide_characters_count_twice_and_are_never_cut() {
        let line = Line::indented(1).with(Tone::Text, "潮汐表👩‍👩‍👧ab");
        assert_eq!(rows(line, 6), [" 潮汐", " 表👩‍👩‍👧a", " b"]);
    }

    #[test]
    fn words_stay_whole_where_a_space_is_near() {
        let line = Line::hanging(2).with(Tone::Plain, "the stream was cut");
        assert_eq!(rows(line, 11), ["the stream ", "  was cut"]);
    }

    #[test]
    fn a_row_narrower_than_a_character_holds_one() {
        let line = Line::default().with(Tone::Text, "潮汐");
        assert_eq!(rows(line, 1), ["潮", "汐"]);
    }

    #[test]
    fn text_cannot_steer_the_terminal() {
        let line = Line::default().with(Tone::Plain, "a\u{1b}[2J\u{9b}\u{202e}b\r");
        assert_eq!(line.text(), "a\\u001b[2J\\u009b\\u202eb\\r");
    }

    #[test]
    fn without_colour_only_weight_is_left() {
        let mut out = Vec::new();
        Line::default()
            .with(Tone::Bad, "x")
            .with(Tone::Strong, "y")
            .write(false, &mut out)
            .expect("memory takes all");
        assert_eq!(String::from_utf8_lossy(&out), "x\u{1b}[1my\u{1b}[0m");
    }
}
