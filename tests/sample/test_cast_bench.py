"""The sample's questions with evidence: true, fair, and answered from the codes in its pixels."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from cast_bench import answer_with_truth
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
def folder(sample: Path) -> Path:
    return sample / "cast_bench"


@pytest.fixture(scope="module")
def rows(folder: Path) -> list[Row]:
    return [json.loads(line) for line in (folder / "castbench_hf.jsonl").read_text("utf-8").splitlines()]


def options_of(row: Row) -> list[str]:
    return list(row["options"].values())


def respond(row: Row, clip: Path, reverse: bool = False) -> str:
    return solve(row["question"], options_of(row), clip, reverse=reverse)


def score(rows: list[Row], responses: list[str]) -> dict[str, float | None]:
    questions = [
        evidence_question(str(number), row["video"], "other", "other", row["answer"], read_truth(row["evidence"]))
        for number, row in enumerate(rows)
    ]
    return score_all(METRICS, map(grade_evidence, questions, responses))


def test_the_release_is_one_that_prepare_takes_without_a_warning(rows: list[Row], folder: Path) -> None:
    items, problems, warnings = read_items((folder / "castbench_hf.jsonl").read_bytes())
    assert (len(items), len(problems), warnings) == (12, 0, [])
    assert {item["category"] for item in items} == set(CATEGORIES)
    assert all(read_type(row["question_type"]) != UNKNOWN for row in rows)


def test_evidence_has_a_box_for_every_second_inside_the_frame(rows: list[Row], folder: Path) -> None:
    for row in rows:
        frames, evidence = decode(folder / "videos" / row["video"]), json.loads(row["evidence"])
        assert 5 <= len(frames) / FPS <= 8 and 2 <= len(evidence) <= 3
        for entry in evidence:
            start, end = (int(entry[f"evidence_{side}_time"].removeprefix("00:")) for side in ("start", "end"))
            assert list(entry["bboxes_in_range"]) == [str(second) for second in range(start, end + 1)]
            assert end - start + 1 >= 3 and end < len(frames) / FPS
            for second, box in entry["bboxes_in_range"].items():
                x1, y1, x2, y2 = json.loads(box)
                assert 0 <= x1 < x2 <= 192 and 0 <= y1 < y2 <= 144
                # What the box holds has the colour by which the instance is called.
                edge = frames[int(second) * FPS, (y1 + y2) // 2, x1 + 3].astype(int)
                assert edge.max() - edge.min() > 60


def test_the_truth_and_the_solver_score_all_there_is_by_the_pixels_alone(
    rows: list[Row], folder: Path, tmp_path: Path
) -> None:
    truth = score(rows, list(map(answer_with_truth, rows)))
    assert (truth["accuracy"], truth["im_tiou"], truth["im_viou"]) == (100, 100, 100)
    said = []
    for number, row in enumerate(rows):
        said.append(respond(row, Path(shutil.copy(folder / "videos" / row["video"], tmp_path / f"{number}.mp4"))))
    scores = score(rows, said)
    assert scores["accuracy"] == scores["faithful_strict"] == scores["schema_valid_rate"] == 100
    assert scores["im_tiou"] == scores["im_viou"] == 100 and scores["false_positives"] == 0


def test_a_reversed_clip_and_another_questions_prove_nothing(rows: list[Row], folder: Path) -> None:
    strangers = []
    for place, row in enumerate(rows):
        clip = folder / "videos" / row["video"]
        assert read_evidence_answer(respond(row, clip, reverse=True)).answer != row["answer"]
        other = next(other for other in rows[place:] + rows if other["video"] != row["video"])
        strangers.append(respond(row, folder / "videos" / other["video"]))
    assert (score(rows, strangers)["faithful"] or 0) < 20


def test_what_cannot_be_seen_is_not_guessed_and_a_covered_body_hides_what_it_proves(
    rows: list[Row], folder: Path
) -> None:
    for question in ("Why is the sky blue?", "", "Why does the brown ball start to move?"):
        assert solve(question, options_of(rows[0]), folder / "videos" / rows[0]["video"]) == CANNOT_TELL
    for row in rows:
        whole, options = decode(folder / "videos" / row["video"]), options_of(row)
        wrong = [option for letter, option in row["options"].items() if letter != row["answer"]]
        assert solve_frames(row["question"], wrong, whole) == CANNOT_TELL
        for entry in json.loads(row["evidence"]):
            frames = whole.copy()
            for second, box in entry["bboxes_in_range"].items():
                x1, y1, x2, y2 = json.loads(box)
                frames[max(0, int(second) * FPS - FPS) : int(second) * FPS + FPS, y1:y2, x1:x2] = 16
            assert solve_frames(row["question"], options, frames) == CANNOT_TELL
            unable = json.loads(solve_frames(row["question"], [*options, "Unable to determine"], frames))
            assert unable == {"instances": [], "answer_choice": "ABCDEFG"[len(options)]}


def test_the_right_option_is_at_every_place_equally_often(rows: list[Row]) -> None:
    assert Counter(len(row["options"]) for row in rows) == {4: 4, 5: 4, 6: 4}
    for count in (4, 5, 6):
        assert len({row["answer"] for row in rows if len(row["options"]) == count}) == 4
    for row in rows:
        options = options_of(row)
        assert len(set(options)) == len(options)
        assert not set(read_objects(row["question"])) & {name for option in options for name in read_objects(option)}


def test_no_two_questions_are_the_same() -> None:
    questions = [row["question"] for row in draw_release(4, 3)[0]]
    assert len(set(questions)) == len(questions) == 18
    with pytest.raises(ValueError, match="at most 4 clips"):
        draw_release(4, 5)
