"""The code of docs/python.md prints what the page says. Run this file to write the page again."""

from __future__ import annotations

import contextlib
import io
import os
import pathlib
import re
import tempfile

import pytest

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "python.md"
BLOCK = re.compile(r"```python\n(.*?)```\n(\n```text\n(.*?)```\n)?", re.DOTALL)


def session(text):
    """Yields each match of a block, with what its code prints."""
    names: dict[str, object] = {"__name__": "session"}
    for block in BLOCK.finditer(text):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block[1], str(PAGE), "exec"), names)
        yield block, printed.getvalue()


def test_page_is_as_printed(tmp_path, monkeypatch):
    pytest.importorskip("networkx")
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    for block, printed in session(PAGE.read_text()):
        assert (block[3] or "") == printed, block[1]


def write():
    text, written, at = PAGE.read_text(), "", 0
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        for block, printed in session(text):
            output = f"\n```text\n{printed}```\n" if printed else ""
            written += f"{text[at : block.start()]}```python\n{block[1]}```\n{output}"
            at = block.end()
        os.chdir("/")
    PAGE.write_text(written + text[at:])


if __name__ == "__main__":
    write()
