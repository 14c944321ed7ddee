"""CaST-Bench's files, predictions and metrics, written at the end of a run and by `submit` alike.

Source: CaST-Bench-Evaluation@a216491: its prediction files (``{"prompt", "predict"[, "label"]}`` lines) and its
`results_overall.json`. What the leaderboard takes is stated nowhere.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from pydantic import Field

from lmms_eval_tasks.api import (
    Built,
    Checked,
    GradedItem,
    Problems,
    Record,
    Row,
    RowForm,
    SubmissionForm,
    Table,
    read_rows,
)
from lmms_eval_tasks.api.evidence import GroundingSettings, read_evidence_answer
from lmms_eval_tasks.api.release import as_lines, describe, read_object
from lmms_eval_tasks.api.runs import PredictionLines, QuestionText
from lmms_eval_tasks.api.submission import Attendance
from lmms_eval_tasks.cast_bench.card import CARD
from lmms_eval_tasks.cast_bench.release import SPLIT

PREDICTIONS_FILE = "cast_bench_predictions.jsonl"
FILES = {"predictions": PREDICTIONS_FILE, "metrics": "cast_bench_metrics.json"}
LARGEST_METRICS = 1 << 20

OFFICIAL_METRICS = {
    "temporal_recall": "qa_temporal_r1_tau",
    "tiou_tp_only": "qa_temporal_m_tiou_tponly",
    "im_tiou": "qa_temporal_m_tiou_pergt",
    "st_recall": "qa_st_r1_tau_st",
    "viou_tp_only": "qa_st_m_viou_tponly",
    "im_viou": "qa_st_m_viou_pergt",
    "accuracy": "qa_accuracy",
    "faithful": "qa_faithful_answer_accuracy",
    "spurious": "qa_spurious_answer_rate",
}
"""Our name of each metric, of the grounding and then of the answer, and the official one."""


def official_overall(
    records: Sequence[Record], settings: GroundingSettings, predictions: str, missing: int = 0
) -> dict[str, Any]:
    """A run in the shape of the official ``results_overall.json``: fractions, means over questions, official names.

    Only questions whose answer and grounding are both scored are in it; ``n_qas`` says how many they are, and
    ``missing_pred_files`` how many have no prediction.
    """
    rows = list(filter(None, map(official_metrics, records)))
    means = {name: sum(row[name] for row in rows) / max(len(rows), 1) for name in OFFICIAL_METRICS.values()}
    return {
        "overall_per_qa": {"n_qas": len(rows), **means},
        "missing_pred_files": missing,
        "config": {
            "eps_overlap": settings.eps_overlap,
            "tau_t": settings.tau_t,
            "tau_st": settings.tau_st,
            "use_coverage_aware_score": settings.coverage_aware,
            "pred_path": predictions,
        },
    }


def official_metrics(record: Record) -> dict[str, float] | None:
    """One question's official metrics, fractions; None where its answer or its grounding is unscored."""
    grounding = record.fields["grounding"]
    if record.correct is None or grounding is None:
        return None
    right, supported = record.correct, grounding["supported"]
    own = {**grounding, "accuracy": right, "faithful": right and supported, "spurious": right and not supported}
    return {official: float(own[name]) for name, official in OFFICIAL_METRICS.items()}


_QUESTION, _OPTIONS = "Question:", "\nOptions:"
_OPTION = re.compile(r"([A-Z]):(.*)")


def prompt_question(prompt: str) -> str:
    """The question between ``Question:`` and a line ``Options:`` of a prompt; empty where there is none.

    Source: the regular expression by which CaST-Bench-Evaluation@a216491, `evaluate_benchmark.py`, joins predictions.
    """
    start = prompt.find(_QUESTION)
    end = prompt.find(_OPTIONS, start)
    return prompt[start + len(_QUESTION) : end].strip() if 0 <= start < end else ""


