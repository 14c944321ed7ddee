"""New scenes: drawn by their families one after the other, tried, and kept or thrown away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import numpy as np
from pydantic import Field, ValidationError

from lmms_eval_tasks.api import InputError, Progress, RowForm, no_progress
from lmms_eval_tasks.api.release import as_lines, write_file
from lmms_eval_tasks.worlds.kept_scenes import SceneDraft, draft_of
from lmms_eval_tasks.worlds.physics.mechanics import problems_of
from lmms_eval_tasks.worlds.physics.other_worlds import begin, finish, why_not, why_not_begin
from lmms_eval_tasks.worlds.physics.processes import Workers
from lmms_eval_tasks.worlds.physics.violations import choose_violations, suitable_violations
from lmms_eval_tasks.worlds.scenes.families import families
from lmms_eval_tasks.worlds.scenes.scene import Scene, Violation

REFUSED = "it cannot be run"
MOST_DRAWN = 40
"""How many scenes are drawn for one that is kept, at most."""


class TriedScene(RowForm):
    """Outcome of a drawn scene: a draft and the violations that suit it, or the reason why it is rejected."""

    draft: SceneDraft | None = None
    violations: list[Violation] = Field(default_factory=list)
    why: str = ""


def make_drafts(
    per_family: int,
    seed: int,
    progress: Progress = no_progress,
    names: Sequence[str] | None = None,
    processes: int | None = None,
    folder: Path | None = None,
) -> list[SceneDraft]:
    """Draw scenes until there are enough of each family."""
    known = families()
    names = list(known) if names is None else list(names)
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"There is no family {', '.join(unknown)}; there are {', '.join(known)}.")
    most = MOST_DRAWN * (per_family + 1)
    found: list[TriedScene] = []
    with Workers(processes) as workers:
        for name in names:
            kept, thrown = list[TriedScene](), Counter[str]()
            for tried in _try_scenes(workers, name, seed, most, folder):
                if tried.draft is None:
                    thrown[tried.why] += 1
                    continue
                kept.append(tried)
                progress(f"{name}: scenes", len(kept), per_family)
                if len(kept) == per_family:
                    break
            else:
                raise InputError(
                    f"Of {most} drawn scenes of the family {name} only {len(kept)} can be used, but {per_family} are "
                    f"wanted: {dict(thrown)}."
                )
            found += kept
    chosen = choose_violations([tried.violations for tried in found])
    return [
        tried.draft.model_copy(update={"violations": some})
        for tried, some in zip(found, chosen, strict=True)
        if tried.draft is not None
    ]


def draw_scene(family: str, seed: int, number: int) -> Scene:
    """The scene of a number that a family draws with a seed."""
    digest = sha256(f"{seed}/{family}/{number}".encode()).digest()
    own = int.from_bytes(digest[:4], "big") >> 1
    return families()[family].draw(f"{family}_{seed}_{number:04d}", own, np.random.default_rng(own))


def _try_scenes(workers: Workers, family: str, seed: int, most: int, folder: Path | None) -> Iterator[TriedScene]:
    """Yield the outcomes of the scenes that a family draws, in order; those a folder has are not tried again."""
    path, known = None, list[TriedScene]()
    if folder is not None:
        path = folder / f"tried_{family}_{seed}.jsonl"
        known = _read_tried(path)
    yield from known
    for tried in workers.map(_try, ((family, seed, number) for number in range(len(known), most))):
        line = tried.model_dump_json(exclude_defaults=True)
        if path is not None:
            with path.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
        # As the file gives it back, which does not tell -0 from a default of 0.
        yield TriedScene.model_validate_json(line)


def _read_tried(path: Path) -> list[TriedScene]:
    """The tried scenes of a file, which is cut where a line is half written or of another version."""
    found = []
    with suppress(ValidationError):
        for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
            found.append(TriedScene.model_validate_json(line))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, as_lines(one.model_dump(mode="json", exclude_defaults=True) for one in found))
    return found


def _try(asked: tuple[str, int, int]) -> TriedScene:
    """Draw a scene and see whether it can be used."""
    try:
        scene = draw_scene(*asked)
    except ValueError:
        return TriedScene(why=REFUSED)
    if problems_of(scene):
        return TriedScene(why=REFUSED)
    settled = begin(scene)
    if why := why_not_begin(settled):
        return TriedScene(why=why)
    settled = finish(scene, settled)
    if why := why_not(settled):
        return TriedScene(why=why)
    return TriedScene(draft=draft_of(scene, settled, []), violations=suitable_violations(scene, settled.rollout))
