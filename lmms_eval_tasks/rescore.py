"""Scores of a finished run, computed again from its saved responses with today's scorer: no model, no clip, no
judge."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lmms_eval_tasks.host.environment import package_version
from lmms_eval_tasks.host.regrading import find_groups, regrade
from lmms_eval_tasks.installed.registry import registry
from lmms_eval_tasks.installed.runs import assemble_run, read_run
from lmms_eval_tasks.installed.scores import scores_of
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.json_rows import as_lines
from lmms_eval_tasks.utils.core.problems import InputError, Problems
from lmms_eval_tasks.utils.core.wording import escape_surrogates
from lmms_eval_tasks.utils.data.manifest import file_sha256
from lmms_eval_tasks.utils.runs.extractors import extractor_of
from lmms_eval_tasks.utils.runs.result_entries import FILTER, make_entries
from lmms_eval_tasks.utils.runs.results_file import (
    PER_TASK,
    SUBMISSIONS,
    ResultsFile,
    card_path,
    read_results_with_all,
    results_files,
    sample_log,
)
from lmms_eval_tasks.utils.runs.run import Run
from lmms_eval_tasks.utils.runs.run_card import TASK, Sections, Value
from lmms_eval_tasks.utils.runs.sample_log import LoggedItem
from lmms_eval_tasks.utils.runs.scores_file import scores_path, scores_text
from lmms_eval_tasks.utils.scoring.records import Record

HOST_FIELDS = frozenset(
    {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "token_counts", "doc_hash", "input_media"}
)
"""What of a logged item is the host's and says nothing of its score; ``input`` comes last."""
MARK = ".rescoring"
"""A file in a folder that a run is being written to; it holds the paths of what the run is made of."""
_VERSION = re.compile(r"(\d{1,6})-([A-Z]+)")


@dataclass(frozen=True)
class Change:
    """A score that is not what it was."""

    name: str
    score: str
    old: Any
    new: Any


@dataclass(frozen=True)
class Rescored:
    """A run scored again."""

    run: Run
    results: Mapping[str, Any]
    logs: Mapping[str, Sequence[Mapping[str, Any]]]
    scores: int
    changes: tuple[Change, ...]
    items: Mapping[str, int]
    notes: tuple[str, ...]


def rescore(source: Path, folder: Path, allow_incomplete: bool = False) -> Rescored:
    """Score a finished run again."""
    run = read_run(source, allow_incomplete, allow_predictions=True)
    form, old = read_results_with_all(run.path)
    notes = [*run.notes, *([f"the run was cut short ({run.incomplete})"] if run.incomplete else [])]
    names, tasks = _choose(run, notes)
    if lacking := [name for name in dict.fromkeys((*names, *tasks)) if name not in form.results]:
        raise InputError(f"{run.path} cannot be scored again: Expected results of {', '.join(lacking)}.")
    regraded = regrade(run, tasks, folder)
    logs, items = {}, {}
    for task, logged in regraded.logs.items():
        logs[task] = list(map(_rewrite, logged, regraded.tasks[task].items))
        items[task] = sum(map(_is_otherwise, logged, logs[task]))
    computed = make_entries(regraded.tasks, find_groups(names))
    results = _updated(old, computed, [*names, *tasks])
    scores, changes = _compare(old, results)
    if run.only_predicted:  # there were no scores before
        changes, items = [], {}
    return Rescored(run, results, logs, scores, tuple(changes), items, (*notes, *regraded.notes))


def write_rescored(rescored: Rescored, folder: Path) -> Path:
    """Write a run that was scored again to a new output folder in the host's form, with its card and its scores."""
    return write_scored(rescored, folder, _card(rescored))


def write_scored(rescored: Rescored, folder: Path, card: Sections) -> Path:
    """The same, with a card of one's own."""
    path = folder / rescored.run.path.name
    logs = {}
    for task, lines in rescored.logs.items():
        write_file(sample_log(path, task), as_lines(lines))
        logs[task] = [LoggedItem(task, Record.from_json(line["record"]), line) for line in lines]
    run = assemble_run(path, ResultsFile.model_validate(rescored.results), logs)
    write_file(scores_path(path), scores_text(scores_of(replace(run, logged=rescored.run.logged))))
    write_file(card_path(path), json.dumps(card, ensure_ascii=False, indent=2) + "\n")
    write_file(path, escape_surrogates(json.dumps(rescored.results, ensure_ascii=False, indent=2)))
    return path


@contextmanager
def claimed(folder: Path, *sources: Path) -> Iterator[None]:
    """Claim a new folder for what is made of finished runs, by a mark in it that goes when the block ends."""
    mark, name = folder / MARK, b"\0".join(os.fsencode(source.resolve()) for source in sources)
    is_ours = mark.is_file() and mark.read_bytes() == name
    if not is_ours and (mark.exists() or results_files(folder) or (folder / SUBMISSIONS).exists()):
        raise InputError(f"{folder} holds a run already: Expected a new folder. Nothing was written.")
    is_new = not folder.exists()
    write_file(mark, name)
    try:
        yield
    except Exception:
        if list(folder.iterdir()) == [mark]:
            mark.unlink()
            if is_new:
                folder.rmdir()
        raise
    mark.unlink()


