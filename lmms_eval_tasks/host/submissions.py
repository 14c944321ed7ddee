"""Files for leaderboards, written when lmms-eval aggregates the scores of a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from loguru import logger

from lmms_eval_tasks.utils.benchmark.registry import find_benchmark
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.scoring.records import GradedItem
from lmms_eval_tasks.utils.submission.form import Built, read_prepared


def write_submissions(
    benchmark: str, task: str, split: str, finished: Mapping[str, Sequence[GradedItem]], output_path: Path
) -> int | None:
    """Write every file of a benchmark's form that a task completes.

    A file of several tasks is written once all of them have finished in this evaluation, and only if none lacks an
    item.

    Args:
        benchmark: Name of the benchmark.
        task: The task that has just finished.
        split: Its split.
        finished: Task to its items, of all tasks that have finished, this one among them.
        output_path: The run's output path.

    Returns:
        Rows of the task's own file; None where it has none.
    """
    form = find_benchmark(benchmark).submission
    assert form is not None
    written = None
    for part in form.parts:
        tasks = form.tasks(split, part)
        if task not in tasks or not finished.keys() >= set(tasks):
            continue
        table = read_prepared(benchmark, split, part)
        items = [item for name in tasks for item in finished[name]]
        built = form.build(items, table, part)
        if built is None or (len(tasks) > 1 and built.rows < len(table.rows)):
            continue
        path = output_path / form.path(split, part)
        write_file(path, built.text)
        _log(path, built, len(table.rows))
        if written is None and len(tasks) == 1:
            written = built.rows
    return written


def _log(path: Path, built: Built, expected: int) -> None:
    """Log what a file holds, as a warning where it is not all it could be."""
    parts = [f"{path} holds {built.rows} of {expected} items"]
    if built.rows < expected:
        parts.append("it is incomplete and a leaderboard should refuse it")
    if built.empty:
        parts.append(
            f"{built.empty} answers, unparsed or never asked, are empty texts, which no scorer takes for an option"
        )
    level = "WARNING" if len(parts) > 1 or built.partial else "INFO"
    logger.log(level, "{}", "; ".join([*parts, *built.notes]))
