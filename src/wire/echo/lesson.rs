//! A document that is parsed in full, to learn from.

use std::ops::Range;

use super::memory::Hole;
use crate::delta::{ArgumentsPart, CallDelta, Delta, DeltaSink, Fragment, Route, Whose};
use crate::framing::Frame;
use crate::json::cursor::{Log, Stop, decode};

/// A document that was parsed in full and said one thing.
pub(super) struct Lesson {
    pub(super) document: String,
    pub(super) event: Option<String>,
    pub(super) said: Whose,
    /// As [`holes`](Lesson::holes) gives them. A document that is learned from is not long.
    holes: Box<[(Range<u32>, Hole)]>,
}

impl Lesson {
    pub(super) fn new(frame: &Frame<'_>, said: Whose, text: Range<usize>, log: &Log) -> Self {
        let bytes = frame.data.as_bytes();
        let quoted = |place: &Range<usize>| {
            place.start.checked_sub(1).and_then(|at| bytes.get(at)) == Some(&b'"')
        };
        let skipped = log.skipped.iter().map(|place| {
            (
                place.clone(),
                if quoted(place) {
                    Hole::SkippedString
                } else {
                    Hole::SkippedNumber
                },
            )
        });
        let integers = log.integers.iter();
        let mut holes: Box<[_]> = skipped
            .chain(integers.map(|place| (place.clone(), Hole::Index)))
            .chain([(text, Hole::Text)])
            .map(|(place, hole)| (place.start as u32..place.end as u32, hole))
            .collect();
        holes.sort_by_key(|(place, _)| place.start);
        Lesson {
            document: frame.data.to_owned(),
            event: frame.event.map(str::to_owned),
            said,
            holes,
        }
    }

    /// Whether this text, which stands in the document as an integer, may be what said the call's index.
    pub(super) fn is_index(&self, text: &str) -> bool {
        matches!(self.said, Whose::Call { index: Some(index), .. } if text.parse() == Ok(index))
    }

    /// The places that may differ, in their order. Any integer that was read may be the index, until two documents differ in it.
    pub(super) fn holes(&self) -> impl ExactSizeIterator<Item = (Range<usize>, Hole)> {
        let holes = self.holes.iter();
        holes.map(|(place, hole)| (place.start as usize..place.end as usize, *hole))
    }
}

/// Passes deltas on and notes whether there was exactly one that a memory can say again.
pub(super) struct Listener<'s> {
    pub(super) sink: &'s mut dyn DeltaSink,
    pub(super) data: &'s str,
    pub(super) heard: Listened,
}

/// The text that was said.
pub(super) enum Piece {
    /// It stands here in the document, as it is.
    At(Range<usize>),
    /// It was decoded.
    Decoded(String),
}

impl Piece {
    /// Where in the document the text stands. A decoded one must be the only text with an escape that says this.
    pub(super) fn place(self, document: &str, log: &Log) -> Option<Range<usize>> {
        let said = match self {
            Piece::At(place) => return Some(place),
            Piece::Decoded(said) => said,
        };
        let mut scratch = Vec::new();
        let mut places = log.escaped.iter().filter(|place| {
            scratch.clear();
            let raw = document.as_bytes().get(place.start..place.end);
            let (_, stop) = decode(raw.unwrap_or_default(), 0, &mut scratch);
            stop == Stop::End && scratch == said.as_bytes()
        });
        places.next().filter(|_| places.next().is_none()).cloned()
    }
}

pub(super) enum Listened {
    Nothing,
    One(Whose, Piece),
    More,
}

impl DeltaSink for Listener<'_> {
    fn delta(&mut self, delta: &Delta<'_>) {
        self.heard = match self.heard {
            Listened::Nothing => self.one(delta).unwrap_or(Listened::More),
            _ => Listened::More,
        };
        self.sink.delta(delta);
    }
}

impl Listener<'_> {
    pub(super) fn one(&self, delta: &Delta<'_>) -> Option<Listened> {
        let (said, text) = match delta {
            Delta::Arguments {
                choice,
                index,
                route,
                text,
            } => (
                Whose::Call {
                    choice: *choice,
                    index: *index,
                    route: *route,
                },
                *text,
            ),
            Delta::Call(call) => {
                let ArgumentsPart::Fragment(text) = call.arguments else {
                    return None;
                };
                let (choice, index, route) = (call.key.choice, call.key.index, call.route);
                let mut bare = CallDelta::new().choice(choice).index(index).route(route);
                bare.arguments = call.arguments;
                if *call != bare || route == Route::Opens {
                    return None;
                }
                (
                    Whose::Call {
                        choice,
                        index,
                        route,
                    },
                    text,
                )
            }
            Delta::Text { choice, kind, text } => (
                Whose::Text {
                    choice: *choice,
                    kind: *kind,
                },
                *text,
            ),
            _ => return None,
        };
        if text.text.is_empty() || text.low.is_some() || text.high.is_some() {
            return None;
        }
        let piece = self
            .place(text)
            .map_or_else(|| Piece::Decoded(text.text.to_owned()), Piece::At);
        Some(Listened::One(said, piece))
    }

    /// Where in the document a text stands, if it stands there as it is, between quotes.
    pub(super) fn place(&self, text: Fragment<'_>) -> Option<Range<usize>> {
        let start = (text.text.as_ptr() as usize).checked_sub(self.data.as_ptr() as usize)?;
        let end = start.checked_add(text.text.len())?;
        let quote = |at: usize| self.data.as_bytes().get(at) == Some(&b'"');
        (quote(start.checked_sub(1)?) && quote(end)).then_some(start..end)
    }
}
