"""The file of scores beside a run's results: its form, its schema, and that it has the report's numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import generated_docs
import pytest
from logged_runs import TASK, weak, write_run

from lmms_eval_tasks.report.score_tables import score_tables
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.runs.scores import (
    ScoresFile,
    read_scores,
    scores_of,
    scores_path,
    scores_text,
)
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.table import Number

STRATUM = {"type": "descriptive", "difficulty": "easy"}


@pytest.fixture
def scores(tmp_path: Path) -> ScoresFile:
    return scores_of(read_run(write_run(tmp_path / "weak", weak(), stratum=STRATUM)))


def test_the_published_schema_is_that_of_the_model() -> None:
    published = (generated_docs.DOCS / "scores.schema.json").read_text(encoding="utf-8")
    assert published == generated_docs.write_schema(), "Run `make docs-files`."
    described = json.loads(published)
    for form in (described, *(described["$defs"][name] for name in ("PartScores", "ScoreEntry"))):
        assert form["additionalProperties"] is False
        assert all(field.get("description") for field in form["properties"].values())


def test_a_file_is_valid_against_the_schema(scores: ScoresFile) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((generated_docs.DOCS / "scores.schema.json").read_text(encoding="utf-8"))
    value = json.loads(scores_text(scores))
    jsonschema.validate(value, schema)
    value["parts"][0]["scores"][0]["low"] = "33"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(value, schema)


def test_a_file_comes_back_as_it_was_written_and_has_the_same_bytes(scores: ScoresFile, tmp_path: Path) -> None:
    path = scores_path(tmp_path / "20261121_results.json")
    path.write_text(scores_text(scores), encoding="utf-8")
    assert path.name == "20261121_scores.json" and read_scores(path) == scores
    assert scores_text(read_scores(path)) == scores_text(scores_of(read_run(tmp_path / "weak")))


def test_it_has_the_numbers_of_the_report_and_what_they_stand_on(scores: ScoresFile, tmp_path: Path) -> None:
    run = read_run(tmp_path / "weak")
    (table,) = score_tables([run])
    shown = table.rows[0][1]
    assert isinstance(shown, Number)
    part = scores.part(TASK)
    score = part.score(part.leading)
    assert (score.metric, score.value, score.low, score.high) == ("pair_accuracy", shown.value, shown.low, shown.high)
    assert (score.groups, score.items, shown.n) == (60, 120, 60)
    assert (part.version, part.benchmark, part.apart) == ("1-A", "causalvqa", "")
    assert part.outcomes == {"correct": 70, "wrong": 50, "unparsed": 0, "unscored": 0}
    assert "10,000 draws, seed 0" in scores.method
    counted = part.score("pairs_scored")
    assert (counted.kind, counted.value, counted.low, counted.groups) == ("groups", 60, None, 60)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda value: value.pop("model"), "model"),
        (lambda value: value.update(form=2), "form"),
        (lambda value: value["parts"][0]["scores"][0].update(low="1"), "low"),
        (lambda value: value["parts"][0].update(more=1), "more"),
    ],
)
def test_another_file_is_refused_by_name(change: Any, expected: str, scores: ScoresFile, tmp_path: Path) -> None:
    value = json.loads(scores_text(scores))
    change(value)
    path = tmp_path / "20261121_scores.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(InputError, match="is not a scores file") as refused:
        read_scores(path)
    assert expected in str(refused.value)
    path.write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match="Expected JSON"):
        read_scores(path)
