"""The hooks of YoCausal's tasks, the scores and files of a run, and what a report shows."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import refusals
from expected import Expected
from hypothesis import given
from hypothesis import strategies as st
from loguru import logger
from metric_scores import score_all
from pydantic import ValidationError
from task_states import end_task, task_state
from yocausal_records import denoised

from lmms_eval_tasks.host.tasks import running as submissions
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.answers.losses import DenoisingResponse, Directed, ItemError
from lmms_eval_tasks.utils.benchmark.tasks import SUBMISSION_ROWS
from lmms_eval_tasks.utils.core.errors import Problems
from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.reporting.columns import RunRecords
from lmms_eval_tasks.utils.scoring.record import Outcome, Record, UnscoredReason
from lmms_eval_tasks.utils.submission.form import Table
from lmms_eval_tasks.yocausal import card, hooks
from lmms_eval_tasks.yocausal.benchmark import panels, vlm_item_view
from lmms_eval_tasks.yocausal.card import OPTIONS, QUESTION
from lmms_eval_tasks.yocausal.hooks import PairFields
from lmms_eval_tasks.yocausal.result_file import build_result, check

STATE, VLM = task_state("yocausal"), task_state("yocausal_vlm")
SCORES = registry().tasks["yocausal"].kind.metrics
Items = dict[str, Any]
WHOLE = DataSet(kind=SetKind.OFFICIAL)


def doc(item_id: str = "animal_1", **changes: Any) -> Items:
    subset, _, number = item_id.partition("_")
    released = {"id": int(number), "resolution": [4, 4], "video_path_forward": "f", "video_path_backward": "b"}
    return {
        "item_id": item_id, "group_id": item_id, "subset": subset, "category": "fall", "caption": "a ball falls",
        "question": QUESTION, "options": list(OPTIONS), "answer": "A", "vlm_causality": True,
        "human_discriminable": None, "motion_symmetric": True, "asked": True, "clip_present": True,
        "dataset_source": "", "released": json.dumps(released), **changes,
    }  # fmt: skip


def answer(item_id: str = "animal_1", forward: float = 1.0, backward: float = 2.0, **more: Any) -> str:
    return denoised(item_id, forward, backward, **more)


def refusal(item_id: str = "animal_1") -> str:
    return DenoisingResponse(item_id=item_id, error=ItemError(kind="short_clip", message="Too short.")).to_json()


def graded(row: Items, response: Any) -> Record:
    """The record of a pair as the log gives it back."""
    return Record.from_json(json.loads(json.dumps(STATE.process_results(row, [response])["record"])))


def submitted(items: Items) -> Items:
    """What of an item goes to the submission."""
    return dict(items[SUBMISSION_ROWS])


def finish(items: Sequence[Items], output_path: Path | None = None) -> tuple[int | None, list[str]]:
    """What the end of a run returns, and which warnings it logs of the task."""
    logged: list[str] = []
    sink = logger.add(lambda message: logged.append(message.record["message"]), level="WARNING")
    try:
        rows = end_task(STATE, items, SimpleNamespace(output_path=output_path and str(output_path)))
    finally:
        logger.remove(sink)
    return rows, [line for line in logged if line.startswith("yocausal: ")]


CHANGES: tuple[dict[str, Any], ...] = (
    {"losses": None},
    {"losses": {"forward": [], "backward": []}, "windows": []},
    {"losses": {"forward": [[1.0, 1.0]], "backward": [[1.0]]}},
    {"timesteps": [100.0, 200.0, 300.0]},
    {"timesteps": []},
    {"windows": [{"start": 0, "stop": 5, "borrowed": 0, "skipped": 2, "latents": 0}]},
)
"""Of a response, what makes it one that no pair can be scored by."""
RESPONSES = (
    (answer(), "correct", "forward", ""),
    (answer(forward=3.0), "wrong", "backward", ""),
    (answer(forward=2.0), "wrong", "tie", ""),
    (answer(forward=math.nan), "wrong", "non_finite", ""),
    (refusal(), "unscored", None, "short clip: Too short."),
    (answer("animal_2"), "unscored", None, "other item: The response is about animal_2, not about this pair."),
    *((said, "unparsed", None, hooks.NO_LOSSES) for said in ("It is played forward.", "{" * 10_000, '{"loss": 1}')),
    (None, "unparsed", None, f"empty: {hooks.NO_LOSSES}"),
    *((json.dumps(json.loads(answer()) | change), "unparsed", None, hooks.NO_LOSSES) for change in CHANGES),
)


@pytest.mark.parametrize(("response", "outcome", "winner", "why"), RESPONSES, ids=count())
def test_a_response_becomes_a_record(response: Any, outcome: str, winner: str | None, why: str) -> None:
    items = STATE.process_results(doc(), [response])
    record = Record.from_json(json.loads(json.dumps(items["record"])))
    assert (record.outcome.value, record.answered, record.why) == (outcome, winner, why)
    assert card.UNPARSED_RATE.value(record) == items["unparsed_rate"] == 100 * (outcome == "unparsed")
    assert bool(submitted(items)) == (winner is not None)
    assert items["rsi"] is None, "its strata have no standard error of items"
    scored = {metric.name for metric in SCORES if metric.applies(record)}
    assert {"rsi_motion_symmetric", "rsi_animal"} <= scored and "rsi_human" not in scored


@pytest.mark.slow
@given(st.text() | st.none() | st.integers())
def test_nothing_that_a_model_says_raises_or_makes_up_for_missing_clips(response: Any) -> None:
    assert graded(doc(), response).outcome is Outcome.UNPARSED
    assert VLM.process_results(doc(), [response])["record"]["item_id"] == "animal_1"
    assert STATE.process_results(doc(), [])["record"]["outcome"] == "unparsed"
    for said in (response, answer()):
        items = STATE.process_results(doc(asked=False), [said])
        assert (items["record"]["outcome"], items["record"]["unscored_reason"]) == ("unscored", "no clip")
        assert items["unparsed_rate"] is None and submitted(items) == {}


def gathered() -> tuple[list[Items], list[Items]]:
    """Two subsets with wins, a tie, a loss that is not finite and a pair without losses: rows, and what they gave."""
    rows = [
        doc("animal_1"), doc("animal_2", vlm_causality=False), doc("animal_3", motion_symmetric=False),
        doc("human_1", vlm_causality=None), doc("human_2", vlm_causality=False, motion_symmetric=False), doc("human_3"),
    ]  # fmt: skip
    losses = (1.0, 3.0, 2.0, 1.0, math.inf, None)
    said = [
        answer(row["item_id"], loss) if loss else refusal("human_3") for row, loss in zip(rows, losses, strict=True)
    ]
    return rows, [STATE.process_results(row, [response]) for row, response in zip(rows, said, strict=True)]


def test_scores_of_a_run() -> None:
    scores = score_all(SCORES, [Record.from_json(found["record"]) for found in gathered()[1]])
    assert scores["rsi"] == pytest.approx((100 / 3 + 50) / 2)
    assert (scores["rsi_causal"], scores["rsi_non_causal"], scores["cci"]) == (50, 0, 50)
    assert scores["cci_normalised"] == pytest.approx(100 * 50 / 8.67)
    assert (scores["rsi_discriminable"], scores["rsi_non_discriminable"]) == (None, None)
    assert (scores["tie_rate"], scores["non_finite_rate"], scores["rsi_motion_symmetric"]) == (20, 20, 75)
    assert scores["unscored_rate"] == pytest.approx(100 / 6)
    assert card.RSI.score_records([]) is None and card.TIE_RATE.score_records([]) is None


def test_the_result_file_and_what_a_run_ends_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: Expected
) -> None:
    rows, found = gathered()
    items = [submission for one in found if (submission := submitted(one))]
    monkeypatch.setattr(submissions, "read_prepared", lambda *_: Table("test", rows, WHOLE))
    number, warnings = finish(found[::-1], tmp_path)
    assert number == 5 and finish(found)[0] is None and finish(found[:1]) == (None, [])
    expected("\n".join(warnings))
    text = (tmp_path / "submissions" / "yocausal_results.json").read_text(encoding="utf-8")
    result = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    assert result == json.loads(json.dumps(build_result(items, rows)))
    pairs = result["per_video_results"]
    winners = [(pair["id"], pair["comparison"]["winner"]) for pair in pairs]
    assert winners == [(1, "forward"), (2, "backward"), (3, "tie"), (1, "forward"), (2, "tie")]
    assert result["per_dataset_metrics"]["animal"]["rsi"] == pytest.approx(1 / 3)
    assert result["overall_metrics"]["cci"] == pytest.approx(0.5)
    # The check of a file that was sent in says what it found and against what, also of fewer pairs than were prepared.
    file, issues = tmp_path / "submissions" / "yocausal_results.json", Problems()
    table = Table("test", rows, DataSet(kind=SetKind.OFFICIAL))
    checked = check(file, {"test": table}, True, issues)
    assert not len(issues) and (checked.form, checked.rows, checked.empty) == ("YoCausal, split test", 5, 0)
    assert checked.against is table and checked.checked.endswith(f"and the pairs against {table}")
    assert checked.notes[-1].startswith("Incomplete: 1 of 6")
    assert not any("other labels" in note for note in checked.notes)
    others = [{**row, card.LABELS[0]: "another"} if number in (0, 2) else row for number, row in enumerate(rows)]
    relabelled = check(file, {"test": Table("test", others, WHOLE)}, True, issues)
    assert "Pairs with other labels than the prepared table: 2." in relabelled.notes
    unprepared = check(file, {}, True, issues)
    assert unprepared.against is None and unprepared.checked.endswith("no ids: the data is not prepared here")
    steps = {"total_accumulated_loss": 1.0, "step_losses": {"100": 1.0, "200.5": 1.0}}
    assert pairs[0]["forward_metrics"] == steps and pairs[4]["forward_metrics"]["total_accumulated_loss"] is None


def test_what_does_not_follow_from_the_pairs_of_a_result_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: Expected
) -> None:
    rows, found = gathered()
    monkeypatch.setattr(submissions, "read_prepared", lambda *_: Table("test", rows, WHOLE))
    finish(found, tmp_path)
    file = tmp_path / "submissions" / "yocausal_results.json"
    text = file.read_text(encoding="utf-8")

    def faults(change: Callable[[Any], object]) -> str:
        result, issues = json.loads(text), Problems()
        change(result)
        file.write_text(json.dumps(result), encoding="utf-8")
        check(file, {"test": Table("test", rows, WHOLE)}, True, issues)
        return refusals.refusal(issues.raise_if_any, "It is not valid")

    changes: list[Callable[[Any], object]] = [
        lambda result: result["per_video_results"].clear(),
        lambda result: result["per_video_results"][0].update(id=99),
        lambda result: result["per_video_results"][0]["comparison"].update(winner="tie"),
        lambda result: result["per_video_results"][0]["comparison"].update(loss_diff=7.5),
        lambda result: result["per_video_results"][0]["forward_metrics"].update(total_accumulated_loss=None),
        lambda result: result["per_dataset_metrics"]["animal"].pop("rsi"),
        lambda result: result["per_dataset_metrics"]["animal"].update(rsi=0.9),
        lambda result: result["overall_metrics"].update(cci=None),
        lambda result: result["per_dataset_metrics"].update(mineral=result["per_dataset_metrics"].pop("animal")),
    ]
    expected("\n\n".join(map(faults, changes)))


def test_a_run_that_went_on_after_an_upgrade_names_every_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: Expected
) -> None:
    rows = [doc(f"animal_{number}") for number in (1, 2, 3)]
    monkeypatch.setattr(submissions, "read_prepared", lambda *_: Table("test", rows, WHOLE))

    def ended(*used: dict[str, str]) -> tuple[dict[str, str], list[str]]:
        said = [answer(row["item_id"], versions=of_row) for row, of_row in zip(rows, used, strict=True)]
        items = [STATE.process_results(row, [one]) for row, one in zip(rows, said, strict=True)]
        warnings = finish(items, tmp_path)[1]
        written = json.loads((tmp_path / "submissions" / "yocausal_results.json").read_text(encoding="utf-8"))
        return written["eval_settings"]["versions"], warnings

    old, new = {"torch": "2.5.1", "diffusers": "0.35"}, {"torch": "2.6.0", "diffusers": "0.35"}
    assert ended(old, old, old) == (old, [])
    versions, warnings = ended(new, old, new)
    assert versions == {"torch": "2.5.1, 2.6.0", "diffusers": "0.35"}
    expected("\n".join(warnings))
    assert ended(old, old, {"torch": "2.5.1"})[0]["diffusers"] == "0.35, unknown"


def test_what_a_model_of_words_earns() -> None:
    for said, key, outcome, credit in (
        ("A", "A", "correct", 100.0),
        ("The answer is (B).", "A", "wrong", 0.0),
        ("C", "A", "wrong", 50.0),
        ("C", "B", "wrong", 50.0),
        ("hm", "B", "unparsed", 0.0),
    ):
        record = VLM.process_results(doc(answer=key), [said])["record"]
        assert (record["outcome"], card.HUMAN_PROTOCOL.value(Record.from_json(record))) == (outcome, credit)


@pytest.mark.parametrize(("key", "unasked"), [("A", "reversed"), ("B", "forward")])
def test_of_a_pair_a_model_of_words_was_shown_the_clip_of_the_key(key: str, unasked: str) -> None:
    record = Record.from_json(VLM.process_results(doc(answer=key), ["A"])["record"])
    view = vlm_item_view(record, {"clip": "f.mp4", "clip_backward": "b.mp4"})
    assert (view.clips, view.unasked) == ({"forward": "f.mp4", "reversed": "b.mp4"}, (unasked,))


def test_a_report_draws_the_losses_against_the_timestep() -> None:
    logged = []
    for number in (1, 2, 6):
        response = DenoisingResponse.model_validate_json(answer(f"animal_{number}"))
        # Of the reversed clips one has a loss that is not finite at the first timestep.
        losses = Directed(forward=[[number, 5.0]], backward=[[math.inf if number == 1 else 4.0, 6.0]])
        said = response.model_copy(update={"losses": losses}).to_json()
        logged.append(STATE.process_results(doc(f"animal_{number}"), [said])["record"])

    def drawn() -> dict[str, Any]:
        run = RunRecords("1", "Toy", [list(map(Record.from_json, logged))])
        return {panel.title: panel for panel in panels("yocausal", [run])}

    rows = drawn()["Loss against the timestep"].all_figures[0].table().rows
    assert [(label, at.value, loss.value, loss.n) for label, _, at, loss in rows] == [
        ("forward", 100.0, 3.0, 3), ("forward", 200.5, 5.0, 3), ("reversed", 100.0, 4.0, 2), ("reversed", 200.5, 6.0, 3)
    ]  # fmt: skip
    assert 1.0 <= rows[0][3].low < 3.0 < rows[0][3].high <= 6.0
    # A log that was changed by hand is refused before it is drawn.
    fields = logged[0]["fields"]
    assert PairFields.model_validate(fields).timesteps == [100.0, 200.5]
    for change in ({"steps": None}, {"timesteps": [100.0]}):
        with pytest.raises(ValidationError, match="Expected a loss at each timestep"):
            PairFields.model_validate(fields | change)
    # Runs that were logged before have none, and no panel.
    for record in logged:
        del record["fields"]["steps"], record["fields"]["timesteps"]
    assert "Loss against the timestep" not in drawn()


def test_the_reasons_that_most_pairs_have_come_first_and_five_are_named() -> None:
    def unscored(item: str, reason: str) -> Record:
        record = Record(item, item, {}, "forward", None, Outcome.UNSCORED, UnscoredReason.FAILED, reason)
        return record.with_fields(motion_symmetric=False)

    reasons = [f"reason {letter}" for letter in "gfedcbaabcc"]
    items: Any = [
        SimpleNamespace(record=unscored(f"p{n}", reason), submission=None) for n, reason in enumerate(reasons)
    ]
    (said,) = hooks.warnings(items, STATE)
    assert said.splitlines() == [
        "yocausal: 11 of 11 pairs have no losses and leave every score:",
        "  p4, p9, p10: reason c",
        "  p6, p7: reason a",
        "  p5, p8: reason b",
        "  p3: reason d",
        "  p2: reason e",
        "  … and 2 more reasons; the sample log has them all",
    ]
