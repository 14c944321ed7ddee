"""Known hazards: on which runs each entry of the file applies, and that the libraries still do what it says."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from expected import Expected
from task_states import new_state

from lmms_eval_tasks.host import card_facts
from lmms_eval_tasks.host.card_facts import adapter_of, gather, version_of
from lmms_eval_tasks.host.model.identity import ModelFacts, installed_version, read_weights
from lmms_eval_tasks.host.tasks.running import Evaluation, FinishedRun
from lmms_eval_tasks.runs import hazards
from lmms_eval_tasks.runs.hazards import KNOWN_HAZARDS
from lmms_eval_tasks.runs.run_card import APPLIES, DOES_NOT_APPLY, HAZARD, HAZARDS, NOT_KNOWN, Sections

POSITIONS = ("qwen_text_inside_video", "qwen_frames_at_one_time", "qwen_times_cut")
QWEN, SIMPLE, OTHER = "lmms_eval.models.chat.qwen2_5_vl", "lmms_eval.models.simple.qwen2_5_vl", "somebody.elses"


def adapter(module: str, weights: str = "", **attributes: Any) -> Any:
    """A model whose class stands in a module, with weights of a kind."""
    kind = type("Adapter", (), {"generate_until": lambda self, requests: [], "__module__": module})
    model = kind()
    vars(model).update(attributes)
    if weights:
        model._model = SimpleNamespace(config=SimpleNamespace(model_type=weights))
    return model


def card_of(
    model: Any, task: str = "causalvqa_paired", clips_needed: bool = True, reader: str | None = None, **config: Any
) -> Sections:
    run = FinishedRun(Evaluation(clips_needed=clips_needed), ModelFacts(model, read_weights(model), reader))
    new_state(task, run.evaluation)
    return gather({"config": {"model": "m", "batch_size": 1, **config}}, run)


def hazards_of(model: Any, **settings: Any) -> set[str]:
    fields = card_of(model, **settings)[HAZARDS]
    assert fields.keys() == KNOWN_HAZARDS.keys()
    assert set(fields.values()) <= {APPLIES, DOES_NOT_APPLY}
    return {name for name, value in fields.items() if value == APPLIES}


@pytest.mark.slow
def test_on_which_runs_each_hazard_applies(expected: Expected, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = []

    def show(module: str, weights: str = "", *, packages: Any = (), attributes: Any = (), **settings: Any) -> None:
        versions = {"transformers": "5.23.0", "lmms-eval": "0.7.3", "decord": "0.6.0", **dict(packages)}
        monkeypatch.setattr(card_facts, "version_of", versions.__getitem__)
        found = sorted(hazards_of(adapter(module, weights, **dict(attributes)), **settings))
        given = [f"{name}={value}" for name, value in {**dict(packages), **dict(attributes), **settings}.items()]
        run = " ".join(filter(None, [module.removeprefix("lmms_eval.models."), weights, *given]))
        lines.append(f"{run}: {', '.join(found) or 'none'}")

    old = {"transformers": "4.57.6"}
    for version, weights in (
        ("4.57.6", "qwen2_5_vl"), ("5.0.0", "qwen2_5_vl"), ("5.2.0", "qwen2_vl"), ("5.3.0", "qwen2_5_vl"),
        ("5.5.4", "qwen2_vl"), ("5.6.0", "qwen2_5_vl"), ("5.18.0", "qwen2_5_vl"), ("5.23.0", "qwen2_vl"),
        ("5.23.0", "qwen3_vl"), ("5.23.0", ""),
    ):  # fmt: skip
        show("lmms_eval.models.chat.huggingface", weights, packages={"transformers": version})
        # A model of ours may be given positions.
        for given in ("reference", "library"):
            show(OTHER, weights, packages={"transformers": version}, attributes={"positions": given})
        show(OTHER, weights, packages={"transformers": version}, model_args="positions=reference")
    for task in ("causalvqa_paired_reversed", "causalvqa_paired_blind", "causalvqa_paired_single_frame"):
        show(QWEN, "qwen2_5_vl", attributes={"batch_size_per_gpu": 4, "fps": None}, task=task)
        show(OTHER, reader="decord", task=task)
    show(QWEN, "qwen2_5_vl", attributes={"batch_size_per_gpu": 4}, clips_needed=False)
    for module, packages in ((QWEN, {}), (SIMPLE, {}), (QWEN, {"decord": None})):
        for size, fps in ((2, None), (1, None), (2, 2.0)):
            show(module, "qwen2_5_vl", packages=packages, attributes={"batch_size_per_gpu": size, "fps": fps})
    show(QWEN, "qwen2_5_vl", batch_size=2)
    show(QWEN, "qwen2_5_vl", batch_size=1, model_args="batch_size=2")
    show(QWEN, "qwen2_5_vl", batch_size=2, model_args={"fps": 2})
    show(QWEN, "qwen2_5_vl", batch_size=2, model_args="fps=None")
    for module in ("simple.qwen2_vl", "simple.qwen2_5_vl", "simple.qwen3_vl", "chat.thyme"):
        weights = "qwen2_5_vl" if module == "chat.thyme" else module.partition(".")[2]
        for size, installed in ((2, {}), (1, {}), (1, old)):
            show(f"lmms_eval.models.{module}", weights, packages=installed, batch_size=size)
    for module, arguments in (
        ("chat.vllm", "model=org/name,is_qwen3_vl=True"), ("simple.vllm", ""), ("chat.vllm_generate", ""),
        ("chat.sglang", ""), ("chat.openai", "pass_video_url=False"), ("chat.openai", "pass_video_url=True"),
        ("chat.async_openai", ""), ("chat.vllm", "model=Qwen/Qwen3-VL-8B-Instruct"),
        ("chat.vllm", "model=Qwen/Qwen3-VL-8B-Instruct,is_qwen3_vl=True"),
        ("chat.async_openai", "model_version=Qwen/Qwen3-VL-8B-Instruct,is_qwen3_vl=False"),
        ("chat.openai", "model_version=Qwen/Qwen3-VL-8B-Instruct"),
        ("chat.openai", "model_version=Qwen/Qwen3-VL-8B-Instruct,pass_video_url=True"),
        ("chat.sglang", "model=Qwen/Qwen3-VL-8B-Instruct"),
    ):  # fmt: skip
        show(f"lmms_eval.models.{module}", model_args=arguments)
    replaced = "qwen-vl-utils: pyav in place of torchcodec"
    for reader in ("decord", "qwen-vl-utils: decord", replaced, "qwen-vl-utils: torchcodec", "PyAV", None):
        show(OTHER, reader=reader)
    expected("\n".join(lines))


def test_who_inherits_how_to_answer_inherits_its_hazards() -> None:
    from lmms_eval.models.chat.litellm import LiteLLMCompatible
    from lmms_eval.models.chat.qwen2_5_vl import Qwen2_5_VL
    from lmms_eval.models.chat.vllm_generate import VLLMGenerate

    class Other(Qwen2_5_VL):  # type: ignore[misc]
        def generate_until(self, requests: Any) -> list[Any]:
            return []

    kinds = {type("Heir", (Qwen2_5_VL,), {}): "chat.qwen2_5_vl", VLLMGenerate: "chat.vllm_generate"}
    kinds |= {LiteLLMCompatible: "chat.openai", Other: __name__, object: "builtins"}
    assert {kind: adapter_of(kind) for kind in kinds} == kinds
    # Every adapter that the file names is there.
    names = set(re.findall(r'"((?:chat|simple)\.\w+)"', Path(hazards.__file__).read_text(encoding="utf-8")))
    assert len(names) >= 10
    assert [name for name in names if find_spec(f"lmms_eval.models.{name}") is None] == []


def test_a_card_says_what_of_the_run_a_hazard_is_about_and_what_cannot_be_tested(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    versions = {"transformers": "5.23.0", "lmms-eval": "0.7.3", "decord": "0.6.0"}
    monkeypatch.setattr(card_facts, "version_of", versions.__getitem__)
    card = card_of(adapter(QWEN, "qwen2_5_vl", batch_size_per_gpu=4))
    applying = {name for name, value in card[HAZARDS].items() if value == APPLIES}
    assert {name.removeprefix(HAZARD) for name in card if name.startswith(HAZARD)} == applying
    found = card[f"{HAZARD}first_clip_frames"]
    assert found["adapter"] == "chat.qwen2_5_vl" and found["condition"] == "batch_size 4, fps not set"
    assert re.fullmatch(r"lmms-eval [\d.]+, decord 0\.6\.0", str(found["versions"]))
    assert found["effect"] == KNOWN_HAZARDS["first_clip_frames"].effect
    # One condition that does not hold is enough, whatever the others are.
    assert "first_clip_frames" not in hazards_of(adapter(QWEN, "qwen2_5_vl", fps=2), batch_size="auto")
    card = card_of(adapter(QWEN, "qwen2_5_vl"), batch_size="auto")
    assert card[HAZARDS]["first_clip_frames"] is None
    assert card[NOT_KNOWN][f"{HAZARDS}.first_clip_frames"] == (
        "ValueError: Expected batch_size to be a number, but got 'auto'."
    )
    nobody = card_of(None)
    assert set(nobody[HAZARDS].values()) == {None}
    assert nobody[NOT_KNOWN][f"{HAZARDS}.{POSITIONS[0]}"] == "which model ran is not known"


@pytest.mark.slow
def test_a_package_may_bring_the_module_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    assert version_of("transformers") == installed_version("transformers")
    assert version_of("a-package-that-nobody-has") is None
    monkeypatch.setattr(card_facts, "installed_version", lambda package: None)
    monkeypatch.setattr("importlib.metadata.packages_distributions", lambda: {"decord": ["numpy"]})
    assert version_of("decord") == np.__version__


def positions_of(family: str, seconds: float) -> tuple[torch.Tensor, int]:
    """Where the installed transformers places a video of 8 by 4 by 4 tokens, (3, 128), and the word after it."""
    module = getattr(__import__(f"transformers.models.{family}", fromlist=["x"]), f"modeling_{family}")
    kind = module.Qwen2_5_VLModel if family == "qwen2_5_vl" else module.Qwen2VLModel
    model = SimpleNamespace(
        config=SimpleNamespace(vision_config=SimpleNamespace(spatial_merge_size=2, tokens_per_second=2)),
        get_vision_position_ids=lambda *given, **named: kind.get_vision_position_ids(None, *given, **named),
    )
    kinds = torch.tensor([[0] * 3 + [2] * 128 + [0] * 2])
    named = {"second_per_grid_ts": torch.tensor([seconds])} if family == "qwen2_5_vl" else {}
    positions, _ = kind.get_rope_index(
        model, torch.ones_like(kinds), kinds, video_grid_thw=torch.tensor([[8, 8, 8]]), **named
    )
    return positions[:, 0, 3:131], int(positions[0, 0, 131])


@pytest.mark.parametrize("family", ["qwen2_vl", "qwen2_5_vl"])
def test_the_installed_transformers_places_words_and_frames_as_the_file_says(family: str) -> None:
    applying = hazards_of(adapter(OTHER, family)) & set(POSITIONS)
    video, word = positions_of(family, 1.0)
    times = len(video[0].unique())
    assert ("qwen_text_inside_video" in applying) is (word <= int(video.max()))
    assert ("qwen_frames_at_one_time" in applying) is (times == 1)
    if family == "qwen2_5_vl":
        half, _ = positions_of(family, 0.5)
        assert ("qwen_times_cut" in applying) is (len(half[0].unique()) == 1 < times)


def test_the_installed_lmms_eval_sends_images_as_the_file_says(monkeypatch: pytest.MonkeyPatch) -> None:
    from lmms_eval import protocol
    from lmms_eval.models.chat.vllm import VLLM

    frames, metadata = torch.zeros(4, 3, 8, 8), {"frames_indices": [0, 2, 4, 6], "fps": 2.0}
    monkeypatch.setattr(protocol, "fetch_video", lambda part, **named: ((frames, metadata), 1.0) if named else frames)
    asked = [{"role": "user", "content": [{"type": "video", "url": "c.mp4"}, {"type": "text", "text": "Why?"}]}]
    model = object.__new__(VLLM)
    vars(model).update(max_pixels=1, min_image_pixels=1, max_frame_num=4, fps=None, nframes=4)
    for is_qwen3_vl, kinds in ((False, ["image_url"] * 4), (True, ["text", "image_url"] * 4)):
        model.is_qwen3_vl = is_qwen3_vl
        (message,) = model._to_openai_messages(asked)
        assert [part["type"] for part in message["content"]] == [*kinds, "text"]
