"""The host's Qwen2.5-VL adapter on several ranks of a machine without GPUs.

On several ranks the adapter takes CUDA devices, whatever `--device` says. Told that its process is the only one, it
loads, decodes and generates on the CPU; its rank is set afterwards, so that the host shares the items out as ever.
"""

from __future__ import annotations

from typing import Any
from unittest.mock import PropertyMock, patch

from accelerate import Accelerator
from lmms_eval.models.simple.qwen2_5_vl import Qwen2_5_VL


class QwenOnCpuRanks(Qwen2_5_VL):  # type: ignore[misc]
    def __init__(self, **settings: Any) -> None:
        with patch.object(Accelerator, "num_processes", new_callable=PropertyMock, return_value=1):
            super().__init__(**settings)
        self._rank, self._world_size = self.accelerator.process_index, self.accelerator.num_processes
