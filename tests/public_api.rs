//! The public API as a list in the repository: whatever changes it shows in the diff of `tests/public-api.txt`.
//!
//! `CALLSTITCH_PUBLIC_API=check cargo test --test public_api` compares, `CALLSTITCH_PUBLIC_API=update …` writes the list anew.
//! Every item on it has an example of its own or stands in its type's. The list comes from rustdoc's JSON, which a stable
//! toolchain writes where `RUSTC_BOOTSTRAP` is set; so the check is left out where the variable is not set.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

#[test]
fn the_public_api_is_the_one_on_the_list() {
    let Ok(what) = std::env::var("CALLSTITCH_PUBLIC_API") else {
        return println!("skipped: CALLSTITCH_PUBLIC_API is not set to check or update");
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = root.join("target/public-api");
    let status = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()))
        .current_dir(root)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_DIR", &target)
        .env_remove("RUSTDOCFLAGS")
        .args(["rustdoc", "--quiet", "--lib", "--all-features", "--"])
        .args(["-Zunstable-options", "--output-format", "json"])
        .status()
        .expect("cargo runs");
    assert!(status.success(), "rustdoc fails");
    let text = std::fs::read_to_string(target.join("doc/callstitch.json")).unwrap();
    let docs: Value = serde_json::from_str(&text).unwrap();
    let mut api = Api {
        docs: &docs,
        lines: BTreeSet::new(),
        without: BTreeSet::new(),
        of_type: "",
    };
    api.module(&docs["root"], "callstitch", 0);
    let found: String = api.lines.iter().map(|line| format!("{line}\n")).collect();
    let list = root.join("tests/public-api.txt");
    println!("{} public items", api.lines.len());
    let without = &api.without;
    assert!(without.is_empty(), "items without an example {without:#?}");
    let items = docs["index"].as_object().unwrap().values();
    let citing: Vec<_> = items.filter(|item| cites(self::docs(item))).collect();
    assert!(
        citing.is_empty(),
        "who reads these has no such document {citing:#?}"
    );
    if what == "update" {
        return std::fs::write(list, found).unwrap();
    }
    let listed = std::fs::read_to_string(list).unwrap();
    let (old, new): (BTreeSet<&str>, BTreeSet<&str>) =
        (listed.lines().collect(), found.lines().collect());
    let gone: Vec<_> = old.difference(&new).collect();
    let come: Vec<_> = new.difference(&old).collect();
    assert!(
        gone.is_empty() && come.is_empty(),
        "the public API changed; `CALLSTITCH_PUBLIC_API=update cargo test --test public_api` puts it on the list\ngone {gone:#?}\nnew {come:#?}"
    );
}

struct Api<'d> {
    docs: &'d Value,
    lines: BTreeSet<String>,
    /// Functions and types whose documentation shows no example.
    without: BTreeSet<String>,
    /// The documentation of the type or trait whose methods are looked at.
    of_type: &'d str,
}

/// The code of all examples in a documentation.
fn examples(docs: &str) -> String {
    let blocks = docs.split("```").skip(1).step_by(2);
    blocks.filter(|block| !block.starts_with("text")).collect()
}

