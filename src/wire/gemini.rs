//! Gemini `streamGenerateContent` (WIRE_FORMATS 4), as server-sent events or as one JSON array.
//!
//! Letter to the next reader. A call is one part and whole on arrival; neither its place among the parts nor its name tells it
//! from another, so each opens a call of its own and closes it at once. Vertex can stream a call's arguments: such a call
//! stays open, one at a time in each candidate, and its entries are turned into argument text by [`partial_args`]. The reason
//! comes with the last parts, before them or after them; one that says the calls cannot be trusted is spoken before them.

mod json_path;
mod partial_args;

use std::collections::BTreeMap;
use std::fmt::Write;

use smallvec::SmallVec;

use crate::delta::{
    ArgumentsPart, CallDelta, CallKey, ClosedBy, Delta, DeltaSink, Executor, FinishMeaning,
    Fragment, Route, TextKind, ToolKind,
};
use crate::framing::Frame;
use crate::json::cursor::{Cursor, Fault, Kind, Text};
use crate::wire::Decoder;
use crate::wire::payload::{Json, JsonDecoder, error, object, report_error};

use partial_args::{Broken, Closing, Entry, Writer};

pub(super) fn decoder() -> Box<dyn Decoder> {
    Box::new(Json::<Gemini>::default())
}

#[derive(Debug, Default)]
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
#[derive(Debug, Default)]
struct Streamed {
    id: Option<String>,
    writer: Writer,
    /// The header held arguments, which stand if no entry comes.
    given: bool,
    /// The model stopped by itself after the last part.
    stopped: bool,
}

/// One provider event, read and not yet spoken.
#[derive(Default)]
struct Chunk<'a> {
    candidates: SmallVec<[Candidate<'a>; 1]>,
    block_reason: Option<Text<'a>>,
    error: Option<&'a str>,
    usage: Option<&'a str>,
}

#[derive(Default)]
struct Candidate<'a> {
    index: u32,
    parts: SmallVec<[Part<'a>; 1]>,
    reason: Option<Text<'a>>,
}

#[derive(Default)]
struct Part<'a> {
    what: What<'a>,
    thought: bool,
    /// The raw `thoughtSignature`, a sibling of what it signs.
    signature: Option<&'a str>,
}

#[derive(Default)]
enum What<'a> {
    #[default]
    Unknown,
    Text(Text<'a>),
    Call(Call<'a>),
    /// `toolCall` and `executableCode`: the provider runs them.
    Provider(Provider<'a>),
}

/// `functionCall`.
#[derive(Default)]
struct Call<'a> {
    id: Option<Text<'a>>,
    name: Option<Text<'a>>,
    args: Option<&'a str>,
    /// The raw `partialArgs`, checked.
    entries: Option<&'a str>,
    continues: bool,
}

#[derive(Default)]
struct Provider<'a> {
    kind: &'static str,
    id: Option<Text<'a>>,
    tool: Option<Text<'a>>,
    args: Option<&'a str>,
    language: Option<&'a str>,
    code: Option<&'a str>,
}

