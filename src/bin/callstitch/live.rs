//! `callstitch calls` on a terminal: each call growing as its bytes arrive, then a summary.
//!
//! One thread reads the body, another waits for Ctrl-C; the parser and the screen live in this one. What is over scrolls
//! away above, what still changes is drawn anew below it.

mod block;
mod fit;
pub(crate) mod line;
pub(crate) mod pretty;
pub(crate) mod screen;
mod summary;

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use callstitch::{
    Anomaly, Config, End, Error, ErrorKind, Event, PartialCall, ToolCall, ToolCallParser,
    WireFormat,
};

use crate::{CallsArgs, complain, exit, source};
use block::{Block, Ended};
use line::Line;
use screen::Screen;

/// The shortest time between two drawings, and how much longer than a drawing took.
const FRAME: Duration = Duration::from_millis(33);
const DRAWING_SHARE: u32 = 4;

enum Message {
    Piece(Vec<u8>),
    /// The body ended, or could not be read to its end.
    End(io::Result<Option<io::Error>>),
}

/// What has been seen of the stream.
struct View {
    blocks: Vec<Block>,
    calls: Vec<(ToolCall, Duration)>,
    anomalies: Vec<Anomaly>,
    finish_reasons: Vec<String>,
    error: Option<Error>,
    began: Instant,
}

pub(crate) fn run(args: CallsArgs, out: impl Write) -> io::Result<u8> {
    let config = Config::default()
        .repair(args.repair.into())
        .calls_only(!args.text);
    let format = args.format.parse().unwrap_or(WireFormat::Auto);
    let mut parser = ToolCallParser::with_config(format, config);
    let typed = args.reads_stdin() && io::stdin().is_terminal();
    if typed {
        complain(&"reading a response body from the terminal; Ctrl-D ends it");
    }
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let mut screen = Screen::new(out, line::colour(), !typed && !dumb);
    let interrupted = watch_interrupts();
    let pieces = spawn_reader(args);
    let mut view = View::new();
    let mut drawn = Instant::now();
    let mut pause = Duration::ZERO;
    let failed = loop {
        if interrupted.load(Ordering::Relaxed) {
            let error = Error::new(ErrorKind::Transport, parser.offset(), "interrupted");
            view.take(parser.abort_with(error));
            break None;
        }
        match pieces.recv_timeout(FRAME) {
            Ok(Message::Piece(piece)) => view.take(parser.push(&piece)),
            Ok(Message::End(read)) => break read?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break None,
        }
        if drawn.elapsed() >= pause {
            let began = Instant::now();
            view.draw(&mut parser, &mut screen)?;
            drawn = Instant::now();
            pause = FRAME.max(began.elapsed() * DRAWING_SHARE);
        }
    };
    let unreadable = failed.is_some();
    match failed {
        None => view.take(parser.finish()),
        Some(failed) if parser.offset() == 0 => return Err(failed),
        Some(failed) => {
            let error = Error::new(ErrorKind::Transport, parser.offset(), failed.to_string());
            view.take(parser.abort_with(error));
        }
    }
    view.close_texts();
    view.draw(&mut parser, &mut screen)?;
    summary::print(&view, &parser, &mut screen)?;
    if unreadable {
        return Ok(exit::UNREADABLE);
    }
    if interrupted.load(Ordering::Relaxed) {
        return Ok(exit::INTERRUPTED);
    }
    Ok(exit::of(
        parser.end().unwrap_or(End::Truncated),
        view.flagged() == 0,
    ))
}

/// A flag that Ctrl-C and a plain kill set; a second one ends the command at once.
fn watch_interrupts() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&flag);
    let watching = ctrlc::set_handler(move || {
        if seen.swap(true, Ordering::Relaxed) {
            std::process::exit(exit::INTERRUPTED.into());
        }
    });
    // Without a handler Ctrl-C ends the command as it ends any other.
    drop(watching);
    flag
}

