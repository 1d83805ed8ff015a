//! The ratios that are to be held, each measured in one race, with its bar beside it.
//!
//! A bar is printed and not asserted: a ratio is good to some ten percent on a machine that others use too.

use std::rc::Rc;

use callstitch::WireFormat;
use callstitch_peers::assembled::{BASE, BASE_PARSED, BEST_PARTS, BEST_PARTS_PARSED};
use callstitch_peers::bodies::{Body, CHUNKINGS, SHAPES, STREAMED, named};
use callstitch_peers::floors::{FLOORS, Floor};
use callstitch_peers::ours::{FORGETFUL, PUSH, STREAM};
use callstitch_peers::peer::Peer;
use callstitch_peers::transcripts::Shape;
use callstitch_peers::values::VALUES;
use callstitch_peers::written;

use crate::race::{self, Runner};

enum Who {
    Peer(Peer),
    Lines(Floor),
}

/// Someone reads a shape in a chunking.
struct Run(Who, &'static str, &'static str);

enum Bar {
    AtLeast([f64; 3]),
    AtMost([f64; 3]),
    None,
}

/// The time of `over` is so many times the time of `under`.
struct Ratio {
    what: &'static str,
    over: Run,
    under: Run,
    bar: Bar,
}

fn ratio(what: &'static str, over: Run, under: Run, bar: Bar) -> Ratio {
    Ratio {
        what,
        over,
        under,
        bar,
    }
}

/// Someone's time over callstitch's, both on the same bytes.
fn same(
    what: &'static str,
    peer: Peer,
    shape: &'static str,
    chunking: &'static str,
    bar: Bar,
) -> Ratio {
    ratio(
        what,
        Run(Who::Peer(peer), shape, chunking),
        ours(shape, chunking),
        bar,
    )
}

fn ours(shape: &'static str, chunking: &'static str) -> Run {
    Run(Who::Peer(PUSH), shape, chunking)
}

fn ratios() -> Vec<Ratio> {
    use Bar::{AtLeast, AtMost, None};
    let [_, _, lines] = FLOORS;
    vec![
        same("1 MB, BASE", BASE, "1m", "16k", AtLeast([25., 20., 18.])),
        same(
            "1 MB, BEST PARTS",
            BEST_PARTS,
            "1m",
            "16k",
            AtLeast([8., 5., 4.]),
        ),
        same(
            "1 MB, BASE, arguments parsed",
            BASE_PARSED,
            "1m",
            "16k",
            None,
        ),
        same(
            "1 MB, BEST PARTS, arguments parsed",
            BEST_PARTS_PARSED,
            "1m",
            "16k",
            None,
        ),
        ratio(
            "1 MB, over the lines alone",
            ours("1m", "16k"),
            Run(Who::Lines(lines), "1m", "16k"),
            None,
        ),
        same(
            "100 KB, one event a chunk, BASE",
            BASE,
            "100k",
            "event",
            AtLeast([20., 14., 13.]),
        ),
        same(
            "100 KB, chunks of 1,400, BASE",
            BASE,
            "100k",
            "1400",
            AtLeast([20., 14., 13.]),
        ),
        same(
            "100 KB, random chunks, BASE",
            BASE,
            "100k",
            "random",
            AtLeast([20., 14., 13.]),
        ),
        same(
            "no event like the last, BASE",
            BASE,
            "shuffled",
            "16k",
            AtLeast([5., 8., 8.]),
        ),
        same(
            "keys with escapes, BASE",
            BASE,
            "escaped",
            "16k",
            AtLeast([5., 8., 8.]),
        ),
        same(
            "events padded with spaces, BASE",
            BASE,
            "padded",
            "16k",
            None,
        ),
        same(
            "no event like the last, BEST PARTS",
            BEST_PARTS,
            "shuffled",
            "16k",
            None,
        ),
        ratio(
            "no event like the last, over the memory off",
            ours("shuffled", "16k"),
            Run(Who::Peer(FORGETFUL), "shuffled", "16k"),
            AtMost([1.1; 3]),
        ),
        ratio(
            "events of four shapes, over the memory off",
            ours("turns", "16k"),
            Run(Who::Peer(FORGETFUL), "turns", "16k"),
            AtMost([1.1; 3]),
        ),
        ratio(
            "2 interleaved calls over one",
            ours("2x1m", "16k"),
            ours("1m", "16k"),
            AtMost([1.6; 3]),
        ),
        ratio(
            "8 interleaved calls over one",
            ours("8x1m", "16k"),
            ours("1m", "16k"),
            AtMost([1.6; 3]),
        ),
        ratio(
            "128 interleaved calls over one",
            ours("128x1m", "16k"),
            ours("1m", "16k"),
            AtMost([1.6; 3]),
        ),
        same(
            "one value of 1 MB, chunks of 1,400, BASE",
            BASE,
            "one",
            "1400",
            AtLeast([400.; 3]),
        ),
        same(
            "one value of 1 MB, chunks of 1,400, BEST PARTS",
            BEST_PARTS,
            "one",
            "1400",
            None,
        ),
        ratio(
            "one value of 1 MB, chunks of 1,400 over 16 KiB",
            ours("one", "1400"),
            ours("one", "16k"),
            AtMost([1.1; 3]),
        ),
        same("wide deltas, BASE", BASE, "wide", "16k", AtLeast([5.; 3])),
        same("wide deltas, BEST PARTS", BEST_PARTS, "wide", "16k", None),
        same(
            "wide deltas, BASE, arguments parsed",
            BASE_PARSED,
            "wide",
            "16k",
            None,
        ),
        same(
            "wide deltas, BEST PARTS, arguments parsed",
            BEST_PARTS_PARSED,
            "wide",
            "16k",
            None,
        ),
        same(
            "text, then a small call, BASE",
            BASE,
            "text",
            "16k",
            AtLeast([30., 20., 35.]),
        ),
        same(
            "a stream of calls over push",
            STREAM,
            "1m",
            "16k",
            AtMost([1.15; 3]),
        ),
    ]
}

