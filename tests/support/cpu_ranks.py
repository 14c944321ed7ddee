"""Makes the models of `qwen_on_cpu_ranks` known to lmms-eval, as an installed plugin would."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

ENTRY_POINT = "[lmms_eval.models]\nqwen_on_cpu_ranks = cpu_ranks:manifest\nqwen_chat_on_cpu_ranks = cpu_ranks:chat\n"
METADATA = "Metadata-Version: 2.1\nName: qwen-on-cpu-ranks\nVersion: 0\n"


def manifest() -> Any:
    """The model, for the host's registry."""
    from lmms_eval.models.registry_v2 import ModelManifest

    return ModelManifest(model_id="qwen_on_cpu_ranks", simple_class_path="qwen_on_cpu_ranks.QwenOnCpuRanks")


def chat() -> Any:
    """The model that is given messages, for the host's registry."""
    from lmms_eval.models.registry_v2 import ModelManifest

    return ModelManifest(model_id="qwen_chat_on_cpu_ranks", chat_class_path="qwen_on_cpu_ranks.QwenChatOnCpuRanks")


def python_path(folder: Path) -> str:
    """A PYTHONPATH on which the host finds the models; what an installer would note of it is written into `folder`."""
    installed = folder / "qwen_on_cpu_ranks-0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text(METADATA, encoding="utf-8")
    (installed / "entry_points.txt").write_text(ENTRY_POINT, encoding="utf-8")
    return os.pathsep.join([str(folder), str(Path(__file__).parent)])
