//! What a server says that is no document of its format: an error, words between events, data that cannot be read.

use std::borrow::Cow;

use serde_json::Value;

use super::{Documents, Parts};
use crate::delta::{Delta, DeltaSink};
use crate::json::cursor::Place;
use crate::json::{End, MAX_DEPTH, recover};

pub(super) fn undecodable(data: &str, place: Place, sink: &mut dyn DeltaSink) {
    let mut problem = format!(
        "an event's data of {} bytes {} at its byte {}",
        data.len(),
        if place.eof {
            "ends too early"
        } else {
            "is not JSON"
        },
        place.at
    );
    if let Some(words) = words(data) {
        problem = format!("{problem}: {words}");
    }
    sink.delta(&Delta::Undecodable { problem: &problem });
}

/// The error that text between events says, if it says one (11.1.6). It may come several times, the last one cut (4.5).
pub(super) fn bare_error(data: &str) -> Option<&str> {
    let documents = Documents::values(data).chain(Parts(data).flat_map(Documents::values));
    documents.flatten().find(|document| states_error(document))
}

/// Text between events that is no error is only remembered.
pub(super) fn stray(data: &str, sink: &mut dyn DeltaSink) {
    sink.delta(&Delta::Stray { text: &said(data) });
}

/// Whether a document is an error, or holds one in an array.
pub(super) fn states_error(document: &str) -> bool {
    message_value(document).is_some_and(|value| error_in(&value).is_some())
}

/// The error that a document is or holds in an array.
fn error_in(value: &Value) -> Option<&Value> {
    match value {
        Value::Array(items) => items.iter().find(|item| is_error(item)),
        _ => Some(value).filter(|value| is_error(value)),
    }
}

/// A document that is or holds a provider's error: an `error` member that says something, or vLLM's `"object":"error"`.
fn is_error(value: &Value) -> bool {
    let says = |error: &Value| match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => true,
    };
    value.get("error").is_some_and(says) || is_error_object(value)
}

/// vLLM's older error.
fn is_error_object(value: &Value) -> bool {
    value.get("object").is_some_and(|object| object == "error")
}

/// The provider's error, in any of the shapes of WIRE_FORMATS 9.7: an object, a text, an object inside `error` or `response`.
pub(crate) fn report_error(data: &str, code: Option<&str>, sink: &mut dyn DeltaSink) {
    report(data, code, true, sink);
}

/// As [`report_error`], for an error that need not be the stream's last event.
pub(crate) fn report(data: &str, code: Option<&str>, last: bool, sink: &mut dyn DeltaSink) {
    let value = message_value(data)
        .or_else(|| cut_object(data))
        .unwrap_or_else(|| Value::String(said(data).into_owned()));
    let mut error = error_in(&value).unwrap_or(&value);
    while let Some(inner) = error
        .get("error")
        .or_else(|| error.get("response"))
        .filter(|inner| !inner.is_null())
    {
        error = inner;
    }
    let text = |member: &str| match error.get(member) {
        Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    let message = match error {
        Value::Null => String::new(),
        Value::Object(members) if members.is_empty() => String::new(),
        Value::String(message) => message.clone(),
        Value::Number(number) => number.to_string(),
        _ => text("message")
            .or_else(|| text("Message"))
            .or_else(|| text("detail"))
            .or_else(|| text("type").or_else(|| text("code")))
            .unwrap_or_else(|| said(&error.to_string()).into_owned()),
    };
    let found = text("code")
        .or_else(|| text("type").filter(|kind| kind != "error"))
        .or_else(|| text("status"));
    let message = Some(shortened(&message)).filter(|message| !message.is_empty());
    sink.delta(&Delta::Error {
        last,
        message: message.unwrap_or("an error without a message"),
        code: found.as_deref().or(code),
    });
}

/// Whether a document that is of none of the types its format reads is an error all the same: servers of several formats send
/// those of another one (9.7). Where it names a type of its own, its `error` member is about something else.
pub(crate) fn is_foreign_error(document: &str, kind: Option<&str>) -> bool {
    // The events of these formats have dots or underscores in their types; vLLM's older error has a type, too.
    let is_event = kind.is_some_and(|kind| kind.contains(['.', '_']) && !kind.ends_with("_error"));
    let names_error = !is_event && document.contains("\"error\"");
    let value = names_error.then(|| message_value(document)).flatten();
    value.is_some_and(|value| is_error_object(&value) || kind.is_none() && is_error(&value))
}

/// A tree of values takes up to some fifty times its text, and no message is this long: a longer one is read as plain text.
const TREE_BYTES: usize = 256 << 10;

/// A message as a tree of values.
fn message_value(data: &str) -> Option<Value> {
    (data.len() <= TREE_BYTES)
        .then(|| serde_json::from_str(data).ok())
        .flatten()
}

/// What a cut document states.
fn cut_object(data: &str) -> Option<Value> {
    let is_short = data.len() <= TREE_BYTES;
    let ended = is_short.then(|| recover(data, MAX_DEPTH))?;
    let states = ended.end == End::Cut && !ended.object.is_empty();
    states.then_some(Value::Object(ended.object))
}

/// What a server said in words, cut short. What may be JSON, or a piece of it, may hold the user's data and is not quoted: it
/// begins as no word does, or has an escape, a lone quote, or a quote where JSON has them.
fn words(text: &str) -> Option<&str> {
    const MARKS: [char; 6] = ['{', '}', '[', ']', ':', ','];
    let status = |c: char| c.is_ascii_digit() || c == ' ';
    let word = text.trim().trim_start_matches(status);
    let is_word = word.starts_with(|c: char| c.is_alphabetic() || c == '<');
    let mut quoted = text.split('"').map(str::trim).peekable();
    let is_json = text.contains('\\')
        || text.matches('"').count() % 2 == 1
        || std::iter::from_fn(|| Some((quoted.next()?, *quoted.peek()?)))
            .any(|(before, after)| before.ends_with(MARKS) || after.starts_with(MARKS));
    (is_word && !is_json).then(|| shortened(text))
}

/// The words, or what there is in their place.
fn said(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    if let Some(words) = words(text) {
        return Cow::Borrowed(words);
    }
    let kind = match text.as_bytes() {
        [] => return Cow::Borrowed(""),
        // How many bytes there were cannot be told any more.
        _ if text.contains(char::REPLACEMENT_CHARACTER) => return Cow::Borrowed("unreadable data"),
        [b'{' | b'[', ..] => "JSON",
        _ => "text",
    };
    Cow::Owned(format!("{} bytes of {kind}", text.len()))
}

/// A server's message may be a whole page of HTML.
const MESSAGE_BYTES: usize = 300;

fn shortened(text: &str) -> &str {
    let text = text.trim();
    let end = (0..=MESSAGE_BYTES.min(text.len()))
        .rev()
        .find(|&at| text.is_char_boundary(at));
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}
