//! What every JSON-speaking decoder needs of a frame before it can look for its own members.

mod function_call;

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

use crate::anomaly::AnomalyKind;
use crate::delta::{CallKey, ClosedBy, Delta, DeltaSink, FinishMeaning};
use crate::framing::{Frame, Origin};
use crate::json::cursor::{Cursor, Fault, Kind, Place, Text};
use crate::json::{End, MAX_DEPTH, recover};
use crate::wire::Decoder;
use crate::wire::echo::Echo;

pub(crate) use function_call::{Arguments, FunctionCall};

/// A decoder whose frames each hold one JSON document.
pub(crate) trait JsonDecoder: Send + Sync {
    /// Whether an error event is always the last of its stream.
    const ERRORS_ARE_LAST: bool = true;

    /// Whether a document whose `type` member says so may say anything.
    fn reads(kind: &str) -> bool {
        let _ = kind;
        true
    }

    /// The promise that [`Echo`] rests on: a document that says exactly one thing, a piece of text or of arguments, leaves the
    /// decoder as any other such document would; of the text the decoder asks at most whether it is empty, and it passes
    /// the call's index on as it is.
    const ECHOES: bool = false;

    /// A number that changes whenever another kind of document may have changed what such a document would say.
    fn epoch(&self) -> u32 {
        0
    }

    /// Whether a document with this index would say of it what the same document says of another.
    fn echoes_index(&self, index: i64) -> bool {
        let _ = index;
        true
    }

    /// Reads one document to its end (with [`Cursor::end`]) and only then says what it means: a document that turns out not
    /// to be JSON must have said nothing.
    fn document(
        &mut self,
        cursor: &mut Cursor<'_>,
        frame: Frame<'_>,
        sink: &mut dyn DeltaSink,
    ) -> Result<(), Fault>;

    /// The body ended.
    fn finish(&mut self, sink: &mut dyn DeltaSink) {
        let _ = sink;
    }
}

/// The rules of WIRE_FORMATS 11.1 that are the same on every wire, around a decoder of documents: `[DONE]`, keep-alives, error
/// events, bare text, several documents in one event, and what is no JSON at all.
#[derive(Default)]
pub(crate) struct Json<D> {
    decoder: D,
    echo: Echo,
    /// Holds a decoded text while it is said again.
    scratch: Vec<u8>,
    /// `[DONE]` came; what follows it is ignored (E14).
    done: bool,
}

/// What it holds is of the body, and is not shown.
impl<D> fmt::Debug for Json<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Json")
            .field("done", &self.done)
            .finish_non_exhaustive()
    }
}

impl<D: JsonDecoder + Default> Decoder for Json<D> {
    #[inline]
    fn decode(&mut self, frame: Frame<'_>, sink: &mut dyn DeltaSink) {
        if self.done {
            return;
        }
        if frame.lossy {
            sink.delta(&Delta::Anomaly(AnomalyKind::LossyUtf8));
        }
        if frame.origin == Origin::Event
            && frame.event != Some("error")
            && frame.data.starts_with('{')
        {
            if let Err(place) = self.read(frame, sink) {
                self.several(frame.data, place, frame, false, sink);
            }
            return;
        }
        self.rare(frame, sink);
    }

    fn whole(&mut self, frame: Frame<'_>, sink: &mut dyn DeltaSink) -> bool {
        !self.done && frame.data.starts_with('{') && self.read(frame, sink).is_ok()
    }

    fn finish(&mut self, sink: &mut dyn DeltaSink) {
        self.decoder.finish(sink);
    }

    fn reset(&mut self) {
        self.decoder = D::default();
        self.echo.forget();
        self.done = false;
    }

    fn remember(&mut self, on: bool) {
        self.echo.set(on);
    }

    #[inline]
    fn repeated(&mut self, rest: &[u8], offset: u64, sink: &mut dyn DeltaSink) -> usize {
        if !D::ECHOES || self.done {
            return 0;
        }
        let decoder = &self.decoder;
        let fits = |index| decoder.echoes_index(index);
        self.echo
            .hear_bytes(rest, offset, decoder.epoch(), fits, &mut self.scratch, sink)
    }

    fn skips(&self, beginning: &str) -> bool {
        first_type(beginning).is_some_and(|kind| !D::reads(&kind))
    }
}

