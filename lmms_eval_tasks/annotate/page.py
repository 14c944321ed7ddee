"""The page that asks one annotator: one HTML file that needs no network, its clips in it or in a folder beside it.

It holds neither keys nor ids, and its clips have names that give nothing away.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markupsafe import Markup

import lmms_eval_tasks
from lmms_eval_tasks.annotate.descriptions import shown_descriptions
from lmms_eval_tasks.annotate.forms import FLAGS, AskingMode, plan_digest
from lmms_eval_tasks.annotate.plan import Plan, PlannedItem
from lmms_eval_tasks.annotate.questions import choices_of, clips_of, rows_to_ask
from lmms_eval_tasks.report.clips import EMBEDDED_AT_MOST, Clips
from lmms_eval_tasks.report.items import as_json
from lmms_eval_tasks.report.page import ASSETS as REPORT_ASSETS
from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark
from lmms_eval_tasks.utils.benchmark.registry import find_benchmark
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.wording import escape_surrogates, summarize_names
from lmms_eval_tasks.utils.data.frames import open_frames
from lmms_eval_tasks.utils.data.home import clip_path, read_manifest
from lmms_eval_tasks.utils.data.release import UnreadableClip, link_or_copy
from lmms_eval_tasks.utils.reporting.figures import template_environment
from lmms_eval_tasks.utils.stats.human_responses import UNKNOWN

ASSETS = Path(__file__).parent / "assets"
STYLES = (REPORT_ASSETS / "page.css", ASSETS / "annotate.css")
SCRIPTS = tuple(ASSETS / name for name in ("answers.js", "clips.js", "forms.js", "edit.js", "annotate.js"))
CLIPS = "clips"
CHECK = "This item checks that you read what is asked. Choose “{label}”, whatever you think is right."
UNKNOWN_TEXT = "I cannot tell"
UNCHECKED = (AskingMode.review, AskingMode.edit)
"""Modes in which no choice is made, so that none can check attention."""


@dataclass
class _Shelf:
    """The clips of one page: name on the page to file."""

    secret: str
    files: dict[str, Path] = field(default_factory=dict)

    def place(self, benchmark: str, clip: str) -> str:
        """The name of a clip on the page."""
        name = hashlib.sha256(f"{self.secret}:{clip}".encode()).hexdigest()[:20] + Path(clip).suffix
        self.files[name] = clip_path(benchmark, clip)
        return name

    def embeds(self, clips: Clips) -> bool:
        """Whether the page is to hold them."""
        size = sum(path.stat().st_size for path in self.files.values())
        return clips is Clips.embed or (clips is Clips.auto and size <= EMBEDDED_AT_MOST)


def write_pages(
    plan: Plan, folder: Path, mode: AskingMode = AskingMode.answer, only: Sequence[str] = (), clips: Clips = Clips.auto
) -> list[Path]:
    """Write the pages of a plan's annotators; the same plan and data give the same bytes.

    Args:
        plan: The plan.
        folder: Where to; a page is named by its annotator.
        mode: What is asked.
        only: Annotators; all where none is named.
        clips: Whether clips are in the page, or in the folder `CLIPS` beside it.

    Raises:
        InputError: somebody is not in the plan, the data is not prepared, or lacks what the plan names.
    """
    own = plan.by_annotator
    benchmark, split = plan.source
    house = find_benchmark(benchmark)
    modes = [one.value for one in modes_of(house)]
    if mode.value not in modes:
        raise InputError(f"Expected a mode of {benchmark}, one of {', '.join(modes)}, but got {mode.value}.")
    if unknown := [name for name in only if name not in own]:
        raise InputError(f"Expected annotators of the plan, {summarize_names(own)}, but got {', '.join(unknown)}.")
    rows = {row["item_id"]: row for row in rows_to_ask(benchmark, split)}
    if absent := sorted({row.item_id for row in plan.rows} - rows.keys()):
        raise InputError(
            f"Expected every item of the plan in {benchmark}, {split}, but these are not there, or have no clip: "
            f"{summarize_names(absent)}. Make the plan anew from what is prepared now."
        )
    ways = house.human_study.shown if house.human_study is not None else {}
    if ways and (others := {row.version for row in plan.rows if not row.attention} - ways.keys()):
        raise InputError(
            f"Expected versions of {benchmark}, {summarize_names(ways)}, in the plan, but got "
            f"{summarize_names(sorted(others))}."
        )
    sample = read_manifest(benchmark).splits[split].data_set.is_sample
    written = []
    for annotator in only or own:
        path = folder / f"{annotator}.html"
        shelf = _Shelf(f"{plan_digest(plan)}:{annotator}")
        shown = [row for row in own[annotator] if not row.attention or mode not in UNCHECKED]
        items = [shown_item(house, row, rows[row.item_id], shelf, mode) for row in shown]
        text = _build(plan_digest(plan), annotator, mode, items, shelf, shelf.embeds(clips), sample)
        if not shelf.embeds(clips):
            (folder / CLIPS).mkdir(parents=True, exist_ok=True)
            for name, file in shelf.files.items():
                if not (folder / CLIPS / name).exists():
                    link_or_copy(file.resolve(), folder / CLIPS / name)
        write_file(path, escape_surrogates(text))
        written.append(path)
    return written


def modes_of(house: Benchmark) -> list[AskingMode]:
    """What can be asked about the items of a benchmark."""
    if house.human_study is not None:
        return [AskingMode.answer]
    return [mode for mode in AskingMode if mode is not AskingMode.edit or house.descriptions is not None]


def shown_item(
    house: Benchmark, planned: PlannedItem, row: Mapping[str, Any], shelf: _Shelf, mode: AskingMode
) -> dict[str, Any]:
    """What a page holds of one item."""
    study = house.human_study
    options = dict(zip(choices_of(house, row), [] if study else row["options"], strict=False))
    choices = [
        [choice, choice if study is None else "", options.get(choice) or _spoken(choice)]
        for choice in choices_of(house, row)
    ]
    if planned.attention:
        label = planned.attention if study is None else _spoken(planned.attention)
        question = CHECK.format(label=label)
        return {"place": planned.place, "question": question, "clips": [], "choices": choices, "replays": None}
    clips = clips_of(house, row, planned.version)
    labels = [_spoken(choice) for choice in study.choices] if study else [""] * len(clips)
    item: dict[str, Any] = {
        "place": planned.place,
        "question": study.question if study else row["question"],
        "choices": choices,
        "replays": study.replays if study else None,
    }
    if mode is AskingMode.last_frame:
        return {**item, "clips": [], "picture": _last_frame(clip_path(house.name, clips[0]))}
    if mode is AskingMode.review:
        item["key"] = row["answer"] or ""
    if mode is AskingMode.edit and house.descriptions is not None:
        item["entries"] = shown_descriptions(house.descriptions(row))
    shown = [[shelf.place(house.name, clip), label] for clip, label in zip(clips, labels, strict=True)]
    return {**item, "clips": shown}


def _last_frame(path: Path) -> str:
    """The last frame of a clip as the address of a PNG picture."""
    import cv2

    try:
        frames = open_frames(path)
        picture = frames.read([frames.count - 1])[0]
    except UnreadableClip as error:
        raise InputError(f"{path.name} cannot be shown: {error}") from error
    content = cv2.imencode(".png", picture[..., ::-1])[1].tobytes()
    return f"data:image/png;base64,{base64.b64encode(content).decode('ascii')}"


def _spoken(choice: str) -> str:
    return UNKNOWN_TEXT if choice == UNKNOWN else choice.capitalize()


def _build(
    digest: str, annotator: str, mode: AskingMode, items: list[dict[str, Any]], shelf: _Shelf, embed: bool, sample: bool
) -> str:
    script = "\n".join(path.read_text(encoding="utf-8").strip() for path in SCRIPTS)
    about = {
        "plan": digest,
        "annotator": annotator,
        "mode": mode.value,
        "folder": "" if embed else CLIPS,
        "flags": [[flag, decision.value, text] for flag, (decision, text) in FLAGS.items()],
        "items": items,
    }
    encoded = [
        (name, base64.b64encode(path.read_bytes()).decode("ascii"))
        for name, path in (shelf.files.items() if embed else ())
    ]
    return (
        template_environment(ASSETS)
        .get_template("page.html")
        .render(
            version=lmms_eval_tasks.__version__,
            annotator=annotator,
            sample=sample,
            style=Markup("\n".join(path.read_text(encoding="utf-8").strip() for path in STYLES)),
            script=Markup(script),
            # No other script runs, whatever stands in the page.
            script_digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii"),
            about=Markup(as_json(about)),
            encoded=encoded,
        )
    )
