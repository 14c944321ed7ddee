"""Small clips whose direction in time can be seen, or cannot, for tests of denoising losses."""

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.sample.drawn_clips import write_clip


def falling_ball(rng: np.random.Generator, frames: int = 24, side: int = 32) -> NDArray[np.uint8]:
    """A bright ball that falls faster and faster, (frames, side, side, 3); its reversal rises and slows down."""
    rows, columns = np.mgrid[:side, :side]
    across, radius = rng.uniform(0.2, 0.8) * side, rng.uniform(0.1, 0.16) * side
    heights = (0.1 + rng.uniform(0.6, 0.8) * np.linspace(0, 1, frames) ** 2) * side
    shade, ground = rng.uniform(0.6, 1.0, 3), rng.uniform(0.0, 0.3, 3)
    balls = [np.clip(radius + 0.5 - np.hypot(rows - down, columns - across), 0, 1)[..., None] for down in heights]
    film = np.stack([ground * (1 - ball) + shade * ball for ball in balls])
    return np.asarray((255 * film).round(), np.uint8)


def write_pair(folder: Path, name: str, film: NDArray[np.uint8], fps: int = 8) -> tuple[Path, Path]:
    """Write a clip and its reversal; the two files."""
    folder.mkdir(parents=True, exist_ok=True)
    forward, backward = folder / f"{name}_forward.mp4", folder / f"{name}_backward.mp4"
    write_clip(forward, film, fps)
    write_clip(backward, film[::-1], fps)
    return forward, backward


def write_noise(path: Path, size: tuple[int, int], frames: int) -> None:
    """A clip of noise, (width, height), ten frames a second, each of them hard to predict from the one before."""
    rng = np.random.default_rng(0)
    small = rng.integers(0, 255, (max(2, size[1] // 8), max(2, size[0] // 8), 3), dtype=np.uint8)
    first = np.resize(small, (size[1], size[0], 3))
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=Fraction(10), options={"x264-params": "asm=0:keyint=40"})
        (stream.width, stream.height), stream.pix_fmt = size, "yuv420p"
        for index in range(frames):
            picture = np.ascontiguousarray(np.roll(first, index, axis=0))
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
