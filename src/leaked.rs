//! Calls that a server left in the text of an answer, for a caller who asks for them (WIRE_FORMATS Q75).
//!
//! Letter to the next reader. Nothing here runs unless a caller puts it behind a parser: text is text, and an answer may well
//! quote a markup. So a markup counts only where it is there to its end and holds a readable call; everything else is given
//! back as the text it was, character for character. Patterns run side by side from an opener on, a character at a time, and
//! what was given up is not read again but for the beginning of a marker: that keeps the work linear.

mod pattern;

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::call::{CallIndex, ToolCall};
use crate::delta::ClosedBy;
use crate::event::{ArgumentsText, Event};

use pattern::{Says, Thread, Verdict};

/// How a model writes calls into its text.
///
/// Each is the form of a public chat template. Others leak too; they stay text.
///
/// # Examples
///
/// ```
/// use callstitch::{LeakedCalls, LeakedEvent, Markup};
///
/// let mut leaked = LeakedCalls::new(Markup::HermesQwen);
/// let mut found = leaked.push_text(r#"<tool_call>{"name":"get_now","arguments":{}}</tool_call>"#);
/// assert!(matches!(found.next(), Some(LeakedEvent::Call(call)) if call.name() == "get_now"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Markup {
    /// `<tool_call>{"name":…,"arguments":{…}}</tool_call>`: Hermes, Qwen, and what was tuned on their templates.
    HermesQwen,
    /// `[TOOL_CALLS][{"name":…,"arguments":{…}},…]`, and `[TOOL_CALLS]name[ARGS]{…}` of later tokenizers.
    Mistral,
    /// `<｜tool▁calls▁begin｜>` around calls of `<｜tool▁call▁begin｜>function<｜tool▁sep｜>name`, a fenced object and
    /// `<｜tool▁call▁end｜>`; also V3.1's, which has the name before the separator and the bare object behind it.
    DeepSeek,
}

/// What [`LeakedCalls`] makes of text.
///
/// # Examples
///
/// ```
/// use callstitch::{LeakedCalls, LeakedEvent, Markup};
///
/// let mut leaked = LeakedCalls::new(Markup::HermesQwen);
/// let found: Vec<_> = leaked.push_text("Low tide.").chain([]).collect();
/// assert_eq!(found, [LeakedEvent::Text { choice: 0, text: "Low tide.".to_owned() }]);
/// ```
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum LeakedEvent {
    /// Text that is no call's.
    Text {
        /// Which of the `n` completions.
        choice: u32,
        /// The text, as it was.
        text: String,
    },
    /// A call that was written in the text: always one that may be run.
    Call(ToolCall),
}

impl LeakedEvent {
    /// The same as a parser says it: a text, or a call's start, its arguments and its end. Never errors. Cost: a copy of the
    /// call's argument text.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{LeakedCalls, LeakedEvent, Markup};
    ///
    /// let mut leaked = LeakedCalls::new(Markup::Mistral);
    /// let found = leaked.push_text(r#"[TOOL_CALLS][{"name":"get_now","arguments":{}}]"#);
    /// assert_eq!(found.flat_map(LeakedEvent::into_events).count(), 3);
    /// ```
    pub fn into_events(self) -> impl Iterator<Item = Event<'static>> {
        let events = match self {
            LeakedEvent::Text { choice, text } => {
                let text = Cow::Owned(text);
                [Some(Event::Text { choice, text }), None, None]
            }
            LeakedEvent::Call(call) => {
                let index = call.index();
                let text = ArgumentsText(Cow::Owned(call.arguments().raw().to_owned()));
                let started = Event::CallStarted {
                    index,
                    choice: call.choice(),
                    id: Some(Cow::Owned(call.id().to_owned())),
                    name: Cow::Owned(call.name().to_owned()),
                };
                let said = (!text.is_empty()).then_some(Event::ArgumentsDelta { index, text });
                [Some(started), said, Some(Event::CallCompleted(call))]
            }
        };
        events.into_iter().flatten()
    }
}

