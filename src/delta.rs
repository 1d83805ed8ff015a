//! The words spoken at the door: what a decoder says to the accumulator, in no provider's spelling.

mod debug;
mod fragment;
mod pieces;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::anomaly::AnomalyKind;
pub use fragment::Fragment;
pub(crate) use pieces::{Piece, Pieces, Whose};

/// The wire's hints about which call a delta belongs to. None of them is trusted alone; [`Route`] says how they are read.
///
/// # Examples
///
/// ```
/// use callstitch::{CallDelta, CallKey};
///
/// let mut key = CallKey::default();
/// (key.index, key.id) = (Some(3), Some("call_1"));
/// assert_eq!((CallDelta::new().index(3).id("call_1").key.index, key.choice), (key.index, 0));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallKey<'a> {
    /// Which of the `n` completions. 0 where the wire has no such number.
    pub choice: u32,
    /// The provider's number for the call: a sparse label, never a position. A negative number means absent.
    pub index: Option<i64>,
    /// The id that must be echoed with the result. Absent is `None`, never `""`.
    pub id: Option<&'a str>,
    /// A second id of the same call that is not echoed: the Responses item id.
    pub item_id: Option<&'a str>,
    /// Place and number of this entry among those entries of one provider event that name no call by index, id or name, `(0, 1)`
    /// where it stands alone or names its call.
    pub position: (usize, usize),
}

/// How a call delta finds its call.
///
/// # Examples
///
/// ```
/// use callstitch::{Accumulator, CallDelta, Delta, Route};
///
/// let mut accumulator = Accumulator::default();
/// for text in ["{\"n\":1}", "{\"n\":2}"] {
///     // Two calls under one label: the second opens all the same.
///     accumulator.push(&Delta::Call(CallDelta::new().index(0).name("count").arguments(text).route(Route::Opens)));
/// }
/// assert_eq!(accumulator.in_progress().count(), 2);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Route {
    /// By [index, id and name weighed together](crate::guide::quirks#which-call-a-piece-belongs-to): for wires without an event
    /// that opens a call.
    #[default]
    Table,
    /// A new call under this label, whatever was there before.
    Opens,
    /// By index, then id, then item id; with none of them, the call of its choice that was touched last. An unknown label waits for
    /// its call to open.
    Labelled,
    /// To the one call of its choice that has no label, which it opens if there is none: chat's legacy `function_call`, beside
    /// which calls with labels may arrive.
    Sole,
}

impl Route {
    /// Whether a known label alone tells the call.
    pub(crate) fn goes_by_label(self) -> bool {
        matches!(self, Route::Table | Route::Labelled)
    }
}

/// What a delta says of the arguments.
///
/// # Examples
///
/// ```
/// use callstitch::{ArgumentsPart, CallDelta, PartialCall};
///
/// let mut start = CallDelta::new().id("toolu_1").name("get_tide");
/// start.arguments = ArgumentsPart::Initial("{\"port\":\"Oban\"}");
/// let call = PartialCall::from_delta(&start).complete().unwrap(); // no fragment ever came
/// assert_eq!(call.arguments().object()?["port"], "Oban");
/// # Ok::<(), callstitch::ArgumentsError>(())
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArgumentsPart<'a> {
    /// Nothing.
    #[default]
    None,
    /// The next piece of the text.
    Fragment(Fragment<'a>),
    /// A whole value as JSON text, where the wire carries arguments as an object. A later one replaces it; after
    /// other text it is one more piece.
    Whole(&'a str),
    /// The value if no fragment ever comes: a start block's `input`.
    Initial(&'a str),
    /// The whole text again, from an event that has authority over the fragments: where it says something, it counts in their
    /// place when the call ends.
    Restated(&'a str),
}

/// What a tool call is made of.
///
/// # Examples
///
/// ```
/// use callstitch::ToolKind;
///
/// assert_eq!(ToolKind::BuiltIn("web_search_call".into()).as_str(), "web_search_call");
/// assert_eq!(serde_json::to_string(&ToolKind::Custom)?, "\"custom\"");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolKind {
    /// A function tool: arguments are a JSON object.
    #[default]
    Function,
    /// A custom tool: the input is free text and never read as JSON.
    Custom,
    /// A provider's built-in tool, by its wire type such as `web_search_call`.
    #[serde(untagged)]
    BuiltIn(Cow<'static, str>),
}

impl ToolKind {
    /// `function`, `custom` or the built-in's wire type.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            ToolKind::Function => "function",
            ToolKind::Custom => "custom",
            ToolKind::BuiltIn(kind) => kind,
        }
    }
}

/// Who runs a call.
///
/// # Examples
///
/// ```
/// use callstitch::{Executor, ToolCall};
///
/// let call = ToolCall::builder().name("web_search").executor(Executor::Provider).build()?;
/// assert_eq!((call.executor().as_str(), call.is_builtin()), ("provider", true));
/// # Ok::<(), callstitch::BuildError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Executor {
    /// The caller must run it and answer.
    #[default]
    Client,
    /// The provider runs it; the call is information.
    Provider,
    /// The wire does not say: xAI reports [searches of its own](crate::guide::quirks#the-envelope) as custom tool calls.
    Unknown,
}

