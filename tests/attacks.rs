//! Bodies that aim at the cost of reading them: each is read in time that grows with its length and no faster, and holds no more
//! than the limits allow, however long it is.
//!
//! `cargo test --release --all-features --test attacks -- --nocapture` prints both tables.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/reading.rs"]
mod reading;

use std::time::Instant;

use allocation_counter::measure;
use callstitch::{Config, EmitWhen, ErrorKind, Event, RepairLevel, ToolCallParser, WireFormat};
use reading::config;

/// A body: what it begins with, and what it says again and again.
struct Attack {
    name: &'static str,
    format: WireFormat,
    begins: String,
    again: Box<dyn Fn(usize) -> String>,
    /// Bytes of a chunk.
    chunk: usize,
}

impl Attack {
    fn body(&self, length: usize) -> Vec<u8> {
        let mut body = self.begins.clone();
        // A beginning that is a filler of white space grows with the body.
        let mut number = 0;
        while body.len() < length {
            body.push_str(&(self.again)(number));
            number += 1;
        }
        body.into_bytes()
    }
}

fn attack(
    name: &'static str,
    format: WireFormat,
    begins: impl Into<String>,
    again: impl Fn(usize) -> String + 'static,
) -> Attack {
    Attack {
        name,
        format,
        begins: begins.into(),
        again: Box::new(again),
        chunk: 1000,
    }
}

fn bytewise(mut attack: Attack) -> Attack {
    attack.chunk = 1;
    attack
}

fn chat(entry: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{entry}]}}}}]}}\n\n")
}

fn opening(index: usize, arguments: &str) -> String {
    chat(&format!(
        r#"{{"index":{index},"id":"c{index}","function":{{"name":"f","arguments":"{arguments}"}}}}"#
    ))
}

fn responses(kind: &str, members: &str) -> String {
    format!("data: {{\"type\":\"response.{kind}\",{members}}}\n\n")
}

fn anthropic(kind: &str, members: &str) -> String {
    format!("data: {{\"type\":\"{kind}\",{members}}}\n\n")
}

/// A million bytes of white space, in pieces that an event can hold.
fn blank_arguments(bytes: usize) -> String {
    let piece = chat(&format!(
        r#"{{"index":0,"function":{{"arguments":"{}"}}}}"#,
        " ".repeat(1000)
    ));
    opening(0, "") + &piece.repeat(bytes / 1000)
}

