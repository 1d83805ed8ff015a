//! What the integration tests share: runs of one body cut in many ways, builders of wire text, seeded randomness, test data.

#![allow(
    dead_code,
    unused_imports,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

pub mod aws_frames;
pub mod base64;
pub mod oracle;
pub mod random;
pub mod run;
#[path = "../common/shared.rs"]
pub mod shared;
pub mod streams;
pub mod wire;
