//! The JSON grammar, one text at a time.

pub(crate) mod cursor;
