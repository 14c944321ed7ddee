"""The hooks that lmms-eval calls for CaST-Bench's free answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from cast_bench import ROW, row, write_release
from open_judge import score_reply
from pydantic import BaseModel
from task_states import BoundState, docs_of, new_state, task_state

from lmms_eval_tasks.cast_bench import open_ended as open_ended_module
from lmms_eval_tasks.cast_bench.benchmark import prepare
from lmms_eval_tasks.cast_bench.card import CATEGORIES, DIMENSIONS, OPEN_METRICS
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.prompting import read_prompt
from lmms_eval_tasks.utils.judge.client import Verdict
from lmms_eval_tasks.utils.judge.replies import Case
from lmms_eval_tasks.utils.scoring.record import NOT_ASKED

TASK = "cast_bench_open"
FOLDER = Path(open_ended_module.__file__).parent
SIGNATURE = read_prompt("cast_bench_open").signature


class Asked(list[Case]):
    """A judge that notes what it is asked and gives 8, 6, 4 and 2."""

    def judge(self, case: Case) -> Verdict[BaseModel]:
        self.append(case)
        return Verdict(score_reply(case.text, (8, 6, 4, 2)), None, "served", case.prompt.signature)


@pytest.fixture(autouse=True)
def judge(home: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    asked = Asked()
    monkeypatch.setattr(Evaluation, "judge", lambda self, schema, optional: asked)
    return asked


def docs(tmp_path: Path, *rows: dict[str, Any]) -> list[dict[str, Any]]:
    prepare(str(write_release(tmp_path / "release", rows)))
    return docs_of(open_state())


def open_state() -> BoundState:
    """The task, in an evaluation in which no judge has to be named."""
    return task_state(TASK, Evaluation(clips_needed=False, judge_needed=False))


def process(doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
    """Return the contribution of a document's results to every score."""
    state = task_state(TASK)
    state.metrics = OPEN_METRICS
    return state.process_results(doc, results)


def declared() -> list[str]:
    text = (FOLDER / "_open_template_yaml").read_text(encoding="utf-8").replace("!function ", "")
    return [metric["metric"] for metric in yaml.safe_load(text)["metric_list"]]


def test_every_score_of_an_answer_is_one_of_the_task_and_the_other_way_round(tmp_path: Path) -> None:
    types = ("Why (Causal Reasons)", "Social Counterfactual", "Goal/Intent", "Behavioral Prediction")
    handed: set[str] = set()
    for doc in docs(tmp_path, *(row(question_type=kind) for kind in types)):
        handed |= set(process(doc, ["It was thrown."]))
    assert handed - {"record"} == {metric.name for metric in OPEN_METRICS} - {"sample_data"}
    assert {"judge_score"} < set(declared()) <= handed | {"sample_data"}
    assert {f"judge_score_{category}" for category in CATEGORIES} <= handed


def test_a_model_is_asked_without_the_options(tmp_path: Path) -> None:
    (doc,) = docs(tmp_path, ROW)
    state = task_state(TASK)
    text = state.doc_to_text(doc)
    assert doc["question"] in text and "mm:ss" in text
    assert not [option for option in doc["options"] if option in text]
    assert state.doc_to_text({**doc, "asked": False}).endswith(text)
    assert state.doc_to_text({**doc, "asked": False}) != text
    assert state.doc_to_target(doc) == "It was thrown."


def test_the_judge_is_shown_the_right_option_and_the_evidence_as_released(tmp_path: Path, judge: Asked) -> None:
    later = {"evidence_start_time": "00:07", "evidence_end_time": "00:09", "evidence_instance_id": "hand_2"}
    (doc,) = docs(tmp_path, row({**later, "evidence_rationale": None}, {}))
    items = process(doc, ["It was thrown."])
    asked, apart = judge
    assert "It rolls." in asked.text and "It rolls." not in apart.text
    material = json.loads(asked.text[asked.text.index('{\n "question"') :].partition("\n}")[0] + "}")
    assert material == {
        "question": "Why does the ball roll?",
        "true_answer": "It was thrown.",
        "true_reasoning": [
            {"start": "00:07", "end": "00:09", "instance": "hand_2", "rationale": ""},
            {"start": "00:00", "end": "00:02", "instance": "ball_1", "rationale": "It rolls."},
        ],
        "given_answer": "It was thrown.",
        "given_reasoning": "",
    }
    assert items["record"]["group_id"] == "sav_000001"
    assert items["record"]["stratum"] == {"category": "causal_explanation", "subtype": "why"}
    assert items["record"]["fields"]["prompt"] == SIGNATURE
    assert items["record"]["fields"]["judge"] == {
        "model": "served",
        "prompt": read_prompt("cast_bench_judge").signature,
        "consistency_prompt": read_prompt("cast_bench_judge_consistency").signature,
    }
    assert items["judge_score"] == {"group_id": "sav_000001", "value": 5, "score": 5}
    assert [items[name] for name in DIMENSIONS] == [8, 6, 4, 2]
    assert (items["n_scored"], items["n_unscored"], items["unscored_rate"], items["unparsed_rate"]) == (1, 0, 0, 0)


