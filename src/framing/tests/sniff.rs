use super::*;

#[track_caller]
fn shows(body: &[u8], expected: FramingKind, after: usize) {
    for len in 0..=body.len() {
        let told = super::super::sniff(&body[..len]);
        assert_eq!(
            told,
            (len >= after).then_some(expected),
            "{len} bytes of {body:?}"
        );
    }
}

#[test]
fn the_first_telling_byte_decides() {
    for text in [
        "data: {}",
        "event: x",
        "id: 1",
        "retry: 1",
        ": ping",
        "error: x",
        "Bad Gateway",
        "<html>",
        "\"x\"",
    ] {
        shows(text.as_bytes(), FramingKind::Sse, 1);
        shows(
            format!("\u{feff}\r\n {text}").as_bytes(),
            FramingKind::Sse,
            7,
        );
    }
    shows(b"\n\n[{", FramingKind::JsonArray, 3);
    shows("\u{feff}{\"a\":1}\n".as_bytes(), FramingKind::Lines, 4);
    shows(b"\xEF\xBBx", FramingKind::Sse, 3);
    shows(b"\xFF", FramingKind::Sse, 1);
    shows(b" \r\n\t", FramingKind::Sse, 5);
}

#[cfg(feature = "bedrock")]
#[test]
fn a_binary_frame_shows_by_its_prelude() {
    let frame = aws_frames::event("messageStop", "{}");
    shows(&frame, FramingKind::Aws, 12);
    let mut wrong = frame;
    wrong[10] ^= 1;
    shows(&wrong, FramingKind::Sse, 12);
}
