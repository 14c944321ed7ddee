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
        str, typer.Option(help="Sentence encoder: tfidf, or a model of sentence-transformers.")
    ] = "tfidf",
    min_ancd: Annotated[float, typer.Option(help="Least adjacent non-causal density.", min=0.0, max=1.0)] = 0.2,
    min_depth: Annotated[int, typer.Option(help="Least causal depth.", min=0)] = 3,
    min_cnda: Annotated[float, typer.Option(help="Least outlier score of the actions.", min=0.0, max=2.0)] = 0.12,
    candidates: Annotated[int, typer.Option(help="Questions a level and clip.", min=1, max=1000)] = 10,
    own_rules: Annotated[
        bool,
        typer.Option("--own-rules/--paper-rules", help="Also make questions with the opposite verdict, by our rules."),
    ] = True,
    seed: Annotated[int, typer.Option(help="Seed of all draws.")] = 0,
    progress: Progress = no_progress,
) -> BuiltSet:
    """Make counterfactual questions from annotated clips and the causal links of their actions.

    Raises:
        InputError: a file cannot be used, with every fault of it, or no question is kept. Nothing is written then.
    """
    from lmms_eval_tasks.countervqa.construction.annotations import read_takes
    from lmms_eval_tasks.countervqa.construction.assemble import (
        LinkedTakes,
        keep_questions,
        make_candidates,
        write_set,
    )
    from lmms_eval_tasks.countervqa.construction.given_links import links_of_takes, read_links
    from lmms_eval_tasks.countervqa.construction.settings import BuildSettings
    from lmms_eval_tasks.utils.core.problems import InputError
    from lmms_eval_tasks.utils.data.manifest import file_sha256
    from lmms_eval_tasks.utils.graphs.encoders import TFIDF, sentence_transformer, tfidf_encoder
    from lmms_eval_tasks.utils.graphs.measures import Thresholds

    thresholds = Thresholds(min_ancd, min_depth, min_cnda)
    settings = BuildSettings(thresholds, encoder, candidates, own_rules, seed)
    annotated, warnings = read_takes(annotations, takes)
    if links is None:
        raise InputError("Expected --links, the file with the causal links, but got none.")
    given, link_warnings = links_of_takes(annotated, read_links(links), links)
    material = LinkedTakes(annotated, given, {}, {})
    chosen = tfidf_encoder() if encoder == TFIDF else sentence_transformer(encoder)
    possible = make_candidates(material, settings, chosen, progress)
    kept = keep_questions(material, possible, {})
    sources = [*annotations, links, *([takes] if takes else [])]
    facts = {"sources": {file.name: file_sha256(file) for file in sources}, "settings": settings.facts()}
    missing = write_set(out, material, possible, kept, facts, clips)
    more = []
    if missing:
        more.append(f"{missing} of {len(kept.by_take)} clips are not in {clips}.")
    elif clips is None:
        more.append(f"The videos have to be put into {out / 'clips'} under the names that graphs.jsonl has.")
    if encoder == TFIDF:
        more.append("CNDA is by TF-IDF, the default; the paper's threshold belongs to a sentence encoder.")
    return BuiltSet(
        out,
        f"{kept.attrition.kept:,} questions about {len(kept.by_take):,} clips in {out}",
        [kept.attrition.table()],
        [*warnings, *link_warnings, *more],
    )