def test_the_judge_is_told_odd_evidence_as_the_official_code_reads_it(tmp_path: Path, judge: Asked) -> None:
    odd = {"evidence_start_time": 65, "evidence_end_time": None, "evidence_instance_id": None}
    (doc,) = docs(tmp_path, row(odd, {"evidence_end_time": "00:02.5"}))
    process(doc, ["It was thrown."])
    asked, _ = judge
    pieces = [("01:05", "00:00", ""), ("00:00", "00:02.5", "ball_1")]
    places = [
        asked.text.index(f'"start": "{start}",\n   "end": "{end}",\n   "instance": "{name}"')
        for start, end, name in pieces
    ]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("changes", "said", "reason"),
    [({"answer": None}, "It was thrown.", "no answer key"), ({}, NOT_ASKED, "no clip")],
)
def test_what_cannot_be_graded_is_not_a_score(
    changes: dict[str, Any], said: str, reason: str, tmp_path: Path, judge: Asked
) -> None:
    (doc,) = docs(tmp_path, row(**changes))
    items = process(doc, [said])
    assert judge == []
    assert items["record"]["unscored_reason"] == reason
    assert items["judge_score"] == {"group_id": "sav_000001", "value": None}
    assert task_state(TASK).kind.metric("judge_score").score([items["judge_score"]]) is None
    assert (items["n_scored"], items["n_unscored"], items["unscored_rate"]) == (0, 1, 100)
    assert items["unparsed_rate"] == (None if reason == "no clip" else 0)
    assert items["record"]["answered"] == (None if reason == "no clip" else said)


@pytest.mark.parametrize("said", [[], [None], [""], [5]])
def test_no_response_raises(said: list[Any], tmp_path: Path, judge: Asked) -> None:
    (doc,) = docs(tmp_path, ROW)
    items = process(doc, said)
    assert (items["unparsed_rate"], items["n_scored"], items["judge_score"]["value"]) == (100, 1, 0)
    assert judge == []


def test_a_prompt_with_options_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (doc,) = docs(tmp_path, ROW)
    monkeypatch.setenv("LMMS_EVAL_TASKS_PROMPT", "mcq_letter")
    with pytest.raises(
        SystemExit, match=r"Expected a prompt with question, one of cast_bench_open.*, but got 'mcq_lett"
    ):
        new_state(TASK).doc_to_text(doc)


def test_a_task_asks_with_the_prompt_that_it_was_built_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (doc,) = docs(tmp_path, ROW)
    state = new_state(TASK)
    text = state.doc_to_text(doc)
    monkeypatch.setenv("LMMS_EVAL_TASKS_PROMPT", "mcq_letter")
    assert state.doc_to_text(doc) == text
    assert state.process_results(doc, ["It was thrown."])["record"]["fields"]["prompt"] == SIGNATURE


def test_loading_without_a_judge_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = docs(tmp_path, ROW)
    with pytest.raises(SystemExit, match=r"CaST-Bench's free answers need a judge\. The judge cannot be asked"):
        docs_of(new_state(TASK))
    monkeypatch.setenv("LMMS_EVAL_TASKS_JUDGE", "none")
    assert docs_of(new_state(TASK)) == rows


@pytest.mark.slow
def test_the_plugin_tells_of_data_and_judge_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    import lmms_eval.models  # noqa: F401  (imports the plugin, and cannot be imported by it first)
    from lmms_eval.tasks import TaskManager

    from lmms_eval_tasks.host import replacements as index

    reasons: list[str | None] = []
    monkeypatch.setattr(index, "stop_if_any", reasons.append)
    assert TaskManager().match_tasks([TASK]) == [TASK]
    (message,) = filter(None, reasons)
    assert "CaST-Bench is not prepared" in message and "free answers need a judge" in message
