"""Scenes as a set to train on: graphs that interventions show, and questions that follow from them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from commands import called
from expected import Expected
from small_worlds import ball, scene

from lmms_eval_tasks.api import InputError
from lmms_eval_tasks.api.release import as_lines, write_file
from lmms_eval_worlds.card import FAMILIES
from lmms_eval_worlds.export import (
    SceneGraph,
    causal_links,
    chosen_families,
    graph_line,
    question_lines,
    scene_graph,
)
from lmms_eval_worlds.physics.rollout import roll_out
from lmms_eval_worlds.scenes.scene import Body, Event, Facts, Intervention, World


def graph_of(*bodies: Body) -> SceneGraph:
    shown = scene(*bodies, name="row_1")
    return scene_graph(Facts(scene=shown, events=roll_out(shown).events, worlds=[], lost_energy=0.0))


@pytest.mark.slow
def test_a_graph_is_what_interventions_show_and_questions_follow_from_it_by_rule(tmp_path: Path) -> None:
    """Red hits green, which hits blue; apart from them yellow hits white, in between."""
    graph = graph_of(
        ball("red", -1.2, -0.4, (2.5, 0.0)), ball("green", -0.6, -0.4), ball("blue", 0.3, -0.4),
        ball("yellow", -1.2, 0.5, (2.5, 0.0)), ball("white", -0.1, 0.5),
    )  # fmt: skip
    pairs = [{event.body, event.other} for event in graph.events]
    assert pairs == [{"red ball", "green ball"}, {"yellow ball", "white ball"}, {"green ball", "blue ball"}]
    assert (graph.links, graph.independent) == ([(0, 2)], [(0, 1), (1, 2)])
    lines = question_lines(graph, np.random.default_rng(0))
    write_file(tmp_path / "graphs.jsonl", as_lines([graph_line(graph)]))
    write_file(tmp_path / "questions.jsonl", as_lines(lines))
    checked = called("countervqa", "check-questions", tmp_path)
    assert re.findall(r"(\w+) +(\d+) *\n", checked) == [("absent", "2"), ("adjacent_unlinked", "2")]
    assert "4 questions; none disagrees with its graph." in checked
    assert [line["verdict"] for line in lines] == ["yes"] * 4
    # A chain is asked about link by link.
    chain = graph_of(ball("red", -1.2, velocity=(2.5, 0.0)), ball("green", -0.4), ball("blue", 0.4))
    lines = question_lines(chain, np.random.default_rng(0))
    assert [(line["rule"], line["verdict"]) for line in lines if line["level"] < 3] == [("adjacent_linked", "no")]


def test_what_no_intervention_decides_is_in_no_list() -> None:
    hit = Event(kind="hits", time=0.5, body="red ball", other="green ball")
    fall = Event(kind="falls", time=1.0, body="blue box")

    def held(*events: Event, unsure: bool = False) -> World:
        loose = [["falls", "blue box", ""]] if unsure else []
        return World(intervention=Intervention(kind="freeze", bodies=["red ball"]), events=list(events), unsure=loose)

    for worlds, found in (
        ([held(unsure=True), held(unsure=True)], ([], [])),
        ([held(hit), held(hit)], ([], [])),
        ([held(), held(unsure=True)], ([(0, 1)], [])),
        ([held(fall), held(unsure=True)], ([], [(0, 1)])),
    ):
        assert causal_links([hit, fall], worlds) == found


def test_families_of_the_test_are_refused() -> None:
    with pytest.raises(InputError, match="The test has scenes of chain"):
        chosen_families(["chain"])
    with pytest.raises(InputError, match=r"Expected families, any of .*, but got nothing_like_it"):
        chosen_families(["nothing_like_it"])
    assert chosen_families(None) and not set(chosen_families(None)) & set(FAMILIES)


def chain_of(number: int) -> Facts:
    """Red hits green, which hits blue: without the first hit there is no second."""
    red, green, blue = (ball(colour, x) for colour, x in (("red", -1.2), ("green", -0.4), ("blue", 0.4)))
    hits = [
        Event(kind="hits", time=time, body=f"{one} ball", other=f"{other} ball")
        for time, one, other in ((0.5, "red", "green"), (1.0, "green", "blue"))
    ]
    held = World(intervention=Intervention(kind="freeze", bodies=["red ball"]), events=[])
    shown = scene(red, green, blue, name=f"stack_3_{number:04d}")
    return Facts(scene=shown, events=hits if number else [], worlds=[held] if number else [], lost_energy=0.0)


@pytest.mark.slow
def test_the_command_writes_scenes_about_which_something_can_be_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: Expected
) -> None:
    filmed: dict[Path, list[str]] = {}
    drawn: list[tuple[object, ...]] = []

    def make(scenes: int, seed: int, progress: object, names: tuple[str, ...], folder: Path) -> list[int]:
        folder.mkdir(parents=True)
        drawn.append((scenes, seed, names))
        return list(range(scenes))

    monkeypatch.setattr("lmms_eval_worlds.drafts.make_drafts", make)
    monkeypatch.setattr("lmms_eval_worlds.drafts.all_facts", lambda drafts, progress: list(map(chain_of, drafts)))
    monkeypatch.setattr(
        "lmms_eval_worlds.physics.filming.film",
        lambda clips, folder, progress: filmed.update({folder: [clip.name for clip in clips]}),
    )
    out = tmp_path / "set"
    words = ("worlds", "export", "countervqa", "--out", out, "--scenes", 3, "--seed", 3, "--family", "stack")
    said = called(*words)
    assert drawn == [(3, 3, ("stack",))] and filmed == {out / "clips": ["stack_3_0001.mp4", "stack_3_0002.mp4"]}
    facts = (out / "scenes.json").read_text(encoding="utf-8")
    assert sorted(path.name for path in out.iterdir()) == ["graphs.jsonl", "questions.jsonl", "scenes.json"]
    lines = [(out / f"{name}.jsonl").read_text(encoding="utf-8").splitlines() for name in ("graphs", "questions")]
    assert lines[0] == [json.dumps(graph_line(scene_graph(chain_of(number))), ensure_ascii=False) for number in (1, 2)]
    asked = [question_lines(scene_graph(chain_of(number)), np.random.default_rng([3, number])) for number in (1, 2)]
    assert list(map(json.loads, lines[1])) == [line for questions in asked for line in questions]
    checked = called("countervqa", "check-questions", out)
    assert checked.endswith(f"{len(lines[1])} questions; none disagrees with its graph.\n")
    again = called(*words, status=1)
    monkeypatch.setattr("lmms_eval_worlds.drafts.all_facts", lambda drafts, progress: [chain_of(0)] * len(drafts))
    nothing = called(*words[:4], tmp_path / "none", "--scenes", 2, "--family", "stack", status=1)
    expected("\n".join([said, facts, again, nothing]))
