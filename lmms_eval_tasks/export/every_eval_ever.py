"""Results in the form of Every Eval Ever, schema 0.3.0: one file for each run and benchmark, of scores alone."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta, timezone
from enum import Enum
from math import isfinite
from pathlib import Path
from typing import Any
from uuid import UUID

from lmms_eval_tasks.export import facts
from lmms_eval_tasks.runs.scores import PartScores, ScoredRun, ScoreEntry, metrics_of
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.text import describe

SCHEMA = "0.3.0"
LEVEL = 0.95
UNITS = {"%": "percent", "points": "points"}
_MODEL = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)+")
"""Developer and model; both become names of folders."""


class Relationship(str, Enum):
    FIRST_PARTY = "first_party"
    THIRD_PARTY = "third_party"
    COLLABORATIVE = "collaborative"
    OTHER = "other"


class Deployment(str, Enum):
    SELF = "self_deployed"
    EXTERNAL = "externally_managed"
    UNKNOWN = "unknown"


class Availability(str, Enum):
    OPEN = "open_weights"
    CLOSED = "closed_weights"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Evaluator:
    organization: str
    relationship: Relationship
    deployment: Deployment = Deployment.UNKNOWN
    weights: Availability = Availability.UNKNOWN


def export_run(run: ScoredRun, model: str, evaluator: Evaluator) -> tuple[dict[Path, str], list[str]]:
    """The files of one run: one for each of its benchmarks; the same run gives the same names and bytes."""
    facts.refuse_samples([run])
    model = model or facts.hub_model(run)
    if not _MODEL.fullmatch(model):
        got = f"but got {describe(model)}" if model else "which its card does not have"
        raise InputError(f"{run.path}: Expected the model's id as DEVELOPER/MODEL by --model, {got}.")
    left_out = [f"{part.name}: {facts.SAMPLE}" for part in run.scores.parts if facts.is_sample(part)]
    files = {}
    for benchmark in dict.fromkeys(part.benchmark for part in run.scores.parts):
        parts = [part for part in run.scores.parts if part.benchmark == benchmark and not facts.is_sample(part)]
        results = [result for part in parts for result in _results(run, part)]
        if not results or facts.card_of(parts[0]) is None:
            reason = "a benchmark that is not installed here, or no score that is better when higher or lower"
            left_out += [f"{part.name}: {reason}" for part in parts]
            continue
        text = json.dumps(_record(run, benchmark, model, evaluator, results), indent=2, allow_nan=False) + "\n"
        developer, _, name = model.partition("/")
        # The datastore takes names of the form of a random UUID alone.
        uuid = UUID(bytes=hashlib.sha256(text.encode()).digest()[:16], version=4)
        files[Path("data", benchmark, developer, name.replace("/", "_"), f"{uuid}.json")] = text
    if not files:
        raise InputError("\n  ".join([facts.NO_REAL_DATA, *(f"{run.path}: {why}" for why in left_out)]))
    return files, left_out


def _record(
    run: ScoredRun, benchmark: str, model: str, evaluator: Evaluator, results: list[dict[str, Any]]
) -> dict[str, Any]:
    moment = facts.started(run)
    seconds = str(int(moment.timestamp()))
    of_run = facts.run_facts(run)
    return {
        "schema_version": SCHEMA,
        "evaluation_id": f"{benchmark}/{model}/{seconds}",
        "evaluation_timestamp": moment.astimezone(timezone(timedelta(0))).isoformat(),
        "retrieved_timestamp": seconds,
        "source_metadata": {
            "source_name": "lmms-eval-tasks",
            "source_type": "evaluation_run",
            "source_organization_name": evaluator.organization,
            "evaluator_relationship": evaluator.relationship.value,
        },
        "eval_library": {
            "name": "lmms-eval",
            "version": of_run.get("lmms-eval", "unknown"),
            "additional_details": {"lmms-eval-tasks": run.scores.lmms_eval_tasks},
        },
        "model_info": {
            "name": run.scores.model,
            "id": model,
            "developer": model.partition("/")[0],
            "additional_details": {
                "deployment_type": evaluator.deployment.value,
                "model_availability": evaluator.weights.value,
                **of_run,
            },
        },
        "evaluation_results": results,
    }


def _results(run: ScoredRun, part: PartScores) -> Iterator[dict[str, Any]]:
    """Scores of a task or group of which more or less is better; counts of items are no results."""
    bounds = {metric.name: metric.bounds for metric in metrics_of(part.tasks[0])}
    config: dict[str, Any] = {"additional_details": facts.task_facts(run, part)}
    if sampling := facts.sampling_of(run, part):
        config["generation_args"] = sampling
    for score in part.scores:
        if score.kind != "mean" or score.value is None or score.higher_is_better is None or score.metric not in bounds:
            continue
        yield {
            "evaluation_result_id": f"{part.name}/{score.metric}",
            "evaluation_name": part.name,
            "source_data": _source(part),
            "metric_config": _metric(part, score, bounds[score.metric]),
            "score_details": _details(run, part, score),
            "generation_config": config,
        }


def _source(part: PartScores) -> dict[str, Any]:
    """Return the data source of a score: the benchmark's dataset or page only if the score covers all of it."""
    card, apart = facts.card_of(part), facts.why_not_whole(part)
    title = card.title if card else part.benchmark
    details = {"task version": part.version, "data": ", ".join(one.text for one in part.data)}
    if card is None or apart or not (card.hub_id or card.homepage):
        name = f"{title} ({apart})" if apart else title
        return {"dataset_name": name, "source_type": "other", "additional_details": details}
    if card.hub_id:
        of = {"hf_repo": card.hub_id, "samples_number": sum(part.outcomes.values())}
        return {"dataset_name": title, "source_type": "hf_dataset", **of, "additional_details": details}
    return {"dataset_name": title, "source_type": "url", "url": [card.homepage], "additional_details": details}


def _metric(part: PartScores, score: ScoreEntry, bounds: tuple[float, float]) -> dict[str, Any]:
    unit = UNITS.get(score.unit, score.unit)
    return {
        "metric_id": f"{part.benchmark}.{score.metric}",
        "metric_name": score.title,
        **({"metric_unit": unit} if unit else {}),
        "lower_is_better": not score.higher_is_better,
        "score_type": "continuous",
        "min_score": _bound(bounds[0]),
        "max_score": _bound(bounds[1]),
        "additional_details": {"leads the paper": "yes" if score.metric == part.leading else "no"},
    }


def _bound(value: float) -> float | str:
    return value if isfinite(value) else "Infinity" if value > 0 else "-Infinity"


def _details(run: ScoredRun, part: PartScores, score: ScoreEntry) -> dict[str, Any]:
    counts = {"groups": score.groups, "items": score.items, **{f"items {key}": n for key, n in part.outcomes.items()}}
    details = {name: str(count) for name, count in counts.items() if count is not None}
    if score.low is None or score.high is None or score.groups is None:
        return {"score": score.value, "details": details}
    interval = {
        "lower": score.low,
        "upper": score.high,
        "confidence_level": LEVEL,
        "method": run.scores.method,
    }
    return {
        "score": score.value,
        "details": details,
        "uncertainty": {"confidence_interval": interval, "num_samples": score.groups},
    }
