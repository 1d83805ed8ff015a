//! Reading members of wire items, and what is wrong with them.

use std::fmt;

use serde_json::{Map, Value};

use crate::arguments::Arguments;
use crate::call::{Parts, ToolCall, ToolName};
use crate::config::default_ids;

/// A value is not the item that it was read as.
///
/// # Examples
///
/// ```
/// use callstitch::ToolCall;
/// use callstitch::history::{HistoryError, HistoryFormat};
/// use serde_json::json;
///
/// let error = ToolCall::from_wire(HistoryFormat::Anthropic, &json!({"type": "text"})).unwrap_err();
/// assert_eq!(error, HistoryError::NotAnItem);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HistoryError {
    /// It is no item of this wire that holds a call or a result.
    NotAnItem,
    /// A member that the wire requires is missing, or of another type.
    Member(&'static str),
}

impl fmt::Display for HistoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HistoryError::NotAnItem => f.write_str("not an item of this wire"),
            HistoryError::Member(name) => {
                write!(f, "the member {name} is missing or not what it should be")
            }
        }
    }
}

impl std::error::Error for HistoryError {}

pub(super) type Read<T> = Result<T, HistoryError>;

/// A member's text; absent, `null` and empty are `None`.
pub(super) fn text(value: &Value, key: &str) -> Option<String> {
    let text = value.get(key)?.as_str()?;
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

/// An id or a name that a wire may leave out; absent is also `"null"`, as some SDKs write it (WIRE_FORMATS 11.2.3).
pub(super) fn label(value: &Value, key: &str) -> Option<String> {
    text(value, key).filter(|label| label != "null")
}

/// A member's text that the wire requires.
pub(super) fn required(value: &Value, key: &'static str) -> Read<String> {
    text(value, key).ok_or(HistoryError::Member(key))
}

/// Whether the member has this text.
pub(super) fn is(value: &Value, key: &str, text: &str) -> bool {
    value.get(key).and_then(Value::as_str) == Some(text)
}

/// The member's elements; none where it is no array.
pub(super) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Arguments of a wire that sends text, of which some send an object.
pub(super) fn text_arguments(value: Option<&Value>) -> Arguments {
    match value {
        Some(Value::String(text)) => Arguments::parse(text.as_str()),
        Some(other) => Arguments::from_value(other.clone()),
        None => Arguments::default(),
    }
}

/// Arguments of a wire that sends an object.
pub(super) fn object_arguments(value: Option<&Value>) -> Arguments {
    Arguments::from_value(value.cloned().unwrap_or_default())
}

/// A call that a wire's item states.
pub(super) fn call(
    id: Option<String>,
    name: String,
    arguments: Arguments,
    extras: Map<String, Value>,
) -> Read<ToolCall> {
    let name = ToolName::new(name).map_err(|_| HistoryError::Member("name"))?;
    let mut parts = Parts::by_hand(Some(name), id, arguments, default_ids());
    parts.extras = extras;
    Ok(ToolCall(Box::new(parts)))
}

/// The members of an item that are not the wire's own: they go back verbatim.
pub(super) fn extras(value: &Value, own: &[&str]) -> Map<String, Value> {
    let members = value.as_object().into_iter().flatten();
    members
        .filter(|(key, value)| !own.contains(&key.as_str()) && !value.is_null())
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// An answer as a text member, or a list of parts: a part that is no text is its JSON.
pub(super) fn answer_text(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let parts = parts.iter().filter(|part| !part.is_null());
            parts.map(part_text).collect::<Vec<_>>().join("\n")
        }
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

/// A part of an answer as text. A part that holds a JSON value is that value alone.
fn part_text(part: &Value) -> String {
    let text = part.get("text").unwrap_or(part);
    match (text, part.get("json")) {
        (Value::String(text), _) => text.clone(),
        (_, Some(json)) => json.to_string(),
        _ => part.to_string(),
    }
}
