"""Inputs of a model's processor for items of a task, and a trial of its clip reader, both without weights."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, suppress
from dataclasses import dataclass, field
from io import StringIO
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any
from unittest.mock import patch

from lmms_eval_tasks.host.manager import load_tasks
from lmms_eval_tasks.host.model.identity import needs_clips
from lmms_eval_tasks.host.model.readers import find_reader
from lmms_eval_tasks.registry import read_card, registry
from lmms_eval_tasks.runs.hazards import KNOWN_HAZARDS, RunFacts
from lmms_eval_tasks.runs.run_card import FRAME_NUMBERS
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.text import first_line, parse_arguments, suggest
from lmms_eval_tasks.utils.data.clips import PyavFrames, is_readable, write_placeholder
from lmms_eval_tasks.utils.data.home import clip_path, clips_of_rows, read_manifest, read_table

FRAMES = 8
"""Number of frames that are decoded for a model without a setting for it."""


@dataclass(frozen=True)
class ReaderCheck:
    """Result of trying a model's clip reader on one clip."""

    reader: str | None
    hazards: Sequence[str] = ()
    warning: str | None = None
    result: str = ""


def check_reader(model: str, arguments: str, benchmarks: Iterable[str]) -> ReaderCheck:
    """Decode a clip by the reader by which a model of lmms-eval will decode clips; no weights are read."""
    from lmms_eval.models import MODEL_REGISTRY_V2, list_available_models

    if not needs_clips(model):
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
    hazards = [name for name, hazard in KNOWN_HAZARDS.items() if hazard.applies(RunFacts(reader=reader.name))]
    asked = next((int(given[name]) for name in FRAME_NUMBERS if given.get(name, "").isdigit()), FRAMES)
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


SHOWABLE = ("qwen2_5_vl", "qwen3_vl", "shared_prefix")
"""Models of which it is known that their processor gets all that they are shown, by lmms-eval's names."""
TEXT = ("input_ids", "attention_mask", "mm_token_type_ids")
"""Inputs with a row for each item; the others have rows for each video or picture."""
GRIDS = {"video": "video_grid_thw", "image": "image_grid_thw"}
PIXELS = {"video": "pixel_values_videos", "image": "pixel_values"}
SECONDS = "second_per_grid_ts"


class _Stop(BaseException):
    """Ends an adapter's work; no `except Exception` of an adapter takes it for a failure."""


@dataclass(frozen=True, eq=False)
class ProcessedItem:
    item_id: str
    videos: Sequence[Mapping[str, Any]]
    metadata: Sequence[Mapping[str, Any]]
    inputs: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class ProcessedBatch:
    items: Sequence[ProcessedItem]
    videos: Sequence[Sequence[Mapping[str, Any]]]
    failure: str | None = None


@dataclass(frozen=True, eq=False)
class AskedTask:
    task: Any
    name: str
    rows: Sequence[int]


def is_showable(model: str) -> bool:
    from lmms_eval.models import MODEL_REGISTRY_V2

    return MODEL_REGISTRY_V2.resolve(model).model_id in SHOWABLE


def default_checkpoint(model: str, arguments: str) -> str | None:
    from lmms_eval.models import get_model

    own = inspect.signature(get_model(model)).parameters.get("pretrained")
    default = own.default if own and own.default is not own.empty else None
    return parse_arguments(arguments).get("pretrained") or default


def find_items(task: str, model: str, count: int, item: str | None) -> AskedTask:
    """Return the first items of a task that show clips of their own, up to `count`; `item` comes first."""
    if registry().find_task(task) is None:
        known = (*registry().tasks, *registry().groups)
        raise InputError(f"Expected --task to be a task of lmms-eval-tasks, but got {task!r}.{suggest(task, known)}")
    name, loaded = next(iter(load_tasks(task, model).items()))
    docs = loaded.eval_docs
    ids = list(docs["item_id"])
    if item is not None and item not in ids:
        raise InputError(f"Expected --item to be an item of {name}, but got {item!r}.{suggest(item, ids)}")
    first = [] if item is None else [ids.index(item)]
    rows: dict[str, int] = {}
    for row in (*first, *range(len(ids))):
        doc = docs[row]
        if doc["asked"] or row in first:
            clips = [str(part["url"]) for part in _videos_of(loaded.doc_to_messages(doc))]
            rows.setdefault(str(clips or doc["item_id"]), row)
        if len(rows) == count:
            break
    if not rows:
        raise InputError(f"None of the items of {name} can be shown, because their clips are missing.")
    return AskedTask(loaded, name, tuple(rows.values()))


