//! The caller's tools: what a call is to them, running it, and what to tell the model where it is not run.
//!
//! This room knows finished calls. It does not know streams, except for `RunCalls`, which is fed by one.

mod feedback;
mod output;
mod resolve;
#[cfg(feature = "stream")]
mod run;
#[cfg(feature = "schema")]
mod schema;
mod tool;
mod typed;

use std::collections::HashMap;
use std::fmt;

use serde_json::{Map, Value};

use crate::arguments::RepairLevel;
use crate::call::{ExecutionStatus, ToolCall};
use crate::history::{Answer, ToolResult};

pub use feedback::{Refusal, RefusalKind};
pub use output::{IntoAnswer, Json};
pub use resolve::{Resolution, ResolutionState};
#[cfg(feature = "stream")]
#[cfg_attr(docsrs, doc(cfg(feature = "stream")))]
pub use run::{RunCalls, RunningCalls};
#[cfg(feature = "schema")]
#[cfg_attr(docsrs, doc(cfg(feature = "schema")))]
pub use schema::SchemaError;
pub use tool::Tool;
use tool::{Handler, Input, Running};

/// Tools by name.
///
/// # Examples
///
/// ```
/// use callstitch::{RepairLevel, ResolutionState, Tool, ToolCall, ToolName, ToolSet};
/// use serde::Deserialize;
///
/// #[derive(Deserialize)]
/// struct Tide { port: String }
///
/// let get_tide = ToolName::new("get_tide")?;
/// let tools = ToolSet::from_iter([Tool::function(get_tide.clone(), |tide: Tide| format!("3.1 m at {}", tide.port))]);
///
/// let call = ToolCall::new(get_tide.clone(), r#"{"port":"Oban"}"#);
/// assert_eq!(tools.resolve(&call).state(), ResolutionState::Valid);
/// let outcome = tools.execute_now(&call)?;
/// assert_eq!(outcome.result().unwrap().answer.to_text(), "3.1 m at Oban");
///
/// let call = ToolCall::new(get_tide, r#"{"harbour":"Oban"}"#);
/// assert_eq!(tools.resolve(&call).state(), ResolutionState::Invalid);
/// let mut tools = tools.with(Tool::declared(ToolName::new("get_moon")?)).repair(RepairLevel::None);
/// assert!(tools.insert(Tool::declared(ToolName::new("get_moon")?)).is_some()); // in place of the one of that name
/// assert_eq!(tools.iter().count(), 2);
/// assert!(tools.find("get_moon", None).is_some_and(|tool| !tool.has_handler()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ToolSet {
    tools: Vec<Tool>,
    /// The places of the tools of a name.
    by_name: HashMap<String, Vec<usize>>,
    repair: RepairLevel,
}

impl Default for ToolSet {
    fn default() -> Self {
        ToolSet {
            tools: Vec::new(),
            by_name: HashMap::new(),
            repair: RepairLevel::Guess,
        }
    }
}

impl ToolSet {
    /// No tools.
    #[must_use]
    pub fn new() -> Self {
        ToolSet::default()
    }

    /// The same set with one more tool; one of the same name and namespace is replaced.
    #[must_use]
    pub fn with(mut self, tool: Tool) -> Self {
        self.insert(tool);
        self
    }

    /// Adds a tool; one of the same name and namespace is replaced and returned. Cost: a look-up.
    pub fn insert(&mut self, tool: Tool) -> Option<Tool> {
        let places = self.by_name.entry(tool.name().to_string()).or_default();
        for &at in places.iter() {
            if let Some(held) = self.tools.get_mut(at).filter(|held| **held == tool) {
                return Some(std::mem::replace(held, tool));
            }
        }
        places.push(self.tools.len());
        self.tools.push(tool);
        None
    }

    /// How much repair of arguments is accepted. Default: all that the parser was told to do. [`RepairLevel::None`] takes only
    /// what the model spelled right.
    #[must_use]
    pub fn repair(mut self, level: RepairLevel) -> Self {
        self.repair = level;
        self
    }

