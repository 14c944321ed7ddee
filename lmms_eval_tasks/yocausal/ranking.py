"""Finished runs of the task `yocausal` in the paper's order, and what that order depends on and goes together with.

Source: YoCausal paper: models are ordered by RSI rank plus CCI rank; Table 3 (judges), Table 6 (other benchmarks,
release dates, parameters) and Table 7 (prompts). Table 6 prints Kendall's tau, but its values for release dates and
parameters are Pearson's r, so both are given here.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lmms_eval_tasks.api import InputError, Problems
from lmms_eval_tasks.api.commands import make_console, text_table
from lmms_eval_tasks.api.page import compare_records
from lmms_eval_tasks.api.release import quote, read_csv
from lmms_eval_tasks.api.runs import Run, read_run
from lmms_eval_tasks.yocausal import card
from lmms_eval_tasks.yocausal.card import CAUSALITY, TASK, references
from lmms_eval_tasks.yocausal.prepare import read_labels

if TYPE_CHECKING:
    from rich.console import Console

FORWARD_PROMPT, NULL = "forward", "null"
TAU, PEARSON = "Kendall tau", "printed as Kendall tau; arithmetic shows Pearson r"
"""Units of published correlations."""
CORRELATED = "correlation of aggregate ranking with "
MODEL = "model"
PREPARED = "as prepared"
PAPERS_MODELS = 13
_DATE = re.compile(r"(?P<year>\d{4})-(?P<month>\d{1,2})(?:-\d{1,2})?|(?P<month_first>\d{1,2})/(?P<year_last>\d{4})")


@dataclass(frozen=True)
class RankedModel:
    """A model's RSI in percent, its CCI in percentage points, and their ranks; of a run also its numbers of pairs."""

    model: str
    rsi: float
    cci: float
    rank: int
    rsi_rank: int
    cci_rank: int
    pairs: int | None = None
    unscored: int | None = None

    @property
    def total(self) -> int:
        """The sum of its two ranks, lower being better: the paper's aggregate score."""
        return self.rsi_rank + self.cci_rank


@dataclass(frozen=True)
class Ranking:
    """Runs in order, what to know before comparing them, and why they are not compared with published scores."""

    runs: tuple[RankedModel, ...]
    warnings: tuple[str, ...]
    apart: tuple[str, ...]

    @property
    def places(self) -> dict[str, float]:
        """Model to its rank, which equal ones share, negative, so that a better model has the greater value."""
        return {run.model: -float(run.rank) for run in self.runs}


def rank_models(scores: Mapping[str, tuple[float, float]]) -> list[RankedModel]:
    """Order models by RSI rank + CCI rank, then RSI rank, then name; those equal in the first two share a rank."""

    def ranks(keys: Mapping[str, Any]) -> dict[str, int]:
        return {model: 1 + sum(other < key for other in keys.values()) for model, key in keys.items()}

    by_rsi = ranks({model: -rsi for model, (rsi, _) in scores.items()})
    by_cci = ranks({model: -cci for model, (_, cci) in scores.items()})
    rank = ranks({model: (by_rsi[model] + by_cci[model], by_rsi[model]) for model in scores})
    ordered = sorted(scores, key=lambda name: (rank[name], name))
    return [RankedModel(name, *scores[name], rank[name], by_rsi[name], by_cci[name]) for name in ordered]


def published_scores() -> dict[str, tuple[float, float]]:
    rsi, cci = ({one.model: one.value for one in metric.published} for metric in references(TASK, 0))
    return {model: (value, cci[model]) for model, value in rsi.items()}


def measured_with(run: Run) -> set[tuple[str, str]]:
    """The model and the prompt of a run's losses, once each."""
    answers = (item.graded().submission.get("settings") for item in run.items_of(TASK))
    return {(str(settings.get("model")), str(settings.get("prompt"))) for settings in answers if settings}


def without_null_prompt(runs: Sequence[Run]) -> list[Run]:
    """The runs that are ranked: one with the null prompt is a check of a model, and none of its own."""
    return [run for run in runs if TASK not in run.records or {prompt for _, prompt in measured_with(run)} != {NULL}]


def runs_by_prompt(runs: Sequence[Run]) -> dict[str, tuple[Run, Run]]:
    """Model to its run with the forward prompt and its run with the null prompt."""
    measured: defaultdict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in runs:
        if len(settings := measured_with(run)) == 1:
            measured[settings.pop()].append(run)
    pairs = {model: (measured[model, FORWARD_PROMPT], measured[model, NULL]) for model, _ in list(measured)}
    return {model: (one[0], two[0]) for model, (one, two) in pairs.items() if len(one) == len(two) == 1}


