"""Facts and clips of scenes, computed from their drafts and kept, so that interrupted work goes on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from lmms_eval_tasks.api import InputError, Problems, Progress, no_progress, read_rows
from lmms_eval_tasks.api.release import as_lines, write_file
from lmms_eval_tasks.worlds.drafts import SceneDraft, digest_events
from lmms_eval_tasks.worlds.physics.filming import LOOK, SceneClip
from lmms_eval_tasks.worlds.physics.other_worlds import intervene, make_twin, twin_scene
from lmms_eval_tasks.worlds.physics.processes import Workers
from lmms_eval_tasks.worlds.physics.rollout import roll_out
from lmms_eval_tasks.worlds.scenes.scene import Facts


def all_facts(
    drafts: Iterable[SceneDraft], progress: Progress = no_progress, processes: int | None = None
) -> list[Facts]:
    """Run scenes, their other worlds and their twins, several at once."""
    drafts = list(drafts)
    found, differing = [], []
    with Workers(processes) as workers:
        for draft, (facts, differs) in zip(drafts, workers.map(_facts, drafts), strict=True):
            found.append(facts)
            differing += [draft.scene.id] if differs else []
            progress("scenes", len(found), len(drafts))
    if differing:
        named = ", ".join(differing[:5]) + (f" and {len(differing) - 5} more" if len(differing) > 5 else "")
        raise InputError(
            f"On this machine something else happens in {named} than where the scenes were drawn, so that answers "
            "would not be the same.\nRemedy: install the version of MuJoCo that the extra `worlds` asks for; or draw "
            "scenes of your own with --seed, whose scores are not compared with others'."
        )
    return found


def _facts(draft: SceneDraft) -> tuple[Facts, bool]:
    """Return the facts of a draft, and whether they differ from what the draft says."""
    scene, rollout = draft.scene, roll_out(draft.scene)
    runs = [intervene(scene, world.intervention) for world in draft.worlds]
    worlds = [world.model_copy(update={"events": run.events}) for world, run in zip(draft.worlds, runs, strict=True)]
    unsure = _joined(draft.unsure or [], rollout.unclear)
    changed = twin = None
    if draft.twin:
        run = roll_out(twin_scene(scene, draft.twin.body))
        changed = draft.twin.model_copy(update={"events": run.events})
        not_asked = [*unsure, *_joined(changed.unsure, run.unclear)]
        twin = make_twin(scene, changed.body, rollout.events, run.events, not_asked)
    facts = Facts(
        scene=scene,
        events=rollout.events,
        unsure=unsure,
        worlds=[
            world.model_copy(update={"unsure": _joined(world.unsure, run.unclear)})
            for world, run in zip(worlds, runs, strict=True)
        ],
        again=[list(key) for key in rollout.again],
        twin=twin,
        violations=draft.violations,
        lost_energy=rollout.lost_energy,
    )
    return facts, digest_events(rollout.events, draft.unsure or [], draft.order, worlds, changed) != draft.digest


def _joined(unsure: Iterable[Sequence[str]], unclear: Iterable[Sequence[str]]) -> list[list[str]]:
    """Join the events that differ between nearly equal scenes with those that are unclear in the scene itself."""
    return [list(key) for key in sorted({tuple(one) for one in (*unsure, *unclear)})]


AT_ONCE = 64
"""Scenes whose facts are written together: as many as are computed again after an interruption."""
FACTS = 2
"""Grows when other things are known of the same scene, so that those of an earlier version are computed again."""
CLIP_BYTES = 90_000
"""About what a clip takes."""


def known_facts(drafts: Sequence[SceneDraft], folder: Path, progress: Progress) -> list[Facts]:
    """Return the facts of each scene with its sights; those a folder has from an earlier call are not computed
    again."""
    found = []
    for start in range(0, len(drafts), AT_ONCE):
        part = drafts[start : start + AT_ONCE]
        path = folder / f"facts_{_digest(part)}.jsonl"
        facts = _read_facts(path, len(part))
        if facts is None:
            facts = list(_seen(part, progress))
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, as_lines(one.model_dump(mode="json") for one in facts))
        found += facts
        progress("scenes that are known", len(found), len(drafts))
    return found


def _seen(drafts: Sequence[SceneDraft], progress: Progress) -> Iterator[Facts]:
    from lmms_eval_tasks.worlds.physics.filming import see
    from lmms_eval_tasks.worlds.physics.pictures import events_of_view

    facts = all_facts(drafts, progress)
    for one, sights in zip(facts, see([one.scene for one in facts], progress), strict=True):
        events = sorted([*one.events, *events_of_view(sights)], key=lambda event: event.time)
        yield one.model_copy(update={"sights": sights, "events": events})


def _read_facts(path: Path, number: int) -> list[Facts] | None:
    """The facts of a file; None where it is not there, or of another version."""
    if not path.is_file():
        return None
    issues = Problems()
    facts = [one for _, one in read_rows(path, Facts, issues)]
    return facts if not issues and len(facts) == number else None


def _digest(drafts: Sequence[SceneDraft]) -> str:
    content = as_lines([{"look": LOOK, "facts": FACTS}, *(draft.model_dump(mode="json") for draft in drafts)])
    return hashlib.sha256(content.encode()).hexdigest()[:16]


class Shooting:
    """The clips of a build, all rendered together when the first of them is to be made."""

    def __init__(self, clips: Sequence[SceneClip], folder: Path, places: Sequence[Path], progress: Progress) -> None:
        self._clips, self._folder, self._places, self._progress = clips, folder, places, progress
        self._lock, self._done = Lock(), False

    def path_of(self, clip: SceneClip) -> Path:
        from lmms_eval_tasks.worlds.physics.filming import film

        with self._lock:
            if not self._done:
                lacking = [
                    clip for clip in self._clips if not any(clip.is_made(place / clip.name) for place in self._places)
                ]
                film(lacking, self._folder, self._progress)
                self._done = True
        return self._folder / clip.name


@dataclass(frozen=True)
class RenderedClip:
    """A clip of a scene as a build takes it."""

    clip: SceneClip
    shooting: Shooting
    size: int = CLIP_BYTES

    def is_made(self, path: Path) -> bool:
        return self.clip.is_made(path)

    def make(self, path: Path) -> None:
        """Write it; the first one has all others of the build rendered too."""
        path.write_bytes(self.shooting.path_of(self.clip).read_bytes())
