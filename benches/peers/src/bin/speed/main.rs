//! The same bytes through callstitch, through what one assembles without it, through whole clients, and past the floors: ratios.
//!
//! In this folder:
//!
//! * `cargo run --release -- peers [SHAPE [CHUNKING]]`: who takes how long for one shape, 4k in chunks of 16k unless others are
//!   named. With `--features clients` the whole clients too.
//! * `cargo run --release -- bars`: each ratio that is to be held, with its bar beside it.
//! * `cargo run --release -- growth [--check]`: how the time grows with the size; with `--check` it fails where that is far
//!   from linear.
//! * `cargo run --release`: all three.
//!
//! Every outcome is compared with what was written into the body: ids, names, arguments. Whoever is compared runs once a round,
//! in turn; a ratio is the median over the rounds of the times within one round, so that a machine that changes its pace changes
//! both. Times are only good for ratios. Memory that was freed stays with the process, as it does in one that has run for a
//! while ([`keep_freed_memory`]).

mod bars;
mod growth;
mod peers;
mod race;

use std::process::ExitCode;

use callstitch_peers::bodies::{CHUNKINGS, SHAPES, named};

/// A large block, freed once, teaches glibc's allocator to keep what is freed: a block that was mapped by itself raises its
/// thresholds when it is freed, up to 32 MiB with the allocator's own header (mallopt(3), `M_MMAP_THRESHOLD`). Else the end of the
/// heap is given back after some runs and taken again in the next, page by page, which can double the time of whoever's buffers
/// happen to lie there.
fn keep_freed_memory() {
    const LARGEST_THAT_TEACHES: usize = 32 << 20;
    drop(std::hint::black_box(vec![
        1u8;
        LARGEST_THAT_TEACHES - (64 << 10)
    ]));
}

fn main() -> ExitCode {
    keep_freed_memory();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] => {
            peers::print(SHAPES[0], CHUNKINGS[0]);
            bars::print();
            growth::print(false)
        }
        ["peers", ref which @ ..] if which.len() <= 2 => {
            let shape = which.first().copied().unwrap_or(SHAPES[0].0);
            let chunking = which.get(1).copied().unwrap_or(CHUNKINGS[0].0);
            let found = named(&SHAPES, shape).zip(named(&CHUNKINGS, chunking));
            let Some((as_shape, as_chunking)) = found else {
                return usage();
            };
            peers::print((shape, as_shape), (chunking, as_chunking));
            ExitCode::SUCCESS
        }
        ["bars"] => {
            bars::print();
            ExitCode::SUCCESS
        }
        ["growth"] => growth::print(false),
        ["growth", "--check"] => growth::print(true),
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    let shapes = SHAPES.map(|(name, _)| name).join(", ");
    let chunkings = CHUNKINGS.map(|(name, _)| name).join(", ");
    eprintln!("peers [SHAPE [CHUNKING]] | bars | growth [--check]");
    eprintln!("shapes: {shapes}; chunkings: {chunkings}");
    ExitCode::from(2)
}
