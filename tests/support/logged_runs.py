"""Runs in the form in which lmms-eval leaves them, for commands that read them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from lmms_eval_tasks.utils.data.card import SetKind
from lmms_eval_tasks.utils.scoring.record import Outcome, Record

TASK = "causalvqa_debug_paired"


def write_run(
    folder: Path,
    right: Mapping[str, tuple[bool, ...]],
    tasks: tuple[str, ...] = (TASK,),
    version: str = "1-A",
    kind: SetKind = SetKind.OFFICIAL,
    stratum: Mapping[str, str] | None = None,
    view: str = "",
    question: str = "",
    keys: str = "",
    **fields: object,
) -> Path:
    """A run's output folder.

    Args:
        folder: Where it is to be; its name is the model's.
        right: Group to whether each of its items is answered right; the same for every task.
        tasks: The run's tasks.
        version: Of every task.
        kind: What the run's set is.
        stratum: Of every record.
        view: What every record shows of its item.
        question: The prompt of every item; none is logged without it.
        keys: Letters of the keys of a group's items; A without it.
        fields: Benchmark fields of every record.
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
    return write_records(folder, dict.fromkeys(tasks, records), version, kind, question)


def write_records(
    folder: Path,
    records: Mapping[str, Sequence[Record]],
    version: str = "1-A",
    kind: SetKind = SetKind.OFFICIAL,
    question: str = "",
) -> Path:
    """A run's output folder with the records of each task; other arguments as for `write_run`."""
    folder.mkdir(parents=True)
    results: dict[str, object] = {
        "results": {task: {} for task in records},
        "configs": {task: {} for task in records},
        "group_subtasks": {task: [] for task in records},
        "versions": dict.fromkeys(records, version),
        "config": {"model": "replay", "model_args": f"pretrained=org/{folder.name}"},
    }
    (folder / "20261121_results.json").write_text(json.dumps(results), encoding="utf-8")
    data_set = {"kind": kind.value, "items": 2, "of": 4}
    asked = {"input": question} if question else {}
    for task, found in records.items():
        lines = [json.dumps({"record": {"data_set": data_set} | record.to_json(), **asked}) for record in found]
        (folder / f"20261121_samples_{task}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


def strong(groups: int = 60) -> dict[str, tuple[bool, ...]]:
    """Three in four pairs right."""
    return {str(index): (True, index % 4 > 0) for index in range(groups)}


def weak(groups: int = 60) -> dict[str, tuple[bool, ...]]:
    """One in three pairs right, all of them among those of `strong`."""
    return {str(index): (index % 2 > 0, index % 3 > 0) for index in range(groups)}
