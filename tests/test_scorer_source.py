"""Which changes of a package count for a function that scores, on packages of a few lines."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
import scorer_source
from scorer_source import Source

Files = dict[str, str]
Digest = Callable[..., str]

SCORES = '''"""Scores."""

from math import floor as rounded

from PACKAGE import helpers
from PACKAGE.counts import count as counted, total
from PACKAGE.counts import Base

TABLE = {}
TABLE["a"] = 1


def process_results(items: list) -> float:
    """Grade."""
    from PACKAGE.late import weight

    return rounded(counted(items)) + helpers.add(TABLE["a"], weight()) + Grader().grade()


class Grader(Base):
    def grade(self):
        return self.base() + 1


def unused():
    return total([])
'''
COUNTS = """
from PACKAGE.deep import LIMIT


def count(items, start=0):
    return min(len(items), LIMIT) + start


def total(items):
    return sum(items)


class Base:
    def base(self):
        return 2
"""
FILES: Files = {
    "scores.py": SCORES,
    "counts.py": COUNTS,
    "helpers.py": "def add(a, b):\n    return a + b\n\n\ndef take(a, b):\n    return a - b\n",
    "late.py": "def weight():\n    return 1\n",
    "deep/__init__.py": "from PACKAGE.deep.inside import LIMIT\n",
    "deep/inside.py": "LIMIT = 10\n",
}
number = itertools.count()


@pytest.fixture
def digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Digest:
    """The digest of what `scores.process_results` reaches in a package of these files, with these changes."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def of(files: Files, root: str = "scores.process_results") -> str:
        name = f"package_of_a_few_lines_{next(number)}"
        monkeypatch.setattr(scorer_source, "PACKAGE", name)
        for file, text in {"__init__.py": "", **files}.items():
            path = tmp_path / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("PACKAGE", name), encoding="utf-8")
        return Source([f"{name}.{root}"]).sha256()

    return of


def changed(file: str, old: str, new: str) -> Files:
    assert old in FILES[file]
    return {**FILES, file: FILES[file].replace(old, new)}


COUNT = COUNTS[COUNTS.index("def count") : COUNTS.index("def total")]
MOVED_COUNT = {
    **changed("counts.py", COUNT, ""),
    "elsewhere.py": f"from PACKAGE.deep import LIMIT\n\n\n{COUNT}",
    "scores.py": SCORES.replace("import count as counted, total", "import total").replace(
        "from PACKAGE import helpers", "from PACKAGE import helpers\nfrom PACKAGE.elsewhere import count as counted"
    ),
}


@pytest.mark.parametrize(
    "files",
    [
        changed("scores.py", '    """Grade."""\n', '    """Grade otherwise."""\n    # Now.\n'),
        changed("scores.py", "items: list) -> float", "items: tuple)"),
        changed("scores.py", "counted(items)", "counted(  items  )"),
        changed("scores.py", "return total([])", "return total([1])"),
        {**FILES, "scores.py": SCORES.replace("count as counted", "count").replace("counted(items)", "count(items)")},
        changed("counts.py", "return sum(items)", "return 0"),
        changed("helpers.py", "return a - b", "return b - a"),
        {**changed("deep/__init__.py", "PACKAGE.deep.inside", "PACKAGE.limits"), "limits.py": "LIMIT = 10\n"},
        MOVED_COUNT,
    ],
    ids=["comment", "hint", "format", "unreached", "alias", "unreached import", "sibling", "re-export", "moved"],
)  # fmt: skip
def test_what_does_the_same_counts_for_nothing(files: Files, digest: Digest) -> None:
    assert digest(files) == digest(FILES)


@pytest.mark.parametrize(
    "files",
    [
        changed("scores.py", "+ 1", "+ 2"),
        changed("scores.py", "floor as rounded", "ceil as rounded"),
        changed("scores.py", "import count as counted, total", "import count, total as counted"),
        changed("scores.py", 'TABLE["a"] = 1', 'TABLE["a"] = 2'),
        changed("scores.py", "helpers.add", "helpers.take"),
        changed("scores.py", "class Grader(Base)", "class Grader"),
        changed("counts.py", "start=0", "start=1"),
        changed("counts.py", "return 2", "return 3"),
        changed("counts.py", "\ndef count", "\n@print\ndef count"),
        changed("counts.py", "\ndef count", "\nprint()\n\n\ndef count"),
        changed("helpers.py", "a + b", "b + a"),
        changed("late.py", "return 1", "return 1.0"),
        changed("deep/inside.py", "10", "11"),
        {**changed("deep/__init__.py", "PACKAGE.deep.inside", "PACKAGE.limits"), "limits.py": "LIMIT = 11\n"},
    ],
    ids=[
        "method", "external name", "other function by the same alias", "table", "attribute", "base", "default",
        "method of a base", "decorator", "effect of a module", "function", "late import", "constant", "re-export",
    ],
)  # fmt: skip
def test_what_can_move_a_number_counts(files: Files, digest: Digest) -> None:
    assert digest(files) != digest(FILES)


def test_equal_names_in_two_modules_are_told_apart(digest: Digest) -> None:
    one, other = "def read(text):\n    return text\n", "def read(text):\n    return text[0]\n"
    score = (
        "from PACKAGE import a, b\n\n\ndef process_results(items):\n    return {}.read(items[0]), {}.read(items[1])\n"
    )
    files = {"a.py": one, "b.py": other}
    orders = {digest({**files, "scores.py": score.format(*order)}) for order in ("ab", "ba", "aa")}
    assert len(orders) == 3
