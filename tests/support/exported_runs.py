"""Runs with their scores, of which files for elsewhere are made."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from logged_runs import weak, write_run

from lmms_eval_tasks.runs.scores import ScoredRun, ScoresFile, read_scored, scores_path, scores_text
from lmms_eval_tasks.utils.data.card import DataSet, SetKind

TASK, OTHER = "mvp_mini_temporal_reasoning", "mvp_mini_intuitive_physics"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
WHOLE = DataSet(kind=SetKind.OFFICIAL, items=120, of=120)
CARD = {
    f"task {TASK}": {
        "data source": "/data/secret/release", "data revision": COMMIT, "data sha256": "bb", "prompt": "mcq_letter",
        "generation": '{"max_new_tokens": 8, "temperature": 0, "until": ["stop at secret"], "do_sample": false}',
        "judge": '{"model": "org/judge-7b", "server": "http://secret:8000", "temperature": 0.0}',
    },
    "model": {"name": "qwen2_5_vl", "checkpoint": "Qwen/Qwen2.5-VL-7B", "revision": COMMIT, "arguments": "secret=1"},
    "frames": {"frames": 16, "reader": "/opt/secret"},
    "known hazards": {"frames_without_times": "applies", "video_as_images": "does not apply"},
    "run": {"command": "lmms-eval --secret", "date": "20261121_000000", "batch size": 2},
    "software": {"lmms-eval": "0.7.3", "torch": "2.15.0"},
}  # fmt: skip
"""A run card, with what must not leave marked as secret."""
STRATA = {"subset": "temporal_reasoning", "source": "star", "type": "planning", "difficulty": "easy"}
"""Of every item: those of any of the tasks."""
MakeRun = Callable[..., ScoredRun]


def write_exported_run(
    folder: Path,
    task: str = TASK,
    data: DataSet = WHOLE,
    change: Callable[[ScoresFile], ScoresFile] = lambda scores: scores,
    **card: dict[str, object],
) -> ScoredRun:
    """A run of a task, with its scores and card in files.

    Args:
        folder: Its output folder; its name is the model's.
        task: The task.
        data: What its set is.
        change: Changes the file of scores.
        card: Sections of the card in place of those of `CARD`.
    """
    write_run(folder, weak(), (task,), stratum=STRATA)
    log = folder / f"20261121_samples_{task}.jsonl"
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        line["record"]["data_set"] = data.model_dump(mode="json")
    log.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    run = read_scored(folder)
    scores_path(run.path).write_text(scores_text(change(run.scores)), encoding="utf-8")
    (folder / "20261121_run_card.json").write_text(json.dumps(CARD | card), encoding="utf-8")
    return read_scored(folder)
