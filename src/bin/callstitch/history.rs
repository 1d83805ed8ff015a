//! `callstitch history`: the call lines that `callstitch calls --json` prints, each as a wire's history item.

use std::io::{self, BufRead, BufReader, Write};

use callstitch::ToolCall;
use callstitch::history::HistoryFormat;
use serde_json::Value;
use serde_json::value::RawValue;

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
        let value: Value = serde_json::from_str(&line).map_err(|error| invalid(at + 1, &error))?;
        if value.get("end").is_some() {
            continue;
        }
        let call = ToolCall::from_value(value).map_err(|error| invalid(at + 1, &error))?;
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

/// An item spells its arguments as the model did, line breaks between members included.
fn one_line(item: String) -> String {
    if !item.contains(['\n', '\r']) {
        return item;
    }
    // Raw line breaks are white space in JSON; inside strings they are escaped.
    item.replace(['\n', '\r'], " ")
}
