//! The bytes of an event that a chunk leaves unfinished, kept as they are until the next chunk comes.

use crate::framing::FrameSink;

/// All bytes since the last event, while they are few and no line of them says anything. With the next chunk they mostly turn out
/// to begin an event that the sink knows by its bytes, which is read for much less than its lines are.
#[derive(Default)]
pub(super) struct Unfinished(Vec<u8>);

/// Of an event that is longer the lines are read as they come.
pub(super) const LONGEST: usize = 1024;
/// The lines of a chunk are shown together with the bytes before them if they are so few, else as much of them as nearly always
/// is the rest of the event.
const FEW: usize = 1536;
const SHOWN: usize = 512;

impl Unfinished {
    /// How many bytes the sink took, and what of these lines is left, which stand behind what is unfinished; if it took the event
    /// that they go on with. What is unfinished begins at this offset.
    #[inline]
    pub(super) fn repeated<'c>(
        &mut self,
        lines: &'c [u8],
        offset: u64,
        limit: usize,
        sink: &mut impl FrameSink,
    ) -> Option<(usize, &'c [u8])> {
        let held = self.0.len();
        if lines.is_empty() {
            return None;
        }
        let shown = lines.get(..SHOWN).filter(|_| lines.len() > FEW);
        self.0.extend_from_slice(shown.unwrap_or(lines));
        let shown = self.0.get(..limit).unwrap_or(&self.0);
        let taken = sink.repeated(shown, offset);
        self.0.truncate(held);
        let after = lines.get(taken.checked_sub(held)?..)?;
        self.0.clear();
        Some((taken, after))
    }

    pub(super) fn keep(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.0.capacity()
    }
}
