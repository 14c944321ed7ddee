"""Saved responses of a model, from sample logs, from plain lines or from official prediction files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain, repeat
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from lmms_eval_tasks.runs.folder import read_latest
from lmms_eval_tasks.runs.run_files import (
    MISCOUNTED,
    SAMPLES,
    CutShort,
    list_runs,
    read_results,
    results_beside,
    run_files,
    split_log,
    task_of,
)
from lmms_eval_tasks.utils.answers.losses import Loss
from lmms_eval_tasks.utils.answers.reply import Reply
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.forms import WholeText, read_json
from lmms_eval_tasks.utils.core.text import summarize_names
from lmms_eval_tasks.utils.scoring.prediction_lines import PredictionLines, QuestionText
from lmms_eval_tasks.utils.scoring.record import LogForm, Record

ItemKey = tuple[str | None, str]
"""Task, None for any, and item id."""


class ClipLoss(LogForm):
    """A line of a file of losses."""

    clip: WholeText
    loss: Annotated[Loss, Field(strict=False)]


@dataclass(frozen=True)
class SavedLine:
    reply: Reply
    where: str
    kind: PredictionLines


@dataclass
class SavedResponses:
    """Replies to each item's samples by task and item id, losses by the name of a clip, and replies to be joined with
    items by what was asked."""

    by_item: dict[ItemKey, tuple[Reply, ...]] = field(default_factory=dict)
    by_clip: dict[str, float] = field(default_factory=dict)
    by_asked: dict[QuestionText, list[SavedLine]] = field(default_factory=dict)
    note: str = ""

    def find(self, task: str, item_id: str, sample: int = 1) -> Reply | None:
        """Return the reply saved for an item of a task, the first where a sample has none; None without any."""
        replies = self.by_item.get((task, item_id)) or self.by_item.get((None, item_id)) or (None,)
        return replies[sample - 1] if sample <= len(replies) else replies[0]

    def name_clips(self, clips: Iterable[str], source: Path) -> str | None:
        """Give losses their clips' whole names; return a message where a name fits several clips, or several fit one.

        A file may leave out the folders before a clip's name, and its suffix.
        """
        fitting: dict[str, list[str]] = {}
        for clip in dict.fromkeys(clips):
            path = PurePosixPath(clip)
            tails = [PurePosixPath(*path.parts[first:]) for first in range(len(path.parts))]
            for name in {str(one) for tail in tails for one in (tail, tail.with_suffix(""))} & self.by_clip.keys():
                fitting.setdefault(name, []).append(clip)
        problems, named, named_by = Problems(), dict[str, float](), dict[str, str]()
        for name, found in sorted(fitting.items()):
            if len(found) > 1:
                what = f"Expected the name of one clip, but it is the end of {summarize_names(found)}."
                problems.add(name, what, remedy="write more of its path.")
            elif found[0] in named_by:
                problems.add(name, f"Expected one loss per clip, but {named_by[found[0]]} names the same.")
            else:
                named[found[0]], named_by[found[0]] = self.by_clip[name], name
        try:
            problems.raise_if_any(f"{source} cannot be replayed")
        except InputError as error:
            return str(error)
        self.by_clip = named
        return None

    def join(self, tables: Mapping[str, Mapping[str, QuestionText]], source: Path) -> str | None:
        """Give each item the line that asks its question; return a message where these are not one for one."""
        items: dict[QuestionText, set[int]] = {}
        for task, table in tables.items():
            counts: Counter[QuestionText] = Counter()
            for item_id, asked in table.items():
                lines = self.by_asked.get(asked, [])
                if counts[asked] < len(lines) and self.find(task, item_id) is None:
                    self.by_item[task, item_id] = (lines[counts[asked]].reply,)
                counts[asked] += 1
            for asked, number in counts.items():
                items.setdefault(asked, set()).add(number)
        questions = {asked.question for asked in items}
        problems = Problems()
        for asked, lines in self.by_asked.items():
            name = repr(asked.question[:60])
            for number in sorted(items.get(asked, set()) - {len(lines)}):
                if number == 1:
                    what = f"Expected one response per item, but {name} is also at {lines[0].where}."
                else:
                    what = f"Expected {number} lines for the {number} items that ask {name}, but got {len(lines)}."
                problems.add(lines[-1].where, what)
            for line in () if asked in items else lines:
                if asked.question not in questions:
                    what = f"Expected the prompt to ask a question of this run's tasks, but got {name}."
                elif asked.options:
                    options = summarize_names(asked.options)
                    what = f"Expected the prompt to ask {name} with the item's options, but got {options:.200}."
                else:
                    what = f"Expected options of {name} as {line.kind.options}, but found none."
                problems.add(line.where, what)
        try:
            problems.raise_if_any(f"{source} cannot be replayed", "no line is joined by its position")
        except InputError as error:
            return str(error)
        return None


def read_responses(  # noqa: C901
    source: Path, kinds: Sequence[PredictionLines] = (), allow_incomplete: bool = False
) -> SavedResponses:
    """Read saved responses: of a file, or of the latest whole run of each task in a folder."""
    saved = SavedResponses()
    logs = _find_logs(source, saved) if source.is_dir() else [[source]] if source.is_file() else []
    if not logs:
        raise InputError(
            f"{source} cannot be replayed: Expected a file of responses or a folder of sample logs "
            f"(*{SAMPLES}*.jsonl), but found none."
        )
    first_seen: dict[ItemKey | str, str] = {}
    problems = Problems()
    if len(logs) == len(logs[0]) == 1 and (whole := _read_losses(logs[0][0])):
        saved.by_clip = whole
        return saved
    official = "".join(f"or with {kind.fields}, " for kind in kinds)
    expected = (
        f"Expected an object with id and response, or with clip and loss, {official}or a line of a sample log of one "
        "of our tasks"
    )
    for of_task in logs:
        try:
            (file, lines), _ = read_latest(of_task, _read_lines, allow_incomplete)
        except CutShort as error:
            remedy = "missing=unparsed replays the part that is there."
            problems.add(of_task[-1].name, f"{error}: the run was cut short.", remedy=remedy)
            continue
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            where = f"{file.name}, line {number}"
            try:
                read = read_json(line, exact=False)
            except ValueError as error:
                problems.add(where, f"{expected}, but got {error}.")
                continue
            value = read if isinstance(read, dict) else {}
            if predicted := next(((kind, asked) for kind in kinds if (asked := kind.read(value))), None):
                kind, (question, response) = predicted
                reply = _encodable(Reply.of_response(response))
                saved.by_asked.setdefault(question, []).append(SavedLine(reply, where, kind))
            elif (measured := _read_loss(value)) is not None:
                clip, loss = measured
                if clip in first_seen:
                    problems.add(where, f"Expected one loss per clip, but {clip} is also at {first_seen[clip]}.")
                first_seen[clip], saved.by_clip[clip] = where, loss
            elif (item := read_item(value, task_of(file))) is None:
                problems.add(where, f"{expected}, but got {line[:60].decode(errors='replace')!r}.")
            elif item[0] in first_seen:
                key, _ = item
                problems.add(where, f"Expected one response per item, but {key[1]} is also at {first_seen[key]}.")
            else:
                key, replies = item
                saved.by_item[key] = tuple(map(_encodable, replies))
                first_seen[key] = where
    problems.raise_if_any(f"{source} cannot be replayed")
    return saved


def _read_loss(value: Mapping[str, Any]) -> tuple[str, float] | None:
    """Return clip and loss of a line that has both; None for any other."""
    try:
        line = ClipLoss.model_validate(value)
    except ValidationError:
        return None
    return line.clip, line.loss


def _read_losses(file: Path) -> dict[str, float]:
    """Return the losses of a file that is one JSON object of a loss for each clip; empty for any other file."""
    try:
        value = read_json(file.read_bytes())
        return TypeAdapter(dict[str, Loss]).validate_python(value)
    except (ValueError, OSError):  # of pydantic, too
        return {}


def _find_logs(folder: Path, saved: SavedResponses) -> list[list[Path]]:
    """Return the sample logs in a folder and below: those of each task, by date."""
    logs: dict[tuple[str | None, Path], list[Path]] = {}
    for log in run_files(folder, f"*{SAMPLES}*.jsonl"):
        logs.setdefault((task_of(log), log.parent), []).append(log)
    runs = sorted({results_beside(log) for of_task in logs.values() for log in of_task})
    if len({task for task, _ in logs}) < len(logs):
        raise InputError(f"{list_runs(folder, runs)}. One can be replayed: name its folder.")
    if any(len(of_task) > 1 for of_task in logs.values()):
        saved.note = f"{list_runs(folder, runs)}; of each task the latest whole one is replayed."
    return list(logs.values())


def _read_lines(log: Path, allow_incomplete: bool) -> tuple[Path, list[bytes]]:
    """Return a file and its lines; `CutShort` where it is a log with fewer than the results file beside it counts."""
    lines, torn = split_log(log)
    expected, there = 0, sum(map(bool, lines))
    with suppress(InputError, OSError):  # no log, or one whose results are lost
        expected = read_results(results_beside(log)).expected_items(task_of(log) or "") or 0
    if there >= expected:
        return log, [*lines, torn]
    if allow_incomplete:
        return log, lines
    raise CutShort(MISCOUNTED.format(expected, there))


def _encodable(reply: Reply) -> Reply:
    """Put question marks for lone surrogates, at which lmms-eval would stop writing its sample log."""
    return replace(reply, text=reply.text.encode("utf-8", "replace").decode("utf-8"))


def read_item(value: Mapping[str, Any], task: str | None) -> tuple[ItemKey, tuple[Reply, ...]] | None:
    """Return key and replies of a plain line, or of a sample log's; None for any other line."""
    record = value.get("record")
    if record is None:
        item_id, said, own_task = value.get("id"), [value.get("response")], value.get("task", task)
        if not isinstance(own_task, str | None):
            return None
    else:
        item_id, own_task = record.get("item_id") if isinstance(record, dict) else None, task
        # The host leaves `resps` out where it equals `filtered_resps`, and nests either by requests and repeats.
        said = value.get("resps", value.get("filtered_resps"))
        while isinstance(said, list) and said and isinstance(said[0], list):
            said = said[0]
    said = said if isinstance(said, list) else [said]
    if not isinstance(item_id, str) or not said or not isinstance(said[0], str):
        return None
    if not all(isinstance(one, str) for one in said):
        said = said[:1]
    return (own_task, item_id), tuple(map(_as_reply, said, chain(_records(record), repeat(None))))


def _records(value: object) -> Sequence[Record]:
    """Return the records of a log's line, one for each sample; none of an earlier version's."""
    try:
        return Record.from_json(value).each if isinstance(value, dict) else ()
    except ValueError:
        return ()


def _as_reply(response: str, record: Record | None) -> Reply:
    return Reply.of_record(record, response) if record else Reply.of_response(response)
