"""The data home: places of prepared tables and clips, how a run reads them, and reports of missing clips."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from pydantic import ValidationError

from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import file_sha256, read_steadily, why_unwritable
from lmms_eval_tasks.utils.core.forms import read_parquet
from lmms_eval_tasks.utils.core.text import HOME, MISSING, summarize_names
from lmms_eval_tasks.utils.data.card import Card
from lmms_eval_tasks.utils.data.manifest import SCHEMA, Manifest, SplitManifest

if TYPE_CHECKING:
    import datasets
    import pyarrow

PLACEHOLDER = "placeholder.mp4"
SAMPLE_REMEDY = "\nTo try without the data:  lmms-eval-tasks sample --out sample --prepare"

P = ParamSpec("P")
T = TypeVar("T")

logger = logging.getLogger(__name__)


def home() -> Path:
    """Return the data home: $LMMS_EVAL_TASKS_HOME, else `lmms_eval_tasks` in $HF_HOME or ~/.cache/huggingface."""
    chosen = os.environ.get(HOME)
    hub = os.environ.get("HF_HOME") or "~/.cache/huggingface"
    try:
        path = Path(chosen or f"{hub}/lmms_eval_tasks").expanduser().absolute()
        str(path).encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"Expected the data home to have a path in UTF-8, but got {error.object}. Set {HOME} to another one."
        ) from None
    except RuntimeError as error:  # a user id that a container was given, of no known user
        named = f"{chosen} of {HOME}" if chosen else "a home folder to keep data in"
        raise InputError(f"Expected {named}, but this user has none. Set {HOME} to a folder.") from error
    return path


def writable_home() -> Path:
    """Return the data home, made where it is missing; a file was written to it, for a lock would be waited for."""
    folder = home()
    if reason := why_unwritable(folder):
        raise InputError(
            f"The data home {folder} cannot be written to: {reason}. Nothing was written.\n"
            f"Remedy: set {HOME} to a folder of your own."
        )
    return folder


def benchmark_dir(benchmark: str) -> Path:
    return home() / benchmark


def table_path(benchmark: str, split: str) -> Path:
    return benchmark_dir(benchmark) / f"{split}.parquet"


def clip_path(benchmark: str, clip: str) -> Path:
    """Return the path of a clip in the data home, whether or not it exists; the row's `clip_present` says so.

    Args:
        benchmark: Name of the benchmark.
        clip: The clip as the prepared table names it, beginning with its split: ``test/a.mp4``.

    Raises:
        InputError: the data home has a path that is not UTF-8.
    """
    return benchmark_dir(benchmark) / "videos" / clip


def placeholder_path(benchmark: str) -> Path:
    return benchmark_dir(benchmark) / PLACEHOLDER


def media_path(benchmark: str, row: Mapping[str, Any], column: str = "clip") -> Path:
    """Return a video that can be opened for a row: the clip of a column, or a black one where the row lacks a clip."""
    return clip_path(benchmark, row[column]) if row["clip_present"] else placeholder_path(benchmark)


def _steady(read: Callable[Concatenate[Card, P], T]) -> Callable[Concatenate[Card, P], T]:
    """Let a function read a benchmark's folder again where it was replaced meanwhile."""

    @wraps(read)
    def read_again(card: Card, /, *args: P.args, **options: P.kwargs) -> T:
        return read_steadily(benchmark_dir(card.name), lambda: read(card, *args, **options))

    return read_again


@_steady
def read_manifest(card: Card) -> Manifest:
    path = benchmark_dir(card.name) / "manifest.json"
    if not path.is_file():
        raise InputError(f"{card.title} is not prepared: there is no {path}.\n{prepare_remedy(card)}")
    try:
        return Manifest.model_validate_json(path.read_text(encoding="utf-8"))
    except (ValidationError, UnicodeDecodeError) as error:
        raise InputError(
            f"{card.title} cannot be used: {path} is not a manifest of format {SCHEMA}.\n{prepare_remedy(card)}"
        ) from error


def prepare_remedy(card: Card) -> str:
    """Return the commands to run if a benchmark is not prepared, with the real release and with sample data."""
    return f"Run:  {card.prepare_command}{SAMPLE_REMEDY}"


