"""Vectors of clips, read from files of any model or made by a vision model, for exact cosines in any order of
adding."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.files import open_regular
from lmms_eval_tasks.utils.core.forms import read_content, read_json, read_parquet
from lmms_eval_tasks.utils.core.text import describe, first_line, quote
from lmms_eval_tasks.utils.core.work import Progress, no_progress
from lmms_eval_tasks.utils.data.clips import PyavFrames
from lmms_eval_tasks.utils.data.release import UnreadableClip

CLIP, EMBEDDING = "clip", "embedding"
"""Columns of a parquet file of vectors."""
SCALE = 2.0**26
"""Unit vectors are rounded to multiples of its inverse, 1.5e-8. A float64 then holds each sum of products exactly."""
EXACT = SCALE * SCALE
"""The product of two vectors with cosine 1."""

Floats = NDArray[np.float64]


def read_vectors(source: Path, ids: Path | None, clips: Sequence[str]) -> Floats:
    issues = Problems()
    if source.suffix == ".npy":
        if ids is None:
            raise InputError(f"{source.name} cannot be used: it holds no ids. Name a file of them with --ids.")
        names, vectors = _read_ids(ids, issues), _read_array(source)
        if len(names) != len(vectors):
            what = f"{len(vectors):,} vectors of {source.name}, but got"
            issues.add(ids.name, f"Expected as many ids as the {what}", f"{len(names):,}")
    elif source.suffix == ".parquet":
        if ids is not None:
            raise InputError(f"{source.name} cannot be used with {ids.name}: a parquet file names its clips itself.")
        names, vectors = _read_table(source, issues)
    else:
        raise InputError(f"Expected vectors in a file .npy or .parquet, but got {source.name}.")
    places = _places(names, issues)
    for clip in clips:
        if clip not in places:
            issues.add(source.name, "Expected a vector of every candidate's clip, but there is none of", describe(clip))
    issues.raise_if_any(f"{source.name} cannot be used")
    values = np.asarray(vectors[[places[clip] for clip in clips]], dtype=np.float64)
    finite = np.isfinite(values).all(axis=1)
    for place in np.flatnonzero(~finite).tolist():
        issues.add(
            source.name, "Expected finite numbers, but there are others in the vector of", describe(clips[place])
        )
    for place in np.flatnonzero(finite & ~values.any(axis=1)).tolist():
        issues.add(source.name, "Expected vectors with a direction, but all is zero in that of", describe(clips[place]))
    issues.raise_if_any(f"{source.name} cannot be used")
    return exact_units(values)


def exact_units(vectors: Floats) -> Floats:
    """Vectors of length `SCALE` with whole numbers as components; the product of two is their cosine times `EXACT`."""
    scaled = vectors / np.abs(vectors).max(axis=1, keepdims=True)
    return np.asarray(np.rint(SCALE * (scaled / np.linalg.norm(scaled, axis=1, keepdims=True))))


def _places(names: Sequence[object], issues: Problems) -> dict[str, int]:
    places: dict[str, int] = {}
    for number, name in enumerate(names):
        if not isinstance(name, str) or not name:
            issues.add("ids", "Expected a text for each vector, but got", f"{quote(name)} (vector {number + 1})")
        elif places.setdefault(name, number) != number:
            case = f"{describe(name)} (vectors {places[name] + 1} and {number + 1})"
            issues.add("ids", "Expected each once, but got again", case)
    return places


def _read_ids(source: Path, issues: Problems) -> list[Any]:
    try:
        text = read_content(source).decode("utf-8-sig")
        if source.suffix != ".json":
            return text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []
        names = read_json(text)
        if isinstance(names, list):
            return names
        issues.add(source.name, "Expected a JSON list of ids, but got", describe(names))
        return []
    except ValueError as error:
        raise InputError(f"{source.name} cannot be used: it is not UTF-8, or no JSON ({first_line(error)}).") from error


def _read_array(source: Path) -> NDArray[Any]:
    try:
        open_regular(source).close()
        array = np.load(source, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{source.name} cannot be used: it is no array of numbers ({first_line(error)}).") from error
    if not isinstance(array, np.ndarray) or array.ndim != 2 or array.dtype.kind not in "fiu" or not array.shape[1]:
        got = f"{array.dtype} of shape {array.shape}" if isinstance(array, np.ndarray) else "several arrays"
        raise InputError(f"{source.name} cannot be used: Expected numbers of shape (clips, dimensions), but got {got}.")
    return array


def _read_table(source: Path, issues: Problems) -> tuple[list[Any], NDArray[Any]]:
    import pyarrow as pa
    import pyarrow.compute

    try:
        table = read_parquet(source)
        table.validate(full=True)
    except (pa.lib.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{source.name} cannot be used: it is not a parquet table ({first_line(error)}).") from error
    if missing := [name for name in (CLIP, EMBEDDING) if name not in table.column_names]:
        raise InputError(
            f"{source.name} cannot be used: Expected the columns {CLIP} and {EMBEDDING}, but {', '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} missing."
        )
    column = table.column(EMBEDDING).combine_chunks()
    kinds = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    if not any(is_kind(column.type) for is_kind in kinds) or not (
        pa.types.is_floating(column.type.value_type) or pa.types.is_integer(column.type.value_type)
    ):
        raise InputError(f"{source.name} cannot be used: Expected lists of numbers, but got {column.type}.")
    lengths = pa.compute.fill_null(pa.compute.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    names = table.column(CLIP).to_pylist()
    dimensions = int(np.bincount(lengths).argmax()) if len(lengths) else 0
    for place in np.flatnonzero((lengths != dimensions) | (lengths == 0)):
        case = f"{lengths[place]} of {describe(names[place])}"
        issues.add(EMBEDDING, f"Expected vectors of {dimensions or 'one or more'} numbers, but got", case)
    if issues:
        return names, np.zeros((len(names), max(1, dimensions)))
    values = column.flatten().to_numpy(zero_copy_only=False)
    return names, values.reshape(len(names), max(1, dimensions))


FRAMES = 8
"""Frames of a clip that are looked at, from the first to the last at equal distances."""


class VisionModel:
    """A model that gives a vector of a picture, by its name on the hub or the folder that it is in."""

    def __init__(self, name: str) -> None:
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
