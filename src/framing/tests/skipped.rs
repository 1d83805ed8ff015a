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
        "data: {\"skip\":\"",
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

/// A document that is skipped, with so many bytes in its string.
fn skipped(length: usize) -> String {
    format!("{{\"skip\":\"}}\\\"{}\"}}", "x".repeat(length))
}

/// The data of the frames between two events, the same at every cut.
fn between(event: &str) -> Vec<(Origin, String)> {
    let body = format!("data: before\n\n{event}\n\ndata: after\n\n");
    let frames = frames(Sse, body);
    let [before, between @ .., after] = &frames[..] else {
        panic!("{frames:?}");
    };
    assert_eq!((&*before.data, &*after.data), ("before", "after"));
    let owned = |frame: &Owned| (frame.origin, frame.data.clone());
    between.iter().map(owned).collect()
}

#[test]
fn what_follows_a_skipped_document_in_its_event_is_a_frame() {
    for length in [900, 990, 1000, 1010, 1020, 1030, 1300, 2500] {
        let long = skipped(length);
        let is_long = |name: &str| name.len() + long.len() > SHORT;
        for (name, end) in [
            ("data: ", "\n"),
            ("data:", "\r\n"),
            ("event: a\ndata: ", "\r"),
        ] {
            let name_of_line = name.rsplit('\n').next().unwrap();
            for (rest, left) in [
                (format!("{end}data: {{\"a\":1}}"), "{\"a\":1}".to_owned()),
                (
                    format!("{end}event: b{end}data:{{\"a\":1}}{end}data: {{\"b\":2}}"),
                    "{\"a\":1}\n{\"b\":2}".to_owned(),
                ),
                ("  {\"a\":1}".to_owned(), "{\"a\":1}".to_owned()),
                (
                    format!("{{\"a\":\"{}\"}}", "y".repeat(2000)),
                    format!("{{\"a\":\"{}\"}}", "y".repeat(2000)),
                ),
                (
                    format!("{{\"a\":1}}{end}data: words"),
                    "{\"a\":1}\nwords".to_owned(),
                ),
                (format!("[DONE]{end}id: 7"), "[DONE]".to_owned()),
            ] {
                let got = between(&format!("{name}{long}{rest}{end}"));
                // A long line is long for what follows the document, too.
                let whole = rest.split(['\r', '\n']).next().unwrap();
                if is_long(name_of_line) {
                    assert_eq!(got, [(Origin::Event, left)], "{name}{length}{rest:.30}");
                } else {
                    assert!(got[0].1.starts_with(&format!("{long}{whole}")));
                }
            }
            if is_long(name_of_line) {
                assert_eq!(between(&format!("{name}{long}   {end}")), []);
                assert_eq!(
                    between(&format!("{name}{long} {long}{end}data: {long}{end}")),
                    []
                );
            }
        }
    }
}

#[test]
fn a_skipped_document_goes_on_in_the_lines_in_which_it_ends() {
    let open = skipped(1500).replace("\"}", "\",");
    for (lines, left) in [
        (" \"a\":[{}\ndata: ]}", None),
        ("\ndata: \"a\":1}", None),
        (
            "\ndata: \"a\":1} {\"b\":2}\ndata: {\"c\":3}",
            Some("{\"b\":2}\n{\"c\":3}"),
        ),
        ("\ndata: \"a\":1}\ndata: {\"b\":2}", Some("{\"b\":2}")),
        // One that never ends is broken, and the lines after it are none of its own.
        ("\ndata: {\"b\":2}", Some("{\"b\":2}")),
        (
            " \"a\": \"\ndata: {\"b\":\"}\"}\ndata: {\"c\":3}",
            Some("{\"b\":\"}\"}\n{\"c\":3}"),
        ),
    ] {
        let got = between(&format!("data: {open}{lines}\n"));
        let got: Vec<_> = got.iter().map(|(_, data)| &**data).collect();
        assert_eq!(got, left.into_iter().collect::<Vec<_>>(), "{lines}");
    }
    frames(Sse, format!("data: {open}"));
    frames(Sse, format!("data: {open}\ndata: {{\"a\":1}}"));
}

#[test]
fn a_skipped_document_that_turns_out_to_be_an_error_is_told_by_its_beginning() {
    let long = skipped(5000);
    for event in [
        format!("data: {long}\nevent: error\n"),
        format!("data: {long}\nevent:error\nid: 1\n"),
        format!("event: a\ndata: {long}\nevent: error\n"),
        format!("data: skip {long}\nevent: error\n"),
    ] {
        let got = between(&event);
        assert_eq!(got.len(), 1, "{event:.20}");
        assert!(event.contains(&got[0].1) && (1000..SHORT).contains(&got[0].1.len()));
    }
    for event in [
        format!("data: {long}\nevent: a\n"),
        format!("event: error\ndata: {{}}\n\ndata: {long}\nevent: a\n"),
    ] {
        assert!(between(&event).iter().all(|(_, data)| data == "{}"));
    }
    assert_eq!(
        between(&format!("data: {long}\nerror: {{}}\n")),
        [(Origin::Exception, "{}".to_owned())]
    );
}
