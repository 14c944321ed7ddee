"""What `shared_vllm` sends to vLLM, on an interface that refuses what vLLM does not take, without vLLM itself."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fake_vllm
import numpy as np
import pytest
from clip_libraries import note_opened
from lmms_eval.api.instance import Instance
from lmms_eval.models import chat as chat_module
from numbered_clips import number_of, write_numbered
from PIL.Image import Image, new
from torch import distributed as dist
from transformers import AutoProcessor
from transformers.video_utils import VideoMetadata

from lmms_eval_tasks.host.card_facts import adapter_of
from lmms_eval_tasks.models import clip_reading
from lmms_eval_tasks.models import shared_vllm as shared_vllm_module
from lmms_eval_tasks.models import shared_vllm as videos
from lmms_eval_tasks.models.shared_vllm import VideoSampling, read_video
from lmms_eval_tasks.sample.tiny_vlm import write_tiny_vlm
from lmms_eval_tasks.utils.answers.reply import Reply
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.clips import FrameOrder, ReorderedClip, write_placeholder
from lmms_eval_tasks.utils.data.release import UnreadableClip
from lmms_eval_tasks.utils.scoring.record import UnscoredReason


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_vlm(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("clips")
    return {name: write_numbered(folder / f"{name}.mp4", count) for name, count in (("a", 40), ("b", 25), ("c", 3))}


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> Any:
    """lmms-eval's vLLM model with the fake in place of vLLM."""
    from lmms_eval.models.chat import vllm as chat
    from lmms_eval.models.simple import vllm as simple

    for module in (chat, simple):
        monkeypatch.setattr(module, "LLM", fake_vllm.LLM)
        monkeypatch.setattr(module, "SamplingParams", fake_vllm.SamplingParams)
    monkeypatch.setitem(sys.modules, "vllm", fake_vllm)
    return fake_vllm


@pytest.fixture
def build(vllm: Any, checkpoint: Path) -> Callable[..., Any]:
    def build(arguments: str = "", batch_size: int = 4) -> Any:
        given = ",".join(filter(None, [f"model={checkpoint}", arguments]))
        model = shared_vllm_module.SharedVLLM.create_from_arg_string(given, {"batch_size": batch_size})
        model.task_dict = {}
        return model

    return build


def requests_of(model: Any, *asked: tuple[str, list[Any]], generation: dict[str, Any] | None = None) -> list[Instance]:
    requests = []
    for place, (task, shown) in enumerate(asked):
        docs = model.task_dict.setdefault(task, {"test": []})["test"]
        docs.append({"item_id": f"item-{place}", "shown": shown, "question": f"Q:q{place}"})
        arguments = ("", messages_of, generation or {"max_new_tokens": 8, "until": []}, len(docs) - 1, task, "test")
        requests.append(request_of(arguments))
    return requests


def ask(model: Any, *asked: tuple[str, list[Any]], generation: dict[str, Any] | None = None) -> list[str]:
    """Answers to questions of tasks, each (task, what is shown); the question of place n is ``qn``."""
    return [result.text for result in model.generate_until(requests_of(model, *asked, generation=generation))]


def replies_of(model: Any, *asked: tuple[str, list[Any]]) -> dict[int, Reply]:
    """Replies to the same, by place."""
    return dict(model.generate_each(requests_of(model, *asked)))


def request_of(arguments: tuple[Any, ...]) -> Instance:
    return Instance("generate_until", arguments, 0, {"task": arguments[-2], "doc_id": arguments[-3], "repeats": 1})


def messages_of(doc: dict[str, Any]) -> list[dict[str, Any]]:
    content = [
        {"type": "image" if isinstance(one, Image) else "video", "url": str(one) if isinstance(one, Path) else one}
        for one in doc["shown"]
    ]
    return [{"role": "user", "content": [*content, {"type": "text", "text": doc["question"]}]}]


