"""The public door: what is in it, how it is described, and that benchmarks import nothing else."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import griffe
import pytest
from api_page import PAGE, load_door, modules_of, public_names, write_page
from docs import ROOT

from lmms_eval_tasks.registry import registry

DOOR = "lmms_eval_tasks.api"
TOP, ALL = 50, 159
"""How many names the package has at most, and all of its modules together."""
EXAMPLES = sorted(path.parent for path in (ROOT / "examples").glob("*/*/benchmark.py"))
FOLDERS = sorted({*(benchmark.folder for benchmark in registry().benchmarks.values()), *EXAMPLES})


@pytest.fixture(scope="module")
def door() -> griffe.Module:
    return load_door()


def modules() -> list[ModuleType]:
    package = importlib.import_module(DOOR)
    names = sorted(path.stem for path in Path(str(package.__file__)).parent.glob("*.py") if path.stem != "__init__")
    return [package, *(importlib.import_module(f"{DOOR}.{name}") for name in names)]


def imported(folder: Path) -> set[str]:
    """The modules of our package, outside the folder, that its modules import."""
    found = set()
    for path in folder.rglob("*.py"):
        found |= {name for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) for name in _modules(node)}
    own = f"lmms_eval_tasks.{folder.name}"
    return {name for name in found if name.startswith("lmms_eval_tasks") and not f"{name}.".startswith(f"{own}.")}


def _modules(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module == "lmms_eval_tasks":
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield str(node.module)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_benchmark_imports_the_door_alone(folder: Path) -> None:
    found = imported(folder)
    assert found and all(f"{name}.".startswith(f"{DOOR}.") for name in found), sorted(found)


def test_the_door_is_small() -> None:
    counts = {module.__name__: len(module.__all__) for module in modules()}
    assert counts[DOOR] <= TOP and sum(counts.values()) <= ALL, counts
    names = [name for module in modules() for name in module.__all__]
    assert len(names) == len(set(names))


def test_everything_in_it_is_used_by_a_benchmark_or_an_example() -> None:
    used = set()
    for path in (path for folder in FOLDERS for path in folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(f"{DOOR}."):
                used |= {(node.module, alias.name) for alias in node.names}
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "api":
                used.add((DOOR, node.attr))
    offered = {(module.__name__, name) for module in modules() for name in module.__all__}
    assert used - {(DOOR, module.__name__.rpartition(".")[2]) for module in modules()} == offered


def test_the_page_is_what_the_docstrings_give(door: griffe.Module) -> None:
    assert PAGE.read_text(encoding="utf-8") == write_page(door), "Run `make api-page`."


def test_everything_is_described_and_stands_in_an_example(door: griffe.Module) -> None:
    text = PAGE.read_text(encoding="utf-8")
    examples = "\n".join(re.findall(r"^(?:>>>|\.\.\.) .*$", text, re.MULTILINE))
    missing = []
    for module in modules_of(door):
        for name in public_names(module):
            found = module[name]
            target = found.final_target if isinstance(found, griffe.Alias) else found
            if target.docstring is None or not re.search(rf"\b{name}\b", examples):
                missing.append(f"{module.path}.{name}")
    assert not missing


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.__name__)
def test_every_example_runs(module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert tried and not failed
