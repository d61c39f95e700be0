#!/usr/bin/env bash
# Repeats tests while four busy loops run, to find tests that depend on timing.
#
#     tests/repeat.sh N [NAME ...]     N times the tests of a file or folder of tests/tests; by default cluster, processes and crashes;
#                                      'all' is the whole suite
#
# BUSY sets the number of busy loops, for a machine that is busy already.
#
# Each run has a log in target/repeat, and a line in target/repeat/results. Completed runs are not repeated, so the script
# continues after an interruption; remove target/repeat to start again.
set -euo pipefail
cd "$(dirname "$0")/.."
times=${1:?missing N, the number of repetitions}
shift
tests=("$@")
[ ${#tests[@]} -gt 0 ] || tests=(cluster processes crashes)
logs=target/repeat
mkdir -p "$logs"
cargo test --release --workspace --no-run --quiet

busy=()
for _ in $(seq "${BUSY:-4}"); do
    (while :; do :; done) &
    busy+=($!)
done
trap '[ ${#busy[@]} -eq 0 ] || kill "${busy[@]}" 2>/dev/null || true' EXIT

failed=0
for number in $(seq "$times"); do
    for test in "${tests[@]}"; do
        log=$logs/$test-$number.log
        grep -qs "^$test $number " "$logs/results" && continue
        selected=(--test all "$test::")
        [ "$test" = all ] && selected=()
        begun=$SECONDS
        result=ok
        FATHOM_TEST_ALL=1 cargo test --release --workspace "${selected[@]}" >"$log" 2>&1 || result=FAILED
        echo "$test $number $result $((SECONDS - begun)) s" | tee -a "$logs/results"
        [ $result = ok ] || failed=$((failed + 1))
    done
done
echo "$failed runs failed"
[ "$failed" -eq 0 ]
