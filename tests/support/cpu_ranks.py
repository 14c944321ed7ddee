"""Makes the models of `qwen_on_cpu_ranks` known to lmms-eval."""

from __future__ import annotations


def register() -> None:
    """Add the models to lmms-eval's registry, as the entry point of an installed plugin does."""
    from lmms_eval.models import MODEL_REGISTRY_V2
    from lmms_eval.models.registry_v2 import ModelManifest

    simple, chat = "qwen_on_cpu_ranks.QwenOnCpuRanks", "qwen_on_cpu_ranks.QwenChatOnCpuRanks"
    for manifest in (
        ModelManifest(model_id="qwen_on_cpu_ranks", simple_class_path=simple),
        ModelManifest(model_id="qwen_chat_on_cpu_ranks", chat_class_path=chat),
    ):
        MODEL_REGISTRY_V2.register_manifest(manifest)
