//! `callstitch calls`: a response body in, its calls out the moment each is known.

use std::io::{self, IsTerminal, Write};

use callstitch::{Config, End, Error, ErrorKind, Event, ToolCall, ToolCallParser, WireFormat};

use crate::lines::{CallLine, EndLine, event_line, text};
use crate::{CallsArgs, complain, exit, live, source};

struct Printer<W> {
    out: W,
    events: bool,
    calls: usize,
    flagged: usize,
    finish_reasons: Vec<String>,
    error: Option<Error>,
}

pub(crate) fn run(args: CallsArgs) -> io::Result<u8> {
    let out = io::stdout().lock();
    if out.is_terminal() && !args.json && !args.events {
        return live::run(args, out);
    }
    let mut printer = Printer {
        out,
        events: args.events,
        calls: 0,
        flagged: 0,
        finish_reasons: Vec::new(),
        error: None,
    };
    let config = Config::default()
        .repair(args.repair.into())
        .calls_only(!args.events);
    let format = args.format.parse().unwrap_or(WireFormat::Auto);
    let mut parser = ToolCallParser::with_config(format, config);
    let failed = source::read(&args, |piece| {
        printer.events(parser.push(piece))?;
        // A reader at the other end of a pipe sees each call as soon as it is there.
        printer.out.flush()?;
        Ok(true)
    })?;
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
        if self.events {
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
        if self.events {
            return Ok(());
        }
        writeln!(self.out, "{}", text(&CallLine::new(call))?)
    }

    fn end(mut self, parser: &ToolCallParser) -> io::Result<u8> {
        let end = parser.end().unwrap_or(End::Truncated);
        let line = EndLine::new(
            end,
            parser.format(),
            &self.finish_reasons,
            self.calls,
            self.error.as_ref(),
            parser.anomalies(),
        );
        writeln!(self.out, "{}", text(&line)?)?;
        self.out.flush()?;
        if let Some(error) = &self.error {
            complain(error);
        }
        Ok(exit::of(end, self.flagged == 0))
    }
}