impl<D: JsonDecoder> Json<D> {
    /// Reads an ordinary frame, which holds an object or nothing that is JSON.
    #[inline]
    fn read(&mut self, frame: Frame<'_>, sink: &mut dyn DeltaSink) -> Result<(), Place> {
        let decoder = &self.decoder;
        let fits = |index| decoder.echoes_index(index);
        let (echo, scratch) = (&mut self.echo, &mut self.scratch);
        if D::ECHOES && echo.hear(&frame, decoder.epoch(), fits, scratch, sink) {
            return Ok(());
        }
        self.parse(frame, sink)
    }

    #[inline]
    fn parse(&mut self, frame: Frame<'_>, sink: &mut dyn DeltaSink) -> Result<(), Place> {
        let decoder = &mut self.decoder;
        if D::ECHOES && self.echo.learns(&frame) {
            let epoch = decoder.epoch();
            let parse = |cursor: Cursor<'_>, sink: &mut dyn DeltaSink| {
                document(decoder, cursor, frame, sink)?;
                Ok(decoder.epoch() == epoch)
            };
            return self.echo.learn(&frame, epoch, sink, parse);
        }
        document(decoder, Cursor::new(frame.data), frame, sink)
    }

    fn done(&mut self, sink: &mut dyn DeltaSink) {
        self.done = true;
        sink.delta(&Delta::End);
    }

    #[cold]
    fn rare(&mut self, frame: Frame<'_>, sink: &mut dyn DeltaSink) {
        let data = frame.data.trim();
        // What says of itself that it is an error is one, even if it says no more (WIRE_FORMATS 5.2, 11.6).
        if frame.origin == Origin::Exception {
            return report(data, frame.event, D::ERRORS_ARE_LAST, sink);
        }
        let is_event = frame.origin != Origin::Bare;
        if is_event && frame.event == Some("error") && data != "[DONE]" {
            return report(data, None, D::ERRORS_ARE_LAST, sink);
        }
        if is_nothing(data) {
            return;
        }
        if !is_event {
            return bare(data, sink);
        }
        let is_cut = frame.origin == Origin::Unterminated;
        if is_cut && data != "[DONE]" {
            sink.delta(&Delta::Anomaly(AnomalyKind::UnterminatedTail));
        }
        self.one(frame.data, frame, is_cut, sink);
    }

    /// Data that is not one JSON value: each line alone, or else values one after another (11.1.5); else it is undecodable. What a
    /// cut event lacks at its end is no fault of the event: the end of the body tells that it was cut.
    #[cold]
    fn several(
        &mut self,
        data: &str,
        place: Place,
        frame: Frame<'_>,
        is_cut: bool,
        sink: &mut dyn DeltaSink,
    ) {
        // Twice over the text rather than a list of its documents, of which there can be as many as bytes.
        let mut count = 0;
        let values = Documents::values(data).all(|document| {
            count += 1;
            document.is_some()
        });
        if !values && data.contains('\n') {
            let mut lines = data.lines().peekable();
            while let Some(line) = lines.next() {
                self.one(line, frame, is_cut && lines.peek().is_none(), sink);
            }
            return;
        }
        // What cannot be read ends the list, and is told; what stands before it counts.
        let least = if is_cut && !values { 1 } else { 2 };
        if (if values { count } else { count - 1 }) >= least {
            for document in Documents::values(data).flatten() {
                self.one(document, frame, false, sink);
            }
            if values {
                return;
            }
        }
        if !is_cut {
            undecodable(data, place, sink);
        }
    }

    fn one(&mut self, data: &str, frame: Frame<'_>, is_cut: bool, sink: &mut dyn DeltaSink) {
        if self.done || is_nothing(data) {
            return;
        }
        if data.trim() == "[DONE]" {
            return self.done(sink);
        }
        if let Err(place) = document(&mut self.decoder, Cursor::new(data), frame, sink) {
            self.several(data, place, frame, is_cut, sink);
        }
    }
}

/// A gateway may wrap its keep-alive comment into a data field (E7); `null` and nothing are nothing (E8).
fn is_nothing(data: &str) -> bool {
    let data = data.trim();
    matches!(data, "" | "null") || (data.starts_with(':') && !data.contains('\n'))
}

/// One document to its decoder; an error tells where it stops being JSON.
#[inline]
fn document(
    decoder: &mut impl JsonDecoder,
    mut cursor: Cursor<'_>,
    frame: Frame<'_>,
    sink: &mut dyn DeltaSink,
) -> Result<(), Place> {
    let read = decoder.document(&mut cursor, frame, sink);
    read.map_err(|Fault| cursor.place())
}

