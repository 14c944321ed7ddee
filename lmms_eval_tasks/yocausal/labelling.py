"""Causality labels by a judge that sees frames of the forward clip, and their agreement with existing labels.

Source of the official prompt: youzhe0305/YoCausal@f219ba6, VLM_labeling/prompt.txt. What it says of the clip's caption
or frames is not known, so all of it is taken as it stands.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer
from pydantic import BaseModel, Field

from lmms_eval_tasks.api import InputError, Progress, read_prompt
from lmms_eval_tasks.api.clips import PyavFrames, as_jpeg
from lmms_eval_tasks.api.commands import make_console, show_progress, text_table
from lmms_eval_tasks.api.judge import Case, Judge, Verdict, open_named_judge
from lmms_eval_tasks.api.prompts import OfficialPrompt, Prompt
from lmms_eval_tasks.api.release import UnreadableClip, as_lines, clip_path, load_table, summarize_names, write_file
from lmms_eval_tasks.yocausal.card import CAUSALITY, SPLIT, TASK
from lmms_eval_tasks.yocausal.ranking import correlate

PROMPT_ID = "yocausal_causality"
"""Id of our own prompt."""
OFFICIAL_PROMPT = OfficialPrompt(
    benchmark=TASK,
    part="labelling prompt",
    file="VLM_labeling/prompt.txt",
    template=lambda text: Prompt.literal(text.strip()),
    replaces=PROMPT_ID,
    for_items=False,
)
LONGEST_SIDE = 512
PAPERS_EFFECT = 0.057
"""Paper, Figure 6: by the labels of its judge."""


class Causality(BaseModel, extra="forbid", frozen=True):
    reasoning: str
    verdict: bool
    confidence: Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]


class OfficialCausality(BaseModel, extra="ignore", frozen=True):
    """A judge's reply to the official prompt: of its keys, the one that the official code reads."""

    verdict: bool = Field(validation_alias="video_has_general_causality")
    reasoning: ClassVar[None] = None
    confidence: ClassVar[None] = None


def labelling_prompt(name: str) -> tuple[Prompt, type[Causality] | type[OfficialCausality]]:
    """A judge's prompt, and what its reply must be."""
    if name == PROMPT_ID:
        return read_prompt(name), Causality
    return OFFICIAL_PROMPT.find(name), OfficialCausality


def label_clips(
    rows: Sequence[Mapping[str, Any]], judge: Judge[Any], prompt: Prompt, frames: int, progress: Progress
) -> list[dict[str, Any]]:
    """The lines of a labels file: what a judge says of the forward clip of every row."""
    model = judge.sampling.model
    cases = {row["item_id"]: partial(_find_case, row, frames, prompt, model) for row in rows if row["clip_present"]}
    verdicts = dict(zip(cases, judge.judge_all(list(cases.values()), progress), strict=True))
    labels = []
    for row in rows:
        verdict = verdicts.get(row["item_id"], Verdict[Any](None, "no clip", model, prompt.signature))
        reply = verdict.reply
        causal, confidence, reasoning = (reply.verdict, reply.confidence, reply.reasoning) if reply else (None,) * 3
        said = {"id": row["item_id"], CAUSALITY: causal, "confidence": confidence, "reasoning": reasoning}
        labels.append({**said, "reason": verdict.reason, "model": verdict.model, "prompt": verdict.prompt})
    return labels


def _find_case(row: Mapping[str, Any], frames: int, prompt: Prompt, model: str) -> Case | Verdict[Any]:
    """The case about one clip; a verdict without a reply where the clip cannot be decoded."""
    try:
        images, seconds = read_frames(clip_path(TASK, row["clip"]), frames)
    except UnreadableClip as error:
        kind = type(error.__cause__ or error).__name__
        return Verdict(None, f"clip cannot be decoded ({kind})", model, prompt.signature)
    caption = json.dumps(row["caption"] or "none", ensure_ascii=False)
    text = prompt.render(frames=str(len(images)), seconds=f"{seconds:.1f}", caption=caption)
    return Case(text, prompt, images)


def read_frames(path: Path, count: int) -> tuple[tuple[bytes, ...], float]:
    """Frames of a clip as JPEG files, evenly spread from the first to the last, and its length in seconds."""
    reader = PyavFrames(path)
    numbers = dict.fromkeys(round(place * (reader.count - 1) / max(1, count - 1)) for place in range(count))
    images = tuple(as_jpeg(reader.read([number])[0], LONGEST_SIDE) for number in numbers)
    return images, reader.count / (reader.fps or 1)