/// The formats that no other crate reads, against [`VALUES`].
const VALUES_SHAPE: &str = "1m";

/// Bodies are large, and several ratios read one.
#[derive(Default)]
struct Library(Vec<(WireFormat, Shape, Rc<Body>)>);

impl Library {
    fn body(&mut self, format: WireFormat, shape: Shape) -> Rc<Body> {
        let known = self
            .0
            .iter()
            .find(|known| (known.0, known.1) == (format, shape));
        if let Some((_, _, body)) = known {
            return body.clone();
        }
        let body = Rc::new(Body::new(format, shape));
        self.0.push((format, shape, body.clone()));
        body
    }

    fn measure(&mut self, format: WireFormat, over: &Run, under: &Run) -> Result<f64, String> {
        let bodies = [under, over].map(|run| {
            let shape = named(&SHAPES, run.1).expect("a shape of the list");
            let chunking = named(&CHUNKINGS, run.2).expect("a chunking of the list");
            let body = self.body(format, shape);
            let chunks = body.chunks(chunking);
            (&run.0, body, chunks)
        });
        let mut runners: Vec<Runner<'_>> = bodies
            .iter()
            .map(|(who, body, chunks)| match who {
                Who::Peer(peer) => race::peer(peer, body, chunks).expect("reads the format"),
                Who::Lines(floor) => race::floor(floor, body, chunks),
            })
            .collect();
        let times = race::race(&mut runners).pop().expect("two results");
        times.map(|times| times.ratio)
    }
}

pub fn print() {
    let mut library = Library::default();
    println!("\nratios of times, the bar in brackets\n");
    println!(
        "| | {} |",
        STREAMED.map(|format| format.to_string()).join(" | ")
    );
    println!("|---|---|---|---|");
    for Ratio {
        what,
        over,
        under,
        bar,
    } in &ratios()
    {
        print!("| {what} |");
        for (at, format) in STREAMED.into_iter().enumerate() {
            let bar = match bar {
                Bar::AtLeast(bars) => format!(" (≥ {})", bars[at]),
                Bar::AtMost(bars) => format!(" (≤ {})", bars[at]),
                Bar::None => String::new(),
            };
            print!(" {}{bar} |", cell(library.measure(format, over, under)));
        }
        println!();
    }
    println!(
        "\n| {} |",
        written::FORMATS
            .map(|format| format.to_string())
            .join(" | ")
    );
    println!("|---|---|---|---|");
    print!("|");
    for format in written::FORMATS {
        let over = Run(Who::Peer(VALUES), VALUES_SHAPE, "16k");
        print!(
            " {} |",
            cell(library.measure(format, &over, &ours(VALUES_SHAPE, "16k")))
        );
    }
    println!("\n\n{} over callstitch, 1 MB of arguments", VALUES.name);
}

fn cell(ratio: Result<f64, String>) -> String {
    ratio.map_or_else(|fault| fault, |ratio| format!("{ratio:.2}"))
}
