"""From graphs to questions: by hand on small graphs, and what holds of drawn ones."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from itertools import combinations, pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest
from expected import Expected
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_tasks.construct.countervqa.checks import disagreement, ruled_graph
from lmms_eval_tasks.construct.countervqa.graphs import TakeLinks, causal_graph
from lmms_eval_tasks.construct.countervqa.questions import (
    AbsentAction,
    AbsentActions,
    AbsentIdeas,
    Phrasing,
    RuledGraph,
    make_questions,
    quoted,
    with_partners,
)
from lmms_eval_tasks.construct.countervqa.rows import TakeQuestion
from lmms_eval_tasks.construct.countervqa.steps import even_verdicts
from lmms_eval_tasks.construct.countervqa.takes import Take, TimedAction, interaction_of
from lmms_eval_tasks.construct.engine.encoders import TFIDF, SentenceEncoder, encode_texts, find_encoder
from lmms_eval_tasks.countervqa.release import Action, ClipGraph, CounterfactualQuestion, Link, Rule

RULES: tuple[Rule, ...] = ("adjacent_unlinked", "adjacent_linked", "path", "disconnected")


def action(name: str, start: float = 0.0, text: str | None = None, subject: str | None = "C") -> TimedAction:
    return TimedAction(name, start, None, text or f"C does {name}.", subject)


def take(names: str, uid: str = "t", task: str = "") -> Take:
    return Take(uid, f"{uid}.mp4", task, tuple(action(name, float(place)) for place, name in enumerate(names)))


def ruled(names: str, links: str, unjudged: str = "") -> RuledGraph:
    linked, unknown = ([(link[0], link[1]) for link in text.split()] for text in (links, unjudged))
    unlinked = set(combinations(names, 2)) - {*linked, *unknown}
    return RuledGraph(names, linked, unlinked if unknown else None)


def pairs_by(graph: RuledGraph) -> list[str]:
    """The pairs of each rule."""
    drawn = ([*graph.draw(rule, 99, random.Random(0))] for rule in RULES)
    return [" ".join(sorted(map("".join, pairs))) for pairs in drawn]


@pytest.mark.parametrize(
    ("graph", "pairs"),
    [
        # a-b-c is a chain, d stands alone, e is caused by c and by a: a-e has a path, and a link of its own.
        (("abcde", "ab bc ce ae"), ["cd de", "ab bc", "ac be", "ad bd"]),
        # d leads to b and so to a, but no question asks whether what came before would still have happened.
        (("abcd", "ba db"), ["bc cd", "", "", "ac"]),
        # Were b and c linked, a would lead to c and d; only what is answered the same either way is asked.
        (("abcd", "ab cd", "bc"), ["", "ab cd", "", ""]),
        # Without a, c would not be, whether a link leads there beside the path or not.
        (("abc", "ab bc", "ac"), ["", "ab bc", "ac", ""]),
    ],
)
def test_pairs_of_each_rule_by_hand(graph: tuple[str, ...], pairs: list[str]) -> None:
    """Of names, links, and unknown pairs."""
    assert pairs_by(ruled(*graph)) == pairs


def test_an_unknown_pair_makes_no_question_that_rests_on_it() -> None:
    # Where nothing is known; a link against time is one all the same.
    assert pairs_by(RuledGraph("abcd", [], ())) == [""] * 4
    assert pairs_by(RuledGraph("ab", [("b", "a")], {("a", "b")}))[0] == ""


FORWARD = list(combinations(range(9), 2))


def row_of(clip: Take, graph: nx.DiGraph, unlinked: Iterable[tuple[str, str]] | None = None) -> ClipGraph:
    """The line of a clip's graph."""
    return ClipGraph(
        clip=clip.clip,
        actions=[Action(id=one.id, start=one.start, text=one.text) for one in clip.actions],
        links=[Link(cause=cause, effect=effect) for cause, effect in graph.edges],
        unlinked=None if unlinked is None else [Link(cause=cause, effect=effect) for cause, effect in unlinked],
    )


