"""Golden numbers: YoCausal paper, Tables 3 and 6, from the ranks that its Tables 4 and 5 give."""

import json
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from lmms_eval_tasks.runs.folder import Run
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.scoring.compare import compare_records
from lmms_eval_tasks.utils.scoring.record import Outcome, Record
from lmms_eval_tasks.yocausal.card import CCI, RSI
from lmms_eval_tasks.yocausal.ranking import (
    RankedRun,
    Ranking,
    correlate,
    correlate_scores,
    places,
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
    return [row for row in rows if row["model"] != "Human"]


def published_ranking() -> Ranking:
    rsi = {row["model"]: row["value"] for row in published() if row["metric"] == "RSI" and "all (" in row["split"]}
    cci = {row["model"]: row["value"] for row in published() if row["metric"] == "CCI(D)" and "prompt" not in row}
    assert len(rsi) == len(cci) == 13
    placed = rank_models({model: (rsi[model], cci[model]) for model in rsi})
    return Ranking(tuple(RankedRun(place, 0.0, 0.0, 0, 0) for place in placed), (), ())


def swapped(pairs: int) -> dict[str, float]:
    """Thirteen models in an order of which so many pairs are turned round."""
    values = list(range(13))
    for _ in range(pairs):
        place = next(index for index in range(12) if values[index] < values[index + 1])
        values[place], values[place + 1] = values[place + 1], values[place]
    return {str(model): float(value) for model, value in enumerate(values)}


@pytest.mark.parametrize(("pairs", "tau", "p"), [(12, 0.6923, 0.0005), (13, 0.6667, 0.0009)])
def test_two_judges_agree_as_in_table_3(pairs: int, tau: float, p: float) -> None:
    found = correlate(swapped(0), swapped(pairs))
    assert found.models == 13
    assert (found.tau, found.tau_p) == (pytest.approx(tau, abs=5e-5), pytest.approx(p, abs=5e-5))


@pytest.mark.parametrize(
    ("models", "turned", "tau", "p"), [(10, 11, 0.5111, 0.0466), (6, 5, 0.3333, 0.4694)], ids=["likephys", "preference"]
)
def test_p_is_exact_as_in_table_6(models: int, turned: int, tau: float, p: float) -> None:
    ordered = {str(model): float(model) for model in range(models)}
    values = list(range(models))
    for _ in range(turned):
        place = next(index for index in range(models - 1) if values[index] < values[index + 1])
        values[place], values[place + 1] = values[place + 1], values[place]
    found = correlate(ordered, {str(model): float(value) for model, value in enumerate(values)})
    assert (found.tau, found.tau_p) == (pytest.approx(tau, abs=5e-5), pytest.approx(p, abs=5e-5))


def test_the_published_order_goes_with_parameters_and_release_dates(tmp_path: Path) -> None:
    dates = {row["model"]: row["release"] for row in published() if row.get("release")}
    table = tmp_path / "models.csv"
    lines = [f"{model},{PARAMETERS[model]},{dates[model]}" for model in PARAMETERS]
    table.write_text("\n".join(["model,parameters,released", *lines, "Another,3,2025-01", ""]))
    parameters, released = correlate_scores(published_ranking(), table)
    assert parameters.names == ("rank", "parameters") and parameters.models == released.models == 13
    # Printed 0.688 (p 0.0093) and 0.5958 (p 0.0316): which days and parameter counts were used is not known.
    assert (parameters.pearson, parameters.pearson_p) == (
        pytest.approx(0.688, abs=2e-3),
        pytest.approx(0.0093, abs=3e-4),
    )
    assert (released.pearson, released.pearson_p) == (pytest.approx(0.5958, abs=8e-3), pytest.approx(0.0316, abs=4e-3))


def test_each_published_correlation_says_on_how_many_models_it_rests() -> None:
    """Kendall's tau is a whole number of pairs less another, and its exact p tells which number of models it is of."""
    from scipy import stats

    text = (resources.files("lmms_eval_tasks.yocausal") / "published.json").read_text(encoding="utf-8")
    rows = [
        row for row in json.loads(text)["records"] if row.get("unit") == "Kendall tau" and "Table 6" in row["source"]
    ]
    assert len(rows) == 7
    for row in rows:
        fitting = []
        for models in range(4, 14):
            pairs = models * (models - 1) // 2
            concordant = round((row["value"] + 1) * pairs / 2)
            order = list(range(models))
            for _ in range(pairs - concordant):
                place = next(index for index in range(models - 1) if order[index] < order[index + 1])
                order[place], order[place + 1] = order[place + 1], order[place]
            tau, p = stats.kendalltau(range(models), order, method="exact")
            if abs(tau - row["value"]) < 1e-4 and abs(p - row["p_value"]) < 1e-4:
                fitting.append(f"{models} models")
        assert row["model"] in fitting and (fitting == [row["model"]] or row["value"] == 0), row


def test_equal_models_share_a_rank_in_correlations() -> None:
    placed = rank_models({"a": (60.0, 2.0), "b": (50.0, 1.0), "c": (50.0, 1.0)})
    assert places(Ranking(tuple(RankedRun(place, 0.0, 0.0) for place in placed), (), ())) == {"a": -1, "b": -2, "c": -2}


def test_a_correlation_of_too_little_is_none() -> None:
    assert correlate({"a": 1.0}, {"a": 2.0}).tau is None
    same = correlate({"a": 1.0, "b": 1.0, "c": 1.0}, {"a": 1.0, "b": 2.0, "c": 3.0})
    assert (same.models, same.tau, same.pearson) == (3, None, None)
    two = correlate({"a": 1.0, "b": 2.0}, {"b": 1.0, "a": 2.0, "c": 9.0})
    assert (two.models, two.tau, two.pearson) == (2, -1.0, None)


def record(number: int, won: bool, model: str) -> Record:
    return Record(
        item_id=f"animal_{number}",
        group_id=f"animal_{number}",
        stratum={"subset": "animal"},
        expected="forward",
        answered="forward" if won else "backward",
        outcome=Outcome.CORRECT if won else Outcome.WRONG,
        fields={"vlm_causality": number < 2, "human_discriminable": None, "model": model},
    )


def run(model: str, wins: str) -> Run:
    records = tuple(record(number, won == "+", model) for number, won in enumerate(wins))
    return Run(Path(f"out/{model}/1_results.json"), "video_diffusion", {"yocausal": records}, {}, {})


def labels(path: Path, causal: str) -> Path:
    lines = [{"id": f"animal_{n}", "vlm_causality": {"+": True, "-": False}.get(c)} for n, c in enumerate(causal)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_other_labels_split_the_same_losses_anew(tmp_path: Path) -> None:
    runs = [run("first", "++--"), run("second", "--++")]
    judges = rank_by_labels(runs, [labels(tmp_path / "gpt.jsonl", "--++"), labels(tmp_path / "qwen.jsonl", "?-++")])
    assert {
        name: [(one.place.model, one.cci) for one in ranking.runs] for name, ranking in judges.rankings.items()
    } == {
        "as prepared": [("first", 100.0), ("second", -100.0)],
        "gpt": [("second", 100.0), ("first", -100.0)],
        "qwen": [("second", 100.0), ("first", -100.0)],
    }
    assert [(one.names, one.tau) for one in judges.agreement] == [
        (("as prepared", "gpt"), -1.0), (("as prepared", "qwen"), -1.0), (("gpt", "qwen"), 1.0),
    ]  # fmt: skip
    assert judges.warnings == ("qwen.jsonl has no label for 1 of 4 pairs.",)
    assert rank_runs(runs).runs == judges.rankings["as prepared"].runs


def test_labels_of_pairs_that_are_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Expected the id of a pair, but got `animal_4`"):
        rank_by_labels([run("first", "++--")], [labels(tmp_path / "gpt.jsonl", "++---")])


def test_files_of_one_name_stay_apart(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    files = [labels(tmp_path / "gpt.jsonl", "++--"), labels(tmp_path / "other" / "gpt.jsonl", "+---")]
    assert list(rank_by_labels([run("first", "++--")], files).rankings) == ["as prepared", "gpt #1", "gpt #2"]


def test_every_fault_of_a_table_is_named(tmp_path: Path) -> None:
    table = tmp_path / "scores.csv"
    table.write_text("model,vbench,released\nfirst,high,13/2025\nfirst,nan,2025-07-31\nsecond,,\n")
    with pytest.raises(InputError) as error:
        read_scores(table, ["first", "second"])
    assert str(error.value) == (
        "scores.csv cannot be used: 4 problems.\n"
        "  scores.csv, line 2: Expected vbench to be a finite number, a date or nothing, but got `high`.\n"
        "  scores.csv, line 2: Expected released to be a finite number, a date or nothing, but got `13/2025`.\n"
        "  scores.csv, line 3: Expected a model once, but `first` is also at scores.csv, line 2.\n"
        "  scores.csv, line 3: Expected vbench to be a finite number, a date or nothing, but got `nan`."
    )
    table.write_text("model,vbench\nthird,1\n")
    with pytest.raises(InputError, match="Expected values of first, second, but got values of third"):
        read_scores(table, ["first", "second"])
    table.write_text("name,vbench\nfirst,1\n")
    with pytest.raises(InputError, match="Expected the columns model, but got name, vbench: model is missing"):
        read_scores(table, ["first"])


def test_dates_are_months_and_missing_values_are_left_out(tmp_path: Path) -> None:
    table = tmp_path / "scores.csv"
    table.write_text("model,released,vbench\nfirst,2025-07,\nsecond,07/2025,3.5\nthird,2025-08-01,4\n")
    assert read_scores(table, ["first", "second"]) == {
        "released": {"first": 24307.0, "second": 24307.0}, "vbench": {"second": 3.5},
    }  # fmt: skip


def logged(folder: Path, model: str, prompt: str, wins: str) -> Run:
    """A run whose sample log says with which prompt it was measured."""
    folder.mkdir()
    finished = replace(run(model, wins), path=folder / "1_results.json")
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
