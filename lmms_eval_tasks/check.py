"""What is prepared here, and which of its clips cannot be shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmms_eval_tasks.installed.registry import read_card
from lmms_eval_tasks.utils.benchmark.card import Card
from lmms_eval_tasks.utils.core.progress import Progress
from lmms_eval_tasks.utils.data.clips import unreadable
from lmms_eval_tasks.utils.data.counts import Count, counts
from lmms_eval_tasks.utils.data.home import absent_clips, clip_path, clip_sources, clips_of_rows, read_table
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
    """One prepared split as it is now."""

    facts: SplitManifest
    counts: Sequence[Count]
    clips: Sequence[ClipCount]
    missing: Sequence[str]
    broken: Sequence[str]


def check_split(benchmark: str, split: str, decode: bool, progress: Progress) -> SplitCheck:
    """Check a prepared split: its table, its counts, and every clip; `decode` also decodes clips to their end."""
    card = read_card(benchmark)
    table, facts = read_table(card, split)
    missing = absent_clips(card, split, table)
    clips = (clip for clips in clips_of_rows(card, table) for clip in clips)
    paths = {clip_path(benchmark, clip): clip for clip in clips if clip not in missing}
    what = f"{benchmark}, {split}: {'decoding' if decode else 'opening'} clips"
    broken = [paths[path] for path in unreadable(paths, progress, what, whole=decode)]
    known = {entry.clip for entry in facts.missing if entry.reason == "unreadable"}
    return SplitCheck(
        facts,
        counts(card, split, table),
        count_clips(card, split, table, missing.keys() - known, {*known, *broken}),
        list(missing),
        broken,
    )


def prepared_clips(benchmark: str, split: str) -> list[ClipCount]:
    """Clips per part of the release as they were when the split was prepared; none is opened."""
    card = read_card(benchmark)
    table, facts = read_table(card, split)
    reasons = {entry.clip: entry.reason for entry in facts.missing}
    absent = {clip for clip, reason in reasons.items() if reason == "absent"}
    return count_clips(card, split, table, absent, reasons.keys() - absent)


def count_clips(
    card: Card, split: str, table: pyarrow.Table, absent: Collection[str], unreadable: Collection[str]
) -> list[ClipCount]:
    """Distinct clips, absent ones and unreadable ones per part of the release, in alphabetical order."""
    rows = zip(clips_of_rows(card, table), clip_sources(split, table), strict=True)
    source_of = {clip: source for clips, source in rows for clip in clips}
    total = Counter(source_of.values())
    lost = Counter(source for clip, source in source_of.items() if clip in absent)
    bad = Counter(source for clip, source in source_of.items() if clip in unreadable)
    return [ClipCount(source, total[source], lost[source], bad[source]) for source in sorted(total)]
