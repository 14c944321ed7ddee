"""Files for a model's repository on the hub: entries of official releases alone, and a section of its card."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from exported_runs import COMMIT, OTHER, TASK, WHOLE, MakeRun
from huggingface_hub import parse_eval_result_entries
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.export import hub
from lmms_eval_tasks.export.hub import RESULTS, SECTION, export_hub
from lmms_eval_tasks.runs.scores import ScoresFile
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.card import DataSet, SetKind

ENTRIES = Path(RESULTS, "mvp.yaml")
HUB_ID = "facebook/minimal_video_pairs"


def change_part(**changes: object) -> object:
    def change(scores: ScoresFile) -> ScoresFile:
        return scores.model_copy(update={"parts": [part.model_copy(update=changes) for part in scores.parts]})

    return change


def test_an_entry_has_the_score_with_its_interval_and_where_it_comes_from(make_run: MakeRun) -> None:
    run = make_run()
    files, left_out = export_hub([run])
    assert list(files) == [Path(SECTION), ENTRIES] and left_out == []
    (entry,) = parse_eval_result_entries(yaml.safe_load(files[ENTRIES]))
    score = run.scores.part(TASK).score("pair_accuracy")
    assert score.value is not None and score.low is not None and score.high is not None
    assert (entry.dataset_id, entry.task_id, entry.dataset_revision) == (HUB_ID, TASK, COMMIT)
    assert (entry.value, entry.date) == (round(score.value, 2), "2026-11-21T00:00:00+08:00")
    assert entry.notes is not None
    assert (
        f"95% interval [{score.low:.2f}, {score.high:.2f}], 60 groups of 120 items; {TASK} version 1-A" in entry.notes
    )
    assert "pair accuracy in percent" in entry.notes and "prompt mcq_letter" in entry.notes
    assert "10,000 draws, seed 0" in entry.notes


def test_the_section_has_a_table_and_how_it_was_made(make_run: MakeRun) -> None:
    run = make_run()
    section = export_hub([run])[0][Path(SECTION)]
    score = run.scores.part(TASK).score("pair_accuracy")
    row = next(line for line in section.splitlines() if line.startswith("| mvp"))
    assert f"| {score.value:.2f}% [{score.low:.2f}, {score.high:.2f}] | 60 | 120 | 0 | 1-A |" in row
    assert "the official release, whole" in row
    plain = section.replace("\\", "")
    assert f"Run: adapter qwen2_5_vl, frames 16, batch size 2, torch 2.15.0, lmms-eval 0.7.3, commit {COMMIT}" in plain
    assert "Asked with: data sha256 bb, prompt mcq_letter, judge judge-7b" in plain
    assert "Known hazards that apply: frames_without_times" in plain and "video_as_images" not in plain
    assert "secret" not in section and export_hub([run])[0][Path(SECTION)] == section


@pytest.mark.parametrize(
    ("data", "changes", "reason"),
    [
        (DataSet(kind=SetKind.PART, items=60, of=120), {}, "a part of the official release, 60 of 120 items"),
        (DataSet(kind=SetKind.OFFICIAL, items=80, of=120), {}, "the official release, 80 of 120 items"),
        (DataSet(kind=SetKind.OWN, items=120), {}, "a set of one's own, 120 items"),
        (DataSet(kind=SetKind.UNKNOWN), {}, "data that is not known to be the official release"),
        (WHOLE, {"apart": "--limit 8"}, "--limit 8"),
        (WHOLE, {"view": "one_frame"}, "the view one_frame of its items"),
        (WHOLE, {"outcomes": {"correct": 70, "unscored": 50}}, "50 of 120 items not scored"),
        (WHOLE, {"outcomes": {}}, "made without --log_samples, so that nobody can tell how many items were scored"),
        (WHOLE, {"benchmark": "lamps"}, "a benchmark that is not installed here"),
    ],
)
def test_what_is_less_than_the_official_release_has_no_entry(
    data: DataSet, changes: dict[str, object], reason: str, make_run: MakeRun
) -> None:
    files, left_out = export_hub([make_run(data=data, change=change_part(**changes))])
    assert left_out == [f"{TASK}: {reason}"]
    assert list(files) == [Path(SECTION)]
    assert ("the official release, whole" in files[Path(SECTION)]) is (changes.get("benchmark") == "lamps")


def test_a_benchmark_of_which_the_hub_has_no_dataset_has_no_entry(make_run: MakeRun) -> None:
    files, left_out = export_hub([make_run(task="causalvqa_debug_paired")])
    assert list(files) == [Path(SECTION)]
    assert left_out == ["causalvqa_debug_paired: no dataset of CausalVQA is known on the hub"]


def test_sample_data_is_not_exported(make_run: MakeRun) -> None:
    run = make_run(data=DataSet(kind=SetKind.SAMPLE, items=120))
    other = make_run("other", OTHER, data=DataSet(kind=SetKind.SAMPLE, items=120))
    with pytest.raises(InputError) as refused:
        export_hub([run, other])
    assert str(refused.value).splitlines() == [
        "Expected scores of real data, but got none.",
        *(f"  {one.path}: SAMPLE DATA, not the benchmark" for one in (run, other)),
    ]


def test_runs_are_of_one_model_and_hold_a_task_once(make_run: MakeRun) -> None:
    run, other = make_run(), make_run("other", OTHER)
    with pytest.raises(InputError, match=r"Expected runs of one model.*replay other, replay weak"):
        export_hub([run, other])
    with pytest.raises(InputError, match=f"Expected each task in one run, but got {TASK}"):
        export_hub([run, run])
    same = make_run("third", OTHER, change=lambda scores: scores.model_copy(update={"model": "replay weak"}))
    entries = yaml.safe_load(export_hub([run, same])[0][ENTRIES])
    assert [entry["dataset"]["task_id"] for entry in entries] == [TASK, OTHER]
    assert "revision" not in entries[1]["dataset"]


def test_an_older_huggingface_hub_is_named(make_run: MakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "EvalResultEntry", None)
    with pytest.raises(InputError, match=r"needs huggingface_hub 1\.4 or newer"):
        export_hub([make_run()])


def test_the_command_writes_them_and_says_what_is_left_out(make_run: MakeRun, tmp_path: Path) -> None:
    make_run(change=change_part(view="one_frame"))
    out = tmp_path / "repository"
    made = CliRunner().invoke(app, ["export", "hub", str(tmp_path / "weak"), "--out", str(out)])
    assert made.exit_code == 0, made.output
    assert made.output.splitlines() == [
        f"Written: {out / SECTION}",
        f"No entry on the hub: {TASK}: the view one_frame of its items.",
    ]
    failed = CliRunner().invoke(app, ["export", "hub", str(tmp_path / "none"), "--out", str(out)])
    assert failed.exit_code == 1 and "holds no run" in failed.output
