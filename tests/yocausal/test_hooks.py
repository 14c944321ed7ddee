import io
import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loguru import logger
from pydantic import ValidationError
from rich.console import Console
from task_states import aggregations, task_state

from lmms_eval_tasks.host.tasks import running as submissions
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.report.score_tables import score_tables, stratum_tables
from lmms_eval_tasks.runs.folder import Run
from lmms_eval_tasks.utils.answers.losses import DenoisingResponse, Directed, ItemError, WindowRecord
from lmms_eval_tasks.utils.benchmark.tasks import SUBMISSION_ROWS
from lmms_eval_tasks.utils.reporting.columns import RunRecords
from lmms_eval_tasks.utils.scoring.record import GradedItem, Outcome, Record, UnscoredReason
from lmms_eval_tasks.utils.submission.form import Table
from lmms_eval_tasks.yocausal import card, hooks
from lmms_eval_tasks.yocausal.card import OPTIONS, QUESTION, SUBSETS
from lmms_eval_tasks.yocausal.hooks import PairFields
from lmms_eval_tasks.yocausal.pair_table import stratum
from lmms_eval_tasks.yocausal.report import COLUMNS, panels
from lmms_eval_tasks.yocausal.result_file import build_result

STATE, VLM = task_state("yocausal"), task_state("yocausal_vlm")
SCORES = registry().find_task("yocausal").kind.metrics
Items = dict[str, Any]


def doc(item_id: str = "animal_1", **changes: Any) -> dict[str, Any]:
    subset, _, number = item_id.partition("_")
    released = {"id": int(number), "resolution": [4, 4], "video_path_forward": "f", "video_path_backward": "b"}
    return {
        "item_id": item_id, "group_id": item_id, "subset": subset, "category": "fall", "caption": "a ball falls",
        "question": QUESTION, "options": list(OPTIONS), "answer": "A", "vlm_causality": True,
        "human_discriminable": None, "motion_symmetric": True, "asked": True, "clip_present": True,
        "dataset_source": "", "released": json.dumps(released), **changes,
    }  # fmt: skip


def answer(item_id: str = "animal_1", forward: float = 1.0, backward: float = 2.0, **versions: str) -> str:
    return DenoisingResponse(
        item_id=item_id,
        loss=Directed(forward=forward, backward=backward),
        losses=Directed(forward=[[forward, forward]], backward=[[backward, backward]]),
        timesteps=[100.0, 200.5],
        windows=[WindowRecord(start=0, stop=5, borrowed=0, skipped=0, latents=2)],
        settings={"model": "Toy", "combine": "latents"},
        settings_digest="0" * 16,
        versions=versions,
    ).to_json()


def refusal(item_id: str = "animal_1") -> str:
    return DenoisingResponse(item_id=item_id, error=ItemError(kind="short_clip", message="Too short.")).to_json()


def submitted(items: Items) -> Items:
    """What of an item goes to the submission."""
    return dict(GradedItem.from_json(items[SUBMISSION_ROWS]).submission)


def finish(items: Sequence[Items], output_path: Path | None = None) -> tuple[int | None, list[str]]:
    """What the end of a run returns, and which warnings it logs of the task."""
    logged: list[str] = []
    sink = logger.add(lambda message: logged.append(message.record["message"]), level="WARNING")
    try:
        rows = aggregations(STATE)[SUBMISSION_ROWS](
            [found[SUBMISSION_ROWS] for found in items], SimpleNamespace(output_path=output_path and str(output_path))
        )
    finally:
        logger.remove(sink)
    return rows, [line for line in logged if line.startswith("yocausal: ")]


@pytest.mark.parametrize(
    ("response", "outcome", "winner", "reason", "detail"),
    [
        (answer(), Outcome.CORRECT, "forward", None, ""),
        (answer(forward=3.0), Outcome.WRONG, "backward", None, ""),
        (answer(forward=2.0), Outcome.WRONG, "tie", None, ""),
        (answer(forward=math.nan), Outcome.WRONG, "non_finite", None, ""),
        (refusal(), Outcome.UNSCORED, None, UnscoredReason.SHORT_CLIP, "Too short."),
        (
            answer("animal_2"),
            Outcome.UNSCORED,
            None,
            UnscoredReason.OTHER_ITEM,
            "The response is about animal_2, not about this pair.",
        ),
        ("It is played forward.", Outcome.UNPARSED, None, None, hooks.NO_LOSSES),
        ("{" * 10_000, Outcome.UNPARSED, None, None, hooks.NO_LOSSES),
        ('{"loss": 1}', Outcome.UNPARSED, None, None, hooks.NO_LOSSES),
        (None, Outcome.UNPARSED, None, None, hooks.NO_LOSSES),
    ],
)
def test_a_response_becomes_a_record(
    response: Any, outcome: Outcome, winner: str | None, reason: UnscoredReason | None, detail: str
) -> None:
    items = STATE.process_results(doc(), [response])
    record = Record.from_json(json.loads(json.dumps(items["record"])))
    assert (record.outcome, record.answered) == (outcome, winner)
    assert (record.unscored_reason, record.detail) == (reason, detail)
    assert card.UNPARSED_RATE.value(record) == items["unparsed_rate"] == 100 * (outcome is Outcome.UNPARSED)
    assert bool(submitted(items)) == (winner is not None)
    assert items["rsi"] == card.RSI.item(record)
    scored = {metric.name for metric in SCORES if metric.applies(record)}
    assert {"rsi_motion_symmetric", "rsi_animal"} <= scored and "rsi_human" not in scored


