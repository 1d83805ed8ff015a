//! What a call carries for its caller: display text, metadata, the state of its execution, markers. None of it is ever sent.

use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::ToolCall;
use super::stored::NESTS;
use crate::delta::Executor;

/// The metadata member that holds the [`ExecutionStatus`].
const EXECUTION_STATUS: &str = "execution_status";
const PROVIDER_NATIVE: &str = "provider_native";
const NAMESPACE: &str = "namespace";
/// A call that its provider runs, as maps of ReqLLM mark it.
const BUILTIN: &str = "builtin?";

/// How far the running of a call has come. LangChain's four words; any other text is kept.
///
/// # Examples
///
/// ```
/// use callstitch::ExecutionStatus;
///
/// assert_eq!("executing".parse(), Ok(ExecutionStatus::Executing));
/// assert_eq!(ExecutionStatus::Failed.to_string(), "failed");
/// assert_eq!(ExecutionStatus::from("queued").as_str(), "queued");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ExecutionStatus {
    /// The call is known, and not begun.
    #[default]
    Identified,
    /// It runs.
    Executing,
    /// It has a result.
    Completed,
    /// It ended without one.
    Failed,
    /// A word of the caller's own.
    Other(String),
}

impl ExecutionStatus {
    /// The status as one word.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            ExecutionStatus::Identified => "identified",
            ExecutionStatus::Executing => "executing",
            ExecutionStatus::Completed => "completed",
            ExecutionStatus::Failed => "failed",
            ExecutionStatus::Other(text) => text,
        }
    }
}

impl From<&str> for ExecutionStatus {
    fn from(text: &str) -> Self {
        match text {
            "identified" => ExecutionStatus::Identified,
            "executing" => ExecutionStatus::Executing,
            "completed" => ExecutionStatus::Completed,
            "failed" => ExecutionStatus::Failed,
            other => ExecutionStatus::Other(other.to_owned()),
        }
    }
}

impl FromStr for ExecutionStatus {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(text.into())
    }
}

impl fmt::Display for ExecutionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for ExecutionStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ExecutionStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Cow::<'_, str>::deserialize(deserializer)?.as_ref().into())
    }
}

impl ToolCall {
    /// A text for people, of the caller's making.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ToolCall, ToolName};
    ///
    /// let mut call = ToolCall::new(ToolName::new("get_tide")?, "{}");
    /// call.set_display_text("Looking up the tide".to_owned());
    /// assert_eq!(call.display_text(), Some("Looking up the tide"));
    /// # Ok::<(), callstitch::EmptyToolName>(())
    /// ```
    #[must_use]
    pub fn display_text(&self) -> Option<&str> {
        self.0.display_text.as_deref()
    }

    /// Sets the text for people. `None` keeps what is there.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ToolCall, ToolName};
    ///
    /// let mut call = ToolCall::new(ToolName::new("get_tide")?, "{}");
    /// call.set_display_text("Looking up the tide".to_owned());
    /// call.set_display_text(None);
    /// assert_eq!(call.display_text(), Some("Looking up the tide"));
    /// # Ok::<(), callstitch::EmptyToolName>(())
    /// ```
    pub fn set_display_text(&mut self, text: impl Into<Option<String>>) {
        if let Some(text) = text.into() {
            self.0.display_text = Some(text);
        }
    }

