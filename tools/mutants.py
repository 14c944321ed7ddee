"""Draw faults, and see whether the tests that could notice each of them do.

    make seen
    python tools/mutants.py --seed 1 [--mutants 120] [--jobs 1]

Mutants are drawn from the rooms that read, score and make data, at most one a file. One that mypy refuses is not tried.
The others meet the tests that run the changed line: the fast ones first, then the others of the day, until one fails. A
test that fails without the mutant too kills none. Results are lines of OUT/SEED.jsonl, and the same command resumes;
after a new test, `--again` tries what had survived. The table at the end counts by room.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import hashlib
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import pytest
from changed_tests import ROOT, SUITES
from mutations import Change, draw_change
from seen_tests import PARENTS, Sight

SHARED_ROOMS = (
    *(f"utils/{name}" for name in ("scoring", "answers", "data", "people", "submission")),
    *("host", "runs", "finished", "construct", "train/rewards"),
)
FAST = "not host and not model and not browser and not slow"
STAGES = {"fast": FAST, "slow": f"not ({FAST}) and not nightly"}
CONFIGURATION = "conftest.py"
"""What all tests of a suite begin with: its name is noted where it cannot be imported, so that pytest runs none."""
PATIENCE = 300
"""Processor seconds of a test after which it counts as failed: a loop without an end is a fault that it has noticed."""
LIBRARIES = (
    *(
        "nltk",
        "av",
        "cv2",
        "scipy.stats",
        "pyarrow.parquet",
        "pandas",
        "datasets",
        "transformers",
        "lmms_eval.api.task",
    ),
    *("typer.testing", "hypothesis.strategies", "jsonschema", "yaml", "torch.distributed.launcher.api"),
)
"""What tests import beside our packages: once for all mutants, in the process that each of their runs is a fork of."""


@dataclass(frozen=True)
class Mutant:
    """A change of one file of a package, which is named from its top."""

    room: str
    path: str
    change: Change

    @property
    def file(self) -> Path:
        return PARENTS[self.path.partition("/")[0]] / self.path

    @cached_property
    def text(self) -> bytes:
        return self.change.apply(self.file.read_bytes())

    @property
    def key(self) -> str:
        """Another one where the file has changed."""
        return f"{self.path}:{self.change.line} {hashlib.sha256(self.text).hexdigest()[:12]}"

    def diff(self) -> str:
        """What it changes."""
        before, after = (text.decode().splitlines() for text in (self.file.read_bytes(), self.text))
        lines = list(difflib.unified_diff(before, after, n=0, lineterm=""))[2:]
        return "\n".join([f"{self.path}:{self.change.line} ({self.change.operator})", *(f"    {one}" for one in lines)])


def rooms() -> dict[str, Path]:
    """The folders that mutants are drawn from: shared ones, and that of each benchmark."""
    packages = [top / package for package, top in PARENTS.items()]
    benchmarks = [path.parent for one in packages for where in ("", "*/") for path in one.glob(f"{where}benchmark.py")]
    return {**{name: packages[0] / name for name in SHARED_ROOMS}, **{one.name: one for one in sorted(benchmarks)}}


def draw(seed: int, number: int) -> list[Mutant]:
    """At most one mutant a file. What a seed draws of one file does not depend on others."""
    files: dict[str, tuple[str, Path]] = {}
    for room, folder in rooms().items():
        top = next(one for package, one in PARENTS.items() if folder.is_relative_to(one / package))
        files |= {path.relative_to(top).as_posix(): (room, path) for path in folder.rglob("*.py")}
    drawn: list[Mutant] = []
    for name in sorted(files, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).digest()):
        room, path = files[name]
        if len(drawn) < number and (change := draw_change(path.read_bytes(), f"{seed} {name}")):
            drawn.append(Mutant(room, name, change))
    return drawn


class Guard:
    """Runs some tests in their order, writes into a file which of them fail, and ends a run at a test without an end.

    They are chosen here and not by pytest's arguments, at which it runs none where one of them is not there. Tests of
    their files that were not there when lines were noted come last.
    """

    def __init__(self, tests: Sequence[str], noted: frozenset[str], failures: Path, suite: Path) -> None:
        self._places, self._others = {test: place for place, test in enumerate(tests)}, noted.difference(tests)
        self._failures, self._top, self._running = failures, suite.parent.relative_to(ROOT), ""

    def _name(self, node: str) -> str:
        return str(self._top / node)

    def note(self, node: str) -> None:
        """Count a test as failed."""
        with self._failures.open("a", encoding="utf-8") as file:
            file.write(f"{self._name(node)}\n")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        own = [item for item in items if self._name(item.nodeid) not in self._others]
        items[:] = sorted(own, key=lambda item: self._places.get(self._name(item.nodeid), len(self._places)))

    def _stop(self, _signal: int, _frame: FrameType | None) -> NoReturn:
        self.note(self._running)
        os._exit(1)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._running = item.nodeid
        signal.signal(signal.SIGPROF, self._stop)
        signal.setitimer(signal.ITIMER_PROF, PATIENCE)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.note(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.note(report.nodeid)


def copy_packages(folder: Path) -> None:
    """The packages in a folder, which shadows those installed for a process that has it in its path."""
    for package, top in PARENTS.items():
        shutil.copytree(top / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))


_COPY = Path()
"""The packages of this process."""


def open_copy(folder: str) -> None:
    """What a process does first: it copies the packages, which its tests and their commands then import."""
    global _COPY
    _COPY = Path(folder, str(os.getpid()))
    copy_packages(_COPY)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(_COPY), *filter(None, [os.environ.get("PYTHONPATH")])])
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    sys.path.insert(0, str(_COPY))
    for name in LIBRARIES:
        import_module(name)
    if early := PARENTS.keys() & sys.modules.keys():
        raise RuntimeError(f"{', '.join(early)} was imported with the libraries, before it could be changed.")


def run_tests(
    mutant: Mutant | None, tests: Sequence[str], noted: frozenset[str], options: Sequence[str], limit: float
) -> list[str] | None:
    """The tests that fail with a mutant, or without any, by their names from the root; None where the time was over."""
    failures = _COPY / "failed"
    failures.unlink(missing_ok=True)
    try:
        if mutant:
            (_COPY / mutant.path).write_bytes(mutant.text)
        for suite in dict.fromkeys(
            one for test in tests for one in SUITES.values() if (ROOT / test).is_relative_to(one)
        ):
            own = [test for test in tests if (ROOT / test).is_relative_to(suite)]
            if not _run_suite(suite, own, options, Guard(own, noted, failures, suite), limit):
                return None
            if failures.exists():
                return failures.read_text(encoding="utf-8").splitlines()
        return []
    finally:
        if mutant:
            shutil.copy2(mutant.file, _COPY / mutant.path)


def _run_suite(suite: Path, tests: Sequence[str], options: Sequence[str], guard: Guard, limit: float) -> bool:
    """Run tests in a fork of this process; whether it ended in time."""
    files = [file for test in tests if (file := ROOT / test.partition("::")[0]).exists()]
    if not files:
        return True
    process, over = os.fork(), time.monotonic() + limit
    if process == 0:
        chosen = [*dict.fromkeys(map(str, files)), *options, f"--basetemp={_COPY / 'temporary'}"]
        _end_as_tests(suite, chosen, guard)
    while not (ended := os.waitpid(process, os.WNOHANG))[0] and time.monotonic() < over:
        time.sleep(0.1)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)
    if not ended[0]:
        os.waitpid(process, 0)
    elif os.waitstatus_to_exitcode(ended[1]) in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERNAL_ERROR):
        guard.note(f"tests/{CONFIGURATION}")
    return bool(ended[0])


def _end_as_tests(suite: Path, arguments: list[str], guard: Guard) -> NoReturn:
    status = int(pytest.ExitCode.INTERNAL_ERROR)
    try:
        os.setsid()
        log = os.open(_COPY / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream, number in ((os.open(os.devnull, os.O_RDONLY), 0), (log, 1), (log, 2)):
            os.dup2(stream, number)
        os.chdir(suite)
        top = suite.parent
        fixed = ["--rootdir", str(top), "-c", str(top / "pyproject.toml"), "-p", "no:cacheprovider", "-q"]
        status = int(pytest.main([*fixed, *arguments], plugins=[guard]))
    finally:
        os._exit(status)


def refused(mutants: Iterable[Mutant]) -> set[str]:
    """The paths of those that mypy refuses: in one run, since each is in a file of its own."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy_packages(Path(folder))
        for mutant in mutants:
            (Path(folder) / mutant.path).write_bytes(mutant.text)
        chosen = [word for package in PARENTS for word in ("-p", package)]
        command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), *chosen]
        run = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=False)
        if run.returncode > 1:
            raise RuntimeError(f"mypy ended with status {run.returncode}:\n{run.stdout}")
        return {line.partition(":")[0] for line in run.stdout.splitlines() if ": error:" in line}


