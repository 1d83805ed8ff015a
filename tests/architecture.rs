//! The arrows between the rooms of `src/`, as the sources have them: which room may know which, and what no room says.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Every room and the rooms it may name. A row lists what stands above it only, so there is no cycle
/// ([`no_row_leads_back_to_itself`]); a room without a row fails the test.
const ROOMS: &[(&str, &[&str])] = &[
    ("guide", &[]),
    ("error", &[]),
    ("anomaly", &[]),
    ("delta", &["anomaly"]),
    ("json", &["delta"]),
    ("arguments", &["json"]),
    ("config", &["arguments"]),
    ("framing", &["error"]),
    ("wire", &["anomaly", "delta", "framing", "json"]),
    ("call", &["anomaly", "arguments", "config", "delta", "json"]),
    ("event", &["anomaly", "arguments", "call", "delta"]),
    ("fields", &["arguments", "call", "event"]),
    ("leaked", &["call", "delta", "event"]),
    ("slots", &["anomaly", "call", "delta", "json"]),
    (
        "accumulate",
        &[
            "anomaly",
            "arguments",
            "call",
            "config",
            "delta",
            "error",
            "event",
            "json",
            "slots",
        ],
    ),
    (
        "parser",
        &[
            "accumulate",
            "anomaly",
            "call",
            "config",
            "error",
            "event",
            "framing",
            "wire",
        ],
    ),
    (
        "history",
        &["arguments", "call", "config", "delta", "json", "wire"],
    ),
    ("passthrough", &["error", "event", "parser"]),
    (
        "tools",
        &["arguments", "call", "delta", "error", "history", "json"],
    ),
    (
        "stream",
        &[
            "arguments",
            "call",
            "config",
            "error",
            "event",
            "fields",
            "parser",
            "passthrough",
            "wire",
        ],
    ),
    ("channel", &["config", "parser", "stream", "wire"]),
];

/// Rooms that may wait: everything else is plain, synchronous code.
const ASYNC: &[&str] = &["stream", "passthrough", "channel", "tools"];

/// Words of asynchronous code.
const ASYNC_WORDS: &[&str] = &["futures", "tokio", "Poll", "Pin", "async", "await", "Waker"];

/// What provider a format is of, as it stands in names and strings.
const PROVIDERS: &[&str] = &[
    "openai",
    "anthropic",
    "gemini",
    "bedrock",
    "cohere",
    "mistral",
    "ollama",
    "claude",
    "aws",
];

/// Places that are about formats: the table of them, what tells them apart, the conversion of history between them, and the
/// markups, which are named after their models. Each file of a format may name its own provider besides.
const ABOUT_FORMATS: &[&str] = &[
    "lib",
    "wire",
    "wire/detect",
    "history",
    "config",
    "leaked",
    "leaked/pattern",
];

/// One file without its comments and tests.
struct Source {
    /// Its path below `src` without the extension, such as `wire/gemini/json_path`.
    name: String,
    code: String,
    /// The code with every string literal emptied.
    bare: String,
    /// The lines of the file, comments too, without examples and without tests at its foot.
    lines: usize,
}

/// What one person holds in the head. A file that outgrows it has two reasons to change: give the second a file of its own.
const MOST_LINES: usize = 500;

/// Files above the bound. A row whose file has shrunk fails the test, so that it cannot grow again unseen.
const LONG: &[&str] = &[];

impl Source {
    fn room(&self) -> &str {
        self.name.split('/').next().unwrap()
    }
}

/// All sources of the library: no tests, no command line.
fn sources() -> Vec<Source> {
    let mut sources = sources_and_command();
    sources.retain(|source| source.room() != "bin");
    sources
}

