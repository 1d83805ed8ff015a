//! callstitch stitches streamed LLM tool-call deltas back into whole calls.
//!
//! Bytes of a provider's HTTP stream go in; completed tool calls come out, by hand or on a futures `Stream`.
//!
//! ```text
//!  chunks ─▶ framing ─▶ wire ─▶ delta ─▶ slots ─▶ accumulate ─▶ event ─▶ you
//!            bytes      one      neutral  whose    the calls,    calls,
//!            to frames  file a   changes  delta    their ends,   text,
//!                       format            is it?   the limits    anomalies
//! ```
//!
//! # Examples
//!
//! ```
//! use callstitch::{ToolCallParser, WireFormat};
//!
//! let mut parser = ToolCallParser::new(WireFormat::Auto);
//! let chunks: [&[u8]; 2] = [
//!     b"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"call_1\",\"function\":{\"name\":\"get_tide\",\"argum",
//!     b"ents\":\"{\\\"port\\\":\\\"Oban\\\"}\"}}]}}]}\n\ndata: [DONE]\n\n",
//! ];
//! let mut calls = Vec::new();
//! for chunk in chunks {
//!     for event in parser.push(chunk) {
//!         calls.extend(event?.into_call());
//!     }
//! }
//! for event in parser.finish() {
//!     calls.extend(event?.into_call());
//! }
//! assert_eq!(calls[0].name(), "get_tide");
//! assert_eq!(calls[0].arguments().object().unwrap()["port"], "Oban");
//! # Ok::<(), callstitch::Error>(())
//! ```
//!
//! The [`guide`] has a chapter for each task.
//!
//! # The rooms
//!
//! Files in the order data travels; arrows only point down.
//!
//! | room | knows | must not know |
//! |---|---|---|
//! | `framing` | bytes, line ends, UTF-8, BOM, lengths, checksums | JSON meaning, providers, tools, `[DONE]` |
//! | `wire` | its own wire's strings, its own small memory | chunk borders, other formats, whether arguments are valid JSON, how many calls are open, limits |
//! | `delta` | the shared vocabulary | any provider's spelling |
//! | `slots` | keys, ids, labels, arrival order, whether a slot's text is whole | what argument text says |
//! | `json` | the JSON grammar, one text at a time | tools, calls, streams |
//! | `accumulate` | deltas, slots, limits, the call grammar | bytes, frames, format names, async |
//! | `call`, `arguments` | what a whole, a partial, a flagged call is | how it was obtained |
//! | `fields` | what field events mean together | how they came about |
//! | `leaked` | the markups in which models write calls into text | wires, streams, how a text came |
//! | `history` | each wire's items for finished calls and their results | streams, partial text, tools |
//! | `tools` | finished calls, the caller's tools | where calls come from, partial text |
//! | `parser` | that three machines exist and their order | any wire string, any JSON, `Poll` |
//! | `stream`, `passthrough`, `channel` | `Poll`, the transport's error, a parser | frames, deltas, JSON |
//! | `guide` | how it all is used | anything that is no documentation |
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod accumulate;
mod anomaly;
mod arguments;
mod call;
mod config;
mod delta;
mod error;
mod event;
mod fields;
mod framing;
pub mod guide;
pub mod history;
mod json;
mod leaked;
mod parser;
mod slots;
pub mod tools;
mod wire;

#[cfg(feature = "channel")]
#[cfg_attr(docsrs, doc(cfg(feature = "channel")))]
mod channel;
#[cfg(feature = "stream")]
#[cfg_attr(docsrs, doc(cfg(feature = "stream")))]
mod passthrough;
#[cfg(feature = "stream")]
#[cfg_attr(docsrs, doc(cfg(feature = "stream")))]
mod stream;

pub use accumulate::{Accumulator, Events};
pub use anomaly::AnomalyKind;
pub use arguments::*;
pub use call::{
    BuildError, CallIndex, CallState, CallStatus, EmptyToolName, Evidence, ExecutionStatus, Field,
    FieldError, FieldProblem, MergeError, PartialCall, StoredCallError, ToolCall, ToolCallBuilder,
    ToolName,
};
#[cfg(feature = "channel")]
pub use channel::{Aborted, ChunkSender, Chunks, Closed, channel, channel_with};
pub use config::{Config, EmitWhen, IdSource};
pub use delta::{
    ArgumentsPart, CallDelta, CallKey, ClosedBy, Delta, DeltaSink, Executor, FinishMeaning,
    Fragment, Route, TextKind, ToolKind,
};
pub use error::{Error, ErrorKind};
pub use event::{Anomaly, ArgumentsText, End, Event, FinishReason};
pub use fields::{CallSelector, FieldFilter, FieldPart};
pub use framing::{Frame, Origin};
pub use leaked::{LeakedCalls, LeakedEvent, Markup};
pub use parser::{Framed, ToolCallParser};
#[cfg(feature = "stream")]
pub use passthrough::Passthrough;
#[cfg(feature = "stream")]
pub use stream::{ByteStreamExt, EventStream, FieldItems, FieldText, ToolCallStream};
#[cfg(feature = "stream")]
pub use tools::RunCalls;
#[cfg(feature = "schema")]
pub use tools::SchemaError;
pub use tools::{Outcome, Refusal, RefusalKind, Resolution, ResolutionState, Tool, ToolSet};
pub use wire::{Decoder, UnknownWireFormat, WireFormat};

/// The README's examples are tests.
#[cfg(all(doctest, feature = "stream"))]
#[doc = include_str!("../README.md")]
struct Readme;
