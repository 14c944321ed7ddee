"""Counterfactual questions, answered again from the other worlds, and the reader of what was seen."""

from __future__ import annotations

from collections import Counter

import pytest
from made_facts import body, made_set, one_scene, world_of

from lmms_eval_tasks.api.answers import NO, YES
from lmms_eval_tasks.worlds.questions.askable import Askable
from lmms_eval_tasks.worlds.questions.causes import answer_of_seen_graph, reaches
from lmms_eval_tasks.worlds.questions.counterfactual import suppositions
from lmms_eval_tasks.worlds.scenes.scene import Event, EventKey, Intervention, World

SCENES = 75
CHAIN = [
    Event(kind="hits", time=0.5, body="red ball", other="green ball"),
    Event(kind="starts", time=0.51, body="green ball"),
    Event(kind="hits", time=1.0, body="green ball", other="blue box"),
    Event(kind="falls", time=1.2, body="blue box"),
    Event(kind="hits", time=2.0, body="white ball", other="blue box"),
]
NAMES = ("red ball", "green ball", "blue box", "white ball")


def counterfactual():
    facts, questions = made_set(SCENES)
    known = {one.scene.id: one for one in facts}
    return [(known[one.scene], one) for one in questions if one.task == "counterfactual"]


@pytest.mark.slow
def test_the_answer_is_what_the_other_world_says() -> None:
    asked = counterfactual()
    assert {one.intervention for _, one in asked} == {"remove", "freeze", "delay"}
    assert {len(one.changed.split(" and ")) for _, one in asked} == {1, 2}
    for facts, question in asked:
        key = EventKey(*question.outcome)
        changed = question.changed.split(" and ")
        says = world_of(facts, question.intervention, *changed).says(key)
        assert question.answer == {True: YES, False: NO}[says]
        assert not {key.body, key.other} & set(changed)
        assert question.options == []
        for name in (*changed, key.body, *([key.other] if key.other else [])):
            assert f"the {name}" in question.question.replace("The ", "the ")


@pytest.mark.slow
def test_levels_are_by_what_touches_in_the_clip() -> None:
    for facts, question in counterfactual():
        key = EventKey(*question.outcome)
        assert facts.says(key) is not None
        touched = any(
            event.kind == "hits"
            and set(question.changed.split(" and ")) & {event.body, event.other}
            and {event.body, event.other} & {key.body, key.other}
            for event in facts.events
        )
        expected = "absent" if not facts.says(key) else "direct" if touched else "chain"
        assert question.level == expected
        assert ("still" in question.question.split()) >= (question.level != "absent")


@pytest.mark.slow
def test_yes_is_as_frequent_as_no_by_level_kind_and_wording() -> None:
    sums: Counter[tuple[object, ...]] = Counter()
    for _, question in counterfactual():
        sign = 1 if question.answer == YES else -1
        changed = len(question.changed.split(" and "))
        sums[question.level, question.intervention, changed, question.kind, question.wording] += sign
    assert set(sums.values()) == {0}
    assert {key[0] for key in sums} >= {"direct", "chain", "absent"}


@pytest.mark.slow
def test_no_colour_or_shape_goes_with_an_answer() -> None:
    sums: Counter[tuple[str, ...]] = Counter()
    times: Counter[tuple[str, ...]] = Counter()
    for facts, question in counterfactual():
        sign = 1 if question.answer == YES else -1
        changed = [("changed", name) for name in question.changed.split(" and ")]
        for part, name in (*changed, ("outcome", question.outcome[1])):
            found = facts.scene.body(name)
            for trait in (found.shape, found.colour):
                sums[question.level, question.intervention, part, trait] += sign
                times[question.level, question.intervention, part, trait] += 1
    assert all(abs(number) <= max(6, 1.5 * times[trait] ** 0.5) for trait, number in sums.items())


@pytest.mark.slow
def test_most_groups_are_two_of_one_scene_with_opposite_answers() -> None:
    groups: dict[str, list] = {}
    for _, question in counterfactual():
        groups.setdefault(question.group_id, []).append(question)
    pairs = [members for members in groups.values() if len(members) > 1]
    assert len(pairs) > len(groups) / 2
    for members in pairs:
        assert sorted(one.answer for one in members) == [NO, YES]
        assert len({(one.scene, one.level, one.wording) for one in members}) == 1


