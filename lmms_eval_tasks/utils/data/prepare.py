"""Building a benchmark's folder of the data home: tables, placed and measured clips, and the guard of earlier sets."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lmms_eval_tasks
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.files import content_digest, file_sha256, locked, replacing, swap, write_file
from lmms_eval_tasks.utils.core.text import HOME, count_bytes, summarize_names
from lmms_eval_tasks.utils.core.work import Progress, in_parallel
from lmms_eval_tasks.utils.data.card import Card, DataSet
from lmms_eval_tasks.utils.data.clips import clip_lengths, unreadable, write_placeholder
from lmms_eval_tasks.utils.data.home import PLACEHOLDER, benchmark_dir, home, read_manifest, read_table, writable_home
from lmms_eval_tasks.utils.data.identity import BUILT_MARK, archive_warnings, counts, find_marks, groups_of, identify
from lmms_eval_tasks.utils.data.manifest import Manifest, MissingClip, SplitManifest, left_out, read_attrition
from lmms_eval_tasks.utils.data.release import Clip, DamagedSource, UnreadableClip

if TYPE_CHECKING:
    import pyarrow


def place_clip(clip: Clip | Path, target: Path, earlier: Iterable[Path]) -> None:
    """Make `target` a clip: linked where it is a file, else kept or taken from an earlier build, else made."""
    if isinstance(clip, Path):
        link(clip.absolute(), target)
    elif not clip.is_made(target):
        target.unlink(missing_ok=True)
        made = next(filter(clip.is_made, earlier), None)
        if made is not None:
            link_or_copy(made, target)
            return
        with replacing(target) as beside:
            clip.make(beside)


def link(path: Path, target: Path) -> None:
    """Make `target` a symbolic link to `path`; a hard link or a copy where the file system has no symbolic ones."""
    if target.is_symlink() and target.readlink() == path:
        return
    target.unlink(missing_ok=True)
    try:
        target.symlink_to(path)
    except OSError:
        link_or_copy(path, target)


def link_or_copy(path: Path, target: Path) -> None:
    """Make `target` a second name of the file, or a copy where the file system has no hard links."""
    try:
        os.link(path, target, follow_symlinks=False)
    except OSError:
        shutil.copyfile(path, target, follow_symlinks=False)


Measure = Callable[[Path], Mapping[str, Any]]
"""From a clip's file to numbers of it, as JSON values by name; several threads call it."""


def measure_clips(
    videos: Path, names: Collection[str], measure: Measure, kept: Path, progress: Progress, what: str
) -> dict[str, Mapping[str, Any]]:
    """The numbers of clips."""
    before = _read(kept)
    marks = {name: _mark(videos / name) for name in names}
    found = {name: before[mark] for name, mark in marks.items() if mark in before}
    with kept.open("a", encoding="utf-8") as file:
        # The last line may have been cut off.
        if file.tell():
            file.write("\n")
        missing = [name for name in names if name not in found]
        for name, numbers in in_parallel(missing, lambda name: measure(videos / name), progress, what):
            found[name] = numbers
            file.write(json.dumps([marks[name], numbers]) + "\n")
            file.flush()
    return found


def _mark(clip: Path) -> str:
    """Return a mark that distinguishes a clip from another at the same path."""
    facts = clip.stat()
    return f"{clip.name} {facts.st_size} {facts.st_mtime_ns}"


def _read(kept: Path) -> dict[str, Mapping[str, Any]]:
    """Read the earlier measurements, by mark; an incomplete line is left out."""
    found = {}
    for line in kept.read_text(encoding="utf-8").splitlines() if kept.is_file() else ():
        try:
            mark, numbers = json.loads(line)
        except (ValueError, TypeError):
            continue
        found[mark] = numbers
    return found


_ALLOWED: ContextVar[bool] = ContextVar("allowed", default=False)
"""A benchmark's `prepare` has no parameter for it, so that none can forget it."""

logger = logging.getLogger(__name__)


@contextmanager
def replacement(allowed: bool) -> Iterator[None]:
    """Whether builds in this block may put a set in the place of another one."""
    token = _ALLOWED.set(allowed)
    try:
        yield
    finally:
        _ALLOWED.reset(token)


