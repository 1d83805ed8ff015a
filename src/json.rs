//! One JSON text at a time: is it whole, what does it state so far, how is it mended.
//!
//! The room knows the JSON grammar. It does not know tools, calls or streams, nor what a text is for.
//!
//! ```text
//! block     sixteen bytes at a time: where plain string content ends
//! cursor    a strict pull reader of whole documents:       what does a provider event say?
//! scan      brackets and strings only, on every delta:   is this text whole?
//! reader    the one grammar reader, growing one tree
//! partial   the reader as a live view, lazily:            what does it state so far?
//! recover   the same reader run to the end, with a report
//! value     whole texts through serde_json, kept or only checked
//! given     what was read, handed to serde
//! repair    text to text: mends what is malformed, so that the same reader can read it
//! ```

mod block;
pub(crate) mod cursor;
mod events;
mod given;
mod number;
mod partial;
mod reader;
mod recover;
mod repair;
mod scan;
mod text;
mod value;

pub(crate) use cursor::join_halves;
pub use events::{FieldEvent, FieldKind, FieldPath, FieldValue, PathSegment};
pub(crate) use given::Given;
pub(crate) use partial::{PartialReader, Progress};
pub(crate) use reader::find;
pub(crate) use recover::{End, Ended, recover};
pub use recover::{FaultKind, Fidelity};
pub(crate) use repair::repair;
pub use repair::{Repair, RepairKind, RepairLevel};
pub(crate) use scan::Scan;
pub(crate) use value::{fingerprint, is_object, is_object_beside, is_same_object, object, value};

use serde_json::{Map, Value};
use std::sync::OnceLock;

/// The most containers one inside the other that serde_json reads, and so do we.
pub(crate) const MAX_DEPTH: usize = 127;

/// White space as JSON counts it.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// The text without JSON white space at either end.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\n', '\r'])
}

/// An object with nothing in it, to lend where there is none.
pub(crate) fn empty() -> &'static Map<String, Value> {
    static EMPTY: OnceLock<Map<String, Value>> = OnceLock::new();
    EMPTY.get_or_init(Map::new)
}

/// Numbers below a bound, the same in every run: what tests make their texts of.
#[cfg(test)]
pub(crate) fn random(mut seed: u32) -> impl FnMut(usize) -> usize {
    move |bound| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 16) as usize % bound
    }
}
