"""What is asked about scenes of a few events: what touches, causes, pairs of clips, and how it is put into words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np
import pytest
from expected import Expected
from invented_facts import exported, invented
from small_worlds import body, scene

from lmms_eval_tasks.api.answers import NO, YES
from lmms_eval_worlds.questions import wording
from lmms_eval_worlds.questions.askable import VIEWED, Askable, touching_at_start
from lmms_eval_worlds.questions.balance import Balance
from lmms_eval_worlds.questions.cause_and_effect import _entry, answer_of_seen_graph, cause_sketch, evidence_of
from lmms_eval_worlds.questions.counterfactual import WORDINGS, Supposition, suppositions
from lmms_eval_worlds.questions.perception import _order
from lmms_eval_worlds.questions.question_set import questions_of_set
from lmms_eval_worlds.questions.two_clips import arrow_of, clip_pairs, differing
from lmms_eval_worlds.release import question_lines
from lmms_eval_worlds.scenes.scene import (
    Body,
    Event,
    EventKey,
    Facts,
    Intervention,
    Sight,
    Twin,
    World,
)

RED, GREEN, BLUE, WHITE = "red ball", "green ball", "blue box", "white ball"
HITS, FALLS, ENTERS = EventKey("hits", BLUE, RED), EventKey("falls", BLUE), EventKey("enters", RED, "white tray")


def event(kind: str, time: float, name: str, other: str = "") -> Event:
    return Event.model_validate({"kind": kind, "time": time, "body": name, "other": other})


def facts_of(events: list[Event], bodies: Sequence[Body | str], **fields: Any) -> Facts:
    """A scene with such events and bodies, which rest where it gives names alone."""
    shown = scene(*(body(one) if isinstance(one, str) else one for one in bodies), seconds=4.0)
    return Facts(**{"scene": shown, "events": events, "worlds": [], "lost_energy": 0.5, **fields})


def moving(name: str) -> Body:
    return body(name, velocity=[1.0, 0.0, 0.0])


def without(name: str, *events: Event, unsure: tuple[EventKey, ...] = (), kind: str = "remove") -> World:
    change = Intervention.model_validate({"kind": kind, "bodies": sorted(name.split(" and "))})
    return World(intervention=change, events=list(events), unsure=[list(key) for key in unsure])


def seen(shares: dict[str, float], times: tuple[float, ...] = (0.0, 0.25)) -> list[Sight]:
    box = [0.0, 0.0, 9.0, 9.0]
    return [Sight(body=name, time=time, box=box, visible=share) for time in times for name, share in shares.items()]


CHAIN = [
    event("hits", 0.5, RED, GREEN),
    event("starts", 0.51, GREEN),
    event("hits", 1.0, GREEN, BLUE),
    event("falls", 1.2, BLUE),
    event("hits", 2.0, WHITE, BLUE),
]


def chain(events: list[Event] = CHAIN, **fields: Any) -> Facts:
    return facts_of(events, [RED, GREEN, BLUE, WHITE], **fields)


def test_the_same_facts_are_asked_about_and_exported_in_the_same_words(expected: Expected) -> None:
    facts = [invented(number) for number in range(8)]
    parts = {f"{one.scene.id} exported": exported(one) for one in facts}
    for (task, name), asked in groupby(questions_of_set(facts, 3), attrgetter("task", "scene")):
        parts[f"{name} {task}"] = question_lines(asked)
    expected.digests(parts)


@pytest.mark.slow
def test_more_facts_are_asked_about_in_the_same_words(expected: Expected) -> None:
    facts = [invented(number) for number in range(8, 24)]
    asked = questions_of_set(facts, 5)
    expected.digests({task: question_lines(of_task) for task, of_task in groupby(asked, attrgetter("task"))})


CUBE, BOARD, STANDS = [0.1, 0.1, 0.1], [0.3, 0.1, 0.02], {"turn": [0.0, 90.0, 0.0]}
LOWER = body("red box", CUBE, [0.0, 0.0, 0.1])


@pytest.mark.parametrize(
    ("name", "size", "x", "z", "rest", "touches"),
    [
        ("blue box", CUBE, 0.0, 0.3, {}, True),
        ("blue box", CUBE, 0.0, 0.35, {}, False),
        ("blue ball", [0.08], 0.15, 0.28, {}, True),
        ("blue ball", [0.08], 0.3, 0.28, {}, False),
        ("blue cylinder", [0.05, 0.2], 0.0, 0.4, {}, True),
        ("blue cylinder", [0.05, 0.2], 0.0, 0.45, {}, False),
        # A thin board that lies is 0.6 long, and one that stands is 0.6 high.
        ("blue plank", BOARD, 0.35, 0.1, {}, True),
        ("blue plank", BOARD, 0.35, 0.3, STANDS, False),
        ("blue plank", BOARD, 0.0, 0.5, STANDS, True),
        ("blue box", CUBE, 0.0, 0.3, {"scenery": True}, False),
    ],
)
def test_bodies_touch_at_the_start_where_their_boxes_do(
    name: str, size: list[float], x: float, z: float, rest: dict[str, Any], touches: bool
) -> None:
    upper = body(name, size, [x, 0.0, z], **rest)
    assert touching_at_start(scene(LOWER, upper)) == ([{"red box", name}] if touches else [])


def test_only_what_the_bodies_can_do_and_what_is_surely_seen_is_asked_about() -> None:
    # What holds a body touches it though nothing hits.
    held = body("blue box", CUBE, [0.0, 0.0, 0.3])
    askable = Askable(facts_of([event("falls", 1.0, BLUE)], [LOWER, held, body("white box", CUBE, [1.0, 0.0, 0.1])]))
    assert askable.touches(["red box"], FALLS) and not askable.touches(["white box"], FALLS)
    bodies: list[Body | str] = [moving(RED), BLUE, body("white wall", moves="not at all")]
    assert Askable(facts_of([event("hits", 1.0, RED, BLUE)], bodies)).absent() == [
        EventKey("hits", RED, "white wall"), EventKey("hits", BLUE, "white wall"), EventKey("stops", RED),
        EventKey("falls", RED), EventKey("starts", BLUE), FALLS,
    ]  # fmt: skip
    bodies = [moving(RED), BLUE, body("grey wall", scenery=True, moves="not at all")]
    events = [event("hits", 0.5, RED, "grey wall"), event("hits", 1.0, RED, BLUE), event("falls", 1.5, BLUE)]
    askable = Askable(facts_of(events, bodies, unsure=[["falls", BLUE, ""], ["starts", BLUE, ""]]))
    assert [one.key for one in askable.happened()] == [HITS]
    assert askable.absent() == [EventKey("stops", RED), EventKey("falls", RED)]


def test_what_is_seen_too_little_is_in_no_question_and_never_out_of_sight_is_what_is_clear_all_the_time() -> None:
    sights = [*seen({RED: 0.9, BLUE: 0.4}), *seen({"pink box": 0.9}, (0.25,))]
    bodies = [RED, BLUE, "pink box"]
    out_of_sight = [EventKey("leaves view", RED), EventKey("comes into view", RED)]
    assert Askable(facts_of([], bodies, sights=sights)).absent(VIEWED) == out_of_sight
    assert Askable(facts_of([], bodies)).absent(VIEWED) == []
    shown, always = event("hits", 2.0, RED, BLUE), {RED: 1.0, BLUE: 0.6, WHITE: 0.2}
    sights = [*seen({**always, GREEN: 0.0}, (0.0,)), *seen({**always, GREEN: 0.75}, (0.25,))]
    events = [event("hits", 1.0, RED, WHITE), shown]
    askable = Askable(facts_of(events, [moving(RED), BLUE, GREEN, WHITE], sights=sights))
    assert askable.actors == (RED, BLUE, GREEN) and askable.seen_at_start == (RED, BLUE)
    assert askable.happened() == [shown] and all(WHITE not in key for key in askable.absent())


def test_what_happens_again_is_not_said_to_be_last() -> None:
    hits = [event("hits", 1.0, RED, BLUE), event("hits", 2.0, RED, GREEN)]
    for again, kinds in (([], {"first", "last"}), ([list(hits[0].key)], {"first"})):
        askable = Askable(facts_of(hits, [moving(RED), BLUE, GREEN], again=again))
        drawn = [_order(askable, np.random.default_rng(seed)) for seed in range(40)]
        assert {sketch.kind for sketch in drawn if sketch is not None} == kinds


def causes_asked(facts: Facts) -> set[tuple[str, str, bool]]:
    """Of the questions why the blue box falls: the kind, the body of an option, and whether it is right."""
    askable, rng = Askable(facts), np.random.default_rng(0)
    drawn = [cause_sketch(askable, rng, "paired", 2, needed) for _ in range(100) for needed in (True, False)]
    of_fall = [sketch for sketch in drawn if sketch is not None and sketch.about == (FALLS,)]
    return {(one.kind, option, option == one.right) for one in of_fall for option in one.options}


def options(*names: str) -> set[str]:
    return {f"The {name}." for name in names}


def test_a_body_that_another_would_have_replaced_is_asked_about_in_neither_way() -> None:
    """Green knocks the box over; without it red would have. Green had a part, and was not needed."""
    knocks, falls = event("hits", 1.0, GREEN, BLUE), event("falls", 1.6, BLUE)
    names = [RED, GREEN, "white box", "pink box", "black box", "yellow ball", BLUE]
    worlds = [
        without(GREEN, event("hits", 1.4, RED, BLUE), falls), without(RED, knocks, falls), without("yellow ball"),
        without("white box", knocks, falls), without("pink box", unsure=(FALLS,)), without("black box", knocks),
    ]  # fmt: skip
    found = causes_asked(facts_of([knocks, falls], names, worlds=worlds))
    assert {kind for kind, *_ in found} == {"cause of falls", "cause not of falls"}
    assert {option for _, option, _ in found} == options("yellow ball", "black box", "white box", RED)
    assert {option for kind, option, right in found if right and "not" in kind} == options("white box", RED)


def test_a_link_of_the_chain_that_was_not_needed_is_asked_about_in_neither_way() -> None:
    """Red hits white, which hits the box; without white, red hits it. White was seen to do it, and was not needed."""
    events = [
        event("hits", 0.5, RED, "white box"), event("starts", 0.5, "white box"),
        event("hits", 1.0, "white box", "pink box"), event("starts", 1.0, "pink box"),
        event("hits", 1.3, "pink box", BLUE), event("falls", 1.5, BLUE),
    ]  # fmt: skip
    left = {RED: [], "pink box": [], "white box": events[3:], "black box": events, "yellow ball": events}
    worlds = [without(name, *rest) for name, rest in left.items()]
    found = causes_asked(facts_of(events, [*left, BLUE], worlds=worlds))
    assert {option for _, option, _ in found} == options(RED, "pink box", "black box", "yellow ball")


def test_evidence_lies_around_the_last_act_of_the_cause_and_around_the_effect() -> None:
    events = [event("hits", 0.4, RED, GREEN), event("hits", 2.6, GREEN, BLUE), event("falls", 2.9, BLUE)]
    sights = [
        Sight(body=name, time=step / 4, box=[step, 0.0, step + 9, 9.0], visible=1.0)
        for step in range(16)
        for name in (RED, GREEN, BLUE)
    ]
    facts = facts_of(events, [RED, GREEN, BLUE], sights=sights)
    cause, effect = evidence_of(facts, RED, FALLS)
    assert cause == {
        "evidence_start_time": "00:00",
        "evidence_end_time": "00:01",
        "evidence_instance_id": RED,
        "evidence_rationale": f"The {RED} is the cause.",
        "bboxes_in_range": {"0": [0.0, 0.0, 9.0, 9.0], "1": [4.0, 0.0, 13.0, 9.0]},
    }
    assert (effect["evidence_instance_id"], effect["evidence_start_time"]) == (BLUE, "00:02")
    assert effect["bboxes_in_range"] == {"2": [8.0, 0.0, 17.0, 9.0], "3": [12.0, 0.0, 21.0, 9.0]}
    hidden = [sight for sight in sights if sight.body != RED or sight.time < 1]
    assert evidence_of(facts.model_copy(update={"sights": hidden}), RED, FALLS) == []


@pytest.mark.parametrize(
    ("time", "seconds", "seen_from", "visible", "span", "firsts"),
    [
        (0.2, 4.0, 0.0, 1.0, ("00:00", "00:01"), {"0": 0.0, "1": 1.0}),
        (1.5, 4.0, 0.0, 0.1, ("00:01", "00:02"), {"1": 1.0, "2": 2.0}),
        (1.49, 4.0, 0.0, 1.0, ("00:00", "00:01"), {"0": 0.0, "1": 1.0}),
        (3.9, 4.0, 0.0, 1.0, ("00:02", "00:03"), {"2": 2.0, "3": 3.0}),
        (3.9, 3.5, 0.0, 1.0, ("00:02", "00:03"), {"2": 2.0, "3": 3.0}),
        (2.9, 4.0, 2.5, 1.0, ("00:02", "00:03"), {"2": 2.5, "3": 3.0}),
        # Seen too little, or in one second alone, or in a clip of one second.
        (1.5, 4.0, 0.0, 0.09, None, None),
        (1.5, 4.0, 2.0, 1.0, None, None),
        (0.5, 1.0, 0.0, 1.0, None, None),
    ],
)
def test_evidence_has_the_seconds_around_a_time_in_each_of_which_a_body_is_seen(
    time: float,
    seconds: float,
    seen_from: float,
    visible: float,
    span: tuple[str, str] | None,
    firsts: dict[str, float] | None,
) -> None:
    """A body's box begins at its time, so that it says when it is seen."""
    facts = facts_of([], [RED])
    times = [quarter / 4 for quarter in reversed(range(16)) if quarter / 4 >= seen_from]
    sights = [Sight(body=RED, time=one, box=[one, 0, 99, 9], visible=visible) for one in times]
    sights += [Sight(body=BLUE, time=one, box=[50, 0, 99, 9], visible=1.0) for one in times]
    shown = facts.scene.model_copy(update={"seconds": seconds})
    found = _entry(facts.model_copy(update={"scene": shown, "sights": sights}), RED, "cause", time)
    if span is None or firsts is None:
        assert found is None
        return
    assert found is not None and (found["evidence_start_time"], found["evidence_end_time"]) == span
    assert {second: box[0] for second, box in found["bboxes_in_range"].items()} == firsts


