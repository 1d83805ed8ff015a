//! Calls whose arguments are an object, for as long as their finished item has not come: what their announcement and the
//! events behind it say of them, which is all there is where no item ever comes (WIRE_FORMATS 2.3, R3).

use std::collections::BTreeMap;

use serde_json::Value;

use super::call_item::CallItem;
use super::items::ItemType;
use crate::json::cursor::Cursor;

/// One such call.
#[derive(Debug)]
pub(super) struct Unfinished {
    kind: &'static ItemType,
    /// The id by which it is answered, if no finished item states another.
    pub(super) id: String,
    /// The arguments as announced; empty for none.
    object: String,
    /// The texts of the member that comes in parts. `None`: begun, and not ended.
    parts: BTreeMap<i64, Option<String>>,
    /// Bytes held for it.
    pub(super) bytes: usize,
}

/// Those of one response, by their place among the calls seen.
#[derive(Debug, Default)]
pub(super) struct AllUnfinished(pub(super) BTreeMap<usize, Unfinished>);

/// The text of the arguments as far as it came.
pub(super) struct SoFar {
    /// Not closed where something is missing: nothing else would show that it is cut.
    pub(super) text: String,
    /// The wire said that this is all of it.
    pub(super) closed: bool,
}

/// What an entry costs beside its text.
const PART_BYTES: usize = 64;

impl Unfinished {
    /// `None` for a call whose text comes as text: it says itself how far it came.
    pub(super) fn new(call: &CallItem<'_, '_>) -> Option<Self> {
        let is_text = call.item.beginning(call.kind).is_some();
        let object = call.item.arguments(call.kind).filter(|_| !is_text);
        let object = object.filter(|object| object.starts_with('{'));
        let object = object.unwrap_or_default().into_owned();
        let says_more = !is_text && object.len() > "{}".len();
        (call.kind.states_an_object() || says_more).then(|| Unfinished {
            kind: call.kind,
            id: call.answered_by().unwrap_or_default().to_owned(),
            bytes: object.len(),
            object,
            parts: BTreeMap::new(),
        })
    }

    /// Takes one part; `None` for one that only begins.
    pub(super) fn take(&mut self, part: i64, text: Option<String>) {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let held = self.parts.entry(part).or_insert_with(|| {
            self.bytes += PART_BYTES;
            None
        });
        if text.is_some() {
            self.bytes = self.bytes.saturating_sub(length(held)) + length(&text);
            *held = text;
        }
    }

    /// The arguments, which a response that ended well says are all there: else what was announced may be a husk. `None` where
    /// nothing of them came.
    pub(super) fn so_far(&self, ended_well: bool) -> Option<SoFar> {
        let (grows, grown) = (self.kind.grows(), self.grown());
        let ended = self.has_ended(ended_well);
        let mut is_whole = ended || (ended_well && grows.is_empty());
        let (mut text, mut placed) = (String::new(), false);
        let mut put = |name: &str, value: &str| {
            text.push(if text.is_empty() { '{' } else { ',' });
            text.push_str(&format!("{}:{value}", Value::from(name)));
        };
        let _ = Cursor::new(&self.object).members(|cursor, name| {
            let (name, value) = (String::from_utf8_lossy(name), cursor.raw()?);
            if name == grows {
                placed = true;
                let says = !matches!(value, "\"\"" | "[]" | "null");
                is_whole |= ended_well && grown.is_none() && says;
                put(&name, grown.as_deref().unwrap_or(value));
            } else {
                // A file that is deleted has no patch.
                is_whole |= ended_well && name == "type" && value == "\"delete_file\"";
                put(&name, value);
            }
            Ok(())
        });
        if let Some(grown) = grown.filter(|_| !placed) {
            put(grows, &grown);
        }
        if text.is_empty() {
            return None;
        }
        if is_whole {
            text.push('}');
        }
        let closed = ended && !self.is_list();
        Some(SoFar { text, closed })
    }

    fn is_list(&self) -> bool {
        self.kind.grows() == "commands"
    }

    /// The member that came in parts, as JSON.
    fn grown(&self) -> Option<String> {
        let mut texts = self
            .parts
            .values()
            .flatten()
            .map(|text| Value::from(&**text));
        let grown = if self.is_list() {
            Value::Array(texts.collect())
        } else {
            texts.next()?
        };
        (!self.parts.is_empty()).then(|| grown.to_string())
    }

    /// Whether all parts are there. Of a list more may have been to come.
    fn has_ended(&self, ended_well: bool) -> bool {
        let mut parts = self.parts.iter().zip(0..);
        !self.parts.is_empty()
            && parts.all(|((&part, text), at)| part == at && text.is_some())
            && (ended_well || !self.is_list())
    }
}
