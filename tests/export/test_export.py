"""Files for Every Eval Ever and for a model's repository on the hub, of runs and their cards."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import call, printed, refusal
from expected import Expected
from exported_runs import OTHER, TASK, exported_run
from huggingface_hub import parse_eval_result_entries
from refusals import refusal as refused

from lmms_eval_tasks import __version__
from lmms_eval_tasks.export import hub
from lmms_eval_tasks.export.every_eval_ever import Evaluator, Relationship, export_run
from lmms_eval_tasks.export.hub import RESULTS, SECTION, export_hub
from lmms_eval_tasks.runs.run_files import ResultsFile
from lmms_eval_tasks.runs.scores import ScoredRun
from lmms_eval_tasks.utils.data.card import DataSet, SetKind

# As the datastore's own check of paths has it.
PLACE = r"data/mvp/Qwen/[\w.-]+/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\.json"
SHOWN = ("mvp.pair_accuracy", "mvp.unparsed_rate")
UNNAMED = {"name": "m", "checkpoint": "out/ckpt-100", "revision": "a folder whose files are 12"}


def record_of(run: ScoredRun, model: str = "") -> tuple[Path, dict[str, Any]]:
    ((path, text),) = export_run(run, model, Evaluator("Our lab", Relationship.THIRD_PARTY))[0].items()
    return path, json.loads(text)


def named(run: ScoredRun, results: str) -> ScoredRun:
    """The run with another name of its results file."""
    return replace(run, scores=run.scores.model_copy(update={"results": results}))


def test_a_file_has_the_scores_with_intervals_and_facts_of_the_card(tmp_path: Path, expected: Expected) -> None:
    """That it is valid by the schema is tested in tests/pages/test_page_commands.py."""
    run = exported_run(tmp_path / "weak")
    path, record = record_of(run)
    assert re.fullmatch(PLACE, path.as_posix()) and (path, record) == record_of(run)
    score = run.scores.part(TASK).score("pair_accuracy")
    details = record["evaluation_results"][0]["score_details"]
    interval = details["uncertainty"]["confidence_interval"]
    assert (details["score"], interval["lower"], interval["upper"]) == (score.value, score.low, score.high)
    for result in record["evaluation_results"]:
        config = result["metric_config"]
        assert config["min_score"] <= result["score_details"]["score"] <= config["max_score"]
    assert "secret" not in json.dumps(record)
    shown = [one for one in record["evaluation_results"] if one["metric_config"]["metric_id"] in SHOWN]
    expected(json.dumps({**record, "evaluation_results": shown}, indent=1).replace(__version__, "{version}"))
    # A part of the official release is not labelled as the dataset.
    part = DataSet(kind=SetKind.PART, items=60, of=120)
    for result in record_of(exported_run(tmp_path / "part", data=part))[1]["evaluation_results"]:
        assert result["source_data"]["source_type"] == "other"
        assert result["source_data"]["dataset_name"] == "MVP (a part of the official release, 60 of 120 items)"


def test_timestamps_are_those_of_the_run_in_its_time_zone(tmp_path: Path) -> None:
    run = named(exported_run(tmp_path / "weak"), "20261121_120000_results.json")
    for zone, hours in ((None, 8), ("Asia/Singapore", 8), ("UTC", 0), ("America/New_York", -5)):
        config = {"resolved_cli_args": {"timezone": zone}}
        results = ResultsFile.model_validate({"configs": {}, "group_subtasks": {}, "config": config})
        _, record = record_of(replace(run, results=results))
        assert record["evaluation_timestamp"] == f"2026-11-21T{12 - hours:02}:00:00+00:00"
        # 2026-11-21 00:00 UTC is 1795219200.
        assert int(record["retrieved_timestamp"]) == 1_795_219_200 + 3600 * (12 - hours)


def test_what_is_not_known_is_asked_for(tmp_path: Path, expected: Expected) -> None:
    run = exported_run(tmp_path / "weak", model=UNNAMED)
    sample = DataSet(kind=SetKind.SAMPLE, items=120)
    cases = (
        (run, ""),
        (run, "flat"),
        (run, "../up"),
        (named(run, "renamed_results.json"), "ours/video-7b"),
        (named(run, "20269999_results.json"), "ours/video-7b"),
        (exported_run(tmp_path / "sample", data=sample, model=UNNAMED), ""),
    )
    expected("\n".join(refused(record_of, *case) for case in cases))
    words = ["export", "every-eval-ever", tmp_path / "weak", "--out", tmp_path / "eee"]
    evaluator, relation = ["--evaluator", "Our lab"], ["--relation", "third_party"]
    assert [call(*words, *lacking).status for lacking in (evaluator, relation)] == [2, 2]
    assert "once for each of 1 runs" in call(*words, *evaluator, *relation, *["--model", "a/b"] * 2).err
    shown = printed(*words, *evaluator, *relation, "--model", "a/b")
    (path,) = (tmp_path / "eee").rglob("*.json")
    assert shown == f"Written: {path}\n"


ENTRIES = Path(RESULTS, "mvp.yaml")
PART = DataSet(kind=SetKind.PART, items=60, of=120)


@pytest.fixture
def run(tmp_path: Path) -> ScoredRun:
    return exported_run(tmp_path / "weak")


def test_an_entry_and_the_section_have_the_score_and_how_it_was_made(run: ScoredRun, expected: Expected) -> None:
    files, left_out = export_hub([run])
    assert list(files) == [Path(SECTION), ENTRIES] and left_out == [] and export_hub([run])[0] == files
    (entry,) = parse_eval_result_entries(yaml.safe_load(files[ENTRIES]))
    score = run.scores.part(TASK).score("pair_accuracy")
    assert score.value is not None and entry.value == round(score.value, 2)
    assert entry.notes is not None and f"[{score.low:.2f}, {score.high:.2f}], 60 groups of 120 items" in entry.notes
    assert "secret" not in str(files)
    expected("\n".join(files.values()).replace(__version__, "{version}"))


def test_what_is_less_than_the_official_release_has_no_entry(
    run: ScoredRun, tmp_path: Path, expected: Expected
) -> None:
    changes: list[dict[str, Any]] = [
        {"data": [PART]},
        {"data": [DataSet(kind=SetKind.OFFICIAL, items=80, of=120)]},
        {"data": [DataSet(kind=SetKind.OWN, items=120)]},
        {"data": [DataSet(kind=SetKind.UNKNOWN)]},
        {"apart": "--limit 8"},
        {"view": "one_frame"},
        {"outcomes": {"correct": 70, "unscored": 50}},
        {"outcomes": {}},
        {"benchmark": "lamps"},
    ]
    part = run.scores.part(TASK)
    runs = [
        replace(run, scores=run.scores.model_copy(update={"parts": [part.model_copy(update=one)]})) for one in changes
    ]
    reasons = []
    for one in (*runs, exported_run(tmp_path / "none on the hub", "causalvqa_debug_paired")):
        files, left_out = export_hub([one])
        assert list(files) == [Path(SECTION)]
        reasons += left_out
        is_whole = any(word in left_out[0] for word in ("lamps", "not installed", "no dataset"))
        assert ("the official release, whole" in files[Path(SECTION)]) is is_whole
    expected("\n".join(reasons))


def test_runs_are_of_real_data_of_one_model_and_hold_a_task_once(
    run: ScoredRun, tmp_path: Path, expected: Expected
) -> None:
    sample = DataSet(kind=SetKind.SAMPLE, items=120)
    made_up = [exported_run(tmp_path / "a", data=sample), exported_run(tmp_path / "b", OTHER, sample)]
    other = exported_run(tmp_path / "other", OTHER)
    expected("\n".join(refused(export_hub, runs) for runs in (made_up, [run, other], [run, run])))
    same = replace(other, scores=other.scores.model_copy(update={"model": "replay weak"}))
    entries = yaml.safe_load(export_hub([run, same])[0][ENTRIES])
    assert [entry["dataset"]["task_id"] for entry in entries] == [TASK, OTHER]
    assert "revision" not in entries[1]["dataset"]


def test_the_command_writes_them_and_says_what_is_left_out(
    run: ScoredRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported_run(tmp_path / "part", data=PART)
    out = tmp_path / "repository"
    assert printed("export", "hub", tmp_path / "part", "--out", out).splitlines() == [
        f"Written: {out / SECTION}",
        f"No entry on the hub: {TASK}: a part of the official release, 60 of 120 items.",
    ]
    assert "holds no run" in refusal("export", "hub", tmp_path / "none", "--out", out)
    monkeypatch.setattr(hub, "EvalResultEntry", None)
    assert "needs huggingface_hub 1.4 or newer" in refused(export_hub, [run])
