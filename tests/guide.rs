//! The guide and the code say the same.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use std::path::Path;

fn source(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(file);
    std::fs::read_to_string(path).unwrap()
}

/// The variants of a public enum, as its source has them, in order.
fn variants(file: &str, name: &str) -> Vec<String> {
    let text = source(file);
    let (_, body) = text.split_once(&format!("pub enum {name} {{\n")).unwrap();
    let (body, _) = body.split_once("\n}").unwrap();
    let lines = body.lines().filter_map(|line| line.strip_prefix("    "));
    let named = lines.filter(|line| line.starts_with(char::is_uppercase));
    let variants: Vec<String> = named
        .map(|line| {
            let end = line.find(|c: char| !c.is_alphanumeric());
            line[..end.unwrap_or(line.len())].to_owned()
        })
        .collect();
    assert!(!variants.is_empty());
    variants
}

/// The rows of a chapter's tables that begin with a link to a variant of this enum: its name, and the cells behind it.
fn rows(chapter: &str, of: &str) -> Vec<(String, Vec<String>)> {
    let link = format!("](crate::{of}::");
    source(chapter)
        .lines()
        .filter_map(|line| {
            let cells: Vec<&str> = line.strip_prefix('|')?.split('|').map(str::trim).collect();
            let (_, name) = cells[0].split_once(&link)?;
            let (name, _) = name.split_once(')')?;
            let rest = cells[1..].iter().filter(|cell| !cell.is_empty());
            Some((
                name.to_owned(),
                rest.map(|cell| (*cell).to_owned()).collect(),
            ))
        })
        .collect()
}

#[track_caller]
fn every_variant_has_a_row(file: &str, of: &str, chapter: &str) {
    let mut wanted = variants(file, of);
    let rows = rows(chapter, of);
    for (name, cells) in &rows {
        assert_eq!(
            cells.len(),
            2,
            "{of}::{name} in {chapter}: a cause and a remedy"
        );
    }
    let mut told: Vec<String> = rows.into_iter().map(|(name, _)| name).collect();
    wanted.sort();
    told.sort();
    assert_eq!(told, wanted, "{of} in {chapter}");
}

#[test]
fn each_kind_of_error_has_its_cause_and_its_remedy() {
    every_variant_has_a_row("error.rs", "ErrorKind", "guide/errors.md");
}

#[test]
fn each_state_of_a_call_says_what_to_do() {
    every_variant_has_a_row("call.rs", "CallState", "guide/answer_a_flagged_call.md");
}

#[test]
fn each_policy_of_when_a_call_comes_out_says_its_hazard() {
    every_variant_has_a_row("config.rs", "EmitWhen", "guide/tune_limits.md");
}

#[test]
fn the_guide_has_a_row_and_a_module_for_each_chapter() {
    let guide = source("guide.rs");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/guide");
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().file_name().into_string().unwrap();
        let name = file.strip_suffix(".md").unwrap();
        assert!(
            guide.contains(&format!("| [`{name}`] |")),
            "no row for {name}"
        );
        assert!(
            guide.contains(&format!("\"guide/{file}\"")),
            "no module for {name}"
        );
    }
}
