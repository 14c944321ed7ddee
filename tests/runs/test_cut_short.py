"""Runs that were cut short, two runs that wrote one log, and several runs in one folder."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
import refusals
from commands import printed, refusal
from expected import Expected
from logged_runs import TASK, weak, write_run
from task_states import task_state

from lmms_eval_tasks.api import hooks
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.runs.run_files import CutShort, ResultsFile
from lmms_eval_tasks.runs.saved_answers import read_responses
from lmms_eval_tasks.utils.core.errors import InputError

LOG, RESULTS = f"20261121_samples_{TASK}.jsonl", "20261121_results.json"
PAIRED, MVP = "causalvqa_paired", "mvp_mini_temporal_reasoning"


def counted(folder: Path, tasks: tuple[str, ...] = (TASK,), **config: object) -> Path:
    """A run of 40 items, whose results file counts them as lmms-eval does."""
    write_run(folder, weak(20), tasks)
    results = json.loads((folder / RESULTS).read_text(encoding="utf-8"))
    results["n-samples"] = {task: {"original": 40, "effective": 40} for task in results["configs"]}
    results["config"].update(config)
    (folder / RESULTS).write_text(json.dumps(results), encoding="utf-8")
    lines = [json.loads(line) for line in (folder / LOG).read_text(encoding="utf-8").split("\n")]
    text = "".join(json.dumps({**line, "filtered_resps": "A — or B"}, ensure_ascii=False) + "\n" for line in lines)
    for log in folder.glob("*_samples_*.jsonl"):
        log.write_text(text, encoding="utf-8")
    return folder


def cut(folder: Path, lines: int, more: int = 0) -> Path:
    """Leave the first lines of the log, and so many bytes of the next."""
    first = (folder / LOG).read_bytes().split(b"\n")
    (folder / LOG).write_bytes(b"\n".join(first[:lines]) + b"\n" + first[lines][:more])
    return folder


def dated(folder: Path, date: str) -> Path:
    """The run's files under another date."""
    for file in folder.iterdir():
        file.rename(file.with_name(file.name.replace("20261121", date)))
    return folder


def refused_by_commands(run: Path) -> set[str]:
    return {refusal("report", run), refusal("compare", run, run), refusal("rescore", run)}


def test_a_log_that_ends_too_early_is_no_run_for_any_command(tmp_path: Path, expected: Expected) -> None:
    run = counted(tmp_path / "run", resolved_cli_args={"log_samples": True})
    whole = (run / LOG).read_bytes()
    shown = set()
    for more in (0, 1, 100, -1, -3):
        (run / LOG).write_bytes(whole)
        with pytest.raises(CutShort) as error:
            read_run(cut(run, 7, more))
        shown.add(f"{error.value}\n")
        part = read_run(run, allow_incomplete=True)
        assert (len(part.records[TASK]), part.incomplete) == (7, f"7 of 40 items of {TASK}")
    (only,) = shown | refused_by_commands(run)
    # A last line that is cut within a character, and a log that was not begun.
    (run / LOG).write_bytes(whole[: whole.rindex("—".encode()) + 1])
    texts = [only, refusals.refusal(read_run, run)]
    (run / LOG).unlink()
    texts.append(refusals.refusal(read_run, run))
    unlogged = counted(tmp_path / "unlogged", resolved_cli_args={"log_samples": False})
    (unlogged / LOG).unlink()
    with pytest.raises(InputError) as unsaved:
        read_run(unlogged)
    assert not isinstance(unsaved.value, CutShort)
    # Two runs that wrote one log.
    (run / LOG).write_bytes(whole * 2)
    twice = [refusals.refusal(read, run) for read in (read_run, partial(read_run, allow_incomplete=True))]
    assert twice[0] == twice[1]
    replayed = refusals.refusal(read_responses, run).splitlines()[:2]
    expected("\n".join([*texts, str(unsaved.value), twice[0], *replayed]))


