"""Building a benchmark's folder of the data home: tables, placed and measured clips, and the guard of earlier sets."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

import lmms_eval_tasks
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.files import clear_parts, file_sha256, locked, remove, replacing, swap, write_file
from lmms_eval_tasks.utils.core.store import KeptValues
from lmms_eval_tasks.utils.core.text import HOME, count_bytes, quote, summarize_names
from lmms_eval_tasks.utils.core.work import Progress, in_parallel, no_progress
from lmms_eval_tasks.utils.data.card import Card, DataSet
from lmms_eval_tasks.utils.data.clips import clip_lengths, unreadable, write_placeholder
from lmms_eval_tasks.utils.data.home import (
    PLACEHOLDER,
    benchmark_dir,
    home,
    read_manifest,
    read_table,
    with_column,
    writable_home,
)
from lmms_eval_tasks.utils.data.identity import (
    BUILT_MARK,
    Origin,
    archive_warnings,
    counts,
    find_marks,
    groups_of,
    identify,
)
from lmms_eval_tasks.utils.data.manifest import Manifest, MissingClip, RemovedRows, SplitManifest, read_attrition
from lmms_eval_tasks.utils.data.release import Clip, DamagedSource, UnreadableClip

if TYPE_CHECKING:
    import pyarrow

CLIP_SECONDS = "clip_seconds"
"""The column of how long a row's clips are together; tables that an earlier version prepared have none."""
NUMBERS = "numbers"
"""The field of a kept value that has a clip's numbers."""
Measure = Callable[[Path], Mapping[str, Any]]
"""From a clip's file to numbers of it, as JSON values by name; several threads call it."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Preparation:
    """What a call of `prepare` asks of every benchmark: its `prepare` gets it first, and gives it to `building`.

    Attributes:
        progress: shows how far the work is.
        replace: whether a set may take the place of another one (`--replace`).
        removed: the groups to leave out (`--without`).
    """

    progress: Progress = no_progress
    replace: bool = False
    removed: RemovedRows | None = None


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
    try:
        os.link(path, target, follow_symlinks=False)
    except OSError:
        shutil.copyfile(path, target, follow_symlinks=False)


def measure_clips(
    videos: Path, names: Collection[str], measure: Measure, kept: Path, progress: Progress, what: str
) -> dict[str, Mapping[str, Any]]:
    """Return the numbers of clips, each measured once and kept in a folder over an interruption."""
    values = KeptValues(kept)
    facts = {name: (videos / name).stat() for name in names}
    keys = {name: f"{name} {fact.st_size} {fact.st_mtime_ns}" for name, fact in facts.items()}
    known = values.read()
    found = {name: known[key][NUMBERS] for name, key in keys.items() if key in known}
    missing = [name for name in names if name not in found]
    for name, numbers in in_parallel(missing, lambda name: measure(videos / name), progress, what):
        found[name] = numbers
        values.keep(keys[name], {NUMBERS: numbers})
    return found


@dataclass(frozen=True)
class ClipOptions:
    """How the clips of a split are checked, named and measured where the usual way does not suit a release.

    Attributes:
        whole: whether each clip is decoded to its end; else it is only opened.
        decoded: clips, by the names that rows have for them, that were decoded already and are not opened again.
        files: of clips that may be missing, the file of the source that should have had each.
        videos: the folder that the user named for the clips; refused where none of those that should lie in it does.
        measure: from a clip's file to numbers of it by their columns, as JSON values; several threads call it.
    """

    whole: bool = False
    decoded: Container[str] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    videos: Path | None = None
    measure: Measure | None = None


_USUAL_CLIPS = ClipOptions()


@dataclass
class Build:
    """One build of a benchmark's folder; made by `building`."""

    card: Card
    preparation: Preparation
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
        options: ClipOptions = _USUAL_CLIPS,
    ) -> None:
        import pyarrow as pa

        card, placed, progress = self.card, self.folder / "videos", self.preparation.progress
        if strays := [name for name in clips if not name.startswith(f"{split}/")]:
            raise ValueError(f"Expected clips named {split}/…, but got {strays[0]}.")
        _check_rows(card, split, rows, extra)
        warnings, removed = origin.warnings, self.preparation.removed
        if removed:
            kept = [row for row in rows if not removed.has(split, row)]
            if number := len(rows) - len(kept):
                self.items_left_out += number
                warnings = (*warnings, f"{number:,} items are left out, whose groups {removed.name} removes.")
            rows = kept
            shown = {row[name] for row in rows for name in card.clip_columns}
            clips = {name: clip for name, clip in clips.items() if name in shown}
        if options.videos is not None:
            _refuse_wrong_folder(card, split, options.videos, clips)
        clips = {name: None if isinstance(clip, Path) and not clip.is_file() else clip for name, clip in clips.items()}
        digests = {
            name: file_sha256(content, progress) if isinstance(content, Path) else hashlib.sha256(content).hexdigest()
            for name, content in origin.files.items()
        }
        table = make_table([{**row, "clip_present": True} for row in rows], extra)
        marks = find_marks(origin.source, (clip for clip in clips.values() if isinstance(clip, Path)))
        data_set = identify(card, split, table, origin, digests, marks)
        attrition = read_attrition(origin.source) if BUILT_MARK in marks else None
        check_replacement(card, split, table, data_set, origin.source, self.preparation.replace)
        reasons = self._place(split, clips, options)

        clips_of_rows = [[row[name] for name in card.clip_columns] for row in rows]
        table = with_column(table, "clip_present", [reasons.keys().isdisjoint(of_row) for of_row in clips_of_rows])
        if options.measure is not None:
            kept_in, what = self.folder / f"{split}.measures", f"{split}: measuring clips"
            names = dict.fromkeys(row["clip"] for row in rows if row["clip"] not in reasons)
            found = measure_clips(placed, names, options.measure, kept_in, progress, what)
            for name in dict.fromkeys(name for numbers in found.values() for name in numbers):
                table = with_column(table, name, [found.get(row["clip"], {}).get(name) for row in rows])
        present = {placed / clip for of_row in clips_of_rows for clip in of_row if clip not in reasons}
        lengths = clip_lengths(sorted(present), progress, f"{split}: reading clips' lengths")
        known = [[lengths.get(placed / clip) for clip in of_row] for of_row in clips_of_rows]
        seconds = [None if None in of_row else round(sum(filter(None, of_row)), 3) for of_row in known]
        table = table.append_column(CLIP_SECONDS, pa.array(seconds, pa.float64()))
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
            missing=tuple(
                MissingClip(clip=name, reason=reasons[name], file=options.files.get(name))
                for name in clips
                if name in reasons
            ),
            warnings=(
                *archive_warnings(card, origin.source, digests, marks),
                *warnings,
                *(str(count) for count in compared if count.expected != count.found),
            ),
            table_sha256=file_sha256(path),
            attrition=attrition,
        )

    def _place(self, split: str, clips: Mapping[str, Clip | Path | None], options: ClipOptions) -> dict[str, Any]:
        videos, earlier, progress = self.folder / "videos", self.current / "videos", self.preparation.progress
        title = f"{self.card.title}, split {split}, cannot be prepared"
        present = {name: clip for name, clip in clips.items() if clip is not None}
        reasons: dict[str, Any] = dict.fromkeys(clips.keys() - present.keys(), "absent")
        _drop_others(videos / split, {videos / name for name in present})
        made = {name: clip for name, clip in present.items() if not isinstance(clip, Path)}
        needed = sum(clip.size for name, clip in made.items() if not (videos / name).is_file())
        free = shutil.disk_usage(self.folder).free
        if needed > free:
            raise InputError(
                f"{title}: its clips need {count_bytes(needed)}, but {home()} has {count_bytes(free)} free. "
                f"Earlier prepared data is untouched.\nRemedy: free disk space or point {HOME} elsewhere."
            )

        def place(name: str) -> UnreadableClip | DamagedSource | None:
            (videos / name).parent.mkdir(parents=True, exist_ok=True)
            # Splits may share clips: what was made for one serves the other.
            places = (earlier / one / name.removeprefix(f"{split}/") for one in (split, *self.card.splits))
            try:
                place_clip(present[name], videos / name, places)
            except (UnreadableClip, DamagedSource) as error:
                return error
            return None

        damages = Problems()
        for name, error in in_parallel(present, place, progress, f"{split}: placing clips"):
            if isinstance(error, DamagedSource):
                damages.add(error.where, error.what, remedy=error.remedy)
            elif error is not None:
                reasons[name] = "unreadable"
        damages.raise_if_any(title, "earlier prepared data is untouched, and finished clips are kept for the next time")
        placed = [videos / name for name in present if name not in reasons and name not in options.decoded]
        what = f"{split}: {'decoding' if options.whole else 'opening'} clips"
        for path in unreadable(placed, progress=progress, what=what, whole=options.whole):
            path.unlink()
            reasons[path.relative_to(videos).as_posix()] = "unreadable"
        return reasons


