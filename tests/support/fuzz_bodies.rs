//! The bodies of the fuzz targets: each takes any bytes and fails where an invariant does not hold.
//!
//! The targets under `tests/fuzz` run them under a coverage-guided fuzzer; `tests/hostile.rs` runs them over a seeded corpus.
//! The invariants, in every body: no panic; the call grammar; the same events at any split (adjacent pieces joined); memory
//! in proportion to the input at most; allocation, copying included, in proportion to the input.

#![allow(dead_code, unreachable_pub)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use std::sync::{Arc, Mutex};

use allocation_counter::{AllocationInfo, measure};
use callstitch::ToolCall;
use callstitch::history::{HistoryFormat, ToolResult};
use callstitch::{
    Accumulator, Arguments, ArgumentsBuffer, ArgumentsPart, ArgumentsState, Blank, CallDelta,
    CallKey, ClosedBy, Config, Decoder, Delta, DeltaSink, EmitWhen, Event, FinishMeaning, Fragment,
    Frame, Framed, RepairLevel, Route, Settling, TextKind, ToolCallParser, ToolKind, WireFormat,
};
use serde_json::{Map, Value};

use crate::reading::{Ending, Random, Reading, Said, config, cut, read_with};

/// Bytes that one byte of input may allocate in all, with what a stream costs that says nothing.
///
/// An argument text becomes values, of which the smallest take two bytes of text and about eighty of memory; what a body reads
/// more than once is counted once for each reading.
const ALLOCATED_PER_BYTE: u64 = 700;
const ALLOCATED_FLAT: u64 = 96 << 10;
/// Bytes that one byte of input may hold at one moment.
const HELD_PER_BYTE: u64 = 260;
const HELD_FLAT: u64 = 64 << 10;

/// What the last measured body cost, for a summary.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    pub input: u64,
    pub allocated: u64,
    pub held: u64,
}

/// Runs one reading and holds it to the bounds on memory.
fn bounded<T>(input: usize, what: &str, work: impl FnOnce() -> T) -> T {
    let mut result = None;
    let info: AllocationInfo = measure(|| result = Some(work()));
    let input = input as u64;
    let allocated = ALLOCATED_FLAT + ALLOCATED_PER_BYTE * input;
    let held = HELD_FLAT + HELD_PER_BYTE * input;
    assert!(
        info.bytes_total <= allocated,
        "{what}: {} bytes were allocated for {input} bytes of input",
        info.bytes_total
    );
    assert!(
        info.bytes_max <= held,
        "{what}: {} bytes were held for {input} bytes of input",
        info.bytes_max
    );
    result.unwrap()
}

/// Takes bytes off the front of the input, zeros once there are none.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((&byte, rest)) => {
                self.0 = rest;
                byte
            }
            None => 0,
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound
    }

    fn text(&mut self) -> &'a str {
        let length = usize::from(self.byte()) % 24;
        let (text, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        match std::str::from_utf8(text) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&text[..error.valid_up_to()]).unwrap(),
        }
    }
}

fn formats() -> Vec<WireFormat> {
    WireFormat::all().collect()
}

/// Policies and limits by a few bits; two calls give the same.
fn config_of(options: u8) -> Config {
    let mut config = config();
    if options & 1 != 0 {
        config = config
            .max_event_bytes(200)
            .max_arguments_bytes(64)
            .max_total_arguments_bytes(96)
            .max_calls(3)
            .max_choices(2)
            .max_name_bytes(12)
            .max_depth(4);
    }
    config = config.repair(match options >> 1 & 3 {
        0 => RepairLevel::None,
        1 => RepairLevel::Guess,
        _ => RepairLevel::Lossless,
    });
    config = config.emit(match options >> 3 & 3 {
        0 => EmitWhen::FinishReason,
        1 => EmitWhen::NextCall,
        _ => EmitWhen::Terminal,
    });
    config
        .single_choice(options & 32 != 0)
        .calls_only(options & 64 != 0)
}

