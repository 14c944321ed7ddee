"""CaST-Bench: the evidence with the answer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
    Progress,
    Row,
    SplitManifest,
    TaskKind,
    building,
    no_progress,
)
from lmms_eval_tasks.api.evidence import EVIDENCE_READER, Masking, read_truth
from lmms_eval_tasks.api.people import TimedDescription
from lmms_eval_tasks.api.release import download_dataset, read_metadata
from lmms_eval_tasks.cast_bench import hooks, report
from lmms_eval_tasks.cast_bench import open_ended as open_ended_module
from lmms_eval_tasks.cast_bench.card import CARD, METRICS, OPEN_METRICS
from lmms_eval_tasks.cast_bench.hooks import OFFICIAL_PROMPT, EvidenceLine, read_settings
from lmms_eval_tasks.cast_bench.masked import app, masked_row, timed_boxes
from lmms_eval_tasks.cast_bench.open_ended import OpenLine
from lmms_eval_tasks.cast_bench.release import FILE, ROLES, SPLIT, add_option_kinds, frame_of, frame_sizes, read_items
from lmms_eval_tasks.cast_bench.submission import FORM, PREDICTIONS

CLIP_FOLDERS = ("", "videos")


@dataclass(frozen=True)
class _Source:
    """A release on this machine: its file of questions, where its clips may lie, and its revision on the hub."""

    questions: Path
    clip_folders: tuple[Path, ...]
    revision: str | None = None


def prepare(
    source: Annotated[
        str, typer.Option(help="Dataset on the hub, castbench_hf.jsonl, or a folder that holds it.")
    ] = CARD.hub_id,
    videos: Annotated[
        Path | None, typer.Option(help="Folder that holds the clips; scoring saved responses needs none.")
    ] = None,
    progress: Progress = no_progress,
) -> dict[str, SplitManifest]:
    """Prepare CaST-Bench; the clips are linked, not copied.

    Clips that are absent or unreadable do not stop this, nor does their lack altogether where no folder is named: they
    are listed in the manifest, and a run that needs clips stops, unless it is set to skip them. Anything wrong with the
    questions does, and nothing is written then.

    Args:
        source: `castbench_hf.jsonl`, a folder that holds it and perhaps the clips, or a dataset on the hub.
        videos: folder with the clips; by default they are looked for in the source's folder and in `videos` there.
        progress: receives how far the work is.

    Returns:
        Split name to what was prepared.

    Raises:
        InputError: there is no such source or folder, the folder holds none of the clips, or the questions have
            problems; all are listed.

    Examples:
        lmms-eval-tasks prepare cast_bench
        lmms-eval-tasks prepare cast_bench --source castbench_hf.jsonl --videos videos
    """
    if videos is not None and not videos.is_dir():
        raise InputError(f"{CARD.title} cannot be prepared: there is no folder {videos} to take the videos from.")
    release = _find(source, videos)
    content = read_metadata(release.questions)
    rows, problems, warnings = read_items(content)
    roles = release.questions.with_name(ROLES)
    has_roles = roles.is_file()
    if has_roles and not problems:
        add_option_kinds(rows, roles, problems)
    problems.raise_if_any(f"{release.questions.name} cannot be prepared", "nothing was written")
    clips = {row["clip"]: _clip(row["clip"].removeprefix(f"{SPLIT}/"), release.clip_folders) for row in rows}
    present = [path for path in clips.values() if path and path.is_file()]
    sizes = frame_sizes(present, progress, f"{SPLIT}: reading the size of frames")
    for row in rows:
        path = clips[row["clip"]]
        row["width"], row["height"] = (sizes.get(path) if path else None) or (None, None)
    files: dict[str, Path | bytes] = {FILE: content}
    if has_roles:
        files[ROLES] = roles
    with building(CARD.name) as build:
        origin = Origin(str(source), files, release.revision, tuple(warnings))
        build.add_split(SPLIT, rows, own_columns(), clips, origin, progress, videos=videos)
    return {SPLIT: build.splits[SPLIT]}


def _find(source: str, videos: Path | None) -> _Source:
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
        return _Source(questions, folders or tuple(questions.parent.absolute() / name for name in CLIP_FOLDERS))
    if source.count("/") != 1 or path.suffix or source[0] in "./~":
        raise InputError(f"{path.name} cannot be prepared: there is no file or folder {path}.")
    patterns = (FILE, f"*/{FILE}", *(("*.mp4",) if videos is None else ()))
    snapshot, revision = download_dataset(source, CARD.title, patterns, f"the file {FILE} or a folder that holds it")
    files = sorted(snapshot.rglob(FILE))
    if not files:
        raise InputError(f"{CARD.title} cannot be prepared: the dataset {source} on the hub holds no {FILE}.")
    folders = folders or tuple({clip.parent.absolute(): None for clip in sorted(snapshot.rglob("*.mp4"))})
    return _Source(files[0], folders, revision)


def _clip(name: str, folders: tuple[Path, ...]) -> Path | None:
    """Return the path of a clip, or its path in the first folder if it is in none; None without any folder."""
    places = [folder / name for folder in folders]
    return next((place for place in places if place.is_file()), places[0] if places else None)


def own_columns() -> dict[str, Any]:
    """The benchmark's own columns and their types."""
    import pyarrow as pa

    return {
        "question_type": pa.string(),
        "category": pa.string(),
        "subtype": pa.string(),
        "scene_category": pa.string(),
        "evidence": pa.string(),
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


def _version(row: Row) -> str:
    video = PurePosixPath(row["clip"]).name
    return wording_of(video, row["question"], row["options"], row["answer"], row["evidence"])


def _described(version: Callable[[Row], str]) -> Callable[[Sequence[Row]], list[AskedItem]]:
    def ask(rows: Sequence[Row]) -> list[AskedItem]:
        return [
            AskedItem(
                item=row["item_id"],
                item_id=row["item_id"],
                question=row["question"],
                ways={version(row): (row["clip"],)},
                choices=tuple(
                    OfferedChoice(letter, letter, text)
                    for letter, text in zip(ascii_uppercase, row["options"], strict=False)
                ),
                key=row["answer"] or "",
                descriptions=read_descriptions(row),
            )
            for row in rows
        ]

    return ask


INQUIRIES = {
    "edit": Inquiry("descriptions", _described(lambda row: "")),
    "revise": Inquiry("revision", _described(_version)),
}

EVIDENCE = TaskKind(
    metrics=METRICS,
    guesses=hooks.guesses,
    extractor=EVIDENCE_READER,
    columns=report.COLUMNS,
    references=report.references,
    panels=report.panels,
    item_view=report.item_view,
    answer_view=report.answer_view,
    read_settings=read_settings,
    restore=hooks.restore_settings,
    log_form=EvidenceLine,
    views=("blind", "single_frame", "shuffled", "reversed", "masked", "socratic"),
    masking=Masking(masked_row, timed_boxes),
)

OPEN = TaskKind(
    metrics=OPEN_METRICS,
    guesses=lambda row: (open_ended_module.IGNORANT,),
    extractor="a judge",
    columns=report.OPEN_COLUMNS,
    references=report.open_references,
    panels=report.open_panels,
    item_view=report.open_item_view,
    answer_view=report.open_answer_view,
    read_settings=open_ended_module.read_settings,
    judge="required",
    no_submission="its free answers are graded by a judge of your choice, and no leaderboard takes them. What can be "
    "submitted is a run of cast_bench.",
    restore=open_ended_module.restore_verdicts,
    log_form=OpenLine,
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
    submission=FORM,
    official_prompt=OFFICIAL_PROMPT,
    predictions=PREDICTIONS,
    variables=("LMMS_EVAL_TASKS_BOXES", "LMMS_EVAL_TASKS_MATCHING"),
    cli=app,
    inquiries=INQUIRIES,
)
