"""Counts, distances and layers equal those of a plain search."""

from __future__ import annotations

import csv
import itertools
import json
import pathlib
import re
import threading

import numpy as np
import pytest
from conftest import board, counts_of, pancakes, search, search_turned

import fathom_search as fathom

DATA = pathlib.Path(__file__).parents[2] / "tests" / "data"

CUBE = [1, 9, 54, 321, 1847, 9992, 50136, 227536, 870072, 1887748, 623800, 2644]
"""The known counts of the 2x2x2 cube in the half-turn metric."""


@pytest.mark.parametrize(
    "puzzle, moves",
    [("2x3", board(2, 3)), ("2x4", board(2, 4)), ("pancake:6", pancakes(6)), ("pancake:7", pancakes(7))],
)
@pytest.mark.parametrize("engine", [None, "cosets", "lists"])
def test_counts_equal_a_plain_search(puzzle, moves, engine):
    result = fathom.run(puzzle, engine=engine)
    assert result.counts == counts_of(search(moves))
    assert result.complete and result.gods_number == result.largest == len(result.counts) - 1
    assert result.states == sum(result.counts)


def test_counts_of_the_cube_are_known():
    result = fathom.run("2x2x2")
    assert result.counts == CUBE and result.gods_number == 11
    assert result.distance(result.layer(11, limit=20)).tolist() == [11] * 20


@pytest.mark.parametrize("puzzle", ["2x2", "2x3", "2x4", "3x3"])
@pytest.mark.parametrize("metric", ["multi", "single"])
def test_counts_and_classes_are_those_of_the_data(puzzle, metric):
    tables = json.loads((DATA / "boards.json").read_text())["tables"]
    known = next(table for table in tables if (table["puzzle"], table["metric"]) == (puzzle, metric))
    result = fathom.run(puzzle, metric, engine="cosets")
    assert result.counts == known["counts"] and result.classes == known["classes"]
    assert result.states == known["states"] and result.gods_number == known["god_number"]


@pytest.mark.parametrize("metric", ["multi", "single"])
def test_digest_is_known(metric):
    with (DATA / "plans" / "digests.csv").open() as file:
        known = {row["name"]: row for row in csv.DictReader(file)}[f"3x4-{metric}"]
    result = fathom.run("3x4", metric, max_depth=int(known["depth"]), keep="last")
    assert sum(result.counts) == int(known["states"]) and result.digest == known["digest"]


def test_digest_does_not_depend_on_threads():
    one, other = fathom.run("2x4", threads=1), fathom.run("2x4", threads=2)
    assert one.digest == other.digest and fathom.run("2x4", "single").digest != one.digest


@pytest.mark.parametrize("engine", ["cosets", "lists"])
def test_distances_equal_a_plain_search(engine, small_board):
    result, known = fathom.run("2x4", engine=engine), small_board[1]
    generator = np.random.default_rng(1)
    states = generator.permuted(np.tile(np.arange(8, dtype=np.uint8), (10_000, 1)), axis=1)
    found = result.distance(states)
    assert found.dtype == np.int16 and found.shape == (10_000,)
    assert found.tolist() == [known.get(tuple(state), -1) for state in states.tolist()]
    assert (result.distance(states.astype(np.int64)) == found).all()
    assert result.distance(states[0]).shape == () and int(result.distance(states[0])) == found[0]
    assert result.distance(np.asfortranarray(states)).tolist() == found.tolist()
    assert result.distance(states[:0]).shape == (0,)


@pytest.mark.parametrize("engine", ["cosets", "lists"])
@pytest.mark.parametrize("puzzle, moves", [("2x4", board(2, 4)), ("pancake:7", pancakes(7))])
def test_layers_equal_a_plain_search(puzzle, moves, engine):
    result, known = fathom.run(puzzle, engine=engine), search(moves)
    for depth in range(len(result.counts)):
        layer = result.layer(depth)
        assert layer.dtype == np.uint8 and layer.shape == (result.counts[depth], result.layer(0).shape[1])
        states = set(map(tuple, layer.tolist()))
        assert states == {state for state, distance in known.items() if distance == depth}
    assert len(result.layer(3, limit=5)) == 5
    assert result.layer(3, limit=0).shape == (0, layer.shape[1])


def test_unreachable_states_have_no_distance():
    result = fathom.run("pancake:5", max_depth=3)
    assert not result.complete and result.gods_number is None and result.largest == 3
    known = search(pancakes(5))
    states = np.array(list(known), dtype=np.uint8)
    expected = [distance if distance <= 3 else -1 for distance in known.values()]
    assert result.distance(states).tolist() == expected
    # The moves of this puzzle are even, so half of all states are out of reach.
    even = fathom.run(fathom.Puzzle({"L": [1, 2, 0, 3, 4], "R": [0, 1, 3, 4, 2]}), "single")
    assert int(even.distance([1, 0, 2, 3, 4])) == -1 and int(even.distance([1, 0, 2, 4, 3])) > 0


