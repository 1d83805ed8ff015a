//! OpenAI Chat Completions and its many relatives (WIRE_FORMATS 1, 7 and 9).
//!
//! Letter to the next reader. The wire has no event that opens or closes one call, so every entry goes out with
//! [`Route::Table`] and everything it says of identity; the routing is not done here. An event is read to its end first and
//! only then spoken, in this order: error, text, calls, reason, usage (Q55: the delta before the reason).

use smallvec::SmallVec;

use crate::anomaly::AnomalyKind;
use crate::delta::{
    ArgumentsPart, CallDelta, CallKey, Delta, DeltaSink, FinishMeaning, Route, TextKind, ToolKind,
};
use crate::framing::Frame;
use crate::json::cursor::{Cursor, Fault, Kind, Text};
use crate::wire::Decoder;
use crate::wire::payload::{Arguments, Json, JsonDecoder, error, object, report_error};

pub(super) fn decoder() -> Box<dyn Decoder> {
    Box::new(Json::<OpenAiChat>::default())
}

#[derive(Default)]
struct OpenAiChat {
    /// Holds a decoded text while it is spoken.
    scratch: Vec<u8>,
}

/// One provider event, read and not yet spoken.
#[derive(Default)]
struct Chunk<'a> {
    error: Option<&'a str>,
    /// `"object":"error"`, an older vLLM's error.
    is_error: bool,
    usage: Option<&'a str>,
    choices: SmallVec<[Choice<'a>; 1]>,
}

#[derive(Default)]
struct Choice<'a> {
    index: u32,
    texts: SmallVec<[(TextKind, Text<'a>); 1]>,
    calls: SmallVec<[Entry<'a>; 1]>,
    legacy: Option<Box<Entry<'a>>>,
    /// The calls in the `message` of a server that streams whole messages, used only where the delta has none (Q69).
    message: SmallVec<[Entry<'a>; 0]>,
    message_legacy: Option<Box<Entry<'a>>>,
    reason: Option<Text<'a>>,
    native: Option<Text<'a>>,
    usage: Option<&'a str>,
}

#[derive(Default)]
struct Entry<'a> {
    index: Option<i64>,
    id: Option<Text<'a>>,
    /// llama.cpp once sent the id inside `function` (Q27).
    inner_id: Option<Text<'a>>,
    name: Option<Text<'a>>,
    arguments: Arguments<'a>,
    custom: bool,
    extras: Vec<(&'static str, &'a str)>,
}

impl Entry<'_> {
    /// Nothing but arguments for a call with an index: what nearly every entry is.
    fn is_bare(&self) -> bool {
        self.index.is_some()
            && self.id.is_none()
            && self.inner_id.is_none()
            && self.name.is_none()
            && !self.custom
            && self.extras.is_empty()
    }

    /// Text for a call that it does not name: such entries may pair with the calls before them by their place (11.3).
    fn is_nameless(&self) -> bool {
        let speaks = match self.arguments {
            Arguments::Text(text) => !text.raw.is_empty(),
            Arguments::Value { .. } => true,
            Arguments::Absent | Arguments::Null => false,
        };
        speaks
            && self.index.is_none_or(|index| index < 0)
            && self.id.is_none()
            && self.inner_id.is_none()
            && self.name.is_none()
    }
}

impl JsonDecoder for OpenAiChat {
    const ECHOES: bool = true;

    fn document(
        &mut self,
        cursor: &mut Cursor<'_>,
        _: Frame<'_>,
        sink: &mut dyn DeltaSink,
    ) -> Result<(), Fault> {
        let mut chunk = Chunk::default();
        read_chunk(cursor, &mut chunk)?;
        cursor.end()?;
        self.speak(&chunk, cursor.document(), sink);
        Ok(())
    }
}

fn read_chunk<'a>(cursor: &mut Cursor<'a>, chunk: &mut Chunk<'a>) -> Result<(), Fault> {
    let visit = |cursor: &mut Cursor<'a>, key: &[u8]| {
        match key {
            b"choices" => cursor.elements(|cursor| {
                // Filled where it lies: a choice is large, and moving it costs more than reading it.
                chunk.choices.push(Choice::default());
                match chunk.choices.last_mut() {
                    Some(choice) => read_choice(cursor, choice),
                    None => cursor.skip(),
                }
            })?,
            b"error" => chunk.error = error(cursor)?,
            b"object" => {
                chunk.is_error = cursor.text()?.is_some_and(|object| object.raw == "error")
            }
            b"usage" | b"x_groq" => chunk.usage = object(cursor)?.or(chunk.usage),
            _ => cursor.skip()?,
        }
        Ok(())
    };
    cursor.members(visit).map(drop)
}

