"""What is printed of runs that asked a sample of groups: page, board, tables for pandas, exports, compare, series."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from commands import printed
from exported_runs import CARD
from logged_runs import write_records

from lmms_eval_tasks.api.runs import load_runs
from lmms_eval_tasks.report.page import build_page
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.runs.scores import scores_of
from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.data.sampling import SampleChoice, draw
from lmms_eval_tasks.utils.scoring.bootstrap import BY_STRATA, METHOD, Estimate, estimate
from lmms_eval_tasks.utils.scoring.metrics import PAIR_ACCURACY
from lmms_eval_tasks.utils.scoring.record import Outcome, Record

TASK = "mvp_mini_temporal_reasoning"
WHOLE = DataSet(kind=SetKind.OFFICIAL, items=240, of=240)
PAIRS, ASKED = 120, "from 60 of 120 pairs"
RIGHT = {1000: 40, 2000: 80}
"""Step to how many of all pairs are right."""


def records(right: int) -> list[Record]:
    """Pairs of two sources, of which as many are right."""
    return [
        Record(
            f"{pair}_{member}",
            f"{pair}",
            {"subset": "temporal_reasoning", "source": "star" if pair % 3 else "clevrer"},
            "A",
            "A",
            Outcome.CORRECT if pair < right or not member else Outcome.WRONG,
            fields={"official_correct": pair < right or not member},
        )
        for pair in range(PAIRS)
        for member in range(2)
    ]


def sampled(right: int) -> list[Record]:
    whole = records(right)
    values = {one.group_id: (one.stratum["source"],) for one in whole}
    drawn = draw(TASK, {TASK: values}, SampleChoice(60))
    assert drawn
    return [replace(one, drawn=drawn[TASK][one.group_id]) for one in whole if one.group_id in drawn[TASK]]


def write(folder: Path, found: Sequence[Record]) -> Path:
    return write_records(folder, {TASK: found}, kind=WHOLE, card=CARD)


def scored(right: int) -> Estimate:
    found = estimate(PAIR_ACCURACY, [sampled(right)])
    assert found
    return found


def text_of(right: int) -> str:
    """The pair accuracy of a sample with its interval, as it is printed."""
    one = scored(right)
    return f"{one.value:.1f} [{one.low:.1f}, {one.high:.1f}]"


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture
def steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hundred_columns: None) -> list[Path]:
    """The same sample asked of two checkpoints."""
    monkeypatch.chdir(tmp_path)
    return [write(Path(f"step-{step}", "tuned"), sampled(right)) for step, right in RIGHT.items()]


@pytest.mark.slow
def test_a_series_shows_estimates_with_intervals_and_from_how_many_groups(steps: list[Path]) -> None:
    shown = printed("report", "--series", "step=step-*", "--html", "page.html")
    table = words(shown.partition(f"{TASK}: against step; {ASKED}")[2])
    (first, second) = (text_of(right) for right in RIGHT.values())
    assert table.startswith("score step value less the best"), shown
    assert re.search(rf"pair accuracy 1000 {re.escape(first)} -\S+ \[.*?\] worse 2000 {re.escape(second)} best", table)
    for step, right in RIGHT.items():
        assert f"A SAMPLE: step {step} was asked 60 of 120 pairs." in shown
        assert f"step {step} {text_of(right)}" in words(shown)
    page = Path("page.html").read_text("utf-8")
    figure = page.partition("Pair accuracy against step")[2].partition("</details>")[0]
    assert ASKED in figure
    found = re.findall(r"<title>step (\d+): step \d+: ([\d.]+ \[[\d.]+, [\d.]+\])", figure)
    assert found == [(str(step), text_of(right)) for step, right in RIGHT.items()]
    # The whole run of the last step is asked more than the others.
    write(Path("step-3000", "tuned"), records(90))
    mixed = words(printed("report", "--series", "step=step-*"))
    assert f"{TASK}: against step; run 1: {ASKED}; run 2: {ASKED} score" in mixed and "run 3: from" not in mixed


def test_seeds_of_a_sample_have_their_mean_and_from_how_many_groups(steps: list[Path]) -> None:
    shown = words(printed("report", "--series", "seed", *(step.parent for step in steps)))
    mean = sum(scored(right).value for right in RIGHT.values()) / 2
    assert f"{TASK}: over 2 seeds; {ASKED} score" in shown and f"pair accuracy {mean:.1f}" in shown


@pytest.mark.slow
def test_a_page_says_it_in_signatures_and_figures_and_shows_published_figures_beside(steps: list[Path]) -> None:
    page = build_page([read_run(step) for step in steps], TASK)
    signatures = re.findall(r'<ul class="signatures">(.*?)</ul>', page, re.DOTALL)
    assert signatures and signatures[0].count(f"; {ASKED};") == 2 == signatures[0].count(BY_STRATA)
    assert "InternVL2.5-8B" in page and "A SAMPLE: " in page
    marked = re.findall(r'<g class="set-kind">(.*?)</g>', page, re.DOTALL)
    assert marked and all(ASKED in one for one in marked), "a figure that is saved says it, too"
    whole = build_page([read_run(write(Path("whole", "tuned"), records(50)))], TASK)
    assert "A SAMPLE" not in whole and "of 120 pairs" not in whole and METHOD in whole


def test_a_board_has_the_groups_of_all_and_says_what_they_are(steps: list[Path]) -> None:
    whole = write(Path("whole", "tuned"), records(50))
    shown = words(printed("board", *steps, whole, "--out", "board.html"))
    page = words(re.sub("<[^>]+>", " ", Path("board.html").read_text("utf-8")))
    for text in (shown, page):
        assert "scores of all are estimated from a sample of them" in text and "InternVL2.5-8B" in text
    assert page.count("60 of 120") >= 2
    plain = words(printed("board", whole, "--out", "plain.html"))
    assert "estimated" not in plain and " of 120" not in plain


def test_tables_for_pandas_and_the_file_of_scores_have_both_numbers(steps: list[Path]) -> None:
    whole = write(Path("whole", "tuned"), records(50))
    frame = load_runs(steps[0], whole, names=["part", "all"]).scores.set_index(["run", "metric"])
    row, one = frame.loc[("part", "pair_accuracy")], scored(RIGHT[1000])
    assert (row["n"], row["sampled_from"], row["items"]) == (60, 120, 120)
    assert [row["value"], row["low"], row["high"]] == pytest.approx([one.value, one.low, one.high])
    assert frame.loc["all", "sampled_from"].isna().all()
    files = [scores_of(read_run(folder)) for folder in (steps[0], whole)]
    assert [str((file.parts[0].sampled and file.parts[0].from_sample) or "") for file in files] == [ASKED, ""]
    assert [file.method for file in files] == [BY_STRATA, METHOD]


def test_exports_call_it_a_sample_and_give_it_no_place_beside_whole_releases(steps: list[Path]) -> None:
    said = printed("export", "hub", steps[0], "--out", "hub")
    assert f"a sample, {ASKED}" in said
    section = Path("hub", "model_card_section.md").read_text("utf-8")
    assert f"a sample, {ASKED}" in section and not Path("hub", ".eval_results").exists()


def test_compare_takes_the_common_groups_of_a_sample_and_a_whole_run(steps: list[Path]) -> None:
    whole = write(Path("whole", "tuned"), records(50))
    document = json.loads(printed("compare", steps[0], whole, "--format", "json"))
    (table,) = [one for one in document["tables"] if one["title"] == TASK]
    assert f"run 1 is a sample, {ASKED}; scores are of common groups, weighted to the whole set" in table["caption"]
    assert "share 120 items in 60 groups; left out: 120 items only in the second run" in table["caption"]
    (row,) = [one for one in table["rows"] if one[1] == "pair accuracy"]
    assert [row[2]["value"], row[3]["value"]] == pytest.approx([scored(40).value, scored(50).value])
    # Of all pairs 10 more are right, 8.3 points; the sample's interval holds them.
    assert row[4]["low"] <= 100 * 10 / PAIRS <= row[4]["high"]
    turned = json.loads(printed("compare", whole, steps[0], "--format", "json"))["tables"][0]
    assert "run 2 is a sample" in turned["caption"]
