"""Records of a kind of task, graded of its benchmark's examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from lmms_eval_tasks.host.evaluation import Evaluation
from lmms_eval_tasks.host.hooks import bind_hooks
from lmms_eval_tasks.installed.registry import registry
from lmms_eval_tasks.thorough.runs import Example, Row, asks, find_configurations, grade_row, run_task
from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark
from lmms_eval_tasks.utils.benchmark.card import Card
from lmms_eval_tasks.utils.benchmark.tasks import Task
from lmms_eval_tasks.utils.judge.client import Case, Verdict
from lmms_eval_tasks.utils.scoring.records import NOT_ASKED, Record


class SteadyJudge:
    """Gives every answer the same number in every dimension."""

    def __init__(self, schema: type[BaseModel], number: float) -> None:
        values = {name: "" if field.annotation is str else number for name, field in schema.model_fields.items()}
        self.reply = schema.model_validate(values)

    def judge(self, case: Case) -> Verdict[Any]:
        """The number."""
        return Verdict(self.reply, None, "steady", "prompt")


class SteadyEvaluation(Evaluation):
    """An evaluation whose judges give every answer the same number; without one they give no verdicts."""

    def __init__(self, number: float | None) -> None:
        super().__init__(clips_needed=False)
        self.number = number

    def judge(self, schema: Any, optional: bool = False) -> Any:
        """A judge for replies of a schema."""
        return None if self.number is None else SteadyJudge(schema, self.number)


def grade_examples(
    benchmark: Benchmark, kind: str, rows: Mapping[str, Row], examples: Sequence[Example], every_row: bool = False
) -> tuple[Record, ...]:
    """Records of a kind: every example row with every response and with none, by several judges, in all strata."""
    found = benchmark.kinds[kind]
    items = [item for example in examples for item in example.items]
    items += [(row, NOT_ASKED) for row in rows.values()]
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
    configuration = find_configurations(task.benchmark.name)[task.name]
    settings = (configuration.get("lmms_eval_specific_kwargs") or {}).get("default")
    with run_task(configuration, SteadyEvaluation(number), scored=False) as state:
        bound = bind_hooks(configuration, state)
        bound["doc_to_text"](items[0][0], settings)
        return [Record.from_json(grade_row(state, bound, row, response)["record"]) for row, response in items]


def _in_all_strata(card: Card, records: Sequence[Record]) -> Iterator[Record]:
    strata = sorted({stratum for split in card.splits.values() for stratum in split.strata})
    for place, record in enumerate(records if strata else ()):
        named = dict(zip(card.strata_columns, strata[place % len(strata)], strict=True))
        known_columns = {column: value for column, value in named.items() if column in record.stratum}
        yield replace(record, stratum={**record.stratum, **known_columns})
