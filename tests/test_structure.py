"""The house: which package may import which, no cycles, no benchmark named outside its folder."""

from __future__ import annotations

import ast
import graphlib
import importlib.machinery
import importlib.util
import re
from functools import cache
from pathlib import Path

import grimp
import pytest
from expected import read_sections

import lmms_eval_tasks
from lmms_eval_tasks.registry import registry

PACKAGE = Path(lmms_eval_tasks.__file__).parent
OWN = [name for name, benchmark in registry().benchmarks.items() if PACKAGE in benchmark.folder.parents]

UTILS = (
    ("core",),
    ("data",),
    ("scoring",),
    ("answers",),
    ("judge",),
    ("people", "submission", "reporting"),
    ("benchmark",),
)
"""Packages of utils, from the ground up; those of one line know nothing of each other."""
ABOVE = (
    ("utils",),
    ("registry",),
    ("prompting", "runs"),
    ("host", "sample"),
    ("api",),
    (*OWN, "models", "report"),
    ("board", "testing", "finished", "export", "preview"),
    ("launch",),
    ("cli",),
    ("construct", "train"),
    ("plugin",),
)
"""What stands above; a module of a line may import lower lines, and its own package."""
CONSTRUCT = (("engine",), ("curation",), ("annotate",), ("cli", *OWN))
TRAIN = (("rewards",), ("stages",), ("cli", *OWN))
"""Packages and modules of the two wings, from the ground up."""
SAMPLE = (
    ("drawn_clips", "tiny_vlm"), ("words",), ("scripts",), ("writing", "solver"), ("writers",), ("write_sample",),
)  # fmt: skip
"""Packages and modules of the sample, in the same way."""
MODULES = sorted(path for path in PACKAGE.rglob("*.py"))
SPELLED = {name: re.compile(name.replace("_", "[-_ ]?"), re.IGNORECASE) for name in OWN}
TESTS = Path(__file__).parent
DECODERS = {"utils/data/frames.py", "utils/data/clips.py"}
REGISTRY_WIDE = ("tests/benchmarks/", "tests/test_plugin.py", "tests/test_structure.py")
"""Tests of every benchmark, which name none."""


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("lmms_eval_tasks", exclude_type_checking_imports=True, cache_dir=None)


def level(name: str, lines: tuple[tuple[str, ...], ...]) -> int:
    return next(place for place, line in enumerate(lines) if name in line)


def imports(graph: grimp.ImportGraph) -> list[tuple[str, str]]:
    return sorted(
        (module, imported)
        for module in graph.modules
        for imported in graph.find_modules_directly_imported_by(module)
        if module != "lmms_eval_tasks" and imported != "lmms_eval_tasks"
    )


