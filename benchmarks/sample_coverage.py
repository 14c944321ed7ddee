"""How often do intervals from a sample of groups hold the score of the whole? On made sets of known scores.

Each line is of one set, one score and one size: the share of the samples whose 95% interval holds the score of
the whole, and the mean width. The ratio is that share by 95%. With ``--runs`` the tasks of whole runs are sets, too,
drawn by the strata of their records. Where so few outcomes are possible that no interval holds the score in 93 to 97%,
a line says between which shares coverage jumps.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import accumulate, chain, product
from multiprocessing import get_context
from pathlib import Path

from measuring import Options, print_ratio

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.runs.run_files import RESULTS
from lmms_eval_tasks.runs.scores import parts_of
from lmms_eval_tasks.utils.data.sampling import SMALLEST, Drawn, SampleChoice, draw, strata_of
from lmms_eval_tasks.utils.scoring.bootstrap import estimate_units
from lmms_eval_tasks.utils.scoring.metrics import Metric, Units, score_tasks
from lmms_eval_tasks.utils.scoring.record import Outcome, Record, right

PAIRS = Metric("pair_accuracy", "pairs", right, together=2)
SINGLE = Metric("single_accuracy", "single", right)
MACRO = Metric("macro", "mean over parts", right, stratum=lambda record: record.stratum["part"])
CONTRAST = Metric(
    "contrast", "less of later parts", right, contrast=lambda record: int(record.stratum["part"]) % 2 == 0
)
SETS = {
    "one stratum": ((500, 0.5),),
    "few right": ((500, 0.1),),
    "strong strata": ((25, 0.05), (50, 0.9), (100, 0.5), (150, 0.1), (175, 0.8)),
    "as MVP": ((460, 0.05), (900, 0.9), (1800, 0.5), (2700, 0.1), (3348, 0.8)),
    "ten parts": tuple((50, (2 * part + 1) / 20) for part in range(10)),
}
"""Groups of each part of a made set, and how many members of a pair are right there."""
SIZES = (20, 50, 100, 400)
SHARES = (0.5, 0.9)
LEAST_PART = 4
"""Groups of the rarest part, in a sample of mean size, below which a mean over parts is not drawn."""
LEAST_SET = 24
"""Groups below which a task, or a group of tasks, is no set."""
MOST_SET = 2_000
"""Groups of a set beyond which no shares of it are drawn, for their time."""
MOST_ESTIMATES = 30_000
"""Estimates, or sums, beyond which they are too many for coverage to jump."""


@dataclass(frozen=True)
class Whole:
    """A set: what counts in each score, and the values of its groups that they are drawn by, by task."""

    units: Mapping[Metric, Mapping[str, Units]]
    values: Mapping[str, Mapping[str, tuple[str, ...]]]

    @classmethod
    def of(
        cls, tasks: Mapping[str, Sequence[Record]], metrics: Sequence[Metric], columns: Sequence[str] = ("part",)
    ) -> "Whole":
        values = {
            task: {one.group_id: tuple(one.stratum.get(column, "") for column in columns) for one in records}
            for task, records in tasks.items()
        }
        units = {metric: {task: metric.units(records) for task, records in tasks.items()} for metric in metrics}
        scored = {metric: found for metric, found in units.items() if score_tasks(metric, found.values()) is not None}
        return cls(scored, values)

    @property
    def groups(self) -> int:
        return sum(map(len, self.values.values()))

    def metrics_of(self, size: int) -> list[Metric]:
        """The scores that are drawn in samples of a size."""
        rarest = min(Counter(chain.from_iterable(of.values() for of in self.values.values())).values())
        parts = size * rarest / self.groups >= LEAST_PART
        return [metric for metric in self.units if parts or not (metric.stratum or metric.contrast)]


def made(parts: Sequence[tuple[int, float]]) -> list[Record]:
    """Pairs whose members are right alike more often than two that know nothing of one another."""
    rng = random.Random(0)
    return [
        Record(f"{part}_{group}_{member}", f"{part}_{group}", {"part": str(part)}, "A", "A", outcome)
        for part, (size, share) in enumerate(parts)
        for group in range(size)
        for chance in (rng.betavariate(3 * share, 3 * (1 - share)),)
        for member in range(2)
        for outcome in (Outcome.CORRECT if rng.random() < chance else Outcome.WRONG,)
    ]


def sampled(units: Units, drawn: Mapping[str, Drawn]) -> Units:
    """What counts in a score of the groups that were drawn."""
    return {
        place: [
            unit._replace(weight=unit.weight * found.weight, record=replace(unit.record, drawn=found))
            for unit in counted
            if (found := drawn.get(unit.group))
        ]
        for place, counted in units.items()
    }


@dataclass(frozen=True)
class Job:
    """One size of samples of a set."""

    name: str
    whole: Whole
    size: int
    samples: int
    metrics: Sequence[Metric]

    def lines(self) -> list[tuple[float, str]]:
        """Of each score, the share of samples whose interval holds that of the whole, and what it is."""
        scores = {metric: score_tasks(metric, self.whole.units[metric].values()) for metric in self.metrics}
        held, width = dict.fromkeys(scores, 0), dict.fromkeys(scores, 0.0)
        for seed in range(self.samples):
            drawn = draw(self.name, self.whole.values, SampleChoice(self.size, seed))
            assert drawn is not None
            for metric, score in scores.items():
                parts = [sampled(units, drawn[task]) for task, units in self.whole.units[metric].items()]
                found = estimate_units(metric, parts)
                assert found is not None and score is not None
                held[metric] += found.low - 1e-9 <= score <= found.high + 1e-9
                width[metric] += found.high - found.low
        return [
            (
                held[metric] / self.samples,
                f"{self.name}, {metric.title}, {self.size:,} of {self.whole.groups:,}: "
                f"{100 * held[metric] / self.samples:.1f}% of {self.samples:,} samples hold the score of the whole; "
                f"mean width {width[metric] / self.samples:.1f}{jump(self.whole, metric, self.size)}",
            )
            for metric in scores
        ]


JOBS: list[Job] = []
"""What is measured. Processes that are forked have it; scores cannot be sent to them."""


def lines_of(place: int) -> list[tuple[float, str]]:
    return JOBS[place].lines()


def jump(whole: Whole, metric: Metric, size: int) -> str:
    """Between which shares coverage jumps past 93 to 97%, exactly; nothing where it does not, or has too many steps.

    An interval that holds the whole's score from one estimate holds it from more probable ones, too, so that coverage
    is a sum of the probabilities of the most probable estimates.
    """
    steps = [100 * share for share in accumulate(sorted(chances(whole, metric, size), reverse=True))]
    above = next((number for number, share in enumerate(steps) if share >= 93), 0)
    if not steps or steps[above] <= 97:
        return ""
    return f"; exactly, {f'{steps[above - 1]:.1f}' if above else '0'} or {steps[above]:.1f} are possible"


def chances(whole: Whole, metric: Metric, size: int) -> list[float]:
    """The probability of each estimate that samples of a mean can give; none where there are too many to list."""
    if metric.stratum or metric.contrast:
        return []
    drawn = draw("the set", whole.values, SampleChoice(size))
    assert drawn is not None
    found: dict[tuple[float, ...], float] = {(): 1.0}
    for task, values in whole.values.items():
        adds: dict[str, tuple[float, float]] = {}
        for unit in chain(*whole.units[metric][task].values()):
            before = adds.get(unit.group, (0.0, 0.0))
            adds[unit.group] = before[0] + unit.weight * unit.value, before[1] + unit.weight
        facts = {one.stratum: one for one in drawn[task].values()}
        of_stratum: dict[str, list[tuple[float, float]]] = {}
        for group, stratum in strata_of(values, whole.groups / SMALLEST).items():
            of_stratum.setdefault(stratum, []).append(adds.get(group, (0.0, 0.0)))
        sums: dict[tuple[float, float], float] = {(0.0, 0.0): 1.0}
        for stratum, members in of_stratum.items():
            of_sample = chances_of_sums(members, facts[stratum].asked)
            if not of_sample or len(sums) * len(of_sample) > MOST_ESTIMATES:
                return []
            weight, joined = facts[stratum].weight, defaultdict[tuple[float, float], float](float)
            for (one, other), (add, chance) in product(sums, of_sample.items()):
                joined[one + weight * add[0], other + weight * add[1]] += sums[one, other] * chance
            sums = joined
        scores = defaultdict[float, float](float)
        for (reached, number), chance in sums.items():
            scores[round(reached / number, 6) if number else -1.0] += chance
        if len(found) * len(scores) > MOST_ESTIMATES:
            return []
        found = {
            (*before, score): chance * of_score
            for (before, chance), (score, of_score) in product(found.items(), scores.items())
        }
    estimates = defaultdict[float, float](float)
    for of_tasks, chance in found.items():
        estimates[round(sum(of_tasks), 5)] += chance
    return list(estimates.values())


def chances_of_sums(members: Sequence[tuple[float, float]], asked: int) -> dict[tuple[float, float], float]:
    """The probability of each sum of as many members as are asked; none where there are too many to list."""
    fewer = min(asked, len(members) - asked)
    ways: list[dict[tuple[float, float], int]] = [{(0.0, 0.0): 1}, *({} for _ in range(fewer))]
    for one, other in members:
        for taken in range(fewer - 1, -1, -1):
            for (reached, number), count in ways[taken].items():
                key = round(reached + one, 6), round(number + other, 6)
                ways[taken + 1][key] = ways[taken + 1].get(key, 0) + count
        if sum(map(len, ways)) > MOST_ESTIMATES / 10:
            return {}
    whole = sum(one for one, _ in members), sum(other for _, other in members)
    every = sum(ways[fewer].values())
    # What is left says what was asked.
    return {
        (sums if fewer == asked else (whole[0] - sums[0], whole[1] - sums[1])): count / every
        for sums, count in ways[fewer].items()
    }


def main() -> None:
    """Measure and print."""
    parser = Options(__doc__)
    parser.add_size("--samples", 1_000, 5, "how many are drawn of each size")
    parser.add_argument("--runs", type=Path, help="a folder of finished runs, whose tasks are sets")
    options = parser.parse_args()
    sets: dict[str, Whole] = {}
    for name, parts in SETS.items():
        metrics = [PAIRS, SINGLE, *([MACRO, CONTRAST] if len(parts) > 1 else [])]
        sets[name] = Whole.of({name: made(parts)}, metrics)
    for results in sorted(options.runs.glob(f"*/*{RESULTS}")) if options.runs else ():
        sets |= sets_of_run(results.parent)
    for name, whole in sets.items():
        number = whole.groups
        near = (*(round(share * number) for share in SHARES), number - 1)
        sizes = {*SIZES, *(near if number <= MOST_SET else ())}
        for size in sorted(size for size in sizes if SMALLEST <= size < number):
            JOBS.append(Job(name, whole, size, options.samples, whole.metrics_of(size)))
    with ProcessPoolExecutor(mp_context=get_context("fork")) as pool:
        for share, what in chain.from_iterable(pool.map(lines_of, range(len(JOBS)))):
            print_ratio(share / 0.95, what)


def sets_of_run(folder: Path) -> dict[str, Whole]:
    """The tasks and groups of tasks of a run that are large enough, with the two means that their papers lead with."""
    run = read_run(folder)
    found: dict[str, Whole] = {}
    for name, tasks in parts_of(run).items():
        records, task = {one: run.records[one] for one in tasks}, registry().find_task(tasks[0])
        if task is None:
            continue
        means = [metric for metric in task.kind.metrics if metric.kind == "mean" and metric.higher_is_better]
        whole = Whole.of(records, means, task.benchmark.card.strata_columns)
        if whole.groups >= LEAST_SET and whole.units:
            found[f"{folder.name}, {name}"] = replace(whole, units=dict(list(whole.units.items())[:2]))
    return found


if __name__ == "__main__":
    main()
