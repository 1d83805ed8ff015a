//! Every limit and policy, its default, and what it costs.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::arguments::RepairLevel;

/// Limits and policies of a parser. Each has a default that real traffic does not meet.
///
/// A parser's memory is at most
///
/// - `max_event_bytes` × 2, for one unfinished line or event (a buffer that grows holds the old and the new at once), and
/// - `max_total_arguments_bytes` × 2, for the texts of open calls, which grow by half, and what they carry besides, and
/// - `max_calls` × (1 KiB and a few texts of `max_name_bytes`), and
/// - the events that were not taken out yet: those of the last chunk where each push is drained. A call that ended holds its
///   text, and
/// - the values of one text at a time, while it is read to its end because it is no whole object: many small numbers take some
///   fifty times their text, and as much again for a moment while they grow.
///
/// What is looked at holds its values besides: live views, calls with field events, and calls that ended once
/// [`Arguments::object`](crate::Arguments::object) was asked for. `tests/alloc.rs` and `tests/attacks.rs` hold these bounds
/// against bodies that aim at them.
///
/// # Examples
///
/// ```
/// use callstitch::{Config, EmitWhen, RepairLevel, ToolCallParser, WireFormat};
///
/// let config = Config::default().max_calls(16).repair(RepairLevel::None).emit(EmitWhen::NextCall);
/// let parser = ToolCallParser::with_config(WireFormat::Auto, config);
/// # drop(parser);
/// ```
#[derive(Clone)]
pub struct Config {
    pub(crate) max_event_bytes: usize,
    pub(crate) max_arguments_bytes: usize,
    pub(crate) max_total_arguments_bytes: usize,
    pub(crate) max_calls: usize,
    pub(crate) max_choices: u32,
    pub(crate) max_index: u32,
    pub(crate) max_name_bytes: usize,
    pub(crate) max_queued_events: usize,
    pub(crate) max_depth: usize,
    pub(crate) repair: RepairLevel,
    pub(crate) emit: EmitWhen,
    pub(crate) single_choice: bool,
    pub(crate) calls_only: bool,
    pub(crate) field_events: bool,
    pub(crate) remember_events: bool,
    pub(crate) ids: Arc<dyn IdSource>,
}

/// When a call of a wire that never closes one call is emitted.
///
/// # Examples
///
/// ```
/// use callstitch::{Config, EmitWhen, ToolCallParser, WireFormat};
///
/// let config = Config::default().emit(EmitWhen::FinishReason);
/// let mut parser = ToolCallParser::with_config(WireFormat::OpenAiChat, config);
/// # let chunk = br#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"get_now","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}
/// #
/// # "#;
/// // The chunk with the reason: the call is out before `[DONE]`.
/// assert!(parser.push(chunk).any(|event| event.is_ok_and(|event| event.into_call().is_some())));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum EmitWhen {
    /// At `[DONE]` or the end of the body: the only moment at which nothing can follow.
    #[default]
    Terminal,
    /// At a finish reason. Hazard: servers send [several, or one with every chunk](crate::guide::quirks#the-end): text that comes
    /// later is lost to the call, and reported as an anomaly.
    FinishReason,
    /// When the next call of the choice opens, if its text is whole by then. Hazard: interleaved calls, and servers that send
    /// [`{}` first and the object later](crate::guide::quirks#arguments).
    NextCall,
}

/// Makes ids for calls that came without one.
///
/// # Examples
///
/// ```
/// use callstitch::{Config, IdSource};
///
/// struct Fixed;
/// impl IdSource for Fixed {
///     fn next_id(&self) -> String {
///         "call_test".to_owned()
///     }
/// }
/// let config = Config::default().ids(Fixed);
/// # drop(config);
/// ```
pub trait IdSource: Send + Sync {
    /// The next id. A parser asks again while the answer is empty or in use in its response, at most a few times.
    fn next_id(&self) -> String;
}