/// Finds calls that a server left in the text of an answer, in a markup that the caller names.
///
/// Put it behind a parser where a server is known to leak: the parser itself never does this, for an answer may quote a
/// markup, and a caller must know that it will be taken at its word. Text goes on at once, but for what may be the beginning
/// of a markup; a markup that is whole and holds a readable call becomes a [`ToolCall`] with a [made
/// id](ToolCall::is_synthetic_id), [`ClosedBy::Markup`], and as its offset the byte behind it in the choice's text. Anything
/// else is given back as text, untouched: a marker that no call follows, a call whose JSON cannot be read or lacks its name
/// or arguments, and at the end a call that was cut, for half a markup may be prose. What is found does not depend on
/// how the text was cut into pieces.
///
/// Only the answer is searched: neither reasoning nor arguments. Cost: O(n); at most
/// [`max_held_bytes`](LeakedCalls::max_held_bytes) are held for each choice.
///
/// # Examples
///
/// ```
/// use callstitch::{Event, LeakedCalls, LeakedEvent, Markup, ToolCallParser, WireFormat};
///
/// # let chunks: [&[u8]; 2] = [
/// #     b"data: {\"choices\":[{\"delta\":{\"content\":\"Let me look. <tool_\"}}]}\n\n",
/// #     b"data: {\"choices\":[{\"delta\":{\"content\":\"call>{\\\"name\\\":\\\"get_tide\\\",\\\"arguments\\\":{\\\"port\\\":\\\"Oban\\\"}}</tool_call>\"}}]}\n\ndata: [DONE]\n\n",
/// # ];
/// let mut parser = ToolCallParser::new(WireFormat::OpenAiChat);
/// let mut leaked = LeakedCalls::new(Markup::HermesQwen);
/// let (mut text, mut calls) = (String::new(), Vec::new());
/// let mut take = |event: Event<'_>| match event {
///     Event::Text { text: piece, .. } => text.push_str(&piece),
///     event => calls.extend(event.into_call()),
/// };
/// for chunk in chunks {
///     for event in parser.push(chunk) {
///         leaked.push(event?).for_each(&mut take);
///     }
/// }
/// for event in parser.finish() {
///     leaked.push(event?).for_each(&mut take);
/// }
/// leaked.finish().flat_map(LeakedEvent::into_events).for_each(&mut take);
///
/// assert_eq!(text, "Let me look. ");
/// assert_eq!(calls[0].arguments().object().unwrap()["port"], "Oban");
/// # Ok::<(), callstitch::Error>(())
/// ```
#[derive(Clone)]
pub struct LeakedCalls {
    markups: Vec<Markup>,
    limit: usize,
    readers: Vec<Reader>,
    /// How many calls were numbered, found ones and those of the parser.
    calls: u32,
    /// Our number of each of the parser's calls.
    numbers: HashMap<CallIndex, CallIndex>,
}

impl LeakedCalls {
    /// Looks for this markup.
    #[must_use]
    pub fn new(markup: Markup) -> Self {
        LeakedCalls {
            markups: vec![markup],
            limit: 1 << 20,
            readers: Vec::new(),
            calls: 0,
            numbers: HashMap::new(),
        }
    }

    /// Looks for this markup too.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{LeakedCalls, Markup};
    ///
    /// let leaked = LeakedCalls::new(Markup::HermesQwen).and(Markup::Mistral);
    /// # drop(leaked);
    /// ```
    #[must_use]
    pub fn and(mut self, markup: Markup) -> Self {
        if !self.markups.contains(&markup) {
            self.markups.push(markup);
        }
        self
    }

