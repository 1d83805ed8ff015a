//! `callstitch history`: the calls in the lines that `callstitch calls` prints, each as a wire's history item.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;

use callstitch::ToolCall;
use callstitch::history::HistoryFormat;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::lines::text;
use crate::{HistoryArgs, complain, exit, open, unreadable};

pub(crate) fn run(args: &HistoryArgs) -> io::Result<u8> {
    let format: HistoryFormat = args.to.parse().map_err(io::Error::other)?;
    let file = args.file.as_ref();
    let mut out = io::stdout().lock();
    let mut code = exit::CLEAN;
    for (line, at) in BufReader::new(open(file)?).lines().zip(1..) {
        let unreadable = |error: io::Error| unreadable_at(file, at, &error);
        let line = line.map_err(unreadable)?;
        // Some shells begin every file that they write with a BOM.
        let line = line.strip_prefix('\u{feff}').unwrap_or(&line);
        if line.trim().is_empty() {
            continue;
        }
        let Some(members) = call_members(line).map_err(|error| unreadable(error.into()))? else {
            continue;
        };
        let call = ToolCall::from_value(Value::Object(members));
        let call = call.map_err(|error| unreadable(io::Error::other(error)))?;
        if !call.is_usable() {
            code = exit::FLAGGED;
        }
        match call.to_wire_json(format) {
            Some(item) => writeln!(out, "{}", text(&RawValue::from_string(one_line(item))?)?)?,
            None => complain(&format_args!("{call} is not sent back to {format}")),
        }
    }
    Ok(code)
}

/// An error that says which line of which file it is about.
fn unreadable_at(file: Option<&PathBuf>, line: u64, error: &io::Error) -> io::Error {
    unreadable(file, &io::Error::other(format!("line {line}: {error}")))
}

/// The members of a line's call, each read by itself: arguments nest as deep as serde_json reads, and the line is one level more.
/// `None` for a line that states no call that ended: the end line, and events, of which one names a call that has no arguments yet.
fn call_members(line: &str) -> serde_json::Result<Option<Map<String, Value>>> {
    type Members = BTreeMap<String, Box<RawValue>>;
    let mut members: Members = serde_json::from_str(line)?;
    if let Some(event) = members.get("event") {
        let completed = event.get() == "\"call_completed\"";
        let Some(call) = members.get("call").filter(|_| completed) else {
            return Ok(None);
        };
        members = serde_json::from_str(call.get())?;
    }
    if members.contains_key("end") {
        return Ok(None);
    }
    let read = |(key, raw): (String, Box<RawValue>)| Ok((key, serde_json::from_str(raw.get())?));
    members
        .into_iter()
        .map(read)
        .collect::<serde_json::Result<_>>()
        .map(Some)
}

/// An item spells its arguments as the model did, line breaks between members included.
fn one_line(item: String) -> String {
    if !item.contains(['\n', '\r']) {
        return item;
    }
    // Raw line breaks are white space in JSON; inside strings they are escaped.
    item.replace(['\n', '\r'], " ")
}
