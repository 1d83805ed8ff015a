//! Whether a body is of the format that was named for it.
//!
//! A decoder passes over what it does not know. One that reads a body of another format is silent from its beginning to its
//! end, and `[DONE]` ends every wire well: that nothing was said must not look like an answer without calls. So the first
//! frames are asked what they are of, until the decoder has said anything.

use crate::delta::{Delta, DeltaSink, Pieces};
use crate::framing::Frame;
use crate::wire::{Decoder, Detector, Verdict, WireFormat};

/// ```text
///   Open ── a frame of the format, something said, enough frames ──▶ Settled
///     └──── a frame of another format ──▶ Foreign ── something said ──▶ Settled
/// ```
#[derive(Debug, Clone, Copy)]
pub(crate) enum Doubt {
    /// Nothing was said yet, and so many frames more are asked.
    Open { named: WireFormat, frames: u8 },
    /// Nothing was said yet, and the frame at this offset is of another format.
    Foreign {
        named: WireFormat,
        other: WireFormat,
        offset: u64,
    },
    /// The body is of the format that was named, or cannot be told.
    Settled,
}

/// A body tells its format in its first frames, or never.
const FRAMES: u8 = 8;

impl Doubt {
    /// At the beginning of a body that is to be of this format; there is none where no format was named.
    pub(crate) fn of(named: Option<WireFormat>) -> Self {
        let frames = FRAMES;
        named.map_or(Doubt::Settled, |named| Doubt::Open { named, frames })
    }

    /// Whether nothing is asked any more.
    #[inline]
    pub(crate) fn is_settled(&self) -> bool {
        matches!(self, Doubt::Settled)
    }

    /// Gives a frame to the decoder, and listens.
    #[cold]
    pub(crate) fn decode(
        &mut self,
        frame: Frame<'_>,
        decoder: &mut dyn Decoder,
        sink: &mut dyn DeltaSink,
    ) {
        let mut listening = Listening { sink, heard: false };
        decoder.decode(frame, &mut listening);
        *self = match *self {
            _ if listening.heard => Doubt::Settled,
            Doubt::Open { named, frames } => match Detector::default().decide(frame) {
                Verdict::Format(other) if named.reads(other) => Doubt::Settled,
                Verdict::Format(other) => Doubt::Foreign {
                    named,
                    other,
                    offset: frame.offset,
                },
                Verdict::Wait => frames
                    .checked_sub(1)
                    .map_or(Doubt::Settled, |frames| Doubt::Open { named, frames }),
            },
            known => known,
        };
    }

    /// Where the body showed that it is of another format, and what to say of it.
    pub(crate) fn problem(&self) -> Option<(u64, String)> {
        let Doubt::Foreign {
            named,
            other,
            offset,
        } = self
        else {
            return None;
        };
        let message = format!("the body is of the format {other}, not of {named}");
        Some((*offset, message))
    }
}

/// Hears whether a decoder says anything of an answer.
struct Listening<'s> {
    sink: &'s mut dyn DeltaSink,
    heard: bool,
}

impl DeltaSink for Listening<'_> {
    fn delta(&mut self, delta: &Delta<'_>) {
        self.heard |= !matches!(
            delta,
            Delta::Usage(_)
                | Delta::End
                | Delta::MayEnd
                | Delta::CloseAll { .. }
                | Delta::Anomaly(_)
                | Delta::Stray { .. }
        );
        self.sink.delta(delta);
    }

    fn at(&mut self, offset: u64) {
        self.sink.at(offset);
    }

    fn pieces(&mut self, pieces: Pieces<'_>) {
        self.heard = true;
        self.sink.pieces(pieces);
    }
}
