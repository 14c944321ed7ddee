"""IntPhys 2: is what a clip shows physically possible?

Bordes et al., 2025, https://arxiv.org/abs/2506.09849; official code: facebookresearch/IntPhys2@faf78cd.

    lmms-eval-tasks prepare intphys2 --source IntPhys2.zip
    lmms-eval --model qwen2_5_vl --tasks intphys2_main,intphys2_heldout --output_path out --log_samples
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
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
    InputError,
    Metric,
    Origin,
    Problems,
    Progress,
    Record,
    Row,
    RowForm,
    SplitManifest,
    TaskKind,
    building,
    no_progress,
)
from lmms_eval_tasks.api.answers import IMPOSSIBLE, PLAUSIBILITY_READER, POSSIBLE, SAYS_POSSIBLE
from lmms_eval_tasks.api.clips import measure_motion
from lmms_eval_tasks.api.page import ReferencedMetric, published_models
from lmms_eval_tasks.api.release import download_dataset, open_release
from lmms_eval_tasks.api.runs import LogForm, log_line
from lmms_eval_tasks.intphys2.card import (
    CAMERAS,
    CARD,
    CONDITIONS,
    DIFFICULTIES,
    FOLDERS,
    KINDS,
    heldout_items,
    read_items,
)
from lmms_eval_tasks.intphys2.hooks import grade
from lmms_eval_tasks.intphys2.prompt import OFFICIAL_PROMPTS, read_settings
from lmms_eval_tasks.intphys2.surprise import SURPRISE

# ---- the release, prepared -----------------------------------------------------------------------------------------

ROOTS = ("", "IntPhys2")
PLACES = ("", "Videos/", "videos/")
"""Where below a split's folder its clips may lie."""
METADATA = {split: f"{FOLDERS[split]}/metadata.csv" for split in ("debug", "main")}
COLUMNS = {
    **dict.fromkeys(("pair", "coding", "condition", "variant", "camera", "difficulty"), "string"),
    "motion": "float64",
}
"""The benchmark's own columns of the prepared table, and their types."""
_HELD_OUT = re.compile(
    rf"(?:{'|'.join(re.escape(f'{root}/') for root in ROOTS if root)})?"
    rf"({FOLDERS['heldout']}/(?:{'|'.join(PLACES[1:])})?([^/]+)\.mp4)"
)


