"""The sample's questions with evidence: true, fair, and answered from the codes in its pixels."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from metric_scores import score_all

from lmms_eval_tasks.api.evidence import grade_evidence
from lmms_eval_tasks.cast_bench.card import CATEGORIES, METRICS, UNKNOWN, read_type
from lmms_eval_tasks.cast_bench.hooks import evidence_question
from lmms_eval_tasks.cast_bench.release import read_items
from lmms_eval_tasks.sample.drawn_clips import FPS
from lmms_eval_tasks.sample.solver import CANNOT_TELL, decode, solve, solve_frames
from lmms_eval_tasks.sample.words import read_objects
from lmms_eval_tasks.sample.writers.cast_bench import draw_release
from lmms_eval_tasks.utils.answers.evidence_reading import read_evidence_answer, read_truth

pytestmark = pytest.mark.slow

Row = dict[str, Any]


@pytest.fixture(scope="module")
def rows(sample: Path) -> list[Row]:
    lines = (sample / "cast_bench" / "castbench_hf.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def said(rows: list[Row], sample: Path) -> list[str]:
    return [respond(row, sample) for row in rows]


def respond(row: Row, sample: Path, reverse: bool = False) -> str:
    return solve(row["question"], list(row["options"].values()), clip(row, sample), reverse=reverse)


def clip(row: Row, sample: Path) -> Path:
    return sample / "cast_bench" / "videos" / row["video"]


def score(rows: list[Row], responses: list[str]) -> dict[str, float | None]:
    questions = [
        evidence_question(str(number), row["video"], "other", "other", row["answer"], read_truth(row["evidence"]))
        for number, row in enumerate(rows)
    ]
    return score_all(METRICS, map(grade_evidence, questions, responses))


def test_the_release_is_one_that_prepare_takes_without_a_warning(rows: list[Row], sample: Path) -> None:
    items, problems, warnings = read_items((sample / "cast_bench" / "castbench_hf.jsonl").read_bytes())
    assert (len(items), len(problems), warnings) == (12, 0, [])
    assert {item["category"] for item in items} == set(CATEGORIES)
    assert all(read_type(row["question_type"]) != UNKNOWN for row in rows)
    assert list(rows[0]) == [
        "video", "question", "question_type", "scene_category", "options", "answer", "evidence",
    ]  # fmt: skip
    assert {row["video"] for row in rows} == {path.name for path in (sample / "cast_bench" / "videos").iterdir()}
    assert json.loads((sample / "cast_bench" / "SAMPLE.json").read_text())["sample"] is True


def test_evidence_has_a_box_for_every_second_inside_the_frame(rows: list[Row], sample: Path) -> None:
    for row in rows:
        frames = decode(clip(row, sample))
        assert 5 <= len(frames) / FPS <= 8
        evidence = json.loads(row["evidence"])
        assert 2 <= len(evidence) <= 3
        for entry in evidence:
            assert set(entry) == {
                "evidence_start_time", "evidence_end_time", "evidence_instance_id", "evidence_rationale",
                "SAV_instance_id", "bboxes_in_range",
            }  # fmt: skip
            start, end = (int(entry[f"evidence_{side}_time"].removeprefix("00:")) for side in ("start", "end"))
            assert list(entry["bboxes_in_range"]) == [str(second) for second in range(start, end + 1)]
            assert end - start + 1 >= 3 and end < len(frames) / FPS
            for second, box in entry["bboxes_in_range"].items():
                x1, y1, x2, y2 = json.loads(box)
                assert 0 <= x1 < x2 <= 192 and 0 <= y1 < y2 <= 144
                # What the box holds has the colour by which the instance is called.
                edge = frames[int(second) * FPS, (y1 + y2) // 2, x1 + 3].astype(int)
                assert edge.max() - edge.min() > 60


def test_truth_fed_back_scores_all_there_is(rows: list[Row]) -> None:
    answers = []
    for row in rows:
        instances = [
            {
                "instance_name": entry["evidence_instance_id"],
                "evidences": [{**entry, "bboxes_in_time_range": entry["bboxes_in_range"]}],
            }
            for entry in json.loads(row["evidence"])
        ]
        answers.append(json.dumps({"instances": instances, "answer_choice": row["answer"]}))
    scores = score(rows, answers)
    assert (scores["accuracy"], scores["im_tiou"], scores["im_viou"]) == (100, 100, 100)


def test_the_right_option_is_at_every_place_equally_often(rows: list[Row]) -> None:
    for count in (4, 5, 6):
        assert len({row["answer"] for row in rows if len(row["options"]) == count}) == 4
    assert Counter(len(row["options"]) for row in rows) == {4: 4, 5: 4, 6: 4}
    for row in rows:
        options = list(row["options"].values())
        assert len(set(options)) == len(options)
        assert not set(read_objects(row["question"])) & {name for option in options for name in read_objects(option)}


def test_text_alone_is_worth_no_more_than_chance() -> None:
    rows = [row for seed in range(4, 20) for row in draw_release(seed, 2)[0]]
    chance = float(np.mean([1 / len(row["options"]) for row in rows]))
    noise = np.sqrt(chance * (1 - chance) / len(rows))
    offers = Counter(option for row in rows for option in row["options"].values())
    rights = Counter(row["options"][row["answer"]] for row in rows)
    guesses = {
        "first": lambda row: "A",
        "last": lambda row: max(row["options"]),
        "longest": lambda row: max(row["options"], key=lambda letter: len(row["options"][letter])),
        "shortest": lambda row: min(row["options"], key=lambda letter: len(row["options"][letter])),
        "offered most": lambda row: max(row["options"], key=lambda letter: offers[row["options"][letter]]),
        "right elsewhere": lambda row: max(
            row["options"],
            key=lambda letter: (
                rights[row["options"][letter]] - (row["options"][letter] == row["options"][row["answer"]])
            ),
        ),
    }
    for name, guess in guesses.items():
        assert np.mean([guess(row) == row["answer"] for row in rows]) < chance + 2.5 * noise, name


def test_no_two_questions_are_the_same() -> None:
    questions = [row["question"] for row in draw_release(4, 3)[0]]
    assert len(set(questions)) == len(questions) == 18
    with pytest.raises(ValueError, match="at most 4 clips"):
        draw_release(4, 5)


def test_the_solver_is_right_and_shows_it(rows: list[Row], said: list[str]) -> None:
    scores = score(rows, said)
    assert scores["accuracy"] == scores["faithful_strict"] == scores["schema_valid_rate"] == 100
    assert scores["im_tiou"] == scores["im_viou"] == 100 and scores["false_positives"] == 0


def test_a_reversed_clip_is_not_answered_rightly(rows: list[Row], sample: Path) -> None:
    right = [read_evidence_answer(respond(row, sample, reverse=True)).answer == row["answer"] for row in rows]
    assert not any(right)


def test_another_questions_clip_proves_nothing(rows: list[Row], sample: Path) -> None:
    strangers = [next(other for other in rows[place:] + rows if other["video"] != row["video"])
                 for place, row in enumerate(rows)]  # fmt: skip
    responses = [respond({**row, "video": other["video"]}, sample) for row, other in zip(rows, strangers, strict=True)]
    assert (score(rows, responses)["faithful"] or 0) < 20


def test_nothing_but_the_pixels_is_used(rows: list[Row], said: list[str], sample: Path, tmp_path: Path) -> None:
    for number, (row, response) in enumerate(zip(rows[::4], said[::4], strict=True)):
        copy = Path(shutil.copy(clip(row, sample), tmp_path / f"{number}.mp4"))
        assert solve(row["question"], list(row["options"].values()), copy) == response


def test_what_cannot_be_seen_is_not_guessed(rows: list[Row], sample: Path) -> None:
    for row in rows[::3]:
        wrong = [option for letter, option in row["options"].items() if letter != row["answer"]]
        assert solve(row["question"], wrong, clip(row, sample)) == CANNOT_TELL
    options = list(rows[0]["options"].values())
    for question in ("Why is the sky blue?", "", "Why does the brown ball start to move?"):
        assert solve(question, options, clip(rows[0], sample)) == CANNOT_TELL


def test_a_covered_body_hides_what_it_proves(rows: list[Row], sample: Path) -> None:
    for row in rows:
        for entry in json.loads(row["evidence"]):
            frames = decode(clip(row, sample)).copy()
            for second, box in entry["bboxes_in_range"].items():
                x1, y1, x2, y2 = json.loads(box)
                frames[max(0, int(second) * FPS - FPS) : int(second) * FPS + FPS, y1:y2, x1:x2] = 16
            options = list(row["options"].values())
            assert solve_frames(row["question"], options, frames) == CANNOT_TELL
            unable = json.loads(solve_frames(row["question"], [*options, "Unable to determine"], frames))
            assert unable == {"instances": [], "answer_choice": "ABCDEFG"[len(options)]}
