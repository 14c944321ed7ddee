"""Clips and questions that fail cost their own answers and no others, and each says why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from clip_questions import ask
from expected import Expected

from lmms_eval_tasks.host.ranks import RunStopped
from lmms_eval_tasks.models.shared_prefix import SharedPrefix
from lmms_eval_tasks.models.shared_prefix.sharing import PrefixSharer
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.scoring.record import UnscoredReason

Load = Callable[..., SharedPrefix]
OUT_OF_MEMORY = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")


def answers_by_item(model: SharedPrefix, clips: list[Path], questions: int = 2) -> dict[str, str]:
    requests, documents = ask(clips, questions)
    model.task_dict = documents
    responses = model.generate_until(requests)
    items = [documents["one"]["test"][request.doc_id]["item_id"] for request in requests]
    return {
        item: getattr(response, "text", response) for item, response in zip(items, responses, strict=True)
    }  # fmt: skip


def reasons(model: SharedPrefix) -> dict[str, UnscoredReason]:
    return {item: reason for (_, item), (reason, _) in model.unanswered.items()}


@pytest.fixture(scope="module")
def right(load: Load, clips: list[Path]) -> dict[str, str]:
    """Item to its answer where nothing fails."""
    return answers_by_item(load("qwen2_5_vl", mode="fast"), clips)


def spoil(monkeypatch: pytest.MonkeyPatch, method: str, fails: Callable[..., bool], error: Exception) -> None:
    """Let a method of the sharer fail where `fails` says so of its arguments."""
    original = getattr(PrefixSharer, method)

    def wrapped(self: PrefixSharer, *arguments: Any) -> Any:
        if fails(*arguments):
            raise error
        return original(self, *arguments)

    monkeypatch.setattr(PrefixSharer, method, wrapped)


def test_a_clip_that_cannot_be_decoded_is_left_out(
    load: Load, clips: list[Path], right: dict[str, str], tmp_path: Path
) -> None:
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(clips[1].read_bytes()[:300])
    model = load("qwen2_5_vl", mode="fast")
    answers = answers_by_item(model, [clips[0], broken, clips[2]])
    assert reasons(model) == dict.fromkeys(("1.0", "1.1"), UnscoredReason.UNREADABLE_CLIP)
    assert answers == {**right, "1.0": "", "1.1": ""}


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["safe", "fast"])
def test_a_clip_beside_which_memory_runs_out_is_left_out(
    load: Load, clips: list[Path], right: dict[str, str], monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    encoded: list[Any] = []

    def is_second(clip: Any) -> bool:
        encoded.extend([clip] if all(clip is not one for one in encoded) else [])
        return clip is encoded[1:2][-1] if len(encoded) > 1 else False

    spoil(monkeypatch, "encode", is_second, OUT_OF_MEMORY)
    model = load("qwen2_5_vl", mode=mode)
    answers = answers_by_item(model, clips)
    assert reasons(model) == dict.fromkeys(("1.0", "1.1"), UnscoredReason.OUT_OF_MEMORY)
    assert answers == {**right, "1.0": "", "1.1": ""}


@pytest.mark.slow
@pytest.mark.parametrize("method", ["encode", "read_prefix"])
def test_a_clip_for_which_there_is_memory_once_others_are_answered_is_answered(
    load: Load, clips: list[Path], right: dict[str, str], monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    calls: list[int] = []
    spoil(monkeypatch, method, lambda *_: calls.append(1) or len(calls) == 3, OUT_OF_MEMORY)
    model = load("qwen2_5_vl", mode="fast")
    assert answers_by_item(model, clips) == right
    assert len(calls) == 4 and not model.unanswered


def test_out_of_memory_halves_how_many_are_answered_at_once(
    load: Load, clips: list[Path], right: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    spoil(monkeypatch, "generate_together", lambda rows, _: sizes.append(len(rows)) or len(rows) > 2, OUT_OF_MEMORY)
    model = load("qwen2_5_vl", mode="fast")
    assert answers_by_item(model, clips) == right
    assert sizes == [6, 3, 2, 1, 3, 2, 1]
    assert model.facts["questions at once"] == "up to 2" and not model.unanswered


def test_one_question_that_fails_costs_its_own_answer(
    load: Load, clips: list[Path], right: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(
        monkeypatch, "generate_alone", lambda clip, text, _: text is clip.texts[1], RuntimeError("shapes differ by 3")
    )
    model = load("qwen2_5_vl", mode="safe")
    answers = answers_by_item(model, clips[:1])
    assert reasons(model) == {"0.1": UnscoredReason.FAILED}
    assert model.unanswered["one", "0.1"][1] == "RuntimeError: shapes differ by 3"
    assert answers == {"0.0": right["0.0"], "0.1": ""}


def test_a_run_in_which_clip_after_clip_fails_alike_ends(
    load: Load, clips: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(monkeypatch, "encode", lambda _: True, RuntimeError("expected 14 channels"))
    with pytest.raises(RunStopped, match="3 clips in a row failed in the same way"):
        answers_by_item(load("qwen2_5_vl", mode="fast"), clips)


def test_arguments_that_cannot_be_used_are_refused(load: Load, expected: Expected) -> None:
    messages = []
    for family, arguments in (
        ("qwen2_5_vl", {"mode": "quick"}),
        ("qwen2_5_vl", {"positions": "theirs"}),
        ("qwen3_vl", {"positions": "reference"}),
    ):
        with pytest.raises(InputError) as refused:
            load(family, **arguments)
        messages.append(str(refused.value))
    expected("\n".join(messages))
    with pytest.raises(InputError, match="video-language model that AutoModelForImageTextToText"):
        SharedPrefix("/nowhere/at/all", device="cpu")


def test_only_a_family_that_keeps_to_limits_of_pixels_names_them(load: Load) -> None:
    for family, limits in (("qwen3_vl", (3136, 25088)), ("internvl", (None, None))):
        model = load(family)
        assert (model.min_pixels, model.max_pixels) == limits
