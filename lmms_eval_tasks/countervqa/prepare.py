"""From a CounterVQA set to a prepared table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from lmms_eval_tasks.api import InputError, Origin, Progress, SplitManifest, building, no_progress
from lmms_eval_tasks.countervqa.card import CARD
from lmms_eval_tasks.countervqa.released import (
    CLIPS,
    GRAPHS,
    QUESTIONS,
    ClipGraph,
    CounterfactualQuestion,
    asked_goal,
    read_release,
)

SPLIT = "test"


def prepare(
    source: Annotated[
        Path,
        typer.Option(help=f"Folder with {QUESTIONS}, or such a file; {GRAPHS} lies beside it.", show_default=False),
    ],
    videos: Annotated[
        Path | None, typer.Option(help=f"Folder of the clips; by default {CLIPS} beside the questions.")
    ] = None,
    progress: Progress = no_progress,
) -> dict[str, SplitManifest]:
    """Prepare a CounterVQA set; the clips are linked, not copied.

    Clips that are absent or unreadable are listed in the manifest, and a run refuses them unless it is to skip them.

    Returns:
        Split name to what was prepared.

    Raises:
        InputError: a file or folder is missing, or the questions or graphs have problems; all are listed.

    Examples:
        lmms-eval-tasks prepare countervqa --source set
        lmms-eval-tasks prepare countervqa --source set/questions.jsonl --videos clips
    """
    questions_file = source / QUESTIONS if source.is_dir() else source
    graphs_file = questions_file.parent / GRAPHS
    for file in (questions_file, graphs_file):
        if not file.is_file():
            raise InputError(f"{CARD.title} cannot be prepared: there is no {file}.")
    if videos is not None and not videos.is_dir():
        raise InputError(f"{CARD.title} cannot be prepared: there is no folder {videos} to take the videos from.")
    questions, graphs, problems = read_release(questions_file, graphs_file)
    problems.raise_if_any(f"{questions_file.name} cannot be prepared", "nothing was written")
    folder = videos or questions_file.parent / CLIPS
    rows = make_rows(questions, graphs)
    clips = {row["clip"]: folder / row["clip"].removeprefix(f"{SPLIT}/") for row in rows}
    origin = Origin(str(source), {file.name: file for file in (questions_file, graphs_file)})
    with building(CARD.name) as build:
        build.add_split(SPLIT, rows, own_columns(), clips, origin, progress)
    return {SPLIT: build.splits[SPLIT]}


def make_rows(questions: Iterable[CounterfactualQuestion], graphs: Mapping[str, ClipGraph]) -> list[dict[str, Any]]:
    """Rows of the prepared table without `clip_present`: a question and its partner next to each other."""
    by_id = {question.id: question for question in questions}
    # Which pairs were judged is for those who make sets, and the goal stands in the row that asks about it.
    texts = {clip: graph.model_dump_json(exclude={"goal", "unlinked"}) for clip, graph in graphs.items()}
    actions = {clip: {action.id: action.text for action in graph.actions} for clip, graph in graphs.items()}
    ordered: dict[str, str] = {}
    for question in by_id.values():
        for name in (question.id, question.partner):
            if name is not None:
                ordered.setdefault(name, question.id)
    return [
        {
            "item_id": question.id,
            "group_id": group,
            "question": question.question,
            "options": [],
            "answer": question.verdict,
            "clip": f"{SPLIT}/{question.clip}",
            "level": f"L{question.level}",
            "interaction": question.interaction,
            "rule": question.rule,
            "explanation": question.explanation,
            "action": actions[question.clip][question.action] if question.action else question.absent_action,
            "outcome": actions[question.clip][question.outcome]
            if question.outcome is not None
            else asked_goal(question, graphs[question.clip]),
            "paired": question.partner is not None,
            "graph": texts[question.clip],
        }
        for question, group in ((by_id[name], group) for name, group in ordered.items())
    ]


def own_columns() -> dict[str, Any]:
    """The benchmark's own columns and their types."""
    texts = ("level", "interaction", "rule", "explanation", "action", "outcome", "graph")
    return {**dict.fromkeys(texts, "string"), "paired": "bool"}
