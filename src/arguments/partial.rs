//! The live view of arguments that are still arriving.

use super::{Arguments, FieldEvent, PathSegment, Settling};
use crate::json::{self, Given, PartialReader, Progress};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::fmt;

/// How far the text has been read.
///
/// # Examples
///
/// ```
/// use callstitch::{ArgumentsBuffer, PartialState};
///
/// let mut buffer = ArgumentsBuffer::new();
/// buffer.push("{\"a\":1");
/// assert_eq!(buffer.view().state(), PartialState::Reading);
/// buffer.push(",]");
/// assert_eq!(buffer.view().state(), PartialState::Stopped { at: 7 });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PartialState {
    /// More may come.
    Reading,
    /// The object is closed.
    Closed,
    /// The text is malformed at this byte; what it stated before stays in view, and nothing more will come.
    Stopped {
        /// Byte offset in the text.
        at: usize,
    },
}

/// What arguments that are still arriving state so far, borrowed. For display: nothing here may be run.
///
/// A string shows the prefix that has arrived; a number, literal, key or escape shows once it is settled. Each view
/// extends the one before, except where a key comes twice.
///
/// # Examples
///
/// ```
/// use callstitch::{ArgumentsBuffer, PartialState};
///
/// let mut buffer = ArgumentsBuffer::new();
/// buffer.push(r#"{"path":"/tmp/x","lines":[10,2"#);
/// let view = buffer.view();
/// assert_eq!(view.get(["path"]).unwrap(), "/tmp/x");
/// assert!(view.is_complete(["path"]) && !view.is_complete(["lines"]));
/// assert_eq!(serde_json::to_string(view.object()).unwrap(), r#"{"path":"/tmp/x","lines":[10]}"#);
/// assert_eq!(view.open_path(), ["lines".into()]);
/// assert_eq!((view.state(), view.held_back()), (PartialState::Reading, "2"));
/// assert_eq!(view.snapshot(), *view.value()); // a copy
/// assert!(view.raw().ends_with("[10,2"));
/// ```
#[derive(Clone, Copy)]
pub struct PartialArguments<'a> {
    raw: &'a str,
    reader: Option<&'a PartialReader>,
}

impl<'a> PartialArguments<'a> {
    /// A view of what `reader` has read of `raw`.
    pub(crate) fn new(raw: &'a str, reader: &'a PartialReader) -> Self {
        PartialArguments {
            raw,
            reader: Some(reader),
        }
    }

    /// A view of text that is not JSON, or of which nothing was read: there is only the text.
    pub(crate) fn of_text(raw: &'a str) -> Self {
        PartialArguments { raw, reader: None }
    }

    /// The text so far.
    #[must_use]
    pub fn raw(&self) -> &'a str {
        self.raw
    }

    /// What the text states so far; `{}` when nothing. Free: borrowed, never copied.
    #[must_use]
    pub fn object(&self) -> &'a Map<String, Value> {
        self.reader
            .map_or_else(|| json::empty(), PartialReader::object)
    }

    /// The same as [`object`](Self::object), by the name the running text uses.
    #[must_use]
    pub fn value(&self) -> &'a Map<String, Value> {
        self.object()
    }

    /// The field at a path: `view.get(["port"])`, or [`PathSegment`]s where an index is among them. O(path).
    #[must_use]
    pub fn get<'p, S: Into<PathSegment<'p>>>(
        &self,
        path: impl IntoIterator<Item = S>,
    ) -> Option<&'a Value> {
        let path: Vec<_> = path.into_iter().map(Into::into).collect();
        json::find(self.reader?.value(), &path)
    }

    /// Whether there is a field at this path to which nothing more can be added. O(path).
    #[must_use]
    pub fn is_complete<'p, S: Into<PathSegment<'p>>>(
        &self,
        path: impl IntoIterator<Item = S>,
    ) -> bool {
        let path: Vec<_> = path.into_iter().map(Into::into).collect();
        self.reader.is_some_and(|reader| reader.is_complete(&path))
    }

    /// The path that is being written, outermost first. O(depth), and copies its keys.
    #[must_use]
    pub fn open_path(&self) -> Vec<PathSegment<'static>> {
        self.reader.map_or_else(Vec::new, PartialReader::open_path)
    }

    /// The end of the text that the object does not show yet: a number, literal, key or escape that the edge cuts, with
    /// its key, or all from a fault on. For showing beside the object, dimmed. O(1) but for white space.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::ArgumentsBuffer;
    ///
    /// let mut buffer = ArgumentsBuffer::new();
    /// buffer.push(r#"{"port":"Oban","depth":12"#);
    /// assert_eq!(buffer.view().held_back(), r#""depth":12"#);
    /// buffer.push(",");
    /// let view = buffer.view();
    /// assert_eq!((view.held_back(), view.object().len()), ("", 2));
    /// ```
    #[must_use]
    pub fn held_back(&self) -> &'a str {
        self.reader.map_or("", |reader| reader.held_back(self.raw))
    }

    /// How far the text has been read.
    #[must_use]
    pub fn state(&self) -> PartialState {
        match self
            .reader
            .map_or(Progress::Reading, PartialReader::progress)
        {
            Progress::Reading => PartialState::Reading,
            Progress::Closed => PartialState::Closed,
            Progress::Stopped { at, .. } => PartialState::Stopped { at },
        }
    }

    /// A copy of the object. The only copy there is, and O(n): one a delta is quadratic.
    #[must_use]
    pub fn snapshot(&self) -> Map<String, Value> {
        self.object().clone()
    }

    /// What has arrived, as a type of yours. For display. Fields that have not arrived are missing, so each needs a default;
    /// strings may be prefixes. Cost: O(n), less where `T` borrows its strings: for a look now and then, not for every delta.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ToolCallParser, WireFormat};
    ///
    /// #[derive(serde::Deserialize, Default)]
    /// #[serde(default)]
    /// struct WriteFile {
    ///     path: Option<String>,
    ///     content: String,
    /// }
    ///
    /// let mut parser = ToolCallParser::new(WireFormat::OpenAiChat);
    /// # let chunk = br#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"write_file","arguments":"{\"content\":\"Low ti"}}]}}]}
    /// #
    /// # "#;
    /// parser.push(chunk).for_each(drop);
    /// for call in parser.in_progress() {
    ///     let shown: WriteFile = call.arguments().deserialize_partial().unwrap_or_default();
    ///     assert_eq!((shown.path, shown.content.as_str()), (None, "Low ti"));
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Where it does not fit the type (yet).
    pub fn deserialize_partial<T: Deserialize<'a>>(&self) -> Result<T, super::ArgumentsError> {
        T::deserialize(Given(self.object())).map_err(super::ArgumentsError::mismatch)
    }
}