impl Executor {
    /// `client`, `provider` or `unknown`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Executor::Client => "client",
            Executor::Provider => "provider",
            Executor::Unknown => "unknown",
        }
    }
}

/// One change to one call: any part may be missing.
///
/// # Examples
///
/// Deltas made by hand, from an SDK's typed chunks:
///
/// ```
/// use callstitch::{Accumulator, CallDelta, Delta, Executor, Route, ToolKind};
///
/// let mut accumulator = Accumulator::default();
/// accumulator.push(&Delta::Call(CallDelta::new().index(0).id("call_1").name("get_tide").arguments("{\"port\":")));
/// accumulator.push(&Delta::Call(CallDelta::new().index(0).arguments("\"Oban\"}")));
/// accumulator.push(&Delta::End);
/// let call = accumulator.events().filter_map(|event| event.ok()?.into_call()).next().unwrap();
/// assert_eq!(call.arguments().object().unwrap()["port"], "Oban");
/// // What a delta can say besides.
/// let delta = CallDelta::new().choice(1).route(Route::Opens).kind(&ToolKind::Custom).executor(Executor::Client);
/// assert_eq!((delta.key.choice, delta.name), (1, None));
/// ```
#[derive(Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct CallDelta<'a> {
    /// Which call.
    pub key: CallKey<'a>,
    /// How the call is found.
    pub route: Route,
    /// The tool's name, or a piece of it.
    pub name: Option<&'a str>,
    /// Function, custom or a built-in; `None` where the delta does not say.
    pub kind: Option<&'a ToolKind>,
    /// Who runs it; `None` where the delta does not say.
    pub executor: Option<Executor>,
    /// The MCP server.
    pub server_name: Option<&'a str>,
    /// What the delta says of the arguments.
    pub arguments: ArgumentsPart<'a>,
    /// Members that must go back verbatim with the call: name and JSON text.
    pub extras: &'a [(&'a str, &'a str)],
    /// The provider's own word on the item, such as `incomplete`.
    pub status: Option<&'a str>,
    /// The provider says that this call was cut. It is believed where the text cannot show it: blank and free text.
    pub cut: bool,
    /// The id and name of this delta replace those held, as long as the call was not emitted: a finished item of OpenAI's
    /// Responses has the last word on both.
    pub authoritative: bool,
    /// Bytes that the decoder itself holds for this call, where it gathers what it cannot say yet: they count towards
    /// [`max_total_arguments_bytes`](crate::Config::max_total_arguments_bytes).
    pub held_bytes: usize,
    /// The wire says that the text is all there, although the call may learn more: the `.done` of Responses, whose item may
    /// still correct the ids (R5).
    pub(crate) closes_text: bool,
    /// The whole value that `arguments` gives, where it was read as an object already and serde_json would do so too.
    pub(crate) object: Option<&'a str>,
}

impl<'a> CallDelta<'a> {
    /// Whether `arguments` is the value that was read as an object: another may have been put in its place.
    #[inline]
    pub(crate) fn gives_object(&self) -> bool {
        matches!((self.arguments, self.object), (ArgumentsPart::Whole(text), Some(object)) if std::ptr::eq(text, object))
    }

    /// A delta that says nothing, for choice 0, routed by the table.
    #[must_use]
    #[inline]
    pub fn new() -> Self {
        CallDelta {
            key: CallKey {
                position: (0, 1),
                ..CallKey::default()
            },
            ..CallDelta::default()
        }
    }

    /// The same delta for this choice.
    #[must_use]
    pub fn choice(mut self, choice: u32) -> Self {
        self.key.choice = choice;
        self
    }

    /// The same delta with the provider's index.
    #[must_use]
    pub fn index(mut self, index: impl Into<Option<i64>>) -> Self {
        self.key.index = index.into();
        self
    }

    /// The same delta with the call's id; an empty one is absent.
    #[must_use]
    pub fn id(mut self, id: impl Into<Option<&'a str>>) -> Self {
        self.key.id = id.into().filter(|id| !id.is_empty());
        self
    }

    /// The same delta with the tool's name; an empty one is absent.
    #[must_use]
    pub fn name(mut self, name: impl Into<Option<&'a str>>) -> Self {
        self.name = name.into().filter(|name| !name.is_empty());
        self
    }

