#!/usr/bin/env bash
# Runs the tests of unsafe code (memory maps, slices, kernels) under valgrind's memcheck.
#
#     tests/unsafe.sh
#
# valgrind emulates a processor with AVX2 but without AVX-512, so the portable and the AVX2 kernels are run. Random tests try
# only a few cases each, because everything takes fifty times as long. Logs are written to target/unsafe.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v valgrind >/dev/null || { echo "valgrind is not installed: apt-get install valgrind"; exit 2; }
logs=target/unsafe
mkdir -p "$logs"
export PROPTEST_CASES=${PROPTEST_CASES:-4} CARGO_PROFILE_DEV_OPT_LEVEL=1

# All tests of layers; the tests of kernels that do not search whole spaces; files and cosets from untrusted sources.
tests=(
    "-p fathom-layer --lib" "-p fathom-layer --test layer -- damage::" "-p fathom-layer --test layer -- durable::"
    "-p fathom-layer --test layer -- format::" "-p fathom-layer --test layer -- maps::"
    "-p fathom-kernel --lib" "-p fathom-kernel --test kernel -- engines::"
    "-p fathom-tests --test all -- hostile_files::" "-p fathom-tests --test all -- fuzz::"
)
failed=0
for test in "${tests[@]}"; do
    read -ra arguments <<<"${test%% -- *}"
    read -ra filter <<<"${test##"${test%% -- *}"}"
    program=$(cargo test --no-run --message-format=json "${arguments[@]}" 2>"$logs/build.log" |
        sed -n 's/.*"profile":{[^}]*"test":true.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1)
    [ -n "$program" ] || { cat "$logs/build.log"; exit 1; }
    log="$logs/${test//[^a-z_]/}.log"
    begun=$SECONDS
    result=ok
    valgrind --quiet --error-exitcode=99 --errors-for-leak-kinds=none --num-callers=30 \
        "$program" --test-threads=1 "${filter[@]:1}" >"$log" 2>&1 || result=FAILED
    echo "$test: $result, $(sed -n 's/^test result: [a-zA-Z]*\. \([0-9]* passed\).*/\1/p' "$log"), $((SECONDS - begun)) s, see $log"
    [ $result = ok ] || failed=$((failed + 1))
done
[ $failed -eq 0 ]
