"""Texts that a test expects whole, kept in a file that a review reads.

`expected(text)` compares a text with the section of the running test in the file beside its module: `test_prepare.py`
has `test_prepare.expected`. The test's folder is written as `~` in it, and the list of installed benchmarks, which may
have others' packages, as `BENCHMARKS`. `make expected PATHS=causalvqa/test_prepare.py`
writes the sections again; read what has changed before you commit it.
"""

from __future__ import annotations

import difflib
import re
from itertools import islice
from pathlib import Path

import pytest

from lmms_eval_tasks.registry import registry

SHOWN = 60
"""Lines of a difference that a failure shows."""
HEADING = re.compile(r"^=== (.+)\n", re.MULTILINE)


def read_sections(file: Path) -> dict[str, str]:
    """The texts of a file, by the names of their tests."""
    if not file.exists():
        return {}
    pieces = HEADING.split(file.read_text("utf-8"))[1:]
    return {name: text[:-1] for name, text in zip(pieces[::2], pieces[1::2], strict=True)}


def write_section(file: Path, name: str, text: str) -> None:
    """Put a text into its section; the sections of tests that are gone are dropped."""
    tests = set(re.findall(r"def (test_\w+)\(", file.with_suffix(".py").read_text("utf-8")))
    sections = {key: kept for key, kept in read_sections(file).items() if re.match(r"\w+", key)[0] in tests}  # type: ignore[index]
    sections[name] = text
    file.write_text("".join(f"=== {key}\n{kept}\n" for key, kept in sections.items()), "utf-8")


class Expected:
    """The expected texts of one test, in the order in which it asks for them."""

    def __init__(self, request: pytest.FixtureRequest, folder: Path) -> None:
        self.file = request.path.with_suffix(".expected")
        self.name, self.folder, self.asked = request.node.name, str(folder), 0
        self.writes = request.config.getoption("--write-expected")

    def __call__(self, text: str) -> None:
        self.asked += 1
        name = self.name if self.asked == 1 else f"{self.name} ({self.asked})"
        text = text.replace(self.folder, "~").replace(", ".join(registry().benchmarks), "BENCHMARKS")
        assert not HEADING.search(text), "a text cannot hold a line that begins with `=== `"
        if self.writes:
            write_section(self.file, name, text)
        kept = read_sections(self.file).get(name)
        before = (kept or "").splitlines()
        changes = difflib.unified_diff(before, text.splitlines(), "expected", "got", n=0, lineterm="")
        assert text == kept, "\n".join([f"{self.file.name} has another text for {name}:", *islice(changes, SHOWN)])
