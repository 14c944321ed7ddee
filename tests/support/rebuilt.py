"""The papers' runs, rebuilt item by item: a release with a known key, and a response to each item."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from published import MVP_MINI_PAIRS, TABLE_6, TABLE_12, PairPattern, pattern, records
from releases import OPTIONS, Row, question_row, write_causalvqa, write_mvp

LETTERS = "ABCDE"


def causalvqa_patterns(model: str) -> dict[tuple[str, str], PairPattern]:
    """Table 6 and Table 12 of one model: (type, difficulty) to its pattern of pairs."""
    single = {
        (row["category"], row["difficulty"]): row["value"]
        for row in records("causalvqa", TABLE_12)
        if row["model"] == model
    }
    return {
        key: pattern(row["n"], row["value"], single[key])
        for row in records("causalvqa", TABLE_6)
        if row["model"] == model
        and row["category"] not in ("all", "reasoning")
        and (key := (row["category"], row["difficulty"]))[1] != "all"
    }


def causalvqa_questions(strata: Mapping[tuple[str, str], PairPattern]) -> list[Row]:
    """793 questions; the keys run through all options."""
    found = []
    for (kind, difficulty), pairs in strata.items():
        for index in range(pairs.both + pairs.one + pairs.none):
            first = index % len(OPTIONS) + 1
            correct = (first, (first + 1) % len(OPTIONS) + 1)
            found.append(question_row(f"{kind}-{difficulty}-{index}", kind, difficulty, correct))
    return found


def write_causalvqa_release(root: Path, model: str) -> Path:
    """A test split with every key known; the same for every model."""
    return write_causalvqa(root, "test", causalvqa_questions(causalvqa_patterns(model)))


def write_causalvqa_responses(path: Path, model: str) -> Path:
    """One response per item, right exactly as often as the model was in each stratum."""
    strata = causalvqa_patterns(model)
    flags = (members for pairs in strata.values() for members in pairs.members())
    lines = []
    for row, members in zip(causalvqa_questions(strata), flags, strict=True):
        for version, (key, right) in enumerate(zip((row["correct1"], row["correct2"]), members, strict=True)):
            letter = LETTERS[(int(key) - right) % len(LETTERS)]
            lines.append({"id": f"{row['qid']}_{version}", "response": f"({letter})"})
    return _write_lines(path, lines)


MVP_SOURCES = {
    "human_object_interactions": ("pt", "ssv2"),
    "robot_object_interactions": ("language_table",),
    "intuitive_physics": ("intphys", "inflevel", "grasp", "clevrer"),
    "temporal_reasoning": ("star", "vinoground"),
}


def write_mvp_release(root: Path) -> tuple[Path, Path]:
    """MVP-mini with the numbers of pairs behind the official scores."""
    pairs = {
        subset: [
            (f"{subset}_{index}", MVP_SOURCES[subset][index % len(MVP_SOURCES[subset])])
            for index in range(MVP_MINI_PAIRS[subset])
        ]
        for subset in MVP_MINI_PAIRS
    }
    return write_mvp(root, "mini", pairs)


def write_mvp_responses(path: Path, scores: Mapping[str, tuple[float, float]]) -> Path:
    """One response per item; scores: subset to (pair, single) accuracy in percent."""
    lines = []
    for subset, (pair, single) in scores.items():
        members = pattern(MVP_MINI_PAIRS[subset], pair, single).members()
        for index, flags in enumerate(members):
            for member, (key, right) in enumerate(zip("AB", flags, strict=True), start=1):
                letter = key if right else {"A": "B", "B": "A"}[key]
                lines.append({"id": f"{subset}_{index}_{member}", "response": f"Answer: {letter}"})
    return _write_lines(path, lines)


def _write_lines(path: Path, lines: list[dict[str, str]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path
