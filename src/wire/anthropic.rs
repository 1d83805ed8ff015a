//! Anthropic Messages (WIRE_FORMATS 3), also inside Bedrock's `InvokeModelWithResponseStream`.
//!
//! Letter to the next reader. Blocks are keyed by their index and nothing else, never by a "current block". The event's own
//! `type` decides; the `event:` line may be missing, late or renamed. A block that got its stop is closed there; blocks
//! whose stop never came are closed by `message_delta` and `message_stop` (A5; Kimi's endpoint sends no stops at all).

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use smallvec::SmallVec;

use crate::anomaly::AnomalyKind;
use crate::delta::{
    ArgumentsPart, CallDelta, ClosedBy, Delta, DeltaSink, Executor, FinishMeaning, Route, TextKind,
};
use crate::framing::Frame;
use crate::json::cursor::{Cursor, Fault, Text};
use crate::wire::payload::{
    Arguments, Json, JsonDecoder, Reopened, is_foreign_error, report, report_finish, stop_block,
};
use crate::wire::{Decoder, SERVER_TOOL_USE};

pub(super) fn decoder() -> Box<dyn Decoder> {
    Box::new(Json::<Anthropic>::default())
}

/// One event's decoder; `pub(super)` for the Bedrock envelope that carries these same events.
#[derive(Default)]
pub(super) struct Anthropic {
    stage: Stage,
    /// The hash of the message's id, or of none.
    message: u64,
    /// Twice, where a `message_start` came again with the same id or none.
    reopened: Reopened,
    /// None until a call begins.
    told: Option<Box<Told>>,
    scratch: Vec<u8>,
}

/// The calls that were told, by a hash of their ids, which need not be held a second time: a message that begins again may hold
/// these calls (A4).
#[derive(Debug, Default)]
struct Told {
    /// Those whose block is open, with its index.
    open: SmallVec<[(i64, u64); 2]>,
    /// Those that ended, and whether an opening message held them.
    ended: HashMap<u64, bool>,
}

impl Told {
    /// These blocks end.
    fn end(&mut self, ends: impl Fn(i64) -> bool) {
        let (ended, open) = std::mem::take(&mut self.open)
            .into_iter()
            .partition(|&(at, _)| ends(at));
        self.open = open;
        let ended: SmallVec<[_; 2]> = ended;
        for (_, id) in ended {
            self.ended.entry(id).or_insert(false);
        }
    }
}

/// Where in a message the stream is.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum Stage {
    #[default]
    Fresh,
    /// A `message_start` came: another one begins the message again (A4).
    Started,
    /// `message_stop` came.
    Stopped,
}

/// One provider event, read and not yet spoken.
#[derive(Default)]
struct Event<'a> {
    kind: Option<Text<'a>>,
    index: Option<i64>,
    block: Option<Box<Block<'a>>>,
    delta: Part<'a>,
    /// `message.id`.
    message_id: Option<Text<'a>>,
    /// The raw `message.content`, which may already hold calls (A2).
    content: Option<&'a str>,
    /// `message.stop_reason`, as MiniMax's closing snapshot and pre-filled messages carry it.
    message_reason: Option<Text<'a>>,
    usage: Option<&'a str>,
}

/// A content block.
#[derive(Default)]
struct Block<'a> {
    kind: Option<Text<'a>>,
    id: Option<Text<'a>>,
    name: Option<Text<'a>>,
    server_name: Option<Text<'a>>,
    input: Option<&'a str>,
    caller: Option<&'a str>,
    text: Option<Text<'a>>,
    data: Option<Text<'a>>,
}

/// The `delta` of a block or of the message.
#[derive(Default)]
struct Part<'a> {
    json: Arguments<'a>,
    text: Option<(TextKind, Text<'a>)>,
    reason: Option<Text<'a>>,
}

impl Block<'_> {
    /// Who runs the call that this block is, if it is one.
    fn executor(&self) -> Option<Executor> {
        match self.kind.map(Text::to_cow).as_deref() {
            Some("tool_use") => Some(Executor::Client),
            Some(SERVER_TOOL_USE | "mcp_tool_use") => Some(Executor::Provider),
            // Where the type is missing a name tells a call (Q72).
            None | Some("") => self.name.map(|_| Executor::Client),
            _ => None,
        }
    }

    /// Tells the calls apart; those without an id are one.
    fn id_hash(&self) -> u64 {
        hash(self.id)
    }
}

