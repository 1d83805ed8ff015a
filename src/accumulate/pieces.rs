//! Many pieces in one word, on their way into their calls.

use super::Accumulator;
use crate::call::{cannot_restate, may_open};
use crate::delta::{Fragment, Piece, Pieces, TextKind, Whose};

impl Accumulator {
    /// Takes pieces as it takes the delta of each. Those that follow each other in one call and need no second thought are taken
    /// as one piece: it leads to the same text and the same event, as pieces that follow each other are one event anyway. Any
    /// other is taken alone.
    pub(super) fn take_pieces(&mut self, pieces: &Pieces<'_>) {
        let (mut rest, mut from) = (pieces.pieces, 0);
        let side_by_side = pieces.is_of_several();
        while !rest.is_empty() {
            if side_by_side {
                (rest, from) = self.take_side_by_side(pieces, rest, from);
            }
            let (taken, to) = one_call(pieces, rest, from);
            let Some((taken, others)) = rest.split_at_checked(taken) else {
                break;
            };
            if !self.take_as_one(pieces, taken, pieces.text(from, to)) {
                pieces.say(taken, from, self);
            }
            (rest, from) = (others, to);
        }
    }

    /// Takes the pieces of calls that arrive side by side, up to the first that needs a second thought; gives those that are left,
    /// and where their text begins. What is the same for all is asked once, and their texts are queued in one go.
    fn take_side_by_side<'p>(
        &mut self,
        pieces: &Pieces<'_>,
        rest: &'p [Piece],
        begin: usize,
    ) -> (&'p [Piece], usize) {
        let Whose::Call { choice, route, .. } = pieces.whose else {
            return (rest, begin);
        };
        let choice = self.choice(choice);
        let (config, Some(slots)) = (&self.config, &mut self.slots) else {
            return (rest, begin);
        };
        let room = config.max_queued_events.saturating_sub(self.queue.len());
        let bytes = config
            .max_total_arguments_bytes
            .saturating_sub(self.arguments_bytes);
        if !route.goes_by_label()
            || !self.state.goes_on()
            || rest.len() > room
            || pieces.text.len() - begin > bytes
            || config.field_events
        {
            return (rest, begin);
        }
        let mut runs = (!config.calls_only).then(|| self.queue.side_by_side(begin));
        let (mut from, mut count) = (begin, 0);
        for piece in rest {
            let text = pieces.piece(from, piece);
            let label = piece.index.map_or(-1, i64::from);
            let slot = slots.labelled(choice, label);
            let slot = slot.and_then(|at| self.calls.get(at));
            let call = slot.and_then(|slot| slot.append_plain(text, config.max_arguments_bytes));
            let Some(call) = call else { break };
            if let Some(runs) = &mut runs {
                runs.begin(call, from);
            }
            (from, count) = (piece.end as usize, count + 1);
        }
        if let Some(runs) = runs {
            runs.end(pieces.text(begin, from).text);
        }
        self.arguments_bytes += from - begin;
        let (taken, left) = rest.split_at_checked(count).unwrap_or((rest, &[]));
        if let Some(last) = taken.last() {
            self.at(pieces.offset(last));
            if let Some(slots) = &mut self.slots {
                slots.continued(choice, last.index.map(i64::from), route);
            }
        }
        (left, from)
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
                let plain = self.state.goes_on()
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

/// How many pieces, of those whose text begins here, can be taken as one: they are of one call, and none but the first could say
/// again what came before it. And where their text ends.
#[inline]
fn one_call(pieces: &Pieces<'_>, rest: &[Piece], from: usize) -> (usize, usize) {
    let Some((first, others)) = rest.split_first() else {
        return (0, from);
    };
    let (mut count, mut to) = (1, first.end as usize);
    for piece in others {
        let end = piece.end as usize;
        let restates =
            || may_open(pieces.text, to) && !cannot_restate(end - to, pieces.text(from, to).text);
        if piece.index != first.index || restates() {
            break;
        }
        (count, to) = (count + 1, end);
    }
    (count, to)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::delta::{ArgumentsPart, CallDelta, Delta, DeltaSink, Route};
    use crate::json::random;

    /// All that is said, texts of one call that follow each other joined, and what is left open.
    fn said(accumulator: &mut Accumulator) -> Vec<String> {
        let mut said: Vec<String> = Vec::new();
        for event in accumulator.events() {
            let event = match event {
                Ok(crate::Event::ArgumentsDelta { index, text }) => {
                    let whose = format!("{index:?} + ");
                    match said.last_mut().filter(|last| last.starts_with(&whose)) {
                        Some(last) => last.push_str(&text),
                        None => said.push(whose + &text),
                    }
                    continue;
                }
                // Without the id, which may have been made here and differ.
                Ok(crate::Event::CallCompleted(call) | crate::Event::CallDiscarded(call)) => {
                    format!(
                        "{:?} {:?} {:?} {}",
                        call.index(),
                        call.evidence().closed_by,
                        call.arguments().state(),
                        call.arguments().raw()
                    )
                }
                other => format!("{other:?}"),
            };
            said.push(event);
        }
        said
    }

    #[test]
    fn pieces_in_one_word_lead_to_what_the_deltas_lead_to() {
        let mut next = random(0xFEED_5EED);
        let parts = [
            "{",
            "}",
            "{}",
            " {",
            "{\"a\":1",
            "{\"a\":1}",
            "\"",
            "\\",
            "x",
            "é",
            "\n",
            "  ",
            "\u{b}",
            "null",
            ",",
            "a longer piece, of more than sixteen bytes",
        ];
        // Texts that say again what came before them, and more.
        let snapshots = [
            "{",
            "{\"a\":",
            " {\"a\":1",
            "{\"a\":1}",
            "{\"a\":1,\"b\":2}",
            " ",
            "}",
        ];
        let rounds = if cfg!(miri) { 50 } else { 20_000 };
        let mut limits = 0;
        for round in 0..rounds {
            let calls = 1 + next(4);
            let mut config = Config::default();
            match next(12) {
                0 => config = config.max_arguments_bytes(20 + next(200)),
                1 => config = config.max_total_arguments_bytes(20 + next(200)),
                2 => config = config.max_queued_events(4 + next(40)),
                3 => config = config.calls_only(true),
                4 => config.field_events = true,
                _ => {}
            }
            let mut both = [Accumulator::new(config.clone()), Accumulator::new(config)];
            for index in 0..calls {
                let id = format!("call_{index}");
                let beginning = ["", "{\"a\":\"", "{", "{}", " "][next(5)];
                for accumulator in &mut both {
                    let call = CallDelta::new()
                        .index(index as i64)
                        .id(&*id)
                        .name("f")
                        .arguments(beginning);
                    accumulator.push(&Delta::Call(call));
                }
            }
            let (parts, most) = if next(3) == 0 {
                (snapshots.as_slice(), 4)
            } else {
                (parts.as_slice(), 30)
            };
            for _ in 0..1 + next(3) {
                let (mut text, mut pieces) = (String::new(), Vec::new());
                for at in 0..1 + next(most) {
                    let part = parts[next(parts.len())];
                    text.push_str(part);
                    let unknown = usize::from(next(50) == 0);
                    pieces.push(Piece {
                        end: text.len() as u32,
                        behind: 10 * at as u32,
                        index: (calls > 1).then(|| next(calls + unknown) as u32),
                    });
                }
                let whose = Whose::Call {
                    choice: 0,
                    index: (calls == 1).then_some(0),
                    route: Route::Table,
                };
                let pieces = Pieces {
                    whose,
                    offset: 1000,
                    text: &text,
                    pieces: &pieces,
                };
                both[0].pieces(pieces);
                // One by one, and on the long way.
                let mut from = 0;
                for piece in pieces.pieces {
                    let index = piece.index.map_or(0, i64::from);
                    let mut delta = CallDelta::new().index(index);
                    delta.arguments =
                        ArgumentsPart::Fragment(pieces.text(from, piece.end as usize));
                    both[1].at(pieces.offset(piece));
                    both[1].push(&Delta::Call(delta));
                    from = piece.end as usize;
                }
                if next(3) == 0 {
                    let [one, other] = &mut both;
                    assert_eq!(said(one), said(other), "round {round}");
                }
            }
            let [one, other] = &mut both;
            for accumulator in [&mut *one, &mut *other] {
                accumulator.push(&Delta::End);
                accumulator.finish();
            }
            let ours = said(one);
            assert_eq!(ours, said(other), "round {round}");
            assert_eq!(one.anomalies(), other.anomalies(), "round {round}");
            limits += usize::from(ours.iter().any(|event| event.contains("Limit")));
        }
        assert!(limits > rounds / 100);
    }
}
