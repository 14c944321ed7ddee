"""Steps of a build that ask models: what goes on, what is noted, and what is known of a take in the end."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from judge_server import JudgeServer, Say
from role_player import named, role_of
from stub_server import material_of

from lmms_eval_tasks.construct.countervqa.graphs import TakeLinks
from lmms_eval_tasks.construct.countervqa.links import choose_pairs, judge_pairs
from lmms_eval_tasks.construct.countervqa.pipeline import log_lines
from lmms_eval_tasks.construct.countervqa.rows import CounterVqaConfig, TakeRow
from lmms_eval_tasks.construct.countervqa.takes import Take, TimedAction
from lmms_eval_tasks.construct.engine.attrition import StepRun
from lmms_eval_tasks.construct.engine.roles import Models
from lmms_eval_tasks.construct.engine.running import run_steps
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


def find_links(
    takes: Sequence[Take], server: JudgeServer, folder: Path, share: float
) -> tuple[list[StepRun], list[dict[str, Any]]]:
    config = CounterVqaConfig.model_validate({"model": named(server), "pair_share": share})
    lines: list[dict[str, Any]] = []
    rows = [TakeRow(id=take.uid, take=take) for take in takes]
    models = Models(config, folder)
    runs = run_steps(
        [choose_pairs.given(config), judge_pairs],
        rows,
        models,
        lambda step, row, outcome: lines.extend(log_lines(step, row, outcome)),
    )
    return runs, lines


def test_links_of_takes_are_found_and_every_reply_has_its_line(server: JudgeServer, tmp_path: Path) -> None:
    (chosen, judged), lines = find_links(
        [draw_take(0), draw_take(1, actions=1), draw_take(2, actions=10)], server, tmp_path, share=0.05
    )
    # Of 43 pairs with a confidence three go on, the surest of each part.
    links = {"t0": (("A00", "A01"),), "t2": (("A00", "A01"), ("A00", "A03"), ("A06", "A08"))}
    assert {row.id: row.links for row in judged.left} == {
        uid: TakeLinks(pairs, frozenset()) for uid, pairs in links.items()
    }
    assert [(row.id, row.seen, row.unsure) for row in chosen.left] == [("t0", 1, 0), ("t2", 45, 2)]
    assert chosen.removed == {"no links": 1}
    assert [(line["role"], line["about"], line["problem"]) for line in lines[:6]] == [
        ("observer", "pairs 1 to 1", None),
        ("observer", "pairs 1 to 40", "no one confidence for the pairs 2"),
        ("observer", "pairs 41 to 45", "no one confidence for the pairs 2"),
        ("verifier", "A00 > A01", None),
        ("critic", "A00 > A01", None),
        ("synthesizer", "A00 > A01", None),
    ]
    assert (chosen.asked + judged.asked, chosen.unanswered + judged.unanswered) == (len(lines), 0) == (3 + 3 * 4, 0)


def test_the_pairs_of_one_take_are_judged_several_at_once(tmp_path: Path) -> None:
    def slow(prompt: str, before: int) -> Say:
        return Say(reply_to(prompt, before).text, delay=0.05)

    with JudgeServer(slow) as server:
        (_, judged), _ = find_links([draw_take(0, actions=7)], server, tmp_path, share=1.0)
        # As many as the model is asked at once.
        assert server.most_at_once == 4 and len(judged.left[0].links.links) == 20


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
