"""Tells lmms-eval, through the entry point in setup.cfg, that there is a model `brightness` and where it is."""

from lmms_eval.models.registry_v2 import ModelManifest


def manifest() -> ModelManifest:
    """One model, of the simple kind: it takes a prompt and a list of videos."""
    return ModelManifest(model_id="brightness", simple_class_path="brightness_model.model.Brightness")
