"""Captions that stand in place of clips: from a file, or from a first pass of any model over the same clips."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lmms_eval_tasks.installed.runs import read_run
from lmms_eval_tasks.utils.benchmark.views import CAPTIONS as FIRST_PASS
from lmms_eval_tasks.utils.core.json_rows import RowForm, WholeText, read_rows
from lmms_eval_tasks.utils.core.problems import GroupedIssues, InputError, Problems
from lmms_eval_tasks.utils.core.variables import CAPTIONS
from lmms_eval_tasks.utils.core.wording import describe

CLIP = "clip"
"""The field of a record that has the name of the clip that a model described."""
DESCRIBE = "caption"
"""The prompt of the first pass."""
CAPTIONED = "captioned"
"""The prompt in which a caption stands in place of the clip."""
NO_CAPTION = "(Nobody has described this video. The answer will not be scored.)"
_FORM = '{"clip": "name.mp4", "caption": "…"}'


class ClipCaption(RowForm):
    """A line of a file of captions."""

    clip: WholeText
    caption: WholeText


@dataclass(frozen=True)
class Captions:
    """Captions by the names of clips, as prepared tables have them, or as the names of files."""

    texts: Mapping[str, str]

    def find(self, clip: str) -> str | None:
        """The caption of a clip; None where it has none."""
        return self.texts.get(clip)


def read_captions() -> Captions:
    """The captions that the environment names."""
    source = os.environ.get(CAPTIONS)
    if not source:
        raise InputError(
            f"Expected {CAPTIONS} to name captions, for they stand in place of the clips, but it is not set. It is a "
            f"file of lines {_FORM}, or the output folder of a run of a task's view {FIRST_PASS} with --log_samples."
        )
    path = Path(source).expanduser().absolute()
    try:
        facts = path.stat()
    except OSError as error:
        raise InputError(
            f"Expected {CAPTIONS} to name a file or folder, but got {source} ({error.strerror})."
        ) from None
    return _read(path, facts.st_mtime_ns)


@cache
def _read(path: Path, changed: int) -> Captions:
    issues, texts = GroupedIssues(), dict[str, str]()
    for where, clip, caption in _run_captions(path) if path.is_dir() else _file_captions(path, issues):
        if not caption.strip():
            issues.add("caption", "Expected a text, but there is none in", where)
        elif clip in texts:
            issues.add("clip", "Expected each once, but got again", f"{describe(clip)} ({where})")
        else:
            texts[clip] = caption.strip()
    problems = Problems()
    problems.extend(issues.as_problems(f"{path.name}, "))
    problems.raise_if_any(f"{path} cannot be used as captions")
    return Captions(texts)


def _file_captions(path: Path, issues: GroupedIssues) -> Iterator[tuple[str, str, str]]:
    for where, row in read_rows(path, ClipCaption, issues, exact=False):
        yield where, row.clip, row.caption


def _run_captions(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Captions from the logs of a run; an empty one is as none, and says so when its item is asked."""
    run = read_run(folder, allow_predictions=True)
    tasks = [task for task, records in run.records.items() if records and records[0].view == FIRST_PASS]
    if not tasks:
        raise InputError(
            f"Expected {folder} to hold a run of a view {FIRST_PASS}, but its tasks are {', '.join(run.records)}."
        )
    seen = set()
    for task in tasks:
        for item in run.items_of(task):
            clip, responses = str(item.record.fields.get(CLIP)), item.responses
            if responses and responses[0].strip() and clip not in seen:
                seen.add(clip)
                yield item.where, clip, responses[0]
