"""Runs that were cut short, two runs that wrote one log, and several runs in one folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from logged_runs import TASK, strong, weak, write_run
from task_states import task_state
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.mvp import hooks
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.runs.run_files import CutShort, ResultsFile
from lmms_eval_tasks.runs.saved_answers import read_responses
from lmms_eval_tasks.utils.core.errors import InputError

LOG = f"20261121_samples_{TASK}.jsonl"
RESULTS = "20261121_results.json"


def counted(folder: Path, items: int = 40, tasks: tuple[str, ...] = (TASK,), **config: object) -> Path:
    """A run of 40 items, whose results file counts them as lmms-eval does."""
    write_run(folder, weak(20), tasks)
    results = json.loads((folder / RESULTS).read_text(encoding="utf-8"))
    results["n-samples"] = {task: {"original": items, "effective": items} for task in results["configs"]}
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


def call(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, " ".join(result.stdout.split()), result.stderr


@pytest.mark.parametrize("more", [0, 1, 100, -1, -3])
def test_a_log_that_ends_too_early_is_no_run(more: int, tmp_path: Path) -> None:
    run = cut(counted(tmp_path / "run"), 7, more)
    assert len((run / LOG).read_bytes().split(b"\n")) == 8
    with pytest.raises(CutShort) as error:
        read_run(run)
    assert str(error.value) == (
        f"{run / RESULTS} is of a run that was cut short while its sample logs were written: 1 problem.\n"
        f"  {LOG}: Expected 40 items, as the results file counts, but got 7.\n"
        "  The same command with the same output path goes on where the run was. --allow-incomplete reads the part "
        "that is there."
    )
    part = read_run(run, allow_incomplete=True)
    assert len(part.records[TASK]) == 7
    assert part.incomplete == f"7 of 40 items of {TASK}"


def test_a_last_line_cut_within_a_character(tmp_path: Path) -> None:
    run = counted(tmp_path / "run")
    content = (run / LOG).read_bytes()
    (run / LOG).write_bytes(content[: content.rindex("—".encode()) + 1])
    with pytest.raises(CutShort, match="Expected 40 items, as the results file counts, but got 39"):
        read_run(run)


def renamed(log: bytes) -> bytes:
    return log.replace(b'"record"', b'"recrod"')


def zeros(log: bytes) -> bytes:
    return bytes(len(log))


def empty_lists(log: bytes) -> bytes:
    return b"[]\n" * 5


@pytest.mark.parametrize("spoil", [renamed, zeros, empty_lists])
@pytest.mark.parametrize("command", ["report", "compare", "rescore"])
def test_a_log_without_records_is_named(command: str, spoil: Callable[[bytes], bytes], tmp_path: Path) -> None:
    run = counted(tmp_path / "run", tasks=(TASK, "causalvqa_paired"))
    content = (run / LOG).read_bytes()
    (run / LOG).write_bytes(spoil(content))
    status, out, err = call(command, run, *([run] if command == "compare" else []))
    assert (status, out) == (1, "") and LOG in err and "same command with the same output path" in err
    (run / LOG).write_bytes(content)
    assert set(read_run(run).records) == {TASK, "causalvqa_paired"}


def test_a_log_of_somebody_elses_task_is_left_out(tmp_path: Path) -> None:
    run = counted(tmp_path / "run", tasks=(TASK, "theirs", "mvp_mini_temporal_reasoning"))
    for task, line in {"theirs": '{"score": 1}', "mvp_mini_temporal_reasoning": '{"mvp_score": 1}'}.items():
        (run / f"20261121_samples_{task}.jsonl").write_text(f"{line}\n" * 40, encoding="utf-8")
    assert set(read_run(run).records) == {TASK}
    # A user's variant of ours, which names our hook, and our own task in the place of lmms-eval's.
    results = json.loads((run / RESULTS).read_text(encoding="utf-8"))
    now, before = partial(hooks.process_results, task_state(TASK)), "<bound method TaskState.process_results of a task>"
    for task, hook in (("theirs", str(now)), ("mvp_mini_temporal_reasoning", before)):
        changed = {**results, "configs": {**results["configs"], task: {"process_results": hook}}}
        (run / RESULTS).write_text(json.dumps(changed), encoding="utf-8")
        with pytest.raises(InputError, match=f"samples_{task}.jsonl, record: Expected this field, but it is missing"):
            read_run(run)


@pytest.mark.parametrize("command", ["report", "compare", "rescore"])
def test_no_command_gives_a_score_of_a_part(command: str, tmp_path: Path) -> None:
    run = cut(counted(tmp_path / "run"), 7, 5)
    whole = write_run(tmp_path / "whole", weak(20))
    status, out, err = call(command, run, *([whole] if command == "compare" else []))
    assert (status, out) == (1, "") and "was cut short" in err


def test_a_part_is_reported_only_when_asked_for_and_says_so(tmp_path: Path) -> None:
    run = cut(counted(tmp_path / "run"), 8)
    page = tmp_path / "page.html"
    status, out, _ = call("report", run, "--allow-incomplete", "--html", page)
    assert status == 0 and f"INCOMPLETE: the run was cut short, 8 of 40 items of {TASK}." in out
    assert f"was cut short: 8 of 40 items of {TASK}." in page.read_text(encoding="utf-8")
    other = cut(counted(tmp_path / "other"), 8)
    status, out, _ = call("compare", run, other, "--allow-incomplete")
    assert status == 0 and "INCOMPLETE" in out and "in 4 groups" in out


def test_no_published_score_stands_beside_a_part(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", weak(20), ("causalvqa_paired",))
    results = json.loads((run / RESULTS).read_text(encoding="utf-8"))
    for items, shown in ((40, True), (41, False)):
        results["n-samples"] = {"causalvqa_paired": {"original": items, "effective": items}}
        (run / RESULTS).write_text(json.dumps(results), encoding="utf-8")
        status, out, _ = call("report", run, "--allow-incomplete")
        assert status == 0 and ("best published" in out) is shown


def test_a_log_that_was_not_begun(tmp_path: Path) -> None:
    run = counted(tmp_path / "run", resolved_cli_args={"log_samples": True})
    (run / LOG).unlink()
    with pytest.raises(CutShort, match="but got 0"):
        read_run(run)
    unlogged = counted(tmp_path / "unlogged", resolved_cli_args={"log_samples": False})
    (unlogged / LOG).unlink()
    with pytest.raises(InputError, match=r"Expected the sample log of .* Remedy: Run with --log_samples") as error:
        read_run(unlogged)
    assert not isinstance(error.value, CutShort)


@pytest.mark.parametrize("late", ["log", "results"])
def test_a_half_finished_run_does_not_hide_a_finished_one(late: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    dated(counted(folder / "early"), "20261120")
    half = cut(counted(folder / "late"), 7, 30)
    if late == "results":
        (half / RESULTS).write_text((half / RESULTS).read_text(encoding="utf-8")[:100], encoding="utf-8")
    for allow_incomplete in (False, True):
        run = read_run(folder, allow_incomplete)
        assert run.path == folder / "early" / "20261120_results.json" and len(run.records[TASK]) == 40
        assert run.notes == (f"{half / RESULTS} is of a run that was cut short, and is left out",)
    status, out, _ = call("report", folder)
    assert status == 0 and f"note: {half / RESULTS} is of a run that was cut short, and is left out." in out


def test_of_two_runs_the_latest_is_read_and_that_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    early = dated(write_run(folder / "early", weak(20)), "20261120")
    late = write_run(folder / "late", strong(20))
    run = read_run(folder)
    assert run.path == late / RESULTS
    note = (
        f"{folder} holds 2 runs: early/20261120_results.json (replay early), late/{RESULTS} (replay late); this is "
        f"the latest, {late / RESULTS}. Name a folder or file to read another"
    )
    assert run.notes == (note,)
    for command in (("report", folder), ("compare", folder, early)):
        status, out, _ = call(*command)
        assert status == 0 and f"note: {note}." in out
    dated(write_run(folder / "third", strong(20)), "20261119")
    assert "holds 3 runs: third/20261119_results.json (" in read_run(folder).notes[0]
    assert read_run(early).notes == read_run(early / "20261120_results.json").notes == ()


def test_two_runs_that_wrote_one_log_are_refused(tmp_path: Path) -> None:
    run = counted(tmp_path / "run")
    content = (run / LOG).read_bytes()
    (run / LOG).write_bytes(content * 2)
    for allow_incomplete in (False, True):
        with pytest.raises(InputError) as error:
            read_run(run, allow_incomplete)
        assert str(error.value) == (
            f"{run / RESULTS} cannot be read: 2 problems.\n"
            f"  {LOG}, items: Expected each once, but got again `0_0`, `0_1`, `1_0`, `1_1`, `2_0`, … and 35 more. "
            "Remedy: Two runs that started in the same second wrote this log: run each again.\n"
            f"  {LOG}: Expected 40 items, as the results file counts, but got 80."
        )
    with pytest.raises(InputError, match="Expected one response per item, but 0_0 is also at"):
        read_responses(run)


def test_a_part_is_replayed_only_when_asked_for(tmp_path: Path) -> None:
    run = cut(counted(tmp_path / "run"), 7, 30)
    with pytest.raises(InputError) as error:
        read_responses(run)
    assert str(error.value) == (
        f"{run} cannot be replayed: 1 problem.\n"
        f"  {LOG}: Expected 40 items, as the results file counts, but got 7: the run was cut short. Remedy: "
        "missing=unparsed replays the part that is there."
    )
    assert len(read_responses(run, allow_incomplete=True).by_item) == 7
    with pytest.raises(InputError, match="was cut short"):
        read_responses(run / LOG)
    earlier = dated(counted(tmp_path / "earlier"), "20261120")
    for file in earlier.iterdir():
        file.rename(run / file.name)
    assert len(read_responses(run).by_item) == 40


@pytest.mark.parametrize(
    ("original", "effective", "offset", "expected"),
    [
        (40, 40, 0, 40),
        (40, 8, 0, 8),
        (40, 40, 35, 5),
        (40, 3, 35, 3),
        (40, 8, 35, 5),
        (40, 40, 50, 0),
        (40, 40, None, 40),
    ],
)  # fmt: skip
def test_how_many_items_lmms_eval_ran(original: int, effective: int, offset: int | None, expected: int) -> None:
    results = ResultsFile.model_validate(
        {
            "configs": {},
            "group_subtasks": {},
            "n-samples": {"t": {"original": original, "effective": effective}},
            "config": {"offset": offset},
        }
    )
    assert results.expected_items("t") == expected
    assert results.expected_items("other") is None