def check_replacement(card: Card, split: str, table: pyarrow.Table, data_set: DataSet, source: str) -> None:
    """Refuse a split that would take the place of another set; say so where it may.

    A set is another one where an item that is prepared is not in it as it is, or where it is not the official release
    and what is prepared is. Sample data gives way to anything, and takes the place of nothing but sample data.

    Args:
        card: The benchmark's.
        split: The split that is to be prepared.
        table: Its table.
        data_set: What it is.
        source: Where it is from.

    Raises:
        InputError: sample data would replace real data, or a set another one without leave.
    """
    title, folder = card.title, benchmark_dir(card.name)
    earlier = earlier_splits(card)
    real = [name for name, facts in earlier.items() if not facts.data_set.is_sample]
    if data_set.is_sample and real:
        raise InputError(
            f"{title}, split {split}, cannot be prepared from sample data: {folder} holds real data "
            f"({', '.join(real)}), which sample data never replaces.\n"
            f"Remedy: point {HOME} at another folder while you work with the sample."
        )
    if data_set.is_sample or split not in earlier:
        return
    held = earlier[split].data_set
    if held.is_sample:
        logger.warning("%s, split %s: %s from %s replaces the sample data", title, split, data_set.text, source)
        return
    lost, number = _lost_items(card, split, table, _same_place(source, earlier[split].source))
    if not lost and (data_set.is_official or not held.is_official):
        return
    what = f"{held.text} from {earlier[split].source}"
    if _ALLOWED.get():
        logger.warning("%s, split %s: %s from %s replaces %s", title, split, data_set.text, source, what)
        return
    changed = (
        f"{len(lost):,} of its {number:,} items are not in the new set as they are ({summarize_names(lost, 3)})"
        if lost
        else "the new set has its items and others"
    )
    raise InputError(
        f"{title}, split {split}, cannot be prepared from {source}: {folder} holds another set, {what}, and this one "
        f"is {data_set.text}; {changed}. What was prepared before is untouched.\n"
        f"Remedy: point {HOME} at another folder, so that both stay, or prepare with --replace."
    )


def earlier_splits(card: Card) -> Mapping[str, SplitManifest]:
    """Splits prepared before; none where there is no manifest that this version can read."""
    try:
        return read_manifest(card).splits
    except InputError:
        return {}


def _same_place(one: str, other: str) -> bool:
    return Path(one).expanduser().absolute() == Path(other).expanduser().absolute()


def _lost_items(card: Card, split: str, table: pyarrow.Table, same_place: bool) -> tuple[list[str], int]:
    """The prepared items that a new table lacks or asks otherwise, and how many are prepared."""
    try:
        held, _ = read_table(card, split)
    except InputError:
        return [], 0
    clips = () if same_place else card.clip_columns
    columns = ["item_id", "group_id", "question", "options", "answer", *clips]
    new = {row["item_id"]: row for row in table.select(columns).to_pylist()}
    old: list[dict[str, Any]] = held.select(columns).to_pylist()
    return [row["item_id"] for row in old if new.get(row["item_id"]) != row], len(old)


CLIP_SECONDS = "clip_seconds"
"""The column of how long a row's clips are together; tables that an earlier version prepared have none."""


@dataclass(frozen=True)
class Origin:
    """Source from which a split was read, as recorded in the manifest.

    Attributes:
        source: The folder, the file or the name on the hub that the user gave.
        files: Names of its files with their path or their content; the manifest has their SHA-256.
        revision: Its revision on the hub.
        warnings: What is unusual in it.
        own: Whether it is known to be no release, as a folder of the user's own videos is.
    """

    source: str
    files: Mapping[str, Path | bytes] = field(default_factory=dict)
    revision: str | None = None
    warnings: tuple[str, ...] = ()
    own: bool = False


