use super::*;
use FramingKind::Sse;

/// A line of so many bytes is not long.
const SHORT: usize = 1024;

#[test]
fn an_event_that_the_sink_skips_is_no_frame_if_its_line_is_long() {
    for length in [1000, 1016, 1017, 1018, 1019, 1020, 1100, 1500] {
        let long = "x".repeat(length);
        for (event, is_skipped) in [
            (
                format!("data: skip {long}\n"),
                "data: skip ".len() + length > SHORT,
            ),
            (
                format!("data:skip {long}\r\n"),
                "data:skip ".len() + length > SHORT,
            ),
            (
                format!("event: a\ndata: skip {long}\ndata: and more\n"),
                "data: skip ".len() + length > SHORT,
            ),
            (format!("data: keep {long}\n"), false),
            (format!("data: a line\ndata: skip {long}\n"), false),
            (format!("event: error\ndata: skip {long}\n"), false),
            (format!("error: {{}}\ndata: skip {long}\n"), false),
            (format!("data:  skip {long}\n"), false),
        ] {
            let got = frames(Sse, format!("data: before\n\n{event}\ndata: after\n\n"));
            assert_eq!(
                got.len(),
                if is_skipped { 2 } else { 3 },
                "{length}: {event:.30}"
            );
            // At the beginning of a body, behind a BOM, and cut off at its end.
            let first = frames(Sse, format!("\u{feff}{event}\ndata: after\n\n"));
            assert!(first.iter().any(|frame| frame.data == "after"));
            frames(Sse, event.trim_end());
        }
    }
}

#[test]
fn of_a_long_line_that_says_nothing_only_the_beginning_is_held() {
    let body_of = |start: &str| format!("{start}{}\n\ndata: after\n\n", "x".repeat(1 << 18));
    for start in [
        ": ",
        "id: ",
        "retry: ",
        "data: skip ",
        "event: a\ndata:skip ",
        "\u{feff}: ",
    ] {
        let body = body_of(start);
        let mut machine = crate::framing::sse::Sse::new(WIDE);
        let mut sink = Kept::default();
        let mut most = 0;
        for chunk in body.as_bytes().chunks(1400) {
            machine.push(chunk, &mut sink).unwrap();
            most = most.max(machine.held_capacity());
        }
        machine.finish(&mut sink).unwrap();
        assert!(most <= 4 << 10, "{start:?}: {most}");
        let frames = brief(&sink.0);
        assert_eq!(frames, [(Origin::Event, None, "after")], "{start:?}");
        assert_eq!(sink.0[0].offset as usize, body.find("data: after").unwrap());
        // It counts towards the limit all the same.
        let limits = FrameLimits {
            line: 5000,
            frame: 5000,
        };
        let (frames, error) = at_every_cut_within(Sse, limits, body.as_bytes());
        let line = body
            .find("x")
            .map_or(0, |at| body[..at].rfind('\n').map_or(0, |at| at + 1));
        assert_eq!(frames, []);
        assert_eq!(
            error.map(|(kind, at, _)| (kind, at)),
            Some((ErrorKind::Limit, line as u64 + 5000))
        );
    }
}
