"""Print the test files that a change can reach by the graph of imports, for `make quick`.

    python tools/changed_tests.py [--since main]

A test file is reached if it imports a changed module, or one that imports it, itself or through `support` or the
`conftest.py` of its folder; if its folder mirrors that of the module; from a benchmark, if it is about all benchmarks;
from a page, if it is about pages. Without a change all are.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[1]
SUITES = {"lmms_eval_tasks": ROOT / "tests", "lmms_eval_worlds": ROOT / "worlds" / "tests"}
"""The tests of each package; both may run lines of each."""
OF_BENCHMARKS, OF_PAGES = SUITES["lmms_eval_tasks"] / "benchmarks", SUITES["lmms_eval_tasks"] / "pages"


def changed_files(since: str) -> list[Path]:
    """What differs from where the branch left another, committed or not; nothing where there is no such branch."""
    try:
        base = _git("merge-base", "HEAD", since)[0]
    except subprocess.CalledProcessError:
        return []
    names = [*_git("diff", "--name-only", base), *_git("ls-files", "--others", "--exclude-standard")]
    return [ROOT / name for name in names]


def _git(*arguments: str) -> list[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.split()


def all_tests() -> list[Path]:
    return sorted(path for suite in SUITES.values() for path in suite.rglob("test_*.py"))


def reached(changed: Collection[Path]) -> list[Path]:
    """The test files that changed files can reach."""
    graph = grimp.build_graph(*SUITES, cache_dir=None)
    modules = {module for path in changed for module in _modules_at(path, graph.modules)}
    for module in list(modules):
        modules |= graph.find_downstream_modules(module)
    folders = [*_folders(changed)]
    return [
        path
        for path in all_tests()
        if not changed
        or path in changed
        or not modules.isdisjoint(_imports(path))
        or not _support_of(path).isdisjoint(changed)
        or any(path.is_relative_to(folder) for folder in folders)
    ]


def _modules_at(path: Path, known: Collection[str]) -> Iterator[str]:
    """The module of a file, or of a file of another kind those beside it, or in the nearest folder that has any."""
    for package, suite in SUITES.items():
        top = suite.parent
        if not path.is_relative_to(top / package):
            continue
        name = ".".join(path.relative_to(top).with_suffix("").parts).removesuffix(".__init__")
        if path.suffix == ".py":
            yield name
            return
        while name := name.rpartition(".")[0]:
            if beside := [module for module in known if module.rpartition(".")[0] == name]:
                yield from beside
                return


def _folders(changed: Collection[Path]) -> Iterator[Path]:
    """Folders, and files, of tests that are reached without an import."""
    for path in changed:
        for package, suite in SUITES.items():
            if path.is_relative_to(top := suite.parent / package) and path.parent != top:
                yield next(folder for one in path.parents if (folder := suite / one.relative_to(top)).is_dir())
        if any((folder / "benchmark.py").is_file() for folder in path.parents if folder.is_relative_to(ROOT)):
            yield OF_BENCHMARKS
        if path.suffix == ".md" or ROOT / "examples" in path.parents:
            yield OF_PAGES
        if path.suffix != ".py" and any(path.is_relative_to(suite) for suite in SUITES.values()):
            yield path.with_suffix(".py") if path.with_suffix(".py").is_file() else path.parent


@cache
def _imports(test: Path) -> frozenset[str]:
    """The modules of our packages that a test file imports, itself or through others."""
    return frozenset[str]().union(*map(_named, (test, *_support_of(test))))


@cache
def _support_of(test: Path) -> frozenset[Path]:
    """The files in `support` and the `conftest.py` that a test file imports, or those import."""
    suite = next(suite for suite in SUITES.values() if test.is_relative_to(suite))
    settings = {folder / "conftest.py" for folder in test.parents if folder.is_relative_to(suite)}
    found = {path for path in settings if path.is_file()}
    left = [test, *found]
    while left:
        named = {suite / "support" / f"{name}.py" for name in _named(left.pop())}
        new = {path for path in named - found if path.is_file()}
        found |= new
        left += new
    return frozenset(found)


@cache
def _named(path: Path) -> frozenset[str]:
    """What a file imports, by the names of modules; of `from a import b` also `a.b`, which may be one. Imports in the
    fixtures of a `conftest.py`, which few tests use, do not count."""
    names = set[str]()
    source = ast.parse(path.read_bytes())
    for node in source.body if path.name == "conftest.py" else ast.walk(source):
        if isinstance(node, ast.Import):
            names |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
    return frozenset(names)


def main() -> None:
    """Print the files that a change reaches."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--since", default="main", help="the branch that the change is to land on; main unless given")
    parser.add_argument("--package", choices=SUITES, required=True, help="the package whose tests are printed")
    options = parser.parse_args()
    for path in reached(changed_files(options.since)):
        if path.is_relative_to(SUITES[options.package]):
            print(path.relative_to(SUITES[options.package]))


if __name__ == "__main__":
    main()
