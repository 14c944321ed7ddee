import json
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.runs.folder import Run
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.scoring.record import Outcome, Record
from lmms_eval_tasks.yocausal.ranking import published_scores, rank_runs


def record(number: int, won: bool | None, causal: bool | None, model: str = "Toy") -> Record:
    return Record(
        item_id=f"animal_{number}",
        group_id=f"animal_{number}",
        stratum={"subset": "animal"},
        expected="forward",
        answered=None if won is None else "forward" if won else "backward",
        outcome=Outcome.UNSCORED if won is None else Outcome.CORRECT if won else Outcome.WRONG,
        fields={"vlm_causality": causal, "human_discriminable": None, "model": model},
    )


def run(
    name: str, causal: tuple[int, int], other: tuple[int, int], kind: SetKind = SetKind.OFFICIAL, task: str = "yocausal"
) -> Run:
    """A run with so many wins of so many pairs on the causal half and on the other."""
    flags = [(index < wins, half) for half, (wins, of) in ((True, causal), (False, other)) for index in range(of)]
    records = tuple(record(number, won, half, name) for number, (won, half) in enumerate(flags))
    return Run(
        Path(f"out/{name}/1_results.json"), "video_diffusion", {task: records}, {}, {}, {task: DataSet(kind=kind)}
    )


def test_runs_are_ordered_by_the_sum_of_their_ranks() -> None:
    ranking = rank_runs([run("low", (4, 10), (4, 10)), run("even", (9, 10), (9, 10)), run("cause", (9, 10), (5, 10))])
    assert [(one.place.model, one.place.rank, one.place.rsi_rank, one.place.cci_rank) for one in ranking.runs] == [
        ("even", 1, 1, 2), ("cause", 2, 2, 1), ("low", 3, 3, 2),
    ]  # fmt: skip
    assert [(one.rsi, one.cci, one.pairs, one.unscored) for one in ranking.runs][1] == (70, 40, 20, 0)
    assert ranking.warnings == () and ranking.apart == ()


def test_what_is_not_comparable_is_said() -> None:
    ranking = rank_runs([run("a", (4, 10), (4, 10), kind=SetKind.SAMPLE), run("a", (9, 10), (9, 11))])
    assert len({one.place.model for one in ranking.runs}) == 2
    assert ranking.warnings == (
        "The runs were asked about different pairs.",
        "The runs are of several sets: sample data; the official release.",
    )  # fmt: skip
    assert ranking.apart == ("SAMPLE DATA, not the benchmark",)


def test_runs_that_cannot_be_ranked_are_told_together() -> None:
    with pytest.raises(InputError) as error:
        rank_runs([run("a", (1, 1), (0, 0)), run("b", (0, 0), (0, 0)), run("c", (1, 1), (1, 1), task="other")])
    assert str(error.value) == (
        "These runs cannot be ranked: 3 problems.\n"
        "  a/1_results.json: Expected pairs labelled causal and pairs labelled not causal, but one of the two is "
        "missing. Remedy: label them by `lmms-eval-tasks yocausal label` and prepare with --labels.\n"
        "  b/1_results.json: Expected scored pairs, but there are none. Remedy: its sample log says why.\n"
        "  c/1_results.json: Expected a run of yocausal, but it holds other."
    )


def test_published_numbers_are_there() -> None:
    text = (resources.files("lmms_eval_tasks.yocausal") / "published.json").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = json.loads(text)["records"]
    assert {row["benchmark"] for row in rows} == {"YoCausal"}
    human = {row["metric"]: row["value"] for row in rows if row["model"] == "Human" and row["split"].startswith("all")}
    assert human["RSI"] == 79.08


def test_the_papers_models_are_ranked_as_in_figure_9() -> None:
    """Sums of the ranks in Tables 4 and 5; the paper names the first."""
    ranked = CliRunner().invoke(app, ["yocausal", "rank", "--published"])
    assert ranked.exit_code == 0, ranked.output
    lines = [line.split() for line in ranked.stdout.splitlines() if "printed" in line]
    assert [(line[0], line[2]) for line in lines] == [
        ("Wan2.2-T2V-A14B", "5"), ("Wan2.1-T2V-14B", "5"), ("LTX-Video-2B-0.9.6", "9"), ("CogVideoX-5B", "11"),
        ("LTX-Video-13B-0.9.8", "13"), ("HunyuanVideo", "14"), ("Mochi-1-preview", "14"), ("CogVideoX1.5-5B", "14"),
        ("Wan2.1-T2V-1.3B", "14"), ("Wan2.2-TI2V-5B", "16"), ("CogVideoX-2B", "19"), ("AnimateDiff-SD1.5", "23"),
        ("AnimateDiff-SDXL", "25"),
    ]  # fmt: skip
    for header in ("place", "RSI (rank)", "CCI (rank)", "sum"):
        assert header in ranked.stdout


def test_a_run_has_its_place_among_the_papers_models() -> None:
    found = rank_runs([run("Mochi-1-preview", (6, 10), (5, 10))], published_scores())
    places = {one.place.model: (one.place.rank, one.pairs) for one in found.runs}
    assert len(places) == 14 and places["Mochi-1-preview"] == (1, 20)
    assert places["Wan2.2-T2V-A14B"] == (2, None) and "Mochi-1-preview (published)" in places
