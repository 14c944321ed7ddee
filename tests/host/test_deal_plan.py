"""Which rank is asked which questions: every question once, clips whole, ranks even, and the same on every rank."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_tasks.host.asking.dealing import QUESTION, Deal, deal_questions
from lmms_eval_tasks.host.tasks.task_view import Encode

CLIPS = [Path(f"{number}.mp4") for number in range(12)]
ENCODES = st.builds(Encode, st.sampled_from(CLIPS), st.sampled_from(["the clip", "reversed"]), st.booleans())
QUESTIONS = st.lists(st.lists(ENCODES, max_size=2).map(tuple), max_size=40)
LENGTHS = st.dictionaries(st.sampled_from(CLIPS), st.none() | st.floats(0, 600))


def whole(clip: int) -> tuple[Encode, ...]:
    return (Encode(CLIPS[clip], "the clip"),)


def loads(deal: Deal, questions: list[tuple[Encode, ...]], lengths: dict[Path, float | None]) -> list[float]:
    """The cost of each rank, summed anew from what it was dealt."""
    shown = {encode.clip for encodes in questions for encode in encodes}
    known = [length for clip in shown if (length := lengths.get(clip)) is not None]
    mean = sum(known) / len(known) if known else 1.0
    costs = [QUESTION * mean * deal.ranks.count(rank) for rank in range(len(deal.clips))]
    for rank in range(len(deal.clips)):
        mine = {encode for encodes, its in zip(questions, deal.ranks, strict=True) if its == rank for encode in encodes}
        for encode in mine:
            length = lengths.get(encode.clip)
            costs[rank] += encode.is_video * (mean if length is None else length)
    return costs


@given(QUESTIONS, LENGTHS, st.integers(1, 8))
def test_every_question_goes_to_one_rank_and_every_clip_too(
    questions: list[tuple[Encode, ...]], lengths: dict[Path, float | None], ranks: int
) -> None:
    deal = deal_questions(questions, lengths, ranks)
    assert len(deal.ranks) == len(questions) and set(deal.ranks) <= set(range(ranks)) and len(deal.clips) == ranks
    having: dict[Path, set[int]] = {}
    for encodes, rank in zip(questions, deal.ranks, strict=True):
        for encode in encodes:
            having.setdefault(encode.clip, set()).add(rank)
    assert all(len(found) == 1 for found in having.values())
    assert {clip: {rank} for rank, clips in enumerate(deal.clips) for clip in clips} == having


@given(QUESTIONS, LENGTHS, st.integers(1, 8))
def test_no_rank_has_more_than_the_mean_and_the_most_expensive_clip(
    questions: list[tuple[Encode, ...]], lengths: dict[Path, float | None], ranks: int
) -> None:
    deal = deal_questions(questions, lengths, ranks)
    costs = loads(deal, questions, lengths)
    # All that stays together, on as many ranks as there are questions, is at most the most expensive.
    alone = loads(deal_questions(questions, lengths, max(1, len(questions))), questions, lengths)
    assert max(costs) <= sum(costs) / ranks + max(alone) + 1e-6


@given(QUESTIONS, LENGTHS, st.integers(1, 8), st.randoms())
def test_the_deal_depends_on_nothing_but_its_arguments(
    questions: list[tuple[Encode, ...]], lengths: dict[Path, float | None], ranks: int, random: object
) -> None:
    again = dict(sorted(lengths.items(), key=lambda item: random.random()))  # type: ignore[attr-defined]
    assert deal_questions(list(questions), again, ranks) == deal_questions(questions, lengths, ranks)


def test_ranks_get_equal_seconds_and_not_equal_counts() -> None:
    lengths: dict[Path, float | None] = {CLIPS[0]: 60.0, **dict.fromkeys(CLIPS[1:6], 10.0)}
    deal = deal_questions([whole(clip) for clip in range(6)], lengths, 2)
    assert deal.ranks == (0, 1, 1, 1, 1, 1)
    assert (deal.seconds(0), deal.seconds(1)) == (60.0, 50.0)


def test_each_view_of_a_clip_costs_the_clip_again_and_a_single_frame_does_not() -> None:
    lengths: dict[Path, float | None] = dict.fromkeys(CLIPS, 10.0)
    views = [(Encode(CLIPS[0], "the clip"),), (Encode(CLIPS[0], "reversed"),)]
    frames = [(Encode(CLIPS[0], "the clip"),), (Encode(CLIPS[0], "centre", is_video=False),)]
    others = [whole(1), whole(2)]
    assert deal_questions([*views, *others], lengths, 2).ranks == (0, 0, 1, 1)
    assert deal_questions([*frames, *others, whole(3)], lengths, 2).ranks == (0, 0, 1, 1, 0)


def test_clips_that_are_shown_together_stay_together() -> None:
    pairs = [(*whole(0), *whole(1)), (*whole(1), *whole(2)), whole(2), whole(0), whole(3)]
    deal = deal_questions(pairs, dict.fromkeys(CLIPS, 5.0), 4)
    assert len(set(deal.ranks[:4])) == 1 and deal.ranks[4] != deal.ranks[0]


def test_questions_without_a_clip_go_where_there_is_least_to_do() -> None:
    lengths: dict[Path, float | None] = {CLIPS[0]: 1.0, CLIPS[1]: 1.0}
    deal = deal_questions([whole(0), whole(0), (), (), (), whole(1), ()], lengths, 2)
    assert deal.ranks.count(0) == 3 and deal.ranks.count(1) == 4


def test_a_clip_of_unknown_length_is_taken_for_a_mean_one() -> None:
    lengths: dict[Path, float | None] = {CLIPS[0]: 20.0, CLIPS[1]: 40.0, CLIPS[2]: None}
    deal = deal_questions([whole(0), whole(1), whole(2)], lengths, 3)
    assert [deal.seconds(rank) for rank in deal.ranks] == [20.0, 40.0, 30.0]


@pytest.mark.parametrize("ranks", [1, 3])
def test_nothing_is_dealt_to_nobody(ranks: int) -> None:
    assert deal_questions([], {}, ranks) == Deal((), ({},) * ranks)
    assert [deal_questions([whole(0)], {}, ranks).seconds(rank) for rank in range(ranks)] == [1.0, 0, 0][:ranks]
