//! The JSON Lines that the command prints.

use callstitch::{AnomalyKind, Arguments, End, Error, Event, ToolCall, WireFormat};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The arguments as they go into a line: the object, for a flagged call what it still states, else null. Every digit is in
/// `raw`.
pub(crate) fn object(arguments: &Arguments) -> Option<&Map<String, Value>> {
    arguments.recovered()
}

/// What was done to the text.
pub(crate) fn repairs(arguments: &Arguments) -> Value {
    arguments
        .repairs()
        .iter()
        .map(|repair| json!({ "kind": repair.kind, "at": repair.at }))
        .collect()
}

/// A line's text. Some readers of lines split at every character that Unicode calls a line end; JSON lets us escape those.
pub(crate) fn text(line: &impl Serialize) -> std::io::Result<String> {
    let mut text = serde_json::to_string(line)?;
    for (end, escaped) in [
        ('\u{85}', "\\u0085"),
        ('\u{2028}', "\\u2028"),
        ('\u{2029}', "\\u2029"),
    ] {
        if text.contains(end) {
            text = text.replace(end, escaped);
        }
    }
    Ok(text)
}

/// One call.
#[derive(Serialize)]
pub(crate) struct CallLine<'a> {
    index: u32,
    wire_index: Option<i64>,
    choice: u32,
    id: &'a str,
    wire_id: Option<&'a str>,
    synthetic_id: bool,
    name: Option<&'a str>,
    kind: &'a str,
    executor: &'a str,
    server_name: Option<&'a str>,
    arguments: Option<&'a Map<String, Value>>,
    state: &'a str,
    raw: &'a str,
    repairs: Value,
    /// What must go back verbatim with the call, where there is some: `callstitch history` sends it.
    #[serde(skip_serializing_if = "Map::is_empty")]
    extras: &'a Map<String, Value>,
}

impl<'a> CallLine<'a> {
    pub(crate) fn new(call: &'a ToolCall) -> Self {
        CallLine {
            index: call.index().get(),
            wire_index: call.wire_index(),
            choice: call.choice(),
            id: call.id(),
            wire_id: call.wire_id(),
            synthetic_id: call.is_synthetic_id(),
            name: Some(call.name()).filter(|name| !name.is_empty()),
            kind: call.kind().as_str(),
            executor: call.executor().as_str(),
            server_name: call.server_name(),
            arguments: object(call.arguments()),
            state: call.state().as_str(),
            raw: call.arguments().raw(),
            repairs: repairs(call.arguments()),
            extras: call.extras(),
        }
    }
}

/// The end of the stream.
#[derive(Serialize)]
pub(crate) struct EndLine<'a> {
    pub(crate) end: End,
    pub(crate) format: Option<&'a str>,
    pub(crate) finish_reasons: &'a [String],
    pub(crate) calls: usize,
    pub(crate) error: Option<String>,
    pub(crate) anomalies: Vec<Count>,
}

#[derive(Serialize)]
pub(crate) struct Count {
    kind: &'static str,
    count: u64,
}

impl<'a> EndLine<'a> {
    pub(crate) fn new(
        end: End,
        format: Option<WireFormat>,
        finish_reasons: &'a [String],
        calls: usize,
        error: Option<&Error>,
        anomalies: &[(AnomalyKind, u64)],
    ) -> Self {
        EndLine {
            end,
            format: format.map(WireFormat::name),
            finish_reasons,
            calls,
            error: error.map(ToString::to_string),
            anomalies: anomalies
                .iter()
                .map(|&(kind, count)| Count {
                    kind: kind.as_str(),
                    count,
                })
                .collect(),
        }
    }
}

/// One event, for `--events`.
pub(crate) fn event_line(event: &Event<'_>) -> std::io::Result<String> {
    let line = match event {
        Event::CallStarted {
            index,
            choice,
            id,
            name,
        } => {
            json!({ "event": "call_started", "index": index, "choice": choice, "id": id, "name": name })
        }
        Event::ArgumentsDelta { index, text } => {
            json!({ "event": "arguments_delta", "index": index, "text": text.as_str() })
        }
        Event::CallCompleted(call) => return tagged("call_completed", call),
        Event::CallDiscarded(call) => return tagged("call_discarded", call),
        Event::Text { choice, text } => json!({ "event": "text", "choice": choice, "text": text }),
        Event::Reasoning { choice, text } => {
            json!({ "event": "reasoning", "choice": choice, "text": text })
        }
        Event::ReasoningSignature { choice, text } => {
            json!({ "event": "reasoning_signature", "choice": choice, "text": text })
        }
        Event::Refusal { choice, text } => {
            json!({ "event": "refusal", "choice": choice, "text": text })
        }
        Event::Usage(usage) => {
            json!({ "event": "usage", "usage": serde_json::from_str::<Value>(usage).unwrap_or_default() })
        }
        Event::Finished { choice, reason } => {
            json!({ "event": "finished", "choice": choice, "reason": reason })
        }
        Event::Anomaly(anomaly) => json!({ "event": "anomaly", "anomaly": anomaly }),
        other => json!({ "event": "other", "debug": format!("{other:?}") }),
    };
    text(&line)
}

fn tagged(event: &str, call: &ToolCall) -> std::io::Result<String> {
    #[derive(Serialize)]
    struct Tagged<'a> {
        event: &'a str,
        call: CallLine<'a>,
    }
    text(&Tagged {
        event,
        call: CallLine::new(call),
    })
}
