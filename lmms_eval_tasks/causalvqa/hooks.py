"""What lmms-eval calls for the CausalVQA tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lmms_eval_tasks.causalvqa.official import official_choice
from lmms_eval_tasks.causalvqa.prompt import find_prompt
from lmms_eval_tasks.causalvqa.submission import make_rows
from lmms_eval_tasks.host.hosting import asked_prompt, session, submissions_dir, tell_submission
from lmms_eval_tasks.utils.data.home import load_table, media_path
from lmms_eval_tasks.utils.scoring.choice import metric_items, render_question, score_choice
from lmms_eval_tasks.utils.submission.files import write_rows


def doc_to_visual(doc: Mapping[str, Any]) -> list[str]:
    """Path of the item's clip."""
    return [str(media_path("causalvqa", doc))]


def doc_to_text(doc: Mapping[str, Any], lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    """The prompt: question and lettered options."""
    return render_question(asked_prompt("causalvqa", lmms_eval_specific_kwargs, find_prompt), doc)


def doc_to_target(doc: Mapping[str, Any]) -> str:
    """Letter of the key; empty where the release withholds it."""
    return doc["answer"] or ""


def process_results(doc: Mapping[str, Any], results: list[Any]) -> dict[str, Any]:
    """Grade the first response and hand it to every score that the item counts in."""
    response = results[0] if results else ""
    kind, difficulty = doc["type"], doc["difficulty"]
    record = score_choice(
        doc,
        response,
        stratum={"type": kind, "difficulty": difficulty},
        official=official_choice(response) if isinstance(response, str) else None,
        fields={"version": doc["version"], "prompt": session.prompts.get("causalvqa")},
    )
    breakdowns = [kind, difficulty, *(["reasoning"] if kind != "descriptive" else [])]
    items = metric_items(record, pair_by=breakdowns, single_by=breakdowns)
    items["pair_accuracy_strata_mean"] = {**items["pair_accuracy"], "stratum": f"{kind}_{difficulty}"}
    items["submission_rows"] = {"split": doc["split"], "item_id": record.item_id, "answered": record.answered}
    return {**items, "sample_data": 100.0} if doc["sample"] else items


def submission_rows(items: Sequence[Mapping[str, Any]], args: Any) -> int | None:
    """Write the submission file, in the table's order; how many rows it holds, None without an output path."""
    folder = submissions_dir(args)
    if folder is None:
        return None
    split = items[0]["split"]
    table = load_table("causalvqa", split, require_clips=False)
    rows = make_rows({item["item_id"]: item["answered"] for item in items}, table.to_list())
    path = folder / f"causalvqa_{split}.jsonl"
    written = write_rows(path, rows)
    tell_submission(path, written, len(table), sum(not row["model_answer"] for row in rows))
    return written
