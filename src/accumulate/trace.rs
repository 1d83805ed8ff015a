//! Events of the `tracing` crate, under the target `callstitch`: names, ids, states and counts. Never argument text, text of
//! the answer, or a provider's message. Without the feature `tracing` all of this is nothing.

use super::queue::Queued;
use crate::call::CallIndex;

/// A call began.
#[cfg(feature = "tracing")]
pub(super) fn started(index: CallIndex, name: &str) {
    tracing::debug!(target: "callstitch", index = index.get(), name, "call started");
}

/// Something happened that is no text.
#[cfg(feature = "tracing")]
pub(super) fn queued(event: &Queued) {
    match event {
        Queued::Completed(call) | Queued::Discarded(call) => {
            let (index, name, id) = (call.index().get(), call.name(), call.id());
            let state = call.state().as_str();
            let bytes = call.arguments().raw().len();
            match event {
                Queued::Discarded(_) => {
                    tracing::debug!(target: "callstitch", index, name, id, "call discarded");
                }
                _ if call.is_usable() => {
                    tracing::debug!(target: "callstitch", index, name, id, state, bytes, "call completed");
                }
                _ => {
                    tracing::warn!(target: "callstitch", index, name, id, state, bytes, "call flagged");
                }
            }
        }
        Queued::Anomaly(anomaly) => {
            let (kind, index) = (anomaly.kind.as_str(), anomaly.call.map(CallIndex::get));
            tracing::debug!(target: "callstitch", kind, index, offset = anomaly.offset, "anomaly");
        }
        Queued::Finished(choice, reason) => {
            tracing::debug!(target: "callstitch", choice, meaning = ?reason.meaning, "finish reason");
        }
        Queued::Error(error) => {
            let kind = error.kind().as_str();
            tracing::warn!(target: "callstitch", kind, offset = error.offset(), "stream ended in an error");
        }
        Queued::Started { .. }
        | Queued::Run { .. }
        | Queued::Field { .. }
        | Queued::FieldText { .. }
        | Queued::Usage(_) => {}
    }
}

/// Nothing, in place of the above.
#[cfg(not(feature = "tracing"))]
#[inline]
pub(super) fn started(_: CallIndex, _: &str) {}

/// Nothing, in place of the above.
#[cfg(not(feature = "tracing"))]
#[inline]
pub(super) fn queued(_: &Queued) {}
