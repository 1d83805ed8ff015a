//! Words around the object: a sentence about it, or a part of what it was in.
//!
//! JSON that lost its first bytes, YAML, the arguments of a call and markup all have an object in them somewhere. Taken for
//! the whole, it would be run as a call that nobody made. So words are prose only where nothing else can be read in them.

/// What words before the object are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lead {
    /// A sentence, a name, `const args =`.
    Prose,
    /// The same, with a colon, where it might be a key.
    Label,
    /// Anything else.
    Other,
}

/// What the words directly before an object, or before the fence around it, are. O(n).
pub(super) fn lead(words: &str, before_fence: bool) -> Lead {
    let said = words.trim();
    if is_declaration(said) || ends_in_react_label(said) {
        return Lead::Prose;
    }
    let ends_line = ends_line(words);
    let marks = Marks {
        colons: before_fence && ends_line,
        any: ends_line,
    };
    if !begins_sentence(said) || !is_prose(said, marks) {
        return Lead::Other;
    }
    let one_word = !said.contains(char::is_whitespace);
    if !said.trim_end_matches('*').ends_with(':') {
        // A value and an object are two values.
        let value = one_word && (said.parse::<f64>().is_ok() || matches!(said, "true" | "false"));
        return if value { Lead::Other } else { Lead::Prose };
    }
    let capital = said.trim_start_matches('*').starts_with(char::is_uppercase);
    match (one_word, before_fence) {
        // `opts:` is a key; "Output:" hardly, and YAML has no fences.
        (true, false) if !capital => Lead::Other,
        (true, true) if !capital => Lead::Label,
        (true, false) => Lead::Label,
        (false, false) if !ends_line => Lead::Label,
        _ => Lead::Prose,
    }
}

/// Whether what follows stands on a line of its own.
pub(super) fn ends_line(text: &str) -> bool {
    text.trim_end_matches([' ', '\t']).ends_with('\n')
}

/// What is prose beside the usual marks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Marks {
    /// A colon after any word, but not after one that may be a key: `path: config.json`.
    pub(super) colons: bool,
    /// The marks of paths, addresses and sums, where the text has lines of its own.
    pub(super) any: bool,
}

/// Whether nothing but a sentence can be read in `text`: words and the marks of prose, each where prose has it. Of colons
/// only the last character, but for `marks`. No quote that JSON may have written passes: it would stand beside a comma, a colon
/// or a bracket.
pub(super) fn is_prose(text: &str, marks: Marks) -> bool {
    let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let blank = |c: Option<char>| c.is_none_or(char::is_whitespace);
    let (mut open_quote, mut parentheses) = (None, 0usize);
    let mut before = None;
    // The line so far is one word in small letters.
    let mut may_be_key = true;
    // What Markdown makes bold reads as if it were not.
    let mut chars = text.chars().filter(|c| *c != '*').peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        let fits = match c {
            '(' => {
                parentheses += 1;
                true
            }
            ')' => match parentheses.checked_sub(1) {
                Some(outer) => {
                    parentheses = outer;
                    true
                }
                None => false,
            },
            '\'' | '\u{2019}' if word(before) && word(next) => true,
            '"' | '\'' | '`' | '\u{2018}'..='\u{201F}' | '\u{FF02}' => match open_quote.take() {
                None => {
                    open_quote = Some(c);
                    (blank(before) || before == Some('(')) && word(next)
                }
                Some(open) => {
                    let ends = blank(next) || matches!(next, Some('.' | '!' | '?' | ')'));
                    let named = c == '`' && next == Some(':');
                    pairs(open, c) && !blank(before) && (ends || named)
                }
            },
            ',' => (word(before) || before == Some(')')) && next.is_some_and(char::is_whitespace),
            ':' => {
                let after = word(before) || matches!(before, Some(')' | '`' | '»'));
                let mut rest = chars.clone().skip_while(|c| *c == ' ');
                let is_key = may_be_key && rest.next().is_some_and(|c| c != '\n');
                let in_number = before.is_some_and(|c| c.is_ascii_digit())
                    && next.is_some_and(|c| c.is_ascii_digit());
                let ends = next.is_none() && (after || (marks.any && before == Some(' ')));
                ends || (after && marks.colons && blank(next) && !is_key)
                    || (marks.any && (in_number || next == Some('/')))
            }
            '/' | '%' | ';' | '@' | '$' | '+' | '#' if marks.any => true,
            '-' => (word(before) && word(next)) || (before == Some(' ') && next == Some(' ')),
            '.' | '!' | '?' | '_' => true,
            _ => {
                (c.is_alphanumeric() || c.is_whitespace() || !c.is_ascii()) && !is_other_control(c)
            }
        };
        if !fits {
            return false;
        }
        may_be_key = c == '\n' || (may_be_key && (c.is_lowercase() || c == '_'));
        before = Some(c);
    }
    open_quote.is_none() && parentheses == 0
}

