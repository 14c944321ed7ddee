"""Error analysis of a finished run: how each answer was reached, and how readable its reasoning is, by a judge.

Source: the paper's appendices B.2 (the four kinds) and E (readability from 0 to 5). What a kind means is in our words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from pydantic import Field

from lmms_eval_tasks.api import InputError, Outcome, Problems, Progress, RowForm, read_prompt, read_rows
from lmms_eval_tasks.api.commands import make_console, show_progress, text_table
from lmms_eval_tasks.api.judge import Case, Judge, open_named_judge
from lmms_eval_tasks.api.page import published_models
from lmms_eval_tasks.api.release import as_lines, load_table, summarize_names, write_file
from lmms_eval_tasks.api.runs import Run, read_run
from lmms_eval_tasks.countervqa.card import CARD
from lmms_eval_tasks.countervqa.hooks import timed_actions
from lmms_eval_tasks.countervqa.release import SPLIT

PROMPT = "countervqa_errors"
Kind = Literal["direct_inference", "non_existent_action", "cannot_infer", "other"]
KINDS: Mapping[Kind, str] = {
    "direct_inference": "direct inference",
    "non_existent_action": "non-existent action reasoning",
    "cannot_infer": "cannot infer from inputs",
    "other": "other",
}
"""The kinds of answers, and how the paper's figures of B.2 are called in `published.json`."""
Readability = Annotated[float, Field(ge=0.0, le=5.0, allow_inf_nan=False)]


class AnswerAnalysis(RowForm):
    kind: Kind
    readability: Readability


class AnalysedItem(RowForm):
    item_id: str
    outcome: str
    kind: Kind | None
    readability: Readability | None
    reason: str | None
    model: str
    prompt: str


def errors(
    run: Annotated[Path, typer.Argument(help="Output folder of a run of countervqa: its latest run.")],
    judge: Annotated[
        str, typer.Option(help="The judge: its model, or model=NAME,url=…,max_tokens=….", show_default=False)
    ],
    task: Annotated[str, typer.Option(help="Task of the run to look at.")] = "countervqa",
) -> None:
    """Have a judge say how each answer was reached and how readable its reasoning is; `report --html` shows it.

    Replies are kept as they come: an interrupted command resumes when it is repeated, and pays for none twice.

    Examples:
        lmms-eval-tasks countervqa errors out/qwen --judge gpt-4o
        lmms-eval-tasks countervqa errors out/qwen --judge model=NAME,url=http://localhost:8000/v1
    """
    finished = read_run(run)
    if task not in finished.records or not task.startswith(CARD.name):
        raise InputError(f"Expected a task of {CARD.title} that the run holds, but got {task!r}.")
    rows = {row["item_id"]: row for row in load_table(CARD.name, SPLIT, require_clips=False)}
    asked = open_named_judge(AnswerAnalysis, judge)
    with show_progress() as progress:
        items = _analyse(finished, task, rows, asked, progress)
    failed = [f"{item.item_id} ({item.reason})" for item in items if item.kind is None]
    if len(failed) == len(items):
        raise InputError(f"No answer could be judged, and nothing was written: {summarize_names(failed, 3)}.")
    path = analysis_path(finished.path, task)
    write_file(path, as_lines(item.model_dump() for item in items))
    console = make_console()
    published = {} if finished.apart([task]) else published_shares()
    headings = ("kind", "answers", "%", "not right", "%", *(["paper, %"] if published else []))
    table = text_table(f"{task}: how answers were reached", *headings)
    all_counts, wrong_counts = kind_counts(items), kind_counts(items, wrong=True)
    for words, kind in zip(all_counts, KINDS, strict=True):
        shares = []
        for counts in (all_counts, wrong_counts):
            total = sum(counts.values())
            shares += [str(counts[words]), f"{100 * counts[words] / total:.1f}" if total else "N/A"]
        table.add_row(words, *shares, *([f"{published[kind]:.1f}"] if published else []))
    console.print(table)
    console.print(
        f"readability of the reasoning: {mean_readability(items):.2f} of 5 ({len(items) - len(failed)} answers)"
    )
    if published:
        console.print(
            "The paper's shares are of Qwen2.5-VL 7B's answers; how it distinguished the kinds is not published."
        )
    if failed:
        console.print(f"warning: not judged: {len(failed)} ({summarize_names(failed, 3)})", style="yellow")
    typer.echo(f"{path.absolute()}")


def _analyse(
    run: Run, task: str, rows: Mapping[str, Mapping[str, Any]], judge: Judge[Any], progress: Progress
) -> list[AnalysedItem]:
    prompt = read_prompt(PROMPT)
    records, cases, items = [], [], []
    for item in run.items_of(task):
        record = item.record
        if record.outcome is Outcome.UNSCORED:
            continue
        if record.item_id not in rows:
            raise InputError(f"{task}: Expected the data that the run was made with, but it lacks {record.item_id}.")
        row, response = rows[record.item_id], (item.responses or [""])[0]
        actions = timed_actions(row["graph"]).splitlines()
        records.append(record)
        cases.append(Case.of(prompt, {"question": row["question"], "actions": actions, "answer": response.strip()}))
    for record, verdict in zip(records, judge.judge_all(cases, progress), strict=True):
        found = verdict.reply.model_dump() if verdict.reply else dict.fromkeys(AnswerAnalysis.model_fields)
        about = {"item_id": record.item_id, "outcome": record.outcome.value}
        asked = {"reason": verdict.reason, "model": verdict.model, "prompt": verdict.prompt}
        items.append(AnalysedItem.model_validate({**about, **found, **asked}))
    return items


def published_shares() -> dict[str, float]:
    source, folder = "CounterVQA paper B.2", Path(__file__).parent
    figures = {kind: f"error-analysis share: {name}" for kind, name in KINDS.items()}
    return {kind: published_models(folder, source=source, metric=name)[0].value for kind, name in figures.items()}


def analysis_path(results: Path, task: str) -> Path:
    return results.with_name(f"{results.name.removesuffix('_results.json')}_errors_{task}.jsonl")


def read_analysis(results: Path, task: str) -> list[AnalysedItem]:
    """The analysis of a run; empty where there is none."""
    path = analysis_path(results, task)
    if not path.is_file():
        return []
    issues = Problems()
    items = [item for _, item in read_rows(path, AnalysedItem, issues)]
    issues.raise_if_any(f"{path.name} cannot be read")
    return items


def kind_counts(items: Sequence[AnalysedItem], wrong: bool = False) -> dict[str, int]:
    """The items of each kind, in words, among all items or only among the wrong and unparsed ones."""
    counted = [item for item in items if not (wrong and item.outcome == Outcome.CORRECT.value)]
    return {kind.replace("_", " "): sum(item.kind == kind for item in counted) for kind in KINDS}


def mean_readability(items: Sequence[AnalysedItem]) -> float | None:
    """The mean from 0 to 5 of the items that have one; None without any."""
    known = [item.readability for item in items if item.readability is not None]
    return sum(known) / len(known) if known else None
