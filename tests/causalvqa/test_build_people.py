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
from causalvqa_world import ClipWorld, ClipWorldPlayer, Truth, write_annotations, write_build_config
from judge_server import JudgeServer
from role_player import material_of
from typer.testing import CliRunner

from lmms_eval_tasks.annotate.forms import plan_digest
from lmms_eval_tasks.annotate.plan import PlannedItem, read_plan
from lmms_eval_tasks.causalvqa.build import build
from lmms_eval_tasks.causalvqa.construction.people import PeoplesAnswers
from lmms_eval_tasks.causalvqa.construction.review import QualityReview, ReviewOfRepairs, read_reviews
from lmms_eval_tasks.causalvqa.construction.rows import QuestionPair
from lmms_eval_tasks.causalvqa.metadata import read_choices
from lmms_eval_tasks.cli import app
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.pipeline.steps import Removed

FLAGGED, UNCLEAR, SPOILT, UNSEEN, EASY, MEDIUM, HARD, DISPUTED, DROPPED = range(9)
"""Which question is which: in a review, where the spoilt one is repaired in vain, and to people."""


@dataclass
class Study:
    """A folder in which a set is built and people are asked about it."""

    folder: Path
    truths: list[Truth]
    server: JudgeServer
    takes: Path

    def build(self, **values: Any) -> dict[str, dict[str, Any]]:
        """Build, with some answers of people, and prepare the set; gives the attrition table by step."""
        config = write_build_config(self.folder / "build.yaml", self.server.url, clips=str(self.takes), **values)
        build(config, self.folder / "out")
        run("prepare", "causalvqa", "--source", self.folder / "out" / "release")
        facts = json.loads((self.folder / "out" / "attrition.json").read_text())
        return {step["step"]: step["removed"] for step in facts["steps"]}

    def rows(self) -> dict[int, dict[str, str]]:
        """The release's rows by the place of their question."""
        with (self.folder / "out/release/debug/debug_metadata.csv").open(encoding="utf-8", newline="") as file:
            places = {truth.qid: place for place, truth in enumerate(self.truths)}
            return {places[row["qid"].rpartition("-")[0]]: row for row in csv.DictReader(file)}

    def ask(self, name: str, mode: str, responses: int, answer: Callable[[PlannedItem], dict[str, Any]]) -> str:
        """Have people answer a page each; gives the name of the collected table."""
        plan = self.folder / f"{name}_plan.csv"
        run("annotate", "plan", "causalvqa", "--responses", responses, "--attention", 0, "--out", plan)
        run("annotate", "page", plan, "--mode", mode, "--out", self.folder / f"{name}_pages", "--clips", "link")
        read, answers = read_plan(plan), self.folder / f"{name}_answers"
        answers.mkdir()
        for annotator, rows in read.by_annotator.items():
            given = [{"place": row.place, "seconds": 1.0, **answer(row)} for row in rows]
            file = {"plan": plan_digest(read), "annotator": annotator, "mode": mode, "answers": given}
            (answers / f"{annotator}.json").write_text(json.dumps(file))
        run("annotate", "collect", plan, answers, "--out", self.folder / f"{name}.csv")
        return f"{name}.csv"


def run(*arguments: object) -> None:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output


@pytest.fixture
def study(clip_world: ClipWorld, home: Path, tmp_path: Path) -> Iterator[Study]:
    truths = clip_world.truths[:9]
    write_annotations(tmp_path / "rows.csv", [truth.annotated for truth in truths])
    repairs = {
        truths[UNCLEAR].qid: {"question": f"After all, {truths[UNCLEAR].question}"},
        truths[SPOILT].qid: {"distractors": [truths[SPOILT].distractors[1], *truths[SPOILT].distractors[1:]]},
    }
    with JudgeServer(picture_script=ClipWorldPlayer(truths, clip_world.takes, repairs=repairs)) as server:
        yield Study(tmp_path, truths, server, clip_world.takes)


def test_a_set_is_built_reviewed_repaired_answered_and_built(study: Study) -> None:
    study.build()
    places = {row["qid"]: place for place, row in study.rows().items()}
    assert len(places) == 9
    reviewed: Counter[tuple[str, str]] = Counter()

    def review(row: PlannedItem) -> dict[str, Any]:
        reviewed[row.item_id, ""] += 1
        first, place = reviewed[row.item_id, ""] == 1, places[row.item]
        if place == UNSEEN and row.version == "1" and first:
            return {}
        flags = {FLAGGED: ["c", "d"], UNCLEAR: ["d"], SPOILT: ["e"]}.get(place, [])
        return {"flags": flags if first and row.version == "1" else [], "comment": "Look again." if flags else ""}

    asked = study.server.asked.total()
    reviews = study.ask("reviews", "review", 2, review)
    removed = study.build(reviews=[reviews])
    assert removed["quality review"] == {
        "fewer than two reviews of a version": 1,
        "flagged a, b or c by a reviewer": 1,
    }
    assert removed["repair"] == {"two distractors are equal": 1}
    rows = study.rows()
    assert set(rows) == {UNCLEAR, EASY, MEDIUM, HARD, DISPUTED, DROPPED}
    assert rows[UNCLEAR]["question"] == f"After all, {study.truths[UNCLEAR].question}"
    assert read_choices(rows[UNCLEAR]["choices2"])[rows[UNCLEAR]["correct2"]] == study.truths[UNCLEAR].answer
    # Only the repairs are asked for: three tries of one; of the other also three checks and two blind answers.
    assert study.server.asked.total() - asked == 3 + 1 + 4 + 2
    texts = [str(body["messages"][-1]["content"]) for body in study.server.bodies]
    repairs = [material_of(text) for text in texts if text.startswith("You repair")]
    assert all(given["comments"] == ["Look again."] for given in repairs)
    assert sorted(given["flags"] for given in repairs) == [["d"], *[["e"]] * 3]

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
    asked = study.server.asked.total()
    removed = study.build(reviews=[reviews], responses=responses, difficulty=None)
    assert study.server.asked.total() == asked
    assert removed["answers of people"] == {
        "the most frequent answer of people is not the key": 1,
        "too few people are right": 1,
    }
    assert {place: row["difficulty"] for place, row in study.rows().items()} == {
        UNCLEAR: "easy", EASY: "easy", MEDIUM: "med", HARD: "hard",
    }  # fmt: skip


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
        {"question": "Who?"}, {"answer": "f"}, {"paraphrases": ("bb", "cc", "dd", "f")}, {"end": 2.0},
        {"clip": "b.mp4"},
        {"orders": ((0, 1, 2, 3, 4), (3, 4, 2, 1, 0))},
    ):  # fmt: skip
        assert pair("q", **change).qid != one.qid
    assert (one.key(0), one.key(1), one.options(1)) == ("A", "E", ["ee", "dd", "cc", "bb", "a"])


