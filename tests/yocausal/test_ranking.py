"""Ranks of runs and of the paper's models, and how rankings go together: YoCausal, Tables 3 to 6 and Figure 9."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from commands import printed
from expected import Expected
from refusals import refusal
from scipy import stats
from yocausal_records import pair_record

from lmms_eval_tasks.runs.folder import Run
from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.scoring.compare import compare_records
from lmms_eval_tasks.yocausal.card import CCI, RSI
from lmms_eval_tasks.yocausal.ranking import (
    Ranking,
    correlate,
    correlate_scores,
    places,
    published_scores,
    rank_by_labels,
    rank_models,
    rank_runs,
    read_scores,
    runs_by_prompt,
    without_null_prompt,
)

PARAMETERS = {
    "Wan2.2-T2V-A14B": 27, "Wan2.1-T2V-14B": 14, "LTX-Video-2B-0.9.6": 2, "CogVideoX-5B": 5, "LTX-Video-13B-0.9.8": 13,
    "HunyuanVideo": 13, "Mochi-1-preview": 10, "CogVideoX1.5-5B": 5, "Wan2.1-T2V-1.3B": 1.3, "Wan2.2-TI2V-5B": 5,
    "CogVideoX-2B": 2, "AnimateDiff-SD1.5": 1.3, "AnimateDiff-SDXL": 3,
}  # fmt: skip
"""Billions; the published number counts both experts of A14B."""


def published() -> list[dict[str, Any]]:
    text = (resources.files("lmms_eval_tasks.yocausal") / "published.json").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = json.loads(text)["records"]
    return rows


def ranking_of(scores: dict[str, tuple[float, float]]) -> Ranking:
    return Ranking(tuple(rank_models(scores)), (), ())


def swapped(models: int, turned: int) -> tuple[dict[str, float], dict[str, float]]:
    """So many models in their order, and in one of which so many pairs are turned round."""
    values = list(range(models))
    for _ in range(turned):
        place = next(index for index in range(models - 1) if values[index] < values[index + 1])
        values[place], values[place + 1] = values[place + 1], values[place]
    names = list(map(str, range(models)))
    return dict(zip(names, map(float, range(models)), strict=True)), dict(zip(names, map(float, values), strict=True))


@pytest.mark.parametrize(
    ("models", "turned", "tau", "p"),
    [
        (13, 12, 0.6923, 0.0005),
        (13, 13, 0.6667, 0.0009),
        pytest.param(10, 11, 0.5111, 0.0466, id="likephys"),
        pytest.param(6, 5, 0.3333, 0.4694, id="preference"),
    ],
)
def test_tau_and_its_exact_p_are_those_of_tables_3_and_6(models: int, turned: int, tau: float, p: float) -> None:
    found = correlate(*swapped(models, turned))
    assert found.models == models
    assert (found.tau, found.tau_p) == (pytest.approx(tau, abs=5e-5), pytest.approx(p, abs=5e-5))


def test_each_published_correlation_says_on_how_many_models_it_rests() -> None:
    """Kendall's tau is a whole number of pairs less another, and its exact p tells which number of models it is of."""
    rows = [row for row in published() if row.get("unit") == "Kendall tau" and "Table 6" in row["source"]]
    assert len(rows) == 7
    for row in rows:
        fitting = []
        for models in range(4, 14):
            pairs = models * (models - 1) // 2
            ordered, other = swapped(models, pairs - round((row["value"] + 1) * pairs / 2))
            tau, p = stats.kendalltau(list(ordered.values()), list(other.values()), method="exact")
            if abs(tau - row["value"]) < 1e-4 and abs(p - row["p_value"]) < 1e-4:
                fitting.append(f"{models} models")
        assert row["model"] in fitting and (fitting == [row["model"]] or row["value"] == 0), row


def test_the_published_order_goes_with_parameters_and_release_dates(tmp_path: Path) -> None:
    rows = [row for row in published() if row["model"] != "Human"]
    rsi = {row["model"]: row["value"] for row in rows if row["metric"] == "RSI" and "all (" in row["split"]}
    cci = {row["model"]: row["value"] for row in rows if row["metric"] == "CCI(D)" and "prompt" not in row}
    dates = {row["model"]: row["release"] for row in rows if row.get("release")}
    lines = [f"{model},{PARAMETERS[model]},{dates[model]}" for model in PARAMETERS]
    table = tmp_path / "models.csv"
    table.write_text("\n".join(["model,parameters,released", *lines, "Another,3,2025-01", ""]))
    assert len(rsi) == len(cci) == 13
    parameters, released = correlate_scores(ranking_of({model: (rsi[model], cci[model]) for model in rsi}), table)
    assert parameters.names == ("rank", "parameters") and parameters.models == released.models == 13
    # Printed 0.688 (p 0.0093) and 0.5958 (p 0.0316): which days and parameter counts were used is not known.
    found = (parameters.pearson, parameters.pearson_p, released.pearson, released.pearson_p)
    in_table = ((0.688, 2e-3), (0.0093, 3e-4), (0.5958, 8e-3), (0.0316, 4e-3))
    assert found == tuple(pytest.approx(value, abs=within) for value, within in in_table)