@dataclass
class WeightlessModel:
    model: Any
    _conversations: list[Any] = field(default_factory=list)
    _calls: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = field(default_factory=list)

    @property
    def network(self) -> Any:
        return self.model.model

    @property
    def processor(self) -> Any:
        inputs = getattr(self.model, "inputs", None)
        return inputs.processor if inputs else self.model.processor

    def process(self, asked: AskedTask, places: Sequence[int]) -> ProcessedBatch:
        docs, rows = asked.task.eval_docs, [asked.rows[place] for place in places]
        self._conversations, self._calls = [], []
        failure = None
        try:
            self._ask(asked, rows)
        except Exception as error:  # whatever an adapter or a reader of clips raises
            failure = f"{type(error).__name__}: {first_line(error)}"
        videos = [_videos_of(messages) for messages in self._conversations]
        if failure is None and len(self._conversations) != len(rows):
            failure = "its processor was not asked about each of these items"
        if failure is not None:
            return ProcessedBatch((), videos, failure)
        return ProcessedBatch(tuple(self._read_items([docs[row]["item_id"] for row in rows], videos)), videos)

    def _ask(self, asked: AskedTask, rows: Sequence[int]) -> None:
        from lmms_eval.protocol import ChatMessages

        kind = type(self.processor)
        template, call = kind.apply_chat_template, kind.__call__
        inputs, docs = getattr(self.model, "inputs", None), asked.task.eval_docs

        def note(processor: Any, messages: Any, *others: Any, **named: Any) -> Any:
            self._conversations += messages if messages and isinstance(messages[0], list) else [messages]
            return template(processor, messages, *others, **named)

        def take(processor: Any, *others: Any, **named: Any) -> Any:
            taken = call(processor, *others, **named)
            self._calls.append((named, taken))
            if inputs is None:
                raise _Stop
            return taken

        with (
            redirect_stderr(StringIO()),
            patch.object(kind, "apply_chat_template", note),
            patch.object(kind, "__call__", take),
        ):
            if inputs is not None:  # `shared_prefix` reads clips in threads, and compares before it generates
                for row in rows:
                    inputs.process([ChatMessages(messages=asked.task.doc_to_messages(docs[row]))])
                return
            split = asked.task.config.test_split or asked.task.config.validation_split
            self.model.task_dict = {asked.name: {split: docs}}
            requests = [
                asked.task.construct_requests(
                    doc_id=row,
                    # Adapters sort requests by their texts, and take none of them for what is asked.
                    ctx=f"{number:09}",
                    metadata={"task": asked.name, "doc_id": row, "repeats": 1, "split": split},
                )
                for number, row in enumerate(rows)
            ]
            with suppress(_Stop):
                self.model.generate_until(requests)

    def _read_items(self, ids: Sequence[str], videos: Sequence[Sequence[Any]]) -> Iterator[ProcessedItem]:
        """Yield the items of all calls of the processor, in order, each with its own rows of what it returned."""
        waiting = iter(zip(ids, self._conversations, videos, strict=True))
        for named, inputs in self._calls:
            at = {"video": 0, "image": 0}
            metadata = list(named.get("video_metadata") or ())
            for row in range(len(named["text"])):
                item_id, messages, own = next(waiting)
                counts = {kind: len(_videos_of(messages, kind)) for kind in at}
                places = {kind: slice(at[kind], at[kind] + count) for kind, count in counts.items()}
                yield ProcessedItem(item_id, own, metadata[places["video"]], _own_inputs(inputs, row, places))
                at = {kind: place.stop for kind, place in places.items()}


def build_adapter(model: str, arguments: str, batch_size: int) -> WeightlessModel:
    """Build a model of lmms-eval from its checkpoint's configuration, on the CPU and without weights."""
    from lmms_eval.models import get_model

    kind = get_model(model)
    try:
        with _without_weights(), redirect_stderr(StringIO()):
            # `auto` would send inputs to a GPU; the last of two values of an argument counts.
            built = kind.create_from_arg_string(
                ",".join(part for part in (arguments, "device_map=cpu") if part),
                {"batch_size": batch_size, "max_batch_size": None, "device": "cpu"},
            )
    except (Exception, SystemExit) as error:
        message = str(error) if isinstance(error, (InputError, SystemExit)) else first_line(error)
        raise InputError(f"The model {model} cannot be built ({type(error).__name__}): {message}") from error
    return WeightlessModel(built)


def _videos_of(messages: Sequence[Mapping[str, Any]], kind: str = "video") -> list[Mapping[str, Any]]:
    return [part for message in messages for part in message["content"] if part["type"] == kind]


def _own_inputs(inputs: Mapping[str, Any], row: int, places: Mapping[str, slice]) -> dict[str, Any]:
    kept = inputs["attention_mask"][row].bool()
    own: dict[str, Any] = {name: inputs[name][row : row + 1, kept] for name in TEXT if name in inputs}
    for kind, place in places.items():
        if GRIDS[kind] not in inputs or place.start == place.stop:
            continue
        grids = inputs[GRIDS[kind]]
        ends = [0, *accumulate(int(grid.prod()) for grid in grids)]
        own[GRIDS[kind]] = grids[place]
        own[PIXELS[kind]] = inputs[PIXELS[kind]][ends[place.start] : ends[place.stop]]
        if kind == "video" and SECONDS in inputs:
            own[SECONDS] = inputs[SECONDS][place]
    return own


@contextmanager
def _without_weights() -> Iterator[None]:
    """Have transformers build every model from its configuration, without numbers in its weights."""
    import torch
    from transformers import AutoConfig, PreTrainedModel

    def build(cls: type[Any], /, name: str, *_: Any, config: Any = None, revision: str | None = None, **__: Any) -> Any:
        found = config or AutoConfig.from_pretrained(name, **({"revision": revision} if revision else {}))
        with torch.device("meta"):
            return cls._from_config(found)

    with patch.object(PreTrainedModel, "from_pretrained", classmethod(build)):
        yield
