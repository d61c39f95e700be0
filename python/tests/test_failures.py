"""Bad input, damaged files and signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import fathom_search as fathom


@pytest.mark.parametrize(
    "puzzle, options",
    [
        ("3x", {}),
        ("2x3", {"metric": "fast"}),
        ("2x3", {"labels": [1, 2]}),
        ("2x3", {"labels": [0, 0, 1, 1, 2, 2], "track": "0"}),
        ("2x3", {"moves": "X9"}),
        ("2x3", {"moves": []}),
        ("2x3", {"keep": "none"}),
        ("2x3", {"engine": "both"}),
        ("2x3", {"threads": 0}),
        ("2x3", {"memory": 0}),
        ("2x3", {"max_depth": -1}),
        ("3x3x3", {}),
        ("3x3x3", {"engine": "lists"}),
        ("2x3", {"engine": "lists", "keep": "two"}),
    ],
)
def test_bad_input_leaves_nothing(puzzle, options, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    for directory in (None, tmp_path / "run"):
        with pytest.raises(ValueError):
            fathom.run(puzzle, directory=directory, **options)
        assert list(tmp_path.iterdir()) == []


def test_little_memory_leaves_nothing(tmp_path):
    with pytest.raises(ValueError):
        fathom.run("3x4", memory=1000, directory=tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("moves", [{}, {"L": [1, 2, 3]}, {"L": [1, 0], "R": [1, 2, 0]}, {"L": "(1,2"}, {"L": [(0, 0)]}])
def test_bad_moves_are_refused(moves):
    with pytest.raises(ValueError):
        fathom.Puzzle(moves)


def test_wrong_labels_are_refused():
    for labels in ([0], [0, 0, 1, 1, 2], [-1, 0, 0]):
        with pytest.raises(ValueError):
            fathom.Puzzle({"L": [1, 2, 0]}, labels=labels)


def test_bad_states_are_refused():
    result = fathom.run("2x3")
    for states in (
        [[0, 1, 2]],
        [[0, 0, 1, 2, 3, 4]],
        [[0, 1, 2, 3, 4, 6]],
        [[0, 1, 2, 3, 4, -5]],
        [[0, 1, 2, 3, 4, 70000]],
        [[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]],
        np.zeros((1, 2, 6), dtype=np.uint8),
        3,
    ):
        with pytest.raises(ValueError):
            result.distance(states)
    with pytest.raises(ValueError, match="row 1: the label 0 occurs too often"):
        result.distance([[0, 1, 2, 3, 4, 5], [0, 0, 1, 2, 3, 4]])
    with pytest.raises(ValueError):
        result.layer(8)
    with pytest.raises(ValueError):
        fathom.solve("2x3", "0 1 2")


def test_layers_that_were_not_kept_are_refused(tmp_path):
    result = fathom.run("2x4", directory=tmp_path / "run", keep="last", engine="cosets")
    with pytest.raises(ValueError, match="did not keep"):
        result.layer(2)
    with pytest.raises(ValueError):
        result.table_file(tmp_path / "table")
    assert not (tmp_path / "table").exists()
    # States of the layers that were kept are found.
    last = result.layer(result.largest)
    assert (result.distance(last) == result.largest).all()
    assert (result.distance(np.arange(8, dtype=np.uint8)) == -1).all()


def test_no_run_is_refused(tmp_path):
    with pytest.raises(ValueError):
        fathom.open(tmp_path)
    with pytest.raises(ValueError):
        fathom.open(tmp_path / "nothing")
    (tmp_path / "file").write_text("text")
    with pytest.raises(ValueError):
        fathom.PatternDatabase(tmp_path / "file")
    with pytest.raises(ValueError):
        fathom.run("2x3", directory=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_another_run_is_refused(tmp_path):
    fathom.run("2x3", directory=tmp_path / "run")
    with pytest.raises(ValueError, match="2x3"):
        fathom.run("2x4", directory=tmp_path / "run")
    assert fathom.open(tmp_path / "run").complete


@pytest.mark.parametrize("engine", ["cosets", "lists"])
def test_damaged_runs_raise(tmp_path, engine):
    result = fathom.run("2x4", directory=tmp_path / "run", keep="all", engine=engine)
    files = [path for path in (tmp_path / "run" / "layers").rglob("*") if path.is_file()]
    largest = max(files, key=lambda path: path.stat().st_size)
    data = bytearray(largest.read_bytes())
    for place in range(len(data) // 3, len(data), 97):
        data[place] ^= 0x55
    largest.write_bytes(data)
    with pytest.raises(RuntimeError):
        result.verify()
    with pytest.raises(RuntimeError):
        fathom.open(tmp_path / "run").distance(np.tile(np.arange(8, dtype=np.uint8), (3, 1)))


def test_damaged_tables_raise(tmp_path):
    path = tmp_path / "2x3.table"
    fathom.run("2x3").table_file(path)
    with pytest.raises(ValueError, match="exists"):
        fathom.run("2x3").table_file(path)
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    with pytest.raises(RuntimeError, match="damaged"):
        fathom.PatternDatabase(path)


# A process that a script starts in the background ignores SIGINT, and so do its children.
LONG = """
import fathom_search as fathom, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    print("begun", flush=True)
    fathom.run("2x7", "single", threads=1, directory=sys.argv[1] or None)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    raise SystemExit(7)
"""


@pytest.mark.parametrize("has_directory", [True, False])
def test_interrupts_end_a_run(tmp_path, has_directory):
    run, temporary = tmp_path / "run", tmp_path / "temporary"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    arguments = [sys.executable, "-c", LONG, str(run) if has_directory else ""]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, env=environment, text=True)
    assert process.stdout.readline() == "begun\n"
    wait_for(lambda: next((run if has_directory else temporary).rglob("layers/*"), None))
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=600)
    assert output == "interrupted\n" and process.returncode == 7
    assert list(temporary.iterdir()) == []
    if has_directory:
        part = fathom.open(run)
        assert not part.complete and part.counts[:2] == [1, 11]


def wait_for(condition, seconds=600):
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.05)


def test_import_does_not_load_numpy():
    code = "import fathom_search, sys; print('numpy' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"


def test_progress_is_printed_if_asked(capsys):
    fathom.run("2x3", progress=True)
    shown = capsys.readouterr().err
    assert "depth 7: 3 states" in shown
    fathom.run("2x3", progress=False)
    fathom.run("2x3")
    assert capsys.readouterr().err == ""
