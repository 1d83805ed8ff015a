//! Bodies by name: what is read, and how a transport cuts it.

use bytes::Bytes;
use callstitch::WireFormat;
use memchr::memmem;

use crate::peer::{Chunks, Written};
use crate::transcripts::{self, Chunking, Provider, Shape};
use crate::written;

/// The formats whose calls come in small deltas, and which others read too.
pub const STREAMED: [WireFormat; 3] = [
    WireFormat::OpenAiChat,
    WireFormat::Anthropic,
    WireFormat::OpenAiResponses,
];

#[derive(Clone)]
pub struct Body {
    pub format: WireFormat,
    pub bytes: Bytes,
    pub calls: Vec<Written>,
    /// Where each event ends.
    pub ends: Vec<usize>,
}

impl Body {
    /// # Panics
    ///
    /// Where a format of [`written::FORMATS`] is asked for a shape that its bodies do not have.
    pub fn new(format: WireFormat, shape: Shape) -> Self {
        let provider = match format {
            WireFormat::OpenAiChat => Provider::Chat,
            WireFormat::Anthropic => Provider::Anthropic,
            WireFormat::OpenAiResponses => Provider::Responses,
            _ => match shape {
                Shape::Calls { bytes, .. } => return written::body(format, bytes),
                _ => panic!("{format} is written as calls only"),
            },
        };
        let transcript = transcripts::transcript(provider, shape);
        let ends = memmem::find_iter(&transcript.body, b"\n\n").map(|at| at + 2);
        Body {
            format,
            ends: ends.collect(),
            bytes: transcript.body.into(),
            calls: transcript
                .calls
                .into_iter()
                .zip(transcript.ids)
                .map(|((name, arguments), id)| Written {
                    id: Some(id),
                    name,
                    arguments,
                })
                .collect(),
        }
    }

    /// The same, its bytes elsewhere in memory.
    #[must_use]
    pub fn copied(&self) -> Self {
        Body {
            bytes: Bytes::copy_from_slice(&self.bytes),
            ..self.clone()
        }
    }

    pub fn events(&self) -> usize {
        self.ends.len()
    }

    pub fn chunks(&self, chunking: Chunking) -> Chunks {
        if chunking == Chunking::Event {
            let starts = std::iter::once(0).chain(self.ends.iter().copied());
            return starts
                .zip(&self.ends)
                .map(|(start, &end)| self.bytes.slice(start..end))
                .collect();
        }
        transcripts::chunks(&self.bytes, chunking)
            .into_iter()
            .map(|chunk| self.bytes.slice_ref(chunk))
            .collect()
    }
}

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// One call of so many bytes of arguments.
pub const fn one_call(bytes: usize) -> Shape {
    Shape::Calls { calls: 1, bytes }
}

/// So many calls side by side, of 1 MB of arguments in all.
const fn side_by_side(calls: usize) -> Shape {
    Shape::Calls { calls, bytes: MIB }
}

pub const SHAPES: [(&str, Shape); 13] = [
    ("4k", one_call(4 * KIB)),
    ("100k", one_call(100 * KIB)),
    ("1m", one_call(MIB)),
    ("2x1m", side_by_side(2)),
    ("8x1m", side_by_side(8)),
    ("128x1m", side_by_side(128)),
    ("wide", Shape::Wide { bytes: MIB }),
    ("one", Shape::One { bytes: MIB }),
    ("shuffled", Shape::Shuffled { bytes: MIB }),
    ("turns", Shape::Turns { bytes: MIB }),
    ("escaped", Shape::Escaped { bytes: MIB }),
    ("padded", Shape::Padded { bytes: MIB }),
    ("text", Shape::Text { bytes: 10 * MIB }),
];

pub const CHUNKINGS: [(&str, Chunking); 4] = [
    ("16k", Chunking::Bytes(16 * KIB)),
    ("1400", Chunking::Bytes(1400)),
    ("event", Chunking::Event),
    ("random", Chunking::Random),
];

/// The value of a name in one of the two lists.
pub fn named<T: Copy>(list: &[(&str, T)], name: &str) -> Option<T> {
    list.iter()
        .find(|(known, _)| *known == name)
        .map(|(_, value)| *value)
}
