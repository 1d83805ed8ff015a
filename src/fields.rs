//! One field of one tool's calls, followed through the events.
//!
//! This room knows what field events mean together. It does not know how they came about, nor `Poll`.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

use crate::arguments::{FieldEvent, FieldKind, FieldPath, FieldValue, PathSegment};
use crate::call::{CallIndex, ToolCall};
use crate::event::Event;

/// Which calls are meant: those of a tool by its name, one call by its index, or any.
///
/// # Examples
///
/// ```
/// use callstitch::CallSelector;
///
/// assert_eq!(CallSelector::from("write_file"), CallSelector::Tool("write_file".into()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum CallSelector {
    /// Every call.
    #[default]
    Any,
    /// The calls of this tool.
    Tool(Cow<'static, str>),
    /// The call of this index.
    Index(CallIndex),
}

impl CallSelector {
    fn selects(&self, index: CallIndex, name: &str) -> bool {
        match self {
            CallSelector::Any => true,
            CallSelector::Tool(tool) => tool == name,
            CallSelector::Index(of) => *of == index,
        }
    }
}

impl From<&'static str> for CallSelector {
    fn from(tool: &'static str) -> Self {
        CallSelector::Tool(Cow::Borrowed(tool))
    }
}

impl From<String> for CallSelector {
    fn from(tool: String) -> Self {
        CallSelector::Tool(Cow::Owned(tool))
    }
}

impl From<CallIndex> for CallSelector {
    fn from(index: CallIndex) -> Self {
        CallSelector::Index(index)
    }
}

/// Follows one field of the selected calls. It only looks at events, so that any number of filters can share one pass with
/// whoever wants the calls; the parser needs [`Config::field_events`](crate::Config::field_events).
///
/// It must see the events from the call's start on. Cost: O(depth) a field event, and the one element or object that is
/// being put together.
///
/// # Examples
///
/// A file is opened as soon as its path is known, and its content is written while the model still writes it. What stands
/// in it counts when the call has ended well; a model that says `content` before `path` makes the caller wait.
///
/// ```
/// use callstitch::{Config, FieldFilter, FieldPart, ToolCallParser, WireFormat};
/// use std::io::{Seek, Write};
///
/// # let body = br#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"write_file","arguments":"{\"path\":\"tide-table.txt\",\"content\":\"06:12 lo"}}]}}]}
/// #
/// # data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"w\\n12:40 high\\n\"}"}}]}}]}
/// #
/// # data: [DONE]
/// #
/// # "#;
/// # let directory = std::env::temp_dir().join(format!("callstitch-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&directory)?;
/// let mut parser = ToolCallParser::with_config(WireFormat::OpenAiChat, Config::default().field_events(true));
/// let mut path = FieldFilter::new("write_file", ["path"]);
/// let mut content = FieldFilter::new("write_file", ["content"]);
/// let (mut name, mut file) = (None, None);
/// let mut calls = Vec::new();
/// for chunk in body.chunks(48) {
///     for event in parser.push(chunk) {
///         let event = event?;
///         if let Some((_, FieldPart::Completed(value))) = path.take(&event) {
///             let wanted = value.get().and_then(|value| value.as_str()).unwrap_or("unnamed");
///             // A model's path is not to be trusted: only its last part is used.
///             let target = directory.join(std::path::Path::new(wanted).file_name().unwrap_or("unnamed".as_ref()));
///             file = Some(std::fs::File::create(target.with_extension("part"))?);
///             name = Some(target);
///         }
///         match (content.take(&event), &mut file) {
///             (Some((_, FieldPart::Text(text))), Some(file)) => file.write_all(text.as_bytes())?,
///             (Some((_, FieldPart::Ended(call))), Some(_)) if call.is_usable() => {
///                 if let Some(target) = name.take() {
///                     std::fs::rename(target.with_extension("part"), target)?;
///                 }
///             }
///             // A field that was said again: what stands in the file is void.
///             (Some((_, FieldPart::Replaced)), Some(file)) => {
///                 file.set_len(0)?;
///                 file.rewind()?;
///             }
///             _ => {}
///         }
///         calls.extend(event.into_call());
///     }
/// }
/// assert_eq!(std::fs::read_to_string(directory.join("tide-table.txt"))?, "06:12 low\n12:40 high\n");
/// assert_eq!(calls[0].arguments().object().unwrap()["path"], "tide-table.txt");
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct FieldFilter {
    calls: CallSelector,
    path: Vec<PathSegment<'static>>,
    followed: Vec<Followed>,
}

/// One call that is followed.
#[derive(Clone)]
struct Followed {
    index: CallIndex,
    /// Something of the field was handed out.
    given: bool,
    /// The containers of the field that are open and being put together, outermost first.
    building: Vec<Value>,
}

