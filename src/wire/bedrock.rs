//! AWS Bedrock: `ConverseStream`, and `InvokeModelWithResponseStream` (WIRE_FORMATS 5).
//!
//! Letter to the next reader. A Converse event's kind stands in the frame's event field and its payload is the bare body;
//! bridges that speak JSON wrap it as `{"contentBlockStart":{…}}` instead, and Nova's own events inside an Invoke stream look
//! like that too. Both are read. Blocks are keyed by `contentBlockIndex` and nothing else: text blocks have no start, so a
//! "current block" taken from starts is wrong. An Invoke stream is an envelope: each `chunk` holds one event of the model's
//! own wire in base64, which for Anthropic's models is handed to their decoder.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use smallvec::SmallVec;

use crate::delta::{
    ArgumentsPart, CallDelta, CallKey, ClosedBy, Delta, DeltaSink, Executor, FinishMeaning, Route,
    TextKind,
};
use crate::framing::Frame;
use crate::json::cursor::{Cursor, Fault, Kind, Text};
use crate::wire::Decoder;
use crate::wire::anthropic::Anthropic;
use crate::wire::payload::{Json, JsonDecoder, report_error};

pub(super) fn decoder() -> Box<dyn Decoder> {
    Box::new(Json::<Bedrock>::default())
}

#[derive(Debug, Default)]
struct Bedrock {
    converse: Converse,
    /// Reads what an Invoke stream envelopes.
    anthropic: Json<Anthropic>,
    /// Holds the decoded bytes of one `chunk`.
    bytes: Vec<u8>,
}

#[derive(Debug, Default)]
struct Converse {
    /// A `messageStart` came: another one begins the message again.
    started: bool,
    scratch: Vec<u8>,
}

/// The body of one event, read and not yet spoken. No two kinds share a member.
#[derive(Default)]
struct Body<'a> {
    index: Option<i64>,
    tool: Option<ToolUse<'a>>,
    arguments: Option<Arguments<'a>>,
    text: Option<(TextKind, Text<'a>)>,
    reason: Option<Text<'a>>,
    usage: Option<&'a str>,
    /// The base64 text of a `chunk`.
    bytes: Option<Text<'a>>,
    /// Bodies that a bridge put under the name of their kind.
    wrapped: SmallVec<[(&'static str, &'a str); 1]>,
    /// An exception that a bridge put under its name.
    exception: Option<(String, &'a str)>,
}

/// `start.toolUse`.
#[derive(Default)]
struct ToolUse<'a> {
    id: Option<Text<'a>>,
    name: Option<Text<'a>>,
    on_server: bool,
    /// Some relays put the input of the non-streaming shape here.
    input: Option<&'a str>,
}

