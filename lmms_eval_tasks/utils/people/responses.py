"""Annotators' responses and ratings, read from CSV and checked against their items, and agreement of raters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from string import ascii_uppercase
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationInfo, create_model

from lmms_eval_tasks.utils.core import forms
from lmms_eval_tasks.utils.core.errors import InputError, Problems
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


class _ItemRow(forms.ReleaseRow, extra="allow"):
    """A row of a table of items; its other columns are strata."""

    item: Annotated[forms.Text, forms.Key]
    version: Annotated[forms.Cell, forms.Key]
    answer: Annotated[forms.Cell, AfterValidator(str.upper)]
    item_id: forms.Cell = ""


class _PreparedRow(_ItemRow):
    options: list[str] = Field(default_factory=list)


def read_items(source: Path, clips: Collection[str] = ()) -> dict[Key, AskedQuestion]:
    problems, is_table = Problems(), source.suffix == ".parquet"
    rows: forms.FormRows[Any]
    if is_table:
        rows = forms.read_json_form(_PreparedRow, _prepared_rows(source), source.name, problems)
    else:
        rows = forms.read_csv_form(_ItemRow, forms.read_content(source), source.name, problems, exact=False)

    def value(row: _ItemRow, name: str) -> str:
        return str((row.model_extra or {}).get(name))

    names = [name for name in rows.columns if name not in (*NOT_STRATA, *clips)]
    if is_table:  # columns in which versions of an item differ are no strata
        first = {row.item: row for row in reversed(rows)}
        names = [name for name in names if all(value(row, name) == value(first[row.item], name) for row in rows)]
    asked: dict[Key, AskedQuestion] = {}
    strata_of: dict[str, Mapping[str, str]] = {}
    named: set[str] = set()
    for row in rows:
        strata = {name: value(row, name) for name in names}
        if strata_of.setdefault(row.item, strata) != strata:
            problems.add(row.where, f"Expected one stratum for both versions of {row.item}, but they differ.")
        if row.item_id in named:
            problems.add(row.where, f"Expected each item_id once, but {quote(row.item_id)} is there twice.")
        named |= {row.item_id} - {""}
        letters = ascii_uppercase[: len(row.options)] if is_table else ""
        written = is_table and OPTIONS in rows.columns and not letters
        asked[row.item, row.version] = AskedQuestion(row.answer or None, letters, strata, written, row.item_id)
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


def _read_mark(mark: str, info: ValidationInfo) -> str:
    if mark not in ("", "0", "1") and info.data.get("choice") != UNKNOWN:
        raise forms.mismatch("0 or 1", mark)
    return mark


class _ResponseRow(forms.ReleaseRow):
    item: forms.Text
    version: forms.Cell
    annotator: forms.Text
    choice: Annotated[forms.Text, AfterValidator(str.upper)]
    correct: Annotated[forms.Cell, AfterValidator(_read_mark)] = ""


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
    for row in forms.read_csv_form(_ResponseRow, forms.read_content(source), source.name, problems, exact=False):
        key = row.item, row.version
        question = AskedQuestion(None) if asked is None else asked.get(key)
        if question is None:
            if not others_too:
                problems.add(row.where, f"Expected an item of the table, but got {_name(key)}.")
            continue
        choice = as_written(row.choice) if question.written and row.choice != UNKNOWN else row.choice
        counted = (row.item, row.version if whole_pairs else "", row.annotator)
        before, place = first_seen.setdefault(counted, (row.version, row.where))
        if place != row.where:
            again = "a second response" if before == row.version else f"version {row.version} after version {before}"
            problems.add(
                row.where,
                f"Expected one response of {row.annotator} to {row.item}, but got {again}; the first is at {place}.",
                remedy="Keep one of them: nobody counts twice for one question.",
            )
        try:
            credit = _credit(question, key, choice, row.correct)
        except ValueError as error:
            problems.add(row.where, str(error))
        else:
            responses.append(Response(row.item, row.version, row.annotator, choice, credit))
    problems.raise_if_any(f"{source.name} cannot be used")
    if not responses:
        raise InputError(f"{source.name} holds no responses to these items.")
    return responses


def _credit(question: AskedQuestion, key: Key, choice: str, marked: str) -> float:
    """Return the credit of a response; raises ValueError with the reason why it is not known."""
    answer, choices = question.answer, question.choices
    if choice == UNKNOWN:
        return UNKNOWN_CREDIT
    if question.written and answer is not None:
        return float(marked or choice == as_written(answer))
    if choices and not question.written and choice not in tuple(choices):
        raise ValueError(f"Expected a choice out of {', '.join(choices)} or unknown, but got {quote(choice)}.")
    if answer is None:
        if not marked:
            raise ValueError(f"Expected correct, for the answer to {_name(key)} is not known, but got none.")
        return float(marked)
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


def _prepared_rows(source: Path) -> list[Mapping[str, Any]]:
    """Return the rows of a prepared table, their columns of texts, numbers and truth values, and their options."""
    import pyarrow.lib
    from pyarrow import types

    def is_plain(data_type: Any) -> bool:
        kinds = (types.is_string, types.is_large_string, types.is_integer, types.is_floating, types.is_boolean)
        return types.is_null(data_type) or any(is_kind(data_type) for is_kind in kinds)

    try:
        table = forms.read_parquet(source)
        table = table.select([field.name for field in table.schema if field.name == OPTIONS or is_plain(field.type)])
        table.validate(full=True)
        rows: list[dict[str, Any]] = table.to_pylist()
    except (pyarrow.lib.ArrowException, OSError, ValueError) as error:
        raise InputError(
            f"{source.name} cannot be used: it is not a parquet table with texts in UTF-8 ({first_line(error)})."
        ) from error
    if "group_id" not in table.column_names:
        raise InputError(f"{source.name} cannot be used: Expected a column group_id with texts, but it lacks it.")
    keys = AskedItem.keys(rows)
    return [{**row, "item": item, "version": version} for row, (item, version) in zip(rows, keys, strict=True)]


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


class _RatingRow(forms.ReleaseRow):
    item_id: Annotated[forms.Text, forms.Key]
    annotator: Annotated[forms.Text, forms.Key]


def read_ratings(source: Path, scales: Sequence[Scale], known: Container[str]) -> list[Rating]:
    problems = Problems()

    def is_known(item_id: str) -> str:
        if item_id not in known:
            raise forms.mismatch("an item of the table", item_id)
        return item_id

    # A scale may be called as no field of a form can be.
    names = {scale.name: f"scale_{place}" for place, scale in enumerate(scales)}
    fields: dict[str, Any] = {"item_id": (Annotated[forms.Text, forms.Key, AfterValidator(is_known)], ...)}
    for scale in scales:
        field = Annotated[str, forms.OneOf(scale.choices), Field(validation_alias=scale.name)]
        fields[names[scale.name]] = (field, ...)
    form: type[_RatingRow] = create_model("RatingRow", __base__=_RatingRow, **fields)
    rows = forms.read_csv_form(form, forms.read_content(source), source.name, problems, exact=False)
    problems.raise_if_any(f"{source.name} cannot be used")
    return [
        Rating(row.item_id, row.annotator, {name: getattr(row, field) for name, field in names.items()}) for row in rows
    ]


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
