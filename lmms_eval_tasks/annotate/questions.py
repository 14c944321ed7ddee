"""What people can be asked about a prepared split, and what they are shown of a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any

from lmms_eval_tasks.annotate.plan import PlannedQuestion
from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark
from lmms_eval_tasks.utils.benchmark.registry import find_benchmark
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.progress import Progress, no_progress
from lmms_eval_tasks.utils.core.wording import summarize_names
from lmms_eval_tasks.utils.data.clips import clip_lengths
from lmms_eval_tasks.utils.data.home import clip_path, load_table, read_manifest
from lmms_eval_tasks.utils.stats.human_responses import UNKNOWN, question_keys

Row = Mapping[str, Any]


def only_split(benchmark: str, chosen: str) -> str:
    """The split that was chosen, or the one that is prepared where none was.

    Raises:
        InputError: nothing is prepared, there is no such split, or several are prepared and none was chosen.
    """
    splits = list(read_manifest(benchmark).splits)
    if chosen in splits or (not chosen and len(splits) == 1):
        return chosen or splits[0]
    raise InputError(f"Expected --split, one of {', '.join(splits)}, but got {chosen or 'none'}.")


def rows_to_ask(benchmark: str, split: str) -> list[dict[str, Any]]:
    """The rows of a split; without those whose clips are missing, where that is allowed as for a run.

    Raises:
        InputError: nothing is prepared, clips are missing, or no row has choices.
    """
    rows = [row for row in load_table(benchmark, split).to_list() if row["clip_present"]]
    study = find_benchmark(benchmark).human_study
    if not rows or (study is None and not all(row["options"] for row in rows)):
        raise InputError(
            f"{find_benchmark(benchmark).card.title}, split {split}, cannot be asked of people: Expected rows with "
            "options and clips, but they have none."
        )
    return rows


def choices_of(benchmark: Benchmark, row: Row) -> tuple[str, ...]:
    """What can be chosen of a row, as `humans` reads it."""
    if benchmark.human_study is not None:
        return (*benchmark.human_study.choices, UNKNOWN)
    return tuple(ascii_uppercase[: len(row["options"])])


def clips_of(benchmark: Benchmark, row: Row, version: str) -> tuple[str, ...]:
    """The clips that are shown of a row, in their order."""
    study = benchmark.human_study
    columns = study.shown[version] if study is not None else _visuals(benchmark)
    return tuple(row[column] for column in columns)


def _visuals(benchmark: Benchmark) -> Sequence[str]:
    return next(iter(benchmark.kinds.values())).visuals


def read_questions(benchmark: str, split: str, progress: Progress = no_progress) -> list[PlannedQuestion]:
    """Every version of every question of a split.

    Raises:
        InputError: as `rows_to_ask`, or a clip states no length.
    """
    house, rows = find_benchmark(benchmark), rows_to_ask(benchmark, split)
    ways = tuple(house.human_study.versions) if house.human_study is not None else ()
    clips = [clips_of(house, row, ways[0] if ways else "") for row in rows]
    paths = {clip: clip_path(benchmark, clip) for of_row in clips for clip in of_row}
    lengths = clip_lengths(paths.values(), progress, f"{benchmark}, {split}: reading the length of clips")
    if unknown := [clip for clip, path in paths.items() if lengths[path] is None]:
        raise InputError(f"Expected clips that say how long they are, but these do not: {summarize_names(unknown)}.")
    milliseconds = [sum(round(1000 * (lengths[paths[clip]] or 0.0)) for clip in of_row) for of_row in clips]
    keys = [(str(row["item_id"]), "") for row in rows] if ways else question_keys(rows)
    return [
        PlannedQuestion(item, version, row["item_id"], length, choices_of(house, row), ways)
        for (item, version), row, length in zip(keys, rows, milliseconds, strict=True)
    ]
