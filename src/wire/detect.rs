//! Which wire format a body is of, from its first payloads.
//!
//! Letter to the next reader. Only members and event names that belong to one format count; what says nothing of the format
//! (a ping, an unknown type, a keep-alive, `[DONE]`, an error: the same on every wire) waits for an event that does, and is
//! then given to the decoder with the rest.

use crate::framing::{Frame, FramingKind, Origin};
#[cfg(feature = "bedrock")]
use crate::json::cursor::Kind;
use crate::json::cursor::{Cursor, Text};
use crate::wire::WireFormat;
#[cfg(feature = "bedrock")]
use crate::wire::bedrock::is_exception;
use crate::wire::payload::{Parts, error};

/// What a frame says of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is of this format, and so is all that waited.
    Format(WireFormat),
    /// Nothing: it waits for the decoder.
    Wait,
}

/// Decides the format of one body.
#[derive(Debug, Default)]
pub(crate) struct Detector {
    framing: Option<FramingKind>,
}

impl Detector {
    /// At the beginning of a body in this framing, where it is known.
    pub(crate) fn of(framing: Option<FramingKind>) -> Self {
        Detector { framing }
    }

    /// What the first bytes showed: a framing that one format alone has decides.
    pub(crate) fn framed(&mut self, framing: FramingKind) {
        self.framing = Some(framing);
    }

    /// Reads one frame. Cost: linear in the frame.
    pub(crate) fn decide(&mut self, frame: Frame<'_>) -> Verdict {
        #[cfg(feature = "bedrock")]
        if self.framing == Some(FramingKind::Aws) {
            return Verdict::Format(WireFormat::Bedrock);
        }
        if frame.origin == Origin::Bare {
            return Verdict::Wait;
        }
        // A document may share its event with a keep-alive (E7, E13).
        let parts = Parts(frame.data).map(|part| read(part).format(frame.event));
        let mut found = std::iter::once(read(frame.data).format(frame.event)).chain(parts);
        found
            .find_map(|format| format)
            .map_or(Verdict::Wait, Verdict::Format)
    }
}

/// What the top-level members of a document say.
#[derive(Debug, Default)]
struct Members<'a> {
    /// `type` or `event_type`.
    kind: Option<Text<'a>>,
    chat: bool,
    gemini: bool,
    message: bool,
    done: bool,
    bytes: bool,
    error: bool,
    /// A member is named after the event that it is.
    wrapped: Option<WireFormat>,
}

/// Reads as far as the data is JSON: a cut or doubled document still shows its members.
fn read(data: &str) -> Members<'_> {
    let mut seen = Members::default();
    let _ = Cursor::new(data).elements(|cursor| {
        let members = cursor.members(|cursor, key| {
            match key {
                b"type" | b"event_type" => {
                    seen.kind = cursor.label()?.or(seen.kind);
                    return Ok(());
                }
                b"object" => {
                    let object = cursor.text()?.map_or("", |object| object.raw);
                    seen.chat |= object.starts_with("chat.completion");
                    return Ok(());
                }
                b"error" => {
                    seen.error |= error(cursor)?.is_some();
                    return Ok(());
                }
                b"choices" => seen.chat = true,
                b"candidates" | b"promptFeedback" | b"usageMetadata" => seen.gemini = true,
                b"message" => seen.message = true,
                b"done" => seen.done = true,
                b"bytes" => seen.bytes = true,
                #[cfg(feature = "bedrock")]
                key if key.starts_with(b"message") || key.starts_with(b"contentBlock") => {
                    let named = str::from_utf8(key).ok().and_then(named);
                    let bedrocks = named.filter(|format| *format == WireFormat::Bedrock);
                    seen.wrapped = seen.wrapped.or(bedrocks);
                }
                #[cfg(feature = "bedrock")]
                b"chunk" => {
                    let chunk = cursor.members(|cursor, key| {
                        if key == b"bytes" {
                            seen.wrapped = Some(WireFormat::Bedrock);
                        }
                        cursor.skip()
                    });
                    return chunk.map(drop);
                }
                #[cfg(feature = "bedrock")]
                key if str::from_utf8(key).is_ok_and(is_exception)
                    && cursor.kind()? == Kind::Object =>
                {
                    seen.wrapped = Some(WireFormat::Bedrock);
                }
                _ => {}
            }
            cursor.skip()
        });
        members.map(drop)
    });
    seen
}

