"""Pair accuracy of runs with random partners for the same question, next to that of their own pairs, as tables."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.report.score_tables import entries_of
from lmms_eval_tasks.runs.folder import Run
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.output import FittingTable, Number
from lmms_eval_tasks.utils.reporting.references import published_controls
from lmms_eval_tasks.utils.scoring.bootstrap import DRAWS, Floats, Strata
from lmms_eval_tasks.utils.scoring.metrics import PAIR
from lmms_eval_tasks.utils.scoring.record import Record
from lmms_eval_tasks.utils.scoring.shares import LEVEL

UNSCORED = "incomplete or unscored"
TWO_QUESTIONS = "with two questions, or other options"
ONE_KEY = "with one key"
ALONE = "alone with their question and source"
LARGE = 10
"""Pairs of a question from which on they are drawn one by one; fewer are drawn together."""

AskedRecord = tuple[Record, str]
"""A record and the prompt that was asked."""
Question = list[tuple[bool, bool]]
"""Of each pair with the question, whether the member with the lesser key is right, and the other."""


class RandomPairing(NamedTuple):
    """Scores of pairs at random and as they are: unweighted means over a run's parts."""

    random: Number
    real: Number
    difference: Number
    pairs: int
    questions: int


def pair_at_random(
    parts: Sequence[Sequence[AskedRecord]], seed: int = 0, draws: int = DRAWS
) -> tuple[RandomPairing | None, Mapping[str, int]]:
    left_out: Counter[str] = Counter()
    questions = [_questions(part, left_out) for part in parts]
    if not questions or not all(questions):
        return None, dict(left_out)
    rng = np.random.default_rng(seed)
    random, real = map(float, np.mean([_scores(part) for part in questions], axis=0))
    drawn = np.mean([_draw(part, rng, draws) for part in questions], axis=0)
    tail = (1 - LEVEL / 100) / 2
    low, high = np.quantile(np.column_stack([drawn[:, 0], drawn[:, 1] - drawn[:, 0]]), [tail, 1 - tail], axis=0)
    varies = all(len(part) > 1 or len(part[0]) >= LARGE for part in questions)
    ends: list[tuple[float | None, float | None]] = [(None, None)] * 2
    if varies:
        ends = list(zip(map(float, low), map(float, high), strict=True))
    pairs = sum(len(question) for part in questions for question in part)
    pairing = RandomPairing(
        Number(random, *ends[0], n=pairs, unit="%"),
        Number(real, n=pairs, unit="%"),
        Number(real - random, *ends[1], n=pairs, unit="points", signed=True),
        pairs,
        sum(map(len, questions)),
    )
    return pairing, dict(left_out)


def _questions(part: Sequence[AskedRecord], left_out: Counter[str]) -> list[Question]:
    groups: defaultdict[str, list[AskedRecord]] = defaultdict(list)
    for record, prompt in part:
        groups[record.group_id].append((record, prompt))
    questions: defaultdict[tuple[str, str, str, str], Question] = defaultdict(list)
    for members in groups.values():
        known = [(record.expected, bool(record.correct)) for record, _ in members if record.correct is not None]
        keys = sorted((key, right) for key, right in known if key is not None)
        if len(members) != PAIR or len(keys) != PAIR:
            left_out[UNSCORED] += 1
        elif members[0][1] != members[1][1]:
            left_out[TWO_QUESTIONS] += 1
        elif keys[0][0] == keys[1][0]:
            left_out[ONE_KEY] += 1
        else:
            # Clips of two sources differ in more than the answer.
            source = members[0][0].stratum.get("source", "")
            questions[members[0][1], source, keys[0][0], keys[1][0]].append((keys[0][1], keys[1][1]))
    left_out[ALONE] += sum(len(question) == 1 for question in questions.values())
    left_out += Counter()
    return [question for question in questions.values() if len(question) > 1]


def _counts(pairs: Question) -> tuple[float, float, float, float]:
    one, other = (sum(pair[side] for pair in pairs) for side in (0, 1))
    return float(one), float(other), float(sum(map(all, pairs))), float(len(pairs))


def _expected(one: float, other: float, both: float, number: float) -> float:
    """Pairs that are right in the mean over all pairings that keep none."""
    return (one * other - both) / (number - 1)


def _scores(questions: Sequence[Question]) -> Floats:
    counts = list(map(_counts, questions))
    right = np.array([[_expected(*count), count[2]] for count in counts]).sum(axis=0)
    return np.asarray(100 * right / sum(count[3] for count in counts))


def _draw(questions: Sequence[Question], rng: np.random.Generator, draws: int) -> Floats:
    """Scores at random and as paired, of one part, in each draw; shape (draws, 2)."""
    right, number = np.zeros((draws, 2)), np.zeros(draws)
    if large := [question for question in questions if len(question) >= LARGE]:
        sums = Strata.of([_counts([pair]) for pair in question] for question in large).draw(rng, draws)
        one, other, both, size = np.moveaxis(sums, -1, 0)
        # A pair that is drawn twice would be its own other partner: with this the mean over draws is the score.
        right[:, 0] += ((size * one * other - (2 * size - 1) * both) / (size - 1) ** 2).sum(axis=1)
        right[:, 1] += both.sum(axis=1)
        number += size.sum(axis=1)
    if small := [_counts(question) for question in questions if len(question) < LARGE]:
        sums = Strata.of([[(_expected(*count), count[2], count[3]) for count in small]]).draw(rng, draws)
        right += sums[:, 0, :2]
        number += sums[:, 0, 2]
    return np.asarray(100 * right / number[:, None])


def pairing_tables(runs: Sequence[Run], only: str = "", seed: int = 0) -> Iterator[FittingTable]:
    """A table per task or group: the pair accuracy of each run with random partners, beside that as paired."""
    for entry in entries_of(runs, only):
        headings = ("run", "random pairs", "as paired", "as paired - random", "pairs", "questions")
        method = f"{entry.apart}; 95% intervals of a percentile bootstrap, {DRAWS:,} draws, seed {seed}"
        table = entry.table(f": paired at random (seed {seed}, {DRAWS:,} draws)", headings, method)
        notes = []
        for one in entry.held:
            run = one.run
            pairing, left_out = pair_at_random([_asked(run, task) for task in one.tasks], seed)
            if left_out:
                reasons = ", ".join(f"{count:,} {why}" for why, count in left_out.items())
                notes.append(f"groups left out of {run.title}: {reasons}")
            if pairing is None:
                table.add_row(run.title, *[Number(None)] * 3, 0, 0)
                continue
            if not pairing.random.interval_text:
                notes.append(f"no interval of {run.title}: a part of it has one question alone, with few pairs")
            table.add_row(run.title, *pairing)
        # What papers print is of the whole items.
        known = None if entry.held[0].view or entry.apart else registry().find_task(entry.name)
        published = published_controls(known.benchmark.folder, entry.name) if known else ()
        notes += [f"published: {one.value:.1f}, {one.model}; {one.source}" for one in published]
        table.caption = "\n".join(notes)
        yield table


def _asked(run: Run, task: str) -> list[AskedRecord]:
    asked = []
    for item in run.items_of(task):
        prompt = item.values.get("input")
        if not isinstance(prompt, str):
            raise InputError(
                f"{run.path} cannot be paired at random: Expected the prompt of {item.where}, but got none."
            )
        asked.append((item.record, prompt))
    return asked
