//! rig-core gathers calls itself and gives each when it has ended; one whose arguments are no object carries them beside it.

use callstitch::WireFormat;
use futures::{Stream, StreamExt};
use rig_core::ProviderError;
use rig_core::completion::CompletionRequest;
use rig_core::http_client::{
    self, HttpClientExt, LazyBody, MultipartForm, Request, Response, StreamingResponse,
};
use rig_core::message::AssistantContent;
use rig_core::providers::anthropic::AnthropicConfig;
use rig_core::providers::openai::OpenAIConfig;
use rig_core::streaming::{Item, StreamEvent};
use rig_core::wasm_compat::WasmCompatSend;
use serde_json::Value;

use super::{KEY, MODEL, PROMPT, block_on};
use crate::peer::{Arguments, Call, Chunks, Peer, Reading};

pub const RIG: Peer = Peer {
    name: "rig-core",
    most_events: usize::MAX,
    prepare: |format, chunks| {
        let http = InMemory(chunks.clone());
        match format {
            WireFormat::OpenAiChat => {
                let model = OpenAIConfig::new(KEY).connect(http).chat(MODEL);
                Some(Box::new(move || block_on(read(model.stream(request())))))
            }
            WireFormat::OpenAiResponses => {
                let model = OpenAIConfig::new(KEY).connect(http).responses(MODEL);
                Some(Box::new(move || block_on(read(model.stream(request())))))
            }
            WireFormat::Anthropic => {
                let model = AnthropicConfig::new(KEY).connect(http).completion(MODEL);
                Some(Box::new(move || block_on(read(model.stream(request())))))
            }
            _ => None,
        }
    },
};

fn request() -> CompletionRequest {
    // One wire asks for a number of tokens.
    CompletionRequest::new(PROMPT).max_tokens(4096)
}

async fn read(
    stream: Result<
        impl Stream<Item = Result<Item<StreamEvent>, ProviderError>> + Unpin,
        ProviderError,
    >,
) -> Reading {
    let mut reading = Reading::default();
    let mut stream = match stream {
        Ok(stream) => stream,
        Err(error) => return reading.with_error(error),
    };
    while let Some(item) = stream.next().await {
        match item {
            Ok(Item::Event(StreamEvent::End {
                content: AssistantContent::ToolCall(call),
                ..
            })) => {
                let function = call.function;
                let flagged = function.invalid_arguments.is_some();
                let arguments = match function.invalid_arguments {
                    Some(text) => Arguments::Text(text),
                    None => Arguments::Parsed(Value::Object(function.arguments)),
                };
                reading.calls.push(Call {
                    flagged,
                    ..Call::new(call.id.to_string(), function.name.to_string(), arguments)
                });
            }
            Ok(_) => {}
            Err(error) => reading.errors.push(error.to_string()),
        }
    }
    reading
}

/// Answers every streaming request with the body.
#[derive(Clone)]
struct InMemory(Chunks);

const ONLY_STREAMS: http_client::Error = http_client::Error::StreamEnded;

impl HttpClientExt for InMemory {
    fn send<T, U>(
        &self,
        _: Request<T>,
    ) -> impl Future<Output = http_client::Result<Response<LazyBody<U>>>> + WasmCompatSend + 'static
    where
        T: Into<bytes::Bytes> + WasmCompatSend,
        U: From<bytes::Bytes> + WasmCompatSend + 'static,
    {
        std::future::ready(Err(ONLY_STREAMS))
    }

    fn send_multipart<U>(
        &self,
        _: Request<MultipartForm>,
    ) -> impl Future<Output = http_client::Result<Response<LazyBody<U>>>> + WasmCompatSend + 'static
    where
        U: From<bytes::Bytes> + WasmCompatSend + 'static,
    {
        std::future::ready(Err(ONLY_STREAMS))
    }

    fn send_streaming<T>(
        &self,
        _: Request<T>,
    ) -> impl Future<Output = http_client::Result<StreamingResponse>> + WasmCompatSend
    where
        T: Into<bytes::Bytes> + WasmCompatSend,
    {
        let chunks: Vec<_> = self.0.iter().cloned().map(Ok).collect();
        let body: http_client::BoxedStream = Box::pin(futures::stream::iter(chunks));
        let response = Response::builder()
            .header(http::header::CONTENT_TYPE, "text/event-stream")
            .body(body);
        std::future::ready(response.map_err(http_client::Error::from))
    }
}
