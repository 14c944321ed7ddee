"""Scores of a run with their intervals, by task and group: computed from its records, or read from its file of
scores."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

import lmms_eval_tasks
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs.folder import Run, arrange, note_cut, read_latest, read_run
from lmms_eval_tasks.runs.run_card import Sections, read_run_card
from lmms_eval_tasks.runs.run_files import RESULTS, ResultsFile, card_path, read_results, results_files
from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark, TaskKind
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.forms import RowForm, read_written_object
from lmms_eval_tasks.utils.data.card import DataSet
from lmms_eval_tasks.utils.data.sampling import Sampled
from lmms_eval_tasks.utils.reporting.references import ReferencedMetric, published_of_view, usual_references
from lmms_eval_tasks.utils.scoring import metrics
from lmms_eval_tasks.utils.scoring.bootstrap import BY_STRATA, METHOD, estimate_units
from lmms_eval_tasks.utils.scoring.compare import Part
from lmms_eval_tasks.utils.scoring.record import Outcome, Record

PAIR_METRICS = (
    metrics.PAIR_ACCURACY,
    metrics.SINGLE_ACCURACY,
    metrics.PAIR_ACCURACY_OFFICIAL,
    metrics.PAIRS_SCORED,
)
"""The scores of a task of no benchmark, whose items are taken for pairs."""


def metrics_of(task: str) -> tuple[metrics.Metric, ...]:
    known = registry().find_task(task)
    return tuple(known.kind.metrics) if known else PAIR_METRICS


def references_of(name: str, task: str, items: int) -> tuple[ReferencedMetric, ...]:
    """Return the scores of a task or group that its benchmark sets beside published figures; the leading one first."""
    known = registry().find_task(task)
    if known is None:
        return tuple(map(ReferencedMetric, PAIR_METRICS[:2]))
    parent, kind = registry().find_parent(name), known.kind
    card, folder = known.benchmark.card, known.benchmark.folder
    own = kind.references
    others = {one.name for other in known.benchmark.kinds.values() if other is not kind for one in other.metrics}
    references = own(parent, items) if own else usual_references(card, folder, kind.metrics, parent, others)
    if not known.view:
        return references
    published = [one for one in published_of_view(folder, parent, known.view) if not one.people]
    seen = []
    for one in references:
        models = tuple(model for model in published if model.score == one.metric.name)
        chance = one.chance if known.keeps_chance else None
        note = " ".join(f"{model.model}: {model.note}" for model in models if model.note)
        seen.append(replace(one, chance=chance, people=(), published=models, note=note))
    return tuple(seen)


def unshown_chance(benchmark: Benchmark, kind: TaskKind) -> str:
    """Return a sentence on the scores of a kind whose chance the card has and no report shows; empty where there are
    none."""
    if kind.references:
        return ""
    holders = {
        metric.name: [name for name, one in benchmark.kinds.items() if metric.name in {own.name for own in one.metrics}]
        for metric in kind.metrics
        if metric.name in benchmark.card.chance
    }
    return " ".join(
        f"Chance of {score} is not shown: {' and '.join(kinds)} have this score, and the card does not say of which it "
        f"is the chance. Write references=lambda task, items: (ReferencedMetric(METRIC, CHANCE),) in each TaskKind."
        for score, kinds in holders.items()
        if len(kinds) > 1
    )


def groups_of(run: Run) -> dict[str, tuple[str, ...]]:
    """Return the groups that are scored as one: their tasks are of one kind, and show one view of their items."""

    def form(task: str) -> tuple[int, str] | None:
        known = registry().find_task(task)
        return (id(known.kind), known.view) if known else None

    return {group: tasks for group, tasks in run.groups.items() if len(set(map(form, tasks))) == 1}


def comparable_parts(run: Run) -> dict[str, Part]:
    alone = {task: {task: records} for task, records in run.records.items()}
    grouped = {group: {task: run.records[task] for task in tasks} for group, tasks in groups_of(run).items()}
    return {**alone, **grouped}


def parts_of(run: Run) -> dict[str, Sequence[str]]:
    return arrange(groups_of(run), run.records)


SCORES = "_scores.json"

Value = Annotated[float, Field(allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]
Variance = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def unread_text(reasons: Mapping[str, int], asked: int) -> str:
    """Return "27 of 40 unparsed (letter and text disagree 27)", the commonest reason first; empty without any."""
    listed = ", ".join(f"{reason} {count:,}" for reason, count in Counter(reasons).most_common())
    return f"{sum(reasons.values()):,} of {asked:,} unparsed ({listed})" if reasons else ""


class _Part(RowForm, extra="forbid", use_attribute_docstrings=True):
    """Part of the file: every field is described, and there is no other."""


class ScoreEntry(_Part):
    """One score of a task or group."""

    metric: str
    """Its name in lmms-eval's results."""
    title: str
    """Its name in tables."""
    kind: metrics.Kind
    """How values become a score: a mean, a number of groups, or a sum."""
    unit: str
    """Of the value and its interval; empty for plain numbers."""
    higher_is_better: bool | None
    """Null where neither is."""
    value: Value | None
    """The score; null where nothing counts in it."""
    low: Value | None
    """Lower end of its 95% interval; null of counts, and where the file says why there is none."""
    high: Value | None
    """Upper end."""
    groups: Count | None
    """Number of groups (pairs, clips, scenes) it is computed from; null where the items are not known."""
    items: Count | None
    """Number of items it is computed from."""
    items_variance: Variance | None = None
    """Of several samples an item: the variance between items, or groups whose members count only together, without
    that of samples; in the unit, squared."""
    samples_variance: Variance | None = None
    """The variance between the samples of one."""


