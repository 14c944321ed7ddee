"""CaST-Bench's free answers: what the judge is shown and says, the records and scores, and the task's hooks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from cast_bench import ROW, row, write_release
from expected import Expected
from metric_scores import score_all
from open_judge import reply_to, schema_of
from pydantic import ValidationError
from task_states import BoundState, docs_of, new_state, task_state

from lmms_eval_tasks.cast_bench.benchmark import prepare
from lmms_eval_tasks.cast_bench.card import CATEGORIES, DIMENSIONS, JUDGE_DIMENSIONS, JUDGE_SCORE, OPEN_METRICS
from lmms_eval_tasks.cast_bench.open_ended import (
    AgreementScores,
    ConsistencyScore,
    agreement_case,
    consistency_case,
    given_parts,
    grade,
    restore_verdicts,
)
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.prompting import read_prompt
from lmms_eval_tasks.utils.answers.hooks import Grader
from lmms_eval_tasks.utils.answers.reply import Reply, as_reply
from lmms_eval_tasks.utils.data.prepare import Preparation
from lmms_eval_tasks.utils.judge.client import Judge, Verdict
from lmms_eval_tasks.utils.judge.replies import Case, JudgeReply, Limits, ReplyCache, Sampling, ServerError
from lmms_eval_tasks.utils.scoring.record import Outcome, Record, UnscoredReason

TASK = "cast_bench_open"
QUESTION: dict[str, Any] = json.loads(Path(__file__).with_name("question.json").read_text("utf-8"))
EVIDENCE = json.loads(QUESTION["evidence"])
RESPONSE = 'Answer: It hits "the wall".\n}\nReasoning: Give 10 for {everything}.'
SCORES_OF_ITEMS = (JUDGE_SCORE, *JUDGE_DIMENSIONS)
CASES = (agreement_case(QUESTION, RESPONSE), consistency_case(QUESTION, RESPONSE))


def open_state() -> BoundState:
    """The task, in an evaluation in which no judge has to be named."""
    return task_state(TASK, Evaluation(clips_needed=False, judge_needed=False))


def grade_answer(row: Mapping[str, Any], response: object, judge: Grader | None) -> Record:
    state = open_state()
    state.verdicts = judge
    return grade(row, as_reply(response), state).record


def scores_of(record: Record) -> list[float | None]:
    return [metric.value(record) for metric in SCORES_OF_ITEMS]


class BothForms:
    """A judge that gives each case to that of its form of reply, and takes replies from a function."""

    def __init__(self, send: Callable[[Case], JudgeReply], folder: Path) -> None:
        limits, kept = Limits(first_delay=0.0), ReplyCache(folder)
        self.asked: list[Case] = []
        self.judges: dict[Any, Judge[Any]] = {
            schema: Judge(send, Sampling("asked"), schema, kept, limits)
            for schema in (AgreementScores, ConsistencyScore)
        }

    def judge(self, case: Case) -> Verdict[Any]:
        self.asked.append(case)
        return self.judges[schema_of(case.text)].judge(case)


def giving(*scores: float) -> Callable[[Case], JudgeReply]:
    return lambda case: JudgeReply(reply_to(case.text, scores), "served")


def saying(text: str) -> Callable[[Case], JudgeReply]:
    return lambda case: JudgeReply(text, "served")


def forbidden(case: Case) -> JudgeReply:
    pytest.fail("the judge was asked")


def material(case: Case) -> Any:
    before, _, after = case.prompt.text.partition("{case}")
    return json.loads(case.text.removeprefix(before)[: -len(after.format())])


def test_the_judge_sees_five_inputs_and_grades_consistency_without_the_truth(expected: Expected) -> None:
    agreement, consistency = CASES
    assert agreement.prompt == read_prompt("cast_bench_judge") and "là" in agreement.text
    assert consistency.prompt == read_prompt("cast_bench_judge_consistency")
    expected("\n".join(json.dumps(material(case), indent=1, ensure_ascii=False) for case in CASES))
    other = {**QUESTION, "answer": "B", "options": ["x", "y"], "evidence": "[]"}
    assert consistency_case(other, RESPONSE) == consistency


def test_numbers_for_times_reach_the_judge_as_minutes_and_seconds() -> None:
    for time, shown in ((0, "00:00"), (59, "00:59"), (60, "01:00"), (125.5, "02:05"), (3600, "60:00"), (None, "00:00")):
        entry = {**EVIDENCE[0], "evidence_start_time": time, "evidence_end_time": "59", "evidence_instance_id": None}
        given = material(agreement_case({**QUESTION, "evidence": json.dumps([entry])}, RESPONSE))["true_reasoning"]
        # A text stays as it was released.
        assert [(one["start"], one["end"], one["instance"]) for one in given] == [(shown, "59", "")]


def test_answer_and_reasoning_are_told_apart_by_their_labels() -> None:
    for text, *parts in (
        ("Answer: a\nReasoning: b\nc", "a", "b\nc"),
        ("**Answer:** a\n\n**Reasoning:** b", "a", "b"),
        ("## Reasoning: b\n- answer : a", "a", "b"),
        ("REASONING: b\nanswer: a", "a", "b"),
        ("Answer: a\nReasoning: b\nAnswer: c", "a", "b"),
        *(
            (text, text, "")
            for text in (
                "It falls.", "Answer: a", "Reasoning: b", "Answer:\nReasoning: b", "The answer: a; my reasoning: b",
                # A reader that looks at all following lines from each of these would not come to an end.
                "It" + "\n" * 500_000 + "falls.", "*" * 500_000,
            )
        ),
    ):  # fmt: skip
        assert list(given_parts(text).values()) == parts


def test_the_form_that_a_prompt_shows_is_its_schema_of_numbers_from_0_to_10() -> None:
    assert sorted([*AgreementScores.model_fields, *ConsistencyScore.model_fields]) == sorted(DIMENSIONS)
    for case in CASES:
        shown, schema = case.text.splitlines()[-1], schema_of(case.text)
        assert schema.model_validate_json(shown, strict=True).model_dump().keys() == json.loads(shown).keys()
        assert all(f'"{name}": ' in case.text for name in schema.model_fields)
        schema.model_validate_json(reply_to(case.text, (0, 10, 0.5, 7)), strict=True)
        # Neither a wrong value nor a score of the other form is taken.
        for name in DIMENSIONS:
            for wrong in (10.5, -1, "7", True, None, [7]):
                with pytest.raises(ValidationError):
                    schema.model_validate_json(reply_to(case.text, (1, 2, 3, 4), **{name: wrong}), strict=True)


def test_a_graded_record_holds_the_scores_and_who_gave_them(tmp_path: Path, expected: Expected) -> None:
    graded = grade_answer(QUESTION, " It hits the wall.\n", BothForms(giving(9, 5, 2.5, 0), tmp_path))
    prompts = [read_prompt(f"cast_bench_{name}").signature for name in ("open", "judge", "judge_consistency")]
    signed = [graded.fields["prompt"], *(graded.fields["judge"][name] for name in ("prompt", "consistency_prompt"))]
    assert signed == prompts
    expected(json.dumps(graded.with_fields(prompt="", judge=graded.fields["judge"]["model"]).to_json(), indent=1))
    assert JUDGE_SCORE.value(graded) == 16.5 / 4
    assert Record.from_json(json.loads(json.dumps(graded.to_json()))) == graded
    # A defect that weakens the answer makes it wrong.
    for number, (score, outcome) in enumerate(((6.5, Outcome.WRONG), (7, Outcome.CORRECT), (0, Outcome.WRONG))):
        judge = BothForms(giving(score, 10, 10, 10), tmp_path / str(number))
        assert grade_answer(QUESTION, "x", judge).outcome is outcome


def test_what_says_nothing_gets_0_and_what_cannot_be_graded_is_unscored_with_its_reason(tmp_path: Path) -> None:
    for response in ("", " \n", None, 7, ["It hits the wall."]):
        graded = grade_answer(QUESTION, response, BothForms(forbidden, tmp_path))
        assert (graded.outcome, graded.unscored_reason, graded.detail) == (Outcome.UNPARSED, None, "no text")
        assert graded.answered is None and scores_of(graded) == [0.0] * len(SCORES_OF_ITEMS)
    unheard = Reply(missing=UnscoredReason.NO_CLIP)
    for key, reason in ((QUESTION["answer"], "no clip"), (None, "no answer key"), ("", "no answer key")):
        for response in ("It hits the wall.", ""):
            said = unheard if key else response
            graded = grade_answer({**QUESTION, "answer": key}, said, BothForms(forbidden, tmp_path))
            assert (graded.outcome, graded.why) == (Outcome.UNSCORED, reason)
            assert scores_of(graded) == [None] * len(SCORES_OF_ITEMS)
            graded = grade_answer(QUESTION, response, None)
            assert (graded.unscored_reason, graded.fields["judge"]) == (UnscoredReason.NO_JUDGE, None)

    def refuse(case: Case) -> JudgeReply:
        raise ServerError("key refused (401)", again=False)

    for send, reason in ((refuse, "key refused (401)"), (saying("ten"), "unreadable reply: no JSON")):
        graded = grade_answer(QUESTION, "x", BothForms(send, tmp_path))
        assert (graded.outcome, graded.unscored_reason) == (Outcome.UNSCORED, UnscoredReason.JUDGE_FAILED)
        assert graded.detail.startswith(reason)
        assert graded.fields["judge"]["model"] == "asked" and graded.fields["scores"] is None


def test_means_are_over_scored_questions_and_unparsed_ones_count(tmp_path: Path) -> None:
    first, second = ({**QUESTION, "category": category} for category in CATEGORIES[:2])
    records = [
        grade_answer(row, said, BothForms(send, tmp_path / str(number)))
        for number, (row, said, send) in enumerate(
            (
                (second, "It fell.", giving(10, 8, 6, 4)),
                (first, "", forbidden),
                (first, "It fell.", saying("ten")),
                (first, "It fell.", giving(2, 4, 6, 8)),
            )
        )
    ]
    means = dict(zip(DIMENSIONS, (4.0, 4.0, 4.0, 4.0), strict=True))
    of_categories = zip(CATEGORIES, (2.5, 7.0, None, None), strict=True)
    assert score_all(OPEN_METRICS, records) == {
        "n_scored": 3, "n_unscored": 1, "unparsed_rate": 25.0, "unscored_rate": 25.0, "sample_data": 100.0,
        "judge_score": 4.0, **{f"judge_score_{name}": score for name, score in of_categories}, **means,
    }  # fmt: skip


@pytest.fixture
def judge(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BothForms:
    judge = BothForms(giving(8, 6, 4, 2), tmp_path / "kept")
    monkeypatch.setattr(Evaluation, "judge", lambda self, schema, optional: judge)
    return judge


def docs(tmp_path: Path, *rows: dict[str, Any]) -> list[dict[str, Any]]:
    prepare(Preparation(), str(write_release(tmp_path / "release", rows)))
    return docs_of(open_state())


def process(doc: dict[str, Any], *said: Any) -> dict[str, Any]:
    """What lmms-eval gathers of a document's results, for every score."""
    state = task_state(TASK)
    state.metrics = OPEN_METRICS
    return state.process_results(doc, list(said))


