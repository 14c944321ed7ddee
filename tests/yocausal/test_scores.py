"""RSI, CCI and ranks: the official functions on the oracle's sets, Tables 3 to 6 and Figure 9, runs, and intervals."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from commands import printed
from expected import Expected
from oracles import read_oracle
from refusals import refusal
from scipy import stats
from yocausal_records import logged, pair_record, run

from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.scoring.bootstrap import estimate
from lmms_eval_tasks.utils.scoring.compare import compare_records
from lmms_eval_tasks.utils.scoring.record import Record
from lmms_eval_tasks.yocausal.card import (
    CCI,
    CCI_NORMALISED,
    HUMAN_PROTOCOL,
    NON_FINITE_RATE,
    PAIRS,
    RSI,
    RSI_CAUSAL,
    RSI_NON_CAUSAL,
    TIE_RATE,
    Winner,
    compare_losses,
)
from lmms_eval_tasks.yocausal.ranking import (
    Ranking,
    agreement,
    correlate,
    correlate_scores,
    published_scores,
    rank_by_labels,
    rank_models,
    rank_runs,
    read_scores,
    runs_by_prompt,
    without_null_prompt,
)
from lmms_eval_tasks.yocausal.result_file import official_dataset, official_metrics


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


def test_tau_and_its_exact_p_are_those_of_tables_3_and_6() -> None:
    """Two rows with parameters and dates, one with LikePhys, one with human preference."""
    for models, turned, tau, p in (
        (13, 12, 0.6923, 0.0005), (13, 13, 0.6667, 0.0009), (10, 11, 0.5111, 0.0466), (6, 5, 0.3333, 0.4694)
    ):  # fmt: skip
        found = correlate(*swapped(models, turned))
        assert (found.models, found.tau, found.tau_p) == pytest.approx((models, tau, p), abs=5e-5)


def test_each_published_correlation_says_on_how_many_models_it_rests() -> None:
    """Kendall's tau is a whole number of pairs less another, and its exact p tells which number of models it is of."""
    text = (resources.files("lmms_eval_tasks.yocausal") / "published.json").read_text(encoding="utf-8")
    taus = [row for row in json.loads(text)["records"] if row.get("unit") == "Kendall tau"]
    rows = [row for row in taus if "Table 6" in row["source"]]
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


def test_the_published_order_goes_with_parameters_and_release_dates() -> None:
    """Parameters in billions (the published number counts both experts of A14B), and dates as published."""
    table = Path(__file__).with_name("models.csv")
    parameters, released = correlate_scores(ranking_of(published_scores()), table)
    assert parameters.names == ("rank", "parameters") and parameters.models == released.models == 13
    # Printed 0.688 (p 0.0093) and 0.5958 (p 0.0316): which days and parameter counts were used is not known.
    found = (parameters.pearson, parameters.pearson_p, released.pearson, released.pearson_p)
    in_table = ((0.688, 2e-3), (0.0093, 3e-4), (0.5958, 8e-3), (0.0316, 4e-3))
    for number, (value, within) in zip(found, in_table, strict=True):
        assert number == pytest.approx(value, abs=within)


def test_a_correlation_of_too_little_is_none_and_equal_models_share_a_rank() -> None:
    for other, found in (
        ({"a": 2.0}, (1, None, None)),
        ({"a": 1.0, "b": 1.0, "c": 1.0}, (3, None, None)),
        ({"b": 1.0, "a": 2.0, "d": 9.0}, (2, -1.0, None)),
    ):
        correlation = correlate({"a": 1.0, "b": 2.0, "c": 3.0}, other)
        assert (correlation.models, correlation.tau, correlation.pearson) == found
    shared = {"a": (60.0, 2.0), "b": (50.0, 1.0), "c": (50.0, 1.0)}
    assert ranking_of(shared).places == {"a": -1, "b": -2, "c": -2}


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


@pytest.mark.usefixtures("hundred_columns")
def test_the_papers_models_are_ranked_as_in_figure_9(expected: Expected) -> None:
    """Sums of the ranks in Tables 4 and 5; the paper names the first."""
    expected(printed("yocausal", "rank", "--published"))
    found = rank_runs([run("Mochi-1-preview", "+" * 6 + "-" * 4, HALF)], published_scores())
    among = {one.model: (one.rank, one.pairs) for one in found.runs}
    assert len(among) == 14 and among["Mochi-1-preview"] == (1, 20)
    assert among["Wan2.2-T2V-A14B"] == (2, None) and "Mochi-1-preview (published)" in among


