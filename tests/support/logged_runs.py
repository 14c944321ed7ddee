"""Runs in the form in which lmms-eval leaves them, for commands that read them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.scoring.record import Outcome, Record

TASK = "causalvqa_debug_paired"
Card = Mapping[str, Mapping[str, Any]]


def write_run(
    folder: Path,
    right: Mapping[str, tuple[bool, ...]],
    tasks: tuple[str, ...] = (TASK,),
    stratum: Mapping[str, str] | None = None,
    view: str = "",
    keys: str = "",
    version: str = "1-A",
    kind: SetKind | DataSet = SetKind.OFFICIAL,
    question: str = "",
    card: Card | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
    **fields: object,
) -> Path:
    """A run's output folder, in which every task has the same answers.

    `right` says of each group which of its items are answered right; `keys` has the letters of the keys of a group's
    items, which are all A without it; `fields` are a benchmark's own of every record. For the rest see `write_records`.
    """
    records = [
        Record(
            f"{name}_{index}",
            name,
            stratum or {},
            keys[index] if keys else "A",
            "A",
            Outcome.CORRECT if flag else Outcome.WRONG,
            fields={"official_correct": flag, **fields},
            view=view,
        )
        for name, flags in right.items()
        for index, flag in enumerate(flags)
    ]
    return write_records(folder, dict.fromkeys(tasks, records), version, kind, question, card, groups)


def write_records(
    folder: Path,
    records: Mapping[str, Sequence[Record]],
    version: str = "1-A",
    kind: SetKind | DataSet = SetKind.OFFICIAL,
    question: str = "",
    card: Card | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
) -> Path:
    """A run's output folder, whose name is the model's, with the records of each task.

    Every task has the version and a set of the kind; without a question no prompt is logged, and without a card none is
    written.
    """
    folder.mkdir(parents=True)
    results: dict[str, object] = {
        "results": {task: {} for task in records},
        "configs": {task: {} for task in records},
        "group_subtasks": groups or {task: [] for task in records},
        "versions": dict.fromkeys(records, version),
        "config": {"model": "replay", "model_args": f"pretrained=org/{folder.name}"},
    }
    (folder / "20261121_results.json").write_text(json.dumps(results), encoding="utf-8")
    data = kind if isinstance(kind, DataSet) else DataSet(kind=kind, items=2, of=4)
    asked = {"input": question} if question else {}
    for task, found in records.items():
        of_set = {"data_set": data.model_dump(mode="json")}
        lines = [json.dumps({"record": of_set | record.to_json(), **asked}) for record in found]
        (folder / f"20261121_samples_{task}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    if card is not None:
        (folder / "20261121_run_card.json").write_text(json.dumps(card), encoding="utf-8")
    return folder


def strong(groups: int = 60) -> dict[str, tuple[bool, ...]]:
    """Three in four pairs right."""
    return {str(index): (True, index % 4 > 0) for index in range(groups)}


def weak(groups: int = 60) -> dict[str, tuple[bool, ...]]:
    """One in three pairs right, all of them among those of `strong`."""
    return {str(index): (index % 2 > 0, index % 3 > 0) for index in range(groups)}
