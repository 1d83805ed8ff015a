//! Who takes how long for one body of each format: one table.

use callstitch_peers::assembled::{BASE, BASE_PARSED, BEST_PARTS, BEST_PARTS_PARSED};
use callstitch_peers::bodies::{Body, STREAMED};
use callstitch_peers::floors::{FLOORS, Floor};
use callstitch_peers::ours::{FORGETFUL, PUSH, STREAM};
use callstitch_peers::peer::Peer;
use callstitch_peers::transcripts::{Chunking, Shape};

use crate::race::{self, Runner};

fn everyone() -> (Vec<Peer>, Vec<Floor>) {
    let peers = vec![
        PUSH,
        STREAM,
        FORGETFUL,
        BASE,
        BASE_PARSED,
        BEST_PARTS,
        BEST_PARTS_PARSED,
    ];
    let floors = Vec::from(FLOORS);
    #[cfg(feature = "clients")]
    let (peers, floors) = {
        use callstitch_peers::clients::{ASYNC_OPENAI, DRAINED, GENAI, RIG};
        let (mut peers, mut floors) = (peers, floors);
        peers.extend([ASYNC_OPENAI, RIG, GENAI]);
        floors.push(DRAINED);
        (peers, floors)
    };
    (peers, floors)
}

pub fn print((shape_name, shape): (&str, Shape), (chunking_name, chunking): (&str, Chunking)) {
    let (peers, floors) = everyone();
    let names = peers.iter().map(|peer| peer.name);
    let names: Vec<&str> = names.chain(floors.iter().map(|floor| floor.name)).collect();
    let columns = STREAMED.map(|format| {
        let body = Body::new(format, shape);
        let chunks = body.chunks(chunking);
        let peers = peers.iter().map(|peer| race::peer(peer, &body, &chunks));
        let floors = floors.iter();
        let floors = floors.map(|floor| Some(race::floor(floor, &body, &chunks)));
        column(peers.chain(floors).collect(), body.events())
    });
    println!("\n{shape_name}, chunks {chunking_name}: ns an event · times callstitch's\n");
    println!(
        "| | {} |",
        STREAMED.map(|format| format.to_string()).join(" | ")
    );
    println!("|---|---|---|---|");
    for (row, name) in names.iter().enumerate() {
        let cells: Vec<&str> = columns.iter().map(|column| &*column[row]).collect();
        println!("| {name} | {} |", cells.join(" | "));
    }
}

/// One cell for each, empty where it does not take part.
fn column(runners: Vec<Option<Runner<'_>>>, events: usize) -> Vec<String> {
    let takes_part: Vec<bool> = runners.iter().map(Option::is_some).collect();
    let mut runners: Vec<Runner<'_>> = runners.into_iter().flatten().collect();
    let mut results = race::race(&mut runners).into_iter();
    takes_part
        .into_iter()
        .map(|takes_part| {
            let result = takes_part.then(|| results.next()).flatten();
            match result {
                None => String::new(),
                Some(Err(fault)) => fault,
                Some(Ok(times)) => {
                    let each = times.nanoseconds / events as f64;
                    format!("{each:.1} · {:.2}", times.ratio)
                }
            }
        })
        .collect()
}
