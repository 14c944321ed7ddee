"""IntPhys 2: is what a clip shows physically possible?

Bordes et al., 2025, https://arxiv.org/abs/2506.09849; official code: facebookresearch/IntPhys2@faf78cd.

    lmms-eval-tasks prepare intphys2 --source IntPhys2.zip
    lmms-eval --model qwen2_5_vl --tasks intphys2_main,intphys2_heldout --output_path out --log_samples
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

import typer
from pydantic import Field

from lmms_eval_tasks.api import (
    COMMON_METRICS,
    OFFICIAL_ACCURACIES,
    PAIR_ACCURACY,
    PAIRS_SCORED,
    SINGLE_ACCURACY,
    Benchmark,
    ChoiceForm,
    Origin,
    Preparation,
    Problems,
    Record,
    Row,
    RowForm,
    SplitManifest,
    TaskKind,
    building,
)
from lmms_eval_tasks.api.answers import IMPOSSIBLE, PLAUSIBILITY_READER, SAYS_POSSIBLE
from lmms_eval_tasks.api.clips import measure_motion
from lmms_eval_tasks.api.page import ReferencedMetric, published_models
from lmms_eval_tasks.api.release import ClipOptions, download_dataset, open_release
from lmms_eval_tasks.api.runs import LogForm, log_line
from lmms_eval_tasks.intphys2.card import CARD, FOLDERS, KINDS, by_parts, heldout_items, read_items, says
from lmms_eval_tasks.intphys2.hooks import OFFICIAL_PROMPTS, grade, read_settings
from lmms_eval_tasks.intphys2.sample import SAMPLE
from lmms_eval_tasks.intphys2.surprise import SURPRISE

# ---- the release, prepared -----------------------------------------------------------------------------------------

ROOTS = ("", "IntPhys2")
METADATA = {split: f"{FOLDERS[split]}/metadata.csv" for split in ("debug", "main")}
COLUMNS = {
    **dict.fromkeys(("pair", "coding", "condition", "variant", "camera", "difficulty"), "string"),
    "motion": "float64",
}
"""The benchmark's own columns of the prepared table, and their types."""


def prepare(
    preparation: Preparation,
    source: Annotated[
        str, typer.Option(help="IntPhys2.zip, the folder unpacked from it, or the dataset on the hub.")
    ] = CARD.hub_id,
) -> dict[str, SplitManifest]:
    """Prepare IntPhys 2, every split that the release holds.

    The held-out split has clips alone. Clips that are absent or unreadable are listed in the manifest, and a run
    refuses them unless it is to skip them. Metadata that cannot be scored stops this, and nothing is written then; what
    is merely unusual is a warning.

    Examples:
        lmms-eval-tasks prepare intphys2
        lmms-eval-tasks prepare intphys2 --source IntPhys2.zip
    """
    path, revision = Path(source), None
    if source == CARD.hub_id and not path.exists():
        wanted = [f"{folder}/*" for folder in FOLDERS.values()]
        path, revision = download_dataset(source, CARD.title, wanted, "IntPhys2.zip or the folder unpacked from it")
    archive: dict[str, Path | bytes] = {} if path.is_dir() else {path.name: path}
    problems = Problems()
    found: dict[str, tuple[list[Row], Origin]] = {}
    with open_release(path, CARD.title, [*METADATA.values(), f"{FOLDERS['heldout']}/"], ROOTS) as release:
        for split, file in METADATA.items():
            if (content := release.read(file)) is not None:
                own = Problems()
                rows = read_items(split, file, content, own)
                problems.extend(own)
                found[split] = rows, Origin(source, {**archive, file: content}, revision, own.warnings())
            elif release.holds(FOLDERS[split]):
                what = "Expected it beside the clips, but there is none."
                problems.add(file, what, remedy="get the release again.")
        held_out = find_clips(release, FOLDERS["heldout"])
        if held_out:
            found["heldout"] = heldout_items(sorted(held_out)), Origin(source, archive, revision)
        if any(len(places) > 1 for places in held_out.values()):
            problems.add(FOLDERS["heldout"], "Expected each clip once, but two have the same name.")
        if not (found or problems):
            problems.add(FOLDERS["heldout"], "Expected clips NAME.mp4, but there is none.")
        problems.raise_if_any(f"{source} cannot be prepared", "nothing was written")
        with building(CARD.name, preparation) as build:
            for split, (rows, origin) in found.items():
                places = find_clips(release, FOLDERS[split])
                named = {row["clip"]: places.get(row["item_id"]) for row in rows}
                clips = {clip: release.clip(found_at[0]) if found_at else None for clip, found_at in named.items()}
                # Held-out clips are in no pair that is known.
                options = ClipOptions(measure=measure_clip if split in METADATA else None)
                build.add_split(split, rows, COLUMNS, clips, origin, options)
    return {split: build.splits[split] for split in found}


def find_clips(release: Any, folder: str) -> dict[str, list[str]]:
    """The clips of a split's folder: name to the places where they lie."""
    found: dict[str, list[str]] = {}
    for place in (folder, f"{folder}/Videos", f"{folder}/videos"):
        for file in map(PurePosixPath, release.files(place)):
            if file.suffix == ".mp4":
                found.setdefault(file.stem, []).append(str(file))
    return found


def measure_clip(path: Path) -> dict[str, float | None]:
    """Measure the motion in a clip: the mean absolute difference of grey frames, 0 to 255, per second."""
    motion = measure_motion(path)
    return {"motion": motion.magnitude if motion else None}


