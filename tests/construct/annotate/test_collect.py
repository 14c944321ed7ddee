"""Answer files: those that do not fit their plan are refused, each with its reason, and what the others lead to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import printed
from expected import Expected
from refusals import refusal
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.construct.annotate.answer_files import (
    AnswerFile,
    collect_answers,
    decide_items,
    plan_digest,
    read_answer_files,
)
from lmms_eval_tasks.construct.annotate.plan import Plan, PlannedQuestion, Shares, as_csv, make_plan
from lmms_eval_tasks.registry import find_benchmark
from lmms_eval_tasks.utils.people.inquiries import decide

QUESTIONS = [PlannedQuestion(f"q{n}", str(v), f"q{n}_{v}", 4000, ("A", "B")) for n in range(4) for v in (0, 1)]
PLAN = make_plan("causalvqa", "test", QUESTIONS, Shares(4, 2, 1))
REVIEWED = make_plan("causalvqa", "debug", QUESTIONS, Shares(4, 2, 0), mode="review")
RATED = make_plan("countervqa", "test", QUESTIONS, Shares(4, 2, 0), mode="difficulty")
REVISED = make_plan("cast_bench", "test", QUESTIONS, Shares(4, 2, 0), mode="revise")
CHECK = next(row for row in PLAN.by_annotator["a001"] if row.attention)


def read(plan: Plan, *paths: Path) -> list[AnswerFile]:
    return read_answer_files(plan, paths, find_benchmark(plan.source[0]).inquiry(plan.mode))


def answers(annotator: str, plan: Plan = PLAN) -> dict[str, Any]:
    rows = plan.by_annotator[annotator]
    given = [{"place": row.place, "seconds": 2.5, "plays": 1, "choice": row.attention or "A"} for row in rows]
    return {"plan": plan_digest(plan), "annotator": annotator, "mode": plan.mode, "answers": given}


def write(folder: Path, **files: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


MISFITS: list[dict[str, Any]] = [
    {"plan": "0" * 16}, {"annotator": "a099"}, {"annotator": "a002"}, {"mode": "review"},
    {"answers": [{"place": 1, "seconds": 1.0}] * 2}, {"answers": [{"place": 77, "seconds": 1.0}]},
    {"answers": [{"place": "1", "seconds": 1.0}]},
]  # fmt: skip
IMPOSSIBLE: list[tuple[Plan, dict[str, Any]]] = [
    (PLAN, {"choice": "C"}),
    (PLAN, {"choice": "a"}),
    (PLAN, {"flags": []}),
    (REVIEWED, {"choice": "A"}),
    (REVIEWED, {"flags": ["a"]}),
    (REVIEWED, {"choice": "A", "flags": ["x"]}),
    (REVIEWED, {"choice": "A", "flags": ["d"]}),
    (REVIEWED, {"choice": "A", "flags": ["e"], "kind": "planning"}),
    (REVIEWED, {"choice": "A", "flags": [], "start": 2, "end": 1}),
    (RATED, {"ratings": {"difficulty": "4"}}),
    (RATED, {"ratings": {"difficulty": "6", "grounded": "no"}}),
    (REVISED, {"question": "Why?", "options": ["left"], "entries": [], "discarded": False}),
]


def test_files_that_do_not_fit_and_answers_that_no_page_could_give_are_refused(
    tmp_path: Path, expected: Expected
) -> None:
    """So that nothing is written that was no choice, and nothing that was given is lost."""
    files = {f"b{number}": {**answers("a001"), **changes} for number, changes in enumerate(MISFITS)}
    folder = write(tmp_path / "misfits", a=answers("a002"), **files)
    (folder / "c.json").write_text("{", encoding="utf-8")
    said = [refusal(read, PLAN, folder)]
    for number, (plan, given) in enumerate(IMPOSSIBLE):
        file = {**answers("a001", plan), "answers": [{"place": 1, "seconds": 1.0, **given}]}
        said.append(refusal(read, plan, write(tmp_path / f"{number}", a=file)))
    (tmp_path / "none").mkdir()
    expected("\n\n".join([*said, *(refusal(read, PLAN, tmp_path / name) for name in ("none", "none.json"))]))


@pytest.mark.parametrize("check", ["wrong", "null", "left out"])
def test_answers_of_the_inattentive_are_left_out_unless_allowed(tmp_path: Path, check: str) -> None:
    careless = answers("a001")
    if check == "left out":
        del careless["answers"][CHECK.place - 1]
    else:
        other = "AB".replace(CHECK.attention, "") if check == "wrong" else None
        careless["answers"][CHECK.place - 1]["choice"] = other
    files = read(PLAN, write(tmp_path, a=careless, b=answers("a002")))
    collected = collect_answers(PLAN, files)
    assert collected.inattentive == {"a001": 1} and collected.silent == ["a003", "a004"]
    assert [row["annotator"] for row in collected.responses] == ["a002"] * 4
    assert {row["item"] for row in collected.responses} == {"q0", "q1", "q2", "q3"}
    assert len(collect_answers(PLAN, files, attention_errors=1).responses) == 8


def test_what_is_not_answered_is_no_response(tmp_path: Path) -> None:
    part = answers("a001")
    part["answers"] = [answer for answer in part["answers"] if answer["place"] in (1, CHECK.place)]
    part["answers"].append({"place": 4 if CHECK.place == 5 else 5, "seconds": 1.0, "choice": None})
    collected = collect_answers(PLAN, read(PLAN, write(tmp_path, a=part)))
    assert collected.answered == {"a001": 2} and collected.planned == {"a001": 5}
    assert len(collected.responses) == 1


ENTRY = {"name": "ball", "start": "00:01", "end": "00:02", "text": "It rolls."}
WHOLE = {"question": "Why?", "options": ["left", "right"], "entries": [], "discarded": False}
UNFLAGGED: dict[str, Any] = {"choice": "A", "flags": []}
FLAGGED = {"choice": "B", "flags": ["e", "d"], "kind": "planning", "comment": "Look again."}
COLLECTED: dict[str, tuple[Plan, list[dict[str, Any]], tuple[str, ...]]] = {
    "attentive": (PLAN, [answers("a001")], ()),
    "one check not passed": (PLAN, [{**answers(name), "answers": []} for name in ("a001", "a002", "a004")], ()),
    "checks that need not be passed": (PLAN, [{**answers("a001"), "answers": []}], ("--attention-errors", "1")),
    "reviews": (REVIEWED, [
        {"consent": "c1", "answers": [UNFLAGGED, FLAGGED, {**UNFLAGGED, "start": 0.5}]},
        {"consent": "c2", "answers": [{}, {"choice": "A", "flags": ["a"]}]},
        {"answers": [UNFLAGGED]},
    ], ()),
    "ratings": (RATED, [{"answers": [{"ratings": {"difficulty": "4", "grounded": "no"}}]}], ()),
    "revisions": (REVISED, [{"answers": [{**WHOLE, "entries": [ENTRY]}, {**WHOLE, "discarded": True}]}], ()),
    "revisions without one that is discarded": (REVISED, [{"answers": [WHOLE]}], ()),
}  # fmt: skip
"""Plans, the answers of the first annotators of each, and options."""


@pytest.mark.parametrize("name", COLLECTED)
def test_what_is_said_and_written_of_each_kind_of_work(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: Expected
) -> None:
    monkeypatch.chdir(tmp_path)
    plan, files, options = COLLECTED[name]
    Path("plan.csv").write_text(as_csv(plan), encoding="utf-8")
    for number, file in enumerate(files, start=1):
        placed = [{"place": place, "seconds": 1.0, **given} for place, given in enumerate(file["answers"], start=1)]
        whole = {**answers(f"a{number:03}", plan), **file, "answers": placed}
        write(Path("files"), **{whole["annotator"]: whole})
    said = printed("annotate", "collect", "plan.csv", "files", "--out", "out", *options)
    expected(f"{said}\n{Path('out').read_text(encoding='utf-8')}")


@pytest.mark.parametrize("split", ["test", "debug"])
def test_what_is_proposed_can_grade_the_answers(split: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the release withholds the keys, they come from a file beside the answers."""
    monkeypatch.chdir(tmp_path)
    plan = make_plan("causalvqa", split, QUESTIONS, Shares(4, 2, 1))
    Path("plan.csv").write_text(as_csv(plan), encoding="utf-8")
    careless = {**answers("a002", plan), "answers": []}
    write(tmp_path / "files", a001=answers("a001", plan), a002=careless)
    collected = CliRunner().invoke(app, ["annotate", "collect", "plan.csv", "files", "--out", "people.csv"])
    assert "2 annotators answered 5 of their 10 items" in collected.output
    assert "left out, attention: 1 (a002 1 not passed)" in collected.output
    proposed = collected.output.splitlines()[-1].split()[2:]
    if split == "debug":
        assert proposed == ["humans", "people.csv", "--items", "causalvqa:debug"]
        return
    assert "The keys of causalvqa:test are withheld" in collected.output
    keys = [f"{one.item},{one.version},A" for one in QUESTIONS]
    Path("keys.csv").write_text("\n".join(["item,version,answer", *keys]) + "\n", encoding="utf-8")
    result = CliRunner().invoke(app, proposed)
    assert result.exit_code == 0 and "100.00" in result.output, result.output


@pytest.mark.parametrize(
    ("flags", "decision"),
    [
        (["", ""], "keep"), (["a", ""], "remove"), (["", "c"], "remove"), (["fb", ""], "remove"),
        (["d", ""], "repair"), (["def", ""], "repair"), (["d", "f"], "remove"), (["e", "e"], "remove"),
    ],
)  # fmt: skip
def test_the_papers_flags_remove_or_repair(flags: list[str], decision: str) -> None:
    """CausalVQA, 2.2.7: a to c remove; d to f repair where at most one reviewer raised one of them."""
    assert decide(flags).value == decision
    # Two reviews of a version count together; one that keeps its flags to itself may still ask for a repair.
    reviews = [{"item_id": "q", "flags": one, "decision": decide([one]).value} for one in flags]
    assert decide_items(reviews)["q"].value == decision
    repaired = decide_items([*reviews, {"item_id": "q", "flags": "", "decision": "repair"}])
    assert repaired["q"].value == ("remove" if decision == "remove" else "repair")
