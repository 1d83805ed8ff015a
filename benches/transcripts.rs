//! Deterministic transcripts: one body a provider and shape, from a generator of its own, no clock.
//!
//! Shared by the library's benches, the peers' crate and the instruction counts. Arguments are a `write_file` call: source
//! code with escaped newlines, quotes, backslashes and some non-ASCII, in deltas of 1 to 7 characters.
#![allow(
    dead_code,
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::should_implement_trait,
    reason = "a module of several benches, each of which uses a part"
)]

/// A small generator (xorshift64*), so that every run and every machine sees the same bytes.
#[derive(Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Provider {
    Chat,
    Anthropic,
    Responses,
}

impl Provider {
    pub const ALL: [Provider; 3] = [Provider::Chat, Provider::Anthropic, Provider::Responses];

    pub fn name(self) -> &'static str {
        match self {
            Provider::Chat => "chat",
            Provider::Anthropic => "anthropic",
            Provider::Responses => "responses",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// This many calls, interleaved at random, with this many bytes of arguments in all.
    Calls { calls: usize, bytes: usize },
    /// One call in deltas of 0.5 to 1.5 KB.
    Wide { bytes: usize },
    /// One call in one delta.
    One { bytes: usize },
    /// One call; members in random order, random spaces, one unknown member an event.
    Shuffled { bytes: usize },
    /// One call; one unknown member an event, whose name is one of four.
    Turns { bytes: usize },
    /// One call; `\uXXXX` in keys and for non-ASCII.
    Escaped { bytes: usize },
    /// One call; up to fifteen spaces before the last brace of an event, as Anthropic pads its own.
    Padded { bytes: usize },
    /// This much text, then one small call.
    Text { bytes: usize },
}

/// A body and how many events it holds.
pub struct Transcript {
    pub body: Vec<u8>,
    pub events: usize,
    /// Name and argument text of each call, by the order in which they open.
    pub calls: Vec<(String, String)>,
    /// The id of each call, in the same order.
    pub ids: Vec<String>,
}

const CODE: &[&str] = &[
    "fn main() {\n",
    "    let total = 0;\n",
    "    println!(\"{}\", total);\n",
    "}\n",
    "\n",
    "// tide tables\n",
    "    if x < 10 && y > 3 {\n",
    "        return Err(\"no such port\".into());\n",
    "    }\n",
    "    let path = \"C:\\\\data\\\\tides\";\n",
    "    // hauteur à la marée haute\n",
    "    values.push(42);\n",
    "    for (name, value) in &table {\n",
    "        write!(f, \"{name}: {value}\\n\")?;\n",
    "    let deg = '°';\n",
];

pub fn arguments(bytes: usize, random: &mut Random) -> String {
    let mut content = String::with_capacity(bytes);
    while content.len() < bytes {
        content.push_str(CODE[random.below(CODE.len())]);
    }
    format!(
        "{{\"path\":\"src/main.rs\",\"content\":{}}}",
        serde_json::to_string(&content).unwrap()
    )
}

pub fn deltas<'a>(text: &'a str, low: usize, high: usize, random: &mut Random) -> Vec<&'a str> {
    let mut out = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let count = low + random.below(high - low + 1);
        let end = rest
            .char_indices()
            .nth(count)
            .map_or(rest.len(), |(at, _)| at);
        let (piece, tail) = rest.split_at(end);
        out.push(piece);
        rest = tail;
    }
    out
}

fn quoted(text: &str, escape_all: bool) -> String {
    let text = serde_json::to_string(text).unwrap();
    if !escape_all {
        return text;
    }
    text.chars()
        .map(|c| {
            if c.is_ascii() {
                c.to_string()
            } else {
                c.encode_utf16(&mut [0; 2])
                    .iter()
                    .map(|unit| format!("\\u{unit:04x}"))
                    .collect()
            }
        })
        .collect()
}

struct Writer {
    provider: Provider,
    random: Random,
    shuffled: bool,
    unknown: bool,
    escaped: bool,
    padded: bool,
    body: String,
    events: usize,
    sequence: usize,
}

impl Writer {
    fn obfuscation(&mut self) -> String {
        const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
        let length = 1 + self.random.below(12);
        (0..length)
            .map(|_| LETTERS[self.random.below(LETTERS.len())] as char)
            .collect()
    }

