"""The YoCausal protocol as numbers: which frames, windows, timesteps, noise seeds, and how losses become one."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

TRAIN_STEPS = 1000
CONTEXT = 4

Process = Literal["ddpm", "flow"]


class ShortClip(ValueError):
    """A clip has too few frames for two latent frames, the least that has a direction in time."""


@dataclass(frozen=True)
class Protocol:
    name: str
    steps: int = 10
    draws: int = 1
    spacing: Literal["interior", "snapped"] = "interior"
    shared_noise: bool = False
    windows: Literal["filled", "context", "tail"] = "filled"
    anchor: Literal["centre", "start"] = "centre"
    combine: Literal["latents", "sum", "windows"] = "latents"
    boundary: float | None = None


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol("paper"),
        Protocol("official_example", shared_noise=True, windows="context", anchor="start", combine="sum"),
        Protocol(
            "wan_scripts", draws=10, spacing="snapped", windows="tail", anchor="start", combine="windows", boundary=0.5
        ),
    )
}


@dataclass(frozen=True)
class Window:
    start: int
    stop: int
    borrowed: int = 0
    skipped: int = 0


def plan_windows(frames: int, window: int, compression: int, layout: str = "filled") -> list[Window]:
    if window % compression != 1 % compression or window <= compression:
        raise ValueError(
            f"Expected a window of 1 more than a multiple of {compression} frames, at least {compression + 1}, "
            f"but got {window}."
        )
    if frames <= compression:
        raise ShortClip(
            f"Expected at least {compression + 1} frames at the model's frame rate, but the clip has {frames}."
        )
    fitting = frames - (frames - 1) % compression
    if frames < window:
        return [Window(0, fitting)]
    context = 1 + compression * math.ceil((CONTEXT - 1) / compression)
    stride = window - window % compression if layout == "context" else window
    windows = [Window(0, window)]
    used = window
    while True:
        own = min(stride, (fitting if layout == "tail" else frames) - used)
        if own < stride and layout != "tail":
            own -= own % compression
        if own == 0:
            return windows
        borrowed = context if layout == "context" else window - own
        skipped = borrowed // compression if layout == "tail" else math.ceil(borrowed / compression)
        windows.append(Window(used - borrowed, used + own, borrowed, skipped))
        used += own


def available_frames(frames: int, step: float) -> int:
    """The number of frames that a file gives at every `step`-th, which is the file's rate by the model's rate."""
    return math.floor((frames - 1) / step + 1e-9) + 1 if frames else 0


def centred_positions(frames: int, step: float, used: int) -> list[float]:
    """Return the positions of the file's frames that are used, mirrored around its middle."""
    middle = (frames - 1) / 2
    after = [math.floor(middle + (index - (used - 1) / 2) * step + 0.5) for index in range((used + 1) // 2, used)]
    before = [frames - 1 - position for position in reversed(after)]
    return [*before, middle, *after] if used % 2 else [*before, *after]


def leading_positions(frames: int, step: float) -> list[float]:
    """The positions that a converter uses which starts at the first frame, as FFmpeg's ``fps`` filter does."""
    ticks = np.floor(np.arange(frames) / step + 0.5)
    shown_ticks = np.arange(math.floor(frames / step + 0.5))
    return [float(position) for position in np.searchsorted(ticks, shown_ticks, side="right") - 1]


def choose_timesteps(
    process: Process, spacing: str = "interior", steps: int = 10, shift: float = 1.0
) -> tuple[float, ...]:
    """The timesteps at which a clip is denoised, ascending, on a scale of 0 (clean) to 1000 (noise).

    Args:
        process: ``ddpm`` has 1000 whole timesteps; ``flow`` any noise level, of which the timestep is 1000 times.
        spacing: ``interior``: K points that cut the range in K+1 equal parts (whole numbers for DDPM: 90, 181, … 909;
            the official formula gives these, the comment beside it says 908).
            ``snapped``: K inner points between the least and the greatest training timestep, each moved to the nearest.
        steps: K.
        shift: The shift of the training timesteps for ``snapped`` and flow matching (5 in the Wan scripts).
    """
    if spacing == "interior":
        inner = [(index + 1) * TRAIN_STEPS / (steps + 1) for index in range(steps)]
        return tuple(float(int(timestep)) if process == "ddpm" else timestep for timestep in inner)
    if process == "ddpm":
        training = np.arange(TRAIN_STEPS, dtype=float)
    else:
        level = np.arange(1, TRAIN_STEPS + 1) / TRAIN_STEPS
        training = TRAIN_STEPS * shift * level / (1 + (shift - 1) * level)
    targets = np.linspace(training.min(), training.max(), steps + 2)[1:-1]
    return tuple(float(training[np.abs(training - target).argmin()]) for target in targets)


def noise_seed(run_seed: int, item_id: str, window: int, timestep: int, draw: int) -> int:
    """Seed of one noise draw, from what it is for alone: the same on any rank, in any order and batch."""
    key = f"{run_seed}\0{item_id}\0{window}\0{timestep}\0{draw}".encode()
    return int.from_bytes(hashlib.sha256(key).digest()[:8], "big") >> 1


def nearest_bucket(height: int, width: int, buckets: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The bucket (height, width) that suits a clip best, by the Wan scripts' measure."""

    def misfit(bucket: tuple[int, int]) -> float:
        enlarged = max(bucket[0] / height, bucket[1] / width)
        return abs(width / height - bucket[1] / bucket[0]) + 2 * max(0.0, enlarged - 1)

    return min(buckets, key=misfit)
