"""Annotators' questions, read from CSV or JSON lines."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field

from lmms_eval_tasks.build.causalvqa.config import PairBuildConfig
from lmms_eval_tasks.build.causalvqa.rows import AnnotatedQuestion
from lmms_eval_tasks.build.causalvqa.texts import LONGEST_OPTION, LONGEST_QUESTION
from lmms_eval_tasks.build.engine.texts import bare_words
from lmms_eval_tasks.causalvqa.card import TYPES
from lmms_eval_tasks.utils.core.errors import GroupedIssues, InputError, Problems
from lmms_eval_tasks.utils.core.forms import RowForm, WholeText, read_csv, read_rows
from lmms_eval_tasks.utils.core.text import quote
from lmms_eval_tasks.utils.core.work import no_progress
from lmms_eval_tasks.utils.data.clips import clip_lengths
from lmms_eval_tasks.utils.data.release import is_safe

COLUMNS = ("clip", "start", "end", "type", "question", "answer")
SLACK = 0.05
"""Seconds by which an end may lie behind the video's, whose length is not stated to the frame."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,59}")

Seconds = Annotated[float, Field(allow_inf_nan=False)]


class AnnotatorRow(RowForm):
    """A line of an annotators' file: an `AnnotatedQuestion`, its name if it has one."""

    clip: WholeText
    start: Seconds
    end: Seconds
    type: WholeText
    question: WholeText
    answer: WholeText
    qid: WholeText = ""


def read_questions(config: PairBuildConfig) -> list[AnnotatedQuestion]:
    """Annotators' questions, in the file's order."""
    source, problems = config.annotations, Problems()
    rows = list(_read(source, problems))
    paths = {row.clip: config.clips / row.clip for _, row in rows if is_safe(row.clip)}
    lengths = clip_lengths([path for path in paths.values() if path.is_file()], no_progress, "reading lengths of clips")
    seen: dict[str, str] = {}
    questions = []
    for where, row in rows:
        kind = row.type.strip().lower()
        if kind not in TYPES:
            problems.add(where, f"Expected type to be one of {', '.join(TYPES)}, but got {quote(row.type)}.")
        for name, longest in (("question", LONGEST_QUESTION), ("answer", LONGEST_OPTION)):
            text = getattr(row, name)
            if not bare_words(text) or len(text) > longest:
                problems.add(
                    where, f"Expected {name} to be a text of 1 to {longest} characters, but got {quote(text)}."
                )
        _check_clip(row, config.clips, paths, lengths, where, problems)
        name = row.qid.strip() or _name(row)
        if not _NAME.fullmatch(name):
            problems.add(where, f"Expected qid to be letters, digits, dots and hyphens, but got {quote(name)}.")
        if name in seen:
            problems.add(where, f"Expected each question once, but {seen[name]} has it too.")
        seen.setdefault(name, where)
        question, answer = (" ".join(text.split()) for text in (row.question, row.answer))
        place = row.model_dump(include={"clip", "start", "end"})
        questions.append(AnnotatedQuestion(id=name, type=kind, question=question, answer=answer, **place))
    problems.raise_if_any(f"{source.name} cannot be built from", "nothing was asked")
    if not questions:
        raise InputError(f"Expected questions in {source.name}, but got none.")
    return questions


def _read(source: Path, problems: Problems) -> Iterator[tuple[str, AnnotatorRow]]:
    if source.suffix.lower() != ".csv":
        issues = GroupedIssues()
        try:
            for place, row in read_rows(source, AnnotatorRow, issues, exact=False):
                yield f"{source.name}, {place}", row
        except OSError as error:
            raise InputError(f"{source.name} cannot be used: {error.strerror or error}.") from error
        problems.extend(issues.as_problems(f"{source.name}, "))
        return
    for where, cells in read_csv(source, COLUMNS):
        times = {name: read_seconds(cells[name]) for name in ("start", "end")}
        for name in (name for name, time in times.items() if math.isnan(time)):
            problems.add(where, f"Expected {name} in seconds, but got {quote(cells[name])}.")
        named = {name: cells[name] for name in (*COLUMNS, "qid") if name in cells}
        # Not by its form, which has no NaN, so that the rest of such a row is looked at, too.
        yield where, AnnotatorRow.model_construct(None, **{**named, **times})


def read_seconds(cell: str) -> float:
    """The number that a cell holds; NaN where it holds none."""
    try:
        time = float(cell)
    except ValueError:
        return math.nan
    return time if math.isfinite(time) else math.nan


def _check_clip(
    row: AnnotatorRow,
    folder: Path,
    paths: dict[str, Path],
    lengths: dict[Path, float | None],
    where: str,
    problems: Problems,
) -> None:
    if row.clip not in paths:
        problems.add(where, f"Expected clip to name a file in {folder}, but got {quote(row.clip)}.")
        return
    path = paths[row.clip]
    if path not in lengths:
        problems.add(where, f"Expected a video {path}, but there is none.")
        return
    length = lengths[path]
    if length is None:
        problems.add(where, f"Expected {path} to be a video, but it cannot be opened or does not say how long it is.")
    elif not (math.isnan(row.start + row.end) or 0 <= row.start < row.end <= length + SLACK):
        times = f"{row.start:g} to {row.end:g}"
        problems.add(where, f"Expected start and end within the {length:.2f} seconds of {row.clip}, but got {times}.")


def _name(row: AnnotatorRow) -> str:
    content = [row.clip, row.start, row.end, row.type, row.question, row.answer]
    return hashlib.sha256(json.dumps(content).encode("ascii")).hexdigest()[:8]
