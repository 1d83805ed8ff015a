//! The words spoken to the caller.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::anomaly::AnomalyKind;
use crate::arguments::FieldEvent;
use crate::call::{CallIndex, ToolCall};
use crate::delta::FinishMeaning;

/// One thing that a stream says.
///
/// The grammar of a stream, held for every input: `stream := event* [error]`, and for each call
/// `CallStarted (ArgumentsDelta | Field)* (CallCompleted | CallDiscarded)`. Texts are borrowed from the parser;
/// [`into_owned`](Event::into_owned) frees them.
///
/// # Examples
///
/// ```
/// use callstitch::{Event, ToolCallParser, WireFormat};
///
/// let mut parser = ToolCallParser::new(WireFormat::OpenAiChat);
/// let chunk = br#"data: {"choices":[{"delta":{"content":"Low tide."}}]}
///
/// "#;
/// for event in parser.push(chunk) {
///     if let Event::Text { text, .. } = event? {
///         assert_eq!(text, "Low tide.");
///     }
/// }
/// # Ok::<(), callstitch::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A call began and its name is known, or it ended and none had come: the name is empty then.
    CallStarted {
        /// Which call.
        index: CallIndex,
        /// Which of the `n` completions.
        choice: u32,
        /// The call's id, where it is known by now. It never changes afterwards, except where the finished item of a
        /// Responses stream has another; [`AnomalyKind::DriftingId`] tells so.
        id: Option<Cow<'a, str>>,
        /// The tool's name.
        name: Cow<'a, str>,
    },
    /// Argument text came.
    ArgumentsDelta {
        /// Which call.
        index: CallIndex,
        /// The text, decoded from the wire. Joined, all deltas of a call are its text as sent.
        text: ArgumentsText<'a>,
    },
    /// Something happened to a field of a call's arguments: only where [`Config::field_events`](crate::Config::field_events)
    /// asks for it, and never for free text.
    ///
    /// Of a call that may be run, what was said last of each field is what the call holds: where its text was repaired or
    /// said again, the rest is said before its end, after [`Replaced`](FieldEvent::Replaced) if it contradicts what was
    /// said. Of any other call they are what was stated, and a field without `Completed` was cut.
    Field {
        /// Which call.
        index: CallIndex,
        /// What happened. The value of a container is left out: its members were told one by one.
        event: FieldEvent<'a>,
    },
    /// A call ended: whole, or flagged. Its [state](ToolCall::state) says which.
    CallCompleted(ToolCall),
    /// A call ended without ever counting: its message was begun again, or it mirrored another. It must not be run.
    CallDiscarded(ToolCall),
    /// A piece of the answer.
    Text {
        /// Which of the `n` completions.
        choice: u32,
        /// The piece.
        text: Cow<'a, str>,
    },
    /// A piece of the model's reasoning.
    Reasoning {
        /// Which of the `n` completions.
        choice: u32,
        /// The piece.
        text: Cow<'a, str>,
    },
    /// A signature over the reasoning, to be sent back verbatim with the turn.
    ReasoningSignature {
        /// Which of the `n` completions.
        choice: u32,
        /// The opaque text.
        text: Cow<'a, str>,
    },
    /// A piece of a refusal.
    Refusal {
        /// Which of the `n` completions.
        choice: u32,
        /// The piece.
        text: Cow<'a, str>,
    },
    /// Token counts, as the provider's JSON text.
    Usage(Cow<'a, str>),
    /// The model gave a reason for stopping. It may come more than once, and calls may still grow after it.
    Finished {
        /// Which of the `n` completions.
        choice: u32,
        /// The reason.
        reason: FinishReason,
    },
    /// A liberty the stream took: told once for each kind and call, counted each time.
    Anomaly(Anomaly),
}

