//! `callstitch history`: the call lines that `callstitch calls --json` prints, each as a wire's history item.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};

use callstitch::ToolCall;
use callstitch::history::HistoryFormat;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::lines::text;
use crate::{HistoryArgs, exit, open};

pub(crate) fn run(args: &HistoryArgs) -> io::Result<u8> {
    let invalid = |at: usize, error: &dyn std::fmt::Display| {
        io::Error::new(io::ErrorKind::InvalidData, format!("line {at}: {error}"))
    };
    let format: HistoryFormat = args.to.parse().map_err(|error| invalid(0, &error))?;
    let mut out = io::stdout().lock();
    let mut code = exit::CLEAN;
    for (at, line) in BufReader::new(open(args.file.as_ref())?)
        .lines()
        .enumerate()
    {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let members = members(&line).map_err(|error| invalid(at + 1, &error))?;
        if members.contains_key("end") {
            continue;
        }
        let call = ToolCall::from_value(Value::Object(members))
            .map_err(|error| invalid(at + 1, &error))?;
        if !call.is_usable() {
            code = exit::FLAGGED;
        }
        match call.to_wire_json(format) {
            Some(item) => writeln!(out, "{}", text(&RawValue::from_string(one_line(item))?)?)?,
            None => eprintln!("callstitch: {call} is not sent back to {format}"),
        }
    }
    Ok(code)
}

/// A line's members, each read by itself: arguments nest as deep as serde_json reads, and the line is one level more.
fn members(line: &str) -> serde_json::Result<Map<String, Value>> {
    let members: BTreeMap<String, Box<RawValue>> = serde_json::from_str(line)?;
    let read = |(key, raw): (String, Box<RawValue>)| Ok((key, serde_json::from_str(raw.get())?));
    members.into_iter().map(read).collect()
}

/// An item spells its arguments as the model did, line breaks between members included.
fn one_line(item: String) -> String {
    if !item.contains(['\n', '\r']) {
        return item;
    }
    // Raw line breaks are white space in JSON; inside strings they are escaped.
    item.replace(['\n', '\r'], " ")
}
