"""Files for a model's repository on the hub: entries of official releases alone, and a section of its card."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import refusals
import yaml
from commands import printed, refusal
from expected import Expected
from exported_runs import OTHER, TASK, exported_run
from huggingface_hub import parse_eval_result_entries

from lmms_eval_tasks import __version__
from lmms_eval_tasks.export import hub
from lmms_eval_tasks.export.hub import RESULTS, SECTION, export_hub
from lmms_eval_tasks.runs.scores import ScoredRun
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.card import DataSet, SetKind

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
    expected("\n".join(refusals.refusal(export_hub, runs) for runs in (made_up, [run, other], [run, run])))
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
    with pytest.raises(InputError, match=r"needs huggingface_hub 1\.4 or newer"):
        export_hub([run])