fn read_choice<'a>(cursor: &mut Cursor<'a>, choice: &mut Choice<'a>) -> Result<(), Fault> {
    let visit = |cursor: &mut Cursor<'a>, key: &[u8]| {
        match key {
            b"index" => {
                choice.index = cursor
                    .integer()?
                    .and_then(|index| u32::try_from(index).ok())
                    .unwrap_or(0)
            }
            b"delta" => read_delta(cursor, choice)?,
            b"message" => cursor
                .members(|cursor, key| match key {
                    b"tool_calls" => read_entries(cursor, &mut choice.message),
                    b"function_call" => {
                        choice.message_legacy = read_legacy(cursor)?;
                        Ok(())
                    }
                    _ => cursor.skip(),
                })
                .map(drop)?,
            b"finish_reason" => choice.reason = cursor.label()?,
            b"native_finish_reason" => choice.native = cursor.label()?,
            b"usage" => choice.usage = object(cursor)?,
            _ => cursor.skip()?,
        }
        Ok(())
    };
    cursor.members(visit).map(drop)
}

fn read_delta<'a>(cursor: &mut Cursor<'a>, choice: &mut Choice<'a>) -> Result<(), Fault> {
    cursor
        .members(|cursor, key| {
            let kind = match key {
                b"tool_calls" => return read_entries(cursor, &mut choice.calls),
                b"function_call" => {
                    choice.legacy = read_legacy(cursor)?.or(choice.legacy.take());
                    return Ok(());
                }
                b"content" => TextKind::Answer,
                b"refusal" => TextKind::Refusal,
                b"reasoning_content" | b"reasoning" => TextKind::Reasoning,
                _ => return cursor.skip(),
            };
            match cursor.kind()? {
                // Mistral's thinking models send content as a list of parts.
                Kind::Array => read_parts(cursor, choice),
                _ => {
                    let text = cursor.text()?.filter(|text| !text.raw.is_empty());
                    choice.texts.extend(text.map(|text| (kind, text)));
                    Ok(())
                }
            }
        })
        .map(drop)
}

/// `[{"type":"text","text":"…"},{"type":"thinking","thinking":[{"type":"text","text":"…"}]}]`.
fn read_parts<'a>(cursor: &mut Cursor<'a>, choice: &mut Choice<'a>) -> Result<(), Fault> {
    let mut kind = TextKind::Answer;
    cursor.elements(|cursor| {
        cursor
            .members(|cursor, key| {
                match key {
                    b"text" => choice
                        .texts
                        .extend(cursor.text()?.map(|text| (TextKind::Answer, text))),
                    b"thinking" => {
                        kind = TextKind::Reasoning;
                        cursor.elements(|cursor| {
                            cursor
                                .members(|cursor, key| match key {
                                    b"text" => {
                                        choice
                                            .texts
                                            .extend(cursor.text()?.map(|text| (kind, text)));
                                        Ok(())
                                    }
                                    _ => cursor.skip(),
                                })
                                .map(drop)
                        })?;
                    }
                    _ => cursor.skip()?,
                }
                Ok(())
            })
            .map(drop)
    })
}

fn read_entries<'a, const INLINE: usize>(
    cursor: &mut Cursor<'a>,
    entries: &mut SmallVec<[Entry<'a>; INLINE]>,
) -> Result<(), Fault> {
    cursor.elements(|cursor| {
        entries.push(Entry::default());
        let Some(entry) = entries.last_mut() else {
            return cursor.skip();
        };
        let (mut function_says, mut custom_says) = (false, None);
        cursor.members(|cursor, key| {
            match key {
                b"index" => entry.index = cursor.integer()?,
                b"id" => entry.id = cursor.label()?,
                b"function" => function_says |= read_function(cursor, entry)?,
                b"custom" => {
                    let is_object = cursor.kind()? == Kind::Object;
                    let says = read_function(cursor, entry)?;
                    custom_says = Some(says).filter(|_| is_object);
                }
                b"extra_content" => read_extra(cursor, "extra_content", entry)?,
                _ => cursor.skip()?,
            }
            Ok(())
        })?;
        // An empty stub beside a function makes it no custom tool (Q72).
        entry.custom = custom_says.is_some_and(|says| says || !function_says);
        Ok(())
    })
}

/// `function_call`; an empty stub beside an ordinary chunk is no call (Q73).
fn read_legacy<'a>(cursor: &mut Cursor<'a>) -> Result<Option<Box<Entry<'a>>>, Fault> {
    let mut entry = Entry::default();
    let says = read_function(cursor, &mut entry)?;
    Ok(says.then(|| Box::new(entry)))
}

fn read_extra<'a>(
    cursor: &mut Cursor<'a>,
    name: &'static str,
    entry: &mut Entry<'a>,
) -> Result<(), Fault> {
    let raw = cursor.raw()?;
    if raw != "null" {
        entry.extras.push((name, raw));
    }
    Ok(())
}

