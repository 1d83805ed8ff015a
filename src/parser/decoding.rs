//! Who reads the frames: one format's decoder, or the detection of which it is to be.

use crate::accumulate::Accumulator;
use crate::error::{Error, ErrorKind};
use crate::framing::{Frame, FramingKind, Origin};
use crate::wire::{
    Decoder, Detector, Doubt, Verdict, WireFormat, error_decoder, is_document, known_names,
};

/// ```text
///   Detecting ── a telling frame ──▶ Decoding
/// ```
pub(super) enum Decoding {
    /// The frames seen so far told nothing; they are given to the decoder once there is one.
    Detecting {
        detector: Detector,
        kept: Vec<Kept>,
        bytes: usize,
    },
    Decoding {
        format: Option<WireFormat>,
        decoder: Box<dyn Decoder>,
        doubt: Doubt,
    },
}

pub(super) struct Kept {
    data: String,
    event: Option<String>,
    frame: Frame<'static>,
}

/// One frame to whoever reads it.
#[inline]
pub(super) fn take(frame: Frame<'_>, decoding: &mut Decoding, accumulator: &mut Accumulator) {
    // The rest of a chunk in which the stream ended is nothing, as the chunks after it are.
    if accumulator.is_over() {
        return;
    }
    match decoding {
        Decoding::Decoding { decoder, doubt, .. } => {
            accumulator.at(frame.offset);
            if doubt.is_settled() {
                decoder.decode(frame, accumulator);
            } else {
                doubt.decode(frame, &mut **decoder, accumulator);
            }
        }
        Decoding::Detecting { .. } => detect(frame, decoding, accumulator),
    }
}

/// A frame of a body whose format is not known yet.
#[cold]
fn detect(frame: Frame<'_>, decoding: &mut Decoding, accumulator: &mut Accumulator) {
    let Decoding::Detecting {
        detector,
        kept,
        bytes,
    } = decoding
    else {
        return;
    };
    match detector.decide(frame) {
        Verdict::Format(format) => {
            let kept = std::mem::take(kept);
            let Some(mut decoder) = format.decoder() else {
                return;
            };
            if !accumulator.remembers_events() {
                decoder.remember(false);
            }
            *decoding = Decoding::Decoding {
                format: Some(format),
                decoder,
                doubt: Doubt::Settled,
            };
            for frame in &kept {
                take(frame.frame(), decoding, accumulator);
            }
            take(frame, decoding, accumulator);
        }
        Verdict::Wait => {
            // What keeping costs counts too: a body can consist of nothing but keep-alives.
            let event = frame.event.map_or(0, str::len);
            *bytes += frame.data.len() + event + size_of::<Kept>();
            kept.push(Kept::new(frame));
            if *bytes > UNDECIDED_BYTES {
                let kept = std::mem::take(kept);
                undecided(kept, accumulator);
            }
        }
    }
}

/// A binary prelude has so many bytes, and a BOM fewer.
pub(super) const TELLING_BYTES: usize = 16;

/// A body that tells nothing of its format in so many bytes, kept frames counted with what each costs, is of none that is
/// known.
const UNDECIDED_BYTES: usize = 1 << 20;

/// The body's format cannot be told. A provider's error is one in any format; anything else is said to be unknown.
fn undecided(kept: Vec<Kept>, accumulator: &mut Accumulator) {
    let (mut decoder, end) = (error_decoder(), accumulator.offset());
    for frame in &kept {
        accumulator.at(frame.frame.offset);
        decoder.decode(frame.frame(), accumulator);
    }
    if accumulator.is_over() {
        return;
    }
    // A body that is empty, or ends inside its first event, is a truncated one, of whatever format.
    let is_cut =
        |kept: &Kept| kept.frame.origin == Origin::Unterminated && !is_document(&kept.data);
    if kept.iter().all(is_cut) {
        return accumulator.at(end);
    }
    let message = format!(
        "the body is of no wire format known here; known are {}",
        known_names()
    );
    accumulator.abort(Error::new(
        ErrorKind::UnknownFormat,
        accumulator.offset(),
        message,
    ));
}

impl Decoding {
    /// A decoder that was asked for, of this format or of none that has a name.
    pub(super) fn named(format: Option<WireFormat>, decoder: Box<dyn Decoder>) -> Self {
        Decoding::Decoding {
            doubt: Doubt::of(format),
            format,
            decoder,
        }
    }

    /// Another body of the same format begins.
    pub(super) fn reset(&mut self) {
        match self {
            Decoding::Decoding {
                format,
                decoder,
                doubt,
            } => {
                decoder.reset();
                *doubt = Doubt::of(*format);
            }
            Decoding::Detecting { .. } => *self = Decoding::detecting(None),
        }
    }

    /// The body ended.
    pub(super) fn finish(&mut self, accumulator: &mut Accumulator) {
        match self {
            Decoding::Decoding { decoder, doubt, .. } => {
                decoder.finish(accumulator);
                if let Some((offset, message)) = doubt.problem() {
                    accumulator.abort(Error::new(ErrorKind::Undecodable, offset, message));
                }
            }
            Decoding::Detecting { kept, .. } => undecided(std::mem::take(kept), accumulator),
        }
    }

    /// The format is not known yet; the framing may be.
    pub(super) fn detecting(framing: Option<FramingKind>) -> Self {
        Decoding::Detecting {
            detector: Detector::of(framing),
            kept: Vec::new(),
            bytes: 0,
        }
    }
}

impl Kept {
    fn new(frame: Frame<'_>) -> Self {
        let bare = Frame {
            origin: frame.origin,
            lossy: frame.lossy,
            ..Frame::new("").at(frame.offset)
        };
        Kept {
            data: frame.data.to_owned(),
            event: frame.event.map(str::to_owned),
            frame: bare,
        }
    }

    fn frame(&self) -> Frame<'_> {
        Frame {
            data: &self.data,
            event: self.event.as_deref(),
            ..self.frame
        }
    }
}