def agreement(rows: Sequence[Mapping[str, Any]], labels: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Compare new labels with the table's own, over the clips that have both, as lines of a printed table."""
    existing = {row["item_id"]: row[CAUSALITY] for row in rows if row[CAUSALITY] is not None}
    new = {label["id"]: label[CAUSALITY] for label in labels if label[CAUSALITY] is not None}
    both = [(before, new[item_id]) for item_id, before in existing.items() if item_id in new]

    return {
        "clips with both labels": str(len(both)),
        "F1 of causal (percent)": _number(f1_score(both), 1),
        "Kendall tau-b": _number(correlate(existing, new).tau, 3),
        "Cohen's d of optical flow, these labels": _number(flow_effect(rows, new), 3),
        "Cohen's d of optical flow, existing labels": _number(flow_effect(rows, existing), 3),
    }


def flow_effect(rows: Sequence[Mapping[str, Any]], causal: Mapping[str, bool | None]) -> float | None:
    """How much more the clips labelled causal move than the others (paper, Figure 6)."""
    moving = [(causal.get(row["item_id"]), row["motion"]) for row in rows if row["motion"] is not None]
    return cohens_d(*([motion for label, motion in moving if label is half] for half in (True, False)))


def table_statistics(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, float | None, float]]:
    """The effect of the labels that a prepared table has, which needs no judge, and the paper's."""
    labels = {row["item_id"]: row[CAUSALITY] for row in rows}
    return [("Cohen's d of optical flow, causal and other clips", flow_effect(rows, labels), PAPERS_EFFECT)]


def _number(value: float | None, digits: int) -> str:
    return "N/A" if value is None else f"{value:.{digits}f}"


def f1_score(pairs: Sequence[tuple[bool, bool]]) -> float | None:
    """F1 in percent of the second labels against the first; None where no label is true."""
    hits = sum(before and now for before, now in pairs)
    labelled = sum(before for before, _ in pairs) + sum(now for _, now in pairs)
    return 200.0 * hits / labelled if labelled else None


def cohens_d(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Difference of two means in units of their pooled standard deviation; None without two of each, or any spread."""
    if min(len(first), len(second)) < 2:
        return None
    freedom = len(first) + len(second) - 2
    pooled = (len(first) - 1) * statistics.variance(first) + (len(second) - 1) * statistics.variance(second)
    spread = math.sqrt(pooled / freedom)
    return (statistics.fmean(first) - statistics.fmean(second)) / spread if spread else None


def label(
    judge: Annotated[
        str, typer.Option(help="The judge: its model, or model=NAME,url=…,max_tokens=….", show_default=False)
    ],
    out: Annotated[Path, typer.Option(help="Labels file to write.")] = Path("yocausal_labels.jsonl"),
    frames: Annotated[int, typer.Option(help="Frames of each clip that the judge sees.", min=2, max=64)] = 8,
    limit: Annotated[int | None, typer.Option(help="Only the first clips.", min=1, show_default=False)] = None,
    prompt: Annotated[
        str, typer.Option(help="The judge's prompt: ours, or official once that is imported.")
    ] = PROMPT_ID,
) -> None:
    """Label the prepared clips as causal or not by a judge, and compare with the labels that they have.

    Examples:
        lmms-eval-tasks yocausal label --judge gpt-4o
        lmms-eval-tasks yocausal label --judge model=NAME,url=http://localhost:8000/v1 --limit 20
    """
    template, reply = labelling_prompt(prompt)
    rows = [dict(row) for row in load_table(TASK, SPLIT)][:limit]
    asked = open_named_judge(reply, judge)
    with show_progress() as progress:
        labels = label_clips(rows, asked, template, frames, progress)
    unlabelled = [f"{label['id']} ({label['reason']})" for label in labels if label[CAUSALITY] is None]
    if len(unlabelled) == len(labels):
        raise InputError(f"No clip could be labelled, and {out} was not written: {summarize_names(unlabelled, 3)}.")
    write_file(out, as_lines(labels))
    console = make_console()
    causal = [label[CAUSALITY] for label in labels]
    console.print(
        f"{len(labels)} clips: {causal.count(True)} causal, {causal.count(False)} not, {causal.count(None)} unlabelled"
    )
    if unlabelled:
        console.print(f"warning: unlabelled: {summarize_names(unlabelled, 3)}", style="yellow")
    table = text_table(None, "agreement", "")
    for line in agreement(rows, labels).items():
        table.add_row(*line)
    console.print(table)
    console.print(f"Written to {out}; use it:  lmms-eval-tasks prepare yocausal --labels {out}", soft_wrap=True)
