//! Test data kept beside the project: found, or said to be missing.

use std::path::PathBuf;

/// The text of a shared file. `None`, and a line on what is skipped, where the data is absent; a failure under CI.
#[allow(dead_code)]
pub(crate) fn shared(name: &str) -> Option<String> {
    match std::fs::read_to_string(root().join(name)) {
        Ok(text) => Some(text),
        Err(error) => missing(name, &error),
    }
}

/// A shared folder, likewise.
#[allow(dead_code)]
pub(crate) fn shared_folder(name: &str) -> Option<PathBuf> {
    let folder = root().join(name);
    match std::fs::read_dir(&folder) {
        Ok(_) => Some(folder),
        Err(error) => missing(name, &error),
    }
}

fn root() -> PathBuf {
    std::env::var_os("CALLSTITCH_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"),
        PathBuf::from,
    )
}

fn missing<T>(name: &str, error: &std::io::Error) -> Option<T> {
    assert!(
        std::env::var_os("CI").is_none(),
        "shared data is missing under CI: {name}: {error}"
    );
    println!("skipped: no {name} ({error})");
    None
}
