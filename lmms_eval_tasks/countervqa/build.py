"""`lmms-eval-tasks build countervqa`: a set of questions from annotated clips."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.utils.benchmark.built_set import BuiltSet
from lmms_eval_tasks.utils.core.progress import Progress, no_progress


def build(
    annotations: Annotated[
        list[Path],
        typer.Option(help="Timed descriptions of actions, as Ego-Exo4D has them; may be repeated.", show_default=False),
    ],
    out: Annotated[Path, typer.Option(help="Folder to write the set to.", show_default=False)],
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
        str,
        typer.Option(
            help="Sentence encoder: tfidf, a model of sentence-transformers, or model=NAME,url=… of a server."
        ),
    ] = "tfidf",
    min_ancd: Annotated[float, typer.Option(help="Least adjacent non-causal density.", min=0.0, max=1.0)] = 0.2,
    min_depth: Annotated[int, typer.Option(help="Least causal depth.", min=0)] = 3,
    min_cnda: Annotated[float, typer.Option(help="Least outlier score of the actions.", min=0.0, max=2.0)] = 0.12,
    candidates: Annotated[int, typer.Option(help="Questions a level and clip.", min=1, max=1000)] = 10,
    own_rules: Annotated[
        bool,
        typer.Option("--own-rules/--paper-rules", help="Also make questions with the opposite verdict, by our rules."),
    ] = True,
    model: Annotated[
        str | None,
        typer.Option(
            help="Asked for links where --links gives none, and for absent actions: NAME, or model=NAME,url=….",
            show_default=False,
        ),
    ] = None,
    rephrase: Annotated[
        bool, typer.Option("--rephrase", help="Have --model put the questions into its words.")
    ] = False,
    verify_with: Annotated[
        list[str] | None,
        typer.Option(
            help="Keep only what this text model answers correctly from the annotations; twice in the paper.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all draws.")] = 0,
    progress: Progress = no_progress,
) -> BuiltSet:
    """Make counterfactual questions from annotated clips and the causal links of their actions.

    A build that was interrupted goes on where it was: every reply of a model is kept in the folder.

    Raises:
        InputError: a file cannot be used, with every fault of it, or no question is kept. No set is written then.
    """
    from lmms_eval_tasks.countervqa.construction.models import choose_models
    from lmms_eval_tasks.countervqa.construction.pipeline import Sources, build_set
    from lmms_eval_tasks.countervqa.construction.settings import BuildSettings
    from lmms_eval_tasks.utils.graphs.measures import Thresholds

    return build_set(
        Sources(tuple(annotations), links, takes, clips),
        BuildSettings(Thresholds(min_ancd, min_depth, min_cnda), encoder, candidates, own_rules, rephrase, seed),
        choose_models(model, verify_with or (), out),
        out,
        progress,
    )