@pytest.mark.usefixtures("hundred_columns")
def test_the_papers_correlations_stand_below_those_of_the_ranking() -> None:
    table = Path(__file__).with_name("models.csv")
    lines = [line.split() for line in printed("yocausal", "rank", "--published", "--against", str(table)).splitlines()]
    shown = {" ".join(line[:-5]): line[-5:] for line in lines if len(line) > 5}
    assert shown["paper, Table 6 LikePhys"] == ["10", "0.5111", "0.0466", "N/A", "N/A"]
    assert shown["paper, Table 6 Number of parameters"] == ["13", "N/A", "N/A", "0.6880", "0.0093"]
    assert shown["rank parameters"][0] == "13"


@pytest.mark.usefixtures("hundred_columns")
def test_the_command_ranks_runs_and_compares_those_of_both_prompts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: Expected
) -> None:
    """One run is of the sample, and of fewer pairs, so that no published model is beside them."""
    runs = {
        name: replace(logged(tmp_path / name, model, prompt, wins), notes=("it is old",))
        for name, model, prompt, wins in (
            ("forward", "both", "forward", "++-+"), ("null", "both", "null", "+---"),
            ("other", "one", "forward", "+++-"),
        )
    }  # fmt: skip
    records = {"yocausal": runs["other"].records["yocausal"][:3]}
    runs["other"] = replace(runs["other"], sets={"yocausal": DataSet(kind=SetKind.SAMPLE)}, records=records)
    monkeypatch.setattr("lmms_eval_tasks.yocausal.ranking.read_run", lambda path: runs[path.name])
    expected(printed("yocausal", "rank", *runs, "--published"))
    by_labels = ("--labels", labels(tmp_path / "labels" / "gpt.jsonl", "+?-+"))
    expected(printed("yocausal", "rank", "forward", *by_labels))
    assert refusal(rank_runs, []) == "Expected runs to rank, but got none; those with prompt=null are not ranked."


