"""Scores of a finished run, computed again from its saved responses with today's scorer: no model, no clip, no judge.

Items are read and graded by the tasks' own hooks and aggregated by lmms-eval's own arithmetic, on the saved responses
in the order in which they were saved, so that a scorer that has not changed gives every number again to the last digit.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from lmms_eval_tasks.host.environment import package_version
from lmms_eval_tasks.host.index import state_of
from lmms_eval_tasks.host.loading import aggregate, load_tasks, task_outputs
from lmms_eval_tasks.utils.benchmark.registry import registry
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.problems import InputError, Problems
from lmms_eval_tasks.utils.core.wording import summarize_names
from lmms_eval_tasks.utils.data.home import HOME, read_manifest
from lmms_eval_tasks.utils.data.manifest import file_sha256
from lmms_eval_tasks.utils.runs.responses import scored_responses, was_asked
from lmms_eval_tasks.utils.runs.run import RESULTS, SUBMISSIONS, Run, card_path, log_lines, read_run, sample_log
from lmms_eval_tasks.utils.runs.run_card import TASK, Value
from lmms_eval_tasks.utils.scoring.records import Record

FILTER = "none"
"""The host's name for responses that no filter has changed, as none does in our tasks."""
PER_TASK = ("results", "groups", "configs", "group_subtasks", "versions", "n-shot", "higher_is_better", "n-samples")
HOST_FIELDS = frozenset(
    {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "token_counts", "doc_hash", "input_media"}
)
"""What of a logged item is the host's and says nothing of its score; ``input`` comes last."""
MARK = ".rescoring"
"""A file in a folder that a run is being written to; it holds the run's path."""
OTHER_DATA = f"Prepare the data that the run was made with, or name its home in {HOME}."
_VERSION = re.compile(r"(\d+)-([A-Z]+)")

Logs = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True)
class Change:
    """A score that is not what it was.

    Attributes:
        name: Task or group.
        score: The score's name; a standard error has ``_stderr`` in it.
        old: As saved.
        new: As computed now.
    """

    name: str
    score: str
    old: Any
    new: Any


@dataclass(frozen=True)
class Rescored:
    """A run scored again.

    Attributes:
        run: The run as it was.
        results: The host's results with the new scores; only tasks and groups of ours are in it.
        logs: Task to its logged items with what they bring to each score now.
        scores: How many numbers were compared, standard errors and counts among them.
        changes: Those that differ.
        items: Task to how many of its items are read or graded otherwise than they were.
        notes: What else is to be known, as sentences.
    """

    run: Run
    results: Mapping[str, Any]
    logs: Mapping[str, Sequence[Mapping[str, Any]]]
    scores: int
    changes: tuple[Change, ...]
    items: Mapping[str, int]
    notes: tuple[str, ...]


def rescore(source: Path, folder: Path) -> Rescored:
    """Score a finished run again.

    Args:
        source: The run's output path, or its results file. It is only read.
        folder: Where the files for leaderboards go; they are written by the scores that count their rows.

    Raises:
        InputError: where the run cannot be read, was made by a later version of a task, or its data is not prepared
            here or is other data; all reasons are in the message.
    """
    run = read_run(source)
    old = json.loads(run.path.read_text(encoding="utf-8"))
    notes: list[str] = []
    names, tasks = _choose(run, notes)
    logs = _read_logs(run, tasks)
    loaded = load_tasks(names, str(old.get("config", {}).get("model")))
    outputs = task_outputs(loaded)
    docs = _find_docs(run, outputs, logs, notes)
    items: dict[str, int] = {}
    for task in tasks:
        outputs[task].task.args = SimpleNamespace(output_path=str(folder))
        state = state_of(outputs[task].task)
        if state and state.kind.restore:
            state.kind.restore(state, docs[task], logs[task])
        logs[task], items[task] = _score(outputs[task], docs[task], logs[task])
    computed = aggregate(loaded, outputs, int(old.get("config", {}).get("bootstrap_iters") or 0))
    results = _updated(old, computed, [*names, *tasks])
    scores, changes = _compare(old, results)
    return Rescored(run, results, logs, scores, tuple(changes), items, tuple(notes))