@pytest.mark.slow
def test_what_the_graph_of_what_was_seen_gets_wrong_is_marked() -> None:
    asked = counterfactual()
    for facts, question in asked:
        key = EventKey(*question.outcome)
        assert question.seen == answer_of_seen_graph(facts, question.changed.split(" and "), key)
        assert question.marked == (question.seen != question.answer)
    assert 0.1 < sum(one.marked for _, one in asked) / len(asked) < 0.7


@pytest.mark.parametrize(
    ("changed", "key", "answer"),
    [
        ("red ball", EventKey("falls", "blue box"), NO),
        ("green ball", EventKey("falls", "blue box"), NO),
        ("white ball", EventKey("falls", "blue box"), YES),
        ("blue box", EventKey("starts", "green ball"), YES),
        ("red ball", EventKey("hits", "blue box", "green ball"), NO),
        ("white ball", EventKey("falls", "green ball"), NO),
    ],
)
def test_the_graph_of_what_was_seen_follows_hits_in_the_order_of_time(changed: str, key: EventKey, answer: str) -> None:
    assert answer_of_seen_graph(one_scene(CHAIN, [body(name) for name in NAMES]), changed, key) == answer


def test_of_two_changed_bodies_one_with_a_path_is_enough() -> None:
    facts = one_scene(CHAIN, [body(name) for name in NAMES])
    falls = EventKey("falls", "blue box")
    assert answer_of_seen_graph(facts, ["white ball", "red ball"], falls) == NO
    assert answer_of_seen_graph(facts, ["white ball"], falls) == YES


def test_two_bodies_can_be_supposed_away_together() -> None:
    pair = World(intervention=Intervention(kind="remove", bodies=["red ball", "white ball"]), events=[])
    held = World(intervention=Intervention(kind="freeze", bodies=["red ball", "white ball"]), events=[])
    facts = one_scene(CHAIN, [body(name) for name in NAMES], worlds=[pair, held])
    asked = [one for one in suppositions(Askable(facts)) if one.key == EventKey("falls", "blue box")]
    assert [(one.kind, one.changed, one.verdict) for one in asked] == [("remove", "red ball and white ball", NO)]
    assert asked[0].text(0) == (
        "Had the red ball and the white ball not been there, would the blue box still have fallen?"
    )


def test_a_hit_that_sets_nothing_off_is_no_link() -> None:
    events = [event for event in CHAIN if event.kind != "starts"]
    facts = one_scene(events, [body(name) for name in NAMES])
    assert not reaches(facts, "red ball", EventKey("falls", "blue box"))
    assert reaches(facts, "green ball", EventKey("falls", "blue box"))


def test_later_links_lead_to_nothing_earlier() -> None:
    events = [event.model_copy(update={"time": 1.1}) if event.time < 0.52 else event for event in CHAIN]
    assert not reaches(one_scene(events, [body(name) for name in NAMES]), "red ball", EventKey("falls", "blue box"))


def test_nothing_unsure_is_supposed() -> None:
    falls = EventKey("falls", "blue box")
    world = World(intervention=Intervention(kind="remove", bodies=["red ball"]), events=[], unsure=[list(falls)])
    facts = one_scene(CHAIN, [body(name) for name in NAMES], worlds=[world])
    asked = {one.key for one in suppositions(Askable(facts))}
    assert EventKey("starts", "green ball") in asked
    assert falls not in asked
    unsure_here = facts.model_copy(update={"unsure": [["starts", "green ball", ""]]})
    assert EventKey("starts", "green ball") not in {one.key for one in suppositions(Askable(unsure_here))}


def test_an_event_of_the_changed_body_is_not_asked_about() -> None:
    world = World(intervention=Intervention(kind="freeze", bodies=["green ball"]), events=CHAIN[:1])
    facts = one_scene(CHAIN, [body(name) for name in NAMES], worlds=[world])
    assert all("green ball" not in (one.key.body, one.key.other) for one in suppositions(Askable(facts)))