def rank_runs(runs: Sequence[Run], published: Mapping[str, tuple[float, float]] | None = None) -> Ranking:
    """Order runs by the sum of their RSI rank and CCI rank, ties by RSI rank."""
    problems = Problems()
    scores: dict[str, tuple[float, float]] = {}
    named = dict(zip(_names(runs), runs, strict=True))
    for name, run in named.items():
        where = f"{run.path.parent.name}/{run.path.name}"
        if TASK not in run.records:
            problems.add(where, f"Expected a run of {TASK}, but it holds {', '.join(run.records)}.")
            continue
        rsi, cci = (metric.score_records(run.records[TASK]) for metric in (card.RSI, card.CCI))
        if rsi is None:
            problems.add(where, "Expected scored pairs, but there are none.", remedy="its sample log says why.")
        elif cci is None:
            problems.add(
                where,
                "Expected pairs labelled causal and pairs labelled not causal, but one of the two is missing.",
                remedy="label them by `lmms-eval-tasks yocausal label` and prepare with --labels.",
            )
        else:
            scores[name] = (rsi, cci)
    problems.raise_if_any("These runs cannot be ranked")
    scores |= {f"{name} (published)" if name in named else name: both for name, both in (published or {}).items()}
    if not scores:
        raise InputError("Expected runs to rank, but got none; those with prompt=null are not ranked.")
    rows = []
    for row in rank_models(scores):
        if row.model in named:
            records = named[row.model].records[TASK]
            pairs = int(card.PAIRS.score_records(records) or 0)
            row = replace(row, pairs=pairs, unscored=len(records) - pairs)
        rows.append(row)
    warnings = []
    if len({frozenset(record.item_id for record in run.records[TASK]) for run in runs}) > 1:
        warnings.append("The runs were asked about different pairs.")
    if len(sets := {run.set_of(TASK) for run in runs}) > 1:
        warnings.append(f"The runs are of several sets: {'; '.join(sorted(one.text for one in sets))}.")
    return Ranking(tuple(rows), tuple(warnings), tuple(sorted({run.apart([TASK]) for run in runs} - {""})))


def _names(runs: Sequence[Run]) -> list[str]:
    """A name per run: the model that its records name, else the run's; with its folder where two are the same."""
    names = []
    for run in runs:
        models = {str(model) for record in run.records.get(TASK, ()) if (model := record.fields.get("model"))}
        names.append(models.pop() if len(models) == 1 else run.name)
    counts = Counter(names)
    unique = []
    for name, run in zip(names, runs, strict=True):
        folder = run.path.parent.parent.name or run.path.parent.name
        unique.append(name if counts[name] == 1 else f"{name} ({folder}, {run.path.name[:15]})")
    return _numbered(unique)


def _numbered(names: Sequence[str], taken: Sequence[str] = ()) -> list[str]:
    """Names with their number where one is there twice or is taken."""
    counts = Counter([*names, *taken])
    return [name if counts[name] == 1 else f"{name} #{number}" for number, name in enumerate(names, 1)]


@dataclass(frozen=True)
class Correlation:
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


def rank_by_labels(runs: Sequence[Run], files: Sequence[Path]) -> dict[str, Ranking]:
    """Rank runs by the labels that their records hold, then by those of each file; the losses stay what they are."""
    items = {record.item_id for run in runs for record in run.records.get(TASK, ())}
    rankings = {PREPARED: rank_runs(runs)}
    for name, file in zip(_numbered([file.stem for file in files], [PREPARED]), files, strict=True):
        labels = {item: row.vlm_causality for item, row in read_labels(file, items, (CAUSALITY,)).items()}
        relabelled = []
        for run in runs:
            records = run.records.get(TASK, ())
            changed = tuple(one.with_fields(**{CAUSALITY: labels.get(one.item_id)}) for one in records)
            relabelled.append(replace(run, records={TASK: changed}))
        ranking = rank_runs(relabelled)
        if unlabelled := sum(labels.get(item) is None for item in items):
            warning = f"{file.name} has no label for {unlabelled:,} of {len(items):,} pairs."
            ranking = replace(ranking, warnings=(*ranking.warnings, warning))
        rankings[name] = ranking
    return rankings


def agreement(rankings: Mapping[str, Ranking]) -> list[Correlation]:
    """Correlate the orders of the same runs by the labels of several judges, two at a time."""
    order = {name: ranking.places for name, ranking in rankings.items()}
    return [correlate(order[first], order[second], (first, second)) for first, second in combinations(order, 2)]


def correlate_scores(ranking: Ranking, file: Path) -> tuple[Correlation, ...]:
    """Correlate the order of a ranking with each column of a table of models."""
    ranked = ranking.places
    scores = read_scores(file, list(ranked))
    return tuple(correlate(ranked, values, ("rank", column)) for column, values in scores.items())


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
        for column, cell in ((name, cell.strip()) for name, cell in row.items() if name != MODEL):
            value = _read_cell(cell) if cell else None
            if cell and value is None:
                wanted = f"Expected {column} to be a finite number, a date or nothing"
                problems.add(where, f"{wanted}, but got {quote(cell)}.")
            elif value is not None and model in models:
                scores.setdefault(column, {})[model] = value
    if not problems and not scores:
        known = ", ".join(seen) or "no model"
        problems.add(file.name, f"Expected values of {', '.join(models)}, but got values of {known}.")
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


# ---- the command ---------------------------------------------------------------------------------------------------