@st.composite
def drawn_graphs(draw: st.DrawFn) -> tuple[int, set[tuple[int, int]]]:
    number = draw(st.integers(0, 9))
    every = [(one, other) for one in range(number) for other in range(number) if one != other]
    return number, draw(st.sets(st.sampled_from(every), max_size=14)) if every else set()


@pytest.mark.slow
@settings(max_examples=60)
@given(drawn_graphs(), st.integers(0, 3), st.booleans(), st.none() | st.sets(st.sampled_from(FORWARD)))
def test_every_question_follows_from_its_graph(
    drawn: tuple[int, set[tuple[int, int]]], seed: int, own_rules: bool, judged: set[tuple[int, int]] | None
) -> None:
    number, links = drawn
    names = "abcdefghi"[:number]
    clip = take(names)
    graph = causal_graph(names, [(names[a], names[b]) for a, b in sorted(links)])
    unlinked = None if judged is None else {(names[a], names[b]) for a, b in judged if b < number} - {*graph.edges}
    never = tuple(AbsentAction(text, names[0]) for text in ("C sings loudly.", "C hums.")) if names else ()
    absent = AbsentIdeas("singing a song" if seed else "", never)
    made = with_partners(make_questions(clip, RuledGraph(names, graph.edges, unlinked), absent, 4, own_rules, seed))
    row = row_of(clip, graph, unlinked)
    assert not any(disagreement(question, row, ruled_graph(row)) for question in made)
    assert all(question.explanation.startswith(f"{question.verdict.capitalize()}. ") for question in made)
    assert max((sum(q.level == level for q in made) for level in (1, 2, 3)), default=0) <= 4
    assert own_rules or not {question.rule for question in made} & {"adjacent_linked", "disconnected"}
    # Nothing that the rules allow is left out while there is room.
    adjacent = [(a, b) for a, b in pairwise(names) if graph.has_edge(a, b) or not _related(graph, a, b)]
    if own_rules and unlinked is None:
        assert sum(question.level == 1 for question in made) == min(4, len(adjacent))


def _related(links: nx.DiGraph, one: str, other: str) -> bool:
    return bool(nx.has_path(links, one, other) or links.has_edge(other, one))


def test_half_of_a_level_is_by_our_rules_where_there_are_enough() -> None:
    names = "abcdefghij"
    graph = ruled(names, "ab bc ef fg hi")
    made = make_questions(take(names), graph, AbsentIdeas(), 4)
    by_rule = {rule: sum(question.rule == rule for question in made) for rule in RULES}
    assert by_rule == dict.fromkeys(RULES, 2)
    papers = make_questions(take(names), graph, AbsentIdeas(), 4, own_rules=False)
    assert {question.rule for question in papers} == {"adjacent_unlinked", "path"}
    assert {(question.level, question.verdict) for question in papers} == {(1, "yes"), (2, "no")}
    # The draw is by the seed.
    assert made == make_questions(take(names), graph, AbsentIdeas(), 4)
    assert made != make_questions(take(names), graph, AbsentIdeas(), 4, seed=1)


def asked(uid: str, *questions: tuple[int, str]) -> list[TakeQuestion]:
    """Questions of a clip, each of a level and with a verdict."""
    clip = take("ab", uid)
    return [
        TakeQuestion(
            id=f"{uid}-{number}",
            take=clip,
            links=TakeLinks(()),
            question=CounterfactualQuestion.model_validate(
                {"id": f"{uid}-{number}", "clip": clip.clip, "level": level, "verdict": verdict}
                | {"interaction": "H2O", "question": "?", "explanation": "!"}
            ),
        )
        for number, (level, verdict) in enumerate(questions)
    ]


