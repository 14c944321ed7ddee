"""The command `lmms-eval-tasks`: thin, and the only place that prints and exits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

import lmms_eval_tasks

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from lmms_eval_tasks.utils.manifest import SplitManifest
    from lmms_eval_tasks.utils.progress import Progress

WIDEST = 100


class _Commands(TyperGroup):
    """Commands whose failures are the user's to mend: the message on stderr, exit status 1, no traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command."""
        from lmms_eval_tasks.utils.problems import InputError

        try:
            return super().invoke(ctx)
        except InputError as error:
            typer.echo(str(error), err=True)
            raise typer.Exit(1) from error
        except OSError as error:
            typer.echo(f"Cannot read or write: {error}", err=True)
            raise typer.Exit(1) from error


app = typer.Typer(cls=_Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
prepare_app = typer.Typer(no_args_is_help=True, help="Turn a raw release into the table that a run reads.")
app.add_typer(prepare_app, name="prepare")


class MvpSplit(str, Enum):
    """Splits of MVP."""

    mini = "mini"
    full = "full"


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lmms-eval-tasks {lmms_eval_tasks.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Video causal-reasoning benchmarks for lmms-eval: prepare data, check it, find the tasks."""


@prepare_app.command("causalvqa")
def prepare_causalvqa(
    source: Annotated[Path, typer.Option(help="CausalVQA.zip, or the folder unpacked from it.", show_default=False)],
) -> None:
    """Prepare CausalVQA, every split that the release holds."""
    from lmms_eval_tasks.causalvqa.prepare import prepare

    with _progress() as progress:
        splits = prepare(source, progress)
    _print_prepared("causalvqa", splits)


@prepare_app.command("mvp")
def prepare_mvp(
    videos: Annotated[
        Path, typer.Option(help="Folder that holds one folder per source of videos.", show_default=False)
    ],
    split: Annotated[MvpSplit, typer.Option(help="Split to prepare.")] = MvpSplit.mini,
    source: Annotated[
        str, typer.Option(help="Dataset on the hub, or a folder with a snapshot of it.")
    ] = "facebook/minimal_video_pairs",
) -> None:
    """Prepare one split of MVP; the videos are linked, not copied."""
    from lmms_eval_tasks.mvp.prepare import prepare

    with _progress() as progress:
        splits = prepare(videos, source, split.value, progress)
    _print_prepared("mvp", splits)


@app.command()
def check(
    benchmark: Annotated[
        list[str] | None, typer.Argument(help="Benchmarks to check; all that are prepared if none is named.")
    ] = None,
    decode: Annotated[bool, typer.Option(help="Also decode the first frame of every clip.")] = False,
) -> None:
    """Show what is prepared and installed; exit with status 1 if something would stop a run."""
    from lmms_eval_tasks.utils.card import benchmarks, read_card
    from lmms_eval_tasks.utils.home import benchmark_dir, home, read_manifest
    from lmms_eval_tasks.utils.problems import InputError

    console = _console()
    console.print(f"Data home: {home()}", markup=False, soft_wrap=True)
    stops = []
    named = list(dict.fromkeys(benchmark or ()))
    for name in named:
        read_card(name)
    prepared = [name for name in benchmarks() if benchmark_dir(name).is_dir()]
    for name in named or prepared or benchmarks():
        try:
            splits = read_manifest(name).splits
            stops += [reason for split in splits for reason in _check_split(console, name, split, decode)]
        except InputError as error:
            stops.append(str(error))
    stops += _check_installation(console)
    for reason in stops:
        typer.echo(f"\n{reason}", err=True)
    if stops:
        raise typer.Exit(1)
    console.print("Nothing here would stop a run.")


@app.command()
def sample(
    out: Annotated[Path, typer.Option(help="Folder to write: a new one, or an older sample.", show_default=False)],
    seed: Annotated[int, typer.Option(help="Seed of the scenes.")] = 0,
    prepare: Annotated[bool, typer.Option("--prepare", help="Also prepare it; never over real data.")] = False,
) -> None:
    """Write a small simulated stand-in for the raw releases."""
    from lmms_eval_tasks.causalvqa.prepare import prepare as prepare_causalvqa
    from lmms_eval_tasks.mvp.prepare import prepare as prepare_mvp
    from lmms_eval_tasks.sample.build import build_sample

    with _progress() as progress:
        paths = build_sample(out, seed, progress)
    typer.echo(f"Sample data, seed {seed}: {paths.root}")
    if not prepare:
        return
    with _progress() as progress:
        _print_prepared("causalvqa", prepare_causalvqa(paths.causalvqa, progress))
        for split in MvpSplit:
            _print_prepared("mvp", prepare_mvp(paths.mvp_videos, str(paths.mvp_snapshot), split.value, progress))


@app.command()
def path() -> None:
    """Print the folder of the tasks, for `lmms-eval --include_path`."""
    typer.echo(Path(lmms_eval_tasks.__file__).parent)


def _check_split(console: Console, benchmark: str, split: str, decode: bool) -> list[str]:
    """Print one split; what would stop a run on it."""
    from lmms_eval_tasks.checks import check_split
    from lmms_eval_tasks.utils.home import MISSING

    with _progress() as progress:
        found = check_split(benchmark, split, decode, progress)
    _print_split(console, benchmark, split, found.facts, found.clips)
    if not found.facts.sample:
        console.print(_counts_table(found.counts))
    if not found.stops_run:
        return []
    stops = []
    if found.broken:
        stops.append(
            f"{benchmark}, {split}: {len(found.broken)} of {found.facts.clips} clips cannot be "
            f"{'decoded' if decode else 'opened'}: "
            f"{_first(found.broken)}. Get them anew and prepare again."
        )
    if found.missing:
        stops.append(
            f"{benchmark}, {split}: {len(found.missing)} of {found.facts.clips} clips are missing: "
            f"{_first(found.missing)}. Get them and prepare again, or run with {MISSING}=skip."
        )
    return stops


def _check_installation(console: Console) -> list[str]:
    """Print versions; what of the installation would stop a run."""
    from lmms_eval_tasks.checks import installed_versions, is_plugged_in

    table = _table("Installed", "package", "version")
    versions = installed_versions()
    for package, version in versions.items():
        table.add_row(package, version or "not installed")
    console.print(table)
    stops = []
    if versions["lmms-eval"] is None:
        stops.append("lmms-eval is not installed.")
    if not is_plugged_in():
        stops.append(
            "lmms-eval does not see our entry point, because lmms-eval-tasks is not installed here: install it, or run "
            'lmms-eval with --include_path "$(lmms-eval-tasks path)".'
        )
    return stops


def _print_prepared(benchmark: str, splits: Mapping[str, SplitManifest]) -> None:
    from lmms_eval_tasks.checks import prepared_clips
    from lmms_eval_tasks.utils.home import MISSING, benchmark_dir

    console = _console()
    told: set[str] = set()
    for split, facts in splits.items():
        _print_split(console, benchmark, split, facts, prepared_clips(benchmark, split))
        for warning in facts.warnings:
            if warning not in told:
                console.print(f"warning: {warning}", markup=False, style="yellow")
        told.update(facts.warnings)
        if facts.missing:
            console.print(
                f"warning: {len(facts.missing)} of {facts.clips} clips are missing: "
                f"{_first([entry.clip for entry in facts.missing])}. A run needs {MISSING}=skip until they are there.",
                markup=False,
                style="yellow",
            )
    console.print(f"Prepared in {benchmark_dir(benchmark)}", markup=False, soft_wrap=True)


def _print_split(console: Console, benchmark: str, split: str, facts: SplitManifest, clips: Any) -> None:
    from lmms_eval_tasks.utils.card import read_card

    release = "SAMPLE DATA, simulated: its scores say nothing about a model" if facts.sample else facts.source
    if facts.revision:
        release += f" @ {facts.revision[:12]}"
    if set(read_card(benchmark).archive_sha256.values()) & set(facts.source_sha256.values()):
        release += " (the published archive)"
    answers = "answers withheld" if facts.answers_withheld else "with answers"
    console.print(
        f"\n{benchmark}, {split}: {facts.rows} items in {facts.groups} groups, {answers}", markup=False, style="bold"
    )
    console.print(f"release: {release}", markup=False, style="bold red" if facts.sample else None)
    table = _table(None, "clips of", "number", "absent", "unreadable")
    for count in clips:
        table.add_row(count.source, str(count.clips), str(count.absent), str(count.unreadable))
    console.print(table)


def _counts_table(counts: Any) -> Table:
    table = _table(None, "counts", "published", "here", "")
    for count in counts:
        table.add_row(count.what, str(count.expected), str(count.found), "" if count.expected == count.found else "≠")
    return table


def _table(title: str | None, *columns: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index and title is None else "left", overflow="fold")
    return table


def _console() -> Console:
    from rich.console import Console

    console = Console(highlight=False)
    console.width = min(console.width, WIDEST)
    return console


def _first(names: Any, shown: int = 3) -> str:
    names = list(names)
    return ", ".join(names[:shown]) + (f", … and {len(names) - shown} more" if len(names) > shown else "")


@contextmanager
def _progress() -> Iterator[Progress]:
    """A bar on stderr per kind of work."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    console = Console(stderr=True)
    bars = Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    tasks: dict[str, Any] = {}

    def advance(what: str, done: int, total: int) -> None:
        if what not in tasks:
            tasks[what] = bars.add_task(what, total=total)
        bars.update(tasks[what], completed=done, total=total)

    with bars:
        yield advance