def test_a_correlation_of_too_little_is_none_and_equal_models_share_a_rank() -> None:
    assert correlate({"a": 1.0}, {"a": 2.0}).tau is None
    same = correlate({"a": 1.0, "b": 1.0, "c": 1.0}, {"a": 1.0, "b": 2.0, "c": 3.0})
    assert (same.models, same.tau, same.pearson) == (3, None, None)
    two = correlate({"a": 1.0, "b": 2.0}, {"b": 1.0, "a": 2.0, "c": 9.0})
    assert (two.models, two.tau, two.pearson) == (2, -1.0, None)
    shared = {"a": (60.0, 2.0), "b": (50.0, 1.0), "c": (50.0, 1.0)}
    assert places(ranking_of(shared)) == {"a": -1, "b": -2, "c": -2}


def run(name: str, causal: str, other: str = "", kind: SetKind = SetKind.OFFICIAL, task: str = "yocausal") -> Run:
    """A run that wins (+) or loses (-) pairs of the causal half and of the other."""
    wins = [(won, half) for half, part in ((True, causal), (False, other)) for won in part]
    records = tuple(
        pair_record(f"animal_{number}", "animal", "forward" if won == "+" else "backward", half).with_fields(model=name)
        for number, (won, half) in enumerate(wins)
    )
    path = Path(f"out/{name}/1_results.json")
    return Run(path, "video_diffusion", {task: records}, {}, {}, {task: DataSet(kind=kind)})


MOST, HALF, FEW = "+" * 9 + "-", "+" * 5 + "-" * 5, "+" * 4 + "-" * 6


def test_runs_are_ordered_by_the_sum_of_their_ranks() -> None:
    ranking = rank_runs([run("low", FEW, FEW), run("even", MOST, MOST), run("cause", MOST, HALF)])
    assert [(one.model, one.rank, one.rsi_rank, one.cci_rank) for one in ranking.runs] == [
        ("even", 1, 1, 2), ("cause", 2, 2, 1), ("low", 3, 3, 2),
    ]  # fmt: skip
    assert [(one.rsi, one.cci, one.pairs, one.unscored) for one in ranking.runs][1] == (70, 40, 20, 0)
    assert ranking.warnings == () and ranking.apart == ()
    other = rank_runs([run("a", FEW, FEW, kind=SetKind.SAMPLE), run("a", MOST, MOST + "-")])
    assert len({one.model for one in other.runs}) == 2
    assert other.warnings == (
        "The runs were asked about different pairs.",
        "The runs are of several sets: sample data; the official release.",
    )
    assert other.apart == ("SAMPLE DATA, not the benchmark",)


def test_what_cannot_be_ranked_or_split_is_named_together(tmp_path: Path, expected: Expected) -> None:
    other = labels(tmp_path / "gpt.jsonl", "++---")
    messages = [
        refusal(rank_runs, [run("a", "+"), run("b", ""), run("c", "+", "+", task="other")]),
        refusal(rank_by_labels, [run("first", "++", "--")], [other]),
    ]
    expected("\n".join(messages))


def test_the_papers_models_are_ranked_as_in_figure_9() -> None:
    """Sums of the ranks in Tables 4 and 5; the paper names the first."""
    human = {row["metric"]: row["value"] for row in published() if row["model"] == "Human" and "all" in row["split"]}
    assert {row["benchmark"] for row in published()} == {"YoCausal"} and human["RSI"] == 79.08
    ranked = printed("yocausal", "rank", "--published")
    lines = [line.split() for line in ranked.splitlines() if "printed" in line]
    assert [(line[0], line[2]) for line in lines] == [
        ("Wan2.2-T2V-A14B", "5"), ("Wan2.1-T2V-14B", "5"), ("LTX-Video-2B-0.9.6", "9"), ("CogVideoX-5B", "11"),
        ("LTX-Video-13B-0.9.8", "13"), ("HunyuanVideo", "14"), ("Mochi-1-preview", "14"), ("CogVideoX1.5-5B", "14"),
        ("Wan2.1-T2V-1.3B", "14"), ("Wan2.2-TI2V-5B", "16"), ("CogVideoX-2B", "19"), ("AnimateDiff-SD1.5", "23"),
        ("AnimateDiff-SDXL", "25"),
    ]  # fmt: skip
    assert all(header in ranked for header in ("place", "RSI (rank)", "CCI (rank)", "sum"))
    found = rank_runs([run("Mochi-1-preview", "+" * 6 + "-" * 4, HALF)], published_scores())
    among = {one.model: (one.rank, one.pairs) for one in found.runs}
    assert len(among) == 14 and among["Mochi-1-preview"] == (1, 20)
    assert among["Wan2.2-T2V-A14B"] == (2, None) and "Mochi-1-preview (published)" in among


