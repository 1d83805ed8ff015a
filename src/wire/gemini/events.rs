//! One provider event of Gemini, read and not yet spoken: the members that matter, as slices of the document.

use smallvec::SmallVec;

use crate::json::cursor::{Cursor, Fault, Kind, Text};
use crate::wire::payload::{error, object};

/// One provider event, read and not yet spoken.
#[derive(Default)]
pub(super) struct Chunk<'a> {
    pub(super) candidates: SmallVec<[Candidate<'a>; 1]>,
    pub(super) block_reason: Option<Text<'a>>,
    pub(super) error: Option<&'a str>,
    pub(super) usage: Option<&'a str>,
}

impl Chunk<'_> {
    pub(super) fn says_nothing(&self) -> bool {
        self.candidates.is_empty()
            && self.block_reason.is_none()
            && self.error.is_none()
            && self.usage.is_none()
    }
}

#[derive(Default)]
pub(super) struct Candidate<'a> {
    pub(super) index: u32,
    pub(super) parts: SmallVec<[Part<'a>; 1]>,
    pub(super) reason: Option<Text<'a>>,
}

#[derive(Default)]
pub(super) struct Part<'a> {
    pub(super) what: What<'a>,
    /// None where it is empty, as it often is beside a call.
    pub(super) text: Option<Text<'a>>,
    pub(super) thought: bool,
    /// The raw `thoughtSignature`, a sibling of what it signs.
    pub(super) signature: Option<&'a str>,
}

#[derive(Default)]
pub(super) enum What<'a> {
    #[default]
    Unknown,
    Call(Call<'a>),
    /// `toolCall` and `executableCode`: the provider runs them.
    Provider(Provider<'a>),
}

/// `functionCall`.
#[derive(Default)]
pub(super) struct Call<'a> {
    pub(super) id: Option<Text<'a>>,
    pub(super) name: Option<Text<'a>>,
    pub(super) args: Option<&'a str>,
    /// `args`, where it is an object for certain.
    pub(super) object: Option<&'a str>,
    /// The raw `partialArgs`, checked.
    pub(super) entries: Option<&'a str>,
    pub(super) continues: bool,
}

#[derive(Default)]
pub(super) struct Provider<'a> {
    pub(super) kind: &'static str,
    pub(super) id: Option<Text<'a>>,
    pub(super) tool: Option<Text<'a>>,
    pub(super) args: Option<&'a str>,
    pub(super) language: Option<&'a str>,
    pub(super) code: Option<&'a str>,
}

impl<'a> Part<'a> {
    /// Members come in any order (E16), and the call that the caller must answer is the one.
    fn provides(&mut self, call: Provider<'a>) {
        if !matches!(self.what, What::Call(_)) {
            self.what = What::Provider(call);
        }
    }
}

pub(super) fn read_chunk<'a>(cursor: &mut Cursor<'a>) -> Result<Chunk<'a>, Fault> {
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
            b"text" => part.text = cursor.text()?.filter(|text| !text.raw.is_empty()),
            b"thought" => part.thought = cursor.boolean()?,
            b"thoughtSignature" => {
                part.signature = Some(cursor.raw()?).filter(|raw| !matches!(*raw, "null" | "\"\""));
            }
            b"functionCall" if cursor.kind()? == Kind::Object => {
                part.what = What::Call(read_call(cursor)?);
            }
            b"executableCode" if cursor.kind()? == Kind::Object => {
                part.provides(read_provider(cursor, "executableCode")?);
            }
            b"toolCall" if cursor.kind()? == Kind::Object => {
                part.provides(read_provider(cursor, "toolCall")?);
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
            b"args" => {
                let (raw, is_object) = cursor.raw_object()?;
                call.args = Some(raw).filter(|&args| args != "null");
                call.object = call.args.filter(|_| is_object);
            }
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
