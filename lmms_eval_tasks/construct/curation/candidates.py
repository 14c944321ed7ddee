"""Candidates for minimal pairs, from CSV, JSON lines or a prepared table, and rules by which answers exclude each
other.
"""

from __future__ import annotations

import pkgutil
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from string import ascii_uppercase
from typing import Annotated

from pydantic import BeforeValidator

from lmms_eval_tasks.construct.curation.meaning import entails
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.forms import (
    FormRows,
    Key,
    RawText,
    ReleaseRow,
    ReleaseType,
    WholeText,
    mismatch,
    read_content,
    read_csv_form,
    read_json,
    read_json_form,
    read_parquet,
)
from lmms_eval_tasks.utils.core.text import describe, first_line, is_utf8, quote, summarize_names

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


def _listed(value: object) -> object:
    """The value of a JSON list in a cell of CSV; an empty cell is an empty list."""
    try:
        return (read_json(value) if value.strip() else []) if isinstance(value, str) else value
    except ValueError:
        raise mismatch("a JSON list of texts", value) from None


OptionTexts = Annotated[list[WholeText], BeforeValidator(_listed)]


class CandidateRow(ReleaseRow, extra="allow"):
    item_id: Annotated[RawText, Key]
    clip: RawText
    question: RawText
    answer: RawText
    options: OptionTexts | None = None


def plain_text(text: str) -> str:
    """A text as questions and answers are compared: without case, repeated white space and a final full stop."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).removesuffix(".").rstrip()


def read_candidates(source: Path, skill: str = "") -> tuple[Candidate, ...]:
    problems = Problems()
    rows = read_table(CandidateRow, source, problems)
    others = dict.fromkeys(name for row in rows for name in row.model_extra or ())
    if skill and rows and skill not in others:
        raise InputError(
            f"{source.name} cannot be used: Expected a column {describe(skill)} with the skill, but the others are "
            f"{summarize_names(others, 20) or 'none'}."
        )
    column = skill or (SKILL if SKILL in others else "")
    candidates = []
    for row in rows:
        answer = row.answer.strip()
        if row.options:
            options = [option.strip() for option in row.options]
            by_letter = dict(zip(ascii_uppercase, options, strict=False))
            answer = by_letter.get(answer) or (answer if answer in options else "")
        if not answer:
            expected = "Expected answer to be the letter or the text of one of the options"
            problems.add(row.where, f"{expected}, but got {quote(row.answer.strip())}.")
        value = (row.model_extra or {}).get(column) if column else ONE_SKILL
        name = "" if value is None else str(value).strip()
        if not name or not is_utf8(name):
            problems.add(row.where, f"Expected {column} to be a text, but got {quote(name) if name else 'none'}.")
        candidates.append(Candidate(row.item_id, row.clip, row.question, answer, name))
    problems.raise_if_any(f"{source.name} cannot be used")
    return tuple(candidates)


def read_table(form: type[ReleaseType], source: Path, problems: Problems) -> FormRows[ReleaseType]:
    """The rows of a file .csv, .jsonl or .parquet that have a form."""
    suffix = source.suffix.lower()
    if suffix == ".csv":
        return read_csv_form(form, read_content(source), source.name, problems, exact=False)
    if suffix == ".jsonl":
        return read_json_form(form, read_content(source), source.name, problems, lines=True)
    if suffix != ".parquet":
        raise InputError(f"Expected a file .csv, .jsonl or .parquet, but got {source.name}.")
    import pyarrow.lib

    try:
        rows = read_parquet(source).to_pylist()
    except OSError as error:
        raise InputError(f"{source.name} cannot be used: {error.strerror or error}.") from error
    except (pyarrow.lib.ArrowException, ValueError) as error:
        raise InputError(
            f"{source.name} cannot be used: it is not a parquet table with texts in UTF-8 ({first_line(error)})."
        ) from error
    return read_json_form(form, rows, source.name, problems)


Rule = Callable[[str, str, str], bool]
"""Given a question and two answers, whether neither answer can be right where the other is.

It is called once for a question and two answers, in alphabetical order of the answers, never for answers that are the
same but for case, white space and a final full stop; its result must not depend on their order.
"""


def answers_differ(question: str, first: str, second: str) -> bool:
    """Answers that differ in more than case, white space and a final full stop."""
    return plain_text(first) != plain_text(second)


def no_answer_entails_the_other(question: str, first: str, second: str) -> bool:
    """The default: neither answer is right wherever the other is, as "a ball" is where "a red ball" is."""
    return not (entails(first, second) or entails(second, first))


RULES: dict[str, Rule] = {"not-entailed": no_answer_entails_the_other, "differ": answers_differ}
"""Our rules by name."""


def find_rule(name: str) -> Rule:
    """A rule of ours, or a function of another package as ``package.module:function``."""
    if name in RULES:
        return RULES[name]
    try:
        rule = pkgutil.resolve_name(name)
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
