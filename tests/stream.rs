//! The streams under a hostile transport: `Pending` anywhere, empty chunks, errors anywhere, futures dropped while they wait.
#![cfg(feature = "stream")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "common/bodies.rs"]
mod bodies;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::error::Error as StdError;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use callstitch::{
    ByteStreamExt, CallIndex, Config, End, Error, ErrorKind, Event, EventStream, IdSource,
    ToolCall, ToolCallParser, ToolCallStream, WireFormat,
};
use futures::stream::{self, FusedStream};
use futures::task::{ArcWake, waker};
use futures::{FutureExt, Stream, StreamExt};

// --- the harness ---------------------------------------------------------------------------------------------------------

/// What a hostile source does at one poll.
#[derive(Debug, Clone)]
enum Step {
    Chunk(Vec<u8>),
    Pending,
    Fail(io::ErrorKind),
}

/// A source that follows its script, hands out the waker it was last given, and panics if it is polled after its end: a
/// transport need not be fused.
struct Hostile {
    script: VecDeque<Step>,
    waiting: Rc<Cell<Option<Waker>>>,
    over: bool,
    dropped: Rc<Cell<bool>>,
}

impl Hostile {
    fn new(script: impl IntoIterator<Item = Step>) -> Self {
        Hostile {
            script: script.into_iter().collect(),
            waiting: Rc::default(),
            over: false,
            dropped: Rc::default(),
        }
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.dropped.set(true);
    }
}

impl Stream for Hostile {
    type Item = Result<Vec<u8>, io::Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        assert!(!self.over, "polled after its end");
        match self.script.pop_front() {
            Some(Step::Chunk(chunk)) => Poll::Ready(Some(Ok(chunk))),
            Some(Step::Pending) => {
                self.waiting.set(Some(cx.waker().clone()));
                Poll::Pending
            }
            Some(Step::Fail(kind)) => {
                self.over = true;
                Poll::Ready(Some(Err(kind.into())))
            }
            None => {
                self.over = true;
                Poll::Ready(None)
            }
        }
    }
}

#[derive(Default)]
struct Woken(AtomicUsize);

