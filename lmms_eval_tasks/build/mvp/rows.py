"""What the steps of a build pass on: an annotated clip, a question about it, and a minimal pair."""

from __future__ import annotations

from lmms_eval_tasks.build.engine.rows import PipelineRow


class AnnotatedClip(PipelineRow):
    """A clip with what its source says of it.

    Attributes:
        clip: Path of the video below the videos' folder.
        source: The set that it is from.
        category: One of the benchmark's four.
        skill: What a question about it tests; pairs are balanced over skills.
        question: The source's own question; empty where it has none.
        options: The source's own options; none where the question is open.
        answer: The answer to the question; where there is none, the label or the caption of the clip.
    """

    clip: str
    source: str
    category: str
    skill: str
    question: str
    options: tuple[str, ...]
    answer: str


class NeighbouredClip(AnnotatedClip):
    """A clip with what it might be told from.

    Attributes:
        others: Other answers to its question; where it has none, annotations of the clips that look most like it.
    """

    others: tuple[str, ...]


class ContrastedClip(AnnotatedClip):
    """A clip with the others that its annotation excludes."""

    contrasts: tuple[str, ...]


class OpposedClip(AnnotatedClip):
    """A clip and one other annotation, which another clip has and which excludes its own."""

    other: str


class AskedClip(PipelineRow):
    """A clip with a question and its two candidates.

    Attributes:
        candidates: The two texts, in an order that does not depend on which is right.
        answer: The one that is right.
    """

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
    """One question about two clips that look alike.

    Attributes:
        category: One of the benchmark's four.
        skill: What it tests.
        question: The question.
        candidates: Its two candidates, in the order in which they are shown.
        clips: The two clips; each candidate is right about one of them.
        cosine: How alike they look, -1 to 1.
    """

    category: str
    skill: str
    question: str
    candidates: tuple[str, str]
    clips: tuple[PairedClip, PairedClip]
    cosine: float
