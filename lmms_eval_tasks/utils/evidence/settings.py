"""How a task asks for boxes and times and scores them: its prompt, how boxes are read, and what counts as a hit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lmms_eval_tasks.utils.benchmark.benchmark import TaskSettings
from lmms_eval_tasks.utils.core.problems import Problems
from lmms_eval_tasks.utils.core.variables import BOXES, MATCHING
from lmms_eval_tasks.utils.evidence.boxes import BoxConvention, FrameSize
from lmms_eval_tasks.utils.evidence.grounding import DEFAULTS, MATCHINGS, GroundingSettings
from lmms_eval_tasks.utils.evidence.shown_frames import PixelLimits, qwen_limits, shown_frame
from lmms_eval_tasks.utils.prompting.prompts import Prompt

KWARGS = "lmms_eval_specific_kwargs"
EXAMPLE = f"{BOXES}=xyxy_resized,min_pixels=3136,max_pixels=602112"


@dataclass(frozen=True)
class EvidenceSettings(TaskSettings):
    """What the configuration of a task that asks for boxes and times chose, and the environment.

    Attributes:
        prompt: How questions are asked.
        convention: How the model writes boxes.
        limits: Least and most pixels of the frames that the model was shown, where they were given; else they are the
            model's own.
        hits: How evidence is matched, and what counts as a hit.
        logged_sizes: Of a finished run, a clip's width and height to those of its frames as they were shown.
        overridden: Whether the environment chose how boxes are read.
    """

    prompt: Prompt
    convention: BoxConvention = BoxConvention.XYXY_PX
    limits: PixelLimits | None = None
    hits: GroundingSettings = DEFAULTS
    logged_sizes: Mapping[FrameSize, FrameSize] | None = None
    overridden: bool = False

    def facts(self) -> Mapping[str, Any]:
        """How boxes are read, and what counts as a hit."""
        return {"boxes": self.convention.value, "hits": vars(self.hits)}

    def seen(self, frame: FrameSize | None, model: object) -> FrameSize | None:
        """Size of the frame that a model was shown of a clip, None where it is not known or does not matter."""
        if self.convention is not BoxConvention.XYXY_RESIZED or frame is None:
            return None
        if self.logged_sizes is not None:
            return self.logged_sizes.get(frame)
        limits = self.limits or qwen_limits(model)
        return shown_frame(frame, limits) if limits else None

    def as_logged(self, logged: Iterable[tuple[FrameSize, Mapping[str, Any]]]) -> EvidenceSettings:
        """The same with boxes read as the log of a finished run says, where the environment does not choose.

        Args:
            logged: Of each item the width and height of its clip, and the field ``boxes`` of its record: ``convention``
                and ``seen``, as far as it has them.
        """
        items = list(logged)
        conventions = {boxes.get("convention") for _, boxes in items} - {None}
        if self.overridden or len(conventions) != 1:
            return self
        sizes = {frame: (boxes["seen"][0], boxes["seen"][1]) for frame, boxes in items if boxes.get("seen")}
        return replace(self, convention=BoxConvention(conventions.pop()), logged_sizes=sizes)


def read_evidence_settings(
    kwargs: Mapping[str, Any], environment: Mapping[str, str], prompt: Prompt, problems: Problems
) -> EvidenceSettings:
    """The settings of a task that asks with a prompt, with the default in place of each value that cannot be used."""
    overridden = environment.get(BOXES)
    boxes, where = (_read_variable(overridden, problems), BOXES) if overridden else (kwargs, KWARGS)
    convention = _read_convention(boxes.get("boxes", BoxConvention.XYXY_PX.value), where, problems)
    limits = _read_limits(boxes, where, problems)
    hits = _read_hits(kwargs, environment.get(MATCHING), problems)
    return EvidenceSettings(prompt, convention, limits, hits, overridden=bool(overridden))


def _read_variable(text: str, problems: Problems) -> dict[str, Any]:
    """What the variable `BOXES` says, under the names that a configuration uses."""
    convention, *others = (part.strip() for part in text.split(","))
    boxes: dict[str, Any] = {"boxes": convention}
    for name, _, value in (map(str.strip, part.partition("=")) for part in others if part):
        if name in ("min_pixels", "max_pixels") and value.isdecimal():
            boxes[name] = int(value)
        else:
            part = f"{name}={value}"
            problems.add(BOXES, f"Expected min_pixels or max_pixels as a number, but got {part!r}.", EXAMPLE)
    return boxes


def _read_convention(name: object, where: str, problems: Problems) -> BoxConvention:
    try:
        return BoxConvention(name)
    except ValueError:
        known = ", ".join(convention.value for convention in BoxConvention)
        problems.add(where, f"Expected boxes to be one of {known}, but got {name!r}.")
        return BoxConvention.XYXY_PX


def _read_limits(boxes: Mapping[str, Any], where: str, problems: Problems) -> PixelLimits | None:
    least, most = boxes.get("min_pixels"), boxes.get("max_pixels")
    if least is None and most is None:
        return None
    if isinstance(least, int) and isinstance(most, int) and 0 < least <= most:
        return PixelLimits(least, most)
    problems.add(where, f"Expected min_pixels and max_pixels, the first not the larger, but got {least} and {most}.")
    return None


def _read_hits(kwargs: Mapping[str, Any], overridden: str | None, problems: Problems) -> GroundingSettings:
    matching = overridden or kwargs.get("matching")
    if matching is not None and matching not in MATCHINGS:
        where, known = MATCHING if overridden else KWARGS, ", ".join(MATCHINGS)
        problems.add(where, f"Expected matching to be one of {known}, but got {matching!r}.")
    elif matching is not None:
        eps_overlap, aware = MATCHINGS[matching]
        kwargs = {**kwargs, "eps_overlap": eps_overlap, "coverage_aware": aware}
    coverage_aware: object = kwargs.get("coverage_aware", DEFAULTS.coverage_aware)
    if not isinstance(coverage_aware, bool):
        problems.add(KWARGS, f"Expected coverage_aware to be true or false, but got {coverage_aware!r}.")
    return GroundingSettings(
        eps_overlap=_read_number(kwargs, "eps_overlap", DEFAULTS.eps_overlap, problems),
        tau_t=_read_number(kwargs, "tau_t", DEFAULTS.tau_t, problems),
        tau_st=_read_number(kwargs, "tau_st", DEFAULTS.tau_st, problems),
        coverage_aware=bool(coverage_aware),
    )


def _read_number(kwargs: Mapping[str, Any], name: str, default: Any, problems: Problems) -> Any:
    """A number of the type of its default: a whole number from 0 on, any other from 0 to 1."""
    value = kwargs.get(name, default)
    whole = isinstance(default, int)
    fits = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
    if fits and value >= 0 and (whole or value <= 1):
        return value
    kind = "a whole number from 0 on" if whole else "a number from 0 to 1"
    problems.add(KWARGS, f"Expected {name} to be {kind}, but got {value!r}.")
    return default
