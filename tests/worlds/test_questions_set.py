"""A whole set of questions: balance, order, and the same set each time."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import groupby

import pytest
from made_facts import made_facts, made_set
from question_bias import rules_above_chance

from lmms_eval_tasks.worlds.questions.askable import Askable
from lmms_eval_tasks.worlds.questions.balance import Balance
from lmms_eval_tasks.worlds.questions.question_set import TASKS, questions_of_set

pytestmark = pytest.mark.slow
SCENES = 75


def test_every_scene_has_questions_of_many_tasks() -> None:
    facts, questions = made_set(SCENES)
    assert len(questions) >= 12 * len(facts)
    assert set(Counter(one.task for one in questions)) == set(TASKS)
    assert {one.scene for one in questions} == {one.scene.id for one in facts}


def test_ids_are_unique_and_members_of_a_group_are_next_to_each_other() -> None:
    _, questions = made_set(SCENES)
    assert len({one.item_id for one in questions}) == len(questions)
    groups = [name for name, _ in groupby(one.group_id for one in questions)]
    assert len(set(groups)) == len(groups)
    assert [name for name, _ in groupby(one.task for one in questions)] == list(TASKS)
    sizes = Counter(Counter(one.group_id for one in questions).values())
    assert set(sizes) == {1, 2}


def test_the_same_seed_gives_the_same_questions_and_another_one_others() -> None:
    facts = made_facts(6)
    once, again = questions_of_set(facts, 5), questions_of_set(made_facts(6), 5)
    assert [one.model_dump_json() for one in once] == [one.model_dump_json() for one in again]
    assert [one.question for one in once] != [one.question for one in questions_of_set(facts, 6)]


def test_scenes_that_share_an_id_are_refused() -> None:
    (facts,) = made_facts(1)
    with pytest.raises(ValueError, match="Expected scenes whose ids differ"):
        questions_of_set([facts, facts], 0)


def test_no_task_asks_a_question_twice_of_a_clip() -> None:
    _, questions = made_set(SCENES)
    asked = Counter(
        (one.task, one.clip, one.question, tuple(sorted(one.options)), one.principle, one.level) for one in questions
    )
    assert max(asked.values()) == 1


def test_nothing_that_is_unsure_is_asked_about() -> None:
    facts, questions = made_set(SCENES)
    unsure = {(one.scene.id, *key) for one in facts for key in one.unsure}
    assert unsure
    asked = {(one.scene, *key) for one in questions for key in one.about}
    assert not unsure & asked


def test_letters_are_balanced() -> None:
    _, questions = made_set(SCENES)
    letters: defaultdict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    for one in questions:
        letters[one.task, len(one.options)][one.answer] += 1
    for (_, options), counts in letters.items():
        assert len(counts) == (options or 2)
        assert max(counts.values()) - min(counts.values()) <= 4


def test_no_rule_of_bias_is_above_chance() -> None:
    _, questions = made_set(SCENES)
    assert len(questions) >= 2000
    assert rules_above_chance(questions, lambda one: ()) == []
    assert rules_above_chance(questions, lambda one: (one.kind, one.level)) == []


def test_keys_of_other_questions_about_scenes_of_a_family_give_nothing_away() -> None:
    """What happens in a clip may be right in several questions about it, and few scenes of a family have its bodies."""
    families = {one.scene.id: f"made {number // 5}" for number, one in enumerate(made_facts(SCENES))}
    facts = [
        one.model_copy(update={"scene": one.scene.model_copy(update={"family": families[one.scene.id]})})
        for one in made_facts(SCENES)
    ]
    questions = questions_of_set(facts, 3)
    assert rules_above_chance(questions, lambda one: (one.family,)) == []


def test_a_set_with_a_bias_is_noticed() -> None:
    _, questions = made_set(SCENES)
    spoilt = [
        one.model_copy(update={"options": sorted(one.options, key=len), "answer": "D"})
        if one.kind == "what" and len(one.options) == 4
        else one
        for one in questions
    ]
    assert "perception: longest option" in rules_above_chance(spoilt, lambda one: ())


def test_no_kind_of_event_and_no_body_is_right_more_often_than_guessing() -> None:
    facts, questions = made_set(SCENES)
    known = {one.scene.id: one.scene for one in facts}
    sums: Counter[tuple[str, ...]] = Counter()
    for one in questions:
        if one.task in ("perception", "paired", "evidence"):
            for letter, option in zip("ABCD", one.options, strict=False):
                gain = (letter == one.answer) - 1 / len(one.options)
                for body in known[one.scene].actors:
                    if body in option.lower():
                        found = known[one.scene].body(body)
                        sums[one.task, one.kind, "colour", found.colour] += gain  # type: ignore[assignment]
                if "and" not in option.split():
                    verb = " ".join(option.split()[3:])
                    sums[one.task, one.kind, "verb", verb if "ends up" not in verb else "enters"] += gain  # type: ignore[assignment]
    assert len(sums) > 100
    assert max(map(abs, sums.values())) < 9


def test_wordings_do_not_depend_on_letters() -> None:
    _, questions = made_set(SCENES)
    for task in ("perception", "paired", "reversal", "minimal"):
        counts = Counter((one.wording, one.answer) for one in questions if one.task == task and len(one.options) == 2)
        for wording in {wording for wording, _ in counts}:
            first, second = counts[wording, "A"], counts[wording, "B"]
            assert abs(first - second) <= 3.5 * (first + second) ** 0.5


def test_the_balance_chooses_what_makes_up_and_refuses_what_goes_past_the_cap() -> None:
    balance = Balance(cap=1.0)
    assert balance.choose([{"a": 1.0}]) == 0
    assert balance.choose([{"a": 1.0}, {"a": 0.5, "b": 1.0}]) is None
    assert balance.choose([{"a": 1.0}, {"~b": 5.0}]) == 1
    assert balance.choose([{"~b": 1.0}, {"a": -1.0, "~b": -1.0}]) == 1
    assert balance.choose([{"a": 1.0}]) == 0
    assert balance.choose([{"a": 1.0}], force=True) == 0
    assert balance.choose([]) is None


def test_distractors_and_occlusion_are_strata() -> None:
    facts, questions = made_set(SCENES)
    known = {one.scene.id: one for one in facts}
    for one in questions:
        scene = known[one.scene].scene
        assert (one.depth, one.distractors, one.bodies) == (scene.depth, scene.distractors, len(scene.actors))
        hidden = any(sight.visible < 0.5 for sight in known[one.scene].sights)
        hidden = hidden or any(event.kind == "leaves view" for event in known[one.scene].events)
        assert one.occlusion == ("some" if hidden else "none")
    assert Askable(facts[0]).actors == facts[0].scene.actors
