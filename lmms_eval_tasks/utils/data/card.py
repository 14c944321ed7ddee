"""The card of a benchmark, with typed facts and published numbers, and the kinds of data sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from pydantic import BaseModel


@dataclass(frozen=True)
class PublishedStatistics:
    """Statistics that a paper reports on the clips and questions of a split; None where it reports nothing.

    Attributes:
        mean_seconds: mean length of its clips, in seconds.
        longest_seconds: length of its longest clip, in seconds.
        option_words: mean number of words of an option.
        vocabulary: how many different words its questions and options have.
        stratum_seconds: length of a clip of each stratum, in seconds, keyed as `SplitFacts.strata`.
    """

    mean_seconds: float | None = None
    longest_seconds: float | None = None
    option_words: float | None = None
    vocabulary: int | None = None
    stratum_seconds: Mapping[tuple[str, ...], float] = field(default_factory=dict)


@dataclass(frozen=True)
class SplitFacts:
    """Contents of a complete release of one split; a number is None if no source states it.

    Attributes:
        items: rows of the prepared table; without it no data is known to be the whole release.
        groups: groups of items that count only together.
        clips: distinct clips.
        answers_withheld: True where only the leaderboard holds the answers.
        strata: groups per stratum, keyed by the values of the card's `strata_columns`; only strata whose exact size
            is known.
        statistics: the paper's numbers about clips and questions.
        sha256: SHA-256 of files of the release, each of which shows that a set is of it, as the card's `archive_sha256`
            and a download of its `hub_id` do; numbers alone do not.
        part_sha256: SHA-256 of files of parts that the authors released by themselves, and of which they print scores.
    """

    items: int | None = None
    groups: int | None = None
    clips: int | None = None
    answers_withheld: bool = False
    strata: Mapping[tuple[str, ...], int] = field(default_factory=dict)
    statistics: PublishedStatistics = PublishedStatistics()
    sha256: frozenset[str] = frozenset()
    part_sha256: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Human:
    """A published human score, with what has to be known before comparing with it.

    Attributes:
        metric: name of the score that it is, as in `Card.chance`.
        split: the split on which people were asked.
        percent: the score in the metric's unit, percent or percentage points.
        source: where it is printed ("paper, Table 4").
        caveat: what keeps it from being compared just so, such as how people were asked.
    """

    metric: str
    split: str
    percent: float
    source: str
    caveat: str


@dataclass(frozen=True)
class Card:
    """The facts of one benchmark; each comes from the benchmark's paper, release or official repository.

    Attributes:
        name: folder name, also the name in the data home.
        title: its name for people.
        paper: the paper's address; empty where there is none.
        licence: of its data, as its authors name it.
        homepage: its address; empty where there is none.
        main_metric: name of the metric that the paper leads with.
        splits: split name to its facts.
        strata_columns: columns whose values together name a stratum.
        clip_columns: columns that name clips; an item can be asked where all of its clips are there.
        chance: metric to the score in percent of uniform guessing. Where several kinds of task have a metric, each
            kind's `references` say its own.
        human: published human scores; likewise.
        prompt_sha256: official prompt's part to the SHA-256 of its UTF-8 text.
        archive_sha256: published archive's file name to its SHA-256.
        hub_id: dataset on the Hugging Face hub; empty where there is none.
        prepare_command: the command that prepares the benchmark.
        is_released: whether its authors have released the data; without it no set is the official one.
        clip_sources: source of clips to where these can be had; empty where the release has them.
        leaderboards: leaderboard of several benchmarks to what it calls the splits that it takes; it ranks by the first
            split, and takes the others where a run has them.
    """

    name: str
    title: str
    paper: str
    licence: str
    homepage: str
    main_metric: str
    splits: Mapping[str, SplitFacts]
    strata_columns: tuple[str, ...]
    chance: Mapping[str, float]
    prepare_command: str
    human: tuple[Human, ...] = ()
    prompt_sha256: Mapping[str, str] = field(default_factory=dict)
    archive_sha256: Mapping[str, str] = field(default_factory=dict)
    hub_id: str = ""
    is_released: bool = True
    clip_columns: tuple[str, ...] = ("clip",)
    clip_sources: Mapping[str, str] = field(default_factory=dict)
    leaderboards: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


class SetKind(str, Enum):
    OFFICIAL = "official"
    PART = "part"
    OWN = "own"
    SAMPLE = "sample"
    UNKNOWN = "unknown"
    """Neither a digest nor the place that it came from says, or the card has no counts, or an older version made it."""


_RELEASED = frozenset({SetKind.OFFICIAL, SetKind.PART, SetKind.UNKNOWN})


class DataSet(BaseModel, extra="forbid", frozen=True):
    """A set, as `prepare` decides it and as the manifest and every line of a sample log keep it.

    Attributes:
        kind: What it is.
        items: How many items it has; None where that is not known.
        of: How many the whole official split has; None where the card does not say.
    """

    kind: SetKind
    items: int | None = None
    of: int | None = None

    @property
    def is_official(self) -> bool:
        """Whether its scores may be compared with those of people and of published models."""
        return self.kind is SetKind.OFFICIAL

    @property
    def is_sample(self) -> bool:
        return self.kind is SetKind.SAMPLE

    @property
    def text(self) -> str:
        """Description of the data set in a phrase."""
        count = "" if self.items is None else f", {self.items:,} items"
        share = f", {self.items:,} of {self.of:,} items" if self.items is not None and self.of is not None else ""
        return {
            SetKind.OFFICIAL: f"the official release{share if self.items != self.of else ''}",
            SetKind.PART: f"a part of the official release{share}",
            SetKind.OWN: f"a set of one's own{count}",
            SetKind.SAMPLE: "sample data",
            SetKind.UNKNOWN: "data that is not known to be the official release",
        }[self.kind]

    @property
    def apart(self) -> str:
        """Reason why published scores are not comparable with scores on this set; empty for the official release."""
        return "" if self.is_official else "SAMPLE DATA, not the benchmark" if self.is_sample else self.text

    def may_share(self, other: DataSet) -> bool:
        """Whether items of the same id may be the same in both: not where one is sample data or of one's own alone."""
        kinds = {self.kind, other.kind}
        return len(kinds) == 1 or kinds <= _RELEASED or kinds == {SetKind.OWN, SetKind.UNKNOWN}


UNKNOWN_SET = DataSet(kind=SetKind.UNKNOWN)
"""The set of a run that does not say of which it is."""

Row = Mapping[str, Any]
"""A row of a prepared table: ``item_id``, ``group_id``, ``question``, ``options``, ``answer`` (None where it is
withheld), ``clip``, ``clip_present``, the benchmark's own columns, and ``clip_seconds`` (how long its clips are
together; tables of earlier versions lack it). While a task runs it also has ``asked`` (False where the clip is missing
and the model needs it) and ``split``."""
