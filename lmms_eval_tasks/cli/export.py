"""`lmms-eval-tasks export`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.cli.options import print_notes
from lmms_eval_tasks.export.every_eval_ever import Availability, Deployment, Evaluator, Relationship, export_run
from lmms_eval_tasks.runs.scores import ScoredRun, read_scored
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.output import Output, make_console

export_app = typer.Typer(
    no_args_is_help=True,
    help="Write runs' scores in the forms of the Hugging Face hub and of Every Eval Ever.",
)
Runs = Annotated[list[Path], typer.Argument(help="Output folders of runs; of each its latest run.", show_default=False)]


@export_app.command()
def hub(
    runs: Runs,
    out: Annotated[
        Path,
        typer.Option(
            file_okay=False, help="Folder for the files, such as a clone of the model's repository.", show_default=False
        ),
    ],
) -> None:
    """Write the files of a model's repository on the Hugging Face hub: .eval_results, and a section of its card.

    Only scores of a whole official release, with all items shown and scored, have an entry. The others are listed with
    the reason, and are in the section alone. The files hold scores and facts of the run card, and nothing of an item.

    Examples:
        {command} out/qwen --out qwen-repository
        {command} out/qwen-mvp out/qwen-yocausal --out qwen-repository
    """
    from lmms_eval_tasks.export.hub import export_hub

    files, left_out = export_hub(_read(runs))
    _write(files, out, left_out, "No entry on the hub")


@export_app.command("every-eval-ever")
def every_eval_ever(
    runs: Runs,
    out: Annotated[
        Path,
        typer.Option(
            file_okay=False, help="Folder for the files, such as a clone of the datastore.", show_default=False
        ),
    ],
    evaluator: Annotated[str, typer.Option(help="Who ran the evaluation.", show_default=False)],
    relation: Annotated[
        Relationship, typer.Option(help="What they have to do with who made the model.", show_default=False)
    ],
    models: Annotated[
        list[str] | None,
        typer.Option("--model", help="A model's id, DEVELOPER/MODEL; once for each run, in their order."),
    ] = None,
    deployment: Annotated[Deployment, typer.Option(help="Who ran the model.")] = Deployment.UNKNOWN,
    weights: Annotated[
        Availability, typer.Option(help="Whether the model's weights are public.")
    ] = Availability.UNKNOWN,
) -> None:
    """Write runs as Every Eval Ever's datastore takes them: one JSON file for each run and benchmark.

    Without --model, the model's id is read from the run's card if the weights came from the hub. The files hold scores
    and facts of the run card, and nothing of an item.

    Examples:
        {command} out/qwen --out eee --evaluator Lab --relation third_party
        {command} out/ours --out eee --evaluator Me --relation first_party
    """
    if models and len(models) != len(runs):
        raise InputError(f"Expected --model once for each of {len(runs)} runs, but got {len(models)}.")
    evaluation_by = Evaluator(evaluator, relation, deployment, weights)
    files: dict[Path, str] = {}
    left_out: list[str] = []
    for run, model in zip(_read(runs), models or [""] * len(runs), strict=True):
        of_run, without = export_run(run, model, evaluation_by)
        files |= of_run
        left_out += without
    _write(files, out, left_out, "Left out")


def _read(sources: Sequence[Path]) -> list[ScoredRun]:
    runs = [read_scored(source) for source in sources]
    for run in runs:
        print_notes(Output("export"), run.notes)
    return runs


def _write(files: dict[Path, str], out: Path, left_out: Sequence[str], what: str) -> None:
    console = make_console()
    for path, text in files.items():
        write_file(out / path, text)
        console.print(f"Written: {out / path}", soft_wrap=True)
    for reason in left_out:
        console.print(f"{what}: {reason}.", soft_wrap=True)
