"""Steps on clips and who is in them: selection, pictures for a model, and descriptions of looks and actions.

Source: CaST-Bench, supplement.

- 10.1: clips in which several people act separately, by measures and then by a model. The measures of cuts, shake and
  blur, their limits and the wording are ours.
- 10.2: a static description of each instance of under 30 words, from the frame with the instance outlined and from one
  with the rest blurred, and dynamic entries with their times. Entries that people edited come in place of the latter.
  The wording of the prompts is ours.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter
from pydantic import Field
from scipy import fft, ndimage

from lmms_eval_tasks.construct.cast_bench.rows import (
    CastBenchConfig,
    ClipRow,
    InstanceRow,
    PixelBox,
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
from lmms_eval_tasks.utils.data.clips import FrameStream, PyavFrames
from lmms_eval_tasks.utils.data.made import TimedBox, boxes_at, touched_pixels
from lmms_eval_tasks.utils.data.pictures import as_jpeg
from lmms_eval_tasks.utils.data.release import UnreadableClip
from lmms_eval_tasks.utils.judge.client import UnreadableReply

SELECTOR = "selector"
LEAST_INSTANCES = 2


@step("clips by measure")
def measure_clips(row: ClipRow, asking: Asking, *, config: CastBenchConfig) -> ClipRow:
    if sum(bool(one.boxes) for one in row.instances) < LEAST_INSTANCES:
        raise Removed("fewer than two instances in the tracks", row.clip)
    if not row.width:
        raise Removed("unreadable clip", row.clip)
    try:
        with asking.heavy():
            measures = measure_clip(config.clips / row.clip)
    except UnreadableClip as error:
        raise Removed("unreadable clip", row.clip) from error
    if measures.shake > config.largest_shake:
        raise Removed("camera shake", f"a shake of {measures.shake:.4f}")
    if measures.jump > config.largest_jump:
        raise Removed("cut", f"a jump of {measures.jump:.3f}")
    if measures.blur > config.largest_blur:
        raise Removed("blur", f"a blur of {measures.blur:.3f}")
    return row


WIDTH = 160
"""Pixels of a picture's width in which jumps and shifts are measured."""
SHARP_WIDTH = 640
"""Pixels of width in which blur is measured, at most."""
RATE = 8.0
"""Frames a second of which shifts are measured, at most."""
LEAST_TEXTURE = 0.01
"""Standard deviation of brightness, 0 to 1, from which on shifts are measured."""
REBLUR = 9

Grey = NDArray[np.floating[Any]]
"""(H, W) of brightness."""


class ClipMeasures(NamedTuple):
    jump: float
    shake: float
    blur: float


def measure_clip(path: Path) -> ClipMeasures:
    steps: list[float] = []
    shifts: list[tuple[float, float]] = []
    blurs: list[float] = []
    before: Grey | None = None
    spectrum: Any = None
    with FrameStream(path) as stream:
        rate = stream.fps or RATE
        stride, a_second = max(1, round(rate / RATE)), max(1, round(rate))
        size: tuple[int, int] | None = None
        for number, frame in enumerate(stream.frames()):
            size = size or (WIDTH, max(2, min(4 * WIDTH, round(WIDTH * frame.height / frame.width))))
            picture = stream.pixels(frame, "gray", size).astype(np.float32) / 255
            if before is not None:
                steps.append(float(np.abs(picture - before).mean()))
            before = picture
            if number % stride == 0:
                # A picture without texture moves nowhere that could be seen.
                latest = fft.rfft2(_windowed(picture)) if picture.std() > LEAST_TEXTURE else None
                if spectrum is not None and latest is not None:
                    shifts.append(_shift(spectrum, latest, picture.shape))
                spectrum = latest
            if number % a_second == 0:
                width = min(SHARP_WIDTH, frame.width)
                sharp = stream.pixels(frame, "gray", (width, max(2, round(width * frame.height / frame.width))))
                blurs.append(blur_of(sharp.astype(np.float32)))
    # A step that those before and after it do not have, and how much a shift changes from one to the next.
    padded = [0.0, *steps, 0.0]
    jumps = (padded[place] - max(padded[place - 1], padded[place + 1]) for place in range(1, len(padded) - 1))
    changes = np.diff(np.array(shifts), axis=0) if len(shifts) > 1 else np.zeros((1, 2))
    shake = float(np.quantile(np.hypot(changes[:, 0], changes[:, 1]), 0.75))
    return ClipMeasures(max(0.0, *jumps) if steps else 0.0, shake, median(blurs))


