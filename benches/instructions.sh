#!/usr/bin/env bash
# Instructions an event of `push`, counted by callgrind and compared with benches/instructions.txt: a slow path must not
# creep in. One 4 KB call whose events repeat each other (the memory of the last event hears them), in chunks of 16 KiB, one
# event a chunk or 1,400 bytes, or eight such calls side by side; or one whose events are padded with spaces, take four shapes by
# turns, or are parsed each because their members are shuffled or their keys hold escapes; (3 runs - 1 run) / 2. Prints each
# figure; fails where one is more than the margin above what is written there. `benches/instructions.sh --write` writes the file
# anew.
set -euo pipefail
cd "$(dirname "$0")/.."

# The same compiler gives the same count; another one, or another C library, moves it by a few percent.
margin=10
binary=$(cargo bench --no-run --bench instructions --message-format=json 2>/dev/null |
    grep --only-matching '"executable":"[^"]*instructions-[^"]*"' | tail -n 1 | cut -d '"' -f 4)

counted() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$binary" "$1" "$2" "$3" 2>&1 >/dev/null |
        sed -n 's/.*Collected : //p'
}

failed=0
lines=''
for shape in repeating single packets interleaved padded turns shuffled escaped; do
    for provider in chat anthropic responses; do
        events=$("$binary" "$provider" "$shape" 1)
        figure=$((($(counted "$provider" "$shape" 3) - $(counted "$provider" "$shape" 1)) / 2 / events))
        lines+="$shape $provider $figure"$'\n'
        kept=$(sed -n "s/^$shape $provider //p" benches/instructions.txt 2>/dev/null || true)
        printf '%-11s %-10s %5d instructions an event, kept: %s\n' "$shape" "$provider" "$figure" "${kept:-none}"
        if [[ -n $kept && $figure -gt $((kept * (100 + margin) / 100)) ]]; then
            echo "$shape $provider: more than $margin % above what is kept" >&2
            failed=1
        fi
    done
done
if [[ ${1:-} == --write ]]; then
    printf '%s' "$lines" >benches/instructions.txt
    exit 0
fi
exit "$failed"