@dataclass
class Build:
    """One build of a benchmark's folder; made by `building`."""

    card: Card
    folder: Path
    current: Path
    splits: dict[str, SplitManifest] = field(default_factory=dict)
    items_left_out: int = 0

    def add_split(
        self,
        split: str,
        rows: Sequence[Mapping[str, Any]],
        extra: Mapping[str, pyarrow.DataType | str],
        clips: Mapping[str, Clip | Path | None],
        origin: Origin,
        progress: Progress,
        whole: bool = False,
        decoded: Container[str] = (),
        files: Mapping[str, str] | None = None,
        videos: Path | None = None,
        measure: Measure | None = None,
    ) -> None:
        """Place a split's clips and write its table."""
        import pyarrow as pa

        card = self.card
        if strays := [name for name in clips if not name.startswith(f"{split}/")]:
            raise ValueError(f"Expected clips named {split}/…, but got {strays[0]}.")
        warnings = origin.warnings
        if removed := left_out():
            kept = [row for row in rows if row["group_id"] not in removed.ids]
            if number := len(rows) - len(kept):
                self.items_left_out += number
                warnings = (*warnings, f"{number:,} items are left out, whose groups {removed.name} removes.")
            rows = kept
            shown = {row[name] for row in rows for name in card.clip_columns}
            clips = {name: clip for name, clip in clips.items() if name in shown}
        if videos is not None:
            _refuse_wrong_folder(card, split, videos, clips)
        clips = {name: None if isinstance(clip, Path) and not clip.is_file() else clip for name, clip in clips.items()}
        digests = {name: _digest(content, progress) for name, content in origin.files.items()}
        table = make_table([{**row, "clip_present": True} for row in rows], extra)
        marks = find_marks(origin.source, (clip for clip in clips.values() if isinstance(clip, Path)))
        data_set = identify(card, split, table, origin.source, digests, marks, origin.own, origin.revision)
        attrition = read_attrition(origin.source) if BUILT_MARK in marks else None
        check_replacement(card, split, table, data_set, origin.source)
        missing = self._place(split, clips, progress, whole, decoded)
        missing = tuple(entry.model_copy(update={"file": (files or {}).get(entry.clip)}) for entry in missing)
        absent = {entry.clip for entry in missing}
        present = [all(row[name] not in absent for name in card.clip_columns) for row in rows]
        at = table.schema.get_field_index("clip_present")
        table = table.set_column(at, table.schema.field(at), pa.array(present))
        for name, numbers in self._measure(split, rows, absent, measure, progress).items():
            at = table.schema.get_field_index(name)
            table = table.set_column(at, table.schema.field(at), pa.array(numbers, table.schema.field(at).type))
        table = table.append_column(CLIP_SECONDS, pa.array(self._seconds(split, rows, absent, progress), pa.float64()))
        path = self.folder / f"{split}.parquet"
        write_table(table, path)
        compared = [] if data_set.is_sample or origin.own else counts(card, split, table)
        self.splits[split] = SplitManifest(
            source=origin.source,
            source_sha256=digests,
            revision=origin.revision,
            data_set=data_set,
            answers_withheld=all(row["answer"] is None for row in rows),
            rows=len(rows),
            groups=len(groups_of(card, table)),
            clips=len(clips),
            missing=missing,
            warnings=(
                *archive_warnings(card, origin.source, digests, marks),
                *warnings,
                *(str(count) for count in compared if count.expected != count.found),
            ),
            table_sha256=file_sha256(path),
            attrition=attrition,
        )

    def _seconds(
        self, split: str, rows: Sequence[Mapping[str, Any]], absent: Container[str], progress: Progress
    ) -> list[float | None]:
        """Return the total seconds of the clips of each row, to the millisecond; None if a clip is missing or has no
        stated length."""
        videos, columns = self.folder / "videos", self.card.clip_columns
        clips = [[row[name] for name in columns] for row in rows]
        present = {videos / clip for of_row in clips for clip in of_row if clip not in absent}
        lengths = clip_lengths(sorted(present), progress, f"{split}: reading clips' lengths")
        found = [[lengths.get(videos / clip) for clip in of_row] for of_row in clips]
        return [None if None in of_row else round(sum(filter(None, of_row)), 3) for of_row in found]

    def _measure(
        self,
        split: str,
        rows: Sequence[Mapping[str, Any]],
        absent: Container[str],
        measure: Measure | None,
        progress: Progress,
    ) -> dict[str, list[Any]]:
        """Columns of what is measured of the rows' clips; None where a clip is not there."""
        if measure is None:
            return {}
        clips = dict.fromkeys(row["clip"] for row in rows if row["clip"] not in absent)
        kept = self.folder / f"{split}.measured"
        found = measure_clips(self.folder / "videos", clips, measure, kept, progress, f"{split}: measuring clips")
        columns = dict.fromkeys(name for numbers in found.values() for name in numbers)
        return {name: [found.get(row["clip"], {}).get(name) for row in rows] for name in columns}

    def _place(
        self,
        split: str,
        clips: Mapping[str, Clip | Path | None],
        progress: Progress,
        whole: bool,
        decoded: Container[str],
    ) -> tuple[MissingClip, ...]:
        videos, earlier = self.folder / "videos", self.current / "videos"
        present = {name: clip for name, clip in clips.items() if clip is not None}
        _drop_others(videos / split, {videos / name for name in present})
        made = {name: clip for name, clip in present.items() if not isinstance(clip, Path)}
        needed = sum(clip.size for name, clip in made.items() if not (videos / name).is_file())
        free = shutil.disk_usage(self.folder).free
        if needed > free:
            raise InputError(
                f"{self.card.title}, split {split}, cannot be prepared: its clips need "
                f"{count_bytes(needed)}, but {home()} has {count_bytes(free)} free. What was prepared before is "
                f"untouched.\nRemedy: free disk space or point {HOME} elsewhere."
            )
        reasons: dict[str, MissingClip] = {}
        damages, splits = Problems(), self.card.splits

        def place(name: str) -> UnreadableClip | DamagedSource | None:
            (videos / name).parent.mkdir(parents=True, exist_ok=True)
            # Splits may share clips: what was made for one serves the other.
            places = (earlier / one / name.removeprefix(f"{split}/") for one in (split, *splits))
            try:
                place_clip(present[name], videos / name, places)
            except (UnreadableClip, DamagedSource) as error:
                return error
            return None

        for name, error in in_parallel(present, place, progress, f"{split}: placing clips"):
            if isinstance(error, DamagedSource):
                damages.add(error.where, error.what, remedy=error.remedy)
            elif error is not None:
                reasons[name] = MissingClip(clip=name, reason="unreadable")
        damages.raise_if_any(
            f"{self.card.title}, split {split}, cannot be prepared",
            "what was prepared before is untouched, and clips that are finished are kept for the next time",
        )
        placed = [videos / name for name in present if name not in reasons and name not in decoded]
        what = f"{split}: {'decoding' if whole else 'opening'} clips"
        for path in unreadable(placed, progress=progress, what=what, whole=whole):
            path.unlink()
            name = path.relative_to(videos).as_posix()
            reasons[name] = MissingClip(clip=name, reason="unreadable")
        for name in clips.keys() - present.keys():
            reasons[name] = MissingClip(clip=name, reason="absent")
        return tuple(reasons[name] for name in clips if name in reasons)