fn ending_of(options: u8) -> Ending {
    if options & 128 != 0 {
        Ending::Abort
    } else {
        Ending::Finish
    }
}

/// One body of one format: options, seed of the cuts, then the body.
pub fn stream(format: WireFormat, data: &[u8]) {
    let mut input = Input(data);
    let (options, seed) = (input.byte(), u64::from(input.byte()));
    let body = input.0;
    let parser = |remember: bool| {
        let config = config_of(options).remember_events(remember);
        ToolCallParser::with_config(format, config)
    };
    let ending = ending_of(options);
    let whole = bounded(body.len(), "a whole body", || {
        read_with(parser(true), [body], ending)
    });
    whole.check_grammar();
    if ending == Ending::Finish {
        finished_is_finished(&whole);
    }
    let pieces = bounded(body.len(), "a body in pieces", || {
        read_with(parser(true), cut(body, seed), ending)
    });
    pieces.same_as(&whole, &"in pieces, then whole");
    if body.len() <= 1500 {
        let bytes = read_with(parser(true), body.chunks(1), ending);
        bytes.same_as(&whole, &"one byte at a time, then whole");
    }
    let without = read_with(parser(false), [body], ending);
    without.same_as(&whole, &"without the memory of events, then with it");
    // A parser that is used again is as good as new.
    let mut again = parser(true);
    again.push(&body[..body.len() / 2]).for_each(drop);
    again.reset();
    let again = read_with(again, [body], ending);
    let mut expected = whole.clone();
    let mut again = again;
    // Ids are made from one source for both bodies, so made ones differ.
    for reading in [&mut expected, &mut again] {
        reading.said.retain(
            |said| !matches!(said, Said::Event(Event::CallCompleted(call) | Event::CallDiscarded(call)) if call.is_synthetic_id()),
        );
    }
    again.same_as(&expected, &"after a reset, then new");
    if format == WireFormat::Auto {
        detection_is_no_worse(&whole, body, options, ending);
    }
}

/// A stream whose format was detected reads as if it had been named; one whose format was not ends in an error or says nothing.
fn detection_is_no_worse(auto: &Reading, body: &[u8], options: u8, ending: Ending) {
    let Some(format) = auto.format.filter(|format| *format != WireFormat::Auto) else {
        assert_eq!(auto.calls().count(), 0, "calls of no format");
        return;
    };
    let named = read_with(
        ToolCallParser::with_config(format, config_of(options)),
        [body],
        ending,
    );
    let same = named
        .calls()
        .map(callstitch::ToolCall::name)
        .eq(auto.calls().map(callstitch::ToolCall::name));
    assert!(
        same || auto.error().is_some() || named.error().is_some(),
        "detected as {format}, read otherwise: {auto:?} and {named:?}"
    );
}

/// What a usable call says is what its text says.
fn finished_is_finished(reading: &Reading) {
    for call in reading.calls() {
        let arguments = call.arguments();
        if arguments.state() == ArgumentsState::Whole {
            let text: Result<Map<String, Value>, _> = serde_json::from_str(arguments.raw());
            let says_nothing = |text: &str| matches!(text.trim(), "" | "null");
            let inner = serde_json::from_str::<String>(arguments.raw());
            let blank =
                says_nothing(arguments.raw()) || inner.is_ok_and(|text| says_nothing(&text));
            assert!(
                blank || text.is_ok() || looks_like_an_object(arguments.raw()),
                "whole, and no object: {:?}",
                arguments.raw()
            );
        }
        assert!(
            serde_json::from_str::<Map<String, Value>>(&arguments.to_json()).is_ok()
                || arguments.state() == ArgumentsState::Whole,
            "always an object: {:?}",
            arguments.to_json()
        );
    }
}

/// serde_json refuses numbers out of range, which the library reads; the braces tell enough here.
fn looks_like_an_object(text: &str) -> bool {
    text.trim().starts_with('{') && text.trim().ends_with('}')
}

