"""All questions of a set of made-up scenes: answered again from what is known of the scenes, and balanced."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import groupby

import pytest
from made_facts import made_facts, made_set, world_of
from question_bias import rules_above_chance
from read_wording import read_body, read_event

from lmms_eval_tasks.api.answers import NO, YES
from lmms_eval_tasks.api.evidence import read_truth
from lmms_eval_tasks.worlds.questions.causes import answer_of_seen_graph
from lmms_eval_tasks.worlds.questions.question import Question
from lmms_eval_tasks.worlds.questions.question_set import TASKS, questions_of_set
from lmms_eval_tasks.worlds.scenes.scene import EventKey, Facts

pytestmark = pytest.mark.slow
SCENES = 75
CAUSAL = ("paired", "minimal", "counterfactual", "evidence")


def asked(task: str, *kinds: str) -> list[tuple[Facts, Question]]:
    """The questions of a task, or of some kinds of it, with what is known of their scenes."""
    facts, questions = made_set(SCENES)
    known = {one.scene.id: one for one in facts}
    of_task = [one for one in questions if one.task == task and (not kinds or one.kind.split()[0] in kinds)]
    assert of_task
    return [(known[one.scene], one) for one in of_task]


def is_right(question: Question) -> list[bool]:
    """Whether each option is the right one."""
    return [place == "ABCD".index(question.answer) for place in range(len(question.options))]


def right_option(question: Question) -> str:
    return question.options["ABCD".index(question.answer)]


def grouped(task: str) -> list[list[Question]]:
    _, questions = made_set(SCENES)
    return [list(members) for _, members in groupby((q for q in questions if q.task == task), lambda q: q.group_id)]


def test_of_what_is_seen_one_option_alone_is_right() -> None:
    for facts, question in asked("perception", "what"):
        says = [facts.says(read_event(option)[0]) for option in question.options]
        assert None not in says and [one is (question.kind == "what") for one in says] == is_right(question)
    for facts, question in asked("perception", "first", "last"):
        keys = [read_event(option)[0] for option in question.options]
        times = [next(event.time for event in facts.events if event.key == key) for key in keys]
        right = times.pop("ABCD".index(question.answer))
        ahead = min(times) - right if question.kind == "first" else right - max(times)
        assert ahead >= 0.4 - 1e-9
    for facts, question in asked("perception", "who"):
        ((kind, one, other),) = question.about
        bodies = [read_body(option) for option in question.options]
        if kind == "hits":
            rest = next(part for part in (one, other) if part not in bodies)
            assert rest in question.question.lower()
            keys = [EventKey("hits", *sorted((name, rest))) for name in bodies]
        else:
            keys = [EventKey(kind, name, other) for name in bodies]
        assert [facts.says(key) for key in keys] == is_right(question)


def test_without_the_right_body_alone_the_event_does_not_happen() -> None:
    for facts, question in [*asked("paired", "cause"), *asked("evidence", "cause")]:
        (key,) = (EventKey(*one) for one in question.about)
        bodies = list(map(read_body, question.options))
        still = [world_of(facts, "remove", name).says(key) for name in bodies]
        assert facts.says(key) and not {key.body, key.other} & set(bodies)
        odd = question.kind.startswith("cause not")
        assert still == [right is odd for right in is_right(question)]


def test_the_right_event_alone_would_have_happened_or_would_not() -> None:
    questions = asked("paired", "would")
    assert {one.kind for _, one in questions} >= {"would after remove", "would not after remove"}
    for facts, question in questions:
        world = world_of(facts, question.intervention, question.changed)
        keys = [read_event(option)[0] for option in question.options]
        wanted = "not" not in question.kind.split()
        assert None not in map(world.says, keys)
        assert all(question.changed not in (key.body, key.other) for key in keys)
        there = [world.says(key) is wanted for key in keys]
        assert there == is_right(question)
        # What happens in the clip itself is another answer, or leaves several.
        assert [facts.says(key) is wanted for key in keys] != there


def test_pairs_ask_the_same_in_other_words_and_another_order() -> None:
    for one, other in grouped("paired"):
        assert one.question != other.question and one.answer != other.answer
        assert sorted(one.options) == sorted(other.options) and right_option(one) == right_option(other)


def test_evidence_is_read_as_cast_bench_reads_it() -> None:
    for facts, question in asked("evidence"):
        truth = read_truth(question.evidence)
        (key,) = (EventKey(*one) for one in question.about)
        assert {one.name for one in truth} == {question.changed, key.body, *([key.other] if key.kind == "hits" else [])}
        time = next(event.time for event in facts.events if event.key == key)
        for one in truth:
            line = one.timeline()
            assert line.end - line.start >= 1 and len(line.boxes) >= 2
            assert one.name == question.changed or line.start <= time <= line.end + 1
            for second, box in line.boxes.items():
                seen = [sight.box for sight in facts.sights if sight.body == one.name and int(sight.time) == second]
                assert list(box) == seen[0]


def test_a_counterfactual_answer_is_what_the_other_world_says_and_its_level_what_the_clip_shows() -> None:
    questions = asked("counterfactual")
    assert {one.intervention for _, one in questions} == {"remove", "freeze", "delay"}
    assert {len(one.changed.split(" and ")) for _, one in questions} == {1, 2}
    for facts, question in questions:
        key, changed = EventKey(*question.outcome), question.changed.split(" and ")
        says = world_of(facts, question.intervention, *changed).says(key)
        assert question.answer == {True: YES, False: NO}[says] and question.options == []
        assert not {key.body, key.other} & set(changed)
        for name in filter(None, (*changed, key.body, key.other)):
            assert f"the {name}" in question.question.replace("The ", "the ")
        touched = any(
            event.kind == "hits" and set(changed) & {event.body, event.other} and
            {event.body, event.other} & {key.body, key.other}
            for event in facts.events
        )  # fmt: skip
        assert facts.says(key) is not None
        assert question.level == ("absent" if not facts.says(key) else "direct" if touched else "chain")
        assert ("still" in question.question.split()) >= (question.level != "absent")
        assert question.seen == answer_of_seen_graph(facts, changed, key)
        assert question.marked == (question.seen != question.answer)
    assert 0.1 < sum(one.marked for _, one in questions) / len(questions) < 0.7


def test_yes_is_as_frequent_as_no_and_goes_with_no_colour_or_shape() -> None:
    sums: Counter[tuple[object, ...]] = Counter()
    traits: Counter[tuple[str, ...]] = Counter()
    times: Counter[tuple[str, ...]] = Counter()
    for facts, question in asked("counterfactual"):
        sign, changed = 1 if question.answer == YES else -1, question.changed.split(" and ")
        sums[question.level, question.intervention, len(changed), question.kind, question.wording] += sign
        for part, name in (*(("changed", name) for name in changed), ("outcome", question.outcome[1])):
            body = facts.scene.body(name)
            for trait in (body.shape, body.colour):
                traits[question.level, question.intervention, part, trait] += sign
                times[question.level, question.intervention, part, trait] += 1
    assert set(sums.values()) == {0} and {key[0] for key in sums} >= {"direct", "chain", "absent"}
    assert all(abs(number) <= max(6, 1.5 * times[trait] ** 0.5) for trait, number in traits.items())
    groups = grouped("counterfactual")
    pairs = [members for members in groups if len(members) > 1]
    assert len(pairs) > len(groups) / 2
    for members in pairs:
        assert sorted(one.answer for one in members) == [NO, YES]
        assert len({(one.scene, one.level, one.wording) for one in members}) == 1


def clip_pairs_of(task: str) -> list[tuple[Facts, Question, Question]]:
    """Pairs with the scene's own clip first, though it stands first in about half of them."""
    known = {one.scene.id: one for one in made_set(SCENES)[0]}
    pairs = grouped(task)
    firsts = [one.clip == f"{one.scene}.mp4" for one, _ in pairs]
    assert 0.3 < sum(firsts) / len(firsts) < 0.7
    return [(known[pair[0].scene], *sorted(pair, key=lambda one: one.clip != f"{one.scene}.mp4")) for pair in pairs]


