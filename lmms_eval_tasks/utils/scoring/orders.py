"""Items whose options are moved: in every cyclic order, or with the key replaced; and the records of the orders."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from string import ascii_uppercase
from typing import Any

from lmms_eval_tasks.utils.scoring.record import ORDERS, Record

NONE = "None of these"
"""The option that stands in place of the key."""
_TURN = re.compile(r"#rotated(\d+)$")


def whole_id(item_id: str) -> str:
    """Return the id of the item that a row of the view `rotated` was made from; any other id as it is."""
    return _TURN.sub("", item_id)


def _turn(item_id: str) -> int:
    found = _TURN.search(item_id)
    return int(found[1]) if found else 0


def rotate(row: Mapping[str, Any], columns: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """Yield a row for each cyclic order of an item's options; `columns` have an entry for each option.

    Source: the circular evaluation of MMBench (Liu et al. 2024, section 4.3), which VLMEvalKit has.
    """
    count = len(row["options"])
    for turn in range(count or 1):
        moved = {name: [*row[name][turn:], *row[name][:turn]] for name in columns if row[name]}
        key = row["answer"]
        answer = ascii_uppercase[(ascii_uppercase.index(key) - turn) % count] if key and count else key
        yield {
            **row,
            **moved,
            "answer": answer,
            "item_id": f"{row['item_id']}#rotated{turn}" if turn else row["item_id"],
        }


def replace_key(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row in which no option is right but one that says so; as it is where its key is withheld."""
    if not (row["answer"] and row["options"]):
        return row
    place = ascii_uppercase.index(row["answer"])
    return {**row, "options": [*row["options"][:place], NONE, *row["options"][place + 1 :]]}


def turn_back(record: Record, row: Mapping[str, Any]) -> Record:
    """Return the record of a rotated row with the letters that its item's options have in their own order."""
    turn, count = _turn(record.item_id), len(row["options"])

    def letter(shown: str | None) -> str | None:
        if not shown or shown not in ascii_uppercase[:count]:
            return shown
        return ascii_uppercase[(ascii_uppercase.index(shown) + turn) % count]

    turned = replace(record, expected=letter(record.expected), answered=letter(record.answered))
    return turned.with_fields(**{ORDERS: count or 1})


def join_orders(records: Iterable[Record]) -> Iterator[Record]:
    """Yield one record for each item: those of its other orders are its samples; items in one order as they are."""
    found: dict[str, list[Record]] = {}
    for record in records:
        if record.orders:
            found.setdefault(whole_id(record.item_id), []).append(record)
        else:
            yield record
    for item_id, orders in found.items():
        first, *others = (
            replace(one, item_id=item_id, sample=number if len(orders) > 1 else None)
            for number, one in enumerate(sorted(orders, key=lambda one: _turn(one.item_id)), start=1)
        )
        yield replace(first, samples=tuple(others))
