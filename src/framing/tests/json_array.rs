use super::*;
use FramingKind::JsonArray;
use Origin::{Bare, Event, Unterminated};

#[track_caller]
fn gives(body: &str, expected: &[(Origin, &str)]) {
    let got = frames(JsonArray, body);
    assert_eq!(briefer(&got), expected, "{body:?}");
}

#[test]
fn each_element_is_a_frame_at_its_closing_brace() {
    gives(
        "[{\"a\":1}\r\n,\r\n{\"b\":[{}]}]\r\n",
        &[(Event, "{\"a\":1}"), (Event, "{\"b\":[{}]}")],
    );
    let pretty = "{\n  \"a\": \"} ] \\\" \\\\\",\n  \"b\": [\n    {}\n  ]\n}";
    gives(
        &format!("\u{feff}[{pretty}\n,\n{pretty}\n]\n"),
        &[(Event, pretty), (Event, pretty)],
    );
    let mut count = 0;
    Framing::new(JsonArray, WIDE)
        .push(b"[{\"a\":{}}", &mut |_: Frame<'_>| count += 1)
        .unwrap();
    assert_eq!(count, 1);
}

#[test]
fn objects_without_an_array_are_read() {
    gives("{\"a\":1}", &[(Event, "{\"a\":1}")]);
    gives("{}{}\n{}", &[(Event, "{}"), (Event, "{}"), (Event, "{}")]);
    gives("[]", &[]);
    gives("", &[]);
}

#[test]
fn other_text_is_bare() {
    gives(
        "[{},\nupstream error, try later\n{}]",
        &[
            (Event, "{}"),
            (Bare, "upstream error, try later"),
            (Event, "{}"),
        ],
    );
    gives(
        "[null,{}]}{}",
        &[(Bare, "null"), (Event, "{}"), (Bare, "}"), (Event, "{}")],
    );
    gives("Bad Gateway", &[(Bare, "Bad Gateway")]);
}

#[test]
fn a_cut_object_is_unterminated() {
    gives(
        "[{}, {\"a\":\"}",
        &[(Event, "{}"), (Unterminated, "{\"a\":\"}")],
    );
    gives("[{", &[(Unterminated, "{")]);
}

#[test]
fn offsets_and_bad_bytes_are_told() {
    let got = frames(JsonArray, b"\xEF\xBB\xBF[{},\n{\"a\":\"\xFF\"} \xFE,");
    let told: Vec<_> = got.iter().map(|f| (f.origin, f.offset, f.lossy)).collect();
    assert_eq!(
        told,
        [(Event, 4, false), (Event, 8, true), (Bare, 18, true)]
    );
}

#[test]
fn an_object_inside_a_chunk_is_lent_from_it() {
    let chunk = b"[{\"a\":1},{}]";
    let range = chunk.as_ptr_range();
    let mut framing = Framing::new(JsonArray, WIDE);
    let mut lent = 0;
    framing
        .push(chunk, &mut |frame: Frame<'_>| {
            lent += usize::from(range.contains(&frame.data.as_ptr()))
        })
        .unwrap();
    assert_eq!(lent, 2);
}

#[test]
fn random_bodies_give_the_same_frames_at_every_cut_and_lose_nothing() {
    let pieces: [&[u8]; 16] = [
        b"{",
        b"{",
        b"}",
        b"}",
        b"[",
        b"]",
        b"\"",
        b"\\",
        b"\n",
        b"\r\n",
        b",",
        b"a",
        b" ",
        b"\xE2\x82\xAC",
        b"\xFF",
        BOM,
    ];
    loses_nothing(JsonArray, &pieces, "[],");
}