impl ArcWake for Woken {
    fn wake_by_ref(woken: &Arc<Self>) {
        woken.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Takes everything out of a stream over a hostile source. Every poll is of a new `next()` that is dropped when it is pending,
/// with a waker of its own; the source's wake-up must reach the last one.
fn drain<S: Stream + FusedStream + Unpin>(
    mut stream: S,
    waiting: &Cell<Option<Waker>>,
) -> Vec<S::Item> {
    let mut items = Vec::new();
    loop {
        let woken = Arc::new(Woken::default());
        let waker = waker(Arc::clone(&woken));
        match stream.next().poll_unpin(&mut Context::from_waker(&waker)) {
            Poll::Ready(Some(item)) => items.push(item),
            Poll::Ready(None) => break,
            Poll::Pending => {
                waiting.take().expect("a waker is left behind").wake();
                assert_eq!(woken.0.load(Ordering::SeqCst), 1, "the last waker is woken");
            }
        }
    }
    assert!(stream.is_terminated());
    for _ in 0..3 {
        assert!(stream.next().now_or_never().unwrap().is_none(), "fused");
    }
    items
}

/// An event, with adjacent pieces of text joined: where they are cut depends on the chunks.
#[derive(Debug, Clone, PartialEq)]
enum Seen {
    Arguments(CallIndex, String),
    /// What text, and of which choice.
    Text(&'static str, u32, String),
    Other(Event<'static>),
    /// Kind, offset and message.
    Error(ErrorKind, u64, String),
}

fn seen<'a>(events: impl IntoIterator<Item = Result<Event<'a>, Error>>) -> Vec<Seen> {
    let mut all = Vec::new();
    for event in events {
        let next = match event {
            Ok(Event::ArgumentsDelta { index, text }) => Seen::Arguments(index, text.to_string()),
            Ok(Event::Text { choice, text }) => Seen::Text("answer", choice, text.into_owned()),
            Ok(Event::Reasoning { choice, text }) => {
                Seen::Text("reasoning", choice, text.into_owned())
            }
            Ok(Event::Refusal { choice, text }) => Seen::Text("refusal", choice, text.into_owned()),
            Ok(event) => Seen::Other(event.into_owned()),
            Err(error) => Seen::Error(error.kind(), error.offset(), error.message().to_owned()),
        };
        match (all.last_mut(), &next) {
            (Some(Seen::Arguments(of, text)), Seen::Arguments(index, more)) if of == index => {
                text.push_str(more);
            }
            (Some(Seen::Text(kind, of, text)), Seen::Text(as_kind, choice, more))
                if (*kind, *of) == (*as_kind, *choice) =>
            {
                text.push_str(more);
            }
            (
                Some(Seen::Other(Event::Reasoning { choice: of, text })),
                Seen::Other(Event::Reasoning { choice, text: more }),
            ) if of == choice => text.to_mut().push_str(more),
            _ => all.push(next),
        }
    }
    all
}

/// Ids that are the same in every run.
#[derive(Default)]
struct Numbered(AtomicU64);

impl IdSource for Numbered {
    fn next_id(&self) -> String {
        format!("call_made_{}", self.0.fetch_add(1, Ordering::Relaxed))
    }
}

fn parser(format: WireFormat) -> ToolCallParser {
    ToolCallParser::with_config(format, Config::default().ids(Numbered::default()))
}

/// What the parser says of a body that is pushed in one piece.
fn in_one_piece(format: WireFormat, body: &[u8]) -> Vec<Seen> {
    let mut parser = parser(format);
    let mut events: Vec<_> = parser
        .push(body)
        .map(|event| event.map(Event::into_owned))
        .collect();
    events.extend(parser.finish().map(|event| event.map(Event::into_owned)));
    seen(events)
}

/// What the stream says of the same body under this script.
fn streamed(format: WireFormat, script: Vec<Step>) -> Vec<Seen> {
    let source = Hostile::new(script);
    let waiting = Rc::clone(&source.waiting);
    seen(drain(EventStream::new(source, parser(format)), &waiting))
}

fn calls_of(events: &[Seen]) -> Vec<ToolCall> {
    let call = |event: &Seen| match event {
        Seen::Other(event) => event.clone().into_call(),
        _ => None,
    };
    events.iter().filter_map(call).collect()
}

/// `stream := event* [error]`, and each call that starts ends exactly once.
fn assert_grammar(events: &[Seen]) {
    let mut open = Vec::new();
    for (at, event) in events.iter().enumerate() {
        match event {
            Seen::Error(..) => assert_eq!(at + 1, events.len(), "an error is the last event"),
            Seen::Arguments(index, _) => assert!(open.contains(index)),
            Seen::Other(Event::CallStarted { index, .. }) => open.push(*index),
            Seen::Other(Event::CallCompleted(call) | Event::CallDiscarded(call)) => {
                let place = open.iter().position(|index| *index == call.index());
                open.remove(place.expect("only what started ends, and once"));
            }
            _ => {}
        }
    }
    assert!(open.is_empty(), "calls that never ended: {open:?}");
}

/// How many of [`bodies`] are built here.
const OWN: usize = 4;

/// Bodies built here, and every one in tests/streams.
fn bodies() -> Vec<(WireFormat, Vec<u8>)> {
    let mut all = vec![
        (WireFormat::OpenAiChat, bodies::chat_body().into_bytes()),
        (WireFormat::Mistral, bodies::chat_body().into_bytes()),
        (WireFormat::Anthropic, bodies::anthropic_body().into_bytes()),
        (WireFormat::OpenAiChat, Vec::new()),
    ];
    for format in WireFormat::all() {
        let folder: PathBuf = [
            env!("CARGO_MANIFEST_DIR"),
            "tests",
            "streams",
            format.name(),
        ]
        .iter()
        .collect();
        let Ok(files) = std::fs::read_dir(folder) else {
            continue;
        };
        let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
        files.retain(|file| is_body(file));
        files.sort();
        all.extend(
            files
                .iter()
                .map(|file| (format, std::fs::read(file).unwrap())),
        );
    }
    all
}

fn is_body(file: &Path) -> bool {
    let extension = file.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("sse" | "ndjson" | "bin" | "json_array"))
        && std::fs::metadata(file).is_ok_and(|data| data.len() < 64 << 10)
}

/// The body in chunks of this size, with nothing between them.
fn chunks(body: &[u8], size: usize) -> impl Iterator<Item = Step> + '_ {
    body.chunks(size).map(|chunk| Step::Chunk(chunk.to_vec()))
}

/// A small xorshift: the same numbers in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap()
    }
}

