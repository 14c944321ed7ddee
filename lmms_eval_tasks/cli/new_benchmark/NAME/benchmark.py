"""The benchmark: its card, how `annotations.csv` is prepared, and its scores."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.api import (
    COMMON_METRICS,
    PAIR_ACCURACY,
    PAIRS_SCORED,
    SINGLE_ACCURACY,
    Benchmark,
    Card,
    InputError,
    Origin,
    Preparation,
    Problems,
    SplitFacts,
    SplitManifest,
    TaskKind,
    building,
)
from lmms_eval_tasks.api.forms import ClipName, Key, OneOf, ReleaseRow, Text, read_csv_form

CARD = Card(
    name="NAME",
    title="NAME",
    paper="",
    licence="",
    homepage="",
    main_metric="pair_accuracy",
    # Once the set is final: SplitFacts(items=…, groups=…, clips=…, sha256=frozenset({…})), by which it is known.
    splits={"test": SplitFacts()},
    strata_columns=(),
    chance={"pair_accuracy": 25.0, "single_accuracy": 50.0},
    prepare_command="lmms-eval-tasks prepare NAME --source DIR",
)


class Annotation(ReleaseRow):
    """A row of `annotations.csv`: a question about one clip of a pair."""

    item_id: Annotated[Text, Key]
    pair: Text
    clip: ClipName
    question: Text
    option_a: Text
    option_b: Text
    answer: Annotated[str, OneOf(("A", "B"))]


def prepare(
    preparation: Preparation,
    source: Annotated[Path, typer.Option(help="Folder of annotations.csv and videos/.", show_default=False)],
) -> dict[str, SplitManifest]:
    """Prepare annotated clips."""
    file = source / "annotations.csv"
    if not file.is_file():
        raise InputError(f"{CARD.title} cannot be prepared: there is no {file}.")
    content, problems = file.read_bytes(), Problems()
    annotations = read_csv_form(Annotation, content, file.name, problems)
    sizes = Counter(annotation.pair for annotation in annotations)
    for annotation in annotations if not problems else ():
        if (size := sizes[annotation.pair]) != 2:
            problems.add(annotation.where, f"Expected pair {annotation.pair} to have 2 items, but got {size}.")
    problems.raise_if_any(f"{file} cannot be prepared", "nothing was written")
    rows = [
        {
            "item_id": annotation.item_id,
            "group_id": annotation.pair,
            "question": annotation.question,
            "options": [annotation.option_a, annotation.option_b],
            "answer": annotation.answer,
            "clip": f"test/{annotation.clip}",
        }
        for annotation in sorted(annotations, key=lambda annotation: annotation.pair)
    ]
    clips = {f"test/{annotation.clip}": source / "videos" / annotation.clip for annotation in annotations}
    with building(CARD.name, preparation) as build:
        build.add_split("test", rows, {}, clips, Origin(str(source), {file.name: content}))
    return {"test": build.splits["test"]}


BENCHMARK = Benchmark(
    card=CARD,
    folder=Path(__file__).parent,
    kinds={
        "pairs": TaskKind(
            metrics=(PAIR_ACCURACY, SINGLE_ACCURACY, PAIRS_SCORED, *COMMON_METRICS),
            members="clips",
            views=("blind", "single_frame", "shuffled"),
        )
    },
    prepare=prepare,
    no_submission="There is no leaderboard.",
)
