"""The last lines of a run, below lmms-eval's own table: what each task scored, and how to look at it."""

from __future__ import annotations

import atexit
import shlex
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from lmms_eval_tasks.host.ranks import on_command_line
from lmms_eval_tasks.installed.registry import registry
from lmms_eval_tasks.utils.core.cells import Number
from lmms_eval_tasks.utils.core.wording import printable
from lmms_eval_tasks.utils.runs.results_file import sample_log
from lmms_eval_tasks.utils.runs.scores_file import PartScores, ScoresFile

UNLOGGED = "With --log_samples a run has intervals, and `lmms-eval-tasks report` shows it."


def announce(scores: ScoresFile, results: Path, output_path: str) -> None:
    """Print the last lines of a run when lmms-eval's command line ends; a Python program prints what it wants."""
    if on_command_line():
        atexit.register(_print, scores, results, output_path)


def _print(scores: ScoresFile, results: Path, output_path: str) -> None:
    tasks = {task for part in scores.parts for task in part.tasks}
    if scores.without_intervals or all(sample_log(results, task).is_file() for task in tasks):
        with suppress(OSError, ValueError):  # nobody reads any more
            sys.stdout.write("".join(f"{line}\n" for line in closing_lines(scores, output_path)))
            sys.stdout.flush()


def closing_lines(scores: ScoresFile, output_path: str) -> Iterator[str]:
    """A line for each task and group with its leading score, then how to look at the run."""
    yield ""
    groups = {part.name: part for part in scores.parts if part.tasks != [part.name]}
    members = {task for group in groups.values() for task in group.tasks}
    for part in (*groups.values(), *(part for part in scores.parts if part.name not in groups)):
        if part.name in members:
            continue
        yield _line(part, output_path)
        if part.name in groups:
            yield from (f"  {_line(scores.part(task), output_path)}" for task in part.tasks)
    yield UNLOGGED if scores.without_intervals else f"lmms-eval-tasks report {shlex.quote(output_path)}"


def _line(part: PartScores, output_path: str) -> str:
    """A task's leading score, its interval, on how many groups they stand, and what sets them apart."""
    try:
        score = part.score(part.leading)
    except KeyError:
        return printable(f"{part.name}: no score")
    after = "%" if score.unit == "%" else f" {score.unit}" if score.unit else ""
    known = registry().find_task(part.tasks[0])
    facts = known.benchmark.card.splits.get(known.split) if known else None
    if facts and facts.answers_withheld and not score.groups and part.outcomes:
        submit = f"lmms-eval-tasks submit {part.benchmark} {shlex.quote(output_path)} --out FILE"
        return printable(f"{part.name}: answers withheld; {submit}{f'; {part.apart}' if part.apart else ''}")
    varies = score.low != score.high  # else the groups show no interval
    number = Number(score.value, score.low if varies else None, score.high if varies else None, after=after).text
    stands_on = "" if score.groups is None else f", {score.groups:,} group{'s' if score.groups != 1 else ''}"
    return printable(f"{part.name}: {score.title} {number}{stands_on}{f'; {part.apart}' if part.apart else ''}")
