"""Questions about small clips as lmms-eval asks them, for models that are called directly."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from lmms_eval_tasks.sample.drawn_clips import write_clip

FRAMES = (16, 24, 12)
HEIGHT, WIDTH = 84, 112
ASKED = (
    "What happens?",
    "Does the red ball fall because of the box?",
    "Which option is right? (A) the ball, (B) the box, (C) neither of these two, (D) it cannot be seen.",
    "Why?",
    "x",
    "Is it (A) one, (B) two or (C) three things that move?",
)


def write_clips(folder: Path, frames: Sequence[int] = FRAMES) -> list[Path]:
    """Clips of noise that moves, each other than the others."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, count in enumerate(frames):
        picture = np.random.default_rng(number).integers(0, 255, (HEIGHT, WIDTH, 3), dtype=np.uint8)
        film = np.stack([np.roll(picture, 4 * step, axis=1) for step in range(count)])
        paths.append(folder / f"{number}.mp4")
        write_clip(paths[-1], film, 8)
    return paths


def chat_of(doc: dict[str, Any]) -> list[dict[str, Any]]:
    """The clip and then the question, as lmms-eval shows a document to chat models."""
    shown = [{"type": "video", "url": str(doc["clip"])}] if doc["clip"] else []
    return [{"role": "user", "content": [*shown, {"type": "text", "text": doc["question"]}]}]


def ask(
    clips: Sequence[Path | None], questions: int, tasks: Sequence[str] = ("one",), **generation: Any
) -> tuple[list[Any], dict[str, Any]]:
    """Requests for some questions about each clip, clip after clip in turn, and the documents that they name.

    Args:
        clips: The clips; None asks without one.
        questions: How many questions about each.
        tasks: Names of tasks, which take the questions in turn.
        **generation: How answers are generated.
    """
    documents: dict[str, list[dict[str, Any]]] = {task: [] for task in tasks}
    requests = []
    for number in range(questions):
        task = tasks[number % len(tasks)]
        for place, clip in enumerate(clips):
            doc = {"item_id": f"{place}.{number}", "clip": clip, "question": ASKED[number]}
            documents[task].append(doc)
            arguments = (doc["question"], chat_of, {"max_new_tokens": 12, **generation})
            doc_id = len(documents[task]) - 1
            request = {"args": (*arguments, doc_id, task, "test"), "task_name": task, "doc_id": doc_id, "metadata": {}}
            requests.append(SimpleNamespace(**request))
    return requests, {task: {"test": docs} for task, docs in documents.items()}
