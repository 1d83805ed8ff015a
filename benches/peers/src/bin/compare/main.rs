//! What callstitch and others make of chat streams as servers send them, faults included: one table.
//!
//! In this folder, once `npm install --prefix vercel` has been run and while `node` is there:
//!
//! ```text
//! cargo run --release --features clients --bin compare [-- FILE | -- --readings]
//! ```
//!
//! Each library is called as its own users call it, reads the same chunks, and goes on after an error as long as it has more to
//! give. The words in the table come from [`judge`] alone. With a FILE, the run fails where the file does not hold the table as
//! printed; it always fails where callstitch is judged wrong. `--readings` prints what each read, for who doubts a word.

mod judge;
mod streams;
mod vercel;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use callstitch::WireFormat;
use callstitch_peers::clients::{ASYNC_OPENAI, GENAI_APART, RIG};
use callstitch_peers::ours::OBJECTS;
use callstitch_peers::peer::{Peer, Reading};
use judge::Verdict;
use streams::Stream;

/// One library: what it is called, and what it read of each stream; nothing where it panicked.
struct Column {
    title: String,
    readings: Vec<Option<Reading>>,
}

fn main() -> ExitCode {
    let streams = streams::all();
    let mut columns: Vec<Column> = [OBJECTS, RIG, ASYNC_OPENAI, GENAI_APART]
        .iter()
        .map(|peer| Column {
            title: title(peer.name),
            readings: streams.iter().map(|stream| read(peer, stream)).collect(),
        })
        .collect();
    match vercel::column(&streams) {
        Ok(column) => columns.push(column),
        Err(reason) => eprintln!("without Vercel's SDK: {reason}"),
    }
    let verdicts: Vec<Vec<Verdict>> = columns
        .iter()
        .map(|column| {
            let pairs = streams.iter().zip(&column.readings);
            pairs
                .map(|(stream, reading)| judge::judge(stream, reading.as_ref()))
                .collect()
        })
        .collect();
    let argument = std::env::args().nth(1);
    if argument.as_deref() == Some("--readings") {
        return readings(&streams, &columns);
    }
    let table = table(&streams, &columns, &verdicts);
    print!("{table}");

    let mut fine = true;
    for (stream, verdict) in streams.iter().zip(&verdicts[0]) {
        if !verdict.good {
            fine = false;
            eprintln!("callstitch reads wrong: {}", stream.name);
        }
    }
    if let Some(file) = argument {
        let kept = std::fs::read_to_string(&file).unwrap_or_default();
        if !kept.contains(&table) {
            fine = false;
            eprintln!("{file} holds another table");
        }
    }
    if fine {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn readings(streams: &[Stream], columns: &[Column]) -> ExitCode {
    for (at, stream) in streams.iter().enumerate() {
        println!("{}", stream.name);
        for column in columns {
            println!("  {}: {:?}", column.title, column.readings[at]);
        }
    }
    ExitCode::SUCCESS
}

fn read(peer: &Peer, stream: &Stream) -> Option<Reading> {
    let chunks = stream.chunks.iter().cloned().map(Into::into).collect();
    let mut job = (peer.prepare)(WireFormat::OpenAiChat, &chunks).expect("reads chat");
    catch_unwind(AssertUnwindSafe(&mut job)).ok()
}

/// With the version that was compiled in.
fn title(name: &str) -> String {
    let lock = include_str!("../../../Cargo.lock");
    let mut lines = lock.lines();
    let found = lines.find(|line| *line == format!("name = \"{name}\""));
    let version = found.and_then(|_| lines.next()?.strip_prefix("version = "));
    format!("{name} {}", version.unwrap_or_default().trim_matches('"'))
}

fn table(streams: &[Stream], columns: &[Column], verdicts: &[Vec<Verdict>]) -> String {
    let row = |first: &str, cells: Vec<String>| format!("| {first} | {} |\n", cells.join(" | "));
    let titles = columns.iter().map(|column| column.title.clone());
    let mut table = row("", titles.collect());
    table += &row("---", columns.iter().map(|_| "---".into()).collect());
    for (at, stream) in streams.iter().enumerate() {
        let cells = verdicts.iter().map(|column| column[at].cell());
        table += &row(stream.name, cells.collect());
    }
    let counts = verdicts.iter().map(|column| {
        let good = column.iter().filter(|verdict| verdict.good).count();
        format!("{good} of {}", column.len())
    });
    table + &row("✓", counts.collect())
}
