"""New scenes: drawn by their families one after the other, tried, and kept or thrown away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
from pydantic import Field

from lmms_eval_tasks.api import InputError, Problems, Progress, RowForm, no_progress, read_rows
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
WRITTEN_TOGETHER = 8
"""Tried scenes in a file: as many as are tried again, at most, after a kill."""


class DrawCounts(RowForm):
    """Counts of a family's scenes that were drawn and kept, and of those rejected by reason."""

    family: str
    drawn: int
    kept: int
    thrown: dict[str, int]


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
) -> tuple[list[SceneDraft], list[DrawCounts]]:
    """Draw scenes until there are enough of each family."""
    known = families()
    names = list(known) if names is None else list(names)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InputError(f"There is no family {', '.join(unknown)}; there are {', '.join(known)}.")
    most = MOST_DRAWN * (per_family + 1)
    drafts: list[SceneDraft] = []
    suitable: list[list[Violation]] = []
    counts = []
    with Workers(processes) as workers:
        for name in names:
            found, thrown = 0, Counter[str]()
            tries = _try_scenes(workers, name, seed, most, folder)
            while found < per_family:
                tried = next(tries, None)
                if tried is None:
                    raise InputError(
                        f"Of {most} drawn scenes of the family {name} only {found} can be used, but {per_family} are "
                        f"wanted: {dict(thrown)}."
                    )
                if tried.draft is None:
                    thrown[tried.why] += 1
                    continue
                found += 1
                drafts.append(tried.draft)
                suitable.append(tried.violations)
                progress(f"{name}: scenes", found, per_family)
            # What was tried is written now, not whenever it is collected as garbage.
            tries.close()
            counts.append(
                DrawCounts(family=name, drawn=found + thrown.total(), kept=found, thrown=dict(sorted(thrown.items())))
            )
    chosen = choose_violations(suitable)
    drafts = [draft.model_copy(update={"violations": some}) for draft, some in zip(drafts, chosen, strict=True)]
    return drafts, counts


def draw_scene(family: str, seed: int, number: int) -> Scene:
    """The scene of a number that a family draws with a seed."""
    digest = sha256(f"{seed}/{family}/{number}".encode()).digest()
    own = int.from_bytes(digest[:4], "big") >> 1
    return families()[family].draw(f"{family}_{seed}_{number:04d}", own, np.random.default_rng(own))


def _try_scenes(
    workers: Workers, family: str, seed: int, most: int, folder: Path | None
) -> Generator[TriedScene, None, None]:
    """Yield the outcomes of the scenes that a family draws, in order; those a folder has are not tried again."""
    number = 0
    while known := _read_tried(_place(folder, family, seed, number)):
        yield from known
        number += len(known)
    unwritten: list[TriedScene] = []
    try:
        for tried in map(_as_read, workers.map(_try, ((family, seed, later) for later in range(number, most)))):
            unwritten.append(tried)
            if len(unwritten) == WRITTEN_TOGETHER:
                _write_tried(unwritten, _place(folder, family, seed, number))
                number += len(unwritten)
                unwritten = []
            yield tried
    finally:
        _write_tried(unwritten, _place(folder, family, seed, number))


def _place(folder: Path | None, family: str, seed: int, number: int) -> Path | None:
    """The file of tried scenes that begins with a number; None where nothing is kept."""
    return folder / f"tried_{family}_{seed}_{number}.jsonl" if folder else None


def _read_tried(path: Path | None) -> list[TriedScene]:
    """The tried scenes of a file; none where it is not there, or of another version."""
    if path is None or not path.is_file():
        return []
    issues = Problems()
    found = [one for _, one in read_rows(path, TriedScene, issues)]
    return [] if issues else found


def _as_read(tried: TriedScene) -> TriedScene:
    """A tried scene as a file gives it back, which does not tell -0 from a default of 0."""
    return TriedScene.model_validate_json(tried.model_dump_json(exclude_defaults=True))


def _write_tried(tried: Sequence[TriedScene], path: Path | None) -> None:
    if path is None or not tried:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, as_lines(one.model_dump(mode="json", exclude_defaults=True) for one in tried))


def _try(asked: tuple[str, int, int]) -> TriedScene:
    """Draw a scene and see whether it can be used."""
    try:
        scene = draw_scene(*asked)
    except ValueError:
        return TriedScene(why=REFUSED)
    if problems_of(scene):
        return TriedScene(why=REFUSED)
    settled = begin(scene)
    why = why_not_begin(settled)
    if why:
        return TriedScene(why=why)
    settled = finish(scene, settled)
    why = why_not(settled)
    if why:
        return TriedScene(why=why)
    return TriedScene(draft=draft_of(scene, settled, []), violations=suitable_violations(scene, settled.rollout))