@pytest.mark.parametrize("engine", ["cosets", "lists"])
def test_turned_pieces_equal_a_plain_search(engine):
    puzzle = fathom.Puzzle("2x2x2")
    chosen = {name: move for name, move in puzzle.moves("multi").items() if name in ("U", "U'", "U2", "R", "R'", "R2")}
    assert len(chosen) == 6
    known = search_turned(list(chosen.values()), [3] * puzzle.cells)
    result = fathom.run(puzzle, "multi", moves=chosen, engine=engine)
    assert result.counts == counts_of(known)
    states = np.array(list(known), dtype=np.uint8).reshape(len(known), 2, puzzle.cells)
    assert result.distance(states).tolist() == list(known.values())
    layer = result.layer(4)
    assert set(map(tuple, layer.reshape(len(layer), -1).tolist())) == {s for s, d in known.items() if d == 4}
    twisted = states[0].copy()
    twisted[1, 0] = 1
    assert int(result.distance(twisted)) == -1


def test_labels_are_those_of_pieces():
    labels = [0, 0, 1, 1, 2, 2]
    result = fathom.run("2x3", labels=labels)
    known = search(board(2, 3))
    least: dict[tuple[int, ...], int] = {}
    for state, distance in known.items():
        seen = tuple(labels[piece] for piece in state)
        least[seen] = min(distance, least.get(seen, distance))
    assert result.counts == counts_of(least) and result.labels == labels
    states = np.array(list(least), dtype=np.uint8)
    assert result.distance(states).tolist() == list(least.values())


def test_pattern_database_equals_a_plain_search(tmp_path, small_board):
    result, known = small_board
    table = result.table_file(tmp_path / "2x4.table")
    states = np.array(list(known), dtype=np.uint8)
    assert table(states).tolist() == list(known.values())
    assert fathom.PatternDatabase(tmp_path / "2x4.table").head["states"] == 40320
    labels = [0, 1, 2, 3, 4, 4, 4, 4]
    pattern = fathom.run("2x4", labels=labels).table_file(tmp_path / "pattern.table")
    least: dict[tuple[int, ...], int] = {}
    for state, distance in known.items():
        seen = tuple(labels[piece] for piece in state)
        least[seen] = min(distance, least.get(seen, distance))
    projected = pattern.project(states)
    assert pattern(projected).tolist() == [least[tuple(state)] for state in projected.tolist()]
    hard = result.layer(result.largest)[0].tolist()
    solved = fathom.solve("2x4", hard, tables=[tmp_path / "pattern.table"])
    assert solved.distance == result.largest and solved.method == "tables"


def test_pattern_database_rejects_twisted_states(tmp_path, corners):
    table = corners.table_file(tmp_path / "corners.table")
    states = corners.layer(5)
    assert (table(states) == 5).all()
    states[:, 1, 0] = (states[:, 1, 0] + 1) % 3
    assert (table(states) == -1).all() and (corners.distance(states) == -1).all()


def test_edges_are_moves(small_board):
    result, known = fathom.run("pancake:5"), search(pancakes(5))
    edges = result.edges()
    assert len(edges.states) == 120 and len(edges.source) == 120 * 4
    assert edges.distances.tolist() == [known[tuple(state)] for state in edges.states.tolist()]
    assert (abs(edges.distances[edges.source] - edges.distances[edges.target]) <= 1).all()
    assert sorted(set(edges.move.tolist())) == list(range(len(edges.moves)))


def test_graph_of_networkx_has_the_same_distances():
    networkx = pytest.importorskip("networkx")
    graph = fathom.to_networkx(fathom.run("pancake:5"))
    found = networkx.single_source_shortest_path_length(graph, 0)
    assert all(data["distance"] == found[node] for node, data in graph.nodes(data=True))


def test_antipodes_have_solutions_of_the_largest_length(small_board):
    result, known = small_board
    antipodes = result.antipodes(limit=10_000)
    assert sum(entry["size"] for entry in antipodes) == result.counts[-1]
    for entry in antipodes:
        assert known[tuple(map(int, entry["state"].split()))] == result.largest
        assert len(entry["solution"].split()) == result.largest
    assert len(result.antipodes(limit=1)) == 1


