"""Which tests run a line of a package, as `make seen` has had coverage.py note it."""

from __future__ import annotations

import ast
import sqlite3
from collections import Counter
from collections.abc import Collection
from contextlib import closing
from pathlib import Path

from changed_tests import ROOT, SUITES
from coverage.numbits import numbits_to_nums

PARENTS = {package: suite.parent for package, suite in SUITES.items()}
SEEN = "{}.seen"
"""What was noted of a package's tests, by its name: a file of coverage.py."""
INSTALLED = "site-packages/"
IMPORTERS = 2
"""How many tests have run what is run when modules are imported: the first of each process, for all others."""


class Sight:
    """The tests of all suites, by the lines that they run."""

    def __init__(self, folder: Path) -> None:
        self._lines: dict[str, dict[str, set[int]]] = {}
        """File and test to the lines that it runs."""
        self._count: Counter[str] = Counter()
        """Test to how many lines it runs of all files."""
        for package, suite in SUITES.items():
            top = suite.parent.relative_to(ROOT)
            with closing(sqlite3.connect(folder / SEEN.format(package))) as noted:
                found = noted.execute(
                    "select path, context, numbits from line_bits join file on file.id = file_id "
                    "join context on context.id = context_id where context != ''"
                )
                for path, context, bits in found:
                    name, _, phase = context.rpartition("|")
                    test, ran = str(top / name), numbits_to_nums(bits)
                    of_file = self._lines.setdefault(path.rpartition(INSTALLED)[2], {})
                    of_file.setdefault(test, set()).update(ran)
                    self._count[test] += len(ran)
                    if phase == "setup":
                        # Tests of a file share what one of them has made.
                        of_file.setdefault(test.partition("::")[0], set()).update(ran)

    @property
    def noted(self) -> frozenset[str]:
        """All tests of which lines were noted."""
        return frozenset(self._count)

    def tests(self, path: str, line: int) -> list[str]:
        """The tests that run a line, else its function, else anything of its file, or of its folder: those that run
        little first, and those of a file together. After the few that run what an import may have run come the others
        of its file. Of a line that runs at import nobody knows which tests look at what it defines: those beside them
        in the tests come last."""
        source = (PARENTS[path.partition("/")[0]] / path).read_text(encoding="utf-8")
        ran, functions = self._lines.get(path, {}), _functions_around(source, line)
        spans = [range(line, line + 1), *functions] if functions else []
        seen = next((tests for span in spans if (tests := _that_run(ran, span))), [*ran] or self._of_folder(path))
        first = self._named(seen)
        found = self._named([*seen, *ran]) if len(first) <= IMPORTERS else first
        least: dict[str, int] = {}
        for test in found:
            file = test.partition("::")[0]
            least[file] = min(least.get(file, self._count[test]), self._count[test])

        def place(test: str) -> tuple[bool, int, str, int, str]:
            return test not in first, least[file := test.partition("::")[0]], file, self._count[test], test

        chosen = sorted(found, key=place)
        return chosen if functions else list(dict.fromkeys([*chosen, *self._beside(path)]))

    def _beside(self, path: str) -> list[str]:
        """The tests in the folder that is called as the file's first one, and of a benchmark those of all of them; then
        their files, for tests that run no line of a package."""
        package, folder, *_ = path.split("/")
        suite = SUITES[package].relative_to(ROOT)
        is_benchmark = (PARENTS[package] / package / folder / "benchmark.py").is_file()
        folders = [suite / folder, *([suite / "benchmarks"] if is_benchmark else [])]
        if not (ROOT / folders[0]).is_dir():
            folders = [suite]
        noted = sorted(test for test in self._count if any(Path(test).is_relative_to(one) for one in folders))
        files = sorted(file.relative_to(ROOT) for one in folders for file in (ROOT / one).rglob("test_*.py"))
        return [*noted, *map(str, files)]

    def _named(self, seen: Collection[str]) -> list[str]:
        """Tests by their names, or by those of their files."""
        return [test for test in self._count if test in seen or test.partition("::")[0] in seen]

    def _of_folder(self, path: str) -> list[str]:
        """The tests of the files beside one that was noted of none, as one that others load by its path."""
        folder = path.rpartition("/")[0]
        return [test for other, ran in self._lines.items() if other.rpartition("/")[0] == folder for test in ran]


def _that_run(ran: dict[str, set[int]], span: range) -> list[str]:
    return [test for test, lines in ran.items() if not lines.isdisjoint(span)]


def _functions_around(source: str, line: int) -> list[range]:
    """The bodies of the functions that a line is in, the innermost first."""
    functions = (
        node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    bodies = (range(one.body[0].lineno, (one.end_lineno or 0) + 1) for one in functions)
    return sorted((body for body in bodies if line in body), key=len)