/// `delta.toolUse.input`.
enum Arguments<'a> {
    Text(Text<'a>),
    Whole(&'a str),
}

const KINDS: [&str; 7] = [
    "messageStart",
    "contentBlockStart",
    "contentBlockDelta",
    "contentBlockStop",
    "messageStop",
    "metadata",
    "chunk",
];

impl JsonDecoder for Bedrock {
    fn document(
        &mut self,
        cursor: &mut Cursor<'_>,
        frame: Frame<'_>,
        sink: &mut dyn DeltaSink,
    ) -> Result<(), Fault> {
        if let Some(bytes) = self.converse.event(cursor, frame.event, sink)? {
            self.chunk(bytes, frame, sink);
        }
        Ok(())
    }
}

impl Bedrock {
    /// One event of the model's own wire.
    fn chunk(&mut self, bytes: Text<'_>, frame: Frame<'_>, sink: &mut dyn DeltaSink) {
        self.bytes.clear();
        if STANDARD
            .decode_vec(&*bytes.to_cow(), &mut self.bytes)
            .is_err()
        {
            return sink.delta(&Delta::Undecodable {
                problem: "a chunk's bytes are not base64",
            });
        }
        let text = String::from_utf8_lossy(&self.bytes);
        let lossy = matches!(text, std::borrow::Cow::Owned(_));
        if !is_wrapped(&text) {
            return self.anthropic.decode(
                Frame {
                    data: &text,
                    event: None,
                    lossy,
                    ..frame
                },
                sink,
            );
        }
        if self
            .converse
            .event(&mut Cursor::new(&text), None, sink)
            .is_err()
        {
            sink.delta(&Delta::Undecodable {
                problem: "a chunk's bytes are not JSON",
            });
        }
    }
}

/// Whether a document is a Converse event under the name of its kind: its first key tells.
fn is_wrapped(text: &str) -> bool {
    let key = text
        .trim_start()
        .strip_prefix('{')
        .and_then(|text| text.trim_start().strip_prefix('"'));
    key.is_some_and(|key| {
        KINDS.iter().any(|kind| {
            key.strip_prefix(kind)
                .is_some_and(|rest| rest.starts_with('"'))
        })
    })
}

fn read_body<'a>(cursor: &mut Cursor<'a>) -> Result<Body<'a>, Fault> {
    let mut body = Body::default();
    cursor.members(|cursor, key| {
        match key {
            b"contentBlockIndex" => body.index = cursor.integer()?,
            b"delta" => read_delta(cursor, &mut body)?,
            b"start" => drop(cursor.members(|cursor, key| {
                match key {
                    b"toolUse" if cursor.kind()? == Kind::Object => {
                        body.tool = Some(read_tool(cursor)?)
                    }
                    _ => cursor.skip()?,
                }
                Ok(())
            })?),
            b"stopReason" => body.reason = cursor.label()?,
            b"usage" => body.usage = Some(cursor.raw()?).filter(|usage| usage.starts_with('{')),
            b"bytes" => body.bytes = cursor.text()?,
            _ => {
                let value = cursor.raw()?;
                let kind = KINDS
                    .iter()
                    .find(|kind| kind.as_bytes() == key)
                    .filter(|_| value.starts_with('{'));
                body.wrapped.extend(kind.map(|&kind| (kind, value)));
                if key.ends_with(b"Exception") && value.starts_with('{') {
                    body.exception = Some((String::from_utf8_lossy(key).into_owned(), value));
                }
            }
        }
        Ok(())
    })?;
    cursor.end()?;
    Ok(body)
}