def test_each_level_that_has_both_verdicts_keeps_as_many_of_each_from_the_clips_with_too_many() -> None:
    rows = asked("s", (1, "yes"), (1, "no"), (2, "no"), (3, "yes"), (3, "yes"))
    rows += asked("t", (1, "yes"), (1, "yes"), (1, "yes"), (2, "yes"), (2, "yes"))
    rows += asked("u", (1, "no"), (1, "yes"), (2, "no"), (2, "yes"))
    gone: dict[str, str] = {}
    left = even_verdicts.run(rows, lambda uid, why: gone.update({uid: why.reason}))
    assert gone == dict.fromkeys(("t-0", "t-1", "t-2", "t-4"), "too many of its verdict")
    assert [row.id for row in left] == [row.id for row in rows if row.id not in gone]
    counts = Counter((row.question.level, row.question.verdict) for row in left)
    assert counts == {(1, "yes"): 2, (1, "no"): 2, (2, "yes"): 2, (2, "no"): 2, (3, "yes"): 2}


def test_clips_with_equally_many_too_many_lose_equally_many() -> None:
    rows = [*asked("s", *[(1, "no")] * 2), *asked("t", *[(1, "yes")] * 3), *asked("u", *[(1, "yes")] * 3)]
    left = even_verdicts.run(rows, lambda *_: None)
    assert Counter(row.take.uid for row in left) == {"s": 2, "t": 1, "u": 1}


def test_partners_share_the_outcome_where_they_can() -> None:
    # To c and d lead chains from a and b, and x has nothing to do with any of them.
    made = with_partners(make_questions(take("xabcd"), ruled("xabcd", "ab bc cd"), AbsentIdeas()))
    by_id = {question.id: question for question in made}
    second = {f"{question.action}{question.outcome}": question for question in made if question.level == 2}
    assert second.keys() == {"ac", "ad", "bd", "xb", "xc", "xd"}
    assert all(by_id[question.partner or ""].partner == question.id for question in second.values())
    assert second["xc"].partner == second["ac"].id
    assert second["xd"].partner in (second["ad"].id, second["bd"].id)
    # None is left with the outcome b, so that its partner is the question that is left.
    assert second["xb"].partner in (second["ad"].id, second["bd"].id)


def test_actions_of_the_same_words_are_told_apart_by_their_time_and_not_asked_about_together() -> None:
    actions = tuple(
        action(name, start, text)
        for name, start, text in (("a", 1.0, "C jumps."), ("b", 65.0, "C jumps."), ("c", 70.2, "C sits."))
    )
    clip = Take("t", "t.mp4", "", actions)
    made = make_questions(clip, ruled("abc", ""), AbsentIdeas())
    assert [(question.action, question.outcome) for question in made] == [("b", "c"), ("a", "c")]
    assert made[0].question == (
        "If “the camera wearer jumps” (at 1:05) had not happened, would “the camera wearer sits” still have happened?"
    )


def test_the_words_of_each_rule(expected: Expected) -> None:
    words = Phrasing([action(name, 0.0, text) for name, text in zip("abcdef", WORDS, strict=True)])
    written = [
        words.write("adjacent_linked", action="a", outcome="b"),
        words.write("absent", absent_action="C hums.", outcome="b"),
        # The words of an action that the clip does not have are not an id, whatever they are.
        words.write("absent_goal", absent_action="a", goal="b"),
    ]
    written += [words.write("path", chain, action="a", outcome=chain[-1]) for chain in ("ac", "acd", "abcd", "abcdef")]
    expected("\n".join("\n".join(both) for both in written))


WORDS = ("C opens a box.", "O takes the ball", "D runs...", "E rests", "F eats", "G sleeps")


@pytest.mark.parametrize(
    ("own_rules", "goal", "asked"),
    [
        (True, "making tea", ["sings>A1", "hums>making tea", "naps>making tea"]),
        (False, "making tea", ["sings>making tea", "hums>making tea", "naps>making tea"]),
        (True, "", ["sings>A1", "naps>A2"]),
    ],
)
def test_level_three_asks_of_the_main_goal_or_of_an_action_that_seems_to_depend(
    own_rules: bool, goal: str, asked: list[str]
) -> None:
    clip = Take("t", "t.mp4", "", (action("A0"), action("A1", 1.0), action("A2", 2.0)))
    never = (AbsentAction("sings", "A1"), AbsentAction("hums", None), AbsentAction("naps", "A2"))
    graph = RuledGraph(["A0", "A1", "A2"], [])
    made = [one for one in make_questions(clip, graph, AbsentIdeas(goal, never), 9, own_rules) if one.level == 3]
    assert [f"{one.absent_action}>{one.outcome or one.goal}" for one in made] == asked
    assert {one.verdict for one in made} == {"yes"}
    assert all((one.rule == "absent_goal") == (one.outcome is None) for one in made)


