//! Tags, control tokens and fences: the marks of what an object was written in.

use super::Refused;

/// The longest tag or control token that is taken for one.
const TAG_BYTES: usize = 128;

/// The tags around what a model thought before it called.
const THOUGHTS: [&str; 6] = [
    "think>",
    "thinking>",
    "thought>",
    "reasoning>",
    "analysis>",
    "scratchpad>",
];

/// The length of the thought that the text begins with, whatever stands in it; one that does not end is refused.
pub(super) fn thought_length(text: &str) -> Option<Result<usize, Refused>> {
    let inside = text.strip_prefix('<')?;
    let tag = THOUGHTS.iter().find(|tag| inside.starts_with(**tag))?;
    let end = memchr::memmem::find(text.as_bytes(), format!("</{tag}").as_bytes());
    Some(end.map(|end| end + "</".len() + tag.len()).ok_or(Refused))
}

/// Whether the closing tag here ends what a model thought before it called.
pub(super) fn closes_thought(text: &str) -> bool {
    let closed = text.strip_prefix("</");
    closed.is_some_and(|text| THOUGHTS.iter().any(|tag| text.starts_with(tag)))
}

/// Whether the tag here is around one of several arguments.
pub(super) fn is_parameter(text: &str) -> bool {
    let name = text.trim_start_matches(['<', '/']);
    let rest = name
        .strip_prefix("parameter")
        .or_else(|| name.strip_prefix("param"));
    rest.is_some_and(|rest| rest.starts_with(['=', ' '])) || name.starts_with("arg_")
}

/// The length of what stands between a control token and the next one, `<|channel|>commentary to=functions.f <|message|>`: it
/// names the recipient.
pub(super) fn header_length(token: &str, after: &str) -> usize {
    let end = || after.as_bytes().get(..after.len().min(TAG_BYTES));
    let end = end().and_then(|head| memchr::memmem::find(head, b"<|"));
    let header = end.and_then(|end| after.get(..end));
    header
        .filter(|header| {
            token.starts_with("<|") && !header.contains(['{', '}', '[', ']', '"', '\n'])
        })
        .map_or(0, str::len)
}

/// The length of a fence and its language word.
pub(super) fn fence_length(text: &str) -> Option<usize> {
    let marks = text.len() - text.trim_start_matches('`').len();
    let marks = if marks >= 3 {
        marks
    } else {
        text.len() - text.trim_start_matches('~').len()
    };
    if marks < 3 {
        return None;
    }
    let rest = text.get(marks..)?;
    let word = rest
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | '-' | '.')))
        .unwrap_or(rest.len());
    Some(marks + word)
}

/// The length of a tag or control token that the text ends within, `</tool_ca`: a stop sequence or the end of the turn took the
/// rest of it.
pub(super) fn begun_tag_length(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('<')?;
    let named = |c: char| {
        c.is_alphanumeric() || !c.is_ascii() || matches!(c, '/' | '|' | '_' | '-' | '.' | ':')
    };
    inside.trim_end().chars().all(named).then_some(text.len())
}

/// The length of a tag `<…>`, or of a control token `[NAME]` in capitals.
pub(super) fn tag_length(text: &str) -> Option<usize> {
    let end = text
        .char_indices()
        .map(|(at, _)| at)
        .find(|at| *at >= TAG_BYTES);
    let head = end.and_then(|end| text.get(..end)).unwrap_or(text);
    if text.starts_with('<') {
        let end = head.find('>')?;
        let inside = head.get(1..end)?;
        return (!inside.is_empty() && !inside.contains(['\n', '{', '<'])).then_some(end + 1);
    }
    let inside = head.strip_prefix('[')?;
    let end = inside.find(']')?;
    let name = inside.get(..end)?;
    let capitals = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'_' | b'/'));
    capitals.then_some(end + 2)
}