fn read_tool<'a>(cursor: &mut Cursor<'a>) -> Result<ToolUse<'a>, Fault> {
    let mut tool = ToolUse::default();
    cursor.members(|cursor, key| {
        match key {
            b"toolUseId" => tool.id = cursor.label()?,
            b"name" => tool.name = cursor.label()?,
            b"type" => {
                tool.on_server = cursor
                    .text()?
                    .is_some_and(|kind| kind.raw == "server_tool_use")
            }
            b"input" => tool.input = Some(cursor.raw()?).filter(|input| input.starts_with('{')),
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(tool)
}

fn read_delta<'a>(cursor: &mut Cursor<'a>, body: &mut Body<'a>) -> Result<(), Fault> {
    let read = |cursor: &mut Cursor<'a>, key: &[u8], body: &mut Body<'a>| {
        match (key, cursor.kind()?) {
            (b"input", Kind::String) => body.arguments = cursor.text()?.map(Arguments::Text),
            (b"input", Kind::Object) => body.arguments = Some(Arguments::Whole(cursor.raw()?)),
            (b"signature" | b"redactedContent", _) => {
                body.text = cursor.text()?.map(|text| (TextKind::Signature, text))
            }
            _ => cursor.skip()?,
        }
        Ok(())
    };
    cursor
        .members(|cursor, key| {
            match key {
                b"toolUse" => drop(cursor.members(|cursor, key| read(cursor, key, body))?),
                b"reasoningContent" => drop(cursor.members(|cursor, key| match key {
                    b"text" => {
                        body.text = cursor.text()?.map(|text| (TextKind::Reasoning, text));
                        Ok(())
                    }
                    _ => read(cursor, key, body),
                })?),
                b"text" => body.text = cursor.text()?.map(|text| (TextKind::Answer, text)),
                _ => cursor.skip()?,
            }
            Ok(())
        })
        .map(drop)
}

impl Converse {
    /// Reads and speaks one event; hands out the base64 text of a `chunk`.
    fn event<'a>(
        &mut self,
        cursor: &mut Cursor<'a>,
        kind: Option<&str>,
        sink: &mut dyn DeltaSink,
    ) -> Result<Option<Text<'a>>, Fault> {
        let mut body = read_body(cursor)?;
        let mut bytes = None;
        let wrapped = std::mem::take(&mut body.wrapped);
        if wrapped.is_empty() {
            bytes = self.speak(kind.unwrap_or_default(), &body, sink);
        }
        for (kind, text) in wrapped {
            bytes = self
                .speak(kind, &read_body(&mut Cursor::new(text))?, sink)
                .or(bytes);
        }
        if let Some((code, problem)) = body.exception {
            report_error(problem, Some(&code), sink);
        }
        Ok(bytes)
    }

    fn speak<'a>(
        &mut self,
        kind: &str,
        body: &Body<'a>,
        sink: &mut dyn DeltaSink,
    ) -> Option<Text<'a>> {
        let key = CallKey {
            index: body.index,
            position: (0, 1),
            ..CallKey::default()
        };
        match kind {
            "contentBlockDelta" => self.speak_delta(key, body, sink),
            "contentBlockStart" => speak_start(key, body, sink),
            "contentBlockStop" => sink.delta(&Delta::Close {
                key,
                by: ClosedBy::BlockStop,
            }),
            "messageStart" if std::mem::replace(&mut self.started, true) => {
                sink.delta(&Delta::Restart)
            }
            "messageStop" => {
                finish(body.reason, sink);
                // Closes the blocks whose stop never came (Bifrost sends none). Only the usage comes after it.
                sink.delta(&Delta::End);
            }
            "metadata" => {
                if let Some(usage) = body.usage {
                    sink.delta(&Delta::Usage(usage));
                }
            }
            "chunk" => return body.bytes,
            _ => {}
        }
        None
    }

    fn speak_delta(&mut self, key: CallKey<'_>, body: &Body<'_>, sink: &mut dyn DeltaSink) {
        if let Some((kind, text)) = body.text {
            sink.delta(&Delta::Text {
                choice: 0,
                kind,
                text: text.fragment(&mut self.scratch),
            });
        }
        let mut call = CallDelta::new();
        call.key = key;
        call.route = Route::Labelled;
        call.arguments = match &body.arguments {
            Some(Arguments::Text(text)) => {
                ArgumentsPart::Fragment(text.fragment(&mut self.scratch))
            }
            Some(Arguments::Whole(value)) => ArgumentsPart::Whole(value),
            None => return,
        };
        sink.delta(&Delta::Call(call));
    }
}

fn speak_start(key: CallKey<'_>, body: &Body<'_>, sink: &mut dyn DeltaSink) {
    let Some(tool) = &body.tool else { return };
    let (id, name) = (tool.id.map(Text::to_cow), tool.name.map(Text::to_cow));
    let mut call = CallDelta::new().name(name.as_deref());
    call.key = CallKey {
        id: id.as_deref(),
        ..key
    };
    call.route = Route::Opens;
    call.executor = Some(if tool.on_server {
        Executor::Provider
    } else {
        Executor::Client
    });
    call.arguments = tool
        .input
        .map_or(ArgumentsPart::None, ArgumentsPart::Initial);
    sink.delta(&Delta::Call(call));
}

