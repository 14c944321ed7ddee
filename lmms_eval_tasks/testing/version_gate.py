"""The version gate: what a task's scores depend on, as digests beside its version N-X, and whether they changed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from lmms_eval_tasks.registry import find_benchmark, registry
from lmms_eval_tasks.testing.examples import (
    Configuration,
    Example,
    Row,
    asks,
    make_key,
    render_prompts,
    score_items,
)
from lmms_eval_tasks.utils.benchmark.tasks import task_configs
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.text import summarize_names
from lmms_eval_tasks.utils.data.prepare import make_table
from lmms_eval_tasks.utils.scoring.metrics import aggregate_tasks

PARTS = {
    "prompts": "rendered prompts",
    "generation": "generation settings",
    "schema": "data schema",
    "scores": "scores of examples",
    "means": "how the scores of its tasks are combined",
}
"""What is kept of a task or, under ``means``, of a group, to its name in messages."""
VERSION = re.compile(r"([1-9]\d*)-[A-Z]")
REMEDY = (
    "raise N of `metadata: version` in the YAML of these tasks and of their groups, and run `{command}`. Where no "
    "number should change, undo what changed it."
)

Entries = dict[str, dict[str, Any]]
"""Name of a task or group to its version and its `PARTS`. A part is a digest, or name to digest."""


SETTINGS = ("output_type", "generation_kwargs", "reasoning_tags", "lmms_eval_specific_kwargs")
GROUP_SCORES = ([10.0, 20.0, 40.0, 50.0], [10.0, None, 40.0, 50.0], [None, None, None, None])
"""What a group's tasks may score, and below how many items they may have."""
GROUP_SIZES = [1, 2, 3, 4]


def measure(benchmark: str, rows: Mapping[str, Row], examples: Sequence[Example], every_row: bool = False) -> Entries:
    entries: Entries = {}
    results: dict[str, dict[str, tuple[dict[str, float | None], list[str]]]] = {}
    columns = make_table([], find_benchmark(benchmark).schema()).schema
    schema = make_key([f"{field.name}: {_type_name(field.type)}" for field in columns])
    for name, configuration in task_configs(find_benchmark(benchmark).folder).items():
        entries[name] = {"version": str(configuration["metadata"]["version"])}
        if "group" in configuration:
            members = entries[name]["tasks"] = list(configuration["task"])
            entries[name]["means"] = {
                score: make_key([mean, members]) for score, mean in group_means(configuration).items()
            }
            continue
        asked = asks(None if every_row else registry().tasks[name], rows.values())
        own = {key: row for key, row in rows.items() if asked(row)}
        # Tasks of the same kind and scores share them.
        kind = registry().tasks[name].pointer.get("kind")
        shared = [kind, configuration["metric_list"], configuration.get("lmms_eval_specific_kwargs")]
        scoring = make_key([shared, list(own)])
        if scoring not in results:
            dealt = [(each, [item for item in each.items if asked(item[0])]) for each in examples]
            results[scoring] = {each.key: score_items(configuration, each, items) for each, items in dealt if items}
        prompts: dict[str, Any] = {key: render_prompts(configuration, row) for key, row in own.items()}
        prompts |= {key: judged for key, (_, judged) in results[scoring].items() if judged}
        entries[name] |= {
            "prompts": {key: make_key(texts) for key, texts in prompts.items()},
            "generation": make_key({setting: configuration.get(setting) for setting in SETTINGS}),
            "schema": schema,
            "scores": {key: scores for key, (scores, _) in results[scoring].items()},
        }
    return entries


def group_means(configuration: Configuration) -> dict[str, list[float | None]]:
    """Score of a group, one that all of its tasks have, to what it is for each of `GROUP_SCORES`."""
    first, *others = (
        {metric.name: metric for metric in registry().tasks[task].kind.metrics} for task in configuration["task"]
    )
    return {
        name: [aggregate_tasks(metric, scores, GROUP_SIZES) for scores in GROUP_SCORES]
        for name, metric in first.items()
        if all(name in other for other in others)
    }


def _type_name(kind: pa.DataType) -> str:
    """A column's type; pyarrow's own name of a list has changed between its versions."""
    return f"list of {_type_name(kind.value_type)}" if pa.types.is_list(kind) else str(kind)


def freeze(entry: Mapping[str, Any], names: Iterable[str] | None = None) -> dict[str, Any]:
    """An entry as it is kept: under ``scores`` a digest for each example, and under ``names`` of which scores."""
    if "scores" not in entry:
        return dict(entry)
    values = entry["scores"]
    chosen = sorted({name for scores in values.values() for name in scores} if names is None else names)
    digests = {key: make_key([scores.get(name, "gone") for name in chosen]) for key, scores in values.items()}
    return {**entry, "scores": digests, "names": chosen}


