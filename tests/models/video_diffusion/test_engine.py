import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from by_day import first_by_day
from expected import Expected
from tiny_models import tiny_engine

from lmms_eval_tasks.models.video_diffusion import denoising as engine_module
from lmms_eval_tasks.models.video_diffusion.denoising import AnswerStore, AskedClips, ClipFile, Engine, draw_noise
from lmms_eval_tasks.utils.answers.losses import ClipLosses, DenoisingResponse
from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm

Clips = dict[str, tuple[Path, Path]]
CAPTION = "a ball falls"


@pytest.fixture(scope="module")
def wan(checkpoints: Path) -> Engine:
    engine: Engine = tiny_engine(checkpoints, "wan2.1-1.3b")
    return engine


def pair(clips: Clips, name: str = "long", item_id: str = "pair") -> AskedClips:
    return AskedClips.pair(item_id, *clips[name], CAPTION)


def loss(answer: DenoisingResponse | ClipLosses) -> tuple[float, float]:
    assert isinstance(answer, DenoisingResponse) and answer.error is None and answer.loss is not None, answer.error
    return answer.loss.forward, answer.loss.backward


def seeds_of(answer: DenoisingResponse | ClipLosses) -> list[int]:
    assert isinstance(answer, DenoisingResponse)
    return [seed for part in answer.seeds for step in part for seed in step]


@pytest.mark.parametrize("family", first_by_day(["wan2.2-a14b", "animatediff-sd1.5"]))
def test_losses_do_not_depend_on_the_batch(checkpoints: Path, clips: Clips, family: str) -> None:
    by_batch = [loss(tiny_engine(checkpoints, family, batch=batch).measure(pair(clips))) for batch in (1, 7, None)]
    for other in by_batch[1:]:
        assert other == pytest.approx(by_batch[0], rel=1e-5)


@pytest.mark.parametrize("family", first_by_day(["wan2.1-1.3b", "animatediff-sd1.5"]))
def test_exchanging_the_files_flips_the_difference_exactly(checkpoints: Path, clips: Clips, family: str) -> None:
    files = clips["long"]
    for protocol in ("paper", "official_example", "wan_scripts"):
        engine = tiny_engine(checkpoints, family, protocol=protocol)
        forward, backward = loss(engine.measure(pair(clips)))
        assert loss(engine.measure(AskedClips.pair("pair", files[1], files[0], CAPTION))) == (backward, forward)
        assert forward != backward


def test_noise_is_the_pairs_own(clips: Clips, checkpoints: Path, wan: Engine) -> None:
    first, second = wan.measure(pair(clips, item_id="a")), wan.measure(pair(clips, item_id="b"))
    seeds = seeds_of(first) + seeds_of(second)
    assert len(set(seeds)) == len(seeds)
    assert loss(first) != loss(second)
    assert loss(first) != loss(tiny_engine(checkpoints, "wan2.1-1.3b", seed=1).measure(pair(clips, item_id="a")))
    like = torch.zeros(1, 4, 3, 5, 7)
    alone = [torch.randn(like.shape, generator=torch.Generator("cpu").manual_seed(seed)) for seed in (3, 0, 2**62, 3)]
    assert torch.equal(draw_noise([3, 0, 2**62, 3], like), torch.cat(alone)), "whatever the batch"


def test_all_timesteps_share_their_noise_in_the_official_example(checkpoints: Path, clips: Clips) -> None:
    answer = tiny_engine(checkpoints, "animatediff-sd1.5", protocol="official_example").measure(pair(clips))
    assert all(len({seed for step in part for seed in step}) == 1 for part in answer.seeds)
    assert [(part.start, part.stop, part.borrowed) for part in answer.windows] == [(0, 8, 0), (4, 16, 4), (12, 24, 4)]
    assert answer.losses is not None and answer.loss is not None
    per_timestep = np.array(answer.losses.forward).sum(axis=0)
    assert answer.loss.forward == pytest.approx(per_timestep.mean())


def test_the_wan_scripts_draw_ten_times_and_may_take_the_clips_size(checkpoints: Path, clips: Clips) -> None:
    engine = tiny_engine(checkpoints, "wan2.1-1.3b", protocol="wan_scripts")
    answer = engine.measure(pair(clips))
    assert {len(step) for part in answer.seeds for step in part} == {10}
    assert answer.losses is not None and answer.loss is not None
    assert answer.loss.forward == pytest.approx(np.mean(answer.losses.forward))
    assert answer.frames is not None and answer.frames.used == 21
    assert engine.settings.size_for(1280, 720) == (32, 32)
    sized_by_clip = tiny_engine(checkpoints, "wan2.1-1.3b", protocol="wan_scripts", height=None, width=None).settings
    assert sized_by_clip.size_for(1280, 720) == (1280, 720) and sized_by_clip.as_json()["height"] is None


def test_a_null_prompt_reads_no_caption(checkpoints: Path, clips: Clips, wan: Engine) -> None:
    engine = tiny_engine(checkpoints, "wan2.1-1.3b", prompt="null")
    blank = loss(engine.measure(AskedClips.pair("pair", *clips["long"], "")))
    assert blank == loss(engine.measure(pair(clips)))
    assert blank != loss(wan.measure(pair(clips)))


