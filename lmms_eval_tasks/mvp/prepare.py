"""From the official MVP annotations, and a folder of videos or the sources' own downloads, to a prepared table."""

from __future__ import annotations

import ast
import json
import random
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import typer

from lmms_eval_tasks.api import InputError, Origin, Problems, Progress, SplitManifest, building, no_progress
from lmms_eval_tasks.api.release import download_dataset, is_safe, quote, summarize_names
from lmms_eval_tasks.mvp.card import CARD, SUBSETS
from lmms_eval_tasks.mvp.raw import find_raw_clips, read_folders

ANNOTATIONS = ("*.md", "*.parquet", "*.json", "*.jsonl", "*.csv")
"""Files of the dataset on the hub that hold annotations or say where they are."""
COLUMNS = ("video_id", "video_path", "question", "answer", "candidates")
UNKNOWN = "unknown"
"""Source of a row that names none."""
LETTERS = ("A", "B")
VIDEOS = "videos"
"""Folder with the clips in a set that `build` made; the official one has none, as its clips are not redistributed."""
LONGEST = 10_000


def prepare(
    videos: Annotated[
        Path | None, typer.Option(help="Folder that holds one folder per source of videos.", show_default=False)
    ] = None,
    source: Annotated[str, typer.Option(help="Dataset on the hub, or a folder with a snapshot of it.")] = CARD.hub_id,
    split: Annotated[str, typer.Option(help="Split to prepare: mini or full.")] = "mini",
    raw: Annotated[
        list[str] | None,
        typer.Option(help="Unpacked downloads of sources: ssv2=DIR,intphys=DIR,…", show_default=False),
    ] = None,
    random_pairs: Annotated[
        int | None,
        typer.Option(help="Pair clips of one question at random, with this seed, in place of the released pairs."),
    ] = None,
    progress: Progress = no_progress,
) -> dict[str, SplitManifest]:
    """Prepare one split of MVP; videos are linked, or made of the sources' own downloads.

    A source that is given with `raw` is taken from there, others from `videos`; a set that `build` made has its own. Of
    a download only the wanted clips are taken; what is not MP4 there is converted, several at a time, and every clip is
    decoded to its end.

    Clips that are absent or unreadable are listed in the manifest, for few have all nine sources, and a run refuses
    them unless it is to skip them. Annotations that cannot be scored stop this, and nothing is written then; what is
    merely unusual in them is a warning. Downloads that are damaged stop it too; what can be seen without decoding is
    checked first.

    Returns:
        Split name to what was prepared.

    Raises:
        InputError: the annotations cannot be loaded or have problems, there is no such folder, or it holds none of the
            clips, or a download is damaged (all problems are listed).

    Examples:
        lmms-eval-tasks prepare mvp --split mini --videos videos
        lmms-eval-tasks prepare mvp --split full --raw ssv2=downloads/ssv2 --videos videos
        lmms-eval-tasks prepare mvp --videos videos --random-pairs 0
    """
    if split not in CARD.splits:
        raise InputError(f"Expected split to be one of {', '.join(CARD.splits)}, but got {split!r}.")
    root, revision = Path(source), None
    if videos is None and not raw and (root / VIDEOS).is_dir():
        videos = root / VIDEOS
    if videos is None and not raw:
        raise InputError(
            "MVP cannot be prepared: Expected a folder of videos (--videos DIR), unpacked downloads of their sources "
            "(--raw ssv2=DIR,intphys=DIR,…), or both."
        )
    if videos is not None and not videos.is_dir():
        raise InputError(f"MVP cannot be prepared: there is no folder {videos} to take the videos from.")
    problems = Problems()
    folders = read_folders(raw or (), problems)
    problems.raise_if_any("MVP cannot be prepared", "nothing was written")
    rows: list[dict[str, Any]] = []
    read: dict[str, bytes] = {}
    if not root.is_dir():
        root, revision = download_dataset(source, CARD.title, ANNOTATIONS)
    subsets = released_subsets(root)
    for done, subset in enumerate(subsets, 1):
        released = load_subset(root, subset, split)
        # Columns that are not ours may have values that JSON does not know.
        read[f"{subset}/{split}"] = json.dumps(released, sort_keys=True, default=repr).encode()
        rows += read_items(subset, split, released, problems)
        progress(f"{split}: reading annotations", done, len(subsets))
    if random_pairs is not None and not problems:
        rows = pair_at_random(rows, random_pairs)
        if not rows:
            raise InputError(f"MVP, split {split}, cannot be paired at random: no question has two answers.")
    paths = {row["clip"]: row["clip"].removeprefix(f"{split}/") for row in rows}
    downloaded = find_raw_clips(folders, paths.values(), problems, progress)
    problems.raise_if_any(f"MVP, split {split}, cannot be prepared", "nothing was written")
    files = {clip: downloaded[path].file for clip, path in paths.items() if path in downloaded}
    clips = {
        clip: downloaded[path].clip if path in downloaded else videos.absolute() / path if videos else None
        for clip, path in paths.items()
    }
    made = {clip for clip, kind in clips.items() if not isinstance(kind, Path | None)}
    origin = Origin(source, read, revision, problems.warnings(), own=random_pairs is not None)
    with building(CARD.name) as build:
        build.add_split(
            split, rows, own_columns(), clips, origin, progress, bool(raw), decoded=made, files=files, videos=videos
        )
    return {split: build.splits[split]}


