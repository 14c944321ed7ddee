"""Annotators' responses and ratings, read from CSV and checked against their items, and agreement of raters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.forms import read_csv, read_parquet
from lmms_eval_tasks.utils.core.text import first_line, quote
from lmms_eval_tasks.utils.people.inquiries import AskedItem, Inquiry, Scale
from lmms_eval_tasks.utils.scoring.bootstrap import macro_interval

COLUMNS = ("item", "version", "annotator", "choice")
UNKNOWN = "UNKNOWN"
UNKNOWN_CREDIT = 0.5
"""YoCausal paper: credit of an annotator who does not know, in its human study."""
RIGHT = 1.0
"""Credit of a response that is the key."""
OPTIONS = "options"
NOT_STRATA = (
    "item", "item_id", "group_id", "version", "answer", "question", "options", "clip", "clip_present", "clip_seconds",
)  # fmt: skip

Key = tuple[str, str]
"""A question and its version."""


@dataclass(frozen=True)
class AskedQuestion:
    answer: str | None
    choices: Sequence[str] = ()
    strata: Mapping[str, str] = field(default_factory=dict)
    written: bool = False
    item_id: str = ""


@dataclass(frozen=True)
class Response:
    """One annotator's response to one version of a question; `credit` is 0-1."""

    item: str
    version: str
    annotator: str
    choice: str
    credit: float


def read_items(source: Path, clips: Collection[str] = ()) -> dict[Key, AskedQuestion]:
    is_table = source.suffix == ".parquet"
    rows = list(_parquet_rows(source) if is_table else read_csv(source, ("item", "version", "answer")))
    not_strata = {*NOT_STRATA, *clips}
    if is_table:  # nor the columns in which versions of an item differ
        first: dict[str, Mapping[str, Any]] = {}
        for _, row in rows:
            same = first.setdefault(row["item"], row)
            not_strata |= {name for name, value in row.items() if same[name] != value}
    problems = Problems()
    asked: dict[Key, AskedQuestion] = {}
    strata_of: dict[str, Mapping[str, str]] = {}
    named: set[str] = set()
    for where, row in rows:
        item, item_id = str(row["item"]), str(row.get("item_id") or "")
        key = item, str(row["version"])
        if key in asked:
            problems.add(where, f"Expected an item once, but {_name(key)} is there twice.")
            continue
        strata = {name: str(value) for name, value in row.items() if name not in not_strata}
        if strata_of.setdefault(item, strata) != strata:
            problems.add(where, f"Expected one stratum for both versions of {item}, but they differ.")
        if item_id in named:
            problems.add(where, f"Expected each item_id once, but {quote(item_id)} is there twice.")
        named |= {item_id} - {""}
        letters = ascii_uppercase[: len(row["options"])] if OPTIONS in row else ""
        answer = str(row["answer"]).strip().upper() if row["answer"] else None
        asked[key] = AskedQuestion(answer, letters, strata, OPTIONS in row and not letters, item_id)
    problems.raise_if_any(f"{source.name} cannot be used")
    return asked


def join_pairs(responses: Iterable[Response]) -> list[Response]:
    """Return one response of each person to each pair of which both members were answered: right where both are."""
    of_pair: dict[tuple[str, str], list[Response]] = {}
    for response in responses:
        of_pair.setdefault((response.item, response.annotator), []).append(response)
    return [
        Response(item, "", annotator, "|".join(one.choice for one in both), min(one.credit for one in both))
        for (item, annotator), both in of_pair.items()
        if len(both) == 2
    ]