def blur_of(picture: Grey) -> float:
    """Return how little a grey picture, (H, W), changes when it is blurred again: 0 is sharp, 1 has no edge at all."""
    blurs = []
    for axis in (0, 1):
        blurred = ndimage.uniform_filter1d(picture, REBLUR, axis=axis)
        edges, left = np.abs(np.diff(picture, axis=axis)), np.abs(np.diff(blurred, axis=axis))
        total = float(edges.sum())
        blurs.append(1.0 - float(np.maximum(0, edges - left).sum()) / total if total else 1.0)
    return max(blurs)


def _windowed(picture: Grey) -> Grey:
    rows, columns = (np.hanning(length).astype(np.float32) for length in picture.shape)
    faded: Grey = (picture - picture.mean()) * rows[:, None] * columns[None, :]
    return faded


def _shift(before: Any, after: Any, shape: tuple[int, ...]) -> tuple[float, float]:
    """Return by how much a picture moved down and to the right, in widths, from two spectra."""
    product = after * np.conj(before)
    height, width = shape
    peaks = fft.irfft2(product / np.maximum(np.abs(product), 1e-9), s=(height, width))
    row, column = np.unravel_index(int(np.argmax(peaks)), (height, width))
    down, right = (
        int(place) - length if place > length // 2 else int(place) for place, length in ((row, height), (column, width))
    )
    return down / width, right / width


class ClipVerdict(Form):
    several_people_act_apart: bool
    shaken: bool
    whip_pans: bool
    tilted: bool
    badly_lit: bool
    cut: bool
    blurred: bool


FAULTS = {
    "shaken": "camera shake",
    "whip_pans": "whip pans",
    "tilted": "tilt",
    "badly_lit": "bad light",
    "cut": "cut",
    "blurred": "blur",
}


@step(
    "clip selection", asks=[SELECTOR], paper="1,015",
    requests=1, characters=1000, images=14, reply_tokens=60,
)  # fmt: skip
def select_clips(row: ClipRow, asking: Asking, *, config: CastBenchConfig) -> ClipRow:
    seconds = spread_seconds(range(row.last + 1), config.frames)
    images = clip_images(row, seconds, config, asking)
    verdict = asking.ask(
        SELECTOR, "cast_bench_selection", ClipVerdict, images, seconds=[clock(second) for second in seconds]
    )
    if not verdict.several_people_act_apart:
        raise Removed("model: no two people who act separately", row.clip)
    for name, fault in FAULTS.items():
        if getattr(verdict, name):
            raise Removed(f"model: {fault}", row.clip)
    return row


Picture = NDArray[np.uint8]
"""(H, W, 3) RGB."""
Change = Callable[[int, Picture], Picture]
"""Changes the picture of a second."""


def clip_images(
    row: ClipRow, seconds: Sequence[int], config: CastBenchConfig, asking: Asking, *changes: Change
) -> list[bytes]:
    """Return the pictures of a clip at some seconds as JPEG files, each once for every change."""
    try:
        with asking.heavy():
            reader = PyavFrames(config.clips / row.clip, threads=1)
            # Only one picture is in memory at a time.
            pictures = ((second, reader.read([reader.number_at(second)])[0]) for second in seconds)
            return [
                as_jpeg(change(second, picture), config.side)
                for second, picture in pictures
                for change in changes or (lambda _, picture: picture,)
            ]
    except UnreadableClip as error:
        raise Removed("unreadable clip", row.clip) from error


