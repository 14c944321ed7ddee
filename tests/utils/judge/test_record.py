from __future__ import annotations

import threading
from pathlib import Path

from kept_answers import kept_lines
from pydantic import BaseModel

from lmms_eval_tasks.utils.answers.hooks import Prompt
from lmms_eval_tasks.utils.judge.client import Judge
from lmms_eval_tasks.utils.judge.replies import Case, Limits, Reply, ReplyRecord, Sampling, ServerError

PROMPT = Prompt("step", "Do {what}")
FAST = Limits(first_delay=0.001, longest_delay=0.01, requests=4)


class Done(BaseModel, extra="forbid"):
    done: bool


class Scripted:
    def __init__(self, *actions: str | Exception) -> None:
        self.actions = list(actions)
        self.requests = 0

    def __call__(self, case: Case) -> Reply:
        action = self.actions[min(self.requests, len(self.actions) - 1)]
        self.requests += 1
        if isinstance(action, Exception):
            raise action
        return Reply(action, "served")


def judge(send: Scripted, folder: Path) -> Judge[Done]:
    record = ReplyRecord(folder)
    return Judge(record.recording(send, Sampling("m")), Sampling("m"), Done, record, FAST)


def case(what: str = "x") -> Case:
    return Case(PROMPT.render(what=what), PROMPT)


def test_every_reply_is_kept_and_a_second_run_asks_nothing(tmp_path: Path) -> None:
    send = Scripted("no", "[]", '{"done": true}')
    first = judge(send, tmp_path).judge(case())
    assert (first.reply, send.requests) == (Done(done=True), 3)
    kept = kept_lines(tmp_path)
    assert len(kept) == 3 and "no" in [one["text"] for one in kept]
    assert judge(send, tmp_path).judge(case()) == first
    assert send.requests == 3


def test_a_case_that_ended_unreadable_ends_so_again_without_a_request(tmp_path: Path) -> None:
    send = Scripted("one", "two", "three", '{"done": true}')
    first = judge(send, tmp_path).judge(case())
    assert first.reason == "unreadable reply: no JSON from character 1 on"
    assert judge(send, tmp_path).judge(case()) == first
    assert send.requests == 3


def test_a_run_that_was_stopped_between_replies_goes_on_after_the_last(tmp_path: Path) -> None:
    stopped = Scripted("no", KeyboardInterrupt())  # type: ignore[arg-type]
    stopped.actions[1] = ServerError("request refused (400)", again=False)
    assert judge(stopped, tmp_path).judge(case()).reason == "request refused (400)"
    resumed = Scripted('{"done": false}')
    assert judge(resumed, tmp_path).judge(case()).reply == Done(done=False)
    # The first reply came from the record, so the server was asked for the second alone.
    assert resumed.requests == 1


def test_within_a_run_an_accepted_reply_serves_again(tmp_path: Path) -> None:
    send = Scripted("no", '{"done": true}')
    one = judge(send, tmp_path)
    verdicts = [one.judge(case()), one.judge(case()), *one.judge_all([case()] * 5)]
    assert {verdict.reply and verdict.reply.done for verdict in verdicts} == {True}
    assert send.requests == 2


def test_threads_share_a_record(tmp_path: Path) -> None:
    lock = threading.Lock()
    asked: list[str] = []

    def send(case: Case) -> Reply:
        with lock:
            asked.append(case.text)
        return Reply('{"done": true}', "m")

    record = ReplyRecord(tmp_path)
    shared = Judge(record.recording(send, Sampling("m")), Sampling("m"), Done, record, FAST)
    shared.judge_all([case(str(number % 20)) for number in range(200)])
    assert sorted(asked) == sorted(f"Do {number}" for number in range(20))
