"""Scores of runs, from the file beside their results or computed; that file's schema and numbers; which run is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import generated_docs
import jsonschema
import pytest
from expected import Expected
from logged_runs import TASK, weak, write_run
from refusals import refusal

from lmms_eval_tasks.report.score_tables import score_tables
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.runs.run_files import CutShort
from lmms_eval_tasks.runs.scores import ScoresFile, read_scored, read_scores, scores_of, scores_path, scores_text
from lmms_eval_tasks.utils.core.table import Number


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """The results file of a run without a file of scores."""
    return read_run(write_run(tmp_path / "weak", weak(12), stratum={"type": "descriptive", "difficulty": "easy"})).path


def write_scores(results: Path, **changes: str) -> ScoresFile:
    scores = scores_of(read_run(results)).model_copy(update=changes)
    scores_path(results).write_text(scores_text(scores), encoding="utf-8")
    return scores


def test_the_file_has_the_published_schema_the_numbers_of_the_report_and_what_they_stand_on(results: Path) -> None:
    scores = write_scores(results)
    assert scores_path(results).name == "20261121_scores.json" and read_scores(scores_path(results)) == scores
    shown = score_tables([read_run(results)])[0].rows[0][1]
    assert isinstance(shown, Number)
    part = scores.part(TASK)
    score = part.score(part.leading)
    assert (score.metric, score.value, score.low, score.high) == ("pair_accuracy", shown.value, shown.low, shown.high)
    assert (score.groups, score.items, shown.n) == (12, 24, 12)
    assert (part.version, part.benchmark, part.apart) == ("1-A", "causalvqa", "")
    # Of each pair the first is right in every second, and the second in two of three.
    assert part.outcomes == {"correct": 6 + 8, "wrong": 10, "unparsed": 0, "unscored": 0}
    counted = part.score("pairs_scored")
    assert (counted.kind, counted.value, counted.low, counted.groups) == ("groups", 12, None, 12)
    published = (generated_docs.DOCS / "scores.schema.json").read_text(encoding="utf-8")
    assert published == generated_docs.write_schema(), "Run `make docs-files`."
    described, value = json.loads(published), json.loads(scores_text(scores))
    for form in (described, *(described["$defs"][name] for name in ("PartScores", "ScoreEntry"))):
        assert form["additionalProperties"] is False
        assert all(field.get("description") for field in form["properties"].values())
    jsonschema.validate(value, described)
    value["parts"][0]["scores"][0]["low"] = "33"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(value, described)


def test_scores_are_read_from_their_file_or_computed(results: Path) -> None:
    read = read_scored(results.parent)
    assert read.scores == scores_of(read_run(results))
    assert (read.path, read.card, read.notes) == (results, {}, ())
    assert read.results is not None and read.results.model_name == "replay weak"
    # The file is enough, though results and logs are gone.
    scores, card = write_scores(results, model="kept"), {"run": {"date": "20261121"}}
    results.with_name("20261121_run_card.json").write_text(json.dumps(card), encoding="utf-8")
    for log in results.parent.glob("*_samples_*"):
        log.unlink()
    assert read_scored(results.parent).scores == scores
    results.unlink()
    for source in (results.parent, scores_path(results)):
        read = read_scored(source)
        assert (read.scores, read.results, read.card) == (scores, None, card)


def test_of_several_runs_the_latest_whole_one_is_read(results: Path) -> None:
    folder = results.parent
    part = folder / "parts" / "1" / "20261129_results.json"
    part.parent.mkdir(parents=True)
    part.write_bytes(results.read_bytes())
    (folder / "parts" / "launch.json").write_text("{}", encoding="utf-8")
    read = read_scored(folder)
    assert (read.path, read.notes) == (results, ()), "the parts of a launched run are left out"
    later = results.with_name("20261122_results.json")
    scores_path(later).write_text(scores_text(write_scores(results, model="later")), encoding="utf-8")
    read = read_scored(folder)
    assert (read.path, read.scores.model) == (later, "later")
    assert read.notes == (f"{folder} holds 2 runs; this is the latest, {later}",)
    cut = results.with_name("20261123_results.json")
    cut.write_text("{", encoding="utf-8")
    assert read_scored(folder).notes[0] == f"{cut} is of a run that was cut short, and is left out"
    with pytest.raises(CutShort):
        read_scored(cut)


def test_another_file_is_refused_by_name(results: Path, tmp_path: Path, expected: Expected) -> None:
    text = scores_text(write_scores(results))
    changes: list[Callable[[Any], object]] = [
        lambda value: value.pop("model"),
        lambda value: value.update(form=2),
        lambda value: value["parts"][0]["scores"][0].update(low="1"),
        lambda value: value["parts"][0].update(more=1),
    ]
    texts = ["{"]
    for change in changes:
        value = json.loads(text)
        change(value)
        texts.append(json.dumps(value))
    shown = []
    for text in texts:
        scores_path(results).write_text(text, encoding="utf-8")
        shown.append(refusal(read_scores, scores_path(results)))
    write_scores(results)
    results.with_name("20261121_run_card.json").write_text("[]", encoding="utf-8")
    shown += [refusal(read_scored, source) for source in (tmp_path / "empty", results.parent)]
    expected("\n".join(shown))