// --- the behaviours ------------------------------------------------------------------------------------------------------

#[test]
fn a_source_that_is_pending_before_every_item_changes_nothing() {
    for (format, body) in bodies() {
        let expected = in_one_piece(format, &body);
        assert_grammar(&expected);
        for size in [1, 2, 3, 7, 64, 1 << 20] {
            let script = chunks(&body, size)
                .flat_map(|chunk| [Step::Pending, chunk])
                .chain([Step::Pending]);
            assert_eq!(
                streamed(format, script.collect()),
                expected,
                "{format}, {size}"
            );
        }
    }
}

#[test]
fn empty_chunks_are_nothing() {
    let empty = || Step::Chunk(Vec::new());
    for (format, body) in bodies() {
        let expected = in_one_piece(format, &body);
        for size in [1, 5, 1 << 20] {
            let script = [empty()]
                .into_iter()
                .chain(chunks(&body, size).flat_map(|chunk| [empty(), chunk, empty()]));
            assert_eq!(
                streamed(format, script.collect()),
                expected,
                "{format}, {size}"
            );
        }
    }
}

#[test]
fn any_order_of_chunks_pendings_and_empty_chunks_gives_the_same_events() {
    let mut random = Random(0x5eed);
    for (format, body) in bodies() {
        let expected = in_one_piece(format, &body);
        for _ in 0..5 {
            let mut script = Vec::new();
            let mut rest = &body[..];
            while !rest.is_empty() {
                match random.below(4) {
                    0 => script.push(Step::Pending),
                    1 => script.push(Step::Chunk(Vec::new())),
                    _ => {
                        let (chunk, after) = rest.split_at(1 + random.below(rest.len().min(90)));
                        script.push(Step::Chunk(chunk.to_vec()));
                        rest = after;
                    }
                }
            }
            assert_eq!(streamed(format, script), expected, "{format}");
        }
    }
}

#[test]
fn a_transport_error_anywhere_comes_after_what_was_whole_and_after_the_open_calls_flagged() {
    for (number, (format, body)) in bodies().into_iter().enumerate() {
        // Our own bodies at every byte. The many others are cut everywhere in another test; here a sample does.
        let step = if number < OWN {
            1
        } else {
            1 + body.len() / 150
        };
        for cut in (0..=body.len()).step_by(step) {
            let script = chunks(&body[..cut], 1 << 20)
                .chain([Step::Pending, Step::Fail(io::ErrorKind::ConnectionReset)]);
            let source = Hostile::new(script);
            let waiting = Rc::clone(&source.waiting);
            let items = drain(EventStream::new(source, parser(format)), &waiting);

            // The parser fed by hand says the same.
            let mut by_hand = parser(format);
            let mut expected: Vec<_> = by_hand
                .push(&body[..cut])
                .map(|event| event.map(Event::into_owned))
                .collect();
            let failed_before = by_hand.end().is_some();
            expected.extend(by_hand.abort().map(|event| event.map(Event::into_owned)));

            // The error is the transport's, with its source; or the provider's, where it had reported one and could have gone on.
            let error = items.last().unwrap().as_ref().unwrap_err();
            if !failed_before && error.kind() == ErrorKind::Provider {
                assert!(String::from_utf8_lossy(&body[..cut]).contains("\"error\""));
                assert_eq!(by_hand.end(), Some(End::Error));
            } else if !failed_before {
                assert_eq!(error.kind(), ErrorKind::Transport);
                assert_eq!(error.offset(), cut as u64);
                let source = error.source().unwrap().downcast_ref::<io::Error>().unwrap();
                assert_eq!(source.kind(), io::ErrorKind::ConnectionReset);
                assert_eq!(by_hand.end(), Some(End::Truncated));
            }
            let (items, mut expected) = (seen(items), seen(expected));
            assert_grammar(&items);
            if let (Some(Seen::Error(_, _, message)), Some(Seen::Error(_, _, said))) =
                (expected.last_mut(), items.last())
            {
                message.clone_from(said);
            }
            assert_eq!(items, expected, "{format}, cut at {cut}");
        }
    }
}