    /// The tools, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &Tool> {
        self.tools.iter()
    }

    /// The tool of this name. A namespace that is given must be the tool's; without one the name alone decides, and the first
    /// that was added is taken. Cost: a look-up.
    #[must_use]
    pub fn find(&self, name: &str, namespace: Option<&str>) -> Option<&Tool> {
        let mut named = self.named(name);
        match namespace {
            Some(_) => named.find(|tool| tool.effective_namespace() == namespace),
            None => named.next(),
        }
    }

    fn named(&self, name: &str) -> impl Iterator<Item = &Tool> {
        let places = self.by_name.get(name).map_or(&[][..], Vec::as_slice);
        places.iter().filter_map(|&at| self.tools.get(at))
    }

    /// The namespaces of the tools of this name, in the order in which these were added.
    pub(crate) fn namespaces(&self, name: &str) -> impl Iterator<Item = Option<&str>> {
        self.named(name).map(Tool::effective_namespace)
    }

    /// What a call is to these tools. Nothing is run. Never fails. Cost: a look-up, then the tool's schema, check and type read
    /// the arguments, O(n) each; a name that is not known is compared with all that are.
    pub fn resolve<'a>(&'a self, call: &'a ToolCall) -> Resolution<'a> {
        Resolution::new(self, call)
    }

    /// Runs a call that is valid, and waits for its answer. Any other comes back refused, and nothing is run. Needs no runtime of
    /// its own; a handler may. Cost before the handler: as [`resolve`](ToolSet::resolve), the arguments once more as its type,
    /// and a copy of the call.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{RefusalKind, Tool, ToolCall, ToolName, ToolSet};
    /// use serde_json::{Map, Value};
    ///
    /// # futures::executor::block_on(async {
    /// let now = ToolName::new("now")?;
    /// let tools = ToolSet::new().with(Tool::function_async(now.clone(), |_: Map<String, Value>| async { "10:04" }));
    /// let ran = tools.execute(&ToolCall::new(now.clone(), "{}")).await;
    /// assert!(ran.did_run());
    /// let cut = tools.execute(&ToolCall::new(now, "{\"zone\":\"U")).await;
    /// assert_eq!(cut.refusal().unwrap().kind(), RefusalKind::Truncated);
    /// # Ok::<(), callstitch::EmptyToolName>(())
    /// # }).unwrap();
    /// ```
    pub async fn execute(&self, call: &ToolCall) -> Outcome {
        let begun = Begun::of(&self.resolve(call));
        match begun {
            Begun::Done(outcome) => *outcome,
            Begun::Running(running) => Outcome::ran(call.clone(), running.await),
        }
    }

    /// As [`execute`](ToolSet::execute) for a tool whose handler answers at once. Cost before the handler: as
    /// [`execute`](ToolSet::execute).
    ///
    /// # Errors
    ///
    /// [`NeedsAsync`] where the handler is async; nothing is run then.
    pub fn execute_now(&self, call: &ToolCall) -> Result<Outcome, NeedsAsync> {
        let resolution = self.resolve(call);
        let tool = resolution.tool();
        if tool.is_some_and(|tool| matches!(tool.handler, Some(Handler::Later(_)))) {
            return Err(NeedsAsync(()));
        }
        match Begun::of(&resolution) {
            Begun::Done(outcome) => Ok(*outcome),
            Begun::Running(_) => Err(NeedsAsync(())),
        }
    }

    /// The names of the tools, each once.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let first = |at: usize, tool: &Tool| {
            let places = self.by_name.get(tool.name().as_str());
            places.and_then(|places| places.first()) == Some(&at)
        };
        let named = self.tools.iter().enumerate();
        named
            .filter(move |(at, tool)| first(*at, tool))
            .map(|(_, tool)| tool.name().as_str())
    }

    pub(crate) fn repair_level(&self) -> RepairLevel {
        self.repair
    }
}

/// A call that was begun.
enum Begun {
    Done(Box<Outcome>),
    Running(Running),
}

impl Begun {
    /// Begins a call: a refusal or an answer at once, or a running handler.
    fn of(resolution: &Resolution<'_>) -> Self {
        let call = resolution.call();
        let input = Input {
            call,
            checked: resolution.checked(),
        };
        let handler = resolution.tool().and_then(|tool| tool.handler.as_ref());
        let outcome = match (resolution.refusal(), handler) {
            (Some(refusal), _) => Outcome::refused(call.clone(), refusal.clone()),
            (None, Some(Handler::Later(run))) => return Begun::Running(run(input)),
            (None, Some(Handler::Now(run))) => Outcome::ran(call.clone(), run(input)),
            (None, None) => {
                let refusal = Refusal::new(RefusalKind::NoHandler, call);
                Outcome::refused(call.clone(), refusal)
            }
        };
        Begun::Done(Box::new(outcome))
    }
}

impl FromIterator<Tool> for ToolSet {
    fn from_iter<I: IntoIterator<Item = Tool>>(tools: I) -> Self {
        tools.into_iter().fold(ToolSet::new(), ToolSet::with)
    }
}

impl Extend<Tool> for ToolSet {
    fn extend<I: IntoIterator<Item = Tool>>(&mut self, tools: I) {
        for tool in tools {
            self.insert(tool);
        }
    }
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.tools).finish()
    }
}

