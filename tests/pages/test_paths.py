"""Paths that CONTRIBUTING.md and the READMEs name in code: each is a file or a folder of this repository."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "lmms_eval_tasks"
LEFT_OUT = {"build", "site", "shared", "node_modules"}


def is_ours(path: Path) -> bool:
    """Whether it is of the repository, and not of an environment or of another folder that begins with a dot."""
    parts = path.relative_to(ROOT).parts
    return not LEFT_OUT & set(parts) and not any(part.startswith(".") for part in parts)


READMES = sorted(filter(is_ours, ROOT.rglob("README.md")))
GUIDE = ROOT / "CONTRIBUTING.md"

CODE = re.compile(r"`([\w./*<>-]+)`")
OURS = re.compile(r"\.(?:py|md|yaml|yml|toml|cfg)$|_yaml$")
"""Ends of names that a README gives our own files; others are those of releases, runs and data homes."""
MADE = ("out/", "build/", "tests/<name>", "site/")
"""What a user, or somebody who adds a benchmark, makes."""


def is_path(name: str, page: Path) -> bool:
    if name.startswith(MADE):
        return False
    return bool(OURS.search(name)) or (page == GUIDE and ("/" in name or name.endswith((".json", ".txt"))))


def named_paths(page: Path) -> Iterator[tuple[str, list[Path]]]:
    """Each path in code on a page, with the folders that its row of a table, or the page up to it, names."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    so_far: list[Path] = []
    for line in text.splitlines():
        names, links = CODE.findall(line), re.findall(r"\]\((?!https?:)([^)#]+)\)", line)
        places = [place / name for name in names for place in (ROOT, PACKAGE)] + [page.parent / link for link in links]
        folders = [one if one.is_dir() else one.parent for one in places if one.exists() and one.parent != ROOT]
        so_far += folders
        yield from ((name, folders if line.startswith("|") else so_far) for name in names if is_path(name, page))


def exists(name: str, page: Path, near: list[Path]) -> bool:
    name = name.replace("<name>", "*").rstrip("/")
    found = any(next(place.glob(name), None) for place in (page.parent, ROOT, PACKAGE, ROOT / "tests"))
    # A bare name is of a file below a folder that was named before.
    return found or any(next(place.rglob(name), None) for place in near)


@pytest.mark.parametrize("page", [GUIDE, *READMES], ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_that_a_page_names_is_there(page: Path) -> None:
    assert [name for name, near in named_paths(page) if not exists(name, page, near)] == []


def test_a_path_that_is_not_there_is_found(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text("| `utils/data` | `clips.py`, `frames.py` |\n\nIn `mvp/grading.py`, not in `mvp/benchmark.py`.\n")
    assert [name for name, near in named_paths(page) if not exists(name, page, near)] == ["frames.py", "mvp/grading.py"]
