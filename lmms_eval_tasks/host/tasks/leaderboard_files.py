"""Files for leaderboards, written when lmms-eval aggregates the scores of a task."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from loguru import logger

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark
from lmms_eval_tasks.utils.benchmark.tasks import tasks_of_part
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.text import first_line
from lmms_eval_tasks.utils.scoring.record import GradedItem, UnscoredReason
from lmms_eval_tasks.utils.submission.form import Built, read_prepared

Finished = dict[frozenset[tuple[str, Any]], Sequence[GradedItem]]
"""What a task's pointer names, to the task's graded items."""
ASKED_AGAIN = (UnscoredReason.FAILED, UnscoredReason.BUDGET)
LONGEST_NAME = 120
"""Characters of a model's name in that of a file; file systems take 255 bytes together."""


def write_submissions(
    benchmark: Benchmark, pointer: Mapping[str, Any], finished: Finished, output_path: Path, model: str = ""
) -> int | None:
    """Write every file of a benchmark's form that a task completes."""
    split, form, written = pointer["split"], benchmark.submission, None
    assert form is not None, f"{benchmark.name} has no form of submission"
    own = registry().tasks_of(benchmark.name)
    for part in form.parts:
        tasks = tasks_of_part(own, split, part).values()
        keys = [frozenset(task.pointer.items()) for task in tasks]
        if frozenset(pointer.items()) not in keys or not finished.keys() >= set(keys):
            continue
        path = _name_after(model, output_path / form.path(split, part))
        try:
            table = read_prepared(benchmark.card, split, tasks)
            items = [item for key in keys for item in finished[key]]
            if failed := [item.record for item in items if item.record.unscored_reason in ASKED_AGAIN]:
                logger.warning(
                    "{} was not written: {:,} of {:,} items have no answer ({}). The same command asks them again.",
                    path, len(failed), len(items), failed[0].why,
                )  # fmt: skip
                continue
            built = form.build(items, table, part)
            if built is None or (len(tasks) > 1 and built.rows < len(table.rows)):
                continue
            _keep_earlier(path, built.text)
            write_file(path, built.text)
        except Exception as error:  # lmms-eval saves the results after this, and no file is worth losing them
            logger.warning(
                "{} was not written ({}: {}). The run keeps all else; with --log_samples, "
                "`lmms-eval-tasks submit {} {} --out FILE` writes the file later.",
                path,
                type(error).__name__,
                first_line(error),
                benchmark.name,
                output_path,
            )
            continue
        _log(path, built, len(table.rows))
        if written is None and len(tasks) == 1:
            written = built.rows
    return written


def _name_after(model: str, path: Path) -> Path:
    """A file's place with the model in its name, so that those of several models stay apart and say whose they are."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "_", model)[:LONGEST_NAME].strip("._")
    return path.with_name(f"{path.stem}.{safe}{path.suffix}") if safe else path


def _keep_earlier(path: Path, text: str) -> None:
    """Keep an earlier run's file of the same name, as two seeds with one output path have, under a name of its own."""
    if not path.is_file() or (earlier := path.read_bytes()) == text.encode("utf-8"):
        return
    for number in count(1):
        kept = path.with_name(f"{path.stem}.{number}{path.suffix}")
        try:
            with kept.open("xb") as file:
                file.write(earlier)
        except FileExistsError:
            continue
        logger.warning("{} was another run's; that file is now {}. Give each run its own output path.", path, kept)
        return


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
