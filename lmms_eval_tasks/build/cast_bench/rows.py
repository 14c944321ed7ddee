"""What goes from step to step of a build."""

from __future__ import annotations

from pydantic import Field

from lmms_eval_tasks.build.engine.replies import Form
from lmms_eval_tasks.build.engine.rows import PipelineRow
from lmms_eval_tasks.cast_bench.roles_file import ANSWER
from lmms_eval_tasks.utils.core.forms import RowForm

PixelBox = tuple[int, int, int, int]
"""``x1, y1, x2, y2`` in pixels of the clip's frame, outer edges."""

TEXT_BASED, VIDEO_BASED = "text-based", "video-based"
MADE_FIRST = (ANSWER, TEXT_BASED, VIDEO_BASED)
"""Roles of the options of which near-misses are made."""


def as_label(name: str) -> str:
    """A name in the form in which a release names instances: `red ball` becomes `red_ball`."""
    return "_".join(name.split())


class TrackedInstance(RowForm):
    """Somebody or something in a clip, and where it is."""

    id: str
    source: str
    name: str
    boxes: dict[int, PixelBox]


class TimedEntry(RowForm):
    """Action of an instance from one second to another, both included."""

    start: int
    end: int
    text: str


class ClipRow(PipelineRow):
    """A clip."""

    clip: str
    width: int
    height: int
    last: int
    instances: tuple[TrackedInstance, ...]
    edited: dict[str, tuple[TimedEntry, ...]] = Field(default_factory=dict)


class InstanceRow(PipelineRow):
    """An instance of a clip as it is described."""

    source: ClipRow
    instance: TrackedInstance
    category: str = ""
    person: bool = False
    description: str = ""
    entries: tuple[TimedEntry, ...] = ()

    @property
    def label(self) -> str:
        """Label of the instance in the release: its name if no other of the clip has it, else a noun and its id."""
        own = as_label(self.instance.name)
        alike = [one for one in self.source.instances if as_label(one.name) == own]
        return own if own and len(alike) == 1 else f"{own or as_label(self.category)}_{self.instance.id}"


class DescribedClipRow(PipelineRow):
    """A clip with its instances as they are described."""

    source: ClipRow
    described: tuple[InstanceRow, ...]

    def find(self, instance: str) -> InstanceRow | None:
        """The instance of an id; None where there is none."""
        return next((one for one in self.described if one.instance.id == instance), None)


class WrittenEvidence(Form):
    """A piece of evidence as a model writes it; times as ``MM:SS``."""

    instance: str
    start: str
    end: str
    rationale: str


class WrittenQuestion(Form):
    """A question as a model writes it; without a subject, or without times, where it names none."""

    question: str
    subject: str | None
    start: str | None
    end: str | None
    type: str
    scene: str
    answer: str
    evidence: list[WrittenEvidence]
    video_distractor: str


class DraftRow(PipelineRow):
    """A question as it was written, not checked yet."""

    about: DescribedClipRow
    written: WrittenQuestion


class EvidencePiece(RowForm):
    """A span of seconds, both included, in which to look at an instance."""

    instance: str
    start: int
    end: int
    rationale: str
    boxes: dict[int, PixelBox] = Field(default_factory=dict)


class QuestionRow(PipelineRow):
    """A question that is of the form it should have."""

    about: DescribedClipRow
    question: str
    type: str
    scene: str
    subject: str | None
    span: tuple[int, int] | None
    answer: str
    evidence: tuple[EvidencePiece, ...]
    text_distractor: str = ""
    video_distractor: str

    @property
    def clip(self) -> ClipRow:
        """The clip that it is about."""
        return self.about.source


class RoledOption(RowForm):
    """An option and its role: the answer, or the kind of wrong option that the card names."""

    role: str
    text: str


class OptionsRow(PipelineRow):
    """A question with its six options in the order in which they are shown."""

    asked: QuestionRow
    options: tuple[RoledOption, ...]

    @property
    def key(self) -> int:
        """Place of the right option, from 0 on."""
        return [option.role for option in self.options].index(ANSWER)
