"""What cannot be scored again is refused, with every reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from logged_runs import TASK, weak, write_run
from releases import Question, write_causalvqa
from typer.testing import CliRunner

from lmms_eval_tasks.causalvqa.benchmark import prepare
from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.finished.rescore import claimed
from lmms_eval_tasks.registry import find_benchmark
from lmms_eval_tasks.runs.folder import MAKE_AGAIN
from lmms_eval_tasks.utils.benchmark.tasks import task_configs
from lmms_eval_tasks.utils.core.errors import InputError

RESULTS = "20261121_results.json"
LOG = f"20261121_samples_{TASK}.jsonl"


def call(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["rescore", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_no_run(tmp_path: Path) -> None:
    assert call(tmp_path) == (
        1,
        "",
        f"{tmp_path} holds no run: Expected a file *_results.json, as lmms-eval writes it to --output_path.\n",
    )


def test_no_samples(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", weak())
    (run / LOG).unlink()
    assert call(run) == (
        1,
        "",
        f"{run / RESULTS} cannot be read: 1 problem.\n"
        f"  {LOG}: Expected the sample log of {TASK}, but there is none. Remedy: Run with --log_samples.\n",
    )


def test_broken_lines(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", weak(2))
    first, second, *rest = (run / LOG).read_text(encoding="utf-8").split("\n")
    (run / LOG).write_text("\n".join([first, second[:-3], *rest, "[1]"]), encoding="utf-8")
    assert call(run) == (
        1,
        "",
        f"{run / RESULTS} cannot be read: 2 problems.\n"
        f"  {LOG}, lines: Expected logged items of one of our tasks, but got no JSON from character 258 on (line 2). "
        f"Remedy: {MAKE_AGAIN}\n"
        f"  {LOG}, rows: Expected an object, but got a list (line 5). Remedy: {MAKE_AGAIN}\n",
    )


def test_lines_without_responses(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", weak(2))
    lines = [json.loads(line) for line in (run / LOG).read_text(encoding="utf-8").split("\n")]
    said = ["A", ["A"], [], ["A", None]]
    text = "\n".join(json.dumps({**line, "filtered_resps": one}) for line, one in zip(lines, said, strict=True))
    lines[0]["record"]["item_id"] = "more"
    (run / LOG).write_text(text + "\n" + json.dumps(lines[0]), encoding="utf-8")
    assert call(run) == (
        1,
        "",
        f"{run / RESULTS} cannot be scored again: 3 problems.\n"
        f"  {LOG}, line 3: Expected filtered_resps with what the model said.\n"
        f"  {LOG}, line 4: Expected filtered_resps with what the model said.\n"
        f"  {LOG}, line 5: Expected filtered_resps with what the model said.\n",
    )


def test_a_function_that_is_named_as_only_lmms_eval_finds_it(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(write_causalvqa(tmp_path, "debug", [Question("1", "descriptive", "easy", (1, 2))]))
    run = write_run(tmp_path / "run", weak(2))
    lines = [json.loads(line) for line in (run / LOG).read_text(encoding="utf-8").split("\n")]
    text = "\n".join(json.dumps({**line, "filtered_resps": "A"}) for line in lines)
    (run / LOG).write_text(text, encoding="utf-8")
    folder = find_benchmark("causalvqa").folder
    config = {**task_configs(folder)[TASK], "process_results": "hooks_beside_it.process_results"}
    monkeypatch.setattr("lmms_eval_tasks.finished.rescore.task_configs", lambda _: {TASK: config})
    assert call(run) == (
        1,
        "",
        f"{folder / TASK}.yaml names a function that cannot be loaded: No module named 'hooks_beside_it'.\n",
    )


def test_results_that_lack_a_task(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", weak(2))
    results = json.loads((run / RESULTS).read_text(encoding="utf-8"))
    (run / RESULTS).write_text(json.dumps({**results, "results": {}}), encoding="utf-8")
    assert call(run) == (1, "", f"{run / RESULTS} cannot be scored again: Expected results of {TASK}.\n")


@pytest.mark.parametrize("version", ["99-A", "1", "1.0", "None", "A-1"])
def test_a_version_that_is_not_known_here(version: str, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", weak(2), tasks=(TASK, "theirs"), version=version)
    assert call(run) == (
        1,
        "",
        f"{run / RESULTS} cannot be scored again: 1 problem.\n"
        f"  {TASK}: Expected a version up to 2-B, but got {version}. "
        "Remedy: Rescore with the lmms-eval-tasks that made the run, or a later one.\n",
    )


def test_only_tasks_of_others(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", weak(2), tasks=("one", "two"))
    assert call(run) == (
        1,
        "",
        f"{run / RESULTS} cannot be scored again: 1 problem.\n"
        f"  {RESULTS}: Expected a task of this package, but got one, two.\n",
    )


def test_a_folder_that_holds_something_is_not_written_to(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", weak(2))
    leaderboard = tmp_path / "other"
    (leaderboard / "submissions").mkdir(parents=True)
    for folder in (run, tmp_path, leaderboard):
        with pytest.raises(InputError) as error, claimed(folder, run):
            pytest.fail("claimed")
        assert str(error.value) == f"{folder} holds a run already: Expected a new folder. Nothing was written."
        assert call(run, "--out", folder)[::2] == (1, f"{error.value}\n")
    with claimed(tmp_path / "new", run):
        pass
    assert list((tmp_path / "new").iterdir()) == []


def test_a_folder_whose_rescore_was_killed_is_written_over_by_the_same_run_alone(tmp_path: Path) -> None:
    run, other, out = tmp_path / "run", tmp_path / "other", tmp_path / "out"
    with pytest.raises(KeyboardInterrupt), claimed(out, run):
        (out / "submissions").mkdir()
        raise KeyboardInterrupt
    with pytest.raises(InputError, match="out holds a run already"), claimed(out, other):
        pytest.fail("claimed")
    with pytest.raises(OSError), claimed(out, run):
        raise OSError("the disk is full")
    with claimed(out, run):
        (out / RESULTS).write_text("{}")
    with pytest.raises(InputError, match="out holds a run already"), claimed(out, run):
        pytest.fail("claimed")


@pytest.mark.parametrize("exists", [False, True])
def test_a_rescore_that_is_refused_leaves_nothing(exists: bool, tmp_path: Path) -> None:
    out = tmp_path / "out"
    if exists:
        out.mkdir()
    assert call(tmp_path, "--out", out)[0] == 1
    assert list(tmp_path.rglob("*")) == ([out] if exists else [])
