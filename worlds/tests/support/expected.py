"""Texts that a test expects whole, kept in a file beside its module, which a review reads.

`expected(text)` compares a text with the section of the running test: `test_prepare.py` has `test_prepare.expected`.
The test's folder is written as `~` in it. `pytest --write-expected` writes the sections again.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HEADING = re.compile(r"^=== (.+)\n", re.MULTILINE)


class Expected:
    """The expected texts of one test, in the order in which it asks for them."""

    def __init__(self, request: pytest.FixtureRequest, folder: Path) -> None:
        self.file = request.path.with_suffix(".expected")
        self.name, self.folder, self.asked = request.node.name, str(folder), 0
        self.writes = request.config.getoption("--write-expected")

    def sections(self) -> dict[str, str]:
        """The texts of the file, by the names of their tests."""
        pieces = HEADING.split(self.file.read_text("utf-8"))[1:] if self.file.exists() else []
        return {name: text[:-1] for name, text in zip(pieces[::2], pieces[1::2], strict=True)}

    def __call__(self, text: str) -> None:
        self.asked += 1
        name = self.name if self.asked == 1 else f"{self.name} ({self.asked})"
        text = text.replace(self.folder, "~")
        if self.writes:
            sections = {**self.sections(), name: text}
            self.file.write_text("".join(f"=== {key}\n{kept}\n" for key, kept in sections.items()), "utf-8")
        assert text == self.sections().get(name), f"{self.file.name} has another text for {name}"
