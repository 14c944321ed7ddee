"""By which reader a model of lmms-eval will decode clips, tried on one before any weights are read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from lmms_eval_tasks.host.clip_readers import find_reader
from lmms_eval_tasks.host.models import CLIPLESS
from lmms_eval_tasks.host.run_card import FRAMES as NAMES
from lmms_eval_tasks.installed.registry import read_card
from lmms_eval_tasks.utils.core.arguments import parse_arguments
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.wording import first_line, suggest
from lmms_eval_tasks.utils.data.clips import is_readable, write_placeholder
from lmms_eval_tasks.utils.data.frames import PyavFrames
from lmms_eval_tasks.utils.data.home import clip_path, clips_of_rows, read_manifest, read_table
from lmms_eval_tasks.utils.runs.hazards import known_hazards

FRAMES = 8
"""How many frames of a clip are decoded for a model that is not told how many to take."""


@dataclass(frozen=True)
class ReaderCheck:
    """How a model reads clips, tried on one."""

    reader: str | None
    hazards: Sequence[str] = ()
    warning: str | None = None
    result: str = ""


def check_reader(model: str, arguments: str, benchmarks: Iterable[str]) -> ReaderCheck:
    """Decode a clip by the reader by which a model of lmms-eval will decode clips; no weights are read."""
    from lmms_eval.models import MODEL_REGISTRY_V2, list_available_models

    if model in CLIPLESS:
        return ReaderCheck(None, result="it looks at no clip.")
    if model not in (names := list_available_models(include_aliases=True)):
        raise InputError(f"Expected --model to be a model of lmms-eval, but got {model!r}.{suggest(model, names)}")
    try:
        kind = MODEL_REGISTRY_V2.get_model_class(model)
    except Exception as error:  # whatever somebody else's module raises
        raise InputError(
            f"The model {model} cannot be imported ({type(error).__name__}: {first_line(error)}).\n"
            "Remedy: install what it needs; lmms-eval's documentation of the model names it."
        ) from error
    given = parse_arguments(arguments)
    try:
        reader = find_reader(kind, given)
    except ImportError as error:
        raise InputError(
            f"The model {model} reads clips by qwen-vl-utils, which cannot be imported ({first_line(error)}).\n"
            "Remedy: pip install qwen-vl-utils"
        ) from error
    if reader is None:
        return ReaderCheck(None, result="how it reads clips is not known here: a server may, or another library.")
    hazards = [name for name, hazard in known_hazards().items() if reader.name in hazard.readers]
    asked = next((int(given[name]) for name in NAMES["frames"] if given.get(name, "").isdigit()), FRAMES)
    with TemporaryDirectory() as folder:
        if (clip := _first_clip(benchmarks)) is None:
            clip = Path(folder, "a black clip.mp4")
            write_placeholder(clip)
        count = PyavFrames(clip).count
        started = perf_counter()
        try:
            decoded, library = reader.read(clip, max(2, min(asked, count) // 2 * 2))
        except Exception as error:  # whatever a reader raises
            reason = f"{type(error).__name__}: {first_line(error)}"
            raise InputError(
                f"The model {model} cannot read {clip} by {reader.name} ({reason}).\n"
                "Remedy: check the clip with --decode; where it is whole, install another reader of clips."
            ) from error
        seconds = perf_counter() - started
    result = f"{decoded} of {count} frames of {clip.name} decoded by {library} in {seconds:.2f} s."
    return ReaderCheck(reader.name, hazards, reader.warning, result)


def _first_clip(benchmarks: Iterable[str]) -> Path | None:
    """The first clip of what is prepared that is there and opens; None where none does."""
    for card in map(read_card, benchmarks):
        try:
            splits = read_manifest(card).splits
            tables = [read_table(card, split)[0] for split in splits]
        except InputError:  # said where the benchmark is checked
            continue
        paths = (
            clip_path(card.name, clip) for table in tables for clips in clips_of_rows(card, table) for clip in clips
        )
        if path := next((path for path in paths if path.is_file() and is_readable(path)), None):
            return path
    return None
