"""Run folders spoilt value by value: every command that reads them refuses in words, or takes what is there.

Of each form of logs some mutations are drawn, the same each time; `HYPOTHESIS_PROFILE=explore` makes all of them.
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
from sample_runs import TASKS, at, prepared_sample, sometimes, write_sample_run

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.runs.saved_answers import read_responses
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.scoring import bootstrap

pytestmark = pytest.mark.slow
DRAWN = 10**9 if os.environ.get("HYPOTHESIS_PROFILE") == "explore" else 2
FORMS = {(task.benchmark.name, task.kind.log_form): name for name, task in reversed([*registry().tasks.items()])}
"""One task of each form of logs."""
WRONG = (
    "null", "true", "-1", "0", "7.5", "1e308", "NaN", "-Infinity", "9" * 400, '""', '"x"', '"\\ud800"', '"\\u001b[2J"',
    "[]", '["x"]', "[null]", "{}", '{"x": 1}', '{"x": {"y": []}}', "[" * 400 + "]" * 400,
)  # fmt: skip
"""JSON texts, most of which fit most fields badly."""


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Every benchmark prepared; intervals from few draws, whose width nobody looks at."""
    with at(prepared_sample(tmp_path_factory)), pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_EVAL_TASKS_JUDGE", "none")
        for name in ("intervals", "macro_interval"):
            patch.setattr(bootstrap, name, partial(getattr(bootstrap, name), draws=50))
        yield


def mutations(value: Any) -> Iterator[str]:
    """A JSON text of a value with each of its parts deleted or wrong."""
    if not isinstance(value, dict | list):
        return
    for key, part in list(value.items() if isinstance(value, dict) else enumerate(value)):
        spoilt = value.copy()
        spoilt[key] = "\0"
        before, _, after = json.dumps(spoilt).partition('"\\u0000"')
        yield from (before + wrong + after for wrong in (*WRONG, *mutations(part)))
        if isinstance(value, dict):
            del spoilt[key]
            yield json.dumps(spoilt)


def read(run: Path, task: str, other: Path) -> None:
    """Everything that reads a run's folder; what fails has to say why."""
    submit = ("submit", registry().tasks[task].benchmark.name, run, "--out", other / "file", "--allow-unofficial")
    for words in (("report", run, "--html", other / "page.html"), ("compare", run, other), submit):
        done = call(*words)
        assert done.status == 0 or (done.status == 1 and done.err.strip())
    try:
        read_responses(run)
    except (InputError, OSError) as error:
        assert str(error)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("task", FORMS.values())
def test_what_is_spoilt_is_said_in_words(task: str, tmp_path: Path) -> None:
    answer = sometimes(0, 0.7) if task in TASKS else lambda task, doc: "Yes, (A)."
    run = write_sample_run(tmp_path / "run", [task], answer)
    good = shutil.copytree(run, tmp_path / "good")
    assert read_run(run).records[task]
    for file in run.glob("*.json*"):
        text = file.read_text(encoding="utf-8")
        # Of a log the first line is changed.
        first, rest = (text.split("\n", 1)) if file.suffix == ".jsonl" else (text, "")
        found = [changed + "\n" + rest for changed in (*WRONG, *mutations(json.loads(first)))]
        for changed in random.Random(task).sample(found, min(DRAWN, len(found))):
            file.write_text(changed, encoding="utf-8")
            read(run, task, good)
        file.write_text(text, encoding="utf-8")
