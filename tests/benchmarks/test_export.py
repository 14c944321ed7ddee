"""Nothing of a question, clip or answer leaves with a run's scores: over all tasks and groups of all benchmarks.

Every text of a run's records and logs is marked, and its file of scores and what is written for elsewhere are searched
for the mark.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from by_day import first_by_day
from graded_records import records_of
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs.run_card import TASK
from lmms_eval_tasks.runs.run_files import DATA_SET, card_path
from lmms_eval_tasks.runs.scores import read_scored, scores_path, scores_text
from lmms_eval_tasks.testing.drawn_runs import every_name, finish
from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.scoring.log_line import LogLine
from lmms_eval_tasks.utils.scoring.record import Outcome

pytestmark = pytest.mark.usefixtures("few_draws")
MARK = "Canary"
LICENSED = "doc", "target", "arguments", "resps", "filtered_resps", "input", "input_media"
"""Of a line of a sample log, what lmms-eval writes of an item and its answers."""
OF_MACHINE = "command", "data source", "release sha256", "arguments", "checkpoint", "system instruction"
"""Fields of a card that name what is on a machine."""
WHOLE = DataSet(kind=SetKind.OFFICIAL, items=60, of=60).model_dump(mode="json")


def chosen(benchmark: str) -> list[tuple[str, str]]:
    """All tasks and groups, and the first view."""
    names = list(every_name(benchmark))
    return [(name, view) for name, view in names if not view] + [pair for pair in names if pair[1]][:1]


NAMES = [(benchmark, *pair) for benchmark in registry().benchmarks for pair in chosen(benchmark)]


def own_words(schema: Any) -> set[str]:
    """The words of a form in which a text can only be one of a few, which are this package's own."""
    if isinstance(schema, list):
        return {word for inner in schema for word in own_words(inner)}
    if not isinstance(schema, Mapping):
        return set()
    words = {word for word in (*schema.get("enum", ()), schema.get("const")) if isinstance(word, str)}
    return words.union(*(own_words(inner) for inner in schema.values()))


def marked(value: Any, number: Iterator[int], words: set[str]) -> Any:
    """A JSON value with each of its texts marked, and no two alike, but for some words."""
    if isinstance(value, str):
        return value if value in words else f"{MARK}{next(number)} {value}"
    if isinstance(value, Mapping):
        return {name: marked(inner, number, words) for name, inner in value.items()}
    return [marked(inner, number, words) for inner in value] if isinstance(value, list) else value


def mark_log(log: Path, form: type[LogLine]) -> None:
    """Mark a sample log: texts of records, their ids and groups; of every other one also strata, which scores name."""
    words = own_words(form.model_json_schema())
    number = count()
    groups: dict[str, str] = {}
    lines = []
    for place, text in enumerate(log.read_text(encoding="utf-8").splitlines()):
        record = json.loads(text)["record"]
        group = groups.setdefault(record["group_id"], f"{MARK}-group-{len(groups)}")
        changed = marked(record, number, words)
        if place % 2:
            changed["stratum"] = record["stratum"]
        changed |= {"view": record["view"], "group_id": group, "item_id": f"{MARK}-item-{place}", DATA_SET: WHOLE}
        licensed = {name: f"{MARK} {name} {place} clips/{MARK}{place}.mp4" for name in LICENSED}
        lines.append(json.dumps({"record": changed, **licensed}))
    log.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def write_card(path: Path, tasks: list[str]) -> None:
    """A card in which what names files, folders and commands is marked."""
    fields = {name: f"{MARK} {name} of /home/{MARK}" for name in OF_MACHINE}
    card: dict[str, Mapping[str, object]] = {
        f"{TASK}{task}": {**fields, "prompt": "ours", "generation": f'{{"until": ["{MARK}"]}}'} for task in tasks
    }
    card |= {"model": fields, "run": fields, "settings": fields, "frames": {"frames": 8, "reader": f"/lib/{MARK}"}}
    path.write_text(json.dumps(card), encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("benchmark", "name", "view"), first_by_day(NAMES, 3), ids=["-".join(filter(None, one[1:])) for one in NAMES]
)
def test_no_text_of_an_item_leaves(benchmark: str, name: str, view: str, tmp_path: Path) -> None:
    kinds = registry().benchmarks[benchmark].kinds
    records = {
        kind: [record for record in records_of(benchmark, kind) if record.outcome is not Outcome.UNSCORED]
        for kind in kinds
    }
    folder = tmp_path / "run"
    run = finish(folder, name, view, records)
    logs = sorted(folder.glob("*_samples_*.jsonl"))
    for log in logs:
        mark_log(log, registry().find_members(name)[0].kind.log_form or LogLine)
    write_card(card_path(run.path), list(run.records))
    assert logs and all(log.read_text(encoding="utf-8").count(MARK) > 400 for log in logs)
    scores = scores_text(read_scored(folder).scores)
    assert MARK not in scores
    scores_path(run.path).write_text(scores, encoding="utf-8")
    out = tmp_path / "out"
    options = ["--evaluator", "Ours", "--relation", "other", "--model", "ours/model"]
    for words in (["hub"], ["every-eval-ever", *options]):
        made = CliRunner().invoke(app, ["export", *words, str(folder), "--out", str(out)])
        assert made.exit_code == 0, made.output
        assert MARK not in made.output
    written = [path for path in out.rglob("*") if path.is_file()]
    assert not [path for path in written if MARK.encode() in path.read_bytes() or MARK in str(path.relative_to(out))]
    ends = {path.suffix for path in written}
    whole = registry().benchmarks[benchmark].card.hub_id and not view
    assert ends == {".md", ".json", *([".yaml"] if whole else [])}
