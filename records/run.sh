#!/usr/bin/env bash
# Computes the records again: `records/run.sh DIRECTORY [RECORD...]`, with records such as 4x4-multi or, from puzzles.tsv, lrx-14-given. The runs are in
# DIRECTORY, and each is deleted when its record is written; 4x4 needs 63 GB there, three-colours 57 GB, 3x3x3-positions 70 GB.
# square1-face is computed only if it is named, up to depth 8.
# Afterwards `git diff records` should show only times and machine.
set -euo pipefail
runs=$1
shift
cd "$(dirname "$0")/.."
cargo build --release --locked --bin fathom
fathom=target/release/fathom
mkdir -p "$runs"
spaces=("$@")
if [ ${#spaces[@]} -eq 0 ]; then
    mapfile -t puzzles < <(cut -f 1 records/puzzles.tsv)
    spaces=({3x4,2x6,2x7,3x5,4x4}-{multi,single} "${puzzles[@]}")
fi

# Checks the layers of a run, and writes its record.
record() { # run, file
    "$fathom" verify "$1"
    "$fathom" status "$1" --json | python3 -m json.tool --compact | sed 's/, "/,\n"/g; s/,"/,\n"/g' > "$2"
}

# Writes a shortest solution of one state of each of the first 25 classes of the last depth: the layers of the first
# depths are computed again and kept, and a search from the state meets the last of them. If moves go only one
# way, the layers of the run have a shortest scramble instead.
antipodes() { # run, file, arguments of the run
    local run=$1 file=$2 depth
    shift 2
    if "$fathom" status "$run" --json | grep -q '"inverse_closed":false'; then
        "$fathom" antipodes "$run" --limit 25 --json | python3 -c '
import json, sys
found = json.load(sys.stdin)
print("state", "distance", "scramble", sep="\t")
for one in found["representatives"]:
    print(one["state"], found["depth"], one["scramble"], sep="\t")' > "$file"
        return
    fi
    depth=$("$fathom" status "$run" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["god_number"])')
    "$fathom" export "$run" --depth "$depth" --representatives --limit 25 > "$run.antipodes"
    # Where the disk might not hold so many layers, fewer will do.
    "$fathom" run "$@" --max-depth $((depth * 2 / 3)) --keep all --dir "$run-near" ||
        "$fathom" run "$@" --max-depth $((depth * 3 / 5)) --keep all --dir "$run-near"
    "$fathom" solve "$run-near" --states "$run.antipodes" > "$run.solutions"
    printf 'state\tdistance\tsolution\n' > "$file"
    paste "$run.antipodes" "$run.solutions" >> "$file"
    rm -r "$run-near" "$run.antipodes" "$run.solutions"
}

for name in "${spaces[@]}"; do
    if [ "$name" = square1-face ]; then
        # A partial search: all depths need a cluster.
        run=$runs/$name
        "$fathom" run square1 --metric face --max-depth 8 --dir "$run"
        record "$run" "records/begun/$name.json"
        rm -r "$run"
        continue
    fi
    board=${name%-*} metric=${name##*-} run=$runs/$name states=$runs/$name.txt
    read -ra arguments < <(sed -n "s/^$name\t//p" records/puzzles.tsv) || true
    if [ ${#arguments[@]} -gt 0 ]; then
        watch=()
        if [ "$name" = three-colours-multi ]; then
            # With these states, the counts up to half turns of the whole cube follow.
            records/half_turns.py > "$states"
            watch=(--watch-states "$states")
        fi
        "$fathom" run "${arguments[@]}" --dir "$run" "${watch[@]}"
        record "$run" "records/puzzles/$name.json"
        if [ -e "records/antipodes/$name.tsv" ]; then
            antipodes "$run" "records/antipodes/$name.tsv" $(printf '%s\n' "${arguments[@]}" | grep -vx -e --keep -e two)
        fi
        rm -rf "$run" "$states"
        continue
    fi
    cp "records/states-$board.txt" "$states"
    if [ "$board" = 4x4 ]; then
        # All arrangements of the bottom two rows, with the top two rows solved.
        python3 -c '
from itertools import permutations
for bottom in permutations(range(8, 16)):
    print(*range(8), *bottom)' >> "$states"
    fi
    "$fathom" run "$board" --metric "$metric" --dir "$run" --watch-states "$states"
    record "$run" "records/$name.json"
    # The header, and the random states, which come first.
    head -n $(($(grep -vc "^#" "records/states-$board.txt") + 1)) "$run/watched.csv" > "records/$name.csv"
    rm -r "$run" "$states"
done
