#!/usr/bin/env python3
"""Writes docs/records.md from the records: `records/page.py`, in the root of the project."""

import json
from pathlib import Path

NAMES = [f"{board}-{metric}" for board in ["4x4", "3x5", "2x7", "2x6", "3x4"] for metric in ["multi", "single"]]

PREFACE = """# Records

This page has the complete growth functions of boards of 12 to 16 cells, in both metrics: `multi` (any rotation of a line is one move) and `single` (a
shift by one cell is one move). Each record is one real run of the released program on one machine with two cores and 24 GiB of memory, which did
other work at times. The folder [`records`](../records) has a JSON file for each record, with the machine and the times.

The states of each record add up to the order of its group. The classes add up to the number of orbits of the symmetries by Burnside's lemma, which
`tests/tests/records.rs` computes separately. Besides:

- 3x4 and 2x6 agree with independent programs, depth by depth ([sources](../tests/data/boards.json)), 3x4 with the reference engine
  bit by bit.
- 4x4 `single` has God's number 18, as T. Rokicki found by solving cosets.
- Both runs of 4x4 watched the 40,320 states whose top two rows are solved. These states lie at the depths that xyzzy published
  (speedsolving.com, thread 75180): `multi` 1, 6, 9, 24, 288, 1132, 1340, 8936, 16721, 8992, 2703, 168, and `single` 1, 4, 6, 20, 137,
  428, 934, 3172, 8410, 11024, 9792, 5276, 880, 236.
- Each run watched 82 states, 40 of them uniformly random, the others ends of random walks. Bidirectional search, with a program that shares no
  code with Fathom, found the same distances for all of them, and for states of the last layers of 4x4, which random
  states do not reach (two each of depths 13, 16 and 17, and the antipodes below):

      records/check.sh

- A run of 4x4 `multi` was killed with `kill -9` in depth 11, with 154 of the 512 shards of that depth finished, and went on
  with `fathom resume`. The run ended with the same digests of all depths as the run below.

`records/run.sh DIRECTORY` repeats all runs, in about half an hour and with 63 GB of disk for 4x4; `records/run.sh DIRECTORY 3x5-multi` repeats one.
The digests must be the same on any machine.

| space | states | God's number | antipodes | classes | seconds | own memory | disk at the peak |
|---|---|---|---|---|---|---|---|
"""


def size(count):
    for unit in ["B", "KB", "MB"]:
        if count < 999.5:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


def main():
    root = Path(__file__).parent
    page = PREFACE
    tables = ""
    for name in NAMES:
        record = json.loads((root / f"{name}.json").read_text())
        processes = record["processes"]
        seconds = sum(process["seconds"] for process in processes)
        memory = size(max(process["peak_anonymous_bytes"] for process in processes))
        layers = record["layer_bytes"]
        disk = size(max(sum(layers[depth : depth + 3]) for depth in range(len(layers))))
        space = f"{record['space']} `{record['metric']}`"
        page += (
            f"| {space} | {record['states']:,} | {record['god_number']} | {record['counts'][-1]:,} "
            f"| {sum(record['classes']):,} | {seconds:.3g} | {memory} | {disk} |\n"
        )
        process = processes[-1]
        tables += f"\n## {space}\n\n| depth | states | classes |\n|---|---|---|\n"
        for depth, (states, classes) in enumerate(zip(record["counts"], record["classes"])):
            tables += f"| {depth} | {states:,} | {classes:,} |\n"
        tables += f"| | {sum(record['counts']):,} | {sum(record['classes']):,} |\n"
        tables += (
            f"\nDigest `{record['digest']}`. Version {process['version']}, kernel `{process['kernel']}`, "
            f"{process['threads']} threads on {process['processor']}.\n"
        )
    page += (
        "\nSeconds are those of the whole process up to its last commit. Own memory is the memory of the process without files and the page "
        "cache. Disk is the largest sum of three layers in a row.\n"
    )
    (root.parent / "docs" / "records.md").write_text(page + tables)


main()
