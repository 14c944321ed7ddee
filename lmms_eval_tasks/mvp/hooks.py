"""What lmms-eval calls for the MVP tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmms_eval_tasks.hosting import asked_prompt, session, submissions_dir, tell_submission
from lmms_eval_tasks.mvp.card import SUBSETS
from lmms_eval_tasks.mvp.official import official_choice
from lmms_eval_tasks.mvp.prompt import find_prompt
from lmms_eval_tasks.utils.choice import metric_items, render_question, score_choice
from lmms_eval_tasks.utils.home import load_table, media_path
from lmms_eval_tasks.utils.submissions import concatenate, write_rows

DATA_NAME = {"mini": "mvp_mini", "full": "mvp"}


@dataclass
class _Written:
    """The complete files that one run has written, the run known by its arguments."""

    args: Any = None
    files: set[Path] = field(default_factory=set)


_written = _Written()


def doc_to_visual(doc: Mapping[str, Any]) -> list[str]:
    """Path of the item's clip."""
    return [str(media_path("mvp", doc))]


def doc_to_text(doc: Mapping[str, Any], lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    """The prompt: question and lettered options."""
    return render_question(asked_prompt("mvp", lmms_eval_specific_kwargs, find_prompt), doc)


def doc_to_target(doc: Mapping[str, Any]) -> str:
    """Letter of the key."""
    return doc["answer"] or ""


def process_results(doc: Mapping[str, Any], results: list[Any]) -> dict[str, Any]:
    """Grade the first response and hand it to every score that the item counts in."""
    response = results[0] if results else ""
    index = official_choice(response) if isinstance(response, str) else None
    record = score_choice(
        doc,
        response,
        stratum={"subset": doc["subset"], "source": doc["source"]},
        official=None if index is None else "AB"[index],
        fields={"prompt": session.prompts.get("mvp")},
    )
    items = metric_items(record, pair_by=[doc["source"]])
    items["submission_rows"] = {
        "split": doc["split"],
        "row_id": record.item_id,
        "task": doc["subset"],
        "model_answer": doc["options"]["AB".index(record.answered)] if record.answered else "",
    }
    return {**items, "sample_data": 100.0} if doc["sample"] else items


def submission_rows(items: Sequence[Mapping[str, str]], args: Any) -> int | None:
    """Write one subtask's submission file, in the table's order, and the joint file once all four are complete.

    Returns:
        How many rows the subtask's file holds; None without an output path.
    """
    folder = submissions_dir(args)
    if folder is None:
        return None
    answers = {item["row_id"]: item["model_answer"] for item in items}
    split, subset = items[0]["split"], items[0]["task"]
    data_name = DATA_NAME[split]
    table = load_table("mvp", split, require_clips=False)
    ids = [row_id for row_id, part in zip(table["item_id"], table["subset"], strict=True) if part == subset]
    rows = [
        {"data_name": data_name, "row_id": row_id, "model_answer": answers[row_id], "task": subset}
        for row_id in ids
        if row_id in answers
    ]
    path = folder / f"{data_name}_{subset}_valid.jsonl"
    written = write_rows(path, rows)
    tell_submission(path, written, len(ids), sum(not row["model_answer"] for row in rows))
    if written == len(ids):
        _join(path, data_name, args)
    return written


def _join(path: Path, data_name: str, args: Any) -> None:
    """Note a complete file; write the joint one once this run has completed all four."""
    if _written.args is not args:
        _written.args, _written.files = args, set()
    _written.files.add(path)
    parts = [path.with_name(f"{data_name}_{subset}_valid.jsonl") for subset in SUBSETS]
    if _written.files.issuperset(parts):
        concatenate(parts, path.parent.parent / f"{data_name}_submission.jsonl")
