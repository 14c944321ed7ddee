"""What reviewers and annotators say of a built set, by the commands that ask them, and what becomes of its pairs."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from expected import Expected
from played import Asked, Played
from refusals import refusal
from typer.testing import CliRunner
from written import requested, written

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.construct.annotate.answer_files import plan_digest
from lmms_eval_tasks.construct.annotate.plan import PlannedItem, read_plan
from lmms_eval_tasks.construct.causalvqa import build
from lmms_eval_tasks.construct.causalvqa.pipeline import (
    apply_answers,
    apply_reviews,
    read_reviews,
    refuse_flagged_again,
)
from lmms_eval_tasks.construct.causalvqa.rows import QuestionPair
from lmms_eval_tasks.construct.engine.steps import Removed
from lmms_eval_tasks.utils.core.forms import read_numbered_options
from lmms_eval_tasks.utils.data.clips import clip_seconds, write_placeholder

FLAGGED, UNCLEAR, SPOILT, UNSEEN, EASY, MEDIUM, HARD, DISPUTED, DROPPED = range(9)
"""Which question is which: in a review, where the spoilt one is repaired in vain, and to people."""
AFTER_ALL = "After all, "
OTHER_TYPE = "planning"


@dataclass
class Study:
    """A folder in which a set is built and people are asked about it."""

    folder: Path
    sources: Path
    truths: list[dict[str, Any]]
    played: Played

    def build(self, *changes: str) -> dict[str, dict[str, Any]]:
        """Build, with some answers of people, and prepare the set; gives the attrition table by step."""
        build(config=self.sources / "build.yaml", out=self.folder / "out", replace=True, changes=list(changes))
        run("prepare", "causalvqa", "--source", self.folder / "out" / "release", "--replace")
        facts = json.loads((self.folder / "out" / "attrition.json").read_text())
        return {step["step"]: step["removed"] for step in facts["steps"]}

    def rows(self) -> dict[int, dict[str, str]]:
        """The release's rows by the place of their question."""
        places = {truth["question"]: place for place, truth in enumerate(self.truths)}
        with (self.folder / "out/release/debug/debug_metadata.csv").open(encoding="utf-8", newline="") as file:
            return {places[row["question"].removeprefix(AFTER_ALL)]: row for row in csv.DictReader(file)}

    def ask(self, name: str, mode: str, responses: int, answer: Callable[[PlannedItem], dict[str, Any]]) -> Path:
        """Have people answer a page each; gives the collected table."""
        plan, table = self.folder / f"{name}_plan.csv", self.folder / f"{name}.csv"
        run("annotate", "plan", "causalvqa", "--mode", mode, "--responses", responses, "--attention", 0, "--out", plan)
        read, answers = read_plan(plan), self.folder / f"{name}_answers"
        answers.mkdir()
        for annotator, rows in read.by_annotator.items():
            given = [{"place": row.place, "seconds": 1.0, **answer(row)} for row in rows]
            file = {"plan": plan_digest(read), "annotator": annotator, "mode": mode, "answers": given}
            (answers / f"{annotator}.json").write_text(json.dumps(file))
        run("annotate", "collect", plan, answers, "--out", table)
        return table


def run(*arguments: object) -> None:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output


@pytest.fixture
def study(sources: Path, home: Path, tmp_path: Path) -> Iterator[Study]:
    folder = sources / "causalvqa" / "build"
    played = Played.of_sample(folder, causalvqa_repair=repaired)
    assert played.player is not None
    truths = played.player.truth["questions"]
    for truth in truths:
        truth["guessed"] = False
    with played.at_work():
        yield Study(tmp_path, folder, truths, played)


def repaired(asked: Asked) -> dict[str, Any]:
    """Says a question in other words, or makes one of its options another."""
    texts = {name: asked.given[name] for name in ("question", "answer", "distractors", "paraphrases")}
    if asked.given["flags"] == ["e"]:
        return {**texts, "question": f"{AFTER_ALL}{texts['question']}"}
    return {**texts, "distractors": [texts["distractors"][1], *texts["distractors"][1:]]}


