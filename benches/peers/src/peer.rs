//! Who reads a body, and what came out of it, in the one form that all can be brought to.

use std::convert::Infallible;
use std::fmt::Display;
use std::sync::Arc;

use bytes::Bytes;
use callstitch::WireFormat;
use futures::Stream;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A body as a transport delivers it.
pub type Chunks = Arc<[Bytes]>;

/// Reads one body once; whatever can be built before the first byte comes is built already.
pub type Job = Box<dyn FnMut() -> Reading>;

/// The job of reading these chunks so.
pub fn job(chunks: &Chunks, read: impl Fn(&Chunks) -> Reading + 'static) -> Job {
    let chunks = chunks.clone();
    Box::new(move || read(&chunks))
}

/// The chunks as the stream that a client of HTTP gives, all of them ready.
pub fn source(chunks: &Chunks) -> impl Stream<Item = Result<Bytes, Infallible>> + Unpin {
    futures::stream::iter(chunks.iter().cloned().map(Ok))
}

pub struct Peer {
    pub name: &'static str,
    /// Bodies of more events are not given to it: its time grows faster than they do.
    pub most_events: usize,
    /// Nothing for a format that it does not read.
    pub prepare: fn(WireFormat, &Chunks) -> Option<Job>,
}

/// Some give the text of the arguments, some what they parsed it to.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Arguments {
    Text(String),
    Parsed(Value),
}

impl Arguments {
    /// What they say as JSON, if they do.
    pub fn value(&self) -> Option<Value> {
        match self {
            Arguments::Text(text) => serde_json::from_str(text).ok(),
            Arguments::Parsed(value) => Some(value.clone()),
        }
    }

    /// Whether they are the text that was written.
    fn are(&self, written: &str) -> bool {
        match self {
            Arguments::Text(text) => text == written,
            Arguments::Parsed(value) => {
                serde_json::from_str::<Value>(written).is_ok_and(|written| *value == written)
            }
        }
    }
}

/// A call that was handed out as one to be run, or as one that must not be.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Call {
    pub id: String,
    pub name: String,
    pub arguments: Arguments,
    /// Marked as not to be run, by whatever means the peer has.
    pub flagged: bool,
}

impl Call {
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: Arguments) -> Self {
        Call {
            id: id.into(),
            name: name.into(),
            arguments,
            flagged: false,
        }
    }
}

/// What a reader of the stream got.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Reading {
    pub calls: Vec<Call>,
    pub errors: Vec<String>,
}

impl Reading {
    pub fn with_error(mut self, error: impl Display) -> Self {
        self.errors.push(error.to_string());
        self
    }

    /// Where a reading of a body without faults differs from what was written into it.
    pub fn fault(&self, written: &[Written]) -> Option<String> {
        if let Some(error) = self.errors.first() {
            return Some(format!("error: {error}"));
        }
        if self.calls.len() != written.len() {
            return Some(format!("{} calls of {}", self.calls.len(), written.len()));
        }
        let pairs = || self.calls.iter().zip(written);
        if pairs().any(|(call, written)| call.name != written.name) {
            return Some("wrong name".into());
        }
        // Where the wire sends no id, whatever stands for it is right.
        if pairs().any(|(call, written)| written.id.as_ref().is_some_and(|id| call.id != *id)) {
            return Some("wrong id".into());
        }
        if pairs().any(|(call, written)| !call.arguments.are(&written.arguments)) {
            return Some("wrong arguments".into());
        }
        None
    }
}

/// A call as it was written into a body.
#[derive(Clone)]
pub struct Written {
    pub id: Option<String>,
    pub name: String,
    pub arguments: String,
}