@_steady
def read_table(card: Card, split: str) -> tuple[pyarrow.Table, SplitManifest]:
    title, splits = f"{card.title}, split {split},", read_manifest(card).splits
    if split not in splits:
        held = f"{benchmark_dir(card.name)} holds {', '.join(splits)}"
        raise InputError(f"{title} is not prepared: {held}.\n{prepare_remedy(card)}")
    path = table_path(card.name, split)
    if not path.is_file() or file_sha256(path) != splits[split].table_sha256:
        raise InputError(f"{title} cannot be used: {path} is not the prepared table.\n{prepare_remedy(card)}")
    return read_parquet(path), splits[split]


@_steady
def load_table(
    card: Card, split: str, require_clips: bool = True, absent: Mapping[str, str] | None = None
) -> datasets.Dataset:
    """Return the prepared table of a split, as `registry.load_table` explains."""
    import datasets

    skip = skip_missing()
    table, facts = read_table(card, split)
    if require_clips and absent is None:
        absent = absent_clips(card, split, table)
    if not require_clips or not absent:
        return datasets.Dataset(table, fingerprint=facts.table_sha256[:16])
    report = missing_report(card, split, facts, absent)
    if not skip:
        raise InputError(report)
    logger.warning(report.splitlines()[0])
    present = [absent.keys().isdisjoint(clips) for clips in clips_of_rows(card, table)]
    return datasets.Dataset(with_column(table, "clip_present", present))


def with_column(table: pyarrow.Table, name: str, values: Sequence[Any]) -> pyarrow.Table:
    import pyarrow as pa

    at = table.schema.get_field_index(name)
    return table.set_column(at, table.schema.field(at), pa.array(values, table.schema.field(at).type))


def skip_missing() -> bool:
    """Return whether $LMMS_EVAL_TASKS_MISSING allows a run with missing clips."""
    chosen = os.environ.get(MISSING, "")
    if chosen not in ("", "skip"):
        raise InputError(f"Expected {MISSING} to be unset or skip, but got {chosen!r}.")
    return chosen == "skip"


@_steady
def absent_clips(card: Card, split: str, table: pyarrow.Table) -> dict[str, str]:
    """Return the clips that cannot be shown now, those missing when prepared and those gone since, with their part."""
    missing = {entry.clip for entry in read_manifest(card).splits[split].missing}
    return {
        clip: source
        for clip, source in sources_of_clips(card, split, table).items()
        if clip in missing or not clip_path(card.name, clip).is_file()
    }


def clips_of_rows(card: Card, table: pyarrow.Table) -> list[tuple[str, ...]]:
    return list(zip(*(table.column(name).to_pylist() for name in card.clip_columns), strict=True))


def sources_of_clips(card: Card, split: str, table: pyarrow.Table) -> dict[str, str]:
    """Return the part of the release that each clip belongs to: its row's `source` if it has one, else the split."""
    rows = clips_of_rows(card, table)
    sources = table.column("source").to_pylist() if "source" in table.column_names else [split] * len(rows)
    return {clip: str(source) for clips, source in zip(rows, sources, strict=True) for clip in clips}


def missing_report(card: Card, split: str, facts: SplitManifest, absent: Mapping[str, str]) -> str:
    sources = ", ".join(f"{source} {count}" for source, count in sorted(Counter(absent.values()).items()))
    return (
        f"{card.title}, split {split}: {len(absent)} of {facts.clips} clips are missing ({sources}).\n"
        f"  {summarize_names(absent)}\n"
        f"Either get the clips and run:  {card.prepare_command}\n"
        f"or score without them, every score then saying how many items were asked:  {MISSING}=skip lmms-eval …"
    )


def table_file(name: str) -> Path:
    """Return the file of items that an option names: a path, or a prepared split as ``BENCHMARK:SPLIT``."""
    benchmark, _, split = name.partition(":")
    path = table_path(benchmark, split) if prepared_benchmark(name) is not None else Path(name)
    if not path.is_file():
        raise InputError(f"{name} cannot be used: there is no {path}.")
    return path


def prepared_benchmark(name: str) -> str | None:
    """Return the benchmark of a prepared split that an option names, as for `table_file`; None for a path."""
    benchmark, colon, _ = name.partition(":")
    return benchmark if colon and not Path(name).exists() else None
