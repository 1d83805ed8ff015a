//! `callstitch completions` and `callstitch man`: from the one definition of the command line.

use std::io::{self, Write};

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use crate::{Cli, complain, exit};

pub(crate) fn completions(shell: Shell) -> io::Result<u8> {
    // The generator wants a writer that cannot fail.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "callstitch", &mut script);
    print(&script)
}

/// The page of the command, or of one of its subcommands.
pub(crate) fn man(subcommand: Option<&str>) -> io::Result<u8> {
    let mut command = Cli::command();
    command.build();
    let page = match subcommand {
        None => Some(command),
        Some(name) => command.find_subcommand(name).cloned().map(|found| {
            let full = format!("callstitch-{name}");
            Command::name(found, full)
        }),
    };
    let Some(page) = page else {
        let name = subcommand.unwrap_or_default();
        complain(&format_args!("there is no subcommand {name}"));
        return Ok(exit::USAGE);
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text)?;
    print(&text)
}

fn print(bytes: &[u8]) -> io::Result<u8> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()?;
    Ok(exit::CLEAN)
}
