//! The markups, and what follows one of them character by character.

use std::ops::Range;

use super::Markup;

/// One form of a markup: what stands one after the other.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) steps: &'static [Step],
    pub(super) says: Says,
}

#[derive(Debug)]
pub(super) enum Step {
    Literal(&'static str),
    /// White space, or none.
    Space,
    /// A word: a tool's name.
    Word,
    /// One JSON value that begins with this bracket.
    Json(char),
}

/// What the captured texts are.
#[derive(Debug, Clone, Copy)]
pub(super) enum Says {
    /// The JSON is one `{"name":…,"arguments":…}`.
    Named,
    /// The JSON is an array of them.
    List,
    /// The word is the name, the JSON its arguments.
    Labelled,
    /// No call: the block ends.
    Nothing,
}

use Step::{Json, Literal, Space, Word};

const HERMES: [Pattern; 1] = [Pattern {
    steps: &[
        Literal("<tool_call>"),
        Space,
        Json('{'),
        Space,
        Literal("</tool_call>"),
    ],
    says: Says::Named,
}];

const MISTRAL: [Pattern; 2] = [
    Pattern {
        steps: &[Literal("[TOOL_CALLS]"), Space, Json('[')],
        says: Says::List,
    },
    labelled(&[
        Literal("[TOOL_CALLS]"),
        Space,
        Word,
        Literal("[ARGS]"),
        Space,
        Json('{'),
    ]),
];

const CALLS: Step = Literal("<｜tool▁calls▁begin｜>");
const CALL: Step = Literal("<｜tool▁call▁begin｜>");
const SEPARATOR: Step = Literal("<｜tool▁sep｜>");
const CALL_END: Step = Literal("<｜tool▁call▁end｜>");
const CALLS_END: Step = Literal("<｜tool▁calls▁end｜>");

/// V3 and R1 name the type first and fence the arguments.
const FENCED: &[Step] = &[
    CALLS,
    Space,
    CALL,
    Literal("function"),
    SEPARATOR,
    Word,
    Space,
    Literal("```json"),
    Space,
    Json('{'),
    Space,
    Literal("```"),
    Space,
    CALL_END,
];

/// V3.1 has the name and the bare arguments.
const PLAIN: &[Step] = &[
    CALLS,
    Space,
    CALL,
    Word,
    SEPARATOR,
    Space,
    Json('{'),
    Space,
    CALL_END,
];

const DEEP_SEEK: [Pattern; 2] = [labelled(FENCED), labelled(PLAIN)];

/// What may stand behind a call of a block: another one, or the block's end.
const DEEP_SEEK_NEXT: [Pattern; 3] = [
    labelled(within_block(FENCED)),
    labelled(within_block(PLAIN)),
    Pattern {
        steps: &[Space, CALLS_END],
        says: Says::Nothing,
    },
];

const fn labelled(steps: &'static [Step]) -> Pattern {
    let says = Says::Labelled;
    Pattern { steps, says }
}

/// A later call of a block: the same without the block's beginning.
const fn within_block(first_call: &'static [Step]) -> &'static [Step] {
    match first_call {
        [_, later @ ..] => later,
        [] => first_call,
    }
}

impl Markup {
    /// What its first call is written in. All of them begin with [`opener`](Markup::opener).
    pub(super) fn patterns(self) -> &'static [Pattern] {
        match self {
            Markup::HermesQwen => &HERMES,
            Markup::Mistral => &MISTRAL,
            Markup::DeepSeek => &DEEP_SEEK,
        }
    }

    /// What may go on behind a call.
    pub(super) fn next_patterns(self) -> &'static [Pattern] {
        match self {
            Markup::HermesQwen | Markup::Mistral => &[],
            Markup::DeepSeek => &DEEP_SEEK_NEXT,
        }
    }

    pub(super) fn opener(self) -> &'static str {
        match self
            .patterns()
            .first()
            .and_then(|pattern| pattern.steps.first())
        {
            Some(Literal(opener)) => opener,
            _ => "",
        }
    }
}

