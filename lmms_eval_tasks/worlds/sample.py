"""The sample of Worlds: a few scenes that were rendered once, so that it needs neither MuJoCo nor a renderer."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from lmms_eval_tasks.api import GroupedIssues, Progress, SampleWriter, read_rows
from lmms_eval_tasks.api.release import write_file
from lmms_eval_tasks.worlds.questions.question import Question
from lmms_eval_tasks.worlds.released import CLIPS, QUESTIONS, question_lines

DATA = Path(__file__).parent / "sample_data"
"""Made by `tools/worlds_sample.py`."""


def write_sample(folder: Path, seed: int, sizes: Mapping[str, int], progress: Progress) -> None:
    """Write the questions of some scenes, and their clips; the seed chooses the scenes and their order.

    Args:
        folder: Where they go.
        seed: Of the choice.
        sizes: ``scenes``, how many.
        progress: Called for each clip.
    """
    issues = GroupedIssues()
    questions = [question for _, question in read_rows(DATA / QUESTIONS, Question, issues)]
    issues.raise_if_any(f"{DATA / QUESTIONS} cannot be used")
    scenes = list(dict.fromkeys(question.scene for question in questions))
    order = [scenes[int(place)] for place in np.random.default_rng(seed).permutation(len(scenes))]
    chosen = order[: sizes["scenes"]]
    questions = [question for scene in chosen for question in questions if question.scene == scene]
    clips = list(dict.fromkeys(question.clip for question in questions))
    (folder / CLIPS).mkdir(parents=True, exist_ok=True)
    for done, clip in enumerate(clips, 1):
        shutil.copyfile(DATA / CLIPS / clip, folder / CLIPS / clip)
        progress("filming clips", done, len(clips))
    write_file(folder / QUESTIONS, question_lines(questions))


WRITER = SampleWriter(f"rendered scenes, and `{QUESTIONS}`", {"scenes": 3}, write_sample)
