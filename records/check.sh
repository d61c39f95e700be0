#!/usr/bin/env bash
# Solves the random states of all records again, with a bidirectional search that shares no code with Fathom: `records/check.sh`.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --locked -p fathom-tests --example bidirectional
check() {
    echo "$1 $2"
    target/release/examples/bidirectional "$1" "$2" "records/$1-$2${4-}.csv" "$3"
}
check 3x4 multi 6
check 3x4 single 7
check 2x6 multi 7
check 2x6 single 8
check 3x5 multi 7
check 3x5 single 8
check 2x7 multi 9
check 2x7 single 10
check 4x4 multi 7
check 4x4 single 9
# States of the last layers, which random states do not reach. The last line takes 13 GB of memory and some minutes.
check 4x4 multi 8 -deepest
check 4x4 single 10 -deepest
