"""Runs of which files for elsewhere are made."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from logged_runs import weak, write_run

from lmms_eval_tasks.runs.scores import ScoredRun, read_scored
from lmms_eval_tasks.utils.data.card import DataSet, SetKind

TASK, OTHER = "mvp_mini_temporal_reasoning", "mvp_mini_intuitive_physics"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
WHOLE = DataSet(kind=SetKind.OFFICIAL, items=120, of=120)
CARD: dict[str, Mapping[str, object]] = {
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


def exported_run(folder: Path, task: str = TASK, data: DataSet = WHOLE, **card: Mapping[str, object]) -> ScoredRun:
    """A run of a task on a set; its card is `CARD`, with some sections in place of its own."""
    return read_scored(write_run(folder, weak(), (task,), STRATA, kind=data, card=CARD | card))