def labels(path: Path, causal: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    lines = [{"id": f"animal_{n}", "vlm_causality": {"+": True, "-": False}.get(c)} for n, c in enumerate(causal)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_other_labels_split_the_same_losses_anew(tmp_path: Path) -> None:
    runs = [run("first", "++", "--"), run("second", "--", "++")]
    judges = rank_by_labels(runs, [labels(tmp_path / "gpt.jsonl", "--++"), labels(tmp_path / "qwen.jsonl", "?-++")])
    given, turned = [("first", 100.0), ("second", -100.0)], [("second", 100.0), ("first", -100.0)]
    found = {name: [(one.model, one.cci) for one in of.runs] for name, of in judges.items()}
    assert found == {"as prepared": given, "gpt": turned, "qwen": turned}
    assert [(one.names, one.tau) for one in agreement(judges)] == [
        (("as prepared", "gpt"), -1.0), (("as prepared", "qwen"), -1.0), (("gpt", "qwen"), 1.0),
    ]  # fmt: skip
    assert judges["gpt"].warnings == () and judges["qwen"].warnings == ("qwen.jsonl has no label for 1 of 4 pairs.",)
    assert rank_runs(runs).runs == judges["as prepared"].runs
    # Files of one name stay apart.
    files = [labels(tmp_path / name / "gpt.jsonl", "++--") for name in ("one", "other")]
    assert list(rank_by_labels(runs[:1], files)) == ["as prepared", "gpt #1", "gpt #2"]


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


def test_runs_with_both_prompts_are_compared(tmp_path: Path) -> None:
    forward = logged(tmp_path / "forward", "both", "forward", "++-+")
    null = logged(tmp_path / "null", "both", "null", "+---")
    other = logged(tmp_path / "other", "one", "forward", "++-+")
    assert runs_by_prompt([null, other, forward]) == {"both": (forward, null)}
    assert runs_by_prompt([forward, forward, null]) == {}
    assert without_null_prompt([null, other, forward]) == [other, forward]
    differences = compare_records(forward.records, null.records, [RSI, CCI]).differences
    assert [(one.first, one.second, one.groups) for one in differences] == [(75.0, 25.0, 4), (50.0, 50.0, 4)]


COUNTS = json.loads((Path(__file__).parent / "yocausal_counts.json").read_text(encoding="utf-8"))
SUBSETS = ("General", "Physics", "Human", "Animal")


@pytest.fixture(scope="module")
def oracle() -> dict[str, Any]:
    metrics: dict[str, Any] = read_oracle("yocausal_metrics.json")
    return metrics


def numbered(value: dict[str, dict[str, Any]] | None) -> dict[str, dict[int, Any]]:
    """JSON has no whole-number keys; the official functions have."""
    return {dataset: {int(key): label for key, label in part.items()} for dataset, part in (value or {}).items()}


def official(
    results: dict[str, list[dict[str, Any]]], causal: Any = None, discriminable: Any = None
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Our metrics for the arguments of the official functions: per dataset, and overall."""

    def label(given: Any, dataset: str, pair: dict[str, Any]) -> Any:
        return (given or {}).get(dataset, {}).get(pair["id"])

    metrics = official_metrics(
        (dataset, pair["winner"], label(causal, dataset, pair), label(discriminable, dataset, pair))
        for dataset, pairs in results.items()
        for pair in pairs
    )
    return metrics["per_dataset_metrics"], metrics["overall_metrics"]


def without_empty_splits(metrics: dict[str, Any]) -> dict[str, Any]:
    """Where nothing is labelled, the official counts are 0 or None after the keys of the labels; ours are None."""
    return {name: value or None if name.startswith("num_") else value for name, value in metrics.items()}


def test_scores_are_those_of_the_official_functions(oracle: dict[str, Any]) -> None:
    halves = oracle["extras"]["tie_half_rsi_NOT_official"]
    for case in oracle["sets"]:
        inputs, name, expected = case["inputs"], case["name"], case["compute_overall_metrics"]
        causal, results = numbered(inputs["causality_labels"]), inputs["dataset_results"]
        per_dataset, overall = official(results, causal, numbered(inputs["human_disc_labels"]))
        assert overall == pytest.approx(expected), name
        assert per_dataset.keys() == case["compute_per_dataset_metrics"].keys()
        for dataset, of_dataset in case["compute_per_dataset_metrics"].items():
            ours, theirs = without_empty_splits(per_dataset[dataset]), without_empty_splits(of_dataset)
            assert ours == pytest.approx(theirs), (name, dataset)
        records = [
            pair_record(f"{dataset}_{index}", dataset, pair["winner"], causal.get(dataset, {}).get(pair["id"]))
            for dataset, pairs in results.items()
            for index, pair in enumerate(pairs)
        ]
        assert (RSI.score_records(records) or 0.0) == pytest.approx(100 * expected["rsi"]), name
        for metric, key in ((RSI_CAUSAL, "rsi_dc"), (RSI_NON_CAUSAL, "rsi_dnc"), (CCI, "cci")):
            value = expected[key]
            assert metric.score_records(records) == (None if value is None else pytest.approx(100 * value)), (name, key)
        # The study of people gives half for what cannot be told.
        credit = {"forward": 100.0, "backward": 0.0}
        credited = [one.with_fields(human_credit=credit.get(str(one.answered), 50.0)) for one in records]
        assert (HUMAN_PROTOCOL.score_records(credited) or 0.0) == pytest.approx(100 * halves[name]), name
    names = oracle["extras"]["normalize_dataset_name"]
    assert {source: official_dataset(source) for source in names} == names


def test_winners_are_those_of_the_official_run(oracle: dict[str, Any]) -> None:
    """Ours names what is not finite; the official code calls it a tie, and it counts the same."""
    case = oracle["extras"]["evaluate_py_dummy_run"]
    table = {
        name: float("nan") if loss == "nan" else sum(loss) / len(loss) if isinstance(loss, list) else loss
        for name, loss in case["loss_table"].items()
    }
    pairs, causal, discriminable = [], {}, {}
    for row in case["metadata"]:
        number = row["id"]
        if str(number) in case["winners"]:
            winner = compare_losses(table[f"f{number}.mp4"], table[f"b{number}.mp4"])
            assert ("tie" if winner is Winner.NON_FINITE else winner.value) == case["winners"][str(number)]
            pairs.append({"id": number, "winner": winner.value})
            causal[number], discriminable[number] = row["vlm_causality"], row["human_discriminable"]
    per_dataset, overall = official({"physics": pairs}, {"physics": causal}, {"physics": discriminable})
    assert overall == pytest.approx(case["overall_metrics"])
    assert per_dataset["physics"] == pytest.approx(case["per_dataset_metrics"]["physics"])


def rebuilt(model: str) -> list[Record]:
    """Records with exactly the counts behind a model's row, in an order that says nothing."""
    drawn = []
    for subset, parts in COUNTS["models"][model]["counts"].items():
        for causal, (pairs, wins) in zip((True, False), (parts["causal"], parts["non_causal"]), strict=True):
            for index in range(pairs):
                winner = "forward" if index < wins else "backward"
                drawn.append(pair_record(f"{subset}-{causal}-{index}", subset, winner, causal))
    random.Random(0).shuffle(drawn)
    return drawn


@pytest.mark.slow
def test_tables_4_and_5_and_the_ranking_come_out_of_their_counts() -> None:
    scores = {}
    for model, facts in COUNTS["models"].items():
        printed, records = facts["printed"], rebuilt(model)
        for name in SUBSETS:
            part = [record for record in records if record.stratum["subset"] == name]
            assert RSI.score_records(part) == pytest.approx(printed[name], abs=0.0051)
        rsi, cci = RSI.score_records(records), CCI.score_records(records)
        # The paper averages its four printed cells, so that their rounding adds to that of the mean.
        assert rsi is not None and cci is not None and rsi == pytest.approx(printed["RSI(D)"], abs=0.01)
        assert cci == pytest.approx(printed["CCI(D)"], abs=0.0051)
        for metric, name in (
            (RSI_CAUSAL, "RSI(Dc)"), (RSI_NON_CAUSAL, "RSI(Dnc)"), (CCI_NORMALISED, "Normalized CCI")
        ):  # fmt: skip
            assert metric.score_records(records) == pytest.approx(printed[name], abs=0.0051), (model, name)
        scores[model] = (rsi, cci)
    ranked = {row.model: [row.rank, row.rsi_rank, row.cci_rank] for row in rank_models(scores)}
    assert ranked == {model: facts["ranks"] for model, facts in COUNTS["models"].items()}
    assert list(ranked) == sorted(ranked, key=lambda model: ranked[model][0])


def test_what_is_not_finite_stays_in_the_denominator_and_what_is_unscored_leaves_it() -> None:
    records = [pair_record(winner.value, "s", winner.value) for winner in Winner]
    assert compare_losses(1.0, math.inf) is compare_losses(math.nan, 1.0) is Winner.NON_FINITE
    assert [metric.score_records(records) for metric in (RSI, TIE_RATE, NON_FINITE_RATE, PAIRS)] == [25, 25, 25, 4]
    unscored = [pair_record("b", "s", None), pair_record("c", "t", None)]
    assert [metric.score_records([records[0], *unscored]) for metric in (RSI, PAIRS)] == [100, 1]
    assert [metric.score_records(unscored) for metric in (RSI, CCI, CCI_NORMALISED)] == [None, None, None]
    assert estimate(RSI, [unscored]) is None


def labelled(causal: int, others: int) -> list[Record]:
    """Two hundred pairs per subset and label, of which so many percent are won by forward."""
    return [
        pair_record(f"{subset}{half}{index}", subset, "forward" if index % 100 < percent else "backward", half)
        for subset in SUBSETS
        for half, percent in ((True, causal), (False, others))
        for index in range(200)
    ]


def interval(records: list[Record], metric: Any = CCI) -> tuple[float, float]:
    found = estimate(metric, [records])
    assert found is not None
    return found.low, found.high


def test_intervals_hold_the_score_and_that_of_cci_is_of_a_difference_of_two_means() -> None:
    wins = [pair_record(str(n), SUBSETS[n % 4], "forward" if n % 10 else "backward") for n in range(200)]
    low, high = interval(wins, RSI)
    assert 50 < low < 90 < high <= 100 and (low, high) == interval(wins[::-1], RSI)
    records = labelled(70, 60)
    # Eight strata of 200: the variance of either mean of four is a sixteenth of the four binomial variances' sum.
    error = 100 * ((0.7 * 0.3 + 0.6 * 0.4) / 200 / 4) ** 0.5
    found = interval(records)
    assert found == pytest.approx((10 - 1.96 * error, 10 + 1.96 * error), abs=0.2)
    unlabelled = [pair_record(f"x{label}", SUBSETS[0], "forward", label) for label in (None, 1, "true")]
    for more in (records[::-1], [*records, *unlabelled, pair_record("y", SUBSETS[0], None, True)]):
        assert interval(more) == found
    causal = [record for record in records if record.fields["vlm_causality"]]
    assert estimate(CCI, [causal]) is estimate(CCI, [[]]) is None
    # A subset with one label alone enters the other mean.
    one_sided = [one for one in labelled(80, 50) if one.stratum["subset"] != SUBSETS[0] or one.fields["vlm_causality"]]
    low, high = interval(one_sided)
    assert CCI.score_records(one_sided) == pytest.approx(30) and 20 < low < 30 < high < 40