fn attacks() -> Vec<Attack> {
    use WireFormat::{Anthropic, Auto, Gemini, Ollama, OpenAiChat, OpenAiResponses};
    let gemini_header = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"f\",\"willContinue\":true}}]}}]}\n\n";
    let gemini = |entry: String| {
        format!(
            "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"functionCall\":{{\"partialArgs\":[{entry}],\"willContinue\":true}}}}]}}}}]}}\n\n"
        )
    };
    let deep = format!("$.a{}", ".b".repeat(120));
    vec![
        // Bytes.
        bytewise(attack("spaces before the first byte", Auto, "", |_| {
            " ".into()
        })),
        bytewise(attack("line ends before the first byte", Auto, "", |_| {
            "\n".into()
        })),
        bytewise(attack("a line without end", OpenAiChat, "data: ", |_| {
            "x".into()
        })),
        attack("one-byte data lines of one event", OpenAiChat, "", |_| {
            "data:\n".into()
        }),
        attack("one-byte data lines of no format", Auto, "", |_| {
            "data:\n".into()
        }),
        attack("event fields of one event", OpenAiChat, "", |n| {
            format!("event: {n}\n")
        }),
        attack("comments", OpenAiChat, "", |_| ":\n".into()),
        attack("bare lines of an open document", OpenAiChat, "{\n", |_| {
            "\n".into()
        }),
        attack("bytes that are no UTF-8", OpenAiChat, "", |_| {
            "data: \u{fffd}\n\n".into()
        }),
        attack(
            "blank lines of an open NDJSON document",
            Ollama,
            "{\n",
            |_| "\n".into(),
        ),
        attack(
            "openers after white space in NDJSON",
            Ollama,
            format!("{}[\n", " ".repeat(60_000)),
            |_| "{\"a\":[\n".into(),
        ),
        attack("brackets of one array element", Gemini, "[{", |_| {
            "{[".into()
        }),
        attack("text in the array", Gemini, "[", |_| "x\n".into()),
        attack("values of one event", OpenAiChat, "", |n| {
            if n % 2000 == 0 {
                "\n\ndata: ".into()
            } else {
                "1 ".into()
            }
        }),
        attack("documents of one event", OpenAiChat, "", |n| {
            if n % 2000 == 0 {
                "\n\ndata: ".into()
            } else {
                "{} ".into()
            }
        }),
        attack("lines of one event", OpenAiChat, "", |n| {
            if n % 2000 == 0 {
                "\n".into()
            } else {
                "data: [\n".into()
            }
        }),
        attack("events of no format", Auto, "", |_| "data: {}\n\n".into()),
        attack("errors that are no last ones", Anthropic, "", |_| {
            "event: error\ndata: {\"error\":[0,0,0,0,0,0,0,0]}\n\n".into()
        }),
        // Calls.
        attack(
            "indexes of one call, falling",
            OpenAiChat,
            opening(0, "{"),
            |n| {
                chat(&format!(
                    r#"{{"index":{},"id":"c0","function":{{"arguments":"1"}}}}"#,
                    4_000_000 - n
                ))
            },
        ),
        attack("ids of one call", OpenAiChat, opening(0, "{"), |n| {
            chat(&format!(
                r#"{{"index":0,"id":"d{n}","function":{{"arguments":"1"}}}}"#
            ))
        }),
        attack(
            "fragments that open a value, after white space",
            OpenAiChat,
            blank_arguments(200_000),
            |_| chat(r#"{"index":0,"function":{"arguments":"{"}}"#),
        ),
        attack(
            "fragments that state all again",
            OpenAiChat,
            opening(0, "{}"),
            |_| chat(r#"{"index":0,"function":{"arguments":"{}"}}"#),
        ),
        attack(
            "anonymous fragments among open calls",
            OpenAiChat,
            (0..60).map(|n| opening(n, "{")).collect::<String>(),
            |_| chat(r#"{"function":{"arguments":"1"}}"#),
        ),
        attack(
            "undecodable events among open calls",
            OpenAiChat,
            (0..60).map(|n| opening(n, "{")).collect::<String>(),
            |_| "data: {\n\n".into(),
        ),
        attack("finish reasons", OpenAiChat, "", |n| {
            format!(
                "data: {{\"choices\":[{{\"index\":{},\"finish_reason\":\"r{n}\"}}]}}\n\n",
                n % 128
            )
        }),
        attack("finish reasons of any choice", OpenAiChat, "", |n| {
            format!("data: {{\"choices\":[{{\"index\":{n},\"finish_reason\":\"stop\"}}]}}\n\n")
        }),
        attack(
            "finish reasons beside two calls alike",
            OpenAiChat,
            {
                let text = "x".repeat(30_000);
                chat(&format!(
                    r#"{{"index":0,"id":"c","function":{{"name":"f","arguments":"{{\"a\":\"{text}"}}}}"#
                )) + &chat(&format!(
                    r#"{{"index":1,"id":"c","function":{{"name":"f","arguments":"{{\"a\":\"{text}"}}}}"#
                ))
            },
            |n| {
                format!(
                    "data: {{\"choices\":[{{\"index\":{},\"finish_reason\":\"s{n}\"}}]}}\n\n",
                    1 + n % 100
                )
            },
        ),
        attack("texts of choices in turn", OpenAiChat, "", |n| {
            format!(
                "data: {{\"choices\":[{{\"index\":{},\"delta\":{{\"content\":\"x\"}}}}]}}\n\n",
                n % 2
            )
        }),
        attack("usage", OpenAiChat, "", |_| {
            "data: {\"usage\":{}}\n\n".into()
        }),
        attack("starts of one block", Anthropic, "", |_| {
            anthropic(
                "content_block_start",
                r#""index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{"a":[0,0,0,0]}}"#,
            )
        }),
        attack("stops of one block", Anthropic, "", |_| {
            anthropic("content_block_stop", r#""index":0"#)
        }),
        attack("messages", Anthropic, "", |_| {
            anthropic("message_start", r#""message":{}"#)
        }),
        attack(
            "restated texts of one item",
            OpenAiResponses,
            responses(
                "output_item.added",
                r#""output_index":0,"item":{"type":"function_call","id":"i","call_id":"c","name":"f"}"#,
            ),
            |n| {
                responses(
                    "function_call_arguments.done",
                    &format!(r#""output_index":0,"item_id":"i","arguments":"{{\"a\":{n}}}""#),
                )
            },
        ),
        attack("texts of any item", OpenAiResponses, "", |n| {
            responses(
                "output_text.delta",
                &format!(r#""output_index":{n},"delta":"x""#),
            )
        }),
        attack("ids of one item", OpenAiResponses, "", |n| {
            responses(
                "output_item.added",
                &format!(
                    r#""output_index":0,"item":{{"type":"function_call","id":"i{n}","call_id":"c","name":"f"}}"#
                ),
            )
        }),
        attack("paths in order", Gemini, gemini_header, move |n| {
            gemini(format!(r#"{{"jsonPath":"$.a{n}","boolValue":true}}"#))
        }),
        attack("paths out of order", Gemini, gemini_header, move |n| {
            gemini(format!(
                r#"{{"jsonPath":"$.a[{}]","stringValue":"x"}}"#,
                n ^ 1
            ))
        }),
        attack(
            "one string, out of order",
            Gemini,
            format!(
                "{gemini_header}{}{}",
                gemini(r#"{"jsonPath":"$.a","stringValue":"x"}"#.into()),
                gemini(r#"{"jsonPath":"$.b","stringValue":"x"}"#.into())
            ),
            move |_| {
                gemini(
                    r#"{"jsonPath":"$.a","stringValue":"xxxxxxxxxxxxxxxx","willContinue":true}"#
                        .into(),
                )
            },
        ),
        attack("deep paths", Gemini, gemini_header, move |n| {
            gemini(format!(
                r#"{{"jsonPath":"{deep}.c{n}.{}","boolValue":true}}"#,
                "d.e"
            ))
        }),
        attack("calls without an end", Ollama, "", |_| {
            "{\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{}}}]}}\n"
                .into()
        }),
        attack(
            "values in arguments",
            Ollama,
            "{\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{\"a\":[",
            |_| "0,".into(),
        ),
    ]
}

fn unlimited() -> Config {
    config()
        .max_event_bytes(usize::MAX / 4)
        .max_arguments_bytes(usize::MAX / 4)
        .max_total_arguments_bytes(usize::MAX / 4)
        .max_calls(1024)
        .max_queued_events(usize::MAX / 4)
}

/// Nanoseconds that this thread was on a processor: others on the machine do not count.
fn on_processor() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// Seconds of work, the least of some runs.
fn seconds(runs: usize, mut work: impl FnMut()) -> f64 {
    let mut least = f64::MAX;
    for _ in 0..runs {
        let (start, clock) = (on_processor(), Instant::now());
        work();
        let wall = clock.elapsed().as_secs_f64();
        let spent = match (start, on_processor()) {
            (Some(start), Some(end)) if end > start => (end - start) as f64 / 1e9,
            _ => wall,
        };
        least = least.min(spent.min(wall));
    }
    least
}

fn run(attack: &Attack, config: Config, body: &[u8]) -> Option<ErrorKind> {
    let mut parser = ToolCallParser::with_config(attack.format, config);
    let mut error = None;
    for chunk in body.chunks(attack.chunk) {
        for event in parser.push(chunk) {
            error = event.err().map(|error| error.kind()).or(error);
        }
    }
    for event in parser.finish() {
        error = event.err().map(|error| error.kind()).or(error);
    }
    error
}

/// Sixteen times the body costs sixteen times the work; what is read again and again would cost 256 times. The bound lies far
/// from both: only growth is judged here, never speed.
#[test]
fn the_work_of_an_attack_grows_with_its_length_and_no_faster() {
    let short = reading::number("CALLSTITCH_ATTACK_BYTES", 60_000) as usize;
    let mut slow = Vec::new();
    println!(
        "{:50} {:>12} {:>12}  ratio (16 = linear, 256 = quadratic)",
        "attack", "ns a byte", "at 16 times"
    );
    for attack in attacks() {
        let (one, many) = (attack.body(short), attack.body(16 * short));
        // A body may be longer than asked for: what it begins with counts.
        let length = many.len() as f64 / one.len() as f64;
        let measure = |runs| {
            let once = seconds(runs, || _ = run(&attack, unlimited(), &one));
            let longer = seconds(runs, || _ = run(&attack, unlimited(), &many));
            (once, longer, 16.0 * longer / once.max(1e-6) / length)
        };
        let mut found = measure(2);
        // A busy machine is asked again.
        for _ in 0..3 {
            if found.2 > 64.0 {
                found = measure(4);
            }
        }
        let (once, longer, ratio) = found;
        let per_byte = |time: f64, body: &[u8]| time * 1e9 / body.len() as f64;
        println!(
            "{:50} {:12.1} {:12.1}  {ratio:.1}",
            attack.name,
            per_byte(once, &one),
            per_byte(longer, &many)
        );
        if ratio > 100.0 {
            slow.push((attack.name, ratio));
        }
    }
    assert!(slow.is_empty(), "{slow:?}");
}

const EVENT: usize = 16 << 10;
const TOTAL: usize = 32 << 10;
const CALLS: usize = 64;
const NAME: usize = 128;
/// What a stream holds whatever the limits: buffers kept for the next frame, frames kept before the format is known, white
/// space before the first byte, events remembered.
const FLAT: u64 = 3 << 20;

/// The product of the documentation of [`Config`], and what is held whatever the limits.
fn bound() -> u64 {
    let held = 8 * EVENT + 3 * TOTAL + CALLS * (2048 + 8 * NAME);
    held as u64 + FLAT
}

#[test]
fn an_attack_holds_no_more_than_the_limits_allow_however_long_it_is() {
    let length = reading::number("CALLSTITCH_ATTACK_MEMORY", 1_500_000) as usize;
    let mut too_much = Vec::new();
    println!(
        "bound {}; {:40} {:>12}  end",
        bound(),
        "attack",
        "bytes held"
    );
    for attack in attacks() {
        let body = attack.body(length);
        let mut error = None;
        let info = measure(|| {
            let config = config()
                .max_event_bytes(EVENT)
                .max_arguments_bytes(TOTAL / 2)
                .max_total_arguments_bytes(TOTAL)
                .max_calls(CALLS)
                .max_name_bytes(NAME)
                .repair(RepairLevel::Guess)
                .emit(EmitWhen::Terminal);
            error = run(&attack, config, &body);
        });
        println!("{:58} {:>12}  {error:?}", attack.name, info.bytes_max);
        if info.bytes_max > bound() {
            too_much.push((attack.name, info.bytes_max));
        }
    }
    assert!(too_much.is_empty(), "{too_much:?}");
}

/// The limit's name, and what the stream said before it.
fn stopped(config: Config, chunks: &[&str]) -> Option<(String, usize)> {
    let mut parser = ToolCallParser::with_config(WireFormat::OpenAiChat, config);
    let mut whole = 0;
    for chunk in chunks {
        for event in parser.push(chunk.as_bytes()) {
            match event {
                Ok(Event::CallCompleted(call)) => whole += usize::from(call.is_usable()),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Limit => {
                    return Some((error.message().to_owned(), whole));
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
    assert!(parser.finish().all(|event| event.is_ok()));
    None
}

#[test]
fn max_index_bounds_the_value_of_an_index() {
    let body = |index: u64| {
        let first = opening(0, r#"{\"a\":1}"#);
        let other = chat(&format!(
            r#"{{"index":{index},"id":"d","function":{{"name":"f","arguments":"{{}}"}}}}"#
        ));
        first + &other + "data: [DONE]\n\n"
    };
    for index in [6, 7] {
        assert_eq!(stopped(config().max_index(7), &[&body(index)]), None);
    }
    let (message, whole) = stopped(config().max_index(7), &[&body(8)]).unwrap();
    assert!(message.contains("max_index"), "{message}");
    assert_eq!(whole, 1, "what was whole is delivered");
    let highest = u64::from(u32::MAX);
    assert_eq!(stopped(config(), &[&body(highest)]), None, "the default");
    assert!(stopped(config(), &[&body(highest + 1)]).is_some());
}

#[test]
fn max_queued_events_bounds_what_waits_to_be_taken_out() {
    let usage = "data: {\"usage\":{}}\n\n".repeat(10);
    let chunks = [
        opening(0, r#"{\"a\":1}"#),
        usage,
        "data: [DONE]\n\n".to_owned(),
    ];
    let apart: Vec<&str> = chunks.iter().map(String::as_str).collect();
    for waiting in [10, 11] {
        assert_eq!(stopped(config().max_queued_events(waiting), &apart), None);
    }
    let (message, whole) = stopped(config().max_queued_events(9), &apart).unwrap();
    assert!(message.contains("max_queued_events"), "{message}");
    assert_eq!(whole, 1, "what was whole is delivered");
}
