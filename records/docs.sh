#!/usr/bin/env bash
# Runs the blocks of the documentation that take too long for a test, and notes when and with which version they were as shown:
# `records/docs.sh [FILE...]`. The notes stand in records/docs.txt.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --locked --bin fathom --bin fathom-worker
notes=$(mktemp)
trap 'rm -f "$notes"' EXIT
target/release/fathom --version >"$notes"
date -u +'%Y-%m-%d' >>"$notes"
cargo run --release --locked -q -p fathom-tests --example docs -- "$@" | tee -a "$notes"
# Only what was run as a whole, and is as shown, is noted.
if [ $# -eq 0 ]; then
    cp "$notes" records/docs.txt
fi