def test_code_beside_weights_is_run_only_where_that_is_asked_for(
    build: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    load = AutoProcessor.from_pretrained

    def note(name: str, **options: Any) -> Any:
        seen.append(options["trust_remote_code"])
        return load(name)

    monkeypatch.setattr(AutoProcessor, "from_pretrained", note)
    given = ("", "trust_remote_code=False", "trust_remote_code=True")
    assert [build(one).client.arguments["trust_remote_code"] for one in given] == seen == [False, False, True]


def test_a_clip_is_sent_as_a_video_with_its_times_and_its_id(build: Callable[..., Any], clips: dict[str, Path]) -> None:
    model = build("nframes=8")
    (answer,) = ask(model, ("t", [clips["a"]]))
    (prompt,) = model.client.prompts
    ((frames, metadata),) = prompt["multi_modal_data"]["video"]
    assert [number_of(frame) for frame in frames] == metadata["frames_indices"] == [0, 6, 11, 17, 22, 28, 33, 39]
    assert (metadata["fps"], metadata["duration"], metadata["total_num_frames"]) == (12.5, 3.2, 40)
    assert prompt["mm_processor_kwargs"] == {"do_sample_frames": False}
    (media_id,) = prompt["multi_modal_uuids"]["video"]
    assert answer == f"q0 {media_id[:8]}"
    assert prompt["prompt"] == (
        "<|im_start|>user\n<|vision_start|><|video_pad|><|vision_end|>Q:q0<|im_end|>\n<|im_start|>assistant\n"
    )


@pytest.mark.parametrize("order", FrameOrder)
def test_frames_are_sent_in_the_order_that_a_view_shows(
    order: FrameOrder, build: Callable[..., Any], clips: dict[str, Path]
) -> None:
    model, shown = build("nframes=8"), ReorderedClip(clips["a"], order)
    answers = ask(model, ("t", [clips["a"]]), ("t", [shown]), ("u", [shown]))
    whole, first, second = (prompt["multi_modal_data"]["video"][0] for prompt in model.client.prompts)
    numbers = order.numbers(clips["a"], 40)
    assert [number_of(frame) for frame in first[0]] == [numbers[place] for place in whole[1]["frames_indices"]]
    assert first[1] == second[1] == whole[1] and (first[0] == second[0]).all()
    # In vLLM's cache it is a clip of its own, and one for all tasks.
    assert answers[1].split()[1] == answers[2].split()[1] != answers[0].split()[1]
    assert model.work["counts"]["times decoded"] == 2


def test_a_processor_of_transformers_takes_what_is_sent(build: Callable[..., Any], clips: dict[str, Path]) -> None:
    model = build("nframes=8")
    ask(model, ("t", [clips["a"]]))
    (prompt,) = model.client.prompts
    ((frames, metadata),) = prompt["multi_modal_data"]["video"]
    known = VideoMetadata(**{name: value for name, value in metadata.items() if name != "do_sample_frames"})
    inputs = model.processor(
        text=[prompt["prompt"]], videos=[[frames]], video_metadata=[[known]], return_tensors="pt",
        **prompt["mm_processor_kwargs"],
    )  # fmt: skip
    assert int(inputs["video_grid_thw"][0, 0]) == 4
    assert float(inputs["second_per_grid_ts"][0]) == pytest.approx(0.8)


def test_the_questions_of_a_clip_follow_one_another_across_tasks(
    build: Callable[..., Any], clips: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded = note_opened(monkeypatch)
    model = build("nframes=4", batch_size=2)
    a, b, c = clips.values()
    asked = [("one", [a]), ("one", [b]), ("one", [c]), ("two", [b]), ("two", [a]), ("one", [a]), ("two", [c])]
    answers = ask(model, *asked)
    sent = [prompt["prompt"].split("Q:")[1].split("<")[0] for prompt in model.client.prompts]
    assert sent == ["q0", "q4", "q5", "q1", "q3", "q2", "q6"]
    assert [len(call) for call in model.client.sent] == [2, 2, 2, 1]
    # Each clip is opened and encoded once, whatever the order in which it was asked about.
    assert sorted(decoded) == sorted(clips.values())
    assert len(model.client.encoded) == len(set(model.client.encoded)) == 3
    # Answers are in the order of the requests.
    assert [answer.split()[0] for answer in answers] == [f"q{place}" for place in range(7)]
    requests = [request_of(("", messages_of, {}, place, "one", "test")) for place in (0, 1, 3)]
    assert [place for place, _ in model.generate_each(requests)] == [0, 2, 1]
    ids = [answer.split()[1] for answer in answers]
    assert ids[0] == ids[4] == ids[5] and ids[1] == ids[3] and ids[2] == ids[6] and len(set(ids)) == 3


def test_pictures_several_clips_placeholders_and_nothing_at_all(
    build: Callable[..., Any], clips: dict[str, Path], tmp_path: Path
) -> None:

    placeholder = tmp_path / "placeholder.mp4"
    write_placeholder(placeholder)
    shown: list[list[Any]] = [
        [new("L", (32, 32), 3)], [], [clips["a"], clips["b"]], [clips["a"]] * 2, [placeholder],
    ]  # fmt: skip
    model = build("nframes=4", batch_size=8)
    answers = ask(model, *(("t", one) for one in shown), ("other", shown[-1]))
    assert [answer.split()[0] for answer in answers] == [f"q{place}" for place in range(6)]
    sent = {prompt["prompt"].split("Q:")[1][:2]: prompt for prompt in model.client.prompts}
    assert sent["q0"].keys() == {"prompt", "multi_modal_data", "multi_modal_uuids"}
    assert sent["q0"]["multi_modal_uuids"] == {"image": [None]} and sent["q1"].keys() == {"prompt"}
    ids = {name: set(prompt["multi_modal_uuids"]["video"]) for name, prompt in sent.items() if name > "q1"}
    assert [len(ids[name]) for name in ("q2", "q3", "q4")] == [2, 1, 1] and ids["q3"] < ids["q2"]
    assert ids["q4"] == ids["q5"], "a placeholder is one clip for all its items"
    # What vLLM names a clip by is the same beside any other.
    assert sent["q2"]["mm_processor_kwargs"] == sent["q3"]["mm_processor_kwargs"]
    assert model.generate_until([]) == []


def test_a_clip_that_cannot_be_decoded_harms_no_other(
    build: Callable[..., Any], clips: dict[str, Path], tmp_path: Path
) -> None:
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(b"no video")
    model = build("nframes=4", batch_size=2)
    gone = tmp_path / "gone.mp4"
    answers = ask(model, ("t", [clips["a"]]), ("t", [broken]), ("u", [gone]), ("t", [clips["b"]]), ("u", [broken]))
    assert [answer.split()[:1] for answer in answers] == [["q0"], [], [], ["q3"], []]
    assert len(model.client.prompts) == 2
    replies = replies_of(model, ("t", [broken]), ("t", [clips["a"]]), ("u", [gone]))
    assert [replies[place].missing for place in range(3)] == [
        UnscoredReason.UNREADABLE_CLIP, None, UnscoredReason.UNREADABLE_CLIP
    ]  # fmt: skip
    assert str(broken) in replies[0].detail and replies[1].text.startswith("q1")


def test_generation_is_that_of_the_hosts_model(build: Callable[..., Any], clips: dict[str, Path]) -> None:
    model = build("nframes=4,max_new_tokens=5")
    ask(model, ("t", [clips["c"]]), generation={"max_new_tokens": 16, "temperature": 0.5, "top_k": 3, "until": ["x"]})
    ((_, sampling),) = model.client.sent[0]
    assert sampling == fake_vllm.SamplingParams(max_tokens=16, temperature=0.5, top_p=0.95, top_k=3)


def test_arguments_reach_vllm_and_no_other(build: Callable[..., Any], clips: dict[str, Path], tmp_path: Path) -> None:
    template = tmp_path / "own.jinja"
    template.write_text("own {% for m in messages %}<|video_pad|>{{ m['content'][1]['text'] }}{% endfor %}")
    limits = "fps=2,max_frame_num=64,max_pixels=1000"
    model = build(f"max_model_len=4096,{limits},gpu_memory_utilization=0.5,chat_template={template}")
    assert model.client.arguments["max_model_len"] == 4096
    assert model.client.arguments["gpu_memory_utilization"] == 0.5
    assert model.sampling == VideoSampling(nframes=32, fps=2.0, max_frame_num=64, max_pixels=1000)
    ask(model, ("t", [clips["c"]]))
    assert model.client.prompts[0]["prompt"] == "own <|video_pad|>Q:q0"
    with pytest.raises(TypeError, match="max_modle_len"):
        build("max_modle_len=4096")
    with pytest.raises(NotImplementedError, match="shared_vllm answers in one round"):
        model.generate_until_multi_round([])


def test_without_vllm_it_is_listed_and_says_what_is_missing(checkpoint: Path) -> None:
    from lmms_eval.models import MODEL_REGISTRY_V2

    kind = MODEL_REGISTRY_V2.get_model_class("shared_vllm")
    assert kind is shared_vllm_module.SharedVLLM and kind.is_simple is False
    assert adapter_of(kind) == "lmms_eval_tasks.models.shared_vllm"
    if chat_module.vllm.LLM is None:
        with pytest.raises(InputError, match=r"^shared_vllm answers by vLLM, which is not installed\."):
            kind.create_from_arg_string(f"model={checkpoint}")


def test_an_old_vllm_is_refused(build: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fake_vllm, "__version__", "0.24.0")
    monkeypatch.setattr(fake_vllm, "__version_tuple__", (0, 24, 0))
    with pytest.raises(InputError, match=r"^Expected vLLM 0\.32 or later for shared_vllm, but got 0\.24\.0"):
        build()


def test_ranks_that_share_a_model_send_equally_often(
    build: Callable[..., Any], clips: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = build("nframes=4", batch_size=1)
    rounds: list[int] = []
    model._tp_world_size, model._tp_group_cpu = 2, object()

    def gather(counts: list[int], own: int, group: Any) -> None:
        counts[:] = [own, 3]

    def run_round(prompts: list[Any], run: Callable[[list[Any]], Any]) -> Any:
        rounds.append(len(prompts))
        return run(prompts)

    monkeypatch.setattr(dist, "all_gather_object", gather)
    monkeypatch.setattr(model, "_run_tp_synced", run_round)
    assert ask(model, ("t", [clips["c"]]))[0].startswith("q0")
    assert rounds == [1, 0, 0]


def test_an_id_says_what_was_seen(clips: dict[str, Path], tmp_path: Path) -> None:
    sampling = VideoSampling(nframes=4)
    first = read_video(clips["a"], sampling)
    copy = Path(shutil.copy(clips["a"], tmp_path / "copy.mp4"))
    assert read_video(copy, sampling).media_id == first.media_id
    others = [
        read_video(clips["b"], sampling),
        read_video(clips["a"], VideoSampling(nframes=6)),
        read_video(clips["a"], VideoSampling(nframes=4, max_pixels=1000)),
        read_video(clips["a"], VideoSampling(nframes=4, fps=3.0)),
        read_video(clips["a"], sampling, start=1.0),
        read_video(clips["a"], sampling, end=1.0),
    ]
    assert len({first.media_id, *(other.media_id for other in others)}) == 7
    # Settings that give the same frames are the same.
    assert read_video(clips["a"], VideoSampling(nframes=5)).media_id == first.media_id


def test_frames_are_those_of_the_hosts_sampler() -> None:
    process = pytest.importorskip("qwen_vl_utils.vision_process")
    for asked in ({"nframes": 8}, {"nframes": 31}, {"fps": 1.0}, {"fps": 2.0}, {"fps": 0.1}):
        limits = {"max_frames": 768} if "fps" in asked else {}
        for count in (40, 250, 3001):
            number = process.smart_nframes({**asked, **limits}, count, 12.5)
            expected = np.linspace(0, count - 1, number).round().astype(int).tolist()
            assert VideoSampling(**asked).positions(0, count, 12.5) == expected, (asked, count)
    for sampling, first, count, positions in (
        (VideoSampling(nframes=4), 5, 10, [5, 8, 11, 14]),
        (VideoSampling(nframes=32), 0, 5, [0, 1, 3, 4]),
        (VideoSampling(nframes=32), 0, 1, [0]),
        (VideoSampling(fps=10.0, max_frame_num=5), 0, 100, [0, 33, 66, 99]),
        (VideoSampling(fps=10.0), 0, 2, [0, 1]),
    ):
        assert sampling.positions(first, count, 10.0) == positions, sampling


def test_large_frames_are_made_smaller_and_a_rate_that_is_not_stated_is_not_guessed_at(
    clips: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, small = (read_video(clips["a"], VideoSampling(nframes=4, max_pixels=most)) for most in (80 * 48, 1000))
    assert whole.frames.shape == (4, 48, 80, 3) and small.frames.shape == (4, 24, 40, 3)
    assert small.metadata == whole.metadata
    part = read_video(clips["a"], VideoSampling(nframes=4), start=1.0, end=2.0)
    assert part.metadata["frames_indices"] == [12, 16, 21, 25]
    known = VideoMetadata(**{name: value for name, value in part.metadata.items() if name != "do_sample_frames"})
    assert known.sampled_fps == pytest.approx(4 / 14 * 12.5), "the rate of a part is that of the part"
    assert known.duration == pytest.approx(14 / 12.5)
    reader = clip_reading.OpenClip(clips["a"])
    reader.fps = 0.0
    monkeypatch.setattr(videos, "OpenClip", lambda *_: reader)
    with pytest.raises(UnreadableClip, match="to state how many frames a second it has"):
        read_video(clips["a"], VideoSampling())
