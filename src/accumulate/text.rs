//! Text that is no call's, on its way to the queue.

use super::Accumulator;
use crate::anomaly::AnomalyKind;
use crate::delta::{Fragment, TextKind};
use crate::json::join_halves;

impl Accumulator {
    /// Text that is no call's. The half of a character at the end of one piece waits for the next of its kind.
    pub(super) fn text(&mut self, choice: u32, kind: TextKind, text: Fragment<'_>) {
        if !text.text.is_empty() || text.low.is_some() || text.high.is_some() {
            self.goes_on();
        }
        if self.config.calls_only {
            return;
        }
        let half = self.half.take();
        let lead = match (half, text.low) {
            (Some((of, as_kind, high)), Some(low)) if (of, as_kind) == (choice, kind) => {
                Some(join_halves(high, low))
            }
            (None, None) => None,
            (lost, low) => {
                if let Some((of, as_kind, _)) = lost {
                    self.queue.text(of, as_kind, "\u{fffd}");
                }
                self.anomaly(AnomalyKind::LoneSurrogate, None);
                low.map(|_| char::REPLACEMENT_CHARACTER)
            }
        };
        if let Some(lead) = lead {
            self.queue.text(choice, kind, lead.encode_utf8(&mut [0; 4]));
        }
        if !text.text.is_empty() {
            self.queue.text(choice, kind, text.text);
        }
        self.half = text.high.map(|high| (choice, kind, high));
    }

    /// No text comes any more: a half that waits for its other half is a lone one.
    pub(super) fn end_text(&mut self) {
        if let Some((choice, kind, _)) = self.half.take() {
            self.queue.text(choice, kind, "\u{fffd}");
            self.anomaly(AnomalyKind::LoneSurrogate, None);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::delta::Delta;
    use crate::event::End;

    #[test]
    fn text_after_a_terminal_needs_a_terminal_of_its_own() {
        let text = |text| Delta::Text {
            choice: 0,
            kind: TextKind::Answer,
            text: Fragment::new(text),
        };
        for (deltas, end) in [
            (&[Delta::End, text("")][..], End::Clean),
            (&[Delta::End, Delta::Usage("{}")], End::Clean),
            (&[Delta::End, text("High")], End::Truncated),
            (&[Delta::End, text("High"), Delta::MayEnd], End::Clean),
            (&[Delta::End, text("High"), Delta::End], End::Clean),
        ] {
            for calls_only in [false, true] {
                let config = Config::default().calls_only(calls_only);
                let mut accumulator = Accumulator::new(config);
                deltas.iter().for_each(|delta| accumulator.push(delta));
                accumulator.finish();
                assert_eq!(accumulator.end(), Some(end), "{deltas:?}");
                let is_cut = accumulator
                    .events()
                    .last()
                    .is_some_and(|last| last.is_err());
                assert_eq!(is_cut, end == End::Truncated, "{deltas:?}");
            }
        }
    }
}