fn finish(reason: Option<Text<'_>>, sink: &mut dyn DeltaSink) {
    let Some(reason) = reason.map(Text::to_cow) else {
        return;
    };
    let meaning = match &*reason {
        "end_turn" | "stop_sequence" => FinishMeaning::Stop,
        "tool_use" => FinishMeaning::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => FinishMeaning::Length,
        "guardrail_intervened" | "content_filtered" => FinishMeaning::Filtered,
        "malformed_tool_use" => FinishMeaning::MalformedCall,
        "malformed_model_output" => FinishMeaning::Error,
        _ => FinishMeaning::Other,
    };
    sink.delta(&Delta::Finish {
        choice: 0,
        reason: &reason,
        native: None,
        meaning,
    });
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::framing::Origin;
    use crate::wire::spoken::{Spoken, spoken};

    /// What is said of Converse events as Bedrock frames them, and as a JSON bridge wraps them: the same.
    fn says(events: &[(&str, &str)]) -> Vec<String> {
        let mut decoder = decoder();
        let mut sink = Spoken::default();
        for (kind, payload) in events {
            decoder.decode(Frame::new(payload).with_event(kind), &mut sink);
        }
        let wrapped: Vec<String> = events
            .iter()
            .map(|(kind, payload)| format!(r#"{{"{kind}":{payload}}}"#))
            .collect();
        assert_eq!(bridged(&wrapped), sink.0);
        sink.0
    }

    fn bridged(payloads: &[String]) -> Vec<String> {
        spoken(
            decoder(),
            &payloads.iter().map(String::as_str).collect::<Vec<_>>(),
        )
    }

    /// What is said of an Invoke stream of these events.
    fn invoked(events: &[&str]) -> Vec<String> {
        let chunks: Vec<_> = events
            .iter()
            .map(|event| format!(r#"{{"bytes":"{}","p":"abc"}}"#, STANDARD.encode(event)))
            .collect();
        says(
            &chunks
                .iter()
                .map(|chunk| ("chunk", chunk.as_str()))
                .collect::<Vec<_>>(),
        )
    }

    const START: (&str, &str) = (
        "contentBlockStart",
        r#"{"contentBlockIndex":0,"start":{"toolUse":{"name":"tide_height","toolUseId":"tooluse_A"}}}"#,
    );
    const OPENS: &str = "opens #0 tooluse_A name tide_height executor client";
    const STOP: (&str, &str) = ("contentBlockStop", r#"{"contentBlockIndex":0}"#);

    #[test]
    fn one_call_after_a_text_that_has_no_start() {
        let said = says(&[
            ("messageStart", r#"{"p":"abcdefgh","role":"assistant"}"#),
            (
                "contentBlockDelta",
                r#"{"contentBlockIndex":0,"delta":{"text":"Checking."},"p":"ab"}"#,
            ),
            ("contentBlockStop", r#"{"contentBlockIndex":0,"p":"abcd"}"#),
            (
                "contentBlockStart",
                r#"{"contentBlockIndex":1,"p":"a","start":{"toolUse":{"name":"tide_height","toolUseId":"tooluse_Q"}}}"#,
            ),
            (
                "contentBlockDelta",
                r#"{"contentBlockIndex":1,"delta":{"toolUse":{"input":""}},"p":"abc"}"#,
            ),
            (
                "contentBlockDelta",
                r#"{"contentBlockIndex":1,"delta":{"toolUse":{"input":"{\"port\": \"Br"}},"p":"abcdef"}"#,
            ),
            (
                "contentBlockDelta",
                r#"{"contentBlockIndex":1,"delta":{"toolUse":{"input":"est\"}"}},"p":"ab"}"#,
            ),
            (
                "contentBlockStop",
                r#"{"contentBlockIndex":1,"p":"abcdefg"}"#,
            ),
            ("messageStop", r#"{"p":"abc","stopReason":"tool_use"}"#),
            (
                "metadata",
                r#"{"metrics":{"latencyMs":812},"p":"ab","usage":{"inputTokens":410,"outputTokens":60}}"#,
            ),
        ]);
        let expected = [
            "Answer Checking.",
            "close #0 BlockStop",
            "opens #1 tooluse_Q name tide_height executor client",
            "labelled #1 + ",
            r#"labelled #1 + {"port": "Br"#,
            r#"labelled #1 + est"}"#,
            "close #1 BlockStop",
            "finish tool_use ToolCalls",
            "end",
            r#"usage {"inputTokens":410,"outputTokens":60}"#,
        ];
        assert_eq!(said, expected);
    }

    #[test]
    fn two_calls_the_second_without_input() {
        let said = says(&[
            START,
            (
                "contentBlockDelta",
                r#"{"contentBlockIndex":0,"delta":{"toolUse":{"input":"{\"port\":\"Brest\"}"}}}"#,
            ),
            STOP,
            (
                "contentBlockStart",
                r#"{"contentBlockIndex":1,"start":{"toolUse":{"name":"now","toolUseId":"tooluse_B"}}}"#,
            ),
            ("contentBlockStop", r#"{"contentBlockIndex":1}"#),
        ]);
        let expected = [
            OPENS,
            r#"labelled #0 + {"port":"Brest"}"#,
            "close #0 BlockStop",
            "opens #1 tooluse_B name now executor client",
            "close #1 BlockStop",
        ];
        assert_eq!(said, expected);
    }

    #[test]
    fn a_block_without_its_stop_is_left_to_the_end_of_the_message() {
        assert_eq!(
            says(&[START, ("messageStop", r#"{"stopReason":"end_turn"}"#)]),
            [OPENS, "finish end_turn Stop", "end"]
        );
    }

    #[test]
    fn a_server_tool_is_run_by_the_provider_and_other_starts_are_no_calls() {
        let start = |start: &str| {
            let payload = format!(r#"{{"contentBlockIndex":0,"start":{{{start}}}}}"#);
            says(&[("contentBlockStart", &payload)])
        };
        let tool = |kind: &str| {
            start(&format!(
                r#""toolUse":{{"name":"nova_grounding","toolUseId":"t","type":"{kind}"}}"#
            ))
        };
        assert_eq!(
            tool("server_tool_use"),
            ["opens #0 t name nova_grounding executor provider"]
        );
        assert_eq!(
            tool("tool_use"),
            ["opens #0 t name nova_grounding executor client"]
        );
        for other in [
            "",
            r#""toolResult":{"toolUseId":"t"}"#,
            r#""image":{}"#,
            r#""toolUse":null"#,
        ] {
            assert_eq!(start(other), [""; 0], "{other}");
        }
    }

    #[test]
    fn reasoning_its_signature_and_redacted_reasoning_pass_through_and_citations_do_not() {
        let delta = |delta: &str| {
            let payload = format!(r#"{{"contentBlockIndex":0,"delta":{delta}}}"#);
            says(&[("contentBlockDelta", &payload)])
        };
        assert_eq!(
            delta(r#"{"reasoningContent":{"text":"so"}}"#),
            ["Reasoning so"]
        );
        assert_eq!(
            delta(r#"{"reasoningContent":{"signature":"c2ln"}}"#),
            ["Signature c2ln"]
        );
        assert_eq!(
            delta(r#"{"reasoningContent":{"redactedContent":"cmVk"}}"#),
            ["Signature cmVk"]
        );
        assert_eq!(delta(r#"{"citation":{"title":"t"}}"#), [""; 0]);
        assert_eq!(delta(r#"{"toolResult":[{"text":"t"}]}"#), [""; 0]);
    }

    #[test]
    fn an_input_that_is_an_object_is_taken_whole() {
        let payload = r#"{"contentBlockIndex":0,"delta":{"toolUse":{"input":{"port":"Brest"}}}}"#;
        assert_eq!(
            says(&[("contentBlockDelta", payload)]),
            [r#"labelled #0 whole {"port":"Brest"}"#]
        );
        let payload = r#"{"contentBlockIndex":0,"start":{"toolUse":{"name":"a","toolUseId":"t","input":{"b":1}}}}"#;
        assert_eq!(
            says(&[("contentBlockStart", payload)]),
            [r#"opens #0 t name a executor client initial {"b":1}"#]
        );
    }

    #[test]
    fn every_stop_reason_has_its_meaning() {
        for (reason, meaning) in [
            ("end_turn", "Stop"),
            ("stop_sequence", "Stop"),
            ("tool_use", "ToolCalls"),
            ("max_tokens", "Length"),
            ("model_context_window_exceeded", "Length"),
            ("guardrail_intervened", "Filtered"),
            ("content_filtered", "Filtered"),
            ("malformed_tool_use", "MalformedCall"),
            ("malformed_model_output", "Error"),
            ("a_later_one", "Other"),
        ] {
            let said = says(&[("messageStop", &format!(r#"{{"stopReason":"{reason}"}}"#))]);
            assert_eq!(
                said,
                [format!("finish {reason} {meaning}"), "end".to_owned()]
            );
        }
        assert_eq!(says(&[("messageStop", "{}")]), ["end"]);
    }

    #[test]
    fn a_message_that_starts_again_is_a_restart() {
        let start = ("messageStart", r#"{"role":"assistant"}"#);
        assert_eq!(says(&[start, START, start]), [OPENS, "restart"]);
    }

    #[test]
    fn an_exception_is_an_error_under_its_type() {
        let mut sink = Spoken::default();
        let frame = Frame {
            origin: Origin::Exception,
            ..Frame::new(r#"{"message":"slow down"}"#).with_event("throttlingException")
        };
        decoder().decode(frame, &mut sink);
        assert_eq!(sink.0, ["error slow down (throttlingException)"]);
        let wrapped =
            r#"{"modelStreamErrorException":{"message":"gone","originalStatusCode":500}}"#;
        assert_eq!(
            bridged(&[wrapped.to_owned()]),
            ["error gone (modelStreamErrorException)"]
        );
    }

    #[test]
    fn an_invoke_stream_of_an_anthropic_model_is_read_as_anthropic_s() {
        let said = says(&[(
            "chunk",
            r#"{"bytes":"eyJ0eXBlIjoiY29udGVudF9ibG9ja19zdG9wIiwiaW5kZXgiOjB9","p":"abc"}"#,
        )]);
        assert_eq!(said, ["close #0 BlockStop"]);
        let said = invoked(&[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"now","input":{}}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":\"é\"}"}}"#,
            r#"{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":1}}"#,
        ]);
        let expected = [
            "opens #0 toolu_1 name now executor client initial {}",
            r#"labelled #0 + {"a":"é"}"#,
            "end",
        ];
        assert_eq!(said, expected);
        let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#;
        assert_eq!(invoked(&[error]), ["error busy (overloaded_error)"]);
    }

    #[test]
    fn an_invoke_stream_of_converse_events_is_read_as_such() {
        let said = invoked(&[
            r#" { "messageStop" : {"stopReason":"tool_use"}}"#,
            r#"{"chunk":{"bytes":"e30="}}"#,
        ]);
        assert_eq!(said, ["finish tool_use ToolCalls", "end"]);
    }

    #[test]
    fn a_chunk_that_cannot_be_read_is_told_without_its_text() {
        assert_eq!(
            says(&[("chunk", r#"{"bytes":"&"}"#)]),
            ["undecodable: a chunk's bytes are not base64"]
        );
        assert_eq!(
            invoked(&[r#"{"messageStop":"#]),
            ["undecodable: a chunk's bytes are not JSON"]
        );
        let said = invoked(&[r#"{"type":"#]);
        assert_eq!(
            said,
            ["undecodable: an event's data of 8 bytes ends too early at its byte 8"]
        );
        let lossy = STANDARD.encode(b"{\"type\":\"\xff\"}");
        assert_eq!(
            says(&[("chunk", &format!(r#"{{"bytes":"{lossy}"}}"#))]),
            ["anomaly lossy-utf8"]
        );
    }

    #[test]
    fn unknown_events_and_members_are_nothing() {
        assert_eq!(
            says(&[
                (
                    "contentBlockAudit",
                    r#"{"contentBlockIndex":0,"delta":{"text":"a"}}"#
                ),
                ("chunk", "{}")
            ]),
            [""; 0]
        );
        assert_eq!(
            says(&[("contentBlockStop", r#"{"contentBlockIndex":"1","b":[]}"#)]),
            ["close #1 BlockStop"]
        );
    }
}
