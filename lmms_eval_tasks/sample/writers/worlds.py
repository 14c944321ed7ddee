"""The sample of Worlds: a few of its scenes that were rendered once, so that it needs neither MuJoCo nor a renderer."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from lmms_eval_tasks.utils.benchmark.benchmark import SampleWriter
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.work import Progress

DATA = Path(str(resources.files("lmms_eval_tasks"))) / "worlds" / "sample_data"
"""Made by `tools/worlds_sample.py`."""
QUESTIONS, CLIPS = "questions.jsonl", "clips"


def write_release(folder: Path, seed: int, sizes: Mapping[str, int], progress: Progress) -> None:
    """Write the questions of some scenes, and their clips; the seed chooses the scenes and their order."""
    lines = (DATA / QUESTIONS).read_text(encoding="utf-8").splitlines(keepends=True)
    questions = [(json.loads(line), line) for line in lines]
    scenes = list(dict.fromkeys(question["scene"] for question, _ in questions))
    random.Random(seed).shuffle(scenes)
    chosen = [pair for scene in scenes[: sizes["scenes"]] for pair in questions if pair[0]["scene"] == scene]
    clips = list(dict.fromkeys(question["clip"] for question, _ in chosen))
    (folder / CLIPS).mkdir()
    for done, clip in enumerate(clips, 1):
        shutil.copyfile(DATA / CLIPS / clip, folder / CLIPS / clip)
        progress("filming clips", done, len(clips))
    write_file(folder / QUESTIONS, "".join(line for _, line in chosen))


WRITER = SampleWriter(f"rendered scenes, and `{QUESTIONS}`", {"scenes": 3}, write_release)
