"""Vectors of clips by a vision model of transformers: the mean over frames of each frame's unit vector."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.build.curation.vectors import CLIP, EMBEDDING
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.text import first_line
from lmms_eval_tasks.utils.core.work import Progress, no_progress
from lmms_eval_tasks.utils.data.frames import PyavFrames
from lmms_eval_tasks.utils.data.release import UnreadableClip

FRAMES = 8
"""Frames of a clip that are looked at, from the first to the last at equal distances."""


class VisionModel:
    """A model that gives a vector of a picture, by its name on the hub or the folder that it is in."""

    def __init__(self, name: str) -> None:
        """Load it, onto a GPU where there is one."""
        import torch
        from transformers import AutoImageProcessor, AutoModel

        try:
            self._processor: Any = AutoImageProcessor.from_pretrained(name)
            model: Any = AutoModel.from_pretrained(name, dtype=torch.float32)
        except Exception as error:  # whatever its many layers raise
            raise InputError(f"The vision model {name} cannot be loaded: {first_line(error)}") from error
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._model = model.to(self._device).eval()

    def embed(self, frames: NDArray[np.uint8]) -> NDArray[np.float32]:
        """The vector of a clip: the mean of its frames' unit vectors."""
        import torch

        inputs = self._processor(images=list(frames), return_tensors="pt").to(self._device)
        with torch.inference_mode():
            if hasattr(self._model, "get_image_features"):
                output = self._model.get_image_features(pixel_values=inputs["pixel_values"])
            else:
                output = self._model(pixel_values=inputs["pixel_values"])
            features = output if isinstance(output, torch.Tensor) else getattr(output, "pooler_output", None)
            if features is None:
                features = output.last_hidden_state.mean(dim=1)
            units = torch.nn.functional.normalize(features.flatten(1).float(), dim=1)
        vector: NDArray[np.float32] = units.mean(dim=0).cpu().numpy()
        return vector


def embed_clips(
    model: VisionModel, clips: Mapping[str, Path], progress: Progress = no_progress
) -> dict[str, NDArray[np.float32]]:
    """The vectors of clips by their names, in the clips' order."""
    problems, vectors = Problems(), dict[str, NDArray[np.float32]]()
    for number, (name, path) in enumerate(clips.items(), start=1):
        try:
            reader = PyavFrames(path)
            places = np.linspace(0, reader.count - 1, min(FRAMES, reader.count)).round().astype(int)
            vectors[name] = model.embed(reader.read(places.tolist()))
        except UnreadableClip:
            problems.add(name, f"Expected a video that can be decoded, but {path} is none.")
        progress("Clips", number, len(clips))
    problems.raise_if_any("Clips cannot be looked at", "nothing was written")
    return vectors


def as_parquet(vectors: Mapping[str, NDArray[np.float32]]) -> bytes:
    """A file with the columns ``clip`` and ``embedding``, as `read_vectors` reads it."""
    import pyarrow
    import pyarrow.parquet

    columns = {CLIP: list(vectors), EMBEDDING: [vector.tolist() for vector in vectors.values()]}
    schema = pyarrow.schema({CLIP: pyarrow.string(), EMBEDDING: pyarrow.list_(pyarrow.float32())})
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns, schema=schema), file)
    return file.getvalue()
