//! Bodies of the formats that the transcripts do not hold: Gemini and Ollama send a call's arguments whole, Cohere and Bedrock in
//! deltas. Some text comes before each call.

use callstitch::WireFormat;
use serde_json::{Value, json};

use crate::bodies::Body;
use crate::peer::Written;
use crate::transcripts::{Random, arguments, deltas};

pub const FORMATS: [WireFormat; 4] = [
    WireFormat::Gemini,
    WireFormat::Cohere,
    WireFormat::Bedrock,
    WireFormat::Ollama,
];

/// Of one call, where arguments come whole: a turn of a single event is hardly a stream.
const WHOLE: usize = 16 << 10;
/// Before each call.
const TEXTS: usize = 8;
const NAME: &str = "write_file";

struct Writer {
    format: WireFormat,
    random: Random,
    body: Vec<u8>,
    ends: Vec<usize>,
}

/// A body with so many bytes of arguments.
pub fn body(format: WireFormat, bytes: usize) -> Body {
    let mut random = Random::new(7);
    let mut writer = Writer {
        format,
        random: Random::new(11),
        body: Vec::new(),
        ends: Vec::new(),
    };
    let streamed = matches!(format, WireFormat::Cohere | WireFormat::Bedrock);
    let count = if streamed { 1 } else { bytes.div_ceil(WHOLE) };
    writer.begin();
    let mut calls = Vec::new();
    for call in 0..count {
        for _ in 0..TEXTS {
            writer.text("The tide at Oban turns early. ");
        }
        let text = arguments(bytes / count, &mut random);
        let id = match format {
            WireFormat::Gemini => None,
            _ => Some(format!("call_{call:04}")),
        };
        if streamed {
            writer.open(&format!("call_{call:04}"));
            for piece in deltas(&text, 1, 7, &mut random) {
                writer.delta(piece);
            }
            writer.close();
        } else {
            writer.whole(call, &text);
        }
        calls.push(Written {
            id,
            name: NAME.into(),
            arguments: text,
        });
    }
    writer.end();
    Body {
        format,
        bytes: writer.body.into(),
        calls,
        ends: writer.ends,
    }
}

impl Writer {
    /// One event in the format's framing; `name` where the framing has one.
    fn event(&mut self, name: &str, payload: &str) {
        match self.format {
            WireFormat::Gemini => self.line(&["data: ", payload, "\r\n\r\n"]),
            WireFormat::Cohere => self.line(&["event: ", name, "\ndata: ", payload, "\n\n"]),
            WireFormat::Bedrock => self.body.extend(frame(name, payload.as_bytes())),
            _ => self.line(&[payload, "\n"]),
        }
        self.ends.push(self.body.len());
    }

    fn line(&mut self, pieces: &[&str]) {
        for piece in pieces {
            self.body.extend_from_slice(piece.as_bytes());
        }
    }

    fn cohere(&mut self, kind: &str, rest: Value) {
        let mut payload = json!({"type": kind});
        let members = rest.as_object().cloned().unwrap_or_default();
        payload.as_object_mut().expect("an object").extend(members);
        self.event(kind, &payload.to_string());
    }

