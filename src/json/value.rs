//! Whole texts through serde_json, kept or only checked.
//!
//! Letter to the next reader. This is what `serde_json::Value` does with a text, but for two things. It can keep nothing: a
//! check costs no tree. And it knows no private names: where serde_json was built to keep raw values, an object whose first
//! key is its own name for them is not read as an object, but as whatever text its member holds, at any depth. That is for
//! serde_json's own values, and must not be for what a model says.

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use super::cursor::Cursor;

/// Whether serde_json reads the text as an object. Keeps nothing; O(n).
pub(crate) fn is_object(text: &str) -> bool {
    is_object_beside(text, 0..0)
}

/// As [`is_object`], of a text in which a stretch of string content is known to be [`sound`](super::Scan::sound).
pub(crate) fn is_object_beside(text: &str, sound: Range<usize>) -> bool {
    Cursor::is_surely_object(text, sound) || matches!(read::<false>(text), Ok(Value::Object(_)))
}

/// The text as an object; `None` where serde_json does not read one.
pub(crate) fn object(text: &str) -> Option<Map<String, Value>> {
    match read::<true>(text) {
        Ok(Value::Object(object)) => Some(object),
        _ => None,
    }
}

/// Whether both texts are the same object.
pub(crate) fn is_same_object(one: &str, other: &str) -> bool {
    object(one).is_some_and(|one| object(other) == Some(one))
}

/// Tells an object that says something from others, whatever the white space in its text.
pub(crate) fn fingerprint(text: &str) -> Option<u64> {
    let object = object(text).filter(|object| !object.is_empty())?;
    let mut hasher = DefaultHasher::new();
    serde_json::to_string(&object).ok()?.hash(&mut hasher);
    Some(hasher.finish())
}

/// The text as a value; `None` where serde_json does not read one.
pub(crate) fn value(text: &str) -> Option<Value> {
    read::<true>(text).ok()
}

fn read<const KEEP: bool>(text: &str) -> Result<Value, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Read::<KEEP>.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// Reads any value; where it is not to be kept, what comes is empty and of the same kind.
#[derive(Clone, Copy)]
struct Read<const KEEP: bool>;

impl<'de, const KEEP: bool> DeserializeSeed<'de> for Read<KEEP> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, const KEEP: bool> Visitor<'de> for Read<KEEP> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(if KEEP {
            text.to_owned()
        } else {
            String::new()
        }))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut kept = Vec::new();
        while let Some(element) = elements.next_element_seed(self)? {
            if KEEP {
                kept.push(element);
            }
        }
        Ok(Value::Array(kept))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut kept = Map::new();
        while let Some(key) = members.next_key_seed(self)? {
            let value = members.next_value_seed(self)?;
            // A key is a string always.
            if let (true, Value::String(key)) = (KEEP, key) {
                kept.insert(key, value);
            }
        }
        Ok(Value::Object(kept))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_what_serde_json_reads() {
        let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        let mut texts: Vec<String> = [
            "{}",
            " {\"a\" : [1, -0, -1, 1.5, 1e3, 18446744073709551615, 18446744073709551616, true, null, \"\\u00e9\\n\"]}\n",
            "{\"a\":1,\"b\":2,\"a\":3}",
            "{\"a\":1e999}",
            "{\"a\":-1E-999}",
            "{\"\\u0061\":\"\\ud83d\\ude00\"}",
            "{\"\\ud800\":1}",
            "{\"a\":\"\\ud800\"}",
            "{\"a\":\"\t\"}",
            "{\"a\":01}",
            "{\"a\":1,}",
            "{\"a\":1} x",
            "{1:2}",
            "",
            "null",
            "\"a\"",
            "1",
        ]
        .map(str::to_owned)
        .to_vec();
        texts.extend([126, 127, 128].map(deep));
        texts.extend(
            [126, 127, 128].map(|depth| "{\"a\":".repeat(depth) + "1" + &"}".repeat(depth)),
        );
        texts.extend([299, 310, 400].map(|digits| format!("{{\"a\":-{}.5}}", "9".repeat(digits))));
        for text in texts {
            let theirs = serde_json::from_str::<Value>(&text).ok();
            assert_eq!(value(&text), theirs, "{text}");
            let theirs = theirs.filter(Value::is_object);
            assert_eq!(is_object(&text), theirs.is_some(), "{text}");
            assert_eq!(object(&text).map(Value::Object), theirs, "{text}");
        }
    }

    #[test]
    fn a_private_name_of_serde_json_is_a_key_like_any_other() {
        let text = r#"{"a":{"$serde_json::private::RawValue":"{\"b\":1}"}}"#;
        let read = object(text).unwrap();
        assert_eq!(read["a"]["$serde_json::private::RawValue"], "{\"b\":1}");
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }
}