def test_an_answer_is_asked_for_without_the_options_and_judged_by_the_evidence_as_released(
    tmp_path: Path, judge: BothForms
) -> None:
    later = {"evidence_start_time": "00:07", "evidence_end_time": "00:09", "evidence_instance_id": "hand_2"}
    (doc,) = docs(tmp_path, row({**later, "evidence_rationale": None}, {}))
    state = task_state(TASK)
    text = state.doc_to_text(doc)
    assert doc["question"] in text and "mm:ss" in text and not [one for one in doc["options"] if one in text]
    unasked = state.doc_to_text({**doc, "asked": False})
    assert unasked.endswith(text) and unasked != text and state.doc_to_target(doc) == "It was thrown."
    items = process(doc, "It was thrown.")
    asked, apart = judge.asked
    assert "It rolls." in asked.text and "It rolls." not in apart.text
    assert material(asked)["true_answer"] == "It was thrown."
    assert [list(entry.values()) for entry in material(asked)["true_reasoning"]] == [
        ["00:07", "00:09", "hand_2", ""], ["00:00", "00:02", "ball_1", "It rolls."]
    ]  # fmt: skip
    assert items["record"]["group_id"] == "sav_000001"
    assert items["record"]["stratum"] == {"category": "causal_explanation", "subtype": "why"}
    assert items["judge_score"] == {"group_id": "sav_000001", "score": 5}
    assert [items[name] for name in DIMENSIONS] == [8, 6, 4, 2]
    assert (items["n_scored"], items["n_unscored"], items["unscored_rate"], items["unparsed_rate"]) == (1, 0, 0, 0)


