"""Candidates for minimal pairs, from CSV, JSON lines or a prepared table, and rules by which answers exclude each
other.
"""

from __future__ import annotations

import importlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict

from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.forms import (
    RowForm,
    RowType,
    WholeText,
    read_csv,
    read_json,
    read_parquet,
    read_rows,
    validate_value,
)
from lmms_eval_tasks.utils.core.text import describe, first_line, is_utf8, summarize_names

COLUMNS = ("item_id", "clip", "question", "answer")
OPTIONS = "options"
SKILL = "skill"
ONE_SKILL = "all"
"""The skill of every candidate where the file names none."""


@dataclass(frozen=True)
class Candidate:
    item_id: str
    clip: str
    question: str
    answer: str
    skill: str = ONE_SKILL


class CandidateRow(RowForm):
    model_config = ConfigDict(extra="allow")

    item_id: WholeText
    clip: WholeText
    question: WholeText
    answer: WholeText
    options: list[WholeText] | None = None


def plain_text(text: str) -> str:
    """A text as questions and answers are compared: without case, repeated white space and a final full stop."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).removesuffix(".").rstrip()


def join_questions(
    candidates: Sequence[Candidate],
    similarities: Callable[[Sequence[str], Sequence[str]], NDArray[np.float64]],
    least: float,
) -> tuple[Candidate, ...]:
    """Give questions of one meaning one wording: of each skill's, in alphabetical order, the first that is near
    enough."""
    wordings: defaultdict[str, list[str]] = defaultdict(list)
    joined: dict[tuple[str, str], str] = {}
    for skill, question in sorted({(one.skill, one.question) for one in candidates}):
        known = wordings[skill]
        cosines = similarities([question], known)[0] if known else np.zeros(0)
        near = np.flatnonzero(cosines >= least)
        if not len(near):
            known.append(question)
        joined[skill, question] = known[near[0]] if len(near) else question
    return tuple(replace(one, question=joined[one.skill, one.question]) for one in candidates)


def read_candidates(source: Path, skill: str = "") -> tuple[Candidate, ...]:
    issues = Problems()
    try:
        rows = list(read_table(source, CandidateRow, COLUMNS, issues))
    except OSError as error:
        raise InputError(f"{source.name} cannot be used: {error.strerror or error}.") from error
    others = dict.fromkeys(name for _, row in rows for name in row.model_extra or ())
    if skill and rows and skill not in others:
        raise InputError(
            f"{source.name} cannot be used: Expected a column {describe(skill)} with the skill, but the others are "
            f"{summarize_names(others, 20) or 'none'}."
        )
    column = skill or (SKILL if SKILL in others else "")
    first_places: dict[str, str] = {}
    candidates = []
    for where, row in rows:
        before = first_places.setdefault(row.item_id, where)
        if before != where:
            issues.add(
                "item_id", "Expected each once, but got again", f"{describe(row.item_id)} ({where}, as in {before})"
            )
        value = (row.model_extra or {}).get(column) if column else ONE_SKILL
        name = "" if value is None else str(value).strip()
        empty = [field for field in COLUMNS if not getattr(row, field).strip()]
        empty += [] if name and is_utf8(name) else [column]
        for field in empty:
            issues.add(field, "Expected a text, but got none in", where)
        answer = None if "answer" in empty else _answer_text(row)
        if answer is None and "answer" not in empty:
            got = f"{describe(row.answer.strip())} ({where})"
            issues.add("answer", "Expected the letter or the text of one of the options, but got", got)
        if answer is not None and not empty:
            candidates.append(Candidate(row.item_id, row.clip, row.question, answer, name))
    issues.raise_if_any(f"{source.name} cannot be used")
    if not candidates:
        raise InputError(f"{source.name} cannot be used: it holds no candidates.")
    return tuple(candidates)


def _answer_text(row: CandidateRow) -> str | None:
    """The answer in words; None for a letter or text of no option."""
    answer = row.answer.strip()
    if row.options is None:
        return answer
    options = [option.strip() for option in row.options]
    by_letter = dict(zip(ascii_uppercase, options, strict=False))
    return by_letter.get(answer) or (answer if answer in options else None)


def read_table(
    source: Path, form: type[RowType], needed: Sequence[str], issues: Problems
) -> Iterator[tuple[str, RowType]]:
    """The rows of a file that have a form, each with its place; an empty cell of CSV that is not needed is none.

    Raises:
        OSError: the file cannot be read.
        InputError: it is no table, or of another ending.
    """
    if source.suffix == ".jsonl":
        yield from read_rows(source, form, issues, exact=False)
        return
    if source.suffix not in (".csv", ".parquet"):
        raise InputError(f"Expected a file .csv, .jsonl or .parquet, but got {source.name}.")
    for where, values in _parquet_rows(source) if source.suffix == ".parquet" else _csv_rows(source, needed, issues):
        row = validate_value(values, form, issues, where)
        if row is not None:
            yield where, row


def _csv_rows(source: Path, needed: Sequence[str], issues: Problems) -> Iterator[tuple[str, dict[str, Any]]]:
    for place, cells in read_csv(source, needed):
        where = place.rpartition(", ")[2]
        values: dict[str, Any] = {name: text if name in needed else text or None for name, text in cells.items()}
        try:
            values[OPTIONS] = read_json(cells[OPTIONS]) if cells.get(OPTIONS) else None
        except ValueError as error:
            issues.add(OPTIONS, "Expected a JSON list of texts, but got", f"{error} ({where})")
            continue
        yield where, values


def _parquet_rows(source: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    import pyarrow.lib

    try:
        table = read_parquet(source)
        table.validate(full=True)
        rows = table.to_pylist()
    except (pyarrow.lib.ArrowException, ValueError) as error:
        raise InputError(
            f"{source.name} cannot be used: it is not a parquet table with texts in UTF-8 ({first_line(error)})."
        ) from error
    yield from ((f"row {number}", row) for number, row in enumerate(rows, start=1))


Rule = Callable[[str, str, str], bool]
"""Given a question and two answers, whether neither answer can be right where the other is.

