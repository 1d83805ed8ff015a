#!/usr/bin/env bash
# What each feature costs whoever depends on it: the line of Cargo.toml, how many crates it pulls in, and what a clean release
# build takes, as a ratio to the build without features.
#
#   benches/features.sh          counts and build times; minutes
#   benches/features.sh counts   counts only
#
# Times are processor seconds, so that what else runs on the machine counts little, and only their ratios mean anything elsewhere.
# The README quotes the counts; `tests/package.rs` holds them equal to what `cargo tree` says.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -n 's/^version = "\([0-9]*\.[0-9]*\)\..*/\1/p' Cargo.toml | head -1)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

crates() {
    cargo tree --offline --locked --target x86_64-unknown-linux-gnu --edges normal,build --prefix none "$@" |
        sed 's/ (\*)$//' | sort -u | grep --count --invert-match '^callstitch '
}

processor_seconds() {
    local TIMEFORMAT='%U %S' target="$scratch/$RANDOM"
    { time CARGO_TARGET_DIR="$target" cargo build --quiet --offline --locked --release "$@" >/dev/null 2>&1; } 2>&1 |
        awk '{ print $1 + $2 }'
    rm -rf "$target"
}

printf '%6s %6s  %s\n' crates build Cargo.toml
bare=
# Each line: what is said to cargo, then what is written in Cargo.toml.
while IFS='|' read -r flags line; do
    # shellcheck disable=SC2086 # the flags are words
    count=$(crates $flags)
    ratio=-
    if [[ ${1-} != counts ]]; then
        # shellcheck disable=SC2086
        seconds=$(processor_seconds $flags)
        bare=${bare:-$seconds}
        ratio=$(awk -v a="$seconds" -v b="$bare" 'BEGIN { printf "%.1f", a / b }')
    fi
    printf '%6s %6s  callstitch = %s\n' "$count" "$ratio" "$line"
done <<ROWS
--no-default-features|{ version = "$version", default-features = false }
|"$version"
--features channel|{ version = "$version", features = ["channel"] }
--features bedrock|{ version = "$version", features = ["bedrock"] }
--features tracing|{ version = "$version", features = ["tracing"] }
--features schema|{ version = "$version", features = ["schema"] }
--features cli|{ version = "$version", features = ["cli"] }
--all-features|{ version = "$version", features = ["channel", "bedrock", "tracing", "schema", "cli"] }
ROWS
