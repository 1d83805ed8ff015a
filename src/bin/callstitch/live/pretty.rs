//! An object as lines for people: indented, toned, and open where it is still being written.

use callstitch::PathSegment;
use serde_json::{Map, Value};

use super::line::{Line, Tone};

/// What stands where the text goes on, or stopped.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Edge<'a> {
    /// Whole: nothing is open.
    Closed,
    /// Text is arriving on this path; the tail is text that the object does not show yet.
    Growing {
        path: &'a [PathSegment<'static>],
        held: &'a str,
    },
    /// Text was cut on this path, and this tail of it is not in the object.
    Cut {
        path: &'a [PathSegment<'static>],
        held: &'a str,
    },
}

/// Columns an inner level is indented by.
const STEP: usize = 2;
/// The most of a held-back tail that is shown: after a fault it may be all the rest.
const HELD_CHARS: usize = 160;

/// The object's lines, indented by `indent` columns.
pub(crate) fn object(object: &Map<String, Value>, edge: Edge<'_>, indent: usize) -> Vec<Line> {
    let mut drawing = Drawing {
        lines: vec![Line::indented(indent)],
        indent,
        edge,
    };
    let path = match edge {
        Edge::Closed => None,
        Edge::Growing { path, .. } | Edge::Cut { path, .. } => Some(path),
    };
    drawing.members(object, path);
    drawing.lines
}

struct Drawing<'a> {
    lines: Vec<Line>,
    indent: usize,
    edge: Edge<'a>,
}

impl Drawing<'_> {
    /// Levels are at most as many as the reader takes, 127.
    fn value(&mut self, value: &Value, open: Option<&[PathSegment<'static>]>) {
        match value {
            Value::Object(members) => self.members(members, open),
            Value::Array(items) => {
                self.put(Tone::Plain, "[");
                let open_child = child(open);
                for (at, item) in items.iter().enumerate() {
                    self.next(at);
                    let inside = open_child
                        .filter(|(segment, _)| *segment == &PathSegment::Index(at))
                        .map(|(_, rest)| rest);
                    self.value(item, inside);
                }
                self.close("]", items.is_empty(), open);
            }
            Value::String(text) => self.text(text, open.is_some()),
            Value::Number(number) => self.put(Tone::Number, &number.to_string()),
            Value::Bool(_) | Value::Null => self.put(Tone::Literal, &value.to_string()),
        }
    }

    fn members(&mut self, members: &Map<String, Value>, open: Option<&[PathSegment<'static>]>) {
        self.put(Tone::Plain, "{");
        let open_child = child(open);
        for (at, (key, value)) in members.iter().enumerate() {
            self.next(at);
            self.put(Tone::Key, &quoted(key));
            self.put(Tone::Plain, ": ");
            let inside = open_child
                .filter(|(segment, _)| matches!(segment, PathSegment::Key(open) if open == key))
                .map(|(_, rest)| rest);
            self.value(value, inside);
        }
        self.close("}", members.is_empty(), open);
    }

    /// The end of a container, or the edge if it is the innermost open one.
    fn close(&mut self, closer: &str, empty: bool, open: Option<&[PathSegment<'static>]>) {
        self.indent = self.indent.saturating_sub(if empty { 0 } else { STEP });
        match open {
            None => {
                if !empty {
                    self.line();
                }
                self.put(Tone::Plain, closer);
            }
            Some([]) => {
                self.indent += STEP;
                if self.holds() && !empty {
                    self.put(Tone::Plain, ",");
                }
                self.line();
                self.edge();
                self.indent -= STEP;
            }
            // What is open inside it has shown the edge.
            Some(_) => {}
        }
    }

    /// A string, its lines as lines.
    fn text(&mut self, text: &str, open: bool) {
        self.put(Tone::Text, "\"");
        let mut lines = text.split_inclusive('\n').peekable();
        while let Some(line) = lines.next() {
            let content = line.strip_suffix('\n');
            self.put(Tone::Text, &escaped(content.unwrap_or(line)));
            if content.is_some() {
                self.put(Tone::Dim, "\\n");
                if lines.peek().is_some() {
                    self.indent += STEP;
                    self.line();
                    self.indent -= STEP;
                }
            }
        }
        if open {
            self.edge();
        } else {
            self.put(Tone::Text, "\"");
        }
    }

    /// Whether there is text beyond the object.
    fn holds(&self) -> bool {
        match self.edge {
            Edge::Closed => false,
            Edge::Growing { held, .. } | Edge::Cut { held, .. } => !held.trim().is_empty(),
        }
    }

    fn edge(&mut self) {
        let (held, tone, mark) = match self.edge {
            Edge::Closed => return,
            Edge::Growing { held, .. } => (held, Tone::Cursor, " "),
            Edge::Cut { held, .. } => (held, Tone::Alarm, "…"),
        };
        let shown: String = held.chars().take(HELD_CHARS).collect();
        self.put(Tone::Dim, &shown);
        if shown.len() < held.len() {
            self.put(Tone::Dim, "…");
        }
        self.put(tone, mark);
    }

    /// The place of the next child.
    fn next(&mut self, at: usize) {
        if at == 0 {
            self.indent += STEP;
        } else {
            self.put(Tone::Plain, ",");
        }
        self.line();
    }

    fn line(&mut self) {
        self.lines.push(Line::indented(self.indent));
    }

    fn put(&mut self, tone: Tone, text: &str) {
        if let Some(line) = self.lines.last_mut() {
            line.push(tone, text);
        }
    }
}

fn child<'p>(
    open: Option<&'p [PathSegment<'static>]>,
) -> Option<(&'p PathSegment<'static>, &'p [PathSegment<'static>])> {
    open.and_then(<[_]>::split_first)
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text))
}

