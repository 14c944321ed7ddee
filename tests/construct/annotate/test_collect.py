"""Answer files that do not fit their plan are refused, each with its reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.construct.annotate.answer_files import AnswerFile, collect_answers, plan_digest, read_answer_files
from lmms_eval_tasks.construct.annotate.plan import Plan, PlannedQuestion, as_csv, make_plan
from lmms_eval_tasks.registry import find_benchmark
from lmms_eval_tasks.utils.core.errors import InputError

QUESTIONS = [PlannedQuestion(f"q{n}", str(v), f"q{n}_{v}", 4000, ("A", "B")) for n in range(4) for v in (0, 1)]
PLAN = make_plan("causalvqa", "test", QUESTIONS, 4, responses=2, attention=1)


def read(plan: Plan, *paths: Path) -> list[AnswerFile]:
    return read_answer_files(plan, paths, find_benchmark(plan.source[0]).inquiry(plan.mode))


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
        ({"mode": "review"}, "Expected answers of the plan's mode, answer, but got review."),
    ],
)
def test_a_file_that_does_not_fit_is_refused(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    folder = write(tmp_path, a=answers("a002"), b={**answers("a001"), **changes})
    with pytest.raises(InputError) as caught:
        read(PLAN, folder)
    assert problem in str(caught.value)


def test_every_file_that_does_not_fit_is_named(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text("{", encoding="utf-8")
    folder = write(tmp_path, a={**answers("a002"), "plan": "0" * 16}, c={**answers("a001"), "mode": "guess"})
    with pytest.raises(InputError) as caught:
        read(PLAN, folder)
    lines = str(caught.value).splitlines()
    assert lines[0] == "The answers cannot be used: 3 problems."
    assert [line.strip()[:6] for line in lines[1:]] == ["a.json", "b.json", "c.json"]


def test_answers_of_the_inattentive_are_left_out_unless_allowed(tmp_path: Path) -> None:
    careless = answers("a001")
    check = next(row for row in PLAN.by_annotator["a001"] if row.attention)
    careless["answers"][check.place - 1]["choice"] = "AB".replace(check.attention, "")
    files = read(PLAN, write(tmp_path, a=careless, b=answers("a002")))
    collected = collect_answers(PLAN, files)
    assert collected.inattentive == {"a001": 1} and collected.silent == ["a003", "a004"]
    assert [row["annotator"] for row in collected.responses] == ["a002"] * 4
    assert {row["item"] for row in collected.responses} == {"q0", "q1", "q2", "q3"}
    assert len(collect_answers(PLAN, files, attention_errors=1).responses) == 8


def test_what_is_not_answered_is_no_response(tmp_path: Path) -> None:
    part = answers("a001")
    check = next(row for row in PLAN.by_annotator["a001"] if row.attention)
    part["answers"] = [answer for answer in part["answers"] if answer["place"] in (1, check.place)]
    part["answers"].append({"place": 4 if check.place == 5 else 5, "seconds": 1.0, "choice": None})
    files = read(PLAN, write(tmp_path, a=part))
    collected = collect_answers(PLAN, files)
    assert collected.answered == {"a001": 2} and collected.planned == {"a001": 5}
    assert len(collected.responses) == 1


@pytest.mark.parametrize("left_out", [True, False])
def test_a_check_of_attention_that_is_left_out_or_null_is_not_passed(tmp_path: Path, left_out: bool) -> None:
    careless = answers("a001")
    check = next(row for row in PLAN.by_annotator["a001"] if row.attention)
    if left_out:
        del careless["answers"][check.place - 1]
    else:
        careless["answers"][check.place - 1]["choice"] = None
    files = read(PLAN, write(tmp_path, a=careless, b=answers("a002")))
    collected = collect_answers(PLAN, files)
    assert collected.inattentive == {"a001": 1}
    assert {row["annotator"] for row in collected.responses} == {"a002"}
    assert len(collect_answers(PLAN, files, attention_errors=1).responses) == 8


REVIEWED = make_plan("causalvqa", "debug", QUESTIONS, 4, responses=2, attention=0, mode="review")


@pytest.mark.parametrize(
    ("plan", "given", "problem"),
    [
        (PLAN, {"choice": "C"}, "Expected a choice out of A, B, but got `C`."),
        (PLAN, {"choice": "a"}, "Expected a choice out of A, B, but got `a`."),
        (PLAN, {"flags": []}, "Expected choice in the mode answer, but got flags."),
        (REVIEWED, {"choice": "A"}, "Expected flags in the mode review, but got none."),
        (REVIEWED, {"flags": ["a"]}, "Expected choice in the mode review, but got none."),
        (REVIEWED, {"choice": "A", "flags": ["x"]}, "Expected flags out of a, b, c, d, e, f, but got `x`."),
        (REVIEWED, {"choice": "A", "flags": ["d"]}, "Expected kind to be one of anticipation, "),
        (REVIEWED, {"choice": "A", "flags": ["e"], "kind": "planning"}, "Expected kind to be none, as no flag is"),
        (REVIEWED, {"choice": "A", "flags": [], "start": 2, "end": 1}, "Expected start before end, but got 2 and 1."),
    ],
)
def test_an_answer_that_no_page_could_give_is_refused(
    tmp_path: Path, plan: Plan, given: dict[str, Any], problem: str
) -> None:
    """So that nothing is written that was no choice, and nothing that was given is lost."""
    answer = {"place": 1, "seconds": 1.0, **given}
    file = {"plan": plan_digest(plan), "annotator": "a001", "mode": plan.mode, "answers": [answer]}
    with pytest.raises(InputError) as caught:
        read(plan, write(tmp_path, a=file))
    assert f"a.json, place 1: {problem}" in str(caught.value)


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
