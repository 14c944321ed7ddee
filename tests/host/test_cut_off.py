"""Answers that used all of their tokens: what tells them, and what remembers it."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lmms_eval.api.instance import TokenCounts
from submission_world import prepare_world
from task_states import docs_of, task_state

from lmms_eval_tasks.finished.rescore import asked_row
from lmms_eval_tasks.host.replacements import keep_prediction
from lmms_eval_tasks.host.tasks.running import TaskRequests
from lmms_eval_tasks.runs.folder import LoggedItem
from lmms_eval_tasks.runs.saved_answers import read_responses
from lmms_eval_tasks.utils.scoring.record import CUT_OFF, Outcome, Record, UnscoredReason

TASK = "causalvqa_debug_paired"
WEIGHED = "The clip is short. So it is B. The man is next"
LIMIT = 64


class Documents(list[dict[str, str]]):
    def select_columns(self, name: str) -> SimpleNamespace:
        return SimpleNamespace(to_dict=lambda: {name: [row[name] for row in self]})


def requests(text: str, tokens: int | None, item: str = "item", limit: Any = LIMIT) -> TaskRequests:
    """The requests of a task with one item, and the model's answer to it."""
    counts = None if tokens is None else TokenCounts(output_tokens=tokens)
    request = SimpleNamespace(doc_id=0, resps=[text], token_counts=[counts])
    config = SimpleNamespace(generation_kwargs={"max_new_tokens": limit})
    return TaskRequests(SimpleNamespace(eval_docs=Documents([{"item_id": item}]), instances=[request], config=config))


def words(text: str, **_: Any) -> dict[str, list[str]]:
    return {"input_ids": text.split()}


@pytest.mark.parametrize(
    ("said", "tokens", "tokenizer", "is_cut_off"),
    [
        (LIMIT, LIMIT, words, True),
        (LIMIT, LIMIT - 1, words, False),
        (LIMIT, None, words, False),
        (3, LIMIT, words, False),  # padded to the longest of its batch
        (0, LIMIT, None, True),  # a server whose reasoning is no part of the text
    ],
)
def test_an_answer_that_used_all_its_tokens_is_told(
    said: int, tokens: int | None, tokenizer: Any, is_cut_off: bool
) -> None:
    model = SimpleNamespace(tokenizer=tokenizer)
    asked = requests("word " * said, tokens)
    assert asked.is_cut_off("item", model) is is_cut_off
    assert not asked.is_cut_off("of another rank", model)
    assert requests("word " * said, tokens, limit=str(LIMIT)).is_cut_off("item", model) is is_cut_off
    assert not requests("word " * said, tokens, limit="many").is_cut_off("item", model)


def graded(text: str, cut_off: bool, key: str | None = "B") -> Record:
    state = task_state(TASK)
    doc = {**docs_of(state)[0], "answer": key}
    state.requests = requests(text, LIMIT if cut_off else 1, doc["item_id"])
    return Record.from_json(json.loads(json.dumps(state.process_results(doc, [text])["record"])))


def test_what_it_weighs_is_not_read_and_its_record_says_why(home: Path, tmp_path: Path) -> None:
    prepare_world(tmp_path / "releases")
    assert (graded(WEIGHED, False).answered, graded(WEIGHED, False).detail) == ("B", "")
    cut = graded(WEIGHED, True)
    assert (cut.outcome, cut.answered, cut.detail) == (Outcome.UNPARSED, None, CUT_OFF)
    readable = graded("Answer: B. The curtain", True)
    assert (readable.outcome, readable.detail) == (Outcome.CORRECT, CUT_OFF)
    assert graded(WEIGHED, True, key=None).why == "no answer key: cut off"
    open_ended = graded("<think>First the cat, A. Then the curtain moves, which fits B. Now C, and", False)
    assert (open_ended.outcome, open_ended.detail) == (Outcome.UNPARSED, CUT_OFF)
    assert (graded("<think>It is B.</think>I cannot tell.", False).detail) == ""


def test_whoever_grades_the_answer_later_knows_it(home: Path, tmp_path: Path) -> None:
    prepare_world(tmp_path / "releases")
    state = task_state(TASK)
    doc = docs_of(state)[0]
    state.requests = requests(WEIGHED, LIMIT, doc["item_id"])
    predicted = keep_prediction(state, state.process_results, doc, [WEIGHED])
    record = Record.from_json(predicted["record"])
    assert (record.unscored_reason, record.detail) == (UnscoredReason.ONLY_PREDICTED, CUT_OFF)
    state.requests = None
    again = state.process_results(asked_row(doc, LoggedItem("", record, {"filtered_resps": WEIGHED})), [WEIGHED])
    assert again["record"]["detail"] == CUT_OFF and again["record"]["answered"] is None
    log = tmp_path / f"x_samples_{TASK}.jsonl"
    log.write_text(json.dumps({"filtered_resps": WEIGHED, **predicted}) + "\n", encoding="utf-8")
    assert read_responses(log).cut_off == {(TASK, doc["item_id"])}
    state.evaluation.model = SimpleNamespace(cut_off={(TASK, doc["item_id"])})
    replayed = state.process_results(doc, [WEIGHED])
    assert replayed["record"]["detail"] == CUT_OFF and replayed["record"]["answered"] is None


def test_a_replay_knows_what_was_not_answered(tmp_path: Path) -> None:
    silent = Record("one", "one", {}, "A", None, Outcome.UNSCORED, UnscoredReason.OUT_OF_MEMORY, "8 GB")
    log = tmp_path / f"x_samples_{TASK}.jsonl"
    log.write_text(json.dumps({"filtered_resps": "", "record": silent.to_json()}) + "\n", encoding="utf-8")
    assert read_responses(log).unanswered == {(TASK, "one"): (UnscoredReason.OUT_OF_MEMORY, "8 GB")}
