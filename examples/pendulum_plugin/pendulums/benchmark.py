"""The benchmark: its card, how it is prepared, scored and asked of people, and its submission form."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from pydantic import Field

from lmms_eval_tasks import api
from pendulums.write import write_release

CLIPS = {"clip": "First", "clip_2": "Second", "clip_3": "Third"}
COLUMNS = {"subset": "string", "clip_2": "string", "clip_3": "string"}

CARD = api.Card(
    name="pendulums",
    title="Pendulums",
    paper="",
    licence="CC0",
    homepage="",
    main_metric="close_enough",
    splits={"test": api.SplitFacts(items=12, groups=6, clips=18)},
    strata_columns=(),
    chance={"single_accuracy": 100 / 3},
    human=(
        api.Human("single_accuracy", "test", 97.0, "invented", "five people saw each trio once"),
        api.Human("close_enough", "test", 64.0, "invented", "five people counted without a clock"),
    ),
    clip_columns=tuple(CLIPS),
    prepare_command="lmms-eval-tasks prepare pendulums --source DIR",
)


class Trio(api.RowForm):
    """A line of `trios.jsonl`: three clips, and how many seconds the pendulum of each takes there and back."""

    trio: str
    clips: list[str] = Field(min_length=3, max_length=3)
    periods: list[float] = Field(min_length=3, max_length=3)


def rows_of(trio: Trio) -> list[api.Row]:
    """Both questions about three clips."""
    slowest = max(trio.periods)
    options = [f"The {name.lower()}." for name in CLIPS.values()]
    clips = {column: f"test/{clip}" for column, clip in zip(CLIPS, trio.clips, strict=True)}
    return [
        {"item_id": f"{trio.trio}_{subset}", "group_id": trio.trio, "subset": subset, "question": question,
         "options": offered, "answer": answer, **clips}
        for subset, question, offered, answer in (
            ("slowest", "Which pendulum is slowest?", options, "ABC"[trio.periods.index(slowest)]),
            ("period", "How many seconds does the slowest pendulum take there and back?", [], f"{slowest:g}"),
        )
    ]  # fmt: skip


def prepare(
    preparation: api.Preparation,
    source: Annotated[Path, typer.Option(help="Folder of the release.", show_default=False)],
) -> dict[str, api.SplitManifest]:
    """Prepare the release."""
    file, issues = source / "trios.jsonl", api.Problems()
    rows = [row for _, trio in api.read_rows(file, Trio, issues) for row in rows_of(trio)]
    issues.raise_if_any(f"{file} cannot be prepared", "nothing was written")
    clips = {row[column]: source / "videos" / row[column].removeprefix("test/") for row in rows for column in CLIPS}
    with api.building(CARD.name, preparation) as build:
        build.add_split("test", rows, COLUMNS, clips, api.Origin(str(source), {file.name: file}))
    return {"test": build.splits["test"]}


CLOSE_ENOUGH = replace(api.SINGLE_ACCURACY, name="close_enough", title="close enough")
"""Percent of items whose number is near enough."""
SECONDS_OFF = api.Metric(
    name="seconds_off",
    title="seconds off",
    value=lambda record: None if record.fields["off"] is None else min(record.fields["off"], 10.0),
    value_bounds=(0.0, 10.0),
    bounds=(0.0, 10.0),
    unit="s",
    higher_is_better=False,
)
"""How far off a number is, in seconds, 10 at most; items without a number are left out."""


class Times(api.RowForm):
    """The submission: one object with the seconds of all items."""

    seconds: dict[str, float]


def examine(
    entries: Sequence[api.GradedItem], rows: Mapping[str, api.Row], allow_incomplete: bool, issues: api.Problems
) -> None:
    """Note items without a number."""
    for entry in () if allow_incomplete else entries:
        if entry.record.answered is None:
            issues.add("seconds", "Expected a number for every item, but there is none for", entry.record.item_id)


def build(entries: Sequence[api.GradedItem], table: api.Table, part: str) -> api.Built:
    """The file of a run."""
    times = {one.record.item_id: float(one.record.answered) for one in entries if one.record.answered}
    return api.Built(json.dumps({"seconds": times}) + "\n", rows=len(entries), empty=len(entries) - len(times))


def check(path: Path, prepared: Mapping[str, api.Table], allow_incomplete: bool, issues: api.Problems) -> api.Checked:
    """Compare a file with the prepared split, where there is one."""
    table = prepared.get("test")
    times = {item: time for _, line in api.read_rows(path, Times, issues) for item, time in line.seconds.items()}
    items = [row["item_id"] for row in table.rows if row["subset"] == "period"] if table else list(times)
    for item in times.keys() - set(items):
        issues.add("seconds", "Expected items of split test, but got", item)
    missing = [item for item in items if item not in times]
    for item in () if allow_incomplete else missing:
        issues.add("seconds", "Expected a number for every item, but there is none for", item)
    against = f"the form, and every item against {table}" if table else "the form alone"
    return api.Checked("Pendulums, split test", len(items), len(missing), against, against=table)


def ask_people(rows: Sequence[api.Row]) -> list[api.AskedItem]:
    """People are asked which pendulum is slowest, and not for seconds."""
    return [
        api.AskedItem(
            item=row["group_id"],
            item_id=row["item_id"],
            question=row["question"],
            ways={"": tuple(row[column] for column in CLIPS)},
            choices=tuple(map(api.OfferedChoice, "ABC", "ABC", row["options"])),
            key=row["answer"],
            labels=tuple(CLIPS.values()),
        )
        for row in rows
        if row["subset"] == "slowest"
    ]


BENCHMARK = api.Benchmark(
    card=CARD,
    folder=Path(__file__).parent,
    kinds={
        "period": api.TaskKind(
            metrics=(CLOSE_ENOUGH, SECONDS_OFF, *api.COMMON_METRICS),
            extractor="last number 1",
            columns=(api.Column(CLOSE_ENOUGH, interval=True), api.Column(SECONDS_OFF, interval=True), api.Column()),
            visuals=tuple(CLIPS),
            guesses=lambda row: ("1.0", "1.5", "2.0", "2.5"),
            views=("blind", "shuffled"),
        ),
        "slowest": api.TaskKind(
            metrics=(api.SINGLE_ACCURACY, *api.COMMON_METRICS),
            visuals=tuple(CLIPS),
            views=("blind", "shuffled"),
            no_submission="the leaderboard takes seconds alone.",
        ),
    },
    prepare=prepare,
    schema=lambda: COLUMNS,
    submission=api.SubmissionForm(
        ("seconds",), lambda split, part: "submissions/pendulums.json", examine, build, check
    ),
    inquiries={"answer": api.Inquiry("choice", ask_people, responses=5)},
    sample=api.SampleWriter("clips of pendulums, and `trios.jsonl`", {"trios": 6}, write_release),
)
