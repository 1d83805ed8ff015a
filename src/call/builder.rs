//! Calls made by hand.

use std::fmt;

use serde_json::{Map, Value};

use super::{CallIndex, Evidence, Parts, ToolCall, ToolName};
use crate::arguments::{Arguments, FaultKind, ProblemKind};
use crate::config::{IdSource, default_ids};
use crate::delta::{ClosedBy, Executor, ToolKind};

/// A field of a call, in an error.
///
/// # Examples
///
/// ```
/// use callstitch::{Field, FieldProblem, ToolCall};
///
/// let error = ToolCall::builder().name("get_tide").arguments(r#"{"port":"Ob"#).build().unwrap_err();
/// assert_eq!(error.of(Field::Arguments), Some(FieldProblem::Truncated));
/// assert_eq!(error.of(Field::Name), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Field {
    /// The call's id.
    Id,
    /// The tool's name.
    Name,
    /// The arguments.
    Arguments,
}

/// What is wrong with a field.
///
/// # Examples
///
/// ```
/// use callstitch::{Field, FieldProblem, ToolCall};
///
/// let error = ToolCall::builder().arguments("{\"a\" 1}").build().unwrap_err();
/// assert_eq!(error.of(Field::Name), Some(FieldProblem::Missing));
/// assert_eq!(error.of(Field::Arguments), Some(FieldProblem::Syntax { at: 5 }));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FieldProblem {
    /// It has no value.
    Missing,
    /// It is empty text.
    Empty,
    /// The text is not JSON.
    Syntax {
        /// Byte offset of the fault.
        at: usize,
    },
    /// The text is JSON, but not an object.
    NotAnObject,
    /// The text was cut.
    Truncated,
    /// It cannot be believed for another reason.
    Unusable,
}

/// One wrong field.
///
/// # Examples
///
/// ```
/// use callstitch::{Field, FieldProblem, ToolCall};
///
/// let error = ToolCall::builder().name("").build().unwrap_err();
/// let wrong = error.fields()[0];
/// assert_eq!((wrong.field, wrong.problem), (Field::Name, FieldProblem::Empty));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct FieldError {
    /// Which field.
    pub field: Field,
    /// What is wrong.
    pub problem: FieldProblem,
}

/// A call could not be made: every field that is wrong, at once. Shows no argument text.
///
/// # Examples
///
/// ```
/// use callstitch::{Field, FieldProblem, ToolCall};
///
/// let error = ToolCall::builder().id("").build().unwrap_err();
/// assert_eq!(error.fields().len(), 2); // the name is missing too
/// assert_eq!(error.of(Field::Id), Some(FieldProblem::Empty));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildError {
    fields: Vec<FieldError>,
}

impl BuildError {
    /// The wrong fields; never empty.
    #[must_use]
    pub fn fields(&self) -> &[FieldError] {
        &self.fields
    }

    /// What is wrong with one field, where something is.
    #[must_use]
    pub fn of(&self, field: Field) -> Option<FieldProblem> {
        let found = self.fields.iter().find(|error| error.field == field);
        found.map(|error| error.problem)
    }
}

/// Gathers the wrong fields.
#[derive(Default)]
pub(super) struct Faults(Vec<FieldError>);

impl Faults {
    pub(super) fn add(&mut self, field: Field, problem: FieldProblem) {
        self.0.push(FieldError { field, problem });
    }

    pub(super) fn arguments(&mut self, arguments: &Arguments) {
        if arguments.is_usable() {
            return;
        }
        let problem = arguments.problem();
        self.add(
            Field::Arguments,
            match problem.map(|problem| (problem.kind(), problem.at())) {
                Some((ProblemKind::Truncated | ProblemKind::Blank, _)) => FieldProblem::Truncated,
                Some((ProblemKind::Fault(FaultKind::NotAnObject), _)) => FieldProblem::NotAnObject,
                Some((ProblemKind::Fault(_), at)) => FieldProblem::Syntax { at },
                _ => FieldProblem::Unusable,
            },
        );
    }

    pub(super) fn or<T>(self, value: impl FnOnce() -> T) -> Result<T, BuildError> {
        if self.0.is_empty() {
            Ok(value())
        } else {
            Err(BuildError { fields: self.0 })
        }
    }
}

