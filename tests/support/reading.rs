//! What a stream said, in a form that two readings of it can be compared by, and the grammar that every reading keeps.

#![allow(dead_code, unreachable_pub)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use callstitch::{
    AnomalyKind, Config, End, Error, ErrorKind, Event, IdSource, ToolCall, ToolCallParser,
    WireFormat,
};

/// A small generator (xorshift64*): every run and every machine sees the same bytes.
#[derive(Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// Ids by number, so that two readings give the same.
#[derive(Default)]
pub struct Numbered(AtomicU64);

impl IdSource for Numbered {
    fn next_id(&self) -> String {
        format!("made_{}", self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// The defaults, with ids that two readings share.
pub fn config() -> Config {
    Config::default().ids(Numbered::default())
}

/// One thing that a stream said. Adjacent pieces of one text are joined: where they are cut is the transport's affair.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    Event(Event<'static>),
    Arguments(u32, String),
    Text(&'static str, u32, String),
    Error {
        kind: ErrorKind,
        offset: u64,
        message: String,
        code: Option<String>,
    },
}

/// All that a stream said.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reading {
    pub said: Vec<Said>,
    pub anomalies: Vec<(AnomalyKind, u64)>,
    pub end: Option<End>,
    pub format: Option<WireFormat>,
}

/// How a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Finish,
    Abort,
}

impl Reading {
    pub fn take<'a>(&mut self, events: impl Iterator<Item = Result<Event<'a>, Error>>) {
        for event in events {
            self.one(event);
        }
    }

    fn one(&mut self, event: Result<Event<'_>, Error>) {
        let (what, choice, text) = match event {
            Ok(Event::ArgumentsDelta { index, text }) => {
                if let Some(Said::Arguments(of, joined)) = self.said.last_mut()
                    && *of == index.get()
                {
                    joined.push_str(&text);
                } else {
                    self.said
                        .push(Said::Arguments(index.get(), text.as_str().to_owned()));
                }
                return;
            }
            Ok(Event::Text { choice, text }) => ("text", choice, text),
            Ok(Event::Reasoning { choice, text }) => ("reasoning", choice, text),
            Ok(Event::ReasoningSignature { choice, text }) => ("signature", choice, text),
            Ok(Event::Refusal { choice, text }) => ("refusal", choice, text),
            Ok(event) => return self.said.push(Said::Event(event.into_owned())),
            Err(error) => {
                return self.said.push(Said::Error {
                    kind: error.kind(),
                    offset: error.offset(),
                    message: error.message().to_owned(),
                    code: error.code().map(str::to_owned),
                });
            }
        };
        if let Some(Said::Text(of, as_choice, joined)) = self.said.last_mut()
            && (*of, *as_choice) == (what, choice)
        {
            joined.push_str(&text);
        } else {
            self.said.push(Said::Text(what, choice, text.into_owned()));
        }
    }

    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.said.iter().filter_map(|said| match said {
            Said::Event(Event::CallCompleted(call)) => Some(call),
            _ => None,
        })
    }

    pub fn error(&self) -> Option<(ErrorKind, &str)> {
        match self.said.last() {
            Some(Said::Error { kind, message, .. }) => Some((*kind, message)),
            _ => None,
        }
    }

    /// Holds the grammar: `stream := event* [error]`, and for each call
    /// `CallStarted ArgumentsDelta* (CallCompleted | CallDiscarded)`.
    pub fn check_grammar(&self) {
        #[derive(PartialEq)]
        enum Stage {
            Started,
            Ended,
        }
        let mut calls: Vec<(u32, Stage, String)> = Vec::new();
        for (at, said) in self.said.iter().enumerate() {
            match said {
                Said::Error { .. } => {
                    assert_eq!(at + 1, self.said.len(), "an error is the last thing said")
                }
                Said::Event(Event::CallStarted { index, .. }) => {
                    assert!(
                        calls.iter().all(|(of, ..)| of != &index.get()),
                        "call {} started twice",
                        index.get()
                    );
                    calls.push((index.get(), Stage::Started, String::new()));
                }
                Said::Arguments(index, text) => {
                    let call = calls.iter_mut().find(|(of, ..)| of == index);
                    let (_, stage, joined) = call.expect("arguments before the start");
                    assert!(*stage == Stage::Started, "arguments after the end");
                    joined.push_str(text);
                }
                Said::Event(Event::CallCompleted(call) | Event::CallDiscarded(call)) => {
                    let index = call.index().get();
                    let (_, stage, joined) = calls
                        .iter_mut()
                        .find(|(of, ..)| *of == index)
                        .expect("an end before the start");
                    assert!(*stage == Stage::Started, "call {index} ended twice");
                    *stage = Stage::Ended;
                    if call.state().is_usable() {
                        assert!(!call.name().is_empty(), "a usable call has a name");
                    }
                    assert!(!call.id().is_empty());
                    drop(std::mem::take(joined));
                }
                _ => {}
            }
        }
        if self.end.is_some() {
            let open = calls.iter().filter(|call| call.1 == Stage::Started).count();
            assert_eq!(open, 0, "{open} calls never ended");
        }
        let ids: Vec<&str> = self.calls().map(ToolCall::id).collect();
        let unique: std::collections::HashSet<_> = ids.iter().collect();
        assert_eq!(unique.len(), ids.len(), "ids are unique");
    }

    /// The first difference of two readings, with what stands around it.
    pub fn difference(&self, other: &Reading) -> Option<String> {
        if self == other {
            return None;
        }
        let mut text = String::new();
        let at = self
            .said
            .iter()
            .zip(&other.said)
            .position(|(one, other)| one != other)
            .unwrap_or(self.said.len().min(other.said.len()));
        for (name, reading) in [("one", self), ("other", other)] {
            let _ = writeln!(
                text,
                "{name}: {} said, end {:?}, format {:?}, anomalies {:?}",
                reading.said.len(),
                reading.end,
                reading.format,
                reading.anomalies
            );
            for (number, said) in reading
                .said
                .iter()
                .enumerate()
                .skip(at.saturating_sub(2))
                .take(5)
            {
                let _ = writeln!(text, "  {number}: {said:?}");
                if let Said::Event(Event::CallCompleted(call) | Event::CallDiscarded(call)) = said {
                    let _ = writeln!(
                        text,
                        "     raw {:?} {:?}",
                        call.arguments().raw(),
                        call.evidence()
                    );
                }
            }
        }
        Some(text)
    }

    /// Fails with what differs, if anything does.
    #[track_caller]
    pub fn same_as(&self, other: &Reading, what: &dyn std::fmt::Display) {
        if let Some(difference) = self.difference(other) {
            panic!("{what}\n{difference}");
        }
    }
}

