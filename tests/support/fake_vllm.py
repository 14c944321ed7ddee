"""vLLM's offline interface without vLLM: it takes what the real one takes, refuses all else, and notes what came.

Signatures and forms are those of vLLM 0.32: ``LLM`` of vllm/entrypoints/llm.py, ``TextPrompt`` of vllm/inputs/llm.py,
``SamplingParams``, and the parser of videos in vllm/multimodal/parse.py. tests/models/test_shared_vllm_real.py compares
them with the real ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from types import SimpleNamespace
from typing import Any

import numpy as np
from PIL.Image import Image
from transformers.video_utils import VideoMetadata

__version__ = "0.32.0"
__version_tuple__ = (0, 32, 0)
LLM_ARGUMENTS = frozenset({
    "tokenizer", "tokenizer_mode", "skip_tokenizer_init", "trust_remote_code", "allowed_local_media_path",
    "tensor_parallel_size", "dtype", "quantization", "revision", "tokenizer_revision", "seed",
    "gpu_memory_utilization", "enforce_eager", "hf_overrides", "mm_processor_kwargs", "data_parallel_size",
    "distributed_executor_backend", "disable_log_stats", "max_model_len", "limit_mm_per_prompt",
    "enable_prefix_caching", "mm_processor_cache_gb", "max_num_seqs", "max_num_batched_tokens",
})  # fmt: skip
PROMPT = frozenset(
    {"prompt", "multi_modal_data", "media_io_kwargs", "mm_processor_kwargs", "multi_modal_uuids", "cache_salt"}
)
METADATA = frozenset(one.name for one in fields(VideoMetadata)) | {"do_sample_frames"}
PLACEHOLDERS = {"video": "<|video_pad|>", "image": "<|image_pad|>"}


@dataclass
class SamplingParams:
    """How one answer is generated."""

    n: int = 1
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: int | None = None
    stop: str | list[str] | None = field(default_factory=list)
    max_tokens: int | None = 16
    min_tokens: int = 0


class LLM:
    """Answers each prompt with its question and the id of its clip.

    Attributes:
        sent: Prompts and their sampling parameters, a list for each call.
        encoded: Ids of clips in the order in which a cache that holds one clip would encode them.
    """

    def __init__(self, model: str, **arguments: Any) -> None:
        if unknown := arguments.keys() - LLM_ARGUMENTS:
            raise TypeError(f"EngineArgs.__init__() got an unexpected keyword argument {sorted(unknown)[0]!r}")
        self.model, self.arguments = model, arguments
        self.sent: list[list[tuple[dict[str, Any], SamplingParams]]] = []
        self.encoded: list[str] = []
        self._known: dict[str, np.ndarray[Any, Any]] = {}

    def generate(
        self,
        prompts: Sequence[dict[str, Any]],
        sampling_params: SamplingParams | Sequence[SamplingParams] | None = None,
        *,
        use_tqdm: bool = True,
        lora_request: Any = None,
        priority: list[int] | None = None,
        tokenization_kwargs: dict[str, Any] | None = None,
        mm_processor_kwargs: dict[str, Any] | None = None,
    ) -> list[Any]:
        """Answers in the order of the prompts."""
        assert isinstance(sampling_params, list)
        self.sent.append(list(zip(prompts, sampling_params, strict=True)))
        for prompt, sampling in self.sent[-1]:
            assert isinstance(sampling, SamplingParams)
            self._check(prompt)
        return [_output(prompt) for prompt in prompts]

    @property
    def prompts(self) -> list[dict[str, Any]]:
        """All prompts, in the order in which they were sent."""
        return [prompt for call in self.sent for prompt, _ in call]

    def _check(self, prompt: dict[str, Any]) -> None:
        assert prompt.keys() <= PROMPT and isinstance(prompt["prompt"], str), prompt.keys()
        data, ids = prompt.get("multi_modal_data", {}), prompt.get("multi_modal_uuids", {})
        assert data.keys() == ids.keys() <= PLACEHOLDERS.keys()
        for kind, placeholder in PLACEHOLDERS.items():
            items = list(zip(data.get(kind, []), ids.get(kind, []), strict=True))
            if prompt["prompt"].count(placeholder) != len(items):
                raise ValueError(f"Expected {len(items)} placeholders of {kind} in {prompt['prompt']!r}.")
            for item, name in items:
                if kind == "image":
                    assert name is None and isinstance(item, Image) and item.mode == "RGB"
                else:
                    frames, metadata = item
                    self._check_video(frames, metadata, name)

    def _check_video(self, frames: Any, metadata: dict[str, Any], name: str) -> None:
        assert isinstance(frames, np.ndarray) and frames.dtype == np.uint8 and frames.ndim == 4
        assert metadata.keys() <= METADATA and metadata["do_sample_frames"] is False
        assert len(metadata["frames_indices"]) == len(frames) and isinstance(name, str)
        # The real one would answer about the clip that came under this id before.
        assert np.array_equal(self._known.setdefault(name, frames), frames), "two clips have one id"
        if self.encoded[-1:] != [name]:
            self.encoded.append(name)


def _output(prompt: dict[str, Any]) -> Any:
    question = prompt["prompt"].split("Q:")[1].split("<|im_end|>")[0]
    names = [str(name)[:8] for name in prompt.get("multi_modal_uuids", {}).get("video", [])]
    return SimpleNamespace(outputs=[SimpleNamespace(text=" ".join([question, *names]))])
