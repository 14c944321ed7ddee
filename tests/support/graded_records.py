"""Records of every kind of task, graded of the version gate's examples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from pydantic import BaseModel
from task_states import task_state
from version_examples import read_examples

from lmms_eval_tasks.host.evaluation import Evaluation
from lmms_eval_tasks.installed.registry import registry
from lmms_eval_tasks.utils.benchmark.card import Card
from lmms_eval_tasks.utils.judge.client import Case, Verdict
from lmms_eval_tasks.utils.scoring.records import NOT_ASKED, Record


class SteadyJudge:
    """Gives every answer the same number in every dimension."""

    def __init__(self, schema: type[BaseModel], number: float) -> None:
        values = {name: "" if field.annotation is str else number for name, field in schema.model_fields.items()}
        self.reply = schema.model_validate(values)

    def judge(self, case: Case) -> Verdict[Any]:
        return Verdict(self.reply, None, "steady", "prompt")


class SteadyEvaluation(Evaluation):
    """An evaluation whose judges give every answer the same number; without one they give no verdicts."""

    def __init__(self, number: float | None) -> None:
        super().__init__(clips_needed=False)
        self.number = number

    def judge(self, schema: Any, optional: bool = False) -> Any:
        return None if self.number is None else SteadyJudge(schema, self.number)


@cache
def records_of(benchmark: str, name: str) -> tuple[Record, ...]:
    """Records of a kind: every example row with every response and with none, by several judges, in all strata."""
    found = registry().benchmarks[benchmark]
    kind, (rows, examples) = found.kinds[name], read_examples(benchmark)
    task = next(task for task in registry().tasks_of(benchmark).values() if task.kind is kind)
    asked = [item for example in examples for item in example.items]
    records = []
    for number in (0.0, 10.0, 7.0, None) if kind.judge else (None,):
        state = task_state(task.name, SteadyEvaluation(number))
        for row, response in (*asked, *((row, NOT_ASKED) for row in rows.values())):
            records.append(Record.from_json(state.process_results(row, [response])["record"]))
    return (*records, *in_all_strata(found.card, records))


def in_all_strata(card: Card, records: Sequence[Record]) -> Iterator[Record]:
    """The records again, in each stratum of a card in turn."""
    strata = sorted({stratum for split in card.splits.values() for stratum in split.strata})
    for place, record in enumerate(records if strata else ()):
        named = dict(zip(card.strata_columns, strata[place % len(strata)], strict=True))
        known_columns = {column: value for column, value in named.items() if column in record.stratum}
        yield replace(record, stratum={**record.stratum, **known_columns})
