"""Files for a model's repository on the hub: entries of official releases alone, and a section of its card."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import refusals
import yaml
from commands import printed, refusal
from expected import Expected
from exported_runs import OTHER, TASK, WHOLE, MakeRun
from huggingface_hub import parse_eval_result_entries

from lmms_eval_tasks import __version__
from lmms_eval_tasks.export import hub
from lmms_eval_tasks.export.hub import RESULTS, SECTION, export_hub
from lmms_eval_tasks.runs.scores import ScoresFile
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.card import DataSet, SetKind

ENTRIES = Path(RESULTS, "mvp.yaml")


def change_part(**changes: object) -> Callable[[ScoresFile], ScoresFile]:
    return lambda scores: scores.model_copy(
        update={"parts": [part.model_copy(update=changes) for part in scores.parts]}
    )


def test_an_entry_and_the_section_have_the_score_and_how_it_was_made(make_run: MakeRun, expected: Expected) -> None:
    run = make_run()
    files, left_out = export_hub([run])
    assert list(files) == [Path(SECTION), ENTRIES] and left_out == [] and export_hub([run])[0] == files
    (entry,) = parse_eval_result_entries(yaml.safe_load(files[ENTRIES]))
    score = run.scores.part(TASK).score("pair_accuracy")
    assert score.value is not None and entry.value == round(score.value, 2)
    assert entry.notes is not None and f"[{score.low:.2f}, {score.high:.2f}], 60 groups of 120 items" in entry.notes
    assert "secret" not in str(files)
    expected("\n".join(files.values()).replace(__version__, "{version}"))


def test_what_is_less_than_the_official_release_has_no_entry(make_run: MakeRun, expected: Expected) -> None:
    cases: list[tuple[DataSet, dict[str, Any]]] = [
        (DataSet(kind=SetKind.PART, items=60, of=120), {}),
        (DataSet(kind=SetKind.OFFICIAL, items=80, of=120), {}),
        (DataSet(kind=SetKind.OWN, items=120), {}),
        (DataSet(kind=SetKind.UNKNOWN), {}),
        (WHOLE, {"apart": "--limit 8"}),
        (WHOLE, {"view": "one_frame"}),
        (WHOLE, {"outcomes": {"correct": 70, "unscored": 50}}),
        (WHOLE, {"outcomes": {}}),
        (WHOLE, {"benchmark": "lamps"}),
    ]
    runs = [make_run(str(place), data=data, change=change_part(**of)) for place, (data, of) in enumerate(cases)]
    runs.append(make_run("none on the hub", "causalvqa_debug_paired"))
    reasons = []
    for run in runs:
        files, left_out = export_hub([run])
        assert list(files) == [Path(SECTION)]
        reasons += left_out
        is_whole = any(word in left_out[0] for word in ("lamps", "not installed", "no dataset"))
        assert ("the official release, whole" in files[Path(SECTION)]) is is_whole
    expected("\n".join(reasons))


def test_runs_are_of_real_data_of_one_model_and_hold_a_task_once(make_run: MakeRun, expected: Expected) -> None:
    sample = DataSet(kind=SetKind.SAMPLE, items=120)
    run, other = make_run(), make_run("other", OTHER)
    refused = ([make_run("a", data=sample), make_run("b", OTHER, sample)], [run, other], [run, run])
    expected("\n".join(refusals.refusal(export_hub, runs) for runs in refused))
    same = make_run("third", OTHER, change=lambda scores: scores.model_copy(update={"model": "replay weak"}))
    entries = yaml.safe_load(export_hub([run, same])[0][ENTRIES])
    assert [entry["dataset"]["task_id"] for entry in entries] == [TASK, OTHER]
    assert "revision" not in entries[1]["dataset"]


def test_the_command_writes_them_and_says_what_is_left_out(
    make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(change=change_part(view="one_frame"))
    out = tmp_path / "repository"
    assert printed("export", "hub", tmp_path / "weak", "--out", out).splitlines() == [
        f"Written: {out / SECTION}",
        f"No entry on the hub: {TASK}: the view one_frame of its items.",
    ]
    assert "holds no run" in refusal("export", "hub", tmp_path / "none", "--out", out)
    monkeypatch.setattr(hub, "EvalResultEntry", None)
    with pytest.raises(InputError, match=r"needs huggingface_hub 1\.4 or newer"):
        export_hub([run])