def module_name(path: Path) -> str:
    return ".".join(("lmms_eval_tasks", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")


KNOWN = {module_name(path) for path in MODULES}
OF_UTILS = {path: module_name(path) for path in MODULES if path.is_relative_to(PACKAGE / "utils")}
REGISTRY = "lmms_eval_tasks.registry"


def named_modules(code: str, package: str) -> set[str]:
    """The modules of ours that a module's code names: in imports at its top, in functions and for types alone, in texts
    such as that of an import by name, and as attributes. `package` is what relative names begin from."""
    names = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            names += [f"{base}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.append(node.value.replace(":", "."))
        elif isinstance(node, ast.Attribute):
            names.append(ast.unparse(node))
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            text = node.args[0] if node.args else None
            if isinstance(text, ast.Constant) and str(text.value).startswith("."):
                names.append(importlib.util.resolve_name(text.value, package))
    return {found for name in names if (found := known_part(name)) != "lmms_eval_tasks"} - {""}


def known_part(name: str) -> str:
    """The module of ours that a dotted name begins with; empty where there is none."""
    while name and name not in KNOWN:
        name = name.rpartition(".")[0]
    return name


@pytest.fixture(scope="module")
def named_in_utils(graph: grimp.ImportGraph) -> dict[str, set[str]]:
    """Each module of utils to those that it names."""
    return {
        module: named_modules(path.read_text("utf-8"), module if path.stem == "__init__" else module.rpartition(".")[0])
        for path, module in OF_UTILS.items()
    }


@pytest.mark.parametrize(
    "code",
    [
        "from lmms_eval_tasks.registry import registry",
        "from lmms_eval_tasks import registry",
        "import lmms_eval_tasks.registry as known",
        "from ...registry import find_benchmark",
        "def find():\n    from lmms_eval_tasks.registry import registry",
        "if TYPE_CHECKING:\n    from lmms_eval_tasks.registry import Registry",
        "importlib.import_module('lmms_eval_tasks.registry')",
        "import_module('...registry', __package__)",
        "NAME = 'lmms_eval_tasks.registry:registry'\npkgutil.resolve_name(NAME)",
        "import lmms_eval_tasks\nlmms_eval_tasks.registry.registry()",
    ],
)
def test_every_sort_of_import_is_seen(code: str) -> None:
    assert REGISTRY in named_modules(code, "lmms_eval_tasks.utils.data")


def test_utils_are_handed_benchmarks_and_look_none_up(named_in_utils: dict[str, set[str]]) -> None:
    """They name no module above them: neither the registry nor what asks it."""
    assert REGISTRY in KNOWN and len(named_in_utils) > 50
    wrong = [
        f"{module} names {name}, which is above utils"
        for module, names in sorted(named_in_utils.items())
        for name in sorted(names)
        if not f"{name}.".startswith("lmms_eval_tasks.utils.")
    ]
    assert not wrong, "\n".join(wrong)


def test_utils_have_no_cycles(named_in_utils: dict[str, set[str]]) -> None:
    """Not through imports in functions, for types alone or by name either."""
    graphlib.TopologicalSorter({module: names - {module} for module, names in named_in_utils.items()}).prepare()


LAYERS = {"": ABOVE, "utils": UTILS, "sample": SAMPLE, "construct": CONSTRUCT, "train": TRAIN}


@pytest.mark.parametrize("package", LAYERS)
def test_a_package_imports_one_way(graph: grimp.ImportGraph, package: str) -> None:
    """The whole package too; the utils, its lowest line, have a test of their own."""
    inside = f"lmms_eval_tasks.{package}.".replace("..", ".")
    wrong = []
    for names in imports(graph):
        one, other = (name.removeprefix(inside).partition(".")[0] for name in names)
        if not all(name.startswith(inside) for name in names) or one in ("utils", other):
            continue
        if level(one, LAYERS[package]) <= level(other, LAYERS[package]):
            wrong.append(" imports ".join(names))
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_nothing_of_the_evaluation_names_a_wing(graph: grimp.ImportGraph) -> None:
    """Not in a text either, such as that of an import by name, and not for types alone."""
    wings = tuple(f"lmms_eval_tasks.{wing}" for wing in ("construct", "train"))
    wrong = []
    for path in MODULES:
        module = ".".join(("lmms_eval_tasks", *path.relative_to(PACKAGE).with_suffix("").parts))
        if not module.startswith(wings):
            wrong += [f"{module}: {text}" for text in names_in_code(path) if any(wing in text for wing in wings)]
    assert not wrong, "\n".join(wrong)


def test_there_are_no_cycles(graph: grimp.ImportGraph) -> None:
    graphlib.TopologicalSorter(
        {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    ).prepare()


@cache
def names_in_code(path: Path) -> set[str]:
    """Identifiers and texts of a module's code, without docstrings and comments, which say where things come from."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    documented |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found: set[str] = set()
    for node in ast.walk(tree):
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
            if place.parts[0] == name or place.parts[:2] == ("sample", "writers"):
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
    assert len(named) > 50 and [place for place, names in named.items() if names == set(OWN)] == []


@pytest.mark.slow
def test_clips_are_decoded_in_one_place() -> None:
    """Only these modules ask PyAV for frames; none imports decord. Texts are decoded by encodings that are literals."""
    wrong = []
    for path in MODULES:
        place = path.relative_to(PACKAGE).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            imports_decord = isinstance(node, ast.Import) and any(name.name == "decord" for name in node.names)
            decodes = (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "decode"
                and not (
                    all(isinstance(argument, ast.Constant) for argument in node.args)
                    and {keyword.arg for keyword in node.keywords} <= {"encoding", "errors"}
                )
            )
            if imports_decord or (decodes and place not in DECODERS):
                wrong.append(f"{place}:{node.lineno}")
    assert not wrong, "\n".join(wrong)


def test_one_module_asks_servers() -> None:
    """Judges, steps of builds, embeddings and rewards ask through its client."""
    spoken = re.compile(
        r"^\s*(?:from|import) (?:urllib3|requests|httpx|aiohttp|openai|http\.client|urllib\.request)\b", re.MULTILINE
    )
    found = [path.relative_to(PACKAGE).as_posix() for path in MODULES if spoken.search(path.read_text("utf-8"))]
    assert found == ["utils/judge/server.py"]


@pytest.mark.slow
def test_every_class_name_stands_for_one_thing() -> None:
    places: dict[str, list[str]] = {}
    for path in MODULES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
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
