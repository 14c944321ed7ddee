import json
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import read_oracle

from lmms_eval_tasks.yocausal.rsi import (
    HUMAN_TIE,
    Counts,
    Verdict,
    Winner,
    compare_losses,
    count_subsets,
    count_verdicts,
    official_dataset,
    official_overall,
    official_per_dataset,
    rank_models,
    score_subsets,
)
from lmms_eval_tasks.yocausal.rsi_intervals import cci_interval, rsi_interval

COUNTS = json.loads((Path(__file__).parent / "yocausal_counts.json").read_text(encoding="utf-8"))
SUBSETS = ("General", "Physics", "Human", "Animal")
WINNERS = [winner.value for winner in Winner]

verdicts = st.lists(
    st.builds(
        Verdict,
        item_id=st.uuids().map(str),
        subset=st.sampled_from(SUBSETS),
        winner=st.sampled_from([*WINNERS, "unknown", None]),
        causal=st.sampled_from([True, False, None, 1, "true"]),
        discriminable=st.sampled_from([True, False, None]),
    ),
    max_size=60,
)


@pytest.fixture(scope="module")
def oracle() -> dict[str, Any]:
    found: dict[str, Any] = read_oracle("yocausal_metrics.json")
    return found


def labels(value: dict[str, dict[str, Any]] | None) -> dict[str, dict[int, Any]] | None:
    """JSON has no whole-number keys; the official functions have."""
    if value is None:
        return None
    return {dataset: {int(key): label for key, label in part.items()} for dataset, part in value.items()}


def test_scores_are_the_official_functions(oracle: dict[str, Any]) -> None:
    for case in oracle["sets"]:
        inputs = case["inputs"]
        arguments = (
            inputs["dataset_results"],
            labels(inputs["causality_labels"]),
            labels(inputs["human_disc_labels"]),
        )
        assert official_overall(*arguments) == pytest.approx(case["compute_overall_metrics"]), case["name"]
        per_dataset = official_per_dataset(*arguments)
        assert per_dataset.keys() == case["compute_per_dataset_metrics"].keys()
        for dataset, expected in case["compute_per_dataset_metrics"].items():
            assert per_dataset[dataset] == pytest.approx(expected), (case["name"], dataset)


def test_a_tie_may_count_half(oracle: dict[str, Any]) -> None:
    halves = oracle["extras"]["tie_half_rsi_NOT_official"]
    for case in oracle["sets"]:
        rsi = official_overall(case["inputs"]["dataset_results"], tie_credit=HUMAN_TIE)["rsi"]
        assert rsi == pytest.approx(halves[case["name"]]), case["name"]


def test_datasets_are_named_as_officially(oracle: dict[str, Any]) -> None:
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
        if str(number) not in case["winners"]:
            continue
        winner = compare_losses(table[f"f{number}.mp4"], table[f"b{number}.mp4"])
        official = "tie" if winner is Winner.NON_FINITE else winner.value
        assert official == case["winners"][str(number)]
        pairs.append({"id": number, "winner": winner.value})
        causal[number], discriminable[number] = row["vlm_causality"], row["human_discriminable"]
    arguments = {"physics": pairs}, {"physics": causal}, {"physics": discriminable}
    assert official_overall(*arguments) == pytest.approx(case["overall_metrics"])
    assert official_per_dataset(*arguments)["physics"] == pytest.approx(case["per_dataset_metrics"]["physics"])


def rebuilt(model: str) -> Iterator[Verdict]:
    """Verdicts with exactly the counts behind a model's row, in an order that says nothing."""
    drawn = []
    for subset, parts in COUNTS["models"][model]["counts"].items():
        for causal, (pairs, wins) in zip((True, False), (parts["causal"], parts["non_causal"]), strict=True):
            drawn += [
                Verdict(f"{subset}-{causal}-{index}", subset, "forward" if index < wins else "backward", causal)
                for index in range(pairs)
            ]
    random.Random(0).shuffle(drawn)
    yield from drawn


