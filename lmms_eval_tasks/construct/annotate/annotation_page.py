"""The page that asks one annotator: one HTML file that needs no network, its clips in it or in a folder next to it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from markupsafe import Markup
from pydantic import BaseModel

from lmms_eval_tasks.construct.annotate.answer_files import plan_digest
from lmms_eval_tasks.construct.annotate.plan import Plan, PlannedItem, asked_items
from lmms_eval_tasks.registry import read_card
from lmms_eval_tasks.report.page_files import ASSETS as REPORT_ASSETS
from lmms_eval_tasks.report.page_files import EMBEDDED_AT_MOST, Clips, render_page
from lmms_eval_tasks.report.page_items import as_json
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.text import clock, summarize_names
from lmms_eval_tasks.utils.data.clips import PyavFrames
from lmms_eval_tasks.utils.data.home import clip_path, read_manifest
from lmms_eval_tasks.utils.data.prepare import link_or_copy
from lmms_eval_tasks.utils.data.release import UnreadableClip
from lmms_eval_tasks.utils.people.inquiries import AskedItem, Inquiry, InquiryForm

TASKS: Mapping[InquiryForm, str] = {
    "choice": "Watch the clip, then answer the question about it. If you are not sure, give the answer that you think "
    "most likely.",
    "ratings": "Look at what is shown, then choose on every scale. There is no right or wrong: we want your opinion.",
    "review": "Watch the clip and answer the question. Then you see the answer that is taken for right, and say what "
    "is wrong with the question, if anything is.",
    "descriptions": "The text beside the clip says what happens in it, and when. Correct what is wrong, then tick that "
    "all of it is right.",
    "revision": "Read the question, its options and its evidence beside the clip. Correct what is wrong, or discard "
    "the question, then tick that you are done.",
}
KEPT = (
    "You can go back and change an answer, and you can close the page and continue later in the same browser. Your "
    "answers are on this computer alone until you hand in the file."
)
CLOSING = "Thank you. Download your answers, and send the file to whoever gave you this page."


class PageTexts(BaseModel, extra="forbid", frozen=True):
    """The texts of a page that a study may word itself."""

    instructions: str = ""
    consent: str = ""
    closing: str = ""

    @property
    def consent_digest(self) -> str:
        """Digest of the consent text, as answer files name it; empty without a text."""
        return hashlib.sha256(self.consent.encode()).hexdigest()[:16] if self.consent else ""

    def instructions_for(self, inquiry: Inquiry) -> str:
        if self.instructions:
            return self.instructions
        task = TASKS[inquiry.form]
        if inquiry.last_frame:
            task = task.replace("Watch the clip, then", "Look at the picture, which is the last of a clip, then")
        return f"{task}\n\n{KEPT}"


ASSETS = Path(__file__).parent / "assets"
STYLES = (REPORT_ASSETS / "page.css", ASSETS / "annotate.css")
SCRIPTS = tuple(
    ASSETS / name
    for name in ("answers.js", "clips.js", "forms.js", "review.js", "edit.js", "annotate.js", "screens.js")
)
CLIPS = "clips"
CHECK = "This item checks that you read what is asked. Choose “{label}”, whatever you think is right."
KEYED = ("review", "revision")
"""Forms whose page holds the key."""
DESCRIBED = ("descriptions", "revision")
"""Forms in which timed descriptions are put right."""


def write_pages(
    plan: Plan,
    folder: Path,
    only: Sequence[str] = (),
    clips: Clips = Clips.auto,
    answers: tuple[Path | None, str] = (None, ""),
    texts: PageTexts | None = None,
    practice: bool = False,
) -> list[Path]:
    """Write the pages of a plan's annotators; the same plan and data give the same bytes.

    `answers` names the run, and its task, whose answers a mode asks about.
    """
    own = plan.by_annotator
    benchmark, split = plan.source
    if unknown := [name for name in only if name not in own]:
        raise InputError(f"Expected annotators of the plan, {summarize_names(own)}, but got {', '.join(unknown)}.")
    inquiry, items = asked_items(benchmark, split, plan.mode, *answers)
    _check_plan(plan, inquiry, items)
    sample = read_manifest(read_card(benchmark)).splits[split].data_set.is_sample
    texts, written = texts or PageTexts(), []
    for annotator in only or own:
        path = folder / f"{annotator}.html"
        secret, files = f"{plan_digest(plan)}:{annotator}", dict[str, Path]()
        shown = [shown_item(benchmark, inquiry, row, items[row.item_id], secret, files) for row in own[annotator]]
        if practice and (trial := practice_item(own[annotator], items, secret)):
            tried = shown_item(benchmark, inquiry, trial, items[trial.item_id], secret, files)
            shown.insert(0, tried | {"practice": True})
        size = sum(file.stat().st_size for file in files.values())
        embed = clips is Clips.embed or (clips is Clips.auto and size <= EMBEDDED_AT_MOST)
        encoded = []
        for name, file in files.items():
            if embed:
                encoded.append((name, base64.b64encode(file.read_bytes()).decode("ascii")))
            elif not (folder / CLIPS / name).exists():
                (folder / CLIPS).mkdir(parents=True, exist_ok=True)
                link_or_copy(file.resolve(), folder / CLIPS / name)
        about = {
            "plan": plan_digest(plan),
            "annotator": annotator,
            "mode": plan.mode,
            "form": inquiry.form,
            "folder": "" if embed else CLIPS,
            "flags": [[name, flag.decision.value, flag.text, flag.kind] for name, flag in inquiry.flags.items()],
            "kinds": inquiry.kinds,
            "retimed": inquiry.retimed,
            "consent": texts.consent_digest,
            "scales": [[scale.name, scale.question, list(scale.choices.items())] for scale in inquiry.scales],
            "items": shown,
        }
        page = render_page(
            ASSETS / "page.html",
            STYLES,
            SCRIPTS,
            annotator=annotator,
            sample=sample,
            instructions=texts.instructions_for(inquiry),
            consent=texts.consent,
            closing=texts.closing or CLOSING,
            about=Markup(as_json(about)),
            encoded=encoded,
        )
        write_file(path, page)
        written.append(path)
    return written


def _check_plan(plan: Plan, inquiry: Inquiry, items: Mapping[str, AskedItem]) -> None:
    benchmark, split = plan.source
    digests = {item_id: inquiry.digest(item) for item_id, item in items.items()}
    if absent := sorted({row.item_id for row in plan.rows} - items.keys()):
        raise InputError(
            f"Expected every item of the plan in {benchmark}, {split}, but these are not there, or have no clip: "
            f"{summarize_names(absent)}. Make the plan anew from what is prepared now."
        )
    if changed := sorted({row.item_id for row in plan.rows if row.asked != digests[row.item_id]}):
        raise InputError(
            f"Expected {benchmark}, {split}, to ask what it asked when the plan was made, but these differ: "
            f"{summarize_names(changed)}. Make the plan anew from what is prepared now."
        )
    for row in plan.rows:
        if not row.attention and row.version not in items[row.item_id].ways:
            ways = summarize_names(list(items[row.item_id].ways))
            raise InputError(f"Expected versions of {row.item_id}, {ways}, in the plan, but got {row.version}.")


def practice_item(rows: Sequence[PlannedItem], items: Mapping[str, AskedItem], secret: str) -> PlannedItem | None:
    """An item with which an annotator can try the page; None where they are asked of every group."""
    asked = {row.item for row in rows}
    free = [name for name, item in items.items() if item.item not in asked]
    if not free:
        return None
    chosen = items[min(free, key=lambda name: hashlib.sha256(f"{secret}:{name}".encode()).hexdigest())]
    return replace(
        rows[0], place=0, item=chosen.item, version=next(iter(chosen.ways)), item_id=chosen.item_id, attention=""
    )


def shown_item(
    benchmark: str, inquiry: Inquiry, planned: PlannedItem, item: AskedItem, secret: str, files: dict[str, Path]
) -> dict[str, Any]:
    """An item as a page has it; its clips are added to the page's files, by names that do not say what they are."""
    shown: dict[str, Any] = {"place": planned.place, "choices": [list(choice) for choice in item.choices]}
    if planned.attention:
        chosen = next(choice for choice in item.choices if choice.value == planned.attention)
        label = chosen.letter or chosen.text
        return {**shown, "question": CHECK.format(label=label), "clips": [], "replays": None}
    shown |= {"question": item.question, "replays": item.replays, "before": item.before, "text": item.text}
    clips = item.ways[planned.version]
    if inquiry.last_frame:
        return {**shown, "clips": [], "pictures": [_last_frame(clip_path(benchmark, clip)) for clip in clips]}
    if inquiry.form in KEYED:
        shown |= {"key": item.key, "kind": item.kind}
    if inquiry.form in DESCRIBED:
        shown["entries"] = [
            {
                "name": one.name,
                "start": clock(one.start),
                "end": clock(one.end),
                "text": one.text,
                "boxes": {second: [round(share, 4) for share in box] for second, box in one.boxes.items()},
            }
            for one in item.descriptions
        ]
    shown["clips"] = []
    for clip, label in zip(clips, item.labels or [""] * len(clips), strict=True):
        name = hashlib.sha256(f"{secret}:{clip}".encode()).hexdigest()[:20] + Path(clip).suffix
        files[name] = clip_path(benchmark, clip)
        shown["clips"].append([name, label])
    return shown


def _last_frame(path: Path) -> str:
    import cv2

    try:
        frames = PyavFrames(path)
        picture = frames.read([frames.count - 1])[0]
    except UnreadableClip as error:
        raise InputError(f"{path.name} cannot be shown: {error}") from error
    content = cv2.imencode(".png", picture[..., ::-1])[1].tobytes()
    return f"data:image/png;base64,{base64.b64encode(content).decode('ascii')}"
