"""From graphs to questions: by hand on small graphs, and against an independent derivation on drawn ones."""

from __future__ import annotations

import random
from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_tasks.countervqa.construction.absent import AbsentActions
from lmms_eval_tasks.countervqa.construction.annotations import Take, TimedAction
from lmms_eval_tasks.countervqa.construction.pairs import ReachableGraph
from lmms_eval_tasks.countervqa.construction.phrasing import Phrasing, interaction, quoted
from lmms_eval_tasks.countervqa.construction.questions import make_questions, with_partners
from lmms_eval_tasks.countervqa.construction.rederive import GraphOfClip, disagreements
from lmms_eval_tasks.countervqa.released import Action, ClipGraph, CounterfactualQuestion, Link, Rule
from lmms_eval_tasks.utils.graphs.causal_graph import causal_graph
from lmms_eval_tasks.utils.graphs.encoders import encode_texts, tfidf_encoder

RULES: tuple[Rule, ...] = ("adjacent_unlinked", "adjacent_linked", "path", "disconnected")


def action(name: str, start: float = 0.0, text: str | None = None, subject: str | None = "C") -> TimedAction:
    return TimedAction(name, start, None, text or f"C does {name}.", subject)


def take(names: str, uid: str = "t", task: str = "") -> Take:
    return Take(uid, f"{uid}.mp4", task, tuple(action(name, float(place)) for place, name in enumerate(names)))


def reachable(names: str, links: str, undecided: str = "") -> ReachableGraph:
    pairs = [[(link[0], link[1]) for link in text.split()] for text in (links, undecided)]
    return ReachableGraph(causal_graph(names, pairs[0]), frozenset(pairs[1]))


def pairs_by(graph: ReachableGraph, rule: Rule) -> set[str]:
    return {"".join(pair) for pair in graph.draw(rule, 99, random.Random(0))}


def test_pairs_of_each_rule_by_hand() -> None:
    # a-b-c is a chain, d stands alone, e is caused by c and by a.
    graph = reachable("abcde", "ab bc ce ae")
    assert pairs_by(graph, "adjacent_unlinked") == {"cd", "de"}
    assert pairs_by(graph, "adjacent_linked") == {"ab", "bc"}
    # a-e has a path of three links, and a link of its own.
    assert pairs_by(graph, "path") == {"ac", "be"}
    assert pairs_by(graph, "disconnected") == {"ad", "bd"}


def test_a_link_against_time_makes_a_pair_neither_unlinked_nor_disconnected() -> None:
    graph = reachable("abcd", "ba db")
    assert pairs_by(graph, "adjacent_unlinked") == {"bc", "cd"}
    assert pairs_by(graph, "adjacent_linked") == set()
    # d leads to b and so to a, but no question asks whether what came before would still have happened.
    assert pairs_by(graph, "path") == set()
    assert pairs_by(graph, "disconnected") == {"ac"}


def test_a_pair_that_could_not_be_decided_makes_no_question_that_rests_on_it() -> None:
    # Were b and c linked, a would lead to c and d; only what holds either way is asked.
    graph = reachable("abcd", "ab cd", "bc")
    assert pairs_by(graph, "adjacent_unlinked") == set()
    assert pairs_by(graph, "adjacent_linked") == {"ab", "cd"}
    assert pairs_by(graph, "path") == set()
    assert pairs_by(graph, "disconnected") == set()
    # A path of links that are certain is no question where there might be a link beside it.
    assert pairs_by(reachable("abc", "ab bc", "ac"), "path") == set()


@st.composite
def drawn_graphs(draw: st.DrawFn) -> tuple[int, set[tuple[int, int]]]:
    number = draw(st.integers(0, 9))
    every = [(one, other) for one in range(number) for other in range(number) if one != other]
    return number, draw(st.sets(st.sampled_from(every), max_size=14)) if every else set()


