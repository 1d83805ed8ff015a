//! A message whose start came twice: it goes on, or it begins again (WIRE_FORMATS A4, 11.5.7).

use crate::anomaly::AnomalyKind;
use crate::delta::{Delta, DeltaSink};

/// ```text
///           the start again            an index is used again
///   Once ─────────────────────▶ Twice ────────────────────────▶ all begins again
///     ▲        anything else      │
///     └───────────────────────────┘ it goes on
/// ```
#[derive(Default)]
pub(crate) struct Reopened {
    twice: bool,
    /// The highest index of what began.
    highest: Option<i64>,
}

impl Reopened {
    /// The message was opened, for the second time perhaps.
    pub(crate) fn open(&mut self, twice: bool) {
        self.twice = twice;
    }

    /// Whether what begins under this index, and did not begin before, tells that all begins again.
    pub(crate) fn begins_again(&self, index: Option<i64>) -> bool {
        self.twice && index <= self.highest
    }

    /// Something begins under this index.
    pub(crate) fn begin(&mut self, index: Option<i64>, sink: &mut dyn DeltaSink) {
        self.go_on(sink);
        self.highest = self.highest.max(index);
    }

    /// What came shows that the message goes on: it was only its start that came twice.
    pub(crate) fn go_on(&mut self, sink: &mut dyn DeltaSink) {
        if std::mem::take(&mut self.twice) {
            sink.delta(&Delta::Anomaly(AnomalyKind::RestartedMessage));
        }
    }
}
