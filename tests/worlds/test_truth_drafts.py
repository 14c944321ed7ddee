"""Drafts of scenes: one's own from a file, and what is known of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mujoco", reason="the extra worlds is not installed")

from causal_worlds import ball, both_at_once, prototype, scene, starts

from lmms_eval_tasks.api import InputError
from lmms_eval_tasks.api.release import as_lines
from lmms_eval_tasks.worlds.facts_and_clips import all_facts
from lmms_eval_tasks.worlds.kept_scenes import DraftTwin, SceneDraft, digest_events, read_drafts, write_drafts
from lmms_eval_tasks.worlds.physics.mechanics import problems_of
from lmms_eval_tasks.worlds.physics.other_worlds import intervene, settle
from lmms_eval_tasks.worlds.physics.rollout import roll_out
from lmms_eval_tasks.worlds.questions.causes import causes_of
from lmms_eval_tasks.worlds.scenes.scene import Camera, Event, EventKey, Hinge, Intervention, Scene


def as_file(folder: Path, *scenes: Scene) -> Path:
    path = folder / "scenes.jsonl"
    path.write_text(as_lines(one.model_dump(mode="json") for one in scenes), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> list[SceneDraft]:
    """Drafts of a file of two scenes."""
    other = both_at_once().model_copy(update={"id": "two"})
    return read_drafts(as_file(tmp_path_factory.mktemp("own"), prototype(), other), processes=1)


def test_a_file_of_scenes_gives_a_draft_for_each_with_its_worlds(own: list[SceneDraft]) -> None:
    assert [draft.scene.id for draft in own] == ["one", "two"]
    first, second = ([(world.intervention.kind, world.intervention.bodies) for world in draft.worlds] for draft in own)
    assert sorted(first) == [
        ("delay", ["red ball"]),
        ("freeze", ["red ball"]),
        ("remove", ["blue box"]),
        ("remove", ["green ball"]),
        ("remove", ["red ball"]),
    ]
    assert ("remove", ["green ball", "red ball"]) in second


def test_what_is_written_is_read_again_without_a_draw(own: list[SceneDraft], tmp_path: Path) -> None:
    write_drafts(own, tmp_path / "drafts.jsonl")
    first = (tmp_path / "drafts.jsonl").read_bytes()
    assert read_drafts(tmp_path / "drafts.jsonl", processes=1) == own
    write_drafts(own, tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == first


def test_facts_say_what_runs_say(own: list[SceneDraft]) -> None:
    facts, two = all_facts(own, processes=1)
    assert facts.events == roll_out(prototype()).events
    assert facts.sights == []
    for world in facts.worlds:
        assert world.events == intervene(prototype(), world.intervention).events
    assert causes_of(facts, starts("blue", "box")).preempting == (("green ball", "red ball"),)
    together = causes_of(two, EventKey("falls", "blue box"))
    assert together.together == (("green ball", "red ball"),)


def faster(draft: SceneDraft) -> SceneDraft:
    """The draft with a first ball that hardly moves."""
    first = draft.scene.bodies[0].model_copy(update={"velocity": [0.2, 0.0, 0.0]})
    slow = draft.scene.model_copy(update={"bodies": [first, *draft.scene.bodies[1:]]})
    return draft.model_copy(update={"scene": slow})


def test_scenes_in_which_something_else_happens_here_are_named_in_one_message(own: list[SceneDraft]) -> None:
    assert len(all_facts(own, processes=1)) == 2
    with pytest.raises(InputError, match="On this machine something else happens in one than where") as one:
        all_facts([faster(own[0])], processes=1)
    assert "Remedy: install the version of MuJoCo" in str(one.value)
    with pytest.raises(InputError, match="something else happens in one, two than where"):
        all_facts([faster(draft) for draft in own], processes=1)


def test_a_digest_leaves_out_times_and_what_is_unsure() -> None:
    events = roll_out(prototype()).events
    order = [list(event.key) for event in events]
    later = [event.model_copy(update={"time": event.time + 0.01}) for event in events]
    last = events[-1]

    def digest(events: list[Event], unsure: list[list[str]]) -> str:
        return digest_events(events, unsure, [key for key in order if key not in unsure], [], None)

    assert digest(events, []) == digest(later, [])
    assert digest(events, [list(last.key)]) == digest(events[:-1], [list(last.key)])
    assert digest(events, []) != digest(events[:-1], [])
    assert digest(events, []) != digest(events[::-1], [])


def line(**changes: Any) -> str:
    return json.dumps({**prototype().model_dump(mode="json"), **changes})


def test_everything_wrong_with_a_file_is_in_one_message(tmp_path: Path) -> None:
    bodies = prototype().model_dump(mode="json")["bodies"]
    path = tmp_path / "scenes.jsonl"
    lines = [
        line(),
        "{",
        line(id="none", depth="deep"),
        line(id="colour", bodies=[{**bodies[0], "colour": "beige"}]),
        line(id="sizes", bodies=[{**bodies[0], "size": [0.1, 0.1]}]),
        line(id="hinge", bodies=[{**bodies[0], "moves": "about its hinge"}]),
        line(id="inside", bodies=[bodies[0], {**bodies[1], "place": [-0.95, 0.0, 0.12]}]),
        line(id="one_twin"),
        line(id="one_backwards"),
        line(id="short", seconds=0.1),
        line(id="nameless", bodies=[{**bodies[0], "name": " "}]),
        line(id="twice", bodies=[bodies[0], bodies[0]]),
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(InputError) as refused:
        read_drafts(path)
    message = str(refused.value)
    for part in (
        "scenes.jsonl cannot be used: 7 problems",
        "(line 2)",
        "depth: Expected a whole number, but got `deep` (line 3)",
        "red ball has the colour beige, which is none of red, green",
        "(line 4)",
        "red ball has the sizes [0.1, 0.1], but a ball has 1",
        "(line 5)",
        "red ball moves about its hinge, and has no hinge",
        "(line 6)",
        "green ball and red ball lie in each other at the start",
        "(line 7)",
        "one_twin (line 1, line 8)",
        "one_backwards (line 1, line 9)",
        "seconds: Expected at least 0.25, but got `0.1` (line 10)",
        "(line 11, entry 1)",
        "(line 12)",
    ):
        assert part in message, message


def test_what_cannot_be_run_or_shown_is_a_problem() -> None:
    shown = prototype()
    above = Camera(place=[0.0, 0.0, 3.0], target=[0.0, 0.0, 0.2])
    swings = {"moves": "about its hinge", "hinge": Hinge(point=[-1.0, 0.0, 1.0], axis="y")}
    slides = {"shape": "tray", "size": [0.2, 0.2, 0.05]}
    for changes, problem in (
        ({"camera": above}, "its camera stands right above or below what it looks at"),
        ({"light": [0.0, 0.0, 0.0]}, "its light is at the origin"),
        ({"light": [float("nan"), 0.0, 1.0]}, "its camera or its light has numbers that are not finite"),
        ({"bodies": [shown.bodies[0].model_copy(update=swings)]}, "red ball has a velocity, and moves about its hinge"),
        ({"bodies": [shown.bodies[1].model_copy(update=slides)]}, "green ball is a tray and moves freely"),
    ):
        (found,) = problems_of(shown.model_copy(update=changes))
        assert problem in found


def test_worlds_and_twins_are_of_the_scenes_bodies() -> None:
    shown = prototype()
    other = ball("pink", 0.0)
    with pytest.raises(ValueError, match="of the scene's bodies"):
        SceneDraft(scene=shown, twin=DraftTwin(body=other))
    with pytest.raises(ValueError, match="differ in one field"):
        SceneDraft(scene=shown, twin=DraftTwin(body=shown.bodies[0]))
    with pytest.raises(ValueError, match="of the scene's bodies"):
        SceneDraft.model_validate(
            {
                "scene": shown.model_dump(),
                "worlds": [{"intervention": Intervention(kind="remove", bodies=["pink ball"]).model_dump()}],
            }
        )


def test_a_single_body_has_no_world_without_it(tmp_path: Path) -> None:
    alone = scene(ball("red", 0.0, velocity=(1.0, 0.0)), seconds=0.3)
    (draft,) = read_drafts(as_file(tmp_path, alone), processes=1)
    assert {world.intervention.kind for world in draft.worlds} == {"freeze", "delay"}


def test_a_scene_of_ones_own_may_have_a_familys_name_and_other_bodies() -> None:
    """The families would change bodies that it does not have: it has no twin."""
    for family in ("chain", "occlusion", "pendulum"):
        alone = scene(ball("red", 0.0, velocity=(1.0, 0.0)), seconds=0.3).model_copy(update={"family": family})
        assert settle(alone).twin is None
