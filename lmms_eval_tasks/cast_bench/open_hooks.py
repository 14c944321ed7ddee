"""What lmms-eval calls for the task `cast_bench_open`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from string import ascii_uppercase
from typing import Any

from lmms_eval_tasks.cast_bench.card import CATEGORIES
from lmms_eval_tasks.cast_bench.open_ended import Evidence, OpenEndedScores, OpenQuestion, grade, question_scores
from lmms_eval_tasks.host.hosting import asked_prompt, session
from lmms_eval_tasks.host.judge import shared_judge
from lmms_eval_tasks.utils.evidence.timestamps import official_seconds
from lmms_eval_tasks.utils.prompting.prompts import read_prompt
from lmms_eval_tasks.utils.scoring.choice import NO_CLIP
from lmms_eval_tasks.utils.scoring.groups import rate
from lmms_eval_tasks.utils.scoring.records import NOT_ASKED, Outcome, Record

TASK = "cast_bench_open"
PROMPT = "cast_bench_open"
FIELDS = frozenset({"question"})


def doc_to_text(doc: Mapping[str, Any], lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    """The prompt: the question without its options, and what an answer has to hold.

    Raises:
        SystemExit: where there is no such prompt, or two tasks of the run ask with different ones.
    """
    prompt = asked_prompt(TASK, {"prompt": PROMPT, **(lmms_eval_specific_kwargs or {})}, fields=FIELDS)
    text = prompt.render(question=doc["question"])
    return text if doc["asked"] else f"{NO_CLIP}\n{text}"


def doc_to_target(doc: Mapping[str, Any]) -> str:
    """Text of the right option; empty where the release withholds it."""
    return _right_option(doc) or ""


def process_results(doc: Mapping[str, Any], results: list[Any]) -> dict[str, Any]:
    """Have the judge grade the first response, and hand it to every score that the question counts in."""
    response = results[0] if results else ""
    asked = doc["asked"] and response != NOT_ASKED
    question = replace(read_open_question(doc), asked=asked)
    judge = shared_judge(OpenEndedScores) if session.judge_needed else session.verdicts
    record = grade(question, response if asked else "", judge)
    prompt = session.prompts.get(TASK) or read_prompt(PROMPT).signature
    items = metric_items(replace(record, fields={**record.fields, "prompt": prompt}))
    return {**items, "sample_data": 100.0} if doc["sample"] else items


def read_open_question(doc: Mapping[str, Any]) -> OpenQuestion:
    """A row of the prepared table as the judge needs it."""
    return OpenQuestion(
        item_id=doc["item_id"],
        group_id=PurePosixPath(doc["clip"]).stem,
        question=doc["question"],
        answer=_right_option(doc),
        evidence=tuple(
            Evidence(
                start=_clock(entry.get("evidence_start_time")),
                end=_clock(entry.get("evidence_end_time")),
                instance=str(entry.get("evidence_instance_id") or entry.get("instance_id") or ""),
                rationale=str(entry.get("evidence_rationale") or ""),
            )
            for entry in json.loads(doc["evidence"])
        ),
        stratum={"category": doc["category"]},
    )


def metric_items(record: Record) -> dict[str, Any]:
    """What a graded answer brings to each score: 0 to 10, percent or a count, None where it has none.

    Returns:
        Metric name to value, and the whole record under ``"record"``, which is only written to the sample log.
        ``judge_score`` also carries ``score`` and ``group_id``, from which lmms-eval prints errors clustered by clip.
    """
    scores = question_scores(record)
    value = scores["judge_score"]
    items: dict[str, Any] = {
        "record": record.to_json(),
        **scores,
        "n_scored": int(value is not None),
        "n_unscored": int(value is None),
        "unscored_rate": 100.0 * (record.outcome is Outcome.UNSCORED),
        "unparsed_rate": None if record.fields["reason"] == "no clip" else 100.0 * (record.answered is None),
    }
    category = record.stratum["category"]
    if category in CATEGORIES:
        items[f"judge_score_{category}"] = value
    credit: dict[str, Any] = {"group_id": record.group_id, "value": value}
    items["judge_score"] = credit if value is None else {**credit, "score": value}
    return items


def judge_score(items: Iterable[Mapping[str, float | None]]) -> float | None:
    """Mean over the scored questions of their mean over the four dimensions, 0-10; None where none is scored."""
    return rate(item["value"] for item in items)


def count(items: Iterable[int]) -> int:
    """How many questions."""
    return sum(items)


def _clock(time: object) -> str:
    """A released time as the judge is told it: a text as it is, anything else as the official code reads it."""
    seconds = official_seconds(time)
    return time if isinstance(time, str) else f"{seconds // 60:02d}:{seconds % 60:02d}"


def _right_option(doc: Mapping[str, Any]) -> str | None:
    """Text of the right option, None where the key is withheld."""
    return doc["options"][ascii_uppercase.index(doc["answer"])] if doc["answer"] else None
