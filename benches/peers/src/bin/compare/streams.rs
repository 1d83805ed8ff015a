//! The streams: OpenAI chat bodies as servers send them, each with one trait that is no fault of the model's.

use serde_json::{Value, json};

pub struct Stream {
    pub name: &'static str,
    pub chunks: Vec<Vec<u8>>,
    pub calls: Vec<Wanted>,
    /// Something is missing that no finish reason tells of, and who reads must hear of it.
    pub damaged: bool,
}

/// A call as the model meant it.
pub struct Wanted {
    pub id: Option<&'static str>,
    pub name: &'static str,
    /// Nothing where the stream holds only a part of them.
    pub arguments: Option<Value>,
    /// A word that stands in its arguments and in no other call's.
    pub says: &'static str,
}

fn tide(id: &'static str, port: &'static str) -> Wanted {
    Wanted {
        id: Some(id),
        name: TIDE,
        arguments: Some(json!({ "port": port })),
        says: port,
    }
}

/// Only its beginning is there.
fn cut(wanted: Wanted) -> Wanted {
    Wanted {
        arguments: None,
        ..wanted
    }
}

const TIDE: &str = "get_tide";
const DONE: &str = "data: [DONE]\n\n";

fn event(choices: Value) -> String {
    let chunk = json!({
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1_790_000_000,
        "model": "demo",
        "choices": choices,
    });
    format!("data: {chunk}\n\n")
}

/// A chunk with these entries of `tool_calls`.
fn calls(entries: Value) -> String {
    event(json!([{"index": 0, "delta": {"tool_calls": entries}, "finish_reason": null}]))
}

fn finish(reason: &str) -> String {
    event(json!([{"index": 0, "delta": {}, "finish_reason": reason}]))
}

fn head(index: usize, id: &str) -> String {
    let function = json!({"name": TIDE, "arguments": ""});
    calls(json!([{"index": index, "id": id, "type": "function", "function": function}]))
}

fn piece(index: usize, text: &str) -> String {
    calls(json!([{"index": index, "function": {"arguments": text}}]))
}

/// A call of `get_tide` as servers without faults send it.
fn call(index: usize, id: &str, port: &str) -> Vec<String> {
    vec![
        head(index, id),
        piece(index, "{\"port\":"),
        piece(index, &format!("\"{port}\"}}")),
    ]
}

fn end(reason: &str) -> Vec<String> {
    vec![finish(reason), DONE.into()]
}

fn stream(name: &'static str, events: Vec<Vec<String>>, calls: Vec<Wanted>) -> Stream {
    let chunks = events.into_iter().flatten().map(String::into_bytes);
    Stream {
        name,
        chunks: chunks.collect(),
        calls,
        damaged: false,
    }
}

fn damaged(stream: Stream) -> Stream {
    Stream {
        damaged: true,
        ..stream
    }
}

pub fn all() -> Vec<Stream> {
    let mut all = identity();
    all.extend(arguments());
    all.extend(ends());
    all.extend(envelope());
    all
}