fn hash(id: Option<Text<'_>>) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.map(Text::to_cow).hash(&mut hasher);
    hasher.finish()
}

impl JsonDecoder for Anthropic {
    const ECHOES: bool = true;

    /// Recorded streams go on after an error event, and close the block that was open.
    const ERRORS_ARE_LAST: bool = false;

    fn reads(&mut self, kind: &str, _: &str) -> bool {
        EventKind::of(kind).is_some()
    }

    fn document(
        &mut self,
        cursor: &mut Cursor<'_>,
        frame: Frame<'_>,
        sink: &mut dyn DeltaSink,
    ) -> Result<(), Fault> {
        let event = read_event(cursor)?;
        cursor.end()?;
        let stated = event.kind.map(Text::to_cow);
        // The type member decides; only where it is missing does the event line (11.1; a relay may drop either).
        let kind = stated.as_deref().or(frame.event).and_then(EventKind::of);
        match kind {
            Some(EventKind::BlockDelta) => self.speak_delta(&event, sink),
            Some(EventKind::BlockStart) => {
                if let Some(block) = event.block.as_deref() {
                    self.begin_block(event.index, sink);
                    self.speak_block(block, event.index, sink);
                }
            }
            Some(EventKind::BlockStop) => {
                self.reopened.go_on(sink);
                if let (Some(told), Some(index)) = (&mut self.told, event.index) {
                    told.end(|at| at == index);
                }
                stop_block(event.index, sink);
            }
            Some(EventKind::MessageStart) => self.speak_message(&event, sink),
            Some(EventKind::MessageDelta) => {
                // One that gives no reason only counts tokens, perhaps in the middle of a block.
                let reason = event.delta.reason.or(event.message_reason);
                if reason.is_some() {
                    self.reopened.go_on(sink);
                    self.end_blocks();
                    finish(reason, sink);
                    sink.delta(&Delta::CloseAll {
                        choice: Some(0),
                        by: ClosedBy::MessageEnd,
                    });
                }
                usage(&event, sink);
            }
            Some(EventKind::MessageStop) => {
                self.reopened.go_on(sink);
                self.end_blocks();
                self.stage = Stage::Stopped;
                sink.delta(&Delta::End);
                usage(&event, sink);
            }
            Some(EventKind::Error) => report(cursor.document(), None, Self::ERRORS_ARE_LAST, sink),
            None if is_foreign_error(cursor.document(), stated.as_deref()) => {
                report(cursor.document(), None, Self::ERRORS_ARE_LAST, sink)
            }
            None => {}
        }
        Ok(())
    }
}

/// The events that are read.
enum EventKind {
    BlockDelta,
    BlockStart,
    BlockStop,
    MessageStart,
    MessageDelta,
    MessageStop,
    Error,
}

impl EventKind {
    fn of(kind: &str) -> Option<Self> {
        Some(match kind {
            "content_block_delta" => EventKind::BlockDelta,
            "content_block_start" => EventKind::BlockStart,
            "content_block_stop" => EventKind::BlockStop,
            "message_start" => EventKind::MessageStart,
            "message_delta" => EventKind::MessageDelta,
            "message_stop" => EventKind::MessageStop,
            "error" => EventKind::Error,
            _ => return None,
        })
    }
}