/// Makes a [`ToolCall`] from its parts; see [`ToolCall::builder`].
///
/// # Examples
///
/// ```
/// use callstitch::{Executor, ToolCall, ToolKind};
/// use serde_json::json;
///
/// let call = ToolCall::builder()
///     .index(1)
///     .choice(0)
///     .id("call_1")
///     .name("get_tide")
///     .arguments(json!({"port": "Oban"}))
///     .kind(ToolKind::Function)
///     .executor(Executor::Client)
///     .server_name("harbour".to_owned())
///     .display_text("Looking up the tide")
///     .metadata("turn", 3)
///     .extra("thoughtSignature", "c2ln")
///     .build()?;
/// assert_eq!((call.id(), call.name(), call.server_name()), ("call_1", "get_tide", Some("harbour")));
/// assert_eq!((call.display_text(), &call.metadata()["turn"]), (Some("Looking up the tide"), &json!(3)));
/// assert_eq!(call.extras()["thoughtSignature"], "c2ln");
/// # Ok::<(), callstitch::BuildError>(())
/// ```
#[must_use]
#[derive(Debug, Clone, Default)]
pub struct ToolCallBuilder {
    index: u32,
    choice: u32,
    id: Option<String>,
    name: Option<String>,
    arguments: Option<Arguments>,
    kind: Option<ToolKind>,
    executor: Executor,
    server_name: Option<String>,
    display_text: Option<String>,
    metadata: Map<String, Value>,
    extras: Map<String, Value>,
}

impl ToolCallBuilder {
    /// The call's number. Default 0.
    pub fn index(mut self, index: u32) -> Self {
        self.index = index;
        self
    }

    /// Which of the `n` completions. Default 0.
    pub fn choice(mut self, choice: u32) -> Self {
        self.choice = choice;
        self
    }

    /// The id. Default: one is made, and the call says so.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// The tool's name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The arguments: text, a value, a map. Default `{}`. Cost: a text is settled here, O(n).
    pub fn arguments(mut self, arguments: impl Into<Arguments>) -> Self {
        self.arguments = Some(arguments.into());
        self
    }

    /// Function, custom or a built-in. Default: a function, or custom where the arguments are free text.
    pub fn kind(mut self, kind: ToolKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Who runs it. Default: the client.
    pub fn executor(mut self, executor: Executor) -> Self {
        self.executor = executor;
        self
    }

    /// The MCP server.
    pub fn server_name(mut self, server_name: impl Into<Option<String>>) -> Self {
        self.server_name = server_name.into();
        self
    }

    /// A text for people.
    pub fn display_text(mut self, text: impl Into<String>) -> Self {
        self.display_text = Some(text.into());
        self
    }

    /// A note of the caller's, never sent.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// A member that goes back verbatim with the call, such as a thought signature.
    pub fn extra(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extras.insert(key.into(), value.into());
        self
    }

    /// The call. A missing id is made from the process-wide counter. Cost: O(1), for all of it is moved.
    ///
    /// # Errors
    ///
    /// Every field that is wrong, at once: a name that is missing or empty, an id that is empty, arguments that are no
    /// object. For arguments that may be flagged use [`ToolCall::new`].
    pub fn build(self) -> Result<ToolCall, BuildError> {
        self.build_with(default_ids())
    }

    /// The call; a missing id is made by `ids`.
    ///
    /// # Errors
    ///
    /// As [`build`](ToolCallBuilder::build).
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{IdSource, ToolCall};
    ///
    /// #[derive(Debug)]
    /// struct Always;
    ///
    /// impl IdSource for Always {
    ///     fn next_id(&self) -> String {
    ///         "call_ours".to_owned()
    ///     }
    /// }
    ///
    /// let call = ToolCall::builder().name("get_now").build_with(&Always)?;
    /// assert_eq!((call.id(), call.is_synthetic_id()), ("call_ours", true));
    /// # Ok::<(), callstitch::BuildError>(())
    /// ```
    pub fn build_with(self, ids: &dyn IdSource) -> Result<ToolCall, BuildError> {
        let mut faults = Faults::default();
        match self.name.as_deref() {
            None => faults.add(Field::Name, FieldProblem::Missing),
            Some("") => faults.add(Field::Name, FieldProblem::Empty),
            Some(_) => {}
        }
        if self.id.as_deref() == Some("") {
            faults.add(Field::Id, FieldProblem::Empty);
        }
        let arguments = self.arguments.unwrap_or_default();
        faults.arguments(&arguments);
        faults.or(|| {
            let name = self.name.and_then(|name| ToolName::new(name).ok());
            let mut parts = Parts::by_hand(name, self.id, arguments, ids);
            parts.index = CallIndex(self.index);
            parts.choice = self.choice;
            parts.kind = self.kind.unwrap_or(parts.kind);
            parts.executor = self.executor;
            parts.server_name = self.server_name;
            parts.display_text = self.display_text;
            parts.metadata = self.metadata;
            parts.extras = self.extras;
            ToolCall(Box::new(parts))
        })
    }
}

impl Parts {
    /// The parts of a call that no stream made: by hand, or read from a history. A missing or empty id is made.
    pub(crate) fn by_hand(
        name: Option<ToolName>,
        id: Option<String>,
        arguments: Arguments,
        ids: &dyn IdSource,
    ) -> Self {
        let wire_id = id.filter(|id| !id.is_empty());
        let kind = match arguments.state() {
            crate::arguments::ArgumentsState::FreeForm => ToolKind::Custom,
            _ => ToolKind::Function,
        };
        Parts {
            index: CallIndex(0),
            choice: 0,
            wire_index: None,
            synthetic_id: wire_id.is_none(),
            id: wire_id.clone().unwrap_or_else(|| ids.next_id()),
            wire_id,
            item_id: None,
            name,
            arguments,
            kind,
            executor: Executor::Client,
            server_name: None,
            extras: Map::new(),
            extras_of: None,
            display_text: None,
            metadata: Map::new(),
            evidence: Evidence::by_hand(),
        }
    }
}

impl Evidence {
    /// The evidence of a call that no stream made.
    pub(crate) fn by_hand() -> Self {
        Evidence {
            closed_by: ClosedBy::ByHand,
            offset: 0,
            finish_reason: None,
            finish_meaning: None,
            status: None,
        }
    }
}

impl ToolCall {
    /// A call built from its parts, each checked.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Field, FieldProblem, ToolCall};
    /// use serde_json::json;
    ///
    /// let call = ToolCall::builder()
    ///     .id("call_123")
    ///     .name("give_greeting")
    ///     .arguments(json!({"name": "Howard"}))
    ///     .build()?;
    /// assert_eq!(call.to_string(), "give_greeting(call_123)");
    /// assert_eq!(call.arguments().object().unwrap()["name"], "Howard");
    ///
    /// let error = ToolCall::builder().id("").arguments("[1]").build().unwrap_err();
    /// assert_eq!(error.fields().len(), 3);
    /// assert_eq!(error.of(Field::Arguments), Some(FieldProblem::NotAnObject));
    /// # Ok::<(), callstitch::BuildError>(())
    /// ```
    pub fn builder() -> ToolCallBuilder {
        ToolCallBuilder::default()
    }

