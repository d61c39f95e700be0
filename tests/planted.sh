#!/usr/bin/env bash
# Plants faults one by one, and checks that the test named with each fails.
#
#     tests/planted.sh [NAME ...]     all faults of tests/planted, or these
#
# A fault is a patch; its first line has the arguments of the 'cargo test' that must find it. The faults are planted in a
# checkout of HEAD in target/planted, which has its own builds. Each result is a line in target/planted/results; existing
# results for this commit are reused, so the script continues after an interruption.
set -euo pipefail
cd "$(dirname "$0")/.."
place=$PWD/target/planted
copy=$place/checkout
commit=$(git rev-parse --short HEAD)
mkdir -p "$place/logs"
touch "$place/results"
names=("$@")
[ ${#names[@]} -gt 0 ] || mapfile -t names < <(basename -s .patch tests/planted/*.patch)

if [ -d "$copy" ]; then
    git -C "$copy" checkout --quiet --force --detach "$commit"
else
    git worktree add --quiet --detach "$copy" "$commit"
fi

# The result of one 'cargo test' in the copy: passes, fails, or does not build.
result_of() { # log, arguments of cargo test
    local log=$1
    shift
    (
        cd "$copy"
        export CARGO_TARGET_DIR=$place/target CARGO_INCREMENTAL=1
        cargo test --quiet --no-run "$@" >"$log" 2>&1 || { echo "does not build"; exit; }
        timeout 900 cargo test --quiet "$@" >>"$log" 2>&1 && echo passes || echo fails
    )
}

failed=0
for name in "${names[@]}"; do
    patch=tests/planted/$name.patch
    [ -f "$patch" ] || { echo "unknown fault '$name'. tests/planted has: $(basename -s .patch tests/planted/*.patch | xargs)"; exit 2; }
    test=$(sed -n '1s/^Test: //p' "$patch")
    line=$(grep "^$name | .* | $commit | " "$place/results" || true)
    if [ -z "$line" ]; then
        read -ra arguments <<<"$test"
        sound=$(grep -F "sound $commit $test" "$place/results" || true)
        without=passes
        if [ -z "$sound" ]; then
            without=$(result_of "$place/logs/$name-without.log" "${arguments[@]}")
            [ "$without" != passes ] || echo "sound $commit $test" >>"$place/results"
        fi
        if [ "$without" != passes ]; then
            result="without the fault the test $without"
        elif ! git -C "$copy" apply -C1 "$PWD/$patch" 2>"$place/logs/$name.log"; then
            result="the patch does not apply"
        else
            result=$(result_of "$place/logs/$name.log" "${arguments[@]}")
            git -C "$copy" checkout --quiet --force "$commit"
        fi
        [ "$result" = fails ] && result=found
        [ "$result" = passes ] && result="NOT FOUND"
        line="$name | $test | $commit | $(date -u +%F) | $result"
        echo "$line" >>"$place/results"
    fi
    echo "$line"
    [ "${line##* | }" = found ] || failed=$((failed + 1))
done
echo "${#names[@]} faults, $failed of them not found"
[ $failed -eq 0 ]
