"""From scenes to a prepared table: the standard set, new ones of a seed, one's own, and sets that were made before."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmms_eval_tasks.api import InputError, Origin, Progress, SplitManifest, building, no_progress
from lmms_eval_tasks.api.release import as_lines, write_file
from lmms_eval_tasks.worlds import released
from lmms_eval_tasks.worlds.card import CARD, FAMILIES, SPLIT
from lmms_eval_tasks.worlds.making_sets import RenderedClip, Shooting, known_facts, require_engine
from lmms_eval_tasks.worlds.questions.drawing import questions_of_set
from lmms_eval_tasks.worlds.rows import make_rows, own_columns

if TYPE_CHECKING:
    from lmms_eval_tasks.worlds.engine.drafts import SceneDraft

STANDARD_SCENES = Path(__file__).parent / "standard_scenes.jsonl"
"""The standard set: a draft a line, as `engine.drafts` has them."""
STANDARD_SEED = 0
"""Of the questions of the standard set."""
WORK = "work"
"""Folder of a build with what an interruption is not to lose."""


class SetSize(str, Enum):
    """Size of a new set."""

    SMALL = "small"
    STANDARD = "standard"
    LARGE = "large"

    @property
    def scenes(self) -> int:
        """Number of scenes of each family."""
        return {SetSize.SMALL: 3, SetSize.STANDARD: 55, SetSize.LARGE: 220}[self]


def prepare(
    seed: Annotated[
        int | None,
        typer.Option(help="Make new scenes of this seed; the standard ones are of seed 0.", min=1, show_default=False),
    ] = None,
    size: Annotated[
        SetSize | None,
        typer.Option(help="How large a set of new scenes is: 36, 660 or 2,640; 660 by default.", show_default=False),
    ] = None,
    scenes: Annotated[
        Path | None, typer.Option(help="File of your own scenes, one a line.", show_default=False)
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(help="Folder of a set made before: what another data home has of worlds.", show_default=False),
    ] = None,
    progress: Progress = no_progress,
) -> dict[str, SplitManifest]:
    """Prepare Worlds: run and render the scenes of the standard set, which comes with this package."""
    if sum(one is not None for one in (seed, scenes, source)) > 1:
        raise InputError("Expected one of --seed, --scenes and --source, but got several.")
    if size is not None and seed is None:
        raise InputError("Expected --size with --seed alone: a set that is made already has its size.")
    if source is not None:
        return _take(source, progress)
    require_engine()
    with building(CARD.name) as build:
        work = build.folder / WORK
        drafts = _drafts(seed, size or SetSize.STANDARD, scenes, work, progress)
        facts = known_facts(drafts, work, progress)
        questions = questions_of_set(facts, STANDARD_SEED if seed is None else seed)
        known = {clip.name: clip for draft in drafts for clip in draft.clips}
        asked = [known[name] for name in dict.fromkeys(question.clip for question in questions)]
        videos = [folder / "videos" / SPLIT for folder in (build.folder, build.current)]
        shooting = Shooting(asked, work / "clips", videos, progress)
        origin = Origin(
            str(scenes or ("the standard scenes" if seed is None else f"seed {seed}, {len(drafts)} scenes")),
            {
                released.SCENES: as_lines(draft.scene.model_dump(mode="json") for draft in drafts).encode(),
                "events": as_lines({"scene": draft.scene.id, "events": draft.digest} for draft in drafts).encode(),
                released.QUESTIONS: released.digested_questions(questions),
            },
            own=seed is not None or scenes is not None,
        )
        clips = {f"{SPLIT}/{clip.name}": RenderedClip(clip, shooting) for clip in asked}
        build.add_split(SPLIT, make_rows(questions), own_columns(), clips, origin, progress)
        _keep_scenes(drafts, build.folder / released.SCENES)
        write_file(build.folder / released.QUESTIONS, released.question_lines(questions))
        shutil.rmtree(work, ignore_errors=True)
    return {SPLIT: build.splits[SPLIT]}


def _take(source: Path, progress: Progress) -> dict[str, SplitManifest]:
    """Prepare a set that was made before; its clips are linked, not copied, and nothing is run."""
    questions = released.read_questions(source)
    folder = released.clips_folder(source)
    files = {name: source / name for name in (released.QUESTIONS, released.SCENES) if (source / name).is_file()}
    read: dict[str, Path | bytes] = {**files, released.QUESTIONS: released.digested_questions(questions)}
    clips = {f"{SPLIT}/{question.clip}": folder / question.clip for question in questions}
    with building(CARD.name) as build:
        origin = Origin(str(source), read)
        build.add_split(SPLIT, make_rows(questions), own_columns(), clips, origin, progress)
        for name, path in files.items():
            write_file(build.folder / name, path.read_bytes())
    return {SPLIT: build.splits[SPLIT]}


def _drafts(
    seed: int | None, size: SetSize, scenes: Path | None, work: Path, progress: Progress
) -> Sequence[SceneDraft]:
    """The scenes of a set; a folder keeps what is drawn, so that an interrupted call goes on."""
    from lmms_eval_tasks.worlds.engine.drafts import read_drafts
    from lmms_eval_tasks.worlds.engine.draws import make_drafts

    if seed is None:
        path = scenes or STANDARD_SCENES
        if not path.is_file():
            raise InputError(f"{CARD.title} cannot be prepared: Expected a file of scenes, but {path} is none.")
        drafts = read_drafts(path)
        released.refuse_other_scenes([draft.scene for draft in drafts], path)
        return drafts
    drafts, _ = make_drafts(size.scenes, seed, progress, names=FAMILIES, folder=work)
    return drafts


def _keep_scenes(drafts: Sequence[SceneDraft], path: Path) -> None:
    """Write the scenes beside the table, so that they can be run again and given to others."""
    from lmms_eval_tasks.worlds.engine.drafts import write_drafts

    write_drafts(drafts, path)