/// Any format, by the first byte; `Auto` among them.
pub fn any_stream(data: &[u8]) {
    let mut input = Input(data);
    let formats = formats();
    let format = match input.below(formats.len() + 1) {
        0 => WireFormat::Auto,
        at => formats[at - 1],
    };
    stream(format, input.0);
}

/// Data, event, origin, offset and whether it was lossy.
type Recorded = (String, Option<String>, String, u64, bool);

/// Keeps every frame that a framing gives.
#[derive(Debug, Clone, Default)]
struct Recorder(Arc<Mutex<Vec<Recorded>>>);

impl Decoder for Recorder {
    fn decode(&mut self, frame: Frame<'_>, _: &mut dyn DeltaSink) {
        self.0.lock().unwrap().push((
            frame.data.to_owned(),
            frame.event.map(str::to_owned),
            format!("{:?}", frame.origin),
            frame.offset,
            frame.lossy,
        ));
    }
}

/// One framing alone: the same frames at any split. Options, seed of the cuts, then the body.
pub fn framing(framed: Framed, data: &[u8]) {
    let mut input = Input(data);
    let (options, seed) = (input.byte(), u64::from(input.byte()));
    let body = input.0;
    let limit = if options & 1 != 0 {
        5 + usize::from(options >> 1)
    } else {
        1 << 20
    };
    let read = |chunks: Vec<&[u8]>| {
        let recorder = Recorder::default();
        let frames = recorder.0.clone();
        let config = config().max_event_bytes(limit);
        let parser = ToolCallParser::with_decoder_and_config(recorder, framed, config);
        let reading = read_with(parser, chunks, Ending::Finish);
        let frames = std::mem::take(&mut *frames.lock().unwrap());
        (frames, reading)
    };
    let whole = bounded(body.len(), "a framing", || read(vec![body]));
    for (data, event, _, offset, _) in &whole.0 {
        assert!(*offset <= body.len() as u64);
        // A byte that is no UTF-8 becomes three.
        assert!(data.len() <= 3 * limit.min(body.len()) + 3);
        assert!(
            event
                .as_ref()
                .is_none_or(|event| event.len() <= 3 * body.len())
        );
    }
    let payload: usize = whole.0.iter().map(|frame| frame.0.len()).sum();
    assert!(
        payload <= 3 * body.len() + 3,
        "frames are no longer than the body"
    );
    let ways = [cut(body, seed), body.chunks(1).collect()];
    for chunks in ways.into_iter().take(if body.len() > 3000 { 1 } else { 2 }) {
        let (frames, reading) = read(chunks);
        assert_eq!(frames, whole.0, "frames");
        reading.same_as(&whole.1, &"in pieces, then whole");
    }
}

pub fn framing_sse(data: &[u8]) {
    framing(Framed::ServerSentEvents, data);
}

pub fn framing_lines(data: &[u8]) {
    framing(Framed::Lines, data);
}

pub fn framing_json_array(data: &[u8]) {
    framing(Framed::JsonArray, data);
}

