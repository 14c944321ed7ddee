"""`lmms-eval-tasks launch`, and `sweep`."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from lmms_eval_tasks.cli.options import FormatOption, open_runs
from lmms_eval_tasks.utils.core.errors import needs_package
from lmms_eval_tasks.utils.core.output import open_output
from lmms_eval_tasks.utils.core.text import printable_lines

if TYPE_CHECKING:
    from lmms_eval_tasks.launch.executors import Jobs
    from lmms_eval_tasks.launch.plan import LaunchedPart, LaunchPlan

SUBMITIT = "lmms-eval-tasks[launch]"
CommandArgument = Annotated[
    list[str], typer.Argument(metavar="COMMAND", help="After `--`: a whole command, lmms-eval … --output_path OUT.")
]
JobsOption = Annotated[int, typer.Option(min=1, help="How many parts are worked on at a time.")]
GPUS = "GPUs of each part. Without it, the visible ones are divided by --jobs; with 0 parts share them."
TriesOption = Annotated[int, typer.Option(min=1, help="How often a part is tried before it has failed.")]
SlurmOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE",
        show_default=False,
        help="Submit each part to SLURM with these sbatch options: time=240 (minutes), partition=gpu or "
        "another option of sbatch; repeat it for more.",
    ),
]


def launch(
    command: CommandArgument,
    shards: Annotated[int, typer.Option(min=1, help="How many parts.")],
    jobs: JobsOption = 1,
    gpus_per_shard: Annotated[int | None, typer.Option(min=0, show_default=False, help=GPUS)] = None,
    tries: TriesOption = 2,
    slurm: SlurmOption = None,
) -> None:
    """Split a run into parts, run them in parallel and merge; repeat the command to resume.

    Examples:
        {command} --shards 8 --jobs 4 -- bash evaluate.sh --tasks mvp --output_path out/mvp
        {command} --shards 64 --slurm time=240 -- bash evaluate.sh --output_path out/mvp

    COMMAND is lmms-eval …, or anything that runs it and takes --output_path. Each part gets an output path below that
    one.
    """
    from lmms_eval_tasks.cli.merge import merge
    from lmms_eval_tasks.launch.plan import find_merged, make_plan

    with needs_package(SUBMITIT, "Running parts"):
        from lmms_eval_tasks.launch.executors import connect

    plan = make_plan(command, shards)
    place = connect(plan, jobs, gpus_per_shard, slurm)
    with plan.kept():
        find_merged(plan)
        _work(plan, place, tries)
        if found := find_merged(plan):
            typer.echo(f"The parts are merged already: {found}")
        else:
            merge([part.read_results() for part in plan.parts], plan.out)


def sweep(
    command: CommandArgument,
    settings: Annotated[
        list[str],
        typer.Option(
            "--set",
            metavar="NAME=VALUE,VALUE",
            help="An argument of the model, or max_new_tokens and the like of the generation, and its values. The "
            "curve is along the first; each combination with the others has one.",
        ),
    ],
    jobs: JobsOption = 1,
    gpus_per_part: Annotated[int | None, typer.Option("--gpus-per-shard", min=0, show_default=False, help=GPUS)] = None,
    tries: TriesOption = 2,
    slurm: SlurmOption = None,
    form: FormatOption = None,
) -> None:
    """Run a command with each of some settings, and show the smallest setting as good as the best.

    Examples:
        {command} --set max_num_frames=4,8,16 -- bash evaluate.sh --output_path out/frames
        {command} --set max_new_tokens=64,256 -- bash evaluate.sh --output_path out/tokens

    COMMAND is lmms-eval …, or anything that runs it and takes --output_path and --model_args. Each run is a part as of
    `launch`, with an output path below that one. Repeat the command to resume, also with further values.
    """
    from lmms_eval_tasks.launch.plan import make_sweep
    from lmms_eval_tasks.report.series import curve_tables, gather_series, seed_tables

    with needs_package(SUBMITIT, "Running parts"):
        from lmms_eval_tasks.launch.executors import connect

    plan = make_sweep(command, settings)
    place = connect(plan, jobs, gpus_per_part, slurm)
    with plan.kept():
        _work(plan, place, tries)
    curves: dict[tuple[str, ...], list[LaunchedPart]] = {}
    for part in plan.parts:
        curves.setdefault(tuple(map("=".join, part.settings[1:])), []).append(part)
    with open_output("sweep", form) as output:
        for others, parts in curves.items():
            if others:
                output.note(f"With {', '.join(others)}:")
            name = parts[0].settings[0].name
            sources, values = gather_series([name], [part.out for part in parts])
            runs = open_runs(output, sources)
            runs = [replace(run, series=values[source]) for run, source in zip(runs, sources, strict=True)]
            for table in (*seed_tables(runs), *curve_tables(runs)):
                output.table(table)
            folders = shlex.join(str(source) for source in sources)
            output.note(f"The curve: lmms-eval-tasks report --series {name} {folders} --html sweep.html", whole=True)


def _work(plan: LaunchPlan, jobs: Jobs, tries: int) -> None:
    """Work on all parts of a plan until they are done; exits with status 1 where one has failed."""
    from lmms_eval_tasks.launch.run import Show, describe_failure, run_parts

    count = len(plan.parts)
    show = Show(count)
    with show.bar:
        failed = run_parts(plan, jobs, tries, show)
    if failed:
        for part, reason in failed.items():
            typer.echo(printable_lines(describe_failure(part, reason)), err=True)
        typer.echo(f"{len(failed)} of {count} parts failed. The same command tries them again.", err=True)
        raise typer.Exit(1)
    plan.clear()