@contextmanager
def building(card: Card, preparation: Preparation) -> Iterator[Build]:
    """Build a benchmark's folder, as `registry.building` explains."""
    current = benchmark_dir(card.name)
    folder = writable_home() / f".{card.name}.building"
    with locked(current):
        folder.mkdir(exist_ok=True)
        clear_parts(folder, age=0)
        build = Build(card, preparation, folder, current)
        yield build
        if (removed := preparation.removed) and not build.items_left_out:
            raise InputError(f"{removed.name} cannot be used: {card.title} has none of its groups.")
        _keep_other_splits(build)
        write_placeholder(folder / PLACEHOLDER)
        splits = dict(sorted(build.splits.items()))
        manifest = Manifest(tool_version=lmms_eval_tasks.__version__, benchmark=card.name, splits=splits)
        write_file(folder / "manifest.json", manifest.model_dump_json(indent=1) + "\n")
        _drop_unknown(build)
        swap(folder, current)


def check_replacement(
    card: Card, split: str, table: pyarrow.Table, data_set: DataSet, source: str, replace: bool
) -> None:
    """Refuse a split that would take the place of another set; say so where it may.

    A set is another one where an item that is prepared is not in it as it is, or where it is not the official release
    and what is prepared is. Sample data gives way to anything, and takes the place of nothing but sample data.
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
    one, other = (Path(place).expanduser().absolute() for place in (source, earlier[split].source))
    lost, number = _lost_items(card, split, table, () if one == other else card.clip_columns)
    if not lost and (data_set.is_official or not held.is_official):
        return
    what = f"{held.text} from {earlier[split].source}"
    if replace:
        logger.warning("%s, split %s: %s from %s replaces %s", title, split, data_set.text, source, what)
        return
    changed = (
        f"{len(lost):,} of its {number:,} items are not in the new set as they are ({summarize_names(lost, 3)})"
        if lost
        else "the new set has its items and others"
    )
    raise InputError(
        f"{title}, split {split}, cannot be prepared from {source}: {folder} holds another set, {what}, and this one "
        f"is {data_set.text}; {changed}. Earlier prepared data is untouched.\n"
        f"Remedy: point {HOME} at another folder, so that both stay, or prepare with --replace."
    )


def earlier_splits(card: Card) -> Mapping[str, SplitManifest]:
    try:
        return read_manifest(card).splits
    except InputError:
        return {}


def _lost_items(card: Card, split: str, table: pyarrow.Table, clips: Sequence[str]) -> tuple[list[str], int]:
    """Return the prepared items that a new table lacks or asks otherwise, and how many are prepared."""
    try:
        held, _ = read_table(card, split)
    except InputError:
        return [], 0
    columns = ["item_id", "group_id", "question", "options", "answer", *clips]
    new = {row["item_id"]: row for row in table.select(columns).to_pylist()}
    old: list[dict[str, Any]] = held.select(columns).to_pylist()
    return [row["item_id"] for row in old if new.get(row["item_id"]) != row], len(old)


def _refuse_wrong_folder(card: Card, split: str, videos: Path, clips: Mapping[str, Clip | Path | None]) -> None:
    """Refuse a folder that the user named for the clips and that holds none of those that should lie in it."""
    named = [clip for clip in clips.values() if isinstance(clip, Path) and clip.is_relative_to(videos.absolute())]
    if named and not any(clip.is_file() for clip in named):
        what = card.title if len(card.splits) == 1 else f"{card.title}, split {split}"
        raise InputError(
            f"{what} cannot be prepared: none of its {len(named):,} clips is in {videos}, and nothing was written.\n"
            f"Expected clips such as {named[0]}. Remedy: give --videos the folder that they are named from."
        )


def make_table(rows: Sequence[Mapping[str, Any]], extra: Mapping[str, pyarrow.DataType | str]) -> pyarrow.Table:
    """Return the prepared table of rows: the common columns, then the benchmark's own."""
    import pyarrow as pa

    return pa.Table.from_pylist([dict(row) for row in rows], schema=_schema(extra))


