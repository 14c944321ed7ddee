"""The view of a task: clips, made media or captions that a model is shown, and their traces in prompts and records."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lmms_eval_tasks.prompting import read_prompt
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.utils.answers.hooks import TaskSettings
from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark
from lmms_eval_tasks.utils.benchmark.views import CLIP, Describing, Item, Kind, Texts, View
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.forms import RowForm, WholeText, read_rows
from lmms_eval_tasks.utils.core.text import CAPTIONS, PROMPT, VIEW_BYTES, describe, summarize_names
from lmms_eval_tasks.utils.data import made
from lmms_eval_tasks.utils.data.card import Row
from lmms_eval_tasks.utils.data.clip_store import ClipStore
from lmms_eval_tasks.utils.data.clips import ReorderedClip
from lmms_eval_tasks.utils.data.home import clip_path, home, media_path, placeholder_path
from lmms_eval_tasks.utils.data.prepare import CLIP_SECONDS
from lmms_eval_tasks.utils.data.release import UnreadableClip
from lmms_eval_tasks.utils.scoring.record import FRAME, Record, UnscoredReason

if TYPE_CHECKING:
    import datasets
    from PIL.Image import Image

FIRST_PASS = Describing.ending
_FORM = '{"clip": "name.mp4", "caption": "…"}'


class ClipCaption(RowForm):
    clip: WholeText
    caption: WholeText


def read_captions() -> Mapping[str, str]:
    """Return the captions that the environment names, by the names of clips."""
    source = os.environ.get(CAPTIONS)
    if not source:
        raise InputError(
            f"Expected {CAPTIONS} to name captions, for they stand in place of the clips, but it is not set. It is a "
            f"file of lines {_FORM}, or the output folder of a run of a task's view {FIRST_PASS} with --log_samples."
        )
    path = Path(source).expanduser().absolute()
    try:
        facts = path.stat()
    except OSError as error:
        raise InputError(
            f"Expected {CAPTIONS} to name a file or folder, but got {source} ({error.strerror})."
        ) from None
    return _read(path, facts.st_mtime_ns)


@cache
def _read(path: Path, changed: int) -> Mapping[str, str]:
    issues, texts = Problems(), dict[str, str]()
    if path.is_dir():
        lines = _run_captions(path)
    else:
        lines = ((where, row.clip, row.caption) for where, row in read_rows(path, ClipCaption, issues, exact=False))
    for where, clip, caption in lines:
        if not caption.strip():
            issues.add("caption", "Expected a text, but there is none in", where)
        elif clip in texts:
            issues.add("clip", "Expected each once, but got again", f"{describe(clip)} ({where})")
        else:
            texts[clip] = caption.strip()
    problems = Problems()
    problems.extend(issues, f"{path.name}, ")
    problems.raise_if_any(f"{path} cannot be used as captions")
    return texts


def _run_captions(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Yield captions from the logs of a run; an empty one is as none, and says so when its item is asked."""
    run = read_run(folder, allow_predictions=True)
    tasks = [task for task, records in run.records.items() if records and records[0].view == FIRST_PASS]
    if not tasks:
        raise InputError(
            f"Expected {folder} to hold a run of a view {FIRST_PASS}, but its tasks are {', '.join(run.records)}."
        )
    seen = set()
    for item in (item for task in tasks for item in run.items_of(task)):
        clip, responses = str(item.record.fields.get(CLIP)), item.responses
        if responses and responses[0].strip() and clip not in seen:
            seen.add(clip)
            yield item.where, clip, responses[0]


class Encode(NamedTuple):
    clip: Path
    seen: str
    is_video: bool = True


FOLDER = "views"
DEFAULT_BYTES = 50_000_000_000


def see(view: View, clip: Path, row: Row, kind: Kind) -> str | Image:
    """Return a clip as a view shows it: the path of a video or a picture, as lmms-eval's adapters take them."""
    making = view.making(clip, row, kind)
    return _load(making.run(open_store())) if making else str(clip)


def _load(shown: made.MadeClip) -> str | Image:
    from PIL import Image

    if shown.path.suffix != ".png":
        return str(shown.path)
    with Image.open(shown.path) as picture:
        seen: Image.Image = picture.convert("RGB")
    return seen


def describe_seen(visuals: Sequence[Any]) -> str:
    """Return what a model was shown, in words."""
    pictures = [f"a picture of {one.width} x {one.height} pixels" for one in visuals if hasattr(one, "width")]
    clips = [f"the clip {Path(one).name}" for one in visuals if isinstance(one, str)]
    return summarize_names([*pictures, *clips], separator=" and ") or "no clip and no picture"


def open_store() -> ClipStore:
    return _open_store(home() / FOLDER, os.environ.get(VIEW_BYTES))


def read_limit(text: str | None) -> int:
    if text and not (text.isdecimal() and int(text) > 0):
        raise InputError(f"Expected {VIEW_BYTES} to be a number of bytes, such as {DEFAULT_BYTES}, but got {text!r}.")
    return int(text) if text else DEFAULT_BYTES


@cache
def _open_store(folder: Path, limit: str | None) -> ClipStore:
    return ClipStore(folder, read_limit(limit))


class ItemKey(NamedTuple):
    item_id: str
    files: tuple[Path, ...]
    shown: Mapping[str, Any]


@dataclass(frozen=True)
class Asked:
    """What a view asks of a run: whether clips are looked at, by which model, and what makes clips ahead."""

    clips_needed: bool = True
    model: Any = None
    ahead: Any = None


