"""The results of runs."""

from __future__ import annotations

import html
import json
import math
import os
import shutil
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _native

if TYPE_CHECKING:
    import networkx
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


Form = tuple[int, bool, bool]
"""The number of cells, whether pieces turn, and whether labels are bytes."""


class Edges(NamedTuple):
    """The graph of all states: nodes are numbered in the order of distances."""

    states: NDArray[Any]
    """The state of each node: an array of states."""
    distances: NDArray[np.int16]
    """The distance of each node."""
    source: NDArray[np.int64]
    """The node from which each edge leads."""
    target: NDArray[np.int64]
    """The node to which it leads."""
    move: NDArray[np.int64]
    """Its move, as an index of ``moves``."""
    moves: list[str]
    """The names of the moves."""


class Result:
    """The result of a run at the time when the run was opened.

    Methods that read layers raise ``ValueError`` if the run did not keep them, and ``RuntimeError`` if a file is
    damaged. Threads may call them at the same time.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        memory: int | None = None,
        temporary: str | None = None,
    ) -> None:
        self._run = _native.Run(os.fspath(directory), memory)
        self._summary: dict[str, Any] = json.loads(self._run.summary())
        self.directory: str = os.fspath(directory)
        """The directory of the run."""
        self._form: Form | None = None
        if temporary is not None:
            weakref.finalize(self, shutil.rmtree, temporary, ignore_errors=True)

    def _shape(self, states: int) -> tuple[int, ...]:
        if self._form is None:
            self._form = self._run.form()
        return _shape(self._form, states)

    @property
    def puzzle(self) -> str:
        """The name of the puzzle."""
        return self._summary["space"]

    @property
    def metric(self) -> str:
        """The metric."""
        return self._summary["metric"]

    @property
    def labels(self) -> list[int] | None:
        """The label of each piece; ``None`` if all differ."""
        return self._summary["labels"]

    @property
    def counts(self) -> list[int]:
        """The number of states at each distance."""
        return self._summary["counts"]

    @property
    def classes(self) -> list[int] | None:
        """The number of states up to symmetry at each distance; ``None`` if they were not counted."""
        return self._summary["classes"]

    @property
    def states(self) -> int | None:
        """The number of states of the space; ``None`` if it is unknown."""
        return sum(self.counts) if self.complete else self._summary["states"]

    @property
    def complete(self) -> bool:
        """Whether every state was visited."""
        return self._summary["complete"]

    @property
    def largest(self) -> int:
        """The largest distance so far; -1 if there is none."""
        return len(self.counts) - 1

    @property
    def gods_number(self) -> int | None:
        """The largest distance, if the run is complete and its moves are closed under inverses."""
        return self._summary["god_number"] if self._summary["inverse_closed"] else None

    @property
    def digest(self) -> str:
        """The digest of all layers."""
        return self._summary["digest"]

    @property
    def seconds(self) -> float:
        """The seconds that the layers took."""
        return self._summary["seconds"]

    @property
    def notes(self) -> list[str]:
        """What readers need to know about the result."""
        return self._summary["notes"]

    def _rows(self) -> list[dict[str, Any]]:
        rows, visited, states = [], 0, self.states
        for depth, count in enumerate(self.counts):
            visited += count
            row: dict[str, Any] = {"depth": depth, "states": count}
            if self.classes is not None:
                row["classes"] = self.classes[depth]
            row["cumulative"] = visited
            row["share"] = visited / states if states else None
            rows.append(row)
        return rows

    def table(self) -> Any:
        """Returns the growth table: a pandas DataFrame if pandas is installed, and otherwise a list of dicts."""
        rows = self._rows()
        try:
            import pandas
        except ImportError:
            return rows
        return pandas.DataFrame(rows)

    def __repr__(self) -> str:
        number = f"largest distance {self.largest}" if self.complete else f"finished to depth {self.largest}"
        return f"<Result {self.puzzle} {self.metric}: {sum(self.counts):,} states, {number}>"

    def _repr_html_(self) -> str:
        names = list(self._rows()[0]) if self.counts else []

        def cell(name: str, value: Any) -> str:
            text = "" if value is None else f"{value:.4%}" if name == "share" else f"{value:,}"
            return f'<td style="text-align:right">{text}</td>'

        head = "".join(f"<th>{name}</th>" for name in names)
        body = "".join(
            "<tr>" + "".join(cell(name, value) for name, value in row.items()) + "</tr>" for row in self._rows()
        )
        title = html.escape(f"{self.puzzle} {self.metric}")
        state = f"largest distance {self.largest}" if self.complete else f"finished to depth {self.largest}"
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return (
            f"<div><p><b>{title}</b>: {sum(self.counts):,} states, {state}</p>{_plot(self.counts)}{notes}"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )

    def distance(self, states: ArrayLike) -> NDArray[np.int16]:
        """Returns the distance of each state.

        ``states`` has the shape ``(n, cells)``, or ``(n, 2, cells)`` if pieces turn, and integers; ``uint8`` and
        ``uint16`` are not copied. The result has the shape ``(n,)`` and the dtype ``int16``: -1 for states that are in
        no layer that was kept, and for those that moves do not reach. A single state, an array of one dimension less,
        gives an array without dimensions.

        The first call reads all layers into memory, if they fit there. All threads look up states, without the
        interpreter lock.

        A row whose pieces are not those of the puzzle raises ``ValueError``.
        """
        return _look_up(self._run, self._shape(0), states)

    def layer(self, depth: int, limit: int | None = None) -> NDArray[Any]:
        """Returns the states of a depth, or the first ``limit`` of them: an array of the shape ``(n, cells)``, or ``(n,
        2, cells)`` if pieces turn, and the dtype ``uint8``, or ``uint16`` if a label is greater than 255."""
        if depth < 0 or limit is not None and limit < 0:
            raise ValueError("depth and limit: numbers from 0")
        states, array = self._run.layer(depth, limit)
        return array.reshape(self._shape(states))

    def antipodes(self, limit: int = 100) -> list[dict[str, Any]]:
        """Returns classes of states at the largest distance, up to symmetry, at most ``limit``.

        Each is a dict: ``size`` is the number of states of the class, ``symmetry`` the number of symmetries of each,
        ``state`` one of them, and ``solution`` a shortest solution; ``scramble`` instead, moves that lead to it, if the
        moves are not closed under inverses.
        """
        if limit < 0:
            raise ValueError("limit: a number from 0")
        return json.loads(self._run.antipodes(limit))

    def edges(self) -> Edges:
        """Returns the graph of all states, of which there may be a million at most."""
        states, distances, (source, target, move), names = self._run.edges()
        return Edges(states.reshape(self._shape(len(distances))), distances, source, target, move, names)

    def table_file(self, path: str | os.PathLike[str], *, replace: bool = False) -> PatternDatabase:
        """Writes the distances of all states to a file, as ``fathom table`` does, and opens it."""
        self._run.table_file(os.fspath(path), replace)
        return PatternDatabase(path)

    def report(self, format: str = "md") -> str:
        """Returns a report: ``html``, ``md``, ``csv``, ``json``, ``latex``, ``oeis`` or ``svg``."""
        return self._run.report(format)

    def verify(self) -> dict[str, Any]:
        """Reads all files, counts states again, and compares both with the journal of the run.

        Returns the numbers of ``layers``, ``files``, ``bytes`` and ``states``, whether the run is ``complete``, and the
        ``digest``. Raises ``RuntimeError`` if something differs.
        """
        return json.loads(self._run.verify())


class PatternDatabase:
    """A file with the distances of all states of a puzzle, which ``Result.table_file`` or ``fathom table`` wrote.

    If its labels are coarser than those of a puzzle, its distances are lower bounds there.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._table = _native.Table(os.fspath(path))
        self._form: Form = self._table.form()
        self.puzzle, self.metric, self.labels = self._table.space()
        """The puzzle, the metric, and the label of each piece."""
        self.head: dict[str, Any] = json.loads(self._table.head())
        """The description at the beginning of the file."""

    def __call__(self, states: ArrayLike) -> NDArray[np.int16]:
        """Returns the distance of each state, which has the labels of the file; shapes and dtypes are those of
        ``Result.distance``."""
        return _look_up(self._table, _shape(self._form, 0), states)

    def project(self, states: ArrayLike) -> NDArray[Any]:
        """Returns states whose entries are the numbers of pieces with the labels of the file instead."""
        import numpy as np

        states, labels = np.asarray(states), np.asarray(self.labels)
        dtype = np.uint8 if labels.max() < 256 else np.uint16
        if not self._form[1]:
            return labels[states].astype(dtype)
        turned = states.astype(dtype)
        turned[..., 0, :] = labels[states[..., 0, :]]
        return turned

    def __repr__(self) -> str:
        return f"<PatternDatabase {self.puzzle} {self.metric}: {self.head['states']:,} states>"


