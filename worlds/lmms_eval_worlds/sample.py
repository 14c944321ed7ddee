"""The sample: a few scenes that were rendered once, so that it needs neither MuJoCo nor a renderer."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Mapping
from pathlib import Path

from lmms_eval_tasks.api import Progress, SampleWriter
from lmms_eval_tasks.api.release import as_lines, write_file
from lmms_eval_worlds.release import CLIPS, QUESTIONS

SAMPLE_DATA = Path(__file__).parent / "sample_data"
"""Made by `tools/worlds_sample.py`."""


def write_sample(folder: Path, seed: int, sizes: Mapping[str, int], progress: Progress) -> None:
    """Write the questions of some scenes, and their clips; the seed chooses the scenes and their order."""
    questions = [json.loads(line) for line in (SAMPLE_DATA / QUESTIONS).read_text("utf-8").splitlines()]
    scenes = list(dict.fromkeys(question["scene"] for question in questions))
    random.Random(seed).shuffle(scenes)
    chosen = [question for scene in scenes[: sizes["scenes"]] for question in questions if question["scene"] == scene]
    clips = list(dict.fromkeys(question["clip"] for question in chosen))
    (folder / CLIPS).mkdir()
    for done, clip in enumerate(clips, 1):
        shutil.copyfile(SAMPLE_DATA / CLIPS / clip, folder / CLIPS / clip)
        progress("filming clips", done, len(clips))
    write_file(folder / QUESTIONS, as_lines(chosen))


SAMPLE = SampleWriter(f"rendered scenes, and `{QUESTIONS}`", {"scenes": 3}, write_sample)
