"""All steps of a build, from files to a set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from lmms_eval_tasks.build.countervqa.annotations import Take, read_takes
from lmms_eval_tasks.build.countervqa.assemble import (
    AnnotatedTexts,
    FilterGraphs,
    MakeQuestions,
    MeasureGraphs,
    pair_questions,
)
from lmms_eval_tasks.build.countervqa.attrition import count_build
from lmms_eval_tasks.build.countervqa.config import BuildOptions
from lmms_eval_tasks.build.countervqa.forecast import forecast_build
from lmms_eval_tasks.build.countervqa.given_links import TakeLinks, links_of_takes, read_links
from lmms_eval_tasks.build.countervqa.models import BuildModels, choose_models
from lmms_eval_tasks.build.countervqa.naive import WriteNaive
from lmms_eval_tasks.build.countervqa.release import write_set
from lmms_eval_tasks.build.countervqa.roles import LINK_ROLES, find_links
from lmms_eval_tasks.build.countervqa.rows import LinkedTake
from lmms_eval_tasks.build.countervqa.solving import LeaveOutSolved
from lmms_eval_tasks.build.countervqa.statistics import count_questions
from lmms_eval_tasks.build.countervqa.step_log import STEPS, StepLog
from lmms_eval_tasks.build.countervqa.verification import ImagineAbsent, RephraseQuestions, VerifyQuestions
from lmms_eval_tasks.build.engine.built_set import BuiltSet
from lmms_eval_tasks.build.engine.forecast import forecast_table
from lmms_eval_tasks.build.engine.running import run_steps
from lmms_eval_tasks.build.engine.steps import AnyStep, roles_of
from lmms_eval_tasks.build.graphs.embeddings import server_encoder
from lmms_eval_tasks.build.graphs.encoders import TFIDF, SentenceEncoder, sentence_transformer, tfidf_encoder
from lmms_eval_tasks.utils.core.work import Progress
from lmms_eval_tasks.utils.judge.named import read_settings

GivenLinks = tuple[Mapping[str, TakeLinks], tuple[str, ...]]
"""Take to what is known of its links without a model, and warnings."""


def forecast_set(options: BuildOptions) -> BuiltSet:
    """Estimate the requests to each role without asking any."""
    options.check()
    models = choose_models(options.model, options.verify_with, options.drop_solved_by)
    takes, _ = read_takes(options.annotations, options.takes)
    _given_links(takes, options)
    estimates = forecast_build(takes, options, models)
    table = forecast_table(list(estimates), list(estimates.values()))
    return BuiltSet(None, f"{len(takes):,} annotated clips; nothing was asked", [table])


def build_set(
    options: BuildOptions, out: Path, progress: Progress, max_requests: int | None = None, replace: bool = False
) -> BuiltSet:
    options.check()
    chosen = choose_models(options.model, options.verify_with, options.drop_solved_by)
    takes, warnings = read_takes(options.annotations, options.takes)
    given = _given_links(takes, options)
    steps = steps_of(options, chosen, AnnotatedTexts(takes, choose_encoder(options.encoder)), progress)
    models, log = chosen.open(out, max_requests), StepLog(out)
    models.check([*(LINK_ROLES if given is None else ()), *roles_of(steps)])
    sources = options.sources()
    run = partial(run_steps, models=models, log=log.add, progress=progress)
    pairs: Mapping[str, int] = {}
    if given is None:
        found = find_links(takes, options.pair_share, run)
        linked, pairs = found.takes, found.counts()
    else:
        links, link_warnings = given
        linked = [LinkedTake(id=take.uid, take=take, links=links[take.uid]) for take in takes if take.uid in links]
        warnings += link_warnings
    runs = run(steps, linked)
    measured = next(run.left for run in runs if isinstance(run.step, MeasureGraphs))
    kept, attrition = pair_questions(runs[-1].left), count_build(takes, pairs, options.thresholds, runs)
    statistics = count_questions(kept, {take.uid: take for take in takes}, options.clips, progress)
    facts = {
        "sources": sources,
        "settings": {**options.facts(), **chosen.facts()},
        "steps": {"done": log.done, "failed": log.failed},
        "statistics": statistics.facts(),
    }
    missing = write_set(out, measured, options.thresholds, kept, attrition, facts, options.clips, log, replace)
    warnings += tuple(_warnings(options, chosen, log, out))
    if missing:
        warnings += (f"{missing} of {len(kept)} clips are not in {options.clips}.",)
    elif options.clips is None:
        warnings += (f"The videos have to be put into {out / 'clips'} under the names that graphs.jsonl has.",)
    summary = f"{attrition.kept:,} questions about {len(kept):,} clips in {out}"
    tables = [one.table(of_paper=not options.naive) for one in (attrition, statistics)]
    return BuiltSet(out, summary, tables, warnings, attrition.as_steps())


def steps_of(
    options: BuildOptions, models: BuildModels, texts: AnnotatedTexts, progress: Progress
) -> Sequence[AnyStep]:
    """The steps from takes with their links on that options ask for, in order."""
    asks = models.builder is not None
    steps: list[AnyStep] = [MeasureGraphs(texts, progress), FilterGraphs(options.thresholds)]
    if options.naive:
        steps += [WriteNaive(options.candidates)]
    else:
        steps += [ImagineAbsent(options.candidates, texts.encoder)] if asks else []
        steps += [MakeQuestions(texts, options.candidates, options.own_rules, options.seed, progress)]
    steps += [RephraseQuestions()] if options.rephrase else []
    steps += [VerifyQuestions(tuple(models.verifiers))] if models.verifiers else []
    if models.solvers and options.clips is not None:
        steps += [LeaveOutSolved(tuple(models.solvers), options.clips, options.frames)]
    return steps


def _given_links(takes: Sequence[Take], options: BuildOptions) -> GivenLinks | None:
    """The links that are given; None where a model is asked for them."""
    if options.naive:
        # Nobody is asked, so that nothing is known of any pair.
        return {take.uid: TakeLinks((), frozenset()) for take in takes}, ()
    return links_of_takes(takes, read_links(options.links), options.links) if options.links is not None else None


def _warnings(options: BuildOptions, models: BuildModels, log: StepLog, out: Path) -> Iterator[str]:
    if log.failed:
        yield (
            f"{log.failed:,} of {log.done:,} steps of models brought no usable reply; {out / STEPS} says why. "
            "No question rests on them. Those that the server failed are asked again when the command is run again."
        )
    for model in models.repeated:
        yield (
            f"--verify-with names {model} twice with temperature 0, where both say the same; with temperature=0.7 they "
            "are two runs."
        )
    if options.encoder == TFIDF and not options.naive:
        yield "CNDA is by TF-IDF, the default; the paper's threshold belongs to a sentence encoder."


def choose_encoder(name: str) -> SentenceEncoder:
    """The sentence encoder of a name: `tfidf`, `model=NAME,url=…` of a server, or one of sentence-transformers."""
    if name == TFIDF:
        return tfidf_encoder()
    if "=" in name:
        settings = read_settings(name)
        assert settings is not None
        return server_encoder(settings)
    return sentence_transformer(name)