@pytest.mark.slow
def test_a_set_is_built_reviewed_repaired_answered_and_built(study: Study, expected: Expected) -> None:
    study.build()
    places = {row["qid"]: place for place, row in study.rows().items()}
    assert len(places) == 9
    reviewed: Counter[tuple[str, str]] = Counter()

    def review(row: PlannedItem) -> dict[str, Any]:
        reviewed[row.item_id, ""] += 1
        first, place = reviewed[row.item_id, ""] == 1, places[row.item]
        if place == UNSEEN and row.version == "1" and first:
            return {}
        if not (first and row.version == "1"):
            return {"choice": "A", "flags": []}
        flags = {FLAGGED: ["c", "d"], UNCLEAR: ["e"], SPOILT: ["f"], EASY: ["d"]}.get(place, [])
        # Of the clips of 2 seconds one begins too early.
        times = {"start": 0.5} if place == MEDIUM else {}
        kind = {"kind": OTHER_TYPE} if "d" in flags else {}
        comment = {"comment": "Look again."} if flags else {}
        return {"choice": "A", "flags": flags, **kind, **times, **comment}

    before = study.rows()
    whole = clip_seconds(study.folder / "out/release/debug/videos" / before[MEDIUM]["renamed_video"])
    assert whole is not None
    asked = len(study.played.asked)
    reviewing = f'reviews=["{study.ask("reviews", "review", 2, review)}"]'
    removed = study.build(reviewing)
    assert removed["quality review"] == {
        "fewer than two reviews of a version": 1,
        "flagged a, b or c by a reviewer": 1,
    }
    assert removed["repair"] == {"two distractors are equal": 1}
    rows = study.rows()
    assert set(rows) == {UNCLEAR, EASY, MEDIUM, HARD, DISPUTED, DROPPED}
    assert rows[UNCLEAR]["question"] == f"{AFTER_ALL}{study.truths[UNCLEAR]['question']}"
    unclear = rows[UNCLEAR]
    assert read_numbered_options(unclear["choices2"])[unclear["correct2"]] == study.truths[UNCLEAR]["answer"]
    # Only the repairs are asked for: three tries of one; of the other also three checks and two blind answers.
    assert len(study.played.asked) - asked == 3 + 1 + 4 + 2
    repairs = study.played.of("causalvqa_repair")
    assert all(one.given["comments"] == ["Look again."] for one in repairs)
    assert sorted(one.given["flags"] for one in repairs) == [["e"], *[["f"]] * 3]
    assert before[EASY]["type"] != rows[EASY]["type"] == OTHER_TYPE
    clips = [table[MEDIUM]["renamed_video"] for table in (before, rows)]
    videos = study.folder / "out/release/debug/videos"
    assert clips[0] != clips[1] and clip_seconds(videos / clips[1]) == pytest.approx(whole - 0.5, abs=0.15)
    assert {place for place in rows if rows[place]["qid"] != before[place]["qid"]} == {UNCLEAR, EASY, MEDIUM}

    answered: Counter[tuple[str, str]] = Counter()
    keys = {row["qid"]: [int(row["correct1"]), int(row["correct2"])] for row in rows.values()}
    named = {row["qid"]: place for place, row in rows.items()}
    right = {MEDIUM: (4, 4), HARD: (3, 2), DISPUTED: (5, 1), DROPPED: (2, 1)}

    def answer(row: PlannedItem) -> dict[str, Any]:
        place, version = named[row.item], int(row.version)
        key, number = keys[row.item][version] - 1, answered[row.item, row.version]
        answered[row.item, row.version] += 1
        # Wrong choices are spread, but where most people choose one of them.
        other = key + 1 if place == DISPUTED else key + 1 + number % 4
        choice = key if number < right.get(place, (5, 5))[version] else other % 5
        return {"choice": "ABCDE"[choice]}

    responses = study.ask("people", "answer", 5, answer)
    asked = len(study.played.asked)
    removed = study.build(reviewing, f"responses={responses}", "difficulty=null")
    assert len(study.played.asked) == asked
    assert removed["answers of people"] == {
        "the most frequent answer of people is not the key": 1,
        "too few people are right": 1,
    }
    assert {place: row["difficulty"] for place, row in study.rows().items()} == {
        UNCLEAR: "easy", EASY: "easy", MEDIUM: "med", HARD: "hard",
    }  # fmt: skip
    expected(f"{written(study.folder / 'out')}\n\n{requested(repairs)}")