@given(st.text() | st.none() | st.integers())
def test_nothing_that_a_model_says_raises(response: Any) -> None:
    assert STATE.process_results(doc(), [response])["record"]["outcome"] == "unparsed"
    assert VLM.process_results(doc(), [response])["record"]["item_id"] == "animal_1"
    assert STATE.process_results(doc(), [])["record"]["outcome"] == "unparsed"


@pytest.mark.parametrize(
    "change",
    [
        {"losses": None},
        {"losses": {"forward": [], "backward": []}, "windows": []},
        {"losses": {"forward": [[1.0, 1.0]], "backward": [[1.0]]}},
        {"timesteps": [100.0, 200.0, 300.0]},
        {"timesteps": []},
        {"windows": [{"start": 0, "stop": 5, "borrowed": 0, "skipped": 2, "latents": 0}]},
    ],
)
def test_losses_without_their_table_are_no_answer(change: dict[str, Any]) -> None:
    said = json.dumps({**json.loads(answer()), **change})
    items = STATE.process_results(doc(), [said])
    assert (items["record"]["outcome"], items["record"]["detail"]) == ("unparsed", hooks.NO_LOSSES)
    assert submitted(items) == {}


def test_a_pair_without_its_clips_is_unscored_whatever_was_said() -> None:
    items = STATE.process_results(doc(asked=False), [answer()])
    assert (items["record"]["outcome"], items["record"]["unscored_reason"]) == ("unscored", "no clip")
    assert items["unparsed_rate"] is None and submitted(items) == {}


