"""Groups of items that models solve without the motion or without the clip, from runs of views."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lmms_eval_tasks.runs.folder import Run
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.text import summarize_names
from lmms_eval_tasks.utils.scoring.record import FRAME, Record

MODELS, MODEL_SHARE, FRAME_SHARE = 5, 0.8, 0.3
"""MVP's: a frame is solvable where 4 of 5 models are right; a pair goes where 30% of the frames of both clips are."""

UNSCORED = "not scored by every model"
NEAR = 1e-9
"""Shares such as 0.8 of 5 are no exact numbers."""

Records = dict[str, list[Record]]
"""Records by the task that they are a view of."""


@dataclass(frozen=True)
class FilteredGroup:
    task: str
    group_id: str
    removed: bool
    why: str
    members: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def view_records(runs: Sequence[Run], view: str, least_models: int = 1) -> dict[str, Records]:
    problems = Problems()
    models: defaultdict[str, Records] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        seen = [
            task
            for task, records in run.records.items()
            if records and (records[0].view == view or records[0].view.startswith(f"{view}_"))
        ]
        if not seen:
            tasks = summarize_names(run.records)
            problems.add(str(run.path), f"Expected a run of the view {view}, but its tasks are {tasks}.")
        for task in seen:
            records = run.records[task]
            models[run.name][task.removesuffix(f"_{records[0].view}")] += records
    if not problems and len(models) < least_models:
        names = ", ".join(models) or "none"
        what = f"Expected runs of {least_models} models or more, but got {len(models)} ({names})."
        why = "Runs of one name count as one model, whatever their seeds."
        problems.add(
            "models", f"{what} {why}", remedy="Add runs of other models, or name how many are enough with --models."
        )
    (one, ours), *others = models.items() or [("", {})]
    for other, theirs in others:
        if set(ours) != set(theirs):
            problems.add(other, f"Expected the tasks of {one}, {', '.join(ours)}, but got {', '.join(theirs)}.")
            continue
        for task in ours:
            before, after = ({record.item_id: record.expected for record in side[task]} for side in (ours, theirs))
            where = f"{other}, {task}"
            if apart := before.keys() ^ after.keys():
                what = f"Expected the items of {one}, but {len(apart):,} are in one of the runs alone"
                problems.add(where, f"{what}: {summarize_names(sorted(apart))}.")
            elif keys := [item for item in before if before[item] != after[item]]:
                problems.add(where, f"Expected the keys of {one}, but they differ in {summarize_names(keys)}.")
    problems.raise_if_any("The runs cannot be used together")
    return {name: dict(records_of) for name, records_of in models.items()}


def single_frame_filter(
    models: Mapping[str, Records], model_share: float = MODEL_SHARE, frame_share: float = FRAME_SHARE
) -> tuple[FilteredGroup, ...]:
    """MVP's filter: groups whose items are all solvable from single frames, in the first model's order."""
    frames = _common_frames(models)
    needed = model_share * len(models) - NEAR
    filtered = []
    for task, group, items in _groups(models):
        members: dict[str, dict[str, Any]] = {}
        for item in items:
            answers = [by_frame[task, item] for by_frame in frames.values()]
            shown = sorted(frame for frame in answers[0] if frame is not None)
            scored = [frame for frame in shown if all(right.get(frame) is not None for right in answers)]
            solvable = [frame for frame in scored if sum(bool(right[frame]) for right in answers) >= needed]
            members[item] = {"frames": len(scored), "solvable": solvable}
        if not all(member["frames"] for member in members.values()):
            filtered.append(FilteredGroup(task, group, False, UNSCORED, members))
            continue
        removed = all(len(one["solvable"]) >= frame_share * one["frames"] - NEAR for one in members.values())
        shares = " and ".join(f"{len(one['solvable'])} of {one['frames']}" for one in members.values())
        filtered.append(FilteredGroup(task, group, removed, f"solvable frames: {shares}", members))
    return tuple(filtered)


def blind_filter(models: Mapping[str, Records], least: int = 1) -> tuple[FilteredGroup, ...]:
    """CausalVQA's filter: groups of which a model gets every item right without the clip."""
    problems = Problems()
    right: dict[str, dict[tuple[str, str], bool | None]] = {}
    for name, records_of in models.items():
        right[name] = {}
        for task, records in records_of.items():
            if len({record.item_id for record in records}) < len(records):
                problems.add(name, f"Expected one run of {task}, but got several.", remedy="Name one of them.")
            right[name].update({(task, record.item_id): record.correct for record in records})
    problems.raise_if_any("The runs cannot be used together")
    filtered = []
    for task, group, items in _groups(models):
        answers = {name: [known[task, item] for item in items] for name, known in right.items()}
        scored = [name for name, values in answers.items() if None not in values]
        solved = [name for name in scored if all(answers[name])]
        members = {item: {"right": [name for name in right if right[name][task, item]]} for item in items}
        why = f"right on all: {', '.join(solved) or 'no model'}"
        if len(solved) < least and len(scored) < len(models):
            why = UNSCORED
        filtered.append(FilteredGroup(task, group, len(solved) >= least, why, members))
    return tuple(filtered)


def _common_frames(
    models: Mapping[str, Records],
) -> dict[str, dict[tuple[str, str], dict[int | None, bool | None]]]:
    """Of each model and item, frame to whether it was right; None where it was not scored."""
    problems = Problems()
    frames: dict[str, dict[tuple[str, str], dict[int | None, bool | None]]] = {}
    for name, records_of in models.items():
        by_item: defaultdict[tuple[str, str], dict[int | None, bool | None]] = defaultdict(dict)
        for task, records in records_of.items():
            unknown = []
            for record in records:
                frame = record.fields.get(FRAME)
                if not isinstance(frame, int) or isinstance(frame, bool):
                    if record.correct is not None:
                        unknown.append(record.item_id)
                    frame = None
                known = by_item[task, record.item_id]
                before = known.get(frame, True)
                known[frame] = None if record.correct is None or before is None else record.correct and before
            if unknown:
                what = f"Expected the index of the frame of each item, but got none of {summarize_names(unknown)}."
                problems.add(f"{name}, {task}", what)
        frames[name] = dict(by_item)
    first, *others = frames.items()
    for name, known_of in others if not problems else ():
        apart: defaultdict[str, list[str]] = defaultdict(list)
        for (task, item), known in known_of.items():
            other = first[1][task, item]
            # An item that was not scored may have been shown no frame.
            if None not in (known.keys() | other.keys()) and known.keys() != other.keys():
                apart[task].append(item)
        for task, items in apart.items():
            problems.add(
                f"{name}, {task}",
                f"Expected the frames of {first[0]}, but {len(items):,} items were shown others: "
                f"{summarize_names(items)}.",
                remedy="Run the same views, such as single_frame_random1, of every model.",
            )
    problems.raise_if_any("The runs cannot be used together")
    return frames


def _groups(models: Mapping[str, Records]) -> Iterator[tuple[str, str, list[str]]]:
    """Each group of items: its task, id and items, as the first model has them."""
    for task, records in next(iter(models.values()), {}).items():
        groups: defaultdict[str, dict[str, None]] = defaultdict(dict)
        for record in records:
            groups[record.group_id][record.item_id] = None
        for group, items in groups.items():
            yield task, group, list(items)


def check_share(name: str, share: float) -> None:
    """Refuse a share, as an option gives it, that is not above 0 or is above 1."""
    if not 0 < share <= 1:
        raise InputError(f"Expected {name} above 0 and at most 1, but got {share:g}.")
