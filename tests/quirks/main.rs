//! Every numbered row of WIRE_FORMATS: what real servers send, and what is made of it. One test a row, named after it.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "../support/mod.rs"]
mod support;

mod anthropic;
mod arguments;
mod blocks;
mod envelope;
mod errors;
mod events;
mod finish;
mod id;
mod index;
mod name;
mod responses;

use callstitch::WireFormat;
use support::run::{Run, both};

/// A chat body, whole and in pieces.
fn chat(body: impl AsRef<[u8]>) -> Run {
    both(WireFormat::OpenAiChat, body)
}

/// These chunks of a chat body, a finish reason and the terminal.
fn finished(chunks: &[String]) -> Run {
    chat(support::wire::finished(chunks))
}