def labels(path: Path, causal: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    lines = [{"id": f"animal_{n}", "vlm_causality": {"+": True, "-": False}.get(c)} for n, c in enumerate(causal)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_other_labels_split_the_same_losses_anew(tmp_path: Path) -> None:
    runs = [run("first", "++", "--"), run("second", "--", "++")]
    judges = rank_by_labels(runs, [labels(tmp_path / "gpt.jsonl", "--++"), labels(tmp_path / "qwen.jsonl", "?-++")])
    given, turned = [("first", 100.0), ("second", -100.0)], [("second", 100.0), ("first", -100.0)]
    found = {name: [(one.model, one.cci) for one in of.runs] for name, of in judges.rankings.items()}
    assert found == {"as prepared": given, "gpt": turned, "qwen": turned}
    assert [(one.names, one.tau) for one in judges.agreement] == [
        (("as prepared", "gpt"), -1.0), (("as prepared", "qwen"), -1.0), (("gpt", "qwen"), 1.0),
    ]  # fmt: skip
    assert judges.warnings == ("qwen.jsonl has no label for 1 of 4 pairs.",)
    assert rank_runs(runs).runs == judges.rankings["as prepared"].runs
    # Files of one name stay apart.
    files = [labels(tmp_path / name / "gpt.jsonl", "++--") for name in ("one", "other")]
    assert list(rank_by_labels(runs[:1], files).rankings) == ["as prepared", "gpt #1", "gpt #2"]


def test_tables_of_scores_are_read_with_dates_and_gaps_and_every_fault_is_named(
    tmp_path: Path, expected: Expected
) -> None:
    table = tmp_path / "scores.csv"
    table.write_text("model,released,vbench\nfirst,2025-07,\nsecond,07/2025,3.5\nthird,2025-08-01,4\n")
    assert read_scores(table, ["first", "second"]) == {
        "released": {"first": 24307.0, "second": 24307.0}, "vbench": {"second": 3.5},
    }  # fmt: skip
    messages = []
    for text in (
        "model,vbench,released\nfirst,high,13/2025\nfirst,nan,2025-07-31\nsecond,,\n",
        "model,vbench\nthird,1\n",
        "name,vbench\nfirst,1\n",
    ):
        table.write_text(text)
        messages.append(refusal(read_scores, table, ["first", "second"]))
    expected("\n".join(messages))


def logged(folder: Path, model: str, prompt: str, wins: str) -> Run:
    """A run whose sample log says with which prompt it was measured."""
    folder.mkdir()
    finished = replace(run(model, wins[:2], wins[2:]), path=folder / "1_results.json")
    loss = {"item_id": "x", "forward": 1.0, "backward": 2.0, "digest": "", "versions": {}}
    steps = {"steps": {"forward": [], "backward": []}, "timesteps": []}
    rows = {"submission_rows": {**loss, **steps, "settings": {"model": model, "prompt": prompt}}}
    records = [one.with_fields(motion_symmetric=False) for one in finished.records["yocausal"]]
    lines = [json.dumps({**rows, "record": one.to_json()}) + "\n" for one in records]
    (folder / "1_samples_yocausal.jsonl").write_text("".join(lines))
    return finished


def test_runs_with_both_prompts_are_compared(tmp_path: Path) -> None:
    forward = logged(tmp_path / "forward", "both", "forward", "++-+")
    null = logged(tmp_path / "null", "both", "null", "+---")
    other = logged(tmp_path / "other", "one", "forward", "++-+")
    assert runs_by_prompt([null, other, forward]) == {"both": (forward, null)}
    assert runs_by_prompt([forward, forward, null]) == {}
    assert without_null_prompt([null, other, forward]) == [other, forward]
    differences = compare_records(forward.records, null.records, [RSI, CCI]).differences
    assert [(one.first, one.second, one.groups) for one in differences] == [(75.0, 25.0, 4), (50.0, 50.0, 4)]