def prepare(
    source: Annotated[
        str, typer.Option(help="IntPhys2.zip, the folder unpacked from it, or the dataset on the hub.")
    ] = CARD.hub_id,
    progress: Progress = no_progress,
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
    withheld = find_held_out(path)
    problems = Problems()
    with open_release(path, CARD.title, [*METADATA.values(), *withheld], ROOTS) as release:
        contents = {split: content for split, file in METADATA.items() if (content := release.read(file)) is not None}
        items: dict[str, list[Row]] = {}
        found: dict[str, Problems] = {}
        for split, file in METADATA.items():
            found[split] = Problems()
            if split in contents:
                items[split] = read_items(split, file, contents[split], found[split])
            elif release.holds(FOLDERS[split]):
                what = "Expected it beside the clips, but there is none."
                found[split].add(file, what, remedy="get the release again.")
            problems.extend(found[split])
        if withheld:
            items["heldout"], found["heldout"] = heldout_items(sorted(withheld.values())), Problems()
            if len(set(withheld.values())) < len(withheld):
                problems.add(FOLDERS["heldout"], "Expected each clip once, but two have the same name.")
        problems.raise_if_any(f"{source} cannot be prepared", "nothing was written")
        archive: dict[str, Path | bytes] = {} if path.is_dir() else {path.name: path}
        with building(CARD.name) as build:
            for split, rows in items.items():
                clips = {row["clip"]: find_clip(release, FOLDERS[split], row["item_id"]) for row in rows}
                read = {METADATA[split]: contents[split]} if split in contents else {}
                origin = Origin(source, {**archive, **read}, revision, found[split].warnings())
                # Held-out clips are in no pair that is known.
                measure = measure_clip if split in METADATA else None
                build.add_split(split, rows, COLUMNS, clips, origin, progress, measure=measure)
    return {split: build.splits[split] for split in items}


def find_held_out(source: Path) -> dict[str, str]:
    """The held-out clips of a folder or an archive: path below the release's root to the clip's name."""
    names: list[str] = []
    if source.is_dir():
        folders = [source / root / FOLDERS["heldout"] / place for root in ROOTS for place in PLACES]
        names = [file.relative_to(source).as_posix() for folder in folders for file in folder.glob("*.mp4")]
    elif source.is_file() and zipfile.is_zipfile(source):
        try:
            with zipfile.ZipFile(source) as archive:
                names = archive.namelist()
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise InputError(f"{source.name} cannot be prepared: it is no whole zip archive ({error}).") from error
    return {match[1]: match[2] for name in names if (match := _HELD_OUT.fullmatch(name))}


def find_clip(release: Any, folder: str, name: str) -> Any:
    """A clip of a split's folder, wherever there it lies; where it is not there, the place where it should be."""
    places = [release.clip(f"{folder}/{place}{name}.mp4") for place in PLACES]
    there = (clip for clip in places if clip is not None and not (isinstance(clip, Path) and not clip.is_file()))
    return next(there, places[0])


def measure_clip(path: Path) -> dict[str, float | None]:
    """Measure the motion in a clip: the mean absolute difference of grey frames, 0 to 255, per second."""
    motion = measure_motion(path)
    return {"motion": motion.magnitude if motion else None}


# ---- scores --------------------------------------------------------------------------------------------------------


def _pair(record: Record) -> str:
    return f"{record.fields['coding']}.{record.fields['pair']}"


def _says(letter: str, record: Record) -> float | None:
    return None if record.answered is None else 100.0 * (record.answered == letter)


def _broken_down(metric: Metric) -> list[Metric]:
    parts = (("condition", CONDITIONS), ("camera", CAMERAS), ("difficulty", DIFFICULTIES))
    return [one for column, values in parts for one in metric.by(column, values)]


PAIRS = replace(PAIR_ACCURACY, stratum=_pair)
"""Percent of the pairs whose two clips are both right: the mean over a scene's two places."""
SCENES = replace(
    PAIR_ACCURACY,
    name="scene_accuracy",
    title="scene accuracy",
    together=len(KINDS),
    stratum=lambda record: str(record.fields["coding"]),
)
"""Percent of the scenes whose four clips are all right."""
SAME_POSSIBLE = Metric(
    "codings_possible",
    "possible in all codings",
    lambda record: _says(POSSIBLE, record),
    together=3,
    stratum=lambda record: f"{record.fields['pair']}.{record.expected}",
    higher_is_better=None,
)
SAME_IMPOSSIBLE = replace(
    SAME_POSSIBLE,
    name="codings_impossible",
    title="impossible in all codings",
    value=lambda record: _says(IMPOSSIBLE, record),
)
"""Percent of the clips with the same answer to all three codings: the two sum to the agreement."""
OFFICIAL_PAIRS, OFFICIAL_SINGLE = OFFICIAL_ACCURACIES
LEADING = (
    SINGLE_ACCURACY,
    # Before the pairs: what `compare` tests is of whole groups.
    SCENES,
    PAIRS,
    OFFICIAL_SINGLE,
    replace(OFFICIAL_PAIRS, stratum=_pair),
    SAYS_POSSIBLE,
)
OTHERS = (
    # Standard errors are printed of the whole alone.
    *_broken_down(replace(SINGLE_ACCURACY, errors="none")),
    *_broken_down(PAIRS),
    *_broken_down(OFFICIAL_SINGLE),
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
    notes = {SINGLE_ACCURACY.name: "Published scores of people and models are of the held-out clips."}
    scores = (SINGLE_ACCURACY, SCENES, PAIRS)
    return tuple(ReferencedMetric(one, CARD.chance[one.name], note=notes.get(one.name, "")) for one in scores)


# ---- the leaderboard's file: a line for each held-out clip ---------------------------------------------------------


class SubmittedClip(RowForm):
    """One line of the file; None stands for no answer.

    Source: README of facebookresearch/IntPhys2, and its issue 6: ``model_answer`` is 1 for possible and 0 for
    impossible, and the order does not matter. What the leaderboard does with a line without an answer is not known.
    """

    data_name: Literal["intphys2"]
    task: Literal["HeldOut"]
    row_id: str
    model_answer: int | None = Field(ge=0, le=1)


def _compare(line: SubmittedClip, item: Row | None, split: str) -> Iterator[tuple[str, str, str]]:
    if not line.row_id:
        yield "row_id", "Expected a clip's name, but got", "none"


FORM = ChoiceForm(
    card=CARD,
    row_type=SubmittedClip,
    values=lambda row, split: {"data_name": CARD.name, "task": FOLDERS[split], "row_id": row["item_id"]},
    answers=lambda row: (1, 0),
    no_answer=None,
    compare=_compare,
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
)
