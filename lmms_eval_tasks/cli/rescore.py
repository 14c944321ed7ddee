"""`lmms-eval-tasks rescore`."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lmms_eval_tasks.cli.options import AllowIncompleteOption
from lmms_eval_tasks.utils.core.output import make_console, show_progress, text_table
from lmms_eval_tasks.utils.core.text import summarize_names

if TYPE_CHECKING:
    from lmms_eval_tasks.finished.rescore import Reader, RegradedTask, Rescored

DIFFERENT = 3
"""Exit status where a score has changed; 1 is a run that cannot be scored again."""


def rescore(
    run: Annotated[Path, typer.Argument(help="Output folder (the latest run is taken) or a results file.")],
    out: Annotated[Path | None, typer.Option(help="New folder for results, sample logs and leaderboard files.")] = None,
    read_unparsed: Annotated[
        bool,
        typer.Option("--read-unparsed", help="Ask a judge which answer each unparsed response chooses, if any."),
    ] = False,
    allow_incomplete: AllowIncompleteOption = False,
) -> None:
    """Compute a finished run's scores again from its saved responses, and say what differs.

    Needs the prepared data that the run was made on, and no model or clip. The run itself is left as it is. The judge
    of --read-unparsed is that of LMMS_EVAL_TASKS_JUDGE; scores with its answers are shown beside the others.
    Ends with status 3 where a score is not what it was. Of a run with --predict_only it computes the first scores.
    A command that was cut short can be given again.

    Examples:
        lmms-eval-tasks rescore out/first
        lmms-eval-tasks rescore out/first --out out/first-again
        lmms-eval-tasks rescore out/first --read-unparsed --out out/first-judged
    """
    from lmms_eval_tasks.finished.rescore import claimed, write_rescored
    from lmms_eval_tasks.finished.rescore import rescore as score_again
    from lmms_eval_tasks.host.quiet import quiet_host

    written, read = None, _judge() if read_unparsed else None
    # Our own messages are about files for leaderboards.
    with quiet_host(*([] if out else ["lmms_eval_tasks"])):
        if out is None:
            with tempfile.TemporaryDirectory() as folder:
                rescored = score_again(run, Path(folder), allow_incomplete, read)
        else:
            with claimed(out, run):
                rescored = score_again(run, out, allow_incomplete, read)
                written = write_rescored(rescored, out)
    _show(rescored, with_scores=out is None)
    if read_unparsed:
        _show_readings(rescored)
    if written:
        make_console().print(f"Written: {written}", soft_wrap=True)
    if rescored.changes:
        raise typer.Exit(DIFFERENT)


def _judge() -> Reader:
    from lmms_eval_tasks.finished.read_unparsed import judge_settings
    from lmms_eval_tasks.finished.read_unparsed import read_unparsed as read

    settings = judge_settings()

    def ask(tasks: Mapping[str, RegradedTask]) -> Mapping[str, RegradedTask]:
        with show_progress() as progress:
            return read(tasks, settings, progress)

    return ask


def _show_readings(rescored: Rescored) -> None:
    from lmms_eval_tasks.report.judge_readings import judge_tables

    tables, console = list(judge_tables([rescored.scored])), make_console()
    for table in tables:
        console.print(table)
    if not tables:
        console.print("No answer is unparsed that a judge could read: it was asked nothing.")


def _show(rescored: Rescored, with_scores: bool) -> None:
    console = make_console()
    for note in rescored.notes:
        console.print(f"Note: {note}.")
    for task, changed in rescored.items.items():
        if changed:
            console.print(f"{task}: {changed} of {len(rescored.logs[task])} items are read or graded otherwise.")
    if rescored.run.only_predicted:
        console.print(f"{rescored.scores} scores computed of answers that the run only kept (--predict_only)")
        if with_scores:
            _show_scores(rescored)
        return
    if not rescored.changes:
        console.print(f"all {rescored.scores} scores equal{', with their intervals and counts' * bool(rescored.kept)}")
        return
    _show_changes(rescored)


def _show_changes(rescored: Rescored) -> None:
    from lmms_eval_tasks.finished.rescore import ABSENT

    console = make_console()
    listed = [change for change in rescored.changes if "_stderr" not in change.score]
    scores = [change for change in listed if ABSENT not in (change.old, change.new)]
    table = text_table("numbers that differ", "task", "score", "old", "new")
    for change in scores:
        table.add_row(change.name, change.score, _number(change.old), _number(change.new))
    if scores:
        console.print(table)
    for lacking, side in (("the run lacks", "old"), ("only the run has", "new")):
        names: dict[str, list[str]] = {}
        for change in listed:
            if getattr(change, side) == ABSENT:
                names.setdefault(change.name, []).append(change.score)
        for task, missing in names.items():
            console.print(f"{task}: {lacking} {summarize_names(missing, 12)}")
    errors = len(rescored.changes) - len(listed)
    differ = {(change.name, change.score.partition(",")[0]) for change in rescored.changes}
    console.print(
        f"{len(differ)} of {rescored.scores} scores differ"
        + (f", {errors} of them standard errors, which are not listed" if errors else "")
    )


def _show_scores(rescored: Rescored) -> None:
    console = make_console()
    table = text_table("scores", "task", "score", "value")
    for part in rescored.file.parts:
        for score in part.scores:
            if score.value is not None:
                table.add_row(part.name, score.metric, _number(score.value))
    console.print(table)


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