class Results:
    """What is known of mutants, by the lines of a file."""

    def __init__(self, path: Path, mutants: Sequence[Mutant]) -> None:
        self._path, self.mutants = path, mutants
        self.outcomes: dict[str, dict[str, Any]] = {mutant.key: {} for mutant in mutants}
        self.sound: dict[str, bool] = {}
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
            self._take(json.loads(line))

    def _take(self, line: Mapping[str, Any]) -> None:
        if "sound" in line:
            self.sound[line["test"]] = line["sound"]
        elif line["mutant"] in self.outcomes:
            self.outcomes[line["mutant"]][line["stage"]] = line["killer"]

    def add(self, **line: Any) -> None:
        """Keep what was found."""
        self._take(line)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def forget_survivors(self) -> None:
        """Try again what no test has noticed."""
        for mutant in self.mutants:
            if self.fate(mutant) == "survived":
                self.outcomes[mutant.key] = {}

    def fate(self, mutant: Mutant) -> str:
        """The stage that killed a mutant, `mypy` where it was refused, or `survived`."""
        found = self.outcomes[mutant.key]
        kills = (stage for stage in ("mypy", *STAGES) if self.sound.get(found.get(stage, ""), found.get(stage)))
        return next(kills, "survived")

    def open_in(self, stage: str) -> list[Mutant]:
        """The mutants that a stage has still to try."""
        void = [killer for killer, sound in self.sound.items() if not sound]
        known = {key: outcome.get(stage, "untried") for key, outcome in self.outcomes.items()}
        survived = (mutant for mutant in self.mutants if self.fate(mutant) == "survived")
        return [mutant for mutant in survived if known[mutant.key] in ("untried", *void)]

    def table(self) -> str:
        """What became of the mutants of each room."""
        lines = [f"{'room':<18} drawn  refused  fast tests  slow tests  survived  killed"]
        fates = [(mutant.room, self.fate(mutant)) for mutant in self.mutants]
        for room in [*dict.fromkeys(room for room, _ in sorted(fates)), "all"]:
            count = Counter(fate for one, fate in fates if room in (one, "all"))
            tried = count.total() - count["mypy"]
            share = f"{1 - count['survived'] / tried:.0%}" if tried else ""
            numbers = (
                f"{count.total():5}  {count['mypy']:7}  {count['fast']:10}  {count['slow']:10}  {count['survived']:8}"
            )
            lines.append(f"{room:<18} {numbers}  {share:>6}")
        return "\n".join(lines)


