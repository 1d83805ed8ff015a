//! Every framing through every cut.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use super::*;

#[cfg(feature = "bedrock")]
mod aws;
#[cfg(feature = "bedrock")]
mod aws_frames;
mod json_array;
mod limits;
mod lines;
mod skipped;
mod sniff;
mod sse;

/// A frame that outlives its chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Owned {
    data: String,
    event: Option<String>,
    origin: Origin,
    offset: u64,
    lossy: bool,
}

impl From<Frame<'_>> for Owned {
    fn from(frame: Frame<'_>) -> Self {
        Owned {
            data: frame.data.to_owned(),
            event: frame.event.map(str::to_owned),
            origin: frame.origin,
            offset: frame.offset,
            lossy: frame.lossy,
        }
    }
}

/// Keeps frames, but skips data that says so in its beginning.
#[derive(Default)]
struct Kept(Vec<Owned>);

impl FrameSink for Kept {
    fn frame(&mut self, frame: Frame<'_>) {
        self.0.push(Owned::from(frame));
    }

    fn skips(&mut self, beginning: &str) -> bool {
        beginning.starts_with("skip ") || beginning.trim_start().starts_with("{\"skip\"")
    }
}

/// All that came out: the frames, and the error's kind, offset and message.
type Outcome = (Vec<Owned>, Option<(ErrorKind, u64, String)>);

const WIDE: FrameLimits = FrameLimits {
    line: 1 << 20,
    frame: 1 << 20,
};

fn outcome<'c>(framing: &mut Framing, chunks: impl IntoIterator<Item = &'c [u8]>) -> Outcome {
    outcome_and_before(framing, chunks).0
}

/// Also how many frames came out before the end of the body, which may never be told.
fn outcome_and_before<'c>(
    framing: &mut Framing,
    chunks: impl IntoIterator<Item = &'c [u8]>,
) -> (Outcome, usize) {
    let mut sink = Kept::default();
    let mut result = Ok(());
    let mut pushed = 0;
    for chunk in chunks {
        result = framing.push(chunk, &mut sink);
        pushed += chunk.len() as u64;
        assert_eq!(framing.offset(), pushed);
        if result.is_err() {
            break;
        }
    }
    let before = sink.0.len();
    let result = result.and_then(|()| framing.finish(&mut sink));
    let error = result.err();
    let error = error.map(|e| (e.kind(), e.offset(), e.message().to_owned()));
    ((sink.0, error), before)
}

fn whole_within(kind: FramingKind, limits: FrameLimits, body: &[u8]) -> Outcome {
    outcome(&mut Framing::new(kind, limits), [body])
}

/// The outcome of a body, the same however it is cut.
fn at_every_cut_within(kind: FramingKind, limits: FrameLimits, body: &[u8]) -> Outcome {
    let expected = outcome_and_before(&mut Framing::new(kind, limits), [body]);
    let mut framing = Framing::new(kind, limits);
    let mut check = |chunks: &mut dyn Iterator<Item = &[u8]>, how: &str| {
        framing.reset();
        let got = outcome_and_before(&mut framing, chunks);
        assert_eq!(
            got,
            expected,
            "{kind:?}, {how}: {:?}",
            String::from_utf8_lossy(body)
        );
    };
    check(&mut body.chunks(1), "byte by byte");
    check(
        &mut body.chunks(1).flat_map(|byte| [&b""[..], byte, b""]),
        "with empty chunks",
    );
    if body.len() < 2000 {
        for cut in 0..=body.len() {
            let (a, b) = body.split_at(cut);
            check(&mut [a, b].into_iter(), &format!("cut at {cut}"));
        }
    }
    let mut random = Random(body.len() as u64);
    for _ in 0..20 {
        let most = 1 + random.below(40);
        let mut rest = body;
        let mut chunks = Vec::new();
        while !rest.is_empty() {
            let (chunk, after) = rest.split_at(random.below(most + 1).min(rest.len()));
            chunks.push(chunk);
            rest = after;
        }
        check(&mut chunks.into_iter(), "at random");
    }
    expected.0
}

fn at_every_cut(kind: FramingKind, body: &[u8]) -> Outcome {
    at_every_cut_within(kind, WIDE, body)
}

/// The frames of a body that ends without error, the same however it is cut.
fn frames(kind: FramingKind, body: impl AsRef<[u8]>) -> Vec<Owned> {
    let (frames, error) = at_every_cut(kind, body.as_ref());
    assert_eq!(error, None);
    frames
}

/// What of the frames most tests are about.
fn brief(frames: &[Owned]) -> Vec<(Origin, Option<&str>, &str)> {
    frames
        .iter()
        .map(|f| (f.origin, f.event.as_deref(), &*f.data))
        .collect()
}

/// As [`brief`], for framings that know no event field.
fn briefer(frames: &[Owned]) -> Vec<(Origin, &str)> {
    frames.iter().map(|f| (f.origin, &*f.data)).collect()
}

/// Bodies of these pieces in any order give the same frames at every cut, and all their text but white space and what stands
/// `between` frames.
fn loses_nothing(kind: FramingKind, pieces: &[&[u8]], between: &str) {
    let ink = |text: &str| -> String {
        let inked = |c: &char| !c.is_whitespace() && !between.contains(*c);
        text.chars().filter(inked).collect()
    };
    for seed in 0..1500 {
        let body = Random(seed).mix(pieces, 30);
        let got = frames(kind, &body);
        let rest = body.strip_prefix(BOM).unwrap_or(&body);
        let all: String = got.iter().map(|f| ink(&f.data)).collect();
        assert_eq!(all, ink(&String::from_utf8_lossy(rest)), "seed {seed}");
    }
}

/// SplitMix64: seeded, so a failure comes again.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// Up to `most` pieces, run together.
    fn mix(&mut self, pieces: &[&[u8]], most: usize) -> Vec<u8> {
        (0..self.below(most + 1))
            .flat_map(|_| pieces[self.below(pieces.len())].to_vec())
            .collect()
    }
}

#[test]
fn recorded_streams_give_the_same_frames_at_every_cut() {
    let shared = std::env::var("CALLSTITCH_SHARED").unwrap_or_else(|_| "../shared".to_owned());
    let mut folders = vec![std::path::PathBuf::from(shared).join("corpus")];
    if !folders[0].is_dir() {
        assert!(
            std::env::var_os("CI").is_none(),
            "{} is missing",
            folders[0].display()
        );
        println!("skipped: no {}", folders[0].display());
        return;
    }
    let (mut bodies, mut given) = (0, 0);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let body = std::fs::read(&path).unwrap();
            if !name.contains('.')
                || name.ends_with(".expected.json")
                || name.ends_with(".md")
                || body.len() > 200_000
            {
                continue;
            }
            if let Some(kind) = super::sniff(&body) {
                let (frames, error) = at_every_cut(kind, &body);
                assert_eq!(error, None, "{}", path.display());
                bodies += 1;
                given += frames.len();
            }
        }
    }
    println!("{bodies} recorded bodies, {given} frames");
    assert!(bodies > 0 && given > bodies);
}
