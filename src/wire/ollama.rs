//! Ollama `/api/chat` (WIRE_FORMATS 8): one JSON object a line.
//!
//! Letter to the next reader. A call is whole in its line, so each opens a call of its own and closes it at once. The index
//! inside `function` is passed on but tells nothing apart: old servers send none, or 0 on every line. `done_reason` stays
//! `stop` with calls, and the calls may be on the last line itself.

use std::fmt::Write;

use smallvec::SmallVec;

use crate::anomaly::AnomalyKind;
use crate::delta::{
    ArgumentsPart, CallDelta, CallKey, ClosedBy, Delta, DeltaSink, FinishMeaning, Route, TextKind,
};
use crate::framing::Frame;
use crate::json::cursor::{Cursor, Fault, Kind, Text};
use crate::wire::Decoder;
use crate::wire::payload::{
    Arguments, FunctionCall, Json, JsonDecoder, error, is_foreign_error, report_error,
    report_finish,
};

pub(super) fn decoder() -> Box<dyn Decoder> {
    Box::new(Json::<Ollama>::default())
}

#[derive(Default)]
struct Ollama {
    scratch: Vec<u8>,
    /// Holds the usage, put together from members.
    usage: String,
}

/// One line, read and not yet spoken.
#[derive(Default)]
struct Line<'a> {
    texts: SmallVec<[(TextKind, Text<'a>); 1]>,
    calls: SmallVec<[FunctionCall<'a>; 1]>,
    done: bool,
    reason: Option<Text<'a>>,
    /// Counts and durations of the last line.
    counters: SmallVec<[(&'static str, &'a str); 6]>,
    error: Option<&'a str>,
}

impl Line<'_> {
    fn says_nothing(&self) -> bool {
        self.texts.is_empty() && self.calls.is_empty() && !self.done && self.error.is_none()
    }
}

const COUNTERS: [&str; 6] = [
    "total_duration",
    "load_duration",
    "prompt_eval_count",
    "prompt_eval_duration",
    "eval_count",
    "eval_duration",
];

impl JsonDecoder for Ollama {
    const ECHOES: bool = true;

    fn document(
        &mut self,
        cursor: &mut Cursor<'_>,
        _: Frame<'_>,
        sink: &mut dyn DeltaSink,
    ) -> Result<(), Fault> {
        let line = read_line(cursor)?;
        cursor.end()?;
        self.speak(&line, sink);
        if line.says_nothing() && is_foreign_error(cursor.document(), None) {
            report_error(cursor.document(), None, sink);
        }
        Ok(())
    }
}

fn read_line<'a>(cursor: &mut Cursor<'a>) -> Result<Line<'a>, Fault> {
    let mut line = Line::default();
    cursor.members(|cursor, key| {
        match key {
            b"message" => read_message(cursor, &mut line)?,
            b"done" => line.done = cursor.boolean()?,
            b"done_reason" => line.reason = cursor.label()?,
            b"error" => line.error = error(cursor)?,
            _ => {
                let counter = COUNTERS
                    .into_iter()
                    .find(|&counter| counter.as_bytes() == key);
                match counter.filter(|_| cursor.kind() == Ok(Kind::Number)) {
                    Some(name) => line.counters.push((name, cursor.raw()?)),
                    None => cursor.skip()?,
                }
            }
        }
        Ok(())
    })?;
    Ok(line)
}

fn read_message<'a>(cursor: &mut Cursor<'a>, line: &mut Line<'a>) -> Result<(), Fault> {
    let message = cursor.members(|cursor, key| {
        let kind = match key {
            b"tool_calls" => return FunctionCall::read_all(cursor, &mut line.calls),
            b"content" => TextKind::Answer,
            b"thinking" => TextKind::Reasoning,
            _ => return cursor.skip(),
        };
        let text = cursor.text()?.filter(|text| !text.raw.is_empty());
        line.texts.extend(text.map(|text| (kind, text)));
        Ok(())
    });
    message.map(drop)
}

impl Ollama {
    fn speak(&mut self, line: &Line<'_>, sink: &mut dyn DeltaSink) {
        for &(kind, text) in &line.texts {
            let text = text.fragment(&mut self.scratch);
            sink.delta(&Delta::Text {
                choice: 0,
                kind,
                text,
            });
        }
        for entry in &line.calls {
            self.speak_call(entry, sink);
        }
        if let Some(error) = line.error {
            return report_error(error, None, sink);
        }
        if !line.done {
            return;
        }
        if let Some(reason) = line.reason.map(Text::to_cow) {
            let meaning = match &*reason {
                "stop" => FinishMeaning::Stop,
                "length" => FinishMeaning::Length,
                _ => FinishMeaning::Other,
            };
            report_finish(0, &reason, meaning, sink);
        }
        self.speak_counters(&line.counters, sink);
        sink.delta(&Delta::End);
    }

