"""Answers of `shared_prefix` are those of lmms-eval and of plain generation; what fails costs its own answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from by_day import first_by_day
from clip_libraries import note_opened
from expected import Expected
from lmms_eval.models.chat.qwen2_5_vl import Qwen2_5_VL
from lmms_eval.models.chat.qwen3_vl import Qwen3_VL
from lmms_eval.protocol import ChatMessages
from tiny_vlms import FAMILIES, write_tiny_family

from lmms_eval_tasks.host.ranks import RunStopped
from lmms_eval_tasks.models.shared_prefix import sharing
from lmms_eval_tasks.models.shared_prefix.inputs import reference_positions
from lmms_eval_tasks.models.shared_prefix.model import SharedPrefix, generation_arguments
from lmms_eval_tasks.models.shared_prefix.sharing import PrefixSharer
from lmms_eval_tasks.sample.drawn_clips import write_clip
from lmms_eval_tasks.utils.answers.reply import Reply
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.clip_store import ClipStore
from lmms_eval_tasks.utils.data.clips import FrameOrder, ReorderedClip
from lmms_eval_tasks.utils.data.made import show_shuffled
from lmms_eval_tasks.utils.data.release import UnreadableClip
from lmms_eval_tasks.utils.scoring.record import UnscoredReason

FRAMES = (16, 24, 12)
HEIGHT, WIDTH = 84, 112
ASKED = (
    "What happens?",
    "Does the red ball fall because of the box?",
    "Which option is right? (A) the ball, (B) the box, (C) neither of these two, (D) it cannot be seen.",
    "Why?",
    "x",
    "Is it (A) one, (B) two or (C) three things that move?",
)


def write_clips(folder: Path, frames: Sequence[int] = FRAMES) -> list[Path]:
    """Clips of noise that moves, each other than the others."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, count in enumerate(frames):
        picture = np.random.default_rng(number).integers(0, 255, (HEIGHT, WIDTH, 3), dtype=np.uint8)
        film = np.stack([np.roll(picture, 4 * step, axis=1) for step in range(count)])
        paths.append(folder / f"{number}.mp4")
        write_clip(paths[-1], film, 8)
    return paths


def chat_of(doc: dict[str, Any]) -> list[dict[str, Any]]:
    """The clip and then the question, as lmms-eval shows a document to chat models."""
    shown = [{"type": "video", "url": str(doc["clip"])}] if doc["clip"] else []
    return [{"role": "user", "content": [*shown, {"type": "text", "text": doc["question"]}]}]


def ask(
    clips: Sequence[Path | None], questions: int, tasks: Sequence[str] = ("one",), **generation: Any
) -> tuple[list[Any], dict[str, Any]]:
    """Requests for some questions about each clip, clip after clip in turn, and the documents that they name.

    Args:
        clips: The clips; None asks without one.
        questions: How many questions about each.
        tasks: Names of tasks, which take the questions in turn.
        **generation: How answers are generated.
    """
    documents: dict[str, list[dict[str, Any]]] = {task: [] for task in tasks}
    requests = []
    for number in range(questions):
        task = tasks[number % len(tasks)]
        for place, clip in enumerate(clips):
            doc = {"item_id": f"{place}.{number}", "clip": clip, "question": ASKED[number]}
            documents[task].append(doc)
            arguments = (doc["question"], chat_of, {"max_new_tokens": 12, **generation})
            doc_id = len(documents[task]) - 1
            request = {"args": (*arguments, doc_id, task, "test"), "task_name": task, "doc_id": doc_id, "metadata": {}}
            requests.append(SimpleNamespace(**request))
    return requests, {task: {"test": docs} for task, docs in documents.items()}


