"""Writes the sample: `data.json`, and videos in which a bar rises step by step, its steps shuffled."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path

import av
import numpy as np
from PIL import Image, ImageDraw

from lmms_eval_tasks import api
from lmms_eval_tasks.api.clips import h264_file

RATE, HEIGHT, WIDTH = 4, 48, 64
TITLE_FRAMES, STEP_FRAMES = 2, 4


def write_release(
    folder: Path, seed: int, sizes: Mapping[str, int], progress: api.Progress, goals: Sequence[str]
) -> None:
    """Write a release, the same bytes for the same seed and sizes."""
    rng, questions = np.random.default_rng(seed), []
    (folder / "videos").mkdir()
    for number, count, goal in zip(range(sizes["questions"]), cycle(range(3, 8)), cycle(goals), strict=False):
        progress("vcrbench: drawing clips", number, sizes["questions"])
        order = rng.permutation(count).tolist()
        video = f"video_{number + 1}.mp4"
        _write_video(folder / "videos" / video, order)
        questions.append({"qid": str(number + 1), "goal": goal, "ground_truth": order, "video_file": video})
    (folder / "data.json").write_text(json.dumps(questions, indent=1) + "\n", encoding="utf-8")


def _write_video(path: Path, order: Sequence[int]) -> None:
    with h264_file(path, RATE, (HEIGHT, WIDTH), {"crf": "18"}) as stream:
        for clip in range(len(order)):
            title = Image.new("RGB", (WIDTH, HEIGHT), (20, 20, 20))
            ImageDraw.Draw(title).text((14, 18), f"Clip {clip + 1}", fill=(255, 255, 255))
            pictures = [np.asarray(title)] * TITLE_FRAMES
            for frame in range(1, STEP_FRAMES + 1):
                level = round(HEIGHT * (order.index(clip) + frame / STEP_FRAMES) / len(order))
                pictures.append(np.full((HEIGHT, WIDTH, 3), 60, np.uint8))
                pictures[-1][HEIGHT - level :, 8:56] = (60, 120, 240)
            for picture in pictures:
                stream.container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
