//! `callstitch calls`: a response body in, its calls out the moment each is known.

use std::io::{self, IsTerminal, Read, Write};
use std::time::Duration;

use callstitch::{Config, End, Error, ErrorKind, Event, ToolCall, ToolCallParser, WireFormat};

use crate::lines::{CallLine, EndLine, event_line, text};
use crate::{CallsArgs, complain, exit, open, unreadable};

/// What is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Output {
    Calls,
    Events,
    People,
}

struct Printer<W> {
    out: W,
    output: Output,
    calls: usize,
    flagged: usize,
    finish_reasons: Vec<String>,
    error: Option<Error>,
}

pub(crate) fn run(args: &CallsArgs) -> io::Result<u8> {
    let mut body = open(args.file.as_ref())?;
    let out = io::stdout().lock();
    let output = match (args.events, args.json || !out.is_terminal()) {
        (true, _) => Output::Events,
        (_, true) => Output::Calls,
        _ => Output::People,
    };
    let mut printer = Printer {
        out,
        output,
        calls: 0,
        flagged: 0,
        finish_reasons: Vec::new(),
        error: None,
    };
    let config = Config::default()
        .repair(args.repair.into())
        .calls_only(output != Output::Events);
    let format = args.format.parse().unwrap_or(WireFormat::Auto);
    let mut parser = ToolCallParser::with_config(format, config);
    let mut buffer = vec![0; 64 << 10];
    let failed = loop {
        let read = match body.read(&mut buffer) {
            Ok(0) => break None,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => break Some(unreadable(args.file.as_ref(), &error)),
        };
        let bytes = buffer.get(..read).unwrap_or_default();
        for piece in bytes.chunks(args.chunk_size.map_or(bytes.len(), |size| size as usize)) {
            if let Some(pace) = args.pace {
                std::thread::sleep(Duration::from_millis(pace));
            }
            printer.events(parser.push(piece))?;
        }
        // A reader at the other end of a pipe sees each call as soon as it is there.
        printer.out.flush()?;
    };
    let Some(failed) = failed else {
        printer.events(parser.finish())?;
        return printer.end(&parser);
    };
    if parser.offset() == 0 {
        return Err(failed);
    }
    // A body that cannot be read to its end is a transport that died: what came before counts.
    let error = Error::new(ErrorKind::Transport, parser.offset(), failed.to_string());
    printer.events(parser.abort_with(error))?;
    printer.end(&parser)?;
    Ok(exit::UNREADABLE)
}

impl<W: Write> Printer<W> {
    fn events<'a>(
        &mut self,
        events: impl Iterator<Item = Result<Event<'a>, Error>>,
    ) -> io::Result<()> {
        for event in events {
            match event {
                Ok(event) => self.event(&event)?,
                Err(error) => self.error = Some(error),
            }
        }
        Ok(())
    }

    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        if self.output == Output::Events {
            writeln!(self.out, "{}", event_line(event)?)?;
        }
        match event {
            Event::CallCompleted(call) => {
                self.calls += 1;
                self.flagged += usize::from(!call.is_usable());
                self.call(call)?;
            }
            Event::Finished { reason, .. } => self.finish_reasons.push(reason.text.clone()),
            _ => {}
        }
        Ok(())
    }

    fn call(&mut self, call: &ToolCall) -> io::Result<()> {
        match self.output {
            Output::Events => Ok(()),
            Output::Calls => {
                let line = text(&CallLine::new(call))?;
                writeln!(self.out, "{line}")
            }
            Output::People => {
                let flag = if call.is_usable() {
                    String::new()
                } else {
                    format!("  [{}]", call.state())
                };
                writeln!(self.out, "{call}{flag}")?;
                let arguments = call.arguments();
                match arguments.recovered() {
                    Some(object) => writeln!(self.out, "{}", serde_json::to_string_pretty(object)?),
                    None => writeln!(self.out, "{}", arguments.raw()),
                }
            }
        }
    }

    fn end(mut self, parser: &ToolCallParser) -> io::Result<u8> {
        let end = parser.end().unwrap_or(End::Truncated);
        if self.output == Output::People {
            let reasons = self.finish_reasons.join(", ");
            let format = parser.format().map_or("unknown", WireFormat::name);
            writeln!(
                self.out,
                "{} ({format}; {} calls, {} flagged; {reasons})",
                end.as_str(),
                self.calls,
                self.flagged
            )?;
        } else {
            let error = self.error.as_ref();
            let line = EndLine::new(
                end,
                parser.format(),
                &self.finish_reasons,
                self.calls,
                error,
                parser.anomalies(),
            );
            writeln!(self.out, "{}", text(&line)?)?;
        }
        self.out.flush()?;
        if let Some(error) = &self.error {
            complain(error);
        }
        Ok(match end {
            End::Error => exit::ERROR,
            End::Clean if self.flagged == 0 => exit::CLEAN,
            _ => exit::FLAGGED,
        })
    }
}
