//! Many pieces of text in one word.

use super::fragment::PADDED;
use super::{Delta, DeltaSink, Fragment, Route, TextKind};

/// What a piece of text is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// A call's arguments.
    Call {
        choice: u32,
        index: Option<i64>,
        route: Route,
    },
    /// Text that is no call's.
    Text { choice: u32, kind: TextKind },
}

impl Whose {
    /// The delta that says this piece.
    #[inline]
    pub(crate) fn says(self, text: Fragment<'_>) -> Delta<'_> {
        match self {
            Whose::Call {
                choice,
                index,
                route,
            } => Delta::Arguments {
                choice,
                index,
                route,
                text,
            },
            Whose::Text { choice, kind } => Delta::Text { choice, kind, text },
        }
    }

    /// The same of the call that this index labels, if any is given.
    #[inline]
    pub(crate) fn labelled(mut self, label: Option<i64>) -> Self {
        if let Whose::Call { index, .. } = &mut self {
            *index = label.or(*index);
        }
        self
    }
}

/// One piece of a text that several make. It begins where the one before it ends.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Piece {
    /// Where in the text it ends.
    pub(crate) end: u32,
    /// How far behind the first piece's provider event its own begins.
    pub(crate) behind: u32,
    /// Its call's index, where the pieces are of several calls.
    pub(crate) index: Option<u32>,
}

/// Pieces that follow each other, each from a provider event of its own and none of them empty: short for as many deltas, each
/// after the [`at`](DeltaSink::at) of its event. To say them so costs a fraction of what the deltas cost.
#[derive(Debug, Clone, Copy)]
#[expect(
    unnameable_types,
    reason = "a word between this crate's formats and its accumulator"
)]
pub struct Pieces<'a> {
    pub(crate) whose: Whose,
    /// Where in the body the first piece's provider event begins.
    pub(crate) offset: u64,
    /// All of them, joined. They end between two characters.
    pub(crate) text: &'a str,
    pub(crate) pieces: &'a [Piece],
}

impl<'a> Pieces<'a> {
    /// The text from here to there.
    #[inline]
    pub(crate) fn text(&self, from: usize, to: usize) -> Fragment<'a> {
        Fragment::new(self.text.get(from..to).unwrap_or_default())
    }

    /// The text of this piece, which begins here.
    #[inline]
    pub(crate) fn piece(&self, from: usize, piece: &Piece) -> Fragment<'a> {
        let length = piece.end as usize - from;
        let padded = self.text.get(from..from + PADDED);
        let padded = padded.and_then(|padded| Fragment::padded(padded, length));
        padded.unwrap_or_else(|| self.text(from, piece.end as usize))
    }

    /// Whether each names its call, and not all of them the same.
    pub(crate) fn is_of_several(&self) -> bool {
        let mut indexes = self.pieces.iter().map(|piece| piece.index);
        let first = indexes.next().flatten();
        first.is_some() && indexes.any(|index| index != first)
    }

    #[inline]
    pub(crate) fn offset(&self, piece: &Piece) -> u64 {
        self.offset + u64::from(piece.behind)
    }

    #[inline]
    pub(crate) fn whose(&self, piece: &Piece) -> Whose {
        self.whose.labelled(piece.index.map(i64::from))
    }

    /// Says these of the pieces one by one; the first begins here.
    pub(crate) fn say(
        &self,
        pieces: &[Piece],
        mut from: usize,
        sink: &mut (impl DeltaSink + ?Sized),
    ) {
        for piece in pieces {
            let text = self.text(from, piece.end as usize);
            sink.at(self.offset(piece));
            sink.delta(&self.whose(piece).says(text));
            from = piece.end as usize;
        }
    }
}
