"""All files that one leaderboard takes of several benchmarks, from finished runs, without their models."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from lmms_eval_tasks.installed.registry import registry
from lmms_eval_tasks.installed.runs import read_run
from lmms_eval_tasks.submit import SubmissionFile, check_file, find_form, make_file
from lmms_eval_tasks.utils.benchmark.leaderboards import LeaderboardPlace
from lmms_eval_tasks.utils.core.files import replacing, write_file
from lmms_eval_tasks.utils.core.problems import GroupedIssues, InputError, Problems
from lmms_eval_tasks.utils.runs.run import Run
from lmms_eval_tasks.utils.submission.form import Checked
from lmms_eval_tasks.utils.submission.parts import tasks_of_part

ONE_RUN = "Give only the run whose answers are to be sent."


@dataclass(frozen=True)
class Slot:
    """A place of a leaderboard, and the file for it."""

    place: LeaderboardPlace
    path: Path
    tasks: str
    lacking: tuple[str, ...] = ()
    made: SubmissionFile | None = None
    checked: Checked | None = None
    outdated: bool = False


@dataclass(frozen=True)
class LeaderboardFiles:
    """What was written for a leaderboard."""

    slots: tuple[Slot, ...]
    unused: tuple[Run, ...]

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs of which files were made."""
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
    slots = _check(slots, allow_incomplete, problems)
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
    """The file of a place, where runs hold its tasks; what is wrong with them is noted."""
    card, form = place.benchmark.card, find_form(place.benchmark.name)
    part = form.parts[0]
    tasks = tasks_of_part(registry().tasks_of(card.name), place.split, part)
    path = out / f"{place.key}{Path(form.path(place.split, part)).suffix}"
    holders = {task: [run for run in runs if task in run.records or task in run.logged] for task in tasks}
    absent = tuple(task for task in tasks if not holders[task])
    slot = Slot(place, path, _name(list(tasks)), absent if len(absent) < len(tasks) else (), outdated=path.is_file())
    if path.is_dir():
        problems.add(str(path), "Expected nothing in the file's place, or an older file, but got a folder.")
    issues = GroupedIssues()
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
    problems.extend(issues.as_problems(f"{where}, "))
    return replace(slot, made=made, lacking=(), outdated=False) if made else slot


def _name(tasks: Sequence[str]) -> str:
    """What to run for some tasks: a group where one has just these."""
    groups = registry().groups.items()
    return next((name for name, (members, _) in groups if {*members} == {*tasks}), ", ".join(tasks))


def _check(slots: Sequence[Slot], allow_incomplete: bool, problems: Problems) -> list[Slot]:
    """The slots with what `validate` finds in their files; its issues are noted."""
    checked = []
    with tempfile.TemporaryDirectory() as folder:
        for slot in slots:
            if slot.made:
                benchmark, issues, path = slot.place.benchmark, GroupedIssues(), Path(folder, slot.path.name)
                write_file(path, slot.made.built.text)
                found = check_file(find_form(benchmark.name), benchmark.card, path, allow_incomplete, issues)
                problems.extend(issues.as_problems(f"{slot.path.name}, "))
                slot = replace(slot, checked=found)
            checked.append(slot)
    return checked


def _raise(name: str, refusals: Sequence[str], problems: Problems) -> None:
    """Raise what was refused and what is wrong as one error."""
    messages = list(refusals)
    try:
        problems.raise_if_any(f"The runs cannot be submitted to {name}", "nothing was written")
    except InputError as error:
        messages.append(str(error))
    if messages:
        raise InputError("\n".join(messages))