APART = SentenceEncoder("no two alike", lambda texts: np.eye(len(texts)))


def absent_for(
    texts: list[str], others: list[str], task: str = "cook", goal: str = "", encoder: SentenceEncoder | None = None
) -> AbsentIdeas:
    takes = [
        Take("t", "t.mp4", task, tuple(action(f"A{n:02d}", n, text) for n, text in enumerate(texts)), goal=goal),
        Take("u", "u.mp4", "cook", tuple(action(f"A{n:02d}", n, text) for n, text in enumerate(others))),
    ]
    encoded = encode_texts([one.text for clip in takes for one in clip.actions], encoder or find_encoder(TFIDF))
    return AbsentActions(takes, encoded, 0).find(takes[0], 3)


def test_absent_actions_are_near_and_not_there_in_other_words() -> None:
    texts = ["C washes a pan.", "C peels the onion."]
    others = [
        "C peels the carrot.",
        "the onion, C peels!",
        "C washes a pan",
        "C sings.",
        "O leaves the room.",
        "C naps",
    ]
    found = absent_for(texts, others)
    assert found.actions[0] == AbsentAction("C peels the carrot.", "A01")
    assert [one.text for one in found.actions[1:]] == ["O leaves the room.", "C naps"]
    # Whatever their vectors, actions of the same words are one.
    assert absent_for(texts, others[1:4], encoder=APART).actions == (AbsentAction("C sings.", None),)
    # Without a task, or with one of its own, nobody lends a clip an action.
    assert not any(absent_for(texts, others, task).actions for task in ("", "other"))
    assert not absent_for([], others).actions
    # The task's name stands for the main goal where the annotations name none.
    assert (found.goal, absent_for(texts, others, goal="a meal").goal, absent_for(texts, others, "").goal) == (
        "cook", "a meal", "",
    )  # fmt: skip


def test_no_question_asks_of_an_action_for_want_of_a_better_one() -> None:
    texts = [f"C {word} a {other}." for word, other in (("cuts", "leek"), ("boils", "pot"), ("tastes", "soup"))]
    strange = [f"O sees the {word}" for word in ("moon", "sun", "sea", "wood", "hill", "town", "sky", "rain")]
    found = absent_for(texts, strange)
    assert [one.outcome for one in found.actions] == [None] * 3
    # Two actions of the clip are as near to it, so that neither is nearer than the other.
    assert absent_for(["C cuts a leek.", "C eats a leek."], ["C sells a leek"]).actions == (
        AbsentAction("C sells a leek", None),
    )
    clip = Take("t", "t.mp4", "", tuple(action(f"A{n:02d}", n, text) for n, text in enumerate(texts)))
    graph = RuledGraph([one.id for one in clip.actions], [])
    assert not [one for one in make_questions(clip, graph, AbsentIdeas("", found.actions)) if one.level == 3]
    of_goal = [one for one in make_questions(clip, graph, found) if one.level == 3]
    assert [(one.outcome, one.goal) for one in of_goal] == [(None, "cook")] * 3


