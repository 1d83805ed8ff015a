//! Why a call is not run, and what to tell the model.

use std::fmt::{self, Write};

use crate::arguments::{Arguments, ArgumentsError, Problem};
use crate::call::{CallState, ToolCall};
use crate::delta::FinishMeaning;

/// Schema problems that are told.
pub(super) const PROBLEMS: usize = 5;
/// Tool names that are told.
const NAMES: usize = 20;
/// Characters of one name or problem that are told.
const CHARS: usize = 200;

/// Why a call is not run.
///
/// # Examples
///
/// ```
/// use callstitch::{RefusalKind, ToolCall, ToolName, ToolSet};
///
/// let call = ToolCall::builtin(ToolName::new("web_search")?, "{}");
/// let refusal = ToolSet::new().resolve(&call).into_refusal().unwrap();
/// assert_eq!(refusal.kind(), RefusalKind::ProviderExecuted);
/// # Ok::<(), callstitch::EmptyToolName>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RefusalKind {
    /// No tool has this name, or none in the namespace that the call gives.
    UnknownTool,
    /// The call has no name.
    Unnamed,
    /// The arguments cannot be read; or only by a repair that is not allowed here.
    Unreadable,
    /// The arguments were cut off.
    Truncated,
    /// The arguments are an object, but not the one that the tool takes.
    Mismatch,
    /// The tool takes an object and was given plain text, or the other way round.
    WrongForm,
    /// The provider ran the call itself.
    ProviderExecuted,
    /// The call is native to its provider.
    ProviderNative,
    /// Nothing here runs the tool.
    NoHandler,
    /// The response broke off before it was this call's turn.
    NotStarted,
}

/// A call that is not run, and why. `Display` and `Debug` show no argument text; [`feedback`](Refusal::feedback) is for the model.
///
/// # Examples
///
/// ```
/// use callstitch::{RefusalKind, Tool, ToolCall, ToolName, ToolSet};
///
/// let tools = ToolSet::from_iter([Tool::declared(ToolName::new("get_tide")?)]);
/// let call = ToolCall::new(ToolName::new("get_tides")?, "{}");
/// let refusal = tools.resolve(&call).into_refusal().unwrap();
/// assert_eq!(refusal.kind(), RefusalKind::UnknownTool);
/// assert_eq!(
///     refusal.feedback(),
///     "There is no tool named get_tides. Did you mean get_tide? The tools are: get_tide.",
/// );
/// assert_eq!((refusal.tool(), refusal.nearest()), ("get_tides", Some("get_tide")));
/// assert_eq!(refusal.known(), ["get_tide"]);
/// assert!(refusal.problems().is_empty() && refusal.problem().is_none()); // the arguments are not to blame
/// # Ok::<(), callstitch::EmptyToolName>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Refusal(Box<Inner>);

#[derive(Clone, PartialEq)]
struct Inner {
    kind: RefusalKind,
    tool: String,
    /// The known names, for an unknown one.
    known: Vec<String>,
    nearest: Option<String>,
    /// For a name that is known in other namespaces only.
    elsewhere: Option<Elsewhere>,
    /// What is wrong with the arguments, in words.
    problems: Vec<String>,
    /// Where the arguments go wrong.
    problem: Option<Problem>,
    /// The output limit cut the call, not the connection.
    by_limit: bool,
}

#[derive(Clone, PartialEq)]
struct Elsewhere {
    /// The namespace that the call gives.
    asked: String,
    /// A tool of the name has no namespace.
    bare: bool,
    /// The namespaces in which there is a tool of the name.
    known: Vec<String>,
}

impl Refusal {
    pub(super) fn new(kind: RefusalKind, call: &ToolCall) -> Self {
        Refusal(Box::new(Inner {
            kind,
            tool: call.name().to_owned(),
            known: Vec::new(),
            nearest: None,
            elsewhere: None,
            problems: Vec::new(),
            problem: None,
            by_limit: false,
        }))
    }

