"""`lmms-eval-tasks prepare …`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from lmms_eval_tasks.cli.help import short_help
from lmms_eval_tasks.cli.options import own_options, with_options
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.report.prepared_tables import print_prepared
from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark
from lmms_eval_tasks.utils.benchmark.tasks import read_tasks
from lmms_eval_tasks.utils.core.errors import InputError, blame
from lmms_eval_tasks.utils.core.output import show_progress
from lmms_eval_tasks.utils.data.manifest import RemovedGroups, RemovedRows, read_filter
from lmms_eval_tasks.utils.data.prepare import Preparation

REPLACE = Annotated[bool, typer.Option("--replace", help="Replace another set that is prepared.")]

WITHOUT = Annotated[
    Path | None, typer.Option("--without", help="Leave out the groups that a filter removed: its file.", dir_okay=False)
]

prepare_app = typer.Typer(no_args_is_help=True, help="Turn a raw release into the table that a run reads.")


def prepare_command(benchmark: Benchmark) -> Callable[..., None]:
    """The subcommand that prepares a benchmark: the parameters of its `prepare`, `--replace` and `--without`."""

    def run(replace: REPLACE = False, without: WITHOUT = None, **options: Any) -> None:
        removed = _removed_rows(benchmark, read_filter(without)) if without else None
        with show_progress() as progress:
            try:
                splits = benchmark.prepare(Preparation(progress, replace, removed), **options)
            except (InputError, OSError, typer.Exit, typer.BadParameter):
                raise
            except Exception as error:  # whatever somebody else's benchmark raises
                why = blame(error, benchmark.folder)
                raise InputError(f"{benchmark.card.title}: preparation failed in its `prepare`: {why}") from error
        print_prepared(benchmark.name, splits)

    shared = own_options(run)
    names = {option.name for option in shared}
    own = [one for one in own_options(benchmark.prepare) if one.annotation is not Preparation and one.name not in names]
    return with_options(run, [*own, *shared])


def _removed_rows(benchmark: Benchmark, removed: RemovedGroups) -> RemovedRows:
    """What a filter removed of the tasks of a benchmark, by the rows that these ask."""
    parts: defaultdict[tuple[str, str | None], frozenset[str]] = defaultdict(frozenset)
    for name, task in read_tasks(benchmark)[0].items():
        parts[task.pointer["split"], task.pointer.get("subset")] |= removed.by_task.get(name, frozenset())
    return RemovedRows(removed.name, dict(parts))


for _benchmark in registry().benchmarks.values():
    prepare_app.command(_benchmark.name, help=short_help(_benchmark.prepare))(prepare_command(_benchmark))
