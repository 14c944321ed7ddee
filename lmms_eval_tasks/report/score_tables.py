"""Tables of the scores of tasks and groups in runs, also by stratum and by view, and next to published scores."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs.folder import Run
from lmms_eval_tasks.runs.run_card import token_limit
from lmms_eval_tasks.runs.scores import (
    comparable_parts,
    metrics_of,
    parts_of,
    references_of,
    unread_text,
    unshown_chance,
)
from lmms_eval_tasks.utils.answers.reply import describe_empty
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.output import Cell, FittingTable, Number
from lmms_eval_tasks.utils.core.text import summarize_names
from lmms_eval_tasks.utils.reporting.columns import (
    Column,
    RunRecords,
    decision,
    difference_numbers,
    other_units,
    p_number,
    score_number,
    usual_columns,
)
from lmms_eval_tasks.utils.reporting.references import (
    ReferencedMetric,
    published_of_view,
    published_parts,
    reference_notes,
    without_published,
)
from lmms_eval_tasks.utils.scoring.bootstrap import BY_STRATA, METHOD
from lmms_eval_tasks.utils.scoring.compare import Comparison, compare_records
from lmms_eval_tasks.utils.scoring.record import Outcome, Record, UnscoredReason


def columns_of(task: str) -> tuple[Column, ...]:
    known = registry().find_task(task)
    if known and known.kind.columns:
        return known.kind.columns
    return usual_columns(metrics_of(task), [reference.metric for reference in references_of(task, task, 0)])


@dataclass(frozen=True)
class Held(RunRecords):
    """The records of a task or group that a run holds; its tag is the run's place among those that are shown."""

    run: Run = field(kw_only=True)
    tasks: Sequence[str] = field(kw_only=True)

    @cached_property
    def sampled(self) -> str:
        """From how many groups of how many its scores are estimated, in words; empty where all were asked."""
        return str(self.run.sampled(self.tasks) or "")


@dataclass(frozen=True)
class Entry:
    """A task or group, and what each run that holds it has of it."""

    name: str
    held: Sequence[Held]

    @property
    def task(self) -> str:
        """Its first task, which stands for all."""
        return self.held[0].tasks[0]

    @property
    def version(self) -> str:
        return ", ".join(sorted({one.run.versions.get(self.name, "?") for one in self.held}))

    @property
    def apart(self) -> str:
        """Why its scores are not those of the official release, as it follows its version."""
        return "".join(f"; {why}" for why in sorted({one.apart for one in self.held} - {""}))

    @property
    def from_samples(self) -> str:
        """From which samples its scores are estimated, as it follows its version."""
        if len({one.sampled for one in self.held}) == 1:
            return f"; {self.held[0].sampled}" if self.held[0].sampled else ""
        return "".join(f"; run {one.tag}: {one.sampled}" for one in self.held if one.sampled)

    @property
    def method(self) -> str:
        return BY_STRATA if all(one.sampled for one in self.held) else METHOD

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return columns_of(self.task)

    def references(self, items: int) -> tuple[ReferencedMetric, ...]:
        return references_of(self.name, self.task, 0 if self.from_samples else items)

    def table(
        self, title: str, headings: Sequence[str], method: str, names: int = 1, blank_repeats: bool = False
    ) -> FittingTable:
        """A table of it, signed with the data and the method from which its numbers are."""
        table = FittingTable(f"{self.name}{title}", headings, names, blank_repeats=blank_repeats)
        table.signature = f"{self.name}, version {self.version}{method}"
        return table

    def score_table(self, first: str, columns: Sequence[Column]) -> FittingTable:
        headings = [first, *(column.heading for column in columns)]
        return self.table(f" (version {self.version}{self.from_samples})", headings, self.of_scores(columns))

    def of_scores(self, columns: Sequence[Column]) -> str:
        """How the scores of some columns were computed."""
        return f"{self.apart}{self.from_samples}; scores in percent{other_units(columns)}; {self.method}"


def entries_of(runs: Sequence[Run], only: str = "") -> list[Entry]:
    """Each task or group that runs hold; only one, where it is named."""
    entries: defaultdict[str, list[Held]] = defaultdict(list)
    for number, run in enumerate(runs, start=1):
        parts = parts_of(run)
        if only in run.records:
            parts.setdefault(only, [only])
        for name, tasks in parts.items():
            records = [run.records[task] for task in tasks]
            entries[name].append(
                Held(str(number), run.title, records, run.apart(tasks), run.path, run=run, tasks=tasks)
            )
    if only and only not in entries:
        raise InputError(f"Expected a task or group of these runs, any of {', '.join(entries)}, but got {only}.")
    return [Entry(name, held) for name, held in entries.items() if only in ("", name)]


