"""Runs, plans, and solutions of single states."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from . import _native
from ._puzzle import AnyPuzzle, _listed, _puzzle, _space
from ._result import Result


def run(
    puzzle: AnyPuzzle,
    metric: str | None = None,
    *,
    threads: int | None = None,
    labels: str | Iterable[Any] | None = None,
    moves: str | Iterable[str] | None = None,
    track: str | Iterable[Any] | None = None,
    free_rotations: bool = False,
    max_depth: int | None = None,
    keep: str | None = None,
    directory: str | os.PathLike[str] | None = None,
    memory: int | None = None,
    engine: str | None = None,
    progress: bool | None = None,
) -> Result:
    """Enumerates the states of a puzzle breadth first, in this process, and returns the result.

    ``metric``, ``labels``, ``moves``, ``track``, ``keep`` and ``engine`` are those of ``fathom run``; lists may be
    given as text or as lists. ``memory`` is in bytes. With a directory, a run that is there is continued, and the
    command ``fathom`` reads it. Without one, the run is in a temporary directory that is removed with the result, and
    keeps all layers.

    Ctrl-C ends the run in order: ``KeyboardInterrupt`` is raised, and the run in ``directory`` can be continued.

    ``progress`` says whether depths are printed on standard error; by default, if that is a terminal.
    """
    native = _puzzle(puzzle)
    space = _space(metric, moves, labels, track, free_rotations)
    if max_depth is not None and max_depth < 0:
        raise ValueError("max_depth: a number from 0")
    if memory is not None and memory <= 0 or threads is not None and threads <= 0:
        raise ValueError("memory and threads: numbers from 1")
    temporary = None
    if directory is None:
        temporary = tempfile.mkdtemp(prefix="fathom-")
        directory = os.path.join(temporary, "run")
        keep = keep or "all"
    options = {"threads": threads, "max_depth": max_depth, "keep": keep, "engine": engine, "memory": memory}
    shows = sys.stderr.isatty() if progress is None and sys.stderr else bool(progress)
    try:
        _native.search(native, space, options, os.fspath(directory), _Progress() if shows else None)
        return Result(directory, memory, temporary)
    except BaseException:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
        raise


class _Progress:
    """Prints depths on standard error."""

    def __init__(self) -> None:
        self.begun = time.monotonic()
        self.is_terminal = sys.stderr.isatty()

    def __call__(self, depth: int, states: int, is_finished: bool) -> None:
        line = f"depth {depth}: {states:,} states, {time.monotonic() - self.begun:.1f} s"
        if is_finished:
            print(f"\r{line}" if self.is_terminal else line, file=sys.stderr, flush=True)
        elif self.is_terminal:
            print(f"\r{line}", end="", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Solution:
    """The distance of a state, and its shortest solutions."""

    distance: int
    """The number of moves of each solution."""
    solutions: list[str]
    """Solutions, in the order of the puzzle's moves."""
    more: bool | None
    """Whether there are more; `None` with tables, which end the search at the first solution."""
    count: int | None
    """The number of all shortest solutions, if it was asked for."""
    state: str
    """The state."""
    method: str
    """How it was solved."""
    notes: list[str] = field(default_factory=list)
    """What readers need to know about the distance."""


def solve(
    puzzle: AnyPuzzle,
    state_or_moves: str | Iterable[int],
    scramble: bool = False,
    *,
    metric: str | None = None,
    labels: str | Iterable[Any] | None = None,
    moves: str | Iterable[str] | None = None,
    track: str | Iterable[Any] | None = None,
    most: int = 1,
    count: bool = False,
    tables: Iterable[str | os.PathLike[str]] = (),
    memory: int | None = None,
) -> Solution:
    """Solves a state in as few moves as possible.

    The state is written as for ``fathom solve``: tiles row by row, as text or as a list, or cycles of cells. With
    ``scramble``, it is the moves that lead to it. ``most`` is the largest number of solutions that are returned.
    ``tables`` are files that ``Result.table_file`` wrote for the same puzzle, with the same labels or coarser ones:
    then the search is by iterative deepening, with their distances as lower bounds.
    """
    native, space = _puzzle(puzzle), _space(metric, moves, labels, track, False)
    if not isinstance(state_or_moves, str):
        state_or_moves = " ".join(str(entry) for entry in state_or_moves)
    options = {
        "scramble": bool(scramble),
        "most": max(int(most), 1),
        "count": bool(count),
        "tables": [os.fspath(table) for table in tables],
        "memory": memory,
    }
    found = json.loads(_native.solve(native, space, state_or_moves, _listed(labels, "labels"), options))
    number = found["count"]
    return Solution(
        distance=found["distance"],
        solutions=found["solutions"],
        more=found["more"],
        count=None if number is None else int(number),
        state=found["state"],
        method=found["method"],
        notes=found["notes"],
    )


def plan(
    puzzle: AnyPuzzle,
    metric: str | None = None,
    *,
    labels: str | Iterable[Any] | None = None,
    moves: str | Iterable[str] | None = None,
    track: str | Iterable[Any] | None = None,
    free_rotations: bool = False,
    threads: int | None = None,
    keep: str | None = None,
) -> dict[str, Any]:
    """Returns what a run would need: the object that ``fathom plan --json`` prints, and the engine.

    Among others, ``states`` is the number of states, ``memory_bytes`` and ``disk_peak_bytes`` what the run takes, and
    ``seconds`` an estimate of its time.
    """
    space = _space(metric, moves, labels, track, free_rotations)
    return json.loads(_native.plan(_puzzle(puzzle), space, threads, keep))