WITHOUT_START = [one for one in CHAIN if one.kind != "starts"]
LATE_START = [one.model_copy(update={"time": 1.1}) if one.time < 0.52 else one for one in CHAIN]


@pytest.mark.parametrize(
    ("changed", "key", "answer", "events"),
    [
        (RED, FALLS, NO, CHAIN),
        (GREEN, FALLS, NO, CHAIN),
        (WHITE, FALLS, YES, CHAIN),
        ([WHITE, RED], FALLS, NO, CHAIN),
        (BLUE, EventKey("starts", GREEN), YES, CHAIN),
        (RED, EventKey("hits", BLUE, GREEN), NO, CHAIN),
        (WHITE, EventKey("falls", GREEN), NO, CHAIN),
        # A hit that sets nothing off is no link, and a later link leads to nothing earlier.
        (RED, FALLS, YES, WITHOUT_START),
        (GREEN, FALLS, NO, WITHOUT_START),
        (RED, FALLS, YES, LATE_START),
    ],
)
def test_the_graph_of_what_was_seen_follows_hits_in_the_order_of_time(
    changed: str | list[str], key: EventKey, answer: str, events: list[Event]
) -> None:
    assert answer_of_seen_graph(chain(events), changed, key) == answer


def test_what_is_supposed_is_sure_and_of_other_bodies_and_two_bodies_are_supposed_away_together() -> None:
    worlds = [without("red ball and white ball"), without("red ball and white ball", kind="freeze")]
    (asked,) = (one for one in suppositions(Askable(chain(worlds=worlds))) if one.key == FALLS)
    assert (asked.kind, asked.bodies, asked.verdict) == ("remove", (RED, WHITE), NO)
    assert asked.text(0) == "Had the red ball and the white ball not been there, would the blue box still have fallen?"

    def keys(**fields: Any) -> set[EventKey]:
        return {one.key for one in suppositions(Askable(chain(**fields)))}

    starts, unsure = EventKey("starts", GREEN), [without(RED, unsure=(FALLS,))]
    assert starts in keys(worlds=unsure) and FALLS not in keys(worlds=unsure)
    assert starts not in keys(worlds=unsure, unsure=[list(starts)])
    held = keys(worlds=[without(GREEN, *CHAIN[:1], kind="freeze")])
    assert held and all(GREEN not in key for key in held)


