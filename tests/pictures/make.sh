#!/usr/bin/env bash
# Makes the README's pictures anew, from real runs of the demo. Needs python3, and chromium for the second one.
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo build --release --locked
program=${CARGO_TARGET_DIR:-$PWD/target}/release/agent-subagent pictures=$PWD/tests/pictures work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset OPENAI_MODEL

python3 "$pictures/terminal.py" "$pictures/demo.svg" --prompt "agent-subagent --demo" "$program" --demo -C "$work"

rm -rf "$work/todo-app"
"$program" --demo -q -C "$work" --picture run.html
quiet=(--headless --disable-gpu --hide-scrollbars --no-first-run --disable-background-networking)
quiet+=(--disable-component-update --disable-sync "--user-data-dir=$work/browser")
# As root it has no sandbox of its own.
[ "$(id -u)" != 0 ] || quiet+=(--no-sandbox)
chromium "${quiet[@]}" --window-size=1280,808 "--screenshot=$pictures/run.png" "file://$work/run.html"
