//! Which rows of the blocks a terminal has room for.

use super::line::{Line, Tone};

/// The rows to show in a room of this size: all of them, or of each block its head and its newest rows, the newest blocks
/// first.
pub(crate) fn rows(blocks: Vec<Vec<Line>>, columns: usize, rows: usize) -> Vec<Line> {
    let mut blocks: Vec<Vec<Line>> = blocks
        .into_iter()
        .map(|lines| {
            let mut wrapped = Vec::new();
            for line in lines {
                line.wrap(columns, &mut wrapped);
            }
            wrapped
        })
        .filter(|lines| !lines.is_empty())
        .collect();
    let room = rows.max(1);
    if blocks.iter().map(Vec::len).sum::<usize>() <= room {
        return blocks.concat();
    }
    let mut shown = Vec::new();
    let mut room = room;
    if blocks.len() > room {
        let left_out = blocks.len() + 1 - room;
        blocks.drain(..left_out);
        if blocks.is_empty() {
            left_out_row(left_out, "above", columns, &mut shown);
            return shown;
        }
        left_out_row(left_out, "more above", columns, &mut shown);
        room -= 1;
    }
    // Each block keeps its head; what room is left goes to the newest blocks.
    let mut room = room.saturating_sub(blocks.len());
    let mut kept: Vec<usize> = Vec::new();
    for block in blocks.iter().rev() {
        let tail = (block.len() - 1).min(room);
        room -= tail;
        kept.push(tail);
    }
    for (mut block, tail) in blocks.into_iter().zip(kept.into_iter().rev()) {
        let hidden = block.len() - 1 - tail;
        if hidden > 0 && tail > 0 {
            // The row that says so takes the place of one more.
            block.drain(1..hidden + 2);
            let head = block.drain(..1);
            shown.extend(head);
            left_out_row(hidden + 1, "rows above", columns, &mut shown);
        } else if hidden > 0 {
            block.truncate(1);
        }
        shown.extend(block);
    }
    shown
}

fn left_out_row(count: usize, what: &str, columns: usize, rows: &mut Vec<Line>) {
    let line = Line::indented(2).with(Tone::Dim, &format!("… {count} {what}"));
    let mut wrapped = Vec::new();
    line.wrap(columns, &mut wrapped);
    rows.extend(wrapped.into_iter().take(1));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(name: &str, rows: usize) -> Vec<Line> {
        let name = |row: usize| Line::default().with(Tone::Plain, &format!("{name}{row}"));
        (0..rows).map(name).collect()
    }

    fn shown(blocks: Vec<Vec<Line>>, room: usize) -> Vec<String> {
        rows(blocks, 40, room).iter().map(Line::text).collect()
    }

    #[test]
    fn all_is_shown_where_there_is_room() {
        assert_eq!(
            shown(vec![block("a", 2), block("b", 1)], 3),
            ["a0", "a1", "b0"]
        );
    }

    #[test]
    fn a_tall_block_shows_its_head_and_its_newest_rows() {
        assert_eq!(
            shown(vec![block("a", 9)], 4),
            ["a0", "  … 6 rows above", "a7", "a8"]
        );
    }

    #[test]
    fn the_newest_block_gets_the_room() {
        assert_eq!(
            shown(vec![block("a", 9), block("b", 3)], 5),
            ["a0", "  … 8 rows above", "b0", "b1", "b2"]
        );
        assert_eq!(
            shown(vec![block("a", 9), block("b", 3)], 4),
            ["a0", "b0", "b1", "b2"]
        );
    }

    #[test]
    fn more_blocks_than_rows_leave_the_oldest_out() {
        let blocks = (0..5).map(|at| block(&format!("{at}-"), 2)).collect();
        assert_eq!(shown(blocks, 3), ["  … 3 more above", "3-0", "4-0"]);
    }

    #[test]
    fn never_more_rows_than_there_is_room() {
        for room in 1..12 {
            for tall in 1..6 {
                let blocks = (0..tall).map(|at| block("x", at + 1)).collect();
                assert!(
                    shown(blocks, room).len() <= room,
                    "{tall} blocks in {room} rows"
                );
            }
        }
    }
}
