"""Writes the sample: clips of pendulums, and `trios.jsonl`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import av
import numpy as np

from lmms_eval_tasks import api

RATE, SECONDS, HEIGHT, WIDTH = 8, 6, 48, 64
PERIODS = np.arange(8, 29) / 10


def write_release(folder: Path, seed: int, sizes: Mapping[str, int], progress: api.Progress) -> None:
    """Write a release, the same bytes for the same seed and sizes."""
    rng = np.random.default_rng(seed)
    (folder / "videos").mkdir()
    with (folder / "trios.jsonl").open("w", encoding="utf-8") as file:
        for number in range(sizes["trios"]):
            progress("pendulums: drawing clips", number, sizes["trios"])
            periods = rng.choice(PERIODS, 3, replace=False).tolist()
            clips = [f"{number}_{place}.mp4" for place in range(3)]
            for clip, period in zip(clips, periods, strict=True):
                _write_clip(folder / "videos" / clip, period, start=rng.random())
            file.write(json.dumps({"trio": f"t{number}", "clips": clips, "periods": periods}) + "\n")


def _write_clip(path: Path, period: float, start: float) -> None:
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=RATE)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for number in range(RATE * SECONDS):
            column = round(WIDTH / 2 + 20 * np.sin(2 * np.pi * (number / RATE / period + start)))
            picture = np.full((HEIGHT, WIDTH, 3), 40, np.uint8)
            picture[20:28, column - 4 : column + 4] = 240
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture)))
        container.mux(stream.encode())
