"""What runs of models depend on and go together with: other judges' labels, other scores, and the prompt.

Source: YoCausal paper, Table 3 (judges), Table 6 (other benchmarks, release dates, parameters) and Table 7 (prompts).
Table 6 prints Kendall's tau, but its values for release dates and parameters are Pearson's r, so both are given here.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import isfinite
from pathlib import Path

from lmms_eval_tasks.api import Problems, Record
from lmms_eval_tasks.api.release import quote, read_csv
from lmms_eval_tasks.api.runs import Run
from lmms_eval_tasks.yocausal.ranking import FORWARD_PROMPT, NULL, TASK, Ranking, measured_with, rank_runs
from lmms_eval_tasks.yocausal.table import read_labels

MODEL = "model"
PREPARED = "as prepared"

_DATE = re.compile(r"(?P<year>\d{4})-(?P<month>\d{1,2})(?:-\d{1,2})?|(?P<month_first>\d{1,2})/(?P<year_last>\d{4})")


@dataclass(frozen=True)
class Correlation:
    """Correlation of two lists of values of the same models."""

    names: tuple[str, str]
    models: int
    tau: float | None
    tau_p: float | None
    pearson: float | None
    pearson_p: float | None


def correlate(
    first: Mapping[str, float], second: Mapping[str, float], names: tuple[str, str] = ("", "")
) -> Correlation:
    """Correlate two values per model, over the models that have both."""
    from scipy import stats

    models = [model for model in first if model in second]
    pair = [first[model] for model in models], [second[model] for model in models]
    tau = tau_p = pearson = pearson_p = None
    if all(len(set(values)) > 1 for values in pair):
        tau, tau_p = map(float, stats.kendalltau(*pair))
        if len(models) > 2:
            pearson, pearson_p = map(float, stats.pearsonr(*pair))
    return Correlation(names, len(models), tau, tau_p, pearson, pearson_p)


def places(ranking: Ranking) -> dict[str, float]:
    """Model to its rank, which equal ones share, negative, so that a better model has the greater value."""
    return {run.place.model: -float(run.place.rank) for run in ranking.runs}


@dataclass(frozen=True)
class Judges:
    """Rankings of the same runs by the labels of several judges."""

    rankings: Mapping[str, Ranking]
    agreement: tuple[Correlation, ...]
    warnings: tuple[str, ...]


def rank_by_labels(runs: Sequence[Run], files: Sequence[Path]) -> Judges:
    """Rank runs by the labels that their records hold, then by those of each file; the losses stay what they are."""
    items = {record.item_id for run in runs for record in run.records.get(TASK, ())}
    rankings, warnings = {PREPARED: rank_runs(runs)}, []
    for name, file in zip(_distinct([file.stem for file in files]), files, strict=True):
        labels = read_labels(file, items)
        rankings[name] = rank_runs([_relabelled(run, labels) for run in runs])
        if unlabelled := sum(labels.get(item) is None for item in items):
            warnings.append(f"{file.name} has no label for {unlabelled:,} of {len(items):,} pairs.")
    agreement = [
        correlate(places(rankings[first]), places(rankings[second]), (first, second))
        for first, second in combinations(rankings, 2)
    ]
    return Judges(rankings, tuple(agreement), tuple(warnings))


def _distinct(names: Sequence[str]) -> list[str]:
    taken = [*names, PREPARED]
    return [name if taken.count(name) == 1 else f"{name} #{number}" for number, name in enumerate(names, 1)]


def _relabelled(run: Run, labels: Mapping[str, bool | None]) -> Run:
    def relabel(record: Record) -> Record:
        return replace(record, fields={**record.fields, "vlm_causality": labels.get(record.item_id)})

    return replace(run, records={TASK: tuple(map(relabel, run.records.get(TASK, ())))})


def read_scores(file: Path, models: Sequence[str]) -> dict[str, dict[str, float]]:
    """Values of models from a table: column to model to value."""
    problems = Problems()
    scores: dict[str, dict[str, float]] = {}
    seen: dict[str, str] = {}
    for where, row in read_csv(file, [MODEL]):
        model = row[MODEL].strip()
        if model in seen:
            problems.add(where, f"Expected a model once, but {quote(model)} is also at {seen[model]}.")
        seen.setdefault(model, where)
        for column, cell in row.items():
            if column == MODEL or not cell.strip():
                continue
            value = _read_cell(cell.strip())
            if value is None:
                problems.add(
                    where, f"Expected {column} to be a finite number, a date or nothing, but got {quote(cell.strip())}."
                )
            elif model in models:
                scores.setdefault(column, {})[model] = value
    if not problems and not scores:
        problems.add(
            file.name, f"Expected values of {', '.join(models)}, but got values of {', '.join(seen) or 'no model'}."
        )
    problems.raise_if_any(f"{file.name} cannot be used")
    return scores


def _read_cell(text: str) -> float | None:
    if date := _DATE.fullmatch(text):
        month = int(date["month"] or date["month_first"])
        return 12.0 * int(date["year"] or date["year_last"]) + month if 1 <= month <= 12 else None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) else None


def correlate_scores(ranking: Ranking, file: Path) -> tuple[Correlation, ...]:
    """Correlate the order of a ranking with each column of a table; arguments as in `read_scores`."""
    ranked = places(ranking)
    scores = read_scores(file, list(ranked))
    return tuple(correlate(ranked, values, ("rank", column)) for column, values in scores.items())


def runs_by_prompt(runs: Sequence[Run]) -> dict[str, tuple[Run, Run]]:
    """Model to its run with the forward prompt and its run with the null prompt."""
    by_prompt: defaultdict[str, defaultdict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        measured = measured_with(run)
        if len(measured) == 1:
            model, prompt = measured.pop()
            by_prompt[model][prompt].append(run)
    found = {}
    for model, of_model in by_prompt.items():
        forward, null = (of_model[prompt] for prompt in (FORWARD_PROMPT, NULL))
        if len(forward) == len(null) == 1:
            found[model] = (forward[0], null[0])
    return found
