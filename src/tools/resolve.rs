//! What a call is to the caller's tools, without running anything.

use std::fmt;

use serde_json::{Map, Value};

use super::ToolSet;
use super::feedback::{Refusal, RefusalKind};
use super::tool::Tool;
use crate::arguments::ArgumentsState;
use crate::call::ToolCall;
use crate::delta::ToolKind;

/// What a call is to a set of tools. Asked in this order: who ran it, then whether the name is known, then the arguments.
///
/// ```text
///   call ─ the provider runs it ──▶ ProviderExecuted
///        ─ marked as native ──────▶ ProviderNative
///        ─ no tool of the name ───▶ Unknown
///        ─ arguments refused ─────▶ Invalid
///        ─────────────────────────▶ Valid
/// ```
///
/// # Examples
///
/// ```
/// use callstitch::{ResolutionState, ToolCall, ToolName, ToolSet};
///
/// let call = ToolCall::new(ToolName::new("get_moon")?, "{}");
/// let state = ToolSet::new().resolve(&call).state();
/// assert_eq!((state, state.as_str()), (ResolutionState::Unknown, "unknown"));
/// # Ok::<(), callstitch::EmptyToolName>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResolutionState {
    /// A tool is there, and takes the arguments.
    Valid,
    /// A tool is there, and does not take them.
    Invalid,
    /// No tool has the name, or none in the namespace that the call gives.
    Unknown,
    /// The provider ran the call itself.
    ProviderExecuted,
    /// The caller's notes mark the call as native to its provider.
    ProviderNative,
}

impl ResolutionState {
    /// The state as one word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ResolutionState::Valid => "valid",
            ResolutionState::Invalid => "invalid",
            ResolutionState::Unknown => "unknown",
            ResolutionState::ProviderExecuted => "provider_executed",
            ResolutionState::ProviderNative => "provider_native",
        }
    }
}

impl fmt::Display for ResolutionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A call beside the tool that it is for. The call, its text and its notes are here whatever the state.
///
/// # Examples
///
/// ```
/// use callstitch::{ResolutionState, Tool, ToolCall, ToolName, ToolSet};
///
/// let get_tide = ToolName::new("get_tide")?;
/// let tools = ToolSet::new().with(Tool::declared(get_tide.clone()));
/// let call = ToolCall::new(get_tide, r#"{"port":"Oban"}"#).with_id("call_1");
/// let resolution = tools.resolve(&call);
/// assert!(resolution.is_valid() && resolution.state() == ResolutionState::Valid);
/// assert_eq!((resolution.id(), resolution.name(), resolution.call()), ("call_1", "get_tide", &call));
/// assert_eq!(resolution.raw_arguments(), r#"{"port":"Oban"}"#);
/// assert_eq!(resolution.validated_arguments(), resolution.arguments());
/// assert!(resolution.tool().is_some() && resolution.metadata().is_empty());
/// assert!(resolution.refusal().is_none() && resolution.feedback().is_none());
/// assert!(resolution.into_refusal().is_none());
/// # Ok::<(), callstitch::EmptyToolName>(())
/// ```
#[derive(Clone, PartialEq)]
#[must_use]
pub struct Resolution<'a> {
    call: &'a ToolCall,
    tool: Option<&'a Tool>,
    state: ResolutionState,
    /// The arguments as the tool's check left them, where it has one.
    checked: Option<Map<String, Value>>,
    refusal: Option<Refusal>,
}

impl<'a> Resolution<'a> {
    pub(super) fn new(tools: &'a ToolSet, call: &'a ToolCall) -> Self {
        let refused = |state, tool, refusal| Resolution {
            call,
            tool,
            state,
            checked: None,
            refusal: Some(refusal),
        };
        if call.is_builtin() {
            let refusal = Refusal::new(RefusalKind::ProviderExecuted, call);
            return refused(ResolutionState::ProviderExecuted, None, refusal);
        }
        if call.is_provider_native() {
            let refusal = Refusal::new(RefusalKind::ProviderNative, call);
            return refused(ResolutionState::ProviderNative, None, refusal);
        }
        let Some(tool) = tools.find(call.name(), call.namespace()) else {
            let refusal = match call.tool_name() {
                Some(name) => {
                    let asked = call.namespace().unwrap_or_default();
                    let namespaces = tools.namespaces(name.as_str());
                    Refusal::unknown(call, tools.names()).elsewhere(asked, namespaces)
                }
                None => Refusal::new(RefusalKind::Unnamed, call),
            };
            return refused(ResolutionState::Unknown, None, refusal);
        };
        match judge(tools, tool, call) {
            Ok(checked) => Resolution {
                call,
                tool: Some(tool),
                state: ResolutionState::Valid,
                checked,
                refusal: None,
            },
            Err(refusal) => refused(ResolutionState::Invalid, Some(tool), refusal),
        }
    }

