//! The open containers, from the root to the one being read: how they are found again in the tree, and what is asked of them.

use super::{Core, State};
use crate::json::PathSegment;
use serde_json::Value;

/// One open container.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// Set where it took the place of an earlier member with the same key; otherwise it is its parent's last child.
    pub(super) replaced: Option<Box<str>>,
}

impl Core {
    /// Takes out the newest value of the innermost container.
    pub(in crate::json) fn drop_newest(&mut self, root: &mut Value) {
        match innermost(root, &self.spine) {
            Some(Value::Array(elements)) => drop(elements.pop()),
            Some(Value::Object(members)) => {
                let newest = self
                    .leaf_replaced
                    .take()
                    .or_else(|| members.keys().next_back().map(|key| key.as_str().into()));
                if let Some(key) = newest {
                    members.shift_remove(&*key);
                }
            }
            _ => {}
        }
    }

    /// The steps down from the root that are still open, the open string included.
    fn open_steps(&self) -> impl Iterator<Item = Option<&str>> {
        let leaf = (self.before_stop() == State::Text).then_some(self.leaf_replaced.as_deref());
        self.spine
            .iter()
            .skip(1)
            .map(|step| step.replaced.as_deref())
            .chain(leaf)
    }

    pub(in crate::json) fn open_path(&self, root: &Value) -> Vec<PathSegment<'static>> {
        let mut path = Vec::new();
        let mut value = root;
        for replaced in self.open_steps() {
            let Some((segment, child)) = newest(value, replaced) else {
                break;
            };
            path.push(match segment {
                PathSegment::Key(key) => PathSegment::from(key.into_owned()),
                PathSegment::Index(index) => PathSegment::Index(index),
            });
            value = child;
        }
        path
    }

    pub(in crate::json) fn is_open(&self, root: &Value, path: &[PathSegment<'_>]) -> bool {
        if matches!(self.state, State::Start) || (path.is_empty() && self.spine.is_empty()) {
            return self.before_stop() != State::Closed;
        }
        let mut value = root;
        let mut steps = self.open_steps();
        for wanted in path {
            let Some(replaced) = steps.next() else {
                return false;
            };
            let Some((segment, child)) = newest(value, replaced) else {
                return false;
            };
            if segment != *wanted {
                return false;
            }
            value = child;
        }
        true
    }
}

/// The innermost open container. The spine and the tree are kept in step, so there always is one.
#[inline]
pub(super) fn innermost<'v>(root: &'v mut Value, spine: &[Step]) -> Option<&'v mut Value> {
    let mut here = root;
    for step in spine.iter().skip(1) {
        here = leaf(here, step.replaced.as_deref())?;
    }
    Some(here)
}

/// The newest child of a container: its last, unless it took an earlier member's place.
#[inline]
pub(super) fn leaf<'v>(container: &'v mut Value, replaced: Option<&str>) -> Option<&'v mut Value> {
    match (container, replaced) {
        (Value::Array(elements), _) => elements.last_mut(),
        (Value::Object(members), None) => members.values_mut().next_back(),
        (Value::Object(members), Some(key)) => members.get_mut(key),
        _ => None,
    }
}

/// As [`leaf`], with the segment that leads to it.
fn newest<'v>(
    container: &'v Value,
    replaced: Option<&str>,
) -> Option<(PathSegment<'v>, &'v Value)> {
    match container {
        Value::Array(elements) => elements
            .last()
            .map(|child| (PathSegment::Index(elements.len().saturating_sub(1)), child)),
        Value::Object(members) => {
            let member = match replaced {
                None => members.iter().next_back(),
                Some(key) => members.get_key_value(key),
            };
            member.map(|(key, child)| (PathSegment::from(key.as_str()), child))
        }
        _ => None,
    }
}

/// The field at this path.
pub(crate) fn find<'v>(value: &'v Value, path: &[PathSegment<'_>]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, segment| match segment {
        PathSegment::Key(key) => value.as_object()?.get(&**key),
        PathSegment::Index(index) => value.as_array()?.get(*index),
    })
}
