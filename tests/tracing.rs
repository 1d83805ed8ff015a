//! What the `tracing` events say, and that they never say what a user or a model wrote.
#![cfg(feature = "tracing")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "common/bodies.rs"]
mod bodies;

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use callstitch::{ToolCallParser, WireFormat};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Keeps each event as one line.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {}={value:?}", field.name()).unwrap();
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "callstitch"
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

fn traced(body: &str, format: WireFormat) -> Vec<String> {
    let lines = Lines::default();
    tracing::subscriber::with_default(lines.clone(), || {
        let mut parser = ToolCallParser::new(format);
        parser.push(body.as_bytes()).for_each(drop);
        parser.finish().for_each(drop);
    });
    let lines = lines.0.lock().unwrap();
    lines.clone()
}

#[test]
fn a_call_is_traced_from_its_start_to_its_end() {
    let body = bodies::anthropic_start()
        + &bodies::anthropic_call(1, "toolu_1", "get_tide", &["{\"port\":\"Oban\"}"])
        + &bodies::anthropic_end();
    assert_eq!(
        traced(&body, WireFormat::Anthropic),
        [
            r#"DEBUG message=call started index=0 name="get_tide""#,
            r#"DEBUG message=call completed index=0 name="get_tide" id="toolu_1" state="whole" bytes=15"#,
            "DEBUG message=finish reason choice=0 meaning=ToolCalls",
        ]
    );
}

#[test]
fn a_flagged_call_and_an_error_are_warnings_without_a_word_of_the_wires() {
    let body = bodies::chat_text("secret answer")
        + &bodies::chat_open(0, "call_1", "get_tide")
        + &bodies::chat_piece(0, "{\"port\":\"secret")
        + "data: {\"error\":{\"message\":\"secret message\"}}\n\n";
    let lines = traced(&body, WireFormat::OpenAiChat);
    assert!(
        lines.iter().all(|line| !line.contains("secret")),
        "{lines:?}"
    );
    let warnings = lines.iter().filter(|line| line.starts_with("WARN"));
    let warnings: Vec<_> = warnings.collect();
    assert!(warnings[0].contains("call flagged") && warnings[0].contains("truncated"));
    assert!(warnings[1].contains("kind=\"provider\""));
}
