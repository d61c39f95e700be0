#!/usr/bin/env bash
# Runs the blocks of the documentation that take too long for a test: `records/docs.sh [FILE...]`, by default of all files.
# For each block whose output matches, records/docs.txt notes when and with which version it was run.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --locked --bin fathom --bin fathom-worker
when="$(date -u +'%Y-%m-%d'), $(target/release/fathom --version | head -n 1)"
exec cargo run --release --locked -q -p fathom-tests --example docs -- --note="$when" "$@"
