//! The provider events of Responses, read and not yet spoken.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::items::Item;
use super::texts::Source;
use crate::delta::{TextKind, ToolKind};
use crate::json::cursor::{Cursor, Deferred, Fault, Kind, Text};
use crate::wire::payload::{Arguments, error};

pub(super) static MCP_CALL: ToolKind = ToolKind::BuiltIn(Cow::Borrowed("mcp_call"));

/// The events that are read.
pub(super) enum EventKind {
    /// A piece of a call's arguments, and of what kind of tool, where that is known.
    Piece(Option<&'static ToolKind>),
    /// The whole text of the pieces.
    Restated(Option<&'static ToolKind>),
    Text(TextKind, Source),
    /// One part of an argument that is an object's member: it begins, or is all there.
    PartAdded,
    PartDone,
    ItemAdded,
    ItemDone,
    Created,
    Terminal,
    Error,
}

impl EventKind {
    pub(super) fn of(kind: &str) -> Option<Self> {
        use EventKind::{
            Created, Error, ItemAdded, ItemDone, PartAdded, PartDone, Piece, Restated, Terminal,
            Text,
        };
        use TextKind::{Answer, Reasoning, Refusal};
        Some(match kind {
            "response.function_call_arguments.delta" => Piece(None),
            "response.function_call_arguments.done" => Restated(None),
            "response.custom_tool_call_input.delta" => Piece(Some(&ToolKind::Custom)),
            "response.custom_tool_call_input.done" => Restated(Some(&ToolKind::Custom)),
            "response.mcp_call_arguments.delta" => Piece(Some(&MCP_CALL)),
            "response.mcp_call_arguments.done" => Restated(Some(&MCP_CALL)),
            "response.output_text.delta" => Text(Answer, Source::Piece),
            "response.output_text.done" => Text(Answer, Source::Part),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                Text(Reasoning, Source::Piece)
            }
            "response.reasoning_summary_text.done" | "response.reasoning_text.done" => {
                Text(Reasoning, Source::Part)
            }
            "response.refusal.delta" => Text(Refusal, Source::Piece),
            "response.refusal.done" => Text(Refusal, Source::Part),
            // Their deltas say nothing that is not said again.
            "response.shell_call_command.added" => PartAdded,
            "response.shell_call_command.done"
            | "response.apply_patch_call_operation_diff.done"
            | "response.code_interpreter_call_code.done" => PartDone,
            "response.output_item.added" => ItemAdded,
            "response.output_item.done" => ItemDone,
            "response.created" => Created,
            "response.completed"
            | "response.incomplete"
            | "response.failed"
            | "response.cancelled" => Terminal,
            "error" => Error,
            _ => return None,
        })
    }
}

/// One event.
#[derive(Default)]
pub(super) struct Event<'a> {
    pub(super) kind: Option<Text<'a>>,
    pub(super) output_index: Option<i64>,
    /// Read only where the index does not tell the call.
    item_id: Option<Deferred<'a>>,
    pub(super) call_id: Option<Text<'a>>,
    pub(super) name: Option<Text<'a>>,
    pub(super) delta: Arguments<'a>,
    /// Which of several parts.
    pub(super) part: Option<i64>,
    /// The full text of a `.done` event: `arguments`, `input`, `text`, `refusal`, `diff`, `command` or `code`.
    pub(super) whole: Option<Text<'a>>,
    /// Arguments or an input that is no text (Q40).
    pub(super) value: Option<&'a str>,
    pub(super) item: Option<Box<Item<'a>>>,
    pub(super) response: Option<Box<Response<'a>>>,
}

impl<'a> Event<'a> {
    pub(super) fn item_id(&self) -> Option<Text<'a>> {
        self.item_id.as_ref()?.label()
    }
}

/// What a terminal embeds.
#[derive(Default)]
pub(super) struct Response<'a> {
    pub(super) id: Option<Text<'a>>,
    pub(super) status: Option<Text<'a>>,
    /// `incomplete_details.reason`.
    pub(super) reason: Option<Text<'a>>,
    pub(super) error: Option<&'a str>,
    pub(super) usage: Option<&'a str>,
    pub(super) output: SmallVec<[Item<'a>; 4]>,
}

pub(super) fn read_event<'a>(cursor: &mut Cursor<'a>) -> Result<Event<'a>, Fault> {
    let mut event = Event::default();
    cursor.members(|cursor, key| {
        match key {
            b"type" => event.kind = cursor.text()?,
            b"output_index" => event.output_index = cursor.integer()?.filter(|index| *index >= 0),
            b"item_id" => event.item_id = Some(cursor.defer()?),
            b"call_id" => event.call_id = cursor.label()?,
            b"name" => event.name = cursor.label()?,
            b"delta" => event.delta = Arguments::read(cursor)?,
            b"command_index" => event.part = cursor.integer()?,
            b"arguments" | b"input" if !matches!(cursor.kind()?, Kind::String | Kind::Null) => {
                event.value = Some(cursor.raw()?)
            }
            b"arguments" | b"input" | b"text" | b"refusal" | b"diff" | b"command" | b"code" => {
                event.whole = cursor.text()?.or(event.whole)
            }
            b"item" => event.item = Some(Box::new(Item::read(cursor)?)),
            b"response" => event.response = Some(Box::new(read_response(cursor)?)),
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(event)
}

/// The id of the response that an event begins with.
pub(super) fn begun_id(beginning: &str) -> Option<String> {
    let mut id = None;
    let _ = Cursor::new(beginning).members(|cursor, key| match key {
        b"response" => {
            let read = cursor.members(|cursor, key| match key {
                b"id" => cursor.label().map(|label| id = label),
                _ => cursor.skip(),
            });
            read.map(drop)
        }
        _ => cursor.skip(),
    });
    id.map(|id: Text<'_>| id.to_cow().into_owned())
}

fn read_response<'a>(cursor: &mut Cursor<'a>) -> Result<Response<'a>, Fault> {
    let mut response = Response::default();
    cursor.members(|cursor, key| {
        match key {
            b"id" => response.id = cursor.label()?,
            b"status" => response.status = cursor.label()?,
            b"incomplete_details" => {
                cursor.members(|cursor, key| {
                    match key {
                        b"reason" => response.reason = cursor.label()?,
                        _ => cursor.skip()?,
                    }
                    Ok(())
                })?;
            }
            b"error" => response.error = error(cursor)?,
            b"usage" => response.usage = Some(cursor.raw()?).filter(|usage| usage.starts_with('{')),
            b"output" => cursor.elements(|cursor| {
                response.output.push(Item::read(cursor)?);
                Ok(())
            })?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(response)
}