/// What an event says of the field that is followed.
///
/// # Examples
///
/// ```
/// use callstitch::{Config, FieldFilter, FieldPart, ToolCallParser, WireFormat};
///
/// let mut field = FieldFilter::new("write_note", ["text"]);
/// let mut parser = ToolCallParser::with_config(WireFormat::OpenAiChat, Config::default().field_events(true));
/// # let body = br#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"write_note","arguments":"{\"text\":\"Low tide\"}"}}]}}]}
/// #
/// # "#;
/// let mut text = String::new();
/// for event in parser.push(body) {
///     if let Some((_, FieldPart::Text(piece))) = field.take(&event?) {
///         text.push_str(piece);
///     }
/// }
/// assert_eq!(text, "Low tide");
/// # Ok::<(), callstitch::Error>(())
/// ```
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum FieldPart<'e> {
    /// A selected call began.
    Started,
    /// Decoded text was added to the field, a string. Joined, all pieces since the start or the last
    /// [`Replaced`](FieldPart::Replaced) are the string so far.
    Text(&'e str),
    /// An element of the field, an array, is complete: its index and its value.
    Element(usize, Value),
    /// The field is complete. An array's elements are not here; they were handed out one by one.
    Completed(FieldValue<'e>),
    /// What was handed out of the field does not stand: it was said again, or its text was repaired. What stands follows.
    Replaced,
    /// The call ended, perhaps without the field. Only if it [may be run](ToolCall::is_usable) does what was handed out count.
    Ended(&'e ToolCall),
    /// The call never counted: its message was begun again, or it mirrored another.
    Discarded,
}

impl FieldFilter {
    /// Follows the field at a path of the selected calls: `FieldFilter::new("write_file", ["content"])`, with
    /// [`PathSegment`]s where an index is among them. The empty path is the whole argument object. Cost: a copy of the path.
    #[must_use]
    pub fn new<'p, S: Into<PathSegment<'p>>>(
        calls: impl Into<CallSelector>,
        path: impl IntoIterator<Item = S>,
    ) -> Self {
        FieldFilter {
            calls: calls.into(),
            path: path
                .into_iter()
                .map(|segment| segment.into().into_owned())
                .collect(),
            followed: Vec::new(),
        }
    }

    /// What this event says of the field, and of which call. Never errors. Cost: O(path) and, for a field that is no string, a
    /// copy of its values.
    pub fn take<'e>(&mut self, event: &'e Event<'_>) -> Option<(CallIndex, FieldPart<'e>)> {
        match event {
            Event::CallStarted { index, name, .. } if self.calls.selects(*index, name) => {
                self.followed.push(Followed {
                    index: *index,
                    given: false,
                    building: Vec::new(),
                });
                Some((*index, FieldPart::Started))
            }
            Event::Field { index, event } => {
                let followed = self.followed.iter_mut().find(|call| call.index == *index)?;
                let part = followed.take(event, &self.path)?;
                followed.given |= !matches!(part, FieldPart::Replaced);
                Some((*index, part))
            }
            Event::CallCompleted(call) => {
                self.forget(call)?;
                Some((call.index(), FieldPart::Ended(call)))
            }
            Event::CallDiscarded(call) => {
                self.forget(call)?;
                Some((call.index(), FieldPart::Discarded))
            }
            _ => None,
        }
    }

    fn forget(&mut self, call: &ToolCall) -> Option<()> {
        let at = self
            .followed
            .iter()
            .position(|of| of.index == call.index())?;
        self.followed.swap_remove(at);
        Some(())
    }
}

impl Followed {
    fn take<'e>(
        &mut self,
        event: &'e FieldEvent<'_>,
        field: &[PathSegment<'static>],
    ) -> Option<FieldPart<'e>> {
        let path = event.path()?;
        match event {
            FieldEvent::Replaced { .. } => {
                if !path.leads_to(field) {
                    return None;
                }
                self.building.clear();
                std::mem::take(&mut self.given).then_some(FieldPart::Replaced)
            }
            FieldEvent::Opened { kind, .. } => {
                let below = path.below(field)?;
                let container = match kind {
                    FieldKind::Object => Value::Object(serde_json::Map::new()),
                    // The array that is followed hands its elements out.
                    FieldKind::Array if below > 0 => Value::Array(Vec::new()),
                    _ => return None,
                };
                self.building.push(container);
                None
            }
            FieldEvent::Text { fragment, .. } => {
                (path.below(field)? == 0).then_some(FieldPart::Text(fragment))
            }
            FieldEvent::Completed { value, .. } => self.completed(path, value, path.below(field)?),
            FieldEvent::Stopped { .. } => None,
        }
    }

    fn completed<'e>(
        &mut self,
        path: &FieldPath,
        value: &'e FieldValue<'_>,
        below: usize,
    ) -> Option<FieldPart<'e>> {
        let built = match value.kind() {
            Some(FieldKind::Object) => self.building.pop(),
            Some(FieldKind::Array) if below > 0 => self.building.pop(),
            _ => None,
        };
        if below == 0 {
            return Some(FieldPart::Completed(match built {
                Some(built) => FieldValue::owned(built),
                None => value.borrowed(),
            }));
        }
        let value = built.or_else(|| value.get().cloned())?;
        match (self.building.last_mut(), path.last()?) {
            (Some(Value::Object(members)), PathSegment::Key(key)) => {
                members.insert(key.to_string(), value);
            }
            (Some(Value::Array(elements)), _) => elements.push(value),
            (None, PathSegment::Index(index)) => return Some(FieldPart::Element(*index, value)),
            _ => {}
        }
        None
    }
}

impl fmt::Debug for FieldFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FieldFilter")
            .field("calls", &self.calls)
            .field("path", &format_args!("<{} steps>", self.path.len()))
            .field("followed", &self.followed.len())
            .finish()
    }
}

/// Texts and values are the user's data: only their kind is shown.
impl fmt::Debug for FieldPart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FieldPart::Started => f.write_str("Started"),
            FieldPart::Text(text) => write!(f, "Text(<{} bytes>)", text.len()),
            FieldPart::Element(index, _) => write!(f, "Element({index})"),
            FieldPart::Completed(value) => write!(f, "Completed({value:?})"),
            FieldPart::Replaced => f.write_str("Replaced"),
            FieldPart::Ended(call) => write!(f, "Ended({call:?})"),
            FieldPart::Discarded => f.write_str("Discarded"),
        }
    }
}
