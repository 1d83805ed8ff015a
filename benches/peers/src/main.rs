#[path = "../../transcripts.rs"]
mod transcripts;
mod base;
use std::time::Instant;
use transcripts::*;
use callstitch::{ToolCallParser, WireFormat, Event};

#[inline(never)]
fn ours(provider: Provider, chunks: &[&[u8]]) -> Vec<(String, String)> {
    let format = match provider { Provider::Chat => WireFormat::OpenAiChat, Provider::Anthropic => WireFormat::Anthropic, Provider::Responses => WireFormat::OpenAiResponses };
    let mut parser = ToolCallParser::new(format);
    let mut out = Vec::new();
    for chunk in chunks {
        for event in parser.push(chunk) {
            if let Event::CallCompleted(call) = event.unwrap() { out.push((call.name().to_owned(), call.arguments().raw().to_owned())); }
        }
    }
    for event in parser.finish() {
        if let Event::CallCompleted(call) = event.unwrap() { out.push((call.name().to_owned(), call.arguments().raw().to_owned())); }
    }
    out
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let shape = match args.get(1).map(String::as_str).unwrap_or("1m") {
        "4k" => Shape::Calls { calls: 1, bytes: 4 << 10 },
        "100k" => Shape::Calls { calls: 1, bytes: 100 << 10 },
        "1m" => Shape::Calls { calls: 1, bytes: 1 << 20 },
        "8x1m" => Shape::Calls { calls: 8, bytes: 1 << 20 },
        "128x1m" => Shape::Calls { calls: 128, bytes: 1 << 20 },
        "wide" => Shape::Wide { bytes: 1 << 20 },
        "one" => Shape::One { bytes: 1 << 20 },
        "shuffled" => Shape::Shuffled { bytes: 1 << 20 },
        "escaped" => Shape::Escaped { bytes: 1 << 20 },
        "text" => Shape::Text { bytes: 10 << 20 },
        other => panic!("{other}"),
    };
    let chunking = match args.get(2).map(String::as_str).unwrap_or("16k") {
        "16k" => Chunking::Bytes(16 << 10),
        "1400" => Chunking::Bytes(1400),
        "event" => Chunking::Event,
        "random" => Chunking::Random,
        other => panic!("{other}"),
    };
    let only = args.get(3).cloned();
    for provider in Provider::ALL {
        if only.as_ref().is_some_and(|only| only != provider.name()) { continue }
        let t = transcript(provider, shape);
        let chunks = chunks(&t.body, chunking);
        let rounds = 5;
        let mut best = vec![];
        let mut base_t = vec![];
        let mut bp_t = vec![];
        for _ in 0..rounds {
            let s = Instant::now();
            let got = ours(provider, &chunks);
            best.push(s.elapsed().as_nanos() as f64 / t.events as f64);
            assert_eq!(got, t.calls, "{provider:?}");
            if std::env::var("NOBASE").is_err() {
            let s = Instant::now();
            let got = base::base(provider, &chunks);
            base_t.push(s.elapsed().as_nanos() as f64 / t.events as f64);
            assert_eq!(got, t.calls, "base {provider:?}");
            let s = Instant::now();
            let got = base::best(provider, &chunks);
            bp_t.push(s.elapsed().as_nanos() as f64 / t.events as f64);
            assert_eq!(got, t.calls, "best {provider:?}");
            }
        }
        let med = |v: &mut Vec<f64>| { v.sort_by(f64::total_cmp); v.get(v.len()/2).copied().unwrap_or(0.0) };
        let (o, b, p) = (med(&mut best), med(&mut base_t), med(&mut bp_t));
        println!("{:10} {} events {:8} ns/event ours {:8.1} base {:8.1} ({:.1}x) best {:8.1} ({:.1}x)", provider.name(), args.get(1).map(String::as_str).unwrap_or("1m"), t.events, o, b, b/o, p, p/o);
    }
}
