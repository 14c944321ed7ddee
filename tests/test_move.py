"""The tool that moves modules and names, on a small package of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import move
import pytest

FILES = {
    "lmms_eval_tasks/__init__.py": "",
    "lmms_eval_tasks/words.py": '''"""Words."""

WORDS = ("a", "b")
"""All of them."""


def _first() -> str:
    return WORDS[0]


def first() -> str:
    return _first()
''',
    "lmms_eval_tasks/rules.py": '''"""Rules."""

from __future__ import annotations

import re

from lmms_eval_tasks import words
from lmms_eval_tasks.words import first


def _first() -> str:
    return first().upper()


# Compiled once.
RULE = re.compile("|".join(words.WORDS))


def rule() -> str:
    from lmms_eval_tasks.words import WORDS

    return _first() + WORDS[1] + RULE.pattern
''',
    "lmms_eval_tasks/use.py": '''"""Uses both."""

from lmms_eval_tasks import rules
from lmms_eval_tasks.words import first


def both() -> str:
    return first() + rules.rule()
''',
    "guide.md": "See `lmms_eval_tasks/words.py` and `!function lmms_eval_tasks.words.first`.\n",
}


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    for command in (["init", "--quiet"], ["add", "."]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    monkeypatch.setattr(move, "TOP", tmp_path)
    return tmp_path


def said(top: Path) -> str:
    command = [sys.executable, "-c", "from lmms_eval_tasks.use import both; print(both())"]
    return subprocess.run(command, cwd=top, capture_output=True, text=True, check=True).stdout.strip()


def test_modules_are_merged_and_their_importers_follow(top: Path) -> None:
    before = said(top)
    targets = {"words": "lmms_eval_tasks/reading.py", "rules": "lmms_eval_tasks/reading.py"}
    move.apply(move.Plan([(f"lmms_eval_tasks/{name}.py", target) for name, target in targets.items()]))
    assert said(top) == before == "aAba|b"
    assert sorted(path.name for path in (top / "lmms_eval_tasks").glob("*.py")) == [
        "__init__.py",
        "reading.py",
        "use.py",
    ]
    text = (top / "lmms_eval_tasks/reading.py").read_text("utf-8")
    # Both had a private name, and what one took from the other is its own now.
    assert "return _rules_first() + WORDS[1]" in text and "return _first()" in text and "lmms_eval_tasks" not in text
    assert "# Compiled once." in text
    guide = (top / "guide.md").read_text("utf-8")
    assert guide == "See `lmms_eval_tasks/reading.py` and `!function lmms_eval_tasks.reading.first`.\n"


def test_a_name_takes_the_private_names_along_that_it_alone_uses(top: Path) -> None:
    before = said(top)
    move.apply(move.Plan([("lmms_eval_tasks/words.py:first", "lmms_eval_tasks/start.py")]))
    assert said(top) == before
    text = (top / "lmms_eval_tasks/start.py").read_text("utf-8")
    assert "def _first()" in text and "from lmms_eval_tasks.words import WORDS" in text
    assert "def first" not in (top / "lmms_eval_tasks/words.py").read_text("utf-8")


def test_a_name_that_is_not_there_is_refused(top: Path) -> None:
    with pytest.raises(SystemExit, match=r"lmms_eval_tasks\.words defines no second"):
        move.Plan([("lmms_eval_tasks/words.py:second", "lmms_eval_tasks/start.py")])
