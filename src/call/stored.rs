//! A call at rest: one stable form is written, and every stored shape is read.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{CallIndex, Evidence, Parts, ToolCall, ToolName};
use crate::arguments::{Arguments, ArgumentsForm, ArgumentsState, StoredArguments, StoredProblem};
use crate::config::default_ids;
use crate::delta::{Executor, ToolKind};
use crate::json::Repair;

/// The members of OpenAI's chat shape that hold a call's name and arguments.
pub(crate) const NESTS: [&str; 2] = ["function", "custom"];
/// The member that holds free text.
const INPUT: &str = "input";

/// Whether a stored call had all that it needs. LangChain's two words; [`CallState`](super::CallState) says more.
///
/// # Examples
///
/// ```
/// use callstitch::{CallStatus, ToolCall, ToolName};
///
/// let name = ToolName::new("get_tide")?;
/// assert_eq!(ToolCall::new(name.clone(), "{}").status(), CallStatus::Complete);
/// assert_eq!(ToolCall::new(name, "{").status(), CallStatus::Incomplete);
/// # Ok::<(), callstitch::EmptyToolName>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallStatus {
    /// It is still arriving, or was cut.
    #[default]
    Incomplete,
    /// It is named and its arguments are usable.
    Complete,
}

/// The stable form, members in this order. `arguments` is the object of usable arguments and the text as sent otherwise; what
/// that does not say stands beside it.
#[derive(Serialize)]
struct Stored<'a> {
    index: CallIndex,
    #[serde(skip_serializing_if = "is_zero")]
    choice: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    wire_index: Option<i64>,
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    wire_id: Option<&'a str>,
    #[serde(skip_serializing_if = "is_false")]
    synthetic_id: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    item_id: Option<&'a str>,
    name: Option<&'a ToolName>,
    kind: &'a ToolKind,
    executor: Executor,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_name: Option<&'a str>,
    arguments: ArgumentsForm<'a>,
    state: Option<ArgumentsState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repaired: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "<[Repair]>::is_empty")]
    repairs: Cow<'a, [Repair]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recovered: Option<ArgumentsForm<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<StoredProblem<'a>>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    extras: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extras_of: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    display_text: Option<&'a str>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    metadata: &'a Map<String, Value>,
    evidence: &'a Evidence,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// The stable form; [`ToolCall::JSON_SCHEMA`] describes it. What is written reads back as an equal call.
impl Serialize for ToolCall {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let parts = &*self.0;
        let (arguments, beside) = parts.arguments.to_stored();
        Stored {
            index: parts.index,
            choice: parts.choice,
            wire_index: parts.wire_index,
            id: &parts.id,
            wire_id: parts.wire_id.as_deref().filter(|id| *id != parts.id),
            synthetic_id: parts.synthetic_id,
            item_id: parts.item_id.as_deref(),
            name: parts.name.as_ref(),
            kind: &parts.kind,
            executor: parts.executor,
            server_name: parts.server_name.as_deref(),
            arguments,
            state: beside.state,
            raw: beside.raw,
            repaired: beside.repaired,
            repairs: beside.repairs,
            recovered: beside.recovered,
            problem: beside.problem,
            extras: &parts.extras,
            extras_of: parts.extras_of.as_deref(),
            display_text: parts.display_text.as_deref(),
            metadata: &parts.metadata,
            evidence: &parts.evidence,
        }
        .serialize(serializer)
    }
}