def _schema(extra: Mapping[str, pyarrow.DataType | str]) -> pyarrow.Schema:
    import pyarrow as pa

    columns = {
        **dict.fromkeys(("item_id", "group_id", "question"), pa.string()),
        "options": pa.list_(pa.string()),
        **dict.fromkeys(("answer", "clip"), pa.string()),
        "clip_present": pa.bool_(),
        **extra,
    }
    return pa.schema(list(columns.items()))


def _check_rows(
    card: Card, split: str, rows: Sequence[Mapping[str, Any]], extra: Mapping[str, pyarrow.DataType | str]
) -> None:
    """Raise InputError with all reasons why rows cannot be asked, graded or written."""
    problems = Problems()
    schema = _schema(extra)
    for name in (*card.strata_columns, *card.clip_columns):
        if name not in schema.names:
            problems.add(
                split, f'Expected a type for the column {name}, such as add_split(…, {{"{name}": "string"}}, …).'
            )
    seen: set[tuple[object, str]] = set()
    for row in rows:
        item, options, answer = str(row.get("item_id")), row.get("options") or (), row.get("answer")
        # Each subset of a split has a task of its own.
        if (named := (row.get("subset"), item)) in seen:
            problems.add(split, "Expected each item_id once, but got again", item)
        seen.add(named)
        if options and not row.get("question"):
            problems.add(split, "Expected a question in each row that has options, but there is none in", item)
        letters = ascii_uppercase[: len(options)]
        if options and answer is not None and answer not in [*letters]:
            wanted = "Expected answer to be the letter of one of a row's options, but got"
            problems.add(split, wanted, f"{quote(answer)}, not one of {', '.join(letters)} ({item})")
    for column in schema:
        if not _fits([row.get(column.name) for row in rows], column.type):
            wanted = f"Expected {column.name} to be of the type {column.type}, but got"
            for row in rows:
                if not _fits([row.get(column.name)], column.type):
                    problems.add(split, wanted, f"{quote(row[column.name])} ({row.get('item_id')})")
    problems.raise_if_any(f"{card.title} cannot be prepared", "nothing was written")


def _fits(values: Sequence[object], kind: pyarrow.DataType) -> bool:
    import pyarrow as pa

    try:
        pa.array(values, kind)
    except (pa.ArrowException, TypeError, ValueError):
        return False
    return True


def write_table(table: pyarrow.Table, path: Path) -> None:
    """Write a prepared table; the same rows give the same bytes."""
    import pyarrow.parquet

    with replacing(path) as beside:
        pyarrow.parquet.write_table(table, beside, compression="zstd")


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
    tables = (path for path in build.folder.glob("*.parquet") if path.stem not in build.splits)
    videos = (path for path in build.folder.glob("videos/*") if path.name not in build.splits)
    for path in (*tables, *videos, *build.folder.glob("*.measure*")):
        remove(path)