def pair(name: str, **changes: Any) -> QuestionPair:
    place = {"id": name, "clip": "a.mp4", "start": 0.0, "end": 1.0, "type": "planning"}
    texts = {"description": "", "afterwards": "", "first_answer": "", "question": "What?", "answer": "a"}
    options = {"seeds": (), "distractors": ("b", "c", "d", "e"), "paraphrases": ("bb", "cc", "dd", "ee")}
    orders = ((0, 1, 2, 3, 4), (4, 3, 2, 1, 0))
    return QuestionPair(**{**place, **texts, **options, "orders": orders, **changes})


def test_a_pair_is_named_by_what_people_see_of_it() -> None:
    one = pair("q")
    assert pair("q", description="x", difficulty="hard", repaired=True).qid == one.qid
    for change in (
        {"question": "Who?"}, {"type": "descriptive"}, {"answer": "f"}, {"paraphrases": ("bb", "cc", "dd", "f")},
        {"end": 2.0}, {"clip": "b.mp4"}, {"orders": ((0, 1, 2, 3, 4), (3, 4, 2, 1, 0))},
    ):  # fmt: skip
        assert pair("q", **change).qid != one.qid
    assert (one.key(0), one.key(1), one.options(1)) == ("A", "E", ["ee", "dd", "cc", "bb", "a"])


HEADER = "item,version,item_id,reviewer,choice,flags,type,start,end,comment,decision"
Given = tuple[str, int, str, str]
"""A question, its version, a reviewer, and flags, as ``d``, or with the type and the times: ``d,planning,-1,2.5``."""


def write_reviews(path: Path, *rows: Given) -> Path:
    lines = []
    for item, version, reviewer, found in rows:
        flags, kind, start, end = [*found.split(","), "", "", ""][:4]
        kind = kind or ("counterfactual" if "d" in flags else "")
        lines.append(f"{item},{version},{item}_{version},{reviewer},A,{flags},{kind},{start},{end},,keep")
    path.write_text("\n".join([HEADER, *lines]) + "\n")
    return path


def both(qid: str, first: str = "", second: str = "") -> list[Given]:
    return [(qid, version, reviewer, flags) for version in (0, 1) for reviewer, flags in (("r", first), ("s", second))]


def outcome(step: Any, rows: list[QuestionPair]) -> tuple[dict[str, QuestionPair], dict[str, str]]:
    """The rows that a step leaves, and why the others go, by id."""
    removed: dict[str, Removed] = {}
    left = step.run(rows, removed.__setitem__)
    return {row.id: row for row in left}, {name: why.reason for name, why in removed.items()}


def test_flags_of_several_tables_count_together_for_the_wording_that_was_reviewed(tmp_path: Path) -> None:
    one, two, changed = pair("one"), pair("two"), pair("three")
    # One reviewer of each version, not the same, raises what is to be repaired.
    raised = [(one.qid, 0, "r", "d"), (one.qid, 0, "s", ""), (one.qid, 1, "r", ""), (one.qid, 1, "s", "f")]
    before = both(pair("three", question="Who?").qid)
    first = write_reviews(tmp_path / "first.csv", *raised, *both(two.qid)[:2], *before)
    second = write_reviews(tmp_path / "second.csv", *both(two.qid, "", "b")[2:])
    step = apply_reviews.given(reviews=read_reviews([first, second]), clips=tmp_path)
    left, removed = outcome(step, [one, two, changed])
    assert removed == {"two": "flagged a, b or c by a reviewer", "three": "fewer than two reviews of a version"}
    kept = left.pop("one")
    assert not left and (kept.flags, kept.type, kept.repaired) == ("f", "counterfactual", True)
    assert kept.qid != one.qid, "what was said of the other type is not said of this one"


