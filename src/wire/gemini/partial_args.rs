//! Streamed arguments (WIRE_FORMATS 4.4): path and value entries become ordinary argument text.
//!
//! Letter to the next reader. While the paths come in document order the text is written as they come, so that a caller sees
//! the arguments grow as on any other wire: `{"dock":"Nor`, `th"`, `,"hours":[6`, `,7`, `]}`. Strings and numbers keep the
//! wire's own JSON text. Every value is kept in a flat tree beside it: when a path goes back to something that was closed,
//! writing stops and the whole text is stated once at the close. A path that cannot be read, or that contradicts the values
//! before it, breaks the call: nothing more is written, so that its text never looks finished.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use smallvec::SmallVec;

use crate::json::cursor::{Cursor, Fault, Kind, Text};
use crate::wire::gemini::json_path::{Segment, segments};

/// One entry of `partialArgs`.
#[derive(Debug, Default)]
pub(super) struct Entry<'a> {
    path: Option<Text<'a>>,
    value: Option<Value<'a>>,
    continues: bool,
}

#[derive(Debug, Clone, Copy)]
enum Value<'a> {
    /// The raw text between the quotes.
    String(&'a str),
    /// The raw text of any other value.
    Scalar(&'a str),
}

impl<'a> Entry<'a> {
    pub(super) fn read(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        let mut entry = Entry::default();
        let mut null = false;
        cursor.members(|cursor, key| {
            match key {
                b"jsonPath" => entry.path = cursor.text()?,
                b"stringValue" => {
                    let text = cursor.text()?.map(|text| Value::String(text.raw));
                    entry.value = text.or(entry.value);
                }
                b"numberValue" | b"boolValue" if cursor.kind()? != Kind::Null => {
                    entry.value = Some(Value::Scalar(cursor.raw()?));
                }
                b"nullValue" => {
                    cursor.skip()?;
                    null = true;
                }
                b"willContinue" => entry.continues = cursor.boolean()?,
                _ => cursor.skip()?,
            }
            Ok(())
        })?;
        if null && entry.value.is_none() {
            entry.value = Some(Value::Scalar("null"));
        }
        Ok(entry)
    }
}

/// Why the entries of a call make no object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Broken {
    Path,
    Contradiction,
    Gap,
}

impl Broken {
    pub(super) fn problem(self) -> &'static str {
        match self {
            Broken::Path => "a jsonPath of streamed arguments cannot be read",
            Broken::Contradiction => "the paths of streamed arguments contradict each other",
            Broken::Gap => "an array of streamed arguments has gaps",
        }
    }
}

/// What is left to say when a call ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Closing {
    /// The last piece of the text.
    Piece,
    /// Nothing: the call is broken.
    Cut,
    /// The whole text: it could not be written in pieces.
    Restated(String),
}

/// The writer of one call's arguments.
///
/// ```text
///            in order             goes back                    close
///  Writing ───────────► Writing ────────────► Gathering ───────────────► Restated
///     │ unreadable or contradictory path          │
///     └──────────────────► Broken ◄───────────────┘
/// ```
#[derive(Debug, Default)]
pub(super) struct Writer {
    state: State,
    tree: Tree,
    /// The containers that are open in the text, the root first. Empty before the first value.
    open: SmallVec<[u32; 8]>,
    /// The string that an entry said will continue, in whatever state.
    string: Option<u32>,
    /// The text ends in a number or a literal.
    open_scalar: bool,
    piece: String,
    /// Bytes of the tree that were reported to the accumulator, which bounds them.
    reported: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Writing,
    Gathering,
    Broken,
}

impl Writer {
    /// Takes one entry. The text to append is then in [`piece`](Self::piece).
    pub(super) fn push(&mut self, entry: &Entry<'_>) -> Result<(), Broken> {
        if self.state == State::Broken {
            return Ok(());
        }
        let placed = self.place(entry);
        if placed.is_err() {
            self.state = State::Broken;
            self.string = None;
            // Blank arguments would read as none.
            let last = if self.open.is_empty() {
                "{"
            } else {
                self.cut()
            };
            self.piece.push_str(last);
        }
        placed
    }

