"""Ordering finished runs of the task `yocausal` as the paper orders models: by RSI rank plus CCI rank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lmms_eval_tasks.api import InputError, Problems
from lmms_eval_tasks.api.runs import Run
from lmms_eval_tasks.yocausal import metrics
from lmms_eval_tasks.yocausal.report import references

TASK = "yocausal"
FORWARD_PROMPT, NULL = "forward", "null"


@dataclass(frozen=True)
class RankedModel:
    """A model's place: the sum of its RSI rank and its CCI rank, lower being better, ties ordered by RSI rank."""

    model: str
    rank: int
    rsi_rank: int
    cci_rank: int

    @property
    def total(self) -> int:
        """The sum of its two ranks: the paper's aggregate score."""
        return self.rsi_rank + self.cci_rank


def rank_models(scores: Mapping[str, tuple[float, float]]) -> list[RankedModel]:
    """Order models by RSI rank + CCI rank, then RSI rank, then name; those equal in the first two share a rank."""

    def ranks(keys: Mapping[str, Any]) -> dict[str, int]:
        return {model: 1 + sum(other < key for other in keys.values()) for model, key in keys.items()}

    by_rsi = ranks({model: -rsi for model, (rsi, _) in scores.items()})
    by_cci = ranks({model: -cci for model, (_, cci) in scores.items()})
    rank = ranks({model: (by_rsi[model] + by_cci[model], by_rsi[model]) for model in scores})
    return [
        RankedModel(model, rank[model], by_rsi[model], by_cci[model])
        for model in sorted(scores, key=lambda name: (rank[name], name))
    ]


@dataclass(frozen=True)
class RankedRun:
    """One run's place, its RSI in percent and CCI in percentage points, and its numbers of pairs."""

    place: RankedModel
    rsi: float
    cci: float
    pairs: int | None = None
    unscored: int | None = None


@dataclass(frozen=True)
class Ranking:
    """Runs in order, what to know before comparing them, and why no published score stands beside them."""

    runs: tuple[RankedRun, ...]
    warnings: tuple[str, ...]
    apart: tuple[str, ...]


def published_scores() -> dict[str, tuple[float, float]]:
    """The paper's models to their RSI and CCI, as printed."""
    rsi, cci = ({one.model: one.value for one in metric.published} for metric in references(TASK, 0))
    return {model: (value, cci[model]) for model, value in rsi.items()}


def measured_with(run: Run) -> set[tuple[str, str]]:
    """The model and the prompt of a run's losses, once each."""
    answers = (item.graded().submission.get("settings") for item in run.items_of(TASK))
    return {(str(settings.get("model")), str(settings.get("prompt"))) for settings in answers if settings}


def without_null_prompt(runs: Sequence[Run]) -> list[Run]:
    """The runs that are ranked: one with the null prompt is a check of a model, and none of its own."""
    return [run for run in runs if TASK not in run.records or {prompt for _, prompt in measured_with(run)} != {NULL}]


def rank_runs(runs: Sequence[Run], published: Mapping[str, tuple[float, float]] | None = None) -> Ranking:
    """Order runs by the sum of their RSI rank and CCI rank, ties by RSI rank."""
    problems = Problems()
    scored: dict[str, tuple[Run | None, float, float]] = {}
    for name, run in zip(_names(runs), runs, strict=True):
        where = f"{run.path.parent.name}/{run.path.name}"
        if TASK not in run.records:
            problems.add(where, f"Expected a run of {TASK}, but it holds {', '.join(run.records)}.")
            continue
        records = run.records[TASK]
        rsi, cci = metrics.RSI.score_records(records), metrics.CCI.score_records(records)
        if rsi is None:
            problems.add(where, "Expected scored pairs, but there are none.", remedy="its sample log says why.")
        elif cci is None:
            problems.add(
                where,
                "Expected pairs labelled causal and pairs labelled not causal, but one of the two is missing.",
                remedy="label them by `lmms-eval-tasks yocausal label` and prepare with --labels.",
            )
        else:
            scored[name] = (run, rsi, cci)
    problems.raise_if_any("These runs cannot be ranked")
    for name, values in (published or {}).items():
        scored[f"{name} (published)" if name in scored else name] = (None, *values)
    if not scored:
        raise InputError("Expected runs to rank, but got none; those with prompt=null are not ranked.")
    rows = []
    for place in rank_models({name: (rsi, cci) for name, (_, rsi, cci) in scored.items()}):
        ranked, rsi, cci = scored[place.model]
        if ranked is None:
            rows.append(RankedRun(place, rsi, cci))
            continue
        pairs = int(metrics.PAIRS.score_records(ranked.records[TASK]) or 0)
        rows.append(RankedRun(place, rsi, cci, pairs, len(ranked.records[TASK]) - pairs))
    warnings = []
    if len({frozenset(record.item_id for record in run.records[TASK]) for run in runs}) > 1:
        warnings.append("The runs were asked about different pairs.")
    sets = {run.set_of(TASK) for run in runs}
    if len(sets) > 1:
        warnings.append(f"The runs are of several sets: {'; '.join(sorted(one.text for one in sets))}.")
    return Ranking(tuple(rows), tuple(warnings), tuple(sorted({run.apart([TASK]) for run in runs} - {""})))


def _names(runs: Sequence[Run]) -> list[str]:
    """A name per run: the model that its records name, else the run's; with its folder where two are the same."""
    names = []
    for run in runs:
        models = {str(model) for record in run.records.get(TASK, ()) if (model := record.fields.get("model"))}
        names.append(models.pop() if len(models) == 1 else run.name)
    counts = Counter(names)
    unique = [
        name
        if counts[name] == 1
        else f"{name} ({run.path.parent.parent.name or run.path.parent.name}, {run.path.name[:15]})"
        for name, run in zip(names, runs, strict=True)
    ]
    return [name if unique.count(name) == 1 else f"{name} #{number}" for number, name in enumerate(unique, 1)]
