"""Clips and sights of many scenes, made in processes: what is there is kept, and what is there is whole."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from lmms_eval_tasks.api import InputError, Progress, no_progress
from lmms_eval_tasks.api.release import Problems, write_file
from lmms_eval_tasks.worlds.engine.clips import SceneClip
from lmms_eval_tasks.worlds.engine.encoding import comment_of, encode_frames
from lmms_eval_tasks.worlds.engine.facts import Sight
from lmms_eval_tasks.worlds.engine.processes import count_cores
from lmms_eval_tasks.worlds.engine.renderers import open_renderers
from lmms_eval_tasks.worlds.engine.scene import Scene


class _Task(NamedTuple):
    clip: SceneClip
    path: Path


def film(
    clips: Sequence[SceneClip], folder: Path, progress: Progress = no_progress, processes: int | None = None
) -> list[Path]:
    """Render the clips that a folder lacks."""
    named: dict[str, SceneClip] = {}
    for clip in clips:
        if named.setdefault(clip.name, clip).digest != clip.digest:
            raise ValueError(f"Expected a clip to have a name of its own, but two are called {clip.name}.")
    tasks = [_Task(clip, folder / name) for name, clip in named.items()]
    lacking = [task for task in tasks if not _is_made(task)]
    kept, problems = len(tasks) - len(lacking), Problems()
    progress("rendering clips", kept, len(tasks))
    if lacking:
        folder.mkdir(parents=True, exist_ok=True)
        with open_renderers(_count(processes, len(lacking))) as opened:
            for done, (number, answer) in enumerate(opened.each(make_clip, lacking), 1):
                if answer.disk:
                    raise OSError(answer.refused)
                if answer.refused:
                    problems.add(lacking[number].clip.name, answer.refused)
                progress("rendering clips", kept + done, len(tasks))
    problems.raise_if_any("Not all scenes can be rendered", "the other clips were written")
    return [folder / clip.name for clip in clips]


def see(scenes: Sequence[Scene], progress: Progress = no_progress, processes: int | None = None) -> list[list[Sight]]:
    """Find where bodies are seen in the clip of each scene, as `Filmer.sights` does."""
    problems, found = Problems(), [list[Sight]() for _ in scenes]
    if scenes:
        with open_renderers(_count(processes, len(scenes))) as opened:
            for done, (number, answer) in enumerate(opened.each(find_sights, scenes), 1):
                if answer.refused:
                    problems.add(scenes[number].id, answer.refused)
                found[number] = answer.result or []
                progress("looking at scenes", done, len(scenes))
    problems.raise_if_any("Not all scenes can be rendered")
    return found


def make_clip(task: _Task) -> None:
    """Write one clip; a process with a renderer runs it."""
    from lmms_eval_tasks.worlds.engine.broken import broken_poses
    from lmms_eval_tasks.worlds.engine.pictures import Filmer
    from lmms_eval_tasks.worlds.engine.rollout import FPS, roll_out

    clip = task.clip
    poses = broken_poses(clip.scene, clip.violation) if clip.violation else roll_out(clip.scene).poses
    with Filmer(clip.scene) as filmer:
        frames = filmer.frames(poses)
    write_file(task.path, encode_frames(frames[::-1] if clip.backwards else frames, FPS, clip.digest))


def find_sights(scene: Scene) -> list[Sight]:
    """The sights of one scene; a process with a renderer runs it."""
    from lmms_eval_tasks.worlds.engine.pictures import Filmer
    from lmms_eval_tasks.worlds.engine.rollout import roll_out

    with Filmer(scene) as filmer:
        return filmer.sights(roll_out(scene).poses)


def _is_made(task: _Task) -> bool:
    return task.path.is_file() and comment_of(task.path) == task.clip.digest


def _count(processes: int | None, things: int) -> int:
    """Return the number of processes to use."""
    processes = count_cores() if processes is None else processes
    if processes < 1:
        raise InputError(f"Expected at least one process, but got {processes}.")
    return min(processes, things)