It is called once for a question and two answers, in alphabetical order of the answers, never for answers that are the
same but for case, white space and a final full stop; its result must not depend on their order.
"""

_WORD = re.compile(r"\w+")


def answers_differ(question: str, first: str, second: str) -> bool:
    """The default: answers that differ in more than case, white space and a final full stop."""
    return plain_text(first) != plain_text(second)


def no_answer_within_the_other(question: str, first: str, second: str) -> bool:
    """Stricter: neither answer's words are all among the other's, as those of "a ball" are among "a red ball"."""
    one, other = (set(_WORD.findall(plain_text(text))) for text in (first, second))
    return not (one <= other or other <= one)


RULES: dict[str, Rule] = {"differ": answers_differ, "not-within": no_answer_within_the_other}
"""Our rules by name."""


def find_rule(name: str) -> Rule:
    """A rule of ours, or a function of another package as ``package.module:function``."""
    if name in RULES:
        return RULES[name]
    module, _, function = name.replace(":", ".").rpartition(".")
    reason = ""
    if module:
        try:
            rule = getattr(importlib.import_module(module), function)
            if callable(rule):
                return rule  # type: ignore[no-any-return]
            reason = " It is not a function."
        except Exception as error:  # whatever importing somebody else's module raises
            reason = f" ({first_line(error)})"
    raise InputError(f"Expected a rule, one of {', '.join(RULES)} or package.module:function, but got {name}.{reason}")


def apply_rule(rule: Rule, question: str, first: str, second: str) -> bool:
    one, other = sorted((first, second))
    try:
        return bool(rule(question, one, other))
    except Exception as error:  # whatever somebody else's rule raises
        raise InputError(
            f"The rule fails on the answers {one!r} and {other!r} to {question!r}: "
            f"{type(error).__name__}: {first_line(error)}"
        ) from error