/// All sources, the command line's too, without tests.
fn sources_and_command() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut files, mut folders) = (Vec::new(), vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    let mut tests = BTreeSet::new();
    let mut sources = Vec::new();
    for file in files {
        let name = file.strip_prefix(&root).unwrap().with_extension("");
        let name = name.to_str().unwrap().replace('\\', "/");
        let text = std::fs::read_to_string(&file).unwrap();
        let (code, modules) = without_tests(&strip(&text, true));
        let (bare, _) = without_tests(&strip(&text, false));
        tests.extend(modules.iter().map(|module| match name.as_str() {
            "lib" => module.clone(),
            _ => format!("{name}/{module}"),
        }));
        let lines = lines_without_tests(&text);
        sources.push(Source {
            name,
            code,
            bare,
            lines,
        });
    }
    let is_test = |name: &str| {
        Path::new(name)
            .ancestors()
            .any(|part: &Path| tests.contains(part.to_str().unwrap()))
    };
    sources.retain(|source| !is_test(&source.name));
    assert!(sources.len() > 20, "the sources are not where they were");
    sources
}

/// The lines above the tests at a file's foot, without examples: whoever reads the house passes over them.
fn lines_without_tests(text: &str) -> usize {
    let mut in_example = false;
    let mut is_example = |line: &&str| {
        let fence = line.trim_start().starts_with("/// ```");
        in_example ^= fence;
        in_example || fence
    };
    let lines: Vec<&str> = text.lines().filter(|line| !is_example(line)).collect();
    let begins = |at: &usize| {
        let mut below = lines[*at..].iter();
        lines[*at] == "#[cfg(test)]"
            && below
                .find(|line| !line.starts_with('#'))
                .is_some_and(|line| line.starts_with("mod ") && line.ends_with('{'))
    };
    (0..lines.len()).find(begins).unwrap_or(lines.len())
}

/// The text without comments; with its string literals, or with them emptied.
fn strip(text: &str, strings: bool) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |at| at + 2)
        } else if let Some(end) = literal_end(rest, &out) {
            if strings {
                out.push_str(&rest[..end]);
            } else {
                out.push_str("\"\"");
            }
            end
        } else {
            out.push(first);
            first.len_utf8()
        };
        rest = &rest[end..];
    }
    out
}

/// Where the string or character literal ends that the text begins with, if it does.
fn literal_end(text: &str, before: &str) -> Option<usize> {
    let in_word = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    if !in_word {
        let prefix = text.trim_start_matches(['b', 'c']);
        if let Some(raw) = prefix.strip_prefix('r')
            && text.len() - prefix.len() <= 1
        {
            let fence = &raw[..raw.len() - raw.trim_start_matches('#').len()];
            if let Some(body) = raw[fence.len()..].strip_prefix('"') {
                let close = format!("\"{fence}");
                let start = text.len() - body.len();
                return Some(
                    body.find(&close)
                        .map_or(text.len(), |at| start + at + close.len()),
                );
            }
        }
    }
    let quote = text
        .chars()
        .next()
        .filter(|quote| matches!(quote, '"' | '\''))?;
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return Some(at + 1),
            // A lifetime has no second quote after its first character.
            _ if quote == '\'' && !text[1..].starts_with('\\') && at > 1 => return None,
            _ => {}
        }
    }
    None
}

/// The code without what stands behind `#[cfg(test)]` or `#[cfg(doctest)]`, and the names of the modules there that have
/// files of their own.
fn without_tests(code: &str) -> (String, Vec<String>) {
    let (mut out, mut modules) = (String::new(), Vec::new());
    let mut rest = code;
    let next = |rest: &str| {
        let marks = ["#[cfg(test)]", "#[cfg(all(doctest"];
        marks.iter().filter_map(|mark| rest.find(mark)).min()
    };
    while let Some(at) = next(rest) {
        out.push_str(&rest[..at]);
        let behind = &rest[at..];
        let (item, after) = behind.split_at(end_of_item(behind).unwrap_or(behind.len()));
        if let Some(item) = item.strip_suffix(';')
            && let Some(name) = item.split("mod ").nth(1)
        {
            modules.push(name.trim().to_owned());
        }
        rest = after;
    }
    out.push_str(rest);
    (out, modules)
}

