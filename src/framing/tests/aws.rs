use super::*;
use FramingKind::Aws;
use Origin::{Event, Exception, Unterminated};
use aws_frames::{crc32, error, event, exception, frame, header, string_headers};

/// The frame of WIRE_FORMATS 5.1, byte for byte.
const EXAMPLE: &str = "0000007d00000056e6680fd6\
    0b3a6576656e742d747970650700 10636f6e74656e74426c6f636b53746f70\
    0d3a636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e\
    0d3a6d6573736167652d747970650700056576656e74\
    7b22636f6e74656e74426c6f636b496e646578223a307d\
    b32e4d34";

fn example() -> Vec<u8> {
    let digits: Vec<u8> = EXAMPLE.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pairs = digits
        .chunks(2)
        .map(|pair| std::str::from_utf8(pair).unwrap());
    pairs
        .map(|pair| u8::from_str_radix(pair, 16).unwrap())
        .collect()
}

#[test]
fn the_documented_frame_is_read() {
    assert_eq!(example().len(), 125);
    assert_eq!(
        example(),
        event("contentBlockStop", "{\"contentBlockIndex\":0}")
    );
    let body = [example(), example()].concat();
    let got = frames(Aws, &body);
    let one = (Event, Some("contentBlockStop"), "{\"contentBlockIndex\":0}");
    assert_eq!(brief(&got), [one, one]);
    assert_eq!((got[0].offset, got[1].offset), (0, 125));
}

#[test]
fn the_documented_checksums_are_those_of_our_frames() {
    let delta = |index| {
        format!(
            "{{\"contentBlockIndex\":{index},\"delta\":{{\"toolUse\":{{\"input\":\"{{\\\"q\\\":1}}\"}}}}}}"
        )
    };
    let chunk =
        "{\"bytes\":\"eyJ0eXBlIjoiY29udGVudF9ibG9ja19zdG9wIiwiaW5kZXgiOjB9\",\"p\":\"abc\"}";
    let cases = [
        (
            event("contentBlockDelta", &delta(1)),
            168,
            87,
            0xd07a_cf69,
            0x796d_d405,
        ),
        (
            event("contentBlockDelta", &delta(0)),
            168,
            87,
            0xd07a_cf69,
            0x5345_ec67,
        ),
        (
            event(
                "messageStart",
                "{\"p\":\"abcdefgh\",\"role\":\"assistant\"}",
            ),
            133,
            82,
            0x9941_d053,
            0x3d59_3ac6,
        ),
        (
            event("messageStop", "{\"stopReason\":\"tool_use\"}"),
            122,
            81,
            0xca2c_4665,
            0x9dcb_2981,
        ),
        (
            exception("throttlingException", "{\"message\":\"slow down\"}"),
            136,
            97,
            0xde01_75f4,
            0x832e_e072,
        ),
        (event("chunk", chunk), 165, 75, 0x3ceb_5797, 0x8a59_09c7_u32),
    ];
    let mut body = Vec::new();
    for (bytes, total, headers, prelude_crc, message_crc) in &cases {
        let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!(
            (bytes.len(), word(0), word(4)),
            (*total, *total as u32, *headers)
        );
        assert_eq!(
            (word(8), word(bytes.len() - 4)),
            (*prelude_crc, *message_crc)
        );
        body.extend_from_slice(bytes);
    }
    let got = frames(Aws, &body);
    assert_eq!(got.len(), cases.len());
    assert_eq!(
        brief(&got)[4],
        (
            Exception,
            Some("throttlingException"),
            "{\"message\":\"slow down\"}"
        )
    );
    assert_eq!(got[5].data, chunk);
}

#[test]
fn a_damaged_byte_never_gives_a_frame() {
    let good = example();
    for at in 0..good.len() {
        for mask in [1, 0x10, 0x80, 0xFF] {
            let mut bad = good.clone();
            bad[at] ^= mask;
            let body = [&good[..], &bad, &good].concat();
            let (frames, error) = whole_within(Aws, WIDE, &body);
            assert_eq!(frames.len(), 1, "byte {at} xor {mask}");
            assert_eq!(frames[0].offset, 0);
            let (kind, offset, _) = error.unwrap();
            assert_eq!(
                (kind, offset),
                (ErrorKind::Framing, 125),
                "byte {at} xor {mask}"
            );
            if mask == 1 {
                at_every_cut(Aws, &body);
            }
        }
    }
}

#[test]
fn a_cut_frame_is_a_truncation() {
    let body = [example(), example()].concat();
    for len in 0..body.len() {
        let (frames, error) = whole_within(Aws, WIDE, &body[..len]);
        assert_eq!(frames.len(), len / 125);
        let expected = (len % 125 > 0).then_some((ErrorKind::Truncated, len as u64));
        assert_eq!(error.map(|(kind, offset, _)| (kind, offset)), expected);
    }
}