def released_subsets(root: Path) -> tuple[str, ...]:
    """The configurations that a snapshot's card names: all of them, but for a set that `build` made of some."""
    import datasets

    try:
        named = set(datasets.get_dataset_config_names(str(root)))
    except Exception:  # loading them says what is wrong
        named = set()
    return tuple(subset for subset in SUBSETS if subset in named) or SUBSETS


def load_subset(root: Path, subset: str, split: str) -> list[dict[str, Any]]:
    """The rows of one configuration as released."""
    import datasets

    quiet = not datasets.are_progress_bars_disabled()
    if quiet:
        datasets.disable_progress_bars()
    try:
        with tempfile.TemporaryDirectory() as scratch:
            # The snapshot is read afresh each time: the library would otherwise keep a copy of it for ever.
            table = datasets.load_dataset(str(root), subset, split=split, cache_dir=scratch, keep_in_memory=True)
            return [dict(row) for row in table]
    except Exception as error:
        reason = str(error).strip() or type(error).__name__
        raise InputError(
            f"MVP, {subset}, split {split}, cannot be loaded from {root}: {reason.splitlines()[0]}\n"
            "Remedy: give --source a folder with a whole snapshot of the dataset."
        ) from error
    finally:
        if quiet:
            datasets.enable_progress_bars()


def read_items(
    subset: str, split: str, released: Sequence[Mapping[str, Any]], problems: Problems
) -> list[dict[str, Any]]:
    """The items of a subset, members of a pair adjacent, pairs in the order in which their first member was
    released."""
    file = f"{subset}/{split}"
    if not released:
        problems.add(file, "Expected rows, but got none.")
        return []
    if lacking := [name for name in COLUMNS if name not in released[0]]:
        problems.add(file, f"Expected the columns {', '.join(COLUMNS)}, but {', '.join(lacking)} is missing.")
        return []
    pairs: dict[str, list[dict[str, Any]]] = {}
    seen: dict[str, int] = {}
    broken: set[str] = set()
    for number, row in enumerate(released, 1):
        where = f"{file}, row {number} (video_id {row['video_id'] or 'missing'})"
        if empty := [name for name in COLUMNS if name != "candidates" and not _is_text(row[name])]:
            problems.add(where, f"Expected a text as {', '.join(empty)}, but got none.")
            broken.add(_stem(row["video_id"]))
            continue
        if row["video_id"] in seen:
            problems.add(where, f"Expected each video_id once, but row {seen[row['video_id']]} has it too.")
        seen.setdefault(row["video_id"], number)
        item = _read_row(subset, split, row, where, problems)
        if item["source"] == UNKNOWN:
            problems.warn(f"{file}: rows without a source, which are counted under {UNKNOWN}", item["item_id"])
        if item["group_id"]:
            pairs.setdefault(item["group_id"], []).append(item)
    for stem, members in pairs.items():
        where = f"{file}, pair {stem}"
        if stem in broken:
            continue
        if len(members) != 2:
            names = summarize_names(member["item_id"] for member in members)
            problems.add(where, f"Expected two rows, but got {len(members)} (video_id {names}).")
            continue
        first, second = members
        if first["question"].strip() != second["question"].strip():
            problems.warn(f"{file}: pairs with two questions", stem)
        if _plain(first["options"]) != _plain(second["options"]):
            problems.warn(f"{file}: pairs whose videos have different candidates", stem)
        if _answer_text(first) == _answer_text(second):
            problems.warn(f"{file}: pairs with the same answer to both videos", stem)
    return [member for members in pairs.values() for member in members]


