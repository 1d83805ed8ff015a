//! The `callstitch` command: a recorded or running response body in, its tool calls out.

#![cfg_attr(
    test,
    allow(clippy::expect_used, clippy::unwrap_used, clippy::indexing_slicing)
)]

mod arguments;
mod calls;
mod history;
mod lines;
mod live;
mod shell;
mod source;
mod words;

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use callstitch::history::HistoryFormat;
use callstitch::{RepairLevel, WireFormat};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::live::line::acts;

/// Stitches streamed LLM tool-call deltas back into whole calls.
///
/// Reads a response body, recorded or running, and gives its tool calls. On a terminal it shows each call growing and a
/// summary at the end; elsewhere it prints JSON Lines.
#[derive(Parser)]
#[command(
    version,
    args_conflicts_with_subcommands = true,
    arg_required_else_help = false,
    max_term_width = 100,
    after_long_help = AFTER_HELP
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    calls: CallsArgs,
}

const AFTER_HELP: &str = "\
Exit status:
  0    the stream ended clean and every call is usable
  1    the file cannot be read
  2    bad usage
  3    the stream was cut, or a call is flagged
  4    an error in the stream
  130  interrupted, on a terminal

Environment:
  NO_COLOR  if set to anything but nothing, no colours

Examples:
  curl -N … | callstitch
  callstitch --format anthropic --pace 40 recording.sse
  callstitch --json recording.sse | jq .arguments";

#[derive(Subcommand)]
enum Command {
    /// Read a response body and print its tool calls (the default).
    Calls(CallsArgs),
    /// Read one argument text and say what it is.
    Arguments(ArgumentsArgs),
    /// Read the lines of `calls --json` or `--events` and print each call as an item of a provider's history.
    History(HistoryArgs),
    /// Print a completion script.
    Completions {
        /// The shell it is for.
        shell: Shell,
    },
    /// Print the manual page.
    Man {
        /// The page of this subcommand.
        subcommand: Option<String>,
    },
}

#[derive(Args)]
struct CallsArgs {
    /// The body's wire format.
    #[arg(long, default_value = "auto", value_name = "FORMAT", value_parser = format_value())]
    format: String,
    /// Print JSON Lines: one line a call, then one end line. The default where the output is no terminal.
    #[arg(long, conflicts_with = "events")]
    json: bool,
    /// Print JSON Lines: one line an event, then one end line.
    #[arg(long)]
    events: bool,
    /// Show text and reasoning as well, on a terminal.
    #[arg(long, conflicts_with_all = ["json", "events"])]
    text: bool,
    /// How far malformed arguments are repaired.
    #[arg(long, value_enum, default_value = "lossless", value_name = "LEVEL")]
    repair: Repair,
    /// Feed the parser in pieces of this many bytes.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    chunk_size: Option<u32>,
    /// Wait this many milliseconds before each piece: of the size asked for, else a line.
    #[arg(long, value_name = "MS")]
    pace: Option<u64>,
    /// The body's file; standard input where it is - or absent.
    file: Option<PathBuf>,
}

impl CallsArgs {
    fn reads_stdin(&self) -> bool {
        path(self.file.as_ref()).is_none()
    }
}

#[derive(Args)]
struct ArgumentsArgs {
    /// Print a JSON line, also on a terminal.
    #[arg(long)]
    json: bool,
    /// How far malformed arguments are repaired.
    #[arg(long, value_enum, default_value = "lossless", value_name = "LEVEL")]
    repair: Repair,
    /// The text's file; standard input where it is - or absent.
    file: Option<PathBuf>,
}

#[derive(Args)]
struct HistoryArgs {
    /// The wire that the items are for.
    #[arg(long, value_name = "FORMAT", value_parser = history_value())]
    to: String,
    /// The lines' file; standard input where it is - or absent.
    file: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Repair {
    /// Never.
    None,
    /// Where there is one reading only.
    Lossless,
    /// By likelihood, marked as such.
    Guess,
}

impl From<Repair> for RepairLevel {
    fn from(repair: Repair) -> Self {
        match repair {
            Repair::None => RepairLevel::None,
            Repair::Lossless => RepairLevel::Lossless,
            Repair::Guess => RepairLevel::Guess,
        }
    }
}

mod exit {
    use callstitch::End;

