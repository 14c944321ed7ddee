"""All steps of a build, from files to a set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_eval_tasks.countervqa.construction.annotations import Take, read_takes
from lmms_eval_tasks.countervqa.construction.assemble import (
    LinkedTakes,
    keep_questions,
    make_candidates,
    measure_takes,
    write_set,
)
from lmms_eval_tasks.countervqa.construction.forecast import forecast_build
from lmms_eval_tasks.countervqa.construction.given_links import links_of_takes, read_links
from lmms_eval_tasks.countervqa.construction.models import STEPS, BuildModels
from lmms_eval_tasks.countervqa.construction.roles import find_links
from lmms_eval_tasks.countervqa.construction.settings import BuildSettings
from lmms_eval_tasks.countervqa.construction.steps import OpenModel, Steps
from lmms_eval_tasks.countervqa.construction.verification import propose_absent, rephrase, verify
from lmms_eval_tasks.host.embeddings import server_encoder
from lmms_eval_tasks.host.judge import read_settings
from lmms_eval_tasks.utils.benchmark.built_set import BuiltSet
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.progress import Progress
from lmms_eval_tasks.utils.data.manifest import file_sha256
from lmms_eval_tasks.utils.graphs.encoders import TFIDF, SentenceEncoder, sentence_transformer, tfidf_encoder
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
    if sources.links is None and models.builder is None:
        raise InputError("Expected --links, the file with the causal links, or --model, who to ask for them; got none.")
    if settings.rephrase and models.builder is None:
        raise InputError("Expected --model, who to ask for other words, beside --rephrase, but got none.")


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
    if sources.links is not None:
        links, link_warnings = links_of_takes(takes, read_links(sources.links), sources.links)
        material = LinkedTakes(takes, links)
        warnings += link_warnings
    else:
        assert builder is not None
        material = _links_by_model(takes, builder, steps)
    measured = measure_takes(material, settings.thresholds, encoder, progress)
    by_uid = {take.uid: take for take in takes}
    proposed = None
    if builder is not None:
        kept_takes = [by_uid[uid] for uid in measured.filtered.kept]
        proposed = propose_absent(kept_takes, settings.candidates, encoder, builder, steps)
    candidates = make_candidates(material, measured, settings, proposed, progress)
    if settings.rephrase and builder is not None:
        candidates = rephrase(candidates, by_uid, builder, steps)
    rejected = verify(candidates, by_uid, models.open_verifiers(), steps)
    kept = keep_questions(material, measured, candidates, rejected)
    facts: Mapping[str, Any] = {
        "sources": sources.digests(),
        "settings": {**settings.facts(), **models.facts()},
        "steps": {"done": steps.done, "failed": steps.failed},
    }
    missing = write_set(out, material, measured, kept, facts, sources.clips, steps, replace)
    if steps.failed:
        warnings += (
            f"{steps.failed:,} of {steps.done:,} steps of models brought no usable reply; {out / STEPS} says why. "
            "No question rests on them. Those that the server failed are asked again when the command is run again.",
        )
    if missing:
        warnings += (f"{missing} of {len(kept.by_take)} clips are not in {sources.clips}.",)
    elif sources.clips is None:
        warnings += (f"The videos have to be put into {out / 'clips'} under the names that graphs.jsonl has.",)
    if settings.encoder == TFIDF:
        warnings += ("CNDA is by TF-IDF, the default; the paper's threshold belongs to a sentence encoder.",)
    summary = f"{kept.attrition.kept:,} questions about {len(kept.by_take):,} clips in {out}"
    return BuiltSet(out, summary, [kept.attrition.table()], warnings)


def _links_by_model(takes: list[Take], builder: OpenModel, steps: Steps) -> LinkedTakes:
    linked = find_links(takes, builder, steps)
    pairs = {
        "candidate pairs of actions": linked.candidates,
        "  that the observer lets on": linked.tested,
        "  that are causal links": sum(map(len, linked.links.values())),
        "  of which a step failed": sum(map(len, linked.undecided.values())),
    }
    return LinkedTakes(takes, linked.links, linked.undecided, pairs)


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
