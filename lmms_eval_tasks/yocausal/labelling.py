"""Causality labels by a judge that sees frames of the forward clip, and their agreement with existing labels."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.json_rows import as_lines
from lmms_eval_tasks.utils.core.progress import Progress, no_progress
from lmms_eval_tasks.utils.data.home import clip_path
from lmms_eval_tasks.utils.judge.client import Case, Judge, Verdict
from lmms_eval_tasks.utils.prompting.prompts import Prompt, read_prompt
from lmms_eval_tasks.yocausal.prompt import PROMPT_ID, find_prompt

FRAMES = 8
LONGEST_SIDE = 512


class Causality(BaseModel):
    """A judge's reply about one clip."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    reasoning: str
    verdict: bool
    confidence: Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]


class OfficialCausality(BaseModel):
    """A judge's reply to the official prompt: of its keys, the one that the official code reads."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    verdict: bool = Field(validation_alias="video_has_general_causality")
    reasoning: ClassVar[None] = None
    confidence: ClassVar[None] = None


def labelling_prompt(name: str) -> tuple[Prompt, type[Causality] | type[OfficialCausality]]:
    """A judge's prompt, and what its reply must be.

    Args:
        name: ``yocausal_causality``, or one that was imported.

    Raises:
        InputError: there is no such prompt.
    """
    if name == PROMPT_ID:
        return read_prompt(name), Causality
    return find_prompt(name), OfficialCausality


@dataclass(frozen=True)
class Label:
    """One clip's label, with the fields of a line of a labels file.

    Attributes:
        id: The pair.
        vlm_causality: Whether the clip is causal; None where there is no label.
        confidence: The judge's, 0 to 1; None where it gave none.
        reasoning: The judge's; None where it gave none.
        reason: Why there is no label; None where there is one.
        model: The judge.
        prompt: Signature of its prompt.
    """

    id: str
    vlm_causality: bool | None
    confidence: float | None
    reasoning: str | None
    reason: str | None
    model: str
    prompt: str


def label_clips(
    rows: Sequence[Mapping[str, Any]],
    judge: Judge[Any],
    frames: int = FRAMES,
    progress: Progress = no_progress,
    prompt: Prompt | None = None,
) -> list[Label]:
    """Ask a judge about the forward clip of every row.

    A clip that is missing or cannot be decoded gets no label, and `Label.reason` says why.

    Args:
        rows: Rows of the prepared table.
        judge: The judge; its replies are as `labelling_prompt` says.
        frames: How many frames it sees, evenly spread.
        progress: Called after each clip.
        prompt: The prompt of every clip; ours by default.

    Returns:
        One label per row, in their order.
    """
    prompt = prompt or read_prompt(PROMPT_ID)
    model = judge.sampling.model
    cases = {row["item_id"]: partial(_find_case, row, frames, prompt, model) for row in rows if row["clip_present"]}
    verdicts = dict(zip(cases, judge.judge_all(list(cases.values()), progress), strict=True))
    absent = Verdict[Any](None, "no clip", model, prompt.signature)
    return [_label(row["item_id"], verdicts.get(row["item_id"], absent)) for row in rows]


def _label(item_id: str, verdict: Verdict[Any]) -> Label:
    reply = verdict.reply
    causal, confidence, reasoning = (reply.verdict, reply.confidence, reply.reasoning) if reply else (None,) * 3
    return Label(item_id, causal, confidence, reasoning, verdict.reason, verdict.model, verdict.prompt)


def _find_case(row: Mapping[str, Any], frames: int, prompt: Prompt, model: str) -> Case | Verdict[Any]:
    """The case about one clip; a verdict without a reply where the clip cannot be decoded."""
    import av

    try:
        images, seconds = read_frames(clip_path("yocausal", row["clip"]), frames)
    except (av.FFmpegError, OSError, ValueError, IndexError) as error:
        return Verdict(None, f"clip cannot be decoded ({type(error).__name__})", model, prompt.signature)
    caption = json.dumps(row["caption"] or "none", ensure_ascii=False)
    text = prompt.render(frames=str(len(images)), seconds=f"{seconds:.1f}", caption=caption)
    return Case(text, prompt, images)


def read_frames(path: Path, count: int) -> tuple[tuple[bytes, ...], float]:
    """Frames of a clip as JPEG files, evenly spread with the first and the last among them, and its seconds.

    Raises:
        av.FFmpegError, OSError, ValueError, IndexError: where it cannot be decoded to its end or holds no frame.
    """
    import av
    import cv2

    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        pictures = [frame.to_ndarray(format="bgr24") for frame in container.decode(stream)]
        seconds = len(pictures) / float(stream.average_rate or 1)
    if not pictures:
        raise ValueError("no frame")
    last = len(pictures) - 1
    chosen = sorted({round(number * last / max(1, count - 1)) for number in range(count)})
    images = []
    for number in chosen:
        picture = pictures[number]
        scale = min(1.0, LONGEST_SIDE / max(picture.shape[:2]))
        if scale < 1.0:
            picture = cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        images.append(cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, 90])[1].tobytes())
    return tuple(images), seconds


def write_labels(labels: Sequence[Label], path: Path) -> None:
    """Write a labels file, as `prepare yocausal --labels` reads it."""
    write_file(path, as_lines(asdict(label) for label in labels))


@dataclass(frozen=True)
class Agreement:
    """How new labels agree with the existing ones.

    Attributes:
        pairs: Clips with both labels.
        f1: F1 of *causal*, 0-100; None where no clip has that label.
        kendall_tau: Kendall's tau-b, -1 to 1; None where either is constant.
        cohens_d: Of the optical-flow magnitude, new causal clips against new other ones; None with fewer than two of
            either or no spread.
        cohens_d_before: The same by the existing labels.
    """

    pairs: int
    f1: float | None
    kendall_tau: float | None
    cohens_d: float | None
    cohens_d_before: float | None


def agreement(rows: Sequence[Mapping[str, Any]], labels: Sequence[Label]) -> Agreement:
    """Compare new labels with the table's own, over the clips that have both.

    The paper reports F1 and Kendall's tau of a VLM against people and Cohen's d between the halves (Figure 6).
    """
    new = {label.id: label.vlm_causality for label in labels}
    both = [
        (bool(row["vlm_causality"]), bool(new[row["item_id"]]))
        for row in rows
        if row["vlm_causality"] is not None and new.get(row["item_id"]) is not None
    ]
    moving = [row for row in rows if row["motion"] is not None]
    return Agreement(
        pairs=len(both),
        f1=f1_score(both),
        kendall_tau=kendall_tau(both),
        cohens_d=_halves(moving, new),
        cohens_d_before=_halves(moving, {row["item_id"]: row["vlm_causality"] for row in moving}),
    )


def f1_score(pairs: Sequence[tuple[bool, bool]]) -> float | None:
    """F1 in percent of the second labels against the first; None where no label is true."""
    hits = sum(before and now for before, now in pairs)
    labelled = sum(before for before, _ in pairs) + sum(now for _, now in pairs)
    return 200.0 * hits / labelled if labelled else None


def kendall_tau(pairs: Sequence[tuple[bool, bool]]) -> float | None:
    """Kendall's tau-b between two labels; None where either is constant."""
    from scipy import stats

    if len({before for before, _ in pairs}) < 2 or len({now for _, now in pairs}) < 2:
        return None
    return float(stats.kendalltau([before for before, _ in pairs], [now for _, now in pairs]).statistic)


def cohens_d(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Difference of two means in units of their pooled standard deviation; None without two of each, or any spread."""
    if min(len(first), len(second)) < 2:
        return None
    freedom = len(first) + len(second) - 2
    pooled = (len(first) - 1) * statistics.variance(first) + (len(second) - 1) * statistics.variance(second)
    spread = math.sqrt(pooled / freedom)
    return (statistics.fmean(first) - statistics.fmean(second)) / spread if spread else None


def _halves(rows: Sequence[Mapping[str, Any]], causal: Mapping[str, bool | None]) -> float | None:
    halves = {half: [row["motion"] for row in rows if causal.get(row["item_id"]) is half] for half in (True, False)}
    return cohens_d(halves[True], halves[False])