    pub(super) fn unknown<'n>(call: &ToolCall, known: impl Iterator<Item = &'n str>) -> Self {
        let mut refusal = Refusal::new(RefusalKind::UnknownTool, call);
        refusal.0.known = known.map(str::to_owned).collect();
        let names = refusal.0.known.iter().map(String::as_str);
        refusal.0.nearest = nearest(call.name(), names).map(str::to_owned);
        refusal
    }

    /// As [`unknown`](Refusal::unknown), where tools of these namespaces, or of none, have the name: no other is meant then.
    pub(super) fn elsewhere<'n>(
        mut self,
        asked: &str,
        namespaces: impl Iterator<Item = Option<&'n str>>,
    ) -> Self {
        let namespaces: Vec<_> = namespaces.collect();
        if !namespaces.is_empty() {
            self.0.nearest = None;
            self.0.elsewhere = Some(Elsewhere {
                asked: asked.to_owned(),
                bare: namespaces.contains(&None),
                known: namespaces
                    .into_iter()
                    .flatten()
                    .map(str::to_owned)
                    .collect(),
            });
        }
        self
    }

    /// For a call whose arguments are flagged or were repaired too far; `None` for a usable one without repairs.
    pub(super) fn of_state(call: &ToolCall) -> Option<Self> {
        let kind = match call.state() {
            CallState::Unnamed => RefusalKind::Unnamed,
            CallState::Truncated => RefusalKind::Truncated,
            state if state.is_usable() => return None,
            _ => RefusalKind::Unreadable,
        };
        Some(Refusal::new(kind, call).about(call))
    }

    pub(super) fn repaired(call: &ToolCall) -> Self {
        let mut refusal = Refusal::new(RefusalKind::Unreadable, call);
        let at = call
            .arguments()
            .repairs()
            .first()
            .map_or(0, |repair| repair.at);
        refusal.0.problems = vec![format!("not JSON at byte {at}")];
        refusal
    }

    pub(super) fn mismatch(call: &ToolCall, problems: Vec<String>) -> Self {
        let mut refusal = Refusal::new(RefusalKind::Mismatch, call);
        refusal.0.problems = problems;
        refusal
    }

    pub(super) fn unfit(call: &ToolCall, error: &ArgumentsError) -> Self {
        let said = error
            .detail()
            .map_or_else(|| error.to_string(), str::to_owned);
        Refusal::mismatch(call, vec![said])
    }

    fn about(mut self, call: &ToolCall) -> Self {
        self.0.problem = call.arguments().problem().cloned();
        let evidence = call.evidence();
        let limited = evidence.finish_meaning == Some(FinishMeaning::Length);
        self.0.by_limit = evidence.closed_by.vouches() && limited;
        self
    }

    /// Why.
    #[must_use]
    pub fn kind(&self) -> RefusalKind {
        self.0.kind
    }

    /// The name that the call has.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.0.tool
    }

    /// The names that are known, where the call's is not.
    #[must_use]
    pub fn known(&self) -> &[String] {
        &self.0.known
    }

    /// The known name that is most like the call's, where one is like it.
    #[must_use]
    pub fn nearest(&self) -> Option<&str> {
        self.0.nearest.as_deref()
    }

    /// What is wrong with arguments that do not fit. The words may quote argument values: for the model, not for logs.
    #[must_use]
    pub fn problems(&self) -> &[String] {
        &self.0.problems
    }

    /// What is wrong with an argument text that cannot be read, and where.
    #[must_use]
    pub fn problem(&self) -> Option<&Problem> {
        self.0.problem.as_ref()
    }

    /// One short text for the model: what was wrong, and what would be right. Its length is bounded whatever the call says.
    #[must_use]
    pub fn feedback(&self) -> String {
        let tool = short(&self.0.tool);
        let at = match (&self.0.problem, self.0.problems.first()) {
            (Some(problem), _) => problem.to_string(),
            (None, Some(said)) => short(said),
            (None, None) => "they cannot be read".to_owned(),
        };
        match self.0.kind {
            RefusalKind::UnknownTool => self.unknown_feedback(&tool),
            RefusalKind::Unnamed => {
                "The call names no tool. Send it again with the tool's name.".to_owned()
            }
            RefusalKind::Unreadable => format!(
                "The arguments of {tool} are not valid: {at}. The tool was not run. \
                 Send the call again with its arguments as one JSON object."
            ),
            RefusalKind::Truncated if self.0.by_limit => format!(
                "The call of {tool} was cut off by the output limit, and the tool was not run. \
                 Send it again with less, or in several calls."
            ),
            RefusalKind::Truncated => format!(
                "The call of {tool} broke off before its arguments were complete, and the tool was not run. \
                 Send the whole call again."
            ),
            RefusalKind::Mismatch => self.mismatch_feedback(&tool),
            RefusalKind::WrongForm => format!(
                "The tool {tool} was given the wrong kind of input, and was not run. \
                 Send one JSON object to a function, plain text to a custom tool."
            ),
            RefusalKind::ProviderExecuted | RefusalKind::ProviderNative => {
                format!("The tool {tool} is run by the provider.")
            }
            RefusalKind::NoHandler => format!("The tool {tool} cannot be run here."),
            RefusalKind::NotStarted => format!(
                "The response broke off before {tool} was run. If it is still needed, call it again."
            ),
        }
    }

    fn unknown_feedback(&self, tool: &str) -> String {
        if let Some(elsewhere) = &self.0.elsewhere {
            return elsewhere.feedback(tool);
        }
        let mut text = format!("There is no tool named {tool}.");
        if let Some(nearest) = self.nearest() {
            let _ = write!(text, " Did you mean {}?", short(nearest));
        }
        if self.0.known.is_empty() {
            text.push_str(" There are no tools.");
            return text;
        }
        let _ = write!(text, " The tools are: {}.", listed(&self.0.known));
        text
    }

    fn mismatch_feedback(&self, tool: &str) -> String {
        let mut text = format!("The arguments of {tool} do not fit, and the tool was not run:");
        for problem in self.0.problems.iter().take(PROBLEMS) {
            let _ = write!(text, " {};", short(problem));
        }
        if self.0.problems.len() > PROBLEMS {
            text.push_str(" and more;");
        }
        text.pop();
        text.push_str(". Send the call again with arguments that fit.");
        text
    }
}