/// `{name, arguments}` of a function, `{name, input}` of a custom tool; gives whether it says one of them. Some relays fill the
/// other member beside it with nulls or empty texts (1.2): what says nothing takes nothing away.
fn read_function<'a>(cursor: &mut Cursor<'a>, entry: &mut Entry<'a>) -> Result<bool, Fault> {
    let mut says = false;
    cursor.members(|cursor, key| {
        match key {
            b"name" => {
                let name = cursor.label()?;
                says |= name.is_some();
                entry.name = name.or(entry.name);
            }
            b"id" => entry.inner_id = cursor.label()?,
            b"arguments" | b"input" => {
                let arguments = Arguments::read(cursor)?;
                says |= !arguments.is_nothing();
                if entry.arguments.is_nothing() || !arguments.is_nothing() {
                    entry.arguments = arguments;
                }
            }
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(says)
}

impl OpenAiChat {
    fn speak(&mut self, chunk: &Chunk<'_>, text: &str, sink: &mut dyn DeltaSink) {
        for choice in &chunk.choices {
            for &(kind, text) in &choice.texts {
                sink.delta(&Delta::Text {
                    choice: choice.index,
                    kind,
                    text: text.fragment(&mut self.scratch),
                });
            }
            let (calls, legacy) = if choice.calls.is_empty() && choice.legacy.is_none() {
                (&choice.message[..], &choice.message_legacy)
            } else {
                (&choice.calls[..], &choice.legacy)
            };
            let nameless = calls.iter().filter(|entry| entry.is_nameless()).count();
            let mut before = 0;
            for entry in calls {
                let position = if entry.is_nameless() {
                    before += 1;
                    (before - 1, nameless)
                } else {
                    (0, 1)
                };
                self.speak_entry(entry, (choice.index, Route::Table), position, sink);
            }
            if let Some(entry) = legacy {
                self.speak_entry(entry, (choice.index, Route::Sole), (0, 1), sink);
            }
        }
        if let Some(error) = chunk.error {
            return report_error(error, None, sink);
        }
        if chunk.is_error {
            return report_error(text, None, sink);
        }
        for choice in &chunk.choices {
            if let Some(reason) = choice.reason {
                let (reason, native) = (reason.to_cow(), choice.native.map(Text::to_cow));
                let meaning = meaning(&reason, native.as_deref());
                sink.delta(&Delta::Finish {
                    choice: choice.index,
                    reason: &reason,
                    native: native.as_deref(),
                    meaning,
                });
                sink.delta(&Delta::MayEnd);
            }
        }
        let usage = chunk
            .usage
            .or_else(|| chunk.choices.iter().find_map(|choice| choice.usage));
        if let Some(usage) = usage {
            sink.delta(&Delta::Usage(usage));
        }
    }

    fn speak_entry(
        &mut self,
        entry: &Entry<'_>,
        (choice, route): (u32, Route),
        position: (usize, usize),
        sink: &mut dyn DeltaSink,
    ) {
        if let (Arguments::Text(text), true) = (entry.arguments, entry.is_bare() && position.1 == 1)
        {
            return sink.delta(&Delta::Arguments {
                choice,
                index: entry.index,
                route,
                text: text.fragment(&mut self.scratch),
            });
        }
        let id = entry.id.or(entry.inner_id).map(Text::to_cow);
        let name = entry.name.map(Text::to_cow);
        let mut call = CallDelta::new();
        call.key = CallKey {
            choice,
            index: entry.index,
            id: id.as_deref(),
            item_id: None,
            position,
        };
        call.route = route;
        call.name = name.as_deref();
        call.kind = entry.custom.then_some(&ToolKind::Custom);
        call.extras = &entry.extras;
        call.arguments = match entry.arguments {
            Arguments::Absent => ArgumentsPart::None,
            Arguments::Null => {
                sink.delta(&Delta::Anomaly(AnomalyKind::NullArguments));
                ArgumentsPart::None
            }
            Arguments::Text(text) => ArgumentsPart::Fragment(text.fragment(&mut self.scratch)),
            Arguments::Value { raw, .. } => ArgumentsPart::Whole(raw),
        };
        call.object = entry.arguments.object();
        sink.delta(&Delta::Call(call));
    }
}

/// OpenAI's reasons and those that compatible servers add (WIRE_FORMATS 1.2, Q60). An upstream's own word outranks one that
/// only says that all is well (two recorded OpenRouter streams say `tool_calls` over a cut answer).
fn meaning(reason: &str, native: Option<&str>) -> FinishMeaning {
    let one = |reason: &str| match reason.to_ascii_lowercase().as_str() {
        "stop" | "end_turn" | "eos" | "stop_sequence" | "completed" => FinishMeaning::Stop,
        "tool_calls" | "tool_call" | "function_call" | "tool_use" => FinishMeaning::ToolCalls,
        "length"
        | "max_tokens"
        | "max_output_tokens"
        | "model_length"
        | "model_context_window_exceeded" => FinishMeaning::Length,
        "content_filter" | "safety" | "refusal" | "recitation" | "prohibited_content"
        | "blocklist" => FinishMeaning::Filtered,
        "error" => FinishMeaning::Error,
        "malformed_function_call" => FinishMeaning::MalformedCall,
        "pause_turn" => FinishMeaning::Paused,
        _ => FinishMeaning::Other,
    };
    let said = one(reason);
    match native.map(one) {
        Some(
            native @ (FinishMeaning::Length
            | FinishMeaning::Filtered
            | FinishMeaning::Error
            | FinishMeaning::MalformedCall),
        ) if matches!(
            said,
            FinishMeaning::Stop | FinishMeaning::ToolCalls | FinishMeaning::Other
        ) =>
        {
            native
        }
        _ => said,
    }
}