/// Binary frames with right checksums around what the input says: a frame for each line, `type|payload`. A type that begins
/// with `!` is an exception's, one with `~` gets a wrong byte somewhere.
#[must_use]
pub fn binary_frames(data: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    for line in data.split(|byte| *byte == b'\n') {
        let at = line.iter().position(|byte| *byte == b'|').unwrap_or(0);
        let (kind, payload) = line.split_at(at);
        let payload = payload.strip_prefix(b"|").unwrap_or(payload);
        let (message, name, kind): (&[u8], &[u8], &[u8]) = match kind.strip_prefix(b"!") {
            Some(kind) => (b"exception", b":exception-type", kind),
            None => (b"event", b":event-type", kind),
        };
        let kind = &kind[..kind.len().min(200)];
        let mut headers = Vec::new();
        for (name, value) in [(name, kind), (&b":message-type"[..], message)] {
            headers.push(name.len() as u8);
            headers.extend_from_slice(name);
            headers.push(7);
            headers.extend_from_slice(&(value.len() as u16).to_be_bytes());
            headers.extend_from_slice(value);
        }
        let total = (16 + headers.len() + payload.len()) as u32;
        let start = body.len();
        body.extend_from_slice(&total.to_be_bytes());
        body.extend_from_slice(&(headers.len() as u32).to_be_bytes());
        let crc = crc32(&body[start..]);
        body.extend_from_slice(&crc.to_be_bytes());
        body.extend_from_slice(&headers);
        body.extend_from_slice(payload);
        let crc = crc32(&body[start..]);
        body.extend_from_slice(&crc.to_be_bytes());
        if kind.first() == Some(&b'~') {
            let at = start + usize::from(line.get(1).copied().unwrap_or(0)) % (body.len() - start);
            body[at] ^= 1;
        }
    }
    body
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            if crc & 1 == 1 {
                crc >> 1 ^ 0xEDB8_8320
            } else {
                crc >> 1
            }
        })
    })
}

/// Binary frames with anything inside.
pub fn framing_binary(data: &[u8]) {
    let mut input = Input(data);
    let head = [input.byte(), input.byte()];
    let body = binary_frames(input.0);
    stream(binary(), &[&head[..], &body].concat());
}

fn binary() -> WireFormat {
    "bedrock".parse().expect("the tests run with all formats")
}

/// A decoder alone: each line of the input is a frame's data, or `name|data` where the line begins with a letter.
pub fn decoder(format: WireFormat, data: &[u8]) {
    let mut input = Input(data);
    let options = input.byte();
    let read = |remember: bool| {
        let config = config_of(options).remember_events(remember);
        let mut parser = ToolCallParser::with_config(format, config);
        let mut reading = Reading::default();
        for (number, line) in input.0.split(|byte| *byte == b'\n').enumerate() {
            let line = String::from_utf8_lossy(line);
            let named = line.starts_with(|c: char| c.is_ascii_alphabetic());
            let (event, data) = match line.split_once('|').filter(|_| named) {
                Some((event, data)) => (Some(event), data),
                None => (None, &*line),
            };
            let mut frame = Frame::new(data).at(number as u64);
            frame.event = event;
            reading.take(parser.push_frame(frame));
            // A look at what is in progress changes nothing, and costs what is new.
            if options & 4 != 0 {
                for call in parser.in_progress() {
                    let view = call.arguments();
                    assert!(view.object().len() <= view.raw().len());
                }
            }
        }
        reading.take(parser.finish());
        reading.end = parser.end();
        reading.anomalies = parser.anomalies().to_vec();
        reading
    };
    let with = bounded(input.0.len(), "a decoder", || read(true));
    with.check_grammar();
    finished_is_finished(&with);
    read(false).same_as(&with, &"without the memory of events, then with it");
}

/// The decoder of any format, by the first byte.
pub fn any_decoder(data: &[u8]) {
    let mut input = Input(data);
    let formats = formats();
    let format = formats[input.below(formats.len())];
    decoder(format, input.0);
}