def write_rescored(rescored: Rescored, folder: Path) -> Path:
    """Write a run that was scored again, with its card, to a new output folder in the host's form.

    The same run gives the same bytes. Returns the results file.

    Raises:
        OSError: where a file cannot be written.
    """
    path = folder / rescored.run.path.name
    for task, lines in rescored.logs.items():
        write_file(sample_log(path, task), "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    write_file(card_path(path), json.dumps(_card(rescored), ensure_ascii=False, indent=2) + "\n")
    write_file(path, json.dumps(rescored.results, ensure_ascii=False, indent=2))
    return path


@contextmanager
def claimed(folder: Path, source: Path) -> Iterator[None]:
    """Claim a new folder for a run that is scored again, by a mark in it that goes when the block ends.

    What was written when scoring the same run was cut short is written over: the same run gives the same files. A block
    that fails before it has written anything leaves nothing behind.

    Args:
        folder: Where the run is written.
        source: The run, as `rescore` takes it.

    Raises:
        InputError: the folder holds a run or files for leaderboards, or is claimed for another run.
    """
    mark, name = folder / MARK, os.fsencode(source.resolve())
    is_ours = mark.is_file() and mark.read_bytes() == name
    if not is_ours and (mark.exists() or any(folder.rglob(f"*{RESULTS}")) or (folder / SUBMISSIONS).exists()):
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
    versions = registry().versions
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


def _read_logs(run: Run, tasks: Sequence[str]) -> Logs:
    logs: Logs = {}
    problems = Problems()
    for task in tasks:
        log = sample_log(run.path, task)
        logs[task] = [json.loads(line) for line in log_lines(log)]
        for number, line in enumerate(logs[task], start=1):
            if scored_responses(line) is None:
                problems.add(f"{log.name}, line {number}", "Expected filtered_resps with what the model said.")
    problems.raise_if_any(f"{run.path} cannot be scored again")
    return logs


def _find_docs(run: Run, outputs: Mapping[str, Any], logs: Logs, notes: list[str]) -> dict[str, list[dict[str, Any]]]:
    """The prepared row of each logged item, in the log's order, asked where the model was."""
    problems = Problems()
    docs: dict[str, list[dict[str, Any]]] = {}
    for task, lines in logs.items():
        rows = {row["item_id"]: row for row in outputs[task].task.eval_docs}
        missing = [line["record"]["item_id"] for line in lines if line["record"]["item_id"] not in rows]
        sample = any("sample_data" in line for line in lines)
        if lines and sample != any(row["sample"] for row in rows.values()):
            kind = "sample data" if sample else "released data"
            problems.add(task, f"Expected the {kind} that it was run on, but other data is prepared.", OTHER_DATA)
        elif missing:
            names = f"{len(missing)} of {len(lines)} are not in it ({summarize_names(missing)})"
            problems.add(task, f"Expected every item in the prepared data, but {names}.", OTHER_DATA)
        else:
            docs[task] = [{**rows[line["record"]["item_id"]], "asked": was_asked(line["record"])} for line in lines]
        known = registry().tasks[task]
        digest = run.card.get(f"{TASK}{task}", {}).get("data sha256")
        now = read_manifest(known.benchmark.name).splits[known.split].table_sha256
        if digest and digest != now:
            notes.append(f"{task}: the data prepared here is not the run's ({str(digest)[:8]}, here {now[:8]})")
    problems.raise_if_any(f"{run.path} cannot be scored again")
    return docs


def _score(
    output: Any, docs: Sequence[Mapping[str, Any]], lines: Sequence[dict[str, Any]]
) -> tuple[list[dict[str, Any]], int]:
    """Grade each item into the host's holder; the new lines, and how many records are others than they were."""
    scored, changed = [], 0
    for doc, line in zip(docs, lines, strict=True):
        responses = scored_responses(line) or []
        contributions = output.task.process_results(doc, responses)
        fields, logged = contributions["record"]["fields"], line["record"]
        # Only the run knows with which prompt it asked; earlier versions did not all say.
        if "prompt" in fields:
            fields["prompt"] = logged["fields"].get("prompt")
        for metric, value in contributions.items():
            output.sample_metrics[metric, FILTER].append(value)
        host = {name: value for name, value in line.items() if name in HOST_FIELDS}
        last = {"input": line["input"]} if "input" in line else {}
        scored.append({**host, **json.loads(json.dumps(contributions)), **last})
        changed += _differs(logged, scored[-1]["record"])
    return scored, changed


def _differs(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether two records disagree; a field or stratum that only one of them has does not count."""
    before, after = Record.from_json(old), Record.from_json(new)
    if "unscored_reason" not in old:  # an earlier release's reasons were free text
        before = replace(before, unscored_reason=after.unscored_reason, detail=after.detail)
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
            scores = computed[section][name]
            ordered = [key for key in before if key in scores] + [key for key in scores if key not in before]
            new[section][name] = {key: before[key] if key == "alias" else scores[key] for key in ordered}
    new["versions"] = {name: computed["versions"].get(name, version) for name, version in new["versions"].items()}
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
            known = registry().tasks[task]
            fields["version"] = known.version
            fields["extractor"] = known.kind.extractor
    card["rescored"] = {
        "results": rescored.run.path.name,
        "results sha256": file_sha256(rescored.run.path),
        "lmms-eval-tasks": package_version("lmms-eval-tasks"),
        "lmms-eval": package_version("lmms-eval"),
        "scores": rescored.scores,
        "changed scores": len(rescored.changes),
    }
    return card