def rank(
    runs: Annotated[
        list[Path] | None, typer.Argument(help="Output folders of runs of yocausal; of each its latest run.")
    ] = None,
    labels: Annotated[
        list[Path] | None,
        typer.Option(help="Rank by these labels, too; may be repeated.", show_default=False),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(help="CSV of other scores, release dates or parameters by model.", show_default=False),
    ] = None,
    published: Annotated[
        bool, typer.Option("--published", help="Rank them among the paper's thirteen models.")
    ] = False,
) -> None:
    """Order runs of yocausal with the forward prompt by RSI rank plus CCI rank, ties by RSI.

    With --labels, also by the labels of other judges, with the agreement of the rankings. With --against, how the order
    goes together with other scores. Runs of one model with both prompts are compared.

    Examples:
        lmms-eval-tasks yocausal rank out/wan out/a14b
        lmms-eval-tasks yocausal rank out/wan out/a14b --labels yocausal_labels.jsonl
        lmms-eval-tasks yocausal rank out/wan --published
    """
    finished = [read_run(run) for run in runs or []]
    ranked = without_null_prompt(finished)
    models = published_scores() if published else {}
    judges = rank_by_labels(ranked, labels or []) if ranked or not models else {}
    prepared = rank_runs(ranked, models)
    if models and prepared.apart:
        models, prepared = {}, judges[PREPARED]
    console = make_console()
    for note in dict.fromkeys(note for run in finished for note in run.notes):
        console.print(f"note: {note}.", style="yellow", soft_wrap=True)
    for name, one in {**judges, PREPARED: prepared}.items():
        _print_ranking(console, one, f"labels: {name}" if labels else None)
    warnings = [warning for one in (prepared, *judges.values()) for warning in one.warnings]
    if published and not models:
        warnings.append("Published models are left out: they are of the whole release.")
    for warning in dict.fromkeys(warnings):
        console.print(f"warning: {warning}", style="yellow")
    console.print(
        "Ranked by the sum of RSI rank and CCI rank, ties by RSI rank. RSI in percent, CCI in percentage points."
    )
    if len(ranked) < len(finished):
        console.print("Runs with prompt=null are not ranked; where there is one with the caption, see below.")
    if compared := agreement(judges):
        _print_correlations(console, "agreement of the rankings", [*compared, *_published(prepared, "3")])
    if against:
        compared = [*correlate_scores(prepared, against), *_published(prepared, "6")]
        _print_correlations(console, "rank against other values", compared)
        console.print("A positive value: the better rank goes with the greater value or the later date.")
    if prompts := runs_by_prompt(finished):
        _print_prompts(console, prompts)


def _print_ranking(console: Console, ranking: Ranking, title: str | None) -> None:
    for why in ranking.apart:
        console.print(f"NOT THE WHOLE RELEASE: {why}", style="bold red")
    table = text_table(title, "model", "place", "sum", "RSI (rank)", "CCI (rank)", "pairs", "unscored")
    for row in ranking.runs:
        ranks = f"{row.rsi:.2f} ({row.rsi_rank})", f"{row.cci:.2f} ({row.cci_rank})"
        counts = "printed" if row.pairs is None else row.pairs, "" if row.unscored is None else row.unscored
        table.add_row(row.model, *map(str, (row.rank, row.total, *ranks, *counts)))
    console.print(table)


def _print_prompts(console: Console, prompts: Mapping[str, tuple[Run, Run]]) -> None:
    table = text_table("forward and null prompt", "model", "score", "forward", "null", "change [95%]", "pairs", names=2)
    for model, both in prompts.items():
        forward, null = ({TASK: run.records[TASK]} for run in both)
        for score in compare_records(forward, null, [card.RSI, card.CCI]).differences:
            low, high = score.interval
            change = f"{score.change:+.2f} [{low:+.2f}, {high:+.2f}]"
            cells = (score.metric.title, f"{score.first:.2f}", f"{score.second:.2f}", change, str(score.groups))
            table.add_row(model, *cells)
    console.print(table)


def _published(ranking: Ranking, table: str) -> list[Correlation]:
    """The correlations of a table of the paper; none beside runs that are not of the whole release."""
    if ranking.apart:
        return []
    figures = json.loads((card.FOLDER / "published.json").read_text(encoding="utf-8"))["records"]
    found = []
    for entry in (one for one in figures if one["source"].startswith(f"YoCausal Table {table}")):
        other = entry["metric"].removeprefix(CORRELATED)
        of_models = other != entry["metric"]
        name, models = (other, int(entry["model"].split()[0])) if of_models else (entry["model"], PAPERS_MODELS)
        values = entry["value"], entry["p_value"]
        tau, pearson = (values, (None, None)) if entry["unit"] == TAU else ((None, None), values)
        found.append(Correlation((f"paper, Table {table}", name), models, *tau, *pearson))
    return found


def _print_correlations(console: Console, title: str, correlations: Sequence[Correlation]) -> None:
    table = text_table(title, "", "", "models", "Kendall tau", "p", "Pearson r", "p", names=2)
    for one in correlations:
        values = (one.tau, one.tau_p, one.pearson, one.pearson_p)
        table.add_row(*one.names, str(one.models), *("N/A" if value is None else f"{value:.4f}" for value in values))
    console.print(table)
