#!/usr/bin/env bash
# Runs each fuzz target for some seconds on one core, starting with the corpus in tests/fuzz/corpus.
#
#     tests/fuzz.sh SECONDS [TARGET ...]     by default all targets
#
# Findings are written to tests/fuzz/artifacts; the collected inputs are kept in target/fuzz, and the next run starts
# with them. Needs a nightly compiler, a C++ compiler, and 'cargo install cargo-fuzz'.
set -euo pipefail
cd "$(dirname "$0")/fuzz"
seconds=${1:?missing SECONDS for each target}
shift
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(ls corpus)
logs=$PWD/../../target/fuzz
mkdir -p "$logs"
export RUSTUP_TOOLCHAIN=${FUZZ_TOOLCHAIN:-nightly}

failed=0
for target in "${targets[@]}"; do
    mkdir -p "$logs/corpus/$target"
    result=ok
    cargo fuzz run --fuzz-dir . "$target" "$logs/corpus/$target" "corpus/$target" -- \
        -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 >"$logs/$target.log" 2>&1 || result=FAILED
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$logs/$target.log")
    covered=$(grep -o 'cov: [0-9]*' "$logs/$target.log" | tail -n 1)
    echo "$target $result, ${runs:-no} inputs, ${covered:-no coverage}, $(date -u +%F), see target/fuzz/$target.log"
    [ $result = ok ] || failed=$((failed + 1))
done
[ $failed -eq 0 ]