    /// What the caller noted on the call: kept by serde, never sent to a provider. What goes back verbatim with the call is in
    /// [`extras`](ToolCall::extras).
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ToolCall, ToolName};
    ///
    /// let mut call = ToolCall::new(ToolName::new("get_tide")?, "{}");
    /// assert!(call.metadata().is_empty());
    /// call.metadata_mut().insert("turn".to_owned(), 3.into());
    /// assert_eq!(call.metadata()["turn"], 3);
    /// # Ok::<(), callstitch::EmptyToolName>(())
    /// ```
    #[must_use]
    pub fn metadata(&self) -> &Map<String, Value> {
        &self.0.metadata
    }

    /// The caller's notes, to be changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ToolCall, ToolName};
    ///
    /// let mut call = ToolCall::new(ToolName::new("get_tide")?, "{}");
    /// call.metadata_mut().insert("turn".to_owned(), 3.into());
    /// assert_eq!(call.metadata().len(), 1);
    /// # Ok::<(), callstitch::EmptyToolName>(())
    /// ```
    pub fn metadata_mut(&mut self) -> &mut Map<String, Value> {
        &mut self.0.metadata
    }

    /// The same call with these notes merged in key by key; a key that is there is replaced.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ToolCall, ToolName};
    /// use serde_json::json;
    ///
    /// let call = ToolCall::new(ToolName::new("get_time")?, "{}");
    /// let call = call.with_metadata([("async", json!(true)), ("turn", json!(3))]);
    /// assert!(call.is_async());
    /// assert_eq!(call.metadata()["turn"], 3);
    /// # Ok::<(), callstitch::EmptyToolName>(())
    /// ```
    #[must_use]
    pub fn with_metadata<K: Into<String>>(
        mut self,
        notes: impl IntoIterator<Item = (K, Value)>,
    ) -> Self {
        self.0
            .metadata
            .extend(notes.into_iter().map(|(key, value)| (key.into(), value)));
        self
    }

    /// Notes and extras in one map, the notes winning. A copy.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::ToolCall;
    ///
    /// let call = ToolCall::builder().name("get_tide").extra("caller", "program").metadata("turn", 3).build()?;
    /// assert_eq!(call.metadata_with_extras().len(), 2);
    /// # Ok::<(), callstitch::BuildError>(())
    /// ```
    #[must_use]
    pub fn metadata_with_extras(&self) -> Map<String, Value> {
        let mut all = self.0.extras.clone();
        all.extend(self.0.metadata.clone());
        all
    }

    /// How far the running of the call has come, as noted in its metadata; [`Identified`](ExecutionStatus::Identified) where
    /// nothing was.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ExecutionStatus, ToolCall, ToolName};
    ///
    /// let mut call = ToolCall::new(ToolName::new("get_tide")?, "{}");
    /// assert_eq!(call.execution_status(), ExecutionStatus::Identified);
    /// call.set_execution_status("executing");
    /// assert_eq!(call.execution_status(), ExecutionStatus::Executing);
    /// # Ok::<(), callstitch::EmptyToolName>(())
    /// ```
    #[must_use]
    pub fn execution_status(&self) -> ExecutionStatus {
        self.execution_status_or(ExecutionStatus::Identified)
    }

    /// As [`execution_status`](ToolCall::execution_status), with a default of your own.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ExecutionStatus, ToolCall, ToolName};
    ///
    /// let call = ToolCall::new(ToolName::new("get_tide")?, "{}");
    /// assert_eq!(call.execution_status_or(ExecutionStatus::Completed), ExecutionStatus::Completed);
    /// # Ok::<(), callstitch::EmptyToolName>(())
    /// ```
    #[must_use]
    pub fn execution_status_or(&self, default: ExecutionStatus) -> ExecutionStatus {
        self.0
            .metadata
            .get(EXECUTION_STATUS)
            .and_then(Value::as_str)
            .map_or(default, ExecutionStatus::from)
    }

    /// Notes how far the running has come.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ExecutionStatus, ToolCall, ToolName};
    ///
    /// let mut call = ToolCall::new(ToolName::new("get_tide")?, "{}");
    /// call.set_execution_status(ExecutionStatus::Failed);
    /// assert_eq!(call.metadata()["execution_status"], "failed");
    /// # Ok::<(), callstitch::EmptyToolName>(())
    /// ```
    pub fn set_execution_status(&mut self, status: impl Into<ExecutionStatus>) {
        let status = status.into().as_str().into();
        self.0.metadata.insert(EXECUTION_STATUS.to_owned(), status);
    }

    /// The namespace of the tool, where the wire or the caller's notes have one.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::ToolCall;
    ///
    /// let call = ToolCall::builder().name("get_tide").extra("namespace", "harbour").build()?;
    /// assert_eq!(call.namespace(), Some("harbour"));
    /// # Ok::<(), callstitch::BuildError>(())
    /// ```
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        fn of(map: &Map<String, Value>) -> Option<&str> {
            map.get(NAMESPACE)?.as_str().filter(|text| !text.is_empty())
        }
        of(&self.0.extras).or_else(|| of(&self.0.metadata))
    }

    /// Whether the result may come in a later turn, as noted under `async`. The caller runs the call all the same, and keeps
    /// its id and notes.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::ToolCall;
    ///
    /// assert!(ToolCall::builder().name("dig").metadata("async", true).build()?.is_async());
    /// # Ok::<(), callstitch::BuildError>(())
    /// ```
    #[must_use]
    pub fn is_async(&self) -> bool {
        ["async", "async?"]
            .iter()
            .any(|key| self.0.metadata.get(*key).is_some_and(is_truthy))
    }

    /// Whether the provider ran the call: it is information, and not to be answered.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ToolCall, ToolName};
    ///
    /// let name = ToolName::new("web_search")?;
    /// assert!(ToolCall::builtin(name.clone(), "{}").is_builtin());
    /// assert!(!ToolCall::new(name, "{}").is_builtin());
    /// # Ok::<(), callstitch::EmptyToolName>(())
    /// ```
    #[must_use]
    pub fn is_builtin(&self) -> bool {
        self.0.executor == Executor::Provider
    }

    /// Whether the caller's notes mark the call as native to its provider: `provider_native` with anything but `false` or
    /// `null`. Apart from [`is_builtin`](ToolCall::is_builtin).
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::ToolCall;
    ///
    /// assert!(ToolCall::builder().name("bash").metadata("provider_native", true).build()?.is_provider_native());
    /// # Ok::<(), callstitch::BuildError>(())
    /// ```
    #[must_use]
    pub fn is_provider_native(&self) -> bool {
        self.0.metadata.get(PROVIDER_NATIVE).is_some_and(is_truthy)
    }

    /// Whether a call-shaped map stands for a call that its provider runs: the flag is on it, or on its `function`
    /// or `custom`.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::ToolCall;
    /// use serde_json::json;
    ///
    /// let wrapped = json!({"function": {"name": "web_search", "builtin?": true}});
    /// assert!(ToolCall::is_builtin_value(&wrapped));
    /// assert!(!ToolCall::has_builtin_flag(&wrapped));
    /// ```
    #[must_use]
    pub fn is_builtin_value(value: &Value) -> bool {
        let mut nests = NESTS.iter().filter_map(|nest| value.get(nest));
        Self::has_builtin_flag(value) || nests.any(Self::has_builtin_flag)
    }

    /// Whether the flag is on this very map.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::ToolCall;
    /// use serde_json::json;
    ///
    /// assert!(ToolCall::has_builtin_flag(&json!({"name": "web_search", "builtin?": true})));
    /// assert!(!ToolCall::has_builtin_flag(&json!({"name": "web_search"})));
    /// ```
    #[must_use]
    pub fn has_builtin_flag(value: &Value) -> bool {
        value.get(BUILTIN).is_some_and(is_truthy)
    }

    /// Puts the flag on a call-shaped map, where `flag` is true; changes nothing otherwise.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::ToolCall;
    /// use serde_json::{Map, Value};
    ///
    /// let mut map = Map::new();
    /// ToolCall::set_builtin_flag(&mut map, true);
    /// assert!(ToolCall::has_builtin_flag(&Value::Object(map)));
    /// ```
    pub fn set_builtin_flag(map: &mut Map<String, Value>, flag: bool) {
        if flag {
            map.insert(BUILTIN.to_owned(), Value::Bool(true));
        }
    }

    /// The notes on a call-shaped map; `{}` on anything else. Free: borrowed.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::ToolCall;
    /// use serde_json::json;
    ///
    /// assert_eq!(ToolCall::metadata_of(&json!({"metadata": {"turn": 3}}))["turn"], 3);
    /// assert!(ToolCall::metadata_of(&json!("no map")).is_empty());
    /// ```
    #[must_use]
    pub fn metadata_of(value: &Value) -> Cow<'_, Map<String, Value>> {
        match value.get("metadata") {
            Some(Value::Object(notes)) => Cow::Borrowed(notes),
            _ => Cow::Borrowed(crate::json::empty()),
        }
    }
}

/// Anything but `false` and `null`.
fn is_truthy(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
}
