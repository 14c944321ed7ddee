"""Records of a kind of task, graded of its benchmark's examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from lmms_eval_tasks.host.evaluation import Evaluation
from lmms_eval_tasks.host.hooks import bind_hooks
from lmms_eval_tasks.installed.registry import registry
from lmms_eval_tasks.thorough.runs import Example, Row, find_configurations, grade_row, run_task
from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark
from lmms_eval_tasks.utils.benchmark.card import Card
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
    benchmark: Benchmark, kind: str, rows: Mapping[str, Row], examples: Sequence[Example]
) -> tuple[Record, ...]:
    """Records of a kind: every example row with every response and with none, by several judges, in all strata.

    Args:
        benchmark: The benchmark.
        kind: Name of the kind; a task has it.
        rows: Example rows by key.
        examples: Responses to rows.
    """
    found = benchmark.kinds[kind]
    asked = [item for example in examples for item in example.items]
    asked += [(row, NOT_ASKED) for row in rows.values()]
    numbers = (0.0, 10.0, 7.0, None) if found.judge else (None,)
    records = [record for number in numbers for record in grade_items(benchmark, kind, asked, number)]
    return (*records, *_in_all_strata(benchmark.card, records))


def grade_items(
    benchmark: Benchmark, kind: str, items: Sequence[tuple[Row, Any]], number: float | None = None
) -> list[Record]:
    """The records of responses to rows, as the first task of a kind grades them.

    Args:
        benchmark: The benchmark.
        kind: Name of the kind.
        items: Rows with the response to each.
        number: What a judge gives every answer; None for no judge.
    """
    found = benchmark.kinds[kind]
    task = next(task for task in registry().tasks_of(benchmark.name).values() if task.kind is found)
    configuration = find_configurations(benchmark.name)[task.name]
    settings = (configuration.get("lmms_eval_specific_kwargs") or {}).get("default")
    with run_task(configuration, SteadyEvaluation(number), scored=False) as state:
        bound = bind_hooks(configuration, state)
        bound["doc_to_text"](items[0][0], settings)
        return [Record.from_json(grade_row(state, bound, row, response)["record"]) for row, response in items]


def _in_all_strata(card: Card, records: Sequence[Record]) -> Iterator[Record]:
    """The records again, in each stratum of a card in turn."""
    strata = sorted({stratum for split in card.splits.values() for stratum in split.strata})
    for place, record in enumerate(records if strata else ()):
        named = dict(zip(card.strata_columns, strata[place % len(strata)], strict=True))
        known_columns = {column: value for column, value in named.items() if column in record.stratum}
        yield replace(record, stratum={**record.stratum, **known_columns})
