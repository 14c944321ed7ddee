"""Tells lmms-eval, through the entry point in setup.cfg, that there are models `brightness` and `motion`, and where."""

from lmms_eval.models.registry_v2 import ModelManifest


def manifests() -> list[ModelManifest]:
    """Two models of the simple kind: they take a prompt and a list of videos."""
    return [
        ModelManifest(model_id="brightness", simple_class_path="brightness_model.model.Brightness"),
        ModelManifest(model_id="motion", simple_class_path="brightness_model.model.Motion"),
    ]
