"""Timed descriptions that people edited, in place of a model's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from lmms_eval_tasks.build.cast_bench.clock import read_span
from lmms_eval_tasks.build.cast_bench.rows import ClipRow, TimedEntry, TrackedInstance, as_label
from lmms_eval_tasks.utils.core.errors import GroupedIssues, Problems
from lmms_eval_tasks.utils.core.forms import RowForm, WholeText, read_rows
from lmms_eval_tasks.utils.core.text import describe, first_line


class EditedText(RowForm):
    """Action of an instance in a clip, as an annotator left it; times are ``MM:SS``."""

    name: WholeText
    start: str
    end: str
    text: WholeText


class EditedItem(RowForm):
    """A line of the file: the entries of one question, whom it was not possible to describe, and who edited them."""

    item_id: WholeText
    version: str = ""
    annotator: WholeText
    entries: list[EditedText]
    skipped: list[WholeText] = Field(default_factory=list)


def read_edits(
    path: Path, clips: Mapping[str, ClipRow], problems: Problems
) -> dict[str, dict[str, tuple[TimedEntry, ...]]]:
    """Read the actions that people give for the instances of clips."""
    issues = GroupedIssues()
    edited: defaultdict[str, defaultdict[str, set[tuple[int, int, str]]]] = defaultdict(lambda: defaultdict(set))
    skipped: defaultdict[str, dict[str, str]] = defaultdict(dict)
    by_item: dict[str, EditedItem] = {}
    try:
        for where, row in read_rows(path, EditedItem, issues, exact=False):
            other = by_item.setdefault(row.item_id, row)
            if (other.entries, other.skipped) != (row.entries, row.skipped):
                both = f"{other.annotator} and {row.annotator}"
                issues.add("entries", "Expected those of one annotator, but got others by", f"{both} ({where})")
            clip = clips.get(row.item_id.rpartition("_")[0])
            if clip is None:
                issues.add(
                    "item_id", "Expected a clip's name and a number, but got", f"{describe(row.item_id)} ({where})"
                )
                continue
            for name in row.skipped:
                instance = _find_instance(name, clip)
                if instance is None:
                    issues.add("skipped", "Expected an instance of the clip, but got", f"{describe(name)} ({where})")
                else:
                    skipped[clip.id].setdefault(instance.id, f"{describe(name)} ({where})")
            for entry in row.entries:
                span = read_span(entry.start, entry.end, clip.last)
                instance = _find_instance(entry.name, clip)
                if instance is None:
                    issues.add("name", "Expected an instance of the clip, but got", f"{describe(entry.name)} ({where})")
                elif span is None:
                    times = f"{describe(entry.start)} to {describe(entry.end)} ({where})"
                    issues.add("entries", "Expected times MM:SS within the clip, but got", times)
                elif not entry.text.strip():
                    issues.add("text", "Expected what happens, but got", f"nothing ({where})")
                else:
                    edited[clip.id][instance.id].add((*span, entry.text.strip()))
    except OSError as error:
        issues.add("file", "Expected one that can be read, but got", first_line(error))
    for clip_id, names in skipped.items():
        for instance_id, case in names.items():
            if instance_id in edited[clip_id]:
                issues.add("skipped", "Expected entries of those who are not skipped alone, but got some of", case)
            edited[clip_id].setdefault(instance_id, set())
    problems.extend(issues.as_problems(f"{path.name}, "))
    return {
        clip: {
            name: tuple(TimedEntry(start=start, end=end, text=text) for start, end, text in sorted(entries))
            for name, entries in of_clip.items()
        }
        for clip, of_clip in edited.items()
    }


def _find_instance(name: str, clip: ClipRow) -> TrackedInstance | None:
    """The instance that a release of the clip calls so: by its name, by a noun and its id, or by its id."""
    named = [one for one in clip.instances if one.name and as_label(one.name) == as_label(name)]
    if len(named) == 1:
        return named[0]
    by_id = [one for one in clip.instances if name == one.id or name.endswith(f"_{one.id}")]
    return max(by_id, key=lambda one: len(one.id)) if by_id else None
