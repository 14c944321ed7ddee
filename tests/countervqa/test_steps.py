"""Steps of a build: every one has its row, and the replies of earlier ones are not in memory."""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lmms_eval_tasks.countervqa import hooks
from lmms_eval_tasks.countervqa.construction import roles
from lmms_eval_tasks.countervqa.construction.annotations import Take, TimedAction
from lmms_eval_tasks.countervqa.construction.given_links import TakeLinks
from lmms_eval_tasks.countervqa.construction.roles import Confidences, Criticism, LinkDecision, LinkTest, find_links
from lmms_eval_tasks.countervqa.construction.steps import Steps
from lmms_eval_tasks.countervqa.released import ClipGraph
from lmms_eval_tasks.utils.core.progress import no_progress
from lmms_eval_tasks.utils.judge.client import Verdict

REPLIES: dict[type[Any], dict[str, Any]] = {
    Confidences: {"confidences": [{"pair": 1, "confidence": 0.5}]},
    LinkTest: dict.fromkeys(("conditions", "common_cause"), "")
    | dict.fromkeys(("effect_without_cause", "explained_by_common_cause"), False)
    | {"confidence": 0.5},
    Criticism: {"objections": "", "sound": True, "confidence": 0.5},
    LinkDecision: {"reason": "", "causal": True},
}


class Replier:
    """Gives every case the same reply of a form, and counts how many cases came at once."""

    def __init__(self, form: type[Any], at_once: list[int]) -> None:
        self.form, self.at_once = form, at_once
        self.given: list[weakref.ref[Any]] = []

    def judge_all(self, cases: Sequence[Any], progress: Any) -> list[Verdict[Any]]:
        self.at_once.append(len(cases))
        replies = [self.form.model_validate(REPLIES[self.form]) for _ in cases]
        self.given += map(weakref.ref, replies)
        return [Verdict(reply, None, "m", "p") for reply in replies]


def draw_take(number: int) -> Take:
    opens, shuts = TimedAction("A00", 1.0, None, "opens it", "C"), TimedAction("A01", 2.0, None, "shuts it", "C")
    return Take(f"t{number}", f"t{number}.mp4", "cooking", (opens, shuts))


def test_every_step_has_its_row_and_earlier_replies_are_gone(tmp_path: Path) -> None:
    steps = Steps(no_progress, tmp_path / "set")
    first, second = (Replier(Criticism, []) for _ in range(2))
    about = [(draw_take(number), "a pair") for number in range(3)]
    steps.ask("one", first, about, [str] * 3)
    steps.note(1, "of no use")
    steps.ask("two", second, about[:1], [str])
    gc.collect()
    assert [reply() for reply in first.given] == [None] * 3 and second.given[0]() is not None
    steps.note(0, "nor this")
    steps.write(tmp_path / "set" / "steps.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "set" / "steps.jsonl").read_text("utf-8").splitlines()]
    assert [(row["role"], row["take"], row["problem"]) for row in rows] == [
        ("one", "t0", None), ("one", "t1", "of no use"), ("one", "t2", None), ("two", "t0", "nor this"),
    ]  # fmt: skip
    assert rows[0]["reply"] == REPLIES[Criticism] and (steps.done, steps.failed) == (4, 0)
    assert [path.name for path in (tmp_path / "set").iterdir()] == ["steps.jsonl"]


def test_links_are_found_some_takes_at_a_time(tmp_path: Path) -> None:
    takes = [draw_take(number) for number in range(70)]
    at_once: list[int] = []
    found = find_links(takes, lambda form: Replier(form, at_once), Steps(no_progress, tmp_path))
    assert found.links == {take.uid: TakeLinks((("A00", "A01"),), frozenset()) for take in takes}
    assert (found.candidates, found.tested, found.judged, found.failed) == (70, 70, 70, 0)
    assert at_once == [roles.TAKES_AT_ONCE] * 8 + [6] * 4


def test_a_clips_graph_is_read_once_for_its_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    parse = ClipGraph.model_validate_json
    monkeypatch.setattr(ClipGraph, "model_validate_json", lambda text: read.append(text) or parse(text))
    texts = [
        ClipGraph.model_validate({"clip": f"own {number}", "actions": [], "links": []}).model_dump_json()
        for number in (1, 1, 1, 2, 2)
    ]
    assert [hooks.timed_actions(text) for text in texts] == [""] * 5
    assert read == [texts[0], texts[3]]
