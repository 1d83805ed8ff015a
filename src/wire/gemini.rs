//! Gemini `streamGenerateContent` (WIRE_FORMATS 4), as server-sent events or as one JSON array.
//!
//! Letter to the next reader. A call is one part and whole on arrival; neither its place among the parts nor its name tells it
//! from another, so each opens a call of its own and closes it at once. Vertex can stream a call's arguments: such a call
//! stays open, one at a time in each candidate, and its entries are turned into argument text by [`partial_args`]. The reason
//! comes with the last parts, before them or after them; one that says the calls cannot be trusted is spoken before them.

mod events;
mod json_path;
mod partial_args;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::Write;

use smallvec::SmallVec;

use crate::delta::{
    ArgumentsPart, CallDelta, CallKey, ClosedBy, Delta, DeltaSink, Executor, FinishMeaning,
    Fragment, Route, TextKind, ToolKind,
};
use crate::framing::Frame;
use crate::json::cursor::{Cursor, Fault, Text};
use crate::wire::Decoder;
use crate::wire::payload::{Json, JsonDecoder, is_foreign_error, report_error, report_finish};

use events::{Call, Chunk, Part, Provider, What, read_chunk};
use partial_args::{Broken, Closing, Entry, Writer};

pub(super) fn decoder() -> Box<dyn Decoder> {
    Box::new(Json::<Gemini>::default())
}

#[derive(Default)]
struct Gemini {
    /// The call whose arguments are being streamed, in each candidate.
    open: BTreeMap<u32, Streamed>,
    scratch: Vec<u8>,
    /// Holds arguments that were put together from members.
    written: String,
}

/// A call whose arguments come in pieces.
///
/// ```text
///  header: name, willContinue ──► open ──► value part without willContinue ──► closed
///  value part, nothing open ───► (nameless)      empty functionCall, next name
/// ```
#[derive(Default)]
struct Streamed {
    id: Option<String>,
    writer: Writer,
    /// The header held arguments, which stand if no entry comes.
    given: bool,
    /// The model stopped by itself after the last part.
    stopped: bool,
}

impl JsonDecoder for Gemini {
    const ARRAYS: bool = true;

    fn document(
        &mut self,
        cursor: &mut Cursor<'_>,
        _: Frame<'_>,
        sink: &mut dyn DeltaSink,
    ) -> Result<(), Fault> {
        let mut chunks = SmallVec::<[Chunk<'_>; 1]>::new();
        // An error can come as an array of one (4.5).
        cursor.elements(|cursor| {
            chunks.push(read_chunk(cursor)?);
            Ok(())
        })?;
        cursor.end()?;
        for chunk in &chunks {
            self.speak(chunk, sink);
            if let Some(error) = chunk.error {
                report_error(error, None, sink);
            }
        }
        let document = cursor.document();
        if chunks.iter().all(Chunk::says_nothing) && is_foreign_error(document, None) {
            report_error(document, None, sink);
        }
        Ok(())
    }

    fn finish(&mut self, sink: &mut dyn DeltaSink) {
        while let Some((choice, mut call)) = self.open.pop_first() {
            // The closing part may be missing (vercel/ai 14358). A model that stopped by itself, and in no string, was done.
            if call.stopped && !call.writer.in_string() {
                end(choice, call, ClosedBy::FinishReason, sink);
            } else {
                append(call.writer.cut(), choice, sink);
            }
        }
    }
}

impl Gemini {
    fn speak(&mut self, chunk: &Chunk<'_>, sink: &mut dyn DeltaSink) {
        for candidate in &chunk.candidates {
            let choice = candidate.index;
            let reason = candidate.reason.map(Text::to_cow);
            let said = reason.as_deref().map(meaning);
            let finish = |sink: &mut dyn DeltaSink| {
                if let (Some(reason), Some(meaning)) = (&reason, said) {
                    report_finish(choice, reason, meaning, sink);
                    sink.delta(&Delta::MayEnd);
                }
            };
            // The reason is about the calls beside it: it must be known before they are handed out.
            if said == Some(FinishMeaning::MalformedCall) {
                finish(sink);
            }
            for part in &candidate.parts {
                self.speak_part(part, choice, sink);
            }
            if said != Some(FinishMeaning::MalformedCall) {
                finish(sink);
            }
            let goes_on = said.is_some() || !candidate.parts.is_empty();
            if let Some(open) = self.open.get_mut(&choice).filter(|_| goes_on) {
                open.stopped = said == Some(FinishMeaning::Stop);
            }
        }
        if let Some(reason) = chunk.block_reason.map(Text::to_cow) {
            let meaning = FinishMeaning::Filtered;
            report_finish(0, &reason, meaning, sink);
            sink.delta(&Delta::MayEnd);
        }
        if let Some(usage) = chunk.usage {
            sink.delta(&Delta::Usage(usage));
        }
    }