def gathered() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Two subsets with wins, a tie, a loss that is not finite and a pair without losses."""
    said = {
        "animal_1": (doc("animal_1"), answer("animal_1")),
        "animal_2": (doc("animal_2", vlm_causality=False), answer("animal_2", forward=3.0)),
        "animal_3": (doc("animal_3", motion_symmetric=False), answer("animal_3", forward=2.0)),
        "human_1": (doc("human_1", vlm_causality=None), answer("human_1")),
        "human_2": (doc("human_2", vlm_causality=False, motion_symmetric=False), answer("human_2", forward=math.inf)),
        "human_3": (doc("human_3"), refusal("human_3")),
    }
    return [(row, STATE.process_results(row, [response])) for row, response in said.values()]


def test_scores_of_a_run() -> None:
    records = [Record.from_json(found["record"]) for _, found in gathered()]
    scores = {
        metric.name: metric.score([metric.item(one) for one in records if metric.applies(one)]) for metric in SCORES
    }
    assert scores["rsi"] == pytest.approx((100 / 3 + 50) / 2)
    assert (scores["rsi_causal"], scores["rsi_non_causal"], scores["cci"]) == (50, 0, 50)
    assert scores["cci_normalised"] == pytest.approx(100 * 50 / 8.67)
    assert (scores["rsi_discriminable"], scores["rsi_non_discriminable"]) == (None, None)
    assert (scores["tie_rate"], scores["non_finite_rate"]) == (20, 20)
    assert scores["rsi_motion_symmetric"] == 75
    assert scores["unscored_rate"] == pytest.approx(100 / 6)
    assert card.RSI.score([]) is None and card.TIE_RATE.score([]) is None


def test_lost_pairs_are_named_with_their_reason() -> None:
    whole = [found for row, found in gathered() if row["item_id"] != "human_2"]
    assert finish(whole) == (
        None,
        ["yocausal: 1 of 5 pairs have no losses and leave every score:\n  human_3: Too short."],
    )
    assert finish(whole[:1]) == (None, [])


def test_pairs_whose_loss_is_not_finite_are_named() -> None:
    _, (lost, broken) = finish([found for _, found in gathered()])
    assert lost == "yocausal: 1 of 6 pairs have no losses and leave every score:\n  human_3: Too short."
    assert broken == (
        "yocausal: 1 of 6 pairs have a loss that is NaN or infinite, which is no win and stays in the denominator: "
        "human_2. If it is most of them, try dtype=float32."
    )


def test_the_result_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row for row, _ in gathered()]
    graded = [found for _, found in gathered()]
    items = [submission for found in graded if (submission := submitted(found))]
    monkeypatch.setattr(submissions, "read_prepared", lambda *_: Table("test", rows, False))
    assert finish(graded[::-1], tmp_path)[0] == 5
    text = (tmp_path / "submissions" / "yocausal_results.json").read_text(encoding="utf-8")
    assert text == json.dumps(build_result(items, rows), ensure_ascii=False, indent=2) + "\n"
    result = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    assert [pair["comparison"]["winner"] for pair in result["per_video_results"]] == [
        "forward", "backward", "tie", "forward", "tie",
    ]  # fmt: skip
    assert [pair["id"] for pair in result["per_video_results"]] == [1, 2, 3, 1, 2]
    assert result["per_dataset_metrics"]["animal"]["rsi"] == pytest.approx(1 / 3)
    assert result["overall_metrics"]["cci"] == pytest.approx(0.5)
    assert result["per_video_results"][0]["forward_metrics"] == {
        "total_accumulated_loss": 1.0, "step_losses": {"100": 1.0, "200.5": 1.0},
    }  # fmt: skip
    assert result["per_video_results"][4]["forward_metrics"]["total_accumulated_loss"] is None
    assert finish(graded)[0] is None


def test_a_run_that_went_on_after_an_upgrade_names_every_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [doc(f"animal_{number}") for number in (1, 2, 3)]
    monkeypatch.setattr(submissions, "read_prepared", lambda *_: Table("test", rows, False))
    told: list[str] = []

    def versions(*used: dict[str, str]) -> dict[str, str]:
        responses = [answer(row["item_id"], **found) for row, found in zip(rows, used, strict=True)]
        items = [STATE.process_results(row, [one]) for row, one in zip(rows, responses, strict=True)]
        told.extend(finish(items, tmp_path)[1])
        written = (tmp_path / "submissions" / "yocausal_results.json").read_text(encoding="utf-8")
        found: dict[str, str] = json.loads(written)["eval_settings"]["versions"]
        return found

    old, new = {"torch": "2.5.1", "diffusers": "0.35"}, {"torch": "2.6.0", "diffusers": "0.35"}
    assert versions(old, old, old) == old
    assert told == []
    assert versions(new, old, new) == {"torch": "2.5.1, 2.6.0", "diffusers": "0.35"}
    assert told == [
        "yocausal: pairs were measured with several versions (torch 2.5.1, 2.6.0), and their losses may differ "
        "slightly. To measure all with those of today, give --model_args an empty folder as cache."
    ]
    assert versions(old, old, {"torch": "2.5.1"})["diffusers"] == "0.35, unknown"


@pytest.mark.parametrize(
    ("said", "key", "outcome", "credit"),
    [
        ("A", "A", "correct", 100.0),
        ("The answer is (B).", "A", "wrong", 0.0),
        ("C", "A", "wrong", 50.0),
        ("C", "B", "wrong", 50.0),
        ("hm", "B", "unparsed", 0.0),
    ],
)
def test_what_a_model_of_words_earns(said: str, key: str, outcome: str, credit: float) -> None:
    items = VLM.process_results(doc(answer=key), [said])
    earned = card.HUMAN_PROTOCOL.value(Record.from_json(items["record"]))
    assert (items["record"]["outcome"], earned) == (outcome, credit)
    assert not [name for name in items["record"]["fields"] if name.startswith("official")]


def test_the_human_protocol_is_a_mean_over_subsets() -> None:
    credits = [("a", 100.0), ("a", 50.0), ("b", 0.0), ("b", None)]
    items = [{"stratum": subset, "value": credit} for subset, credit in credits]
    assert card.HUMAN_PROTOCOL.score(items) == pytest.approx(37.5)
    assert card.HUMAN_PROTOCOL.score(items[3:]) is None


def test_a_report_says_where_rsi_lies() -> None:
    def cells(wins: int, of: int) -> dict[str, str]:
        records = []
        for number in range(of):
            name = f"animal_{number}"
            said = answer(name, forward=1.0 if number < wins else 3.0)
            records.append(Record.from_json(STATE.process_results(doc(name), [said])["record"]))
        return {column.heading: column.cell([records]) for column in COLUMNS}

    assert cells(38, 40)["RSI"].startswith("95.0 [")
    assert [cells(wins, 40)["vs 50"] for wins in (38, 20, 2)] == ["above", "open", "below"]
    assert cells(0, 0)["RSI"] == cells(0, 0)["vs 50"] == cells(0, 0)["unscored"] == "N/A"
    assert cells(38, 40)["CCI"] == "N/A" and cells(38, 40)["pairs"] == "40"


def test_a_report_says_how_sure_cci_is_and_fits_a_terminal() -> None:
    records = []
    for subset in SUBSETS:
        for number in range(60):
            item, causal = f"{subset}_{number}", number % 2 == 0
            said = answer(item, forward=1.0 if number % (6 if causal else 3) else 3.0)
            judged = STATE.process_results(doc(item, vlm_causality=causal), [said])["record"]
            records.append(Record.from_json(judged))
    run = Run(Path("x"), "a model with a long name, video_diffusion", {"yocausal": tuple(records)}, {}, {})
    console = Console(width=100, record=True, file=io.StringIO())
    for table in [*score_tables([run]), *stratum_tables(run, ["subset", "causality"])]:
        console.print(table)
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= 100
    shown = {column.heading: column.cell([records]) for column in COLUMNS}
    cci, low, high = (float(number) for number in re.findall(r"-?[\d.]+", shown["CCI"]))
    assert low < cci < high and cci == pytest.approx(float(shown["Dc"]) - float(shown["Dnc"]), abs=0.11)
    human = [float(number) for number in re.findall(r"-?[\d.]+", shown["% of human"])]
    assert human == pytest.approx([100 * value / 8.67 for value in (cci, low, high)], abs=1)


def test_a_report_draws_the_losses_against_the_timestep() -> None:
    answers = [
        DenoisingResponse(
            item_id=f"animal_{number}",
            loss=Directed(forward=1.0, backward=2.0),
            losses=Directed(forward=[[number, 5.0]], backward=[[math.inf if number == 1 else 4.0, 6.0]]),
            timesteps=[100.0, 200.5],
            windows=[WindowRecord(start=0, stop=5, borrowed=0, skipped=0, latents=2)],
        )
        for number in (1, 2, 6)
    ]
    logged = [STATE.process_results(doc(one.item_id), [one.to_json()])["record"] for one in answers]
    (panel,) = [one for one in panels("yocausal", [RunRecords("1", "Toy", [list(map(Record.from_json, logged))])])
                if one.title == "Loss against the timestep"]  # fmt: skip
    rows = panel.all_figures[0].table().rows
    found = [(label, at.value, loss.value, loss.n) for label, _, at, loss in rows]  # type: ignore[union-attr]
    # Of the reversed clips one has a loss that is not finite at the first timestep.
    assert found == [
        ("forward", 100.0, 3.0, 3), ("forward", 200.5, 5.0, 3), ("reversed", 100.0, 4.0, 2), ("reversed", 200.5, 6.0, 3)
    ]  # fmt: skip
    low, high = rows[0][3].low, rows[0][3].high  # type: ignore[union-attr]
    assert low is not None and high is not None and 1.0 <= low < 3.0 < high <= 6.0
    # A log that was changed by hand is refused before it is drawn.
    assert PairFields.model_validate(logged[0]["fields"]).timesteps == [100.0, 200.5]
    for change in ({"steps": None}, {"timesteps": [100.0]}):
        with pytest.raises(ValidationError, match="Expected a loss at each timestep"):
            PairFields.model_validate(logged[0]["fields"] | change)
    # Runs that were logged before have none, and no panel.
    for record in logged:
        del record["fields"]["steps"], record["fields"]["timesteps"]
    old = RunRecords("1", "Toy", [list(map(Record.from_json, logged))])
    assert "Loss against the timestep" not in [one.title for one in panels("yocausal", [old])]


def test_every_released_subset_has_its_metrics() -> None:
    for task, prefix in (("yocausal", "rsi"), ("yocausal_vlm", "pair_accuracy")):
        known = registry().find_task(task)
        assert known is not None
        assert {f"{prefix}_{subset}" for subset in SUBSETS} <= {metric.name for metric in known.kind.metrics}


def test_the_motion_symmetric_score_is_in_the_table_and_breaks_scores_down_by_its_name() -> None:
    assert card.RSI_SYMMETRIC in [column.metric for column in COLUMNS]
    labels = dict.fromkeys(("subset", "category"), "animal") | dict.fromkeys(("vlm_causality", "human_discriminable"))
    assert stratum({**labels, "motion_symmetric": True})["motion_symmetric"] == "symmetric"
