"""Scenes as a set to train on: graphs that interventions show, and questions that follow from them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lmms_eval_tasks.api import InputError
from lmms_eval_tasks.api.release import as_lines, write_file
from lmms_eval_tasks.construct.countervqa.checks import check_set
from lmms_eval_tasks.worlds.card import FAMILIES
from lmms_eval_tasks.worlds.scenes.scene import Body, Event, Intervention, Scene, World

pytest.importorskip("mujoco")

from lmms_eval_tasks.worlds.export import causal_links, chosen_families, graph_line, question_lines, scene_graph
from lmms_eval_tasks.worlds.physics.rollout import roll_out
from lmms_eval_tasks.worlds.scenes.scene import Facts


def ball(colour: str, x: float, y: float = 0.0, speed: float = 0.0) -> Body:
    return Body(
        name=f"{colour} ball", shape="ball", colour=colour, size=[0.12], place=[x, y, 0.12], velocity=[speed, 0.0, 0.0],
        bounce=0.7,
    )  # fmt: skip


def facts_of(*bodies: Body) -> Facts:
    scene = Scene(id="row_1", family="row", seed=1, depth=2, bodies=list(bodies))
    rollout = roll_out(scene)
    return Facts(scene=scene, events=rollout.events, worlds=[], lost_energy=rollout.lost_energy)


@pytest.fixture(scope="module")
def two_rows() -> Facts:
    """Red hits green, which hits blue; apart from them yellow hits white, in between."""
    return facts_of(
        ball("red", -1.2, -0.4, 2.5),
        ball("green", -0.6, -0.4),
        ball("blue", 0.3, -0.4),
        ball("yellow", -1.2, 0.5, 2.5),
        ball("white", -0.1, 0.5),
    )


def test_a_graph_is_what_interventions_show(two_rows: Facts) -> None:
    graph = scene_graph(two_rows)
    pairs = [{event.body, event.other} for event in graph.events]
    assert pairs == [{"red ball", "green ball"}, {"yellow ball", "white ball"}, {"green ball", "blue ball"}]
    assert graph.links == [(0, 2)]
    assert graph.independent == [(0, 1), (1, 2)]


def test_questions_follow_from_their_graph_by_rule(two_rows: Facts, tmp_path: Path) -> None:
    graphs = [scene_graph(two_rows)]
    lines = [line for graph in graphs for line in question_lines(graph, np.random.default_rng(0))]
    write_file(tmp_path / "graphs.jsonl", as_lines(map(graph_line, graphs)))
    write_file(tmp_path / "questions.jsonl", as_lines(lines))
    assert check_set(tmp_path) == {"adjacent_unlinked": 2, "absent": 2}
    assert [line["verdict"] for line in lines] == ["yes"] * 4


def test_a_chain_is_asked_about_link_by_link_and_as_a_whole() -> None:
    row = facts_of(ball("red", -1.2, speed=2.5), ball("green", -0.4), ball("blue", 0.4))
    lines = question_lines(scene_graph(row), np.random.default_rng(0))
    assert [(line["rule"], line["verdict"]) for line in lines if line["level"] < 3] == [("adjacent_linked", "no")]


def test_what_no_intervention_decides_is_in_no_list() -> None:
    hit = Event(kind="hits", time=0.5, body="red ball", other="green ball")
    fall = Event(kind="falls", time=1.0, body="blue box")
    held = Intervention(kind="freeze", bodies=["red ball"])
    unsure = World(intervention=held, events=[], unsure=[["falls", "blue box", ""]])
    not_prevented = World(intervention=held, events=[hit])
    assert causal_links([hit, fall], [unsure, unsure]) == ([], [])
    assert causal_links([hit, fall], [not_prevented, not_prevented]) == ([], [])
    assert causal_links([hit, fall], [World(intervention=held, events=[]), unsure]) == ([(0, 1)], [])
    assert causal_links([hit, fall], [World(intervention=held, events=[fall]), unsure]) == ([], [(0, 1)])


def test_families_of_the_test_are_refused() -> None:
    with pytest.raises(InputError, match="The test has scenes of chain"):
        chosen_families(["chain"])
    with pytest.raises(InputError, match=r"Expected families, any of .*, but got nothing_like_it"):
        chosen_families(["nothing_like_it"])
    assert chosen_families(None)
    assert not set(chosen_families(None)) & set(FAMILIES)
