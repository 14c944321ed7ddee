"""Filters of pairs that single frames, or no frames, solve: decisions worked by hand."""

from __future__ import annotations

from expected import Expected
from refusals import refusal

from lmms_eval_tasks.construct.curation.shortcut_filters import Records, blind_filter, check_share, single_frame_filter
from lmms_eval_tasks.utils.scoring.record import Outcome, Record, UnscoredReason

TASK = "some_task"


def answer(item: str, right: bool | None, frame: int | None = None) -> Record:
    """An answer to an item such as ``p_0``, of the pair ``p``."""
    fields = {} if frame is None else {"frame": frame}
    if right is None:
        return Record(item, item[:-2], {}, "A", None, Outcome.UNSCORED, UnscoredReason.NO_CLIP, fields=fields)
    return Record(item, item[:-2], {}, "A", "A", Outcome.CORRECT if right else Outcome.WRONG, fields=fields)


def model(answers: dict[str, str], first_frame: int = 0) -> Records:
    """One model: item to a letter for each frame, ``+`` where it is right, ``?`` where it was not scored."""
    values = {"+": True, "-": False, "?": None}
    return {
        TASK: [
            answer(item, values[sign], first_frame + frame)
            for item, signs in answers.items()
            for frame, sign in enumerate(signs)
        ]
    }


def five(right: dict[str, tuple[int, ...]]) -> dict[str, Records]:
    """Five models: item to how many of them are right on each frame."""
    return {
        f"model {number}": model(
            {item: "".join("+" if number < count else "-" for count in counts) for item, counts in right.items()}
        )
        for number in range(5)
    }


def test_four_of_five_models_and_three_of_ten_frames_of_both_clips() -> None:
    nine = (3,) * 7
    groups = single_frame_filter(
        five(
            {
                "a_0": (4, 5, 4, *nine),
                "a_1": (4, 4, 4, *nine),
                # One frame too few of one clip.
                "b_0": (5,) * 10,
                "b_1": (4, 4, 3, *nine),
                # Three models of five are too few.
                "c_0": (3,) * 10,
                "c_1": (5,) * 10,
            }
        )
    )
    assert [(group.group_id, group.removed, group.why) for group in groups] == [
        ("a", True, "solvable frames: 3 of 10 and 3 of 10"),
        ("b", False, "solvable frames: 10 of 10 and 2 of 10"),
        ("c", False, "solvable frames: 0 of 10 and 10 of 10"),
    ]
    assert groups[0].members["a_0"] == {"frames": 10, "solvable": [0, 1, 2]}


def test_shares_can_be_chosen() -> None:
    models = five({"a_0": (3, 0), "a_1": (3, 0)})
    assert [group.removed for group in single_frame_filter(models)] == [False]
    assert [group.removed for group in single_frame_filter(models, model_share=0.6)] == [True]
    assert [group.removed for group in single_frame_filter(models, 0.6, frame_share=0.6)] == [False]


def test_frames_that_a_model_has_no_score_for_do_not_count() -> None:
    models = {"one": model({"a_0": "++", "a_1": "+?"}), "two": model({"a_0": "++", "a_1": "+-"})}
    (group,) = single_frame_filter(models)
    assert (group.removed, group.members["a_1"]) == (True, {"frames": 1, "solvable": [0]})
    models["two"] = model({"a_0": "++", "a_1": "?-"})
    (group,) = single_frame_filter(models)
    assert (group.removed, group.why) == (False, "not scored by every model")
    missing = {TASK: [answer("a_0", True, 0), answer("a_1", None)]}
    (group,) = single_frame_filter({"one": missing, "two": model({"a_0": "+", "a_1": "+"})})
    assert (group.removed, group.why) == (False, "not scored by every model")


def test_a_frame_that_was_drawn_twice_counts_once() -> None:
    records = [answer("a_0", True, 3), answer("a_0", False, 3), answer("a_1", True, 5), answer("a_1", True, 5)]
    (group,) = single_frame_filter({"one": {TASK: records}})
    assert group.members == {"a_0": {"frames": 1, "solvable": []}, "a_1": {"frames": 1, "solvable": [5]}}


def test_runs_and_shares_that_cannot_be_used_are_refused(expected: Expected) -> None:
    other_frames = {"one": model({"a_0": "+", "a_1": "+"}), "two": model({"a_0": "+", "a_1": "+"}, 1)}
    without_frame = {"one": {TASK: [answer("a_0", True)]}}
    several_runs = {"one": {TASK: [answer("a_0", True)] * 2}}
    said = [refusal(single_frame_filter, runs) for runs in (other_frames, without_frame)]
    expected("\n\n".join([*said, refusal(blind_filter, several_runs), refusal(check_share, "--x", 1.1)]))


def test_pairs_that_a_model_gets_right_blind_go() -> None:
    models = {
        "one": model({"a_0": "+", "a_1": "+", "b_0": "+", "b_1": "-", "c_0": "?", "c_1": "+"}),
        "two": model({"a_0": "+", "a_1": "+", "b_0": "-", "b_1": "+", "c_0": "+", "c_1": "+"}),
    }
    assert [(group.removed, group.why) for group in blind_filter(models)] == [
        (True, "right on all: one, two"),
        # Each version is solved by a model, but both by none.
        (False, "right on all: no model"),
        (True, "right on all: two"),
    ]
    # Who was right on which version, in the order of the models; an answer without a score is no right one.
    assert [{name: member["right"] for name, member in group.members.items()} for group in blind_filter(models)] == [
        {"a_0": ["one", "two"], "a_1": ["one", "two"]},
        {"b_0": ["one"], "b_1": ["two"]},
        {"c_0": ["two"], "c_1": ["one", "two"]},
    ]
    assert [(group.removed, group.why) for group in blind_filter(models, 2)] == [
        (True, "right on all: one, two"),
        (False, "right on all: no model"),
        (False, "not scored by every model"),
    ]
