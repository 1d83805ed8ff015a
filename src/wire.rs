//! Provider payloads in, deltas out: one file a format, and the detection of which one it is.
//!
//! A decoder knows its own wire's strings. It does not know chunk borders, other formats, whether arguments are valid JSON,
//! how many calls are open, or limits. Unknown event types, fields and enum values are ignored, never fatal.

mod anthropic;
#[cfg(feature = "bedrock")]
mod bedrock;
mod cohere;
mod detect;
mod gemini;
mod gemini_interactions;
mod ollama;
mod openai_chat;
mod openai_responses;
mod payload;

use std::fmt;

use crate::delta::DeltaSink;
use crate::framing::{Frame, FramingKind};

pub(crate) use detect::Detector;

/// Reads one provider's events. Object-safe, and open to a decoder of your own
/// ([`ToolCallParser::with_decoder`](crate::ToolCallParser::with_decoder)).
///
/// # Examples
///
/// A wire that sends `name=arguments` lines, whole calls each:
///
/// ```
/// use callstitch::{ArgumentsPart, CallDelta, Decoder, Delta, DeltaSink, Frame, Framed, Route, ToolCallParser};
///
/// #[derive(Debug)]
/// struct Lines;
///
/// impl Decoder for Lines {
///     fn decode(&mut self, frame: Frame<'_>, sink: &mut dyn DeltaSink) {
///         let Some((name, arguments)) = frame.data.split_once('=') else { return };
///         let mut call = CallDelta::new().name(name).route(Route::Opens);
///         call.arguments = ArgumentsPart::Whole(arguments);
///         sink.delta(&Delta::Call(call));
///         sink.delta(&Delta::End);
///     }
/// }
///
/// let mut parser = ToolCallParser::with_decoder(Lines, Framed::ServerSentEvents);
/// let calls: Vec<_> = parser.push(b"data: ping={\"host\":\"a\"}\n\n").filter_map(|event| event.ok()?.into_call()).collect();
/// assert_eq!(calls[0].name(), "ping");
/// ```
pub trait Decoder: fmt::Debug + Send + Sync {
    /// Reads one frame and says what it means. Called in order, once for each frame; a frame that is not understood is
    /// either nothing or a [`Delta::Undecodable`](crate::Delta::Undecodable). Cost: linear in the frame.
    fn decode(&mut self, frame: Frame<'_>, sink: &mut dyn DeltaSink);

    /// The body ended. Called once, after the last frame.
    fn finish(&mut self, sink: &mut dyn DeltaSink) {
        let _ = sink;
    }
}

/// A provider's wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum WireFormat {
    /// Decided from the first payload.
    #[default]
    Auto,
    /// OpenAI Chat Completions and everything compatible with it.
    OpenAiChat,
    /// OpenAI Responses and everything compatible with it.
    OpenAiResponses,
    /// Anthropic Messages, also on Vertex AI.
    Anthropic,
    /// Gemini `streamGenerateContent`, as server-sent events or as a JSON array.
    Gemini,
    /// Gemini Interactions.
    GeminiInteractions,
    /// AWS Bedrock: `ConverseStream`, and `InvokeModelWithResponseStream` of Anthropic models.
    #[cfg(feature = "bedrock")]
    #[cfg_attr(docsrs, doc(cfg(feature = "bedrock")))]
    Bedrock,
    /// Cohere v2 chat.
    Cohere,
    /// Mistral chat: the OpenAI chat decoder.
    Mistral,
    /// Ollama `/api/chat`.
    Ollama,
}

/// One row a format: its name, its usual framing, its decoder. The one place that lists the formats.
struct Row {
    format: WireFormat,
    name: &'static str,
    framing: FramingKind,
    decoder: fn() -> Box<dyn Decoder>,
}

const ROWS: &[Row] = &[
    Row { format: WireFormat::OpenAiChat, name: "openai-chat", framing: FramingKind::Sse, decoder: openai_chat::decoder },
    Row { format: WireFormat::OpenAiResponses, name: "openai-responses", framing: FramingKind::Sse, decoder: openai_responses::decoder },
    Row { format: WireFormat::Anthropic, name: "anthropic", framing: FramingKind::Sse, decoder: anthropic::decoder },
    Row { format: WireFormat::Gemini, name: "gemini", framing: FramingKind::Sse, decoder: gemini::decoder },
    Row { format: WireFormat::GeminiInteractions, name: "gemini-interactions", framing: FramingKind::Sse, decoder: gemini_interactions::decoder },
    #[cfg(feature = "bedrock")]
    Row { format: WireFormat::Bedrock, name: "bedrock", framing: FramingKind::Aws, decoder: bedrock::decoder },
    Row { format: WireFormat::Cohere, name: "cohere", framing: FramingKind::Sse, decoder: cohere::decoder },
    Row { format: WireFormat::Mistral, name: "mistral", framing: FramingKind::Sse, decoder: openai_chat::decoder },
    Row { format: WireFormat::Ollama, name: "ollama", framing: FramingKind::Lines, decoder: ollama::decoder },
];
