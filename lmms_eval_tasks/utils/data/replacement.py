"""What may take the place of a prepared set: the same set and more of it, but no other set unless that is allowed."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmms_eval_tasks.utils.benchmark.card import Card
from lmms_eval_tasks.utils.benchmark.data_set import DataSet
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.variables import HOME
from lmms_eval_tasks.utils.core.wording import summarize_names
from lmms_eval_tasks.utils.data.home import benchmark_dir, read_manifest, read_table
from lmms_eval_tasks.utils.data.manifest import SplitManifest

if TYPE_CHECKING:
    import pyarrow

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