/// One pattern on its way through a text.
#[derive(Clone)]
pub(super) struct Thread {
    pub(super) pattern: &'static Pattern,
    step: usize,
    /// Where in the held text the step began.
    from: usize,
    nesting: Nesting,
    pub(super) word: Range<usize>,
    pub(super) json: Range<usize>,
}

/// Where in a JSON value a text is, brackets and strings only: whether it is valid is asked at its end.
#[derive(Clone, Copy, Default)]
struct Nesting {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// The last character opened an array.
    bracket: bool,
}

pub(super) enum Verdict {
    Alive,
    /// The character was the pattern's last.
    Done,
    /// The character does not fit. What was read from here on may be the beginning of something else.
    Dead(usize),
}

impl Thread {
    pub(super) fn new(pattern: &'static Pattern, at: usize) -> Self {
        Thread {
            pattern,
            step: 0,
            from: at,
            nesting: Nesting::default(),
            word: 0..0,
            json: 0..0,
        }
    }

    /// Reads the character that stands at this place of the held text.
    pub(super) fn read(&mut self, c: char, at: usize) -> Verdict {
        let next = at + c.len_utf8();
        loop {
            match self.pattern.steps.get(self.step) {
                Some(Literal(text)) => {
                    let rest = text.get(at - self.from..).unwrap_or_default();
                    if !rest.starts_with(c) {
                        return Verdict::Dead(self.from);
                    }
                    if rest.len() > c.len_utf8() {
                        return Verdict::Alive;
                    }
                    return self.end_step(next);
                }
                Some(Space) if c.is_ascii_whitespace() => return Verdict::Alive,
                Some(Word) if c.is_alphanumeric() || "_-.:/".contains(c) => {
                    self.word = self.from..next;
                    return Verdict::Alive;
                }
                Some(Word) if at == self.from => return Verdict::Dead(at),
                Some(Space | Word) => {
                    self.step += 1;
                    self.from = at;
                }
                Some(Json(opener)) => {
                    // A bracket may be an array's or the first character of a marker: what does not fit behind it tells.
                    let bracket = usize::from(self.nesting.bracket);
                    let fits = if at == self.from {
                        c == *opener && self.nesting.read(c)
                    } else {
                        self.nesting.read(c)
                    };
                    if !fits {
                        return Verdict::Dead(at - bracket);
                    }
                    if self.nesting.depth > 0 {
                        return Verdict::Alive;
                    }
                    self.json = self.from..next;
                    return self.end_step(next);
                }
                None => return Verdict::Dead(at),
            }
        }
    }

    /// The held text lost its first bytes.
    pub(super) fn shift(&mut self, by: usize) {
        self.from = self.from.saturating_sub(by);
        for range in [&mut self.word, &mut self.json] {
            *range = range.start.saturating_sub(by)..range.end.saturating_sub(by);
        }
    }

    fn end_step(&mut self, next: usize) -> Verdict {
        self.step += 1;
        self.from = next;
        if self.step == self.pattern.steps.len() {
            Verdict::Done
        } else {
            Verdict::Alive
        }
    }
}

impl Nesting {
    /// Whether the character can stand here: prose is told from JSON at its first letters.
    fn read(&mut self, c: char) -> bool {
        if self.in_string {
            match c {
                _ if self.escaped => self.escaped = false,
                '\\' => self.escaped = true,
                '"' => self.in_string = false,
                _ => {}
            }
            return c >= ' ';
        }
        self.bracket = c == '[';
        match c {
            '"' => self.in_string = true,
            '{' | '[' => self.depth += 1,
            '}' | ']' => self.depth = self.depth.saturating_sub(1),
            ' ' | '\t' | '\n' | '\r' | ':' | ',' | '+' | '-' | '.' | '0'..='9' => {}
            // The letters of `true`, `false`, `null` and exponents.
            't' | 'r' | 'u' | 'e' | 'f' | 'a' | 'l' | 's' | 'n' | 'E' => {}
            _ => return false,
        }
        true
    }
}
