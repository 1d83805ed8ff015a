//! The recorded streams kept beside the project.

use std::path::{Path, PathBuf};

use callstitch::{ToolCall, ToolCallParser, WireFormat};

/// Every recorded body and the name of its wire; `None`, and a line on what is skipped, where the data is absent.
pub(crate) fn streams() -> Option<Vec<(PathBuf, WireFormat)>> {
    let root = std::env::var_os("CALLSTITCH_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"),
        PathBuf::from,
    );
    let corpus = root.join("corpus");
    if !corpus.is_dir() {
        assert!(
            std::env::var_os("CI").is_none(),
            "the corpus is missing under CI"
        );
        println!("skipped: no {}", corpus.display());
        return None;
    }
    let mut found = Vec::new();
    for project in list(&corpus) {
        for wire in list(&project) {
            let Some(format) = wire.file_name().and_then(|name| format_of(name.to_str()?)) else {
                continue;
            };
            let bodies = list(&wire).into_iter();
            found.extend(
                bodies
                    .filter(|body| is_body(body))
                    .map(|body| (body, format)),
            );
        }
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    Some(found)
}

/// The calls of one recorded body.
pub(crate) fn calls(path: &Path, format: WireFormat) -> Vec<ToolCall> {
    let mut body = std::fs::read(path).unwrap();
    if path.to_string_lossy().ends_with(".chunks.jsonl") {
        body = framed(&String::from_utf8(body).unwrap(), format);
    }
    let mut parser = ToolCallParser::new(format);
    let mut calls = Vec::new();
    for chunk in body.chunks(4096) {
        calls.extend(
            parser
                .push(chunk)
                .filter_map(|event| event.ok()?.into_call()),
        );
    }
    calls.extend(parser.finish().filter_map(|event| event.ok()?.into_call()));
    calls
}

/// Payload lines as the server-sent events that they were.
fn framed(lines: &str, format: WireFormat) -> Vec<u8> {
    let payloads = lines.lines().filter(|line| !line.trim().is_empty());
    let mut body: String = payloads.map(|line| format!("data: {line}\n\n")).collect();
    if format == WireFormat::OpenAiChat {
        body.push_str("data: [DONE]\n\n");
    }
    body.into_bytes()
}

fn format_of(wire: &str) -> Option<WireFormat> {
    Some(match wire {
        "openai-chat" => WireFormat::OpenAiChat,
        "openai-responses" => WireFormat::OpenAiResponses,
        "anthropic-messages" => WireFormat::Anthropic,
        "gemini-generate" => WireFormat::Gemini,
        "gemini-interactions" => WireFormat::GeminiInteractions,
        #[cfg(feature = "bedrock")]
        "bedrock-converse" => WireFormat::Bedrock,
        "cohere-v2-chat" => WireFormat::Cohere,
        "ollama-chat" => WireFormat::Ollama,
        _ => return None,
    })
}

fn is_body(path: &Path) -> bool {
    let name = path.to_string_lossy();
    let framed_elsewhere = name.contains("bedrock-converse") && name.ends_with(".chunks.jsonl");
    !framed_elsewhere
        && [".sse", ".ndjson", ".aws.bin", ".chunks.jsonl"]
            .iter()
            .any(|end| name.ends_with(end))
}

fn list(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}