/// Whose piece is it?
fn identity() -> Vec<Stream> {
    let both = || vec![tide("call_a", "Oban"), tide("call_b", "Wick")];
    let first = || vec![tide("call_a", "Oban")];
    let no_index = |id: &str, port: &str| {
        let function = json!({"name": TIDE, "arguments": ""});
        vec![
            calls(json!([{"id": id, "type": "function", "function": function}])),
            calls(json!([{"function": {"arguments": "{\"port\":"}}])),
            calls(json!([{"function": {"arguments": format!("\"{port}\"}}")}}])),
        ]
    };
    let whole = |id: &str, port: &str| {
        let arguments = json!({ "port": port }).to_string();
        json!({"id": id, "type": "function", "function": {"name": TIDE, "arguments": arguments}})
    };
    let repeated = |text: &str| {
        let function = json!({"name": TIDE, "arguments": text});
        calls(json!([{"index": 0, "id": "call_a", "type": "function", "function": function}]))
    };
    let drifting = |id: &str, text: &str| {
        calls(json!([{"index": 0, "id": id, "function": {"arguments": text}}]))
    };
    let named = |index: i64, name: Value, text: &str| {
        let function = json!({"name": name, "arguments": text});
        calls(json!([{"index": index, "id": "call_a", "type": "function", "function": function}]))
    };
    let nulls = |text: &str| {
        let function = json!({"name": null, "arguments": text});
        calls(json!([{"index": 0, "id": null, "type": null, "function": function}]))
    };
    vec![
        stream(
            "two calls, one after the other",
            vec![
                call(0, "call_a", "Oban"),
                call(1, "call_b", "Wick"),
                end("tool_calls"),
            ],
            both(),
        ),
        stream(
            "their pieces interleaved",
            vec![
                vec![head(0, "call_a"), head(1, "call_b")],
                vec![piece(1, "{\"port\":"), piece(0, "{\"port\":")],
                vec![piece(0, "\"Oban\"}"), piece(1, "\"Wick\"}")],
                end("tool_calls"),
            ],
            both(),
        ),
        stream(
            "no index",
            vec![
                no_index("call_a", "Oban"),
                no_index("call_b", "Wick"),
                end("tool_calls"),
            ],
            both(),
        ),
        stream(
            "no index, both whole in one chunk",
            vec![
                vec![calls(json!([
                    whole("call_a", "Oban"),
                    whole("call_b", "Wick")
                ]))],
                end("tool_calls"),
            ],
            both(),
        ),
        stream(
            "index −1",
            vec![
                vec![named(-1, json!(TIDE), "{\"port\":\"Oban\"}")],
                end("tool_calls"),
            ],
            first(),
        ),
        stream(
            "index 0 for both, ids differ",
            vec![
                call(0, "call_a", "Oban"),
                call(0, "call_b", "Wick"),
                end("tool_calls"),
            ],
            both(),
        ),
        stream(
            "a first index of 1",
            vec![call(1, "call_a", "Oban"), end("tool_calls")],
            first(),
        ),
        stream(
            "the last piece under the next index",
            vec![
                vec![
                    head(0, "call_a"),
                    piece(0, "{\"port\":"),
                    piece(1, "\"Oban\"}"),
                ],
                end("tool_calls"),
            ],
            first(),
        ),
        stream(
            "id and name with every piece",
            vec![
                vec![repeated(""), repeated("{\"port\":"), repeated("\"Oban\"}")],
                end("tool_calls"),
            ],
            first(),
        ),
        stream(
            "another id with every piece",
            vec![
                vec![
                    head(0, "call_a"),
                    drifting("call_x", "{\"port\":"),
                    drifting("call_y", "\"Oban\"}"),
                ],
                end("tool_calls"),
            ],
            first(),
        ),
        stream(
            "`null` for id and name in later pieces",
            vec![
                vec![head(0, "call_a"), nulls("{\"port\":"), nulls("\"Oban\"}")],
                end("tool_calls"),
            ],
            first(),
        ),
        stream(
            "an empty name first, the name later",
            vec![
                vec![
                    named(0, json!(""), ""),
                    named(0, json!(TIDE), "{\"port\":"),
                    piece(0, "\"Oban\"}"),
                ],
                end("tool_calls"),
            ],
            first(),
        ),
    ]
}

