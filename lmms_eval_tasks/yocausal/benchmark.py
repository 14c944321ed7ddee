"""YoCausal: whether a video diffusion model expects time to run forward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.api import (
    AskedItem,
    Benchmark,
    InputError,
    Inquiry,
    OfferedChoice,
    Origin,
    Progress,
    Record,
    Row,
    SplitManifest,
    TaskKind,
    building,
    no_progress,
)
from lmms_eval_tasks.api.losses import AnswerForm
from lmms_eval_tasks.api.people import HumanStudy
from lmms_eval_tasks.api.release import summarize_names
from lmms_eval_tasks.yocausal import card, hooks, report
from lmms_eval_tasks.yocausal.card import CARD, METRICS, SUBSETS, VLM_METRICS
from lmms_eval_tasks.yocausal.cli import app
from lmms_eval_tasks.yocausal.hooks import DirectionLine, PairLine
from lmms_eval_tasks.yocausal.labelling import OFFICIAL_PROMPT
from lmms_eval_tasks.yocausal.own_videos import read_videos
from lmms_eval_tasks.yocausal.pair_table import (
    CAUSALITY,
    DISCRIMINABLE,
    SPLIT,
    measure_pairs,
    own_columns,
    stratum,
    table_rows,
    with_labels,
)
from lmms_eval_tasks.yocausal.release import read_release
from lmms_eval_tasks.yocausal.result_file import FORM


def _has_label(label: bool, record: Record) -> bool:
    return record.fields[CAUSALITY] is label


def _is_labelled(record: Record) -> bool:
    return isinstance(record.fields[CAUSALITY], bool)


STUDY = HumanStudy(
    versions={"forward_first": "SECOND", "reversed_first": "FIRST"},
    choices=("FIRST", "SECOND"),
    metrics=(
        card.RSI,
        *card.RSI.by("subset", SUBSETS),
        card.RSI.within("causal", partial(_has_label, True)),
        card.RSI.within("non_causal", partial(_has_label, False)),
        replace(card.CCI, applies=_is_labelled),
    ),
    stratum=stratum,
    columns=(CAUSALITY,),
    label=DISCRIMINABLE,
)
REPLAYS = 2
"""After the first play, so that there are three at most."""


def ask_pairs(rows: Sequence[Row]) -> list[AskedItem]:
    """Return the items asking which clip of each pair is reversed, in either order, after its caption was read."""
    choices = tuple(OfferedChoice(choice, "", choice.capitalize()) for choice in STUDY.choices)
    return [
        AskedItem(
            item=row["item_id"],
            item_id=row["item_id"],
            question="One of these two clips is played in reverse. Which one?",
            ways={
                "forward_first": (row["clip"], row["clip_backward"]),
                "reversed_first": (row["clip_backward"], row["clip"]),
            },
            choices=(*choices, OfferedChoice("UNKNOWN", "", "I cannot tell")),
            labels=tuple(choice.text for choice in choices),
            replays=REPLAYS,
            before=row["caption"] or "",
        )
        for row in rows
    ]


def ask_causality(rows: Sequence[Row]) -> list[AskedItem]:
    """Whether the forward clip of each pair that a judge has labelled shows cause and effect; the label is its key."""
    choices = (OfferedChoice(CAUSAL, "Y", "Yes, it does"), OfferedChoice(NOT_CAUSAL, "N", "No, it does not"))
    return [
        AskedItem(
            item=row["item_id"],
            item_id=row["item_id"],
            question="Is there an event in this clip that visibly causes another event in it?",
            ways={"": (row["clip"],)},
            choices=choices,
            key=CAUSAL if row[CAUSALITY] else NOT_CAUSAL,
        )
        for row in rows
        if row[CAUSALITY] is not None
    ]


CAUSAL, NOT_CAUSAL = "CAUSAL", "NOT_CAUSAL"
INQUIRIES = {
    "answer": Inquiry("choice", ask_pairs, responses=15, attention=2),
    "causality": Inquiry(
        "choice",
        ask_causality,
        attention=2,
        positive=CAUSAL,
        paper={"F1": "82.76", "Kendall tau-b": "0.7613"},
    ),
}


def prepare(
    source: Annotated[str, typer.Option(help="Dataset on the hub, or a folder with a snapshot of it.")] = CARD.hub_id,
    from_videos: Annotated[
        Path | None, typer.Option(help="Any folder of videos instead: their reversals are made.", show_default=False)
    ] = None,
    captions: Annotated[
        Path | None, typer.Option(help="Their captions: CSV or JSON lines with file and caption.", show_default=False)
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(help="How much of each of them is shown; by default all.", show_default=False)
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="Causality labels to use, as `yocausal label` writes them.", show_default=False)
    ] = None,
    progress: Progress = no_progress,
) -> dict[str, SplitManifest]:
    """Prepare YoCausal, or any folder of videos in its form.

    Clips that are absent, or cannot be decoded to their end, do not stop this, neither those of the release nor own
    videos: the manifest lists them, and a run stops at them unless it is set to skip them. Any other problem of
    metadata, videos, captions or labels does, and then nothing is written.

    Raises:
        InputError: the source is not the release, or has problems; all are listed.

    Examples:
        lmms-eval-tasks prepare yocausal
        lmms-eval-tasks prepare yocausal --from-videos clips --captions captions.csv --seconds 4
    """
    if from_videos is not None:
        pairs, clips = read_videos(from_videos, captions, seconds)
        origin = Origin(str(from_videos), {captions.name: captions} if captions else {}, own=True)
    elif captions is not None or seconds is not None:
        raise InputError("Expected --captions and --seconds only with --from-videos.")
    else:
        pairs, clips, origin = read_release(source)
    if labels is not None:
        pairs = with_labels(pairs, labels)
        origin = replace(origin, files={**origin.files, labels.name: labels})
    if uncaptioned := [pair.item_id for pair in pairs if pair.caption is None]:
        count = f"{len(uncaptioned)} of {len(pairs)} pairs have no caption and can be scored with prompt=null only"
        origin = replace(origin, warnings=(*origin.warnings, f"{count}: {summarize_names(uncaptioned)}."))
    motions = measure_pairs(pairs, seconds, progress)
    # The clips of own videos are other files than those that were measured.
    decoded = {pair.clip for pair in pairs if from_videos is None and motions.get(pair.item_id) is not None}
    rows = table_rows(pairs, motions)
    with building(CARD.name) as build:
        build.add_split(SPLIT, rows, own_columns(), clips, origin, progress, whole=True, decoded=decoded)
    return {SPLIT: build.splits[SPLIT]}


DENOISING = TaskKind(
    metrics=METRICS,
    columns=report.COLUMNS,
    references=report.references,
    panels=report.panels,
    item_view=report.item_view,
    answer_view=report.answer_view,
    visuals=("clip", "clip_backward"),
    answer_form=AnswerForm.LOSSES,
    log_form=PairLine,
    views=(),
)

VLM = TaskKind(
    metrics=VLM_METRICS,
    columns=report.VLM_COLUMNS,
    references=report.vlm_references,
    members="directions",
    item_view=report.vlm_item_view,
    answer_view=report.vlm_answer_view,
    rows=hooks.both_directions,
    row_id=hooks.pair_id,
    log_form=DirectionLine,
    # A clip and its reversal are both asked: shown backwards, each is the other.
    views=("blind", "single_frame", "shuffled"),
    no_submission="the leaderboard ranks video diffusion models by their losses, and takes no answers in words. What "
    "can be submitted is a run of yocausal.",
)

BENCHMARK = Benchmark(
    card=CARD,
    folder=report.FOLDER,
    kinds={"denoising": DENOISING, "vlm": VLM},
    layouts=report.LAYOUTS,
    prepare=prepare,
    schema=own_columns,
    submission=FORM,
    official_prompt=OFFICIAL_PROMPT,
    cli=app,
    inquiries=INQUIRIES,
    human_study=STUDY,
)
