"""Makes the model `qwen_on_cpu_ranks` known to lmms-eval."""

from __future__ import annotations


def register() -> None:
    """Add the model to lmms-eval's registry, as the entry point of an installed plugin does."""
    from lmms_eval.models import MODEL_REGISTRY_V2
    from lmms_eval.models.registry_v2 import ModelManifest

    path = "qwen_on_cpu_ranks.QwenOnCpuRanks"
    MODEL_REGISTRY_V2.register_manifest(ModelManifest(model_id="qwen_on_cpu_ranks", simple_class_path=path))
