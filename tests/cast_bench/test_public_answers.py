"""Public answers of seven models to the 80 public questions: scores beside the leaderboard's, and their boxes.

Source: mf-zhang/CaST-Bench-Evaluation@a216491, `inference/predictions`, and the leaderboard in `published.json`.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import PurePosixPath

import pytest
from evidence_page import table_below
from oracles import evidence_path, oracle_path
from published import LEADERBOARD, records

from lmms_eval_tasks.api.evidence import EVIDENCE_SCORES, EvidenceQuestion, grade_evidence, read_truth
from lmms_eval_tasks.utils.answers.evidence import DEFAULTS, convention_warnings, diagnose_convention
from lmms_eval_tasks.utils.answers.evidence_boxes import BoxConvention, FrameSize
from lmms_eval_tasks.utils.answers.evidence_reading import read_evidence_answer

FILES = {
    "Gemini-3.1-pro": "gemini-3.1-pro",
    "Claude-sonnet-4.6": "sonnet-4.6",
    "Gemini-3.5-flash": "gemini-3.5-flash",
    "Claude-opus-4.7": "opus-47-",
    "Gemma-4-26B-A4B-it": "gemma4-26b-it",
    "Qwen3-VL-8B-Instruct": "qwen3vl-8b",
    "InternVL3_5-14B": "internvl35-14b",
}
"""The leaderboard's models, each with how the name of its file begins."""
Y_FIRST = ("Gemini-3.1-pro", "Gemini-3.5-flash")
"""Those that write boxes with y first and in thousandths."""
PRINTED = {"accuracy": "qa_accuracy", "faithful": "faithful", "im_tiou": "IM-tIoU", "im_viou": "IM-vIoU"}
"""Our scores, and what the leaderboard calls them."""
SHAPES = tuple(
    (short, long) if upright else (long, short)
    for short, long in ((480, 640), (480, 854), (720, 1280), (1080, 1920), (1440, 2560), (2160, 3840))
    for upright in (False, True)
)
"""Usual sizes of clips, by area."""

Case = tuple[EvidenceQuestion, str]


@cache
def cases(model: str, sized: bool = False) -> list[Case]:
    """The public questions with a model's answers; `sized` with the smallest usual frame that holds a clip's boxes."""
    name = f"{FILES[model]}_predictions.jsonl"
    path = evidence_path("cast_bench", name)
    path = path if path.is_file() else oracle_path("cast_bench", name)
    if not path.is_file():
        pytest.skip(f"{name} lies neither in ORACLES nor in the folder evidence beside it")
    lines = (oracle_path("cast_bench", "castbench_hf.jsonl")).read_text("utf-8").splitlines()
    rows = {row["question"].strip(): row for row in map(json.loads, lines)}
    truth = {question: read_truth(row["evidence"]) for question, row in rows.items()}
    reach: dict[str, FrameSize] = {}
    for question, row in rows.items():
        for instance in truth[question]:
            for _, _, right, bottom in (box for one in instance.evidences for box in one.boxes):
                width, height = reach.get(row["video"], (1, 1))
                reach[row["video"]] = max(width, int(right)), max(height, int(bottom))

    def frame(clip: str) -> FrameSize:
        return next(
            size for size in SHAPES if all(side >= least for side, least in zip(size, reach[clip], strict=True))
        )

    found = []
    for line in map(json.loads, path.read_text("utf-8").splitlines()):
        question = line["prompt"].partition("Question:")[2].partition("\nOptions:")[0].strip()
        row = rows[question]
        asked = EvidenceQuestion(
            item_id=question,
            group_id=PurePosixPath(row["video"]).stem,
            stratum={},
            answer=row["answer"],
            truth=truth[question],
            frame=frame(row["video"]) if sized else None,
        )
        found.append((asked, line["predict"]))
    assert len(found) == 80
    return found


def scores(model: str, convention: BoxConvention = BoxConvention.XYXY_PX) -> dict[str, float | None]:
    graded = [grade_evidence(question, text, DEFAULTS, convention) for question, text in cases(model)]
    return {name: EVIDENCE_SCORES[name].score_records(graded) for name in (*PRINTED, "spurious")}


@pytest.mark.parametrize("model", FILES)
def test_the_pages_numbers_are_computed_and_the_leaderboards_beside_them(model: str) -> None:
    """To the leaderboard's digit, but for the boxes of models whose clips' sizes are needed."""
    page = table_below("CaST-Bench")[model]
    official = {row["metric"]: row["value"] for row in records("cast_bench", LEADERBOARD) if row["model"] == model}
    needs_sizes = model in Y_FIRST
    ours = scores(model, BoxConvention.YXYX_N1000 if needs_sizes else BoxConvention.XYXY_PX)
    for name, printed in PRINTED.items():
        cell = page[name.replace("im_", "IM-").replace("tiou", "tIoU").replace("viou", "vIoU")]
        value = ours[name]
        own = "needs clips" if value is None else f"{value:.2f}"
        assert cell == f"{official[printed]:.1f} / {own}"
        assert value is None or abs(value - official[printed]) <= 0.05 + 1e-9, name
        assert (value is None) == (needs_sizes and name != "accuracy")
    if not needs_sizes:
        assert ours["spurious"] == pytest.approx((ours["accuracy"] or 0) - (ours["faithful"] or 0))


def test_gemini_read_as_pixels_is_what_the_official_evaluator_gives() -> None:
    """Source: the official evaluator's run with xyxy_px, README of the folder evidence."""
    found = scores("Gemini-3.1-pro")
    assert {name: round(value or 0, 2) for name, value in found.items()} == {
        "accuracy": 76.25, "faithful": 16.25, "im_tiou": 31.94, "im_viou": 3.71, "spurious": 60.0,
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("sized", [False, True])
@pytest.mark.parametrize("model", FILES)
def test_boxes_are_suspected_where_they_are_written_otherwise_and_nowhere_else(model: str, sized: bool) -> None:
    answers = [(question, read_evidence_answer(text).instances) for question, text in cases(model, sized)]
    diagnosis = diagnose_convention(answers, BoxConvention.XYXY_PX)
    messages = convention_warnings("CaST-Bench", answers, BoxConvention.XYXY_PX)
    if model in Y_FIRST:
        assert diagnosis.suspected is BoxConvention.YXYX_N1000
        assert [("LMMS_EVAL_TASKS_BOXES=yxyx_n1000" in message) for message in messages] == [True]
    else:
        assert diagnosis.suspected is None and messages == []
    right = BoxConvention.YXYX_N1000 if model in Y_FIRST else BoxConvention.XYXY_PX
    assert diagnose_convention(answers, right).suspected is None
    (needs,) = convention_warnings("CaST-Bench", answers, right) or [""]
    assert ("Prepare the benchmark with its clips" in needs) == (model in Y_FIRST and not sized)
