"""How long the clips of a prepared split are and how its questions are worded, by stratum."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from lmms_eval_tasks.utils.benchmark.card import Card
from lmms_eval_tasks.utils.core.progress import Progress
from lmms_eval_tasks.utils.data.clips import clip_lengths
from lmms_eval_tasks.utils.data.home import clip_path, clips_of_rows, read_table

_WORD = re.compile(r"\w+(?:['’]\w+)*")


@dataclass(frozen=True)
class StratumStatistics:
    """The clips and questions of a stratum, or of all."""

    stratum: tuple[str, ...]
    items: int
    clips: int
    unknown: int
    mean_seconds: float | None
    longest_seconds: float | None
    question_words: float
    option_words: float | None
    vocabulary: int


def split_statistics(card: Card, split: str, progress: Progress) -> list[StratumStatistics]:
    """The statistics of each stratum in alphabetical order, and of all items last."""
    table, _ = read_table(card, split)
    clips = clips_of_rows(card, table)
    paths = {clip: clip_path(card.name, clip) for of_row in clips for clip in of_row}
    lengths = clip_lengths(paths.values(), progress, f"{card.name}, {split}: reading the length of clips")
    seconds = {clip: lengths[path] for clip, path in paths.items()}
    questions = [_words(text) for text in table.column("question").to_pylist()]
    options = [[_words(text) for text in texts or ()] for texts in table.column("options").to_pylist()]
    columns = [table.column(name).to_pylist() for name in card.strata_columns]
    rows: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for row, values in enumerate(zip(*columns, strict=True) if columns else ()):
        rows[tuple(map(str, values))].append(row)

    def describe(stratum: tuple[str, ...], members: Collection[int]) -> StratumStatistics:
        own = dict.fromkeys(clip for row in members for clip in clips[row])
        texts = [questions[row] for row in members], [option for row in members for option in options[row]]
        return _statistics(stratum, *texts, [seconds[clip] for clip in own])

    return [*(describe(stratum, rows[stratum]) for stratum in sorted(rows)), describe((), range(table.num_rows))]


def _words(text: str | None) -> list[str]:
    return _WORD.findall((text or "").casefold())


def _statistics(
    stratum: tuple[str, ...],
    questions: Collection[list[str]],
    options: Collection[list[str]],
    lengths: Iterable[float | None],
) -> StratumStatistics:
    lengths = list(lengths)
    known = [length for length in lengths if length is not None]
    return StratumStatistics(
        stratum=stratum,
        items=len(questions),
        clips=len(known),
        unknown=len(lengths) - len(known),
        mean_seconds=sum(known) / len(known) if known else None,
        longest_seconds=max(known, default=None),
        question_words=sum(map(len, questions)) / len(questions),
        option_words=sum(map(len, options)) / len(options) if options else None,
        vocabulary=len({word for words in (*questions, *options) for word in words}),
    )
