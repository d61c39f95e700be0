#!/usr/bin/env bash
# The smallest engine: GNU parallel makes the shards of each depth, on this host or on others that share the run's directory.
#
#   fathom run 3x5 --shards 64 --max-depth 0 --dir DIR     # starts the run
#   deploy/parallel.sh DIR --jobs 8                        # computes the remaining depths, also after a failure; options are those of parallel:
#   deploy/parallel.sh DIR --jobs 8 --sshlogin node-1,node-2
#
# In the environment, THREADS is the number of threads of a job (1), and TO the last depth (none).
set -euo pipefail
run=$(realpath "$1")
shift
shards=$(sed -n 's/^shards = //p' "$run/run.toml")
next() {
    fathom status "$run" --json |
        python3 -c 'import json, sys; run = json.load(sys.stdin); print("" if run["complete"] else len(run["counts"]))'
}
while depth=$(next) && [ -n "$depth" ] && [ "$depth" -le "${TO:-$depth}" ]; do
    seq 0 $((shards - 1)) | parallel "$@" --halt soon,fail=1 --retries 3 \
        fathom-worker task --quiet --run "$run" --depth "$depth" --threads "${THREADS:-1}" --shards
    fathom merge "$run" --depth "$depth" >/dev/null
done
fathom status "$run"
