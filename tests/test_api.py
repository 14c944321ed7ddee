"""The public door: its names, docstrings and examples, and that benchmarks import nothing else."""

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
from api_page import load_door, modules_of, named, page_of, reference
from docs import ROOT
from own_benchmarks import PACKAGE

from lmms_eval_tasks.registry import registry

DOOR = "lmms_eval_tasks.api"
TOP, ALL = 44, 175
"""How many names the package has at most, and all of its modules together."""
FOR_OTHERS = {
    (f"{DOOR}.page", "InstanceTrack"),
    (f"{DOOR}.page", "predicted_tracks"),
    (f"{DOOR}.runs", "RunTables"),
    (f"{DOOR}.runs", "load_runs"),
}
"""Names that no benchmark here needs, and others' may have."""
EXAMPLES = sorted(path.parent for path in (ROOT / "examples").glob("*/*/benchmark.py"))
API_PAGES = sorted((ROOT / "docs" / "api").glob("*.md"))
"""One for each module, with its examples."""
FOLDERS = sorted({*(benchmark.folder for benchmark in registry().benchmarks.values()), *EXAMPLES})


class Unfenced(doctest.DocTestParser):
    """Reads a page's examples; the end of a fence is no output."""

    def parse(self, string: str, name: str = "<string>") -> list[str | doctest.Example]:
        return super().parse(re.sub(r"^```.*$", "", string, flags=re.MULTILINE), name)


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
    """Our own samples also what draws their clips."""
    found = imported(folder)
    if folder.parent == PACKAGE:
        found = {name for name in found if not name.startswith("lmms_eval_tasks.sample.")}
    assert found and all(f"{name}.".startswith(f"{DOOR}.") for name in found), sorted(found)


def test_the_door_is_small() -> None:
    counts = {module.__name__: len(module.__all__) for module in modules()}
    assert counts[DOOR] <= TOP and sum(counts.values()) <= ALL, counts
    names = [name for module in modules() for name in module.__all__]
    assert len(names) == len(set(names))


@pytest.mark.slow
def test_everything_in_it_is_used_by_a_benchmark_or_an_example() -> None:
    used = set()
    for path in (path for folder in FOLDERS for path in folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(f"{DOOR}."):
                used |= {(node.module, alias.name) for alias in node.names}
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "api":
                used.add((DOOR, node.attr))
    for path in (path for folder in FOLDERS for path in folder.glob("*yaml")):
        used |= {(f"{DOOR}.hooks", name) for name in re.findall(rf"{DOOR}\.hooks\.(\w+)", path.read_text("utf-8"))}
    offered = {(module.__name__, name) for module in modules() for name in module.__all__} - FOR_OTHERS
    assert used - {(DOOR, module.__name__.rpartition(".")[2]) for module in modules()} == offered


@pytest.mark.slow
def test_everything_is_described(door: griffe.Module) -> None:
    """Methods and properties too. A section `Args` has all arguments; classes and long functions have one."""
    wrong = []
    for module in modules_of(door):
        for name, found in named(module).items():
            wrong += [f"{module.path}.{name}: {problem}" for problem in undescribed(found)]
    assert not wrong, "\n".join(wrong)


def undescribed(found: griffe.Object) -> Iterator[str]:
    if found.docstring is None:
        yield "no docstring"
        return
    if isinstance(found, (griffe.Class, griffe.Function)):
        arguments = {parameter.name for parameter in found.parameters} - {"self", "cls"}
        sections = [one for one in found.docstring.parsed if one.kind.value in ("parameters", "attributes")]
        described = {entry.name.lstrip("*") for section in sections for entry in section.value}
        required = found.is_class or len(arguments) > 4
        if (described and not arguments <= described) or (required and arguments and not described):
            yield f"no description of {', '.join(sorted(arguments - described))}"
    for member in found.members.values() if found.is_class else ():
        is_method = not member.is_alias and (member.is_function or "property" in member.labels)
        if is_method and not member.name.startswith("_") and member.docstring is None:
            yield f"no docstring of {member.name}"


@pytest.mark.slow
def test_the_reference_has_every_name_and_each_module_a_page(door: griffe.Module) -> None:
    assert {ROOT / "docs" / page_of(module) for module in modules_of(door)} == set(API_PAGES)
    for module, offered in zip(modules_of(door), modules(), strict=True):
        headings = re.findall(r"^### `(\w+)`\n\n(?=\S)", reference(module), re.MULTILINE)
        assert headings == list(offered.__all__) and module.path == offered.__name__


def test_every_name_is_in_an_example() -> None:
    examples = "\n".join(
        example.source for page in API_PAGES for example in Unfenced().get_examples(page.read_text("utf-8"))
    )
    assert [name for module in modules() for name in module.__all__ if not re.search(rf"\b{name}\b", examples)] == []


@pytest.mark.parametrize("page", API_PAGES, ids=lambda page: page.stem)
def test_every_example_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(
        str(page),
        module_relative=False,
        optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE,
        parser=Unfenced(),
        encoding="utf-8",
    )
    assert tried and not failed