/// What became of a call: it ran, or it was refused. The call's [execution status](ToolCall::execution_status) says the same.
///
/// # Examples
///
/// ```
/// use callstitch::{Tool, ToolCall, ToolName, ToolSet};
///
/// let get_now = ToolName::new("get_now")?;
/// let tools = ToolSet::new().with(Tool::function(get_now.clone(), |_: serde_json::Value| "noon"));
/// let outcome = tools.execute_now(&ToolCall::new(get_now, "{}"))?;
/// assert!(outcome.did_run() && outcome.refusal().is_none());
/// assert_eq!(outcome.result().unwrap().answer.to_text(), "noon");
///
/// let refused = tools.execute_now(&ToolCall::new(ToolName::new("get_moon")?, "{}"))?;
/// assert!(!refused.did_run());
/// assert_eq!(refused.call().name(), "get_moon");
/// let (_call, result) = refused.into_parts();
/// assert!(result.unwrap().answer.is_error()); // what the model should know
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    call: ToolCall,
    result: Option<ToolResult>,
    refusal: Option<Refusal>,
}

impl Outcome {
    fn ran(mut call: ToolCall, answer: Answer) -> Self {
        call.set_execution_status(match answer {
            Answer::Error(_) => ExecutionStatus::Failed,
            _ => ExecutionStatus::Completed,
        });
        Outcome {
            result: Some(ToolResult::new(&call, answer)),
            refusal: None,
            call,
        }
    }

    fn refused(mut call: ToolCall, refusal: Refusal) -> Self {
        // What a provider runs itself wants no answer.
        let answered = matches!(
            refusal.kind(),
            RefusalKind::ProviderExecuted | RefusalKind::ProviderNative
        );
        if !answered {
            call.set_execution_status(ExecutionStatus::Failed);
        }
        // Nor has a call without a name one: it is not sent back, and an answer alone would be refused.
        let result = !answered && call.tool_name().is_some();
        Outcome {
            result: result.then(|| ToolResult::error(&call, refusal.feedback())),
            refusal: Some(refusal),
            call,
        }
    }

    /// The call.
    #[must_use]
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// The result to send back, a refusal's feedback included. `None` for a call that its provider runs, and for one without a
    /// name, which is not sent back.
    #[must_use]
    pub fn result(&self) -> Option<&ToolResult> {
        self.result.as_ref()
    }

    /// Why the call was not run; `None` where it was.
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        self.refusal.as_ref()
    }

    /// Whether a handler was run, well or not.
    #[must_use]
    pub fn did_run(&self) -> bool {
        self.refusal.is_none()
    }

    /// The call and its result.
    #[must_use]
    pub fn into_parts(self) -> (ToolCall, Option<ToolResult>) {
        (self.call, self.result)
    }
}

/// The tool's handler is async: use [`ToolSet::execute`].
///
/// # Examples
///
/// ```
/// use callstitch::tools::NeedsAsync;
/// use callstitch::{Tool, ToolCall, ToolName, ToolSet};
///
/// let dig = ToolName::new("dig")?;
/// let tools = ToolSet::new().with(Tool::function_async(dig.clone(), |_: serde_json::Value| async { "done" }));
/// let refused: Result<_, NeedsAsync> = tools.execute_now(&ToolCall::new(dig, "{}"));
/// assert!(refused.is_err());
/// # Ok::<(), callstitch::EmptyToolName>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeedsAsync(());

impl fmt::Display for NeedsAsync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the tool's handler is async")
    }
}

impl std::error::Error for NeedsAsync {}

/// The first call of this tool. Cost: O(calls).
///
/// # Examples
///
/// ```
/// use callstitch::tools::{find, find_args};
/// use callstitch::{ToolCall, ToolName};
///
/// let calls = [
///     ToolCall::new(ToolName::new("get_time")?, "{}"),
///     ToolCall::new(ToolName::new("get_tide")?, r#"{"port":"Oban"}"#),
/// ];
/// assert_eq!(find(&calls, "get_time").unwrap().name(), "get_time");
/// assert_eq!(find_args(&calls, "get_tide").unwrap()["port"], "Oban");
/// assert!(find_args(&calls, "get_moon").is_none());
/// # Ok::<(), callstitch::EmptyToolName>(())
/// ```
#[must_use]
pub fn find<'a>(calls: impl IntoIterator<Item = &'a ToolCall>, name: &str) -> Option<&'a ToolCall> {
    calls.into_iter().find(|call| call.matches_name(name))
}

/// The arguments of the first call of this tool; `None` where there is none, or where they are no object. Cost: O(calls), and
/// what [`Arguments::object`](crate::Arguments::object) costs.
///
/// # Examples
///
/// ```
/// use callstitch::tools::find_args;
/// use callstitch::{ToolCall, ToolName};
///
/// let calls = [ToolCall::new(ToolName::new("get_tide")?, r#"{"port":"Oban"}"#)];
/// assert_eq!(find_args(&calls, "get_tide").unwrap()["port"], "Oban");
/// # Ok::<(), callstitch::EmptyToolName>(())
/// ```
#[must_use]
pub fn find_args<'a>(
    calls: impl IntoIterator<Item = &'a ToolCall>,
    name: &str,
) -> Option<&'a Map<String, Value>> {
    find(calls, name)?.arguments().object().ok()
}
