"""A run beside a published model, and the reasons why it may differ, which the page has too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from commands import call
from docs import ROOT
from expected import Expected
from logged_runs import write_records

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
    outcome, detail = (Outcome.CORRECT, "") if right else (Outcome.WRONG, CUT_OFF)
    return Record(f"{group}_{version}", group, {}, "A", "A", outcome, None, detail, {"official_correct": right})


@pytest.mark.usefixtures("hundred_columns")
def test_a_published_figure_stands_beside_a_run_with_the_reasons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: Expected
) -> None:
    monkeypatch.chdir(tmp_path)
    records = [record(f"g{pair:02}", version, version == 0 or pair < 12) for pair in range(20) for version in (0, 1)]
    for name, kind in (("mine", SetKind.OFFICIAL), ("drawn", SetKind.SAMPLE)):
        write_records(Path(name, "model"), {TASK: records}, kind=kind, card=CARD)
    texts = []
    for words in ("mine --published qwen2.5-vl", "drawn --published GPT", "mine --published nobody"):
        done = call("compare", *words.split())
        texts.append(f"$ compare {words}\n{done.out}{done.err}")
    expected("\n".join(texts))


def test_the_page_lists_the_same_reasons() -> None:
    page = (ROOT / "docs" / "reproduce.md").read_text("utf-8")
    listed = re.findall(r"^\d\. (.+(?:\n   .+)*)", page.partition("## Why does mine differ?")[2], re.MULTILINE)
    assert [" ".join(one.split()) for one in listed] == [f"**{one.title}** {one.text}" for one in REASONS]