@settings(deadline=None)
@given(drawn_graphs(), st.integers(0, 3), st.booleans())
def test_every_question_follows_from_its_graph(
    drawn: tuple[int, set[tuple[int, int]]], seed: int, own_rules: bool
) -> None:
    number, links = drawn
    names = "abcdefghi"[:number]
    clip = take(names)
    graph = causal_graph(names, [(names[a], names[b]) for a, b in sorted(links)])
    absent = [("C sings loudly.", names[0])] * 2 if names else []
    made = with_partners(make_questions(clip, ReachableGraph(graph), absent, 4, own_rules, seed))
    row = ClipGraph(
        clip=clip.clip,
        actions=[Action(id=one.id, start=one.start, text=one.text) for one in clip.actions],
        links=[Link(cause=cause, effect=effect) for cause, effect in graph.links.edges],
    )
    disagreements([(question.id, question) for question in made], {clip.clip: GraphOfClip(row)}).raise_if_any("x")
    assert all(question.explanation.startswith(f"{question.verdict.capitalize()}. ") for question in made)
    assert max((sum(q.level == level for q in made) for level in (1, 2, 3)), default=0) <= 4
    assert own_rules or not {question.rule for question in made} & {"adjacent_linked", "disconnected"}
    # Nothing that the rules allow is left out while there is room.
    adjacent = [(a, b) for a, b in pairwise(names) if graph.links.has_edge(a, b) or not _related(graph.links, a, b)]
    if own_rules:
        assert sum(question.level == 1 for question in made) == min(4, len(adjacent))


def _related(links: nx.DiGraph, one: str, other: str) -> bool:
    return nx.has_path(links, one, other) or links.has_edge(other, one)


def test_half_of_a_level_is_by_our_rules_where_there_are_enough() -> None:
    names = "abcdefghij"
    graph = reachable(names, "ab bc ef fg hi")
    made = make_questions(take(names), graph, [], 4)
    by_rule = {rule: sum(question.rule == rule for question in made) for rule in RULES}
    assert by_rule == dict.fromkeys(RULES, 2)
    papers = make_questions(take(names), graph, [], 4, own_rules=False)
    assert {question.rule for question in papers} == {"adjacent_unlinked", "path"}
    assert {(question.level, question.verdict) for question in papers} == {(1, "yes"), (2, "no")}
    # The draw is by the seed.
    assert made == make_questions(take(names), graph, [], 4)
    assert made != make_questions(take(names), graph, [], 4, seed=1)


def test_partners_share_the_outcome_where_they_can() -> None:
    # To c and d lead chains from a and b, and x has nothing to do with any of them.
    made = with_partners(make_questions(take("xabcd"), reachable("xabcd", "ab bc cd"), []))
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
    made = make_questions(clip, reachable("abc", ""), [])
    assert [(question.action, question.outcome) for question in made] == [("b", "c"), ("a", "c")]
    assert made[0].question == (
        "If “the camera wearer jumps” (at 1:05) had not happened, would “the camera wearer sits” still have happened?"
    )


def test_the_words_of_each_rule() -> None:
    words = Phrasing([action(name, 0.0, text) for name, text in zip("abcdef", WORDS, strict=True)])
    first, second = "“the camera wearer opens a box”", "“another person takes the ball”"
    assert words.question("a", "b") == f"If {first} had not happened, would {second} still have happened?"
    assert words.absent_question("C hums", "b") == (
        f"If “the camera wearer hums” had not happened, would {second} still have happened?"
    )
    assert words.linked("a", "b") == "No. “another person takes the ball” depends on “the camera wearer opens a box”."
    assert words.chain("ac") == "No. “the camera wearer opens a box” leads to “D runs”."
    assert words.chain("acd") == "No. “the camera wearer opens a box” leads to “D runs”, which leads to “E rests”."
    assert words.chain("abcdef") == (
        f"No. {first} leads to {second}, which leads to 3 more actions, which leads to “G sleeps”."
    )
    assert words.chain("abcd").endswith("leads to “D runs”, which leads to “E rests”.")
    assert words.absent("C sings.", "c").startswith("Yes. “the camera wearer sings” does not happen in the video")


WORDS = ("C opens a box.", "O takes the ball", "D runs...", "E rests", "F eats", "G sleeps")


