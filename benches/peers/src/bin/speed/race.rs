//! Times of several readers of a body, taken in turn.
//!
//! Times are the process's own on the processor, all its threads together: what others do on the machine is not in them.

use std::time::Duration;

use callstitch_peers::bodies::Body;
use callstitch_peers::floors::Floor;
use callstitch_peers::peer::{Chunks, Peer};
use cpu_time::ProcessTime;

const ROUNDS: usize = 9;
/// Who has used up this much runs in no further round.
const ENOUGH: Duration = Duration::from_secs(3);
/// Shorter than this, one reading is mostly noise; it is repeated.
const LEAST: Duration = Duration::from_millis(4);

/// Reads once and says how long that took, or what came out wrong.
pub type Runner<'b> = Box<dyn FnMut() -> Result<Duration, String> + 'b>;

/// Nothing where the peer does not read the format, or not so much of it.
pub fn peer<'b>(peer: &Peer, body: &'b Body, chunks: &Chunks) -> Option<Runner<'b>> {
    if body.events() > peer.most_events {
        return None;
    }
    let mut job = (peer.prepare)(body.format, chunks)?;
    Some(Box::new(move || {
        let start = ProcessTime::now();
        let reading = job();
        let took = start.elapsed();
        match reading.fault(&body.calls) {
            None => Ok(took),
            Some(fault) => Err(fault),
        }
    }))
}

pub fn floor<'b>(floor: &Floor, body: &'b Body, chunks: &Chunks) -> Runner<'b> {
    let (run, right) = (floor.run, (floor.right)(body));
    let chunks = chunks.clone();
    Box::new(move || {
        let start = ProcessTime::now();
        let found = run(&chunks);
        let took = start.elapsed();
        if found == right {
            Ok(took)
        } else {
            Err(format!("{found}, not {right}"))
        }
    })
}

/// Of one runner: the median of its times, and of its times over those of the first in the same round.
#[derive(Clone, Debug)]
pub struct Times {
    pub nanoseconds: f64,
    pub ratio: f64,
}

/// # Panics
///
/// Where the first, which is callstitch or what it is compared with, reads wrong.
pub fn race(runners: &mut [Runner<'_>]) -> Vec<Result<Times, String>> {
    let mut taken: Vec<Vec<f64>> = vec![Vec::new(); runners.len()];
    let mut faults: Vec<Option<String>> = vec![None; runners.len()];
    for _ in 0..ROUNDS {
        for (at, runner) in runners.iter_mut().enumerate() {
            let spent: f64 = taken[at].iter().sum();
            if faults[at].is_some() || (at > 0 && spent > ENOUGH.as_nanos() as f64) {
                continue;
            }
            match repeated(runner) {
                Ok(time) => taken[at].push(time),
                Err(fault) => faults[at] = Some(fault),
            }
        }
    }
    assert_eq!(faults[0], None, "the first of a race reads wrong");
    let first = taken[0].clone();
    let results = taken.into_iter().zip(faults);
    results
        .map(|(times, fault)| match fault {
            Some(fault) => Err(fault),
            None => Ok(Times {
                ratio: median(times.iter().zip(&first).map(|(time, first)| time / first)),
                nanoseconds: median(times.into_iter()),
            }),
        })
        .collect()
}

fn repeated(runner: &mut Runner<'_>) -> Result<f64, String> {
    let (mut total, mut count) = (Duration::ZERO, 0);
    while total < LEAST {
        total += runner()?;
        count += 1;
    }
    Ok(total.as_nanos() as f64 / f64::from(count))
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
