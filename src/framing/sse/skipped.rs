//! Lines that say nothing: of a long one only the beginning is kept.

use super::Sse;
use super::event::Here;
use super::piece::Piece;
use crate::framing::{FrameSink, valid_prefix, without_bom};

/// A line that is longer is asked whether it says anything, by so many of its bytes. The same is asked of a line that lies whole
/// in its chunk: what an event says does not depend on where the chunks end.
pub(super) const SHORT: usize = 1024;

/// A `data` line and what may stand before its value.
pub(super) const DATA: &str = "data: ";

impl Sse {
    /// Keeps a part of the unfinished line, unless the line says nothing and its beginning is enough.
    pub(super) fn keep_part(&mut self, part: &[u8], at: u64, sink: &mut impl FrameSink) {
        if let Some(dropped) = &mut self.dropped {
            *dropped += part.len();
            return;
        }
        let Some(room) = (SHORT + 1)
            .checked_sub(self.carry.len())
            .filter(|room| *room > 0)
        else {
            return self.carry.extend_from_slice(part);
        };
        let (beginning, rest) = part.split_at_checked(room).unwrap_or((part, &[]));
        self.carry.extend_from_slice(beginning);
        if beginning.len() == room && self.says_nothing(&self.carry, at, &Here::default(), sink) {
            self.dropped = Some(rest.len());
        } else {
            self.carry.extend_from_slice(rest);
        }
    }

    /// Whether what follows the beginning of this long line, which stands at this offset, makes no difference.
    pub(super) fn says_nothing(
        &self,
        line: &[u8],
        at: u64,
        here: &Here<'_>,
        sink: &mut impl FrameSink,
    ) -> bool {
        let Some(beginning) = line.get(..SHORT).filter(|_| line.len() > SHORT) else {
            return false;
        };
        let (beginning, _) = without_bom(beginning, at);
        let Some(value) = Piece::unchecked(beginning).after(b"data:") else {
            let mut silent = [b":".as_slice(), b"id:", b"retry:"].into_iter();
            return silent.any(|name| beginning.starts_with(name));
        };
        if self.skipping {
            return true;
        }
        // What is said to be an error is read, whatever it is; and lines of data mean nothing without those before them.
        let is_error = self.exception || self.event_name(here) == Some(b"error");
        let is_first = here.data.is_none() && !self.has_held_data();
        is_first && !is_error && sink.skips(valid_prefix(value.without_space().bytes))
    }
}
