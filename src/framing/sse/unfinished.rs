//! The bytes of an event that a chunk leaves unfinished, for a second look at them with the next chunk.

use crate::framing::FrameSink;

/// All bytes since the last event ended, while they are few. The machine has read them as far as they are lines; if they turn out
/// to begin an event that the sink knows by its bytes, what was read is dropped, as such an event is read for much less.
#[derive(Debug, Default)]
pub(super) struct Unfinished(Vec<u8>);

/// An event that is longer is read line by line.
const LONGEST: usize = 1024;
/// So many bytes of a chunk are shown with those before it: nearly always the rest of the event.
const SHOWN: usize = 512;

impl Unfinished {
    /// What is left of a chunk at this offset, if the sink took the event that the chunk goes on with.
    #[inline]
    pub(super) fn repeated<'c>(
        &mut self,
        chunk: &'c [u8],
        offset: u64,
        limit: usize,
        sink: &mut impl FrameSink,
    ) -> Option<&'c [u8]> {
        let held = self.0.len();
        if held == 0 {
            return None;
        }
        self.0
            .extend_from_slice(chunk.get(..SHOWN).unwrap_or(chunk));
        let shown = self.0.get(..limit).unwrap_or(&self.0);
        let taken = sink.repeated(shown, offset - held as u64);
        self.0.truncate(held);
        let after = taken.checked_sub(held)?;
        self.0.clear();
        chunk.get(after..)
    }

    /// Notes what a chunk leaves unfinished: its last bytes, so many, or with all of it what was so before.
    #[inline]
    pub(super) fn note(&mut self, chunk: &[u8], last: Option<usize>) {
        if last == Some(0) {
            return self.clear();
        }
        let bytes = match last {
            Some(last) => {
                self.0.clear();
                chunk.get(chunk.len().saturating_sub(last)..)
            }
            None => Some(chunk).filter(|_| !self.0.is_empty()),
        };
        let bytes = bytes.unwrap_or_default();
        if self.0.len() + bytes.len() <= LONGEST {
            self.0.extend_from_slice(bytes);
        } else {
            self.0.clear();
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.0.capacity()
    }
}