@pytest.mark.parametrize(
    ("subjects", "texts", "absent", "expected"),
    [
        (("C", "C"), ("C cuts an onion", "C stirs"), "", "H2O"),
        (("C", "O"), ("C throws the ball", "O catches it"), "", "H2H"),
        (("C", "C"), ("C throws the ball to O", "C runs"), "", "H2H"),
        (("O", "O"), ("O picks a cup", "O drinks"), "", "H2O"),
        ((None, None), ("The man pushes another player", "The man runs"), "", "H2H"),
        (("C",), ("C stirs",), "C hands O the pan", "H2H"),
        (("C",), ("C stirs",), "C hums", "H2O"),
    ],
)
def test_who_interacts(subjects: tuple[str | None, ...], texts: tuple[str, ...], absent: str, expected: str) -> None:
    actions = [action("x", 0.0, text, subject) for subject, text in zip(subjects, texts, strict=True)]
    assert interaction(actions, absent) == expected


def absent_for(texts: list[str], others: list[str], task: str = "cook") -> list[tuple[str, str]]:
    takes = [
        Take("t", "t.mp4", task, tuple(action(f"A{n:02d}", n, text) for n, text in enumerate(texts))),
        Take("u", "u.mp4", "cook", tuple(action(f"A{n:02d}", n, text) for n, text in enumerate(others))),
    ]
    encoded = encode_texts([one.text for clip in takes for one in clip.actions], tfidf_encoder())
    return AbsentActions(takes, encoded, 0).find(takes[0], 3)


def test_absent_actions_are_near_and_not_there_in_other_words() -> None:
    texts = ["C peels the onion.", "C washes a pan."]
    others = [
        "C peels the carrot.",
        "the onion, C peels!",
        "C washes a pan",
        "C sings.",
        "O leaves the room.",
        "C naps",
    ]
    found = absent_for(texts, others)
    assert found[0] == ("C peels the carrot.", "A00")
    assert [text for text, _ in found[1:]] == ["O leaves the room.", "C naps"]
    # Without a task, or with one of its own, nobody lends a clip an action.
    assert absent_for(texts, others, "") == absent_for(texts, others, "other") == []
    assert absent_for([], others) == []


def test_a_checker_finds_what_does_not_follow() -> None:
    names = "abcd"
    clip = take(names)
    row = ClipGraph(
        clip="t.mp4",
        actions=[Action(id=one.id, start=one.start, text=one.text) for one in clip.actions],
        links=[Link(cause="a", effect="b"), Link(cause="b", effect="c")],
    )
    base = {"clip": "t.mp4", "interaction": "H2O", "question": "?", "explanation": "!"}

    def faults(level: int, verdict: str, rule: str, outcome: str, action: str | None = None, **more: object) -> int:
        question = CounterfactualQuestion.model_validate(
            {"id": "q", "level": level, "verdict": verdict, "rule": rule, "outcome": outcome, "action": action}
            | base | more
        )  # fmt: skip
        problems = disagreements([("line 1", question)], {"t.mp4": GraphOfClip(row)})
        return len(problems)

    assert faults(1, "no", "adjacent_linked", "b", "a") == 0
    assert faults(2, "no", "path", "c", "a") == 0
    assert faults(2, "yes", "disconnected", "d", "a") == 0
    assert faults(1, "yes", "adjacent_unlinked", "d", "c") == 0
    assert faults(3, "yes", "absent", "d", absent_action="C sings") == 0
    for wrong in (
        faults(1, "yes", "adjacent_linked", "b", "a"),
        faults(2, "no", "adjacent_linked", "b", "a"),
        faults(1, "no", "adjacent_linked", "d", "c"),
        faults(1, "no", "adjacent_linked", "c", "a"),
        faults(1, "yes", "adjacent_unlinked", "b", "a"),
        faults(2, "no", "path", "b", "a"),
        faults(2, "no", "path", "d", "a"),
        faults(2, "yes", "disconnected", "c", "a"),
        faults(2, "yes", "disconnected", "d", "c"),
        faults(2, "no", "path", "c", "z"),
        faults(2, "no", "path", "z", "a"),
        faults(2, "no", "path", "c"),
        faults(3, "yes", "absent", "d", absent_action="does A, c!"),
        faults(3, "yes", "absent", "d"),
        faults(1, "no", "adjacent_linked", "b", "a", partner="q2"),
        faults(1, "no", "adjacent_linked", "b", "a", clip="u.mp4"),
    ):
        assert wrong == 1
    assert quoted("C") == "“the camera wearer”"