impl Elsewhere {
    fn feedback(&self, tool: &str) -> String {
        let bare = self.bare.then(|| "without a namespace".to_owned());
        let known = (!self.known.is_empty()).then(|| format!("in: {}", listed(&self.known)));
        let places: Vec<_> = bare.into_iter().chain(known).collect();
        format!(
            "There is no tool named {tool} in the namespace {}. It is there {}.",
            short(&self.asked),
            places.join(", and "),
        )
    }
}

/// Names for a model: the first ones, and how many more there are.
fn listed(names: &[String]) -> String {
    let told: Vec<_> = names.iter().take(NAMES).map(|name| short(name)).collect();
    let mut text = told.join(", ");
    let more = names.len().saturating_sub(NAMES);
    if more > 0 {
        let _ = write!(text, " and {more} more");
    }
    text
}

/// A text cut to what a model needs of it.
fn short(text: &str) -> String {
    match text.char_indices().nth(CHARS) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Names longer than this are not compared letter by letter: the cost is the product of the lengths.
const COMPARED: usize = 128;

/// The name most like this one, where one is alike: the same but for case and separators, its end after a prefix, or a few
/// letters away.
pub(super) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let plain = |name: &str| -> Vec<char> {
        let letters = name.chars().filter(|c| c.is_alphanumeric());
        letters
            .flat_map(char::to_lowercase)
            .take(COMPARED + 1)
            .collect()
    };
    let wanted = plain(name);
    if wanted.is_empty() || wanted.len() > COMPARED {
        return None;
    }
    let scored = known.filter_map(|known| {
        let other = plain(known);
        if other.is_empty() || other.len() > COMPARED {
            return None;
        }
        if wanted.len() > other.len() && wanted.ends_with(&other) && other.len() >= 3 {
            return Some((1, known));
        }
        let far = distance(&wanted, &other);
        (far <= wanted.len().max(other.len()) / 3).then_some((far, known))
    });
    scored.min_by_key(|(far, _)| *far).map(|(_, known)| known)
}

/// Levenshtein's distance.
fn distance(one: &[char], other: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, a) in one.iter().enumerate() {
        let mut diagonal = at;
        let mut left = at + 1;
        for (cell, b) in row.iter_mut().skip(1).zip(other) {
            let up = *cell;
            let here = if a == b {
                diagonal
            } else {
                1 + diagonal.min(up).min(left)
            };
            (diagonal, left, *cell) = (up, here, here);
        }
        if let Some(first) = row.first_mut() {
            *first = at + 1;
        }
    }
    row.last().copied().unwrap_or(one.len())
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.0.kind {
            RefusalKind::UnknownTool => "no such tool",
            RefusalKind::Unnamed => "the call has no name",
            RefusalKind::Unreadable => "the arguments cannot be read",
            RefusalKind::Truncated => "the call was cut off",
            RefusalKind::Mismatch => "the arguments do not fit",
            RefusalKind::WrongForm => "the input is of the wrong form",
            RefusalKind::ProviderExecuted => "the provider ran it",
            RefusalKind::ProviderNative => "it is native to its provider",
            RefusalKind::NoHandler => "nothing here runs it",
            RefusalKind::NotStarted => "the response broke off before its turn",
        };
        write!(f, "{}: {what}", short(&self.0.tool))
    }
}

impl fmt::Debug for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refusal")
            .field("kind", &self.0.kind)
            .field("tool", &self.0.tool)
            .field("nearest", &self.0.nearest)
            .field("problem", &self.0.problem)
            .field("problems", &self.0.problems.len())
            .finish_non_exhaustive()
    }
}

impl std::error::Error for Refusal {}

impl Arguments {
    /// Whether these arguments need no more repair than this level allows.
    #[must_use]
    pub(super) fn is_within(&self, level: crate::arguments::RepairLevel) -> bool {
        self.repair_level() <= level
    }
}