/// The body's pieces, read in a thread of their own: a pipe may be silent for long.
fn spawn_reader(args: CallsArgs) -> Receiver<Message> {
    let (sender, receiver) = sync_channel(8);
    std::thread::spawn(move || {
        let read = source::read(&args, |piece| {
            Ok(sender.send(Message::Piece(piece.to_vec())).is_ok())
        });
        // Nobody listens any more where this fails.
        drop(sender.send(Message::End(read)));
    });
    receiver
}

impl View {
    fn new() -> Self {
        View {
            blocks: Vec::new(),
            calls: Vec::new(),
            anomalies: Vec::new(),
            finish_reasons: Vec::new(),
            error: None,
            began: Instant::now(),
        }
    }

    fn flagged(&self) -> usize {
        self.calls
            .iter()
            .filter(|(call, _)| !call.is_usable())
            .count()
    }

    fn take<'a>(&mut self, events: impl Iterator<Item = Result<Event<'a>, Error>>) {
        for event in events {
            match event {
                Ok(Event::CallCompleted(call)) => self.end(call, false),
                Ok(Event::CallDiscarded(call)) => self.end(call, true),
                Ok(Event::Text { choice, text }) => self.text("text", choice, &text),
                Ok(Event::Reasoning { choice, text }) => self.text("reasoning", choice, &text),
                Ok(Event::Refusal { choice, text }) => self.text("refusal", choice, &text),
                Ok(Event::Finished { reason, .. }) => self.finish_reasons.push(reason.text),
                Ok(Event::Anomaly(anomaly)) => self.anomalies.push(anomaly),
                Ok(_) => {}
                Err(error) => self.error = Some(error),
            }
        }
    }

    /// Text goes on where the newest block is of its kind; another kind in between begins a new one.
    fn text(&mut self, what: &'static str, choice: u32, piece: &str) {
        if let Some(Block::Text {
            what: last,
            choice: of,
            text,
            ..
        }) = self.blocks.last_mut()
            && (*last, *of) == (what, choice)
        {
            return text.push_str(piece);
        }
        self.close_texts();
        self.blocks.push(Block::Text {
            what,
            choice,
            text: piece.to_owned(),
            ended: false,
        });
    }

    fn close_texts(&mut self) {
        for block in &mut self.blocks {
            if let Block::Text { ended, .. } = block {
                *ended = true;
            }
        }
    }

    fn end(&mut self, call: ToolCall, discarded: bool) {
        let index = call.index();
        let place = self
            .blocks
            .iter_mut()
            .find(|block| matches!(block, Block::Growing { index: at, .. } if *at == index));
        let took = match &place {
            Some(Block::Growing { since, .. }) => since.elapsed(),
            _ => Duration::ZERO,
        };
        if !discarded {
            self.calls.push((call.clone(), took));
        }
        let ended = Block::Ended(Box::new(Ended { call, discarded }));
        match place {
            Some(block) => *block = ended,
            None => self.blocks.push(ended),
        }
    }

    /// Gives what is over to the scroll-back and draws the rest.
    fn draw<W: Write>(
        &mut self,
        parser: &mut ToolCallParser,
        screen: &mut Screen<W>,
    ) -> io::Result<()> {
        let mut growing: Vec<&mut PartialCall> = parser.in_progress().collect();
        for call in &growing {
            let index = call.index();
            let known =
                |block: &Block| matches!(block, Block::Growing { index: at, .. } if *at == index);
            if !self.blocks.iter().any(known) {
                let since = Instant::now();
                self.close_texts();
                self.blocks.push(Block::Growing { index, since });
            }
        }
        let over = self
            .blocks
            .iter()
            .take_while(|block| block.is_over())
            .count();
        let done = self
            .blocks
            .drain(..over)
            .flat_map(|block| block.lines(None));
        let done: Vec<Line> = done.collect();
        if !screen.moves() {
            return screen.draw(done, Vec::new());
        }
        let blocks: Vec<Vec<Line>> = self
            .blocks
            .iter()
            .map(|block| {
                let live = growing.iter_mut().find(
                    |call| matches!(block, Block::Growing { index, .. } if *index == call.index()),
                );
                block.lines(live.map(|call| &mut **call))
            })
            .collect();
        let (columns, rows) = screen.size();
        screen.draw(done, fit::rows(blocks, columns, rows))
    }
}
