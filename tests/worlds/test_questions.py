"""What is asked about scenes of a few events: what touches, causes, pairs of clips, and how it is put into words."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest
from expected import Expected
from made_facts import body, one_scene
from read_wording import read_body

from lmms_eval_tasks.api.answers import NO, YES
from lmms_eval_tasks.worlds.questions import wording
from lmms_eval_tasks.worlds.questions.askable import VIEWED, Askable, touching_at_start
from lmms_eval_tasks.worlds.questions.balance import Balance
from lmms_eval_tasks.worlds.questions.cause_and_effect import Instance, as_released, cause_sketch, instances_of
from lmms_eval_tasks.worlds.questions.causes import answer_of_seen_graph
from lmms_eval_tasks.worlds.questions.counterfactual import WORDINGS, Supposition, suppositions
from lmms_eval_tasks.worlds.questions.perception import _order
from lmms_eval_tasks.worlds.questions.two_clips import arrow_of, broken_principles, clip_pairs, differing
from lmms_eval_tasks.worlds.scenes.scene import (
    Body,
    Event,
    EventKey,
    Facts,
    Intervention,
    Sight,
    Twin,
    Violation,
    World,
)

HITS = EventKey("hits", "blue box", "red ball")
FALLS = EventKey("falls", "blue box")
ENTERS = EventKey("enters", "red ball", "white tray")


def event(kind: str, time: float, name: str, other: str = "") -> Event:
    return Event.model_validate({"kind": kind, "time": time, "body": name, "other": other})


def without(name: str, *events: Event, unsure: tuple[EventKey, ...] = (), kind: str = "remove") -> World:
    change = Intervention.model_validate({"kind": kind, "bodies": sorted(name.split(" and "))})
    return World(intervention=change, events=list(events), unsure=[list(key) for key in unsure])


def seen(shares: dict[str, float], times: tuple[float, ...] = (0.0, 0.25)) -> list[Sight]:
    box = [0.0, 0.0, 9.0, 9.0]
    return [Sight(body=name, time=time, box=box, visible=share) for time in times for name, share in shares.items()]


CHAIN = [
    event("hits", 0.5, "red ball", "green ball"),
    event("starts", 0.51, "green ball"),
    event("hits", 1.0, "green ball", "blue box"),
    event("falls", 1.2, "blue box"),
    event("hits", 2.0, "white ball", "blue box"),
]


def chain(events: list[Event] = CHAIN, **fields: Any) -> Facts:
    return one_scene(events, [body(name) for name in ("red ball", "green ball", "blue box", "white ball")], **fields)


def placed(name: str, x: float, z: float, size: list[float], **fields: Any) -> Body:
    return body(name, place=[x, 0.0, z], size=size, **fields)


CUBE = [0.1, 0.1, 0.1]
LOWER, UPPER = placed("red box", 0.0, 0.1, CUBE), placed("blue box", 0.0, 0.3, CUBE)


@pytest.mark.parametrize(
    ("upper", "touches"),
    [
        (UPPER, True),
        (placed("blue box", 0.0, 0.35, CUBE), False),
        (placed("blue ball", 0.15, 0.28, [0.08]), True),
        (placed("blue ball", 0.3, 0.28, [0.08]), False),
        (placed("blue cylinder", 0.0, 0.4, [0.05, 0.2]), True),
        (placed("blue cylinder", 0.0, 0.45, [0.05, 0.2]), False),
        # A thin board that lies is 0.6 long, and one that stands is 0.6 high.
        (placed("blue plank", 0.35, 0.1, [0.3, 0.1, 0.02]), True),
        (placed("blue plank", 0.35, 0.3, [0.3, 0.1, 0.02], turn=[0.0, 90.0, 0.0]), False),
        (placed("blue plank", 0.0, 0.5, [0.3, 0.1, 0.02], turn=[0.0, 90.0, 0.0]), True),
        (placed("blue box", 0.0, 0.3, CUBE, scenery=True), False),
    ],
)
def test_bodies_touch_at_the_start_where_their_boxes_do(upper: Body, touches: bool) -> None:
    assert touching_at_start(one_scene([], [LOWER, upper]).scene) == ([{"red box", upper.name}] if touches else [])


def test_what_holds_a_body_touches_it_though_nothing_hits() -> None:
    away = placed("white box", 1.0, 0.1, CUBE)
    scene = Askable(one_scene([event("falls", 1.0, "blue box")], [LOWER, UPPER, away]))
    assert scene.touches(["red box"], FALLS) and not scene.touches(["white box"], FALLS)


def test_only_what_the_bodies_can_do_and_what_is_surely_seen_is_asked_about() -> None:
    bodies = [body("red ball", 1.0), body("blue box"), body("white wall", moves="not at all")]
    assert Askable(one_scene([event("hits", 1.0, "red ball", "blue box")], bodies)).absent() == [
        EventKey("hits", "red ball", "white wall"), EventKey("hits", "blue box", "white wall"),
        EventKey("stops", "red ball"), EventKey("falls", "red ball"), EventKey("starts", "blue box"), FALLS,
    ]  # fmt: skip
    bodies = [body("red ball", 1.0), body("blue box"), body("grey wall", scenery=True, moves="not at all")]
    events = [
        event("hits", 0.5, "red ball", "grey wall"), event("hits", 1.0, "red ball", "blue box"),
        event("falls", 1.5, "blue box"),
    ]  # fmt: skip
    scene = Askable(one_scene(events, bodies, unsure=[["falls", "blue box", ""], ["starts", "blue box", ""]]))
    assert [one.key for one in scene.happened()] == [HITS]
    assert scene.absent() == [EventKey("stops", "red ball"), EventKey("falls", "red ball")]


def test_only_what_is_clearly_seen_all_the_time_is_never_out_of_sight() -> None:
    bodies = [body("red ball"), body("blue box"), body("pink box")]
    sights = [*seen({"red ball": 0.9, "blue box": 0.4}), *seen({"pink box": 0.9}, (0.25,))]
    assert Askable(one_scene([], bodies, sights=sights)).absent(VIEWED) == [
        EventKey("leaves view", "red ball"), EventKey("comes into view", "red ball")
    ]  # fmt: skip
    assert Askable(one_scene([], bodies)).absent(VIEWED) == []


def test_a_body_that_is_never_seen_is_in_no_question() -> None:
    bodies = [body("red ball", 1.0), body("blue box"), body("green ball"), body("white ball")]
    shown = event("hits", 2.0, "red ball", "blue box")
    always = {"red ball": 1.0, "blue box": 0.6, "white ball": 0.2}
    sights = [*seen({**always, "green ball": 0.0}, (0.0,)), *seen({**always, "green ball": 0.75}, (0.25,))]
    scene = Askable(one_scene([event("hits", 1.0, "red ball", "white ball"), shown], bodies, sights=sights))
    assert scene.actors == ("red ball", "blue box", "green ball") and scene.seen_at_start == ("red ball", "blue box")
    assert scene.happened() == [shown]
    assert all("white ball" not in (key.body, key.other) for key in scene.absent())


def test_what_happens_again_is_not_said_to_be_last() -> None:
    bodies = [body("red ball", 1.0), body("blue box"), body("green ball")]
    hits = [event("hits", 1.0, "red ball", "blue box"), event("hits", 2.0, "red ball", "green ball")]
    for again, kinds in (([], {"first", "last"}), ([list(hits[0].key)], {"first"})):
        scene = Askable(one_scene(hits, bodies, again=again))
        drawn = [_order(scene, np.random.default_rng(seed)) for seed in range(40)]
        assert {sketch.kind for sketch in drawn if sketch is not None} == kinds


def causes_asked(facts: Facts) -> set[tuple[str, str, bool]]:
    """Of the questions why the blue box falls: the kind, the body of an option, and whether it is right."""
    scene, rng = Askable(facts), np.random.default_rng(0)
    drawn = [cause_sketch(scene, rng, "paired", 2, needed) for _ in range(100) for needed in (True, False)]
    of_fall = [sketch for sketch in drawn if sketch is not None and sketch.about == (FALLS,)]
    return {(one.kind, read_body(option), option == one.right) for one in of_fall for option in one.options}


def test_a_body_that_another_would_have_replaced_is_asked_about_in_neither_way() -> None:
    """Green knocks the box over; without it red would have. Green had a part, and was not needed."""
    knocks, falls = event("hits", 1.0, "green ball", "blue box"), event("falls", 1.6, "blue box")
    names = ("red ball", "green ball", "white box", "pink box", "black box", "yellow ball", "blue box")
    worlds = [
        without("green ball", event("hits", 1.4, "red ball", "blue box"), falls),
        without("red ball", knocks, falls), without("yellow ball"), without("white box", knocks, falls),
        without("pink box", unsure=(FALLS,)), without("black box", knocks),
    ]  # fmt: skip
    found = causes_asked(one_scene([knocks, falls], [body(name) for name in names], worlds=worlds))
    assert {kind for kind, *_ in found} == {"cause of falls", "cause not of falls"}
    assert {name for _, name, _ in found} == {"yellow ball", "black box", "white box", "red ball"}
    assert {name for kind, name, right in found if right and "not" in kind} == {"white box", "red ball"}


def test_a_link_of_the_chain_that_was_not_needed_is_asked_about_in_neither_way() -> None:
    """Red hits white, which hits the box; without white, red hits it. White was seen to do it, and was not needed."""
    events = [
        event("hits", 0.5, "red ball", "white box"), event("starts", 0.5, "white box"),
        event("hits", 1.0, "white box", "pink box"), event("starts", 1.0, "pink box"),
        event("hits", 1.3, "pink box", "blue box"), event("falls", 1.5, "blue box"),
    ]  # fmt: skip
    left = {"red ball": [], "pink box": [], "white box": events[3:], "black box": events, "yellow ball": events}
    worlds = [without(name, *rest) for name, rest in left.items()]
    found = causes_asked(one_scene(events, [body(name) for name in (*left, "blue box")], worlds=worlds))
    assert {name for _, name, _ in found} == {"red ball", "pink box", "black box", "yellow ball"}


def test_evidence_lies_around_the_last_act_of_the_cause_and_around_the_effect() -> None:
    names = ("red ball", "green ball", "blue box")
    events = [
        event("hits", 0.4, "red ball", "green ball"), event("hits", 2.6, "green ball", "blue box"),
        event("falls", 2.9, "blue box"),
    ]  # fmt: skip
    sights = [
        Sight(body=name, time=step / 4, box=[step, 0.0, step + 9, 9.0], visible=1.0)
        for step in range(16)
        for name in names
    ]
    facts = one_scene(events, [body(name) for name in names], sights=sights)
    found = instances_of(facts, "red ball", FALLS)
    assert found == [
        Instance("red ball", "cause", 0, 1, {0: [0.0, 0.0, 9.0, 9.0], 1: [4.0, 0.0, 13.0, 9.0]}),
        Instance("blue box", "effect", 2, 3, {2: [8.0, 0.0, 17.0, 9.0], 3: [12.0, 0.0, 21.0, 9.0]}),
    ]
    (first, _) = json.loads(as_released(found))
    assert (first["evidence_start_time"], first["evidence_end_time"]) == ("00:00", "00:01")
    hidden = [sight for sight in sights if sight.body != "red ball" or sight.time < 1]
    assert instances_of(facts.model_copy(update={"sights": hidden}), "red ball", FALLS) == []


WITHOUT_START = [one for one in CHAIN if one.kind != "starts"]
LATE_START = [one.model_copy(update={"time": 1.1}) if one.time < 0.52 else one for one in CHAIN]


@pytest.mark.parametrize(
    ("changed", "key", "answer", "events"),
    [
        ("red ball", FALLS, NO, CHAIN),
        ("green ball", FALLS, NO, CHAIN),
        ("white ball", FALLS, YES, CHAIN),
        (["white ball", "red ball"], FALLS, NO, CHAIN),
        ("blue box", EventKey("starts", "green ball"), YES, CHAIN),
        ("red ball", EventKey("hits", "blue box", "green ball"), NO, CHAIN),
        ("white ball", EventKey("falls", "green ball"), NO, CHAIN),
        # A hit that sets nothing off is no link, and a later link leads to nothing earlier.
        ("red ball", FALLS, YES, WITHOUT_START),
        ("green ball", FALLS, NO, WITHOUT_START),
        ("red ball", FALLS, YES, LATE_START),
    ],
)
def test_the_graph_of_what_was_seen_follows_hits_in_the_order_of_time(
    changed: str | list[str], key: EventKey, answer: str, events: list[Event]
) -> None:
    assert answer_of_seen_graph(chain(events), changed, key) == answer


def test_what_is_supposed_is_sure_and_of_other_bodies_and_two_bodies_are_supposed_away_together() -> None:
    worlds = [without("red ball and white ball"), without("red ball and white ball", kind="freeze")]
    (asked,) = (one for one in suppositions(Askable(chain(worlds=worlds))) if one.key == FALLS)
    assert (asked.kind, asked.changed, asked.verdict) == ("remove", "red ball and white ball", NO)
    assert asked.text(0) == "Had the red ball and the white ball not been there, would the blue box still have fallen?"

    def keys(**fields: Any) -> set[EventKey]:
        return {one.key for one in suppositions(Askable(chain(**fields)))}

    starts, unsure = EventKey("starts", "green ball"), [without("red ball", unsure=(FALLS,))]
    assert starts in keys(worlds=unsure) and FALLS not in keys(worlds=unsure)
    assert starts not in keys(worlds=unsure, unsure=[list(starts)])
    held = keys(worlds=[without("green ball", *CHAIN[:1], kind="freeze")])
    assert held and all("green ball" not in (key.body, key.other) for key in held)


@pytest.mark.parametrize(
    ("lost", "arrow"), [(1.0, "strong"), (0.2, "strong"), (0.19, ""), (0.03, ""), (0.029, "none"), (0.0, "none")]
)
def test_the_arrow_of_time_is_strong_or_none_or_not_asked_about(lost: float, arrow: str) -> None:
    assert arrow_of(one_scene([], [body("red ball")], lost_energy=lost)) == arrow


def twins(here: list[Event], there: list[Event], **fields: Any) -> Askable:
    facts = chain(here, **fields)
    differs = sorted({one.key for one in here} ^ {one.key for one in there})
    scene = facts.scene.model_copy(update={"id": "one_twin"})
    twin = Twin(
        scene=scene, body="red ball", parameter="velocity", events=there, differs=list(map(list, differs)),
        same_start=False,
    )  # fmt: skip
    return Askable(facts.model_copy(update={"twin": twin}))


def test_minimal_pairs_are_of_what_surely_differs() -> None:
    rng = np.random.default_rng(0)
    falls, starts = event("falls", 1.0, "blue box"), event("starts", 1.0, "green ball")
    (pair,) = clip_pairs(twins([falls], [starts]), rng)
    assert (pair.kind, pair.here, pair.there) == ("which", "The blue box falls.", "The green ball starts to move.")
    (pair,) = clip_pairs(twins([], [falls]), rng)
    assert (pair.kind, pair.here, pair.there) == ("whether", "The blue box does not fall.", "The blue box falls.")
    for unsure, keys in (([["falls", "blue box", ""]], []), ([], [FALLS])):
        # That something rests in one clip alone is not asked.
        scene = twins([falls, event("stops", 2.0, "green ball")], [], unsure=unsure)
        assert scene.facts.twin is not None and differing(scene, scene.facts.twin) == (keys, [])
    assert clip_pairs(Askable(chain()), rng) == []


def test_principles_that_are_wanted_come_first_and_each_once() -> None:
    principles = ("permanence", "permanence", "gravity", "inertia")
    violations = [Violation(principle=one, body="red ball", time=1.0) for one in principles]
    counts: Counter[str] = Counter()
    for seed in range(20):
        facts = one_scene([], [body("red ball")], violations=violations)
        chosen = broken_principles(facts, np.random.default_rng(seed), ["inertia", "gravity"])
        counts.update(one.principle for one, _ in chosen)
        assert len({number for _, (_, number) in chosen}) == 2
    assert counts == {"inertia": 20, "gravity": 20}
    scenery = one_scene([], [body("red ball", scenery=True)], violations=violations)
    assert broken_principles(scenery, np.random.default_rng(0)) == []


def test_the_balance_chooses_what_makes_up_and_refuses_what_goes_past_the_cap() -> None:
    balance = Balance(cap=1.0)
    assert balance.choose([{"a": 1.0}]) == 0
    assert balance.choose([{"a": 1.0}, {"a": 0.5, "b": 1.0}]) is None
    assert balance.choose([{"a": 1.0}, {"~b": 5.0}]) == 1
    assert balance.choose([{"~b": 1.0}, {"a": -1.0, "~b": -1.0}]) == 1
    assert balance.choose([{"a": 1.0}]) == balance.choose([{"a": 1.0}], force=True) == 0
    assert balance.choose([]) is None


def test_events_have_their_forms(expected: Expected) -> None:
    forms = (wording.happens, wording.happens_not, wording.happened, wording.had_not, wording.why, wording.would_have)
    keys = (HITS, FALLS, ENTERS, EventKey("starts", "red ball"), EventKey("stops", "red ball"))
    texts = [form(key) for key in keys for form in forms]
    expected("\n".join([*texts, wording.would_have(HITS, still=True), wording.sentence(wording.happens(FALLS))]))


def test_every_wording_of_a_change_and_of_a_supposition_is_another_one(expected: Expected) -> None:
    assert len({len(texts) for texts in wording.CHANGES.values()}) == 1
    changes = [
        wording.change(kind, "red ball", n) for kind, texts in wording.CHANGES.items() for n in range(len(texts))
    ]
    made = Supposition(chain(), "remove", ("red ball",), FALLS, "direct", "no", "no")
    texts = [made.text(number) for number in range(WORDINGS)]
    assert len(set(changes)) == len(changes) and len(set(texts)) == WORDINGS
    expected("\n".join([*changes, "", *texts]))


def test_a_delay_is_as_long_as_the_engine_makes_it() -> None:
    held = pytest.importorskip("lmms_eval_tasks.worlds.physics.other_worlds").HELD
    assert f"{held:g} seconds" == wording.DELAY
