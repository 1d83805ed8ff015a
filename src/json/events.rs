//! What happens to the fields of a text as it is read.

use serde_json::Value;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// One step of a path into a JSON value: a member's key, or an element's index.
///
/// # Examples
///
/// ```
/// use callstitch::PathSegment;
///
/// assert_eq!(PathSegment::from("files"), PathSegment::Key("files".into()));
/// assert_eq!(PathSegment::from(0), PathSegment::Index(0));
/// let kept: PathSegment<'static> = PathSegment::from(String::from("files").as_str()).into_owned();
/// assert_eq!(kept, PathSegment::from("files"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PathSegment<'a> {
    /// A member of an object.
    Key(Cow<'a, str>),
    /// An element of an array, from 0.
    Index(usize),
}

impl PathSegment<'_> {
    /// The same step with its key owned. Cost: a copy of a borrowed key.
    #[must_use]
    pub fn into_owned(self) -> PathSegment<'static> {
        match self {
            PathSegment::Key(key) => PathSegment::Key(Cow::Owned(key.into_owned())),
            PathSegment::Index(index) => PathSegment::Index(index),
        }
    }
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
///
/// # Examples
///
/// ```
/// use callstitch::{ArgumentsBuffer, FieldEvent, FieldKind};
///
/// let mut buffer = ArgumentsBuffer::new();
/// buffer.push("{\"files\":[");
/// let mut opened = Vec::new();
/// buffer.drain_events(|event| if let FieldEvent::Opened { kind, .. } = event { opened.push(kind) });
/// assert_eq!(opened, [FieldKind::Object, FieldKind::Array]);
/// ```
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

/// Where a field stands, from the whole argument object (the empty path) inwards.
///
/// Cloning is free: paths share their steps, so that an event costs the same however long the keys above it are.
///
/// # Examples
///
/// ```
/// use callstitch::{ArgumentsBuffer, FieldEvent};
///
/// let mut buffer = ArgumentsBuffer::new();
/// buffer.push(r#"{"files":[{"name":"tide.txt"}]}"#);
/// let mut seen = Vec::new();
/// buffer.drain_events(|event| if let FieldEvent::Opened { path, .. } = event { seen.push(path) });
/// assert_eq!(seen[3].to_string(), "$.files[0].name");
/// assert!(seen[1].is(["files"]) && seen[0].is_root() && seen[3].depth() == 3);
/// assert_eq!((seen[3].last(), seen[3].iter().count()), (Some(&"name".into()), 3));
/// ```
#[derive(Clone, Default)]
pub struct FieldPath(Option<Arc<Step>>);

/// The last step, and the path to it. At most [`MAX_DEPTH`](super::MAX_DEPTH) of them hang together, which bounds the drop.
struct Step {
    above: FieldPath,
    segment: PathSegment<'static>,
    depth: usize,
}

impl FieldPath {
    /// Whether this is the path of the whole argument object.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_none()
    }

    /// How many steps it has.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.0.as_ref().map_or(0, |step| step.depth)
    }

    /// The innermost step; none at the root.
    #[must_use]
    pub fn last(&self) -> Option<&PathSegment<'static>> {
        self.0.as_ref().map(|step| &step.segment)
    }

    /// The steps, outermost first. O(depth).
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &PathSegment<'static>> {
        let mut steps: Vec<_> = self.inwards_out().collect();
        steps.reverse();
        steps.into_iter()
    }

    /// Whether it has exactly these steps: `path.is(["content"])`, or [`PathSegment`]s where an index is among them. O(depth).
    #[must_use]
    pub fn is<'p, S: Into<PathSegment<'p>>>(&self, path: impl IntoIterator<Item = S>) -> bool {
        let path: Vec<_> = path.into_iter().map(Into::into).collect();
        self.below(&path) == Some(0)
    }

    /// How many steps it lies below `outer`; `None` where it lies elsewhere.
    pub(crate) fn below(&self, outer: &[PathSegment<'_>]) -> Option<usize> {
        let below = self.depth().checked_sub(outer.len())?;
        self.inwards_out()
            .skip(below)
            .zip(outer.iter().rev())
            .all(|(one, other)| one == other)
            .then_some(below)
    }

    /// Whether it leads to `inner` or to what holds it.
    pub(crate) fn leads_to(&self, inner: &[PathSegment<'_>]) -> bool {
        inner
            .get(..self.depth())
            .is_some_and(|outer| self.below(outer) == Some(0))
    }

    fn inwards_out(&self) -> impl Iterator<Item = &PathSegment<'static>> {
        std::iter::successors(self.0.as_deref(), |step| step.above.0.as_deref())
            .map(|step| &step.segment)
    }

    pub(super) fn enter(&mut self, segment: PathSegment<'static>) {
        let above = std::mem::take(self);
        let depth = above.depth() + 1;
        self.0 = Some(Arc::new(Step {
            above,
            segment,
            depth,
        }));
    }

    fn leave(&mut self) {
        *self = self
            .0
            .take()
            .map_or_else(FieldPath::default, |step| step.above.clone());
    }
}

