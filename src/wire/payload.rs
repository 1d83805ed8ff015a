//! What every JSON-speaking decoder needs of a frame before it can look for its own members.

mod errors;
mod function_call;
mod reopened;

use std::borrow::Cow;
use std::fmt::{self, Write};

use crate::anomaly::AnomalyKind;
use crate::delta::{CallKey, ClosedBy, Delta, DeltaSink, FinishMeaning};
use crate::framing::{Frame, Origin};
use crate::json::cursor::{Cursor, Fault, Kind, Place, Text};
use crate::wire::Decoder;
use crate::wire::echo::Echo;

pub(crate) use errors::{is_foreign_error, report, report_error};
pub(crate) use function_call::{Arguments, FunctionCall};
pub(crate) use reopened::Reopened;

use errors::{bare_error, states_error, stray, undecodable};

/// A decoder whose frames each hold one JSON document.
pub(crate) trait JsonDecoder: Send + Sync {
    /// Whether an error event is always the last of its stream.
    const ERRORS_ARE_LAST: bool = true;

    /// Whether an event of this name is an error, whatever its data.
    fn names_error(event: &str) -> bool {
        event == "error"
    }

    /// Whether the format has arrays of documents. In others an array is nothing, unless it holds an error (11.1.6).
    const ARRAYS: bool = false;