class SampledGroups(_Part):
    """From how many groups of its set a score is estimated."""

    asked: Count
    """Groups that were asked."""
    groups: Count
    """Groups of the whole set."""
    unit: str
    """What they are called: pairs, or groups."""


class PartScores(_Part):
    """The scores of a task, or of a group of tasks."""

    name: str
    """The task or group."""
    tasks: Annotated[list[str], Field(min_length=1)]
    """Its tasks; their scores count equally."""
    benchmark: str
    """Its benchmark; empty where this package knows none."""
    version: str
    """Its version N-X; scores of another N are not comparable."""
    view: str
    """What the model was shown of each item; empty of whole items."""
    data: list[DataSet]
    """What the sets of its tasks are, each once."""
    apart: str
    """Why it is not compared with published scores; empty of all items of the official release."""
    outcomes: dict[str, Count]
    """How many items are correct, wrong, unparsed and unscored; empty where the items are not known. Of several samples
    an item, how many samples."""
    unparsed: dict[str, Count] = Field(default_factory=dict)
    """Of those that are unparsed, how many for each reason, where it is known; left out where none is."""
    samples: Annotated[int, Field(ge=2)] | None = None
    """How many answers each item has; left out where it is one."""
    sampled: SampledGroups | None = None
    """From how many groups the scores of the whole set are estimated; left out where all were asked. Numbers of
    groups, items and outcomes are those of the sample."""
    leading: str
    """The metric that the benchmark's paper leads with."""
    scores: list[ScoreEntry]
    """All scores that apply to it."""

    @property
    def from_sample(self) -> str:
        """Return "from 400 of 9,208 pairs" of scores that are estimated from a sample; empty of all others."""
        return str(Sampled(**self.sampled.model_dump())) if self.sampled else ""

    @property
    def unread(self) -> str:
        """How many answers are unparsed, and why, for people; empty where it is not known of any."""
        asked = sum(count for outcome, count in self.outcomes.items() if outcome != Outcome.UNSCORED.value)
        return unread_text(self.unparsed, asked)

    def score(self, metric: str) -> ScoreEntry:
        return {entry.metric: entry for entry in self.scores}[metric]

    def find(self, metric: str) -> ScoreEntry | None:
        """Return a score that has a value."""
        return next((one for one in self.scores if one.metric == metric and one.value is not None), None)


class ScoresFile(_Part):
    """The scores of one run, with their intervals and numbers of items."""

    form: Literal[1]
    """Number of this form."""
    lmms_eval_tasks: str
    """Version of the package that computed the scores."""
    results: str
    """The results file that it lies beside."""
    model: str
    """The model, with its arguments' checkpoint where it has one."""
    method: str
    """How every interval is computed, with draws and seed."""
    parts: list[PartScores]
    """Tasks and groups."""

    def part(self, name: str) -> PartScores:
        return {part.name: part for part in self.parts}[name]

    def shown_parts(self, only: str = "") -> list[PartScores]:
        """Return the groups, then the tasks that are in none of them, and the task that is asked for."""
        groups = {part.name: part.tasks for part in self.parts if part.tasks != [part.name]}
        alone = [part for part in self.parts if part.name not in groups]
        shown = arrange(groups, [part.name for part in alone])
        named = [self.part(name) for name in groups]
        return [*named, *(part for part in alone if part.name in shown or part.name == only)]


def scores_path(results: Path) -> Path:
    return results.with_name(f"{results.name.removesuffix(RESULTS)}{SCORES}")


def scores_text(scores: ScoresFile) -> str:
    """Return the file's text; the same scores give the same bytes."""
    written = scores.model_dump(mode="json", exclude_unset=True)
    return json.dumps(written, ensure_ascii=True, indent=2, allow_nan=False) + "\n"


def write_scores(run: Run, counted: dict[tuple[str, str], metrics.Units] | None = None) -> ScoresFile:
    scores = scores_of(run, counted)
    write_file(scores_path(run.path), scores_text(scores))
    return scores


def read_scores(path: Path) -> ScoresFile:
    return read_written_object(path, ScoresFile, "a scores file")[0]


def scores_schema() -> dict[str, Any]:
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **ScoresFile.model_json_schema()}