#[test]
fn a_call_that_had_stopped_is_whole_in_spite_of_the_error_and_the_open_one_is_flagged() {
    let body = bodies::anthropic_body();
    let cut = body.find("п").unwrap();
    let script = chunks(&body.as_bytes()[..cut], 11).chain([Step::Fail(io::ErrorKind::TimedOut)]);
    let source = Hostile::new(script);
    let waiting = Rc::clone(&source.waiting);
    let mut items = drain(source.tool_calls(WireFormat::Anthropic), &waiting).into_iter();

    let whole = items.next().unwrap().unwrap();
    assert_eq!(whole.arguments().object().unwrap()["port"], "Oban");
    let open = items.next().unwrap().unwrap();
    assert_eq!(open.name(), "get_wind");
    assert!(!open.is_usable());
    assert!(open.arguments().object().is_err());
    assert!(items.next().unwrap().is_err());
    assert!(items.next().is_none());
}

#[test]
fn the_stream_of_calls_holds_the_calls_of_the_stream_of_events() {
    for (format, body) in bodies() {
        let script = || chunks(&body, 13).flat_map(|chunk| [chunk, Step::Pending]);
        let source = Hostile::new(script());
        let waiting = Rc::clone(&source.waiting);
        let stream = ToolCallStream::new(source, parser(format));
        let (mut calls, mut errors) = (Vec::new(), Vec::new());
        for item in drain(stream, &waiting) {
            match item {
                Ok(call) => calls.push(call),
                Err(error) => errors.push(error.kind()),
            }
        }
        let events = streamed(format, script().collect());
        assert_eq!(calls, calls_of(&events));
        let error = |event: &Seen| match event {
            Seen::Error(kind, ..) => Some(*kind),
            _ => None,
        };
        assert_eq!(errors, events.iter().filter_map(error).collect::<Vec<_>>());
    }
}

#[test]
fn an_error_of_the_provider_ends_the_stream_and_frees_the_transport_at_once() {
    let error = "data: {\"error\":{\"message\":\"overloaded\"}}\n\n";
    let first = bodies::chat_open(0, "call_1", "get_tide") + &bodies::chat_piece(0, "{\"a\":");
    let source = Hostile::new([
        Step::Chunk((first + error).into_bytes()),
        Step::Chunk(bodies::chat_end().into_bytes()),
    ]);
    let dropped = Rc::clone(&source.dropped);
    let mut calls = source.tool_calls(WireFormat::OpenAiChat);

    let call = calls.next().now_or_never().unwrap().unwrap().unwrap();
    assert!(!call.is_usable());
    assert!(
        dropped.get(),
        "whoever sends the chunks is not kept waiting"
    );
    assert!(!calls.is_terminated(), "the error is still to be told");
    let error = calls.next().now_or_never().unwrap().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Provider);
    assert!(calls.is_terminated());
    assert!(calls.next().now_or_never().unwrap().is_none());
    assert_eq!(calls.parser().end(), Some(End::Error));
}

#[test]
fn a_stream_whose_parser_was_finished_by_hand_does_not_wait_for_more() {
    let source = Hostile::new([
        Step::Chunk(bodies::chat_open(0, "call_1", "get_tide").into_bytes()),
        Step::Pending,
    ]);
    let mut events = EventStream::new(source, parser(WireFormat::OpenAiChat));
    assert!(
        events.next().now_or_never().is_none(),
        "nothing is known yet"
    );
    drop(events.parser_mut().finish());
    let rest = seen(std::iter::from_fn(|| events.next().now_or_never().unwrap()));
    assert_grammar(&rest);
    assert_eq!(calls_of(&rest).len(), 1);
    assert!(events.is_terminated());
}