    /// The same delta with the next piece of the argument text.
    #[must_use]
    pub fn arguments(mut self, text: &'a str) -> Self {
        self.arguments = ArgumentsPart::Fragment(Fragment::new(text));
        self
    }

    /// The same delta found in another way.
    #[must_use]
    pub fn route(mut self, route: Route) -> Self {
        self.route = route;
        self
    }

    /// The same delta with another kind.
    #[must_use]
    pub fn kind(mut self, kind: &'a ToolKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// The same delta with who runs it.
    #[must_use]
    pub fn executor(mut self, executor: Executor) -> Self {
        self.executor = Some(executor);
        self
    }
}

/// What text a [`Delta::Text`] carries.
///
/// # Examples
///
/// ```
/// use callstitch::{Accumulator, Delta, Event, Fragment, TextKind};
///
/// let mut accumulator = Accumulator::default();
/// accumulator.push(&Delta::Text { choice: 0, kind: TextKind::Reasoning, text: Fragment::new("so") });
/// assert!(matches!(accumulator.events().next(), Some(Ok(Event::Reasoning { .. }))));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TextKind {
    /// The answer.
    Answer,
    /// The model's reasoning, its plan included.
    Reasoning,
    /// A signature over reasoning, opaque, to be sent back with the turn.
    Signature,
    /// A refusal.
    Refusal,
}

/// What an event that closes a call was.
///
/// # Examples
///
/// ```
/// use callstitch::{Accumulator, CallDelta, CallKey, ClosedBy, Delta};
///
/// let mut accumulator = Accumulator::default();
/// accumulator.push(&Delta::Call(CallDelta::new().index(0).name("get_now").arguments("{}")));
/// let mut key = CallKey::default();
/// key.index = Some(0);
/// accumulator.push(&Delta::Close { key, by: ClosedBy::BlockStop });
/// let call = accumulator.events().find_map(|event| event.ok()?.into_call()).unwrap();
/// assert_eq!(call.evidence().closed_by, ClosedBy::BlockStop);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ClosedBy {
    /// The wire's own end of one call: `content_block_stop`, `tool-call-end`, `step.stop`.
    BlockStop,
    /// The finished item, with its text restated, or the end of that text where no item came.
    Restated,
    /// The call came whole in one event of a wire that sends whole calls.
    Arrival,
    /// The end of the message or response that held it.
    MessageEnd,
    /// The stream's own terminal, such as `[DONE]`.
    Terminal,
    /// A finish reason, either before a bare end of the body or by the policy [`EmitWhen::FinishReason`](crate::EmitWhen).
    FinishReason,
    /// The next call opened: by the policy [`EmitWhen::NextCall`](crate::EmitWhen), or in a message that was begun again and
    /// had left out the call's own end.
    NextCall,
    /// Nothing: the body ended bare. Only a whole, non-empty object stands then.
    Unconfirmed,
    /// Nothing: an error ended the stream.
    Error,
    /// Nothing: the message was begun again.
    Restart,
    /// Nothing: the call mirrors another one, or its text alone, under a second index.
    Mirrored,
    /// No stream: the call was made by hand, or read from a history.
    ByHand,
    /// No event: the call was written in the answer's text and found there by [`LeakedCalls`](crate::LeakedCalls).
    Markup,
}

impl ClosedBy {
    /// Whether it vouches for the text being all there: neither a bare end, an error, nor a call that never counted.
    pub(crate) fn vouches(self) -> bool {
        !matches!(
            self,
            ClosedBy::Unconfirmed | ClosedBy::Error | ClosedBy::Restart | ClosedBy::Mirrored
        )
    }
}

/// What a finish reason means, whatever the provider's spelling.
///
/// # Examples
///
/// ```
/// use callstitch::{Event, FinishMeaning, ToolCallParser, WireFormat};
///
/// let mut parser = ToolCallParser::new(WireFormat::OpenAiChat);
/// let chunk = b"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}]}\n\n";
/// for event in parser.push(chunk) {
///     if let Event::Finished { reason, .. } = event? {
///         assert_eq!(reason.meaning, FinishMeaning::Length);
///     }
/// }
/// # Ok::<(), callstitch::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FinishMeaning {
    /// The model stopped by itself.
    Stop,
    /// The model asks for tools.
    ToolCalls,
    /// A token limit cut the answer.
    Length,
    /// A filter or a refusal ended the answer.
    Filtered,
    /// The provider failed.
    Error,
    /// The model's call could not be read by the provider.
    MalformedCall,
    /// The turn is to be sent back to go on.
    Paused,
    /// A reason this library does not know.
    Other,
}

