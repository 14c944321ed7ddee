"""What cannot be scored again is refused, with every reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import call, refusal
from expected import Expected
from logged_runs import TASK, weak, write_run
from releases import question_row, write_causalvqa

from lmms_eval_tasks.causalvqa.benchmark import prepare
from lmms_eval_tasks.finished.rescore import _is_alike, _open_task, claimed
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.prompting import read_prompt
from lmms_eval_tasks.registry import find_benchmark, registry
from lmms_eval_tasks.runs.folder import LoggedItem
from lmms_eval_tasks.utils.benchmark.tasks import task_configs
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.prepare import Preparation
from lmms_eval_tasks.utils.scoring.record import Outcome, Record

RESULTS = "20261121_results.json"
LOG = f"20261121_samples_{TASK}.jsonl"


def logged(folder: Path, change: Callable[[list[dict[str, Any]]], list[Any]], **options: Any) -> Path:
    """A run of four items whose log is changed; a text is a line as it is."""
    run = write_run(folder, weak(2), **options)
    lines = change([json.loads(line) for line in (run / LOG).read_text(encoding="utf-8").split("\n")])
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    (run / LOG).write_text(text, encoding="utf-8")
    return run


@pytest.mark.slow
def test_what_cannot_be_scored_again(tmp_path: Path, expected: Expected) -> None:
    def tear(lines: list[Any]) -> list[Any]:
        return [lines[0], json.dumps(lines[1])[:-3], *lines[2:], "[1]"]

    def mute(lines: list[Any]) -> list[Any]:
        said = [{**line, "filtered_resps": one} for line, one in zip(lines, ["A", ["A"], [], ["A", None]], strict=True)]
        return [*said, {**lines[0], "record": {**lines[0]["record"], "item_id": "more"}}]

    unlogged, lacking = (write_run(tmp_path / name, weak(2)) for name in ("unlogged", "lacking"))
    (unlogged / LOG).unlink()
    results = json.loads((lacking / RESULTS).read_text(encoding="utf-8"))
    (lacking / RESULTS).write_text(json.dumps({**results, "results": {}}), encoding="utf-8")
    (tmp_path / "empty").mkdir()
    runs = [tmp_path / "empty", unlogged, logged(tmp_path / "torn", tear), logged(tmp_path / "mute", mute), lacking]
    runs += [
        write_run(tmp_path / f"of {version}", weak(2), tasks=(TASK, "theirs"), version=version)
        for version in ("99-A", "1", "1.0", "None", "A-1")
    ]
    runs.append(write_run(tmp_path / "theirs", weak(2), tasks=("one", "two")))
    expected("\n".join(refusal("rescore", run) for run in runs))


def test_a_function_that_is_named_as_only_lmms_eval_finds_it(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(Preparation(), write_causalvqa(tmp_path, "debug", [question_row("1", "descriptive", "easy", (1, 2))]))
    run = logged(tmp_path / "run", lambda lines: [{**line, "filtered_resps": "A"} for line in lines])
    folder = find_benchmark("causalvqa").folder
    config = {**task_configs(folder)[TASK], "process_results": "hooks_beside_it.process_results"}
    monkeypatch.setattr("lmms_eval_tasks.finished.rescore.task_configs", lambda _: {TASK: config})
    assert refusal("rescore", run) == (
        f"{folder / TASK}.yaml names a function that cannot be loaded: No module named 'hooks_beside_it'.\n"
    )


def test_a_task_is_read_with_the_prompt_that_its_log_names(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(Preparation(), write_causalvqa(tmp_path, "debug", [question_row("1", "descriptive", "easy", (1, 2))]))
    # Which prompt was asked is past: a choice of today does not change it.
    monkeypatch.setenv("LMMS_EVAL_TASKS_PROMPT", "mcq_letter")
    today, other = (read_prompt(name).signature for name in ("mcq_letter", "mcq_options"))
    for named, settings in ((None, today), (today, today), (other, other), ("mcq_options:0", other)):
        item = LoggedItem("", Record("1_0", "1", {}, "A", "A", Outcome.CORRECT, fields={"prompt": named}), {})
        notes: list[str] = []
        task, evaluation = registry().tasks[TASK], Evaluation(clips_needed=False)
        state, *_ = _open_task(task, evaluation, "replay", [item], notes)
        assert state.settings.signature == settings
        reworded = f"{TASK} was asked with {named}, and its answers are read as to {settings}"
        assert notes == ([reworded] if named == "mcq_options:0" else [])
    item = replace(item, record=item.record.with_fields(prompt="gone:0"))
    with pytest.raises(InputError, match="'gone'"):
        _open_task(task, evaluation, "replay", [item], [])
    more = replace(item, record=item.record.with_fields(prompt=other))
    with pytest.raises(InputError, match="Expected one prompt in its log, but got gone:0, mcq_options"):
        _open_task(task, evaluation, "replay", [item, more], [])


def refused_to_claim(folder: Path, run: Path) -> str:
    with pytest.raises(InputError) as error, claimed(folder, run):
        pytest.fail("claimed")
    return str(error.value)


def test_a_folder_is_written_to_that_holds_nothing_or_what_a_killed_rescore_of_the_same_run_left(
    tmp_path: Path,
) -> None:
    run, leaderboard, out = write_run(tmp_path / "run", weak(2)), tmp_path / "other", tmp_path / "out"
    (leaderboard / "submissions").mkdir(parents=True)
    for folder in (run, tmp_path, leaderboard):
        refused = refused_to_claim(folder, run)
        assert refused == f"{folder} holds a run already: Expected a new folder. Nothing was written."
        assert call("rescore", run, "--out", folder)[::2] == (1, f"{refused}\n")
    with pytest.raises(KeyboardInterrupt), claimed(out, run):
        raise KeyboardInterrupt
    assert "out holds a run already" in refused_to_claim(out, tmp_path / "another")
    with pytest.raises(OSError), claimed(out, run):
        (out / "submissions").mkdir()
        raise OSError("the disk is full")
    with claimed(out, run):
        (out / RESULTS).write_text("{}")
    assert {path.name for path in out.iterdir()} == {"submissions", RESULTS}
    assert "out holds a run already" in refused_to_claim(out, run)


@pytest.mark.parametrize("exists", [False, True])
def test_a_rescore_that_is_refused_leaves_nothing(exists: bool, tmp_path: Path) -> None:
    out = tmp_path / "out"
    if exists:
        out.mkdir()
    refusal("rescore", tmp_path, "--out", out)
    assert list(tmp_path.rglob("*")) == ([out] if exists else [])


@pytest.mark.parametrize(
    ("before", "now", "alike"),
    [
        ('{"temperature": 0, "top_p": 1}', '{"temperature": 0}', True),
        ('{"temperature": 0}', '{"temperature": 1}', False),
        ('{"temperature": 0, "top_p": 1}', '{"temperature": 0, "top_p": 2}', False),
        ("xyxy", "xyxy", True),
        ("xyxy", '{"temperature": 0}', False),
        (None, None, True),
    ],
)
def test_settings_are_alike_where_all_that_both_name_is_the_same(before: Any, now: Any, alike: bool) -> None:
    assert _is_alike(before, now) is alike
