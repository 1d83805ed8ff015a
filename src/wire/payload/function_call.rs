//! A call's function and its arguments, as several wires write them.

use smallvec::SmallVec;

use crate::delta::ArgumentsPart;
use crate::json::cursor::{Cursor, Fault, Kind, Text};

/// Arguments as the wires carry them.
#[derive(Clone, Copy, Default)]
pub(crate) enum Arguments<'a> {
    #[default]
    Absent,
    Null,
    Text(Text<'a>),
    /// An object, or another value that is no text (Q40).
    Value {
        raw: &'a str,
        /// For certain; `false` says nothing.
        is_object: bool,
    },
}

impl<'a> Arguments<'a> {
    pub(crate) fn read(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        Ok(match cursor.kind()? {
            Kind::String => cursor.text()?.map_or(Arguments::Absent, Arguments::Text),
            Kind::Null => {
                cursor.skip()?;
                Arguments::Null
            }
            _ => {
                let (raw, is_object) = cursor.raw_object()?;
                Arguments::Value { raw, is_object }
            }
        })
    }

    /// Whether there is neither text nor a value.
    pub(crate) fn is_nothing(self) -> bool {
        match self {
            Arguments::Absent | Arguments::Null => true,
            Arguments::Text(text) => text.raw.is_empty(),
            Arguments::Value { .. } => false,
        }
    }

    /// A piece of text or a whole value; an empty text is nothing. `scratch` holds a text that must be decoded.
    pub(crate) fn part<'s>(self, scratch: &'s mut Vec<u8>) -> ArgumentsPart<'s>
    where
        'a: 's,
    {
        match self {
            _ if self.is_nothing() => ArgumentsPart::None,
            Arguments::Absent | Arguments::Null => ArgumentsPart::None,
            Arguments::Text(text) => ArgumentsPart::Fragment(text.fragment(scratch)),
            Arguments::Value { raw, .. } => ArgumentsPart::Whole(raw),
        }
    }

    /// The value, where it is an object.
    pub(crate) fn object(self) -> Option<&'a str> {
        match self {
            Arguments::Value { raw, is_object } => Some(raw).filter(|_| is_object),
            _ => None,
        }
    }
}

/// A call as Cohere and Ollama nest it: its id, and a `function` of a name and arguments. Only Ollama writes an index there.
#[derive(Default)]
pub(crate) struct FunctionCall<'a> {
    pub(crate) id: Option<Text<'a>>,
    pub(crate) index: Option<i64>,
    pub(crate) name: Option<Text<'a>>,
    pub(crate) arguments: Arguments<'a>,
}

impl<'a> FunctionCall<'a> {
    /// The calls of a list; what is no object is none.
    pub(crate) fn read_all(
        cursor: &mut Cursor<'a>,
        calls: &mut SmallVec<[Self; 1]>,
    ) -> Result<(), Fault> {
        cursor.elements(|cursor| {
            if cursor.kind()? == Kind::Object {
                calls.push(FunctionCall::read(cursor)?);
                return Ok(());
            }
            cursor.skip()
        })
    }

    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        let mut call = FunctionCall::default();
        cursor.members(|cursor, key| {
            match key {
                b"id" => call.id = cursor.label()?,
                b"function" => drop(cursor.members(|cursor, key| {
                    match key {
                        b"index" => call.index = cursor.integer()?,
                        b"name" => call.name = cursor.label()?,
                        b"arguments" => call.arguments = Arguments::read(cursor)?,
                        _ => cursor.skip()?,
                    }
                    Ok(())
                })?),
                _ => cursor.skip()?,
            }
            Ok(())
        })?;
        Ok(call)
    }
}
