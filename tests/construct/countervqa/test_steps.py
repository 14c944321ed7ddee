"""Steps of a build that ask models: what goes on, what is noted, and what is known of a take in the end."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from judge_server import JudgeServer, Say
from role_player import named, role_of
from stub_server import material_of

from lmms_eval_tasks.construct.countervqa.graphs import TakeLinks
from lmms_eval_tasks.construct.countervqa.links import PAIRS_A_REQUEST, TAKES_AT_ONCE, find_links, observed_parts
from lmms_eval_tasks.construct.countervqa.models import choose_models
from lmms_eval_tasks.construct.countervqa.step_log import StepLog
from lmms_eval_tasks.construct.countervqa.takes import Take, TimedAction
from lmms_eval_tasks.construct.engine.running import StepRun, run_steps
from lmms_eval_tasks.construct.engine.steps import AnyStep, PipelineRow
from lmms_eval_tasks.countervqa import hooks
from lmms_eval_tasks.countervqa.release import ClipGraph


def draw_take(number: int, actions: int = 2) -> Take:
    timed = (TimedAction(f"A{place:02d}", place, None, f"does it {place} times", "C") for place in range(actions))
    return Take(f"t{number}", f"t{number}.mp4", "cooking", tuple(timed))


def reply_to(prompt: str, before: int) -> Say:
    """Forgets the second pair, and finds every pair a link."""
    if role_of(prompt) == "observer":
        numbers = [one["pair"] for one in material_of(prompt)["pairs"] if one["pair"] != 2]
        return Say(json.dumps({"confidences": [{"pair": number, "confidence": 1 / number} for number in numbers]}))
    replies: dict[str, dict[str, Any]] = {
        "verifier": {"conditions": "", "effect_without_cause": False, "common_cause": "", "confidence": 0.5}
        | {"explained_by_common_cause": False},
        "critic": {"objections": "", "sound": True, "confidence": 0.5},
        "synthesizer": {"reason": "", "causal": True},
    }
    return Say(json.dumps(replies[role_of(prompt)]))


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with JudgeServer(reply_to) as server:
        yield server


def test_links_of_takes_are_found_and_every_reply_has_its_row(server: JudgeServer, tmp_path: Path) -> None:
    takes = [draw_take(0), draw_take(1, actions=1), draw_take(2, actions=10)]
    parts = observed_parts(takes)
    assert [(part.take.uid, part.about) for part in parts] == [
        ("t0", "pairs 1 to 1"), ("t2", "pairs 1 to 40"), ("t2", "pairs 41 to 45"),
    ]  # fmt: skip
    assert max(len(part.pairs) for part in parts) == PAIRS_A_REQUEST
    log = StepLog(tmp_path / "set")
    models = choose_models(named(server), [], []).open(tmp_path / "set")
    found = find_links(takes, 0.05, partial(run_steps, models=models, log=log.add))
    # Of 43 pairs with a confidence three go on, the surest of each part.
    links = {"t0": (("A00", "A01"),), "t2": (("A00", "A01"), ("A00", "A03"), ("A06", "A08"))}
    assert {row.id: row.links for row in found.takes} == {
        uid: TakeLinks(pairs, frozenset()) for uid, pairs in links.items()
    }
    assert list(found.counts().values()) == [46, 4, 4, 42, 2]
    log.write(tmp_path / "steps.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "steps.jsonl").read_text("utf-8").splitlines()]
    assert (log.done, log.failed) == (len(rows), 0) and not (tmp_path / "set" / "steps.jsonl").exists()
    assert [(row["role"], row["about"], row["problem"]) for row in rows[:6]] == [
        ("observer", "pairs 1 to 1", None),
        ("observer", "pairs 1 to 40", "no one confidence for the pairs 2"),
        ("observer", "pairs 41 to 45", "no one confidence for the pairs 2"),
        ("verifier", "A00 > A01", None),
        ("critic", "A00 > A01", None),
        ("synthesizer", "A00 > A01", None),
    ]
    assert len(rows) == 3 + 3 * 4


def test_links_are_found_some_takes_at_a_time(server: JudgeServer, tmp_path: Path) -> None:
    takes = [draw_take(number) for number in range(70)]
    models, at_once = choose_models(named(server), [], []).open(tmp_path), list[int]()

    def run(steps: Sequence[AnyStep], rows: Sequence[PipelineRow]) -> Sequence[StepRun]:
        at_once.append(len(rows))
        return run_steps(steps, rows, models, StepLog(tmp_path).add)

    found = find_links(takes, 1.0, run)
    assert [row.id for row in found.takes] == [take.uid for take in takes]
    assert list(found.counts().values()) == [70, 70, 70, 0, 0] and at_once == [TAKES_AT_ONCE] * 2 + [6]


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
