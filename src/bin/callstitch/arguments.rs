//! `callstitch arguments`: one argument text, what it is, and what was done to it.

use std::io::{self, Read, Write};

use callstitch::{Arguments, ArgumentsState, Settling};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::lines::{object, repairs, text};
use crate::{ArgumentsArgs, complain, exit, open, unreadable};

#[derive(Serialize)]
struct Line<'a> {
    state: ArgumentsState,
    arguments: Option<&'a Map<String, Value>>,
    repairs: Value,
}

pub(crate) fn run(args: &ArgumentsArgs) -> io::Result<u8> {
    let mut bytes = Vec::new();
    let file = args.file.as_ref();
    open(file)?
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(file, &error))?;
    let settling = Settling {
        repair: args.repair.into(),
        ..Settling::default()
    };
    let arguments = Arguments::settle(String::from_utf8_lossy(&bytes).into_owned(), &settling);
    let mut out = io::stdout().lock();
    let line = Line {
        state: arguments.state(),
        arguments: object(&arguments),
        repairs: repairs(&arguments),
    };
    writeln!(out, "{}", text(&line)?)?;
    if let Some(problem) = arguments.problem() {
        complain(&format_args!(
            "arguments are {}: {problem}",
            arguments.state()
        ));
    }
    Ok(if arguments.is_usable() {
        exit::CLEAN
    } else {
        exit::FLAGGED
    })
}