def pair_at_random(rows: Sequence[Mapping[str, Any]], seed: int) -> list[dict[str, Any]]:
    """Pairs of clips that have a question in common and other answers, as Table 5 of the paper compares with its
    own."""
    by_question: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        by_question.setdefault((row["subset"], row["question"].strip()), []).append(row)
    made: list[dict[str, Any]] = []
    for question, asked in by_question.items():
        draws = random.Random(f"{seed} {question}")
        waiting = [(row, _answer_text(row)) for row in draws.sample(asked, len(asked))]
        while waiting:
            first, text = waiting.pop()
            differs = (
                n
                for n in reversed(range(len(waiting)))
                if waiting[n][1] != text and waiting[n][0]["clip"] != first["clip"]
            )
            if (place := next(differs, None)) is None:
                continue
            second, other = waiting.pop(place)
            options = draws.sample([text, other], 2)
            group = f"random_{seed}_{len(made) // 2 + 1:06d}"
            for member, (row, answer) in enumerate(((first, text), (second, other)), 1):
                letter = LETTERS[options.index(answer)]
                made.append(
                    {**row, "item_id": f"{group}_{member}", "group_id": group, "options": options, "answer": letter}
                )
    return made


def read_candidates(value: object) -> list[str]:
    """The two candidates of a question, from the Python literal that the release holds; nothing is evaluated."""
    candidates = value
    if isinstance(value, str):
        if len(value) > LONGEST:
            raise ValueError(f"Expected candidates of at most {LONGEST} characters, but got {len(value)}.")
        try:
            candidates = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            candidates = None
    if not isinstance(candidates, list) or len(candidates) != 2 or not all(_is_text(text) for text in candidates):
        raise ValueError(f"Expected candidates to be a list of two texts, but got {quote(value)}.")
    if candidates[0].strip() == candidates[1].strip():
        raise ValueError(f"Expected candidates that differ, but got {quote(candidates[0])} twice.")
    return candidates


def _read_row(subset: str, split: str, row: Mapping[str, Any], where: str, problems: Problems) -> dict[str, Any]:
    options: list[str] = []
    answer = None
    try:
        options = read_candidates(row["candidates"])
    except ValueError as error:
        problems.add(where, str(error))
    else:
        texts = [option.strip() for option in options]
        if row["answer"].strip() in texts:
            answer = LETTERS[texts.index(row["answer"].strip())]
        else:
            problems.add(where, f"Expected answer to be one of the candidates, but got {quote(row['answer'])}.")
    path = row["video_path"].lstrip("/")
    if not is_safe(path):
        found = quote(row["video_path"])
        problems.add(where, f"Expected video_path to name a file in the videos' folder, but got {found}.")
    stem = _stem(row["video_id"])
    if not stem:
        problems.add(where, "Expected video_id in the form <pair>_<member>.")
    return {
        "item_id": row["video_id"],
        "group_id": stem,
        "question": row["question"],
        "options": options,
        "answer": answer,
        "clip": f"{split}/{PurePosixPath(path)}",
        "subset": subset,
        "source": row["source"] if _is_text(row.get("source")) else UNKNOWN,
    }


def _stem(video_id: object) -> str:
    return str(video_id or "").rpartition("_")[0]


def _answer_text(item: Mapping[str, Any]) -> str | None:
    return item["options"][LETTERS.index(item["answer"])].strip() if item["answer"] else None


def _plain(options: Sequence[str]) -> list[str]:
    return sorted(option.strip() for option in options)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def own_columns() -> dict[str, Any]:
    """The benchmark's own columns and their types."""
    return {"subset": "string", "source": "string"}
