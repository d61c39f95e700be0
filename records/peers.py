#!/usr/bin/env python3
"""Counts the same spaces with Fathom, CayleyPy and GAP, one after the other, and writes the table of docs/comparison.md.

    records/peers.py target/release/fathom --cayleypy PYTHON --gap GAP

PYTHON is an interpreter that has CayleyPy (`pip install cayleypy`), and GAP the program `gap` (Debian: gap-core). Those that are not
given are left out. Each program reads the moves that `fathom definition` writes, and must find the same counts.
"""

import argparse
import json
import re
import resource
import subprocess
import tempfile
import time
from pathlib import Path

SPACES = ["lrx:8", "lrx:9", "lrx:10", "pancake:9", "pancake:10", "lrx:11"]
# GAP is not asked for more states than this: it lists elements in memory.
MOST_FOR_GAP = 400_000

CAYLEYPY = """
import json, sys
import cayleypy
moves = json.load(open(sys.argv[1]))
definition = cayleypy.CayleyGraphDef.create(generators=list(moves.values()), generator_names=list(moves))
graph = cayleypy.CayleyGraph(definition, device="cpu")
print(json.dumps(graph.bfs().layer_sizes))
"""

GAP = """
counts := GrowthFunctionOfGroup(G);;
Print("counts ", counts, "\\n");
QUIT;
"""


def timed(command):
    """The output of a command, and its wall time and processor time in seconds."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    wall, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def of_fathom(program, word, directory):
    run = [program, "run", word, "--dir", directory / "run", "--json", "-q"]
    return lambda: timed(run), lambda output: json.loads(output)["counts"]


def of_cayleypy(python, program, word, directory):
    images = directory / "images.json"
    images.write_text(timed([program, "definition", word, "--format", "json"])[0])
    search = directory / "search.py"
    search.write_text(CAYLEYPY)
    return lambda: timed([python, search, images]), lambda output: json.loads(output.splitlines()[-1])


def of_gap(gap, program, word, directory):
    text = timed([program, "definition", word, "--format", "gap"])[0]
    search = directory / "search.g"
    search.write_text(text + GAP)
    flat = lambda output: "".join(output.split())
    counts = lambda output: json.loads(re.search(r"counts(\[[\d,]*\])", flat(output.replace("\\\n", "")))[1])
    return lambda: timed([gap, "-q", "-A", "-T", "-o", "12g", search]), counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fathom")
    parser.add_argument("--cayleypy")
    parser.add_argument("--gap")
    args = parser.parse_args()
    programs = [name for name in ["fathom", "cayleypy", "gap"] if getattr(args, name)]
    print("| space | states | " + " | ".join(programs) + " |\n|---|---:|" + "---:|" * len(programs))
    for word in SPACES:
        cells, counts = [], None
        for name in programs:
            with tempfile.TemporaryDirectory() as made:
                directory = Path(made)
                if name == "gap" and sum(counts) > MOST_FOR_GAP:
                    cells.append("")
                    continue
                run, read = {
                    "fathom": lambda: of_fathom(args.fathom, word, directory),
                    "cayleypy": lambda: of_cayleypy(args.cayleypy, args.fathom, word, directory),
                    "gap": lambda: of_gap(args.gap, args.fathom, word, directory),
                }[name]()
                output, wall, processor = run()
                found = read(output)
                counts = counts or found
                assert found == counts, f"{name} {word}: {found}, not {counts}"
                cells.append(f"{wall:.2f} s ({processor:.2f} s)")
        print(f"| `{word}` | {sum(counts):,} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
