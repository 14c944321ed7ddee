"""A survey of prepared splits: clips that cannot be shown, and lengths of clips and wording of questions by stratum."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lmms_eval_tasks.utils.core.work import Progress
from lmms_eval_tasks.utils.data.card import Card
from lmms_eval_tasks.utils.data.clips import clip_lengths, unreadable
from lmms_eval_tasks.utils.data.home import absent_clips, clip_path, clips_of_rows, read_table, sources_of_clips
from lmms_eval_tasks.utils.data.identity import Count, counts
from lmms_eval_tasks.utils.data.manifest import SplitManifest

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True)
class ClipCount:
    """Clips of one part of a release: how many there are, and how many cannot be shown."""

    source: str
    clips: int
    absent: int
    unreadable: int


@dataclass(frozen=True)
class SplitCheck:
    facts: SplitManifest
    counts: Sequence[Count]
    clips: Sequence[ClipCount]
    missing: Sequence[str]
    broken: Sequence[str]


def check_split(card: Card, split: str, decode: bool, progress: Progress) -> SplitCheck:
    """Check a prepared split: its table, its counts, and every clip; `decode` also decodes clips to their end."""
    table, facts = read_table(card, split)
    missing = absent_clips(card, split, table)
    clips = sources_of_clips(card, split, table)
    paths = {clip_path(card.name, clip): clip for clip in clips if clip not in missing}
    what = f"{card.name}, {split}: {'decoding' if decode else 'opening'} clips"
    broken = [paths[path] for path in unreadable(paths, progress, what, whole=decode)]
    known = {entry.clip for entry in facts.missing if entry.reason == "unreadable"}
    return SplitCheck(
        facts,
        counts(card, split, table),
        count_clips(card, split, table, missing.keys() - known, {*known, *broken}),
        list(missing),
        broken,
    )


def prepared_clips(card: Card, split: str) -> list[ClipCount]:
    table, facts = read_table(card, split)
    reasons = {entry.clip: entry.reason for entry in facts.missing}
    absent = {clip for clip, reason in reasons.items() if reason == "absent"}
    return count_clips(card, split, table, absent, reasons.keys() - absent)


def count_clips(
    card: Card, split: str, table: pyarrow.Table, absent: Collection[str], unreadable: Collection[str]
) -> list[ClipCount]:
    """Count distinct clips, absent ones and unreadable ones per part of the release, in alphabetical order."""
    source_of = sources_of_clips(card, split, table)
    total = Counter(source_of.values())
    lost = Counter(source for clip, source in source_of.items() if clip in absent)
    bad = Counter(source for clip, source in source_of.items() if clip in unreadable)
    return [ClipCount(source, total[source], lost[source], bad[source]) for source in sorted(total)]


_WORD = re.compile(r"\w+(?:['’]\w+)*")


@dataclass(frozen=True)
class StratumStatistics:
    stratum: tuple[str, ...]
    items: int
    clips: int
    unknown: int
    mean_seconds: float | None
    longest_seconds: float | None
    question_words: float
    option_words: float | None
    vocabulary: int
    seconds: tuple[float, ...] = field(default=(), compare=False, repr=False)
    """The known lengths of its clips, ascending."""


def split_statistics(card: Card, split: str, progress: Progress) -> list[StratumStatistics]:
    """Return the statistics of each stratum in alphabetical order, and of all items last."""
    table, _ = read_table(card, split)
    clips = clips_of_rows(card, table)
    paths = {clip: clip_path(card.name, clip) for of_row in clips for clip in of_row}
    seconds = clip_lengths(paths.values(), progress, f"{card.name}, {split}: reading the length of clips")
    questions = [_words(text) for text in table.column("question").to_pylist()]
    options = [[_words(text) for text in texts or ()] for texts in table.column("options").to_pylist()]
    columns = [table.column(name).to_pylist() for name in card.strata_columns]
    rows: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for row, values in enumerate(zip(*columns, strict=True) if columns else ()):
        rows[tuple(map(str, values))].append(row)

    def describe(stratum: tuple[str, ...], members: Collection[int]) -> StratumStatistics:
        lengths = [seconds[paths[clip]] for clip in dict.fromkeys(clip for row in members for clip in clips[row])]
        known = [length for length in lengths if length is not None]
        own, offered = [questions[row] for row in members], [option for row in members for option in options[row]]
        return StratumStatistics(
            stratum=stratum,
            items=len(own),
            clips=len(known),
            unknown=len(lengths) - len(known),
            mean_seconds=sum(known) / len(known) if known else None,
            longest_seconds=max(known, default=None),
            question_words=sum(map(len, own)) / len(own),
            option_words=sum(map(len, offered)) / len(offered) if offered else None,
            vocabulary=len({word for words in (*own, *offered) for word in words}),
            seconds=tuple(sorted(known)),
        )

    return [*(describe(stratum, rows[stratum]) for stratum in sorted(rows)), describe((), range(table.num_rows))]


def _words(text: str | None) -> list[str]:
    return _WORD.findall((text or "").casefold())
