//! Many pieces in one word, on their way into their calls.

use super::{Accumulator, State};
use crate::call::may_open;
use crate::delta::{Fragment, Piece, Pieces, TextKind, Whose};

impl Accumulator {
    /// Takes pieces as it takes the delta of each. Those that follow each other in one call and need no second thought are taken
    /// as one piece: it leads to the same text and the same event, as pieces that follow each other are one event anyway. Any
    /// other is taken alone.
    pub(super) fn take_pieces(&mut self, pieces: &Pieces<'_>) {
        let (mut rest, mut from) = (pieces.pieces, 0);
        while let Some(first) = rest.first() {
            let (mut run, mut to, mut unquoted) = (0, from, true);
            for piece in rest {
                if piece.index != first.index || may_open(pieces.text, to) {
                    break;
                }
                (run, to) = (run + 1, piece.end as usize);
                unquoted &= piece.unquoted;
            }
            if run == 0 {
                to = first.end as usize;
            }
            let (taken, others) = rest.split_at_checked(run.max(1)).unwrap_or((rest, &[]));
            let text = pieces.text(from, to).unquoted(unquoted);
            if run == 0 || !self.take_as_one(pieces, taken, text) {
                pieces.say(taken, from, self);
            }
            (rest, from) = (others, to);
        }
    }

    /// Whether these were taken as one; else nothing was done. What passes a limit, or is told of each piece, is for the piece
    /// alone to find.
    #[inline]
    fn take_as_one(&mut self, pieces: &Pieces<'_>, taken: &[Piece], text: Fragment<'_>) -> bool {
        let Some(last) = taken.last() else {
            return true;
        };
        if self.queue.len() >= self.config.max_queued_events || self.config.field_events {
            return false;
        }
        self.at(pieces.offset(last));
        match pieces.whose(last) {
            Whose::Call {
                choice,
                index,
                route,
            } => self.plain_piece(choice, index, route, text).is_some(),
            Whose::Text { choice, kind } => {
                let plain = self.state != State::Over
                    && self.half.is_none()
                    && kind != TextKind::Signature
                    && !self.config.calls_only;
                if plain {
                    self.queue.text(self.choice(choice), kind, text.text);
                }
                plain
            }
        }
    }
}
