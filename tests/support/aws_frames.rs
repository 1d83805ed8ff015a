//! The encoder that the unit tests use, for the tests in this folder: `mod support { pub mod aws_frames; }`.

#[path = "../../src/framing/tests/aws_frames.rs"]
mod encoder;

#[allow(unused_imports, unreachable_pub)]
pub use encoder::{crc32, error, event, exception, frame, header, string_headers};
