"""Texts that a test expects whole, kept in a file beside its module, which a review reads.

`expected(text)` compares a text with the section of the running test: `test_prepare.py` has `test_prepare.expected`.
The test's folder is written as `~` in it. `pytest --write-expected` writes the sections again.

What a set of scenes is made of is too long to be read, and has a digest in place of its text. The same version and seed
always give the same set, so a change of a digest needs a new version of the tasks: the message says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import unified_diff
from hashlib import sha256
from pathlib import Path

import pytest

HEADING = re.compile(r"^=== (.+)\n", re.MULTILINE)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
ANOTHER_SET = """A set of scenes would be another one: {changed}.
Sets of one version have to be the same. If it is meant: raise N of the tasks' version and say why in the changelog of
worlds/README.md; also LOOK of physics/filming.py where scenes look otherwise, and FACTS of drafts.py where other things
are known of them. Then write it again: make expected PATHS=worlds/{file}"""


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

    @property
    def section(self) -> str:
        """The name of the text that is asked for next."""
        return f"{self.name} ({self.asked + 1})" if self.asked else self.name

    @property
    def kept(self) -> str | None:
        """That text, as the file has it."""
        return self.sections().get(self.section)

    def __call__(self, text: str) -> None:
        text = text.replace(self.folder, "~")
        if self.writes:
            sections = {**self.sections(), self.section: text}
            self.file.write_text("".join(f"=== {key}\n{kept}\n" for key, kept in sections.items()), "utf-8")
        kept = self.kept
        differing = unified_diff((kept or "").splitlines(), text.splitlines(), self.file.name, "now", n=0, lineterm="")
        assert text == kept, "\n".join([f"{self.file.name} has another text for {self.section}", *differing])
        self.asked += 1

    def digests(self, parts: Mapping[str, str]) -> None:
        """Compares the digest of each part of a set, and names the parts that are others now."""
        found = {name: sha256(text.encode()).hexdigest()[:16] for name, text in parts.items()}
        known = {name: digest for digest, _, name in (line.partition(" ") for line in (self.kept or "").splitlines())}
        self._refuse([name for name in {**known, **found} if known.get(name) != found.get(name)])
        self("\n".join(f"{digest} {name}" for name, digest in found.items()))

    def within(self, text: str, margin: float) -> None:
        """Compares a text of a set whose numbers may be off by so much: machines render a little differently."""
        kept = self.kept or ""
        pairs = zip(NUMBER.findall(text), NUMBER.findall(kept), strict=False)
        alike = NUMBER.split(text) == NUMBER.split(kept) and all(
            abs(float(one) - float(other)) <= margin for one, other in pairs
        )
        self._refuse([] if alike else [self.section])
        self(kept if alike and not self.writes else text)

    def _refuse(self, changed: Sequence[str]) -> None:
        assert self.writes or not changed, ANOTHER_SET.format(changed=", ".join(changed), file=f"{self.file.stem}.py")