    /// A call of this tool with these arguments: text, a value or a map. Never fails: arguments that are no object are kept
    /// as sent and flagged. The id is made; see [`with_id`](ToolCall::with_id). Cost: a text is settled, O(n).
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ToolCall, ToolName};
    /// use serde_json::json;
    ///
    /// let name = ToolName::new("search")?;
    /// let cut = ToolCall::new(name.clone(), r#"{"q": "ab"#);
    /// assert_eq!(cut.arguments().map()["q"], "ab");
    /// assert_eq!(cut.arguments().raw(), r#"{"q": "ab"#);
    /// assert!(!cut.is_usable());
    ///
    /// let call = ToolCall::new(name, json!("{\"q\":1}"));
    /// assert_eq!(call.arguments().object().unwrap()["q"], 1);
    /// # Ok::<(), callstitch::EmptyToolName>(())
    /// ```
    #[must_use]
    pub fn new(name: ToolName, arguments: impl Into<Arguments>) -> Self {
        ToolCall(Box::new(Parts::by_hand(
            Some(name),
            None,
            arguments.into(),
            default_ids(),
        )))
    }

    /// A call that its provider ran: visible, never resolved to a tool of the caller's, and left out of what is sent back.
    /// Costs what [`new`](ToolCall::new) does.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ToolCall, ToolName};
    /// use callstitch::history::HistoryFormat;
    ///
    /// let call = ToolCall::builtin(ToolName::new("web_search")?, "{}");
    /// assert!(call.is_builtin());
    /// assert_eq!(call.to_wire(HistoryFormat::OpenAiChat), None);
    /// # Ok::<(), callstitch::EmptyToolName>(())
    /// ```
    #[must_use]
    pub fn builtin(name: ToolName, arguments: impl Into<Arguments>) -> Self {
        let mut call = Self::new(name, arguments);
        call.0.kind = ToolKind::BuiltIn(call.name().to_owned().into());
        call.0.executor = Executor::Provider;
        call
    }

    /// The same call with the provider's id; an empty one changes nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ToolCall, ToolName};
    ///
    /// let call = ToolCall::new(ToolName::new("get_now")?, "{}");
    /// assert!(call.is_synthetic_id());
    /// let call = call.with_id("call_1");
    /// assert_eq!((call.id(), call.is_synthetic_id()), ("call_1", false));
    /// # Ok::<(), callstitch::EmptyToolName>(())
    /// ```
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        let id = id.into();
        if !id.is_empty() {
            self.0.wire_id = Some(id.clone());
            self.0.id = id;
            self.0.synthetic_id = false;
        }
        self
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Field::Id => "id",
            Field::Name => "name",
            Field::Arguments => "arguments",
        })
    }
}

impl fmt::Display for FieldProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FieldProblem::Missing => f.write_str("is missing"),
            FieldProblem::Empty => f.write_str("is empty"),
            FieldProblem::Syntax { at } => write!(f, "is not JSON at byte {at}"),
            FieldProblem::NotAnObject => f.write_str("is not an object"),
            FieldProblem::Truncated => f.write_str("is cut off"),
            FieldProblem::Unusable => f.write_str("cannot be believed"),
        }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, error) in self.fields.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{} {}", error.field, error.problem)?;
        }
        Ok(())
    }
}

impl std::error::Error for BuildError {}