/// The default: `call_` and a number that is unique in the process. It reads no clock and no randomness; give an
/// [`IdSource`] of your own where ids must be unique beyond one process.
#[derive(Debug, Default)]
struct Counted;

static COUNT: AtomicU64 = AtomicU64::new(0);

/// The default source of ids, for calls that no parser made.
pub(crate) fn default_ids() -> &'static dyn IdSource {
    &Counted
}

impl IdSource for Counted {
    fn next_id(&self) -> String {
        format!(
            "call_synthetic_{:06}",
            COUNT.fetch_add(1, Ordering::Relaxed)
        )
    }
}

/// The default configuration, shared by all parsers that have no other: gateways hold thousands.
pub(crate) fn shared() -> Arc<Config> {
    static SHARED: OnceLock<Arc<Config>> = OnceLock::new();
    Arc::clone(SHARED.get_or_init(Arc::default))
}

impl Default for Config {
    fn default() -> Self {
        Config {
            max_event_bytes: 64 << 20,
            max_arguments_bytes: 32 << 20,
            max_total_arguments_bytes: 64 << 20,
            max_calls: 1024,
            max_choices: 128,
            max_index: u32::MAX,
            max_name_bytes: 4096,
            max_queued_events: 1 << 20,
            max_depth: 127,
            repair: RepairLevel::Lossless,
            emit: EmitWhen::Terminal,
            single_choice: false,
            calls_only: false,
            field_events: false,
            remember_events: true,
            ids: Arc::new(Counted),
        }
    }
}

impl Config {
    /// Bytes of one line, event or binary frame. Default 64 MiB: a Responses snapshot repeats all output, and an escaped
    /// 32 MiB argument can take twice its size. Cost: memory for one unfinished event; of a line of server-sent events that says
    /// nothing, such as a comment, only the first KiB is held.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Config, ErrorKind, ToolCallParser, WireFormat};
    ///
    /// let config = Config::default().max_event_bytes(32);
    /// let mut parser = ToolCallParser::with_config(WireFormat::OpenAiChat, config);
    /// # let chunk = b"data: {\"choices\":[{\"delta\":{\"content\":\"longer than that\"}}]}\n\n";
    /// let error = parser.push(chunk).find_map(Result::err).unwrap();
    /// assert_eq!(error.kind(), ErrorKind::Limit);
    /// ```
    #[must_use]
    pub fn max_event_bytes(mut self, bytes: usize) -> Self {
        self.max_event_bytes = bytes;
        self
    }

