//! The provider events of Responses, read and not yet spoken.

use smallvec::SmallVec;

use super::items::Item;
use crate::json::cursor::{Cursor, Deferred, Fault, Kind, Text};
use crate::wire::payload::error;

/// One event.
#[derive(Default)]
pub(super) struct Event<'a> {
    pub(super) kind: Option<Text<'a>>,
    pub(super) output_index: Option<i64>,
    /// Read only where the index does not tell the call.
    item_id: Option<Deferred<'a>>,
    pub(super) call_id: Option<Text<'a>>,
    pub(super) name: Option<Text<'a>>,
    pub(super) delta: Piece<'a>,
    /// The full text of a `.done` event: `arguments`, `input`, `text` or `refusal`.
    pub(super) whole: Option<Text<'a>>,
    pub(super) item: Option<Box<Item<'a>>>,
    pub(super) response: Option<Box<Response<'a>>>,
}

impl<'a> Event<'a> {
    pub(super) fn item_id(&self) -> Option<Text<'a>> {
        self.item_id.as_ref()?.label()
    }
}

#[derive(Clone, Copy, Default)]
pub(super) enum Piece<'a> {
    #[default]
    Absent,
    Null,
    Text(Text<'a>),
}

/// What a terminal embeds.
#[derive(Default)]
pub(super) struct Response<'a> {
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
            b"delta" => {
                let is_null = cursor.kind()? == Kind::Null;
                event.delta = match cursor.text()? {
                    Some(text) => Piece::Text(text),
                    None if is_null => Piece::Null,
                    None => Piece::Absent,
                };
            }
            b"arguments" | b"input" | b"text" | b"refusal" => {
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

fn read_response<'a>(cursor: &mut Cursor<'a>) -> Result<Response<'a>, Fault> {
    let mut response = Response::default();
    cursor.members(|cursor, key| {
        match key {
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
