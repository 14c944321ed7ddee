"""CaST-Bench's files, predictions and metrics, written at the end of a run and by `submit` alike.

Source: CaST-Bench-Evaluation@a216491: its prediction files (``{"prompt", "predict"[, "label"]}`` lines) and its
`results_overall.json`. What the leaderboard takes is stated nowhere.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from pydantic import ConfigDict, Field

from lmms_eval_tasks.cast_bench.card import CARD
from lmms_eval_tasks.cast_bench.grading import official_overall
from lmms_eval_tasks.utils.core.files import open_regular
from lmms_eval_tasks.utils.core.json_rows import Row, read_object, read_rows
from lmms_eval_tasks.utils.core.problems import GroupedIssues
from lmms_eval_tasks.utils.core.wording import describe
from lmms_eval_tasks.utils.evidence.grounding import Settings
from lmms_eval_tasks.utils.evidence.reader import read_official
from lmms_eval_tasks.utils.runs.responses import Asked
from lmms_eval_tasks.utils.scoring.records import GradedItem, Record
from lmms_eval_tasks.utils.submission.files import as_lines
from lmms_eval_tasks.utils.submission.form import Built, Checked, SubmissionForm, Table, TableRow
from lmms_eval_tasks.utils.submission.rows import FORM_ALONE

TASK = "cast_bench"
SPLIT = "test"
PREDICTIONS = "cast_bench_predictions.jsonl"
FILES = {"predictions": PREDICTIONS, "metrics": "cast_bench_metrics.json"}
LARGEST_METRICS = 1 << 20


class PredictionLine(Row):
    """One line of the predictions."""

    prompt: str
    predict: str
    label: str | None = None


Share = Field(ge=0, le=1, allow_inf_nan=False)


class Overall(Row):
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


class Settled(Row):
    """How the metrics were computed; the official file names more."""

    model_config = ConfigDict(extra="allow")

    eps_overlap: int = Field(ge=0)
    tau_t: float = Share
    tau_st: float = Share
    use_coverage_aware_score: bool


class Metrics(Row):
    """The metrics file."""

    overall_per_qa: Overall
    missing_pred_files: int = Field(ge=0)
    config: Settled


def make_rows(items: Sequence[Mapping[str, Any]], rows: Sequence[TableRow]) -> list[dict[str, str]]:
    """The predictions, in the table's order; of questions that were not asked there is none."""
    said = {item["item_id"]: item for item in items if item["asked"]}
    return [
        {"prompt": said[row["item_id"]]["prompt"], "predict": said[row["item_id"]]["predict"]}
        for row in rows
        if row["item_id"] in said
    ]


def metrics_text(records: Sequence[Record], settings: Settings, missing: int) -> str:
    """The metrics file; the same records in the same order give the same bytes."""
    return json.dumps(official_overall(records, settings, PREDICTIONS, missing), indent=2) + "\n"


def build(entries: Sequence[GradedItem], table: Table, part: str) -> Built:
    """The predictions of a run, or its metrics."""
    items = [entry.submission for entry in entries]
    rows = make_rows(items, table.rows)
    empty = sum(not row["predict"].strip() for row in rows)
    unread = sum(entry.record.answered is None and entry.submission["asked"] for entry in entries) - empty
    said = (f"Responses without an answer that the official script reads: {unread:,}; they count as wrong.",)
    if part == "predictions":
        return Built(as_lines(rows), len(rows), empty, said if unread else ())
    asked = {item["item_id"] for item in items if item["asked"]}
    by_id = {entry.record.item_id: entry.record for entry in entries}
    records = [by_id[row["item_id"]] for row in table.rows if row["item_id"] in asked]
    text = metrics_text(records, Settings(**items[0]["settings"]), len(table.rows) - len(rows))
    scored = json.loads(text)["overall_per_qa"]["n_qas"]
    notes = (f"The metrics are about the {scored} of {len(rows)} questions that could be scored.",)
    partial = scored < len(rows)
    return Built(text, len(rows), empty, notes if partial else (), partial)


def examine(
    entries: Sequence[GradedItem], rows: Mapping[str, TableRow], allow_incomplete: bool, issues: GroupedIssues
) -> None:
    """Note items whose log lacks what the files are made of. What a model answered is its own affair here."""
    for entry in entries:
        if not {"prompt", "predict", "asked", "settings"} <= entry.submission.keys():
            issues.add(
                "log", "Expected prompt and response of every question, but there is none for",
                describe(entry.record.item_id), "Run or replay the task again with this version.",
            )  # fmt: skip


def check(path: Path, prepared: Mapping[str, Table], allow_incomplete: bool, issues: GroupedIssues) -> Checked:
    """Hold predictions, or the metrics where the file is one JSON object of them, against the form and the table."""
    table = prepared.get(SPLIT)
    if _is_metrics(path):
        return _check_metrics(read_object(path, Metrics, issues), table, allow_incomplete, issues)
    return _check_predictions(path, table, allow_incomplete, issues)


