//! Whether a history is one that a provider takes: every call has its result, every result its call.

use std::fmt;

use serde_json::Value;

use super::result::ToolResult;
use super::{Entry, HistoryFormat};
use crate::call::{CallState, ToolCall};

/// Something that a provider would refuse in a history.
///
/// # Examples
///
/// ```
/// use callstitch::history::{Entry, HistoryProblem, check};
/// use callstitch::{ToolCall, ToolName};
///
/// let call = ToolCall::new(ToolName::new("get_tide")?, "{}");
/// let problems = check([Entry::Call(call)]);
/// assert!(matches!(problems[0], HistoryProblem::MissingResult { .. }));
/// assert!(problems[0].suggestion().is_some()); // a text to answer it with
/// # Ok::<(), callstitch::EmptyToolName>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum HistoryProblem {
    /// A call has no result. Sending the suggestion mends it.
    MissingResult {
        /// The call.
        call: ToolCall,
        /// A result that says what happened.
        suggestion: ToolResult,
    },
    /// A result is of no call that came before it. Leaving it out mends it.
    OrphanResult(ToolResult),
    /// A second result of one call. Leaving it out mends it.
    DuplicateResult(ToolResult),
}

impl HistoryProblem {
    /// The text of the result that would mend it, where one would. A copy.
    #[must_use]
    pub fn suggestion(&self) -> Option<String> {
        match self {
            HistoryProblem::MissingResult { suggestion, .. } => Some(suggestion.answer.to_text()),
            _ => None,
        }
    }
}

impl fmt::Display for HistoryProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = |result: &ToolResult| result.call_id.clone().unwrap_or_default();
        match self {
            HistoryProblem::MissingResult { call, .. } => write!(f, "no result for {call}"),
            HistoryProblem::OrphanResult(result) => {
                write!(f, "no call for the result {}({})", result.name, id(result))
            }
            HistoryProblem::DuplicateResult(result) => {
                write!(f, "a second result {}({})", result.name, id(result))
            }
        }
    }
}

/// Checks calls and results in their order. Results are paired by id; on wires without ids by name, in order, or by order alone. A
/// call that its provider ran needs no result, and may have one; one without a name is not sent, and has none. Never errors. Cost:
/// O(n) for entries with ids.
///
/// # Examples
///
/// ```
/// use callstitch::history::{Entry, check};
/// use callstitch::{ToolCall, ToolName};
///
/// let call = ToolCall::new(ToolName::new("get_tide")?, "{}");
/// let problems = check([Entry::Call(call)]);
/// assert_eq!(problems.len(), 1);
/// assert_eq!(problems[0].suggestion().unwrap(), "Error: this call was not run, and has no result");
/// # Ok::<(), callstitch::EmptyToolName>(())
/// ```
#[must_use]
pub fn check(entries: impl IntoIterator<Item = Entry>) -> Vec<HistoryProblem> {
    let mut calls: Vec<(ToolCall, bool)> = Vec::new();
    let mut by_id = std::collections::HashMap::<String, usize>::new();
    let mut problems = Vec::new();
    for entry in entries {
        match entry {
            Entry::Call(call) if call.tool_name().is_none() => {}
            Entry::Call(call) => {
                // Ids are unique in one response only (WIRE_FORMATS Q24): the newest call of an id is the one that is answered.
                by_id.insert(call.id().to_owned(), calls.len());
                calls.push((call, false));
            }
            Entry::Result(result) => {
                let at = match &result.call_id {
                    Some(id) => by_id.get(id).copied(),
                    None => without_id(&calls, &result.name),
                };
                match at.and_then(|at| calls.get_mut(at)) {
                    Some((_, answered)) if !*answered => *answered = true,
                    Some(_) => problems.push(HistoryProblem::DuplicateResult(result)),
                    None => problems.push(HistoryProblem::OrphanResult(result)),
                }
            }
        }
    }
    let open = calls
        .into_iter()
        .filter(|(call, answered)| !answered && !call.is_builtin());
    problems.extend(open.map(|(call, _)| {
        let suggestion = ToolResult::error(&call, suggested(&call));
        HistoryProblem::MissingResult { call, suggestion }
    }));
    problems
}

/// Where the call stands that a result without an id is of: the first of its name that waits for one, else the last that has
/// one already.
fn without_id(calls: &[(ToolCall, bool)], name: &str) -> Option<usize> {
    let is_of = |call: &ToolCall| name.is_empty() || call.name() == name;
    let waits = |(call, answered): &(ToolCall, bool)| !answered && is_of(call);
    let last = || calls.iter().rposition(|(call, _)| is_of(call));
    calls.iter().position(waits).or_else(last)
}

/// Checks the messages of a history in a wire's own shape, the way they would be sent. Never errors. Cost: a copy of each
/// entry, O(n).
///
/// # Examples
///
/// ```
/// use callstitch::history::{HistoryFormat, check_messages};
/// use serde_json::json;
///
/// let messages = [json!({"role": "tool", "tool_call_id": "call_1", "content": "3.1 m"})];
/// let problems = check_messages(HistoryFormat::OpenAiChat, &messages);
/// assert_eq!(problems[0].to_string(), "no call for the result (call_1)");
/// ```
#[must_use]
pub fn check_messages(format: HistoryFormat, messages: &[Value]) -> Vec<HistoryProblem> {
    check(super::entries(format, messages))
}

/// What a model should read in the place of a result that never came.
fn suggested(call: &ToolCall) -> &'static str {
    match call.state() {
        CallState::Truncated => {
            "this call was cut off before its arguments were complete, and was not run; \
             if it is still needed, send it again"
        }
        state if !state.is_usable() => {
            "the arguments of this call could not be read, and it was not run; \
             if it is still needed, send it again with one JSON object"
        }
        _ => "this call was not run, and has no result",
    }
}