def scores_of(run: Run, counted: dict[tuple[str, str], metrics.Units] | None = None) -> ScoresFile:
    """Compute the scores of a run; `counted` has what counts in each, by task and score, as far as it is known."""
    counted, parts = {} if counted is None else counted, []
    for name, part in comparable_parts(run).items():
        try:
            parts.append(_part_scores(run, name, part, counted))
        except KeyError as error:
            raise InputError(
                f"{run.path}: Expected records of {name} with {error}, which an earlier version did not write: "
                f"`lmms-eval-tasks rescore {run.path} --out DIR` writes them anew."
            ) from None
    return ScoresFile(
        form=1,
        lmms_eval_tasks=lmms_eval_tasks.__version__,
        results=run.path.name,
        model=run.name,
        method=BY_STRATA if parts and all(part.sampled for part in parts) else METHOD,
        parts=parts,
    )


def _part_scores(run: Run, name: str, part: Part, counted: dict[tuple[str, str], metrics.Units]) -> PartScores:
    """Compute a part's scores; `counted` keeps what counts in each, by task and score."""
    tasks = list(part)
    known = registry().find_task(tasks[0])
    records = [record for of_task in part.values() for record in of_task]
    outcomes = Counter(one.outcome for record in records for one in record.each)
    unparsed = Counter(one.unparsed_reason for record in records for one in record.each if one.unparsed_reason)
    sampled = run.sampled(tasks)
    # The number of items says which set it is, and that of a sample does not.
    references = references_of(name, tasks[0], 0 if sampled else len(records))
    several = samples_of(records)
    scores = []
    for metric in _listed(tasks[0]):
        for task in tasks:
            if (task, metric.name) not in counted:
                counted[task, metric.name] = metric.units(part[task])
        units = [counted[task, metric.name] for task in tasks]
        if any(units):
            split = metrics.variances(metric, part.values()) if several and metric.kind == "mean" else None
            scores.append(_entry(metric, units, split))
    for metric in sample_metrics(one.metric for one in references) if several else ():
        scores.append(_entry(metric, [metric.units(part[task]) for task in tasks]))
    found: dict[str, Any] = {"samples": several} if several else {}
    if sampled:
        found["sampled"] = SampledGroups(**sampled._asdict())
    if unparsed:
        found["unparsed"] = {why.value: count for why, count in unparsed.most_common()}
    return PartScores(
        name=name,
        tasks=tasks,
        benchmark=known.benchmark.name if known else "",
        version=run.versions.get(name, ""),
        view=known.view if known else next((record.view for record in records), ""),
        data=list(dict.fromkeys(run.set_of(task) for task in tasks)),
        apart=run.apart(tasks),
        outcomes={outcome.value: outcomes[outcome] for outcome in Outcome} if records else {},
        leading=references[0].metric.name,
        scores=scores,
        **found,
    )


def samples_of(records: Iterable[Record]) -> int:
    """Return how many answers each of some items has; 0 where it is one."""
    most = max((len(record.samples) for record in records), default=0)
    return most + 1 if most else 0


def sample_metrics(leading: Iterable[metrics.Metric]) -> Iterator[metrics.Metric]:
    return chain(*map(metrics.over_samples, leading), (metrics.SELF_AGREEMENT,))


def _listed(task: str) -> Iterator[metrics.Metric]:
    """Return the scores of a task; the kind of its data is said elsewhere."""
    return (metric for metric in metrics_of(task) if metric is not metrics.SAMPLE_DATA)


def _entry(
    metric: metrics.Metric, counted: Sequence[metrics.Units], split: tuple[float, float] | None = None
) -> ScoreEntry:
    score = estimate_units(metric, counted) if metric.kind == "mean" else None
    return ScoreEntry(
        metric=metric.name,
        title=metric.title,
        kind=metric.kind,
        unit=metric.unit,
        higher_is_better=metric.higher_is_better,
        value=score.value if score else None if metric.kind == "mean" else metrics.score_tasks(metric, counted),
        low=score.low if score else None,
        high=score.high if score else None,
        groups=sum(map(metrics.count_groups, counted)),
        items=sum(map(metrics.count_items, counted)),
        **({"items_variance": split[0], "samples_variance": split[1]} if split else {}),
    )


@dataclass(frozen=True)
class ScoredRun:
    path: Path
    scores: ScoresFile
    card: Sections
    results: ResultsFile | None
    notes: tuple[str, ...] = ()


def read_scored(source: Path) -> ScoredRun:
    files = results_files(source, (RESULTS, SCORES))
    if not files:
        raise InputError(
            f"{source} holds no run: Expected a file *{RESULTS}, as lmms-eval writes it to --output_path, or the "
            f"*{SCORES} beside it."
        )
    scored, cut = read_latest(files, _read)
    notes = [note_cut(path) for path in cut]
    if (number := len(files) - len(cut)) > 1:
        notes.append(f"{source} holds {number:,} runs; this is the latest, {scored.path}")
    return replace(scored, notes=tuple(notes))


def _read(path: Path, allow_incomplete: bool) -> ScoredRun:
    """Return the run of one results file; `CutShort` where that is all that is wrong with it."""
    scores = scores_path(path)
    if not scores.is_file():
        run = read_run(path, allow_incomplete)
        return ScoredRun(path, scores_of(run), run.card, read_results(path))
    try:
        card = read_run_card(card_path(path))
    except InputError as error:
        raise InputError(f"{card_path(path)} is not a run card: {error}") from None
    return ScoredRun(path, read_scores(scores), card, read_results(path) if path.is_file() else None)