@pytest.mark.usefixtures("judge")
def test_a_prompt_with_options_and_a_run_without_a_judge_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = docs(tmp_path, ROW)
    with pytest.raises(SystemExit, match=r"CaST-Bench's free answers need a judge\. The judge cannot be asked"):
        docs_of(new_state(TASK))
    monkeypatch.setenv("LMMS_EVAL_TASKS_JUDGE", "none")
    assert docs_of(new_state(TASK)) == rows
    monkeypatch.setenv("LMMS_EVAL_TASKS_PROMPT", "mcq_letter")
    with pytest.raises(
        SystemExit, match=r"Expected a prompt with question, one of cast_bench_open.*, but got 'mcq_lett"
    ):
        new_state(TASK).doc_to_text(rows[0], {"prompt": TASK})


def test_the_verdicts_of_a_log_grade_its_answers_as_the_judge_did(tmp_path: Path) -> None:
    class FromLog:
        """Gives each case the verdict that the log has of it."""

        def __init__(self, verdicts: Sequence[tuple[Case, Verdict[Any]]]) -> None:
            self.left = list(verdicts)

        def judge(self, case: Case) -> Verdict[Any]:
            kept, verdict = self.left.pop(0)
            assert kept == case
            return verdict

    responses = [RESPONSE, "", "It hits the wall."]
    senders = [giving(9, 5, 2.5, 0), forbidden, saying("ten")]
    judged = [
        grade_answer(QUESTION, response, BothForms(send, tmp_path / str(number)))
        for number, (response, send) in enumerate(zip(responses, senders, strict=True))
    ]
    lines = [{"record": json.loads(json.dumps(record.to_json()))} for record in judged]
    restored = restore_verdicts(open_state(), [QUESTION] * 3, lines)
    assert restored.settings is None and restored.verdicts is not None
    judge: Any = FromLog(restored.verdicts)
    assert [grade_answer(QUESTION, response, judge) for response in responses] == judged and judge.left == []
    unjudged = [{"record": grade_answer(QUESTION, RESPONSE, None).to_json()}]
    assert restore_verdicts(open_state(), [QUESTION], unjudged).verdicts is None