/// One provider-neutral change.
///
/// # Examples
///
/// ```
/// use callstitch::{Accumulator, CallDelta, Delta, FinishMeaning};
///
/// let mut accumulator = Accumulator::default();
/// accumulator.push(&Delta::Call(CallDelta::new().index(0).name("get_now").arguments("{}")));
/// accumulator.push(&Delta::Finish { choice: 0, reason: "tool_calls", native: None, meaning: FinishMeaning::ToolCalls });
/// accumulator.push(&Delta::End);
/// assert_eq!(accumulator.events().filter_map(|event| event.ok()?.into_call()).count(), 1);
/// ```
#[derive(Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Delta<'a> {
    /// A change to a call.
    Call(CallDelta<'a>),
    /// The next piece of a call's argument text and nothing else: short for a [`Delta::Call`] that says only this.
    Arguments {
        /// Which of the `n` completions.
        choice: u32,
        /// The provider's number for the call.
        index: Option<i64>,
        /// How the call is found.
        route: Route,
        /// The piece.
        text: Fragment<'a>,
    },
    /// This call cannot grow any more. Unknown labels are nothing.
    Close {
        /// Which call, read as [`Route::Labelled`] reads it.
        key: CallKey<'a>,
        /// What closed it.
        by: ClosedBy,
    },
    /// No call that is open in this choice can grow any more.
    CloseAll {
        /// Which choice; `None` for all.
        choice: Option<u32>,
        /// What closed them.
        by: ClosedBy,
    },
    /// Text that is no call.
    Text {
        /// Which of the `n` completions.
        choice: u32,
        /// What text.
        kind: TextKind,
        /// The piece.
        text: Fragment<'a>,
    },
    /// Token counts, as the provider's JSON text.
    Usage(&'a str),
    /// Why the model stopped. It closes nothing by itself.
    Finish {
        /// Which of the `n` completions.
        choice: u32,
        /// The provider's text.
        reason: &'a str,
        /// The upstream provider's text, where a gateway passes it on. It outranks a reason that contradicts it.
        native: Option<&'a str>,
        /// What the two mean together.
        meaning: FinishMeaning,
    },
    /// A bare end of the body is a clean end from here on: a finish reason came, and [servers](crate::guide::quirks#the-end) leave
    /// out the rest.
    MayEnd,
    /// The stream's terminal: open calls close, and an end of the body is a clean end until the next call or text.
    End,
    /// The message [begins again](crate::guide::quirks#the-end): open calls are discarded, those emitted stay.
    Restart,
    /// The provider's error.
    Error {
        /// Nothing follows it: the stream ends here. Otherwise what still closes by itself stands, and the error is said at
        /// the end of the body, however that ends.
        last: bool,
        /// The provider's message.
        message: &'a str,
        /// The provider's code or type.
        code: Option<&'a str>,
    },
    /// One event could not be decoded: text is missing from here on.
    Undecodable {
        /// What was wrong, in one line, without the event's text.
        problem: &'a str,
    },
    /// Text between events that is no event: a proxy's message. Remembered for the message of a truncated end.
    Stray {
        /// The text, cut short; its length alone if it may be a part of a document.
        text: &'a str,
    },
    /// A liberty the wire took that the decoder saw.
    Anomaly(AnomalyKind),
}

/// Takes a decoder's deltas.
///
/// # Examples
///
/// ```
/// use callstitch::{Accumulator, Delta, DeltaSink, Fragment, TextKind};
///
/// let mut accumulator = Accumulator::default();
/// let sink: &mut dyn DeltaSink = &mut accumulator;
/// sink.delta(&Delta::Text { choice: 0, kind: TextKind::Answer, text: Fragment::new("Hi") });
/// assert_eq!(accumulator.events().count(), 1);
/// ```
pub trait DeltaSink {
    /// Takes one delta. Never fails: what is wrong with it becomes an anomaly or an error event. Cost: O(delta) in an
    /// [`Accumulator`](crate::Accumulator).
    fn delta(&mut self, delta: &Delta<'_>);

    /// Is told at which byte of the body the provider event begins whose deltas follow. The parser tells it before each frame;
    /// a decoder tells it for events that it takes [by itself](crate::Decoder::repeated). Nothing for a sink that does not ask.
    /// Never fails. Cost: O(1) in an [`Accumulator`](crate::Accumulator).
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Accumulator, Delta, DeltaSink};
    ///
    /// let mut accumulator = Accumulator::default();
    /// let sink: &mut dyn DeltaSink = &mut accumulator;
    /// sink.at(120);
    /// sink.delta(&Delta::Error { last: true, message: "overloaded", code: None });
    /// assert!(matches!(accumulator.events().last(), Some(Err(error)) if error.offset() == 120));
    /// ```
    fn at(&mut self, offset: u64) {
        let _ = offset;
    }

    // No part of the interface: what the formats of this crate say to its accumulator. Anyone else gets the deltas.
    #[doc(hidden)]
    fn pieces(&mut self, pieces: Pieces<'_>) {
        pieces.say(pieces.pieces, 0, self);
    }
}
