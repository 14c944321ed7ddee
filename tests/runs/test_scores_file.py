"""Scores and responses of runs, from files beside their results or computed; and which run of a folder is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import generated_docs
import jsonschema
import pytest
from expected import Expected
from logged_runs import TASK, weak, write_run
from refusals import refusal

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.report.score_tables import score_tables
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.runs.run_files import CutShort
from lmms_eval_tasks.runs.saved_answers import read_responses
from lmms_eval_tasks.runs.scores import (
    ScoresFile,
    read_scored,
    read_scores,
    references_of,
    scores_of,
    scores_path,
    scores_text,
    unshown_chance,
)
from lmms_eval_tasks.utils.answers.reply import Reply
from lmms_eval_tasks.utils.core.output import Number
from lmms_eval_tasks.utils.reporting.references import ReferencedMetric
from lmms_eval_tasks.utils.scoring.metrics import PAIR_ACCURACY
from lmms_eval_tasks.utils.scoring.prediction_lines import PredictionLines


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


def write(path: Path, *lines: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


def logged(item_id: str, **fields: object) -> dict[str, object]:
    return {"record": {"item_id": item_id, "fields": {}}, "filtered_resps": "A", **fields}


def test_lines_of_a_file_serve_the_task_that_they_name_or_every_one(tmp_path: Path, expected: Expected) -> None:
    path = write(
        tmp_path / "r.jsonl",
        {"id": "q_0", "response": "A"},
        {"id": "q_1", "response": ""},
        {"id": "named", "response": "B", "task": "one"},
        {"id": "torn", "response": "\ud800 é \U0001f600"},
    )
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    saved = read_responses(path)
    replies = [Reply("A"), Reply(""), Reply("B"), None]
    assert [saved.find("one", item) for item in ("q_0", "q_1", "named", "other")] == replies
    assert [saved.find("two", item) for item in ("q_0", "named")] == [Reply("A"), None]
    # A lone surrogate is replaced.
    assert saved.find("one", "torn") == Reply("? é \U0001f600")
    # A folder that holds nothing, and every bad line of a file.
    kinds = [PredictionLines(lambda line: None, fields="a guess", options="")]
    path.write_bytes(b'{"id": "q", "response": "A"}\n[1]\nnot json\n\xff\xfe\n{"id": "q", "response": "B"}\n')
    (tmp_path / "empty").mkdir()
    expected("\n".join(refusal(read_responses, source, kinds) for source in (tmp_path / "empty", path)))


def test_of_several_logs_in_a_folder_those_of_one_run_are_replayed(tmp_path: Path, expected: Expected) -> None:
    tasks, one, two, three = (tmp_path / name for name in ("tasks", "dates", "models", "launch"))
    write(tasks / "m" / "d_samples_one.jsonl", logged("q"))
    write(tasks / "m" / "d_samples_two.jsonl", logged("q", resps=[["<think>x</think>B"]], filtered_resps="B"))
    saved = read_responses(tasks)
    assert (saved.find("one", "q"), saved.find("two", "q")) == (Reply("A"), Reply("<think>x</think>B"))
    write(one / "20261101_samples_one.jsonl", logged("q"))
    write(one / "20261102_samples_one.jsonl", logged("q", filtered_resps="B"))
    saved = read_responses(one)
    assert saved.find("one", "q") == Reply("B")
    # Two models are not mixed.
    for model in ("this", "that"):
        write(two / model / "20261101_samples_one.jsonl", logged("q"))
    expected(f"{saved.note}\n{refusal(read_responses, two)}")
    write(two / "this" / "20261101_samples_two.jsonl", logged("q"))
    assert set(read_responses(two / "this").by_item) == {("one", "q"), ("two", "q")}
    # The parts of a launch are left to the run that they were merged into.
    write(three / "m" / "20261102_samples_one.jsonl", logged("q"), logged("r"))
    write(three / "parts" / "1-of-2" / "m" / "20261102_samples_one.jsonl", logged("q"))
    write(three / "parts" / "launch.json", {})
    assert set(read_responses(three).by_item) == {("one", "q"), ("one", "r")}


def test_a_kind_names_its_own_references_and_is_asked_by_the_whole_tasks_name(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def own(task: str, items: int) -> tuple[ReferencedMetric, ...]:
        asked.append((task, items))
        return (ReferencedMetric(PAIR_ACCURACY, 12.5),)

    name = "mvp_mini_blind"
    task = registry().find_task("mvp_mini_intuitive_physics_blind")
    assert task is not None
    kinds = {kind: replace(one, references=own) for kind, one in task.benchmark.kinds.items()}
    other = replace(task, benchmark=replace(task.benchmark, kinds=kinds))
    known = SimpleNamespace(find_task=lambda _: other, find_parent=registry().find_parent)
    usual = references_of(name, task.name, 7)
    assert [one.metric.name for one in usual] == ["pair_accuracy", "single_accuracy"] and usual[0].chance == 25.0
    monkeypatch.setattr("lmms_eval_tasks.runs.scores.registry", lambda: known)
    (found,) = references_of(name, task.name, 7)
    assert asked == [("mvp_mini", 7)] and (found.metric.name, found.chance) == ("pair_accuracy", 12.5)


def test_chance_that_two_kinds_share_is_not_shown_and_it_is_said_what_to_write() -> None:
    benchmark = registry().benchmarks["mvp"]
    kind = replace(next(iter(benchmark.kinds.values())), references=None)
    benchmark = replace(benchmark, kinds={"pairs": kind})
    assert unshown_chance(benchmark, kind) == ""
    two = replace(benchmark, kinds={"first": kind, "second": replace(kind, members="scenes")})
    said = unshown_chance(two, two.kinds["second"])
    for score in ("pair_accuracy", "single_accuracy"):
        assert f"Chance of {score} is not shown: first and second have this score" in said
    assert "references=lambda task, items: (ReferencedMetric(METRIC, CHANCE),)" in said
    assert unshown_chance(two, replace(kind, references=lambda task, items: ())) == ""
