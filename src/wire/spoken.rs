//! For the decoders' tests: what a decoder says, a line a delta.

#![allow(clippy::unwrap_used)]

use std::fmt::Write;

use crate::delta::{ArgumentsPart, CallDelta, CallKey, Delta, DeltaSink, Fragment};
use crate::framing::Frame;
use crate::wire::Decoder;

/// What the decoder says of these payloads, one event each, and of the end of the body.
pub(super) fn spoken(mut decoder: Box<dyn Decoder>, payloads: &[&str]) -> Vec<String> {
    let mut spoken = Spoken::default();
    for payload in payloads {
        decoder.decode(Frame::new(payload), &mut spoken);
    }
    decoder.finish(&mut spoken);
    spoken.0
}

#[derive(Debug, Default)]
pub(super) struct Spoken(pub(super) Vec<String>);

impl DeltaSink for Spoken {
    fn delta(&mut self, delta: &Delta<'_>) {
        self.0.push(line(delta));
    }
}

fn line(delta: &Delta<'_>) -> String {
    match delta {
        Delta::Call(call) => call_line(call),
        // The short form of a call delta, and read as one.
        Delta::Arguments {
            choice,
            index,
            route,
            text,
        } => {
            let mut call = CallDelta::new().choice(*choice).index(*index).route(*route);
            call.arguments = ArgumentsPart::Fragment(*text);
            call_line(&call)
        }
        Delta::Close { key, by } => format!("close{} {by:?}", key_text(key)),
        Delta::CloseAll { choice, by } => format!("close all {choice:?} {by:?}"),
        Delta::Text { choice, kind, text } => {
            format!("{kind:?}{} {}", choice_text(*choice), fragment(text))
        }
        Delta::Usage(usage) => format!("usage {usage}"),
        Delta::Finish {
            choice,
            reason,
            native,
            meaning,
        } => {
            let native = native
                .map(|native| format!(" native {native}"))
                .unwrap_or_default();
            format!(
                "finish{} {reason}{native} {meaning:?}",
                choice_text(*choice)
            )
        }
        Delta::Error { message, code, .. } => {
            format!(
                "error {message}{}",
                code.map(|code| format!(" ({code})")).unwrap_or_default()
            )
        }
        Delta::Undecodable { problem } => format!("undecodable: {problem}"),
        Delta::Stray { text } => format!("stray {text}"),
        Delta::Anomaly(kind) => format!("anomaly {}", kind.as_str()),
        Delta::MayEnd => "may end".to_owned(),
        Delta::End => "end".to_owned(),
        Delta::Restart => "restart".to_owned(),
    }
}

fn call_line(call: &CallDelta<'_>) -> String {
    let mut line = format!("{:?}", call.route).to_lowercase() + &key_text(&call.key);
    let mut say = |label: &str, text: Option<&str>| {
        if let Some(text) = text {
            write!(line, " {label}{text}").unwrap();
        }
    };
    say("name ", call.name);
    say("kind ", call.kind.map(|kind| kind.as_str()));
    say("executor ", call.executor.map(|executor| executor.as_str()));
    say("server ", call.server_name);
    say("status ", call.status);
    for (name, raw) in call.extras {
        say("", Some(&format!("{name}={raw}")));
    }
    match call.arguments {
        ArgumentsPart::None => {}
        ArgumentsPart::Fragment(text) => say("+ ", Some(&fragment(&text))),
        ArgumentsPart::Whole(text) => say("whole ", Some(text)),
        ArgumentsPart::Initial(text) => say("initial ", Some(text)),
        ArgumentsPart::Restated(text) => say("restated ", Some(text)),
    }
    line
}

fn key_text(key: &CallKey<'_>) -> String {
    let mut text = choice_text(key.choice);
    if let Some(index) = key.index {
        write!(text, " #{index}").unwrap();
    }
    for id in [key.id, key.item_id].into_iter().flatten() {
        write!(text, " {id}").unwrap();
    }
    text
}

fn choice_text(choice: u32) -> String {
    if choice == 0 {
        String::new()
    } else {
        format!(" choice {choice}")
    }
}

/// The text, with an outer surrogate half as its escape.
fn fragment(text: &Fragment<'_>) -> String {
    let half = |half: Option<u16>| half.map(|half| format!("\\u{half:x}")).unwrap_or_default();
    format!("{}{}{}", half(text.low), text.text, half(text.high))
}