def view_tables(runs: Sequence[Run], only: str = "") -> list[FittingTable]:
    """A table per task or group of which runs of a model hold a view and the whole: a row per view and score."""
    tables: dict[str, FittingTable] = {}
    sources: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for parent, view, run, whole, compared in _comparisons(runs):
        if only not in ("", parent, f"{parent}_{view}"):
            continue
        apart = run.apart(run.tasks_of(f"{parent}_{view}")) or whole.apart(whole.tasks_of(parent))
        if parent not in tables:
            headings = ("view", "run", "score", "whole", "view", "view - whole", "p", "groups")
            tables[parent] = FittingTable(f"{parent}: what is left in its views", headings, names=3, blank_repeats=True)
            versions = f"{whole.versions.get(parent, '?')}, view {run.versions.get(f'{parent}_{view}', '?')}"
            of = f"version {versions}{f'; {apart}' if apart else ''}"
            tables[parent].signature = f"{parent}, {of}; paired, {METHOD}"
        table = tables[parent]
        if not compared.differences:
            table.add_row(view, run.title, "no group answered in both", *[""] * 4, 0)
        for difference in compared.differences:
            metric, test = difference.metric, compared.test
            numbers, p_value = difference_numbers(difference), None
            if test and test.metric == metric:
                p_value = test.p_value
                if text := decision(numbers[2], p_value, "p"):
                    sources[parent][f"{view} of {run.title}, {metric.title}: {text}"] = None
            p_cell = "" if p_value is None else p_number(p_value)
            table.add_row(view, run.title, metric.title, *numbers, p_cell, difference.groups)
        task = registry().find_task(parent)
        for entry in published_of_view(task.benchmark.folder, parent, view) if task and not apart else ():
            title = task.kind.metric(entry.score).title if task else entry.score
            table.add_row(view, f"{entry.model} (published)", title, "", Number(entry.value), "", "", "")
            sources[parent][f"published, {view}: {entry.source}"] = None
            if entry.note:
                sources[parent][f"{entry.model}: {entry.note}"] = None
    for parent, table in tables.items():
        table.caption = "\n".join(sources[parent])
    return list(tables.values())


def _comparisons(runs: Sequence[Run]) -> Iterator[tuple[str, str, Run, Run, Comparison]]:
    """Yield the parent's name, the view's, the run of each, and both compared, where runs of one model hold both."""
    parts = [(run, comparable_parts(run)) for run in runs]
    for run, named in parts:
        shown = parts_of(run)
        for name, part in named.items():
            task, parent = registry().find_task(name), registry().find_parent(name)
            if task is None or not task.view or name not in shown:
                continue
            # A run that holds both is compared with itself, whatever other runs of its model hold.
            for other, others in ((run, named), *parts):
                if other.name == run.name and (whole := others.get(parent)):
                    renamed = {registry().find_parent(one): records for one, records in part.items()}
                    references = references_of(parent, next(iter(whole)), sum(map(len, whole.values())))
                    compared = compare_records(whole, renamed, [one.metric for one in references])
                    yield parent, task.view, run, other, compared
                    break


STANDS_APART = "are shown without scores of people or published models."


def score_tables(runs: Sequence[Run], only: str = "") -> list[FittingTable]:
    return list(map(score_table, entries_of(runs, only)))


def score_table(entry: Entry) -> FittingTable:
    table = entry.score_table("run", entry.columns)
    for one in entry.held:
        table.add_row(one.name, *(column.value(one.parts) for column in entry.columns))
    if known := registry().find_task(entry.task):
        table.caption = unshown_chance(known.benchmark, known.kind) if known.keeps_chance else ""
    return table


