"""CounterVQA: had an action not happened, would another still have?

Source: CounterVQA (arXiv 2511.19923). Of people: appendix D (links judged valid or not against the video), C.3 (two
annotators rate difficulty from 1 to 5, and whether the question is grounded in the video) and E (two raters score the
step-by-step text of an answer from 0, unreadable, to 5, excellent, whatever the answer). How people answered the
questions is not said. All words are ours, and so is that pairs without a link are drawn as often as those with one.
"""

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
    Preparation,
    Row,
    SplitManifest,
    TaskKind,
    building,
)
from lmms_eval_tasks.api.answers import NO, VERDICT_READER, YES
from lmms_eval_tasks.api.people import Scale
from lmms_eval_tasks.api.release import clock
from lmms_eval_tasks.countervqa import card, hooks, release, report
from lmms_eval_tasks.countervqa.card import CARD
from lmms_eval_tasks.countervqa.release import CLIPS, GRAPHS, QUESTIONS, SPLIT, ClipGraph, CounterfactualQuestion
from lmms_eval_tasks.countervqa.sample import SAMPLE

COLUMNS = {
    **dict.fromkeys(("level", "interaction", "rule", "explanation", "action", "outcome", "graph"), "string"),
    "paired": "bool",
}
"""The benchmark's own columns of the prepared table, and their types."""


def prepare(
    preparation: Preparation,
    source: Annotated[
        Path,
        typer.Option(help=f"Folder with {QUESTIONS}, or such a file; {GRAPHS} lies beside it.", show_default=False),
    ],
    videos: Annotated[
        Path | None, typer.Option(help=f"Folder of the clips; by default {CLIPS} beside the questions.")
    ] = None,
) -> dict[str, SplitManifest]:
    """Prepare a CounterVQA set; the clips are linked, not copied.

    Clips that are absent or unreadable are listed in the manifest, and a run refuses them unless it is to skip them.

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
    questions, graphs, problems = release.read_release(questions_file, graphs_file)
    problems.raise_if_any(f"{questions_file.name} cannot be prepared", "nothing was written")
    folder = videos or questions_file.parent / CLIPS
    rows = make_rows(questions, graphs)
    clips = {row["clip"]: folder / row["clip"].removeprefix(f"{SPLIT}/") for row in rows}
    origin = Origin(str(source), {file.name: file for file in (questions_file, graphs_file)})
    with building(CARD.name, preparation) as build:
        build.add_split(SPLIT, rows, COLUMNS, clips, origin)
    return {SPLIT: build.splits[SPLIT]}


def make_rows(questions: Iterable[CounterfactualQuestion], graphs: Mapping[str, ClipGraph]) -> list[dict[str, Any]]:
    """Rows of the prepared table without `clip_present`: a question and its partner next to each other."""
    by_id = {question.id: question for question in questions}
    groups: dict[str, str] = {}
    for question in by_id.values():
        for name in filter(None, (question.id, question.partner)):
            groups.setdefault(name, question.id)
    rows: list[dict[str, Any]] = []
    for name, group in groups.items():
        one = by_id[name]
        graph = graphs[one.clip]
        known = {action.id: action.text for action in graph.actions}
        rows.append(
            {
                "item_id": one.id,
                "group_id": group,
                "question": one.question,
                "options": [],
                "answer": one.verdict,
                "clip": f"{SPLIT}/{one.clip}",
                "level": f"L{one.level}",
                "interaction": one.interaction,
                "rule": one.rule,
                "explanation": one.explanation,
                "action": known[one.action] if one.action else one.absent_action,
                "outcome": release.asked_goal(one, graph) if one.outcome is None else known[one.outcome],
                "paired": one.partner is not None,
                # Which pairs were judged is for those who make sets; the goal stands in the row that asks about it.
                "graph": graph.model_dump_json(exclude={"goal", "unlinked"}),
            }
        )
    return rows


VALID, NOT_VALID = "VALID", "NOT_VALID"
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


def ask_verdicts(rows: Sequence[Row]) -> list[AskedItem]:
    choices = tuple(OfferedChoice(verdict.upper(), verdict[0].upper(), verdict.capitalize()) for verdict in (YES, NO))
    return [
        AskedItem(
            item, row["item_id"], row["question"], {version: (row["clip"],)}, choices, (row["answer"] or "").upper()
        )
        for (item, version), row in zip(AskedItem.keys(rows), rows, strict=True)
    ]


def ask_links(rows: Sequence[Row]) -> list[AskedItem]:
    """Every two actions of each clip in their order of time, linked or not, and links that go against it."""
    choices = OfferedChoice(VALID, "Y", "Yes, it does"), OfferedChoice(NOT_VALID, "N", "No, it does not")
    asked = []
    for clip, text in {row["clip"]: row["graph"] for row in rows}.items():
        graph = release.read_graph(text)
        links = {(link.cause, link.effect) for link in graph.links}
        by_id = {action.id: action for action in graph.actions}
        for pair in dict.fromkeys([*combinations(by_id, 2), *sorted(links)]):
            first, then = (f"“{by_id[one].text.strip()}” ({clock(by_id[one].start)})" for one in pair)
            name = f"{graph.clip}: {' to '.join(pair)}"
            question = (
                f"First action: {first}. Second action: {then}. Does the first cause the second, so that without the "
                "first the second would not have happened?"
            )
            asked.append(AskedItem(name, name, question, {"": (clip,)}, choices, VALID if pair in links else NOT_VALID))
    return asked


def ask_each(rows: Sequence[Row]) -> list[AskedItem]:
    return [
        AskedItem(row["item_id"], row["item_id"], row["question"], {"": (row["clip"],)}, text=row.get("response", ""))
        for row in rows
    ]


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
        ask_each,
        responses=2,
        scales=(DIFFICULTY, GROUNDED),
        paper={"difficulty": "3.8 (naive 2.6)", "grounded": "97 (naive 73)"},
    ),
    "readability": Inquiry(
        "ratings",
        ask_each,
        responses=2,
        scales=(READABILITY,),
        of_answers=True,
        paper={"readability": "3.2 and 3.5"},
    ),
}

VERDICT = TaskKind(
    metrics=card.METRICS,
    ask=hooks.ask,
    prompt=hooks.PROMPT,
    grade=hooks.grade,
    extractor=VERDICT_READER,
    references=report.references,
    panels=report.panels,
    item_view=report.item_view,
    answer_view=report.answer_view,
    log_form=hooks.VerdictLine,
    judge="optional",
    restore=hooks.restore_agreement,
    views=("blind", "single_frame", "shuffled", "reversed", "socratic"),
)

PROBE = replace(
    VERDICT,
    metrics=card.PROBE_METRICS,
    prompt="countervqa_probe",
    grade=hooks.grade_probe,
    guesses=hooks.probe_guesses,
    columns=report.PROBE_COLUMNS,
    references=report.probe_references,
    panels=report.probe_panels,
    answer_view=report.probe_answer_view,
    log_form=hooks.ProbeLine,
    judge="",
    restore=None,
)

BENCHMARK = Benchmark(
    card=CARD,
    folder=report.FOLDER,
    kinds={"verdict": VERDICT, "probe": PROBE},
    layouts=report.LAYOUTS,
    prepare=prepare,
    schema=lambda: COLUMNS,
    inquiries=INQUIRIES,
    no_submission="CounterVQA has no leaderboard: its data is not released, and nobody collects answers to it.",
    sample=SAMPLE,
)
