"""Example rows with recorded responses, chosen as docs/versions.md says, and tasks run over them without lmms-eval and
without a model.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from loguru import logger

from lmms_eval_tasks.host.tasks.running import Evaluation, TaskState
from lmms_eval_tasks.prompting import kwargs_for_checks, read_task_settings
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.answers.hooks import Grade, aggregate
from lmms_eval_tasks.utils.answers.reply import Reply
from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark, Task
from lmms_eval_tasks.utils.benchmark.tasks import RECORD, SUBMISSION_ROWS, task_configs
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.card import Card, DataSet, SetKind
from lmms_eval_tasks.utils.judge.client import Judge, Verdict, read_settings
from lmms_eval_tasks.utils.judge.replies import Case, JudgeReply, Limits, ReplyCache, Sampling
from lmms_eval_tasks.utils.scoring.record import Record, UnscoredReason

Configuration = Mapping[str, Any]
Row = Mapping[str, Any]

RUN_CHOICES = ("LMMS_EVAL_TASKS_PROMPT", "LMMS_EVAL_TASKS_BOXES", "LMMS_EVAL_TASKS_JUDGE")
"""Environment variables by which a user changes what a task asks or scores. Examples set their own."""


@dataclass(frozen=True)
class Example:
    key: str
    label: str
    items: tuple[tuple[Row, Any], ...]
    reply: Mapping[str, str]
    environment: Mapping[str, str]


def asks(task: Task | None, rows: Iterable[Row]) -> Callable[[Row], bool]:
    """Whether a task asks a row: of its split and subset, or of its kind's where no example row is of its own."""
    if task is None:
        return lambda row: True
    rows = list(rows)
    alike = [other for other in registry().tasks_of(task.benchmark.name).values() if other.kind is task.kind]
    for tasks, any_split in (([task], False), (alike, False), (alike, True)):

        def asked(row: Row, tasks: Sequence[Task] = tasks, any_split: bool = any_split) -> bool:
            return any(
                (any_split or row.get("split") in (None, one.split))
                and one.pointer.get("subset") in (None, row.get("subset"))
                for one in tasks
            )

        if any(map(asked, rows)):
            break
    return asked


def with_every_score(configuration: Configuration) -> Configuration:
    """A task's configuration that lists all scores of its kind, those beyond the YAML aggregated as the others."""
    listed = {entry["metric"] for entry in configuration["metric_list"]}
    names = (metric.name for metric in registry().tasks[configuration["task"]].kind.metrics)
    others = [{"metric": name, "aggregation": aggregate} for name in names if name not in listed]
    return {**configuration, "metric_list": [*configuration["metric_list"], *others]}


class _NoCache(ReplyCache):
    def find(self, key: str) -> None:
        """Nothing is kept."""

    def store(self, key: str, reply: JudgeReply) -> None:
        """Keep nothing."""