def test_the_arrow_of_time_is_strong_or_none_or_not_asked_about() -> None:
    arrows = {1.0: "strong", 0.2: "strong", 0.19: "", 0.03: "", 0.029: "none", 0.0: "none"}
    assert {lost: arrow_of(facts_of([], [RED], lost_energy=lost)) for lost in arrows} == arrows


def twins(here: list[Event], there: list[Event], **fields: Any) -> Askable:
    facts = chain(here, **fields)
    differs = sorted({one.key for one in here} ^ {one.key for one in there})
    about: dict[str, Any] = {
        "body": RED,
        "parameter": "velocity",
        "differs": list(map(list, differs)),
        "same_start": False,
    }
    twin = Twin(scene=facts.scene.model_copy(update={"id": "one_twin"}), events=there, **about)
    return Askable(facts.model_copy(update={"twin": twin}))


def test_minimal_pairs_are_of_what_surely_differs() -> None:
    rng = np.random.default_rng(0)
    falls, starts = event("falls", 1.0, BLUE), event("starts", 1.0, GREEN)
    (pair,) = clip_pairs(twins([falls], [starts]), rng)
    assert (pair.kind, pair.here, pair.there) == ("which", "The blue box falls.", "The green ball starts to move.")
    (pair,) = clip_pairs(twins([], [falls]), rng)
    assert (pair.kind, pair.here, pair.there) == ("whether", "The blue box does not fall.", "The blue box falls.")
    for unsure, keys in (([["falls", BLUE, ""]], []), ([], [FALLS])):
        # That something rests in one clip alone is not asked.
        askable = twins([falls, event("stops", 2.0, GREEN)], [], unsure=unsure)
        assert askable.facts.twin is not None
        assert differing(askable, askable.facts.twin) == (keys, [])
    assert clip_pairs(Askable(chain()), rng) == []


