use super::*;
use FramingKind::Sse;
use Origin::{Bare, Event, Exception, Unterminated};

/// The frames of an LF body, which its CR and CRLF twins give as well.
fn sse(body: &str) -> Vec<Owned> {
    let expected = frames(Sse, body);
    for end in ["\r", "\r\n"] {
        let twin = frames(Sse, body.replace('\n', end));
        assert_eq!(brief(&twin), brief(&expected), "{end:?} for LF: {body:?}");
    }
    expected
}

#[track_caller]
fn gives(body: &str, expected: &[(Origin, Option<&str>, &str)]) {
    assert_eq!(brief(&sse(body)), expected, "{body:?}");
}

#[test]
fn an_event_ends_at_a_blank_line() {
    gives(
        "data: a\n\ndata: b\n\n",
        &[(Event, None, "a"), (Event, None, "b")],
    );
    gives("event: x\ndata: {}\n\n", &[(Event, Some("x"), "{}")]);
    gives("data: {}\nevent: x\n\n", &[(Event, Some("x"), "{}")]);
    gives(
        "event: x\nevent: y\ndata: 1\n\ndata: 2\n\n",
        &[(Event, Some("y"), "1"), (Event, None, "2")],
    );
    gives("event: x\nevent\ndata: 1\n\n", &[(Event, None, "1")]);
    gives(
        "\n\n\ndata: a\n\n\n\ndata: b\n\n\n",
        &[(Event, None, "a"), (Event, None, "b")],
    );
}

#[test]
fn data_lines_are_joined_with_lf() {
    gives(
        "data: a\ndata: b\ndata\ndata:\ndata: c\n\n",
        &[(Event, None, "a\nb\n\n\nc")],
    );
    gives("data\n\n", &[(Event, None, "")]);
    gives("data\ndata\n\n", &[(Event, None, "\n")]);
}

#[test]
fn at_most_one_space_is_taken_off() {
    gives("data:a\n\n", &[(Event, None, "a")]);
    gives("data:  a \n\n", &[(Event, None, " a ")]);
    gives(
        "event:x\ndata: : keepalive\n\n",
        &[(Event, Some("x"), ": keepalive")],
    );
    gives("data:\t1\n\n", &[(Event, None, "\t1")]);
}

#[test]
fn comments_ids_and_retries_give_nothing() {
    gives(
        ": OPENROUTER PROCESSING\n\n:\n\n: ping\ndata: a\n: in between\ndata: b\n\n",
        &[(Event, None, "a\nb")],
    );
    gives(
        "id: 1\n\nretry: 30\n\nevent: keepalive\n\nid\nretry\n\nevent: error\n\n",
        &[],
    );
    gives("event: old\n\ndata: a\n\n", &[(Event, None, "a")]);
}

#[test]
fn only_cr_and_lf_end_a_line() {
    for inside in ["\u{2028}", "\u{2029}", "\u{85}", "\u{b}", "\u{c}", "\u{0}"] {
        gives(
            &format!("data: a{inside}b\n\n"),
            &[(Event, None, &format!("a{inside}b"))],
        );
    }
}

#[test]
fn mixed_line_ends_are_read() {
    for body in [
        "data: a\r\ndata: b\n\r\ndata: c\r\r",
        "data: a\ndata: b\r\r\ndata: c\r\n\n",
    ] {
        assert_eq!(
            brief(&frames(Sse, body)),
            [(Event, None, "a\nb"), (Event, None, "c")],
            "{body:?}"
        );
    }
}

