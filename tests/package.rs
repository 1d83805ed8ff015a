//! What a published crate would hold: the sources, the readme, the licences, and nothing else.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use std::process::Command;

#[test]
fn the_package_holds_the_sources_and_nothing_else() {
    let output = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["package", "--list", "--allow-dirty", "--offline"])
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let list = String::from_utf8(output.stdout).unwrap();
    let files: Vec<&str> = list.lines().collect();
    for needed in [
        "Cargo.toml",
        "README.md",
        "LICENSE-MIT",
        "LICENSE-APACHE",
        "src/lib.rs",
    ] {
        assert!(files.contains(&needed), "{needed} is missing");
    }
    let known = [
        "Cargo.toml",
        "Cargo.toml.orig",
        "Cargo.lock",
        ".cargo_vcs_info.json",
        "README.md",
        "CHANGELOG.md",
        "LICENSE-MIT",
        "LICENSE-APACHE",
    ];
    // Sources, and what they include: the guide's pages, schemas.
    let endings = [".rs", ".md", ".schema.json"];
    let source = |file: &str| {
        file.starts_with("src/") && endings.iter().any(|ending| file.ends_with(ending))
    };
    let strange: Vec<_> = files
        .iter()
        .filter(|file| !known.contains(file) && !source(file))
        .collect();
    assert!(strange.is_empty(), "not to be published: {strange:?}");
    println!("{} files are published", files.len());
}
