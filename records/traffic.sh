#!/usr/bin/env bash
# Compares the bytes that workers send each other with those that 'fathom plan --workers' predicts:
# `records/traffic.sh FATHOM RATE...`, with rates in the format of tc, for example 100mbit. Each worker is in its own network
# namespace, behind a bridge; its link is limited to the rate in both directions (tc, tbf). Needs root and tc, and
# fathom-worker beside FATHOM. Takes some minutes.
set -euo pipefail
fathom=$(realpath "$1")
shift
work=$(mktemp -d)
times=5
hub=fathom-hub-$$
port=7400
cleanup() {
    kill $(jobs -p) 2>/dev/null || true
    for ns in $(ip netns list | cut -d' ' -f1 | grep -e "-$$\$"); do ip netns delete "$ns"; done
    rm -rf "$work"
}
trap cleanup EXIT
ip netns add $hub
ip -n $hub link add hub type bridge
ip -n $hub address add 10.79.0.254/24 dev hub
ip -n $hub link set hub up
ip -n $hub link set lo up
for worker in 1 2 3 4; do
    ns=fathom-w$worker-$$
    ip netns add $ns
    ip link add to-hub netns $ns type veth peer to-$worker netns $hub
    ip -n $ns address add 10.79.0.$worker/24 dev to-hub
    ip -n $ns link set to-hub up
    ip -n $hub link set to-$worker master hub
    ip -n $hub link set to-$worker up
done

# field NAME: prints a field of the coordinator's last log line.
field() {
    grep '"serving ends"' "$work/run/log.jsonl" | sed "s/.*\"$1\":\([0-9.]*\).*/\1/"
}

# searched SPACE WORKERS SHARDS: runs a whole search, with one thread for each worker.
searched() {
    rm -rf "$work"/run "$work"/w*
    ip netns exec $hub "$fathom" serve "$1" --listen 10.79.0.254:$port --insecure --audit 0 --dir "$work/run" --shards "$3" -q \
        >"$work/result" &
    local coordinator=$!
    until grep -qs '"serving"' "$work/run/log.jsonl"; do kill -0 $coordinator; sleep 0.05; done
    # All workers start at about the same time: an early one would compute shards of others, and keep some of them.
    kill -STOP $coordinator
    for worker in $(seq "$2"); do
        ip netns exec fathom-w"$worker"-$$ "$(dirname "$fathom")/fathom-worker" --join 10.79.0.254:$port --insecure \
            --listen 10.79.0."$worker":0 --store "$work/w$worker" --threads 1 -q &
    done
    sleep 1
    kill -CONT $coordinator
    wait
}

echo "| space | rate | workers | sent predicted | sent measured | error | from, to |"
echo "|---|---|---|---|---|---|---|"
for rate in "$@"; do
    for worker in 1 2 3 4; do
        tc -n fathom-w$worker-$$ qdisc replace dev to-hub root tbf rate "$rate" burst 256kb latency 50ms
        tc -n $hub qdisc replace dev to-$worker root tbf rate "$rate" burst 256kb latency 50ms
    done
    for space in 3x4 2x6; do
        for workers in 2 4; do
            plan=$("$fathom" plan $space --workers $workers --threads 1 --json)
            predicted=$(sed 's/.*"worker_sent_bytes":[0-9]*,"sent_bytes":\([0-9]*\).*/\1/' <<<"$plan")
            shards=$(sed 's/.*"shards":\([0-9]*\).*/\1/' <<<"$plan")
            rm -f "$work/sent"
            for _ in $(seq $times); do
                searched $space $workers "$shards"
                field sent_bytes >>"$work/sent"
            done
            sent=$(sort -n "$work/sent" | sed -n "$(((times + 1) / 2))p")
            error=$(printf '%+.1f' "$(echo "scale=4; 100 * ($predicted - $sent) / $sent" | bc)")
            range="$(sort -n "$work/sent" | head -n 1) to $(sort -n "$work/sent" | tail -n 1)"
            echo "| $space multi | $rate | $workers | $predicted | $sent | $error % | $range |"
        done
    done
done