/// Where the item that begins here ends: at its closing brace, or at a semicolon before any brace.
fn end_of_item(code: &str) -> Option<usize> {
    let (mut depth, mut at) = (0_u32, 0);
    while let Some(c) = code[at..].chars().next() {
        if let Some(end) = literal_end(&code[at..], &code[..at]) {
            at += end;
            continue;
        }
        at += c.len_utf8();
        match c {
            '{' => depth += 1,
            '}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            ';' if depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

/// The words of a code: identifiers and keywords.
fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}

/// The first parts of the paths behind a prefix such as `crate::`: one, or those of a group in braces.
fn named_behind(code: &str, prefix: &str) -> Vec<String> {
    let mut named = Vec::new();
    let first = |text: &str| words(text).next().unwrap_or_default().to_owned();
    for (at, _) in code.match_indices(prefix) {
        let behind = &code[at + prefix.len()..];
        let Some(group) = behind.strip_prefix('{') else {
            named.push(first(behind));
            continue;
        };
        let (mut depth, mut from) = (0, 0);
        for (at, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                ',' if depth == 0 => {
                    named.push(first(&group[from..at]));
                    from = at + 1;
                }
                '}' if depth == 0 => {
                    named.push(first(&group[from..at]));
                    break;
                }
                '}' => depth -= 1,
                _ => {}
            }
        }
    }
    named.retain(|name| !name.is_empty());
    named
}

/// The rooms that a file names: through `crate::`, or through as many `super::` as lead out of its own room.
fn rooms_named(source: &Source) -> BTreeSet<String> {
    let depth = source.name.split('/').count();
    let out = "super::".repeat(depth);
    let mut named: BTreeSet<String> = named_behind(&source.bare, "crate::").into_iter().collect();
    named.extend(named_behind(&source.bare, &out));
    named.remove(source.room());
    named
}

fn row(room: &str) -> Option<&'static [&'static str]> {
    let row = ROOMS.iter().find(|(name, _)| *name == room);
    row.map(|(_, may_name)| *may_name)
}

