"""Clips of scenes and sights of their bodies, rendered in several processes, encoded as H.264 and kept."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmms_eval_tasks.api import InputError, Problems, Progress, no_progress
from lmms_eval_tasks.api.clips import h264_file
from lmms_eval_tasks.api.release import write_file
from lmms_eval_worlds.physics.processes import Workers, attempt, count_cores
from lmms_eval_worlds.scenes.scene import Scene, Sight, Violation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


LOOK = 1
"""Grows when the same scene is to look or to be coded otherwise, so that clips made before are made again."""


@dataclass(frozen=True)
class SceneClip:
    scene: Scene
    backwards: bool = False
    violation: Violation | None = None

    def __post_init__(self) -> None:
        """Refuse what no question asks for and what has no name."""
        if self.backwards and self.violation is not None:
            raise ValueError("Expected a clip that goes backwards or breaks a principle, but got both.")

    @property
    def name(self) -> str:
        if self.violation is not None:
            return f"{self.scene.id}_breaks_{self.violation.principle}.mp4"
        return f"{self.scene.id}_backwards.mp4" if self.backwards else f"{self.scene.id}.mp4"

    @property
    def digest(self) -> str:
        """Sixteen digits that change with anything that changes its frames; its file carries them."""
        broken = None if self.violation is None else self.violation.model_dump(mode="json")
        described = [LOOK, self.scene.model_dump(mode="json"), self.backwards, broken]
        return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()[:16]

    def is_made(self, path: Path) -> bool:
        """Whether a file is this clip: it says of what it was made."""
        return path.is_file() and comment_of(path) == self.digest


# Without a look ahead the first picture is coded by itself: clips that start alike start with the same bits.
_OPTIONS = {"preset": "veryfast", "x264-params": "rc-lookahead=0:mbtree=0:sync-lookahead=0"}
QUALITY = 20
"""Of the encoder, from 0 to 51: the larger, the smaller are clips."""


def encode_frames(frames: Sequence[NDArray[np.uint8]], rate: int, comment: str, quality: int = QUALITY) -> bytes:
    """An mp4 with one H.264 stream; the same frames give the same bytes."""
    import av

    written, (height, width, _) = io.BytesIO(), frames[0].shape
    with h264_file(written, rate, (height, width), {"crf": str(quality), **_OPTIONS}) as stream:
        stream.container.metadata["comment"] = comment
        for frame in frames:
            stream.container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
    return written.getvalue()


def comment_of(path: Path) -> str | None:
    """The text that a file carries; None where it is no clip that can be opened."""
    import av

    try:
        with av.open(str(path)) as container:
            return str(container.metadata.get("comment", ""))
    except (av.FFmpegError, OSError, ValueError):
        return None


def film(
    clips: Sequence[SceneClip], folder: Path, progress: Progress = no_progress, processes: int | None = None
) -> list[Path]:
    """Render the clips that a folder lacks."""
    named: dict[str, SceneClip] = {}
    for clip in clips:
        if named.setdefault(clip.name, clip).digest != clip.digest:
            raise ValueError(f"Expected a clip to have a name of its own, but two are called {clip.name}.")
    lacking = {name: (clip, folder / name) for name, clip in named.items() if not clip.is_made(folder / name)}
    kept, total = len(named) - len(lacking), len(named)
    progress("rendering clips", kept, total)
    if lacking:
        folder.mkdir(parents=True, exist_ok=True)

        def report(done: int) -> None:
            progress("rendering clips", kept + done, total)

        _render(make_clip, lacking, processes, report, "the other clips were written")
    return [folder / clip.name for clip in clips]


def see(scenes: Sequence[Scene], progress: Progress = no_progress, processes: int | None = None) -> list[list[Sight]]:
    """Find where bodies are seen in the clip of each scene, as `Filmer.sights` does."""
    if not scenes:
        return []
    named = {scene.id: scene for scene in scenes}
    return _render(find_sights, named, processes, lambda done: progress("looking at scenes", done, len(scenes)))


def _render(
    function: Callable[[Any], Any],
    things: Mapping[str, Any],
    processes: int | None,
    report: Callable[[int], None],
    outcome: str = "",
) -> list[Any]:
    """What a function that renders makes of each thing; those that it cannot render are one message."""
    processes = count_cores() if processes is None else processes
    if processes < 1:
        raise InputError(f"Expected at least one process, but got {processes}.")
    problems, found = Problems(), []
    with Workers(min(processes, len(things)), renders=True) as workers:
        futures = workers.futures(partial(attempt, function), things.values())
        for done, (name, future) in enumerate(zip(things, futures, strict=True), 1):
            try:
                found.append(future.result())
            except ValueError as error:
                problems.add(name, str(error))
            report(done)
    problems.raise_if_any("Not all scenes can be rendered", outcome)
    return found


def make_clip(task: tuple[SceneClip, Path]) -> None:
    """Write one clip; a process with a renderer runs it."""
    from lmms_eval_worlds.physics.pictures import Filmer
    from lmms_eval_worlds.physics.rollout import FPS, roll_out
    from lmms_eval_worlds.physics.violations import broken_poses

    clip, path = task
    poses = broken_poses(clip.scene, clip.violation) if clip.violation else roll_out(clip.scene).poses
    with Filmer(clip.scene) as filmer:
        frames = filmer.frames(poses)
    write_file(path, encode_frames(frames[::-1] if clip.backwards else frames, FPS, clip.digest))


def find_sights(scene: Scene) -> list[Sight]:
    """The sights of one scene; a process with a renderer runs it."""
    from lmms_eval_worlds.physics.pictures import Filmer
    from lmms_eval_worlds.physics.rollout import roll_out

    with Filmer(scene) as filmer:
        return filmer.sights(roll_out(scene).poses)
