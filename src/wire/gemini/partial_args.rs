//! Streamed arguments (WIRE_FORMATS 4.4): path and value entries become ordinary argument text.
//!
//! Letter to the next reader. While the paths come in document order the text is written as they come, so that a caller sees
//! the arguments grow as on any other wire: `{"dock":"Nor`, `th"`, `,"hours":[6`, `,7`, `]}`. Strings and numbers keep the
//! wire's own JSON text. Every value is kept in a flat tree beside it: when a path goes back to something that was closed,
//! writing stops and the whole text is stated once at the close. A path that cannot be read, or that contradicts the values
//! before it, breaks the call: nothing more is written, so that its text never looks finished.

#[cfg(test)]
mod tests;
mod tree;

use smallvec::SmallVec;

use crate::json::cursor::{Cursor, Fault, Kind, Text};
use crate::wire::gemini::json_path::{Segment, segments};

use tree::{ROOT, Tree, What};

/// One entry of `partialArgs`.
#[derive(Default)]
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
#[derive(Default)]
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

/// A tree is small beside this, or its growth is reported.
const REPORT_BYTES: usize = 64 << 10;
