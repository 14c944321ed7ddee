"""Takes, the timed actions of clips in forms like Ego-Exo4D's, and the interaction of each: H2H or H2O.

Source: CounterVQA (arXiv 2511.19923), section 2.2 and appendix C.1: the interaction, people with each other or one
person with objects, is a property of the video's activity, H2H for basketball, soccer and dance. The words by which
an activity is known, and the rule where nothing names it, are ours.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Literal, get_args

from lmms_eval_tasks.countervqa.release import Interaction
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.files import is_safe
from lmms_eval_tasks.utils.core.forms import read_content, read_released_json
from lmms_eval_tasks.utils.core.text import describe

FIELDS = {
    "task": ("task", "task_name", "parent_task_name"),
    "goal": ("goal",),
    "scenario": ("scenario", "parent_task_name", "task_name", "task"),
    "interaction": ("interaction",),
}
"""What may be said of a take, and the fields that may say it; the first that is there counts."""
INTERACTIONS: Mapping[str, Interaction] = {name: name for name in get_args(Interaction)}


@dataclass(frozen=True, slots=True)
class TimedAction:
    """One described action; start and end are in seconds from the clip's start."""

    id: str
    start: float
    end: float | None
    text: str
    subject: str | None


@dataclass(frozen=True, slots=True)
class Take:
    uid: str
    clip: str
    task: str
    actions: tuple[TimedAction, ...]
    left_out: frozenset[str] = frozenset()
    goal: str = ""
    scenario: str = ""
    interaction: Interaction | None = None


def numbered(place: int) -> str:
    """Id of an action that has none, by its place in time: A00, A01, …"""
    return f"A{place:02d}"


def read_takes(files: Sequence[Path], takes_file: Path | None = None) -> tuple[list[Take], tuple[str, ...]]:
    problems = Problems()
    known = _read_takes_file(takes_file, problems) if takes_file else {}
    takes: dict[str, Take] = {}
    for file in files:
        for where, uid, fields, annotators in _entries(read_value(file), file.name, problems):
            clip = fields.get("clip", f"{uid}.mp4")
            if uid in takes:
                problems.add(where, f"Expected each take once, but got {describe(uid)} again.")
            elif not isinstance(clip, str) or not is_safe(clip):
                problems.add(where, f"Expected clip to be a path below the folder of clips, but got {describe(clip)}.")
            else:
                facts = {**_facts(fields, where, problems), **known.get(uid, {})}
                actions, left_out = _best_reading(annotators, where, problems)
                interaction = INTERACTIONS.get(facts.pop("interaction", ""))
                task = facts.pop("task", "")
                takes[uid] = Take(uid, clip, task, actions, left_out, interaction=interaction, **facts)
    if not takes and not problems:
        problems.add(", ".join(file.name for file in files), "Expected at least one take, but got none.")
    for name, number in Counter(take.clip for take in takes.values()).items():
        if number > 1:
            message = f"Expected a clip of its own for each take, but {describe(name)} is that of {number}."
            problems.add("clips", message)
    problems.raise_if_any("The annotations cannot be used", "nothing was built")
    return list(takes.values()), problems.warnings()


def read_value(file: Path) -> Any:
    try:
        return read_released_json(read_content(file))
    except ValueError as error:
        raise InputError(f"{file.name} cannot be used: Expected JSON, but got {error}.") from error


def _read_takes_file(file: Path, problems: Problems) -> dict[str, dict[str, str]]:
    value = read_value(file)
    if not isinstance(value, list):
        problems.add(file.name, f"Expected a list of takes, but got {describe(value)}.")
        return {}
    takes = [entry for entry in value if isinstance(entry, dict) and "take_uid" in entry]
    return {
        str(entry["take_uid"]): _facts(entry, f"{file.name}, take {describe(entry['take_uid'])}", problems)
        for entry in takes
    }


def _facts(fields: Mapping[str, Any], where: str, problems: Problems) -> dict[str, Any]:
    """Return the facts that a take's fields state; facts that they do not state are left out."""
    facts = {}
    for fact, names in FIELDS.items():
        texts = (fields.get(name) for name in names)
        if text := next((text.strip() for text in texts if isinstance(text, str) and text.strip()), ""):
            facts[fact] = text
    given = fields.get("interaction")
    if given is not None and facts.get("interaction") not in INTERACTIONS:
        problems.add(where, f"Expected interaction to be H2H or H2O, but got {describe(given)}.")
    return facts