#[test]
fn an_event_is_given_at_the_cr_without_waiting_for_the_lf() {
    let mut framing = Framing::new(Sse, WIDE);
    let mut count = 0;
    framing
        .push(b"data: a\r\n\r", &mut |_: Frame<'_>| count += 1)
        .unwrap();
    assert_eq!(count, 1);
    framing
        .push(b"\ndata: b\r\n\r\n", &mut |_: Frame<'_>| count += 1)
        .unwrap();
    assert_eq!(count, 2);
}

#[test]
fn a_bom_is_skipped_at_the_start_only() {
    let got = sse("\u{feff}data: a\n\n");
    assert_eq!(brief(&got), [(Event, None, "a")]);
    assert_eq!(got[0].offset, 3);
    gives(
        "\u{feff}\ndata: \u{feff}a\n\n",
        &[(Event, None, "\u{feff}a")],
    );
    gives(
        "data: a\n\n\u{feff}data: b\n\n",
        &[(Event, None, "a"), (Bare, None, "\u{feff}data: b")],
    );
}

#[test]
fn the_end_of_the_body_dispatches_what_is_open() {
    gives("data: [DONE]", &[(Unterminated, None, "[DONE]")]);
    gives("event: x\ndata: {}\n", &[(Unterminated, Some("x"), "{}")]);
    gives(
        "data: a\n\ndata: b\ndata: c",
        &[(Event, None, "a"), (Unterminated, None, "b\nc")],
    );
    gives("data: a\n\nevent: x", &[(Event, None, "a")]);
}

#[test]
fn the_beginning_of_a_fields_name_says_nothing() {
    for name in ["data", "event", "error", "retry", "id"] {
        for cut in 0..=name.len() {
            gives(
                &format!("data: a\n{}", &name[..cut]),
                &[(Unterminated, None, "a")],
            );
        }
    }
}

#[test]
fn an_error_field_is_the_data_of_an_exception() {
    gives(
        "error: {\"code\":500}\n\n",
        &[(Exception, None, "{\"code\":500}")],
    );
    gives(
        "event: x\nerror: a\ndata: b\n\ndata: c\n\n",
        &[(Exception, Some("x"), "a\nb"), (Event, None, "c")],
    );
    gives("error:a", &[(Exception, None, "a")]);
}

#[test]
fn text_that_is_no_field_is_bare() {
    gives(
        "data: a\n\nupstream error: read ECONNRESET\n",
        &[
            (Event, None, "a"),
            (Bare, None, "upstream error: read ECONNRESET"),
        ],
    );
    gives(
        "Bad Gateway\n\n\ndata: a\n\n",
        &[(Bare, None, "Bad Gateway"), (Event, None, "a")],
    );
    gives(
        "{\"error\":{\"code\":503}}",
        &[(Bare, None, "{\"error\":{\"code\":503}}")],
    );
    gives("error", &[]);
    gives("error\n", &[(Bare, None, "error")]);
    gives(
        "Data: x\n\n data: y\n\n",
        &[(Bare, None, "Data: x"), (Bare, None, " data: y")],
    );
}

#[test]
fn a_pretty_printed_error_is_one_bare_text() {
    let error =
        "{\n  \"error\": {\n    \"code\": 503,\n\n    \"message\": \"a } b\\\"\",\n\n  }\n}";
    gives(
        &format!("data: a\n\n{error}\n"),
        &[(Event, None, "a"), (Bare, None, error)],
    );
    gives(
        &format!("data: a\n\n[{error}\n]\n\n{error}"),
        &[
            (Event, None, "a"),
            (Bare, None, &format!("[{error}\n]")),
            (Bare, None, error),
        ],
    );
    gives(
        &format!("{error}\n\ndata: a\n\n"),
        &[(Bare, None, error), (Event, None, "a")],
    );
    gives("{\n\n\n\n\n", &[(Bare, None, "{")]);
}

#[test]
fn bare_text_ends_at_a_known_field_and_follows_the_event_it_stands_in() {
    gives(
        "{\"open\": \ndata: a\n\n",
        &[(Bare, None, "{\"open\":"), (Event, None, "a")],
    );
    gives(
        "data: a\n{\"error\":1}\n\n",
        &[(Event, None, "a"), (Bare, None, "{\"error\":1}")],
    );
    gives(
        "data: a\n{\n\n}\n\n",
        &[(Event, None, "a"), (Bare, None, "{\n\n}")],
    );
    gives(
        "data: a\n{\"error\":1}",
        &[(Unterminated, None, "a"), (Bare, None, "{\"error\":1}")],
    );
    gives(
        "event: x\nodd text\ndata: a\n\n",
        &[(Bare, None, "odd text"), (Event, Some("x"), "a")],
    );
}

#[test]
fn an_unknown_field_is_ignored_in_an_event_and_bare_alone() {
    gives(
        "event: x\nfoo: bar\ndata: a\nbaz:\n\n",
        &[(Event, Some("x"), "a")],
    );
    gives("foo: bar\ndata: a\n\n", &[(Event, None, "a")]);
    gives(
        "data: a\n\nError: connection reset\n\n",
        &[(Event, None, "a"), (Bare, None, "Error: connection reset")],
    );
    gives(
        "odd text\nfoo: bar\n",
        &[(Bare, None, "odd text\nfoo: bar")],
    );
}

#[test]
fn bytes_that_are_no_utf8_harm_only_their_event() {
    let body =
        b"data: \xC3\xA9\n\ndata: a\xFFb\n\nevent: \xFF\ndata: \xE2\x82\n\ndata: ok\n\n\xFE text";
    let got = frames(Sse, body);
    assert_eq!(
        brief(&got),
        [
            (Event, None, "\u{e9}"),
            (Event, None, "a\u{fffd}b"),
            (Event, Some("\u{fffd}"), "\u{fffd}"),
            (Event, None, "ok"),
            (Bare, None, "\u{fffd} text"),
        ]
    );
    assert_eq!(
        got.iter().map(|f| f.lossy).collect::<Vec<_>>(),
        [false, true, true, false, true]
    );
}

#[test]
fn an_offset_is_that_of_the_events_first_field() {
    let got = frames(
        Sse,
        ": c\n\ndata: a\r\n\r\nfoo: 1\nid: 7\nevent: x\ndata: b\n\n\noops",
    );
    let offsets: Vec<_> = got.iter().map(|f| (&*f.data, f.offset)).collect();
    assert_eq!(offsets, [("a", 5), ("b", 23), ("oops", 48)]);
}

#[test]
fn an_event_inside_a_chunk_is_lent_from_it() {
    let chunk = b"event: x\r\ndata: {}\r\n\r\ndata: 1\n\n";
    let range = chunk.as_ptr_range();
    let mut lent = 0;
    let mut framing = Framing::new(Sse, WIDE);
    framing
        .push(chunk, &mut |frame: Frame<'_>| {
            assert!(range.contains(&frame.data.as_ptr()));
            assert!(
                frame
                    .event
                    .is_none_or(|event| range.contains(&event.as_ptr()))
            );
            lent += 1;
        })
        .unwrap();
    assert_eq!(lent, 2);
}

#[test]
fn a_buffer_that_grew_large_is_given_back() {
    let mut framing = Framing::new(Sse, WIDE);
    let long = format!("data: {}", "x".repeat(500_000));
    let mut count = 0;
    for _ in 0..2 {
        for piece in [&*long, "\n", "data: y\n", "\n", &long[6..], "\n", "\n"] {
            framing
                .push(piece.as_bytes(), &mut |_: Frame<'_>| count += 1)
                .unwrap();
        }
        let super::super::Framing::Sse(machine) = &framing else {
            unreachable!()
        };
        assert!(machine.held_capacity() <= 4 * KEEP_BYTES);
    }
    assert_eq!(count, 4);
}

/// The slow and obvious reading: the whole body, split into lines, one plain state.
fn oracle(body: &[u8]) -> Vec<Owned> {
    let body_start = if body.starts_with(BOM) { 3 } else { 0 };
    let mut lines: Vec<(usize, Vec<u8>)> = vec![(body_start, Vec::new())];
    let mut at = body_start;
    while at < body.len() {
        let ends = match body[at] {
            b'\r' if body.get(at + 1) == Some(&b'\n') => 2,
            b'\r' | b'\n' => 1,
            byte => {
                lines.last_mut().unwrap().1.push(byte);
                at += 1;
                continue;
            }
        };
        at += ends;
        lines.push((at, Vec::new()));
    }
    let last = lines.pop().unwrap();
    let names = ["data", "event", "id", "retry", "error"];
    let cut_name = names
        .iter()
        .any(|name| name.as_bytes().starts_with(&last.1));
    if !cut_name {
        lines.push(last);
    }

    let mut out = Vec::new();
    let mut start = None;
    let mut event = String::new();
    let mut data: Vec<Vec<u8>> = Vec::new();
    let mut exception = false;
    let mut bare: Vec<(usize, Vec<u8>, bool)> = Vec::new();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let lossy = |bytes: &[u8]| std::str::from_utf8(bytes).is_err();
    let flush = |bare: &mut Vec<(usize, Vec<u8>, bool)>, out: &mut Vec<Owned>| {
        let Some((offset, ..)) = bare.first() else {
            return;
        };
        let lines: Vec<_> = bare.iter().map(|(_, line, _)| line.clone()).collect();
        let joined = lines.join(&b'\n').trim_ascii_end().to_vec();
        let offset = *offset as u64;
        out.push(Owned {
            data: text(&joined),
            event: None,
            origin: Bare,
            offset,
            lossy: lossy(&joined),
        });
        bare.clear();
    };
    let open_document = |bare: &[(usize, Vec<u8>, bool)]| {
        let (mut depth, mut string, mut escape) = (0_i32, false, false);
        let all: Vec<u8> = bare.iter().flat_map(|(_, line, _)| line.clone()).collect();
        for &byte in &all {
            match byte {
                _ if escape => escape = false,
                b'\\' if string => escape = true,
                b'"' => string = !string,
                b'{' | b'[' if !string => depth += 1,
                b'}' | b']' if !string => depth = (depth - 1).max(0),
                _ => {}
            }
        }
        matches!(all.trim_ascii_start().first(), Some(b'{' | b'[')) && (depth > 0 || string)
    };
    let count = lines.len();
    for (i, (offset, line)) in lines.iter().chain([&(0, Vec::new())]).enumerate() {
        let ended = i == count;
        if line.is_empty() {
            if !data.is_empty() {
                let joined = data.join(&b'\n');
                let origin = match (exception, ended) {
                    (true, _) => Exception,
                    (_, true) => Unterminated,
                    _ => Event,
                };
                let event = (!event.is_empty()).then(|| event.clone());
                let offset = start.unwrap() as u64;
                out.push(Owned {
                    data: text(&joined),
                    event,
                    origin,
                    offset,
                    lossy: lossy(&joined),
                });
            }
            (start, exception) = (None, false);
            event.clear();
            data.clear();
            if ended || !open_document(&bare) {
                flush(&mut bare, &mut out);
            } else {
                bare.push((0, Vec::new(), false));
            }
            continue;
        }
        let colon = line.iter().position(|&byte| byte == b':');
        let name = text(&line[..colon.unwrap_or(line.len())]);
        let value = colon.map_or(&[][..], |colon| &line[colon + 1..]);
        let value = if value.first() == Some(&b' ') {
            &value[1..]
        } else {
            value
        };
        if name.is_empty() {
            continue;
        }
        if names.contains(&&*name) && (name != "error" || colon.is_some()) {
            start = start.or(Some(*offset));
            if bare.iter().any(|(_, _, is_text)| *is_text) {
                flush(&mut bare, &mut out);
            }
            bare.clear();
            match &*name {
                "data" => data.push(value.to_vec()),
                "error" => (exception, ()) = (true, data.push(value.to_vec())),
                "event" => event = text(value),
                _ => {}
            }
            continue;
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let is_field = colon.is_some() && name.chars().all(plain);
        let blank = line.trim_ascii().is_empty();
        if !(bare.is_empty() && (blank || is_field && start.is_some())) {
            bare.push((*offset, line.clone(), !is_field));
        }
    }
    out
}

#[test]
fn random_bodies_read_as_by_the_slow_reading() {
    let pieces: Vec<&[u8]> = vec![
        b"data:",
        b"data: ",
        b"data",
        b"event: x",
        b"event:",
        b"event",
        b"id: 1",
        b"retry: 2",
        b"error: e",
        b"error",
        b": c",
        b":",
        b"foo: bar",
        b"foo",
        b"\n",
        b"\n",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"\r\n\r\n",
        b" ",
        b"\t",
        BOM,
        b"\xEF\xBB",
        b"\xFF",
        b"\xE2\x82\xAC",
        b"\xE2\x82",
        b"\xF0\x9F\x98\x80",
        b"\xE2\x80\xA8",
        b"{",
        b"}",
        b"[",
        b"]",
        b"\"",
        b"\\",
        b"{\"a\":1}",
        b"x",
        b"\0",
    ];
    for seed in 0..20_000 {
        let mut random = Random(seed);
        let body = random.mix(&pieces, 24);
        let expected = (oracle(&body), None);
        let shown = String::from_utf8_lossy(&body);
        assert_eq!(
            whole_within(Sse, WIDE, &body),
            expected,
            "seed {seed}: {shown:?}"
        );
        if seed % 20 == 0 {
            assert_eq!(at_every_cut(Sse, &body), expected, "seed {seed}: {shown:?}");
        }
    }
}