    /// The end was clean and every call is usable.
    pub(crate) const CLEAN: u8 = 0;
    /// The file could not be read, or not to its end.
    pub(crate) const UNREADABLE: u8 = 1;
    /// The arguments of the command are wrong.
    pub(crate) const USAGE: u8 = 2;
    /// The body was cut, or a call is flagged.
    pub(crate) const FLAGGED: u8 = 3;
    /// The stream held an error.
    pub(crate) const ERROR: u8 = 4;
    /// Ctrl-C, on a terminal: what a shell makes of the signal.
    pub(crate) const INTERRUPTED: u8 = 130;

    /// Of a stream that ended so, with every call usable or not.
    pub(crate) fn of(end: End, usable: bool) -> u8 {
        match end {
            End::Error => ERROR,
            End::Clean if usable => CLEAN,
            _ => FLAGGED,
        }
    }
}

fn format_value() -> clap::builder::PossibleValuesParser {
    let names = std::iter::once("auto").chain(WireFormat::all().map(WireFormat::name));
    clap::builder::PossibleValuesParser::new(names)
}

fn history_value() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(HistoryFormat::all().map(HistoryFormat::name))
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let outcome = match cli.command.unwrap_or(Command::Calls(cli.calls)) {
        Command::Calls(args) => calls::run(args),
        Command::Arguments(args) => arguments::run(&args),
        Command::History(args) => history::run(&args),
        Command::Completions { shell } => shell::completions(shell),
        Command::Man { subcommand } => shell::man(subcommand.as_deref()),
    };
    match outcome {
        Ok(code) => ExitCode::from(code),
        // The reader of our output is gone, which is its right.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::from(exit::CLEAN),
        Err(error) => {
            complain(&error);
            ExitCode::from(exit::UNREADABLE)
        }
    }
}

/// Help and version as clap has them; what is wrong with the arguments in one line.
fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // The reader may be gone here too.
        let _ = error.print();
        return ExitCode::from(exit::CLEAN);
    }
    if let (ErrorKind::ArgumentConflict, Some(ContextValue::String(extra))) =
        (error.kind(), error.get(ContextKind::InvalidSubcommand))
    {
        // Where a subcommand could stand, clap takes a second file for one.
        complain(&format_args!(
            "unexpected argument '{extra}': one file is read, and options stand after a subcommand"
        ));
        return ExitCode::from(exit::USAGE);
    }
    let text = error.render().to_string();
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .filter(|line| !line.is_empty())
        .collect();
    let line = lines.join(" ");
    complain(&line.strip_prefix("error: ").unwrap_or(&line));
    ExitCode::from(exit::USAGE)
}

/// One line on standard error. Where even that is closed there is nobody to tell.
fn complain(problem: &impl Display) {
    let line: String = problem
        .to_string()
        .chars()
        .map(|c| if acts(c) { ' ' } else { c })
        .collect();
    let _ = writeln!(io::stderr(), "callstitch: {line}");
}

/// A file, or standard input.
fn open(file: Option<&PathBuf>) -> io::Result<Box<dyn Read>> {
    match path(file) {
        None => Ok(Box::new(io::stdin())),
        Some(path) => match File::open(path) {
            Ok(file) => Ok(Box::new(file)),
            Err(error) => Err(unreadable(Some(path), &error)),
        },
    }
}

/// An error that says which file it is about.
fn unreadable(file: Option<&PathBuf>, error: &io::Error) -> io::Error {
    let name = path(file).map_or("standard input".into(), |path| path.to_string_lossy());
    io::Error::other(format!("{name}: {error}"))
}

fn path(file: Option<&PathBuf>) -> Option<&PathBuf> {
    file.filter(|file| file.as_os_str() != "-")
}