/// What do they say?
fn arguments() -> Vec<Stream> {
    let whole = |arguments: Value| {
        let function = json!({"name": TIDE, "arguments": arguments});
        calls(json!([{"index": 0, "id": "call_a", "type": "function", "function": function}]))
    };
    let none = Wanted {
        id: Some("call_a"),
        name: TIDE,
        arguments: Some(json!({})),
        says: "nothing at all",
    };
    let two_lines = Wanted {
        arguments: Some(json!({"port": "Oban\nPier"})),
        ..tide("call_a", "Oban")
    };
    vec![
        stream(
            "empty text, for a call without parameters",
            vec![vec![head(0, "call_a")], end("tool_calls")],
            vec![none],
        ),
        stream(
            "an object in place of text",
            vec![vec![whole(json!({"port": "Oban"}))], end("tool_calls")],
            vec![tide("call_a", "Oban")],
        ),
        stream(
            "`{}` first, then the object",
            vec![
                vec![whole(json!("{}")), piece(0, "{\"port\":\"Oban\"}")],
                end("tool_calls"),
            ],
            vec![tide("call_a", "Oban")],
        ),
        stream(
            "a raw line end in a string",
            vec![
                vec![whole(json!("{\"port\":\"Oban\nPier\"}"))],
                end("tool_calls"),
            ],
            vec![two_lines],
        ),
    ]
}

/// Is it finished?
fn ends() -> Vec<Stream> {
    let begun = || vec![head(0, "call_a"), piece(0, "{\"port\":\"Ob")];
    let unfinished = || {
        vec![cut(Wanted {
            says: "Ob",
            ..tide("call_a", "Oban")
        })]
    };
    vec![
        damaged(stream(
            "the body ends amid arguments",
            vec![begun()],
            unfinished(),
        )),
        stream(
            "`length` amid arguments",
            vec![begun(), end("length")],
            unfinished(),
        ),
        damaged(stream(
            "`tool_calls` amid arguments",
            vec![begun(), end("tool_calls")],
            unfinished(),
        )),
        stream(
            "`stop`, although a call was made",
            vec![call(0, "call_a", "Oban"), end("stop")],
            vec![tide("call_a", "Oban")],
        ),
        stream(
            "no `[DONE]`",
            vec![call(0, "call_a", "Oban"), vec![finish("tool_calls")]],
            vec![tide("call_a", "Oban")],
        ),
        stream(
            "no finish reason, but `[DONE]`",
            vec![call(0, "call_a", "Oban"), vec![DONE.into()]],
            vec![tide("call_a", "Oban")],
        ),
    ]
}

/// What is around it?
fn envelope() -> Vec<Stream> {
    let usage = event(json!([]));
    let error = json!({"error": {"message": "overloaded", "type": "server_error", "code": 503}});
    let whole = call(0, "call_a", "Tràigh");
    let body = [whole, end("tool_calls")].concat().concat();
    let body = body.replace('\n', "\r\n").into_bytes();
    // Once between the bytes of a line end, and once between those of a character.
    let line_end = body.iter().position(|byte| *byte == b'\r').expect("one") + 1;
    let character = body.iter().rposition(|byte| *byte > 127).expect("one");
    let chunks = [
        &body[..line_end],
        &body[line_end..character],
        &body[character..],
    ];
    vec![
        stream(
            "`choices: []` before and after",
            vec![
                vec![usage.clone()],
                call(0, "call_a", "Oban"),
                vec![finish("tool_calls"), usage, DONE.into()],
            ],
            vec![tide("call_a", "Oban")],
        ),
        Stream {
            chunks: chunks.map(<[u8]>::to_vec).into(),
            ..stream(
                "CRLF; cut within one and within a character",
                vec![],
                vec![tide("call_a", "Tràigh")],
            )
        },
        damaged(stream(
            "an event that is no JSON, between two calls",
            vec![
                call(0, "call_a", "Oban"),
                vec!["data: {\"id\":\"chatcmpl-1\",\"cho\n\n".into()],
                call(1, "call_b", "Wick"),
                end("tool_calls"),
            ],
            vec![tide("call_a", "Oban"), tide("call_b", "Wick")],
        )),
        damaged(stream(
            "an error amid the second call",
            vec![
                call(0, "call_a", "Oban"),
                vec![head(1, "call_b"), piece(1, "{\"port\":\"Wi")],
                vec![format!("data: {error}\n\n"), DONE.into()],
            ],
            vec![
                tide("call_a", "Oban"),
                cut(Wanted {
                    says: "Wi",
                    ..tide("call_b", "Wick")
                }),
            ],
        )),
    ]
}
