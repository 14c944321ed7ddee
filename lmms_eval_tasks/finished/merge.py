"""Merging of the runs of parts (`LMMS_EVAL_TASKS_SHARD`) into a whole run, without model, clip or judge."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lmms_eval_tasks.finished.rescore import claimed, score_again, write_rescored
from lmms_eval_tasks.host.model.identity import installed_version
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs import run_files
from lmms_eval_tasks.runs.folder import LoggedItem, Run, assemble_run, read_run
from lmms_eval_tasks.runs.run_card import COST, NOT_KNOWN, TASK, Sections, Value, Weight, differences, read_run_card
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.files import file_sha256
from lmms_eval_tasks.utils.core.text import SHARD
from lmms_eval_tasks.utils.data.home import read_manifest

ONE_PROCESS = "throughput"
"""What lmms-eval measures of one process, means among it that cannot be put together."""
TIME = "total_evaluation_time_seconds"
UNSORTED = ("results", "groups", "group_subtasks", "n-samples")
"""Fields whose tasks lmms-eval does not list by name."""
HOUR = 3600


def merge_results(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    first = next(part for part in parts if part["configs"])
    whole: Mapping[str, Any] = first[run_files.SHARD_OF_RUN]["n-samples"]
    merged = {name: value for name, value in first.items() if name not in (run_files.SHARD_OF_RUN, ONE_PROCESS)}
    for section in run_files.PER_TASK:
        entries: dict[str, Any] = {}
        for part in parts:
            for name, entry in part.get(section, {}).items():
                entries[name] = _join(entries[name], entry, list(whole)) if name in entries else entry
        if entries:
            merged[section] = entries if section in UNSORTED else dict(sorted(entries.items()))
    groups = merged["group_subtasks"]
    members = {name for of_group in groups.values() for name in of_group}
    names = [name for group in sorted(groups.keys() - members) for name in (group, *sorted(groups[group]))]
    merged["results"] = {name: merged["results"][name] for name in names}
    merged["n-samples"] = dict(whole)
    merged["date"] = max(part["date"] for part in parts)
    seconds = sum(float(part[TIME]) for part in parts)
    merged |= {TIME: str(seconds), "end_time": first["start_time"] + seconds}
    for section in ("usage", "efficiency"):
        if found := [part[section] for part in parts if part.get(section)]:
            merged[section] = _add(found)
    if efficiency := merged.get("efficiency"):
        for counts in (efficiency["overall"], *efficiency["by_task"].values()):
            output, documents = counts["total_output_tokens"], counts["docs_with_token_counts"]
            correct = counts["total_correct_score"]
            counts["avg_output_tokens_per_sample"] = output / documents if documents else 0.0
            counts["tokens_per_correct_answer"] = output / correct if correct else None
    return merged


def merge_cards(parts: Sequence[Sections]) -> dict[str, dict[str, Value]]:
    merged: dict[str, dict[str, Value]] = {}
    sections = dict.fromkeys(name for part in parts for name in part)
    # Tasks come first, by their names; the other sections stay as they are.
    for section in sorted(sections, key=lambda name: (False, name) if name.startswith(TASK) else (True, "")):
        holders = [part[section] for part in parts if section in part]
        names = dict.fromkeys(name for holder in holders for name in holder)
        merged[section] = {
            name: _merge_field(section, name, [holder.get(name) for holder in holders])
            for name in names
            if (section, name) != ("settings", SHARD)
        }
    if rates := merged.get("throughput"):
        seconds = rates.get("seconds")
        for what in ("questions", "clips"):
            number = rates.get(what)
            if isinstance(number, int) and isinstance(seconds, int | float) and seconds:
                rates[f"{what} an hour"] = round(number / seconds * HOUR)
        prompt, reused = rates.get("prompt tokens"), rates.get("prompt tokens reused", 0)
        if isinstance(prompt, int) and isinstance(reused, int) and prompt:
            rates["share of prompt tokens reused in %"] = round(100 * reused / prompt, 1)
    reasons = merged.pop(NOT_KNOWN, {})
    unknown = {
        f"{section}.{name}" for section, fields in merged.items() for name, value in fields.items() if value is None
    }
    if kept := {name: reason for name, reason in reasons.items() if name in unknown}:
        merged[NOT_KNOWN] = kept
    return merged


def _merge_field(section: str, name: str, values: Sequence[Value]) -> Value:
    known = [value for value in values if value is not None]
    if not known:
        return None
    if (section, name) == ("run", "shard"):
        return "none"
    if (section, name) == ("run", "date"):
        return max(map(str, known))
    if (section, name) == ("run", "command"):
        return known[0]
    counted = (
        section == "throughput"
        or section.startswith(COST)
        or name in ("items", "wall time in s", "answers kept from before")
    )
    if counted and (numbers := [value for value in known if isinstance(value, int | float)]):
        total = sum(numbers)
        return round(total, 1) if isinstance(total, float) else total
    if len(different := dict.fromkeys(known)) == 1:
        return known[0]
    return "; ".join(map(str, different))


def _join(before: Any, entry: Any, tasks: Sequence[str]) -> Any:
    """Join the entries of two parts for a task or group: the tasks of a group in their order, or the fields of both."""
    if isinstance(before, list) and isinstance(entry, list):
        return sorted({*before, *entry}, key=lambda name: tasks.index(name) if name in tasks else len(tasks))
    return {**entry, **before} if isinstance(before, Mapping) and isinstance(entry, Mapping) else before


def _add(values: Sequence[Any]) -> Any:
    if all(isinstance(value, Mapping) for value in values):
        names = dict.fromkeys(name for value in values for name in value)
        return {name: _add([value[name] for value in values if name in value]) for name in names}
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    return sum(numbers) if len(numbers) == len(values) else values[0]


OF_PARTS = frozenset({("run", "shard"), (TASK, "items")})
"""Fields of a card, by section and name, in which parts differ by their nature."""
ASKED_ALIKE = ("bootstrap_iters", "gen_kwargs")
"""What of a run's configuration moves a number and is in no card."""
PREPARE = "Prepare the data that the parts were made with, or name its home in LMMS_EVAL_TASKS_HOME."