impl Event<'_> {
    /// The same event with its texts owned. Cost: a copy of borrowed text.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Event, ToolCallParser, WireFormat};
    ///
    /// let mut parser = ToolCallParser::new(WireFormat::OpenAiChat);
    /// let chunk = b"data: {\"choices\":[{\"delta\":{\"content\":\"Low tide.\"}}]}\n\n";
    /// let kept: Vec<Event<'static>> = parser.push(chunk).filter_map(Result::ok).map(Event::into_owned).collect();
    /// drop(parser);
    /// assert_eq!(kept.len(), 1);
    /// ```
    #[must_use]
    pub fn into_owned(self) -> Event<'static> {
        let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        match self {
            Event::CallStarted {
                index,
                choice,
                id,
                name,
            } => Event::CallStarted {
                index,
                choice,
                id: id.map(own),
                name: own(name),
            },
            Event::ArgumentsDelta { index, text } => Event::ArgumentsDelta {
                index,
                text: ArgumentsText(own(text.0)),
            },
            Event::Field { index, event } => Event::Field {
                index,
                event: event.into_owned(),
            },
            Event::CallCompleted(call) => Event::CallCompleted(call),
            Event::CallDiscarded(call) => Event::CallDiscarded(call),
            Event::Text { choice, text } => Event::Text {
                choice,
                text: own(text),
            },
            Event::Reasoning { choice, text } => Event::Reasoning {
                choice,
                text: own(text),
            },
            Event::ReasoningSignature { choice, text } => Event::ReasoningSignature {
                choice,
                text: own(text),
            },
            Event::Refusal { choice, text } => Event::Refusal {
                choice,
                text: own(text),
            },
            Event::Usage(text) => Event::Usage(own(text)),
            Event::Finished { choice, reason } => Event::Finished { choice, reason },
            Event::Anomaly(anomaly) => Event::Anomaly(anomaly),
        }
    }

    /// The call, where this event completes one, flagged ones included.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ToolCallParser, WireFormat};
    ///
    /// let mut parser = ToolCallParser::new(WireFormat::Ollama);
    /// let line = b"{\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"get_now\",\"arguments\":{}}}]}}\n";
    /// let calls: Vec<_> = parser.push(line).filter_map(|event| event.ok()?.into_call()).collect();
    /// assert_eq!(calls.len(), 1);
    /// ```
    #[must_use]
    #[inline]
    pub fn into_call(self) -> Option<ToolCall> {
        match self {
            Event::CallCompleted(call) => Some(call),
            _ => None,
        }
    }
}

/// A piece of argument text. `Debug` does not show it: it is the user's data.
///
/// # Examples
///
/// ```
/// use callstitch::{Event, ToolCallParser, WireFormat};
///
/// let mut parser = ToolCallParser::new(WireFormat::OpenAiChat);
/// # let chunk = br#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"log_in","arguments":"{\"pin\":1"}}]}}]}
/// #
/// # "#;
/// for event in parser.push(chunk) {
///     if let Event::ArgumentsDelta { text, .. } = event? {
///         assert_eq!(text.as_str(), "{\"pin\":1");
///         assert_eq!(format!("{text:?}"), "<8 bytes>");
///     }
/// }
/// # Ok::<(), callstitch::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ArgumentsText<'a>(pub(crate) Cow<'a, str>);

impl ArgumentsText<'_> {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::ops::Deref for ArgumentsText<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ArgumentsText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{} bytes>", self.0.len())
    }
}

/// Why the model stopped.
///
/// # Examples
///
/// ```
/// use callstitch::{Event, FinishMeaning, ToolCallParser, WireFormat};
///
/// let mut parser = ToolCallParser::new(WireFormat::Anthropic);
/// let body = b"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\"}}\n\n";
/// let reason = parser.push(body).find_map(|event| match event.ok()? {
///     Event::Finished { reason, .. } => Some(reason),
///     _ => None,
/// });
/// let reason = reason.unwrap();
/// assert_eq!((reason.meaning, reason.to_string().as_str()), (FinishMeaning::Length, "max_tokens"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FinishReason {
    /// What it means.
    pub meaning: FinishMeaning,
    /// The provider's text.
    pub text: String,
    /// The upstream provider's text, where a gateway passes it on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<String>,
}

impl fmt::Display for FinishReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// How a stream ended.
///
/// # Examples
///
/// ```
/// use callstitch::{End, ToolCallParser, WireFormat};
///
/// let mut parser = ToolCallParser::new(WireFormat::OpenAiChat);
/// drop(parser.push(b"data: [DONE]\n\n"));
/// assert_eq!(parser.end(), None); // bytes may follow
/// drop(parser.finish());
/// assert_eq!(parser.end(), Some(End::Clean));
/// assert_eq!(End::Clean.as_str(), "clean");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// A terminal signal was seen.
    Clean,
    /// The body ended without one, its transport failed, or a token limit cut the answer.
    Truncated,
    /// The provider reported an error, something could not be decoded, or a limit was passed.
    Error,
}

impl End {
    /// `clean`, `truncated` or `error`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            End::Clean => "clean",
            End::Truncated => "truncated",
            End::Error => "error",
        }
    }
}

/// A liberty the stream took, and where.
///
/// # Examples
///
/// ```
/// use callstitch::{AnomalyKind, Event, ToolCallParser, WireFormat};
///
/// let mut parser = ToolCallParser::new(WireFormat::OpenAiChat);
/// # let chunk = br#"data: {"choices":[{"delta":{"tool_calls":[{"id":"call_1","function":{"name":"get_now","arguments":"{}"}}]}}]}
/// #
/// # "#;
/// let seen = parser.push(chunk).find_map(|event| match event.ok()? {
///     Event::Anomaly(anomaly) => Some(anomaly),
///     _ => None,
/// });
/// assert_eq!(seen.unwrap().kind, AnomalyKind::MissingIndex);
/// assert_eq!(parser.anomalies(), [(AnomalyKind::MissingIndex, 1)]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Anomaly {
    /// What it was.
    pub kind: AnomalyKind,
    /// The call it concerns, where it concerns one.
    pub call: Option<CallIndex>,
    /// Byte offset in the body of the event in which it was first seen.
    pub offset: u64,
}
