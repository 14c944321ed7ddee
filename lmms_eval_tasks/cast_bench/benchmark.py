"""CaST-Bench: the evidence with the answer.

Source of what people are asked: CaST-Bench, supplement, 10.3 (descriptions; who is too small or too blurred is skipped)
and 10.6 (last review).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from string import ascii_uppercase
from typing import Annotated, Any

import typer

from lmms_eval_tasks.api import (
    AskedItem,
    Benchmark,
    InputError,
    Inquiry,
    OfferedChoice,
    Origin,
    Preparation,
    Row,
    SplitManifest,
    TaskKind,
    building,
)
from lmms_eval_tasks.api.evidence import EVIDENCE_READER, Masking, read_truth
from lmms_eval_tasks.api.page import outcome_panel
from lmms_eval_tasks.api.people import TimedDescription
from lmms_eval_tasks.api.release import ClipOptions, download_dataset, read_metadata
from lmms_eval_tasks.cast_bench import card, hooks, masked, open_ended, report, submission
from lmms_eval_tasks.cast_bench.card import CARD
from lmms_eval_tasks.cast_bench.release import FILE, ROLES, SPLIT, add_roles, frame_of, frame_size, read_items
from lmms_eval_tasks.cast_bench.sample import SAMPLE

CLIP_FOLDERS = ("", "videos")


def prepare(
    preparation: Preparation,
    source: Annotated[
        str, typer.Option(help="Dataset on the hub, castbench_hf.jsonl, or a folder that holds it.")
    ] = CARD.hub_id,
    videos: Annotated[
        Path | None, typer.Option(help="Folder that holds the clips; scoring saved responses needs none.")
    ] = None,
) -> dict[str, SplitManifest]:
    """Prepare CaST-Bench; the clips are linked, not copied.

    Clips that are absent or unreadable do not stop this, nor does their lack altogether where no folder is named: they
    are listed in the manifest, and a run that needs clips stops, unless it is set to skip them. Anything wrong with the
    questions does, and nothing is written then.

    Examples:
        lmms-eval-tasks prepare cast_bench
        lmms-eval-tasks prepare cast_bench --source castbench_hf.jsonl --videos videos
    """
    if videos is not None and not videos.is_dir():
        raise InputError(f"{CARD.title} cannot be prepared: there is no folder {videos} to take the videos from.")
    questions, folders, revision = _find(source, videos)
    content = read_metadata(questions)
    rows, problems, warnings = read_items(content)
    files: dict[str, Path | bytes] = {FILE: content}
    if (roles := questions.with_name(ROLES)).is_file():
        files[ROLES] = roles
        if not problems:
            add_roles(rows, roles, problems)
    problems.raise_if_any(f"{questions.name} cannot be prepared", "nothing was written")
    clips: dict[str, Path | None] = {}
    for clip in (row["clip"] for row in rows):
        places = [folder / clip.removeprefix(f"{SPLIT}/") for folder in folders]
        clips[clip] = next((place for place in places if place.is_file()), places[0] if places else None)
    origin = Origin(str(source), files, revision, tuple(warnings))
    with building(CARD.name, preparation) as build:
        options = ClipOptions(videos=videos, measure=frame_size)
        build.add_split(SPLIT, rows, own_columns(), clips, origin, options)
    return {SPLIT: build.splits[SPLIT]}


def _find(source: str, videos: Path | None) -> tuple[Path, tuple[Path, ...], str | None]:
    """The file of questions of a release, where its clips may lie, and its revision on the hub."""
    path = Path(source).expanduser()
    folders: tuple[Path, ...] = () if videos is None else (videos.absolute(),)
    if path.is_file() or path.is_dir():
        questions = path / FILE if path.is_dir() else path
        if not questions.is_file():
            names = ", ".join(sorted(entry.name for entry in path.iterdir())[:5]) or "nothing"
            raise InputError(
                f"{path.name} is not the {CARD.title} release: Expected {FILE} inside, but found {names}. Nothing was "
                "written."
            )
        return questions, folders or tuple(questions.parent.absolute() / name for name in CLIP_FOLDERS), None
    if source.count("/") != 1 or path.suffix or source[0] in "./~":
        raise InputError(f"{path.name} cannot be prepared: there is no file or folder {path}.")
    patterns = (FILE, f"*/{FILE}", *(("*.mp4",) if videos is None else ()))
    snapshot, revision = download_dataset(source, CARD.title, patterns, f"the file {FILE} or a folder that holds it")
    files = sorted(snapshot.rglob(FILE))
    if not files:
        raise InputError(f"{CARD.title} cannot be prepared: the dataset {source} on the hub holds no {FILE}.")
    found = tuple({clip.parent.absolute(): None for clip in sorted(snapshot.rglob("*.mp4"))})
    return files[0], folders or found, revision


def own_columns() -> dict[str, Any]:
    import pyarrow as pa

    texts = ("question_type", "category", "subtype", "scene_category", "evidence", "subject")
    return {
        **dict.fromkeys(texts, pa.string()),
        "width": pa.int64(),
        "height": pa.int64(),
        "option_kinds": pa.list_(pa.string()),
    }


def read_descriptions(row: Row) -> tuple[TimedDescription, ...]:
    """The evidence of a prepared row in its released order; without boxes where the size of its frames is not known."""
    frame = frame_of(row)
    described = []
    for entry in json.loads(row["evidence"]):
        (instance,) = read_truth([entry])
        (evidence,) = instance.evidences
        boxes = {}
        if frame is not None:
            width, height = frame
            for second, (left, top, right, bottom) in zip(evidence.seconds, evidence.boxes, strict=True):
                boxes[second] = (left / width, top / height, right / width, bottom / height)
        text = str(entry.get("evidence_rationale") or "")
        described.append(TimedDescription(instance.name, evidence.start, evidence.end, text, boxes))
    return tuple(described)


def wording_of(video: str, question: str, options: Sequence[str], answer: str | None, evidence: str) -> str:
    """Return a digest that changes with any text, the key or any time of a question, so that revisions are never
    confused."""
    names = ("evidence_instance_id", "evidence_start_time", "evidence_end_time", "evidence_rationale")
    pieces = [[entry.get(name) for name in names] for entry in json.loads(evidence)]
    content = json.dumps([video, question, list(options), answer, pieces])
    return hashlib.sha256(content.encode("ascii")).hexdigest()[:16]


def ask_descriptions(rows: Sequence[Row], revised: bool = False) -> list[AskedItem]:
    """The questions with the descriptions of their evidence; where they are revised, each in its wording of today."""
    asked = []
    for row in rows:
        texts = PurePosixPath(row["clip"]).name, row["question"], row["options"], row["answer"], row["evidence"]
        letters = zip(ascii_uppercase, row["options"], strict=False)
        one = AskedItem(
            item=row["item_id"],
            item_id=row["item_id"],
            question=row["question"],
            ways={wording_of(*texts) if revised else "": (row["clip"],)},
            choices=tuple(OfferedChoice(letter, letter, text) for letter, text in letters),
            key=row["answer"] or "",
            descriptions=read_descriptions(row),
        )
        asked.append(one)
    return asked


EVIDENCE = TaskKind(
    metrics=card.METRICS,
    ask=hooks.ask,
    grade=hooks.grade,
    warn=hooks.warnings,
    guesses=hooks.guesses,
    extractor=EVIDENCE_READER,
    columns=report.COLUMNS,
    references=report.references,
    panels=report.panels,
    item_view=report.item_view,
    answer_view=report.answer_view,
    read_settings=hooks.read_settings,
    restore=hooks.restore_settings,
    log_form=hooks.EvidenceLine,
    group_column="clip",
    views=("blind", "single_frame", "shuffled", "reversed", "masked", "socratic", "rotated", "none_of_these"),
    by_option=("options", "option_kinds"),
    masking=Masking(masked.masked_row, masked.timed_boxes),
)

OPEN = TaskKind(
    metrics=card.OPEN_METRICS,
    prompt="cast_bench_open",
    grade=open_ended.grade,
    guesses=lambda row: (open_ended.IGNORANT,),
    extractor="a judge",
    columns=report.OPEN_COLUMNS,
    # There are no letters, and no evidence to draw.
    panels=lambda task, runs: [outcome_panel(runs)],
    item_view=report.open_item_view,
    answer_view=report.open_answer_view,
    judge="required",
    no_submission="its free answers are graded by a judge of your choice, and no leaderboard takes them. What can be "
    "submitted is a run of cast_bench.",
    restore=open_ended.restore_verdicts,
    log_form=open_ended.OpenLine,
    group_column="clip",
    views=("blind", "single_frame", "shuffled", "reversed", "socratic"),
)

BENCHMARK = Benchmark(
    card=CARD,
    clip_names_are_ids=True,
    folder=report.FOLDER,
    kinds={"evidence": EVIDENCE, "open": OPEN},
    layouts=report.LAYOUTS,
    prepare=prepare,
    schema=own_columns,
    submission=submission.FORM,
    official_prompt=hooks.OFFICIAL_PROMPT,
    predictions=submission.PREDICTIONS,
    variables=("LMMS_EVAL_TASKS_BOXES", "LMMS_EVAL_TASKS_MATCHING"),
    inquiries={
        "edit": Inquiry("descriptions", ask_descriptions),
        "revise": Inquiry("revision", lambda rows: ask_descriptions(rows, revised=True)),
    },
    sample=SAMPLE,
)