/// As JSON spells it inside quotes.
fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    let inner = quoted.get(1..quoted.len().saturating_sub(1));
    inner.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used)]
    use super::*;
    use callstitch::{Arguments, ArgumentsBuffer};

    fn growing(raw: &str) -> String {
        let mut buffer = ArgumentsBuffer::new();
        buffer.push(raw);
        let view = buffer.view();
        let path = view.open_path();
        let edge = Edge::Growing {
            path: &path,
            held: view.held_back(),
        };
        shown(&object(view.object(), edge, 0))
    }

    fn shown(lines: &[Line]) -> String {
        let lines: Vec<_> = lines.iter().map(Line::text).collect();
        lines.join("|")
    }

    #[test]
    fn an_open_string_ends_in_the_cursor() {
        assert_eq!(growing(r#"{"text":"Low ti"#), r#"{|  "text": "Low ti "#);
    }

    #[test]
    fn what_is_held_back_stands_before_the_cursor() {
        assert_eq!(growing(r#"{"a":"x","n":12"#), r#"{|  "a": "x",|  "n":12 "#);
        assert_eq!(
            growing(r#"{"a":[1,{"b":tr"#),
            r#"{|  "a": [|    1,|    {|      "b":tr "#
        );
        assert_eq!(growing(r#"{"a":"x\u00e"#), r#"{|  "a": "x\u00e "#);
    }

    #[test]
    fn a_closed_object_has_all_its_closers() {
        let whole = Arguments::parse(r#"{"a":[],"b":{},"c":{"d":[null,true]},"e":"two\nlines"}"#);
        assert_eq!(
            shown(&object(&whole.map(), Edge::Closed, 0)),
            r#"{|  "a": [],|  "b": {},|  "c": {|    "d": [|      null,|      true|    ]|  },|  "e": "two\n|    lines"|}"#
        );
    }

    #[test]
    fn a_cut_is_marked_where_it_fell() {
        let cut = Arguments::parse(r#"{"a":{"b":"x"},"c":[1,-"#);
        let problem = cut.problem().expect("it is flagged");
        let edge = Edge::Cut {
            path: problem.open_path(),
            held: cut.dropped().unwrap_or_default(),
        };
        assert_eq!(
            shown(&object(&cut.map(), edge, 0)),
            r#"{|  "a": {|    "b": "x"|  },|  "c": [|    1,|    -…"#
        );
    }
}
