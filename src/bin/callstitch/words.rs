//! What the terms of the library mean, in words for people.

use callstitch::{
    CallState, ClosedBy, End, Evidence, FaultKind, PathSegment, Problem, ProblemKind, Repair,
    RepairLevel, ToolCall,
};

/// Why a flagged call may not be run, a sentence each; nothing for a usable one.
pub(crate) fn flags(call: &ToolCall) -> Vec<String> {
    let mut said = Vec::new();
    if call.is_usable() {
        return said;
    }
    if call.name().is_empty() {
        said.push("No name ever came, so there is no tool to run.".to_owned());
    }
    match call.arguments().problem() {
        // `{}` is cut where nothing vouches for it, and looks whole.
        Some(problem)
            if problem.kind() == ProblemKind::Truncated && is_json(call.arguments().raw()) =>
        {
            said.push("Nothing says that its arguments are all there.".to_owned());
        }
        Some(problem) => said.push(problem_in_words(problem)),
        None => {}
    }
    let evidence = call.evidence();
    match evidence.closed_by {
        ClosedBy::Unconfirmed => said.push("The body ended without a terminal signal.".to_owned()),
        ClosedBy::Error => said.push("An error ended the stream.".to_owned()),
        _ => {}
    }
    if let Some(reason) = evidence
        .status
        .as_deref()
        .or(evidence.finish_reason.as_deref())
        && call.state() == CallState::Truncated
    {
        said.push(format!("The provider's word on it: {reason}."));
    }
    said.push(match call.arguments().recovered() {
        Some(object) if !object.is_empty() => {
            "Below is what it still states; do not run it.".to_owned()
        }
        _ => "It states nothing; do not run it.".to_owned(),
    });
    said
}

/// The name of a call that ended.
pub(crate) fn name(call: &ToolCall) -> &str {
    Some(call.name())
        .filter(|name| !name.is_empty())
        .unwrap_or("(no name)")
}

/// Whether a text is one JSON document.
pub(crate) fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// What is wrong with an argument text, in a sentence.
pub(crate) fn problem_in_words(problem: &Problem) -> String {
    let at = problem.at();
    let inside = match problem.open_path() {
        [] => String::new(),
        path => format!(", inside {}", path_in_words(path)),
    };
    match problem.kind() {
        ProblemKind::Truncated => format!("Its arguments were cut after {at} bytes{inside}."),
        ProblemKind::Blank => "None of its arguments came before the end.".to_owned(),
        ProblemKind::Fault(FaultKind::Trailing) => match problem.second_object() {
            Some(second) => format!(
                "Its text holds a second object from byte {second} on: two calls may have been merged."
            ),
            None => format!("There is text after its object, from byte {at} on."),
        },
        ProblemKind::Fault(_) => format!("Its arguments are no JSON object: {problem}{inside}."),
        _ => format!("Its arguments cannot be believed: {problem}."),
    }
}

fn path_in_words(path: &[PathSegment<'_>]) -> String {
    let mut text = String::new();
    for segment in path {
        match segment {
            PathSegment::Index(at) => text.push_str(&format!("[{at}]")),
            PathSegment::Key(key) if text.is_empty() => text.push_str(key),
            PathSegment::Key(key) => {
                text.push('.');
                text.push_str(key);
            }
        }
    }
    text
}

/// Why a call is believed complete, or not.
pub(crate) fn evidence(evidence: &Evidence) -> String {
    let by = match evidence.closed_by {
        ClosedBy::BlockStop => "own stop",
        ClosedBy::Restated => "restated whole",
        ClosedBy::Arrival => "came whole",
        ClosedBy::MessageEnd => "message end",
        ClosedBy::Terminal => "terminal",
        ClosedBy::FinishReason => "finish reason",
        ClosedBy::NextCall => "next call",
        ClosedBy::Unconfirmed => "nothing: a bare end",
        ClosedBy::Error => "nothing: an error",
        ClosedBy::Restart => "a restart",
        ClosedBy::Mirrored => "a mirror",
        _ => "another sign",
    };
    let reason = evidence.finish_reason.as_deref();
    match evidence.status.as_deref().or(reason) {
        Some(reason) => format!("{by} ({reason})"),
        None => by.to_owned(),
    }
}

/// Repairs by kind and number: `trailing comma, 2 single quotes`.
pub(crate) fn repairs(repairs: &[Repair]) -> String {
    let mut counts: Vec<(&Repair, usize)> = Vec::new();
    for repair in repairs {
        match counts.iter_mut().find(|(held, _)| held.kind == repair.kind) {
            Some((_, count)) => *count += 1,
            None => counts.push((repair, 1)),
        }
    }
    let said: Vec<_> = counts
        .iter()
        .map(|(repair, count)| {
            let guess = if repair.level() == RepairLevel::Guess {
                " (a guess)"
            } else {
                ""
            };
            format!("{}{guess}", times(repair.kind.as_str(), *count as u64))
        })
        .collect();
    said.join(", ")
}

/// `missing index`, `missing index ×3`.
pub(crate) fn times(term: &str, count: u64) -> String {
    let term = term.replace('-', " ");
    if count == 1 {
        term
    } else {
        format!("{term} ×{count}")
    }
}

/// How a stream ended.
pub(crate) fn end(end: End) -> &'static str {
    match end {
        End::Clean => "The stream ended clean",
        End::Truncated => "The stream was cut",
        End::Error => "The stream ended in an error",
    }
}

/// `1 call`, `2 calls`.
pub(crate) fn count(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}
