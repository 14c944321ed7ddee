"""`worlds export countervqa`: new scenes as a set that models are trained on."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.api.commands import make_console, show_progress, text_table

DRAWN = "drawn"
"""Folder of an unfinished set with the scenes that were drawn."""

export_app = typer.Typer(no_args_is_help=True, help="Write scenes as a set for training.")


@export_app.callback()
def export() -> None:
    """Write scenes as a set for training."""


@export_app.command("countervqa")
def export_countervqa(
    out: Annotated[Path, typer.Option(help="Folder for the set; an interrupted export goes on.", show_default=False)],
    scenes: Annotated[int, typer.Option(help="Scenes of each family.", min=1)] = 100,
    seed: Annotated[int, typer.Option(help="Of the scenes.", min=0)] = 0,
    family: Annotated[
        list[str] | None, typer.Option(help="A family, more than once for several; by default all that no test has.")
    ] = None,
) -> None:
    """Make scenes of families that the test does not have, and write them as a set of CounterVQA to train on.

    Graphs and answers are what interventions in the scene have shown; no model wrote any of them.

    Examples:
        lmms-eval-tasks worlds export countervqa --out set --scenes 100
        lmms-eval-tasks worlds export countervqa --out set --family stack --seed 3
    """
    import numpy as np

    from lmms_eval_tasks.api import InputError
    from lmms_eval_tasks.api.release import as_lines, write_file
    from lmms_eval_tasks.worlds.engine.clips import SceneClip
    from lmms_eval_tasks.worlds.engine.draws import make_drafts
    from lmms_eval_tasks.worlds.engine.filming import film
    from lmms_eval_tasks.worlds.engine.making import all_facts
    from lmms_eval_tasks.worlds.export.countervqa_form import graph_line, question_lines, scene_graph

    if (out / "questions.jsonl").exists():
        raise InputError(f"There is a set in {out} already; give another --out, or remove it.")
    names = chosen_families(family)
    with show_progress() as progress:
        drafts, _ = make_drafts(scenes, seed, progress, names=names, folder=out / DRAWN)
        graphs = []
        for number, facts in enumerate(all_facts(drafts, progress), 1):
            graphs.append(scene_graph(facts))
            progress("causal graphs", number, len(drafts))
        asked = [(one, question_lines(one, np.random.default_rng([seed, place]))) for place, one in enumerate(graphs)]
        asked = [(one, questions) for one, questions in asked if questions]
        if not asked:
            raise InputError(f"No question can be asked of {len(drafts)} scenes of {', '.join(names)}; draw more.")
        film([SceneClip(one.facts.scene) for one, _ in asked], out / "clips", progress)
    # The questions come last: a set without them is one that is not finished.
    write_file(out / "graphs.jsonl", as_lines(graph_line(one) for one, _ in asked))
    lines = [line for _, questions in asked for line in questions]
    write_file(out / "questions.jsonl", as_lines(lines))
    write_file(
        out / "scenes.json", json.dumps({"families": list(names), "seed": seed, "scenes": len(asked)}, indent=2) + "\n"
    )
    shutil.rmtree(out / DRAWN, ignore_errors=True)
    console = make_console()
    table = text_table(None, "level", "yes", "no")
    counts = Counter((line["level"], line["verdict"]) for line in lines)
    for level in (1, 2, 3):
        table.add_row(str(level), *(f"{counts[level, verdict]:,}" for verdict in ("yes", "no")))
    console.print(table)
    console.print(f"{len(lines):,} questions about {len(asked):,} scenes of {', '.join(names)}")
    console.print(f"Next:  lmms-eval-tasks train countervqa sft --source {out} --out OUT --dry-run", soft_wrap=True)


def chosen_families(named: Sequence[str] | None) -> tuple[str, ...]:
    """The families to make scenes of: those that are named, or all that the test does not have."""
    from lmms_eval_tasks.api import InputError
    from lmms_eval_tasks.worlds.engine.families import families

    others = tuple(name for name, family in families().items() if family.for_training)
    if unknown := sorted(set(named or ()) - families().keys()):
        raise InputError(f"Expected families, any of {', '.join(others)}, but got {', '.join(unknown)}.")
    if known := sorted(set(named or ()) - set(others)):
        raise InputError(
            f"The test has scenes of {', '.join(known)}, so that a model trained on them would know it; "
            f"choose from {', '.join(others)}."
        )
    return tuple(dict.fromkeys(named)) if named else others
