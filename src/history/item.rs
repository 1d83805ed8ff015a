//! A history item as it is built: argument text goes in as it is spelled, so that no digit is lost on the way.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::HistoryFormat;
use crate::call::ToolCall;

/// One value of an item.
#[derive(Debug)]
pub(super) enum Node {
    Value(Value),
    /// An object's text as it is spelled.
    Raw(Box<RawValue>),
    Object(Members),
}

/// An object under construction, in the order of its members.
#[derive(Debug, Default)]
pub(super) struct Members(Vec<(String, Node)>);

impl Members {
    pub(super) fn new() -> Self {
        Members::default()
    }

    pub(super) fn with(mut self, key: &str, value: impl Into<Node>) -> Self {
        self.0.push((key.to_owned(), value.into()));
        self
    }

    pub(super) fn with_some(self, key: &str, value: Option<impl Into<Node>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// With the extras of the call that this wire takes, unless a member of the name is there. Those that were read from an item
    /// of this wire are its own; of others it takes what it knows, and what no wire is known for where the caller gave it.
    pub(super) fn with_extras(mut self, call: &ToolCall, format: HistoryFormat) -> Self {
        let read_from = call.0.extras_of.as_deref();
        let own = read_from == Some(format.name());
        for (key, value) in call.extras() {
            let held = self.0.iter().any(|(held, _)| held == key);
            let known = takes(format, key, value);
            if !held && (own || known.unwrap_or(read_from.is_none())) {
                self.0.push((key.clone(), value.clone().into()));
            }
        }
        self
    }
}

/// Whether a wire takes a member of another's; `None` where no wire is known for it.
pub(super) fn takes(format: HistoryFormat, key: &str, value: &Value) -> Option<bool> {
    // Their clients refuse members that they do not know.
    if matches!(format, HistoryFormat::Bedrock | HistoryFormat::Adaline) {
        return Some(false);
    }
    Some(match key {
        "thoughtSignature" => format == HistoryFormat::Gemini,
        "signature" => format == HistoryFormat::GeminiInteractions,
        "extra_content" => format == HistoryFormat::OpenAiChat,
        "namespace" | "pending_safety_checks" | "environment" | "container_id" | "fingerprint" => {
            format == HistoryFormat::OpenAiResponses
        }
        // There they say what kind of call it is, which an extra of another wire must not.
        "custom" | "function" if format == HistoryFormat::OpenAiChat => false,
        // One name on two wires, and two vocabularies.
        "caller" => match value.get("type").and_then(Value::as_str) {
            Some("direct") => {
                matches!(
                    format,
                    HistoryFormat::OpenAiResponses | HistoryFormat::Anthropic
                )
            }
            Some("program") => format == HistoryFormat::OpenAiResponses,
            Some(kind) if kind.starts_with("code_execution") => format == HistoryFormat::Anthropic,
            _ => false,
        },
        _ => return None,
    })
}

/// The arguments as an object, always.
pub(super) fn object(call: &ToolCall) -> Node {
    if let Some(wrapped) = call.wrapped_text() {
        return Node::Value(wrapped.into());
    }
    match RawValue::from_string(call.arguments().to_json()) {
        Ok(raw) => Node::Raw(raw),
        Err(_) => Node::Value(Value::Object(call.arguments().map().into_owned())),
    }
}

/// The arguments as an object's text, always.
pub(super) fn text(call: &ToolCall) -> String {
    match call.wrapped_text() {
        Some(wrapped) => Value::Object(wrapped).to_string(),
        None => call.arguments().to_json(),
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Node::Value(value) => value.serialize(serializer),
            Node::Raw(raw) => raw.serialize(serializer),
            Node::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.0.len()))?;
                for (key, value) in &members.0 {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

impl From<Members> for Node {
    fn from(members: Members) -> Self {
        Node::Object(members)
    }
}

impl From<Value> for Node {
    fn from(value: Value) -> Self {
        Node::Value(value)
    }
}

impl From<&str> for Node {
    fn from(text: &str) -> Self {
        Node::Value(text.into())
    }
}

impl From<String> for Node {
    fn from(text: String) -> Self {
        Node::Value(text.into())
    }
}

impl From<u32> for Node {
    fn from(number: u32) -> Self {
        Node::Value(number.into())
    }
}

impl From<bool> for Node {
    fn from(flag: bool) -> Self {
        Node::Value(flag.into())
    }
}
