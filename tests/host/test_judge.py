"""Judges as lmms-eval's users name them, against a server on loopback."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from judge_server import MODEL, Action, Drip, Drop, Fail, Hold, JudgeServer, Raw, Say, in_turn, nobody
from pydantic import BaseModel, Field

import lmms_eval_tasks
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.utils.answers.hooks import Prompt
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.judge.client import Judge, check_judge, open_judge, read_settings
from lmms_eval_tasks.utils.judge.replies import Case, JudgeSettings, ReplyCache

PROMPT = Prompt("grading", "Grade {answer}")
GOOD = Say('{"score": 7}')


class Grade(BaseModel):
    score: float = Field(ge=0, le=10)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "any")


def case(answer: str = "x") -> Case:
    return Case(PROMPT.render(answer=answer), PROMPT)


def connect(url: str | None, folder: Path, **options: object) -> Judge[Grade]:
    fast = {"url": url, "first_delay": 0.01, "longest_delay": 2.0, "requests": 3}
    return open_judge(
        Grade, JudgeSettings.model_validate({"model": "asked", **fast, **options}), ReplyCache(folder / "cache")
    )


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["openai", "local"])
@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (Say("I would say seven."), "unreadable reply: no JSON from character 1 on"),
        (Say('{"score": 70}'), "unreadable reply: score: Input should be less than or equal to 10"),
        (Say('{"score": 7}', delay=30.0), "timed out"),
        (Drip(), "timed out"),
        (Fail(429, {"Retry-After": "0.05"}), "too many requests (429)"),
        (Fail(429), "too many requests (429)"),
        (Fail(500), "server error (500)"),
        (Fail(503, {"Retry-After": "soon"}), "server error (503)"),
        (Drop(), "no reply"),
        (Raw("Bad gateway"), "no reply"),
        (Raw("{}"), "reply without text"),
        (Raw('{"choices": []}'), "reply without text"),
        (Raw('{"choices": [{"message": {"content": null}}]}'), "unreadable reply: no JSON"),
    ],
    ids=[
        "prose",
        "out_of_range",
        "slow",
        "dripping",
        "429_wait",
        "429",
        "500",
        "503",
        "dropped",
        "html",
        "no_choices",
        "empty_choices",
        "null",
    ],
)
def test_trouble_that_passes_ends_in_a_score_and_trouble_that_stays_ends_unscored(
    provider: str, trouble: Action, reason: str, tmp_path: Path
) -> None:
    with JudgeServer(in_turn([trouble, GOOD])) as server:
        # What is not slow has all the time that a busy machine needs.
        judge = connect(server.url, tmp_path, provider=provider, timeout=1 if reason == "timed out" else 120)
        verdict = judge.judge(case())
        assert verdict.reply == Grade(score=7) and verdict.model == MODEL
        assert server.asked.total() == 2, "one layer alone tries again"
        server.script = in_turn([trouble])
        verdict = judge.judge(case("y"))
        assert verdict.reply is None and str(verdict.reason).startswith(reason)
        assert server.asked[case("y").text] == 3


@pytest.mark.parametrize("provider", ["openai", "local"])
@pytest.mark.parametrize(
    ("refusal", "reason"),
    [
        (Fail(401), "key refused (401)"),
        (Fail(403), "key refused (403)"),
        (Fail(400), "request refused (400): "),
        (Fail(404), "request refused (404): "),
        (Fail(429, {"Retry-After": "3600"}), "too many requests (429)"),
    ],
    ids=["401", "403", "400", "404", "429_hour"],
)
def test_a_refusal_is_asked_once(provider: str, refusal: Action, reason: str, tmp_path: Path) -> None:
    with JudgeServer(in_turn([refusal, GOOD])) as server:
        verdict = connect(server.url, tmp_path, provider=provider).judge(case())
        assert str(verdict.reason).startswith(reason)
        assert server.asked.total() == 1


def test_a_used_up_quota_is_asked_once(tmp_path: Path) -> None:
    with JudgeServer(in_turn([Fail(429, code="insufficient_quota")])) as server:
        assert connect(server.url, tmp_path).judge(case()).reason == "quota used up (429)"
        assert server.asked.total() == 1


def test_a_server_that_is_not_there_leaves_all_unscored(tmp_path: Path) -> None:
    with nobody() as url:
        verdicts = connect(url, tmp_path, give_up_after=2, concurrent=1).judge_all([case(str(i)) for i in range(4)])
    assert [verdict.reply for verdict in verdicts] == [None] * 4
    assert str(verdicts[0].reason).startswith("no reply")


def test_the_server_gets_the_prompt_the_settings_and_the_images(tmp_path: Path) -> None:
    with JudgeServer(in_turn([GOOD])) as server:
        judge = connect(server.url, tmp_path, temperature=0.25, top_p=0.5, max_tokens=99, json_mode=True)
        judge.judge(Case("look \ud800", PROMPT, (b"one", b"two")))
        (body,) = server.bodies
    assert body == {
        "model": "asked",
        "temperature": 0.25,
        "top_p": 0.5,
        "max_tokens": 99,
        "response_format": {"type": "json_object"},
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "look ?"},
                    {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,b25l"}},
                    {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,dHdv"}},
                ],
            }
        ],
    }


def test_requests_at_once_are_bounded_and_verdicts_in_order(tmp_path: Path) -> None:
    with JudgeServer(lambda prompt, before: Say(f'{{"score": {prompt.split()[-1]}}}', delay=0.1)) as server:
        verdicts = connect(server.url, tmp_path, concurrent=3).judge_all([case(str(i % 10)) for i in range(20)])
        assert [verdict.reply for verdict in verdicts] == [Grade(score=i % 10) for i in range(20)]
        assert server.most_at_once == 3
        assert set(server.paid.values()) == {1}


RUN = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
import test_judge as t
from lmms_eval_tasks.utils.judge.client import open_judge
from lmms_eval_tasks.utils.judge.replies import ReplyCache
from lmms_eval_tasks.utils.judge.replies import JudgeSettings
settings = JudgeSettings(model="asked", url=sys.argv[1], concurrent=4)
judge = open_judge(t.Grade, settings, ReplyCache(Path(sys.argv[2])))
verdicts = judge.judge_all([t.case(str(i)) for i in range(40)], lambda what, done, total: print(done, flush=True))
print([verdict.reply.score for verdict in verdicts])
"""


