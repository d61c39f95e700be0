#!/usr/bin/env bash
# What a cluster costs on one machine: whole processes of 'fathom run --threads 2' and of 'fathom run --workers 2' in turn, the
# bytes sent and those that 'fathom plan' predicts, and the processor time of the coordinator.
# Usage: records/cluster.sh [FATHOM [REPETITIONS]], with fathom-worker beside FATHOM.
set -euo pipefail
fathom=${1:-target/release/fathom}
times=${2:-9}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

seconds() {
    local begun ended
    begun=$(date +%s.%N)
    "$@" >/dev/null
    ended=$(date +%s.%N)
    echo "$ended - $begun" | bc
}

median() {
    sort -n | sed -n "$(((times + 1) / 2))p"
}

# field NAME: of the line with which a coordinator ends.
field() {
    grep '"serving ends"' "$dir/run/log.jsonl" | sed "s/.*\"$1\":\([0-9.]*\).*/\1/"
}

echo "| space | one process | two workers | ratio | bytes sent | predicted | coordinator's share of a core |"
echo "|---|---|---|---|---|---|---|"
for space in 3x4 2x6; do
    rm -f "$dir"/one "$dir"/two "$dir"/share
    for _ in $(seq "$times"); do
        rm -rf "$dir/run"
        seconds "$fathom" run "$space" --threads 2 --dir "$dir/run" -q >>"$dir/one"
        rm -rf "$dir/run"
        seconds "$fathom" run "$space" --workers 2 --threads 2 --dir "$dir/run" -q >>"$dir/two"
        echo "scale=4; $(field processor_seconds) / $(field seconds)" | bc >>"$dir/share"
    done
    one=$(median <"$dir/one")
    two=$(median <"$dir/two")
    predicted=$("$fathom" plan "$space" --workers 2 --threads 1 --json | sed 's/.*"worker_sent_bytes":[0-9]*,"sent_bytes":\([0-9]*\).*/\1/')
    printf '| %s | %.3f s | %.3f s | %.2f | %s | %s | %.1f %% |\n' "$space" "$one" "$two" \
        "$(echo "scale=4; $two / $one" | bc)" "$(field sent_bytes)" "$predicted" "$(echo "100 * $(median <"$dir/share")" | bc)"
done
