//! async-openai gives typed chunks and leaves the gathering to its user: here as its example `tool-call-stream` does it. A call
//! is kept by choice and index, has the id and the name that come first, and is run at the finish reason `tool_calls`; an error
//! is printed, and the loop goes on.

use std::collections::BTreeMap;
use std::convert::Infallible;

use ::async_openai::Client;
use ::async_openai::config::OpenAIConfig;
use ::async_openai::error::OpenAIError;
use ::async_openai::middleware::HttpRequestFactory;
use ::async_openai::types::chat::{
    ChatCompletionRequestUserMessage, CreateChatCompletionRequest,
    CreateChatCompletionStreamResponse, FinishReason,
};
use ::async_openai::types::responses::{CreateResponse, OutputItem, ResponseStreamEvent};
use callstitch::WireFormat;
use futures::StreamExt;

use super::{KEY, MODEL, PROMPT, block_on};
use crate::peer::{Arguments, Call, Chunks, Peer, Reading};

pub const ASYNC_OPENAI: Peer = Peer {
    name: "async-openai",
    most_events: usize::MAX,
    prepare: |format, chunks| {
        let client = client(chunks);
        match format {
            WireFormat::OpenAiChat => Some(Box::new(move || block_on(chat(&client)))),
            WireFormat::OpenAiResponses => Some(Box::new(move || block_on(responses(&client)))),
            _ => None,
        }
    },
};

/// Its own hook for middleware, with the body in memory behind it.
fn client(chunks: &Chunks) -> Client<OpenAIConfig> {
    let chunks = chunks.clone();
    let service = tower::service_fn(move |_: HttpRequestFactory| {
        let chunks: Vec<_> = chunks.iter().cloned().map(Ok::<_, Infallible>).collect();
        async move {
            let body = reqwest::Body::wrap_stream(futures::stream::iter(chunks));
            let response = http::Response::builder()
                .header(http::header::CONTENT_TYPE, "text/event-stream")
                .body(body)
                .expect("a response");
            Ok::<_, OpenAIError>(reqwest::Response::from(response))
        }
    });
    Client::with_config(OpenAIConfig::new().with_api_key(KEY)).with_http_service(service)
}

type Calls = BTreeMap<(u32, u32), Call>;

async fn chat(client: &Client<OpenAIConfig>) -> Reading {
    let request = CreateChatCompletionRequest {
        model: MODEL.into(),
        messages: vec![ChatCompletionRequestUserMessage::from(PROMPT).into()],
        ..CreateChatCompletionRequest::default()
    };
    let mut reading = Reading::default();
    let mut stream = match client.chat().create_stream(request).await {
        Ok(stream) => stream,
        Err(error) => return reading.with_error(error),
    };
    let mut calls = Calls::new();
    while let Some(chunk) = stream.next().await {
        match chunk {
            Ok(chunk) => take_chunk(chunk, &mut calls, &mut reading),
            Err(error) => reading.errors.push(error.to_string()),
        }
    }
    reading
}

fn take_chunk(chunk: CreateChatCompletionStreamResponse, calls: &mut Calls, reading: &mut Reading) {
    for choice in chunk.choices {
        for piece in choice.delta.tool_calls.unwrap_or_default() {
            let function = piece.function.unwrap_or_default();
            let call = calls.entry((choice.index, piece.index)).or_insert_with(|| {
                let (id, name) = (piece.id, function.name);
                let arguments = Arguments::Text(String::new());
                Call::new(id.unwrap_or_default(), name.unwrap_or_default(), arguments)
            });
            if let (Arguments::Text(text), Some(more)) = (&mut call.arguments, &function.arguments)
            {
                text.push_str(more);
            }
        }
        if choice.finish_reason == Some(FinishReason::ToolCalls) {
            reading.calls.extend(std::mem::take(calls).into_values());
        }
    }
}

/// The Responses wire says itself when a call is finished.
async fn responses(client: &Client<OpenAIConfig>) -> Reading {
    let request = CreateResponse {
        model: Some(MODEL.into()),
        input: PROMPT.into(),
        ..CreateResponse::default()
    };
    let mut reading = Reading::default();
    let mut stream = match client.responses().create_stream(request).await {
        Ok(stream) => stream,
        Err(error) => return reading.with_error(error),
    };
    while let Some(event) = stream.next().await {
        match event {
            Ok(ResponseStreamEvent::ResponseOutputItemDone(done)) => {
                if let OutputItem::FunctionCall(call) = done.item {
                    let arguments = Arguments::Text(call.arguments);
                    reading
                        .calls
                        .push(Call::new(call.call_id, call.name, arguments));
                }
            }
            Ok(_) => {}
            Err(error) => reading.errors.push(error.to_string()),
        }
    }
    reading
}