def read_human_responses(
    source: Path,
    asked: Mapping[Key, AskedQuestion] | None = None,
    others_too: bool = False,
    whole_pairs: bool = False,
) -> list[Response]:
    """Read raw annotator responses and give each its credit: 1 if right, 0 if wrong, 0.5 for *unknown*."""
    problems = Problems()
    responses: list[Response] = []
    first_seen: dict[tuple[str, str, str], tuple[str, str]] = {}
    for where, row in read_csv(source, COLUMNS):
        item, version, annotator, choice = (str(row[name] or "").strip() for name in COLUMNS)
        if others_too and asked is not None and (item, version) not in asked:
            continue
        if empty := [name for name in COLUMNS if name != "version" and not str(row[name] or "").strip()]:
            problems.add(where, f"Expected a value for {', '.join(empty)}, but got none.")
            continue
        choice = choice.upper()
        if choice != UNKNOWN and asked is not None and (item, version) in asked and asked[item, version].written:
            choice = as_written(choice)
        counted = (item, version if whole_pairs else "", annotator)
        before = first_seen.setdefault(counted, (version, where))
        if before[1] != where:
            again = "a second response" if before[0] == version else f"version {version} after version {before[0]}"
            problems.add(
                where,
                f"Expected one response of {annotator} to {item}, but got {again}; the first is at {before[1]}.",
                remedy="Keep one of them: nobody counts twice for one question.",
            )
        try:
            credit = _credit((item, version), choice, str(row.get("correct") or "").strip(), asked)
        except ValueError as error:
            problems.add(where, str(error))
        else:
            responses.append(Response(item, version, annotator, choice, credit))
    problems.raise_if_any(f"{source.name} cannot be used")
    if not responses:
        raise InputError(f"{source.name} holds no responses{' to these items' if others_too else ''}.")
    return responses


def _credit(key: Key, choice: str, marked: str, asked: Mapping[Key, AskedQuestion] | None) -> float:
    """Return the credit of a response; raises ValueError with the reason why it is not known."""
    if marked not in ("", "0", "1") and choice != UNKNOWN:
        raise ValueError(f"Expected correct to be 0 or 1, but got {quote(marked)}.")
    question = AskedQuestion(None) if asked is None else asked.get(key)
    if question is None:
        raise ValueError(f"Expected an item of the table, but got {_name(key)}.")
    if choice == UNKNOWN:
        return UNKNOWN_CREDIT
    answer, choices, written = question.answer, question.choices, question.written
    if choices and not written and choice not in tuple(choices):
        raise ValueError(f"Expected a choice out of {', '.join(choices)} or unknown, but got {quote(choice)}.")
    if answer is None:
        if not marked:
            raise ValueError(f"Expected correct, for the answer to {_name(key)} is not known, but got none.")
        return float(marked)
    if written:
        return float(marked or choice == as_written(answer))
    if marked and (choice == answer) != (marked == "1"):
        raise ValueError(f"Expected correct to agree with the key {answer}, but got {marked} for {choice}.")
    return float(choice == answer)


def as_written(answer: str) -> str:
    """Return a written answer without what does not tell two apart: case, spaces, and how a number is put."""
    text = " ".join(answer.upper().split())
    try:
        return repr(float(text))
    except ValueError:
        return text


def _name(key: Key) -> str:
    return f"{key[0]}, version {key[1]}" if key[1] else key[0]


