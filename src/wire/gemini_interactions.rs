//! Gemini Interactions (WIRE_FORMATS 4.7).
//!
//! Letter to the next reader. Steps are keyed by their index, opened by `step.start` and closed by `step.stop`; the
//! `event_type` member decides, and the `event:` line only where it is missing. Every step whose type ends in `_call` and is
//! no `function_call` is run by the provider. The first version of the API had `content.start`, `.delta` and `.stop` in the
//! place of the steps, with whole calls inside the deltas (python-genai `content_delta.py`); they read the same way.

use crate::delta::{
    ArgumentsPart, CallDelta, Delta, DeltaSink, Executor, FinishMeaning, Route, TextKind, ToolKind,
};
use crate::framing::Frame;
use crate::json::cursor::{Cursor, Fault, Kind, Text};
use crate::wire::Decoder;
use crate::wire::payload::{
    Arguments, Json, JsonDecoder, error, is_foreign_error, object, report_error, report_finish,
    stop_block,
};

pub(super) fn decoder() -> Box<dyn Decoder> {
    Box::new(Json::<GeminiInteractions>::default())
}

#[derive(Default)]
struct GeminiInteractions {
    scratch: Vec<u8>,
}

/// One provider event, read and not yet spoken.
#[derive(Default)]
struct Event<'a> {
    kind: Option<Text<'a>>,
    index: Option<i64>,
    step: Step<'a>,
    status: Option<Text<'a>>,
    usage: Option<&'a str>,
    error: Option<&'a str>,
}

/// A `step`, a `delta` or, in the first version, a `content`.
#[derive(Default)]
struct Step<'a> {
    kind: Option<Text<'a>>,
    id: Option<Text<'a>>,
    name: Option<Text<'a>>,
    server_name: Option<Text<'a>>,
    arguments: Arguments<'a>,
    signature: Option<&'a str>,
    text: Option<Text<'a>>,
    /// The text of a thought's summary.
    summary: Option<Text<'a>>,
}

impl JsonDecoder for GeminiInteractions {
    const ECHOES: bool = true;

    fn document(
        &mut self,
        cursor: &mut Cursor<'_>,
        frame: Frame<'_>,
        sink: &mut dyn DeltaSink,
    ) -> Result<(), Fault> {
        let event = read_event(cursor)?;
        cursor.end()?;
        let kind = event.kind.map(Text::to_cow);
        match kind.as_deref().or(frame.event).unwrap_or_default() {
            "step.delta" | "content.delta" => {
                self.speak_step(&event.step, event.index, false, sink)
            }
            "step.start" | "content.start" => self.speak_step(&event.step, event.index, true, sink),
            "step.stop" | "content.stop" => stop_block(event.index, sink),
            "interaction.completed" | "interaction.complete" => {
                finish(&event, sink);
                if let Some(usage) = event.usage {
                    sink.delta(&Delta::Usage(usage));
                }
                match event.error {
                    Some(error) => report_error(error, None, sink),
                    None => sink.delta(&Delta::End),
                }
            }
            "error" => report_error(event.error.unwrap_or(cursor.document()), None, sink),
            _ => match event.error {
                Some(error) => report_error(error, None, sink),
                None if is_foreign_error(cursor.document(), kind.as_deref()) => {
                    report_error(cursor.document(), None, sink)
                }
                None => {}
            },
        }
        Ok(())
    }
}