impl Members<'_> {
    fn format(&self, event: Option<&str>) -> Option<WireFormat> {
        let kind = self.kind.map(Text::to_cow);
        if let Some(format) = kind
            .as_deref()
            .and_then(named)
            .or_else(|| event.and_then(named))
        {
            return Some(format);
        }
        #[cfg(feature = "bedrock")]
        if self.bytes && event == Some("chunk") || event.is_some_and(is_exception) {
            return Some(WireFormat::Bedrock);
        }
        if self.wrapped.is_some() {
            return self.wrapped;
        }
        if self.chat {
            Some(WireFormat::OpenAiChat)
        } else if self.gemini {
            Some(WireFormat::Gemini)
        } else if self.message && self.done {
            Some(WireFormat::Ollama)
        } else if self.message && !self.error && kind.as_deref() == Some("error") {
            // An error that is not inside an `error` member is the older shape of Responses (2.4).
            Some(WireFormat::OpenAiResponses)
        } else {
            None
        }
    }
}

/// The format that an event's name belongs to, whether it stands in the event field or in the payload. `ping` and `error` are
/// nobody's.
fn named(name: &str) -> Option<WireFormat> {
    Some(match name {
        "message_start"
        | "message_delta"
        | "message_stop"
        | "content_block_start"
        | "content_block_delta"
        | "content_block_stop" => WireFormat::Anthropic,
        "message-start" | "message-end" | "tool-plan-delta" | "tool-call-start"
        | "tool-call-delta" | "tool-call-end" | "content-start" | "content-delta"
        | "content-end" | "citation-start" | "citation-end" => WireFormat::Cohere,
        "step.start" | "step.delta" | "step.stop" | "content.start" | "content.delta"
        | "content.stop" => WireFormat::GeminiInteractions,
        #[cfg(feature = "bedrock")]
        "messageStart" | "messageStop" | "contentBlockStart" | "contentBlockDelta"
        | "contentBlockStop" => WireFormat::Bedrock,
        _ if name.starts_with("response.") => WireFormat::OpenAiResponses,
        _ if name.starts_with("interaction.") => WireFormat::GeminiInteractions,
        _ => return None,
    })
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]
mod tests {
    use std::path::{Path, PathBuf};

    use serde_json::Value;

    use super::*;
    use crate::framing::{FrameLimits, Framing, sniff};

