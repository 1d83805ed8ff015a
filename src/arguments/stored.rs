//! Arguments at rest: any stored shape is read, and what is written reads back as the same.

use super::Arguments;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

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