@dataclass(frozen=True, eq=False)
class RecordedEvaluation(Evaluation):
    """An evaluation whose judge gives the same reply to each prompt and keeps what it was asked."""

    reply: Mapping[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def judge(self, schema: Any, optional: bool = False) -> Judge[Any] | None:
        """A judge for replies of a schema; None where a run need not have one and the example chooses none."""
        if optional and read_settings(optional=True) is None:
            return None
        return Judge(self._send, Sampling("recorded"), schema, _NoCache(), Limits(requests=1, unreadable=1))

    def _send(self, case: Case) -> JudgeReply:
        self.asked.append(case.text)
        return JudgeReply(self.reply.get(case.prompt.prompt_id, ""), "recorded")


class ExampleState(TaskState):
    """The state of a task over rows, which say of their set only whether it is a sample."""

    def grade_first(self, doc: Row, results: Sequence[Any], grade: Grade) -> dict[str, Any]:
        """The record of a reply, with an entry for each score."""
        self.data_set = DataSet(kind=SetKind.SAMPLE if doc.get("sample") else SetKind.OFFICIAL)
        return super().grade_first(doc, results, grade)


@dataclass(frozen=True)
class ExampleRun:
    """A task that runs over examples: its state, its functions bound to that, and its ``lmms_eval_specific_kwargs``."""

    state: ExampleState
    bound: Configuration
    kwargs: Any

    def ask(self, row: Row) -> str:
        text: str = self.bound["doc_to_text"](row, self.kwargs)
        return text

    def grade(self, row: Row, response: Any) -> dict[str, Any]:
        """The record of a response, with an entry for each score."""
        said = NO_REPLY if response == NO_CLIP else response
        items: dict[str, Any] = self.bound["process_results"](row, [said])
        return items

    def scores(self, items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Each score that lmms-eval prints of graded items; None where none of them counts in it."""
        bound = {entry["metric"]: entry["aggregation"] for entry in self.bound["metric_list"]}
        bound.pop(RECORD)([item[RECORD] for item in items])
        found: dict[str, Any] = {}
        for name, aggregation in bound.items():
            if name != SUBMISSION_ROWS:
                values = [item[name] for item in items if name in item]
                found[name] = aggregation(values) if values else None
        return found


@contextmanager
def run_task(
    configuration: Configuration,
    evaluation: Evaluation,
    environment: Mapping[str, str] | None = None,
    scored: bool = True,
    model: str = "default",
) -> Iterator[ExampleRun]:
    """A task by itself, with this environment and no other choices of the user."""
    task = registry().tasks[configuration["task"]]
    logger.disable("lmms_eval_tasks")
    logging.disable(logging.WARNING)
    try:
        with patch.dict(os.environ):
            for name in RUN_CHOICES:
                os.environ.pop(name, None)
            os.environ.update(environment or {})
            metrics = [metric.name for metric in task.kind.metrics] if scored else []
            state = ExampleState(task.name, task.pointer, metrics, evaluation)
            named = configuration.get("lmms_eval_specific_kwargs") or {}
            kwargs = named.get("default") or {}
            checked = kwargs_for_checks(task.benchmark, kwargs)
            if checked != kwargs:
                state.settle(read_task_settings(task.benchmark, task.kind, checked, os.environ), checked)
            yield ExampleRun(state, state.bind(configuration), named.get(model))
    finally:
        logging.disable(logging.NOTSET)
        logger.enable("lmms_eval_tasks")


def render_prompts(configuration: Configuration, row: Row) -> dict[str, str]:
    """Render a task's prompt for a row, once for every model that has settings of its own."""
    texts = {}
    for model in configuration.get("lmms_eval_specific_kwargs") or ("default",):
        with run_task(configuration, RecordedEvaluation(), model=model) as task:
            texts[model] = task.ask(row)
    return texts


def score_items(
    configuration: Configuration, example: Example, items: Sequence[tuple[Row, Any]]
) -> tuple[dict[str, float | None], list[str]]:
    """Every score of a run over an example's items, to nine digits, None without any; and what its judge was asked."""
    evaluation = RecordedEvaluation(reply=example.reply)
    with run_task(with_every_score(configuration), evaluation, example.environment) as task:
        for row, _ in items:
            task.ask(row)
        scores = task.scores([task.grade(row, response) for row, response in items])
    return {name: None if one is None else round(float(one), 9) for name, one in scores.items()}, evaluation.asked


NO_CLIP = "<not asked: the clip is missing>"
"""Stands in an example for the reply to an item whose clip is missing."""
NO_REPLY = Reply(missing=UnscoredReason.NO_CLIP)
ITEM = "ITEM"
"""Stands in a response for the id of the item that it is about."""
NO_LETTER = "-"
"""The key where a recorded response states no letter: whatever is read in it is not right."""
LABEL = 40


def read_file(path: Path) -> dict[str, Any]:
    """The content of a file of a benchmark's examples, or of examples that several benchmarks share."""
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return content
    except ValueError as error:
        raise InputError(f"{path} cannot be read as examples ({type(error).__name__}: {error}).") from error


def read_examples(path: Path) -> tuple[dict[str, Row], list[Example]]:
    """The examples of a benchmark's file, as `make_examples` makes them."""
    return make_examples(read_file(path), path.parent)


def make_examples(
    content: Mapping[str, Any], folder: Path, tasks: Iterable[Task] = ()
) -> tuple[dict[str, Row], list[Example]]:
    """The example rows of a benchmark by key, and its examples."""
    content = {"reply": {}, "row changes": {}, "shared": {}, "cases": [], **content}
    rows, runs, reply = content["rows"], content["runs"], content["reply"]
    examples = []
    for turn in range(len(runs)):
        items = [(row, runs[(turn + place) % len(runs)]) for place, row in enumerate(rows)]
        examples.append(_make_example(f"run {turn}", items, reply))
    sources = [(content, content["row changes"])]
    for name, suitable in content["shared"].items():
        shared = read_file(folder / f"{name}.json")
        sources.append((shared, {change: shared["row changes"][change] for change in suitable}))
    for (source, changes), first in product(sources, _first_rows(rows, tasks)):
        for case in source["cases"]:
            if (change := case.get("row")) is None or change in changes:
                examples.append(_make_case({**first, **changes.get(change, {})}, case, reply))
        for (batch, change), answers in _batches(source.get("answers", [])).items():
            if change in changes:
                items = _rows_of_answers({**first, **changes[change]}, answers)
                examples.append(_make_example(f"{batch}, {change}", items, reply))
    return {make_key(row): row for row in rows}, examples


def _first_rows(rows: Sequence[Row], tasks: Iterable[Task]) -> list[Row]:
    firsts = list(rows[:1])
    for task in tasks:
        firsts += list(filter(asks(task, rows), rows))[:1]
    return [row for place, row in enumerate(firsts) if row not in firsts[:place]]


def _make_case(row: Row, case: Mapping[str, Any], reply: Mapping[str, str]) -> Example:
    """A run over one row."""
    response, own_reply = _join(case["response"]), _join(case.get("reply", {}))
    if not isinstance(own_reply, dict):
        own_reply = {next(iter(reply), ""): own_reply}
    reply = {**reply, **own_reply}
    label = f"{response[:LABEL]}…" if isinstance(response, str) and len(response) > LABEL else response
    row = {**row, "answer": case.get("answer", row["answer"])}
    return _make_example(repr(label), [(row, response)], reply, case.get("environment", {}))


def _join(text: Any) -> Any:
    """A text given in pieces, anything else as it is."""
    if not isinstance(text, list):
        return text
    return "".join(part if isinstance(part, str) else part[0] * part[1] for part in text)


def _batches(answers: Sequence[Any]) -> dict[tuple[str, str], list[tuple[str, str | None]]]:
    """Recorded responses with the letter read in each, by the name of their batch and that of the changes of a row."""
    batches: defaultdict[tuple[str, str], list[tuple[str, str | None]]] = defaultdict(list)
    for name, response, letters in answers:
        for change, letter in letters.items():
            batches[name, change].append((response, letter))
    return batches


def _rows_of_answers(row: Row, answers: Sequence[tuple[str, str | None]]) -> list[tuple[Row, str]]:
    """A row for each recorded response, its key the letter that was read, so that all are right or unparsed."""
    return [
        ({**row, "item_id": f"{n // 2}_{n % 2}", "group_id": f"{n // 2}", "answer": letter or NO_LETTER}, response)
        for n, (response, letter) in enumerate(answers)
    ]


def _make_example(
    label: str, items: Sequence[tuple[Row, Any]], reply: Mapping[str, str], environment: Mapping[str, str] | None = None
) -> Example:
    filled = tuple(
        (row, response.replace(ITEM, row["item_id"]) if isinstance(response, str) else response)
        for row, response in items
    )
    key = make_key([filled, dict(reply) or "", environment or {}])
    return Example(key, label, filled, reply, environment or {})


def make_key(value: object) -> str:
    """Ten hexadecimal digits of the SHA-256 of a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:10]


@dataclass(frozen=True, eq=False)
class SteadyEvaluation(Evaluation):
    """An evaluation whose judges give every answer the same number; without one they give no verdicts."""

    clips_needed: bool = False
    number: float | None = None

    def judge(self, schema: Any, optional: bool = False) -> Any:
        """A judge for replies of a schema."""
        if self.number is None:
            return None
        fields = schema.model_fields.items()
        reply = schema.model_validate({name: "" if of.annotation is str else self.number for name, of in fields})
        return SimpleNamespace(judge=lambda case: Verdict(reply, None, "steady", "prompt"))


def grade_examples(
    benchmark: Benchmark, kind: str, rows: Mapping[str, Row], examples: Sequence[Example], every_row: bool = False
) -> tuple[Record, ...]:
    """Records of a kind: every example row with every response and with none, by several judges, in all strata."""
    found = benchmark.kinds[kind]
    items = [item for example in examples for item in example.items]
    items += [(row, NO_REPLY) for row in rows.values()]
    numbers = (0.0, 10.0, 7.0, None) if found.judge else (None,)
    records = [
        record
        for number in numbers
        for task, own in deal_items(benchmark, kind, rows.values(), items, every_row)
        for record in grade_items(task, own, number)
    ]
    return (*records, *_in_all_strata(benchmark.card, records))


def deal_items(
    benchmark: Benchmark, kind: str, rows: Iterable[Row], items: Iterable[tuple[Row, Any]], every_row: bool = False
) -> Iterator[tuple[Task, list[tuple[Row, Any]]]]:
    """The tasks of a kind, each with those items that it asks and none before it; rows are all that are examples."""
    rows, left = list(rows), list(items)
    for task in registry().tasks_of(benchmark.name).values():
        if task.kind is benchmark.kinds[kind]:
            asked = asks(None if every_row else task, rows)
            if own := [item for item in left if asked(item[0])]:
                yield task, own
            left = [item for item in left if not asked(item[0])]


def grade_items(task: Task, items: Sequence[tuple[Row, Any]], number: float | None = None) -> list[Record]:
    """The records of responses to rows."""
    configuration = task_configs(task.benchmark.folder)[task.name]
    with run_task(configuration, SteadyEvaluation(number=number), scored=False) as running:
        running.ask(items[0][0])
        return [Record.from_json(running.grade(row, response)["record"]) for row, response in items]


def _in_all_strata(card: Card, records: Sequence[Record]) -> Iterator[Record]:
    strata = sorted({stratum for split in card.splits.values() for stratum in split.strata})
    for place, record in enumerate(records if strata else ()):
        named = dict(zip(card.strata_columns, strata[place % len(strata)], strict=True))
        known_columns = {column: value for column, value in named.items() if column in record.stratum}
        yield replace(record, stratum={**record.stratum, **known_columns})