@pytest.mark.parametrize("model", COUNTS["models"])
def test_tables_4_and_5_come_out_of_their_counts(model: str) -> None:
    printed = COUNTS["models"][model]["printed"]
    subsets = count_subsets(rebuilt(model))
    for name in SUBSETS:
        assert score_subsets({name: subsets[name]}).rsi == pytest.approx(printed[name], abs=0.0051)
    scores = score_subsets(subsets)
    # The paper averages its four printed cells, so that their rounding adds to that of the mean.
    assert scores.rsi == pytest.approx(printed["RSI(D)"], abs=0.01)
    assert scores.rsi_causal == pytest.approx(printed["RSI(Dc)"], abs=0.0051)
    assert scores.rsi_non_causal == pytest.approx(printed["RSI(Dnc)"], abs=0.0051)
    assert scores.cci == pytest.approx(printed["CCI(D)"], abs=0.0051)
    assert scores.cci_normalised == pytest.approx(printed["Normalized CCI"], abs=0.0051)


def test_the_ranking_is_the_recomputed_one() -> None:
    scores = {}
    for model in COUNTS["models"]:
        found = score_subsets(count_subsets(rebuilt(model)))
        assert found.rsi is not None and found.cci is not None
        scores[model] = (found.rsi, found.cci)
    ranked = {row.model: [row.rank, row.rsi_rank, row.cci_rank] for row in rank_models(scores)}
    assert ranked == {model: facts["ranks"] for model, facts in COUNTS["models"].items()}
    assert list(ranked) == sorted(ranked, key=lambda model: ranked[model][0])


def test_equal_models_share_a_rank_and_the_next_is_left_out() -> None:
    ranked = rank_models({"b": (60.0, 1.0), "a": (60.0, 1.0), "c": (50.0, 0.0)})
    assert [(row.model, row.rank, row.rsi_rank, row.cci_rank) for row in ranked] == [
        ("a", 1, 1, 1),
        ("b", 1, 1, 1),
        ("c", 3, 3, 3),
    ]


@pytest.mark.parametrize(
    ("forward", "backward", "winner"),
    [
        (1.0, 2.0, Winner.FORWARD),
        (2.0, 1.0, Winner.BACKWARD),
        (1.0, 1.0, Winner.TIE),
        (math.nan, 1.0, Winner.NON_FINITE),
        (1.0, math.inf, Winner.NON_FINITE),
    ],
)
def test_winner(forward: float, backward: float, winner: Winner) -> None:
    assert compare_losses(forward, backward) is winner


def test_what_is_not_finite_is_no_tie_but_stays_in_the_denominator() -> None:
    counts = count_verdicts(Verdict(str(index), "s", winner) for index, winner in enumerate(WINNERS))
    assert counts == Counts(forward=1, backward=1, tie=1, non_finite=1)
    assert counts.rate() == 0.25
    assert counts.rate(HUMAN_TIE) == 0.375


def test_unscored_pairs_leave_the_denominator() -> None:
    pairs = [Verdict("a", "s", "forward"), Verdict("b", "s", None, reason="short clip"), Verdict("c", "t", None)]
    scores = score_subsets(count_subsets(pairs))
    assert scores.rsi == 100.0
    assert scores.counts.total == 1


def test_nothing_scored_has_no_score() -> None:
    scores = score_subsets(count_subsets([Verdict("a", "s", None)]))
    assert (scores.rsi, scores.cci, scores.cci_normalised) == (None, None, None)
    assert rsi_interval([Verdict("a", "s", None)]) is None


@given(verdicts)
def test_order_shards_and_bounds(pairs: list[Verdict]) -> None:
    subsets = count_subsets(pairs)
    backwards = count_subsets(reversed(pairs))
    for name, part in subsets.items():
        assert backwards[name] == part
        split = [count_verdicts(pair for pair in pairs[start::2] if pair.subset == name) for start in (0, 1)]
        assert split[0] + split[1] == part.every
    scores = score_subsets(subsets)
    assert scores.rsi is None or 0 <= scores.rsi <= 100
    half = score_subsets(subsets, HUMAN_TIE).rsi
    assert half is None or (scores.rsi is not None and scores.rsi <= half + 1e-9)
    assert sum(pair.winner is not None for pair in pairs) == scores.counts.total


