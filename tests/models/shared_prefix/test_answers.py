"""Answers of `shared_prefix` are those of lmms-eval's adapters and of plain generation, however questions share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import av
import pytest
import torch
from clip_questions import ask, chat_of
from lmms_eval.models.chat.qwen2_5_vl import Qwen2_5_VL
from lmms_eval.models.chat.qwen3_vl import Qwen3_VL
from lmms_eval.protocol import ChatMessages
from tiny_vlms import FAMILIES

from lmms_eval_tasks.models.shared_prefix import SharedPrefix, sharing
from lmms_eval_tasks.models.shared_prefix.model import generation_arguments
from lmms_eval_tasks.models.shared_prefix.positions import Positions

HOSTS = {"qwen2_5_vl": Qwen2_5_VL, "qwen3_vl": Qwen3_VL}
"""Families that lmms-eval has adapters for which this model answers alike."""
Load = Callable[..., SharedPrefix]


def answer(model: Any, requests: Sequence[Any], documents: dict[str, Any]) -> list[str]:
    model.task_dict = documents
    return [getattr(response, "text", response) for response in model.generate_until(list(requests))]


def answer_plainly(model: SharedPrefix, requests: Sequence[Any], documents: dict[str, Any]) -> list[str]:
    """What `generate` answers to each question by itself, from pixels on."""
    answers = []
    for request in requests:
        messages = ChatMessages(messages=chat_of(documents[request.task_name]["test"][request.doc_id]))
        clip = model.inputs.process([messages])
        text = clip.texts[0].text
        arguments = generation_arguments(request.args[2], model.tokenizer, True)
        tokens = model.model.generate(**clip.media, **text, **arguments)
        new = tokens[0, text["input_ids"].shape[1] :]
        answers.append(model.tokenizer.decode(new, skip_special_tokens=True, clean_up_tokenization_spaces=False))
    return answers


def count_encodes(model: SharedPrefix) -> list[int]:
    """One entry for each time that the vision encoder runs from now on."""
    calls: list[int] = []
    encoders = [part for name, part in model.model.named_modules() if name.split(".")[-1] in ("visual", "vision_tower")]
    assert len(encoders) == 1
    encoders[0].register_forward_hook(lambda *_: calls.append(1))
    return calls


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("questions", [1, 2, 6])
def test_answers_are_those_of_plain_generation(load: Load, clips: list[Path], family: str, questions: int) -> None:
    requests, documents = ask(clips, questions, tasks=("one", "two"))
    plain = answer_plainly(load(family), requests, documents)
    assert len(set(plain)) > len(plain) // 2
    for mode, batch_size in (("safe", "1"), ("fast", "1"), ("fast", 4), ("fast", "auto")):
        model = load(family, mode=mode, batch_size=batch_size)
        encodes = count_encodes(model)
        assert answer(model, requests, documents) == plain, (mode, batch_size)
        assert len(encodes) == len(clips)
        assert ("prompt tokens reused" in model.work["counts"]) is (mode == "fast" and questions > 1)


@pytest.mark.slow
@pytest.mark.parametrize("family", HOSTS)
@pytest.mark.parametrize("asked", [{"batch_size": 1}, {"batch_size": 4}, {"fps": 4, "max_num_frames": 8}], ids=str)
def test_answers_are_those_of_the_adapter_of_lmms_eval(
    load: Load, checkpoint: Callable[[str], Path], clips: list[Path], family: str, asked: dict[str, Any]
) -> None:
    # Of a batch the adapter takes as many frames as its first clip has, so all have enough.
    settings = {"max_num_frames": 12, "min_pixels": 3136, "max_pixels": 25088, **asked}
    host = HOSTS[family](str(checkpoint(family)), device="cpu", device_map="cpu", **settings)
    host._model = host._model.float()
    requests, documents = ask(clips, 2, tasks=("one", "two"))
    answers = answer(host, requests, documents)
    for mode in ("safe", "fast", "auto"):
        assert answer(load(family, mode=mode, **settings), requests, documents) == answers, mode


@pytest.mark.parametrize("family", ["qwen2_5_vl", "qwen3_vl", "llava_onevision"])
def test_a_clip_is_opened_once(load: Load, clips: list[Path], family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Path] = []
    open_file = av.open
    monkeypatch.setattr(av, "open", lambda path, *rest: (opened.append(Path(path)), open_file(path, *rest))[1])
    requests, documents = ask(clips, 3)
    assert all(answer(load(family, mode="fast"), requests, documents))
    assert sorted(opened) == sorted(clips)


@pytest.mark.slow
def test_a_short_clip_is_shown_whole_beside_a_longer_one(load: Load, clips: list[Path]) -> None:
    requests, documents = ask(clips, 2)
    alone = [answer(load("qwen2_5_vl", mode="fast", max_num_frames=20), [one], documents)[0] for one in requests]
    assert answer(load("qwen2_5_vl", mode="fast", max_num_frames=20), requests, documents) == alone


def test_safe_logits_are_equal_to_the_bit(load: Load, clips: list[Path]) -> None:
    model = load("qwen2_5_vl", mode="safe")
    _, documents = ask(clips[:1], 2)
    clip = model.inputs.process([ChatMessages(messages=chat_of(doc)) for doc in documents["one"]["test"]])
    wanted = {"return_dict_in_generate": True, "output_logits": True}
    arguments = {**generation_arguments({"max_new_tokens": 6}, model.tokenizer, True), **wanted}
    encoded = model._sharer.encode(clip)
    for text in clip.texts:
        plain = model.model.generate(**clip.media, **text.text, **arguments)
        safe = model._sharer.generate_alone(encoded, text, arguments)
        assert torch.equal(torch.stack(plain.logits), torch.stack(safe.logits))


@pytest.mark.slow
def test_without_explicit_positions_answers_of_interleaved_clips_differ(
    load: Load, clips: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    requests, documents = ask(clips, 6)
    plain = answer_plainly(load("qwen2_5_vl"), requests, documents)

    def count_tokens(model: Any, inputs: Any, positions: Positions) -> torch.Tensor:
        return torch.arange(inputs["input_ids"].shape[1]).expand(4, 1, -1)

    monkeypatch.setattr(sharing, "find_positions", count_tokens)
    assert answer(load("qwen2_5_vl", mode="fast"), requests, documents) != plain


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_the_first_clip_shows_whether_fast_mode_is_right(load: Load, clips: list[Path], family: str) -> None:
    requests, documents = ask(clips, 2)
    model = load(family)
    assert answer(model, requests, documents) == answer_plainly(model, requests, documents)
    assert model.facts["mode"] == "fast" and "same tokens" in model.facts["why"]


def test_where_fast_mode_answers_otherwise_the_run_goes_on_in_safe_mode(
    load: Load, clips: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    requests, documents = ask(clips, 2)
    plain = answer_plainly(load("qwen2_5_vl"), requests, documents)
    model = load("qwen2_5_vl")
    original = sharing.PrefixSharer.generate_together

    def spoil(self: Any, rows: Any, generation: Any) -> Any:
        layer = rows[0].prefix.cache.layers[0]
        layer.keys = layer.keys.flip(-1)
        return original(self, rows, generation)

    monkeypatch.setattr(sharing.PrefixSharer, "generate_together", spoil)
    assert answer(model, requests, documents) == plain
    assert model.facts["mode"] == "safe"


@pytest.mark.slow
@pytest.mark.parametrize("family", ["qwen2_vl", "qwen2_5_vl"])
def test_positions_of_reference_are_the_same_in_both_modes_and_others_than_the_librarys(
    load: Load, clips: list[Path], family: str
) -> None:
    requests, documents = ask(clips, 3)
    chosen = {"positions": "reference", "max_num_frames": 24}
    reference = answer(load(family, mode="safe", **chosen), requests, documents)
    assert answer(load(family, mode="fast", batch_size=4, **chosen), requests, documents) == reference
    auto = load(family, **chosen)
    assert answer(auto, requests, documents) == reference and auto.facts["mode"] == "fast"
    assert auto.facts["positions"] == "reference"
    assert answer(load(family, mode="safe", max_num_frames=24), requests, documents) != reference


class OtherLayer:
    """A kind of layer that caches do not have."""


@pytest.mark.slow
def test_a_cache_that_cannot_be_copied_is_not_shared(
    load: Load, clips: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    requests, documents = ask(clips, 2)
    plain = answer_plainly(load("qwen2_5_vl"), requests, documents)
    monkeypatch.setattr(sharing, "DynamicLayer", OtherLayer)
    model = load("qwen2_5_vl", mode="fast")
    assert answer(model, requests, documents) == plain
    assert "prompt tokens reused" not in model.work["counts"]
    auto = load("qwen2_5_vl")
    assert answer(auto, requests, documents) == plain and auto.facts["mode"] == "safe"


def test_questions_without_a_clip_are_answered_and_a_sampled_answer_reads_its_prompt_whole(
    load: Load, clips: list[Path]
) -> None:
    requests, documents = ask([None, clips[0]], 3)
    model = load("qwen2_5_vl", mode="fast")
    assert answer(model, requests, documents) == answer_plainly(model, requests, documents)
    requests, documents = ask(clips, 2, temperature=0.7)
    model = load("qwen2_5_vl", mode="fast")
    assert all(answer(model, requests, documents))
    assert "prompt tokens reused" not in model.work["counts"]


def test_padding_is_not_asked(load: Load, clips: list[Path]) -> None:
    requests, documents = ask(clips[:1], 1)
    padding = SimpleNamespace(**{**vars(requests[0]), "metadata": {"__padding_only__": True}})
    model = load("qwen2_5_vl")
    encodes = count_encodes(model)
    assert answer(model, [padding], documents) == [""] and not encodes