def test_each_clip_of_a_pair_is_asked_about_by_what_it_shows() -> None:
    for facts, *pair in clip_pairs_of("minimal"):
        assert facts.twin is not None
        name = facts.scene.id
        clips = {f"{name}.mp4": facts.events, f"{name}_twin.mp4": facts.twin.events}
        assert {one.clip for one in pair} == set(clips)
        assert len({(one.question, tuple(one.options), one.same_start) for one in pair}) == 1
        for one in pair:
            keys = {event.key for event in clips[one.clip]}
            assert [(key in keys) == affirmed for key, affirmed in map(read_event, one.options)] == is_right(one)
    for facts, possible, broken in clip_pairs_of("possible"):
        assert (possible.answer, broken.answer) == ("A", "B") and possible.options == broken.options == ["Yes.", "No."]
        assert broken.clip == f"{broken.scene}_breaks_{broken.principle}.mp4"
        assert broken.principle in {one.principle for one in facts.violations}
    arrows = {}
    for _, forward, backward in clip_pairs_of("reversal"):
        assert backward.clip == f"{backward.scene}_backwards.mp4" and forward.options == backward.options
        assert (right_option(forward), right_option(backward)) == ("It runs forward.", "It runs backward.")
        arrows[forward.scene] = forward.arrow
    lost = {one.scene.id: one.lost_energy for one in made_set(SCENES)[0]}
    assert arrows == {scene: "strong" if share == 0.5 else "none" for scene, share in lost.items() if share != 0.1}


