//! What happens to the fields of a text as it is read.

use serde_json::Value;
use std::borrow::Cow;

/// One step of a path into a JSON value: a member's key, or an element's index.
///
/// # Examples
///
/// ```
/// use callstitch::PathSegment;
///
/// assert_eq!(PathSegment::from("files"), PathSegment::Key("files".into()));
/// assert_eq!(PathSegment::from(0), PathSegment::Index(0));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PathSegment<'a> {
    /// A member of an object.
    Key(Cow<'a, str>),
    /// An element of an array, from 0.
    Index(usize),
}

impl<'a> From<&'a str> for PathSegment<'a> {
    fn from(key: &'a str) -> Self {
        PathSegment::Key(Cow::Borrowed(key))
    }
}

impl From<String> for PathSegment<'_> {
    fn from(key: String) -> Self {
        PathSegment::Key(Cow::Owned(key))
    }
}

impl From<usize> for PathSegment<'_> {
    fn from(index: usize) -> Self {
        PathSegment::Index(index)
    }
}

impl<'a> From<&'a PathSegment<'_>> for PathSegment<'a> {
    fn from(segment: &'a PathSegment<'_>) -> Self {
        match segment {
            PathSegment::Key(key) => PathSegment::Key(Cow::Borrowed(key)),
            PathSegment::Index(index) => PathSegment::Index(*index),
        }
    }
}

/// What kind of field was opened; numbers and literals are not opened, they are complete at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FieldKind {
    /// `{`.
    Object,
    /// `[`.
    Array,
    /// `"`.
    String,
}

/// One thing that happened to one field. An empty path is the whole argument object.
///
/// The same text gives the same events wherever it was cut, adjacent [`Text`](FieldEvent::Text) events joined.
///
/// # Examples
///
/// ```
/// use callstitch::{ArgumentsBuffer, FieldEvent};
///
/// let mut buffer = ArgumentsBuffer::new();
/// let mut shown = String::new();
/// for delta in [r#"{"text":"Hel"#, r#"lo"}"#] {
///     buffer.push(delta);
///     buffer.drain_events(|event| if let FieldEvent::Text { fragment, .. } = event { shown.push_str(fragment) });
/// }
/// assert_eq!(shown, "Hello");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum FieldEvent<'a> {
    /// A string, array or object began.
    Opened {
        /// Where.
        path: &'a [PathSegment<'a>],
        /// What.
        kind: FieldKind,
    },
    /// Decoded text was added to the string that is open.
    Text {
        /// Where.
        path: &'a [PathSegment<'a>],
        /// Only what was added.
        fragment: &'a str,
    },
    /// A field ended: a string at its quote, a container at its closer, a number at what follows it.
    Completed {
        /// Where.
        path: &'a [PathSegment<'a>],
        /// The whole field.
        value: &'a Value,
    },
    /// A key came a second time and its former value is gone. What takes its place follows.
    Replaced {
        /// Where.
        path: &'a [PathSegment<'a>],
    },
    /// The text is malformed at this byte; nothing more will be read.
    Stopped {
        /// Byte offset in the text.
        at: usize,
    },
}

/// Where the reader reports. With [`Silent`] all of it compiles to nothing.
pub(super) trait Observer {
    const ACTIVE: bool;
    fn enter(&mut self, segment: PathSegment<'static>);
    fn leave(&mut self);
    fn opened(&mut self, kind: FieldKind);
    fn text(&mut self, fragment: &str);
    fn completed(&mut self, value: &Value);
    fn replaced(&mut self);
    fn stopped(&mut self, at: usize);
}

/// Nobody listens.
pub(super) struct Silent;

impl Observer for Silent {
    const ACTIVE: bool = false;
    fn enter(&mut self, _: PathSegment<'static>) {}
    fn leave(&mut self) {}
    fn opened(&mut self, _: FieldKind) {}
    fn text(&mut self, _: &str) {}
    fn completed(&mut self, _: &Value) {}
    fn replaced(&mut self) {}
    fn stopped(&mut self, _: usize) {}
}

/// Reports each event with the path at which it happened.
pub(super) struct Reporter<'f> {
    pub(super) path: Vec<PathSegment<'static>>,
    pub(super) sink: &'f mut dyn FnMut(FieldEvent<'_>),
}

impl Observer for Reporter<'_> {
    const ACTIVE: bool = true;
    fn enter(&mut self, segment: PathSegment<'static>) {
        self.path.push(segment);
    }
    fn leave(&mut self) {
        self.path.pop();
    }
    fn opened(&mut self, kind: FieldKind) {
        (self.sink)(FieldEvent::Opened {
            path: &self.path,
            kind,
        });
    }
    fn text(&mut self, fragment: &str) {
        (self.sink)(FieldEvent::Text {
            path: &self.path,
            fragment,
        });
    }
    fn completed(&mut self, value: &Value) {
        (self.sink)(FieldEvent::Completed {
            path: &self.path,
            value,
        });
    }
    fn replaced(&mut self) {
        (self.sink)(FieldEvent::Replaced { path: &self.path });
    }
    fn stopped(&mut self, at: usize) {
        (self.sink)(FieldEvent::Stopped { at });
    }
}
