"""`lmms-eval-tasks check`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from lmms_eval_tasks.registry import find_benchmark, read_card, registry
from lmms_eval_tasks.report import prepared_tables
from lmms_eval_tasks.report.card_tables import print_hazard
from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.output import Output, make_console, show_progress, text_table
from lmms_eval_tasks.utils.core.text import MISSING, parse_arguments, summarize_names
from lmms_eval_tasks.utils.data.home import SAMPLE_REMEDY, benchmark_dir, home, read_manifest, skip_missing
from lmms_eval_tasks.utils.data.sampling import parse_sample
from lmms_eval_tasks.utils.data.survey import check_split


def check(
    benchmark: Annotated[
        list[str] | None, typer.Argument(help="Benchmarks to check; all that are prepared if none is named.")
    ] = None,
    decode: Annotated[bool, typer.Option(help="Also decode every clip to its end.")] = False,
    stats: Annotated[
        bool, typer.Option("--stats", help="Also show how long clips are and how questions are worded, by stratum.")
    ] = False,
    figures: Annotated[
        Path | None,
        typer.Option(
            file_okay=False, help="With --stats: also draw how long clips are, in this folder.", show_default=False
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="Also decode a clip by the reader that this model of lmms-eval will use.", show_default=False
        ),
    ] = None,
    model_args: Annotated[
        str, typer.Option("--model_args", help="The model's arguments, as for a run.", show_default=False)
    ] = "",
    task: Annotated[
        str | None,
        typer.Option(
            help="Task whose first item is shown (default: the first prepared task).",
            show_default=False,
        ),
    ] = None,
    item: Annotated[
        str | None, typer.Option(help="Item of it that is shown (default: its first).", show_default=False)
    ] = None,
    batch_size: Annotated[
        int, typer.Option("--batch_size", min=1, max=64, help="How many items with clips of their own go together.")
    ] = 1,
    png: Annotated[
        Path | None,
        typer.Option("--png", help="Also write the frames that the model gets as a picture.", show_default=False),
    ] = None,
    sample: Annotated[
        str | None,
        typer.Option(
            metavar="GROUPS[:SEED]",
            help="Only show how certain a score of a sample of so many groups will be; of tasks or groups of tasks.",
            show_default=False,
        ),
    ] = None,
    thorough: Annotated[
        bool,
        typer.Option(
            "--thorough",
            help="Also check prompts, grading, scores, submission and versions on examples; for benchmark authors.",
        ),
    ] = False,
    keep: Annotated[
        bool,
        typer.Option(
            "--keep", help="With --thorough: write version_examples.json and version_digests.json beside the YAML."
        ),
    ] = False,
) -> None:
    """Show what is prepared and installed; exit with status 1 if something would stop a run.

    Examples:
        lmms-eval-tasks check causalvqa --decode
        lmms-eval-tasks check --model qwen2_5_vl --task mvp_mini --png shown.png
        lmms-eval-tasks check mvp_mini --sample 400
    """
    if sample is not None:
        _print_samples(benchmark or (), sample)
        return
    if model is None and (task or item or png or batch_size > 1):
        raise InputError("Expected --task, --item, --batch_size and --png with --model, but got them without it.")
    if figures and not stats:
        raise InputError("Expected --figures with --stats, but got it without.")
    if keep and not (thorough and benchmark):
        raise InputError("Expected --keep with --thorough and the names of benchmarks, but got it without them.")
    skip_missing()
    console = make_console()
    console.print(f"Data home: {home()}", soft_wrap=True)
    stops: list[str] = []
    warned = 0
    named = list(dict.fromkeys(benchmark or ()))
    for name in named:
        read_card(name)
    prepared = [name for name in registry().benchmarks if benchmark_dir(name).is_dir()]
    for name in named or prepared or registry().benchmarks:
        chosen, printed = find_benchmark(name), set[str]()
        prepared_tables.print_card(console, chosen.card)
        try:
            _check_tasks(console, chosen, thorough, keep, stops)
            for split in read_manifest(chosen.card).splits:
                stops += _check_split(console, name, split, decode, printed)
                if stats:
                    prepared_tables.print_statistics(console, name, split, figures)
            warned += len(printed)
        except InputError as error:
            stops.append(str(error) if chosen.sample else str(error).replace(SAMPLE_REMEDY, ""))
    stops += _check_installation(console)
    if model:
        with _stopping(stops):
            _check_model(console, model, model_args, named or prepared)
            if shown := task or next(chain(*map(_prepared_tasks, named or prepared)), ""):
                stops += _show_model(console, model, model_args, shown, batch_size, item, png)
    _finish(console, stops, named, warned)


def _finish(console: Console, stops: Sequence[str], named: Sequence[str], warned: int) -> None:
    for reason in stops:
        typer.echo(f"\n{reason}", err=True)
    if stops:
        raise typer.Exit(1)
    for name in named:
        console.print(f"Tasks: {summarize_names(_prepared_tasks(name), 10)}", soft_wrap=True)
    above = f"{warned} warnings" if warned > 1 else "warning"
    odd = f"A run would start, but see the {above} above: the data is not as expected."
    console.print(odd if warned else "Nothing here would stop a run.", soft_wrap=True)


def _print_samples(names: Sequence[str], sample: str) -> None:
    from lmms_eval_tasks.host.asking.drawing import describe_sample

    choice = parse_sample(sample)
    known = registry()
    if not names or (unknown := [name for name in names if not known.find_members(name)]):
        got = ", ".join(unknown) if names else "none"
        raise InputError(f"Expected the names of tasks or groups of tasks with --sample, but got {got}.")
    for name in names:
        make_console().print(describe_sample(name, choice), soft_wrap=True, highlight=False)


@contextmanager
def _stopping(stops: list[str]) -> Iterator[None]:
    """Take what the block refuses for a reason that would stop a run; lmms-eval is muted meanwhile."""
    from lmms_eval_tasks.host.quiet import quiet_host

    try:
        with quiet_host():
            yield
    except InputError as error:
        stops.append(str(error))


def _check_tasks(console: Console, benchmark: Benchmark, thorough: bool, keep: bool, stops: list[str]) -> None:
    from lmms_eval_tasks.testing.thorough import check_runnable, check_thoroughly

    if not thorough:
        check_runnable(benchmark).raise_if_any(f"The tasks of {benchmark.name} cannot be used")
        return
    with _stopping(stops):
        for note in check_thoroughly(benchmark, keep):
            console.print(note, soft_wrap=True)


def _check_split(console: Console, benchmark: str, split: str, decode: bool, printed: set[str]) -> list[str]:
    """Print one split, with the warnings of `prepare` that are not `printed` yet, and return what would stop a run."""
    with show_progress() as progress:
        checked = check_split(read_card(benchmark), split, decode, progress)
    facts, broken, missing = checked.facts, checked.broken, checked.missing
    prepared_tables.print_split(console, benchmark, split, facts, checked.clips)
    if checked.counts and not facts.data_set.is_sample:
        console.print(prepared_tables.counts_table(checked.counts))
    in_table = set(map(str, checked.counts))
    prepared_tables.print_warnings(console, [warning for warning in facts.warnings if warning not in in_table], printed)
    printed.update(facts.warnings)
    stops = []
    if broken:
        stops.append(
            f"{benchmark}, {split}: {len(broken)} of {facts.clips} clips cannot be "
            f"{'' if decode else 'opened or '}decoded to their end: {summarize_names(broken, 3)}. Get them anew and "
            "prepare again; a run leaves their items unscored."
        )
    if missing and (broken or not skip_missing()):
        stops.append(
            f"{benchmark}, {split}: {len(missing)} of {facts.clips} clips are missing: "
            f"{summarize_names(missing, 3)}.{prepared_tables.describe_unreadable(facts)} Get them and prepare again, "
            f"or run with {MISSING}=skip."
        )
    return stops


def _check_model(console: Console, model: str, arguments: str, benchmarks: Sequence[str]) -> None:
    from lmms_eval_tasks.host.checks import describe_absent
    from lmms_eval_tasks.preview.inputs import check_reader

    checked = check_reader(model, arguments, benchmarks)
    if checked.reader:
        console.print(f"The model {model} reads clips by {checked.reader}.")
    console.print(f"The model {model}: {checked.result}", soft_wrap=True)
    if checked.warning:
        console.print(f"warning: {checked.warning}", style="yellow")
    for hazard in checked.hazards:
        print_hazard(Output("check"), hazard)
    if absent := describe_absent(model, parse_arguments(arguments)):
        raise InputError(absent)


def _prepared_tasks(name: str) -> list[str]:
    splits = read_manifest(read_card(name)).splits if benchmark_dir(name).is_dir() else {}
    return [task for task, own in registry().tasks_of(name).items() if own.split in splits]


def _show_model(
    console: Console, model: str, arguments: str, task: str, batch_size: int, item: str | None, png: Path | None
) -> list[str]:
    from lmms_eval_tasks.preview.inputs import SHOWABLE, is_showable

    if not is_showable(model):
        known = ", ".join(SHOWABLE)
        console.print(
            f"Which frames, tokens and prompt {model} would be shown is not known here: it is for {known} alone.",
            soft_wrap=True,
        )
        return []
    from lmms_eval_tasks.preview.shown import print_shown, show_task, write_sheet

    shown = show_task(model, arguments, task, batch_size, item)
    print_shown(console, model, shown)
    if png and write_sheet(png, shown):
        console.print(f"\nWrote {png}", soft_wrap=True)
    return [f"{model} cannot be shown {shown.task} with these arguments: {fault}" for fault in shown.faults]


def _check_installation(console: Console) -> list[str]:
    from lmms_eval_tasks.host.model.identity import PACKAGES, STANDS_IN, installed_version, missing_requirements

    table = text_table("Installed", "package", "version")
    for package in PACKAGES:
        table.add_row(package, installed_version(package) or "not installed")
    console.print(table)
    stops = []
    for package in missing_requirements():
        if package in STANDS_IN:
            console.print(f"warning: {package} is not installed: {STANDS_IN[package]}.", style="yellow")
        else:
            stops.append(f"{package} is not installed, which lmms-eval-tasks needs.\nRun:  pip install {package}")
    if not metadata.entry_points(group="lmms_eval.models", name="lmms_eval_tasks"):
        stops.append(
            "lmms-eval does not see our entry point, because lmms-eval-tasks is not installed here: install it."
        )
    return stops
