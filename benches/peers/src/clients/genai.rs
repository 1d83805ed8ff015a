//! genai takes no transport of one's own, so it reads from 127.0.0.1. Its calls are those of the end event, as its example
//! `c21-tooluse-streaming` has them; an error does not stop the loop, so that what comes after it is seen too.

use std::time::Duration;

use ::genai::adapter::AdapterKind;
use ::genai::chat::{ChatMessage, ChatOptions, ChatRequest, ChatStreamEvent};
use ::genai::resolver::{AuthData, Endpoint};
use ::genai::{Client, ModelIden, ServiceTarget};
use callstitch::WireFormat;
use futures::StreamExt;
use serde_json::Value;

use super::loopback::Loopback;
use super::{KEY, MODEL, PROMPT, block_on};
use crate::peer::{Arguments, Call, Chunks, Job, Peer, Reading};

pub const GENAI: Peer = Peer {
    name: "genai, over 127.0.0.1",
    // It copies all that a call has so far at each delta.
    most_events: 30_000,
    prepare: |format, chunks| prepare(format, chunks, Duration::ZERO),
};

/// The same with the chunks apart in time, for bodies whose borders matter.
pub const GENAI_APART: Peer = Peer {
    name: "genai",
    prepare: |format, chunks| prepare(format, chunks, Duration::from_millis(5)),
    ..GENAI
};

fn prepare(format: WireFormat, chunks: &Chunks, pause: Duration) -> Option<Job> {
    let adapter = match format {
        WireFormat::OpenAiChat => AdapterKind::OpenAI,
        WireFormat::OpenAiResponses => AdapterKind::OpenAIResp,
        WireFormat::Anthropic => AdapterKind::Anthropic,
        _ => return None,
    };
    let server = Loopback::new(chunks, pause);
    let target = ServiceTarget {
        endpoint: Endpoint::from_owned(server.url()),
        auth: AuthData::from_single(KEY),
        model: ModelIden::new(adapter, MODEL),
    };
    let client = Client::new().expect("a client");
    Some(Box::new(move || {
        server.next();
        block_on(read(&client, target.clone()))
    }))
}

/// An error that comes again and again is the same one.
const MOST_ERRORS: usize = 100;

async fn read(client: &Client, target: ServiceTarget) -> Reading {
    let mut reading = Reading::default();
    let request = ChatRequest::new(vec![ChatMessage::user(PROMPT)]);
    let options = ChatOptions::default().with_capture_tool_calls(true);
    let response = client.exec_chat_stream(target, request, Some(&options));
    let mut stream = match response.await {
        Ok(response) => response.stream,
        Err(error) => return reading.with_error(error),
    };
    while let Some(event) = stream.next().await {
        match event {
            Ok(ChatStreamEvent::End(end)) => {
                let calls = end.captured_into_tool_calls().unwrap_or_default();
                reading.calls.extend(calls.into_iter().map(|call| {
                    let arguments = match call.fn_arguments {
                        Value::String(text) => Arguments::Text(text),
                        value => Arguments::Parsed(value),
                    };
                    Call::new(call.call_id, call.fn_name, arguments)
                }));
            }
            Ok(_) => {}
            Err(error) => reading.errors.push(error.to_string()),
        }
        if reading.errors.len() == MOST_ERRORS {
            break;
        }
    }
    reading
}