/// Argument text in fragments: the live view, the recovery, the close. Options, seed of the cuts, then the text.
pub fn arguments(data: &[u8]) {
    let mut input = Input(data);
    let (options, seed) = (input.byte(), u64::from(input.byte()));
    let text = String::from_utf8_lossy(input.0).into_owned();
    let settling = Settling {
        repair: match options & 3 {
            0 => RepairLevel::None,
            1 => RepairLevel::Guess,
            _ => RepairLevel::Lossless,
        },
        max_depth: if options & 4 != 0 { 3 } else { 127 },
        blank: if options & 8 != 0 {
            Blank::Cut
        } else {
            Blank::Object
        },
    };
    let settled = bounded(text.len(), "argument text", || {
        Arguments::settle(text.clone(), &settling)
    });
    check_settled(&settled, &text, &settling);

    // The view in fragments is the view of the whole.
    let mut whole = ArgumentsBuffer::with_max_depth(settling.max_depth);
    whole.push(&text);
    let expected = whole.view().snapshot();
    let mut random = Random::new(seed);
    let mut buffer = ArgumentsBuffer::with_max_depth(settling.max_depth);
    let mut rest = text.as_str();
    let mut looks = 0;
    while !rest.is_empty() {
        let count = 1 + random.below(*Random::new(seed ^ 9).pick(&[1, 4, 40]));
        let end = rest
            .char_indices()
            .nth(count)
            .map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(end);
        buffer.push(piece);
        rest = after;
        if random.one_in(2) {
            looks += 1;
            let view = buffer.view();
            let _ = (view.state(), view.open_path());
        }
    }
    assert_eq!(buffer.view().snapshot(), expected, "the view in fragments");
    assert!(
        buffer.steps() <= 12 * text.len() as u64 + 64 * (looks + 2),
        "{} steps for {} bytes and {looks} looks",
        buffer.steps(),
        text.len()
    );
    assert_eq!(
        buffer.finish(&settling),
        settled,
        "in fragments, then whole"
    );

    // A text cut anywhere never looks finished, where the whole of it is one object.
    let strict = Settling {
        repair: RepairLevel::None,
        ..Settling::default()
    };
    let whole = Arguments::settle(text.clone(), &strict);
    if whole.state() == ArgumentsState::Whole && text.trim_start().starts_with('{') {
        let end = text.trim_end().len();
        let at = (seed as usize * 37 + 1) % end.max(1);
        let at = (0..=at)
            .rev()
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or(0);
        if at > 0 && !text[..at].trim().is_empty() {
            let cut = Arguments::settle(text[..at].to_owned(), &Settling::default());
            assert!(!cut.is_usable(), "{:?} of {text:?} is {cut:?}", &text[..at]);
        }
    }
}

fn check_settled(settled: &Arguments, text: &str, settling: &Settling) {
    assert_eq!(settled.raw(), text);
    let json = settled.to_json();
    if settled.state() != ArgumentsState::Whole {
        let parsed: Result<Map<String, Value>, _> = serde_json::from_str(&json);
        assert!(parsed.is_ok(), "always an object: {json:?}");
    }
    let strict = serde_json::from_str::<Map<String, Value>>(text);
    if strict.is_ok() && settling.max_depth == 127 {
        assert_eq!(
            settled.state(),
            ArgumentsState::Whole,
            "valid text is valid"
        );
        assert!(settled.repairs().is_empty(), "valid text is never touched");
    }
    assert_eq!(settled.object().is_ok(), settled.is_usable());
    assert_eq!(
        settled.state() == ArgumentsState::Repaired,
        settled.is_usable() && !settled.repairs().is_empty(),
    );
    if settling.repair == RepairLevel::None {
        let only = settled.repairs().iter().all(|repair| {
            serde_json::to_value(repair).is_ok_and(|repair| repair["kind"] == "unwrapped")
        });
        assert!(only, "nothing is repaired unasked: {settled:?}");
    }
    if let Some(problem) = settled.problem() {
        assert!(problem.at() <= text.len());
        assert!(text.is_char_boundary(problem.at()) || problem.at() <= text.len());
    }
    for repair in settled.repairs() {
        assert!(repair.at <= text.len(), "{repair:?} of {text:?}");
    }
    let stored = serde_json::to_string(settled).unwrap();
    let _: Result<Arguments, _> = serde_json::from_str(&stored);
}

