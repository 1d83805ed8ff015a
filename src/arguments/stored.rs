//! Arguments at rest and in logs: any stored shape is read, what is written reads back as the same, and nothing is shown
//! unless asked for.

use super::Arguments;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use std::fmt;

/// An object where the arguments are usable, the text as sent where they are flagged or free-form, so that reading it
/// back flags it again. For a wire that always wants an object, use [`Arguments::to_json`].
impl Serialize for Arguments {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.object() {
            Ok(object) => object.serialize(serializer),
            Err(_) => serializer.serialize_str(&self.raw),
        }
    }
}

/// As [`Arguments::from_value`]: an object, a string holding one, `null` or blank; anything else is read and flagged.
/// For a field that may be absent use `#[serde(default)]`, which is `{}`.
impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Arguments::from_value)
    }
}

impl fmt::Debug for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A call that is only logged must not hold its object from then on.
        let members = self.object.as_ref().map(|object| {
            let kept = object.get().map(Map::len);
            kept.unwrap_or_else(|| self.read().len())
        });
        f.debug_struct("Arguments")
            .field("state", &self.state)
            .field("bytes", &self.raw.len())
            .field("members", &members)
            .field("repairs", &self.repairs)
            .field("problem", &self.problem)
            .finish()
    }
}

/// Shows the argument text.
pub(super) struct Revealed<'a>(pub(super) &'a Arguments);

impl fmt::Debug for Revealed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arguments")
            .field("state", &self.0.state)
            .field("raw", &self.0.raw)
            .field("object", &self.0.recovered())
            .field("repairs", &self.0.repairs)
            .field("problem", &self.0.problem)
            .finish()
    }
}

/// As [`Arguments::parse`].
impl From<&str> for Arguments {
    fn from(text: &str) -> Self {
        Arguments::parse(text)
    }
}

/// As [`Arguments::parse`].
impl From<String> for Arguments {
    fn from(text: String) -> Self {
        Arguments::parse(text)
    }
}

/// As [`Arguments::from_value`].
impl From<Value> for Arguments {
    fn from(value: Value) -> Self {
        Arguments::from_value(value)
    }
}

/// The object, whole.
impl From<Map<String, Value>> for Arguments {
    fn from(object: Map<String, Value>) -> Self {
        Arguments::from_value(Value::Object(object))
    }
}