def read_asked(prompt: str) -> QuestionText | None:
    """Return the question of a prompt that has a line ``Options:`` after ``Question:`` and then lines ``A: text``, or
    None for other prompts."""
    question = prompt_question(prompt)
    if not question:
        return None
    options: list[list[str]] = []
    first, *others = prompt[prompt.index(_OPTIONS, prompt.index(_QUESTION)) + len(_OPTIONS) :].splitlines() or [""]
    for line in (*([first] if _OPTION.match(first.strip()) else []), *others):
        match = _OPTION.fullmatch(line.strip())
        if match and match[1] == chr(ord("A") + len(options)):
            options.append([match[2]])
        elif options and line.strip():
            options[-1].append(line)
        elif options or line.strip():
            break
    return QuestionText.of(question, map(" ".join, options))


def _read_line(line: Mapping[str, Any]) -> tuple[QuestionText, str] | None:
    prompt, predicted = line.get("prompt"), line.get("predict", False)
    # As in the official script, null stands for an empty text.
    if not isinstance(prompt, str) or not (predicted is None or isinstance(predicted, str)):
        return None
    asked = read_asked(prompt)
    return (asked, predicted or "") if asked else None


PREDICTIONS = PredictionLines(
    read=_read_line,
    fields="predict and a prompt that has Question: and Options:",
    options="lines A: … after Options:",
)


class PredictionLine(RowForm):
    prompt: str
    predict: str
    label: str | None = None


Share = Field(ge=0, le=1, allow_inf_nan=False)


class Overall(RowForm):
    """The official metrics: fractions, means over questions."""

    n_qas: int = Field(ge=0)
    qa_temporal_r1_tau: float = Share
    qa_temporal_m_tiou_tponly: float = Share
    qa_temporal_m_tiou_pergt: float = Share
    qa_st_r1_tau_st: float = Share
    qa_st_m_viou_tponly: float = Share
    qa_st_m_viou_pergt: float = Share
    qa_accuracy: float = Share
    qa_faithful_answer_accuracy: float = Share
    qa_spurious_answer_rate: float = Share


class MetricsSettings(RowForm, extra="allow"):
    """Settings with which the metrics were computed; the official file names more."""

    eps_overlap: int = Field(ge=0)
    tau_t: float = Share
    tau_st: float = Share
    use_coverage_aware_score: bool


class Metrics(RowForm):
    overall_per_qa: Overall
    missing_pred_files: int = Field(ge=0)
    config: MetricsSettings


def build(entries: Sequence[GradedItem], table: Table, part: str) -> Built:
    """The predictions of a run, or its metrics, in the table's order; questions that were not asked are left out."""
    by_id = {entry.record.item_id: entry for entry in entries if entry.submission["asked"]}
    asked = [by_id[row["item_id"]] for row in table.rows if row["item_id"] in by_id]
    lines = [{name: entry.submission[name] for name in ("prompt", "predict")} for entry in asked]
    empty = sum(not line["predict"].strip() for line in lines)
    if part == "predictions":
        unread = sum(entry.record.answered is None for entry in asked) - empty
        note = f"Responses without an answer that the official script reads: {unread:,}; they count as wrong."
        return Built(as_lines(lines), len(lines), empty, (note,) if unread else ())
    settings, missing = GroundingSettings(**entries[0].submission["settings"]), len(table.rows) - len(asked)
    metrics = official_overall([entry.record for entry in asked], settings, PREDICTIONS_FILE, missing)
    scored = metrics["overall_per_qa"]["n_qas"]
    note = f"The metrics are about the {scored} of {len(asked)} questions that could be scored."
    partial = scored < len(asked)
    return Built(json.dumps(metrics, indent=2) + "\n", len(asked), empty, (note,) if partial else (), partial)


def examine(entries: Sequence[GradedItem], rows: Mapping[str, Row], allow_incomplete: bool, issues: Problems) -> None:
    """Note items whose log lacks what the files are made of; answers are submitted as they are."""
    for entry in entries:
        if not {"prompt", "predict", "asked", "settings"} <= entry.submission.keys():
            clause = "Expected prompt and response of every question, but there is none for"
            remedy = "Run or replay the task again with this version."
            issues.add("log", clause, describe(entry.record.item_id), remedy)


