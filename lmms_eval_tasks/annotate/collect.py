"""Annotators' answer files, joined with their plan into what `humans` reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from lmms_eval_tasks.annotate.forms import AnswerFile, Collected, GivenAnswer, plan_digest
from lmms_eval_tasks.annotate.plan import Plan, PlannedItem
from lmms_eval_tasks.utils.core.json_rows import read_object
from lmms_eval_tasks.utils.core.problems import GroupedIssues, InputError, Problems

COLUMNS = ("item", "version", "annotator", "choice")


def read_answer_files(plan: Plan, paths: Sequence[Path]) -> list[AnswerFile]:
    """The files that pages of a plan saved, one an annotator.

    Args:
        plan: The plan.
        paths: Files, or folders whose ``.json`` files are read.

    Raises:
        InputError: with every problem: a file that is none, is of another plan, of somebody who is not in it or of whom
            there are two, of another mode than the first, or answers an item twice or one that there is not.
    """
    files = [file for path in paths for file in (sorted(path.glob("*.json")) if path.is_dir() else [path])]
    digest, own = plan_digest(plan), plan.by_annotator
    problems, read = Problems(), dict[str, AnswerFile]()
    for path in files:
        issues = GroupedIssues()
        try:
            file = read_object(path, AnswerFile, issues)
        except OSError as error:
            problems.add(path.name, f"Expected a file of answers, but it cannot be read: {error.strerror or error}.")
            continue
        if file is None:
            problems.extend(issues.as_problems(f"{path.name}, "))
            continue
        first = next(iter(read.values()), file)
        known = {row.place for row in own.get(file.annotator, [])}
        places = [answer.place for answer in file.answers]
        if file.plan != digest:
            problems.add(path.name, f"Expected answers to the plan {digest}, but got some to {file.plan}.")
        elif not known:
            problems.add(path.name, f"Expected an annotator of the plan, but got {file.annotator}.")
        elif file.annotator in read:
            problems.add(path.name, f"Expected one file of {file.annotator}, but got another.")
        elif file.mode is not first.mode:
            problems.add(path.name, f"Expected answers of one mode, {first.mode.value}, but got {file.mode.value}.")
        elif len(set(places)) < len(places) or not known.issuperset(places):
            problems.add(path.name, f"Expected one answer at most to each item of {file.annotator}, but got others.")
        else:
            read[file.annotator] = file
    problems.raise_if_any("The answers cannot be used")
    if not read:
        raise InputError("Expected files of answers, but got none.")
    return list(read.values())


def planned_answers(plan: Plan, files: Sequence[AnswerFile]) -> Iterator[tuple[PlannedItem, GivenAnswer]]:
    """What was asked, of whom, and what they gave; by annotator, in the order in which they were asked.

    Args:
        plan: The plan.
        files: Of different annotators.
    """
    own = plan.by_annotator
    for file in sorted(files, key=lambda file: file.annotator):
        rows = {row.place: row for row in own[file.annotator]}
        for given in sorted(file.answers, key=lambda answer: answer.place):
            yield rows[given.place], given


def collect_answers(plan: Plan, files: Sequence[AnswerFile], attention_errors: int = 0) -> Collected:
    """The answers to a plan.

    Args:
        plan: The plan.
        files: Of different annotators.
        attention_errors: How many wrong choices where attention is checked leave an annotator's answers in.
    """
    own = plan.by_annotator
    responses: list[dict[str, str]] = []
    inattentive: dict[str, int] = {}
    for file in sorted(files, key=lambda file: file.annotator):
        rows = {row.place: row for row in own[file.annotator]}
        given = {answer.place: answer.choice for answer in file.answers if answer.choice}
        wrong = sum(choice != rows[place].attention for place, choice in given.items() if rows[place].attention)
        if wrong > attention_errors:
            inattentive[file.annotator] = wrong
            continue
        for place in sorted(given):
            row = rows[place]
            if not row.attention:
                values = (row.item, row.version, file.annotator, given[place])
                responses.append(dict(zip(COLUMNS, values, strict=True)))
    return Collected(
        responses=tuple(responses),
        planned={file.annotator: len(own[file.annotator]) for file in files},
        answered={file.annotator: len(file.answers) for file in files},
        inattentive=inattentive,
        silent=tuple(name for name in own if name not in {file.annotator for file in files}),
    )