@pytest.mark.slow
def test_a_log_without_records_is_named_and_one_of_somebody_else_s_task_is_left_out(tmp_path: Path) -> None:
    run = counted(tmp_path / "run", tasks=(TASK, PAIRED, "theirs", MVP))
    content = (run / LOG).read_bytes()
    for task, line in {"theirs": '{"score": 1}', MVP: '{"mvp_score": 1}'}.items():
        (run / f"20261121_samples_{task}.jsonl").write_text(f"{line}\n" * 40, encoding="utf-8")
    assert set(read_run(run).records) == {TASK, PAIRED}
    for spoilt in (content.replace(b'"record"', b'"recrod"'), bytes(len(content)), b"[]\n" * 5):
        (run / LOG).write_bytes(spoilt)
        said = refused_by_commands(run)
        assert all(LOG in err and "same command with the same output path" in err for err in said)
    (run / LOG).write_bytes(content)
    # A user's variant of ours, which names our hook, and our own task in the place of lmms-eval's.
    results = json.loads((run / RESULTS).read_text(encoding="utf-8"))
    hook = str(partial(hooks.process_results, task_state(TASK)))
    for task in ("theirs", MVP):
        changed = {**results, "configs": {**results["configs"], task: {"process_results": hook}}}
        (run / RESULTS).write_text(json.dumps(changed), encoding="utf-8")
        with pytest.raises(InputError, match=f"samples_{task}.jsonl, record: Expected this field, but it is missing"):
            read_run(run)


@pytest.mark.slow
def test_a_part_is_read_only_when_asked_for_and_says_so(tmp_path: Path, expected: Expected) -> None:
    run, other = (cut(counted(tmp_path / name), 8, 30) for name in ("run", "other"))
    page = tmp_path / "page.html"
    shown = printed("report", run, "--allow-incomplete", "--html", page)
    assert f"INCOMPLETE: the run was cut short, 8 of 40 items of {TASK}." in " ".join(shown.split())
    assert f"was cut short: 8 of 40 items of {TASK}." in page.read_text(encoding="utf-8")
    shown = " ".join(printed("compare", run, other, "--allow-incomplete").split())
    assert "INCOMPLETE" in shown and "in 4 groups" in shown
    # It is replayed only then too, or where a whole run lies beside it.
    expected("\n".join(refusals.refusal(read_responses, source) for source in (run, run / LOG)))
    assert len(read_responses(run, allow_incomplete=True).by_item) == 8
    for file in dated(counted(tmp_path / "earlier"), "20261120").iterdir():
        file.rename(run / file.name)
    assert len(read_responses(run).by_item) == 40
    # No published score stands beside a part.
    run = counted(tmp_path / "published", (TASK, PAIRED))
    assert "best published" in printed("report", run)
    log = run / f"20261121_samples_{PAIRED}.jsonl"
    log.write_text("".join(log.read_text(encoding="utf-8").splitlines(keepends=True)[:39]), encoding="utf-8")
    assert "best published" not in printed("report", run, "--allow-incomplete")


@pytest.mark.parametrize("late", ["log", "results"])
def test_a_half_finished_run_does_not_hide_a_finished_one(late: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    dated(counted(folder / "early"), "20261120")
    half = cut(counted(folder / "late"), 7, 30)
    if late == "results":
        (half / RESULTS).write_text((half / RESULTS).read_text(encoding="utf-8")[:100], encoding="utf-8")
    note = f"{half / RESULTS} is of a run that was cut short, and is left out"
    for allow_incomplete in (False, True):
        run = read_run(folder, allow_incomplete)
        assert run.path == folder / "early" / "20261120_results.json" and len(run.records[TASK]) == 40
        assert run.notes == (note,)
    assert f"note: {note}." in " ".join(printed("report", folder).split())


def test_of_two_runs_the_latest_is_read_and_that_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    early, late = dated(write_run(folder / "early", weak(4)), "20261120"), write_run(folder / "late", weak(4))
    run = read_run(folder)
    note = (
        f"{folder} holds 2 runs: early/20261120_results.json (replay early), late/{RESULTS} (replay late); this is "
        f"the latest, {late / RESULTS}. Name a folder or file to read another"
    )
    assert (run.path, run.notes) == (late / RESULTS, (note,))
    for command in (("report", folder), ("compare", folder, early)):
        assert f"note: {note}." in " ".join(printed(*command).split())
    assert read_run(early).notes == read_run(early / "20261120_results.json").notes == ()


def test_how_many_items_lmms_eval_ran() -> None:
    for original, effective, offset, items in (
        (40, 40, 0, 40), (40, 8, 0, 8), (40, 40, 35, 5), (40, 3, 35, 3), (40, 8, 35, 5), (40, 40, 50, 0),
        (40, 40, None, 40),
    ):  # fmt: skip
        counts = {"t": {"original": original, "effective": effective}}
        fields = {"configs": {}, "group_subtasks": {}, "n-samples": counts, "config": {"offset": offset}}
        results = ResultsFile.model_validate(fields)
        assert results.expected_items("t") == items and results.expected_items("other") is None
