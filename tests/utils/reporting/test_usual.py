"""What a report shows of a benchmark that declares nothing but its card and its scores."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lmms_eval_tasks.prompting import read_task_settings
from lmms_eval_tasks.registry import find_benchmark
from lmms_eval_tasks.utils.answers.hooks import DEFAULT, OFFICIAL, TaskSettings
from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm, Benchmark, TaskKind
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.text import PROMPT
from lmms_eval_tasks.utils.data.card import Card, Human, SplitFacts
from lmms_eval_tasks.utils.reporting.columns import score_number, usual_columns
from lmms_eval_tasks.utils.reporting.item_views import usual_answer_view, usual_item_view
from lmms_eval_tasks.utils.reporting.references import published_controls, usual_references
from lmms_eval_tasks.utils.scoring import metrics as scores
from lmms_eval_tasks.utils.scoring.bootstrap import Estimate
from lmms_eval_tasks.utils.scoring.metrics import Metric
from lmms_eval_tasks.utils.scoring.record import Outcome, Record

OWN = Metric("left_rate", "says left", lambda record: 100.0)
METRICS = (
    scores.PAIRS_SCORED, OWN, OWN.within("easy", lambda record: True), scores.SINGLE_ACCURACY,
    scores.OFFICIAL_ACCURACIES[1], scores.PAIR_ACCURACY, *scores.PAIR_ACCURACY.by("source", ("a", "b")),
    scores.PAIR_ACCURACY_OFFICIAL, *scores.COMMON_METRICS,
)  # fmt: skip
PEOPLE = Human("single_accuracy", "test", 90.0, "a paper", "ten people")
OF_PAIRS = {"task": "own", "score": "pair_accuracy", "unit": "percent", "source": "Table 1"}
ENTRIES = [
    {**OF_PAIRS, "model": "m", "value": 0.4, "unit": "fraction"},
    {**OF_PAIRS, "model": "p", "value": 80, "people": True}, {**OF_PAIRS, "model": "m", "value": 9, "view": "blind"},
    {**OF_PAIRS, "model": "n", "value": 9, "task": "other"},
    {"control": "blind filter", "metric": "removed", "value": 39, "source": "text"},
    {"control": "random pairs", "metric": "accuracy", "stage": "first", "value": 50, "source": "", "task": "own"},
]  # fmt: skip


def benchmark(folder: Path, metrics: tuple[Metric, ...] = METRICS, **facts: Any) -> Benchmark:
    """One that no registry knows."""
    known = {"main_metric": "pair_accuracy", "chance": {"single_accuracy": 50.0, "pair_accuracy": 25.0}, **facts}
    card = Card(
        name="own", title="Own", paper="", licence="", homepage="", splits={"test": SplitFacts()}, strata_columns=(),
        prepare_command="", **known,
    )  # fmt: skip
    prepare = find_benchmark("causalvqa").prepare
    return Benchmark(card, folder, {"pairs": TaskKind(metrics)}, prepare, no_submission="nobody asks")


def test_scores_that_the_card_knows_stand_beside_what_it_knows(tmp_path: Path) -> None:
    (tmp_path / "published.json").write_text(json.dumps({"records": ENTRIES}), encoding="utf-8")
    own = benchmark(tmp_path, human=(PEOPLE,))
    pair, single = usual_references(own.card, own.folder, own.kinds["pairs"].metrics, "own")
    assert (pair.metric, pair.chance, pair.people) == (scores.PAIR_ACCURACY, 25.0, ())
    assert [(model.model, model.value, model.source) for model in pair.published] == [("m", 40.0, "Table 1")]
    assert (single.metric, single.chance, single.people, single.published) == (
        scores.SINGLE_ACCURACY, 50.0, (PEOPLE,), (),
    )  # fmt: skip
    # Those of a score of two kinds stand beside neither.
    own = benchmark(tmp_path, human=(replace(PEOPLE, metric="pair_accuracy"),))
    pair, single = usual_references(own.card, own.folder, own.kinds["pairs"].metrics, "own", {"pair_accuracy"})
    assert (pair.chance, pair.people, single.chance) == (None, (), 50.0)
    # Without chance and people the main score leads, or the first mean.
    for main in ("left_rate", "", "pairs_scored"):
        own = benchmark(tmp_path / "none", main_metric=main, chance={})
        (found,) = usual_references(own.card, own.folder, own.kinds["pairs"].metrics, "own")
        assert found.metric == OWN and not found.has_references


def test_columns_are_of_all_scores_that_are_no_breakdown() -> None:
    columns = usual_columns(METRICS, [scores.PAIR_ACCURACY, scores.SINGLE_ACCURACY])
    assert [column.heading for column in columns] == [
        "pair accuracy", "single accuracy", "official reader", "says left", "unparsed", "unscored", "pairs",
    ]  # fmt: skip
    assert [column.interval for column in columns] == [True, True, False, False, False, False, False]
    # A score whose groups cannot be drawn otherwise has no interval.
    counted = replace(OWN, value_bounds=None)
    assert score_number(Estimate(34.2, 34.2, 34.2, 1), counted.unit).text == "34.2 (no interval)"


def test_controls_are_of_the_task_that_they_name_or_of_all(tmp_path: Path) -> None:
    (tmp_path / "published.json").write_text(json.dumps({"records": ENTRIES}), encoding="utf-8")
    own = benchmark(tmp_path)
    found = [(one.model, one.value) for one in published_controls(own.folder, "own")]
    assert found == [("accuracy (first)", 50.0), ("removed", 39.0)]
    assert [one.value for one in published_controls(own.folder, "else")] == [39.0]
    # An item shows its clips, and an answer what the official script reads.
    row = {"clip": "a.mp4", "clip_2": "b.mp4"}
    assert (usual_item_view(row, ("clip",)).clips, usual_item_view(row, ("clip", "clip_2")).clips) == (
        {"": "a.mp4"},
        row,
    )
    record = Record("a", "a", {}, "A", "A", Outcome.CORRECT)
    assert usual_answer_view(record).facts == {}
    for read, shown in (("B", "B"), (None, "none")):
        assert usual_answer_view(record.with_fields(official_answered=read)).facts == {"official reading": shown}


def test_the_prompt_can_be_chosen_of_what_is_answered_in_words(tmp_path: Path) -> None:
    own = benchmark(tmp_path)
    read = read_task_settings(own, own.kinds["pairs"], {}, {})
    assert read.prompt is not None and read.prompt.prompt_id == DEFAULT
    # What the YAML names says which fields there are, and the environment has to keep to them.
    alone = read_task_settings(own, own.kinds["pairs"], {"prompt": "countervqa"}, {})
    assert alone.prompt is not None and alone.prompt.fields == {"question"}
    with pytest.raises(InputError, match=r"Expected a prompt with question, .* 'mcq_letter', which has question and"):
        read_task_settings(own, own.kinds["pairs"], {"prompt": "countervqa"}, {PROMPT: "mcq_letter"})
    losses = TaskKind(METRICS, answer_form=AnswerForm.LOSSES, views=())
    assert read_task_settings(own, losses, {"prompt": OFFICIAL}, {}) == TaskSettings()
    kept = TaskKind(METRICS, read_settings=lambda kwargs, environment: TaskSettings())
    assert read_task_settings(own, kept, {}, {}).prompt is None
    labelled = find_benchmark("yocausal")
    with pytest.raises(InputError, match="one of the tasks has no official prompt"):
        read_task_settings(labelled, labelled.kinds["vlm"], {"prompt": OFFICIAL}, {})