def _refuse_wrong_folder(card: Card, split: str, videos: Path, clips: Mapping[str, Clip | Path | None]) -> None:
    """Refuse a folder that the user named for the clips and that holds none of those that should lie in it."""
    named = [clip for clip in clips.values() if isinstance(clip, Path) and clip.is_relative_to(videos.absolute())]
    if named and not any(clip.is_file() for clip in named):
        what = card.title if len(card.splits) == 1 else f"{card.title}, split {split}"
        raise InputError(
            f"{what} cannot be prepared: none of its {len(named):,} clips is in {videos}, and nothing was written.\n"
            f"Expected clips such as {named[0]}. Remedy: give --videos the folder that they are named from."
        )


def _digest(content: Path | bytes, progress: Progress) -> str:
    return content_digest(content, progress) if isinstance(content, Path) else hashlib.sha256(content).hexdigest()


def make_table(rows: Sequence[Mapping[str, Any]], extra: Mapping[str, pyarrow.DataType | str]) -> pyarrow.Table:
    """The prepared table of rows: the common columns, then the benchmark's own."""
    import pyarrow as pa

    columns = {
        "item_id": pa.string(),
        "group_id": pa.string(),
        "question": pa.string(),
        "options": pa.list_(pa.string()),
        "answer": pa.string(),
        "clip": pa.string(),
        "clip_present": pa.bool_(),
        **extra,
    }
    return pa.Table.from_pylist([dict(row) for row in rows], schema=pa.schema(list(columns.items())))


def write_table(table: pyarrow.Table, path: Path) -> None:
    """Write a prepared table; the same rows give the same bytes."""
    import pyarrow.parquet

    with replacing(path) as beside:
        pyarrow.parquet.write_table(table, beside, compression="zstd")


@contextmanager
def building(card: Card) -> Iterator[Build]:
    """Build a benchmark's folder, as `installed.sets.building` explains."""
    current = benchmark_dir(card.name)
    folder = writable_home() / f".{card.name}.building"
    with locked(current):
        folder.mkdir(exist_ok=True)
        build = Build(card, folder, current)
        yield build
        if (removed := left_out()) and not build.items_left_out:
            raise InputError(f"{removed.name} cannot be used: {card.title} has none of its groups.")
        _keep_other_splits(build)
        write_placeholder(folder / PLACEHOLDER)
        manifest = Manifest(
            tool_version=lmms_eval_tasks.__version__,
            benchmark=card.name,
            splits=dict(sorted(build.splits.items())),
        )
        write_file(folder / "manifest.json", manifest.model_dump_json(indent=1) + "\n")
        _drop_unknown(build)
        swap(folder, current)


def _keep_other_splits(build: Build) -> None:
    for split, facts in earlier_splits(build.card).items():
        if split in build.splits or not (build.current / f"{split}.parquet").is_file():
            continue
        build.splits[split] = facts
        videos = build.current / "videos" / split
        files = [build.current / f"{split}.parquet", *(path for path in videos.rglob("*") if not path.is_dir())]
        _drop_others(build.folder / "videos" / split, set())
        for path in files:
            target = build.folder / path.relative_to(build.current)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            if path.is_symlink():
                target.symlink_to(path.readlink())
            else:
                link_or_copy(path, target)


def _drop_others(folder: Path, keep: set[Path]) -> None:
    """Delete every file below a folder that is not to be kept, and the folders that are empty then."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                path.rmdir()
        elif path not in keep:
            path.unlink()


def _drop_unknown(build: Build) -> None:
    """Delete what an interrupted build, perhaps of another split, left behind."""
    tables = {f"{split}.parquet" for split in build.splits}
    for path in build.folder.glob("*.parquet"):
        if path.name not in tables:
            path.unlink()
    for path in build.folder.glob("*.measured"):
        path.unlink()
    for path in build.folder.glob("videos/*"):
        if path.name not in build.splits:
            shutil.rmtree(path)