@dataclass(frozen=True)
class Part:
    shard: run_files.Shard
    run: Run
    values: Mapping[str, Any]
    offset: int
    tasks: Mapping[str, int]
    """Task to how many items the whole run has of it."""


@dataclass(frozen=True)
class Merged:
    path: Path
    parts: int
    items: Mapping[str, int]
    notes: tuple[str, ...]


def merge(sources: Sequence[Path], out: Path) -> Merged:
    """Write the whole run of which some runs are the parts: what it would have written itself on one rank."""
    problems = Problems()
    parts = _read_parts(sources, problems)
    _check_numbers(parts, problems)
    notes = _check_alike(parts, problems)
    logs: dict[str, list[LoggedItem]] = {}
    for task in () if problems else parts[0].tasks:
        runs = [part.run for part in parts if task in part.run.records]
        # In the order of the whole run on one rank.
        logs[task] = sorted((item for run in runs for item in run.items_of(task)), key=_document)
    _check_data(parts, logs, problems)
    problems.raise_if_any("These runs cannot be merged", "nothing was written")
    parts.sort(key=lambda part: part.shard)
    results = merge_results([part.values for part in parts])
    logs = {task: logs[task] for task in results["configs"] if logs.get(task)}
    with claimed(out, *(part.run.path for part in parts)):
        hashed = {
            task: "".join(f"sample_{place}{item.values['doc_hash']}" for place, item in enumerate(logs[task]))
            for task in results["n-samples"]
            if task in logs
        }
        results["task_hashes"] = {task: hashlib.sha256(text.encode()).hexdigest() for task, text in hashed.items()}
        path = out / max(part.run.path.name for part in parts)
        run = assemble_run(path, run_files.ResultsFile.model_validate(results), logs)
        scored = score_again(replace(run, notes=tuple(notes), logs=logs), results, out)
        written = write_rescored(scored, out, _card(parts))
    return Merged(written, len(parts), {task: len(items) for task, items in logs.items()}, scored.notes)


def _document(item: LoggedItem) -> int:
    """Return the index of an item in the whole run."""
    return int(item.values["doc_id"])


def _read_parts(sources: Sequence[Path], problems: Problems) -> list[Part]:
    parts = []
    for source in sources:
        try:
            part = read_part(source)
        except InputError as error:
            problems.add(str(source), " ".join(str(error).split()))
            continue
        if part is None:
            problems.add(str(source), f"Expected a run of a part, with {SHARD}=i/N, but got a whole run.")
        elif not part.run.card:
            path = part.run.path
            problems.add(str(path), f"Expected its run card, {run_files.card_path(path).name}, but there is none.")
        else:
            parts.append(part)
    return parts


def read_part(source: Path) -> Part | None:
    run = None
    for path in run_files.results_files(source)[-1:]:
        with suppress(InputError):
            form = run_files.read_results(path)
            if form.shard and not form.configs:  # a part without any item, which `read_run` takes for no run
                run = assemble_run(path, form, {})
    if run:
        run = replace(run, card=read_run_card(run_files.card_path(run.path)))
    else:
        run = read_run(source, allow_predictions=True)
    form, values = run_files.read_results_with_all(run.path)
    if form.shard is None:
        return None
    offset = form.config.offset or 0
    tasks = {name: count.after(offset) for name, count in form.shard.n_samples.items()}
    return Part(form.shard.shard, run, values, offset, tasks)


