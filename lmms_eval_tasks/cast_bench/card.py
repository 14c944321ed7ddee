"""The facts of CaST-Bench, its types of questions and kinds of options as releases spell them, and its scores.

Source: paper, supplement, Prompt 6 (types) and section 10.5 (six options: the answer, a distractor made from the text,
one made from the video, and a near-miss of each of the three).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from lmms_eval_tasks.api import COMMON_METRICS, Card, Human, Metric, Record, SplitFacts
from lmms_eval_tasks.api.evidence import EVIDENCE_FORMAT, EVIDENCE_SCORES

CATEGORIES = (
    "causal_explanation",
    "counterfactual_reasoning",
    "inferential_description",
    "predictive_anticipation",
)
OTHER = "other"
"""Category of a question whose type `question_types.json` does not know."""
NEAR_MISS = "near-miss"
OPTION_KINDS = (
    "text-based",
    "video-based",
    NEAR_MISS,
    f"{NEAR_MISS}-of-answer",
    f"{NEAR_MISS}-of-text-based",
    f"{NEAR_MISS}-of-video-based",
)
"""Kinds of wrong options, after the paper's supplement; `NEAR_MISS` alone where a release does not say of what."""

CARD = Card(
    name="cast_bench",
    title="CaST-Bench",
    paper="https://arxiv.org/abs/2605.23216",
    licence="see the dataset page; clips are from SA-V, under its own licence",
    homepage="https://cast-bench.github.io",
    main_metric="accuracy",
    splits={
        "test": SplitFacts(
            items=2066,
            groups=2066,
            clips=1015,
            answers_withheld=False,
            # The example file of the official repository, 80 questions, of which the project's page has scores.
            part_sha256=frozenset({"504804cd5a3a4aea255cb471cf22185f1f3c40b7dfd6b90df3ba7aea0dc0c5df"}),
        )
    },
    strata_columns=("category",),
    # A guess among six options; a few questions have four or five, which makes it 16.90 on the public 80.
    chance={"accuracy": 16.67},
    human=(
        Human(
            metric="accuracy",
            split="test",
            percent=91.89,
            source="a summary of the paper at en.papernotes.org",
            caveat="second-hand: the paper's own table was not to be had, nor how many people answered what",
        ),
    ),
    prompt_sha256={"template": "dd4b4cbd66fafc466548876e55301b22b8ce68c1018522c823fb9e946903b31b"},
    hub_id="wovenbytoyota-vai/CaST-Bench",
    prepare_command="lmms-eval-tasks prepare cast_bench --source castbench_hf.jsonl --videos DIR",
)

DIMENSIONS = (
    "answer_conclusion_correctness",
    "causal_chain_logical_consistency",
    "evidence_coverage_completeness",
    "evidence_conclusion_overall_justification",
)
"""What is graded, each from 0 to 10, in the paper's order."""

_WORD = re.compile(r"[a-z]+")
_NUMBER = re.compile(r"\s*(\d\.\d)\b")
_FILLERS_OF_KINDS = frozenset({"of", "the", "based", "distractor", "option", "type", "correct", "right", "true"})


class QuestionType(NamedTuple):
    """A type of question: its subtype and the category above it."""

    subtype: str
    category: str


UNKNOWN = QuestionType(OTHER, OTHER)
"""A type that is none of the paper's."""


@cache
def _types() -> Mapping[str, Any]:
    content: Mapping[str, Any] = json.loads(Path(__file__).with_name("question_types.json").read_text(encoding="utf-8"))
    return content


def type_definitions() -> dict[str, dict[str, str]]:
    """Each of the sixteen types, as the paper spells them and in its order, to what its questions ask, and by which
    rule one of them has one right answer, in our words."""
    told = ("asks", "one_answer")
    return {entry["spellings"][0]: {name: entry[name] for name in told} for entry in _types()["subtypes"].values()}


def _words(text: str, left_out: Collection[str]) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower())).difference(left_out)


@cache
def read_type(text: str) -> QuestionType:
    """The type that a release's text names, by its words or, where it has no words, by its number; else `UNKNOWN`."""
    fillers = _types()["fillers"]
    words, number = _words(text, fillers), _NUMBER.match(text)
    for subtype, entry in _types()["subtypes"].items():
        named = words in [_words(spelling, fillers) for spelling in entry["spellings"]]
        if named if words or number is None else number[1] == entry["number"]:
            return QuestionType(subtype, entry["category"])
    return UNKNOWN


def read_option_kind(text: str) -> str | None:
    """The kind of wrong option, one of the card's `OPTION_KINDS`, that a release's text names; None for any other."""
    words = _words(text, _FILLERS_OF_KINDS)
    return next((kind for kind in OPTION_KINDS if _words(kind, _FILLERS_OF_KINDS) == words), None)


def _broken_down(metric: Metric) -> list[Metric]:
    plain = replace(metric, errors="plain")
    return [*plain.by("category", CATEGORIES), *plain.by("size", ("small", "large"))]


def _chose(kind: str, record: Record) -> float:
    """Whether an option of a kind was chosen; a near-miss of anything is a near-miss."""
    chosen = record.fields["chosen_kind"]
    return 100.0 * (chosen == kind or (kind == NEAR_MISS and str(chosen).startswith(NEAR_MISS)))


METRICS = (
    *EVIDENCE_SCORES.values(),
    *(part for metric in EVIDENCE_SCORES.values() for part in _broken_down(metric)),
    *EVIDENCE_FORMAT,
    *(
        Metric(
            f"errors_{kind.replace('-', '_')}",
            f"errors, {kind}",
            partial(_chose, kind),
            applies=lambda record: "chosen_kind" in record.fields,
            errors="plain",
            higher_is_better=None,
        )
        for kind in OPTION_KINDS
    ),
    *COMMON_METRICS,
)


def _judged(dimensions: Sequence[str], record: Record) -> float | None:
    """Mean over some dimensions, 0-10; None where it was not graded."""
    scores = record.fields["scores"]
    return None if scores is None else sum(scores[name] for name in dimensions) / len(dimensions)


def _judge_metric(name: str, title: str, dimensions: Sequence[str]) -> Metric:
    ten = (0.0, 10.0)
    return Metric(name, title, partial(_judged, dimensions), unit="", bounds=ten, value_bounds=ten, errors="plain")


def _count(scored: bool, record: Record) -> int:
    return int((_judged(DIMENSIONS, record) is not None) is scored)


JUDGE_SCORE = replace(_judge_metric("judge_score", "judge 0-10", DIMENSIONS), errors="clustered")
"""Mean over the dimensions, from 0 to 10."""
JUDGE_DIMENSIONS = tuple(_judge_metric(name, name.replace("_", " "), (name,)) for name in DIMENSIONS)

OPEN_METRICS = (
    JUDGE_SCORE,
    *JUDGE_DIMENSIONS,
    *replace(JUDGE_SCORE, errors="plain").by("category", CATEGORIES),
    Metric.total("n_scored", "scored", partial(_count, True)),
    Metric.total("n_unscored", "unscored", partial(_count, False)),
    *COMMON_METRICS,
)
