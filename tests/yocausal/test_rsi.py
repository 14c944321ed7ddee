"""RSI and CCI: the official functions on the oracle's sets, Tables 4 and 5 from their counts, and intervals."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from oracles import read_oracle
from yocausal_records import pair_record

from lmms_eval_tasks.utils.scoring.bootstrap import estimate
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
from lmms_eval_tasks.yocausal.ranking import rank_models
from lmms_eval_tasks.yocausal.result_file import official_dataset, official_metrics

COUNTS = json.loads((Path(__file__).parent / "yocausal_counts.json").read_text(encoding="utf-8"))
SUBSETS = ("General", "Physics", "Human", "Animal")


@pytest.fixture(scope="module")
def oracle() -> dict[str, Any]:
    metrics: dict[str, Any] = read_oracle("yocausal_metrics.json")
    return metrics


def labels(value: dict[str, dict[str, Any]] | None) -> dict[str, dict[int, Any]]:
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


def with_human_credit(winner: str | None, record: Record) -> Record:
    """A record with what the study of people gives its winner: half of it where it is no direction."""
    return record.with_fields(human_credit={"forward": 100.0, "backward": 0.0}.get(str(winner), 50.0))


def test_scores_are_those_of_the_official_functions(oracle: dict[str, Any]) -> None:
    halves = oracle["extras"]["tie_half_rsi_NOT_official"]
    for case in oracle["sets"]:
        inputs, name, expected = case["inputs"], case["name"], case["compute_overall_metrics"]
        causal, results = labels(inputs["causality_labels"]), inputs["dataset_results"]
        per_dataset, overall = official(results, causal, labels(inputs["human_disc_labels"]))
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
        credited = [with_human_credit(one.answered, one) for one in records]
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


def test_equal_models_share_a_rank_and_the_next_is_left_out() -> None:
    ranked = rank_models({"b": (60.0, 1.0), "a": (60.0, 1.0), "c": (50.0, 0.0)})
    assert [(row.model, row.rank, row.rsi_rank, row.cci_rank) for row in ranked] == [
        ("a", 1, 1, 1), ("b", 1, 1, 1), ("c", 3, 3, 3),
    ]  # fmt: skip


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


def test_the_official_scores_of_nothing_of_one_label_and_of_ties() -> None:
    nothing = dict.fromkeys(("rsi_dc", "rsi_dnc", "cci", "rsi_hd", "rsi_hnd"))
    counts = dict.fromkeys(("forward_wins", "backward_wins", "ties", "total"), 0)
    assert official({"mit": []}, {"mit": {1: True}}) == ({}, {"rsi": 0.0, **counts, **nothing})

    def pairs(*winners: str) -> list[dict[str, Any]]:
        return [{"id": number, "winner": winner} for number, winner in enumerate(winners, 1)]

    results = {"a": pairs("forward", "backward"), "b": pairs("backward")}
    _, overall = official(results, {"a": {1: True, 2: False}, "b": {1: True}})
    assert (overall["rsi_dc"], overall["rsi_dnc"], overall["cci"]) == (0.5, 0.0, 0.5)
    _, overall = official({"a": pairs("forward", "tie", "unknown", "backward")})
    assert (overall["rsi"], overall["ties"], overall["total"]) == (0.25, 2, 4)
