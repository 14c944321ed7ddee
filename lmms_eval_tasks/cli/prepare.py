"""`lmms-eval-tasks prepare …` and `sample`."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.cli.console import show_progress
from lmms_eval_tasks.cli.prepared import print_prepared

prepare_app = typer.Typer(no_args_is_help=True, help="Turn a raw release into the table that a run reads.")


class MvpSplit(str, Enum):
    """Splits of MVP."""

    mini = "mini"
    full = "full"


@prepare_app.command("causalvqa")
def prepare_causalvqa(
    source: Annotated[Path, typer.Option(help="CausalVQA.zip, or the folder unpacked from it.", show_default=False)],
) -> None:
    """Prepare CausalVQA, every split that the release holds."""
    from lmms_eval_tasks.causalvqa.prepare import prepare

    with show_progress() as progress:
        splits = prepare(source, progress)
    print_prepared("causalvqa", splits)


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

    with show_progress() as progress:
        splits = prepare(videos, source, split.value, progress)
    print_prepared("mvp", splits)


@prepare_app.command("yocausal")
def prepare_yocausal(
    source: Annotated[
        str, typer.Option(help="Dataset on the hub, or a folder with a snapshot of it.")
    ] = "YouZhe/YoCausal-dataset",
    from_videos: Annotated[
        Path | None, typer.Option(help="Any folder of videos instead: their reversals are made.", show_default=False)
    ] = None,
    captions: Annotated[
        Path | None, typer.Option(help="Their captions: CSV or JSON lines with file and caption.", show_default=False)
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(help="How much of each of them is shown; by default all.", show_default=False)
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="Causality labels to use, as `label yocausal` writes them.", show_default=False)
    ] = None,
) -> None:
    """Prepare YoCausal, or any folder of videos in its form."""
    from lmms_eval_tasks.utils.problems import InputError
    from lmms_eval_tasks.yocausal.prepare import prepare, prepare_videos

    if from_videos is None and (captions is not None or seconds is not None):
        raise InputError("Expected --captions and --seconds only with --from-videos.")
    with show_progress() as progress:
        if from_videos is None:
            splits = prepare(source, labels, progress)
        else:
            splits = prepare_videos(from_videos, captions, seconds, labels, progress)
    print_prepared("yocausal", splits)


@prepare_app.command("cast_bench")
def prepare_cast_bench(
    source: Annotated[
        str, typer.Option(help="Dataset on the hub, castbench_hf.jsonl, or a folder that holds it.")
    ] = "wovenbytoyota-vai/CaST-Bench",
    videos: Annotated[
        Path | None, typer.Option(help="Folder that holds the clips; scoring saved responses needs none.")
    ] = None,
) -> None:
    """Prepare CaST-Bench; the clips are linked, not copied."""
    from lmms_eval_tasks.cast_bench.prepare import prepare

    with show_progress() as progress:
        splits = prepare(source, videos, progress)
    print_prepared("cast_bench", splits)


def sample(
    out: Annotated[Path, typer.Option(help="Folder to write: a new one, or an older sample.", show_default=False)],
    seed: Annotated[int, typer.Option(help="Seed of the scenes.")] = 0,
    prepare: Annotated[bool, typer.Option("--prepare", help="Also prepare it; never over real data.")] = False,
) -> None:
    """Write a small simulated stand-in for the raw releases."""
    from lmms_eval_tasks.sample.build import build_sample, prepare_commands

    with show_progress() as progress:
        folder = build_sample(out, seed, progress)
    typer.echo(f"Sample data, seed {seed}: {folder}")
    if prepare:
        for arguments in prepare_commands(folder):
            typer.main.get_command(prepare_app).main(arguments, standalone_mode=False)