def open(directory: str | os.PathLike[str], memory: int | None = None) -> Result:
    """Opens the directory of a run, finished or not. ``memory`` is what its layers may take, in bytes."""
    return Result(directory, memory)


def to_networkx(result: Result) -> networkx.MultiDiGraph:
    """Returns the graph of all states.

    Nodes are numbers; the attribute ``state`` is a tuple of labels, and ``distance`` the distance. Each edge has the
    attribute ``move``.
    """
    import networkx

    states, distances, source, target, move, moves = result.edges()
    graph = networkx.MultiDiGraph(name=f"{result.puzzle} {result.metric}")
    rows = states.reshape(len(states), -1).tolist()
    nodes = zip(range(len(rows)), rows, distances.tolist(), strict=True)
    graph.add_nodes_from((node, {"state": tuple(row), "distance": distance}) for node, row, distance in nodes)
    names = [moves[number] for number in move.tolist()]
    graph.add_edges_from(
        (one, other, {"move": name}) for one, other, name in zip(source.tolist(), target.tolist(), names, strict=True)
    )
    return graph


def _shape(form: Form, states: int) -> tuple[int, ...]:
    cells, turns, _ = form
    return (states, 2, cells) if turns else (states, cells)


def _look_up(native: Any, shape: tuple[int, ...], states: ArrayLike) -> NDArray[np.int16]:
    import numpy as np

    array = np.asarray(states)
    shape = shape[1:]
    leading = array.ndim - len(shape)
    if leading not in (0, 1) or array.shape[leading:] != shape:
        expected = ", ".join(str(length) for length in shape)
        raise ValueError(f"states have the shape {array.shape}; expected (n, {expected})")
    if array.dtype not in (np.uint8, np.uint16):
        if array.dtype.kind not in "iu":
            raise ValueError(f"states have the dtype {array.dtype}; expected integers")
        if array.size and not (array.min() >= 0 and array.max() <= 65535):
            raise ValueError("states have entries that are not labels")
        array = array.astype(np.uint16)
    array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    return native.distances(array.reshape(-1)).reshape(array.shape[:leading])


