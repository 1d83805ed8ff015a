//! What a published crate would hold: the sources, the readme, the licences, and nothing else. And what it would pull in.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// What cargo prints, or why it fails.
fn cargo(arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(arguments)
        .output()
        .expect("cargo runs");
    if output.status.success() {
        Ok(String::from_utf8(output.stdout).unwrap())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

#[test]
fn the_package_holds_the_sources_and_nothing_else() {
    let list = cargo(&["package", "--list", "--allow-dirty", "--offline"]).unwrap();
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
    // A recording or a table that slipped in would show here.
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sizes = files
        .iter()
        .filter_map(|file| root.join(file).metadata().ok());
    let bytes: u64 = sizes.map(|metadata| metadata.len()).sum();
    assert!(bytes < 2 << 20, "{bytes} bytes are published");
}

/// The flags that a line of `Cargo.toml` means.
fn flags(line: &str) -> Vec<String> {
    let mut flags = Vec::new();
    if line.contains("default-features = false") {
        flags.push("--no-default-features".to_owned());
    }
    if let Some((_, features)) = line.split_once("features = [") {
        let features = features.split(']').next().unwrap();
        flags.push("--features".to_owned());
        flags.push(features.replace(['"', ' '], ""));
    }
    flags
}

#[test]
fn each_feature_pulls_in_as_many_crates_as_the_readme_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let mut rows = 0;
    for row in readme.lines() {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, feature, _, line, crates, _, _] = cells[..] else {
            continue;
        };
        let Some(line) = line.strip_prefix("`callstitch = ") else {
            continue;
        };
        let mut arguments = vec!["tree", "--offline", "--locked", "--prefix", "none"];
        arguments.extend(["--edges", "normal,build"]);
        // What a crate pulls in depends on the system.
        arguments.extend(["--target", "x86_64-unknown-linux-gnu"]);
        let flags = flags(line);
        arguments.extend(flags.iter().map(String::as_str));
        let tree = match cargo(&arguments) {
            Ok(tree) => tree,
            // Crates of another system are not fetched where nothing needs them.
            Err(problem) if !cfg!(all(target_arch = "x86_64", target_os = "linux")) => {
                return println!("skipped: {problem}");
            }
            Err(problem) => panic!("{problem}"),
        };
        let named: BTreeSet<&str> = tree
            .lines()
            .map(|line| line.trim_end_matches(" (*)"))
            .filter(|line| !line.starts_with("callstitch "))
            .collect();
        let counted: usize = crates.parse().unwrap();
        assert_eq!(named.len(), counted, "{feature}, {line}");
        rows += 1;
    }
    // None, all, and each between them.
    assert_eq!(rows, 8);
}
