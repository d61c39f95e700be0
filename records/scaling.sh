#!/usr/bin/env bash
# Prints the table of docs/scaling.md: `records/scaling.sh [SPACE...]`. The kernels are timed on this machine.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --locked --bin fathom
spaces=("$@")
[ ${#spaces[@]} -gt 0 ] || spaces=(4x4 2x8 3x6)
echo "| space | workers | time | limited by | disk a worker | memory a worker | sent a worker | sent in all |"
echo "|---|---|---|---|---|---|---|---|"
for space in "${spaces[@]}"; do
    for workers in 1 4 16 64 256; do
        # Four shards for each thread, within the limits.
        shards=$((workers * 128 < 512 ? 512 : workers * 128 > 16384 ? 16384 : workers * 128))
        target/release/fathom plan "$space" --workers $workers --threads 32 --network 25G --disk 2G --memory 256GiB \
            --shards $shards --json
    done
done | python3 -c '
import json, sys

def scaled(number, units):
    for unit, factor, most in units:
        if number < most * factor:
            return f"{number / factor:.3g} {unit}"

def size(number):
    return scaled(number, [(unit, 1000 ** n, 1000) for n, unit in enumerate(["B", "kB", "MB", "GB", "TB", "PB"])])

def time(seconds):
    return scaled(seconds, [("s", 1, 600), ("min", 60, 300), ("h", 3600, 1e9)])

for row in map(json.loads, sys.stdin):
    c = row["cluster"]
    least = "at least " if c["spill_policy"] else ""
    cells = [row["space"], c["workers"], least + time(c["seconds"]), c["limit"], size(c["worker_disk_bytes"]),
             size(c["worker_process_bytes"] + c["worker_cache_bytes"]), size(c["worker_sent_bytes"]), size(c["sent_bytes"])]
    print("| " + " | ".join(map(str, cells)) + " |")
'
