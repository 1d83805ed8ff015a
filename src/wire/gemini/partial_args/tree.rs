//! All values of one call's streamed arguments, by path.
//!
//! Flat, so that neither building, writing nor dropping it recurses, and a step costs one look-up. It knows what stands where
//! and how an object is written whole; whether a path comes in order is the writer's to know.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use smallvec::SmallVec;

use super::{Broken, Value};
use crate::wire::gemini::json_path::Segment;

pub(super) const ROOT: u32 = 0;

/// What a node costs besides its texts: itself, its place in the map, and the room that both keep.
const NODE_BYTES: usize = 2 * (size_of::<Node>() + 2 * size_of::<(u64, u32)>());

pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
    /// Hash of parent and segment -> child.
    places: HashMap<u64, u32>,
    hasher: RandomState,
    /// What all of this takes up, about.
    pub(super) bytes: usize,
}

pub(super) struct Node {
    parent: u32,
    segment: Segment<'static>,
    pub(super) what: What,
    pub(super) children: u32,
    first_child: Option<u32>,
    last_child: Option<u32>,
    next: Option<u32>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum What {
    Object,
    Array,
    String(String),
    Scalar(String),
}

impl From<Value<'_>> for What {
    fn from(value: Value<'_>) -> Self {
        match value {
            Value::String(text) => What::String(text.to_owned()),
            Value::Scalar(text) => What::Scalar(text.to_owned()),
        }
    }
}

impl Segment<'_> {
    /// What the step goes into.
    pub(super) fn container(&self) -> What {
        match self {
            Segment::Key(_) => What::Object,
            Segment::Index(_) => What::Array,
        }
    }
}

impl Default for Tree {
    fn default() -> Self {
        let root = Node::new(ROOT, Segment::Index(0), What::Object);
        Tree {
            nodes: vec![root],
            places: HashMap::new(),
            hasher: RandomState::new(),
            bytes: 0,
        }
    }
}

impl Node {
    fn new(parent: u32, segment: Segment<'static>, what: What) -> Self {
        Node {
            parent,
            segment,
            what,
            children: 0,
            first_child: None,
            last_child: None,
            next: None,
        }
    }
}

impl Tree {
    /// The deepest node on the path, and how many steps lead to it.
    pub(super) fn find(&self, path: &[Segment<'_>]) -> (u32, usize) {
        let mut at = ROOT;
        for (depth, segment) in path.iter().enumerate() {
            let place = self.places.get(&self.hasher.hash_one((at, segment)));
            let same = |&&child: &&u32| {
                let node = self.nodes.get(child as usize);
                node.is_some_and(|node| node.parent == at && node.segment == *segment)
            };
            match place.filter(same) {
                Some(&child) => at = child,
                None => return (at, depth),
            }
        }
        (at, path.len())
    }

    pub(super) fn add(&mut self, parent: u32, segment: &Segment<'_>, what: What) -> u32 {
        let at = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        let key = match segment {
            Segment::Key(key) => key.len(),
            Segment::Index(_) => 0,
        };
        let text = match &what {
            What::String(text) | What::Scalar(text) => text.len(),
            What::Object | What::Array => 0,
        };
        self.bytes += NODE_BYTES + key + text;
        self.places
            .insert(self.hasher.hash_one((parent, segment)), at);
        self.nodes
            .push(Node::new(parent, segment.to_static(), what));
        let mut elder = None;
        if let Some(parent) = self.nodes.get_mut(parent as usize) {
            parent.children += 1;
            elder = parent.last_child.replace(at);
            parent.first_child = parent.first_child.or(Some(at));
        }
        if let Some(elder) = elder.and_then(|elder| self.nodes.get_mut(elder as usize)) {
            elder.next = Some(at);
        }
        at
    }

    fn children(&self, node: &Node) -> Result<SmallVec<[u32; 8]>, Broken> {
        let node_at = |at: &u32| self.nodes.get(*at as usize);
        let children = std::iter::successors(node.first_child, |at| node_at(at)?.next);
        let mut children: SmallVec<[u32; 8]> = children.collect();
        if node.what == What::Array {
            let index = |at: &u32| match node_at(at).map(|node| &node.segment) {
                Some(Segment::Index(index)) => *index,
                _ => u32::MAX,
            };
            children.sort_by_key(index);
            if !children.iter().map(index).eq(0..node.children) {
                return Err(Broken::Gap);
            }
        }
        Ok(children)
    }

    /// The object's whole text.
    pub(super) fn write(&self, out: &mut String) -> Result<(), Broken> {
        enum Task {
            Write(u32),
            Close(char),
        }
        let mut tasks = vec![Task::Write(ROOT)];
        while let Some(task) = tasks.pop() {
            let node = match task {
                Task::Write(at) => self.nodes.get(at as usize).ok_or(Broken::Contradiction)?,
                Task::Close(closer) => {
                    out.push(closer);
                    continue;
                }
            };
            if !out.is_empty() {
                if !out.ends_with(['{', '[']) {
                    out.push(',');
                }
                node.segment.write(out);
            }
            let (opener, closer) = match &node.what {
                What::Object => ('{', '}'),
                What::Array => ('[', ']'),
                What::String(text) => {
                    out.push('"');
                    out.push_str(text);
                    out.push('"');
                    continue;
                }
                What::Scalar(text) => {
                    out.push_str(text);
                    continue;
                }
            };
            out.push(opener);
            tasks.push(Task::Close(closer));
            tasks.extend(self.children(node)?.into_iter().rev().map(Task::Write));
        }
        Ok(())
    }
}
