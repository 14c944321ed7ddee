"""Descriptions of each instance of a clip: its looks, and its actions with their times, by a model or edited by people.

Source: CaST-Bench, supplement, 10.2: a static description of under 30 words, from the frame with the instance
outlined and from one with the rest blurred, and dynamic entries with their times. Entries that people edited come in
place of the latter. The wording of the prompts is ours.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import Field

from lmms_eval_tasks.construct.cast_bench.clip_selection import (
    LEAST_INSTANCES,
    blur_around,
    clip_images,
    crop_around,
    crop_side,
    outline,
    spread_seconds,
)
from lmms_eval_tasks.construct.cast_bench.rows import (
    CastBenchConfig,
    ClipRow,
    InstanceRow,
    TimedEntry,
    TrackedInstance,
    as_label,
    is_legible,
    on_one_line,
    words_of,
)
from lmms_eval_tasks.construct.engine.steps import Asking, Form, Remove, Removed, is_refusal, step
from lmms_eval_tasks.construct.engine.texts import Refused, Unfit, read_span, until_good
from lmms_eval_tasks.utils.answers.opening import content
from lmms_eval_tasks.utils.core.errors import Problems
from lmms_eval_tasks.utils.core.forms import RawText, ReleaseRow, WholeText, read_content, read_json_form
from lmms_eval_tasks.utils.core.text import clock, quote
from lmms_eval_tasks.utils.judge.client import UnreadableReply


@step("instances", passes=10.6)
def split_instances(row: ClipRow, _: Asking) -> list[InstanceRow]:
    return [InstanceRow(id=f"{row.id}/{one.id}", source=row, instance=one) for one in row.instances if one.boxes]


DESCRIBER = "describer"
MOST_WORDS = 29
"""The paper: under 30."""


class StaticText(Form):
    category: str
    person: bool
    description: str


@step("static description", asks=[DESCRIBER], requests=1.1, characters=1200, images=2, reply_tokens=60)
def describe_looks(row: InstanceRow, asking: Asking, config: CastBenchConfig) -> InstanceRow:
    """Have an instance described as it looks in the second in which its box is largest."""
    if row.source.edited.get(row.instance.id) == ():
        raise Removed("skipped by people: too small or too blurred", row.instance.name)
    boxes = row.instance.boxes
    second = max(boxes, key=lambda one: ((boxes[one][2] - boxes[one][0]) * (boxes[one][3] - boxes[one][1]), -one))
    images = clip_images(
        row.source, [second], config, asking,
        lambda second, picture: outline(picture, boxes[second]),
        lambda second, picture: blur_around(picture, boxes[second]),
    )  # fmt: skip

    def write(refused: Refused) -> InstanceRow:
        name = row.instance.name
        reply = asking.ask(
            DESCRIBER, "cast_bench_static", StaticText, images, name=name, most_words=MOST_WORDS, refused=refused
        )
        category, text = on_one_line(reply.category.lower()), on_one_line(reply.description)
        why = ""
        if not category or not text:
            why = "an empty description"
        elif not (is_legible(category) and is_legible(text)):
            why = "description that is too long or not printable"
        elif len(words_of(text)) > MOST_WORDS:
            why = "description of 30 words or more"
        if why:
            raise Unfit(why, text, description=text, why=why)
        return row.model_copy(update={"category": category, "person": reply.person, "description": text})

    return until_good(config.tries, write)


END = "END"
_ENTRY = re.compile(r"\[([0-9:]{4,6})\]\s*[-\N{EN DASH}]\s*\[([0-9:]{4,6})\]\s*:?\s*(\S.*)")


class WrittenEntry(Form):
    start: str
    end: str
    text: str


class WrittenEntries(Form):
    entries: list[WrittenEntry]


def read_entries(text: str) -> WrittenEntries:
    """Return lines such as ``[00:02]-[00:05] It rolls.``, up to a last line ``END``."""
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


@step(
    "dynamic description", asks=[DESCRIBER], paper="10,728",
    requests=1.1, characters=1200, images=14, reply_tokens=200,
)  # fmt: skip
def describe_actions(row: InstanceRow, asking: Asking, config: CastBenchConfig) -> InstanceRow:
    """Add what an instance does, in order of time: what people edited, else what a model says."""
    if edited := row.source.edited.get(row.instance.id):
        return row.model_copy(update={"entries": edited})
    boxes, side = row.instance.boxes, crop_side(row.instance.boxes)
    seconds = spread_seconds(sorted(boxes), config.frames)
    images = clip_images(
        row.source, seconds, config, asking, lambda second, picture: crop_around(picture, boxes[second], side)
    )

    def write(refused: Refused) -> InstanceRow:
        written = asking.ask_text(
            DESCRIBER, "cast_bench_dynamic", read_entries, images,
            description=row.description, seconds=[clock(second) for second in seconds],
            last=clock(row.source.last), refused=refused,
        )  # fmt: skip
        lines, entries = [one.model_dump() for one in written.entries], []
        for one in written.entries:
            span, why = read_span(one.start, one.end, row.source.last), ""
            if span is None:
                why = "entry outside the clip"
            elif not any(span[0] <= second <= span[1] for second in boxes):
                why = "entry while the instance is not seen"
            elif not is_legible(one.text):
                why = "entry that is too long or not printable"
            if why or span is None:
                raise Unfit(why, str(lines), lines=lines, why=why)
            entries.append(TimedEntry(start=span[0], end=span[1], text=one.text))
        entries.sort(key=lambda one: (one.start, one.end, one.text))
        return row.model_copy(update={"entries": tuple(entries)})

    return until_good(config.tries, write)


@step("described clips", passes=0.094)
def join_instances(rows: Sequence[InstanceRow], remove: Remove) -> list[ClipRow]:
    """Put the instances of a clip together again; a clip of which fewer than two people are described goes."""
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
            joined.append(described[0].source.model_copy(update={"described": tuple(described)}))
    return joined


class EditedText(ReleaseRow):
    name: WholeText
    start: str
    end: str
    text: WholeText


class EditedItem(ReleaseRow):
    """The entries of one question, whom it was not possible to describe, and who edited them."""

    item_id: RawText
    annotator: RawText
    entries: list[EditedText]
    skipped: list[WholeText] = Field(default_factory=list)


def read_edits(
    path: Path, clips: Mapping[str, ClipRow], problems: Problems
) -> dict[str, dict[str, tuple[TimedEntry, ...]]]:
    """Read the actions that people give for the instances of clips; those of an instance that they skipped are none."""
    edited: defaultdict[tuple[str, str], set[tuple[int, int, str]]] = defaultdict(set)
    skipped: dict[tuple[str, str], tuple[str, str]] = {}
    by_item: dict[str, EditedItem] = {}
    for row in read_json_form(EditedItem, read_content(path), path.name, problems, lines=True):
        other = by_item.setdefault(row.item_id, row)
        if (other.entries, other.skipped) != (row.entries, row.skipped):
            both = f"{other.annotator} and {row.annotator}"
            problems.add(row.where, f"Expected entries of one annotator, but got others by {both}.")
        clip = clips.get(row.item_id.rpartition("_")[0])
        if clip is None:
            problems.add(row.where, f"Expected item_id to be a clip's name and a number, but got {quote(row.item_id)}.")
            continue
        for name in row.skipped:
            if (instance := _find_instance(name, clip)) is None:
                problems.add(row.where, f"Expected skipped to name instances of the clip, but got {quote(name)}.")
            else:
                skipped.setdefault((clip.id, instance.id), (row.where, name))
        for entry in row.entries:
            span = read_span(entry.start, entry.end, clip.last)
            instance = _find_instance(entry.name, clip)
            if instance is None:
                problems.add(row.where, f"Expected name to be an instance of the clip, but got {quote(entry.name)}.")
            elif span is None:
                times = f"{quote(entry.start)} to {quote(entry.end)}"
                problems.add(row.where, f"Expected times MM:SS within the clip, but got {times}.")
            elif not entry.text.strip():
                problems.add(row.where, "Expected text to be what happens, but got none.")
            else:
                edited[clip.id, instance.id].add((*span, entry.text.strip()))
    for key, (where, name) in skipped.items():
        if edited[key]:
            problems.add(where, f"Expected no entries of those who are skipped, but got some of {quote(name)}.")
    by_clip: defaultdict[str, dict[str, tuple[TimedEntry, ...]]] = defaultdict(dict)
    for (clip_id, name), entries in edited.items():
        timed = (TimedEntry(start=start, end=end, text=text) for start, end, text in sorted(entries))
        by_clip[clip_id][name] = tuple(timed)
    return by_clip


def _find_instance(name: str, clip: ClipRow) -> TrackedInstance | None:
    """Return the instance that a release of the clip calls so: by its name, by a noun and its id, or by its id."""
    named = [one for one in clip.instances if one.name and as_label(one.name) == as_label(name)]
    if len(named) == 1:
        return named[0]
    by_id = [one for one in clip.instances if name == one.id or name.endswith(f"_{one.id}")]
    return max(by_id, key=lambda one: len(one.id)) if by_id else None
