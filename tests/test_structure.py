"""The house: what no module may name. What a package may import is a contract of import-linter: pyproject.toml."""

from __future__ import annotations

import ast
import importlib.machinery
import re
from functools import cache
from pathlib import Path

import pytest
from expected import read_sections
from own_benchmarks import OWN, PACKAGE

from lmms_eval_tasks.registry import registry

MODULES = sorted(path for path in PACKAGE.rglob("*.py"))
SPELLED = {name: re.compile(name.replace("_", "[-_ ]?"), re.IGNORECASE) for name in registry().benchmarks}
TESTS = Path(__file__).parent
DECODERS = {"utils/data/clips.py"}
REGISTRY_WIDE = ("tests/benchmarks/", "tests/test_plugin.py", "tests/test_structure.py")
"""Tests of every benchmark, which name none."""


@pytest.mark.slow
def test_nothing_of_the_evaluation_names_a_wing() -> None:
    """Not in a text either, such as that of an import by name, and not for types alone."""
    wings = ("construct", "train")
    wrong = []
    for path in MODULES:
        if path.relative_to(PACKAGE).parts[0] not in wings:
            named = (f"lmms_eval_tasks.{wing}" for wing in wings)
            wrong += [f"{path}: {name}" for name in named if any(name in text for text in names_in_code(path))]
    assert not wrong, "\n".join(wrong)


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    """All nodes of a module, those at its top level first."""
    return [*ast.walk(ast.parse(path.read_bytes()))]


@cache
def names_in_code(path: Path) -> set[str]:
    """Identifiers and texts of a module's code, without docstrings and comments, which say where things come from."""
    documented = {id(node.value) for node in nodes_of(path) if isinstance(node, ast.Expr)}
    found: set[str] = set()
    for node in nodes_of(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            found.add(node.value)
        elif isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


@pytest.mark.slow
def test_no_module_names_a_benchmark_outside_its_folder() -> None:
    wrong = []
    for path in MODULES:
        place = path.relative_to(PACKAGE)
        for name, pattern in SPELLED.items():
            own = {name, f"{name}.py"}
            if place.parts[0] == name:
                continue
            if place.parts[0] in ("construct", "train") and place.parts[1] in own:
                continue
            if place.parts[0] in OWN and place.parts[1:2] == ("export.py",):  # it writes the form of another
                continue
            if hits := sorted(text for text in names_in_code(path) if pattern.search(text)):
                wrong.append(f"{place}: {hits[0]!r}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_a_new_benchmark_needs_no_edit_of_a_shared_test() -> None:
    """Tests over the whole registry name no benchmark, and no list in a test or tool that is not of one has them all.

    Such a list would have to grow with every benchmark. Some by name, as examples, are no list.
    """
    shared = [*TESTS.rglob("*.py"), *TESTS.parent.glob("tools/*.py"), *TESTS.parent.glob("benchmarks/*.py")]
    named = {}
    for path in shared:
        place = path.relative_to(TESTS.parent).as_posix()
        if not any(pattern.search(place) for pattern in SPELLED.values()):
            texts = names_in_code(path)
            named[place] = {name for name, pattern in SPELLED.items() if any(map(pattern.search, texts))}
    wide = {place: names for place, names in named.items() if place.startswith(REGISTRY_WIDE)}
    assert len(wide) >= len(REGISTRY_WIDE) and not any(wide.values()), wide
    assert len(named) > 50 and [place for place, names in named.items() if names == set(SPELLED)] == []


@pytest.mark.slow
def test_clips_are_decoded_in_one_place() -> None:
    """Only these modules ask PyAV for frames. Texts are decoded by encodings that are literals."""
    wrong = []
    for path in MODULES:
        place = path.relative_to(PACKAGE).as_posix()
        for node in nodes_of(path):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "decode"):
                continue
            of_text = all(isinstance(argument, ast.Constant) for argument in node.args)
            of_text &= {keyword.arg for keyword in node.keywords} <= {"encoding", "errors"}
            if not of_text and place not in DECODERS:
                wrong.append(f"{place}:{node.lineno}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_every_class_name_stands_for_one_thing() -> None:
    places: dict[str, list[str]] = {}
    for path in MODULES:
        for node in nodes_of(path)[0].body:  # type: ignore[attr-defined]
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(path.relative_to(PACKAGE).as_posix())
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_every_expected_text_has_its_test() -> None:
    for file in TESTS.rglob("*.expected"):
        tests = set(re.findall(r"def (test_\w+)\(", file.with_suffix(".py").read_text("utf-8")))
        assert {re.split(r"\W", name)[0] for name in read_sections(file)} <= tests, file


def test_the_top_level_has_links_to_what_the_layout_names() -> None:
    """Neither folder can be imported: `import utils` in a checkout must not find ours instead of the host's."""
    top = TESTS.parent
    packages = {path.parent.name for path in (top / "lmms_eval_tasks" / "utils").glob("*/__init__.py")}
    links = {path.name: path for path in (top / "utils").iterdir()}
    assert set(links) == packages and (top / "prompts").is_symlink()
    for path in (top / "prompts", *links.values()):
        assert path.resolve().is_relative_to(top / "lmms_eval_tasks") and path.name == path.resolve().name
    for name in ("utils", "prompts"):
        found = importlib.machinery.PathFinder.find_spec(name, [str(top)])
        assert found is not None and found.loader is None, f"{name} is a package that would shadow another's"
