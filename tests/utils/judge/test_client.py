"""The judge's own rules, without a server: what is read, asked again, kept, and asked at once."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from expected import Expected
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_answers import kept_lines
from pydantic import BaseModel, Field

from lmms_eval_tasks.utils.answers.hooks import Prompt
from lmms_eval_tasks.utils.judge.client import Judge, UnreadableReply, read_reply
from lmms_eval_tasks.utils.judge.replies import (
    Case,
    JudgeReply,
    Limits,
    ReplyCache,
    ReplyRecord,
    Sampling,
    ServerError,
    reply_key,
)

PROMPT = Prompt("grading", "Grade {answer}")
FAST = Limits(first_delay=0.001, longest_delay=0.01)


class Grade(BaseModel, extra="forbid"):
    score: float = Field(ge=0, le=10, allow_inf_nan=False)
    why: str = ""


def case(answer: str = "x") -> Case:
    return Case(PROMPT.render(answer=answer), PROMPT)


class Scripted:
    """Sends nothing: does one thing per request, the last one for all further ones."""

    def __init__(self, *actions: str | Exception) -> None:
        self.actions, self.requests = actions, list[str]()

    def __call__(self, case: Case) -> JudgeReply:
        action = self.actions[min(len(self.requests), len(self.actions) - 1)]
        self.requests.append(case.text)
        if isinstance(action, Exception):
            raise action
        return JudgeReply(action, "served")


def make(send: Callable[[Case], JudgeReply], folder: Path, limits: Limits = FAST, **sampling: object) -> Judge[Grade]:
    return Judge(send, Sampling("asked", **sampling), Grade, ReplyCache(folder), limits)  # type: ignore[arg-type]


def passing(status: str = "server error (500)", wait: float | None = None) -> ServerError:
    return ServerError(status, again=True, wait=wait)


READ = (
    ' \n{"score": 7.0}\n', '``` Json\r\n{"score": 7}\r\n```', '\n\ufeff```json\n\ufeff{"score": 7}\n```\n',
    'first I weigh {"score": 1}, then …</think>```json\n{"score": 7}```', '{"score": 7, "why": "no </think> in it"}',
    '<|begin_of_box|>{"score": 7}<|end_of_box|>', '[THINK]{"score": 1}[/THINK]{"score": 7}<|im_end|>',
    '<|channel|>analysis<|message|>2?<|end|><|start|>assistant<|channel|>final<|message|>{"score": 7}<|return|>',
    '<think>2?</think><answer>{"score": 7}</answer></s>',
)  # fmt: skip
UNREADABLE = (
    "", "7", "[7]", 'The score is {"score": 7}', '{"score": 7} {"score": 8}', '{"score": 7, "score": 8}',
    '{"score": "7"}', '{"score": true}', '{"score": null}', '{"score": 11}', '{"score": -0.5}', '{"score": 1e999}',
    '{"score": NaN}', '{"score": 7, "sure": 1}', '{"why": "good"}', '{"score": 7', "[" * 100_000, "```",
    '```yaml\n{"score": 7}\n```', '{"score": 7}\n```', "`````",
)  # fmt: skip


def test_a_reply_is_one_object_of_the_schema_and_anything_else_is_unreadable_and_says_why(expected: Expected) -> None:
    for text in READ:
        assert read_reply(text, Grade).score == 7.0, text
    reasons = []
    for text in UNREADABLE:
        with pytest.raises(UnreadableReply) as caught:
            read_reply(text, Grade)
        reasons.append(f"{text[:26]!r}: {caught.value}")
        assert "\n" not in str(caught.value) and len(str(caught.value)) <= 200
    expected("\n".join(reasons))


@settings(max_examples=60)
@given(st.text(st.characters()) | st.text('{}[]"score:,0127e- \\'))
def test_any_text_is_read_or_unreadable_and_any_prompt_ends_in_a_verdict(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    with suppress(UnreadableReply):
        assert 0 <= read_reply(text, Grade).score <= 10
    send = Scripted('{"score": 3, "why": "\\ud800"}', '{"score": 3}')
    assert make(send, tmp_path_factory.mktemp("cache")).judge(Case(text, PROMPT)).reply is not None


def test_an_unreadable_reply_is_asked_again_up_to_its_bound_and_not_kept(tmp_path: Path) -> None:
    send = Scripted('{"score": 12}')
    reason = "unreadable reply: score: Input should be less than or equal to 10"
    asked = {"model": "asked", "prompt": PROMPT.signature}
    assert make(send, tmp_path).judge(case()).to_json() == {"reply": None, "reason": reason, **asked}
    assert len(send.requests) == FAST.unreadable and not list(tmp_path.rglob("*"))
    send = Scripted("good answer!", '{"score": 12}', '{"score": 7}')
    read = {"reply": {"score": 7.0, "why": ""}, "reason": None, **asked, "model": "served"}
    assert make(send, tmp_path).judge(case()).to_json() == read
    assert len(send.requests) == 3 and len(kept_lines(tmp_path)) == 1


def test_a_failure_that_may_pass_is_asked_again_up_to_its_bound_and_another_once(tmp_path: Path) -> None:
    send = Scripted(passing(), passing(), '{"score": 1}')
    assert make(send, tmp_path).judge(case("a")).reason is None
    for error, reason, requests in (
        (passing(), "server error (500)", FAST.requests),
        (ServerError("key refused (401)", again=False), "key refused (401)", 1),
        (RuntimeError("two\nlines"), "RuntimeError: two lines", 1),
        (passing("too many requests (429)", wait=3600.0), "too many requests (429)", 1),
        (passing("too many requests (429)", wait=float("nan")), "too many requests (429)", 1),
    ):
        send = Scripted(error)
        assert (make(send, tmp_path).judge(case()).reason, len(send.requests)) == (reason, requests)


def test_delays_double_are_bounded_and_come_from_the_seed_and_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr("lmms_eval_tasks.utils.judge.client.time.sleep", slept.append)

    def delays(seed: int) -> list[float]:
        slept.clear()
        make(Scripted(passing()), tmp_path, Limits(first_delay=1.0, longest_delay=4.0, seed=seed)).judge(case())
        return [seconds for seconds in slept if seconds > 0]

    first, bounds = delays(0), [1.0, 2.0, 4.0, 4.0, 4.0]
    assert all(bound / 2 <= seconds <= bound for seconds, bound in zip(first, bounds, strict=True))
    assert delays(0) == first != delays(1)
    # What the server asks to wait is waited before any case's next request.
    slept.clear()
    judge = make(Scripted(passing(wait=30.0), '{"score": 1}'), tmp_path, Limits(longest_delay=60.0))
    assert [judge.judge(case(name)).reason for name in ("one", "other")] == [None, None]
    assert sum(seconds > 29 for seconds in slept) == 2


def test_a_judge_that_is_down_is_not_asked_for_every_case_and_a_reply_in_between_shows_that_it_is_up(
    tmp_path: Path,
) -> None:
    refused, limits = ServerError("request refused (400)", again=False), Limits(give_up_after=3, concurrent=1)
    send = Scripted(refused)
    reasons = [verdict.reason for verdict in make(send, tmp_path, limits).judge_all([case(str(i)) for i in range(10)])]
    assert reasons == ["request refused (400)"] * 3 + ["not asked: the judge could not answer 3 cases in a row"] * 7
    assert len(send.requests) == 3
    judge = make(Scripted(refused, refused, '{"score": 1}', refused), tmp_path, limits)
    reasons = [judge.judge(case(str(i))).reason for i in range(6)]
    assert reasons == ["request refused (400)"] * 2 + [None] + ["request refused (400)"] * 3


def test_verdicts_are_in_the_order_of_the_cases_requests_bounded_and_equal_cases_asked_once(tmp_path: Path) -> None:
    lock, now, most = threading.Lock(), 0, 0
    asked_for: list[int] = []
    news: list[tuple[str, int, int]] = []

    def send(asked: Case) -> JudgeReply:
        nonlocal now, most
        number = int(asked.text.split()[-1])
        with lock:
            asked_for.append(number)
            now += 1
            most = max(most, now)
        time.sleep(0.02 if number % 2 else 0.001)
        with lock:
            now -= 1
        return JudgeReply(f'{{"score": {number / 10}}}', "served")

    judge = make(send, tmp_path, Limits(concurrent=4))
    outside = [threading.Thread(target=judge.judge, args=(case(str(i)),)) for i in range(40, 60)]
    for thread in outside:
        thread.start()
    numbers = [*range(40), *[0] * 6]
    verdicts = judge.judge_all([case(str(i)) for i in numbers], lambda *step: news.append(step))
    for thread in outside:
        thread.join()
    assert [verdict.reply.score for verdict in verdicts if verdict.reply] == [i / 10 for i in numbers]
    assert most == 4 and sorted(asked_for) == list(range(60))
    assert news == [("judging", i, 46) for i in range(1, 47)]


def test_what_ends_the_whole_stops_asking_and_keeps_what_is_paid(tmp_path: Path) -> None:
    requests: list[str] = []

    def send(asked: Case) -> JudgeReply:
        requests.append(asked.text)
        time.sleep(0.05)  # 400 of these leave the thread that hears of the interrupt 20 seconds to stop the rest
        return JudgeReply('{"score": 1}', "served")

    def interrupted() -> Case:
        assert kept_lines(tmp_path), "a case is made when its turn comes"
        raise KeyboardInterrupt

    judge = make(send, tmp_path, Limits(concurrent=1))
    with pytest.raises(KeyboardInterrupt):
        judge.judge_all([case("0"), interrupted, *(case(str(i)) for i in range(1, 500))])
    assert 1 <= len(requests) == len(kept_lines(tmp_path)) < 400


def test_the_key_is_all_that_decides_the_reply() -> None:
    asked = case()
    cases = [
        case("y"),
        Case(asked.text, Prompt("other", PROMPT.text)),
        Case(asked.text, Prompt("grading", "{answer}!")),
    ]
    cases += [Case(asked.text, PROMPT, (b"1",)), Case(asked.text, PROMPT, (b"2",))]
    samplings = [Sampling("b"), Sampling("a", temperature=0.5), Sampling("a", top_p=0.5), Sampling("a", max_tokens=5)]
    samplings += [Sampling("a", json_mode=True), Sampling("a", server="local http://localhost:1/v1")]
    keys = {reply_key(Sampling("a"), one) for one in (asked, *cases)} | {reply_key(one, asked) for one in samplings}
    assert len(keys) == 12
    assert reply_key(Sampling("a"), case()) == reply_key(Sampling("a"), asked)


def test_a_kept_reply_serves_again_unless_it_is_damaged_or_of_another_schema(tmp_path: Path) -> None:
    first = make(Scripted('{"score": 7, "why": "é\\ud83d\\ude00"}'), tmp_path).judge(case())
    send = Scripted('{"score": 8}')
    assert make(send, tmp_path).judge(case()) == first and send.requests == []
    (path,) = tmp_path.rglob("*.jsonl")
    other_schema = path.read_bytes().replace(b"score", b"points").strip()
    for number, damage in enumerate((b"", b"{", b"[1]", b"\xff", b"[" * 100_000, other_schema), 1):
        for kept in tmp_path.rglob("*.jsonl"):
            kept.write_bytes(damage + b"\n" if kept == path else b"")
        for _ in range(2):
            verdict = make(send, tmp_path).judge(case())
            assert verdict.reply is not None and verdict.reply.score == 8.0
        assert len(send.requests) == number, damage


def test_replies_lie_in_the_data_home_and_a_cache_that_cannot_be_written_costs_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path))
    ReplyCache().store("abcd", JudgeReply("text", "model"))
    assert len(kept_lines(tmp_path / "judge_cache")) == 1
    assert ReplyCache().find("abcd") == JudgeReply("text", "model")
    (tmp_path / "file").write_text("in the way")
    assert make(Scripted('{"score": 7}'), tmp_path / "file" / "cache").judge(case()).reply is not None


def test_a_build_records_every_reply_and_a_second_run_goes_on_after_the_last(tmp_path: Path) -> None:
    def recording(send: Callable[[Case], JudgeReply]) -> Judge[Grade]:
        record = ReplyRecord(tmp_path)
        return Judge(record.recording(send, Sampling("m")), Sampling("m"), Grade, record, FAST)

    send = Scripted("no", "[]", '{"score": 3}')
    first = recording(send).judge(case())
    assert first.reply == Grade(score=3) and len(send.requests) == 3
    kept = kept_lines(tmp_path)
    assert len(kept) == 3 and "no" in [one["text"] for one in kept]
    assert recording(send).judge(case()) == first and len(send.requests) == 3
    send = Scripted("one", "two", "three", '{"score": 3}')
    first = recording(send).judge(case("unreadable"))
    assert first.reason == "unreadable reply: no JSON from character 1 on"
    assert recording(send).judge(case("unreadable")) == first and len(send.requests) == 3
    # A run that was stopped asks for what follows the replies that it has.
    stopped = Scripted("no", ServerError("request refused (400)", again=False))
    assert recording(stopped).judge(case("stopped")).reason == "request refused (400)"
    resumed = Scripted('{"score": 4}')
    assert recording(resumed).judge(case("stopped")).reply == Grade(score=4) and len(resumed.requests) == 1
