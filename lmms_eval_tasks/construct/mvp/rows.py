"""Rows of an MVP build, from an annotated clip to a minimal pair, its configuration, and the reading of annotations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from lmms_eval_tasks.construct.curation.candidates import read_table
from lmms_eval_tasks.construct.curation.shortcut_filters import FRAME_SHARE, MODEL_SHARE
from lmms_eval_tasks.construct.engine.config import BuildConfig, ConfigPath
from lmms_eval_tasks.construct.engine.steps import PipelineRow
from lmms_eval_tasks.mvp.benchmark import SUBSETS
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.files import is_safe
from lmms_eval_tasks.utils.core.forms import RowForm, WholeText
from lmms_eval_tasks.utils.core.text import describe


class AnnotatedClip(PipelineRow):
    clip: str
    source: str
    category: str
    skill: str
    question: str
    options: tuple[str, ...]
    answer: str


class NeighbouredClip(AnnotatedClip):
    others: tuple[str, ...]


class ContrastedClip(AnnotatedClip):
    contrasts: tuple[str, ...]


class OpposedClip(AnnotatedClip):
    other: str


class PairedClip(PipelineRow):
    clip: str
    source: str
    answer: str


class AskedClip(PairedClip):
    category: str
    skill: str
    question: str
    candidates: tuple[str, str]


class MinimalPair(PipelineRow):
    category: str
    skill: str
    question: str
    candidates: tuple[str, str]
    clips: tuple[PairedClip, PairedClip]
    cosine: float


Share = Annotated[float, Field(gt=0.0, le=1.0)]


class FrameFilter(BaseModel):
    """Settings for finding pairs that single frames solve; the shares are the paper's, which asked five models."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    roles: Annotated[tuple[str, ...], Field(min_length=1)] = ("single_frame",)
    frames: Annotated[int, Field(ge=1, le=64)] = 1
    model_share: Share = MODEL_SHARE
    frame_share: Share = FRAME_SHARE


class MvpBuildConfig(BuildConfig):
    annotations: Annotated[tuple[ConfigPath, ...], Field(min_length=1)]
    videos: ConfigPath
    embeddings: ConfigPath
    ids: ConfigPath | None = None
    split: Literal["mini", "full"] = "mini"
    rule: str = "differ"
    others: Annotated[int, Field(ge=1, le=100)] = 12
    contrasts: Annotated[int, Field(ge=1, le=20)] = 3
    tries: Annotated[int, Field(ge=1, le=10)] = 2
    single_frame: FrameFilter = FrameFilter()
    per_skill: Annotated[int, Field(ge=1)] | None = None
    total: Annotated[int, Field(ge=1)] | None = None


NEEDED = ("id", "clip", "source", "category")


class AnnotationLine(RowForm):
    id: WholeText
    clip: WholeText
    source: WholeText
    category: WholeText
    skill: WholeText | None = None
    question: WholeText | None = None
    options: list[WholeText] | None = None
    answer: WholeText | None = None
    label: WholeText | None = None
    caption: WholeText | None = None


def read_annotations(files: Sequence[Path], videos: Path) -> tuple[AnnotatedClip, ...]:
    problems, places = Problems(), dict[str, str]()
    clips: list[AnnotatedClip] = []
    for file in files:
        issues = Problems()
        try:
            for where, line in read_table(file, AnnotationLine, NEEDED, issues):
                before = places.setdefault(line.id, f"{file.name}, {where}")
                if before != f"{file.name}, {where}":
                    issues.add("id", "Expected each once, but got again", f"{describe(line.id)} ({where}; {before})")
                clips.append(_annotated(line, where, videos, issues))
        except (OSError, InputError) as error:
            reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
            problems.add(file.name, f"Expected annotations, but they cannot be read: {reason}")
        problems.extend(issues, f"{file.name}, ")
    problems.raise_if_any("The annotations cannot be used")
    if not clips:
        raise InputError("The annotations cannot be used: Expected annotated clips, but got none.")
    return tuple(clips)


def _annotated(line: AnnotationLine, where: str, videos: Path, issues: Problems) -> AnnotatedClip:
    texts = {name: (getattr(line, name) or "").strip() for name in ("question", "answer", "label", "caption")}
    options = tuple(option.strip() for option in line.options or ())
    for name in NEEDED:
        if not getattr(line, name).strip():
            issues.add(name, "Expected a text, but got none in", where)
    if line.category.strip() and line.category not in SUBSETS:
        issues.add("category", f"Expected one of {', '.join(SUBSETS)}, but got", f"{describe(line.category)} ({where})")
    if not is_safe(line.clip) or line.clip.startswith("/"):
        issues.add("clip", "Expected a path below the videos' folder, but got", f"{describe(line.clip)} ({where})")
    elif not (videos / line.clip).is_file():
        issues.add("clip", f"Expected a file in {videos}, but there is none of", f"{describe(line.clip)} ({where})")
    given = tuple(name for name, text in texts.items() if text)
    if given not in (("question", "answer"), ("label",), ("caption",)):
        what = "Expected a question and its answer, or a label, or a caption, but got"
        issues.add("annotation", what, f"{' and '.join(given) or 'none of them'} ({where})")
    if options and len({*options, ""}) <= len(options):
        issues.add("options", "Expected texts that differ, but got others in", where)
    if options and texts["answer"] not in options:
        issues.add("answer", "Expected one of the options, but got", f"{describe(texts['answer'])} ({where})")
    return AnnotatedClip(
        id=line.id,
        clip=line.clip,
        source=line.source.strip(),
        category=line.category,
        skill=(line.skill or "").strip() or line.category,
        question=texts["question"],
        options=options,
        answer=texts["answer"] or texts["label"] or texts["caption"],
    )
