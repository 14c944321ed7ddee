"""Submission files of one benchmark or of a whole leaderboard from finished runs, and validation of any such file."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from lmms_eval_tasks.registry import LeaderboardPlace, find_benchmark, read_card, registry
from lmms_eval_tasks.runs.folder import Run, read_run
from lmms_eval_tasks.runs.run_files import MERGE
from lmms_eval_tasks.utils.benchmark.tasks import tasks_of_part
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.files import replacing, write_file
from lmms_eval_tasks.utils.core.text import SAMPLE, describe
from lmms_eval_tasks.utils.data.card import Card, SetKind
from lmms_eval_tasks.utils.data.home import benchmark_dir, read_manifest
from lmms_eval_tasks.utils.scoring.record import GradedItem, Record
from lmms_eval_tasks.utils.submission.form import INCOMPLETE, Built, Checked, OfficialForm, read_prepared

UNOFFICIAL = "--allow-unofficial writes the file nevertheless; do not send it to a leaderboard."
RUN_AGAIN = "The run's command with the same output path asks again."
UNKNOWN = (
    "Prepare the release itself, its archive or its dataset on the hub, and score the run again (`rescore`), so that "
    "both say which set they are of."
)


@dataclass(frozen=True)
class SubmissionFile:
    built: Built
    split: str
    part: str
    items: int
    """How many items the file would have of a complete run."""
    apart: str
    """Why not to send it to a leaderboard; empty of the official release."""
    runs: tuple[Run, ...]


def submit(
    benchmark: str,
    source: Path,
    out: Path,
    split: str = "",
    part: str = "",
    allow_unofficial: bool = False,
    allow_incomplete: bool = False,
) -> SubmissionFile:
    """Write the official file of a run's answers, the same bytes as the run itself wrote."""
    form, card = find_form(benchmark), read_card(benchmark)
    part = part or form.parts[0]
    if part not in form.parts:
        raise InputError(f"Expected --part to be one of {', '.join(form.parts)}, but got {part!r}.")
    # What a run that was cut short lacks is noted with all else that is wrong.
    run = read_run(source, allow_incomplete=True, allow_predictions=True)
    split = _choose_split(card, run, part, split)
    issues = Problems()
    made = make_file(card, split, part, (run,), allow_unofficial, allow_incomplete, issues)
    issues.raise_if_any(f"{run.path} cannot be submitted to {card.title}", "nothing was written")
    if made is None:
        raise InputError(f"{run.path} cannot be submitted to {card.title}: no item of it has what the file needs.")
    write_file(out, made.built.text)
    return made


def make_file(
    card: Card,
    split: str,
    part: str,
    runs: Sequence[Run],
    allow_unofficial: bool,
    allow_incomplete: bool,
    issues: Problems,
) -> SubmissionFile | None:
    """Return a file from the runs that hold its tasks, each task in one of them; None where there are issues."""
    form = find_form(card.name)
    tasks = tasks_of_part(registry().tasks_of(card.name), split, part)
    table = read_prepared(card, split).rows_of(tasks.values())
    gaps = Problems() if allow_incomplete else issues
    held = {task: run for task in tasks for run in runs if task in run.records}
    sets = [run.set_of(task) for task, run in held.items()]
    others = {one: one.apart for one in (*sets, table.data_set) if not one.is_official}
    for one in () if allow_unofficial else others:
        remedy = f"{UNKNOWN} {UNOFFICIAL}" if one.kind is SetKind.UNKNOWN else UNOFFICIAL
        issues.add("data", "Expected the official release, but got", one.text, remedy)
    if len(models := {run.name: run for run in held.values()}) > 1:
        for name, run in models.items():
            issues.add("runs", "Expected a file's answers to be of one model, but got", f"{name} ({run.path})")
    lacking = "the run lacks" if len(runs) == 1 else "the runs lack"
    entries = [entry for run in runs for entry in _read_entries(run, [task for task in tasks if task in run.records])]
    for task in tasks:
        if task not in held:
            gaps.add("tasks", f"Expected every task of the split, but {lacking}", task, INCOMPLETE)
    rows = {row["item_id"]: row for row in table.rows}
    complete = _note_ids([entry.record for entry in entries], list(rows), split, lacking, issues, gaps)
    for run in runs:
        if run.shard:
            issues.add("run", "Expected a whole one, but got", f"part {run.shard} of one", f"Merge all parts: {MERGE}")
        if sampled := run.sampled(task for task in tasks if task in run.records):
            remedy = f"Run the same command without {SAMPLE}: it asks only what is new."
            issues.add("run", "Expected all groups, but got scores", str(sampled), remedy)
        for task in (task for task in tasks if task in run.logged):
            gaps.add("run", "Expected it to be whole, but it was cut short with", run.part_of(task), INCOMPLETE)
        if run.limited and not complete:
            gaps.add("run", "Expected one of all items, but it was started with", run.limited, INCOMPLETE)
    form.examine(entries, rows, allow_incomplete, issues)
    built = form.build(entries, table, part) if entries and not issues else None
    apart = ", ".join(dict.fromkeys(others.values()))
    return SubmissionFile(built.of(entries), split, part, len(rows), apart, tuple(runs)) if built else None