    /// The most bytes held for each choice while a markup goes on. What grows beyond is given back as text. The beginning of an
    /// opening marker, of which the longest has 28 bytes, is always held. Default: 1 MiB.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{LeakedCalls, LeakedEvent, Markup};
    ///
    /// let mut leaked = LeakedCalls::new(Markup::HermesQwen).max_held_bytes(16);
    /// let text = "<tool_call>{\"name\":\"a name that is too long\"";
    /// assert!(matches!(leaked.push_text(text).next(), Some(LeakedEvent::Text { .. })));
    /// ```
    #[must_use]
    pub fn max_held_bytes(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Takes one event of a parser and gives what it has become. Never errors.
    ///
    /// The calls of the parser are numbered anew, together with those found, by first appearance. Events other than text
    /// are given on at once, while text that may begin a markup waits for the rest of it, past a finish reason too: some
    /// servers send one with every chunk. [`finish`](LeakedCalls::finish) gives out the last of it, after an error as well.
    /// Cost: linear in the text; other events are copied.
    pub fn push(&mut self, event: Event<'_>) -> impl Iterator<Item = Event<'static>> + use<> {
        let (found, other) = match event {
            Event::Text { choice, text } => (self.read(choice, &text), None),
            event => (Vec::new(), Some(self.renumber(event.into_owned()))),
        };
        let found = found.into_iter().flat_map(LeakedEvent::into_events);
        found.chain(other)
    }

    /// Takes a piece of text of the only choice. Never errors. Cost: linear in the text.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{LeakedCalls, LeakedEvent, Markup};
    ///
    /// let mut leaked = LeakedCalls::new(Markup::HermesQwen);
    /// let found: Vec<_> = leaked.push_text("a <b> is no <tool_call>, and <tool").collect();
    /// let text = "a <b> is no <tool_call>, and ".to_owned();
    /// assert_eq!(found, [LeakedEvent::Text { choice: 0, text }]);
    /// assert_eq!(leaked.finish().count(), 1);
    /// ```
    pub fn push_text(&mut self, text: &str) -> impl Iterator<Item = LeakedEvent> + use<> {
        self.read(0, text).into_iter()
    }

    /// The text has ended: gives back what is held, a call that was cut included, as the text it is. Never errors; a second
    /// time it says nothing.
    pub fn finish(&mut self) -> impl Iterator<Item = LeakedEvent> + use<> {
        let mut found = Vec::new();
        for reader in &mut self.readers {
            reader.give_back(reader.held.len(), &mut found);
            reader.settle();
            reader.drop_decided();
        }
        found.into_iter()
    }

    fn read(&mut self, choice: u32, text: &str) -> Vec<LeakedEvent> {
        let known = self
            .readers
            .iter()
            .position(|reader| reader.choice == choice);
        let at = known.unwrap_or_else(|| {
            self.readers.push(Reader::new(choice));
            self.readers.len() - 1
        });
        let mut found = Vec::new();
        if let Some(reader) = self.readers.get_mut(at) {
            reader.held.push_str(text);
            reader.run(&self.markups, self.limit, &mut found);
        }
        for event in &mut found {
            if let LeakedEvent::Call(call) = event {
                call.0.index = CallIndex(self.calls);
                self.calls = self.calls.saturating_add(1);
            }
        }
        found
    }

    fn renumber(&mut self, mut event: Event<'static>) -> Event<'static> {
        let number = match &mut event {
            Event::CallStarted { index, .. }
            | Event::ArgumentsDelta { index, .. }
            | Event::Field { index, .. } => Some(index),
            Event::CallCompleted(call) | Event::CallDiscarded(call) => Some(&mut call.0.index),
            Event::Anomaly(anomaly) => anomaly.call.as_mut(),
            _ => None,
        };
        if let Some(number) = number {
            *number = match self.numbers.entry(*number) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => {
                    let next = CallIndex(self.calls);
                    self.calls = self.calls.saturating_add(1);
                    *new.insert(next)
                }
            };
        }
        event
    }
}

/// Shows how long a text is: markup that cannot be read is given as text, with its arguments.
impl fmt::Debug for LeakedEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeakedEvent::Text { choice, text } => f
                .debug_struct("Text")
                .field("choice", choice)
                .field("text", &format_args!("<{} bytes>", text.len()))
                .finish(),
            LeakedEvent::Call(call) => f.debug_tuple("Call").field(call).finish(),
        }
    }
}

/// Shows no text: it may hold arguments.
impl fmt::Debug for LeakedCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held: usize = self.readers.iter().map(|reader| reader.held.len()).sum();
        f.debug_struct("LeakedCalls")
            .field("markups", &self.markups)
            .field("calls", &self.calls)
            .field("held_bytes", &held)
            .finish_non_exhaustive()
    }
}

/// The text of one choice.
///
/// ```text
///           opener                    last character
/// Outside ─────────▶ threads running ───────────────▶ a call ──▶ Outside, or threads of what may follow in its block
///    ▲                     │ none fits any more, or too long
///    └──── text again ─────┘
/// ```
#[derive(Clone)]
struct Reader {
    choice: u32,
    /// What is not decided yet, and while a run goes on what was decided before it.
    held: String,
    /// Where the undecided text begins.
    start: usize,
    /// How far the threads have read.
    at: usize,
    /// The markup that is being read; none outside.
    within: Option<Markup>,
    threads: Vec<Thread>,
    /// How much of the choice's text was dropped from the front of `held`.
    offset: u64,
}

impl Reader {
    fn new(choice: u32) -> Self {
        Reader {
            choice,
            held: String::new(),
            start: 0,
            at: 0,
            within: None,
            threads: Vec::new(),
            offset: 0,
        }
    }

    fn run(&mut self, markups: &[Markup], limit: usize, found: &mut Vec<LeakedEvent>) {
        loop {
            let more = match self.within {
                None => self.look(markups, found),
                Some(markup) => self.follow(markup, limit, found),
            };
            if !more {
                break;
            }
        }
        self.drop_decided();
    }

    fn drop_decided(&mut self) {
        let decided = std::mem::take(&mut self.start);
        self.held.drain(..decided);
        self.offset += decided as u64;
        self.at = self.at.saturating_sub(decided);
        for thread in &mut self.threads {
            thread.shift(decided);
        }
    }