    /// What the call is to the tools.
    #[must_use]
    pub fn state(&self) -> ResolutionState {
        self.state
    }

    /// Whether the call may be run.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.state == ResolutionState::Valid
    }

    /// The call.
    #[must_use]
    pub fn call(&self) -> &'a ToolCall {
        self.call
    }

    /// The call's id.
    #[must_use]
    pub fn id(&self) -> &'a str {
        self.call.id()
    }

    /// The call's name.
    #[must_use]
    pub fn name(&self) -> &'a str {
        self.call.name()
    }

    /// The tool, where the name is known.
    #[must_use]
    pub fn tool(&self) -> Option<&'a Tool> {
        self.tool
    }

    /// The argument text as sent.
    #[must_use]
    pub fn raw_arguments(&self) -> &'a str {
        self.call.arguments().raw()
    }

    /// The arguments as an object, where they are one. Costs what [`Arguments::object`](crate::Arguments::object) does.
    #[must_use]
    pub fn arguments(&self) -> Option<&'a Map<String, Value>> {
        self.call.arguments().object().ok()
    }

    /// The arguments that the tool accepted, as its check left them; `None` unless the call is valid, and for plain text. Costs
    /// what [`arguments`](Self::arguments) does.
    #[must_use]
    pub fn validated_arguments(&self) -> Option<&Map<String, Value>> {
        if !self.is_valid() {
            return None;
        }
        self.checked.as_ref().or_else(|| self.arguments())
    }

    /// The arguments as the tool's check left them.
    pub(super) fn checked(&self) -> Option<&Map<String, Value>> {
        self.checked.as_ref()
    }

    /// The caller's notes on the call.
    #[must_use]
    pub fn metadata(&self) -> &'a Map<String, Value> {
        self.call.metadata()
    }

    /// Why the call is not to be run; `None` where it is.
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        self.refusal.as_ref()
    }

    /// As [`refusal`](Resolution::refusal), owned.
    #[must_use]
    pub fn into_refusal(self) -> Option<Refusal> {
        self.refusal
    }

    /// The text for the model, where the call is not to be run.
    #[must_use]
    pub fn feedback(&self) -> Option<String> {
        self.refusal.as_ref().map(Refusal::feedback)
    }

    /// Runs a function of the caller's on a valid call, and passes on what it returns: the future of an async one too.
    ///
    /// # Errors
    ///
    /// The resolution itself, where the call is not valid; the function is not run then.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Tool, ToolCall, ToolName, ToolSet};
    ///
    /// let tools = ToolSet::from_iter([Tool::declared(ToolName::new("get_tide")?)]);
    /// let call = ToolCall::new(ToolName::new("get_tide")?, r#"{"port":"Oban"}"#);
    /// let ran = tools.resolve(&call).run_with(|tide| tide.arguments().unwrap()["port"].clone());
    /// assert_eq!(ran.unwrap(), "Oban");
    /// # Ok::<(), callstitch::EmptyToolName>(())
    /// ```
    pub fn run_with<R>(self, run: impl FnOnce(&Self) -> R) -> Result<R, Self> {
        if self.is_valid() {
            Ok(run(&self))
        } else {
            Err(self)
        }
    }
}

/// The arguments as the tool's check left them, or why it does not take them.
fn judge(
    tools: &ToolSet,
    tool: &Tool,
    call: &ToolCall,
) -> Result<Option<Map<String, Value>>, Refusal> {
    if let Some(refusal) = Refusal::of_state(call) {
        return Err(refusal);
    }
    let arguments = call.arguments();
    let plain = *call.kind() == ToolKind::Custom || arguments.state() == ArgumentsState::FreeForm;
    if plain != tool.is_free_form() {
        return Err(Refusal::new(RefusalKind::WrongForm, call));
    }
    if plain {
        return Ok(None);
    }
    if !arguments.is_within(tools.repair_level()) {
        return Err(Refusal::repaired(call));
    }
    let problems = tool.against_schema(arguments);
    if !problems.is_empty() {
        return Err(Refusal::mismatch(call, problems));
    }
    let checked = tool.checked(arguments);
    let checked = checked.map_err(|problems| Refusal::mismatch(call, problems))?;
    let fits = tool.fits(arguments, checked.as_ref());
    fits.map_err(|error| Refusal::unfit(call, &error))?;
    Ok(checked)
}

impl PartialEq for Tool {
    /// By name and namespace: two such tools cannot be in one set.
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name() && self.effective_namespace() == other.effective_namespace()
    }
}

impl fmt::Debug for Resolution<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolution")
            .field("state", &self.state)
            .field("call", &self.call)
            .field("tool", &self.tool)
            .field("refusal", &self.refusal)
            .finish_non_exhaustive()
    }
}