#[test]
fn every_room_has_a_row_and_names_only_what_its_row_allows() {
    let mut wrong = Vec::new();
    for source in sources().iter().filter(|source| source.name != "lib") {
        let Some(allowed) = row(source.room()) else {
            wrong.push(format!("{} is a room without a row", source.room()));
            continue;
        };
        for named in rooms_named(source) {
            if !allowed.contains(&named.as_str()) {
                wrong.push(format!(
                    "src/{}.rs names `{named}`, which `{}` must not know",
                    source.name,
                    source.room()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn no_row_leads_back_to_itself() {
    let mut above = BTreeSet::new();
    for (room, may_name) in ROOMS {
        for named in *may_name {
            assert!(
                above.contains(named),
                "`{room}` names `{named}`, which does not stand above it"
            );
        }
        assert!(above.insert(*room), "`{room}` has two rows");
    }
}

#[test]
fn only_the_streams_know_of_waiting() {
    for source in sources() {
        if source.name == "lib" || ASYNC.contains(&source.room()) {
            continue;
        }
        for word in words(&source.bare) {
            assert!(
                !ASYNC_WORDS.contains(&word),
                "src/{}.rs says `{word}`",
                source.name
            );
        }
    }
}

#[test]
fn a_formats_name_stands_in_its_own_file_and_in_the_table_of_formats() {
    let mut wrong = Vec::new();
    for source in sources() {
        if ABOUT_FORMATS.contains(&source.name.as_str()) || source.room() == "history" {
            continue;
        }
        let variants = named_behind(&source.bare, "WireFormat::");
        let is_variant = |name: &String| name.starts_with(char::is_uppercase) && name != "Auto";
        for variant in variants.iter().filter(|name| is_variant(name)) {
            wrong.push(format!(
                "src/{}.rs names WireFormat::{variant}",
                source.name
            ));
        }
        // A binary frame's headers are spelled by who made the framing.
        let own = |provider: &str| source.name.contains(provider) || source.name == "wire/bedrock";
        let about_binary_frames = source.room() == "framing";
        // A feature's name is no format's.
        let code = source.code.replace("feature = \"bedrock\"", "");
        let code = code.to_lowercase();
        for provider in PROVIDERS.iter().filter(|provider| !own(provider)) {
            let said = words(&code).any(|word| {
                let mut parts = word.split('_');
                parts.any(|part| part == *provider)
                    || (word.contains(provider) && provider.len() > 3)
            });
            if said && !(about_binary_frames && *provider == "aws") {
                wrong.push(format!("src/{}.rs says `{provider}`", source.name));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn formats_do_not_know_each_other() {
    let shared = ["payload", "echo", "detect"];
    let mut formats = BTreeMap::new();
    for source in sources() {
        let mut parts = source.name.split('/');
        if let (Some("wire"), Some(format)) = (parts.next(), parts.next())
            && !shared.contains(&format)
        {
            let named = named_behind(&source.bare, "wire::");
            formats
                .entry(format.to_owned())
                .or_insert_with(BTreeSet::new)
                .extend(named);
        }
    }
    assert!(formats.len() >= 8);
    for (format, named) in &formats {
        for other in formats.keys().filter(|other| *other != format) {
            // A binary frame can hold the other format's events, whole (WIRE_FORMATS 5.5).
            let envelope = format == "bedrock" && other == "anthropic";
            assert!(
                !named.contains(other) || envelope,
                "wire/{format} knows wire/{other}"
            );
        }
    }
}

#[test]
fn no_file_is_longer_than_one_reader_holds_in_the_head() {
    for source in sources_and_command() {
        let is_long = source.lines > MOST_LINES;
        assert_eq!(
            is_long,
            LONG.contains(&source.name.as_str()),
            "src/{}.rs has {} lines without tests; {MOST_LINES} are the bound, and LONG lists what is above it",
            source.name,
            source.lines
        );
    }
}

#[test]
fn the_map_in_lib_rs_shows_every_room_that_data_passes() {
    let lib = std::fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs"))
        .unwrap();
    let rows: String = lib
        .lines()
        .filter(|line| line.starts_with("//! | `"))
        .collect();
    for source in sources() {
        let plain = ["lib", "error", "config", "anomaly", "event"];
        if !source.name.contains('/') && !plain.contains(&source.name.as_str()) {
            assert!(
                rows.contains(&format!("`{}`", source.name)),
                "no row for `{}`",
                source.name
            );
        }
    }
}

#[test]
fn what_is_read_here_is_code_without_comments_strings_and_tests() {
    let text = "use crate::{a, b::{c, d}, e}; // crate::no\nlet x = \"crate::no { \\\" \"; /* crate::no */ f('{', '\\'', r#\"}\"# , &'a str);\n#[cfg(test)]\nmod tests { use crate::no; fn f() { g('}') } }\n#[cfg(test)]\nmod spoken;\nuse super::f;";
    let (code, modules) = without_tests(&strip(text, false));
    assert_eq!(modules, ["spoken"]);
    assert_eq!(named_behind(&code, "crate::"), ["a", "b", "e"]);
    assert_eq!(named_behind(&code, "super::"), ["f"]);
    assert!(!code.contains("no"), "{code}");
}

#[test]
fn what_the_readme_names_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    assert!(readme.lines().count() < 120);
    let quoted: Vec<&str> = readme.split('`').collect();
    let mut tests = 0;
    for pair in quoted.windows(3) {
        let Some(file) = pair[0]
            .strip_prefix("tests/")
            .filter(|file| file.ends_with(".rs"))
        else {
            continue;
        };
        let text = std::fs::read_to_string(root.join("tests").join(file)).unwrap();
        // A file, or a file and one of its tests.
        if pair[1] == " " {
            assert!(
                text.contains(&format!("fn {}()", pair[2])),
                "{file}: {}",
                pair[2]
            );
            tests += 1;
        }
    }
    assert!(tests > 8);
    let command = readme
        .lines()
        .find(|line| line.starts_with("cargo run"))
        .unwrap();
    let body = command.split(' ').next_back().unwrap();
    assert!(root.join(body).is_file(), "{body}");
    // The features and the version are those of the manifest.
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let (_, features) = manifest.split_once("[features]").unwrap();
    let (features, _) = features.split_once("\n[").unwrap();
    let features = features
        .lines()
        .filter(|line| line.contains(" = ") && !line.starts_with("default"));
    for feature in features.filter_map(|line| line.split(' ').next()) {
        assert!(
            readme.contains(&format!("| `{feature}`")),
            "no row for the feature {feature}"
        );
    }
    let (_, version) = manifest.split_once("rust-version = \"").unwrap();
    assert!(readme.contains(&format!(
        "Rust version is {}",
        version.split('"').next().unwrap()
    )));
}
