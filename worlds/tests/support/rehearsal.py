"""A task of Worlds without lmms-eval: what its hooks and graders are given in place of a running task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import yaml

from lmms_eval_tasks.api import GradedItem, Record, Reply, Row, RunningTask, read_prompt
from lmms_eval_tasks.api.hooks import doc_to_text, process_results
from lmms_eval_tasks.api.prompts import prompt_reader
from lmms_eval_worlds.benchmark import BENCHMARK


class _Configuration(yaml.SafeLoader):
    """A task's YAML; the functions that it names stay names."""


_Configuration.add_constructor("!function", lambda loader, node: node.value)


def settings_of(subset: str) -> Mapping[str, Any]:
    """What a task's YAML, or else the template, says to every model."""
    for name in (f"worlds_{subset}.yaml", "_worlds_template_yaml"):
        found = yaml.load((BENCHMARK.folder / name).read_text("utf-8"), _Configuration)
        if "lmms_eval_specific_kwargs" in found:
            settings: Mapping[str, Any] = found["lmms_eval_specific_kwargs"]["default"]
            return settings
    raise AssertionError(subset)


class Rehearsal(RunningTask):
    """The task of a subset, which asks and grades rows of the prepared table."""

    model, verdicts = None, None

    def __init__(self, subset: str) -> None:
        kind, self.kwargs = BENCHMARK.kinds[subset], settings_of(subset)
        self.ask, self.grade, self.warn, self.metrics = kind.ask, kind.grade, kind.warn, kind.metrics
        read = kind.read_settings or prompt_reader(fields=read_prompt(self.kwargs["prompt"]).fields)
        self.settings = read(self.kwargs, {})

    def prompt(self, row: Row) -> str:
        """What a model is asked about a row."""
        text: str = doc_to_text(self, row, self.kwargs)
        return text

    def record(self, row: Row, response: object) -> Record:
        """What a run would keep of a response, as it is read back from a log."""
        return Record.from_json(process_results(self, row, [response])["record"])

    def scores(self, records: Sequence[Record]) -> dict[str, Any]:
        """Every score of the subset, by name."""
        return {metric.name: metric.score_records(records) for metric in self.metrics}

    def judge(self, schema: type) -> None:
        """Nothing of Worlds is judged."""

    def open_table(self) -> Any:
        """Rows are given."""
        raise NotImplementedError

    def show(self, doc: Row) -> list[Any]:
        """No clip is looked at."""
        return []

    def put(self, doc: Row, kwargs: Mapping[str, Any] | None, ask: Callable[[Row, Any], str]) -> str:
        return ask(doc, self.settings)

    def grade_first(
        self, doc: Row, results: Sequence[Any], grade: Callable[[Row, Reply, RunningTask], GradedItem]
    ) -> dict[str, Any]:
        return {"record": grade(doc, Reply.of_response(results[0]), self).record.to_json()}

    def score(self, name: str) -> float | int | None:
        """Scores are asked for by `scores`."""
        raise NotImplementedError

    def finish(self, items: Sequence[Mapping[str, Any]], args: Any, warn: Any = None) -> None:
        """There is no leaderboard."""