def _plot(counts: list[int]) -> str:
    """Returns a plot of the counts, on a logarithmic scale."""
    if len(counts) < 2:
        return ""
    width, height, left, bottom = 480, 180, 40, 20
    most = max(math.log10(max(counts)), 1)
    across = (width - left - 10) / len(counts)

    def top(count: int) -> float:
        return (height - bottom) * (1 - math.log10(max(count, 1)) / most * 0.95)

    bars = "".join(
        f'<rect x="{left + depth * across:.1f}" y="{top(count) - 1:.1f}" width="{across * 0.8:.1f}" '
        f'height="{height - bottom - top(count) + 1:.1f}" fill="#3b6ea5"><title>{depth}: {count:,}</title></rect>'
        for depth, count in enumerate(counts)
    )
    step = max(1, math.ceil(len(counts) / 16))
    below = "".join(
        f'<text x="{left + (depth + 0.4) * across:.1f}" y="{height - 5}" text-anchor="middle">{depth}</text>'
        for depth in range(0, len(counts), step)
    )
    powers = range(0, int(most) + 1, max(1, int(most) // 4))
    beside = "".join(
        f'<text x="{left - 4}" y="{top(10**power) + 4:.1f}" text-anchor="end">1e{power}</text>' for power in powers
    )
    return (
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-size="10" '
        f'xmlns="http://www.w3.org/2000/svg" fill="currentColor">{bars}{below}{beside}</svg>'
    )