def reviewed(
    folder: Path, rows: list[QuestionPair], given: list[Given]
) -> tuple[dict[str, QuestionPair], dict[str, str]]:
    reviews = read_reviews([write_reviews(folder / "reviews.csv", *given)])
    return outcome(apply_reviews.given(reviews=reviews, clips=folder), rows)


OUTSIDE, SEVERAL = "new times outside the video", "flagged d, e or f by more than one reviewer of a version"


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        ((",,,", ""), None), (("e", ""), None), (("e", "f"), SEVERAL), (("ef", "ef"), SEVERAL),
        (("a", ""), "flagged a, b or c by a reviewer"), ((",,-1,", ""), OUTSIDE), ((",,,9", ""), OUTSIDE),
        ((",,1.5,0.5", ""), OUTSIDE), ((",,0.25,", ",,,1.5"), None),
    ],
)  # fmt: skip
def test_the_papers_rule_decides(tmp_path: Path, found: tuple[str, str], reason: str | None) -> None:
    """2.2.7, of a version of a question about the first second of a video of two."""
    one = pair("one")
    write_placeholder(tmp_path / one.clip)
    left, removed = reviewed(tmp_path, [one], [*both(one.qid)[2:], *both(one.qid, *found)[:2]])
    assert (set(left), removed) == (({"one"}, {}) if reason is None else (set(), {"one": reason}))
    if found[1] == ",,,1.5":
        kept = left["one"]
        assert (kept.start, kept.end, kept.flags, kept.repaired) == (0.25, 1.5, "", True)


def test_reviewers_who_name_different_types_and_repairs_that_are_flagged_again_leave_no_question(
    tmp_path: Path,
) -> None:
    one = pair("one")
    reviews = [*both(one.qid, "d,descriptive")[:2], *both(one.qid, "d,anticipation")[2:]]
    assert reviewed(tmp_path, [one], reviews) == ({}, {"one": "reviewers name different types"})
    rows = [pair("good", repaired=True), pair("bad", repaired=True), pair("other"), pair("unseen", repaired=True)]
    reviews = [*both(rows[0].qid), *both(rows[1].qid, "", "e"), *both(rows[2].qid, "e")]
    step = refuse_flagged_again.given(reviews=read_reviews([write_reviews(tmp_path / "reviews.csv", *reviews)]))
    left, removed = outcome(step, rows)
    assert (list(left), removed) == (["good", "other", "unseen"], {"bad": "flagged again after the repair"})


def test_reviews_that_cannot_be_used_are_refused(tmp_path: Path, expected: Expected) -> None:
    """Also one that stands in two tables, for else one reviewer would count as two, and one by nobody."""
    rows = [("one", 0, f"r{number}", text) for number, text in enumerate(("x", "d,mood", "e,planning", ",,soon,"))]
    others = write_reviews(tmp_path / "others.csv", *rows, ("one", 0, "", ""), ("", 1, " ", "a"))
    old = tmp_path / "old.csv"
    old.write_text("item,version,item_id,reviewer,flags,comment,decision\none,0,one_0,r,c,,remove\n")
    tables = [write_reviews(tmp_path / name, *both("q")[::2]) for name in ("first.csv", "second.csv")]
    expected("\n\n".join(refusal(read_reviews, paths) for paths in ([others], [old], tables)))


def test_answers_to_another_wording_or_to_one_version_are_not_enough(tmp_path: Path) -> None:
    rows = [pair("one"), pair("two"), pair("three")]
    lines = [f"{rows[0].qid},{version},p{version},{rows[0].key(version)}" for version in (0, 1)]
    lines += [f"{rows[1].qid},0,p0,A", f"{pair('three', question='Who?').qid},0,p0,A"]
    (tmp_path / "people.csv").write_text("\n".join(["item,version,annotator,choice", *lines]) + "\n")
    step, missing = apply_answers.given(responses=tmp_path / "people.csv"), "no response to a version"
    left, removed = outcome(step, rows)
    assert (list(left), removed) == (["one"], {"two": missing, "three": missing})
    # Where no question is left to ask people about, the responses are not at fault.
    assert outcome(step, []) == ({}, {})