def find_form(name: str) -> OfficialForm:
    task = registry().find_task(name)
    if task and name not in registry().benchmarks and (reason := task.no_submission):
        raise InputError(f"{name} has no official submission: {reason}")
    benchmark = find_benchmark(name)
    if benchmark.submission is None:
        raise InputError(f"{name} has no official submission: {benchmark.no_submission}")
    return benchmark.submission


def validate(benchmark: str, path: Path, allow_incomplete: bool = False) -> Checked:
    form, card = find_form(benchmark), read_card(benchmark)
    if not path.is_file():
        got = "a folder" if path.is_dir() else "something that is no file" if path.exists() else "nothing"
        raise InputError(f"{path} is no valid submission to {card.title}: Expected a file, but got {got}.")
    issues = Problems()
    checked = check_file(form, card, path, allow_incomplete, issues)
    issues.raise_if_any(f"{path} is no valid submission to {card.title}", f"rows read: {checked.rows:,}")
    return checked


def check_file(form: OfficialForm, card: Card, path: Path, allow_incomplete: bool, issues: Problems) -> Checked:
    prepared = {}
    if (benchmark_dir(card.name) / "manifest.json").is_file():
        prepared = {split: read_prepared(card, split) for split in read_manifest(card).splits}
    return form.check(path, prepared, allow_incomplete, issues)


def _read_entries(run: Run, tasks: Sequence[str]) -> list[GradedItem]:
    if not run.only_predicted:
        return [item.graded() for task in tasks for item in run.items_of(task)]
    from lmms_eval_tasks.finished.rescore import graded_items
    from lmms_eval_tasks.host.quiet import quiet_host

    with quiet_host():
        return graded_items(run, tasks)


def _choose_split(card: Card, run: Run, part: str, split: str) -> str:
    if split and split not in card.splits:
        raise InputError(f"Expected --split to be one of {', '.join(card.splits)}, but got {split!r}.")
    own = registry().tasks_of(card.name)
    tasks = {name: tasks_of_part(own, name, part) for name in card.splits}
    present = [name for name in card.splits if tasks[name].keys() & run.records.keys()]
    if split in present:
        return split
    if not present or split:
        wanted = ", ".join(task for name in ([split] if split else card.splits) for task in tasks[name])
        lines = [
            f"{run.path} cannot be submitted to {card.title}: Expected a task of it, {wanted}, but the run has "
            f"{', '.join(run.records)}."
        ]
        for name in run.records:
            task = registry().find_task(name)
            if task and task.benchmark.name == card.name and task.no_submission:
                lines.append(f"{name} has no official submission: {task.no_submission}")
        raise InputError("\n".join(lines))
    withheld = [name for name in present if card.splits[name].answers_withheld]
    chosen = present if len(present) == 1 else withheld
    if len(chosen) != 1:
        raise InputError(f"{run.path} holds the splits {', '.join(present)}: say which to submit by --split.")
    return chosen[0]


def _note_ids(
    records: Sequence[Record], names: Sequence[str], split: str, lacking: str, issues: Problems, gaps: Problems
) -> bool:
    """Note items that are unknown or doubled, and the gaps: missing or not asked; whether none is missing."""
    known, seen = set(names), set()
    for record in records:
        name = record.item_id
        if name not in known:
            clause = f"Expected those of the prepared split {split}, but got"
            issues.add("items", clause, describe(name), "Prepare the release that the run was of.")
        seen.add(name)
        if not record.asked:
            clause = "Expected all to be asked, but for want of clips this was not done for"
            gaps.add("items", clause, describe(name), INCOMPLETE)
        elif not record.heard:
            clause = "Expected an answer to each, but there is none to"
            gaps.add("items", clause, f"{describe(name)} ({record.why})", f"{RUN_AGAIN} {INCOMPLETE}")
    missing = [name for name in names if name not in seen]
    for name in missing:
        gaps.add("items", f"Expected all {len(names):,} of the split, but {lacking}", describe(name), INCOMPLETE)
    return not missing