def _choose(run: Run, notes: list[str]) -> tuple[list[str], list[str]]:
    """The groups and single tasks of ours in a run, and all its tasks of ours."""
    names = dict.fromkeys((*run.groups, *run.records, *(task for tasks in run.groups.values() for task in tasks)))
    versions = {name: version for name in names if (version := registry().find_version(name))}
    groups = {name: tasks for name, tasks in run.groups.items() if name in versions and set(tasks) <= set(versions)}
    tasks = [task for task in run.records if task in versions]
    problems = Problems()
    for name in (*groups, *tasks):
        theirs, ours = run.versions.get(name, "unknown"), versions[name]
        match = _VERSION.fullmatch(theirs)
        if not match or int(match[1]) > int(ours.partition("-")[0]):
            remedy = "Rescore with the lmms-eval-tasks that made the run, or a later one."
            problems.add(name, f"Expected a version up to {ours}, but got {theirs}.", remedy)
        elif theirs != ours:
            notes.append(f"{name} was run as version {theirs} and is scored as version {ours}")
    if not tasks:
        problems.add(run.path.name, f"Expected a task of this package, but got {', '.join(run.records)}.")
    problems.raise_if_any(f"{run.path} cannot be scored again")
    if others := [name for name in (*run.records, *run.groups) if name not in versions]:
        notes.append(f"not scored again, for this package has no such task or group: {', '.join(others)}")
    grouped = {task for members in groups.values() for task in members}
    return [*groups, *(task for task in tasks if task not in grouped)], tasks


def _rewrite(item: LoggedItem, brought: Mapping[str, Any]) -> dict[str, Any]:
    """A logged line with what the item brings to each score now."""
    host = {name: value for name, value in item.values.items() if name in HOST_FIELDS}
    last = {"input": item.values["input"]} if "input" in item.values else {}
    return {**host, **json.loads(json.dumps(brought)), **last}


def _is_otherwise(item: LoggedItem, line: Mapping[str, Any]) -> bool:
    """Whether an item's record has changed; a field or stratum that only one of both has does not count."""
    before, after = item.record, Record.from_json(line["record"])
    return _shared(before, after) != _shared(after, before)


def _shared(record: Record, other: Record) -> Record:
    """A record with the fields and strata that another has, too."""
    fields = {name: value for name, value in record.fields.items() if name in other.fields}
    stratum = {name: value for name, value in record.stratum.items() if name in other.stratum}
    return replace(record, fields=fields, stratum=stratum)


def _updated(old: Mapping[str, Any], computed: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The saved results with new scores, in the old order; other people's tasks are left out."""
    new = {
        section: {name: entry for name, entry in value.items() if name in names}
        if section in PER_TASK and isinstance(value, Mapping)
        else value
        for section, value in old.items()
    }
    for section in ("results", "groups"):
        for name, before in new.get(section, {}).items():
            if (scores := computed[section].get(name)) is not None:
                kept = [key for key in before if key == "alias" or key in scores]
                new[section][name] = {key: scores.get(key, before.get(key)) for key in dict.fromkeys((*kept, *scores))}
    versions = new.get("versions", {})
    new["versions"] = {name: computed["versions"].get(name, version) for name, version in versions.items()}
    return new


def _compare(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[int, list[Change]]:
    """How many numbers were compared, and what differs; numbers are equal only to the last digit."""
    count, changes = 0, []
    for name, scores in new["results"].items():
        before = old["results"][name]
        for key in dict.fromkeys((*before, *scores)):
            then, now = before.get(key), scores.get(key)
            count += any(value is None or isinstance(value, (int, float)) for value in (then, now))
            both_nan = then != then and now != now
            if key != "alias" and then != now and not both_nan:
                changes.append(Change(name, key.removesuffix(f",{FILTER}"), then, now))
    return count, changes


def _card(rescored: Rescored) -> dict[str, dict[str, Value]]:
    """The run's card, with what scores it now and where it comes from."""
    card: dict[str, dict[str, Value]] = {section: dict(fields) for section, fields in rescored.run.card.items()}
    for task in rescored.logs:
        if fields := card.get(f"{TASK}{task}"):
            known = registry().find_task(task)
            assert known is not None, f"{task} was scored, and is of no benchmark"
            fields["version"] = known.version
            fields["extractor"] = extractor_of(known.kind)
    card["rescored"] = {
        "results": rescored.run.path.name,
        "results sha256": file_sha256(rescored.run.path),
        "lmms-eval-tasks": package_version("lmms-eval-tasks"),
        "lmms-eval": package_version("lmms-eval"),
        "scores": rescored.scores,
        "changed scores": len(rescored.changes),
    }
    return card