# ---- scores --------------------------------------------------------------------------------------------------------


def _pair(record: Record) -> str:
    return f"{record.fields['coding']}.{record.fields['pair']}"


PLACES = "a scene's two pairs and their codings"
PAIRS = replace(PAIR_ACCURACY, stratum=_pair, over=PLACES)
"""Percent of the pairs whose two clips are both right: the mean over a scene's two places."""
SCENES = replace(
    PAIR_ACCURACY,
    name="scene_accuracy",
    title="scene accuracy",
    together=len(KINDS),
    stratum=lambda record: str(record.fields["coding"]),
    over="codings",
)
"""Percent of the scenes whose four clips are all right."""
SAME_POSSIBLE = replace(
    SAYS_POSSIBLE,
    name="codings_possible",
    title="possible in all codings",
    together=3,
    stratum=lambda record: f"{record.fields['pair']}.{record.expected}",
)
SAME_IMPOSSIBLE = replace(
    SAME_POSSIBLE,
    name="codings_impossible",
    title="impossible in all codings",
    value=partial(says, IMPOSSIBLE),
)
"""Percent of the clips with the same answer to all three codings: the two sum to the agreement."""
OFFICIAL_PAIRS, OFFICIAL_SINGLE = OFFICIAL_ACCURACIES
LEADING = (
    SINGLE_ACCURACY,
    # Before the pairs: what `compare` tests is of whole groups.
    SCENES,
    PAIRS,
    OFFICIAL_SINGLE,
    replace(OFFICIAL_PAIRS, stratum=_pair, over=PLACES),
    SAYS_POSSIBLE,
)
OTHERS = (
    # Standard errors are printed of the whole alone.
    *by_parts(replace(SINGLE_ACCURACY, errors="none")),
    *by_parts(PAIRS),
    *by_parts(OFFICIAL_SINGLE),
    replace(PAIRS_SCORED, stratum=_pair),
    *COMMON_METRICS,
)


def references(task: str, items: int) -> tuple[ReferencedMetric, ...]:
    """Its scores beside what is known of them; published scores are of the held-out clips, and of single ones."""
    if task.startswith("intphys2_heldout"):
        models = published_models(
            FOLDER, source="leaderboard", without=("Human",), metric="single_accuracy", split="heldout"
        )
        note = "Published scores are second-hand: a third party's page lists them from the leaderboard."
        return (ReferencedMetric(SINGLE_ACCURACY, CARD.chance[SINGLE_ACCURACY.name], CARD.human, models, note=note),)
    note = "Published scores of people and models are of the held-out clips."
    single, *groups = (ReferencedMetric(one, CARD.chance[one.name]) for one in (SINGLE_ACCURACY, SCENES, PAIRS))
    return replace(single, note=note), *groups


# ---- the leaderboard's file: a line for each held-out clip ---------------------------------------------------------


class SubmittedClip(RowForm):
    """One line of the file; None stands for no answer.

    Source: README of facebookresearch/IntPhys2, and its issue 6: ``model_answer`` is 1 for possible and 0 for
    impossible, and the order does not matter. What the leaderboard does with a line without an answer is not known.
    """

    data_name: Literal["intphys2"]
    task: Literal["HeldOut"]
    row_id: str = Field(min_length=1)
    model_answer: int | None = Field(ge=0, le=1)


FORM = ChoiceForm(
    card=CARD,
    row_type=SubmittedClip,
    values=lambda row, split: {"data_name": CARD.name, "task": FOLDERS[split], "row_id": row["item_id"]},
    answers=lambda row: (1, 0),
    no_answer=None,
    split_of=lambda line: "heldout",
    path=lambda split, part: f"submissions/{CARD.name}_{split}.jsonl",
)

# ---- all of it -----------------------------------------------------------------------------------------------------


class ClipFields(LogForm):
    pair: str
    coding: str
    official_correct: bool | None
    official_answered: str | None


FOLDER = Path(__file__).parent
MAIN = TaskKind(
    metrics=(*LEADING, *OTHERS),
    grade=grade,
    extractor=PLAUSIBILITY_READER,
    references=references,
    read_settings=read_settings,
    guesses=lambda row: ("Yes", "No"),
    best_of="single_accuracy_official",
    log_form=log_line(ClipFields, CARD.strata_columns),
    # Backwards, what is possible often is not: the key would no longer be true.
    views=("blind", "single_frame", "shuffled", "socratic"),
    no_submission="the leaderboard takes the held-out clips alone.",
)
BENCHMARK = Benchmark(
    card=CARD,
    folder=FOLDER,
    kinds={
        "main": MAIN,
        # Asked by the official prompt that wants a digit.
        "main_digits": replace(MAIN, guesses=lambda row: ("1", "0")),
        "debug": replace(MAIN, metrics=(*LEADING, SAME_POSSIBLE, SAME_IMPOSSIBLE, *OTHERS)),
        "surprise": SURPRISE,
        "heldout": replace(
            MAIN, metrics=(SINGLE_ACCURACY, SAYS_POSSIBLE, *COMMON_METRICS), best_of="", no_submission=""
        ),
    },
    prepare=prepare,
    schema=lambda: COLUMNS,
    submission=FORM,
    official_prompt=OFFICIAL_PROMPTS,
    clip_names_are_ids=True,
    # lmms-eval's own takes "No, this is not physically possible" for possible.
    replaces=frozenset({"intphys2_debug"}),
    sample=SAMPLE,
)
