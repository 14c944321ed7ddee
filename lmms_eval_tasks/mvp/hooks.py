"""What lmms-eval calls for the MVP tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmms_eval_tasks.host.hosting import asked_prompt, session, submissions_dir, tell_submission
from lmms_eval_tasks.mvp.card import SUBSETS
from lmms_eval_tasks.mvp.official import official_choice
from lmms_eval_tasks.mvp.prompt import find_prompt
from lmms_eval_tasks.mvp.submission import DATA_NAME, file_name, make_rows
from lmms_eval_tasks.utils.data.home import load_table, media_path
from lmms_eval_tasks.utils.scoring.choice import metric_items, render_question, score_choice
from lmms_eval_tasks.utils.submission.files import concatenate, write_rows


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
        "item_id": record.item_id,
        "subset": doc["subset"],
        "answered": record.answered,
    }
    return {**items, "sample_data": 100.0} if doc["sample"] else items


def submission_rows(items: Sequence[Mapping[str, Any]], args: Any) -> int | None:
    """Write one subtask's submission file, in the table's order, and the joint file once all four are complete.

    Returns:
        How many rows the subtask's file holds; None without an output path.
    """
    folder = submissions_dir(args)
    if folder is None:
        return None
    split, subset = items[0]["split"], items[0]["subset"]
    table = load_table("mvp", split, require_clips=False).to_list()
    answers = {item["item_id"]: item["answered"] for item in items}
    rows = make_rows(answers, table, subset, DATA_NAME[split])
    path = folder / file_name(split, subset)
    written = write_rows(path, rows)
    expected = sum(row["subset"] == subset for row in table)
    tell_submission(path, written, expected, sum(not row["model_answer"] for row in rows))
    if written == expected:
        _join(path, split, args)
    return written


def _join(path: Path, split: str, args: Any) -> None:
    """Note a complete file; write the joint one once this run has completed all four."""
    if _written.args is not args:
        _written.args, _written.files = args, set()
    _written.files.add(path)
    parts = [path.with_name(file_name(split, subset)) for subset in SUBSETS]
    if _written.files.issuperset(parts):
        concatenate(parts, path.parent.parent / f"{DATA_NAME[split]}_submission.jsonl")