    /// `members` are key and JSON text; written in order, or shuffled.
    fn object(&mut self, mut members: Vec<(String, String)>) -> String {
        if self.shuffled {
            for at in (1..members.len()).rev() {
                members.swap(at, self.random.below(at + 1));
            }
        }
        let mut out = String::from("{");
        for (at, (key, value)) in members.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            let spaces = if self.shuffled {
                self.random.below(3)
            } else {
                0
            };
            out.push_str(&" ".repeat(spaces));
            if self.escaped && self.random.below(2) == 0 {
                let (first, rest) = key.split_at(1);
                out.push_str(&format!("\"\\u{:04x}{rest}\":", first.as_bytes()[0]));
            } else {
                out.push_str(&format!("\"{key}\":"));
            }
            out.push_str(&" ".repeat(spaces / 2));
            out.push_str(value);
        }
        out.push('}');
        out
    }

    fn event(&mut self, name: Option<&str>, mut members: Vec<(&str, String)>) {
        if self.unknown {
            let key = ["x_trace", "zone", "debug", "shard"][self.random.below(4)];
            let value = format!("{}", self.random.below(100_000));
            members.push((key, value));
        }
        let members = members
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect();
        let mut json = self.object(members);
        if self.padded {
            json.insert_str(json.len() - 1, &" ".repeat(self.random.below(16)));
        }
        if let Some(name) = name {
            self.body.push_str(&format!("event: {name}\n"));
        }
        self.body.push_str(&format!("data: {json}\n\n"));
        self.events += 1;
    }

    fn inner(&mut self, members: Vec<(&str, String)>) -> String {
        self.object(
            members
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect(),
        )
    }

    fn chat(&mut self, delta: String, reason: &str) {
        let choice = self.inner(vec![
            ("index", "0".into()),
            ("delta", delta),
            ("logprobs", "null".into()),
            ("finish_reason", reason.into()),
        ]);
        let obfuscation = format!("\"{}\"", self.obfuscation());
        self.event(
            None,
            vec![
                ("id", "\"chatcmpl-Bq9xV0c2Hq7nT4dLk1mZ8sYw3RfUe\"".into()),
                ("object", "\"chat.completion.chunk\"".into()),
                ("created", "1790000000".into()),
                ("model", "\"gpt-demo-2026-08-01\"".into()),
                ("service_tier", "\"default\"".into()),
                ("system_fingerprint", "\"fp_8a1c0de9f2\"".into()),
                ("choices", format!("[{choice}]")),
                ("usage", "null".into()),
                ("obfuscation", obfuscation),
            ],
        );
    }

    fn responses(&mut self, kind: &str, members: Vec<(&str, String)>) {
        let mut all = vec![
            ("type", format!("\"{kind}\"")),
            ("sequence_number", self.sequence.to_string()),
        ];
        self.sequence += 1;
        all.extend(members);
        self.event(Some(kind), all);
    }

    fn id(&self, call: usize) -> String {
        match self.provider {
            Provider::Chat | Provider::Responses => format!("call_{call:04}"),
            Provider::Anthropic => format!("toolu_{call:04}"),
        }
    }

    fn open(&mut self, call: usize, name: &str) {
        let id = format!("\"{}\"", self.id(call));
        match self.provider {
            Provider::Chat => {
                let function = self.inner(vec![
                    ("name", format!("\"{name}\"")),
                    ("arguments", "\"\"".into()),
                ]);
                let entry = self.inner(vec![
                    ("index", call.to_string()),
                    ("id", id),
                    ("type", "\"function\"".into()),
                    ("function", function),
                ]);
                let delta = self.inner(vec![("tool_calls", format!("[{entry}]"))]);
                self.chat(delta, "null");
            }
            Provider::Anthropic => {
                let block = self.inner(vec![
                    ("type", "\"tool_use\"".into()),
                    ("id", id),
                    ("name", format!("\"{name}\"")),
                    ("input", "{}".into()),
                ]);
                let members = vec![
                    ("type", "\"content_block_start\"".into()),
                    ("index", call.to_string()),
                    ("content_block", block),
                ];
                self.event(Some("content_block_start"), members);
            }
            Provider::Responses => {
                let item = self.item(call, name, "\"\"", "in_progress");
                self.responses(
                    "response.output_item.added",
                    vec![("output_index", call.to_string()), ("item", item)],
                );
            }
        }
    }

    fn item(&mut self, call: usize, name: &str, arguments: &str, status: &str) -> String {
        self.inner(vec![
            (
                "id",
                format!("\"fc_68a1b2c3d4e5f60718293a4b5c6d7e8f{call:04}\""),
            ),
            ("type", "\"function_call\"".into()),
            ("status", format!("\"{status}\"")),
            ("arguments", arguments.to_owned()),
            ("call_id", format!("\"{}\"", self.id(call))),
            ("name", format!("\"{name}\"")),
        ])
    }

    fn delta(&mut self, call: usize, piece: &str) {
        let piece = quoted(piece, self.escaped);
        match self.provider {
            Provider::Chat => {
                let function = self.inner(vec![("arguments", piece)]);
                let entry = self.inner(vec![("index", call.to_string()), ("function", function)]);
                let delta = self.inner(vec![("tool_calls", format!("[{entry}]"))]);
                self.chat(delta, "null");
            }
            Provider::Anthropic => {
                let delta = self.inner(vec![
                    ("type", "\"input_json_delta\"".into()),
                    ("partial_json", piece),
                ]);
                let members = vec![
                    ("type", "\"content_block_delta\"".into()),
                    ("index", call.to_string()),
                    ("delta", delta),
                ];
                self.event(Some("content_block_delta"), members);
            }
            Provider::Responses => {
                let obfuscation = format!("\"{}\"", self.obfuscation());
                let members = vec![
                    (
                        "item_id",
                        format!("\"fc_68a1b2c3d4e5f60718293a4b5c6d7e8f{call:04}\""),
                    ),
                    ("output_index", call.to_string()),
                    ("delta", piece),
                    ("obfuscation", obfuscation),
                ];
                self.responses("response.function_call_arguments.delta", members);
            }
        }
    }

    fn close(&mut self, call: usize, name: &str, arguments: &str) {
        match self.provider {
            Provider::Chat => {}
            Provider::Anthropic => {
                self.event(
                    Some("content_block_stop"),
                    vec![
                        ("type", "\"content_block_stop\"".into()),
                        ("index", call.to_string()),
                    ],
                );
            }
            Provider::Responses => {
                let text = quoted(arguments, self.escaped);
                let members = vec![
                    (
                        "item_id",
                        format!("\"fc_68a1b2c3d4e5f60718293a4b5c6d7e8f{call:04}\""),
                    ),
                    ("output_index", call.to_string()),
                    ("arguments", text.clone()),
                ];
                self.responses("response.function_call_arguments.done", members);
                let item = self.item(call, name, &text, "completed");
                self.responses(
                    "response.output_item.done",
                    vec![("output_index", call.to_string()), ("item", item)],
                );
            }
        }
    }

    fn text(&mut self, piece: &str) {
        let piece = quoted(piece, self.escaped);
        match self.provider {
            Provider::Chat => {
                let delta = self.inner(vec![("content", piece)]);
                self.chat(delta, "null");
            }
            Provider::Anthropic => {
                let delta = self.inner(vec![("type", "\"text_delta\"".into()), ("text", piece)]);
                let members = vec![
                    ("type", "\"content_block_delta\"".into()),
                    ("index", "0".into()),
                    ("delta", delta),
                ];
                self.event(Some("content_block_delta"), members);
            }
            Provider::Responses => {
                let obfuscation = format!("\"{}\"", self.obfuscation());
                let members = vec![
                    ("item_id", "\"msg_68a1b2c3d4e5f60718293a4b5c6d7e8f\"".into()),
                    ("output_index", "0".into()),
                    ("content_index", "0".into()),
                    ("delta", piece),
                    ("obfuscation", obfuscation),
                ];
                self.responses("response.output_text.delta", members);
            }
        }
    }

    fn begin(&mut self) {
        match self.provider {
            Provider::Chat => {
                let delta = self.inner(vec![
                    ("role", "\"assistant\"".into()),
                    ("content", "null".into()),
                    ("refusal", "null".into()),
                ]);
                self.chat(delta, "null");
            }
            Provider::Anthropic => {
                let message = "{\"id\":\"msg_01\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-demo\",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{\"input_tokens\":300,\"output_tokens\":1}}";
                self.event(
                    Some("message_start"),
                    vec![
                        ("type", "\"message_start\"".into()),
                        ("message", message.into()),
                    ],
                );
                self.event(Some("ping"), vec![("type", "\"ping\"".into())]);
            }
            Provider::Responses => {
                let response = "{\"id\":\"resp_01\",\"object\":\"response\",\"created_at\":1790000000,\"model\":\"gpt-demo-2026-08-01\",\"status\":\"in_progress\",\"output\":[]}";
                self.responses("response.created", vec![("response", response.into())]);
            }
        }
    }

    fn end(&mut self, calls: &[(String, String)], first: usize) {
        match self.provider {
            Provider::Chat => {
                self.chat("{}".into(), "\"tool_calls\"");
                self.body.push_str("data: [DONE]\n\n");
                self.events += 1;
            }
            Provider::Anthropic => {
                let delta = "{\"stop_reason\":\"tool_use\",\"stop_sequence\":null}";
                let members = vec![
                    ("type", "\"message_delta\"".into()),
                    ("delta", delta.into()),
                    ("usage", "{\"output_tokens\":99}".into()),
                ];
                self.event(Some("message_delta"), members);
                self.event(
                    Some("message_stop"),
                    vec![("type", "\"message_stop\"".into())],
                );
            }
            Provider::Responses => {
                let mut output = Vec::new();
                for (call, (name, arguments)) in calls.iter().enumerate() {
                    let text = quoted(arguments, self.escaped);
                    output.push(self.item(first + call, name, &text, "completed"));
                }
                let response = format!(
                    "{{\"id\":\"resp_01\",\"object\":\"response\",\"created_at\":1790000000,\"model\":\"gpt-demo-2026-08-01\",\"status\":\"completed\",\"output\":[{}]}}",
                    output.join(",")
                );
                self.responses("response.completed", vec![("response", response)]);
            }
        }
    }
}