/// The repair ladder: a valid object with damage of a known kind in it, and the same text at every level. Seed, then text.
pub fn repair(data: &[u8]) {
    let mut input = Input(data);
    let options = input.byte();
    let text = String::from_utf8_lossy(input.0).into_owned();
    let blank = if options & 1 != 0 {
        Blank::Cut
    } else {
        Blank::Object
    };
    let settle = |repair| {
        let settling = Settling {
            repair,
            blank,
            ..Settling::default()
        };
        let text = text.clone();
        bounded(text.len(), "a repair", move || {
            Arguments::settle(text, &settling)
        })
    };
    let none = settle(RepairLevel::None);
    let lossless = settle(RepairLevel::Lossless);
    let guess = settle(RepairLevel::Guess);
    // What a lower level can use, a higher one leaves alone.
    if none.is_usable() {
        assert_eq!(none, lossless);
        assert_eq!(none, guess);
    } else if lossless.is_usable() {
        assert_eq!(lossless, guess, "a guess where none is needed: {text:?}");
    }
    for level in [&none, &lossless, &guess] {
        if level.is_usable() && level.state() == ArgumentsState::Repaired {
            // What was mended is valid, and mending it again changes nothing.
            let again = Arguments::settle(level.to_json(), &Settling::default());
            assert_eq!(again.state(), ArgumentsState::Whole, "{text:?}");
            assert_eq!(again.object().unwrap(), level.object().unwrap());
        }
    }
}

/// Deltas of any kind in any order, straight to the accumulator.
pub fn accumulator(data: &[u8]) {
    let length = data.len();
    let mut input = Input(data);
    let options = input.byte();
    let run = || {
        let mut input = Input(input.0);
        let mut accumulator = Accumulator::new(config_of(options));
        let mut reading = Reading::default();
        let mut number = 0;
        while !input.0.is_empty() {
            number += 1;
            accumulator.at(number);
            for _ in 0..1 + input.below(3) {
                one_delta(&mut input, &mut accumulator);
            }
            reading.take(accumulator.events());
        }
        if options & 128 != 0 {
            accumulator.abort(callstitch::Error::new(
                callstitch::ErrorKind::Transport,
                number,
                "cut",
            ));
        } else {
            accumulator.finish();
        }
        reading.take(accumulator.events());
        reading.end = accumulator.end();
        reading.anomalies = accumulator.anomalies().to_vec();
        reading
    };
    // A delta of two bytes can open a call, which costs some hundred bytes; how many, the limit on calls says.
    let reading = bounded(16 * length + (64 << 10), "deltas", run);
    reading.check_grammar();
    assert!(reading.end.is_some());
}

