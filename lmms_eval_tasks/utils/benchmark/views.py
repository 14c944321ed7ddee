"""Views: what a model is shown of an item, so that a score stands beside that without the clip, or without its
motion."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

BLIND = "blind"
SINGLE_FRAME = "single_frame"
SHUFFLED = "shuffled"
REVERSED = "reversed"
VIDEO_ONLY = "video_only"
SOCRATIC = "socratic"
CAPTIONS = "captions"
"""The first pass of the view in which captions stand in place of clips: a model describes each clip."""
CLIP_VIEWS = (BLIND, SINGLE_FRAME, SHUFFLED, REVERSED)
"""Those that change what is shown and leave the words, which suit every task about a clip."""
VIEWS = (*CLIP_VIEWS, VIDEO_ONLY, SOCRATIC)
"""Those that need nothing of a benchmark but its clips, questions and options."""
MASKED = "masked"
"""The clip with its evidence blacked out, and an option more: for benchmarks that know where their evidence is."""

POSITIONS = ("first", "centre", "last")
_VARIANT = rf"{SINGLE_FRAME}_(?P<position>{'|'.join(POSITIONS)}|random(?:0|[1-9]\d{{0,5}}))"
_VIEW = re.compile(_VARIANT)


class Shown(str, Enum):
    """Part of its clip that the model is shown."""

    CLIP = "the clip"
    FRAME = "one frame"
    SHUFFLED = "its frames, shuffled"
    REVERSED = "its frames, last first"
    MASKED = "the clip with its evidence black"
    NOTHING = "nothing"


@dataclass(frozen=True)
class View:
    """View of an item that a model is shown."""

    name: str = ""
    shown: Shown = Shown.CLIP
    position: str = ""
    options_alone: bool = False
    captioned: bool = False
    describes: bool = False

    @property
    def family(self) -> str:
        """The view by which a benchmark lists it: single frames at all positions are one, as are both passes with
        captions."""
        if self.shown is Shown.FRAME:
            return SINGLE_FRAME
        return SOCRATIC if self.describes else self.name

    @property
    def needs_clip(self) -> bool:
        """Whether something of the clip is shown."""
        return self.shown is not Shown.NOTHING

    @property
    def is_made(self) -> bool:
        """Whether what is shown has to be made of the clip."""
        return self.shown in (Shown.FRAME, Shown.SHUFFLED, Shown.REVERSED, Shown.MASKED)


WHOLE = View()
"""The item as its benchmark has it."""
_BY_NAME = {
    view.name: view
    for view in (
        WHOLE,
        View(BLIND, Shown.NOTHING),
        View(SINGLE_FRAME, Shown.FRAME),
        View(SHUFFLED, Shown.SHUFFLED),
        View(REVERSED, Shown.REVERSED),
        View(MASKED, Shown.MASKED),
        View(VIDEO_ONLY, options_alone=True),
        View(SOCRATIC, Shown.NOTHING, captioned=True),
        View(CAPTIONS, describes=True),
    )
}


def find_view(name: str) -> View | None:
    """A view by its name; None where there is none."""
    if known := _BY_NAME.get(name):
        return known
    match = _VIEW.fullmatch(name)
    return View(name, Shown.FRAME, match["position"]) if match else None


def split_name(name: str) -> tuple[str, View] | None:
    """A task's or group's name without its view, and the view; None where its ending is no view."""
    for place in (match.start() for match in re.finditer("_", name)):
        view = find_view(name[place + 1 :])
        if place and view:
            return name[:place], view
    return None


def name_view(task: str, view: str) -> str:
    """The name of a task's view."""
    return f"{task}_{view}" if view else task