impl FromIterator<PathSegment<'static>> for FieldPath {
    fn from_iter<I: IntoIterator<Item = PathSegment<'static>>>(segments: I) -> Self {
        let mut path = FieldPath::default();
        segments.into_iter().for_each(|segment| path.enter(segment));
        path
    }
}

impl PartialEq for FieldPath {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(one), Some(two)) => {
                Arc::ptr_eq(one, two)
                    || (one.depth == two.depth && self.inwards_out().eq(other.inwards_out()))
            }
            _ => false,
        }
    }
}

impl Eq for FieldPath {}

/// As in JSONPath: `$.files[0].name`.
impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        self.iter().try_for_each(|segment| match segment {
            PathSegment::Key(key) => write!(f, ".{key}"),
            PathSegment::Index(index) => write!(f, "[{index}]"),
        })
    }
}

/// Keys are argument text: only the depth is shown.
impl fmt::Debug for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{} steps>", self.depth())
    }
}

/// The value of a field that ended.
///
/// Strings, numbers and literals are always here. So is a container that [`ArgumentsBuffer`](crate::ArgumentsBuffer)
/// reports; in an [`Event`](crate::Event) it is not, since its members were told one by one and a copy at each of its levels
/// would cost a multiple of the text. [`FieldFilter`](crate::FieldFilter) puts the members together again.
///
/// # Examples
///
/// ```
/// use callstitch::{ArgumentsBuffer, FieldEvent, FieldKind, FieldValue};
///
/// let mut buffer = ArgumentsBuffer::new();
/// buffer.push(r#"{"port":"Oban","#);
/// let mut kept: Option<FieldValue<'static>> = None;
/// buffer.drain_events(|event| if let FieldEvent::Completed { value, .. } = event { kept = Some(value.into_owned()) });
/// let value = kept.unwrap();
/// assert_eq!((value.kind(), value.get().unwrap()), (Some(FieldKind::String), &"Oban".into()));
/// assert!(value.borrowed() == value);
/// ```
#[derive(Clone)]
pub struct FieldValue<'a>(Held<'a>);

#[derive(Clone)]
enum Held<'a> {
    Lent(&'a Value),
    Owned(Box<Value>),
    Told(FieldKind),
}

impl<'a> FieldValue<'a> {
    pub(crate) fn lent(value: &'a Value) -> Self {
        FieldValue(Held::Lent(value))
    }

    pub(crate) fn owned(value: Value) -> FieldValue<'static> {
        FieldValue(Held::Owned(Box::new(value)))
    }

    /// A copy, without what a container holds.
    pub(crate) fn told(value: &Value) -> FieldValue<'static> {
        match value {
            Value::Object(_) => FieldValue(Held::Told(FieldKind::Object)),
            Value::Array(_) => FieldValue(Held::Told(FieldKind::Array)),
            value => FieldValue::owned(value.clone()),
        }
    }

    /// The value; `None` for a container whose members were told one by one.
    #[must_use]
    pub fn get(&self) -> Option<&Value> {
        match &self.0 {
            Held::Lent(value) => Some(value),
            Held::Owned(value) => Some(value),
            Held::Told(_) => None,
        }
    }

    /// Which container or string it is; `None` for numbers and literals.
    #[must_use]
    pub fn kind(&self) -> Option<FieldKind> {
        match (&self.0, self.get()) {
            (Held::Told(kind), _) => Some(*kind),
            (_, Some(Value::Object(_))) => Some(FieldKind::Object),
            (_, Some(Value::Array(_))) => Some(FieldKind::Array),
            (_, Some(Value::String(_))) => Some(FieldKind::String),
            _ => None,
        }
    }

    /// The same value, lent. Free.
    #[must_use]
    pub fn borrowed(&self) -> FieldValue<'_> {
        FieldValue(match &self.0 {
            Held::Lent(value) => Held::Lent(value),
            Held::Owned(value) => Held::Lent(value),
            Held::Told(kind) => Held::Told(*kind),
        })
    }

    /// The same value, owned. Cost: a copy of a borrowed one.
    #[must_use]
    pub fn into_owned(self) -> FieldValue<'static> {
        match self.0 {
            Held::Lent(value) => FieldValue::owned(value.clone()),
            Held::Owned(value) => FieldValue(Held::Owned(value)),
            Held::Told(kind) => FieldValue(Held::Told(kind)),
        }
    }
}

impl PartialEq for FieldValue<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.kind() == other.kind() && self.get() == other.get()
    }
}

impl fmt::Debug for FieldValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            Some(kind) => write!(f, "<{kind:?}>"),
            None => f.write_str("<Scalar>"),
        }
    }
}

