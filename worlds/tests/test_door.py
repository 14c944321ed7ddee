"""Worlds is a package as anybody may write one: of lmms-eval-tasks it knows the door, which it shows to be enough."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

WORLDS = Path(__file__).parents[1]
DOOR = "lmms_eval_tasks.api"


def imported(text: str) -> Iterator[str]:
    """The modules of lmms-eval-tasks that a module imports, or names in a text, as by which another is patched."""
    for node in ast.walk(ast.parse(text)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "lmms_eval_tasks":
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " not in node.value:
            names = [node.value]
        yield from (name for name in names if name.partition(".")[0] == "lmms_eval_tasks" and "." in name)


@pytest.mark.parametrize("folder", ["lmms_eval_worlds", "tests", "tools"])
def test_nothing_of_ours_is_imported_but_the_door(folder: str) -> None:
    found = {
        f"{path.relative_to(WORLDS)}: {name}"
        for path in (WORLDS / folder).rglob("*.py")
        for name in imported(path.read_text(encoding="utf-8"))
    }
    assert found
    assert [place for place in sorted(found) if not f"{place.partition(': ')[2]}.".startswith(f"{DOOR}.")] == []


def test_every_way_to_import_is_seen() -> None:
    inside = f"{DOOR.partition('.')[0]}.runs"
    ways = (
        f"import {inside}",
        "from lmms_eval_tasks import runs",
        f"from {inside} import folder",
        f"setattr('{inside}', 1)",
    )
    assert [next(imported(way)) for way in ways] == [inside] * len(ways)