def _entries(value: Any, name: str, problems: Problems) -> Iterator[tuple[str, str, Mapping[str, Any], list[Any]]]:
    """Each take of a file: its place, name, fields and annotators' lists of descriptions."""
    if isinstance(value, dict) and isinstance(value.get("annotations"), dict):
        for uid, annotators in value["annotations"].items():
            where = f"{name}, take {describe(uid)}"
            if not is_safe(uid):
                problems.add(where, "Expected a take_uid that can be a file's name.")
            elif not isinstance(annotators, list):
                problems.add(where, f"Expected a list of annotators, but got {describe(annotators)}.")
            else:
                usable = [entry for entry in annotators if isinstance(entry, dict) and not entry.get("rejected")]
                yield where, uid, {}, [entry.get("descriptions") for entry in usable]
        return
    entries = [value] if isinstance(value, dict) else value
    if not isinstance(entries, list):
        problems.add(name, f"Expected annotations by take, or a list of takes, but got {describe(value)}.")
        return
    for number, entry in enumerate(entries, start=1):
        where = f"{name}, take {number}"
        uid = entry.get("take_uid") if isinstance(entry, dict) else None
        if not isinstance(uid, str) or not is_safe(uid):
            problems.add(where, f"Expected a take_uid that can be a file's name, but got {describe(uid)}.")
        else:
            yield where, uid, entry, [entry.get("atomic_descriptions")]


Actions = tuple[tuple[TimedAction, ...], frozenset[str]]
"""Actions, and the ids of descriptions that are left out."""


def _best_reading(annotators: Sequence[Any], where: str, problems: Problems) -> Actions:
    """The reading with the most actions, the first of equals; no list stands for no description."""
    readings = []
    for descriptions in annotators:
        if descriptions is not None and not isinstance(descriptions, list):
            problems.add(where, f"Expected a list of descriptions, but got {describe(descriptions)}.")
        else:
            readings.append(_read_descriptions(descriptions or [], where, problems))
    if not readings:
        return (), frozenset()
    best, notes = max(readings, key=lambda reading: len(reading[0][0]))
    for kind, number in notes:
        problems.warn(f"Descriptions {kind}, left out", f"{where}, description {number}")
    return best


def _read_descriptions(
    descriptions: Sequence[Any], where: str, problems: Problems
) -> tuple[Actions, list[tuple[str, int]]]:
    """One annotator's actions, and why each description that is left out is, with its number."""
    timed, notes = [], []
    for number, entry in enumerate(descriptions, start=1):
        start = _seconds(entry.get("timestamp")) if isinstance(entry, dict) else None
        if start is None:
            notes.append(("without a usable timestamp", number))
        else:
            timed.append((start, number, entry))
    actions: dict[str, TimedAction] = {}
    left_out = set()
    for place, (start, number, entry) in enumerate(sorted(timed, key=lambda one: one[:2])):
        name, text, subject = (_plain(entry.get(field)) for field in ("id", "text", "subject"))
        action_id = name or numbered(place)
        if action_id in actions or action_id in left_out:
            problems.add(where, f"Expected each id once, but got {describe(action_id)} again.")
        elif not text or entry.get("unsure") is True:
            notes.append(("that the annotator was unsure of" if text else "without a text", number))
            left_out.add(action_id)
        else:
            end = _seconds(entry.get("end"))
            end = end if end is not None and end >= start else None
            actions[action_id] = TimedAction(action_id, start, end, text, subject or None)
    return (tuple(actions.values()), frozenset(left_out)), notes


def _plain(value: object) -> str:
    """A text on one line, empty for anything else; equal ones are one object: takes of a task have many in common."""
    return sys.intern(" ".join(value.split())) if isinstance(value, str) else ""


def _seconds(value: object) -> float | None:
    """A time of an annotation; None for anything but a finite number of at least 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if isfinite(value) and value >= 0 else None


DecidedBy = Literal["column", "scenario", "wording"]

ACTIVITIES: Mapping[Interaction, re.Pattern[str]] = {
    "H2H": re.compile(r"basketball|soccer|football|\bdanc(?:e|es|ing)\b", re.IGNORECASE),
    "H2O": re.compile(
        r"cook|climb|boulder|\btests?\b|covid|\bcpr\b|health|first aid|\bbike|bicycle|repair|music", re.IGNORECASE
    ),
}
"""Scenarios of each kind: those that the paper names, and the others of Ego-Exo4D, where one person handles objects."""
PEOPLE = re.compile(r"\b[COXYZ]\b")
"""How Ego-Exo4D's descriptions name people: C wears the camera, O and the others do not."""
OTHERS = re.compile(r"\b(?:another|other) (?:person|player|man|woman)\b|\bpartner\b", re.IGNORECASE)
SHARE = 1 / 3
"""Of a clip's descriptions: from here on those with a second person make it H2H, where only its wording tells."""


def interaction_of(take: Take) -> tuple[Interaction, DecidedBy]:
    """Whether a clip is H2H or H2O, and what decides it: a column of the annotations, its scenario, or its wording."""
    if take.interaction is not None:
        return take.interaction, "column"
    for kind, activity in ACTIVITIES.items():
        if activity.search(take.scenario):
            return kind, "scenario"
    subjects = Counter(action.subject for action in take.actions if action.subject)
    main = {subjects.most_common(1)[0][0]} if subjects else None
    with_others = 0
    for action in take.actions:
        people = {*PEOPLE.findall(action.text), *([action.subject] if action.subject else [])}
        is_other = main is not None and bool(people - main)
        with_others += is_other or len(people) > 1 or OTHERS.search(action.text) is not None
    return ("H2H" if take.actions and with_others >= SHARE * len(take.actions) else "H2O"), "wording"