/// Whether a documentation names a document that is not in the package, or a row of one.
fn cites(docs: &str) -> bool {
    let mut words = docs.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.any(|word| {
        let row = word.strip_prefix('Q').unwrap_or_default();
        ["WIRE_FORMATS", "PARTIAL_JSON", "SEEDS", "DESIGN"].contains(&word)
            || (!row.is_empty() && row.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

fn docs(item: &Value) -> &str {
    item["docs"].as_str().unwrap_or_default()
}

impl<'d> Api<'d> {
    fn item(&self, id: &Value) -> Option<&'d Value> {
        let id = id.as_u64().map_or_else(
            || id.as_str().unwrap_or_default().to_owned(),
            |id| id.to_string(),
        );
        self.docs["index"].get(&id)
    }

    fn module(&mut self, id: &Value, path: &str, depth: usize) {
        let Some(module) = self.item(id) else { return };
        // Re-exports that lead in a circle end somewhere.
        if depth > 8 {
            return;
        }
        for id in children(&module["inner"]["module"]["items"]) {
            self.member(id, path, depth);
        }
    }

    fn member(&mut self, id: &Value, path: &str, depth: usize) {
        let Some(item) = self.item(id) else { return };
        let Some((kind, inner)) = item["inner"]
            .as_object()
            .and_then(|inner| inner.iter().next())
        else {
            return;
        };
        if kind == "use" {
            let target = &inner["id"];
            if inner["is_glob"] == true {
                return self.module(target, path, depth + 1);
            }
            let name = inner["name"].as_str().unwrap_or_default();
            return self.named(target, name, path, depth + 1);
        }
        let name = item["name"].as_str().unwrap_or_default();
        self.named(id, name, path, depth);
    }

    fn named(&mut self, id: &Value, name: &str, path: &str, depth: usize) {
        let Some(item) = self.item(id) else {
            // An item of another crate.
            self.lines.insert(format!("use {path}::{name}"));
            return;
        };
        if depth > 8 || item["visibility"] != "public" && item["visibility"] != "default" {
            return;
        }
        let Some((kind, inner)) = item["inner"]
            .as_object()
            .and_then(|inner| inner.iter().next())
        else {
            return;
        };
        let path = format!("{path}::{name}");
        let hidden = item["attrs"].to_string().contains("hidden");
        let open = if item["attrs"].to_string().contains("non_exhaustive") {
            " (non-exhaustive)"
        } else {
            ""
        };
        if hidden {
            return;
        }
        if matches!(kind.as_str(), "function" | "struct" | "enum" | "trait") {
            let shown_by_type = examples(self.of_type)
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .any(|word| kind == "function" && word == name);
            let shown_by_method = children(&inner["items"])
                .filter_map(|id| self.item(id))
                .any(|method| kind == "trait" && !examples(docs(method)).is_empty());
            if examples(docs(item)).is_empty() && !shown_by_type && !shown_by_method {
                self.without.insert(path.clone());
            }
        }
        match kind.as_str() {
            "module" => {
                self.lines.insert(format!("mod {path}"));
                self.module(id, &path, depth + 1);
            }
            "function" => {
                self.lines.insert(format!("fn {path}{}", signature(inner)));
            }
            "struct_field" => {
                self.lines.insert(format!("field {path}: {}", ty(inner)));
            }
            "variant" => {
                self.lines.insert(format!("variant {path}{open}"));
                let fields = &inner["kind"];
                let fields = fields
                    .get("struct")
                    .map_or(&fields["tuple"], |inner| &inner["fields"]);
                for (at, id) in children(fields).enumerate() {
                    let number = at.to_string();
                    let name = self.item(id).and_then(|field| field["name"].as_str());
                    self.named(id, name.unwrap_or(&number), &path, depth + 1);
                }
            }
            "struct" | "enum" | "union" => {
                self.lines.insert(format!("{kind} {path}{open}"));
                let plain = &inner["kind"]["plain"]["fields"];
                let tuple = &inner["kind"]["tuple"];
                for id in children(plain)
                    .chain(children(tuple))
                    .chain(children(&inner["variants"]))
                {
                    self.member(id, &path, depth + 1);
                }
                let outer = std::mem::replace(&mut self.of_type, docs(item));
                self.impls(&inner["impls"], &path, depth);
                self.of_type = outer;
            }
            "trait" => {
                self.lines.insert(format!("trait {path}"));
                let outer = std::mem::replace(&mut self.of_type, docs(item));
                for id in children(&inner["items"]) {
                    self.member(id, &path, depth + 1);
                }
                self.of_type = outer;
            }
            "type_alias" => {
                self.lines
                    .insert(format!("type {path} = {}", ty(&inner["type"])));
            }
            "assoc_type" | "assoc_const" | "constant" | "static" | "macro" | "proc_macro" => {
                self.lines.insert(format!("{kind} {path}"));
            }
            _ => {}
        }
    }

    fn impls(&mut self, impls: &Value, path: &str, depth: usize) {
        for id in children(impls) {
            let Some(item) = self.item(id) else { continue };
            let inner = &item["inner"]["impl"];
            let compilers = inner["is_synthetic"] == true || !inner["blanket_impl"].is_null();
            if compilers {
                continue;
            }
            match inner["trait"]["path"].as_str() {
                Some(of) => {
                    let arguments = arguments(&inner["trait"]["args"]);
                    self.lines
                        .insert(format!("impl {of}{arguments} for {path}"));
                }
                None => {
                    for id in children(&inner["items"]) {
                        self.member(id, path, depth + 1);
                    }
                }
            }
        }
    }
}

fn children(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn signature(function: &Value) -> String {
    let inputs = children(&function["sig"]["inputs"])
        .map(|input| format!("{}: {}", input[0].as_str().unwrap_or("_"), ty(&input[1])))
        .collect::<Vec<_>>()
        .join(", ");
    let output = match &function["sig"]["output"] {
        Value::Null => String::new(),
        output => format!(" -> {}", ty(output)),
    };
    let kind = if function["header"]["is_async"] == true {
        " async"
    } else {
        ""
    };
    format!("({inputs}){output}{kind}")
}

fn arguments(args: &Value) -> String {
    let list: Vec<String> = children(&args["angle_bracketed"]["args"])
        .map(
            |arg| match arg.as_object().and_then(|arg| arg.iter().next()) {
                Some((kind, inner)) if kind == "type" => ty(inner),
                Some((_, inner)) => inner.as_str().unwrap_or("_").to_owned(),
                None => "_".to_owned(),
            },
        )
        .collect();
    if list.is_empty() {
        String::new()
    } else {
        format!("<{}>", list.join(", "))
    }
}

/// A type as it is written, nearly: enough for a change to show.
fn ty(of: &Value) -> String {
    let Some((kind, inner)) = of.as_object().and_then(|of| of.iter().next()) else {
        return of.as_str().unwrap_or("_").to_owned();
    };
    match kind.as_str() {
        "resolved_path" => {
            let path = inner["path"].as_str().unwrap_or_default();
            format!("{path}{}", arguments(&inner["args"]))
        }
        "primitive" | "generic" => inner.as_str().unwrap_or_default().to_owned(),
        "borrowed_ref" => {
            let lifetime = inner["lifetime"].as_str().map(|name| format!("{name} "));
            let mutable = if inner["is_mutable"] == true {
                "mut "
            } else {
                ""
            };
            format!(
                "&{}{mutable}{}",
                lifetime.unwrap_or_default(),
                ty(&inner["type"])
            )
        }
        "tuple" => {
            let parts: Vec<String> = children(inner).map(ty).collect();
            format!("({})", parts.join(", "))
        }
        "slice" => format!("[{}]", ty(inner)),
        "array" => format!(
            "[{}; {}]",
            ty(&inner["type"]),
            inner["len"].as_str().unwrap_or("_")
        ),
        "impl_trait" => format!("impl {}", bounds(inner)),
        "dyn_trait" => {
            let traits: Vec<String> = children(&inner["traits"])
                .map(|of| {
                    format!(
                        "{}{}",
                        of["trait"]["path"].as_str().unwrap_or("_"),
                        arguments(&of["trait"]["args"])
                    )
                })
                .collect();
            format!("dyn {}", traits.join(" + "))
        }
        "qualified_path" => format!(
            "{}::{}",
            ty(&inner["self_type"]),
            inner["name"].as_str().unwrap_or("_")
        ),
        other => other.to_owned(),
    }
}

fn bounds(list: &Value) -> String {
    let bounds: Vec<String> = children(list)
        .map(|bound| {
            let of = &bound["trait_bound"]["trait"];
            match of["path"].as_str() {
                Some(path) => format!("{path}{}", arguments(&of["args"])),
                None => bound["outlives"].as_str().unwrap_or("_").to_owned(),
            }
        })
        .collect();
    bounds.join(" + ")
}
