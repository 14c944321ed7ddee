"""The host's Qwen2.5-VL adapters on several ranks of a machine without GPUs.

On several ranks the adapters take CUDA devices, whatever `--device` says. Told that its process is the only one, one
loads, decodes and generates on the CPU; its rank is set afterwards, so that the host shares the items out as ever.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from unittest.mock import PropertyMock, patch
from uuid import uuid4

import numpy as np
from accelerate import Accelerator
from lmms_eval.models.chat.qwen2_5_vl import Qwen2_5_VL as Qwen2_5_VLChat
from lmms_eval.models.simple.qwen2_5_vl import Qwen2_5_VL


class RecordingProcessor:
    """A processor that also writes the prompt, pictures and videos of each call to a file, by its request."""

    def __init__(self, processor: Any, folder: Path) -> None:
        self._processor, self._folder = processor, folder
        self.request = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._processor, name)

    def __call__(self, **inputs: Any) -> Any:
        arrays: dict[str, Any] = {"text": np.array(inputs["text"])}
        for kind in ("image", "video"):
            shown = inputs.get(f"{kind}s") or ()
            arrays |= {f"{kind}{place}": np.asarray(one) for place, one in enumerate(shown)}
        self._folder.mkdir(parents=True, exist_ok=True)
        name = f"{self.request}.{uuid4().hex}.npz"
        np.savez(self._folder / name, **arrays)
        return self._processor(**inputs)


class OnCpuRanks:
    """Beside an adapter, what puts it on the CPU."""

    def __init__(self, **settings: Any) -> None:
        with patch.object(Accelerator, "num_processes", new_callable=PropertyMock, return_value=1):
            super().__init__(**settings)
        self._rank, self._world_size = self.accelerator.process_index, self.accelerator.num_processes  # type: ignore[attr-defined]
        if folder := os.environ.get("RECEIVED_FOLDER"):
            self.processor = RecordingProcessor(self.processor, Path(folder))  # type: ignore[has-type]
            self.generate_until = self._answer_one_by_one

    def _answer_one_by_one(self, requests: list[Any]) -> list[Any]:
        """Answer requests, each by itself, so that what is received is named by its request."""
        responses = []
        for request in requests:
            self.processor.request = f"{request.task_name}.{request.doc_id}"
            responses += super().generate_until([request])  # type: ignore[misc]
        return responses


class QwenOnCpuRanks(OnCpuRanks, Qwen2_5_VL):  # type: ignore[misc]
    """The simple adapter."""


class QwenChatOnCpuRanks(OnCpuRanks, Qwen2_5_VLChat):  # type: ignore[misc]
    """The chat adapter."""
