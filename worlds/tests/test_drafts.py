"""Drafts of scenes: one's own from a file, what is known of them, and those that are drawn, always the same ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import refusal
from expected import Expected
from small_worlds import ball, both_at_once, plain_clip, prototype, scene

from lmms_eval_tasks.api import InputError, no_progress
from lmms_eval_tasks.api.release import as_lines
from lmms_eval_worlds import drafts
from lmms_eval_worlds.drafts import (
    RenderedClip,
    SceneDraft,
    Shooting,
    TriedScene,
    all_facts,
    digest_events,
    draw_scene,
    known_facts,
    make_drafts,
    read_drafts,
    write_drafts,
)
from lmms_eval_worlds.physics.filming import SceneClip
from lmms_eval_worlds.physics.mechanics import problems_of
from lmms_eval_worlds.physics.other_worlds import changed_field, intervene, settle
from lmms_eval_worlds.physics.processes import Workers
from lmms_eval_worlds.physics.rollout import roll_out
from lmms_eval_worlds.questions.cause_and_effect import causes_of
from lmms_eval_worlds.scenes.family import SceneFamily
from lmms_eval_worlds.scenes.scene import Camera, Event, EventKey, Facts, Hinge, Scene, Sight

SEED, FAMILY = 7, "elastic"


def drafts_of(folder: Path, *scenes: Scene) -> list[SceneDraft]:
    """Drafts of a file of scenes."""
    path = folder / "scenes.jsonl"
    path.write_text(as_lines(one.model_dump(mode="json") for one in scenes), encoding="utf-8")
    return read_drafts(path, processes=1)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> list[SceneDraft]:
    return drafts_of(tmp_path_factory.mktemp("own"), prototype(), both_at_once("two"))


@pytest.mark.slow
def test_a_file_of_scenes_gives_a_draft_for_each_which_is_read_again_without_a_draw(
    own: list[SceneDraft], tmp_path: Path, expected: Expected
) -> None:
    expected.digests({draft.scene.id: draft.model_dump_json() for draft in own})
    assert [draft.scene.id for draft in own] == ["one", "two"]
    first, second = ([(world.intervention.kind, *world.intervention.bodies) for world in draft.worlds] for draft in own)
    removed = [("remove", name) for name in ("blue box", "green ball", "red ball")]
    assert sorted(first) == [("delay", "red ball"), ("freeze", "red ball"), *removed]
    assert ("remove", "green ball", "red ball") in second
    for name in ("a", "b"):
        write_drafts(own, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert read_drafts(tmp_path / "a", processes=1) == own


@pytest.mark.slow
def test_facts_say_what_runs_say_and_scenes_in_which_something_else_happens_are_named(
    own: list[SceneDraft], expected: Expected
) -> None:
    facts, two = all_facts(own, processes=1)
    assert facts.events == roll_out(prototype()).events and facts.sights == []
    assert all(world.events == intervene(prototype(), world.intervention).events for world in facts.worlds)
    assert causes_of(facts, EventKey("starts", "blue box")) == (("red ball",), ())
    assert causes_of(two, EventKey("falls", "blue box")) == ((), ())
    other = []
    for draft in own:
        first = draft.scene.bodies[0].model_copy(update={"velocity": [0.2, 0.0, 0.0]})
        slow = draft.scene.model_copy(update={"bodies": [first, *draft.scene.bodies[1:]]})
        other.append(draft.model_copy(update={"scene": slow}))
    expected(refusal(all_facts, [other[0], own[1]], processes=1))
    assert "something else happens in one, two than where" in refusal(all_facts, other, processes=1)


def test_a_digest_leaves_out_times_and_what_is_unsure() -> None:
    events = roll_out(prototype()).events
    order = [list(event.key) for event in events]
    later = [event.model_copy(update={"time": event.time + 0.01}) for event in events]
    last = list(events[-1].key)

    def digest(events: list[Event], unsure: list[list[str]]) -> str:
        return digest_events(events, unsure, [key for key in order if key not in unsure], [], None)

    assert digest(events, []) == digest(later, []) and digest(events, [last]) == digest(events[:-1], [last])
    assert len({digest(events, []), digest(events[:-1], []), digest(events[::-1], [])}) == 3


def test_everything_wrong_with_a_file_is_in_one_message(tmp_path: Path, expected: Expected) -> None:
    good = prototype().model_dump(mode="json")
    red, green = good["bodies"][:2]
    lines: list[dict[str, Any]] = [
        {"id": "none", "depth": "deep"},
        {"id": "colour", "bodies": [{**red, "colour": "beige"}]},
        {"id": "sizes", "bodies": [{**red, "size": [0.1, 0.1]}]},
        {"id": "hinge", "bodies": [{**red, "moves": "about its hinge"}]},
        {"id": "inside", "bodies": [red, {**green, "place": [-0.95, 0.0, 0.12]}]},
        {"id": "one_twin"},
        {"id": "one_backwards"},
        {"id": "short", "seconds": 0.1},
        {"id": "nameless", "bodies": [{**red, "name": " "}]},
        {"id": "twice", "bodies": [red, red]},
        {},
    ]
    path = tmp_path / "scenes.jsonl"
    path.write_text("\n".join([json.dumps(good), "{", *(json.dumps(good | one) for one in lines)]) + "\n")
    expected(refusal(read_drafts, path))


def test_what_cannot_be_run_or_shown_and_what_a_draft_does_not_know_is_a_problem() -> None:
    shown = prototype()
    swings = {"moves": "about its hinge", "hinge": Hinge(point=[-1.0, 0.0, 1.0], axis="y")}
    slides = {"shape": "tray", "size": [0.2, 0.2, 0.05]}
    for changes, problem in (
        ({"camera": Camera(place=[0, 0, 3.0], target=[0, 0, 0.2])}, "its camera stands right above or below"),
        ({"light": [0.0, 0.0, 0.0]}, "its light is at the origin"),
        ({"light": [float("nan"), 0.0, 1.0]}, "its camera or its light has numbers that are not finite"),
        ({"bodies": [shown.bodies[0].model_copy(update=swings)]}, "red ball has a velocity, and moves about its hinge"),
        ({"bodies": [shown.bodies[1].model_copy(update=slides)]}, "green ball is a tray and moves freely"),
    ):
        (found,) = problems_of(shown.model_copy(update=changes))
        assert problem in found
    stranger = {"intervention": {"kind": "remove", "bodies": ["pink ball"]}}
    for rest, message in (
        ({"twin": {"body": ball("pink", 0.0).model_dump()}}, "of the scene's bodies"),
        ({"worlds": [stranger]}, "of the scene's bodies"),
        ({"twin": {"body": shown.bodies[0].model_dump()}}, "differ in one field"),
    ):
        with pytest.raises(ValueError, match=message):
            SceneDraft.model_validate({"scene": shown.model_dump(), **rest})


@pytest.mark.slow
def test_a_single_body_has_no_world_without_it_and_no_twin_of_a_family_whose_bodies_it_lacks(tmp_path: Path) -> None:
    alone = scene(ball("red", 0.0, velocity=(1.0, 0.0)), seconds=0.3)
    (draft,) = drafts_of(tmp_path, alone)
    assert {world.intervention.kind for world in draft.worlds} == {"freeze", "delay"}
    for family in ("chain", "occlusion", "pendulum"):
        assert settle(alone.model_copy(update={"family": family})).twin is None


def test_what_was_tried_before_an_interruption_is_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []

    def stop(asked: tuple[str, int, int]) -> TriedScene:
        if tried:
            raise KeyboardInterrupt
        return count(asked)

    def count(asked: tuple[str, int, int]) -> TriedScene:
        """Every third scene can be used."""
        tried.append(asked[2])
        return TriedScene(draft=SceneDraft(scene=draw_scene(*asked))) if asked[2] % 3 == 2 else TriedScene(why="dull")

    def make(number: int, folder: Path | None = tmp_path) -> list[SceneDraft]:
        steps.clear()
        return make_drafts(number, SEED, lambda *step: steps.append(step), [FAMILY], processes=1, folder=folder)

    steps: list[tuple[str, int, int]] = []

    monkeypatch.setattr(drafts, "_try", stop)
    with pytest.raises(KeyboardInterrupt):
        make(5)
    assert tried == [0]
    monkeypatch.setattr(drafts, "_try", count)
    one = make(1)
    assert tried == [0, 1, 2] and steps == [("elastic: scenes", 1, 1)]
    # A call for more goes on where that one ended; one for as many tries none.
    assert make(5) == make(5) and tried == list(range(15))
    assert make(5)[0] == one[0] and make(5) == make(5, None)
    assert steps == [("elastic: scenes", number, 5) for number in range(1, 6)]


def test_scenes_that_were_not_drawn_are_settled_and_may_end_in_what_a_clip_of_another_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def settled(shown: Scene) -> SceneDraft:
        asked.append(shown.id)
        return SceneDraft(scene=shown, unsure=[], digest=f"of {shown.id}")

    asked: list[str] = []
    steps: list[tuple[str, int, int]] = []
    monkeypatch.setattr(drafts, "_settled", settled)
    shown = [prototype().model_copy(update={"id": name}) for name in ("b_twin", "a", "c_backwards")]
    known = SceneDraft(scene=shown[1], unsure=[], digest="known")
    path = tmp_path / "scenes.jsonl"
    write_drafts([SceneDraft(scene=shown[0]), known, SceneDraft(scene=shown[2])], path)
    found = read_drafts(path, lambda *step: steps.append(step), processes=1)
    assert [draft.digest for draft in found] == ["of b_twin", "known", "of c_backwards"] and asked == [
        "b_twin", "c_backwards",
    ]  # fmt: skip
    assert steps == [("scenes of one's own", number, 2) for number in (1, 2)]


def plain_facts(draft: SceneDraft) -> Facts:
    events = [Event(kind="starts", time=time, body="red ball") for time in (0.1, 0.9)]
    return Facts(scene=draft.scene, events=events, worlds=[], lost_energy=0.5)


def test_scenes_in_which_something_else_happens_are_counted_where_they_are_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = [SceneDraft(scene=prototype().model_copy(update={"id": name})) for name in "abcdefg"]
    for differing, named in (("", ""), ("b", "b"), ("abcde", "a, b, c, d, e"), ("abdefg", "a, b, d, e, f and 1 more")):
        steps: list[tuple[str, int, int]] = []
        monkeypatch.setattr(
            drafts, "_facts", lambda one, differing=differing: (plain_facts(one), one.scene.id in differing)
        )

        def find(steps: list[tuple[str, int, int]] = steps) -> list[Facts]:
            return all_facts(own, lambda *step: steps.append(step), processes=1)

        if named:
            assert f"something else happens in {named} than where" in refusal(find)
        else:
            assert find() == list(map(plain_facts, own))
        assert steps == [("scenes", number, 7) for number in range(1, 8)]


def test_what_is_known_of_scenes_is_kept_by_parts_with_what_is_seen_and_computed_again_where_it_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[str] = []
    own = [SceneDraft(scene=prototype().model_copy(update={"id": name})) for name in "abc"]
    sights = [Sight(body="red ball", time=time, box=[0, 0, 9, 9], visible=1.0) for time in (0.0, 0.25)]
    sights += [Sight(body="green ball", time=time, box=[0, 0, 9, 9], visible=1.0) for time in (0.0, 0.25, 0.5)]

    def run(part: list[SceneDraft], progress: object) -> list[Facts]:
        computed.extend(draft.scene.id for draft in part)
        return list(map(plain_facts, part))

    def known() -> tuple[list[str], list[Facts]]:
        computed.clear()
        steps: list[tuple[str, int, int]] = []
        found = known_facts(own, tmp_path / "work", lambda *step: steps.append(step))
        assert steps == [("scenes that are known", 2, 3), ("scenes that are known", 3, 3)]
        return list(computed), found

    monkeypatch.setattr(drafts, "AT_ONCE", 2)
    monkeypatch.setattr(drafts, "all_facts", run)
    monkeypatch.setattr(drafts, "see", lambda scenes, progress: [sights] * len(scenes))
    asked, facts = known()
    assert asked == ["a", "b", "c"] and [one.scene.id for one in facts] == asked
    for one in facts:
        assert one.sights == sights
        assert [(event.kind, event.time) for event in one.events] == [
            ("starts", 0.1), ("leaves view", 0.5), ("starts", 0.9),
        ]  # fmt: skip
    assert known() == ([], facts)
    for path in (tmp_path / "work").iterdir():
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(lines[:1]) if len(lines) == 2 else "{}\n")
    assert known() == (["a", "b", "c"], facts) and known() == ([], facts)
    # What is known of other scenes, or by another version, is in files of its own.
    own[2] = SceneDraft(scene=prototype().model_copy(update={"id": "d"}))
    assert known()[0] == ["d"]
    for name in ("FACTS", "LOOK"):
        with monkeypatch.context() as patch:
            patch.setattr(drafts, name, 99)
            assert known()[0] == ["a", "b", "d"]


def test_all_clips_of_a_build_that_are_not_there_are_rendered_when_the_first_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def film(clips: list[SceneClip], folder: Path, progress: object) -> None:
        filmed.append([clip.name for clip in clips])
        for clip in clips:
            plain_clip((clip, folder / clip.name))

    filmed: list[list[str]] = []
    monkeypatch.setattr(drafts, "film", film)
    shown = [SceneClip(prototype().model_copy(update={"id": name})) for name in "abc"]
    folders = [tmp_path / name for name in ("work", "old", "current")]
    for folder in folders:
        folder.mkdir()
    plain_clip((shown[1], folders[2] / "b.mp4"))
    shooting = Shooting(shown, folders[0], folders[1:], no_progress)
    made = [RenderedClip(clip, shooting) for clip in shown]
    assert filmed == [] and [clip.size for clip in made] == [90_000] * 3
    for number in (2, 0):
        path = tmp_path / f"{number}.mp4"
        made[number].make(path)
        assert [clip.is_made(path) for clip in made] == [place == number for place in range(3)]
        assert path.read_bytes() == (folders[0] / shown[number].name).read_bytes()
    assert filmed == [["a.mp4", "c.mp4"]]


@pytest.mark.slow
def test_processes_give_what_one_gives_in_the_same_order() -> None:
    for processes in (1, 2):
        with Workers(processes) as workers:
            assert list(workers.map(abs, range(-9, 0))) == list(range(9, 0, -1))


@pytest.mark.slow
def test_a_draft_is_drawn_the_same_and_its_twin_differs_in_one_field_and_in_what_happens(expected: Expected) -> None:
    (draft,) = make_drafts(1, SEED, names=[FAMILY], processes=1)
    expected.digests({draft.scene.id: draft.model_dump_json()})
    twin = all_facts([draft], processes=1)[0].twin
    assert twin is not None and twin.scene.id == f"{draft.scene.id}_twin"
    before, after = draft.scene.body(twin.body), twin.scene.body(twin.body)
    assert changed_field(before, after) == twin.parameter
    assert [body for body in draft.scene.bodies if body not in twin.scene.bodies] == [before]
    one, other = ({event.key for event in roll_out(which).events} for which in (draft.scene, twin.scene))
    assert twin.differs and {tuple(key) for key in twin.differs} <= one ^ other
    assert twin.same_start == (twin.parameter in ("velocity", "mass", "friction", "bounce"))


def only_family(monkeypatch: pytest.MonkeyPatch, *bodies: Any) -> None:
    """The only family there is draws a scene of these bodies."""

    def draw(scene_id: str, seed: int, random: np.random.Generator) -> Scene:
        return scene(*bodies, name=scene_id, seconds=1.5 if len(bodies) > 2 else 0.5)

    monkeypatch.setattr(drafts, "families", lambda: {"odd": SceneFamily("odd", draw, lambda shown, random: ())})


@pytest.mark.slow
def test_what_is_drawn_is_to_the_bit_what_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """-0 equals the default of 0, which files leave out; a clip's digest would tell them apart."""
    first, *others = prototype().bodies
    only_family(monkeypatch, first.model_copy(update={"turn": [0.0, 0.0, -0.0]}), *others)
    new, read = (make_drafts(1, 1, processes=1, folder=tmp_path) for _ in range(2))
    assert [draft.model_dump_json() for draft in new] == [draft.model_dump_json() for draft in read]


@pytest.mark.slow
def test_a_family_whose_scenes_are_all_thrown_away_is_named_with_the_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "MOST_DRAWN", 1)
    for first, x, why in (
        (ball("red", 0.0), 0.6, "nothing happens"),
        (ball("red", 0.0, place=[0.0, 0.0, 0.8]), 0.6, "no body's removal changes"),
        (ball("red", 0.0), 0.1, "it cannot be run"),
    ):
        only_family(monkeypatch, first, ball("green", x))
        with pytest.raises(InputError, match=rf"Of 2 drawn scenes of the family odd only 0 can be used.*{why}.*2"):
            make_drafts(1, 0, processes=1)
    with pytest.raises(InputError, match="There is no family hovercraft; there are odd"):
        make_drafts(1, 0, names=["hovercraft", "odd"], processes=1)
