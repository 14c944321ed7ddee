"""Requests as lmms-eval makes them, a task of ours that they are of, and a model that is asked through stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from lmms_eval.api.instance import Instance

from lmms_eval_tasks.host.asking.samples import Samples
from lmms_eval_tasks.host.asking.stages import PADDING, AskedModel, AskingStage
from lmms_eval_tasks.host.tasks.task_view import ItemKey

GREEDY: dict[str, Any] = {"max_new_tokens": 16, "temperature": 0}


def request(
    doc: int, task: str = "ours", prompt: str = "What?", shows: Any = None, generation: Mapping[str, Any] = GREEDY,
    repeats: int = 1, padding: bool = False,
) -> Instance:  # fmt: skip
    metadata = {"task": task, "doc_id": doc, "repeats": repeats, **({PADDING: True} if padding else {})}
    return Instance("generate_until", (prompt, dict(generation), shows, doc, task, "test"), 0, metadata)


def stand_in_task(**shown: Any) -> Any:
    """A loaded task of ours, as far as stages ask it; `shown` are the methods of what it shows."""

    def answered_items(table: Sequence[Mapping[str, Any]]) -> Any:
        def read(doc: int) -> ItemKey:
            row = table[doc]
            return ItemKey(row["item_id"], (Path(row["clip"]),) if row["clip"] else (), {})

        return read

    return SimpleNamespace(
        name="ours", benchmark=SimpleNamespace(name="some"), pointer={"benchmark": "some", "split": "test"},
        view=SimpleNamespace(name="", is_made=True), asks_alike=True,
        shown=SimpleNamespace(answered_items=answered_items, **shown),
        shown_last=None,
    )  # fmt: skip


def command(out: Path | None, **settings: Any) -> dict[str, Any]:
    """Settings of an evaluation as lmms-eval gives them to stages; without `seed` its command has none."""
    seed = settings.pop("seed", None)
    return {"cli_args": SimpleNamespace(output_path=out and str(out), seed=seed), **settings}


def ask(model: Any, requests: Sequence[Any], *stages: AskingStage) -> list[str]:
    """The texts that a model answers; it is left as it was."""
    before = set(vars(model))
    with AskedModel(model, Samples(), *stages).lasting():
        responses = model.generate_until(list(requests))
    assert set(vars(model)) == before, "the model is left as it was"
    return [one if isinstance(one, str) else one.text for one in responses]
