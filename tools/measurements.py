"""Run the scripts of benchmarks/, keep what they print, and make the table of benchmarks/README.md from it.

    python tools/measurements.py [--tiny] [SCRIPT [OPTIONS]]

`make measurements` runs every script at its full size, `make measurements SCRIPT=ranks` one, and
`make measurements SCRIPT="shared_prefix --cuda"` one with options. Each leaves a line in
benchmarks/results/<date>.jsonl: script, size, options, ratios with what they are, cores, and commit. The table shows
the last line of each script, of its full size where there is one. With SCRIPT=table it is only made anew.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, TypedDict

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "benchmarks"
RESULTS = FOLDER / "results"
PAGE = FOLDER / "README.md"
ABSENT = 77
"""Exit status of a measurement that lacks what it needs, as benchmarks/measuring.py has it."""
MOST_SHOWN = 4
"""Ratios of a script that the table names one by one."""
_RATIO = re.compile(r"^ratio (-?\d\S*): (.+)$", re.MULTILINE)
_TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)


class Result(TypedDict):
    """What a script measured once. A size is `full`, also with options, or `tiny`."""

    script: str
    size: str
    options: Sequence[str]
    ratios: Sequence[tuple[float, str]]
    cores: int
    commit: str


def scripts() -> dict[str, Path]:
    """The measurements of the folder by name; what has no `__main__` is shared by them."""
    paths = sorted(FOLDER.glob("*.py"))
    return {path.stem: path for path in paths if "__main__" in path.read_text(encoding="utf-8")}


def read_ratios(printed: str) -> list[tuple[float, str]]:
    """The ratios of what a script prints, each with what it is."""
    return [(float(ratio), what) for ratio, what in _RATIO.findall(printed)]


def measure(name: str, options: Sequence[str]) -> Result | None:
    """Run a script and return what it measured; None where it lacks what it needs."""
    command = [sys.executable, str(scripts()[name]), *options]
    # The checkout would shadow the installed package.
    run = subprocess.run(command, cwd=ROOT / "tests", stdout=subprocess.PIPE, text=True, check=False)
    sys.stdout.write(run.stdout)
    if run.returncode == ABSENT:
        return None
    ratios = read_ratios(run.stdout)
    if run.returncode or not ratios:
        raise RuntimeError(f"{name} ended with status {run.returncode} and {len(ratios)} ratios; nothing is kept.")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    described = ["git", "describe", "--always", "--dirty", "--abbrev=8", "--exclude=*"]
    commit = subprocess.run(described, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    size = "tiny" if "--tiny" in options else "full"
    # A path is one of this machine.
    kept = ["PATH" if os.sep in option else option for option in options if option != "--tiny"]
    return Result(script=name, size=size, options=kept, ratios=ratios, cores=cores, commit=commit)


def keep(result: Result, day: date) -> None:
    """Add a result to the file of its day."""
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"{day.isoformat()}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(result, ensure_ascii=False) + "\n")


def last_results() -> dict[str, tuple[str, Result]]:
    """The day and the result that the table shows, by script."""
    found: dict[str, tuple[str, Result]] = {}
    for path in sorted(RESULTS.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            result: Result = json.loads(line)
            before = found.get(result["script"])
            if before is None or result["size"] == "full" or before[1]["size"] == "tiny":
                found[result["script"]] = (path.stem, result)
    return found


def question(path: Path) -> str:
    """The first line of a script's docstring."""
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]


def _ratios_cell(result: Result) -> str:
    values = [ratio for ratio, _ in result["ratios"]]
    few = len(values) <= MOST_SHOWN
    shown = ", ".join(f"{value:.3g}" for value in values) if few else f"{min(values):.3g} to {max(values):.3g}"
    how = " ".join([*result["options"], *(["--tiny"] if result["size"] == "tiny" else [])])
    return shown + (f" (`{how}`)" if how else "")


def make_table(paths: Mapping[str, Path], results: Mapping[str, tuple[str, Result]]) -> str:
    """The table: a line for each script."""
    lines = ["| script | question | ratios | measured |", "| --- | --- | --- | --- |"]
    for name, path in paths.items():
        script = f"| [`{name}`]({path.name}) | {question(path)} |"
        if name in results:
            day, result = results[name]
            where = f"[{day}](results/{day}.jsonl), {result['cores']} cores"
            lines.append(f"{script} {_ratios_cell(result)} | {where} |")
        else:
            lines.append(f"{script} none kept | |")
    return "".join(f"{line}\n" for line in lines)


def with_table(page: str, table: str) -> str:
    """A page with its one table exchanged."""
    changed, number = _TABLE.subn(lambda _: table, page)
    if number != 1:
        raise SystemExit(f"Expected one table in {PAGE}, but got {number}.")
    return changed


def main(arguments: Any = None) -> int:
    """Run what is named, or everything, and make the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("script", nargs="?", default="", help="one script without .py, or `table`; all without")
    options, further = parser.parse_known_args(arguments)
    known = scripts()
    if options.script and options.script not in (*known, "table"):
        raise SystemExit(f"Expected a script, one of {', '.join(known)}, or table, but got {options.script}.")
    failed = []
    for name in [] if options.script == "table" else [options.script] if options.script else known:
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()
        try:
            if result := measure(name, further):
                keep(result, date.today())
        except RuntimeError as error:
            failed.append(str(error))
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), make_table(known, last_results())), encoding="utf-8")
    sys.stderr.write("".join(f"{fault}\n" for fault in failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
