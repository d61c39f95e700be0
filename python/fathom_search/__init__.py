"""Counts the states of permutation puzzles by their distance from solved, and looks up distances.

>>> import fathom_search as fathom
>>> fathom.run("2x3").counts
[1, 7, 31, 115, 274, 253, 36, 3]

States are arrays of integers. A state has one entry for each cell: the label of the piece there. If pieces turn, it has
two rows, of labels and of turns. So an array of ``n`` states has the shape ``(n, cells)`` or ``(n, 2, cells)``, and the
dtype ``uint8``, or ``uint16`` if a label is greater than 255. ``fathom export --format npy`` writes such arrays.

Bad input raises ``ValueError``, anything else that fails ``RuntimeError``.
"""

from __future__ import annotations

from ._cluster import cluster
from ._puzzle import Group, Puzzle
from ._result import Edges, PatternDatabase, Result, open, to_networkx
from ._run import Solution, plan, run, solve

__all__ = [
    "Edges",
    "Group",
    "PatternDatabase",
    "Puzzle",
    "Result",
    "Solution",
    "cluster",
    "open",
    "plan",
    "run",
    "solve",
    "to_networkx",
]