impl JsonDecoder for Gemini {
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

fn read_chunk<'a>(cursor: &mut Cursor<'a>) -> Result<Chunk<'a>, Fault> {
    let mut chunk = Chunk::default();
    cursor.members(|cursor, key| {
        match key {
            b"candidates" => cursor.elements(|cursor| {
                chunk.candidates.push(read_candidate(cursor)?);
                Ok(())
            })?,
            b"promptFeedback" => drop(cursor.members(|cursor, key| {
                match key {
                    b"blockReason" => chunk.block_reason = cursor.label()?,
                    _ => cursor.skip()?,
                }
                Ok(())
            })?),
            b"usageMetadata" => chunk.usage = object(cursor)?,
            b"error" => chunk.error = error(cursor)?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(chunk)
}

fn read_candidate<'a>(cursor: &mut Cursor<'a>) -> Result<Candidate<'a>, Fault> {
    let mut candidate = Candidate::default();
    cursor.members(|cursor, key| {
        match key {
            b"index" => {
                let index = cursor
                    .integer()?
                    .and_then(|index| u32::try_from(index).ok());
                candidate.index = index.unwrap_or(0);
            }
            b"content" => drop(cursor.members(|cursor, key| match key {
                b"parts" => cursor.elements(|cursor| {
                    candidate.parts.push(read_part(cursor)?);
                    Ok(())
                }),
                _ => cursor.skip(),
            })?),
            b"finishReason" => candidate.reason = cursor.label()?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(candidate)
}

fn read_part<'a>(cursor: &mut Cursor<'a>) -> Result<Part<'a>, Fault> {
    let mut part = Part::default();
    cursor.members(|cursor, key| {
        match key {
            b"text" => {
                if let Some(text) = cursor.text()? {
                    part.what = What::Text(text);
                }
            }
            b"thought" => part.thought = cursor.boolean()?,
            b"thoughtSignature" => {
                part.signature = Some(cursor.raw()?).filter(|raw| !matches!(*raw, "null" | "\"\""));
            }
            b"functionCall" if cursor.kind()? == Kind::Object => {
                part.what = What::Call(read_call(cursor)?);
            }
            b"executableCode" if cursor.kind()? == Kind::Object => {
                part.what = What::Provider(read_provider(cursor, "executableCode")?);
            }
            b"toolCall" if cursor.kind()? == Kind::Object => {
                part.what = What::Provider(read_provider(cursor, "toolCall")?);
            }
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(part)
}

fn read_call<'a>(cursor: &mut Cursor<'a>) -> Result<Call<'a>, Fault> {
    let mut call = Call::default();
    cursor.members(|cursor, key| {
        match key {
            b"id" => call.id = cursor.label()?,
            b"name" => call.name = cursor.label()?,
            b"args" => call.args = Some(cursor.raw()?).filter(|&args| args != "null"),
            b"partialArgs" => call.entries = Some(cursor.raw()?).filter(|&raw| raw != "null"),
            b"willContinue" => call.continues = cursor.boolean()?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(call)
}

fn read_provider<'a>(cursor: &mut Cursor<'a>, kind: &'static str) -> Result<Provider<'a>, Fault> {
    let mut provider = Provider {
        kind,
        ..Provider::default()
    };
    cursor.members(|cursor, key| {
        match key {
            b"id" => provider.id = cursor.label()?,
            b"toolType" => provider.tool = cursor.label()?,
            b"args" => provider.args = Some(cursor.raw()?).filter(|&args| args != "null"),
            b"language" => provider.language = Some(cursor.raw()?),
            b"code" => provider.code = Some(cursor.raw()?),
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(provider)
}

impl Gemini {
    fn speak(&mut self, chunk: &Chunk<'_>, sink: &mut dyn DeltaSink) {
        for candidate in &chunk.candidates {
            let choice = candidate.index;
            let reason = candidate.reason.map(Text::to_cow);
            let said = reason.as_deref().map(meaning);
            let finish = |sink: &mut dyn DeltaSink| {
                if let (Some(reason), Some(meaning)) = (&reason, said) {
                    sink.delta(&Delta::Finish {
                        choice,
                        reason,
                        native: None,
                        meaning,
                    });
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
            if let Some(open) = self.open.get_mut(&choice) {
                open.stopped = said == Some(FinishMeaning::Stop);
            }
        }
        if let Some(reason) = chunk.block_reason.map(Text::to_cow) {
            let meaning = FinishMeaning::Filtered;
            sink.delta(&Delta::Finish {
                choice: 0,
                reason: &reason,
                native: None,
                meaning,
            });
            sink.delta(&Delta::MayEnd);
        }
        if let Some(usage) = chunk.usage {
            sink.delta(&Delta::Usage(usage));
        }
    }

    fn speak_part(&mut self, part: &Part<'_>, choice: u32, sink: &mut dyn DeltaSink) {
        let extras = part.signature.map(|raw| [("thoughtSignature", raw)]);
        let extras = extras.as_ref().map_or(&[][..], |extras| extras.as_slice());
        match &part.what {
            What::Call(call) => return self.speak_call(call, extras, choice, sink),
            What::Provider(call) => return self.speak_provider(call, extras, choice, sink),
            What::Text(text) if !text.raw.is_empty() => {
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
            What::Text(_) | What::Unknown => {}
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

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::wire::spoken::spoken;

    fn says(payloads: &[&str]) -> Vec<String> {
        spoken(decoder(), payloads)
    }

    /// The parts of one candidate, each in a chunk of its own, and what is said of the calls.
    fn says_of_parts(parts: &[&str]) -> Vec<String> {
        let chunk = |part: &&str| {
            format!(r#"{{"candidates":[{{"content":{{"role":"model","parts":[{part}]}}}}]}}"#)
        };
        let chunks: Vec<String> = parts.iter().map(chunk).collect();
        says(&chunks.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// All that was appended to one call.
    fn text_of(lines: &[String]) -> String {
        lines
            .iter()
            .filter_map(|line| line.strip_prefix("labelled + "))
            .collect()
    }

    #[test]
    fn a_call_is_whole_on_arrival_and_keeps_its_id_and_signature() {
        let first = r#"{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"id":"call_8110","name":"tide_height","args":{"port":"Brest"}},"thoughtSignature":"c2lnbmF0dXJl"}]},"index":0}],"usageMetadata":{"promptTokenCount":50},"modelVersion":"gemini-demo","responseId":"r-1"}"#;
        let last = r#"{"candidates":[{"content":{"role":"model","parts":[{"text":""}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":50,"candidatesTokenCount":9},"modelVersion":"gemini-demo","responseId":"r-1"}"#;
        assert_eq!(
            says(&[first, last]),
            [
                r#"opens call_8110 name tide_height thoughtSignature="c2lnbmF0dXJl" whole {"port":"Brest"}"#,
                "close Arrival",
                r#"usage {"promptTokenCount":50}"#,
                "finish STOP Stop",
                "may end",
                r#"usage {"promptTokenCount":50,"candidatesTokenCount":9}"#,
            ]
        );
    }

    #[test]
    fn parallel_calls_of_one_tool_are_told_apart_in_one_chunk_and_in_two() {
        let call = |port: &str| {
            format!(r#"{{"functionCall":{{"name":"tide_height","args":{{"port":"{port}"}}}}}}"#)
        };
        let (one, two) = (call("Brest"), call("Vigo"));
        let expected = [
            r#"opens name tide_height whole {"port":"Brest"}"#,
            "close Arrival",
            r#"opens name tide_height whole {"port":"Vigo"}"#,
            "close Arrival",
        ];
        assert_eq!(says_of_parts(&[&one, &two]), expected);
        assert_eq!(says_of_parts(&[&format!("{one},{two}")]), expected);
        assert_eq!(says_of_parts(&[&one, &one]).len(), 4);
    }

    #[test]
    fn a_call_without_arguments_has_none() {
        let expected = ["opens name now whole {}", "close Arrival"];
        for call in [
            r#"{"name":"now"}"#,
            r#"{"name":"now","args":{}}"#,
            r#"{"name":"now","args":null}"#,
            r#"{"name":"now","willContinue":false}"#,
        ] {
            assert_eq!(
                says_of_parts(&[&format!(r#"{{"functionCall":{call}}}"#)]),
                expected
            );
        }
    }

    #[test]
    fn a_reason_that_spoils_the_calls_is_spoken_before_them() {
        for reason in [
            "MALFORMED_FUNCTION_CALL",
            "UNEXPECTED_TOOL_CALL",
            "TOO_MANY_TOOL_CALLS",
        ] {
            let chunk = format!(
                r#"{{"candidates":[{{"content":{{"parts":[{{"functionCall":{{"name":"f"}}}}]}},"finishReason":"{reason}"}}]}}"#
            );
            let said = says(&[&chunk]);
            assert_eq!(said[0], format!("finish {reason} MalformedCall"));
            assert_eq!(said[2..], ["opens name f whole {}", "close Arrival"]);
        }
    }

    #[test]
    fn reasons_mean_what_they_say() {
        use FinishMeaning::*;
        for (reason, expected) in [
            ("STOP", Stop),
            ("MAX_TOKENS", Length),
            ("SAFETY", Filtered),
            ("PROHIBITED_CONTENT", Filtered),
            ("OTHER", Other),
            ("NO_SUCH_REASON", Other),
        ] {
            assert_eq!(meaning(reason), expected, "{reason}");
        }
    }

    #[test]
    fn a_blocked_prompt_is_a_filtered_end() {
        let said = says(&[r#"{"promptFeedback":{"blockReason":"SAFETY","safetyRatings":[]}}"#]);
        assert_eq!(said, ["finish SAFETY Filtered", "may end"]);
        assert!(says(&[r#"{"promptFeedback":{"safetyRatings":[]}}"#]).is_empty());
    }

    #[test]
    fn text_thoughts_and_their_signatures_pass() {
        let said = says_of_parts(&[
            r#"{"text":"Let me see.","thought":true}"#,
            r#"{"text":"Low \u00e0 9."}"#,
            r#"{"text":"","thoughtSignature":"c2ln"}"#,
            r#"{"inlineData":{"mimeType":"image/png","data":"AA"}}"#,
        ]);
        assert_eq!(
            said,
            ["Reasoning Let me see.", "Answer Low à 9.", "Signature c2ln"]
        );
    }

    #[test]
    fn what_the_provider_runs_is_a_call_of_the_provider() {
        let said = says_of_parts(&[
            r#"{"executableCode":{"language":"PYTHON","code":"print(\"a\")\n","id":"x1"}}"#,
            r#"{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"a\n"}}"#,
            r#"{"toolCall":{"id":"t1","toolType":"GOOGLE_SEARCH_WEB","args":{"queries":["a"]}},"thoughtSignature":"c2ln"}"#,
            r#"{"toolResponse":{"id":"t1"}}"#,
        ]);
        assert_eq!(
            said,
            [
                r#"opens x1 name code_execution kind executableCode executor provider whole {"language":"PYTHON","code":"print(\"a\")\n"}"#,
                "close Arrival",
                r#"opens t1 name GOOGLE_SEARCH_WEB kind toolCall executor provider thoughtSignature="c2ln" whole {"queries":["a"]}"#,
                "close Arrival",
            ]
        );
    }

    #[test]
    fn each_candidate_is_a_choice() {
        let said = says(&[r#"{"candidates":[
            {"content":{"parts":[{"functionCall":{"name":"a"}}]},"index":1,"finishReason":"STOP"},
            {"content":{"parts":[{"functionCall":{"name":"b"}}]},"index":0}]}"#]);
        assert_eq!(
            said,
            [
                "opens choice 1 name a whole {}",
                "close choice 1 Arrival",
                "finish choice 1 STOP Stop",
                "may end",
                "opens name b whole {}",
                "close Arrival",
            ]
        );
    }

    #[test]
    fn an_error_comes_after_what_its_event_holds_and_in_any_shape() {
        let error = r#"{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}"#;
        assert_eq!(says(&[error]), ["error overloaded (503)"]);
        assert_eq!(says(&[&format!("[{error}]")]), ["error overloaded (503)"]);
        let both = r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"}}]}}],"error":{"message":"m"}}"#;
        assert_eq!(
            says(&[both]),
            ["opens name f whole {}", "close Arrival", "error m"]
        );
        assert!(says(&[r#"{"error":null}"#]).is_empty());
    }

    #[test]
    fn wrong_shapes_cost_one_field() {
        assert!(says(&[r#"{"candidates":null,"usageMetadata":3}"#]).is_empty());
        assert!(says_of_parts(&["null", r#"{"functionCall":"f"}"#, r#"{"text":7}"#]).is_empty());
        assert_eq!(
            says_of_parts(&[r#"{"functionCall":{"name":7,"args":"{\"a\":1}"}}"#]),
            [r#"opens name 7 whole "{\"a\":1}""#, "close Arrival"]
        );
        assert_eq!(
            says_of_parts(&[r#"{"functionCall":{"args":{"a":1}}}"#]),
            [r#"opens whole {"a":1}"#, "close Arrival"]
        );
    }

    #[test]
    fn streamed_arguments_become_argument_text_as_they_come() {
        let said = says(&[
            r#"{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"book_slot","willContinue":true},"thoughtSignature":"c2ln"}]}}],"responseId":"r-3"}"#,
            r#"{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.dock","stringValue":"Nor","willContinue":true}],"willContinue":true}}]}}],"responseId":"r-3"}"#,
            r#"{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.dock","stringValue":"th"}],"willContinue":true}}]}}],"responseId":"r-3"}"#,
            r#"{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.hours[0]","numberValue":6},{"jsonPath":"$.hours[1]","numberValue":7}],"willContinue":true}}]}}],"responseId":"r-3"}"#,
            r#"{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{}}]},"finishReason":"STOP"}],"responseId":"r-3"}"#,
        ]);
        assert_eq!(
            said,
            [
                r#"opens name book_slot thoughtSignature="c2ln""#,
                r#"labelled + {"dock":"Nor"#,
                r#"labelled + th""#,
                r#"labelled + ,"hours":[6,7"#,
                "labelled + ]}",
                "close BlockStop",
                "finish STOP Stop",
                "may end",
            ]
        );
    }

    const HEADER: &str = r#"{"functionCall":{"name":"f","willContinue":true}}"#;
    const END: &str = r#"{"functionCall":{}}"#;

    fn values(entries: &str) -> String {
        format!(r#"{{"functionCall":{{"partialArgs":[{entries}],"willContinue":true}}}}"#)
    }

    #[test]
    fn a_streamed_call_ends_in_every_way_the_wire_knows() {
        let last =
            r#"{"functionCall":{"partialArgs":[{"jsonPath":"$.a","numberValue":1}]}}"#.to_owned();
        let more = values(r#"{"jsonPath":"$.a","numberValue":1}"#);
        let next = r#"{"functionCall":{"name":"f","args":{}}}"#;
        for parts in [
            &[HEADER, &last][..],
            &[HEADER, &more, END],
            &[
                HEADER,
                &more,
                r#"{"functionCall":{"willContinue":true}}"#,
                END,
            ],
            &[HEADER, &more, next],
            &[
                HEADER,
                &more,
                r#"{"executableCode":{"language":"PYTHON","code":"1"}}"#,
            ],
            &[
                r#"{"functionCall":{"name":"f","partialArgs":[{"jsonPath":"$.a","numberValue":1}]}}"#,
            ],
        ] {
            let said = says_of_parts(parts);
            assert_eq!(text_of(&said), r#"{"a":1}"#, "{parts:?}");
            assert!(said.contains(&"close BlockStop".to_owned()), "{parts:?}");
        }
        assert_eq!(
            says_of_parts(&[HEADER, END, END]),
            ["opens name f", "labelled + {}", "close BlockStop"]
        );
    }

    #[test]
    fn a_streamed_call_that_nothing_ended_stays_cut_unless_the_model_stopped() {
        let more = values(r#"{"jsonPath":"$.a","numberValue":1}"#);
        let open = values(r#"{"jsonPath":"$.s","stringValue":"x","willContinue":true}"#);
        let ends = |values: &str, reason: &str| {
            let chunk = |part: &str, reason: &str| {
                format!(
                    r#"{{"candidates":[{{"content":{{"parts":[{part}]}},"finishReason":"{reason}"}}]}}"#
                )
            };
            let said = says(&[&chunk(HEADER, ""), &chunk(values, ""), &chunk("", reason)]);
            (
                text_of(&said),
                said.iter().any(|line| line.starts_with("close")),
            )
        };
        assert_eq!(ends(&more, "STOP"), (r#"{"a":1}"#.to_owned(), true));
        assert_eq!(ends(&more, "MAX_TOKENS"), (r#"{"a":1 "#.to_owned(), false));
        assert_eq!(ends(&more, ""), (r#"{"a":1 "#.to_owned(), false));
        assert_eq!(ends(&open, "STOP"), (r#"{"s":"x"#.to_owned(), false));
    }

    #[test]
    fn a_value_part_without_a_call_is_a_call_without_a_name() {
        let said = says_of_parts(&[&values(r#"{"jsonPath":"$.a","numberValue":1}"#), END]);
        assert_eq!(
            said,
            [
                "opens",
                r#"labelled + {"a":1"#,
                "labelled + }",
                "close BlockStop"
            ]
        );
        assert!(says_of_parts(&[END, r#"{"functionCall":{"willContinue":true}}"#]).is_empty());
    }

    #[test]
    fn an_id_that_comes_again_continues_its_call() {
        let part = |entries: &str| {
            format!(
                r#"{{"functionCall":{{"id":"c1","name":"f","partialArgs":[{entries}],"willContinue":true}}}}"#
            )
        };
        let said = says_of_parts(&[
            &part(r#"{"jsonPath":"$.a","numberValue":1}"#),
            &part(r#"{"jsonPath":"$.b","numberValue":2}"#),
            END,
        ]);
        assert_eq!(
            said.iter().filter(|line| line.starts_with("opens")).count(),
            1
        );
        assert_eq!(text_of(&said), r#"{"a":1,"b":2}"#);
    }

    #[test]
    fn two_candidates_stream_a_call_each() {
        let chunk = |choice: u32, part: &str| {
            format!(r#"{{"candidates":[{{"content":{{"parts":[{part}]}},"index":{choice}}}]}}"#)
        };
        let value = values(r#"{"jsonPath":"$.a","numberValue":1}"#);
        let chunks: Vec<String> = [HEADER, &value, END]
            .iter()
            .flat_map(|part| [chunk(0, part), chunk(1, part)])
            .collect();
        let said = says(&chunks.iter().map(String::as_str).collect::<Vec<_>>());
        let of =
            |choice: &str| -> Vec<_> { said.iter().filter(|line| line.contains(choice)).collect() };
        assert_eq!(of("choice 1").len(), 4);
        assert_eq!(said.len(), 8);
    }

    #[test]
    fn paths_that_go_back_are_stated_whole_at_the_close() {
        let said = says_of_parts(&[
            HEADER,
            &values(r#"{"jsonPath":"$.a.x","numberValue":1},{"jsonPath":"$.b","numberValue":2}"#),
            &values(r#"{"jsonPath":"$.a.y","numberValue":3}"#),
            END,
        ]);
        assert_eq!(
            said,
            [
                "opens name f",
                r#"labelled + {"a":{"x":1},"b":2"#,
                r#"labelled restated {"a":{"x":1,"y":3},"b":2}"#,
                "close BlockStop",
            ]
        );
    }

    #[test]
    fn a_call_with_an_unreadable_path_never_looks_finished() {
        for path in [
            "",
            "$",
            "a",
            "$..a",
            "$[*]",
            "$[-1]",
            "$['a",
            "$.a[99999999999]",
            "$.a.",
        ] {
            let said = says_of_parts(&[
                HEADER,
                &values(&format!(r#"{{"jsonPath":"{path}","numberValue":1}}"#)),
                &values(r#"{"jsonPath":"$.b","numberValue":1}"#),
                END,
            ]);
            assert_eq!(
                said,
                [
                    "opens name f",
                    "labelled + {",
                    "undecodable: a jsonPath of streamed arguments cannot be read",
                    "close BlockStop",
                ],
                "{path}"
            );
        }
    }
}