    /// Whether a document of this `type`, which begins so and is long, may say anything that its beginning does not.
    fn reads(&mut self, kind: &str, beginning: &str) -> bool {
        let _ = (kind, beginning);
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

    /// The body ended, after [`over`](JsonDecoder::over).
    fn finish(&mut self, sink: &mut dyn DeltaSink) {
        let _ = sink;
    }

    /// No document comes any more: the end was said (`well`), or the body ended, or an error came that is none of this format's.
    fn over(&mut self, well: bool, sink: &mut dyn DeltaSink) {
        let _ = (well, sink);
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
            && !frame.event.is_some_and(D::names_error)
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
        self.decoder.over(false, sink);
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

    fn skips(&mut self, beginning: &str) -> bool {
        first_type(beginning).is_some_and(|kind| !self.decoder.reads(&kind, beginning))
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
        self.decoder.over(true, sink);
        sink.delta(&Delta::End);
    }

    /// Data that says of itself that it is an error. Of several documents (E13) the others count, and are told before it.
    #[cold]
    fn failed(&mut self, frame: Frame<'_>, code: Option<&str>, sink: &mut dyn DeltaSink) {
        let says = |part: &&str| !is_nothing(part) && part.trim() != "[DONE]";
        let parts = || Parts(frame.data).filter(says);
        let is_object = |part: &str| part.trim_start().starts_with('{');
        let stated = parts().find(|part| states_error(part));
        let last = || parts().last().filter(|_| parts().any(is_object));
        let error = stated.or_else(last).unwrap_or(frame.data);
        let other = Frame {
            event: None,
            ..frame
        };
        for part in parts() {
            let is_error = std::ptr::eq(part, error) || states_error(part);
            if !is_error && is_object(part) {
                self.one(part, other, false, sink);
            }
        }
        self.decoder.over(false, sink);
        report(error.trim(), code, D::ERRORS_ARE_LAST, sink);
    }

    #[cold]
    fn rare(&mut self, frame: Frame<'_>, sink: &mut dyn DeltaSink) {
        let data = frame.data.trim();
        // What says of itself that it is an error is one, even if it says no more (WIRE_FORMATS 5.2, 11.6).
        if frame.origin == Origin::Exception {
            return self.failed(frame, frame.event, sink);
        }
        let is_event = frame.origin != Origin::Bare;
        let named = frame
            .event
            .filter(|event| is_event && D::names_error(event));
        if let Some(name) = named.filter(|_| data != "[DONE]") {
            let code = Some(name).filter(|name| *name != "error");
            return self.failed(frame, code, sink);
        }
        if is_nothing(data) {
            return;
        }
        if !is_event {
            return match bare_error(data) {
                Some(error) => {
                    self.decoder.over(false, sink);
                    report_error(error, None, sink);
                }
                None => stray(data, sink),
            };
        }
        let is_cut = frame.origin == Origin::Unterminated;
        if is_cut && data != "[DONE]" {
            sink.delta(&Delta::Anomaly(AnomalyKind::UnterminatedTail));
        }
        self.one(frame.data, frame, is_cut, sink);
    }

    /// Data that is not one JSON value: each line alone, or else values one after another (11.1.5); else it is undecodable. What a
    /// cut event lacks at its end is no fault of the event: the end of the body tells that it was cut. No line counts that stands
    /// inside a document: argument text must not become a call.
    #[cold]
    fn several(
        &mut self,
        data: &str,
        place: Place,
        frame: Frame<'_>,
        is_cut: bool,
        sink: &mut dyn DeltaSink,
    ) {
        if let Some(escaped) = escaped_controls(data) {
            let cursor = Cursor::new(&escaped);
            let frame = Frame {
                data: &escaped,
                ..frame
            };
            if document(&mut self.decoder, cursor, frame, sink).is_ok() {
                return sink.delta(&Delta::Anomaly(AnomalyKind::RawControl));
            }
        }
        // Twice over the text rather than a list of its documents, of which there can be as many as bytes.
        let mut count = 0;
        let values = Documents::values(data).all(|document| {
            count += 1;
            document.is_some()
        });
        if !values && Parts(data).nth(1).is_some() {
            let mut parts = Parts(data).peekable();
            while let Some(part) = parts.next() {
                self.one(part, frame, is_cut && parts.peek().is_none(), sink);
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
        let is_array = !D::ARRAYS && data.trim_start().starts_with('[');
        if is_array && let Some(error) = bare_error(data) {
            self.decoder.over(false, sink);
            return report_error(error, None, sink);
        }
        // Of several documents each is an event of its own: what stands beside what is of the same document (11.3).
        sink.at(frame.offset);
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

/// The text with the control characters escaped that stand in its strings as they are, if there are any: servers send vertical tabs
/// and form feeds so (E2). Line ends are none of them, for they part documents.
fn escaped_controls(data: &str) -> Option<String> {
    let is_raw = |c: char| c.is_ascii_control() && !matches!(c, '\n' | '\r' | '\u{7f}');
    if !data.contains(is_raw) {
        return None;
    }
    let (mut out, mut in_string, mut after_backslash) = (String::new(), false, false);
    for c in data.chars() {
        if in_string && is_raw(c) {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
        in_string ^= c == '"' && !after_backslash;
        after_backslash = in_string && c == '\\' && !after_backslash;
    }
    Some(out)
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

/// The lines of a text; a document that is open where its line ends goes on in the next.
pub(super) struct Parts<'a>(pub(super) &'a str);

impl<'a> Iterator for Parts<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        // Of this line alone: what looked further would read blank lines again and again.
        let space = |c: char| c.is_whitespace() && c != '\n';
        let is_document = self.0.trim_start_matches(space).starts_with(['{', '[']);
        let (mut depth, mut in_string, mut after_backslash) = (0usize, false, false);
        let end = self.0.bytes().position(|byte| {
            match byte {
                b'\n' => return depth == 0 && !in_string,
                _ if !is_document => {}
                _ if after_backslash => after_backslash = false,
                b'\\' => after_backslash = in_string,
                b'"' => in_string = !in_string && depth > 0,
                b'{' | b'[' if !in_string => depth += 1,
                b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
                _ => {}
            }
            false
        });
        let (part, rest) = match end {
            Some(end) => (self.0.get(..end), self.0.get(end + 1..)),
            None => (Some(self.0), None),
        };
        self.0 = rest.unwrap_or_default();
        part
    }
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

/// Whether data is one JSON document, whole.
pub(crate) fn is_document(data: &str) -> bool {
    let mut documents = Documents::values(data);
    matches!(documents.next(), Some(Some(_))) && documents.next().is_none()
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
