//! Which calls a response has told of: an item is heard of up to four times, under ids that drift, and must be told once.
//!
//! Letter to the next reader. Three hints identify an item, and each of them fails somewhere: `output_index` is missing
//! (llama.cpp) or always 0 (R19), the item id rotates (Copilot), is missing (R6) or differs in the snapshot (R8), and
//! `call_id` drifts between the events (R5). Two hints that agree are the same call; one known id is the same call; an index
//! alone is the same call as long as that call is open. What a caller must never get is one call twice (R7), so a doubtful
//! *restatement* is taken for a known call, while a doubtful *announcement* opens a new one.

use std::collections::{BTreeMap, HashMap};

use crate::delta::Route;

/// The hints of one item.
#[derive(Debug, Clone, Copy)]
pub(super) struct Identity<'a> {
    pub(super) index: Option<i64>,
    pub(super) call_id: &'a str,
    pub(super) item_id: &'a str,
    pub(super) name: &'a str,
}

/// The calls told so far in one response.
#[derive(Default)]
pub(super) struct Seen {
    calls: Vec<Call>,
    /// The newest call under an index.
    by_index: BTreeMap<i64, usize>,
    /// The newest call under a call id or item id, former ones of a drifting id included.
    by_id: BTreeMap<String, usize>,
    /// Two calls were open under one index: a piece is told by its item id first.
    shadowed: bool,
}

/// How many ids are remembered of a call, on the average: where they drift with every event, the index tells whose it is.
const IDS_A_CALL: usize = 16;

/// One call that was told. Absent ids are empty.
struct Call {
    index: Option<i64>,
    call_id: String,
    /// The first item id: the one that the call can be addressed by.
    item_id: String,
    name: String,
    closed: bool,
}

/// Both are there and equal.
fn agree(one: &str, other: &str) -> bool {
    !one.is_empty() && one == other
}

/// Both are there and differ.
fn differ(one: &str, other: &str) -> bool {
    !one.is_empty() && !other.is_empty() && one != other
}

impl Call {
    fn index_differs(&self, who: &Identity<'_>) -> bool {
        matches!((self.index, who.index), (Some(held), Some(sent)) if held != sent)
    }

    /// Whether an announcement announces this call again.
    fn is_announced_by(&self, who: &Identity<'_>) -> bool {
        if !self.call_id.is_empty() && !who.call_id.is_empty() {
            // Servers that number their ids anew may use one for two calls, each under an index of its own.
            return self.call_id == who.call_id
                && (!self.index_differs(who) || agree(&self.item_id, who.item_id));
        }
        if !self.item_id.is_empty() && !who.item_id.is_empty() {
            return self.item_id == who.item_id && !self.index_differs(who);
        }
        self.index.is_some()
            && self.index == who.index
            && !self.closed
            && !differ(&self.name, who.name)
    }
}

impl Seen {
    fn call(&self, at: Option<&usize>) -> Option<(usize, &Call)> {
        at.and_then(|&at| Some((at, self.calls.get(at)?)))
    }

    /// The call that an announcement (`output_item.added`) repeats.
    pub(super) fn announced(&self, who: &Identity<'_>) -> Option<usize> {
        let hints = [
            self.by_id.get(who.call_id),
            self.by_id.get(who.item_id),
            who.index.and_then(|index| self.by_index.get(&index)),
        ];
        let mut found = hints.into_iter().filter_map(|at| self.call(at));
        found
            .find(|(_, call)| call.is_announced_by(who))
            .map(|(at, _)| at)
    }

    /// The call that a restatement (`output_item.done`) restates.
    pub(super) fn restated(&self, who: &Identity<'_>) -> Option<usize> {
        let at_index = self.call(who.index.and_then(|index| self.by_index.get(&index)));
        if let Some((at, call)) = at_index
            && (agree(&call.call_id, who.call_id) || agree(&call.item_id, who.item_id))
        {
            return Some(at);
        }
        let known = self.call(
            self.by_id
                .get(who.call_id)
                .or_else(|| self.by_id.get(who.item_id)),
        );
        if let Some((at, call)) = known {
            // One id for two calls, neither of which was announced.
            let other =
                call.closed && call.index_differs(who) && !agree(&call.item_id, who.item_id);
            return Some(at).filter(|_| !other);
        }
        if let Some((at, call)) = at_index {
            // Both ids may have drifted while it was open; once closed, another id is another call (R19).
            let other = differ(&call.call_id, who.call_id)
                || (who.call_id.is_empty() && differ(&call.item_id, who.item_id));
            return Some(at).filter(|_| !(call.closed && other));
        }
        if who.index.is_some() || !who.call_id.is_empty() || !who.item_id.is_empty() {
            return None;
        }
        let newest = self.calls.len().checked_sub(1);
        self.call(newest.as_ref())
            .filter(|(_, call)| !call.closed && !differ(&call.name, who.name))
            .map(|(at, _)| at)
    }