def try_stage(stage: str, results: Results, sight: Sight, pool: Executor, limit: float) -> None:
    """Put what has survived so far through the tests of a stage; a test that fails without a mutant kills none."""
    while mutants := results.open_in(stage):
        void = {test for test, sound in results.sound.items() if not sound}
        tried = {}
        for mutant in mutants:
            tests = [one for one in sight.tests(mutant.path, mutant.change.line) if one not in void]
            tried[pool.submit(run_tests, mutant, tests, sight.noted, ["-x", "-m", STAGES[stage]], limit)] = mutant
        killers = set()
        for done in as_completed(tried):
            failed, mutant = done.result(), tried[done]
            killer = "out of time" if failed is None else "".join(failed[:1])
            killers |= {*(failed or [])[:1]}
            results.add(mutant=mutant.key, stage=stage, killer="" if failed is None else killer)
            print(f"{stage}: {mutant.path}:{mutant.change.line}: {killer or 'survives'}", flush=True)
        if unknown := sorted(killers - results.sound.keys()):
            fails = pool.submit(run_tests, None, unknown, sight.noted, [], limit).result()
            if broken := [name for name in fails or () if name.endswith(CONFIGURATION)]:
                raise RuntimeError(f"pytest runs no test below {broken[0]}, also without a mutant.")
            for test in unknown:
                results.add(test=test, sound=fails is not None and test not in fails)


def main() -> None:
    """Draw mutants, try them, and print the table and the survivors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--mutants", type=int, default=120, help="how many to draw; 120 unless given")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes; one a core unless given")
    parser.add_argument("--stages", nargs="+", default=list(STAGES), choices=list(STAGES))
    parser.add_argument("--limit", type=float, default=3600, help="seconds of a mutant in a stage")
    parser.add_argument(
        "--out", type=Path, default=ROOT / ".mutants", help="folder of the results; .mutants unless given"
    )
    parser.add_argument("--again", action="store_true", help="try the survivors of earlier runs again")
    options = parser.parse_args()
    options.out.mkdir(exist_ok=True)
    mutants = draw(options.seed, options.mutants)
    results = Results(options.out / f"{options.seed}.jsonl", mutants)
    if options.again:
        results.forget_survivors()
    if new := [mutant for mutant in mutants if "mypy" not in results.outcomes[mutant.key]]:
        wrong = refused(new)
        for mutant in new:
            results.add(mutant=mutant.key, stage="mypy", killer="mypy" if mutant.path in wrong else "")
    sight, spawned = Sight(options.out), multiprocessing.get_context("spawn")
    with (
        tempfile.TemporaryDirectory(prefix="mutants-") as folder,
        ProcessPoolExecutor(options.jobs, spawned, open_copy, (folder,)) as pool,
    ):
        for stage in options.stages:
            try_stage(stage, results, sight, pool, options.limit)
    print(results.table())
    for mutant in mutants:
        if results.fate(mutant) == "survived":
            print(mutant.diff())


if __name__ == "__main__":
    main()