    /// The format of these frames, and how many waited for it.
    fn decide<'a>(frames: impl IntoIterator<Item = Frame<'a>>) -> (Option<WireFormat>, usize) {
        let mut detector = Detector::default();
        for (waited, frame) in frames.into_iter().enumerate() {
            if let Verdict::Format(format) = detector.decide(frame) {
                return (Some(format), waited);
            }
        }
        (None, 0)
    }

    fn format_of(payload: &str) -> Option<WireFormat> {
        decide([Frame::new(payload)]).0
    }

    /// The format of a body, as the parser finds it.
    fn format_of_body(body: &[u8]) -> Option<WireFormat> {
        let kind = sniff(body).unwrap_or(FramingKind::Sse);
        let mut framing = Framing::new(
            kind,
            FrameLimits {
                line: 1 << 24,
                frame: 1 << 24,
            },
        );
        let mut detector = Detector::default();
        detector.framed(kind);
        let mut format = None;
        let mut sink = |frame: Frame<'_>| {
            if let (None, Verdict::Format(found)) = (format, detector.decide(frame)) {
                format = Some(found);
            }
        };
        let _ = framing.push(body, &mut sink);
        let _ = framing.finish(&mut sink);
        format
    }

    #[test]
    fn each_format_is_told_by_its_first_event() {
        use WireFormat::*;
        for (payload, format) in [
            (
                r#"{"id":"c","object":"chat.completion.chunk","choices":[]}"#,
                OpenAiChat,
            ),
            (r#"{"choices":null,"error":{"message":"m"}}"#, OpenAiChat),
            (r#"{"object":"chat.completion.chunk"}"#, OpenAiChat),
            (
                r#"{"response":{"id":"resp_1"},"type":"response.created"}"#,
                OpenAiResponses,
            ),
            (
                r#"{"type":"error","code":"server_error","message":"m"}"#,
                OpenAiResponses,
            ),
            (
                r#"{"type":"message_start","message":{"id":"msg_1"}}"#,
                Anthropic,
            ),
            (r#"{"type":"content_block_delta","index":0}"#, Anthropic),
            (r#"{"candidates":[]}"#, Gemini),
            (r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#, Gemini),
            (r#"{"usageMetadata":{}}"#, Gemini),
            (r#"[{"candidates":[]}]"#, Gemini),
            (
                r#"{"interaction":{},"event_type":"interaction.created"}"#,
                GeminiInteractions,
            ),
            (
                r#"{"index":0,"event_type":"step.stop"}"#,
                GeminiInteractions,
            ),
            (r#"{"id":"c1","type":"message-start","delta":{}}"#, Cohere),
            (r#"{"type":"tool-plan-delta"}"#, Cohere),
            (
                r#"{"model":"m","message":{"content":"a"},"done":false}"#,
                Ollama,
            ),
        ] {
            assert_eq!(format_of(payload), Some(format), "{payload}");
        }
    }

    #[test]
    fn what_is_the_same_on_every_wire_decides_nothing() {
        for payload in [
            "",
            "[DONE]",
            ": keepalive",
            "null",
            "{}",
            "upstream error",
            r#"{"type":"ping"}"#,
            r#"{"error":{"message":"m"}}"#,
            r#"{"error":"m"}"#,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#,
            r#"{"object":"error","message":"m","code":400}"#,
            r#"{"event_type":"error","error":{"code":"x"}}"#,
            r#"[{"error":{"code":503}}]"#,
            r#"{"type":7,"message":"hello"}"#,
        ] {
            assert_eq!(format_of(payload), None, "{payload}");
        }
    }

    #[test]
    fn a_ping_before_the_start_waits_for_it() {
        let frames = [
            Frame::new(r#"{"type":"ping"}"#).with_event("ping"),
            Frame::new(r#"{"type":"message_start","message":{}}"#).with_event("message_start"),
        ];
        assert_eq!(decide(frames), (Some(WireFormat::Anthropic), 1));
    }

    #[test]
    fn an_event_field_decides_where_the_payload_does_not() {
        let of = |event, data| decide([Frame::new(data).with_event(event)]).0;
        assert_eq!(
            of("content_block_stop", r#"{"index":0}"#),
            Some(WireFormat::Anthropic)
        );
        assert_eq!(
            of("response.created", "{}"),
            Some(WireFormat::OpenAiResponses)
        );
        assert_eq!(of("tool-call-end", "{}"), Some(WireFormat::Cohere));
        assert_eq!(of("message", "{}"), None);
        // The payload's own word comes first.
        let both = of("message_start", r#"{"type":"response.created"}"#);
        assert_eq!(both, Some(WireFormat::OpenAiResponses));
    }

    #[test]
    fn a_cut_or_doubled_document_still_shows_its_members() {
        assert_eq!(
            format_of(r#"{"candidates":[{"content":{"par"#),
            Some(WireFormat::Gemini)
        );
        assert_eq!(
            format_of("{\"choices\":[]}\n{\"choices\":[]}"),
            Some(WireFormat::OpenAiChat)
        );
        assert_eq!(
            format_of("\n {\"choices\":[]}"),
            Some(WireFormat::OpenAiChat)
        );
    }

    #[cfg(feature = "bedrock")]
    #[test]
    fn the_binary_framing_is_bedrocks_and_so_are_its_event_names() {
        let mut detector = Detector::default();
        detector.framed(FramingKind::Aws);
        let frame = Frame::new("{}").with_event("initial-response");
        assert_eq!(detector.decide(frame), Verdict::Format(WireFormat::Bedrock));
        let of = |event, data| decide([Frame::new(data).with_event(event)]).0;
        assert_eq!(
            of("messageStart", r#"{"role":"assistant"}"#),
            Some(WireFormat::Bedrock)
        );
        assert_eq!(
            of("chunk", r#"{"bytes":"e30="}"#),
            Some(WireFormat::Bedrock)
        );
        assert_eq!(of("throttlingException", ""), Some(WireFormat::Bedrock));
        for (bridged, format) in [
            (r#"{"chunk":{"bytes":"e30="}}"#, Some(WireFormat::Bedrock)),
            (r#"{"throttlingException":{}}"#, Some(WireFormat::Bedrock)),
            (r#"{"chunk":"bytes"}"#, None),
            (r#"{"throttlingException":null}"#, None),
        ] {
            assert_eq!(format_of(bridged), format, "{bridged}");
        }
    }

    /// The folder of recorded streams and cases; `None`, and a line on what is skipped, where it is absent.
    fn shared() -> Option<PathBuf> {
        let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
        let root = std::env::var_os("CALLSTITCH_SHARED").map_or_else(beside, PathBuf::from);
        if root.join("cases/cases.jsonl").exists() {
            return Some(root);
        }
        assert!(
            std::env::var_os("CI").is_none(),
            "shared data is missing under CI"
        );
        println!("skipped: no {}", root.display());
        None
    }

    /// The format of `{"messageStart":{…}}` lines, each an event of the binary framing after it was decoded.
    fn format_of_converse(lines: &str) -> Option<WireFormat> {
        let mut events = Vec::new();
        for line in lines.lines().filter(|line| !line.trim().is_empty()) {
            let line: serde_json::Map<String, Value> = serde_json::from_str(line).unwrap();
            events.extend(
                line.into_iter()
                    .map(|(event, data)| (event, data.to_string())),
            );
        }
        decide(
            events
                .iter()
                .map(|(event, data)| Frame::new(data).with_event(event)),
        )
        .0
    }

    fn expected(wire: &str) -> Option<WireFormat> {
        let name = match wire {
            "anthropic-messages" => "anthropic",
            "gemini-generate" => "gemini",
            "cohere-v2-chat" => "cohere",
            "ollama-chat" => "ollama",
            "bedrock-converse" => "bedrock",
            "mistral" => "openai-chat",
            wire => wire,
        };
        name.parse().ok()
    }

    #[test]
    fn every_recorded_stream_shows_its_format() {
        let Some(root) = shared() else { return };
        let mut seen = 0;
        let folders = |path: &Path| -> Vec<PathBuf> {
            let entries = std::fs::read_dir(path).into_iter().flatten();
            entries.map(|entry| entry.unwrap().path()).collect()
        };
        let files = folders(&root.join("corpus"))
            .into_iter()
            .flat_map(|path| folders(&path));
        for file in files.flat_map(|path| folders(&path)) {
            let expected_file = PathBuf::from(format!("{}.expected.json", file.display()));
            let Ok(facts) = std::fs::read(&expected_file) else {
                continue;
            };
            let facts: Value = serde_json::from_slice(&facts).unwrap();
            let wire = facts["wire"].as_str().unwrap();
            let body = std::fs::read(&file).unwrap();
            let chunks = file.to_string_lossy().ends_with(".chunks.jsonl");
            let found = if chunks && wire == "bedrock-converse" {
                format_of_converse(std::str::from_utf8(&body).unwrap())
            } else if chunks && wire != "ollama-chat" {
                let lines = std::str::from_utf8(&body).unwrap().lines();
                let events: String = lines.map(|line| format!("data: {line}\n\n")).collect();
                format_of_body(events.as_bytes())
            } else {
                format_of_body(&body)
            };
            if wire == "bedrock-converse" && cfg!(not(feature = "bedrock")) {
                continue;
            }
            assert_eq!(found, expected(wire), "{}", file.display());
            seen += 1;
        }
        assert!(seen > 100, "{seen} recorded streams");
    }

    #[test]
    fn every_case_shows_its_format_or_only_an_error() {
        let Some(root) = shared() else { return };
        let cases = std::fs::read_to_string(root.join("cases/cases.jsonl")).unwrap();
        for case in cases.lines() {
            let case: Value = serde_json::from_str(case).unwrap();
            let wire = case["format"].as_str().unwrap();
            let Some(input) = case["input"].as_array().filter(|_| wire != "json") else {
                continue;
            };
            let body: String = input.iter().map(|chunk| chunk.as_str().unwrap()).collect();
            let found = match wire {
                "bedrock" if cfg!(not(feature = "bedrock")) => continue,
                "bedrock" => format_of_converse(&body),
                _ => format_of_body(body.as_bytes()),
            };
            if found.is_none() {
                assert_eq!(
                    case["expected"]["calls"],
                    Value::Array(Vec::new()),
                    "{}",
                    case["id"]
                );
                continue;
            }
            assert_eq!(found, expected(wire), "{}", case["id"]);
        }
    }
}
