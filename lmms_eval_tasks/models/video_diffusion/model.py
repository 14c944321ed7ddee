"""`video_diffusion`: the registered model."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmms_eval_tasks import __version__
from lmms_eval_tasks.host.asking.kept_answers import answers_folder, log_kept
from lmms_eval_tasks.host.model.identity import installed_version
from lmms_eval_tasks.host.ranks import gather_objects, stop_if_any
from lmms_eval_tasks.models.base import RepeatedFailures, Request, RequestModel
from lmms_eval_tasks.models.clip_reading import ReadAhead
from lmms_eval_tasks.models.video_diffusion.denoising import Answer, AnswerStore, AskedClips
from lmms_eval_tasks.models.video_diffusion.settings import (
    CHOICES,
    DenoisingSettings,
    check_geometry,
    read_batch,
    read_settings,
)
from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm
from lmms_eval_tasks.utils.core.errors import InputError

if TYPE_CHECKING:
    from lmms_eval.api.instance import Instance

    from lmms_eval_tasks.models.clip_reading import ClipRoom, Reading
    from lmms_eval_tasks.models.video_diffusion.adapters import Adapter
    from lmms_eval_tasks.models.video_diffusion.denoising import Engine
    from lmms_eval_tasks.models.video_diffusion.latents import DecodedClips

PACKAGES = ("torch", "diffusers", "transformers")
"""Whose versions an answer names, beside ours."""
OFFLOAD = {"false": "none", "true": "parts", "layers": "layers"}

OWN_FAILURES = frozenset({"failed", "out_of_memory"})
"""Kinds of error that are not the clips'."""

logger = logging.getLogger(__name__)


class VideoDiffusion(RequestModel):
    """Answers with denoising losses as JSON text: of a clip and its reversal (see `DenoisingResponse`), or of
    each clip of an item (see `ClipLosses`), as the task takes them."""

    shows_clips = True
    answer_forms = frozenset({AnswerForm.LOSSES, AnswerForm.CLIP_LOSSES})

    def __init__(
        self,
        family: str = "",
        batch: int | str = "auto",
        offload: bool | str = False,
        compile: bool = False,
        decode_workers: int | None = None,
        cache: str | None = None,
        batch_size: int | str = 1,
        device: str | None = None,
        max_batch_size: int | None = None,
        **choices: Any,
    ) -> None:
        super().__init__(batch_size, device, max_batch_size)
        message = None
        try:
            self.engine = self._load(read_settings(family, choices), read_batch(batch), str(offload).lower(), compile)
        except InputError as error:
            message = str(error)
        stop_if_any(message)
        self._ahead = ReadAhead(decode_workers)
        self._cache = None if cache is None else str(cache)
        self._failures = RepeatedFailures("pairs")
        self.answers_kept: int | None = None
        self.keep_answers_in(answers_folder(None))

    @classmethod
    def argument_names(cls) -> dict[str, bool]:
        return {**super().argument_names(), **dict.fromkeys(CHOICES, False)}

    def keep_answers_in(self, folder: Path | None) -> None:
        """Keep answers in a run's folder, or nowhere, unless the argument `cache` has chosen."""
        if self._cache is None:
            root = folder and folder / "video_diffusion"
        else:
            root = None if self._cache.lower() == "none" else Path(self._cache).expanduser()
        self.store = AnswerStore(root, self.engine.digests)

    def _load(self, settings: DenoisingSettings, batch: int | None, offload: str, compiled: bool) -> Engine:
        try:
            import diffusers  # noqa: F401
        except ImportError:
            message = 'video_diffusion needs diffusers.\nRun:  pip install "lmms-eval-tasks[diffusion]"'
            raise InputError(message) from None
        from lmms_eval_tasks.models.video_diffusion.denoising import Engine
        from lmms_eval_tasks.models.video_diffusion.latents import Placement

        if offload not in OFFLOAD:
            raise InputError(f"Expected offload to be {', '.join(OFFLOAD)}, but got {offload!r}.")
        adapter = load_adapter(settings)
        settings = check_geometry(settings, adapter.temporal_compression, adapter.size_multiple)
        placement = Placement(self.device, OFFLOAD[offload])  # type: ignore[arg-type]
        if compiled:
            for network in adapter.denoisers.values():
                network.compile()
        versions = {"lmms_eval_tasks": __version__, **{name: installed_version(name) or "none" for name in PACKAGES}}
        return Engine(adapter, settings, placement, batch, versions)

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

    def generate_until(self, requests: list[Instance]) -> list[str]:
        try:
            return super().generate_until(requests)
        finally:
            self.store.close()

    def answer(self, request: Request) -> str:
        return self._answer(request, self._read_asked(request), None)

    def answer_each(self, requests: Sequence[Request]) -> Iterator[str]:
        """As `answer`, in order; the clips of the next items are decoded while the model works on one."""
        asked = [self._read_asked(request) for request in requests]

        def decode(place: int, room: ClipRoom) -> DecodedClips:
            return self.engine.read_clips(asked[place], room)

        places = (place for place, request in enumerate(requests) if self._looks_at_clips(request, asked[place]))
        with closing(self._ahead.read(places, decode, self.engine.work)) as readings:
            coming = next(readings, None)
            for place, request in enumerate(requests):
                if coming is None or coming[0] != place:
                    yield self._answer(request, asked[place], None)
                    continue
                yield self._answer(request, asked[place], coming[1])
                coming[1].release()
                coming = next(readings, None)

    def _looks_at_clips(self, request: Request, asked: AskedClips) -> bool:
        return request.doc.get("asked", True) and not self.engine.lacks_caption(asked) and self.store.get(asked) is None

    def _answer(self, request: Request, asked: AskedClips, reading: Reading[DecodedClips] | None) -> str:
        if not request.doc.get("asked", True):
            return self.engine.refuse(asked, "no_clip", "The prepared data has no clip for it.").to_json()
        if stored := self.store.get(asked):
            return stored.named(self.engine.settings.name).to_json()
        answer = self.engine.measure(asked, reading.result if reading else None)
        if answer.error is None:
            self.store.put(asked, answer)
        self._stop_where_all_fail(asked, answer)
        return answer.to_json()

    def _stop_where_all_fail(self, asked: AskedClips, answer: Answer) -> None:
        """End the run where items fail in the same way one after the other, for no reason of their own."""
        error, settings = answer.error, self.engine.settings
        if error is None or error.kind in OWN_FAILURES:
            self._failures.note(
                error.message if error else None,
                f"They share the model and its settings: {settings.family.title} from {settings.pretrained}, "
                f"{settings.dtype} on {self.device}, {settings.width}x{settings.height}, {settings.frames} frames.\n"
                f"Change what is wrong and run again{': what was measured is kept' if self.store.root else ''}.",
                asked.item_id,
            )

    def _read_asked(self, request: Request) -> AskedClips:
        item_id = str(request.doc["item_id"])
        if request.form is AnswerForm.CLIP_LOSSES:
            return AskedClips.of_group(item_id, str(request.doc["group_id"]), request.clips)
        forward, backward = request.clips
        caption = self.engine.shown_caption(str(request.doc.get("caption") or "").strip())
        return AskedClips.pair(item_id, forward, backward, caption)


def load_adapter(settings: DenoisingSettings) -> Adapter:
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
