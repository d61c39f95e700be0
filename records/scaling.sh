#!/usr/bin/env bash
# Prints the tables of docs/scaling.md: `records/scaling.sh [SPACE...]`. Takes some minutes; kernels are timed on this machine.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --locked --bin fathom
threads=32
spaces=("$@")
if [ ${#spaces[@]} -eq 0 ]; then
    spaces=(4x4 2x8 3x6 2x9)
fi

for space in "${spaces[@]}"; do
    for workers in 1 4 16 64 256 1024; do
        # Four shards for each thread, as far as that goes; eight where cosets are so large that the threads of
        # a worker share a shard, because memory holds the sources of a smaller shard more easily.
        each=4
        case $space in 3x6 | 2x9) each=8 ;; esac
        shards=$((workers * threads * each))
        shards=$((shards < 512 ? 512 : shards > 16384 ? 16384 : shards))
        target/release/fathom plan "$space" --workers "$workers" --threads $threads --network 25G --disk 2G \
            --memory 256GiB --shards $shards --json
    done | python3 -c '
import json
import sys

def size(bytes):
    for unit in ["B", "kB", "MB", "GB", "TB"]:
        if bytes < 1000 or unit == "TB":
            return f"{bytes:.3g} {unit}" if bytes < 1000 else f"{bytes:,.0f} {unit}"
        bytes /= 1000

def time(seconds):
    for unit, factor, most in [("s", 1, 600), ("min", 60, 300), ("h", 3600, 1e9)]:
        if seconds < most * factor:
            return f"{seconds / factor:.2g} {unit}" if seconds / factor < 10 else f"{seconds / factor:.0f} {unit}"

rows = [json.loads(line) for line in sys.stdin]
first = rows[0]
print("### {space} `{metric}`\n\n{states:,} states, {representative_cosets:,} cosets, "
      "a dense layer takes {layer}; growth {growth}.\n".format(
          **first, layer=size(first["layer_bytes"]), growth=first["cluster"]["growth"]))
print("| workers | shards | beyond memory | time | disk a worker | received a worker | sent in all | memory a worker "
      "| and for layers | limited by |")
print("|---|---|---|---|---|---|---|---|---|---|")
for row in rows:
    c = row["cluster"]
    other = {**c, **c["other_way"]}
    differ = any(c[key] != other[key] for key in ["seconds", "sent_bytes"])
    for way in [c, other] if differ else [c]:
        cells = [c["workers"], c["shards"], way["beyond_memory"] if differ else "-", time(way["seconds"]),
                 size(way["worker_disk_bytes"]), size(way["worker_received_bytes"]), size(way["sent_bytes"]),
                 size(c["worker_process_bytes"]), size(c["worker_cache_bytes"]), way["limit"]]
        print("| " + " | ".join(str(cell) for cell in cells) + " |")
print()
'
done