#[test]
fn a_stream_taken_apart_goes_on_by_hand_without_a_loss() {
    let body = bodies::anthropic_body();
    let expected = in_one_piece(WireFormat::Anthropic, body.as_bytes());
    for taken in 0..expected.len() {
        let source = Hostile::new(chunks(body.as_bytes(), 9));
        let mut events = EventStream::new(source, parser(WireFormat::Anthropic));
        let mut all: Vec<_> = std::iter::from_fn(|| events.next().now_or_never().unwrap())
            .take(taken)
            .collect();
        let (chunks, mut parser) = events.into_parts();
        all.extend(parser.events().map(|event| event.map(Event::into_owned)));
        let mut chunks = chunks.unwrap();
        while let Some(chunk) = chunks.next().now_or_never().unwrap() {
            let events = parser.push(&chunk.unwrap());
            all.extend(events.map(|event| event.map(Event::into_owned)));
        }
        all.extend(parser.finish().map(|event| event.map(Event::into_owned)));
        assert_eq!(seen(all), expected, "after {taken}");
    }
}

#[test]
fn a_body_that_ends_bare_is_truncated_and_says_so_last() {
    let body = bodies::chat_open(0, "call_1", "get_tide") + &bodies::chat_piece(0, "{\"port\":\"O");
    let events = streamed(WireFormat::OpenAiChat, chunks(body.as_bytes(), 4).collect());
    assert_grammar(&events);
    assert!(matches!(
        events.last(),
        Some(Seen::Error(ErrorKind::Truncated, ..))
    ));
    let call = &calls_of(&events)[0];
    assert_eq!(call.arguments().recovered().unwrap()["port"], "O");
}

// --- passing through -----------------------------------------------------------------------------------------------------

/// What comes out of a body that is passed through, and what is told at its side.
fn relayed(
    format: WireFormat,
    script: Vec<Step>,
) -> (Vec<Result<Vec<u8>, io::ErrorKind>>, Vec<Seen>) {
    let source = Hostile::new(script);
    let waiting = Rc::clone(&source.waiting);
    let told = RefCell::new(Vec::new());
    let stream = source.passthrough(parser(format), |event| {
        told.borrow_mut().push(event.map(Event::into_owned));
    });
    let chunks = drain(stream, &waiting);
    let chunks = chunks
        .into_iter()
        .map(|chunk| chunk.map_err(|error| error.kind()));
    (chunks.collect(), seen(told.take()))
}

#[test]
fn a_body_passed_through_is_unchanged_and_its_events_are_told_at_the_side() {
    for (format, body) in bodies() {
        let script: Vec<Step> = chunks(&body, 7)
            .flat_map(|chunk| [Step::Pending, chunk, Step::Chunk(Vec::new())])
            .collect();
        let sent = script.iter().filter_map(|step| match step {
            Step::Chunk(chunk) => Some(Ok(chunk.clone())),
            _ => None,
        });
        let sent: Vec<_> = sent.collect();
        let (chunks, told) = relayed(format, script);
        assert_eq!(chunks, sent);
        assert_eq!(told, in_one_piece(format, &body));
    }
}

#[test]
fn a_body_passed_through_goes_on_after_an_error_of_the_provider_and_gives_on_the_transports_own() {
    let error = b"data: {\"error\":{\"message\":\"overloaded\"}}\n\n".to_vec();
    let rest = bodies::chat_body().into_bytes();
    let (chunks, told) = relayed(
        WireFormat::OpenAiChat,
        vec![Step::Chunk(error.clone()), Step::Chunk(rest.clone())],
    );
    assert_eq!(chunks, [Ok(error), Ok(rest)]);
    assert!(matches!(&told[..], [Seen::Error(ErrorKind::Provider, ..)]));

    let open = bodies::chat_open(0, "call_1", "get_tide") + &bodies::chat_piece(0, "{\"a\":");
    let reset = io::ErrorKind::ConnectionReset;
    let (chunks, told) = relayed(
        WireFormat::OpenAiChat,
        vec![Step::Chunk(open.clone().into_bytes()), Step::Fail(reset)],
    );
    assert_eq!(chunks, [Ok(open.into_bytes()), Err(reset)]);
    assert_grammar(&told);
    assert!(!calls_of(&told)[0].is_usable());
    assert!(matches!(
        told.last(),
        Some(Seen::Error(ErrorKind::Transport, ..))
    ));
}

