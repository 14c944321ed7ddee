"""A run beside a published model, and the reasons why it may differ, which the page has too."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from docs import ROOT
from expected import Expected
from logged_runs import write_records
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.report.published_comparison import REASONS
from lmms_eval_tasks.utils.data.card import SetKind
from lmms_eval_tasks.utils.scoring.record import CUT_OFF, Outcome, Record

TASK = "causalvqa_paired"
CARD = {
    f"task {TASK}": {
        "official prompt": "no", "extractor": "a letter", "generation": '{"max_new_tokens": 16, "temperature": 0}',
    },
    "frames": {"frames": 16, "fps": "not set", "most pixels": 602112},
    "known hazards": {"video_as_images": "applies", "decord_other_frames": "does not apply"},
}  # fmt: skip


def record(group: str, version: int, right: bool) -> Record:
    outcome = Outcome.CORRECT if right else Outcome.WRONG
    fields, detail = {"official_correct": right}, "" if right else CUT_OFF
    return Record(f"{group}_{version}", group, {}, "A", "A", outcome, detail=detail, fields=fields)


def compare(*words: str) -> str:
    result = CliRunner().invoke(app, ["compare", *words])
    return f"$ compare {' '.join(words)}\n{result.output}"


@pytest.mark.usefixtures("hundred_columns")
def test_a_published_figure_stands_beside_a_run_with_the_reasons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: Expected
) -> None:
    monkeypatch.chdir(tmp_path)
    records = [record(f"g{pair:02}", version, version == 0 or pair < 12) for pair in range(20) for version in (0, 1)]
    for name, kind in (("mine", SetKind.OFFICIAL), ("drawn", SetKind.SAMPLE)):
        folder = write_records(tmp_path / name / "model", {TASK: records}, kind=kind)
        (folder / "20261121_run_card.json").write_text(json.dumps(CARD), encoding="utf-8")
    texts = [compare("mine", "--published", "qwen2.5-vl"), compare("drawn", "--published", "GPT")]
    expected("\n".join([*texts, compare("mine", "--published", "nobody")]))


def test_the_page_lists_the_same_reasons() -> None:
    page = (ROOT / "docs" / "reproduce.md").read_text("utf-8")
    listed = re.findall(r"^\d\. (.+(?:\n   .+)*)", page.partition("## Why does mine differ?")[2], re.MULTILINE)
    assert [" ".join(one.split()) for one in listed] == [f"**{one.title}** {one.text}" for one in REASONS]
