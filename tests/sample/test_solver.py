import shutil

import pytest

from lmms_eval_tasks.sample.solver import CANNOT_TELL, solve
from lmms_eval_tasks.utils.data.clips import write_placeholder

pytestmark = pytest.mark.slow

# The laws of these two are the same in both directions of time.
SYMMETRIC = {"intphys", "inflevel"}


def test_every_answer_is_right(items, responses):
    assert [item for item in items if responses[item] != item.answer] == []


def test_a_reversed_clip_is_not_answered_rightly(items):
    for item in items:
        if item.benchmark == "causalvqa" and item.version == 1:
            assert solve(item.question, item.options, item.clip, reverse=True) != item.answer, item


def test_a_reversed_clip_breaks_every_pair_that_depends_on_time(items):
    right: dict[tuple[str, str], list[bool]] = {}
    for item in items:
        if item.benchmark == "mvp":
            response = solve(item.question, item.options, item.clip, reverse=True)
            right.setdefault((item.kind, item.group), []).append(response == item.answer)
    assert {kind for (kind, _), pair in right.items() if all(pair)} == SYMMETRIC


def test_the_other_clip_of_a_pair_gives_the_other_answer(items, responses):
    pairs: dict[str, list] = {}
    for item in items:
        if item.benchmark == "mvp":
            pairs.setdefault(item.group, []).append(item)
    for one, other in pairs.values():
        swapped = solve(one.question, one.options, other.clip)
        assert swapped == other.answer != one.answer
        assert responses[one] == one.answer


def test_another_questions_clip_gives_no_right_answer_by_chance(items):
    causal = [item for item in items if item.benchmark == "causalvqa" and item.version == 1]
    strangers = causal[1:] + causal[:1]
    right = [
        solve(item.question, item.options, stranger.clip) == item.answer
        for item, stranger in zip(causal, strangers, strict=True)
    ]
    assert sum(right) / len(right) < 0.2


def test_nothing_but_the_pixels_is_used(items, responses, tmp_path):
    for number, item in enumerate(items[::9]):
        copy = tmp_path / f"{number}.mp4"
        shutil.copy(item.clip, copy)
        assert solve(item.question, item.options, copy) == responses[item]


def test_the_order_of_options_does_not_matter(items):
    for item in items[::7]:
        backwards = item.options[::-1]
        letter = solve(item.question, backwards, item.clip)
        assert backwards["ABCDE".index(letter)] == item.options["ABCDE".index(item.answer)]


@pytest.mark.parametrize("question", ["Why is the sky blue?", "", "Which object sets the brown ball in motion?"])
def test_what_cannot_be_seen_is_not_guessed(items, question):
    assert solve(question, ("The red ball", "The blue block"), items[0].clip) == CANNOT_TELL


def test_a_black_clip_shows_nothing(items, tmp_path):
    write_placeholder(tmp_path / "black.mp4")
    for item in items[::5]:
        assert solve(item.question, item.options, tmp_path / "black.mp4") == CANNOT_TELL


def test_options_without_the_answer_are_not_guessed(items):
    for item in items[::6]:
        rest = [option for option in item.options if option != item.options["ABCDE".index(item.answer)]]
        assert solve(item.question, rest, item.clip) == CANNOT_TELL or item.benchmark == "mvp"


def test_the_sentence_of_doubt_names_no_letter():
    assert not set(CANNOT_TELL.replace("I ", "").split()) & set("ABCDE")