def reference_tables(runs: Sequence[Run], only: str = "") -> Iterator[FittingTable]:
    """A table per task or group that has references: its scores beside chance, people and published models."""
    for entry in entries_of(runs, only):
        known = entry.references(len(entry.held[0].records))
        whole = any(not one.apart for one in entry.held)
        references = [one for one in (known if whole else map(without_published, known)) if one.has_references]
        if not references:
            continue
        people, best = any(one.people for one in references), any(one.published for one in references)
        headings = ("score", "run", "value", "chance", *["people"] * people, *["best published"] * best)
        method = entry.of_scores([Column(reference.metric) for reference in references])
        table = entry.table(": compared with references", headings, method, names=2)
        for reference in references:
            for one in entry.held:
                score = one.estimate(reference.metric)
                shown = without_published(reference) if one.apart else reference
                value = score.value if score else None
                judged = Number(value) if _is_unread(one.records) else score_number(score, reference.metric.unit)
                table.add_row(
                    reference.metric.title,
                    one.name,
                    Number(value, unit=reference.metric.unit),
                    _compared(judged, shown.chance),
                    *[_compared(judged, shown.people[0].percent if shown.people else None)] * people,
                    *[_compared(judged, shown.best.value, shown.best.model) if shown.best else ""] * best,
                )
        table.caption = "\n".join(reference_notes(references))
        yield table


def _compared(score: Number, reference: float | None, of: str = "") -> Cell:
    if reference is None:
        return ""
    return Number(reference, of=of, mark=score.side_of(reference))


def stratum_tables(run: Run, columns: Sequence[str], only: str = "") -> list[FittingTable]:
    """A table per task that has these strata, of all tasks or of one task or group."""
    asked = [task for task in run.tasks_of(only) if task in run.records]
    if not asked:
        names = ", ".join([*run.groups, *run.records])
        raise InputError(f"Expected a task or group of this run, any of {names}, but got {only}.")
    known = {task: {name: None for record in run.records[task] for name in record.stratum} for task in asked}
    divided = [task for task in asked if known[task].keys() >= set(columns)]
    if not divided:
        names = ", ".join(dict.fromkeys(name for task in asked for name in known[task]))
        there = f"any of {names}" if names else "which has none"
        raise InputError(f"Expected strata of {only or ', '.join(asked)}, {there}, but got {', '.join(columns)}.")
    tables = []
    for (entry,) in (entries_of([run], task) for task in divided):
        (held,) = entry.held
        strata: defaultdict[tuple[str, ...], list[Record]] = defaultdict(list)
        for record in held.records:
            strata[tuple(record.stratum.get(column, "other") for column in columns)].append(record)
        scores = [column for column in entry.columns if column.text is None]
        table = entry.score_table(" × ".join(columns), scores)
        for values in sorted(strata):
            cells = (column.value([strata[values]]) for column in scores)
            table.add_row(" ".join(values).replace("_", " "), *cells)
        table.add_row("all", *(column.value(held.parts) for column in scores))
        if (found := registry().find_task(entry.name)) and len(columns) == 1 and not held.apart:
            published = published_parts(found.benchmark.folder, [value for (value,) in strata])
            table.caption = "\n".join(f"published: {one.model} {one.value:.1f}, {one.source}" for one in published)
        tables.append(table)
    if whole := [task for task in asked if task not in divided]:
        without = f"without {' and '.join(columns)}, and not shown: {', '.join(whole)}"
        tables[-1].caption = "\n".join(filter(None, [tables[-1].caption, without]))
    return tables


def run_warnings(runs: Sequence[Run], only: str = "", where: str = "`report --html` shows") -> list[str]:
    """What to read before the scores: other data than the official release, lost, unread and withheld answers.

    `where` begins the sentence about where responses are to be seen.
    """
    asked = [[task for task in run.tasks_of(only) if task in run.records] for run in runs]
    sets = {run.set_of(task) for run, tasks in zip(runs, asked, strict=True) for task in tasks}
    apart = {data_set.apart for data_set in sets}
    shared = apart.pop() if len(apart) == 1 else ""
    warnings = []
    if shared and all(data_set.is_sample for data_set in sets):
        warnings.append(f"{shared}: made up, so that no score here says anything about a model.")
    elif shared:
        warnings.append(f"NOT THE OFFICIAL RELEASE: all that was run is {shared}. Its scores {STANDS_APART}")
    for run, its_tasks in zip(runs, asked, strict=True):
        if run.limited:
            what = f"A PART OF THE ITEMS: {run.title} was run with {run.limited}."
            warnings.append(f"{what} Its scores are of those items alone{'.' if shared else f', and {STANDS_APART}'}")
        if sampled := run.sampled(its_tasks):
            what = f"A SAMPLE: {run.title} was asked {sampled.asked:,} of {sampled.groups:,} {sampled.unit}."
            warnings.append(f"{what} Its scores estimate those of the whole set.")
        names: dict[str, list[str]] = {}
        for task in its_tasks:
            if not shared and not (of := run.set_of(task)).is_official:
                names.setdefault(of.text, []).append(task)
        for text, tasks in names.items():
            listed = f" ({summarize_names(tasks, 3)})" if len(tasks) < len(its_tasks) else ""
            what = f"NOT THE OFFICIAL RELEASE: {run.title} was asked {text}{listed}."
            warnings.append(f"{what} Its scores {STANDS_APART}")
        warnings += _without_scores(run, its_tasks, where)
        warnings += (*_without_answers(run, its_tasks), *_unread(run, its_tasks))
    return warnings


