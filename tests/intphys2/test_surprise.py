"""Matched pairs as items, how their losses are graded, and the scores: against what is worked out here."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import datasets
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_tasks.api import InputError, Outcome, Record
from lmms_eval_tasks.intphys2.surprise import (
    EQUAL_MOTION,
    METRICS,
    MOVES_LESS,
    NO_LOSSES,
    PREFERENCE,
    answer_view,
    grade,
    item_view,
    matched_pairs,
    panels,
    possible_clip,
    preference_at,
)
from lmms_eval_tasks.utils.answers.reply import as_reply
from lmms_eval_tasks.utils.reporting.columns import RunRecords
from lmms_eval_tasks.utils.reporting.figure import LinePlot
from lmms_eval_tasks.utils.reporting.item_views import AnswerView

SCENES = 20


def table(motions: bool = True, **changes: Any) -> datasets.Dataset:
    """Scenes of four clips, whose motion is their number; `changes` are of the first clip."""
    same = {
        "question": "?", "options": ["Yes", "No"], "clip_present": True, "asked": True, "coding": "1",
        "condition": "permanence", "camera": "fixed", "difficulty": "easy",
    }  # fmt: skip
    rows = [
        {
            "item_id": f"s{scene}_{pair}{answer}",
            "group_id": f"s{scene}",
            "answer": answer,
            "pair": pair,
            "clip": f"main/s{scene}_{pair}{answer}.mp4",
            **same,
            **({"motion": float(4 * scene + 2 * (pair == "2") + (answer == "B"))} if motions else {}),
        }
        for scene in range(SCENES)
        for pair in ("1", "2")
        for answer in ("A", "B")
    ]
    return datasets.Dataset.from_list([{**rows[0], **changes}, *rows[1:]])


def test_pairs_are_items_of_their_scene() -> None:
    prepared = table()
    clips = dict(zip(prepared["item_id"], prepared["clip"], strict=True))
    pairs = matched_pairs(prepared).to_list()
    assert len(pairs) == len({pair["item_id"] for pair in pairs}) == 2 * SCENES
    for pair in pairs:
        shown = (pair["clip"], pair["clip_other"])
        possible = possible_clip(pair["item_id"])
        assert shown["AB".index(pair["answer"])] == clips[possible] and possible.endswith("A")
        assert set(shown) == {clips[possible], clips[f"{possible[:-1]}B"]} and pair["group_id"] == possible[:-3]
        motions = (pair["motion"], pair["motion_other"])
        assert motions["AB".index(pair["answer"])] < motions["BA".index(pair["answer"])]
    # Drawn from the id: neither place is always the possible clip's, and again it is the same.
    assert {pair["answer"] for pair in pairs} == {"A", "B"}
    assert matched_pairs(prepared).to_list() == pairs
    # The later a scene, the less its clips differ by their sum: 30% of 40 pairs.
    assert [pair["item_id"] for pair in pairs if pair["motion_equal"]] == [pair["item_id"] for pair in pairs][-12:]


def test_a_pair_needs_both_of_its_clips_and_a_table_its_motion() -> None:
    first, second, *_ = matched_pairs(table(clip_present=False, asked=False, motion=None)).to_list()
    assert (first["clip_present"], first["asked"], first["motion_equal"]) == (False, False, False)
    assert second["asked"]
    with pytest.raises(InputError, match=r"measured no motion.*\nRun:  lmms-eval-tasks prepare intphys2"):
        matched_pairs(table(motions=False))


PAIRS = matched_pairs(table()).to_list()
FINITE = st.floats(-5, 5, allow_nan=False)


def graded(responses: list[Any]) -> list[Record]:
    context: Any = SimpleNamespace(settings=None)
    return [grade(pair, as_reply(response), context).record for pair, response in zip(PAIRS, responses, strict=True)]


@given(st.lists(st.tuples(FINITE, FINITE), min_size=len(PAIRS), max_size=len(PAIRS)))
@settings(max_examples=25, deadline=None)
def test_the_score_is_the_share_of_pairs_whose_possible_clip_has_the_lower_loss(losses: list[Any]) -> None:
    records = graded([json.dumps({"losses": pair}) for pair in losses])
    won = [
        pair["AB".index(row["answer"])] < pair["BA".index(row["answer"])]
        for pair, row in zip(losses, PAIRS, strict=True)
    ]
    assert PREFERENCE.score_records(records) == pytest.approx(100 * sum(won) / len(won))
    equal = [one for one, row in zip(won, PAIRS, strict=True) if row["motion_equal"]]
    assert EQUAL_MOTION.score_records(records) == pytest.approx(100 * sum(equal) / len(equal))
    assert MOVES_LESS.score_records(records) == 100
    # Whoever exchanges every two losses loses what was won, and ties stay.
    turned = graded([json.dumps({"losses": pair[::-1]}) for pair in losses])
    ties = sum(one == other for one, other in losses)
    there, back = PREFERENCE.score_records(records), PREFERENCE.score_records(turned)
    assert there is not None and back is not None
    assert there + back == pytest.approx(100 * (1 - ties / len(losses)))


def test_ties_and_losses_that_are_not_finite_are_no_win_and_words_are_unparsed() -> None:
    odd = ['{"losses": [1, 1]}', '{"losses": [NaN, 1]}', "The first clip.", None]
    error = '{"error": {"kind": "unequal_clips", "message": "24 and 12 frames"}}'
    won = [json.dumps({"losses": [int(pair["answer"] == "B"), int(pair["answer"] == "A")]}) for pair in PAIRS]
    records = graded([*odd, error, *won[5:]])
    assert [record.answered for record in records[:5]] == ["tie", "non-finite", None, None, None]
    assert [record.outcome.value for record in records[:5]] == ["wrong", "wrong", "unparsed", "unparsed", "unscored"]
    assert records[4].why == "unequal clips: 24 and 12 frames"
    assert [record.detail for record in records[:4]] == ["", "", NO_LOSSES, NO_LOSSES]
    scores = {metric.name: metric.score_records(records) for metric in METRICS}
    assert scores["plausibility_preference"] == pytest.approx(100 * 35 / 39)
    assert (scores["pairs_scored"], scores["unparsed_rate"]) == (39, 5)
    assert (scores["tie_rate"], scores["non_finite_rate"]) == pytest.approx((100 / 37, 100 / 37))


def test_each_timestep_has_a_score() -> None:
    curves = {"A": [[0.1, 0.9], [0.2, 0.8]], "B": [[0.2, 0.8], [0.1, 0.9]]}
    answers = [{"losses": [0.5, 0.5], "timesteps": [90.5, 900], "curves": curves[pair["answer"]]} for pair in PAIRS]
    records = graded(list(map(json.dumps, answers)))
    assert PREFERENCE.score_records(records) == 0
    assert [preference_at(step).score_records(records) for step in (90.5, 900.0, 500.0)] == [100, 0, None]


def test_the_curves_reach_over_the_timesteps_of_all_runs() -> None:
    def run(tag: str, *timesteps: int) -> RunRecords:
        fields = {
            "timesteps": list(timesteps), "lowest": ["A"] * len(timesteps), "losses": [1.0, 2.0],
            "motions": [1.0, 1.0], "clips": ["a", "b"],
        }  # fmt: skip
        return RunRecords(tag, tag, [[Record("p", "s", {}, "A", "A", Outcome.CORRECT, fields=fields)]])

    figure = panels("intphys2_surprise", [run("1", 700, 100), run("2", 400), run("3")])[0].figures
    assert isinstance(figure, LinePlot)
    assert [line.tag for line in figure.lines] == ["1", "2"]
    low, high = figure.x[1]
    assert low < 100 and high > 700


@pytest.mark.parametrize(("motion", "score"), [(0.5, 100), (1.0, 0), (9.0, 0), (None, None)])
def test_what_moves_less_wins_by_its_motion_where_it_was_measured(motion: float | None, score: float | None) -> None:
    """Of a possible clip beside one whose motion is 1."""
    pair = matched_pairs(table(motion=motion))[0]
    context: Any = SimpleNamespace(settings=None)
    record = grade(pair, as_reply('{"losses": [1, 2]}'), context).record
    assert MOVES_LESS.score_records([record]) == score


def test_an_answer_is_shown_with_its_losses_motions_and_curves() -> None:
    pair = next(one for one in PAIRS if one["answer"] == "B")
    context: Any = SimpleNamespace(settings=None)

    def shown(**answer: Any) -> AnswerView:
        said = json.dumps(answer)
        return answer_view(grade(pair, as_reply(said), context).record, pair, said)

    motions = {f"motion {letter}": f"{pair[name]:.6g}" for letter, name in (("A", "motion"), ("B", "motion_other"))}
    plain = shown(losses=[0.12345678, float("nan")])
    assert plain.facts == {"loss A": "0.123457", "loss B": "NaN", **motions} and not plain.curves
    timed = shown(losses=[0.5, 0.25], timesteps=[100, 400], curves=[[0.5, 0.5], [0.25, 0.125]])
    assert timed.curves == {
        "A, impossible": [(100.0, 0.5), (400.0, 0.5)], "B, possible": [(100.0, 0.25), (400.0, 0.125)],
    }  # fmt: skip
    assert timed.axes == ("timestep", "loss")
    record = grade(pair, as_reply('{"losses": [1, 2]}'), context).record
    item = item_view(record, pair)
    assert item.clips == {"A": pair["clip"], "B": pair["clip_other"]}
    assert item.text == "Clip B is possible, and should have the lower loss."
