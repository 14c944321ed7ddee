"""Answer files that do not fit their plan are refused, each with its reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lmms_eval_tasks.annotate.collect import collect_answers, read_answer_files
from lmms_eval_tasks.annotate.forms import plan_digest
from lmms_eval_tasks.annotate.plan import PlannedQuestion, as_csv, make_plan
from lmms_eval_tasks.cli import app
from lmms_eval_tasks.utils.core.problems import InputError

QUESTIONS = [PlannedQuestion(f"q{n}", str(v), f"q{n}_{v}", 4000, ("A", "B")) for n in range(4) for v in (0, 1)]
PLAN = make_plan("some", "test", QUESTIONS, 4, responses=2, attention=1)


def answers(annotator: str) -> dict[str, Any]:
    rows = PLAN.by_annotator[annotator]
    given = [{"place": row.place, "seconds": 2.5, "plays": 1, "choice": row.attention or "A"} for row in rows]
    return {"plan": plan_digest(PLAN), "annotator": annotator, "mode": "answer", "answers": given}


def write(folder: Path, **files: dict[str, Any]) -> Path:
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"plan": "0" * 16}, "Expected answers to the plan"),
        ({"annotator": "a099"}, "Expected an annotator of the plan, but got a099."),
        ({"annotator": "a002"}, "Expected one file of a002, but got another."),
        ({"answers": [{"place": 1, "seconds": 1.0}] * 2}, "Expected one answer at most to each item of a001"),
        ({"answers": [{"place": 77, "seconds": 1.0}]}, "Expected one answer at most to each item of a001"),
        ({"answers": [{"place": "1", "seconds": 1.0}]}, "answers.place: Expected a whole number, but got `1`"),
        ({"mode": "guess"}, "mode: Expected"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    folder = write(tmp_path, a=answers("a002"), b={**answers("a001"), **changes})
    with pytest.raises(InputError) as caught:
        read_answer_files(PLAN, [folder])
    assert problem in str(caught.value)


def test_every_file_that_does_not_fit_is_named(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text("{", encoding="utf-8")
    folder = write(tmp_path, a={**answers("a002"), "plan": "0" * 16}, c={**answers("a001"), "mode": "guess"})
    with pytest.raises(InputError) as caught:
        read_answer_files(PLAN, [folder])
    lines = str(caught.value).splitlines()
    assert lines[0] == "The answers cannot be used: 3 problems."
    assert [line.strip()[:6] for line in lines[1:]] == ["a.json", "b.json", "c.json"]


def test_answers_of_the_inattentive_are_left_out_unless_allowed(tmp_path: Path) -> None:
    careless = answers("a001")
    check = next(row for row in PLAN.by_annotator["a001"] if row.attention)
    careless["answers"][check.place - 1]["choice"] = "AB".replace(check.attention, "")
    files = read_answer_files(PLAN, [write(tmp_path, a=careless, b=answers("a002"))])
    collected = collect_answers(PLAN, files)
    assert collected.inattentive == {"a001": 1} and collected.silent == ("a003", "a004")
    assert [row["annotator"] for row in collected.responses] == ["a002"] * 4
    assert {row["item"] for row in collected.responses} == {"q0", "q1", "q2", "q3"}
    assert len(collect_answers(PLAN, files, attention_errors=1).responses) == 8


def test_what_is_not_answered_is_no_response(tmp_path: Path) -> None:
    part = answers("a001")
    part["answers"] = part["answers"][:2]
    files = read_answer_files(PLAN, [write(tmp_path, a=part)])
    collected = collect_answers(PLAN, files)
    assert collected.answered == {"a001": 2} and collected.planned == {"a001": 5}
    assert len(collected.responses) + sum(bool(row.attention) for row in PLAN.by_annotator["a001"][:2]) == 2


@pytest.mark.parametrize(("benchmark", "split"), [("causalvqa", "test"), ("causalvqa", "debug")])
def test_what_is_proposed_can_grade_the_answers(
    benchmark: str, split: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the release withholds the keys, they come from a file beside the answers."""
    monkeypatch.chdir(tmp_path)
    plan = make_plan(benchmark, split, QUESTIONS, 4, responses=2, attention=0)
    Path("plan.csv").write_text(as_csv(plan), encoding="utf-8")
    given = [{"place": row.place, "seconds": 1.0, "choice": "A"} for row in plan.by_annotator["a001"]]
    file = {"plan": plan_digest(plan), "annotator": "a001", "mode": "answer", "answers": given}
    Path("a001.json").write_text(json.dumps(file), encoding="utf-8")
    collected = CliRunner().invoke(app, ["annotate", "collect", "plan.csv", "a001.json", "--out", "people.csv"])
    proposed = collected.output.splitlines()[-1].split()[2:]
    if split == "debug":
        assert proposed == ["humans", "people.csv", "--items", "causalvqa:debug"]
        return
    assert "The keys of causalvqa:test are withheld" in collected.output
    keys = [f"{one.item},{one.version},A" for one in QUESTIONS]
    Path("keys.csv").write_text("\n".join(["item,version,answer", *keys]) + "\n", encoding="utf-8")
    result = CliRunner().invoke(app, proposed)
    assert result.exit_code == 0 and "100.00" in result.output, result.output
