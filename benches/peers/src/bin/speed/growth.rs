//! How callstitch's time grows with the size of the body, by format and chunking: the exponent between the two ends.
//!
//! A body of 10 MB of arguments comes from memory, where one of 10 KB would come from the processor's cache when it is read again.
//! So the small one is read from as many copies, in turn, as no cache holds.

use std::process::ExitCode;

use callstitch_peers::bodies::{Body, CHUNKINGS, STREAMED, one_call};
use callstitch_peers::ours::PUSH;
use callstitch_peers::transcripts::Chunking;
use callstitch_peers::written;

use crate::race::{self, Runner};

/// Bytes of arguments at the two ends.
const SIZES: [usize; 2] = [10 << 10, 10 << 20];
/// Bytes of all copies of a body; a larger body has one.
const NO_CACHE: usize = 64 << 20;
/// How far from linear it is to be.
const BAR: f64 = 0.02;
/// What `--check` lets pass. Quadratic growth is 2; neither a busy machine nor its caches come near this.
const FAR: f64 = 0.25;

pub fn print(check: bool) -> ExitCode {
    println!("\ngrowth from 10 KB to 10 MB of arguments: the exponent, 1 is linear (1 ± {BAR})\n");
    println!(
        "| chunks | {} |",
        CHUNKINGS.map(|(name, _)| name).join(" | ")
    );
    println!("|---|---|---|---|---|");
    let mut far = false;
    for format in STREAMED.into_iter().chain(written::FORMATS) {
        let bodies = SIZES.map(|bytes| Body::new(format, one_call(bytes)));
        let copies = bodies.each_ref().map(copies);
        print!("| {format} |");
        for (_, chunking) in CHUNKINGS {
            let mut runners: Vec<_> = copies
                .iter()
                .map(|copies| in_turn(copies, chunking))
                .collect();
            let times = race::race(&mut runners).pop().expect("two results");
            let times = times.expect("reads right");
            let [small, large] = bodies.each_ref().map(|body| body.bytes.len() as f64);
            let exponent = times.ratio.ln() / (large / small).ln();
            far |= (exponent - 1.0).abs() > FAR;
            print!(" {exponent:.3} |");
        }
        println!();
    }
    if check && far {
        eprintln!("an exponent is not 1 ± {FAR}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn copies(body: &Body) -> Vec<Body> {
    let count = (NO_CACHE / body.bytes.len()).max(1);
    (0..count).map(|_| body.copied()).collect()
}

/// Reads the copies one after another, one each time.
fn in_turn(copies: &[Body], chunking: Chunking) -> Runner<'_> {
    let mut runners: Vec<_> = copies
        .iter()
        .map(|body| race::peer(&PUSH, body, &body.chunks(chunking)).expect("reads all"))
        .collect();
    let mut turn = 0;
    Box::new(move || {
        turn = (turn + 1) % runners.len();
        runners[turn]()
    })
}