def test_causal_questions_have_a_control_about_the_same_events() -> None:
    _, questions = made_set(SCENES)
    seen = {(one.scene, tuple(key)) for one in questions if one.task == "perception" for key in one.about}
    causal = [one for one in questions if one.task in CAUSAL]
    controlled = [one for one in causal if any((one.scene, tuple(key)) in seen for key in one.about)]
    assert {one.scene for one in controlled} == {one.scene for one in causal}
    assert len(controlled) > 0.6 * len(causal)


def test_every_scene_has_questions_once_in_the_order_of_tasks_and_groups() -> None:
    facts, questions = made_set(SCENES)
    assert len(questions) >= 12 * len(facts) and {one.scene for one in questions} == {one.scene.id for one in facts}
    assert len({one.item_id for one in questions}) == len(questions)
    assert [name for name, _ in groupby(one.task for one in questions)] == list(TASKS)
    groups = [name for name, _ in groupby(one.group_id for one in questions)]
    assert len(set(groups)) == len(groups)
    assert set(Counter(one.group_id for one in questions).values()) == {1, 2}
    asked_once = Counter(
        (one.task, one.clip, one.question, tuple(sorted(one.options)), one.principle, one.level) for one in questions
    )
    assert max(asked_once.values()) == 1
    unsure = {(one.scene.id, *key) for one in facts for key in one.unsure}
    assert unsure and not unsure & {(one.scene, *key) for one in questions for key in one.about}


def test_strata_are_of_the_scene() -> None:
    facts, questions = made_set(SCENES)
    known = {one.scene.id: one for one in facts}
    for one in questions:
        scene = known[one.scene].scene
        assert (one.depth, one.distractors, one.bodies) == (scene.depth, scene.distractors, len(scene.actors))
        hidden = any(sight.visible < 0.5 for sight in known[one.scene].sights)
        hidden = hidden or any(event.kind == "leaves view" for event in known[one.scene].events)
        assert one.occlusion == ("some" if hidden else "none")


def test_the_same_seed_gives_the_same_questions_and_another_one_others() -> None:
    facts = made_facts(3)
    once, again = questions_of_set(facts, 5), questions_of_set(made_facts(3), 5)
    assert [one.model_dump_json() for one in once] == [one.model_dump_json() for one in again]
    assert [one.question for one in once] != [one.question for one in questions_of_set(facts, 6)]
    with pytest.raises(ValueError, match="Expected scenes whose ids differ"):
        questions_of_set([facts[0], facts[0]], 0)


def test_letters_are_balanced_and_wordings_do_not_depend_on_them() -> None:
    _, questions = made_set(SCENES)
    letters: defaultdict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    for one in questions:
        letters[one.task, len(one.options)][one.answer] += 1
    for (_, options), counts in letters.items():
        assert len(counts) == (options or 2) and max(counts.values()) - min(counts.values()) <= 4
    for task in ("perception", "paired", "reversal", "minimal"):
        counts = Counter((one.wording, one.answer) for one in questions if one.task == task and len(one.options) == 2)
        for wording in {wording for wording, _ in counts}:
            first, second = counts[wording, "A"], counts[wording, "B"]
            assert abs(first - second) <= 3.5 * (first + second) ** 0.5


def test_no_rule_of_bias_is_above_chance_and_a_set_with_one_is_noticed() -> None:
    _, questions = made_set(SCENES)
    assert len(questions) >= 2000
    assert rules_above_chance(questions, lambda one: ()) == []
    assert rules_above_chance(questions, lambda one: (one.kind, one.level)) == []
    # What happens in a clip may be right in several questions about it, and few scenes of a family have its bodies.
    assert rules_above_chance(questions, lambda one: (one.family,)) == []
    spoilt = [
        one.model_copy(update={"options": sorted(one.options, key=len), "answer": "D"})
        if one.kind == "what" and len(one.options) == 4
        else one
        for one in questions
    ]
    assert "perception: longest option" in rules_above_chance(spoilt, lambda one: ())


def test_no_kind_of_event_and_no_body_is_right_more_often_than_guessing() -> None:
    sums: defaultdict[tuple[str, ...], float] = defaultdict(float)
    for task in ("perception", "paired", "evidence"):
        for facts, one in asked(task):
            for option, right in zip(one.options, is_right(one), strict=True):
                gain = right - 1 / len(one.options)
                for body in facts.scene.actors:
                    if body in option.lower():
                        sums[task, one.kind, "colour", facts.scene.body(body).colour] += gain
                if "and" not in option.split():
                    verb = " ".join(option.split()[3:])
                    sums[task, one.kind, "verb", verb if "ends up" not in verb else "enters"] += gain
    assert len(sums) > 100 and max(map(abs, sums.values())) < 9
