#!/usr/bin/env bash
# Measures transfers between two workers: `records/transfers.sh RATE...`, rates as tc takes them, for example 1gbit. Two network
# namespaces are joined by a veth pair whose sending end is limited to the rate. Needs root, tc and iperf3. Runs some minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --locked -p fathom-worker --example transfer --features transfer
cargo build --release --locked --bin fathom
transfer=target/release/examples/transfer
work=$(mktemp -d)
a=fathom-a-$$ b=fathom-b-$$
trap 'ip netns delete $a; ip netns delete $b; rm -rf "$work"' EXIT
ip netns add $a
ip netns add $b
ip link add to-b netns $a type veth peer to-a netns $b
ip -n $a address add 10.78.0.1/24 dev to-b
ip -n $b address add 10.78.0.2/24 dev to-a
ip -n $a link set to-b up
ip -n $b link set to-a up
target/release/fathom keys "$work/keys" >"$work/keys.txt"

# Fetches the layer in $b from a server in $a.
transferred() {
    mkfifo "$work/end"
    touch "$work/served"
    ip netns exec $a $transfer serve 10.78.0.1:7500 --dir "$work/serve" "$@" <"$work/end" >"$work/served" &
    exec 3>"$work/end"
    until grep -q "^serving$" "$work/served"; do kill -0 $!; sleep 0.1; done
    ip netns exec $b $transfer fetch 10.78.0.1:7500 --dir "$work" "$@" --rounds "$rounds"
    exec 3>&-
    wait
    tail -n 1 "$work/served"
    rm -rf "$work/end" "$work/serve" "$work/served"
}

for rate in "$@"; do
    rounds=3
    tc -n $a qdisc replace dev to-b root tbf rate "$rate" burst 4mb latency 20ms
    echo "== $rate: iperf3 =="
    ip netns exec $a iperf3 --server --one-off >/dev/null &
    sleep 0.5
    ip netns exec $b iperf3 --client 10.78.0.1 --reverse --time 5 --format g --verbose | grep -E "receiver|CPU"
    wait
    for one_in in 2 8; do
        echo "== $rate: one bit in $one_in =="
        transferred --one-in $one_in --insecure
        echo "== $rate: one bit in $one_in, TLS =="
        transferred --one-in $one_in --keys "$work/keys"
    done
done
