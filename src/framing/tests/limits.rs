use super::*;
use FramingKind::{JsonArray, Lines, Sse};

/// A body whose longest line or frame is `n` bytes passes a limit of `n` and of more, and fails one of less, at this offset
/// less what the limit is short by.
#[track_caller]
fn bounded(
    kind: FramingKind,
    limits: fn(usize) -> FrameLimits,
    n: usize,
    body: &str,
    wanted: usize,
) {
    for limit in [n, n + 1] {
        let (frames, error) = at_every_cut_within(kind, limits(limit), body.as_bytes());
        assert_eq!((frames.len(), error), (wanted, None), "limit {limit}");
    }
    for limit in [0, n - 1] {
        let (frames, error) = at_every_cut_within(kind, limits(limit), body.as_bytes());
        let (error_kind, offset, message) = error.expect("a limit is passed");
        assert!(frames.len() < wanted);
        assert_eq!(error_kind, ErrorKind::Limit);
        assert!(offset <= body.len() as u64);
        assert!(
            message.contains(&format!("limit max_event_bytes of {limit}")),
            "{message}"
        );
    }
}

fn line(line: usize) -> FrameLimits {
    FrameLimits { line, ..WIDE }
}

fn frame(frame: usize) -> FrameLimits {
    FrameLimits { frame, ..WIDE }
}

#[test]
fn a_line_may_be_as_long_as_its_limit() {
    bounded(Sse, line, 11, "data: a\n\ndata: 12345\n\n", 2);
    bounded(Sse, line, 11, "data: a\n\ndata: 12345\r\n\r\n", 2);
    bounded(Sse, line, 11, "data: a\n\ndata: 12345", 2);
    bounded(Sse, line, 11, ": 123456789\n\ndata: a\n\n", 1);
    bounded(Lines, line, 7, "{\"a\":1}\n{\"a\":2}\n", 2);
    bounded(Lines, line, 7, "{\"a\":1}\r\n{\"a\":2}\r\n", 2);
    bounded(Lines, line, 7, "{}\n{\"a\":2}", 2);
    bounded(Lines, line, 7, "{}\r\n{\"a\":2}\r", 2);
    bounded(Lines, line, 8, "{}\r\n{\"a\":\r2}\r\n", 2);
    bounded(JsonArray, line, 4, "[{}\noops\n{}]", 3);
}

#[test]
fn a_frame_may_be_as_long_as_its_limit() {
    bounded(Sse, frame, 5, "data: a\n\ndata: 12345\n\n", 2);
    bounded(Sse, frame, 5, "data: a\n\ndata: 12\ndata: 45\n\n", 2);
    bounded(Sse, frame, 5, "data: a\n\n{12\n}\n", 2);
    bounded(Sse, frame, 5, "data: a\n\n{\n\n\n}\n", 2);
    bounded(Lines, frame, 9, "{}\n{\n\"a\":1\n}\n", 2);
    bounded(Lines, frame, 9, "{}\n{\n\"a\":1\n}", 2);
    bounded(JsonArray, frame, 7, "[{},{\"a\":1}]", 2);
    bounded(JsonArray, frame, 6, "[{},{\"a\":1", 2);
}

#[test]
fn frames_before_the_limit_are_given_first() {
    for kind in [Sse, Lines, JsonArray] {
        let body: &[u8] = match kind {
            Sse => b"data: a\n\ndata: b\n\ndata: 123456789",
            Lines => b"{}\n{}\n{\"123456789\":1}",
            _ => b"[{},{},{\"123456789\":1}]",
        };
        let (frames, error) = at_every_cut_within(
            kind,
            FrameLimits {
                line: 10,
                frame: 10,
            },
            body,
        );
        assert_eq!(frames.len(), 2);
        assert!(error.is_some());
    }
}

#[test]
fn an_endless_line_costs_linear_time_and_bounded_memory() {
    let limits = FrameLimits {
        line: 8 << 20,
        frame: 8 << 20,
    };
    for (kind, open) in [
        (Sse, "data: "),
        (Lines, "{\"a\":\""),
        (JsonArray, "[{\"a\":\""),
    ] {
        let mut framing = Framing::new(kind, limits);
        let mut sink = |_: Frame<'_>| {};
        framing.push(open.as_bytes(), &mut sink).unwrap();
        let mut pushed = 0_usize;
        let error = loop {
            pushed += 100;
            assert!(pushed < 9 << 20);
            if let Err(error) = framing.push(&[b'x'; 100], &mut sink) {
                break error;
            }
        };
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert!(pushed > (8 << 20) - 200);
    }
}

#[test]
fn endless_blank_lines_in_a_document_are_bounded() {
    let mut framing = Framing::new(Sse, frame(1000));
    framing.push(b"{\n", &mut |_: Frame<'_>| {}).unwrap();
    let error = framing
        .push(&[b'\n'; 2000], &mut |_: Frame<'_>| {})
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
}
