"""The benchmark: its card, how it is prepared and scored, and its submission form."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from lmms_eval_tasks.api import (
    COMMON_METRICS,
    PAIR_ACCURACY,
    PAIRS_SCORED,
    SINGLE_ACCURACY,
    Benchmark,
    Card,
    ChoiceForm,
    InputError,
    Metric,
    Origin,
    Preparation,
    Problems,
    Record,
    RowForm,
    SplitFacts,
    SplitManifest,
    TaskKind,
    building,
    read_rows,
)
from lmms_eval_tasks.api.release import as_lines

OPTIONS = ("On the left.", "On the right.")
SIDES = {"left": "A", "right": "B"}
TITLE = "Lamp side"
ITEMS = "701f1ae2c17daac634395f6f8b4a493eb680e43c3e1d6233688b99b7daf92aea"
"""SHA-256 of all items of the release, by which it is known."""

CARD = Card(
    name="lamp_side",
    title=TITLE,
    paper="",
    licence="CC0",
    homepage="",
    main_metric="pair_accuracy",
    splits={"test": SplitFacts(items=12, groups=6, clips=12, sha256=frozenset({ITEMS}))},
    strata_columns=(),
    chance={"pair_accuracy": 25.0, "single_accuracy": 50.0},
    prepare_command="lmms-eval-tasks prepare lamp_side --source DIR",
)


class MinedPair(RowForm):
    """One line of `pairs.jsonl`, as `lmms-eval-tasks mine pairs` writes it."""

    skill: str
    question: str
    cosine: float
    item_id_1: str
    clip_1: str
    answer_1: Literal["left", "right"]
    item_id_2: str
    clip_2: str
    answer_2: Literal["left", "right"]


def prepare(
    preparation: Preparation,
    source: Annotated[Path, typer.Option(help="Folder of the release.", show_default=False)],
) -> dict[str, SplitManifest]:
    """Prepare the release."""
    file = source / "pairs.jsonl"
    if not file.is_file():
        raise InputError(f"{TITLE} cannot be prepared: there is no {file}.")
    issues = Problems()
    pairs_of = {pair.item_id_1.split("_")[0]: pair for _, pair in read_rows(file, MinedPair, issues)}
    issues.raise_if_any(f"{file} cannot be prepared", "nothing was written")
    rows = [
        {"item_id": item, "group_id": group, "question": pair.question, "options": list(OPTIONS),
         "answer": SIDES[side], "clip": f"test/{clip}"}
        for group, pair in sorted(pairs_of.items())
        for item, clip, side in (
            (pair.item_id_1, pair.clip_1, pair.answer_1), (pair.item_id_2, pair.clip_2, pair.answer_2)
        )
    ]  # fmt: skip
    read = {file.name: file, "items": as_lines(rows).encode()}
    clips = {row["clip"]: source / "videos" / row["clip"].removeprefix("test/") for row in rows}
    with building(CARD.name, preparation) as build:
        build.add_split("test", rows, {}, clips, Origin(str(source), read))
    return {"test": build.splits["test"]}


def _says_left(record: Record) -> float | None:
    return None if record.answered is None else 100.0 * (record.answered == SIDES["left"])


LEFT_RATE = Metric("left_rate", "says left", _says_left, higher_is_better=None)
"""Percent of read answers that say left: 50 without a bias."""


class Answer(RowForm):
    """One line of a submission."""

    id: str
    answer: Literal["A", "B", ""]


ANSWERS = ChoiceForm(
    card=CARD,
    row_type=Answer,
    values=lambda row, split: {"id": row["item_id"]},
    answers=lambda row: ("A", "B"),
    path=lambda split, part: "submissions/lamp_side.jsonl",
    id_field="id",
    answer_field="answer",
)

BENCHMARK = Benchmark(
    card=CARD,
    folder=Path(__file__).parent,
    kinds={
        "pairs": TaskKind(
            metrics=(
                PAIR_ACCURACY,
                SINGLE_ACCURACY,
                LEFT_RATE,
                PAIRS_SCORED,
                *COMMON_METRICS,
            ),
            members="clips",
            views=("blind", "single_frame", "shuffled"),
        )
    },
    prepare=prepare,
    submission=ANSWERS,
)