    /// Outside: gives text on up to an opener, or up to what may become one. Tells whether one was found.
    fn look(&mut self, markups: &[Markup], found: &mut Vec<LeakedEvent>) -> bool {
        let text = self.held.get(self.start..).unwrap_or_default();
        let mut candidates = text.match_indices(['<', '[']).filter_map(|(at, _)| {
            let rest = text.get(at..)?;
            let opens = |markup: &&Markup| {
                let opener = markup.opener();
                rest.starts_with(opener) || opener.starts_with(rest)
            };
            let markup = markups.iter().find(opens)?;
            Some((at, *markup, rest.starts_with(markup.opener())))
        });
        let candidate = candidates.next();
        let start = self.start;
        let at = candidate.map_or(self.held.len(), |(at, _, _)| start + at);
        self.give_back(at, found);
        match candidate {
            Some((_, markup, true)) => {
                self.begin(markup, markup.patterns());
                true
            }
            _ => false,
        }
    }

    fn begin(&mut self, markup: Markup, patterns: &'static [pattern::Pattern]) {
        self.at = self.start;
        let threads = patterns
            .iter()
            .map(|pattern| Thread::new(pattern, self.start));
        self.threads.clear();
        self.threads.extend(threads);
        self.within = (!patterns.is_empty()).then_some(markup);
    }

    /// Within a markup: reads on. Tells whether it was decided what the text is.
    fn follow(&mut self, markup: Markup, limit: usize, found: &mut Vec<LeakedEvent>) -> bool {
        loop {
            let rest = self.held.get(self.at..).unwrap_or_default();
            let Some(c) = rest.chars().next() else {
                return false;
            };
            let (at, next) = (self.at, self.at + c.len_utf8());
            if next - self.start > limit {
                self.give_back(if at == self.start { next } else { at }, found);
                self.settle();
                return true;
            }
            let (mut done, mut from) = (None, next);
            self.threads.retain_mut(|thread| match thread.read(c, at) {
                Verdict::Alive => true,
                Verdict::Done => {
                    done = Some(thread.clone());
                    false
                }
                Verdict::Dead(at) => {
                    from = from.min(at);
                    false
                }
            });
            self.at = next;
            if let Some(thread) = done {
                match self.calls(&thread, next) {
                    Some(calls) => {
                        found.extend(calls.into_iter().map(LeakedEvent::Call));
                        self.start = next;
                        let goes_on = !matches!(thread.pattern.says, Says::Nothing);
                        let patterns = if goes_on { markup.next_patterns() } else { &[] };
                        self.begin(markup, patterns);
                    }
                    None => {
                        self.give_back(next, found);
                        self.settle();
                    }
                }
                return true;
            }
            if self.threads.is_empty() {
                self.give_back(from, found);
                self.settle();
                return true;
            }
        }
    }

    /// Back outside.
    fn settle(&mut self) {
        self.threads.clear();
        self.within = None;
        self.at = self.start;
    }

    /// Gives the undecided text up to this place back.
    fn give_back(&mut self, to: usize, found: &mut Vec<LeakedEvent>) {
        let text = self.held.get(self.start..to).unwrap_or_default();
        self.start = to;
        match found.last_mut() {
            _ if text.is_empty() => {}
            Some(LeakedEvent::Text { choice, text: last }) if *choice == self.choice => {
                last.push_str(text);
            }
            _ => found.push(LeakedEvent::Text {
                choice: self.choice,
                text: text.to_owned(),
            }),
        }
    }

    /// The calls that a whole markup holds; `None` where one of them cannot be read.
    fn calls(&self, thread: &Thread, end: usize) -> Option<Vec<ToolCall>> {
        let json = self.held.get(thread.json.clone())?;
        let end = self.offset + end as u64;
        let call = |name: &str, arguments: &str| call(self.choice, name, arguments, end);
        match thread.pattern.says {
            Says::Nothing => Some(Vec::new()),
            Says::Labelled => {
                let name = self.held.get(thread.word.clone())?;
                Some(vec![call(name, json)?])
            }
            Says::Named => {
                let said: Said<'_> = serde_json::from_str(json).ok()?;
                Some(vec![call(&said.name, said.arguments.get())?])
            }
            Says::List => {
                let said: Vec<Said<'_>> = serde_json::from_str(json).ok()?;
                let calls = said
                    .iter()
                    .map(|said| call(&said.name, said.arguments.get()));
                calls
                    .collect::<Option<Vec<_>>>()
                    .filter(|calls| !calls.is_empty())
            }
        }
    }
}

/// A call as models write it.
#[derive(Deserialize)]
struct Said<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: &'a RawValue,
}

/// A call that may be run, or none.
fn call(choice: u32, name: &str, arguments: &str, end: u64) -> Option<ToolCall> {
    let call = ToolCall::builder()
        .choice(choice)
        .name(name)
        .arguments(arguments);
    let mut call = call.build().ok()?;
    call.0.evidence.closed_by = ClosedBy::Markup;
    call.0.evidence.offset = end;
    Some(call)
}