def spread_seconds(seconds: Sequence[int], most: int) -> list[int]:
    """Return so many of the seconds at most, evenly spread from the first to the last."""
    if len(seconds) <= most:
        return list(seconds)
    if most == 1:
        return [seconds[len(seconds) // 2]]
    return [seconds[round(place * (len(seconds) - 1) / (most - 1))] for place in range(most)]


OUTLINE = (255, 0, 0)
BLUR = 0.03
"""Radius of the blur, in longer sides of the picture."""
PADDING = 0.25
"""On each side of a crop, in sides of the largest box."""
SMALLEST_CROP = 32


def outline(picture: Picture, box: PixelBox) -> Picture:
    image = Image.fromarray(picture)
    thick = max(1, round(max(image.size) / 200))
    left, top, right, bottom = box
    edges = (left - thick, top - thick, right - 1 + thick, bottom - 1 + thick)
    ImageDraw.Draw(image).rectangle(edges, outline=OUTLINE, width=thick)
    return np.asarray(image)


def blur_around(picture: Picture, box: PixelBox) -> Picture:
    image = Image.fromarray(picture)
    blurred = np.array(image.filter(ImageFilter.GaussianBlur(max(2.0, BLUR * max(image.size)))))
    left, top, right, bottom = box
    blurred[top:bottom, left:right] = picture[top:bottom, left:right]
    return blurred


def crop_side(boxes: Mapping[int, PixelBox]) -> int:
    """Return the side of all crops that follow an instance, so that it keeps its scale."""
    largest = max((max(x2 - x1, y2 - y1) for x1, y1, x2, y2 in boxes.values()), default=0)
    return max(SMALLEST_CROP, round(largest * (1 + 2 * PADDING)))


def crop_around(picture: Picture, box: PixelBox, side: int) -> Picture:
    """Return a square crop that has a box in its middle, black where it leaves the frame."""
    x1, y1, x2, y2 = box
    left, top = (x1 + x2 - side) // 2, (y1 + y2 - side) // 2
    height, width = picture.shape[:2]
    rows, columns = slice(max(0, top), min(height, top + side)), slice(max(0, left), min(width, left + side))
    crop = np.zeros((side, side, 3), dtype=np.uint8)
    crop[rows.start - top : rows.stop - top, columns.start - left : columns.stop - left] = picture[rows, columns]
    return crop


def blacken(picture: Picture, second: float, boxes: Iterable[TimedBox]) -> Picture:
    """Return a picture of a second with every pixel black that a box of that time touches."""
    masked: Picture = picture.copy()
    for box in boxes_at(second, boxes):
        masked[touched_pixels(box)] = 0
    return masked


# ---- descriptions of each instance ---------------------------------------------------------------------------------


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
def describe_looks(row: InstanceRow, asking: Asking, *, config: CastBenchConfig) -> InstanceRow:
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
def describe_actions(row: InstanceRow, asking: Asking, *, config: CastBenchConfig) -> InstanceRow:
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
            read = _read_edit(entry, clip)
            if isinstance(read, str):
                problems.add(row.where, read)
            else:
                name, timed = read
                edited[clip.id, name].add(timed)
    for key, (where, name) in skipped.items():
        if edited[key]:
            problems.add(where, f"Expected no entries of those who are skipped, but got some of {quote(name)}.")
    by_clip: defaultdict[str, dict[str, tuple[TimedEntry, ...]]] = defaultdict(dict)
    for (clip_id, name), entries in edited.items():
        by_clip[clip_id][name] = tuple(
            TimedEntry(start=start, end=end, text=text) for start, end, text in sorted(entries)
        )
    return by_clip


def _read_edit(entry: EditedText, clip: ClipRow) -> tuple[str, tuple[int, int, str]] | str:
    """Return the instance of an entry, its seconds and its text; or what is wrong with it."""
    span, instance = read_span(entry.start, entry.end, clip.last), _find_instance(entry.name, clip)
    if instance is None:
        return f"Expected name to be an instance of the clip, but got {quote(entry.name)}."
    if span is None:
        times = f"{quote(entry.start)} to {quote(entry.end)}"
        return f"Expected times MM:SS within the clip, but got {times}."
    if not entry.text.strip():
        return "Expected text to be what happens, but got none."
    return instance.id, (*span, entry.text.strip())


def _find_instance(name: str, clip: ClipRow) -> TrackedInstance | None:
    """Return the instance that a release of the clip calls so: by its name, by a noun and its id, or by its id."""
    named = [one for one in clip.instances if one.name and as_label(one.name) == as_label(name)]
    if len(named) == 1:
        return named[0]
    by_id = [one for one in clip.instances if name == one.id or name.endswith(f"_{one.id}")]
    return max(by_id, key=lambda one: len(one.id)) if by_id else None