    /// The text written since [`next`](Self::next).
    pub(super) fn piece(&self) -> &str {
        &self.piece
    }

    /// What the tree takes up, if that is much more than what was told the last time.
    pub(super) fn grown(&mut self) -> Option<usize> {
        let bytes = self.tree.bytes;
        (bytes > self.reported + REPORT_BYTES).then(|| {
            self.reported = bytes;
            bytes
        })
    }

    /// Begins the next piece; the buffer is kept.
    pub(super) fn next(&mut self) {
        self.piece.clear();
    }

    /// True between an entry that will continue and the one that ends it.
    pub(super) fn in_string(&self) -> bool {
        self.string.is_some()
    }

    /// True before the first value.
    pub(super) fn is_blank(&self) -> bool {
        self.tree.nodes.len() <= 1
    }

    /// The text for a call that stays cut: the wire sends numbers and literals whole, and the space keeps them so, where a
    /// reader of cut text must take the last one for a part.
    pub(super) fn cut(&mut self) -> &'static str {
        if std::mem::take(&mut self.open_scalar) {
            " "
        } else {
            ""
        }
    }

    /// The call ends here. A broken call has nothing left to say: its text stays cut.
    pub(super) fn close(&mut self) -> Result<Closing, Broken> {
        match self.state {
            State::Broken => return Ok(Closing::Cut),
            State::Writing => {
                self.close_string();
                self.close_containers(0);
            }
            State::Gathering => {
                let mut text = String::new();
                self.tree.write(&mut text)?;
                return Ok(Closing::Restated(text));
            }
        }
        Ok(Closing::Piece)
    }

    fn place(&mut self, entry: &Entry<'_>) -> Result<(), Broken> {
        let path = entry.path.map(Text::to_cow).unwrap_or_default();
        let path = segments(&path).ok_or(Broken::Path)?;
        let (found, depth) = self.tree.find(&path);
        let Some(value) = entry.value else {
            // An entry without a value can still end the string it names.
            if depth == path.len() && self.string == Some(found) && !entry.continues {
                self.close_string();
            }
            return Ok(());
        };
        match path.get(depth..).and_then(<[_]>::split_first) {
            None => self.again(found, value)?,
            Some((first, rest)) => self.add(found, depth, first, rest, value)?,
        }
        if let (Value::String(_), false) = (value, entry.continues) {
            self.close_string();
        }
        Ok(())
    }

    /// A value for a path that has one: pieces of a string join, anything else is set anew.
    fn again(&mut self, found: u32, value: Value<'_>) -> Result<(), Broken> {
        let continued = self.string == Some(found);
        if !continued {
            self.close_string();
        }
        let Some(node) = self.tree.nodes.get_mut(found as usize) else {
            return Err(Broken::Contradiction);
        };
        match (&mut node.what, value) {
            (What::String(text), Value::String(piece)) => {
                text.push_str(piece);
                self.tree.bytes += piece.len();
                if self.state == State::Writing && continued {
                    self.piece.push_str(piece);
                } else {
                    self.state = State::Gathering;
                }
                self.string = Some(found);
            }
            (What::Object | What::Array, _) => return Err(Broken::Contradiction),
            (_, value) => {
                node.what = What::from(value);
                self.state = State::Gathering;
                self.string = matches!(value, Value::String(_)).then_some(found);
            }
        }
        Ok(())
    }

    /// A value for a new path: `parent` is the deepest node that exists, `depth` steps below the root.
    fn add(
        &mut self,
        parent: u32,
        depth: usize,
        first: &Segment<'_>,
        rest: &[Segment<'_>],
        value: Value<'_>,
    ) -> Result<(), Broken> {
        self.close_string();
        let container = first.container();
        let Some(node) = self.tree.nodes.get_mut(parent as usize) else {
            return Err(Broken::Contradiction);
        };
        match &node.what {
            What::Object | What::Array if node.what == container => {}
            // A null may stand for what is yet to come.
            What::Scalar(text) if text == "null" => {
                node.what = container;
                self.state = State::Gathering;
            }
            _ => return Err(Broken::Contradiction),
        }
        let children = node.children;
        if self.state == State::Writing && self.open.is_empty() {
            self.open.push(ROOT);
            self.piece.push('{');
        }
        // In order an element follows those before it, and a new array begins with its first.
        let follows = |segment: &Segment<'_>, before: u32| match segment {
            Segment::Key(_) => true,
            Segment::Index(index) => *index == before,
        };
        let next = follows(first, children) && rest.iter().all(|below| follows(below, 0));
        if self.open.get(depth) != Some(&parent) || !next {
            self.state = State::Gathering;
        }
        let writing = self.state == State::Writing;
        if writing {
            self.close_containers(depth + 1);
            if children > 0 {
                self.piece.push(',');
            }
        }
        let (mut parent, mut segment) = (parent, first);
        for below in rest {
            parent = self.tree.add(parent, segment, below.container());
            if writing {
                segment.write(&mut self.piece);
                self.piece.push(if below.container() == What::Array {
                    '['
                } else {
                    '{'
                });
                self.open.push(parent);
            }
            segment = below;
        }
        let leaf = self.tree.add(parent, segment, What::from(value));
        self.string = matches!(value, Value::String(_)).then_some(leaf);
        if writing {
            segment.write(&mut self.piece);
            match value {
                Value::String(text) => {
                    self.piece.push('"');
                    self.piece.push_str(text);
                }
                Value::Scalar(text) => self.piece.push_str(text),
            }
            self.open_scalar = matches!(value, Value::Scalar(_));
        }
        Ok(())
    }

    fn close_string(&mut self) {
        if self.string.take().is_some() && self.state == State::Writing {
            self.piece.push('"');
        }
    }

    fn close_containers(&mut self, keep: usize) {
        while self.open.len() > keep {
            let node = self
                .open
                .pop()
                .and_then(|at| self.tree.nodes.get(at as usize));
            let array = node.is_some_and(|node| node.what == What::Array);
            self.piece.push(if array { ']' } else { '}' });
        }
    }
}

