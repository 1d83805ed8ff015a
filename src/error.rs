//! What can go wrong, where, and what was kept.
//!
//! One word-sized [`Error`]: a kind to match on, the byte offset in the body, one line of text. A bad item in a stream is
//! an [`Anomaly`](crate::Anomaly), reported and survived; an `Error` is the last thing a stream says.

use std::fmt;

type Source = Box<dyn std::error::Error + Send + Sync + 'static>;

/// Why a stream ended in an error. Always the last item; what had arrived whole was delivered before it.
///
/// # Examples
///
/// ```
/// use callstitch::{ErrorKind, ToolCallParser, WireFormat};
///
/// let mut parser = ToolCallParser::new(WireFormat::OpenAiChat);
/// parser.push(b"data: {\"choices\":[]}\n\n").for_each(drop);
/// let error = parser.finish().find_map(Result::err).unwrap();
/// assert_eq!(error.kind(), ErrorKind::Truncated);
/// assert_eq!(error.offset(), 22);
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    offset: u64,
    message: String,
    code: Option<String>,
    source: Option<Source>,
}

/// What kind of fault ended the stream, sorted by who is to blame.
///
/// # Examples
///
/// ```
/// use callstitch::{ErrorKind, ToolCallParser, WireFormat};
///
/// let mut parser = ToolCallParser::new(WireFormat::Auto);
/// parser.push(b"<html>502 Bad Gateway</html>").for_each(drop);
/// let error = parser.finish().find_map(Result::err).unwrap();
/// assert_eq!(error.kind(), ErrorKind::UnknownFormat);
/// assert_eq!(error.kind().as_str(), "unknown-format");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The body ended without any terminal signal. Cause: a dropped connection or a gateway that gave up. Remedy: ask again.
    Truncated,
    /// The caller said [`abort`](crate::ToolCallParser::abort), or the transport's own error came; see `source()`.
    Transport,
    /// The provider reported an error inside the stream. [`Error::code`] holds its code where it sent one.
    Provider,
    /// At least one event could not be decoded, so text is missing from the stream; or the body is of another wire format than
    /// the one that was named, and said nothing in that.
    Undecodable,
    /// A binary frame failed its checks; frame boundaries cannot be trusted after it.
    Framing,
    /// A [limit](crate::Config) was passed.
    Limit,
    /// The body is of no known wire format.
    UnknownFormat,
    /// What a stream of one field handed out does not stand: the call was cut or is malformed, the field was said again, or
    /// it is of another type. Only `FieldText` and `FieldItems` say so; the body itself may be in order.
    Field,
}

impl ErrorKind {
    /// The kind as one word, as in the command line's messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::Truncated => "truncated",
            ErrorKind::Transport => "transport",
            ErrorKind::Provider => "provider",
            ErrorKind::Undecodable => "undecodable",
            ErrorKind::Framing => "framing",
            ErrorKind::Limit => "limit",
            ErrorKind::UnknownFormat => "unknown-format",
            ErrorKind::Field => "field",
        }
    }
}

impl Error {
    /// An error of this kind at this byte offset of the body.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Error, ErrorKind};
    ///
    /// let error = Error::new(ErrorKind::Transport, 120, "the client gave up");
    /// assert_eq!(error.to_string(), "transport at byte 120: the client gave up");
    /// ```
    #[must_use]
    pub fn new(kind: ErrorKind, offset: u64, message: impl Into<String>) -> Self {
        Error(Box::new(Inner {
            kind,
            offset,
            message: message.into(),
            code: None,
            source: None,
        }))
    }

    /// The same error with the provider's own code.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Error, ErrorKind};
    ///
    /// let error = Error::new(ErrorKind::Provider, 0, "busy").with_code(Some("overloaded".to_owned()));
    /// assert_eq!(error.code(), Some("overloaded"));
    /// ```
    #[must_use]
    pub fn with_code(mut self, code: Option<String>) -> Self {
        self.0.code = code;
        self
    }

    /// The same error with what caused it.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Error, ErrorKind};
    /// use std::error::Error as _;
    ///
    /// let reset = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
    /// let error = Error::new(ErrorKind::Transport, 120, "the transport failed").with_source(reset);
    /// assert!(error.source().unwrap().is::<std::io::Error>());
    /// assert!(!error.to_string().contains("reset")); // a source speaks for itself
    /// ```
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Source>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// The kind, to match on.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The byte offset in the body at which the fault was seen.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.0.offset
    }

    /// The text without kind and offset: the provider's own message where it sent one.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ToolCallParser, WireFormat};
    ///
    /// let mut parser = ToolCallParser::new(WireFormat::OpenAiChat);
    /// let body = b"data: {\"error\":{\"message\":\"too many requests\",\"code\":\"rate_limit_exceeded\"}}\n\n";
    /// drop(parser.push(body));
    /// let error = parser.finish().find_map(Result::err).unwrap();
    /// assert_eq!((error.message(), error.code(), error.offset()), ("too many requests", Some("rate_limit_exceeded"), 0));
    /// ```
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The provider's own error code or type, where it sent one.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Error, ErrorKind};
    ///
    /// let error = Error::new(ErrorKind::Provider, 0, "Overloaded").with_code(Some("overloaded_error".to_owned()));
    /// assert_eq!(error.code(), Some("overloaded_error"));
    /// ```
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.0.code.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} at byte {}: {}",
            self.0.kind.as_str(),
            self.0.offset,
            one_line(&self.0.message)
        )
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("offset", &self.0.offset)
            .field("message", &self.0.message)
            .field("code", &self.0.code)
            .field("source", &self.0.source)
            .finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

/// A provider's message may hold anything; an error is one line of at most this many characters.
const MESSAGE_CHARS: usize = 400;

fn one_line(text: &str) -> String {
    text.chars()
        .take(MESSAGE_CHARS)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}