def _check_numbers(parts: Sequence[Part], problems: Problems) -> None:
    """Note parts of another number of parts, and those that are there twice or not at all."""
    if not parts:
        if not problems:
            problems.add("runs", "Expected the runs of all parts, but got none.")
        return
    every = Counter(part.shard.of for part in parts)
    usual = max(every, key=lambda number: (every[number], number))
    held: dict[int, list[str]] = {}
    for part in parts:
        if part.shard.of == usual:
            held.setdefault(part.shard.part, []).append(str(part.run.path))
        else:
            problems.add(str(part.run.path), f"Expected one of {usual} parts, but got part {part.shard}.")
    for number, paths in sorted(held.items()):
        if len(paths) > 1:
            problems.add(f"part {number}/{usual}", f"Expected one run of it, but got {', '.join(paths)}.")
    if missing := [number for number in range(1, usual + 1) if number not in held]:
        problems.add("parts", f"Expected all {usual}, but there is no run of {_ranges(missing)}.")


def _ranges(numbers: Sequence[int]) -> str:
    """Return ascending numbers, those in a row as the first and the last: ``3, 5-9``."""
    rows: list[list[int]] = []
    for number in numbers:
        if rows and number == rows[-1][-1] + 1:
            rows[-1].append(number)
        else:
            rows.append([number])
    return ", ".join(str(row[0]) if len(row) == 1 else f"{row[0]}-{row[-1]}" for row in rows)


def _check_alike(parts: Sequence[Part], problems: Problems) -> list[str]:
    """Note in what parts differ that moves a number, and tasks of no benchmark; return other differences as notes."""
    counts = {task: [part.tasks.get(task) for part in parts] for part in parts for task in part.tasks}
    for task, numbers in counts.items():
        _note_values(task, "items of the whole run", numbers, parts, problems)
        if registry().find_version(task) is None:
            problems.add(task, "Expected a task or view of a benchmark that is installed here, but it is none.")
    notes = []
    for one in differences([part.run.card for part in parts]):
        # Another device, or more ranks, are no matter.
        if (TASK if one.section.startswith(TASK) else one.section, one.field) in OF_PARTS:
            continue
        if one.weight in (Weight.MATTERS, Weight.MODEL) or one.section == "software":
            _note_values(one.place, one.field, one.values, parts, problems)
        else:
            texts = "; ".join(dict.fromkeys(map(str, one.values)))
            notes.append(f"parts differ in {one.section}, {one.field}: {texts}")
    for name in ASKED_ALIKE:
        values = [part.values["config"].get(name) for part in parts]
        _note_values("configuration", name, values, parts, problems)
    return notes


def _note_values(place: str, field: str, values: Sequence[Any], parts: Sequence[Part], problems: Problems) -> None:
    holders: dict[str, list[str]] = {}
    for value, part in zip(values, parts, strict=True):
        holders.setdefault("none" if value is None else str(value), []).append(str(part.shard))
    if len(holders) > 1:
        texts = [f"{text} in part {', '.join(names)}" for text, names in holders.items()]
        problems.add(f"{place}, {field}", f"Expected the same in all parts, but got {'; '.join(texts)}.")


def _check_data(parts: Sequence[Part], logs: Mapping[str, Sequence[LoggedItem]], problems: Problems) -> None:
    """Note tasks whose prepared data is other than the parts', and items that are in no part, or in several."""
    for task, items in logs.items():
        known = registry().find_task(task)
        assert known is not None, f"{task} has a version, and is of no benchmark"
        now = read_manifest(known.benchmark.card).splits[known.split].table_sha256
        for digest in {part.run.card.get(f"{TASK}{task}", {}).get("data sha256") for part in parts} - {None, now}:
            what = f"Expected the data of the parts, {str(digest)[:8]}, but the data prepared here is {now[:8]}."
            problems.add(task, what, remedy=PREPARE)
        start, number = parts[0].offset, parts[0].tasks[task]
        held = Counter(map(_document, items))
        if not any(item.record.drawn for item in items):
            held.update(dict.fromkeys(range(start, start + number), 0))
        elif len(held) < number:
            problems.add(task, f"Expected {number:,} items in the parts, but got {len(held):,}.")
        if lacking := [document for document, times in held.items() if not times]:
            problems.add(task, f"Expected all {number:,} items in the parts, but there is no {_ranges(lacking)}.")
        if doubled := [document for document, times in held.items() if times > 1]:
            problems.add(task, f"Expected each item in one part, but got again {_ranges(sorted(doubled))}.")


def _card(parts: Sequence[Part]) -> dict[str, dict[str, Value]]:
    merged: dict[str, Value] = {
        "parts": len(parts),
        "lmms-eval-tasks": installed_version("lmms-eval-tasks"),
        "lmms-eval": installed_version("lmms-eval"),
    }
    of_parts = {f"part {part.shard}": f"{part.run.path.name} {file_sha256(part.run.path)}" for part in parts}
    return {**merge_cards([part.run.card for part in parts]), "merged": {**merged, **of_parts}}
