"""Run folders spoilt value by value: every command that reads them refuses in words, or takes what is there.

Of each task that has logs of its own form some mutations are drawn, the same each time; `HYPOTHESIS_PROFILE=explore`
makes all of them, some 20,000.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from commands import call
from sample_runs import TASKS as ANSWERED
from sample_runs import at, prepared_sample, sometimes, write_sample_run

from lmms_eval_tasks.finished.rescore import rescore
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.runs.saved_answers import read_responses
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.scoring import bootstrap

pytestmark = pytest.mark.slow
DRAWN = 10**9 if os.environ.get("HYPOTHESIS_PROFILE") == "explore" else 4
FORMS = {(task.benchmark.name, task.kind.log_form): name for name, task in reversed(registry().tasks.items())}
"""One task of each form of logs."""
WRONG = (
    "null", "true", "-1", "0", "7.5", "1e308", "NaN", "-Infinity", "9" * 400, '""', '"x"', '"\\ud800"', '"\\u001b[2J"',
    "[]", '["x"]', "[null]", "{}", '{"x": 1}', '{"x": {"y": []}}', "[" * 400 + "]" * 400,
)  # fmt: skip
"""JSON texts, most of which fit most fields badly."""
CONTENTS = (b"\xff", "\ufeff".encode(), b"\0", b"\n", b"[" * 100_000, b"{}", b"[]", b"7", b'{"record": {}}', b"")
CARD = {
    "model": {"name": "m", "checkpoint": None}, "frames": {"frames": 16}, "run": {"limit": "none"},
    "not known": {"model.checkpoint": "it has none"},
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Every benchmark prepared; intervals from few draws, whose width nobody looks at."""
    with at(prepared_sample(tmp_path_factory)), pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_EVAL_TASKS_JUDGE", "none")
        for name in ("intervals", "macro_interval"):
            patch.setattr(bootstrap, name, partial(getattr(bootstrap, name), draws=50))
        yield


def spoilt(value: Any) -> Iterator[str]:
    """A JSON text of a value with each of its parts deleted or wrong."""
    for key, part in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield json.dumps({**value, key: "\0"} if isinstance(value, dict) else [*value[:key], "\0", *value[key + 1 :]])
        if isinstance(value, dict):
            yield json.dumps({name: one for name, one in value.items() if name != key})
        if isinstance(part, dict | list):
            for text in spoilt(part):
                changed = {**value, key: "\1"} if isinstance(value, dict) else [*value[:key], "\1", *value[key + 1 :]]
                yield json.dumps(changed).replace('"\\u0001"', text, 1)


def mutations(run: Path) -> list[tuple[Path, bytes]]:
    """Other contents of each file of a run; of its log the first line is changed."""
    found = []
    for file in sorted(run.glob("*.json*")):
        content = file.read_bytes()
        first, rest = content.partition(b"\n")[::2] if file.suffix == ".jsonl" else (content, b"")
        for text in spoilt(json.loads(first)):
            for wrong in WRONG if '"\\u0000"' in text else ("",):
                changed = text.replace('"\\u0000"', wrong).encode()
                found.append((file, changed + b"\n" + rest if rest else changed))
        found += [(file, content[: int(len(content) * share)]) for share in (0.3, 0.999)]
        found += [(file, before + more) for more in CONTENTS for before in (b"", content)]
    return found


def read(run: Path, task: str, other: Path) -> None:
    """Everything that reads a run's folder; what fails has to say why, and no exception is one."""
    folder, benchmark = other.parent, registry().tasks[task].benchmark.name
    submit = ("submit", benchmark, run, "--out", folder / "file", "--allow-incomplete", "--allow-unofficial")
    rank = [("yocausal", "rank", run)] if task == "yocausal" else []
    for words in (
        ("report", run, "--html", folder / "page.html"), ("report", run, "--by", "subset,category", "--card"),
        ("compare", run, other), submit, *rank,
    ):  # fmt: skip
        done = call(*words)
        assert done.status == 0 or (done.status == 1 and done.err.strip())
    try:
        read_responses(run)
    except (InputError, OSError) as error:
        assert str(error)


def written(folder: Path, task: str) -> tuple[Path, Path]:
    """A run, and a copy of it."""
    answer = sometimes(0, 0.7) if task in ANSWERED else lambda task, doc: "Yes, (A)."
    run = write_sample_run(folder / "run", [task], answer)
    (run / "20261121_run_card.json").write_text(json.dumps({**CARD, f"task {task}": {"version": "1-A", "prompt": "p"}}))
    assert read_run(run).records[task]
    return run, shutil.copytree(run, folder / "good" / "run")


@pytest.mark.parametrize("task", FORMS.values())
def test_what_is_spoilt_is_said_in_words(task: str, tmp_path: Path) -> None:
    run, good = written(tmp_path, task)
    found = mutations(run)
    for file, content in random.Random(task).sample(found, min(DRAWN, len(found))):
        before = file.read_bytes()
        file.write_bytes(content)
        read(run, task, good)
        file.write_bytes(before)


@pytest.mark.host
def test_what_is_spoilt_is_not_scored_again(tmp_path: Path) -> None:
    run, _ = written(tmp_path, "cast_bench")
    for file, content in random.Random(0).sample(mutations(run), 5):
        before = file.read_bytes()
        file.write_bytes(content)
        try:
            rescore(run, tmp_path / "scored")
        except InputError as error:
            assert str(error)
        file.write_bytes(before)
