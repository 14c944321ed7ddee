"""Error analysis of a finished run by a judge on loopback: shares, failures, and that no reply is paid twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from countervqa_rows import row
from judge_server import Fail, JudgeServer, Say
from logged_runs import write_run
from task_states import task_state
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.countervqa import report
from lmms_eval_tasks.countervqa.errors import KINDS, analysis_path, published_shares, read_analysis
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.reporting.columns import RunRecords

ANSWERS = ("No, it needs it.", "Yes.", "I cannot tell.", "Yes, as he sneezes.")
KIND_OF = dict(zip(ANSWERS, ("other", "direct_inference", "cannot_infer", "non_existent_action"), strict=True))
TASK = "countervqa"


@pytest.fixture
def run(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of four answers and an item without a clip."""
    rows = [row(number, "no") for number in range(len(ANSWERS))] + [row(9, "no", asked=False)]
    monkeypatch.setattr("lmms_eval_tasks.countervqa.errors.load_table", lambda *of, **how: rows)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    state = task_state(TASK)
    state.data_set = DataSet(kind=SetKind.OWN)
    lines = [
        {**state.process_results(one, [said]), "filtered_resps": said, "doc_id": place}
        for place, (one, said) in enumerate(zip(rows, (*ANSWERS, ""), strict=True))
    ]
    folder = write_run(tmp_path / "run", {}, (TASK,))
    (log,) = folder.rglob(f"*_samples_{TASK}.jsonl")
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return folder


def call(run: Path, server: JudgeServer, **more: Any) -> str:
    judge = f"model=m,url={server.url},first_delay=0,requests=2,unreadable=1"
    result = CliRunner().invoke(app, ["countervqa", "errors", str(run), "--judge", judge])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stdout + result.stderr


def script(prompt: str, before: int) -> Say | Fail:
    material = json.loads(prompt[prompt.index("{\n") : prompt.index("\n}\n") + 2])
    assert material["actions"] == ["00:05 hits {it}"]
    if material["answer"] == ANSWERS[3] and before == 0:
        return Say("I would rather not.")
    return Say(json.dumps({"kind": KIND_OF[material["answer"]], "readability": 3.5}))


def test_every_scored_answer_is_looked_at_once_and_failures_say_why(run: Path) -> None:
    with JudgeServer(script) as server:
        text = call(run, server)
        assert len(server.bodies) == 4
        assert "readability of the reasoning: 3.50 of 5 (3 answers)" in text and "not judged: 1" in text
        results = read_run(run).path
        items = read_analysis(results, TASK)
        assert [item.kind for item in items] == ["other", "direct_inference", "cannot_infer", None]
        assert items[3].reason is not None and items[3].reason.startswith("unreadable reply")
        # What was answered is not asked again.
        text = call(run, server)
        assert len(server.bodies) == 5 and "not judged" not in text
    items = read_analysis(results, TASK)
    assert [item.kind for item in items] == [KIND_OF[answer] for answer in ANSWERS]
    lines = [" ".join(line.split()) for line in text.splitlines()]
    # The paper's shares are of a set that is not released, so they stand beside no other.
    assert "direct inference 1 25.0 1 33.3" in lines and "other 1 25.0 0 0.0" in lines, text
    assert "paper" not in text


def test_the_report_shows_an_analysis_and_nothing_without_one(run: Path) -> None:
    finished = read_run(run)
    shown = RunRecords("1", "model", [finished.records[TASK]], results=finished.path)
    assert "How answers were reached" not in [panel.title for panel in report.panels(TASK, [shown])]
    with JudgeServer(script) as server:
        call(run, server)
    (panel,) = [panel for panel in report.panels(TASK, [shown]) if panel.title == "How answers were reached"]
    assert "direct inference" in panel.all_figures[0].table().headings and "run 1 3.50" in panel.note


def test_where_nothing_can_be_judged_nothing_is_written(run: Path) -> None:
    with JudgeServer(lambda prompt, before: Fail(400)) as server:
        assert "No answer could be judged, and nothing was written" in call(run, server)
    assert not analysis_path(read_run(run).path, TASK).exists()


def test_a_file_that_is_no_analysis_is_refused(run: Path) -> None:
    results = read_run(run).path
    analysis_path(results, TASK).write_text("{}\n", encoding="utf-8")
    with pytest.raises(InputError, match="Expected this field, but it is missing from line 1"):
        read_analysis(results, TASK)


def test_the_papers_shares_are_those_of_its_figure() -> None:
    assert published_shares() == dict(zip(KINDS, (69.9, 11.7, 6.3, 12.0), strict=True))
