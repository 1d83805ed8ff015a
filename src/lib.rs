//! Arguments of streamed tool calls.
mod arguments;
mod json;
pub use arguments::*;
