//! Cohere v2 chat (WIRE_FORMATS 6).
//!
//! Letter to the next reader. Calls are keyed by their index, opened by `tool-call-start` and closed by `tool-call-end`. The
//! `type` member decides, and the `event:` line only where it is missing. `tool_calls` is one object in the events and an
//! array in the message; the plan and the thinking are reasoning.

use smallvec::SmallVec;

use crate::delta::{CallDelta, Delta, DeltaSink, FinishMeaning, Route, TextKind};
use crate::framing::Frame;
use crate::json::cursor::{Cursor, Fault, Text};
use crate::wire::Decoder;
use crate::wire::payload::{
    FunctionCall, Json, JsonDecoder, error, is_foreign_error, object, report_error, report_finish,
    stop_block,
};

pub(super) fn decoder() -> Box<dyn Decoder> {
    Box::new(Json::<Cohere>::default())
}

#[derive(Default)]
struct Cohere {
    /// A `message-start` came: another one begins the message again.
    started: bool,
    scratch: Vec<u8>,
}

/// One provider event, read and not yet spoken.
#[derive(Default)]
struct Event<'a> {
    kind: Option<Text<'a>>,
    index: Option<i64>,
    texts: SmallVec<[(TextKind, Text<'a>); 1]>,
    calls: SmallVec<[FunctionCall<'a>; 1]>,
    reason: Option<Text<'a>>,
    usage: Option<&'a str>,
    error: Option<&'a str>,
}

impl JsonDecoder for Cohere {
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
            "tool-call-delta" => self.speak_calls(&event, Route::Labelled, sink),
            "tool-call-start" => self.speak_calls(&event, Route::Opens, sink),
            "message-start" => {
                if std::mem::replace(&mut self.started, true) {
                    sink.delta(&Delta::Restart);
                }
            }
            "tool-call-end" => stop_block(event.index, sink),
            "tool-plan-delta" | "content-start" | "content-delta" => {
                for &(kind, text) in &event.texts {
                    let text = text.fragment(&mut self.scratch);
                    sink.delta(&Delta::Text {
                        choice: 0,
                        kind,
                        text,
                    });
                }
            }
            "message-end" => speak_end(&event, sink),
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
            b"type" => event.kind = cursor.label()?,
            b"index" => event.index = cursor.integer()?,
            b"delta" => drop(cursor.members(|cursor, key| {
                match key {
                    b"message" => read_message(cursor, &mut event)?,
                    b"finish_reason" => event.reason = cursor.label()?,
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

fn read_message<'a>(cursor: &mut Cursor<'a>, event: &mut Event<'a>) -> Result<(), Fault> {
    let mut push = |kind, text: Option<Text<'a>>| {
        let text = text.filter(|text| !text.raw.is_empty());
        event.texts.extend(text.map(|text| (kind, text)));
    };
    let calls = &mut event.calls;
    let message = cursor.members(|cursor, key| {
        match key {
            b"tool_calls" => FunctionCall::read_all(cursor, calls)?,
            b"tool_plan" => push(TextKind::Reasoning, cursor.text()?),
            b"content" => cursor.elements(|cursor| {
                let content = cursor.members(|cursor, key| {
                    match key {
                        b"text" => push(TextKind::Answer, cursor.text()?),
                        b"thinking" => push(TextKind::Reasoning, cursor.text()?),
                        _ => cursor.skip()?,
                    }
                    Ok(())
                });
                content.map(drop)
            })?,
            _ => cursor.skip()?,
        }
        Ok(())
    });
    message.map(drop)
}

impl Cohere {
    fn speak_calls(&mut self, event: &Event<'_>, route: Route, sink: &mut dyn DeltaSink) {
        for entry in &event.calls {
            let (id, name) = (entry.id.map(Text::to_cow), entry.name.map(Text::to_cow));
            let mut call = CallDelta::new().index(event.index);
            call = call.id(id.as_deref()).name(name.as_deref()).route(route);
            call.arguments = entry.arguments.part(&mut self.scratch);
            call.object = entry.arguments.object();
            sink.delta(&Delta::Call(call));
        }
    }
}

/// A failure in the middle is told here: a reason of `ERROR` and the text of the error.
fn speak_end(event: &Event<'_>, sink: &mut dyn DeltaSink) {
    if let Some(reason) = event.reason.map(Text::to_cow) {
        let meaning = match &*reason {
            "COMPLETE" | "STOP_SEQUENCE" => FinishMeaning::Stop,
            "TOOL_CALL" => FinishMeaning::ToolCalls,
            "MAX_TOKENS" | "ERROR_LIMIT" => FinishMeaning::Length,
            "ERROR_TOXIC" => FinishMeaning::Filtered,
            "ERROR" | "TIMEOUT" => FinishMeaning::Error,
            _ => FinishMeaning::Other,
        };
        report_finish(0, &reason, meaning, sink);
    }
    if let Some(usage) = event.usage {
        sink.delta(&Delta::Usage(usage));
    }
    match event.error {
        Some(error) => report_error(error, None, sink),
        None => sink.delta(&Delta::End),
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::wire::spoken::{Spoken, spoken};

    fn says(payloads: &[&str]) -> Vec<String> {
        spoken(decoder(), payloads)
    }

    #[test]
    fn a_plan_and_a_call() {
        let said = says(&[
            r#"{"id":"c1","type":"message-start","delta":{"message":{"role":"assistant","content":[],"tool_plan":"","tool_calls":[],"citations":[]}}}"#,
            r#"{"type":"tool-plan-delta","delta":{"message":{"tool_plan":"I will look up the tide."}}}"#,
            r#"{"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{"id":"tide_height_p2m8","type":"function","function":{"name":"tide_height","arguments":""}}}}}"#,
            r#"{"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"{\"port\": \"Bre"}}}}}"#,
            r#"{"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"st\"}"}}}}}"#,
            r#"{"type":"tool-call-end","index":0}"#,
            r#"{"type":"message-end","delta":{"finish_reason":"TOOL_CALL","usage":{"tokens":{"input_tokens":90,"output_tokens":22}}}}"#,
        ]);
        assert_eq!(
            said,
            [
                "Reasoning I will look up the tide.",
                "opens #0 tide_height_p2m8 name tide_height",
                r#"labelled #0 + {"port": "Bre"#,
                r#"labelled #0 + st"}"#,
                "close #0 BlockStop",
                "finish TOOL_CALL ToolCalls",
                r#"usage {"tokens":{"input_tokens":90,"output_tokens":22}}"#,
                "end",
            ]
        );
    }

    #[test]
    fn a_call_without_parameters_sends_no_fragment_or_the_text_null() {
        let start = r#"{"type":"tool-call-start","index":1,"delta":{"message":{"tool_calls":[{"id":"now_k41z","type":"function","function":{"name":"now","arguments":null}}]}}}"#;
        let null = r#"{"type":"tool-call-delta","index":1,"delta":{"message":{"tool_calls":{"function":{"arguments":"null"}}}}}"#;
        let end = r#"{"type":"tool-call-end","index":1}"#;
        assert_eq!(
            says(&[start, end]),
            ["opens #1 now_k41z name now", "close #1 BlockStop"]
        );
        assert_eq!(says(&[start, null, end])[1], "labelled #1 + null");
    }

    #[test]
    fn an_object_in_the_place_of_argument_text_is_a_whole_value() {
        let start = r#"{"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{"id":"a","function":{"name":"now","arguments":{"zone":"UTC"}}}}}}"#;
        assert_eq!(
            says(&[start]),
            [r#"opens #0 a name now whole {"zone":"UTC"}"#]
        );
    }

    #[test]
    fn thinking_is_reasoning_and_text_the_answer() {
        let said = says(&[
            r#"{"type":"content-start","index":0,"delta":{"message":{"content":{"type":"thinking","thinking":""}}}}"#,
            r#"{"type":"content-delta","index":0,"delta":{"message":{"content":{"thinking":"Let me see."}}}}"#,
            r#"{"type":"content-end","index":0}"#,
            r#"{"type":"content-delta","index":1,"delta":{"message":{"content":{"text":"Low \u00e0 9."}}}}"#,
        ]);
        assert_eq!(said, ["Reasoning Let me see.", "Answer Low à 9."]);
    }

    #[test]
    fn a_failure_is_told_by_the_end_of_the_message() {
        let end = |delta: &str| says(&[&format!(r#"{{"type":"message-end","delta":{delta}}}"#)]);
        assert_eq!(
            end(r#"{"finish_reason":"ERROR","error":"the model failed"}"#),
            ["finish ERROR Error", "error the model failed"]
        );
        assert_eq!(
            end(r#"{"finish_reason":"TIMEOUT"}"#),
            ["finish TIMEOUT Error", "end"]
        );
        assert_eq!(
            end(r#"{"finish_reason":"MAX_TOKENS"}"#),
            ["finish MAX_TOKENS Length", "end"]
        );
        let beside = r#"{"type":"message-end","delta":{"error":"the model failed"},"error":null}"#;
        assert_eq!(says(&[beside]), ["error the model failed"]);
        assert_eq!(end("null"), ["end"]);
        assert_eq!(says(&[r#"{"error":"gone"}"#]), ["error gone"]);
    }

    #[test]
    fn the_event_field_decides_where_the_payload_does_not() {
        let mut said = Spoken::default();
        decoder().decode(
            Frame::new(r#"{"index":3}"#).with_event("tool-call-end"),
            &mut said,
        );
        assert_eq!(said.0, ["close #3 BlockStop"]);
    }

    #[test]
    fn wrong_shapes_and_unknown_events_are_nothing() {
        for payload in [
            r#"{"type":"debug","prompt":"x"}"#,
            r#"{"type":"citation-start","index":0,"delta":{"message":{"citations":{}}}}"#,
            r#"{"type":"tool-call-delta","index":0,"delta":7}"#,
            r#"{"type":"content-delta","delta":{"message":{"content":"x"}}}"#,
            "{}",
        ] {
            assert!(says(&[payload]).is_empty(), "{payload}");
        }
    }
}
