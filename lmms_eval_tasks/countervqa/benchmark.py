"""CounterVQA: had an action not happened, would another still have?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import typer

from lmms_eval_tasks.api import (
    AskedItem,
    Benchmark,
    InputError,
    Inquiry,
    OfferedChoice,
    Origin,
    Progress,
    Row,
    SplitManifest,
    TaskKind,
    building,
    no_progress,
)
from lmms_eval_tasks.api.answers import NO, VERDICT_READER, YES
from lmms_eval_tasks.api.people import Scale
from lmms_eval_tasks.countervqa import card, hooks, report
from lmms_eval_tasks.countervqa import report as report_module
from lmms_eval_tasks.countervqa.card import CARD, METRICS
from lmms_eval_tasks.countervqa.errors import app
from lmms_eval_tasks.countervqa.hooks import ProbeLine, VerdictLine, clock, restore_agreement
from lmms_eval_tasks.countervqa.release import (
    CLIPS,
    GRAPHS,
    QUESTIONS,
    SPLIT,
    ClipGraph,
    CounterfactualQuestion,
    asked_goal,
    read_release,
)

VALID, NOT_VALID = "VALID", "NOT_VALID"


def ask_verdicts(rows: Sequence[Row]) -> list[AskedItem]:
    """The questions, to be answered with yes or no."""
    choices = tuple(OfferedChoice(verdict.upper(), verdict[0].upper(), verdict.capitalize()) for verdict in (YES, NO))
    return [
        AskedItem(
            item=item,
            item_id=row["item_id"],
            question=row["question"],
            ways={version: (row["clip"],)},
            choices=choices,
            key=(row["answer"] or "").upper(),
        )
        for (item, version), row in zip(AskedItem.keys(rows), rows, strict=True)
    ]


def ask_links(rows: Sequence[Row]) -> list[AskedItem]:
    """Every two actions of each clip in their order of time, linked or not, and links that go against it."""
    asked = []
    for clip, text in {row["clip"]: row["graph"] for row in rows}.items():
        graph = ClipGraph.model_validate_json(text)
        links = {(link.cause, link.effect) for link in graph.links}
        by_id = {action.id: action for action in graph.actions}
        forward = list(combinations(by_id, 2))
        for pair in dict.fromkeys([*forward, *sorted(links)]):
            first, then = (f"“{by_id[one].text.strip()}” ({clock(by_id[one].start)})" for one in pair)
            name = f"{graph.clip}: {' to '.join(pair)}"
            asked.append(
                AskedItem(
                    item=name,
                    item_id=name,
                    question=f"First action: {first}. Second action: {then}. Does the first cause the second, so that "
                    "without the first the second would not have happened?",
                    ways={"": (clip,)},
                    choices=(
                        OfferedChoice(VALID, "Y", "Yes, it does"),
                        OfferedChoice(NOT_VALID, "N", "No, it does not"),
                    ),
                    key=VALID if pair in links else NOT_VALID,
                )
            )
    return asked


def _ask_each(rows: Sequence[Row]) -> list[AskedItem]:
    """Each question, with the answer to be judged where there is one."""
    return [
        AskedItem(
            item=row["item_id"],
            item_id=row["item_id"],
            question=row["question"],
            ways={"": (row["clip"],)},
            text=row.get("response", ""),
        )
        for row in rows
    ]


DIFFICULTY = Scale(
    "difficulty",
    "How hard is this question?",
    {"1": "Very easy", "2": "Easy", "3": "Neither easy nor hard", "4": "Hard", "5": "Very hard"},
)
GROUNDED = Scale(
    "grounded", "Is all that it asks about to be seen in the video?", {"yes": "Yes", "no": "No, something is not there"}
)
READABILITY = Scale(
    "readability",
    "How well can the steps of this answer be read and followed, whether it is right or not?",
    {"0": "Not at all", "1": "Badly", "2": "With trouble", "3": "Fairly", "4": "Well", "5": "Excellently"},
)

INQUIRIES = {
    "answer": Inquiry("choice", ask_verdicts, responses=15, attention=2),
    "links": Inquiry(
        "choice",
        ask_links,
        attention=2,
        positive=VALID,
        paper={"precision": "88.39", "recall": "96.29", "F1": "91.12", "accuracy": "85.86"},
    ),
    "difficulty": Inquiry(
        "ratings",
        _ask_each,
        responses=2,
        scales=(DIFFICULTY, GROUNDED),
        paper={"difficulty": "3.8 (naive 2.6)", "grounded": "97 (naive 73)"},
    ),
    "readability": Inquiry(
        "ratings",
        _ask_each,
        responses=2,
        scales=(READABILITY,),
        of_answers=True,
        paper={"readability": "3.2 and 3.5"},
    ),
}


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


VIEWS = ("blind", "single_frame", "shuffled", "reversed", "socratic")

VERDICT = TaskKind(
    metrics=METRICS,
    extractor=VERDICT_READER,
    columns=report.COLUMNS,
    references=report.references,
    panels=report.panels,
    item_view=report_module.item_view,
    answer_view=report.answer_view,
    read_settings=hooks.read_settings,
    log_form=VerdictLine,
    judge="optional",
    restore=restore_agreement,
    views=VIEWS,
)

ANNOTATED = replace(VERDICT, read_settings=hooks.read_annotated_settings)

PROBE = TaskKind(
    metrics=card.PROBE_METRICS,
    guesses=hooks.probe_guesses,
    extractor=VERDICT_READER,
    columns=report.PROBE_COLUMNS,
    references=report.probe_references,
    panels=report.probe_panels,
    item_view=report_module.item_view,
    answer_view=report.probe_answer_view,
    read_settings=hooks.read_probe_settings,
    log_form=ProbeLine,
    views=VIEWS,
)

BENCHMARK = Benchmark(
    card=CARD,
    folder=report.FOLDER,
    kinds={"verdict": VERDICT, "annotated": ANNOTATED, "probe": PROBE},
    layouts=report.LAYOUTS,
    prepare=prepare,
    schema=own_columns,
    cli=app,
    inquiries=INQUIRIES,
    no_submission="CounterVQA has no leaderboard: its data is not released, and nobody collects answers to it.",
)
