use super::*;
use FramingKind::Lines;
use Origin::{Bare, Event, Unterminated};

#[track_caller]
fn gives(body: &str, expected: &[(Origin, &str)]) {
    for end in ["\n", "\r\n"] {
        let got = frames(Lines, body.replace('\n', end));
        assert_eq!(briefer(&got), expected, "{end:?}: {body:?}");
    }
}

#[test]
fn each_line_is_a_frame_at_its_line_end() {
    gives(
        "{\"a\":1}\n\n  \n{\"a\":\"}\"}\n",
        &[(Event, "{\"a\":1}"), (Event, "{\"a\":\"}\"}")],
    );
    gives("\u{feff}{}\n[1]\n", &[(Event, "{}"), (Event, "[1]")]);
    gives("{\"a\":1}{\"b\":2}\n", &[(Event, "{\"a\":1}{\"b\":2}")]);
    let mut count = 0;
    Framing::new(Lines, WIDE)
        .push(b"{\"a\":1}\n{\"b\"", &mut |_: Frame<'_>| count += 1)
        .unwrap();
    assert_eq!(count, 1);
}

#[test]
fn the_end_of_the_body_gives_the_last_line() {
    gives(
        "{}\n{\"a\":1}",
        &[(Event, "{}"), (Unterminated, "{\"a\":1}")],
    );
    gives("{}\n{\"a\":", &[(Event, "{}"), (Unterminated, "{\"a\":")]);
    gives(
        "{}\nupstream gone",
        &[(Event, "{}"), (Bare, "upstream gone")],
    );
    gives("{}\n \t", &[(Event, "{}")]);
}

#[test]
fn a_pretty_printed_document_is_one_frame() {
    let error = "{\n  \"error\": {\n    \"message\": \"a } { b\",\n\n    \"list\": [\n{\"x\":1},\n  2]\n  }\n}";
    gives(
        &format!("{{}}\n{error}\n{{}}\n"),
        &[(Event, "{}"), (Event, error), (Event, "{}")],
    );
    gives(error, &[(Unterminated, error)]);
    gives(&error[..40], &[(Unterminated, &error[..40])]);
    gives(
        "[\n{\"a\":1},\n{\"b\":2}\n]\n{}\n",
        &[(Event, "[\n{\"a\":1},\n{\"b\":2}\n]"), (Event, "{}")],
    );
}

#[test]
fn a_cut_line_does_not_swallow_the_next() {
    gives(
        "{\"a\":\"cut\n{}\n",
        &[(Event, "{\"a\":\"cut"), (Event, "{}")],
    );
    gives(
        "{\"a\":{\"b\":1}\n{}\n",
        &[(Event, "{\"a\":{\"b\":1}"), (Event, "{}")],
    );
    gives("{\"a\":1,\n{}\n", &[(Event, "{\"a\":1,"), (Event, "{}")]);
    gives(
        "{\"a\":1,\n{}",
        &[(Event, "{\"a\":1,"), (Unterminated, "{}")],
    );
}

#[test]
fn text_is_bare() {
    gives(
        "Bad Gateway\n{}\nnull\n",
        &[(Bare, "Bad Gateway"), (Event, "{}"), (Bare, "null")],
    );
}

#[test]
fn offsets_and_bad_bytes_are_told() {
    let got = frames(Lines, b"\xEF\xBB\xBF{}\r\n\n{\"a\":\"\xFF\"}\n{\n}\n");
    let told: Vec<_> = got.iter().map(|f| (f.offset, f.lossy)).collect();
    assert_eq!(told, [(3, false), (8, true), (18, false)]);
}

#[test]
fn random_bodies_give_the_same_frames_at_every_cut_and_lose_nothing() {
    let pieces: [&[u8]; 16] = [
        b"{",
        b"}",
        b"[",
        b"]",
        b"\"",
        b"\\",
        b"\n",
        b"\n",
        b"\r\n",
        b",",
        b":",
        b"a",
        b" ",
        b"\xE2\x82\xAC",
        b"\xFF",
        BOM,
    ];
    loses_nothing(Lines, &pieces, "");
}

/// Takes every line that is a document by itself.
#[derive(Default)]
struct Documents(Vec<Owned>);

impl FrameSink for Documents {
    fn frame(&mut self, frame: Frame<'_>) {
        self.0.push(Owned::from(frame));
    }

    fn whole(&mut self, frame: Frame<'_>) -> bool {
        let is_document = serde_json::from_str::<serde_json::Value>(frame.data).is_ok();
        if is_document {
            self.frame(frame);
        }
        is_document
    }
}

#[test]
fn who_reads_whole_documents_gets_the_frames_that_any_other_gets() {
    let pieces: [&[u8]; 14] = [
        b"{\"a\":1}\n",
        b"{\"a\":\n",
        b"1}",
        b"\n",
        b"{",
        b"[{}]\r\n",
        b"{}{}\n",
        b"{\"a\":\"",
        b"\"}\n",
        b" {\"b\":[]} \n",
        b"text\n",
        b"[\n",
        b"]\n",
        b"{\"a\":\"\xff\"}\n",
    ];
    let mut taken = 0;
    for seed in 0..3000 {
        let body = Random(seed).mix(&pieces, 20);
        let (expected, error) = whole_within(Lines, WIDE, &body);
        assert_eq!(error, None);
        let mut sink = Documents::default();
        let mut framing = Framing::new(Lines, WIDE);
        for chunk in body.chunks(1 + seed as usize % 9) {
            framing.push(chunk, &mut sink).unwrap();
        }
        framing.finish(&mut sink).unwrap();
        assert_eq!(sink.0, expected, "{:?}", String::from_utf8_lossy(&body));
        taken += sink.0.len();
    }
    assert!(taken > 3000);
}
