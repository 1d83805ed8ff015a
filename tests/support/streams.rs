//! The streams beside the tests: a body, and beside it what it should give.

use std::path::{Path, PathBuf};

use callstitch::WireFormat;
use serde_json::Value;

/// One stream of `tests/streams/<format>/`.
#[derive(Debug)]
pub struct Stream {
    /// `<format>/<file>`, for messages.
    pub name: String,
    /// The folder's name; `None` where the library was built without it.
    pub format: Option<WireFormat>,
    pub body: Vec<u8>,
    pub is_text: bool,
    pub expected: Value,
}

/// Every stream of every format, by name. A body without its expected values, or the reverse, is a failure.
pub fn all() -> Vec<Stream> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/streams");
    let mut streams = Vec::new();
    for folder in entries(&root) {
        let format = file_name(&folder);
        let files = entries(&folder);
        let is_expected = |file: &Path| file.extension().is_some_and(|end| end == "json");
        for file in &files {
            if is_expected(file) {
                let bodies = ["sse", "ndjson", "bin"].map(|end| file.with_extension(end));
                assert!(
                    bodies.iter().any(|body| body.exists()),
                    "no body beside {}",
                    file.display()
                );
                continue;
            }
            let expected = std::fs::read_to_string(file.with_extension("json"))
                .unwrap_or_else(|error| panic!("{}: its .json: {error}", file.display()));
            streams.push(Stream {
                name: format!("{format}/{}", file_name(file)),
                format: format.parse().ok(),
                body: std::fs::read(file).expect("the body can be read"),
                is_text: file.extension().is_some_and(|end| end != "bin"),
                expected: serde_json::from_str(&expected)
                    .unwrap_or_else(|error| panic!("{}: its .json: {error}", file.display())),
            });
        }
    }
    assert!(!streams.is_empty(), "no streams in {}", root.display());
    streams
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let read =
        std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = read.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}