/// The body of a provider and a shape.
pub fn transcript(provider: Provider, shape: Shape) -> Transcript {
    let mut random = Random::new(7);
    let shuffled = matches!(shape, Shape::Shuffled { .. });
    let escaped = matches!(shape, Shape::Escaped { .. });
    let mut writer = Writer {
        provider,
        random: Random::new(11),
        shuffled,
        unknown: shuffled || matches!(shape, Shape::Turns { .. }),
        escaped,
        padded: matches!(shape, Shape::Padded { .. }),
        body: String::new(),
        events: 0,
        sequence: 0,
    };
    writer.begin();
    let (count, bytes, low, high) = match shape {
        Shape::Calls { calls, bytes } => (calls, bytes / calls, 1, 7),
        Shape::Wide { bytes } => (1, bytes, 500, 1500),
        Shape::One { bytes } => (1, bytes, usize::MAX / 2, usize::MAX / 2),
        Shape::Shuffled { bytes }
        | Shape::Turns { bytes }
        | Shape::Escaped { bytes }
        | Shape::Padded { bytes } => (1, bytes, 1, 7),
        Shape::Text { .. } => (1, 150, 1, 7),
    };
    let mut first = 0;
    if let Shape::Text { bytes } = shape {
        first = 1;
        let words = [
            "The ",
            "tide ",
            "at ",
            "Oban ",
            "turns ",
            "early",
            ", ",
            "and ",
            "“later” ",
            "still.\n",
            "Low water: ",
            "3.1 m ",
        ];
        if provider == Provider::Anthropic {
            writer.event(
                Some("content_block_start"),
                vec![
                    ("type", "\"content_block_start\"".into()),
                    ("index", "0".into()),
                    ("content_block", "{\"type\":\"text\",\"text\":\"\"}".into()),
                ],
            );
        }
        while writer.body.len() < bytes {
            let word = words[random.below(words.len())];
            writer.text(word);
        }
        if provider == Provider::Anthropic {
            writer.event(
                Some("content_block_stop"),
                vec![
                    ("type", "\"content_block_stop\"".into()),
                    ("index", "0".into()),
                ],
            );
        }
    }
    let calls: Vec<(String, String)> = (0..count)
        .map(|_| ("write_file".to_owned(), arguments(bytes, &mut random)))
        .collect();
    for (call, (name, _)) in calls.iter().enumerate() {
        writer.open(first + call, name);
    }
    let mut queues: Vec<(usize, Vec<&str>)> = calls
        .iter()
        .enumerate()
        .map(|(call, (_, text))| {
            (
                call,
                deltas(text, low, high, &mut random)
                    .into_iter()
                    .rev()
                    .collect(),
            )
        })
        .collect();
    while !queues.is_empty() {
        let at = random.below(queues.len());
        let (call, queue) = &mut queues[at];
        match queue.pop() {
            Some(piece) => writer.delta(first + *call, piece),
            None => {
                queues.swap_remove(at);
            }
        }
    }
    for (call, (name, text)) in calls.iter().enumerate() {
        writer.close(first + call, name, text);
    }
    writer.end(&calls, first);
    let ids = (first..first + count).map(|call| writer.id(call)).collect();
    Transcript {
        ids,
        body: writer.body.into_bytes(),
        events: writer.events,
        calls,
    }
}

/// How a body is cut into chunks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Chunking {
    Bytes(usize),
    Event,
    Random,
}

pub fn chunks(body: &[u8], chunking: Chunking) -> Vec<&[u8]> {
    match chunking {
        Chunking::Bytes(size) => body.chunks(size).collect(),
        Chunking::Event => {
            let mut out = Vec::new();
            let mut from = 0;
            while let Some(at) = body[from..].windows(2).position(|pair| pair == b"\n\n") {
                out.push(&body[from..from + at + 2]);
                from += at + 2;
            }
            out.push(&body[from..]);
            out
        }
        Chunking::Random => {
            let mut random = Random::new(23);
            let mut out = Vec::new();
            let mut rest = body;
            while !rest.is_empty() {
                let size = if random.below(4) == 0 {
                    1 + random.below(16)
                } else {
                    1 + random.below(4096)
                };
                let (chunk, tail) = rest.split_at(size.min(rest.len()));
                out.push(chunk);
                rest = tail;
            }
            out
        }
    }
}
