"""`lmms-eval-tasks check`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lmms_eval_tasks.cli.prepared import counts_table, print_card, print_split, print_warnings
from lmms_eval_tasks.utils.core.console import make_console, show_progress, text_table
from lmms_eval_tasks.utils.core.wording import summarize_names

if TYPE_CHECKING:
    from rich.console import Console


def check(
    benchmark: Annotated[
        list[str] | None, typer.Argument(help="Benchmarks to check; all that are prepared if none is named.")
    ] = None,
    decode: Annotated[bool, typer.Option(help="Also decode the first frame of every clip.")] = False,
) -> None:
    """Show what is prepared and installed; exit with status 1 if something would stop a run."""
    from lmms_eval_tasks.utils.benchmark.registry import read_card, registry
    from lmms_eval_tasks.utils.core.problems import InputError
    from lmms_eval_tasks.utils.data.home import benchmark_dir, home, read_manifest, skip_missing

    skip_missing()
    console = make_console()
    console.print(f"Data home: {home()}", markup=False, soft_wrap=True)
    stops = []
    named = list(dict.fromkeys(benchmark or ()))
    for name in named:
        read_card(name)
    prepared = [name for name in registry().benchmarks if benchmark_dir(name).is_dir()]
    for name in named or prepared or registry().benchmarks:
        print_card(console, read_card(name))
        try:
            told: set[str] = set()
            for split in read_manifest(name).splits:
                stops += _check_split(console, name, split, decode, told)
        except InputError as error:
            stops.append(str(error))
    stops += _check_installation(console)
    for reason in stops:
        typer.echo(f"\n{reason}", err=True)
    if stops:
        raise typer.Exit(1)
    console.print("Nothing here would stop a run.")


def _check_split(console: Console, benchmark: str, split: str, decode: bool, told: set[str]) -> list[str]:
    """Print one split, with the warnings of `prepare` that are not in `told`; what would stop a run on it."""
    from lmms_eval_tasks.check import check_split
    from lmms_eval_tasks.utils.data.home import MISSING

    with show_progress() as progress:
        found = check_split(benchmark, split, decode, progress)
    print_split(console, benchmark, split, found.facts, found.clips)
    if not found.facts.sample:
        console.print(counts_table(found.counts))
    # The table of counts says what such warnings say.
    print_warnings(console, found.facts, told | set(map(str, found.counts)))
    told.update(found.facts.warnings)
    if not found.stops_run:
        return []
    stops = []
    if found.broken:
        stops.append(
            f"{benchmark}, {split}: {len(found.broken)} of {found.facts.clips} clips cannot be "
            f"{'decoded' if decode else 'opened'}: "
            f"{summarize_names(found.broken, 3)}. Get them anew and prepare again."
        )
    if found.missing:
        stops.append(
            f"{benchmark}, {split}: {len(found.missing)} of {found.facts.clips} clips are missing: "
            f"{summarize_names(found.missing, 3)}. Get them and prepare again, or run with {MISSING}=skip."
        )
    return stops


def _check_installation(console: Console) -> list[str]:
    """Print versions; what of the installation would stop a run."""
    from lmms_eval_tasks.check import is_plugged_in
    from lmms_eval_tasks.host.environment import PACKAGES, installed_version

    table = text_table("Installed", "package", "version")
    for package in PACKAGES:
        table.add_row(package, installed_version(package) or "not installed")
    console.print(table)
    stops = []
    if installed_version("lmms-eval") is None:
        stops.append("lmms-eval is not installed.")
    if not is_plugged_in():
        stops.append(
            "lmms-eval does not see our entry point, because lmms-eval-tasks is not installed here: install it."
        )
    return stops