    fn speak_call(&mut self, entry: &FunctionCall<'_>, sink: &mut dyn DeltaSink) {
        let (id, name) = (entry.id.map(Text::to_cow), entry.name.map(Text::to_cow));
        if matches!(entry.arguments, Arguments::Null) {
            sink.delta(&Delta::Anomaly(AnomalyKind::NullArguments));
        }
        let mut call = CallDelta::new()
            .index(entry.index)
            .id(id.as_deref())
            .name(name.as_deref());
        call.route = Route::Opens;
        // Text in the place of the object is a relay's habit.
        call.arguments = match entry.arguments {
            Arguments::Absent | Arguments::Null => ArgumentsPart::Whole("{}"),
            arguments => arguments.part(&mut self.scratch),
        };
        call.object = entry.arguments.object();
        sink.delta(&Delta::Call(call));
        // No label: the call just opened is the newest.
        sink.delta(&Delta::Close {
            key: CallKey::default(),
            by: ClosedBy::Arrival,
        });
    }

    /// The counts alone: the line around them may hold text.
    fn speak_counters(&mut self, counters: &[(&str, &str)], sink: &mut dyn DeltaSink) {
        if counters.is_empty() {
            return;
        }
        self.usage.clear();
        for (name, value) in counters {
            self.usage
                .push(if self.usage.is_empty() { '{' } else { ',' });
            let _ = write!(self.usage, "\"{name}\":{value}");
        }
        self.usage.push('}');
        sink.delta(&Delta::Usage(&self.usage));
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::wire::spoken::spoken;

    fn says(payloads: &[&str]) -> Vec<String> {
        spoken(decoder(), payloads)
    }

    #[test]
    fn a_call_is_whole_in_its_line() {
        let said = says(&[
            r#"{"model":"llama-demo","created_at":"2026-08-01T10:00:00.1Z","message":{"role":"assistant","content":"","tool_calls":[{"id":"call_a1b2c3d4","function":{"index":0,"name":"tide_height","arguments":{"port":"Brest"}}}]},"done":false}"#,
            r#"{"model":"llama-demo","created_at":"2026-08-01T10:00:00.2Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":912000000,"prompt_eval_count":60,"eval_count":18}"#,
        ]);
        assert_eq!(
            said,
            [
                r#"opens #0 call_a1b2c3d4 name tide_height whole {"port":"Brest"}"#,
                "close Arrival",
                "finish stop Stop",
                r#"usage {"total_duration":912000000,"prompt_eval_count":60,"eval_count":18}"#,
                "end",
            ]
        );
    }

    #[test]
    fn an_index_that_is_missing_or_always_0_tells_no_calls_apart() {
        for index in ["", r#""index":0,"#] {
            let call =
                format!(r#"{{"function":{{{index}"name":"tide_height","arguments":{{}}}}}}"#);
            let line = |calls: &str| {
                format!(r#"{{"message":{{"content":"","tool_calls":[{calls}]}},"done":false}}"#)
            };
            let one = line(&call);
            let both = line(&format!("{call},{call}"));
            assert_eq!(says(&[&one, &one]).len(), 4);
            assert_eq!(says(&[&both]), says(&[&one, &one]));
        }
    }

    #[test]
    fn what_is_no_object_among_the_calls_is_no_call() {
        let line =
            r#"{"message":{"tool_calls":[null,"now",{"function":{"name":"now"}}]},"done":false}"#;
        assert_eq!(says(&[line]), ["opens name now whole {}", "close Arrival"]);
    }

    #[test]
    fn calls_on_the_last_line_come_before_its_end() {
        let said =
            says(&[r#"{"message":{"tool_calls":[{"function":{"name":"now"}}]},"done":true}"#]);
        assert_eq!(said, ["opens name now whole {}", "close Arrival", "end"]);
    }

    #[test]
    fn arguments_come_in_any_shape() {
        let arguments = |raw: &str| {
            let line = format!(
                r#"{{"message":{{"tool_calls":[{{"function":{{"name":"f","arguments":{raw}}}}}]}}}}"#
            );
            says(&[&line])
        };
        assert_eq!(arguments(r#""{\"a\":1}""#)[0], r#"opens name f + {"a":1}"#);
        assert_eq!(
            arguments("null")[..2],
            ["anomaly null-arguments", "opens name f whole {}"]
        );
        assert_eq!(arguments("[1]")[0], "opens name f whole [1]");
    }

    #[test]
    fn thinking_is_reasoning_and_content_the_answer() {
        let said = says(&[
            r#"{"message":{"thinking":"Let me see.","content":"Low \u00e0 9."},"done":false}"#,
        ]);
        assert_eq!(said, ["Reasoning Let me see.", "Answer Low à 9."]);
    }

    #[test]
    fn reasons_and_errors() {
        let length = r#"{"message":{"content":""},"done":true,"done_reason":"length"}"#;
        assert_eq!(says(&[length]), ["finish length Length", "end"]);
        let load = r#"{"message":{"content":""},"done":true,"done_reason":"load"}"#;
        assert_eq!(says(&[load]), ["finish load Other", "end"]);
        assert_eq!(
            says(&[r#"{"error":"model not found"}"#]),
            ["error model not found"]
        );
    }

    #[test]
    fn wrong_shapes_are_nothing() {
        for payload in [
            r#"{"message":"x","done":"true"}"#,
            r#"{"message":{"tool_calls":null,"content":3},"eval_count":"many"}"#,
            "{}",
        ] {
            assert!(says(&[payload]).is_empty(), "{payload}");
        }
    }
}