/// Whether the text was escaped for HTML: `&quot;`, `&#34;`.
pub(super) fn has_html_escape(text: &str) -> bool {
    text.split('&').skip(1).any(|after| {
        let name = after.split(';').next().unwrap_or_default();
        name.len() < after.len()
            && (name.starts_with('#') || matches!(name, "amp" | "lt" | "gt" | "quot" | "apos"))
    })
}

/// `const args =`, which names what follows and no part of it.
fn is_declaration(said: &str) -> bool {
    let mut words = said.split_whitespace();
    matches!(words.next(), Some("const" | "let" | "var"))
        && words.next().is_some_and(is_name)
        && words.next() == Some("=")
        && words.next().is_none()
}

/// Whether the last line is the label that the ReAct form of prompting has before the arguments. Its labels for the thought and
/// the tool's name stand before it: no YAML, though it looks like it.
fn ends_in_react_label(said: &str) -> bool {
    let line = said.rsplit('\n').next().unwrap_or_default();
    line.trim_matches(['*', ' ']) == "Action Input:"
}

/// The name of a function or a variable.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '-'))
}

/// Whether a sentence may begin so. A number alone is a value; an id has letters too.
fn begins_sentence(said: &str) -> bool {
    let said = said.trim_start_matches('*');
    let first = said.split_whitespace().next().unwrap_or_default();
    said.starts_with(|c: char| {
        c.is_alphabetic() || !c.is_ascii() || matches!(c, '(' | '`' | '\'' | '_')
    }) || (said.starts_with(char::is_numeric) && first.contains(char::is_alphabetic))
}

fn pairs(open: char, close: char) -> bool {
    open == close || (!open.is_ascii() && !close.is_ascii())
}

fn is_other_control(c: char) -> bool {
    c.is_control() && !c.is_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_that_can_be_nothing_else_are_prose() {
        for (words, before_fence, want) in [
            ("Here is the call:\n", false, Lead::Prose),
            ("Here is the call: ", false, Lead::Label),
            ("json\n", false, Lead::Prose),
            ("get_tide ", false, Lead::Prose),
            ("Output: ", false, Lead::Label),
            ("Arguments:\n", false, Lead::Label),
            ("arguments:\n", true, Lead::Label),
            ("**Tool call:**\n", false, Lead::Prose),
            ("**Decision**: yes, go (now):\n\n  ", true, Lead::Prose),
            ("(1) Keep this note.\n", true, Lead::Prose),
            ("I'll call `get_tide`:\n", false, Lead::Prose),
            ("It's \"high\" tide – so, well - go!\n", false, Lead::Prose),
            ("好的，我来调用：\n", false, Lead::Prose),
            ("9abC0", false, Lead::Prose),
            ("const args = ", false, Lead::Prose),
            ("Action: f\nAction Input: ", false, Lead::Prose),
            ("Action: f\n**Action Input:**\n", false, Lead::Prose),
            ("Action: f\nInput: ", false, Lead::Other),
            ("opts: ", false, Lead::Other),
            ("opts:\n  ", false, Lead::Other),
            ("a: b\nc: ", false, Lead::Other),
            ("Path: x\nOpts:\n", false, Lead::Other),
            ("name: x\nbody: ", true, Lead::Other),
            ("name=foo opts=", false, Lead::Other),
            ("f(x, ", false, Lead::Other),
            ("f(x)) ", false, Lead::Other),
            ("x, ", false, Lead::Other),
            ("x\", \"y\": ", false, Lead::Other),
            ("x\" ", false, Lead::Other),
            ("x', 'y' : ", false, Lead::Other),
            ("x” , “y ", false, Lead::Other),
            ("say \"hi\", ", false, Lead::Other),
            ("- a\n- ", false, Lead::Other),
            ("* ", false, Lead::Other),
            ("&lt;args&gt;", false, Lead::Other),
            ("a/b ", false, Lead::Other),
            ("x\\n ", false, Lead::Other),
            ("1.5 ", false, Lead::Other),
            ("1 x ", false, Lead::Other),
            ("1e5 ", false, Lead::Other),
            ("true\n", false, Lead::Other),
            ("", false, Lead::Other),
        ] {
            assert_eq!(lead(words, before_fence), want, "{words:?}");
        }
    }
}