    fn speak_part(&mut self, part: &Part<'_>, choice: u32, sink: &mut dyn DeltaSink) {
        let extras = part.signature.map(|raw| [("thoughtSignature", raw)]);
        let extras = extras.as_ref().map_or(&[][..], |extras| extras.as_slice());
        if let Some(text) = part.text {
            let kind = if part.thought {
                TextKind::Reasoning
            } else {
                TextKind::Answer
            };
            sink.delta(&Delta::Text {
                choice,
                kind,
                text: text.fragment(&mut self.scratch),
            });
        }
        match &part.what {
            What::Call(call) => return self.speak_call(call, extras, choice, sink),
            What::Provider(call) => return self.speak_provider(call, extras, choice, sink),
            What::Unknown => {}
        }
        let signature = part
            .signature
            .and_then(|raw| Cursor::new(raw).text().ok().flatten());
        if let Some(signature) = signature {
            let text = signature.fragment(&mut self.scratch);
            sink.delta(&Delta::Text {
                choice,
                kind: TextKind::Signature,
                text,
            });
        }
    }

    fn speak_call(
        &mut self,
        call: &Call<'_>,
        extras: &[(&str, &str)],
        choice: u32,
        sink: &mut dyn DeltaSink,
    ) {
        let (id, name) = (call.id.map(Text::to_cow), call.name.map(Text::to_cow));
        let open = self.open.get(&choice);
        // An id that comes again is the same call's; a name alone never is.
        let same = open.is_some_and(|open| id.is_some() && open.id.as_deref() == id.as_deref());
        let streamed = call.continues || call.entries.is_some();
        let mut delta = CallDelta::new()
            .choice(choice)
            .id(id.as_deref())
            .name(name.as_deref());
        delta.extras = extras;
        delta.object = call.object;
        // Values or an id without a call to belong to make a call of their own, flagged for want of a name.
        let lone = call.args.is_some() || call.entries.is_some() || id.is_some();
        let opens = (name.is_some() && !same) || (open.is_none() && lone);
        if opens {
            self.end_open(choice, sink);
            delta.route = Route::Opens;
            if !streamed {
                delta.arguments = ArgumentsPart::Whole(call.args.unwrap_or("{}"));
                sink.delta(&Delta::Call(delta));
                return close(choice, ClosedBy::Arrival, sink);
            }
            delta.arguments = call
                .args
                .map_or(ArgumentsPart::None, ArgumentsPart::Initial);
            sink.delta(&Delta::Call(delta));
            let id = id.map(|id| id.into_owned());
            let given = call.args.is_some();
            self.open.insert(
                choice,
                Streamed {
                    id,
                    given,
                    ..Streamed::default()
                },
            );
        } else if open.is_some() {
            delta.route = Route::Labelled;
            // The one open call is meant, whatever label it had.
            delta.key.id = None;
            delta.name = None;
            delta.arguments = call.args.map_or(ArgumentsPart::None, ArgumentsPart::Whole);
            if !extras.is_empty() || call.args.is_some() {
                sink.delta(&Delta::Call(delta));
            }
        }
        let Some(open) = self.open.get_mut(&choice) else {
            return;
        };
        open.given |= call.args.is_some();
        speak_entries(
            call.entries.unwrap_or_default(),
            &mut open.writer,
            choice,
            sink,
        );
        let in_string = call.entries.is_some() && open.writer.in_string();
        if !call.continues && !in_string {
            self.end_open(choice, sink);
        }
    }

    /// Calls come strictly one after another, so that whatever follows a streamed call ends it.
    fn end_open(&mut self, choice: u32, sink: &mut dyn DeltaSink) {
        if let Some(open) = self.open.remove(&choice) {
            end(choice, open, ClosedBy::BlockStop, sink);
        }
    }