def _check_predictions(path: Path, table: Table | None, allow_incomplete: bool, issues: GroupedIssues) -> Checked:
    questions: dict[Asked, list[TableRow]] = {}
    for row in table.rows if table else ():
        questions.setdefault(Asked.of(row["question"], row["options"]), []).append(row)
    texts = {asked.question for asked in questions}
    seen: dict[Asked, list[str]] = {}
    count, empty, no_option = 0, 0, 0
    for where, said in read_rows(path, PredictionLine, issues):
        count += 1
        empty += not said.predict.strip()
        asked = Asked.in_prompt(said.prompt)
        if asked is None:
            issues.add(
                "prompt", "Expected Question: and, on a later line, Options: with lines A: …, but got",
                f"{describe(said.prompt)} ({where})", "Without them the official script joins lines by their position.",
            )  # fmt: skip
            continue
        places = seen.setdefault(asked, [])
        allowed = len(questions.get(asked, ())) or 1
        if len(places) >= allowed:
            issues.add(
                "prompt", "Expected each question once, but got again",
                f"{describe(asked.question)} ({where}, first in {places[0]})",
            )  # fmt: skip
        places.append(where)
        if table and asked not in questions:
            known = "with these options" if asked.options else "with lines A: … after Options:"
            kind = known if asked.question in texts else f"of split {SPLIT}"
            issues.add("prompt", f"Expected a question {kind}, but got", f"{describe(asked.question)} ({where})")
        letter = read_official(said.predict).answer
        no_option += letter is not None and letter not in list(ascii_uppercase[: len(asked.options)])
    if not count:
        return Checked(CARD.title, 0, 0, "")
    lost = [row["item_id"] for asked, rows in questions.items() for row in rows[len(seen.get(asked, ())) :]]
    for name in () if allow_incomplete else lost:
        issues.add("rows", f"Expected one for every item of split {SPLIT}, but there is none for", describe(name))
    notes = [f"Answers that name no option of their question: {no_option:,}; they count as wrong."] if no_option else []
    if lost:
        notes.append(f"Incomplete: {len(lost):,} of {len(table.rows if table else ()):,} items have no row.")
    held = f"the form, and every question and its options against {table}"
    checked = held if table else FORM_ALONE.format(split=SPLIT)
    return Checked(f"{CARD.title}, predictions, split {SPLIT}", count, empty, checked, tuple(notes))


def _is_metrics(path: Path) -> bool:
    """Whether a file is meant to be the metrics; a prediction holds their first key only with its quotes escaped."""
    with open_regular(path) as file:
        start = file.read(LARGEST_METRICS + 1)
    return len(start) <= LARGEST_METRICS and b'"overall_per_qa"' in start


def _check_metrics(
    found: Metrics | None, table: Table | None, allow_incomplete: bool, issues: GroupedIssues
) -> Checked:
    total = len(table.rows) if table else None
    count = 0
    if found is not None:
        overall, count = found.overall_per_qa, found.overall_per_qa.n_qas
        parts = overall.qa_faithful_answer_accuracy + overall.qa_spurious_answer_rate
        if not math.isclose(parts, overall.qa_accuracy, abs_tol=1e-6):
            issues.add(
                "overall_per_qa", "Expected faithful and spurious answers to add up to qa_accuracy, but got",
                f"{parts:g} and {overall.qa_accuracy:g}",
            )  # fmt: skip
        for name in ("qa_accuracy", "qa_faithful_answer_accuracy", "qa_spurious_answer_rate"):
            right = getattr(overall, name) * count
            if not math.isclose(right, round(right), abs_tol=1e-4):
                issues.add(
                    f"overall_per_qa.{name}", f"Expected a whole number of the {count} questions, but got", f"{right:g}"
                )
        if total is not None and (
            count > total or (count + found.missing_pred_files != total and not allow_incomplete)
        ):
            issues.add(
                "overall_per_qa.n_qas",
                f"Expected, with missing_pred_files, the {total} questions of split {SPLIT}, but got",
                f"{count} and {found.missing_pred_files}",
            )  # fmt: skip
        if found.missing_pred_files and not allow_incomplete:
            issues.add(
                "missing_pred_files",
                "Expected a prediction for every question, but missing are",
                f"{found.missing_pred_files}",
            )
    held = f"the form, ranges and sums, and the number of questions against {table}"
    alone = f"the form, ranges and sums: split {SPLIT} is not prepared here"
    return Checked(f"{CARD.title}, metrics, split {SPLIT}", count, 0, held if table else alone)


FORM = SubmissionForm(
    parts=("predictions", "metrics"),
    tasks=lambda split, part: (TASK,),
    path=lambda split, part: f"submissions/{FILES[part]}",
    select=lambda rows, part: rows,
    examine=examine,
    build=build,
    check=check,
)