ONE_RUN = "Give only the run whose answers are to be sent."


@dataclass(frozen=True)
class Slot:
    place: LeaderboardPlace
    path: Path
    tasks: str
    lacking: tuple[str, ...] = ()
    made: SubmissionFile | None = None
    checked: Checked | None = None
    outdated: bool = False


@dataclass(frozen=True)
class LeaderboardFiles:
    slots: tuple[Slot, ...]
    unused: tuple[Run, ...]

    @property
    def runs(self) -> tuple[Run, ...]:
        found = {run.path: run for slot in self.slots if slot.made for run in slot.made.runs}
        return tuple(found.values())


def submit_to_leaderboard(
    name: str, sources: Sequence[Path], out: Path, allow_unofficial: bool = False, allow_incomplete: bool = False
) -> LeaderboardFiles:
    """Write a file for each place of a leaderboard of which runs hold answers, named by the place's key."""
    runs, refusals, problems = [], [], Problems()
    for source in sources:
        try:
            runs.append(read_run(source, allow_incomplete=True, allow_predictions=True))
        except InputError as error:
            refusals.append(str(error))
    slots = []
    for place in registry().leaderboards[name]:
        try:
            slots.append(_fill(place, runs, out, allow_unofficial, allow_incomplete, problems))
        except InputError as error:
            refusals.append(str(error))
    _raise(name, refusals, problems)
    if not any(slot.made for slot in slots):
        wanted = ", ".join(slot.tasks for slot in slots)
        got = ", ".join(dict.fromkeys(task for run in runs for task in run.records))
        message = f"Expected a task of it, {wanted}, but the runs have {got}."
        raise InputError(f"Nothing can be submitted to {name}: {message}")
    for number, slot in enumerate(slots):
        if slot.made:
            benchmark, issues = slot.place.benchmark, Problems()
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, slot.path.name)
                write_file(path, slot.made.built.text)
                found = check_file(find_form(benchmark.name), benchmark.card, path, allow_incomplete, issues)
            problems.extend(issues, f"{slot.path.name}, ")
            slots[number] = replace(slot, checked=found)
    _raise(name, refusals, problems)
    # Each is whole on the disk before the first one takes its place.
    with ExitStack() as files:
        for slot in slots:
            if slot.made:
                files.enter_context(replacing(slot.path)).write_bytes(slot.made.built.text.encode("utf-8"))
    used = {run.path for slot in slots if slot.made for run in slot.made.runs}
    return LeaderboardFiles(tuple(slots), tuple(run for run in runs if run.path not in used))


def _fill(
    place: LeaderboardPlace,
    runs: Sequence[Run],
    out: Path,
    allow_unofficial: bool,
    allow_incomplete: bool,
    problems: Problems,
) -> Slot:
    card, form = place.benchmark.card, find_form(place.benchmark.name)
    part = form.parts[0]
    tasks = tasks_of_part(registry().tasks_of(card.name), place.split, part)
    path = out / f"{place.key}{Path(form.path(place.split, part)).suffix}"
    holders = {task: [run for run in runs if task in run.records or task in run.logged] for task in tasks}
    absent = tuple(task for task in tasks if not holders[task])
    groups = registry().groups.items()
    named = next((name for name, (members, _) in groups if {*members} == {*tasks}), ", ".join(tasks))
    slot = Slot(place, path, named, absent if len(absent) < len(tasks) else (), outdated=path.is_file())
    if path.is_dir():
        problems.add(str(path), "Expected nothing in the file's place, or an older file, but got a folder.")
    issues = Problems()
    for task, held in holders.items():
        if len(held) > 1:
            case = f"{task} ({', '.join(str(run.path) for run in held)})"
            issues.add("runs", "Expected each task in one of them, but got in several", case, ONE_RUN)
    own = [run for run in runs if any(run in held for held in holders.values())]
    where = place.key
    made = None
    if own and not issues and (place.needed or allow_incomplete or not absent):
        where = f"{place.key}, {', '.join(str(run.path) for run in own)}"
        made = make_file(card, place.split, part, own, allow_unofficial, allow_incomplete, issues)
        if made is None and not issues:
            issues.add("items", "Expected one that has what the file needs, but got", "none")
    problems.extend(issues, f"{where}, ")
    return replace(slot, made=made, lacking=(), outdated=False) if made else slot


def _raise(name: str, refusals: Sequence[str], problems: Problems) -> None:
    messages = list(refusals)
    try:
        problems.raise_if_any(f"The runs cannot be submitted to {name}", "nothing was written")
    except InputError as error:
        messages.append(str(error))
    if messages:
        raise InputError("\n".join(messages))
