"""Descriptions of each instance of a clip: its looks, and its actions with their times, by a model or edited by people.

Source: CaST-Bench, supplement, 10.2: a static description of under 30 words, from the frame with the instance
outlined and from one with the rest blurred, and dynamic entries with their times. Entries that people edited come in
place of the latter. The wording of the prompts is ours.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from lmms_eval_tasks.construct.cast_bench.clip_selection import (
    LEAST_INSTANCES,
    Picture,
    blur_around,
    clip_images,
    crop_around,
    crop_side,
    outline,
    picture_at,
    spread_seconds,
)
from lmms_eval_tasks.construct.cast_bench.rows import (
    DESCRIBER,
    CastBenchConfig,
    ClipRow,
    DescribedClipRow,
    InstanceRow,
    TimedEntry,
    TrackedInstance,
    as_label,
    is_legible,
    on_one_line,
    word_count,
)
from lmms_eval_tasks.construct.engine.roles import Form, is_refusal
from lmms_eval_tasks.construct.engine.steps import Asking, Forecast, PaperCount, Removed, RowStep, SetStep
from lmms_eval_tasks.construct.engine.texts import clock, read_span
from lmms_eval_tasks.utils.answers.opening import content
from lmms_eval_tasks.utils.core.errors import Problems
from lmms_eval_tasks.utils.core.forms import RowForm, WholeText, read_rows
from lmms_eval_tasks.utils.core.text import describe, first_line
from lmms_eval_tasks.utils.data.pictures import as_jpeg
from lmms_eval_tasks.utils.data.release import UnreadableClip
from lmms_eval_tasks.utils.judge.client import UnreadableReply

MOST_WORDS = 29
"""The paper: under 30."""
TOO_LONG = "description of 30 words or more"
SKIPPED = "skipped by people: too small or too blurred"
END = "END"
_ENTRY = re.compile(r"\[([0-9:]{4,6})\]\s*[-\N{EN DASH}]\s*\[([0-9:]{4,6})\]\s*:?\s*(\S.*)")


class StaticText(Form):
    """Category and appearance of an instance."""

    category: str
    person: bool
    description: str


class WrittenEntry(Form):
    """A line of what an instance does; times as they were written."""

    start: str
    end: str
    text: str


class WrittenEntries(Form):
    """Actions of an instance, line by line."""

    entries: list[WrittenEntry]


class SplitInstances(RowStep[ClipRow, InstanceRow]):
    """The instances of a clip, one by one; those that are never seen are left out."""

    name = "instances"
    takes, gives = ClipRow, InstanceRow
    forecast = Forecast(rows=10.6)

    def run(self, row: ClipRow, asking: Asking) -> list[InstanceRow]:
        """A row for each instance."""
        return [InstanceRow(id=f"{row.id}/{one.id}", source=row, instance=one) for one in row.instances if one.boxes]


class DescribeLooks(RowStep[InstanceRow, InstanceRow]):
    """Adds what an instance looks like."""

    name = "static description"
    takes = gives = InstanceRow
    roles = (DESCRIBER,)
    forecast = Forecast(requests=1.1, characters=1200, images=2, reply_tokens=60)

    def __init__(self, config: CastBenchConfig) -> None:
        self._config = config

    def run(self, row: InstanceRow, asking: Asking) -> list[InstanceRow]:
        """The instance as it looks in the second in which its box is largest."""
        if row.source.edited.get(row.instance.id) == ():
            raise Removed(SKIPPED, row.instance.name)
        boxes = row.instance.boxes
        second = max(boxes, key=lambda one: ((boxes[one][2] - boxes[one][0]) * (boxes[one][3] - boxes[one][1]), -one))
        try:
            with asking.heavy():
                picture = picture_at(self._config.clips / row.source.clip, second)
                shown = (outline(picture, boxes[second]), blur_around(picture, boxes[second]))
                images = [as_jpeg(one, self._config.side) for one in shown]
        except UnreadableClip as error:
            raise Removed("unreadable clip", row.source.clip) from error
        refused: list[dict[str, str]] = []
        for _ in range(self._config.tries):
            reply = asking.ask(
                DESCRIBER, "cast_bench_static", StaticText, images,
                name=row.instance.name, most_words=MOST_WORDS, refused=refused,
            )  # fmt: skip
            category, text = on_one_line(reply.category.lower()), on_one_line(reply.description)
            if not category or not text:
                why = "an empty description"
            elif not (is_legible(category) and is_legible(text)):
                why = "description that is too long or not printable"
            elif word_count(text) > MOST_WORDS:
                why = TOO_LONG
            else:
                return [row.model_copy(update={"category": category, "person": reply.person, "description": text})]
            refused.append({"description": text, "why": why})
        raise Removed(why, text)


class DescribeActions(RowStep[InstanceRow, InstanceRow]):
    """Adds what an instance does when: what people edited, else what a model says."""

    name = "dynamic description"
    takes = gives = InstanceRow
    roles = (DESCRIBER,)
    paper = PaperCount("10,728", "10.1-10.6")
    forecast = Forecast(requests=1.1, characters=1200, images=14, reply_tokens=200)

    def __init__(self, config: CastBenchConfig) -> None:
        self._config = config

    def run(self, row: InstanceRow, asking: Asking) -> list[InstanceRow]:
        """The instance with its entries in order of time."""
        edited = row.source.edited.get(row.instance.id)
        if edited:
            return [row.model_copy(update={"entries": edited})]
        seconds = spread_seconds(sorted(row.instance.boxes), self._config.frames)
        boxes, side = row.instance.boxes, crop_side(row.instance.boxes)

        def crop(second: int, picture: Picture) -> Picture:
            return crop_around(picture, boxes[second], side)

        images = clip_images(row.source, seconds, self._config, asking, crop)
        refused: list[dict[str, Any]] = []
        for _ in range(self._config.tries):
            written = asking.ask_text(
                DESCRIBER, "cast_bench_dynamic", read_entries, images,
                description=row.description, seconds=[clock(second) for second in seconds],
                last=clock(row.source.last), refused=refused,
            )  # fmt: skip
            why, entries = _check_entries(written, row)
            if not why:
                return [row.model_copy(update={"entries": entries})]
            refused.append({"lines": [one.model_dump() for one in written.entries], "why": why})
        raise Removed(why, str(refused[-1]["lines"]))


class JoinInstances(SetStep[InstanceRow, DescribedClipRow]):
    """Puts the instances of a clip together again; a clip of which fewer than two people are described goes."""

    name = "described clips"
    takes, gives = InstanceRow, DescribedClipRow
    forecast = Forecast(rows=0.094)

    def run(self, rows: Sequence[InstanceRow], remove: Callable[[str, Removed], None]) -> list[DescribedClipRow]:
        """The clips, in their order."""
        by_clip: defaultdict[str, list[InstanceRow]] = defaultdict(list)
        by_label: dict[tuple[str, str], InstanceRow] = {}
        for row in rows:
            first = by_label.setdefault((row.source.id, row.label), row)
            if first is row:
                by_clip[row.source.id].append(row)
            else:
                remove(row.id, Removed("another instance has its label", f"{first.id}: {row.label}"))
        joined = []
        for clip, described in by_clip.items():
            if sum(row.person for row in described) < LEAST_INSTANCES:
                for row in described:
                    remove(row.id, Removed("its clip has fewer than two described people", clip))
            else:
                joined.append(DescribedClipRow(id=clip, source=described[0].source, described=tuple(described)))
        return joined


def read_entries(text: str) -> WrittenEntries:
    """Lines such as ``[00:02]-[00:05] It rolls.``, up to a last line ``END``."""
    text = content(text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if is_refusal(text) and not any(map(_ENTRY.fullmatch, lines)):
        raise UnreadableReply("refusal: it holds no timed line")
    if not lines or lines[-1] != END:
        raise UnreadableReply("missing END: the last line is another")
    matches = [_ENTRY.fullmatch(line) for line in lines[:-1]]
    if not matches or not all(matches):
        wrong = next((line for line, match in zip(lines, matches, strict=False) if match is None), "nothing")
        raise UnreadableReply(f"no timed lines: Expected [MM:SS]-[MM:SS] and a text, but got {wrong[:80]!r}")
    return WrittenEntries(
        entries=[WrittenEntry(start=match[1], end=match[2], text=on_one_line(match[3])) for match in matches if match]
    )


def _check_entries(written: WrittenEntries, row: InstanceRow) -> tuple[str, tuple[TimedEntry, ...]]:
    """Return the reason the entries cannot be used, empty if they can, and the entries in order of time."""
    entries = []
    for one in written.entries:
        span = read_span(one.start, one.end, row.source.last)
        if span is None:
            return "entry outside the clip", ()
        if not any(span[0] <= second <= span[1] for second in row.instance.boxes):
            return "entry while the instance is not seen", ()
        if not is_legible(one.text):
            return "entry that is too long or not printable", ()
        entries.append(TimedEntry(start=span[0], end=span[1], text=one.text))
    return "", tuple(sorted(entries, key=lambda one: (one.start, one.end, one.text)))


class EditedText(RowForm):
    """Action of an instance in a clip, as an annotator left it; times are ``MM:SS``."""

    name: WholeText
    start: str
    end: str
    text: WholeText


class EditedItem(RowForm):
    """A line of the file: the entries of one question, whom it was not possible to describe, and who edited them."""

    item_id: WholeText
    version: str = ""
    annotator: WholeText
    entries: list[EditedText]
    skipped: list[WholeText] = Field(default_factory=list)


def read_edits(
    path: Path, clips: Mapping[str, ClipRow], problems: Problems
) -> dict[str, dict[str, tuple[TimedEntry, ...]]]:
    """Read the actions that people give for the instances of clips."""
    issues = Problems()
    edited: defaultdict[str, defaultdict[str, set[tuple[int, int, str]]]] = defaultdict(lambda: defaultdict(set))
    skipped: defaultdict[str, dict[str, str]] = defaultdict(dict)
    by_item: dict[str, EditedItem] = {}
    try:
        for where, row in read_rows(path, EditedItem, issues, exact=False):
            other = by_item.setdefault(row.item_id, row)
            if (other.entries, other.skipped) != (row.entries, row.skipped):
                both = f"{other.annotator} and {row.annotator}"
                issues.add("entries", "Expected those of one annotator, but got others by", f"{both} ({where})")
            clip = clips.get(row.item_id.rpartition("_")[0])
            if clip is None:
                issues.add(
                    "item_id", "Expected a clip's name and a number, but got", f"{describe(row.item_id)} ({where})"
                )
                continue
            for name in row.skipped:
                instance = _find_instance(name, clip)
                if instance is None:
                    issues.add("skipped", "Expected an instance of the clip, but got", f"{describe(name)} ({where})")
                else:
                    skipped[clip.id].setdefault(instance.id, f"{describe(name)} ({where})")
            for entry in row.entries:
                span = read_span(entry.start, entry.end, clip.last)
                instance = _find_instance(entry.name, clip)
                if instance is None:
                    issues.add("name", "Expected an instance of the clip, but got", f"{describe(entry.name)} ({where})")
                elif span is None:
                    times = f"{describe(entry.start)} to {describe(entry.end)} ({where})"
                    issues.add("entries", "Expected times MM:SS within the clip, but got", times)
                elif not entry.text.strip():
                    issues.add("text", "Expected what happens, but got", f"nothing ({where})")
                else:
                    edited[clip.id][instance.id].add((*span, entry.text.strip()))
    except OSError as error:
        issues.add("file", "Expected one that can be read, but got", first_line(error))
    for clip_id, names in skipped.items():
        for instance_id, case in names.items():
            if instance_id in edited[clip_id]:
                issues.add("skipped", "Expected entries of those who are not skipped alone, but got some of", case)
            edited[clip_id].setdefault(instance_id, set())
    problems.extend(issues, f"{path.name}, ")
    return {
        clip: {
            name: tuple(TimedEntry(start=start, end=end, text=text) for start, end, text in sorted(entries))
            for name, entries in of_clip.items()
        }
        for clip, of_clip in edited.items()
    }


def _find_instance(name: str, clip: ClipRow) -> TrackedInstance | None:
    """The instance that a release of the clip calls so: by its name, by a noun and its id, or by its id."""
    named = [one for one in clip.instances if one.name and as_label(one.name) == as_label(name)]
    if len(named) == 1:
        return named[0]
    by_id = [one for one in clip.instances if name == one.id or name.endswith(f"_{one.id}")]
    return max(by_id, key=lambda one: len(one.id)) if by_id else None