@pytest.mark.slow
def test_a_run_killed_half_way_and_resumed_pays_for_no_reply_twice(tmp_path: Path) -> None:
    here = Path(__file__).resolve().parent
    paths = [str(Path(lmms_eval_tasks.__file__).parents[1]), str(here.parent / "support")]

    def start(server: JudgeServer) -> subprocess.Popen[str]:
        program = f"import sys\nsys.path[:0] = {paths!r}\n{RUN}"
        command = [sys.executable, "-c", program, server.url, str(tmp_path / "cache"), str(here)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def answer(prompt: str, before: int) -> Action:
        return Say(f'{{"score": {int(prompt.split()[-1]) % 10}}}')

    def answer_half(prompt: str, before: int) -> Action:
        return Hold() if int(prompt.split()[-1]) >= 20 else answer(prompt, before)

    with JudgeServer(answer_half) as server:
        run = start(server)
        assert run.stdout is not None
        while run.stdout.readline().strip() != "20":
            assert run.poll() is None
        server.wait_until(lambda: server.asked.total() == 24)
        run.kill()
        run.wait()
        server.wait_until(lambda: server.paid.total() == 20)
        server.script = answer
        resumed = start(server)
        output, _ = resumed.communicate(timeout=600)
        assert output.splitlines()[-1] == str([float(i % 10) for i in range(40)])
        server.wait_until(lambda: server.paid.total() >= 40)
        assert len(server.paid) == 40 and set(server.paid.values()) == {1}
        assert server.asked.total() == 24 + 20
    assert not list(tmp_path.rglob("*.part"))


def test_the_judge_is_the_one_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_VERSION", "from-host")
    monkeypatch.setenv("API_TYPE", "LOCAL")
    assert read_settings() == JudgeSettings(model="from-host", provider="local")
    monkeypatch.setenv("LMMS_EVAL_TASKS_JUDGE", "model=own, max_tokens=9,json_mode=true,timeout=1.5,provider=openai")
    expected = JudgeSettings(model="own", max_tokens=9, json_mode=True, timeout=1.5)
    assert read_settings() == expected
    assert (expected.sampling.max_tokens, expected.concurrent) == (9, 8)
    assert read_settings("other") == JudgeSettings(model="other", provider="local")
    assert read_settings("none") is None


def test_servers_with_one_model_name_share_no_reply(tmp_path: Path) -> None:
    with JudgeServer(lambda *_: Say('{"score": 1}')) as one, JudgeServer(lambda *_: Say('{"score": 2}')) as other:
        for _ in range(2):
            verdicts = [connect(server.url, tmp_path).judge(case()) for server in (one, other)]
            assert [verdict.reply.score for verdict in verdicts if verdict.reply] == [1, 2]
        connect(one.url, tmp_path, provider="local").judge(case())
        assert (one.asked.total(), other.asked.total()) == (2, 1)


def test_a_server_is_known_by_its_provider_and_address(monkeypatch: pytest.MonkeyPatch) -> None:
    assert JudgeSettings(model="m").server == "openai"
    given = JudgeSettings(model="m", provider="local", url="http://localhost:8000/v1/").sampling
    monkeypatch.setenv("LLM_JUDGE_URL", "http://localhost:8000/v1/chat/completions")
    assert JudgeSettings(model="m", provider="local").sampling == given
    assert given.server == "local http://localhost:8000/v1"


def test_every_wrong_setting_is_told_at_once() -> None:
    with pytest.raises(InputError) as caught:
        read_settings("provider=mail,temperature=-1,colour=red,loud")
    assert str(caught.value) == (
        "The judge cannot be asked: 5 problems.\n"
        "  model: Expected the name of the judge's model but found none. Remedy: name it, for instance "
        "LMMS_EVAL_TASKS_JUDGE=model=NAME,url=http://localhost:8000/v1,max_tokens=4096, or set "
        "LMMS_EVAL_TASKS_JUDGE=none to run without a judge and judge later.\n"
        "  provider: Input should be 'openai', 'azure', 'local' or 'transformers', but got 'mail'.\n"
        "  temperature: Input should be greater than or equal to 0, but got '-1'.\n"
        "  colour: Extra inputs are not permitted.\n"
        "  loud: Extra inputs are not permitted."
    )


def test_a_choice_is_checked_without_sending(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"^The judge cannot be asked: 1 problem\.\n  model: Expected the name"):
        check_judge()
    for chosen in ("none", "model=m", "model=m,provider=local,url=http://127.0.0.1:1/v1"):
        monkeypatch.setenv("LMMS_EVAL_TASKS_JUDGE", chosen)
        check_judge()
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("LMMS_EVAL_TASKS_JUDGE", "model=m")
    with pytest.raises(InputError, match="Expected OPENAI_API_KEY to be set"):
        check_judge()


def test_a_missing_key_is_told_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(InputError, match="The model m cannot be asked: Expected OPENAI_API_KEY to be set"):
        open_judge(Grade, JudgeSettings(model="m"))
    with pytest.raises(InputError, match="Expected AZURE_API_KEY and AZURE_ENDPOINT to be set"):
        open_judge(Grade, JudgeSettings(model="m", provider="azure"))
    with pytest.raises(InputError, match="Expected no url for the provider azure"):
        open_judge(Grade, JudgeSettings(model="m", provider="azure", url="http://127.0.0.1:1"))


def test_the_providers_own_variables_name_the_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with JudgeServer(in_turn([GOOD])) as server:
        monkeypatch.setenv("OPENAI_API_URL", server.url)
        monkeypatch.setenv("LLM_JUDGE_URL", f"{server.url}/chat/completions")
        for provider in ("openai", "local"):
            assert connect(None, tmp_path / provider, provider=provider).judge(case()).reason is None
        assert server.asked.total() == 2


def test_azure_is_asked_as_it_is_in_lmms_eval(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with JudgeServer(in_turn([GOOD])) as server:
        monkeypatch.setenv("AZURE_API_KEY", KEY)
        monkeypatch.setenv("AZURE_ENDPOINT", f"{server.url.removesuffix('/v1')}/")
        assert connect(None, tmp_path, provider="azure").judge(case()).reply == Grade(score=7)
        monkeypatch.setenv("API_VERSION", "2030-01-01")
        connect(None, tmp_path, provider="azure").judge(case("y"))
    assert [path for path, _ in server.heads] == [
        "/openai/deployments/asked/chat/completions?api-version=2024-02-15-preview",
        "/openai/deployments/asked/chat/completions?api-version=2030-01-01",
    ]
    assert server.heads[0][1]["api-key"] == KEY and "Authorization" not in server.heads[0][1]


def test_lmms_eval_counts_the_tokens_of_a_judge(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from lmms_eval.models.model_utils import usage_metrics

    usage = {"prompt_tokens": 11, "completion_tokens": 7}
    reply = {"model": MODEL, "choices": [{"message": {"content": '{"score": 7}'}}], "usage": usage}
    usage_metrics.reset_usage_metrics()
    with JudgeServer(in_turn([Raw(json.dumps(reply))])) as server:
        connect(server.url, tmp_path).judge(case())
    counted = usage_metrics.summarize_usage_metrics()
    usage_metrics.reset_usage_metrics()
    assert "11" in str(counted) and "judge" in str(counted)


def test_one_judge_is_shared_by_the_tasks_of_an_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_EVAL_TASKS_JUDGE", "model=m")
    evaluation = Evaluation()
    judge = evaluation.judge(Grade)
    monkeypatch.setenv("LMMS_EVAL_TASKS_JUDGE", "none")
    assert evaluation.judge(Grade) is judge is not None
    assert Evaluation().judge(Grade) is None


KEY = "plain-key-0123"


@pytest.mark.parametrize("provider", ["openai", "local"])
@pytest.mark.parametrize("status", [400, 404, 422])
@pytest.mark.parametrize(
    "message",
    [
        f"no model for {KEY}",
        "got header Authorization: Bearer other-key-4567",
        "see http://user:other-key-4567@host/v1?api_key=other-key-4567",
        "x" * 9_990 + KEY,
    ],
    ids=["the_own_key", "a_header", "an_address", "far_back"],
)
def test_no_key_of_an_error_text_reaches_the_reason_or_the_log(
    provider: str,
    status: int,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with JudgeServer(in_turn([Fail(status, message=message)])) as server:
        verdict = connect(server.url, tmp_path, provider=provider).judge(case())
    assert str(verdict.reason).startswith(f"request refused ({status}): ")
    for text in (str(verdict.reason), caplog.text):
        assert "key-0123" not in text and "key-4567" not in text


@pytest.mark.parametrize("provider", ["openai", "local"])
def test_no_key_of_an_address_reaches_the_reason_or_what_is_kept(provider: str, tmp_path: Path) -> None:
    with nobody() as url:
        judge = connect(f"{url.replace('//', f'//user:{KEY}@')}?api_key={KEY}", tmp_path, provider=provider)
        verdict = judge.judge(case())
    assert str(verdict.reason).startswith("no reply") and KEY not in str(verdict.reason)
    assert KEY not in judge.sampling.server
    for wrong in ("127.0.0.1:0", "127.0.0.1:99999", "127.0.0.1:x", "h\nh"):
        with pytest.raises(InputError, match="Expected url to be an address such as") as caught:
            connect(f"http://user:{KEY}@{wrong}/v1?api_key={KEY}", tmp_path, provider=provider)
        assert KEY not in str(caught.value)


def test_a_key_that_a_reply_repeats_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with JudgeServer(in_turn([Say(f'{{"score": 7, "echo": "{KEY}"}}'), GOOD])) as server:
        assert connect(server.url, tmp_path).judge(case()).reply == Grade(score=7)
    files = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert files and not any(KEY in path.read_text() for path in files)


def test_a_wrong_setting_shows_no_key() -> None:
    with pytest.raises(InputError) as caught:
        read_settings(f"model=m,api_key={KEY},temperature=sk-{'a' * 20},url=http://u:{KEY}@h/v1,apikeyy={KEY}")
    assert KEY not in str(caught.value) and "sk-a" not in str(caught.value)