fn read_event<'a>(cursor: &mut Cursor<'a>) -> Result<Event<'a>, Fault> {
    let mut event = Event::default();
    cursor.members(|cursor, key| {
        match key {
            b"event_type" => event.kind = cursor.label()?,
            b"index" => event.index = cursor.integer()?,
            b"step" | b"delta" | b"content" if cursor.kind()? == Kind::Object => {
                event.step = read_step(cursor)?
            }
            b"interaction" => drop(cursor.members(|cursor, key| {
                match key {
                    b"status" => event.status = cursor.label()?,
                    b"usage" => event.usage = object(cursor)?,
                    b"error" => event.error = error(cursor)?.or(event.error),
                    _ => cursor.skip()?,
                }
                Ok(())
            })?),
            b"error" => event.error = error(cursor)?.or(event.error),
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(event)
}

fn read_step<'a>(cursor: &mut Cursor<'a>) -> Result<Step<'a>, Fault> {
    let mut step = Step::default();
    cursor.members(|cursor, key| {
        match key {
            b"type" => step.kind = cursor.label()?,
            b"id" => step.id = cursor.label()?,
            b"name" => step.name = cursor.label()?,
            b"server_name" => step.server_name = cursor.label()?,
            // Whoever sends both members leaves one of them empty.
            b"arguments" | b"partial_arguments" => {
                let read = Arguments::read(cursor)?;
                if !read.is_nothing() {
                    step.arguments = read;
                }
            }
            b"signature" => {
                let signature = Some(cursor.raw()?);
                step.signature = signature.filter(|raw| !matches!(*raw, "null" | "\"\""));
            }
            b"text" => step.text = cursor.text()?,
            // A summary's content, or a step's contents: only text is read.
            b"content" | b"summary" => cursor.elements(|cursor| {
                cursor
                    .members(|cursor, key| {
                        match key {
                            b"text" => step.summary = cursor.text()?,
                            _ => cursor.skip()?,
                        }
                        Ok(())
                    })
                    .map(drop)
            })?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(step)
}

impl GeminiInteractions {
    fn speak_step(
        &mut self,
        step: &Step<'_>,
        index: Option<i64>,
        start: bool,
        sink: &mut dyn DeltaSink,
    ) {
        let kind = step.kind.map(Text::to_cow);
        // Where the type is missing a name or arguments tell a call (Q72).
        let is_call = step.name.is_some() || !step.arguments.is_nothing();
        let untyped = if is_call { "function_call" } else { "" };
        let (text, said) = match kind.as_deref().unwrap_or(untyped) {
            "arguments_delta" => return self.speak_call(step, index, None, false, sink),
            "function_call" => return self.speak_call(step, index, None, start, sink),
            kind if kind.ends_with("_call") => {
                return self.speak_call(step, index, Some(kind), start, sink);
            }
            "text" | "model_output" => (step.text.or(step.summary), TextKind::Answer),
            "thought_summary" | "thought" => (step.summary.or(step.text), TextKind::Reasoning),
            "thought_signature" => (None, TextKind::Reasoning),
            _ => return,
        };
        if let Some(text) = text.filter(|text| !text.raw.is_empty()) {
            let text = text.fragment(&mut self.scratch);
            sink.delta(&Delta::Text {
                choice: 0,
                kind: said,
                text,
            });
        }
        let signature = step
            .signature
            .and_then(|raw| Cursor::new(raw).text().ok().flatten());
        if let Some(signature) = signature {
            let text = signature.fragment(&mut self.scratch);
            sink.delta(&Delta::Text {
                choice: 0,
                kind: TextKind::Signature,
                text,
            });
        }
    }

    /// `provider` is the type of a call that the provider runs.
    fn speak_call(
        &mut self,
        step: &Step<'_>,
        index: Option<i64>,
        provider: Option<&str>,
        start: bool,
        sink: &mut dyn DeltaSink,
    ) {
        let (id, name) = (step.id.map(Text::to_cow), step.name.map(Text::to_cow));
        let server_name = step.server_name.map(Text::to_cow);
        let built_in = provider.map(|kind| ToolKind::BuiltIn(kind.to_owned().into()));
        let extras = step.signature.map(|raw| [("signature", raw)]);
        let mut call = CallDelta::new()
            .index(index)
            .id(id.as_deref())
            .name(name.as_deref());
        call.route = if start { Route::Opens } else { Route::Labelled };
        call.server_name = server_name.as_deref();
        call.extras = extras.as_ref().map_or(&[], |extras| extras.as_slice());
        if let Some(kind) = provider {
            call.executor = Some(Executor::Provider);
            // A remote tool is a tool like another, with a name of its own.
            if kind != "mcp_server_tool_call" {
                call.kind = built_in.as_ref();
                call.name = call.name.or(kind.strip_suffix("_call").filter(|_| start));
            }
        }
        call.arguments = match step.arguments {
            Arguments::Value { raw, .. } if start => ArgumentsPart::Initial(raw),
            arguments => arguments.part(&mut self.scratch),
        };
        call.object = step.arguments.object();
        sink.delta(&Delta::Call(call));
    }
}

fn finish(event: &Event<'_>, sink: &mut dyn DeltaSink) {
    let Some(status) = event.status.map(Text::to_cow) else {
        return;
    };
    let meaning = match &*status {
        "completed" => FinishMeaning::Stop,
        "requires_action" => FinishMeaning::ToolCalls,
        "incomplete" | "budget_exceeded" => FinishMeaning::Length,
        "failed" | "cancelled" => FinishMeaning::Error,
        _ => FinishMeaning::Other,
    };
    report_finish(0, &status, meaning, sink);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::spoken::{Spoken, spoken};

    fn says(payloads: &[&str]) -> Vec<String> {
        spoken(decoder(), payloads)
    }

    #[test]
    fn two_calls_of_one_tool_are_keyed_by_their_steps() {
        let said = says(&[
            r#"{"event_type":"interaction.created","interaction":{"id":"v1_a","status":"in_progress"}}"#,
            r#"{"event_type":"interaction.status_update","interaction_id":"v1_a","status":"in_progress"}"#,
            r#"{"index":0,"step":{"type":"thought"},"event_type":"step.start"}"#,
            r#"{"index":0,"delta":{"signature":"c2ln","type":"thought_signature"},"event_type":"step.delta"}"#,
            r#"{"index":0,"event_type":"step.stop"}"#,
            r#"{"index":1,"step":{"id":"fc_1","signature":"","type":"function_call","name":"add","arguments":{}},"event_type":"step.start"}"#,
            r#"{"index":1,"delta":{"arguments":"{\"x\":","type":"arguments_delta"},"event_type":"step.delta"}"#,
            r#"{"index":2,"step":{"id":"fc_2","signature":"c2ln","type":"function_call","name":"add"},"event_type":"step.start"}"#,
            r#"{"index":2,"delta":{"partial_arguments":"{}","type":"arguments_delta"},"event_type":"step.delta"}"#,
            r#"{"index":1,"delta":{"arguments":"2}","type":"arguments_delta"},"event_type":"step.delta"}"#,
            r#"{"index":2,"event_type":"step.stop"}"#,
            r#"{"index":1,"event_type":"step.stop"}"#,
            r#"{"interaction":{"id":"v1_a","status":"requires_action","usage":{"total_tokens":133}},"event_type":"interaction.completed"}"#,
            "[DONE]",
        ]);
        assert_eq!(
            said,
            [
                "Signature c2ln",
                "close #0 BlockStop",
                "opens #1 fc_1 name add initial {}",
                r#"labelled #1 + {"x":"#,
                r#"opens #2 fc_2 name add signature="c2ln""#,
                "labelled #2 + {}",
                "labelled #1 + 2}",
                "close #2 BlockStop",
                "close #1 BlockStop",
                "finish requires_action ToolCalls",
                r#"usage {"total_tokens":133}"#,
                "end",
                "end",
            ]
        );
    }

    #[test]
    fn searches_and_remote_tools_are_run_by_the_provider() {
        let said = says(&[
            r#"{"index":2,"step":{"id":"s1","type":"google_search_call"},"event_type":"step.start"}"#,
            r#"{"index":2,"delta":{"type":"google_search_call","arguments":{"queries":["a"]}},"event_type":"step.delta"}"#,
            r#"{"index":3,"step":{"call_id":"s1","type":"google_search_result"},"event_type":"step.start"}"#,
            r#"{"index":4,"step":{"id":"m1","type":"mcp_server_tool_call","name":"echo","server_name":"demo","arguments":{"a":1}},"event_type":"step.start"}"#,
        ]);
        assert_eq!(
            said,
            [
                "opens #2 s1 name google_search kind google_search_call executor provider",
                r#"labelled #2 kind google_search_call executor provider whole {"queries":["a"]}"#,
                r#"opens #4 m1 name echo executor provider server demo initial {"a":1}"#,
            ]
        );
    }

    #[test]
    fn a_call_without_its_type_is_told_by_its_members() {
        for kind in ["", r#""type":null,"#, r#""type":"","#] {
            let said = says(&[
                &format!(
                    r#"{{"event_type":"step.start","index":0,"step":{{{kind}"id":"a","name":"add"}}}}"#
                ),
                &format!(
                    r#"{{"event_type":"step.delta","index":0,"delta":{{{kind}"arguments":"{{}}"}}}}"#
                ),
                &format!(r#"{{"event_type":"step.delta","index":1,"delta":{{{kind}"text":"x"}}}}"#),
            ]);
            assert_eq!(said, ["opens #0 a name add", "labelled #0 + {}"], "{kind}");
        }
    }

    #[test]
    fn text_and_thoughts_pass() {
        let said = says(&[
            r#"{"index":1,"delta":{"text":"Low \u00e0 9.","type":"text"},"event_type":"step.delta"}"#,
            r#"{"index":1,"delta":{"content":{"type":"text","text":"Let me see."},"type":"thought_summary"},"event_type":"step.delta"}"#,
            r#"{"index":1,"delta":{"annotations":[],"type":"text_annotation_delta"},"event_type":"step.delta"}"#,
        ]);
        assert_eq!(said, ["Answer Low à 9.", "Reasoning Let me see."]);
    }

    #[test]
    fn the_first_version_of_the_events_reads_the_same() {
        let said = says(&[
            r#"{"event_type":"content.start","index":0,"content":{"type":"function_call"}}"#,
            r#"{"event_type":"content.delta","index":0,"delta":{"type":"function_call","id":"fc_1","name":"add","arguments":{"x":2}}}"#,
            r#"{"event_type":"content.stop","index":0}"#,
            r#"{"event_type":"interaction.complete","interaction":{"status":"completed"}}"#,
        ]);
        assert_eq!(
            said,
            [
                "opens #0",
                r#"labelled #0 fc_1 name add whole {"x":2}"#,
                "close #0 BlockStop",
                "finish completed Stop",
                "end",
            ]
        );
    }

    #[test]
    fn the_event_field_decides_where_the_payload_does_not() {
        let mut said = Spoken::default();
        let frame = Frame::new(r#"{"index":3}"#).with_event("step.stop");
        decoder().decode(frame, &mut said);
        assert_eq!(said.0, ["close #3 BlockStop"]);
        let frame = Frame::new(r#"{"event_type":"step.stop","index":4}"#).with_event("step.start");
        decoder().decode(frame, &mut said);
        assert_eq!(
            said.0.last().map(String::as_str),
            Some("close #4 BlockStop")
        );
    }

    #[test]
    fn a_member_that_is_empty_takes_nothing_from_the_one_beside_it() {
        let piece = |delta: &str| {
            says(&[&format!(
                r#"{{"event_type":"step.delta","index":0,"delta":{delta},"step":null,"content":null}}"#
            )])
        };
        for empty in ["null", "\"\""] {
            for delta in [
                r#"{"type":"arguments_delta","arguments":"{","partial_arguments":?}"#,
                r#"{"type":"arguments_delta","arguments":?,"partial_arguments":"{"}"#,
            ] {
                let said = piece(&delta.replace('?', empty));
                assert_eq!(said, ["labelled #0 + {"], "{delta}");
            }
        }
        let failed = r#"{"event_type":"interaction.completed","interaction":{"error":{"message":"m"}},"error":null}"#;
        assert_eq!(says(&[failed]), ["error m"]);
    }

    #[test]
    fn errors_end_the_stream() {
        let error =
            r#"{"event_type":"error","error":{"code":"gateway_timeout","message":"too slow"}}"#;
        assert_eq!(says(&[error]), ["error too slow (gateway_timeout)"]);
        assert_eq!(
            says(&[r#"{"error":{"code":429,"message":"quota"}}"#]),
            ["error quota (429)"]
        );
        let failed = r#"{"event_type":"interaction.completed","interaction":{"status":"failed","error":{"message":"m"}}}"#;
        assert_eq!(says(&[failed]), ["finish failed Error", "error m"]);
    }

    #[test]
    fn wrong_shapes_and_unknown_events_are_nothing() {
        for payload in [
            r#"{"event_type":"step.delta","index":"x","delta":7}"#,
            r#"{"event_type":"step.start","step":[]}"#,
            r#"{"event_type":"no.such","index":1}"#,
            r#"{"event_type":7}"#,
            "[]",
        ] {
            assert!(says(&[payload]).is_empty(), "{payload}");
        }
    }
}
