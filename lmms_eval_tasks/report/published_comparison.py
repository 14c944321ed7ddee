"""A run beside a published figure: the difference, and why it may be there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from lmms_eval_tasks.report.score_tables import entries_of
from lmms_eval_tasks.runs.folder import Run
from lmms_eval_tasks.runs.run_card import TASK, applying_hazards, read_object
from lmms_eval_tasks.runs.scores import references_of
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.table import FittingTable, Number, points
from lmms_eval_tasks.utils.core.text import describe, summarize_names
from lmms_eval_tasks.utils.reporting.references import compare_to_reference
from lmms_eval_tasks.utils.scoring.record import CUT_OFF


def _frames(run: Run, task: str) -> str:
    asked = {name: value for name, value in run.card.get("frames", {}).items() if value not in (None, "not set")}
    return ", ".join(f"{name} {value}" for name, value in asked.items())


def _prompt(run: Run, task: str) -> str:
    official = run.card.get(f"{TASK}{task}", {}).get("official prompt")
    return {"yes": "the official one", "no": "ours"}.get(str(official), "")


def _sampling(run: Run, task: str) -> str:
    generation = read_object(run.card.get(f"{TASK}{task}", {}).get("generation")) or {}
    known = [f"{name} {generation[name]}" for name in ("temperature", "max_new_tokens") if name in generation]
    cut = sum(record.detail == CUT_OFF for record in run.records[task])
    return ", ".join([*known, *([f"{cut:,} answers cut off"] if cut else [])])


class Reason(NamedTuple):
    title: str
    text: str
    of_run: Callable[[Run, str], str] = lambda run, task: ""


REASONS = (
    Reason(
        "Another set.",
        "The first lines of `report` say if the data is a part, a sample or a set of one's own.",
        lambda run, task: ", ".join(filter(None, (run.set_of(task).text, run.limited))),
    ),
    Reason(
        "Frames.",
        "Their number, rate and size move scores by points. The [run card](runs.md#the-run-card) has them under "
        "`frames`; `check --model … --task …` shows them before a run.",
        _frames,
    ),
    Reason(
        "How the clip reaches the model.",
        "Separate images are no video, decord and PyAV give other frames of some clips, and transformers 5.3 and later "
        "place text elsewhere after a long clip. `report` names the [known hazards](runs.md#known-hazards) that apply.",
        lambda run, task: ", ".join(applying_hazards([run.card])),
    ),
    Reason(
        "The prompt.",
        "Where a card says `ours`, [import the official one](checkpoint.md#a-prompt).",
        _prompt,
    ),
    Reason(
        "Sampling and thinking.",
        "Temperature, a budget of tokens that cuts answers off, a thinking mode that was on or off.",
        _sampling,
    ),
    Reason(
        "How answers are read.",
        "Every record has our reading and the official one; `official` scores are in `_scores.json` ([official and "
        "ours](official.md)).",
        lambda run, task: str(run.card.get(f"{TASK}{task}", {}).get("extractor") or ""),
    ),
    Reason(
        "Chance.",
        "A pair accuracy over 9,208 pairs is known to one point; an accuracy over 80 questions to eleven.",
        lambda run, task: f"{len({record.group_id for record in run.records[task]}):,} groups",
    ),
)
"""In the order in which it usually is the reason; docs/reproduce.md has the same."""  # fmt: skip


def reasons_of(run: Run, task: str) -> Iterator[str]:
    yield f"Why does {run.title} differ? In the order in which it usually is the reason:"
    for number, reason in enumerate(REASONS, start=1):
        text = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", reason.text).replace("`", "")
        found = reason.of_run(run, task)
        yield f"  {number}. {reason.title} {text}{f' Here: {found}.' if found else ''}"
    yield "More: docs/reproduce.md."


def published_tables(runs: Sequence[Run], model: str, only: str = "") -> list[FittingTable]:
    """A table per task or group of a whole official release: its scores beside those of published models."""
    tables = []
    names: dict[str, None] = {}
    for name, entries in entries_of(runs, only).items():
        headings = ("score", "run", "value", "published", "difference", "")
        table = FittingTable(f"{name}: beside {model}", headings, names=2, blank_repeats=True)
        sources: dict[str, None] = {}
        for run, tasks in entries:
            if run.apart(tasks):
                continue
            parts = [run.records[task] for task in tasks]
            for reference in references_of(name, tasks[0], sum(map(len, parts))):
                names |= dict.fromkeys(one.model for one in reference.published)
                score, unit = reference.estimate(parts), reference.metric.unit
                for one in reference.published if score else ():
                    if _plain(model) in _plain(one.model) and score:
                        less = Number(score.value - one.value, unit=points(unit), signed=True)
                        value = Number(score.value, score.low, score.high, score.groups, unit)
                        side = compare_to_reference(score, one.value).value
                        published = Number(one.value, unit=unit, of=one.model)
                        table.add_row(reference.metric.title, run.title, value, published, less, side)
                        sources[f"{one.model}, {reference.metric.title}: {one.source}"] = None
        if table.rows:
            table.caption = "\n".join(sources)
            tables.append(table)
    if names and not tables:
        raise InputError(
            f"Expected --published to name any of {summarize_names(names, 20)}, but got {describe(model)}."
        )
    return tables


def _plain(name: str) -> str:
    return re.sub(r"\W+", "", name).lower()
