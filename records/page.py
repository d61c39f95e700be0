#!/usr/bin/env python3
"""Writes the tables of docs/records.md and the page docs/growth.md from the records: `records/page.py`, in the root of the project.

The tables of records.md are between marks, which name them; all other text of the page is written by hand.
"""

import json
import re
from pathlib import Path

BOARDS = [f"{board}-{metric}" for board in ["4x4", "3x5", "2x7", "2x6", "3x4"] for metric in ["multi", "single"]]
# All other records, and the arguments of `fathom run` that compute them.
PUZZLES = dict(line.split("\t") for line in (Path(__file__).parent / "puzzles.tsv").read_text().splitlines())
# Those that have a paragraph of their own in records.md.
DESCRIBED = ["three-colours-multi", "three-colours-single", "3x3x3-edges-multi", "3x3x3-positions-multi", "3x3x3-positions-single", "compy-multi", "fto-multi", "moonspinner-multi"]
CAUSES = ["kernel", "sources", "subtract", "write", "sync", "barrier"]


def size(count, step=1000, units=("B", "KB", "MB", "GB")):
    for unit in units[:-1]:
        if count < step - 0.5:
            return f"{count:.3g} {unit}"
        count /= step
    return f"{count:.3g} {units[-1]}"


def seconds(of):
    return f"{of:.0f}" if of >= 10 else f"{of:.2g}"


def name(record):
    return f"{record['space']} `{record['metric']}`"


def summary(records):
    text = "| space | states | God's number | antipodes | classes | seconds | own memory | disk at the peak |\n|---|---|---|---|---|---|---|---|\n"
    for record in records:
        processes = record["processes"]
        taken = sum(process["seconds"] for process in processes)
        memory = size(max(process["peak_anonymous_bytes"] for process in processes))
        layers = record["layer_bytes"]
        disk = size(max(sum(layers[depth : depth + 3]) for depth in range(len(layers))))
        text += (
            f"| {name(record)} | {record['states']:,} | {record['god_number']} | {record['counts'][-1]:,} "
            f"| {sum(record['classes']):,} | {taken:.3g} | {memory} | {disk} |\n"
        )
    return text


def waits(records):
    """How all kernel threads together spent the run, in seconds."""
    text = "| space | " + " | ".join(CAUSES) + " |\n|---|" + "---:|" * len(CAUSES) + "\n"
    # Records of version 0.1.0 do not have these times.
    for record in (record for record in records if record.get("waits")):
        sums = [sum(depth[cause] for depth in record["waits"]) for cause in CAUSES]
        text += f"| {name(record)} | " + " | ".join(map(seconds, sums)) + " |\n"
    return text


def growth(records):
    sections = []
    for record in records:
        text = f"## {name(record)}\n\n| depth | states | classes |\n|---|---|---|\n"
        for depth, (states, classes) in enumerate(zip(record["counts"], record["classes"])):
            text += f"| {depth} | {states:,} | {classes:,} |\n"
        text += f"| | {sum(record['counts']):,} | {sum(record['classes']):,} |\n"
        process = record["processes"][-1]
        sections.append(
            f"{text}\nDigest `{record['digest']}`. Version {process['version']}, kernel `{process['kernel']}`, "
            f"{process['threads']} threads on {process['processor']}.\n"
        )
    return "\n".join(sections)


def moments(counts):
    """The mean and the variance of the distance."""
    states = sum(counts)
    mean = sum(depth * count for depth, count in enumerate(counts)) / states
    return mean, sum((depth - mean) ** 2 * count for depth, count in enumerate(counts)) / states


def layer(of):
    """A size in binary units, as `fathom plan` shows it."""
    return size(of, 1024, ("B", "KiB", "MiB", "GiB"))


def families(records):
    text = (
        "| run | states | God's number | antipodes | in classes | mean, variance | layer | seconds |\n"
        "|---|---:|---:|---:|---:|---:|---:|---:|\n"
    )
    for file, record in records.items():
        mean, variance = moments(record["counts"])
        arguments = PUZZLES[file].replace(" --keep two", "")
        taken = sum(process["seconds"] for process in record["processes"])
        text += (
            f"| [`{arguments}`](../records/puzzles/{file}.json) | {record['states']:,} | {record['god_number']} | {record['counts'][-1]:,} "
            f"| {record['classes'][-1]:,} | {mean:.2f}, {variance:.2f} | {layer(max(record['layer_bytes']))} | {f'{taken:,.0f}' if taken >= 1000 else f'{taken:.3g}'} |\n"
        )
    return text


def growth_page(records):
    """A section for each record: the states and classes at each depth, the share, and the ratio to the depth before."""
    text = (
        "# Growth functions of other puzzles\n\n"
        "The counts of the [records](records.md#other-puzzles) other than boards. *Share* is that of all states, and *ratio* is the number of states divided by\n"
        "that at the depth before. `records/page.py` writes this page.\n"
    )
    for file, record in records.items():
        counts, before = record["counts"], 0
        mean, variance = moments(counts)
        text += f"\n## {file}\n\n`fathom run {PUZZLES[file]}`\n\n| depth | states | classes | share | ratio |\n|---:|---:|---:|---:|---:|\n"
        for depth, (states, classes) in enumerate(zip(counts, record["classes"])):
            ratio = f"{states / before:.3f}" if before else ""
            text += f"| {depth} | {states:,} | {classes:,} | {states / record['states']:.4%} | {ratio} |\n"
            before = states
        text += f"| | {sum(counts):,} | {sum(record['classes']):,} | | |\n"
        text += f"\nMean {mean:.3f}, variance {variance:.3f}; {record['symmetries']} symmetries. Digest `{record['digest']}`.\n"
    return text


def main():
    root = Path(__file__).parent
    boards = [json.loads((root / f"{board}.json").read_text()) for board in BOARDS]
    # Puzzles have the names of their files, which say more than the space: a space may be a puzzle with labels.
    puzzles = {
        puzzle: json.loads((root / "puzzles" / f"{puzzle}.json").read_text()) | {"space": puzzle.rpartition("-")[0]}
        for puzzle in PUZZLES
    }
    tables = {
        "summary": summary(boards),
        "waits": waits(boards + [puzzles[name] for name in DESCRIBED]),
        "growth": growth(boards),
        "families": families({name: record for name, record in puzzles.items() if name not in DESCRIBED}),
    }
    (root.parent / "docs" / "growth.md").write_text(growth_page(puzzles))
    page = root.parent / "docs" / "records.md"
    text = page.read_text()
    for table, content in tables.items():
        begin, end = f"<!-- {table}, by records/page.py -->\n", f"<!-- end of {table} -->\n"
        pattern = re.escape(begin) + ".*?" + re.escape(end)
        text, places = re.subn(pattern, lambda _: f"{begin}\n{content}\n{end}", text, flags=re.S)
        if places != 1:
            raise SystemExit(f"error: {page} must have exactly one place for the table {table!r}, and has {places}")
    page.write_text(text)


main()
