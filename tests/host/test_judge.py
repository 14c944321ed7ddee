"""Judges as lmms-eval's users name them, against a server on loopback, and one that is loaded in this process.

tests/utils/judge tests the client and the sender by themselves.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from judge_server import MODEL, Action, Drip, Drop, Fail, Give, JudgeServer, Say, in_turn
from PIL import Image
from pydantic import BaseModel, Field
from refusals import refusal
from transformers import AutoTokenizer, Qwen2_5_VLForConditionalGeneration

from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.sample.tiny_vlm import write_tiny_vlm
from lmms_eval_tasks.utils.answers.hooks import Prompt
from lmms_eval_tasks.utils.judge.client import Judge, LocalModel, check_judge, open_judge, read_settings
from lmms_eval_tasks.utils.judge.replies import Case, JudgeSettings, ReplyCache, ReplyRecord, Sampling, ServerError

PROMPT = Prompt("grading", "Grade {answer}")
GOOD = Say('{"score": 7}')
KEY = "plain-key-0123"
JUDGE = "LMMS_EVAL_TASKS_JUDGE"


class Grade(BaseModel):
    score: float = Field(ge=0, le=10)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def case(answer: str = "x", *pictures: bytes) -> Case:
    return Case(PROMPT.render(answer=answer), PROMPT, pictures)


def connect(url: str | None, folder: Path, **options: object) -> Judge[Grade]:
    fast = {"url": url, "first_delay": 0.01, "longest_delay": 2.0, "requests": 3}
    return open_judge(
        Grade, JudgeSettings.model_validate({"model": "asked", **fast, **options}), ReplyCache(folder / "cache")
    )


TROUBLES: dict[str, Action] = {
    "unreadable reply: score: Input should be less than or equal to 10": Say('{"score": 70}'),
    "timed out": Drip(),
    "too many requests (429)": Fail(429, {"Retry-After": "0.05"}),
    "no reply": Drop(),
}


@pytest.mark.slow
def test_trouble_that_passes_ends_in_a_score_and_trouble_that_stays_ends_unscored(tmp_path: Path) -> None:
    for reason, trouble in TROUBLES.items():
        with JudgeServer(in_turn([trouble, GOOD])) as server:
            # What is not slow has all the time that a busy machine needs.
            judge = connect(server.url, tmp_path, timeout=0.5 if reason == "timed out" else 120)
            verdict = judge.judge(case())
            assert verdict.reply == Grade(score=7) and verdict.model == MODEL
            assert server.asked.total() == 2, "one layer alone tries again"
            server.script = in_turn([trouble])
            verdict = judge.judge(case("y"))
            assert verdict.reply is None and str(verdict.reason).startswith(reason)
            assert server.asked[case("y").text] == 3


def test_the_judge_is_the_one_of_the_environment_and_the_tasks_of_an_evaluation_share_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MODEL_VERSION", "from-host")
    monkeypatch.setenv("API_TYPE", "LOCAL")
    assert read_settings() == JudgeSettings(model="from-host", provider="local")
    monkeypatch.setenv(JUDGE, "model=own, max_tokens=9,json_mode=true,timeout=1.5,provider=openai")
    expected = JudgeSettings(model="own", max_tokens=9, json_mode=True, timeout=1.5)
    assert read_settings() == expected
    assert (expected.sampling.max_tokens, expected.concurrent) == (9, 8)
    assert read_settings("other") == JudgeSettings(model="other", provider="local")
    assert read_settings("none") is None
    evaluation = Evaluation()
    judge = evaluation.judge(Grade)
    monkeypatch.setenv(JUDGE, "none")
    assert evaluation.judge(Grade) is judge is not None
    assert Evaluation().judge(Grade) is None


def test_what_cannot_be_asked_is_refused_before_anything_is_sent(
    expected: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for chosen in ("none", "model=m", "model=m,provider=local,url=http://127.0.0.1:1/v1"):
        monkeypatch.setenv(JUDGE, chosen)
        check_judge()
    monkeypatch.delenv(JUDGE)
    refused = [refusal(check_judge)]
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv(JUDGE, "model=m")
    refused.append(refusal(check_judge))
    for wrong in (
        "provider=mail,temperature=-1,colour=red,loud",
        f"model=m,api_key={KEY},temperature=sk-{'a' * 20},url=http://u:{KEY}@h/v1,apikeyy={KEY}",
    ):
        refused.append(refusal(read_settings, wrong))
    for given in (
        "model=m",
        "model=m,provider=azure",
        "model=m,provider=azure,url=http://127.0.0.1:1",
        "model=m,provider=transformers,url=http://localhost/v1",
        "model=m,provider=transformers,json_mode=true",
    ):
        refused.append(refusal(open_judge, Grade, read_settings(given)))
    expected("\n\n".join(refused))


def test_lmms_eval_counts_the_tokens_of_a_judge_and_no_reply_is_kept_with_a_key(tmp_path: Path) -> None:
    from lmms_eval.models.model_utils import usage_metrics

    usage = {"prompt_tokens": 11, "completion_tokens": 7}
    content = f'{{"score": 7, "echo": "{KEY}"}}'
    reply = {"model": MODEL, "choices": [{"message": {"content": content}}], "usage": usage}
    usage_metrics.reset_usage_metrics()
    with JudgeServer(in_turn([Give(json.dumps(reply))])) as server:
        assert connect(server.url, tmp_path).judge(case("\ud800", b"one", b"two")).reply == Grade(score=7)
    counted = usage_metrics.summarize_usage_metrics()
    usage_metrics.reset_usage_metrics()
    assert "11" in str(counted) and "judge" in str(counted)
    assert [part["type"] for part in server.bodies[0]["messages"][0]["content"]] == ["text", "image_url", "image_url"]
    files = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert files and not any(KEY in path.read_text() for path in files)


def picture(grey: int) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (56, 56), (grey, grey, grey)).save(file, "JPEG")
    return file.getvalue()


@pytest.mark.slow
def test_a_model_in_this_process_is_shown_text_and_pictures_and_its_replies_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, Any]] = []
    generate = Qwen2_5_VLForConditionalGeneration.generate

    def note(self: Any, **inputs: Any) -> Any:
        seen.append(inputs)
        return generate(self, **inputs)

    monkeypatch.setattr(Qwen2_5_VLForConditionalGeneration, "generate", note)
    tiny = write_tiny_vlm(tmp_path / "tiny")
    model = LocalModel(Sampling(str(tiny), max_tokens=12))
    reply = model.reply(case("which option is right?", picture(0), picture(200)))
    assert reply.model == str(tiny) and reply.text
    model.reply(case("which option is right?", picture(0), picture(0)))
    (first, second), tokenizer = seen, AutoTokenizer.from_pretrained(tiny)
    assert len(first["image_grid_thw"]) == 2 and not torch.equal(first["pixel_values"], second["pixel_values"])
    asked = tokenizer.decode(first["input_ids"][0])
    assert "which option is right?" in asked and asked.count("<|vision_start|>") == 2 and first["max_new_tokens"] == 12
    settings = read_settings(f"model={tiny},provider=transformers,max_tokens=4,unreadable=1")
    assert settings is not None and settings.server == "transformers"
    verdict = open_judge(Grade, settings, record=ReplyRecord(tmp_path / "replies")).judge(case())
    assert verdict.reply is None and verdict.model == str(tiny) and "pixel_values" not in seen[-1]
    assert list((tmp_path / "replies").iterdir())
    with pytest.raises(ServerError, match="the model failed") as failed:
        LocalModel(Sampling(str(tmp_path / "nowhere"))).reply(case())
    assert not failed.value.again
