//! Test data kept beside the project: found, or said to be missing.

use std::path::PathBuf;

/// The text of a shared file. `None`, and a line on what is skipped, where the data is absent; a failure under CI.
pub(crate) fn shared(name: &str) -> Option<String> {
    let root = std::env::var_os("CALLSTITCH_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"),
        PathBuf::from,
    );
    match std::fs::read_to_string(root.join(name)) {
        Ok(text) => Some(text),
        Err(error) => {
            assert!(
                std::env::var_os("CI").is_none(),
                "shared data is missing under CI: {name}: {error}"
            );
            println!("skipped: no {name} ({error})");
            None
        }
    }
}