impl fmt::Debug for PartialArguments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartialArguments")
            .field("state", &self.state())
            .field("bytes", &self.raw.len())
            .field("members", &self.object().len())
            .finish()
    }
}

/// One argument text as it arrives, for those who hold the fragments themselves.
///
/// [`push`](Self::push) only copies the fragment; [`view`](Self::view) reads what was not read before, so that nobody
/// looking costs nothing and a look costs what is new.
///
/// # Examples
///
/// ```
/// use callstitch::{ArgumentsBuffer, ArgumentsState, Settling};
///
/// let mut buffer = ArgumentsBuffer::new();
/// for delta in ["{\"text\":\"He", "llo\"", "}"] {
///     buffer.push(delta);
///     println!("{:?}", buffer.view().get(["text"]));
/// }
/// assert_eq!(buffer.finish(&Settling::default()).state(), ArgumentsState::Whole);
/// let mut shallow = ArgumentsBuffer::with_max_depth(1);
/// shallow.push("{\"a\":1,\"deep\":{");
/// assert_eq!((shallow.view().object().len(), shallow.raw().len()), (1, 15));
/// ```
#[derive(Clone)]
pub struct ArgumentsBuffer {
    raw: String,
    reader: PartialReader,
}

impl ArgumentsBuffer {
    /// An empty text.
    #[must_use]
    pub fn new() -> Self {
        Self::with_max_depth(json::MAX_DEPTH)
    }

    /// An empty text whose view stops at more than this many containers one inside the other; at most 127.
    #[must_use]
    pub fn with_max_depth(max_depth: usize) -> Self {
        ArgumentsBuffer {
            raw: String::new(),
            reader: PartialReader::new(max_depth),
        }
    }

    /// Appends a fragment, byte for byte. Never errors; the cost is that of the copy.
    #[inline]
    pub fn push(&mut self, fragment: &str) {
        self.raw.push_str(fragment);
    }

    /// The text so far.
    #[must_use]
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// What it states so far. Costs what was not read before, plus the depth of nesting.
    #[inline]
    pub fn view(&mut self) -> PartialArguments<'_> {
        self.reader.advance(&self.raw);
        PartialArguments {
            raw: &self.raw,
            reader: Some(&self.reader),
        }
    }

    /// Reads on, and reports what happened to each field since the last look. Fields read by [`view`](Self::view) are
    /// not reported again. Never errors. Costs what [`view`](Self::view) does, and the events.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ArgumentsBuffer, FieldEvent};
    ///
    /// let mut buffer = ArgumentsBuffer::new();
    /// let mut text = String::new();
    /// for fragment in ["{\"text\":\"Lo", "w tide\"}"] {
    ///     buffer.push(fragment);
    ///     buffer.drain_events(|event| if let FieldEvent::Text { fragment, .. } = event { text.push_str(&fragment) });
    /// }
    /// assert_eq!(text, "Low tide");
    /// ```
    pub fn drain_events(&mut self, mut sink: impl FnMut(FieldEvent<'_>)) {
        self.reader.advance_with(&self.raw, &mut sink);
    }

    /// Says that no more will come, and settles the text. Never errors; O(n), without a copy of the text.
    #[must_use]
    pub fn finish(self, settling: &Settling) -> Arguments {
        Arguments::settle(self.raw, settling)
    }

    /// Bytes read so far, those read twice counted twice: what the view cost, for tests that it is linear.
    #[doc(hidden)]
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.reader.steps()
    }
}

impl Default for ArgumentsBuffer {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ArgumentsBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArgumentsBuffer")
            .field("bytes", &self.raw.len())
            .finish()
    }
}