class TaskView:
    """The view of a task of ours, with its clips, captions and prompts."""

    def __init__(self, view: View, benchmark: Benchmark, pointer: Mapping[str, Any], asked: Asked) -> None:
        self._view, self._benchmark, self._asked = view, benchmark.name, asked
        self._kind, self._columns = benchmark.kind_of(pointer), len(benchmark.card.clip_columns)
        self._texts = Texts(read_prompt, self._find_caption, read_captions)

    def _find_caption(self, clip: str) -> str | None:
        # Nobody reads the prompt where no clip is looked at.
        return read_captions().get(clip) if self._asked.clips_needed else None

    def describe(self) -> str:
        return self._view.describe(self._kind)

    def check(self) -> None:
        """Raise InputError where what is shown cannot be."""
        self._view.check(self._texts)
        if self._view.is_made:
            read_limit(os.environ.get(VIEW_BYTES))

    def select(self, table: datasets.Dataset) -> datasets.Dataset:
        return self._view.select(table, self._kind)

    def clips(self, row: Row) -> tuple[Path, ...]:
        if not self._view.needs_clip:
            return ()
        return tuple(media_path(self._benchmark, row, column) for column in self._kind.visuals)

    def clip_names(self, table: datasets.Dataset) -> list[tuple[str, ...]]:
        """Return for each row the names of the clips of which something is shown; none where they are missing."""
        if not self._view.needs_clip:
            return [()] * len(table)
        named = table.select_columns([*self._kind.visuals, "clip_present"]).to_dict()
        names = zip(*(named[column] for column in self._kind.visuals), strict=True)
        return [clips if present else () for clips, present in zip(names, named["clip_present"], strict=True)]

    def encodes(self, row: Row) -> tuple[Encode, ...]:
        """Return the inputs a model has to encode for an item; empty if no clip is shown or the clip is missing."""
        if not row["asked"]:
            return ()
        return tuple(Encode(clip, self._view.seen(row, self._kind), self._view.shows_video) for clip in self.clips(row))

    def seconds(self, row: Row) -> float | None:
        """Return the mean length of an item's clips; None where the prepared table does not say."""
        together = row.get(CLIP_SECONDS)
        return None if together is None else together / self._columns

    def answered_items(self, table: datasets.Dataset) -> Callable[[int], ItemKey]:
        """Return a function from the index of a row in the task's table to the key of its answer."""
        items = table.select_columns("item_id").to_dict()["item_id"]
        names, find = self.clip_names(table), cache(partial(clip_path, self._benchmark))
        missing = (placeholder_path(self._benchmark),) * len(self._kind.visuals) if self._view.needs_clip else ()
        shown = {"frame": self._kind.frame} if self._view.name else {}

        def read(row: int) -> ItemKey:
            own = self._view.kept_by(partial(table.__getitem__, row), self._kind)
            return ItemKey(items[row], tuple(map(find, names[row])) or missing, {**shown, **own})

        return read

    def visuals(self, row: Row) -> list[Any]:
        """Return the visuals of an item's clips: paths of videos, pictures, or clips that are read in another order."""
        clips, ahead = self.clips(row), self._asked.ahead
        if (order := self._view.order) and self._is_read_in_order:
            return [ReorderedClip(clip, order) for clip in clips]
        makings = self.makings(row)
        try:
            seen = [_load(ahead.take(making) if ahead else making.run(open_store())) for making in makings]
            return seen or [str(clip) for clip in clips]
        except UnreadableClip:
            placeholder = placeholder_path(self._benchmark)
            return [see(self._view, placeholder, {**row, "asked": False}, self._kind) for _ in clips]

    def makings(self, row: Row) -> list[made.Making]:
        """Return what makes the files that show an item; empty where its clips are shown as they are."""
        if not self._view.is_made or self._is_read_in_order:
            return []
        return [making for clip in self.clips(row) if (making := self._view.making(clip, row, self._kind))]

    @property
    def _is_read_in_order(self) -> bool:
        """Whether the model reads a clip's frames in another order by itself, as its class says by `reads_orders`."""
        return self._view.order is not None and bool(getattr(self._asked.model, "reads_orders", False))

    def adjust_settings(self, settings: TaskSettings) -> TaskSettings:
        own = self._view.own_prompt(self._kind, chosen=bool(os.environ.get(PROMPT)))
        return replace(settings, prompt=read_prompt(own)) if own else settings

    def put(self, row: Row, ask: Callable[[], str]) -> str:
        return self._view.put(self._item(row), ask, self._texts)

    def _item(self, row: Row) -> Item:
        return Item(row, lambda: [row[column] for column in self._kind.visuals], row["asked"])

    def trace(self, record: Record, row: Row, frame: int | None) -> Record:
        """Return a record with what was shown of its item; of a description, without a score."""
        record = self._view.keep(replace(record, view=self._view.name), row, self._kind)
        return record if frame is None else record.with_fields(**{FRAME: frame})

    def look_back(self, row: Row) -> tuple[int | None, tuple[UnscoredReason, str] | None]:
        """Return the index of the single frame that an item was asked with, and why nothing could be shown of it."""
        if self._is_read_in_order:
            return None, None
        try:
            frame, reason = self._view.look_back(self.clips(row), self._item(row), self._kind, open_store, self._texts)
            return frame, (reason, "") if reason else None
        except UnreadableClip as error:
            return None, (UnscoredReason.UNREADABLE_CLIP, str(error))