def write_reviews(path: Path, *rows: tuple[str, int, str, str]) -> Path:
    lines = [f"{item},{version},{item}_{version},{reviewer},{flags},,keep" for item, version, reviewer, flags in rows]
    path.write_text("\n".join(["item,version,item_id,reviewer,flags,comment,decision", *lines]) + "\n")
    return path


def both(qid: str, first: str = "", second: str = "") -> list[tuple[str, int, str, str]]:
    return [(qid, version, reviewer, flags) for version in (0, 1) for reviewer, flags in (("r", first), ("s", second))]


def removed_by(step: Any, rows: list[QuestionPair]) -> tuple[list[str], dict[str, str]]:
    removed: dict[str, Removed] = {}
    left = step.run(rows, removed.__setitem__)
    return [row.id for row in left], {name: why.reason for name, why in removed.items()}


def test_reviews_of_another_wording_are_none(tmp_path: Path) -> None:
    before, after = pair("q", question="Who?"), pair("q")
    reviews = read_reviews([write_reviews(tmp_path / "reviews.csv", *both(before.qid))])
    assert removed_by(QualityReview(reviews), [before]) == (["q"], {})
    assert removed_by(QualityReview(reviews), [after]) == ([], {"q": "fewer than two reviews of a version"})


def test_flags_of_several_tables_count_together(tmp_path: Path) -> None:
    one, two = pair("one"), pair("two")
    first = write_reviews(tmp_path / "first.csv", *both(one.qid, "d", "f"), *both(two.qid)[:2])
    second = write_reviews(tmp_path / "second.csv", *both(two.qid, "", "b")[2:])
    step = QualityReview(read_reviews([first, second]))
    assert removed_by(step, [one, two]) == (["one"], {"two": "flagged a, b or c by a reviewer"})
    (kept,) = step.run([one], lambda *_: None)
    assert (kept.flags, kept.qid) == ("df", one.qid)


def test_a_review_that_stands_in_two_tables_is_refused(tmp_path: Path) -> None:
    """Else one reviewer would count as two."""
    one = pair("one")
    tables = [write_reviews(tmp_path / name, *both(one.qid)[::2]) for name in ("first.csv", "second.csv")]
    with pytest.raises(
        InputError, match=r"second\.csv, .*one review of a version by r, but got another after first.csv"
    ):
        read_reviews(tables)


def test_a_review_by_nobody_is_refused(tmp_path: Path) -> None:
    table = write_reviews(tmp_path / "first.csv", ("one", 0, "", ""), ("", 1, " ", "a"))
    with pytest.raises(InputError, match="2 problems") as error:
        read_reviews([table])
    assert "line 2: Expected a value for reviewer, but got none" in str(error.value)
    assert "line 3: Expected a value for item and reviewer, but got none" in str(error.value)


def test_repairs_that_are_flagged_again_go(tmp_path: Path) -> None:
    rows = [pair("good", repaired=True), pair("bad", repaired=True), pair("other"), pair("unseen", repaired=True)]
    reviews = [*both(rows[0].qid), *both(rows[1].qid, "", "e"), *both(rows[2].qid, "e")]
    step = ReviewOfRepairs(read_reviews([write_reviews(tmp_path / "reviews.csv", *reviews)]))
    assert removed_by(step, rows) == (["good", "other", "unseen"], {"bad": "flagged again after the repair"})


def test_answers_to_another_wording_or_to_one_version_are_not_enough(tmp_path: Path) -> None:
    rows = [pair("one"), pair("two"), pair("three")]
    lines = [f"{rows[0].qid},{version},p{version},{rows[0].key(version)}" for version in (0, 1)]
    lines += [f"{rows[1].qid},0,p0,A", f"{pair('three', question='Who?').qid},0,p0,A"]
    (tmp_path / "people.csv").write_text("\n".join(["item,version,annotator,choice", *lines]) + "\n")
    missing = "no response to a version"
    step = PeoplesAnswers(tmp_path / "people.csv")
    assert removed_by(step, rows) == (["one"], {"two": missing, "three": missing})


def test_where_no_question_is_left_to_ask_people_about_the_responses_are_not_at_fault(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("item,version,annotator,choice\nq,0,p0,A\n")
    assert removed_by(PeoplesAnswers(tmp_path / "people.csv"), []) == ([], {})
