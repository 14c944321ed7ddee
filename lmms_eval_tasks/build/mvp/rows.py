"""What the steps of a build pass on: an annotated clip, a question about it, and a minimal pair."""

from __future__ import annotations

from lmms_eval_tasks.build.engine.rows import PipelineRow


class AnnotatedClip(PipelineRow):
    """A clip with what its source says of it."""

    clip: str
    source: str
    category: str
    skill: str
    question: str
    options: tuple[str, ...]
    answer: str


class NeighbouredClip(AnnotatedClip):
    """A clip with what it might be told from."""

    others: tuple[str, ...]


class ContrastedClip(AnnotatedClip):
    """A clip with the others that its annotation excludes."""

    contrasts: tuple[str, ...]


class OpposedClip(AnnotatedClip):
    """A clip and one other annotation, which another clip has and which excludes its own."""

    other: str


class AskedClip(PipelineRow):
    """A clip with a question and its two candidates."""

    clip: str
    source: str
    category: str
    skill: str
    question: str
    candidates: tuple[str, str]
    answer: str


class PairedClip(PipelineRow):
    """One clip of a pair: its path, its source and the candidate that is right about it."""

    clip: str
    source: str
    answer: str


class MinimalPair(PipelineRow):
    """One question about two clips that look alike."""

    category: str
    skill: str
    question: str
    candidates: tuple[str, str]
    clips: tuple[PairedClip, PairedClip]
    cosine: float
