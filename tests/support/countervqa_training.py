"""A CounterVQA set of one clip and two questions, to train on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from releases import write_clip

GRAPH: dict[str, Any] = {
    "clip": "one.mp4",
    "task": "making tea",
    "actions": [
        {"id": "a1", "start": 2, "text": "opens the fridge"},
        {"id": "a2", "start": 6, "text": "takes out the milk"},
    ],
    "links": [{"cause": "a1", "effect": "a2"}],
}
QUESTION: dict[str, Any] = {
    "id": "q1", "clip": "one.mp4", "level": 1, "interaction": "H2O", "verdict": "no", "action": "a1", "outcome": "a2",
    "question": "Had C not opened the fridge, would C still have taken out the milk?",
    "explanation": "The milk is in the fridge.", "rule": "adjacent_linked",
}  # fmt: skip
ABSENT: dict[str, Any] = {
    **QUESTION, "id": "q2", "level": 3, "verdict": "yes", "action": None, "absent_action": "sneezes", "rule": "absent",
    "question": "Had C not sneezed, would C still have taken out the milk?", "explanation": "Yes, nobody sneezes.",
}  # fmt: skip


def write_set(folder: Path, frames: int = 8, questions: tuple[dict[str, Any], ...] = (QUESTION, ABSENT)) -> Path:
    write_clip(folder / "clips" / "one.mp4", frames)
    (folder / "graphs.jsonl").write_text(json.dumps(GRAPH) + "\n")
    (folder / "questions.jsonl").write_text("".join(json.dumps(question) + "\n" for question in questions))
    return folder