@given(verdicts)
def test_exchanging_the_directions_mirrors_rsi_at_half_credit(pairs: list[Verdict]) -> None:
    other = {"forward": "backward", "backward": "forward"}
    kept = [pair for pair in pairs if pair.winner != "non_finite"]
    mirrored = [
        Verdict(pair.item_id, pair.subset, pair.winner and other.get(pair.winner, pair.winner)) for pair in kept
    ]
    rsi = score_subsets(count_subsets(kept), HUMAN_TIE).rsi
    if rsi is not None:
        assert score_subsets(count_subsets(mirrored), HUMAN_TIE).rsi == pytest.approx(100 - rsi)


def test_interval_holds_the_score_and_excludes_chance_where_it_should() -> None:
    pairs = [Verdict(str(index), SUBSETS[index % 4], "forward" if index % 10 else "backward") for index in range(200)]
    interval = rsi_interval(pairs)
    assert interval is not None
    assert 50 < interval[0] < 90 < interval[1] <= 100
    assert interval == rsi_interval(reversed(pairs))


def labelled(causal: int, others: int, subsets: tuple[str, ...] = SUBSETS) -> list[Verdict]:
    """Two hundred pairs per subset and label, of which so many percent are won by forward."""
    return [
        Verdict(f"{subset}{half}{index}", subset, "forward" if index % 100 < percent else "backward", half)
        for subset in subsets
        for half, percent in ((True, causal), (False, others))
        for index in range(200)
    ]


def test_the_interval_of_cci_is_that_of_a_difference_of_two_means() -> None:
    pairs = labelled(70, 60)
    interval = cci_interval(pairs)
    assert interval is not None
    # Eight strata of 200: the variance of either mean of four is a sixteenth of the four binomial variances' sum.
    error = 100 * ((0.7 * 0.3 + 0.6 * 0.4) / 200 / 4) ** 0.5
    assert interval == pytest.approx((10 - 1.96 * error, 10 + 1.96 * error), abs=0.2)
    assert interval == cci_interval(reversed(pairs))
    unlabelled = [Verdict("x", SUBSETS[0], "forward", label) for label in (None, 1, "true")]
    assert interval == cci_interval([*pairs, *unlabelled, Verdict("y", SUBSETS[0], None, True)])


def test_a_subset_with_one_label_alone_enters_the_other_mean() -> None:
    pairs = [pair for pair in labelled(80, 50) if pair.subset != SUBSETS[0] or pair.causal]
    interval, scores = cci_interval(pairs), score_subsets(count_subsets(pairs))
    assert interval is not None and scores.cci == pytest.approx(30)
    assert 20 < interval[0] < 30 < interval[1] < 40


def test_without_both_labels_cci_has_no_interval() -> None:
    assert cci_interval([pair for pair in labelled(70, 60) if pair.causal]) is None
    assert cci_interval([]) is None


def test_the_official_scores_of_nothing() -> None:
    nothing = dict.fromkeys(("rsi_dc", "rsi_dnc", "cci", "rsi_hd", "rsi_hnd"))
    counts = dict.fromkeys(("forward_wins", "backward_wins", "ties", "total"), 0)
    assert official_overall({}) == {"rsi": 0.0, **counts, **nothing}
    assert official_per_dataset({"mit": []}, {"mit": {1: True}}) == {}


def test_a_dataset_with_one_label_enters_only_that_mean() -> None:
    results = {
        "a": [{"id": 1, "winner": "forward"}, {"id": 2, "winner": "backward"}],
        "b": [{"id": 1, "winner": "backward"}],
    }
    overall = official_overall(results, {"a": {1: True, 2: False}, "b": {1: True}})
    assert (overall["rsi_dc"], overall["rsi_dnc"], overall["cci"]) == (0.5, 0.0, 0.5)


def test_ties_and_unknown_winners_are_no_wins_and_stay() -> None:
    winners = ("forward", "tie", "unknown", "backward")
    results = {"a": [{"id": index, "winner": winner} for index, winner in enumerate(winners)]}
    overall = official_overall(results)
    assert (overall["rsi"], overall["ties"], overall["total"]) == (0.25, 2, 4)
