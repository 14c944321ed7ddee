"""A judge that is loaded in this process: a vision-language model of transformers, here a tiny random one."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from pydantic import BaseModel
from transformers import AutoTokenizer, Qwen2_5_VLForConditionalGeneration

from lmms_eval_tasks.prompting import read_prompt
from lmms_eval_tasks.sample.tiny_vlm import write_tiny_vlm
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.judge.client import LocalModel, open_judge, read_settings
from lmms_eval_tasks.utils.judge.replies import Case, ReplyRecord, Sampling, ServerError

PROMPT = read_prompt("mcq_letter")


class Said(BaseModel):
    """What no random model says."""

    answer: str


def picture(grey: int) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (56, 56), (grey, grey, grey)).save(file, "JPEG")
    return file.getvalue()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_vlm(tmp_path_factory.mktemp("tiny"))


def test_it_is_shown_text_and_pictures(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, Any]] = []
    generate = Qwen2_5_VLForConditionalGeneration.generate

    def note(self: Any, **inputs: Any) -> Any:
        seen.append(inputs)
        return generate(self, **inputs)

    monkeypatch.setattr(Qwen2_5_VLForConditionalGeneration, "generate", note)
    model = LocalModel(Sampling(str(tiny), max_tokens=12))
    reply = model.reply(Case("which option is right?", PROMPT, (picture(0), picture(200))))
    assert reply.model == str(tiny) and reply.text
    model.reply(Case("which option is right?", PROMPT, (picture(0),) * 2))
    (first, second), tokenizer = seen, AutoTokenizer.from_pretrained(tiny)
    assert len(first["image_grid_thw"]) == 2 and not torch.equal(first["pixel_values"], second["pixel_values"])
    asked = tokenizer.decode(first["input_ids"][0])
    assert "which option is right?" in asked and asked.count("<|vision_start|>") == 2 and first["max_new_tokens"] == 12
    model.reply(Case("and now?", PROMPT))
    assert "pixel_values" not in seen[-1]


def test_a_model_that_cannot_be_loaded_is_a_failure_of_the_judge(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="the model failed") as failed:
        LocalModel(Sampling(str(tmp_path / "nowhere"))).reply(Case("Why?", PROMPT))
    assert not failed.value.again


def test_it_is_chosen_as_any_judge_and_its_replies_are_kept(tiny: Path, tmp_path: Path) -> None:
    settings = read_settings(f"model={tiny},provider=transformers,max_tokens=4,unreadable=1")
    assert settings is not None and settings.server == "transformers"
    record = ReplyRecord(tmp_path / "replies")
    verdict = open_judge(Said, settings, record=record).judge(Case("Why?", PROMPT))
    assert verdict.reply is None and verdict.model == str(tiny)
    assert list((tmp_path / "replies").iterdir())


@pytest.mark.parametrize("setting", ["url=http://localhost/v1", "json_mode=true"])
def test_what_only_a_server_takes_is_refused(setting: str) -> None:
    settings = read_settings(f"model=m,provider=transformers,{setting}")
    assert settings is not None
    with pytest.raises(InputError, match=f"Expected no {setting.partition('=')[0]} for the provider transformers"):
        open_judge(Said, settings)
