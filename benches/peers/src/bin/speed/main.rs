//! The same bytes through callstitch and through what one assembles without it, in one run: a table of ratios.
//!
//! `cargo run --release -- [SHAPE] [CHUNKING]` in this folder; shapes are 4k, 100k, 1m, 8x1m, 128x1m, wide, one, shuffled,
//! escaped and text, chunkings 16k, 1400, event and random. Every outcome is compared with the transcript: names, and arguments
//! byte for byte. Each pipeline runs once a round, in turn, five rounds; a ratio is the median over the rounds of the times
//! within one round, so that a busy machine slows both.

#[path = "../../transcripts.rs"]
mod transcripts;

mod pipelines;

use std::time::Instant;

use pipelines::Pipeline;
use transcripts::{Chunking, Provider, Shape, chunks, transcript};

const ROUNDS: usize = 5;

fn shape(name: &str) -> Option<Shape> {
    let (kib, mib) = (1 << 10, 1 << 20);
    Some(match name {
        "4k" => Shape::Calls {
            calls: 1,
            bytes: 4 * kib,
        },
        "100k" => Shape::Calls {
            calls: 1,
            bytes: 100 * kib,
        },
        "1m" => Shape::Calls {
            calls: 1,
            bytes: mib,
        },
        "8x1m" => Shape::Calls {
            calls: 8,
            bytes: mib,
        },
        "128x1m" => Shape::Calls {
            calls: 128,
            bytes: mib,
        },
        "wide" => Shape::Wide { bytes: mib },
        "one" => Shape::One { bytes: mib },
        "shuffled" => Shape::Shuffled { bytes: mib },
        "escaped" => Shape::Escaped { bytes: mib },
        "text" => Shape::Text { bytes: 10 * mib },
        _ => return None,
    })
}

fn chunking(name: &str) -> Option<Chunking> {
    Some(match name {
        "16k" => Chunking::Bytes(16 << 10),
        "1400" => Chunking::Bytes(1400),
        "event" => Chunking::Event,
        "random" => Chunking::Random,
        _ => return None,
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let named = |at: usize, default: &'static str| {
        arguments
            .get(at)
            .map_or(default, |name| name.as_str())
            .to_owned()
    };
    let (shape_name, chunking_name) = (named(0, "1m"), named(1, "16k"));
    let (Some(shape), Some(chunking)) = (shape(&shape_name), chunking(&chunking_name)) else {
        eprintln!("no such shape or chunking: {shape_name} {chunking_name}");
        std::process::exit(2);
    };
    println!(
        "{shape_name}, chunks {chunking_name}: ns an event, and how often callstitch does it in the same time"
    );
    for provider in Provider::ALL {
        let body = transcript(provider, shape);
        let chunks = chunks(&body.body, chunking);
        let mut times = vec![Vec::new(); Pipeline::ALL.len()];
        for _ in 0..ROUNDS {
            for (pipeline, times) in Pipeline::ALL.iter().zip(&mut times) {
                let start = Instant::now();
                let calls = pipeline.run(provider, &chunks);
                times.push(start.elapsed().as_nanos() as f64 / body.events as f64);
                assert_eq!(
                    calls,
                    body.calls,
                    "{} reads {} wrong",
                    pipeline.name(),
                    provider.name()
                );
            }
        }
        let ours = times[0].clone();
        for (pipeline, times) in Pipeline::ALL.iter().zip(times) {
            let ratio = median(
                times
                    .iter()
                    .zip(&ours)
                    .map(|(theirs, ours)| theirs / ours)
                    .collect(),
            );
            println!(
                "{:<10} {:<44} {:>9.1} {ratio:>7.2}",
                provider.name(),
                pipeline.name(),
                median(times)
            );
        }
    }
}