fn one_delta(input: &mut Input<'_>, accumulator: &mut Accumulator) {
    let kind = ToolKind::Custom;
    let choice = u32::from(input.byte() % 8 / 6);
    let index = match input.below(8) {
        0 => None,
        1 => Some(-1),
        2 => Some(1 << 40),
        at => Some(at as i64 - 3),
    };
    let route = [Route::Table, Route::Table, Route::Opens, Route::Labelled][input.below(4)];
    let ids = ["a", "b", "c", "", "null", "a-long-identifier"];
    let id = Some(ids[input.below(6)]).filter(|_| input.byte().is_multiple_of(3));
    let fragment = |input: &mut Input<'_>| {
        let mut fragment = Fragment::new("");
        let halves = input.byte();
        fragment.low = (halves & 3 == 3).then_some(0xDE00);
        fragment.high = (halves & 12 == 12).then_some(0xD83D);
        fragment
    };
    match input.below(14) {
        0..=4 => {
            let mut call = CallDelta::new().choice(choice).index(index).route(route);
            call.key.id = id;
            call.key.item_id = input.byte().is_multiple_of(5).then_some("item");
            call.name = input
                .byte()
                .is_multiple_of(3)
                .then(|| ["f", "g", "fg"][input.below(3)]);
            call.kind = input.byte().is_multiple_of(9).then_some(&kind);
            call.cut = input.byte().is_multiple_of(11);
            call.authoritative = input.byte().is_multiple_of(7);
            let mut piece = fragment(input);
            let how = input.below(8);
            piece.text = input.text();
            call.arguments = match how {
                0 => ArgumentsPart::None,
                1 => ArgumentsPart::Whole(piece.text),
                2 => ArgumentsPart::Initial(piece.text),
                3 => ArgumentsPart::Restated(piece.text),
                _ => ArgumentsPart::Fragment(piece),
            };
            accumulator.push(&Delta::Call(call));
        }
        5..=7 => {
            let mut text = fragment(input);
            text.text = input.text();
            accumulator.push(&Delta::Arguments {
                choice,
                index,
                route,
                text,
            });
        }
        8 => {
            let kind = [TextKind::Answer, TextKind::Reasoning, TextKind::Refusal][input.below(3)];
            let mut text = fragment(input);
            text.text = input.text();
            accumulator.push(&Delta::Text { choice, kind, text });
        }
        9 => {
            let mut key = CallKey::default();
            (key.choice, key.index, key.id) = (choice, index, id);
            let by = [ClosedBy::BlockStop, ClosedBy::Restated, ClosedBy::Arrival][input.below(3)];
            accumulator.push(&Delta::Close { key, by });
        }
        10 => accumulator.push(&Delta::CloseAll {
            choice: input.byte().is_multiple_of(2).then_some(choice),
            by: ClosedBy::MessageEnd,
        }),
        11 => {
            let meaning = [
                FinishMeaning::Stop,
                FinishMeaning::ToolCalls,
                FinishMeaning::Length,
                FinishMeaning::MalformedCall,
                FinishMeaning::Error,
            ][input.below(5)];
            accumulator.push(&Delta::Finish {
                choice,
                reason: "why",
                native: None,
                meaning,
            });
        }
        12 => accumulator.push(&[Delta::MayEnd, Delta::End, Delta::Restart][input.below(3)]),
        _ => match input.below(6) {
            0 => accumulator.push(&Delta::Error {
                last: input.byte().is_multiple_of(2),
                message: "no",
                code: None,
            }),
            1 => accumulator.push(&Delta::Undecodable { problem: "what" }),
            2 => accumulator.push(&Delta::Stray { text: "stray" }),
            _ => accumulator.push(&Delta::Usage("{}")),
        },
    }
}

/// Any JSON as a history item of any format: what is read goes back to the same, and no message is too odd to be looked at.
pub fn history(data: &[u8]) {
    let Ok(value) = serde_json::from_slice::<Value>(data) else {
        return;
    };
    let items = value.as_array().cloned().unwrap_or_default();
    for format in HistoryFormat::all() {
        if let Ok(call) = ToolCall::from_wire(format, &value) {
            assert!(!call.id().is_empty());
            for other in HistoryFormat::all() {
                let Some(item) = call.to_wire(other) else {
                    continue;
                };
                let back = ToolCall::from_wire(other, &item);
                let back = back.unwrap_or_else(|error| panic!("{error}: {item}"));
                assert_eq!(back.name(), call.name());
                if call.is_usable() {
                    assert!(back.is_usable(), "{other:?}: {item}");
                }
            }
            let stored = serde_json::to_value(&call).unwrap();
            let again: ToolCall = serde_json::from_value(stored).expect("what was stored is read");
            assert_eq!((again.id(), again.name()), (call.id(), call.name()));
        }
        if let Ok(result) = ToolResult::from_wire(format, &value) {
            let _ = result.to_wire(format);
        }
        let _ = callstitch::history::entries(format, &items);
        let _ = callstitch::history::check_messages(format, &items);
    }
    let _: Result<ToolCall, _> = serde_json::from_value(value);
}

/// A body by its name: the fuzz target's, too.
pub type Body = fn(&[u8]);

/// All bodies, for the run over a corpus.
pub const BODIES: &[(&str, Body)] = &[
    ("framing_sse", framing_sse),
    ("framing_lines", framing_lines),
    ("framing_json_array", framing_json_array),
    ("framing_binary", framing_binary),
    ("any_decoder", any_decoder),
    ("any_stream", any_stream),
    ("arguments", arguments),
    ("repair", repair),
    ("accumulator", accumulator),
    ("history", history),
];
