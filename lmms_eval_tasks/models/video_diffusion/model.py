"""`video_diffusion`: the registered model."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmms_eval.api.instance import Instance

from lmms_eval_tasks import __version__
from lmms_eval_tasks.host.asking.kept_answers import answers_folder, log_kept
from lmms_eval_tasks.host.model.identity import installed_version
from lmms_eval_tasks.host.ranks import gather_objects
from lmms_eval_tasks.models.base import RepeatedFailures, Request, RequestModel, agree
from lmms_eval_tasks.models.clip_reading import ReadAhead, Reading
from lmms_eval_tasks.models.video_diffusion.denoising import (
    AnswerStore,
    AskedClips,
    DecodedClips,
    Engine,
    Placement,
)
from lmms_eval_tasks.models.video_diffusion.settings import DenoisingSettings, check_geometry
from lmms_eval_tasks.utils.answers.reply import Reply
from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm
from lmms_eval_tasks.utils.core.errors import InputError, needs_package

if TYPE_CHECKING:
    from lmms_eval_tasks.models.video_diffusion.adapters import Adapter

PACKAGES = ("torch", "diffusers", "transformers")
"""Whose versions an answer names, beside ours."""
OWN_FAILURES = frozenset({"failed", "out_of_memory"})
"""Kinds of error that are not the clips'."""

logger = logging.getLogger(__name__)


class VideoDiffusion(RequestModel):
    """Answers with denoising losses as JSON text: of a clip and its reversal (see `DenoisingResponse`), or of
    each clip of an item (see `ClipLosses`), as the task takes them."""

    shows_clips = True
    answer_forms = frozenset({AnswerForm.LOSSES, AnswerForm.CLIP_LOSSES})
    form = DenoisingSettings

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.engine = agree(lambda: self._load(self.arguments))
        self._ahead = ReadAhead(self.arguments.decode_workers)
        self._failures = RepeatedFailures("pairs")
        self.answers_kept: int | None = None
        self.keep_answers_in(answers_folder(None))

    def keep_answers_in(self, folder: Path | None) -> None:
        """Keep answers in a run's folder, or nowhere, unless the argument `cache` has chosen."""
        cache = self.arguments.cache
        if cache is None:
            root = folder and folder / "video_diffusion"
        else:
            root = None if cache.lower() == "none" else Path(cache).expanduser()
        self.store = AnswerStore(root, self.engine.digests)

    def _load(self, settings: DenoisingSettings) -> Engine:
        adapter = load_adapter(settings)
        settings = check_geometry(settings, adapter.temporal_compression, adapter.size_multiple)
        if settings.compile:
            for network in adapter.denoisers.values():
                network.compile()
        versions = {"lmms_eval_tasks": __version__, **{name: installed_version(name) or "none" for name in PACKAGES}}
        return Engine(adapter, settings, Placement(self.device, settings.offload), settings.batch, versions)

    def prepare(self, requests: list[Request]) -> None:
        """Encode the captions of all items that have no kept answer, so that the text encoders are needed once."""
        items = set(map(self._read_asked, requests))
        waiting = [asked for asked in items if self.store.get(asked) is None]
        kept = sum(gather_objects(len(items) - len(waiting)))
        if self.store.root is not None:
            self.answers_kept = kept
            if self._rank == 0:
                log_kept(kept, self.store.root)
        try:
            self.engine.encode_captions(waiting)
        except Exception as error:
            # Each item tries again by itself and then says so in its own answer.
            logger.warning(f"the captions could not be encoded ahead ({type(error).__name__}: {error})")

    @property
    def work(self) -> dict[str, Any]:
        return self.engine.work.as_facts()

    def generate_until(self, requests: list[Instance]) -> list[str | Reply]:
        try:
            return super().generate_until(requests)
        finally:
            self.store.close()

    def answer_each(self, requests: Sequence[Request]) -> Iterator[str]:
        """Answers in order; the clips of the next items are decoded while the model works on one."""
        asked = [self._read_asked(request) for request in requests]
        has_clip = [request.doc.get("asked", True) for request in requests]

        def needs_clips(place: int) -> bool:
            one = asked[place]
            return has_clip[place] and not self.engine.lacks_caption(one) and self.store.get(one) is None

        def decode(place: int, reading: Reading[DecodedClips]) -> DecodedClips:
            return self.engine.read_clips(asked[place], reading)

        places = filter(needs_clips, range(len(requests)))
        with closing(self._ahead.read(places, decode, self.engine.work)) as readings:
            coming = next(readings, None)
            for place, one in enumerate(asked):
                reading = coming[1] if coming and coming[0] == place else None
                if not has_clip[place]:
                    yield self.engine.refuse(one, "no_clip", "The prepared data has no clip for it.").to_json()
                else:
                    yield self._answer(one, reading)
                if reading:
                    reading.release()
                    coming = next(readings, None)

    def _answer(self, asked: AskedClips, reading: Reading[DecodedClips] | None) -> str:
        if stored := self.store.get(asked):
            return stored.named(self.engine.settings.name).to_json()
        answer = self.engine.measure(asked, reading.result if reading else None)
        error, settings = answer.error, self.engine.settings
        if error is None:
            self.store.put(asked, answer)
        if error is None or error.kind in OWN_FAILURES:
            self._failures.note(
                error.message if error else None,
                f"They share the model and its settings: {settings.family.title} from {settings.pretrained}, "
                f"{settings.dtype} on {self.device}, {settings.width}x{settings.height}, {settings.frames} frames.\n"
                f"Correct the cause and run again{': measurements are kept' if self.store.root else ''}.",
                asked.item_id,
            )
        return answer.to_json()

    def _read_asked(self, request: Request) -> AskedClips:
        item_id = str(request.doc["item_id"])
        if request.form is AnswerForm.CLIP_LOSSES:
            return AskedClips.of_group(item_id, str(request.doc["group_id"]), request.clips)
        forward, backward = request.clips
        caption = self.engine.shown_caption(str(request.doc.get("caption") or "").strip())
        return AskedClips.pair(item_id, forward, backward, caption)


def load_adapter(settings: DenoisingSettings) -> Adapter:
    with needs_package("lmms-eval-tasks[diffusion]", "video_diffusion"):
        from lmms_eval_tasks.models.video_diffusion.adapters import ADAPTERS
    problem = ""
    try:
        adapter = ADAPTERS[settings.family.adapter].load(settings)
        parts = {"vae", *adapter.denoiser_names[:1], *adapter.text_encoder_names[:1]}
        missing = sorted(name for name in parts if getattr(adapter.pipe, name, None) is None)
        if missing:
            problem = f"it has no {', '.join(missing)}."
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        problem = f"it cannot be loaded:\n  {type(error).__name__}: {error}"
    if problem:
        title = settings.family.title
        raise InputError(f"Expected {settings.pretrained} to hold {title} in diffusers' layout, but {problem}")
    for module in (adapter.pipe.vae, *adapter.denoisers.values(), *adapter.text_encoders):
        module.eval().requires_grad_(False)
    if settings.tiling:
        adapter.pipe.vae.enable_tiling()
    if settings.protocol.boundary is not None and adapter.boundary is not None:
        adapter.boundary = settings.protocol.boundary
    return adapter
