#!/usr/bin/env bash
# Measures the overhead of a cluster on one machine. First, whole processes of 'fathom run --threads 2' and of
# 'fathom run --workers 2' in turn, and the coordinator's processor time. Then a coordinator and two workers with one thread
# each that keep layers in their own stores: the bytes that the workers send each other, and those that 'fathom plan' predicts.
# Usage: records/cluster.sh [FATHOM [REPETITIONS]], with fathom-worker beside FATHOM.
set -euo pipefail
fathom=${1:-target/release/fathom}
times=${2:-9}
spaces="3x4 2x6"
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

# field NAME: prints a field of the coordinator's last log line.
field() {
    grep '"serving ends"' "$dir/run/log.jsonl" | sed "s/.*\"$1\":\([0-9.]*\).*/\1/"
}

# planned BEFORE NAME SPACE: prints the number NAME from the output of 'fathom plan'; BEFORE is the number before it.
planned() {
    "$fathom" plan "$3" --workers 2 --threads 1 --json | sed "s/.*\"$1\":[0-9]*,\"$2\":\([0-9]*\).*/\1/"
}

echo "| space | one process | two workers | ratio | coordinator's share of a core |"
echo "|---|---|---|---|---|"
for space in $spaces; do
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
    printf '| %s | %.3f s | %.3f s | %.2f | %.1f %% |\n' "$space" "$one" "$two" \
        "$(echo "scale=4; $two / $one" | bc)" "$(echo "100 * $(median <"$dir/share")" | bc)"
done

echo
echo "| space | own stores | bytes sent | predicted |"
echo "|---|---|---|---|"
for space in $spaces; do
    rm -f "$dir"/time "$dir"/sent
    shards=$(planned replicas shards "$space")
    for number in $(seq "$times"); do
        rm -rf "$dir"/run "$dir"/store-*
        address=127.0.0.1:$((20000 + number))
        for name in a b; do
            "$fathom-worker" --join "$address" --store "$dir/store-$name" --threads 1 -q >/dev/null 2>&1 &
        done
        "$fathom" serve "$space" --shards "$shards" --audit 0 --listen "$address" --dir "$dir/run" -q >/dev/null
        wait
        field seconds >>"$dir/time"
        field sent_bytes >>"$dir/sent"
    done
    printf '| %s | %.3f s | %s | %s |\n' "$space" "$(median <"$dir/time")" "$(median <"$dir/sent")" "$(planned worker_sent_bytes sent_bytes "$space")"
done