def test_threads_look_up_states_at_the_same_time(small_board):
    result, known = fathom.run("2x4"), small_board[1]
    states, expected = np.array(list(known), dtype=np.uint8), list(known.values())
    found = [None] * 8

    def look_up(number):
        found[number] = result.distance(states).tolist() == expected and len(result.layer(2)) == result.counts[2]

    threads = [threading.Thread(target=look_up, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 8


def test_tables_and_reports(small_board):
    result = small_board[0]
    rows = result.table()
    states = [row["states"] for row in rows] if isinstance(rows, list) else rows["states"].tolist()
    assert states == result.counts
    page = result._repr_html_()
    assert page.count("<tr>") == len(result.counts) + 1 and "<svg" in page
    assert "solution" in result.report("json") and result.report("svg").startswith("<svg")
    assert "40,320" in repr(result) and sum(result.classes) < sum(result.counts)
    named = fathom.run(fathom.Puzzle({"L": [1, 2, 0]}, name="<i>&x"), "single")
    assert "&lt;i&gt;&amp;x" in named._repr_html_() and "<i>" not in named._repr_html_()


def test_runs_in_a_directory_are_continued(tmp_path):
    part = fathom.run("pancake:6", max_depth=3, directory=tmp_path / "run", keep="all")
    assert part.counts == [1, 5, 20, 79] and not part.complete
    assert fathom.open(tmp_path / "run").counts == part.counts
    assert fathom.run("pancake:6", directory=tmp_path / "run").counts == counts_of(search(pancakes(6)))
    whole = fathom.open(tmp_path / "run")
    assert whole.complete and whole.verify()["states"] == 720


def test_moves_without_inverses_are_one_way():
    result = fathom.run(fathom.Puzzle({"L": [1, 2, 3, 4, 0], "R": [1, 0, 2, 3, 4]}), "given")
    assert result.complete and result.gods_number is None and result.notes
    assert result.antipodes()[0]["scramble"]


def test_puzzles_of_all_kinds(tmp_path):
    lists = fathom.Puzzle({"L": [1, 2, 0, 3], "R": [0, 2, 3, 1]}, name="triangles")
    cycles = fathom.Puzzle({"L": "(1,2,3)", "R": [(1, 2, 3)]})
    assert lists.moves() == cycles.moves() and lists.name == "triangles" and lists.cells == 4
    file = tmp_path / "triangles.json"
    file.write_text(json.dumps({"L": [1, 2, 0, 3], "R": [0, 2, 3, 1]}))
    for puzzle in (lists, cycles, fathom.Puzzle.read(file), fathom.Puzzle(file), file, str(file)):
        assert fathom.run(puzzle, "single").counts == counts_of(
            search([(1, 2, 0, 3), (2, 0, 1, 3), (0, 2, 3, 1), (0, 3, 1, 2)])
        )
    alike = fathom.Puzzle({"L": [1, 2, 0, 3], "R": [0, 2, 3, 1]}, labels=[0, 0, 1, 1])
    assert sum(fathom.run(alike).counts) == 6


def test_groups():
    assert fathom.Group("3x3x3").order == 43_252_003_274_489_856_000
    group = fathom.Group(fathom.Puzzle({"L": [1, 2, 0, 3], "R": [0, 2, 3, 1]}))
    assert group.order == 12 and group.contains([1, 2, 0, 3]) and [1, 0, 2, 3] not in group


def test_words_multiply_to_their_permutations():
    moves = {"L": [1, 2, 3, 0, 4, 5], "R": [0, 1, 3, 4, 5, 2]}
    group = fathom.Group(fathom.Puzzle(moves))
    images = [list(image) for image in itertools.permutations(range(6)) if list(image) in group]
    assert len(images) == group.order
    for permutation in images:
        product = list(range(6))
        for factor in re.findall(r"([LR])(?:\^?(-?\d+))?(')?", group.factor(permutation)):
            name, power, inverse = factor
            for _ in range((-1 if inverse else 1) * int(power or 1) % 4):
                product = [moves[name][cell] for cell in product]
        assert product == permutation
    with pytest.raises(ValueError, match="not in the group"):
        fathom.Group("3x3x3").factor([1, 0, *range(2, fathom.Group("3x3x3").degree)])


def test_plans_and_solutions(small_board):
    known = small_board[1]
    plan = fathom.plan("3x4")
    assert plan["states"] == 479_001_600 and plan["memory_bytes"] > 0 and plan["engine"] == "cosets"
    state = (3, 1, 2, 0, 4, 5, 6, 7)
    solved = fathom.solve("2x4", state, most=1000, count=True)
    assert solved.distance == known[state] and len(solved.solutions) == solved.count
    assert fathom.solve("2x4", "V1 H1", scramble=True).distance == 2
