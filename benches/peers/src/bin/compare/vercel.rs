//! Vercel's SDK is a script of its own, which gets the chunks on its standard input and prints what it read.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use callstitch_peers::peer::Reading;
use serde::Deserialize;

use crate::Column;
use crate::streams::Stream;

#[derive(Deserialize)]
struct Answer {
    title: String,
    readings: Vec<Option<Reading>>,
}

pub fn column(streams: &[Stream]) -> Result<Column, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("vercel/compare.mjs");
    let mut node = Command::new("node")
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("node: {error}"))?;
    let bodies: Vec<&Vec<Vec<u8>>> = streams.iter().map(|stream| &stream.chunks).collect();
    let bodies = serde_json::to_vec(&bodies).expect("bytes are JSON");
    // A script that fails at once closes its end; its exit status says so below.
    let _ = node.stdin.take().expect("piped").write_all(&bodies);
    let output = node.wait_with_output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err("the script failed; npm install --prefix vercel".into());
    }
    let answer: Answer =
        serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    Ok(Column {
        title: answer.title,
        readings: answer.readings,
    })
}
