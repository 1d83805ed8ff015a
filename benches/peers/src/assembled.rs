//! What one assembles without callstitch, from parts that are there.

use std::collections::BTreeMap;
use std::hint::black_box;

use callstitch::WireFormat;

use crate::peer::{Arguments, Call, Chunks, Job, Peer, Reading, job};

mod base;
mod best;

pub use base::BASE;
pub use best::BEST_PARTS;

/// callstitch gives arguments as an object too; so does this.
pub const BASE_PARSED: Peer = Peer {
    name: "BASE, and its arguments parsed",
    prepare: |format, chunks| parsed(&BASE, format, chunks),
    ..BASE
};

pub const BEST_PARTS_PARSED: Peer = Peer {
    name: "BEST PARTS, and their arguments parsed",
    prepare: |format, chunks| parsed(&BEST_PARTS, format, chunks),
    ..BEST_PARTS
};

fn parsed(peer: &Peer, format: WireFormat, chunks: &Chunks) -> Option<Job> {
    let mut job = (peer.prepare)(format, chunks)?;
    Some(Box::new(move || {
        let reading = job();
        for call in &reading.calls {
            black_box(call.arguments.value());
        }
        reading
    }))
}

/// Puts what an event's data says into the calls.
type Event = fn(&str, &mut Calls);

/// The job of reading a body's events, each as its format has them: chat, Anthropic, Responses.
fn events(
    format: WireFormat,
    chunks: &Chunks,
    read: fn(&Chunks, Event) -> Reading,
    [chat, anthropic, responses]: [Event; 3],
) -> Option<Job> {
    let event = match format {
        WireFormat::OpenAiChat => chat,
        WireFormat::Anthropic => anthropic,
        WireFormat::OpenAiResponses => responses,
        _ => return None,
    };
    Some(job(chunks, move |chunks| read(chunks, event)))
}

/// The calls of a body by the wire's index: id, name, text.
type Calls = BTreeMap<i64, (String, String, String)>;

fn reading(calls: Calls) -> Reading {
    let calls = calls
        .into_values()
        .map(|(id, name, text)| Call::new(id, name, Arguments::Text(text)))
        .collect();
    Reading {
        calls,
        errors: Vec::new(),
    }
}
