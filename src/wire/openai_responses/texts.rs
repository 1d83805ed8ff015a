//! Which texts of a response were told: each comes up to four times, as pieces, as a part, with its item and with the response.

use std::collections::HashMap;

use smallvec::SmallVec;

use crate::delta::TextKind;

/// What told a text: pieces are told as they come, and a whole text only where what it repeats was not told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Piece,
    /// The `.done` event of one part.
    Part,
    /// The finished item, or the response that the terminal embeds.
    Item,
}

/// How many texts are remembered. Of more than any response has, the pieces are told and no repetition is.
const ITEMS: usize = 1024;

/// Which texts were told, by their item.
#[derive(Default)]
pub(super) struct Told {
    by_item: HashMap<(TextKind, Option<i64>), Source>,
    /// The newest entry, where it is one of pieces: they come in long runs.
    newest: Option<(TextKind, Option<i64>)>,
    kinds: SmallVec<[TextKind; 4]>,
}

pub(super) const TEXT_KINDS: [TextKind; 4] = [
    TextKind::Reasoning,
    TextKind::Signature,
    TextKind::Answer,
    TextKind::Refusal,
];

impl Told {
    /// An item that is no call begins: what was told under its index was of another one (R19).
    pub(super) fn begin_item(&mut self, index: Option<i64>) {
        self.newest = None;
        for kind in TEXT_KINDS {
            self.by_item.remove(&(kind, index));
        }
    }

    /// Whether a text is new. If so, it counts as told.
    pub(super) fn may_tell(&mut self, kind: TextKind, index: Option<i64>, source: Source) -> bool {
        let key = (kind, index);
        if source == Source::Piece && self.newest == Some(key) {
            return true;
        }
        if !self.kinds.contains(&kind) {
            self.kinds.push(kind);
        }
        if self.by_item.len() >= ITEMS && !self.by_item.contains_key(&key) {
            return source == Source::Piece;
        }
        match source {
            Source::Piece => {
                self.newest = Some(key);
                self.by_item.insert(key, source);
                true
            }
            // One item can have several parts, each with its own `.done`.
            Source::Part => *self.by_item.entry(key).or_insert(source) == source,
            Source::Item => self.by_item.insert(key, source).is_none(),
        }
    }
    /// The kinds of which anything was told in this response.
    pub(super) fn kinds(&self) -> SmallVec<[TextKind; 4]> {
        self.kinds.clone()
    }
}
