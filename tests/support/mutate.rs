//! Damage to a stream, by a seed: what transports, relays and servers do, and what nobody does.

#![allow(dead_code, unreachable_pub)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use crate::reading::Random;

/// The same body with one to six damages.
pub fn mutate(body: &[u8], seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut body = body.to_vec();
    for _ in 0..1 + random.below(6) {
        if body.is_empty() {
            break;
        }
        once(&mut body, &mut random);
    }
    body
}

fn once(body: &mut Vec<u8>, random: &mut Random) {
    match random.below(20) {
        // Any byte becomes any other.
        0 => {
            let at = random.below(body.len());
            body[at] = random.next() as u8;
        }
        // One bit.
        1 => {
            let at = random.below(body.len());
            body[at] ^= 1 << random.below(8);
        }
        // A byte is lost, or doubled.
        2 => drop(body.remove(random.below(body.len()))),
        3 => {
            let at = random.below(body.len());
            body.insert(at, body[at]);
        }
        // A byte that means something, anywhere.
        4 => {
            let byte = *random.pick(b"\"\\{}[],:\n\r \t\x00\xff0-9.eE");
            let at = random.below(body.len() + 1);
            body.insert(at, byte);
        }
        // The body ends early.
        5 => body.truncate(random.below(body.len())),
        // A piece is lost, doubled, or moved.
        6 => {
            let (from, to) = span(body, random);
            body.drain(from..to);
        }
        7 => {
            let (from, to) = span(body, random);
            let piece = body[from..to].to_vec();
            let at = random.below(body.len() + 1);
            body.splice(at..at, piece);
        }
        // An event is lost, doubled, or swapped with another.
        8..=10 => {
            let how = random.below(3);
            let mut events = events(body);
            let at = random.below(events.len());
            match how {
                0 => drop(events.remove(at)),
                1 => events.insert(at, events[at].clone()),
                _ => {
                    let other = random.below(events.len());
                    events.swap(at, other);
                }
            }
            *body = events.concat();
        }
        // Lines between events, and inside of one.
        11 => {
            let line: &[u8] = random.pick::<&[u8]>(&[
                b": keep-alive\n",
                b": keep-alive\n\n",
                b"\n",
                b"\r\n",
                b"id: 7\n",
                b"retry: 5\n",
                b"foo: bar\n",
                b"foo: bar\n\n",
                b"{\"error\":{\"message\":\"x\"}}\n",
                b"upstream failed\n",
                b"data: [DONE]\n\n",
                b"event: error\n",
                b"event: ping\n",
                b"error: x\n",
                b"data\n",
                b"data: \n",
                b"\xff\n",
            ]);
            let starts: Vec<usize> = std::iter::once(0)
                .chain(
                    body.iter()
                        .enumerate()
                        .filter(|(_, byte)| **byte == b'\n')
                        .map(|(at, _)| at + 1),
                )
                .collect();
            // Often the same line more than once, as what repeats is what is remembered.
            let every = 1 + random.below(3);
            let from = random.below(starts.len());
            let count = *random.pick(&[1, 1, 2, 40]);
            let places: Vec<usize> = starts[from..]
                .iter()
                .step_by(every)
                .take(count)
                .copied()
                .collect();
            for at in places.into_iter().rev() {
                body.splice(at..at, line.iter().copied());
            }
        }
        // Other line ends, all of them or one.
        12 => {
            let end: &[u8] = random.pick::<&[u8]>(&[b"\r\n", b"\r", b"\n\r"]);
            let one = random.one_in(2).then(|| random.below(body.len()));
            let mut out = Vec::with_capacity(body.len() + 64);
            for (at, &byte) in body.iter().enumerate() {
                if byte == b'\n' && one.is_none_or(|one| at / 64 == one / 64) {
                    out.extend_from_slice(end);
                } else {
                    out.push(byte);
                }
            }
            *body = out;
        }
        // A number becomes another, here or in every place like it.
        13 | 14 => {
            let digits: Vec<usize> = (1..body.len())
                .filter(|&at| body[at].is_ascii_digit() && body[at - 1] == b':')
                .collect();
            if digits.is_empty() {
                return;
            }
            let at = *random.pick(&digits);
            let number: &[u8] = random.pick::<&[u8]>(&[
                b"0",
                b"1",
                b"2",
                b"7",
                b"00",
                b"01",
                b"-1",
                b"-0",
                b"1.0",
                b"1e0",
                b"99999999999999999999",
                b"9223372036854775807",
                b"999999999999999",
                b"null",
                b"\"0\"",
                b" 1",
            ]);
            body.splice(at..=at, number.iter().copied());
        }
        // Members swapped, doubled, or new.
        15 | 16 => {
            let commas: Vec<usize> = body
                .windows(2)
                .enumerate()
                .filter(|(_, pair)| pair == b",\"")
                .map(|(at, _)| at)
                .collect();
            if commas.len() < 3 {
                return;
            }
            let first = random.below(commas.len() - 2);
            let (from, middle, to) = (commas[first], commas[first + 1], commas[first + 2]);
            let (one, other) = (body[from..middle].to_vec(), body[middle..to].to_vec());
            match random.below(3) {
                0 => drop(body.splice(from..to, [other, one].concat())),
                1 => drop(body.splice(from..from, one)),
                _ => drop(body.splice(from..from, br#","new":[1,{"a":"b"}]"#.iter().copied())),
            }
        }
        // An escape in a string, of many kinds.
        17 | 18 => {
            let inside: Vec<usize> = (1..body.len())
                .filter(|&at| body[at].is_ascii_alphanumeric() && body[at - 1] != b'\\')
                .collect();
            if inside.is_empty() {
                return;
            }
            let escape: &[u8] = random.pick::<&[u8]>(&[
                b"\\n",
                b"\\\"",
                b"\\\\",
                b"\\u0041",
                b"\\ud83d\\ude00",
                b"\\ud83d",
                b"\\ude00",
                b"\\x",
                b"\\",
                "\u{e9}".as_bytes(),
                "\u{1f600}".as_bytes(),
                b"\x01",
                b"\xc3",
            ]);
            let times = *random.pick(&[1, 1, 5]);
            for _ in 0..times {
                let at = (*random.pick(&inside)).min(body.len());
                body.splice(at..at, escape.iter().copied());
            }
        }
        // A whole event again and again, with one number counted up.
        _ => {
            let mut events = events(body);
            let at = random.below(events.len());
            let event = events[at].clone();
            let digit = event.iter().position(u8::is_ascii_digit);
            for number in 0..3 + random.below(12) {
                let mut again = event.clone();
                if let Some(digit) = digit {
                    again[digit] = b'0' + (number % 10) as u8;
                }
                events.insert(at, again);
            }
            *body = events.concat();
        }
    }
}

fn span(body: &[u8], random: &mut Random) -> (usize, usize) {
    let from = random.below(body.len());
    let most = *random.pick(&[4, 40, 400]);
    let length = 1 + random.below(most);
    (from, (from + length).min(body.len()))
}

/// The blocks between blank lines; lines where there are none.
fn events(body: &[u8]) -> Vec<Vec<u8>> {
    let mut events = Vec::new();
    let mut from = 0;
    let double = body.windows(2).any(|pair| pair == b"\n\n");
    for at in 0..body.len() {
        let ends = body[at] == b'\n' && (!double || at > 0 && body[at - 1] == b'\n');
        if ends {
            events.push(body[from..=at].to_vec());
            from = at + 1;
        }
    }
    events.push(body[from..].to_vec());
    events
}