/// What the `type` says that is the first member of the document that begins so, as it mostly is.
fn first_type(beginning: &str) -> Option<Cow<'_, str>> {
    let mut kind = None;
    let _ = Cursor::new(beginning).members(|cursor, key| {
        if key == b"type" {
            kind = cursor.text()?;
        }
        Err(Fault)
    });
    kind.map(Text::to_cow)
}

/// The values that stand one after another in a text; `None`, and nothing more, where one cannot be read.
struct Documents<'a>(Option<Cursor<'a>>);

impl<'a> Documents<'a> {
    fn values(text: &'a str) -> Self {
        Documents(Some(Cursor::new(text)))
    }
}

impl<'a> Iterator for Documents<'a> {
    type Item = Option<&'a str>;

    fn next(&mut self) -> Option<Self::Item> {
        let cursor = self.0.as_mut()?;
        if cursor.end().is_ok() {
            self.0 = None;
            return None;
        }
        let document = cursor.raw().ok();
        if document.is_none() {
            self.0 = None;
        }
        Some(document)
    }
}

fn undecodable(data: &str, place: Place, sink: &mut dyn DeltaSink) {
    let mut problem = format!(
        "an event's data of {} bytes {} at its byte {}",
        data.len(),
        if place.eof {
            "ends too early"
        } else {
            "is not JSON"
        },
        place.at
    );
    if let Some(words) = words(data) {
        problem = format!("{problem}: {words}");
    }
    sink.delta(&Delta::Undecodable { problem: &problem });
}

/// Text between events: a stream error if it says so, else only remembered (11.1.6). The error may come several times, the last
/// one cut (4.5).
fn bare(data: &str, sink: &mut dyn DeltaSink) {
    let lines = data.lines().flat_map(Documents::values);
    let error = Documents::values(data)
        .chain(lines)
        .flatten()
        .find(|document| {
            let value = message_value(document);
            value.is_some_and(|value| error_in(&value).is_some())
        });
    match error {
        Some(error) => report_error(error, None, sink),
        None => sink.delta(&Delta::Stray { text: &said(data) }),
    }
}

/// The error that a document is or holds in an array.
fn error_in(value: &Value) -> Option<&Value> {
    match value {
        Value::Array(items) => items.iter().find(|item| is_error(item)),
        _ => Some(value).filter(|value| is_error(value)),
    }
}

/// A document that is or holds a provider's error: an `error` member that says something, or vLLM's `"object":"error"`.
fn is_error(value: &Value) -> bool {
    let says = |error: &Value| match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => true,
    };
    value.get("error").is_some_and(says) || is_error_object(value)
}

/// vLLM's older error.
fn is_error_object(value: &Value) -> bool {
    value.get("object").is_some_and(|object| object == "error")
}

/// The provider's error, in any of the shapes of WIRE_FORMATS 9.7: an object, a text, an object inside `error` or `response`.
pub(crate) fn report_error(data: &str, code: Option<&str>, sink: &mut dyn DeltaSink) {
    report(data, code, true, sink);
}

/// As [`report_error`], for an error that need not be the stream's last event.
pub(crate) fn report(data: &str, code: Option<&str>, last: bool, sink: &mut dyn DeltaSink) {
    let value = message_value(data)
        .or_else(|| cut_object(data))
        .unwrap_or_else(|| Value::String(said(data).into_owned()));
    let mut error = error_in(&value).unwrap_or(&value);
    while let Some(inner) = error
        .get("error")
        .or_else(|| error.get("response"))
        .filter(|inner| !inner.is_null())
    {
        error = inner;
    }
    let text = |member: &str| match error.get(member) {
        Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    let message = match error {
        Value::Null => String::new(),
        Value::Object(members) if members.is_empty() => String::new(),
        Value::String(message) => message.clone(),
        Value::Number(number) => number.to_string(),
        _ => text("message")
            .or_else(|| text("detail"))
            .unwrap_or_else(|| said(&error.to_string()).into_owned()),
    };
    let found = text("code")
        .or_else(|| text("type").filter(|kind| kind != "error"))
        .or_else(|| text("status"));
    let message = Some(shortened(&message)).filter(|message| !message.is_empty());
    sink.delta(&Delta::Error {
        last,
        message: message.unwrap_or("an error without a message"),
        code: found.as_deref().or(code),
    });
}

/// Whether a document that is of none of the types its format reads is an error all the same: servers of several formats send
/// those of another one (9.7). Where it names a type of its own, its `error` member is about something else.
pub(crate) fn is_foreign_error(document: &str, kind: Option<&str>) -> bool {
    // The events of these formats have dots or underscores in their types; vLLM's older error has a type, too.
    let is_event = kind.is_some_and(|kind| kind.contains(['.', '_']) && !kind.ends_with("_error"));
    let names_error = !is_event && document.contains("\"error\"");
    let value = names_error.then(|| message_value(document)).flatten();
    value.is_some_and(|value| is_error_object(&value) || kind.is_none() && is_error(&value))
}

/// The raw text of an `error` member; `None` where it says nothing, as gateways that send every member do.
#[inline]
pub(crate) fn error<'a>(cursor: &mut Cursor<'a>) -> Result<Option<&'a str>, Fault> {
    let raw = cursor.raw()?;
    let says = !matches!(raw, "null" | "false" | "\"\"" | "{}");
    Ok(Some(raw).filter(|_| says))
}