def test_the_balance_chooses_what_makes_up_and_refuses_what_goes_past_the_cap() -> None:
    balance = Balance(cap=1.0)
    assert balance.choose([{"a": 1.0}]) == 0
    assert balance.choose([{"a": 1.0}, {"a": 0.5, "b": 1.0}]) is None
    assert balance.choose([{"a": 1.0}, {"~b": 5.0}]) == 1
    assert balance.choose([{"~b": 1.0}, {"a": -1.0, "~b": -1.0}]) == 1
    assert balance.choose([{"a": 1.0}]) == balance.choose([{"a": 1.0}], force=True) == 0
    assert balance.choose([]) is None


def test_events_and_every_wording_of_a_change_have_their_forms(expected: Expected) -> None:
    forms = (wording.happens, wording.happens_not, wording.happened, wording.had_not, wording.did, wording.would_have)
    keys = (HITS, FALLS, ENTERS, EventKey("starts", RED), EventKey("stops", RED))
    texts = [form(key) for key in keys for form in forms]
    expected("\n".join([*texts, wording.would_still_have(HITS), wording.sentence(wording.happens(FALLS))]))
    changes = [wording.change(kind, RED, n) for kind, texts in wording.CHANGES.items() for n in range(len(texts))]
    made = Supposition(chain(), "remove", (RED,), FALLS, "direct", "no", "no")
    texts = [made.text(number) for number in range(WORDINGS)]
    assert len(set(changes)) == len(changes) and len(set(texts)) == WORDINGS
    expected("\n".join([*changes, "", *texts]))


def test_a_delay_is_as_long_as_the_engine_makes_it() -> None:
    held = pytest.importorskip("lmms_eval_worlds.physics.other_worlds").HELD
    assert f"{held:g} seconds" == wording.DELAY