fn read_event<'a>(cursor: &mut Cursor<'a>) -> Result<Event<'a>, Fault> {
    let mut event = Event::default();
    cursor.members(|cursor, key| {
        match key {
            b"type" => event.kind = cursor.text()?,
            b"index" => event.index = cursor.integer()?,
            b"delta" => read_part(cursor, &mut event.delta)?,
            b"content_block" => event.block = Some(Box::new(read_block(cursor)?)),
            b"message" => drop(cursor.members(|cursor, key| {
                match key {
                    b"id" => event.message_id = cursor.label()?,
                    b"content" => event.content = Some(cursor.raw()?),
                    b"stop_reason" => event.message_reason = cursor.label()?,
                    b"usage" => event.usage = Some(cursor.raw()?),
                    _ => cursor.skip()?,
                }
                Ok(())
            })?),
            b"usage" => event.usage = Some(cursor.raw()?),
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(event)
}

fn read_part<'a>(cursor: &mut Cursor<'a>, part: &mut Part<'a>) -> Result<(), Fault> {
    *part = Part::default();
    cursor.members(|cursor, key| {
        let kind = match key {
            b"partial_json" => {
                part.json = Arguments::read(cursor)?;
                return Ok(());
            }
            b"stop_reason" => {
                part.reason = cursor.label()?;
                return Ok(());
            }
            b"text" => TextKind::Answer,
            b"thinking" => TextKind::Reasoning,
            b"signature" => TextKind::Signature,
            _ => return cursor.skip(),
        };
        part.text = cursor.text()?.map(|text| (kind, text));
        Ok(())
    })?;
    Ok(())
}

fn read_block<'a>(cursor: &mut Cursor<'a>) -> Result<Block<'a>, Fault> {
    let mut block = Block::default();
    cursor.members(|cursor, key| {
        match key {
            b"type" => block.kind = cursor.text()?,
            b"id" => block.id = cursor.label()?,
            b"name" => block.name = cursor.label()?,
            b"server_name" => block.server_name = cursor.label()?,
            b"input" => block.input = Some(cursor.raw()?),
            b"caller" => block.caller = Some(cursor.raw()?).filter(|&caller| caller != "null"),
            b"text" | b"thinking" => block.text = cursor.text()?,
            b"data" => block.data = cursor.text()?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(block)
}

impl Anthropic {
    fn speak_delta(&mut self, event: &Event<'_>, sink: &mut dyn DeltaSink) {
        match event.delta.json {
            Arguments::Text(json) => {
                return sink.delta(&Delta::Arguments {
                    choice: 0,
                    index: event.index,
                    route: Route::Labelled,
                    text: json.fragment(&mut self.scratch),
                });
            }
            // Relays that hold the input as an object send it so (Q40).
            Arguments::Value { raw, .. } => {
                let mut call = CallDelta::new().index(event.index).route(Route::Labelled);
                call.arguments = ArgumentsPart::Whole(raw);
                return sink.delta(&Delta::Call(call));
            }
            Arguments::Null => return sink.delta(&Delta::Anomaly(AnomalyKind::NullArguments)),
            Arguments::Absent => {}
        }
        if let Some((kind, text)) = event.delta.text {
            sink.delta(&Delta::Text {
                choice: 0,
                kind,
                text: text.fragment(&mut self.scratch),
            });
        }
    }

    fn speak_block(&mut self, block: &Block<'_>, index: Option<i64>, sink: &mut dyn DeltaSink) {
        if let Some(executor) = block.executor() {
            let told = self.told.get_or_insert_default();
            let id = block.id_hash();
            if let Some(index) = index {
                told.open.retain(|(at, _)| *at != index);
                told.open.push((index, id));
            }
            // What the opening message held, and the blocks say again, is one call.
            let again = block.id.is_some() && told.ended.get(&id) == Some(&true);
            let route = if again { Route::Labelled } else { Route::Opens };
            return speak_call(block, executor, index, route, sink);
        }
        let (kind, text) = match block.kind.map(Text::to_cow).as_deref() {
            Some("text") => (TextKind::Answer, block.text),
            Some("thinking") => (TextKind::Reasoning, block.text),
            Some("redacted_thinking") => (TextKind::Signature, block.data),
            _ => return,
        };
        if let Some(text) = text.filter(|text| !text.raw.is_empty()) {
            sink.delta(&Delta::Text {
                choice: 0,
                kind,
                text: text.fragment(&mut self.scratch),
            });
        }
    }

    /// A block begins. In a message that was opened again an index that is used again tells that all begins again (A4).
    fn begin_block(&mut self, index: Option<i64>, sink: &mut dyn DeltaSink) {
        if self.reopened.begins_again(index) {
            self.restart(sink);
        }
        self.reopened.begin(index, sink);
    }

    fn restart(&mut self, sink: &mut dyn DeltaSink) {
        self.reopened = Reopened::default();
        if let Some(told) = &mut self.told {
            told.open.clear();
        }
        sink.delta(&Delta::Restart);
    }

    /// All blocks of the message are over.
    fn end_blocks(&mut self) {
        if let Some(told) = &mut self.told {
            told.end(|_| true);
        }
    }

    fn speak_message(&mut self, event: &Event<'_>, sink: &mut dyn DeltaSink) {
        let before = std::mem::replace(&mut self.stage, Stage::Started);
        let id = hash(event.message_id);
        let same = std::mem::replace(&mut self.message, id) == id;
        // The same message: what comes next tells whether it begins again or only its start came twice (A4).
        let twice = same && before == Stage::Started && !holds_calls(event.content);
        self.reopened.open(twice);
        if twice {
            return;
        }
        if before != Stage::Fresh {
            self.restart(sink);
        }
        // A message behind one that stopped is a later turn of a recorded conversation. Its own blocks are told; what it was
        // opened with is taken for a record of the turns before it.
        if before == Stage::Stopped {
            return;
        }
        // A continued turn can hold whole calls in the opening message, without any block events for them (A2). One that
        // begins again may hold calls that were told (A4).
        let mut blocks = Cursor::new(event.content.unwrap_or_default());
        let mut held = Vec::new();
        let _ = blocks.elements(|cursor| {
            let block = read_block(cursor)?;
            // Text there is a replay of what the caller sent; only calls are new.
            if let Some(executor) = block.executor() {
                let id = block.id_hash();
                let told = self.told.as_ref();
                if told.is_none_or(|told| !told.ended.contains_key(&id)) {
                    held.push(id);
                    speak_call(&block, executor, None, Route::Opens, sink);
                }
            }
            Ok(())
        });
        if !held.is_empty() {
            sink.delta(&Delta::CloseAll {
                choice: Some(0),
                by: ClosedBy::Arrival,
            });
        } else if before == Stage::Started {
            // A plain duplicate.
            return;
        }
        if !held.is_empty() {
            let told = self.told.get_or_insert_default();
            told.ended.extend(held.into_iter().map(|id| (id, true)));
        }
        if event.message_reason.is_some() {
            finish(event.message_reason, sink);
        }
        usage(event, sink);
    }
}

/// Whether the content of a message holds calls.
fn holds_calls(content: Option<&str>) -> bool {
    let mut holds = false;
    let _ = Cursor::new(content.unwrap_or_default()).elements(|cursor| {
        holds |= read_block(cursor)?.executor().is_some();
        Ok(())
    });
    holds
}

fn speak_call(
    block: &Block<'_>,
    executor: Executor,
    index: Option<i64>,
    route: Route,
    sink: &mut dyn DeltaSink,
) {
    let (id, name) = (block.id.map(Text::to_cow), block.name.map(Text::to_cow));
    let server_name = block.server_name.map(Text::to_cow);
    let caller = block.caller.map(|caller| [("caller", caller)]);
    let mut call = CallDelta::new()
        .index(index)
        .id(id.as_deref())
        .name(name.as_deref());
    call.route = route;
    call.executor = Some(executor);
    call.server_name = server_name.as_deref();
    call.extras = caller.as_ref().map_or(&[], |caller| caller.as_slice());
    call.arguments = block
        .input
        .map_or(ArgumentsPart::None, ArgumentsPart::Initial);
    sink.delta(&Delta::Call(call));
}

fn usage(event: &Event<'_>, sink: &mut dyn DeltaSink) {
    if let Some(usage) = event.usage.filter(|usage| usage.starts_with('{')) {
        sink.delta(&Delta::Usage(usage));
    }
}

fn finish(reason: Option<Text<'_>>, sink: &mut dyn DeltaSink) {
    let Some(reason) = reason.map(Text::to_cow) else {
        return;
    };
    let meaning = match &*reason {
        "end_turn" | "stop_sequence" | "compaction" => FinishMeaning::Stop,
        "tool_use" => FinishMeaning::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => FinishMeaning::Length,
        "refusal" => FinishMeaning::Filtered,
        "pause_turn" => FinishMeaning::Paused,
        _ => FinishMeaning::Other,
    };
    report_finish(0, &reason, meaning, sink);
}
