"""Pairs of clips: minimal pairs, broken principles, and clips that run backward."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from made_facts import body, made_set, one_scene
from read_wording import read_event

from lmms_eval_tasks.worlds.questions.askable import Askable
from lmms_eval_tasks.worlds.questions.question import Question
from lmms_eval_tasks.worlds.questions.two_clips import arrow_of, broken_principles, clip_pairs, differing
from lmms_eval_tasks.worlds.scenes.scene import Event, EventKey, Twin, Violation

SCENES = 75
BODIES = ["red ball", "blue box", "green ball"]


def groups_of(task: str) -> list[tuple[Question, Question]]:
    """Pairs with the scene's own clip first, though it stands first in about half of them."""
    _, questions = made_set(SCENES)
    found = [one for one in questions if one.task == task]
    assert len(found) % 2 == 0
    pairs = list(zip(found[::2], found[1::2], strict=True))
    assert pairs
    assert all(one.group_id == other.group_id for one, other in pairs)
    firsts = [one.clip == f"{one.scene}.mp4" for one, _ in pairs]
    assert 0.3 < sum(firsts) / len(firsts) < 0.7
    return [(one, other) if first else (other, one) for first, (one, other) in zip(firsts, pairs, strict=True)]


@pytest.mark.slow
def test_each_clip_of_a_minimal_pair_shows_its_own_option() -> None:
    facts, _ = made_set(SCENES)
    known = {one.scene.id: one for one in facts}
    for pair in groups_of("minimal"):
        scene = known[pair[0].scene]
        clips = {f"{scene.scene.id}.mp4": scene.events, f"{scene.scene.id}_twin.mp4": scene.twin.events}
        assert {one.clip for one in pair} == set(clips)
        assert len({(one.question, tuple(one.options), one.same_start) for one in pair}) == 1
        for one in pair:
            keys = {event.key for event in clips[one.clip]}
            true = [(key in keys) == affirmed for key, affirmed in map(read_event, one.options)]
            assert true == ["AB"[place] == one.answer for place in range(2)]


@pytest.mark.slow
def test_a_possible_clip_is_beside_one_that_breaks_a_principle() -> None:
    facts, _ = made_set(SCENES)
    known = {one.scene.id: one for one in facts}
    for possible, broken in groups_of("possible"):
        assert (possible.answer, broken.answer) == ("A", "B")
        assert possible.options == broken.options == ["Yes.", "No."]
        assert possible.clip == f"{possible.scene}.mp4"
        assert broken.clip == f"{broken.scene}_breaks_{broken.principle}.mp4"
        assert broken.principle in {one.principle for one in known[broken.scene].violations}


@pytest.mark.slow
def test_a_clip_and_its_reversal_are_asked_about_by_their_arrow_of_time() -> None:
    facts, _ = made_set(SCENES)
    lost = {one.scene.id: one.lost_energy for one in facts}
    asked = groups_of("reversal")
    for forward, backward in asked:
        assert (forward.clip, backward.clip) == (f"{forward.scene}.mp4", f"{forward.scene}_backwards.mp4")
        assert forward.options == backward.options
        assert forward.options["AB".index(forward.answer)] == "It runs forward."
        assert backward.options["AB".index(backward.answer)] == "It runs backward."
    assert {one.scene: one.arrow for one, _ in asked} == {
        scene: "strong" if share == 0.5 else "none" for scene, share in lost.items() if share != 0.1
    }


@pytest.mark.parametrize(
    ("lost", "arrow"), [(1.0, "strong"), (0.2, "strong"), (0.19, ""), (0.03, ""), (0.029, "none"), (0.0, "none")]
)
def test_the_arrow_of_time_is_strong_or_none_or_not_asked_about(lost: float, arrow: str) -> None:
    assert arrow_of(one_scene([], [body("red ball")], lost_energy=lost)) == arrow


def twin_scene(here: list[Event], there: list[Event], **fields: object) -> Askable:
    bodies = [body(name) for name in BODIES]
    facts = one_scene(here, bodies, **fields)
    differs = {event.key for event in here} ^ {event.key for event in there}
    twin = Twin(
        scene=facts.scene.model_copy(update={"id": "one_twin"}),
        body="red ball",
        parameter="velocity",
        events=there,
        differs=[list(key) for key in sorted(differs)],
        same_start=False,
    )
    return Askable(facts.model_copy(update={"twin": twin}))


def test_two_events_that_differ_the_other_way_round_make_one_question() -> None:
    falls = Event(kind="falls", time=1.0, body="blue box")
    starts = Event(kind="starts", time=1.0, body="green ball")
    (pair,) = clip_pairs(twin_scene([falls], [starts]), np.random.default_rng(0))
    assert (pair.kind, pair.here, pair.there) == ("which", "The blue box falls.", "The green ball starts to move.")
    (pair,) = clip_pairs(twin_scene([], [falls]), np.random.default_rng(0))
    assert (pair.kind, pair.here, pair.there) == ("whether", "The blue box does not fall.", "The blue box falls.")


def test_what_is_unsure_or_rests_in_one_clip_alone_makes_no_minimal_pair() -> None:
    falls = Event(kind="falls", time=1.0, body="blue box")
    stops = Event(kind="stops", time=2.0, body="green ball")
    scene = twin_scene([falls, stops], [], unsure=[["falls", "blue box", ""]])
    assert scene.facts.twin is not None
    assert differing(scene, scene.facts.twin) == ([], [])
    assert differing(twin_scene([falls], []), twin_scene([falls], []).facts.twin) == (  # type: ignore[arg-type]
        [EventKey("falls", "blue box")],
        [],
    )


def test_without_a_twin_there_is_no_minimal_pair() -> None:
    assert clip_pairs(Askable(one_scene([], [body("red ball")])), np.random.default_rng(0)) == []


def test_principles_that_are_wanted_come_first_and_each_once() -> None:
    violations = [
        Violation(principle=principle, body="red ball", time=1.0)
        for principle in ("permanence", "permanence", "gravity", "inertia")
    ]
    facts = one_scene([], [body("red ball")], violations=violations)
    counts: Counter[str] = Counter()
    for seed in range(20):
        chosen = broken_principles(facts, np.random.default_rng(seed), ["inertia", "gravity"])
        counts.update(one.principle for one, _ in chosen)
        assert len({number for _, (_, number) in chosen}) == 2
    assert counts == {"inertia": 20, "gravity": 20}
    scenery = one_scene([], [body("red ball", scenery=True)], violations=violations)
    assert broken_principles(scenery, np.random.default_rng(0)) == []
