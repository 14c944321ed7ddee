"""Files for Every Eval Ever: valid by its own schema, where its datastore has them, and the same each time."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from commands import call, printed
from eee_schema import read_schema
from expected import Expected
from exported_runs import TASK, WHOLE, MakeRun
from refusals import refusal

from lmms_eval_tasks import __version__
from lmms_eval_tasks.export.every_eval_ever import SCHEMA, Evaluator, Relationship, export_run
from lmms_eval_tasks.runs.run_files import ResultsFile
from lmms_eval_tasks.runs.scores import ScoredRun
from lmms_eval_tasks.utils.data.card import DataSet, SetKind

EVALUATOR = Evaluator("Our lab", Relationship.THIRD_PARTY)
# As the datastore's own check of paths has it.
PLACE = r"data/mvp/Qwen/[\w.-]+/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\.json"
SHOWN = ("mvp.pair_accuracy", "mvp.unparsed_rate")
UNNAMED = {"name": "m", "checkpoint": "out/ckpt-100", "revision": "a folder whose files are 12"}


def record_of(run: ScoredRun, model: str = "") -> tuple[Path, dict[str, Any]]:
    ((path, text),) = export_run(run, model, EVALUATOR)[0].items()
    return path, json.loads(text)


def named(run: ScoredRun, results: str) -> ScoredRun:
    """The run with another name of its results file."""
    return replace(run, scores=run.scores.model_copy(update={"results": results}))


def test_a_file_is_valid_by_the_schema_and_lies_where_the_datastore_has_it(make_run: MakeRun) -> None:
    schema = read_schema()
    assert schema["version"] == SCHEMA
    for number, (data, task) in enumerate(
        [(WHOLE, TASK), (DataSet(kind=SetKind.OWN, items=120), TASK), (WHOLE, "causalvqa_debug_paired")]
    ):
        path, record = record_of(make_run(f"run-{number}", task, data), "Qwen/some/model")
        jsonschema.Draft7Validator(schema).validate(record)
        assert re.fullmatch(PLACE.replace("mvp", record["evaluation_id"].partition("/")[0]), path.as_posix())
        for result in record["evaluation_results"]:
            config, score = result["metric_config"], result["score_details"]["score"]
            assert config["min_score"] <= score <= config["max_score"]
    record["model_info"]["additional_details"]["frames"] = 16
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft7Validator(schema).validate(record)


def test_it_has_the_scores_with_intervals_and_facts_of_the_card(make_run: MakeRun, expected: Expected) -> None:
    run = make_run()
    path, record = record_of(run)
    assert path.parent == Path("data/mvp/Qwen/Qwen2.5-VL-7B") and (path, record) == record_of(run)
    score = run.scores.part(TASK).score("pair_accuracy")
    details = record["evaluation_results"][0]["score_details"]
    interval = details["uncertainty"]["confidence_interval"]
    assert (details["score"], interval["lower"], interval["upper"]) == (score.value, score.low, score.high)
    assert "secret" not in json.dumps(record)
    shown = [one for one in record["evaluation_results"] if one["metric_config"]["metric_id"] in SHOWN]
    expected(json.dumps({**record, "evaluation_results": shown}, indent=1).replace(__version__, "{version}"))


def test_a_part_of_the_official_release_is_not_labelled_as_the_dataset(make_run: MakeRun) -> None:
    _, record = record_of(make_run(data=DataSet(kind=SetKind.PART, items=60, of=120)))
    for result in record["evaluation_results"]:
        assert result["source_data"]["source_type"] == "other"
        assert result["source_data"]["dataset_name"] == "MVP (a part of the official release, 60 of 120 items)"


@pytest.mark.parametrize(("zone", "hours"), [(None, 8), ("Asia/Singapore", 8), ("UTC", 0), ("America/New_York", -5)])
def test_timestamps_are_those_of_the_run_in_its_time_zone(zone: str | None, hours: int, make_run: MakeRun) -> None:
    results = ResultsFile.model_validate(
        {"configs": {}, "group_subtasks": {}, "config": {"resolved_cli_args": {"timezone": zone}}}
    )
    _, record = record_of(replace(named(make_run(), "20261121_120000_results.json"), results=results))
    assert record["evaluation_timestamp"] == f"2026-11-21T{12 - hours:02}:00:00+00:00"
    # 2026-11-21 00:00 UTC is 1795219200.
    assert int(record["retrieved_timestamp"]) == 1_795_219_200 + 3600 * (12 - hours)


def test_what_is_not_known_is_asked_for(make_run: MakeRun, expected: Expected) -> None:
    run = make_run(model=UNNAMED)
    cases = (
        (run, ""),
        (run, "flat"),
        (run, "../up"),
        (named(run, "renamed_results.json"), "ours/video-7b"),
        (named(run, "20269999_results.json"), "ours/video-7b"),
        (make_run("sample", data=DataSet(kind=SetKind.SAMPLE, items=120), model=UNNAMED), ""),
    )
    expected("\n".join(refusal(record_of, *case) for case in cases))


def test_the_command_wants_what_only_a_person_can_say(make_run: MakeRun, tmp_path: Path) -> None:
    make_run()
    words = ["export", "every-eval-ever", tmp_path / "weak", "--out", tmp_path / "eee"]
    evaluator, relation = ["--evaluator", "Our lab"], ["--relation", "third_party"]
    assert [call(*words, *lacking).status for lacking in (evaluator, relation)] == [2, 2]
    words += [*evaluator, *relation]
    assert "once for each of 1 runs" in call(*words, *["--model", "a/b"] * 2).err
    shown = printed(*words, "--weights", "open_weights")
    (path,) = (tmp_path / "eee").rglob("*.json")
    assert shown == f"Written: {path}\n"
    details = json.loads(path.read_text("utf-8"))["model_info"]["additional_details"]
    assert details["model_availability"] == "open_weights"
