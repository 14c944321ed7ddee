"""`--format` of every command that shows scores, and what a pipe gets."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import Done, call
from logged_runs import strong, weak, write_run
from prepared_texts import add_mvp_sample

from lmms_eval_tasks.utils.core.output import Format
from lmms_eval_tasks.utils.data.card import SetKind

HUMANS = Path(__file__).parents[1] / "utils" / "people" / "human_example"
SUBSET = "mvp_mini_robot_object_interactions"


@pytest.fixture(autouse=True)
def narrow(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")


def run(*arguments: Any) -> Done:
    done = call(*arguments)
    assert done.status == 0, done
    return done


def two_runs(folder: Path) -> list[Path]:
    return [
        write_run(folder / "weak_run", weak(), stratum={"type": "physical"}),
        write_run(folder / "strong", strong(), stratum={"type": "physical"}, kind=SetKind.SAMPLE),
    ]


def blind_runs(folder: Path) -> list[Path]:
    return [write_run(folder / name, weak(), (f"{SUBSET}_blind",), view="blind", kind=SetKind.SAMPLE) for name in "ab"]


def candidates(folder: Path) -> list[Any]:
    rows = "1,a.mp4,Which way?,left,motion\n2,b.mp4,Which way?,right,motion\n"
    (folder / "c.csv").write_text(f"item_id,clip,question,answer,skill\n{rows}", encoding="utf-8")
    np.save(folder / "v.npy", np.eye(2))
    (folder / "ids.txt").write_text("a.mp4\nb.mp4\n", encoding="utf-8")
    files = [folder / "c.csv", "--embeddings", folder / "v.npy", "--ids", folder / "ids.txt"]
    return [*files, "--out", folder / "pairs.csv"]


def prepared(folder: Path) -> list[str]:
    add_mvp_sample(3)
    return ["mvp"]


COMMANDS: dict[str, Callable[[Path], list[Any]]] = {
    "report": lambda folder: ["report", *two_runs(folder)],
    "report by": lambda folder: ["report", *two_runs(folder), "--by", "type"],
    "compare": lambda folder: ["compare", *two_runs(folder)],
    "bias": lambda folder: ["bias", *prepared(folder)],
    "humans": lambda folder: ["humans", HUMANS / "responses.csv", "--items", HUMANS / "items.csv"],
    "filter": lambda folder: ["filter", "blind", *blind_runs(folder), "--out", folder / "pairs.jsonl"],
    "mine": lambda folder: ["mine", "pairs", *candidates(folder)],
}
WARNED = {
    "report": "NOT THE OFFICIAL RELEASE",
    "report by": "NOT THE OFFICIAL RELEASE",
    "compare": "the other of sample data",
    "bias": "SAMPLE DATA",
    "filter": "NOT THE WHOLE RELEASE",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_format_has_the_same_numbers_their_warnings_and_what_they_stand_on(name: str, tmp_path: Path) -> None:
    arguments = COMMANDS[name](tmp_path)
    written = {form: run(*arguments, "--format", form.value) for form in Format}
    tables = json.loads(written[Format.JSON].out)["tables"]
    assert tables and all(table["signature"] and table["title"] for table in tables)
    numbers = [
        cell["value"] if isinstance(cell, dict) else cell
        for table in tables
        for row in table["rows"]
        for cell in row[table["names"] :]
        if not isinstance(cell, str)
    ]
    assert numbers and (name == "mine" or any("low" in str(table["rows"]) for table in tables))
    lines = list(csv.DictReader(io.StringIO(written[Format.CSV].out)))
    found = [float(line["value"]) if line["value"] else None for line in lines if not line["text"]]
    assert found == [None if number is None else pytest.approx(number) for number in numbers]
    latex, markdown = written[Format.LATEX].out, written[Format.MARKDOWN].out
    assert latex.count(r"\toprule") == latex.count(r"\bottomrule") == latex.count(r"\caption{") == len(tables)
    assert name == "mine" or "95\\% intervals" in latex
    if warned := WARNED.get(name):
        assert warned in str(json.loads(written[Format.JSON].out)) and all(warned in line["warnings"] for line in lines)
        assert all(text.count(warned) >= len(tables) for text in (latex, markdown))
    # A program that reads finds nothing else there, and people read the notes beside it.
    assert all(done.err and done.err == written[Format.CSV].err for done in written.values())
    # A pipe gets a row a line, whatever the terminal has.
    shown = [line.rstrip() for line in run(*arguments).out.splitlines()]
    start = 0
    for table in tables:
        start = shown.index(table["title"], start)
        first = next(number for number in range(start, len(shown)) if "─" in shown[number]) + 1
        assert [line.strip() for line in shown[first:]].index("") == len(table["rows"])
