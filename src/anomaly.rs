//! The liberties that streams take, by kind. Every room may name one.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! anomaly_kinds {
    ($($(#[$doc:meta])* $kind:ident = $text:literal,)*) => {
        /// What liberty a stream took.
        ///
        /// # Examples
        ///
        /// ```
        /// use callstitch::AnomalyKind;
        ///
        /// assert_eq!(AnomalyKind::MissingIndex.as_str(), "missing-index");
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        #[non_exhaustive]
        pub enum AnomalyKind {
            $($(#[$doc])* $kind,)*
        }

        impl AnomalyKind {
            /// The kind as one word, as in the command line's output.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(AnomalyKind::$kind => $text,)*
                }
            }
        }
    };
}

anomaly_kinds! {
    /// A call delta without an index, on a wire that should have one.
    MissingIndex = "missing-index",
    /// A negative index, read as none.
    NegativeIndex = "negative-index",
    /// A new call on the index of another one.
    ReusedIndex = "reused-index",
    /// A fragment under a label that no call has: it continues the newest call, or waits for its call.
    UnknownLabel = "unknown-label",
    /// A fragment that could belong to two half-open calls: both are flagged.
    AmbiguousFragment = "ambiguous-fragment",
    /// The id of a call changed on the way; the first is kept.
    DriftingId = "drifting-id",
    /// The id came after the name.
    LateId = "late-id",
    /// Two calls have one id: the later gets a made one.
    SharedId = "shared-id",
    /// No id ever came: one was made.
    MissingId = "missing-id",
    /// The name was sent again with a continuation.
    RepeatedName = "repeated-name",
    /// The name came in pieces.
    NameInPieces = "name-in-pieces",
    /// Another name for a call whose arguments had begun; the first is kept.
    DifferentName = "different-name",
    /// Argument text came before the name.
    LateName = "late-name",
    /// No name ever came.
    MissingName = "missing-name",
    /// `null` in place of argument text.
    NullArguments = "null-arguments",
    /// Argument text for a call that had ended; it is dropped. A second close is nothing.
    LateFragment = "late-fragment",
    /// A start for a block that was open already under the same id.
    RepeatedStart = "repeated-start",
    /// The restated text differs from the deltas.
    RestatedDiffers = "restated-differs",
    /// The text came more than once, or in growing snapshots, and was settled.
    DuplicateText = "duplicate-text",
    /// One call was mirrored under a second index and dropped there.
    MirroredCall = "mirrored-call",
    /// The message was begun again in the middle.
    RestartedMessage = "restarted-message",
    /// The last event had no end, but was whole.
    UnterminatedTail = "unterminated-tail",
    /// An event could not be decoded.
    UndecodableEvent = "undecodable-event",
    /// An event held bytes that are not UTF-8.
    LossyUtf8 = "lossy-utf8",
    /// A string of an event held a control character that was not escaped.
    RawControl = "raw-control",
    /// Text between events.
    StrayText = "stray-text",
    /// Half of a character whose other half never came.
    LoneSurrogate = "lone-surrogate",
    /// The finish reason says that the calls are done, and this one was cut.
    LyingFinish = "lying-finish",
}

impl fmt::Display for AnomalyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