#[test]
fn every_header_type_is_stepped_over() {
    let mut headers = Vec::new();
    for (value_type, len) in [
        (0, 0),
        (1, 0),
        (2, 1),
        (3, 2),
        (4, 4),
        (5, 8),
        (8, 8),
        (9, 16),
    ] {
        headers.extend(header("x", value_type, &vec![7; len]));
    }
    headers.extend(header("bytes", 6, b"\0\x03abc"));
    headers.extend(header(":event-type", 6, b"\0\x03abc"));
    headers.extend(header("", 7, b"\0\0"));
    headers.extend(string_headers(&[
        (":message-type", "event"),
        (":event-type", "late"),
    ]));
    assert_eq!(
        brief(&frames(Aws, frame(&headers, b"{}"))),
        [(Event, Some("late"), "{}")]
    );
    assert_eq!(brief(&frames(Aws, frame(b"", b""))), [(Event, None, "")]);
    for len in 1..headers.len() {
        let whole = Some(ErrorKind::Framing);
        let (given, error) = at_every_cut(Aws, &frame(&headers[..len], b"{}"));
        assert!(
            given.len() == 1 || error.map(|(kind, ..)| kind) == whole,
            "{len} bytes of headers"
        );
    }
    let (given, error) = whole_within(Aws, WIDE, &frame(&header("x", 10, b""), b"{}"));
    assert!(given.is_empty() && error.is_some());
}

#[test]
fn exceptions_and_errors_say_so() {
    let body = [
        exception("modelStreamErrorException", "{\"message\":\"m\"}"),
        error("InternalError", "it broke"),
        frame(
            &string_headers(&[(":message-type", "of tomorrow"), (":event-type", "x")]),
            b"{}",
        ),
    ]
    .concat();
    assert_eq!(
        brief(&frames(Aws, body)),
        [
            (
                Exception,
                Some("modelStreamErrorException"),
                "{\"message\":\"m\"}"
            ),
            (Exception, Some("InternalError"), "it broke"),
        ]
    );
}

#[test]
fn bytes_that_are_no_utf8_are_replaced() {
    let body = frame(&string_headers(&[(":event-type", "x")]), b"a\xFF");
    let got = frames(Aws, body);
    assert_eq!((&*got[0].data, got[0].lossy), ("a\u{fffd}", true));
}

/// A prelude with a right checksum.
fn prelude(total: u32, headers: u32) -> Vec<u8> {
    let mut bytes = [total.to_be_bytes(), headers.to_be_bytes()].concat();
    bytes.extend_from_slice(&crc32(&bytes).to_be_bytes());
    bytes
}

#[test]
fn lengths_are_judged_from_the_prelude_alone() {
    let unlimited = FrameLimits {
        line: usize::MAX,
        frame: usize::MAX,
    };
    for (total, headers) in [
        (0, 0),
        (15, 0),
        (16, 1),
        (100, 85),
        (u32::MAX, 0),
        (u32::MAX, u32::MAX),
        (1 << 20, (128 << 10) + 1),
        ((24 << 20) + 17, 0),
    ] {
        let (_, error) = at_every_cut_within(Aws, unlimited, &prelude(total, headers));
        assert_eq!(
            error.map(|(kind, ..)| kind),
            Some(ErrorKind::Framing),
            "{total} {headers}"
        );
    }
    for (total, headers) in [((24 << 20) + 16, 0), (16 + (128 << 10), 128 << 10)] {
        let (_, error) = at_every_cut_within(Aws, unlimited, &prelude(total, headers));
        assert_eq!(
            error.map(|(kind, ..)| kind),
            Some(ErrorKind::Truncated),
            "{total} {headers}"
        );
    }
}

#[test]
fn a_payload_may_be_as_long_as_the_frame_limit() {
    let body = [event("x", "{}"), event("x", "{\"a\":1}")].concat();
    for limit in [7, 8] {
        let (frames, error) = at_every_cut_within(
            Aws,
            FrameLimits {
                frame: limit,
                ..WIDE
            },
            &body,
        );
        assert_eq!((frames.len(), error), (2, None));
    }
    let (frames, error) = at_every_cut_within(Aws, FrameLimits { frame: 6, ..WIDE }, &body);
    assert_eq!((frames.len(), error.unwrap().0), (1, ErrorKind::Limit));
}

#[test]
fn a_json_body_is_one_frame_at_its_end() {
    let body = "{\"message\":\"The security token is expired\"}";
    for before in ["", "\n ", "\u{feff}", "\u{feff}\r\n"] {
        for body in [body, "[{\"message\":\"no\"}]"] {
            let sent = format!("{before}{body}");
            let found = frames(Aws, &sent);
            assert_eq!(brief(&found), [(Unterminated, None, body)]);
            assert_eq!(found[0].offset, before.len() as u64);
        }
    }
    let (_, error) = at_every_cut_within(Aws, FrameLimits { frame: 10, ..WIDE }, body.as_bytes());
    assert_eq!(error.unwrap().0, ErrorKind::Limit);
}

#[test]
fn random_bytes_never_panic() {
    for seed in 0..300 {
        let mut random = Random(seed);
        let mut body = example();
        for _ in 0..=random.below(4) {
            let at = random.below(body.len());
            body[at] = random.next() as u8;
        }
        body.truncate(random.below(body.len() + 1));
        at_every_cut(Aws, &body);
    }
}