def _without_scores(run: Run, tasks: Sequence[str], where: str) -> Iterator[str]:
    if unread := [task for task in tasks if _is_unread(run.records[task])]:
        yield (
            f"NO RESPONSE COULD BE READ: of {run.title}, {summarize_names(unread, 3)}. Its scores there count every "
            f"item as wrong and say nothing of what it knows; {where} its responses."
        )
    withheld: dict[str, list[str]] = {}
    for task in tasks:
        known = registry().find_task(task)
        reasons = {record.unscored_reason for record in run.records[task]}
        if known and reasons == {UnscoredReason.NO_KEY}:
            withheld.setdefault(known.benchmark.name, []).append(task)
    for benchmark, its_tasks in withheld.items():
        yield (
            f"ANSWERS WITHHELD: the leaderboard alone scores {summarize_names(its_tasks, 3)}. Make its file of "
            f"{run.title}:  lmms-eval-tasks submit {benchmark} OUT --out FILE"
        )


def _without_answers(run: Run, tasks: Sequence[str]) -> Iterator[str]:
    limits: defaultdict[int, list[Record]] = defaultdict(list)
    for task in tasks:
        each = (one for record in run.records[task] for one in record.each)
        limits[token_limit(run.card, task)] += (one for one in each if one.asked)
    asked = [record for records in limits.values() for record in records]
    what = "samples" if any(record.samples for record in asked) else "items"
    if silent := [record for record in asked if not record.heard]:
        reasons = ", ".join(sorted({record.unscored_reason.value for record in silent if record.unscored_reason}))
        yield (
            f"NO ANSWER to {len(silent):,} of {len(asked):,} {what} in {run.title} ({reasons}). They are unscored; the "
            "run's command with the same output path asks them again."
        )
    if empty := describe_empty((record.detail for record in asked), f" in {run.title}"):
        yield f"EMPTY ANSWERS: {empty}."
    for limit, records in limits.items():
        answers = [record for record in records if record.heard]
        if cut := [record for record in answers if record.ran_out]:
            share, unread = 100 * len(cut) / len(answers), sum(record.answered is None for record in cut)
            yield (
                f"{share:.{int(share < 1)}f}% cut off{f' at {limit:,} tokens' if limit else ''}: of {len(answers):,} "
                f"answers of {run.title}, {len(cut):,} used all their tokens, and in {unread:,} of these no answer can "
                f"be read. Let it write more: --gen_kwargs max_new_tokens={4 * limit or 4096}."
            )


def _unread(run: Run, tasks: Sequence[str]) -> Iterator[str]:
    """Why answers could not be read, and what the benchmark's own reader takes them for."""
    for task in tasks:
        asked = [one for record in run.records[task] for one in record.each if one.correct is not None]
        unread = [one for one in asked if one.unparsed_reason]
        official = [one for one in unread if one.fields.get("official_correct") is not None]
        reasons = Counter(one.unparsed_reason.value for one in unread if one.unparsed_reason)
        if unread:
            right = sum(one.fields["official_correct"] for one in official)
            read = sum(len(one.fields.get("official_answered") or "") == 1 for one in official)
            others = f" The official reader reads an option in {read:,} of these, the right one in {right:,}."
            yield f"UNPARSED: {run.title}, {task}: {unread_text(reasons, len(asked))}.{others if official else ''}"


def _is_unread(records: Sequence[Record]) -> bool:
    return {one.outcome for record in records for one in record.each} - {Outcome.UNSCORED} == {Outcome.UNPARSED}