    fn begin(&mut self) {
        match self.format {
            WireFormat::Cohere => self.cohere(
                "message-start",
                json!({"id": "c1", "delta": {"message": {"role": "assistant", "content": [], "tool_calls": []}}}),
            ),
            WireFormat::Bedrock => {
                self.event("messageStart", r#"{"p":"abcdefgh","role":"assistant"}"#)
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        match self.format {
            WireFormat::Gemini => self.gemini(&json!({ "text": text }).to_string(), None),
            WireFormat::Cohere => self.cohere(
                "tool-plan-delta",
                json!({"delta": {"message": {"tool_plan": text}}}),
            ),
            WireFormat::Bedrock => self.bedrock_delta(0, json!({ "text": text })),
            _ => self.ollama(text, "[]", false),
        }
    }

    fn open(&mut self, id: &str) {
        if self.format == WireFormat::Cohere {
            let call =
                json!({"id": id, "type": "function", "function": {"name": NAME, "arguments": ""}});
            self.cohere(
                "tool-call-start",
                json!({"index": 0, "delta": {"message": {"tool_calls": call}}}),
            );
        } else {
            let start = json!({"toolUse": {"name": NAME, "toolUseId": id}});
            self.event(
                "contentBlockStart",
                &json!({"contentBlockIndex": 1, "p": "a", "start": start}).to_string(),
            );
        }
    }

    fn delta(&mut self, piece: &str) {
        if self.format == WireFormat::Cohere {
            let call = json!({"function": {"arguments": piece}});
            self.cohere(
                "tool-call-delta",
                json!({"index": 0, "delta": {"message": {"tool_calls": call}}}),
            );
        } else {
            self.bedrock_delta(1, json!({"toolUse": {"input": piece}}));
        }
    }

    /// With the padding of random length that Bedrock sends with every event.
    fn bedrock_delta(&mut self, block: usize, delta: Value) {
        const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
        let padding = &LETTERS[..1 + self.random.below(LETTERS.len())];
        let event = json!({"contentBlockIndex": block, "delta": delta, "p": padding});
        self.event("contentBlockDelta", &event.to_string());
    }

    fn close(&mut self) {
        if self.format == WireFormat::Cohere {
            self.cohere("tool-call-end", json!({"index": 0}));
        } else {
            self.event("contentBlockStop", r#"{"contentBlockIndex":1,"p":"abcd"}"#);
        }
    }

    fn whole(&mut self, call: usize, arguments: &str) {
        if self.format == WireFormat::Gemini {
            self.gemini(
                &format!(r#"{{"functionCall":{{"name":"{NAME}","args":{arguments}}}}}"#),
                None,
            );
        } else {
            let call = format!(
                r#"[{{"id":"call_{call:04}","function":{{"index":{call},"name":"{NAME}","arguments":{arguments}}}}}]"#
            );
            self.ollama("", &call, false);
        }
    }

    fn gemini(&mut self, part: &str, finish: Option<&str>) {
        let finish = finish.map_or(String::new(), |reason| {
            format!(r#""finishReason":"{reason}","#)
        });
        self.event(
            "",
            &format!(
                r#"{{"candidates":[{{"content":{{"role":"model","parts":[{part}]}},{finish}"index":0}}],"usageMetadata":{{"promptTokenCount":50}},"modelVersion":"gemini-demo","responseId":"r-1"}}"#
            ),
        );
    }

    fn ollama(&mut self, content: &str, calls: &str, done: bool) {
        let reason = if done { r#","done_reason":"stop""# } else { "" };
        self.event(
            "",
            &format!(
                r#"{{"model":"llama-demo","created_at":"2026-08-01T10:00:00.1Z","message":{{"role":"assistant","content":"{content}","tool_calls":{calls}}},"done":{done}{reason}}}"#
            ),
        );
    }

    fn end(&mut self) {
        match self.format {
            WireFormat::Gemini => self.gemini(r#"{"text":""}"#, Some("STOP")),
            WireFormat::Cohere => self.cohere(
                "message-end",
                json!({"delta": {"finish_reason": "TOOL_CALL"}}),
            ),
            WireFormat::Bedrock => {
                self.event("messageStop", r#"{"p":"abc","stopReason":"tool_use"}"#);
                self.event("metadata", r#"{"metrics":{"latencyMs":812},"p":"ab"}"#);
            }
            _ => self.ollama("", "[]", true),
        }
    }
}

/// One frame of the AWS binary event stream, with both checksums.
fn frame(event: &str, payload: &[u8]) -> Vec<u8> {
    let mut headers = Vec::new();
    for (name, value) in [
        (":event-type", event),
        (":content-type", "application/json"),
        (":message-type", "event"),
    ] {
        const STRING: u8 = 7;
        headers.push(name.len() as u8);
        headers.extend(name.as_bytes());
        headers.push(STRING);
        headers.extend((value.len() as u16).to_be_bytes());
        headers.extend(value.as_bytes());
    }
    // The prelude with its checksum, and the checksum of all at the end.
    let total = 12 + headers.len() + payload.len() + 4;
    let mut out = Vec::with_capacity(total);
    out.extend((total as u32).to_be_bytes());
    out.extend((headers.len() as u32).to_be_bytes());
    out.extend(crc32fast::hash(&out).to_be_bytes());
    out.extend(headers);
    out.extend(payload);
    out.extend(crc32fast::hash(&out).to_be_bytes());
    out
}
