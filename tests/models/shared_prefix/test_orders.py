"""Clips whose frames are to be read in another order: the model gets what it would get of a made clip of that order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from clip_questions import ask
from lmms_eval.protocol import ChatMessages
from tiny_vlms import FAMILIES

from lmms_eval_tasks.models.shared_prefix import SharedPrefix
from lmms_eval_tasks.utils.data.clip_store import ClipStore
from lmms_eval_tasks.utils.data.frames import FrameOrder, ReorderedClip
from lmms_eval_tasks.utils.data.made import show_shuffled
from lmms_eval_tasks.utils.data.release import UnreadableClip

Load = Callable[..., SharedPrefix]


def question(video: str) -> ChatMessages:
    content = [{"type": "video", "url": video}, {"type": "text", "text": "What happens?"}]
    return ChatMessages(messages=[{"role": "user", "content": content}])  # type: ignore[list-item]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("sampling", [{"max_num_frames": 8}, {"fps": 4, "max_num_frames": 8}])
def test_a_model_gets_what_it_would_get_of_the_made_clip(
    load: Load, clips: list[Path], family: str, sampling: dict[str, int], tmp_path: Path
) -> None:
    inputs = load(family, **sampling).inputs
    made = show_shuffled(clips[1], ClipStore(tmp_path, 1 << 30)).path
    ours, theirs, whole = (
        inputs.process([question(video)])
        for video in (ReorderedClip(clips[1], FrameOrder.SHUFFLED), str(made), str(clips[1]))
    )
    assert ours.texts[0].ids == theirs.texts[0].ids
    assert ours.media.keys() == theirs.media.keys()
    (pixels,) = (name for name in ours.media if name.startswith("pixel_values"))
    for name in ours.media.keys() - {pixels}:
        assert torch.equal(torch.as_tensor(ours.media[name]), torch.as_tensor(theirs.media[name])), name
    lost = (ours.media[pixels] - theirs.media[pixels]).abs().mean()
    assert lost < 0.2 * (ours.media[pixels] - whole.media[pixels]).abs().mean(), "but for what coding has lost"


def test_questions_are_grouped_by_clip_and_order(load: Load, clips: list[Path]) -> None:
    def messages(doc: dict[str, Any]) -> list[dict[str, Any]]:
        return question(doc["clip"]).model_dump()["messages"]  # type: ignore[no-any-return]

    orders = [ReorderedClip(clips[0], order) for order in FrameOrder]
    requests, documents = ask([clips[0]] * 3, 2)
    for place, request in enumerate(requests):
        documents["one"]["test"][request.doc_id]["clip"] = [str(clips[0]), *orders][place % 3]
        request.args = (request.args[0], messages, *request.args[2:])
    model = load("qwen2_5_vl", mode="fast")
    model.task_dict = documents
    answers = [getattr(answer, "text", answer) for answer in model.generate_until(requests)]
    assert not model.unanswered and all(answers)
    assert model.work["counts"]["times encoded"] == 3


def test_a_clip_that_cannot_be_read_in_order_is_unreadable(load: Load, tmp_path: Path) -> None:
    (tmp_path / "text.mp4").write_text("no video")
    for fps in (None, 2):  # with a rate, frames are not counted first
        inputs = load("qwen2_5_vl", fps=fps).inputs
        with pytest.raises(UnreadableClip, match=r"text\.mp4"):
            inputs.process([question(ReorderedClip(tmp_path / "text.mp4", FrameOrder.REVERSED))])