/// Says why a model stopped, where no upstream has a word of its own beside it.
pub(crate) fn report_finish(
    choice: u32,
    reason: &str,
    meaning: FinishMeaning,
    sink: &mut dyn DeltaSink,
) {
    sink.delta(&Delta::Finish {
        choice,
        reason,
        native: None,
        meaning,
    });
}

/// Ends the block with this index.
pub(crate) fn stop_block(index: Option<i64>, sink: &mut dyn DeltaSink) {
    let key = CallKey {
        index,
        ..CallKey::default()
    };
    sink.delta(&Delta::Close {
        key,
        by: ClosedBy::BlockStop,
    });
}

/// The text of an object; `None` for any other value.
pub(crate) fn object<'a>(cursor: &mut Cursor<'a>) -> Result<Option<&'a str>, Fault> {
    let is_object = cursor.kind()? == Kind::Object;
    Ok(Some(cursor.raw()?).filter(|_| is_object))
}

/// A tree of values takes up to some fifty times its text, and no message is this long: a longer one is read as plain text.
const TREE_BYTES: usize = 256 << 10;

/// A message as a tree of values.
fn message_value(data: &str) -> Option<Value> {
    (data.len() <= TREE_BYTES)
        .then(|| serde_json::from_str(data).ok())
        .flatten()
}

/// What a cut document states.
fn cut_object(data: &str) -> Option<Value> {
    let is_short = data.len() <= TREE_BYTES;
    let ended = is_short.then(|| recover(data, MAX_DEPTH))?;
    let states = ended.end == End::Cut && !ended.object.is_empty();
    states.then_some(Value::Object(ended.object))
}

/// What a server said in words, cut short. What may be JSON, or a piece of it, may hold the user's data and is not quoted: it begins
/// as no word does, or has an escape, a lone quote, or a quote where JSON has them.
fn words(text: &str) -> Option<&str> {
    const MARKS: [char; 6] = ['{', '}', '[', ']', ':', ','];
    let status = |c: char| c.is_ascii_digit() || c == ' ';
    let word = text.trim().trim_start_matches(status);
    let is_word = word.starts_with(|c: char| c.is_alphabetic() || c == '<');
    let mut quoted = text.split('"').map(str::trim).peekable();
    let is_json = text.contains('\\')
        || text.matches('"').count() % 2 == 1
        || std::iter::from_fn(|| Some((quoted.next()?, *quoted.peek()?)))
            .any(|(before, after)| before.ends_with(MARKS) || after.starts_with(MARKS));
    (is_word && !is_json).then(|| shortened(text))
}

/// The words, or what there is in their place.
fn said(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    let kind = match text.as_bytes() {
        [] => return Cow::Borrowed(""),
        [b'{' | b'[', ..] => "JSON",
        _ => "text",
    };
    let bytes = || Cow::Owned(format!("{} bytes of {kind}", text.len()));
    words(text).map_or_else(bytes, Cow::Borrowed)
}

/// A server's message may be a whole page of HTML.
const MESSAGE_BYTES: usize = 300;

fn shortened(text: &str) -> &str {
    let text = text.trim();
    let end = (0..=MESSAGE_BYTES.min(text.len()))
        .rev()
        .find(|&at| text.is_char_boundary(at));
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}
