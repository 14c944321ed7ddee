"""All steps of a build, from files to a set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_eval_tasks.countervqa.construction.annotations import Take, read_takes
from lmms_eval_tasks.countervqa.construction.assemble import (
    LinkedTakes,
    Questions,
    keep_questions,
    make_candidates,
    measure_takes,
    write_set,
)
from lmms_eval_tasks.countervqa.construction.forecast import forecast_build
from lmms_eval_tasks.countervqa.construction.given_links import TakeLinks, links_of_takes, read_links
from lmms_eval_tasks.countervqa.construction.models import STEPS, BuildModels
from lmms_eval_tasks.countervqa.construction.naive import write_naive
from lmms_eval_tasks.countervqa.construction.roles import find_links
from lmms_eval_tasks.countervqa.construction.settings import BuildSettings
from lmms_eval_tasks.countervqa.construction.solving import find_solved
from lmms_eval_tasks.countervqa.construction.statistics import count_questions
from lmms_eval_tasks.countervqa.construction.steps import OpenModel, Steps
from lmms_eval_tasks.countervqa.construction.verification import propose_absent, rephrase, verify
from lmms_eval_tasks.host.embeddings import server_encoder
from lmms_eval_tasks.host.judge import read_settings
from lmms_eval_tasks.utils.benchmark.built_set import BuiltSet
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.progress import Progress
from lmms_eval_tasks.utils.data.manifest import file_sha256
from lmms_eval_tasks.utils.graphs.encoders import TFIDF, SentenceEncoder, sentence_transformer, tfidf_encoder
from lmms_eval_tasks.utils.graphs.measures import Thresholds
from lmms_eval_tasks.utils.pipeline.forecast import StepForecast


@dataclass(frozen=True)
class Sources:
    """What a set is built from.

    Attributes:
        annotations: Files of timed descriptions.
        links: File of causal links; None where a model is asked for them.
        takes: Ego-Exo4D's `takes.json`, or None.
        clips: Folder of the videos, or None.
    """

    annotations: tuple[Path, ...]
    links: Path | None
    takes: Path | None
    clips: Path | None

    def digests(self) -> list[dict[str, str]]:
        """Name and SHA-256 of each file; two may have one name."""
        files = (*self.annotations, self.links, self.takes)
        return [{"file": file.name, "sha256": file_sha256(file)} for file in files if file]


def estimate_set(sources: Sources, settings: BuildSettings, models: BuildModels) -> tuple[int, dict[str, StepForecast]]:
    """How many clips a set would be built from, and what each role is expected to be asked about them.

    Raises:
        InputError: a file cannot be used, or somebody who has to be asked is not named.
    """
    _check_models(sources, settings, models)
    takes, _ = read_takes(sources.annotations, sources.takes)
    if sources.links is not None:
        links_of_takes(takes, read_links(sources.links), sources.links)
    return len(takes), forecast_build(takes, settings, models, sources.links is not None)


def _check_models(sources: Sources, settings: BuildSettings, models: BuildModels) -> None:
    asks, has_links = models.builder is not None, sources.links is not None
    faults = {
        "Expected --links, the file with the causal links, or --model, who to ask for them; got none.": not (
            asks or has_links or settings.naive
        ),
        "Expected --model, who writes the questions, beside --naive, but got none.": settings.naive and not asks,
        "Expected no --links beside --naive, whose questions are written without any.": settings.naive and has_links,
        "Expected --model, who to ask for other words, beside --rephrase, but got none.": settings.rephrase
        and not asks,
        "Expected --clips, what the models see, beside --drop-solved-by, but got none.": models.solvers
        and sources.clips is None,
    }
    if found := [fault for fault, is_one in faults.items() if is_one]:
        raise InputError("\n".join(found))


def build_set(
    sources: Sources,
    settings: BuildSettings,
    models: BuildModels,
    out: Path,
    progress: Progress,
    replace: bool = False,
) -> BuiltSet:
    """Build a set.

    Raises:
        InputError: a file or a model cannot be used, the budget is reached, no question is kept, or fewer are than the
            set has that is there, unless it may be replaced by a smaller one.
    """
    _check_models(sources, settings, models)
    builder = models.open_builder()
    takes, warnings = read_takes(sources.annotations, sources.takes)
    encoder = choose_encoder(settings.encoder)
    steps = Steps(progress, out, models.budget)
    material, link_warnings = _linked(takes, sources, settings, builder, steps)
    # Questions without a graph are not chosen by what their clip's graph is like.
    thresholds = Thresholds(0.0, 0, 0.0) if settings.naive else settings.thresholds
    measured = measure_takes(material, thresholds, encoder, progress)
    by_uid = {take.uid: take for take in takes}
    kept_takes = [by_uid[uid] for uid in measured.filtered.kept]
    candidates: Questions
    if settings.naive and builder is not None:
        candidates = write_naive(kept_takes, settings.candidates, builder, steps)
    else:
        proposed = None
        if builder is not None:
            proposed = propose_absent(kept_takes, settings.candidates, encoder, builder, steps)
        candidates = make_candidates(material, measured, settings, proposed, progress)
    if settings.rephrase and builder is not None:
        candidates = rephrase(candidates, by_uid, builder, steps)
    rejected = verify(candidates, by_uid, models.open_verifiers(), steps)
    if sources.clips is not None:
        verified = {uid: [one for one in here if one.id not in rejected] for uid, here in candidates.items()}
        rejected |= find_solved(verified, by_uid, sources.clips, settings.frames, models.open_solvers(), steps)
    kept = keep_questions(material, measured, candidates, rejected)
    statistics = count_questions(kept.by_take, by_uid)
    facts: Mapping[str, Any] = {
        "sources": sources.digests(),
        "settings": {**settings.facts(), **models.facts()},
        "steps": {"done": steps.done, "failed": steps.failed},
        "statistics": statistics.facts(),
    }
    missing = write_set(out, material, measured, kept, facts, sources.clips, steps, replace)
    warnings += (*link_warnings, *_warnings(settings, models, steps, out))
    if missing:
        warnings += (f"{missing} of {len(kept.by_take)} clips are not in {sources.clips}.",)
    elif sources.clips is None:
        warnings += (f"The videos have to be put into {out / 'clips'} under the names that graphs.jsonl has.",)
    summary = f"{kept.attrition.kept:,} questions about {len(kept.by_take):,} clips in {out}"
    tables = [one.table(of_paper=not settings.naive) for one in (kept.attrition, statistics)]
    return BuiltSet(out, summary, tables, warnings)


def _linked(
    takes: list[Take], sources: Sources, settings: BuildSettings, builder: OpenModel | None, steps: Steps
) -> tuple[LinkedTakes, tuple[str, ...]]:
    """The takes with their links, of a file or by a model, and warnings."""
    if settings.naive:
        # Nobody is asked, so that nothing is known of any pair.
        return LinkedTakes(takes, {take.uid: TakeLinks((), frozenset()) for take in takes}), ()
    if sources.links is not None:
        links, warnings = links_of_takes(takes, read_links(sources.links), sources.links)
        return LinkedTakes(takes, links), warnings
    assert builder is not None
    linked = find_links(takes, builder, steps, settings.pair_share)
    pairs = {
        "candidate pairs of actions": linked.candidates,
        "  that the observer lets on": linked.tested,
        "  that are causal links": sum(len(one.links) for one in linked.links.values()),
        "  that nobody judged": linked.candidates - linked.judged,
        "  of which a step failed": linked.failed,
    }
    return LinkedTakes(takes, linked.links, pairs), ()


def _warnings(settings: BuildSettings, models: BuildModels, steps: Steps, out: Path) -> Iterator[str]:
    if steps.failed:
        yield (
            f"{steps.failed:,} of {steps.done:,} steps of models brought no usable reply; {out / STEPS} says why. "
            "No question rests on them. Those that the server failed are asked again when the command is run again."
        )
    for model in models.repeated:
        yield (
            f"--verify-with names {model} twice with temperature 0, where both say the same; with temperature=0.7 they "
            "are two runs."
        )
    if settings.encoder == TFIDF and not settings.naive:
        yield "CNDA is by TF-IDF, the default; the paper's threshold belongs to a sentence encoder."


def choose_encoder(name: str) -> SentenceEncoder:
    """The sentence encoder of a name: `tfidf`, `model=NAME,url=…` of a server, or one of sentence-transformers.

    Raises:
        InputError: a server cannot be asked as it is named.
    """
    if name == TFIDF:
        return tfidf_encoder()
    if "=" in name:
        settings = read_settings(name)
        assert settings is not None
        return server_encoder(settings)
    return sentence_transformer(name)