/// Reads every stored shape, as [`ToolCall::from_value`].
impl<'de> Deserialize<'de> for ToolCall {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ToolCall::from_value(Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// A stored value is no call's: it is no object.
///
/// # Examples
///
/// ```
/// use callstitch::ToolCall;
///
/// let error = ToolCall::from_value(serde_json::json!("no call")).unwrap_err();
/// assert!(!error.to_string().is_empty());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredCallError(());

impl ToolCall {
    /// Reads a stored call: the stable form, the command line's lines, and the maps that other systems keep, flat or with the
    /// OpenAI nesting. Arguments may be an object, text, text in text, `null` or absent; an id that is missing is made; a name
    /// that is missing leaves the call [unnamed](super::CallState::Unnamed). Unknown members are ignored.
    ///
    /// A word that says the call is usable is no proof: its text is read again. Cost: O(n).
    ///
    /// # Errors
    ///
    /// Only where the value is no object.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::ToolCall;
    /// use serde_json::json;
    ///
    /// let stored = json!({"id": "call_123", "name": "get_weather", "arguments": "{\"location\":\"Paris\"}"});
    /// let call = ToolCall::from_value(stored)?;
    /// assert_eq!(call.arguments().object().unwrap()["location"], "Paris");
    ///
    /// let nested = json!({"id": "call_456", "type": "function", "function": {"name": "get_time", "arguments": "{}"}});
    /// assert_eq!(ToolCall::from_value(nested)?.name(), "get_time");
    /// # Ok::<(), callstitch::StoredCallError>(())
    /// ```
    pub fn from_value(value: Value) -> Result<Self, StoredCallError> {
        let builtin = ToolCall::is_builtin_value(&value);
        let Value::Object(mut map) = value else {
            return Err(StoredCallError(()));
        };
        let custom = matches!(map.get("custom"), Some(Value::Object(_)));
        for nest in NESTS {
            if let Some(Value::Object(inner)) = map.remove(nest) {
                for (key, value) in inner {
                    map.entry(key).or_insert(value);
                }
            }
        }
        let kind = kind(&mut map, custom);
        let call_id = text(&mut map, "call_id");
        let (id, item_id) = match (call_id, text(&mut map, "id")) {
            (Some(call_id), id) => (Some(call_id), id),
            (None, id) => (id, None),
        };
        let arguments = arguments(&mut map, &kind);
        let name = text(&mut map, "name").and_then(|name| ToolName::new(name).ok());
        let wire_id = text(&mut map, "wire_id");
        let mut parts = Parts::by_hand(name, id, arguments, default_ids());
        parts.synthetic_id |= take(&mut map, "synthetic_id").unwrap_or(false);
        if parts.synthetic_id {
            parts.wire_id = wire_id;
        }
        parts.index = take(&mut map, "index").unwrap_or_default();
        parts.choice = take(&mut map, "choice").unwrap_or_default();
        parts.wire_index = take(&mut map, "wire_index");
        parts.item_id = text(&mut map, "item_id").or(item_id);
        parts.executor = take(&mut map, "executor").unwrap_or_default();
        if builtin {
            parts.executor = Executor::Provider;
        }
        parts.kind = kind;
        parts.server_name = text(&mut map, "server_name").or_else(|| text(&mut map, "serverName"));
        parts.display_text = text(&mut map, "display_text");
        parts.metadata = take(&mut map, "metadata").unwrap_or_default();
        parts.extras = take(&mut map, "extras").unwrap_or_default();
        parts.extras_of = text(&mut map, "extras_of").map(String::into_boxed_str);
        if let Some(evidence) = take(&mut map, "evidence") {
            parts.evidence = evidence;
        }
        Ok(ToolCall(Box::new(parts)))
    }

    /// The flat map `{id, name, arguments}` with an object always, in which a custom call's text is the member `input`, and
    /// `metadata` where there is some. A copy, O(n).
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ToolCall, ToolName};
    /// use serde_json::{Value, json};
    ///
    /// let call = ToolCall::new(ToolName::new("get_weather")?, r#"{"location":"Paris"}"#).with_id("call_123");
    /// let map = json!({"id": "call_123", "name": "get_weather", "arguments": {"location": "Paris"}});
    /// assert_eq!(Value::Object(call.to_map()), map);
    /// # Ok::<(), callstitch::EmptyToolName>(())
    /// ```
    #[must_use]
    pub fn to_map(&self) -> Map<String, Value> {
        let mut map = Map::new();
        map.insert("id".to_owned(), self.id().into());
        map.insert("name".to_owned(), self.name().into());
        let wrapped = self.wrapped_text();
        let arguments = wrapped.unwrap_or_else(|| self.arguments().map().into_owned());
        map.insert("arguments".to_owned(), arguments.into());
        if !self.metadata().is_empty() {
            map.insert("metadata".to_owned(), self.metadata().clone().into());
        }
        map
    }

    /// The text of a custom call as an object, for what takes only objects: as custom tools are offered to wires that have none.
    /// `None` for any other call.
    pub(crate) fn wrapped_text(&self) -> Option<Map<String, Value>> {
        let text = || (INPUT.to_owned(), self.arguments().raw().into());
        let custom = *self.kind() == ToolKind::Custom;
        custom.then(|| std::iter::once(text()).collect())
    }

    /// Whether the call has all that it needs: a name and usable arguments.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{CallStatus, ToolCall, ToolName};
    ///
    /// let call = ToolCall::new(ToolName::new("get_tide")?, r#"{"port":"Oban"}"#);
    /// assert_eq!(call.status(), CallStatus::Complete);
    /// # Ok::<(), callstitch::EmptyToolName>(())
    /// ```
    #[must_use]
    pub fn status(&self) -> CallStatus {
        if self.is_usable() {
            CallStatus::Complete
        } else {
            CallStatus::Incomplete
        }
    }

    /// A JSON Schema (draft 2020-12) of the form that serde writes.
    pub const JSON_SCHEMA: &'static str = include_str!("stored.schema.json");
}

fn kind(map: &mut Map<String, Value>, custom: bool) -> ToolKind {
    let kind = take(map, "kind").filter(|kind: &ToolKind| !kind.as_str().is_empty());
    let type_of = text(map, "type");
    match (kind, type_of.as_deref()) {
        (Some(kind), _) => kind,
        (None, Some("custom" | "custom_tool_call")) => ToolKind::Custom,
        _ if custom => ToolKind::Custom,
        _ => ToolKind::Function,
    }
}

fn arguments(map: &mut Map<String, Value>, kind: &ToolKind) -> Arguments {
    let named = ["arguments", INPUT, "args"];
    let value = named.iter().find_map(|name| map.remove(*name));
    let incomplete = matches!(take(map, "status"), Some(CallStatus::Incomplete));
    let state = take(map, "state");
    let raw = text_as_is(map, "raw");
    if state.is_none()
        && let Some(raw) = raw
    {
        // The command line's word for a call without a name says nothing of its arguments.
        return Arguments::parse(raw);
    }
    let raw = raw.or_else(|| text_as_is(map, "invalid_arguments"));
    let stored = StoredArguments {
        state,
        raw: raw.map(Cow::Owned),
        repaired: text_as_is(map, "repaired").map(Cow::Owned),
        repairs: Cow::Owned(take(map, "repairs").unwrap_or_default()),
        recovered: take(map, "recovered"),
        problem: take(map, "problem"),
    };
    if stored.state.is_none() && stored.raw.is_none() {
        if *kind == ToolKind::Custom
            && let Some(Value::String(text)) = value
        {
            return Arguments::free_form(text, incomplete);
        }
        if incomplete {
            return Arguments::from_incomplete(value);
        }
    }
    Arguments::from_stored(value, stored)
}

/// A member as its type; `None` where it is absent or of another.
fn take<T: serde::de::DeserializeOwned>(map: &mut Map<String, Value>, key: &str) -> Option<T> {
    serde_json::from_value(map.remove(key)?).ok()
}

/// A label: text that says something, or a number as its decimal.
fn text(map: &mut Map<String, Value>, key: &str) -> Option<String> {
    match map.remove(key)? {
        Value::String(text) => Some(text).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn text_as_is(map: &mut Map<String, Value>, key: &str) -> Option<String> {
    match map.remove(key)? {
        Value::String(text) => Some(text),
        _ => None,
    }
}

impl fmt::Display for StoredCallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a stored call is an object")
    }
}

impl std::error::Error for StoredCallError {}