def test_clips_are_decoded_once_and_windows_encoded_once(
    checkpoints: Path, clips: Clips, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = tiny_engine(checkpoints, "wan2.1-1.3b")
    calls: Counter[str] = Counter()

    def counted(name: str, call: Any) -> Any:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            calls[name] += 1
            return call(*args, **kwargs)

        return wrapper

    monkeypatch.setattr(ClipFile, "read", counted("decode", ClipFile.read))
    for name in ("encode_frames", "encode_text", "predict"):
        monkeypatch.setattr(engine.adapter, name, counted(name, getattr(engine.adapter, name)))
    windows = len(engine.measure(pair(clips, item_id="a")).windows)
    engine.measure(pair(clips, item_id="b"))
    assert windows == 3
    assert calls == {"decode": 4, "encode_frames": 4 * windows, "encode_text": 1, "predict": 2 * 2 * 2}


class Numbered:
    """A process in which a prediction's error is the prediction itself."""

    process, predicts = "flow", "velocity"

    def add_noise(self, clean: torch.Tensor, noise: torch.Tensor, timesteps: torch.Tensor) -> torch.Tensor:
        return clean

    def target(self, clean: torch.Tensor, noise: torch.Tensor, timesteps: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(clean)


@pytest.mark.parametrize(
    ("family", "counted"),
    [
        ("wan2.1-1.3b", [[0, 1, 2], [0, 1, 2], [2]]),
        ("cogvideox1.5-5b", [[1, 2, 3], [1, 2, 3], [3]]),
        ("animatediff-sd1.5", [[*range(8)], [*range(8)], [*range(8)]]),
        ("mochi-1", [[0, 1, 2], [2]]),
        ("ltx-2b", [[0, 1, 2]]),
    ],
)
def test_only_a_windows_own_latents_count(
    checkpoints: Path, clips: Clips, family: str, counted: list[list[int]]
) -> None:
    """A network that answers each latent frame with its number gives away which ones enter the loss."""
    engine = tiny_engine(checkpoints, family)

    def number(noisy: torch.Tensor, *args: Any) -> torch.Tensor:
        return torch.arange(noisy.shape[2]).float().view(1, 1, -1, 1, 1).expand_as(noisy)

    engine.adapter.noising, engine.adapter.predict = Numbered(), number
    answer = engine.measure(pair(clips))
    assert answer.losses is not None
    expected = [[float(np.mean(np.square(numbers)))] * 10 for numbers in counted]
    assert answer.losses.forward == answer.losses.backward == expected
    assert [part.latents for part in answer.windows] == [len(numbers) for numbers in counted]


class Limited:
    """A network that has memory for so many clips at once."""

    def __init__(self, predict: Any, limit: int) -> None:
        self.predict, self.limit, self.sizes = predict, limit, list[int]()

    def __call__(self, noisy: torch.Tensor, *args: Any) -> torch.Tensor:
        self.sizes.append(len(noisy))
        if len(noisy) > self.limit:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        answer: torch.Tensor = self.predict(noisy, *args)
        return answer


def test_auto_batch_halves_until_it_fits(checkpoints: Path, clips: Clips, wan: Engine) -> None:
    engine = tiny_engine(checkpoints, "wan2.1-1.3b", batch=None)
    limited = Limited(engine.adapter.predict, 6)
    engine.adapter.predict = limited
    assert loss(engine.measure(pair(clips))) == pytest.approx(loss(wan.measure(pair(clips))), rel=1e-5)
    assert limited.sizes[:3] == [20, 10, 5] and max(limited.sizes[2:]) == 5
    before = len(limited.sizes)
    engine.measure(pair(clips, item_id="next"))
    assert max(limited.sizes[before:]) == 5


def test_out_of_memory_is_one_clear_answer(checkpoints: Path, clips: Clips) -> None:
    for batch, limit, advice in (
        (None, 0, "Memory ran out at batch 1; give offload=true"),
        (8, 4, "Memory ran out at batch=8; give a smaller number, or batch=auto."),
    ):
        engine = tiny_engine(checkpoints, "wan2.1-1.3b", batch=batch)
        predict = engine.adapter.predict
        engine.adapter.predict = Limited(predict, limit)
        kind, message = refused(engine.measure(pair(clips)))
        assert kind == "out_of_memory" and message.startswith(advice)
        engine.adapter.predict = predict
        loss(engine.measure(pair(clips)))


def test_what_nobody_foresaw_is_named_and_a_loss_that_is_not_finite_kept(
    checkpoints: Path, clips: Clips, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = tiny_engine(checkpoints, "wan2.1-1.3b")
    predict = engine.adapter.predict
    engine.adapter.predict = lambda *args: predict(*args) * math.nan
    answer = engine.measure(pair(clips))
    assert answer.error is None and answer.loss is not None and math.isnan(answer.loss.forward)
    assert '"forward":"NaN"' in answer.to_json()
    monkeypatch.setattr(engine_module, "combine_losses", lambda *args: 1 / 0)
    assert refused(engine.measure(pair(clips))) == ("failed", "ZeroDivisionError: division by zero")


def refused(answer: DenoisingResponse | ClipLosses) -> tuple[str, str]:
    assert (
        isinstance(answer, DenoisingResponse)
        and answer.loss is None
        and answer.losses is None
        and answer.error is not None
    )
    return answer.error.kind, answer.error.message


def test_bad_pairs_say_why_and_leave_the_next_alone(
    tmp_path: Path, clips: Clips, wan: Engine, expected: Expected
) -> None:
    good, (forward, backward) = loss(wan.measure(pair(clips))), clips["long"]
    text, cut = tmp_path / "notes.mp4", tmp_path / "cut.mp4"
    text.write_text("no video", encoding="utf-8")
    cut.write_bytes(forward.read_bytes()[: forward.stat().st_size // 2])
    messages = []
    for first, second, caption in (
        (text, backward, "x"),
        (cut, backward, "x"),
        (forward, tmp_path / "absent.mp4", "x"),
        (forward, backward, ""),
        (*clips["tiny"], "x"),
        (forward, clips["short"][1], "x"),
    ):
        messages.append(": ".join(refused(wan.measure(AskedClips.pair("a", first, second, caption)))))
        assert loss(wan.measure(pair(clips))) == good
    expected("\n".join(messages))


def test_offload_changes_no_loss(checkpoints: Path, clips: Clips) -> None:
    engines = (tiny_engine(checkpoints, "wan2.2-a14b", offload=where) for where in ("false", "true", "layers"))
    whole, *offloaded = engines
    plain = loss(whole.measure(pair(clips)))
    assert [loss(engine.measure(pair(clips))) for engine in offloaded] == [plain, plain]


def clip_losses(engine: Engine, *files: Path, group: str = "scene", item: str = "pair") -> ClipLosses:
    answer = engine.measure(AskedClips.of_group(item, group, files))
    assert isinstance(answer, ClipLosses) and answer.error is None and answer.losses, answer.error
    return answer


def by_clip(answer: ClipLosses) -> list[float]:
    assert answer.losses is not None
    return answer.losses


def test_losses_of_clips_go_with_their_files_and_a_group_sees_the_same_noise(clips: Clips, wan: Engine) -> None:
    one, other = clips["long"]
    there, back = clip_losses(wan, one, other), clip_losses(wan, other, one)
    losses = by_clip(there)
    assert losses == by_clip(back)[::-1] and there.curves == back.curves[::-1]
    assert losses[0] != losses[1]
    three = clip_losses(wan, one, other, one)
    assert three.losses == [*losses, losses[0]], "equal clips have equal losses to the bit"
    assert [np.mean(curve) for curve in there.curves] == pytest.approx(losses)
    first, second = (clip_losses(wan, *clips["long"], item=item) for item in ("a", "b"))
    assert first.details["seeds"] == second.details["seeds"] and first.losses == second.losses
    apart = clip_losses(wan, *clips["long"], group="another scene")
    assert apart.details["seeds"] != first.details["seeds"] and apart.losses != first.losses


def test_clips_without_a_caption_are_asked_with_the_empty_text(clips: Clips, checkpoints: Path, wan: Engine) -> None:
    """Whatever `prompt` says, and the answer's settings say so; its losses are those of a pair with that noise."""
    answer = clip_losses(wan, *clips["long"])
    assert answer.settings["prompt"] == "null" and wan.settings.prompt == "forward"
    assert answer.settings_digest == wan.digests[AnswerForm.CLIP_LOSSES] != wan.digests[AnswerForm.LOSSES]
    null = tiny_engine(checkpoints, "wan2.1-1.3b", prompt="null")
    assert loss(null.measure(AskedClips.pair("scene", *clips["long"], ""))) == tuple(by_clip(answer))


def test_clips_of_different_shapes_are_not_compared(clips: Clips, wan: Engine) -> None:
    answer = wan.measure(AskedClips.of_group("pair", "scene", (clips["long"][0], clips["short"][0])))
    assert isinstance(answer, ClipLosses) and answer.error is not None and answer.losses is None
    assert (answer.error.kind, answer.error.message) == (
        "unequal_clips",
        "Expected clips of the same frames, size and rate, but long_forward.mp4 has 24 frames of 32x32 at 8 a second, "
        "short_forward.mp4 has 12 frames of 32x32 at 8 a second.",
    )


def test_kept_answers_of_either_form_are_never_taken_for_the_other(clips: Clips, wan: Engine, tmp_path: Path) -> None:
    store = AnswerStore(tmp_path, wan.digests)
    asked = [AskedClips.pair("a", *clips["long"], ""), *(AskedClips.of_group("a", one, clips["long"]) for one in "ab")]
    store.put(asked[1], clip_losses(wan, *clips["long"], group="a", item="a"))
    assert [store.get(one) is not None for one in asked] == [False, True, False]