def _parquet_rows(source: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the rows of a prepared table, their columns of texts, numbers and truth values, and their options."""
    import pyarrow.lib

    try:
        table = read_parquet(source)
        table = table.select([field.name for field in table.schema if field.name == OPTIONS or _is_plain(field.type)])
        table.validate(full=True)
        rows = table.to_pylist()
    except (pyarrow.lib.ArrowException, OSError, ValueError) as error:
        raise InputError(
            f"{source.name} cannot be used: it is not a parquet table with texts in UTF-8 ({first_line(error)})."
        ) from error
    if missing := [name for name in ("group_id", "answer") if name not in table.column_names]:
        raise InputError(
            f"{source.name} cannot be used: Expected the columns {', '.join(missing)} with texts, but it lacks them."
        )
    for number, (row, (item, version)) in enumerate(zip(rows, AskedItem.keys(rows), strict=True), start=1):
        where = f"{source.name}, row {number}"
        options = row.get(OPTIONS, [])
        if not isinstance(options, list) or not all(isinstance(option, str) for option in options):
            raise InputError(f"{where}: Expected options as a list of texts, but got {quote(options)}.")
        yield where, {**row, "item": item, "version": version}


def _is_plain(data_type: Any) -> bool:
    from pyarrow import types

    value_type = data_type.value_type if types.is_dictionary(data_type) else data_type
    kinds = (types.is_string, types.is_large_string, types.is_integer, types.is_floating, types.is_boolean)
    return types.is_null(value_type) or any(is_kind(value_type) for is_kind in kinds)


def keyed_questions(
    inquiry: Inquiry, rows: Sequence[Mapping[str, Any]], strata: Sequence[str] = ()
) -> dict[Key, AskedQuestion]:
    """Return the questions that a benchmark's own inquiry asks about rows, as responses are graded."""
    assert inquiry.items is not None
    by_id = {row["item_id"]: {name: str(row[name]) for name in strata} for row in rows}
    return {
        (item.item, way): AskedQuestion(
            item.key or None,
            [choice.value for choice in item.choices],
            by_id.get(item.item_id, {}),
            not item.choices,
            item.item_id,
        )
        for item in inquiry.items(rows)
        for way in item.ways
    }


@dataclass(frozen=True)
class Rating:
    """Choices of one annotator for one item, by the name of the scale."""

    item_id: str
    annotator: str
    values: Mapping[str, str]


@dataclass(frozen=True)
class ScaleScore:
    items: int
    value: float
    interval: tuple[float, float]
    alpha: float | None


def read_ratings(source: Path, scales: Sequence[Scale], known: Container[str]) -> list[Rating]:
    problems = Problems()
    ratings: dict[tuple[str, str], Rating] = {}
    for where, row in read_csv(source, ("item_id", "annotator", *(scale.name for scale in scales))):
        key = row["item_id"].strip(), row["annotator"].strip()
        if not all(key):
            problems.add(where, "Expected a value for item_id and annotator, but got none.")
            continue
        if key[0] not in known:
            problems.add(where, f"Expected an item of the table, but got {quote(key[0])}.")
        if key in ratings:
            problems.add(where, f"Expected one row of {key[1]} for {key[0]}, but got another.")
        for scale in scales:
            if row[scale.name] not in scale.choices:
                expected = f"Expected {scale.name} to be one of {', '.join(scale.choices)}"
                problems.add(where, f"{expected}, but got {quote(row[scale.name])}.")
        ratings.setdefault(key, Rating(*key, {scale.name: row[scale.name] for scale in scales}))
    problems.raise_if_any(f"{source.name} cannot be used")
    if not ratings:
        raise InputError(f"{source.name} holds no ratings.")
    return list(ratings.values())


def score_scale(scale: Scale, ratings: Sequence[Rating]) -> ScaleScore:
    # Percent of the first of two choices, so that alpha by name and by interval is the same.
    first = next(iter(scale.choices))
    worth = {value: float(value) if scale.is_numeric else 100.0 * (value == first) for value in scale.choices}
    by_item: defaultdict[str, list[float]] = defaultdict(list)
    for rating in ratings:
        by_item[rating.item_id].append(worth[rating.values[scale.name]])
    means = [sum(values) / len(values) for values in by_item.values()]
    interval = macro_interval([[(mean, 1.0) for mean in means]], (min(worth.values()), max(worth.values())))
    return ScaleScore(len(by_item), sum(means) / len(means), interval, alpha_of(list(by_item.values())))


def alpha_of(units: Sequence[Sequence[float]]) -> float | None:
    """Return Krippendorff's alpha by interval: 1 for ratings that agree, 0 for what chance would do."""
    rated = [unit for unit in units if len(unit) > 1]
    values = [value for unit in rated for value in unit]
    # Sums of squared differences over ordered pairs, by way of sums and sums of squares.
    spread = 2 * (len(values) * sum(value * value for value in values) - sum(values) ** 2)
    if not rated or spread <= 1e-9:
        return None
    within = sum(sum((one - other) ** 2 for one, other in permutations(unit, 2)) / (len(unit) - 1) for unit in rated)
    return 1 - (len(values) - 1) * within / spread