def test_a_checker_finds_what_does_not_follow() -> None:
    names = "abcd"
    clip, graph = take(names), causal_graph(names, [("a", "b"), ("b", "c")])
    row = row_of(clip, graph)
    base = {"clip": "t.mp4", "interaction": "H2O", "question": "?", "explanation": "!"}

    def faults(
        level: int, verdict: str, rule: str, outcome: str | None, action: str | None = None, **more: object
    ) -> bool:
        question = CounterfactualQuestion.model_validate(
            {"id": "q", "level": level, "verdict": verdict, "rule": rule, "outcome": outcome, "action": action}
            | base | more
        )  # fmt: skip
        return bool(disagreement(question, row, ruled_graph(row)))

    assert faults(1, "no", "adjacent_linked", "b", "a") == 0
    assert faults(2, "no", "path", "c", "a") == 0
    assert faults(2, "yes", "disconnected", "d", "a") == 0
    assert faults(1, "yes", "adjacent_unlinked", "d", "c") == 0
    assert faults(3, "yes", "absent", "d", absent_action="C sings") == 0
    assert faults(3, "yes", "absent_goal", None, absent_action="C sings", goal="tea") == 0
    away = {"absent_action": "C sings"}
    for wrong in (
        (1, "yes", "adjacent_linked", "b", "a"),
        (1, "no", "adjacent_linked", "d", "c"), (1, "no", "adjacent_linked", "c", "a"),
        (1, "yes", "adjacent_unlinked", "b", "a"), (2, "no", "path", "b", "a"), (2, "no", "path", "d", "a"),
        (2, "yes", "disconnected", "c", "a"), (2, "yes", "disconnected", "d", "c"),
    ):  # fmt: skip
        assert faults(*wrong) == 1
    assert faults(3, "yes", "absent", "d", absent_action="does A, c!") == 1
    assert faults(3, "yes", "absent", None, goal="tea", **away)
    assert faults(3, "yes", "absent_goal", "d", **away) == 1
    assert faults(3, "yes", "absent_goal", None, absent_action="does A, c!", goal="tea") == 1
    # The goal of the graph is asked of where the question names none; nothing is known of b and d, nor of c and d.
    row = row_of(clip, graph, [("a", "c"), ("a", "d")]).model_copy(update={"goal": "tea"})
    assert faults(3, "yes", "absent_goal", None, absent_action="C sings") == 0
    assert faults(2, "no", "path", "c", "a") == faults(1, "no", "adjacent_linked", "b", "a") == 0
    assert faults(2, "yes", "disconnected", "d", "a") == faults(1, "yes", "adjacent_unlinked", "d", "c") == 1
    row = row_of(clip, graph, [("a", "c"), ("a", "d"), ("b", "d"), ("c", "d")])
    assert faults(2, "yes", "disconnected", "d", "a") == faults(1, "yes", "adjacent_unlinked", "d", "c") == 0
    # A link between actions that are not adjacent makes neither a question of level 1 nor a path.
    row = row_of(clip, causal_graph(names, [("a", "c")]))
    assert faults(1, "no", "adjacent_linked", "c", "a") == faults(2, "no", "path", "c", "a") == 1
    assert quoted("C") == "“the camera wearer”"


@pytest.mark.parametrize(
    ("texts", "more", "kind", "decided"),
    [
        (["C runs.", "C runs.", "O runs."], {}, "H2H", "wording"),
        (["C runs.", "C runs.", "C runs.", "O runs."], {}, "H2O", "wording"),
        (["C meets O.", "C runs.", "C runs."], {}, "H2H", "wording"),
        (["C meets another person.", "C runs.", "C runs."], {}, "H2H", "wording"),
        (["C meets a dog.", "C runs.", "C runs."], {}, "H2O", "wording"),
        ([], {}, "H2O", "wording"),
        (["O runs."], {"scenario": "Bike repair"}, "H2O", "scenario"),
        (["C runs."], {"scenario": "Basketball"}, "H2H", "scenario"),
        (["C runs."], {"scenario": "Basketball", "interaction": "H2O"}, "H2O", "column"),
    ],
)
def test_people_who_act_with_each_other_are_known_by_column_scenario_or_a_third_of_the_wording(
    texts: list[str], more: dict[str, Any], kind: str, decided: str
) -> None:
    actions = tuple(action(f"a{n}", n, text, text[:1]) for n, text in enumerate(texts))
    assert interaction_of(Take("t", "t.mp4", "", actions, **more)) == (kind, decided)