/// Reads chunks with a parser, and what the body's end says.
pub fn read_with<'b>(
    mut parser: ToolCallParser,
    chunks: impl IntoIterator<Item = &'b [u8]>,
    ending: Ending,
) -> Reading {
    let mut reading = Reading::default();
    for chunk in chunks {
        reading.take(parser.push(chunk));
    }
    match ending {
        Ending::Finish => reading.take(parser.finish()),
        Ending::Abort => reading.take(parser.abort()),
    }
    assert!(parser.finish().next().is_none(), "the end is said once");
    assert!(
        parser.push(b"data: {}\n\n").next().is_none(),
        "nothing after the end"
    );
    reading.anomalies = parser.anomalies().to_vec();
    reading.end = parser.end();
    reading.format = parser.format();
    reading
}

pub fn read<'b>(
    format: WireFormat,
    config: Config,
    chunks: impl IntoIterator<Item = &'b [u8]>,
) -> Reading {
    read_with(
        ToolCallParser::with_config(format, config),
        chunks,
        Ending::Finish,
    )
}

/// Cuts a body into chunks by a seed: sizes of one byte to some thousand, empty ones among them.
pub fn cut(body: &[u8], seed: u64) -> Vec<&[u8]> {
    let mut random = Random::new(seed);
    let usual = *random.pick(&[1, 3, 17, 120, 5000]);
    let mut chunks = Vec::new();
    let mut rest = body;
    while !rest.is_empty() {
        let size = if random.one_in(30) {
            0
        } else {
            1 + random.below(usual)
        };
        let (chunk, after) = rest.split_at(size.min(rest.len()));
        chunks.push(chunk);
        rest = after;
    }
    chunks
}

/// Streams that the tests find: our own, and the recorded ones where they are there.
pub struct Stream {
    pub name: String,
    pub format: WireFormat,
    pub body: Vec<u8>,
}

/// The streams under `tests/streams`, by their folders' names.
pub fn own_streams() -> Vec<Stream> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = root
        .ancestors()
        .map(|dir| dir.join("tests/streams"))
        .find(|dir| dir.is_dir());
    let mut found = Vec::new();
    if let Some(root) = root {
        collect(&root, None, &mut found);
    }
    found
}

/// The recorded streams of the shared folder; none, and a line about it, where it is missing.
pub fn recorded_streams() -> Vec<Stream> {
    let root = std::env::var_os("CALLSTITCH_SHARED").map_or_else(
        || std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"),
        std::path::PathBuf::from,
    );
    let mut found = Vec::new();
    collect(&root.join("corpus"), None, &mut found);
    if found.is_empty() {
        assert!(
            std::env::var_os("CI").is_none(),
            "the shared corpus is missing under CI: {}",
            root.display()
        );
        println!("skipped: no recorded streams at {}", root.display());
    }
    found
}

fn format_of_folder(name: &str) -> Option<WireFormat> {
    Some(match name {
        "anthropic-messages" => WireFormat::Anthropic,
        "gemini-generate" => WireFormat::Gemini,
        "cohere-v2-chat" => WireFormat::Cohere,
        "ollama-chat" => WireFormat::Ollama,
        "bedrock-converse" => "bedrock".parse().ok()?,
        _ => return name.parse().ok(),
    })
}

fn collect(dir: &std::path::Path, format: Option<WireFormat>, found: &mut Vec<Stream>) {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return;
    };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or("")
            .to_owned();
        if path.is_dir() {
            collect(&path, format_of_folder(&name).or(format), found);
            continue;
        }
        let is_body = ["sse", "ndjson", "bin", "txt", "chunks", "jsonl"]
            .iter()
            .any(|ending| name.ends_with(ending));
        if let (Some(format), true, Ok(body)) = (format, is_body, std::fs::read(&path)) {
            let name = path.display().to_string();
            found.push(Stream { name, format, body });
        }
    }
}

/// The number that an environment variable holds, or this one.
pub fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable)
        .ok()
        .and_then(|text| text.replace('_', "").parse().ok())
        .unwrap_or(default)
}