def read_kept(path: Path, command: str) -> Entries:
    """The kept entries; none where there is no file."""
    if not path.is_file():
        return {}
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        scores = kept["scores"]
        return {
            name: {**entry, "scores": scores[entry["scores"]]} if "scores" in entry else entry
            for name, entry in kept["tasks"].items()
        }
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} cannot be read as kept digests ({type(error).__name__}: {error}).\n"
            f"Remedy: after a merge, take that of the branch merged into, `git checkout BRANCH -- {path}`, and run "
            f"`{command}` again."
        ) from error


def write_kept(path: Path, entries: Entries) -> None:
    """Write frozen entries; digests of scores that several tasks share are written once."""
    shared = {make_key(entry["scores"]): entry["scores"] for entry in entries.values() if "scores" in entry}
    tasks = {
        name: {**entry, "scores": make_key(entry["scores"])} if "scores" in entry else entry
        for name, entry in entries.items()
    }
    text = json.dumps({"tasks": tasks, "scores": shared}, indent=1, ensure_ascii=False)
    path.write_text(f"{text}\n", encoding="utf-8")


def major(version: str) -> int:
    """N of a version N-X."""
    match = VERSION.fullmatch(version)
    if match is None:
        raise ValueError(f"Expected a version N-X, such as 2-A, but got {version!r}.")
    return int(match[1])


def find_problems(now: Entries, kept: Entries) -> Problems:
    """Versions of another form, with a lower N than before, or of a group with another version than its tasks."""
    problems = Problems()
    for name, entry in now.items():
        version, before = entry["version"], kept.get(name, entry)["version"]
        try:
            if major(version) < major(before):
                problems.add(name, f"Expected N not to be lowered, but got {version} after {before}.")
        except ValueError as error:
            problems.add(name, str(error))
        of_tasks = sorted({now[member]["version"] for member in entry.get("tasks", ())})
        if of_tasks not in ([], [version]):
            problems.add(name, f"Expected the version of its tasks, {', '.join(of_tasks)}, but got {version}.")
    return problems


def find_changes(now: Entries, kept: Entries) -> dict[str, dict[str, list[str]]]:
    """Task or group to each of its parts that changed while N stayed, and to what changed in it."""
    changes: dict[str, dict[str, list[str]]] = {}
    for name, entry in now.items():
        before = kept.get(name)
        if before is None or entry["version"].split("-")[0] != before["version"].split("-")[0]:
            continue
        comparable = freeze(entry, before.get("names", ()))
        parts = {part: _differences(comparable.get(part), before[part]) for part in PARTS if part in before}
        if changed := {part: names for part, names in parts.items() if names}:
            changes[name] = changed
    return changes


def _differences(now: Any, before: Any) -> list[str]:
    if isinstance(now, dict) and isinstance(before, dict):
        return [key for key, digest in before.items() if now.get(key) != digest]
    return [] if now == before else [""]


def compare_kept(now: Entries, kept: Entries, labels: Mapping[str, str], command: str) -> Problems:
    """Check versions for faults, as `find_problems` does, and for numbers that must be raised because of
    `find_changes`."""
    problems = find_problems(now, kept)
    alike: dict[str, list[str]] = {}
    for name, parts in find_changes(now, kept).items():
        described = ", ".join(_describe(part, keys, labels) for part, keys in parts.items())
        alike.setdefault(f"Expected N to be raised, because these changed: {described}.", []).append(name)
    for number, (described, names) in enumerate(alike.items(), 1):
        remedy = REMEDY.format(command=command) if number == len(alike) else ""
        problems.add(summarize_names(names), described, remedy=remedy)
    return problems


def _describe(part: str, keys: list[str], labels: Mapping[str, str]) -> str:
    names = summarize_names(labels.get(key, key) for key in keys) if part == "scores" else ""
    return f"{PARTS[part]} ({names})" if names else PARTS[part]


def describe_new(now: Entries, kept: Entries) -> list[str]:
    """Return a sentence on the scores that tasks have, and had not when their version was kept: X says so, and N
    stays."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, entry in now.items():
        before = kept.get(name)
        if before is None or "names" not in before or before["version"] != entry["version"]:
            continue
        if new := [score for score in freeze(entry)["names"] if score not in before["names"]]:
            alike.setdefault(tuple(new), []).append(f"{name} {entry['version']}")
    return [
        f"{summarize_names(names)}: {summarize_names(scores)} is new. Raise X, as from 2-A to 2-B; N stays."
        for scores, names in alike.items()
    ]


def renew(path: Path, now: Entries, labels: Mapping[str, str], command: str) -> list[str]:
    kept = read_kept(path, command)
    problems = compare_kept(now, kept, labels, command)
    problems.raise_if_any("Versions of tasks do not match what was kept", "nothing was written")
    frozen = {name: freeze(entry) for name, entry in now.items()}
    write_kept(path, frozen)
    return [name for name, entry in frozen.items() if entry != kept.get(name)]
