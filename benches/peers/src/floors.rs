//! What no reader can be faster than: the same bytes copied, their newlines counted, their lines found.

use std::hint::black_box;

use bytes::Bytes;
use memchr::memchr;

use crate::bodies::Body;
use crate::peer::Chunks;

pub struct Floor {
    pub name: &'static str,
    pub run: fn(&Chunks) -> usize,
    /// What `run` must come to for a body.
    pub right: fn(&Body) -> usize,
}

pub const FLOORS: [Floor; 3] = [
    Floor {
        name: "floor: memcpy",
        run: copy,
        right: |body| body.bytes.len(),
    },
    Floor {
        name: "floor: newlines counted",
        run: newlines,
        right: |body| body.bytes.iter().filter(|byte| **byte == b'\n').count(),
    },
    Floor {
        name: "floor: lines of events found",
        run: data_lines,
        right: |body| body.events(),
    },
];

/// Into a buffer that stays warm, a chunk at a time.
fn copy(chunks: &Chunks) -> usize {
    let mut buffer = vec![0; chunks.iter().map(Bytes::len).max().unwrap_or(0)];
    let mut copied = 0;
    for chunk in chunks.iter() {
        buffer[..chunk.len()].copy_from_slice(chunk);
        black_box(&mut buffer);
        copied += chunk.len();
    }
    copied
}

fn newlines(chunks: &Chunks) -> usize {
    chunks
        .iter()
        .map(|chunk| memchr::memchr_iter(b'\n', chunk).count())
        .sum()
}

/// Lines in place; what a chunk leaves unfinished is carried over.
fn data_lines(chunks: &Chunks) -> usize {
    let mut carried = Vec::new();
    let mut found = 0;
    let mut line = |line: &[u8]| {
        found += usize::from(black_box(line).starts_with(b"data:"));
    };
    for chunk in chunks.iter() {
        let mut rest = &chunk[..];
        while let Some(at) = memchr(b'\n', rest) {
            if carried.is_empty() {
                line(&rest[..at]);
            } else {
                carried.extend_from_slice(&rest[..at]);
                line(&carried);
                carried.clear();
            }
            rest = &rest[at + 1..];
        }
        carried.extend_from_slice(rest);
    }
    found
}
