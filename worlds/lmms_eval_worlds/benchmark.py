"""The benchmark Worlds, questions of all the papers about scenes whose truth is computed, from scenes to its table."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from enum import Enum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lmms_eval_tasks.api import (
    Benchmark,
    InputError,
    Origin,
    Preparation,
    Progress,
    SplitManifest,
    TaskKind,
    building,
)
from lmms_eval_tasks.api.answers import PLAUSIBILITY_READER, VERDICT_READER
from lmms_eval_tasks.api.evidence import EVIDENCE_READER
from lmms_eval_tasks.api.release import as_lines, write_file
from lmms_eval_worlds import hooks, release, report
from lmms_eval_worlds.card import ASPECTS, CARD, COLUMNS, FAMILIES, SCORES, SPLIT
from lmms_eval_worlds.questions.question import Question
from lmms_eval_worlds.questions.question_set import questions_of_set
from lmms_eval_worlds.sample import SAMPLE

if TYPE_CHECKING:
    from lmms_eval_worlds.drafts import SceneDraft


def step_of(subset: str, aspect: str) -> str:
    """The step that a question tests, as `profile.STEPS` names it; empty where it is none of them."""
    if subset == "perception":
        return "ordered" if aspect in ("first", "last") else "seen"
    if subset == "paired":
        return "explained" if aspect == "cause" else "counterfactual"
    return {"counterfactual": "counterfactual", "evidence": "grounded"}.get(subset, "")


def make_rows(questions: Iterable[Question]) -> list[dict[str, Any]]:
    """Rows without `clip_present`, in the order of the questions; the members of a group are neighbours."""
    return [_row(question) for question in questions]


AS_THEY_ARE = (
    "item_id", "group_id", "question", "options", "answer", "scene", "family", "occlusion", "level", "principle",
    "arrow", "wording", "intervention", "changed", "seen", "evidence",
)  # fmt: skip
"""Fields of a question that are columns of the table."""


def _row(question: Question) -> dict[str, Any]:
    aspect = question.kind.split()[0] if question.task in ASPECTS else ""
    return {
        **{name: getattr(question, name) for name in AS_THEY_ARE},
        **{name: str(getattr(question, name)) for name in ("depth", "bodies", "distractors")},
        "clip": f"{SPLIT}/{question.clip}",
        "subset": question.task,
        "step": step_of(question.task, aspect),
        "aspect": aspect,
        "marked": "marked" if question.marked else "plain",
        "start": "same" if question.same_start else "other",
        "asks": question.kind,
        "about": [", ".join(filter(None, key)) for key in question.about],
    }


def own_columns() -> dict[str, Any]:
    import pyarrow as pa

    texts = ("subset", "scene", "step", *COLUMNS, "asks", "intervention", "changed", "seen", "evidence")
    return {**dict.fromkeys(texts, pa.string()), "wording": pa.int64(), "about": pa.list_(pa.string())}


STANDARD_SCENES = Path(__file__).parent / "standard_scenes.jsonl"
"""The standard set: a draft a line, as `drafts` has them."""
STANDARD_SEED = 0
"""Of the questions of the standard set."""
WORK = "work"
"""Folder of a build with what an interruption is not to lose."""


class SetSize(str, Enum):
    SMALL = "small"
    STANDARD = "standard"
    LARGE = "large"

    @property
    def scenes(self) -> int:
        return {SetSize.SMALL: 3, SetSize.STANDARD: 55, SetSize.LARGE: 220}[self]


def prepare(
    preparation: Preparation,
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
) -> dict[str, SplitManifest]:
    """Prepare Worlds: run and render the scenes of the standard set, which comes with this package.

    Every scene is run again, with everything that might have been otherwise; where something else happens than where
    the set was made, nothing is prepared. What is rendered is kept: an interrupted `prepare` resumes when it is called
    again.

    Returns:
        Split name to what was prepared.

    Raises:
        InputError: more than one of --seed, --scenes and --source is given, or --size without --seed; scenes or
            questions have problems; or this machine can run or render none.

    Examples:
        lmms-eval-tasks prepare worlds
        lmms-eval-tasks prepare worlds --seed 7 --size small
        lmms-eval-tasks prepare worlds --scenes my_scenes.jsonl
        lmms-eval-tasks prepare worlds --source set
    """
    if sum(one is not None for one in (seed, scenes, source)) > 1:
        raise InputError("Expected one of --seed, --scenes and --source, but got several.")
    if size is not None and seed is None:
        raise InputError("Expected --size with --seed alone: a set that is made already has its size.")
    if source is not None:
        return _take(source, preparation)
    require_engine()
    # Only here: whoever prepares nothing needs no physics engine.
    from lmms_eval_worlds.drafts import RenderedClip, Shooting, known_facts, write_drafts

    progress = preparation.progress

    with building(CARD.name, preparation) as build:
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
                release.SCENES: as_lines(draft.scene.model_dump(mode="json") for draft in drafts).encode(),
                "events": as_lines({"scene": draft.scene.id, "events": draft.digest} for draft in drafts).encode(),
                release.QUESTIONS: release.digested_questions(questions),
            },
            own=seed is not None or scenes is not None,
        )
        clips = {f"{SPLIT}/{clip.name}": RenderedClip(clip, shooting) for clip in asked}
        build.add_split(SPLIT, make_rows(questions), own_columns(), clips, origin)
        # Beside the table, so that they can be run again and given to others.
        write_drafts(drafts, build.folder / release.SCENES)
        write_file(build.folder / release.QUESTIONS, release.question_lines(questions))
        shutil.rmtree(work, ignore_errors=True)
    return {SPLIT: build.splits[SPLIT]}


def require_engine() -> None:
    """Stop where the physics engine is not installed."""
    if find_spec("mujoco") is None:
        raise InputError(
            f"{CARD.title} cannot be prepared: its scenes are run by MuJoCo, which is not installed here.\n"
            "Remedy: pip install mujoco; or prepare a set that was made elsewhere, with --source."
        )


def _take(source: Path, preparation: Preparation) -> dict[str, SplitManifest]:
    """Prepare a set that was made before; its clips are linked, not copied, and nothing is run."""
    questions = release.read_questions(source)
    folder = release.clips_folder(source)
    files = {name: source / name for name in (release.QUESTIONS, release.SCENES) if (source / name).is_file()}
    read: dict[str, Path | bytes] = {**files, release.QUESTIONS: release.digested_questions(questions)}
    clips = {f"{SPLIT}/{question.clip}": folder / question.clip for question in questions}
    with building(CARD.name, preparation) as build:
        origin = Origin(str(source), read)
        build.add_split(SPLIT, make_rows(questions), own_columns(), clips, origin)
        for name, path in files.items():
            write_file(build.folder / name, path.read_bytes())
    return {SPLIT: build.splits[SPLIT]}


def _drafts(
    seed: int | None, size: SetSize, scenes: Path | None, work: Path, progress: Progress
) -> Sequence[SceneDraft]:
    """The scenes of a set; a folder keeps what is drawn, so that an interrupted call goes on."""
    from lmms_eval_worlds.drafts import make_drafts, read_drafts

    if seed is None:
        path = scenes or STANDARD_SCENES
        if not path.is_file():
            raise InputError(f"{CARD.title} cannot be prepared: Expected a file of scenes, but {path} is none.")
        drafts = read_drafts(path)
        release.refuse_other_scenes([draft.scene for draft in drafts], path)
        return drafts
    return make_drafts(size.scenes, seed, progress, names=FAMILIES, folder=work)


STILL = ("blind", "single_frame", "socratic")
"""Views in which every key stays true. Reversed, what falls rises, and what came first comes last."""
ANY_ORDER = ("blind", "single_frame", "shuffled", "socratic")
"""The same where a key says only what happens, in whatever order its frames come."""
MOVED = ("rotated", "none_of_these")
"""Of questions with lettered options."""


def _yes_or_no(row: object) -> tuple[str, ...]:
    return ("Yes", "No")


def _kind(subset: str, views: tuple[str, ...], **rest: Any) -> TaskKind:
    return TaskKind(
        metrics=SCORES[subset],
        columns=report.columns(subset),
        references=report.references(subset),
        panels=report.panels,
        views=views,
        **{"grade": hooks.grade_choice, "log_form": hooks.SceneLine, **rest},
    )


BENCHMARK = Benchmark(
    card=CARD,
    folder=report.FOLDER,
    kinds={
        # Some of its questions are about what comes first.
        "perception": _kind("perception", (*STILL, *MOVED)),
        "paired": _kind("paired", (*ANY_ORDER, *MOVED), members="wordings"),
        # Both clips look alike in the first frame, where they start alike.
        "minimal": _kind("minimal", (*ANY_ORDER, "video_only", *MOVED), members="clips", frame="first"),
        "counterfactual": _kind(
            "counterfactual",
            ANY_ORDER,
            prompt="worlds_counterfactual",
            grade=hooks.grade_verdict,
            extractor=VERDICT_READER,
            members="questions",
            answer_view=report.counterfactual_answer,
            guesses=_yes_or_no,
        ),
        # In another order times and boxes would be others.
        "evidence": _kind(
            "evidence",
            (*STILL, *MOVED),
            ask=hooks.ask_for_evidence,
            grade=hooks.grade_grounded,
            extractor=EVIDENCE_READER,
            item_view=report.evidence_item_view,
            answer_view=report.evidence_answer,
            read_settings=hooks.read_evidence_settings,
            guesses=report.evidence_guesses,
            log_form=hooks.GroundedLine,
        ),
        # In another order nothing is possible.
        "possible": _kind(
            "possible",
            STILL,
            prompt="worlds_possible",
            grade=hooks.grade_plausibility,
            extractor=PLAUSIBILITY_READER,
            members="clips",
            guesses=_yes_or_no,
        ),
        # Shuffled, a clip has no direction; reversed, it is the other one of its pair.
        "reversal": _kind("reversal", (*STILL, *MOVED), members="directions"),
    },
    prepare=prepare,
    schema=own_columns,
    sample=SAMPLE,
    no_submission="Worlds has no leaderboard: everybody can compute its truth.",
)
