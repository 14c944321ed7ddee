"""The paper's video-mask test: a question whose evidence is black should not be answered any more."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from string import ascii_uppercase
from typing import Annotated

import typer

from lmms_eval_tasks.api import InputError, Outcome, Record, Row
from lmms_eval_tasks.api.commands import make_console, text_table
from lmms_eval_tasks.api.evidence import read_truth
from lmms_eval_tasks.api.release import write_file
from lmms_eval_tasks.api.runs import read_run

TASK = "cast_bench_masked"
UNABLE = "Unable to determine"
"""The added option. The paper names it; its wording here is ours."""
BLACK = "the evidence is black"
"""Why no evidence of an answer is graded."""
ADDED = "unable"
"""The field of a record that has the letter of the added option."""


TimedBoxes = list[tuple[float, float, tuple[float, float, float, float]]]
"""From a second up to another, and a box in pixels."""


def timed_boxes(row: Row) -> TimedBoxes:
    """Return the times and boxes at which a question's clip is black: those of its evidence, and of its subject where
    the set has them; none where its evidence has no box."""
    evidence = _black(row["evidence"])
    return [*evidence, *_black(row["subject"])] if evidence else []


def _black(pieces: str) -> TimedBoxes:
    return [
        (max(second - 1, evidence.start), min(second + 1, evidence.end + 1), box)
        for instance in read_truth(pieces)
        for evidence in instance.evidences
        for second, box in zip(evidence.seconds, evidence.boxes, strict=True)
        if evidence.start <= second <= evidence.end
    ]


def masked_row(row: Row) -> Row:
    """A row with the added option; as it is where its evidence has no box, so that nothing could be masked."""
    if not timed_boxes(row):
        return row
    kinds = row["option_kinds"]
    return {**row, "options": [*row["options"], UNABLE], "option_kinds": [*kinds, None] if kinds else kinds}


def added_option(row: Row) -> dict[str, str]:
    """Return the record's field for the added option; empty if the row has none."""
    return {ADDED: ascii_uppercase[row["options"].index(UNABLE)]} if UNABLE in row["options"] else {}


STILL_RIGHT, NOT_MASKED = "still answered right", "not masked: its evidence has no box"
OUTCOMES = {
    Outcome.CORRECT: STILL_RIGHT,
    UNABLE: "unable to determine",
    Outcome.WRONG: "answered wrong",
    Outcome.UNPARSED: "no answer that can be read",
    Outcome.UNSCORED: "not scored",
}
"""How an answer counts in the test, by its outcome or as the added option."""


def mask_outcome(record: Record) -> str:
    if ADDED not in record.fields:
        return NOT_MASKED
    is_unable = record.outcome is Outcome.WRONG and record.answered == record.fields[ADDED]
    return OUTCOMES[UNABLE if is_unable else record.outcome]


def still_answered(
    run: Annotated[Path, typer.Argument(help="Output folder of a run of cast_bench_masked: its latest run.")],
    out: Annotated[
        Path | None, typer.Option(help="File for the ids of the questions, one a line.", show_default=False)
    ] = None,
) -> None:
    """List the questions that a model still answers right with the evidence blacked out: reject these.

    Examples:
        lmms-eval-tasks cast-bench still-answered out/qwen-masked
        lmms-eval-tasks cast-bench still-answered out/qwen-masked --out rejected.txt
    """
    finished = read_run(run)
    if TASK not in finished.records:
        raise InputError(
            f"{finished.path} holds no {TASK}: Expected a run of it, but got {', '.join(finished.records)}."
        )
    outcomes = {record.item_id: mask_outcome(record) for record in finished.records[TASK]}
    counts = Counter(outcomes.values())
    masked = max(1, len(outcomes) - counts[NOT_MASKED])
    rejected = [item_id for item_id, outcome in outcomes.items() if outcome == STILL_RIGHT]
    console = make_console()
    table = text_table(f"{finished.name}: questions with their evidence blacked out", "", "questions", "%")
    for outcome in OUTCOMES.values():
        table.add_row(outcome, str(counts[outcome]), f"{100 * counts[outcome] / masked:.1f}")
    table.add_row(NOT_MASKED, str(counts[NOT_MASKED]), "")
    console.print(table)
    if out is not None:
        write_file(out, "".join(f"{item_id}\n" for item_id in rejected))
        console.print(f"{out.absolute()}: {len(rejected):,} questions to reject")
    else:
        for item_id in rejected:
            console.print(item_id)
