//! callstitch, as its users call it.

use callstitch::{ByteStreamExt, Config, Error, Event, ToolCall, ToolCallParser, WireFormat};
use futures::StreamExt;
use serde_json::Value;

use crate::peer::{Arguments, Call, Chunks, Peer, Reading, job, source};

pub const PUSH: Peer = Peer {
    name: "callstitch",
    most_events: usize::MAX,
    prepare: |format, chunks| Some(job(chunks, move |chunks| push(format, chunks, true))),
};

/// The same without the memory of the last event.
pub const FORGETFUL: Peer = Peer {
    name: "callstitch, every event parsed",
    most_events: usize::MAX,
    prepare: |format, chunks| Some(job(chunks, move |chunks| push(format, chunks, false))),
};

pub const STREAM: Peer = Peer {
    name: "callstitch, a stream of calls",
    most_events: usize::MAX,
    prepare: |format, chunks| Some(job(chunks, move |chunks| stream(format, chunks, text))),
};

/// The stream, its arguments as the objects that a tool gets.
pub const OBJECTS: Peer = Peer {
    name: "callstitch",
    most_events: usize::MAX,
    prepare: |format, chunks| Some(job(chunks, move |chunks| stream(format, chunks, object))),
};

fn push(format: WireFormat, chunks: &Chunks, remember: bool) -> Reading {
    let config = Config::default().remember_events(remember);
    let mut parser = ToolCallParser::with_config(format, config);
    let mut reading = Reading::default();
    let mut take = |event: Result<Event<'_>, Error>| match event {
        Ok(Event::CallCompleted(call)) => reading.calls.push(given(call, text)),
        Ok(_) => {}
        Err(error) => reading.errors.push(error.to_string()),
    };
    for chunk in chunks.iter() {
        parser.push(chunk).for_each(&mut take);
    }
    parser.finish().for_each(&mut take);
    reading
}

fn stream(format: WireFormat, chunks: &Chunks, arguments: fn(ToolCall) -> Arguments) -> Reading {
    let mut calls = source(chunks).tool_calls(format);
    let mut reading = Reading::default();
    futures::executor::block_on(async {
        while let Some(call) = calls.next().await {
            match call {
                Ok(call) => reading.calls.push(given(call, arguments)),
                Err(error) => reading.errors.push(error.to_string()),
            }
        }
    });
    reading
}

fn given(call: ToolCall, arguments: fn(ToolCall) -> Arguments) -> Call {
    let (id, name) = (call.id().to_owned(), call.name().to_owned());
    Call {
        flagged: !call.is_usable(),
        ..Call::new(id, name, arguments(call))
    }
}

/// To keep, as the others' calls are.
fn text(call: ToolCall) -> Arguments {
    Arguments::Text(call.into_arguments().into_raw())
}

fn object(call: ToolCall) -> Arguments {
    match call.arguments().object() {
        Ok(object) => Arguments::Parsed(Value::Object(object.clone())),
        Err(_) => text(call),
    }
}
