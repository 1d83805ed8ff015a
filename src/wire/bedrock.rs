//! AWS Bedrock: `ConverseStream`, and `InvokeModelWithResponseStream` (WIRE_FORMATS 5).
//!
//! Letter to the next reader. A Converse event's kind stands in the frame's event field and its payload is the bare body;
//! bridges that speak JSON wrap it as `{"contentBlockStart":{…}}` instead, and Nova's own events inside an Invoke stream look
//! like that too. Both are read. Blocks are keyed by `contentBlockIndex` and nothing else: text blocks have no start, so a
//! "current block" taken from starts is wrong. An Invoke stream is an envelope: each `chunk` holds one event of the model's
//! own wire in base64, which for Anthropic's models is handed to their decoder.

#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use smallvec::SmallVec;

use crate::delta::{
    ArgumentsPart, CallDelta, CallKey, ClosedBy, Delta, DeltaSink, Executor, FinishMeaning, Route,
    TextKind,
};
use crate::framing::Frame;
use crate::json::cursor::{Cursor, Fault, Kind, Text};
use crate::wire::anthropic::Anthropic;
use crate::wire::payload::{Json, JsonDecoder, error, object, report_error, report_finish};
use crate::wire::{Decoder, SERVER_TOOL_USE};

pub(super) fn decoder() -> Box<dyn Decoder> {
    Box::new(Json::<Bedrock>::default())
}

#[derive(Default)]
struct Bedrock {
    converse: Converse,
    /// Reads what an Invoke stream envelopes. None until there is such.
    anthropic: Option<Box<Json<Anthropic>>>,
    /// Holds the decoded bytes of one `chunk`.
    bytes: Vec<u8>,
    /// Counts the chunks: what one says does not stand in its document.
    chunks: u32,
}

#[derive(Default)]
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
    /// A member says that something failed.
    failed: bool,
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
    const ECHOES: bool = true;

    /// A bridge to server-sent events names an exception as its frame does.
    fn names_error(event: &str) -> bool {
        event == "error" || is_exception(event)
    }

    fn epoch(&self) -> u32 {
        self.chunks
    }

    fn document(
        &mut self,
        cursor: &mut Cursor<'_>,
        frame: Frame<'_>,
        sink: &mut dyn DeltaSink,
    ) -> Result<(), Fault> {
        if let Some(bytes) = self.converse.event(cursor, frame.event, sink)? {
            self.chunks = self.chunks.wrapping_add(1);
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
            return self.anthropic.get_or_insert_default().decode(
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

/// Whether this names an exception (5.2): a frame's type, a bridge's event or member.
pub(super) fn is_exception(name: &str) -> bool {
    name.ends_with("Exception")
}

/// Whether a document is a Converse event under the name of its kind, and none of Anthropic's, which has a type. Padding and
/// metrics may stand before either (E16).
fn is_wrapped(text: &str) -> bool {
    let mut wrapped = false;
    let _ = Cursor::new(text).members(|cursor, key| {
        wrapped = KINDS.iter().any(|kind| kind.as_bytes() == key);
        if wrapped || key == b"type" {
            return Err(Fault);
        }
        cursor.skip()
    });
    wrapped
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
            b"error" => body.failed |= error(cursor)?.is_some(),
            b"message" | b"Message" => body.failed |= cursor.label()?.is_some(),
            _ if str::from_utf8(key).is_ok_and(is_exception) => {
                let value = cursor.raw()?;
                if !matches!(value, "null" | "false" | "\"\"") {
                    body.exception = Some((String::from_utf8_lossy(key).into_owned(), value));
                }
            }
            _ => match KINDS.iter().find(|kind| kind.as_bytes() == key) {
                Some(kind) => body
                    .wrapped
                    .extend(object(cursor)?.map(|value| (*kind, value))),
                None => cursor.skip()?,
            },
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
                    .is_some_and(|kind| kind.raw == SERVER_TOOL_USE)
            }
            b"input" => tool.input = Some(cursor.raw()?),
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(tool)
}

fn read_delta<'a>(cursor: &mut Cursor<'a>, body: &mut Body<'a>) -> Result<(), Fault> {
    // Bridges that send every member leave all but one of them empty.
    let read_text = |cursor: &mut Cursor<'a>, kind, body: &mut Body<'a>| {
        let text = cursor.text()?.filter(|text| !text.raw.is_empty());
        body.text = text.map(|text| (kind, text)).or(body.text);
        Ok(())
    };
    let read = |cursor: &mut Cursor<'a>, key: &[u8], body: &mut Body<'a>| {
        match (key, cursor.kind()?) {
            (b"input", Kind::String) => body.arguments = cursor.text()?.map(Arguments::Text),
            (b"input", Kind::Null) => cursor.skip()?,
            (b"input", _) => body.arguments = Some(Arguments::Whole(cursor.raw()?)),
            (b"signature" | b"redactedContent", _) => read_text(cursor, TextKind::Signature, body)?,
            _ => cursor.skip()?,
        }
        Ok(())
    };
    cursor
        .members(|cursor, key| {
            match key {
                b"toolUse" => drop(cursor.members(|cursor, key| read(cursor, key, body))?),
                b"reasoningContent" => drop(cursor.members(|cursor, key| match key {
                    b"text" => read_text(cursor, TextKind::Reasoning, body),
                    _ => read(cursor, key, body),
                })?),
                b"text" => read_text(cursor, TextKind::Answer, body)?,
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
        // The body of an error response: what an exception's payload is, under no event's name (11.1.6).
        let is_named = kind.is_some_and(|kind| kind != "message");
        if body.failed && !is_named {
            report_error(cursor.document(), None, sink);
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
    report_finish(0, &reason, meaning, sink);
}
