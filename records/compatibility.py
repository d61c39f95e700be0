#!/usr/bin/env python3
"""Tries every puzzle file below some directories with `fathom`, and writes a page with the result for each.

    records/compatibility.py target/release/fathom CHECKOUT... > compatibility.md

docs/compatibility.md is a summary of that page.

CHECKOUT is a directory, preferably a git checkout, so that the page can name its commit. Each file is planned, and searched if it
has at most --states states; of those that are too large for a plan the first three depths are listed. A file's own metric and labels are used. With --peer PROGRAM, a program such as twsearch that reads a
.tws or .ksolve file and prints lines of depth and count, its table is compared with ours if both are complete, and so is its time;
--peer-for CHECKOUT does so only for the files of one directory. With --published DIRECTORY, which has logs of such runs, those of
the same file are compared in the same way.
"""

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ENDINGS = (".tws", ".def", ".ksolve", ".gap", ".kpuzzle.json", ".kpuzzle.json.ts")
PLAN_SECONDS = 60
SEARCH_SECONDS = 120


def rounded(states):
    """A number of states, as a power of ten if it is too long for a table."""
    digits = states.replace(",", "")
    return states if len(digits) <= 24 else f"{digits[0]}.{digits[1:3]} x 10^{len(digits) - 1}"


def run(arguments, seconds, cwd):
    """The result of a command and its wall-clock seconds; None if it took too long."""
    before = time.perf_counter()
    try:
        result = subprocess.run(arguments, capture_output=True, text=True, timeout=seconds, cwd=cwd)
    except subprocess.TimeoutExpired:
        return None, seconds
    return result, time.perf_counter() - before


def reason(result):
    """Why a command refused, in one line of a table."""
    lines = [line for line in result.stderr.splitlines() if line.startswith("error:")]
    text = lines[0] if lines else f"exit code {result.returncode}"
    text = re.sub(r"^error: ", "", text)
    text = re.sub(r"^\S*/", "", text)
    return text.replace("|", "\\|")


def table(text):
    """The states at each depth in the output of twsearch -g: all states, even if it counts up to symmetry."""
    lines = re.findall(r"^Dist \d+ (?:cnt )?(\d+) (?:tot )?\d+(?: scnt (\d+))?", text, re.M)
    counts = [int(states or classes) for classes, states in lines]
    # The last line may be the depth at which nothing was found.
    return counts[:-1] if counts and counts[-1] == 0 else counts


def name_of(checkout):
    """The name of a repository whose directory is OWNER+NAME."""
    return checkout.name.replace("+", "/")


def peer_counts(program, file):
    """The complete table that another program prints, if it ends in time, and the time it took."""
    result, seconds = run([program, "-g", str(file)], SEARCH_SECONDS, None)
    if result is None:
        return None, f"> {SEARCH_SECONDS}"
    return (table(result.stdout), f"{seconds:.2f}") if result.returncode == 0 else (None, "")


def published_tables(directory):
    """Maps the name of a .tws file, without its ending, to the tables of its logs. Quarter turns are a different metric."""
    tables = {}
    for log in sorted(directory.rglob("*.log")):
        text = log.read_text(errors="replace")
        command = re.search(r"^# (\S*twsearch .*?(\S+)\.tws)$", text, re.M)
        if command and " -q" not in command[1]:
            tables.setdefault(Path(command[2]).name, []).append(table(text))
    return tables


def has_peer(options, checkout):
    """Whether the files of a directory are searched by the other program, too."""
    return options.peer and options.peer_for in (None, checkout)


def first_depths(options, file, scratch):
    """The number of states at depths 1, 2 and 3 of a space that is too large to be searched."""
    with tempfile.TemporaryDirectory(dir=scratch) as directory:
        command = [options.fathom, "run", "-q", "--json", "--max-depth", "3", "--dir", "run", str(file)]
        listed, _ = run(command, SEARCH_SECONDS, directory)
    if listed is None:
        return f"not listed in {SEARCH_SECONDS} s"
    if listed.returncode != 0:
        return reason(listed)
    return "; ".join(f"{states:,}" for states in json.loads(listed.stdout)["counts"][1:])


def row(options, checkout, file, scratch):
    """The result for a file: name, kind, states, fill, seconds to plan, seconds to search, those of the peer, outcome, and
    the fill of one bit for each class of states, which is less than 1 if symmetries fix many states."""
    name = str(file.relative_to(checkout))
    planned, plan_seconds = run([options.fathom, "plan", "--json", str(file)], PLAN_SECONDS, scratch)
    if planned is None:
        return [name, f"not planned in {PLAN_SECONDS} s", "", "", "", "", "", "", ""]
    if planned.returncode != 0:
        text = reason(planned)
        states = re.search(r"has ([\d,]+) states", text)
        kind = "too large" if states else f"refused: {text}"
        depths = first_depths(options, file, scratch) if states else ""
        return [name, kind, rounded(states.group(1)) if states else "", "", f"{plan_seconds:.1f}", "", "", depths, ""]
    plan = json.loads(planned.stdout)
    states = int(plan["states"])
    cells = [name, "loads", f"{states:,}", f"{plan['fill']:.2f}", f"{plan_seconds:.1f}", "", "", "", ""]
    if states > options.states:
        return cells
    command = [options.fathom, "run", "-q", "--json", "--dir", "run", str(file)]
    with tempfile.TemporaryDirectory(dir=scratch) as directory:
        searched, seconds = run(command, SEARCH_SECONDS, directory)
    if searched is None or searched.returncode != 0:
        cells[7] = f"not ended in {SEARCH_SECONDS} s" if searched is None else reason(searched)
        return cells
    found = json.loads(searched.stdout)
    cells[5] = f"{seconds:.2f}"
    cells[8] = f"{states / plan['symmetries'] / sum(found['classes']):.2f}" if found["classes"] else ""
    cells[7] = f"God's number {found['god_number']}" if found["complete"] else "not complete"
    published = [counts for counts in options.tables.get(file.stem, []) if sum(counts) == states]
    if published and file.suffix == ".tws":
        same = found["counts"] in published
        cells[7] += ", as published" if same else ", **other than published**"
    if has_peer(options, checkout) and file.suffix in (".tws", ".ksolve"):
        counts, cells[6] = peer_counts(options.peer, file)
        if counts and sum(counts) == states:
            cells[7] += ", as the peer" if counts == found["counts"] else ", **other than the peer**"
    return cells


