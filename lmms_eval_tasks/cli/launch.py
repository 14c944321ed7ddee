"""`lmms-eval-tasks launch`."""

from __future__ import annotations

from typing import Annotated

import typer

from lmms_eval_tasks.utils.core.text import printable_lines


def launch(
    command: Annotated[
        list[str], typer.Argument(metavar="COMMAND", help="After `--`: a whole command, lmms-eval … --output_path OUT.")
    ],
    shards: Annotated[int, typer.Option(min=1, help="How many parts.")],
    jobs: Annotated[int, typer.Option(min=1, help="How many parts are worked on at a time.")] = 1,
    gpus_per_shard: Annotated[
        int | None,
        typer.Option(
            min=0,
            show_default=False,
            help="GPUs of each part. Without it, the visible ones are divided by --jobs; with 0 parts share them.",
        ),
    ] = None,
    tries: Annotated[int, typer.Option(min=1, help="How often a part is tried before it has failed.")] = 2,
    slurm: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            show_default=False,
            help="Run the parts as SLURM jobs that are asked for with this: time=240 (minutes), partition=gpu or "
            "another option of sbatch; repeat it for more.",
        ),
    ] = None,
) -> None:
    """Run a command in parts, each in a process of its own, and merge them; the same command goes on later.

    Examples:
        {command} --shards 8 --jobs 4 -- bash evaluate.sh --tasks mvp --output_path out/mvp
        {command} --shards 64 --slurm time=240 -- bash evaluate.sh --output_path out/mvp

    COMMAND is lmms-eval …, or anything that runs it and takes --output_path. Each part gets an output path below that
    one.
    """
    from lmms_eval_tasks.cli.merge import merge
    from lmms_eval_tasks.launch.executors import connect_local, connect_slurm
    from lmms_eval_tasks.launch.plan import find_merged, make_plan
    from lmms_eval_tasks.launch.run import describe_failure, run_parts, show_parts

    plan = make_plan(command, shards)
    jobs_of = connect_slurm(plan, jobs, gpus_per_shard, slurm) if slurm else connect_local(plan, jobs, gpus_per_shard)
    with plan.kept():
        find_merged(plan)
        with show_parts(shards) as show:
            failed = run_parts(plan, jobs_of, tries, show)
        if failed:
            for part, reason in failed.items():
                typer.echo(printable_lines(describe_failure(part, reason)), err=True)
            typer.echo(f"{len(failed)} of {shards} parts failed. The same command tries them again.", err=True)
            raise typer.Exit(1)
        plan.clear()
        if found := find_merged(plan):
            typer.echo(f"The parts are merged already: {found}")
        else:
            merge([part.read_results() for part in plan.parts], plan.out)
