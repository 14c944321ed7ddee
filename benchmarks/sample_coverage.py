"""How often do intervals from a sample of groups hold the score of the whole? On made sets of known scores.

Each line is of one set, one score and one size: the share of the samples whose 95% interval holds the score of
the whole, and the mean width. The ratio is that share by 95%. With ``--log`` a sample log of a whole run is a set, too,
drawn by the strata of its records. A sample of all groups is the whole, whose interval is the usual one.
"""

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from measuring import Options, print_ratio

from lmms_eval_tasks.utils.data.sampling import SampleChoice, draw
from lmms_eval_tasks.utils.scoring.bootstrap import estimate
from lmms_eval_tasks.utils.scoring.metrics import Metric, right
from lmms_eval_tasks.utils.scoring.record import Outcome, Record

PAIRS = Metric("pair_accuracy", "pairs", right, together=2)
SINGLE = Metric("single_accuracy", "single", right)
MACRO = Metric("macro", "mean over parts", right, stratum=lambda record: record.stratum["part"])
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
LEAST_PART = 8
"""Groups of each part below which a mean over parts is not drawn."""


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


def covered(records: Sequence[Record], metric: Metric, size: int, samples: int) -> tuple[float, float]:
    """The share of samples whose interval holds the score of the whole, and the mean width of intervals."""
    whole = metric.score_records(records)
    assert whole is not None
    values = {record.group_id: tuple(record.stratum.values()) for record in records}
    held, width = 0, 0.0
    for seed in range(samples):
        drawn = draw("the set", {"task": values}, SampleChoice(size, seed))
        assert drawn is not None
        asked = [replace(one, drawn=found) for one in records if (found := drawn["task"].get(one.group_id))]
        score = estimate(metric, [asked])
        assert score is not None
        held += score.low - 1e-9 <= whole <= score.high + 1e-9
        width += score.high - score.low
    return held / samples, width / samples


def main() -> None:
    """Measure and print."""
    parser = Options(__doc__)
    parser.add_size("--samples", 1_000, 5, "how many are drawn of each size")
    parser.add_argument("--log", type=Path, action="append", default=[], help="a sample log, of a set of its own")
    options = parser.parse_args()
    sets: dict[str, tuple[list[Record], tuple[Metric, ...]]] = {
        name: (made(parts), (PAIRS, SINGLE, MACRO)) for name, parts in SETS.items()
    }
    for log in options.log:
        lines = log.read_text(encoding="utf-8").splitlines()
        records = [Record.from_json(json.loads(line)["record"]) for line in lines]
        sets[log.name] = records, (SINGLE,)
    for name, (records, metrics) in sets.items():
        number = len({record.group_id for record in records})
        parts = len({record.stratum.get("part") for record in records})
        for size in sorted({*SIZES, *(round(share * number) for share in SHARES)}):
            for metric in metrics if size < number else ():
                if metric is MACRO and (parts == 1 or size < LEAST_PART * parts):
                    continue
                share, width = covered(records, metric, size, options.samples)
                what = (
                    f"{name}, {metric.title}, {size:,} of {number:,}: {100 * share:.1f}% of {options.samples:,} samples"
                )
                print_ratio(share / 0.95, f"{what} hold the score of the whole; mean width {width:.1f}")


if __name__ == "__main__":
    main()
