"""The benchmark: its card, how it is prepared, asked and scored, and what a report shows of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer
from pydantic import ConfigDict

from lmms_eval_tasks.utils.answers import EXTRACTOR
from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark, TaskKind
from lmms_eval_tasks.utils.benchmark.card import Card, SplitFacts
from lmms_eval_tasks.utils.core.json_rows import RowForm, read_rows
from lmms_eval_tasks.utils.core.problems import GroupedIssues, InputError
from lmms_eval_tasks.utils.core.progress import Progress, no_progress
from lmms_eval_tasks.utils.data.building import Origin, building
from lmms_eval_tasks.utils.data.manifest import SplitManifest
from lmms_eval_tasks.utils.prompting.questions import prompt_reader
from lmms_eval_tasks.utils.reporting.columns import OUTCOME_COLUMNS, interval_column, score_column
from lmms_eval_tasks.utils.reporting.figures import Bar, share_plot
from lmms_eval_tasks.utils.reporting.page_items import AnswerView, clip_view
from lmms_eval_tasks.utils.reporting.panels import Panel, RunRecords, consistency_panel
from lmms_eval_tasks.utils.reporting.references import ReferencedMetric, pair_references
from lmms_eval_tasks.utils.scoring import pair_scores, rates
from lmms_eval_tasks.utils.scoring.metrics import Metric
from lmms_eval_tasks.utils.scoring.records import Record
from lmms_eval_tasks.utils.submission.choices import ChoiceForm
from lmms_eval_tasks.utils.submission.form import SubmissionForm

OPTIONS = ("On the left.", "On the right.")
SIDES = {"left": "A", "right": "B"}
TITLE = "Lamp side"

CARD = Card(
    name="lamp_side",
    title=TITLE,
    paper="",
    licence="CC0",
    homepage="",
    main_metric="pair_accuracy",
    splits={"test": SplitFacts(items=12, groups=6, clips=12, answers_withheld=False)},
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


class FilteredPair(RowForm):
    """One line of what `lmms-eval-tasks filter` writes."""

    model_config = ConfigDict(extra="ignore")

    group_id: str
    removed: bool


def prepare(
    source: Annotated[Path, typer.Option(help="Folder of the release.", show_default=False)],
    without: Annotated[Path | None, typer.Option(help="What a filter wrote: the pairs to leave out.")] = None,
    progress: Progress = no_progress,
) -> dict[str, SplitManifest]:
    """Prepare the release."""
    file = source / "pairs.jsonl"
    if not file.is_file():
        raise InputError(f"{TITLE} cannot be prepared: there is no {file}.")
    issues = GroupedIssues()
    pairs_of = {pair.item_id_1.split("_")[0]: pair for _, pair in read_rows(file, MinedPair, issues)}
    issues.raise_if_any(f"{file} cannot be prepared", "nothing was written")
    filtered = read_rows(without, FilteredPair, issues, exact=False) if without else ()
    removed = {pair.group_id for _, pair in filtered if pair.removed}
    issues.raise_if_any(f"{without} is not what a filter wrote", "nothing was written")
    rows = [
        {"item_id": item, "group_id": group, "question": pair.question, "options": list(OPTIONS),
         "answer": SIDES[side], "clip": f"test/{clip}"}
        for group, pair in sorted(pairs_of.items()) if group not in removed
        for item, clip, side in (
            (pair.item_id_1, pair.clip_1, pair.answer_1), (pair.item_id_2, pair.clip_2, pair.answer_2)
        )
    ]  # fmt: skip
    clips = {row["clip"]: source / "videos" / row["clip"].removeprefix("test/") for row in rows}
    with building(CARD.name) as build:
        build.add_split("test", rows, {}, clips, Origin(str(source), {file.name: file}), progress)
    return {"test": build.splits["test"]}


def _says_left(record: Record) -> float | None:
    return None if record.answered is None else 100.0 * (record.answered == SIDES["left"])


LEFT_RATE = Metric("left_rate", "says left", _says_left, higher_is_better=None)
"""Percent of read answers that say left: 50 without a bias."""


def references(task: str, items: int) -> tuple[ReferencedMetric, ...]:
    """Both accuracies beside chance."""
    pair, single = ({"chance": CARD.chance[name]} for name in ("pair_accuracy", "single_accuracy"))
    return pair_references(pair, single)


def panels(task: str, runs: Sequence[RunRecords]) -> list[Panel]:
    """Consistency between a clip and its mirror image, and which side is answered."""
    names = {"A": "left", "B": "right", None: "none"}
    bars = []
    for run in runs:
        counts = dict.fromkeys(names.values(), 0)
        for record in run.records:
            counts[names[record.answered]] += 1
        bars.append(Bar(run.name, counts, run.tag))
    figure = share_plot("Answers of each run by side", bars, tuple(names.values()))
    return [consistency_panel(runs, "clips"), Panel("Which side is answered", figure)]


class Answer(RowForm):
    """One line of a submission."""

    id: str
    answer: Literal["A", "B", ""]


ANSWERS = ChoiceForm(
    card=CARD,
    row_type=Answer,
    values=lambda row, split: {"id": row["item_id"]},
    answers=lambda row: ("A", "B"),
    id_field="id",
    answer_field="answer",
)

BENCHMARK = Benchmark(
    card=CARD,
    folder=Path(__file__).parent,
    kinds={
        "pairs": TaskKind(
            metrics=(
                pair_scores.PAIR_ACCURACY,
                pair_scores.SINGLE_ACCURACY,
                LEFT_RATE,
                pair_scores.PAIRS_SCORED,
                *rates.COMMON,
            ),
            extractor=EXTRACTOR,
            columns=(interval_column(pair_scores.PAIR_ACCURACY), score_column(LEFT_RATE), *OUTCOME_COLUMNS),
            references=references,
            panels=panels,
            item_view=clip_view,
            answer_view=lambda record, row, response: AnswerView(),
            read_settings=prompt_reader(),
            views=("blind", "single_frame", "shuffled"),
        )
    },
    prepare=prepare,
    schema=dict,
    submission=SubmissionForm(
        parts=("answers",),
        path=lambda split, part: "submissions/lamp_side.jsonl",
        examine=ANSWERS.examine,
        build=ANSWERS.build,
        check=ANSWERS.check,
    ),
)