const ROOT: u32 = 0;

/// A tree is small beside this, or its growth is reported.
const REPORT_BYTES: usize = 64 << 10;
/// What a node costs besides its texts: itself, its place in the map, and the room that both keep.
const NODE_BYTES: usize = 2 * (size_of::<Node>() + 2 * size_of::<(u64, u32)>());

/// All values so far. Flat, so that neither building, writing nor dropping it recurses, and a step costs one look-up.
#[derive(Debug)]
struct Tree {
    nodes: Vec<Node>,
    /// Hash of parent and segment -> child.
    places: HashMap<u64, u32>,
    hasher: RandomState,
    /// What all of this takes up, about.
    bytes: usize,
}

#[derive(Debug)]
struct Node {
    parent: u32,
    segment: Segment<'static>,
    what: What,
    children: u32,
    first_child: Option<u32>,
    last_child: Option<u32>,
    next: Option<u32>,
}

#[derive(Debug, PartialEq, Eq)]
enum What {
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
    fn container(&self) -> What {
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
    fn find(&self, path: &[Segment<'_>]) -> (u32, usize) {
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

    fn add(&mut self, parent: u32, segment: &Segment<'_>, what: What) -> u32 {
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

    fn write(&self, out: &mut String) -> Result<(), Broken> {
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

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn entry(text: &str) -> Entry<'_> {
        Entry::read(&mut Cursor::new(text)).unwrap()
    }

    /// The pieces of these entries and of the close; a restated text stands alone.
    fn written(entries: &[&str]) -> Result<Vec<String>, Broken> {
        let mut writer = Writer::default();
        let mut pieces = Vec::new();
        for text in entries {
            writer.next();
            writer.push(&entry(text))?;
            pieces.push(writer.piece().to_owned());
        }
        writer.next();
        match writer.close()? {
            Closing::Piece => pieces.push(writer.piece().to_owned()),
            Closing::Cut => {}
            Closing::Restated(text) => pieces = vec![text],
        }
        Ok(pieces)
    }

    fn number(path: &str, value: u32) -> String {
        format!(r#"{{"jsonPath":"{path}","numberValue":{value}}}"#)
    }

    fn written_numbers(paths: &[&str]) -> Result<String, Broken> {
        let entries: Vec<String> = paths
            .iter()
            .zip(0..)
            .map(|(path, at)| number(path, at))
            .collect();
        let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
        Ok(written(&entries)?.concat())
    }

    #[test]
    fn values_keep_the_wires_own_text() {
        let pieces = written(&[
            r#"{"jsonPath":"$.n","numberValue":1.50}"#,
            r#"{"jsonPath":"$.big","numberValue":123456789012345678901234567890}"#,
            r#"{"jsonPath":"$.yes","boolValue":false}"#,
            r#"{"jsonPath":"$.none","nullValue":"NULL_VALUE"}"#,
            r#"{"jsonPath":"$.s","stringValue":"a\"\u00e9\ud83d","numberValue":null,"willContinue":true}"#,
            r#"{"jsonPath":"$.s","stringValue":"\ude00"}"#,
        ]);
        assert_eq!(
            pieces.unwrap(),
            [
                r#"{"n":1.50"#,
                r#","big":123456789012345678901234567890"#,
                r#","yes":false"#,
                r#","none":null"#,
                r#","s":"a\"\u00e9\ud83d"#,
                r#"\ude00""#,
                "}",
            ]
        );
    }

    #[test]
    fn containers_open_and_close_on_the_way_to_the_next_value() {
        let text = written_numbers(&[
            "$.r.i[0].a",
            "$.r.i[0].n",
            "$.r.i[1].a",
            "$.r.n",
            "$.s[0]",
            "$.s[1][0]",
        ]);
        assert_eq!(
            text.unwrap(),
            r#"{"r":{"i":[{"a":0,"n":1},{"a":2}],"n":3},"s":[4,[5]]}"#
        );
    }

    #[test]
    fn a_string_ends_where_its_entry_ends_or_where_the_model_goes_on() {
        let open = r#"{"jsonPath":"$.s","stringValue":"x","willContinue":true}"#;
        let next = number("$.n", 1);
        assert_eq!(
            written(&[open, &next]).unwrap().concat(),
            r#"{"s":"x","n":1}"#
        );
        assert_eq!(written(&[open]).unwrap().concat(), r#"{"s":"x"}"#);
        let empty = r#"{"jsonPath":"$.s"}"#;
        assert_eq!(written(&[open, empty]).unwrap(), [r#"{"s":"x"#, "\"", "}"]);
        // Without the word that it will continue, pieces of one path join all the same.
        let whole = r#"{"jsonPath":"$.s","stringValue":"x"}"#;
        assert_eq!(written(&[whole, whole]).unwrap(), [r#"{"s":"xx"}"#]);
    }

    #[test]
    fn what_comes_out_of_order_is_stated_in_order() {
        for (paths, expected) in [
            (
                &["$.a.x", "$.b", "$.a.y"][..],
                r#"{"a":{"x":0,"y":2},"b":1}"#,
            ),
            (&["$.l[1]", "$.l[0]"], r#"{"l":[1,0]}"#),
            (&["$.a", "$.a"], r#"{"a":1}"#),
            (&["$.a", "$.b", "$.a"], r#"{"a":2,"b":1}"#),
            (
                &["$.l[0].x", "$.l[1].x", "$.l[0].y", "$.m"],
                r#"{"l":[{"x":0,"y":2},{"x":1}],"m":3}"#,
            ),
        ] {
            assert_eq!(written_numbers(paths).unwrap(), expected, "{paths:?}");
        }
        let null = r#"{"jsonPath":"$.a","nullValue":"NULL_VALUE"}"#;
        assert_eq!(
            written(&[null, &number("$.a.b", 1)]).unwrap(),
            [r#"{"a":{"b":1}}"#]
        );
    }

    #[test]
    fn contradictions_and_gaps_break_the_call() {
        for paths in [
            &["$.a", "$.a.b"][..],
            &["$.a.b", "$.a"],
            &["$.a.b", "$.a[0]"],
            &["$[0]"],
        ] {
            assert_eq!(
                written_numbers(paths),
                Err(Broken::Contradiction),
                "{paths:?}"
            );
        }
        for paths in [&["$.l[1]"][..], &["$.l[0]", "$.l[2]"], &["$.l[4294967295]"]] {
            assert_eq!(written_numbers(paths), Err(Broken::Gap), "{paths:?}");
        }
        let deep = format!("${}", ".a".repeat(127));
        assert!(written_numbers(&[&deep]).is_ok());
        assert_eq!(written_numbers(&[&format!("{deep}.a")]), Err(Broken::Path));
    }

    #[test]
    fn odd_keys_are_written_as_json() {
        let text = written(&[r#"{"jsonPath":"$['a\"\\\\\\n']","numberValue":1}"#])
            .unwrap()
            .concat();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["a\"\\\n"], 1);
    }

    /// The same entries, set one by one in a plain tree.
    fn set(tree: &mut serde_json::Value, path: &[Segment<'_>], value: &serde_json::Value) {
        use serde_json::Value;
        let Some((first, rest)) = path.split_first() else {
            match (tree.as_str(), value.as_str()) {
                (Some(text), Some(piece)) => *tree = Value::String(text.to_owned() + piece),
                _ => *tree = value.clone(),
            }
            return;
        };
        let child = match first {
            Segment::Key(key) => &mut tree[key.as_ref()],
            Segment::Index(index) => {
                if tree.is_null() {
                    *tree = Value::Array(Vec::new());
                }
                let items = tree.as_array_mut().unwrap();
                items.resize(items.len().max(*index as usize + 1), Value::Null);
                &mut items[*index as usize]
            }
        };
        set(child, rest, value);
    }

    #[test]
    fn any_order_of_any_entries_gives_the_value_of_a_plain_tree() {
        let paths = [
            "$.a", "$.b", "$.c.x", "$.c.y", "$.c.z[0]", "$.c.z[1]", "$.d[0].e", "$.d[0].f",
            "$.d[1].e",
        ];
        let mut seed = 7u64;
        let mut random = |below: u64| {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        let (mut whole, mut stated, mut gaps) = (0, 0, 0);
        for _ in 0..20_000 {
            let mut writer = Writer::default();
            let mut text = String::new();
            let mut tree = serde_json::Value::Object(serde_json::Map::new());
            let mut from = 0;
            for _ in 0..random(8) {
                // Mostly onwards, sometimes back.
                from = if random(6) == 0 { 0 } else { from };
                from += random(3);
                let Some(path) = paths.get(from as usize) else {
                    break;
                };
                let string = random(2) == 0;
                let value = if string {
                    r#""stringValue":"s""#
                } else {
                    r#""numberValue":1"#
                };
                let more = random(2) == 0;
                let data = format!(r#"{{"jsonPath":"{path}",{value},"willContinue":{more}}}"#);
                writer.next();
                writer.push(&entry(&data)).unwrap();
                text.push_str(writer.piece());
                let value = if string { "s".into() } else { 1.into() };
                set(&mut tree, &segments(path).unwrap(), &value);
            }
            writer.next();
            match writer.close() {
                Ok(Closing::Cut) => panic!("no path was unreadable"),
                Ok(Closing::Piece) if writer.is_blank() => assert!(text.is_empty()),
                Ok(Closing::Piece) => {
                    text.push_str(writer.piece());
                    assert_eq!(text, tree.to_string());
                    whole += 1;
                }
                Ok(Closing::Restated(text)) => {
                    let text: serde_json::Value = serde_json::from_str(&text).unwrap();
                    assert_eq!(text, tree);
                    stated += 1;
                }
                Err(broken) => {
                    assert_eq!(broken, Broken::Gap);
                    assert!(tree.to_string().contains("[null"), "{tree}");
                    gaps += 1;
                }
            }
        }
        assert!(
            whole > 1000 && stated > 1000 && gaps > 100,
            "{whole} {stated} {gaps}"
        );
    }

    #[test]
    fn a_wide_call_in_any_order_is_stated_whole() {
        let mut writer = Writer::default();
        for at in 0..50_000 {
            let path = if at % 2 == 0 {
                format!("$.a.k{at}")
            } else {
                format!("$.b[{}]", at / 2)
            };
            writer.push(&entry(&number(&path, at))).unwrap();
            writer.next();
        }
        let Closing::Restated(text) = writer.close().unwrap() else {
            panic!("in order")
        };
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap()["b"][24_999],
            49_999
        );
    }
}
