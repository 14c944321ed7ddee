"""Causes of events, in scenes in which they are known beforehand."""

from __future__ import annotations

import pytest

pytest.importorskip("mujoco", reason="the extra worlds is not installed")

from causal_worlds import both_at_once, independent, known_by_removal, one_after_the_other, prototype, starts

from lmms_eval_tasks.worlds.physics.other_worlds import first_movers, pairs_to_remove, singles
from lmms_eval_tasks.worlds.questions.causes import causes_of
from lmms_eval_tasks.worlds.scenes.scene import Event, EventKey, Scene, last_to_hit

RED, GREEN, BLUE = "red ball", "green ball", "blue ball"


def test_a_body_in_the_middle_of_a_row_is_a_cause_that_another_would_have_replaced() -> None:
    causes = causes_of(known_by_removal(prototype()), starts("blue", "box"))
    assert causes.but_for == (RED,)
    assert causes.preempting == ((GREEN, RED),)
    assert causes.together == ()


def test_two_bodies_of_which_either_is_enough_are_both_causes_and_neither_is_needed() -> None:
    shown = both_at_once()
    for key in (starts("blue", "box"), EventKey("falls", "blue box")):
        causes = causes_of(known_by_removal(shown, [(RED, GREEN)]), key)
        assert causes.but_for == ()
        assert causes.together == ((GREEN, RED),)
        assert causes.preempting == ()


def test_who_comes_first_is_the_cause_and_who_would_have_come_is_none() -> None:
    causes = causes_of(known_by_removal(one_after_the_other(), [(RED, GREEN)]), starts("blue"))
    assert causes.but_for == causes.together == ()
    assert causes.preempting == ((RED, GREEN),)
    assert causes.without_part == (GREEN,)


def test_what_happens_elsewhere_is_no_cause() -> None:
    causes = causes_of(known_by_removal(independent()), starts("blue"))
    assert (causes.but_for, causes.without_part) == ((RED,), (GREEN, "white ball"))


def test_what_is_unsure_is_neither_cause_nor_none() -> None:
    facts = known_by_removal(independent())
    worlds = [
        world.model_copy(update={"unsure": [list(starts("blue"))]}) if world.intervention.bodies == [GREEN] else world
        for world in facts.worlds
    ]
    causes = causes_of(facts.model_copy(update={"worlds": worlds}), starts("blue"))
    assert causes.unsure == (GREEN,)
    assert GREEN not in causes.without_part


def test_what_does_not_happen_has_no_causes() -> None:
    facts = known_by_removal(independent())
    with pytest.raises(ValueError, match="Expected something that surely happens in one, but got falls blue ball"):
        causes_of(facts, EventKey("falls", BLUE))
    unsure = facts.model_copy(update={"unsure": [list(starts("blue"))]})
    with pytest.raises(ValueError, match="starts blue ball"):
        causes_of(unsure, starts("blue"))


@pytest.mark.parametrize(
    ("shown", "pairs"), [(both_at_once(), [[GREEN, RED]]), (one_after_the_other(), [[GREEN, RED]])]
)
def test_pairs_are_removed_where_no_single_removal_prevents(shown: Scene, pairs: list[list[str]]) -> None:
    facts = known_by_removal(shown)
    assert [one.bodies for one in pairs_to_remove(facts.events, [], facts.worlds)] == pairs


def test_no_pair_is_removed_where_one_body_is_needed() -> None:
    for shown in (prototype(), independent()):
        facts = known_by_removal(shown)
        assert pairs_to_remove(facts.events, [], facts.worlds) == []


def test_the_first_movers_are_those_that_no_other_sets_in_motion() -> None:
    facts = known_by_removal(independent())
    assert first_movers(facts.scene, facts.events) == [RED, GREEN]


def test_what_a_falling_body_knocks_over_is_not_what_makes_it_fall() -> None:
    """A domino has hit the next one before it has tipped over."""
    events = [
        Event(kind="hits", time=0.5, body=RED, other=GREEN),
        Event(kind="starts", time=0.55, body=GREEN),
        Event(kind="hits", time=0.8, body=GREEN, other=BLUE),
        Event(kind="starts", time=0.85, body=BLUE),
        Event(kind="falls", time=0.9, body=GREEN),
    ]
    assert last_to_hit(events, EventKey("falls", GREEN)) == RED
    # What it hits and does not move may turn it aside.
    assert last_to_hit([*events[:3], *events[4:]], EventKey("falls", GREEN)) == BLUE


def test_only_what_moves_at_once_is_delayed() -> None:
    """The box rests until the ball that carries it is hit away; "if it had set off later" would not say when."""
    shown = independent()
    held = [shown.bodies[0].model_copy(update={"velocity": [0.0, 0.0, 0.0]}), *shown.bodies[1:]]
    starts_alone = Event(kind="starts", time=0.3, body=RED)
    _, later = singles(shown.model_copy(update={"bodies": held}), [starts_alone])
    assert [(one.kind, one.bodies) for one in later] == [("freeze", [GREEN]), ("freeze", [RED]), ("delay", [GREEN])]