pytestmark = pytest.mark.model
Load = Callable[..., SharedPrefix]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a family's checkpoint."""
    folder = tmp_path_factory.mktemp("families")
    return cache(lambda family: write_tiny_family(family, folder / family))


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three clips."""
    return write_clips(tmp_path_factory.mktemp("clips"))


@pytest.fixture(scope="module")
def load(checkpoint: Callable[[str], Path]) -> Load:
    """Loads a family's tiny model in float32 on the CPU."""

    def load(family: str, **arguments: Any) -> SharedPrefix:
        sizes = {"max_num_frames": 8, "min_pixels": 3136, "max_pixels": 25088}
        return SharedPrefix(pretrained=str(checkpoint(family)), dtype="float32", device="cpu", **{**sizes, **arguments})

    return load


HOSTS = {"qwen2_5_vl": Qwen2_5_VL, "qwen3_vl": Qwen3_VL}
"""Families that lmms-eval has adapters for which this model answers alike."""


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
@pytest.mark.parametrize("family", first_by_day(FAMILIES))
def test_answers_are_those_of_plain_generation(
    load: Load, clips: list[Path], family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And each clip is opened and encoded once."""
    requests, documents = ask(clips, 6, tasks=("one", "two"))
    plain = answer_plainly(load(family), requests, documents)
    assert len(set(plain)) > len(plain) // 2
    opened = note_opened(monkeypatch)
    for chosen in ({"mode": "fast", "batch_size": 1}, {"mode": "fast", "batch_size": 4}):
        model = load(family, **chosen)
        encodes = count_encodes(model)
        opened.clear()
        assert answer(model, requests, documents) == plain, chosen
        assert len(encodes) == len(clips) and sorted(opened) == sorted(clips)
        assert "prompt tokens reused" in model.work["counts"]
    # The first clip shows whether fast mode is right.
    model = load(family)
    assert answer(model, requests, documents) == plain
    assert model.facts["mode"] == "fast" and "same tokens" in model.facts["why"]
    requests, documents = ask(clips[:2], 1)
    model = load(family, mode="fast")
    assert answer(model, requests, documents) == plain[:2] and "prompt tokens reused" not in model.work["counts"]


@pytest.mark.slow
@pytest.mark.parametrize("family", first_by_day(HOSTS))
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
    assert answer(load(family, mode="fast", **settings), requests, documents) == answers


@pytest.mark.slow
def test_a_short_clip_is_shown_whole_beside_a_longer_one(load: Load, clips: list[Path]) -> None:
    requests, documents = ask(clips, 2)
    alone = [answer(load("qwen2_5_vl", mode="fast", max_num_frames=20), [one], documents)[0] for one in requests]
    assert answer(load("qwen2_5_vl", mode="fast", max_num_frames=20), requests, documents) == alone


def test_logits_of_a_question_by_itself_are_equal_to_the_bit(load: Load, clips: list[Path]) -> None:
    model = load("qwen2_5_vl")
    _, documents = ask(clips[:1], 2)
    clip = model.inputs.process([ChatMessages(messages=chat_of(doc)) for doc in documents["one"]["test"]])
    wanted = {"return_dict_in_generate": True, "output_logits": True}
    arguments = {**generation_arguments({"max_new_tokens": 6}, model.tokenizer, True), **wanted}
    encoded = model._sharer.encode(clip)
    for text in clip.texts:
        plain = model.model.generate(**clip.media, **text.text, **arguments)
        alone = model._sharer.generate_alone(encoded, text, arguments)
        assert torch.equal(torch.stack(plain.logits), torch.stack(alone.logits))


@pytest.mark.slow
@pytest.mark.parametrize("family", first_by_day(["qwen2_5_vl", "qwen2_vl"]))
def test_positions_of_reference_are_the_same_however_asked_and_others_than_the_librarys(
    load: Load, clips: list[Path], family: str
) -> None:
    requests, documents = ask(clips, 3)
    chosen = {"positions": "reference", "max_num_frames": 24}
    reference = answer(load(family, mode="safe", **chosen), requests, documents)
    assert answer(load(family, mode="fast", batch_size=4, **chosen), requests, documents) == reference
    auto = load(family, **chosen)
    assert answer(auto, requests, documents) == reference and auto.facts["mode"] == "fast"
    assert auto.facts["positions"] == "reference"
    assert answer(load(family, max_num_frames=24), requests, documents) != reference


class OtherLayer:
    """A kind of layer that caches do not have."""


@pytest.mark.slow
def test_what_cannot_be_shared_or_is_answered_otherwise_is_asked_one_by_one(
    load: Load, clips: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    requests, documents = ask(clips, 2)
    plain = answer_plainly(load("qwen2_5_vl"), requests, documents)
    with monkeypatch.context() as patch:
        # A cache that cannot be copied.
        patch.setattr(sharing, "DynamicLayer", OtherLayer)
        model, auto = load("qwen2_5_vl", mode="fast"), load("qwen2_5_vl")
        assert answer(model, requests, documents) == answer(auto, requests, documents) == plain
        assert "prompt tokens reused" not in model.work["counts"] and auto.facts["mode"] == "one by one"
    original = sharing.PrefixSharer.generate_together

    def spoil(self: Any, rows: Any, generation: Any) -> Any:
        layer = rows[0].prefix.cache.layers[0]
        layer.keys = layer.keys.flip(-1)
        return original(self, rows, generation)

    for spoiled in (spoil, lambda *_: 1 / 0):
        monkeypatch.setattr(sharing.PrefixSharer, "generate_together", spoiled)
        model = load("qwen2_5_vl")
        assert answer(model, requests, documents) == plain and model.facts["mode"] == "one by one"
    assert model.facts["why"] == "ZeroDivisionError: division by zero"
    assert answer(load("qwen2_5_vl", mode="safe"), requests, documents) == plain, "which warns"


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
    # Padding is not asked.
    encodes, padding = count_encodes(model), {**vars(requests[0]), "metadata": {"__padding_only__": True}}
    assert answer(model, [SimpleNamespace(**padding)], documents) == [""] and not encodes


def question(video: str) -> ChatMessages:
    content = [{"type": "video", "url": video}, {"type": "text", "text": "What happens?"}]
    return ChatMessages(messages=[{"role": "user", "content": content}])


@pytest.mark.parametrize("family", first_by_day(FAMILIES, 3))
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
    assert all(answers)
    assert model.work["counts"]["times encoded"] == 3


def test_a_clip_that_cannot_be_read_in_order_is_unreadable(load: Load, tmp_path: Path) -> None:
    (tmp_path / "text.mp4").write_text("no video")
    for fps in (None, 2):  # with a rate, frames are not counted first
        inputs = load("qwen2_5_vl", fps=fps).inputs
        with pytest.raises(UnreadableClip, match=r"text\.mp4"):
            inputs.process([question(ReorderedClip(tmp_path / "text.mp4", FrameOrder.REVERSED))])


OUT_OF_MEMORY = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")


def replies_by_item(model: SharedPrefix, clips: list[Path], questions: int = 2) -> dict[str, Reply]:
    requests, documents = ask(clips, questions)
    model.task_dict = documents
    items = [documents["one"]["test"][request.doc_id]["item_id"] for request in requests]
    return {items[place]: reply for place, reply in sorted(model.generate_each(requests))}


def answers_by_item(model: SharedPrefix, clips: list[Path], questions: int = 2) -> dict[str, str]:
    return {item: reply.text for item, reply in replies_by_item(model, clips, questions).items()}


def reasons(replies: dict[str, Reply]) -> dict[str, UnscoredReason]:
    return {item: reply.missing for item, reply in replies.items() if reply.missing}


def texts(replies: dict[str, Reply]) -> dict[str, str]:
    return {item: reply.text for item, reply in replies.items()}


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
    replies = replies_by_item(model, [clips[0], broken, clips[2]])
    assert reasons(replies) == dict.fromkeys(("1.0", "1.1"), UnscoredReason.UNREADABLE_CLIP)
    assert texts(replies) == {**right, "1.0": "", "1.1": ""}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "method", "fails", "all_calls", "left_out"),
    [
        ("safe", "encode", (2,), 3, ["1.0", "1.1"]),
        ("fast", "encode", (2, 3), 4, ["1.0", "1.1"]),
        ("fast", "encode", (3,), 4, []),
        ("fast", "read_prefix", (3,), 4, []),
    ],
)
def test_a_clip_for_which_there_is_no_memory_is_asked_again_once_others_are_answered(
    load: Load, clips: list[Path], right: dict[str, str], monkeypatch: pytest.MonkeyPatch, mode: str, method: str,
    fails: tuple[int, ...], all_calls: int, left_out: list[str],
) -> None:  # fmt: skip
    """And left out where there is none either."""
    calls: list[int] = []

    def is_full(*_: object) -> bool:
        calls.append(1)
        return len(calls) in fails

    spoil(monkeypatch, method, is_full, OUT_OF_MEMORY)
    model = load("qwen2_5_vl", mode=mode)
    replies = replies_by_item(model, clips)
    assert reasons(replies) == dict.fromkeys(left_out, UnscoredReason.OUT_OF_MEMORY)
    assert texts(replies) == {**right, **dict.fromkeys(left_out, "")} and len(calls) == all_calls


def test_out_of_memory_halves_how_many_are_answered_at_once(
    load: Load, clips: list[Path], right: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    def is_full(rows: Sequence[object], _: object) -> bool:
        sizes.append(len(rows))
        return len(rows) > 2

    spoil(monkeypatch, "generate_together", is_full, OUT_OF_MEMORY)
    model = load("qwen2_5_vl", mode="fast")
    assert answers_by_item(model, clips) == right
    assert sizes == [6, 3, 2, 1, 3, 2, 1]
    assert model.facts["questions at once"] == "up to 2"


def test_one_question_that_fails_costs_its_own_answer(
    load: Load, clips: list[Path], right: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(
        monkeypatch, "generate_alone", lambda clip, text, _: text is clip.texts[1], RuntimeError("shapes differ by 3")
    )
    model = load("qwen2_5_vl", mode="safe")
    replies = replies_by_item(model, clips[:1])
    assert reasons(replies) == {"0.1": UnscoredReason.FAILED}
    assert replies["0.1"].detail == "RuntimeError: shapes differ by 3"
    assert texts(replies) == {"0.0": right["0.0"], "0.1": ""}


def test_a_run_in_which_clip_after_clip_fails_alike_ends(
    load: Load, clips: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(monkeypatch, "encode", lambda _: True, RuntimeError("expected 14 channels"))
    with pytest.raises(RunStopped, match="3 clips in a row failed in the same way"):
        answers_by_item(load("qwen2_5_vl", mode="fast"), clips)


def test_arguments_that_cannot_be_used_are_refused(load: Load, expected: Expected) -> None:
    messages = []
    for family, arguments in (
        ("qwen2_5_vl", {"mode": "quick", "positions": "theirs"}),
        ("qwen3_vl", {"positions": "reference"}),
    ):
        with pytest.raises(InputError) as refused:
            load(family, **arguments)
        messages.append(str(refused.value))
    expected("\n".join(messages))
    with pytest.raises(InputError, match="video-language model that AutoModelForImageTextToText"):
        SharedPrefix(pretrained="/nowhere/at/all", device="cpu")


# ``get_rope_index`` of transformers 4.57.6, taken out of ``modeling_qwen2_5_vl.py`` and ``modeling_qwen2_vl.py`` and
# run on prompts of text, pictures and videos: the last position and the sum of place times position of each axis.
CASES = json.loads(Path(__file__).with_name("shared_prefix_positions.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES)
def test_positions_of_reference_are_those_of_the_release(case: dict[str, Any]) -> None:
    kinds = [kind for kind, count in case["kinds"] for _ in range(count)]
    positions = reference_positions(
        kinds, case["image_grids"], case["video_grids"], case["seconds"] or None, 2, case["tokens_per_second"]
    )
    assert positions.shape == (3, len(kinds))
    assert positions[:, -1].tolist() == case["last"]
    assert (positions * torch.arange(1, len(kinds) + 1)).sum(dim=1).tolist() == case["sums"]
