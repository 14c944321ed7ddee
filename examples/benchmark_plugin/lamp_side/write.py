"""Writes the clips and questions: `python -m lamp_side.write FOLDER`."""

import json
import sys
from pathlib import Path

import av
import numpy as np

PAIRS, FRAMES, HEIGHT, WIDTH = 6, 12, 48, 64


def write_release(folder: Path) -> Path:
    """Write a release: `questions.jsonl`, and two clips for each pair; the same bytes each time."""
    (folder / "videos").mkdir(parents=True, exist_ok=True)
    lines = []
    for pair in range(PAIRS):
        for side in ("left", "right"):
            name = f"{pair}_{side}"
            _write_clip(folder / "videos" / f"{name}.mp4", np.random.default_rng(pair), mirrored=side == "right")
            lines.append(json.dumps({"id": name, "pair": str(pair), "clip": f"{name}.mp4", "side": side}) + "\n")
    (folder / "questions.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder


def _write_clip(path: Path, rng: np.random.Generator, mirrored: bool) -> None:
    row, column, start = rng.integers(8, 32), rng.integers(4, 20), rng.integers(2, FRAMES - 2)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=4)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for number in range(FRAMES):
            frame = np.full((HEIGHT, WIDTH, 3), 40, np.uint8)
            if number >= start:
                frame[row : row + 8, column : column + 8] = 240
            picture = np.ascontiguousarray(frame[:, ::-1] if mirrored else frame)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture)))
        container.mux(stream.encode())


if __name__ == "__main__":
    write_release(Path(sys.argv[1]))