def is_low(cells):
    """Whether a planned file that is not too large to search stores more than 2.5 bits for each state up to symmetry."""
    return cells[1] == "loads" and int(cells[2].replace(",", "")) <= 10**14 and float(cells[3]) < 0.4


def ratios(rows):
    """For the files of 10^5 to 10^9 states that both programs searched: their number, the geometric mean of the peer's time over
    ours, and the files with the smallest ratio. If the peer was stopped, the time limit counts."""
    known = {}
    for cells in rows:
        if cells[5] and cells[6] and 10**5 <= int(cells[2].replace(",", "")) <= 10**9:
            known[cells[0]] = float(cells[6].removeprefix("> ")) / float(cells[5])
    mean = math.exp(sum(map(math.log, known.values())) / len(known)) if known else 0
    return len(known), mean, sorted(known.items(), key=lambda item: item[1])[:5]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fathom", type=Path)
    parser.add_argument("checkouts", nargs="+", type=Path)
    parser.add_argument("--states", type=int, default=3_000_000, help="search spaces with at most this many states")
    parser.add_argument("--peer", help="another program to compare tables with")
    parser.add_argument("--peer-for", type=Path, help="the only directory whose files it searches")
    parser.add_argument("--published", type=Path, help="a directory with logs of such a program")
    options = parser.parse_args()
    options.tables = published_tables(options.published) if options.published else {}
    options.fathom = options.fathom.resolve()
    options.peer_for = options.peer_for and options.peer_for.resolve()
    version = subprocess.run([options.fathom, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    print("# Compatibility\n")
    print("Puzzle files that others have published, and what Fathom makes of each. Made by `records/compatibility.py` on")
    print(f"{time.strftime('%Y-%m-%d')} with {version}. Spaces of up to {options.states:,} states")
    print("are searched. Seconds are those of the clock, of the whole process.", end=" " if options.peer else "\n")
    if options.peer:
        files = f"the files of {name_of(options.peer_for)}" if options.peer_for else "all files"
        print(f"The peer is `{Path(options.peer).name} -g`, which has {SEARCH_SECONDS} seconds for each of {files}.")
    low, timed = [], []
    with tempfile.TemporaryDirectory() as scratch:
        for checkout in options.checkouts:
            checkout = checkout.resolve()
            commit = subprocess.run(["git", "-C", checkout, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
            files = sorted(path for path in checkout.rglob("*") if path.name.endswith(ENDINGS) and path.is_file())
            rows = [row(options, checkout, file, scratch) for file in files]
            low += [cells for cells in rows if is_low(cells)]
            timed += rows
            loads = sum(cells[1] == "loads" for cells in rows)
            large = sum(cells[1].startswith("too large") for cells in rows)
            print(f"\n## {name_of(checkout)}\n")
            print(f"{f'Commit {commit}: ' if commit else ''}{len(rows)} files, of which {loads} are planned, {large} are too large to search, and {len(rows) - loads - large} are refused.\n")
            head = ["file", "", "states", "fill", "plan (s)", "search (s)", "peer (s)", ""]
            rules = ["---", "---", "---:", "---:", "---:", "---:", "---:", "---"]
            for cells in [head, rules, *rows]:
                # Without a peer its column is omitted.
                print("| " + " | ".join(cells[:6] + cells[6 if has_peer(options, checkout) else 7:8]) + " |")
            sys.stdout.flush()
    print(f"\n## Low fill\n\n{len(low)} planned files of at most 10^14 states have a fill below 0.4:\n")
    for cells in low:
        times = f"; searched in {cells[5]} s" + (f", by the peer in {cells[6]} s" if cells[6] else "") if cells[5] else ""
        possible = f"; a bit for each class of states would be {cells[8]}" if cells[8] else ""
        print(f"- {cells[0]} ({cells[2]} states, fill {cells[3]}{possible}{times})")
    if options.peer:
        count, mean, least = ratios(timed)
        print(f"\n## Times beside the peer\n\nThe {count} files of 10^5 to 10^9 states that both searched took the peer, by the geometric mean, {mean:.0f} times")
        print(f"as long; where it was stopped after {SEARCH_SECONDS} s, that time counts. Least: " + ", ".join(f"{name} {ratio:.1f}" for name, ratio in least) + ".")


if __name__ == "__main__":
    main()