    /// Bytes of one call's argument text. Default 32 MiB, the largest that a peer allows (rig).
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Config, ErrorKind, ToolCallParser, WireFormat};
    ///
    /// let config = Config::default().max_arguments_bytes(8);
    /// let mut parser = ToolCallParser::with_config(WireFormat::OpenAiChat, config);
    /// # let chunk = br#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"get_tide","arguments":"{\"port\":\"Oban\"}"}}]}}]}
    /// #
    /// # "#;
    /// let error = parser.push(chunk).find_map(Result::err).unwrap();
    /// assert_eq!(error.kind(), ErrorKind::Limit);
    /// ```
    #[must_use]
    pub fn max_arguments_bytes(mut self, bytes: usize) -> Self {
        self.max_arguments_bytes = bytes;
        self
    }

    /// Bytes of all open calls' argument text together, with what the wire restates of it and the members that go back verbatim.
    /// Default 64 MiB: two calls of the largest size.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Config, ErrorKind, ToolCallParser, WireFormat};
    ///
    /// let config = Config::default().max_total_arguments_bytes(20);
    /// let mut parser = ToolCallParser::with_config(WireFormat::OpenAiChat, config);
    /// # let chunk = br#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"get_tide","arguments":"{\"port\":\"Oban\"}"}},{"index":1,"id":"call_2","function":{"name":"get_tide","arguments":"{\"port\":\"Oban\"}"}}]}}]}
    /// #
    /// # "#;
    /// let error = parser.push(chunk).find_map(Result::err).unwrap();
    /// assert_eq!(error.kind(), ErrorKind::Limit);
    /// ```
    #[must_use]
    pub fn max_total_arguments_bytes(mut self, bytes: usize) -> Self {
        self.max_total_arguments_bytes = bytes;
        self
    }

    /// Calls in one stream. Default 1,024; the largest turn on record has a few dozen.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Config, ErrorKind, ToolCallParser, WireFormat};
    ///
    /// let config = Config::default().max_calls(1);
    /// let mut parser = ToolCallParser::with_config(WireFormat::OpenAiChat, config);
    /// # let chunk = br#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"get_tide","arguments":"{\"port\":\"Oban\"}"}},{"index":1,"id":"call_2","function":{"name":"get_tide","arguments":"{\"port\":\"Oban\"}"}}]}}]}
    /// #
    /// # "#;
    /// let error = parser.push(chunk).find_map(Result::err).unwrap();
    /// assert_eq!(error.kind(), ErrorKind::Limit);
    /// ```
    #[must_use]
    pub fn max_calls(mut self, calls: usize) -> Self {
        self.max_calls = calls;
        self
    }

    /// The highest choice index plus one, of a call and of a finish reason. Default 128, as openai-node has it. Text of a higher
    /// one is told as any other: nothing is held of it.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Config, ErrorKind, ToolCallParser, WireFormat};
    ///
    /// let config = Config::default().max_choices(1);
    /// let mut parser = ToolCallParser::with_config(WireFormat::OpenAiChat, config);
    /// # let chunk = b"data: {\"choices\":[{\"index\":1,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    /// let error = parser.push(chunk).find_map(Result::err).unwrap();
    /// assert_eq!(error.kind(), ErrorKind::Limit);
    /// ```
    #[must_use]
    pub fn max_choices(mut self, choices: u32) -> Self {
        self.max_choices = choices;
        self
    }

    /// The highest index that a wire may give a call. Default 2³² − 1. An index is a label, and nothing is allocated for its
    /// value: the limit is for the caller, who may take [`wire_index`](crate::ToolCall::wire_index) for a position. Servers are
    /// known that [count from any number](crate::guide::quirks#which-call-a-piece-belongs-to), none that needs more than 32 bits.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Config, ErrorKind, ToolCallParser, WireFormat};
    ///
    /// let config = Config::default().max_index(127);
    /// let mut parser = ToolCallParser::with_config(WireFormat::OpenAiChat, config);
    /// # let chunk = br#"data: {"choices":[{"delta":{"tool_calls":[{"index":128,"id":"call_1","function":{"name":"get_tide","arguments":"{\"port\":\"Oban\"}"}}]}}]}
    /// #
    /// # "#;
    /// let error = parser.push(chunk).find_map(Result::err).unwrap();
    /// assert_eq!(error.kind(), ErrorKind::Limit);
    /// ```
    #[must_use]
    pub fn max_index(mut self, index: u32) -> Self {
        self.max_index = index;
        self
    }

    /// Events that wait to be taken out. Default 1,048,576: a recorded body of 100 MB pushed as one chunk makes fewer. Cost: some
    /// hundred bytes each. It counts what one push leaves, so it depends on the chunks as no other limit does. Anomalies need no
    /// limit of their own: each kind is told once a call.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Config, ErrorKind, ToolCallParser, WireFormat};
    ///
    /// let config = Config::default().max_queued_events(2);
    /// let mut parser = ToolCallParser::with_config(WireFormat::OpenAiChat, config);
    /// let chunk = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":{\"total_tokens\":1}}\n\n".repeat(9);
    /// let error = parser.push(chunk.as_bytes()).find_map(Result::err).unwrap();
    /// assert_eq!(error.kind(), ErrorKind::Limit);
    /// ```
    #[must_use]
    pub fn max_queued_events(mut self, events: usize) -> Self {
        self.max_queued_events = events;
        self
    }

    /// Bytes of one tool name, of one id, and of a call's kind, server name and status. Default 4,096; Databricks sends item ids of
    /// 190 characters.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Config, ErrorKind, ToolCallParser, WireFormat};
    ///
    /// let config = Config::default().max_name_bytes(4);
    /// let mut parser = ToolCallParser::with_config(WireFormat::OpenAiChat, config);
    /// # let chunk = br#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"get_tide","arguments":"{\"port\":\"Oban\"}"}}]}}]}
    /// #
    /// # "#;
    /// let error = parser.push(chunk).find_map(Result::err).unwrap();
    /// assert_eq!(error.kind(), ErrorKind::Limit);
    /// ```
    #[must_use]
    pub fn max_name_bytes(mut self, bytes: usize) -> Self {
        self.max_name_bytes = bytes;
        self
    }

    /// Containers that may be open at once in argument text. Default 127, `serde_json`'s own limit; more is cut down to it.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{CallState, Config, ToolCallParser, WireFormat};
    ///
    /// let config = Config::default().max_depth(2);
    /// let mut parser = ToolCallParser::with_config(WireFormat::OpenAiChat, config);
    /// # let body = br#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"deep","arguments":"{\"a\":[[1]]}"}}]}}]}
    /// #
    /// # data: [DONE]
    /// #
    /// # "#;
    /// let call = parser.push(body).find_map(|event| event.ok()?.into_call()).unwrap();
    /// assert_eq!(call.state(), CallState::TooDeep); // the call is flagged, the stream goes on
    /// ```
    #[must_use]
    pub fn max_depth(mut self, depth: usize) -> Self {
        self.max_depth = depth.min(127);
        self
    }

    /// How far malformed argument text is repaired. Default [`RepairLevel::Lossless`].
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{CallState, Config, RepairLevel, ToolCallParser, WireFormat};
    ///
    /// let config = Config::default().repair(RepairLevel::None);
    /// let mut parser = ToolCallParser::with_config(WireFormat::OpenAiChat, config);
    /// # let body = br#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"add","arguments":"{\"a\":1,}"}}]}}]}
    /// #
    /// # data: [DONE]
    /// #
    /// # "#;
    /// let call = parser.push(body).find_map(|event| event.ok()?.into_call()).unwrap();
    /// assert_eq!(call.state(), CallState::Malformed); // a comma too many
    /// ```
    #[must_use]
    pub fn repair(mut self, level: RepairLevel) -> Self {
        self.repair = level;
        self
    }

    /// When calls without a close of their own are emitted. Default [`EmitWhen::Terminal`].
    #[must_use]
    pub fn emit(mut self, when: EmitWhen) -> Self {
        self.emit = when;
        self
    }

    /// Reads all choices as one. Default off. For requests with `n = 1` to servers whose choice index is a counter, or that put
    /// [text and calls into different choices](crate::guide::quirks#the-envelope).
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Config, ToolCallParser, WireFormat};
    ///
    /// let config = Config::default().single_choice(true);
    /// let mut parser = ToolCallParser::with_config(WireFormat::OpenAiChat, config);
    /// # let body = br#"data: {"choices":[{"index":196,"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"get_now","arguments":"{"}}]}}]}
    /// #
    /// # data: {"choices":[{"index":197,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}}]}
    /// #
    /// # data: [DONE]
    /// #
    /// # "#;
    /// // A server whose choice index counts tokens.
    /// let call = parser.push(body).find_map(|event| event.ok()?.into_call()).unwrap();
    /// assert_eq!((call.choice(), call.arguments().raw()), (0, "{}"));
    /// ```
    #[must_use]
    pub fn single_choice(mut self, single: bool) -> Self {
        self.single_choice = single;
        self
    }

    /// Leaves out the events of text, reasoning and argument pieces. Default off;
    /// [`tool_calls`](crate::ByteStreamExt::tool_calls) has it on. Live views stay.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Config, ToolCallParser, WireFormat};
    ///
    /// let mut parser = ToolCallParser::with_config(WireFormat::OpenAiChat, Config::default().calls_only(true));
    /// assert_eq!(parser.push(b"data: {\"choices\":[{\"delta\":{\"content\":\"Low tide.\"}}]}\n\n").count(), 0);
    /// ```
    #[must_use]
    pub fn calls_only(mut self, calls_only: bool) -> Self {
        self.calls_only = calls_only;
        self
    }

    /// Says what happens to each field of the arguments as [`Event::Field`](crate::Event::Field): a path opened, decoded text
    /// added to a string, a value complete. Default off, which costs nothing. Cost: each byte of argument text is read once
    /// as it arrives, and the values of open calls are held beside their texts; a string is copied into its text events and
    /// once more at its end; about 0.1 µs a delta inside a string. [`FieldFilter`](crate::FieldFilter) follows one field.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Config, Event, FieldEvent, ToolCallParser, WireFormat};
    ///
    /// let mut parser = ToolCallParser::with_config(WireFormat::OpenAiChat, Config::default().field_events(true));
    /// let chunk = br#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"write_note","arguments":"{\"text\":\"Low \u006eoon"}}]}}]}
    ///
    /// "#;
    /// let texts = parser.push(chunk).filter_map(|event| match event.ok()? {
    ///     Event::Field { event: FieldEvent::Text { path, fragment }, .. } if path.is(["text"]) => Some(fragment),
    ///     _ => None,
    /// });
    /// assert_eq!(texts.collect::<String>(), "Low noon");
    /// ```
    #[must_use]
    pub fn field_events(mut self, on: bool) -> Self {
        self.field_events = on;
        self
    }

    /// Recognises an event that repeats an earlier one but for its text, in place of parsing it again. Default on; the events
    /// are the same either way. Cost: a few hundred bytes a stream. Off is for measuring.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Config, ToolCallParser, WireFormat};
    ///
    /// let body = b"data: {\"choices\":[{\"delta\":{\"content\":\"Low\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\" tide\"}}]}\n\n";
    /// let said = |on| {
    ///     let config = Config::default().remember_events(on);
    ///     ToolCallParser::with_config(WireFormat::OpenAiChat, config).push(body).count()
    /// };
    /// assert_eq!(said(true), said(false));
    /// ```
    #[must_use]
    pub fn remember_events(mut self, on: bool) -> Self {
        self.remember_events = on;
        self
    }

    /// Where ids come from for calls that have none. Default `call_synthetic_` and a number unique in the process.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Config, IdSource, ToolCallParser, WireFormat};
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// #[derive(Debug, Default)]
    /// struct Numbered(AtomicU32);
    ///
    /// impl IdSource for Numbered {
    ///     fn next_id(&self) -> String {
    ///         format!("turn7_{}", self.0.fetch_add(1, Ordering::Relaxed))
    ///     }
    /// }
    ///
    /// let config = Config::default().ids(Numbered::default());
    /// let mut parser = ToolCallParser::with_config(WireFormat::Ollama, config);
    /// let body = b"{\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"get_now\",\"arguments\":{}}}]},\"done\":true}\n";
    /// let call = parser.push(body).find_map(|event| event.ok()?.into_call()).unwrap();
    /// assert_eq!(call.id(), "turn7_0");
    /// ```
    #[must_use]
    pub fn ids(mut self, ids: impl IdSource + 'static) -> Self {
        self.ids = Arc::new(ids);
        self
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("max_event_bytes", &self.max_event_bytes)
            .field("max_arguments_bytes", &self.max_arguments_bytes)
            .field("max_total_arguments_bytes", &self.max_total_arguments_bytes)
            .field("max_calls", &self.max_calls)
            .field("max_choices", &self.max_choices)
            .field("max_index", &self.max_index)
            .field("max_name_bytes", &self.max_name_bytes)
            .field("max_queued_events", &self.max_queued_events)
            .field("max_depth", &self.max_depth)
            .field("repair", &self.repair)
            .field("emit", &self.emit)
            .field("single_choice", &self.single_choice)
            .field("field_events", &self.field_events)
            .finish_non_exhaustive()
    }
}