    /// For each call of a closing snapshot the one that it repeats. An id decides, then the place, then the name in order:
    /// a snapshot that leaves out an item has the others at other places. Each call is repeated once.
    pub(super) fn repeated(&self, snapshot: &[Identity<'_>]) -> Vec<Option<usize>> {
        let mut taken = vec![false; self.calls.len()];
        let mut take = |at: usize| {
            taken
                .get_mut(at)
                .is_some_and(|taken| !std::mem::replace(taken, true))
                .then_some(at)
        };
        let mut found: Vec<Option<usize>> = Vec::with_capacity(snapshot.len());
        for who in snapshot {
            let at_index = self.call(who.index.and_then(|index| self.by_index.get(&index)));
            let at_index = at_index.filter(|(_, call)| {
                agree(&call.call_id, who.call_id) || agree(&call.item_id, who.item_id)
            });
            let by_id = [self.by_id.get(who.call_id), self.by_id.get(who.item_id)]
                .into_iter()
                .flatten()
                .copied();
            found.push(
                at_index
                    .map(|(at, _)| at)
                    .into_iter()
                    .chain(by_id)
                    .find_map(&mut take),
            );
        }
        for (who, found) in snapshot
            .iter()
            .zip(&mut found)
            .filter(|(_, found)| found.is_none())
        {
            let at_index = self.call(who.index.and_then(|index| self.by_index.get(&index)));
            *found = at_index
                .filter(|(_, call)| !differ(&call.name, who.name))
                .and_then(|(at, _)| take(at));
        }
        if found.contains(&None) {
            let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
            for (at, call) in self.calls.iter().enumerate().rev() {
                by_name.entry(&call.name).or_default().push(at);
            }
            for (who, found) in snapshot
                .iter()
                .zip(&mut found)
                .filter(|(_, found)| found.is_none())
            {
                let Some(named) = by_name.get_mut(who.name) else {
                    continue;
                };
                *found = std::iter::from_fn(|| named.pop()).find_map(&mut take);
            }
        }
        found
    }

    /// Notes a call that is told now for the first time: its place, and how it is to be routed. It is opened where a hint
    /// belongs to another call, or where there is none; else it may claim the pieces that came before it (R14).
    pub(super) fn add(&mut self, who: &Identity<'_>) -> (usize, Route) {
        let at = self.calls.len();
        let holder = self
            .call(who.index.and_then(|index| self.by_index.get(&index)))
            .map(|(_, call)| call.closed);
        self.shadowed |= holder == Some(false);
        let known = holder.is_some()
            || self.by_id.contains_key(who.call_id)
            || self.by_id.contains_key(who.item_id);
        let nameless = who.index.is_none() && who.call_id.is_empty() && who.item_id.is_empty();
        self.calls.push(Call {
            index: None,
            call_id: who.call_id.to_owned(),
            item_id: who.item_id.to_owned(),
            name: who.name.to_owned(),
            closed: false,
        });
        if let Some(index) = who.index {
            self.by_index.insert(index, at);
        }
        self.learn(at, who);
        (
            at,
            if known || nameless {
                Route::Opens
            } else {
                Route::Labelled
            },
        )
    }

    /// Notes further hints of a known call.
    pub(super) fn learn(&mut self, at: usize, who: &Identity<'_>) {
        let Some(call) = self.calls.get_mut(at) else {
            return;
        };
        if let (None, Some(index)) = (call.index, who.index)
            && *self.by_index.entry(index).or_insert(at) == at
        {
            call.index = Some(index);
        }
        let fill = [
            (&mut call.item_id, who.item_id),
            (&mut call.call_id, who.call_id),
            (&mut call.name, who.name),
        ];
        for (held, sent) in fill {
            if held.is_empty() {
                sent.clone_into(held);
            }
        }
        for id in [who.call_id, who.item_id] {
            let room = self.by_id.len() < IDS_A_CALL * self.calls.len();
            if !id.is_empty() && room && self.by_id.get(id) != Some(&at) {
                self.by_id.insert(id.to_owned(), at);
            }
        }
    }

    /// How a known call is addressed: its index, as long as no newer call has it, and its item id.
    pub(super) fn address(&self, at: usize) -> (Option<i64>, Option<&str>) {
        let Some(call) = self.calls.get(at) else {
            return (None, None);
        };
        let index = call
            .index
            .filter(|index| self.by_index.get(index) == Some(&at));
        (
            index,
            Some(call.item_id.as_str()).filter(|id| !id.is_empty()),
        )
    }

    /// Whether an index is the label of one known call.
    #[inline]
    pub(super) fn is_label(&self, index: Option<i64>) -> bool {
        !self.shadowed && index.is_some_and(|index| self.by_index.contains_key(&index))
    }

    /// The index of a piece, unless its item id belongs to a call that has another one, or had it taken over.
    pub(super) fn index_of_piece(&self, index: Option<i64>, item_id: &str) -> Option<i64> {
        self.by_id
            .get(item_id)
            .map_or(index, |&at| self.address(at).0)
    }

    /// The call that an event speaks of, by its item id where that is known.
    pub(super) fn spoken_of(&self, index: Option<i64>, item_id: &str) -> Option<usize> {
        let by_index = || self.by_index.get(&index?);
        self.by_id.get(item_id).or_else(by_index).copied()
    }

    /// Whether all was told of a call.
    pub(super) fn is_closed(&self, at: usize) -> bool {
        self.calls.get(at).is_some_and(|call| call.closed)
    }

    /// Notes that all was told of a call.
    pub(super) fn close(&mut self, at: usize) {
        if let Some(call) = self.calls.get_mut(at) {
            call.closed = true;
        }
    }
}