    fn speak_provider(
        &mut self,
        call: &Provider<'_>,
        extras: &[(&str, &str)],
        choice: u32,
        sink: &mut dyn DeltaSink,
    ) {
        self.end_open(choice, sink);
        let (id, tool) = (call.id.map(Text::to_cow), call.tool.map(Text::to_cow));
        let kind = ToolKind::BuiltIn(call.kind.into());
        self.written.clear();
        let name = match call.kind {
            // Code is no JSON; as an argument it is.
            "executableCode" => {
                let (language, code) =
                    (call.language.unwrap_or("null"), call.code.unwrap_or("null"));
                let _ = write!(self.written, r#"{{"language":{language},"code":{code}}}"#);
                Some("code_execution")
            }
            _ => {
                self.written.push_str(call.args.unwrap_or("{}"));
                tool.as_deref()
            }
        };
        let mut delta = CallDelta::new().choice(choice).id(id.as_deref()).name(name);
        delta.route = Route::Opens;
        delta.kind = Some(&kind);
        delta.executor = Some(Executor::Provider);
        delta.arguments = ArgumentsPart::Whole(&self.written);
        delta.extras = extras;
        sink.delta(&Delta::Call(delta));
        close(choice, ClosedBy::Arrival, sink);
    }
}

fn speak_entries(entries: &str, writer: &mut Writer, choice: u32, sink: &mut dyn DeltaSink) {
    writer.next();
    let mut cursor = Cursor::new(entries);
    let mut broken = None;
    // The text was checked with the rest of its document.
    let _ = cursor.elements(|cursor| {
        broken = writer.push(&Entry::read(cursor)?).err().or(broken);
        Ok(())
    });
    // What came before the fault is not in doubt.
    append(writer.piece(), choice, sink);
    if let Some(bytes) = writer.grown() {
        let mut delta = CallDelta::new().choice(choice).route(Route::Labelled);
        delta.held_bytes = bytes;
        sink.delta(&Delta::Call(delta));
    }
    if let Some(broken) = broken {
        undecodable(broken, sink);
    }
}

/// The streamed call ends here.
fn end(choice: u32, mut call: Streamed, by: ClosedBy, sink: &mut dyn DeltaSink) {
    call.writer.next();
    match call.writer.close() {
        Ok(Closing::Piece) if call.writer.is_blank() => {
            append(if call.given { "" } else { "{}" }, choice, sink);
        }
        Ok(Closing::Piece) => append(call.writer.piece(), choice, sink),
        Ok(Closing::Restated(text)) => {
            let mut delta = CallDelta::new().choice(choice).route(Route::Labelled);
            delta.arguments = ArgumentsPart::Restated(&text);
            sink.delta(&Delta::Call(delta));
        }
        Ok(Closing::Cut) => {}
        Err(broken) => {
            append(call.writer.cut(), choice, sink);
            undecodable(broken, sink);
        }
    }
    close(choice, by, sink);
}

fn append(piece: &str, choice: u32, sink: &mut dyn DeltaSink) {
    if !piece.is_empty() {
        let mut delta = CallDelta::new().choice(choice).route(Route::Labelled);
        delta.arguments = ArgumentsPart::Fragment(Fragment::new(piece));
        sink.delta(&Delta::Call(delta));
    }
}

/// No label: the call just spoken of is the newest.
fn close(choice: u32, by: ClosedBy, sink: &mut dyn DeltaSink) {
    sink.delta(&Delta::Close {
        key: CallKey {
            choice,
            ..CallKey::default()
        },
        by,
    });
}

fn undecodable(broken: Broken, sink: &mut dyn DeltaSink) {
    sink.delta(&Delta::Undecodable {
        problem: broken.problem(),
    });
}

/// `STOP` also where calls were made.
fn meaning(reason: &str) -> FinishMeaning {
    match reason {
        "STOP" => FinishMeaning::Stop,
        "MAX_TOKENS" => FinishMeaning::Length,
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "TOO_MANY_TOOL_CALLS" => {
            FinishMeaning::MalformedCall
        }
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => FinishMeaning::Filtered,
        "MALFORMED_RESPONSE" | "MISSING_THOUGHT_SIGNATURE" => FinishMeaning::Error,
        _ => FinishMeaning::Other,
    }
}
