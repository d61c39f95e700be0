"""Puzzles, and the options that choose a space."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Union

from . import _native

Images = Sequence[int]
"""The cell to which each piece goes: ``[1, 2, 0]`` carries the piece on cell 0 to cell 1."""


class Puzzle:
    """A puzzle: moves of pieces between cells, which are numbered from 0.

    ``Puzzle("3x4")`` is the puzzle of a name, as on the command line, or of a file. ``Puzzle({"L": [1, 2, 0]})`` has
    the moves of a dict. The value of a move is a list of images, a list of cycles such as ``[(0, 1, 2)]``, or cycles as
    text, ``"(1,2,3)"``, which counts cells from 1.

    ``labels`` has a label for each piece; pieces with one label look alike.
    """

    def __init__(
        self,
        puzzle: str | os.PathLike[str] | Mapping[str, Any],
        labels: Iterable[int] | None = None,
        name: str | None = None,
    ) -> None:
        if not isinstance(puzzle, Mapping):
            if labels is not None or name is not None:
                raise ValueError("labels and name are for puzzles from lists; give labels to run()")
            self._native = _native.Puzzle.named(os.fspath(puzzle))
            return
        moves = _images(puzzle)
        labels = None if labels is None else [_label(label) for label in labels]
        self._native = _native.Puzzle.of_images(name or "puzzle", moves, labels)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Puzzle:
        """Reads a puzzle from a file of any format that ``fathom run`` reads."""
        puzzle = cls.__new__(cls)
        puzzle._native = _native.Puzzle.read(os.fspath(path))
        return puzzle

    @property
    def name(self) -> str:
        """The name."""
        return self._native.name

    @property
    def cells(self) -> int:
        """The number of cells."""
        return self._native.cells

    @property
    def metric(self) -> str:
        """The metric in which the puzzle is searched unless another one is chosen."""
        return self._native.metric

    @property
    def labels(self) -> list[int]:
        """The label of the piece on each cell of the solved state."""
        return self._native.labels

    @property
    def remarks(self) -> list[str]:
        """Remarks on how the puzzle was read."""
        return self._native.remarks

    def moves(self, metric: str | None = None) -> dict[str, tuple[list[int], list[int]]]:
        """Returns the images and the turns of each move: the piece on cell ``c`` goes to cell ``images[c]``, and is
        turned by ``turns[c]``."""
        return {name: (images, turns) for name, images, turns in self._native.moves(metric)}

    def __repr__(self) -> str:
        return f"Puzzle({self.name!r})"


AnyPuzzle = Union[str, "os.PathLike[str]", Puzzle]


class Group:
    """The group that the moves of a puzzle generate.

    It permutes cells. If pieces turn, each cell has a point for each orientation.
    """

    def __init__(self, puzzle: AnyPuzzle) -> None:
        self._native = _native.Group(_puzzle(puzzle))

    @property
    def order(self) -> int:
        """The number of elements."""
        return int(self._native.order())

    @property
    def degree(self) -> int:
        """The number of points."""
        return self._native.degree

    def contains(self, images: Images) -> bool:
        """Returns whether the group contains a permutation, given by the image of each point."""
        return self._native.contains([_label(image) for image in images])

    def factor(self, images: Images) -> str:
        """Returns moves whose product is a permutation, given by the image of each point: ``U*R'`` is first ``U``.

        The word is short, but not always a shortest one; :func:`solve` finds shortest ones. The first word takes some
        seconds in a large group. Raises ``ValueError`` if the permutation is not in the group.
        """
        return self._native.factor([_label(image) for image in images])

    def __contains__(self, images: Images) -> bool:
        return self.contains(images)


def _puzzle(puzzle: AnyPuzzle) -> _native.Puzzle:
    return puzzle._native if isinstance(puzzle, Puzzle) else _native.Puzzle.named(os.fspath(puzzle))


def _label(value: Any) -> int:
    number = value.__index__() if hasattr(value, "__index__") else None
    if number is None or not 0 <= number < 65536:
        raise ValueError(f"{value!r} is not a number from 0 to 65535")
    return number


def _listed(values: str | Iterable[Any] | None, what: str) -> str | None:
    """Returns a list as the command line has it."""
    if values is None or isinstance(values, str):
        return values
    words = [str(value) for value in values]
    if not words:
        raise ValueError(f"{what}: an empty list")
    return ",".join(words)


def _space(
    metric: str | None,
    moves: str | Iterable[str] | None,
    labels: str | Iterable[Any] | None,
    track: str | Iterable[Any] | None,
    free_rotations: bool,
) -> dict[str, Any]:
    return {
        "metric": metric,
        "moves": _listed(moves, "moves"),
        "labels": _listed(labels, "labels"),
        "track": _listed(track, "track"),
        "free_rotations": bool(free_rotations),
    }


def _images(moves: Mapping[str, Any]) -> list[tuple[str, list[int]]]:
    """Returns moves as lists of images of one length."""
    found = []
    for name, move in moves.items():
        if isinstance(move, str):
            # Cycles as text count cells from 1.
            if not re.fullmatch(r"(\s*\(\s*(\d+(\s*,\s*\d+|\s+\d+)*)?\s*\))+\s*", move):
                raise ValueError(f"move {name}: {move!r} is not cycles such as (1,2,3)(4,5)")
            cycles = [
                [int(cell) - 1 for cell in re.findall(r"\d+", cycle)] for cycle in re.findall(r"\(([^)]*)\)", move)
            ]
            found.append((str(name), cycles, True))
            continue
        move = list(move)
        is_cycles = bool(move) and not hasattr(move[0], "__index__")
        found.append((str(name), move, is_cycles))
    lengths = [len(move) for _, move, is_cycles in found if not is_cycles]
    last = [cell for _, move, is_cycles in found if is_cycles for cycle in move for cell in cycle]
    cells = max(lengths, default=max(last, default=-1) + 1)
    return [
        (name, _of_cycles(name, move, cells) if is_cycles else [_label(cell) for cell in move])
        for name, move, is_cycles in found
    ]


def _of_cycles(name: str, cycles: Iterable[Sequence[int]], cells: int) -> list[int]:
    images = list(range(cells))
    seen: set[int] = set()
    for cycle in cycles:
        for cell, to in zip(cycle, [*cycle[1:], *cycle[:1]], strict=True):
            if not 0 <= cell < cells or cell in seen:
                raise ValueError(f"move {name}: cell {cell} is not a cell, or is in two cycles")
            seen.add(cell)
            images[cell] = to
    return images
