"""The papers' tables, and their models' runs rebuilt item by item from the exact counts behind them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from releases import OPTIONS, Row, question_row, write_causalvqa, write_mvp

TABLE_6 = "CausalVQA paper Table 6 (paired)"
TABLE_12 = "CausalVQA paper Table 12 (unpaired)"
LEADERBOARD = "cast-bench.github.io index.html (commit b8ea9efb57d82900903d82f5979bd897f77c1c99) leaderboard"
REPRODUCIBILITY = "minimal_video_pairs reproducibility.md"
# Pairs per subset of MVP-mini: the smallest numbers of which all four-decimal accuracies are exact ratios.
MVP_MINI_PAIRS = {
    "human_object_interactions": 2862,
    "robot_object_interactions": 1000,
    "intuitive_physics": 4340,
    "temporal_reasoning": 1006,
}
MVP_SOURCES = {
    "human_object_interactions": ("pt", "ssv2"),
    "robot_object_interactions": ("language_table",),
    "intuitive_physics": ("intphys", "inflevel", "grasp", "clevrer"),
    "temporal_reasoning": ("star", "vinoground"),
}


def records(benchmark: str, source: str) -> list[dict[str, Any]]:
    """The benchmark's published numbers that come from one source."""
    return [row for row in every_record(benchmark) if row["source"] == source]


def every_record(benchmark: str) -> list[dict[str, Any]]:
    """All of the benchmark's published numbers."""
    text = (resources.files("lmms_eval_tasks") / benchmark / "published.json").read_text(encoding="utf-8")
    published = json.loads(text)
    rows: list[dict[str, Any]] = published["records"] if isinstance(published, dict) else published
    return rows


@dataclass(frozen=True)
class PairPattern:
    """How many pairs of a stratum have both, one or none of their members right."""

    both: int
    one: int
    none: int

    @classmethod
    def of(cls, pairs: int, pair_percent: float, single_percent: float) -> PairPattern:
        """The only pattern of so many pairs that prints these two percentages."""
        both, right = round(pairs * pair_percent / 100), round(2 * pairs * single_percent / 100)
        found = cls(both, right - 2 * both, pairs - right + both)
        assert min(found.both, found.one, found.none) >= 0, (pairs, pair_percent, single_percent)
        return found

    def members(self) -> Iterator[tuple[bool, bool]]:
        """Each pair's two members; of the pairs with one right, every second has its first right."""
        yield from [(True, True)] * self.both
        yield from ((index % 2 == 0, index % 2 == 1) for index in range(self.one))
        yield from [(False, False)] * self.none


def causalvqa_patterns(model: str) -> dict[tuple[str, str], PairPattern]:
    """Table 6 and Table 12 of one model: (type, difficulty) to its pattern of pairs."""
    paired, single = (
        {(row["category"], row["difficulty"]): row for row in records("causalvqa", table) if row["model"] == model}
        for table in (TABLE_6, TABLE_12)
    )
    return {
        (category, difficulty): PairPattern.of(row["n"], row["value"], single[category, difficulty]["value"])
        for (category, difficulty), row in paired.items()
        if category not in ("all", "reasoning") and difficulty != "all"
    }


def causalvqa_pairs(model: str) -> Iterator[tuple[Row, tuple[bool, bool]]]:
    """793 questions, whose keys run through all options, and whether the model has their two versions right."""
    for (kind, difficulty), pairs in causalvqa_patterns(model).items():
        for index, right in enumerate(pairs.members()):
            first = index % len(OPTIONS) + 1
            yield (
                question_row(f"{kind}-{difficulty}-{index}", kind, difficulty, (first, (first + 1) % len(OPTIONS) + 1)),
                right,
            )


def write_causalvqa_release(root: Path, model: str) -> Path:
    """A test split with every key known; the same for every model."""
    return write_causalvqa(root, "test", [question for question, _ in causalvqa_pairs(model)])


def write_causalvqa_responses(path: Path, model: str) -> Path:
    """One response per item, right exactly as often as the model was in each stratum."""
    said = {
        f"{question['qid']}_{version}": f"({'ABCDE'[(int(key) - is_right) % 5]})"
        for question, right in causalvqa_pairs(model)
        for version, (key, is_right) in enumerate(zip((question["correct1"], question["correct2"]), right, strict=True))
    }
    return write_responses(path, said)


def write_mvp_release(root: Path) -> tuple[Path, Path]:
    """MVP-mini with the numbers of pairs behind the official scores."""
    pairs = {
        subset: [(f"{subset}_{index}", sources[index % len(sources)]) for index in range(MVP_MINI_PAIRS[subset])]
        for subset, sources in MVP_SOURCES.items()
    }
    return write_mvp(root, "mini", pairs)


def write_mvp_responses(path: Path, scores: Mapping[str, tuple[float, float]]) -> Path:
    """One response per item; scores: subset to (pair, single) accuracy in percent."""
    said = {
        f"{subset}_{index}_{member}": f"Answer: {key if is_right else other}"
        for subset, printed in scores.items()
        for index, right in enumerate(PairPattern.of(MVP_MINI_PAIRS[subset], *printed).members())
        for member, key, other, is_right in zip((1, 2), "AB", "BA", right, strict=True)
    }
    return write_responses(path, said)


def write_responses(path: Path, said: Mapping[str, str]) -> Path:
    lines = [json.dumps({"id": item, "response": response}) + "\n" for item, response in said.items()]
    path.write_text("".join(lines), encoding="utf-8")
    return path
