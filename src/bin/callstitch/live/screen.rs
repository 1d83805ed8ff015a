//! A region of rows at the foot of the terminal that is drawn anew, and what scrolls away above it.
//!
//! Nothing of the terminal's state is changed (no raw mode, no other screen, no hidden cursor), so that there is nothing to
//! restore, however the command ends.

use std::io::{self, Write};

use crossterm::cursor::{MoveToColumn, MoveUp};
use crossterm::queue;
use crossterm::terminal::{BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate};

use super::line::Line;

/// How large a terminal is taken to be that does not say.
const USUAL: (usize, usize) = (80, 24);

pub(crate) struct Screen<W> {
    out: W,
    colour: bool,
    /// Whether the cursor may be moved: not on a dumb terminal.
    moves: bool,
    /// The widths of the rows drawn last, which are still to be drawn over.
    drawn: Vec<usize>,
}

impl<W: Write> Screen<W> {
    pub(crate) fn new(out: W, colour: bool, moves: bool) -> Self {
        Screen {
            out,
            colour,
            moves,
            drawn: Vec::new(),
        }
    }

    /// Columns and rows that may be used. The last column is left alone: terminals differ in what a full row does.
    pub(crate) fn size(&self) -> (usize, usize) {
        let (columns, rows) = match crossterm::terminal::size() {
            Ok((columns, rows)) if columns > 0 && rows > 0 => (columns.into(), rows.into()),
            _ => USUAL,
        };
        (
            columns.saturating_sub(1).max(1),
            rows.saturating_sub(1).max(1),
        )
    }

    /// Whether drawing anew is possible.
    pub(crate) fn moves(&self) -> bool {
        self.moves
    }

    pub(crate) fn colour(&self) -> bool {
        self.colour
    }

    /// Writes lines for good, and the live rows below them in place of those drawn before.
    pub(crate) fn draw(&mut self, done: Vec<Line>, live: Vec<Line>) -> io::Result<()> {
        let (columns, _) = self.size();
        self.draw_at(columns, done, live)
    }

    fn draw_at(&mut self, columns: usize, done: Vec<Line>, live: Vec<Line>) -> io::Result<()> {
        let mut rows = Vec::new();
        for line in done {
            line.wrap(columns, &mut rows);
        }
        if !self.moves {
            for row in &rows {
                row.write(self.colour, &mut self.out)?;
                self.out.write_all(b"\n")?;
            }
            return self.out.flush();
        }
        queue!(self.out, BeginSynchronizedUpdate)?;
        let over = self.height_drawn(columns);
        if over > 1 {
            queue!(
                self.out,
                MoveUp(u16::try_from(over - 1).unwrap_or(u16::MAX))
            )?;
        }
        // Rows are drawn over one by one: some terminals keep in their history what is cleared at once.
        let written = rows.len() + live.len().max(1);
        for (at, row) in rows.iter().chain(&live).enumerate() {
            queue!(self.out, MoveToColumn(0))?;
            row.write(self.colour, &mut self.out)?;
            queue!(self.out, Clear(ClearType::UntilNewLine))?;
            if at + 1 < written {
                self.out.write_all(b"\n")?;
            }
        }
        if live.is_empty() {
            queue!(self.out, MoveToColumn(0), Clear(ClearType::UntilNewLine))?;
        }
        let surplus = over.saturating_sub(written);
        for _ in 0..surplus {
            self.out.write_all(b"\n")?;
            queue!(self.out, Clear(ClearType::CurrentLine))?;
        }
        if surplus > 0 {
            queue!(self.out, MoveUp(u16::try_from(surplus).unwrap_or(u16::MAX)))?;
        }
        self.drawn = live.iter().map(Line::width).collect();
        queue!(self.out, EndSynchronizedUpdate)?;
        self.out.flush()
    }

    /// Text that another crate has laid out, below everything else.
    pub(crate) fn print(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{text}")
    }

    /// How many rows of the terminal the live rows take by now: one that became narrower has wrapped them, one that became
    /// wider has not joined them.
    fn height_drawn(&self, columns: usize) -> usize {
        let height = |width: &usize| width.div_ceil(columns + 1).max(1);
        self.drawn.iter().map(height).sum()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used)]
    use super::*;
    use crate::live::line::Tone;

    fn line(text: &str) -> Line {
        Line::default().with(Tone::Plain, text)
    }

    /// What a terminal of so many columns shows after two drawings.
    fn drawn(moves: bool, columns: [usize; 2]) -> String {
        let mut screen = Screen::new(Vec::new(), false, moves);
        let [first, then] = columns;
        let live = vec![line("twelve chars"), line("b")];
        screen
            .draw_at(first, vec![line("done")], live)
            .expect("memory");
        screen
            .draw_at(then, vec![line("c")], vec![])
            .expect("memory");
        String::from_utf8(screen.out).expect("text")
    }

    #[test]
    fn live_rows_are_drawn_over_and_nothing_is_cleared_at_once() {
        let shown = drawn(true, [20, 20]);
        assert!(shown.contains("\u{1b}[1A\u{1b}[1Gc\u{1b}[K\n\u{1b}[1G\u{1b}[K"));
        assert!(!shown.contains("\u{1b}[J"));
    }

    #[test]
    fn rows_that_a_narrower_terminal_wrapped_are_counted_as_it_shows_them() {
        let shown = drawn(true, [20, 5]);
        assert!(
            shown.contains("\u{1b}[2A\u{1b}[1Gc\u{1b}[K\n\u{1b}[1G\u{1b}[K\n\u{1b}[2K\u{1b}[1A")
        );
    }

    #[test]
    fn a_terminal_that_cannot_move_gets_lines_only() {
        assert_eq!(drawn(false, [20, 20]), "done\nc\n");
    }
}
