"""Files for Every Eval Ever: valid by its own schema, where its datastore has them, and the same each time."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from eee_schema import read_schema
from exported_runs import COMMIT, TASK, WHOLE, MakeRun
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.export.every_eval_ever import SCHEMA, Evaluator, Relationship, export_run
from lmms_eval_tasks.runs.run_files import ResultsFile
from lmms_eval_tasks.runs.scores import ScoredRun
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.card import DataSet, SetKind

EVALUATOR = Evaluator("Our lab", Relationship.THIRD_PARTY)
# As the datastore's own check of paths has it.
PLACE = r"data/mvp/Qwen/[\w.-]+/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\.json"


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


def test_it_has_the_scores_with_intervals_and_facts_of_the_card(make_run: MakeRun) -> None:
    run = make_run()
    path, record = record_of(run)
    assert path.parent == Path("data/mvp/Qwen/Qwen2.5-VL-7B") and path == record_of(run)[0]
    assert record["source_metadata"]["source_organization_name"] == "Our lab"
    assert record["eval_library"]["version"] == "0.7.3"
    info = record["model_info"]
    assert (info["id"], info["developer"]) == ("Qwen/Qwen2.5-VL-7B", "Qwen")
    assert info["additional_details"]["commit"] == COMMIT and info["additional_details"]["frames"] == "16"
    leading, *others = record["evaluation_results"]
    score = run.scores.part(TASK).score("pair_accuracy")
    uncertainty = leading["score_details"]["uncertainty"]
    assert leading["metric_config"]["metric_id"] == "mvp.pair_accuracy"
    assert (leading["score_details"]["score"], uncertainty["num_samples"]) == (score.value, 60)
    assert (uncertainty["confidence_interval"]["lower"], uncertainty["confidence_interval"]["upper"]) == (
        score.low,
        score.high,
    )
    assert leading["generation_config"]["generation_args"] == {"temperature": 0, "max_tokens": 8}
    assert leading["generation_config"]["additional_details"]["judge"] == "judge-7b"
    assert leading["source_data"]["hf_repo"] == "facebook/minimal_video_pairs"
    assert not leading["metric_config"]["lower_is_better"]
    (unparsed,) = [one for one in others if one["metric_config"]["metric_id"] == "mvp.unparsed_rate"]
    assert unparsed["metric_config"]["lower_is_better"]
    assert "secret" not in json.dumps(record)


def test_a_part_of_the_official_release_is_not_labelled_as_the_dataset(make_run: MakeRun) -> None:
    _, record = record_of(make_run(data=DataSet(kind=SetKind.PART, items=60, of=120)))
    for result in record["evaluation_results"]:
        assert result["source_data"]["source_type"] == "other"
        assert result["source_data"]["dataset_name"] == "MVP (a part of the official release, 60 of 120 items)"
    unnamed = {"name": "m", "checkpoint": "out/ckpt-100"}
    with pytest.raises(InputError, match="SAMPLE DATA"):
        record_of(make_run("sample", data=DataSet(kind=SetKind.SAMPLE, items=120), model=unnamed))


@pytest.mark.parametrize(("zone", "hours"), [(None, 8), ("Asia/Singapore", 8), ("UTC", 0), ("America/New_York", -5)])
def test_timestamps_are_those_of_the_run_in_its_time_zone(zone: str | None, hours: int, make_run: MakeRun) -> None:
    results = ResultsFile.model_validate(
        {"configs": {}, "group_subtasks": {}, "config": {"resolved_cli_args": {"timezone": zone}}}
    )
    _, record = record_of(replace(named(make_run(), "20261121_120000_results.json"), results=results))
    assert record["evaluation_timestamp"] == f"2026-11-21T{12 - hours:02}:00:00+00:00"
    # 2026-11-21 00:00 UTC is 1795219200.
    assert int(record["retrieved_timestamp"]) == 1_795_219_200 + 3600 * (12 - hours)


def test_a_date_or_a_model_that_is_not_known_is_asked_for(make_run: MakeRun) -> None:
    unknown = {"name": "m", "checkpoint": "out/ckpt-100", "revision": "a folder whose files are 12"}
    run = make_run(model=unknown)
    with pytest.raises(InputError, match="Expected the model's id as DEVELOPER/MODEL by --model, which its card"):
        record_of(run)
    with pytest.raises(InputError, match="by --model, but got `flat`"):
        record_of(run, "flat")
    with pytest.raises(InputError, match="by --model"):
        record_of(run, "../up")
    with pytest.raises(InputError, match=r"with its date in its name.*but got renamed_results"):
        record_of(named(run, "renamed_results.json"), "ours/video-7b")
    with pytest.raises(InputError, match="its date cannot be read"):
        record_of(named(run, "20269999_results.json"), "ours/video-7b")


def test_the_command_wants_what_only_a_person_can_say(make_run: MakeRun, tmp_path: Path) -> None:
    make_run()
    words = ["export", "every-eval-ever", str(tmp_path / "weak"), "--out", str(tmp_path / "eee")]
    for lacking in (["--evaluator", "Our lab"], ["--relation", "third_party"]):
        assert CliRunner().invoke(app, [*words, *lacking]).exit_code == 2
    words += ["--evaluator", "Our lab", "--relation", "third_party"]
    assert "once for each of 1 runs" in CliRunner().invoke(app, [*words, *["--model", "a/b"] * 2]).output
    made = CliRunner().invoke(app, [*words, "--weights", "open_weights"])
    assert made.exit_code == 0, made.output
    (path,) = (tmp_path / "eee").rglob("*.json")
    assert made.output == f"Written: {path}\n"
    assert (
        json.loads(path.read_text("utf-8"))["model_info"]["additional_details"]["model_availability"] == "open_weights"
    )
