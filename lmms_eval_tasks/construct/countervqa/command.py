"""`lmms-eval-tasks build countervqa`: a set of questions from annotated clips."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.construct.engine.attrition import REPLACE, BuiltSet
from lmms_eval_tasks.utils.core.work import Progress, no_progress


def build(
    out: Annotated[Path, typer.Option(help="Folder to write the set to.", show_default=False)],
    annotations: Annotated[
        list[Path] | None,
        typer.Option(help="Timed descriptions of actions, as Ego-Exo4D has them; may be repeated.", show_default=False),
    ] = None,
    links: Annotated[
        Path | None, typer.Option(help="Causal links by take, so that no model is asked for them.", show_default=False)
    ] = None,
    takes: Annotated[
        Path | None, typer.Option(help="Ego-Exo4D's takes.json, which names each take's task.", show_default=False)
    ] = None,
    clips: Annotated[
        Path | None, typer.Option(help="Folder with the videos, take_uid.mp4 each, to link to.", show_default=False)
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            help="Sentence encoder: tfidf, a model of sentence-transformers, or model=NAME,url=… of a server.",
            show_default="tfidf",
        ),
    ] = None,
    min_ancd: Annotated[
        float | None,
        typer.Option(help="Least adjacent non-causal density.", min=0.0, max=1.0, show_default="0.2"),
    ] = None,
    min_depth: Annotated[int | None, typer.Option(help="Least causal depth.", min=0, show_default="3")] = None,
    min_cnda: Annotated[
        float | None, typer.Option(help="Least outlier score of the actions.", min=0.0, max=2.0, show_default="0.12")
    ] = None,
    candidates: Annotated[
        int | None, typer.Option(help="Questions a level and clip.", min=1, max=1000, show_default="10")
    ] = None,
    own_rules: Annotated[
        bool | None,
        typer.Option(
            "--own-rules/--paper-rules",
            help="Also make questions with the opposite verdict, by our rules.",
            show_default="own-rules",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="Asked for links where --links gives none, for goals and absent actions: NAME, or model=NAME,url=….",
            show_default=False,
        ),
    ] = None,
    rephrase: Annotated[
        bool | None, typer.Option("--rephrase", help="Have --model put the questions into its words.")
    ] = None,
    pair_share: Annotated[
        float | None,
        typer.Option(
            help="Share of a clip's pairs that go on from the observer; nothing is known of the others.",
            min=0.0,
            max=1.0,
            show_default="0.2",
        ),
    ] = None,
    naive: Annotated[
        bool | None,
        typer.Option("--naive", help="Baseline: have --model write the questions from the annotations, without links."),
    ] = None,
    verify_with: Annotated[
        list[str] | None,
        typer.Option(
            help="Keep only what this text model answers correctly from the annotations; twice in the paper, "
            "also the same model.",
            show_default=False,
        ),
    ] = None,
    drop_solved_by: Annotated[
        list[str] | None,
        typer.Option(
            help="Drop what this model, and any other named so, answers correctly from frames of the clip.",
            show_default=False,
        ),
    ] = None,
    frames: Annotated[
        int | None,
        typer.Option(help="Frames of a clip that such a model sees.", min=1, max=1024, show_default="8"),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of all draws.", show_default="0")] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="YAML file with these options by their names; what is given here wins.", show_default=False),
    ] = None,
    max_requests: Annotated[
        int | None,
        typer.Option(help="Stop before more requests than these are sent to models.", min=0, show_default=False),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be asked and what it costs.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help=REPLACE)] = False,
    progress: Progress = no_progress,
) -> BuiltSet:
    """Make counterfactual questions from annotated clips and the causal links of their actions.

    A build that was interrupted goes on where it was: every reply of a model is kept in the folder. An option that the
    command line has takes the place of the configuration's.

    Raises:
        InputError: a file cannot be used, with every fault of it, the budget is reached, no question is kept, or fewer
            are than the set has that is there. No set is written then.

    Examples:
        lmms-eval-tasks build countervqa --annotations takes.json --links links.json --out set
        lmms-eval-tasks build countervqa --config build.yaml --out set --dry-run
    """
    from lmms_eval_tasks.construct.countervqa.pipeline import build_set, forecast_set
    from lmms_eval_tasks.construct.countervqa.rows import choose_options

    chosen = choose_options(
        config,
        {
            "annotations": tuple(annotations) if annotations else None,
            "links": links,
            "takes": takes,
            "clips": clips,
            "encoder": encoder,
            "min_ancd": min_ancd,
            "min_depth": min_depth,
            "min_cnda": min_cnda,
            "candidates": candidates,
            "own_rules": own_rules,
            "model": model,
            "rephrase": rephrase,
            "pair_share": pair_share,
            "naive": naive,
            "verify_with": tuple(verify_with) if verify_with else None,
            "drop_solved_by": tuple(drop_solved_by) if drop_solved_by else None,
            "frames": frames,
            "seed": seed,
        },
    )
    return forecast_set(chosen) if dry_run else build_set(chosen, out, progress, max_requests, replace)
