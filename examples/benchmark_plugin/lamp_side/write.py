"""Writes annotated clips: `python -m lamp_side.write FOLDER`."""

import csv
import sys
from pathlib import Path

import av
import numpy as np

PAIRS, FRAMES, HEIGHT, WIDTH = 6, 12, 48, 64
QUESTION = "On which side of the picture does the lamp go on?"


def write_release(folder: Path) -> Path:
    """Write clips, `candidates.csv`, and in `clips.npy` how light each row of a clip's frames is; always the same."""
    (folder / "videos").mkdir(parents=True, exist_ok=True)
    names, vectors = [], []
    with (folder / "candidates.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["item_id", "clip", "question", "answer"])
        for pair in range(PAIRS):
            for side in ("left", "right"):
                name = f"{pair}_{side}.mp4"
                table.writerow([f"{pair}_{side}", name, QUESTION, side])
                frames = _draw(np.random.default_rng(pair), mirrored=side == "right")
                _write_clip(folder / "videos" / name, frames)
                names.append(name)
                vectors.append(frames.mean(axis=(2, 3)).ravel())
    np.save(folder / "clips.npy", np.stack(vectors))
    (folder / "clips.txt").write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    return folder


def _draw(rng: np.random.Generator, mirrored: bool) -> np.ndarray:
    row, column, start = rng.integers(8, 32), rng.integers(4, 20), rng.integers(2, FRAMES - 2)
    frames = np.full((FRAMES, HEIGHT, WIDTH, 3), 40, np.uint8)
    frames[start:, row : row + 8, column : column + 8] = 240
    return np.ascontiguousarray(frames[:, :, ::-1] if mirrored else frames)


def _write_clip(path: Path, frames: np.ndarray) -> None:
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=4)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame)))
        container.mux(stream.encode())


if __name__ == "__main__":
    write_release(Path(sys.argv[1]))
