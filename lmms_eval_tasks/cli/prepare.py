"""`lmms-eval-tasks prepare …` and `sample`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from lmms_eval_tasks.cli.prepared import print_prepared
from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark
from lmms_eval_tasks.utils.benchmark.registry import registry
from lmms_eval_tasks.utils.core.console import show_progress

prepare_app = typer.Typer(no_args_is_help=True, help="Turn a raw release into the table that a run reads.")


class MvpSplit(str, Enum):
    """Splits of MVP."""

    mini = "mini"
    full = "full"


def prepare_command(benchmark: Benchmark) -> Callable[..., None]:
    """The subcommand that prepares a benchmark; its options are the parameters of the benchmark's `prepare`."""

    def run(**options: Any) -> None:
        with show_progress() as progress:
            splits = benchmark.prepare(**options, progress=progress)
        print_prepared(benchmark.name, splits)

    signature = inspect.signature(benchmark.prepare, eval_str=True)
    options = [parameter for name, parameter in signature.parameters.items() if name != "progress"]
    run.__signature__ = signature.replace(parameters=options, return_annotation=None)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in options}
    run.__doc__ = (inspect.getdoc(benchmark.prepare) or "").partition("\n")[0]
    return run


for _benchmark in registry().benchmarks.values():
    prepare_app.command(_benchmark.name)(prepare_command(_benchmark))


def sample(
    out: Annotated[Path, typer.Option(help="Folder to write: a new one, or an older sample.", show_default=False)],
    seed: Annotated[int, typer.Option(help="Seed of the scenes.")] = 0,
    prepare: Annotated[bool, typer.Option("--prepare", help="Also prepare it; never over real data.")] = False,
) -> None:
    """Write a small simulated stand-in for the raw releases."""
    from lmms_eval_tasks.cast_bench.prepare import prepare as prepare_questions
    from lmms_eval_tasks.causalvqa.prepare import prepare as prepare_causalvqa
    from lmms_eval_tasks.mvp.prepare import prepare as prepare_mvp
    from lmms_eval_tasks.sample.build import build_sample
    from lmms_eval_tasks.yocausal.prepare import prepare as prepare_yocausal

    with show_progress() as progress:
        paths = build_sample(out, seed, progress)
    typer.echo(f"Sample data, seed {seed}: {paths.root}")
    if not prepare:
        return
    with show_progress() as progress:
        print_prepared("causalvqa", prepare_causalvqa(paths.causalvqa, progress))
        for split in MvpSplit:
            print_prepared("mvp", prepare_mvp(paths.mvp_videos, str(paths.mvp_snapshot), split.value, progress))
        print_prepared("yocausal", prepare_yocausal(str(paths.yocausal), progress=progress))
        print_prepared("cast_bench", prepare_questions(str(paths.cast_bench), None, progress))