// --- types ---------------------------------------------------------------------------------------------------------------

fn whole_calls<S, B, E>(chunks: S) -> usize
where
    S: Stream<Item = Result<B, E>> + Unpin,
    B: AsRef<[u8]>,
    E: Into<Box<dyn StdError + Send + Sync>>,
{
    let calls = chunks.tool_calls(WireFormat::OpenAiChat);
    let calls: Vec<_> = calls.collect().now_or_never().unwrap();
    calls
        .iter()
        .filter(|call| call.as_ref().unwrap().is_usable())
        .count()
}

#[test]
fn chunks_may_be_vectors_bytes_slices_texts_and_arrays_and_errors_of_any_kind() {
    let body = bodies::chat_body();
    let pieces = || body.as_bytes().chunks(17);
    assert_eq!(
        whole_calls(stream::iter(
            pieces().map(|chunk| Ok::<_, io::Error>(chunk.to_vec()))
        )),
        2
    );
    assert_eq!(
        whole_calls(stream::iter(
            pieces().map(|chunk| Ok::<_, Infallible>(Bytes::copy_from_slice(chunk)))
        )),
        2
    );
    assert_eq!(
        whole_calls(stream::iter(
            pieces().map(Ok::<&[u8], Box<dyn StdError + Send + Sync>>)
        )),
        2
    );
    assert_eq!(whole_calls(stream::iter([Ok::<&str, &str>(&body)])), 2);
    assert_eq!(
        whole_calls(stream::iter([Ok::<String, String>(body.clone())])),
        2
    );
    let boxed: Pin<Box<dyn Stream<Item = Result<Bytes, io::Error>> + Send>> =
        Box::pin(stream::iter([Ok(Bytes::from(body.clone()))]));
    assert_eq!(whole_calls(boxed), 2);
}

#[test]
fn an_error_that_is_only_a_text_is_the_source_too() {
    let chunks = stream::iter([Err::<Vec<u8>, &str>("the line went dead")]);
    let mut calls = chunks.tool_calls(WireFormat::OpenAiChat);
    let error = calls.next().now_or_never().unwrap().unwrap().unwrap_err();
    assert_eq!(error.source().unwrap().to_string(), "the line went dead");
    assert!(
        !error.to_string().contains("dead"),
        "a message does not repeat its source"
    );
}

fn is_send_sync_unpin<T: Send + Sync + Unpin>() {}

/// A sending, sharable source of chunks.
type Plain = stream::Iter<std::vec::IntoIter<Result<Vec<u8>, io::Error>>>;

#[test]
fn parser_streams_calls_and_errors_are_send_sync_and_unpin() {
    is_send_sync_unpin::<ToolCallParser>();
    is_send_sync_unpin::<EventStream<Plain>>();
    is_send_sync_unpin::<ToolCallStream<Plain>>();
    is_send_sync_unpin::<ToolCall>();
    is_send_sync_unpin::<Event<'static>>();
    is_send_sync_unpin::<Error>();
    // The future of a whole loop over a stream may cross threads.
    fn is_send<T: Send>(_: &T) {}
    is_send(&async {
        let mut calls =
            stream::iter(Vec::<Result<Vec<u8>, io::Error>>::new()).tool_calls(WireFormat::Auto);
        while let Some(call) = calls.next().await {
            drop(call);
        }
    });
}

#[test]
fn streams_over_a_source_that_cannot_move_work_when_pinned() {
    let body = bodies::chat_body();
    let source = stream::unfold(Some(body), |body| async {
        let body = body?;
        Some((Ok::<_, Infallible>(body), None))
    });
    let calls = std::pin::pin!(source.tool_calls(WireFormat::OpenAiChat));
    let calls: Vec<_> = calls.collect().now_or_never().unwrap();
    assert_eq!(calls.len(), 2);
}
