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
from beside_people import EXAMPLE
from commands import call
from logged_runs import strong, weak, write_run
from prepared_texts import add_mvp_sample

from lmms_eval_tasks.utils.core.output import Format
from lmms_eval_tasks.utils.data.card import SetKind

SUBSET = "mvp_mini_robot_object_interactions"


def two_runs() -> list[Path]:
    stratum = {"type": "physical"}
    one = write_run(Path("weak_run"), weak(), stratum=stratum)
    return [one, write_run(Path("strong"), strong(), stratum=stratum, kind=SetKind.SAMPLE)]


def blind_runs() -> list[Path]:
    of = {"view": "blind", "kind": SetKind.SAMPLE}
    return [write_run(Path(name), weak(), (f"{SUBSET}_blind",), **of) for name in "ab"]  # type: ignore[arg-type]


def candidates() -> list[str]:
    rows = "1,a.mp4,Which way?,left,motion\n2,b.mp4,Which way?,right,motion\n"
    Path("c.csv").write_text(f"item_id,clip,question,answer,skill\n{rows}", encoding="utf-8")
    np.save("v.npy", np.eye(2))
    Path("ids.txt").write_text("a.mp4\nb.mp4\n", encoding="utf-8")
    return ["c.csv", "--embeddings", "v.npy", "--ids", "ids.txt", "--out", "pairs.csv"]


def prepared() -> list[str]:
    add_mvp_sample(3)
    return ["mvp"]


COMMANDS: dict[str, tuple[Callable[[], list[Any]], str]] = {
    "report": (lambda: ["report", *two_runs()], "NOT THE OFFICIAL RELEASE"),
    "report by": (lambda: ["report", *two_runs(), "--by", "type"], "NOT THE OFFICIAL RELEASE"),
    "compare": (lambda: ["compare", *two_runs()], "the other of sample data"),
    "bias": (lambda: ["bias", *prepared()], "SAMPLE DATA"),
    "humans": (lambda: ["humans", EXAMPLE / "responses.csv", "--items", EXAMPLE / "items.csv"], ""),
    "filter": (lambda: ["filter", "blind", *blind_runs(), "--out", "pairs.jsonl"], "NOT THE WHOLE RELEASE"),
    "mine": (lambda: ["mine", "pairs", *candidates()], ""),
}
"""How a command is called, and what it warns of."""


@pytest.mark.parametrize("name", COMMANDS)
def test_every_format_has_the_same_numbers_their_warnings_and_what_they_stand_on(
    name: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "40")
    words, warned = COMMANDS[name][0](), COMMANDS[name][1]
    written = {form: call(*words, "--format", form.value) for form in Format}
    shown = call(*words)
    assert {done.status for done in (*written.values(), shown)} == {0}, written
    # A program that reads finds nothing else there, and people read the notes beside it.
    assert all(done.err and done.err == written[Format.CSV].err for done in written.values())
    tables = json.loads(written[Format.JSON].out)["tables"]
    assert tables and all(table["signature"] and table["title"] for table in tables)
    cells = [cell for table in tables for row in table["rows"] for cell in row[table["names"] :]]
    numbers = [cell["value"] if isinstance(cell, dict) else cell for cell in cells if not isinstance(cell, str)]
    assert numbers and (name == "mine" or any("low" in str(table["rows"]) for table in tables))
    lines = list(csv.DictReader(io.StringIO(written[Format.CSV].out)))
    found = [float(line["value"]) if line["value"] else None for line in lines if not line["text"]]
    assert found == [None if number is None else pytest.approx(number) for number in numbers]
    latex, markdown = written[Format.LATEX].out, written[Format.MARKDOWN].out
    assert latex.count(r"\toprule") == latex.count(r"\bottomrule") == latex.count(r"\caption{") == len(tables)
    assert name == "mine" or "95\\% intervals" in latex
    if warned:
        assert warned in written[Format.JSON].out and all(warned in line["warnings"] for line in lines)
        assert all(text.count(warned) >= len(tables) for text in (latex, markdown))
    # A pipe gets a row a line, whatever the terminal has.
    rows, start = [line.strip() for line in shown.out.splitlines()], 0
    for table in tables:
        start = rows.index(table["title"], start)
        first = next(number for number in range(start, len(rows)) if "─" in rows[number]) + 1
        assert rows[first:].index("") == len(table["rows"])