def check(path: Path, prepared: Mapping[str, Table], allow_incomplete: bool, issues: Problems) -> Checked:
    """Validate predictions, or metrics where the file is one JSON object of them, against the form and the table."""
    with path.open("rb") as file:
        start = file.read(LARGEST_METRICS + 1)
    # A prediction holds the first key of the metrics only with its quotes escaped.
    is_metrics = len(start) <= LARGEST_METRICS and b'"overall_per_qa"' in start
    check_part = _check_metrics if is_metrics else _check_predictions
    return check_part(path, prepared.get(SPLIT), allow_incomplete, issues)


def _check_predictions(path: Path, table: Table | None, allow_incomplete: bool, issues: Problems) -> Checked:
    questions: dict[QuestionText, list[str]] = {}
    for row in table.rows if table else ():
        questions.setdefault(QuestionText.of(row["question"], row["options"]), []).append(row["item_id"])
    texts = {asked.question for asked in questions}
    attendance = Attendance(questions, "prompt", "each question", issues)
    count, empty, no_option = 0, 0, 0
    for where, line in read_rows(path, PredictionLine, issues):
        count += 1
        empty += not line.predict.strip()
        asked = read_asked(line.prompt)
        if asked is None:
            clause = "Expected Question: and, on a later line, Options: with lines A: …, but got"
            remedy = "Without them the official script joins lines by their position."
            issues.add("prompt", clause, f"{describe(line.prompt)} ({where})", remedy)
            continue
        attendance.add(asked, describe(asked.question), where)
        if table and asked not in questions:
            known = "with these options" if asked.options else "with lines A: … after Options:"
            kind = known if asked.question in texts else f"of split {SPLIT}"
            issues.add("prompt", f"Expected a question {kind}, but got", f"{describe(asked.question)} ({where})")
        letter = read_evidence_answer(line.predict).answer
        no_option += letter is not None and letter not in list(ascii_uppercase[: len(asked.options)])
    if not count:
        return Checked(CARD.title, 0, 0, "")
    notes = [f"Answers that name no option of their question: {no_option:,}; they count as wrong."] if no_option else []
    notes += attendance.finish(f"split {SPLIT}", allow_incomplete)
    checked = f"the form alone: split {SPLIT} is not prepared here, so ids and options were not looked at"
    if table:
        checked = f"the form, and every question and its options against {table}"
    return Checked(f"{CARD.title}, predictions, split {SPLIT}", count, empty, checked, tuple(notes), table)


def _check_metrics(path: Path, table: Table | None, allow_incomplete: bool, issues: Problems) -> Checked:
    metrics = read_object(path, Metrics, issues)
    count = metrics.overall_per_qa.n_qas if metrics else 0
    if metrics:
        overall, missing = metrics.overall_per_qa, metrics.missing_pred_files
        parts = overall.qa_faithful_answer_accuracy + overall.qa_spurious_answer_rate
        if not math.isclose(parts, overall.qa_accuracy, abs_tol=1e-6):
            clause = "Expected faithful and spurious answers to add up to qa_accuracy, but got"
            issues.add("overall_per_qa", clause, f"{parts:g} and {overall.qa_accuracy:g}")
        for name in ("qa_accuracy", "qa_faithful_answer_accuracy", "qa_spurious_answer_rate"):
            right = getattr(overall, name) * count
            if not math.isclose(right, round(right), abs_tol=1e-4):
                clause = f"Expected a whole number of the {count} questions, but got"
                issues.add(f"overall_per_qa.{name}", clause, f"{right:g}")
        total = len(table.rows) if table else None
        if total is not None and (count > total or (count + missing != total and not allow_incomplete)):
            clause = f"Expected, with missing_pred_files, the {total} questions of split {SPLIT}, but got"
            issues.add("overall_per_qa.n_qas", clause, f"{count} and {missing}")
        if missing and not allow_incomplete:
            clause = "Expected a prediction for every question, but missing are"
            issues.add("missing_pred_files", clause, f"{missing}")
    against = f", and the number of questions against {table}" if table else f": split {SPLIT} is not prepared here"
    checked = f"the form, ranges and sums{against}"
    return Checked(f"{CARD.title}, metrics, split {SPLIT}", count, 0, checked, against=table)


FORM = SubmissionForm(
    parts=("predictions", "metrics"),
    path=lambda split, part: f"submissions/{FILES[part]}",
    examine=examine,
    build=build,
    check=check,
)