/// One thing that happened to one field. An empty path is the whole argument object.
///
/// The same text gives the same events wherever it was cut, adjacent [`Text`](FieldEvent::Text) events joined. `Debug` shows
/// neither keys nor values.
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
///     buffer.drain_events(|event| if let FieldEvent::Text { fragment, .. } = event { shown.push_str(&fragment) });
/// }
/// assert_eq!(shown, "Hello");
/// ```
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum FieldEvent<'a> {
    /// A string, array or object began.
    Opened {
        /// Where.
        path: FieldPath,
        /// What.
        kind: FieldKind,
    },
    /// Decoded text was added to the string that is open.
    Text {
        /// Where.
        path: FieldPath,
        /// Only what was added.
        fragment: Cow<'a, str>,
    },
    /// A field ended: a string at its quote, a container at its closer, a number at what follows it.
    Completed {
        /// Where.
        path: FieldPath,
        /// The field.
        value: FieldValue<'a>,
    },
    /// What was told of this field and of all inside it is gone: its key came a second time. What takes its place follows.
    Replaced {
        /// Where.
        path: FieldPath,
    },
    /// The text is malformed at this byte: no more of it is read as it arrives.
    Stopped {
        /// Byte offset in the text.
        at: usize,
    },
}

impl FieldEvent<'_> {
    /// Where it happened; `None` for [`Stopped`](FieldEvent::Stopped).
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ArgumentsBuffer, FieldEvent};
    ///
    /// let mut buffer = ArgumentsBuffer::new();
    /// buffer.push("{\"n\":1,]");
    /// let mut paths = Vec::new();
    /// buffer.drain_events(|event| paths.push(event.path().map(|path| path.to_string())));
    /// assert_eq!(paths, [Some("$".into()), Some("$.n".into()), None]); // the last is where it stopped
    /// ```
    #[must_use]
    pub fn path(&self) -> Option<&FieldPath> {
        match self {
            FieldEvent::Opened { path, .. }
            | FieldEvent::Text { path, .. }
            | FieldEvent::Completed { path, .. }
            | FieldEvent::Replaced { path } => Some(path),
            FieldEvent::Stopped { .. } => None,
        }
    }

    /// The same event, owned. Cost: a copy of what is borrowed.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ArgumentsBuffer, FieldEvent};
    ///
    /// let mut buffer = ArgumentsBuffer::new();
    /// buffer.push("{\"n\":1,");
    /// let mut kept: Vec<FieldEvent<'static>> = Vec::new();
    /// buffer.drain_events(|event| kept.push(event.into_owned()));
    /// assert_eq!(kept.len(), 2);
    /// ```
    #[must_use]
    pub fn into_owned(self) -> FieldEvent<'static> {
        match self {
            FieldEvent::Opened { path, kind } => FieldEvent::Opened { path, kind },
            FieldEvent::Text { path, fragment } => FieldEvent::Text {
                path,
                fragment: Cow::Owned(fragment.into_owned()),
            },
            FieldEvent::Completed { path, value } => FieldEvent::Completed {
                path,
                value: value.into_owned(),
            },
            FieldEvent::Replaced { path } => FieldEvent::Replaced { path },
            FieldEvent::Stopped { at } => FieldEvent::Stopped { at },
        }
    }
}

impl fmt::Debug for FieldEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FieldEvent::Opened { path, kind } => write!(f, "Opened({path:?}, {kind:?})"),
            FieldEvent::Text { path, fragment } => {
                write!(f, "Text({path:?}, <{} bytes>)", fragment.len())
            }
            FieldEvent::Completed { path, value } => write!(f, "Completed({path:?}, {value:?})"),
            FieldEvent::Replaced { path } => write!(f, "Replaced({path:?})"),
            FieldEvent::Stopped { at } => write!(f, "Stopped({at})"),
        }
    }
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
    pub(super) path: FieldPath,
    pub(super) sink: &'f mut dyn FnMut(FieldEvent<'_>),
}

impl Observer for Reporter<'_> {
    const ACTIVE: bool = true;
    fn enter(&mut self, segment: PathSegment<'static>) {
        self.path.enter(segment);
    }
    fn leave(&mut self) {
        self.path.leave();
    }
    fn opened(&mut self, kind: FieldKind) {
        let path = self.path.clone();
        (self.sink)(FieldEvent::Opened { path, kind });
    }
    fn text(&mut self, fragment: &str) {
        (self.sink)(FieldEvent::Text {
            path: self.path.clone(),
            fragment: Cow::Borrowed(fragment),
        });
    }
    fn completed(&mut self, value: &Value) {
        (self.sink)(FieldEvent::Completed {
            path: self.path.clone(),
            value: FieldValue::lent(value),
        });
    }
    fn replaced(&mut self) {
        let path = self.path.clone();
        (self.sink)(FieldEvent::Replaced { path });
    }
    fn stopped(&mut self, at: usize) {
        (self.sink)(FieldEvent::Stopped { at });
    }
}
