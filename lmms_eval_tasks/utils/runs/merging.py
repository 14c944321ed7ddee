"""The results and the run card of a whole run, from those of its parts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from lmms_eval_tasks.utils.core.variables import SHARD
from lmms_eval_tasks.utils.runs.results_file import PER_TASK, SHARD_OF_RUN
from lmms_eval_tasks.utils.runs.run_card import NOT_KNOWN, TASK, Sections, Value

ONE_PROCESS = "throughput"
"""What lmms-eval measures of one process, means among it that cannot be put together."""
TIME = "total_evaluation_time_seconds"
UNSORTED = ("results", "groups", "group_subtasks", "n-samples")
"""Fields whose tasks lmms-eval does not list by name."""
HOUR = 3600


def merge_results(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The results file of a whole run, in which the scores are still those of parts."""
    first = next(part for part in parts if part["configs"])
    whole: Mapping[str, Any] = first[SHARD_OF_RUN]["n-samples"]
    merged = {name: value for name, value in first.items() if name not in (SHARD_OF_RUN, ONE_PROCESS)}
    for section in PER_TASK:
        entries: dict[str, Any] = {}
        for part in parts:
            for name, entry in part.get(section, {}).items():
                entries[name] = _join(entries[name], entry, list(whole)) if name in entries else entry
        if entries:
            merged[section] = entries if section in UNSORTED else dict(sorted(entries.items()))
    merged["results"] = {name: merged["results"][name] for name in _in_order(merged["group_subtasks"])}
    merged["n-samples"] = dict(whole)
    merged["date"] = max(part["date"] for part in parts)
    seconds = sum(float(part[TIME]) for part in parts)
    merged |= {TIME: str(seconds), "end_time": first["start_time"] + seconds}
    for section in ("usage", "efficiency"):
        if found := [part[section] for part in parts if part.get(section)]:
            merged[section] = _add(found)
    if efficiency := merged.get("efficiency"):
        for counts in (efficiency["overall"], *efficiency["by_task"].values()):
            _divide(counts)
    return merged


def _in_order(groups: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Tasks and groups as lmms-eval lists their scores: by their names, and the tasks of a group after it."""
    members = {name for of_group in groups.values() for name in of_group}
    for name in sorted(groups.keys() - members):
        yield name
        yield from sorted(groups[name])


def hash_task(lines: Iterable[Mapping[str, Any]]) -> str:
    """What lmms-eval calls the hash of a task, from the task's logged lines in their order."""
    text = "".join(f"sample_{place}{line['doc_hash']}" for place, line in enumerate(lines))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def merge_cards(parts: Sequence[Sections]) -> dict[str, dict[str, Value]]:
    """The card of a whole run."""
    merged: dict[str, dict[str, Value]] = {}
    for section in sorted(dict.fromkeys(name for part in parts for name in part), key=_place):
        holders = [part[section] for part in parts if section in part]
        names = dict.fromkeys(name for holder in holders for name in holder)
        merged[section] = {
            name: _merge_field(section, name, [holder.get(name) for holder in holders])
            for name in names
            if (section, name) != ("settings", SHARD)
        }
    if throughput := merged.get("throughput"):
        _divide_throughput(throughput)
    reasons = merged.pop(NOT_KNOWN, {})
    unknown = {
        f"{section}.{name}" for section, fields in merged.items() for name, value in fields.items() if value is None
    }
    if kept := {name: reason for name, reason in reasons.items() if name in unknown}:
        merged[NOT_KNOWN] = kept
    return merged


def _place(section: str) -> tuple[bool, str]:
    """Tasks come first, by their names; the other sections stay as they are."""
    return (False, section) if section.startswith(TASK) else (True, "")


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
    counted = section == "throughput" or name in ("items", "wall time in s", "answers kept from before")
    if counted and (numbers := [value for value in known if isinstance(value, int | float)]):
        total = sum(numbers)
        return round(total, 1) if isinstance(total, float) else total
    if len(different := dict.fromkeys(known)) == 1:
        return known[0]
    return "; ".join(map(str, different))


def _divide_throughput(fields: dict[str, Value]) -> None:
    """Compute the rates of a card's throughput again, from what was summed."""
    seconds = fields.get("seconds")
    for what in ("questions", "clips"):
        number = fields.get(what)
        if isinstance(number, int) and isinstance(seconds, int | float) and seconds:
            fields[f"{what} an hour"] = round(number / seconds * HOUR)
    prompt, reused = fields.get("prompt tokens"), fields.get("prompt tokens reused", 0)
    if isinstance(prompt, int) and isinstance(reused, int) and prompt:
        fields["share of prompt tokens reused in %"] = round(100 * reused / prompt, 1)


def _join(before: Any, entry: Any, tasks: Sequence[str]) -> Any:
    """What two parts have of a task or group: the tasks of a group in their order, or the fields of both."""
    if isinstance(before, list) and isinstance(entry, list):
        return sorted({*before, *entry}, key=lambda name: tasks.index(name) if name in tasks else len(tasks))
    return {**entry, **before} if isinstance(before, Mapping) and isinstance(entry, Mapping) else before


def _add(values: Sequence[Any]) -> Any:
    """The sums of numbers at any depth of JSON values; of what is no number, the first."""
    if all(isinstance(value, Mapping) for value in values):
        names = dict.fromkeys(name for value in values for name in value)
        return {name: _add([value[name] for value in values if name in value]) for name in names}
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    return sum(numbers) if len(numbers) == len(values) else values[0]


def _divide(counts: dict[str, Any]) -> None:
    """Compute the means of lmms-eval's counts of tokens again, from what was summed."""
    output, documents, correct = (
        counts[name] for name in ("total_output_tokens", "docs_with_token_counts", "total_correct_score")
    )
    counts["avg_output_tokens_per_sample"] = output / documents if documents else 0.0
    counts["tokens_per_correct_answer"] = output / correct if correct else None
