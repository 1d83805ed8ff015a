//! Reads one 4 KB call a few times: the work that `benches/instructions.sh` counts the instructions of.

#![allow(clippy::expect_used, clippy::indexing_slicing)]

use callstitch::{ToolCallParser, WireFormat};

mod transcripts;

use transcripts::{Chunking, Provider, Shape, chunks, transcript};

fn main() {
    let arguments: Vec<String> = std::env::args()
        .filter(|arg| !arg.starts_with("--"))
        .collect();
    let [_, provider, shape, runs] = &*arguments else {
        println!(
            "whose stream, of which shape, and how often: instructions PROVIDER repeating|single|packets|interleaved|padded|turns|shuffled|escaped RUNS; see benches/instructions.sh"
        );
        return;
    };
    let bytes = 4 << 10;
    let (calls, in_16k) = (Shape::Calls { calls: 1, bytes }, Chunking::Bytes(16 << 10));
    let (shape, chunking) = match shape.as_str() {
        "repeating" => (calls, in_16k),
        "single" => (calls, Chunking::Event),
        "packets" => (calls, Chunking::Bytes(1400)),
        "interleaved" => (Shape::Calls { calls: 8, bytes }, in_16k),
        "padded" => (Shape::Padded { bytes }, in_16k),
        "turns" => (Shape::Turns { bytes }, in_16k),
        "shuffled" => (Shape::Shuffled { bytes }, in_16k),
        "escaped" => (Shape::Escaped { bytes }, in_16k),
        _ => return println!("no such shape: {shape}"),
    };
    let provider = Provider::ALL
        .into_iter()
        .find(|of| of.name() == provider)
        .expect("a provider");
    let format = match provider {
        Provider::Chat => WireFormat::OpenAiChat,
        Provider::Anthropic => WireFormat::Anthropic,
        Provider::Responses => WireFormat::OpenAiResponses,
    };
    let body = transcript(provider, shape);
    let chunks = chunks(&body.body, chunking);
    for _ in 0..runs.parse().expect("a number of runs") {
        let mut parser = ToolCallParser::new(format);
        let mut calls = 0;
        for chunk in &chunks {
            calls += parser
                .push(chunk)
                .filter_map(|event| event.ok()?.into_call())
                .count();
        }
        calls += parser
            .finish()
            .filter_map(|event| event.ok()?.into_call())
            .count();
        assert_eq!(calls, body.calls.len());
    }
    println!("{}", body.events);
}
