//! `ToolCallParser::push` alone: nanoseconds an event by provider, shape and chunking, and how the cost grows with the size.
//!
//! `cargo bench --bench push` prints the tables; times are medians of one run on one machine, to be compared with each other
//! only. The same work by other crates is in `benches/peers`.

#![allow(clippy::expect_used, clippy::indexing_slicing)]

use std::time::Instant;

use callstitch::{Config, Event, ToolCallParser, WireFormat};

mod transcripts;

use transcripts::{Chunking, Provider, Shape, Transcript, chunks, transcript};

const ROUNDS: usize = 7;

fn format(provider: Provider) -> WireFormat {
    match provider {
        Provider::Chat => WireFormat::OpenAiChat,
        Provider::Anthropic => WireFormat::Anthropic,
        Provider::Responses => WireFormat::OpenAiResponses,
    }
}

/// One body through one parser; what comes out is compared with what was written.
fn read(provider: Provider, body: &Transcript, chunks: &[&[u8]], remember: bool) -> f64 {
    let start = Instant::now();
    let config = Config::default().remember_events(remember);
    let mut parser = ToolCallParser::with_config(format(provider), config);
    let mut calls = 0;
    let mut check = |event: Result<Event<'_>, callstitch::Error>| {
        if let Event::CallCompleted(call) = event.expect("a clean stream") {
            let written = &body.calls[calls];
            assert_eq!(
                (call.name(), call.arguments().raw()),
                (&*written.0, &*written.1)
            );
            calls += 1;
        }
    };
    for chunk in chunks {
        parser.push(chunk).for_each(&mut check);
    }
    parser.finish().for_each(&mut check);
    assert_eq!(calls, body.calls.len());
    start.elapsed().as_nanos() as f64 / body.events as f64
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn measure(provider: Provider, shape: Shape, chunking: Chunking, remember: bool) -> (f64, usize) {
    let body = transcript(provider, shape);
    let chunks = chunks(&body.body, chunking);
    let times = (0..ROUNDS)
        .map(|_| read(provider, &body, &chunks, remember))
        .collect();
    (median(times), body.body.len() / body.events)
}

fn main() {
    let quick = std::env::args().any(|arg| arg == "--quick");
    let bytes = if quick { 100 << 10 } else { 1 << 20 };
    let shapes = [
        ("one call", Shape::Calls { calls: 1, bytes }),
        ("8 calls interleaved", Shape::Calls { calls: 8, bytes }),
        ("128 calls interleaved", Shape::Calls { calls: 128, bytes }),
        ("wide deltas", Shape::Wide { bytes }),
        ("one delta", Shape::One { bytes }),
        ("shuffled members", Shape::Shuffled { bytes }),
        ("escaped", Shape::Escaped { bytes }),
        ("text, then a call", Shape::Text { bytes: 10 * bytes }),
    ];
    println!("ns an event (MB/s of wire), chunks of 16 KiB");
    println!(
        "{:<24}{:>20}{:>20}{:>20}",
        "", "chat", "anthropic", "responses"
    );
    for (name, shape) in shapes {
        print!("{name:<24}");
        for provider in Provider::ALL {
            let (ns, wire) = measure(provider, shape, Chunking::Bytes(16 << 10), true);
            print!("{:>20}", format!("{ns:.1} ({:.0})", wire as f64 * 1e3 / ns));
        }
        println!();
    }
    println!("\nns an event by chunking, one call");
    let one = Shape::Calls {
        calls: 1,
        bytes: bytes / 10,
    };
    for (name, chunking) in [
        ("16 KiB", Chunking::Bytes(16 << 10)),
        ("1,400 bytes", Chunking::Bytes(1400)),
        ("one event a chunk", Chunking::Event),
        ("random", Chunking::Random),
    ] {
        print!("{name:<24}");
        for provider in Provider::ALL {
            print!("{:>20.1}", measure(provider, one, chunking, true).0);
        }
        println!();
    }
    println!("\ntimes the cost without the memory of the last event (never over 1.1)");
    let bytes = bytes / 10;
    for (name, shape) in [
        ("shuffled members", Shape::Shuffled { bytes }),
        ("four shapes by turns", Shape::Turns { bytes }),
    ] {
        print!("{name:<24}");
        for provider in Provider::ALL {
            let on = measure(provider, shape, Chunking::Bytes(16 << 10), true).0;
            let off = measure(provider, shape, Chunking::Bytes(16 << 10), false).0;
            print!("{:>20.2}", on / off);
        }
        println!();
    }
    println!("\ngrowth: exponent of the time from the first size to the last (1 is linear)");
    let sizes: &[usize] = if quick {
        &[10 << 10, 100 << 10]
    } else {
        &[10 << 10, 100 << 10, 1 << 20, 10 << 20]
    };
    for provider in Provider::ALL {
        print!("{:<24}", provider.name());
        let ends: Vec<f64> = sizes
            .iter()
            .map(|&bytes| {
                let (ns, _) = measure(
                    provider,
                    Shape::Calls { calls: 1, bytes },
                    Chunking::Bytes(16 << 10),
                    true,
                );
                print!("{:>20}", format!("{} KB: {ns:.1}", bytes >> 10));
                ns
            })
            .collect();
        let (first, last) = (ends[0], ends[ends.len() - 1]);
        let decades = (sizes[sizes.len() - 1] as f64 / sizes[0] as f64).log10();
        println!("{:>12.3}", 1.0 + (last / first).log10() / decades);
    }
}
