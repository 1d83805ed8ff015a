//! What happens to the fields of a call, said as it arrives (only where [`Config::field_events`] asks for it).
//!
//! Letter to the next reader. The events follow the text as it is said: after each piece of it, so that no chunk border shows
//! in their order. What a call's arguments are is decided at its close and may be another text than the pieces (repaired, restated, a
//! start block's default): then the fields are told on from where the pieces stood, or, where what was told does not stand,
//! anew after a `Replaced` of the whole. So what was said last of each field of a usable call is what the call holds. A
//! flagged call says nothing more: what was told of it is as good as the call.

use serde_json::{Map, Value};

use super::queue::Queue;
use crate::call::{CallIndex, PartialCall, ToolCall};
use crate::config::Config;
use crate::json::{FieldEvent, FieldPath, MAX_DEPTH, PartialReader, PathSegment, find};

/// Says what the text that came since the last time does to the fields. Cost: linear in that text, plus the nesting.
#[inline(never)]
pub(super) fn read_on(call: &mut PartialCall, config: &Config, queue: &mut Queue) {
    let index = call.index();
    call.read_fields(config.max_depth, &mut |event| queue.field(index, event));
}

/// Says what the settled arguments state and the pieces did not. `reader` is the one that read the pieces.
#[inline(never)]
pub(super) fn settle(reader: Option<Box<PartialReader>>, call: &ToolCall, queue: &mut Queue) {
    let Ok(object) = call.arguments().object() else {
        return;
    };
    let index = call.index();
    let reader = reader.filter(|reader| !reader.is_at_start());
    let told = match &reader {
        Some(reader) if reader.has_closed() && reader.object() == object => return,
        Some(reader) => Told::that_stands(reader, object),
        None => None,
    };
    if reader.is_some() && told.is_none() {
        let path = FieldPath::default();
        queue.field(index, FieldEvent::Replaced { path });
    }
    tell(index, object, told.as_ref(), queue);
}

/// Says each field of the object that was not told already.
fn tell(index: CallIndex, object: &Map<String, Value>, told: Option<&Told<'_>>, queue: &mut Queue) {
    let Ok(text) = serde_json::to_string(object) else {
        return;
    };
    PartialReader::new(MAX_DEPTH).advance_with(&text, &mut |event| {
        let event = match told {
            Some(told) => told.rest_of(event),
            None => Some(event),
        };
        if let Some(event) = event {
            queue.field(index, event);
        }
    });
}

/// What a reader told of an object before it stopped. Whatever is not on the open path was told to its end.
struct Told<'r> {
    root: &'r Value,
    open: Vec<PathSegment<'static>>,
}

impl<'r> Told<'r> {
    /// `None` where the object says something else than was told.
    fn that_stands(reader: &'r PartialReader, object: &Map<String, Value>) -> Option<Self> {
        let told = Told {
            root: reader.value(),
            open: reader.open_path(),
        };
        let mut steps = told.open.iter();
        let mut step = steps.next();
        if reader.has_closed() || !members_stand(reader.object(), object, step) {
            return None;
        }
        let mut field = step.and_then(|step| child(told.root, step));
        let mut stands = match step {
            Some(PathSegment::Key(key)) => object.get(&**key),
            _ => None,
        };
        while let Some(was) = field {
            let is = stands?;
            step = steps.next();
            let goes_on = match (was, is) {
                (Value::Object(was), Value::Object(is)) => members_stand(was, is, step),
                (Value::Array(was), Value::Array(is)) => {
                    let complete = was.len() - usize::from(step.is_some()).min(was.len());
                    was.get(..complete).is_some_and(|was| is.starts_with(was))
                }
                (Value::String(was), Value::String(is)) => is.starts_with(was.as_str()),
                _ => false,
            };
            if !goes_on {
                return None;
            }
            field = step.and_then(|step| child(was, step));
            stands = step.and_then(|step| child(is, step));
        }
        Some(told)
    }

    /// The part of an event that was not told.
    fn rest_of<'e>(&self, event: FieldEvent<'e>) -> Option<FieldEvent<'e>> {
        let Some(path) = event.path() else {
            return Some(event);
        };
        let steps: Vec<_> = path.iter().cloned().collect();
        let Some(was) = find(self.root, &steps) else {
            return Some(event);
        };
        if !path.leads_to(&self.open) {
            return None;
        }
        match (event, was) {
            (FieldEvent::Opened { .. }, _) => None,
            (FieldEvent::Text { path, fragment }, Value::String(was)) => {
                let rest = fragment.get(was.len()..).filter(|rest| !rest.is_empty())?;
                let fragment = rest.to_owned().into();
                Some(FieldEvent::Text { path, fragment })
            }
            (event, _) => Some(event),
        }
    }
}

/// Whether each member but the open one has the value that was told.
fn members_stand(
    was: &Map<String, Value>,
    is: &Map<String, Value>,
    open: Option<&PathSegment<'_>>,
) -> bool {
    was.iter().all(|(key, value)| {
        open.is_some_and(|open| matches!(open, PathSegment::Key(open) if open == key))
            || is.get(key) == Some(value)
    })
}

fn child<'v>(value: &'v Value, step: &PathSegment<'_>) -> Option<&'v Value> {
    find(value, std::slice::from_ref(step))
}
